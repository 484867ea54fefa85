/* Normalisations and poolings.  Images are read and written as NHWC through views. */
#include <math.h> /* sqrt, INFINITY */
#include <string.h>

#include "workloads/translate/translate_int.h"

static enum tsr_status temp_as(struct tsri_tr *t, const char *what, size_t like, size_t *out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, like);
  return tsri_tr_temp(t, what, s.type, s.rank, s.dim, out);
}

/* ---- over the last axes ---- */

/* Rows of the axes from `axis` on. */
struct rows {
  uint64_t m, n;
  unsigned rank; /* of a row */
  uint64_t dim[TSR_RANK_MAX];
};

static struct rows rows_from(const struct tsri_tr_shape *s, unsigned axis) {
  struct rows r = {.m = 1, .n = 1};
  for (unsigned d = 0; d < s->rank; d++) {
    *(d < axis ? &r.m : &r.n) *= s->dim[d];
    if (d >= axis) r.dim[r.rank++] = s->dim[d];
  }
  return r;
}

/* Gain and bias of a row: a row of each; without bias a row of zeros. */
static enum tsr_status gain_bias(struct tsri_tr *t, const struct rows *r, size_t gain,
                                 size_t bias, struct tsr_operand_view *o) {
  const struct tsr_net_node *n = &t->net->nodes[t->node];
  if (tsri_tr_shape_of(t, gain).rank > r->rank ||
      (bias != SIZE_MAX && tsri_tr_shape_of(t, bias).rank > r->rank))
    return tsri_tr_refuse(t, n, "its scale or bias differs from row to row");
  struct tsr_view v[2] = {tsri_tr_view_broadcast(t, gain, r->rank, r->dim)};
  uint64_t cols[2] = {r->n, r->n};
  if (bias == SIZE_MAX) {
    struct tsr_array *zeros;
    enum tsr_status s = tsri_tr_const(t, "no_bias", tsri_tr_shape_of(t, gain).type, r->rank,
                                      r->dim, &bias, &zeros);
    if (s) return s;
  }
  v[1] = tsri_tr_view_broadcast(t, bias, r->rank, r->dim);
  return tsri_tr_bind_parts(t, o, 1, 2, cols, v);
}

/* The statistics that LayerNormalization may return: mean and 1 / sqrt(variance + eps). */
static enum tsr_status statistics(struct tsri_tr *t, const struct tsr_net_node *n,
                                  const struct rows *r, double eps) {
  size_t mean = tsri_tr_out(n, 1), inverse = tsri_tr_out(n, 2), x = SIZE_MAX;
  if (mean == SIZE_MAX && inverse == SIZE_MAX) return TSR_OK;
  enum tsr_dtype type = tsri_tr_shape_of(t, n->in[0]).type;
  uint64_t one[2] = {r->m, 1}, all[2] = {r->m, r->n};
  size_t m = SIZE_MAX, off = SIZE_MAX, square = SIZE_MAX, variance = SIZE_MAX;
  enum tsr_status s = tsri_tr_reshaped(t, n->in[0], 2, all, &x);
  if (!s) s = tsri_tr_temp(t, "mean", type, 2, one, &m);
  if (!s) s = tsri_tr_rows(t, "mean", TSR_OP_ROWMEAN, 0, r->m, r->n, x, m);
  if (!s) s = tsri_tr_alias(t, m, mean);
  if (s || inverse == SIZE_MAX) return s;
  struct tsr_op_attr share = {.alpha = 1.0 / (double)r->n, .beta = eps};
  s = tsri_tr_temp(t, "less_mean", type, 2, all, &off);
  if (!s) s = tsri_tr_temp(t, "squares", type, 2, one, &square);
  if (!s) s = tsri_tr_temp(t, "variance", type, 2, one, &variance);
  if (!s) s = tsri_tr_binary(t, "less_mean", TSR_OP_SUB, x, m, off);
  if (!s) s = tsri_tr_rows(t, "squares", TSR_OP_ROWSUMSQ, 0, r->m, r->n, off, square);
  if (!s) s = tsri_tr_unary(t, "variance", TSR_OP_AFFINE, &share, square, variance);
  return s ? s : tsri_tr_unary(t, "inverse", TSR_OP_RSQRT, NULL, variance, inverse);
}

