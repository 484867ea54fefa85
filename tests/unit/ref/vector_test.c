/* The oracle of what is no matmul against long double code written down naively, against
 * published digits, and against integer arithmetic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/ref/vector.h"
#include "sim/base/rng.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

/* Units in the last place of v, of doubles. */
static long double ulp(double v) {
  double a = fabs(v);
  return a < 0x1p-1022 ? 0x1p-1074L : (long double)(nextafter(a, INFINITY) - a);
}

/* The naive code has 64 bits, so its own error is far below what is allowed. */
static bool near(double got, long double want, long double ulps) {
  if (isnan(want)) return isnan(got);
  if ((double)want == got) return true;
  return fabsl((long double)got - want) <= ulps * ulp((double)want);
}

static double uniform(struct tsr_rng *g) { /* [-1, 1) */
  return (double)(int64_t)tsr_rng_next(g) * 0x1p-63;
}

/* Values as a format of `bits` significant bits holds them, 2^-8 to 2^8 in size. */
static double some_value(struct tsr_rng *g, int bits) {
  double v = ldexp(uniform(g), (int)(tsr_rng_next(g) % 16) - 8);
  int e;
  v = frexp(v, &e);
  return ldexp(rint(ldexp(v, bits)), e - bits);
}

/* ---- single elements ---- */

static long double l_sigmoid(long double x) {
  return 1 / (1 + expl(-x));
}
static long double l_gelu(long double x) {
  return x / 2 * erfcl(-x * sqrtl(0.5L));
}
static long double l_gelu_tanh(long double x) {
  long double u = sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x);
  return x / (1 + expl(-2 * u));
}
static long double l_silu(long double x) {
  return x / (1 + expl(-x));
}
static long double l_softplus(long double x) {
  return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}
static long double l_clamp(long double x, long double a, long double b) {
  return x < a ? a : x > b ? b : x;
}
static long double l_hardswish(long double x) {
  return x * l_clamp(x + 3, 0, 6) / 6;
}
static long double l_hardsigmoid(long double x) {
  return l_clamp(x / 6 + 0.5L, 0, 1);
}
static long double l_rsqrt(long double x) {
  return 1 / sqrtl(x);
}
static long double l_recip(long double x) {
  return 1 / x;
}
static long double l_square(long double x) {
  return x * x;
}
static long double l_neg(long double x) {
  return -x;
}
static long double l_copy(long double x) {
  return x;
}
static long double l_relu(long double x) {
  return x > 0 ? x : 0;
}

/* Ranges without subnormal results; where the naive formula loses digits more is allowed. */
static const struct {
  const char *name;
  long double (*naive)(long double);
  double low, high;
  long double ulps;
} functions[] = {
    {"exp", expl, -700, 709, 0.51L},
    {"exp", expl, -1, 1, 0.51L},
    {"log", logl, 1e-300, 1e300, 0.51L},
    {"log", logl, 0.25, 4, 0.51L},
    {"log", logl, 0.999, 1.001, 0.51L},
    {"tanh", tanhl, -25, 25, 0.51L},
    {"tanh", tanhl, -1e-3, 1e-3, 0.51L},
    {"erf", erfl, -7, 7, 0.51L},
    {"erf", erfl, -1e-3, 1e-3, 0.51L},
    {"sigmoid", l_sigmoid, -40, 40, 0.51L},
    {"sigmoid", l_sigmoid, -700, -40, 0.51L},
    {"gelu", l_gelu, -8, 8, 0.6L},
    {"gelu", l_gelu, -37, -8, 1.5L},
    {"gelu_tanh", l_gelu_tanh, -8, 8, 0.7L},
    {"silu", l_silu, -40, 40, 0.51L},
    {"hardswish", l_hardswish, -4, 4, 0.51L},
    {"sin", sinl, -30, 30, 0.51L},
    {"sin", sinl, -1e15, 1e15, 0.51L},
    {"cos", cosl, -30, 30, 0.51L},
    {"cos", cosl, -1e-3, 1e-3, 0.51L},
    {"softplus", l_softplus, -700, 700, 0.51L},
    {"softplus", l_softplus, -1, 1, 0.51L},
    {"hardsigmoid", l_hardsigmoid, -4, 4, 0.51L},
    {"sqrt", sqrtl, 0, 1e10, 0.51L},
    {"rsqrt", l_rsqrt, 1e-10, 1e10, 0.51L},
    {"recip", l_recip, -9, 9, 0.51L},
    {"square", l_square, -9, 9, 0.51L},
    {"abs", fabsl, -9, 9, 0},
    {"neg", l_neg, -9, 9, 0},
    {"copy", l_copy, -9, 9, 0},
    {"relu", l_relu, -9, 9, 0},
};

static void functions_are_rounded_as_if_exact(void **state) {
  (void)state;
  struct tsr_rng g = {1};
  for (size_t i = 0; i < N(functions); i++) {
    tsr_ref_unary_fn *f = tsr_ref_unary(functions[i].name);
    assert_non_null(f);
    double middle = functions[i].low / 2 + functions[i].high / 2,
           radius = functions[i].high / 2 - functions[i].low / 2;
    for (int j = 0; j < 4000; j++) {
      double x = middle + radius * uniform(&g);
      if (j % 4 == 0) x = (double)(float)x;
      if (j % 4 == 1 && radius > 2) x = rint(x);
      if (x < functions[i].low || x > functions[i].high) continue;
      long double want = functions[i].naive(x);
      if (!near(f(x), want, functions[i].ulps))
        fail_msg("%s(%a) = %a, expected %La", functions[i].name, x, f(x), want);
    }
  }
  assert_null(tsr_ref_unary("Exp"));
  assert_null(tsr_ref_unary("add"));
}

