/* Resize and Upsample: where each result's coordinate lies in the input, and how what is around
 * it is weighed (SRC:onnx_operators, Resize). */
#include <math.h>
#include <string.h>

#include "workloads/net/net_int.h"
#include "workloads/net/operand_int.h"

#define FAIL(c, ...) tsri_fail((c)->net, (c)->node, (c)->err, __VA_ARGS__)

enum mode { NEAREST, LINEAR, CUBIC };
enum where {
  HALF_PIXEL,
  HALF_PIXEL_SYMMETRIC,
  PYTORCH_HALF_PIXEL,
  ALIGN_CORNERS,
  ASYMMETRIC,
  TF_CROP,
  TF_HALF_PIXEL_NN /* up to opset 12 */
};
enum nearest { PREFER_FLOOR, PREFER_CEIL, DOWN, UP, SIMPLE };
enum policy { STRETCH, NOT_LARGER, NOT_SMALLER };
enum { OPSET_COORDINATES = 11 };

struct ask {
  enum mode mode;
  enum where where;
  enum nearest nearest;
  enum policy policy;
  bool exclude;
  double cubic, fill;
  unsigned rank;
  bool touched[TSR_RANK_MAX];
  double scale[TSR_RANK_MAX], from[TSR_RANK_MAX], to[TSR_RANK_MAX]; /* from, to: roi */
  uint64_t in[TSR_RANK_MAX], out[TSR_RANK_MAX];
};

/* ---- attributes ---- */

static enum tsr_status take_word(const struct tsri_infer *c, const char *name,
                                 const char *const *words, unsigned n, const char *absent,
                                 unsigned *out) {
  const char *word = tsr_net_attr_text(c->node, name, absent);
  for (unsigned k = 0; k < n; k++) {
    if (strcmp(word, words[k]) != 0) continue;
    *out = k;
    return TSR_OK;
  }
  return FAIL(c, "'%s' is not supported; expected '%s' or another known word, got '%s'", name,
              words[0], word);
}

