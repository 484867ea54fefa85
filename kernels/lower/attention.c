/* Attention, two ways.
 *
 * Tiled: scores never leave the chip.  For a tile of queries, tiles of keys follow each
 * other: S = Q K^T in scratchpad c, its maximum and sum by row kept running, P = e^(S - max)
 * in scratchpad a, O += P V in c; what stands in O and in the sum is scaled by
 * e^(old max - new max) before, and O is divided by the sum at the end
 * (SRC:dao2022, the online softmax).  Keys and values of a head stay in scratchpad b where
 * they fit, and then the tile makes the scores of the next keys while the vector unit is at
 * the present ones; else they come again for each tile of queries, one after the other.
 *
 * Plain: scores are stored, their softmax is stored, and both are loaded again: the three
 * operators one after the other.
 *
 * The axes are described anew between the two multiplications: n is keys, then the width
 * of a head; c the other one.  Query head h reads the keys of kv head h / (heads / kv_heads):
 * a loop over kv heads holds one over the heads that share one.  A mask is added to the
 * scores, from the places of queries and keys; every tile is computed, masked or not. */
#include <string.h>

#include "kernels/lower/op_int.h"

enum { L_G, L_R, L_I, L_J };
enum { X_G, X_R, X_M, X_N };
enum {
  T_Q,
  T_K,
  T_V,
  T_O,
  T_S,
  T_KF,
  T_P,
  T_VF,
  T_OF,
  T_PLACE_Q,
  T_PLACE_K,
  T_SIN,
  T_SN,
  T_KN
};
enum {
  P_Q,
  P_K,
  P_V,
  P_D,
  P_S,
  P_P,
  P_O,
  P_MAX,
  P_OLD,
  P_SUM,
  P_MASK,
  P_PLACE_Q,
  P_PLACE_K,
  P_T,
  P_KN
};
enum { /* semaphores */
       V_FULL = TSRI_SEM_OWN,
       Q_SEEN, /* the vector unit may read a tile of queries */
       S_FULL,
       S_FREE,
       P_FULL,
       O_FULL,
       PLACES_FULL,
       PHASE, /* what the phase before stored is in memory */
       HEAD,
       SCORES_FULL, /* plain: the vector unit's tiles; the tile has its own, being ahead or
                       behind */
       O_FREE       /* plain: slots of c for results */
};
enum { ROWS = 1 << TSR_AXIS_OW, COLS = 1 << TSR_AXIS_N };
enum { QUERIES_MAX = 512, KEYS_MAX = 256 }; /* of a tile: enough for long streams */
enum { MINUS_MAX = (int)0xff7fffffu, PLUS_MAX = 0x7f7fffff }; /* fp32 codes */

/* ---- what fits ---- */

struct room {
  uint64_t q, kv, d, s, p, o, row, places; /* bytes: tiles, a column of fp32 */
};

static void room_of(const struct tsr_op *op, const struct tsr_lower_at *at, uint64_t tm,
                    uint64_t tn, struct room *r) {
  const uint32_t *e = at->bytes;
  bool mask = op->attr.causal;
  *r = (struct room){.q = tsri_align(tm * op->k * e[TSR_LOWER_FMT_A]),
                     .kv = tsri_align(tn * op->k * e[TSR_LOWER_FMT_B]),
                     .d = tsri_align(tm * op->k * e[TSR_LOWER_FMT_OUT]),
                     .s = tsri_align(tm * tn * e[TSR_LOWER_FMT_ACC]),
                     .p = tsri_align(tm * tn * e[TSR_LOWER_FMT_A]),
                     .o = tsri_align(tm * op->k * e[TSR_LOWER_FMT_ACC]),
                     .row = tsri_align(tm * e[TSR_LOWER_FMT_FP32])};
  if (mask) r->places = tsri_align(op->m * 4) + tsri_align(op->n * 4);
}

static uint64_t total(const struct tsr_lower_at *at, int buf) {
  return at->slots[buf] * at->slot_bytes[buf];
}

/* Slots of scratchpad b: keys and values of whole heads, or tiles of them. */
static uint64_t slots_b(const struct tsr_lower_at *at, const struct room *r, bool resident) {
  if (!resident) return at->slots[TSR_BUF_B];
  uint64_t two = at->slots[TSR_BUF_B] * 2 * r->kv + r->places;
  return two <= total(at, TSR_BUF_B) ? at->slots[TSR_BUF_B] : 1;
}

static bool fits_tiled(const struct tsr_op *op, const struct tsr_lower_at *at, uint64_t tm,
                       uint64_t tn, bool resident) {
  struct room r, kv;
  room_of(op, at, tm, tn, &r);
  room_of(op, at, tm, resident ? op->n : tn, &kv);
  uint64_t a = at->slots[TSR_BUF_A] * r.q + r.p;
  uint64_t b = slots_b(at, &kv, resident) * 2 * kv.kv + kv.places;
  uint64_t c = at->slots[TSR_BUF_C] * r.d + 2 * r.s + r.o + 3 * r.row +
               (op->attr.causal ? tsri_align(tm * tn * 4) : 0);
  return a <= total(at, TSR_BUF_A) && b <= total(at, TSR_BUF_B) && c <= total(at, TSR_BUF_C);
}

