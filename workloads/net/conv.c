/* Convolutions of one to three spatial dimensions (SRC:onnx_operators), by rows of patches and
 * the blocked product; one and two dimensions are three with leading 1s.
 *
 * The quantised forms hold integers in doubles (exact: 9-bit differences in sums of up to 2^35
 * products); the zero point is taken off before padding, so padding is with the zero point.
 * Scales of QLinearConv are multiplied and divided in double precision,
 * (x_scale * w_scale / y_scale) first, before the one rounding to even. */
#include <string.h>

#include "workloads/net/dense_int.h"
#include "workloads/net/operand_int.h"

/* A convolution (or a transposed one) of x to y. */
struct conv {
  uint64_t batch, groups, c, m;      /* channels of x and y, all groups */
  uint64_t in[3], out[3], kernel[3]; /* x, y */
  uint64_t stride[3], dil[3], pad[3];
  uint64_t n_in, n_out, n_kernel; /* their products */
};

static void conv_of(const struct tsr_net_window *w, uint64_t batch, uint64_t c, uint64_t m,
                    struct conv *v) {
  *v = (struct conv){.batch = batch, .groups = w->groups, .c = c, .m = m};
  for (unsigned d = 0; d < 3; d++) {
    bool has = d + w->dims >= 3;
    unsigned s = has ? d + w->dims - 3 : 0;
    v->in[d] = has ? w->in[s] : 1;
    v->out[d] = has ? w->out[s] : 1;
    v->kernel[d] = has ? w->kernel[s] : 1;
    v->stride[d] = has ? w->stride[s] : 1;
    v->dil[d] = has ? w->dil[s] : 1;
    v->pad[d] = has ? w->pad_lo[s] : 0;
  }
  v->n_in = tsri_count(v->in, 0, 3);
  v->n_out = tsri_count(v->out, 0, 3);
  v->n_kernel = tsri_count(v->kernel, 0, 3);
}

/* ---- patches ---- */

/* Patches are those of `whole`, at the places of `sites` (x and y of a convolution, y and x of
 * a transposed one).  A column matrix has a row for every (channel, kernel element) of a group
 * and a column for each of some rows of sites. */
struct patches {
  const uint64_t *whole, *sites;
  uint64_t row0, n_rows; /* of sites, sites[2] wide */
};

/* The sites [*lo, *hi) along the last dimension whose element k lies inside. */
static void inside(const struct conv *v, const struct patches *p, uint64_t k, uint64_t *lo,
                   uint64_t *hi) {
  uint64_t at = k * v->dil[2], pad = v->pad[2], stride = v->stride[2];
  *lo = at >= pad ? 0 : tsr_ceil_div(pad - at, stride);
  uint64_t end = p->whole[2] + pad; /* at + site * stride < end */
  *hi = at >= end ? 0 : tsr_ceil_div(end - at, stride);
  *hi = tsr_min_u64(*hi, p->sites[2]);
  if (*lo > *hi) *lo = *hi;
}

/* Where row `r` of sites begins in `whole` for the kernel element; false: outside. */
static bool line(const struct conv *v, const struct patches *p, uint64_t r, uint64_t kz,
                 uint64_t ky, uint64_t *at) {
  uint64_t z = r / p->sites[1] * v->stride[0] + kz * v->dil[0];
  uint64_t y = r % p->sites[1] * v->stride[1] + ky * v->dil[1];
  if (z < v->pad[0] || z - v->pad[0] >= p->whole[0]) return false;
  if (y < v->pad[1] || y - v->pad[1] >= p->whole[1]) return false;
  *at = ((z - v->pad[0]) * p->whole[1] + y - v->pad[1]) * p->whole[2];
  return true;
}

