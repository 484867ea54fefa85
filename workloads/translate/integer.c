/* Products of integers, and the way from floats to integers and back (SRC:onnx_operators).
 *
 * A product of codes less their zero points is one of the codes and what corrects it:
 *   sum (a - za)(b - zb) = sum a*b - za * (sum b - K*zb) - zb * sum a,
 * sums in int32.  What constants make of it is one row of constants; the rest are operators on
 * int32.  A convolution is padded with zero points: where za is not 0, its padding is copied
 * in first, or, where za is data, what is padded is left out of the sums of weights.
 * Q/DQ: a product of dequantised values is that of their codes, dequantised: behind it stands a
 * scale for each column and the bias, which the epilogue takes in, a requantisation too. */
#include <string.h>

#include "workloads/translate/product_int.h"

enum { NOT = -1 }; /* no axis: one scale for all */

struct integer {
  struct tsri_tr *t;
  const struct tsr_net_node *n;
  size_t a, b, za, zb; /* codes; zero points, SIZE_MAX: 0 */
  bool conv, ta, tb;   /* matrices of Gemm may be transposed */
  struct tsri_tr_conv c;
  struct tsri_tr_shape out; /* of the sums; matrices have at least two dimensions */
};

/* ---- constants ---- */

static bool is_zero(const struct tsri_tr *t, size_t value) {
  const struct tsr_array *c = tsri_tr_constant(t, value);
  for (uint64_t i = 0; c && i < c->n; i++)
    if (tsr_array_get(c, i) != 0) return false;
  return c != NULL;
}

/* All elements of a constant are one number. */
static bool uniform(const struct tsri_tr *t, size_t value, double *v) {
  const struct tsr_array *c = tsri_tr_constant(t, value);
  *v = 0;
  if (value == SIZE_MAX) return true;
  if (!c || !c->n) return false;
  *v = tsr_array_get(c, 0);
  for (uint64_t i = 1; i < c->n; i++)
    if (tsr_array_get(c, i) != *v) return false;
  return true;
}

/* Element i of a constant, or of the single one that it has; 0 where it is left out. */
static double pick(const struct tsr_array *c, uint64_t i) {
  return !c ? 0 : tsr_array_get(c, c->n > 1 ? i : 0);
}

static uint64_t depth(const struct integer *s) {
  if (!s->conv) {
    struct tsri_tr_shape a = tsri_tr_shape_of(s->t, s->a);
    return a.dim[s->ta ? a.rank - 2 : a.rank - 1];
  }
  uint64_t k = s->c.in_c / s->c.win.groups;
  for (unsigned i = 0; i < s->c.win.dims; i++) k *= s->c.win.kernel[i];
  return k;
}

/* The shape in which one element for each column meets the sums: [C, 1, …] or [n]. */
static unsigned column_shape(const struct integer *s, uint64_t dim[TSR_RANK_MAX]) {
  unsigned rank = s->conv ? s->out.rank - 1 : 1;
  for (unsigned d = 0; d < rank; d++) dim[d] = 1;
  dim[0] = s->conv ? s->c.out_c : s->out.dim[s->out.rank - 1];
  return rank;
}

/* A list, one for each column, in the shape in which it meets the sums. */
static enum tsr_status as_columns(const struct integer *s, size_t value, size_t *out) {
  uint64_t dim[TSR_RANK_MAX];
  struct tsri_tr_shape v = tsri_tr_shape_of(s->t, value);
  unsigned rank = column_shape(s, dim);
  *out = value;
  if (v.n == 1) return tsri_tr_reshaped(s->t, value, 0, NULL, out);
  if (v.rank > 1) return TSR_OK; /* as it is */
  return tsri_tr_reshaped(s->t, value, rank, dim, out);
}

/* A list, one for each row of A. */
static enum tsr_status as_rows(const struct integer *s, size_t value, size_t *out) {
  struct tsri_tr_shape v = tsri_tr_shape_of(s->t, value);
  *out = value;
  if (v.n == 1) return tsri_tr_reshaped(s->t, value, 0, NULL, out);
  if (v.rank > 1) return TSR_OK;
  return tsri_tr_reshaped(s->t, value, 2, (uint64_t[]){v.n, 1}, out);
}

/* ---- products ---- */

static enum tsr_status emit_product(const struct integer *s, const char *what, size_t out) {
  struct tsri_tr_item item;
  if (s->conv) return tsri_tr_conv_emit(s->t, what, &s->c, s->a, s->b, SIZE_MAX, out);
  if (s->ta || s->tb)
    TSRI_TRY(tsri_tr_gemm(s->t, s->a, s->ta, s->b, s->tb, out, &item));
  else
    TSRI_TRY(tsri_tr_matmul(s->t, s->a, s->b, out, &item));
  item.op.format_acc = "int32";
  return tsri_tr_emit(s->t, what, &item);
}

/* A value of ones, as wide as codes are. */
static enum tsr_status ones(struct tsri_tr *t, unsigned rank, const uint64_t *dim,
                            size_t *out) {
  struct tsr_array *one;
  TSRI_TRY(tsri_tr_const(t, "ones", TSR_DTYPE_U8, rank, dim, out, &one));
  for (uint64_t i = 0; i < one->n; i++) tsr_array_set(one, i, 1);
  return TSR_OK;
}

/* ---- sums of columns of B ---- */

