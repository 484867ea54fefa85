/* dram.banks: DRAM by its banks, behind a controller by channel.
 *
 * A burst is cut into the transactions of the device, each to its channel (models/dram/addr.h).
 * They come `frontend` after the burst was sent and wait at their channel's door, reads and
 * writes apart, while there is no room.  A write is over when its channel has taken it, and is
 * written when the channel turns to writing; a read is over when its last datum has come back.
 *
 * A command makes known when its data end, CL + BL clocks ahead.  So the channels are run in
 * strides of that length, each up to now, and nothing that was to be told is late: but what is
 * answered without a command (a write, a read of what waits to be written) is told up to a
 * stride later than it happened.
 *
 * A memory in front (interconnect, last-level buffer) wants a train answered at once (`serve`):
 * its reads are given their commands, among themselves in the order of the controller, before
 * another train's are looked at.  What a later train would have overtaken is not; rows of later
 * trains are opened in time all the same, because commands of rows and of columns are kept in
 * order each for itself; and a refresh of banks one by one, which only helps where others go on
 * meanwhile, is one of all banks.
 *
 * Units: fs outside, clocks of the DRAM inside; clock n begins at n times tCK. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/dram/channel.h"
#include "models/models_int.h"
#include "sim/base/mem.h"

enum { WAIT_MAX = 1 << 22 }; /* transactions of one asker */

/* What is reported: of the channels' sums those that concern everyone, and bytes. */
#define COUNTERS(X)                                                              \
  X(acts, "activates", "rows opened")                                            \
  X(pres, "precharges", "rows closed by command")                                \
  X(refs, "refreshes", "refreshes of all banks of a unit")                       \
  X(refbs, "bank_refreshes", "refreshes of one bank")                            \
  X(hits, "row_hits", "transactions that found their row open")                  \
  X(conflicts, "row_conflicts", "transactions that found another one open")      \
  X(forwards, "forwards", "reads answered by a write that waited")               \
  X(turnarounds, "turnarounds", "turns of a data bus to the other direction")    \
  X(queue_clocks, "queue_clocks", "clocks of transactions in queues, summed")    \
  X(bank_clocks, "bank_clocks", "clocks of data buses idle for a row or bank")   \
  X(refresh_clocks, "refresh_clocks", "clocks of data buses idle for a refresh") \
  X(turn_clocks, "turn_clocks", "clocks of data buses idle for a turn")

enum {
  READ_BYTES,
  WRITE_BYTES,
  CROWD_CLOCKS,
#define X(field, name, doc) C_##field,
  COUNTERS(X)
#undef X
};
static const struct tsr_counter counters[] = {
    {"read_bytes", TSR_COUNTER_SUM, "bytes of read bursts"},
    {"write_bytes", TSR_COUNTER_SUM, "bytes of write bursts"},
    {"crowd_clocks", TSR_COUNTER_SUM,
     "clocks of data buses idle where others had it all to do"},
#define X(field, name, doc) {name, TSR_COUNTER_SUM, doc},
    COUNTERS(X)
#undef X
        {NULL, TSR_COUNTER_SUM, NULL}};

struct channel_use {
  uint64_t bytes, wait_fs; /* so far */
};

struct waiter { /* a transaction at its channel's door */
  struct tsri_place_of at;
  uint64_t addr, arrive, tag;
  struct waiter *prev, *next; /* by time */
};
struct door {
  struct waiter *first, *last;
};

struct burst {
  uint64_t end;  /* clock */
  uint32_t left; /* transactions that are not over */
  bool write;
};
struct asker {
  struct tsr_asker who;
  uint32_t parts;          /* transactions of a burst, at most */
  struct burst *burst;     /* owned; by tag */
  struct waiter *waiter;   /* owned; of a tag `parts` */
  struct tsr_answer *over; /* owned; of this stride */
  uint32_t n_over;
};

