/* Pooling, and transposition, which is a window of one element read the other way round.
 *
 * A tile of a pooling is a patch of results of one image and some channels; the scratchpad
 * holds the patch of input that it touches, padding is what lies outside. */
#include <string.h>

#include "kernels/lower/op_int.h"

enum { X_B, X_OH, X_OW, X_C };
enum { T_A, T_D };
enum { TILES = 4 };
static const int axis_of[4] = {TSR_AXIS_B, TSR_AXIS_OH, TSR_AXIS_OW, TSR_AXIS_N};

static uint64_t span(uint64_t tile, uint64_t stride, uint64_t k, uint64_t dil) {
  return (tile - 1) * stride + (k - 1) * dil + 1;
}

static bool is_mean(const struct tsr_op *op) {
  return op->kind == TSR_OP_AVGPOOL || op->kind == TSR_OP_GLOBAL_AVGPOOL;
}

static uint64_t bytes_a(const struct tsr_op *op, const struct tsr_lower_at *at,
                        const uint64_t *tile) {
  const struct tsr_conv *v = &op->conv;
  uint64_t h = tsr_min_u64(span(tile[X_OH], v->stride_h, v->k_h, v->dil_h), v->in_h);
  uint64_t w = tsr_min_u64(span(tile[X_OW], v->stride_w, v->k_w, v->dil_w), v->in_w);
  return h * w * tile[X_C] * at->bytes[TSR_LOWER_FMT_A];
}

static bool fits(const struct tsr_op *op, const struct tsr_lower_at *at, const uint64_t *tile) {
  uint64_t d = tile[X_OH] * tile[X_OW] * tile[X_C] * at->bytes[TSR_LOWER_FMT_OUT];
  return bytes_a(op, at, tile) <= at->slot_bytes[TSR_BUF_A] && d <= at->slot_bytes[TSR_BUF_C];
}

/* The largest tile of an axis that fits, at most `most`. */
static void grow(const struct tsr_op *op, const struct tsr_lower_at *at, uint64_t *tile, int x,
                 uint64_t most) {
  uint64_t lo = 1, hi = most;
  while (lo < hi) {
    tile[x] = hi - (hi - lo) / 2;
    if (fits(op, at, tile))
      lo = tile[x];
    else
      hi = tile[x] - 1;
  }
  tile[x] = lo;
}

enum tsr_status tsri_window_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                                uint64_t cores, struct tsr_lower_cut *cut,
                                struct tsr_err *err) {
  const struct tsr_conv *v = &op->conv;
  const uint64_t size[4] = {v->batch, v->out_h, v->out_w, v->in_c};
  memcpy(cut->size, size, sizeof size);
  for (int x = 0; x < 4; x++) cut->tile[x] = 1;
  tsri_divide(cut, (const int[]){X_B, X_OH, X_C}, 3, cores);
  if (!fits(op, at, cut->tile))
    return tsri_no_fit(op, "the window of one element", bytes_a(op, at, cut->tile),
                       at->slot_bytes[TSR_BUF_A], "a", err);
  /* Channels first: they are neighbours in memory; then whole lines. */
  for (int x = X_C; x >= X_OH; x--) {
    uint64_t most = cut->axis == x ? cut->chunk : size[x];
    if (x == X_OH && v->batch < TILES) most = tsr_ceil_div(most, TILES);
    grow(op, at, cut->tile, x, most);
  }
  return TSR_OK;
}

struct window {
  struct tsri_emit *e;
  uint64_t from[4], size[4], trips[4];
};

