/* Operators that pick elements by index, or make them of indices.
 *
 * Constant indices are tables of views: a copy.  Others go through the kinds that read rows or
 * columns at places that data name; they count from 0 up (negative ones are a constant's
 * alone). */
#include <string.h>

#include "workloads/translate/translate_int.h"

/* Constant indices along a dimension of `extent`, negative ones from its end. */
static int64_t *table_of(struct tsri_tr *t, const struct tsr_array *idx, uint64_t extent) {
  int64_t *table = tsr_arena_array(t->net->arena, idx->n ? idx->n : 1, sizeof *table);
  for (uint64_t i = 0; table && i < idx->n; i++) {
    table[i] = tsr_array_get_int(idx, i);
    if (table[i] < 0) table[i] += (int64_t)extent;
  }
  return table;
}

static uint64_t product(const uint64_t *dim, unsigned from, unsigned to) {
  uint64_t p = 1;
  for (unsigned d = from; d < to; d++) p *= dim[d];
  return p;
}

/* Rows of `width` elements of a value of `rows`, at places that `idx` (m of them) names, become
 * those of `out`. */
static enum tsr_status gather_rows(struct tsri_tr *t, const char *what, size_t data,
                                   uint64_t rows, uint64_t width, size_t idx, uint64_t m,
                                   size_t out) {
  bool weights = tsri_tr_constant(t, data) != NULL;
  struct tsri_tr_item it =
      tsri_tr_item(weights ? TSR_OP_EMBEDDING : TSR_OP_GATHER, m, width, 1, 1);
  it.op.attr.table = rows;
  *(weights ? &it.op.format_a : &it.op.format_b) = ""; /* indices have a format of their own */
  struct tsr_view table = tsri_tr_view_flat(t, data), at = tsri_tr_view_flat(t, idx);
  struct tsr_view to = tsri_tr_view_flat(t, out);
  enum tsr_status s = tsri_tr_bind(t, weights ? &it.bind.b : &it.bind.a, &table);
  if (!s) s = tsri_tr_bind(t, weights ? &it.bind.a : &it.bind.b, &at);
  tsri_tr_bind_out(&it, &to);
  return s ? s : tsri_tr_emit(t, what, &it);
}

/* ---- Gather ---- */

/* Indices in even steps need no table. */
static bool even_steps(const int64_t *table, uint64_t n, uint64_t extent, int64_t *step) {
  *step = n > 1 ? table[1] - table[0] : 0;
  for (uint64_t i = 0; i < n; i++)
    if (table[i] < 0 || (uint64_t)table[i] >= extent ||
        table[i] != table[0] + (int64_t)i * *step)
      return false;
  return n > 0;
}

static enum tsr_status gather_constant(struct tsri_tr *t, const struct tsr_net_node *n,
                                       unsigned axis) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, n->in[0]);
  const struct tsr_array *idx = tsri_tr_constant(t, n->in[1]);
  uint64_t before = product(s.dim, 0, axis), behind = product(s.dim, axis + 1, s.rank);
  uint64_t dim[3] = {before, s.dim[axis], behind}, to[3] = {before, idx->n, behind};
  struct tsr_view src = tsri_tr_view_as(t, n->in[0], 3, dim);
  struct tsr_view dst = tsri_tr_view_as(t, n->out[0], 3, to);
  int64_t *table = table_of(t, idx, s.dim[axis]);
  if (!table) return tsr_err_nomem(t->err);
  src.dim[1] = idx->n;
  if (even_steps(table, idx->n, s.dim[axis], &src.coef[1][1])) {
    src.base[1] = table[0];
  } else {
    src.coef[1][1] = 1;
    src.table[1] = table;
    src.n_table[1] = idx->n;
  }
  return tsri_tr_copy(t, NULL, &src, &dst);
}

