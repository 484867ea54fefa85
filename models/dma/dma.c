/* dma.load, dma.store: an engine that moves boxes between DRAM and a scratchpad.
 *
 * Transfers are taken in order; a transfer's bursts are issued in address order,
 * at most `outstanding` of them in flight (issued, last byte not yet where it
 * belongs); the next transfer's bursts follow as soon as the last of this one is
 * issued.  A load's burst goes through DRAM, then into the scratchpad's port; a
 * store's the other way round.  Address generation costs no time.  `mem` is the first
 * of the memories on the way to the DRAM: the interconnect, where there is one.
 *
 * What scratchpad a keeps from layer to layer (TSR_ADDR_NEAR) takes no memory: a burst passes
 * the port of a, and that of its scratchpad.
 *
 * A load for several cores is one read; its bytes go into each core's scratchpad, and it
 * ends when all have them.
 *
 * Engines meet at the DRAM: while more than one has work (`users` of the DRAM's
 * instance), a burst is issued only when its window slot is open, so that each can use
 * the others' gaps; bursts are issued in trains, one event a train.
 *
 * A memory that answers later (`submit`) gets all bursts that the window has room for, and
 * tells when each ended, in its own order; a load's go into the scratchpad's port in that
 * order. */
#include <string.h>

#include "models/dma/walk.h"
#include "models/models_int.h"

enum { OUTSTANDING_MAX = 65536, IN_FLIGHT_MAX = 2 * TSR_TICKETS_MAX };
#define PENDING UINT64_MAX /* of a burst without an answer */

struct params {
  uint64_t outstanding, burst;
};

static const struct tsr_param params[] = {{.key = "outstanding",
                                           .type = TSR_PARAM_QUANTITY,
                                           .unit = TSR_UNIT_COUNT,
                                           .low = 1,
                                           .high = OUTSTANDING_MAX,
                                           .def = "1024",
                                           .offset = offsetof(struct params, outstanding),
                                           .uncertainty = "0.5",
                                           .doc = "bursts that one engine may have in flight",
                                           .src = "SRC:assumed"},
                                          {.key = "burst",
                                           .type = TSR_PARAM_QUANTITY,
                                           .unit = TSR_UNIT_BYTES,
                                           .low = 1,
                                           .high = 65536,
                                           .def = "64B",
                                           .offset = offsetof(struct params, burst),
                                           .uncertainty = "exact",
                                           .doc = "bytes that one DRAM request moves, aligned",
                                           .src = "SRC:assumed"},
                                          {.key = NULL}};

enum { TRANSFERS, BURSTS, BYTES, USEFUL_BYTES, LATENCY_CYCLES, NOC_CYCLES };
static const struct tsr_counter counters[] = {
    {"transfers", TSR_COUNTER_SUM, "transfers done"},
    {"bursts", TSR_COUNTER_SUM, "bursts issued"},
    {"moved_bytes", TSR_COUNTER_SUM, "bytes of those bursts, wherever they came from or went"},
    {"useful_bytes", TSR_COUNTER_SUM, "bytes that the boxes asked for, without padding"},
    {"latency_cycles", TSR_COUNTER_SUM, "cycles of transfers exposed to DRAM latency"},
    {"noc_cycles", TSR_COUNTER_SUM, "cycles of transfers that waited for links and slices"},
    {NULL, TSR_COUNTER_SUM, NULL}};

/* A transfer that is not over. */
struct flight {
  struct tsr_ticket *ticket;
  uint64_t start_fs, done_fs;
  /* where bursts are answered later */
  struct tsr_xfer_req xfer;
  bool issued, near, port_limited;
  uint64_t left; /* of those issued, without an answer */
  uint64_t arrival_fs, end_fs, port_wait_fs;
  struct tsr_standstill before; /* at its start */
};

