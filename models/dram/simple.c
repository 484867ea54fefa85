/* dram.simple: latency, bandwidth, channels, capacity.
 *
 * A burst takes the next channel in turn (an ideal interleave: no address ever
 * favours a channel; conflicts by address are another model's subject), is served
 * there at bandwidth/channels (as channels times the bytes at the whole bandwidth,
 * so that no fraction of a B/s is lost), and its last byte arrives max(latency, service)
 * after service began.  Channels pipeline: latency does not occupy them.
 *
 * The requests of one core come in order of time, and a channel serves them so.  Those of
 * several do not: one that is still on its way keeps nobody waiting (models/lane.h). */
#include <stdio.h>
#include <string.h>

#include "models/lane.h"
#include "models/models_int.h"
#include "sim/base/mem.h"

enum { CHANNELS_MAX = 256 };

struct params {
  uint64_t channels, bandwidth, latency, capacity;
};

static const struct tsr_param params[] = {
    {.key = "channels",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = CHANNELS_MAX,
     .def = "8",
     .offset = offsetof(struct params, channels),
     .uncertainty = "exact",
     .doc = "independent channels; bursts take them in turn",
     .src = "SRC:assumed"},
    {.key = "bandwidth",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_BYTES_PER_S,
     .low = 1000000,
     .high = 1000000000000000u,
     .unlimited = true,
     .def = "600GB/s",
     .offset = offsetof(struct params, bandwidth),
     .uncertainty = "0.1",
     .doc = "peak of all channels together",
     .src = "SRC:assumed"},
    {.key = "latency",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_FS,
     .low = 0,
     .high = 1000000000000u,
     .def = "100ns",
     .offset = offsetof(struct params, latency),
     .uncertainty = "0.3",
     .doc = "from a burst's issue to its last byte, unloaded",
     .src = "SRC:assumed"},
    {.key = "capacity",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_BYTES,
     .low = 1024,
     .high = 1ull << 50,
     .unlimited = true,
     .def = "32GiB",
     .offset = offsetof(struct params, capacity),
     .uncertainty = "exact",
     .doc = "what the tensors of a workload must fit in",
     .src = "SRC:assumed"},
    {.key = NULL}};

enum { READ_BYTES, WRITE_BYTES };
static const struct tsr_counter counters[] = {
    {"read_bytes", TSR_COUNTER_SUM, "bytes of read bursts"},
    {"write_bytes", TSR_COUNTER_SUM, "bytes of write bursts"},
    {NULL, TSR_COUNTER_SUM, NULL}};

struct channel {
  struct tsr_lane lane;
  uint64_t bytes, wait_fs; /* so far */
};
struct state {
  const struct params *p;
  const struct tsr_env *env;
  const struct tsr_instance *self;
  bool many; /* cores: requests come out of order */
  uint64_t *counters;
  uint64_t next;        /* channel whose turn it is */
  uint64_t bursts;      /* served so far */
  uint64_t *core_bytes; /* owned; read and written, by core */
  uint32_t cores;
  struct channel channel[CHANNELS_MAX];
};

static enum tsr_status init(void *vs, const void *vp, const struct tsr_wiring *w,
                            struct tsr_err *err) {
  struct state *s = vs;
  s->p = vp;
  s->env = w->env;
  s->self = w->self;
  s->many = w->cores > 1;
  s->counters = w->self->counters;
  for (uint64_t i = 0; i < s->p->channels; i++)
    tsr_lane_init(&s->channel[i].lane, s->p->bandwidth);
  s->cores = w->cores;
  s->core_bytes = tsr_mem_array((size_t)w->cores * 2 + 1, sizeof *s->core_bytes);
  return s->core_bytes ? TSR_OK : tsr_err_nomem(err);
}

static void fini(void *vs) {
  tsr_mem_free(((struct state *)vs)->core_bytes);
}

static uint64_t serve(void *vs, struct tsr_train *t, uint64_t from_fs) {
  struct state *s = vs;
  uint64_t idle = 0, next = s->next;
  /* n channels of 1/n of the rate each, exactly: n times the bytes at the whole rate */
  const uint64_t now = s->env->now_fs(s->env->engine);
  const uint64_t work = t->burst_bytes * s->p->channels;
  for (uint32_t i = 0; i < t->n; i++) {
    struct channel *c = &s->channel[next];
    uint64_t could = tsr_max_u64(c->lane.tail.free_fs, from_fs), start;
    uint64_t served = s->many ? tsr_lane_take(&c->lane, now, work, t->ready_fs[i], &start)
                              : tsr_server_take(&c->lane.tail, work, t->ready_fs[i], &start);
    uint64_t arrives = start + s->p->latency;
    if (arrives < start) arrives = UINT64_MAX;
    if (start > could) idle += start - could;
    c->bytes += t->burst_bytes;
    c->wait_fs += start - t->ready_fs[i];
    t->start_fs[i] = start;
    t->end_fs[i] = tsr_max_u64(served, arrives);
    next = next + 1 == s->p->channels ? 0 : next + 1;
  }
  s->next = next;
  s->bursts += t->n;
  t->noc_fs = t->hold_fs = 0;
  TSR_CHECK(t->core < s->cores);
  s->core_bytes[2 * (size_t)t->core + t->write] += (uint64_t)t->n * t->burst_bytes;
  s->counters[t->write ? WRITE_BYTES : READ_BYTES] += (uint64_t)t->n * t->burst_bytes;
  return idle;
}

