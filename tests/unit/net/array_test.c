#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/net/array.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

static void names_lead_to_types_and_back(void **state) {
  (void)state;
  static const struct {
    const char *name;
    enum tsr_dtype type;
    unsigned bytes;
    bool is_float;
  } rows[] = {
      {"f32", TSR_DTYPE_F32, 4, true},    {"u8", TSR_DTYPE_U8, 1, false},
      {"i8", TSR_DTYPE_I8, 1, false},     {"u16", TSR_DTYPE_U16, 2, false},
      {"i16", TSR_DTYPE_I16, 2, false},   {"i32", TSR_DTYPE_I32, 4, false},
      {"i64", TSR_DTYPE_I64, 8, false},   {"string", TSR_DTYPE_STRING, 0, false},
      {"bool", TSR_DTYPE_BOOL, 1, false}, {"f16", TSR_DTYPE_F16, 2, true},
      {"f64", TSR_DTYPE_F64, 8, true},    {"u32", TSR_DTYPE_U32, 4, false},
      {"u64", TSR_DTYPE_U64, 8, false},   {"bf16", TSR_DTYPE_BF16, 2, true},
  };
  for (size_t k = 0; k < N(rows); k++) {
    assert_string_equal(tsr_dtype_name(rows[k].type), rows[k].name);
    assert_int_equal(tsr_dtype_find(rows[k].name), rows[k].type);
    assert_int_equal(tsr_dtype_bytes(rows[k].type), rows[k].bytes);
    assert_int_equal(tsr_dtype_is_float(rows[k].type), rows[k].is_float);
  }
  assert_int_equal(tsr_dtype_find("float"), TSR_DTYPE_NONE);
  assert_string_equal(tsr_dtype_name((enum tsr_dtype)14), "?");
  assert_string_equal(tsr_dtype_name((enum tsr_dtype)99), "?");
}

/* Codes of IEEE 754 binary16, of bfloat16 and of binary32, by hand. */
static void numbers_are_rounded_and_stored(void **state) {
  (void)state;
  static const struct {
    enum tsr_dtype type;
    double v, round;
    uint32_t code;
  } rows[] = {
      {TSR_DTYPE_F16, 1, 1, 0x3c00},
      {TSR_DTYPE_F16, -2.5, -2.5, 0xc100},
      {TSR_DTYPE_F16, 65504, 65504, 0x7bff},
      {TSR_DTYPE_F16, 65519.99, 65504, 0x7bff},
      {TSR_DTYPE_F16, 65520, INFINITY, 0x7c00},
      {TSR_DTYPE_F16, -1e300, -INFINITY, 0xfc00},
      {TSR_DTYPE_F16, 2049, 2048, 0x6800}, /* ties to even */
      {TSR_DTYPE_F16, 2051, 2052, 0x6802},
      {TSR_DTYPE_F16, 0x1p-14, 0x1p-14, 0x0400},
      {TSR_DTYPE_F16, 0x1p-24, 0x1p-24, 0x0001},
      {TSR_DTYPE_F16, 0x1p-25, 0, 0x0000},
      {TSR_DTYPE_F16, 0x1.8p-25, 0x1p-24, 0x0001},
      {TSR_DTYPE_F16, 0x1.ffep-15, 0x1.ffep-15 + 0x1p-26, 0x0400}, /* up to the normal ones */
      {TSR_DTYPE_F16, 0x1.ff8p-15, 0x1.ff8p-15, 0x03ff},
      {TSR_DTYPE_BF16, 1, 1, 0x3f80},
      {TSR_DTYPE_BF16, 0x1.01p0, 1, 0x3f80},
      {TSR_DTYPE_BF16, 0x1.03p0, 0x1.04p0, 0x3f82},
      {TSR_DTYPE_BF16, 0x1.fep127, 0x1.fep127, 0x7f7f},
      {TSR_DTYPE_BF16, 0x1.ffp127, INFINITY, 0x7f80},
      {TSR_DTYPE_BF16, -0x1p-133, -0x1p-133, 0x8001},
      {TSR_DTYPE_BF16, 0x1p-1074, 0, 0x0000},
      {TSR_DTYPE_F32, 0.1, 0x1.99999ap-4, 0x3dcccccd},
      {TSR_DTYPE_F32, 16777217, 16777216, 0x4b800000},
      {TSR_DTYPE_F32, 1e39, INFINITY, 0x7f800000},
      {TSR_DTYPE_F32, 0x1p-149, 0x1p-149, 0x00000001},
  };
  for (size_t k = 0; k < N(rows); k++) {
    unsigned char bytes[8] = {0};
    double back = 0;
    int64_t none = 0;
    assert_true(tsr_dtype_round(rows[k].type, rows[k].v) == rows[k].round);
    tsr_dtype_store(rows[k].type, rows[k].v, 0, bytes);
    uint32_t code = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                    (uint32_t)bytes[3] << 24;
    assert_int_equal(code, rows[k].code);
    tsr_dtype_load(rows[k].type, bytes, &back, &none);
    assert_true(back == rows[k].round);
  }
}

