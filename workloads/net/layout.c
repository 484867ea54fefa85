/* Elements in another order: transposed, cut, put together, padded, repeated
 * (SRC:onnx_operators). */
#include <string.h>

#include "workloads/net/net_int.h"
#include "workloads/net/operand_int.h"

#define FAIL(c, ...) tsri_fail((c)->net, (c)->node, (c)->err, __VA_ARGS__)

/* ---- Transpose ---- */

static enum tsr_status permutation(const struct tsri_infer *c, unsigned *perm) {
  unsigned rank = c->in[0]->rank;
  int64_t list[TSR_RANK_MAX];
  size_t n;
  bool given, seen[TSR_RANK_MAX] = {false};
  enum tsr_status s = tsri_ints(c, "perm", SIZE_MAX, list, TSR_RANK_MAX, &n, &given);
  if (s) return s;
  if (given && n != rank)
    return FAIL(c, "'perm' has the wrong number of entries; expected %u, got '%zu'", rank, n);
  for (unsigned d = 0; d < rank; d++) {
    int64_t p = given ? list[d] : (int64_t)(rank - 1 - d);
    if (p < 0 || p >= (int64_t)rank || seen[p])
      return FAIL(c, "'perm' is no order of %u axes; entry %u is '%lld'", rank, d,
                  (long long)p);
    seen[p] = true;
    perm[d] = (unsigned)p;
  }
  return TSR_OK;
}

enum tsr_status tsri_infer_transpose(struct tsri_infer *c) {
  unsigned perm[TSR_RANK_MAX];
  enum tsr_status s = permutation(c, perm);
  if (s) return s;
  uint64_t dim[TSR_RANK_MAX];
  for (unsigned d = 0; d < c->in[0]->rank; d++) dim[d] = c->in[0]->dim[perm[d]];
  return tsri_set(c, 0, c->in[0]->type, c->in[0]->rank, dim);
}

/* Output dimension d is input dimension perm[d] of an array of this shape. */
static void move_permuted(const struct tsr_array *x, unsigned rank, const uint64_t *dim,
                          const unsigned *perm, struct tsr_array *y) {
  uint64_t own[TSR_RANK_MAX], from[TSR_RANK_MAX], to[TSR_RANK_MAX], out[TSR_RANK_MAX];
  tsri_strides(rank, dim, own);
  for (unsigned d = 0; d < rank; d++) {
    from[d] = own[perm[d]];
    out[d] = dim[perm[d]];
  }
  tsri_strides(rank, out, to);
  tsri_move(x, 0, from, y, 0, to, rank, out);
}

enum tsr_status tsri_eval_transpose(struct tsri_eval *c) {
  unsigned perm[TSR_RANK_MAX];
  enum tsr_status s = permutation(c->shape, perm);
  if (!s && c->out[0]) move_permuted(c->in[0], c->in[0]->rank, c->in[0]->dim, perm, c->out[0]);
  return s;
}

/* ---- DepthToSpace, SpaceToDepth ---- */

static enum tsr_status block_size(const struct tsri_infer *c, uint64_t *out) {
  enum tsr_status s = tsri_want_rank(c, 0, 4);
  int64_t b = tsr_net_attr_int(c->node, "blocksize", 0);
  if (!s && (b < 1 || b > 1 << 20))
    s = FAIL(c, "'blocksize' is out of range; expected at least 1, got '%lld'", (long long)b);
  if (!s) *out = (uint64_t)b;
  return s;
}

static enum tsr_status crd(const struct tsri_infer *c, bool *out) {
  const char *mode = tsr_net_attr_text(c->node, "mode", "DCR");
  *out = strcmp(mode, "CRD") == 0;
  if (*out || strcmp(mode, "DCR") == 0) return TSR_OK;
  return FAIL(c, "'mode' is unknown; expected DCR or CRD, got '%s'", mode);
}

