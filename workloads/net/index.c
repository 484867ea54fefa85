/* Elements by index (SRC:onnx_operators). */
#include <string.h>

#include "workloads/net/net_int.h"
#include "workloads/net/operand_int.h"

#define FAIL(c, ...) tsri_fail((c)->net, (c)->node, (c)->err, __VA_ARGS__)

/* n elements from one place to another. */
static void put(const struct tsr_array *x, uint64_t from, struct tsr_array *y, uint64_t to,
                uint64_t n) {
  if (x->f) {
    memcpy(y->f + to, x->f + from, (size_t)n * sizeof *y->f);
  } else {
    memcpy(y->i + to, x->i + from, (size_t)n * sizeof *y->i);
  }
}

/* An index, counted from the end where it is negative. */
static enum tsr_status settle(const struct tsri_eval *c, int64_t index, uint64_t size,
                              uint64_t *out) {
  if (index < -(int64_t)size || index >= (int64_t)size)
    return FAIL(c, "an index is out of range; expected -%llu to %lld, got '%lld'",
                (unsigned long long)size, (long long)size - 1, (long long)index);
  *out = (uint64_t)(index < 0 ? index + (int64_t)size : index);
  return TSR_OK;
}

/* ---- Gather ---- */

enum tsr_status tsri_infer_gather(struct tsri_infer *c) {
  const struct tsr_net_value *x = c->in[0], *index = c->in[1];
  unsigned axis;
  enum tsr_status s = tsri_want_int(c, 1);
  if (!s) s = tsri_axis(c, "axis", 0, x->rank, &axis);
  if (s) return s;
  uint64_t dim[2 * TSR_RANK_MAX];
  unsigned rank = 0;
  for (unsigned d = 0; d < axis; d++) dim[rank++] = x->dim[d];
  for (unsigned d = 0; d < index->rank; d++) dim[rank++] = index->dim[d];
  for (unsigned d = axis + 1; d < x->rank; d++) dim[rank++] = x->dim[d];
  return tsri_set(c, 0, x->type, rank, dim);
}

enum tsr_status tsri_eval_gather(struct tsri_eval *c) {
  const struct tsr_array *x = c->in[0], *index = c->in[1];
  struct tsr_array *y = c->out[0];
  unsigned axis;
  enum tsr_status s = tsri_axis(c->shape, "axis", 0, x->rank, &axis);
  if (s || !y || y->n == 0) return s;
  uint64_t outer = tsri_count(x->dim, 0, axis), size = x->dim[axis];
  uint64_t inner = tsri_count(x->dim, axis + 1, x->rank);
  for (uint64_t o = 0; o < outer; o++) {
    for (uint64_t k = 0; k < index->n; k++) {
      uint64_t at = 0;
      if ((s = settle(c, index->i[k], size, &at))) return s;
      put(x, (o * size + at) * inner, y, (o * index->n + k) * inner, inner);
    }
  }
  return TSR_OK;
}

/* ---- GatherElements ---- */

enum tsr_status tsri_infer_gather_elements(struct tsri_infer *c) {
  const struct tsr_net_value *x = c->in[0], *index = c->in[1];
  unsigned axis;
  enum tsr_status s = tsri_want_int(c, 1);
  if (!s) s = tsri_want_rank(c, 1, x->rank);
  if (!s) s = tsri_axis(c, "axis", 0, x->rank, &axis);
  for (unsigned d = 0; !s && d < x->rank; d++)
    if (d != axis && index->dim[d] > x->dim[d])
      s = FAIL(c,
               "the indices are larger than the data along axis %u; expected at most %llu, "
               "got '%llu'",
               d, (unsigned long long)x->dim[d], (unsigned long long)index->dim[d]);
  return s ? s : tsri_set(c, 0, x->type, index->rank, index->dim);
}

