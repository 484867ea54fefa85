/* Exact products and sums of two addends, rounded once. */
#include "models/arith/arith_int.h"

/* Leading bit of an aligned addend.  Above it there is room for a carry; below it,
 * addends of at most 64 bits lose a bit only when they lie so far apart that the
 * difference keeps its leading bit or the next, and the bit lost is only sticky. */
enum { TOP = 125 };

static int clz128(tsr_u128 v) {
  uint64_t hi = (uint64_t)(v >> 64);
  return hi ? __builtin_clzll(hi) : 64 + __builtin_clzll((uint64_t)v);
}

struct tsri_term tsri_product(const struct tsr_num *a, const struct tsr_num *b,
                              unsigned *events) {
  struct tsri_term p = {TSR_NUM_FINITE, a->sign != b->sign, a->exp + b->exp,
                        (tsr_u128)a->sig * b->sig};
  bool zero = a->cls == TSR_NUM_ZERO || b->cls == TSR_NUM_ZERO;
  bool inf = a->cls == TSR_NUM_INF || b->cls == TSR_NUM_INF;
  if (a->cls == TSR_NUM_NAN || b->cls == TSR_NUM_NAN) {
    p.cls = TSR_NUM_NAN;
  } else if (zero && inf) {
    p.cls = TSR_NUM_NAN;
    *events |= TSR_EVENT_INVALID;
  } else if (zero || inf) {
    p.cls = zero ? TSR_NUM_ZERO : TSR_NUM_INF;
  }
  return p;
}

struct tsri_term tsri_term_of(const struct tsr_num *v) {
  struct tsri_term t = {v->cls, v->sign, v->exp, v->sig};
  return t;
}

/* Rounds m * 2^exp, m > 0. */
static uint64_t round128(const struct tsr_format *f, enum tsr_round mode, bool sign, int exp,
                         tsr_u128 m, bool sticky, unsigned *events) {
  int n = clz128(m);
  m <<= n;
  return tsri_round(f, mode, sign, exp - n + 64, (uint64_t)(m >> 64), sticky || (uint64_t)m,
                    events);
}

static uint64_t sum_special(const struct tsr_format *f, const struct tsri_term *x,
                            const struct tsri_term *y, uint64_t nan, unsigned *events) {
  if (x->cls == TSR_NUM_NAN || y->cls == TSR_NUM_NAN) return nan;
  bool both = x->cls == TSR_NUM_INF && y->cls == TSR_NUM_INF;
  if (both && x->sign != y->sign) {
    *events |= TSR_EVENT_INVALID;
    return nan;
  }
  return tsri_inf(f, x->cls == TSR_NUM_INF ? x->sign : y->sign);
}

/* hi + lo, both FINITE, |hi| >= |lo|; `up_`: shifts that bring the leading bit to
 * TOP; `apart`: distance of the leading bits. */
static uint64_t sum_finite(const struct tsr_format *f, enum tsr_round mode,
                           const struct tsri_term *hi, const struct tsri_term *lo, int up_hi,
                           int up_lo, int apart, unsigned *events) {
  tsr_u128 h = hi->sig << up_hi, l = lo->sig << up_lo;
  bool sticky = apart > TOP || (l & (((tsr_u128)1 << apart) - 1)) != 0;
  l = apart > TOP ? 0 : l >> apart;
  /* A rest below l makes the difference smaller: borrow one, keep the sticky bit. */
  tsr_u128 s = hi->sign == lo->sign ? h + l : h - l - sticky;
  if (s == 0) return tsri_round(f, mode, false, 0, 0, false, events);
  return round128(f, mode, hi->sign, hi->exp - up_hi, s, sticky, events);
}

uint64_t tsri_sum(const struct tsr_format *f, enum tsr_round mode, const struct tsri_term *x,
                  const struct tsri_term *y, uint64_t nan, unsigned *events) {
  if (x->cls > TSR_NUM_FINITE || y->cls > TSR_NUM_FINITE)
    return sum_special(f, x, y, nan, events);
  if (x->cls == TSR_NUM_ZERO || y->cls == TSR_NUM_ZERO) {
    const struct tsri_term *v = x->cls == TSR_NUM_ZERO ? y : x;
    if (v->cls == TSR_NUM_FINITE)
      return round128(f, mode, v->sign, v->exp, v->sig, false, events);
    return tsri_round(f, mode, x->sign && y->sign, 0, 0, false, events);
  }
  int up_x = clz128(x->sig) - (127 - TOP), up_y = clz128(y->sig) - (127 - TOP);
  int apart = (x->exp - up_x) - (y->exp - up_y);
  bool x_larger = apart > 0 || (apart == 0 && x->sig << up_x >= y->sig << up_y);
  return x_larger ? sum_finite(f, mode, x, y, up_x, up_y, apart, events)
                  : sum_finite(f, mode, y, x, up_y, up_x, -apart, events);
}
