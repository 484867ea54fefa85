/* Functions of one and two values, in double-double, rounded once (kernels/ref/vector.h). */
#include <string.h>

#include "kernels/ref/dd_int.h"
#include "kernels/ref/vector.h"

typedef struct tsri_dd dd;

static const dd ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
static const dd two_over_sqrt_pi = {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56};

static dd of(double v) {
  return (dd){v, 0};
}

static dd half(dd a) {
  return (dd){a.hi / 2, a.lo / 2};
}

/* e^x - 1 for |x| < 0.5: the Taylor series of x / 512, then nine doublings by
 * e^2x - 1 = p * (p + 2).  The first term left out is below 2^-110 of the sum. */
static dd expm1_small(dd x) {
  enum { DOUBLINGS = 9, TERMS = 10 };
  dd r = {ldexp(x.hi, -DOUBLINGS), ldexp(x.lo, -DOUBLINGS)}, p = of(0);
  for (int n = TERMS; n > 1; n--) p = tsri_dd_div(tsri_dd_mul(r, tsri_dd_add(of(1), p)), of(n));
  p = tsri_dd_mul(r, tsri_dd_add(of(1), p));
  for (int i = 0; i < DOUBLINGS; i++) p = tsri_dd_mul(p, tsri_dd_add(p, of(2)));
  return p;
}

/* x = k * ln 2 + r, |r| <= ln 2 / 2. */
dd tsri_dd_exp(dd x) {
  if (isnan(x.hi)) return x;
  if (x.hi > 709.8) return of(INFINITY); /* above the largest double */
  if (x.hi < -745.2) return of(0);       /* below half the smallest */
  double k = floor(x.hi / ln2.hi + 0.5);
  dd p = tsri_dd_add(of(1), expm1_small(tsri_dd_sub(x, tsri_dd_scale(ln2, k))));
  return tsri_dd_of(ldexp(p.hi, (int)k), ldexp(p.lo, (int)k));
}

static dd expm1_dd(dd x) {
  if (fabs(x.hi) < 0.5) return expm1_small(x);
  return tsri_dd_sub(tsri_dd_exp(x), of(1));
}

double tsr_ref_exp(double x) {
  return tsri_dd_value(tsri_dd_exp(of(x)));
}

/* x = m * 2^e with m around 1; Halley's method for e^y - 1 = m - 1, which triples the digits:
 * from 2 at the start to 7, 23 and all. */
static dd log_dd(double x, int steps) {
  int e;
  double m = frexp(x, &e);
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    e--;
  }
  double u = m - 1;
  dd y = of(u - u * u / 2 + u * u * u / 3);
  for (int i = 0; i < steps; i++) {
    dd p = expm1_small(y);
    dd rest = tsri_dd_sub(of(u), p), sum = tsri_dd_add(of(2 + u), p);
    y = tsri_dd_add(y, tsri_dd_div(tsri_dd_add(rest, rest), sum));
  }
  return tsri_dd_add(tsri_dd_scale(ln2, e), y);
}

double tsr_ref_log(double x) {
  if (!(x > 0) || isinf(x)) return x == 0 ? -INFINITY : x > 0 || isnan(x) ? x : NAN;
  return tsri_dd_value(log_dd(x, 2));
}

/* log hi + log(1 + lo / hi). */
dd tsri_dd_log(dd x) {
  if (!(x.hi > 0) || isinf(x.hi)) return of(tsr_ref_log(x.hi));
  return tsri_dd_add(log_dd(x.hi, 3), of(x.lo / x.hi));
}

/* What IEEE 754-2019, 9.2.1, says of a base of 0, 1 or infinity in size and of an infinite
 * exponent; false: it is none of these. */
static bool special_power(double a, double y, double *v) {
  if (a == 0 || isinf(a))
    *v = (a == 0) == (y > 0) ? 0 : INFINITY;
  else if (a == 1)
    *v = 1;
  else if (isinf(y))
    *v = (a > 1) == (y > 0) ? INFINITY : 0;
  else
    return false;
  return true;
}

/* e^(y log |x|); the sign is that of x where y is odd. */
double tsr_ref_pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (isnan(x) || isnan(y)) return NAN;
  double v, a = fabs(x);
  bool whole = isinf(y) || floor(y) == y, even = isinf(y) || floor(y / 2) == y / 2;
  if (x < 0 && !isinf(x) && !whole) return NAN;
  if (!special_power(a, y, &v)) v = tsri_dd_value(tsri_dd_exp(tsri_dd_scale(log_dd(a, 3), y)));
  return signbit(x) && whole && !even ? -v : v;
}