/* sum b - K*zb of constant weights: [C, 1, …], [n] or [batch…, 1, n]. */
static enum tsr_status constant_columns(const struct integer *s, size_t *out) {
  const struct tsr_array *b = tsri_tr_constant(s->t, s->b), *z = tsri_tr_constant(s->t, s->zb);
  struct tsri_tr_shape sb = tsri_tr_shape_of(s->t, s->b);
  uint64_t dim[TSR_RANK_MAX], k = depth(s), columns, batch = 1;
  unsigned rank = column_shape(s, dim);
  struct tsr_array *to;
  columns = dim[0];
  if (!s->conv && sb.rank > 2) {
    rank = sb.rank;
    memcpy(dim, sb.dim, sizeof dim);
    dim[rank - 2] = 1;
    for (unsigned d = 0; d + 2 < rank; d++) batch *= dim[d];
  }
  bool rows = s->conv || s->tb; /* a column's elements side by side */
  TSRI_TRY(tsri_tr_const(s->t, "columns", TSR_DTYPE_I32, rank, dim, out, &to));
  for (uint64_t g = 0; g < batch; g++)
    for (uint64_t j = 0; j < columns; j++) {
      double sum = -(double)k * pick(z, z && z->n == to->n ? g * columns + j : j);
      for (uint64_t i = 0; i < k; i++)
        sum += tsr_array_get(b, rows ? j * k + i : (g * k + i) * columns + j);
      tsr_array_set(to, g * columns + j, sum);
    }
  return TSR_OK;
}

/* The same of data: a product with a row of ones, less K*zb. */
static enum tsr_status data_columns(const struct integer *s, size_t *out) {
  struct tsri_tr *t = s->t;
  struct tsri_tr_shape sb = tsri_tr_shape_of(t, s->b);
  struct tsri_tr_item item;
  uint64_t k = depth(s);
  size_t one, sums, z;
  TSRI_TRY(ones(t, 2, (uint64_t[]){1, k}, &one));
  if (s->tb) sb.dim[1] = sb.dim[0];
  sb.dim[sb.rank - 2] = 1;
  TSRI_TRY(tsri_tr_temp(t, "columns", TSR_DTYPE_I32, sb.rank, sb.dim, &sums));
  if (s->tb)
    TSRI_TRY(tsri_tr_gemm(t, one, false, s->b, true, sums, &item));
  else
    TSRI_TRY(tsri_tr_matmul(t, one, s->b, sums, &item));
  item.op.format_acc = "int32";
  TSRI_TRY(tsri_tr_emit(t, "columns", &item));
  *out = sums;
  if (s->zb == SIZE_MAX) return TSR_OK;
  TSRI_TRY(as_columns(s, s->zb, &z));
  struct tsri_tr_shape sz = tsri_tr_shape_of(t, z);
  size_t less;
  TSRI_TRY(tsri_tr_temp(t, "zeros", TSR_DTYPE_I32, sz.rank, sz.dim, &less));
  TSRI_TRY(tsri_tr_with_number(t, "zeros", TSR_OP_MUL, z, (double)k, less));
  TSRI_TRY(tsri_tr_temp(t, "columns", TSR_DTYPE_I32, sb.rank, sb.dim, out));
  return tsri_tr_binary(t, "columns", TSR_OP_SUB, sums, less, *out);
}

/* Weights less zb, summed over channels: [C][taps]. */
static double *tap_sums(const struct integer *s, uint64_t taps) {
  const struct tsr_array *b = tsri_tr_constant(s->t, s->b), *z = tsri_tr_constant(s->t, s->zb);
  uint64_t in_each = s->c.in_c / s->c.win.groups;
  double *sum = tsr_mem_array((size_t)(s->c.out_c * taps), sizeof *sum);
  for (uint64_t i = 0; sum && i < b->n; i++) {
    uint64_t c = i / (in_each * taps);
    sum[c * taps + i % taps] += tsr_array_get(b, i) - pick(z, c);
  }
  return sum;
}

/* Tap `at` of output `o` lies within the input. */
static bool inside(const struct tsr_net_window *w, uint64_t o, uint64_t tap) {
  for (unsigned i = w->dims; i-- > 0;) {
    uint64_t x = o % w->out[i] * w->stride[i] + tap % w->kernel[i] * w->dil[i];
    if (x < w->pad_lo[i] || x - w->pad_lo[i] >= w->in[i]) return false;
    o /= w->out[i];
    tap /= w->kernel[i];
  }
  return true;
}

/* Sums of what is not padding, for every place of an image: [C, out…]. */
static enum tsr_status padded_columns(const struct integer *s, size_t *out) {
  const struct tsr_net_window *w = &s->c.win;
  uint64_t dim[TSR_RANK_MAX] = {s->c.out_c}, taps = 1, places = 1;
  struct tsr_array *to;
  for (unsigned i = 0; i < w->dims; i++) {
    dim[1 + i] = w->out[i];
    taps *= w->kernel[i];
    places *= w->out[i];
  }
  TSRI_TRY(tsri_tr_const(s->t, "columns", TSR_DTYPE_I32, 1 + w->dims, dim, out, &to));
  double *sum = tap_sums(s, taps);
  if (!sum) return tsr_err_nomem(s->t->err);
  for (uint64_t o = 0; o < places; o++)
    for (uint64_t tap = 0; tap < taps; tap++) {
      if (!inside(w, o, tap)) continue;
      for (uint64_t c = 0; c < s->c.out_c; c++)
        to->i[c * places + o] += (int64_t)sum[c * taps + tap];
    }
  tsr_mem_free(sum);
  return TSR_OK;
}

static bool padded(const struct tsr_net_window *w) {
  for (unsigned i = 0; i < w->dims; i++)
    if (w->pad_lo[i] || w->pad_hi[i]) return true;
  return false;
}

