/* Diagnostics and progress, always to standard error.  Only sim/cmd sets the
 * sink; below it, code reports through here and never prints. */
#ifndef TSR_SIM_BASE_LOG_H
#define TSR_SIM_BASE_LOG_H

#include <stdint.h>

/* Receives one line without a newline. */
typedef void tsr_log_fn(void *arg, const char *line);
void tsr_log_sink(tsr_log_fn *fn, void *arg);
/* A note for the user (no effect without a sink). */
void tsr_log_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Progress: done of total steps of `what`; total 0 ends the display. */
typedef void tsr_progress_fn(void *arg, const char *what, uint64_t done, uint64_t total);
void tsr_progress_sink(tsr_progress_fn *fn, void *arg);
void tsr_progress(const char *what, uint64_t done, uint64_t total);

/* Set by the signal handler of sim/cmd; long loops look at it. */
extern volatile int tsr_interrupted;

#endif
