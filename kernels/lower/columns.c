/* Columns by index: what keeps the outliers of a matrix apart.
 *
 * A tile of columns loads its indices into scratchpad b.  For each tile of rows the load engine
 * gathers what they name into a, a column behind the other, for a column is what an index
 * names; the vector unit turns that into rows in c.  Columns of a tile are whole tiles: a list
 * is as long as its box, so that what is left over is a nest of its own behind the loop. */
#include "kernels/lower/op_int.h"

enum { L_G, L_N, L_M };
enum { T_TABLE, T_LIST, T_D, T_TURNED };
enum { P_COLS, P_LIST, P_D };
enum { TILES = 4 };

struct columns {
  struct tsri_emit *e;
  uint64_t from_g, g, from_m, m;
  uint64_t col; /* the first of the nest */
};

/* Elements of a tile that each scratchpad has room for. */
static uint64_t room_of(const struct tsr_lower_at *at) {
  return tsr_min_u64(at->slot_bytes[TSR_BUF_A] / at->bytes[TSR_LOWER_FMT_A],
                     at->slot_bytes[TSR_BUF_C] / at->bytes[TSR_LOWER_FMT_OUT]);
}

enum tsr_status tsri_columns_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                                 uint64_t cores, struct tsr_lower_cut *cut,
                                 struct tsr_err *err) {
  static const char *const name[] = {"a", "b", "c"};
  const uint64_t one[] = {at->bytes[TSR_LOWER_FMT_A], at->bytes[TSR_LOWER_FMT_INT32],
                          at->bytes[TSR_LOWER_FMT_OUT]};
  for (int b = 0; b < 3; b++)
    if (one[b] > at->slot_bytes[b])
      return tsri_no_fit(op, b == TSR_BUF_B ? "an index" : "an element", one[b],
                         at->slot_bytes[b], name[b], err);
  uint64_t room = room_of(at), list = at->slot_bytes[TSR_BUF_B] / one[TSR_BUF_B];
  cut->size[0] = op->count;
  cut->size[1] = op->m;
  cut->size[2] = op->n;
  tsri_divide(cut, (const int[]){1, 0}, op->count > 1 ? 2 : 1, cores);
  uint64_t m = cut->axis == 1 ? cut->chunk : op->m;
  cut->tile[0] = 1;
  cut->tile[2] = tsr_min_u64(op->n, tsr_min_u64(room, list));
  TSR_CHECK(cut->tile[2]); /* neither is 0 */
  /* several tiles, so that the units overlap */
  cut->tile[1] = tsr_min_u64(tsr_max_u64(tsr_ceil_div(m, TILES), 1), room / cut->tile[2]);
  return TSR_OK;
}

/* The tensors for tiles of tn columns out of `cols`. */
static void describe(const struct columns *x, uint64_t tn, uint64_t cols) {
  struct tsri_emit *e = x->e;
  const struct tsr_lower_at *at = e->at;
  const enum tsr_lower_fmt fa = TSR_LOWER_FMT_A, fi = TSR_LOWER_FMT_INT32,
                           fd = TSR_LOWER_FMT_OUT;
  uint64_t m = e->cut->size[1], n = e->cut->size[2], tm = e->cut->tile[1];
  uint64_t table = e->op->attr.table, row = x->from_g * m + x->from_m;
  tsri_emit_tensor(e, T_TABLE, fa, at->base_bytes[TSR_LOWER_A] + row * table * at->bytes[fa]);
  tsri_emit_dim(e, T_TABLE, fa, 0, table, 1, tn);
  tsri_emit_dim(e, T_TABLE, fa, 1, x->g, m * table, 1);
  tsri_emit_dim(e, T_TABLE, fa, 2, x->m, table, tm);
  tsri_emit_walk(e, T_TABLE, 1, L_G, 1);
  tsri_emit_walk(e, T_TABLE, 2, L_M, tm);
  tsri_emit_tensor(e, T_LIST, fi,
                   at->base_bytes[TSR_LOWER_B] + (x->from_g * n + x->col) * at->bytes[fi]);
  tsri_emit_dim(e, T_LIST, fi, 0, x->g, n, 1);
  tsri_emit_dim(e, T_LIST, fi, 1, cols, 1, tn);
  tsri_emit_walk(e, T_LIST, 0, L_G, 1);
  tsri_emit_walk(e, T_LIST, 1, L_N, tn);
  tsri_emit_tensor(e, T_D, fd,
                   at->base_bytes[TSR_LOWER_OUT] + (row * n + x->col) * at->bytes[fd]);
  tsri_emit_dim(e, T_D, fd, 0, x->g, m * n, 1);
  tsri_emit_dim(e, T_D, fd, 1, x->m, n, tm);
  tsri_emit_dim(e, T_D, fd, 2, cols, 1, tn);
  tsri_emit_walk(e, T_D, 0, L_G, 1);
  tsri_emit_walk(e, T_D, 1, L_M, tm);
  tsri_emit_walk(e, T_D, 2, L_N, tn);
  /* What the vector unit reads: the columns of a tile, one behind the other. */
  tsri_emit_tensor(e, T_TURNED, fa, at->base_bytes[TSR_LOWER_A]);
  tsri_emit_dim(e, T_TURNED, fa, 0, tn, x->m, tn);
  tsri_emit_dim(e, T_TURNED, fa, 1, x->m, 1, tm);
  tsri_emit_walk(e, T_TURNED, 1, L_M, tm);
  TSRI_EMIT(e, FEED, T_TURNED, 0, TSR_AXIS_N, 1);
  TSRI_EMIT(e, FEED, T_TURNED, 1, TSR_AXIS_OW, 1);
}

