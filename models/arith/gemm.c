/* Matrix products: the choice of a path, tiles, ranges of k (models/arith/gemm.h). */
#include "models/arith/gemm.h"

#include <pthread.h>
#include <string.h>

#include "models/arith/arith_int.h"
#include "models/arith/simd/simd.h"

static const struct tsri_isa *const isas[] = {
#ifdef TSR_GEMM_X86
    &tsri_isa_avx512, &tsri_isa_avx2,
#endif
    &tsri_isa_portable};

enum { ISAS = sizeof isas / sizeof isas[0] };

static size_t first_allowed; /* tests only, see tsr_gemm_force */

size_t tsr_gemm_code_bytes(const struct tsr_format *f) {
  return f->bits <= 8 ? 1 : f->bits <= 16 ? 2 : f->bits <= 32 ? 4 : 8;
}

bool tsr_gemm_force(const char *path) {
  size_t i = 0;
  while (path && i < ISAS && strcmp(isas[i]->name, path) != 0) i++;
  if (i == ISAS && strcmp(path, "scalar") != 0) return false;
  if (i < ISAS && path && !isas[i]->runs()) return false;
  first_allowed = i;
  return true;
}

/* Significant bits of a product of two operands. */
static int product_bits(const struct tsr_mma *u) {
  return u->a->man_bits + 1 + u->b->man_bits + 1;
}

/* A float with nothing unusual: these fields tell all of it. */
static bool is_float(const struct tsr_format *f, int exp_bits, int man_bits, int bits) {
  return !f->is_int && !f->codec && !f->is_unsigned && !f->no_subnormals && !f->no_neg_zero &&
         f->exp_bits == exp_bits && f->man_bits == man_bits && f->bits == bits &&
         f->pad_bits == bits - 1 - exp_bits - man_bits &&
         f->bias == (1 << (exp_bits - 1)) - 1 && f->has_inf && f->has_nan;
}

static bool is_fp32(const struct tsr_format *f) {
  return is_float(f, 8, 23, 32);
}
static bool is_fp16(const struct tsr_format *f) {
  return is_float(f, 5, 10, 16);
}
static bool is_bf16(const struct tsr_format *f) {
  return is_float(f, 8, 7, 16);
}
static bool is_tf32(const struct tsr_format *f) {
  return is_float(f, 8, 10, 32);
}

/* The small floats, with or without infinity, NaN and -0: decoded by a table. */
static bool is_small(const struct tsr_format *f) {
  int bias = (1 << (f->exp_bits - (f->exp_bits > 0))) - 1;
  return !f->is_int && !f->codec && !f->is_unsigned && !f->no_subnormals && f->bits <= 8 &&
         f->pad_bits == 0 && f->exp_bits >= 2 && f->exp_bits <= 5 && f->man_bits >= 1 &&
         f->bias >= bias && f->bias <= bias + 1;
}

/* An operand the kernels know; fp32 holds its values.  Every other format goes to the
 * reference. */
static bool in_fp32(const struct tsr_format *f) {
  return is_small(f) || is_fp16(f) || is_bf16(f) || is_tf32(f) || is_fp32(f);
}

static bool plan_fused(struct tsri_plan *p, const struct tsr_mma *u) {
  /* Products and C are scaled in fp32 and cut in int32: see simd/README.md. */
  const struct tsr_format *a = u->via ? u->via : u->a, *b = u->via ? u->via : u->b;
  if (!in_fp32(a) || !in_fp32(b) || !in_fp32(u->a) || !in_fp32(u->b) || u->flush ||
      a->man_bits + b->man_bits + 2 > 24 || u->align_bits < 1 || u->align_bits > 25 ||
      u->fused_len < 1 || u->fused_len > TSR_MMA_FUSED_LEN_MAX)
    return false;
  const struct tsr_format *in = u->inner ? u->inner : u->acc;
  if (is_fp16(u->acc) && in == u->acc && u->round == TSR_ROUND_RNE)
    p->out = TSRI_OUT_RNE16;
  else if (!is_fp32(u->acc))
    return false;
  else if (in == u->acc && u->round == TSR_ROUND_RZ)
    p->out = TSRI_OUT_RZ32;
  else if (in == u->acc && u->round == TSR_ROUND_RNE)
    p->out = TSRI_OUT_RNE32;
  else if (u->round == TSR_ROUND_RZ && is_float(in, 8, 13, 22))
    p->out = TSRI_OUT_E8M13;
  else
    return false;
  /* Steps with an alignment exponent below FAR are left to the reference: a least one
   * that is no higher never shows.  Results in fp16 look at it. */
  if (p->out != TSRI_OUT_RNE16 && u->zero_exp > TSRI_EXP_FAR) return false;
  p->len = u->fused_len;
  p->bits = u->align_bits;
  p->zero_exp = u->zero_exp;
  /* |term| < 2^(F + 2), C's < 2^(F + 1). */
  p->wraps = (int64_t)(2 * u->fused_len + 1) << (u->align_bits + 1) > INT32_MAX;
  return true;
}