static void pool_tensors(struct window *w) {
  struct tsri_emit *e = w->e;
  const struct tsr_conv *v = &e->op->conv;
  const uint64_t *tile = e->cut->tile, *all = e->cut->size;
  const enum tsr_lower_fmt fa = TSR_LOWER_FMT_A, fd = TSR_LOWER_FMT_OUT;
  uint64_t line = v->in_w * v->in_c;
  tsri_emit_tensor(e, T_A, fa,
                   e->at->base_bytes[TSR_LOWER_A] +
                       (w->from[X_B] * v->in_h * line + w->from[X_C]) * e->at->bytes[fa]);
  tsri_emit_dim(e, T_A, fa, 0, w->size[X_B], v->in_h * line, 1);
  tsri_emit_dim(e, T_A, fa, 1, v->in_h, line, span(tile[X_OH], v->stride_h, v->k_h, v->dil_h));
  tsri_emit_dim(e, T_A, fa, 2, v->in_w, v->in_c,
                span(tile[X_OW], v->stride_w, v->k_w, v->dil_w));
  tsri_emit_dim(e, T_A, fa, 3, w->size[X_C], 1, tile[X_C]);
  int64_t start_h = (int64_t)(w->from[X_OH] * v->stride_h) - (int64_t)v->pad_t;
  if (start_h) TSRI_EMIT(e, START, T_A, 1, start_h);
  if (v->pad_l) TSRI_EMIT(e, START, T_A, 2, -(int64_t)v->pad_l);
  const uint64_t delta[4] = {1, v->stride_h, v->stride_w, 1};
  uint64_t stride_d[4] = {all[X_OH] * all[X_OW] * all[X_C], all[X_OW] * all[X_C], all[X_C], 1};
  uint64_t first = w->from[X_B] * stride_d[0] + w->from[X_OH] * stride_d[1] + w->from[X_C];
  tsri_emit_tensor(e, T_D, fd, e->at->base_bytes[TSR_LOWER_OUT] + first * e->at->bytes[fd]);
  for (int x = 0; x < 4; x++) {
    TSRI_EMIT(e, FEED, T_A, x, axis_of[x], (int64_t)delta[x]);
    tsri_emit_walk(e, T_A, x, x, tile[x] * delta[x]);
    tsri_emit_dim(e, T_D, fd, x, w->size[x], stride_d[x], tile[x]);
    tsri_emit_walk(e, T_D, x, x, tile[x]);
  }
  TSRI_EMIT(e, FEED, T_A, 1, TSR_AXIS_KH, (int64_t)v->dil_h);
  TSRI_EMIT(e, FEED, T_A, 2, TSR_AXIS_KW, (int64_t)v->dil_w);
}

static void places(struct tsri_emit *e, const uint64_t *trips, int n) {
  struct tsri_trip t[4];
  struct tsri_ring a = tsri_ring_of(e->at, TSR_BUF_A), c = tsri_ring_of(e->at, TSR_BUF_C);
  for (int i = 0; i < n; i++) t[i] = (struct tsri_trip){i, trips[i]};
  tsri_emit_ring(e, T_A, &a, 0, TSR_LOWER_FMT_A, t, n);
  tsri_emit_ring(e, T_D, &c, 0, TSR_LOWER_FMT_OUT, t, n);
}

/* Loops around load, window operation and store. */
static void nest(struct tsri_emit *e, const uint64_t *trips, int n, int op, int rows, int cols,
                 int win, uint32_t imm) {
  for (int i = 0; i < n; i++) TSRI_EMIT(e, LOOP, i, (int64_t)trips[i]);
  tsri_emit_load(e, T_A, T_A, TSR_BUF_A);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_A);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_C);
  TSRI_EMIT(e, WINDOW, op, T_D, T_A, T_A, rows, cols, win, imm);
  tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_A, TSR_WHEN_READ);
  tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_C, TSR_WHEN_DONE);
  tsri_emit_store(e, T_D, T_D);
  for (int i = n; i-- > 0;) TSRI_EMIT(e, END, i);
}

static void begin(struct tsri_emit *e) {
  const enum tsr_lower_fmt fmts[] = {TSR_LOWER_FMT_A, TSR_LOWER_FMT_OUT, TSR_LOWER_FMTS};
  tsri_emit_formats(e, fmts);
  TSRI_EMIT(e, SEM, TSRI_FREE + TSR_BUF_A, (int64_t)e->at->slots[TSR_BUF_A]);
  TSRI_EMIT(e, SEM, TSRI_FREE + TSR_BUF_C, (int64_t)e->at->slots[TSR_BUF_C]);
}

void tsri_window_lower(struct tsri_emit *e, uint64_t core) {
  const struct tsr_conv *v = &e->op->conv;
  struct window w = {.e = e};
  float inverse = (float)(1.0 / (double)(v->k_h * v->k_w));
  uint32_t imm = 0;
  if (is_mean(e->op)) memcpy(&imm, &inverse, sizeof imm);
  for (int x = 0; x < 4; x++) {
    w.from[x] = tsri_from(e->cut, x, core);
    w.size[x] = tsri_size(e->cut, x, core);
    w.trips[x] = tsr_ceil_div(w.size[x], e->cut->tile[x]);
  }
  begin(e);
  for (int x = 0; x < 4; x++)
    TSRI_EMIT(e, AXIS, axis_of[x], x, (int64_t)w.size[x], (int64_t)e->cut->tile[x]);
  TSRI_EMIT(e, AXIS, TSR_AXIS_KH, TSR_ISA_NO_LOOP, (int64_t)v->k_h, (int64_t)v->k_h);
  TSRI_EMIT(e, AXIS, TSR_AXIS_KW, TSR_ISA_NO_LOOP, (int64_t)v->k_w, (int64_t)v->k_w);
  pool_tensors(&w);
  places(e, w.trips, 4);
  nest(e, w.trips, 4, is_mean(e->op) ? TSR_VEC_POOLMEAN : TSR_VEC_POOLMAX,
       1 << TSR_AXIS_B | 1 << TSR_AXIS_OH | 1 << TSR_AXIS_OW, 1 << TSR_AXIS_N,
       1 << TSR_AXIS_KH | 1 << TSR_AXIS_KW, imm);
}

