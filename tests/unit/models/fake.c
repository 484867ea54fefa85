#include "fake.h"

#include <string.h>

#include "sim/base/mem.h"

static uint64_t now_fs(void *e) {
  return ((struct fake *)e)->now;
}

static bool before(const struct fake_event *a, const struct fake_event *b) {
  if (a->fs != b->fs) return a->fs < b->fs;
  if (a->priority != b->priority) return a->priority < b->priority;
  return a->seq < b->seq;
}

static void at(void *engine, uint64_t fs, int priority, tsr_model_fn *fn, void *arg) {
  struct fake *f = engine;
  assert_true(fs >= f->now);
  assert_true(tsr_mem_grow((void **)&f->list, &f->cap, f->n + 1, sizeof *f->list));
  struct fake_event e = {fs, f->seq++, priority, fn, arg};
  size_t i = f->n++;
  for (; i > 0 && before(&f->list[i - 1], &e); i--) f->list[i] = f->list[i - 1];
  f->list[i] = e;
}

static uint64_t cycle_fs(void *engine, uint64_t cycle) {
  uint64_t fs = 0;
  assert_true(tsr_clock_fs(cycle, ((struct fake *)engine)->env.clock_hz, &fs));
  return fs;
}
static uint64_t fs_cycle(void *engine, uint64_t fs) {
  return tsr_clock_cycle_at(fs, ((struct fake *)engine)->env.clock_hz);
}

static void span(void *engine, void *unit, enum tsr_span_state state, uint64_t start,
                 uint64_t cycles) {
  struct fake *f = engine;
  for (size_t i = f->n_spans; i-- > 0;) {
    if (f->span[i].unit != unit) continue;
    assert_true(start >= f->span[i].start + f->span[i].cycles);
    break;
  }
  assert_true(tsr_mem_grow((void **)&f->span, &f->cap_spans, f->n_spans + 1, sizeof *f->span));
  f->span[f->n_spans++] = (struct fake_span){unit, state, start, cycles};
}

void fake_open(struct fake *f, uint64_t clock_hz) {
  *f = (struct fake){.env = {.clock_hz = clock_hz,
                             .now_fs = now_fs,
                             .at = at,
                             .cycle_fs = cycle_fs,
                             .fs_cycle = fs_cycle,
                             .span = span},
                     .cores = 1};
  f->env.engine = f;
}

void fake_close(struct fake *f) {
  assert_int_equal(f->n, 0);
  tsr_mem_free(f->list);
  tsr_mem_free(f->span);
}

void fake_at(struct fake *f, uint64_t fs, tsr_model_fn *fn, void *arg) {
  at(f, fs, TSR_PRIO_ISSUE, fn, arg);
}

void fake_run(struct fake *f) {
  while (f->n) {
    struct fake_event e = f->list[--f->n];
    f->now = e.fs;
    f->events++;
    e.fn(e.arg);
  }
}

uint64_t fake_spent(const struct fake *f, const struct tsr_instance *x,
                    enum tsr_span_state state) {
  uint64_t sum = 0;
  for (size_t i = 0; i < f->n_spans; i++)
    if (f->span[i].unit == x->unit && f->span[i].state == state) sum += f->span[i].cycles;
  return sum;
}

uint64_t fake_last_end(const struct fake *f, const struct tsr_instance *x) {
  for (size_t i = f->n_spans; i-- > 0;)
    if (f->span[i].unit == x->unit) return f->span[i].start + f->span[i].cycles;
  return 0;
}

void fake_prepare(struct tsr_instance *x, const char *kind, const char *text) {
  const struct tsr_component *c = tsr_models_find(kind);
  assert_non_null(c);
  size_t n = 0;
  while (c->counters && c->counters[n].name) n++;
  *x = (struct tsr_instance){.ops = c,
                             .state = tsr_mem_alloc(c->state_size),
                             .params = tsr_mem_alloc(c->params_size),
                             .counters = tsr_mem_array(n + 1, sizeof(uint64_t)),
                             .name = kind};
  assert_true(x->state && x->params && x->counters);
  if (c->unit) x->unit = x;
  tsr_param_defaults(c->params, x->params);
  struct tsr_arena *a = tsr_arena_create();
  struct tsr_node *map = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  if (*text)
    assert_int_equal(tsr_config_tree_parse(a, kind, text, strlen(text), &map, &err), 0);
  bool *given = tsr_arena_array(a, tsr_param_count(c->params) + 1, sizeof *given);
  assert_non_null(given);
  if (*text && c->derive) { /* what a name stands for, under what is said beside it */
    (void)tsr_param_read(c->params, "", map, NULL, x->params, given, NULL);
    assert_null(c->derive(x->params, given));
  }
  if (*text && tsr_param_read(c->params, "", map, NULL, x->params, given, &err))
    fail_msg("%s: %s", kind, err.n ? err.msg[0] : "?");
  tsr_err_fini(&err);
  tsr_arena_destroy(a);
}

