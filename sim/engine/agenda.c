/* The agenda: a 4-ary heap ordered by (time, priority, sequence), pumped by one
 * SystemC method.
 *
 * The heap runs everything due at an instant in one call of the method and then
 * asks SystemC to call again at the next instant, so the cost of SystemC is paid
 * once an instant.  A running event leaves a hole at the root; the first event
 * that it schedules goes there, which saves a removal where a unit schedules its
 * own next step. */
#include "sim/engine/agenda.h"

#include "sim/base/mem.h"

enum { ARITY = 4, SEQUENCE_BITS = 48 };
#define NEVER UINT64_MAX

/* rank: priority above, sequence of insertion below.  48 bits of sequence last
 * for months at the fastest rate that the heap reaches. */
struct entry {
  uint64_t time_fs, rank;
  tsr_event_fn *fn;
  void *arg;
};

struct tsr_agenda {
  struct tsr_sc_sim *sim;    /* NULL once closed */
  struct tsr_sc_event *wake; /* what the pump waits for */
  struct entry *heap;
  size_t count, capacity; /* count includes the hole */
  uint64_t sequence, events, ran;
  tsr_event_fn *settled; /* at the end of an instant */
  void *settled_arg;
  uint64_t now_fs;   /* while pumping, and after the close */
  uint64_t armed_fs; /* when `wake` is notified; NEVER: not */
  bool hole;         /* heap[0] is the running event, not pending any more */
  bool pumping, stopping, destroyed;
  enum tsr_status status;
};

/* --- the heap ---------------------------------------------------------------- */

static inline tsr_u128 key_of(const struct entry *e) {
  return (tsr_u128)e->time_fs << 64 | e->rank;
}

static uint64_t rank_of(int priority, uint64_t sequence) {
  return (uint64_t)(priority - TSR_PRIORITY_MIN) << SEQUENCE_BITS | sequence;
}

/* Moves the vacancy at i towards the root until an entry of that key fits there. */
static size_t sift_up(struct entry *heap, size_t i, tsr_u128 key) {
  while (i) {
    size_t parent = (i - 1) / ARITY;
    if (key >= key_of(&heap[parent])) break;
    heap[i] = heap[parent];
    i = parent;
  }
  return i;
}

/* The smallest of the children first .. first + ARITY - 1. */
static inline size_t least_child(const struct entry *heap, size_t first, size_t count) {
  size_t least = first;
  tsr_u128 key = key_of(&heap[first]);
  size_t end = first + ARITY < count ? first + ARITY : count;
  for (size_t i = first + 1; i < end; i++) {
    tsr_u128 other = key_of(&heap[i]);
    bool less = other < key;
    key = less ? other : key;
    least = less ? i : least;
  }
  return least;
}

/* Moves the vacancy at the root away from it until an entry of that key fits. */
static size_t sift_down(struct entry *heap, size_t count, tsr_u128 key) {
  size_t i = 0;
  for (size_t first = 1; first < count; first = ARITY * i + 1) {
    size_t least = least_child(heap, first, count);
    if (key_of(&heap[least]) >= key) break;
    heap[i] = heap[least];
    i = least;
  }
  return i;
}

static bool grow(struct tsr_agenda *a) {
  void *heap = a->heap;
  bool done = tsr_mem_grow(&heap, &a->capacity, a->count + 1, sizeof *a->heap);
  a->heap = heap;
  return done;
}

/* Finds the place of a new entry of that key; NULL: out of memory. */
static struct entry *insert(struct tsr_agenda *a, tsr_u128 key) {
  if (a->hole) {
    a->hole = false;
    return &a->heap[sift_down(a->heap, a->count, key)];
  }
  if (a->count == a->capacity && !grow(a)) return NULL;
  return &a->heap[sift_up(a->heap, a->count++, key)];
}

static void close_hole(struct tsr_agenda *a) {
  a->hole = false;
  a->count--;
  if (!a->count) return;
  const struct entry *last = &a->heap[a->count];
  a->heap[sift_down(a->heap, a->count, key_of(last))] = *last;
}

/* --- the pump ------------------------------------------------------------------ */

/* Has the pump called at time_fs unless it is called before that anyway. */
static void arm(struct tsr_agenda *a, uint64_t time_fs, uint64_t now_fs) {
  if (time_fs >= a->armed_fs) return;
  enum tsr_sc_result r = tsr_sc_notify_after(a->wake, time_fs - now_fs);
  if (r < 0)
    tsr_agenda_stop(a, tsr_sc_status(a->sim, r, NULL));
  else
    a->armed_fs = time_fs;
}

static inline void run_first(struct tsr_agenda *a) {
  struct entry *first = a->heap;
  tsr_event_fn *fn = first->fn;
  a->hole = true;
  a->events++;
  a->ran++;
  fn(first->arg);
  if (a->hole) close_hole(a);
}

