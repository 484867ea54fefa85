/* Functions of the vector unit in double (models/arith/func_int.h).
 *
 * Series are those of SRC:abramowitz1964 (4.2.1 e^x, 4.1.27 logarithm, 7.1.5 erf); the
 * tail of erf is the form of SRC:shepherd1981, (1 + 2u) e^(u^2) erfc(u) as a polynomial
 * in (u - K)/(u + K), whose coefficients are a Chebyshev interpolation made with 400
 * bits. */
#include "models/arith/func_int.h"

#include <math.h> /* sqrt, fabs, isnan and the like: nothing transcendental */
#include <string.h>

#define LEN(a) (sizeof(a) / sizeof(*(a)))

/* ln 2 in two parts: the product of the first with an exponent is exact. */
static const double LN2_HI = 0x1.62e42fefp-1, LN2_LO = 0x1.473de6af278edp-34;
static const double LOG2_E = 0x1.71547652b82fep+0;
static const double SQRT_HALF = 0x1.6a09e667f3bcdp-1;
static const double TWO_BY_SQRT_PI = 0x1.20dd750429b6dp+0;

/* 2^k, -1074 <= k <= 1023. */
static double power_of_2(int k) {
  uint64_t bits = k >= -1022 ? (uint64_t)(k + 1023) << 52 : UINT64_C(1) << (k + 1074);
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* x * 2^k for -2100 < k <= 1024: in two steps where one power would not be normal. */
static double scaled(double x, int k) {
  if (k > 1023) return x * 2 * power_of_2(k - 1);
  if (k >= -1022) return x * power_of_2(k);
  return k < -2000 ? x * 0 : x * power_of_2(k + 1000) * power_of_2(-1000);
}

static double polynomial(const double *c, size_t n, double x) {
  double sum = c[n - 1];
  for (size_t i = n - 1; i-- > 0;) sum = sum * x + c[i];
  return sum;
}

/* e^r - 1 for |r| <= ln 2 / 2: 4.2.1, whose term r^14/14! is below 2^-57 of the sum. */
static double expm1_near_0(double r) {
  static const double c[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                             1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                             1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  return r + r * r * polynomial(c, LEN(c), r);
}

/* x = k ln 2 + r, |x| <= 800. */
static int reduce(double x, double *r) {
  int k = (int)(x * LOG2_E + (x < 0 ? -0.5 : 0.5));
  *r = (x - k * LN2_HI) - k * LN2_LO;
  return k;
}

double tsri_fn_exp(double x) {
  double r;
  if (isnan(x)) return x;
  if (x > 710) return INFINITY;
  if (x < -746) return 0;
  int k = reduce(x, &r);
  return scaled(1 + expm1_near_0(r), k);
}

/* e^x - 1, 0 <= x <= 700. */
static double expm1_positive(double x) {
  double r;
  int k = reduce(x, &r);
  double q = expm1_near_0(r);
  return k == 0 ? q : scaled(q + (1 - scaled(1, -k)), k);
}

double tsri_fn_expm1_below_0(double x) {
  double r;
  if (x < -60) return -1; /* to within 2^-86 */
  int k = reduce(x, &r);
  double q = expm1_near_0(r);
  return k == 0 ? q : scaled(q + (1 - scaled(1, -k)), k);
}

/* x = m * 2^e, x > 0 and finite, m in [1, 2). */
static double mantissa(double x, int *e) {
  uint64_t bits;
  *e = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    *e = -54;
  }
  memcpy(&bits, &x, sizeof bits);
  *e += (int)(bits >> 52) - 1023;
  bits = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(1023) << 52;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The same with m in [1/sqrt 2, sqrt 2). */
static double mantissa_around_1(double x, int *e) {
  double m = mantissa(x, e);
  if (m <= 2 * SQRT_HALF) return m;
  (*e)++;
  return m / 2;
}

/* ln m = 2 atanh((m - 1)/(m + 1)), whose term s^25 is below 2^-65 of the sum. */
double tsri_fn_log(double x) {
  static const double c[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                             1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  int e;
  if (isnan(x) || x < 0) return NAN;
  if (x == 0) return -INFINITY;
  if (isinf(x)) return x;
  double m = mantissa_around_1(x, &e);
  double s = (m - 1) / (m + 1), ln = 2 * s * polynomial(c, LEN(c), s * s);
  return e * LN2_HI + (ln + e * LN2_LO);
}

double tsri_fn_tanh(double x) {
  double a = fabs(x), t;
  if (isnan(x)) return x;
  if (a > 22) {
    t = 1; /* 1 - tanh is below 2^-60 */
  } else {
    double e = expm1_positive(2 * a);
    t = e / (e + 2);
  }
  return copysign(t, x);
}

/* ---- error function ---- */

/* e^u^2 erfc(u), u >= 0. */
static double scaled_erfc(double u) {
  static const double K = 3.75;
  static const double c[] = {
      0x1.3ccda0b5d5dc2p+0,   -0x1.1f367683f89a5p-3,  0x1.d5f294815a405p-9,
      0x1.510169d09665bp-4,   -0x1.bda9309a2949ap-4,  0x1.7a14188a9ce2ap-4,
      -0x1.e0d0fa6ddfe85p-5,  0x1.d0b0037d167adp-6,   -0x1.3f603c398c6c5p-7,
      0x1.cc3a0e7d2150cp-10,  0x1.33fb2968decd9p-12,  -0x1.303fa4966bc38p-12,
      0x1.b1439865f8d9ep-15,  0x1.778b933adcce7p-16,  -0x1.800077b775cf3p-17,
      -0x1.055686d42aa63p-20, 0x1.d6339f66a50f8p-20,  -0x1.eb803840c0574p-25,
      -0x1.15be4201dc721p-22, 0x1.8fa9fe49c359bp-26,  0x1.4c37f59c36e71p-25,
      -0x1.014cd7201b5adp-28, -0x1.638dcc665be8dp-28, 0x1.561b105822235p-32,
      0x1.d3744857e262bp-32,
  };
  double t = (u - K) / (u + K);
  return polynomial(c, LEN(c), t) / (1 + 2 * u);
}

/* e^(-s u^2), s a power of 2; the square is taken exactly in its upper part. */
static double exp_minus_square(double u, double s) {
  uint64_t bits;
  double h;
  memcpy(&bits, &u, sizeof bits);
  bits &= ~UINT64_C(0x7ffffff);
  memcpy(&h, &bits, sizeof h);
  double low = (u - h) * (u + h), e = tsri_fn_exp(-s * h * h);
  return low == 0 ? e : e * tsri_fn_exp(-s * low); /* low: 0 for every fp32 */
}

/* |u| <= 1: 7.1.5; the terms from u^39 on are below 2^-60 of the sum. */
static double erf_near_0(double u) {
  static const double c[] = {1.0,
                             -1.0 / 3,
                             1.0 / (2.0 * 5),
                             -1.0 / (6.0 * 7),
                             1.0 / (24.0 * 9),
                             -1.0 / (120.0 * 11),
                             1.0 / (720.0 * 13),
                             -1.0 / (5040.0 * 15),
                             1.0 / (40320.0 * 17),
                             -1.0 / (362880.0 * 19),
                             1.0 / (3628800.0 * 21),
                             -1.0 / (39916800.0 * 23),
                             1.0 / (479001600.0 * 25),
                             -1.0 / (6227020800.0 * 27),
                             1.0 / (87178291200.0 * 29),
                             -1.0 / (1307674368000.0 * 31),
                             1.0 / (20922789888000.0 * 33),
                             -1.0 / (355687428096000.0 * 35),
                             1.0 / (6402373705728000.0 * 37)};
  return TWO_BY_SQRT_PI * u * polynomial(c, LEN(c), u * u);
}

double tsri_fn_erf(double x) {
  double a = fabs(x);
  if (isnan(x)) return x;
  if (a <= 1) return erf_near_0(x);
  double t = a > 6 ? 1 : 1 - exp_minus_square(a, 1) * scaled_erfc(a); /* erfc(6): 2^-55 */
  return copysign(t, x);
}

/* x/2 erfc(-x/sqrt 2): away from 0 through the tail, so that a negative x keeps its
 * digits. */
double tsri_fn_gelu(double x) {
  double a = fabs(x), u = a * SQRT_HALF;
  if (isnan(x)) return x;
  if (a > 40) return x > 0 ? x : -0.0;
  if (u <= 0.5) return 0.5 * x * (1 + erf_near_0(x * SQRT_HALF));
  double tail = 0.5 * a * (exp_minus_square(a, 0.5) * scaled_erfc(u));
  return x > 0 ? x - tail : -tail;
}

/* ---- what is made of e^x ---- */

/* Near 0 it is 1/2 + x/4 - x^3/48: just beside numbers of few bits, and the side matters
 * where these are ties of fp32.  What the sum would lose moves it by a last place. */
static double sigmoid_near_0(double x) {
  double line = 0.5 + x / 4, s = line - x * x * x / 48;
  if (s != line || fabs(x) < 0x1p-27) return s;
  return x > 0 ? s - 0x1p-53 : s + 0x1p-54;
}

double tsri_fn_sigmoid(double x) {
  if (fabs(x) < 0x1p-11) return sigmoid_near_0(x); /* x^5/480 is below 2^-63 */
  double e = tsri_fn_exp(-fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

double tsri_fn_silu(double x) {
  return x < -800 ? -0.0 : x * tsri_fn_sigmoid(x);
}

/* x/2 (1 + tanh(z)) = x sigmoid(2z), z = sqrt(2/pi) (x + 0.044715 x^3) (SRC:hendrycks2016). */
double tsri_fn_gelu_tanh(double x) {
  static const double two_sqrt_2_by_pi = 0x1.9884533d43651p+0;
  if (x < -40) return -0.0;
  if (x > 40) return x;
  return x * tsri_fn_sigmoid(two_sqrt_2_by_pi * (x + 0.044715 * x * x * x));
}

double tsri_fn_rsqrt(double x) {
  return 1 / sqrt(x);
}

/* log(1 + t), 0 <= t <= 1: of a small t by the series of the logarithm, s = t / (2 + t). */
static double log1p_up_to_1(double t) {
  static const double c[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                             1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  if (t > 0.4) return tsri_fn_log(1 + t);
  double s = t / (2 + t);
  return 2 * s * polynomial(c, LEN(c), s * s);
}

double tsri_fn_softplus(double x) {
  if (isnan(x)) return x;
  double rest = log1p_up_to_1(tsri_fn_exp(-fabs(x)));
  return x > 0 ? x + rest : rest;
}

/* ---- powers ---- */

/* hi + lo, |lo| at most half a last place of hi. */
struct two {
  double hi, lo;
};

static struct two sum(double a, double b) {
  double s = a + b, t = s - a;
  return (struct two){s, (a - (s - t)) + (b - t)};
}

/* In two parts of 26 bits each, |a| < 2^990 (SRC:dekker1971). */
static struct two split(double a) {
  double c = 0x1.0000002p+27 * a, hi = c - (c - a);
  return (struct two){hi, a - hi};
}

static struct two product(double a, double b) {
  struct two x = split(a), y = split(b);
  double p = a * b;
  return (struct two){p, ((x.hi * y.hi - p) + x.hi * y.lo + x.lo * y.hi) + x.lo * y.lo};
}

static struct two sum_of(struct two a, struct two b) {
  struct two s = sum(a.hi, b.hi);
  return sum(s.hi, s.lo + (a.lo + b.lo));
}

static struct two product_of(struct two a, struct two b) {
  struct two p = product(a.hi, b.hi);
  return sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

/* The logarithm to about 2^-64: the terms s and s^3 of 2 atanh(s) in two doubles, the others,
 * below 2^-12 of the sum, in one. */
static struct two log_in_two(double x) {
  static const double c[] = {1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13,
                             1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  static const struct two two_thirds = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
  int e;
  double m = mantissa_around_1(x, &e);
  struct two below = sum(m, 1), s;
  s.hi = (m - 1) / below.hi;
  struct two p = product(s.hi, below.hi);
  s.lo = (((m - 1) - p.hi) - p.lo - s.hi * below.lo) / below.hi;
  struct two square = product_of(s, s), cube = product_of(square, s);
  double rest = 2 * cube.hi * square.hi * polynomial(c, LEN(c), square.hi);
  struct two ln = sum_of((struct two){2 * s.hi, 2 * s.lo}, product_of(two_thirds, cube));
  ln = sum_of(ln, (struct two){rest, 0});
  return sum_of(sum(e * LN2_HI, e * LN2_LO), ln);
}

/* Where x^y is a number of at most 53 bits it is found in whole numbers: x = m * 2^e, m odd. */
static bool exact_power(double x, double y, double *out) {
  int e;
  double all = mantissa(x, &e) * 0x1p52;
  uint64_t m = (uint64_t)all, p = 1;
  e -= 52;
  for (; m % 2 == 0; m /= 2) e++;
  for (; floor(y) != y; y *= 2) { /* ends: x is not 1 */
    uint64_t root = (uint64_t)sqrt((double)m);
    if (root * root != m || e % 2) return false;
    m = root;
    e /= 2;
  }
  if (fabs(y) > 2200 || (m > 1 && (y < 0 || y > 52))) return false;
  for (int i = 0; m > 1 && i < (int)y; i++) {
    if (p > (UINT64_C(1) << 53) / m) return false;
    p *= m;
  }
  int k = e * (int)y;
  if (k < -1074 || k > 970) return false;
  *out = scaled((double)p, k);
  return true;
}

/* x > 0, neither 1 nor infinite; y finite and not 0. */
static double power(double x, double y, bool *exact) {
  double v, r;
  *exact = exact_power(x, y, &v);
  if (*exact) return v;
  struct two ln = log_in_two(x);
  if (y * ln.hi > 710) return INFINITY;
  if (y * ln.hi < -746) return 0;
  struct two p = product(y, ln.hi);
  int k = reduce(p.hi, &r);
  return scaled(1 + expm1_near_0(r + (p.lo + y * ln.lo)), k);
}

double tsri_fn_pow(double x, double y, bool *exact) {
  *exact = true;
  if (y == 0 || x == 1) return 1;
  if (isnan(x) || isnan(y)) return NAN;
  double a = fabs(x), v;
  bool whole = floor(y) == y, odd = whole && fabs(y) < 0x1p53 && (int64_t)y % 2 != 0;
  if (a == 0 || isinf(a))
    v = (a == 0) == (y > 0) ? 0 : INFINITY;
  else if (a == 1 && (whole || isinf(y)))
    v = 1;
  else if (isinf(y))
    v = (a > 1) == (y > 0) ? INFINITY : 0;
  else if (x < 0 && !whole)
    return NAN;
  else
    v = power(a, y, exact);
  return signbit(x) && odd ? -v : v;
}
