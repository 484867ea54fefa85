/* llb: the last-level buffer, a shared set-associative cache before the DRAM.
 *
 * Slices share the addresses line by line; line number n lies in slice n mod slices and
 * there in set (n / slices) mod sets.  A burst is taken apart into the lines it touches.
 * Each access is looked up, LRU among the ways, in the order of the calls:
 *   hit     its bytes pass the slice's port `latency` after the request came;
 *   miss    the line is read from the memory behind, `latency` after the request came,
 *           and its bytes pass the port when the line is there;
 *   merge   the line is on its way: the access waits for it and reads nothing.
 * A write allocates: a whole line at once, a part of one after the line is read.  A dirty
 * line that makes room is written to the memory behind; nobody waits for that.
 * What goes past the buffer takes no place in it: a line that is there is used; another is read
 * from, or written to, the memory behind, whole.
 * The port moves `bandwidth` (models/lane.h); what a slice and the memory behind move
 * between them does not take it, and lookups take no port.
 *
 * Units: fs, bytes.  SRC:assumed for every default. */
#include <stdio.h>

#include "models/lane.h"
#include "models/models_int.h"

enum { SLICES_MAX = 64, WAYS_MAX = 64, LINE_MAX = 65536 };

struct params {
  uint64_t size, slices, ways, line, bandwidth, latency;
};

#define QUANTITY(k, u, lo, hi, inf, f, d, unsure, text)                                       \
  {                                                                                           \
    .key = k, .type = TSR_PARAM_QUANTITY, .unit = u, .low = lo, .high = hi, .unlimited = inf, \
    .def = d, .offset = offsetof(struct params, f), .uncertainty = unsure, .doc = text,       \
    .src = "SRC:assumed"                                                                      \
  }
static const struct tsr_param params[] = {
    QUANTITY("size", TSR_UNIT_BYTES, 0, 1ull << 32, false, size, "0", "exact",
             "of all slices; 0: there is no such buffer"),
    QUANTITY("slices", TSR_UNIT_COUNT, 1, SLICES_MAX, false, slices, "8", "exact",
             "parts with a port each; lines take them in turn"),
    QUANTITY("ways", TSR_UNIT_COUNT, 1, WAYS_MAX, false, ways, "16", "exact", "lines of a set"),
    QUANTITY("line", TSR_UNIT_BYTES, 32, LINE_MAX, false, line, "64B", "exact",
             "what is looked up, read and written back as one"),
    QUANTITY("bandwidth", TSR_UNIT_BYTES_PER_S, 1000000, 1000000000000000u, true, bandwidth,
             "64GB/s", "0.5", "of a slice's port, reads and writes together"),
    QUANTITY("latency", TSR_UNIT_FS, 0, 1000000000000u, false, latency, "20ns", "0.5",
             "from a request's coming to its bytes at the port, or to the memory behind"),
    {.key = NULL}};

enum {
  HITS,
  MISSES,
  MERGES,
  PASSES,
  WRITEBACKS,
  READ_BYTES,
  WRITE_BYTES,
  FILL_BYTES,
  WRITEBACK_BYTES,
  DIRTIED_BYTES,
  SLICE_WAIT_FS
};
static const struct tsr_counter counters[] = {
    {"hits", TSR_COUNTER_SUM, "accesses to lines that were there"},
    {"misses", TSR_COUNTER_SUM, "accesses to lines that were not, read or written whole"},
    {"merges", TSR_COUNTER_SUM, "accesses that waited for a line on its way"},
    {"passes", TSR_COUNTER_SUM, "accesses to lines that were not there and took no place"},
    {"writebacks", TSR_COUNTER_SUM, "dirty lines that made room, or took no place"},
    {"read_bytes", TSR_COUNTER_SUM, "bytes that reads asked for"},
    {"write_bytes", TSR_COUNTER_SUM, "bytes that writes brought"},
    {"fill_bytes", TSR_COUNTER_SUM, "bytes read from the memory behind"},
    {"writeback_bytes", TSR_COUNTER_SUM, "bytes written to the memory behind"},
    {"dirtied_bytes", TSR_COUNTER_SUM,
     "bytes of lines that became dirty; less writeback_bytes: still dirty"},
    {"slice_wait_fs", TSR_COUNTER_SUM, "time that accesses waited for a slice's port"},
    {NULL, TSR_COUNTER_SUM, NULL}};

struct line {
  uint64_t tag;      /* line number + 1; 0: empty */
  uint64_t used;     /* number of the access that used it last */
  uint64_t there_fs; /* when it was, or will be, read */
  bool dirty, due;   /* due: by fill number `fill` of this round */
  uint8_t fill;
};

