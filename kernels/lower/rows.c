/* Row-wise and elementwise operators, and plain moves: a list of vector operations over
 * tiles of rows.
 *
 * A tile holds whole rows where one fits; reductions then see a row at once.  Longer rows
 * are cut in tiles of columns, and the list's passes go over them one after the other, each
 * reading the input again: the sums of a pass run on from tile to tile. */
#include <math.h> /* INFINITY */
#include <string.h>

#include "kernels/lower/op_int.h"

enum { L_G, L_M, L_N };
enum { ROWS = 1 << TSR_AXIS_OW, COLS = 1 << TSR_AXIS_N };
enum { T_A, T_B, T_B1, T_D };
enum { TILE_ELEMS = 4096, TILES = 4 }; /* a tile is not smaller, tiles of a core not fewer */

/* ---- the lists ---- */

#define EACH TSR_STEP_EACH
#define AGAIN TSR_STEP_AGAIN
#define END TSR_STEP_END
#define S(pass, when, op, d, a, b, bc, imm)                                          \
  {                                                                                  \
    pass, when, TSR_VEC_##op, TSR_STEP_##d, TSR_STEP_##a, TSR_STEP_##b, TSR_BC_##bc, \
        TSR_STEP_##imm                                                               \
  }
#define REDUCTION(kind, imm)                                                             \
  {                                                                                      \
    TSR_OP_##kind, 2, {                                                                  \
      S(0, EACH, kind, R0, A, NONE, NONE, imm), S(0, END, COPY, D, R0, NONE, NONE, ZERO) \
    }                                                                                    \
  }

