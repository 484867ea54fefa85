/* Matrix units: how a dot product is accumulated, bit for bit.
 *
 * A unit is a row of mma.def: formats, fused length L, alignment bits F, output
 * rounding, special-value rules.  The chain over k is ascending, L at a time;
 * the rounded result of one step is C of the next.
 * A last group shorter than L is one step of its own.
 * Operands are codes; shapes: a[k], b[k], c and the result one element.
 * Events are OR-ed into *events; a NULL events is allowed.
 * Sources: SRC:mmasim and SRC:khattak2025 (the fused truncated dot product, its
 * parameters and special values), SRC:ieee754. */
#ifndef TSR_MODELS_ARITH_MMA_H
#define TSR_MODELS_ARITH_MMA_H

#include "models/arith/format.h"

enum tsr_mma_kind {
  TSR_MMA_SEQ_FMA, /* acc = round(acc + a*b), k ascending */
  TSR_MMA_FUSED,   /* T-step: align at the largest exponent, truncate, add */
  TSR_MMA_INT      /* exact products, sum modulo 2^32 */
};

/* Limits of a FUSED row: L terms are held at once, sums fit 64 bits. */
enum { TSR_MMA_FUSED_LEN_MAX = 64, TSR_MMA_ALIGN_BITS_MAX = 48 };

struct tsr_mma {
  const char *name;
  enum tsr_mma_kind kind;
  const struct tsr_format *a, *b; /* operand formats; both of one kind */
  const struct tsr_format *acc;   /* accumulator and result */
  int fused_len;                  /* L (FUSED) */
  int align_bits;                 /* F (FUSED) */
  enum tsr_round round;           /* of each step's result */
  bool overflow_inf;              /* RZ overflow gives infinity (FUSED) */
  int zero_exp;                   /* ez: exponent of a zero term (FUSED) */
  const char *doc, *src;
};

size_t tsr_mma_count(void);
const struct tsr_mma *tsr_mma_at(size_t i);
const struct tsr_mma *tsr_mma_find(const char *name);
/* The unit used when a machine names none for these operand formats: fp32
 * sequential FMA for floats, int32 modulo 2^32 for integers; NULL when none fits. */
const struct tsr_mma *tsr_mma_default(const struct tsr_format *a, const struct tsr_format *b);

/* result = c (+) sum over k of a[i]*b[i], through the unit.  `events` collects.
 * INT: OVERFLOW when the exact sum does not fit. */
uint64_t tsr_mma_dot(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b, size_t k,
                     uint64_t c, unsigned *events);
/* What a dot product lost on the way; counters only grow. */
struct tsr_mma_stats {
  /* Non-zero finite products that left no bit after alignment (FUSED) or that
   * left the accumulator as it was (SEQ_FMA). */
  uint64_t swamped_terms;
};
/* As tsr_mma_dot, and counts; stats may be NULL. */
uint64_t tsr_mma_dot_stats(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b,
                           size_t k, uint64_t c, unsigned *events, struct tsr_mma_stats *stats);
/* One addition in the accumulator format (RNE; integers wrap): how a partial sum
 * of another pass is added. */
uint64_t tsr_mma_add(const struct tsr_mma *u, uint64_t x, uint64_t y, unsigned *events);

#endif
