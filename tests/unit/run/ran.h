/* Runs made as `tessera run` makes them, and figures out of their store. */
#ifndef TSR_TESTS_UNIT_RUN_RAN_H
#define TSR_TESTS_UNIT_RUN_RAN_H

#include "sim/run/run.h"

struct ran {
  char dir[64];
  struct tsr_store *store;
};

enum { RAN_SETS = 16 };
/* Makes run 1 of a new store; `sets` ends with NULL.  A failure is the caller's to judge. */
enum tsr_status ran_try(struct ran *r, const char *arch, const char *workload,
                        const char *const *sets, enum tsr_numerics numerics,
                        struct tsr_err *err);
/* The same of options; `sets` ends with NULL, seed, trace and version are filled in. */
enum tsr_status ran_options(struct ran *r, struct tsr_run_options *o, struct tsr_err *err);
/* The same under the mappings of a file of this text; NULL: the best that are found. */
enum tsr_status ran_mapped(struct ran *r, const char *arch, const char *workload,
                           const char *const *sets, const char *mapping,
                           enum tsr_numerics numerics, struct tsr_err *err);
/* As ran_try; fails the test when the run does, also when values differ. */
void ran_make(struct ran *r, const char *arch, const char *workload, const char *const *sets,
              enum tsr_numerics numerics);
/* The number that a query gives; 0 for no row or NULL. */
double ran_number(struct ran *r, const char *sql);
void ran_fini(struct ran *r);

#endif