static const struct list {
  enum tsr_op_kind kind;
  size_t n;
  struct tsr_vector_step step[TSR_STEPS_MAX];
} lists[] = {
    {TSR_OP_SOFTMAX,
     5,
     {S(0, EACH, ROWMAX, R0, A, NONE, NONE, ZERO), S(1, EACH, SUBEXP, T0, A, R0, COL, ZERO),
      S(1, EACH, ROWSUM, R1, T0, NONE, NONE, ZERO), S(2, AGAIN, SUBEXP, T0, A, R0, COL, ZERO),
      S(2, EACH, DIV, D, T0, R1, COL, ZERO)}},
    {TSR_OP_LAYERNORM,
     10,
     {S(0, EACH, ROWMEAN, R0, A, NONE, NONE, INV_N), S(1, EACH, SUB, T0, A, R0, COL, ZERO),
      S(1, EACH, ROWSUMSQ, R1, T0, NONE, NONE, ZERO),
      S(1, END, MULI, R1, R1, NONE, NONE, INV_N), S(1, END, ADDI, R1, R1, NONE, NONE, EPS),
      S(1, END, RSQRT, R1, R1, NONE, NONE, ZERO), S(2, AGAIN, SUB, T0, A, R0, COL, ZERO),
      S(2, EACH, MUL, T0, T0, R1, COL, ZERO), S(2, EACH, MUL, T0, T0, B, ROW, ZERO),
      S(2, EACH, ADD, D, T0, B1, ROW, ZERO)}},
    {TSR_OP_RMSNORM,
     6,
     {S(0, EACH, ROWSUMSQ, R0, A, NONE, NONE, ZERO), S(0, END, MULI, R0, R0, NONE, NONE, INV_N),
      S(0, END, ADDI, R0, R0, NONE, NONE, EPS), S(0, END, RSQRT, R0, R0, NONE, NONE, ZERO),
      S(1, EACH, MUL, T0, A, R0, COL, ZERO), S(1, EACH, MUL, D, T0, B, ROW, ZERO)}},
    {TSR_OP_NORMALISE,
     8,
     {S(0, EACH, ROWMEAN, R0, A, NONE, NONE, INV_N), S(1, EACH, SUB, T0, A, R0, COL, ZERO),
      S(1, EACH, ROWSUMSQ, R1, T0, NONE, NONE, ZERO),
      S(1, END, MULI, R1, R1, NONE, NONE, INV_N), S(1, END, ADDI, R1, R1, NONE, NONE, EPS),
      S(1, END, RSQRT, R1, R1, NONE, NONE, ZERO), S(2, AGAIN, SUB, T0, A, R0, COL, ZERO),
      S(2, EACH, MUL, D, T0, R1, COL, ZERO)}},
    {TSR_OP_LOG_SOFTMAX,
     6,
     {S(0, EACH, ROWMAX, R0, A, NONE, NONE, ZERO), S(1, EACH, SUBEXP, T0, A, R0, COL, ZERO),
      S(1, EACH, ROWSUM, R1, T0, NONE, NONE, ZERO), S(1, END, LOG, R1, R1, NONE, NONE, ZERO),
      S(2, EACH, SUB, T0, A, R0, COL, ZERO), S(2, EACH, SUB, D, T0, R1, COL, ZERO)}},
    {TSR_OP_LEAKY_RELU, 1, {S(0, EACH, LEAKYRELU, D, A, NONE, NONE, ALPHA)}},
    {TSR_OP_ELU, 1, {S(0, EACH, ELU, D, A, NONE, NONE, ALPHA)}},
    {TSR_OP_SELU,
     2,
     {S(0, EACH, ELU, T0, A, NONE, NONE, ALPHA), S(0, EACH, MULI, D, T0, NONE, NONE, BETA)}},
    {TSR_OP_CELU,
     3,
     {S(0, EACH, MULI, T0, A, NONE, NONE, INV_ALPHA), S(0, EACH, ELU, T0, T0, NONE, NONE, ONE),
      S(0, EACH, MULI, D, T0, NONE, NONE, ALPHA)}},
    {TSR_OP_AFFINE,
     2,
     {S(0, EACH, MULI, T0, A, NONE, NONE, ALPHA), S(0, EACH, ADDI, D, T0, NONE, NONE, BETA)}},
    {TSR_OP_CLIP,
     2,
     {S(0, EACH, MAXI, T0, A, NONE, NONE, ALPHA), S(0, EACH, MINI, D, T0, NONE, NONE, BETA)}},
    REDUCTION(ROWSUM, ZERO),
    REDUCTION(ROWPROD, ZERO),
    REDUCTION(ROWSUMSQ, ZERO),
    REDUCTION(ROWMEAN, INV_N),
    REDUCTION(ROWMAX, ZERO),
    REDUCTION(ROWMIN, ZERO),
    REDUCTION(ROWABSMAX, ZERO),
    {TSR_OP_BIAS, 1, {S(0, EACH, ADD, D, A, B, ROW, ZERO)}},
    {TSR_OP_BATCHNORM,
     2,
     {S(0, EACH, MUL, T0, A, B, ROW, ZERO), S(0, EACH, ADD, D, T0, B1, ROW, ZERO)}},
    {TSR_OP_ROPE, 1, {S(0, EACH, ROPE, D, A, B, NONE, ZERO)}},
    {TSR_OP_CONCAT, 1, {S(0, EACH, COPY, D, A, NONE, NONE, ZERO)}},
};
#undef REDUCTION
#undef S
#undef END
#undef AGAIN
#undef EACH

static enum tsr_isa_bc meets(enum tsr_with w) {
  static const enum tsr_isa_bc bc[TSR_WITH_COUNT_] = {[TSR_WITH_FULL] = TSR_BC_NONE,
                                                      [TSR_WITH_ROW] = TSR_BC_ROW,
                                                      [TSR_WITH_COL] = TSR_BC_COL,
                                                      [TSR_WITH_SCALAR] = TSR_BC_ONE};
  return bc[w];
}

/* One bound alone is one operation. */
static size_t bounds(const struct tsr_op *op, struct tsr_vector_step step[2]) {
  bool low = op->attr.alpha > -INFINITY, high = op->attr.beta < INFINITY;
  if (low && high) return 2;
  if (high) step[0] = step[1];
  step[0].a = TSR_STEP_A;
  step[0].d = TSR_STEP_D;
  return 1;
}