/* One row of the column matrix: element k of the kernel in one channel at all sites. */
static void take(const struct conv *v, const struct patches *p, uint64_t k, const double *x,
                 double *col) {
  uint64_t kx = k % v->kernel[2], lo, hi, at;
  uint64_t ky = k / v->kernel[2] % v->kernel[1], kz = k / v->kernel[2] / v->kernel[1];
  inside(v, p, kx, &lo, &hi);
  for (uint64_t r = 0; r < p->n_rows; r++, col += p->sites[2]) {
    bool in = line(v, p, p->row0 + r, kz, ky, &at);
    if (!in) at = 0;
    uint64_t from = in ? lo : 0, to = in ? hi : 0;
    memset(col, 0, from * sizeof *col);
    for (uint64_t i = from; i < to; i++)
      col[i] = x[at + kx * v->dil[2] + i * v->stride[2] - v->pad[2]];
    memset(col + to, 0, (p->sites[2] - to) * sizeof *col);
  }
}

/* The way back: adds the row of the column matrix to the places that it stands for. */
static void give(const struct conv *v, const struct patches *p, uint64_t k, const double *col,
                 double *y) {
  uint64_t kx = k % v->kernel[2], lo, hi, at;
  uint64_t ky = k / v->kernel[2] % v->kernel[1], kz = k / v->kernel[2] / v->kernel[1];
  inside(v, p, kx, &lo, &hi);
  for (uint64_t r = 0; r < p->n_rows; r++, col += p->sites[2]) {
    if (!line(v, p, p->row0 + r, kz, ky, &at)) continue;
    for (uint64_t i = lo; i < hi; i++)
      y[at + kx * v->dil[2] + i * v->stride[2] - v->pad[2]] += col[i];
  }
}

/* Rows of sites at a time, so that a column matrix stays within some MB. */
static uint64_t rows_at_once(const uint64_t *sites, uint64_t depth) {
  uint64_t row = tsr_max_u64(1, depth * sites[2]), most = (UINT64_C(1) << 19) / row;
  return tsr_min_u64(tsr_max_u64(most, 1), sites[0] * sites[1]);
}

/* A kernel of single elements that meets every one: x is its own column matrix. */
static bool is_pointwise(const struct conv *v) {
  bool yes = v->n_kernel == 1;
  for (unsigned d = 0; d < 3; d++)
    yes = yes && v->stride[d] == 1 && v->pad[d] == 0 && v->in[d] == v->out[d];
  return yes;
}

/* ---- the convolution and its transpose ---- */

/* y += of one image and group: w[m][k], x[c][in], y[m][out]. */
static bool conv_group(const struct conv *v, const double *w, const double *x, double *y,
                       double *col, uint64_t rows) {
  uint64_t depth = v->c / v->groups * v->n_kernel, all = v->out[0] * v->out[1];
  struct tsri_mm mm = {.m = v->m / v->groups, .k = depth, .c_row = v->n_out};
  mm.a = (struct tsri_mat){w, depth, 1, NULL, NULL};
  if (is_pointwise(v)) {
    mm.n = v->n_out;
    mm.b = (struct tsri_mat){x, v->n_in, 1, NULL, NULL};
    mm.c = y;
    return tsri_mm(&mm);
  }
  for (uint64_t r = 0; r < all; r += rows) {
    struct patches p = {v->in, v->out, r, tsr_min_u64(rows, all - r)};
    mm.n = p.n_rows * v->out[2];
    for (uint64_t k = 0; k < depth; k++)
      take(v, &p, k % v->n_kernel, x + k / v->n_kernel * v->n_in, col + k * mm.n);
    mm.b = (struct tsri_mat){col, mm.n, 1, NULL, NULL};
    mm.c = y + r * v->out[2];
    if (!tsri_mm(&mm)) return false;
  }
  return true;
}

