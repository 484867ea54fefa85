/* Layout that costs nothing: copies that only products read are views of these products.
 *
 * The heads of an attention are split and merged by Reshape and Transpose, keys repeated by
 * Expand, parts of one projection taken by Slice or Split.  A product reads its operands
 * through any view, so such a copy need not run where all its readers are operands of products:
 * each of them reads what the copy would have read.  The copy is to take every element from a
 * place that strides give (no table, nothing from outside), in the same format.
 *
 * Before that, what is computed on each element alone, with numbers, changes places with the
 * copy before it, where that reads a product's result: it then stands behind the product and
 * becomes its epilogue (fuse.c). */
#include <string.h>

#include "workloads/translate/product_int.h"

/* ---- items ---- */

bool tsri_tr_is_product(const struct tsri_tr_item *it) {
  enum tsr_op_class cls = tsr_op_kind_info(it->op.kind)->cls;
  return cls == TSR_CLASS_MATMUL || cls == TSR_CLASS_CONV;
}

static size_t reads_of(const struct tsr_operand_view *o, size_t value) {
  size_t n = 0;
  for (unsigned p = 0; p < o->n_parts; p++) n += o->part[p].value == value;
  return n;
}

static size_t item_reads(const struct tsri_tr_item *it, size_t value) {
  size_t n = reads_of(&it->bind.a, value) + reads_of(&it->bind.b, value);
  for (size_t s = 0; s < it->op.n_steps; s++) n += reads_of(&it->bind.step[s], value);
  return n;
}

static bool item_writes(const struct tsri_tr_item *it, size_t value) {
  return (it->bind.has_out && it->bind.out.value == value) ||
         (it->bind.has_out2 && it->bind.out2.value == value);
}

size_t tsri_tr_only_item(const struct tsri_tr *t, size_t value, bool reads) {
  size_t found = SIZE_MAX;
  for (size_t i = 0; i < t->n; i++) {
    const struct tsri_tr_item *it = &t->items[i];
    if (it->dropped || !(reads ? item_reads(it, value) > 0 : item_writes(it, value))) continue;
    if (found != SIZE_MAX) return SIZE_MAX;
    found = i;
  }
  return found;
}

bool tsri_tr_leaves(const struct tsri_tr *t, size_t value) {
  const struct tsr_net *net = t->net;
  for (size_t i = 0; i < net->n_outputs; i++)
    if (tsr_translate_source(net, net->outputs[i]) == value) return true;
  for (size_t i = 0; net->n_skipped && i < net->n_nodes; i++)
    for (size_t k = 0; net->nodes[i].skipped && k < net->nodes[i].n_in; k++)
      if (net->nodes[i].in[k] != SIZE_MAX &&
          tsr_translate_source(net, net->nodes[i].in[k]) == value)
        return true;
  return false;
}

/* ---- views ---- */

/* Every element comes from inside the value, by strides. */
static bool by_strides(const struct tsr_view *v) {
  if (v->value == SIZE_MAX) return false;
  for (unsigned d = 0; d < v->src_rank; d++) {
    int64_t low = v->base[d], high = v->base[d];
    if (v->table[d]) return false;
    for (unsigned e = 0; e < v->rank; e++) {
      int64_t by = v->coef[d][e] * (int64_t)(v->dim[e] - 1);
      *(by < 0 ? &low : &high) += by;
    }
    if (low < 0 || high >= (int64_t)v->extent[d]) return false;
  }
  return true;
}

/* Each dimension of the value is run along once at most: windows, which overlap, are copied. */
static bool has_windows(const struct tsr_view *v) {
  for (unsigned d = 0; d < v->src_rank; d++) {
    unsigned n = 0;
    for (unsigned e = 0; e < v->rank; e++) n += v->dim[e] > 1 && v->coef[d][e];
    if (n > 1) return true;
  }
  return false;
}

/* A view of a copy's result as one of what the copy reads, in the making. */
struct joint {
  const struct tsr_view *inner;   /* of the copy's source */
  uint64_t stride[TSR_VIEW_RANK]; /* of the copy's elements, by inner dimension */
  int64_t at[TSR_VIEW_RANK];      /* coordinates of the first element */
  uint64_t reach[TSR_VIEW_RANK];  /* and how far they go */
  struct tsr_view *out;
};

/* The inner dimension along which a step of `by` elements moves, SIZE_MAX: none. */
static unsigned along(const struct joint *j, uint64_t by) {
  for (unsigned k = j->inner->rank; k-- > 0;)
    if (j->inner->dim[k] > 1 && by % j->stride[k] == 0 && by < j->stride[k] * j->inner->dim[k])
      return k;
  return j->inner->rank;
}

static bool piece(struct joint *j, uint64_t n, unsigned k, uint64_t step) {
  struct tsr_view *o = j->out;
  if (o->rank == TSR_VIEW_RANK) return false;
  unsigned e = o->rank++;
  o->dim[e] = n;
  for (unsigned d = 0; step && d < o->src_rank; d++)
    o->coef[d][e] = j->inner->coef[d][k] * (int64_t)step;
  if (step) j->reach[k] += (n - 1) * step;
  return true;
}