size_t tsr_lower_op_steps(const struct tsr_op *op, struct tsr_vector_step out[TSR_STEPS_MAX]) {
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
    if (lists[i].kind == op->kind) {
      memcpy(out, lists[i].step, lists[i].n * sizeof *out);
      return op->kind == TSR_OP_CLIP ? bounds(op, out) : lists[i].n;
    }
  int vec = tsr_vec_find(tsr_op_kind_name(op->kind)); /* one operation has its name */
  TSR_CHECK(vec >= 0);
  bool second = tsr_vec_info((unsigned)vec)->sources > 1;
  out[0] = (struct tsr_vector_step){
      .op = (uint8_t)vec,
      .d = TSR_STEP_D,
      .a = TSR_STEP_A,
      .b = second ? TSR_STEP_B : TSR_STEP_NONE,
      .bc = (uint8_t)(second ? meets(op->attr.with) : TSR_BC_NONE),
      .imm = tsr_op_kind_info(op->kind)->zero ? TSR_STEP_ZERO_POINT : TSR_STEP_ZERO};
  return 1;
}

uint32_t tsr_lower_op_imm(const struct tsr_op *op, enum tsr_step_imm imm) {
  const struct tsr_op_attr *t = &op->attr;
  double v = 0;
  switch (imm) {
  case TSR_STEP_ZERO: break;
  case TSR_STEP_ONE: v = 1; break;
  case TSR_STEP_INV_N: v = 1.0 / (double)op->n; break;
  case TSR_STEP_EPS: v = t->eps; break;
  case TSR_STEP_ALPHA: v = t->alpha; break;
  case TSR_STEP_INV_ALPHA: v = 1.0 / t->alpha; break;
  case TSR_STEP_BETA: v = t->beta; break;
  case TSR_STEP_ZERO_POINT: v = t->zero; break;
  }
  float f = (float)v;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* ---- shapes ---- */

/* Shape of b as rows see it. */
static enum tsr_op_shape shape_b(const struct tsr_op *op) {
  static const enum tsr_op_shape by_with[TSR_WITH_COUNT_] = {[TSR_WITH_FULL] = TSR_SHAPE_MN,
                                                             [TSR_WITH_ROW] = TSR_SHAPE_N,
                                                             [TSR_WITH_COL] = TSR_SHAPE_M,
                                                             [TSR_WITH_SCALAR] =
                                                                 TSR_SHAPE_WITH};
  enum tsr_op_shape s = tsr_op_kind_info(op->kind)->b;
  return s == TSR_SHAPE_WITH ? by_with[op->attr.with] : s;
}

void tsr_lower_op_rows(const struct tsr_op *op, struct tsr_lower_rows *out) {
  *out = (struct tsr_lower_rows){op->count, op->m, op->n};
  if (tsr_op_kind_info(op->kind)->cls == TSR_CLASS_GATHER) return;
  enum tsr_op_shape s = shape_b(op);
  if (s != TSR_SHAPE_NONE && s != TSR_SHAPE_MN && s != TSR_SHAPE_M) return;
  out->m *= out->g;
  out->g = 1;
}

/* What the list uses. */
struct uses {
  size_t n;
  struct tsr_vector_step step[TSR_STEPS_MAX];
  unsigned passes, temps, sums;
  bool b, b1;
  bool reduces; /* the result is one element a row */
};

static void look(const struct tsr_op *op, struct uses *u) {
  *u = (struct uses){.n = 0};
  u->n = tsr_lower_op_steps(op, u->step);
  for (size_t i = 0; i < u->n; i++) {
    const struct tsr_vector_step *s = &u->step[i];
    const uint8_t touched[3] = {s->d, s->a, s->b};
    if (s->pass + 1u > u->passes) u->passes = s->pass + 1u;
    for (int j = 0; j < 3; j++) {
      unsigned x = touched[j];
      if (x >= TSR_STEP_T0 && x <= TSR_STEP_T1 && x - TSR_STEP_T0 + 1u > u->temps)
        u->temps = x - TSR_STEP_T0 + 1u;
      if (x >= TSR_STEP_R0 && x <= TSR_STEP_R2 && x - TSR_STEP_R0 + 1u > u->sums)
        u->sums = x - TSR_STEP_R0 + 1u;
      u->b |= x == TSR_STEP_B;
      u->b1 |= x == TSR_STEP_B1;
    }
    u->reduces |= s->d == TSR_STEP_D && s->when == TSR_STEP_END;
  }
}

/* ---- cutting ---- */

static uint64_t bytes_b(const struct tsr_op *op, const struct tsr_lower_at *at, uint64_t tm,
                        uint64_t tn) {
  uint64_t e = at->bytes[TSR_LOWER_FMT_B];
  switch (shape_b(op)) {
  case TSR_SHAPE_NONE: return 0;
  case TSR_SHAPE_N: return tn * e;
  case TSR_SHAPE_N2: return tsri_align(tn * e) + tn * e;
  case TSR_SHAPE_M: return tm * e;
  case TSR_SHAPE_WITH: return e;
  default: return tm * tn * e;
  }
}

/* A result in each slot of c, and behind the slots what leads to it. */
static uint64_t bytes_d(const struct tsr_lower_at *at, const struct uses *u, uint64_t tm,
                        uint64_t tn) {
  return tsri_align(tm * (u->reduces ? 1 : tn) * at->bytes[TSR_LOWER_FMT_OUT]);
}
static uint64_t bytes_c(const struct tsr_lower_at *at, const struct uses *u, uint64_t tm,
                        uint64_t tn) {
  uint64_t e = at->bytes[TSR_LOWER_FMT_ACC];
  return at->slots[TSR_BUF_C] * bytes_d(at, u, tm, tn) + u->temps * tsri_align(tm * tn * e) +
         u->sums * tsri_align(tm * e);
}

static bool fits(const struct tsr_op *op, const struct tsr_lower_at *at, const struct uses *u,
                 uint64_t tm, uint64_t tn) {
  tsr_u128 all = (tsr_u128)tm * tn * 64;
  if (all >> 60) return false;
  return tm * tn * at->bytes[TSR_LOWER_FMT_A] <= at->slot_bytes[TSR_BUF_A] &&
         bytes_b(op, at, tm, tn) <= at->slot_bytes[TSR_BUF_B] &&
         bytes_c(at, u, tm, tn) <= at->slots[TSR_BUF_C] * at->slot_bytes[TSR_BUF_C];
}

/* The largest v in [1, most] that fits, 0: none does. */
static uint64_t largest(const struct tsr_op *op, const struct tsr_lower_at *at,
                        const struct uses *u, uint64_t tm, uint64_t tn, bool rows,
                        uint64_t most) {
  uint64_t lo = 0, hi = most;
  while (lo < hi) {
    uint64_t mid = hi - (hi - lo) / 2;
    if (rows ? fits(op, at, u, mid, tn) : fits(op, at, u, tm, mid))
      lo = mid;
    else
      hi = mid - 1;
  }
  return lo;
}

/* Columns in tiles so many that the slots of every ring come round with a pass. */
static uint64_t cut_columns(const struct tsr_lower_at *at, uint64_t n, uint64_t most,
                            uint64_t *parts) {
  uint64_t round = at->slots[0] * at->slots[1] * at->slots[2];
  uint64_t even = most > 1 ? most / 2 * 2 : most; /* pairs of neighbours stay together */
  *parts = tsr_ceil_div(tsr_ceil_div(n, even), round) * round;
  uint64_t tile = tsr_ceil_div(n, *parts);
  return tsr_min_u64(even, tsr_ceil_div(tile, 2) * 2);
}

enum tsr_status tsri_rows_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                              uint64_t cores, struct tsr_lower_cut *cut, struct tsr_err *err) {
  struct tsr_lower_rows r;
  struct uses u;
  tsr_lower_op_rows(op, &r);
  look(op, &u);
  cut->size[0] = r.g;
  cut->size[1] = r.m;
  cut->size[2] = r.n;
  tsri_divide(cut, (const int[]){1, 0}, 2, cores);
  uint64_t m = cut->axis == 1 ? cut->chunk : r.m, g = cut->axis == 0 ? cut->chunk : r.g;
  uint64_t n = r.n;
  for (size_t i = 0; i < at->n_sources; i++) /* sources side by side: the widest */
    n = i ? tsr_max_u64(n, at->source[i]) : at->source[i];
  uint64_t tm = largest(op, at, &u, 0, n, true, m), tn = n;
  if (tm) {
    uint64_t wanted = g >= TILES ? m : tsr_ceil_div(m, TILES);
    wanted = tsr_max_u64(wanted, tsr_ceil_div(TILE_ELEMS, n));
    tm = tsr_min_u64(tm, wanted);
  } else {
    tm = 1;
    tn = largest(op, at, &u, 1, 0, false, n);
    if (tn < 2)
      return tsri_no_fit(op, "two elements of a row with what leads to the result",
                         bytes_c(at, &u, 1, 2),
                         at->slots[TSR_BUF_C] * at->slot_bytes[TSR_BUF_C], "c", err);
    tn = cut_columns(at, n, tn, &cut->parts);
  }
  cut->tile[0] = 1;
  cut->tile[1] = tm;
  cut->tile[2] = tn;
  return TSR_OK;
}

