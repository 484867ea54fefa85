/* Reductions along axes: they become the last ones, and rows are reduced. */
#include <string.h>

#include "workloads/translate/translate_int.h"

/* Rows of a node's input: the axes reduced stand last. */
struct rows {
  size_t x; /* the input, permuted where that is needed */
  enum tsr_dtype type;
  uint64_t m, n;
};

static enum tsr_status rows_of(struct tsri_tr *t, size_t value,
                               const bool reduced[TSR_RANK_MAX], struct rows *out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, value);
  struct rows r = {.x = value, .type = s.type, .m = 1, .n = 1};
  unsigned perm[TSR_RANK_MAX], at = 0;
  for (unsigned last = 0; last < 2; last++)
    for (unsigned d = 0; d < s.rank; d++)
      if (reduced[d] == (last == 1)) {
        perm[at++] = d;
        *(last ? &r.n : &r.m) *= s.dim[d];
      }
  enum tsr_status st = tsri_tr_permute(t, "axes_last", value, perm, &r.x);
  if (!st) *out = r;
  return st;
}

/* Values in between: one of a row each, or as large as the rows. */
static enum tsr_status temp_m(struct tsri_tr *t, const char *what, const struct rows *r,
                              size_t *out) {
  uint64_t dim[2] = {r->m, 1};
  return tsri_tr_temp(t, what, r->type, 2, dim, out);
}
static enum tsr_status temp_mn(struct tsri_tr *t, const char *what, const struct rows *r,
                               size_t *out) {
  uint64_t dim[2] = {r->m, r->n};
  return tsri_tr_temp(t, what, r->type, 2, dim, out);
}

/* What a reduction is made of: an operator before each row, the row, one behind. */
struct recipe {
  enum tsr_op_kind row;
  bool before, behind;
  enum tsr_op_kind first, then;
};

static enum tsr_status by_recipe(struct tsri_tr *t, const struct recipe *p,
                                 const struct rows *r, size_t out) {
  size_t x = r->x, y = out;
  enum tsr_status s = TSR_OK;
  if (p->before) {
    s = temp_mn(t, tsr_op_kind_name(p->first), r, &x);
    if (!s) s = tsri_tr_unary(t, tsr_op_kind_name(p->first), p->first, NULL, r->x, x);
  }
  if (!s && p->behind) s = temp_m(t, tsr_op_kind_name(p->row), r, &y);
  if (!s)
    s = tsri_tr_rows(t, p->before || p->behind ? tsr_op_kind_name(p->row) : NULL, p->row, 0,
                     r->m, r->n, x, y);
  if (s || !p->behind) return s;
  return tsri_tr_unary(t, tsr_op_kind_name(p->then), p->then, NULL, y, out);
}

/* log of the sum of e^x, the maximum taken off first. */
static enum tsr_status log_sum_exp(struct tsri_tr *t, const struct rows *r, size_t out) {
  size_t most = SIZE_MAX, off = SIZE_MAX, e = SIZE_MAX, sum = SIZE_MAX, log = SIZE_MAX;
  uint64_t dim[2] = {r->m, r->n};
  size_t x = SIZE_MAX;
  enum tsr_status s = tsri_tr_reshaped(t, r->x, 2, dim, &x);
  if (!s) s = temp_m(t, "max", r, &most);
  if (!s) s = temp_mn(t, "less_max", r, &off);
  if (!s) s = temp_mn(t, "exp", r, &e);
  if (!s) s = temp_m(t, "sum", r, &sum);
  if (!s) s = temp_m(t, "log", r, &log);
  if (!s) s = tsri_tr_rows(t, "max", TSR_OP_ROWMAX, 0, r->m, r->n, x, most);
  if (!s) s = tsri_tr_binary(t, "less_max", TSR_OP_SUB, x, most, off);
  if (!s) s = tsri_tr_unary(t, "exp", TSR_OP_EXP, NULL, off, e);
  if (!s) s = tsri_tr_rows(t, "sum", TSR_OP_ROWSUM, 0, r->m, r->n, e, sum);
  if (!s) s = tsri_tr_unary(t, "log", TSR_OP_LOG, NULL, sum, log);
  size_t y = SIZE_MAX;
  if (!s) s = temp_m(t, "whole", r, &y);
  if (!s) s = tsri_tr_binary(t, "whole", TSR_OP_ADD, log, most, y);
  return s ? s : tsri_tr_alias(t, y, out);
}

