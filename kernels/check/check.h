/* Error figures of computed results against exact ones (definitions of the
 * command reference, section Numeric).
 *
 * s is exact and unrounded, s^ the computed code in the output format.
 *   ulp = |s^ - s| / ulp_out(s), exponent of s floored at emin; integers: 1
 *   norm_err = ||S^-S||_F / ||S||_F ; sqnr_db = 10 log10(sum s^2 / sum (s^-s)^2)
 *   bias = mean signed ulp
 *   overflow: s finite, s^ infinite, NaN or clipped
 *   underflow: s != 0 and s^ = 0, or bits lost below the smallest subnormal
 * Sums run in the order of the calls, in double. */
#ifndef TSR_KERNELS_CHECK_CHECK_H
#define TSR_KERNELS_CHECK_CHECK_H

#include <stdint.h>

#include "kernels/ref/ref.h"

struct tsr_check {
  const struct tsr_format *out;
  uint64_t elems, overflow, underflow, saturated, subnormal_in, nan, swamped_terms;
  double max_ulp, sum_ulp, sum_signed_ulp, sum_s2, sum_d2;
};

/* Figures; a field is NaN where it is not defined (no elements, S = 0, no error
 * at all for sqnr_db). */
struct tsr_check_result {
  uint64_t checked_elems, overflow, underflow, saturated, subnormal_in, nan, swamped_terms;
  double max_ulp, mean_ulp, norm_err, sqnr_db, bias;
};

void tsr_check_init(struct tsr_check *c, const struct tsr_format *out);
/* `events`: of the computation of this element (tsr_event bits). */
void tsr_check_add(struct tsr_check *c, const struct tsr_ref *exact, uint64_t code,
                   unsigned events);
void tsr_check_finish(const struct tsr_check *c, struct tsr_check_result *r);

#endif