/* Every code of the 16-bit types is the value that rounds to it. */
static void codes_of_16_bits_survive(void **state) {
  (void)state;
  static const enum tsr_dtype types[] = {TSR_DTYPE_F16, TSR_DTYPE_BF16};
  for (size_t t = 0; t < N(types); t++) {
    for (unsigned code = 0; code < 1u << 16; code++) {
      unsigned char in[2] = {(unsigned char)code, (unsigned char)(code >> 8)}, out[2];
      double v = 0;
      int64_t none = 0;
      tsr_dtype_load(types[t], in, &v, &none);
      tsr_dtype_store(types[t], v, 0, out);
      if (isnan(v)) continue; /* one NaN stands for all */
      assert_memory_equal(in, out, 2);
      assert_true(tsr_dtype_round(types[t], v) == v);
    }
  }
}

static void integers_wrap(void **state) {
  (void)state;
  static const struct {
    enum tsr_dtype type;
    int64_t v, want;
  } rows[] = {
      {TSR_DTYPE_I8, 128, -128},
      {TSR_DTYPE_I8, -129, 127},
      {TSR_DTYPE_U8, -1, 255},
      {TSR_DTYPE_U8, 256, 0},
      {TSR_DTYPE_I16, 32768, -32768},
      {TSR_DTYPE_U16, -1, 65535},
      {TSR_DTYPE_I32, 2147483648, -2147483648LL},
      {TSR_DTYPE_U32, -1, 4294967295},
      {TSR_DTYPE_I64, INT64_MIN, INT64_MIN},
      {TSR_DTYPE_U64, -1, -1},
      {TSR_DTYPE_BOOL, 7, 1},
      {TSR_DTYPE_BOOL, 0, 0},
  };
  for (size_t k = 0; k < N(rows); k++) {
    unsigned char bytes[8] = {0};
    double none = 0;
    int64_t back = 0;
    assert_int_equal(tsr_dtype_wrap(rows[k].type, rows[k].v), rows[k].want);
    tsr_dtype_store(rows[k].type, 0, rows[k].v, bytes);
    tsr_dtype_load(rows[k].type, bytes, &none, &back);
    assert_int_equal(back, rows[k].want);
  }
}

