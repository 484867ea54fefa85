/* What a product allocates is a constant times its operands, and running out of it
 * leaves C as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <malloc.h>

#include <cmocka.h>

#include "models/arith/gemm.h"
#include "sim/base/mem.h"

enum { M = 200, N = 192, K = 900 };

static const char *const units[] = {"nv_hopper_wgmma_k16_f32_f16_f32",
                                    "nv_hopper_wgmma_k32_f32_e4m3_f32", "acc_seqfma_fp16_fp32",
                                    "int_s8_s8_s32_wrap"};
enum { UNITS = sizeof units / sizeof units[0] };

static uint8_t a[M * K * 2], b[K * N * 2], c[M * N * 4], before[sizeof c];

static struct tsr_gemm product(const char *name) {
  const struct tsr_mma *u = tsr_mma_find(name);
  assert_non_null(u);
  for (size_t i = 0; i < sizeof c; i++) c[i] = (uint8_t)(i * 7 % 60);
  memcpy(before, c, sizeof c);
  return (struct tsr_gemm){
      .unit = u, .m = M, .n = N, .k = K, .a = a, .lda = K, .b = b, .ldb = N, .c = c, .ldc = N};
}

/* The linker sends every calloc and free of the product here (CMakeLists.txt). */
static size_t live, peak;

void *__real_calloc(size_t n, size_t size);
void __real_free(void *p);
void *__wrap_calloc(size_t n, size_t size);
void __wrap_free(void *p);

void *__wrap_calloc(size_t n, size_t size) {
  void *p = __real_calloc(n, size);
  live += malloc_usable_size(p);
  if (live > peak) peak = live;
  return p;
}

void __wrap_free(void *p) {
  live -= p ? malloc_usable_size(p) : 0;
  __real_free(p);
}

/* Tables of 256 codes, and ranges by row. */
enum { SLACK = 1 << 16 };

static void what_is_allocated_grows_with_the_operands_alone(void **state) {
  (void)state;
  for (size_t i = 0; i < UNITS; i++) {
    struct tsr_gemm g = product(units[i]);
    size_t bytes[2];
    for (size_t half = 0; half < 2; half++) {
      g.k = half ? K / 2 : K;
      peak = live = 0;
      assert_int_equal(tsr_gemm_run(&g, NULL, NULL, NULL), TSR_OK);
      assert_int_equal(live, 0);
      bytes[half] = peak;
    }
    assert_true(bytes[0] <= 12 * (M * K + K * N) + SLACK);
    assert_true(bytes[0] - bytes[1] <= 12 * (M + N) * (K - K / 2) + SLACK);
    assert_true(bytes[0] > bytes[1]);
  }
}

static void a_failing_allocation_leaves_c_and_says_so(void **state) {
  (void)state;
  for (size_t i = 0; i < UNITS; i++) {
    struct tsr_gemm g = product(units[i]);
    enum tsr_status s = TSR_NOMEM;
    uint64_t nth = 1;
    for (; s != TSR_OK; nth++) {
      tsr_mem_fail_at(nth, false);
      s = tsr_gemm_run(&g, NULL, NULL, NULL);
      if (s == TSR_OK) break;
      assert_int_equal(s, TSR_NOMEM);
      assert_memory_equal(c, before, sizeof c);
    }
    tsr_mem_fail_at(0, false);
    assert_true(nth > 2);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_allocated_grows_with_the_operands_alone),
      cmocka_unit_test(a_failing_allocation_leaves_c_and_says_so)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
