/* Exact products, sums of two addends rounded once, sums that are exact. */
#include <stdlib.h>
#include <string.h>

#include "models/arith/mma_int.h"

/* Leading bit of an aligned addend.  Above it there is room for a carry; below it,
 * addends of at most 120 bits lose a bit only when they lie so far apart that the
 * difference keeps its leading bit or the next, and the bit lost is only sticky. */
enum { TOP = 125 };

int tsri_clz128(tsr_u128 v) {
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

uint64_t tsri_round128(const struct tsr_format *f, enum tsr_round mode, bool sign, int exp,
                       tsr_u128 m, bool sticky, unsigned *events) {
  if (m == 0) return tsri_round(f, mode, sign, exp, 0, sticky, events);
  int n = tsri_clz128(m);
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
  if (s == 0) return tsri_round(f, mode, mode == TSR_ROUND_RD, 0, 0, false, events);
  return tsri_round128(f, mode, hi->sign, hi->exp - up_hi, s, sticky, events);
}

uint64_t tsri_sum(const struct tsr_format *f, enum tsr_round mode, const struct tsri_term *x,
                  const struct tsri_term *y, uint64_t nan, unsigned *events) {
  if (x->cls > TSR_NUM_FINITE || y->cls > TSR_NUM_FINITE)
    return sum_special(f, x, y, nan, events);
  if (x->cls == TSR_NUM_ZERO || y->cls == TSR_NUM_ZERO) {
    const struct tsri_term *v = x->cls == TSR_NUM_ZERO ? y : x;
    if (v->cls == TSR_NUM_FINITE)
      return tsri_round128(f, mode, v->sign, v->exp, v->sig, false, events);
    bool sign = x->sign == y->sign ? x->sign : mode == TSR_ROUND_RD;
    return tsri_round(f, mode, sign, 0, 0, false, events);
  }
  int up_x = tsri_clz128(x->sig) - (127 - TOP), up_y = tsri_clz128(y->sig) - (127 - TOP);
  int apart = (x->exp - up_x) - (y->exp - up_y);
  bool x_larger = apart > 0 || (apart == 0 && x->sig << up_x >= y->sig << up_y);
  return x_larger ? sum_finite(f, mode, x, y, up_x, up_y, apart, events)
                  : sum_finite(f, mode, y, x, up_y, up_x, -apart, events);
}

tsr_u128 tsri_shift(tsr_u128 v, int down, enum tsr_round mode, bool sign, bool *lost) {
  if (down <= 0) return v << -down;
  tsr_u128 kept = down < 128 ? v >> down : 0;
  bool half = down <= 128 && (v >> (down - 1)) & 1, up = false;
  bool rest = down > 128 ? v != 0 : (v & (((tsr_u128)1 << (down - 1)) - 1)) != 0;
  if (!half && !rest) return kept;
  *lost = true;
  switch (mode) {
  case TSR_ROUND_RNE: up = half && (rest || (kept & 1)); break;
  case TSR_ROUND_RNA: up = half; break;
  case TSR_ROUND_RU: up = !sign; break;
  case TSR_ROUND_RD: up = sign; break;
  case TSR_ROUND_ODD: up = !(kept & 1); break;
  case TSR_ROUND_RZ:
  case TSR_ROUND_SR:
  case TSR_ROUND_N_: break;
  }
  return kept + up;
}

void tsri_wide_init(struct tsri_wide *x, int lsb, int bits) {
  x->lsb = lsb;
  x->limbs = (bits + 63) / 64;
  if (x->limbs > TSRI_WIDE_LIMBS) abort();
  memset(x->w, 0, (size_t)x->limbs * sizeof x->w[0]);
}

void tsri_wide_add(struct tsri_wide *x, bool sign, int exp, tsr_u128 sig) {
  unsigned at = (unsigned)(exp - x->lsb), up = at % 64;
  uint64_t lo = (uint64_t)sig, hi = (uint64_t)(sig >> 64);
  uint64_t part[3] = {lo << up, hi, 0};
  if (up) {
    part[1] = lo >> (64 - up) | hi << up;
    part[2] = hi >> (64 - up);
  }
  bool carry = false;
  for (int i = (int)(at / 64), j = 0; i < x->limbs && (j < 3 || carry); i++, j++) {
    uint64_t v = j < 3 ? part[j] : 0, w = x->w[i], s = sign ? w - v : w + v;
    bool first = sign ? w < v : s < v, second = carry && s == (sign ? 0 : UINT64_MAX);
    x->w[i] = sign ? s - carry : s + carry;
    carry = first || second;
  }
}

bool tsri_wide_top(const struct tsri_wide *x, bool *sign, int *exp, uint64_t *sig,
                   bool *sticky) {
  uint64_t m[TSRI_WIDE_LIMBS];
  bool carry = *sign = x->w[x->limbs - 1] >> 63;
  int top = -1;
  for (int i = 0; i < x->limbs; i++) {
    m[i] = *sign ? ~x->w[i] + carry : x->w[i];
    carry = carry && m[i] == 0;
    if (m[i]) top = i;
  }
  if (top < 0) return false;
  int up = __builtin_clzll(m[top]);
  uint64_t below = top ? m[top - 1] : 0;
  *sig = up ? m[top] << up | below >> (64 - up) : m[top];
  *exp = x->lsb + 64 * top - up;
  *sticky = up ? below << up != 0 : below != 0;
  for (int i = 0; i < top - 1 && !*sticky; i++) *sticky = m[i] != 0;
  return true;
}
