/* noc.crossbar, noc.mesh: the interconnect between cores and the memory's slices.
 *
 * A memory in front of another: a burst's request travels from the core to the slice
 * that holds its address, is served by the memory behind, and a read's data travel back;
 * a write's data travel with the request.  A message takes the links of its way one
 * after another, cut through: it enters the next link `hop` after this one, and has
 * arrived when its last byte has left the last link and crossed.  A link passes its
 * bytes at `bandwidth` (models/lane.h); buffers between links are as large as the
 * requests in flight need.  SRC:dally2004
 *
 * crossbar: a link for each core and each slice, each direction; one hop each way.
 * mesh: routers at (x, y), core c at (c mod X, c / X), slices where `place` says; four
 * links from a router to its neighbours; first along x, then along y.  A core at its
 * slice's router takes no link.
 *
 * A read for several cores travels the tree of their ways, each link once.
 * Units: fs, bytes.  SRC:assumed for every default. */
#include <stdio.h>

#include "models/lane.h"
#include "models/models_int.h"

enum {
  SIDE_MAX = 32,
  SLICES_MAX = 64,
  CORES_MAX = SIDE_MAX * SIDE_MAX,
  WAY_MAX = 2 * SIDE_MAX
};
enum { DEFAULT_GRAIN_BYTES = 256 };

struct params {
  uint64_t bandwidth, hop, header, slices, interleave, x, y;
  int place;
};

#define QUANTITY(k, u, lo, hi, inf, f, d, unsure, text)                                       \
  {                                                                                           \
    .key = k, .type = TSR_PARAM_QUANTITY, .unit = u, .low = lo, .high = hi, .unlimited = inf, \
    .def = d, .offset = offsetof(struct params, f), .uncertainty = unsure, .doc = text,       \
    .src = "SRC:assumed"                                                                      \
  }
#define COMMON_ROWS                                                                          \
  QUANTITY("bandwidth", TSR_UNIT_BYTES_PER_S, 1000000, 1000000000000000u, true, bandwidth,   \
           "64GB/s", "0.5", "of a link in one direction"),                                   \
      QUANTITY("hop", TSR_UNIT_FS, 0, 1000000000000u, false, hop, "1ns", "0.5",              \
               "from entering a link to entering the next"),                                 \
      QUANTITY("header", TSR_UNIT_BYTES, 0, 4096, false, header, "16B", "0.5",               \
               "of a request, before a write's data"),                                       \
      QUANTITY("slices", TSR_UNIT_COUNT, 0, SLICES_MAX, false, slices, "0", "exact",         \
               "places of the memory; 0: one for each channel of the memory behind"),        \
      QUANTITY("interleave", TSR_UNIT_BYTES, 0, 1ull << 30, false, interleave, "0", "exact", \
               "consecutive bytes at one slice; 0: as the memory behind has it, else 256B")

static const struct tsr_param crossbar_params[] = {COMMON_ROWS, {.key = NULL}};

static const char *const place_names[] = {"west", "sides", "spread", NULL};
static const struct tsr_param mesh_params[] = {
    COMMON_ROWS,
    QUANTITY("x", TSR_UNIT_COUNT, 0, SIDE_MAX, false, x, "0", "exact",
             "routers in a row; 0: as square as the cores allow"),
    QUANTITY("y", TSR_UNIT_COUNT, 0, SIDE_MAX, false, y, "0", "exact",
             "rows; 0: as many as the cores need"),
    {.key = "place",
     .type = TSR_PARAM_ENUM,
     .names = place_names,
     .def = "west",
     .offset = offsetof(struct params, place),
     .uncertainty = "exact",
     .doc = "where slices sit: the west edge, both sides in turn, spread over all routers",
     .src = "SRC:assumed"},
    {.key = NULL}};

enum { LINK_BYTES, LINK_BUSY_FS, LINK_WAIT_FS, BUSIEST_LINK_FS };
static const struct tsr_counter counters[] = {
    {"link_bytes", TSR_COUNTER_SUM, "bytes that passed links, summed over links"},
    {"link_busy_fs", TSR_COUNTER_SUM, "time that links passed bytes, summed over links"},
    {"link_wait_fs", TSR_COUNTER_SUM, "time that messages waited for links"},
    {"busiest_link_fs", TSR_COUNTER_MAX, "busy time of the busiest link"},
    {NULL, TSR_COUNTER_SUM, NULL}};