static enum tsr_status reduce(struct tsri_tr *t, const struct tsr_net_node *n,
                              const void *arg) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, n->in[0]);
  int64_t axes[TSR_RANK_MAX];
  size_t n_axes;
  bool given, reduced[TSR_RANK_MAX] = {false};
  enum tsr_status st = tsri_tr_ints(t, n, "axes", 1, axes, TSR_RANK_MAX, &n_axes, &given);
  if (st) return st;
  bool all = n_axes == 0 && !tsr_net_attr_int(n, "noop_with_empty_axes", 0);
  for (unsigned d = 0; d < s.rank; d++) reduced[d] = all;
  for (size_t i = 0; i < n_axes; i++) {
    unsigned d;
    if (tsr_net_axis(axes[i], s.rank, &d)) reduced[d] = true;
  }
  if (n_axes == 0 && !all) return tsri_tr_alias(t, n->in[0], n->out[0]);
  struct rows r;
  st = rows_of(t, n->in[0], reduced, &r);
  if (st) return st;
  if (r.n == 0) return tsri_tr_refuse(t, n, "it reduces an axis without elements");
  return arg ? by_recipe(t, arg, &r, n->out[0]) : log_sum_exp(t, &r, n->out[0]);
}

/* ---- one axis ---- */

static enum tsr_status axis_rows(struct tsri_tr *t, size_t value, unsigned axis,
                                 struct rows *r) {
  bool reduced[TSR_RANK_MAX] = {false};
  reduced[axis] = true;
  return rows_of(t, value, reduced, r);
}

/* A value with the axis last, to be put back into `out`: `out` itself where it is last there.
 */
static enum tsr_status axis_last(struct tsri_tr *t, size_t out, unsigned axis, size_t *to) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, out);
  uint64_t dim[TSR_RANK_MAX] = {0}, behind = 1;
  unsigned at = 0;
  for (unsigned d = 0; d < s.rank; d++)
    if (d != axis) dim[at++] = s.dim[d];
  for (unsigned d = axis + 1; d < s.rank; d++) behind *= s.dim[d];
  *to = out;
  if (behind == 1) return TSR_OK;
  dim[at] = s.dim[axis];
  return tsri_tr_temp(t, "axis_last", s.type, s.rank, dim, to);
}

static enum tsr_status put_back(struct tsri_tr *t, size_t from, size_t out, unsigned axis) {
  if (from == out) return TSR_OK;
  unsigned perm[TSR_RANK_MAX], rank = tsri_tr_shape_of(t, out).rank;
  for (unsigned d = 0; d < rank; d++) perm[d] = d < axis ? d : d == axis ? rank - 1 : d - 1;
  return tsri_tr_permute_to(t, "axis_back", from, perm, out);
}

/* The k largest of each row of x, and their columns. */
static enum tsr_status topk_rows(struct tsri_tr *t, const struct rows *r, size_t x, uint64_t k,
                                 size_t values, size_t columns) {
  struct tsri_tr_item it = tsri_tr_item(TSR_OP_TOPK, r->m, r->n, k, 1);
  struct tsr_view a = tsri_tr_view_flat(t, x), v = tsri_tr_view_flat(t, values);
  enum tsr_status s = tsri_tr_bind(t, &it.bind.a, &a);
  tsri_tr_bind_out(&it, &v);
  if (columns != SIZE_MAX) {
    it.bind.out2 = tsri_tr_view_flat(t, columns);
    it.bind.has_out2 = true;
  }
  return s ? s : tsri_tr_emit(t, "topk", &it);
}

static enum tsr_status negated(struct tsri_tr *t, const struct rows *r, size_t *x) {
  size_t neg = SIZE_MAX;
  enum tsr_status s = temp_mn(t, "neg", r, &neg);
  if (!s) s = tsri_tr_unary(t, "neg", TSR_OP_NEG, NULL, *x, neg);
  if (!s) *x = neg;
  return s;
}

/* Rows from their last column to the first. */
static enum tsr_status turned(struct tsri_tr *t, const struct rows *r, size_t *x) {
  size_t back = SIZE_MAX;
  uint64_t dim[2] = {r->m, r->n};
  struct tsr_view src = tsri_tr_view_as(t, *x, 2, dim);
  src.base[1] = (int64_t)r->n - 1;
  src.coef[1][1] = -1;
  enum tsr_status s = temp_mn(t, "turned", r, &back);
  if (s) return s;
  struct tsr_view dst = tsri_tr_view(t, back);
  s = tsri_tr_copy(t, "turned", &src, &dst);
  *x = back;
  return s;
}

static const char largest[] = "max";

