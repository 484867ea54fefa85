/* Shared by the files of sim/base. */
#ifndef TSR_SIM_BASE_BASE_INT_H
#define TSR_SIM_BASE_BASE_INT_H

#include <stdbool.h>

/* Counts one allocation; true when the fault shim wants it to fail. */
bool tsri_mem_fail_now(void);

#endif