static enum tsr_status gather_columns(struct tsri_tr *t, const struct tsr_net_node *n,
                                      uint64_t m, uint64_t cols, uint64_t picked) {
  struct tsri_tr_item it = tsri_tr_item(TSR_OP_GATHER_COLS, m, picked, 1, 1);
  it.op.attr.table = cols;
  it.op.format_b = "";
  struct tsr_view a = tsri_tr_view_flat(t, n->in[0]), b = tsri_tr_view_flat(t, n->in[1]);
  struct tsr_view out = tsri_tr_view_flat(t, n->out[0]);
  enum tsr_status s = tsri_tr_bind(t, &it.bind.a, &a);
  if (!s) s = tsri_tr_bind(t, &it.bind.b, &b);
  tsri_tr_bind_out(&it, &out);
  return s ? s : tsri_tr_emit(t, NULL, &it);
}

static enum tsr_status gather(struct tsri_tr *t, const struct tsr_net_node *n,
                              const void *arg) {
  (void)arg;
  struct tsri_tr_shape s = tsri_tr_shape_of(t, n->in[0]);
  unsigned axis = tsri_tr_axis(n, "axis", 0, s.rank);
  if (tsri_tr_constant(t, n->in[1])) return gather_constant(t, n, axis);
  uint64_t before = product(s.dim, 0, axis), behind = product(s.dim, axis + 1, s.rank);
  uint64_t picked = tsri_tr_shape_of(t, n->in[1]).n, along = s.dim[axis];
  if (before == 1)
    return gather_rows(t, NULL, n->in[0], along, behind, n->in[1], picked, n->out[0]);
  if (behind == 1) return gather_columns(t, n, before, along, picked);
  static const unsigned first[3] = {1, 0, 2};
  uint64_t dim[3] = {before, along, behind}, got[3] = {picked, before, behind};
  size_t x = SIZE_MAX, rows = SIZE_MAX, y = SIZE_MAX;
  enum tsr_status st = tsri_tr_reshaped(t, n->in[0], 3, dim, &x);
  if (!st) st = tsri_tr_permute(t, "axis_first", x, first, &x);
  if (!st) st = tsri_tr_temp(t, "rows", s.type, 3, got, &rows);
  if (!st) st = gather_rows(t, "rows", x, along, before * behind, n->in[1], picked, rows);
  if (!st) st = tsri_tr_permute(t, "axis_back", rows, first, &y);
  return st ? st : tsri_tr_alias(t, y, n->out[0]);
}

/* ---- places computed ---- */

/* Indices from the end: x + (x < 0) * size. */
static enum tsr_status from_start(struct tsri_tr *t, size_t x, uint64_t size, size_t *out) {
  const struct tsri_tr_shape s = tsri_tr_shape_of(t, x);
  const struct tsr_op_attr by = {.alpha = (double)size};
  size_t below = SIZE_MAX, more = SIZE_MAX;
  enum tsr_status st = tsri_tr_temp(t, "below", TSR_DTYPE_BOOL, s.rank, s.dim, &below);
  if (!st) st = tsri_tr_temp(t, "more", s.type, s.rank, s.dim, &more);
  if (!st) st = tsri_tr_temp(t, "index", s.type, s.rank, s.dim, out);
  if (!st) st = tsri_tr_with_number(t, "below", TSR_OP_LESS, x, 0, below);
  if (!st) st = tsri_tr_unary(t, "more", TSR_OP_AFFINE, &by, below, more);
  return st ? st : tsri_tr_binary(t, "index", TSR_OP_ADD, x, more, *out);
}

/* A new int32 value of these dimensions: factor * view + offsets (none where all are 0). */
static enum tsr_status places(struct tsri_tr *t, const struct tsr_view *idx, double factor,
                              unsigned rank, const uint64_t *dim, size_t *out) {
  enum tsr_status s = tsri_tr_temp(t, "places", TSR_DTYPE_I32, rank, dim, out);
  if (s) return s;
  struct tsr_view to = tsri_tr_view(t, *out);
  uint64_t m, n;
  tsri_tr_split(tsr_view_elems(&to), rank, dim, &m, &n);
  struct tsri_tr_item it = tsri_tr_item(TSR_OP_AFFINE, m, n, 1, 1);
  it.op.attr.alpha = factor;
  s = tsri_tr_bind(t, &it.bind.a, idx);
  tsri_tr_bind_out(&it, &to);
  return s ? s : tsri_tr_emit(t, "places", &it);
}