enum tsr_status tsri_infer_depth_to_space(struct tsri_infer *c) {
  uint64_t b;
  bool columns;
  enum tsr_status s = block_size(c, &b);
  if (!s) s = crd(c, &columns);
  if (s) return s;
  const uint64_t *x = c->in[0]->dim;
  if (x[1] % (b * b))
    return FAIL(c,
                "the channels do not divide into blocks; expected a multiple of %llu, got "
                "'%llu'",
                (unsigned long long)(b * b), (unsigned long long)x[1]);
  uint64_t dim[4] = {x[0], x[1] / (b * b), x[2] * b, x[3] * b};
  return tsri_set(c, 0, c->in[0]->type, 4, dim);
}

enum tsr_status tsri_eval_depth_to_space(struct tsri_eval *c) {
  static const unsigned DCR[6] = {0, 3, 4, 1, 5, 2}, CRD[6] = {0, 1, 4, 2, 5, 3};
  uint64_t b;
  bool columns;
  enum tsr_status s = block_size(c->shape, &b);
  if (!s) s = crd(c->shape, &columns);
  if (s || !c->out[0]) return s;
  const uint64_t *x = c->in[0]->dim;
  uint64_t depth = x[1] / (b * b);
  uint64_t dcr[6] = {x[0], b, b, depth, x[2], x[3]}, crd6[6] = {x[0], depth, b, b, x[2], x[3]};
  move_permuted(c->in[0], 6, columns ? crd6 : dcr, columns ? CRD : DCR, c->out[0]);
  return TSR_OK;
}

enum tsr_status tsri_infer_space_to_depth(struct tsri_infer *c) {
  uint64_t b;
  enum tsr_status s = block_size(c, &b);
  if (s) return s;
  const uint64_t *x = c->in[0]->dim;
  if (x[2] % b || x[3] % b)
    return FAIL(c, "%s does not divide into blocks of %llu", tsri_net_shape_text(4, x).s,
                (unsigned long long)b);
  uint64_t dim[4] = {x[0], x[1] * b * b, x[2] / b, x[3] / b};
  return tsri_set(c, 0, c->in[0]->type, 4, dim);
}

enum tsr_status tsri_eval_space_to_depth(struct tsri_eval *c) {
  static const unsigned PERM[6] = {0, 3, 5, 1, 2, 4};
  uint64_t b;
  enum tsr_status s = block_size(c->shape, &b);
  if (s || !c->out[0]) return s;
  const uint64_t *x = c->in[0]->dim;
  uint64_t six[6] = {x[0], x[1], x[2] / b, b, x[3] / b, b};
  move_permuted(c->in[0], 6, six, PERM, c->out[0]);
  return TSR_OK;
}

/* ---- Slice ---- */

struct cut {
  int64_t start[TSR_RANK_MAX], step[TSR_RANK_MAX];
  uint64_t dim[TSR_RANK_MAX];
};

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

static void cut_axis(struct cut *k, unsigned d, uint64_t size, int64_t start, int64_t end,
                     int64_t step) {
  int64_t n = (int64_t)size;
  step = clamp(step, -(INT64_C(1) << 41), INT64_C(1) << 41); /* beyond every size */
  if (start < 0) start += n;
  if (end < 0) end += n;
  start = step > 0 ? clamp(start, 0, n) : clamp(start, 0, n - 1);
  end = step > 0 ? clamp(end, 0, n) : clamp(end, -1, n - 1);
  int64_t span = step > 0 ? end - start : start - end, pace = step > 0 ? step : -step;
  k->start[d] = start;
  k->step[d] = step;
  k->dim[d] = span > 0 && n > 0 ? (uint64_t)((span + pace - 1) / pace) : 0;
}

