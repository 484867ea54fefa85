/* Softmax and its kin, and normalisations by mean and variance (SRC:onnx_operators), in
 * inference: batch normalisation takes the statistics that it is given.
 *
 * Sums run in row-major order in double precision. */
#include <math.h>

#include "kernels/ref/vector.h"
#include "workloads/net/operand_int.h"

/* ---- Softmax, LogSoftmax, Hardmax ---- */

/* A row of n elements, `step` apart. */
struct strip {
  const double *x;
  double *y;
  uint64_t n, step;
};

static double largest(const struct strip *s, uint64_t *at) {
  double most = -INFINITY;
  *at = 0;
  for (uint64_t i = 0; i < s->n; i++) {
    double v = s->x[i * s->step];
    if (!(v > most) && !(isnan(v) && !isnan(most)) && i) continue;
    most = v;
    *at = i;
  }
  return most;
}

static void softmax(const struct strip *s) {
  uint64_t at;
  double most = largest(s, &at), sum = 0;
  for (uint64_t i = 0; i < s->n; i++)
    sum += s->y[i * s->step] = tsr_ref_exp(s->x[i * s->step] - most);
  for (uint64_t i = 0; i < s->n; i++) s->y[i * s->step] /= sum;
}

static void log_softmax(const struct strip *s) {
  uint64_t at;
  double most = largest(s, &at), sum = 0;
  for (uint64_t i = 0; i < s->n; i++) sum += tsr_ref_exp(s->x[i * s->step] - most);
  sum = tsr_ref_log(sum);
  for (uint64_t i = 0; i < s->n; i++) s->y[i * s->step] = s->x[i * s->step] - most - sum;
}

static void hardmax(const struct strip *s) {
  uint64_t at;
  if (!s->n) return;
  largest(s, &at);
  s->y[at * s->step] = 1;
}

/* Before opset 13 all dimensions from the axis on are one row. */
static enum tsr_status softmax_axis(const struct tsri_infer *c, unsigned *axis) {
  const struct tsr_net_value *x = tsri_in(c, 0);
  bool rows = c->net->opset < 13;
  if (rows && tsr_net_attr_int(c->node, "axis", 1) == x->rank) { /* rows of one element */
    *axis = x->rank;
    return TSR_OK;
  }
  if (!x->rank) {
    *axis = 0;
    return TSR_OK;
  }
  return tsri_axis(c, "axis", rows ? 1 : -1, x->rank, axis);
}

enum tsr_status tsri_infer_softmax(struct tsri_infer *c) {
  unsigned axis;
  enum tsr_status s = tsri_want_float(c, 0);
  if (s == TSR_OK) s = softmax_axis(c, &axis);
  return s == TSR_OK ? tsri_set_like(c, 0, 0) : s;
}

enum tsr_status tsri_eval_softmax(struct tsri_eval *c) {
  unsigned axis;
  const struct tsr_array *x = tsri_arg(c, 0);
  struct tsr_array *y = tsri_result(c, 0);
  enum tsr_status s = softmax_axis(c->shape, &axis);
  if (s != TSR_OK || !y) return s;
  bool rows = c->net->opset < 13 || !x->rank;
  uint64_t outer = tsri_count(x->dim, 0, axis);
  uint64_t n = rows ? tsri_count(x->dim, axis, x->rank) : x->dim[axis];
  uint64_t inner = rows ? 1 : tsri_count(x->dim, axis + 1, x->rank);
  for (uint64_t o = 0; o < outer * inner; o++) {
    uint64_t base = o / inner * n * inner + o % inner;
    struct strip strip = {x->f + base, y->f + base, n, inner};
    if (c->node->op == TSR_NET_SOFTMAX)
      softmax(&strip);
    else
      (c->node->op == TSR_NET_LOG_SOFTMAX ? log_softmax : hardmax)(&strip);
  }
  return s;
}

/* ---- BatchNormalization ---- */

static enum tsr_status want_inference(const struct tsri_infer *c) {
  bool old = c->net->opset < 7; /* there, training is what is not told to be a test */
  if (tsr_net_attr_int(c->node, "training_mode", 0))
    return tsri_fail(
        c->net, c->node, c->err,
        "training_mode=1 computes statistics of the batch; expected inference (0)");
  if (old && !tsr_net_attr_int(c->node, "is_test", 0))
    return tsri_fail(c->net, c->node, c->err,
                     "is_test=0 computes statistics of the batch; expected inference (1)");
  return TSR_OK;
}

