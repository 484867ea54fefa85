/* Values that are made from shapes, attributes and single numbers (SRC:onnx_operators). */
#include <math.h>
#include <string.h>

#include "workloads/net/net_int.h"
#include "workloads/net/operand_int.h"

#define FAIL(c, ...) tsri_fail((c)->net, (c)->node, (c)->err, __VA_ARGS__)

/* ---- Shape, Size ---- */

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

/* The dimensions from *from to *to. */
static void range_of(const struct tsri_infer *c, unsigned *from, unsigned *to) {
  int64_t rank = c->in[0]->rank;
  int64_t start = tsr_net_attr_int(c->node, "start", 0);
  int64_t end = tsr_net_attr_int(c->node, "end", rank);
  start = clamp(start < 0 ? start + rank : start, 0, rank);
  end = clamp(end < 0 ? end + rank : end, start, rank);
  *from = (unsigned)start;
  *to = (unsigned)end;
}

enum tsr_status tsri_infer_shape(struct tsri_infer *c) {
  unsigned from, to;
  range_of(c, &from, &to);
  return tsri_set(c, 0, TSR_DTYPE_I64, 1, (const uint64_t[]){to - from});
}

enum tsr_status tsri_eval_shape(struct tsri_eval *c) {
  unsigned from, to;
  range_of(c->shape, &from, &to);
  for (unsigned d = from; c->out[0] && d < to; d++)
    c->out[0]->i[d - from] = (int64_t)c->shape->in[0]->dim[d];
  return TSR_OK;
}

enum tsr_status tsri_infer_size(struct tsri_infer *c) {
  return tsri_set(c, 0, TSR_DTYPE_I64, 0, NULL);
}

enum tsr_status tsri_eval_size(struct tsri_eval *c) {
  const struct tsr_net_value *x = c->shape->in[0];
  uint64_t n = 0;
  tsr_array_count(x->rank, x->dim, &n);
  if (c->out[0]) c->out[0]->i[0] = (int64_t)n;
  return TSR_OK;
}

/* ---- Constant ---- */

static const struct tsr_net_attr *constant_attr(const struct tsr_net_node *n,
                                                enum tsr_dtype *type, unsigned *rank) {
  static const struct {
    const char *name;
    enum tsr_attr_kind kind;
    enum tsr_dtype type;
    unsigned rank;
  } ROWS[] = {{"value", TSR_ATTR_ARRAY, TSR_DTYPE_NONE, 0},
              {"value_float", TSR_ATTR_FLOAT, TSR_DTYPE_F32, 0},
              {"value_floats", TSR_ATTR_FLOATS, TSR_DTYPE_F32, 1},
              {"value_int", TSR_ATTR_INT, TSR_DTYPE_I64, 0},
              {"value_ints", TSR_ATTR_INTS, TSR_DTYPE_I64, 1}};
  for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++) {
    const struct tsr_net_attr *a = tsr_net_attr(n, ROWS[k].name);
    if (!a || a->kind != ROWS[k].kind || (a->kind == TSR_ATTR_ARRAY && !a->array)) continue;
    *type = ROWS[k].type;
    *rank = ROWS[k].rank;
    return a;
  }
  return NULL;
}

enum tsr_status tsri_infer_constant(struct tsri_infer *c) {
  enum tsr_dtype type;
  unsigned rank;
  const struct tsr_net_attr *a = constant_attr(c->node, &type, &rank);
  if (!a)
    return FAIL(c, "holds no value that is supported; expected value, value_float(s) or "
                   "value_int(s)");
  if (a->kind == TSR_ATTR_ARRAY)
    return tsri_set(c, 0, a->array->type, a->array->rank, a->array->dim);
  return tsri_set(c, 0, type, rank, (const uint64_t[]){a->n});
}

enum tsr_status tsri_eval_constant(struct tsri_eval *c) {
  enum tsr_dtype type;
  unsigned rank;
  const struct tsr_net_attr *a = constant_attr(c->node, &type, &rank);
  struct tsr_array *y = c->out[0];
  if (!y) return TSR_OK;
  switch (a->kind) {
  case TSR_ATTR_ARRAY:
    for (uint64_t k = 0; k < y->n; k++) {
      if (y->f) {
        y->f[k] = a->array->f[k];
      } else {
        y->i[k] = a->array->i[k];
      }
    }
    break;
  case TSR_ATTR_FLOAT: y->f[0] = a->f; break;
  case TSR_ATTR_INT: y->i[0] = a->i; break;
  case TSR_ATTR_FLOATS:
    for (size_t k = 0; k < a->n; k++) y->f[k] = a->floats[k];
    break;
  default:
    for (size_t k = 0; k < a->n; k++) y->i[k] = a->ints[k];
    break;
  }
  return TSR_OK;
}

/* ---- ConstantOfShape ---- */

static const struct tsr_array *fill_of(const struct tsr_net_node *n) {
  const struct tsr_net_attr *a = tsr_net_attr(n, "value");
  return a && a->kind == TSR_ATTR_ARRAY ? a->array : NULL;
}

