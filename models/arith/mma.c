/* The table of matrix units, and what is called from outside (models/arith/mma.h). */
#include "models/arith/mma.h"

#include <string.h>

#include "models/arith/mma_int.h"
#include "sim/base/mem.h"

/* 13 fraction bits in the range of fp32: what a step of some units keeps. */
static const struct tsr_format e8m13 = {.name = "e8m13",
                                        .bits = 22,
                                        .exp_bits = 8,
                                        .man_bits = 13,
                                        .bias = 127,
                                        .has_inf = true,
                                        .has_nan = true,
                                        .doc = "fp32 with 13 fraction bits",
                                        .src = "khattak2025"};

/* Groups of fields, explained in mma.def. */
#define FUSE(len, bits, ez, k) \
  .fused_len = len, .align_bits = bits, .zero_exp = ez, .instr_k = k, .nan = TSR_NAN_ONES
#define T_RNE(len, bits, ez, k) FUSE(len, bits, ez, k), .round = TSR_ROUND_RNE
#define T(len, bits, ez, k) FUSE(len, bits, ez, k), .round = TSR_ROUND_RZ, .overflow_inf = true
#define T_E8M13(len, bits, ez, k) T(len, bits, ez, k), .inner = &e8m13
#define T_C(format, len, bits, ez, k) T(len, bits, ez, k), .c = FORMAT(format)
#define T_EMUL(mode, ez, k)                                                                   \
  FUSE(16, 25, ez, k), .round = TSR_ROUND_##mode,                                             \
                       .overflow_inf = TSR_ROUND_##mode == TSR_ROUND_RZ, .via = FORMAT(fp16), \
                       .chunk = k, .order = TSR_MMA_ORDER_STRIDED, .order_period = 4,         \
                       .order_width = 2
#define ST(len, bits, ez, k) T(len, bits, ez, k), .scale = FORMAT(e8m0), .scale_block = 32
#define GST(format, block, k) \
  T(64, 35, -139, k), .group_len = 16, .scale = FORMAT(format), .scale_block = block
#define CHAIN(k) .instr_k = k
#define E(len, k) .fused_len = len, .instr_k = k
#define FTZ(len, k) .fused_len = len, .flush = true, .instr_k = k
#define TR(len, k) .fused_len = len, .align_bits = 24, .align2_bits = 31, .instr_k = k
#define GTR(len, k) TR(len, k), .parity = true
#define CHUNKS(n) .chunk = n
#define EVERY .fused_len = 0
#define INT_MODE(mode) .int_mode = TSR_MMA_INT_##mode
#define FORMAT(name) &tsri_formats[TSRI_FORMAT_##name]

static const struct tsr_mma units[] = {
#define TSR_MMA(id, how, in_a, in_b, out, fields, about, from) \
  {.name = #id,                                                \
   .kind = TSR_MMA_##how,                                      \
   .a = FORMAT(in_a),                                          \
   .b = FORMAT(in_b),                                          \
   .acc = FORMAT(out),                                         \
   .align_round = TSR_ROUND_RZ,                                \
   .doc = about,                                               \
   .src = from,                                                \
   fields},
#include "models/arith/mma.def"
#undef TSR_MMA
};

enum { UNITS = sizeof units / sizeof units[0] };

size_t tsr_mma_count(void) {
  return UNITS;
}

const struct tsr_mma *tsr_mma_at(size_t i) {
  return i < UNITS ? &units[i] : NULL;
}

const struct tsr_mma *tsr_mma_find(const char *name) {
  for (size_t i = 0; i < UNITS; i++)
    if (strcmp(units[i].name, name) == 0) return &units[i];
  return NULL;
}

const struct tsr_mma *tsr_mma_default(const struct tsr_format *a, const struct tsr_format *b) {
  const struct tsr_format *fp64 = &tsri_formats[TSRI_FORMAT_fp64];
  const struct tsr_format *acc = a == fp64 ? fp64 : &tsri_formats[TSRI_FORMAT_fp32];
  for (size_t i = 0; i < UNITS; i++) {
    const struct tsr_mma *u = &units[i];
    bool fits = (u->kind == TSR_MMA_INT && u->int_mode == TSR_MMA_INT_WRAP) ||
                (u->kind == TSR_MMA_SEQ_FMA && u->acc == acc && tsr_mma_is_plain(u));
    if (fits && u->a == a && u->b == b) return u;
  }
  return NULL;
}