/* ---- transposition ---- */

enum tsr_status tsri_transpose_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                                   uint64_t cores, struct tsr_lower_cut *cut,
                                   struct tsr_err *err) {
  uint64_t bytes = tsr_max_u64(at->bytes[TSR_LOWER_FMT_A], at->bytes[TSR_LOWER_FMT_OUT]);
  TSR_CHECK(bytes);
  uint64_t room = tsr_min_u64(at->slot_bytes[TSR_BUF_A], at->slot_bytes[TSR_BUF_C]) / bytes;
  cut->size[0] = op->count;
  cut->size[1] = op->m;
  cut->size[2] = op->n;
  tsri_divide(cut, (const int[]){1, 2, 0}, 3, cores);
  if (!room) return tsri_no_fit(op, "an element", bytes, 0, "c", err);
  uint64_t side = 1, m = cut->axis == 1 ? cut->chunk : op->m,
           n = cut->axis == 2 ? cut->chunk : op->n;
  while (4 * side * side <= room) side *= 2; /* square: both sides move whole bursts */
  cut->tile[0] = 1;
  cut->tile[1] = tsr_min_u64(m, tsr_min_u64(side, 512));
  TSR_CHECK(cut->tile[1]); /* a chunk of a size above 0 */
  cut->tile[2] = tsr_min_u64(n, tsr_min_u64(room / cut->tile[1], 512));
  return TSR_OK;
}

void tsri_transpose_lower(struct tsri_emit *e, uint64_t core) {
  static const int axes[3] = {TSR_AXIS_G, TSR_AXIS_OW, TSR_AXIS_N};
  static const int to[3] = {0, 2, 1};
  uint64_t from[3], size[3], trips[3];
  const uint64_t *all = e->cut->size, *tile = e->cut->tile;
  for (int x = 0; x < 3; x++) {
    from[x] = tsri_from(e->cut, x, core);
    size[x] = tsri_size(e->cut, x, core);
    trips[x] = tsr_ceil_div(size[x], tile[x]);
  }
  const uint64_t stride[3] = {all[1] * all[2], all[2], 1},
                 turned[3] = {all[1] * all[2], 1, all[1]};
  uint64_t first = 0, first_d = 0;
  for (int x = 0; x < 3; x++) {
    first += from[x] * stride[x];
    first_d += from[x] * turned[x];
  }
  begin(e);
  tsri_emit_tensor(e, T_A, TSR_LOWER_FMT_A,
                   e->at->base_bytes[TSR_LOWER_A] + first * e->at->bytes[TSR_LOWER_FMT_A]);
  tsri_emit_tensor(e, T_D, TSR_LOWER_FMT_OUT,
                   e->at->base_bytes[TSR_LOWER_OUT] +
                       first_d * e->at->bytes[TSR_LOWER_FMT_OUT]);
  for (int x = 0; x < 3; x++) {
    TSRI_EMIT(e, AXIS, axes[x], x, (int64_t)size[x], (int64_t)tile[x]);
    tsri_emit_dim(e, T_A, TSR_LOWER_FMT_A, x, size[x], stride[x], tile[x]);
    tsri_emit_walk(e, T_A, x, x, tile[x]);
    TSRI_EMIT(e, FEED, T_A, x, axes[x], 1);
  }
  static const int from_dim[3] = {0, 2, 1}; /* dimensions of the result, slowest first */
  for (int i = 0; i < 3; i++) {
    int x = from_dim[i];
    tsri_emit_dim(e, T_D, TSR_LOWER_FMT_OUT, to[x], size[x], turned[x], tile[x]);
    tsri_emit_walk(e, T_D, to[x], x, tile[x]);
  }
  places(e, trips, 3);
  nest(e, trips, 3, TSR_VEC_POOLMAX, 1 << TSR_AXIS_N, 1 << TSR_AXIS_OW, 0, 0);
}
