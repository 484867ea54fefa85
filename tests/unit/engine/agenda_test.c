/* The agenda: exact order, wake-ups from outside, stop, starvation, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/mem.h"
#include "sim/base/rng.h"
#include "sim/engine/agenda.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { MAX_EVENTS = 20000 };

struct world {
  struct tsr_sc_sim *sim;
  struct tsr_sc_module *top;
  struct tsr_agenda *agenda;
  uint64_t log[64];
  size_t logged;
};

static void note(struct world *w, uint64_t v) {
  if (w->logged < COUNT(w->log)) w->log[w->logged++] = v;
}

static void open_world(struct world *w) {
  memset(w, 0, sizeof *w);
  assert_int_equal(tsr_sc_open(NULL, &w->sim, NULL), TSR_OK);
  assert_int_equal(tsr_sc_module_new(w->sim, NULL, "top", &w->top, NULL), TSR_OK);
  assert_int_equal(tsr_agenda_create(w->sim, w->top, &w->agenda, NULL), TSR_OK);
}

static void close_world(struct world *w) {
  assert_int_equal(tsr_sc_close(w->sim), TSR_SC_OK);
  tsr_agenda_destroy(w->agenda);
}

/* --- order against a sorted reference ------------------------------------------- */

struct shuffle;
struct item {
  struct shuffle *owner;
  uint64_t time_fs;
  int priority;
  uint32_t inserted; /* number of insertion */
};

struct shuffle {
  struct world w;
  struct tsr_rng rng;
  struct item item[MAX_EVENTS];
  uint32_t ran[MAX_EVENTS]; /* items in the order they ran */
  size_t made, done, limit;
  uint64_t spread_fs;
  int priorities;
  int64_t wrong_times;
};

static void on_item(void *arg);

static void insert_one(struct shuffle *s) {
  if (s->made == s->limit) return;
  struct item *it = &s->item[s->made];
  it->owner = s;
  it->inserted = (uint32_t)s->made++;
  it->time_fs = tsr_agenda_now(s->w.agenda) + tsr_rng_range(&s->rng, 0, s->spread_fs);
  it->priority =
      (int)tsr_rng_range(&s->rng, 0, (uint64_t)s->priorities - 1) - s->priorities / 2;
  tsr_agenda_at(s->w.agenda, it->time_fs, it->priority, on_item, it);
}

static void on_item(void *arg) {
  struct item *it = arg;
  struct shuffle *s = it->owner;
  s->wrong_times += tsr_agenda_now(s->w.agenda) != it->time_fs;
  s->wrong_times += tsr_sc_now(s->w.sim) != it->time_fs;
  s->ran[s->done++] = it->inserted;
  for (uint64_t n = tsr_rng_range(&s->rng, 0, 3); n > 0; n--) insert_one(s);
}

/* The order that the agenda promises. */
static int by_order(const void *pa, const void *pb) {
  const struct item *a = *(const struct item *const *)pa, *b = *(const struct item *const *)pb;
  if (a->time_fs != b->time_fs) return a->time_fs < b->time_fs ? -1 : 1;
  if (a->priority != b->priority) return a->priority < b->priority ? -1 : 1;
  return (a->inserted > b->inserted) - (a->inserted < b->inserted);
}