struct state {
  const struct params *p;
  const struct tsr_env *env;
  uint64_t *counters;
  struct tsr_instance *self;
  struct tsr_instance *mem, *dram; /* the first memory on the way, and the last */
  struct tsr_instance *keeper;     /* scratchpad a */
  uint32_t core, cores;
  bool write; /* to DRAM: a store */
  /* the transfer whose bursts are being issued */
  const struct tsr_req *req;
  struct tsr_ticket *ticket;
  struct tsri_walk walk;
  bool busy; /* it is not accepted yet */
  bool near; /* between scratchpads */
  bool have; /* held is the address of a burst not yet issued */
  uint64_t held;
  struct tsr_train train;
  uint64_t start_fs, idle_gap_fs, window_fs, port_wait_fs, pipe_fs;
  uint64_t taken_fs; /* when the last of its bursts began to be served */
  uint64_t noc_hold_fs, noc_window_fs,
      noc_wait_fs; /* what links and slices have of its lateness */
  uint64_t last_start_fs, last_arrival_fs, read_end_fs, end_fs;
  struct tsr_standstill before; /* of the memory, at its start */
  bool port_limited;            /* the scratchpad's port is slower than the memory */
  uint64_t busy_until_cycle;    /* end of the last span */
  uint64_t done_max_fs;         /* transfers end in order */
  /* window: when the burst `outstanding` before this one ends */
  uint64_t *window_end_fs, slot;
  struct flight flight[IN_FLIGHT_MAX];  /* a ring: transfers are read, and end, in order */
  uint64_t flights, n_consumed, n_done; /* so far */
  /* bursts that are answered later */
  bool later;
  uint32_t id;           /* as the memory knows it */
  bool stalled;          /* the slot of the next burst has no answer yet */
  uint64_t settled;      /* flights of which it is known when they end */
  uint64_t *slot_flight; /* owned; whose burst it is */
};

static void on_answers(void *arg, const struct tsr_answer *list, uint32_t n);

static enum tsr_status init(struct state *s, const void *vp, const struct tsr_wiring *w,
                            bool write, struct tsr_err *err) {
  s->p = vp;
  s->env = w->env;
  s->self = w->self;
  s->counters = w->self->counters;
  s->mem = w->peer[0];
  s->dram = w->peer[1];
  s->keeper = w->peer[2];
  s->core = w->core;
  s->cores = w->cores;
  s->write = write;
  s->window_end_fs = tsr_mem_array(s->p->outstanding, sizeof *s->window_end_fs);
  s->slot_flight = tsr_mem_array(s->p->outstanding, sizeof *s->slot_flight);
  if (!s->window_end_fs || !s->slot_flight) return tsr_err_nomem(err);
  s->later = s->mem->ops->memory->submit;
  if (!s->later) return TSR_OK;
  struct tsr_asker who = {.done = on_answers,
                          .arg = s,
                          .bursts = (uint32_t)s->p->outstanding,
                          .burst_bytes = (uint32_t)s->p->burst};
  return s->mem->ops->memory->join(s->mem->state, &who, &s->id, err);
}
static enum tsr_status init_load(void *vs, const void *vp, const struct tsr_wiring *w,
                                 struct tsr_err *err) {
  return init(vs, vp, w, false, err);
}
static enum tsr_status init_store(void *vs, const void *vp, const struct tsr_wiring *w,
                                  struct tsr_err *err) {
  return init(vs, vp, w, true, err);
}
static void fini(void *vs) {
  struct state *s = vs;
  tsr_mem_free(s->window_end_fs);
  tsr_mem_free(s->slot_flight);
}

static uint64_t cycles_of(const struct state *s, uint64_t fs) {
  return s->env->fs_cycle(s->env->engine, fs);
}

static uint64_t channels_of(const struct state *s) {
  return s->dram->ops->memory->channels(s->dram->params);
}

static void on_consumed(void *arg) {
  struct state *s = arg;
  struct tsr_ticket *t = s->flight[s->n_consumed++ % IN_FLIGHT_MAX].ticket;
  t->consumed(t);
}
static void on_done(void *arg) {
  struct state *s = arg;
  struct tsr_ticket *t = s->flight[s->n_done++ % IN_FLIGHT_MAX].ticket;
  t->done(t);
}
static void on_accepted(void *arg) {
  struct state *s = arg;
  struct tsr_ticket *t = s->ticket;
  s->busy = false;
  if (!s->near) s->dram->users--;
  t->accepted(t);
}

/* The engine is busy from its first burst to the end of its last; transfers that
 * overlap count once. */