static enum tsr_status arg_reduce(struct tsri_tr *t, const struct tsr_net_node *n,
                                  const void *arg) {
  unsigned axis = tsri_tr_axis(n, "axis", 0, tsri_tr_shape_of(t, n->in[0]).rank);
  bool last = tsr_net_attr_int(n, "select_last_index", 0) != 0;
  struct rows r;
  enum tsr_status s = axis_rows(t, n->in[0], axis, &r);
  size_t x = s ? SIZE_MAX : r.x, value = SIZE_MAX, column = n->out[0];
  if (!s && arg != largest) s = negated(t, &r, &x);
  if (!s && last) s = turned(t, &r, &x);
  if (!s) s = temp_m(t, "value", &r, &value);
  uint64_t m = s ? 0 : r.m;
  if (!s && last) s = tsri_tr_temp(t, "column", TSR_DTYPE_I64, 1, &m, &column);
  if (!s) s = topk_rows(t, &r, x, 1, value, column);
  if (s || !last) return s;
  struct tsr_op_attr from_end = {.alpha = -1, .beta = (double)(r.n - 1)};
  return tsri_tr_unary(t, "from_end", TSR_OP_AFFINE, &from_end, column, n->out[0]);
}

static enum tsr_status topk(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  (void)arg;
  struct tsri_tr_shape o = tsri_tr_shape_of(t, n->out[0] == SIZE_MAX ? n->out[1] : n->out[0]);
  unsigned axis = tsri_tr_axis(n, "axis", -1, o.rank);
  bool largest_first = tsr_net_attr_int(n, "largest", 1) != 0;
  struct rows r;
  enum tsr_status s = axis_rows(t, n->in[0], axis, &r);
  if (s || o.n == 0) return s;
  uint64_t k = o.dim[axis], dim[2] = {r.m, k};
  size_t x = r.x, values = SIZE_MAX, columns = SIZE_MAX, raw = SIZE_MAX;
  if (n->out[0] != SIZE_MAX)
    s = axis_last(t, n->out[0], axis, &values);
  else
    s = tsri_tr_temp(t, "values", r.type, 2, dim, &values);
  if (!s && tsri_tr_out(n, 1) != SIZE_MAX) s = axis_last(t, n->out[1], axis, &columns);
  raw = values;
  if (!s && !largest_first) s = negated(t, &r, &x);
  if (!s && !largest_first) s = tsri_tr_temp(t, "negative", r.type, 2, dim, &raw);
  if (!s) s = topk_rows(t, &r, x, k, raw, columns);
  if (!s && !largest_first) s = tsri_tr_unary(t, "values", TSR_OP_NEG, NULL, raw, values);
  if (!s && n->out[0] != SIZE_MAX) s = put_back(t, values, n->out[0], axis);
  if (!s && columns != SIZE_MAX) s = put_back(t, columns, n->out[1], axis);
  return s;
}

/* 1 at the first largest of each row. */
static enum tsr_status hot_rows(struct tsri_tr *t, const struct rows *r, size_t out) {
  uint64_t one[2] = {r->m, 1}, all[2] = {r->m, r->n}, row[2] = {1, r->n};
  size_t value = SIZE_MAX, column = SIZE_MAX, numbers = SIZE_MAX, hit = SIZE_MAX;
  struct tsr_array *a = NULL;
  enum tsr_status s = tsri_tr_temp(t, "value", r->type, 2, one, &value);
  if (!s) s = tsri_tr_temp(t, "column", TSR_DTYPE_I64, 2, one, &column);
  if (!s) s = tsri_tr_const(t, "numbers", TSR_DTYPE_I64, 2, row, &numbers, &a);
  for (uint64_t i = 0; !s && i < a->n; i++) tsr_array_set(a, i, (double)i);
  if (!s) s = tsri_tr_temp(t, "hit", TSR_DTYPE_BOOL, 2, all, &hit);
  if (!s) s = topk_rows(t, r, r->x, 1, value, column);
  if (!s) s = tsri_tr_binary(t, "hit", TSR_OP_EQUAL, numbers, column, hit);
  return s ? s : tsri_tr_unary(t, "float", TSR_OP_COPY, NULL, hit, out);
}

/* Softmax and its kin: along `axis`, or, before opset 13, over all axes from it on. */
static const enum tsr_op_kind soft = TSR_OP_SOFTMAX, log_soft = TSR_OP_LOG_SOFTMAX;

static enum tsr_status soft_rows(struct tsri_tr *t, const struct rows *r, const void *arg,
                                 bool alone, size_t out) {
  if (!arg) return hot_rows(t, r, out);
  enum tsr_op_kind kind = *(const enum tsr_op_kind *)arg;
  return tsri_tr_rows(t, alone ? NULL : tsr_op_kind_name(kind), kind, 0, r->m, r->n, r->x, out);
}

