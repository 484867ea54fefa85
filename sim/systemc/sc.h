/* SystemC from C: simulations, modules, processes, events, fifos, signals,
 * traces and TLM-2.0 blocking transport.
 *
 * Models: nothing.  This is the simulation kernel's C face; SystemC's headers
 * and exceptions stay behind it.
 *
 * Units: time is an unsigned 64-bit number of ticks; one tick is the resolution
 * given to tsr_sc_open, 1 fs unless told otherwise, which reaches 18,446 s.
 *
 * Limits: one simulation is open at a time in a process, used from the OS thread
 * that opened it (SystemC's current context and coroutines are global).  Run
 * several at once in several processes.
 *
 * Order: SystemC does not order what falls into one instant.  Use the engine's
 * agenda where order matters.
 *
 * Ownership: everything made under a simulation belongs to it and is freed by
 * tsr_sc_close, in an order that SystemC can bear.  Names are copied.  A name of
 * NULL gives a generated one.  Pointers are never NULL unless said.
 *
 * Errors: calls that build return enum tsr_status and put the text into err
 * (NULL allowed); outputs stay untouched on failure.  Calls that act while a
 * simulation runs return enum tsr_sc_result: negative is an error, zero is done,
 * positive is an answer.  A process function returns one too: a negative result
 * stops the run, which returns it. */
#ifndef TSR_SIM_SYSTEMC_SC_H
#define TSR_SIM_SYSTEMC_SC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "sim/base/err.h"

/* X(name, value, status, doc) */
#define TSR_SC_RESULT_LIST(X)                                                           \
  X(OK, 0, OK, "done")                                                                  \
  X(STARVED, 1, OK, "no event is left")                                                 \
  X(STOPPED, 2, OK, "stopped by tsr_sc_stop")                                           \
  X(EMPTY, 3, OK, "the fifo is empty")                                                  \
  X(FULL, 4, OK, "the fifo is full")                                                    \
  X(TIMEOUT, 5, OK, "the time ran out before an event came")                            \
  X(ARG, -1, SIM, "a value is out of range")                                            \
  X(STATE, -2, SIM, "not possible in this state of the simulation")                     \
  X(NOMEM, -3, NOMEM, "out of memory")                                                  \
  X(REPORT, -4, SIM, "SystemC reported an error")                                       \
  X(EXCEPTION, -5, SIM, "a C++ exception")                                              \
  X(WRONG_THREAD, -6, SIM, "called from an OS thread that does not own the simulation") \
  X(NOT_A_THREAD, -7, SIM, "a wait outside a thread process")                           \
  X(FAILED, -8, SIM, "a process failed")                                                \
  X(KILLED, -9, SIM, "the process is being killed and must return now")

enum tsr_sc_result {
#define TSR_SC_RESULT_ENUM(name, value, status, doc) TSR_SC_##name = (value),
  TSR_SC_RESULT_LIST(TSR_SC_RESULT_ENUM)
#undef TSR_SC_RESULT_ENUM
};

struct tsr_sc_sim;
struct tsr_sc_module;
struct tsr_sc_event;
struct tsr_sc_proc;
struct tsr_sc_fifo;
struct tsr_sc_signal;
struct tsr_sc_trace;
struct tsr_sc_target;
struct tsr_sc_initiator;

#define TSR_SC_FOREVER UINT64_MAX

/* What SystemC has to say.  Texts are borrowed during the call. */
enum tsr_sc_severity { TSR_SC_INFO, TSR_SC_WARNING, TSR_SC_ERROR, TSR_SC_FATAL };
struct tsr_sc_report {
  enum tsr_sc_severity severity;
  const char *type, *text;
  const char *process; /* NULL outside a process */
  uint64_t time_ticks;
};
typedef void tsr_sc_report_fn(void *arg, const struct tsr_sc_report *report);

struct tsr_sc_options {
  uint64_t resolution_fs;      /* a power of ten; 0: 1 */
  size_t stack_bytes;          /* of a thread process; 0: 64 KiB */
  tsr_sc_report_fn *on_report; /* NULL: reports below an error are dropped */
  void *on_report_arg;
};

/* --- life ------------------------------------------------------------------ */

/* Opens a simulation of its own context (options NULL: defaults).
 * TSR_SIM: one is open already, or the resolution is no power of ten. */
enum tsr_status tsr_sc_open(const struct tsr_sc_options *options, struct tsr_sc_sim **out,
                            struct tsr_err *err);
/* Runs for `ticks` from now, or until starved or stopped (TSR_SC_FOREVER).  Timed
 * events of the last instant itself belong to the next run.
 * OK: the time has passed and events are left.  STARVED: none is left.  STOPPED,
 * and then for ever after.  Negative: the first error, and then for ever after. */
enum tsr_sc_result tsr_sc_run(struct tsr_sc_sim *sim, uint64_t ticks);
/* The run returns STOPPED after the present delta cycle. */
enum tsr_sc_result tsr_sc_stop(struct tsr_sc_sim *sim);
/* The run returns `why` (negative) after the present delta cycle. */
enum tsr_sc_result tsr_sc_fail(struct tsr_sc_sim *sim, enum tsr_sc_result why,
                               const char *text);