static void report_span(struct state *s, uint64_t start_fs, uint64_t done_fs) {
  uint64_t from = tsr_max_u64(cycles_of(s, start_fs), s->busy_until_cycle);
  uint64_t to = cycles_of(s, done_fs);
  if (to <= from) return;
  s->env->span(s->env->engine, s->self->unit, TSR_SPAN_BUSY, from, to - from);
  s->busy_until_cycle = to;
}

/* Of `took` what the memory's data buses did since `before`, where it tells; returns the sum of
 * it.  The memory counts a standstill when it
 * ends, so that more may be told than there was time: then each has its part. */
static uint64_t charge_memory(struct state *s, const struct tsr_standstill *before,
                              uint64_t took_fs, struct tsr_lateness *late) {
  struct tsr_standstill now = *before;
  const struct tsr_memory_ops *dram = s->dram->ops->memory;
  if (dram->stood) dram->stood(s->dram->state, &now);
  const uint64_t part[] = {now.data_fs - before->data_fs, now.bank_fs - before->bank_fs,
                           now.refresh_fs - before->refresh_fs, now.turn_fs - before->turn_fs};
  uint64_t *const out[] = {&late->data_cycles, &late->bank_cycles, &late->refresh_cycles,
                           &late->turn_cycles};
  uint64_t all = part[0] + part[1] + part[2] + part[3];
  for (int i = 0; i < 4; i++) {
    uint64_t fs = part[i];
    if (all > took_fs) fs = (uint64_t)((tsr_u128)fs * took_fs / all);
    *out[i] = cycles_of(s, fs);
  }
  return tsr_min_u64(all, took_fs);
}

/* It is known when flight f ends, done_fs, and why so late. */
static void settle(struct state *s, struct flight *f) {
  const struct tsr_env *e = s->env;
  uint64_t now = e->now_fs(e->engine);
  s->counters[TRANSFERS]++;
  s->counters[LATENCY_CYCLES] += f->ticket->late.latency_cycles;
  s->counters[NOC_CYCLES] += f->ticket->late.noc_cycles;
  report_span(s, f->start_fs, f->done_fs);
  if (!s->write)
    e->at(e->engine, tsr_max_u64(f->done_fs, now), TSR_PRIO_MEMORY, on_consumed, s);
  e->at(e->engine, tsr_max_u64(f->done_fs, now), TSR_PRIO_MEMORY, on_done, s);
}

/* All bursts are issued: the next transfer may start at `free_fs`.  A store's have been read
 * from the scratchpad. */
static void release(struct state *s, uint64_t free_fs) {
  const struct tsr_env *e = s->env;
  uint64_t now = e->now_fs(e->engine);
  s->counters[USEFUL_BYTES] += s->walk.useful_bytes;
  e->at(e->engine, tsr_max_u64(free_fs, now), TSR_PRIO_DMA, on_accepted, s);
  uint64_t read_fs = tsr_max_u64(s->read_end_fs, s->start_fs);
  if (s->write) e->at(e->engine, tsr_max_u64(read_fs, now), TSR_PRIO_MEMORY, on_consumed, s);
}

/* All bursts are issued, and answered. */
static void finish(struct state *s) {
  struct flight *f = &s->flight[s->flights++ % IN_FLIGHT_MAX];
  s->done_max_fs = tsr_max_u64(s->done_max_fs, s->end_fs);
  *f = (struct flight){.ticket = s->ticket, .start_fs = s->start_fs, .done_fs = s->done_max_fs};
  uint64_t channels = channels_of(s);
  uint64_t exposed_fs = tsr_min_u64(s->pipe_fs, s->idle_gap_fs);
  uint64_t noc_fs = s->noc_hold_fs + s->noc_wait_fs + s->noc_window_fs / channels;
  uint64_t conflict_fs = s->port_wait_fs + (s->end_fs - s->last_arrival_fs);
  *(s->port_limited ? &conflict_fs : &exposed_fs) += s->window_fs / channels;
  if (s->near) conflict_fs = s->end_fs - s->start_fs; /* all of its time is the ports' */
  s->ticket->late = (struct tsr_lateness){.latency_cycles = cycles_of(s, exposed_fs),
                                          .conflict_cycles = cycles_of(s, conflict_fs),
                                          .noc_cycles = cycles_of(s, noc_fs)};
  (void)charge_memory(s, &s->before, s->end_fs - s->start_fs, &s->ticket->late);
  release(s, s->last_start_fs);
  settle(s, f);
}

