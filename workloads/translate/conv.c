/* Conv and ConvTranspose.
 *
 * An image lies as NHWC in a convolution's operands and as NCHW in the value: views turn it.
 * One spatial dimension is an image of one row.  More than two: a `copy` writes the windows of
 * all outputs (the im2col matrix), and a convolution without geometry, a product for each
 * group, reads them. A transposed convolution is one over its input spread by the stride
 * (zeros between, written by a `copy`) with the taps in reverse order. */
#include <string.h>

#include "workloads/translate/product_int.h"

enum { SPACE = 3 }; /* spatial dimensions at most */

/* ---- operands ---- */

/* Weights [g][taps…][c][n]; spatial dimensions before those of the value are of one tap. */
static struct tsr_view weight_view(const struct tsri_tr *t, const struct tsri_tr_conv *c,
                                   size_t w, unsigned taps) {
  uint64_t g = c->win.groups, in_each = c->in_c / g, out_each = c->out_c / g;
  uint64_t dim[SPACE + 3] = {g};
  unsigned extra = taps - c->win.dims, at_c = 1 + taps, at_n = 2 + taps;
  for (unsigned i = 0; i < taps; i++) dim[1 + i] = i < extra ? 1 : c->win.kernel[i - extra];
  dim[at_c] = in_each;
  dim[at_n] = out_each;
  struct tsr_view v = tsri_tr_view_blank(t, w, 3 + taps, dim);
  unsigned own = c->transposed ? at_c : at_n; /* what the first dimension counts in a group */
  tsri_tr_view_move(&v, 0, 0, (int64_t)(c->transposed ? in_each : out_each));
  tsri_tr_view_move(&v, 0, own, 1);
  tsri_tr_view_move(&v, 1, c->transposed ? at_n : at_c, 1);
  for (unsigned i = 0; i < c->win.dims; i++) {
    if (c->transposed) v.base[2 + i] = (int64_t)c->win.kernel[i] - 1;
    tsri_tr_view_move(&v, 2 + i, 1 + extra + i, c->transposed ? -1 : 1);
  }
  return v;
}

static enum tsr_status bias_step(struct tsri_tr *t, struct tsri_tr_item *item, size_t bias) {
  if (bias == SIZE_MAX) return TSR_OK;
  struct tsr_view row = tsri_tr_view_flat(t, bias); /* [g][n] */
  return tsri_tr_step(t, item, TSR_OP_BIAS, TSR_WITH_ROW, &row);
}

/* Sums of integers are integers. */
static void settle_sums(const struct tsri_tr *t, size_t x, struct tsri_tr_item *item) {
  if (!tsr_dtype_is_float(t->net->values[x].type)) item->op.format_acc = "int32";
}

/* ---- one and two dimensions ---- */

static void geometry(const struct tsri_tr_conv *c, struct tsr_conv *v) {
  const struct tsr_net_window *w = &c->win;
  bool wide = w->dims == 2;
  unsigned x = w->dims - 1; /* of columns; the dimension of rows is 0 */
  *v = (struct tsr_conv){.batch = c->batch,
                         .in_c = c->in_c,
                         .in_h = wide ? w->in[0] : 1,
                         .in_w = w->in[x],
                         .out_c = c->out_c,
                         .out_h = wide ? w->out[0] : 1,
                         .out_w = w->out[x],
                         .k_h = wide ? w->kernel[0] : 1,
                         .k_w = w->kernel[x],
                         .stride_h = wide ? w->stride[0] : 1,
                         .stride_w = w->stride[x],
                         .pad_t = wide ? w->pad_lo[0] : 0,
                         .pad_l = w->pad_lo[x],
                         .pad_b = wide ? w->pad_hi[0] : 0,
                         .pad_r = w->pad_hi[x],
                         .dil_h = wide ? w->dil[0] : 1,
                         .dil_w = w->dil[x],
                         .groups = w->groups};
}