struct link {
  struct tsr_lane lane;
  uint64_t lag_fs; /* a byte's way to where the next link begins */
  /* of the message that took it last */
  uint64_t message, head_fs, end_fs, waited_fs;
  char name[24];
};

struct state;
struct topology {
  enum tsr_status (*build)(struct state *s, struct tsr_err *err);
  /* The links from the core to the slice, or back; at most WAY_MAX. */
  uint32_t (*route)(const struct state *s, uint64_t core, uint64_t slice, bool back,
                    uint32_t *path);
};

struct state {
  const struct params *p;
  const struct tsr_env *env;
  const struct topology *topology;
  struct tsr_instance *self, *mem;
  uint64_t cores, slices, grain_bytes;
  struct link *link;
  uint32_t n_links;
  /* mesh */
  uint64_t x, y;
  uint32_t *exit; /* of router and direction: its link */
  uint64_t slice_x[SLICES_MAX], slice_y[SLICES_MAX];
  /* ways without load: back, averaged over pairs of core and slice, those with links being
   * `crossing`; there, the longest */
  uint64_t mean_lag_fs, pairs, crossing, farthest_fs;
  uint64_t messages;             /* so far: the number of the present one */
  uint64_t link_bytes, busy_rem; /* not counted yet */
  uint64_t busiest_bytes;
  struct tsr_train onward;
};

static struct link *add_link(struct state *s, uint64_t lag_fs) {
  struct link *l = &s->link[s->n_links++];
  tsr_lane_init(&l->lane, s->p->bandwidth);
  l->lag_fs = lag_fs;
  return l;
}

/* ---- crossbar ---- */

static enum tsr_status crossbar_build(struct state *s, struct tsr_err *err) {
  s->link = tsr_mem_array(2 * (s->cores + s->slices), sizeof *s->link);
  if (!s->link) return tsr_err_nomem(err);
  for (uint64_t i = 0; i < s->cores + s->slices; i++)
    for (int down = 0; down < 2; down++) {
      bool core = i < s->cores;
      /* the hop lies behind the first link of a way */
      struct link *l = add_link(s, core != (bool)down ? s->p->hop : 0);
      snprintf(l->name, sizeof l->name, "%s%u.%s", core ? "core" : "slice",
               (unsigned)(core ? i : i - s->cores), down ? "down" : "up");
    }
  return TSR_OK;
}

static uint32_t crossbar_route(const struct state *s, uint64_t core, uint64_t slice, bool back,
                               uint32_t *path) {
  path[back] = (uint32_t)(2 * core + back);
  path[!back] = (uint32_t)(2 * (s->cores + slice) + back);
  return 2;
}

/* ---- mesh ---- */

enum direction { EAST, WEST, NORTH, SOUTH, DIRECTIONS_ };
static const struct {
  int dx, dy;
  const char *name;
} directions[DIRECTIONS_] = {[EAST] = {1, 0, "east"},
                             [WEST] = {-1, 0, "west"},
                             [NORTH] = {0, -1, "north"},
                             [SOUTH] = {0, 1, "south"}};

/* The middle of part i of n equal parts of a length. */
static uint64_t middle(uint64_t i, uint64_t n, uint64_t length) {
  return (2 * i + 1) * length / (2 * n);
}

static void place_west(struct state *s, uint64_t i) {
  s->slice_x[i] = 0;
  s->slice_y[i] = middle(i, s->slices, s->y);
}
static void place_sides(struct state *s, uint64_t i) {
  bool east = i % 2;
  s->slice_x[i] = east ? s->x - 1 : 0;
  s->slice_y[i] = middle(i / 2, east ? s->slices / 2 : (s->slices + 1) / 2, s->y);
}
static void place_spread(struct state *s, uint64_t i) {
  uint64_t router = middle(i, s->slices, s->x * s->y);
  s->slice_x[i] = router % s->x;
  s->slice_y[i] = router / s->x;
}
/* By place_names. */
static void (*const places[])(struct state *s, uint64_t i) = {place_west, place_sides,
                                                              place_spread};