static uint64_t free_fs(void *vs) {
  struct state *s = vs;
  return s->channel[s->next].lane.tail.free_fs;
}

static uint64_t pipe_fs(void *vs, uint64_t bytes) {
  struct state *s = vs;
  struct tsr_server one = s->channel[0].lane.tail;
  if (one.rate_bytes_per_s == TSR_UNLIMITED) return s->p->latency;
  tsr_server_set_unit(&one, bytes * s->p->channels);
  return s->p->latency > one.quot ? s->p->latency - one.quot : 0;
}

static uint64_t rate(const void *vp) {
  return ((const struct params *)vp)->bandwidth;
}
static uint64_t capacity(const void *vp) {
  return ((const struct params *)vp)->capacity;
}
static uint64_t channels(const void *vp) {
  return ((const struct params *)vp)->channels;
}
static uint64_t latency(const void *vp) {
  return ((const struct params *)vp)->latency;
}

/* ---- repetition ---- */

/* Channels are alike: what matters is how far each is from its turn.  For how long one has
 * stood idle counts from the start of a transfer, where one is at work, and up to the latency
 * for the next. */
static void visit_lanes(struct state *s, struct tsr_visit *v) {
  uint64_t floor = s->self->users ? 0 : v->now_fs - tsr_min_u64(v->now_fs, s->p->latency);
  for (uint64_t i = 0; i < s->p->channels; i++) {
    struct tsr_server *x = &s->channel[(s->next + i) % s->p->channels].lane.tail;
    tsr_visit_value(v, x->free_fs >= v->now_fs ? x->rem : 0);
    tsr_visit_fs_floor(v, &x->free_fs, floor);
  }
}

/* Each repetition begins as many channels further on, so that what a channel has moved goes
 * round with it. */
static void turn(struct state *s, struct tsr_visit *v) {
  uint64_t n = s->p->channels, bursts = v->delta[v->at_sum], by = bursts % n;
  const uint64_t *delta = v->delta + v->at_sum + 1;
  struct channel old[CHANNELS_MAX];
  memcpy(old, s->channel, n * sizeof *old);
  for (uint64_t c = 0; c < n; c++) {
    /* of n repetitions each share comes by as often as it falls on the channel */
    for (uint64_t k = 1; k <= n && k <= v->times; k++) {
      uint64_t from = (c + n - k * by % n) % n, often = (v->times - k) / n + 1;
      s->channel[c].bytes += often * delta[2 * from];
      s->channel[c].wait_fs += often * delta[2 * from + 1];
    }
    uint64_t to = (c + v->times % n * by) % n;
    s->channel[to].lane = old[c].lane;
  }
  s->next = (s->next + v->times % n * by) % n;
  s->bursts += v->times * bursts;
  v->at_sum += 1 + 2 * n;
}

static void visit(void *vs, struct tsr_visit *v) {
  struct state *s = vs;
  visit_lanes(s, v);
  for (size_t i = 0; i < 2 * (size_t)s->cores; i++) tsr_visit_sum(v, &s->core_bytes[i]);
  if (v->advance && !v->again) {
    turn(s, v);
    return;
  }
  tsr_visit_sum(v, &s->bursts);
  for (uint64_t c = 0; c < s->p->channels; c++) {
    tsr_visit_sum(v, &s->channel[c].bytes);
    tsr_visit_sum(v, &s->channel[c].wait_fs);
  }
}

static void rest(void *vs) {
  struct state *s = vs;
  for (uint64_t i = 0; i < s->p->channels; i++) {
    struct tsr_server *x = &s->channel[i].lane.tail;
    x->free_fs = x->rem = 0;
    s->channel[i].lane.n = 0;
  }
  s->next = 0;
}

static size_t resources(const void *vs) {
  return ((const struct state *)vs)->p->channels;
}
static void resource(const void *vs, size_t i, struct tsr_resource *out) {
  const struct state *s = vs;
  const struct channel *c = &s->channel[i];
  *out = (struct tsr_resource){.bytes = c->bytes, .wait_fs = c->wait_fs};
  snprintf(out->name, sizeof out->name, "channel%zu", i);
  if (s->p->bandwidth == TSR_UNLIMITED) return;
  tsr_u128 work = (tsr_u128)c->bytes * s->p->channels * TSR_FS_PER_S;
  out->busy_fs = (uint64_t)(work / s->p->bandwidth);
}

static uint64_t core_bytes(const void *vs, uint32_t core, bool write) {
  const struct state *s = vs;
  return core < s->cores ? s->core_bytes[2 * (size_t)core + write] : 0;
}

static const struct tsr_memory_ops memory = {.serve = serve,
                                             .free_fs = free_fs,
                                             .pipe_fs = pipe_fs,
                                             .bandwidth = rate,
                                             .capacity = capacity,
                                             .channels = channels,
                                             .latency_fs = latency,
                                             .resources = resources,
                                             .resource = resource,
                                             .core_bytes = core_bytes};

const struct tsr_component tsri_dram_simple = {
    .abi = TSR_MODEL_ABI,
    .kind = "dram.simple",
    .doc = "DRAM as latency, bandwidth, channels and capacity",
    .state_size = sizeof(struct state),
    .params_size = sizeof(struct params),
    .params = params,
    .counters = counters,
    .init = init,
    .fini = fini,
    .visit = visit,
    .rest = rest,
    .memory = &memory};
