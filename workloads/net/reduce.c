/* Reductions over axes, arguments of extremes, running sums, the k largest
 * (SRC:onnx_operators).
 *
 * Sums of floats run in row-major order in double precision.  Integers are exact modulo their
 * width; what is no integer (a mean, a root, a logarithm) is truncated towards 0. */
#include <math.h>
#include <string.h>

#include "kernels/ref/vector.h"
#include "workloads/net/operand_int.h"

/* ---- Reduce… ---- */

/* Elements of x that make one of the result, seen from its first one. */
struct row {
  const size_t *at;
  size_t n;
};

static double sum_of(const double *x, struct row r) {
  double sum = 0;
  for (size_t i = 0; i < r.n; i++) sum += x[r.at[i]];
  return sum;
}

static double mean_of(const double *x, struct row r) {
  return sum_of(x, r) / (double)r.n;
}

static double max_of(const double *x, struct row r) {
  double most = -INFINITY;
  for (size_t i = 0; i < r.n; i++)
    if (x[r.at[i]] > most || isnan(x[r.at[i]])) most = x[r.at[i]];
  return most;
}

static double min_of(const double *x, struct row r) {
  double least = INFINITY;
  for (size_t i = 0; i < r.n; i++)
    if (x[r.at[i]] < least || isnan(x[r.at[i]])) least = x[r.at[i]];
  return least;
}

static double prod_of(const double *x, struct row r) {
  double p = 1;
  for (size_t i = 0; i < r.n; i++) p *= x[r.at[i]];
  return p;
}

static double l1_of(const double *x, struct row r) {
  double sum = 0;
  for (size_t i = 0; i < r.n; i++) sum += fabs(x[r.at[i]]);
  return sum;
}

static double sum_square_of(const double *x, struct row r) {
  double sum = 0;
  for (size_t i = 0; i < r.n; i++) sum += x[r.at[i]] * x[r.at[i]];
  return sum;
}

static double l2_of(const double *x, struct row r) {
  return sqrt(sum_square_of(x, r));
}

static double log_sum_of(const double *x, struct row r) {
  return tsr_ref_log(sum_of(x, r));
}

/* The largest is taken out, so that no exponential overflows. */
static double log_sum_exp_of(const double *x, struct row r) {
  double most = max_of(x, r), sum = 0;
  if (!isfinite(most)) return most;
  for (size_t i = 0; i < r.n; i++) sum += tsr_ref_exp(x[r.at[i]] - most);
  return most + tsr_ref_log(sum);
}

static uint64_t int_sum(enum tsr_dtype t, const int64_t *x, struct row r) {
  (void)t;
  uint64_t sum = 0;
  for (size_t i = 0; i < r.n; i++) sum += (uint64_t)x[r.at[i]];
  return sum;
}

static uint64_t int_l1(enum tsr_dtype t, const int64_t *x, struct row r) {
  uint64_t sum = 0;
  for (size_t i = 0; i < r.n; i++) {
    uint64_t v = (uint64_t)x[r.at[i]];
    sum += x[r.at[i]] < 0 && t != TSR_DTYPE_U64 ? 0 - v : v;
  }
  return sum;
}

static uint64_t int_prod(enum tsr_dtype t, const int64_t *x, struct row r) {
  (void)t;
  uint64_t p = 1;
  for (size_t i = 0; i < r.n; i++) p *= (uint64_t)x[r.at[i]];
  return p;
}

static uint64_t int_sum_square(enum tsr_dtype t, const int64_t *x, struct row r) {
  (void)t;
  uint64_t sum = 0;
  for (size_t i = 0; i < r.n; i++) sum += (uint64_t)x[r.at[i]] * (uint64_t)x[r.at[i]];
  return sum;
}

/* Of nothing: the least value that the type holds. */
static uint64_t int_max(enum tsr_dtype t, const int64_t *x, struct row r) {
  unsigned bits = tsr_dtype_bytes(t) * 8;
  bool is_signed =
      t == TSR_DTYPE_I8 || t == TSR_DTYPE_I16 || t == TSR_DTYPE_I32 || t == TSR_DTYPE_I64;
  int64_t most = is_signed ? (int64_t)(UINT64_MAX << (bits - 1)) : 0;
  for (size_t i = 0; i < r.n; i++)
    if (i == 0 || tsri_order_key(t, x[r.at[i]]) > tsri_order_key(t, most)) most = x[r.at[i]];
  return (uint64_t)most;
}

