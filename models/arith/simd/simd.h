/* What models/arith/gemm.c and the kernels of a matrix product share; private to them. */
#ifndef TSR_MODELS_ARITH_SIMD_SIMD_H
#define TSR_MODELS_ARITH_SIMD_SIMD_H

#include "models/arith/gemm.h"
#include "sim/base/mem.h"

/* A tile of C is at most MC x NC; a panel of B is NC columns (the last one: what is
 * left, rounded up to WIDE).  KC rows of a panel lie in the first-level cache. */
enum { TSRI_MC = 32, TSRI_NC = 64, TSRI_KC = 64, TSRI_WIDE = 16 };

enum tsri_gemm_kind {
  TSRI_GEMM_FUSED,   /* FUSED rows: fp32 or fp16 results */
  TSRI_GEMM_FMA32,   /* SEQ_FMA in fp32 */
  TSRI_GEMM_FMA64,   /* SEQ_FMA in fp64 */
  TSRI_GEMM_FMA16,   /* SEQ_FMA in fp16 or bf16, operands exact in fp32 */
  TSRI_GEMM_TREE,    /* TREE rows of 2 or 4 products that flush */
  TSRI_GEMM_EXACT,   /* EXACT rows of a few products */
  TSRI_GEMM_STAGES,  /* TWO_STAGE rows */
  TSRI_GEMM_GROUPED, /* GROUPED rows of tiny operands */
  TSRI_GEMM_INT8,    /* bytes, modulo 2^32 */
  TSRI_GEMM_INT16,   /* integers of 16 bits or less, modulo 2^32 */
  TSRI_GEMM_KINDS
};

/* How a step's sum becomes the next accumulator. */
enum tsri_out { TSRI_OUT_RZ32, TSRI_OUT_E8M13, TSRI_OUT_RNE32, TSRI_OUT_RNE16 };

/* Exponents of packed operands are relative to the largest of their matrix, so that
 * none is above 0.  Below FAR a product is nothing beside the alignment cut. */
enum { TSRI_EXP_ZERO = -128, TSRI_EXP_SPECIAL = 127, TSRI_EXP_FAR = -98 };
/* Alignment exponents (absolute) up to this leave room for a sum below 2^128. */
enum { TSRI_EXP_HIGH = 118 };

struct tsri_plan {
  const struct tsr_gemm *g;
  enum tsri_gemm_kind kind;
  const struct tsri_isa *isa;
  size_t panels;
  /* A, row by row; B, panel by panel, in a panel k by k. */
  float *av, *bv;         /* values (FUSED: times 2^-top) */
  int8_t *ae, *be;        /* FUSED: exponents relative to the top */
  uint8_t *a_odd, *b_odd; /* a row, a panel holds an infinity or NaN */
  double *ad, *bd;        /* FMA64 */
  /* INT: pairs of int16, or quads of bytes; sums for the offset of a signed operand */
  int16_t *a16, *b16;
  uint8_t *a8, *b8;
  int32_t *a_sum, *b_sum;
  size_t k_pad;
  /* Block scales as exponent and significand, by row or column and block; NULL: 1.
   * A NaN has an exponent beyond every limit. */
  int32_t *a_exp, *b_exp;
  float *a_sig, *b_sig;
  size_t scale_block, blocks;
  /* Chains of `chunk` k from +0, added to the accumulator; 0: one chain. */
  size_t chunk;
  /* Order of k within a chunk: by k mod period / width; period 0: ascending. */
  size_t period, period_width;
  struct tsr_mma step; /* the unit of one step alone */
  /* FUSED */
  enum tsri_out out;
  int len, bits, zero_exp;
  int top;     /* sum of both matrices' largest exponents */
  bool spread; /* products may lie below FAR without being 0 */
  bool wraps;  /* a step's sum may leave 32 bits */
};

/* A tile: rows [row, row + rows) of C, columns of one panel, k in [k0, k1).
 * `c`: accumulators, TSRI_NC a row; fp32 bits (fp16 and bf16 as their fp32 value),
 * doubles or int32. */
struct tsri_tile {
  const struct tsri_plan *p;
  size_t row, rows, panel, col, width; /* width: padded, a multiple of WIDE */
  size_t k0, k1;
  void *c;
};

struct tsri_isa {
  const char *name;
  bool (*runs)(void);
  void (*kernel[TSRI_GEMM_KINDS])(const struct tsri_tile *t); /* NULL: not here */
};

extern const struct tsri_isa tsri_isa_avx512, tsri_isa_avx2, tsri_isa_portable;

/* The step k0 .. k0+n of one element of the tile, through the reference. */
void tsri_step_scalar(const struct tsri_tile *t, size_t row, size_t lane, size_t k0, size_t n);

static inline size_t tsri_panel_width(size_t n, size_t panel) {
  size_t left = n - panel * TSRI_NC;
  if (left >= TSRI_NC) return TSRI_NC;
  return (left + TSRI_WIDE - 1) / TSRI_WIDE * TSRI_WIDE;
}

/* Which k stands at place `k` of the packed operands. */
static inline size_t tsri_k_at(const struct tsri_plan *p, size_t k) {
  if (!p->period) return k;
  size_t from = k / p->chunk * p->chunk, n = p->g->k - from, at = k - from;
  if (n > p->chunk) n = p->chunk;
  for (size_t lane = 0;; lane++) {
    size_t lo = lane * p->period_width, hi = lo + p->period_width;
    if (hi > p->period) hi = p->period;
    size_t rest = n % p->period, whole = n / p->period * (hi - lo);
    size_t here = whole + (rest > hi ? hi - lo : rest > lo ? rest - lo : 0);
    if (at < here) return from + at / (hi - lo) * p->period + lo + at % (hi - lo);
    at -= here;
  }
}

static inline uint64_t tsri_code_at(const void *p, size_t bytes, size_t i) {
  switch (bytes) {
  case 1: return ((const uint8_t *)p)[i];
  case 2: return ((const uint16_t *)p)[i];
  case 4: return ((const uint32_t *)p)[i];
  default: return ((const uint64_t *)p)[i];
  }
}

static inline void tsri_code_put(void *p, size_t bytes, size_t i, uint64_t code) {
  switch (bytes) {
  case 1: ((uint8_t *)p)[i] = (uint8_t)code; break;
  case 2: ((uint16_t *)p)[i] = (uint16_t)code; break;
  case 4: ((uint32_t *)p)[i] = (uint32_t)code; break;
  default: ((uint64_t *)p)[i] = code; break;
  }
}

/* Between codes of unit->acc and a kernel's accumulators. */
uint64_t tsri_to_state(const struct tsri_plan *p, uint64_t code);
uint64_t tsri_to_code(const struct tsri_plan *p, uint64_t state);

/* Packing (pack.c).  false: out of memory. */
bool tsri_pack(struct tsri_plan *p);
void tsri_unpack(struct tsri_plan *p);
/* Calls fn(arg, 0 .. n-1), each once, on at most `threads` threads. */
void tsri_parallel(unsigned threads, size_t n, void (*fn)(void *arg, size_t i), void *arg);

#endif
