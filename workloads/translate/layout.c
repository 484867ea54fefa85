/* Operators that move elements as they are, or only rename them. */
#include <string.h>

#include "workloads/translate/translate_int.h"

/* ---- nothing runs ---- */

static enum tsr_status same(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  (void)arg;
  return tsri_tr_alias(t, n->in[0], n->out[0]);
}

/* In inference nothing is dropped: the mask is true everywhere. */
static enum tsr_status dropout(struct tsri_tr *t, const struct tsr_net_node *n,
                               const void *arg) {
  size_t mask = tsri_tr_out(n, 1);
  if (mask != SIZE_MAX) {
    struct tsri_tr_shape s = tsri_tr_shape_of(t, mask);
    struct tsr_array *a = NULL;
    size_t all = SIZE_MAX;
    enum tsr_status st = tsri_tr_const(t, "mask", s.type, s.rank, s.dim, &all, &a);
    if (st) return st;
    for (uint64_t i = 0; i < a->n; i++) tsr_array_set(a, i, 1);
    st = tsri_tr_alias(t, all, mask);
    if (st) return st;
  }
  return same(t, n, arg);
}

/* ---- dimensions in another order ---- */

static enum tsr_status transpose(struct tsri_tr *t, const struct tsr_net_node *n,
                                 const void *arg) {
  (void)arg;
  unsigned perm[TSR_RANK_MAX], rank = tsri_tr_shape_of(t, n->in[0]).rank;
  size_t have;
  const int64_t *p = tsr_net_attr_ints(n, "perm", &have);
  for (unsigned d = 0; d < rank; d++) perm[d] = p ? (unsigned)p[d] : rank - 1 - d;
  return tsri_tr_permute_to(t, NULL, n->in[0], perm, n->out[0]);
}

/* An image's blocks of `b` x `b` pixels and its channels: six dimensions, permuted. */
static enum tsr_status blocks(struct tsri_tr *t, const struct tsr_net_node *n,
                              const uint64_t dim[6], const unsigned perm[6]) {
  struct tsr_view src = tsri_tr_view_as(t, n->in[0], 6, dim);
  src = tsri_tr_view_permuted(&src, perm);
  struct tsr_view dst = tsri_tr_view_as(t, n->out[0], 6, src.dim);
  return tsri_tr_copy(t, NULL, &src, &dst);
}

static enum tsr_status depth_to_space(struct tsri_tr *t, const struct tsr_net_node *n,
                                      const void *arg) {
  (void)arg;
  struct tsri_tr_shape s = tsri_tr_shape_of(t, n->in[0]);
  uint64_t b = (uint64_t)tsr_net_attr_int(n, "blocksize", 1), c = s.dim[1] / b / b;
  bool columns = strcmp(tsr_net_attr_text(n, "mode", "DCR"), "CRD") == 0;
  uint64_t dcr[6] = {s.dim[0], b, b, c, s.dim[2], s.dim[3]};
  uint64_t crd[6] = {s.dim[0], c, b, b, s.dim[2], s.dim[3]};
  static const unsigned dcr_perm[6] = {0, 3, 4, 1, 5, 2}, crd_perm[6] = {0, 1, 4, 2, 5, 3};
  return blocks(t, n, columns ? crd : dcr, columns ? crd_perm : dcr_perm);
}

static enum tsr_status space_to_depth(struct tsri_tr *t, const struct tsr_net_node *n,
                                      const void *arg) {
  (void)arg;
  struct tsri_tr_shape s = tsri_tr_shape_of(t, n->in[0]);
  uint64_t b = (uint64_t)tsr_net_attr_int(n, "blocksize", 1);
  uint64_t dim[6] = {s.dim[0], s.dim[1], s.dim[2] / b, b, s.dim[3] / b, b};
  static const unsigned perm[6] = {0, 3, 5, 1, 2, 4};
  return blocks(t, n, dim, perm);
}

/* ---- parts ---- */

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

