#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/ref/ref.h"
#include "sim/base/rng.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

static struct tsr_num num(double v) {
  uint64_t code;
  memcpy(&code, &v, sizeof code);
  return tsr_arith_decode(tsr_format_find("fp64"), code);
}

static struct tsr_ref sum_of(const double *v, size_t n) {
  struct tsr_ref r;
  tsr_ref_init(&r);
  for (size_t i = 0; i < n; i++) {
    struct tsr_num x = num(v[i]);
    tsr_ref_add(&r, &x);
  }
  return r;
}

static void sums_keep_every_bit(void **state) {
  (void)state;
  static const struct {
    double v[4], want;
  } rows[] = {
      {{0x1p250, 1, -0x1p250, 0}, 1},
      {{0x1p250, 0x1p-280, -0x1p250, 0}, 0x1p-280},
      {{-0x1p250, -0x1p-280, 0x1p250, 0}, -0x1p-280},
      {{1, 0x1p-53, 0, 0}, 1},                     /* tie, to even */
      {{1, 0x1p-53, 0x1p-300, 0}, 1 + 0x1p-52},    /* just above the tie */
      {{1, 0x1p-53, -0x1p-300, 0}, 1},             /* just below it */
      {{1 + 0x1p-52, 0x1p-53, 0, 0}, 1 + 0x1p-51}, /* tie, to even, upward */
      {{-1, 0x1p-54, 0x1p-300, 0}, -1 + 0x1p-53},
      {{0.1, -0.1, 0.1, -0.1}, 0},
  };
  for (size_t i = 0; i < N(rows); i++) {
    struct tsr_ref r = sum_of(rows[i].v, 4);
    assert_true(tsr_ref_double(&r) == rows[i].want);
    assert_int_equal(tsr_ref_is_zero(&r), rows[i].want == 0);
  }
}

static void extent_of_a_sum_is_known(void **state) {
  (void)state;
  static const struct {
    double v[2];
    int msb, lsb;
  } rows[] = {{{1, 0}, 0, 0},
              {{-1, 0}, 0, 0},
              {{-0.75, 0}, -1, -2},
              {{0x1p200, 0x1p-200}, 200, -200},
              {{-0x1p200, 0x1p-200}, 199, -200},
              {{0x1p64, 0}, 64, 64},
              {{0x1.8p-298, 0}, -298, -299}};
  for (size_t i = 0; i < N(rows); i++) {
    struct tsr_ref r = sum_of(rows[i].v, 2);
    assert_int_equal(tsr_ref_msb(&r), rows[i].msb);
    assert_int_equal(tsr_ref_lsb(&r), rows[i].lsb);
  }
}

static void specials_reach_the_result(void **state) {
  (void)state;
  double inf = __builtin_inf(), nan = __builtin_nan("");
  const struct {
    double a[2], b[2];
    uint64_t fp16, int8; /* rounded codes */
  } rows[] = {
      {{inf, 1}, {1, 1}, 0x7c00, 0x7f}, {{inf, 1}, {-1, 1}, 0xfc00, 0x80},
      {{inf, inf}, {1, -1}, 0x7e00, 0}, {{inf, 1}, {0, 1}, 0x7e00, 0},
      {{nan, 1}, {0, 1}, 0x7e00, 0},    {{1, 1}, {1, 1}, 0x4000, 2},
      {{0, -0.0}, {-1, 1}, 0x0000, 0},  {{-300, 1}, {300, 1}, 0xfc00, 0x80},
  };
  for (size_t i = 0; i < N(rows); i++) {
    struct tsr_ref r;
    tsr_ref_init(&r);
    for (int k = 0; k < 2; k++) {
      struct tsr_num a = num(rows[i].a[k]), b = num(rows[i].b[k]);
      tsr_ref_mul_add(&r, &a, &b);
    }
    assert_int_equal(tsr_ref_round(&r, tsr_format_find("fp16"), TSR_ROUND_RNE), rows[i].fp16);
    assert_int_equal(tsr_ref_round(&r, tsr_format_find("int8"), TSR_ROUND_RNE), rows[i].int8);
    assert_int_equal(tsr_ref_is_finite(&r), (rows[i].fp16 & 0x7fff) < 0x7c00 || i == 7);
  }
}

