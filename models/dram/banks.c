/* dram.banks: DRAM by its banks, behind a controller by channel.
 *
 * A burst is cut into the transactions of the device, each to its channel (models/dram/addr.h).
 * Its requests come `frontend` after it was sent, in their order, and wait at the channel's
 * door where it is full.  A write is over when its channel has taken it, and is written when
 * the channel turns to writing; a read is over when its last datum has come back.
 *
 * A train is answered at once: its reads are given their commands, among themselves in the
 * order of the controller, before another train's are looked at.  What would have been
 * overtaken by a later train is not; rows of later trains are opened in time all the same,
 * because commands of rows and of columns are kept in order each for itself.
 *
 * Units: fs outside, clocks of the DRAM inside; clock n begins at n times tCK. */
#include <stdio.h>
#include <string.h>

#include "models/dram/channel.h"
#include "models/models_int.h"
#include "sim/base/mem.h"

enum { PARTS_MAX = 1 << 14 }; /* of a burst: of 64 KiB by 4 B */

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
#define X(field, name, doc) C_##field,
  COUNTERS(X)
#undef X
};
static const struct tsr_counter counters[] = {
    {"read_bytes", TSR_COUNTER_SUM, "bytes of read bursts"},
    {"write_bytes", TSR_COUNTER_SUM, "bytes of write bursts"},
#define X(field, name, doc) {name, TSR_COUNTER_SUM, doc},
    COUNTERS(X)
#undef X
        {NULL, TSR_COUNTER_SUM, NULL}};

struct bus { /* a data bus, in the train that is served */
  uint64_t transactions;
  struct tsri_idle before;
};
struct channel_use {
  uint64_t bytes, wait_fs; /* so far */
};