static enum tsr_status columns_of(const struct integer *s, size_t *out) {
  bool known =
      tsri_tr_constant(s->t, s->b) && (s->zb == SIZE_MAX || tsri_tr_constant(s->t, s->zb));
  if (known && s->conv && padded(&s->c.win)) return padded_columns(s, out);
  if (known) return constant_columns(s, out);
  if (!s->conv) return data_columns(s, out);
  return tsri_tr_refuse(s->t, s->n,
                        "weights of integers that are no constants, with a zero point");
}

/* za times these sums. */
static enum tsr_status times_zero(const struct integer *s, size_t columns, size_t *out) {
  struct tsri_tr *t = s->t;
  const struct tsr_array *c = tsri_tr_constant(t, columns), *z = tsri_tr_constant(t, s->za);
  struct tsri_tr_shape sc = tsri_tr_shape_of(t, columns);
  if (c && z && z->n == 1) {
    struct tsr_array *to;
    TSRI_TRY(tsri_tr_const(t, "correction", TSR_DTYPE_I32, sc.rank, sc.dim, out, &to));
    for (uint64_t i = 0; i < to->n; i++)
      tsr_array_set(to, i, tsr_array_get(z, 0) * tsr_array_get(c, i));
    return TSR_OK;
  }
  size_t za;
  TSRI_TRY(as_rows(s, s->za, &za));
  struct tsri_tr_shape sz = tsri_tr_shape_of(t, za), to = sz.rank ? s->out : sc;
  TSRI_TRY(tsri_tr_temp(t, "correction", TSR_DTYPE_I32, to.rank, to.dim, out));
  return tsri_tr_binary(t, "correction", TSR_OP_MUL, columns, za, *out);
}

/* ---- sums of rows of A ---- */

static enum tsr_status matrix_rows(const struct integer *s, size_t *out) {
  struct tsri_tr *t = s->t;
  struct tsri_tr_shape sa = tsri_tr_shape_of(t, s->a);
  struct tsr_view va = s->ta ? tsri_tr_view_matrix(t, s->a, true) : tsri_tr_view(t, s->a);
  uint64_t dim[TSR_RANK_MAX], k = depth(s);
  memcpy(dim, va.dim, sizeof dim);
  dim[sa.rank - 1] = 1;
  TSRI_TRY(tsri_tr_temp(t, "rows", TSR_DTYPE_I32, sa.rank, dim, out));
  struct tsri_tr_item item = tsri_tr_item(TSR_OP_ROWSUM, sa.n / k, k, 1, 1);
  struct tsr_view vo = tsri_tr_view_flat(t, *out);
  TSRI_TRY(tsri_tr_bind(t, &item.bind.a, &va));
  tsri_tr_bind_out(&item, &vo);
  return tsri_tr_emit(t, "rows", &item);
}

/* Sums of windows, one for each group: a convolution with ones. */
static enum tsr_status window_rows(const struct integer *s, size_t *out) {
  struct integer x = *s;
  const struct tsr_net_window *w = &s->c.win;
  uint64_t dim[TSR_RANK_MAX] = {w->groups, s->c.in_c / w->groups}, to[TSR_RANK_MAX];
  for (unsigned i = 0; i < w->dims; i++) dim[2 + i] = w->kernel[i];
  TSRI_TRY(ones(s->t, 2 + w->dims, dim, &x.b));
  x.c.out_c = w->groups;
  memcpy(to, s->out.dim, sizeof to);
  to[1] = w->groups;
  TSRI_TRY(tsri_tr_temp(s->t, "rows", TSR_DTYPE_I32, s->out.rank, to, out));
  return emit_product(&x, "rows", *out);
}

/* Values that meet with the channels of each group apart: [N, g, c, places]. */
static enum tsr_status by_groups(const struct integer *s, size_t value, uint64_t channels,
                                 size_t *out) {
  uint64_t places = 1;
  for (unsigned d = 2; d < s->out.rank; d++) places *= s->out.dim[d];
  uint64_t dim[] = {s->out.dim[0], s->c.win.groups, channels, places};
  return tsri_tr_reshaped(s->t, value, 4, dim, out);
}

/* sum less rows * zb, into out. */
static enum tsr_status less_rows(const struct integer *s, size_t sum, size_t out) {
  struct tsri_tr *t = s->t;
  size_t rows, zb, by;
  struct tsri_tr_shape shape = s->out;
  TSRI_TRY(s->conv ? window_rows(s, &rows) : matrix_rows(s, &rows));
  TSRI_TRY(as_columns(s, s->zb, &zb));
  bool one = tsri_tr_shape_of(t, zb).n == 1;
  if (s->conv && s->c.win.groups > 1) {
    uint64_t g = s->c.win.groups, each = s->c.out_c / g;
    TSRI_TRY(by_groups(s, rows, 1, &rows));
    TSRI_TRY(by_groups(s, sum, each, &sum));
    TSRI_TRY(by_groups(s, out, each, &out));
    if (!one) TSRI_TRY(tsri_tr_reshaped(t, zb, 3, (uint64_t[]){g, each, 1}, &zb));
    shape = tsri_tr_shape_of(t, sum);
  }
  if (one) shape = tsri_tr_shape_of(t, rows);
  TSRI_TRY(tsri_tr_temp(t, "correction", TSR_DTYPE_I32, shape.rank, shape.dim, &by));
  TSRI_TRY(tsri_tr_binary(t, "rows_scaled", TSR_OP_MUL, rows, zb, by));
  return tsri_tr_binary(t, "less_rows", TSR_OP_SUB, sum, by, out);
}

/* ---- all of it ---- */