/* Collects the next train: bursts whose window slots are known, and while another
 * engine has work only those that can start at once.  *open_fs: when the first burst
 * left out can start; false: the transfer has no more. */
static bool collect(struct state *s, uint64_t now, uint64_t *open_fs) {
  bool shared = !s->near && s->dram->users > 1;
  uint64_t free = shared ? s->mem->ops->memory->free_fs(s->mem->state) : 0, slot = s->slot;
  uint64_t max = tsr_min_u64(TSR_TRAIN_MAX, s->p->outstanding);
  struct tsr_train *t = &s->train;
  for (t->n = 0; t->n < max; t->n++) {
    if (!s->have && !tsri_walk_next(&s->walk, &s->held)) return false;
    s->have = true;
    uint64_t open = tsr_max_u64(s->window_end_fs[slot], now);
    if (shared && open > now && open > free) {
      *open_fs = open;
      return true;
    }
    t->addr[t->n] = s->held & ~TSR_ADDR_PAST;
    t->ready_fs[t->n] = open;
    s->have = false;
    slot = slot + 1 == s->p->outstanding ? 0 : slot + 1;
  }
  *open_fs = 0;
  return true;
}

/* Instants in order, each with its place; they mostly are. */
static void sort_pairs(uint64_t *fs, uint32_t *place, uint32_t n) {
  for (uint32_t i = 1; i < n; i++) {
    uint64_t x = fs[i];
    uint32_t p = place[i], k = i;
    for (; k > 0 && fs[k - 1] > x; k--) {
      fs[k] = fs[k - 1];
      place[k] = place[k - 1];
    }
    fs[k] = x;
    place[k] = p;
  }
}

/* Bursts of a load, there at end_fs[i], go into every core's scratchpad; end_fs[i] becomes when
 * the last has taken them.  How long they waited for the ports. */
static uint64_t deliver(const struct state *s, const struct tsr_xfer_req *q, uint32_t n,
                        uint64_t *end_fs) {
  uint64_t arrive_fs[TSR_TRAIN_MAX], waited = 0;
  uint32_t place[TSR_TRAIN_MAX];
  for (uint32_t i = 0; i < n; i++) place[i] = i;
  memcpy(arrive_fs, end_fs, n * sizeof *arrive_fs);
  if (s->dram->ops->memory->stood) sort_pairs(arrive_fs, place, n);
  for (uint32_t k = 0; k <= q->n_others; k++) {
    struct tsr_instance *buf = k ? q->others[k - 1] : q->buffer;
    uint64_t taken_fs[TSR_TRAIN_MAX];
    memcpy(taken_fs, arrive_fs, n * sizeof *taken_fs);
    uint64_t w = buf->ops->buffer->dma(buf->state, s->p->burst, true, n, taken_fs);
    waited = tsr_max_u64(waited, w);
    for (uint32_t i = 0; i < n; i++)
      end_fs[place[i]] = tsr_max_u64(end_fs[place[i]], taken_fs[i]);
  }
  return waited;
}

/* How long the engine's window kept it from issuing: from the start of one burst until the
 * slot of the next was open. */
static uint64_t kept_by_window(const struct state *s, const uint64_t *open_fs) {
  uint64_t kept = 0, taken = s->taken_fs;
  for (uint32_t i = 0; i < s->train.n; i++) {
    if (open_fs[i] > taken) kept += open_fs[i] - taken;
    taken = tsr_max_u64(tsr_max_u64(taken, open_fs[i]), s->train.start_fs[i]);
  }
  return kept;
}

/* What links and slices have of a train's lateness: by how much they held back its last
 * burst, and the next train with it.  Else the memory stood idle because the window was
 * full, of bursts that waited for links or for latency, as the last burst shows.  What the
 * memory says of that is about one core; of several each knows its own window. */
