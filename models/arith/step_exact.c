/* Steps that are exact inside: the wide accumulator, and integers. */
#include "models/arith/mma_int.h"

/* Room for 2^63 products and the sign above the largest term (SRC:kulisch2013). */
enum { GUARD = 65 };

void tsri_exact_range(const struct tsr_mma *u, int *lsb, int *bits) {
  int a, b, c, a_max, b_max, c_max;
  tsri_format_range(u->via ? u->via : u->a, &a, &a_max);
  tsri_format_range(u->via ? u->via : u->b, &b, &b_max);
  tsri_format_range(u->acc, &c, &c_max);
  a += b;
  a_max += b_max;
  if (u->scale) {
    tsri_format_range(u->scale, &b, &b_max);
    a += 2 * b;
    a_max += 2 * b_max;
  }
  int max = a_max > c_max ? a_max : c_max;
  *lsb = a < c ? a : c;
  *bits = max - *lsb + GUARD;
}

static void open_wide(struct tsri_run *r) {
  int lsb, bits;
  tsri_exact_range(r->u, &lsb, &bits);
  tsri_wide_init(&r->wide, lsb, bits);
  r->signs = (struct tsri_signs){0};
}

static void add_term(struct tsri_run *r, const struct tsri_term *t) {
  tsri_signs_note(&r->signs, t->cls, t->sign);
  if (t->cls == TSR_NUM_FINITE) tsri_wide_add(&r->wide, t->sign, t->exp, t->sig);
}

uint64_t tsri_step_exact(struct tsri_run *r, const struct tsri_piece *p) {
  if (p->first) open_wide(r);
  for (size_t i = 0; i < p->n; i++) {
    struct tsri_term t = tsri_load(r, p, i);
    add_term(r, &t);
    if (r->stats) r->stats->terms += t.cls == TSR_NUM_FINITE;
  }
  if (!p->last) return p->c ? *p->c : 0;
  if (p->c) {
    struct tsri_term t = tsri_load_acc(r, *p->c);
    add_term(r, &t);
  }
  if (tsri_signs_special(&r->signs)) return tsri_signs_result(r);
  bool sign, sticky;
  int exp;
  uint64_t sig;
  if (!tsri_wide_top(&r->wide, &sign, &exp, &sig, &sticky))
    return tsri_finish(r, tsri_signs_zero(&r->signs, r->u->round), 0, 0, false);
  return tsri_finish(r, sign, exp, sig, sticky);
}

static tsr_i128 int_value(const struct tsr_format *f, uint64_t code) {
  struct tsr_num v = tsri_decode_int(f, code);
  return v.sign ? -(tsr_i128)v.sig : (tsr_i128)v.sig;
}

static tsr_i128 clamp(tsr_i128 v, const struct tsr_format *f, unsigned *events) {
  tsr_i128 max = (tsr_i128)tsri_mask(f->is_unsigned ? f->bits : f->bits - 1u);
  tsr_i128 min = f->is_unsigned ? 0 : -max - 1;
  if (v >= min && v <= max) return v;
  *events |= TSR_EVENT_OVERFLOW | TSR_EVENT_SATURATED;
  return v < min ? min : max;
}

/* v in f's range, as the mode has it. */
static tsr_i128 fit(tsr_i128 v, const struct tsr_format *f, enum tsr_mma_int mode,
                    unsigned *events) {
  if (mode == TSR_MMA_INT_SATEND || mode == TSR_MMA_INT_SATSTEP) return clamp(v, f, events);
  tsr_i128 wrapped = int_value(f, (uint64_t)v & tsri_mask(f->bits));
  if (wrapped != v) *events |= TSR_EVENT_OVERFLOW;
  return wrapped;
}

uint64_t tsri_int_add(const struct tsr_mma *u, uint64_t x, uint64_t y, unsigned *events) {
  tsr_i128 sum = int_value(u->acc, x) + int_value(u->acc, y);
  return (uint64_t)fit(sum, u->acc, u->int_mode, events) & tsri_mask(u->acc->bits);
}

static const struct tsr_format pair_format = {
    .name = "int16", .is_int = true, .bits = 16, .man_bits = 15};

/* Pairs run on from piece to piece; one that is left at the end is a pair with 0. */
static void add_paired(struct tsri_run *r, tsr_i128 v) {
  if (r->has_lone) r->sum += clamp(r->lone + v, &pair_format, r->events);
  r->lone = v;
  r->has_lone = !r->has_lone;
}

static void add_products(struct tsri_run *r, const struct tsri_piece *p) {
  const struct tsr_mma *u = r->u;
  for (size_t i = 0; i < p->n; i++) {
    tsr_i128 v = int_value(u->a, p->a[i]) * int_value(u->b, p->b[i]);
    if (u->int_mode == TSR_MMA_INT_PAIR16) {
      add_paired(r, v);
      continue;
    }
    r->sum += v;
    if (u->int_mode == TSR_MMA_INT_SATSTEP) r->sum = clamp(r->sum, r->out, r->events);
  }
  if (p->last && r->has_lone) add_paired(r, 0);
}

uint64_t tsri_step_int(struct tsri_run *r, const struct tsri_piece *p) {
  if (p->first) {
    r->sum = p->c ? int_value(r->u->acc, *p->c) : 0;
    r->has_lone = false;
  }
  add_products(r, p);
  if (!p->last) return p->c ? *p->c : 0;
  return (uint64_t)fit(r->sum, r->out, r->u->int_mode, r->events) & tsri_mask(r->u->acc->bits);
}
