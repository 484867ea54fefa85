/* Exact-enough sums of products whose values span too many bits for kernels/check/exact.h.
 *
 * Each result is a double-double: products of operands of at most 26 significant bits are exact
 * in a double, sums are kept with what each addition lost, so the result is within
 * k^2 * 2^-105 * sum |a_i b_i| of the exact one (SRC:dekker1971).  Operands of more bits (fp64)
 * have their products' rest computed by fma.  Beside it run sum |a_i b_i| and the sum of the
 * unquantised operands, in plain doubles.  Units: elements, row-major.  The order is ascending
 * k, so that figures do not depend on threads. */
#ifndef TSR_SIM_RUN_LOOSE_H
#define TSR_SIM_RUN_LOOSE_H

#include <stddef.h>

#include "kernels/check/exact.h"

struct tsri_loose;
enum tsr_status tsri_loose_create(size_t rows, size_t cols, size_t k, struct tsri_loose **out,
                                  struct tsr_err *err);
void tsri_loose_destroy(struct tsri_loose *x); /* NULL is allowed */
/* rows x cols results over k. */
void tsri_loose_run(struct tsri_loose *x, size_t rows, size_t cols, size_t k,
                    const struct tsr_exact_operand *a, const struct tsr_exact_operand *b);
/* Of the last run: the sum is *hi + *lo; sum |a b|; of what was before quantisation. */
void tsri_loose_sum(const struct tsri_loose *x, size_t row, size_t col, double *hi, double *lo);
double tsri_loose_abs(const struct tsri_loose *x, size_t row, size_t col);
double tsri_loose_from(const struct tsri_loose *x, size_t row, size_t col);

#endif
