/* Rows by index: look-ups, and the way to experts and back.
 *
 * A tile of rows loads its indices into scratchpad b, gathers what they name into a, and
 * sums (or copies) into c.  Where k rows make one, they are neighbours in a and a window of k
 * adds them; weights multiply them before.  Rows of a tile are whole tiles: a list is as long
 * as its box, so that what is left over is a tile of its own behind the loop. */
#include "kernels/lower/op_int.h"

enum { L_G, L_M, L_N };
enum { T_TABLE, T_LIST, T_WEIGHT, T_D, T_SUM };
enum { P_ROWS, P_LIST, P_WEIGHT, P_D, P_PRODUCT };
enum { TILES = 4 };

struct gather {
  struct tsri_emit *e;
  uint64_t k; /* rows that make one */
  bool weights;
  uint64_t table, index_base, table_base;
  enum tsr_lower_fmt fmt;
  uint64_t g, m, n, tm, tn, from_g, from_m, full, parts;
};

static void look(const struct tsr_op *op, const struct tsr_lower_at *at, struct gather *x) {
  *x = (struct gather){.k = 1,
                       .table = op->attr.table,
                       .table_base = at->base_bytes[TSR_LOWER_A],
                       .index_base = at->base_bytes[TSR_LOWER_B],
                       .fmt = TSR_LOWER_FMT_A};
  if (op->kind == TSR_OP_EMBEDDING) {
    x->k = op->k;
    x->fmt = TSR_LOWER_FMT_B;
    x->table_base = at->base_bytes[TSR_LOWER_B];
    x->index_base = at->base_bytes[TSR_LOWER_A];
  } else if (op->kind == TSR_OP_MOE_GATHER) {
    x->table = op->m / op->k;
  } else if (op->kind == TSR_OP_MOE_SCATTER) {
    x->k = op->k;
    x->table = op->m * op->k;
    x->index_base = at->base_bytes[TSR_LOWER_X0];
    x->weights = true;
  }
}

static uint64_t list_bytes(const struct gather *x, const struct tsr_lower_at *at, uint64_t tm) {
  return tsri_align(tm * x->k * at->bytes[TSR_LOWER_FMT_INT32]);
}
static uint64_t product_bytes(const struct gather *x, const struct tsr_lower_at *at,
                              uint64_t tm, uint64_t tn) {
  return x->weights ? tsri_align(tm * x->k * tn * at->bytes[TSR_LOWER_FMT_ACC]) : 0;
}
static uint64_t result_bytes(const struct tsr_lower_at *at, uint64_t tm, uint64_t tn) {
  return tsri_align(tm * tn * at->bytes[TSR_LOWER_FMT_OUT]);
}

/* Bytes of a tile in a buffer of each scratchpad. */
static void need(const struct gather *x, const struct tsr_lower_at *at, uint64_t tm,
                 uint64_t tn, uint64_t bytes[3]) {
  bytes[TSR_BUF_A] = tm * x->k * tn * at->bytes[x->fmt];
  bytes[TSR_BUF_B] =
      list_bytes(x, at, tm) + (x->weights ? tm * x->k * at->bytes[TSR_LOWER_FMT_B] : 0);
  bytes[TSR_BUF_C] = result_bytes(at, tm, tn) +
                     tsr_ceil_div(product_bytes(x, at, tm, tn), at->slots[TSR_BUF_C]);
}

static bool fits(const struct gather *x, const struct tsr_lower_at *at, uint64_t tm,
                 uint64_t tn) {
  uint64_t bytes[3];
  need(x, at, tm, tn, bytes);
  bool ok = true;
  for (int b = 0; b < 3; b++) ok = ok && bytes[b] <= at->slot_bytes[b];
  return ok;
}