/* Of a small t by the series of s = t / (2 + t). */
dd tsri_dd_log1p(dd t) {
  if (!(t.hi <= 0x1p-20)) return tsri_dd_log(tsri_dd_add(of(1), t));
  dd s = tsri_dd_div(t, tsri_dd_add(of(2), t)), ss = tsri_dd_mul(s, s);
  dd v = tsri_dd_div(tsri_dd_mul(tsri_dd_mul(s, ss), ss), of(5));
  v = tsri_dd_add(v, tsri_dd_div(tsri_dd_mul(s, ss), of(3)));
  v = tsri_dd_add(v, s);
  return tsri_dd_add(v, v);
}

/* log(1 + e^x) = max(x, 0) + log(1 + e^-|x|). */
double tsr_ref_softplus(double x) {
  if (isnan(x)) return x;
  dd rest = tsri_dd_log1p(tsri_dd_exp(of(-fabs(x))));
  return tsri_dd_value(x > 0 ? tsri_dd_add(of(x), rest) : rest);
}

/* (e^2x - 1) / (e^2x + 1), odd. */
double tsr_ref_tanh(double x) {
  if (isnan(x)) return x;
  if (fabs(x) > 22) return x > 0 ? 1 : -1; /* 1 to within a quarter of an ulp */
  dd p = expm1_dd(of(2 * fabs(x)));
  double t = tsri_dd_value(tsri_dd_div(p, tsri_dd_add(p, of(2))));
  return copysign(t, x);
}

/* The series whose terms are all positive: erf x = 2/sqrt(pi) * e^-x^2 * sum of
 * (2 x^2)^n x / (1*3*...*(2n + 1)); SRC:abramowitz1964 7.1.6. */
static dd erf_series(dd x) {
  dd xx = tsri_dd_mul(x, x), term = x, sum = x;
  for (int n = 1; term.hi > 0x1p-110 * sum.hi; n++) {
    term = tsri_dd_div(tsri_dd_mul(term, tsri_dd_add(xx, xx)), of(2 * n + 1));
    sum = tsri_dd_add(sum, term);
  }
  return tsri_dd_mul(tsri_dd_mul(two_over_sqrt_pi, sum), tsri_dd_exp(tsri_dd_neg(xx)));
}

/* The continued fraction x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ..., from behind;
 * SRC:abramowitz1964 7.1.14.  80 terms are enough where x >= 5. */
static dd erfc_fraction(dd x) {
  dd f = x;
  for (int n = 80; n > 0; n--) f = tsri_dd_add(x, tsri_dd_div(of(n / 2.0), f));
  dd e = tsri_dd_exp(tsri_dd_neg(tsri_dd_mul(x, x)));
  return tsri_dd_div(tsri_dd_mul(half(two_over_sqrt_pi), e), f);
}

static dd erfc_dd(dd x) {
  if (x.hi < -6) return of(2); /* to within 2^-54 */
  if (x.hi < 0) return tsri_dd_add(of(1), erf_series(tsri_dd_neg(x)));
  /* The difference loses 40 of 106 bits at 5. */
  if (x.hi < 5) return tsri_dd_sub(of(1), erf_series(x));
  return erfc_fraction(x);
}

double tsr_ref_erf(double x) {
  if (isnan(x) || x == 0) return x;
  double a = fabs(x);
  return copysign(a > 6 ? 1 : tsri_dd_value(erf_series(of(a))), x);
}

double tsr_ref_erfc(double x) {
  return tsri_dd_value(erfc_dd(of(x)));
}

/* Without a large power, so that nothing overflows. */
static dd sigmoid_dd(dd x) {
  dd e = tsri_dd_exp(x.hi < 0 ? x : tsri_dd_neg(x));
  return tsri_dd_div(x.hi < 0 ? e : of(1), tsri_dd_add(of(1), e));
}

static double f_sigmoid(double x) {
  return tsri_dd_value(sigmoid_dd(of(x)));
}

/* x * a gate between 0 and 1 that closes faster than x grows. */
static double gated(double x, dd gate) {
  if (x == -INFINITY) return -0.0;
  return tsri_dd_value(tsri_dd_mul(of(x), gate));
}

static double f_gelu(double x) {
  dd root = tsri_dd_sqrt(of(0.5));
  return gated(x, half(erfc_dd(tsri_dd_scale(root, -x))));
}