/* Dimension of n elements, `by` apart, as dimensions of the joint view, the outer ones first.
 */
static bool pieces(struct joint *j, uint64_t n, uint64_t by) {
  if (n == 1 || by == 0) return piece(j, n, 0, 0);
  unsigned k = along(j, by);
  if (k == j->inner->rank) return false;
  uint64_t step = by / j->stride[k], room = j->inner->dim[k] / step;
  if ((n - 1) * step < j->inner->dim[k]) return piece(j, n, k, step);
  if (j->inner->dim[k] % step || n % room) return false;
  return pieces(j, n / room, by * room) && piece(j, room, k, step);
}

/* The places of w that `outer` takes, as places of what the copy read: element i of w is
 * element i of `inner`.  false: strides do not say it. */
static bool compose(const struct tsr_view *outer, const struct tsr_view *inner,
                    struct tsr_view *out) {
  struct joint j = {.inner = inner, .out = out};
  int64_t stride = 1, base = 0, by[TSR_VIEW_RANK] = {0};
  if (!by_strides(outer)) return false;
  for (unsigned d = outer->src_rank; d-- > 0; stride *= (int64_t)outer->extent[d]) {
    base += stride * outer->base[d];
    for (unsigned e = 0; e < outer->rank; e++) by[e] += stride * outer->coef[d][e];
  }
  uint64_t step = 1;
  for (unsigned k = inner->rank; k-- > 0; step *= inner->dim[k]) {
    j.stride[k] = step;
    j.at[k] = (int64_t)((uint64_t)base / step % inner->dim[k]);
  }
  *out = *inner;
  out->rank = 0;
  memset(out->coef, 0, sizeof out->coef);
  for (unsigned e = 0; e < outer->rank; e++)
    if (by[e] < 0 || !pieces(&j, outer->dim[e], (uint64_t)by[e])) return false;
  for (unsigned k = 0; k < inner->rank; k++) { /* no sum passes the end of a dimension */
    if ((uint64_t)j.at[k] + j.reach[k] >= inner->dim[k]) return false;
    for (unsigned d = 0; d < out->src_rank; d++) out->base[d] += inner->coef[d][k] * j.at[k];
  }
  return true;
}

/* ---- copies ---- */

/* It moves elements as they are into the whole of a value that nothing else writes, each from a
 * place that strides give: `from` says which. */
static bool is_move(const struct tsri_tr *t, size_t i, struct tsr_view *from) {
  const struct tsri_tr_item *c = &t->items[i];
  bool turned = c->op.kind == TSR_OP_TRANSPOSE;
  if (c->dropped || (c->op.kind != TSR_OP_COPY && !turned)) return false;
  if (c->bind.a.n_parts != 1 || strcmp(c->op.format_a, c->op.format_out)) return false;
  const struct tsr_view *a = &c->bind.a.part[0];
  if (!by_strides(a) || has_windows(a) || !tsri_tr_view_is_flat(t, &c->bind.out)) return false;
  size_t to = c->bind.out.value;
  if (tsri_tr_leaves(t, to) || tsri_tr_only_item(t, to, false) != i) return false;
  *from = *a;
  if (!turned) return true;
  static const unsigned perm[3] = {0, 2, 1};
  uint64_t dim[3] = {c->op.count, c->op.m, c->op.n};
  if (!tsri_tr_view_is_flat(t, a)) return false;
  *from = tsri_tr_view_as(t, a->value, 3, dim);
  *from = tsri_tr_view_permuted(from, perm);
  return true;
}

static bool operand_joins(const struct tsr_operand_view *o, size_t value,
                          const struct tsr_view *from) {
  struct tsr_view v;
  for (unsigned p = 0; p < o->n_parts; p++)
    if (o->part[p].value == value && !compose(&o->part[p], from, &v)) return false;
  return true;
}

/* Only products read the copy's result, as operands that can read its source instead. */
static bool is_free(const struct tsri_tr *t, size_t i, const struct tsr_view *from) {
  size_t value = t->items[i].bind.out.value;
  for (size_t k = 0; k < t->n; k++) {
    const struct tsri_tr_item *it = &t->items[k];
    size_t reads = it->dropped ? 0 : item_reads(it, value);
    if (!reads) continue;
    if (!tsri_tr_is_product(it) ||
        reads_of(&it->bind.a, value) + reads_of(&it->bind.b, value) != reads ||
        !operand_joins(&it->bind.a, value, from) || !operand_joins(&it->bind.b, value, from))
      return false;
  }
  return true;
}

