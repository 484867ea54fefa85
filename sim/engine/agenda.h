/* The agenda: what happens next, in an exact order.
 *
 * SystemC does not order simultaneous events; the agenda does: (time, priority,
 * sequence of insertion), smallest first.  It is a heap of ours, pumped by one
 * SystemC method process, so that simulation time is SystemC's time (1 fs ticks)
 * and an empty agenda is the kernel's starvation.
 *
 * An event scheduled for the present instant runs within the same pump, after
 * what is already due at (time, priority).  Scheduling into the past is a bug.
 * Ownership: fn's arg is borrowed until it ran. */
#ifndef TSR_SIM_ENGINE_AGENDA_H
#define TSR_SIM_ENGINE_AGENDA_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/systemc/sc.h"

typedef void tsr_event_fn(void *arg);
struct tsr_agenda;

/* Makes the agenda's method process under `module`. */
enum tsr_status tsr_agenda_create(struct tsr_sc_sim *sim, struct tsr_sc_module *module,
                                  struct tsr_agenda **out, struct tsr_err *err);
/* Before or after the simulation was closed. */
void tsr_agenda_destroy(struct tsr_agenda *a);
/* Runs fn(arg) at time_fs.  Out of memory is remembered: the next pump stops the
 * run with TSR_NOMEM. */
void tsr_agenda_at(struct tsr_agenda *a, uint64_t time_fs, int priority,
                   tsr_event_fn *fn, void *arg);
uint64_t tsr_agenda_now(const struct tsr_agenda *a);    /* fs */
uint64_t tsr_agenda_events(const struct tsr_agenda *a); /* run so far */
bool tsr_agenda_empty(const struct tsr_agenda *a);
/* Stops pumping: the run returns as soon as the present event returns. */
void tsr_agenda_stop(struct tsr_agenda *a, enum tsr_status why);
enum tsr_status tsr_agenda_status(const struct tsr_agenda *a);

#endif
