/* Error figures of computed results against exact ones (definitions of the
 * command reference, section Numeric).
 *
 * s is exact and unrounded, s^ the computed code in the output format.
 *   ulp = |s^ - s| / ulp_out(s), exponent of s floored at emin; integers: 1
 *   norm_err = ||S^-S||_F / ||S||_F ; sqnr_db = 10 log10(sum s^2 / sum (s^-s)^2)
 *   bias = mean signed ulp
 *   overflow: s finite, s^ infinite, NaN, clipped or (integers) wrapped
 *   underflow: no overflow, s != 0, and s^ = 0 or s is below the smallest normal
 *     number and has bits below the smallest subnormal
 * ulp, norm_err, sqnr_db and bias run over the elements where both s and s^ are
 * finite.  Sums run in the order of the calls, in double; no libm.
 * Ownership: none.  Sources: SRC:ieee754. */
#ifndef TSR_KERNELS_CHECK_CHECK_H
#define TSR_KERNELS_CHECK_CHECK_H

#include <stdint.h>

#include "kernels/ref/ref.h"

struct tsr_check {
  const struct tsr_format *out;
  uint64_t elems, overflow, underflow, saturated, subnormal_in, nan;
  uint64_t swamped_terms; /* the caller adds tsr_mma_stats.swamped_terms */
  uint64_t compared;      /* elements with s and s^ finite */
  double max_ulp, sum_ulp, sum_signed_ulp, sum_s2, sum_d2;
};

/* Figures; a field is NaN where it is not defined (no elements compared, S = 0, no
 * error at all for sqnr_db). */
struct tsr_check_result {
  uint64_t checked_elems, overflow, underflow, saturated, subnormal_in, nan, swamped_terms;
  double max_ulp, mean_ulp, norm_err, sqnr_db, bias;
};

/* `out` is borrowed for the life of c. */
void tsr_check_init(struct tsr_check *c, const struct tsr_format *out);
/* `events`: of the computation of this element (tsr_event bits). */
void tsr_check_add(struct tsr_check *c, const struct tsr_ref *exact, uint64_t code,
                   unsigned events);
void tsr_check_finish(const struct tsr_check *c, struct tsr_check_result *r);

#endif