static bool plan_fma(struct tsri_plan *p, const struct tsr_mma *u) {
  if (u->round != TSR_ROUND_RNE) return false;
  if (is_float(u->acc, 11, 52, 64) && u->a == u->acc && u->b == u->acc) {
    p->kind = TSRI_GEMM_FMA64;
    return true;
  }
  if (!in_fp32(u->a) || !in_fp32(u->b)) return false;
  p->kind = is_fp32(u->acc) ? TSRI_GEMM_FMA32 : TSRI_GEMM_FMA16;
  return is_fp32(u->acc) || is_fp16(u->acc) || is_bf16(u->acc);
}

static bool plan_int(struct tsri_plan *p, const struct tsr_mma *u) {
  if (u->int_mode != TSR_MMA_INT_WRAP || u->acc->bits != 32 || u->acc->bias != 0 ||
      u->a->bias != 0 || u->b->bias != 0)
    return false;
  p->kind = u->a->bits == 8 && u->b->bits == 8 ? TSRI_GEMM_INT8 : TSRI_GEMM_INT16;
  /* A signed 16-bit lane holds an unsigned format of 15 bits or less. */
  return u->a->bits <= 16 - u->a->is_unsigned && u->b->bits <= 16 - u->b->is_unsigned;
}

static bool plan_tree(struct tsri_plan *p, const struct tsr_mma *u) {
  p->kind = TSRI_GEMM_TREE;
  p->len = u->fused_len;
  return in_fp32(u->a) && in_fp32(u->b) && is_fp32(u->acc) && u->round == TSR_ROUND_RNE &&
         u->flush && !u->inner && (u->fused_len == 2 || u->fused_len == 4);
}

static bool plan_exact(struct tsri_plan *p, const struct tsr_mma *u) {
  p->kind = TSRI_GEMM_EXACT;
  p->len = u->fused_len;
  return in_fp32(u->a) && in_fp32(u->b) && is_fp32(u->acc) && u->round == TSR_ROUND_RNE &&
         !u->inner && !u->flush && u->fused_len >= 1 && u->fused_len <= 8;
}

static bool plan_stages(struct tsri_plan *p, const struct tsr_mma *u) {
  p->kind = TSRI_GEMM_STAGES;
  p->len = u->fused_len;
  p->bits = u->align_bits;
  return in_fp32(u->a) && in_fp32(u->b) && product_bits(u) <= 24 && is_fp32(u->acc) &&
         u->round == TSR_ROUND_RNE && !u->inner && u->align_bits == 24 &&
         u->align2_bits == 31 && u->fused_len >= 1 && u->fused_len <= 16;
}

static bool is_fp4(const struct tsr_format *f) {
  return is_small(f) && f->bits == 4 && !f->has_inf && !f->has_nan && f->bias == 1;
}

static bool plan_grouped(struct tsri_plan *p, const struct tsr_mma *u) {
  p->kind = TSRI_GEMM_GROUPED;
  p->len = u->fused_len;
  p->bits = u->align_bits;
  p->zero_exp = u->zero_exp;
  return is_fp4(u->a) && is_fp4(u->b) && is_fp32(u->acc) && u->round == TSR_ROUND_RZ &&
         !u->inner && !u->flush && u->overflow_inf && u->align_bits >= 1 &&
         u->align_bits <= 36 && u->group_len == 16 && u->fused_len >= 1 && u->fused_len <= 64 &&
         u->fused_len % 16 == 0;
}

