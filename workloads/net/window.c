/* Windows of convolutions and poolings: strides, dilations and pads settled
 * (SRC:onnx_operators, Conv, ConvTranspose, MaxPool). */
#include <string.h>

#include "workloads/net/net_int.h"

#define FAIL(c, ...) tsri_fail((c)->net, (c)->node, (c)->err, __VA_ARGS__)
enum { WINDOW_MAX = 1 << 30 }; /* of a stride, dilation, kernel or pad */

/* Which input holds the kernel; SIZE_MAX: attribute kernel_shape. */
static size_t kernel_input(enum tsr_net_op op) {
  switch (op) {
  case TSR_NET_CONV:
  case TSR_NET_CONV_TRANSPOSE:
  case TSR_NET_CONV_INTEGER: return 1;
  case TSR_NET_QLINEAR_CONV: return 3;
  default: return SIZE_MAX;
  }
}

static bool is_global(enum tsr_net_op op) {
  return op == TSR_NET_GLOBAL_MAX_POOL || op == TSR_NET_GLOBAL_AVERAGE_POOL;
}

/* Attribute `name`: n entries of at least `low`, all `absent` where it is not given. */
static enum tsr_status take(const struct tsri_infer *c, const char *name, size_t n, int64_t low,
                            uint64_t absent, uint64_t *out) {
  int64_t list[2 * 3];
  size_t got;
  bool given;
  enum tsr_status s = tsri_ints(c, name, SIZE_MAX, list, 2 * 3, &got, &given);
  if (s) return s;
  if (given && got != n)
    return FAIL(c, "'%s' has the wrong number of entries; expected %zu, got '%zu'", name, n,
                got);
  for (size_t k = 0; k < n; k++) {
    if (given && (list[k] < low || list[k] > WINDOW_MAX))
      return FAIL(c, "'%s' is out of range; expected %lld to %d, got '%lld'", name,
                  (long long)low, WINDOW_MAX, (long long)list[k]);
    out[k] = given ? (uint64_t)list[k] : absent;
  }
  return TSR_OK;
}

static enum tsr_status take_kernel(const struct tsri_infer *c, struct tsr_net_window *w) {
  size_t at = kernel_input(c->node->op);
  if (is_global(c->node->op)) {
    memcpy(w->kernel, w->in, sizeof w->kernel);
    return TSR_OK;
  }
  bool attr = tsr_net_attr(c->node, "kernel_shape") != NULL;
  if (at == SIZE_MAX && !attr) return FAIL(c, "attribute 'kernel_shape' is missing");
  enum tsr_status s = attr ? take(c, "kernel_shape", w->dims, 1, 1, w->kernel) : TSR_OK;
  if (s || at == SIZE_MAX) return s;
  if ((s = tsri_want_rank(c, at, w->dims + 2))) return s;
  for (unsigned d = 0; d < w->dims; d++) {
    uint64_t k = c->in[at]->dim[2 + d];
    if (attr && w->kernel[d] != k)
      return FAIL(c, "'kernel_shape' and the kernel '%s' differ; expected %llu, got '%llu'",
                  c->in[at]->name, (unsigned long long)k, (unsigned long long)w->kernel[d]);
    if (k < 1 || k > WINDOW_MAX)
      return FAIL(c, "the kernel '%s' is out of range; expected 1 to %d, got '%llu'",
                  c->in[at]->name, WINDOW_MAX, (unsigned long long)k);
    w->kernel[d] = k;
  }
  return TSR_OK;
}

enum auto_pad { NOTSET, SAME_UPPER, SAME_LOWER, VALID, AUTO_N_ };

static enum tsr_status take_auto(const struct tsri_infer *c, enum auto_pad *out) {
  static const char *const NAMES[AUTO_N_] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  const char *word = tsr_net_attr_text(c->node, "auto_pad", "NOTSET");
  for (unsigned k = 0; k < AUTO_N_; k++) {
    if (strcmp(word, NAMES[k]) != 0) continue;
    *out = (enum auto_pad)k;
    return TSR_OK;
  }
  return FAIL(c,
              "'auto_pad' is unknown; expected NOTSET, SAME_UPPER, SAME_LOWER or VALID, got "
              "'%s'",
              word);
}

static uint64_t reach(const struct tsr_net_window *w, unsigned d) {
  return (w->kernel[d] - 1) * w->dil[d] + 1;
}

