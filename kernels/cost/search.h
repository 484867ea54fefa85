/* A search of mappings by the analytic model.
 *
 * Tiles: of each axis the whole, evenly cut in up to 48 parts that fill the array, and smaller
 * ones where scratchpads want them; of k runs, as the program sums them.  Orders of the loops
 * over groups, m and n; buffers of the scratchpads, the machine's or one more.  A small space
 * is looked at whole, but for what is larger than what does not fit; a large one from its best
 * known place and from random ones on, by steps to neighbours that are better, or, seldom and
 * ever less, worse (threshold accepting).  The same seed finds the same.
 *
 * Units: core cycles.  Ownership: plain values; candidates are the caller's. */
#ifndef TSR_KERNELS_COST_SEARCH_H
#define TSR_KERNELS_COST_SEARCH_H

#include "kernels/cost/cost.h"

enum { TSR_SEARCH_BEST = 10, TSR_SEARCH_SAMPLE = 24 };
struct tsr_candidate {
  struct tsr_mapping mapping;
  struct tsr_cost cost;
};
struct tsr_search {
  size_t n; /* found, the best first; all different */
  struct tsr_candidate best[TSR_SEARCH_BEST];
  size_t n_sample; /* of all that were evaluated, each as likely as any other */
  struct tsr_candidate sample[TSR_SEARCH_SAMPLE];
  uint64_t evaluated; /* mappings that fit */
  bool whole;         /* the space was looked at whole */
};

/* Of a layer divided so; `start` is one that fits (a template's).  TSR_NOMEM. */
enum tsr_status tsr_search_mappings(const struct tsr_shape *s, const struct tsr_split *split,
                                    const struct tsr_target *t, const struct tsr_mapping *start,
                                    uint64_t seed, struct tsr_search *out, struct tsr_err *err);

#endif
