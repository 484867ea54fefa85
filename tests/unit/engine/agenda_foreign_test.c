/* A foreign SC_MODULE with an SC_THREAD and a unit driven by the agenda
 * synchronise in one run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/engine/agenda.h"
#include "tests/unit/engine/foreign.h"

/* Squares a number in 250 fs, answers by a signal and then an event. */
struct unit {
  struct tsr_agenda *agenda;
  struct tsr_sc_event *done;
  struct tsr_sc_signal *result;
  uint64_t request, served;
};

static void answer(void *arg) {
  struct unit *u = arg;
  tsr_sc_signal_write(u->result, u->request * u->request);
  tsr_sc_notify_after(u->done, 0); /* a delta later the signal has its value */
  u->served++;
}

static void asked(void *arg, uint64_t request) {
  struct unit *u = arg;
  u->request = request;
  tsr_agenda_at(u->agenda, tsr_agenda_now(u->agenda) + 250, 0, answer, u);
}

static void an_sc_thread_and_an_agenda_unit_synchronise(void **state) {
  (void)state;
  for (int round = 0; round < 3; round++) {
    struct tsr_sc_sim *sim;
    struct tsr_sc_module *top;
    struct unit u = {0};
    assert_int_equal(tsr_sc_open(NULL, &sim, NULL), TSR_OK);
    assert_int_equal(tsr_sc_module_new(sim, NULL, "top", &top, NULL), TSR_OK);
    assert_int_equal(tsr_agenda_create(sim, top, &u.agenda, NULL), TSR_OK);
    assert_int_equal(tsr_sc_event_new(top, "done", &u.done, NULL), TSR_OK);
    assert_int_equal(tsr_sc_signal_new(top, "result", 32, &u.result, NULL), TSR_OK);
    struct foreign *f = foreign_create("rtl", u.done, u.result, asked, &u);
    assert_int_equal(tsr_sc_at_close(sim, foreign_destroy, f, NULL), TSR_OK);
    assert_int_equal(tsr_sc_run(sim, TSR_SC_FOREVER), TSR_SC_STARVED);
    assert_int_equal(u.served, 5);
    assert_int_equal(foreign_sum(f), 0 + 1 + 4 + 9 + 16);
    assert_int_equal(foreign_last_time(f), 5 * (100 + 250));
    assert_int_equal(tsr_sc_now(sim), 1750);
    assert_int_equal(foreign_unwound(), round);
    assert_int_equal(tsr_sc_close(sim), TSR_SC_OK);
    assert_int_equal(foreign_unwound(), round + 1);
    tsr_agenda_destroy(u.agenda);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_sc_thread_and_an_agenda_unit_synchronise)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