/* (1 + tanh u) / 2 = sigmoid(2u), u = sqrt(2/pi) * (x + 0.044715 x^3); SRC:hendrycks2016. */
static double f_gelu_tanh(double x) {
  dd cube = tsri_dd_scale(tsri_dd_product(x, x), x);
  dd in = tsri_dd_add(of(x), tsri_dd_mul(cube, tsri_dd_div(of(44715), of(1000000))));
  dd twice = tsri_dd_mul(two_over_sqrt_pi, tsri_dd_sqrt(of(2)));
  return gated(x, sigmoid_dd(tsri_dd_mul(twice, in)));
}

static double f_silu(double x) {
  return gated(x, sigmoid_dd(of(x)));
}

static dd clamp(dd v, double low, double high) {
  if (v.hi < low) return of(low);
  return v.hi > high || (v.hi == high && v.lo > 0) ? of(high) : v;
}

static double f_hardswish(double x) {
  dd gate = clamp(tsri_dd_sum(x, 3), 0, 6);
  if (gate.hi == 0 && !isnan(x)) return 0;
  return tsri_dd_value(tsri_dd_div(tsri_dd_mul(of(x), gate), of(6)));
}

static double f_hardsigmoid(double x) {
  return tsri_dd_value(tsri_dd_div(clamp(tsri_dd_sum(x, 3), 0, 6), of(6)));
}

static double f_relu(double x) {
  return x > 0 || isnan(x) ? x : 0;
}

static double f_copy(double x) {
  return x;
}
static double f_neg(double x) {
  return -x;
}
static double f_abs(double x) {
  return fabs(x);
}
static double f_square(double x) {
  return x * x;
}
static double f_sqrt(double x) {
  return sqrt(x);
}
static double f_recip(double x) {
  return 1 / x;
}

static double f_softsign(double x) {
  return isinf(x) ? NAN : tsri_dd_value(tsri_dd_div(of(x), tsri_dd_sum(1, fabs(x))));
}

static double f_floor(double x) {
  return floor(x);
}
static double f_ceil(double x) {
  return -floor(-x);
}
/* Half way between two of them to the even one, with the sign of x. */
static double f_round(double x) {
  double low = floor(x), rest = x - low;
  if (rest == 0 || isnan(rest)) return x;
  bool up = rest > 0.5 || (rest == 0.5 && floor(low / 2) != low / 2);
  return copysign(up ? low + 1 : low, x);
}
static double f_sign(double x) {
  return x == 0 || isnan(x) ? x : copysign(1, x);
}
static double f_not(double x) {
  return x == 0 ? 1 : 0;
}

static double f_rsqrt(double x) {
  return tsri_dd_value(tsri_dd_div(of(1), tsri_dd_sqrt(of(x))));
}

static double f_add(double a, double b) {
  return a + b;
}
static double f_sub(double a, double b) {
  return a - b;
}
static double f_mul(double a, double b) {
  return a * b;
}
static double f_div(double a, double b) {
  return a / b;
}

static double f_max(double a, double b) {
  return isnan(a) || a > b ? a : b;
}
static double f_min(double a, double b) {
  return isnan(a) || a < b ? a : b;
}

static double f_less(double a, double b) {
  return isless(a, b) ? 1 : 0;
}
static double f_less_equal(double a, double b) {
  return islessequal(a, b) ? 1 : 0;
}
static double f_greater(double a, double b) {
  return isgreater(a, b) ? 1 : 0;
}
static double f_greater_equal(double a, double b) {
  return isgreaterequal(a, b) ? 1 : 0;
}
static double f_equal(double a, double b) {
  return a == b ? 1 : 0;
}
static double f_keep(double a, double b) {
  return b == 0 ? 0 : a;
}
static double f_prelu(double a, double b) {
  return a > 0 ? a : a * b;
}

/* Long division: the largest b * 2^k that fits is taken away, which is exact. */
static double f_fmod(double a, double b) {
  double rest = fabs(a), by = fabs(b);
  if (!isfinite(a) || isnan(b) || by == 0) return NAN;
  if (isinf(b)) return a;
  while (rest >= by) {
    int of_rest, of_by;
    frexp(rest, &of_rest);
    frexp(by, &of_by);
    double most = ldexp(by, of_rest - of_by);
    rest -= most <= rest ? most : most / 2;
  }
  return copysign(rest, a);
}
static double f_mod(double a, double b) {
  double rest = f_fmod(a, b);
  if (rest == 0) return copysign(0, b);
  return (rest < 0) == (b < 0) || isnan(rest) ? rest : rest + b;
}