/* ---- the program ---- */

struct rows {
  struct tsri_emit *e;
  struct uses u;
  uint64_t g, m, n, tm, tn; /* of the core */
  uint64_t from_g, from_m;
  uint64_t trips[3], loads; /* loops; loads of a for a tile of rows */
  uint64_t widest, from_n;  /* columns of the widest source; where D takes these */
  int level_b;              /* the innermost loop that b follows */
  unsigned passes;
  uint64_t next[3]; /* sources side by side: slot of a and c whose turn it is */
};

static int level_b(const struct rows *r) {
  bool cut = r->trips[L_N] > 1;
  switch (shape_b(r->e->op)) {
  case TSR_SHAPE_N:
  case TSR_SHAPE_N2: return cut ? L_N : L_G;
  case TSR_SHAPE_WITH: return L_G;
  case TSR_SHAPE_M: return L_M;
  default: return L_N;
  }
}

/* A matrix [g][m][n] of the core's part. */
static void matrix(struct rows *r, int t, enum tsr_lower_fmt fmt, uint64_t base, uint64_t ld,
                   uint64_t cols, uint64_t from_n) {
  struct tsri_emit *e = r->e;
  uint64_t m = e->cut->size[1];
  uint64_t first = (r->from_g * m + r->from_m) * ld + from_n;
  tsri_emit_tensor(e, t, fmt, base + first * e->at->bytes[fmt]);
  tsri_emit_dim(e, t, fmt, 0, r->g, m * ld, 1);
  tsri_emit_dim(e, t, fmt, 1, r->m, ld, r->tm);
  tsri_emit_dim(e, t, fmt, 2, cols, 1, tsr_min_u64(r->tn, cols));
  tsri_emit_walk(e, t, 0, L_G, 1);
  tsri_emit_walk(e, t, 1, L_M, r->tm);
  if (cols > 1) tsri_emit_walk(e, t, 2, L_N, r->tn);
}

