/* Exact results by slices against the accumulator of kernels/ref; figures in fixed
 * point against figures in the accumulator. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/check/check.h"
#include "kernels/check/exact.h"
#include "models/arith/gemm.h"
#include "sim/base/rng.h"

enum { ROWS = 11, COLS = 19, K = 300 }; /* no multiples of the kernel's block */

/* Random codes of a format: significand and sign free, exponents within `spread` of
 * that of 1. */
static uint64_t code(const struct tsr_format *f, struct tsr_rng *r, int spread) {
  if (f->is_int) return tsr_rng_next(r) & ((UINT64_C(1) << f->bits) - 1);
  struct tsr_num v = {TSR_NUM_FINITE, tsr_rng_next(r) & 1, false,
                      (int)tsr_rng_range(r, 0, (uint64_t)spread) - spread / 2 - f->man_bits,
                      (tsr_rng_next(r) & ((UINT64_C(1) << f->man_bits) - 1)) |
                          UINT64_C(1) << f->man_bits};
  if (tsr_rng_range(r, 0, 9) == 0) return 0;
  return tsr_arith_encode(f, TSR_ROUND_RZ, &v, NULL);
}

struct side {
  const struct tsr_format *f;
  void *codes;
  float *from;
  struct tsr_exact_range range;
};

static void side_init(struct side *s, const char *format, size_t n, struct tsr_rng *r,
                      int spread) {
  s->f = tsr_format_find(format);
  assert_non_null(s->f);
  s->codes = tsr_mem_array(n, tsr_gemm_code_bytes(s->f));
  s->from = tsr_mem_array(n, sizeof *s->from);
  assert_true(s->codes && s->from);
  tsr_exact_range_init(&s->range);
  for (size_t i = 0; i < n; i++) {
    uint64_t c = code(s->f, r, spread);
    struct tsr_num v = tsr_arith_decode(s->f, c);
    tsr_exact_code_set(s->codes, tsr_gemm_code_bytes(s->f), i, c);
    tsr_exact_range_add(&s->range, &v);
    s->from[i] = (float)((int)tsr_rng_range(r, 0, 200) - 100);
  }
}

static uint64_t at(const struct side *s, size_t i) {
  return tsr_exact_code(s->codes, tsr_gemm_code_bytes(s->f), i);
}

static void expect_same(const struct tsr_exact *e, int lsb, const struct side *a,
                        const struct side *b) {
  for (size_t i = 0; i < ROWS; i++)
    for (size_t j = 0; j < COLS; j++) {
      struct tsr_ref want, got;
      double abs = 0, from = 0;
      tsr_ref_init(&want);
      for (size_t k = 0; k < K; k++) {
        struct tsr_num x = tsr_arith_decode(a->f, at(a, i * K + k));
        struct tsr_num y = tsr_arith_decode(b->f, at(b, k * COLS + j));
        tsr_ref_mul_add(&want, &x, &y);
        double p = tsr_arith_to_double(a->f, at(a, i * K + k)) *
                   tsr_arith_to_double(b->f, at(b, k * COLS + j));
        abs += p < 0 ? -p : p;
        from += (double)a->from[i * K + k] * (double)b->from[k * COLS + j];
      }
      tsr_check_fixed_ref(tsr_exact_sum(e, i, j), lsb, &got);
      assert_memory_equal(&want, &got, sizeof want);
      assert_true(tsr_exact_abs(e, i, j) == abs); /* k ascending: the same bits */
      assert_true(tsr_exact_from(e, i, j) == from);
    }
}

static void slices_give_the_exact_sum_on_every_path(void **state) {
  (void)state;
  static const struct {
    const char *a, *b;
    int spread;
    unsigned products; /* slices of a times slices of b */
  } rows[] = {{"fp16", "fp16", 10, 1},         {"fp16", "fp16", 20, 4},
              {"bf16", "bf16", 12, 1},         {"bf16", "bf16", 30, 4},
              {"fp32", "fp32", 8, 4},          {"fp32", "fp32", 28, 9},
              {"int8", "int8", 0, 1},          {"uint8", "int8", 0, 1},
              {"fp8_e4m3", "fp8_e4m3", 12, 1}, {"fp32", "fp8_e4m3", 16, 2}};
  static const char *const paths[] = {"portable", "avx2", "avx512"};
  struct tsr_rng r = {7};
  for (size_t t = 0; t < sizeof rows / sizeof rows[0]; t++) {
    struct side a, b;
    struct tsr_exact *e;
    struct tsr_exact_plan plan;
    side_init(&a, rows[t].a, ROWS * K, &r, rows[t].spread);
    side_init(&b, rows[t].b, K * COLS, &r, rows[t].spread);
    assert_true(tsr_exact_plan_make(&a.range, &b.range, K, &plan));
    if (plan.na * plan.nb > rows[t].products)
      fail_msg("%s by %s: %u by %u slices", rows[t].a, rows[t].b, plan.na, plan.nb);
    assert_int_equal(tsr_exact_create(a.f, b.f, ROWS, COLS, &e, NULL), TSR_OK);
    const struct tsr_exact_operand oa = {a.f, a.codes, K, a.from},
                                   ob = {b.f, b.codes, COLS, b.from};
    for (int p = 0; p < 3; p++) {
      if (!tsr_exact_force(e, paths[p])) continue; /* not this processor */
      tsr_exact_run(e, &plan, ROWS, COLS, K, &oa, &ob);
      expect_same(e, plan.lsb, &a, &b);
    }
    assert_false(tsr_exact_force(e, "abacus"));
    tsr_exact_destroy(e);
    tsr_mem_free(a.codes), tsr_mem_free(a.from);
    tsr_mem_free(b.codes), tsr_mem_free(b.from);
  }
}