/* y += : w[c][m * kernel], x[c][in], y[m][out]. */
static bool transpose_group(const struct conv *v, const double *w, const double *x, double *y,
                            double *col, uint64_t rows) {
  uint64_t depth = v->m / v->groups * v->n_kernel, all = v->in[0] * v->in[1];
  struct tsri_mm mm = {.m = depth, .k = v->c / v->groups, .c = col};
  mm.a = (struct tsri_mat){w, 1, depth, NULL, NULL};
  for (uint64_t r = 0; r < all; r += rows) {
    struct patches p = {v->out, v->in, r, tsr_min_u64(rows, all - r)};
    mm.n = mm.c_row = p.n_rows * v->in[2];
    mm.b = (struct tsri_mat){x + r * v->in[2], v->n_in, 1, NULL, NULL};
    memset(col, 0, depth * mm.n * sizeof *col);
    if (!tsri_mm(&mm)) return false;
    for (uint64_t k = 0; k < depth; k++)
      give(v, &p, k % v->n_kernel, col + k * mm.n, y + k / v->n_kernel * v->n_out);
  }
  return true;
}

/* y += the whole convolution; false: out of memory. */
static bool convolve(const struct conv *v, bool transposed, const double *w, const double *x,
                     double *y) {
  if (!v->n_out || !v->batch || !v->m || !v->groups) return true;
  uint64_t c = v->c / v->groups, m = v->m / v->groups;
  const uint64_t *sites = transposed ? v->in : v->out;
  uint64_t depth = (transposed ? m : c) * v->n_kernel, rows = rows_at_once(sites, depth);
  double *col = tsri_doubles(rows * sites[2] * depth);
  bool ok = col != NULL;
  for (uint64_t i = 0; ok && i < v->batch * v->groups; i++) {
    const double *part = w + i % v->groups * c * m * v->n_kernel;
    ok = (transposed ? transpose_group : conv_group)(v, part, x + i * c * v->n_in,
                                                     y + i * m * v->n_out, col, rows);
  }
  tsr_mem_free(col);
  return ok;
}

/* ---- floats ---- */

/* x of batch, channels and at least one more dimension; w of as many; groups that divide. */
static enum tsr_status conv_shape(const struct tsri_infer *c, size_t ix, size_t iw,
                                  bool transposed, struct tsr_net_window *w, struct conv *v) {
  const struct tsr_net_value *x = tsri_in(c, ix), *k = tsri_in(c, iw);
  enum tsr_status s = tsri_window(c, w); /* ranks too */
  if (s != TSR_OK) return s;
  uint64_t g = w->groups, m = transposed ? k->dim[1] * g : k->dim[0];
  bool fit = g && x->dim[1] % g == 0 && m % g == 0 &&
             (transposed ? k->dim[0] == x->dim[1] : k->dim[1] * g == x->dim[1]);
  if (!fit)
    return tsri_fail(
        c->net, c->node, c->err,
        "channels that do not fit group=%llu; expected weights %s, got x %s and w %s",
        (unsigned long long)g,
        transposed ? "[channels of x, m/group, ..]" : "[m, channels of x/group, ..]",
        tsri_net_shape_text(x->rank, x->dim).s, tsri_net_shape_text(k->rank, k->dim).s);
  conv_of(w, x->dim[0], x->dim[1], m, v);
  return TSR_OK;
}

static enum tsr_status set_conv(struct tsri_infer *c, const struct tsr_net_window *w,
                                const struct conv *v, enum tsr_dtype type) {
  uint64_t dim[TSR_RANK_MAX] = {v->batch, v->m};
  for (unsigned d = 0; d < w->dims; d++) dim[2 + d] = w->out[d];
  return tsri_set(c, 0, type, 2 + w->dims, dim);
}

static enum tsr_status infer_float(struct tsri_infer *c, bool transposed) {
  struct tsr_net_window w;
  struct conv v;
  enum tsr_status s = tsri_want_float(c, 0);
  if (s == TSR_OK) s = tsri_want_type_of(c, 1, 0);
  if (s == TSR_OK) s = tsri_want_type_of(c, 2, 0);
  if (s == TSR_OK) s = conv_shape(c, 0, 1, transposed, &w, &v);
  if (s == TSR_OK) s = tsri_want_list(c, 2, "the bias", v.m);
  return s == TSR_OK ? set_conv(c, &w, &v, tsri_in(c, 0)->type) : s;
}

