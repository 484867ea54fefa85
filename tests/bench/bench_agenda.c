/* Events per second of the agenda beside SystemC's own queue, in one run.
 *
 * agenda:   n events pending, each schedules itself again.
 * trigger:  n SystemC methods, each asks for its next call (next_trigger).
 * event:    n SystemC methods, each notifies the event that calls it.
 * Periods differ from unit to unit, so that instants are mostly of one event, the
 * worst case for the agenda; the row "aligned" has all units on one clock.
 * argv[1]: events of a measurement, 4,000,000 unless given. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/base/mem.h"
#include "sim/engine/agenda.h"

struct bench {
  struct tsr_sc_sim *sim;
  struct tsr_sc_module *top;
  struct tsr_agenda *agenda;
  uint64_t done, limit;
};

struct unit {
  struct bench *b;
  struct tsr_sc_event *event;
  uint64_t period_fs;
};

static double cpu_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(enum tsr_status s) {
  if (s == TSR_OK) return;
  fprintf(stderr, "bench_agenda: %s\n", tsr_status_text(s));
  exit(1);
}

static void on_agenda(void *arg) {
  struct unit *u = arg;
  struct bench *b = u->b;
  if (++b->done >= b->limit) {
    tsr_agenda_stop(b->agenda, TSR_OK);
    return;
  }
  tsr_agenda_at(b->agenda, tsr_agenda_now(b->agenda) + u->period_fs, 0, on_agenda, u);
}

static enum tsr_sc_result on_trigger(void *arg) {
  struct unit *u = arg;
  if (++u->b->done >= u->b->limit) return tsr_sc_stop(u->b->sim);
  return tsr_sc_next_after(u->b->sim, u->period_fs);
}

static enum tsr_sc_result on_event(void *arg) {
  struct unit *u = arg;
  if (++u->b->done >= u->b->limit) return tsr_sc_stop(u->b->sim);
  return tsr_sc_notify_after(u->event, u->period_fs);
}

typedef void add_fn(struct unit *u);

static void add_agenda(struct unit *u) {
  tsr_agenda_at(u->b->agenda, u->period_fs, 0, on_agenda, u);
}

static void add_trigger(struct unit *u) {
  must(tsr_sc_method_new(u->b->top, NULL, on_trigger, u, NULL, NULL, NULL));
}

static void add_event(struct unit *u) {
  must(tsr_sc_event_new(u->b->top, NULL, &u->event, NULL));
  struct tsr_sc_proc_options o = {.sensitive = &u->event, .n_sensitive = 1};
  must(tsr_sc_method_new(u->b->top, NULL, on_event, u, &o, NULL, NULL));
}

/* Millions of events a second of CPU time. */
static double measure(add_fn *add, size_t pending, bool aligned, uint64_t limit) {
  struct bench b = {.limit = limit};
  struct unit *units = tsr_mem_array(pending, sizeof *units);
  if (!units) must(TSR_NOMEM);
  must(tsr_sc_open(NULL, &b.sim, NULL));
  must(tsr_sc_module_new(b.sim, NULL, "top", &b.top, NULL));
  must(tsr_agenda_create(b.sim, b.top, &b.agenda, NULL));
  for (size_t i = 0; i < pending; i++) {
    units[i] = (struct unit){&b, NULL, aligned ? 1000 : 1000 + i * 7919 % 997};
    add(&units[i]);
  }
  double start = cpu_s();
  tsr_sc_run(b.sim, TSR_SC_FOREVER);
  double seconds = cpu_s() - start;
  tsr_sc_close(b.sim);
  tsr_agenda_destroy(b.agenda);
  tsr_mem_free(units);
  return (double)b.done / seconds / 1e6;
}

int main(int argc, char **argv) {
  static const size_t pending[] = {1, 16, 100, 1000};
  uint64_t limit = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
  if (!limit) {
    fprintf(stderr, "usage: bench_agenda [events > 0]\n");
    return 2;
  }
  printf("%-9s %8s %10s %10s %10s %16s %14s\n", "instants", "pending", "agenda", "trigger",
         "event", "agenda/trigger", "agenda/event");
  for (int aligned = 0; aligned < 2; aligned++) {
    for (size_t i = 0; i < sizeof pending / sizeof *pending; i++) {
      double own = measure(add_agenda, pending[i], aligned, limit);
      double trigger = measure(add_trigger, pending[i], aligned, limit);
      double event = measure(add_event, pending[i], aligned, limit);
      printf("%-9s %8zu %6.1f M/s %6.1f M/s %6.1f M/s %15.2fx %13.2fx\n",
             aligned ? "aligned" : "spread", pending[i], own, trigger, event, own / trigger,
             own / event);
    }
  }
  return 0;
}
