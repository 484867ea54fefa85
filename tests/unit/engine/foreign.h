/* A SystemC module written in C++, seen from a C test: it stands for verilated RTL
 * or any other foreign model in the same simulation. */
#ifndef TSR_TESTS_UNIT_ENGINE_FOREIGN_H
#define TSR_TESTS_UNIT_ENGINE_FOREIGN_H

#include "sim/systemc/sc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct foreign;

/* What it asks of the unit at the other side. */
typedef void foreign_ask_fn(void *arg, uint64_t request);

/* An SC_MODULE with an SC_THREAD: five times it waits 100 ticks, asks, waits for
 * `done`, and reads `result`; then it waits for ever. */
struct foreign *foreign_create(const char *name, struct tsr_sc_event *done,
                               struct tsr_sc_signal *result, foreign_ask_fn *ask, void *arg);
/* Sum of what it read, and the time of the last answer. */
uint64_t foreign_sum(const struct foreign *f);
uint64_t foreign_last_time(const struct foreign *f);
/* Threads that unwound (at a close) since the start of the program. */
int foreign_unwound(void);
void foreign_destroy(void *f); /* a tsr_sc_close_fn */

#ifdef __cplusplus
}
#endif
#endif