static enum tsr_status eval_float(struct tsri_eval *c, bool transposed) {
  struct tsr_net_window w;
  struct conv v;
  struct tsr_array *y = tsri_result(c, 0);
  if (!y) return TSR_OK;
  enum tsr_status s = conv_shape(c->shape, 0, 1, transposed, &w, &v);
  if (s != TSR_OK) return s;
  const struct tsr_array *bias = tsri_arg(c, 2);
  for (uint64_t i = 0; bias && i < y->n; i++) y->f[i] = bias->f[i / v.n_out % v.m];
  return convolve(&v, transposed, tsri_arg(c, 1)->f, tsri_arg(c, 0)->f, y->f)
             ? TSR_OK
             : tsr_err_nomem(c->err);
}

enum tsr_status tsri_infer_conv(struct tsri_infer *c) {
  return infer_float(c, false);
}

enum tsr_status tsri_eval_conv(struct tsri_eval *c) {
  return eval_float(c, false);
}

enum tsr_status tsri_infer_conv_transpose(struct tsri_infer *c) {
  return infer_float(c, true);
}

enum tsr_status tsri_eval_conv_transpose(struct tsri_eval *c) {
  return eval_float(c, true);
}

/* ---- integers ---- */

static const enum tsr_dtype bytes[] = {TSR_DTYPE_U8, TSR_DTYPE_I8, TSR_DTYPE_NONE};

/* An array less its zero point: one, or one for each of `lists` equal parts. */
static double *centred(const struct tsr_array *a, const struct tsr_array *zero) {
  double *out = tsri_doubles(a->n);
  uint64_t part = zero && zero->n > 1 ? a->n / zero->n : 0;
  for (uint64_t i = 0; out && i < a->n; i++)
    out[i] = (double)(a->i[i] - (zero ? zero->i[part ? i / part : 0] : 0));
  return out;
}

/* The exact sums, [batch][m][out]; *sum is the caller's. */
static enum tsr_status integer_conv(struct tsri_eval *c, const struct conv *v, size_t ix,
                                    size_t ixz, size_t iw, size_t iwz, double **sum) {
  double *x = centred(tsri_arg(c, ix), tsri_arg(c, ixz));
  double *w = centred(tsri_arg(c, iw), tsri_arg(c, iwz));
  *sum = tsri_doubles(v->batch * v->m * v->n_out);
  bool ok = x && w && *sum && convolve(v, false, w, x, *sum);
  tsr_mem_free(x);
  tsr_mem_free(w);
  if (ok) return TSR_OK;
  tsr_mem_free(*sum);
  *sum = NULL;
  return tsr_err_nomem(c->err);
}

enum tsr_status tsri_infer_conv_integer(struct tsri_infer *c) {
  struct tsr_net_window w;
  struct conv v;
  enum tsr_status s = tsri_want_types(c, 0, bytes);
  if (s == TSR_OK) s = tsri_want_types(c, 1, bytes);
  if (s == TSR_OK) s = tsri_want_type_of(c, 2, 0);
  if (s == TSR_OK) s = tsri_want_type_of(c, 3, 1);
  if (s == TSR_OK) s = conv_shape(c, 0, 1, false, &w, &v);
  if (s == TSR_OK) s = tsri_want_list_or_one(c, 2, "x_zero_point", 1);
  if (s == TSR_OK) s = tsri_want_list_or_one(c, 3, "w_zero_point", v.m);
  return s == TSR_OK ? set_conv(c, &w, &v, TSR_DTYPE_I32) : s;
}

enum tsr_status tsri_eval_conv_integer(struct tsri_eval *c) {
  struct tsr_net_window w;
  struct conv v;
  double *sum;
  struct tsr_array *y = tsri_result(c, 0);
  if (!y) return TSR_OK;
  enum tsr_status s = conv_shape(c->shape, 0, 1, false, &w, &v);
  if (s == TSR_OK) s = integer_conv(c, &v, 0, 2, 1, 3, &sum);
  if (s != TSR_OK) return s;
  for (uint64_t i = 0; i < y->n; i++) y->i[i] = tsr_dtype_wrap(y->type, (int64_t)sum[i]);
  tsr_mem_free(sum);
  return s;
}

