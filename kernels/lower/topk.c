/* The k largest of a row and their columns, by k rounds over a copy of the rows: the maximum;
 * the first column that holds it; that element becomes -infinity.
 *
 * The column comes from differences alone: what is below the maximum goes to -2^30, the
 * column's number is taken off, and the maximum of that is minus the first column.  Numbers
 * are exact below 2^24 columns.  Rows hold no NaN and at least k finite elements. */
#include "kernels/lower/op_int.h"

enum { L_M, L_K };
enum { ROWS = 1 << TSR_AXIS_OW, COLS = 1 << TSR_AXIS_N };
enum { T_A, T_COUNT, T_D, T_X };
enum { P_A, P_COUNT, P_D, P_X, P_WORK, P_TEMP, P_MAX };
enum { TILES = 4, COLS_MAX = 1 << 24 };
enum { /* fp32 codes */
       TWO_127 = 0x7f000000,
       MINUS_TWO_30 = (int)0xce800000u,
       MINUS_TWO_127 = (int)0xff000000u,
       ONE = 0x3f800000
};

/* A slot of c: values, then columns. */
static uint64_t slot_c(uint64_t tm, const struct tsr_lower_at *at) {
  return 2 * tsri_align(tm * at->bytes[TSR_LOWER_FMT_FP32]);
}
static uint64_t bytes_c(const struct tsr_op *op, const struct tsr_lower_at *at, uint64_t tm) {
  uint64_t elem = at->bytes[TSR_LOWER_FMT_FP32];
  return at->slots[TSR_BUF_C] * slot_c(tm, at) + 2 * tsri_align(tm * op->n * elem) +
         tsri_align(tm * elem);
}

static bool fits(const struct tsr_op *op, const struct tsr_lower_at *at, uint64_t tm) {
  return tm * op->n * at->bytes[TSR_LOWER_FMT_A] <= at->slot_bytes[TSR_BUF_A] &&
         bytes_c(op, at, tm) <= at->slots[TSR_BUF_C] * at->slot_bytes[TSR_BUF_C];
}

enum tsr_status tsri_topk_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                              uint64_t cores, struct tsr_lower_cut *cut, struct tsr_err *err) {
  uint64_t count = op->n * at->bytes[TSR_LOWER_FMT_FP32], lo = 0;
  cut->size[0] = op->m * op->count;
  cut->size[1] = op->n;
  cut->tile[1] = op->n;
  tsri_divide(cut, (const int[]){0}, 1, cores);
  if (op->n >= COLS_MAX)
    return tsr_err_at(err, TSR_INPUT, &op->pos,
                      "layer '%s' (topk): rows of 2^24 columns or more; expected fewer",
                      op->name);
  if (count > at->slot_bytes[TSR_BUF_B])
    return tsri_no_fit(op, "the numbers of a row's columns", count, at->slot_bytes[TSR_BUF_B],
                       "b", err);
  if (!fits(op, at, 1))
    return tsri_no_fit(op, "a whole row with its copies", bytes_c(op, at, 1),
                       at->slots[TSR_BUF_C] * at->slot_bytes[TSR_BUF_C], "c", err);
  for (uint64_t hi = tsr_ceil_div(cut->chunk, TILES), step = hi; step; step /= 2)
    while (lo + step <= hi && fits(op, at, lo + step)) lo += step;
  cut->tile[0] = tsr_max_u64(lo, 1);
  return TSR_OK;
}

static void describe(struct tsri_emit *e, uint64_t from, uint64_t m, uint64_t tm) {
  const struct tsr_lower_at *at = e->at;
  uint64_t n = e->op->n, k = e->op->k;
  tsri_emit_tensor(e, T_A, TSR_LOWER_FMT_A,
                   at->base_bytes[TSR_LOWER_A] + from * n * at->bytes[TSR_LOWER_FMT_A]);
  tsri_emit_dim(e, T_A, TSR_LOWER_FMT_A, 0, m, n, tm);
  tsri_emit_dim(e, T_A, TSR_LOWER_FMT_A, 1, n, 1, n);
  tsri_emit_walk(e, T_A, 0, L_M, tm);
  tsri_emit_tensor(e, T_COUNT, TSR_LOWER_FMT_FP32, at->base_bytes[TSR_LOWER_X1]);
  tsri_emit_dim(e, T_COUNT, TSR_LOWER_FMT_FP32, 0, n, 1, n);
  static const enum tsr_lower_fmt fmt[2] = {TSR_LOWER_FMT_OUT, TSR_LOWER_FMT_INT32};
  static const int tensor[2] = {TSR_LOWER_OUT, TSR_LOWER_X0};
  for (int i = 0; i < 2; i++) {
    uint64_t base = at->base_bytes[tensor[i]] + from * k * at->bytes[fmt[i]];
    tsri_emit_tensor(e, T_D + i, fmt[i], base);
    tsri_emit_dim(e, T_D + i, fmt[i], 0, m, k, tm);
    tsri_emit_dim(e, T_D + i, fmt[i], 1, k, 1, 1);
    tsri_emit_walk(e, T_D + i, 0, L_M, tm);
    tsri_emit_walk(e, T_D + i, 1, L_K, 1);
  }
}