static enum tsr_status cut_of(const struct tsri_infer *c, struct cut *k) {
  const struct tsr_net_value *x = c->in[0];
  int64_t start[TSR_RANK_MAX], end[TSR_RANK_MAX], axis[TSR_RANK_MAX], step[TSR_RANK_MAX];
  size_t n, n_end, n_axis, n_step;
  bool given, has_axes, has_steps;
  enum tsr_status s = tsri_ints(c, "starts", 1, start, TSR_RANK_MAX, &n, &given);
  if (!s) s = tsri_ints(c, "ends", 2, end, TSR_RANK_MAX, &n_end, &given);
  if (!s) s = tsri_ints(c, "axes", 3, axis, TSR_RANK_MAX, &n_axis, &has_axes);
  if (!s) s = tsri_ints(c, "steps", 4, step, TSR_RANK_MAX, &n_step, &has_steps);
  if (s) return s;
  if (n != n_end || (has_axes && n != n_axis) || (has_steps && n != n_step) || n > x->rank)
    return FAIL(c, "starts, ends, axes and steps do not fit each other or the %u dimensions",
                x->rank);
  bool seen[TSR_RANK_MAX] = {false};
  for (unsigned d = 0; d < x->rank; d++) cut_axis(k, d, x->dim[d], 0, INT64_MAX, 1);
  for (size_t e = 0; e < n; e++) {
    unsigned d;
    if (!tsr_net_axis(has_axes ? axis[e] : (int64_t)e, x->rank, &d) || seen[d])
      return FAIL(c, "'axes' is out of range or names an axis twice: '%lld'",
                  (long long)axis[e]);
    if (has_steps && step[e] == 0) return FAIL(c, "a step is 0; expected any other number");
    seen[d] = true;
    cut_axis(k, d, x->dim[d], start[e], end[e], has_steps ? step[e] : 1);
  }
  return TSR_OK;
}

enum tsr_status tsri_infer_slice(struct tsri_infer *c) {
  struct cut k;
  enum tsr_status s = cut_of(c, &k);
  return s ? s : tsri_set(c, 0, c->in[0]->type, c->in[0]->rank, k.dim);
}

enum tsr_status tsri_eval_slice(struct tsri_eval *c) {
  struct cut k;
  enum tsr_status s = cut_of(c->shape, &k);
  if (s || !c->out[0]) return s;
  uint64_t own[TSR_RANK_MAX], from[TSR_RANK_MAX], to[TSR_RANK_MAX], at = 0;
  tsri_strides(c->in[0]->rank, c->in[0]->dim, own);
  tsri_strides(c->out[0]->rank, c->out[0]->dim, to);
  for (unsigned d = 0; d < c->in[0]->rank; d++) {
    at += (uint64_t)k.start[d] * own[d];
    from[d] = (uint64_t)k.step[d] * own[d];
  }
  tsri_move(c->in[0], at, from, c->out[0], 0, to, c->in[0]->rank, k.dim);
  return TSR_OK;
}

/* ---- Split, Concat ---- */

enum { PARTS_MAX = 1024, OPSET_UNEVEN = 18 };

static enum tsr_status equal_parts(const struct tsri_infer *c, uint64_t size, int64_t *part,
                                   size_t *n) {
  int64_t asked = tsr_net_attr_int(c->node, "num_outputs", (int64_t)c->node->n_out);
  if (asked < 1 || asked > PARTS_MAX)
    return FAIL(c, "'num_outputs' is out of range; expected 1 to %d, got '%lld'", PARTS_MAX,
                (long long)asked);
  uint64_t parts = (uint64_t)asked, each = tsr_ceil_div(size, parts);
  if (size % parts && c->net->opset < OPSET_UNEVEN)
    return FAIL(c, "%llu does not divide into %llu equal parts", (unsigned long long)size,
                (unsigned long long)parts);
  for (uint64_t k = 0; k < parts; k++) {
    uint64_t from = k * each < size ? k * each : size;
    part[k] = (int64_t)(size - from < each ? size - from : each);
  }
  *n = (size_t)parts;
  return TSR_OK;
}