static void charge_wait(struct state *s, const uint64_t *open_fs, uint64_t idle_fs) {
  const struct tsr_train *t = &s->train;
  uint64_t wait = t->noc_fs - t->hold_fs, noc = 0, channels = channels_of(s);
  uint64_t last = tsr_max_u64(t->start_fs[t->n - 1], s->taken_fs);
  uint64_t held = tsr_min_u64(t->hold_fs, last - s->taken_fs);
  if (s->cores > 1)
    idle_fs = kept_by_window(s, open_fs) * channels;
  else
    idle_fs -= tsr_min_u64(idle_fs, held * channels);
  if (wait) noc = (uint64_t)((tsr_u128)idle_fs * wait / ((tsr_u128)wait + s->pipe_fs));
  s->noc_window_fs += noc;
  s->window_fs += idle_fs - noc;
  s->noc_hold_fs += held;
  s->noc_wait_fs = wait;
  for (uint32_t i = 0; i < t->n; i++) s->taken_fs = tsr_max_u64(s->taken_fs, t->start_fs[i]);
}

/* Bursts that pass the port of scratchpad a where others pass the memory. */
static void serve_near(struct state *s) {
  struct tsr_train *t = &s->train;
  memcpy(t->end_fs, t->ready_fs, t->n * sizeof *t->end_fs);
  s->port_wait_fs +=
      s->keeper->ops->buffer->dma(s->keeper->state, t->burst_bytes, s->write, t->n, t->end_fs);
  memcpy(t->start_fs, s->write ? t->ready_fs : t->end_fs, t->n * sizeof *t->start_fs);
}

/* A store's bursts are read from the scratchpad. */
static void fetch(struct state *s) {
  struct tsr_instance *buf = s->req->xfer.buffer;
  struct tsr_train *t = &s->train;
  s->port_wait_fs +=
      buf->ops->buffer->dma(buf->state, t->burst_bytes, false, t->n, t->ready_fs);
  s->read_end_fs = t->ready_fs[t->n - 1];
}

static void issue(struct state *s) {
  const struct tsr_memory_ops *mem = s->mem->ops->memory;
  struct tsr_train *t = &s->train;
  uint64_t open_fs[TSR_TRAIN_MAX];
  if (t->n == 0) return;
  memcpy(open_fs, t->ready_fs, t->n * sizeof *open_fs);
  if (s->write) fetch(s);
  if (s->near)
    serve_near(s);
  else
    charge_wait(s, open_fs, mem->serve(s->mem->state, t, s->start_fs));
  for (uint32_t i = s->dram->ops->memory->stood ? 0 : t->n - 1; i < t->n; i++)
    s->last_arrival_fs = tsr_max_u64(s->last_arrival_fs, t->end_fs[i]);
  if (!s->write) s->port_wait_fs += deliver(s, &s->req->xfer, t->n, t->end_fs);
  for (uint32_t i = 0; i < t->n; i++) {
    s->window_end_fs[s->slot] = t->end_fs[i];
    s->slot = s->slot + 1 == s->p->outstanding ? 0 : s->slot + 1;
    s->end_fs = tsr_max_u64(s->end_fs, t->end_fs[i]);
  }
  s->last_start_fs = t->start_fs[t->n - 1];
  s->counters[BURSTS] += t->n;
  s->counters[BYTES] += t->n * s->p->burst;
}

/* ---- bursts that are answered later ---- */

/* Those that have all their answers end, in their order. */
static void settle_answered(struct state *s) {
  for (; s->settled < s->flights; s->settled++) {
    struct flight *f = &s->flight[s->settled % IN_FLIGHT_MAX];
    struct tsr_lateness *late = &f->ticket->late;
    if (!f->issued || f->left) return;
    uint64_t took_fs = f->end_fs - f->start_fs, port_fs = f->port_wait_fs;
    *late = (struct tsr_lateness){0};
    uint64_t stood_fs = f->near ? 0 : charge_memory(s, &f->before, took_fs, late);
    port_fs = f->near ? took_fs : port_fs + (f->end_fs - f->arrival_fs);
    uint64_t other_fs = took_fs - tsr_min_u64(took_fs, stood_fs + port_fs);
    if (f->port_limited)
      port_fs += other_fs;
    else
      late->latency_cycles = cycles_of(s, other_fs);
    late->conflict_cycles = cycles_of(s, port_fs);
    s->done_max_fs = tsr_max_u64(s->done_max_fs, f->end_fs);
    f->done_fs = s->done_max_fs;
    settle(s, f);
  }
}

