/* Steps that round every addition: FMA, multiply then add, adder tree. */
#include "models/arith/mma_int.h"

/* One product is added to *c; NULL: it stands alone. */
typedef uint64_t add_fn(struct tsri_run *r, const struct tsri_term *p, const uint64_t *c);

static uint64_t add_fused(struct tsri_run *r, const struct tsri_term *p, const uint64_t *c) {
  struct tsri_term acc = {TSR_NUM_ZERO, p->sign, 0, 0};
  if (c) acc = tsri_load_acc(r, *c);
  return tsri_step_sum(r, p, &acc);
}

static uint64_t add_rounded(struct tsri_run *r, const struct tsri_term *p, const uint64_t *c) {
  uint64_t product = add_fused(r, p, NULL);
  if (!c) return product;
  struct tsri_term t = tsri_load_acc(r, product), acc = tsri_load_acc(r, *c);
  return tsri_step_sum(r, &t, &acc);
}

static bool same_value(const struct tsri_run *r, uint64_t x, const struct tsri_term *y) {
  struct tsr_num v = tsri_decode(r->u->acc, x);
  return v.cls == y->cls && v.sign == y->sign && v.exp == y->exp && v.sig == y->sig;
}

static void count(struct tsri_run *r, const struct tsri_term *p, const uint64_t *c,
                  uint64_t next, unsigned ev) {
  struct tsr_mma_stats *st = r->stats;
  struct tsri_term acc = {TSR_NUM_ZERO, false, 0, 0};
  if (c) acc = tsri_load_acc(r, *c);
  if (p->cls != TSR_NUM_FINITE || acc.cls > TSR_NUM_FINITE) return;
  bool swamped = c && same_value(r, next, &acc);
  st->terms++;
  st->swamped_terms += swamped;
  st->truncated_terms += !swamped && (ev & TSR_EVENT_INEXACT);
  struct tsr_num v = tsri_decode(r->u->acc, next);
  int p_top = p->exp + 127 - tsri_clz128(p->sig), top = p_top;
  if (acc.cls == TSR_NUM_FINITE) {
    int acc_top = acc.exp + 127 - tsri_clz128(acc.sig);
    unsigned unused = 0;
    struct tsri_run alone = *r;
    alone.events = &unused;
    st->steps++;
    st->absorbed_acc += !swamped && add_fused(&alone, p, NULL) == next;
    if (acc_top > top) top = acc_top;
  }
  if (v.cls != TSR_NUM_FINITE) return;
  int depth = top - (v.exp + 63 - __builtin_clzll(v.sig));
  st->cancelled_steps++;
  if (depth > 0) st->cancel_bits += (uint64_t)depth;
  if (depth > 0 && (uint64_t)depth > st->cancel_max) st->cancel_max = (uint64_t)depth;
}

static uint64_t chain(struct tsri_run *r, const struct tsri_piece *p, add_fn *add) {
  uint64_t code = p->c ? *p->c : 0;
  const uint64_t *c = p->c;
  for (size_t i = 0; i < p->n; i++) {
    struct tsri_term t = tsri_load(r, p, i);
    unsigned *all = r->events, ev = 0;
    r->events = &ev;
    uint64_t next = add(r, &t, c);
    r->events = all;
    *all |= ev;
    if (r->stats) count(r, &t, c, next, ev);
    code = next;
    c = &code;
  }
  return code;
}

uint64_t tsri_step_fma(struct tsri_run *r, const struct tsri_piece *p) {
  return chain(r, p, add_fused);
}

uint64_t tsri_step_muladd(struct tsri_run *r, const struct tsri_piece *p) {
  return chain(r, p, add_rounded);
}

static uint64_t add_codes(struct tsri_run *r, uint64_t x, uint64_t y) {
  struct tsri_term a = tsri_load_acc(r, x), b = tsri_load_acc(r, y);
  return tsri_step_sum(r, &a, &b);
}

/* Adjacent pairs, level by level, an odd one passing up, is what a binary counter
 * does: n products leave one subtree for every bit of n, the largest first, and the
 * rest is folded from the smallest. */
uint64_t tsri_step_tree(struct tsri_run *r, const struct tsri_piece *p) {
  if (p->first) r->count = 0;
  size_t depth = (size_t)__builtin_popcountll(r->count);
  for (size_t i = 0; i < p->n; i++) {
    struct tsri_term t = tsri_load(r, p, i);
    uint64_t node = add_fused(r, &t, NULL);
    for (size_t bit = 1; r->count & bit; bit <<= 1)
      node = add_codes(r, r->stack[--depth], node);
    r->stack[depth++] = node;
    r->count++;
  }
  if (!p->last || depth == 0) return p->c ? *p->c : 0;
  uint64_t root = r->stack[--depth];
  while (depth) root = add_codes(r, r->stack[--depth], root);
  return p->c ? add_codes(r, *p->c, root) : root;
}