static enum tsr_status join_operand(struct tsri_tr *t, struct tsr_operand_view *o, size_t value,
                                    const struct tsr_view *from) {
  if (!reads_of(o, value)) return TSR_OK;
  struct tsr_view *part = tsr_arena_array(t->net->arena, o->n_parts, sizeof *part);
  if (!part) return tsr_err_nomem(t->err);
  for (unsigned p = 0; p < o->n_parts; p++) {
    part[p] = o->part[p];
    if (part[p].value == value) TSR_CHECK(compose(&o->part[p], from, &part[p]));
  }
  o->part = part;
  return TSR_OK;
}

static enum tsr_status join_readers(struct tsri_tr *t, size_t i, const struct tsr_view *from) {
  struct tsri_tr_item *c = &t->items[i];
  for (size_t k = 0; k < t->n; k++) {
    struct tsri_tr_item *it = &t->items[k];
    if (it->dropped || k == i) continue;
    TSRI_TRY(join_operand(t, &it->bind.a, c->bind.out.value, from));
    TSRI_TRY(join_operand(t, &it->bind.b, c->bind.out.value, from));
  }
  c->dropped = true;
  return TSR_OK;
}

/* ---- numbers behind copies ---- */

/* Each element on its own, with numbers at most: it does not matter where the element lies. */
static bool is_alone(const struct tsri_tr *t, const struct tsri_tr_item *e) {
  const struct tsr_op_info *info = tsr_op_kind_info(e->op.kind);
  if (info->cls != TSR_CLASS_ELEMENTWISE || e->op.n_steps || e->bind.a.n_parts != 1)
    return false;
  if (strcmp(e->op.format_a, e->op.format_out) || !e->bind.has_out) return false;
  if (info->b != TSR_SHAPE_NONE &&
      (info->b != TSR_SHAPE_WITH || e->op.attr.with != TSR_WITH_SCALAR || e->op.count != 1 ||
       e->bind.b.n_parts != 1 || !tsri_tr_constant(t, e->bind.b.part[0].value)))
    return false;
  return tsri_tr_view_is_flat(t, &e->bind.a.part[0]) && tsri_tr_view_is_flat(t, &e->bind.out);
}

/* A product makes the value, or operators on single elements behind one do. */
static bool is_behind_product(const struct tsri_tr *t, size_t value) {
  for (int i = 0; i < TSR_EPILOGUE_MAX; i++) {
    size_t at = tsri_tr_only_item(t, value, false);
    if (at == SIZE_MAX || tsri_tr_leaves(t, value)) return false;
    const struct tsri_tr_item *it = &t->items[at];
    if (tsri_tr_is_product(it)) return true;
    if (tsr_op_kind_info(it->op.kind)->cls != TSR_CLASS_ELEMENTWISE || it->bind.a.n_parts != 1)
      return false;
    value = it->bind.a.part[0].value;
    if (value == SIZE_MAX) return false;
  }
  return false;
}

/* Operator e, the only reader of copy i, runs before it: on what the copy reads. */
static enum tsr_status change_places(struct tsri_tr *t, size_t i, size_t e) {
  struct tsri_tr_item copy = t->items[i], op = t->items[e];
  struct tsr_view from = copy.bind.a.part[0];
  struct tsri_tr_shape s = tsri_tr_shape_of(t, from.value);
  size_t to = op.bind.out.value, between;
  t->node = op.bind.node;
  TSRI_TRY(tsri_tr_temp(t, "early", t->net->values[to].type, s.rank, s.dim, &between));
  struct tsr_view x = tsri_tr_view_flat(t, from.value), z = tsri_tr_view_flat(t, between);
  tsri_tr_split(s.n, s.rank, s.dim, &op.op.m, &op.op.n);
  op.op.count = 1;
  TSRI_TRY(tsri_tr_bind(t, &op.bind.a, &x));
  tsri_tr_bind_out(&op, &z);
  from.value = between;
  TSRI_TRY(tsri_tr_bind(t, &copy.bind.a, &from));
  copy.bind.out.value = to;
  t->items[i] = op;
  t->items[e] = copy;
  return TSR_OK;
}

static enum tsr_status numbers_first(struct tsri_tr *t, size_t i) {
  struct tsr_view from;
  if (!is_move(t, i, &from)) return TSR_OK;
  size_t e = tsri_tr_only_item(t, t->items[i].bind.out.value, true);
  if (e == SIZE_MAX || tsri_tr_only_item(t, from.value, true) != i) return TSR_OK;
  if (!is_behind_product(t, from.value) || !is_alone(t, &t->items[e]) ||
      tsri_tr_only_item(t, t->items[e].bind.out.value, false) != e)
    return TSR_OK;
  return change_places(t, i, e);
}

enum tsr_status tsri_tr_free_layout(struct tsri_tr *t) {
  for (size_t i = 0; i < t->n; i++) TSRI_TRY(numbers_first(t, i));
  for (size_t i = t->n; i-- > 0;) { /* the last of several in a row first */
    struct tsr_view from;
    if (is_move(t, i, &from) && is_free(t, i, &from)) TSRI_TRY(join_readers(t, i, &from));
  }
  return TSR_OK;
}