static enum tsr_status softmax(struct tsri_tr *t, const struct tsr_net_node *n,
                               const void *arg) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, n->in[0]);
  struct rows r = {.x = n->in[0], .type = s.type, .m = 1, .n = 1};
  if (t->net->opset < 13) {
    unsigned axis = tsri_tr_axis(n, "axis", 1, s.rank);
    for (unsigned d = 0; d < s.rank; d++) *(d < axis ? &r.m : &r.n) *= s.dim[d];
    return soft_rows(t, &r, arg, true, n->out[0]);
  }
  if (s.rank == 0) return soft_rows(t, &r, arg, true, n->out[0]);
  unsigned axis = tsri_tr_axis(n, "axis", -1, s.rank);
  size_t to = SIZE_MAX;
  enum tsr_status st = axis_rows(t, n->in[0], axis, &r);
  if (!st) st = axis_last(t, n->out[0], axis, &to);
  if (!st) st = soft_rows(t, &r, arg, to == n->out[0], to);
  return st ? st : put_back(t, to, n->out[0], axis);
}

/* ---- running sums: by doubling ---- */

/* x moved along an axis, towards its end where by > 0; 0 comes in. */
static enum tsr_status moved(struct tsri_tr *t, size_t x, unsigned axis, int64_t by,
                             size_t out) {
  struct tsr_view src = tsri_tr_view(t, x), dst = tsri_tr_view(t, out);
  src.base[axis] = -by;
  return tsri_tr_copy(t, "moved", &src, &dst);
}

static enum tsr_status cum_sum(struct tsri_tr *t, const struct tsr_net_node *n,
                               const void *arg) {
  (void)arg;
  int64_t given_axis = 0;
  size_t have;
  bool given;
  unsigned axis = 0;
  struct tsri_tr_shape s = tsri_tr_shape_of(t, n->in[0]);
  enum tsr_status st = tsri_tr_ints(t, n, NULL, 1, &given_axis, 1, &have, &given);
  if (st || s.n == 0) return st;
  if (!tsr_net_axis(given_axis, s.rank, &axis)) axis = 0;
  int64_t way = tsr_net_attr_int(n, "reverse", 0) ? -1 : 1;
  size_t x = n->in[0], shifted = SIZE_MAX;
  if (tsr_net_attr_int(n, "exclusive", 0)) {
    st = tsri_tr_temp(t, "moved", s.type, s.rank, s.dim, &shifted);
    if (!st) st = moved(t, x, axis, way, shifted);
    x = shifted;
  }
  /* Each element is the sum of the last `by` ones: add those before them. */
  for (uint64_t by = 1; !st && by < s.dim[axis]; by *= 2) {
    size_t sum = n->out[0];
    st = tsri_tr_temp(t, "moved", s.type, s.rank, s.dim, &shifted);
    if (!st && 2 * by < s.dim[axis]) st = tsri_tr_temp(t, "sum", s.type, s.rank, s.dim, &sum);
    if (!st) st = moved(t, x, axis, way * (int64_t)by, shifted);
    if (!st) st = tsri_tr_binary(t, "sum", TSR_OP_ADD, x, shifted, sum);
    x = sum;
  }
  return st || x == n->out[0] ? st : tsri_tr_alias(t, x, n->out[0]);
}

#define ROW(...) (&(const struct recipe){__VA_ARGS__})
const struct tsri_tr_row tsri_tr_reduce_rows[] = {
    {"ReduceSum", reduce, ROW(TSR_OP_ROWSUM, .before = false)},
    {"ReduceMean", reduce, ROW(TSR_OP_ROWMEAN, .before = false)},
    {"ReduceMax", reduce, ROW(TSR_OP_ROWMAX, .before = false)},
    {"ReduceMin", reduce, ROW(TSR_OP_ROWMIN, .before = false)},
    {"ReduceProd", reduce, ROW(TSR_OP_ROWPROD, .before = false)},
    {"ReduceSumSquare", reduce, ROW(TSR_OP_ROWSUMSQ, .before = false)},
    {"ReduceL1", reduce, ROW(TSR_OP_ROWSUM, .before = true, .first = TSR_OP_ABS)},
    {"ReduceL2", reduce, ROW(TSR_OP_ROWSUMSQ, .behind = true, .then = TSR_OP_SQRT)},
    {"ReduceLogSum", reduce, ROW(TSR_OP_ROWSUM, .behind = true, .then = TSR_OP_LOG)},
    {"ReduceLogSumExp", reduce, NULL},
    {"ArgMax", arg_reduce, largest},
    {"ArgMin", arg_reduce, NULL},
    {"TopK", topk, NULL},
    {"CumSum", cum_sum, NULL},
    {"Softmax", softmax, &soft},
    {"LogSoftmax", softmax, &log_soft},
    {"Hardmax", softmax, NULL},
    {NULL, NULL, NULL},
};
