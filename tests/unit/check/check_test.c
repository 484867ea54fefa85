#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/check/check.h"
#include "sim/base/rng.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

static struct tsr_ref exact(double v) {
  uint64_t code;
  memcpy(&code, &v, sizeof code);
  struct tsr_num n = tsr_arith_decode(tsr_format_find("fp64"), code);
  struct tsr_ref r;
  tsr_ref_init(&r);
  tsr_ref_add(&r, &n);
  return r;
}

static void add(struct tsr_check *c, double s, uint64_t code, unsigned events) {
  struct tsr_ref r = exact(s);
  tsr_check_add(c, &r, code, events);
}

/* One element each: its signed error in ulp and what it counts as. */
static void one_element_gives_its_ulp_and_counts(void **state) {
  (void)state;
  double none = __builtin_nan("");
  const struct {
    const char *format;
    double s;
    uint64_t code;
    unsigned events;
    double ulp; /* none: not compared */
    int overflow, underflow, nan;
  } rows[] = {
      /* Around a power of two the ulp is that of s: 2^-10 from 1 up, 2^-11 below. */
      {"fp16", 1, 0x3c00, 0, 0, 0, 0, 0},
      {"fp16", 1, 0x3c01, 0, 1, 0, 0, 0},
      {"fp16", 1, 0x3bff, 0, -0.5, 0, 0, 0},
      {"fp16", 1 - 0x1p-12, 0x3c00, 0, 0.5, 0, 0, 0},
      {"fp16", 1 - 0x1p-20, 0x3c00, 0, 0x1p-9, 0, 0, 0},
      {"fp16", -1, 0xbc01, 0, -1, 0, 0, 0},
      {"bf16", 256, 0x4381, 0, 1, 0, 0, 0},
      /* Below emin = -14 the ulp stays 2^-24. */
      {"fp16", 0x1p-14, 0x0401, 0, 1, 0, 0, 0},
      {"fp16", 0x1p-20, 0x0011, 0, 1, 0, 0, 0},
      {"fp16", 0, 0x0003, 0, 3, 0, 0, 0},
      {"fp16", 0x1p-25, 0x0000, 0, -0.5, 0, 1, 0},
      {"fp16", 0x1.8p-24, 0x0002, 0, 0.5, 0, 1, 0},
      {"fp16", 0x1p-24, 0x0001, 0, 0, 0, 0, 0},
      {"fp16", 0x1p-14 + 0x1p-30, 0x0400, 0, -0x1p-6, 0, 0, 0}, /* normal: rounding only */
      {"fp16", 1, 0x0000, 0, -1024, 0, 1, 0},
      {"fp16", 0, 0x0000, 0, 0, 0, 0, 0},
      {"fp16", 70000, 0x7c00, TSR_EVENT_OVERFLOW, none, 1, 0, 0},
      {"fp16", 70000, 0x7e00, TSR_EVENT_INVALID, none, 1, 0, 1},
      {"fp16", 65536, 0x7bff, TSR_EVENT_SATURATED, -0.5, 1, 0, 0},
      {"fp16", 0x1p-25, 0x0000, TSR_EVENT_SATURATED, -0.5, 1, 0, 0},
      {"fp16", __builtin_inf(), 0x7c00, 0, none, 0, 0, 0},
      {"fp16", __builtin_nan(""), 0x7e00, 0, none, 0, 0, 1},
      {"int32", 5, 7, 0, 2, 0, 0, 0},
      {"int32", -5, 0xfffffff0, 0, -11, 0, 0, 0},
      {"int32", 0x1p31, 0x80000000, TSR_EVENT_OVERFLOW, -0x1p32, 1, 0, 0},
      {"int8", 0.25, 0, 0, -0.25, 0, 1, 0},
  };
  for (size_t i = 0; i < N(rows); i++) {
    struct tsr_check c;
    struct tsr_check_result r;
    print_message("%s %g\n", rows[i].format, rows[i].s);
    tsr_check_init(&c, tsr_format_find(rows[i].format));
    add(&c, rows[i].s, rows[i].code, rows[i].events);
    tsr_check_finish(&c, &r);
    if (rows[i].ulp == rows[i].ulp) {
      double size = rows[i].ulp < 0 ? -rows[i].ulp : rows[i].ulp;
      assert_true(r.max_ulp == size && r.mean_ulp == size && r.bias == rows[i].ulp);
    } else {
      assert_true(r.max_ulp != r.max_ulp && r.mean_ulp != r.mean_ulp && r.bias != r.bias);
    }
    assert_int_equal(r.checked_elems, 1);
    assert_int_equal(r.overflow, rows[i].overflow);
    assert_int_equal(r.underflow, rows[i].underflow);
    assert_int_equal(r.nan, rows[i].nan);
    assert_int_equal(r.saturated, (rows[i].events & TSR_EVENT_SATURATED) != 0);
  }
}