/* Tiles of tn columns, `trips` of them. */
static void nest(const struct columns *x, uint64_t tn, uint64_t trips) {
  struct tsri_emit *e = x->e;
  uint64_t tm = e->cut->tile[1], steps = tsr_ceil_div(x->m, tm);
  const struct tsri_trip t[3] = {{L_G, x->g}, {L_N, trips}, {L_M, steps}};
  const struct tsri_ring a = tsri_ring_of(e->at, TSR_BUF_A), b = tsri_ring_of(e->at, TSR_BUF_B),
                         c = tsri_ring_of(e->at, TSR_BUF_C);
  describe(x, tn, tn * trips);
  tsri_emit_ring(e, P_COLS, &a, 0, TSR_LOWER_FMT_A, t, 3);
  tsri_emit_ring(e, P_LIST, &b, 0, TSR_LOWER_FMT_INT32, t, 2);
  tsri_emit_ring(e, P_D, &c, 0, TSR_LOWER_FMT_OUT, t, 3);
  TSRI_EMIT(e, AXIS, TSR_AXIS_OW, L_M, (int64_t)x->m, (int64_t)tm);
  TSRI_EMIT(e, AXIS, TSR_AXIS_N, TSR_ISA_NO_LOOP, (int64_t)tn, (int64_t)tn);
  TSRI_EMIT(e, LOOP, L_G, (int64_t)x->g);
  TSRI_EMIT(e, LOOP, L_N, (int64_t)trips);
  tsri_emit_wait(e, TSR_UNIT_LOAD, TSRI_FREE + TSR_BUF_B);
  TSRI_EMIT(e, LOAD, T_LIST, P_LIST, TSR_TO_OWN);
  tsri_emit_signal(e, TSR_UNIT_LOAD, TSRI_SEM_OWN, TSR_WHEN_DONE);
  tsri_emit_wait(e, TSR_UNIT_LOAD, TSRI_SEM_OWN); /* they are there before they are used */
  TSRI_EMIT(e, LOOP, L_M, (int64_t)steps);
  tsri_emit_wait(e, TSR_UNIT_LOAD, TSRI_FREE + TSR_BUF_A);
  TSRI_EMIT(e, GATHER, T_TABLE, P_COLS, P_LIST);
  tsri_emit_signal(e, TSR_UNIT_LOAD, TSRI_FULL + TSR_BUF_A, TSR_WHEN_DONE);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_A);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_C);
  /* a window of one element: a transposition */
  TSRI_EMIT(e, WINDOW, TSR_VEC_POOLMAX, P_D, P_COLS, T_TURNED, 1 << TSR_AXIS_OW,
            1 << TSR_AXIS_N, 0, 0);
  tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_A, TSR_WHEN_READ);
  tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_C, TSR_WHEN_DONE);
  tsri_emit_store(e, T_D, P_D);
  TSRI_EMIT(e, END, L_M);
  tsri_emit_signal(e, TSR_UNIT_LOAD, TSRI_FREE + TSR_BUF_B, TSR_WHEN_DONE);
  TSRI_EMIT(e, END, L_N);
  TSRI_EMIT(e, END, L_G);
}

void tsri_columns_lower(struct tsri_emit *e, uint64_t core) {
  static const enum tsr_lower_fmt fmts[] = {TSR_LOWER_FMT_A, TSR_LOWER_FMT_OUT,
                                            TSR_LOWER_FMT_INT32, TSR_LOWER_FMTS};
  struct columns x = {.e = e,
                      .from_g = tsri_from(e->cut, 0, core),
                      .g = tsri_size(e->cut, 0, core),
                      .from_m = tsri_from(e->cut, 1, core),
                      .m = tsri_size(e->cut, 1, core)};
  uint64_t n = e->cut->size[2], tn = e->cut->tile[2];
  tsri_emit_formats(e, fmts);
  for (int b = 0; b < 3; b++) TSRI_EMIT(e, SEM, TSRI_FREE + b, (int64_t)e->at->slots[b]);
  nest(&x, tn, n / tn);
  if (n % tn == 0) return;
  tsri_emit_drain(e, TSR_UNIT_LOAD, TSR_BUF_A);
  tsri_emit_drain(e, TSR_UNIT_LOAD, TSR_BUF_B);
  tsri_emit_drain(e, TSR_UNIT_VECTOR, TSR_BUF_C);
  x.col = n / tn * tn;
  nest(&x, n % tn, 1);
}