static void elements_are_set_and_read(void **state) {
  (void)state;
  static const struct {
    enum tsr_dtype type;
    double v, want;
    int64_t integer;
  } rows[] = {
      {TSR_DTYPE_F32, 0.1, 0.1, 0},
      {TSR_DTYPE_F16, -2.75, -2.75, -2},
      {TSR_DTYPE_I32, 2.5, 2, 2},
      {TSR_DTYPE_I32, 3.5, 4, 4},
      {TSR_DTYPE_U8, 300, 44, 44},
      {TSR_DTYPE_BOOL, 0.25, 1, 1},
      {TSR_DTYPE_U64, 0x1p63, 0x1p63, INT64_MIN},
      {TSR_DTYPE_I64, 1e300, 0x1p63, INT64_MAX},
      {TSR_DTYPE_I64, NAN, 0, 0},
      {TSR_DTYPE_F64, -1e300, -1e300, INT64_MIN},
  };
  for (size_t k = 0; k < N(rows); k++) {
    struct tsr_array *a = NULL;
    assert_int_equal(tsr_array_create(NULL, rows[k].type, 0, NULL, &a, NULL), TSR_OK);
    assert_int_equal(a->n, 1);
    tsr_array_set(a, 0, rows[k].v);
    assert_true(tsr_array_get(a, 0) == rows[k].want);
    assert_int_equal(tsr_array_get_int(a, 0), rows[k].integer);
    tsr_array_destroy(a);
  }
}

static void sizes_are_counted(void **state) {
  (void)state;
  static const struct {
    unsigned rank;
    uint64_t dim[4];
    bool fits;
    uint64_t n;
  } rows[] = {
      {0, {0}, true, 1},
      {2, {3, 4}, true, 12},
      {3, {UINT64_C(1) << 40, 0, UINT64_C(1) << 40}, true, 0},
      {2, {UINT64_C(1) << 20, UINT64_C(1) << 20}, true, UINT64_C(1) << 40},
      {2, {UINT64_C(1) << 20, (UINT64_C(1) << 20) + 1}, false, 0},
      {2, {UINT64_MAX, UINT64_MAX}, false, 0},
      {2, {0, UINT64_MAX}, false, 0},
  };
  for (size_t k = 0; k < N(rows); k++) {
    uint64_t n = 77;
    assert_int_equal(tsr_array_count(rows[k].rank, rows[k].dim, &n), rows[k].fits);
    assert_int_equal(n, rows[k].fits ? rows[k].n : 77);
  }
}

static void what_cannot_be_is_refused(void **state) {
  (void)state;
  static const struct {
    enum tsr_dtype type;
    unsigned rank;
    uint64_t dim0;
    const char *message;
  } rows[] = {
      {TSR_DTYPE_STRING, 0, 0, "'string' cannot be held"},
      {TSR_DTYPE_NONE, 0, 0, "'?' cannot be held"},
      {TSR_DTYPE_F32, 9, 1, "expected at most 8, got '9'"},
      {TSR_DTYPE_F32, 1, UINT64_C(1) << 41, "expected at most 2^40 elements"},
  };
  for (size_t k = 0; k < N(rows); k++) {
    uint64_t dim[9] = {rows[k].dim0, 1, 1, 1, 1, 1, 1, 1, 1};
    struct tsr_err err;
    struct tsr_array *a = NULL;
    tsr_err_init(&err);
    assert_int_equal(tsr_array_create(NULL, rows[k].type, rows[k].rank, dim, &a, &err),
                     TSR_INPUT);
    assert_null(a);
    assert_non_null(strstr(err.msg[0], rows[k].message));
    tsr_err_fini(&err);
  }
}

static void memory_may_run_out(void **state) {
  (void)state;
  uint64_t dim[1] = {5};
  for (uint64_t nth = 1; nth <= 2; nth++) {
    struct tsr_array *a = NULL;
    tsr_mem_fail_at(nth, false);
    enum tsr_status s = tsr_array_create(NULL, TSR_DTYPE_F32, 1, dim, &a, NULL);
    tsr_mem_fail_at(0, false);
    assert_int_equal(s, TSR_NOMEM);
    assert_null(a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_lead_to_types_and_back),
      cmocka_unit_test(numbers_are_rounded_and_stored),
      cmocka_unit_test(codes_of_16_bits_survive),
      cmocka_unit_test(integers_wrap),
      cmocka_unit_test(elements_are_set_and_read),
      cmocka_unit_test(sizes_are_counted),
      cmocka_unit_test(what_cannot_be_is_refused),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
