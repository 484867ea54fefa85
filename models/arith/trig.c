/* Sine and cosine of any double (models/arith/func_int.h).
 *
 * x = (q + f) * pi/2, |f| <= 1/2: what x * 2/pi is modulo 4, from the 192 bits of 2/pi that
 * matter for the exponent of x (SRC:payne1983).  They leave at least 76 bits of f where x is
 * nearest to a multiple of pi/2.  Then the series of SRC:abramowitz1964 4.3.65 and 4.3.66. */
#include <math.h> /* fabs, isnan and the like: nothing transcendental */
#include <string.h>

#include "models/arith/func_int.h"
#include "sim/base/mem.h" /* tsr_u128 */

#define LEN(a) (sizeof(a) / sizeof(*(a)))

enum { WINDOW = 3 }; /* words of 2/pi */

/* 2/pi, the first bit behind the point first. */
static const uint64_t two_by_pi[] = {
    UINT64_C(0xa2f9836e4e441529), UINT64_C(0xfc2757d1f534ddc0), UINT64_C(0xdb6295993c439041),
    UINT64_C(0xfe5163abdebbc561), UINT64_C(0xb7246e3a424dd2e0), UINT64_C(0x06492eea09d1921c),
    UINT64_C(0xfe1deb1cb129a73e), UINT64_C(0xe88235f52ebb4484), UINT64_C(0xe99c7026b45f7e41),
    UINT64_C(0x3991d639835339f4), UINT64_C(0x9c845f8bbdf9283b), UINT64_C(0x1ff897ffde05980f),
    UINT64_C(0xef2f118b5a0a6d1f), UINT64_C(0x6d367ecf27cb09b7), UINT64_C(0x4f463f669e5fea2d),
    UINT64_C(0x7527bac7ebe5f17b), UINT64_C(0x3d0739f78a5292ea), UINT64_C(0x6bfb5fb11f8d5d08),
    UINT64_C(0x56033046fc7b6bab), UINT64_C(0xf0cfbc209af4361d)};

/* r = hi + lo. */
struct angle {
  double hi, lo;
  unsigned quadrant;
};

/* 64 bits of 2/pi from bit `from` on. */
static uint64_t bits_at(unsigned from) {
  unsigned word = from / 64, shift = from % 64;
  uint64_t v = two_by_pi[word] << shift;
  return shift ? v | two_by_pi[word + 1] >> (64 - shift) : v;
}

/* m * 2^e * 2/pi modulo 4, as a number of 192 bits whose first two are whole. */
static void turns(uint64_t m, int e, uint64_t t[WINDOW]) {
  unsigned skip = e > 2 ? (unsigned)e - 2 : 0; /* bits of 2/pi that give multiples of 4 */
  unsigned right = e > 2 ? 0 : 2 - (unsigned)e;
  uint64_t p[WINDOW + 1] = {0}; /* p[0] is the lowest */
  for (int i = 0; i < WINDOW; i++) {
    tsr_u128 x = (tsr_u128)m * bits_at(skip + 64 * (WINDOW - 1 - (unsigned)i)) + p[i];
    p[i] = (uint64_t)x;
    p[i + 1] = (uint64_t)(x >> 64);
  }
  for (int i = 0; i < WINDOW; i++)
    t[i] = right ? p[i] >> right | p[i + 1] << (64 - right) : p[i];
}

static void shift_left(uint64_t t[WINDOW], unsigned n) {
  for (unsigned s = 0; s < n; s++)
    for (int i = WINDOW - 1; i >= 0; i--) t[i] = t[i] << 1 | (i ? t[i - 1] >> 63 : 0);
}

static void negate(uint64_t t[WINDOW]) {
  uint64_t carry = 1;
  for (int i = 0; i < WINDOW; i++) {
    t[i] = ~t[i] + carry;
    carry = carry && t[i] == 0;
  }
}

/* 2^-n, n below 1000. */
static double power_below_1(unsigned n) {
  uint64_t bits = (uint64_t)(1023 - n) << 52;
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* x * pi/2: 26 bits of each factor at a time. */
static void quarter_turn(double x, double rest, struct angle *a) {
  static const double h1 = 0x1.921fb54p+0, h2 = 0x1.10b4611a62633p-30; /* pi/2, 80 bits */
  static const double half_pi = 0x1.921fb54442d18p+0;
  double c = 0x1.0000002p+27 * x, x1 = c - (c - x), x2 = x - x1;
  double top = x1 * h1; /* exact */
  double low = x2 * h1 + x * h2 + rest * half_pi;
  a->hi = top + low;
  a->lo = (top - a->hi) + low;
}

static void reduce(double x, struct angle *a) {
  uint64_t bits, t[WINDOW];
  memcpy(&bits, &x, sizeof bits);
  int e = (int)(bits >> 52 & 0x7ff) - 1075;
  turns((bits & UINT64_C(0xfffffffffffff)) | UINT64_C(1) << 52, e, t);
  a->quadrant = (unsigned)(t[WINDOW - 1] >> 62);
  shift_left(t, 2);
  bool negative = t[WINDOW - 1] >> 63;
  if (negative) {
    negate(t);
    a->quadrant++;
  }
  unsigned zeros = 0;
  for (; zeros < 128 && !(t[WINDOW - 1] >> 63); zeros++) shift_left(t, 1);
  double scale = power_below_1(zeros), hi = (double)(t[WINDOW - 1] >> 11) * 0x1p-53 * scale;
  double rest = (double)(t[WINDOW - 1] << 53 | t[WINDOW - 2] >> 11) * 0x1p-117 * scale;
  quarter_turn(hi, rest, a);
  if (!negative) return;
  a->hi = -a->hi;
  a->lo = -a->lo;
}

static double polynomial(const double *c, size_t n, double x) {
  double sum = c[n - 1];
  for (size_t i = n - 1; i-- > 0;) sum = sum * x + c[i];
  return sum;
}

/* The first term left out, r^19/19!, is below 2^-63 of the sum. */
static double sine(const struct angle *a) {
  static const double c[] = {
      -1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
      -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
  double z = a->hi * a->hi;
  return a->hi + (a->hi * z * polynomial(c, LEN(c), z) + a->lo * (1 - z / 2));
}

/* r^20/20! is below 2^-68. */
static double cosine(const struct angle *a) {
  static const double c[] = {
      1.0 / 24,        -1.0 / 720,         1.0 / 40320,          -1.0 / 3628800,
      1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000};
  double z = a->hi * a->hi, half = z / 2, w = 1 - half;
  return w + (((1 - w) - half) + (z * z * polynomial(c, LEN(c), z) - a->hi * a->lo));
}

/* Of quadrant q: the sine of the angle, or of one a quarter turn ahead. */
static double circle(double x, unsigned ahead) {
  static const double small = 0x1.921fb54442d18p-1; /* pi/4 */
  struct angle a = {x, 0, 0};
  if (!isfinite(x)) return NAN;
  double size = fabs(x);
  if (size > small) {
    reduce(size, &a);
    if (x < 0) { /* the angle of -x, backwards */
      a.quadrant = 4 - a.quadrant % 4;
      a.hi = -a.hi;
      a.lo = -a.lo;
    }
  }
  unsigned q = (a.quadrant + ahead) % 4;
  double v = q % 2 ? cosine(&a) : sine(&a);
  return q / 2 ? -v : v;
}

double tsri_fn_sin(double x) {
  return x == 0 ? x : circle(x, 0);
}

double tsri_fn_cos(double x) {
  return circle(x, 1);
}