/* An access whose port is not booked yet: it may wait for a fill of this round. */
struct access {
  uint32_t burst, slice, bytes;
  int32_t fill; /* of this round that brings its line, or -1 */
  bool absent;  /* its line was not there */
  bool past;    /* and takes no place */
  bool opens;   /* it asked for that fill */
  uint64_t lookup_fs, there_fs;
};

enum { ROUND_MAX = 2 * TSR_TRAIN_MAX };
struct state {
  const struct params *p;
  const struct tsr_env *env;
  struct tsr_instance *self, *mem;
  uint64_t sets, accesses;
  struct line *line; /* by slice, set, way */
  struct tsr_lane port[SLICES_MAX];
  /* the round: accesses in order, lines to read, lines to write back */
  uint32_t n;
  struct access access[ROUND_MAX];
  struct tsr_train fills, writebacks;
  struct line *filled[TSR_TRAIN_MAX];
  uint64_t fill_tag[TSR_TRAIN_MAX];
  int32_t after_fill[TSR_TRAIN_MAX]; /* of a line to write back that is due itself, or -1 */
  /* of the train being served */
  struct tsr_train *train;
  uint64_t from_fs, slice_idle_fs, behind_idle_fs;
  bool hit, missed; /* the train had such accesses */
};

static enum tsr_status init(void *vs, const void *vp, const struct tsr_wiring *w,
                            struct tsr_err *err) {
  struct state *s = vs;
  const struct params *p = s->p = vp;
  s->env = w->env;
  s->self = w->self;
  s->mem = w->peer[0];
  uint64_t granule = p->slices * p->ways * p->line;
  s->sets = p->size / granule;
  if (s->sets == 0 || p->size % granule)
    return tsr_err_set(err, TSR_INPUT,
                       "%s: size is no multiple of slices times ways times line; expected a "
                       "multiple of %llu bytes, got %llu",
                       w->self->name, (unsigned long long)granule, (unsigned long long)p->size);
  for (uint64_t i = 0; i < p->slices; i++) tsr_lane_init(&s->port[i], p->bandwidth);
  s->line = tsr_mem_array(p->size / p->line, sizeof *s->line);
  return s->line ? TSR_OK : tsr_err_nomem(err);
}
static void fini(void *vs) {
  tsr_mem_free(((struct state *)vs)->line);
}

static uint64_t later(uint64_t fs, uint64_t by) {
  return fs + by < fs ? UINT64_MAX : fs + by;
}

/* ---- the store of tags ---- */

static struct line *set_of(struct state *s, uint64_t number) {
  uint64_t slice = number % s->p->slices, set = number / s->p->slices % s->sets;
  return &s->line[(slice * s->sets + set) * s->p->ways];
}

/* The line, or NULL; *victim is then the one that makes room. */
static struct line *find(struct state *s, uint64_t number, struct line **victim) {
  struct line *set = set_of(s, number), *oldest = set;
  for (uint64_t w = 0; w < s->p->ways; w++) {
    if (set[w].tag == number + 1) return &set[w];
    if (set[w].used < oldest->used) oldest = &set[w];
  }
  *victim = oldest;
  return NULL;
}

/* ---- a round: lookups, then what the memory behind does, then the ports ---- */

static void serve_behind(struct state *s, struct tsr_train *t) {
  const struct tsr_memory_ops *mem = s->mem->ops->memory;
  if (t->n == 0) return;
  t->burst_bytes = (uint32_t)s->p->line;
  t->core = s->train->core;
  t->n_cores = 1;
  uint64_t idle = mem->serve(s->mem->state, t, s->from_fs);
  if (!t->write) s->behind_idle_fs += idle;
  s->self->counters[t->write ? WRITEBACK_BYTES : FILL_BYTES] += t->n * s->p->line;
}

/* Which of the three an access was; a fill may be over before a late request comes. */
static void classify(struct state *s, const struct access *a) {
  bool waits = a->there_fs > a->lookup_fs;
  s->self->counters[a->past ? PASSES : a->absent ? MISSES : waits ? MERGES : HITS]++;
  *(a->opens ? &s->missed : &s->hit) = true;
}