static enum tsr_status mesh_size(struct state *s, struct tsr_err *err) {
  s->x = s->p->x;
  s->y = s->p->y;
  if (!s->x && s->y) s->x = tsr_ceil_div(s->cores, s->y);
  if (!s->x)
    while (s->x * s->x < s->cores) s->x++;
  TSR_CHECK(s->x); /* there are cores */
  if (!s->y) s->y = tsr_ceil_div(s->cores, s->x);
  if (s->x <= SIDE_MAX && s->y <= SIDE_MAX && s->cores <= s->x * s->y) return TSR_OK;
  return tsr_err_set(err, TSR_INPUT,
                     "%s: %u cores do not fit; expected a router for each, at most %ux%u, got "
                     "x %u and y %u",
                     s->self->name, (unsigned)s->cores, (unsigned)SIDE_MAX, (unsigned)SIDE_MAX,
                     (unsigned)s->x, (unsigned)s->y);
}

static enum tsr_status mesh_build(struct state *s, struct tsr_err *err) {
  enum tsr_status st = mesh_size(s, err);
  if (st) return st;
  uint64_t routers = s->x * s->y;
  s->exit = tsr_mem_array(routers * DIRECTIONS_, sizeof *s->exit);
  s->link = tsr_mem_array(2 * (2 * routers - s->x - s->y) + 1, sizeof *s->link);
  if (!s->exit || !s->link) return tsr_err_nomem(err);
  for (uint64_t r = 0; r < routers; r++)
    for (int d = 0; d < DIRECTIONS_; d++) {
      uint64_t x = r % s->x + (uint64_t)directions[d].dx;
      uint64_t y = r / s->x + (uint64_t)directions[d].dy;
      if (x >= s->x || y >= s->y) continue; /* also where it wrapped below zero */
      s->exit[r * DIRECTIONS_ + (uint64_t)d] = s->n_links;
      struct link *l = add_link(s, s->p->hop);
      snprintf(l->name, sizeof l->name, "x%uy%u.%s", (unsigned)(r % s->x), (unsigned)(r / s->x),
               directions[d].name);
    }
  for (uint64_t i = 0; i < s->slices; i++) places[s->p->place](s, i);
  return TSR_OK;
}

static uint32_t mesh_route(const struct state *s, uint64_t core, uint64_t slice, bool back,
                           uint32_t *path) {
  const uint64_t end_x[2] = {core % s->x, s->slice_x[slice]};
  const uint64_t end_y[2] = {core / s->x, s->slice_y[slice]};
  uint64_t x = end_x[back], y = end_y[back];
  uint32_t n = 0;
  while (x != end_x[!back] || y != end_y[!back]) {
    enum direction d = x < end_x[!back]   ? EAST
                       : x > end_x[!back] ? WEST
                       : y < end_y[!back] ? SOUTH
                                          : NORTH;
    path[n++] = s->exit[(y * s->x + x) * DIRECTIONS_ + d];
    x += (uint64_t)directions[d].dx;
    y += (uint64_t)directions[d].dy;
  }
  return n;
}

/* ---- both ---- */

static const struct topology crossbar = {crossbar_build, crossbar_route};
static const struct topology mesh = {mesh_build, mesh_route};

/* The slices and the grain of addresses follow the memory behind. */
static enum tsr_status match_memory(struct state *s, struct tsr_err *err) {
  const struct tsr_memory_ops *mem = s->mem->ops->memory;
  uint64_t behind = mem->channels(s->mem->params);
  uint64_t grain = mem->interleave ? mem->interleave(s->mem->params) : 0;
  s->slices = s->p->slices ? s->p->slices : tsr_min_u64(behind, SLICES_MAX);
  s->grain_bytes = s->p->interleave ? s->p->interleave : grain ? grain : DEFAULT_GRAIN_BYTES;
  if (grain && behind % s->slices)
    return tsr_err_set(err, TSR_INPUT,
                       "%s: slices do not divide those of %s; expected a divisor of %u, got %u",
                       s->self->name, s->mem->name, (unsigned)behind, (unsigned)s->slices);
  if (grain && grain != s->grain_bytes)
    return tsr_err_set(err, TSR_INPUT,
                       "%s: interleave differs from that of %s; expected 0 or %lluB, got %lluB",
                       s->self->name, s->mem->name, (unsigned long long)grain,
                       (unsigned long long)s->grain_bytes);
  return TSR_OK;
}