static enum tsr_status parts_of(const struct tsri_infer *c, unsigned *axis, int64_t *part,
                                size_t *n) {
  const struct tsr_net_value *x = c->in[0];
  bool given;
  enum tsr_status s = tsri_axis(c, "axis", 0, x->rank, axis);
  if (!s) s = tsri_ints(c, "split", 1, part, PARTS_MAX, n, &given);
  if (s) return s;
  uint64_t size = x->dim[*axis], sum = 0;
  if (!given && (s = equal_parts(c, size, part, n))) return s;
  for (size_t k = 0; k < *n; k++) {
    if (part[k] < 0 || (uint64_t)part[k] > size)
      return FAIL(c,
                  "part %zu is out of range; "
                  "expected 0 to %llu, got '%lld'",
                  k, (unsigned long long)size, (long long)part[k]);
    sum += (uint64_t)part[k];
  }
  if (sum != size || *n < c->node->n_out)
    return FAIL(c,
                "the parts do not fit; expected %zu that sum to %llu, got '%zu' that sum to "
                "%llu",
                c->node->n_out, (unsigned long long)size, *n, (unsigned long long)sum);
  return TSR_OK;
}

enum tsr_status tsri_infer_split(struct tsri_infer *c) {
  unsigned axis;
  int64_t part[PARTS_MAX];
  size_t n;
  enum tsr_status s = parts_of(c, &axis, part, &n);
  for (size_t k = 0; !s && k < c->node->n_out; k++) {
    uint64_t dim[TSR_RANK_MAX];
    memcpy(dim, c->in[0]->dim, sizeof dim);
    dim[axis] = (uint64_t)part[k];
    s = tsri_set(c, k, c->in[0]->type, c->in[0]->rank, dim);
  }
  return s;
}

enum tsr_status tsri_eval_split(struct tsri_eval *c) {
  unsigned axis;
  int64_t part[PARTS_MAX];
  size_t n;
  enum tsr_status s = parts_of(c->shape, &axis, part, &n);
  uint64_t from[TSR_RANK_MAX], to[TSR_RANK_MAX], at = 0;
  const struct tsr_array *x = c->in[0];
  tsri_strides(x->rank, x->dim, from);
  for (size_t k = 0; !s && k < c->node->n_out; k++) {
    struct tsr_array *y = c->out[k];
    if (y) {
      tsri_strides(y->rank, y->dim, to);
      tsri_move(x, at, from, y, 0, to, y->rank, y->dim);
    }
    at += (uint64_t)part[k] * from[axis];
  }
  return s;
}

enum { OPSET_CONCAT_AXIS = 4 };

static enum tsr_status concat_axis(const struct tsri_infer *c, unsigned *axis) {
  if (!tsr_net_attr(c->node, "axis") && c->net->opset >= OPSET_CONCAT_AXIS)
    return FAIL(c, "attribute 'axis' is missing");
  return tsri_axis(c, "axis", 1, c->in[0]->rank, axis);
}

enum tsr_status tsri_infer_concat(struct tsri_infer *c) {
  unsigned axis;
  enum tsr_status s = concat_axis(c, &axis);
  if (s) return s;
  const struct tsr_net_value *x = c->in[0];
  uint64_t dim[TSR_RANK_MAX];
  memcpy(dim, x->dim, sizeof dim);
  for (size_t i = 1; i < c->node->n_in; i++) {
    const struct tsr_net_value *v = c->in[i];
    if ((s = tsri_want_type_of(c, i, 0)) || (s = tsri_want_rank(c, i, x->rank))) return s;
    for (unsigned d = 0; d < x->rank; d++)
      if (d != axis && v->dim[d] != x->dim[d])
        return FAIL(c,
                    "input %zu ('%s') does not fit the first along axis %u; expected %llu, "
                    "got '%llu'",
                    i, v->name, d, (unsigned long long)x->dim[d],
                    (unsigned long long)v->dim[d]);
    if (!tsr_add_u64(dim[axis], v->dim[axis], &dim[axis]))
      return FAIL(c, "the result is too large; expected at most 2^40 elements");
  }
  return tsri_set(c, 0, x->type, x->rank, dim);
}

enum tsr_status tsri_eval_concat(struct tsri_eval *c) {
  unsigned axis;
  enum tsr_status s = concat_axis(c->shape, &axis);
  if (s || !c->out[0]) return s;
  uint64_t from[TSR_RANK_MAX], to[TSR_RANK_MAX], at = 0;
  tsri_strides(c->out[0]->rank, c->out[0]->dim, to);
  for (size_t i = 0; i < c->node->n_in; i++) {
    const struct tsr_array *x = c->in[i];
    tsri_strides(x->rank, x->dim, from);
    tsri_move(x, 0, from, c->out[0], at, to, x->rank, x->dim);
    at += x->dim[axis] * to[axis];
  }
  return TSR_OK;
}