static void figures_sum_over_the_elements(void **state) {
  (void)state;
  struct tsr_check c;
  struct tsr_check_result r;
  tsr_check_init(&c, tsr_format_find("fp16"));
  add(&c, 3, 0x4200, TSR_EVENT_SUBNORMAL_IN); /* 3, exact */
  add(&c, 4, 0x4402, 0);                      /* 4 + 2 ulp = 4 + 2^-7 */
  add(&c, 1e6, 0x7c00, TSR_EVENT_OVERFLOW);   /* not compared */
  c.swamped_terms += 5;
  tsr_check_finish(&c, &r);
  assert_int_equal(r.checked_elems, 3);
  assert_int_equal(r.overflow, 1);
  assert_int_equal(r.subnormal_in, 1);
  assert_int_equal(r.swamped_terms, 5);
  assert_true(r.max_ulp == 2 && r.mean_ulp == 1 && r.bias == 1);
  assert_true(r.norm_err == 0x1p-7 / 5);
  /* 10 log10(25 * 2^14) = 56.1236...: 20 log10(640) = 20 * 2.806179973983887 */
  assert_true(r.sqnr_db > 56.12359947967 && r.sqnr_db < 56.12359947968);
}

static void bias_shows_truncation_that_cancels_in_nothing(void **state) {
  (void)state;
  struct tsr_check c;
  struct tsr_check_result r;
  tsr_check_init(&c, tsr_format_find("bf16"));
  for (int i = 0; i < 64; i++) {
    double s = 1 + i * 0x1p-9; /* ulp 2^-7 */
    add(&c, s, tsr_arith_from_double(c.out, TSR_ROUND_RZ, s, NULL), 0);
  }
  tsr_check_finish(&c, &r);
  assert_true(r.bias == -0.375 && r.mean_ulp == 0.375 && r.max_ulp == 0.75);
}

static void figures_without_a_meaning_are_nan(void **state) {
  (void)state;
  struct tsr_check c;
  struct tsr_check_result r;
  tsr_check_init(&c, tsr_format_find("fp32"));
  tsr_check_finish(&c, &r);
  assert_int_equal(r.checked_elems, 0);
  assert_true(r.max_ulp != r.max_ulp && r.mean_ulp != r.mean_ulp && r.bias != r.bias);
  assert_true(r.norm_err != r.norm_err && r.sqnr_db != r.sqnr_db);
  add(&c, 0, 1, 0); /* S = 0, an error */
  tsr_check_finish(&c, &r);
  assert_true(r.max_ulp == 1 && r.norm_err != r.norm_err && r.sqnr_db != r.sqnr_db);
  tsr_check_init(&c, tsr_format_find("fp32"));
  add(&c, 1, 0x3f800000, 0); /* no error at all */
  tsr_check_finish(&c, &r);
  assert_true(r.norm_err == 0 && r.sqnr_db != r.sqnr_db);
}

/* Doubles of many magnitudes and of few and many bits, beside codes of every kind. */
static void doubles_give_the_figures_of_exact_sums(void **state) {
  (void)state;
  static const char *const formats[] = {"fp32", "fp16", "bf16",  "tf32",     "fp8_e4m3",
                                        "int8", "int4", "uint8", "fp8_e5m2", "int32"};
  for (size_t f = 0; f < N(formats); f++) {
    const struct tsr_format *out = tsr_format_find(formats[f]);
    struct tsr_check want, got;
    tsr_check_init(&want, out);
    tsr_check_init(&got, out);
    for (uint64_t i = 0; i < 20000; i++) {
      uint64_t r = tsr_rng_u64(7, f, 2 * i), q = tsr_rng_u64(7, f, 2 * i + 1);
      uint64_t code = r >> (64 - out->bits);
      double s =
          (double)(int64_t)(q << (r % 60)) * __builtin_ldexp(1, (int)(r >> 8 & 127) - 150);
      if (i % 16 == 0) s = tsr_arith_to_double(out, code); /* no error, specials too */
      if (i % 64 == 1) s = i % 128 == 1 ? 0 : -__builtin_inf();
      unsigned events = i % 8 ? 0 : (unsigned)(r >> 16 & 1) * TSR_EVENT_SATURATED;
      double abs = i % 3 ? 0 : (double)(q >> 32);
      struct tsr_ref sum = exact(s);
      tsr_check_add_abs(&want, &sum, code, events, abs);
      tsr_check_add_double(&got, s, code, events, abs);
      if (memcmp(&want, &got, sizeof want) != 0)
        fail_msg("%s: %a beside code %llx", formats[f], s, (unsigned long long)code);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_element_gives_its_ulp_and_counts),
      cmocka_unit_test(figures_sum_over_the_elements),
      cmocka_unit_test(bias_shows_truncation_that_cancels_in_nothing),
      cmocka_unit_test(figures_without_a_meaning_are_nan),
      cmocka_unit_test(doubles_give_the_figures_of_exact_sums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