void fake_wire(struct fake *f, struct tsr_instance *x, struct tsr_instance *p0,
               struct tsr_instance *p1, struct tsr_instance *p2) {
  struct tsr_wiring w = {.env = &f->env,
                         .self = x,
                         .peer = {p0, p1, p2, NULL},
                         .core = f->core,
                         .cores = f->cores};
  struct tsr_err err = TSR_ERR_INIT;
  if (x->ops->init(x->state, x->params, &w, &err))
    fail_msg("%s: %s", x->name, err.n ? err.msg[0] : "?");
  tsr_err_fini(&err);
}

void fake_make(struct fake *f, struct tsr_instance *x, const char *kind, const char *text,
               struct tsr_instance *p0, struct tsr_instance *p1, struct tsr_instance *p2) {
  fake_prepare(x, kind, text);
  fake_wire(f, x, p0, p1, p2);
}

void fake_drop(struct tsr_instance *x) {
  if (x->ops->fini) x->ops->fini(x->state);
  tsr_mem_free(x->state);
  tsr_mem_free(x->params);
  tsr_mem_free(x->counters);
}

uint64_t fake_counter(const struct tsr_instance *x, const char *name) {
  for (size_t i = 0; x->ops->counters[i].name; i++)
    if (!strcmp(x->ops->counters[i].name, name)) return x->counters[i];
  fail_msg("%s has no counter %s", x->ops->kind, name);
  return 0;
}

void fake_burst(struct tsr_instance *mem, uint64_t bytes, bool write, uint64_t ready_fs,
                uint64_t *start_fs, uint64_t *end_fs) {
  struct tsr_train t = {.n = 1,
                        .burst_bytes = (uint32_t)bytes,
                        .write = write,
                        .n_cores = 1,
                        .ready_fs = {ready_fs}};
  (void)mem->ops->memory->serve(mem->state, &t, 0);
  *start_fs = t.start_fs[0];
  *end_fs = t.end_fs[0];
}

uint64_t fake_move(struct tsr_instance *buf, uint64_t bytes, bool write, uint64_t ready_fs,
                   uint64_t *waited_fs) {
  *waited_fs += buf->ops->buffer->dma(buf->state, bytes, write, 1, &ready_fs);
  return ready_fs;
}

static void start(void *arg) {
  struct ask *a = arg;
  a->started = a->f->now;
  a->unit->ops->unit->start(a->unit->state, &a->req, &a->ticket);
}

static void on_accepted(struct tsr_ticket *t) {
  struct ask *a = (struct ask *)t;
  a->accepted = a->f->now;
  a->n_accepted++;
  if (a->next) start(a->next);
}
static void on_consumed(struct tsr_ticket *t) {
  struct ask *a = (struct ask *)t;
  a->consumed = a->f->now;
  a->n_consumed++;
}
static void on_done(struct tsr_ticket *t) {
  struct ask *a = (struct ask *)t;
  assert_int_equal(a->n_consumed, 1);
  a->done = a->f->now;
  a->n_done++;
}

void fake_chain(struct fake *f, struct tsr_instance *unit, struct ask *asks, size_t n,
                uint64_t fs) {
  for (size_t i = 0; i < n; i++) {
    asks[i].ticket = (struct tsr_ticket){on_accepted, on_consumed, on_done, {0}};
    asks[i].f = f;
    asks[i].unit = unit;
    asks[i].next = i + 1 < n ? &asks[i + 1] : NULL;
    asks[i].n_accepted = asks[i].n_consumed = asks[i].n_done = 0;
  }
  fake_at(f, fs, start, &asks[0]);
}

void fake_check(const struct ask *asks, size_t n) {
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(asks[i].n_accepted, 1);
    assert_int_equal(asks[i].n_consumed, 1);
    assert_int_equal(asks[i].n_done, 1);
    assert_true(asks[i].started <= asks[i].accepted);
    assert_true(asks[i].started <= asks[i].consumed);
    assert_true(asks[i].consumed <= asks[i].done);
  }
}

struct tsr_req fake_bytes(struct tsr_instance *buf, uint64_t base, uint64_t bytes) {
  struct tsr_req q = {.xfer = {.box = {.base_bytes = base,
                                       .rank = 1,
                                       .elem_bytes = 1,
                                       .size = {bytes},
                                       .stride_bytes = {1},
                                       .extent = {bytes},
                                       .step = {1}},
                               .buffer = buf}};
  return q;
}