/* Which scratchpad is too small for one element of one result. */
static enum tsr_status no_fit(const struct tsr_op *op, const struct gather *x,
                              const struct tsr_lower_at *at, struct tsr_err *err) {
  static const char *const what[] = {"one element of the rows that a result is made of",
                                     "the list of a row's indices", "one element of a result"};
  static const char *const name[] = {"a", "b", "c"};
  uint64_t bytes[3];
  int b = 0;
  need(x, at, 1, 1, bytes);
  while (b < 2 && bytes[b] <= at->slot_bytes[b]) b++;
  return tsri_no_fit(op, what[b], bytes[b], at->slot_bytes[b], name[b], err);
}

/* Whole tiles of rows: the largest divisor of m that fits, where groups follow each other. */
static uint64_t rows_of(const struct gather *x, const struct tsr_lower_at *at, uint64_t m,
                        uint64_t tn, bool divisor) {
  uint64_t best = 0;
  uint64_t most = tsr_min_u64(divisor ? m : tsr_max_u64(tsr_ceil_div(m, TILES), 1), 65536);
  for (uint64_t v = 1; v <= most && fits(x, at, v, tn); v++)
    if (!divisor || m % v == 0) best = v;
  return best;
}

enum tsr_status tsri_gather_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                                uint64_t cores, struct tsr_lower_cut *cut,
                                struct tsr_err *err) {
  struct gather x;
  look(op, at, &x);
  cut->size[0] = op->count;
  cut->size[1] = op->m;
  cut->size[2] = op->n;
  tsri_divide(cut, (const int[]){1, 0}, op->count > 1 ? 2 : 1, cores);
  bool groups = op->count > 1;
  if (groups) tsri_divide(cut, (const int[]){0}, 1, cores); /* so that parts are equal */
  uint64_t m = cut->axis == 1 ? cut->chunk : op->m, tn = op->n;
  uint64_t round = at->slots[0] * at->slots[1] * at->slots[2];
  while (tn > 1 && !fits(&x, at, 1, tn)) {
    cut->parts = cut->parts == 1 && round > 1 ? round : cut->parts + round;
    tn = tsr_ceil_div(op->n, cut->parts);
  }
  if (!fits(&x, at, 1, tn)) return no_fit(op, &x, at, err);
  cut->tile[0] = 1;
  cut->tile[1] = rows_of(&x, at, m, tn, groups);
  cut->tile[2] = tn;
  return TSR_OK;
}

