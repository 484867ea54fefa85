#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "sim/base/mem.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static void memory_is_zero_and_sizes_are_checked(void **state) {
  (void)state;
  unsigned char *p = tsr_mem_array(1000, 3);
  for (size_t i = 0; i < 3000; i++) assert_int_equal(p[i], 0);
  tsr_mem_free(p);
  void *a = tsr_mem_alloc(0), *b = tsr_mem_alloc(0);
  assert_true(a && b && a != b);
  tsr_mem_free(a);
  tsr_mem_free(b);
  assert_null(tsr_mem_array(SIZE_MAX / 2, 3));
  assert_null(tsr_mem_strndup("x", SIZE_MAX));
}

static void growth_keeps_content_and_zeroes_the_rest(void **state) {
  (void)state;
  void *p = NULL;
  size_t cap = 0, moves = 0;
  for (size_t n = 1; n <= 5000; n++) {
    void *old = p;
    assert_true(tsr_mem_grow(&p, &cap, n, sizeof(uint32_t)));
    assert_true(cap >= n);
    moves += old != p;
    uint32_t *v = p;
    assert_int_equal(v[n - 1], 0);
    v[n - 1] = (uint32_t)n;
    assert_int_equal(v[n / 2], n / 2 + 1);
  }
  assert_true(moves <= 12); /* doubling: 8, 16, … 8192 */
  size_t before = cap;
  void *kept = p;
  assert_false(tsr_mem_grow(&p, &cap, SIZE_MAX / 2, 8));
  assert_true(p == kept && cap == before);
  tsr_mem_fail_at(1, false);
  assert_false(tsr_mem_grow(&p, &cap, before + 1, 4));
  tsr_mem_fail_at(0, false);
  assert_true(p == kept && cap == before);
  tsr_mem_free(p);
}

static void copies_and_prints(void **state) {
  (void)state;
  char *a = tsr_mem_strdup("abc"), *b = tsr_mem_strndup("abcdef", 2);
  char *c = tsr_mem_printf("%s-%d-%300d", a, 7, 1);
  assert_string_equal(a, "abc");
  assert_string_equal(b, "ab");
  assert_int_equal(strlen(c), 306);
  assert_memory_equal(c, "abc-7-", 6);
  tsr_mem_free(a);
  tsr_mem_free(b);
  tsr_mem_free(c);
  tsr_mem_free(NULL);
}

static void the_nth_allocation_fails(void **state) {
  (void)state;
  static const struct {
    uint64_t nth;
    bool all, fails[4];
  } rows[] = {
      {0, false, {false, false, false, false}}, {1, false, {true, false, false, false}},
      {3, false, {false, false, true, false}},  {2, true, {false, true, true, true}},
      {9, true, {false, false, false, false}},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    tsr_mem_fail_at(rows[i].nth, rows[i].all);
    for (size_t k = 0; k < 4; k++) {
      void *p = tsr_mem_alloc(8);
      assert_int_equal(!p, rows[i].fails[k]);
      tsr_mem_free(p);
      assert_int_equal(tsr_mem_calls(), k + 1);
    }
  }
  tsr_mem_fail_at(0, false);
}

static void arena_memory_is_aligned_zero_and_apart(void **state) {
  (void)state;
  struct tsr_arena *a = tsr_arena_create();
  static const size_t sizes[] = {0, 1, 7, 16, 100, 5000, 3, 2000000, 40, 1023};
  unsigned char *at[LEN(sizes) * 50];
  for (size_t i = 0; i < LEN(at); i++) {
    size_t n = sizes[i % LEN(sizes)];
    at[i] = tsr_arena_alloc(a, n);
    assert_int_equal((uintptr_t)at[i] % _Alignof(max_align_t), 0);
    for (size_t k = 0; k<n; k += n> 5000 ? 999 : 1) assert_int_equal(at[i][k], 0);
    memset(at[i], (int)(i % 251) + 1, n);
  }
  for (size_t i = 0; i < LEN(at); i++)
    for (size_t k = 0, n = sizes[i % LEN(sizes)]; k<n; k += n> 5000 ? 999 : 1)
      assert_int_equal(at[i][k], i % 251 + 1);
  assert_string_equal(tsr_arena_strdup(a, "text"), "text");
  assert_string_equal(tsr_arena_strndup(a, "text", 2), "te");
  assert_string_equal(tsr_arena_printf(a, "%d/%s", 5, "x"), "5/x");
  assert_null(tsr_arena_array(a, SIZE_MAX / 4, 8));
  assert_null(tsr_arena_alloc(a, SIZE_MAX));
  tsr_mem_fail_at(1, false);
  assert_null(tsr_arena_alloc(a, 8));
  tsr_mem_fail_at(0, false);
  assert_non_null(tsr_arena_alloc(a, 8));
  tsr_arena_destroy(a);
  tsr_arena_destroy(NULL);
}

static void arithmetic_is_checked(void **state) {
  (void)state;
  static const struct {
    uint64_t a, b;
    bool mul, add;
  } rows[] = {
      {0, UINT64_MAX, true, true},
      {1, UINT64_MAX, true, false},
      {1ull << 32, 1ull << 32, false, true},
      {(1ull << 32) - 1, (1ull << 32) + 1, true, true},
      {UINT64_MAX, UINT64_MAX, false, false},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    uint64_t r = 77;
    assert_int_equal(tsr_mul_u64(rows[i].a, rows[i].b, &r), rows[i].mul);
    assert_true(r == (rows[i].mul ? rows[i].a * rows[i].b : 77));
    r = 77;
    assert_int_equal(tsr_add_u64(rows[i].a, rows[i].b, &r), rows[i].add);
    assert_true(r == (rows[i].add ? rows[i].a + rows[i].b : 77));
  }
  assert_int_equal(tsr_ceil_div(7, 7), 1);
  assert_int_equal(tsr_ceil_div(8, 7), 2);
  assert_int_equal(tsr_ceil_div(0, 7), 0);
  assert_true(tsr_ceil_div(UINT64_MAX, 2) == 1ull << 63);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_zero_and_sizes_are_checked),
      cmocka_unit_test(growth_keeps_content_and_zeroes_the_rest),
      cmocka_unit_test(copies_and_prints),
      cmocka_unit_test(the_nth_allocation_fails),
      cmocka_unit_test(arena_memory_is_aligned_zero_and_apart),
      cmocka_unit_test(arithmetic_is_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