/* Published digits (SRC:abramowitz1964 tables and series), independent of any libm. */
static void values_are_the_published_ones(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double x, want;
  } rows[] = {
      {"exp", 1, 2.71828182845904523536},
      {"exp", -1, 0.36787944117144232160},
      {"exp", 0, 1},
      {"log", 10, 2.30258509299404568402},
      {"log", 2, 0.69314718055994530942},
      {"log", 1, 0},
      {"tanh", 0.5, 0.46211715726000975850},
      {"tanh", -1, -0.76159415595576488812},
      {"erf", 0.5, 0.52049987781304653768},
      {"erf", 1, 0.84270079294971486934},
      {"erf", -2, -0.99532226501895273416},
      {"sigmoid", 0, 0.5},
      {"gelu", 1, 0.84134474606854294859},
      {"gelu", -1, -0.15865525393145705141},
      {"gelu_tanh", 1, 0.84119199060827670478},
      {"silu", 1, 0.73105857863000487925},
      {"hardswish", 1, 2.0 / 3},
      {"hardswish", -3, 0},
      {"hardswish", 3, 3},
      {"hardsigmoid", 1, 2.0 / 3},
  };
  for (size_t i = 0; i < N(rows); i++) {
    double got = tsr_ref_unary(rows[i].name)(rows[i].x);
    if (got != rows[i].want)
      fail_msg("%s(%g) = %.20g, expected %.20g", rows[i].name, rows[i].x, got, rows[i].want);
  }
  assert_true(tsr_ref_erfc(10) == 2.0884875837625447570e-45);
  assert_true(tsr_ref_erfc(5) == 1.5374597944280348502e-12);
  assert_true(tsr_ref_erfc(0) == 1 && tsr_ref_erfc(-30) == 2 && tsr_ref_erfc(30) == 0);
}

/* Worked out with 1600 bits (mpmath): angles as large as doubles are, the double nearest to a
 * multiple of pi/2, powers that need all of the logarithm. */
static void values_are_those_of_many_digits(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double x, want;
  } ones[] = {
      {"sin", 0.5, 0.4794255386042030002733},
      {"cos", 0.5, 0.8775825618903727161163},
      {"sin", -2, -0.909297426825681695396},
      {"cos", -2, -0.4161468365471423869976},
      {"sin", 3, 0.1411200080598672221007},
      {"cos", 3, -0.9899924966004454572716},
      {"sin", 100, -0.5063656411097587936566},
      {"cos", 100, 0.8623188722876839341019},
      {"sin", 1e22, -0.8522008497671888017727},
      {"cos", 1e22, 0.5232147853951389454976},
      {"sin", -0x1.6ac5b262ca1ffp+849, -1.0},
      {"cos", -0x1.6ac5b262ca1ffp+849, -4.687165924254627611123e-19},
      {"sin", 0x1.921fb54442d18p+1, 1.224646799147353177226e-16},
      {"cos", 0x1.921fb54442d18p+1, -1.0},
      {"sin", 0x1.fffffep+127, -0.5218765233336585405515},
      {"cos", 0x1.fffffep+127, 0.8530210398303041580518},
      {"sin", 1e-5, 9.999999999833334151365e-6},
      {"cos", 1e-5, 0.9999999999500000000004},
      {"sin", 0.7853981633974483, 0.7071067811865475027519},
      {"cos", 0.7853981633974483, 0.7071067811865475460497},
      {"sin", 11.5, -0.8754521746884285269557},
      {"cos", 11.5, 0.4833047587530058889107},
      {"softplus", 0, 0.6931471805599453094172},
      {"softplus", 1, 1.313261687518222834049},
      {"softplus", -1, 0.313261687518222834049},
      {"softplus", 0.001, 0.6936473055599401010947},
      {"softplus", -0.001, 0.6926473055599401010738},
      {"softplus", 20, 20.00000000206115362031},
      {"softplus", -20, 2.061153620314380703239e-9},
      {"softplus", -13.5, 1.370958146620535013114e-6},
      {"softplus", -600, 2.650396553004310816339e-261},
      {"softplus", 37.5, 37.50000000000000005176},
      {"softsign", 2, 0.6666666666666666666667},
      {"softsign", -0.3, -0.2307692307692307626614},
      {"softsign", 1e10, 0.99999999990000000001},
  };
  static const struct {
    const char *name;
    double a, b, want;
  } pairs[] = {
      {"pow", 2, 0.5, 1.414213562373095048802},
      {"pow", 10, -3, 1.0e-3},
      {"pow", 1.0000001, 1e7, 2.718281694132081570602},
      {"pow", 0.1, 3.7, 1.995262314968879195057e-4},
      {"pow", -1.5, 7, -17.0859375},
      {"pow", -3, -4, 0.01234567901234567901235},
      {"pow", 123.456, -7.89, 3.147521672492621669725e-17},
      {"pow", 1e-300, 0.9, 9.999999999999846842553e-271},
      {"pow", 1.5, 1700, 2.265376518968227744648e+299},
      {"pow", 0.9999999999, -1e12, 2.688139396929808999469e+43},
      {"pow", 7, 0.3333333333333333, 1.912931182772389032321},
  };
  static const struct {
    const char *name;
    double x, alpha, beta, want;
  } numbered[] = {
      {"elu", -0.5, 1, 0, -0.3934693402873665763962},
      {"elu", -1e-08, 2, 0, -1.999999990000000075178e-8},
      {"elu", -50, 0.3, 0, -0.2999999999999999888977},
      {"elu", 2.5, 9, 0, 2.5},
      {"selu", -0.7, 1.6732631921768188, 1.0507010221481323, -0.885053048343798084202},
      {"selu", 3, 1.6732631921768188, 1.0507010221481323, 3.152103066444396972656},
      {"celu", -1, 0.5, 0, -0.432332358381693654053},
      {"celu", -0.01, 3, 0, -9.983351836430035646866e-3},
      {"celu", 4, 2, 0, 4.0},
      {"leaky_relu", -3, 0.25, 0, -0.75},
      {"leaky_relu", 3, 0.25, 0, 3},
      {"affine", 3, 2, -1, 5},
      {"affine", 1 + 0x1p-52, 1 - 0x1p-52, -1, -0x1p-104},
      {"clip", -3, -1, 6, -1},
      {"clip", 9, -1, 6, 6},
      {"clip", 9, -INFINITY, INFINITY, 9},
      {"clip", 2, 5, 3, 3}, /* the upper bound is the last */
      {"clip", NAN, 0, 6, NAN},
      {"elu", NAN, 1, 0, NAN},
      {"celu", -INFINITY, 2, 0, -2},
  };
  for (size_t i = 0; i < N(ones); i++) {
    double got = tsr_ref_unary(ones[i].name)(ones[i].x);
    if (got != ones[i].want)
      fail_msg("%s(%a) = %.20g, expected %.20g", ones[i].name, ones[i].x, got, ones[i].want);
  }
  for (size_t i = 0; i < N(pairs); i++) {
    double got = tsr_ref_binary(pairs[i].name)(pairs[i].a, pairs[i].b);
    if (got != pairs[i].want)
      fail_msg("%s(%g, %g) = %.20g, expected %.20g", pairs[i].name, pairs[i].a, pairs[i].b, got,
               pairs[i].want);
  }
  for (size_t i = 0; i < N(numbered); i++) {
    double got =
        tsr_ref_numbers(numbered[i].name)(numbered[i].x, numbered[i].alpha, numbered[i].beta);
    if (!near(got, numbered[i].want, 0))
      fail_msg("%s(%g) = %.20g, expected %.20g", numbered[i].name, numbered[i].x, got,
               numbered[i].want);
  }
  assert_null(tsr_ref_numbers("relu"));
}