static void settle(struct state *s, struct access *a) {
  struct tsr_train *t = s->train;
  struct tsr_lane *port = &s->port[a->slice];
  uint64_t start, latency = s->p->latency, now = s->env->now_fs(s->env->engine);
  if (a->fill >= 0) a->there_fs = s->fills.end_fs[a->fill];
  classify(s, a);
  uint64_t ready = tsr_max_u64(a->lookup_fs, a->there_fs);
  uint64_t free = tsr_max_u64(port->tail.free_fs, s->from_fs);
  uint64_t end = tsr_lane_take(port, now, a->bytes, ready, &start);
  if (start > free) s->slice_idle_fs += start - free;
  /* Taken: when the memory behind did, when the port did, at once where a line is due. */
  uint64_t taken = a->opens               ? s->fills.start_fs[a->fill] - latency
                   : ready > a->lookup_fs ? a->lookup_fs - latency
                                          : start - latency;
  uint64_t waited = start - ready + (a->opens ? s->fills.noc_fs : 0);
  uint64_t held = a->opens ? s->fills.hold_fs : ready > a->lookup_fs ? 0 : waited;
  s->self->counters[SLICE_WAIT_FS] += start - ready;
  t->start_fs[a->burst] = tsr_max_u64(t->start_fs[a->burst], taken);
  if (end < t->end_fs[a->burst]) return;
  t->end_fs[a->burst] = end;
  if (a->burst + 1 < t->n) return;
  t->noc_fs = waited;
  t->hold_fs = held;
}

static void end_round(struct state *s) {
  serve_behind(s, &s->fills);
  for (uint32_t i = 0; i < s->fills.n; i++) {
    if (!s->filled[i]) continue;                       /* it went past */
    if (s->filled[i]->tag != s->fill_tag[i]) continue; /* it made room already */
    s->filled[i]->there_fs = s->fills.end_fs[i];
    s->filled[i]->due = false;
  }
  for (uint32_t i = 0; i < s->writebacks.n; i++)
    if (s->after_fill[i] >= 0)
      s->writebacks.ready_fs[i] =
          tsr_max_u64(s->writebacks.ready_fs[i], s->fills.end_fs[s->after_fill[i]]);
  serve_behind(s, &s->writebacks);
  for (uint32_t i = 0; i < s->n; i++) settle(s, &s->access[i]);
  s->n = s->fills.n = s->writebacks.n = 0;
}

static void write_back(struct state *s, const struct line *l, uint64_t at_fs) {
  struct tsr_train *t = &s->writebacks;
  t->addr[t->n] = (l->tag - 1) * s->p->line;
  s->after_fill[t->n] = l->due ? l->fill : -1;
  t->ready_fs[t->n++] = tsr_max_u64(at_fs, l->there_fs);
  s->self->counters[WRITEBACKS]++;
}

static void fill(struct state *s, struct line *l, struct access *a) {
  struct tsr_train *t = &s->fills;
  a->fill = (int32_t)t->n;
  a->opens = true;
  l->due = true;
  l->fill = (uint8_t)t->n;
  s->filled[t->n] = l;
  s->fill_tag[t->n] = l->tag;
  t->addr[t->n] = (l->tag - 1) * s->p->line;
  t->ready_fs[t->n++] = a->lookup_fs;
}

/* A line that is not there and takes no place. */
static void go_past(struct state *s, uint64_t number, struct access *a) {
  struct tsr_train *t = s->train->write ? &s->writebacks : &s->fills;
  a->absent = a->past = true;
  if (s->train->write) {
    s->after_fill[t->n] = -1;
    s->self->counters[DIRTIED_BYTES] += s->p->line; /* and written back at once */
    s->self->counters[WRITEBACKS]++;
  } else {
    a->fill = (int32_t)t->n;
    a->opens = true;
    s->filled[t->n] = NULL;
  }
  t->addr[t->n] = number * s->p->line;
  t->ready_fs[t->n++] = a->lookup_fs;
}

static void look_up(struct state *s, uint32_t burst, uint64_t number, uint32_t bytes) {
  struct tsr_train *t = s->train;
  struct access *a = &s->access[s->n++];
  *a = (struct access){.burst = burst,
                       .slice = (uint32_t)(number % s->p->slices),
                       .bytes = bytes,
                       .fill = -1,
                       .lookup_fs = later(t->ready_fs[burst], s->p->latency)};
  struct line *victim = NULL, *l = find(s, number, &victim);
  if (l) {
    a->fill = l->due ? l->fill : -1;
    a->there_fs = l->there_fs;
  } else if (t->past) {
    go_past(s, number, a);
    return;
  } else {
    TSR_CHECK(victim); /* a set has ways */
    if (victim->dirty) write_back(s, victim, a->lookup_fs);
    a->absent = true;
    l = victim;
    *l = (struct line){.tag = number + 1};
    if (!t->write || bytes < s->p->line) fill(s, l, a);
  }
  l->used = ++s->accesses;
  if (t->write && !l->dirty) s->self->counters[DIRTIED_BYTES] += s->p->line;
  l->dirty = l->dirty || t->write;
}

