/* Life of a simulation, processes, waits, errors. */
#include "tests/unit/systemc/fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/mem.h"

static void a_method_calls_itself_until_starved(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  add_method(&w, "tick", tick_ten_times);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  assert_int_equal(w.n, 10);
  assert_int_equal(tsr_sc_now(w.sim), 9000);
  close_world(&w);
}

static enum tsr_sc_result on_event_b(void *arg) {
  struct world *w = arg;
  note(w, tsr_sc_now(w->sim));
  return w->logged == 1 ? tsr_sc_next_event(w->sim, w->a) : TSR_SC_OK;
}

static void a_method_waits_for_its_list_and_for_a_chosen_event(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  struct tsr_sc_proc_options options = {
      .wait_first = true, .sensitive = &w.b, .n_sensitive = 1};
  assert_int_equal(tsr_sc_method_new(w.top, NULL, on_event_b, &w, &options, NULL, NULL),
                   TSR_OK);
  tsr_sc_notify_after(w.b, 5);
  assert_int_equal(tsr_sc_run(w.sim, 10), TSR_SC_STARVED);
  tsr_sc_notify_after(w.b, 1); /* not heard: it waits for a */
  tsr_sc_notify_after(w.a, 7);
  assert_int_equal(tsr_sc_run(w.sim, 10), TSR_SC_STARVED);
  tsr_sc_notify_after(w.b, 2); /* heard again */
  assert_int_equal(tsr_sc_run(w.sim, 10), TSR_SC_STARVED);
  const uint64_t want[] = {5, 17, 22};
  assert_int_equal(w.logged, COUNT(want));
  assert_memory_equal(w.log, want, sizeof want);
  close_world(&w);
}

/* Each step waits one way; the log holds (result, time, index) of each. */
static enum tsr_sc_result wait_all_ways(void *arg) {
  struct world *w = arg;
  struct tsr_sc_event *all[] = {w->a, w->b, w->c};
  size_t which = 99;
  note(w, tsr_sc_wait_for(w->sim, 5));
  note(w, tsr_sc_now(w->sim));
  tsr_sc_notify_after(w->a, 7);
  note(w, tsr_sc_wait_event(w->sim, w->a));
  note(w, tsr_sc_now(w->sim));
  tsr_sc_notify_after(w->b, 9);
  tsr_sc_notify_after(w->c, 4);
  note(w, tsr_sc_wait_any(w->sim, all, 3, TSR_SC_FOREVER, &which));
  note(w, tsr_sc_now(w->sim) + 1000 * which);
  note(w, tsr_sc_wait_event_for(w->sim, w->a, 3));
  note(w, tsr_sc_now(w->sim));
  tsr_sc_notify_after(w->a, 0);
  note(w, tsr_sc_wait_event(w->sim, w->a));
  note(w, tsr_sc_now(w->sim));
  note(w, tsr_sc_wait_any(w->sim, all, 3, 100, NULL));
  note(w, tsr_sc_now(w->sim));
  tsr_sc_notify_after(w->a, 3);
  tsr_sc_cancel(w->a);
  note(w, tsr_sc_wait_event_for(w->sim, w->a, 10));
  note(w, tsr_sc_now(w->sim));
  tsr_sc_notify_after(w->b, 6);
  note(w, tsr_sc_wait(w->sim)); /* its list is b */
  note(w, tsr_sc_now(w->sim));
  return TSR_SC_OK;
}

static void a_thread_waits_in_every_way(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  struct tsr_sc_proc_options options = {.sensitive = &w.b, .n_sensitive = 1};
  assert_int_equal(tsr_sc_thread_new(w.top, "t", wait_all_ways, &w, &options, NULL, NULL),
                   TSR_OK);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  const uint64_t want[] = {TSR_SC_OK,      5,  TSR_SC_OK, 12, TSR_SC_OK, 2016,
                           TSR_SC_TIMEOUT, 19, TSR_SC_OK, 19, TSR_SC_OK, 21,
                           TSR_SC_TIMEOUT, 31, TSR_SC_OK, 37};
  assert_int_equal(w.logged, COUNT(want));
  assert_memory_equal(w.log, want, sizeof want);
  close_world(&w);
}