static uint64_t int_min(enum tsr_dtype t, const int64_t *x, struct row r) {
  uint64_t least = ~int_max(t, x, (struct row){r.at, 0});
  for (size_t i = 0; i < r.n; i++)
    if (i == 0 || tsri_order_key(t, x[r.at[i]]) < tsri_order_key(t, (int64_t)least))
      least = (uint64_t)x[r.at[i]];
  return least;
}

typedef double float_fn(const double *x, struct row r);
typedef uint64_t int_fn(enum tsr_dtype t, const int64_t *x, struct row r);

/* What an operator does to floats, and to integers where that is exact. */
static const struct reduction {
  enum tsr_net_op op;
  float_fn *f;
  int_fn *i;
} reductions[] = {
    {TSR_NET_REDUCE_SUM, sum_of, int_sum},
    {TSR_NET_REDUCE_MEAN, mean_of, NULL},
    {TSR_NET_REDUCE_MAX, max_of, int_max},
    {TSR_NET_REDUCE_MIN, min_of, int_min},
    {TSR_NET_REDUCE_PROD, prod_of, int_prod},
    {TSR_NET_REDUCE_L1, l1_of, int_l1},
    {TSR_NET_REDUCE_L2, l2_of, NULL},
    {TSR_NET_REDUCE_LOG_SUM, log_sum_of, NULL},
    {TSR_NET_REDUCE_LOG_SUM_EXP, log_sum_exp_of, NULL},
    {TSR_NET_REDUCE_SUM_SQUARE, sum_square_of, int_sum_square},
};

static const struct reduction *reduction_of(enum tsr_net_op op) {
  size_t n = sizeof reductions / sizeof *reductions;
  for (size_t i = 0; i < n; i++)
    if (reductions[i].op == op) return &reductions[i];
  return NULL;
}

/* The axes that go: all where none is named, none where the node says so. */
static enum tsr_status reduced(const struct tsri_infer *c, bool axes[TSR_RANK_MAX]) {
  bool given, any = false;
  unsigned rank = tsri_in(c, 0)->rank;
  enum tsr_status s = tsri_net_axes(c, "axes", 1, rank, axes, &given);
  if (s != TSR_OK) return s;
  for (unsigned d = 0; d < rank; d++) any = any || axes[d];
  bool none = tsr_net_attr_int(c->node, "noop_with_empty_axes", 0) != 0;
  for (unsigned d = 0; !any && !none && d < rank; d++) axes[d] = true;
  return s;
}

enum tsr_status tsri_infer_reduce(struct tsri_infer *c) {
  bool axes[TSR_RANK_MAX];
  enum tsr_net_op op = c->node->op;
  bool extreme = op == TSR_NET_REDUCE_MAX || op == TSR_NET_REDUCE_MIN;
  const struct tsr_net_value *x = tsri_in(c, 0);
  bool truth = extreme && x->type == TSR_DTYPE_BOOL; /* from opset 20 on */
  enum tsr_status s = truth ? TSR_OK : tsri_want_number(c, 0);
  if (s == TSR_OK) s = reduced(c, axes);
  if (s != TSR_OK) return s;
  bool keep = tsr_net_attr_int(c->node, "keepdims", 1) != 0;
  uint64_t dim[TSR_RANK_MAX];
  unsigned rank = 0;
  for (unsigned d = 0; d < x->rank; d++)
    if (!axes[d] || keep) dim[rank++] = axes[d] ? 1 : x->dim[d];
  return tsri_set(c, 0, x->type, rank, dim);
}

/* Offsets of the elements along the axes where flag is `which`; *n of them, NULL: no memory. */
static size_t *places(const struct tsr_array *x, const bool *axes, bool which, size_t *n) {
  uint64_t stride[TSR_RANK_MAX], count = 1;
  tsri_strides(x->rank, x->dim, stride);
  for (unsigned d = 0; d < x->rank; d++)
    if (axes[d] == which) count *= x->dim[d];
  size_t *list = tsr_mem_array(count, sizeof *list);
  *n = count;
  for (size_t i = 0; list && i < count; i++) {
    size_t left = i;
    for (unsigned d = x->rank; d-- > 0;)
      if (axes[d] == which) {
        list[i] += left % x->dim[d] * stride[d];
        left /= x->dim[d];
      }
  }
  return list;
}

