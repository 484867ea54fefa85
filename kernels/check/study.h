/* Error study of one matrix unit: m x n dot products of length k on drawn operands,
 * accumulated by the unit from C = +0, against the exact result of the same
 * quantised operands (an accumulator of kernels/ref).
 *
 * Operands: draw.h, quantised to the unit's formats; block-scaled units get scales
 * of their own (models/arith/block.h; floor); a sparse unit gets an A of which only
 * the selected elements are not zero.  Row i of A and column j of B are drawn by
 * their lane, so results do not depend on m and n beyond which ones there are.
 * |a|^T |b| and the dot products of unquantised operands are sums of exact products
 * in fp64, k ascending (error below k * 2^-53 * |a|^T |b|, see exact.h).
 * Ownership: plain values.  Errors: TSR_NOMEM; TSR_SIM when interrupted. */
#ifndef TSR_KERNELS_CHECK_STUDY_H
#define TSR_KERNELS_CHECK_STUDY_H

#include "kernels/check/check.h"
#include "kernels/check/draw.h"
#include "models/arith/mma.h"
#include "sim/base/err.h"

struct tsr_study {
  const struct tsr_mma *unit;
  enum tsr_draw dist;
  uint64_t seed, m, n, k;
};

/* Bits that a result's terms lost against each other: bin i counts results with
 * log2(|a|^T |b| / |s|) in [i, i + 1), the last also what is larger and s = 0. */
enum { TSR_STUDY_CANCEL_BINS = 64 };

struct tsr_study_result {
  struct tsr_check check; /* in ulp of the accumulator's format */
  struct tsr_mma_stats stats;
  /* Of |s^ - s| / (|a|^T |b|); NaN: none, as where a result overflowed, was clipped or
   * underflowed, or the unit took subnormal numbers for zero. */
  double bound;
  double quantisation_err, unquantised_err; /* |S - S0| / |S0| and |S^ - S0| / |S0| */
  uint64_t cancel[TSR_STUDY_CANCEL_BINS];
};
enum tsr_status tsr_study_run(const struct tsr_study *s, struct tsr_study_result *out,
                              struct tsr_err *err);

/* A ladder of K: powers of two from `from`, then k itself.  Returns their number. */
enum { TSR_STUDY_LADDER_MAX = 64 };
size_t tsr_study_ladder(uint64_t from, uint64_t k, uint64_t out[TSR_STUDY_LADDER_MAX]);

#endif
