/* What the analytic model (kernels/cost) says of a workload's matmuls and convolutions. */
#ifndef TSR_CMD_RUN_MODEL_H
#define TSR_CMD_RUN_MODEL_H

#include "sim/cmd/cmd.h"
#include "sim/run/run.h"
#include "sim/store/store.h"

/* Appends to *out; with a store, beside the cycles of the events of its `run`. */
enum tsr_status cmd_model_text(struct cmd_ctx *ctx, const struct tsr_run_options *o,
                               struct tsr_store *s, uint64_t run, struct tsr_str *out);
enum tsr_status cmd_model_json(struct cmd_ctx *ctx, const struct tsr_run_options *o,
                               struct tsr_store *s, uint64_t run, struct tsr_str *out);

#endif
