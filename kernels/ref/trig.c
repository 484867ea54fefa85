/* Sine and cosine of the oracle, in double-double (kernels/ref/vector.h).
 *
 * The argument is reduced like a number is written down: bit after bit of it, the rest doubled
 * and pi/2 taken away where it fits, in fixed point of 1280 bits, so that 971 doublings leave
 * more than 300. */
#include <math.h>
#include <string.h>

#include "kernels/ref/dd_int.h"
#include "kernels/ref/vector.h"

typedef struct tsri_dd dd;

enum { WORDS = 21 };

/* A number below 2^64: the first word is whole, the others are behind the point. */
struct fixed {
  uint64_t w[WORDS];
};

static const struct fixed half_pi = {{
    UINT64_C(0x0000000000000001), UINT64_C(0x921fb54442d18469), UINT64_C(0x898cc51701b839a2),
    UINT64_C(0x52049c1114cf98e8), UINT64_C(0x04177d4c76273644), UINT64_C(0xa29410f31c6809bb),
    UINT64_C(0xdf2a33679a748636), UINT64_C(0x605614dbe4be286e), UINT64_C(0x9fc26adadaa3848b),
    UINT64_C(0xc90b6aecc4bcfd8d), UINT64_C(0xe89885d34c6fdad6), UINT64_C(0x17feb96de80d6fdb),
    UINT64_C(0xdc70d7f6b5133f4b), UINT64_C(0x5d3e4822f8963fcc), UINT64_C(0x9250cca3d9c8b67b),
    UINT64_C(0x8400f97142c77e0b), UINT64_C(0x31b4906c38aba734), UINT64_C(0xd22c7f51fa499ebf),
    UINT64_C(0x06caba47b9475b2c), UINT64_C(0x38c5e6ac410aa577), UINT64_C(0x3daa520ee12d2cda),
}};

static dd of(double v) {
  return (dd){v, 0};
}

static void twice(struct fixed *a) {
  for (int i = 0; i < WORDS; i++)
    a->w[i] = a->w[i] << 1 | (i + 1 < WORDS ? a->w[i + 1] >> 63 : 0);
}

static int compare(const struct fixed *a, const struct fixed *b) {
  for (int i = 0; i < WORDS; i++)
    if (a->w[i] != b->w[i]) return a->w[i] < b->w[i] ? -1 : 1;
  return 0;
}

/* a - b, a at least b. */
static struct fixed minus(const struct fixed *a, const struct fixed *b) {
  struct fixed d;
  uint64_t borrow = 0;
  for (int i = WORDS - 1; i >= 0; i--) {
    d.w[i] = a->w[i] - b->w[i] - borrow;
    borrow = a->w[i] < b->w[i] || (a->w[i] == b->w[i] && borrow);
  }
  return d;
}

static unsigned take_away(struct fixed *a) {
  unsigned n = 0;
  for (; compare(a, &half_pi) >= 0; n++) *a = minus(a, &half_pi);
  return n;
}

/* The 106 bits from the first that is set on. */
static dd dd_of(const struct fixed *a) {
  dd v = of(0);
  int taken = 0;
  for (int i = 0; i < WORDS && taken < 4; i++) {
    if (!taken && !a->w[i]) continue;
    double high = (double)(a->w[i] >> 32), low = (double)(a->w[i] & 0xffffffff);
    v = tsri_dd_add(v, tsri_dd_sum(ldexp(high, 32 - 64 * i), ldexp(low, -64 * i)));
    taken++;
  }
  return v;
}

/* x = quadrants * pi/2 + r, x from 1/2 on, 0 <= r < pi/2. */
static unsigned reduce(double x, struct fixed *r) {
  int e;
  uint64_t m = (uint64_t)ldexp(frexp(x, &e), 53); /* x = m / 2^53 * 2^e */
  unsigned quadrants = 0;
  memset(r, 0, sizeof *r);
  for (int i = 0; i < e; i++) {
    twice(r);
    if (i < 53) r->w[0] += m >> (52 - i) & 1;
    quadrants = 2 * quadrants + take_away(r);
  }
  if (e < 53) { /* what stands behind the point; r has a whole part of 0 or 1 */
    uint64_t behind = m << (11 + e);
    r->w[1] += behind;
    if (r->w[1] < behind) r->w[0]++;
    quadrants += take_away(r);
  }
  return quadrants;
}

/* Taylor series of |r| <= pi/4 whose first term is r or 1: terms above 2^-110 of it. */
static dd series(dd r, int n, dd term) {
  dd rr = tsri_dd_neg(tsri_dd_mul(r, r)), sum = term;
  for (; n < 32; n += 2) {
    term = tsri_dd_div(tsri_dd_mul(term, rr), of((double)(n + 1) * (n + 2)));
    sum = tsri_dd_add(sum, term);
  }
  return sum;
}

/* The sine (ahead 0) or cosine (1) of x > 0. */
static double circle(double x, unsigned ahead) {
  unsigned q = ahead;
  dd r = of(x);
  bool mirrored = false;
  if (x >= 0.5) {
    struct fixed f;
    q += reduce(x, &f);
    struct fixed rest = minus(&half_pi, &f);
    mirrored = compare(&f, &rest) > 0; /* sin r = cos(pi/2 - r) */
    r = dd_of(mirrored ? &rest : &f);
  }
  bool cosine = (q % 2 != 0) != mirrored;
  double v = tsri_dd_value(cosine ? series(r, 0, of(1)) : series(r, 1, r));
  return q / 2 % 2 ? -v : v;
}

double tsr_ref_sin(double x) {
  if (x == 0) return x;
  if (!isfinite(x)) return NAN;
  return copysign(1, x) * circle(fabs(x), 0);
}

double tsr_ref_cos(double x) {
  return isfinite(x) ? circle(fabs(x), 1) : NAN;
}