static enum tsr_sc_result wait_a_note_delta(void *arg) {
  struct world *w = arg;
  tsr_sc_wait_event(w->sim, w->a);
  note(w, tsr_sc_deltas(w->sim));
  return TSR_SC_OK;
}

static enum tsr_sc_result notify_a_now(void *arg) {
  struct world *w = arg;
  tsr_sc_wait_for(w->sim, 1);
  note(w, tsr_sc_deltas(w->sim));
  return tsr_sc_notify_now(w->a);
}

static void an_immediate_notification_wakes_in_the_same_delta(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  add_thread(&w, "waiter", wait_a_note_delta);
  add_thread(&w, "notifier", notify_a_now);
  tsr_sc_run(w.sim, TSR_SC_FOREVER);
  assert_int_equal(w.logged, 2);
  assert_int_equal(w.log[0], w.log[1]);
  close_world(&w);
}

static enum tsr_sc_result kill_after_35(void *arg) {
  struct world *w = arg;
  tsr_sc_wait_for(w->sim, 35);
  enum tsr_sc_result r = tsr_sc_kill(w->victim);
  note(w, (uint64_t)tsr_sc_wait_for(w->sim, 1)); /* still itself, alive */
  note(w, (uint64_t)tsr_sc_kill(w->victim));     /* dead already: done */
  return r;
}

static void a_kill_lets_the_c_function_return(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  assert_int_equal(tsr_sc_thread_new(w.top, "v", wait_until_killed, &w, NULL, &w.victim, NULL),
                   TSR_OK);
  add_thread(&w, "killer", kill_after_35);
  assert_int_equal(tsr_sc_kill(w.victim), TSR_SC_STATE); /* outside a process */
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  assert_int_equal(w.seen, TSR_SC_KILLED);
  assert_int_equal(w.n, 3);
  const uint64_t want[] = {(uint64_t)-TSR_SC_KILLED, TSR_SC_OK, TSR_SC_OK};
  assert_int_equal(w.logged, COUNT(want));
  assert_memory_equal(w.log, want, sizeof want);
  close_world(&w);
}

static enum tsr_sc_result kill_self(void *arg) {
  struct world *w = arg;
  tsr_sc_wait_for(w->sim, 4);
  w->seen = tsr_sc_kill(w->victim);
  return TSR_SC_FAILED; /* not heard: the process is dead */
}

static void a_process_may_kill_itself(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  assert_int_equal(tsr_sc_thread_new(w.top, "v", kill_self, &w, NULL, &w.victim, NULL), TSR_OK);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  assert_int_equal(w.seen, TSR_SC_KILLED);
  close_world(&w);
}

static void a_close_ends_waiting_threads_first(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  add_thread(&w, "v", wait_until_killed);
  assert_int_equal(tsr_sc_run(w.sim, 25), TSR_SC_OK);
  assert_int_equal(w.seen, TSR_SC_OK);
  close_world(&w);
  assert_int_equal(w.seen, TSR_SC_KILLED);
  assert_int_equal(w.n, 2);
}

static enum tsr_sc_result stop_at_50(void *arg) {
  struct world *w = arg;
  tsr_sc_wait_for(w->sim, 50);
  w->seen = tsr_sc_close(w->sim); /* refused from inside a run */
  return tsr_sc_stop(w->sim);
}

static void a_run_goes_by_pieces_and_stops(void **state) {
  (void)state;
  struct world w;
  uint64_t next = 0;
  open_world(&w);
  add_method(&w, "tick", tick_ten_times);
  assert_int_equal(tsr_sc_run(w.sim, 2500), TSR_SC_OK);
  assert_int_equal(w.n, 3);
  assert_int_equal(tsr_sc_now(w.sim), 2500);
  assert_int_equal(tsr_sc_next_time(w.sim, &next), TSR_SC_OK);
  assert_int_equal(next, 3000);
  assert_int_equal(tsr_sc_run(w.sim, 500), TSR_SC_OK);
  assert_int_equal(w.n, 3); /* the instant where a run ends belongs to the next */
  assert_int_equal(tsr_sc_run(w.sim, 1), TSR_SC_OK);
  assert_int_equal(w.n, 4);
  assert_int_equal(tsr_sc_run(w.sim, UINT64_MAX - 1), TSR_SC_ARG); /* past the end of time */
  close_world(&w);

  open_world(&w);
  add_thread(&w, "stopper", stop_at_50);
  add_method(&w, "tick", tick_ten_times);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STOPPED);
  assert_int_equal(tsr_sc_now(w.sim), 50);
  assert_int_equal(w.seen, TSR_SC_STATE);
  assert_int_equal(tsr_sc_run(w.sim, 5), TSR_SC_STOPPED);
  close_world(&w);
}