/* The tensors for tiles of tm rows, the first `done` rows being behind us. */
static void describe(struct gather *x, uint64_t tm, uint64_t done) {
  struct tsri_emit *e = x->e;
  const struct tsr_lower_at *at = e->at;
  const enum tsr_lower_fmt fi = TSR_LOWER_FMT_INT32, fw = TSR_LOWER_FMT_B,
                           fd = TSR_LOWER_FMT_OUT;
  uint64_t m = e->cut->size[1], row = x->from_g * m + x->from_m + done, left = x->m - done;
  tsri_emit_tensor(e, T_TABLE, x->fmt,
                   x->table_base + x->from_g * x->table * x->n * at->bytes[x->fmt]);
  tsri_emit_dim(e, T_TABLE, x->fmt, 0, x->table, x->n, tm * x->k);
  tsri_emit_dim(e, T_TABLE, x->fmt, 1, x->g, x->table * x->n, 1);
  tsri_emit_dim(e, T_TABLE, x->fmt, 2, x->n, 1, x->tn);
  tsri_emit_walk(e, T_TABLE, 1, L_G, 1);
  tsri_emit_walk(e, T_TABLE, 2, L_N, x->tn);
  for (int w = 0; w <= (int)x->weights; w++) {
    uint64_t base = w ? at->base_bytes[TSR_LOWER_B] : x->index_base;
    enum tsr_lower_fmt f = w ? fw : fi;
    tsri_emit_tensor(e, T_LIST + w, f, base + row * x->k * at->bytes[f]);
    tsri_emit_dim(e, T_LIST + w, f, 0, x->g, m * x->k, 1);
    tsri_emit_dim(e, T_LIST + w, f, 1, left * x->k, 1, tm * x->k);
    tsri_emit_walk(e, T_LIST + w, 0, L_G, 1);
    tsri_emit_walk(e, T_LIST + w, 1, L_M, tm * x->k);
  }
  tsri_emit_tensor(e, T_D, fd, at->base_bytes[TSR_LOWER_OUT] + row * x->n * at->bytes[fd]);
  tsri_emit_dim(e, T_D, fd, 0, x->g, m * x->n, 1);
  tsri_emit_dim(e, T_D, fd, 1, left, x->n, tm);
  tsri_emit_dim(e, T_D, fd, 2, x->n, 1, x->tn);
  tsri_emit_walk(e, T_D, 0, L_G, 1);
  tsri_emit_walk(e, T_D, 1, L_M, tm);
  tsri_emit_walk(e, T_D, 2, L_N, x->tn);
  if (x->k == 1 && !x->weights) return;
  /* What the window reads: rows of a tile, k for each result. */
  tsri_emit_tensor(e, T_SUM, x->fmt, x->table_base);
  tsri_emit_dim(e, T_SUM, x->fmt, 0, tm * x->k, x->n, tm * x->k);
  tsri_emit_dim(e, T_SUM, x->fmt, 1, x->n, 1, x->tn);
  tsri_emit_walk(e, T_SUM, 1, L_N, x->tn);
  TSRI_EMIT(e, FEED, T_SUM, 0, TSR_AXIS_OW, (int64_t)x->k);
  TSRI_EMIT(e, FEED, T_SUM, 0, TSR_AXIS_KH, 1);
  TSRI_EMIT(e, FEED, T_SUM, 1, TSR_AXIS_N, 1);
}

static void places(struct gather *x, uint64_t trips) {
  struct tsri_emit *e = x->e;
  const struct tsr_lower_at *at = e->at;
  const struct tsri_trip t[3] = {{L_G, x->g}, {L_M, trips}, {L_N, x->parts}};
  struct tsri_ring a = tsri_ring_of(at, TSR_BUF_A), b = tsri_ring_of(at, TSR_BUF_B),
                   c = {TSR_BUF_C, at->slots[TSR_BUF_C], result_bytes(at, x->tm, x->tn)};
  tsri_emit_ring(e, P_ROWS, &a, 0, x->fmt, t, 3);
  tsri_emit_ring(e, P_LIST, &b, 0, TSR_LOWER_FMT_INT32, t, 2);
  if (x->weights) {
    tsri_emit_ring(e, P_WEIGHT, &b, list_bytes(x, at, x->tm), TSR_LOWER_FMT_B, t, 2);
    tsri_emit_fixed(e, P_PRODUCT, TSR_BUF_C, c.slots * c.bytes, TSR_LOWER_FMT_ACC);
  }
  tsri_emit_ring(e, P_D, &c, 0, TSR_LOWER_FMT_OUT, t, 3);
}

static void combine(struct gather *x) {
  struct tsri_emit *e = x->e;
  const int rows = 1 << TSR_AXIS_OW, cols = 1 << TSR_AXIS_N, win = 1 << TSR_AXIS_KH;
  tsri_emit_wait(e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_A);
  if (x->weights)
    tsri_emit_vec(e, TSR_VEC_MUL, P_PRODUCT, P_ROWS, P_WEIGHT, TSR_BC_COL, rows | win, cols, 0,
                  0);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_C);
  if (x->k == 1 && !x->weights)
    tsri_emit_vec(e, TSR_VEC_COPY, P_D, P_ROWS, 0, TSR_BC_NONE, rows, cols, 0, 0);
  else
    TSRI_EMIT(e, WINDOW, TSR_VEC_POOLSUM, P_D, x->weights ? P_PRODUCT : P_ROWS, T_SUM, rows,
              cols, win, 0);
  tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_A, TSR_WHEN_READ);
  tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_C, TSR_WHEN_DONE);
  tsri_emit_store(e, T_D, P_D);
}