static uint64_t pass_fs(const struct state *s, uint64_t bytes) {
  if (s->p->bandwidth == TSR_UNLIMITED) return 0;
  return (uint64_t)((tsr_u128)bytes * TSR_FS_PER_S / s->p->bandwidth);
}

/* For pipe_fs and free_fs. */
static void measure(struct state *s) {
  uint64_t sum = 0;
  uint32_t path[WAY_MAX];
  s->pairs = s->cores * s->slices;
  for (uint64_t c = 0; c < s->cores; c++)
    for (uint64_t i = 0; i < s->slices; i++) {
      uint32_t n = s->topology->route(s, c, i, true, path);
      uint64_t lag = 0; /* there and back are as long */
      for (uint32_t k = 0; k < n; k++) lag += s->link[path[k]].lag_fs;
      s->crossing += n > 0;
      sum += lag;
      if (n) s->farthest_fs = tsr_max_u64(s->farthest_fs, lag + pass_fs(s, s->p->header));
    }
  TSR_CHECK(s->pairs);
  s->mean_lag_fs = sum / s->pairs;
}

/* ---- without load, for the analytic model ---- */

/* How many streams the busiest link passes when one core more than before has one to or from
 * each slice: `streams` by link. */
static double add_streams(const struct state *s, uint64_t core, bool back, double most,
                          double *streams) {
  uint32_t path[WAY_MAX];
  for (uint64_t i = 0; i < s->slices; i++) {
    uint32_t n = s->topology->route(s, core, i, back, path);
    for (uint32_t k = 0; k < n; k++) {
      streams[path[k]] += 1 / (double)s->slices;
      if (streams[path[k]] > most) most = streams[path[k]];
    }
  }
  return most;
}

static double crowd(const struct topology *topology, const void *vp, uint64_t cores,
                    uint64_t slices, uint64_t burst_bytes, double *reads, double *writes) {
  const struct params *p = vp;
  struct state *s = tsr_mem_alloc(sizeof *s);
  double lag = -1, *streams = NULL;
  if (!s) return lag;
  s->p = p;
  s->cores = cores;
  s->slices = p->slices ? p->slices : tsr_min_u64(slices, SLICES_MAX);
  s->topology = topology;
  if (!topology->build(s, NULL))
    streams = tsr_mem_array(2 * (size_t)s->n_links + 1, sizeof *streams);
  if (streams) {
    for (uint64_t c = 0; c < cores; c++) {
      reads[c] = add_streams(s, c, true, c ? reads[c - 1] : 0, streams);
      writes[c] = add_streams(s, c, false, c ? writes[c - 1] : 0, streams + s->n_links);
    }
    for (uint64_t c = 0; c < cores; c++) /* a write's data follow a header */
      writes[c] *= 1 + (double)p->header / (double)burst_bytes;
    measure(s);
    lag = 2 * (double)s->mean_lag_fs;
  }
  tsr_mem_free(streams);
  tsr_mem_free(s->link);
  tsr_mem_free(s->exit);
  tsr_mem_free(s);
  return lag;
}
static double crowd_crossbar(const void *vp, uint64_t cores, uint64_t slices, uint64_t burst,
                             double *reads, double *writes) {
  return crowd(&crossbar, vp, cores, slices, burst, reads, writes);
}
static double crowd_mesh(const void *vp, uint64_t cores, uint64_t slices, uint64_t burst,
                         double *reads, double *writes) {
  return crowd(&mesh, vp, cores, slices, burst, reads, writes);
}

static enum tsr_status init(struct state *s, const void *vp, const struct tsr_wiring *w,
                            const struct topology *topology, struct tsr_err *err) {
  s->p = vp;
  s->env = w->env;
  s->self = w->self;
  s->mem = w->peer[0];
  s->cores = w->cores;
  s->topology = topology;
  if (s->cores < 1 || s->cores > CORES_MAX)
    return tsr_err_set(err, TSR_INPUT, "%s: expected 1 to %u cores, got %u", s->self->name,
                       (unsigned)CORES_MAX, (unsigned)s->cores);
  enum tsr_status st = match_memory(s, err);
  if (!st) st = topology->build(s, err);
  if (!st) measure(s);
  return st;
}
static enum tsr_status init_crossbar(void *vs, const void *vp, const struct tsr_wiring *w,
                                     struct tsr_err *err) {
  return init(vs, vp, w, &crossbar, err);
}
static enum tsr_status init_mesh(void *vs, const void *vp, const struct tsr_wiring *w,
                                 struct tsr_err *err) {
  return init(vs, vp, w, &mesh, err);
}
static void fini(void *vs) {
  struct state *s = vs;
  tsr_mem_free(s->link);
  tsr_mem_free(s->exit);
}

