/* A slow interpreter of programs, element by element, in program order.
 *
 * It knows the layouts that lower.h promises and nothing of how a program is made:
 * every product must be computed once, from operands that the latest load of their
 * buffer holds; every output must be complete and stored once; no wait may lack its
 * signal.  Small operators only: it keeps a count for each product. */
#ifndef TSR_TESTS_UNIT_LOWER_INTERP_H
#define TSR_TESTS_UNIT_LOWER_INTERP_H

#include "kernels/lower/lower.h"

struct interp_counts {
  uint64_t loads[2], stores, mms;
  uint64_t loaded[2]; /* elements of a, b */
};

/* NULL when the program does the operator's work, else what is wrong (static).
 * `counts` may be NULL. */
const char *interp_run(const struct tsr_program *p, const struct tsr_shape *s,
                       const struct tsr_mapping *m, const struct tsr_layout *layout,
                       struct interp_counts *counts);

#endif
