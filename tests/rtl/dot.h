/* Drives dot_tile.sv by its handshakes and tells when those came.
 *
 * Cycles count from that in which the first operands are offered; operands and results
 * are those of rtl.h.  A request's results are cut into
 * blocks, blocks into folds, as tile.dot has it; which operands a beat brings follows
 * from what the tile's registers hold.  Between requests sums are in the bench: one that
 * is not `first` goes on with the results of the request before it, of the same m and n,
 * and its first step is offered when those have been taken.
 * Errors: the bench ends the program when the tile stands still for good. */
#ifndef TSR_TESTS_RTL_DOT_H
#define TSR_TESTS_RTL_DOT_H

#include "tests/rtl/rtl.h"

#ifdef __cplusplus
extern "C" {
#endif

enum dot_keep { DOT_KEEP_A, DOT_KEEP_B, DOT_KEEP_NONE };

struct dot_config {
  enum dot_keep keep;
  bool forward;
  uint64_t accumulators; /* at most dot_accumulators */
  uint64_t lanes;        /* operands of a beat; 0: all of a step */
};

/* Sizes of the tile that was built. */
extern const uint64_t dot_m, dot_n, dot_k, dot_depth, dot_accumulators;

/* As rtl_run; the beats of a fold are its steps. */
size_t dot_run(const struct dot_config *x, bool fp, struct rtl_mm *mm, size_t n,
               struct rtl_fold *folds, size_t cap);

#ifdef __cplusplus
}
#endif
#endif