static void tensor_b(struct rows *r) {
  struct tsri_emit *e = r->e;
  const enum tsr_lower_fmt fmt = TSR_LOWER_FMT_B;
  uint64_t base = e->at->base_bytes[TSR_LOWER_B], m = e->cut->size[1], n = r->n;
  enum tsr_op_shape s = shape_b(e->op);
  if (s == TSR_SHAPE_MN) {
    matrix(r, T_B, fmt, base, n, n, 0);
  } else if (s == TSR_SHAPE_SHARED) { /* no step along g */
    tsri_emit_tensor(e, T_B, fmt, base + r->from_m * n * e->at->bytes[fmt]);
    tsri_emit_dim(e, T_B, fmt, 0, r->m, n, r->tm);
    tsri_emit_dim(e, T_B, fmt, 1, n, 1, r->tn);
    tsri_emit_walk(e, T_B, 0, L_M, r->tm);
    tsri_emit_walk(e, T_B, 1, L_N, r->tn);
  } else if (s == TSR_SHAPE_M || s == TSR_SHAPE_WITH) {
    bool col = s == TSR_SHAPE_M;
    uint64_t first = col ? r->from_g * m + r->from_m : r->from_g;
    tsri_emit_tensor(e, T_B, fmt, base + first * e->at->bytes[fmt]);
    tsri_emit_dim(e, T_B, fmt, 0, r->g, col ? m : 1, 1);
    tsri_emit_dim(e, T_B, fmt, 1, col ? r->m : 1, 1, col ? r->tm : 1);
    tsri_emit_walk(e, T_B, 0, L_G, 1);
    if (col) tsri_emit_walk(e, T_B, 1, L_M, r->tm);
  } else { /* one row, or two behind each other */
    uint64_t two = s == TSR_SHAPE_N2 ? 2 : 1;
    for (uint64_t i = 0; i < two; i++) {
      int t = i ? T_B1 : T_B;
      tsri_emit_tensor(e, t, fmt, base + (r->from_g * two + i) * n * e->at->bytes[fmt]);
      tsri_emit_dim(e, t, fmt, 0, r->g, two * n, 1);
      tsri_emit_dim(e, t, fmt, 1, n, 1, r->tn);
      tsri_emit_walk(e, t, 0, L_G, 1);
      tsri_emit_walk(e, t, 1, L_N, r->tn);
    }
  }
}