/* *value and a constant of as many elements, added. */
static enum tsr_status add_offsets(struct tsri_tr *t, size_t offsets, size_t *value) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, *value);
  size_t sum = SIZE_MAX;
  enum tsr_status st = tsri_tr_temp(t, "places", TSR_DTYPE_I32, s.rank, s.dim, &sum);
  if (!st) st = tsri_tr_binary(t, "places", TSR_OP_ADD, *value, offsets, sum);
  if (!st) *value = sum;
  return st;
}

/* Elements of the data at places that a table of as many as the result has names. */
static enum tsr_status copy_places(struct tsri_tr *t, size_t data, const int64_t *table,
                                   size_t out) {
  struct tsr_view src = tsri_tr_view_flat(t, data), dst = tsri_tr_view_flat(t, out);
  src.dim[0] = src.n_table[0] = dst.dim[0];
  src.table[0] = table;
  return tsri_tr_copy(t, NULL, &src, &dst);
}

static enum tsr_status gather_elements(struct tsri_tr *t, const struct tsr_net_node *n,
                                       const void *arg) {
  (void)arg;
  struct tsri_tr_shape s = tsri_tr_shape_of(t, n->in[0]), o = tsri_tr_shape_of(t, n->out[0]);
  unsigned axis = tsri_tr_axis(n, "axis", 0, s.rank);
  uint64_t stride = product(s.dim, axis + 1, s.rank);
  const struct tsr_array *idx = tsri_tr_constant(t, n->in[1]);
  int64_t *table = tsr_arena_array(t->net->arena, o.n ? o.n : 1, sizeof *table);
  if (!table) return tsr_err_nomem(t->err);
  for (uint64_t i = 0; i < o.n; i++) { /* the place but for the axis */
    uint64_t left = i, step = 1;
    for (unsigned d = s.rank; d-- > 0; step *= s.dim[d]) {
      if (d != axis) table[i] += (int64_t)(left % o.dim[d] * step);
      left /= o.dim[d];
    }
  }
  if (idx) {
    int64_t *along = table_of(t, idx, s.dim[axis]);
    if (!along) return tsr_err_nomem(t->err);
    for (uint64_t i = 0; i < o.n; i++) table[i] += along[i] * (int64_t)stride;
    return copy_places(t, n->in[0], table, n->out[0]);
  }
  size_t offsets = SIZE_MAX, at = SIZE_MAX;
  struct tsr_array *a = NULL;
  enum tsr_status st = tsri_tr_const(t, "offsets", TSR_DTYPE_I32, o.rank, o.dim, &offsets, &a);
  for (uint64_t i = 0; !st && i < o.n; i++) a->i[i] = table[i];
  size_t index = n->in[1];
  if (!st) st = from_start(t, index, s.dim[axis], &index);
  struct tsr_view view = tsri_tr_view(t, index);
  if (!st) st = places(t, &view, (double)stride, o.rank, o.dim, &at);
  if (!st) st = add_offsets(t, offsets, &at);
  return st ? st : gather_rows(t, NULL, n->in[0], s.n, 1, at, o.n, n->out[0]);
}

/* GatherND: `tuples` tuples of q indices each name a slice of `width` elements; those of batch
 * b start at slice b * slices. */
struct tuples {
  uint64_t tuples, width, batch, slices;
  unsigned q;
  uint64_t stride[TSR_RANK_MAX], extent[TSR_RANK_MAX]; /* by index of a tuple */
};

static struct tuples tuples_of(const struct tsri_tr *t, const struct tsr_net_node *n) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, n->in[0]), i = tsri_tr_shape_of(t, n->in[1]);
  unsigned b = (unsigned)tsr_net_attr_int(n, "batch_dims", 0);
  struct tuples u = {.q = (unsigned)i.dim[i.rank - 1], .batch = product(s.dim, 0, b)};
  u.tuples = product(i.dim, 0, i.rank - 1);
  u.width = product(s.dim, b + u.q, s.rank);
  u.slices = product(s.dim, b, b + u.q);
  for (unsigned k = 0; k < u.q; k++) {
    u.extent[k] = s.dim[b + k];
    u.stride[k] = product(s.dim, b + k + 1, b + u.q);
  }
  return u;
}