/* Tiles of tm rows, `trips` of them, from row `done` on. */
static void tiles(struct gather *x, uint64_t tm, uint64_t trips, uint64_t done) {
  struct tsri_emit *e = x->e;
  describe(x, tm, done);
  places(x, trips);
  TSRI_EMIT(e, AXIS, TSR_AXIS_OW, TSR_ISA_NO_LOOP, (int64_t)tm, (int64_t)tm);
  TSRI_EMIT(e, AXIS, TSR_AXIS_N, L_N, (int64_t)x->n, (int64_t)x->tn);
  if (x->k > 1) TSRI_EMIT(e, AXIS, TSR_AXIS_KH, TSR_ISA_NO_LOOP, (int64_t)x->k, (int64_t)x->k);
  TSRI_EMIT(e, LOOP, L_G, (int64_t)x->g);
  TSRI_EMIT(e, LOOP, L_M, (int64_t)trips);
  tsri_emit_wait(e, TSR_UNIT_LOAD, TSRI_FREE + TSR_BUF_B);
  TSRI_EMIT(e, LOAD, T_LIST, P_LIST, TSR_TO_OWN);
  tsri_emit_signal(e, TSR_UNIT_LOAD, TSRI_SEM_OWN, TSR_WHEN_DONE);
  if (x->weights) TSRI_EMIT(e, LOAD, T_WEIGHT, P_WEIGHT, TSR_TO_OWN);
  /* the indices are there before they are used */
  tsri_emit_wait(e, TSR_UNIT_LOAD, TSRI_SEM_OWN);
  TSRI_EMIT(e, LOOP, L_N, (int64_t)x->parts);
  tsri_emit_wait(e, TSR_UNIT_LOAD, TSRI_FREE + TSR_BUF_A);
  TSRI_EMIT(e, GATHER, T_TABLE, P_ROWS, P_LIST);
  tsri_emit_signal(e, TSR_UNIT_LOAD, TSRI_FULL + TSR_BUF_A, TSR_WHEN_DONE);
  combine(x);
  TSRI_EMIT(e, END, L_N);
  tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_B, TSR_WHEN_READ);
  TSRI_EMIT(e, END, L_M);
  TSRI_EMIT(e, END, L_G);
}

void tsri_gather_lower(struct tsri_emit *e, uint64_t core) {
  struct gather x;
  look(e->op, e->at, &x);
  x.e = e;
  x.from_g = tsri_from(e->cut, 0, core);
  x.from_m = tsri_from(e->cut, 1, core);
  x.g = tsri_size(e->cut, 0, core);
  x.m = tsri_size(e->cut, 1, core);
  x.n = e->cut->size[2];
  x.tm = e->cut->tile[1];
  x.tn = e->cut->tile[2];
  x.parts = e->cut->parts;
  const enum tsr_lower_fmt fmts[] = {TSR_LOWER_FMT_A,   TSR_LOWER_FMT_B,     TSR_LOWER_FMT_ACC,
                                     TSR_LOWER_FMT_OUT, TSR_LOWER_FMT_INT32, TSR_LOWER_FMTS};
  tsri_emit_formats(e, fmts);
  for (int b = 0; b < 3; b++) TSRI_EMIT(e, SEM, TSRI_FREE + b, (int64_t)e->at->slots[b]);
  uint64_t full = x.m / x.tm, left = x.m % x.tm;
  if (full) tiles(&x, x.tm, full, 0);
  if (!left) return;
  if (full) {
    tsri_emit_drain(e, TSR_UNIT_LOAD, TSR_BUF_A);
    tsri_emit_drain(e, TSR_UNIT_LOAD, TSR_BUF_B);
    tsri_emit_drain(e, TSR_UNIT_VECTOR, TSR_BUF_C);
  }
  tiles(&x, left, 1, full * x.tm);
}