static void an_empty_simulation_is_starved(void **state) {
  (void)state;
  struct world w;
  uint64_t next = 77;
  open_world(&w);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  assert_int_equal(tsr_sc_next_time(w.sim, &next), TSR_SC_STARVED);
  assert_int_equal(next, 77);
  assert_int_equal(tsr_sc_run(w.sim, 12), TSR_SC_STARVED);
  assert_int_equal(tsr_sc_now(w.sim), 12);
  close_world(&w);
}

static enum tsr_sc_result wait_then_fail(void *arg) {
  struct world *w = arg;
  tsr_sc_wait_for(w->sim, 1);
  return TSR_SC_FAILED;
}

static enum tsr_sc_result method_that_waits(void *arg) {
  struct world *w = arg;
  return tsr_sc_wait_for(w->sim, 1);
}

static enum tsr_sc_result thread_that_retriggers(void *arg) {
  struct world *w = arg;
  return tsr_sc_next_after(w->sim, 1);
}

static enum tsr_sc_result fail_with_text(void *arg) {
  struct world *w = arg;
  tsr_sc_fail(w->sim, TSR_SC_FAILED, "bank 3 is on fire");
  return TSR_SC_OK;
}

static void an_error_of_a_process_ends_the_run(void **state) {
  (void)state;
  static const struct {
    const char *name;
    tsr_sc_fn *fn;
    bool thread;
    enum tsr_sc_result want;
    const char *text;
  } row[] = {
      {"fails", wait_then_fail, true, TSR_SC_FAILED, "process top.fails: a process failed"},
      {"waits", method_that_waits, false, TSR_SC_NOT_A_THREAD, "a wait outside a thread"},
      {"retriggers", thread_that_retriggers, true, TSR_SC_REPORT, "process top.retriggers: "},
      {"says", fail_with_text, false, TSR_SC_FAILED, "bank 3 is on fire"},
  };
  for (size_t i = 0; i < COUNT(row); i++) {
    struct world w;
    struct tsr_err err = TSR_ERR_INIT;
    open_world(&w);
    (row[i].thread ? add_thread : add_method)(&w, row[i].name, row[i].fn);
    assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), row[i].want);
    assert_non_null(strstr(tsr_sc_error(w.sim), row[i].text));
    assert_int_equal(tsr_sc_run(w.sim, 5), row[i].want);
    assert_int_equal(tsr_sc_status(w.sim, row[i].want, &err), TSR_SIM);
    assert_int_equal(err.n, 1);
    assert_non_null(strstr(err.msg[0], row[i].text));
    tsr_err_fini(&err);
    close_world(&w);
  }
}

static void what_systemc_reports_becomes_a_result(void **state) {
  (void)state;
  struct world w;
  struct tsr_sc_initiator *unbound;
  struct tsr_sc_module *late;
  struct tsr_err err = TSR_ERR_INIT;
  open_world(&w);
  assert_int_equal(tsr_sc_notify_now(w.a), TSR_SC_REPORT); /* before the first run */
  assert_non_null(strstr(tsr_sc_error(w.sim), "immediate notification"));
  assert_int_equal(w.errors_reported, 1);
  assert_int_equal(tsr_sc_wait_for(w.sim, 1), TSR_SC_NOT_A_THREAD);
  assert_int_equal(tsr_sc_initiator_new(w.top, "i", &unbound, NULL), TSR_OK);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_REPORT);
  assert_non_null(strstr(tsr_sc_error(w.sim), "port not bound"));
  close_world(&w);

  open_world(&w);
  tsr_sc_run(w.sim, 10);
  assert_int_equal(tsr_sc_module_new(w.sim, NULL, "late", &late, &err), TSR_SIM);
  assert_int_equal(err.n, 1);
  assert_non_null(strstr(err.msg[0], "SystemC: "));
  tsr_err_fini(&err);
  close_world(&w);
}

