/* Exact dot products of whole matrices, at the speed of fp64 matmuls.
 *
 * Models: nothing; it is the comparison side of a study.  Operand values are
 * integers times one power of two for each operand.  Each integer is cut into
 * slices so narrow that a sum of k products of two slices stays an integer of at
 * most 2^53 in magnitude: every product and every partial sum of those matmuls is
 * exact in fp64, in any order (the idea of SRC:ozaki2012, with slices so chosen that
 * nothing is left over).  The slices' results are put together in 128 bits.
 *
 * Two companions run beside it in plain fp64, k ascending: |a|^T |b|, and the dot
 * product of the unquantised operands where these are given.  Both are sums of
 * exact products (operands of at most 26 significant bits), so their error is at
 * most k * 2^-53 * sum |a_i b_i| (SRC:higham2002, k * 2^-53 far below 1): for k up
 * to 2^19 less than a thousandth of half an ulp of fp32 of sum |a_i b_i|, and of
 * any narrower unit.
 *
 * Units: elements.  Layout: row-major, leading dimensions in elements.
 * Ownership: as the functions say.  Errors: TSR_NOMEM only.
 * The results are the same on every processor. */
#ifndef TSR_KERNELS_CHECK_EXACT_H
#define TSR_KERNELS_CHECK_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/arith/format.h"
#include "sim/base/err.h"
#include "sim/base/mem.h"

/* Bits that the non-zero values of an operand span: multiples of 2^lsb, below
 * 2^(msb + 1) in magnitude.  `special`: a NaN or an infinity was among them. */
struct tsr_exact_range {
  int lsb, msb;
  bool any, special;
};
void tsr_exact_range_init(struct tsr_exact_range *r);
void tsr_exact_range_add(struct tsr_exact_range *r, const struct tsr_num *v);

/* How two operands are cut: slices of wa, wb bits; results in units of 2^lsb. */
struct tsr_exact_plan {
  unsigned na, nb, wa, wb;
  int lsb_a, lsb_b, lsb;
};
/* false: specials, or values so far apart that the sum passes 2^126 units or its
 * unit lies below 2^-900; then only an accumulator of kernels/ref will do. */
bool tsr_exact_plan_make(const struct tsr_exact_range *a, const struct tsr_exact_range *b,
                         uint64_t k, struct tsr_exact_plan *out);

/* An operand in memory: codes as models/arith/gemm.h lays them and, where it is
 * known, what they were quantised from (NULL: not known). */
struct tsr_exact_operand {
  const struct tsr_format *f;
  const void *codes;
  size_t ld;
  const float *from; /* same shape and ld as codes, or NULL for both operands */
};
/* Code i of an array of codes of `bytes` bytes each (tsr_gemm_code_bytes). */
uint64_t tsr_exact_code(const void *codes, size_t bytes, size_t i);
void tsr_exact_code_set(void *codes, size_t bytes, size_t i, uint64_t code);

struct tsr_exact;
/* For results of up to rows x cols; its buffers are a few MiB at 256 x 256. */
enum tsr_status tsr_exact_create(const struct tsr_format *fa, const struct tsr_format *fb,
                                 size_t rows, size_t cols, struct tsr_exact **out,
                                 struct tsr_err *err);
void tsr_exact_destroy(struct tsr_exact *e); /* NULL is allowed */

/* rows x cols results over k: A[rows, k], B[k, cols]. `plan` covers both. */
void tsr_exact_run(struct tsr_exact *e, const struct tsr_exact_plan *plan, size_t rows,
                   size_t cols, size_t k, const struct tsr_exact_operand *a,
                   const struct tsr_exact_operand *b);
/* Of the last run: the sum in units of 2^lsb; |a|^T |b|; of what was before. */
tsr_i128 tsr_exact_sum(const struct tsr_exact *e, size_t row, size_t col);
double tsr_exact_abs(const struct tsr_exact *e, size_t row, size_t col);
double tsr_exact_from(const struct tsr_exact *e, size_t row, size_t col);

/* The path of the fp64 kernel from now: avx512, avx2, portable; NULL: the best that
 * the processor allows, as at the start.  false: not here.  For tests. */
bool tsr_exact_force(struct tsr_exact *e, const char *path);

#endif