/* Padding with a zero point that is no zero is copied into the input. */
static enum tsr_status pad_input(struct integer *s) {
  struct tsri_tr_shape x = tsri_tr_shape_of(s->t, s->a);
  struct tsr_net_window *w = &s->c.win;
  struct tsr_view src = tsri_tr_view(s->t, s->a), dst;
  double fill;
  if (!s->conv || s->za == SIZE_MAX || !padded(w) || !uniform(s->t, s->za, &fill))
    return TSR_OK;
  for (unsigned i = 0; i < w->dims; i++) {
    src.base[2 + i] = -(int64_t)w->pad_lo[i];
    src.dim[2 + i] = x.dim[2 + i] = w->in[i] += w->pad_lo[i] + w->pad_hi[i];
    w->pad_lo[i] = w->pad_hi[i] = 0;
  }
  src.fill = fill;
  TSRI_TRY(tsri_tr_temp(s->t, "padded", x.type, x.rank, x.dim, &s->a));
  dst = tsri_tr_view(s->t, s->a);
  return tsri_tr_copy(s->t, "padded", &src, &dst);
}

/* Vectors become matrices. */
static enum tsr_status two_dimensions(struct integer *s, size_t *out) {
  struct tsri_tr_shape a = tsri_tr_shape_of(s->t, s->a), b = tsri_tr_shape_of(s->t, s->b);
  if (s->conv || (a.rank > 1 && b.rank > 1)) return TSR_OK;
  unsigned r = s->out.rank;
  uint64_t dim[TSR_RANK_MAX + 2], last = r ? s->out.dim[r - 1] : 1;
  memcpy(dim, s->out.dim, sizeof s->out.dim);
  if (a.rank == 1) { /* a row of the result is missing, a column, or both */
    TSRI_TRY(tsri_tr_reshaped(s->t, s->a, 2, (uint64_t[]){1, a.dim[0]}, &s->a));
    if (r) r--;
    dim[r++] = 1;
    dim[r++] = b.rank == 1 ? 1 : last;
  } else {
    dim[r++] = 1;
  }
  if (b.rank == 1) TSRI_TRY(tsri_tr_reshaped(s->t, s->b, 2, (uint64_t[]){b.dim[0], 1}, &s->b));
  TSRI_TRY(tsri_tr_reshaped(s->t, *out, r, dim, out));
  enum tsr_dtype type = s->out.type;
  s->out = tsri_tr_shape_of(s->t, *out);
  s->out.type = type;
  return TSR_OK;
}

/* The product of the codes less their zero points, in int32, into out. */
static enum tsr_status emit_integer(struct integer *s, size_t out) {
  struct tsri_tr *t = s->t;
  size_t sum = out, next = out, columns, by;
  if (is_zero(t, s->za)) s->za = SIZE_MAX;
  if (is_zero(t, s->zb)) s->zb = SIZE_MAX;
  TSRI_TRY(pad_input(s));
  bool first = s->za != SIZE_MAX, second = s->zb != SIZE_MAX;
  struct tsri_tr_shape *o = &s->out;
  if (first || second) TSRI_TRY(tsri_tr_temp(t, "sums", TSR_DTYPE_I32, o->rank, o->dim, &sum));
  TSRI_TRY(emit_product(s, "product", sum));
  if (first) {
    TSRI_TRY(columns_of(s, &columns));
    TSRI_TRY(times_zero(s, columns, &by));
    if (second) TSRI_TRY(tsri_tr_temp(t, "sums", TSR_DTYPE_I32, o->rank, o->dim, &next));
    TSRI_TRY(tsri_tr_binary(t, "less_columns", TSR_OP_SUB, sum, by, next));
    sum = next;
  }
  return second ? less_rows(s, sum, out) : TSR_OK;
}

static enum tsr_status integer_of(struct tsri_tr *t, const struct tsr_net_node *n, bool conv,
                                  size_t a, size_t b, size_t za, size_t zb, size_t *out,
                                  struct integer *s) {
  *s = (struct integer){.t = t, .n = n, .conv = conv, .a = a, .b = b, .za = za, .zb = zb};
  s->out = tsri_tr_shape_of(t, *out);
  if (tsri_tr_shape_of(t, a).n == 0)
    return tsri_tr_refuse(t, n, "a product over no elements is not supported");
  return two_dimensions(s, out);
}

static enum tsr_status lower_integer(struct tsri_tr *t, const struct tsr_net_node *n,
                                     const void *arg) {
  struct integer s;
  size_t out = tsri_tr_out(n, 0);
  bool conv = arg != NULL;
  if (tsri_tr_shape_of(t, out).n == 0) return TSR_OK;
  TSRI_TRY(integer_of(t, n, conv, tsri_tr_in(n, 0), tsri_tr_in(n, 1), tsri_tr_in(n, 2),
                      tsri_tr_in(n, 3), &out, &s));
  if (conv) TSRI_TRY(tsri_tr_conv_of(t, n, 0, 1, &s.c));
  return emit_integer(&s, out);
}

/* ---- scales ---- */

