/* Quantisation: floats to integers of 8 to 32 bits and back (SRC:onnx_quantize): x / scale is
 * rounded to its floating type, as implementations do, and then to the nearest integer, ties
 * to even. */
#include <math.h>
#include <string.h>

#include "workloads/net/operand_int.h"

/* How scales meet x: one for all, one for each index of an axis, or one for each block of
 * `block` indices of an axis. */
struct scales {
  bool one;
  uint64_t n, inner, block, n_blocks; /* of the axis; elements below it */
  bool per_block;
};

static enum tsr_status scales_of(const struct tsri_infer *c, struct scales *q) {
  const struct tsr_net_value *x = tsri_in(c, 0), *scale = tsri_in(c, 1);
  *q = (struct scales){.one = true};
  int64_t block = tsr_net_attr_int(c->node, "block_size", 0);
  if (block < 0)
    return tsri_fail(c->net, c->node, c->err,
                     "wrong block_size; expected at least 0, got '%lld'", (long long)block);
  if (!block && scale->rank <= 1 && tsri_count(scale->dim, 0, scale->rank) == 1) return TSR_OK;
  unsigned axis;
  enum tsr_status s = tsri_want_rank_from(c, 0, 1);
  if (s == TSR_OK) s = tsri_axis(c, "axis", 1, x->rank, &axis);
  if (s != TSR_OK) return s;
  *q = (struct scales){.n = x->dim[axis], .inner = tsri_count(x->dim, axis + 1, x->rank)};
  if (!block) return tsri_want_list(c, 1, "the scale", q->n);
  uint64_t dim[TSR_RANK_MAX];
  memcpy(dim, x->dim, sizeof dim);
  q->per_block = true;
  q->block = (uint64_t)block;
  q->n_blocks = dim[axis] = tsr_ceil_div(x->dim[axis], q->block);
  return tsri_want_shape(c, 1, "the scale", x->rank, dim);
}

/* The scale of element i. */
static uint64_t place(const struct scales *q, uint64_t i) {
  if (q->one) return 0;
  uint64_t k = i / q->inner % q->n;
  if (!q->per_block) return k;
  return (i / q->inner / q->n * q->n_blocks + k / q->block) * q->inner + i % q->inner;
}

/* The zero point, when given, has the shape of the scale. */
static enum tsr_status want_zero(const struct tsri_infer *c) {
  const struct tsr_net_value *scale = tsri_in(c, 1), *zero = tsri_in(c, 2);
  bool both_one = zero && zero->rank <= 1 && scale->rank <= 1 &&
                  tsri_count(zero->dim, 0, zero->rank) == 1 &&
                  tsri_count(scale->dim, 0, scale->rank) == 1;
  return both_one ? TSR_OK : tsri_want_shape(c, 2, "the zero point", scale->rank, scale->dim);
}

static const enum tsr_dtype codes[] = {TSR_DTYPE_U8,  TSR_DTYPE_I8,  TSR_DTYPE_U16,
                                       TSR_DTYPE_I16, TSR_DTYPE_I32, TSR_DTYPE_NONE};

/* The type that attribute output_dtype names; `absent` where it is 0 or left out. */
static enum tsr_status wanted_type(const struct tsri_infer *c, enum tsr_dtype absent,
                                   bool is_float, enum tsr_dtype *out) {
  int64_t given = tsr_net_attr_int(c->node, "output_dtype", 0);
  *out = given ? (enum tsr_dtype)given : absent;
  bool fits = given >= 0 && given < TSR_DTYPE_N_ && tsr_dtype_is_float(*out) == is_float;
  bool code = false;
  for (size_t i = 0; !is_float && codes[i] != TSR_DTYPE_NONE; i++) code |= codes[i] == *out;
  if (fits && (is_float || code)) return TSR_OK;
  return tsri_fail(c->net, c->node, c->err,
                   "wrong type of the result; expected %s, got type number '%lld'",
                   is_float ? "a floating one" : "u8, i8, u16, i16 or i32",
                   given ? (long long)given : (long long)absent);
}

enum tsr_status tsri_infer_quantize_linear(struct tsri_infer *c) {
  static const enum tsr_dtype from[] = {TSR_DTYPE_F32, TSR_DTYPE_F16, TSR_DTYPE_BF16,
                                        TSR_DTYPE_F64, TSR_DTYPE_I32, TSR_DTYPE_NONE};
  struct scales q;
  enum tsr_dtype type;
  const struct tsr_net_value *zero = tsri_in(c, 2);
  enum tsr_status s = tsri_want_types(c, 0, from);
  if (s == TSR_OK) s = tsri_want_float(c, 1);
  if (s == TSR_OK) s = wanted_type(c, zero ? zero->type : TSR_DTYPE_U8, false, &type);
  if (s == TSR_OK) s = scales_of(c, &q);
  if (s == TSR_OK) s = want_zero(c);
  if (s != TSR_OK) return s;
  if (zero && zero->type != type)
    return tsri_fail(c->net, c->node, c->err,
                     "output_dtype is not the type of the zero point; expected %s, got '%s'",
                     tsr_dtype_name(zero->type), tsr_dtype_name(type));
  const struct tsr_net_value *x = tsri_in(c, 0);
  return tsri_set(c, 0, type, x->rank, x->dim);
}

