/* The folds of a mapping and when they run where memory takes no time, recomputed
 * from the mapping's tiles and the formulas of the systolic array alone. */
#ifndef TSR_TESTS_PROP_FOLDS_H
#define TSR_TESTS_PROP_FOLDS_H

#include "tests/prop/cases.h"

struct prop_folds {
  uint64_t folds, requests, results; /* tiles multiplied; tiles of c */
  uint64_t compute_cycles;           /* busy, fill and drain within folds */
  uint64_t end_cycles;               /* with the last drain */
  uint64_t macs;
  uint64_t useful_bytes; /* of a plain matmul: what its loads and stores move */
  /* A buffer is wanted again before its last use is over although memory takes no
   * time: end_cycles is then only a lower bound. */
  bool waits;
};

void prop_folds_of(const struct prop_machine *m, const struct tsr_run_layer_plan *l,
                   struct prop_folds *out);

#endif