static enum tsr_status slice(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  (void)arg;
  int64_t start[TSR_RANK_MAX], axes[TSR_RANK_MAX], step[TSR_RANK_MAX];
  size_t n_start, n_axes, n_step;
  bool given, has_axes, has_step;
  enum tsr_status s = tsri_tr_ints(t, n, "starts", 1, start, TSR_RANK_MAX, &n_start, &given);
  if (!s) s = tsri_tr_ints(t, n, "axes", 3, axes, TSR_RANK_MAX, &n_axes, &has_axes);
  if (!s) s = tsri_tr_ints(t, n, "steps", 4, step, TSR_RANK_MAX, &n_step, &has_step);
  if (s) return s;
  struct tsr_view src = tsri_tr_view(t, n->in[0]), dst = tsri_tr_view(t, n->out[0]);
  bool whole = tsr_view_elems(&src) == tsr_view_elems(&dst);
  memcpy(src.dim, dst.dim, sizeof src.dim);
  for (size_t i = 0; i < n_start; i++) {
    unsigned d = (unsigned)i;
    if (has_axes && !tsr_net_axis(axes[i], src.rank, &d)) continue;
    int64_t extent = (int64_t)src.extent[d], by = has_step && i < n_step ? step[i] : 1;
    int64_t from = start[i] < 0 ? start[i] + extent : start[i];
    src.base[d] = clamp(from, 0, by > 0 ? extent : extent - 1);
    src.coef[d][d] = by;
    whole = whole && by > 0;
  }
  if (whole) return tsri_tr_alias(t, n->in[0], n->out[0]);
  return tsri_tr_copy(t, NULL, &src, &dst);
}

static enum tsr_status split(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  (void)arg;
  unsigned axis = tsri_tr_axis(n, "axis", 0, tsri_tr_shape_of(t, n->in[0]).rank);
  int64_t from = 0;
  for (size_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == SIZE_MAX) continue;
    struct tsr_view src = tsri_tr_view(t, n->in[0]), dst = tsri_tr_view(t, n->out[i]);
    src.dim[axis] = dst.dim[axis];
    src.base[axis] = from;
    from += (int64_t)dst.dim[axis];
    enum tsr_status s;
    if (n->n_out == 1)
      s = tsri_tr_alias(t, n->in[0], n->out[0]);
    else
      s = tsri_tr_copy(t, "part", &src, &dst);
    if (s) return s;
  }
  return TSR_OK;
}

/* Side by side, each row of every input: one operator.  Images as NHWC, where channels are the
 * columns. */
static enum tsr_status side_by_side(struct tsri_tr *t, const struct tsr_net_node *n,
                                    unsigned axis, uint64_t rows, bool images) {
  struct tsr_view v[TSR_OPERAND_PARTS], out;
  uint64_t cols[TSR_OPERAND_PARTS], all = tsri_tr_shape_of(t, n->out[0]).n / rows;
  for (size_t i = 0; i < n->n_in; i++) {
    struct tsri_tr_shape s = tsri_tr_shape_of(t, n->in[i]);
    cols[i] = images ? s.dim[axis] : s.n / rows;
    v[i] = images ? tsri_tr_view_nhwc(t, n->in[i])
                  : tsri_tr_view_as(t, n->in[i], 2, (uint64_t[]){rows, cols[i]});
  }
  out = images ? tsri_tr_view_nhwc(t, n->out[0])
               : tsri_tr_view_as(t, n->out[0], 2, (uint64_t[]){rows, all});
  struct tsri_tr_item it = tsri_tr_item(TSR_OP_CONCAT, rows, all, 1, 1);
  enum tsr_status s = tsri_tr_bind_parts(t, &it.bind.a, rows, (unsigned)n->n_in, cols, v);
  tsri_tr_bind_out(&it, &out);
  return s ? s : tsri_tr_emit(t, NULL, &it);
}

