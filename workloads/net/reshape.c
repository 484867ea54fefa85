/* The same elements under another shape (SRC:onnx_operators). */
#include <string.h>

#include "workloads/net/net_int.h"
#include "workloads/net/operand_int.h"

#define FAIL(c, ...) tsri_fail((c)->net, (c)->node, (c)->err, __VA_ARGS__)

enum tsr_status tsri_eval_copy(struct tsri_eval *c) {
  const struct tsr_array *x = c->in[0];
  struct tsr_array *y = c->out[0];
  if (!y || x->n == 0) return TSR_OK;
  if (x->f) {
    memcpy(y->f, x->f, (size_t)x->n * sizeof *x->f);
  } else {
    memcpy(y->i, x->i, (size_t)x->n * sizeof *x->i);
  }
  return TSR_OK;
}

/* ---- Reshape ---- */

/* 0 is the input's dimension, -1 what is left over. */
static enum tsr_status settle_shape(struct tsri_infer *c, const int64_t *list, size_t n) {
  const struct tsr_net_value *x = c->in[0];
  bool zero_is_zero = tsr_net_attr_int(c->node, "allowzero", 0) != 0;
  uint64_t dim[TSR_RANK_MAX], known = 1, count = 1;
  size_t open = SIZE_MAX;
  for (size_t k = 0; k < n; k++) {
    bool same = list[k] == 0 && !zero_is_zero;
    if (list[k] < -1 || (list[k] == -1 && open != SIZE_MAX) || (same && k >= x->rank))
      return FAIL(c,
                  "entry %zu of the shape is wrong; expected a size, one -1, or 0 for a "
                  "dimension that the input has, got '%lld'",
                  k, (long long)list[k]);
    if (list[k] == -1) open = k;
    dim[k] = list[k] == -1 ? 1 : same ? x->dim[k] : (uint64_t)list[k];
  }
  bool fits = tsr_array_count((unsigned)n, dim, &known);
  tsr_array_count(x->rank, x->dim, &count);
  if (fits && open != SIZE_MAX) {
    dim[open] = known ? count / known : 0;
    fits = known ? count % known == 0 : count == 0;
  } else {
    fits = fits && known == count;
  }
  if (!fits)
    return FAIL(c, "%s cannot be reshaped to %s: another number of elements",
                tsri_net_shape_text(x->rank, x->dim).s,
                tsri_net_shape_text((unsigned)n, dim).s);
  return tsri_set(c, 0, x->type, (unsigned)n, dim);
}

enum tsr_status tsri_infer_reshape(struct tsri_infer *c) {
  int64_t list[TSR_RANK_MAX];
  size_t n;
  bool given;
  enum tsr_status s = tsri_ints(c, "shape", 1, list, TSR_RANK_MAX, &n, &given);
  if (!s && !given) s = FAIL(c, "has no shape; expected an attribute or input 1");
  return s ? s : settle_shape(c, list, n);
}

enum tsr_status tsri_infer_flatten(struct tsri_infer *c) {
  const struct tsr_net_value *x = c->in[0];
  int64_t axis = tsr_net_attr_int(c->node, "axis", 1);
  if (axis < -(int64_t)x->rank || axis > (int64_t)x->rank)
    return FAIL(c, "'axis' is out of range; expected -%u to %u, got '%lld'", x->rank, x->rank,
                (long long)axis);
  unsigned at = (unsigned)(axis < 0 ? axis + (int64_t)x->rank : axis);
  uint64_t dim[2] = {tsri_count(x->dim, 0, at), tsri_count(x->dim, at, x->rank)};
  return tsri_set(c, 0, x->type, 2, dim);
}

enum tsr_status tsri_infer_squeeze(struct tsri_infer *c) {
  const struct tsr_net_value *x = c->in[0];
  bool axes[TSR_RANK_MAX], given;
  enum tsr_status s = tsri_net_axes(c, "axes", 1, x->rank, axes, &given);
  uint64_t dim[TSR_RANK_MAX];
  unsigned rank = 0;
  for (unsigned d = 0; !s && d < x->rank; d++) {
    bool drop = given ? axes[d] : x->dim[d] == 1;
    if (drop && x->dim[d] != 1)
      s = FAIL(c, "axis %u cannot be dropped; expected a size of 1, got '%llu'", d,
               (unsigned long long)x->dim[d]);
    if (!drop) dim[rank++] = x->dim[d];
  }
  return s ? s : tsri_set(c, 0, x->type, rank, dim);
}

enum tsr_status tsri_infer_unsqueeze(struct tsri_infer *c) {
  const struct tsr_net_value *x = c->in[0];
  int64_t list[TSR_RANK_MAX];
  size_t n;
  bool axes[TSR_RANK_MAX], given;
  enum tsr_status s = tsri_ints(c, "axes", 1, list, TSR_RANK_MAX, &n, &given);
  if (!s && !given) s = FAIL(c, "has no axes; expected an attribute or input 1");
  if (!s && x->rank + n > TSR_RANK_MAX)
    s = FAIL(c, "makes too many dimensions; expected at most %d, got '%zu'", TSR_RANK_MAX,
             x->rank + n);
  unsigned rank = x->rank + (unsigned)n;
  if (!s) s = tsri_net_axes(c, "axes", 1, rank, axes, &given);
  if (s) return s;
  uint64_t dim[TSR_RANK_MAX];
  for (unsigned d = 0, from = 0; d < rank; d++) dim[d] = axes[d] ? 1 : x->dim[from++];
  return tsri_set(c, 0, x->type, rank, dim);
}

enum tsr_status tsri_infer_identity(struct tsri_infer *c) {
  return tsri_set_like(c, 0, 0);
}

/* ---- Dropout ---- */

enum { OPSET_MASK_IS_BOOL = 10 };

enum tsr_status tsri_infer_dropout(struct tsri_infer *c) {
  const struct tsr_net_value *ratio = tsri_in(c, 1), *training = tsri_in(c, 2);
  bool drops = training && !(training->constant && training->constant->n == 1 &&
                             tsr_array_get(training->constant, 0) == 0);
  if (ratio && ratio->constant && ratio->constant->n == 1 &&
      tsr_array_get(ratio->constant, 0) == 0)
    drops = false;
  if (drops) return FAIL(c, "'training_mode' is not supported; expected a constant false");
  enum tsr_status s = tsri_set_like(c, 0, 0);
  if (s) return s;
  const struct tsr_net_value *x = c->in[0];
  return tsri_set(c, 1, c->net->opset < OPSET_MASK_IS_BOOL ? x->type : TSR_DTYPE_BOOL, x->rank,
                  x->dim);
}

enum tsr_status tsri_eval_dropout(struct tsri_eval *c) {
  struct tsr_array *mask = tsri_result(c, 1);
  for (uint64_t k = 0; mask && k < mask->n; k++) tsr_array_set(mask, k, 1);
  return tsri_eval_copy(c);
}
