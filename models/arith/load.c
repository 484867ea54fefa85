/* From codes to terms, and from sums to codes: what every kind of step shares. */
#include "models/arith/mma_int.h"

static void note_subnormal(const struct tsr_num *v, unsigned *events) {
  if (v->subnormal) *events |= TSR_EVENT_SUBNORMAL_IN;
}

static struct tsr_num load_operand(struct tsri_run *r, const struct tsr_format *from,
                                   const struct tsr_format *f, uint64_t code) {
  if (f != from) code = tsr_arith_convert(from, code, f, r->u->via_round, r->events);
  struct tsr_num v = tsri_decode(f, code);
  note_subnormal(&v, r->events);
  if (v.subnormal && r->u->flush) v = (struct tsr_num){.cls = TSR_NUM_ZERO};
  return v;
}

struct tsri_term tsri_load_any(struct tsri_run *r, uint64_t a, uint64_t b) {
  struct tsr_num x = load_operand(r, r->u->a, r->fa, a);
  struct tsr_num y = load_operand(r, r->u->b, r->fb, b);
  return tsri_product(&x, &y, r->events);
}

/* One scale of the block; an operand without scales has 1, unnormalised as they are. */
static struct tsr_num load_scale(const struct tsri_run *r, const uint64_t *scales,
                                 size_t block) {
  const struct tsr_format *f = r->u->scale;
  if (scales) return tsri_decode(f, scales[block]);
  return (struct tsr_num){TSR_NUM_FINITE, false, false, -f->man_bits,
                          UINT64_C(1) << f->man_bits};
}

static void enter_block(struct tsri_run *r, size_t k) {
  size_t len = (size_t)r->u->scale_block, block = k / len;
  struct tsr_num x = load_scale(r, r->args->scale_a, block);
  struct tsr_num y = load_scale(r, r->args->scale_b, block);
  r->scale = tsri_product(&x, &y, r->events);
  r->scale_from = block * len;
  r->scale_to = r->scale_from + len;
}

void tsri_scale_term(struct tsri_run *r, struct tsri_term *t, size_t k) {
  if (k < r->scale_from || k >= r->scale_to) enter_block(r, k);
  const struct tsri_term *s = &r->scale;
  if (s->cls > TSR_NUM_FINITE || t->cls == TSR_NUM_NAN ||
      (s->cls == TSR_NUM_ZERO && t->cls == TSR_NUM_INF)) {
    if (s->cls == TSR_NUM_ZERO && t->cls == TSR_NUM_INF) *r->events |= TSR_EVENT_INVALID;
    t->cls = TSR_NUM_NAN;
  } else if (s->cls == TSR_NUM_ZERO) {
    t->cls = TSR_NUM_ZERO;
  }
  t->sign = t->sign != s->sign;
  t->exp += s->exp;
  t->sig *= s->sig;
}

struct tsri_term tsri_load_any_acc(struct tsri_run *r, uint64_t c) {
  struct tsr_num v = tsri_decode(r->u->acc, c);
  note_subnormal(&v, r->events);
  if (v.subnormal && r->u->flush) v = (struct tsr_num){.cls = TSR_NUM_ZERO};
  return tsri_term_of(&v);
}

uint64_t tsri_signs_result(struct tsri_run *r) {
  const struct tsri_signs *s = &r->signs;
  bool both = s->inf[0] && s->inf[1];
  if (!s->nan && both) *r->events |= TSR_EVENT_INVALID;
  if (s->nan || both) return r->nan;
  struct tsr_num inf = {TSR_NUM_INF, s->inf[1], false, 0, 1};
  return tsr_arith_encode(r->u->acc, r->u->round, &inf, r->events);
}

bool tsri_signs_zero(const struct tsri_signs *s, enum tsr_round mode) {
  if (s->sign[0] && s->sign[1]) return mode == TSR_ROUND_RD;
  return s->sign[1];
}

int tsri_lanes(struct tsri_run *r, const struct tsri_piece *p, struct tsri_lane *lanes) {
  int n = 0;
  for (size_t i = 0; i < p->n; i++) {
    struct tsri_term t = tsri_load(r, p, i);
    tsri_signs_note(&r->signs, t.cls, t.sign);
    if (t.cls != TSR_NUM_FINITE) continue;
    int top = r->use_top ? t.exp + 127 - tsri_clz128(t.sig) : t.exp + r->frac;
    lanes[n++] = (struct tsri_lane){t.sign, t.exp, top, t.sig};
  }
  return n;
}

struct tsri_lane tsri_lane_acc(const struct tsri_run *r, const struct tsri_term *t) {
  return (struct tsri_lane){t->sign, t->exp, t->exp + r->u->acc->man_bits, t->sig};
}