/* `kind` of a with a scale: one (axis NOT), or one for each index of an axis of a. */
static enum tsr_status emit_scale(struct tsri_tr *t, const char *what, enum tsr_op_kind kind,
                                  size_t a, size_t scale, int axis, double zero, size_t out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, out);
  struct tsri_tr_item item = tsri_tr_item(kind, 1, 1, 1, 1);
  struct tsr_view va = tsri_tr_view_flat(t, a), vo = tsri_tr_view_flat(t, out);
  struct tsr_view vb = tsri_tr_view_flat(t, scale);
  item.op.attr.zero = zero;
  item.op.format_b = "fp32";
  if (axis == NOT) {
    item.op.attr.with = TSR_WITH_SCALAR;
    tsri_tr_split(s.n, s.rank, s.dim, &item.op.m, &item.op.n);
  } else {
    uint64_t before = 1, behind = 1, at = s.dim[axis];
    for (unsigned d = 0; d < (unsigned)axis; d++) before *= s.dim[d];
    for (unsigned d = (unsigned)axis + 1; d < s.rank; d++) behind *= s.dim[d];
    bool row = behind == 1;
    item.op.attr.with = row ? TSR_WITH_ROW : TSR_WITH_COL;
    item.op.m = row ? before : at;
    item.op.n = row ? at : behind;
    item.op.count = row ? 1 : before;
    if (item.op.count > 1) { /* the same for all of count */
      vb = tsri_tr_view_blank(t, scale, 2, (uint64_t[]){before, at});
      tsri_tr_view_move(&vb, vb.src_rank - 1, 1, 1);
    }
  }
  TSRI_TRY(tsri_tr_bind(t, &item.bind.a, &va));
  TSRI_TRY(tsri_tr_bind(t, &item.bind.b, &vb));
  tsri_tr_bind_out(&item, &vo);
  return tsri_tr_emit(t, what, &item);
}

/* The same with a view of scales that gives one for each element. */
static enum tsr_status emit_scale_full(struct tsri_tr *t, const char *what,
                                       enum tsr_op_kind kind, size_t a,
                                       const struct tsr_view *scale, double zero, size_t out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, out);
  struct tsri_tr_item item = tsri_tr_item(kind, 1, 1, 1, 1);
  struct tsr_view va = tsri_tr_view_flat(t, a), vo = tsri_tr_view_flat(t, out);
  tsri_tr_split(s.n, s.rank, s.dim, &item.op.m, &item.op.n);
  item.op.attr.zero = zero;
  item.op.format_b = "fp32";
  TSRI_TRY(tsri_tr_bind(t, &item.bind.a, &va));
  TSRI_TRY(tsri_tr_bind(t, &item.bind.b, scale));
  tsri_tr_bind_out(&item, &vo);
  return tsri_tr_emit(t, what, &item);
}

/* Whole numbers within what a type holds. */
static void limits(enum tsr_dtype type, double *low, double *high) {
  bool is_signed = type == TSR_DTYPE_I8 || type == TSR_DTYPE_I16 || type == TSR_DTYPE_I32;
  double all = 1;
  for (unsigned i = 0; i < 8 * tsr_dtype_bytes(type); i++) all *= 2;
  *low = is_signed ? -all / 2 : 0;
  *high = *low + all - 1;
}

/* Whole numbers plus zero points that are data or differ, clipped into out. */
static enum tsr_status add_zeros(struct tsri_tr *t, size_t q, size_t zero, size_t out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, out);
  double low, high;
  size_t sum, clipped;
  struct tsr_op_attr attr = {.alpha = 0};
  limits(s.type, &low, &high);
  attr.alpha = low;
  attr.beta = high;
  TSRI_TRY(tsri_tr_temp(t, "shifted", TSR_DTYPE_I32, s.rank, s.dim, &sum));
  TSRI_TRY(tsri_tr_binary(t, "shifted", TSR_OP_ADD, q, zero, sum));
  TSRI_TRY(tsri_tr_temp(t, "clipped", TSR_DTYPE_I32, s.rank, s.dim, &clipped));
  TSRI_TRY(tsri_tr_unary(t, "clipped", TSR_OP_CLIP, &attr, sum, clipped));
  struct tsr_view src = tsri_tr_view(t, clipped), dst = tsri_tr_view(t, out);
  return tsri_tr_copy(t, "codes", &src, &dst);
}

/* ---- QuantizeLinear, DequantizeLinear ---- */

/* How the scales of a node meet its input. */
struct scaling {
  size_t scale, zero;
  int axis;
  uint64_t block; /* indices that share a scale, 0: none do */
};

static enum tsr_status scaling_of(struct tsri_tr *t, const struct tsr_net_node *n,
                                  struct scaling *q) {
  struct tsri_tr_shape x = tsri_tr_shape_of(t, n->in[0]), s = tsri_tr_shape_of(t, n->in[1]);
  unsigned axis;
  *q = (struct scaling){.scale = n->in[1], .zero = tsri_tr_in(n, 2), .axis = NOT};
  q->block = (uint64_t)tsr_net_attr_int(n, "block_size", 0);
  if (!q->block && s.n == 1) return TSR_OK;
  if (!tsr_net_axis(tsr_net_attr_int(n, "axis", 1), x.rank, &axis))
    return tsri_tr_refuse(t, n, "an axis that the input does not have");
  q->axis = (int)axis;
  return TSR_OK;
}

/* Each index of the axis looks up its block. */
static enum tsr_status block_view(struct tsri_tr *t, const struct scaling *q,
                                  const struct tsri_tr_shape *x, struct tsr_view *v) {
  uint64_t n = x->dim[q->axis];
  int64_t *table = tsr_arena_array(t->net->arena, n, sizeof *table);
  if (!table) return tsr_err_nomem(t->err);
  for (uint64_t i = 0; i < n; i++) table[i] = (int64_t)(i / q->block);
  *v = tsri_tr_view_blank(t, q->scale, x->rank, x->dim);
  for (unsigned d = 0; d < x->rank; d++) tsri_tr_view_move(v, d, d, 1);
  v->table[q->axis] = table;
  v->n_table[q->axis] = n;
  return TSR_OK;
}