/* Rows of scores that the softmax of a plain attention takes at once, 0: not one. */
static uint64_t softmax_rows(const struct tsr_op *op, const struct tsr_lower_at *at) {
  uint64_t most = 0;
  for (uint64_t tm = 1; tm <= op->m && tm <= QUERIES_MAX; tm++) {
    uint64_t a = tm * op->n * at->bytes[TSR_LOWER_FMT_OUT];
    uint64_t d = tsri_align(tm * op->n * at->bytes[TSR_LOWER_FMT_A]);
    uint64_t temps = op->attr.causal ? 2 : 1; /* scaled scores, and their mask */
    uint64_t c =
        at->slots[TSR_BUF_C] * d + temps * tsri_align(tm * op->n * 4) + 2 * tsri_align(tm * 4);
    if (a > at->slot_bytes[TSR_BUF_A] || c > total(at, TSR_BUF_C)) break;
    most = tm;
  }
  return most;
}

static bool fits_plain(const struct tsr_op *op, const struct tsr_lower_at *at, uint64_t tm,
                       uint64_t tn, bool resident) {
  struct room r;
  room_of(op, at, tm, tn, &r);
  uint64_t all = tsri_align(op->n * op->k * at->bytes[TSR_LOWER_FMT_B]);
  uint64_t kv = (resident ? all : at->slots[TSR_BUF_B] * r.kv) + r.places;
  return r.q <= at->slot_bytes[TSR_BUF_A] && r.p <= at->slot_bytes[TSR_BUF_A] &&
         kv <= total(at, TSR_BUF_B) && r.s <= at->slot_bytes[TSR_BUF_C] &&
         r.o <= at->slot_bytes[TSR_BUF_C] && softmax_rows(op, at) > 0;
}

static bool fits(const struct tsr_op *op, const struct tsr_lower_at *at, uint64_t tm,
                 uint64_t tn, bool resident) {
  return at->attention == TSR_ATTENTION_PLAIN ? fits_plain(op, at, tm, tn, resident)
                                              : fits_tiled(op, at, tm, tn, resident);
}

/* Tiles of the least traffic, then the fewest: keys and values come once if resident, else
 * with each tile of queries. */
static void choose(const struct tsr_op *op, const struct tsr_lower_at *at, uint64_t m,
                   struct tsr_lower_cut *cut) {
  uint64_t best_loads = UINT64_MAX, best_tiles = UINT64_MAX;
  for (int resident = 1; resident >= 0; resident--)
    for (uint64_t x = 1; x / 2 < m && x <= QUERIES_MAX; x *= 2)
      for (uint64_t y = 1; y / 2 < op->n && y <= KEYS_MAX; y *= 2) {
        uint64_t tm = tsr_min_u64(x, m), tn = tsr_min_u64(y, op->n);
        uint64_t loads = resident ? 1 : tsr_ceil_div(m, tm);
        uint64_t tiles = tsr_ceil_div(m, tm) * tsr_ceil_div(op->n, tn);
        bool better = loads < best_loads || (loads == best_loads && tiles < best_tiles);
        if (!better || !fits(op, at, tm, tn, resident)) continue;
        best_loads = loads;
        best_tiles = tiles;
        cut->tile[X_M] = tm;
        cut->tile[X_N] = tn;
        cut->resident = resident;
      }
}

static enum tsr_status refuse(const struct tsr_op *op, const struct tsr_lower_at *at,
                              struct tsr_err *err) {
  if (at->integers)
    return tsr_err_at(err, TSR_INPUT, &op->pos,
                      "layer '%s' (attention): scores of integers have no scale; expected "
                      "formats a and b of floating point, or single layers attn_qk, softmax, "
                      "attn_pv",
                      op->name);
  return TSR_OK;
}

enum tsr_status tsri_attention_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                                   uint64_t cores, struct tsr_lower_cut *cut,
                                   struct tsr_err *err) {
  const struct tsr_op_attr *t = &op->attr;
  enum tsr_status st = refuse(op, at, err);
  if (st) return st;
  cut->size[X_G] = op->count / t->heads * t->kv_heads;
  cut->size[X_R] = t->heads / t->kv_heads;
  cut->size[X_M] = op->m;
  cut->size[X_N] = op->n;
  cut->tile[X_G] = cut->tile[X_R] = 1;
  tsri_divide(cut, (const int[]){X_G, X_R, X_M}, 3, cores);
  choose(op, at, cut->axis == X_M ? cut->chunk : op->m, cut);
  if (cut->tile[X_M]) return TSR_OK;
  struct room r;
  room_of(op, at, 1, 1, &r);
  if (at->attention == TSR_ATTENTION_PLAIN && !softmax_rows(op, at))
    return tsri_no_fit(op, "a row of scores with its softmax", op->n * 8, total(at, TSR_BUF_C),
                       "c", err);
  return tsri_no_fit(op, "a query, a key and a value with their result",
                     at->slots[TSR_BUF_C] * r.d + 2 * r.s + r.o + 3 * r.row,
                     total(at, TSR_BUF_C), "c", err);
}

bool tsr_lower_attention_tiles(const struct tsr_op *op, const struct tsr_lower_at *at,
                               uint64_t m, uint64_t n, bool resident,
                               struct tsr_lower_cut *cut) {
  if (!fits(op, at, m, n, resident)) return false;
  cut->tile[X_M] = m;
  cut->tile[X_N] = n;
  cut->resident = resident;
  return true;
}
void tsr_lower_attention_of(const struct tsr_lower_cut *cut, uint64_t *m, uint64_t *n) {
  *m = cut->tile[X_M];
  *n = cut->tile[X_N];
}

/* ---- descriptions ---- */

struct attention {
  struct tsri_emit *e;
  uint64_t from[4], size[4], tile[4], trips[4], d;
  bool resident, causal;
  bool ahead; /* scores of the next tile of keys are made while those of one are softened */
};