struct state {
  const struct tsr_dram_config *given;
  struct tsr_dram_config c; /* as it is run */
  const struct tsr_env *env;
  uint64_t *counters;
  struct tsri_addr_map map;
  struct tsri_channel *channel; /* owned */
  uint32_t n;                   /* channels that are there */
  struct tsri_channel_sums sums;
  struct tsri_timeline timeline;
  struct channel_use *use; /* owned; by channel */
  uint64_t *core_bytes;    /* owned; read and written, by core */
  uint32_t cores;
  /* bursts answered later */
  struct door (*door)[2]; /* owned; by channel, reads and writes */
  struct asker *asker;    /* owned */
  size_t n_askers, cap_askers;
  uint64_t in_flight; /* bursts without an answer */
  bool striding;      /* the next stride is on its way */
  uint64_t until;     /* clock up to which the last one went */
  uint64_t crowded;   /* clocks by buses: idle where others had it all to do */
  /* trains answered at once */
  struct tsr_train *train; /* that is served */
};

/* ---- time ---- */

static uint64_t clock_at(const struct state *s, uint64_t fs) {
  return tsr_ceil_div(fs, s->c.tck_fs);
}
static uint64_t fs_at(const struct state *s, uint64_t clock) {
  uint64_t fs;
  return tsr_mul_u64(clock, s->c.tck_fs, &fs) ? fs : UINT64_MAX - 1;
}

/* ---- life ---- */

static void close_channels(struct state *s) {
  while (s->n) tsri_channel_fini(&s->channel[--s->n]);
}

static void fini(void *vs) {
  struct state *s = vs;
  close_channels(s);
  for (size_t i = 0; i < s->n_askers; i++) {
    tsr_mem_free(s->asker[i].burst);
    tsr_mem_free(s->asker[i].waiter);
    tsr_mem_free(s->asker[i].over);
  }
  tsr_mem_free(s->asker);
  tsr_mem_free(s->channel);
  tsr_mem_free(s->use);
  tsr_mem_free(s->door);
  tsr_mem_free(s->core_bytes);
}

static void on_over(void *arg, uint64_t tag, uint64_t clock);

static enum tsr_status open_channels(struct state *s, struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  for (; !st && s->n < s->c.org.channels; s->n++) {
    struct tsri_channel *ch = &s->channel[s->n];
    st = tsri_channel_init(ch, &s->c, &s->sums, err);
    ch->done = on_over;
    ch->arg = s;
    ch->timeline = &s->timeline;
  }
  return st;
}

static enum tsr_status init(void *vs, const void *vp, const struct tsr_wiring *w,
                            struct tsr_err *err) {
  struct state *s = vs;
  s->given = vp;
  s->c = *s->given;
  enum tsr_status st = tsr_dram_check(&s->c, err);
  if (!st) st = tsri_addr_init(&s->map, &s->c, err);
  if (st) return st;
  s->env = w->env;
  s->counters = w->self->counters;
  s->cores = w->cores;
  s->timeline.clocks = 64;
  size_t n = s->c.org.channels;
  s->channel = tsr_mem_array(n, sizeof *s->channel);
  s->use = tsr_mem_array(n, sizeof *s->use);
  s->door = tsr_mem_array(n, sizeof *s->door);
  s->core_bytes = tsr_mem_array((size_t)w->cores * 2 + 1, sizeof *s->core_bytes);
  if (!s->channel || !s->use || !s->door || !s->core_bytes) return tsr_err_nomem(err);
  s->c.org.dual_bus = true; /* for trains answered at once, until someone joins */
  s->c.p.one_command = 0;
  if (s->c.refresh == TSR_DRAM_REFRESH_BANK) s->c.refresh = TSR_DRAM_REFRESH_ALL;
  return open_channels(s, err);
}

static void report(struct state *s) {
  s->counters[CROWD_CLOCKS] = s->crowded;
#define X(field, name, doc) s->counters[C_##field] = s->sums.field;
  COUNTERS(X)
#undef X
}

static void count_train(struct state *s, const struct tsr_train *t) {
  uint64_t bytes = (uint64_t)t->n * t->burst_bytes;
  TSR_CHECK(t->core < s->cores);
  s->core_bytes[2 * (size_t)t->core + t->write] += bytes;
  s->counters[t->write ? WRITE_BYTES : READ_BYTES] += bytes;
}