/* ---- service ---- */

static uint64_t later(uint64_t fs, uint64_t by) {
  return fs + by < fs ? UINT64_MAX : fs + by;
}

/* What a message found on its way. */
struct passage {
  uint64_t arrive_fs, waited_fs;
};

static void take_link(struct state *s, struct link *l, uint64_t bytes, struct passage *at,
                      uint64_t head_fs) {
  uint64_t now = s->env->now_fs(s->env->engine), start;
  uint64_t end = tsr_lane_take(&l->lane, now, bytes, head_fs, &start);
  l->message = s->messages;
  l->head_fs = later(start, l->lag_fs);
  l->end_fs = later(end, l->lag_fs);
  l->waited_fs = at->waited_fs + (start - head_fs);
  s->link_bytes += bytes;
  s->busiest_bytes = tsr_max_u64(s->busiest_bytes, l->lane.bytes);
  s->self->counters[LINK_WAIT_FS] += start - head_fs;
}

/* The present message between a core and a slice; links that it took already, to
 * another core, it does not take again. */
static struct passage travel(struct state *s, uint64_t core, uint64_t slice, bool back,
                             uint64_t bytes, uint64_t depart_fs) {
  uint32_t path[WAY_MAX], n = s->topology->route(s, core, slice, back, path);
  struct passage at = {.arrive_fs = depart_fs};
  uint64_t head_fs = depart_fs;
  for (uint32_t k = 0; k < n; k++) {
    struct link *l = &s->link[path[k]];
    if (l->message != s->messages) take_link(s, l, bytes, &at, head_fs);
    head_fs = l->head_fs;
    at = (struct passage){l->end_fs, l->waited_fs};
  }
  return at;
}

static struct passage answer(struct state *s, const struct tsr_train *t, uint64_t slice,
                             uint64_t depart_fs) {
  struct passage last = {.arrive_fs = depart_fs};
  s->messages++; /* one, whoever takes it */
  for (uint64_t c = t->core; c < (uint64_t)t->core + t->n_cores; c++) {
    struct passage p = travel(s, c, slice, true, t->burst_bytes, depart_fs);
    if (p.arrive_fs >= last.arrive_fs) last = p;
  }
  return last;
}

static uint64_t slice_of(const struct state *s, uint64_t addr) {
  return addr / s->grain_bytes % s->slices;
}

/* Busy times of the links from their bytes: all have one rate. */
static void count(struct state *s) {
  uint64_t *c = s->self->counters, rate = s->p->bandwidth;
  c[LINK_BYTES] += s->link_bytes;
  if (rate != TSR_UNLIMITED) {
    tsr_u128 work = (tsr_u128)s->link_bytes * TSR_FS_PER_S + s->busy_rem;
    c[LINK_BUSY_FS] += (uint64_t)(work / rate);
    s->busy_rem = (uint64_t)(work % rate);
    uint64_t most = (uint64_t)((tsr_u128)s->busiest_bytes * TSR_FS_PER_S / rate);
    c[BUSIEST_LINK_FS] = tsr_max_u64(c[BUSIEST_LINK_FS], most);
  }
  s->link_bytes = 0;
}