static enum tsr_status emit_image(struct tsri_tr *t, const char *what,
                                  const struct tsri_tr_conv *c, size_t x, size_t w, size_t bias,
                                  size_t out) {
  struct tsr_conv v;
  geometry(c, &v);
  uint64_t m = v.batch * v.out_h * v.out_w, n = v.out_c / v.groups;
  bool depthwise = v.groups > 1 && v.groups == v.in_c && v.in_c == v.out_c;
  struct tsri_tr_item item = tsri_tr_item(depthwise ? TSR_OP_DWCONV : TSR_OP_CONV, m, n,
                                          v.k_h * v.k_w * (v.in_c / v.groups), v.groups);
  item.op.has_conv = true;
  item.op.conv = v;
  settle_sums(t, x, &item);
  struct tsr_view va = tsri_tr_view_nhwc(t, x), vb = weight_view(t, c, w, 2);
  struct tsr_view vo = tsri_tr_view_nhwc(t, out);
  TSRI_TRY(tsri_tr_bind(t, &item.bind.a, &va));
  TSRI_TRY(tsri_tr_bind(t, &item.bind.b, &vb));
  tsri_tr_bind_out(&item, &vo);
  TSRI_TRY(bias_step(t, &item, bias));
  return tsri_tr_emit(t, what, &item);
}

/* ---- three dimensions ---- */

/* The windows of all outputs: [g][n, od, oh, ow][kd, kh, kw, c]. */
static struct tsr_view windows_view(const struct tsri_tr *t, const struct tsri_tr_conv *c,
                                    size_t x) {
  const struct tsr_net_window *w = &c->win;
  unsigned s = w->dims, taps = 2 + s, at_c = 2 + 2 * s;
  uint64_t dim[3 + 2 * SPACE] = {w->groups, c->batch};
  for (unsigned i = 0; i < s; i++) {
    dim[2 + i] = w->out[i];
    dim[taps + i] = w->kernel[i];
  }
  dim[at_c] = c->in_c / w->groups;
  struct tsr_view v = tsri_tr_view_blank(t, x, 3 + 2 * s, dim);
  tsri_tr_view_move(&v, 0, 1, 1);
  tsri_tr_view_move(&v, 1, 0, (int64_t)dim[at_c]);
  tsri_tr_view_move(&v, 1, at_c, 1);
  for (unsigned i = 0; i < s; i++) {
    v.base[2 + i] = -(int64_t)w->pad_lo[i];
    tsri_tr_view_move(&v, 2 + i, 2 + i, (int64_t)w->stride[i]);
    tsri_tr_view_move(&v, 2 + i, taps + i, (int64_t)w->dil[i]);
  }
  return v;
}

/* Results [g][n, od, oh, ow][channel of the group]. */
static struct tsr_view groups_view(const struct tsri_tr *t, const struct tsri_tr_conv *c,
                                   size_t out) {
  unsigned s = c->win.dims;
  uint64_t dim[3 + SPACE] = {c->win.groups, c->batch}, each = c->out_c / c->win.groups;
  for (unsigned i = 0; i < s; i++) dim[2 + i] = c->win.out[i];
  dim[2 + s] = each;
  struct tsr_view v = tsri_tr_view_blank(t, out, 3 + s, dim);
  tsri_tr_view_move(&v, 0, 1, 1);
  tsri_tr_view_move(&v, 1, 0, (int64_t)each);
  tsri_tr_view_move(&v, 1, 2 + s, 1);
  for (unsigned i = 0; i < s; i++) tsri_tr_view_move(&v, 2 + i, 2 + i, 1);
  return v;
}

static char *part_name(const char *what, const char *part) {
  return what ? tsr_mem_printf("%s.%s", what, part) : tsr_mem_strdup(part);
}