static uint64_t serve(void *vs, struct tsr_train *t, uint64_t from_fs) {
  struct state *s = vs;
  s->train = t;
  s->from_fs = from_fs;
  s->slice_idle_fs = s->behind_idle_fs = t->noc_fs = t->hold_fs = 0;
  s->hit = s->missed = false;
  s->fills.write = false;
  s->writebacks.write = true;
  for (uint32_t i = 0; i < t->n; i++) {
    t->start_fs[i] = t->end_fs[i] = 0;
    uint64_t at = t->addr[i], end = at + t->burst_bytes;
    while (at < end) {
      uint64_t number = at / s->p->line, next = tsr_min_u64((number + 1) * s->p->line, end);
      look_up(s, i, number, (uint32_t)(next - at));
      at = next;
      bool full =
          s->n == ROUND_MAX || s->fills.n == TSR_TRAIN_MAX || s->writebacks.n == TSR_TRAIN_MAX;
      if (full) end_round(s);
    }
  }
  end_round(s);
  s->self->counters[t->write ? WRITE_BYTES : READ_BYTES] += (uint64_t)t->n * t->burst_bytes;
  uint64_t channels = s->mem->ops->memory->channels(s->mem->params);
  uint64_t ports = (uint64_t)((tsr_u128)s->slice_idle_fs * channels / s->p->slices);
  return !s->missed ? ports
         : !s->hit  ? s->behind_idle_fs
                    : tsr_min_u64(ports, s->behind_idle_fs);
}

/* A port takes what is ready into any gap; what a burst may have to wait for is behind,
 * where it is `latency` after it came. */
static uint64_t free_fs(void *vs) {
  struct state *s = vs;
  uint64_t behind = s->mem->ops->memory->free_fs(s->mem->state);
  return behind - tsr_min_u64(behind, s->p->latency);
}

/* The memory's own for as many of the accesses as missed so far. */
static uint64_t pipe_fs(void *vs, uint64_t bytes) {
  struct state *s = vs;
  const uint64_t *c = s->self->counters;
  uint64_t behind = s->mem->ops->memory->pipe_fs(s->mem->state, bytes);
  uint64_t missed = c[MISSES] + c[MERGES] + c[PASSES], all = missed + c[HITS];
  if (all) behind = (uint64_t)((tsr_u128)behind * missed / all);
  return behind + s->p->latency;
}

static uint64_t rate(const void *vp) {
  const struct params *p = vp;
  return p->bandwidth == TSR_UNLIMITED ? TSR_UNLIMITED : p->bandwidth * p->slices;
}
static uint64_t capacity(const void *vp) {
  return ((const struct params *)vp)->size;
}
static uint64_t slices(const void *vp) {
  return ((const struct params *)vp)->slices;
}
static uint64_t latency(const void *vp) {
  return ((const struct params *)vp)->latency;
}
static uint64_t interleave(const void *vp) {
  return ((const struct params *)vp)->line;
}

static size_t resources(const void *vs) {
  return ((const struct state *)vs)->p->slices;
}
static void resource(const void *vs, size_t i, struct tsr_resource *out) {
  const struct tsr_lane *port = &((const struct state *)vs)->port[i];
  *out = (struct tsr_resource){
      .bytes = port->bytes, .busy_fs = tsr_lane_busy_fs(port), .wait_fs = port->wait_fs};
  snprintf(out->name, sizeof out->name, "slice%zu", i);
}

static uint64_t held_bytes(const void *vp) {
  return ((const struct params *)vp)->size;
}

static const struct tsr_memory_ops memory = {.serve = serve,
                                             .free_fs = free_fs,
                                             .pipe_fs = pipe_fs,
                                             .bandwidth = rate,
                                             .held_bytes = held_bytes,
                                             .capacity = capacity,
                                             .channels = slices,
                                             .latency_fs = latency,
                                             .resources = resources,
                                             .resource = resource,
                                             .interleave = interleave};
static const struct tsr_port ports[] = {{"mem", "dram"}, {NULL, NULL}};

const struct tsr_component tsri_llb = {.abi = TSR_MODEL_ABI,
                                       .kind = "llb",
                                       .doc = "last-level buffer that all cores share, in "
                                              "slices before the DRAM",
                                       .state_size = sizeof(struct state),
                                       .params_size = sizeof(struct params),
                                       .params = params,
                                       .counters = counters,
                                       .ports = ports,
                                       .init = init,
                                       .fini = fini,
                                       .memory = &memory};