/* from_start of tuples, each place by its own extent. */
static enum tsr_status tuples_from_start(struct tsri_tr *t, const struct tuples *u, size_t *x) {
  const struct tsri_tr_shape s = tsri_tr_shape_of(t, *x);
  const uint64_t q = u->q;
  size_t below = SIZE_MAX, more = SIZE_MAX, extents = SIZE_MAX, index = SIZE_MAX;
  struct tsr_array *a = NULL;
  enum tsr_status st = tsri_tr_const(t, "extents", s.type, 1, &q, &extents, &a);
  for (uint64_t k = 0; !st && k < q; k++) tsr_array_set(a, k, (double)u->extent[k]);
  if (!st) st = tsri_tr_temp(t, "below", TSR_DTYPE_BOOL, s.rank, s.dim, &below);
  if (!st) st = tsri_tr_temp(t, "more", s.type, s.rank, s.dim, &more);
  if (!st) st = tsri_tr_temp(t, "index", s.type, s.rank, s.dim, &index);
  if (!st) st = tsri_tr_with_number(t, "below", TSR_OP_LESS, *x, 0, below);
  if (!st) st = tsri_tr_binary(t, "more", TSR_OP_MUL, below, extents, more);
  if (!st) st = tsri_tr_binary(t, "index", TSR_OP_ADD, *x, more, index);
  if (!st) *x = index;
  return st;
}

static int64_t batch_of(const struct tuples *u, uint64_t tuple) {
  return (int64_t)(tuple / (u->tuples / u->batch) * u->slices);
}

static enum tsr_status nd_constant(struct tsri_tr *t, const struct tsr_net_node *n,
                                   const struct tuples *u, const struct tsr_array *idx) {
  int64_t *table = tsr_arena_array(t->net->arena, u->tuples ? u->tuples : 1, sizeof *table);
  if (!table) return tsr_err_nomem(t->err);
  for (uint64_t i = 0; i < u->tuples; i++) {
    table[i] = batch_of(u, i);
    for (unsigned k = 0; k < u->q; k++) {
      int64_t v = tsr_array_get_int(idx, i * u->q + k);
      table[i] += (v < 0 ? v + (int64_t)u->extent[k] : v) * (int64_t)u->stride[k];
    }
  }
  uint64_t dim[2] = {u->batch * u->slices, u->width}, to[2] = {u->tuples, u->width};
  struct tsr_view src = tsri_tr_view_as(t, n->in[0], 2, dim);
  struct tsr_view dst = tsri_tr_view_as(t, n->out[0], 2, to);
  src.dim[0] = src.n_table[0] = u->tuples;
  src.table[0] = table;
  return tsri_tr_copy(t, NULL, &src, &dst);
}

/* Index k of every tuple. */
static struct tsr_view nth_index(const struct tsri_tr *t, size_t idx, const struct tuples *u,
                                 unsigned k) {
  uint64_t dim[2] = {u->tuples, u->q};
  struct tsr_view v = tsri_tr_view_as(t, idx, 2, dim);
  v.dim[1] = 1;
  v.base[1] = k;
  return v;
}

static enum tsr_status gather_nd(struct tsri_tr *t, const struct tsr_net_node *n,
                                 const void *arg) {
  (void)arg;
  struct tuples u = tuples_of(t, n);
  if (u.tuples == 0 || u.width == 0) return TSR_OK;
  const struct tsr_array *idx = tsri_tr_constant(t, n->in[1]);
  if (idx) return nd_constant(t, n, &u, idx);
  size_t at = n->in[1];
  bool several = u.q > 1 || u.batch > 1;
  enum tsr_status s = several ? tuples_from_start(t, &u, &at) : TSR_OK;
  const size_t index = at;
  for (unsigned k = 0; !s && k < u.q && several; k++) {
    struct tsr_view v = nth_index(t, index, &u, k);
    size_t one = SIZE_MAX;
    s = places(t, &v, (double)u.stride[k], 1, &u.tuples, &one);
    if (!s && k) s = add_offsets(t, at, &one);
    at = one;
  }
  if (!s && u.batch > 1) {
    size_t offsets = SIZE_MAX;
    struct tsr_array *a = NULL;
    s = tsri_tr_const(t, "offsets", TSR_DTYPE_I32, 1, &u.tuples, &offsets, &a);
    for (uint64_t i = 0; !s && i < u.tuples; i++) a->i[i] = batch_of(&u, i);
    if (!s) s = add_offsets(t, offsets, &at);
  }
  return s ? s
           : gather_rows(t, NULL, n->in[0], u.batch * u.slices, u.width, at, u.tuples,
                         n->out[0]);
}