bool tsr_mma_is_plain(const struct tsr_mma *u) {
  return u->align_round == TSR_ROUND_RZ && u->join == TSR_MMA_JOIN_SUM &&
         (u->norm_every == 0 || u->norm_every == 1) && !u->via && !u->scale &&
         u->order == TSR_MMA_ORDER_ASC && !u->chunk && !u->promote && !u->sparse_m;
}

size_t tsr_mma_period(const struct tsr_mma *u) {
  size_t len = (size_t)u->fused_len;
  if (u->kind == TSR_MMA_INT) {
    len = u->int_mode == TSR_MMA_INT_SATEND ? 0 : u->int_mode == TSR_MMA_INT_PAIR16 ? 2 : 1;
  } else if (u->kind == TSR_MMA_SEQ_FMA || u->kind == TSR_MMA_SEQ_MULADD) {
    len = 1;
  } else if (u->norm_every > 1) {
    len *= (size_t)u->norm_every;
  }
  if (u->order != TSR_MMA_ORDER_ASC || u->norm_every < 0) len = 0;
  /* Pairs of an integer unit are of products, however the selection counts. */
  bool counts_k = u->sparse_logical && u->kind != TSR_MMA_INT;
  if (u->sparse_m && !(counts_k && len % (size_t)u->sparse_m == 0)) len = 0;
  if (u->chunk) len = (size_t)u->chunk;
  if (u->promote) len = (size_t)u->promote;
  if (u->scale && len)
    len = len / tsr_gcd_u64(len, (size_t)u->scale_block) * (size_t)u->scale_block;
  return len;
}

struct tsr_mma tsr_mma_with_round(const struct tsr_mma *u, enum tsr_round mode) {
  struct tsr_mma r = *u;
  r.round = r.outer_round = mode;
  return r;
}

uint64_t tsri_mma_nan(const struct tsr_mma *u) {
  return tsr_arith_nan(u->acc, u->nan);
}

static void add_stats(struct tsr_mma_stats *to, const struct tsr_mma_stats *s) {
  to->swamped_terms += s->swamped_terms;
  to->terms += s->terms;
  to->truncated_terms += s->truncated_terms;
  to->steps += s->steps;
  to->absorbed_acc += s->absorbed_acc;
  to->cancelled_steps += s->cancelled_steps;
  to->cancel_bits += s->cancel_bits;
  if (s->cancel_max > to->cancel_max) to->cancel_max = s->cancel_max;
}

uint64_t tsr_mma_dot_full(const struct tsr_mma *u, const struct tsr_mma_dot_args *args,
                          unsigned *events, struct tsr_mma_stats *stats) {
  unsigned ev = 0;
  struct tsr_mma_stats st = {0};
  struct tsri_run r;
  tsri_run_init(&r, u, args, &ev, stats ? &st : NULL);
  uint64_t d = tsri_run_sum(&r);
  if (events) *events |= ev;
  if (stats) add_stats(stats, &st);
  return d;
}

uint64_t tsr_mma_dot_stats(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b,
                           size_t k, uint64_t c, unsigned *events,
                           struct tsr_mma_stats *stats) {
  struct tsr_mma_dot_args args = {.a = a, .b = b, .k = k, .c = c};
  return tsr_mma_dot_full(u, &args, events, stats);
}

uint64_t tsr_mma_dot(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b, size_t k,
                     uint64_t c, unsigned *events) {
  return tsr_mma_dot_stats(u, a, b, k, c, events, NULL);
}

uint64_t tsr_mma_dot_scaled(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b,
                            size_t k, const uint64_t *scale_a, const uint64_t *scale_b,
                            uint64_t c, unsigned *events) {
  struct tsr_mma_dot_args args = {
      .a = a, .b = b, .k = k, .scale_a = scale_a, .scale_b = scale_b, .c = c};
  return tsr_mma_dot_full(u, &args, events, NULL);
}