/* Queries or results [kv head][head][m][width] of the core's part. */
static void heads(struct attention *x, int t, enum tsr_lower_fmt fmt, int tensor,
                  uint64_t width, uint64_t tile_m, int loop_m, uint64_t tile_w, int loop_w) {
  struct tsri_emit *e = x->e;
  const uint64_t *all = e->cut->size;
  uint64_t head = all[X_M] * width;
  uint64_t first = (x->from[X_G] * all[X_R] + x->from[X_R]) * head + x->from[X_M] * width;
  tsri_emit_tensor(e, t, fmt, e->at->base_bytes[tensor] + first * e->at->bytes[fmt]);
  tsri_emit_dim(e, t, fmt, 0, x->size[X_G], all[X_R] * head, 1);
  tsri_emit_dim(e, t, fmt, 1, x->size[X_R], head, 1);
  tsri_emit_dim(e, t, fmt, 2, x->size[X_M], width, tile_m);
  tsri_emit_dim(e, t, fmt, 3, width, 1, tile_w);
  tsri_emit_walk(e, t, 0, L_G, 1);
  tsri_emit_walk(e, t, 1, L_R, 1);
  tsri_emit_walk(e, t, 2, loop_m, tile_m);
  if (loop_w >= 0) tsri_emit_walk(e, t, 3, loop_w, tile_w);
}

/* Keys (which 0) or values (1): [kv head][n][k]. */
static void keys(struct attention *x, int t, uint64_t which) {
  struct tsri_emit *e = x->e;
  const enum tsr_lower_fmt f = TSR_LOWER_FMT_B;
  uint64_t n = x->size[X_N], one = n * x->d;
  uint64_t first = (which * e->cut->size[X_G] + x->from[X_G]) * one;
  tsri_emit_tensor(e, t, f, e->at->base_bytes[TSR_LOWER_B] + first * e->at->bytes[f]);
  tsri_emit_dim(e, t, f, 0, x->size[X_G], one, 1);
  tsri_emit_dim(e, t, f, 1, n, x->d, x->resident ? n : x->tile[X_N]);
  tsri_emit_dim(e, t, f, 2, x->d, 1, x->d);
  tsri_emit_walk(e, t, 0, L_G, 1);
  if (!x->resident) tsri_emit_walk(e, t, 1, L_J, x->tile[X_N]);
}

/* A matrix in a scratchpad that a multiplication is fed from or writes: dimension i follows
 * an axis of it, and a loop (-1: none). */
struct side {
  uint64_t size, tile;
  int loop, axis;
};
static void fed(struct attention *x, int t, enum tsr_lower_fmt fmt, const struct side s[2]) {
  struct tsri_emit *e = x->e;
  tsri_emit_tensor(e, t, fmt, 0);
  for (int i = 0; i < 2; i++) {
    tsri_emit_dim(e, t, fmt, i, s[i].size, i ? 1 : s[1].size, s[i].tile);
    if (s[i].loop >= 0) tsri_emit_walk(e, t, i, s[i].loop, s[i].tile);
    TSRI_EMIT(e, FEED, t, i, s[i].axis, 1);
  }
}

static void describe(struct attention *x) {
  struct tsri_emit *e = x->e;
  const uint64_t *s = x->size, *tile = x->tile, d = x->d;
  heads(x, T_Q, TSR_LOWER_FMT_A, TSR_LOWER_A, d, tile[X_M], L_I, d, -1);
  TSRI_EMIT(e, FEED, T_Q, 2, TSR_AXIS_OW, 1);
  TSRI_EMIT(e, FEED, T_Q, 3, TSR_AXIS_C, 1);
  keys(x, T_K, 0);
  keys(x, T_V, 1);
  heads(x, T_O, TSR_LOWER_FMT_OUT, TSR_LOWER_OUT, d, tile[X_M], L_I, d, -1);
  const struct side m = {s[X_M], tile[X_M], L_I, TSR_AXIS_OW};
  const struct side n_n = {s[X_N], tile[X_N], L_J, TSR_AXIS_N};
  const struct side n_c = {s[X_N], tile[X_N], L_J, TSR_AXIS_C};
  const struct side d_n = {d, d, -1, TSR_AXIS_N}, d_c = {d, d, -1, TSR_AXIS_C};
  fed(x, T_S, TSR_LOWER_FMT_ACC, (const struct side[]){m, n_n});
  fed(x, T_KF, TSR_LOWER_FMT_B, (const struct side[]){n_n, d_c});
  fed(x, T_P, TSR_LOWER_FMT_A, (const struct side[]){m, n_c});
  fed(x, T_VF, TSR_LOWER_FMT_B, (const struct side[]){n_c, d_n});
  fed(x, T_OF, TSR_LOWER_FMT_ACC, (const struct side[]){m, d_n});
}

/* The axes of the first multiplication, or of the second. */
static void axes(struct attention *x, bool second) {
  struct tsri_emit *e = x->e;
  int n = second ? TSR_AXIS_C : TSR_AXIS_N, d = second ? TSR_AXIS_N : TSR_AXIS_C;
  TSRI_EMIT(e, AXIS, n, L_J, (int64_t)x->size[X_N], (int64_t)x->tile[X_N]);
  TSRI_EMIT(e, AXIS, d, TSR_ISA_NO_LOOP, (int64_t)x->d, (int64_t)x->d);
}

static void vec(struct attention *x, int op, int d, int a, int b, int bc, int cols, int over,
                uint32_t imm) {
  tsri_emit_vec(x->e, op, d, a, b, bc, ROWS, cols, over, imm);
}