static void whole_numbers_are_exact(void **state) {
  (void)state;
  static const struct {
    double x, floor, ceil, round, sign, is_zero;
  } rows[] = {
      {2.5, 2, 3, 2, 1, 0},
      {3.5, 3, 4, 4, 1, 0},
      {-2.5, -3, -2, -2, -1, 0},
      {-0.5, -1, -0.0, -0.0, -1, 0},
      {0.49999999999999994, 0, 1, 0, 1, 0},
      {0, 0, 0, 0, 0, 1},
      {-0.0, -0.0, -0.0, -0.0, -0.0, 1},
      {0x1p52 + 1, 0x1p52 + 1, 0x1p52 + 1, 0x1p52 + 1, 1, 0},
      {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -1, 0},
      {NAN, NAN, NAN, NAN, NAN, 0},
  };
  static const char *const names[] = {"floor", "ceil", "round", "sign", "not"};
  for (size_t i = 0; i < N(rows); i++) {
    const double want[] = {rows[i].floor, rows[i].ceil, rows[i].round, rows[i].sign,
                           rows[i].is_zero};
    for (size_t f = 0; f < N(names); f++) {
      double got = tsr_ref_unary(names[f])(rows[i].x);
      if (!near(got, want[f], 0) || (!isnan(got) && !signbit(got) != !signbit(want[f])))
        fail_msg("%s(%g) = %g", names[f], rows[i].x, got);
    }
  }
}

static void powers_are_special_where_ieee_754_says(void **state) {
  (void)state;
  static const struct {
    double x, y, want;
  } rows[] = {{NAN, 0, 1},
              {1, NAN, 1},
              {-1, INFINITY, 1},
              {0.5, INFINITY, 0},
              {-0.5, -INFINITY, INFINITY},
              {-2, -INFINITY, 0},
              {-0.0, 3, -0.0},
              {-0.0, 2.5, 0},
              {-0.0, -3, -INFINITY},
              {0, -0.5, INFINITY},
              {-INFINITY, 3, -INFINITY},
              {-INFINITY, -3, -0.0},
              {-INFINITY, 0.5, INFINITY},
              {-8, 0.3, NAN},
              {2, NAN, NAN},
              {-2, 0x1p53, INFINITY},
              {-1, 0x1.fffffffffffffp52, -1}};
  for (size_t i = 0; i < N(rows); i++) {
    double got = tsr_ref_pow(rows[i].x, rows[i].y), want = rows[i].want;
    if (!near(got, want, 0) || (!isnan(got) && !signbit(got) != !signbit(want)))
      fail_msg("pow(%g, %g) = %g", rows[i].x, rows[i].y, got);
  }
}