/* Zero points in the shape in which they meet x. */
static enum tsr_status zero_shaped(struct tsri_tr *t, const struct scaling *q,
                                   const struct tsri_tr_shape *x, size_t *out) {
  uint64_t dim[TSR_RANK_MAX];
  unsigned rank = 0;
  for (unsigned d = 0; q->axis != NOT && d < x->rank - (unsigned)q->axis; d++)
    dim[rank++] = d ? 1 : x->dim[q->axis];
  return tsri_tr_reshaped(t, q->zero, rank, dim, out);
}

static enum tsr_status scale_node(struct tsri_tr *t, const struct tsr_net_node *n,
                                  const struct scaling *q, const char *what,
                                  enum tsr_op_kind kind, size_t a, double zero, size_t out) {
  struct tsri_tr_shape x = tsri_tr_shape_of(t, n->in[0]);
  if (!q->block) return emit_scale(t, what, kind, a, q->scale, q->axis, zero, out);
  struct tsr_view v;
  TSRI_TRY(block_view(t, q, &x, &v));
  return emit_scale_full(t, what, kind, a, &v, zero, out);
}

static enum tsr_status lower_quantize(struct tsri_tr *t, const struct tsr_net_node *n,
                                      const void *arg) {
  (void)arg;
  struct scaling q;
  size_t out = tsri_tr_out(n, 0), whole, zeros;
  struct tsri_tr_shape x = tsri_tr_shape_of(t, n->in[0]);
  double zero;
  if (x.n == 0) return TSR_OK;
  TSRI_TRY(scaling_of(t, n, &q));
  if (uniform(t, q.zero, &zero))
    return scale_node(t, n, &q, NULL, TSR_OP_QUANTISE, n->in[0], zero, out);
  if (q.block) return tsri_tr_refuse(t, n, "zero points that differ from block to block");
  TSRI_TRY(tsri_tr_temp(t, "whole", TSR_DTYPE_I32, x.rank, x.dim, &whole));
  TSRI_TRY(scale_node(t, n, &q, "whole", TSR_OP_QUANTISE, n->in[0], 0, whole));
  TSRI_TRY(zero_shaped(t, &q, &x, &zeros));
  return add_zeros(t, whole, zeros, out);
}

static enum tsr_status lower_dequantize(struct tsri_tr *t, const struct tsr_net_node *n,
                                        const void *arg) {
  (void)arg;
  struct scaling q;
  size_t out = tsri_tr_out(n, 0), less, zeros;
  struct tsri_tr_shape x = tsri_tr_shape_of(t, n->in[0]);
  double zero;
  if (x.n == 0) return TSR_OK;
  TSRI_TRY(scaling_of(t, n, &q));
  if (uniform(t, q.zero, &zero))
    return scale_node(t, n, &q, NULL, TSR_OP_DEQUANTISE, n->in[0], zero, out);
  if (q.block) return tsri_tr_refuse(t, n, "zero points that differ from block to block");
  TSRI_TRY(zero_shaped(t, &q, &x, &zeros));
  TSRI_TRY(tsri_tr_temp(t, "less_zero", TSR_DTYPE_I32, x.rank, x.dim, &less));
  TSRI_TRY(tsri_tr_binary(t, "less_zero", TSR_OP_SUB, n->in[0], zeros, less));
  return scale_node(t, n, &q, "dequantise", TSR_OP_DEQUANTISE, less, 0, out);
}

/* ---- DynamicQuantizeLinear ---- */

static enum tsr_status number(struct tsri_tr *t, const char *what, enum tsr_dtype type,
                              size_t *out) {
  return tsri_tr_temp(t, what, type, 0, NULL, out);
}

/* The scale: the range, which holds 0, by 255; 1 where there is none. */
static enum tsr_status dynamic_scale(struct tsri_tr *t, size_t x, size_t *least, size_t scale) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, x);
  size_t low, high, most, range, step, none;
  TSRI_TRY(number(t, "low", s.type, &low));
  TSRI_TRY(tsri_tr_rows(t, "low", TSR_OP_ROWMIN, 0, 1, s.n, x, low));
  TSRI_TRY(number(t, "high", s.type, &high));
  TSRI_TRY(tsri_tr_rows(t, "high", TSR_OP_ROWMAX, 0, 1, s.n, x, high));
  TSRI_TRY(number(t, "least", s.type, least));
  TSRI_TRY(tsri_tr_with_number(t, "least", TSR_OP_MIN, low, 0, *least));
  TSRI_TRY(number(t, "most", s.type, &most));
  TSRI_TRY(tsri_tr_with_number(t, "most", TSR_OP_MAX, high, 0, most));
  TSRI_TRY(number(t, "range", s.type, &range));
  TSRI_TRY(tsri_tr_binary(t, "range", TSR_OP_SUB, most, *least, range));
  TSRI_TRY(number(t, "step", s.type, &step));
  TSRI_TRY(tsri_tr_with_number(t, "step", TSR_OP_DIV, range, 255, step));
  TSRI_TRY(number(t, "none", s.type, &none));
  TSRI_TRY(tsri_tr_with_number(t, "none", TSR_OP_EQUAL, range, 0, none));
  return tsri_tr_binary(t, "scale", TSR_OP_ADD, step, none, scale);
}