static double some_double(struct tsr_rng *g) {
  uint64_t x = tsr_rng_next(g), e = 1023 - 160 + (x >> 12) % 320;
  uint64_t bits = x >> 63 << 63 | e << 52 | (tsr_rng_next(g) >> (12 + (x & 31)) << (x & 31));
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* Two roundings that share no code must agree: this one and the waist. */
static void rounding_agrees_with_the_waist(void **state) {
  (void)state;
  struct tsr_rng g = {1};
  for (size_t f = 0; f < tsr_format_count(); f++) {
    const struct tsr_format *to = tsr_format_at(f);
    if (to->codec) continue;
    for (int i = 0; i < 4000; i++) {
      double v = some_double(&g);
      if (i % 2) v = (double)((int64_t)tsr_rng_next(&g) >> (i % 64)) / 16; /* near integers */
      struct tsr_ref r = sum_of(&v, 1);
      for (int mode = 0; mode < TSR_ROUND_SR; mode++)
        assert_int_equal(tsr_ref_round(&r, to, (enum tsr_round)mode),
                         tsr_arith_from_double(to, (enum tsr_round)mode, v, NULL));
      assert_true(tsr_ref_double(&r) == v);
    }
  }
}

static void order_and_grouping_do_not_matter(void **state) {
  (void)state;
  struct tsr_rng g = {2};
  enum { K = 40 };
  for (int rep = 0; rep < 100; rep++) {
    struct tsr_num a[K], b[K];
    struct tsr_ref up, down, back;
    tsr_ref_init(&up);
    tsr_ref_init(&down);
    for (int i = 0; i < K; i++) {
      a[i] = tsr_arith_decode(tsr_format_find("bf16"), tsr_rng_next(&g) & 0xbfff);
      b[i] = tsr_arith_decode(tsr_format_find("fp32"), tsr_rng_next(&g) & 0xbfffffff);
      tsr_ref_mul_add(&up, &a[i], &b[i]);
    }
    for (int i = K; i-- > 0;) tsr_ref_mul_add(&down, &a[i], &b[i]);
    assert_memory_equal(up.limb, down.limb, sizeof up.limb);
    back = up;
    for (int i = 0; i < K; i++) {
      struct tsr_num minus = a[i];
      minus.sign = !minus.sign;
      tsr_ref_mul_add(&back, &minus, &b[i]);
    }
    assert_true(tsr_ref_is_zero(&back));
    struct tsr_num x = num(tsr_ref_double(&up)); /* r - r = 0, both ways of adding */
    struct tsr_ref d;
    tsr_ref_init(&d);
    tsr_ref_add(&d, &x);
    tsr_ref_sub(&d, &x);
    assert_true(tsr_ref_is_zero(&d));
  }
}

static void gemm_matches_a_hand_computed_product(void **state) {
  (void)state;
  /* [1 2 3; 4 5 6] * [1 -1; 2 -2; 3 -3] = [14 -14; 32 -32] */
  static const uint64_t a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0xff, 2, 0xfe, 3, 0xfd};
  static const uint64_t want32[] = {14, 0xfffffff2, 32, 0xffffffe0};
  static const uint64_t want16[] = {0x4b00, 0xcb00, 0x5000, 0xd000};
  const struct tsr_format *s8 = tsr_format_find("int8");
  uint64_t c[4];
  tsr_ref_gemm(s8, a, s8, b, tsr_format_find("int32"), c, 2, 2, 3);
  assert_memory_equal(c, want32, sizeof c);
  tsr_ref_gemm(s8, a, s8, b, tsr_format_find("fp16"), c, 2, 2, 3);
  assert_memory_equal(c, want16, sizeof c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_keep_every_bit),
      cmocka_unit_test(extent_of_a_sum_is_known),
      cmocka_unit_test(specials_reach_the_result),
      cmocka_unit_test(rounding_agrees_with_the_waist),
      cmocka_unit_test(order_and_grouping_do_not_matter),
      cmocka_unit_test(gemm_matches_a_hand_computed_product),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