/* The next train: bursts whose slots have had their answers; 0: it has no more. */
static bool collect_answered(struct state *s, uint64_t now) {
  uint64_t slot = s->slot;
  struct tsr_train *t = &s->train;
  s->stalled = false;
  for (t->n = 0; t->n < TSR_TRAIN_MAX; t->n++) {
    if (!s->have && !tsri_walk_next(&s->walk, &s->held)) return false;
    s->have = true;
    s->stalled = s->window_end_fs[slot] == PENDING || t->n == s->p->outstanding;
    if (s->stalled) return true;
    t->addr[t->n] = s->held & ~TSR_ADDR_PAST;
    t->ready_fs[t->n] = tsr_max_u64(s->window_end_fs[slot], now);
    s->have = false;
    slot = slot + 1 == s->p->outstanding ? 0 : slot + 1;
  }
  return true;
}

static void send(struct state *s) {
  struct tsr_train *t = &s->train;
  struct flight *f = &s->flight[(s->flights - 1) % IN_FLIGHT_MAX];
  uint32_t tag[TSR_TRAIN_MAX];
  if (t->n == 0) return;
  uint64_t waited = s->port_wait_fs;
  if (s->write) fetch(s);
  f->port_wait_fs += s->port_wait_fs - waited;
  for (uint32_t i = 0; i < t->n; i++) {
    tag[i] = (uint32_t)s->slot;
    s->window_end_fs[s->slot] = PENDING;
    s->slot_flight[s->slot] = s->flights - 1;
    s->slot = s->slot + 1 == s->p->outstanding ? 0 : s->slot + 1;
  }
  f->left += t->n;
  s->counters[BURSTS] += t->n;
  s->counters[BYTES] += t->n * s->p->burst;
  s->mem->ops->memory->submit(s->mem->state, s->id, t, tag);
}

/* Sends all that the window has room for. */
static void send_all(struct state *s) {
  const struct tsr_env *e = s->env;
  struct flight *f = &s->flight[(s->flights - 1) % IN_FLIGHT_MAX];
  for (bool more = true; more && !s->stalled;) {
    more = collect_answered(s, e->now_fs(e->engine));
    if (s->near) {
      issue(s);
      f->end_fs = s->end_fs;
    } else {
      send(s);
    }
    if (more) continue;
    f->issued = true;
    release(s, s->near ? s->last_start_fs : 0);
  }
}

/* Answers to bursts of one transfer. */
static void take_answers(struct state *s, const struct tsr_answer *list, uint32_t n) {
  struct flight *f = &s->flight[s->slot_flight[list[0].tag] % IN_FLIGHT_MAX];
  uint64_t end_fs[TSR_TRAIN_MAX];
  for (uint32_t i = 0; i < n; i++) end_fs[i] = list[i].end_fs;
  f->arrival_fs = tsr_max_u64(f->arrival_fs, end_fs[n - 1]);
  if (!s->write) f->port_wait_fs += deliver(s, &f->xfer, n, end_fs);
  for (uint32_t i = 0; i < n; i++) {
    s->window_end_fs[list[i].tag] = end_fs[i];
    f->end_fs = tsr_max_u64(f->end_fs, end_fs[i]);
  }
  f->left -= n;
}

static void on_answers(void *arg, const struct tsr_answer *list, uint32_t n) {
  struct state *s = arg;
  for (uint32_t i = 0, k; i < n; i += k) {
    uint64_t flight = s->slot_flight[list[i].tag];
    for (k = 1; i + k < n && k < TSR_TRAIN_MAX; k++)
      if (s->slot_flight[list[i + k].tag] != flight) break;
    take_answers(s, list + i, k);
  }
  if (s->stalled) {
    s->stalled = false;
    send_all(s);
  }
  settle_answered(s);
}

static void start_later(struct state *s) {
  struct flight *f = &s->flight[s->flights++ % IN_FLIGHT_MAX];
  *f = (struct flight){.ticket = s->ticket,
                       .start_fs = s->start_fs,
                       .xfer = s->req->xfer,
                       .near = s->near,
                       .port_limited = s->port_limited,
                       .arrival_fs = s->start_fs,
                       .end_fs = s->start_fs,
                       .before = s->before};
  send_all(s);
  settle_answered(s);
}

