#ifndef TSR_SIM_RUN_RUN_INT_H
#define TSR_SIM_RUN_RUN_INT_H

#include "kernels/check/check.h"
#include "kernels/check/draw.h"
#include "models/arith/mma.h"
#include "sim/run/operand.h"
#include "sim/run/run.h"

/* Numeric figures of a layer on sampled outputs; see sample.c. */
enum tsr_status tsri_run_sample(const struct tsr_machine *m, const struct tsr_run_layer_plan *l,
                                uint64_t layer, uint64_t seed, struct tsr_run_numeric *out,
                                struct tsr_err *err);

/* What whole layers share: tables of drawn values, of the formats used last. */
struct tsri_tables {
  struct tsr_draw_table *a, *b;
};
void tsri_tables_fini(struct tsri_tables *t);

/* Numeric figures of a whole layer; see full.c.  *rows, *n: arena-owned. */
enum tsr_status tsri_run_full(const struct tsr_machine *m, const struct tsr_run_layer_plan *l,
                              uint64_t layer, uint64_t seed, struct tsri_tables *tables,
                              struct tsr_arena *arena, const struct tsr_run_numeric **rows,
                              size_t *n, struct tsr_err *err);

/* The running accumulator of the sampled outputs at points along K; see trace.c. */
enum { TSRI_TRACE_POINTS = 8 };
struct tsri_trace_point {
  uint64_t from, to;          /* [from, to): this range; the accumulator stands at `to` */
  struct tsr_check held, own; /* what is held there, and what the range itself lost */
  struct tsr_mma_stats stats; /* of the range */
};
struct tsri_trace {
  size_t n;
  struct tsri_trace_point point[TSRI_TRACE_POINTS];
};
enum tsr_status tsri_run_trace(const struct tsri_operands *o, struct tsri_trace *out,
                               struct tsr_err *err);

/* The ends of the program's K ranges of a layer (owned by the caller, tsr_mem_free). */
enum tsr_status tsri_run_cuts(const struct tsr_run_layer_plan *l, size_t **cuts, size_t *n,
                              struct tsr_err *err);
/* A row of figures; hist: TSR_CHECK_BINS counts or NULL. */
void tsri_run_numeric_row(const struct tsr_check *c, const char *tensor, uint64_t k_from,
                          uint64_t k_to, const uint64_t *hist, struct tsr_run_numeric *out);
/* Adds what the units counted; NULL: nobody did, and the row says so. */
void tsri_run_numeric_stats(const struct tsr_mma_stats *s, struct tsr_run_numeric *out);

#endif