enum tsr_status tsri_eval_quantize_linear(struct tsri_eval *c) {
  struct scales q;
  const struct tsr_array *x = tsri_arg(c, 0), *scale = tsri_arg(c, 1), *zero = tsri_arg(c, 2);
  struct tsr_array *y = tsri_result(c, 0);
  enum tsr_status s = scales_of(c->shape, &q);
  if (s != TSR_OK) return s;
  for (uint64_t i = 0; y && i < y->n; i++) {
    uint64_t k = place(&q, i);
    double z = zero ? tsr_array_get(zero, k) : 0;
    /* in the scale's type, as the operator has it: next to a tie that decides the code */
    double v = tsr_dtype_round(scale->type, tsr_array_get(x, i) / scale->f[k]);
    y->i[i] = tsri_quantise(y->type, v, z);
  }
  return s;
}

enum tsr_status tsri_infer_dequantize_linear(struct tsri_infer *c) {
  struct scales q;
  enum tsr_dtype type;
  enum tsr_status s = tsri_want_types(c, 0, codes);
  if (s == TSR_OK) s = tsri_want_float(c, 1);
  if (s == TSR_OK) s = tsri_want_type_of(c, 2, 0);
  if (s == TSR_OK) s = wanted_type(c, tsri_in(c, 1)->type, true, &type);
  if (s == TSR_OK) s = scales_of(c, &q);
  if (s == TSR_OK) s = want_zero(c);
  const struct tsr_net_value *x = tsri_in(c, 0);
  return s == TSR_OK ? tsri_set(c, 0, type, x->rank, x->dim) : s;
}

enum tsr_status tsri_eval_dequantize_linear(struct tsri_eval *c) {
  struct scales q;
  const struct tsr_array *x = tsri_arg(c, 0), *scale = tsri_arg(c, 1), *zero = tsri_arg(c, 2);
  struct tsr_array *y = tsri_result(c, 0);
  enum tsr_status s = scales_of(c->shape, &q);
  if (s != TSR_OK) return s;
  for (uint64_t i = 0; y && i < y->n; i++) {
    uint64_t k = place(&q, i);
    double z = zero ? tsr_array_get(zero, k) : 0;
    y->f[i] = (tsr_array_get(x, i) - z) * scale->f[k];
  }
  return s;
}

/* ---- DynamicQuantizeLinear ---- */

enum tsr_status tsri_infer_dynamic_quantize_linear(struct tsri_infer *c) {
  enum tsr_status s = tsri_want_float(c, 0);
  const struct tsr_net_value *x = tsri_in(c, 0);
  if (s == TSR_OK) s = tsri_set(c, 0, TSR_DTYPE_U8, x->rank, x->dim);
  if (s == TSR_OK) s = tsri_set(c, 1, x->type, 0, NULL);
  return s == TSR_OK ? tsri_set(c, 2, TSR_DTYPE_U8, 0, NULL) : s;
}

/* The range always holds 0, so that 0 has a code.  Zeros alone have no range: any scale
 * gives their codes, 1 is taken.  The scale is a result, and so it and the quotients are
 * rounded to its type: next to a tie that decides the code. */
enum tsr_status tsri_eval_dynamic_quantize_linear(struct tsri_eval *c) {
  const struct tsr_array *x = tsri_arg(c, 0);
  struct tsr_array *y = tsri_result(c, 0), *scale = tsri_result(c, 1);
  struct tsr_array *zero = tsri_result(c, 2);
  double least = 0, most = 0;
  for (uint64_t i = 0; i < x->n; i++) {
    least = x->f[i] < least ? x->f[i] : least;
    most = x->f[i] > most ? x->f[i] : most;
  }
  double step = most > least ? tsr_dtype_round(x->type, (most - least) / 255) : 1;
  if (step == 0) step = 1;
  double z = (double)tsri_quantise(TSR_DTYPE_U8, -least / step, 0);
  for (uint64_t i = 0; y && i < y->n; i++)
    y->i[i] = tsri_quantise(TSR_DTYPE_U8, tsr_dtype_round(x->type, x->f[i] / step), z);
  if (scale) scale->f[0] = step;
  if (zero) zero->i[0] = (int64_t)z;
  return TSR_OK;
}