/* ---- bursts that are answered at once ---- */

static void pump(void *arg) {
  struct state *s = arg;
  const struct tsr_env *e = s->env;
  uint64_t now = e->now_fs(e->engine), open_fs = 0;
  bool more = collect(s, now, &open_fs);
  issue(s);
  if (!more)
    finish(s);
  else
    e->at(e->engine, tsr_max_u64(open_fs ? open_fs : s->last_start_fs, now), TSR_PRIO_DMA, pump,
          s);
}

/* Whether the port of a buffer moves less than the memory. */
static bool slower(const struct state *s, const struct tsr_instance *buf) {
  uint64_t port = buf->ops->buffer->bytes_per_cycle(buf->params);
  uint64_t rate = s->dram->ops->memory->bandwidth(s->dram->params);
  return port != TSR_UNLIMITED && (tsr_u128)port * s->env->clock_hz < rate;
}

static void start(void *vs, const struct tsr_req *req, struct tsr_ticket *t) {
  struct state *s = vs;
  const struct tsr_env *e = s->env;
  s->near = req->xfer.box.base_bytes & TSR_ADDR_NEAR;
  if (!s->near) s->dram->users++;
  s->busy = true;
  s->req = req;
  s->ticket = t;
  s->have = false;
  s->start_fs = e->now_fs(e->engine);
  uint64_t free = s->dram->ops->memory->free_fs(s->dram->state);
  s->idle_gap_fs = s->start_fs > free ? s->start_fs - free : 0;
  if (s->dram->ops->memory->bandwidth(s->dram->params) == TSR_UNLIMITED)
    s->idle_gap_fs = UINT64_MAX; /* nothing but latency can make it late */
  s->pipe_fs = s->near ? 0 : s->mem->ops->memory->pipe_fs(s->mem->state, s->p->burst);
  s->window_fs = s->port_wait_fs = 0;
  s->noc_hold_fs = s->noc_window_fs = s->noc_wait_fs = 0;
  s->last_start_fs = s->last_arrival_fs = s->read_end_fs = s->end_fs = s->start_fs;
  s->taken_fs = s->start_fs;
  s->port_limited = slower(s, req->xfer.buffer);
  for (uint32_t i = 0; i < req->xfer.n_others; i++)
    s->port_limited = s->port_limited || slower(s, req->xfer.others[i]);
  s->train.burst_bytes = (uint32_t)s->p->burst;
  s->train.write = s->write;
  s->train.past = req->xfer.box.base_bytes & TSR_ADDR_PAST;
  s->train.core = s->core;
  s->train.n_cores = 1 + req->xfer.n_others;
  s->before = (struct tsr_standstill){0};
  if (s->dram->ops->memory->stood) s->dram->ops->memory->stood(s->dram->state, &s->before);
  tsri_walk_init(&s->walk, &req->xfer.box, req->xfer.index, s->p->burst);
  if (s->later)
    start_later(s);
  else
    pump(s);
}

static void end(void *vs) {
  (void)vs;
}

/* ---- repetition ---- */

/* Where a transfer whose bursts are being issued stands. */
static void visit_transfer(struct state *s, struct tsr_visit *v) {
  uint64_t *const instants[] = {&s->start_fs,        &s->taken_fs,    &s->last_start_fs,
                                &s->last_arrival_fs, &s->read_end_fs, &s->end_fs};
  const uint64_t spans[] = {s->idle_gap_fs, s->window_fs,     s->port_wait_fs, s->pipe_fs,
                            s->noc_hold_fs, s->noc_window_fs, s->noc_wait_fs,  s->port_limited};
  for (size_t i = 0; i < sizeof instants / sizeof *instants; i++) tsr_visit_fs(v, instants[i]);
  for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) tsr_visit_value(v, spans[i]);
  tsr_visit_pointer(v, s->req);
  tsr_visit_pointer(v, s->ticket);
  tsr_visit_value(v, s->have);
  tsr_visit_value(v, s->near);
  tsri_walk_visit(&s->walk, v);
}

