/* Plans without a store, for tests that run the engine themselves. */
#ifndef TSR_TESTS_UNIT_RUN_PLANS_H
#define TSR_TESTS_UNIT_RUN_PLANS_H

#include "tests/support/layers.h"

/* A plan on a preset with some keys set (ends with NULL); fails the test. */
void plan_make(struct tsr_run_plan *p, const char *arch, const char *workload,
               const char *const *sets);
/* Runs one layer on a fresh engine. */
enum tsr_status plan_run(const struct tsr_run_plan *p, size_t layer, struct layer *out,
                         struct tsr_err *err);
/* The same with other programs than the lowered ones. */
enum tsr_status plan_run_set(const struct tsr_run_plan *p, size_t layer,
                             const struct tsr_program_set *set, struct layer *out,
                             struct tsr_err *err);

#endif
