#ifndef TSR_SIM_RUN_RUN_INT_H
#define TSR_SIM_RUN_RUN_INT_H

#include "sim/run/run.h"

/* Numeric figures of a layer on sampled outputs; see sample.c. */
enum tsr_status tsri_run_sample(const struct tsr_machine *m,
                                const struct tsr_run_layer_plan *l, uint64_t layer,
                                uint64_t seed, struct tsr_run_numeric *out,
                                struct tsr_err *err);
/* Formats, rate and matrix unit of every layer are ones that the machine has. */
enum tsr_status tsri_run_check_formats(const struct tsr_machine *m,
                                       struct tsr_run_layer_plan *l, struct tsr_err *err);

#endif