enum tsr_status tsri_infer_batch_normalization(struct tsri_infer *c) {
  static const char *const what[] = {"x", "the scale", "the bias", "the mean", "the variance"};
  enum tsr_status s = want_inference(c);
  for (size_t i = 0; s == TSR_OK && i < 5; i++) {
    if (!tsri_in(c, i))
      return tsri_fail(c->net, c->node, c->err, "input %zu is left out; expected five", i);
    s = tsri_want_float(c, i);
  }
  if (s == TSR_OK) s = tsri_want_rank_from(c, 0, 1);
  if (s != TSR_OK) return s;
  const struct tsr_net_value *x = tsri_in(c, 0);
  /* spatial=0, up to opset 8: statistics of their own for every place of an image */
  bool spatial = tsr_net_attr_int(c->node, "spatial", 1) != 0;
  uint64_t one = 1;
  const uint64_t *dim = x->rank > 1 ? x->dim + 1 : &one; /* a list has one channel */
  unsigned rank = spatial || x->rank < 2 ? 1 : x->rank - 1;
  for (size_t i = 1; s == TSR_OK && i < 5; i++) s = tsri_want_shape(c, i, what[i], rank, dim);
  if (s == TSR_OK) s = tsri_set_like(c, 0, 0);
  for (size_t i = 1; s == TSR_OK && i < 5; i++) s = tsri_set_like(c, i, 3 + (i - 1) % 2);
  return s;
}

enum tsr_status tsri_eval_batch_normalization(struct tsri_eval *c) {
  const struct tsr_array *x = tsri_arg(c, 0), *scale = tsri_arg(c, 1), *bias = tsri_arg(c, 2);
  const struct tsr_array *mean = tsri_arg(c, 3), *var = tsri_arg(c, 4);
  struct tsr_array *y = tsri_result(c, 0);
  double eps = tsr_net_attr_float(c->node, "epsilon", 1e-5);
  uint64_t image = x->rank > 1 ? tsri_count(x->dim, 1, x->rank) : 1;
  uint64_t part = mean->n ? image / mean->n : 1;
  for (uint64_t i = 0; y && i < x->n; i++) {
    uint64_t k = i % image / part;
    y->f[i] = (x->f[i] - mean->f[k]) / sqrt(var->f[k] + eps) * scale->f[k] + bias->f[k];
  }
  /* old opsets: the statistics after the node, as they were before it */
  for (size_t o = 1; o < 5; o++) {
    struct tsr_array *same = tsri_result(c, o);
    for (uint64_t i = 0; same && i < same->n; i++) same->f[i] = (o % 2 ? mean : var)->f[i];
  }
  return TSR_OK;
}

/* ---- rows by their own mean and variance ---- */

struct moments {
  double mean, inv; /* 1 / sqrt(var + eps) */
};

static struct moments moments_of(const double *x, uint64_t n, double eps) {
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < n; i++) sum += x[i];
  double mean = sum / (double)n;
  for (uint64_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
  return (struct moments){mean, 1 / sqrt(squares / (double)n + eps)};
}

static void normalise(const double *x, uint64_t n, struct moments m, double *y) {
  for (uint64_t i = 0; i < n; i++) y[i] = (x[i] - m.mean) * m.inv;
}

/* y = y * scale + bias, both broadcast to y; bias may be NULL. */
static void affine(struct tsr_array *y, const struct tsr_array *scale,
                   const struct tsr_array *bias) {
  uint64_t stride[3][TSR_RANK_MAX];
  struct tsri_walk w;
  tsri_strides(y->rank, y->dim, stride[0]);
  tsri_strides_to(scale, y->rank, y->dim, stride[1]);
  tsri_strides_to(bias ? bias : scale, y->rank, y->dim, stride[2]);
  if (!tsri_net_walk_init(&w, y->rank, y->dim, 3, (const uint64_t(*)[TSR_RANK_MAX])stride))
    return;
  do {
    for (uint64_t i = 0; i < w.n_inner; i++) {
      double *v = y->f + w.at[0] + i * w.step[0];
      *v = *v * scale->f[w.at[1] + i * w.step[1]] +
           (bias ? bias->f[w.at[2] + i * w.step[2]] : 0);
    }
  } while (tsri_net_walk_next(&w));
}