/* ---- made of indices ---- */

static enum tsr_status one_hot(struct tsri_tr *t, const struct tsr_net_node *n,
                               const void *arg) {
  (void)arg;
  struct tsri_tr_shape i = tsri_tr_shape_of(t, n->in[0]), o = tsri_tr_shape_of(t, n->out[0]);
  const struct tsr_array *off_on = tsri_tr_constant(t, n->in[2]);
  if (!off_on) return tsri_tr_refuse(t, n, "its two values are known only when it runs");
  unsigned axis = tsri_tr_axis(n, "axis", -1, o.rank);
  uint64_t at[TSR_RANK_MAX], along[TSR_RANK_MAX];
  for (unsigned d = 0; d < o.rank; d++) {
    at[d] = d == axis ? 1 : o.dim[d];
    along[d] = d == axis ? o.dim[d] : 1;
  }
  size_t x = SIZE_MAX, numbers = SIZE_MAX, hit = SIZE_MAX;
  struct tsr_array *a = NULL;
  enum tsr_status s = tsri_tr_reshaped(t, n->in[0], o.rank, at, &x);
  if (!s) s = from_start(t, x, o.dim[axis], &x);
  if (!s) s = tsri_tr_const(t, "numbers", i.type, o.rank, along, &numbers, &a);
  for (uint64_t k = 0; !s && k < a->n; k++) tsr_array_set(a, k, (double)k);
  if (!s) s = tsri_tr_temp(t, "hit", TSR_DTYPE_BOOL, o.rank, o.dim, &hit);
  if (!s) s = tsri_tr_binary(t, "hit", TSR_OP_EQUAL, x, numbers, hit);
  double off = tsr_array_get(off_on, 0), on = tsr_array_get(off_on, 1);
  struct tsr_op_attr line = {.alpha = on - off, .beta = off};
  return s ? s : tsri_tr_unary(t, NULL, TSR_OP_AFFINE, &line, hit, n->out[0]);
}

static enum tsr_status eye_like(struct tsri_tr *t, const struct tsr_net_node *n,
                                const void *arg) {
  (void)arg;
  struct tsri_tr_shape o = tsri_tr_shape_of(t, n->out[0]);
  int64_t k = tsr_net_attr_int(n, "k", 0);
  struct tsr_array *a = NULL;
  size_t eye = SIZE_MAX;
  enum tsr_status s = tsri_tr_const(t, "eye", o.type, 2, o.dim, &eye, &a);
  if (s) return s;
  for (uint64_t i = 0; i < a->n; i++)
    if ((int64_t)(i % o.dim[1]) - (int64_t)(i / o.dim[1]) == k) tsr_array_set(a, i, 1);
  return tsri_tr_alias(t, eye, n->out[0]);
}

/* Operators whose results are constants of a net, or have a shape that data decide. */
static enum tsr_status by_data(struct tsri_tr *t, const struct tsr_net_node *n,
                               const void *arg) {
  return tsri_tr_refuse(t, n, "%s", (const char *)arg);
}

static const char shape_by_data[] = "the shape of its result is known only when it runs";

const struct tsri_tr_row tsri_tr_index_rows[] = {
    {"Gather", gather, NULL},
    {"GatherElements", gather_elements, NULL},
    {"GatherND", gather_nd, NULL},
    {"OneHot", one_hot, NULL},
    {"EyeLike", eye_like, NULL},
    {"NonZero", by_data, shape_by_data},
    {"Shape", by_data, shape_by_data},
    {"Size", by_data, shape_by_data},
    {"Constant", by_data, shape_by_data},
    {"ConstantOfShape", by_data, shape_by_data},
    {"Range", by_data, shape_by_data},
    {NULL, NULL, NULL},
};