/* Inputs of QLinearConv. */
enum { QX, QX_SCALE, QX_ZERO, QW, QW_SCALE, QW_ZERO, QY_SCALE, QY_ZERO, Q_BIAS };

enum tsr_status tsri_infer_qlinear_conv(struct tsri_infer *c) {
  static const enum tsr_dtype bias[] = {TSR_DTYPE_I32, TSR_DTYPE_NONE};
  static const size_t scales[] = {QX_SCALE, QW_SCALE, QY_SCALE};
  struct tsr_net_window w;
  struct conv v;
  for (size_t i = 0; i < Q_BIAS; i++)
    if (!tsri_in(c, i))
      return tsri_fail(c->net, c->node, c->err, "input %zu is left out; expected eight", i);
  enum tsr_status s = TSR_OK;
  for (size_t i = 0; s == TSR_OK && i < 3; i++) s = tsri_want_float(c, scales[i]);
  if (s == TSR_OK) s = tsri_want_types(c, QX, bytes);
  if (s == TSR_OK) s = tsri_want_types(c, QW, bytes);
  if (s == TSR_OK) s = tsri_want_types(c, QY_ZERO, bytes);
  if (s == TSR_OK) s = tsri_want_types(c, Q_BIAS, bias);
  if (s == TSR_OK) s = tsri_want_type_of(c, QX_ZERO, QX);
  if (s == TSR_OK) s = tsri_want_type_of(c, QW_ZERO, QW);
  if (s == TSR_OK) s = conv_shape(c, QX, QW, false, &w, &v);
  if (s == TSR_OK) s = tsri_want_list_or_one(c, QX_SCALE, "x_scale", 1);
  if (s == TSR_OK) s = tsri_want_list_or_one(c, QX_ZERO, "x_zero_point", 1);
  if (s == TSR_OK) s = tsri_want_list_or_one(c, QW_SCALE, "w_scale", v.m);
  if (s == TSR_OK) s = tsri_want_list_or_one(c, QW_ZERO, "w_zero_point", v.m);
  if (s == TSR_OK) s = tsri_want_list_or_one(c, QY_SCALE, "y_scale", 1);
  if (s == TSR_OK) s = tsri_want_list_or_one(c, QY_ZERO, "y_zero_point", 1);
  if (s == TSR_OK) s = tsri_want_list(c, Q_BIAS, "the bias", v.m);
  return s == TSR_OK ? set_conv(c, &w, &v, tsri_in(c, QY_ZERO)->type) : s;
}

enum tsr_status tsri_eval_qlinear_conv(struct tsri_eval *c) {
  struct tsr_net_window w;
  struct conv v;
  double *sum;
  struct tsr_array *y = tsri_result(c, 0);
  if (!y) return TSR_OK;
  enum tsr_status s = conv_shape(c->shape, QX, QW, false, &w, &v);
  if (s == TSR_OK) s = integer_conv(c, &v, QX, QX_ZERO, QW, QW_ZERO, &sum);
  if (s != TSR_OK) return s;
  const struct tsr_array *w_scale = tsri_arg(c, QW_SCALE), *bias = tsri_arg(c, Q_BIAS);
  double x_scale = tsr_array_get(tsri_arg(c, QX_SCALE), 0);
  double y_scale = tsr_array_get(tsri_arg(c, QY_SCALE), 0);
  double zero = tsr_array_get(tsri_arg(c, QY_ZERO), 0);
  for (uint64_t i = 0; i < y->n; i++) {
    uint64_t m = i / v.n_out % v.m;
    double scale = x_scale * tsr_array_get(w_scale, w_scale->n > 1 ? m : 0) / y_scale;
    double add = bias ? (double)bias->i[m] : 0;
    y->i[i] = tsri_quantise(y->type, (sum[i] + add) * scale, zero);
  }
  tsr_mem_free(sum);
  return s;
}
