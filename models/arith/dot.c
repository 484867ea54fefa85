/* The three kinds of dot product (models/arith/mma.h). */
#include <stdlib.h>

#include "models/arith/arith_int.h"

static void note_subnormal(const struct tsr_num *v, unsigned *events) {
  if (v->subnormal) *events |= TSR_EVENT_SUBNORMAL_IN;
}

uint64_t tsri_dot_fma(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b, size_t k,
                      uint64_t c, unsigned *events, struct tsr_mma_stats *stats) {
  uint64_t nan = tsri_mma_nan(u);
  struct tsr_num acc = tsri_decode(u->acc, c);
  note_subnormal(&acc, events);
  for (size_t i = 0; i < k; i++) {
    struct tsr_num x = tsri_decode(u->a, a[i]), y = tsri_decode(u->b, b[i]);
    note_subnormal(&x, events);
    note_subnormal(&y, events);
    struct tsri_term p = tsri_product(&x, &y, events), s = tsri_term_of(&acc);
    uint64_t next = tsri_sum(u->acc, u->round, &p, &s, nan, events);
    if (next == c && p.cls == TSR_NUM_FINITE && acc.cls <= TSR_NUM_FINITE)
      stats->swamped_terms++;
    c = next;
    acc = tsri_decode(u->acc, c);
  }
  return c;
}

/* One addend of a fused step: value = (-1)^sign * sig * 2^exp; top: the exponent
 * it is aligned by. */
struct lane {
  bool sign;
  int exp, top;
  uint64_t sig;
};

struct step {
  struct lane lane[TSR_MMA_FUSED_LEN_MAX + 1];
  int n, top;
  bool all_negative, nan, inf[2];
};

static void step_add(struct step *s, enum tsr_num_class cls, struct lane v) {
  s->all_negative = s->all_negative && v.sign;
  if (cls == TSR_NUM_NAN) s->nan = true;
  if (cls == TSR_NUM_INF) s->inf[v.sign] = true;
  if (cls != TSR_NUM_FINITE) return;
  if (v.top > s->top) s->top = v.top;
  s->lane[s->n++] = v;
}

static void step_load(struct step *s, const struct tsr_mma *u, const uint64_t *a,
                      const uint64_t *b, int n, uint64_t c, unsigned *events) {
  s->n = 0;
  s->top = u->zero_exp;
  s->all_negative = true;
  s->nan = s->inf[0] = s->inf[1] = false;
  int frac = u->a->man_bits + u->b->man_bits;
  for (int i = 0; i < n; i++) {
    struct tsr_num x = tsri_decode(u->a, a[i]), y = tsri_decode(u->b, b[i]);
    note_subnormal(&x, events);
    note_subnormal(&y, events);
    struct tsri_term p = tsri_product(&x, &y, events);
    step_add(s, p.cls, (struct lane){p.sign, p.exp, p.exp + frac, (uint64_t)p.sig});
  }
  struct tsr_num v = tsri_decode(u->acc, c);
  note_subnormal(&v, events);
  step_add(s, v.cls, (struct lane){v.sign, v.exp, v.exp + u->acc->man_bits, v.sig});
}

/* Magnitude of a lane in units of 2^q, truncated; sets *cut when bits are lost. */
static uint64_t lane_aligned(const struct lane *v, int q, bool *cut) {
  if (v->exp >= q) return v->sig << (v->exp - q);
  int down = q - v->exp;
  uint64_t kept = down < 64 ? v->sig >> down : 0;
  if (down >= 64 || kept << down != v->sig) *cut = true;
  return kept;
}

static uint64_t step_special(const struct step *s, const struct tsr_mma *u, unsigned *events) {
  if (!s->nan && s->inf[0] && s->inf[1]) *events |= TSR_EVENT_INVALID;
  if (s->nan || (s->inf[0] && s->inf[1])) return tsri_mma_nan(u);
  return tsri_inf(u->acc, s->inf[1]);
}

/* `c_lane`: the accumulator was put in as the last lane; it is no term. */
static uint64_t step_sum(const struct step *s, const struct tsr_mma *u, bool c_lane,
                         unsigned *events, struct tsr_mma_stats *stats) {
  int q = s->top - u->align_bits;
  int64_t sum = 0;
  bool cut = false;
  for (int i = 0; i < s->n; i++) {
    uint64_t t = lane_aligned(&s->lane[i], q, &cut);
    sum += s->lane[i].sign ? -(int64_t)t : (int64_t)t;
    if (t == 0 && !(c_lane && i == s->n - 1)) stats->swamped_terms++;
  }
  bool sign = sum ? sum < 0 : s->all_negative;
  unsigned ev = cut ? TSR_EVENT_INEXACT : 0;
  uint64_t d =
      tsri_round(u->acc, u->round, sign, q, (uint64_t)(sum < 0 ? -sum : sum), false, &ev);
  if ((ev & TSR_EVENT_SATURATED) && u->overflow_inf) {
    d = tsri_inf(u->acc, sign);
    ev &= ~(unsigned)TSR_EVENT_SATURATED;
  }
  *events |= ev;
  return d;
}

uint64_t tsri_dot_fused(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b, size_t k,
                        uint64_t c, unsigned *events, struct tsr_mma_stats *stats) {
  if (u->fused_len < 1 || u->fused_len > TSR_MMA_FUSED_LEN_MAX ||
      u->align_bits > TSR_MMA_ALIGN_BITS_MAX)
    abort();
  struct step s;
  for (size_t i = 0; i < k;) {
    size_t n = tsr_min_u64((uint64_t)u->fused_len, k - i);
    step_load(&s, u, a + i, b + i, (int)n, c, events);
    if (s.nan || s.inf[0] || s.inf[1]) {
      c = step_special(&s, u, events);
    } else {
      bool c_lane = tsri_decode(u->acc, c).cls == TSR_NUM_FINITE;
      c = step_sum(&s, u, c_lane, events, stats);
    }
    i += n;
  }
  return c;
}

static int64_t int_value(const struct tsr_format *f, uint64_t code) {
  struct tsr_num v = tsri_decode(f, code);
  return v.sign ? -(int64_t)v.sig : (int64_t)v.sig;
}

uint64_t tsri_dot_int(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b, size_t k,
                      uint64_t c, unsigned *events) {
  tsr_i128 sum = int_value(u->acc, c);
  for (size_t i = 0; i < k; i++) sum += int_value(u->a, a[i]) * int_value(u->b, b[i]);
  uint64_t code = (uint64_t)sum & tsri_mask(u->acc->bits);
  if (int_value(u->acc, code) != sum) *events |= TSR_EVENT_OVERFLOW;
  return code;
}