/* Whether a source is one tile, which may lie in any slot. */
static bool single(const struct rows *r) {
  return r->loads * r->trips[L_G] * r->trips[L_M] == 1;
}

/* A place of a ring whose turn is slot next[buf]: sources of many tiles begin at slot 0. */
static void in_turn(struct rows *r, int p, const struct tsri_ring *ring, enum tsr_lower_fmt fmt,
                    const struct tsri_trip *trips, int n) {
  if (single(r))
    tsri_emit_fixed(r->e, p, ring->buf, r->next[ring->buf] * ring->bytes, fmt);
  else
    tsri_emit_ring(r->e, p, ring, 0, fmt, trips, n);
}

static void places(struct rows *r) {
  struct tsri_emit *e = r->e;
  const struct tsr_lower_at *at = e->at;
  const struct tsri_trip g = {L_G, r->trips[L_G]}, m = {L_M, r->trips[L_M]},
                         n = {L_N, r->trips[L_N]}, passes = {-1, r->loads / r->trips[L_N]};
  struct tsri_ring a = tsri_ring_of(at, TSR_BUF_A), b = tsri_ring_of(at, TSR_BUF_B),
                   c = {TSR_BUF_C, at->slots[TSR_BUF_C],
                        bytes_d(at, &r->u, r->tm, tsr_min_u64(e->cut->tile[2], r->widest))};
  in_turn(r, TSR_STEP_A, &a, TSR_LOWER_FMT_A, (struct tsri_trip[]){g, m, passes, n}, 4);
  const struct tsri_trip b_trips[3] = {g, m, n};
  if (r->u.b) {
    tsri_emit_ring(e, TSR_STEP_B, &b, 0, TSR_LOWER_FMT_B, b_trips, r->level_b + 1);
    uint64_t second = tsri_align(r->tn * at->bytes[TSR_LOWER_FMT_B]);
    if (r->u.b1)
      tsri_emit_ring(e, TSR_STEP_B1, &b, second, TSR_LOWER_FMT_B, b_trips, r->level_b + 1);
  }
  in_turn(r, TSR_STEP_D, &c, TSR_LOWER_FMT_OUT, b_trips, r->u.reduces ? 2 : 3);
  uint64_t at_c = c.slots * c.bytes, elem = at->bytes[TSR_LOWER_FMT_ACC];
  for (unsigned i = 0; i < r->u.temps; i++, at_c += tsri_align(r->tm * r->tn * elem))
    tsri_emit_fixed(e, TSR_STEP_T0 + (int)i, TSR_BUF_C, at_c, TSR_LOWER_FMT_ACC);
  for (unsigned i = 0; i < r->u.sums; i++, at_c += tsri_align(r->tm * elem))
    tsri_emit_fixed(e, TSR_STEP_R0 + (int)i, TSR_BUF_C, at_c, TSR_LOWER_FMT_ACC);
}