enum tsr_status tsri_tr_layer_norm(struct tsri_tr *t, const char *what, size_t x, unsigned axes,
                                   size_t gain, size_t bias, double eps, size_t out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, x);
  struct rows r = rows_from(&s, s.rank - axes);
  struct tsri_tr_item it = tsri_tr_item(TSR_OP_LAYERNORM, r.m, r.n, 1, 1);
  it.op.attr.eps = eps;
  struct tsr_view a = tsri_tr_view_flat(t, x), o = tsri_tr_view_flat(t, out);
  enum tsr_status st = tsri_tr_bind(t, &it.bind.a, &a);
  if (!st) st = gain_bias(t, &r, gain, bias, &it.bind.b);
  tsri_tr_bind_out(&it, &o);
  return st ? st : tsri_tr_emit(t, what, &it);
}

static enum tsr_status layer_norm(struct tsri_tr *t, const struct tsr_net_node *n,
                                  const void *arg) {
  (void)arg;
  struct tsri_tr_shape s = tsri_tr_shape_of(t, n->in[0]);
  unsigned axis = tsri_tr_axis(n, "axis", -1, s.rank);
  struct rows r = rows_from(&s, axis);
  double eps = tsr_net_attr_float(n, "epsilon", 1e-5);
  enum tsr_status st = tsri_tr_layer_norm(t, NULL, n->in[0], s.rank - axis, n->in[1],
                                          tsri_tr_in(n, 2), eps, n->out[0]);
  return st ? st : statistics(t, n, &r, eps);
}

enum tsr_status tsri_tr_rms_norm(struct tsri_tr *t, const char *what, size_t x, unsigned axes,
                                 size_t gain, double eps, size_t out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, x);
  struct rows r = rows_from(&s, s.rank - axes);
  if (tsri_tr_shape_of(t, gain).rank > r.rank)
    return tsri_tr_refuse(t, &t->net->nodes[t->node], "its scale differs from row to row");
  struct tsri_tr_item it = tsri_tr_item(TSR_OP_RMSNORM, r.m, r.n, 1, 1);
  it.op.attr.eps = eps;
  struct tsr_view a = tsri_tr_view_flat(t, x), o = tsri_tr_view_flat(t, out);
  struct tsr_view b = tsri_tr_view_broadcast(t, gain, r.rank, r.dim);
  enum tsr_status st = tsri_tr_bind(t, &it.bind.a, &a);
  if (!st) st = tsri_tr_bind(t, &it.bind.b, &b);
  tsri_tr_bind_out(&it, &o);
  return st ? st : tsri_tr_emit(t, what, &it);
}

static enum tsr_status rms_norm(struct tsri_tr *t, const struct tsr_net_node *n,
                                const void *arg) {
  (void)arg;
  unsigned rank = tsri_tr_shape_of(t, n->in[0]).rank, axis = tsri_tr_axis(n, "axis", -1, rank);
  return tsri_tr_rms_norm(t, NULL, n->in[0], rank - axis, n->in[1],
                          tsr_net_attr_float(n, "epsilon", 1e-5), n->out[0]);
}

/* ---- by channel ---- */