static void reduce(const struct reduction *r, const struct tsr_array *x, size_t from,
                   struct row row, struct tsr_array *y, size_t to) {
  if (x->f)
    y->f[to] = r->f(x->f + from, row);
  else
    y->i[to] = tsr_dtype_wrap(y->type, (int64_t)r->i(x->type, x->i + from, row));
}

/* Integers whose result is none: by way of doubles, `row` of them in `work`. */
static void reduce_truncated(const struct reduction *r, const struct tsr_array *x, size_t from,
                             struct row row, double *work, const size_t *order,
                             struct tsr_array *y, size_t to) {
  for (size_t i = 0; i < row.n; i++) work[i] = tsr_array_get(x, from + row.at[i]);
  double v = trunc(r->f(work, (struct row){order, row.n}));
  bool fits = v > -0x1p63 && v < 0x1p63;
  y->i[to] = fits ? tsr_dtype_wrap(y->type, (int64_t)v) : 0;
}

enum tsr_status tsri_eval_reduce(struct tsri_eval *c) {
  bool axes[TSR_RANK_MAX];
  struct tsr_array *y = tsri_result(c, 0);
  const struct tsr_array *x = tsri_arg(c, 0);
  enum tsr_status s = reduced(c->shape, axes);
  if (s != TSR_OK || !y) return s;
  bool any = x->rank == 0 || !tsr_net_attr_int(c->node, "noop_with_empty_axes", 0);
  for (unsigned d = 0; d < x->rank; d++) any = any || axes[d];
  for (uint64_t i = 0; !any && i < x->n; i++) { /* told to do nothing, it does nothing */
    if (y->f) y->f[i] = x->f[i];
    if (y->i) y->i[i] = x->i[i];
  }
  if (!any) return TSR_OK;
  const struct reduction *r = reduction_of(c->node->op);
  struct row row;
  size_t n;
  size_t *in = places(x, axes, true, &row.n), *out = places(x, axes, false, &n);
  bool truncated = x->i && !r->i;
  double *work = truncated ? tsri_doubles(row.n) : NULL;
  size_t *order = truncated ? tsr_mem_array(row.n, sizeof *order) : NULL;
  bool ok = in && out && (!truncated || (work && order));
  row.at = in;
  for (size_t i = 0; ok && truncated && i < row.n; i++) order[i] = i;
  for (size_t o = 0; ok && o < n; o++)
    if (truncated)
      reduce_truncated(r, x, out[o], row, work, order, y, o);
    else
      reduce(r, x, out[o], row, y, o);
  tsr_mem_free(in);
  tsr_mem_free(out);
  tsr_mem_free(work);
  tsr_mem_free(order);
  return ok ? s : tsr_err_nomem(c->err);
}

/* ---- one axis ---- */

/* An array as [outer][n][inner]. */
struct along {
  uint64_t outer, n, inner;
};

static struct along along_of(unsigned rank, const uint64_t *dim, unsigned axis) {
  return (struct along){tsri_count(dim, 0, axis), rank ? dim[axis] : 1,
                        tsri_count(dim, axis + 1, rank)};
}

/* a stands before b: larger (or smaller) than it; NaN is the largest of all. */
static bool before(const struct tsr_array *x, bool largest, uint64_t a, uint64_t b) {
  if (x->f) {
    double p = x->f[a], q = x->f[b];
    if (isnan(p) || isnan(q)) return largest ? isnan(p) && !isnan(q) : isnan(q) && !isnan(p);
    return largest ? p > q : p < q;
  }
  int64_t p = tsri_order_key(x->type, x->i[a]), q = tsri_order_key(x->type, x->i[b]);
  return largest ? p > q : p < q;
}

/* ---- ArgMax, ArgMin ---- */