static void load_b(struct rows *r) {
  tsri_emit_wait(r->e, TSR_UNIT_LOAD, TSRI_FREE + TSR_BUF_B);
  TSRI_EMIT(r->e, LOAD, T_B, TSR_STEP_B, TSR_TO_OWN);
  if (r->u.b1) TSRI_EMIT(r->e, LOAD, T_B1, TSR_STEP_B1, TSR_TO_OWN);
  tsri_emit_signal(r->e, TSR_UNIT_LOAD, TSRI_FULL + TSR_BUF_B, TSR_WHEN_DONE);
  tsri_emit_wait(r->e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_B);
}

static void step(struct rows *r, const struct tsr_vector_step *s) {
  struct tsri_emit *e = r->e;
  bool is_row = s->a >= TSR_STEP_R0 && s->a <= TSR_STEP_R2;
  bool sums = tsr_vec_info(s->op)->kind == TSR_VEC_REDUCE && r->trips[L_N] > 1;
  if (s->d == TSR_STEP_D) tsri_emit_wait(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_C);
  tsri_emit_vec(e, s->op, s->d, s->a, s->b == TSR_STEP_NONE ? 0 : s->b, s->bc, ROWS,
                is_row ? 0 : COLS, sums ? 1 << L_N : 0,
                tsr_lower_op_imm(e->op, (enum tsr_step_imm)s->imm));
  if (s->d != TSR_STEP_D) return;
  tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_C, TSR_WHEN_DONE);
  tsri_emit_store(e, T_D, TSR_STEP_D);
}

/* Whether a step belongs to a pass of the program. */
static bool takes(const struct rows *r, const struct tsr_vector_step *s, unsigned pass,
                  bool end) {
  bool cut = r->trips[L_N] > 1;
  if (!cut && s->when == TSR_STEP_AGAIN) return false;
  if (cut && s->pass != pass) return false;
  return !cut || (s->when == TSR_STEP_END) == end;
}

/* One pass over the columns of a tile of rows; rows that are not cut take one for all. */
static void pass(struct rows *r, unsigned number) {
  struct tsri_emit *e = r->e;
  const struct uses *u = &r->u;
  size_t last_a = 0;
  bool b = u->b && r->level_b == L_N && number + 1 == r->passes;
  for (size_t i = 0; i < u->n; i++)
    if (takes(r, &u->step[i], number, false) && u->step[i].a == TSR_STEP_A) last_a = i;
  TSRI_EMIT(e, LOOP, L_N, (int64_t)r->trips[L_N]);
  tsri_emit_load(e, T_A, TSR_STEP_A, TSR_BUF_A);
  if (b) load_b(r);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_A);
  for (size_t i = 0; i < u->n; i++) {
    if (!takes(r, &u->step[i], number, false)) continue;
    step(r, &u->step[i]);
    if (i == last_a) tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_A, TSR_WHEN_READ);
  }
  if (b) tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_B, TSR_WHEN_READ);
  TSRI_EMIT(e, END, L_N);
  for (size_t i = 0; r->trips[L_N] > 1 && i < u->n; i++)
    if (takes(r, &u->step[i], number, true)) step(r, &u->step[i]);
}

static void nest(struct rows *r) {
  struct tsri_emit *e = r->e;
  TSRI_EMIT(e, LOOP, L_G, (int64_t)r->trips[L_G]);
  if (r->u.b && r->level_b == L_G) load_b(r);
  TSRI_EMIT(e, LOOP, L_M, (int64_t)r->trips[L_M]);
  if (r->u.b && r->level_b == L_M) load_b(r);
  for (unsigned i = 0; i < r->passes; i++) pass(r, i);
  if (r->u.b && r->level_b == L_M)
    tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_B, TSR_WHEN_READ);
  TSRI_EMIT(e, END, L_M);
  if (r->u.b && r->level_b == L_G)
    tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_B, TSR_WHEN_READ);
  TSRI_EMIT(e, END, L_G);
}

