/* Layers by value without a store: operands drawn, programs executed, results compared
 * with the operators' own products. */
#ifndef TSR_TESTS_UNIT_RUN_VALUED_H
#define TSR_TESTS_UNIT_RUN_VALUED_H

#include "tests/unit/run/plans.h"

struct valued {
  uint64_t compared; /* outputs */
  uint64_t cycles;   /* of the last layer to end */
  uint64_t overlap;  /* cycles of all layers together beyond those */
};

/* Runs all layers of a plan as the run library does: also a layer with other work than its
 * own is refused. */
enum tsr_status valued_run(const struct tsr_run_plan *p, uint64_t seed, struct valued *out,
                           struct tsr_err *err);
/* Runs one layer with these programs instead of its own. */
enum tsr_status valued_run_set(const struct tsr_run_plan *p, size_t layer, uint64_t seed,
                               const struct tsr_program_set *set, struct tsr_err *err);

#endif