static void places(struct tsri_emit *e, uint64_t tm, uint64_t trips) {
  const struct tsr_lower_at *at = e->at;
  const struct tsri_trip both[2] = {{L_M, trips}, {L_K, e->op->k}};
  struct tsri_ring a = tsri_ring_of(at, TSR_BUF_A),
                   c = {TSR_BUF_C, at->slots[TSR_BUF_C], slot_c(tm, at)};
  uint64_t elem = at->bytes[TSR_LOWER_FMT_FP32], behind = c.slots * c.bytes;
  tsri_emit_ring(e, P_A, &a, 0, TSR_LOWER_FMT_A, both, 1);
  tsri_emit_fixed(e, P_COUNT, TSR_BUF_B, 0, TSR_LOWER_FMT_FP32);
  tsri_emit_ring(e, P_D, &c, 0, TSR_LOWER_FMT_FP32, both, 2);
  tsri_emit_ring(e, P_X, &c, c.bytes / 2, TSR_LOWER_FMT_FP32, both, 2);
  for (int p = P_WORK; p <= P_MAX; p++) {
    tsri_emit_fixed(e, p, TSR_BUF_C, behind, TSR_LOWER_FMT_FP32);
    behind += tsri_align(tm * e->op->n * elem);
  }
}

static void whole(struct tsri_emit *e, int op, int d, int a, int b, int bc, uint32_t imm) {
  tsri_emit_vec(e, op, d, a, b, bc, ROWS, COLS, 0, imm);
}

static void round_of(struct tsri_emit *e) {
  tsri_emit_wait(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_C);
  whole(e, TSR_VEC_ROWMAX, P_D, P_WORK, 0, TSR_BC_NONE, 0);
  whole(e, TSR_VEC_SUB, P_TEMP, P_WORK, P_D, TSR_BC_COL, 0);
  for (int i = 0; i < 2; i++) /* any difference of fp32 to below -2^30 */
    whole(e, TSR_VEC_MULI, P_TEMP, P_TEMP, 0, TSR_BC_NONE, TWO_127);
  whole(e, TSR_VEC_MAXI, P_TEMP, P_TEMP, 0, TSR_BC_NONE, (uint32_t)MINUS_TWO_30);
  whole(e, TSR_VEC_SUB, P_TEMP, P_TEMP, P_COUNT, TSR_BC_ROW, 0);
  whole(e, TSR_VEC_ROWMAX, P_MAX, P_TEMP, 0, TSR_BC_NONE, 0);
  tsri_emit_vec(e, TSR_VEC_ABS, P_X, P_MAX, 0, TSR_BC_NONE, ROWS, 0, 0, 0);
  tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_C, TSR_WHEN_DONE);
  tsri_emit_wait(e, TSR_UNIT_STORE, TSRI_FULL + TSR_BUF_C);
  TSRI_EMIT(e, STORE, T_D, P_D, 0);
  TSRI_EMIT(e, STORE, T_X, P_X, 0);
  tsri_emit_signal(e, TSR_UNIT_STORE, TSRI_FREE + TSR_BUF_C, TSR_WHEN_READ);
  whole(e, TSR_VEC_SUB, P_TEMP, P_TEMP, P_MAX, TSR_BC_COL, 0); /* 0 at the one, else <= -1 */
  whole(e, TSR_VEC_ADDI, P_TEMP, P_TEMP, 0, TSR_BC_NONE, ONE);
  whole(e, TSR_VEC_RELU, P_TEMP, P_TEMP, 0, TSR_BC_NONE, 0);
  whole(e, TSR_VEC_MULI, P_TEMP, P_TEMP, 0, TSR_BC_NONE, (uint32_t)MINUS_TWO_127);
  whole(e, TSR_VEC_MULI, P_TEMP, P_TEMP, 0, TSR_BC_NONE, TWO_127);
  whole(e, TSR_VEC_ADD, P_WORK, P_WORK, P_TEMP, TSR_BC_NONE, 0);
}

void tsri_topk_lower(struct tsri_emit *e, uint64_t core) {
  uint64_t from = tsri_from(e->cut, 0, core), m = tsri_size(e->cut, 0, core);
  uint64_t tm = e->cut->tile[0], trips = tsr_ceil_div(m, tm);
  const enum tsr_lower_fmt fmts[] = {TSR_LOWER_FMT_A, TSR_LOWER_FMT_OUT, TSR_LOWER_FMT_INT32,
                                     TSR_LOWER_FMT_FP32, TSR_LOWER_FMTS};
  tsri_emit_formats(e, fmts);
  describe(e, from, m, tm);
  places(e, tm, trips);
  TSRI_EMIT(e, AXIS, TSR_AXIS_OW, L_M, (int64_t)m, (int64_t)tm);
  TSRI_EMIT(e, AXIS, TSR_AXIS_N, TSR_ISA_NO_LOOP, (int64_t)e->op->n, (int64_t)e->op->n);
  for (int b = 0; b < 3; b++) TSRI_EMIT(e, SEM, TSRI_FREE + b, (int64_t)e->at->slots[b]);
  tsri_emit_load(e, T_COUNT, P_COUNT, TSR_BUF_B);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_B);
  TSRI_EMIT(e, LOOP, L_M, (int64_t)trips);
  tsri_emit_load(e, T_A, P_A, TSR_BUF_A);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_A);
  whole(e, TSR_VEC_COPY, P_WORK, P_A, 0, TSR_BC_NONE, 0);
  tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_A, TSR_WHEN_READ);
  TSRI_EMIT(e, LOOP, L_K, (int64_t)e->op->k);
  round_of(e);
  TSRI_EMIT(e, END, L_K);
  TSRI_EMIT(e, END, L_M);
}
