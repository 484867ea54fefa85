/* Small operators on whole values, of which larger ones are composed. */
#include <string.h>

#include "workloads/translate/translate_int.h"

enum { COLUMNS = 128 }; /* a row of at least so many elements, where it does not matter */

void tsri_tr_split(uint64_t elems, unsigned rank, const uint64_t *dim, uint64_t *m,
                   uint64_t *n) {
  uint64_t cols = 1;
  for (unsigned d = rank; d-- > 0 && cols < COLUMNS;) cols *= dim[d];
  *n = cols ? cols : 1;
  *m = elems / *n;
}

enum tsr_status tsri_tr_unary(struct tsri_tr *t, const char *what, enum tsr_op_kind kind,
                              const struct tsr_op_attr *attr, size_t a, size_t out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, out);
  uint64_t m, n;
  tsri_tr_split(s.n, s.rank, s.dim, &m, &n);
  struct tsri_tr_item it = tsri_tr_item(kind, m, n, 1, 1);
  if (attr) it.op.attr = *attr;
  struct tsr_view va = tsri_tr_view_flat(t, a), vo = tsri_tr_view_flat(t, out);
  enum tsr_status st = tsri_tr_bind(t, &it.bind.a, &va);
  tsri_tr_bind_out(&it, &vo);
  return st ? st : tsri_tr_emit(t, what, &it);
}

enum tsr_status tsri_tr_copy(struct tsri_tr *t, const char *what, const struct tsr_view *src,
                             const struct tsr_view *dst) {
  uint64_t m, n, elems = tsr_view_elems(dst);
  tsri_tr_split(elems, dst->rank, dst->dim, &m, &n);
  struct tsri_tr_item it = tsri_tr_item(TSR_OP_COPY, m, n, 1, 1);
  enum tsr_status s = tsri_tr_bind(t, &it.bind.a, src);
  tsri_tr_bind_out(&it, dst);
  return s ? s : tsri_tr_emit(t, what, &it);
}

enum tsr_status tsri_tr_rows(struct tsri_tr *t, const char *what, enum tsr_op_kind kind,
                             double eps, uint64_t m, uint64_t n, size_t a, size_t out) {
  struct tsri_tr_item it = tsri_tr_item(kind, m, n, 1, 1);
  it.op.attr.eps = eps;
  struct tsr_view va = tsri_tr_view_flat(t, a), vo = tsri_tr_view_flat(t, out);
  enum tsr_status s = tsri_tr_bind(t, &it.bind.a, &va);
  tsri_tr_bind_out(&it, &vo);
  return s ? s : tsri_tr_emit(t, what, &it);
}

/* ---- two operands ---- */

/* Neighbouring dimensions of the result that both operands treat alike. */
struct group {
  uint64_t n;
  bool has[2]; /* operand 0, 1 runs along it; else it is repeated */
};
struct plan {
  unsigned n;
  struct group g[TSR_RANK_MAX];
  bool full[2];
};

static struct plan plan_of(const struct tsri_tr_shape *a, const struct tsri_tr_shape *b,
                           const struct tsri_tr_shape *o) {
  struct plan p = {.full = {true, true}};
  const struct tsri_tr_shape *in[2] = {a, b};
  for (unsigned d = 0; d < o->rank; d++) {
    if (o->dim[d] == 1) continue;
    struct group g = {o->dim[d], {false, false}};
    for (unsigned i = 0; i < 2; i++) {
      unsigned behind = o->rank - d; /* dimensions from d on */
      g.has[i] = behind <= in[i]->rank && in[i]->dim[in[i]->rank - behind] != 1;
      p.full[i] = p.full[i] && g.has[i];
    }
    struct group *last = p.n ? &p.g[p.n - 1] : NULL;
    if (last && last->has[0] == g.has[0] && last->has[1] == g.has[1])
      last->n *= g.n;
    else
      p.g[p.n++] = g;
  }
  return p;
}

