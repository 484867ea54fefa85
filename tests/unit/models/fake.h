/* An environment over a sorted list, so that components run alone.
 *
 * Order of events as in the engine: (instant, priority, order of asking).
 * Failures of the fake itself end the test by cmocka's assertions. */
#ifndef TSR_TESTS_UNIT_MODELS_FAKE_H
#define TSR_TESTS_UNIT_MODELS_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "models/registry.h"
#include "sim/base/rng.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))
#define NS UINT64_C(1000000) /* in fs */

struct fake_event {
  uint64_t fs, seq;
  int priority;
  tsr_model_fn *fn;
  void *arg;
};
struct fake_span {
  const void *unit;
  enum tsr_span_state state;
  uint64_t start, cycles;
};
struct fake {
  struct tsr_env env;
  uint64_t now, seq, events;
  uint32_t core, cores;    /* what the next instance is told; 0 and 1 at first */
  struct fake_event *list; /* latest first */
  size_t n, cap;
  struct fake_span *span;
  size_t n_spans, cap_spans;
};

void fake_open(struct fake *f, uint64_t clock_hz);
void fake_close(struct fake *f);
void fake_at(struct fake *f, uint64_t fs, tsr_model_fn *fn, void *arg);
/* Runs until nothing is left. */
void fake_run(struct fake *f);
/* Spans of a unit are in order and do not overlap; cycles spent in `state`. */
uint64_t fake_spent(const struct fake *f, const struct tsr_instance *x,
                    enum tsr_span_state state);
/* End of the last span of a unit. */
uint64_t fake_last_end(const struct fake *f, const struct tsr_instance *x);

/* An instance of `kind`; `text` is its part of an architecture file ("" for defaults). */
void fake_prepare(struct tsr_instance *x, const char *kind, const char *text);
/* Its init, with its peers. */
void fake_wire(struct fake *f, struct tsr_instance *x, struct tsr_instance *p0,
               struct tsr_instance *p1, struct tsr_instance *p2);
/* Both. */
void fake_make(struct fake *f, struct tsr_instance *x, const char *kind, const char *text,
               struct tsr_instance *p0, struct tsr_instance *p1, struct tsr_instance *p2);
void fake_drop(struct tsr_instance *x);
uint64_t fake_counter(const struct tsr_instance *x, const char *name);

/* A train of one burst, a train of one unit at a scratchpad's port. */
void fake_burst(struct tsr_instance *mem, uint64_t bytes, bool write, uint64_t ready_fs,
                uint64_t *start_fs, uint64_t *end_fs);
uint64_t fake_move(struct tsr_instance *buf, uint64_t bytes, bool write, uint64_t ready_fs,
                   uint64_t *waited_fs);

/* A transfer of `bytes` in a row at `base` of memory, to or from `buf`. */
struct tsr_req fake_bytes(struct tsr_instance *buf, uint64_t base, uint64_t bytes);

/* A request, and when its milestones came (fs). */
struct ask {
  struct tsr_ticket ticket; /* first */
  struct tsr_req req;
  struct fake *f;
  struct tsr_instance *unit;
  struct ask *next; /* started when this one is accepted */
  uint64_t started, accepted, consumed, done;
  int n_accepted, n_consumed, n_done;
};
/* Starts the first at `fs`, each later one when the one before is accepted. */
void fake_chain(struct fake *f, struct tsr_instance *unit, struct ask *asks, size_t n,
                uint64_t fs);
/* Each milestone came once, in order. */
void fake_check(const struct ask *asks, size_t n);

#endif