static uint32_t scale_of(const struct tsr_op *op) {
  float v = (float)(1.0 / __builtin_sqrt((double)op->k));
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

static void begin(struct attention *x, uint64_t core) {
  struct tsri_emit *e = x->e;
  for (int i = 0; i < 4; i++) {
    x->from[i] = tsri_from(e->cut, i, core);
    x->size[i] = tsri_size(e->cut, i, core);
    x->tile[i] = tsr_min_u64(e->cut->tile[i], x->size[i]);
    x->trips[i] = tsr_ceil_div(x->size[i], x->tile[i]);
  }
  const enum tsr_lower_fmt fmts[] = {TSR_LOWER_FMT_A,   TSR_LOWER_FMT_B,    TSR_LOWER_FMT_ACC,
                                     TSR_LOWER_FMT_OUT, TSR_LOWER_FMT_FP32, TSR_LOWER_FMTS};
  tsri_emit_formats(e, fmts);
  describe(x);
  TSRI_EMIT(e, AXIS, TSR_AXIS_OW, L_I, (int64_t)x->size[X_M], (int64_t)x->tile[X_M]);
}

/* ---- tiled ---- */

/* Scores and keys of the tile after the present one. */
static void describe_next(struct attention *x) {
  const uint64_t *s = x->size, *tile = x->tile, left = s[X_N] - tile[X_N];
  const struct side m = {s[X_M], tile[X_M], L_I, TSR_AXIS_OW};
  const struct side n = {left, tile[X_N], L_J, TSR_AXIS_N}, d = {x->d, x->d, -1, TSR_AXIS_C};
  fed(x, T_SN, TSR_LOWER_FMT_ACC, (const struct side[]){m, n});
  fed(x, T_KN, TSR_LOWER_FMT_B, (const struct side[]){n, d});
}

static void tiled_places(struct attention *x) {
  struct tsri_emit *e = x->e;
  const struct tsr_lower_at *at = e->at;
  struct room r, kv;
  room_of(e->op, at, x->tile[X_M], x->tile[X_N], &r);
  room_of(e->op, at, 1, x->resident ? x->size[X_N] : x->tile[X_N], &kv);
  const struct tsri_trip t[4] = {
      {L_G, x->trips[X_G]}, {L_R, x->trips[X_R]}, {L_I, x->trips[X_M]}, {L_J, x->trips[X_N]}};
  struct tsri_ring q = {TSR_BUF_A, at->slots[TSR_BUF_A], r.q},
                   b = {TSR_BUF_B, slots_b(at, &kv, x->resident), 2 * kv.kv},
                   d = {TSR_BUF_C, at->slots[TSR_BUF_C], r.d};
  tsri_emit_ring(e, P_Q, &q, 0, TSR_LOWER_FMT_A, t, 3);
  tsri_emit_fixed(e, P_P, TSR_BUF_A, q.slots * q.bytes, TSR_LOWER_FMT_A);
  tsri_emit_ring(e, P_K, &b, 0, TSR_LOWER_FMT_B, t, x->resident ? 1 : 4);
  tsri_emit_ring(e, P_V, &b, kv.kv, TSR_LOWER_FMT_B, t, x->resident ? 1 : 4);
  int64_t tile = (int64_t)(x->tile[X_N] * x->d * at->bytes[TSR_LOWER_FMT_B]);
  for (int p = P_K; x->resident && p <= P_V; p++) TSRI_EMIT(e, ADVANCE, p, L_J, tile);
  if (x->ahead) {
    tsri_emit_ring(e, P_KN, &b, (uint64_t)tile, TSR_LOWER_FMT_B, t, 1);
    TSRI_EMIT(e, ADVANCE, P_KN, L_J, tile);
  }
  tsri_emit_ring(e, P_D, &d, 0, TSR_LOWER_FMT_OUT, t, 3);
  uint64_t c = d.slots * d.bytes;
  tsri_emit_fixed(e, P_S, TSR_BUF_C, c, TSR_LOWER_FMT_ACC);
  tsri_emit_fixed(e, P_T, TSR_BUF_C, c += r.s, TSR_LOWER_FMT_ACC);
  tsri_emit_fixed(e, P_O, TSR_BUF_C, c += r.s, TSR_LOWER_FMT_ACC);
  tsri_emit_fixed(e, P_MAX, TSR_BUF_C, c += r.o, TSR_LOWER_FMT_FP32);
  tsri_emit_fixed(e, P_OLD, TSR_BUF_C, c += r.row, TSR_LOWER_FMT_FP32);
  tsri_emit_fixed(e, P_SUM, TSR_BUF_C, c += r.row, TSR_LOWER_FMT_FP32);
  TSRI_EMIT(e, SEM, TSRI_FREE + TSR_BUF_A, (int64_t)q.slots);
  TSRI_EMIT(e, SEM, TSRI_FREE + TSR_BUF_B, (int64_t)b.slots);
  TSRI_EMIT(e, SEM, TSRI_FREE + TSR_BUF_C, (int64_t)d.slots);
  if (!x->causal) return;
  tsri_emit_fixed(e, P_MASK, TSR_BUF_C, c + r.row, TSR_LOWER_FMT_FP32);
  /* The places of queries and keys stay in scratchpad b. */
  uint64_t behind = b.slots * b.bytes, room = total(at, TSR_BUF_B);
  static const int loop[2] = {L_I, L_J}, axis[2] = {X_M, X_N};
  for (int i = 0; i < 2; i++) {
    TSRI_EMIT(e, PLACE, P_PLACE_Q + i, TSR_BUF_B, TSR_LOWER_FMT_FP32, 4, (int64_t)behind,
              (int64_t)room);
    TSRI_EMIT(e, ADVANCE, P_PLACE_Q + i, loop[i], (int64_t)x->tile[axis[i]] * 4);
    behind += tsri_align(x->size[axis[i]] * 4);
  }
}

static void load_places(struct attention *x) {
  struct tsri_emit *e = x->e;
  uint64_t base = e->at->base_bytes[TSR_LOWER_X2];
  const uint64_t first[2] = {x->from[X_M], e->cut->size[X_M]};
  static const int axis[2] = {X_M, X_N};
  for (int i = 0; i < 2; i++) {
    int t = T_PLACE_Q + i;
    tsri_emit_tensor(e, t, TSR_LOWER_FMT_FP32, base + first[i] * 4);
    tsri_emit_dim(e, t, TSR_LOWER_FMT_FP32, 0, x->size[axis[i]], 1, x->size[axis[i]]);
    TSRI_EMIT(e, LOAD, t, P_PLACE_Q + i, TSR_TO_OWN);
  }
  tsri_emit_signal(e, TSR_UNIT_LOAD, PLACES_FULL, TSR_WHEN_DONE);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, PLACES_FULL);
}