enum tsr_status tsri_eval_gather_elements(struct tsri_eval *c) {
  const struct tsr_array *x = c->in[0], *index = c->in[1];
  struct tsr_array *y = c->out[0];
  unsigned axis;
  enum tsr_status s = tsri_axis(c->shape, "axis", 0, x->rank, &axis);
  if (s || !y || y->n == 0) return s;
  uint64_t stride[2][TSR_RANK_MAX];
  tsri_strides(x->rank, x->dim, stride[0]);
  tsri_strides(y->rank, y->dim, stride[1]);
  uint64_t pace = stride[0][axis];
  stride[0][axis] = 0; /* the index says where along the axis */
  struct tsri_walk w;
  tsri_net_walk_init(&w, y->rank, y->dim, 2, (const uint64_t(*)[TSR_RANK_MAX])stride);
  do {
    for (uint64_t k = 0; k < w.n_inner; k++) {
      uint64_t to = w.at[1] + k * w.step[1], at = 0;
      if ((s = settle(c, index->i[to], x->dim[axis], &at))) return s;
      put(x, w.at[0] + k * w.step[0] + at * pace, y, to, 1);
    }
  } while (tsri_net_walk_next(&w));
  return TSR_OK;
}

/* ---- GatherND ---- */

static enum tsr_status batch_dims(const struct tsri_infer *c, unsigned *out) {
  const struct tsr_net_value *x = c->in[0], *index = c->in[1];
  int64_t b = tsr_net_attr_int(c->node, "batch_dims", 0);
  bool ok = b >= 0 && index->rank >= 1 && b < (int64_t)index->rank && b < (int64_t)x->rank;
  for (unsigned d = 0; ok && d < b; d++) ok = x->dim[d] == index->dim[d];
  if (!ok)
    return FAIL(c, "'batch_dims' does not fit %s and %s: '%lld'",
                tsri_net_shape_text(x->rank, x->dim).s,
                tsri_net_shape_text(index->rank, index->dim).s, (long long)b);
  *out = (unsigned)b;
  return TSR_OK;
}

enum tsr_status tsri_infer_gather_nd(struct tsri_infer *c) {
  const struct tsr_net_value *x = c->in[0], *index = c->in[1];
  unsigned batch;
  enum tsr_status s = tsri_want_int(c, 1);
  if (!s) s = batch_dims(c, &batch);
  if (s) return s;
  uint64_t tuple = index->dim[index->rank - 1], dim[2 * TSR_RANK_MAX];
  if (tuple < 1 || tuple > x->rank - batch)
    return FAIL(c, "the indices are tuples of the wrong length; expected 1 to %u, got '%llu'",
                x->rank - batch, (unsigned long long)tuple);
  unsigned rank = 0;
  for (unsigned d = 0; d + 1 < index->rank; d++) dim[rank++] = index->dim[d];
  for (unsigned d = batch + (unsigned)tuple; d < x->rank; d++) dim[rank++] = x->dim[d];
  return tsri_set(c, 0, x->type, rank, dim);
}

enum tsr_status tsri_eval_gather_nd(struct tsri_eval *c) {
  const struct tsr_array *x = c->in[0], *index = c->in[1];
  struct tsr_array *y = c->out[0];
  unsigned batch;
  enum tsr_status s = batch_dims(c->shape, &batch);
  if (s || !y || y->n == 0) return s;
  unsigned tuple = (unsigned)index->dim[index->rank - 1];
  uint64_t stride[TSR_RANK_MAX];
  tsri_strides(x->rank, x->dim, stride);
  uint64_t run = tsri_count(x->dim, batch + tuple, x->rank);
  uint64_t images = tsri_count(x->dim, 0, batch), image = tsri_count(x->dim, batch, x->rank);
  uint64_t tuples = tsri_count(index->dim, batch, index->rank - 1);
  for (uint64_t k = 0; k < images * tuples; k++) {
    uint64_t from = k / tuples * image;
    for (unsigned e = 0; e < tuple; e++) {
      uint64_t at = 0;
      if ((s = settle(c, index->i[k * tuple + e], x->dim[batch + e], &at))) return s;
      from += at * stride[batch + e];
    }
    put(x, from, y, k * run, run);
  }
  return TSR_OK;
}