/* Input i, when given, is broadcast to x. */
static enum tsr_status want_broadcast(const struct tsri_infer *c, size_t i, const char *what) {
  const struct tsr_net_value *x = tsri_in(c, 0), *v = tsri_in(c, i);
  if (!v) return TSR_OK;
  bool fits = v->rank <= x->rank;
  for (unsigned d = 0; fits && d < v->rank; d++)
    fits = v->dim[d] == 1 || v->dim[d] == x->dim[x->rank - v->rank + d];
  if (fits) return TSR_OK;
  return tsri_fail(c->net, c->node, c->err,
                   "wrong shape of %s; expected one that is broadcast to x %s, got %s", what,
                   tsri_net_shape_text(x->rank, x->dim).s,
                   tsri_net_shape_text(v->rank, v->dim).s);
}

static enum tsr_status infer_rows(struct tsri_infer *c, unsigned *axis) {
  enum tsr_status s = TSR_OK;
  for (size_t i = 0; s == TSR_OK && i < 3; i++) s = tsri_want_float(c, i);
  if (s == TSR_OK) s = tsri_want_rank_from(c, 0, 1);
  if (s == TSR_OK && !tsri_in(c, 1))
    s = tsri_fail(c->net, c->node, c->err, "the scale is left out");
  if (s == TSR_OK) s = want_broadcast(c, 1, "the scale");
  if (s == TSR_OK) s = want_broadcast(c, 2, "the bias");
  if (s == TSR_OK) s = tsri_axis(c, "axis", -1, tsri_in(c, 0)->rank, axis);
  return s == TSR_OK ? tsri_set_like(c, 0, 0) : s;
}

enum tsr_status tsri_infer_layer_normalization(struct tsri_infer *c) {
  unsigned axis;
  enum tsr_status s = infer_rows(c, &axis);
  if (s != TSR_OK) return s;
  int64_t stash = tsr_net_attr_int(c->node, "stash_type", TSR_DTYPE_F32);
  if (stash <= 0 || stash >= TSR_DTYPE_N_ || !tsr_dtype_is_float((enum tsr_dtype)stash))
    return tsri_fail(c->net, c->node, c->err,
                     "wrong stash_type; expected the number of a floating type, got '%lld'",
                     (long long)stash);
  const struct tsr_net_value *x = tsri_in(c, 0);
  uint64_t dim[TSR_RANK_MAX];
  for (unsigned d = 0; d < x->rank; d++) dim[d] = d < axis ? x->dim[d] : 1;
  s = tsri_set(c, 1, (enum tsr_dtype)stash, x->rank, dim);
  return s == TSR_OK ? tsri_set(c, 2, (enum tsr_dtype)stash, x->rank, dim) : s;
}

enum tsr_status tsri_eval_layer_normalization(struct tsri_eval *c) {
  unsigned axis;
  const struct tsr_array *x = tsri_arg(c, 0);
  struct tsr_array *y = tsri_result(c, 0), *mean = tsri_result(c, 1), *inv = tsri_result(c, 2);
  enum tsr_status s = tsri_axis(c->shape, "axis", -1, x->rank, &axis);
  if (s != TSR_OK) return s;
  double eps = tsr_net_attr_float(c->node, "epsilon", 1e-5);
  uint64_t rows = tsri_count(x->dim, 0, axis), n = tsri_count(x->dim, axis, x->rank);
  for (uint64_t r = 0; r < rows; r++) {
    struct moments m = moments_of(x->f + r * n, n, eps);
    if (y) normalise(x->f + r * n, n, m, y->f + r * n);
    if (mean) mean->f[r] = m.mean;
    if (inv) inv->f[r] = m.inv;
  }
  if (y) affine(y, tsri_arg(c, 1), tsri_arg(c, 2));
  return s;
}

enum tsr_status tsri_infer_rms_normalization(struct tsri_infer *c) {
  unsigned axis;
  return infer_rows(c, &axis);
}