/* `what` and the name of a part of it, given to `copy` of src to dst. */
static enum tsr_status copy_part(struct tsri_tr *t, const char *what, const char *part,
                                 const struct tsr_view *src, const struct tsr_view *dst) {
  char *name = part_name(what, part);
  if (!name) return tsr_err_nomem(t->err);
  enum tsr_status s = tsri_tr_copy(t, name, src, dst);
  tsr_mem_free(name);
  return s;
}

static enum tsr_status emit_windows(struct tsri_tr *t, const char *what,
                                    const struct tsri_tr_conv *c, size_t x, size_t w,
                                    size_t bias, size_t out) {
  uint64_t m = c->batch, k = c->in_c / c->win.groups, g = c->win.groups;
  for (unsigned i = 0; i < c->win.dims; i++) {
    m *= c->win.out[i];
    if (!tsr_mul_u64(k, c->win.kernel[i], &k)) return tsr_err_nomem(t->err);
  }
  size_t cols;
  TSRI_TRY(tsri_tr_temp(t, "windows", t->net->values[x].type, 3, (uint64_t[]){g, m, k}, &cols));
  struct tsr_view src = windows_view(t, c, x), dst = tsri_tr_view(t, cols);
  TSRI_TRY(copy_part(t, what, "windows", &src, &dst));
  struct tsri_tr_item item = tsri_tr_item(TSR_OP_CONV, m, c->out_c / g, k, g);
  settle_sums(t, x, &item);
  struct tsr_view vb = weight_view(t, c, w, c->win.dims), vo = groups_view(t, c, out);
  TSRI_TRY(tsri_tr_bind(t, &item.bind.a, &dst));
  TSRI_TRY(tsri_tr_bind(t, &item.bind.b, &vb));
  tsri_tr_bind_out(&item, &vo);
  TSRI_TRY(bias_step(t, &item, bias));
  return tsri_tr_emit(t, what, &item);
}

enum tsr_status tsri_tr_conv_emit(struct tsri_tr *t, const char *what,
                                  const struct tsri_tr_conv *c, size_t x, size_t w, size_t bias,
                                  size_t out) {
  if (c->win.dims > 2) return emit_windows(t, what, c, x, w, bias, out);
  return emit_image(t, what, c, x, w, bias, out);
}

/* ---- nodes ---- */

enum tsr_status tsri_tr_conv_of(struct tsri_tr *t, const struct tsr_net_node *n, size_t x,
                                size_t w, struct tsri_tr_conv *c) {
  *c = (struct tsri_tr_conv){.transposed = n->op == TSR_NET_CONV_TRANSPOSE};
  TSRI_TRY(tsr_net_window(t->net, n, &c->win, t->err));
  struct tsri_tr_shape sx = tsri_tr_shape_of(t, n->in[x]), sw = tsri_tr_shape_of(t, n->in[w]);
  c->batch = sx.dim[0];
  c->in_c = sx.dim[1];
  c->out_c = c->transposed ? sw.dim[1] * c->win.groups : sw.dim[0];
  if (sx.n == 0 || sw.n == 0)
    return tsri_tr_refuse(t, n, "a convolution over no elements is not supported");
  return TSR_OK;
}

static enum tsr_status lower_conv(struct tsri_tr *t, const struct tsr_net_node *n,
                                  const void *arg) {
  (void)arg;
  struct tsri_tr_conv c;
  bool done;
  TSRI_TRY(tsri_tr_on_codes(t, n, &done));
  if (done || tsri_tr_shape_of(t, tsri_tr_out(n, 0)).n == 0) return TSR_OK;
  TSRI_TRY(tsri_tr_conv_of(t, n, 0, 1, &c));
  return tsri_tr_conv_emit(t, NULL, &c, tsri_tr_in(n, 0), tsri_tr_in(n, 1), tsri_tr_in(n, 2),
                           tsri_tr_out(n, 0));
}

/* ---- transposed ---- */

/* The convolution with stride 1 over the input spread by the stride.  `cut` of the spread
 * input's first places are left out along each dimension, in[] of it remain. */
struct spread {
  struct tsri_tr_conv c;
  uint64_t stride[SPACE], cut[SPACE];
  bool any; /* anything is to be moved */
};

