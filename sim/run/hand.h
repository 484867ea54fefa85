/* Values handed from layer to layer (`--numerics full` on a workload whose operators are bound
 * to the values of a net: workloads/translate/view.h).
 *
 * Holds one array for each value of each net: inputs as the user gave them, else drawn from the
 * seed; constants of the model; results as layers leave them, decoded.  Beside them what the
 * double-precision reference makes of the same inputs (workloads/net), from which scales of
 * narrow formats are taken and against which every result is held.
 * Units: elements.  Ownership: the plan and its nets are borrowed.
 * Errors: TSR_INPUT for inputs that the model has not, or of other shapes. */
#ifndef TSR_SIM_RUN_HAND_H
#define TSR_SIM_RUN_HAND_H

#include "kernels/check/check.h"
#include "sim/run/run.h"
#include "workloads/net/net.h"
#include "workloads/translate/view.h"

/* Operands of a layer, and its results. */
enum {
  TSRI_HAND_A,
  TSRI_HAND_B,
  TSRI_HAND_STEP, /* and on: second operands of the epilogue */
  TSRI_HAND_OPERANDS = TSRI_HAND_STEP + TSR_EPILOGUE_MAX
};

/* The elements of an operand from constants and given arrays (by value): its parts side by
 * side, or (`apart`) one behind the other. */
enum tsr_status tsri_hand_gather(const struct tsr_net *net, struct tsr_array *const *value,
                                 const struct tsr_operand_view *v, bool apart, double *to,
                                 struct tsr_err *err);

struct tsri_hand;
/* *out stays NULL where no workload of the plan is bound to a net. */
enum tsr_status tsri_hand_create(const struct tsr_run_plan *p, uint64_t seed,
                                 struct tsri_hand **out, struct tsr_err *err);
void tsri_hand_destroy(struct tsri_hand *h); /* NULL is allowed */

/* Gives an input of a net its values (transferred also on failure); before its first layer
 * begins.  TSR_INPUT where the shape is another. */
enum tsr_status tsri_hand_give(struct tsri_hand *h, size_t graph, size_t net, size_t value,
                               struct tsr_array *array, struct tsr_err *err);
/* The same for the reference alone, where it goes on from values of its own. */
enum tsr_status tsri_hand_refer(struct tsri_hand *h, size_t graph, size_t net, size_t value,
                                struct tsr_array *array, struct tsr_err *err);
/* Whether this is the first layer of its net to begin, and of which. */
bool tsri_hand_fresh(const struct tsri_hand *h, size_t layer, size_t *graph, size_t *net);
/* Before a layer begins: the reference of its net is there, and scales. */
enum tsr_status tsri_hand_begin(struct tsri_hand *h, size_t layer, struct tsr_err *err);
/* Whether an operand is bound; NULL h: none is. */
bool tsri_hand_has(const struct tsri_hand *h, size_t layer, int operand);
/* The n elements of a bound operand in format f: codes of tsr_gemm_code_bytes(f) each, and
 * (where it is not NULL) what they were quantised from. */
enum tsr_status tsri_hand_take(struct tsri_hand *h, size_t layer, int operand,
                               const struct tsr_format *f, uint64_t n, void *codes, float *from,
                               struct tsr_err *err);
/* The n results of a layer, codes of f in `elem` bytes each; `columns`: those of a second
 * result.  Holds them against the reference in *check, where there is one (*held). */
enum tsr_status tsri_hand_put(struct tsri_hand *h, size_t layer, bool columns,
                              const struct tsr_format *f, uint32_t elem, uint64_t n,
                              const uint8_t *codes, struct tsr_check *check, bool *held,
                              struct tsr_err *err);
/* Adds a result in f to a check of f: the code, and what it should have been. */
void tsri_hand_add(struct tsr_check *check, const struct tsr_format *f, double exact,
                   uint64_t code);
/* What such a check says, as a row `network` of figures. */
enum tsr_status tsri_hand_row(const struct tsr_check *check, struct tsr_arena *arena,
                              struct tsr_run_numeric *out, struct tsr_err *err);
/* Whether results of the layer go anywhere. */
bool tsri_hand_keeps(const struct tsri_hand *h, size_t layer, bool columns);
/* Whether this is the last layer of its net at work. */
bool tsri_hand_last(const struct tsri_hand *h, size_t layer, size_t *graph, size_t *net);
/* When its last layer is done: the values of a net that are no outputs and not asked for are
 * freed. */
void tsri_hand_end(struct tsri_hand *h, size_t layer);

/* Frees all values of a net that is done, wanted ones too. */
void tsri_hand_release(struct tsri_hand *h, size_t graph, size_t net);

/* A value that is wanted after its net is done. */
void tsri_hand_want(struct tsri_hand *h, size_t graph, size_t net, size_t value);
/* A value of a net by number, as the machine left it, and as the reference has it; NULL: not
 * there (borrowed). */
const struct tsr_array *tsri_hand_value(const struct tsri_hand *h, size_t graph, size_t net,
                                        size_t value);
const struct tsr_array *tsri_hand_reference(const struct tsri_hand *h, size_t graph, size_t net,
                                            size_t value);

#endif