static dd elu_dd(double x) {
  return x < 0 ? expm1_dd(of(x)) : of(x);
}
static double n_leaky_relu(double x, double alpha, double beta) {
  (void)beta;
  return x > 0 || isnan(x) ? x : alpha * x;
}
static double n_elu(double x, double alpha, double beta) {
  (void)beta;
  return x < 0 ? tsri_dd_value(tsri_dd_scale(elu_dd(x), alpha)) : x;
}
static double n_selu(double x, double alpha, double beta) {
  dd v = x < 0 ? tsri_dd_scale(elu_dd(x), alpha) : of(x);
  return tsri_dd_value(tsri_dd_scale(v, beta));
}
/* alpha * elu(x / alpha), so that a negative alpha means something too. */
static double n_celu(double x, double alpha, double beta) {
  (void)beta;
  dd by = tsri_dd_div(of(x), of(alpha));
  if (!(by.hi < 0)) return x;
  return tsri_dd_value(tsri_dd_scale(expm1_dd(by), alpha));
}
static double n_affine(double x, double alpha, double beta) {
  return tsri_dd_value(tsri_dd_add(tsri_dd_product(x, alpha), of(beta)));
}
static double n_clip(double x, double alpha, double beta) {
  double v = x < alpha ? alpha : x;
  return v > beta ? beta : v;
}

/* The difference exactly: a rounding of it would be one of the exponent. */
static double f_subexp(double a, double b) {
  return tsri_dd_value(tsri_dd_exp(tsri_dd_sum(a, -b)));
}

static const struct {
  const char *name;
  tsr_ref_unary_fn *fn;
} unaries[] = {{"copy", f_copy},
               {"neg", f_neg},
               {"abs", f_abs},
               {"relu", f_relu},
               {"square", f_square},
               {"sqrt", f_sqrt},
               {"rsqrt", f_rsqrt},
               {"recip", f_recip},
               {"exp", tsr_ref_exp},
               {"log", tsr_ref_log},
               {"tanh", tsr_ref_tanh},
               {"erf", tsr_ref_erf},
               {"sigmoid", f_sigmoid},
               {"gelu", f_gelu},
               {"gelu_tanh", f_gelu_tanh},
               {"silu", f_silu},
               {"hardswish", f_hardswish},
               {"hardsigmoid", f_hardsigmoid},
               {"softplus", tsr_ref_softplus},
               {"softsign", f_softsign},
               {"sin", tsr_ref_sin},
               {"cos", tsr_ref_cos},
               {"floor", f_floor},
               {"ceil", f_ceil},
               {"round", f_round},
               {"sign", f_sign},
               {"not", f_not}};

static const struct {
  const char *name;
  tsr_ref_binary_fn *fn;
} binaries[] = {{"add", f_add},
                {"sub", f_sub},
                {"mul", f_mul},
                {"div", f_div},
                {"max", f_max},
                {"min", f_min},
                {"subexp", f_subexp},
                {"less", f_less},
                {"less_equal", f_less_equal},
                {"greater", f_greater},
                {"greater_equal", f_greater_equal},
                {"equal", f_equal},
                {"keep", f_keep},
                {"pow", tsr_ref_pow},
                {"mod", f_mod},
                {"fmod", f_fmod},
                {"prelu", f_prelu}};

static const struct {
  const char *name;
  tsr_ref_numbers_fn *fn;
} numbered[] = {
    {"leaky_relu", n_leaky_relu}, {"elu", n_elu},  {"selu", n_selu}, {"celu", n_celu},
    {"affine", n_affine},         {"clip", n_clip}};

tsr_ref_unary_fn *tsr_ref_unary(const char *name) {
  for (size_t i = 0; i < sizeof unaries / sizeof unaries[0]; i++)
    if (strcmp(unaries[i].name, name) == 0) return unaries[i].fn;
  return NULL;
}

tsr_ref_binary_fn *tsr_ref_binary(const char *name) {
  for (size_t i = 0; i < sizeof binaries / sizeof binaries[0]; i++)
    if (strcmp(binaries[i].name, name) == 0) return binaries[i].fn;
  return NULL;
}

tsr_ref_numbers_fn *tsr_ref_numbers(const char *name) {
  for (size_t i = 0; i < sizeof numbered / sizeof numbered[0]; i++)
    if (strcmp(numbered[i].name, name) == 0) return numbered[i].fn;
  return NULL;
}
