/* Sums as double-doubles against kernels/check/exact.h, and against whole numbers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/gemm.h"
#include "sim/base/mem.h"
#include "sim/base/rng.h"
#include "sim/run/loose.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

enum { M = 5, N = 6, K = 70 };
struct data {
  uint64_t a[M * K], b[K * N]; /* codes, as wide as the format asks */
  float from_a[M * K], from_b[K * N];
};

static void draw(const struct tsr_format *f, uint64_t seed, uint64_t n, void *codes,
                 float *from) {
  for (uint64_t i = 0; i < n; i++) {
    double v = ((double)(tsr_rng_u64(seed, 1, i) >> 40) - 0x1p23) * 0x1p-23;
    if (f->is_int) v *= 100;
    from[i] = (float)v;
    tsr_exact_code_set(codes, tsr_gemm_code_bytes(f), i,
                       tsr_arith_from_double(f, TSR_ROUND_RNE, v, NULL));
  }
}

/* The exact sum in units of 2^lsb, against hi + lo: within k^2 2^-105 sum|ab|. */
static void compare(const char *name, const struct tsr_exact *e, int lsb,
                    const struct tsri_loose *l) {
  for (size_t i = 0; i < M; i++)
    for (size_t j = 0; j < N; j++) {
      double hi, lo, abs = tsri_loose_abs(l, i, j);
      tsri_loose_sum(l, i, j, &hi, &lo);
      /* both parts are multiples of a small power of two: their difference is exact */
      tsr_i128 sum = tsr_exact_sum(e, i, j), high = (tsr_i128)ldexp(hi, -lsb);
      double apart = fabs((double)(sum - high) - ldexp(lo, -lsb));
      if (!(apart <= ldexp(K * K * 0x1p-105 * abs, -lsb)))
        fail_msg("%s (%zu, %zu): %g units apart", name, i, j, apart);
      double other = tsr_exact_abs(e, i, j), from = tsr_exact_from(e, i, j);
      if (!(fabs(other - abs) <= K * 0x1p-52 * abs))
        fail_msg("%s: abs %g, %g", name, abs, other);
      if (!(fabs(tsri_loose_from(l, i, j) - from) <= K * 0x1p-22 * abs + 1e-300))
        fail_msg("%s: from %g, %g", name, tsri_loose_from(l, i, j), from);
    }
}

static void sums_are_those_of_exact_arithmetic(void **state) {
  (void)state;
  static const char *const formats[] = {"fp16", "bf16", "fp8_e4m3", "int8", "int16"};
  for (size_t f = 0; f < LEN(formats); f++) {
    const struct tsr_format *fmt = tsr_format_find(formats[f]);
    struct tsr_err err = TSR_ERR_INIT;
    struct data *d = tsr_mem_alloc(sizeof *d);
    struct tsr_exact_range ra, rb;
    struct tsr_exact_plan plan;
    struct tsr_exact *e;
    struct tsri_loose *l;
    assert_non_null(d);
    draw(fmt, 1, M * K, d->a, d->from_a);
    draw(fmt, 2, K * N, d->b, d->from_b);
    tsr_exact_range_init(&ra);
    tsr_exact_range_init(&rb);
    for (size_t i = 0; i < M * K; i++) {
      struct tsr_num v =
          tsr_arith_decode(fmt, tsr_exact_code(d->a, tsr_gemm_code_bytes(fmt), i));
      tsr_exact_range_add(&ra, &v);
    }
    for (size_t i = 0; i < K * N; i++) {
      struct tsr_num v =
          tsr_arith_decode(fmt, tsr_exact_code(d->b, tsr_gemm_code_bytes(fmt), i));
      tsr_exact_range_add(&rb, &v);
    }
    assert_true(tsr_exact_plan_make(&ra, &rb, K, &plan));
    assert_int_equal(tsr_exact_create(fmt, fmt, M, N, &e, &err), TSR_OK);
    assert_int_equal(tsri_loose_create(M, N, K, &l, &err), TSR_OK);
    const struct tsr_exact_operand a = {fmt, d->a, K, d->from_a}, b = {fmt, d->b, N, d->from_b};
    tsr_exact_run(e, &plan, M, N, K, &a, &b);
    tsri_loose_run(l, M, N, K, &a, &b);
    compare(formats[f], e, plan.lsb, l);
    tsri_loose_run(l, M, N, K, &a, &b); /* a second run begins at zero */
    compare(formats[f], e, plan.lsb, l);
    tsr_exact_destroy(e);
    tsri_loose_destroy(l);
    tsr_mem_free(d);
  }
}

/* One sum of a row and a column of doubles in fp64. */
static void sum_of(const double *x, const double *y, size_t k, double *hi, double *lo) {
  const struct tsr_format *f = tsr_format_find("fp64");
  struct tsr_err err = TSR_ERR_INIT;
  struct tsri_loose *l;
  float from[8] = {0};
  const struct tsr_exact_operand a = {f, x, k, from}, b = {f, y, 1, from};
  assert_int_equal(tsri_loose_create(1, 1, k, &l, &err), TSR_OK);
  tsri_loose_run(l, 1, 1, k, &a, &b);
  tsri_loose_sum(l, 0, 0, hi, lo);
  tsri_loose_destroy(l);
}

static void what_a_double_would_lose_is_kept(void **state) {
  (void)state;
  const double inf = __builtin_inf();
  const struct {
    double x[4], y[4];
    size_t k;
    double hi, lo;
  } rows[] = {
      {{0x1p60, 1, -0x1p60}, {1, 1, 1}, 3, 1, 0},
      {{0x1p80, 1, 1}, {1, 1, 1}, 3, 0x1p80, 2},
      {{1 + 0x1p-52}, {1 + 0x1p-52}, 1, 1 + 0x1p-51, 0x1p-104}, /* (1 + e)^2 */
      {{3, 0x1p53 + 2}, {1, 0x1p53}, 2, 0x1p106 + 0x1p54, 3},
      {{0x1p500, -0x1p500, 5}, {0x1p500, 0x1p500, 1}, 3, 5, 0},
      {{0, -0.0}, {7, 7}, 2, 0, 0},
      {{inf, 1}, {1, 1}, 2, inf, 0},
      {{1, -inf, 2}, {1, 1, 1}, 3, -inf, 0},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    double hi, lo;
    sum_of(rows[i].x, rows[i].y, rows[i].k, &hi, &lo);
    if (hi != rows[i].hi || lo != rows[i].lo) fail_msg("row %zu: %a + %a", i, hi, lo);
  }
  double hi, lo;
  sum_of((const double[]){inf, -inf}, (const double[]){1, 1}, 2, &hi, &lo);
  assert_true(hi != hi);
}

static void no_memory_is_an_error(void **state) {
  (void)state;
  for (uint64_t n = 1; n <= 7; n++) {
    struct tsr_err err = TSR_ERR_INIT;
    struct tsri_loose *l = NULL;
    tsr_mem_fail_at(n, false);
    enum tsr_status st = tsri_loose_create(2, 2, 2, &l, &err);
    tsr_mem_fail_at(0, false);
    assert_int_equal(st, TSR_NOMEM);
    assert_null(l);
    tsr_err_fini(&err);
  }
  struct tsr_err err = TSR_ERR_INIT;
  struct tsri_loose *l = NULL;
  assert_int_equal(tsri_loose_create(SIZE_MAX, 2, 2, &l, &err), TSR_NOMEM);
  tsr_err_fini(&err);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_are_those_of_exact_arithmetic),
      cmocka_unit_test(what_a_double_would_lose_is_kept),
      cmocka_unit_test(no_memory_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