static void functions_have_their_limits(void **state) {
  (void)state;
  double inf = INFINITY;
  const struct {
    const char *name;
    double at_minus, at_plus; /* at the infinities */
  } rows[] = {
      {"exp", 0, inf},       {"log", NAN, inf},     {"tanh", -1, 1},       {"erf", -1, 1},
      {"sigmoid", 0, 1},     {"gelu", 0, inf},      {"gelu_tanh", 0, inf}, {"silu", 0, inf},
      {"hardswish", 0, inf}, {"hardsigmoid", 0, 1}, {"relu", 0, inf},      {"sqrt", NAN, inf},
      {"rsqrt", NAN, 0},     {"recip", 0, 0},       {"square", inf, inf},  {"softplus", 0, inf},
      {"sin", NAN, NAN},     {"cos", NAN, NAN},     {"softsign", NAN, NAN}};
  for (size_t i = 0; i < N(rows); i++) {
    tsr_ref_unary_fn *f = tsr_ref_unary(rows[i].name);
    if (!near(f(-inf), rows[i].at_minus, 0) || !near(f(inf), rows[i].at_plus, 0))
      fail_msg("%s: %g, %g", rows[i].name, f(-inf), f(inf));
    assert_true(isnan(f(NAN)));
  }
  assert_true(tsr_ref_exp(709.8) == inf && tsr_ref_exp(-746) == 0);
  assert_true(tsr_ref_exp(-745) == 0x1p-1074 && tsr_ref_exp(709.78) < inf);
  assert_true(tsr_ref_log(0) == -inf && isnan(tsr_ref_log(-1)));
  assert_true(tsr_ref_log(0x1p-1074) == -744.44007192138126231);
  assert_true(tsr_ref_unary("rsqrt")(0) == inf);
}

static void pairs_are_combined_as_named(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double a, b, want;
  } rows[] = {{"add", 2, 3, 5},
              {"sub", 2, 3, -1},
              {"mul", 2, 3, 6},
              {"div", 3, 2, 1.5},
              {"max", 2, 3, 3},
              {"max", 3, 2, 3},
              {"min", 2, 3, 2},
              {"min", 3, 2, 2},
              {"subexp", 3, 3, 1},
              {"less", 2, 3, 1},
              {"less", 3, 3, 0},
              {"less", NAN, 3, 0},
              {"less_equal", 3, 3, 1},
              {"less_equal", 4, 3, 0},
              {"less_equal", 3, NAN, 0},
              {"greater", 4, 3, 1},
              {"greater", 3, 3, 0},
              {"greater", NAN, NAN, 0},
              {"greater_equal", 3, 3, 1},
              {"greater_equal", 2, 3, 0},
              {"greater_equal", NAN, 3, 0},
              {"equal", 0, -0.0, 1},
              {"equal", 1, 2, 0},
              {"equal", NAN, NAN, 0},
              {"keep", NAN, 0, 0},
              {"keep", 5, NAN, 5},
              {"keep", -INFINITY, -0.0, 0},
              {"mod", -7, 3, 2},
              {"mod", 7, -3, -2},
              {"mod", -6, 3, 0},
              {"mod", 6, -3, -0.0},
              {"mod", -1, INFINITY, INFINITY},
              {"mod", 1, 0, NAN},
              {"fmod", -7, 3, -1},
              {"fmod", 7, -3, 1},
              {"fmod", -6, 3, -0.0},
              {"fmod", 1e22, 7, 4},
              {"fmod", 0x1p1000, 3, 1},
              {"fmod", 5.5, 0x1p-1074, 0},
              {"fmod", 5, -INFINITY, 5},
              {"fmod", INFINITY, 5, NAN},
              {"fmod", 5, 0, NAN},
              {"prelu", -2, 0.25, -0.5},
              {"prelu", 2, 0.25, 2},
              {"prelu", NAN, 0.25, NAN}};
  for (size_t i = 0; i < N(rows); i++) {
    double got = tsr_ref_binary(rows[i].name)(rows[i].a, rows[i].b), want = rows[i].want;
    if (!near(got, want, 0) || (got == 0 && !signbit(got) != !signbit(want)))
      fail_msg("%s(%g, %g) = %g", rows[i].name, rows[i].a, rows[i].b, got);
  }
  static const char *const extremes[] = {"max", "min"};
  for (size_t i = 0; i < N(extremes); i++) {
    assert_true(isnan(tsr_ref_binary(extremes[i])(NAN, 1)));
    assert_true(isnan(tsr_ref_binary(extremes[i])(1, NAN)));
  }
  /* 600 - 2^-45 is no double, and its rounding would show in e^ of it */
  assert_true(near(tsr_ref_binary("subexp")(600, 0x1p-45), expl(600.0L - 0x1p-45L), 0.6L));
  assert_null(tsr_ref_binary("exp"));
}

static void an_operand_is_broadcast_as_said(void **state) {
  (void)state;
  static const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20, 30, 40, 50, 60};
  static const struct {
    enum tsr_ref_with with;
    double want[6];
  } rows[] = {{TSR_REF_FULL, {11, 22, 33, 44, 55, 66}},
              {TSR_REF_ROW, {11, 22, 33, 14, 25, 36}},
              {TSR_REF_COL, {11, 12, 13, 24, 25, 26}},
              {TSR_REF_SCALAR, {11, 12, 13, 14, 15, 16}}};
  for (size_t i = 0; i < N(rows); i++) {
    double y[6];
    tsr_ref_broadcast(tsr_ref_binary("add"), a, b, rows[i].with, 2, 3, y);
    assert_memory_equal(y, rows[i].want, sizeof y);
  }
}

/* ---- rows ---- */

enum { WIDE = 300 };

static void naive_softmax(const double *x, size_t n, long double *y) {
  long double most = x[0], sum = 0;
  for (size_t i = 1; i < n; i++) most = fmaxl(most, x[i]);
  for (size_t i = 0; i < n; i++) sum += y[i] = expl(x[i] - most);
  for (size_t i = 0; i < n; i++) y[i] /= sum;
}

static void naive_log_softmax(const double *x, size_t n, long double *y) {
  long double others = 0;
  size_t most = 0;
  for (size_t i = 1; i < n; i++)
    if (x[i] > x[most]) most = i;
  for (size_t i = 0; i < n; i++)
    if (i != most) others += expl((long double)x[i] - x[most]);
  for (size_t i = 0; i < n; i++) y[i] = (long double)x[i] - x[most] - log1pl(others);
}