/* Columns [from_n, from_n + n) of the result, from a matrix of ld columns. */
static void columns(struct rows *r, uint64_t base_a, uint64_t n) {
  struct tsri_emit *e = r->e;
  const struct tsr_lower_at *at = e->at;
  r->n = n;
  r->tn = tsr_min_u64(e->cut->tile[2], n);
  r->trips[L_N] = e->cut->parts > 1 ? e->cut->parts : 1;
  r->passes = r->trips[L_N] > 1 ? r->u.passes : 1;
  r->loads = r->passes * r->trips[L_N];
  r->level_b = level_b(r);
  static const int unit[3] = {[TSR_BUF_A] = TSR_UNIT_LOAD, [TSR_BUF_C] = TSR_UNIT_VECTOR};
  for (int b = TSR_BUF_A; b <= TSR_BUF_C; b += 2) {
    if (single(r) || !r->next[b]) continue;
    tsri_emit_drain(e, unit[b], b);
    r->next[b] = 0;
  }
  matrix(r, T_A, TSR_LOWER_FMT_A, base_a, n, n, 0);
  if (r->u.b) tensor_b(r);
  if (r->u.reduces)
    matrix(r, T_D, TSR_LOWER_FMT_OUT, at->base_bytes[TSR_LOWER_OUT], 1, 1, 0);
  else
    matrix(r, T_D, TSR_LOWER_FMT_OUT, at->base_bytes[TSR_LOWER_OUT], e->cut->size[2], n,
           r->from_n);
  places(r);
  TSRI_EMIT(e, AXIS, TSR_AXIS_N, L_N, (int64_t)n, (int64_t)r->tn);
  nest(r);
}

void tsri_rows_lower(struct tsri_emit *e, uint64_t core) {
  struct rows r = {.e = e, .tm = e->cut->tile[1]};
  look(e->op, &r.u);
  r.from_g = tsri_from(e->cut, 0, core);
  r.from_m = tsri_from(e->cut, 1, core);
  r.g = tsri_size(e->cut, 0, core);
  r.m = tsri_size(e->cut, 1, core);
  r.trips[L_G] = r.g;
  r.trips[L_M] = tsr_ceil_div(r.m, r.tm);
  const enum tsr_lower_fmt fmts[] = {TSR_LOWER_FMT_A, TSR_LOWER_FMT_B, TSR_LOWER_FMT_ACC,
                                     TSR_LOWER_FMT_OUT, TSR_LOWER_FMTS};
  tsri_emit_formats(e, fmts);
  TSRI_EMIT(e, AXIS, TSR_AXIS_OW, L_M, (int64_t)r.m, (int64_t)r.tm);
  for (int b = 0; b < 3; b++) TSRI_EMIT(e, SEM, TSRI_FREE + b, (int64_t)e->at->slots[b]);
  uint64_t base = e->at->base_bytes[TSR_LOWER_A], rows = e->cut->size[0] * e->cut->size[1];
  r.widest = e->cut->size[2];
  for (size_t i = 0; i < e->at->n_sources; i++)
    r.widest = i ? tsr_max_u64(r.widest, e->at->source[i]) : e->at->source[i];
  if (!e->at->n_sources) {
    columns(&r, base, e->cut->size[2]);
    return;
  }
  for (size_t i = 0; i < e->at->n_sources; i++) { /* sources lie behind one another */
    columns(&r, base, e->at->source[i]);
    base += rows * e->at->source[i] * e->at->bytes[TSR_LOWER_FMT_A];
    r.from_n += e->at->source[i];
    uint64_t tiles = r.loads * r.trips[L_G] * r.trips[L_M];
    for (int b = 0; b < 3; b++) r.next[b] = (r.next[b] + tiles) % e->at->slots[b];
  }
}