/* Output o is the sum over taps k of spread place o + k*dil - (reach - pad), reach being
 * (kernel - 1)*dil: what that lacks on either side is padding, what it has too much is cut. */
static void plan_axis(const struct tsri_tr_conv *c, unsigned i, struct spread *s) {
  struct tsr_net_window *w = &s->c.win;
  uint64_t stride = c->win.stride[i], reach = (w->kernel[i] - 1) * w->dil[i];
  uint64_t have = (w->in[i] - 1) * stride + 1, need = w->out[i] + reach;
  uint64_t lo = w->pad_lo[i] < reach ? reach - w->pad_lo[i] : 0;
  s->cut[i] = w->pad_lo[i] > reach ? w->pad_lo[i] - reach : 0;
  s->stride[i] = stride;
  uint64_t left = have > s->cut[i] ? have - s->cut[i] : 0;
  uint64_t room = need > lo ? need - lo : 0;
  w->in[i] = tsr_min_u64(left, room);
  if (!w->in[i]) { /* nothing but padding: one zero stands for it */
    w->in[i] = 1;
    s->cut[i] = have;
    lo = need > lo ? lo : need - 1;
  }
  w->pad_lo[i] = lo;
  w->pad_hi[i] = need - lo - w->in[i];
  w->stride[i] = 1;
  s->any = s->any || stride > 1 || s->cut[i] || w->in[i] != have;
}

/* Where each place of the spread input comes from; -1: a zero. */
static enum tsr_status spread_view(struct tsri_tr *t, const struct spread *s, size_t x,
                                   struct tsr_view *v) {
  *v = tsri_tr_view(t, x);
  for (unsigned i = 0; i < s->c.win.dims; i++) {
    uint64_t n = s->c.win.in[i];
    int64_t *table = tsr_arena_array(t->net->arena, n, sizeof *table);
    if (!table) return tsr_err_nomem(t->err);
    for (uint64_t u = 0; u < n; u++) {
      uint64_t at = u + s->cut[i];
      table[u] = at % s->stride[i] ? -1 : (int64_t)(at / s->stride[i]);
    }
    v->dim[2 + i] = n;
    v->table[2 + i] = table;
    v->n_table[2 + i] = n;
  }
  return TSR_OK;
}

static enum tsr_status lower_transposed(struct tsri_tr *t, const struct tsr_net_node *n,
                                        const void *arg) {
  (void)arg;
  struct tsri_tr_conv c;
  size_t x = tsri_tr_in(n, 0), spread = x;
  if (tsri_tr_shape_of(t, tsri_tr_out(n, 0)).n == 0) return TSR_OK;
  TSRI_TRY(tsri_tr_conv_of(t, n, 0, 1, &c));
  struct spread s = {.c = c};
  for (unsigned i = 0; i < c.win.dims; i++) plan_axis(&c, i, &s);
  if (s.any) {
    struct tsri_tr_shape sx = tsri_tr_shape_of(t, x);
    struct tsr_view src, dst;
    for (unsigned i = 0; i < c.win.dims; i++) sx.dim[2 + i] = s.c.win.in[i];
    TSRI_TRY(tsri_tr_temp(t, "spread", sx.type, sx.rank, sx.dim, &spread));
    TSRI_TRY(spread_view(t, &s, x, &src));
    dst = tsri_tr_view(t, spread);
    TSRI_TRY(tsri_tr_copy(t, "spread", &src, &dst));
  }
  return tsri_tr_conv_emit(t, s.any ? "conv" : NULL, &s.c, spread, tsri_tr_in(n, 1),
                           tsri_tr_in(n, 2), tsri_tr_out(n, 0));
}

const struct tsri_tr_row tsri_tr_conv_rows[] = {
    {"Conv", lower_conv, NULL}, {"ConvTranspose", lower_transposed, NULL}, {NULL, NULL, NULL}};