enum tsr_status tsri_infer_arg_reduce(struct tsri_infer *c) {
  unsigned axis;
  enum tsr_status s = tsri_want_number(c, 0);
  if (s == TSR_OK) s = tsri_want_rank_from(c, 0, 1);
  const struct tsr_net_value *x = tsri_in(c, 0);
  if (s == TSR_OK) s = tsri_axis(c, "axis", 0, x->rank, &axis);
  if (s != TSR_OK) return s;
  if (!x->dim[axis])
    return tsri_fail(c->net, c->node, c->err,
                     "axis %u has no elements; expected at least 1, got %s", axis,
                     tsri_net_shape_text(x->rank, x->dim).s);
  bool keep = tsr_net_attr_int(c->node, "keepdims", 1) != 0;
  uint64_t dim[TSR_RANK_MAX];
  unsigned rank = 0;
  for (unsigned d = 0; d < x->rank; d++)
    if (d != axis || keep) dim[rank++] = d == axis ? 1 : x->dim[d];
  return tsri_set(c, 0, TSR_DTYPE_I64, rank, dim);
}

enum tsr_status tsri_eval_arg_reduce(struct tsri_eval *c) {
  unsigned axis;
  const struct tsr_array *x = tsri_arg(c, 0);
  struct tsr_array *y = tsri_result(c, 0);
  enum tsr_status s = tsri_axis(c->shape, "axis", 0, x->rank, &axis);
  if (s != TSR_OK || !y) return s;
  struct along a = along_of(x->rank, x->dim, axis);
  bool last = tsr_net_attr_int(c->node, "select_last_index", 0) != 0;
  bool max = c->node->op == TSR_NET_ARG_MAX;
  for (uint64_t o = 0; o < a.outer * a.inner; o++) {
    uint64_t base = o / a.inner * a.n * a.inner + o % a.inner, best = 0;
    for (uint64_t i = 1; i < a.n; i++) {
      uint64_t p = base + i * a.inner, q = base + best * a.inner;
      bool nan = x->f && isnan(x->f[p]); /* numpy: the first NaN is the extreme of both */
      if (x->f && isnan(x->f[q]) && !(nan && last)) continue;
      if (nan || before(x, max, p, q) || (last && !before(x, max, q, p))) best = i;
    }
    y->i[o] = (int64_t)best;
  }
  return s;
}

/* ---- TopK ---- */

static enum tsr_status topk_of(const struct tsri_infer *c, unsigned *axis, uint64_t *k) {
  int64_t list = 0;
  size_t n;
  bool given;
  const struct tsr_net_value *x = tsri_in(c, 0);
  enum tsr_status s = tsri_want_rank_from(c, 0, 1);
  if (s == TSR_OK) s = tsri_axis(c, "axis", -1, x->rank, axis);
  if (s == TSR_OK) s = tsri_ints(c, "k", 1, &list, 1, &n, &given);
  if (s != TSR_OK) return s;
  bool fits = given && n == 1 && list >= 0 && (uint64_t)list <= x->dim[*axis];
  *k = (uint64_t)list;
  if (fits) return TSR_OK;
  if (!given) return tsri_fail(c->net, c->node, c->err, "k is missing; expected one integer");
  return tsri_fail(c->net, c->node, c->err,
                   "k is out of range; expected 0 to %llu elements of axis %u, got '%lld'",
                   (unsigned long long)x->dim[*axis], *axis, (long long)list);
}

enum tsr_status tsri_infer_topk(struct tsri_infer *c) {
  unsigned axis;
  uint64_t k, dim[TSR_RANK_MAX];
  enum tsr_status s = tsri_want_number(c, 0);
  if (s == TSR_OK) s = topk_of(c, &axis, &k);
  if (s != TSR_OK) return s;
  const struct tsr_net_value *x = tsri_in(c, 0);
  memcpy(dim, x->dim, sizeof dim);
  dim[axis] = k;
  s = tsri_set(c, 0, x->type, x->rank, dim);
  return s == TSR_OK ? tsri_set(c, 1, TSR_DTYPE_I64, x->rank, dim) : s;
}