/* Scores of keys behind the query fall out of reach. */
static void mask(struct attention *x) {
  vec(x, TSR_VEC_MULI, P_MASK, P_T, 0, TSR_BC_NONE, COLS, 0, 0);
  vec(x, TSR_VEC_SUB, P_MASK, P_MASK, P_PLACE_K, TSR_BC_ROW, COLS, 0, 0);
  vec(x, TSR_VEC_ADD, P_MASK, P_MASK, P_PLACE_Q, TSR_BC_COL, COLS, 0, 0);
  vec(x, TSR_VEC_MINI, P_MASK, P_MASK, 0, TSR_BC_NONE, COLS, 0, 0);
  vec(x, TSR_VEC_MULI, P_MASK, P_MASK, 0, TSR_BC_NONE, COLS, 0, PLUS_MAX);
  vec(x, TSR_VEC_ADD, P_T, P_T, P_MASK, TSR_BC_NONE, COLS, 0, 0);
}

/* Keys and values into a slot of b. */
static void load_keys(struct attention *x) {
  struct tsri_emit *e = x->e;
  tsri_emit_load(e, T_K, P_K, TSR_BUF_B);
  TSRI_EMIT(e, LOAD, T_V, P_V, TSR_TO_OWN);
  tsri_emit_signal(e, TSR_UNIT_LOAD, V_FULL, TSR_WHEN_DONE);
}

/* Scores of the present tile of keys, or of the one after it: none behind the last. */
static void multiply(struct attention *x, bool next) {
  struct tsri_emit *e = x->e;
  axes(x, false);
  if (next) {
    uint64_t left = x->size[X_N] - x->tile[X_N];
    TSRI_EMIT(e, AXIS, TSR_AXIS_N, L_J, (int64_t)left, (int64_t)x->tile[X_N]);
  }
  tsri_emit_wait(e, TSR_UNIT_TILE, S_FREE);
  TSRI_EMIT(e, MM, P_S, P_Q, next ? P_KN : P_K, next ? T_SN : T_S, T_Q, next ? T_KN : T_KF, 0,
            e->at->rate, TSR_DENSE, 0);
  tsri_emit_signal(e, TSR_UNIT_TILE, S_FULL, TSR_WHEN_DONE);
}

/* The vector unit takes the scores; the tile may make the next ones. */
static void take_scores(struct attention *x) {
  struct tsri_emit *e = x->e;
  axes(x, false);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, S_FULL);
  vec(x, TSR_VEC_MULI, P_T, P_S, 0, TSR_BC_NONE, COLS, 0, scale_of(e->op));
  tsri_emit_signal(e, TSR_UNIT_VECTOR, S_FREE, TSR_WHEN_READ);
}

static void soften(struct attention *x) {
  const int over = 1 << L_J;
  axes(x, false);
  if (x->causal) mask(x);
  vec(x, TSR_VEC_COPY, P_OLD, P_MAX, 0, TSR_BC_NONE, 0, 0, 0);
  vec(x, TSR_VEC_ROWMAX, P_MAX, P_T, 0, TSR_BC_NONE, COLS, over, 0);
  vec(x, TSR_VEC_SUBEXP, P_OLD, P_OLD, P_MAX, TSR_BC_NONE, 0, 0, 0);
  vec(x, TSR_VEC_SUBEXP, P_T, P_T, P_MAX, TSR_BC_COL, COLS, 0, 0);
  vec(x, TSR_VEC_MUL, P_SUM, P_SUM, P_OLD, TSR_BC_NONE, 0, 0, 0);
  vec(x, TSR_VEC_ROWSUM, P_SUM, P_T, 0, TSR_BC_NONE, COLS, over, 0);
  tsri_emit_wait(x->e, TSR_UNIT_VECTOR, O_FULL); /* the product before has read P */
  vec(x, TSR_VEC_COPY, P_P, P_T, 0, TSR_BC_NONE, COLS, 0, 0);
  axes(x, true);
  vec(x, TSR_VEC_MUL, P_O, P_O, P_OLD, TSR_BC_COL, COLS, 0, 0);
  tsri_emit_signal(x->e, TSR_UNIT_VECTOR, P_FULL, TSR_WHEN_DONE);
}