static void random_inserts_run_in_sorted_order(void **state) {
  (void)state;
  /* Everything inserted before the run: a plain sort is the reference. */
  static const struct {
    size_t n;
    uint64_t spread_fs;
    int priorities;
  } row[] = {{1, 0, 1},    {2, 0, 1},       {1000, 0, 1},        {1000, 0, 5},  {1000, 3, 1},
             {5000, 9, 3}, {5000, 2000, 4}, {5000, 1u << 30, 2}, {20000, 50, 7}};
  struct shuffle *s = tsr_mem_alloc(sizeof *s);
  const struct item **want = tsr_mem_array(MAX_EVENTS, sizeof(void *));
  for (size_t r = 0; r < COUNT(row); r++) {
    memset(s, 0, sizeof *s);
    open_world(&s->w);
    s->rng.s = 11 + r;
    s->limit = row[r].n;
    s->spread_fs = row[r].spread_fs;
    s->priorities = row[r].priorities;
    while (s->made < s->limit) insert_one(s);
    for (size_t i = 0; i < s->limit; i++) want[i] = &s->item[i];
    qsort(want, s->limit, sizeof(void *), by_order);
    assert_int_equal(tsr_sc_run(s->w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
    assert_int_equal(s->done, s->limit);
    assert_int_equal(tsr_agenda_events(s->w.agenda), s->limit);
    assert_true(tsr_agenda_empty(s->w.agenda));
    assert_int_equal(s->wrong_times, 0);
    for (size_t i = 0; i < s->limit; i++) assert_int_equal(s->ran[i], want[i]->inserted);
    close_world(&s->w);
  }
  tsr_mem_free(want);
  tsr_mem_free(s);
}

/* Takes the least of the n items of `open` out of it. */
static const struct item *take_least(const struct item **open, size_t *n) {
  size_t least = 0;
  for (size_t i = 1; i < *n; i++)
    if (by_order(&open[i], &open[least]) < 0) least = i;
  const struct item *it = open[least];
  open[least] = open[--*n];
  return it;
}

/* The slow model: of the items known by then, the least each time.  An item that
 * the k-th event inserts is known from then on. */
static void inserts_from_events_run_in_order(void **state) {
  (void)state;
  static const struct {
    uint64_t seed, spread_fs;
    int priorities;
  } row[] = {{1, 0, 1},  {2, 0, 4},    {3, 1, 1},     {4, 2, 5},
             {5, 10, 3}, {6, 1000, 3}, {7, 100000, 1}};
  enum { START = 40, TOTAL = 3000 };
  struct shuffle *s = tsr_mem_alloc(sizeof *s);
  const struct item **open = tsr_mem_array(MAX_EVENTS, sizeof(void *));
  for (size_t r = 0; r < COUNT(row); r++) {
    memset(s, 0, sizeof *s);
    open_world(&s->w);
    s->rng.s = row[r].seed;
    s->limit = TOTAL;
    s->spread_fs = row[r].spread_fs;
    s->priorities = row[r].priorities;
    for (int i = 0; i < START; i++) insert_one(s);
    assert_int_equal(tsr_sc_run(s->w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
    assert_int_equal(s->wrong_times, 0);
    assert_int_equal(s->done, s->made);
    assert_true(s->made > START);
    /* Replay: the generator gives the same draws when the order is the same. */
    struct tsr_rng rng = {row[r].seed};
    size_t n = 0, known = START;
    for (int i = 0; i < 2 * START; i++)
      tsr_rng_range(&rng, 0, i % 2 ? (uint64_t)s->priorities - 1 : s->spread_fs);
    for (size_t i = 0; i < known; i++) open[n++] = &s->item[i];
    for (size_t k = 0; k < s->done; k++) {
      const struct item *it = take_least(open, &n);
      assert_int_equal(s->ran[k], it->inserted);
      for (uint64_t c = tsr_rng_range(&rng, 0, 3); c > 0 && known < s->made; c--) {
        uint64_t dt = tsr_rng_range(&rng, 0, s->spread_fs);
        tsr_rng_range(&rng, 0, (uint64_t)s->priorities - 1);
        assert_int_equal(s->item[known].time_fs, it->time_fs + dt);
        open[n++] = &s->item[known++];
      }
    }
    assert_int_equal(n, 0);
    close_world(&s->w);
  }
  tsr_mem_free(open);
  tsr_mem_free(s);
}

/* --- from outside the pump ------------------------------------------------------------ */

static void note_now(void *arg) {
  struct world *w = arg;
  note(w, tsr_agenda_now(w->agenda));
}

static void note_second(void *arg) {
  struct world *w = arg;
  note(w, 1000000 + tsr_agenda_now(w->agenda));
}

static enum tsr_sc_result insert_from_thread(void *arg) {
  struct world *w = arg;
  if (tsr_sc_wait_for(w->sim, 10) < 0) return TSR_SC_OK;
  tsr_agenda_at(w->agenda, 100, 0, note_now, w); /* later than what is armed */
  tsr_agenda_at(w->agenda, 30, 0, note_now, w);  /* earlier */
  tsr_agenda_at(w->agenda, 20, 0, note_now, w);  /* earlier still */
  tsr_agenda_at(w->agenda, 10, 1, note_second, w);
  tsr_agenda_at(w->agenda, 10, 0, note_now, w); /* now */
  if (tsr_sc_wait_for(w->sim, 190) < 0) return TSR_SC_OK;
  tsr_agenda_at(w->agenda, 200, 0, note_now, w); /* into an empty agenda */
  if (tsr_sc_wait_for(w->sim, 50) < 0) return TSR_SC_OK;
  tsr_agenda_at(w->agenda, 260, 0, note_now, w);
  return TSR_SC_OK;
}

static void an_insert_from_another_process_is_heard_in_time(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  tsr_agenda_at(w.agenda, 50, 0, note_now, &w);
  assert_int_equal(tsr_sc_thread_new(w.top, "t", insert_from_thread, &w, NULL, NULL, NULL),
                   TSR_OK);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  const uint64_t want[] = {10, 1000010, 20, 30, 50, 100, 200, 260};
  assert_int_equal(w.logged, COUNT(want));
  assert_memory_equal(w.log, want, sizeof want);
  close_world(&w);
}

/* A thread stands for a foreign module: it asks, an agenda-driven unit answers
 * 250 fs later, by an event. */
struct service {
  struct world w;
  struct tsr_sc_event *done;
  uint64_t busy_until_fs;
  struct tsr_sc_signal *busy;
};

static void finish(void *arg) {
  struct service *s = arg;
  tsr_sc_signal_write(s->busy, 0);
  tsr_sc_notify_after(s->done, 0);
}

static void start(void *arg) {
  struct service *s = arg;
  tsr_sc_signal_write(s->busy, 1);
  tsr_agenda_at(s->w.agenda, tsr_agenda_now(s->w.agenda) + 250, 0, finish, s);
}

static enum tsr_sc_result ask_five_times(void *arg) {
  struct service *s = arg;
  for (int i = 0; i < 5; i++) {
    tsr_agenda_at(s->w.agenda, tsr_sc_now(s->w.sim) + 40, 0, start, s);
    enum tsr_sc_result r = tsr_sc_wait_event(s->w.sim, s->done);
    if (r < 0) return r;
    note(&s->w, tsr_sc_now(s->w.sim));
    if ((r = tsr_sc_wait_for(s->w.sim, 10)) < 0) return r;
  }
  return TSR_SC_OK;
}

static void a_thread_and_a_unit_synchronise(void **state) {
  (void)state;
  struct service s;
  open_world(&s.w);
  assert_int_equal(tsr_sc_event_new(s.w.top, "done", &s.done, NULL), TSR_OK);
  assert_int_equal(tsr_sc_signal_new(s.w.top, "busy", 1, &s.busy, NULL), TSR_OK);
  assert_int_equal(tsr_sc_thread_new(s.w.top, "t", ask_five_times, &s, NULL, NULL, NULL),
                   TSR_OK);
  assert_int_equal(tsr_sc_run(s.w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  assert_int_equal(s.w.logged, 5);
  for (uint64_t i = 0; i < 5; i++) assert_int_equal(s.w.log[i], 290 + i * 300);
  close_world(&s.w);
}

/* --- stop, errors, memory --------------------------------------------------------------- */

static void stop_with_error(void *arg) {
  struct world *w = arg;
  note_now(w);
  tsr_agenda_at(w->agenda, tsr_agenda_now(w->agenda), -1, note_now, w);
  tsr_agenda_stop(w->agenda, TSR_SIM);
  tsr_agenda_stop(w->agenda, TSR_STORE); /* the first stays */
}

static void stop_without_error(void *arg) {
  struct world *w = arg;
  note_now(w);
  tsr_agenda_stop(w->agenda, TSR_OK);
}

static void a_stop_lets_nothing_more_run(void **state) {
  (void)state;
  static const struct {
    tsr_event_fn *fn;
    enum tsr_status want;
  } row[] = {{stop_with_error, TSR_SIM}, {stop_without_error, TSR_OK}};
  for (size_t i = 0; i < COUNT(row); i++) {
    struct world w;
    open_world(&w);
    tsr_agenda_at(w.agenda, 5, 0, note_now, &w);
    tsr_agenda_at(w.agenda, 7, 0, row[i].fn, &w);
    tsr_agenda_at(w.agenda, 7, 1, note_now, &w);
    tsr_agenda_at(w.agenda, 9, 0, note_now, &w);
    assert_int_equal(tsr_agenda_status(w.agenda), TSR_OK);
    assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STOPPED);
    assert_int_equal(tsr_agenda_status(w.agenda), row[i].want);
    assert_int_equal(w.logged, 2);
    assert_int_equal(w.log[1], 7);
    assert_false(tsr_agenda_empty(w.agenda));
    assert_int_equal(tsr_agenda_now(w.agenda), 7);
    close_world(&w);
  }
}

static void a_run_goes_on_after_starvation_and_by_pieces(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  assert_true(tsr_agenda_empty(w.agenda));
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  tsr_agenda_at(w.agenda, 0, 0, note_now, &w);
  tsr_agenda_at(w.agenda, 30, 0, note_now, &w);
  assert_false(tsr_agenda_empty(w.agenda));
  assert_int_equal(tsr_sc_run(w.sim, 20), TSR_SC_OK);
  tsr_agenda_at(w.agenda, 25, 0, note_now, &w); /* between two runs */
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  const uint64_t want[] = {0, 25, 30};
  assert_int_equal(w.logged, COUNT(want));
  assert_memory_equal(w.log, want, sizeof want);
  tsr_agenda_at(w.agenda, 31, 0, note_now, &w); /* left pending */
  close_world(&w);
}

static void an_agenda_may_be_destroyed_before_the_close(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  tsr_agenda_at(w.agenda, 3, 0, note_now, &w);
  tsr_agenda_destroy(w.agenda);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  assert_int_equal(w.logged, 0);
  assert_int_equal(tsr_sc_close(w.sim), TSR_SC_OK);
  tsr_agenda_destroy(NULL);
}

static void fan_out(void *arg) {
  struct world *w = arg;
  for (uint64_t i = 0; i < 5000; i++)
    tsr_agenda_at(w->agenda, tsr_agenda_now(w->agenda) + 10 + i, 0, note_now, w);
}

static void no_memory_in_an_event_stops_the_run(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  tsr_agenda_at(w.agenda, 5, 0, fan_out, &w);
  tsr_mem_fail_at(1, false);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STOPPED);
  tsr_mem_fail_at(0, false);
  assert_int_equal(tsr_agenda_status(w.agenda), TSR_NOMEM);
  assert_int_equal(tsr_agenda_now(w.agenda), 5);
  assert_int_equal(w.logged, 0);
  close_world(&w);

  open_world(&w);
  tsr_mem_fail_at(1, false);
  tsr_agenda_at(w.agenda, 5, 0, note_now, &w); /* before the run */
  tsr_mem_fail_at(0, false);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STOPPED);
  assert_int_equal(tsr_agenda_status(w.agenda), TSR_NOMEM);
  close_world(&w);
}

static void create_gives_nothing_when_memory_fails(void **state) {
  (void)state;
  uint64_t failures = 0;
  for (uint64_t nth = 1;; nth++) {
    struct world w = {0};
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_sc_open(NULL, &w.sim, NULL), TSR_OK);
    assert_int_equal(tsr_sc_module_new(w.sim, NULL, "top", &w.top, NULL), TSR_OK);
    tsr_mem_fail_at(nth, false);
    enum tsr_status s = tsr_agenda_create(w.sim, w.top, &w.agenda, &err);
    tsr_mem_fail_at(0, false);
    assert_int_equal(err.status, s);
    tsr_err_fini(&err);
    assert_true((s == TSR_OK) == (w.agenda != NULL));
    close_world(&w);
    if (s == TSR_OK) break;
    assert_int_equal(s, TSR_NOMEM);
    failures++;
  }
  assert_true(failures >= 3);
}

/* --- state of units in a VCD -------------------------------------------------------------- */

struct unit {
  struct world *w;
  struct tsr_sc_signal *state;
  uint64_t period_fs, step;
};

static void next_state(void *arg) {
  struct unit *u = arg;
  tsr_sc_signal_write(u->state, u->step % 3);
  if (++u->step < 5)
    tsr_agenda_at(u->w->agenda, tsr_agenda_now(u->w->agenda) + u->period_fs, 0, next_state, u);
}

static void states_of_units_reach_the_vcd(void **state) {
  (void)state;
  static const char *const name[] = {"tile0.state", "tile1.state"};
  struct world w;
  struct unit unit[2];
  struct tsr_sc_trace *trace;
  open_world(&w);
  assert_int_equal(tsr_sc_trace_open(w.sim, "agenda_test.vcd", &trace, NULL), TSR_OK);
  for (size_t i = 0; i < COUNT(unit); i++) {
    unit[i] = (struct unit){&w, NULL, i ? 500 : 300, i};
    assert_int_equal(tsr_sc_signal_new(w.top, NULL, 2, &unit[i].state, NULL), TSR_OK);
    assert_int_equal(tsr_sc_trace_signal(trace, unit[i].state, name[i], NULL), TSR_OK);
    tsr_agenda_at(w.agenda, unit[i].period_fs, 0, next_state, &unit[i]);
  }
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  close_world(&w);
  /* From the definition on, the file is these lines: unit 0 is aaaaa, 1 is aaaab. */
  static const char *const want[] = {"#500",     "b1 aaaab",  "#600",     "b1 aaaaa",
                                     "#900",     "b10 aaaaa", "#1000",    "b10 aaaab",
                                     "#1200",    "b0 aaaaa",  "#1500",    "b1 aaaaa",
                                     "b0 aaaab", "#2000",     "b1 aaaab", "#2000"};
  char line[256];
  size_t n = 0;
  bool values = false;
  FILE *f = fopen("agenda_test.vcd", "r");
  assert_non_null(f);
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    values = values || line[0] == '#';
    if (!values || !line[0]) continue;
    assert_true(n < COUNT(want));
    assert_string_equal(line, want[n++]);
  }
  assert_int_equal(n, COUNT(want));
  fclose(f);
  remove("agenda_test.vcd");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_inserts_run_in_sorted_order),
      cmocka_unit_test(inserts_from_events_run_in_order),
      cmocka_unit_test(an_insert_from_another_process_is_heard_in_time),
      cmocka_unit_test(a_thread_and_a_unit_synchronise),
      cmocka_unit_test(a_stop_lets_nothing_more_run),
      cmocka_unit_test(a_run_goes_on_after_starvation_and_by_pieces),
      cmocka_unit_test(an_agenda_may_be_destroyed_before_the_close),
      cmocka_unit_test(no_memory_in_an_event_stops_the_run),
      cmocka_unit_test(create_gives_nothing_when_memory_fails),
      cmocka_unit_test(states_of_units_reach_the_vcd),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