/* ---- OneHot ---- */

static enum tsr_status depth_of(const struct tsri_infer *c, uint64_t *out) {
  const struct tsr_array *a;
  enum tsr_status s = tsri_constant(c, 1, "depth", &a);
  if (s) return s;
  int64_t depth = a->n == 1 ? tsr_array_get_int(a, 0) : -1;
  if (depth < 0) return FAIL(c, "'depth' is no single number of at least 0");
  *out = (uint64_t)depth;
  return TSR_OK;
}

enum tsr_status tsri_infer_one_hot(struct tsri_infer *c) {
  const struct tsr_net_value *index = c->in[0];
  uint64_t depth = 0, dim[TSR_RANK_MAX + 1], n;
  unsigned axis, rank = 0;
  enum tsr_status s = tsri_want_number(c, 0);
  if (!s) s = depth_of(c, &depth);
  if (!s) s = tsri_axis(c, "axis", -1, index->rank + 1, &axis);
  if (s) return s;
  if (!tsr_array_count(c->in[2]->rank, c->in[2]->dim, &n) || n != 2)
    return FAIL(c, "'values' has the wrong number of entries; expected 2 (off and on)");
  for (unsigned d = 0; d < index->rank; d++) {
    if (d == axis) dim[rank++] = depth;
    dim[rank++] = index->dim[d];
  }
  if (axis == index->rank) dim[rank++] = depth;
  return tsri_set(c, 0, c->in[2]->type, rank, dim);
}

enum tsr_status tsri_eval_one_hot(struct tsri_eval *c) {
  const struct tsr_array *index = c->in[0], *values = c->in[2];
  struct tsr_array *y = c->out[0];
  uint64_t depth = 0;
  unsigned axis;
  enum tsr_status s = depth_of(c->shape, &depth);
  if (!s) s = tsri_axis(c->shape, "axis", -1, index->rank + 1, &axis);
  if (s || !y || y->n == 0) return s;
  uint64_t inner = tsri_count(y->dim, axis + 1, y->rank);
  for (uint64_t k = 0; k < y->n; k++) put(values, 0, y, k, 1);
  for (uint64_t k = 0; k < index->n; k++) {
    int64_t at = tsr_array_get_int(index, k);
    if (at < 0) at += (int64_t)depth;
    if (at < 0 || at >= (int64_t)depth) continue; /* off everywhere */
    put(values, 1, y, (k / inner * depth + (uint64_t)at) * inner + k % inner, 1);
  }
  return TSR_OK;
}

/* ---- NonZero ---- */

static bool is_zero(const struct tsr_array *x, uint64_t k) {
  return x->f ? x->f[k] == 0 : x->i[k] == 0;
}

enum tsr_status tsri_infer_non_zero(struct tsri_infer *c) {
  const struct tsr_array *x;
  enum tsr_status s = tsri_constant(c, 0, "what NonZero looks at", &x);
  if (s) return s;
  uint64_t dim[2] = {x->rank ? x->rank : 1, 0};
  for (uint64_t k = 0; k < x->n; k++) dim[1] += !is_zero(x, k);
  return tsri_set(c, 0, TSR_DTYPE_I64, 2, dim);
}

enum tsr_status tsri_eval_non_zero(struct tsri_eval *c) {
  const struct tsr_array *x = c->in[0];
  struct tsr_array *y = c->out[0];
  uint64_t stride[TSR_RANK_MAX], at = 0;
  if (!y) return TSR_OK;
  tsri_strides(x->rank, x->dim, stride);
  for (uint64_t k = 0; k < x->n; k++) {
    if (is_zero(x, k)) continue;
    for (unsigned d = 0; d < x->rank; d++)
      y->i[d * y->dim[1] + at] = (int64_t)(k / stride[d] % x->dim[d]);
    at++;
  }
  return TSR_OK;
}