/* ---- tables of source coordinates ---- */

struct tables {
  int64_t *of[TSR_RANK_MAX];
};

static void tables_fini(struct tables *t) {
  for (unsigned d = 0; d < TSR_RANK_MAX; d++) tsr_mem_free(t->of[d]);
}

static bool tables_init(struct tables *t, const struct tsr_array *y) {
  *t = (struct tables){{NULL}};
  for (unsigned d = 0; d < y->rank; d++) {
    t->of[d] = tsr_mem_array((size_t)y->dim[d], sizeof *t->of[d]);
    if (t->of[d]) continue;
    tables_fini(t);
    return false;
  }
  return true;
}

/* ---- Pad ---- */

enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP, PAD_N_ };
struct pad {
  enum pad_mode mode;
  int64_t lo[TSR_RANK_MAX], hi[TSR_RANK_MAX];
};

static enum tsr_status pad_mode(const struct tsri_infer *c, enum pad_mode *out) {
  static const char *const NAMES[PAD_N_] = {"constant", "edge", "reflect", "wrap"};
  const char *word = tsr_net_attr_text(c->node, "mode", "constant");
  for (unsigned k = 0; k < PAD_N_; k++) {
    if (strcmp(word, NAMES[k]) != 0) continue;
    *out = (enum pad_mode)k;
    return TSR_OK;
  }
  return FAIL(c, "'mode' is unknown; expected constant, edge, reflect or wrap, got '%s'", word);
}

static enum tsr_status pad_axis(const struct tsri_infer *c, struct pad *p, unsigned d,
                                int64_t lo, int64_t hi) {
  uint64_t size = c->in[0]->dim[d];
  const int64_t most = (int64_t)TSR_ARRAY_ELEMS_MAX;
  if (lo < -most || lo > most || hi < -most || hi > most || (int64_t)size + lo + hi < 0)
    return FAIL(c, "the pads %lld and %lld of axis %u are out of range", (long long)lo,
                (long long)hi, d);
  if (size == 0 && p->mode != PAD_CONSTANT && lo + hi > 0)
    return FAIL(c, "axis %u is empty: there is nothing to pad it with", d);
  p->lo[d] = lo;
  p->hi[d] = hi;
  return TSR_OK;
}

static enum tsr_status pad_of(const struct tsri_infer *c, struct pad *p) {
  unsigned rank = c->in[0]->rank;
  int64_t list[2 * TSR_RANK_MAX], axis[TSR_RANK_MAX];
  size_t n, n_axis;
  bool given, has_axes;
  *p = (struct pad){PAD_CONSTANT, {0}, {0}};
  const char *name = tsr_net_attr(c->node, "paddings") ? "paddings" : "pads";
  enum tsr_status s = pad_mode(c, &p->mode);
  if (!s) s = tsri_ints(c, name, 1, list, 2 * TSR_RANK_MAX, &n, &given);
  if (!s) s = tsri_ints(c, "axes", 3, axis, TSR_RANK_MAX, &n_axis, &has_axes);
  if (!s && !has_axes) n_axis = rank;
  if (!s && n != 2 * n_axis)
    s = FAIL(c, "'pads' has the wrong number of entries; expected %zu, got '%zu'", 2 * n_axis,
             n);
  for (size_t k = 0; !s && k < n_axis; k++) {
    unsigned d;
    if (!tsr_net_axis(has_axes ? axis[k] : (int64_t)k, rank, &d))
      return FAIL(c, "'axes' is out of range: '%lld'", (long long)axis[k]);
    s = pad_axis(c, p, d, list[k], list[n_axis + k]);
  }
  return s;
}