static enum tsr_status concat(struct tsri_tr *t, const struct tsr_net_node *n,
                              const void *arg) {
  if (n->n_in == 1) return same(t, n, arg);
  struct tsri_tr_shape o = tsri_tr_shape_of(t, n->out[0]);
  unsigned axis = tsri_tr_axis(n, "axis", 1, o.rank);
  bool images = o.rank == 4 && axis == 1, whole = n->n_in <= TSR_OPERAND_PARTS;
  uint64_t rows = 1;
  for (unsigned d = 0; d < o.rank; d++)
    if (images ? d != axis : d < axis) rows *= o.dim[d];
  for (size_t i = 0; i < n->n_in; i++) whole = whole && tsri_tr_shape_of(t, n->in[i]).n;
  if (whole && (rows > 1 || (o.rank <= 2 && axis + 1 == o.rank)))
    return side_by_side(t, n, axis, rows, images);
  int64_t from = 0;
  for (size_t i = 0; i < n->n_in; i++) { /* rows behind rows */
    struct tsr_view src = tsri_tr_view(t, n->in[i]), dst = tsri_tr_view(t, n->out[0]);
    dst.dim[axis] = src.dim[axis];
    dst.base[axis] = from;
    from += (int64_t)src.dim[axis];
    enum tsr_status s = tsri_tr_copy(t, "part", &src, &dst);
    if (s) return s;
  }
  return TSR_OK;
}

/* ---- repeats ---- */

static enum tsr_status expand(struct tsri_tr *t, const struct tsr_net_node *n,
                              const void *arg) {
  struct tsri_tr_shape o = tsri_tr_shape_of(t, n->out[0]);
  if (tsri_tr_shape_of(t, n->in[0]).n == o.n) return same(t, n, arg);
  struct tsr_view src = tsri_tr_view_broadcast(t, n->in[0], o.rank, o.dim);
  struct tsr_view dst = tsri_tr_view(t, n->out[0]);
  return tsri_tr_copy(t, NULL, &src, &dst);
}

/* Coordinate d of a view is looked up: f of its number, of n. */
static enum tsr_status look_up(struct tsri_tr *t, struct tsr_view *v, unsigned d, uint64_t n,
                               int64_t (*f)(int64_t i, int64_t extent)) {
  int64_t *table = tsr_arena_array(t->net->arena, n ? n : 1, sizeof *table);
  if (!table) return tsr_err_nomem(t->err);
  for (uint64_t i = 0; i < n; i++) table[i] = f((int64_t)i + v->base[d], (int64_t)v->extent[d]);
  v->table[d] = table;
  v->n_table[d] = n;
  v->base[d] = 0;
  return TSR_OK;
}

static int64_t wrapped(int64_t i, int64_t extent) {
  int64_t r = i % extent;
  return r < 0 ? r + extent : r;
}
static int64_t edge(int64_t i, int64_t extent) {
  return clamp(i, 0, extent - 1);
}
static int64_t reflected(int64_t i, int64_t extent) {
  if (extent == 1) return 0;
  int64_t r = wrapped(i, 2 * (extent - 1));
  return r < extent ? r : 2 * (extent - 1) - r;
}

static enum tsr_status tile(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  struct tsr_view src = tsri_tr_view(t, n->in[0]), dst = tsri_tr_view(t, n->out[0]);
  if (tsr_view_elems(&src) == tsr_view_elems(&dst)) return same(t, n, arg);
  for (unsigned d = 0; d < src.rank; d++) {
    if (dst.dim[d] == src.dim[d]) continue;
    src.dim[d] = dst.dim[d];
    if (src.extent[d] == 1)
      src.coef[d][d] = 0;
    else {
      enum tsr_status s = look_up(t, &src, d, dst.dim[d], wrapped);
      if (s) return s;
    }
  }
  return tsri_tr_copy(t, NULL, &src, &dst);
}

/* ---- borders ---- */

static const struct {
  const char *name;
  int64_t (*f)(int64_t i, int64_t extent); /* NULL: a constant */
} modes[] = {{"constant", NULL}, {"reflect", reflected}, {"edge", edge}, {"wrap", wrapped}};