/* x * scale + shift by channel, both views of one element a channel. */
static enum tsr_status by_channel(struct tsri_tr *t, const char *what, size_t x,
                                  const struct tsr_view *scale, const struct tsr_view *shift,
                                  size_t out) {
  struct tsr_view a = tsri_tr_view_nhwc(t, x), o = tsri_tr_view_nhwc(t, out);
  uint64_t c = a.dim[3], cols[2] = {c, c};
  struct tsr_view b[2] = {*scale, *shift};
  struct tsri_tr_item it =
      tsri_tr_item(TSR_OP_BATCHNORM, a.dim[0] * a.dim[1] * a.dim[2], c, 1, 1);
  enum tsr_status s = tsri_tr_bind(t, &it.bind.a, &a);
  if (!s) s = tsri_tr_bind_parts(t, &it.bind.b, 1, 2, cols, b);
  tsri_tr_bind_out(&it, &o);
  return s ? s : tsri_tr_emit(t, what, &it);
}

enum { SCALE, BIAS, MEAN, VARIANCE, PARAMETERS };

/* Scale and shift of constants, as constants. */
static enum tsr_status folded(struct tsri_tr *t, const struct tsr_net_node *n, double eps,
                              size_t *scale, size_t *shift) {
  const struct tsr_array *p[PARAMETERS];
  struct tsri_tr_shape c = tsri_tr_shape_of(t, n->in[1]);
  for (unsigned i = 0; i < PARAMETERS; i++) p[i] = tsri_tr_constant(t, n->in[1 + i]);
  struct tsr_array *a = NULL, *b = NULL;
  enum tsr_status s = tsri_tr_const(t, "scale", c.type, c.rank, c.dim, scale, &a);
  if (!s) s = tsri_tr_const(t, "shift", c.type, c.rank, c.dim, shift, &b);
  for (uint64_t i = 0; !s && i < a->n; i++) {
    double factor = tsr_array_get(p[SCALE], i) / sqrt(tsr_array_get(p[VARIANCE], i) + eps);
    tsr_array_set(a, i, factor);
    tsr_array_set(b, i, tsr_array_get(p[BIAS], i) - tsr_array_get(p[MEAN], i) * factor);
  }
  return s;
}

/* The same by operators, where they come from others. */
static enum tsr_status computed(struct tsri_tr *t, const struct tsr_net_node *n, double eps,
                                size_t *scale, size_t *shift) {
  size_t v = SIZE_MAX, inverse = SIZE_MAX, moved = SIZE_MAX;
  struct tsr_op_attr more = {.alpha = 1, .beta = eps};
  const size_t *p = n->in + 1;
  enum tsr_status s = temp_as(t, "variance", p[0], &v);
  if (!s) s = temp_as(t, "inverse", p[0], &inverse);
  if (!s) s = temp_as(t, "scale", p[0], scale);
  if (!s) s = temp_as(t, "moved", p[0], &moved);
  if (!s) s = temp_as(t, "shift", p[0], shift);
  if (!s) s = tsri_tr_unary(t, "variance", TSR_OP_AFFINE, &more, p[VARIANCE], v);
  if (!s) s = tsri_tr_unary(t, "inverse", TSR_OP_RSQRT, NULL, v, inverse);
  if (!s) s = tsri_tr_binary(t, "scale", TSR_OP_MUL, inverse, p[SCALE], *scale);
  if (!s) s = tsri_tr_binary(t, "moved", TSR_OP_MUL, *scale, p[MEAN], moved);
  return s ? s : tsri_tr_binary(t, "shift", TSR_OP_SUB, p[BIAS], moved, *shift);
}

static enum tsr_status batch_norm(struct tsri_tr *t, const struct tsr_net_node *n,
                                  const void *arg) {
  (void)arg;
  if (tsr_net_attr_int(n, "training_mode", 0) || tsri_tr_out(n, 1) != SIZE_MAX)
    return tsri_tr_refuse(t, n, "it trains; expected inference");
  bool constant = true;
  for (size_t i = 1; i <= PARAMETERS; i++) constant = constant && tsri_tr_constant(t, n->in[i]);
  double eps = tsr_net_attr_float(n, "epsilon", 1e-5);
  size_t scale = SIZE_MAX, shift = SIZE_MAX;
  enum tsr_status s = (constant ? folded : computed)(t, n, eps, &scale, &shift);
  if (s) return s;
  struct tsr_view a = tsri_tr_view_flat(t, scale), b = tsri_tr_view_flat(t, shift);
  return by_channel(t, NULL, n->in[0], &a, &b, n->out[0]);
}

