/* A-priori error bounds of matrix units.
 *
 * gamma such that |s^ - s| <= gamma * |a|^T |b| for C = 0 and data without
 * overflow and without subnormals (neither operands, products nor sums).
 * With e the sum of the relative errors that one product can meet on its way,
 * gamma = e / (1 - e) (SRC:higham2002, lemma 3.1; SRC:blanchard2020 for blocks).
 * A step that aligns its terms at the largest exponent and cuts F bits below loses
 * at most 2^-F of the largest term by each of its terms.
 * Ownership: none.  Errors: none. */
#ifndef TSR_KERNELS_CHECK_BOUND_H
#define TSR_KERNELS_CHECK_BOUND_H

#include "models/arith/mma.h"

/* Over k products in `ranges` ranges (at least 1) whose longest is range_k, each
 * summed from zero and then added.  NaN: none, e >= 1. 0 for integers. */
double tsr_check_bound(const struct tsr_mma *u, uint64_t range_k, uint64_t ranges);
/* Unit roundoff of a format in a rounding mode: 2^-p to nearest, else 2^(1-p). */
double tsr_check_roundoff(const struct tsr_format *f, enum tsr_round mode);

#endif
