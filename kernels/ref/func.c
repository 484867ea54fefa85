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
 * from 2 at the start to 7 and 23. */
double tsr_ref_log(double x) {
  if (!(x > 0) || isinf(x)) return x == 0 ? -INFINITY : x > 0 || isnan(x) ? x : NAN;
  int e;
  double m = frexp(x, &e);
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    e--;
  }
  double u = m - 1;
  dd y = of(u - u * u / 2 + u * u * u / 3);
  for (int i = 0; i < 2; i++) {
    dd p = expm1_small(y);
    dd rest = tsri_dd_sub(of(u), p), sum = tsri_dd_add(of(2 + u), p);
    y = tsri_dd_add(y, tsri_dd_div(tsri_dd_add(rest, rest), sum));
  }
  return tsri_dd_value(tsri_dd_add(tsri_dd_scale(ln2, e), y));
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
               {"hardsigmoid", f_hardsigmoid}};

static const struct {
  const char *name;
  tsr_ref_binary_fn *fn;
} binaries[] = {{"add", f_add}, {"sub", f_sub}, {"mul", f_mul},      {"div", f_div},
                {"max", f_max}, {"min", f_min}, {"subexp", f_subexp}};

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