struct state {
  struct tsr_dram_config c;
  const struct tsr_env *env;
  uint64_t *counters;
  struct tsri_addr_map map;
  struct tsri_channel *channel; /* owned */
  uint32_t n;                   /* channels that are there */
  struct tsri_channel_sums sums;
  struct channel_use *use; /* owned; by channel */
  struct bus *bus;         /* owned; by channel and unit */
  bool *touched;           /* owned; by channel: in this train */
  uint64_t *core_bytes;    /* owned; read and written, by core */
  uint32_t cores;
  struct tsr_train *train; /* that is served */
  uint32_t last_bus;       /* on which its last datum passed, … */
  uint64_t last_clock;     /* … and when */
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

static void fini(void *vs) {
  struct state *s = vs;
  for (uint32_t i = 0; i < s->n; i++) tsri_channel_fini(&s->channel[i]);
  tsr_mem_free(s->channel);
  tsr_mem_free(s->use);
  tsr_mem_free(s->bus);
  tsr_mem_free(s->touched);
  tsr_mem_free(s->core_bytes);
}

static uint32_t bus_of(const struct state *s, uint32_t channel, uint32_t bank) {
  const struct tsri_device *d = &s->channel[channel].dev;
  return channel * d->units + bank / d->banks_of_unit;
}

/* Of a request of the present train: `tag` is its burst. */
static void on_done(void *arg, uint64_t tag, uint64_t clock) {
  struct state *s = arg;
  struct tsr_train *t = s->train;
  uint64_t *end = &t->end_fs[tag];
  uint64_t fs = fs_at(s, clock);
  if (*end < fs) *end = fs;
}

static enum tsr_status init(void *vs, const void *vp, const struct tsr_wiring *w,
                            struct tsr_err *err) {
  struct state *s = vs;
  s->c = *(const struct tsr_dram_config *)vp;
  enum tsr_status st = tsr_dram_check(&s->c, err);
  if (!st) st = tsri_addr_init(&s->map, &s->c, err);
  if (st) return st;
  s->c.org.dual_bus = true; /* rows of later trains are opened in time */
  s->c.p.one_command = 0;
  s->env = w->env;
  s->counters = w->self->counters;
  s->cores = w->cores;
  size_t n = s->c.org.channels;
  s->channel = tsr_mem_array(n, sizeof *s->channel);
  s->use = tsr_mem_array(n, sizeof *s->use);
  s->bus = tsr_mem_array(n * s->c.org.units, sizeof *s->bus);
  s->touched = tsr_mem_array(n, sizeof *s->touched);
  s->core_bytes = tsr_mem_array((size_t)w->cores * 2 + 1, sizeof *s->core_bytes);
  if (!s->channel || !s->use || !s->bus || !s->touched || !s->core_bytes)
    return tsr_err_nomem(err);
  for (; !st && s->n < n; s->n++) {
    struct tsri_channel *ch = &s->channel[s->n];
    st = tsri_channel_init(ch, &s->c, &s->sums, err);
    ch->done = on_done;
    ch->arg = s;
  }
  return st;
}

/* ---- serving ---- */

static void touch(struct state *s, uint32_t channel) {
  if (s->touched[channel]) return;
  s->touched[channel] = true;
  for (uint32_t u = 0; u < s->c.org.units; u++) {
    struct bus *b = &s->bus[channel * s->c.org.units + u];
    b->transactions = 0;
    b->before = s->channel[channel].unit[u].idle;
  }
}

/* A transaction of burst i, which is there at clock t; when it was taken. */
static uint64_t put_in(struct state *s, uint64_t addr, uint32_t i, uint64_t t) {
  bool write = s->train->write;
  struct tsri_place_of at = tsri_addr_place(&s->map, addr);
  struct tsri_channel *ch = &s->channel[at.channel];
  touch(s, at.channel);
  (void)tsri_channel_run(ch, t + 1, TSRI_UNTIL_LIMIT);
  uint64_t taken = t;
  if (!tsri_channel_room(ch, write))
    taken =
        tsr_max_u64(t, tsri_channel_run(ch, UINT64_MAX,
                                        write ? TSRI_UNTIL_WRITE_ROOM : TSRI_UNTIL_READ_ROOM));
  s->bus[bus_of(s, at.channel, at.bank)].transactions++;
  s->use[at.channel].bytes += s->c.org.tx_bytes;
  s->use[at.channel].wait_fs += (taken - t) * s->c.tck_fs;
  tsri_channel_accept(ch, taken, at, addr, write, i);
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

static uint64_t difference(uint64_t now, uint64_t before, uint64_t tck) {
  return (now - before) * tck;
}

/* Why the train took as long as it did: what the bus that ended last stood still for, and
 * how much more than its part of the transactions it had.  Returns how long the buses stood
 * idle because nothing had come. */
static uint64_t settle(struct state *s, uint64_t transactions) {
  const uint64_t tck = s->c.tck_fs, units = s->c.org.units, buses = tsr_dram_buses(&s->c);
  struct tsr_train *t = s->train;
  uint64_t away = 0, last = 0;
  for (uint32_t c = 0; c < s->n; c++) {
    if (!s->touched[c]) continue;
    s->touched[c] = false;
    for (uint32_t u = 0; u < units; u++) {
      const struct bus *b = &s->bus[c * units + u];
      const struct tsri_unit_state *x = &s->channel[c].unit[u];
      if (!b->transactions) continue;
      away += difference(x->idle.away, b->before.away, tck);
      if (x->col_at < last) continue;
      last = x->col_at;
      uint64_t fair = tsr_ceil_div(transactions, buses);
      uint64_t more = b->transactions > fair ? b->transactions - fair : 0;
      t->bank_fs = difference(x->idle.bank, b->before.bank, tck) + more * s->c.t.bl * tck;
      t->refresh_fs = difference(x->idle.refresh, b->before.refresh, tck);
      t->turn_fs = difference(x->idle.turn, b->before.turn, tck);
    }
  }
  return away;
}

static void report(struct state *s) {
#define X(field, name, doc) s->counters[C_##field] = s->sums.field;
  COUNTERS(X)
#undef X
}

static uint64_t serve(void *vs, struct tsr_train *t, uint64_t from_fs) {
  struct state *s = vs;
  (void)from_fs;
  s->train = t;
  t->noc_fs = t->hold_fs = t->bank_fs = t->refresh_fs = t->turn_fs = 0;
  uint64_t before = s->sums.reads + s->sums.writes;
  for (uint32_t i = 0; i < t->n; i++) put_burst(s, i);
  for (uint32_t c = 0; c < s->n && !t->write; c++)
    if (s->touched[c])
      (void)tsri_channel_run(&s->channel[c], UINT64_MAX, TSRI_UNTIL_READS_DONE);
  uint64_t idle = settle(s, s->sums.reads + s->sums.writes - before);
  for (uint32_t i = 0; i < t->n && !t->write; i++) t->end_fs[i] += s->c.frontend_fs;
  TSR_CHECK(t->core < s->cores);
  s->core_bytes[2 * (size_t)t->core + t->write] += (uint64_t)t->n * t->burst_bytes;
  s->counters[t->write ? WRITE_BYTES : READ_BYTES] += (uint64_t)t->n * t->burst_bytes;
  report(s);
  return idle;
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
static uint32_t train(const void *vp) {
  (void)vp;
  return TSR_TRAIN_MAX;
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
                                             .train = train,
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