static enum tsr_status fill_of(struct tsri_tr *t, const struct tsr_net_node *n, double *out) {
  size_t value = tsri_tr_in(n, 2);
  const struct tsr_array *c = tsri_tr_constant(t, value);
  if (value != SIZE_MAX && !c)
    return tsri_tr_refuse(t, n, "the value of its border is known only when it runs");
  *out = c && c->n ? tsr_array_get(c, 0) : tsr_net_attr_float(n, "value", 0);
  return TSR_OK;
}

static enum tsr_status pad(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  (void)arg;
  const char *name = tsr_net_attr_text(n, "mode", "constant");
  size_t mode = 0, n_pads, n_axes;
  while (mode < sizeof modes / sizeof modes[0] && strcmp(modes[mode].name, name) != 0) mode++;
  if (mode == sizeof modes / sizeof modes[0])
    return tsri_tr_refuse(t, n, "mode '%s'; expected constant, reflect, edge or wrap", name);
  int64_t pads[2 * TSR_RANK_MAX], axes[TSR_RANK_MAX];
  bool given, has_axes;
  struct tsr_view src = tsri_tr_view(t, n->in[0]), dst = tsri_tr_view(t, n->out[0]);
  enum tsr_status s = tsri_tr_ints(t, n, "pads", 1, pads, 2 * TSR_RANK_MAX, &n_pads, &given);
  if (!s) s = tsri_tr_ints(t, n, "axes", 3, axes, TSR_RANK_MAX, &n_axes, &has_axes);
  if (!s) s = fill_of(t, n, &src.fill);
  for (size_t i = 0; !s && i < n_pads / 2; i++) {
    unsigned d = (unsigned)i;
    if (has_axes && !tsr_net_axis(axes[i], src.rank, &d)) continue;
    src.base[d] = -pads[i];
    if (modes[mode].f && (pads[i] || dst.dim[d] != src.dim[d]))
      s = look_up(t, &src, d, dst.dim[d], modes[mode].f);
  }
  memcpy(src.dim, dst.dim, sizeof src.dim);
  return s ? s : tsri_tr_copy(t, NULL, &src, &dst);
}

/* ---- triangles ---- */

static enum tsr_status trilu(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  (void)arg;
  struct tsri_tr_shape s = tsri_tr_shape_of(t, n->in[0]);
  int64_t k = 0;
  size_t have, mask = SIZE_MAX;
  bool given, upper = tsr_net_attr_int(n, "upper", 1) != 0;
  enum tsr_status st = tsri_tr_ints(t, n, NULL, 1, &k, 1, &have, &given);
  struct tsr_array *a = NULL;
  if (!st) st = tsri_tr_const(t, "triangle", TSR_DTYPE_BOOL, 2, &s.dim[s.rank - 2], &mask, &a);
  if (st) return st;
  uint64_t cols = s.dim[s.rank - 1];
  for (uint64_t i = 0; i < a->n; i++) {
    int64_t off = (int64_t)(i % cols) - (int64_t)(i / cols);
    tsr_array_set(a, i, upper ? off >= k : off <= k);
  }
  return tsri_tr_binary(t, NULL, TSR_OP_KEEP, n->in[0], mask, n->out[0]);
}

const struct tsri_tr_row tsri_tr_layout_rows[] = {
    {"Identity", same, NULL},
    {"Reshape", same, NULL},
    {"Flatten", same, NULL},
    {"Squeeze", same, NULL},
    {"Unsqueeze", same, NULL},
    {"Dropout", dropout, NULL},
    {"Transpose", transpose, NULL},
    {"Slice", slice, NULL},
    {"Split", split, NULL},
    {"Concat", concat, NULL},
    {"Pad", pad, NULL},
    {"Expand", expand, NULL},
    {"Tile", tile, NULL},
    {"DepthToSpace", depth_to_space, NULL},
    {"SpaceToDepth", space_to_depth, NULL},
    {"Trilu", trilu, NULL},
    {NULL, NULL, NULL},
};