/* A tile of queries against a tile of keys. */
static void tile(struct attention *x) {
  struct tsri_emit *e = x->e;
  if (!x->resident) {
    load_keys(x);
    tsri_emit_wait(e, TSR_UNIT_TILE, TSRI_FULL + TSR_BUF_B);
  }
  if (!x->ahead) multiply(x, false);
  take_scores(x);
  if (x->ahead) multiply(x, true);
  soften(x);
  if (!x->resident) tsri_emit_wait(e, TSR_UNIT_TILE, V_FULL);
  tsri_emit_wait(e, TSR_UNIT_TILE, P_FULL);
  TSRI_EMIT(e, MM, P_O, P_P, P_V, T_OF, T_P, T_VF, 1 << L_J, e->at->rate, TSR_DENSE, 0);
  tsri_emit_signal(e, TSR_UNIT_TILE, O_FULL, TSR_WHEN_DONE);
  if (!x->resident) tsri_emit_signal(e, TSR_UNIT_TILE, TSRI_FREE + TSR_BUF_B, TSR_WHEN_READ);
}

/* A tile of queries against all keys. */
static void queries(struct attention *x) {
  struct tsri_emit *e = x->e;
  tsri_emit_load(e, T_Q, P_Q, TSR_BUF_A);
  tsri_emit_signal(e, TSR_UNIT_LOAD, Q_SEEN, TSR_WHEN_DONE);
  tsri_emit_wait(e, TSR_UNIT_TILE, TSRI_FULL + TSR_BUF_A);
  if (x->ahead) multiply(x, false);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, Q_SEEN);
  /* No maximum yet, nothing summed: from any numbers at hand. */
  axes(x, true);
  vec(x, TSR_VEC_ROWABSMAX, P_MAX, P_Q, 0, TSR_BC_NONE, COLS, 0, 0);
  vec(x, TSR_VEC_MINI, P_MAX, P_MAX, 0, TSR_BC_NONE, 0, 0, (uint32_t)MINUS_MAX);
  vec(x, TSR_VEC_MULI, P_SUM, P_MAX, 0, TSR_BC_NONE, 0, 0, 0);
  vec(x, TSR_VEC_MULI, P_O, P_Q, 0, TSR_BC_NONE, COLS, 0, 0);
  TSRI_EMIT(e, LOOP, L_J, (int64_t)x->trips[X_N]);
  tile(x);
  TSRI_EMIT(e, END, L_J);
  tsri_emit_signal(e, TSR_UNIT_TILE, TSRI_FREE + TSR_BUF_A, TSR_WHEN_READ);
  if (x->ahead) { /* nothing behind the last tile */
    tsri_emit_wait(e, TSR_UNIT_VECTOR, S_FULL);
    tsri_emit_signal(e, TSR_UNIT_VECTOR, S_FREE, TSR_WHEN_READ);
  }
  tsri_emit_wait(e, TSR_UNIT_VECTOR, O_FULL);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_C);
  axes(x, true);
  vec(x, TSR_VEC_DIV, P_D, P_O, P_SUM, TSR_BC_COL, COLS, 0, 0);
  tsri_emit_signal(e, TSR_UNIT_VECTOR, O_FULL, TSR_WHEN_READ);
  tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_C, TSR_WHEN_DONE);
  tsri_emit_store(e, T_O, P_D);
}

static void tiled(struct attention *x) {
  struct tsri_emit *e = x->e;
  x->ahead = x->resident && x->trips[X_N] > 1;
  if (x->ahead) describe_next(x);
  tiled_places(x);
  TSRI_EMIT(e, SEM, S_FREE, 1);
  TSRI_EMIT(e, SEM, O_FULL, 1);
  if (x->causal) load_places(x);
  TSRI_EMIT(e, LOOP, L_G, (int64_t)x->trips[X_G]);
  if (x->resident) {
    load_keys(x);
    tsri_emit_wait(e, TSR_UNIT_TILE, TSRI_FULL + TSR_BUF_B);
    tsri_emit_wait(e, TSR_UNIT_TILE, V_FULL);
  }
  TSRI_EMIT(e, LOOP, L_R, (int64_t)x->trips[X_R]);
  TSRI_EMIT(e, LOOP, L_I, (int64_t)x->trips[X_M]);
  queries(x);
  TSRI_EMIT(e, END, L_I);
  TSRI_EMIT(e, END, L_R);
  if (x->resident) tsri_emit_signal(e, TSR_UNIT_TILE, TSRI_FREE + TSR_BUF_B, TSR_WHEN_READ);
  TSRI_EMIT(e, END, L_G);
}

/* ---- plain ---- */

/* Places of a phase: its rings begin anew, for the phase before is over. */
static void phase_places(struct attention *x, bool second) {
  struct tsri_emit *e = x->e;
  const struct tsr_lower_at *at = e->at;
  struct room r;
  room_of(e->op, at, x->tile[X_M], x->resident ? x->size[X_N] : x->tile[X_N], &r);
  const struct tsri_trip t[2] = {{L_I, x->trips[X_M]}, {L_J, x->trips[X_N]}};
  struct tsri_ring a = tsri_ring_of(at, TSR_BUF_A), c = tsri_ring_of(at, TSR_BUF_C),
                   b = {TSR_BUF_B, x->resident ? 1 : at->slots[TSR_BUF_B], r.kv};
  tsri_emit_ring(e, second ? P_P : P_Q, &a, 0, TSR_LOWER_FMT_A, t, second ? 2 : 1);
  tsri_emit_ring(e, second ? P_V : P_K, &b, 0, TSR_LOWER_FMT_B, t, x->resident ? 0 : 2);
  if (x->resident)
    TSRI_EMIT(e, ADVANCE, second ? P_V : P_K, L_J,
              (int64_t)(x->tile[X_N] * x->d * at->bytes[TSR_LOWER_FMT_B]));
  tsri_emit_ring(e, second ? P_O : P_S, &c, 0, TSR_LOWER_FMT_ACC, t, second ? 1 : 2);
}