static void naive_norm(const double *x, const double *gain, const double *bias, double eps,
                       bool centred, size_t n, long double *y) {
  long double mean = 0, square = 0;
  for (size_t i = 0; i < n; i++) mean += x[i];
  mean = centred ? mean / n : 0;
  for (size_t i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean);
  for (size_t i = 0; i < n; i++)
    y[i] = (x[i] - mean) / sqrtl(square / n + eps) * gain[i] + bias[i];
}

static void rows_match_the_naive_ones(void **state) {
  (void)state;
  struct tsr_rng g = {2};
  double x[WIDE], gain[WIDE], bias[WIDE], zero[WIDE] = {0}, y[WIDE];
  long double want[WIDE];
  for (int rep = 0; rep < 300; rep++) {
    size_t n = 1 + (size_t)rep % WIDE;
    int bits = rep % 3 == 0 ? 8 : rep % 3 == 1 ? 11 : 24;
    double eps = rep % 2 ? 1e-5 : 1e-12, most = 0;
    for (size_t i = 0; i < n; i++) {
      x[i] = some_value(&g, bits);
      gain[i] = some_value(&g, bits);
      bias[i] = some_value(&g, bits);
      most = fmax(most, fabs(bias[i]));
    }
    naive_softmax(x, n, want);
    tsr_ref_softmax(x, n, y);
    for (size_t i = 0; i < n; i++) assert_true(near(y[i], want[i], 0.6L));
    naive_log_softmax(x, n, want);
    tsr_ref_log_softmax(x, n, y);
    for (size_t i = 0; i < n; i++) assert_true(near(y[i], want[i], 0.6L));
    naive_norm(x, gain, bias, eps, true, n, want);
    tsr_ref_layernorm(x, gain, bias, eps, n, y);
    /* the sum of two parts may cancel in the naive code: judged against the larger part */
    for (size_t i = 0; i < n; i++)
      assert_true(fabsl(y[i] - want[i]) <= 0.6L * ulp(fmax(fabs((double)want[i]), most)));
    naive_norm(x, gain, zero, eps, false, n, want);
    tsr_ref_rmsnorm(x, gain, eps, n, y);
    for (size_t i = 0; i < n; i++) assert_true(near(y[i], want[i], 0.6L));
    tsr_ref_batchnorm(x, gain, bias, n, y);
    for (size_t i = 0; i < n; i++) /* exact in 64 bits for the narrow formats */
      if (bits < 24) assert_true(near(y[i], (long double)x[i] * gain[i] + bias[i], 0.5L));
    tsr_ref_softmax(x, n, x); /* in place */
    long double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    assert_true(fabsl(sum - 1) < 1e-15L);
  }
}

static void a_mask_takes_no_part_in_softmax(void **state) {
  (void)state;
  const double masked[] = {0, -INFINITY, 0}, all[] = {-INFINITY, -INFINITY}, tail[] = {0, -200};
  double l[3];
  tsr_ref_log_softmax(masked, 3, l);
  assert_true(l[0] == -0.69314718055994530942 && l[1] == -INFINITY && l[2] == l[0]);
  tsr_ref_log_softmax(all, 2, l);
  assert_true(isnan(l[0]) && isnan(l[1]));
  tsr_ref_log_softmax(tail, 2, l);
  assert_true(l[0] == -1.3838965267367376e-87 && l[1] == -200);
  const double x[] = {1, -INFINITY, 1, -INFINITY};
  double y[4];
  tsr_ref_softmax(x, 4, y);
  assert_true(y[0] == 0.5 && y[1] == 0 && y[2] == 0.5 && y[3] == 0);
  tsr_ref_softmax(x + 1, 1, y);
  assert_true(isnan(y[0]));
  const double wide[] = {3e38, -3e38, 3e38}; /* the ends of fp32 */
  tsr_ref_softmax(wide, 3, y);
  assert_true(y[0] == 0.5 && y[1] == 0 && y[2] == 0.5);
}

/* mean 2, variance 2/3: (-1, 0, 1) * sqrt(3/2) */
static void norms_of_a_small_row_are_known(void **state) {
  (void)state;
  const double x[] = {1, 2, 3};
  double y[3], root = 1.2247448713915890491; /* sqrt(3/2) */
  tsr_ref_layernorm(x, NULL, NULL, 0, 3, y);
  assert_true(y[0] == -root && y[1] == 0 && y[2] == root);
  tsr_ref_rmsnorm(x, NULL, 0, 3, y); /* x / sqrt(14/3) */
  assert_true(near(y[0], 0.46291004988627574L, 1) && near(y[2], 1.38873014965882721L, 1));
  /* a large mean over a small spread, which one pass over the squares would lose */
  const double far[] = {1e12 + 1, 1e12 + 2, 1e12 + 3};
  tsr_ref_layernorm(far, NULL, NULL, 0, 3, y);
  assert_true(y[0] == -root && y[1] == 0 && y[2] == root);
}

static void reductions_are_those_of_their_names(void **state) {
  (void)state;
  const double x[] = {3, -7, 0.5, 2}, cancel[] = {1e16, 1, -1e16, 1};
  static const struct {
    const char *name;
    double want;
  } rows[] = {{"rowsum", -1.5},    {"rowmean", -0.375}, {"rowmax", 3},   {"rowmin", -7},
              {"rowsumsq", 62.25}, {"rowabsmax", 7},    {"rowprod", -21}};
  const double nan[] = {1, NAN, 2};
  for (size_t i = 0; i < N(rows); i++) {
    assert_true(tsr_ref_reduce(rows[i].name)(x, 4) == rows[i].want);
    assert_true(isnan(tsr_ref_reduce(rows[i].name)(nan, 3)));
  }
  assert_true(tsr_ref_reduce("rowsum")(cancel, 4) == 2);
  assert_null(tsr_ref_reduce("sum"));
}

