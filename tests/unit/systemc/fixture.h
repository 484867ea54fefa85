/* A simulation with a module and three events, for the tests of sim/systemc.
 *
 * A cmocka assert jumps; inside a thread process that would cross stacks.
 * Processes write down what they see, test bodies assert. */
#ifndef TSR_TESTS_UNIT_SYSTEMC_FIXTURE_H
#define TSR_TESTS_UNIT_SYSTEMC_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/systemc/sc.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct world {
  struct tsr_sc_sim *sim;
  struct tsr_sc_module *top;
  struct tsr_sc_event *a, *b, *c;
  struct tsr_sc_proc *victim;
  struct tsr_sc_fifo *fifo;
  struct tsr_sc_signal *bit, *word;
  struct tsr_sc_initiator *initiator;
  uint64_t n, sum, log[64];
  size_t logged;
  enum tsr_sc_result seen;
  int errors_reported;
};

static inline void note(struct world *w, uint64_t value) {
  if (w->logged < COUNT(w->log)) w->log[w->logged++] = value;
}

static inline void count_report(void *arg, const struct tsr_sc_report *report) {
  struct world *w = arg;
  w->errors_reported += report->severity >= TSR_SC_ERROR;
}

static inline void open_world(struct world *w) {
  memset(w, 0, sizeof *w);
  struct tsr_sc_options options = {.on_report = count_report, .on_report_arg = w};
  assert_int_equal(tsr_sc_open(&options, &w->sim, NULL), TSR_OK);
  assert_int_equal(tsr_sc_module_new(w->sim, NULL, "top", &w->top, NULL), TSR_OK);
  assert_int_equal(tsr_sc_event_new(w->top, "a", &w->a, NULL), TSR_OK);
  assert_int_equal(tsr_sc_event_new(w->top, "b", &w->b, NULL), TSR_OK);
  assert_int_equal(tsr_sc_event_new(w->top, NULL, &w->c, NULL), TSR_OK);
}

static inline void close_world(struct world *w) {
  assert_int_equal(tsr_sc_close(w->sim), TSR_SC_OK);
}

static inline void add_thread(struct world *w, const char *name, tsr_sc_fn *fn) {
  assert_int_equal(tsr_sc_thread_new(w->top, name, fn, w, NULL, NULL, NULL), TSR_OK);
}

static inline void add_method(struct world *w, const char *name, tsr_sc_fn *fn) {
  assert_int_equal(tsr_sc_method_new(w->top, name, fn, w, NULL, NULL, NULL), TSR_OK);
}

/* Processes that several tests use. */

static inline enum tsr_sc_result tick_ten_times(void *arg) {
  struct world *w = arg;
  return ++w->n < 10 ? tsr_sc_next_after(w->sim, 1000) : TSR_SC_OK;
}

static inline enum tsr_sc_result wait_until_killed(void *arg) {
  struct world *w = arg;
  enum tsr_sc_result r;
  while ((r = tsr_sc_wait_for(w->sim, 10)) == TSR_SC_OK) w->n++;
  w->seen = r;
  note(w, (uint64_t)-tsr_sc_wait_for(w->sim, 1)); /* waits no more */
  return TSR_SC_OK;
}

static inline enum tsr_sc_result put_hundred(void *arg) {
  struct world *w = arg;
  for (uint64_t i = 1; i <= 100; i++) {
    enum tsr_sc_result r = tsr_sc_fifo_put(w->fifo, i);
    if (r < 0) return r;
  }
  return TSR_SC_OK;
}

static inline enum tsr_sc_result get_hundred(void *arg) {
  struct world *w = arg;
  for (uint64_t i = 0; i < 100; i++) {
    uint64_t v = 0;
    enum tsr_sc_result r = tsr_sc_fifo_get(w->fifo, &v);
    if (r < 0) return r;
    w->sum += v;
    if (i % 10 == 0 && (r = tsr_sc_wait_for(w->sim, 3)) < 0) return r;
  }
  return TSR_SC_OK;
}

#endif