/* The channel takes in what arrived at `arrive`. */
static void take_in(struct state *s, struct tsri_place_of at, uint64_t addr, uint64_t arrive,
                    uint64_t taken, bool write, uint64_t tag) {
  s->use[at.channel].bytes += s->c.org.tx_bytes;
  s->use[at.channel].wait_fs += (taken - arrive) * s->c.tck_fs;
  tsri_channel_accept(&s->channel[at.channel], taken, at, addr, write, tag);
}

/* ---- answers later: doors ---- */

/* The controller as it is, command by command. */
static enum tsr_status take_turns(struct state *s, struct tsr_err *err) {
  close_channels(s);
  s->c = *s->given;
  return open_channels(s, err);
}

static enum tsr_status join(void *vs, const struct tsr_asker *who, uint32_t *id,
                            struct tsr_err *err) {
  struct state *s = vs;
  uint64_t parts = who->burst_bytes / s->c.org.tx_bytes + 2;
  if (who->bursts * parts > WAIT_MAX)
    return tsr_err_set(err, TSR_INPUT,
                       "dram.banks: %" PRIu32 " bursts of %" PRIu32
                       " B in flight are more than %d transactions of %" PRIu64 " B",
                       who->bursts, who->burst_bytes, WAIT_MAX, (uint64_t)s->c.org.tx_bytes);
  enum tsr_status st = s->n_askers ? TSR_OK : take_turns(s, err);
  if (st) return st;
  if (!s->n_askers && who->burst_bytes < s->c.org.tx_bytes)
    tsr_err_warn(err, NULL,
                 "dma.burst: %" PRIu32 " B are less than a transaction of this DRAM, %" PRIu64
                 " B: the rest of it is moved for nothing",
                 who->burst_bytes, (uint64_t)s->c.org.tx_bytes);
  if (!tsr_mem_grow((void **)&s->asker, &s->cap_askers, s->n_askers + 1, sizeof *s->asker))
    return tsr_err_nomem(err);
  *id = (uint32_t)s->n_askers;
  struct asker *a = &s->asker[s->n_askers++];
  *a = (struct asker){.who = *who, .parts = (uint32_t)parts};
  a->burst = tsr_mem_array(who->bursts, sizeof *a->burst);
  a->waiter = tsr_mem_array(who->bursts * parts, sizeof *a->waiter);
  a->over = tsr_mem_array(who->bursts, sizeof *a->over);
  return a->burst && a->waiter && a->over ? TSR_OK : tsr_err_nomem(err);
}

static void line_up(struct door *d, struct waiter *w) {
  struct waiter *before = d->last;
  while (before && before->arrive > w->arrive) before = before->prev;
  w->prev = before;
  w->next = before ? before->next : d->first;
  *(w->prev ? &w->prev->next : &d->first) = w;
  *(w->next ? &w->next->prev : &d->last) = w;
}
static void go_in(struct state *s, struct door *d, bool write, uint64_t taken) {
  struct waiter *w = d->first;
  d->first = w->next;
  *(d->first ? &d->first->prev : &d->last) = NULL;
  take_in(s, w->at, w->addr, w->arrive, taken, write, w->tag);
}

static void stride(void *arg);
static void stride_at(struct state *s, uint64_t clock) {
  s->striding = true;
  s->env->at(s->env->engine, fs_at(s, clock), TSR_PRIO_MEMORY, stride, s);
}