static void rope_turns_pairs(void **state) {
  (void)state;
  const double x[] = {3, 4, 1, 0}, cs[] = {0, 1, -1, 0}, want[] = {-4, 3, -1, 0};
  double y[4];
  memcpy(y, x, sizeof y);
  tsr_ref_rope(y, cs, 4, y); /* in place */
  for (size_t i = 0; i < 4; i++) assert_true(y[i] == want[i]);
  struct tsr_rng g = {6};
  for (int i = 0; i < 1000; i++) { /* products of 24 bits are exact in 64 */
    double p[2] = {some_value(&g, 24), some_value(&g, 24)};
    double t[2] = {some_value(&g, 24) / 256, some_value(&g, 24) / 256};
    tsr_ref_rope(p, t, 2, y);
    long double first = (long double)p[0] * t[0] - (long double)p[1] * t[1];
    long double second = (long double)p[0] * t[1] + (long double)p[1] * t[0];
    /* their sum is rounded to 64 bits in the naive code */
    assert_true(fabsl(y[0] - first) <= 0.5L * ulp((double)first) + 0x1p-64L);
    assert_true(fabsl(y[1] - second) <= 0.5L * ulp((double)second) + 0x1p-64L);
  }
}

static void the_largest_come_first(void **state) {
  (void)state;
  const double x[] = {1, 5, 5, -2, 3, NAN};
  double value[6];
  size_t column[6];
  static const size_t want[] = {5, 1, 2, 4, 0, 3};
  for (size_t k = 1; k <= 6; k++) {
    tsr_ref_topk(x, 6, k, value, column);
    assert_memory_equal(column, want, k * sizeof *want);
    for (size_t i = 0; i < k; i++)
      assert_true(i == 0 ? isnan(value[i]) : value[i] == x[want[i]]);
  }
}

/* ---- windows ---- */

enum { SIDE = 12, CH = 3, PADDED = SIDE + 4 };

/* The same by an image with its padding written out. */
static double naive_pool(const struct tsr_ref_pool *p, const double *x, bool mean, size_t h,
                         size_t w, size_t c) {
  static double image[PADDED][PADDED];
  for (size_t i = 0; i < PADDED; i++)
    for (size_t j = 0; j < PADDED; j++) image[i][j] = mean ? 0 : -INFINITY;
  for (size_t i = 0; i < p->in_h; i++)
    for (size_t j = 0; j < p->in_w; j++)
      image[i + p->pad_t][j + p->pad_l] = x[(i * p->in_w + j) * p->c + c];
  double most = -INFINITY, sum = 0;
  for (size_t i = 0; i < p->k_h; i++)
    for (size_t j = 0; j < p->k_w; j++) {
      double v = image[h * p->stride_h + i * p->dil_h][w * p->stride_w + j * p->dil_w];
      most = fmax(most, v);
      sum += v; /* exact: small integers */
    }
  return mean ? sum / (double)(p->k_h * p->k_w) : most;
}

static const struct tsr_ref_pool pools[] = {
    {2, 6, 7, CH, 5, 6, 2, 2, 1, 1, 0, 0, 1, 1},  {1, 8, 8, CH, 4, 4, 2, 2, 2, 2, 0, 0, 1, 1},
    {1, 7, 7, CH, 4, 4, 3, 3, 2, 2, 1, 1, 1, 1},  {2, 5, 9, CH, 3, 3, 3, 2, 2, 4, 1, 0, 1, 1},
    {1, 9, 9, CH, 5, 5, 3, 3, 1, 1, 0, 0, 2, 2},  {1, 7, 7, CH, 1, 1, 7, 7, 1, 1, 0, 0, 1, 1},
    {1, 10, 4, CH, 8, 4, 3, 2, 1, 1, 0, 1, 1, 2},
};

static void pools_match_an_image_with_its_padding(void **state) {
  (void)state;
  struct tsr_rng g = {3};
  for (size_t i = 0; i < N(pools); i++) {
    const struct tsr_ref_pool *p = &pools[i];
    double x[2 * SIDE * SIDE * CH], most[2 * SIDE * SIDE * CH], mean[2 * SIDE * SIDE * CH];
    size_t image = p->in_h * p->in_w * p->c;
    for (size_t j = 0; j < p->batch * image; j++) x[j] = (double)(tsr_rng_next(&g) % 201) - 100;
    tsr_ref_maxpool(p, x, most);
    tsr_ref_avgpool(p, x, mean);
    size_t at = 0;
    for (size_t b = 0; b < p->batch; b++)
      for (size_t h = 0; h < p->out_h; h++)
        for (size_t w = 0; w < p->out_w; w++)
          for (size_t c = 0; c < p->c; c++, at++) {
            assert_true(most[at] == naive_pool(p, x + b * image, false, h, w, c));
            assert_true(near(mean[at], naive_pool(p, x + b * image, true, h, w, c), 0));
          }
  }
}

/* ---- attention ---- */

enum { MOST = 24 };

static void naive_attention(const struct tsr_ref_attention *a, const double *q, const double *k,
                            const double *v, size_t i, long double *out) {
  long double score[MOST], sum = 0, most = -INFINITY;
  long double scale = a->scale == 0 ? 1 / sqrtl(a->d) : a->scale;
  for (size_t j = 0; j < a->n; j++) {
    score[j] = 0;
    for (size_t c = 0; c < a->d; c++)
      score[j] += (long double)q[i * a->d + c] * k[j * a->d + c];
    score[j] = a->causal && j + a->m > i + a->n ? -INFINITY : score[j] * scale;
    most = fmaxl(most, score[j]);
  }
  for (size_t j = 0; j < a->n; j++) sum += score[j] = expl(score[j] - most);
  for (size_t c = 0; c < a->d; c++) {
    out[c] = 0;
    for (size_t j = 0; j < a->n; j++) out[c] += score[j] * v[j * a->d + c];
    out[c] /= sum;
  }
}

