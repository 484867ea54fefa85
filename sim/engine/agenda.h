/* The agenda: what happens next, in an exact order.
 *
 * SystemC does not order simultaneous events; the agenda does: (time, priority,
 * sequence of insertion), smallest first.  It is a heap of ours, pumped by one
 * SystemC method process, so that simulation time is SystemC's time (1 fs ticks)
 * and an empty agenda is the kernel's starvation.
 *
 * An event scheduled for the present instant runs within the same pump, after
 * what is already due at (time, priority).  One scheduled from outside the pump
 * (another process, or before the run) wakes the pump in time.  Scheduling into
 * the past is a bug.
 * Ownership: fn's arg is borrowed until it ran. */
#ifndef TSR_SIM_ENGINE_AGENDA_H
#define TSR_SIM_ENGINE_AGENDA_H

#include <stdbool.h>
#include <stdint.h>

#include "models/visit.h"
#include "sim/base/err.h"
#include "sim/systemc/sc.h"

typedef void tsr_event_fn(void *arg);
struct tsr_agenda;

enum { TSR_PRIORITY_MIN = -32768, TSR_PRIORITY_MAX = 32767 };

/* Makes the agenda's method process under `module`. */
enum tsr_status tsr_agenda_create(struct tsr_sc_sim *sim, struct tsr_sc_module *module,
                                  struct tsr_agenda **out, struct tsr_err *err);
/* Before or after the simulation was closed.  Events that did not run are dropped. */
void tsr_agenda_destroy(struct tsr_agenda *a);
/* Runs fn(arg) at time_fs.  priority: TSR_PRIORITY_MIN to _MAX.  Out of memory
 * stops the run, like tsr_agenda_stop(a, TSR_NOMEM). */
void tsr_agenda_at(struct tsr_agenda *a, uint64_t time_fs, int priority, tsr_event_fn *fn,
                   void *arg);
uint64_t tsr_agenda_now(const struct tsr_agenda *a);    /* fs */
uint64_t tsr_agenda_events(const struct tsr_agenda *a); /* run so far, or accounted for */
uint64_t tsr_agenda_ran(const struct tsr_agenda *a);    /* of those, run */
/* Calls fn(arg) behind the last event of an instant; NULL: nobody. */
void tsr_agenda_settled(struct tsr_agenda *a, tsr_event_fn *fn, void *arg);
/* What is to come, at that point: instants and, in order, what they run.  A visit that
 * advances moves the present instant too. */
void tsr_agenda_visit(struct tsr_agenda *a, struct tsr_visit *v);
bool tsr_agenda_empty(const struct tsr_agenda *a);
/* Stops pumping: the run returns STOPPED as soon as the present event returns.  The
 * first `why` that is not TSR_OK stays. */
void tsr_agenda_stop(struct tsr_agenda *a, enum tsr_status why);
enum tsr_status tsr_agenda_status(const struct tsr_agenda *a);

#endif
