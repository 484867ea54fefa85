/* What products of a bound workload need where operands travel in another format than the one
 * in which they are multiplied.
 *
 * Activations travel between operators in the format of results (tile.formats.out; fp16 where
 * that is an integer or has at most 8 bits).  A product whose tile.formats.a or .b is another
 * one has its activations converted by an operator of their own (`copy`), once for all products
 * that read them.  Formats of at most 8 bits are scaled by the largest magnitude ("absmax"): an
 * activation x becomes x / s, s = max|x| / the format's largest finite value, by an operator
 * `quantise`; weights are divided by a scale of each column before the run, a constant A by
 * one scale; the sums of the product are multiplied by both scales by a first step `dequantise`
 * of its epilogue.  The largest magnitudes are those that the double-precision reference sees
 * on the run's own inputs; of values that only the machine has (windows of a 3-D convolution, a
 * recurrent state) those that it made. Operators that say their formats themselves are left as
 * they are. */
#ifndef TSR_SIM_RUN_SCALING_H
#define TSR_SIM_RUN_SCALING_H

#include "sim/run/run.h"
#include "workloads/net/net.h"
#include "workloads/translate/view.h"

/* One product with scales. */
struct tsri_scaled {
  const struct tsr_graph *graph;
  size_t net;
  double a_max, b_max; /* largest finite values of the formats; 0: not scaled */
  bool late_a, late_b; /* the reference lacks the value: its scale comes when it is there */
  size_t a, b;         /* values of the net that are quantised; SIZE_MAX: a weight, or not */
  struct tsr_operand_view weights; /* n_parts 0: B is none */
  struct tsr_operand_view fixed;   /* an A that is constant; n_parts 0: it is none */
  uint64_t groups, k, n;
  struct tsr_array *a_scale,
      *b_scale;                  /* [1], of the quantising operators; NULL: there is none */
  struct tsr_array *ready;       /* weights divided by their scales [groups][k][n] */
  struct tsr_array *fixed_ready; /* the constant A divided by its one scale */
  struct tsr_array *out_scale;   /* [groups][n] */
};

/* The format in which values of models travel on a machine. */
const char *tsri_scaling_wide(const struct tsr_machine *m);
/* Inserts the conversions of a graph and settles the formats that its operators leave open. */
enum tsr_status tsri_scaling_insert(struct tsr_run_plan *p, struct tsr_graph *g,
                                    struct tsr_err *err);
/* Scales of values that the reference lacks, when the operator that quantises one (by this
 * scale) begins; value: the machine's. */
void tsri_scaling_late(const struct tsr_run_plan *p, const struct tsr_graph *g, size_t net,
                       const struct tsr_array *scale, struct tsr_array *const *value);
/* Fills the scales of a net from what its values are. */
enum tsr_status tsri_scaling_fill(const struct tsr_run_plan *p, const struct tsr_graph *g,
                                  size_t net, struct tsr_array *const *ref,
                                  struct tsr_err *err);

#endif
