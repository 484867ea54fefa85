/* What the files of the machine graph share. */
#ifndef TSR_SIM_ENGINE_MACHINE_INT_H
#define TSR_SIM_ENGINE_MACHINE_INT_H

#include "sim/engine/machine.h"

/* Reads tile.rates.rules into m; `node` (may be NULL) is where it stands. */
enum tsr_status tsri_rates_read(struct tsr_machine *m, const char *text,
                                const struct tsr_node *node, struct tsr_err *err);

#endif
