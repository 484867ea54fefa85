/* Double-double arithmetic: an unevaluated sum hi + lo, about 106 significant bits.
 *
 * Errors below 2^-100 of the result (of the larger term where a sum cancels).  Infinities and
 * NaN live in hi, with lo = 0, and behave as in IEEE 754.
 * Sources: SRC:dekker1971, SRC:joldes2017. */
#ifndef TSR_KERNELS_REF_DD_INT_H
#define TSR_KERNELS_REF_DD_INT_H

#include <math.h>

struct tsri_dd {
  double hi, lo;
};

/* hi is the sum already rounded; an error term next to no finite number means nothing. */
static inline struct tsri_dd tsri_dd_of(double hi, double lo) {
  return (struct tsri_dd){hi, isfinite(hi) ? lo : 0};
}

static inline double tsri_dd_value(struct tsri_dd a) {
  return a.hi + a.lo;
}

/* a + b exactly. */
static inline struct tsri_dd tsri_dd_sum(double a, double b) {
  double s = a + b, t = s - a;
  return tsri_dd_of(s, (a - (s - t)) + (b - t));
}

/* The same where |a| >= |b|. */
static inline struct tsri_dd tsri_dd_norm(double a, double b) {
  double s = a + b;
  return tsri_dd_of(s, b - (s - a));
}

/* a * b exactly, unless the error term is below the range of doubles. */
static inline struct tsri_dd tsri_dd_product(double a, double b) {
  double p = a * b;
  return tsri_dd_of(p, fma(a, b, -p));
}

static inline struct tsri_dd tsri_dd_neg(struct tsri_dd a) {
  return (struct tsri_dd){-a.hi, -a.lo};
}

static inline struct tsri_dd tsri_dd_add(struct tsri_dd a, struct tsri_dd b) {
  struct tsri_dd s = tsri_dd_sum(a.hi, b.hi), t = tsri_dd_sum(a.lo, b.lo);
  s = tsri_dd_norm(s.hi, s.lo + t.hi);
  return tsri_dd_norm(s.hi, s.lo + t.lo);
}

static inline struct tsri_dd tsri_dd_sub(struct tsri_dd a, struct tsri_dd b) {
  return tsri_dd_add(a, tsri_dd_neg(b));
}

static inline struct tsri_dd tsri_dd_mul(struct tsri_dd a, struct tsri_dd b) {
  struct tsri_dd p = tsri_dd_product(a.hi, b.hi);
  if (!isfinite(p.hi)) return p;
  return tsri_dd_norm(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static inline struct tsri_dd tsri_dd_scale(struct tsri_dd a, double b) {
  return tsri_dd_mul(a, (struct tsri_dd){b, 0});
}

/* By long division: three quotients, each of what the one before left. */
static inline struct tsri_dd tsri_dd_div(struct tsri_dd a, struct tsri_dd b) {
  double q = a.hi / b.hi;
  if (!isfinite(q) || !isfinite(b.hi)) return (struct tsri_dd){q, 0};
  struct tsri_dd rest = tsri_dd_sub(a, tsri_dd_scale(b, q));
  double q2 = rest.hi / b.hi;
  rest = tsri_dd_sub(rest, tsri_dd_scale(b, q2));
  struct tsri_dd s = tsri_dd_norm(q, q2);
  return tsri_dd_add(s, (struct tsri_dd){rest.hi / b.hi, 0});
}

/* One step of Newton from the rounded root. */
static inline struct tsri_dd tsri_dd_sqrt(struct tsri_dd a) {
  double s = sqrt(a.hi);
  if (!(s > 0) || !isfinite(s)) return (struct tsri_dd){s, 0};
  struct tsri_dd rest = tsri_dd_sub(a, tsri_dd_product(s, s));
  return tsri_dd_norm(s, rest.hi / (2 * s));
}

/* e^x; the natural logarithm of x, and of 1 + t, t >= 0 (func.c). */
struct tsri_dd tsri_dd_exp(struct tsri_dd x);
struct tsri_dd tsri_dd_log(struct tsri_dd x);
struct tsri_dd tsri_dd_log1p(struct tsri_dd t);

#endif