static void count_lane(struct tsr_mma_stats *st, bool is_acc, bool none, bool lost) {
  if (is_acc) {
    st->steps++;
    st->absorbed_acc += none;
  } else {
    st->terms++;
    st->swamped_terms += none;
    st->truncated_terms += lost && !none;
  }
}

tsr_i128 tsri_lane_cut(struct tsri_run *r, const struct tsri_lane *v, int q, bool is_acc) {
  bool lost = false;
  tsr_u128 t = tsri_shift(v->sig, q - v->exp, r->u->align_round, v->sign, &lost);
  if (lost) *r->events |= TSR_EVENT_INEXACT;
  if (r->stats) count_lane(r->stats, is_acc, t == 0, lost);
  return v->sign ? -(tsr_i128)t : (tsr_i128)t;
}

/* What the waist made, by the rules of the unit. */
static uint64_t settle(struct tsri_run *r, const struct tsr_format *f, uint64_t code,
                       unsigned ev) {
  bool sign = !f->is_unsigned && (code >> f->pad_bits & tsri_sign_bit(f));
  if ((ev & TSR_EVENT_SATURATED) && r->u->overflow_inf && f->has_inf) {
    code = tsri_inf(f, sign);
    ev &= ~(unsigned)TSR_EVENT_SATURATED;
  }
  if ((ev & TSR_EVENT_SUBNORMAL_OUT) && r->u->flush) {
    code = sign && !f->no_neg_zero ? tsri_sign_bit(f) << f->pad_bits : 0;
    ev = (ev & ~(unsigned)TSR_EVENT_SUBNORMAL_OUT) | TSR_EVENT_INEXACT | TSR_EVENT_UNDERFLOW;
  }
  *r->events |= ev;
  return code;
}

/* From the step's format to acc: exactly, or rounded a second time. */
static uint64_t to_acc(struct tsri_run *r, uint64_t code) {
  if (r->out == r->u->acc) return code;
  if (tsri_decode(r->out, code).cls == TSR_NUM_NAN) return r->nan;
  unsigned ev = 0;
  code = tsr_arith_convert(r->out, code, r->u->acc, r->u->round, &ev);
  return settle(r, r->u->acc, code, ev & ~(unsigned)TSR_EVENT_SUBNORMAL_IN);
}

uint64_t tsri_finish(struct tsri_run *r, bool sign, int exp, tsr_u128 m, bool sticky) {
  unsigned ev = 0;
  uint64_t code = tsri_round128(r->out, r->u->round, sign, exp, m, sticky, &ev);
  return to_acc(r, settle(r, r->out, code, ev));
}

uint64_t tsri_finish_sum(struct tsri_run *r, tsr_i128 s, int q, int top) {
  bool sign = s ? s < 0 : tsri_signs_zero(&r->signs, r->u->round);
  tsr_u128 m = s < 0 ? -(tsr_u128)s : (tsr_u128)s;
  if (r->stats && m) {
    int depth = top - (q + 127 - tsri_clz128(m));
    r->stats->cancelled_steps++;
    if (depth > 0) r->stats->cancel_bits += (uint64_t)depth;
    if (depth > 0 && (uint64_t)depth > r->stats->cancel_max)
      r->stats->cancel_max = (uint64_t)depth;
  }
  return tsri_finish(r, sign, q, m, false);
}

uint64_t tsri_step_sum(struct tsri_run *r, const struct tsri_term *x,
                       const struct tsri_term *y) {
  unsigned ev = 0;
  uint64_t nan = r->out == r->u->acc ? r->nan : tsr_arith_nan(r->out, r->u->nan);
  uint64_t code = tsri_sum(r->out, r->u->round, x, y, nan, &ev);
  return to_acc(r, settle(r, r->out, code, ev));
}

uint64_t tsri_acc_add(struct tsri_run *r, enum tsr_round mode, uint64_t x, uint64_t y) {
  if (r->u->acc->is_int) return tsri_int_add(r->u, x, y, r->events);
  struct tsri_term a = tsri_load_acc(r, x), b = tsri_load_acc(r, y);
  unsigned ev = 0;
  uint64_t code = tsri_sum(r->u->acc, mode, &a, &b, r->nan, &ev);
  return settle(r, r->u->acc, code, ev);
}

void tsri_format_range(const struct tsr_format *f, int *min, int *max) {
  if (f->codec && f->codec->values) {
    *min = f->codec->exp;
    *max = *min + 62;
  } else if (f->is_int) {
    *min = -f->bias;
    *max = f->bits - f->bias;
  } else {
    *min = -f->bias - f->man_bits;
    *max = (int)tsri_mask(f->exp_bits) - f->bias + 1;
  }
}