/* Ends every process (a waiting thread sees KILLED and returns; threads of foreign
 * modules unwind), calls the functions given to tsr_sc_at_close, frees all.
 * NULL is allowed.  STATE, and nothing is done, from inside a run. */
enum tsr_sc_result tsr_sc_close(struct tsr_sc_sim *sim);
/* Calls fn(arg) in tsr_sc_close once no process runs any more, before anything is
 * freed; last given, first called.  For foreign modules and for objects whose
 * process refers to them. */
typedef void tsr_sc_close_fn(void *arg);
enum tsr_status tsr_sc_at_close(struct tsr_sc_sim *sim, tsr_sc_close_fn *fn, void *arg,
                                struct tsr_err *err);

uint64_t tsr_sc_now(const struct tsr_sc_sim *sim);
uint64_t tsr_sc_deltas(const struct tsr_sc_sim *sim);
/* Time of the next event.  STARVED: there is none, *out untouched. */
enum tsr_sc_result tsr_sc_next_time(const struct tsr_sc_sim *sim, uint64_t *out);
/* Text of the last error (borrowed until the next error). */
const char *tsr_sc_error(const struct tsr_sc_sim *sim);
/* One line about a result (static). */
const char *tsr_sc_result_text(enum tsr_sc_result r);
/* The status of a result; for an error its text goes to err. */
enum tsr_status tsr_sc_status(const struct tsr_sc_sim *sim, enum tsr_sc_result r,
                              struct tsr_err *err);
/* SystemC's version (static). */
const char *tsr_sc_version(void);

/* --- structure: before the first run; events and processes also during it ---- */

/* parent NULL: at the top. */
enum tsr_status tsr_sc_module_new(struct tsr_sc_sim *sim, struct tsr_sc_module *parent,
                                  const char *name, struct tsr_sc_module **out,
                                  struct tsr_err *err);
struct tsr_sc_sim *tsr_sc_module_sim(const struct tsr_sc_module *module);

enum tsr_status tsr_sc_event_new(struct tsr_sc_module *module, const char *name,
                                 struct tsr_sc_event **out, struct tsr_err *err);
/* Frees it early.  No process may be sensitive to it or wait for it. */
void tsr_sc_event_free(struct tsr_sc_event *event);
/* In this evaluation phase.  REPORT before the first run. */
enum tsr_sc_result tsr_sc_notify_now(struct tsr_sc_event *event);
/* After `ticks`; 0: in the next delta cycle.  Of two pending notifications the
 * earlier one stays.  ARG: past the end of time, or a signal's event. */
enum tsr_sc_result tsr_sc_notify_after(struct tsr_sc_event *event, uint64_t ticks);
enum tsr_sc_result tsr_sc_cancel(struct tsr_sc_event *event);

/* --- processes ------------------------------------------------------------- */

typedef enum tsr_sc_result tsr_sc_fn(void *arg);

struct tsr_sc_proc_options {
  size_t stack_bytes; /* threads only; 0: the simulation's default.  Overflow is a
                         segmentation fault on the guard page. */
  bool wait_first;    /* do not run at the start, only when an event calls */
  struct tsr_sc_event *const *sensitive;
  size_t n_sensitive;
};

/* A method runs to its end at each call.  A thread has a stack and may wait.
 * options and out may be NULL. */
enum tsr_status tsr_sc_method_new(struct tsr_sc_module *module, const char *name, tsr_sc_fn *fn,
                                  void *arg, const struct tsr_sc_proc_options *options,
                                  struct tsr_sc_proc **out, struct tsr_err *err);
enum tsr_status tsr_sc_thread_new(struct tsr_sc_module *module, const char *name, tsr_sc_fn *fn,
                                  void *arg, const struct tsr_sc_proc_options *options,
                                  struct tsr_sc_proc **out, struct tsr_err *err);
/* From inside a process only (STATE elsewhere).  KILLED: it killed itself. */
enum tsr_sc_result tsr_sc_kill(struct tsr_sc_proc *proc);

/* In a method: what calls it next, in place of its sensitivity list. */
enum tsr_sc_result tsr_sc_next_after(struct tsr_sc_sim *sim, uint64_t ticks);
enum tsr_sc_result tsr_sc_next_event(struct tsr_sc_sim *sim, struct tsr_sc_event *event);

/* In a thread.  KILLED: free what is held and return. */
enum tsr_sc_result tsr_sc_wait(struct tsr_sc_sim *sim); /* for its sensitivity list */
enum tsr_sc_result tsr_sc_wait_for(struct tsr_sc_sim *sim, uint64_t ticks);
enum tsr_sc_result tsr_sc_wait_event(struct tsr_sc_sim *sim, struct tsr_sc_event *event);
/* TIMEOUT after `ticks`. */
enum tsr_sc_result tsr_sc_wait_event_for(struct tsr_sc_sim *sim, struct tsr_sc_event *event,
                                         uint64_t ticks);