/* The kind that b against a is, where a against b is `kind`; kinds that have none: false. */
static bool mirrored(enum tsr_op_kind kind, enum tsr_op_kind *out) {
  static const enum tsr_op_kind pairs[][2] = {
      {TSR_OP_ADD, TSR_OP_ADD},
      {TSR_OP_MUL, TSR_OP_MUL},
      {TSR_OP_MAX, TSR_OP_MAX},
      {TSR_OP_MIN, TSR_OP_MIN},
      {TSR_OP_EQUAL, TSR_OP_EQUAL},
      {TSR_OP_LESS, TSR_OP_GREATER},
      {TSR_OP_GREATER, TSR_OP_LESS},
      {TSR_OP_LESS_EQUAL, TSR_OP_GREATER_EQUAL},
      {TSR_OP_GREATER_EQUAL, TSR_OP_LESS_EQUAL},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
    if (pairs[i][0] == kind) {
      *out = pairs[i][1];
      return true;
    }
  return false;
}

/* A new value: this one, broadcast to the shape. */
static enum tsr_status expand(struct tsri_tr *t, size_t value, const struct tsri_tr_shape *to,
                              size_t *out) {
  enum tsr_dtype type = t->net->values[value].type;
  enum tsr_status s = tsri_tr_temp(t, "broadcast", type, to->rank, to->dim, out);
  if (s) return s;
  struct tsr_view src = tsri_tr_view_broadcast(t, value, to->rank, to->dim);
  struct tsr_view dst = tsri_tr_view(t, *out);
  return tsri_tr_copy(t, "broadcast", &src, &dst);
}

/* Sizes and the view of b where a runs along all groups and b along some; false: b must be
 * expanded first. */
static bool meet(const struct tsri_tr *t, const struct plan *p,
                 const struct tsri_tr_shape *shape, size_t b, struct tsri_tr_item *it,
                 struct tsr_view *vb) {
  const struct group *g = p->g;
  struct tsr_op *o = &it->op;
  *vb = tsri_tr_view_flat(t, b);
  o->count = 1;
  if (p->n == 0 || (p->n == 1 && g[0].has[1])) {
    o->attr.with = TSR_WITH_FULL;
    tsri_tr_split(shape->n, shape->rank, shape->dim, &o->m, &o->n);
    return true;
  }
  if (p->n == 1) {
    o->attr.with = TSR_WITH_SCALAR;
    tsri_tr_split(shape->n, shape->rank, shape->dim, &o->m, &o->n);
    return true;
  }
  if (p->n > 3) return false;
  o->attr.with = g[p->n - 1].has[1] ? TSR_WITH_ROW : TSR_WITH_COL;
  o->n = g[p->n - 1].n;
  o->m = g[p->n - 2].n;
  if (p->n == 2) return true;
  o->count = g[0].n;
  if (g[0].has[1]) return true;
  /* The same column of factors for every one of count. */
  uint64_t dim[1] = {o->m};
  *vb = tsri_tr_view_as(t, b, 1, dim);
  vb->rank = 2;
  vb->dim[0] = o->count;
  vb->dim[1] = o->m;
  vb->coef[0][0] = 0;
  vb->coef[0][1] = 1;
  return true;
}

static enum tsr_status emit_binary(struct tsri_tr *t, const char *what, enum tsr_op_kind kind,
                                   size_t a, size_t b, size_t out) {
  struct tsri_tr_shape so = tsri_tr_shape_of(t, out), sa = tsri_tr_shape_of(t, a),
                       sb = tsri_tr_shape_of(t, b);
  struct plan p = plan_of(&sa, &sb, &so);
  struct tsri_tr_item it = tsri_tr_item(kind, 1, 1, 1, 1);
  struct tsr_view vb;
  if (!meet(t, &p, &so, b, &it, &vb)) {
    enum tsr_status s = expand(t, b, &so, &b);
    if (s) return s;
    return emit_binary(t, what, kind, a, b, out);
  }
  struct tsr_view va = tsri_tr_view_flat(t, a), vo = tsri_tr_view_flat(t, out);
  enum tsr_status s = tsri_tr_bind(t, &it.bind.a, &va);
  if (!s) s = tsri_tr_bind(t, &it.bind.b, &vb);
  tsri_tr_bind_out(&it, &vo);
  return s ? s : tsri_tr_emit(t, what, &it);
}

/* Whether an operator makes the value (it is no input and no constant). */
static bool is_made(const struct tsri_tr *t, size_t value) {
  const struct tsr_net_value *v = &t->net->values[tsr_translate_source(t->net, value)];
  return !v->is_input && !v->constant;
}

enum tsr_status tsri_tr_binary(struct tsri_tr *t, const char *what, enum tsr_op_kind kind,
                               size_t a, size_t b, size_t out) {
  struct tsri_tr_shape so = tsri_tr_shape_of(t, out), sa = tsri_tr_shape_of(t, a),
                       sb = tsri_tr_shape_of(t, b);
  if (so.n == 0) return TSR_OK;
  struct plan p = plan_of(&sa, &sb, &so);
  enum tsr_op_kind other;
  bool better = !p.full[0] || (p.full[1] && is_made(t, b) && !is_made(t, a));
  if (p.full[1] && better && mirrored(kind, &other))
    return emit_binary(t, what, other, b, a, out);
  if (p.full[0]) return emit_binary(t, what, kind, a, b, out);
  enum tsr_status s;
  size_t x;
  if (kind == TSR_OP_SUB && p.full[1]) { /* a - b = -b + a, exactly */
    s = tsri_tr_temp(t, "neg", sb.type, so.rank, so.dim, &x);
    if (!s) s = tsri_tr_unary(t, "neg", TSR_OP_NEG, NULL, b, x);
    return s ? s : emit_binary(t, what, TSR_OP_ADD, x, a, out);
  }
  s = expand(t, a, &so, &x);
  return s ? s : emit_binary(t, what, kind, x, b, out);
}

enum tsr_status tsri_tr_with_number(struct tsri_tr *t, const char *what, enum tsr_op_kind kind,
                                    size_t a, double b, size_t out) {
  size_t number = SIZE_MAX;
  enum tsr_status s = tsri_tr_scalar(t, t->net->values[a].type, b, &number);
  return s ? s : tsri_tr_binary(t, what, kind, a, number, out);
}

/* ---- dimensions in another order ---- */

/* perm without dimensions of 1, runs of neighbours that stay neighbours merged. */
struct order {
  unsigned n;
  uint64_t dim[TSR_RANK_MAX]; /* of the source, merged, in its order */
  unsigned perm[TSR_RANK_MAX];
};

static struct order order_of(const struct tsri_tr_shape *s, const unsigned *perm) {
  unsigned kept[TSR_RANK_MAX] = {0}, n = 0; /* perm without dimensions of 1 */
  for (unsigned e = 0; e < s->rank; e++)
    if (s->dim[perm[e]] != 1) kept[n++] = perm[e];
  struct order o = {0};
  unsigned first[TSR_RANK_MAX] = {0}; /* source dimension that a merged one starts with */
  for (unsigned e = 0; e < n; e++) {
    bool next = e > 0;
    if (next) { /* only dimensions of 1 between the two */
      next = kept[e] > kept[e - 1];
      for (unsigned d = kept[e - 1] + 1; next && d < kept[e] && d < TSR_RANK_MAX; d++)
        next = s->dim[d] == 1;
    }
    if (next) {
      o.dim[o.n - 1] *= s->dim[kept[e]];
    } else {
      first[o.n] = kept[e];
      o.dim[o.n++] = s->dim[kept[e]];
    }
  }
  /* o.dim is in the order of the result so far: rank the sources. */
  uint64_t dim[TSR_RANK_MAX];
  for (unsigned e = 0; e < o.n; e++) {
    unsigned rank = 0;
    for (unsigned f = 0; f < o.n; f++) rank += first[f] < first[e];
    o.perm[e] = rank;
    dim[rank] = o.dim[e];
  }
  memcpy(o.dim, dim, o.n * sizeof *dim);
  return o;
}

static bool in_order(const struct order *o) {
  return o->n <= 1; /* all merged */
}

static enum tsr_status emit_transpose(struct tsri_tr *t, const char *what, uint64_t count,
                                      uint64_t m, uint64_t n, size_t value, size_t out) {
  struct tsri_tr_item it = tsri_tr_item(TSR_OP_TRANSPOSE, m, n, 1, count);
  struct tsr_view va = tsri_tr_view_flat(t, value), vo = tsri_tr_view_flat(t, out);
  enum tsr_status s = tsri_tr_bind(t, &it.bind.a, &va);
  tsri_tr_bind_out(&it, &vo);
  return s ? s : tsri_tr_emit(t, what, &it);
}

enum tsr_status tsri_tr_permute_to(struct tsri_tr *t, const char *what, size_t value,
                                   const unsigned *perm, size_t out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, value);
  if (s.n == 0) return TSR_OK;
  struct order o = order_of(&s, perm);
  if (in_order(&o)) return tsri_tr_alias(t, value, out);
  if (o.n == 2) return emit_transpose(t, what, 1, o.dim[0], o.dim[1], value, out);
  if (o.n == 3 && o.perm[0] == 0)
    return emit_transpose(t, what, o.dim[0], o.dim[1], o.dim[2], value, out);
  struct tsr_view src = tsri_tr_view_as(t, value, o.n, o.dim);
  src = tsri_tr_view_permuted(&src, o.perm);
  struct tsr_view dst = tsri_tr_view_as(t, out, o.n, src.dim);
  return tsri_tr_copy(t, what, &src, &dst);
}

enum tsr_status tsri_tr_permute(struct tsri_tr *t, const char *what, size_t value,
                                const unsigned *perm, size_t *out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, value);
  uint64_t dim[TSR_RANK_MAX] = {0};
  for (unsigned e = 0; e < s.rank; e++) dim[e] = s.dim[perm[e]];
  size_t v = SIZE_MAX;
  enum tsr_status st = tsri_tr_temp(t, what, s.type, s.rank, dim, &v);
  if (!st) st = tsri_tr_permute_to(t, what, value, perm, v);
  if (!st) *out = v;
  return st;
}