enum tsr_status tsri_infer_pad(struct tsri_infer *c) {
  struct pad p;
  const struct tsr_net_value *x = c->in[0], *fill = tsri_in(c, 2);
  enum tsr_status s = pad_of(c, &p);
  if (!s) s = tsri_want_type_of(c, 2, 0);
  uint64_t n = 1;
  if (!s && fill) tsr_array_count(fill->rank, fill->dim, &n);
  if (!s && n != 1) s = FAIL(c, "input 2 ('%s') is no single number", fill->name);
  if (s) return s;
  uint64_t dim[TSR_RANK_MAX];
  for (unsigned d = 0; d < x->rank; d++)
    dim[d] = (uint64_t)((int64_t)x->dim[d] + p.lo[d] + p.hi[d]);
  return tsri_set(c, 0, x->type, x->rank, dim);
}

static int64_t modulo(int64_t a, int64_t n) {
  int64_t r = a % n;
  return r < 0 ? r + n : r;
}

/* Where coordinate at, which may lie outside [0, n), comes from; -1: the constant. */
static int64_t padded(enum pad_mode mode, int64_t at, int64_t n) {
  if (at >= 0 && at < n) return at;
  switch (mode) {
  case PAD_EDGE: return at < 0 ? 0 : n - 1;
  case PAD_WRAP: return modulo(at, n);
  case PAD_REFLECT:
    if (n == 1) return 0;
    at = modulo(at, 2 * (n - 1));
    return at < n ? at : 2 * (n - 1) - at;
  default: return -1;
  }
}

enum tsr_status tsri_eval_pad(struct tsri_eval *c) {
  struct pad p;
  const struct tsr_array *x = c->in[0], *fill = tsri_arg(c, 2);
  struct tsr_array *y = c->out[0];
  struct tables t;
  enum tsr_status s = pad_of(c->shape, &p);
  if (s || !y) return s;
  if (!tables_init(&t, y)) return tsr_err_nomem(c->err);
  for (unsigned d = 0; d < y->rank; d++)
    for (uint64_t k = 0; k < y->dim[d]; k++)
      t.of[d][k] = padded(p.mode, (int64_t)k - p.lo[d], (int64_t)x->dim[d]);
  double value = fill ? tsr_array_get(fill, 0) : tsr_net_attr_float(c->node, "value", 0);
  tsri_pick(x, y, (const int64_t *const *)t.of, value,
            fill && fill->i ? fill->i[0] : (int64_t)value);
  tables_fini(&t);
  return TSR_OK;
}

/* ---- Expand, Tile ---- */

static enum tsr_status take_shape(const struct tsri_infer *c, size_t i, const char *what,
                                  uint64_t *dim, size_t *n) {
  int64_t list[TSR_RANK_MAX];
  bool given;
  enum tsr_status s = tsri_ints(c, what, i, list, TSR_RANK_MAX, n, &given);
  for (size_t k = 0; !s && k < *n; k++) {
    if (list[k] < 0) s = FAIL(c, "'%s' has a negative entry: '%lld'", what, (long long)list[k]);
    dim[k] = (uint64_t)list[k];
  }
  return s;
}

enum tsr_status tsri_infer_expand(struct tsri_infer *c) {
  const struct tsr_net_value *x = c->in[0];
  uint64_t asked[TSR_RANK_MAX], dim[TSR_RANK_MAX];
  size_t n;
  enum tsr_status s = take_shape(c, 1, "shape", asked, &n);
  if (s) return s;
  unsigned rank = x->rank;
  memcpy(dim, x->dim, sizeof dim);
  if (!tsri_broadcast(&rank, dim, (unsigned)n, asked))
    return FAIL(c, "%s does not broadcast to %s", tsri_net_shape_text(x->rank, x->dim).s,
                tsri_net_shape_text((unsigned)n, asked).s);
  return tsri_set(c, 0, x->type, rank, dim);
}