static void values_out_of_range_are_refused(void **state) {
  (void)state;
  struct world w;
  struct tsr_sc_fifo *fifo = NULL;
  struct tsr_sc_signal *signal = NULL;
  struct tsr_sc_sim *other = NULL;
  open_world(&w);
  assert_int_equal(tsr_sc_open(NULL, &other, NULL), TSR_SIM); /* one is open */
  assert_null(other);
  assert_int_equal(tsr_sc_fifo_new(w.top, "f", 0, &fifo, NULL), TSR_SIM);
  assert_int_equal(tsr_sc_fifo_new(w.top, "f", (size_t)INT32_MAX + 1, &fifo, NULL), TSR_SIM);
  assert_int_equal(tsr_sc_signal_new(w.top, "s", 0, &signal, NULL), TSR_SIM);
  assert_int_equal(tsr_sc_signal_new(w.top, "s", 65, &signal, NULL), TSR_SIM);
  assert_null(fifo);
  assert_null(signal);
  assert_int_equal(tsr_sc_fail(w.sim, TSR_SC_OK, "?"), TSR_SC_ARG);
  tsr_sc_run(w.sim, 10);
  assert_int_equal(tsr_sc_notify_after(w.a, UINT64_MAX - 9), TSR_SC_ARG);
  assert_int_equal(tsr_sc_notify_after(w.a, UINT64_MAX - 10), TSR_SC_OK);
  close_world(&w);
  struct tsr_sc_options odd = {.resolution_fs = 3};
  assert_int_equal(tsr_sc_open(&odd, &other, NULL), TSR_SIM);
  open_world(&w); /* the failed open left nothing behind */
  close_world(&w);
}

static void *run_elsewhere(void *arg) {
  struct world *w = arg;
  w->seen = tsr_sc_run(w->sim, 5);
  return NULL;
}

static void another_os_thread_is_refused(void **state) {
  (void)state;
  struct world w;
  pthread_t thread;
  open_world(&w);
  assert_int_equal(pthread_create(&thread, NULL, run_elsewhere, &w), 0);
  pthread_join(thread, NULL);
  assert_int_equal(w.seen, TSR_SC_WRONG_THREAD);
  close_world(&w);
}