static void a_plan_stays_below_two_to_53_and_refuses_what_cannot(void **state) {
  (void)state;
  static const struct {
    int bits_a, bits_b;
    uint64_t k;
    unsigned products; /* 0: no plan */
  } rows[] = {{26, 27, 1, 1},       {27, 27, 1, 2},      {27, 28, 1, 2}, {11, 11, 1 << 30, 1},
              {27, 27, 4608, 2},    {27, 27, 8192, 2},   {53, 53, 1, 4}, {54, 20, 1, 0},
              {53, 53, 1 << 21, 0}, {40, 40, 1 << 13, 4}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tsr_exact_range a = {-20, rows[i].bits_a - 21, true, false};
    struct tsr_exact_range b = {-9, rows[i].bits_b - 10, true, false};
    struct tsr_exact_plan p;
    bool ok = tsr_exact_plan_make(&a, &b, rows[i].k, &p);
    if (ok != (rows[i].products != 0) || (ok && p.na * p.nb != rows[i].products))
      fail_msg("row %zu: %d, %u by %u", i, ok, ok ? p.na : 0, ok ? p.nb : 0);
    if (!ok) continue;
    assert_int_equal(p.lsb, -29);
    /* slices of at most 2^(w-1): the sum of k products within 2^53, room for all bits */
    assert_true((long double)rows[i].k * (1ull << (p.wa - 1)) * (1ull << (p.wb - 1)) <=
                9007199254740992.0L);
    assert_true(p.na * p.wa > (unsigned)rows[i].bits_a &&
                p.nb * p.wb > (unsigned)rows[i].bits_b);
  }
  struct tsr_exact_range plain = {0, 3, true, false}, special = {0, 3, true, true};
  struct tsr_exact_plan p;
  assert_false(tsr_exact_plan_make(&special, &plain, 1, &p));
  assert_false(tsr_exact_plan_make(&plain, &special, 1, &p));
}

static void fixed_point_and_accumulator_give_the_same_figures(void **state) {
  (void)state;
  static const char *const formats[] = {"fp16", "bf16", "fp32", "fp8_e4m3", "int32", "int8"};
  struct tsr_rng r = {11};
  for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
    struct tsr_check slow, fast;
    const struct tsr_format *out = tsr_format_find(formats[f]);
    tsr_check_init(&slow, out);
    tsr_check_init(&fast, out);
    for (int i = 0; i < 20000; i++) {
      int lsb = out->is_int ? -(int)tsr_rng_range(&r, 0, 8) : -(int)tsr_rng_range(&r, 10, 60);
      tsr_i128 sum = (tsr_i128)(int64_t)tsr_rng_next(&r) >> tsr_rng_range(&r, 0, 63);
      uint64_t any =
          tsr_rng_next(&r) & (out->bits == 64 ? UINT64_MAX : (UINT64_C(1) << out->bits) - 1);
      struct tsr_ref s;
      tsr_check_fixed_ref(sum, lsb, &s);
      /* near the sum, or any code at all: specials, and codes finer than the units */
      uint64_t c = i % 3 ? tsr_ref_round(&s, out, TSR_ROUND_RNE) : any;
      unsigned events = i % 5 ? 0 : TSR_EVENT_SUBNORMAL_IN;
      tsr_check_add_abs(&slow, &s, c, events, 3.5);
      tsr_check_add_fixed(&fast, sum, lsb, c, events, 3.5);
    }
    assert_memory_equal(&slow, &fast, sizeof slow);
    assert_true(fast.compared > 1000);
  }
}

static void errors_fall_into_bins_by_powers_of_two(void **state) {
  (void)state;
  static const struct {
    double size;
    unsigned bin;
  } rows[] = {{0, 0},       {0x1p-60, 1}, {0x1p-24, 1},  {0x1.fp-24, 1},
              {0x1p-23, 2}, {0.5, 24},    {0.75, 24},    {1, 25},
              {0x1p37, 62}, {0x1p38, 63}, {0x1p100, 63}, {__builtin_inf(), 63}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    double lo, hi;
    assert_int_equal(tsr_check_bin(rows[i].size), rows[i].bin);
    tsr_check_bin_edges(rows[i].bin, &lo, &hi);
    assert_true(rows[i].size == 0 ? lo == 0 && hi == 0
                                  : lo <= rows[i].size && (rows[i].size < hi || hi > 1e300));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slices_give_the_exact_sum_on_every_path),
      cmocka_unit_test(a_plan_stays_below_two_to_53_and_refuses_what_cannot),
      cmocka_unit_test(fixed_point_and_accumulator_give_the_same_figures),
      cmocka_unit_test(errors_fall_into_bins_by_powers_of_two),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