enum tsr_status tsri_eval_expand(struct tsri_eval *c) {
  struct tsr_array *y = c->out[0];
  if (!y) return TSR_OK;
  uint64_t from[TSR_RANK_MAX], to[TSR_RANK_MAX];
  tsri_strides_to(c->in[0], y->rank, y->dim, from);
  tsri_strides(y->rank, y->dim, to);
  tsri_move(c->in[0], 0, from, y, 0, to, y->rank, y->dim);
  return TSR_OK;
}

/* Tile of opset 1 has a count and an axis, one number each. */
static enum tsr_status repeats_of(const struct tsri_infer *c, uint64_t *repeat) {
  unsigned rank = c->in[0]->rank;
  size_t n;
  enum tsr_status s = take_shape(c, 1, "repeats", repeat, &n);
  if (s) return s;
  if (tsri_in(c, 2)) {
    uint64_t axis[TSR_RANK_MAX];
    size_t n_axis;
    s = take_shape(c, 2, "axis", axis, &n_axis);
    if (!s && (n != 1 || n_axis != 1 || axis[0] >= rank))
      s = FAIL(c, "'tiles' and 'axis' are out of range; expected one number each");
    if (s) return s;
    uint64_t count = repeat[0];
    for (unsigned d = 0; d < rank; d++) repeat[d] = d == axis[0] ? count : 1;
    return TSR_OK;
  }
  if (n == rank) return TSR_OK;
  return FAIL(c, "'repeats' has the wrong number of entries; expected %u, got '%zu'", rank, n);
}

enum tsr_status tsri_infer_tile(struct tsri_infer *c) {
  const struct tsr_net_value *x = c->in[0];
  uint64_t dim[TSR_RANK_MAX];
  enum tsr_status s = repeats_of(c, dim);
  if (s) return s;
  for (unsigned d = 0; d < x->rank; d++)
    if (!tsr_mul_u64(dim[d], x->dim[d], &dim[d]))
      return FAIL(c, "the result is too large; expected at most 2^40 elements");
  return tsri_set(c, 0, x->type, x->rank, dim);
}

enum tsr_status tsri_eval_tile(struct tsri_eval *c) {
  struct tables t;
  struct tsr_array *y = c->out[0];
  if (!y) return TSR_OK;
  if (!tables_init(&t, y)) return tsr_err_nomem(c->err);
  for (unsigned d = 0; d < y->rank; d++)
    for (uint64_t k = 0; k < y->dim[d]; k++) t.of[d][k] = (int64_t)(k % c->in[0]->dim[d]);
  tsri_pick(c->in[0], y, (const int64_t *const *)t.of, 0, 0);
  tables_fini(&t);
  return TSR_OK;
}

/* ---- Trilu ---- */

enum tsr_status tsri_infer_trilu(struct tsri_infer *c) {
  const struct tsr_net_value *k = tsri_in(c, 1);
  uint64_t n = 1;
  enum tsr_status s = tsri_want_rank_from(c, 0, 2);
  if (!s) s = tsri_want_int(c, 1);
  if (!s && k) tsr_array_count(k->rank, k->dim, &n);
  if (!s && n != 1) s = FAIL(c, "input 1 ('%s') is no single number", k->name);
  return s ? s : tsri_set_like(c, 0, 0);
}

enum tsr_status tsri_eval_trilu(struct tsri_eval *c) {
  const struct tsr_array *x = c->in[0], *k = tsri_arg(c, 1);
  struct tsr_array *y = c->out[0];
  bool upper = tsr_net_attr_int(c->node, "upper", 1) != 0;
  int64_t most = (int64_t)TSR_ARRAY_ELEMS_MAX;
  int64_t diagonal = k ? clamp(k->i[0], -most, most) : 0;
  if (!y || x->n == 0) return TSR_OK;
  uint64_t rows = x->dim[x->rank - 2], cols = x->dim[x->rank - 1];
  for (uint64_t at = 0; at < x->n; at++) {
    int64_t past = (int64_t)(at % cols) - (int64_t)(at / cols % rows) - diagonal;
    if (upper ? past < 0 : past > 0) continue; /* zero as created */
    if (x->f) {
      y->f[at] = x->f[at];
    } else {
      y->i[at] = x->i[at];
    }
  }
  return TSR_OK;
}
