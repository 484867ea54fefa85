/* The oracle: exact products summed exactly, rounded once.
 *
 * Shares nothing with the accumulators under test but the decoding of codes.
 * A Kulisch accumulator of fixed width: exact for sums of up to 2^32 products of
 * any two formats of format.def but fp64.  A term that does not fit it is the caller's
 * bug.
 * Specials as IEEE 754: NaN, 0 * inf and inf - inf give NaN.  The sign of a zero
 * sum is not kept: it is +0.  A NaN leaves as the canonical quiet NaN; a format
 * without NaN gets 0, one without infinity its largest finite value.
 * Ownership: none, no allocation.  Sources: SRC:kulisch2013, SRC:ieee754. */
#ifndef TSR_KERNELS_REF_REF_H
#define TSR_KERNELS_REF_REF_H

#include "models/arith/format.h"

/* 24 limbs of 64 bits: two's complement fixed point, lsb 2^-640. */
enum { TSR_REF_LIMBS = 24, TSR_REF_LSB = -640 };
struct tsr_ref {
  uint64_t limb[TSR_REF_LIMBS]; /* least significant first */
  bool nan, pos_inf, neg_inf;
};

void tsr_ref_init(struct tsr_ref *r);
/* r += a*b (decoded values). */
void tsr_ref_mul_add(struct tsr_ref *r, const struct tsr_num *a, const struct tsr_num *b);
/* r += v. */
void tsr_ref_add(struct tsr_ref *r, const struct tsr_num *v);
/* r = r - v: for differences against a computed value. */
void tsr_ref_sub(struct tsr_ref *r, const struct tsr_num *v);
/* The value rounded to the nearest double (ties to even). */
double tsr_ref_double(const struct tsr_ref *r);
/* The value rounded once to a format without a codec, in any mode but SR; out of
 * range as tsr_arith_round does it. */
uint64_t tsr_ref_round(const struct tsr_ref *r, const struct tsr_format *f,
                       enum tsr_round mode);
/* floor(log2|r|); r must be finite and not zero. */
int tsr_ref_msb(const struct tsr_ref *r);
/* Exponent of the lowest bit set: r is an odd multiple of 2^lsb; likewise. */
int tsr_ref_lsb(const struct tsr_ref *r);
/* Neither NaN nor infinite. */
bool tsr_ref_is_finite(const struct tsr_ref *r);
/* Finite and zero. */
bool tsr_ref_is_zero(const struct tsr_ref *r);

/* C[m,n] = A[m,k] * B[k,n], row-major codes, exact, rounded once to fc. */
void tsr_ref_gemm(const struct tsr_format *fa, const uint64_t *a, const struct tsr_format *fb,
                  const uint64_t *b, const struct tsr_format *fc, uint64_t *c, size_t m,
                  size_t n, size_t k);

#endif