static void submit(void *vs, uint32_t id, const struct tsr_train *t, const uint32_t *tag) {
  struct state *s = vs;
  struct asker *a = &s->asker[id];
  const uint64_t tx = s->c.org.tx_bytes;
  for (uint32_t i = 0; i < t->n; i++) {
    struct burst *b = &a->burst[tag[i]];
    struct waiter *w = &a->waiter[(size_t)tag[i] * a->parts];
    uint64_t end = t->addr[i] + t->burst_bytes,
             arrive = clock_at(s, t->ready_fs[i] + s->c.frontend_fs);
    *b = (struct burst){.write = t->write};
    for (uint64_t addr = t->addr[i] & ~(tx - 1); addr < end; addr += tx, w++, b->left++) {
      *w = (struct waiter){.at = tsri_addr_place(&s->map, addr),
                           .addr = addr,
                           .arrive = tsr_max_u64(arrive, s->until),
                           .tag = (uint64_t)id << 32 | tag[i]};
      line_up(&s->door[w->at.channel][t->write], w);
    }
  }
  s->in_flight += t->n;
  count_train(s, t);
  if (!s->striding) {
    uint64_t now = clock_at(s, s->env->now_fs(s->env->engine));
    s->until = now;
    stride_at(s, now + s->c.t.cl + s->c.t.bl);
  }
}

/* Which door's first goes in next: one that arrives before `limit` and has room, the earliest
 * of two; -1: none.  *shut: the doors that have one without room, a bit each. */
static int next_in(const struct state *s, uint32_t c, uint64_t from, uint64_t limit,
                   int *shut) {
  uint64_t at = limit;
  int d = -1;
  *shut = 0;
  for (int i = 0; i < 2; i++) {
    const struct waiter *w = s->door[c][i].first;
    if (!w || w->arrive >= limit) continue;
    if (!tsri_channel_room(&s->channel[c], i)) {
      *shut |= 1 << i;
    } else if (tsr_max_u64(w->arrive, from) < at) {
      at = tsr_max_u64(w->arrive, from);
      d = i;
    }
  }
  return d;
}

/* What comes to a channel's doors before `limit` goes in, each as soon as there is room; the
 * channel is run up to there. */
static void run_channel(struct state *s, uint32_t c, uint64_t limit) {
  static const enum tsri_until room[] = {TSRI_UNTIL_LIMIT, TSRI_UNTIL_READ_ROOM,
                                         TSRI_UNTIL_WRITE_ROOM, TSRI_UNTIL_ROOM};
  struct tsri_channel *ch = &s->channel[c];
  int d, shut;
  uint64_t from = 0;
  while ((d = next_in(s, c, from, limit, &shut)) >= 0 || shut) {
    uint64_t goal = d < 0 ? limit - 1 : tsr_max_u64(s->door[c][d].first->arrive, from);
    if (shut) {
      uint64_t freed = tsri_channel_run(ch, goal + 1, room[shut]);
      if (freed <= goal) {
        from = tsr_max_u64(from, freed);
        continue;
      }
      if (d < 0) return;
    }
    (void)tsri_channel_run(ch, goal + 1, TSRI_UNTIL_LIMIT);
    from = goal;
    go_in(s, &s->door[c][d], d, goal);
  }
  (void)tsri_channel_run(ch, limit, TSRI_UNTIL_LIMIT);
}

/* Channels that wait for nothing while others cannot take what comes. */
static void see_crowd(struct state *s, uint64_t clocks) {
  bool crowd = false;
  uint64_t idle = 0;
  for (uint32_t c = 0; c < s->n; c++) {
    if (s->door[c][0].first || s->door[c][1].first) crowd = true;
    uint64_t waiting = 0;
    for (uint32_t u = 0; u < s->c.org.units; u++) {
      waiting += s->channel[c].unit[u].waiting;
      if (!s->c.org.shared_bus) idle += !s->channel[c].unit[u].waiting;
    }
    if (s->c.org.shared_bus) idle += !waiting;
  }
  if (crowd) s->crowded += idle * clocks;
}

static int by_time(const void *pa, const void *pb) {
  const struct tsr_answer *a = pa, *b = pb;
  if (a->end_fs != b->end_fs) return a->end_fs < b->end_fs ? -1 : 1;
  return a->tag < b->tag ? -1 : a->tag > b->tag;
}

static void tell(struct state *s) {
  for (size_t i = 0; i < s->n_askers; i++) {
    struct asker *a = &s->asker[i];
    uint32_t n = a->n_over;
    if (!n) continue;
    qsort(a->over, n, sizeof *a->over, by_time);
    a->n_over = 0;
    s->in_flight -= n;
    a->who.done(a->who.arg, a->over, n);
  }
}