static void attention_matches_the_naive_one(void **state) {
  (void)state;
  struct tsr_rng g = {4};
  double q[MOST * MOST], k[MOST * MOST], v[MOST * MOST], out[MOST * MOST], work[2 * MOST];
  for (int rep = 0; rep < 200; rep++) {
    struct tsr_ref_attention a = {.n = 1 + tsr_rng_next(&g) % MOST,
                                  .d = 1 + tsr_rng_next(&g) % MOST,
                                  .causal = rep % 2,
                                  .scale = rep % 3 ? 0 : 0.25};
    a.m = 1 + tsr_rng_next(&g) % (a.causal ? a.n : MOST);
    for (size_t i = 0; i < MOST * MOST; i++) {
      q[i] = some_value(&g, 11) / 16;
      k[i] = some_value(&g, 11) / 16;
      v[i] = some_value(&g, 11);
    }
    tsr_ref_attention(&a, q, k, v, work, out);
    for (size_t i = 0; i < a.m; i++) {
      long double want[MOST];
      naive_attention(&a, q, k, v, i, want);
      /* values cancel: the bound is that of the largest of them, 256 */
      for (size_t c = 0; c < a.d; c++)
        assert_true(fabsl(out[i * a.d + c] - want[c]) <= 0.51L * ulp((double)want[c]) + 1e-16L);
    }
  }
}

/* Equal keys: the mean of the values each query sees. */
static void equal_keys_give_the_mean_of_what_is_seen(void **state) {
  (void)state;
  const double q[] = {1, -2, 3}, k[] = {1, 1, 1, 1}, v[] = {4, 8, 12, 32};
  double work[8], out[3];
  tsr_ref_attention(&(struct tsr_ref_attention){3, 4, 1, false, 0}, q, k, v, work, out);
  for (size_t i = 0; i < 3; i++) assert_true(out[i] == 14);
  tsr_ref_attention(&(struct tsr_ref_attention){3, 4, 1, true, 0}, q, k, v, work, out);
  assert_true(out[0] == 6 && out[1] == 8 && out[2] == 14);
}

/* ---- rows by index ---- */

static void rows_are_taken_by_index(void **state) {
  (void)state;
  static const double table[] = {1, 2, 10, 20, 100, 200}, weight[] = {0.5, 2, 1, -1};
  static const uint64_t index[] = {2, 0, 1, 1}, bad[] = {0, 3};
  double y[8];
  assert_true(tsr_ref_gather(table, 3, 2, index, NULL, 4, 1, y));
  static const double plain[] = {100, 200, 1, 2, 10, 20, 10, 20};
  assert_memory_equal(y, plain, sizeof plain);
  assert_true(tsr_ref_gather(table, 3, 2, index, NULL, 2, 2, y));
  static const double sums[] = {101, 202, 20, 40};
  assert_memory_equal(y, sums, sizeof sums);
  assert_true(tsr_ref_gather(table, 3, 2, index, weight, 2, 2, y));
  static const double weighted[] = {52, 104, 0, 0};
  assert_memory_equal(y, weighted, sizeof weighted);
  assert_false(tsr_ref_gather(table, 3, 2, bad, NULL, 2, 1, y));
}

/* There and back with weights that sum to 1 gives every token again. */
static void experts_rows_go_there_and_back(void **state) {
  (void)state;
  static const uint64_t expert[] = {2, 0, 1, 2, 0, 2};
  static const uint64_t want_from[] = {1, 4, 2, 0, 3, 5}, want_to[] = {3, 0, 2, 4, 1, 5},
                        want_first[] = {0, 2, 3, 6, 6};
  uint64_t from[6], to[6], first[5], token[6];
  assert_true(tsr_ref_dispatch(expert, 3, 2, 4, from, to, first));
  assert_memory_equal(from, want_from, sizeof from);
  assert_memory_equal(to, want_to, sizeof to);
  assert_memory_equal(first, want_first, sizeof first);
  static const double x[] = {1, 2, 3, 4, 5, 6}, weight[] = {0.25, 0.75, 0.5, 0.5, 1, 0};
  double sent[12], back[6];
  for (size_t i = 0; i < 6; i++) token[i] = from[i] / 2;
  assert_true(tsr_ref_gather(x, 3, 2, token, NULL, 6, 1, sent));
  assert_true(tsr_ref_gather(sent, 6, 2, to, weight, 3, 2, back));
  assert_memory_equal(back, x, sizeof x);
  assert_false(tsr_ref_dispatch(expert, 3, 2, 2, from, to, first));
  assert_true(tsr_ref_dispatch(expert, 3, 2, 3, NULL, NULL, NULL));
}

/* ---- formats ---- */

/* a / (64 * s) + zero to the nearest integer, ties to even, in integers alone. */
static int64_t naive_quantise(int64_t a, int64_t s, int64_t zero, int64_t low, int64_t high) {
  int64_t d = 64 * s, q = a / d, r = a % d;
  if (r < 0) {
    q--;
    r += d;
  }
  q += zero;
  if (2 * r > d || (2 * r == d && q % 2 != 0)) q++;
  return q < low ? low : q > high ? high : q;
}