static uint64_t serve(void *vs, struct tsr_train *t, uint64_t from_fs) {
  struct state *s = vs;
  struct tsr_train *q = &s->onward;
  uint64_t way_fs[TSR_TRAIN_MAX], bytes = s->p->header + (t->write ? t->burst_bytes : 0);
  struct passage p = {0, 0};
  TSR_CHECK((uint64_t)t->core + t->n_cores <= s->cores && t->core < s->cores);
  q->n = t->n;
  q->burst_bytes = t->burst_bytes;
  q->past = t->past;
  q->write = t->write;
  q->core = t->core;
  q->n_cores = t->n_cores;
  for (uint32_t i = 0; i < t->n; i++) {
    s->messages++;
    p = travel(s, t->core, slice_of(s, t->addr[i]), false, bytes, t->ready_fs[i]);
    way_fs[i] = p.arrive_fs - t->ready_fs[i] - p.waited_fs;
    q->addr[i] = t->addr[i];
    q->ready_fs[i] = p.arrive_fs;
  }
  uint64_t idle = s->mem->ops->memory->serve(s->mem->state, q, from_fs);
  /* on its way there it lost what it would not have waited at the memory as well */
  uint64_t queued = t->n ? q->start_fs[t->n - 1] - q->ready_fs[t->n - 1] : 0;
  uint64_t held = p.waited_fs > queued ? p.waited_fs - queued : 0;
  t->hold_fs = q->hold_fs + held;
  t->noc_fs = q->noc_fs + held;
  for (uint32_t i = 0; i < t->n; i++) {
    t->start_fs[i] = q->start_fs[i] - way_fs[i];
    p = (struct passage){q->end_fs[i], 0};
    if (!t->write) p = answer(s, t, slice_of(s, t->addr[i]), q->end_fs[i]);
    t->end_fs[i] = p.arrive_fs;
  }
  t->noc_fs += p.waited_fs;
  count(s);
  return idle;
}

/* For whoever is farthest: what he sends then does not keep the memory waiting. */
static uint64_t free_fs(void *vs) {
  struct state *s = vs;
  uint64_t behind = s->mem->ops->memory->free_fs(s->mem->state);
  return behind - tsr_min_u64(behind, s->farthest_fs);
}

/* The memory's own, and the way back of a middling pair of core and slice. */
static uint64_t pipe_fs(void *vs, uint64_t bytes) {
  struct state *s = vs;
  uint64_t pass = (uint64_t)((tsr_u128)pass_fs(s, bytes) * s->crossing / s->pairs);
  return s->mem->ops->memory->pipe_fs(s->mem->state, bytes) + s->mean_lag_fs + pass;
}

static uint64_t rate(const void *vp) {
  return ((const struct params *)vp)->bandwidth;
}
static uint64_t capacity(const void *vp) {
  (void)vp;
  return 0; /* it holds nothing */
}
static uint64_t channels(const void *vp) {
  return tsr_max_u64(((const struct params *)vp)->slices, 1);
}
static uint64_t latency(const void *vp) {
  return ((const struct params *)vp)->hop;
}

static size_t resources(const void *vs) {
  return ((const struct state *)vs)->n_links;
}
static void resource(const void *vs, size_t i, struct tsr_resource *out) {
  const struct link *l = &((const struct state *)vs)->link[i];
  *out = (struct tsr_resource){.bytes = l->lane.bytes,
                               .busy_fs = tsr_lane_busy_fs(&l->lane),
                               .wait_fs = l->lane.wait_fs};
  snprintf(out->name, sizeof out->name, "%s", l->name);
}

#define MEMORY(f)                                                                              \
  {                                                                                            \
    .serve = serve, .free_fs = free_fs, .pipe_fs = pipe_fs, .bandwidth = rate,                 \
    .capacity = capacity, .channels = channels, .latency_fs = latency, .resources = resources, \
    .resource = resource, .crowd = (f)                                                         \
  }
static const struct tsr_memory_ops crossbar_memory = MEMORY(crowd_crossbar),
                                   mesh_memory = MEMORY(crowd_mesh);
static const struct tsr_port ports[] = {{"mem", "dram|llb"}, {NULL, NULL}};

const struct tsr_component tsri_noc_crossbar = {
    .abi = TSR_MODEL_ABI,
    .kind = "noc.crossbar",
    .doc = "crossbar between cores and the slices of the memory",
    .state_size = sizeof(struct state),
    .params_size = sizeof(struct params),
    .params = crossbar_params,
    .counters = counters,
    .ports = ports,
    .init = init_crossbar,
    .fini = fini,
    .memory = &crossbar_memory};
const struct tsr_component tsri_noc_mesh = {.abi = TSR_MODEL_ABI,
                                            .kind = "noc.mesh",
                                            .doc = "mesh of routers between cores and the "
                                                   "slices of the memory, XY routing",
                                            .state_size = sizeof(struct state),
                                            .params_size = sizeof(struct params),
                                            .params = mesh_params,
                                            .counters = counters,
                                            .ports = ports,
                                            .init = init_mesh,
                                            .fini = fini,
                                            .memory = &mesh_memory};