static enum tsr_status take_words(const struct tsri_infer *c, struct ask *a) {
  static const char *const MODES[] = {"nearest", "linear", "cubic", "bilinear"};
  static const char *const WHERE[] = {
      "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
      "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
  static const char *const NEAR[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                     "ceil"};
  static const char *const POLICY[] = {"stretch", "not_larger", "not_smaller"};
  bool old = c->node->op == TSR_NET_UPSAMPLE || c->net->opset < OPSET_COORDINATES;
  unsigned mode = 0, where = ASYMMETRIC, nearest = SIMPLE, policy = STRETCH;
  enum tsr_status s = take_word(c, "mode", MODES, 4, "nearest", &mode);
  if (!s && !old)
    s = take_word(c, "coordinate_transformation_mode", WHERE, 7, "half_pixel", &where);
  if (!s && !old) s = take_word(c, "nearest_mode", NEAR, 4, "round_prefer_floor", &nearest);
  if (!s) s = take_word(c, "keep_aspect_ratio_policy", POLICY, 3, "stretch", &policy);
  if (s) return s;
  if (tsr_net_attr_int(c->node, "antialias", 0) != 0 && mode != NEAREST)
    return FAIL(c, "'antialias' is not supported; expected 0, got '%lld'",
                (long long)tsr_net_attr_int(c->node, "antialias", 0));
  a->mode = mode == 3 ? LINEAR : (enum mode)mode;
  a->where = (enum where)where;
  a->nearest = (enum nearest)nearest;
  a->policy = (enum policy)policy;
  a->exclude = tsr_net_attr_int(c->node, "exclude_outside", 0) != 0;
  a->cubic = tsr_net_attr_float(c->node, "cubic_coeff_a", -0.75);
  a->fill = tsr_net_attr_float(c->node, "extrapolation_value", 0);
  return TSR_OK;
}

/* ---- scales, sizes, axes ---- */

/* The constant of input i; NULL where it is left out or empty. */
static enum tsr_status maybe(const struct tsri_infer *c, size_t i, const char *what,
                             const struct tsr_array **out) {
  *out = NULL;
  const struct tsr_net_value *v = tsri_in(c, i);
  if (!v || (v->rank == 1 && v->dim[0] == 0)) return TSR_OK;
  return tsri_constant(c, i, what, out);
}

/* The axes that are resized, in the order of scales and sizes. */
static enum tsr_status take_axes(const struct tsri_infer *c, struct ask *a, unsigned *axis,
                                 size_t *n) {
  int64_t list[TSR_RANK_MAX];
  bool given;
  enum tsr_status s = tsri_ints(c, "axes", SIZE_MAX, list, TSR_RANK_MAX, n, &given);
  if (s) return s;
  if (!given) *n = a->rank;
  for (size_t k = 0; k < *n; k++) {
    if (!tsr_net_axis(given ? list[k] : (int64_t)k, a->rank, &axis[k]) || a->touched[axis[k]])
      return FAIL(c, "'axes' is out of range or names an axis twice: '%lld'",
                  (long long)list[k]);
    a->touched[axis[k]] = true;
  }
  return TSR_OK;
}

static enum tsr_status take_scales(const struct tsri_infer *c, struct ask *a,
                                   const struct tsr_array *scales, const unsigned *axis,
                                   size_t n) {
  const struct tsr_net_attr *attr = tsr_net_attr(c->node, "scales");
  bool own = !scales && attr && attr->kind == TSR_ATTR_FLOATS;
  uint64_t have = scales ? scales->n : own ? attr->n : 0;
  if (have != n)
    return FAIL(c, "'scales' has the wrong number of entries; expected %zu, got '%llu'", n,
                (unsigned long long)have);
  for (size_t k = 0; k < n; k++) {
    double v = own ? attr->floats[k] : tsr_array_get(scales, k);
    unsigned d = axis[k];
    if (!(v > 0) || isinf(v))
      return FAIL(c, "a scale is out of range; expected more than 0, got '%g'", v);
    a->scale[d] = v;
    double part = a->where == TF_CROP ? a->to[d] - a->from[d] : 1;
    /* in f32, as the operator's shape inference has it: 10 * 0.7 is 7 */
    float size = (float)((double)a->in[d] * part) * (float)v;
    if (!(size < (float)TSR_ARRAY_ELEMS_MAX))
      return FAIL(c, "the result is too large; expected at most 2^40 elements");
    a->out[d] = size > 0 ? (uint64_t)floorf(size) : 0;
  }
  return TSR_OK;
}

static enum tsr_status take_sizes(const struct tsri_infer *c, struct ask *a,
                                  const struct tsr_array *sizes, const unsigned *axis,
                                  size_t n) {
  if (sizes->n != n)
    return FAIL(c, "'sizes' has the wrong number of entries; expected %zu, got '%llu'", n,
                (unsigned long long)sizes->n);
  double common = 0;
  for (size_t k = 0; k < n; k++) {
    int64_t v = tsr_array_get_int(sizes, k);
    unsigned d = axis[k];
    if (v < 0 || (uint64_t)v > TSR_ARRAY_ELEMS_MAX || (v > 0 && a->in[d] == 0))
      return FAIL(c, "a size is out of range: '%lld' from '%llu'", (long long)v,
                  (unsigned long long)a->in[d]);
    a->out[d] = (uint64_t)v;
    a->scale[d] = a->in[d] ? (double)v / (double)a->in[d] : 1;
    bool first = k == 0, less = a->scale[d] < common;
    if (first || (a->policy == NOT_LARGER ? less : !less)) common = a->scale[d];
  }
  for (size_t k = 0; a->policy != STRETCH && k < n; k++) {
    a->scale[axis[k]] = common;
    a->out[axis[k]] = (uint64_t)floor(common * (double)a->in[axis[k]] + 0.5);
  }
  return TSR_OK;
}

static enum tsr_status take_roi(const struct tsri_infer *c, struct ask *a, const unsigned *axis,
                                size_t n) {
  const struct tsr_array *roi;
  enum tsr_status s = maybe(c, 1, "roi", &roi);
  if (s) return s;
  if (!roi || roi->n != 2 * n)
    return FAIL(c, "'roi' has the wrong number of entries; expected %zu, got '%llu'", 2 * n,
                (unsigned long long)(roi ? roi->n : 0));
  for (size_t k = 0; k < n; k++) {
    a->from[axis[k]] = tsr_array_get(roi, k);
    a->to[axis[k]] = tsr_array_get(roi, n + k);
    if (!isfinite(a->from[axis[k]]) || !isfinite(a->to[axis[k]]))
      return FAIL(c, "'roi' holds something else than numbers");
  }
  return TSR_OK;
}

static enum tsr_status ask_of(const struct tsri_infer *c, struct ask *a) {
  const struct tsr_net_value *x = c->in[0];
  *a = (struct ask){.rank = x->rank};
  for (unsigned d = 0; d < x->rank; d++) {
    a->in[d] = a->out[d] = x->dim[d];
    a->scale[d] = a->to[d] = 1;
  }
  enum tsr_status s = take_words(c, a);
  if (!s) s = a->mode == NEAREST ? TSR_OK : tsri_want_float(c, 0);
  if (s) return s;
  bool old = c->node->op == TSR_NET_UPSAMPLE || c->net->opset < OPSET_COORDINATES;
  unsigned axis[TSR_RANK_MAX];
  size_t n = 0;
  const struct tsr_array *scales = NULL, *sizes = NULL;
  s = take_axes(c, a, axis, &n);
  if (!s) s = maybe(c, old ? 1 : 2, "scales", &scales);
  if (!s && !old) s = maybe(c, 3, "sizes", &sizes);
  if (!s && a->where == TF_CROP) s = take_roi(c, a, axis, n);
  if (!s && scales && sizes) s = FAIL(c, "has scales and sizes; expected one of them");
  if (s) return s;
  return sizes ? take_sizes(c, a, sizes, axis, n) : take_scales(c, a, scales, axis, n);
}

/* ---- coordinates ---- */

static double coordinate(const struct ask *a, unsigned d, uint64_t at) {
  double x = (double)at, scale = a->scale[d], in = (double)a->in[d], out = (double)a->out[d];
  double length = scale * in; /* which the result's size is but for rounding down */
  if (fabs(length - out) < 1e-4) length = out;
  double half = (x + 0.5) / scale - 0.5;
  switch (a->where) {
  case HALF_PIXEL: return half;
  case HALF_PIXEL_SYMMETRIC: return in / 2 * (1 - out / length) + half;
  case PYTORCH_HALF_PIXEL: return a->out[d] > 1 ? half : 0;
  case TF_HALF_PIXEL_NN: return half + 0.5;
  case ALIGN_CORNERS: return a->out[d] > 1 ? x * (in - 1) / (length - 1) : 0;
  case ASYMMETRIC: return x / scale;
  default: break;
  }
  if (a->out[d] > 1)
    return a->from[d] * (in - 1) + x * (a->to[d] - a->from[d]) * (in - 1) / (out - 1);
  return (a->from[d] + a->to[d]) / 2 * (in - 1);
}

static uint64_t within(double v, uint64_t n) {
  return v < 0 ? 0 : v > (double)(n - 1) ? n - 1 : (uint64_t)v;
}

static uint64_t nearest(const struct ask *a, unsigned d, double x) {
  switch (a->nearest) {
  case PREFER_FLOOR: x = ceil(x - 0.5); break;
  case PREFER_CEIL: x = floor(x + 0.5); break;
  case DOWN: x = floor(x); break;
  case UP: x = ceil(x); break;
  case SIMPLE: x = a->scale[d] < 1 ? ceil(x) : floor(x); break;
  }
  return within(x, a->in[d]);
}

/* SRC:onnx_operators: a cubic convolution with coefficient q. */
static void cubic_weights(double q, double r, double *w) {
  double far[2] = {1 + r, 2 - r}, near[2] = {r, 1 - r};
  for (unsigned k = 0; k < 2; k++) {
    w[k * 3] = ((q * far[k] - 5 * q) * far[k] + 8 * q) * far[k] - 4 * q;
    w[1 + k] = ((q + 2) * near[k] - (q + 3)) * near[k] * near[k] + 1;
  }
}

/* The taps of one coordinate. */
static void taps_of(const struct ask *a, unsigned d, double x, uint64_t *index,
                    double *weight) {
  if (a->mode == NEAREST || !a->touched[d]) {
    index[0] = a->touched[d] ? nearest(a, d, x) : (uint64_t)x;
    weight[0] = 1;
    return;
  }
  unsigned n = a->mode == LINEAR ? 2 : 4;
  double low = floor(x), r = x - low, sum = 0;
  if (n == 2) {
    weight[0] = 1 - r;
    weight[1] = r;
  } else {
    cubic_weights(a->cubic, r, weight);
    low -= 1;
  }
  for (unsigned t = 0; t < n; t++) {
    double at = low + t;
    index[t] = within(at, a->in[d]);
    if (a->exclude && (at < 0 || at > (double)(a->in[d] - 1))) weight[t] = 0;
    sum += weight[t];
  }
  for (unsigned t = 0; a->exclude && t < n; t++) weight[t] /= sum;
}

static enum tsr_status plan_axis(const struct ask *a, unsigned d, struct tsr_arena *arena,
                                 struct tsr_net_resize *r, struct tsr_err *err) {
  unsigned n = a->mode == NEAREST || !a->touched[d] ? 1 : a->mode == LINEAR ? 2 : 4;
  size_t out = (size_t)a->out[d];
  uint64_t *index = tsr_arena_array(arena, out, n * sizeof *index);
  double *weight = tsr_arena_array(arena, out, n * sizeof *weight);
  bool crops = a->where == TF_CROP && a->touched[d];
  bool *outside = crops ? tsr_arena_array(arena, out, sizeof *outside) : NULL;
  if (!index || !weight || (crops && !outside)) return tsr_err_nomem(err);
  for (uint64_t at = 0; at < a->out[d]; at++) {
    double x = a->touched[d] ? coordinate(a, d, at) : (double)at;
    taps_of(a, d, x, index + at * n, weight + at * n);
    if (crops) outside[at] = x < 0 || x > (double)(a->in[d] - 1);
  }
  r->taps[d] = n;
  r->index[d] = index;
  r->weight[d] = weight;
  r->outside[d] = outside;
  return TSR_OK;
}

static enum tsr_status plan(const struct tsri_infer *c, struct tsr_arena *arena,
                            struct tsr_net_resize *out) {
  struct ask a;
  struct tsr_net_resize r = {.rank = c->in[0]->rank};
  enum tsr_status s = ask_of(c, &a);
  if (s) return s;
  r.fill = a.fill;
  for (unsigned d = 0; !s && d < r.rank; d++) {
    r.in[d] = a.in[d];
    r.out[d] = a.out[d];
    s = plan_axis(&a, d, arena, &r, c->err);
  }
  if (!s) *out = r;
  return s;
}

enum tsr_status tsr_net_resize_plan(const struct tsr_net *net, const struct tsr_net_node *n,
                                    struct tsr_arena *arena, struct tsr_net_resize *out,
                                    struct tsr_err *err) {
  const struct tsr_net_value *in[4];
  struct tsri_infer c;
  enum tsr_status s = tsri_context(net, n, in, 4, &c, err);
  return s ? s : plan(&c, arena, out);
}

/* ---- infer, eval ---- */

enum tsr_status tsri_infer_resize(struct tsri_infer *c) {
  struct ask a;
  enum tsr_status s = ask_of(c, &a);
  return s ? s : tsri_set(c, 0, c->in[0]->type, a.rank, a.out);
}

/* One axis of x[outer][in][inner] by its taps. */
static void weigh_axis(const struct tsr_net_resize *r, unsigned d, const double *x, double *y,
                       uint64_t outer, uint64_t inner) {
  unsigned n = r->taps[d];
  for (uint64_t o = 0; o < outer; o++) {
    const double *from = x + o * r->in[d] * inner;
    for (uint64_t at = 0; at < r->out[d]; at++, y += inner) {
      const uint64_t *index = r->index[d] + at * n;
      const double *weight = r->weight[d] + at * n;
      for (uint64_t k = 0; k < inner; k++) {
        double sum = weight[0] * from[index[0] * inner + k];
        for (unsigned t = 1; t < n; t++) sum += weight[t] * from[index[t] * inner + k];
        y[k] = sum;
      }
    }
  }
}

static bool as_it_is(const struct tsr_net_resize *r, unsigned d) {
  if (r->in[d] != r->out[d]) return false;
  for (uint64_t at = 0; at < r->out[d] * r->taps[d]; at++) {
    uint64_t o = at / r->taps[d];
    if (r->weight[d][at] != (r->index[d][at] == o ? 1.0 : 0.0)) return false;
  }
  return true;
}

/* Axis by axis, the last first: what they have in common is done once. */
static enum tsr_status weigh(const struct tsri_eval *c, const struct tsr_net_resize *r) {
  uint64_t dim[TSR_RANK_MAX];
  memcpy(dim, r->in, sizeof dim);
  const double *x = c->in[0]->f;
  double *made = NULL;
  for (unsigned d = r->rank; d-- > 0;) {
    if (as_it_is(r, d)) continue;
    uint64_t outer = tsri_count(dim, 0, d), inner = tsri_count(dim, d + 1, r->rank), n;
    double *y = NULL;
    if (tsr_mul_u64(outer, inner, &n) && tsr_mul_u64(n, r->out[d], &n))
      y = tsr_mem_array((size_t)n, sizeof *y);
    if (!y) {
      tsr_mem_free(made);
      return tsr_err_nomem(c->err);
    }
    weigh_axis(r, d, x, y, outer, inner);
    tsr_mem_free(made);
    x = made = y;
    dim[d] = r->out[d];
  }
  memcpy(c->out[0]->f, x, (size_t)c->out[0]->n * sizeof *x);
  tsr_mem_free(made);
  return TSR_OK;
}

static void fill_outside(const struct tsr_net_resize *r, struct tsr_array *y) {
  for (unsigned d = 0; d < r->rank; d++) {
    uint64_t inner = tsri_count(r->out, d + 1, r->rank);
    for (uint64_t at = 0; r->outside[d] && at < y->n; at++)
      if (r->outside[d][at / inner % r->out[d]]) tsr_array_set(y, at, r->fill);
  }
}

static bool is_pick(const struct tsr_net_resize *r) {
  for (unsigned d = 0; d < r->rank; d++)
    if (r->taps[d] != 1) return false;
  return true;
}

static enum tsr_status pick(const struct tsri_eval *c, const struct tsr_net_resize *r,
                            struct tsr_arena *arena) {
  const int64_t *table[TSR_RANK_MAX] = {NULL};
  for (unsigned d = 0; d < r->rank; d++) {
    int64_t *t = tsr_arena_array(arena, (size_t)r->out[d], sizeof *t);
    if (!t) return tsr_err_nomem(c->err);
    for (uint64_t at = 0; at < r->out[d]; at++) t[at] = (int64_t)r->index[d][at];
    table[d] = t;
  }
  tsri_pick(c->in[0], c->out[0], table, 0, 0);
  return TSR_OK;
}

enum tsr_status tsri_eval_resize(struct tsri_eval *c) {
  if (!c->out[0] || c->out[0]->n == 0) return TSR_OK;
  struct tsr_arena *arena = tsr_arena_create();
  if (!arena) return tsr_err_nomem(c->err);
  struct tsr_net_resize r;
  enum tsr_status s = plan(c->shape, arena, &r);
  if (!s) s = is_pick(&r) ? pick(c, &r, arena) : weigh(c, &r);
  if (!s) fill_outside(&r, c->out[0]);
  tsr_arena_destroy(arena);
  return s;
}