static void quantising_rounds_once(void **state) {
  (void)state;
  static const struct {
    const char *format;
    int64_t low, high;
  } formats[] = {{"int8", -128, 127}, {"uint8", 0, 255}, {"int4", -8, 7}};
  for (size_t f = 0; f < N(formats); f++) {
    const struct tsr_format *to = tsr_format_find(formats[f].format);
    uint64_t mask = (UINT64_C(1) << to->bits) - 1;
    for (int64_t a = -3000; a <= 3000; a++)
      for (int64_t s = 1; s <= 7; s += 2)
        for (int64_t zero = -3; zero <= 3; zero += 3) {
          int64_t want = naive_quantise(a, s, zero, formats[f].low, formats[f].high);
          uint64_t got = tsr_ref_quantise(to, (double)a / 64, (double)s, (double)zero);
          if (got != ((uint64_t)want & mask))
            fail_msg("%s: %lld/64/%lld", formats[f].format, (long long)a, (long long)s);
        }
  }
  const struct tsr_format *s8 = tsr_format_find("int8"), *e4m3 = tsr_format_find("fp8_e4m3"),
                          *e5m2 = tsr_format_find("fp8_e5m2");
  /* the quotient is above 2.5, its rounding to a double is 2.5 */
  double x = 2.5 + 6 * 0x1p-52, scale = 1 + 0x1p-51;
  assert_true(x / scale == 2.5);
  assert_int_equal(tsr_ref_quantise(s8, x, scale, 0), 3);
  static const struct {
    double x, scale;
    uint64_t e4m3, e5m2;
  } rows[] = {{1, 1, 0x38, 0x3c},
              {448, 1, 0x7e, 0x5f},
              {449, 1, 0x7e, 0x5f},
              {1e9, 1, 0x7e, 0x7b},
              {65000, 1, 0x7e, 0x7b},
              {-65000, 1, 0xfe, 0xfb},
              {-1e9, 1, 0xfe, 0xfb},
              {INFINITY, 1, 0x7e, 0x7b},
              {NAN, 1, 0x7f, 0x7e},
              {448 * 3.0, 3, 0x7e, 0x5f},
              {3 * 0x1p-10, 3, 0x00, 0x14},
              {3 * 0x1p-9, 3, 0x01, 0x18},
              {0, 5, 0, 0}};
  for (size_t i = 0; i < N(rows); i++) {
    assert_int_equal(tsr_ref_quantise(e4m3, rows[i].x, rows[i].scale, 0), rows[i].e4m3);
    assert_int_equal(tsr_ref_quantise(e5m2, rows[i].x, rows[i].scale, 0), rows[i].e5m2);
  }
}

static void dequantising_gives_the_value_of_the_code(void **state) {
  (void)state;
  const struct tsr_format *s8 = tsr_format_find("int8"), *u8 = tsr_format_find("uint8");
  assert_true(tsr_ref_dequantise(s8, 0x80, 0.5, 0) == -64);
  assert_true(tsr_ref_dequantise(u8, 0x80, 0.5, 128) == 0);
  assert_true(tsr_ref_dequantise(tsr_format_find("fp8_e4m3"), 0x7e, 2, 0) == 896);
  for (uint64_t c = 0; c < 256; c++) { /* and back */
    double v = tsr_ref_dequantise(s8, c, 0.37, 3);
    assert_int_equal(tsr_ref_quantise(s8, v, 0.37, 3), c);
  }
}

/* Against the conversion of the library, which shares no code with it. */
static void encoding_agrees_with_the_library(void **state) {
  (void)state;
  struct tsr_rng g = {5};
  for (size_t f = 0; f < tsr_format_count(); f++) {
    const struct tsr_format *to = tsr_format_at(f);
    if (to->codec) continue;
    for (int i = 0; i < 3000; i++) {
      double x = ldexp(uniform(&g), (int)(tsr_rng_next(&g) % 320) - 160);
      if (i % 2) x = ldexp(uniform(&g), i % 11);
      if (i % 500 == 0) x = i % 1000 ? 1e300 : -1e300;
      assert_int_equal(tsr_ref_encode(to, x),
                       tsr_arith_from_double(to, TSR_ROUND_RNE, x, NULL));
    }
    assert_int_equal(tsr_ref_encode(to, 1e-320),
                     tsr_arith_from_double(to, TSR_ROUND_RNE, 1e-320, NULL));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_are_rounded_as_if_exact),
      cmocka_unit_test(values_are_the_published_ones),
      cmocka_unit_test(values_are_those_of_many_digits),
      cmocka_unit_test(whole_numbers_are_exact),
      cmocka_unit_test(powers_are_special_where_ieee_754_says),
      cmocka_unit_test(functions_have_their_limits),
      cmocka_unit_test(pairs_are_combined_as_named),
      cmocka_unit_test(an_operand_is_broadcast_as_said),
      cmocka_unit_test(rows_match_the_naive_ones),
      cmocka_unit_test(a_mask_takes_no_part_in_softmax),
      cmocka_unit_test(norms_of_a_small_row_are_known),
      cmocka_unit_test(reductions_are_those_of_their_names),
      cmocka_unit_test(rope_turns_pairs),
      cmocka_unit_test(the_largest_come_first),
      cmocka_unit_test(pools_match_an_image_with_its_padding),
      cmocka_unit_test(attention_matches_the_naive_one),
      cmocka_unit_test(equal_keys_give_the_mean_of_what_is_seen),
      cmocka_unit_test(rows_are_taken_by_index),
      cmocka_unit_test(experts_rows_go_there_and_back),
      cmocka_unit_test(quantising_rounds_once),
      cmocka_unit_test(dequantising_gives_the_value_of_the_code),
      cmocka_unit_test(encoding_agrees_with_the_library),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