/* Rows normalised: `groups` of each image's channels. */
static enum tsr_status normalised(struct tsri_tr *t, const struct tsr_net_node *n,
                                  uint64_t groups, size_t *out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, n->in[0]);
  uint64_t m = s.dim[0] * groups;
  enum tsr_status st = temp_as(t, "normalised", n->in[0], out);
  if (st || s.n == 0) return st;
  return tsri_tr_rows(t, "normalise", TSR_OP_NORMALISE, tsr_net_attr_float(n, "epsilon", 1e-5),
                      m, s.n / m, n->in[0], *out);
}

static enum tsr_status instance_norm(struct tsri_tr *t, const struct tsr_net_node *n,
                                     const void *arg) {
  (void)arg;
  size_t x = SIZE_MAX;
  enum tsr_status s = normalised(t, n, tsri_tr_shape_of(t, n->in[0]).dim[1], &x);
  if (s) return s;
  struct tsr_view a = tsri_tr_view_flat(t, n->in[1]), b = tsri_tr_view_flat(t, n->in[2]);
  return by_channel(t, "scale", x, &a, &b, n->out[0]);
}

/* One element for each channel, of as many or of one a group. */
static struct tsr_view each_channel(const struct tsri_tr *t, size_t value, uint64_t c) {
  struct tsr_view v = tsri_tr_view_flat(t, value);
  if (v.dim[0] == c) return v;
  v.rank = 2;
  v.dim[1] = v.dim[0] ? c / v.dim[0] : 1;
  v.coef[0][1] = 0;
  return v;
}

static enum tsr_status group_norm(struct tsri_tr *t, const struct tsr_net_node *n,
                                  const void *arg) {
  (void)arg;
  uint64_t c = tsri_tr_shape_of(t, n->in[0]).dim[1];
  size_t x = SIZE_MAX;
  enum tsr_status s = normalised(t, n, (uint64_t)tsr_net_attr_int(n, "num_groups", 1), &x);
  if (s) return s;
  struct tsr_view a = each_channel(t, n->in[1], c), b = each_channel(t, n->in[2], c);
  return by_channel(t, "scale", x, &a, &b, n->out[0]);
}

/* ---- poolings ---- */

/* What a pooling does with its windows. */
struct pool {
  enum tsr_op_kind window, row; /* in the image, of windows copied out */
  bool mean;
};

static uint64_t span(const struct tsr_net_window *w, unsigned d) {
  return (w->kernel[d] - 1) * w->dil[d] + 1;
}

/* Padding behind, as far as windows reach, what ceil_mode adds too. */
static uint64_t reach(const struct tsr_net_window *w, unsigned d) {
  uint64_t last = (w->out[d] - 1) * w->stride[d] + span(w, d), have = w->in[d] + w->pad_lo[d];
  return last > have ? last - have : 0;
}

/* Whether the kinds on images can do it: two dimensions, padding of at most half a window. */
static bool in_image(const struct tsr_net_window *w) {
  bool fits = w->dims <= 2;
  for (unsigned d = 0; fits && d < w->dims; d++)
    fits = w->pad_lo[d] <= span(w, d) / 2 && reach(w, d) <= span(w, d) / 2;
  return fits;
}