/* Scale formats: e8m0, and ue4m3 where groups are summed. */
static bool is_e8m0(const struct tsr_format *f) {
  return f == tsr_format_find("e8m0");
}

static bool is_ue4m3(const struct tsr_format *f) {
  return f == tsr_format_find("ue4m3");
}

/* Block scales: one to a step (FUSED), or to whole groups; whole blocks to a chunk.  A
 * step lies within a block or takes whole ones. */
static bool scales_fit(const struct tsr_mma *u) {
  if (!u->scale) return true;
  if (u->scale_block < 1 || u->chunk % u->scale_block) return false;
  if (u->kind == TSR_MMA_GROUPED)
    return (is_e8m0(u->scale) || is_ue4m3(u->scale)) && u->scale_block % u->group_len == 0 &&
           (u->fused_len % u->scale_block == 0 || u->scale_block % u->fused_len == 0);
  return u->kind == TSR_MMA_FUSED && is_e8m0(u->scale) && u->scale_block % u->fused_len == 0;
}

static bool plan_around(struct tsri_plan *p, const struct tsr_mma *u) {
  p->step = *u;
  p->step.chunk = 0;
  p->step.order = TSR_MMA_ORDER_ASC;
  struct tsr_mma bare = p->step;
  bare.via = bare.scale = NULL;
  if (!tsr_mma_is_plain(&bare) || !scales_fit(u)) return false;
  p->chunk = (size_t)u->chunk;
  if (u->via && (u->kind != TSR_MMA_FUSED || u->scale)) return false;
  if (u->chunk && (u->flush || u->kind == TSR_MMA_INT || u->outer_round != TSR_ROUND_RNE))
    return false;
  if (u->order == TSR_MMA_ORDER_STRIDED) {
    if (!u->chunk || u->kind != TSR_MMA_FUSED || u->scale) return false;
    p->period = (size_t)u->order_period;
    p->period_width = (size_t)u->order_width;
  }
  return u->order != TSR_MMA_ORDER_TREE;
}

static bool plan_kind(struct tsri_plan *p, const struct tsr_mma *u) {
  if (!plan_around(p, u)) return false;
  switch (u->kind) {
  case TSR_MMA_FUSED: p->kind = TSRI_GEMM_FUSED; return plan_fused(p, u);
  case TSR_MMA_SEQ_FMA: return !u->flush && !u->inner && plan_fma(p, u);
  case TSR_MMA_INT: return plan_int(p, u);
  case TSR_MMA_TREE: return plan_tree(p, u);
  case TSR_MMA_EXACT: return plan_exact(p, u);
  case TSR_MMA_TWO_STAGE: return !u->flush && plan_stages(p, u);
  case TSR_MMA_GROUPED: return plan_grouped(p, u);
  default: return false;
  }
}

/* NULL in p->isa: the scalar path. */
static void plan(struct tsri_plan *p, const struct tsr_mma *u) {
  p->isa = NULL;
  if (!plan_kind(p, u)) return;
  for (size_t i = first_allowed; i < ISAS; i++) {
    if (!isas[i]->runs()) continue;
    if (!isas[i]->kernel[p->kind] && p->kind == TSRI_GEMM_INT8) p->kind = TSRI_GEMM_INT16;
    if (!isas[i]->kernel[p->kind]) continue;
    p->isa = isas[i];
    return;
  }
}

const char *tsr_gemm_path(const struct tsr_mma *u) {
  struct tsri_plan p = {0};
  plan(&p, u);
  return p.isa ? p.isa->name : "scalar";
}

/* Accumulators in the form the kernels keep them: fp16 and bf16 as their fp32 value,
 * which is exact both ways; a NaN comes out as the unit's. */
static bool widened(const struct tsri_plan *p) {
  return p->g->unit->acc->bits == 16 && !p->g->unit->acc->is_int;
}