static void visit(void *vs, struct tsr_visit *v) {
  struct state *s = vs;
  uint64_t slot = s->slot, most = s->p->outstanding;
  uint64_t begun = s->busy ? cycles_of(s, s->start_fs) : v->now_cycle;
  tsr_visit_value(v, s->busy);
  if (s->busy) visit_transfer(s, v);
  tsr_visit_cycle_floor(v, &s->busy_until_cycle, begun);
  tsr_visit_fs_floor(v, &s->done_max_fs, v->now_fs);
  tsr_visit_value(v, s->flights - s->n_consumed);
  tsr_visit_value(v, s->flights - s->n_done);
  for (uint64_t i = s->n_done; i < s->flights; i++)
    tsr_visit_pointer(v, s->flight[i % IN_FLIGHT_MAX].ticket);
  /* the window: slots that are open are alike */
  for (uint64_t i = 0; i < most; i++) {
    uint64_t *end = &s->window_end_fs[slot];
    slot = slot + 1 == most ? 0 : slot + 1;
    if (*end <= v->now_fs) continue;
    tsr_visit_value(v, i);
    tsr_visit_fs(v, end);
  }
}

static void rest(void *vs) {
  struct state *s = vs;
  memset(s->window_end_fs, 0, s->p->outstanding * sizeof *s->window_end_fs);
  s->slot = 0;
  s->busy_until_cycle = s->done_max_fs = 0;
}

static void estimate(const void *vp, const struct tsr_req *req, struct tsr_estimate *out) {
  const struct params *p = vp;
  const struct tsr_box *b = &req->xfer.box;
  uint64_t runs = 1, inner = b->elem_bytes;
  for (uint32_t i = 0; i < b->rank; i++) {
    bool listed = i == 0 && req->xfer.index;
    uint64_t n = listed ? b->extent[0] : tsr_min_u64(b->extent[i], b->size[i]);
    if (!listed && i + 1 == b->rank && b->stride_bytes[i] * b->step[i] == b->elem_bytes)
      inner *= n;
    else if (!tsr_mul_u64(runs, n, &runs))
      runs = UINT64_MAX / 8;
  }
  uint64_t bursts;
  if (!tsr_mul_u64(runs, inner / p->burst + 1, &bursts)) bursts = UINT64_MAX / 8;
  uint64_t train = tsr_min_u64(TSR_TRAIN_MAX, p->outstanding);
  /* twice: another engine may cut trains short */
  *out = (struct tsr_estimate){.events = 4 + 2 * (bursts / train)};
}

static void facts(const void *vp, struct tsr_unit_facts *out) {
  const struct params *p = vp;
  *out = (struct tsr_unit_facts){.outstanding = p->outstanding, .burst_bytes = p->burst};
}

static const struct tsr_unit_ops unit = {
    .start = start, .end = end, .estimate = estimate, .facts = facts};
/* Which scratchpad a transfer uses, its request says; the ports show which it may. */
static const struct tsr_port load_ports[] = {{"mem", "dram|noc|llb"}, {"dram", "dram"},
                                             {"a", "sram"},           {"b", "sram"},
                                             {"c", "sram"},           {NULL, NULL}};
static const struct tsr_port store_ports[] = {{"mem", "dram|noc|llb"}, {"dram", "dram"},
                                              {"a", "sram"},           {"b", "sram"},
                                              {"c", "sram"},           {NULL, NULL}};

const struct tsr_component tsri_dma_load = {.abi = TSR_MODEL_ABI,
                                            .kind = "dma.load",
                                            .doc = "DMA engine from DRAM to scratchpads",
                                            .state_size = sizeof(struct state),
                                            .params_size = sizeof(struct params),
                                            .params = params,
                                            .counters = counters,
                                            .ports = load_ports,
                                            .init = init_load,
                                            .fini = fini,
                                            .visit = visit,
                                            .rest = rest,
                                            .unit = &unit};
const struct tsr_component tsri_dma_store = {.abi = TSR_MODEL_ABI,
                                             .kind = "dma.store",
                                             .doc = "DMA engine from scratchpads to DRAM",
                                             .state_size = sizeof(struct state),
                                             .params_size = sizeof(struct params),
                                             .params = params,
                                             .counters = counters,
                                             .ports = store_ports,
                                             .init = init_store,
                                             .fini = fini,
                                             .visit = visit,
                                             .rest = rest,
                                             .unit = &unit};