static enum tsr_status pool_image(struct tsri_tr *t, const char *what, enum tsr_op_kind kind,
                                  const struct tsr_net_window *w, size_t x, size_t out) {
  struct tsr_view a = tsri_tr_view_nhwc(t, x), o = tsri_tr_view_nhwc(t, out);
  struct tsr_net_window two = {.dims = 2};
  for (unsigned d = 0; d < 2; d++) { /* one dimension: the second of two */
    bool has = d + w->dims >= 2;
    unsigned e = has ? d + w->dims - 2 : 0;
    two.in[d] = has ? w->in[e] : 1;
    two.out[d] = has ? w->out[e] : 1;
    two.kernel[d] = has ? w->kernel[e] : 1;
    two.stride[d] = has ? w->stride[e] : 1;
    two.dil[d] = has ? w->dil[e] : 1;
    two.pad_lo[d] = has ? w->pad_lo[e] : 0;
  }
  struct tsri_tr_item it = tsri_tr_item(kind, o.dim[0] * o.dim[1] * o.dim[2], o.dim[3],
                                        two.kernel[0] * two.kernel[1], 1);
  it.op.has_conv = true;
  it.op.conv = (struct tsr_conv){.batch = a.dim[0],
                                 .in_c = a.dim[3],
                                 .in_h = two.in[0],
                                 .in_w = two.in[1],
                                 .out_c = a.dim[3],
                                 .out_h = two.out[0],
                                 .out_w = two.out[1],
                                 .k_h = two.kernel[0],
                                 .k_w = two.kernel[1],
                                 .stride_h = two.stride[0],
                                 .stride_w = two.stride[1],
                                 .pad_t = two.pad_lo[0],
                                 .pad_l = two.pad_lo[1],
                                 .pad_b = reach(&two, 0),
                                 .pad_r = reach(&two, 1),
                                 .dil_h = two.dil[0],
                                 .dil_w = two.dil[1],
                                 .groups = 1};
  enum tsr_status s = tsri_tr_bind(t, &it.bind.a, &a);
  tsri_tr_bind_out(&it, &o);
  return s ? s : tsri_tr_emit(t, what, &it);
}

/* Every window as a row: N, C, results, taps. */
static struct tsr_view windows(const struct tsri_tr *t, const struct tsr_net_window *w,
                               size_t x, double fill) {
  struct tsr_view v = tsri_tr_view(t, x);
  v.rank = 2 + 2 * w->dims;
  v.fill = fill;
  for (unsigned d = 0; d < w->dims; d++) {
    unsigned of = 2 + d, tap = of + w->dims;
    v.dim[of] = w->out[d];
    v.dim[tap] = w->kernel[d];
    v.base[of] = -(int64_t)w->pad_lo[d];
    v.coef[of][of] = (int64_t)w->stride[d];
    v.coef[of][tap] = (int64_t)w->dil[d];
  }
  return v;
}

static double least(enum tsr_dtype type) {
  switch (type) {
  case TSR_DTYPE_I8: return -0x80;
  case TSR_DTYPE_U8: return 0;
  default: return (double)-INFINITY;
  }
}

static enum tsr_status pool_rows(struct tsri_tr *t, const struct pool *p,
                                 const struct tsr_net_window *w, size_t x, size_t out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, out);
  uint64_t dim[2] = {s.n, 1};
  for (unsigned d = 0; d < w->dims; d++) dim[1] *= w->kernel[d];
  size_t rows = SIZE_MAX;
  struct tsr_view src = windows(t, w, x, p->mean ? 0 : least(s.type));
  enum tsr_status st = tsri_tr_temp(t, "windows", s.type, 2, dim, &rows);
  if (st) return st;
  struct tsr_view dst = tsri_tr_view(t, rows);
  st = tsri_tr_copy(t, "windows", &src, &dst);
  return st ? st : tsri_tr_rows(t, "rows", p->row, 0, dim[0], dim[1], rows, out);
}

/* Taps of window o along dimension d that count. */
static uint64_t counted(const struct tsr_net_window *w, unsigned d, uint64_t o, bool padding) {
  uint64_t n = 0, from = padding ? 0 : w->pad_lo[d];
  uint64_t to = w->pad_lo[d] + w->in[d] + (padding ? w->pad_hi[d] : 0);
  for (uint64_t k = 0; k < w->kernel[d]; k++) {
    uint64_t i = o * w->stride[d] + k * w->dil[d];
    n += i >= from && i < to;
  }
  return n;
}