static float float_of(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static uint32_t bits_of(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

static uint32_t widen(const struct tsr_format *f, uint32_t code) {
  if (f->man_bits == 7) return code << 16;
  uint32_t sign = (code & 0x8000) << 16, mag = (code & 0x7fff) << 13;
  if (mag >= 0x7c00u << 13) return sign | (mag + ((255u - 31) << 23));
  return sign | bits_of(float_of(mag) * 0x1p112f);
}

static uint32_t narrow(const struct tsr_format *f, uint32_t bits) {
  if (f->man_bits == 7) return bits >> 16;
  uint32_t sign = bits >> 16 & 0x8000, mag = bits & 0x7fffffff;
  if (mag == 0x7f800000) return sign | 0x7c00;
  return sign | bits_of(float_of(mag) * 0x1p-112f) >> 13;
}

uint64_t tsri_to_state(const struct tsri_plan *p, uint64_t code) {
  return widened(p) ? widen(p->g->unit->acc, (uint32_t)code) : code;
}

uint64_t tsri_to_code(const struct tsri_plan *p, uint64_t state) {
  const struct tsr_mma *u = p->g->unit;
  if (u->acc->is_int) return state;
  bool nan = u->acc->bits == 64 ? (state & INT64_MAX) > UINT64_C(0x7ff) << 52
                                : (state & INT32_MAX) > UINT64_C(0xff) << 23;
  if (nan) return tsri_mma_nan(u);
  return widened(p) ? narrow(u->acc, (uint32_t)state) : state;
}

static size_t state_bytes(const struct tsri_plan *p) {
  return p->kind == TSRI_GEMM_FMA64 ? 8 : 4;
}

/* Accumulators of one tile: of the range at work, and the sum of those before. */
struct work {
  _Alignas(64) uint64_t c[TSRI_MC * TSRI_NC], sum[TSRI_MC * TSRI_NC], chunk[TSRI_MC * TSRI_NC];
};

void tsri_step_scalar(const struct tsri_tile *t, size_t row, size_t lane, size_t k0, size_t n) {
  const struct tsr_gemm *g = t->p->g;
  uint64_t a[TSR_MMA_FUSED_LEN_MAX], b[TSR_MMA_FUSED_LEN_MAX];
  size_t col = t->col + lane, bytes = state_bytes(t->p), at = row * TSRI_NC + lane;
  size_t a_bytes = tsr_gemm_code_bytes(g->unit->a), b_bytes = tsr_gemm_code_bytes(g->unit->b);
  if (col >= g->n) return; /* padding of the last panel */
  for (size_t i = 0; i < n; i++) {
    size_t k = tsri_k_at(t->p, k0 + i);
    a[i] = tsri_code_at(g->a, a_bytes, (t->row + row) * g->lda + k);
    b[i] = tsri_code_at(g->b, b_bytes, k * g->ldb + col);
  }
  uint64_t sa[TSR_MMA_FUSED_LEN_MAX], sb[TSR_MMA_FUSED_LEN_MAX];
  uint64_t c = tsri_to_code(t->p, tsri_code_at(t->c, bytes, at));
  struct tsr_mma_dot_args args = {.a = a, .b = b, .k = n, .c = c};
  if (t->p->a_exp) {
    size_t block = t->p->scale_block;
    for (size_t i = 0; i < n; i += block) {
      size_t s = (k0 + i) / block;
      sa[i / block] = tsri_code_at(g->scale_a, 1, (t->row + row) * g->lds_a + s);
      sb[i / block] = tsri_code_at(g->scale_b, 1, s * g->lds_b + col);
    }
    args.scale_a = sa;
    args.scale_b = sb;
  }
  c = tsr_mma_dot_full(&t->p->step, &args, NULL, NULL);
  tsri_code_put(t->c, bytes, at, tsri_to_state(t->p, c));
}

/* k0 .. k1 of a tile, in blocks that keep a panel's part in the cache; a block ends
 * where a step does, counted from the start of the range. */
static void run_blocks(struct tsri_tile *t, size_t k0, size_t k1) {
  size_t step = t->p->len ? (size_t)t->p->len : 4;
  size_t block = step > TSRI_KC ? step : TSRI_KC / step * step;
  if (t->p->kind == TSRI_GEMM_INT8 || t->p->kind == TSRI_GEMM_INT16) block *= 4;
  for (size_t k = k0; k < k1; k += block) {
    t->k0 = k;
    t->k1 = tsr_min_u64(k1, k + block);
    t->p->isa->kernel[t->p->kind](t);
  }
}

static void move_tile(const struct tsri_tile *t, bool load) {
  const struct tsr_gemm *g = t->p->g;
  size_t n = tsr_min_u64(g->n - t->col, t->width), bytes = state_bytes(t->p);
  size_t code_bytes = tsr_gemm_code_bytes(g->unit->acc);
  bool same = bytes == code_bytes; /* a NaN aside, which becomes the unit's at the end */
  for (size_t i = 0; i < t->rows; i++) {
    if (same && load) {
      char *to = (char *)t->c + i * TSRI_NC * bytes;
      memcpy(to, (const char *)g->c + ((t->row + i) * g->ldc + t->col) * bytes, n * bytes);
      memset(to + n * bytes, 0, (t->width - n) * bytes);
      continue;
    }
    for (size_t j = 0; j < t->width; j++) {
      size_t at = (t->row + i) * g->ldc + t->col + j, to = i * TSRI_NC + j;
      if (load)
        tsri_code_put(t->c, bytes, to,
                      j < n ? tsri_to_state(t->p, tsri_code_at(g->c, code_bytes, at)) : 0);
      else if (j < n)
        tsri_code_put(g->c, code_bytes, at, tsri_to_code(t->p, tsri_code_at(t->c, bytes, to)));
    }
  }
}

/* sum = sum + c where both are codes of the accumulator (first: sum = c). */
static uint64_t join(const struct tsri_plan *p, uint64_t sum, uint64_t c) {
  return tsri_to_state(p,
                       tsr_mma_add(p->g->unit, tsri_to_code(p, sum), tsri_to_code(p, c), NULL));
}

static bool is_finite32(uint32_t bits) {
  return (bits & 0x7f800000) != 0x7f800000;
}

/* One RNE addition is what the processor's own fp32 addition does, specials aside. */
static void join_tile(const struct tsri_tile *t, uint64_t *sum) {
  size_t bytes = state_bytes(t->p);
  bool fp32 = t->p->g->unit->acc->bits == 32 && !t->p->g->unit->flush;
  for (size_t i = 0; i < t->rows; i++) {
    for (size_t at = i * TSRI_NC; at < i * TSRI_NC + t->width; at++) {
      uint64_t x = tsri_code_at(sum, bytes, at), y = tsri_code_at(t->c, bytes, at);
      uint32_t fast = bits_of(float_of((uint32_t)x) + float_of((uint32_t)y));
      bool plain = fp32 && is_finite32(fast);
      tsri_code_put(sum, bytes, at, plain ? fast : join(t->p, x, y));
    }
  }
}

/* One range, from the accumulators as they are: a chain, or chains of chunks. */
static void run_range(struct tsri_tile *t, struct work *w, size_t k0, size_t k1) {
  const struct tsri_plan *p = t->p;
  if (!p->chunk) {
    run_blocks(t, k0, k1);
    return;
  }
  uint64_t *sum = t->c;
  for (size_t k = k0; k < k1; k += p->chunk) {
    t->c = w->chunk;
    memset(t->c, 0, t->rows * TSRI_NC * state_bytes(p));
    run_blocks(t, k, tsr_min_u64(k1, k + p->chunk));
    join_tile(t, sum);
  }
  t->c = sum;
}

static void run_ranges(struct tsri_tile *t, struct work *w) {
  const struct tsr_gemm *g = t->p->g;
  size_t row_bytes = TSRI_NC * state_bytes(t->p), from = 0;
  for (size_t r = 0; r < g->n_cuts; r++) {
    t->c = r == 0 ? w->sum : w->c;
    memset(t->c, 0, t->rows * row_bytes);
    run_range(t, w, from, g->cuts[r]);
    if (r) join_tile(t, w->sum);
    from = g->cuts[r];
  }
  /* C + sum, the same as sum + C on every bit: neither addend's NaN survives. */
  t->c = w->c;
  move_tile(t, true);
  join_tile(t, w->sum);
  t->c = w->sum;
}

/* Integers: what moving signed and unsigned bytes added (pack.c). */
static void move_back(const struct tsri_tile *t) {
  if (t->p->kind != TSRI_GEMM_INT8) return;
  uint32_t *c = t->c;
  for (size_t i = 0; i < t->rows; i++)
    for (size_t j = 0; j < t->width; j++)
      c[i * TSRI_NC + j] +=
          (uint32_t)t->p->a_sum[t->row + i] - (uint32_t)t->p->b_sum[t->col + j];
}

static void run_tile(void *arg, size_t i) {
  const struct tsri_plan *p = arg;
  const struct tsr_gemm *g = p->g;
  size_t chunks = tsr_ceil_div(g->m, TSRI_MC);
  struct work w;
  struct tsri_tile t = {.p = p, .row = i % chunks * TSRI_MC, .panel = i / chunks, .c = w.c};
  t.rows = tsr_min_u64(g->m - t.row, TSRI_MC);
  t.col = t.panel * TSRI_NC;
  t.width = tsri_panel_width(g->n, t.panel);
  /* Sums modulo 2^32 do not see the ranges. */
  if (g->n_cuts && !g->unit->acc->is_int) {
    run_ranges(&t, &w);
  } else {
    move_tile(&t, true);
    run_range(&t, &w, 0, g->k);
    move_back(&t);
  }
  move_tile(&t, false);
}

/* The scalar path: one element after another through the reference. */
struct scalar {
  const struct tsr_gemm *g;
  uint64_t *a, *b, *sa, *sb; /* operands and scales, one code a word */
  size_t blocks;             /* scales of a row of A; 0: none */
  bool want_events, want_stats;
  pthread_mutex_t lock; /* of what follows */
  unsigned events;
  struct tsr_mma_stats stats;
};

static void scalar_close(struct scalar *s) {
  tsr_mem_free(s->a);
  tsr_mem_free(s->b);
  tsr_mem_free(s->sa);
  tsr_mem_free(s->sb);
  pthread_mutex_destroy(&s->lock);
}

/* Codes as tsr_mma_dot takes them: A row by row, B column by column. */
static bool scalar_open(struct scalar *s, const struct tsr_gemm *g) {
  *s = (struct scalar){.g = g};
  pthread_mutex_init(&s->lock, NULL);
  size_t block = g->scale_a && g->unit->scale_block > 0 ? (size_t)g->unit->scale_block : 0;
  s->blocks = block ? tsr_ceil_div(g->k, block) : 0;
  s->a = tsr_mem_array(g->m * g->k, sizeof *s->a);
  s->b = tsr_mem_array(g->n * g->k, sizeof *s->b);
  s->sa = tsr_mem_array(g->m * s->blocks, sizeof *s->sa);
  s->sb = tsr_mem_array(g->n * s->blocks, sizeof *s->sb);
  if (!s->a || !s->b || !s->sa || !s->sb) return false;
  size_t a_bytes = tsr_gemm_code_bytes(g->unit->a), b_bytes = tsr_gemm_code_bytes(g->unit->b);
  for (size_t i = 0; i < g->m; i++) {
    for (size_t k = 0; k < g->k; k++)
      s->a[i * g->k + k] = tsri_code_at(g->a, a_bytes, i * g->lda + k);
    for (size_t k = 0; k < s->blocks; k++)
      s->sa[i * s->blocks + k] = tsri_code_at(g->scale_a, 1, i * g->lds_a + k);
  }
  for (size_t k = 0; k < g->k; k++)
    for (size_t j = 0; j < g->n; j++)
      s->b[j * g->k + k] = tsri_code_at(g->b, b_bytes, k * g->ldb + j);
  for (size_t k = 0; k < s->blocks; k++)
    for (size_t j = 0; j < g->n; j++)
      s->sb[j * s->blocks + k] = tsri_code_at(g->scale_b, 1, k * g->lds_b + j);
  return true;
}

static void stats_add(struct tsr_mma_stats *to, const struct tsr_mma_stats *x) {
  to->swamped_terms += x->swamped_terms;
  to->terms += x->terms;
  to->truncated_terms += x->truncated_terms;
  to->steps += x->steps;
  to->absorbed_acc += x->absorbed_acc;
  to->cancelled_steps += x->cancelled_steps;
  to->cancel_bits += x->cancel_bits;
  to->cancel_max = tsr_max_u64(to->cancel_max, x->cancel_max);
}

/* What each range lost, each from +0 as tsr_mma_dot_split has it. */
static void range_stats(const struct scalar *s, struct tsr_mma_dot_args args,
                        struct tsr_mma_stats *stats) {
  const struct tsr_gemm *g = s->g;
  struct tsr_mma_dot_args r = args;
  r.c = 0;
  for (size_t i = 0, from = 0; i < g->n_cuts; from = g->cuts[i++]) {
    size_t block = s->blocks ? from / (size_t)g->unit->scale_block : 0;
    r.a = args.a + from;
    r.b = args.b + from;
    r.k = g->cuts[i] - from;
    if (s->blocks) r.scale_a = args.scale_a + block, r.scale_b = args.scale_b + block;
    tsr_mma_dot_full(g->unit, &r, NULL, stats);
  }
}

static uint64_t scalar_element(struct scalar *s, size_t i, size_t j, unsigned *events,
                               struct tsr_mma_stats *stats) {
  const struct tsr_gemm *g = s->g;
  size_t c_bytes = tsr_gemm_code_bytes(g->unit->acc);
  struct tsr_mma_dot_args args = {.a = s->a + i * g->k,
                                  .b = s->b + j * g->k,
                                  .k = g->k,
                                  .c = tsri_code_at(g->c, c_bytes, i * g->ldc + j)};
  if (s->blocks) args.scale_a = s->sa + i * s->blocks, args.scale_b = s->sb + j * s->blocks;
  if (!g->n_cuts) return tsr_mma_dot_full(g->unit, &args, events, stats);
  if (stats) range_stats(s, args, stats);
  return tsr_mma_dot_split(g->unit, &args, g->cuts, g->n_cuts, events);
}

/* A row of D. */
static void scalar_row(void *arg, size_t i) {
  struct scalar *s = arg;
  const struct tsr_gemm *g = s->g;
  unsigned events = 0;
  struct tsr_mma_stats stats = {0};
  size_t c_bytes = tsr_gemm_code_bytes(g->unit->acc);
  for (size_t j = 0; j < g->n; j++)
    tsri_code_put(g->c, c_bytes, i * g->ldc + j,
                  scalar_element(s, i, j, s->want_events ? &events : NULL,
                                 s->want_stats ? &stats : NULL));
  pthread_mutex_lock(&s->lock);
  s->events |= events;
  stats_add(&s->stats, &stats);
  pthread_mutex_unlock(&s->lock);
}

static enum tsr_status run_scalar(const struct tsr_gemm *g, unsigned threads, unsigned *events,
                                  struct tsr_mma_stats *stats, struct tsr_err *err) {
  struct scalar s;
  bool ok = scalar_open(&s, g);
  if (ok) {
    s.want_events = events != NULL;
    s.want_stats = stats != NULL;
    tsri_parallel(threads, g->m, scalar_row, &s);
    if (events) *events |= s.events;
    if (stats) stats_add(stats, &s.stats);
  }
  scalar_close(&s);
  return ok ? TSR_OK : tsr_err_nomem(err);
}

enum tsr_status tsr_gemm_reference(const struct tsr_gemm *g, unsigned *events,
                                   struct tsr_mma_stats *stats, struct tsr_err *err) {
  return run_scalar(g, 1, events, stats, err);
}

/* Ranges whose sums are added as they come, and that begin where a packed chunk or a
 * block of scales does. */
static bool ranges_are_simple(const struct tsri_plan *p) {
  const struct tsr_gemm *g = p->g;
  const struct tsr_mma *u = g->unit;
  size_t grain = p->period ? p->chunk : u->scale ? (size_t)u->scale_block : 1;
  for (size_t i = 0; i + 1 < g->n_cuts; i++)
    if (g->cuts[i] % grain) return false;
  return g->n_cuts == 0 || (!u->part && u->part_order == TSR_MMA_PART_ASC);
}

enum tsr_status tsr_gemm_run(const struct tsr_gemm *g, unsigned *events,
                             struct tsr_mma_stats *stats, struct tsr_err *err) {
  struct tsri_plan p = {.g = g};
  TSR_CHECK(g->n_cuts == 0 || g->cuts[g->n_cuts - 1] == g->k);
  if (g->m == 0 || g->n == 0 || (g->k == 0 && g->n_cuts == 0)) return TSR_OK;
  plan(&p, g->unit);
  if (!p.isa || events || stats || !ranges_are_simple(&p))
    return run_scalar(g, g->threads, events, stats, err);
  bool ok = tsri_pack(&p);
  if (ok) tsri_parallel(g->threads, tsr_ceil_div(g->m, TSRI_MC) * p.panels, run_tile, &p);
  tsri_unpack(&p);
  return ok ? TSR_OK : tsr_err_nomem(err);
}