static void split_pad(struct tsr_net_window *w, unsigned d, uint64_t total, bool more_behind) {
  w->pad_lo[d] = more_behind ? total / 2 : total - total / 2;
  w->pad_hi[d] = total - w->pad_lo[d];
}

static enum tsr_status forward(const struct tsri_infer *c, struct tsr_net_window *w, unsigned d,
                               enum auto_pad mode, bool ceil) {
  uint64_t eff = reach(w, d), s = w->stride[d];
  if (mode == SAME_UPPER || mode == SAME_LOWER) {
    w->out[d] = tsr_ceil_div(w->in[d], s);
    uint64_t need = w->out[d] ? (w->out[d] - 1) * s + eff : 0;
    split_pad(w, d, need > w->in[d] ? need - w->in[d] : 0, mode == SAME_UPPER);
    return TSR_OK;
  }
  uint64_t padded = w->in[d] + w->pad_lo[d] + w->pad_hi[d];
  if (padded < eff) {
    w->out[d] = 0;
    if (w->in[d] == 0) return TSR_OK;
    return FAIL(c,
                "the window is larger than what it runs over (axis %u); expected at most "
                "%llu, got '%llu'",
                d + 2, (unsigned long long)padded, (unsigned long long)eff);
  }
  w->out[d] = (ceil ? tsr_ceil_div(padded - eff, s) : (padded - eff) / s) + 1;
  /* with ceil_mode a window that starts in the padding behind is none */
  if (ceil && w->out[d] > 1 && (w->out[d] - 1) * s >= w->in[d] + w->pad_lo[d]) w->out[d]--;
  return TSR_OK;
}

/* asked: of output_shape; 0 where the model gives none. */
static enum tsr_status backward(const struct tsri_infer *c, struct tsr_net_window *w,
                                unsigned d, enum auto_pad mode, uint64_t extra,
                                uint64_t asked) {
  if (w->in[d] == 0) {
    w->out[d] = asked;
    return TSR_OK;
  }
  uint64_t full = w->stride[d] * (w->in[d] - 1) + extra + reach(w, d);
  bool same = mode == SAME_UPPER || mode == SAME_LOWER;
  if (!asked && same) asked = w->in[d] * w->stride[d];
  if (asked) {
    w->out[d] = asked;
    split_pad(w, d, full > asked ? full - asked : 0, mode == SAME_UPPER);
    return TSR_OK;
  }
  if (full < w->pad_lo[d] + w->pad_hi[d])
    return FAIL(c,
                "the padding takes away more than there is (axis %u); expected at most %llu, "
                "got '%llu'",
                d + 2, (unsigned long long)full,
                (unsigned long long)(w->pad_lo[d] + w->pad_hi[d]));
  w->out[d] = full - w->pad_lo[d] - w->pad_hi[d];
  return TSR_OK;
}

/* output_shape may be given with batch and channels or without. */
static enum tsr_status take_asked(const struct tsri_infer *c, unsigned dims, uint64_t *asked) {
  int64_t list[5];
  size_t n;
  bool given;
  enum tsr_status s = tsri_ints(c, "output_shape", SIZE_MAX, list, 5, &n, &given);
  if (s || !given) return s;
  if (n != dims && n != dims + 2)
    return FAIL(c, "'output_shape' has the wrong number of entries; expected %u, got '%zu'",
                dims, n);
  for (unsigned d = 0; d < dims; d++) {
    int64_t v = list[n - dims + d];
    if (v < 1 || v > WINDOW_MAX)
      return FAIL(c, "'output_shape' is out of range; expected 1 to %d, got '%lld'", WINDOW_MAX,
                  (long long)v);
    asked[d] = (uint64_t)v;
  }
  return TSR_OK;
}

static enum tsr_status place(const struct tsri_infer *c, struct tsr_net_window *w,
                             enum auto_pad mode) {
  bool transposed = c->node->op == TSR_NET_CONV_TRANSPOSE;
  bool ceil = tsr_net_attr_int(c->node, "ceil_mode", 0) != 0;
  uint64_t extra[3] = {0}, asked[3] = {0};
  enum tsr_status s = TSR_OK;
  if (transposed) s = take(c, "output_padding", w->dims, 0, 0, extra);
  if (!s && transposed) s = take_asked(c, w->dims, asked);
  for (unsigned d = 0; !s && d < w->dims; d++) {
    if (w->in[d] > UINT64_C(1) << 32)
      return FAIL(c, "axis %u is too large for windows; expected at most 2^32", d + 2);
    s = transposed ? backward(c, w, d, mode, extra[d], asked[d]) : forward(c, w, d, mode, ceil);
  }
  return s;
}