static void stride(void *arg) {
  struct state *s = arg;
  uint64_t now = clock_at(s, s->env->now_fs(s->env->engine));
  s->striding = false;
  for (uint32_t c = 0; c < s->n; c++)
    if (s->door[c][0].first || s->door[c][1].first || s->channel[c].reading)
      run_channel(s, c, now);
  see_crowd(s, now - s->until);
  s->until = now;
  report(s);
  tell(s);
  if (s->in_flight && !s->striding) stride_at(s, now + s->c.t.cl + s->c.t.bl);
}

static void stood(void *vs, struct tsr_standstill *out) {
  const struct state *s = vs;
  const struct tsri_channel_sums *x = &s->sums;
  uint64_t buses = tsr_dram_buses(&s->c), tck = s->c.tck_fs;
  tsr_u128 data = (tsr_u128)(x->read_cmds + x->write_cmds) * s->c.t.bl;
  *out = (struct tsr_standstill){
      .data_fs = (uint64_t)(data * tck / buses),
      .bank_fs = (uint64_t)((tsr_u128)(x->bank_clocks + s->crowded) * tck / buses),
      .refresh_fs = (uint64_t)((tsr_u128)x->refresh_clocks * tck / buses),
      .turn_fs = (uint64_t)((tsr_u128)x->turn_clocks * tck / buses)};
}

/* ---- trains answered at once ---- */

/* A transaction of burst i, which is there at clock t; when it was taken. */
static uint64_t put_in(struct state *s, uint64_t addr, uint32_t i, uint64_t t) {
  bool write = s->train->write;
  struct tsri_place_of at = tsri_addr_place(&s->map, addr);
  struct tsri_channel *ch = &s->channel[at.channel];
  (void)tsri_channel_run(ch, t + 1, TSRI_UNTIL_LIMIT);
  uint64_t taken = t;
  if (!tsri_channel_room(ch, write))
    taken =
        tsr_max_u64(t, tsri_channel_run(ch, UINT64_MAX,
                                        write ? TSRI_UNTIL_WRITE_ROOM : TSRI_UNTIL_READ_ROOM));
  take_in(s, at, addr, t, taken, write, i);
  return taken;
}

static void put_burst(struct state *s, uint32_t i) {
  struct tsr_train *t = s->train;
  const uint64_t tx = s->c.org.tx_bytes, end = t->addr[i] + t->burst_bytes;
  uint64_t at = clock_at(s, t->ready_fs[i] + s->c.frontend_fs), taken = at;
  t->end_fs[i] = 0;
  for (uint64_t a = t->addr[i] & ~(tx - 1); a < end; a += tx)
    taken = tsr_max_u64(taken, put_in(s, a, i, at));
  uint64_t fs = fs_at(s, taken);
  t->start_fs[i] = tsr_max_u64(fs - tsr_min_u64(fs, s->c.frontend_fs), t->ready_fs[i]);
}

static uint64_t serve(void *vs, struct tsr_train *t, uint64_t from_fs) {
  struct state *s = vs;
  (void)from_fs;
  TSR_CHECK(!s->n_askers);
  t->noc_fs = t->hold_fs = 0;
  uint64_t before = s->sums.away_clocks;
  s->train = t;
  for (uint32_t i = 0; i < t->n; i++) put_burst(s, i);
  for (uint32_t c = 0; c < s->n && !t->write; c++)
    if (s->channel[c].reading)
      (void)tsri_channel_run(&s->channel[c], UINT64_MAX, TSRI_UNTIL_READS_DONE);
  for (uint32_t i = 0; i < t->n && !t->write; i++) t->end_fs[i] += s->c.frontend_fs;
  s->train = NULL;
  count_train(s, t);
  report(s);
  return (s->sums.away_clocks - before) * s->c.tck_fs;
}

/* ---- both ---- */