static enum tsr_status lower_dynamic(struct tsri_tr *t, const struct tsr_net_node *n,
                                     const void *arg) {
  (void)arg;
  size_t x = n->in[0], y = tsri_tr_out(n, 0), scale = tsri_tr_out(n, 1);
  size_t zero = tsri_tr_out(n, 2), least, minus, whole;
  struct tsri_tr_shape s = tsri_tr_shape_of(t, x);
  if (s.n == 0) return tsri_tr_refuse(t, n, "a range over no elements is not supported");
  if (scale == SIZE_MAX) TSRI_TRY(number(t, "scale", s.type, &scale));
  if (zero == SIZE_MAX) TSRI_TRY(number(t, "zero", TSR_DTYPE_U8, &zero));
  TSRI_TRY(dynamic_scale(t, x, &least, scale));
  TSRI_TRY(number(t, "minus", s.type, &minus));
  TSRI_TRY(tsri_tr_unary(t, "minus", TSR_OP_NEG, NULL, least, minus));
  TSRI_TRY(emit_scale(t, "zero", TSR_OP_QUANTISE, minus, scale, NOT, 0, zero));
  if (y == SIZE_MAX) return TSR_OK;
  TSRI_TRY(tsri_tr_temp(t, "whole", TSR_DTYPE_I32, s.rank, s.dim, &whole));
  TSRI_TRY(emit_scale(t, "whole", TSR_OP_QUANTISE, x, scale, NOT, 0, whole));
  return add_zeros(t, whole, zero, y);
}

/* ---- QLinearMatMul, QLinearConv ---- */

/* Inputs of both. */
enum { QA, QA_SCALE, QA_ZERO, QB, QB_SCALE, QB_ZERO, QY_SCALE, QY_ZERO, Q_BIAS };

/* The scale of the sums, y / (a * b), a new constant; *axis: along which it differs. */
static enum tsr_status sum_scale(const struct integer *s, size_t *out, int *axis) {
  struct tsri_tr *t = s->t;
  const struct tsr_array *a = tsri_tr_constant(t, s->n->in[QA_SCALE]),
                         *b = tsri_tr_constant(t, s->n->in[QB_SCALE]),
                         *y = tsri_tr_constant(t, s->n->in[QY_SCALE]);
  if (!a || !b || !y) return tsri_tr_refuse(t, s->n, "scales that are no constants");
  if (y->n != 1 || (a->n > 1 && b->n > 1) || a->rank > 1 || b->rank > 1)
    return tsri_tr_refuse(t, s->n, "scales for each row and column, or of their own batches");
  uint64_t n = a->n > b->n ? a->n : b->n;
  struct tsr_array *to;
  *axis = a->n > 1    ? (int)s->out.rank - 2
          : b->n == 1 ? NOT
          : s->conv   ? 1
                      : (int)s->out.rank - 1;
  TSRI_TRY(tsri_tr_const(t, "scale", TSR_DTYPE_F32, 1, &n, out, &to));
  for (uint64_t i = 0; i < n; i++) to->f[i] = tsr_array_get(y, 0) / (pick(a, i) * pick(b, i));
  return TSR_OK;
}

static enum tsr_status lower_qlinear(struct tsri_tr *t, const struct tsr_net_node *n,
                                     const void *arg) {
  struct integer s;
  size_t out = tsri_tr_out(n, 0), sum, bias = tsri_tr_in(n, Q_BIAS), scale, with = SIZE_MAX;
  bool conv = arg != NULL;
  double zero;
  int axis = NOT;
  if (tsri_tr_shape_of(t, out).n == 0) return TSR_OK;
  TSRI_TRY(
      integer_of(t, n, conv, n->in[QA], n->in[QB], n->in[QA_ZERO], n->in[QB_ZERO], &out, &s));
  if (conv) TSRI_TRY(tsri_tr_conv_of(t, n, QA, QB, &s.c));
  TSRI_TRY(sum_scale(&s, &scale, &axis));
  if (!uniform(t, n->in[QY_ZERO], &zero))
    return tsri_tr_refuse(t, n, "a zero point of the result that is no constant, or not one");
  TSRI_TRY(tsri_tr_temp(t, "sum", TSR_DTYPE_I32, s.out.rank, s.out.dim, &sum));
  TSRI_TRY(emit_integer(&s, sum));
  if (bias != SIZE_MAX) {
    TSRI_TRY(as_columns(&s, bias, &bias));
    TSRI_TRY(tsri_tr_temp(t, "biased", TSR_DTYPE_I32, s.out.rank, s.out.dim, &with));
    TSRI_TRY(tsri_tr_binary(t, "bias", TSR_OP_ADD, sum, bias, with));
    sum = with;
  }
  return emit_scale(t, "quantise", TSR_OP_QUANTISE, sum, scale, axis, zero, out);
}

/* ---- products of dequantised values ---- */

struct codes {
  size_t value, scale, zero;
  int axis;
  bool turned; /* the product reads them transposed */
};

static bool are_codes(enum tsr_dtype type) {
  return type == TSR_DTYPE_U8 || type == TSR_DTYPE_I8;
}

/* What a value was dequantised from, with constant scales and zero points, perhaps transposed
 * behind (a matrix of weights). */
static bool codes_of(const struct tsri_tr *t, size_t value, bool weights, struct codes *c) {
  const struct tsr_net *net = t->net;
  size_t p = value == SIZE_MAX ? SIZE_MAX : net->values[value].producer;
  *c = (struct codes){.axis = NOT};
  if (p != SIZE_MAX && weights && net->nodes[p].op == TSR_NET_TRANSPOSE &&
      net->values[value].rank == 2) {
    size_t n_perm;
    const int64_t *perm = tsr_net_attr_ints(&net->nodes[p], "perm", &n_perm);
    c->turned = !perm || perm[0] == 1;
    value = net->nodes[p].in[0];
    p = net->values[value].producer;
  }
  if (p == SIZE_MAX || net->nodes[p].op != TSR_NET_DEQUANTIZE_LINEAR) return false;
  const struct tsr_net_node *n = &net->nodes[p];
  c->value = n->in[0];
  c->scale = n->in[1];
  c->zero = tsri_tr_in(n, 2);
  const struct tsr_array *scale = tsri_tr_constant(t, c->scale);
  unsigned axis = 0, rank = net->values[c->value].rank;
  if (!scale || tsr_net_attr_int(n, "block_size", 0) || !are_codes(net->values[c->value].type))
    return false;
  if (c->zero != SIZE_MAX && !tsri_tr_constant(t, c->zero)) return false;
  if (scale->n > 1 && !tsr_net_axis(tsr_net_attr_int(n, "axis", 1), rank, &axis)) return false;
  if (scale->n > 1) c->axis = (int)axis;
  return true;
}