/* By how much a mean over all taps falls short, by place; *needed: somewhere it does. */
static enum tsr_status shortfall(struct tsri_tr *t, const struct tsr_net_window *w,
                                 enum tsr_dtype type, bool padding, bool *needed, size_t *out) {
  uint64_t taps = 1, n = 1;
  for (unsigned d = 0; d < w->dims; d++) {
    taps *= w->kernel[d];
    n *= w->out[d];
  }
  *needed = false;
  struct tsr_array *a = NULL;
  enum tsr_status s = tsri_tr_const(t, "share", type, w->dims, w->out, out, &a);
  for (uint64_t i = 0; !s && i < n; i++) {
    uint64_t left = i, have = 1;
    for (unsigned d = w->dims; d-- > 0; left /= w->out[d])
      have *= counted(w, d, left % w->out[d], padding);
    *needed = *needed || have != taps;
    tsr_array_set(a, i, have ? (double)taps / (double)have : 0);
  }
  return s;
}

static enum tsr_status pooling(struct tsri_tr *t, const struct tsr_net_node *n,
                               const void *arg) {
  const struct pool *p = arg;
  struct tsr_net_window w;
  size_t out = n->out[0], factor = SIZE_MAX;
  if (tsri_tr_out(n, 1) != SIZE_MAX)
    return tsri_tr_refuse(t, n, "it returns indices too; expected the largest values alone");
  enum tsr_status s = tsr_net_window(t->net, n, &w, t->err);
  bool needed = false, padding = tsr_net_attr_int(n, "count_include_pad", 0) != 0;
  if (s || tsri_tr_shape_of(t, out).n == 0) return s;
  if (p->mean) s = shortfall(t, &w, tsri_tr_shape_of(t, out).type, padding, &needed, &factor);
  if (!s && needed) s = temp_as(t, "mean", n->out[0], &out);
  const char *what = needed ? "mean" : NULL;
  if (!s)
    s = in_image(&w) ? pool_image(t, what, p->window, &w, n->in[0], out)
                     : pool_rows(t, p, &w, n->in[0], out);
  if (s || !needed) return s;
  return tsri_tr_binary(t, "share", TSR_OP_MUL, out, factor, n->out[0]);
}

static enum tsr_status global_pool(struct tsri_tr *t, const struct tsr_net_node *n,
                                   const void *arg) {
  const struct pool *p = arg;
  struct tsr_view a = tsri_tr_view_nhwc(t, n->in[0]);
  struct tsr_net_window w = {.dims = 2,
                             .in = {a.dim[1], a.dim[2]},
                             .out = {1, 1},
                             .kernel = {a.dim[1], a.dim[2]},
                             .stride = {1, 1},
                             .dil = {1, 1}};
  return pool_image(t, NULL, p->window, &w, n->in[0], n->out[0]);
}

#define POOL(...) (&(const struct pool){__VA_ARGS__})
const struct tsri_tr_row tsri_tr_norm_rows[] = {
    {"LayerNormalization", layer_norm, NULL},
    {"RMSNormalization", rms_norm, NULL},
    {"BatchNormalization", batch_norm, NULL},
    {"InstanceNormalization", instance_norm, NULL},
    {"GroupNormalization", group_norm, NULL},
    {"MaxPool", pooling, POOL(TSR_OP_MAXPOOL, TSR_OP_ROWMAX, false)},
    {"AveragePool", pooling, POOL(TSR_OP_AVGPOOL, TSR_OP_ROWMEAN, true)},
    {"GlobalMaxPool", global_pool, POOL(TSR_OP_GLOBAL_MAXPOOL, TSR_OP_ROWMAX, false)},
    {"GlobalAveragePool", global_pool, POOL(TSR_OP_GLOBAL_AVGPOOL, TSR_OP_ROWMEAN, true)},
    {NULL, NULL, NULL},
};