enum tsr_status tsri_eval_rms_normalization(struct tsri_eval *c) {
  unsigned axis;
  const struct tsr_array *x = tsri_arg(c, 0);
  struct tsr_array *y = tsri_result(c, 0);
  enum tsr_status s = tsri_axis(c->shape, "axis", -1, x->rank, &axis);
  if (s != TSR_OK || !y) return s;
  double eps = tsr_net_attr_float(c->node, "epsilon", 1e-5);
  uint64_t rows = tsri_count(x->dim, 0, axis), n = tsri_count(x->dim, axis, x->rank);
  for (uint64_t r = 0; r < rows; r++) {
    const double *row = x->f + r * n;
    double squares = 0;
    for (uint64_t i = 0; i < n; i++) squares += row[i] * row[i];
    struct moments m = {0, 1 / sqrt(squares / (double)n + eps)};
    normalise(row, n, m, y->f + r * n);
  }
  affine(y, tsri_arg(c, 1), NULL);
  return s;
}

/* ---- channels of an image ---- */

/* Groups of channels; scale and bias hold a value for each of `values` parts of an image. */
static void image_rows(const struct tsri_eval *c, uint64_t groups) {
  const struct tsr_array *x = tsri_arg(c, 0), *scale = tsri_arg(c, 1), *bias = tsri_arg(c, 2);
  struct tsr_array *y = tsri_result(c, 0);
  double eps = tsr_net_attr_float(c->node, "epsilon", 1e-5);
  uint64_t image = tsri_count(x->dim, 1, x->rank), n = image / groups;
  uint64_t part = image / scale->n;
  for (uint64_t r = 0; r < x->dim[0] * groups && n; r++)
    normalise(x->f + r * n, n, moments_of(x->f + r * n, n, eps), y->f + r * n);
  for (uint64_t i = 0; i < y->n; i++) {
    uint64_t k = i % image / part;
    y->f[i] = y->f[i] * scale->f[k] + bias->f[k];
  }
}

static enum tsr_status infer_image(struct tsri_infer *c) {
  enum tsr_status s = TSR_OK;
  for (size_t i = 0; s == TSR_OK && i < 3; i++) {
    if (!tsri_in(c, i))
      return tsri_fail(c->net, c->node, c->err, "input %zu is left out; expected three", i);
    s = tsri_want_type_of(c, i, 0);
  }
  if (s == TSR_OK) s = tsri_want_float(c, 0);
  if (s == TSR_OK) s = tsri_want_rank_from(c, 0, 2);
  return s == TSR_OK ? tsri_set_like(c, 0, 0) : s;
}

enum tsr_status tsri_infer_instance_normalization(struct tsri_infer *c) {
  enum tsr_status s = infer_image(c);
  if (s == TSR_OK) s = tsri_want_list(c, 1, "the scale", tsri_in(c, 0)->dim[1]);
  return s == TSR_OK ? tsri_want_list(c, 2, "the bias", tsri_in(c, 0)->dim[1]) : s;
}

enum tsr_status tsri_eval_instance_normalization(struct tsri_eval *c) {
  const struct tsr_array *x = tsri_arg(c, 0);
  if (tsri_result(c, 0) && x->n) image_rows(c, x->dim[1]);
  return TSR_OK;
}

/* Scale and bias are a list of groups at opset 18, of channels from 21 on. */
enum tsr_status tsri_infer_group_normalization(struct tsri_infer *c) {
  enum tsr_status s = infer_image(c);
  if (s != TSR_OK) return s;
  uint64_t channels = tsri_in(c, 0)->dim[1];
  int64_t groups = tsr_net_attr_int(c->node, "num_groups", 0);
  if (groups < 1 || channels % (uint64_t)groups)
    return tsri_fail(c->net, c->node, c->err,
                     "wrong num_groups; expected a divisor of %llu channels, got '%lld'",
                     (unsigned long long)channels, (long long)groups);
  uint64_t n = c->net->opset < 21 ? (uint64_t)groups : channels;
  s = tsri_want_list(c, 1, "the scale", n);
  return s == TSR_OK ? tsri_want_list(c, 2, "the bias", n) : s;
}

enum tsr_status tsri_eval_group_normalization(struct tsri_eval *c) {
  if (tsri_result(c, 0) && tsri_arg(c, 0)->n)
    image_rows(c, (uint64_t)tsr_net_attr_int(c->node, "num_groups", 1));
  return TSR_OK;
}