/* Both operands as codes, where the product has a form for them. */
static bool take_codes(const struct tsri_tr *t, const struct tsr_net_node *n, struct codes *a,
                       struct codes *b) {
  bool conv = n->op == TSR_NET_CONV, gemm = n->op == TSR_NET_GEMM;
  if (!codes_of(t, n->in[0], false, a) || !codes_of(t, n->in[1], !conv, b)) return false;
  if (a->axis != NOT || (gemm && (tsr_net_attr_float(n, "alpha", 1) != 1 ||
                                  tsr_net_attr_float(n, "beta", 1) != 1)))
    return false;
  unsigned ra = t->net->values[a->value].rank, rb = t->net->values[b->value].rank;
  bool constant = tsri_tr_constant(t, b->value) != NULL;
  if (conv) return constant && (b->axis == NOT || b->axis == 0);
  if (gemm && tsr_net_attr_int(n, "transB", 0)) b->turned = !b->turned;
  if (ra < 2 || rb < 2) return false;
  if (!gemm && b->turned && ra > 2) return constant && (b->axis == NOT || b->axis == 0);
  return b->axis == NOT || b->axis == (b->turned ? 0 : (int)rb - 1);
}

/* Codes of weights the other way round, a new constant. */
static enum tsr_status turn(struct tsri_tr *t, size_t value, size_t *out) {
  const struct tsr_array *c = tsri_tr_constant(t, value);
  struct tsr_array *to;
  uint64_t dim[2] = {c->dim[1], c->dim[0]};
  TSRI_TRY(tsri_tr_const(t, "turned", c->type, 2, dim, out, &to));
  for (uint64_t i = 0; i < c->n; i++) to->i[i % dim[0] * dim[1] + i / dim[0]] = c->i[i];
  return TSR_OK;
}

static enum tsr_status product_scale(struct tsri_tr *t, const struct codes *a,
                                     const struct codes *b, size_t *out) {
  const struct tsr_array *sa = tsri_tr_constant(t, a->scale),
                         *sb = tsri_tr_constant(t, b->scale);
  struct tsr_array *to;
  TSRI_TRY(tsri_tr_const(t, "scale", TSR_DTYPE_F32, 1, &sb->n, out, &to));
  for (uint64_t i = 0; i < to->n; i++) to->f[i] = tsr_array_get(sa, 0) * tsr_array_get(sb, i);
  return TSR_OK;
}

enum tsr_status tsri_tr_on_codes(struct tsri_tr *t, const struct tsr_net_node *n, bool *done) {
  struct codes a, b;
  struct integer s;
  size_t out = tsri_tr_out(n, 0), sum, scale, to = out, bias = tsri_tr_in(n, 2);
  *done = false;
  if (!take_codes(t, n, &a, &b) || tsri_tr_shape_of(t, out).n == 0) return TSR_OK;
  bool conv = n->op == TSR_NET_CONV;
  if (b.turned && n->op == TSR_NET_MATMUL && tsri_tr_constant(t, b.value)) {
    TSRI_TRY(turn(t, b.value, &b.value));
    b.turned = false;
  }
  TSRI_TRY(integer_of(t, n, conv, a.value, b.value, a.zero, b.zero, &out, &s));
  s.tb = b.turned;
  s.ta = n->op == TSR_NET_GEMM && tsr_net_attr_int(n, "transA", 0);
  if (conv) TSRI_TRY(tsri_tr_conv_of(t, n, 0, 1, &s.c));
  TSRI_TRY(product_scale(t, &a, &b, &scale));
  TSRI_TRY(tsri_tr_temp(t, "sum", TSR_DTYPE_I32, s.out.rank, s.out.dim, &sum));
  TSRI_TRY(emit_integer(&s, sum));
  if (bias != SIZE_MAX)
    TSRI_TRY(tsri_tr_temp(t, "scaled", s.out.type, s.out.rank, s.out.dim, &to));
  int axis = b.axis == NOT ? NOT : conv ? 1 : (int)s.out.rank - 1;
  TSRI_TRY(emit_scale(t, "dequantise", TSR_OP_DEQUANTISE, sum, scale, axis, 0, to));
  *done = true;
  if (bias == SIZE_MAX) return TSR_OK;
  if (conv) TSRI_TRY(as_columns(&s, bias, &bias));
  return tsri_tr_binary(t, "bias", TSR_OP_ADD, to, bias, out);
}

static const bool is_conv = true;
const struct tsri_tr_row tsri_tr_integer_rows[] = {
    {"MatMulInteger", lower_integer, NULL},
    {"ConvInteger", lower_integer, &is_conv},
    {"QLinearMatMul", lower_qlinear, NULL},
    {"QLinearConv", lower_qlinear, &is_conv},
    {"QuantizeLinear", lower_quantize, NULL},
    {"DequantizeLinear", lower_dequantize, NULL},
    {"DynamicQuantizeLinear", lower_dynamic, NULL},
    {NULL, NULL, NULL}};