static enum tsr_sc_result pump(void *arg) {
  struct tsr_agenda *a = arg;
  a->armed_fs = NEVER;
  a->now_fs = tsr_sc_now(a->sim);
  a->pumping = true;
  while (!a->stopping && a->count && a->heap[0].time_fs == a->now_fs) run_first(a);
  if (a->settled && !a->stopping && a->count) a->settled(a->settled_arg);
  a->pumping = false;
  if (a->count && !a->stopping) arm(a, a->heap[0].time_fs, tsr_sc_now(a->sim));
  return TSR_SC_OK;
}

/* --- life ---------------------------------------------------------------------- */

/* The pump refers to the agenda as long as the simulation is open, so that an
 * agenda destroyed before stays, stopped, until then. */
static void free_agenda(struct tsr_agenda *a) {
  tsr_mem_free(a->heap);
  tsr_mem_free(a);
}

static void on_close(void *arg) {
  struct tsr_agenda *a = arg;
  a->now_fs = tsr_sc_now(a->sim);
  a->sim = NULL;
  if (a->destroyed) free_agenda(a);
}

enum tsr_status tsr_agenda_create(struct tsr_sc_sim *sim, struct tsr_sc_module *module,
                                  struct tsr_agenda **out, struct tsr_err *err) {
  struct tsr_sc_event *wake;
  enum tsr_status s = tsr_sc_event_new(module, "agenda_wake", &wake, err);
  if (s != TSR_OK) return s;
  struct tsr_agenda *a = tsr_mem_alloc(sizeof *a);
  if (!a) return tsr_err_nomem(err);
  *a = (struct tsr_agenda){.sim = sim, .wake = wake, .armed_fs = NEVER};
  s = tsr_sc_at_close(sim, on_close, a, err);
  if (s != TSR_OK) {
    free_agenda(a);
    return s;
  }
  struct tsr_sc_proc_options options = {
      .wait_first = true, .sensitive = &a->wake, .n_sensitive = 1};
  s = tsr_sc_method_new(module, "agenda", pump, a, &options, NULL, err);
  if (s != TSR_OK) {
    a->destroyed = true; /* on_close frees it */
    return s;
  }
  *out = a;
  return TSR_OK;
}

void tsr_agenda_destroy(struct tsr_agenda *a) {
  if (!a) return;
  a->destroyed = a->stopping = true;
  if (!a->sim) free_agenda(a);
}

/* --- use ------------------------------------------------------------------------- */

void tsr_agenda_at(struct tsr_agenda *a, uint64_t time_fs, int priority, tsr_event_fn *fn,
                   void *arg) {
  uint64_t now_fs = tsr_agenda_now(a);
  TSR_CHECK(time_fs >= now_fs);
  TSR_CHECK(priority >= TSR_PRIORITY_MIN && priority <= TSR_PRIORITY_MAX);
  uint64_t rank = rank_of(priority, a->sequence++);
  struct entry *e = insert(a, (tsr_u128)time_fs << 64 | rank);
  if (!e) {
    tsr_agenda_stop(a, TSR_NOMEM);
    return;
  }
  *e = (struct entry){time_fs, rank, fn, arg};
  if (!a->pumping) arm(a, time_fs, now_fs);
}

uint64_t tsr_agenda_now(const struct tsr_agenda *a) {
  return a->pumping || !a->sim ? a->now_fs : tsr_sc_now(a->sim);
}

uint64_t tsr_agenda_events(const struct tsr_agenda *a) {
  return a->events;
}

uint64_t tsr_agenda_ran(const struct tsr_agenda *a) {
  return a->ran;
}

void tsr_agenda_settled(struct tsr_agenda *a, tsr_event_fn *fn, void *arg) {
  a->settled = fn;
  a->settled_arg = arg;
}

void tsr_agenda_visit(struct tsr_agenda *a, struct tsr_visit *v) {
  tsr_visit_sum(v, &a->events);
  if (v->advance) { /* all by the same: the heap stays one */
    for (size_t i = 0; i < a->count; i++) tsr_visit_fs(v, &a->heap[i].time_fs);
    a->now_fs += v->fs; /* SystemC's time follows with the next event */
    return;
  }
  tsr_visit_value(v, a->count);
  const struct entry *last = NULL;
  for (size_t n = 0; n < a->count; n++) { /* few: the next one each time */
    struct entry *next = NULL;
    for (size_t i = 0; i < a->count; i++) {
      struct entry *e = &a->heap[i];
      if (last && key_of(e) <= key_of(last)) continue;
      if (!next || key_of(e) < key_of(next)) next = e;
    }
    TSR_CHECK(next); /* one for each of them */
    tsr_visit_fs(v, &next->time_fs);
    tsr_visit_value(v, next->rank >> SEQUENCE_BITS);
    tsr_visit_value(v, (uint64_t)(uintptr_t)next->fn);
    tsr_visit_pointer(v, next->arg);
    last = next;
  }
}

bool tsr_agenda_empty(const struct tsr_agenda *a) {
  return a->count == (size_t)a->hole;
}

void tsr_agenda_stop(struct tsr_agenda *a, enum tsr_status why) {
  a->stopping = true;
  if (a->status == TSR_OK) a->status = why;
  if (a->sim) tsr_sc_stop(a->sim);
}

enum tsr_status tsr_agenda_status(const struct tsr_agenda *a) {
  return a->status;
}
