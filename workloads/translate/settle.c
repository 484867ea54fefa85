/* What is left to say when epilogues are made: what products give to their neighbours.
 *
 * A number that all sums of a product are multiplied by goes into constant weights: its own, or
 * those of the product that made one of its operands (the 1 / sqrt(d) of scores goes into the
 * queries' projection).  A softmax of scores counts its rows as the scores' product does. */
#include <math.h> /* isfinite */
#include <string.h>

#include "workloads/translate/product_int.h"

/* A product with constant weights, behind whose sums no more than a constant bias stands before
 * step `end`. */
static bool takes_number(const struct tsri_tr *t, const struct tsri_tr_item *p, size_t end) {
  if (p->dropped || !tsri_tr_is_product(p) || !tsr_op_b_is_weight(&p->op)) return false;
  if (p->bind.b.n_parts != 1 || !strcmp(p->op.format_acc, "int32") || end > 1) return false;
  if (end && (p->op.step[0].kind != TSR_OP_BIAS || p->bind.step[0].n_parts != 1 ||
              !tsri_tr_constant(t, p->bind.step[0].part[0].value)))
    return false;
  const struct tsr_array *w = tsri_tr_constant(t, p->bind.b.part[0].value);
  return w && w->f;
}

static enum tsr_status scale_bias(struct tsri_tr *t, struct tsr_operand_view *o, double by) {
  double *from;
  struct tsr_array *to;
  size_t value;
  uint64_t n = tsr_view_elems(&o->part[0]);
  TSRI_TRY(tsri_tr_read(t, o, &from));
  enum tsr_status st = tsri_tr_const(t, "scaled_bias", TSR_DTYPE_F32, 1, &n, &value, &to);
  for (uint64_t i = 0; !st && i < n; i++) tsr_array_set(to, i, by * from[i]);
  tsr_mem_free(from);
  if (st) return st;
  struct tsr_view v = tsri_tr_view(t, value);
  return tsri_tr_bind(t, o, &v);
}

static enum tsr_status scale(struct tsri_tr *t, struct tsri_tr_item *p, bool bias, double by) {
  uint64_t n = p->op.n * p->op.count;
  double *all = tsr_mem_array((size_t)n, sizeof *all);
  if (!all) return tsr_err_nomem(t->err);
  for (uint64_t i = 0; i < n; i++) all[i] = by;
  t->node = p->bind.node;
  enum tsr_status st = tsri_tr_scale_weights(t, p, all);
  tsr_mem_free(all);
  return st || !bias ? st : scale_bias(t, &p->bind.step[0], by);
}

/* The product that makes the operand, for this one alone, and takes a number. */
static struct tsri_tr_item *maker(struct tsri_tr *t, size_t reader,
                                  const struct tsr_operand_view *o) {
  if (o->n_parts != 1 || o->part[0].value == SIZE_MAX) return NULL;
  size_t value = o->part[0].value, at = tsri_tr_only_item(t, value, false);
  if (at == SIZE_MAX || tsri_tr_leaves(t, value)) return NULL;
  if (tsri_tr_only_item(t, value, true) != reader) return NULL;
  const struct tsri_tr_item *q = &t->items[reader];
  for (size_t i = 0; i < q->op.n_steps; i++)
    if (q->bind.step[i].n_parts && q->bind.step[i].part[0].value == value) return NULL;
  struct tsri_tr_item *p = &t->items[at];
  return takes_number(t, p, p->op.n_steps) ? p : NULL;
}

static void remove_step(struct tsri_tr_item *p, size_t at) {
  size_t behind = --p->op.n_steps - at;
  memmove(&p->op.step[at], &p->op.step[at + 1], behind * sizeof p->op.step[0]);
  memmove(&p->bind.step[at], &p->bind.step[at + 1], behind * sizeof p->bind.step[0]);
  memset(&p->bind.step[p->op.n_steps], 0, sizeof p->bind.step[0]);
}

/* The step that multiplies all sums by a number goes into weights. */
static enum tsr_status spread_number(struct tsri_tr *t, size_t i) {
  struct tsri_tr_item *q = &t->items[i];
  if (q->dropped || !tsri_tr_is_product(q)) return TSR_OK;
  size_t at = q->op.n_steps && q->op.step[0].kind == TSR_OP_BIAS ? 1 : 0;
  if (at >= q->op.n_steps) return TSR_OK;
  struct tsr_op_step *s = &q->op.step[at];
  double by = s->alpha;
  if (s->kind != TSR_OP_AFFINE || !isfinite(by) || by == 0 || s->beta < 0 || s->beta > 0)
    return TSR_OK;
  struct tsri_tr_item *p = takes_number(t, q, at) ? q : NULL;
  const struct tsr_operand_view *a = &q->bind.a, *b = &q->bind.b;
  bool twice = a->n_parts == 1 && b->n_parts == 1 && a->part[0].value == b->part[0].value;
  if (!p && !at && !twice) p = maker(t, i, a);
  if (!p && !at && !twice) p = maker(t, i, b);
  if (!p) return TSR_OK;
  TSRI_TRY(scale(t, p, p == q ? at > 0 : p->op.n_steps > 0, by));
  remove_step(q, at);
  return TSR_OK;
}

/* Rows of scores: a repetition for each head; inferences, the first of four dimensions, are
 * rows, as a batch of a list makes them. */
static void count_rows(struct tsri_tr *t, size_t i) {
  struct tsri_tr_item *s = &t->items[i];
  if (s->dropped || s->op.kind != TSR_OP_SOFTMAX || s->op.count != 1) return;
  if (s->bind.a.n_parts != 1 || !tsri_tr_view_is_flat(t, &s->bind.a.part[0])) return;
  size_t value = s->bind.a.part[0].value, at = tsri_tr_only_item(t, value, false);
  const struct tsri_tr_item *p = at == SIZE_MAX ? NULL : &t->items[at];
  if (!p || !tsri_tr_is_product(p) || p->op.has_conv || p->op.count == 1) return;
  if (p->op.n != s->op.n || p->op.m * p->op.count != s->op.m) return;
  if (!tsri_tr_view_is_flat(t, &p->bind.out)) return;
  struct tsri_tr_shape x = tsri_tr_shape_of(t, value);
  uint64_t batch = x.rank == 4 && p->op.count % x.dim[0] == 0 ? x.dim[0] : 1;
  s->op.m = p->op.m * batch;
  s->op.count = p->op.count / batch;
}

enum tsr_status tsri_tr_settle(struct tsri_tr *t) {
  for (size_t i = 0; i < t->n; i++) {
    TSRI_TRY(spread_number(t, i));
    count_rows(t, i);
  }
  return TSR_OK;
}
