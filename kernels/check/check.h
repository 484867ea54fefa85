/* Error figures of computed results against exact ones (definitions of the
 * command reference, section Numeric).
 *
 * s is exact and unrounded, s^ the computed code in the output format.
 *   ulp = |s^ - s| / ulp_out(s), exponent of s floored at emin; integers: 1
 *   norm_err = ||S^-S||_F / ||S||_F ; sqnr_db = 10 log10(sum s^2 / sum (s^-s)^2)
 *   bias = mean signed ulp
 *   comp = |s^ - s| / (|a|^T |b|), where the caller knows |a|^T |b|
 *   overflow: s finite, s^ infinite, NaN, clipped or (integers) wrapped
 *   underflow: no overflow, s != 0, and s^ = 0 or s is below the smallest normal
 *     number and has bits below the smallest subnormal
 * ulp, norm_err, sqnr_db, comp, bias and the histogram run over the elements where
 * both s and s^ are finite.  Sums run in the order of the calls, in double; no libm.
 * Ownership: none.  Sources: SRC:ieee754, SRC:higham2002 (componentwise error). */
#ifndef TSR_KERNELS_CHECK_CHECK_H
#define TSR_KERNELS_CHECK_CHECK_H

#include <stdint.h>

#include "kernels/ref/ref.h"
#include "sim/base/mem.h"

/* Histogram of |ulp| by powers of two: bin 0 counts errors of exactly 0, bin i > 0
 * those in [2^(i - 1 + LOG2_LO), 2^(i + LOG2_LO)); the first of these also what is
 * smaller, the last what is larger. */
enum { TSR_CHECK_BINS = 64, TSR_CHECK_LOG2_LO = -24 };
/* The bin of a magnitude, not NaN. */
unsigned tsr_check_bin(double size);
/* Edges of a bin in ulp: [lo, hi); bin 0: both 0. */
void tsr_check_bin_edges(unsigned bin, double *lo, double *hi);

struct tsr_check {
  const struct tsr_format *out;
  uint64_t elems, overflow, underflow, saturated, subnormal_in, nan;
  uint64_t swamped_terms; /* the caller adds tsr_mma_stats.swamped_terms */
  uint64_t compared;      /* elements with s and s^ finite */
  uint64_t with_abs;      /* of these, with |a|^T |b| known and not 0 */
  double max_ulp, sum_ulp, sum_signed_ulp, sum_s2, sum_d2, max_comp, sum_comp;
  uint64_t hist[TSR_CHECK_BINS];
};

/* Figures; a field is NaN where it is not defined (no elements compared, S = 0, no
 * error at all for sqnr_db). */
struct tsr_check_result {
  uint64_t checked_elems, overflow, underflow, saturated, subnormal_in, nan, swamped_terms;
  double max_ulp, mean_ulp, norm_err, sqnr_db, bias, max_comp, mean_comp;
};

/* `out` is borrowed for the life of c. */
void tsr_check_init(struct tsr_check *c, const struct tsr_format *out);
/* `events`: of the computation of this element (tsr_event bits). */
void tsr_check_add(struct tsr_check *c, const struct tsr_ref *exact, uint64_t code,
                   unsigned events);
/* Likewise with |a|^T |b| (0: not known). */
void tsr_check_add_abs(struct tsr_check *c, const struct tsr_ref *exact, uint64_t code,
                       unsigned events, double abs);
/* The same figures, to the bit, for an s that is a double: an infinite one or a NaN is not
 * finite.  Output formats of at most 8 bits of exponent. */
void tsr_check_add_double(struct tsr_check *c, double exact, uint64_t code, unsigned events,
                          double abs);
/* The same figures, to the bit, for s = sum * 2^lsb: a fast way where s^ fits the
 * same units. -900 <= lsb <= 800. */
void tsr_check_add_fixed(struct tsr_check *c, tsr_i128 sum, int lsb, uint64_t code,
                         unsigned events, double abs);
/* A step of which only values are known: from s (which gives the ulp) to got, both
 * finite; no counts but elems. */
void tsr_check_add_values(struct tsr_check *c, double s, double got, double abs);
/* A difference formed elsewhere, with the s that it belongs to. */
void tsr_check_add_diff(struct tsr_check *c, double s, double diff, double abs);
void tsr_check_finish(const struct tsr_check *c, struct tsr_check_result *r);

/* A decoded value in units of 2^lsb; false: it is no multiple of it, or passes
 * 2^126 units, or is not finite. */
bool tsr_check_fixed(const struct tsr_num *v, int lsb, tsr_i128 *out);
/* fixed * 2^lsb rounded to the nearest double. */
double tsr_check_fixed_double(tsr_i128 fixed, int lsb);
/* The accumulator of kernels/ref holding fixed * 2^lsb. */
void tsr_check_fixed_ref(tsr_i128 fixed, int lsb, struct tsr_ref *out);

#endif