static void load_side(struct attention *x, bool second, bool wait) {
  struct tsri_emit *e = x->e;
  tsri_emit_load(e, second ? T_V : T_K, second ? P_V : P_K, TSR_BUF_B);
  if (wait) tsri_emit_wait(e, TSR_UNIT_TILE, TSRI_FULL + TSR_BUF_B);
}

static void release(struct attention *x, int buf) {
  tsri_emit_signal(x->e, TSR_UNIT_TILE, TSRI_FREE + buf, TSR_WHEN_READ);
}

/* Results of the tile leave as they are, converted on their way; then their slot is free. */
static void leave(struct attention *x, int t, int p, int free) {
  struct tsri_emit *e = x->e;
  tsri_emit_signal(e, TSR_UNIT_TILE, TSRI_FULL + TSR_BUF_C, TSR_WHEN_DONE);
  tsri_emit_wait(e, TSR_UNIT_STORE, TSRI_FULL + TSR_BUF_C);
  TSRI_EMIT(e, STORE, t, p, 0);
  tsri_emit_signal(e, TSR_UNIT_STORE, free, TSR_WHEN_READ);
}

static void scores(struct attention *x) {
  struct tsri_emit *e = x->e;
  phase_places(x, false);
  axes(x, false);
  if (x->resident) load_side(x, false, true);
  TSRI_EMIT(e, LOOP, L_I, (int64_t)x->trips[X_M]);
  tsri_emit_load(e, T_Q, P_Q, TSR_BUF_A);
  tsri_emit_wait(e, TSR_UNIT_TILE, TSRI_FULL + TSR_BUF_A);
  TSRI_EMIT(e, LOOP, L_J, (int64_t)x->trips[X_N]);
  if (!x->resident) load_side(x, false, true);
  tsri_emit_wait(e, TSR_UNIT_TILE, TSRI_FREE + TSR_BUF_C);
  TSRI_EMIT(e, MM, P_S, P_Q, P_K, T_S, T_Q, T_KF, 0, e->at->rate, TSR_DENSE, 0);
  if (!x->resident) release(x, TSR_BUF_B);
  leave(x, T_PLACE_Q, P_S, TSRI_FREE + TSR_BUF_C); /* the scores in memory */
  TSRI_EMIT(e, END, L_J);
  release(x, TSR_BUF_A);
  TSRI_EMIT(e, END, L_I);
  if (x->resident) release(x, TSR_BUF_B);
}

/* The places of queries, tm of them a tile, and of keys stay in scratchpad b, behind keys or
 * values. */
static void place_places(struct attention *x, uint64_t tm) {
  struct tsri_emit *e = x->e;
  const struct tsr_lower_at *at = e->at;
  struct room r;
  room_of(e->op, at, 1, x->resident ? x->size[X_N] : x->tile[X_N], &r);
  uint64_t behind = (x->resident ? 1 : at->slots[TSR_BUF_B]) * r.kv;
  TSRI_EMIT(e, PLACE, P_PLACE_Q, TSR_BUF_B, TSR_LOWER_FMT_FP32, 4, (int64_t)behind,
            (int64_t)total(at, TSR_BUF_B));
  TSRI_EMIT(e, ADVANCE, P_PLACE_Q, L_I, (int64_t)tm * 4);
  tsri_emit_fixed(e, P_PLACE_K, TSR_BUF_B, behind + tsri_align(x->size[X_M] * 4),
                  TSR_LOWER_FMT_FP32);
}

static void probabilities(struct attention *x, uint64_t tm) {
  struct tsri_emit *e = x->e;
  TSR_CHECK(tm); /* the cut has made sure of a row */
  const struct tsr_lower_at *at = e->at;
  uint64_t trips = tsr_ceil_div(x->size[X_M], tm), n = x->size[X_N];
  const struct tsri_trip t = {L_I, trips};
  struct tsri_ring a = tsri_ring_of(at, TSR_BUF_A),
                   c = {TSR_BUF_C, at->slots[TSR_BUF_C],
                        tsri_align(tm * n * at->bytes[TSR_LOWER_FMT_A])};
  uint64_t behind = c.slots * c.bytes;
  tsri_emit_ring(e, P_Q, &a, 0, TSR_LOWER_FMT_OUT, &t, 1);
  tsri_emit_ring(e, P_D, &c, 0, TSR_LOWER_FMT_A, &t, 1);
  tsri_emit_fixed(e, P_T, TSR_BUF_C, behind, TSR_LOWER_FMT_FP32);
  if (x->causal) {
    tsri_emit_fixed(e, P_MASK, TSR_BUF_C, behind += tsri_align(tm * n * 4), TSR_LOWER_FMT_FP32);
    place_places(x, tm);
  }
  tsri_emit_fixed(e, P_MAX, TSR_BUF_C, behind += tsri_align(tm * n * 4), TSR_LOWER_FMT_FP32);
  tsri_emit_fixed(e, P_SUM, TSR_BUF_C, behind + tsri_align(tm * 4), TSR_LOWER_FMT_FP32);
  TSRI_EMIT(e, AXIS, TSR_AXIS_OW, L_I, (int64_t)x->size[X_M], (int64_t)tm);
  TSRI_EMIT(e, AXIS, TSR_AXIS_N, TSR_ISA_NO_LOOP, (int64_t)n, (int64_t)n);
  heads(x, T_PLACE_K, TSR_LOWER_FMT_OUT, TSR_LOWER_X0, n, tm, L_I, n, -1);
  heads(x, T_SIN, TSR_LOWER_FMT_A, TSR_LOWER_X1, n, tm, L_I, n, -1);
  TSRI_EMIT(e, LOOP, L_I, (int64_t)trips);
  tsri_emit_wait(e, TSR_UNIT_LOAD, TSRI_FREE + TSR_BUF_A);
  TSRI_EMIT(e, LOAD, T_PLACE_K, P_Q, TSR_TO_OWN);
  tsri_emit_signal(e, TSR_UNIT_LOAD, SCORES_FULL, TSR_WHEN_DONE);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, SCORES_FULL);
  vec(x, TSR_VEC_MULI, P_T, P_Q, 0, TSR_BC_NONE, COLS, 0, scale_of(e->op));
  tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_A, TSR_WHEN_READ);
  if (x->causal) mask(x);
  vec(x, TSR_VEC_ROWMAX, P_MAX, P_T, 0, TSR_BC_NONE, COLS, 0, 0);
  vec(x, TSR_VEC_SUBEXP, P_T, P_T, P_MAX, TSR_BC_COL, COLS, 0, 0);
  vec(x, TSR_VEC_ROWSUM, P_SUM, P_T, 0, TSR_BC_NONE, COLS, 0, 0);
  tsri_emit_wait(e, TSR_UNIT_VECTOR, TSRI_FREE + TSR_BUF_C);
  vec(x, TSR_VEC_DIV, P_D, P_T, P_SUM, TSR_BC_COL, COLS, 0, 0);
  tsri_emit_signal(e, TSR_UNIT_VECTOR, TSRI_FULL + TSR_BUF_C, TSR_WHEN_DONE);
  tsri_emit_store(e, T_SIN, P_D);
  TSRI_EMIT(e, END, L_I);
  TSRI_EMIT(e, AXIS, TSR_AXIS_OW, L_I, (int64_t)x->size[X_M], (int64_t)x->tile[X_M]);
}