/* Sorts list[0..n) by `before`, of equals the lower first: merging, with room for n in work. */
static void sort(const struct tsr_array *x, bool largest, uint64_t *list, uint64_t *work,
                 uint64_t n) {
  for (uint64_t width = 1; width < n; width *= 2) {
    for (uint64_t lo = 0; lo < n; lo += 2 * width) {
      uint64_t mid = tsr_min_u64(lo + width, n), hi = tsr_min_u64(lo + 2 * width, n);
      uint64_t a = lo, b = mid;
      for (uint64_t o = lo; o < hi; o++) {
        bool second = a == mid || (b < hi && before(x, largest, list[b], list[a]));
        work[o] = second ? list[b++] : list[a++];
      }
    }
    memcpy(list, work, n * sizeof *list);
  }
}

/* The order is sorted for sorted=0 too, where any would do. */
enum tsr_status tsri_eval_topk(struct tsri_eval *c) {
  unsigned axis;
  uint64_t k;
  const struct tsr_array *x = tsri_arg(c, 0);
  struct tsr_array *value = tsri_result(c, 0), *index = tsri_result(c, 1);
  enum tsr_status s = topk_of(c->shape, &axis, &k);
  if (s != TSR_OK) return s;
  struct along a = along_of(x->rank, x->dim, axis);
  bool largest = tsr_net_attr_int(c->node, "largest", 1) != 0;
  uint64_t *list = tsr_mem_array(a.n, sizeof *list), *work = tsr_mem_array(a.n, sizeof *work);
  bool ok = list && work;
  for (uint64_t o = 0; ok && o < a.outer * a.inner; o++) {
    uint64_t base = o / a.inner * a.n * a.inner + o % a.inner;
    uint64_t to = o / a.inner * k * a.inner + o % a.inner;
    for (uint64_t i = 0; i < a.n; i++) list[i] = base + i * a.inner;
    sort(x, largest, list, work, a.n);
    for (uint64_t i = 0; i < k; i++, to += a.inner) {
      if (value && x->f) value->f[to] = x->f[list[i]];
      if (value && x->i) value->i[to] = x->i[list[i]];
      if (index) index->i[to] = (int64_t)((list[i] - base) / a.inner);
    }
  }
  tsr_mem_free(list);
  tsr_mem_free(work);
  return ok ? s : tsr_err_nomem(c->err);
}

/* ---- CumSum ---- */

enum tsr_status tsri_infer_cum_sum(struct tsri_infer *c) {
  enum tsr_status s = tsri_want_number(c, 0);
  if (s == TSR_OK) s = tsri_want_rank_from(c, 0, 1);
  if (s == TSR_OK) s = tsri_want_int(c, 1);
  if (s == TSR_OK && tsri_in(c, 1)->rank) s = tsri_want_list(c, 1, "the axis", 1);
  return s == TSR_OK ? tsri_set_like(c, 0, 0) : s;
}

enum tsr_status tsri_eval_cum_sum(struct tsri_eval *c) {
  const struct tsr_array *x = tsri_arg(c, 0);
  struct tsr_array *y = tsri_result(c, 0);
  unsigned axis;
  int64_t given = tsr_array_get_int(tsri_arg(c, 1), 0);
  if (!tsr_net_axis(given, x->rank, &axis))
    return tsri_fail(c->net, c->node, c->err,
                     "the axis is out of range; expected %d to %u, got '%lld'", -(int)x->rank,
                     x->rank - 1, (long long)given);
  struct along a = along_of(x->rank, x->dim, axis);
  bool exclusive = tsr_net_attr_int(c->node, "exclusive", 0) != 0;
  bool reverse = tsr_net_attr_int(c->node, "reverse", 0) != 0;
  for (uint64_t o = 0; y && o < a.outer * a.inner; o++) {
    uint64_t base = o / a.inner * a.n * a.inner + o % a.inner, whole = 0;
    double sum = 0;
    for (uint64_t i = 0; i < a.n; i++) {
      uint64_t at = base + (reverse ? a.n - 1 - i : i) * a.inner;
      double next = x->f ? sum + x->f[at] : 0;
      uint64_t next_whole = x->i ? whole + (uint64_t)x->i[at] : 0;
      if (x->f)
        y->f[at] = exclusive ? sum : next;
      else
        y->i[at] = tsr_dtype_wrap(y->type, (int64_t)(exclusive ? whole : next_whole));
      sum = next;
      whole = next_whole;
    }
  }
  return TSR_OK;
}