static enum tsr_status take_geometry(const struct tsri_infer *c, struct tsr_net_window *w,
                                     enum auto_pad *mode) {
  enum tsr_status s = take_kernel(c, w);
  if (is_global(c->node->op)) { /* strides and pads are no attributes of these */
    *mode = NOTSET;
    for (unsigned d = 0; d < w->dims; d++) {
      w->stride[d] = w->dil[d] = 1;
      if (w->kernel[d] == 0) w->kernel[d] = 1; /* of nothing: one window */
    }
    return s;
  }
  uint64_t pads[6] = {0};
  if (!s) s = take(c, "strides", w->dims, 1, 1, w->stride);
  if (!s) s = take(c, "dilations", w->dims, 1, 1, w->dil);
  if (!s) s = take_auto(c, mode);
  if (!s && *mode == NOTSET) s = take(c, "pads", 2 * (size_t)w->dims, 0, 0, pads);
  for (unsigned d = 0; d < w->dims; d++) {
    w->pad_lo[d] = pads[d];
    w->pad_hi[d] = pads[w->dims + d];
  }
  return s;
}

enum tsr_status tsri_window(const struct tsri_infer *c, struct tsr_net_window *out) {
  const struct tsr_net_value *x = tsri_in(c, 0);
  struct tsr_net_window w = {0};
  if (!x || x->rank < 3 || x->rank > 5)
    return FAIL(c,
                "input 0 ('%s') has the wrong number of dimensions; expected 3 to 5, got "
                "'%u'",
                x ? x->name : "", x ? x->rank : 0);
  w.dims = x->rank - 2;
  for (unsigned d = 0; d < w.dims; d++) w.in[d] = x->dim[2 + d];
  int64_t groups = tsr_net_attr_int(c->node, "group", 1);
  if (groups < 1)
    return FAIL(c, "'group' is out of range; expected at least 1, got '%lld'",
                (long long)groups);
  w.groups = (uint64_t)groups;
  enum auto_pad mode = NOTSET;
  enum tsr_status s = take_geometry(c, &w, &mode);
  if (!s && is_global(c->node->op)) {
    for (unsigned d = 0; d < w.dims; d++) w.out[d] = 1;
  } else if (!s) {
    s = place(c, &w, mode);
  }
  if (!s) *out = w;
  return s;
}

/* ---- from a finished net ---- */

enum { INPUTS_MAX = 16 }; /* more than any operator with windows or an equation has */

enum tsr_status tsri_context(const struct tsr_net *net, const struct tsr_net_node *n,
                             const struct tsr_net_value **in, size_t max, struct tsri_infer *c,
                             struct tsr_err *err) {
  if (n->n_in > max) return tsri_fail(net, n, err, "has too many inputs");
  for (size_t i = 0; i < n->n_in; i++) {
    in[i] = tsr_net_in(net, n, i);
    if (in[i] && !in[i]->shaped)
      return tsri_fail(net, n, err, "input '%s' has no shape", in[i]->name);
  }
  *c = (struct tsri_infer){net, n, in, NULL, err};
  return TSR_OK;
}

enum tsr_status tsr_net_window(const struct tsr_net *net, const struct tsr_net_node *n,
                               struct tsr_net_window *out, struct tsr_err *err) {
  const struct tsr_net_value *in[INPUTS_MAX];
  struct tsri_infer c;
  enum tsr_status s = tsri_context(net, n, in, INPUTS_MAX, &c, err);
  return s ? s : tsri_window(&c, out);
}

enum tsr_status tsr_net_einsum(const struct tsr_net *net, const struct tsr_net_node *n,
                               struct tsr_net_einsum *out, struct tsr_err *err) {
  const struct tsr_net_value *in[INPUTS_MAX];
  struct tsri_infer c;
  enum tsr_status s = tsri_context(net, n, in, INPUTS_MAX, &c, err);
  return s ? s : tsri_einsum(&c, out);
}