static void values(struct attention *x) {
  struct tsri_emit *e = x->e;
  phase_places(x, true);
  axes(x, true);
  heads(x, T_SIN, TSR_LOWER_FMT_A, TSR_LOWER_X1, x->size[X_N], x->tile[X_M], L_I, x->tile[X_N],
        L_J);
  if (x->resident) load_side(x, true, true);
  TSRI_EMIT(e, LOOP, L_I, (int64_t)x->trips[X_M]);
  tsri_emit_wait(e, TSR_UNIT_TILE, O_FREE);
  TSRI_EMIT(e, LOOP, L_J, (int64_t)x->trips[X_N]);
  tsri_emit_load(e, T_SIN, P_P, TSR_BUF_A);
  tsri_emit_wait(e, TSR_UNIT_TILE, TSRI_FULL + TSR_BUF_A);
  if (!x->resident) load_side(x, true, true);
  TSRI_EMIT(e, MM, P_O, P_P, P_V, T_OF, T_P, T_VF, 1 << L_J, e->at->rate, TSR_DENSE, 0);
  release(x, TSR_BUF_A);
  if (!x->resident) release(x, TSR_BUF_B);
  TSRI_EMIT(e, END, L_J);
  leave(x, T_O, P_O, O_FREE);
  TSRI_EMIT(e, END, L_I);
  if (x->resident) release(x, TSR_BUF_B);
}

/* Loads of the next phase wait until the last store of this one is in memory. */
static void phase_over(struct attention *x, int sem) {
  tsri_emit_signal(x->e, TSR_UNIT_STORE, sem, TSR_WHEN_DONE);
}

static void plain(struct attention *x) {
  struct tsri_emit *e = x->e;
  if (x->causal) {
    place_places(x, 1);
    load_places(x);
  }
  heads(x, T_PLACE_Q, TSR_LOWER_FMT_OUT, TSR_LOWER_X0, x->size[X_N], x->tile[X_M], L_I,
        x->tile[X_N], L_J);
  TSRI_EMIT(e, SEM, TSRI_FREE + TSR_BUF_A, (int64_t)e->at->slots[TSR_BUF_A]);
  TSRI_EMIT(e, SEM, TSRI_FREE + TSR_BUF_B, x->resident ? 1 : (int64_t)e->at->slots[TSR_BUF_B]);
  TSRI_EMIT(e, SEM, TSRI_FREE + TSR_BUF_C, (int64_t)e->at->slots[TSR_BUF_C]);
  TSRI_EMIT(e, SEM, O_FREE, (int64_t)e->at->slots[TSR_BUF_C]);
  TSRI_EMIT(e, SEM, HEAD, 1);
  TSRI_EMIT(e, LOOP, L_G, (int64_t)x->trips[X_G]);
  TSRI_EMIT(e, LOOP, L_R, (int64_t)x->trips[X_R]);
  tsri_emit_wait(e, TSR_UNIT_LOAD, HEAD);
  scores(x);
  phase_over(x, PHASE);
  tsri_emit_wait(e, TSR_UNIT_LOAD, PHASE);
  probabilities(x, tsr_min_u64(softmax_rows(e->op, e->at), x->size[X_M]));
  phase_over(x, PHASE);
  tsri_emit_wait(e, TSR_UNIT_LOAD, PHASE);
  values(x);
  phase_over(x, HEAD);
  TSRI_EMIT(e, END, L_R);
  TSRI_EMIT(e, END, L_G);
}

void tsri_attention_lower(struct tsri_emit *e, uint64_t core) {
  struct attention x = {
      .e = e, .d = e->op->k, .resident = e->cut->resident, .causal = e->op->attr.causal};
  begin(&x, core);
  if (e->at->attention == TSR_ATTENTION_PLAIN)
    plain(&x);
  else
    tiled(&x);
}