/* A transaction is over. */
static void on_over(void *arg, uint64_t tag, uint64_t clock) {
  struct state *s = arg;
  if (s->train) {
    uint64_t *end = &s->train->end_fs[tag];
    *end = tsr_max_u64(*end, fs_at(s, clock));
    return;
  }
  struct asker *a = &s->asker[tag >> 32];
  struct burst *b = &a->burst[(uint32_t)tag];
  b->end = tsr_max_u64(b->end, clock);
  if (--b->left) return;
  uint64_t back = b->write ? 0 : s->c.frontend_fs;
  a->over[a->n_over++] =
      (struct tsr_answer){.end_fs = fs_at(s, b->end) + back, .tag = (uint32_t)tag};
}

/* When a data bus is free at the earliest. */
static uint64_t free_fs(void *vs) {
  struct state *s = vs;
  uint64_t least = UINT64_MAX;
  for (uint32_t c = 0; c < s->n; c++) least = tsr_min_u64(least, s->channel[c].col_from);
  return fs_at(s, least);
}

/* A row to open, a burst to read. */
static uint64_t latency_of(const struct tsr_dram_config *c) {
  return (c->t.rcd_rd + c->t.cl + c->t.bl) * c->tck_fs + 2 * c->frontend_fs;
}
static uint64_t pipe_fs(void *vs, uint64_t bytes) {
  const struct state *s = vs;
  (void)bytes;
  return (s->c.t.cl) * s->c.tck_fs + 2 * s->c.frontend_fs;
}

static uint64_t rate(const void *vp) {
  return tsr_dram_bandwidth(vp);
}
static uint64_t capacity(const void *vp) {
  return tsr_dram_capacity(vp);
}
static uint64_t buses(const void *vp) {
  return tsr_dram_buses(vp);
}
static uint64_t latency(const void *vp) {
  return latency_of(vp);
}

static size_t resources(const void *vs) {
  return ((const struct state *)vs)->c.org.channels;
}
static void resource(const void *vs, size_t i, struct tsr_resource *out) {
  const struct state *s = vs;
  const struct channel_use *u = &s->use[i];
  uint64_t per = s->c.org.tx_bytes * (s->c.org.shared_bus ? 1 : s->c.org.units);
  *out = (struct tsr_resource){.bytes = u->bytes, .wait_fs = u->wait_fs};
  (void)snprintf(out->name, sizeof out->name, "channel%zu", i);
  out->busy_fs = (uint64_t)((tsr_u128)u->bytes * s->c.t.bl * s->c.tck_fs / per);
}

static void history(const void *vs, struct tsr_history *out) {
  const struct state *s = vs;
  _Static_assert((int)TSR_HISTORY_MAX == (int)TSRI_BINS, "a stretch is a bin");
  out->fs = s->timeline.clocks * s->c.tck_fs;
  for (int i = 0; i < TSRI_BINS; i++)
    out->bytes[i] = s->timeline.transactions[i] * s->c.org.tx_bytes;
}

static uint64_t core_bytes(const void *vs, uint32_t core, bool write) {
  const struct state *s = vs;
  return core < s->cores ? s->core_bytes[2 * (size_t)core + write] : 0;
}

static const char *derive(void *params, const bool *given) {
  size_t policy = 0;
  while (tsr_dram_params[policy].offset != offsetof(struct tsr_dram_config, policy_name))
    policy++;
  return tsr_dram_derive(params, given[policy]);
}

static const struct tsr_memory_ops memory = {.serve = serve,
                                             .free_fs = free_fs,
                                             .pipe_fs = pipe_fs,
                                             .bandwidth = rate,
                                             .capacity = capacity,
                                             .channels = buses,
                                             .latency_fs = latency,
                                             .resources = resources,
                                             .resource = resource,
                                             .join = join,
                                             .submit = submit,
                                             .stood = stood,
                                             .history = history,
                                             .core_bytes = core_bytes};

const struct tsr_component tsri_dram_banks = {
    .abi = TSR_MODEL_ABI,
    .kind = "dram.banks",
    .doc = "DRAM by its banks: timing constraints, controllers, address mapping",
    .state_size = sizeof(struct state),
    .params_size = sizeof(struct tsr_dram_config),
    .params = tsr_dram_params,
    .derive = derive,
    .counters = counters,
    .init = init,
    .fini = fini,
    .memory = &memory};