enum tsr_status tsri_infer_constant_of_shape(struct tsri_infer *c) {
  const struct tsr_array *fill = fill_of(c->node);
  int64_t list[TSR_RANK_MAX];
  uint64_t dim[TSR_RANK_MAX];
  size_t n;
  bool given;
  enum tsr_status s = tsri_ints(c, "shape", 0, list, TSR_RANK_MAX, &n, &given);
  if (!s && fill && fill->n != 1) s = FAIL(c, "'value' is no single number");
  for (size_t k = 0; !s && k < n; k++) {
    if (list[k] < 0) s = FAIL(c, "the shape has a negative entry: '%lld'", (long long)list[k]);
    dim[k] = (uint64_t)list[k];
  }
  return s ? s : tsri_set(c, 0, fill ? fill->type : TSR_DTYPE_F32, (unsigned)n, dim);
}

enum tsr_status tsri_eval_constant_of_shape(struct tsri_eval *c) {
  const struct tsr_array *fill = fill_of(c->node);
  struct tsr_array *y = c->out[0];
  for (uint64_t k = 0; y && fill && k < y->n; k++) {
    if (y->f) {
      y->f[k] = fill->f[0];
    } else {
      y->i[k] = fill->i[0];
    }
  }
  return TSR_OK;
}

/* ---- Range ---- */

static enum tsr_status range_count(const struct tsri_infer *c, const struct tsr_array **start,
                                   const struct tsr_array **delta, uint64_t *n) {
  const struct tsr_array *limit;
  enum tsr_status s = tsri_constant(c, 0, "start", start);
  if (!s) s = tsri_constant(c, 1, "limit", &limit);
  if (!s) s = tsri_constant(c, 2, "delta", delta);
  if (!s) s = tsri_want_type_of(c, 1, 0);
  if (!s) s = tsri_want_type_of(c, 2, 0);
  if (s) return s;
  if ((*start)->n != 1 || limit->n != 1 || (*delta)->n != 1 || tsr_array_get(*delta, 0) == 0)
    return FAIL(c, "start, limit and delta are no single numbers, or delta is 0");
  double count;
  if ((*start)->f) {
    count = ceil((limit->f[0] - (*start)->f[0]) / (*delta)->f[0]);
  } else {
    tsr_i128 span = (tsr_i128)limit->i[0] - (*start)->i[0], d = (*delta)->i[0];
    tsr_i128 steps = span / d + (span % d != 0 && (span < 0) == (d < 0));
    count = steps > 0 ? (double)steps : 0;
  }
  if (!(count <= (double)TSR_ARRAY_ELEMS_MAX))
    return FAIL(c, "the result is too large; expected at most 2^40 elements");
  *n = count > 0 ? (uint64_t)count : 0;
  return TSR_OK;
}

enum tsr_status tsri_infer_range(struct tsri_infer *c) {
  const struct tsr_array *start, *delta;
  uint64_t n;
  enum tsr_status s = tsri_want_number(c, 0);
  if (!s) s = range_count(c, &start, &delta, &n);
  return s ? s : tsri_set(c, 0, start->type, 1, &n);
}

enum tsr_status tsri_eval_range(struct tsri_eval *c) {
  const struct tsr_array *start, *delta;
  uint64_t n;
  enum tsr_status s = range_count(c->shape, &start, &delta, &n);
  for (uint64_t k = 0; !s && c->out[0] && k < n; k++) {
    if (start->f) {
      c->out[0]->f[k] = start->f[0] + (double)k * delta->f[0];
    } else {
      c->out[0]->i[k] = (int64_t)((uint64_t)start->i[0] + k * (uint64_t)delta->i[0]);
    }
  }
  return s;
}

/* ---- EyeLike ---- */

enum tsr_status tsri_infer_eye_like(struct tsri_infer *c) {
  int64_t type = tsr_net_attr_int(c->node, "dtype", (int64_t)c->in[0]->type);
  enum tsr_status s = tsri_want_rank(c, 0, 2);
  if (s) return s;
  if (type <= 0 || type >= TSR_DTYPE_N_ || !tsr_dtype_bytes((enum tsr_dtype)type))
    return FAIL(c, "'dtype' names a type that is not supported: '%lld'", (long long)type);
  return tsri_set(c, 0, (enum tsr_dtype)type, 2, c->in[0]->dim);
}

enum tsr_status tsri_eval_eye_like(struct tsri_eval *c) {
  struct tsr_array *y = c->out[0];
  if (!y) return TSR_OK;
  int64_t most = (int64_t)TSR_ARRAY_ELEMS_MAX;
  int64_t k = clamp(tsr_net_attr_int(c->node, "k", 0), -most, most);
  for (uint64_t row = 0; row < y->dim[0]; row++) {
    int64_t col = (int64_t)row + k;
    if (col >= 0 && col < (int64_t)y->dim[1])
      tsr_array_set(y, row * y->dim[1] + (uint64_t)col, 1);
  }
  return TSR_OK;
}
