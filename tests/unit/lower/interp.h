/* A slow interpreter of programs, element by element, without time.
 *
 * It knows the layouts that lower.h promises and nothing of how a program is made.  Units
 * follow the program each for itself and meet at semaphores; once loads hurry and stores
 * linger, once the reverse, so that a place that is taken too early shows.  Every product
 * must be computed once, from the elements of a and b that lie where the feeds say; every
 * output must be complete and stored once, from where its sum lies; a core of several does
 * its part.  Small operators only: it keeps a count for each product. */
#ifndef TSR_TESTS_UNIT_LOWER_INTERP_H
#define TSR_TESTS_UNIT_LOWER_INTERP_H

#include "kernels/lower/lower.h"

struct interp_counts {
  uint64_t loads[2], stores, mms;
  uint64_t loaded[2]; /* elements of a, b */
};

struct interp_job {
  const struct tsr_shape *s;
  const struct tsr_mapping *m;
  const struct tsr_layout *layout;
  size_t cores;
  const struct tsr_program *const *program; /* of each core */
  const struct tsr_part *part;              /* likewise; NULL: one core does all */
  bool any_sems; /* semaphores need not come back to what they held */
};

/* NULL when the programs do the operator's work, else what is wrong (static).
 * `counts` may be NULL. */
const char *interp_run(const struct interp_job *j, struct interp_counts *counts);

#endif