/* For the first of n > 0 events; *which (may be NULL) is its index.  TIMEOUT after
 * `ticks`, never with TSR_SC_FOREVER. */
enum tsr_sc_result tsr_sc_wait_any(struct tsr_sc_sim *sim, struct tsr_sc_event *const *events,
                                   size_t n, uint64_t ticks, size_t *which);

/* --- fifos of 64-bit tokens --------------------------------------------------- */

/* capacity: 1 to INT32_MAX tokens. */
enum tsr_status tsr_sc_fifo_new(struct tsr_sc_module *module, const char *name, size_t capacity,
                                struct tsr_sc_fifo **out, struct tsr_err *err);
/* Block, so in threads only. */
enum tsr_sc_result tsr_sc_fifo_put(struct tsr_sc_fifo *fifo, uint64_t token);
enum tsr_sc_result tsr_sc_fifo_get(struct tsr_sc_fifo *fifo, uint64_t *token);
/* FULL, EMPTY: nothing done. */
enum tsr_sc_result tsr_sc_fifo_try_put(struct tsr_sc_fifo *fifo, uint64_t token);
enum tsr_sc_result tsr_sc_fifo_try_get(struct tsr_sc_fifo *fifo, uint64_t *token);
size_t tsr_sc_fifo_used(const struct tsr_sc_fifo *fifo);
size_t tsr_sc_fifo_free_slots(const struct tsr_sc_fifo *fifo);

/* --- signals and their trace ---------------------------------------------------- */

/* bits: 1 to 64; higher bits of a written value are dropped.  A signal takes its
 * new value at the end of the delta cycle and may have one writing process. */
enum tsr_status tsr_sc_signal_new(struct tsr_sc_module *module, const char *name, unsigned bits,
                                  struct tsr_sc_signal **out, struct tsr_err *err);
enum tsr_sc_result tsr_sc_signal_write(struct tsr_sc_signal *signal, uint64_t value);
uint64_t tsr_sc_signal_read(const struct tsr_sc_signal *signal);
/* The event of a changed value (borrowed; cannot be notified). */
struct tsr_sc_event *tsr_sc_signal_changed(struct tsr_sc_signal *signal);

/* A VCD file, in units of one tick, of the last value in each instant.  `path` ends
 * in ".vcd".  Name parts between dots become scopes.  Complete after
 * tsr_sc_trace_close or tsr_sc_close.  TSR_STORE: cannot be written. */
enum tsr_status tsr_sc_trace_open(struct tsr_sc_sim *sim, const char *path,
                                  struct tsr_sc_trace **out, struct tsr_err *err);
enum tsr_status tsr_sc_trace_signal(struct tsr_sc_trace *trace, struct tsr_sc_signal *signal,
                                    const char *name, struct tsr_err *err);
/* *value (its low `bits`) is read at each instant until the trace is closed. */
enum tsr_status tsr_sc_trace_value(struct tsr_sc_trace *trace, const uint64_t *value,
                                   unsigned bits, const char *name, struct tsr_err *err);
void tsr_sc_trace_close(struct tsr_sc_trace *trace);

/* --- TLM-2.0 blocking transport --------------------------------------------------- */

struct tsr_sc_payload {
  bool write;
  uint64_t address_bytes;
  void *data;
  uint32_t length_bytes;
  void *user; /* for the two ends */
};
/* Serves a request: *delay_ticks grows by what it takes.  Negative refuses it. */
typedef enum tsr_sc_result tsr_sc_transport_fn(void *arg, struct tsr_sc_payload *payload,
                                               uint64_t *delay_ticks);
enum tsr_status tsr_sc_target_new(struct tsr_sc_module *module, const char *name,
                                  tsr_sc_transport_fn *fn, void *arg,
                                  struct tsr_sc_target **out, struct tsr_err *err);
/* An initiator that is bound to nothing fails the first run. */
enum tsr_status tsr_sc_initiator_new(struct tsr_sc_module *module, const char *name,
                                     struct tsr_sc_initiator **out, struct tsr_err *err);
enum tsr_status tsr_sc_bind(struct tsr_sc_initiator *initiator, struct tsr_sc_target *target,
                            struct tsr_err *err);
/* FAILED: the target refused.  KILLED as for a wait. */
enum tsr_sc_result tsr_sc_transport(struct tsr_sc_initiator *initiator,
                                    struct tsr_sc_payload *payload, uint64_t *delay_ticks);

/* --- for a foreign C++ module in the same simulation ---------------------------------
 * Make it between tsr_sc_open and the first run, delete it in a tsr_sc_at_close
 * function.  These give it what its ports and processes connect to (borrowed):
 * a sc_core::sc_event, and a sc_core::sc_signal of bool (1 bit) or of
 * sc_dt::uint64 (more bits). */
const void *tsr_sc_event_native(const struct tsr_sc_event *event);
void *tsr_sc_signal_native(struct tsr_sc_signal *signal);

#ifdef __cplusplus
}
#endif
#endif