static void a_forked_child_continues_the_run(void **state) {
  (void)state;
  struct world w;
  int status = -1;
  open_world(&w);
  add_thread(&w, "v", wait_until_killed);
  assert_int_equal(tsr_sc_run(w.sim, 105), TSR_SC_OK);
  pid_t child = fork();
  if (child == 0) {
    tsr_sc_run(w.sim, 1000);
    _exit(w.n == 110 ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(tsr_sc_run(w.sim, 100), TSR_SC_OK);
  assert_int_equal(w.n, 20);
  close_world(&w);
}

static void push_hook(void *arg) {
  struct world *w = arg;
  note(w, w->logged + 10 * (uint64_t)(w->seen == TSR_SC_KILLED));
}

static void close_functions_run_after_the_threads_ended(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  add_thread(&w, "v", wait_until_killed);
  assert_int_equal(tsr_sc_at_close(w.sim, push_hook, &w, NULL), TSR_OK);
  assert_int_equal(tsr_sc_at_close(w.sim, push_hook, &w, NULL), TSR_OK);
  tsr_sc_run(w.sim, 5);
  close_world(&w);
  const uint64_t want[] = {(uint64_t)-TSR_SC_KILLED, 11, 12};
  assert_int_equal(w.logged, COUNT(want));
  assert_memory_equal(w.log, want, sizeof want);
}

static enum tsr_sc_result make_child(void *arg) {
  struct world *w = arg;
  struct tsr_sc_event *e;
  if (tsr_sc_event_new(w->top, NULL, &e, NULL) != TSR_OK) return TSR_SC_FAILED;
  tsr_sc_event_free(e);
  return tsr_sc_method_new(w->top, NULL, tick_ten_times, w, NULL, NULL, NULL) == TSR_OK
             ? TSR_SC_OK
             : TSR_SC_FAILED;
}

static void a_process_may_make_another(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  add_method(&w, "maker", make_child);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  assert_int_equal(w.n, 10);
  close_world(&w);
}

/* Everything that allocates, in one go; the first failure ends it. */
static enum tsr_status build_everything(struct tsr_sc_sim **sim, struct world *w,
                                        struct tsr_err *err) {
  struct tsr_sc_target *target;
  struct tsr_sc_trace *trace;
  enum tsr_status s = tsr_sc_open(NULL, sim, err);
  if (s == TSR_OK) s = tsr_sc_module_new(*sim, NULL, "top", &w->top, err);
  if (s == TSR_OK) s = tsr_sc_event_new(w->top, "a", &w->a, err);
  if (s == TSR_OK) s = tsr_sc_fifo_new(w->top, "f", 4, &w->fifo, err);
  if (s == TSR_OK) s = tsr_sc_signal_new(w->top, "s", 8, &w->word, err);
  if (s == TSR_OK) s = tsr_sc_initiator_new(w->top, "i", &w->initiator, err);
  if (s == TSR_OK) s = tsr_sc_target_new(w->top, "t", NULL, NULL, &target, err);
  if (s == TSR_OK) s = tsr_sc_bind(w->initiator, target, err);
  if (s == TSR_OK) s = tsr_sc_thread_new(w->top, "p", put_hundred, w, NULL, NULL, err);
  if (s == TSR_OK) s = tsr_sc_trace_open(*sim, "nomem.vcd", &trace, err);
  if (s == TSR_OK) s = tsr_sc_trace_signal(trace, w->word, "word", err);
  if (s == TSR_OK) s = tsr_sc_at_close(*sim, push_hook, w, err);
  return s;
}

static void each_allocation_may_fail(void **state) {
  (void)state;
  uint64_t failures = 0;
  for (uint64_t nth = 1;; nth++) {
    struct world w = {0};
    struct tsr_sc_sim *sim = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    tsr_mem_fail_at(nth, false);
    enum tsr_status s = build_everything(&sim, &w, &err);
    tsr_mem_fail_at(0, false);
    assert_int_equal(err.status, s);
    tsr_err_fini(&err);
    w.sim = sim;
    if (s == TSR_OK) tsr_sc_run(sim, 10);
    assert_int_equal(tsr_sc_close(sim), TSR_SC_OK);
    if (s == TSR_OK) break;
    assert_int_equal(s, TSR_NOMEM);
    failures++;
  }
  assert_true(failures >= 10); /* one of each kind */
  remove("nomem.vcd");
}

static void every_result_has_a_text_and_a_status(void **state) {
  (void)state;
  static const struct {
    enum tsr_sc_result r;
    enum tsr_status want;
  } row[] = {
#define ROW(name, value, status, doc) {TSR_SC_##name, TSR_##status},
      TSR_SC_RESULT_LIST(ROW)
#undef ROW
  };
  struct world w;
  open_world(&w);
  for (size_t i = 0; i < COUNT(row); i++) {
    assert_int_equal(tsr_sc_status(w.sim, row[i].r, NULL), row[i].want);
    assert_true((row[i].r < 0) == (row[i].want != TSR_OK));
    for (size_t j = 0; j < i; j++) {
      assert_string_not_equal(tsr_sc_result_text(row[i].r), tsr_sc_result_text(row[j].r));
    }
  }
  assert_non_null(strstr(tsr_sc_version(), "2.3"));
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_method_calls_itself_until_starved),
      cmocka_unit_test(a_method_waits_for_its_list_and_for_a_chosen_event),
      cmocka_unit_test(a_thread_waits_in_every_way),
      cmocka_unit_test(an_immediate_notification_wakes_in_the_same_delta),
      cmocka_unit_test(a_kill_lets_the_c_function_return),
      cmocka_unit_test(a_process_may_kill_itself),
      cmocka_unit_test(a_close_ends_waiting_threads_first),
      cmocka_unit_test(a_run_goes_by_pieces_and_stops),
      cmocka_unit_test(an_empty_simulation_is_starved),
      cmocka_unit_test(an_error_of_a_process_ends_the_run),
      cmocka_unit_test(what_systemc_reports_becomes_a_result),
      cmocka_unit_test(values_out_of_range_are_refused),
      cmocka_unit_test(another_os_thread_is_refused),
      cmocka_unit_test(a_forked_child_continues_the_run),
      cmocka_unit_test(close_functions_run_after_the_threads_ended),
      cmocka_unit_test(a_process_may_make_another),
      cmocka_unit_test(each_allocation_may_fail),
      cmocka_unit_test(every_result_has_a_text_and_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
