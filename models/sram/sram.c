/* sram: a scratchpad cut into equal buffers (double buffering: 2), whose ports DMA
 * engines and tiles share.
 *
 * A direction moves banks * width bytes a cycle.  Ports of a bank: `1rw` one, reads and
 * writes share it; `1r1w` one of each; `2rw` two that do either.  The tile goes
 * first: while its phases run, the DMA side gets what they leave of the port.  What
 * a phase needs beyond the port lengthens the phase.
 *
 * Under layout `stream` operands lie in the order in which they are used, so that
 * only the width limits.  Under the others a phase's pattern falls on banks (banks.h)
 * and takes, over its steps, what the busiest bank takes.
 *
 * Several phases may run at once (operands and results of a tile in one scratchpad,
 * two units on it).  One booked later gets what those booked before leave, of the
 * width and of each bank, each phase's use being spread evenly over its cycles.
 *
 * Data of a read come `latency` cycles after the address.  A phase pays it where its
 * addresses follow a gap; one that begins where another reads on does not, its
 * addresses go out behind those. */
#include <inttypes.h>

#include "models/models_int.h"
#include "models/server.h"
#include "models/sram/banks.h"

enum { PORTS_1RW, PORTS_1R1W, PORTS_2RW };
static const char *const ports_names[] = {"1rw", "1r1w", "2rw", NULL};
enum { STREAM, ROW, COLUMN, TILED, XOR };
static const char *const layout_names[] = {"stream", "row", "column", "tiled", "xor", NULL};

struct params {
  uint64_t size, banks, width, buffers, latency, tile_size;
  int ports, layout;
};

static const struct tsr_param params[] = {
    {.key = "size",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_BYTES,
     .low = 16,
     .high = 1ull << 50,
     .offset = offsetof(struct params, size),
     .uncertainty = "exact",
     .doc = "capacity, all buffers together",
     .src = "SRC:assumed"},
    {.key = "banks",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = 4096,
     .def = "1",
     .offset = offsetof(struct params, banks),
     .uncertainty = "exact",
     .doc = "banks that work in parallel",
     .src = "SRC:assumed"},
    {.key = "width",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_BYTES,
     .low = 1,
     .high = 1u << 20,
     .unlimited = true,
     .def = "unlimited",
     .offset = offsetof(struct params, width),
     .uncertainty = "exact",
     .doc = "bytes a bank's port moves in one core cycle",
     .src = "SRC:assumed"},
    {.key = "ports",
     .type = TSR_PARAM_ENUM,
     .names = ports_names,
     .def = "1r1w",
     .offset = offsetof(struct params, ports),
     .uncertainty = "exact",
     .doc = "ports of a bank",
     .src = "SRC:assumed"},
    {.key = "buffers",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = 16,
     .def = "2",
     .offset = offsetof(struct params, buffers),
     .uncertainty = "exact",
     .doc = "equal parts that are filled and emptied in turn",
     .src = "SRC:assumed"},
    {.key = "latency",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 0,
     .high = 1000,
     .def = "0",
     .offset = offsetof(struct params, latency),
     .uncertainty = "exact",
     .doc = "core cycles from the address of a read to its data",
     .src = "SRC:assumed"},
    {.key = "layout",
     .type = TSR_PARAM_ENUM,
     .names = layout_names,
     .def = "stream",
     .offset = offsetof(struct params, layout),
     .uncertainty = "exact",
     .doc = "bank of an address; stream: as the array streams, never two of a cycle in one",
     .src = "SRC:assumed"},
    {.key = "tile_size",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_BYTES,
     .low = 0,
     .high = 1ull << 50,
     .def = "0",
     .offset = offsetof(struct params, tile_size),
     .uncertainty = "exact",
     .doc = "layout tiled: bytes that lie in one bank before the next bank's",
     .src = "SRC:assumed"},
    {.key = NULL}};

enum {
  READ_BYTES,
  WRITE_BYTES,
  CONFLICT_CYCLES,
  BANK_CONFLICT_CYCLES,
  BANK_CONFLICT_MAX_CYCLES,
  LATENCY_CYCLES,
  DMA_WAIT_FS
};
static const struct tsr_counter counters[] = {
    {"read_bytes", TSR_COUNTER_SUM, "bytes read, by tile and DMA"},
    {"write_bytes", TSR_COUNTER_SUM, "bytes written, by tile and DMA"},
    {"conflict_cycles", TSR_COUNTER_SUM, "cycles by which the port lengthened tile phases"},
    {"bank_conflict_cycles", TSR_COUNTER_SUM,
     "cycles after the first that banks needed for a step, all banks together"},
    {"bank_conflict_max_cycles", TSR_COUNTER_MAX, "those of the bank that had most"},
    {"latency_cycles", TSR_COUNTER_SUM, "cycles by which latency lengthened tile phases"},
    {"dma_wait_fs", TSR_COUNTER_SUM, "time by which tile phases delayed the DMA side"},
    {NULL, TSR_COUNTER_SUM, NULL}};

enum { READ, WRITE };

/* A phase of the tile side.  What it uses is spread evenly over its cycles. */
struct phase {
  uint64_t start_cycle, end_cycle, start_fs, end_fs; /* all 0: none; LATER: not yet known */
  uint64_t capacity;  /* bytes that the port could move in it, one direction */
  uint64_t used[2];   /* bytes */
  uint64_t way[2];    /* of the capacity, lost to the DMA side: by bytes or the busiest bank */
  uint64_t *words[2]; /* a bank: words read, written */
  bool gated;         /* by `occupy` */
};

/* Phases at once: three operands and a load behind them, of two units, this fold and
 * the next. */
enum { PHASES = 16 };
enum { CACHED = 64 }; /* patterns */

struct cached {
  struct tsr_pattern pattern; /* address modulo the period; lanes 0: none */
  unsigned accesses;
  struct tsri_bank_use use;
};

struct state {
  const struct params *p;
  const struct tsr_env *env;
  uint64_t *counters;
  uint64_t bytes_per_cycle;
  struct tsr_server dma[2]; /* read, write */
  uint64_t latency_fs;
  struct phase phase[PHASES]; /* a ring */
  uint64_t n_phases;
  uint64_t busy_fs, busy_cycle; /* no phase ends later */
  /* of a banked layout */
  struct tsri_banks banks; /* banks 0: stream */
  uint64_t *conflicts;     /* a bank: cycles */
  uint64_t *count;         /* scratch of tsri_banks_fold */
  struct cached *cache;
  uint64_t *arrays; /* all of these */
};

static uint64_t bytes_per_cycle(const void *vp) {
  const struct params *p = vp;
  return p->width == TSR_UNLIMITED ? TSR_UNLIMITED : p->width * p->banks;
}

/* ---- parameters that must fit each other ---- */

static enum tsr_status check_layout(const struct params *p, const char *name,
                                    struct tsr_err *err) {
  const char *layout = layout_names[p->layout];
  if (p->layout != TILED && p->tile_size)
    return tsr_err_set(err, TSR_INPUT, "%s: tile_size is for layout tiled; layout is %s", name,
                       layout);
  if (p->layout == STREAM) return TSR_OK;
  if (p->width == TSR_UNLIMITED)
    return tsr_err_set(err, TSR_INPUT,
                       "%s: layout %s needs words; expected a width, got 'unlimited'", name,
                       layout);
  if (p->layout == XOR && (p->banks & (p->banks - 1)))
    return tsr_err_set(err, TSR_INPUT,
                       "%s: layout xor; expected a power of two of banks, got %" PRIu64, name,
                       p->banks);
  if (p->layout == TILED && (!p->tile_size || p->tile_size % p->width))
    return tsr_err_set(err, TSR_INPUT,
                       "%s: layout tiled; expected a tile_size that is a multiple of width",
                       name);
  if (p->layout == COLUMN && p->size % (p->width * p->banks))
    return tsr_err_set(err, TSR_INPUT,
                       "%s: layout column; expected a size that is a multiple of banks times "
                       "width",
                       name);
  return TSR_OK;
}

static uint64_t chunk_words(const struct params *p) {
  if (p->layout == COLUMN) return p->size / (p->width * p->banks);
  return p->layout == TILED ? p->tile_size / p->width : 1;
}

/* ---- set up ---- */

static void fini(void *vs) {
  struct state *s = vs;
  tsr_mem_free(s->cache);
  tsr_mem_free(s->arrays);
  s->cache = NULL;
  s->arrays = NULL;
}

/* One array for the numbers of each bank: two of each cached pattern and of each phase,
 * the conflicts, the scratch. */
static enum tsr_status init_banks(struct state *s, struct tsr_err *err) {
  uint64_t n = s->p->banks;
  s->banks = (struct tsri_banks){s->p->width, n, chunk_words(s->p), s->p->layout == XOR};
  s->cache = tsr_mem_array(CACHED, sizeof *s->cache);
  s->arrays = tsr_mem_array((2 * CACHED + 2 * PHASES + 2) * n, sizeof *s->arrays);
  if (!s->cache || !s->arrays) {
    fini(s);
    return tsr_err_nomem(err);
  }
  uint64_t *next = s->arrays;
  for (int i = 0; i < CACHED; i++, next += 2 * n) {
    s->cache[i].use.words = next;
    s->cache[i].use.conflicts = next + n;
  }
  for (int i = 0; i < PHASES; i++, next += 2 * n) {
    s->phase[i].words[READ] = next;
    s->phase[i].words[WRITE] = next + n;
  }
  s->conflicts = next;
  s->count = next + n;
  return TSR_OK;
}

static enum tsr_status init(void *vs, const void *vp, const struct tsr_wiring *w,
                            struct tsr_err *err) {
  struct state *s = vs;
  s->p = vp;
  s->env = w->env;
  s->counters = w->self->counters;
  enum tsr_status st = check_layout(vp, w->self->name, err);
  if (st) return st;
  s->bytes_per_cycle = bytes_per_cycle(vp);
  uint64_t rate = TSR_UNLIMITED;
  if (s->bytes_per_cycle != TSR_UNLIMITED &&
      (!tsr_mul_u64(s->bytes_per_cycle, w->env->clock_hz, &rate) || rate >> 63))
    return tsr_err_set(
        err, TSR_INPUT,
        "%s: width times banks times clock is too large; expected below 2^63 B/s",
        w->self->name);
  tsr_server_init(&s->dma[READ], rate);
  tsr_server_init(&s->dma[WRITE], rate);
  s->latency_fs = (uint64_t)((tsr_u128)s->p->latency * TSR_FS_PER_S / w->env->clock_hz);
  return s->p->layout == STREAM ? TSR_OK : init_banks(s, err);
}

/* ---- the DMA side ---- */

/* Bytes of the phase that stand in the way of the DMA side in this direction. */
static uint64_t in_the_way(const struct state *s, const struct phase *ph, bool write) {
  if (s->p->ports == PORTS_1R1W) return ph->way[write];
  uint64_t both = tsri_sat_add(ph->way[READ], ph->way[WRITE]);
  if (s->p->ports == PORTS_1RW) return both;
  return both > ph->capacity ? both - ph->capacity : 0; /* the other port takes the rest */
}

static bool runs(const struct phase *ph, uint64_t fs) {
  return fs >= ph->start_fs && fs < ph->end_fs;
}

/* The phases that have not ended: few, and looked at for every unit. */
struct live {
  const struct phase *phase[PHASES];
  int n;
};
static struct live find_live(const struct state *s) {
  struct live live = {.n = 0};
  uint64_t now = s->env->now_fs(s->env->engine);
  if (s->busy_fs <= now) return live;
  for (int i = 0; i < PHASES; i++)
    if (s->phase[i].end_fs > now) live.phase[live.n++] = &s->phase[i];
  return live;
}

/* What the phases that run at both instants use together, measured against the capacity
 * of the first of them, and how long all of them go on. */
struct crowd {
  uint64_t used, capacity, left_fs;
};
static struct crowd crowd_at(const struct state *s, const struct live *live, bool write,
                             uint64_t from, uint64_t fs) {
  struct crowd c = {.left_fs = UINT64_MAX};
  for (int i = 0; i < live->n; i++) {
    const struct phase *ph = live->phase[i];
    if (!runs(ph, from) || !runs(ph, fs)) continue;
    uint64_t used = in_the_way(s, ph, write);
    if (!c.capacity)
      c.capacity = ph->capacity;
    else
      used = (uint64_t)((tsr_u128)used * c.capacity / ph->capacity);
    c.used = tsri_sat_add(c.used, used);
    c.left_fs = tsr_min_u64(c.left_fs, ph->end_fs - fs);
  }
  return c;
}

/* How long the DMA side, about to move one unit at `from`, is kept waiting by the phases
 * that run then. */
static uint64_t kept_waiting(const struct state *s, const struct live *live,
                             const struct tsr_server *port, bool write, uint64_t from) {
  uint64_t fs = from;
  for (;;) {
    struct crowd c = crowd_at(s, live, write, from, fs);
    if (!c.capacity) return fs - from;
    if (c.used < c.capacity) {
      /* the port works at (capacity - used)/capacity of its rate */
      tsr_u128 extra = (tsr_u128)port->quot * c.used / (c.capacity - c.used);
      if (extra < c.left_fs) return fs - from + (uint64_t)extra;
    }
    fs += c.left_fs;
  }
}

/* While the same phases run, a unit that passes among them waits alike. */
struct lull {
  uint64_t from, to;   /* fs: [from, to) */
  uint64_t extra, end; /* the wait, where it ends before `end` */
};
static struct lull find_lull(const struct state *s, const struct live *live,
                             const struct tsr_server *port, bool write, uint64_t from) {
  struct crowd c = crowd_at(s, live, write, from, from);
  struct lull l = {.from = from, .to = UINT64_MAX, .end = UINT64_MAX};
  for (int i = 0; i < live->n; i++)
    if (live->phase[i]->start_fs > from) l.to = tsr_min_u64(l.to, live->phase[i]->start_fs);
  if (!c.capacity) return l;
  l.end = from + c.left_fs;
  l.to = tsr_min_u64(l.to, l.end);
  tsr_u128 extra =
      c.used < c.capacity ? (tsr_u128)port->quot * c.used / (c.capacity - c.used) : UINT64_MAX;
  l.extra = extra < UINT64_MAX ? (uint64_t)extra : UINT64_MAX;
  return l;
}

/* One train through the port; returns how long its units waited. */
static uint64_t pass(const struct state *s, struct tsr_server *port, uint64_t bytes, bool write,
                     uint32_t n, uint64_t *time_fs) {
  struct live live = find_live(s);
  struct lull lull = {0};
  uint64_t waited = 0, start;
  if (bytes != port->unit_bytes) tsr_server_set_unit(port, bytes);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t from = tsr_max_u64(time_fs[i], port->free_fs), wait = 0;
    if (live.n) {
      if (from < lull.from || from >= lull.to) lull = find_lull(s, &live, port, write, from);
      wait =
          lull.extra < lull.end - from ? lull.extra : kept_waiting(s, &live, port, write, from);
    }
    waited += wait;
    time_fs[i] = tsr_server_take(port, bytes, wait ? from + wait : time_fs[i], &start);
  }
  return waited;
}

static uint64_t dma(void *vs, uint64_t bytes, bool write, uint32_t n, uint64_t *time_fs) {
  struct state *s = vs;
  s->counters[write ? WRITE_BYTES : READ_BYTES] += bytes * n;
  uint64_t waited = 0;
  if (s->bytes_per_cycle != TSR_UNLIMITED)
    waited =
        pass(s, &s->dma[s->p->ports == PORTS_1RW ? READ : write], bytes, write, n, time_fs);
  if (!write && s->latency_fs)
    for (uint32_t i = 0; i < n; i++) time_fs[i] = tsri_sat_add(time_fs[i], s->latency_fs);
  s->counters[DMA_WAIT_FS] += waited;
  return waited;
}

/* ---- the tile side: what a phase needs ---- */

static unsigned accesses(const struct state *s, const uint64_t bytes[2]) {
  return s->p->ports == PORTS_1R1W ? 1 : (bytes[READ] > 0) + (bytes[WRITE] > 0);
}

/* Cycles and banks of a pattern: looked up, or worked out once. */
static const struct tsri_bank_use *use_of(struct state *s, const struct tsr_pattern *pattern,
                                          unsigned n_accesses) {
  struct tsr_pattern k = *pattern;
  k.addr %= tsri_banks_period(&s->banks);
  uint64_t hash = n_accesses;
  const uint64_t part[] = {
      k.addr, (uint64_t)k.lane_bytes, (uint64_t)k.step_bytes, k.lanes, k.steps, k.elem_bytes};
  for (size_t i = 0; i < sizeof part / sizeof *part; i++)
    hash = (hash ^ part[i]) * 0x9e3779b97f4a7c15u; /* any odd number: only where to look */
  struct cached *c = &s->cache[hash >> 58];
  const struct tsr_pattern *o = &c->pattern;
  if (c->accesses != n_accesses || o->addr != k.addr || o->lane_bytes != k.lane_bytes ||
      o->step_bytes != k.step_bytes || o->lanes != k.lanes || o->steps != k.steps ||
      o->elem_bytes != k.elem_bytes) {
    c->pattern = k;
    c->accesses = n_accesses;
    struct tsri_bank_ports ports = {n_accesses, s->p->ports == PORTS_2RW ? 2 : 1};
    tsri_banks_fold(&s->banks, &k, ports, s->count, &c->use);
  }
  return &c->use;
}

static void count_conflicts(struct state *s, const struct tsri_bank_use *use) {
  uint64_t *c = s->counters;
  for (uint64_t i = 0; i < s->banks.banks; i++) {
    s->conflicts[i] = tsri_sat_add(s->conflicts[i], use->conflicts[i]);
    c[BANK_CONFLICT_CYCLES] = tsri_sat_add(c[BANK_CONFLICT_CYCLES], use->conflicts[i]);
    c[BANK_CONFLICT_MAX_CYCLES] = tsr_max_u64(c[BANK_CONFLICT_MAX_CYCLES], s->conflicts[i]);
  }
}

/* ---- the tile side: phases at once ---- */

/* What is shared: bytes of the width, words of a bank.  Of each there is one lot
 * where reads and writes share ports, one a direction where they do not. */
enum { WIDTH = -1, BOTH = 2 };
struct lot {
  int64_t bank;  /* or WIDTH */
  int direction; /* or BOTH */
};

static uint64_t share_of(const struct phase *ph, struct lot l) {
  uint64_t n[2];
  for (int d = READ; d <= WRITE; d++)
    n[d] = l.bank == WIDTH ? ph->used[d] : ph->words[d][l.bank];
  return l.direction == BOTH ? tsri_sat_add(n[READ], n[WRITE]) : n[l.direction];
}

static uint64_t per_cycle(const struct state *s, struct lot l) {
  uint64_t n = l.bank == WIDTH ? s->bytes_per_cycle : 1;
  return s->p->ports == PORTS_2RW ? 2 * n : n;
}

/* The first cycle after `t` at which a phase begins or ends; LATER: none. */
static uint64_t next_change(const struct state *s, uint64_t t) {
  uint64_t next = TSR_PHASE_LATER;
  for (int i = 0; i < PHASES; i++) {
    const struct phase *ph = &s->phase[i];
    if (ph->start_cycle > t) next = tsr_min_u64(next, ph->start_cycle);
    if (ph->end_cycle > t) next = tsr_min_u64(next, ph->end_cycle);
  }
  return next;
}

/* What the phases leave in [t, t + cycles), in which none begins or ends; less than 0
 * where promises overlap that will be kept later. */
static tsr_i128 left_in(const struct state *s, struct lot l, uint64_t t, uint64_t cycles) {
  tsr_i128 left = (tsr_i128)per_cycle(s, l) * cycles;
  for (int i = 0; i < PHASES; i++) {
    const struct phase *ph = &s->phase[i];
    if (ph->start_cycle > t || ph->end_cycle <= t) continue;
    uint64_t length = ph->end_cycle - ph->start_cycle;
    left -= (tsr_i128)(((tsr_u128)share_of(ph, l) * cycles + length - 1) / length);
  }
  return left;
}

/* Where the phases begin that, one overlapping the next, lead to `t`: what ended before has
 * had its due. */
static uint64_t crowd_start(const struct state *s, uint64_t t) {
  for (int i = 0; i < PHASES; i++) {
    const struct phase *ph = &s->phase[i];
    if (ph->start_cycle >= t || ph->end_cycle <= t) continue;
    t = ph->start_cycle;
    i = -1; /* all over again */
  }
  return t;
}

/* What phases begun before `start` should have had by then and will get after it, as a
 * negative number. */
static tsr_i128 backlog(const struct state *s, struct lot l, uint64_t start) {
  tsr_i128 left = 0;
  uint64_t t = crowd_start(s, start);
  while (t < start) {
    uint64_t next = tsr_min_u64(next_change(s, t), start);
    left += left_in(s, l, t, next - t);
    if (left > 0) left = 0; /* nobody was there to use it */
    t = next;
  }
  return left;
}

/* Cycles from `start` on in which the lot serves `need` beside the phases there are. */
static uint64_t served_in(const struct state *s, struct lot l, uint64_t start, uint64_t need) {
  if (!need) return 0;
  tsr_i128 missing = need - backlog(s, l, start);
  uint64_t t = start, next;
  for (; (next = next_change(s, t)) != TSR_PHASE_LATER; t = next) {
    uint64_t cycles = next - t;
    tsr_i128 left = left_in(s, l, t, cycles);
    if (left >= missing) return t - start + (uint64_t)((missing * cycles + left - 1) / left);
    missing -= left;
  }
  tsr_i128 rate = per_cycle(s, l);
  return t - start + (uint64_t)((missing + rate - 1) / rate);
}

/* What phases that begin at `from` or later were promised by `to`. */
static uint64_t due_in(const struct state *s, struct lot l, uint64_t from, uint64_t to) {
  uint64_t due = 0;
  for (int i = 0; i < PHASES; i++) {
    const struct phase *ph = &s->phase[i];
    if (ph->end_cycle && ph->start_cycle >= from && ph->end_cycle <= to)
      due = tsri_sat_add(due, share_of(ph, l));
  }
  return due;
}

/* The end, not before `end`, of a phase that needs `need` from `start` on, so that from
 * cycle `from` on no more is due by any cycle than the lot serves. */
static uint64_t end_from(const struct state *s, struct lot l, uint64_t from, uint64_t need,
                         uint64_t end) {
  for (int i = 0; i < PHASES; i++) {
    uint64_t to = tsr_max_u64(s->phase[i].end_cycle, end);
    uint64_t due = tsri_sat_add(need, due_in(s, l, from, to));
    if (due <= tsri_sat_mul(to - from, per_cycle(s, l))) continue;
    /* Not by `to`: where others are due then, after them. */
    end = to > end ? to + 1 : from + tsr_ceil_div(due, per_cycle(s, l));
    i = -1; /* all over again */
  }
  return end;
}

/* A phase booked after others that begin later does not break what they were promised. */
static uint64_t kept_by(const struct state *s, struct lot l, uint64_t start, uint64_t need,
                        uint64_t end) {
  for (uint64_t before = 0; before != end;) {
    before = end;
    end = end_from(s, l, start, need, end);
    for (int i = 0; i < PHASES; i++)
      if (s->phase[i].end_cycle && s->phase[i].start_cycle < start)
        end = end_from(s, l, s->phase[i].start_cycle, need, end);
  }
  return end;
}

/* Whether `cycles` are enough though all phases after `start` fell into them. */
static bool is_roomy(const struct state *s, struct lot l, uint64_t start, uint64_t cycles,
                     uint64_t need) {
  for (int i = 0; i < PHASES; i++)
    if (s->phase[i].end_cycle > start) need = tsri_sat_add(need, share_of(&s->phase[i], l));
  return need <= tsri_sat_mul(cycles, per_cycle(s, l));
}

/* The phase's cycles: `cycles`, or what the lots of a bank or of the width need. */
static uint64_t shared(const struct state *s, const struct phase *ph, int64_t bank, bool alone,
                       uint64_t cycles) {
  bool split = s->p->ports == PORTS_1R1W;
  uint64_t start = ph->start_cycle;
  for (int d = split ? READ : BOTH; d <= (split ? WRITE : BOTH); d++) {
    struct lot l = {bank, d};
    uint64_t need = share_of(ph, l);
    if (alone)
      cycles = tsr_max_u64(cycles, tsr_ceil_div(need, per_cycle(s, l)));
    else if (!is_roomy(s, l, start, cycles, need)) {
      cycles = tsr_max_u64(cycles, served_in(s, l, start, need));
      cycles = kept_by(s, l, start, need, start + cycles) - start;
    }
  }
  return cycles;
}

/* ---- the tile side: booking ---- */

/* Where the phase's words lie; without a pattern evenly.  The bursts of the DMA side pass
 * all banks in turn, so that the busiest one holds them up. */
static void lay(struct state *s, struct phase *ph, const struct tsri_bank_use *use) {
  for (int d = READ; d <= WRITE; d++) {
    uint64_t most = 0;
    for (uint64_t i = 0; i < s->banks.banks; i++) {
      uint64_t n = use ? use->words[i] : tsr_ceil_div(ph->used[d], s->bytes_per_cycle);
      ph->words[d][i] = ph->used[d] ? n : 0;
      most = tsr_max_u64(most, use ? ph->words[d][i] : 0);
    }
    ph->way[d] = tsr_max_u64(ph->used[d], tsri_sat_mul(most, s->bytes_per_cycle));
  }
}

/* Whether a phase meets no other; one that is not known to begin does not. */
static bool is_alone(const struct state *s, uint64_t start) {
  return start == TSR_PHASE_LATER || s->busy_cycle <= start ||
         next_change(s, start) == TSR_PHASE_LATER;
}

/* The cycles of a phase that wants `cycles`. */
static uint64_t needed(struct state *s, struct phase *ph, uint64_t cycles,
                       const struct tsr_pattern *pattern) {
  const struct tsri_bank_use *use = NULL;
  if (s->banks.banks && pattern && (ph->used[READ] || ph->used[WRITE])) {
    use = use_of(s, pattern, accesses(s, ph->used));
    count_conflicts(s, use);
    cycles = tsr_max_u64(cycles, use->cycles);
  }
  lay(s, ph, use);
  bool alone = is_alone(s, ph->start_cycle);
  cycles = shared(s, ph, WIDTH, alone, cycles);
  if (alone) return cycles; /* of the banks, the busiest of each step has said all */
  for (uint64_t i = 0; i < s->banks.banks; i++)
    cycles = shared(s, ph, (int64_t)i, false, cycles);
  return cycles;
}

/* A place in the ring for a phase of which nothing is known yet. */
static struct phase *add_phase(struct state *s, uint64_t read, uint64_t write) {
  struct phase *ph = &s->phase[s->n_phases++ % PHASES];
  *ph = (struct phase){.used = {read, write}, .words = {ph->words[READ], ph->words[WRITE]}};
  return ph;
}

static void set_time(struct state *s, struct phase *ph, uint64_t start, uint64_t cycles) {
  ph->start_cycle = start;
  ph->end_cycle = tsri_sat_add(start, cycles);
  ph->start_fs = s->env->cycle_fs(s->env->engine, start);
  ph->end_fs = s->env->cycle_fs(s->env->engine, ph->end_cycle);
  ph->capacity = tsri_sat_mul(cycles, s->bytes_per_cycle);
  s->busy_fs = tsr_max_u64(s->busy_fs, ph->end_fs);
  s->busy_cycle = tsr_max_u64(s->busy_cycle, ph->end_cycle);
}

/* Whether the addresses of a phase follow those of another without a gap. */
static bool reads_on(const struct state *s, uint64_t start) {
  for (int i = 0; i < PHASES; i++) {
    const struct phase *ph = &s->phase[i];
    if (ph->used[READ] && ph->start_cycle < start && ph->end_cycle >= start) return true;
  }
  return false;
}

/* A gated phase is booked from the cycle of its first result, others from the start of
 * their stream, which is before that.  So one that begins while a gated one still writes
 * comes behind it: it does not share with it, and the DMA side meets one, then the other. */
static void leave_gated(struct state *s, uint64_t start) {
  for (int i = 0; i < PHASES; i++)
    if (s->phase[i].gated && s->phase[i].start_cycle < start) s->phase[i].end_cycle = 0;
}
static void follow_gated(const struct state *s, struct phase *ph) {
  uint64_t start = ph->start_fs;
  for (int i = 0; i < PHASES; i++) {
    const struct phase *o = &s->phase[i];
    if (o->gated && o->start_fs < start && start < o->end_fs)
      ph->start_fs = tsr_max_u64(ph->start_fs, o->end_fs);
  }
}

static uint64_t tile(void *vs, uint64_t start_cycle, uint64_t cycles, uint64_t read,
                     uint64_t write, const struct tsr_pattern *pattern) {
  struct state *s = vs;
  s->counters[READ_BYTES] += read;
  s->counters[WRITE_BYTES] += write;
  bool later = start_cycle == TSR_PHASE_LATER, after = later || s->busy_cycle <= start_cycle;
  bool waits = s->p->latency && read && !later && !reads_on(s, start_cycle);
  uint64_t wait = waits ? s->p->latency : 0;
  if (!after) leave_gated(s, start_cycle);
  struct phase *ph = add_phase(s, read, write);
  ph->start_cycle = start_cycle;
  uint64_t takes = cycles;
  if (s->bytes_per_cycle != TSR_UNLIMITED) takes = needed(s, ph, cycles, pattern);
  s->counters[CONFLICT_CYCLES] += takes - cycles;
  s->counters[LATENCY_CYCLES] += wait;
  takes = tsri_sat_add(takes, wait);
  if (later) return takes;
  set_time(s, ph, start_cycle, takes);
  if (!after) follow_gated(s, ph);
  return takes;
}

/* The oldest phase of these bytes that waits for its time. */
static struct phase *find_later(struct state *s, uint64_t read, uint64_t write) {
  for (uint64_t i = 0; i < PHASES; i++) {
    struct phase *ph = &s->phase[(s->n_phases + i) % PHASES];
    if (ph->start_cycle == TSR_PHASE_LATER && ph->used[READ] == read &&
        ph->used[WRITE] == write)
      return ph;
  }
  return NULL;
}

static void occupy(void *vs, uint64_t start_cycle, uint64_t cycles, uint64_t read,
                   uint64_t write) {
  struct state *s = vs;
  struct phase *ph = find_later(s, read, write);
  if (!ph) {
    ph = add_phase(s, read, write);
    lay(s, ph, NULL);
  }
  ph->gated = true;
  set_time(s, ph, start_cycle, cycles);
}

/* ---- repetition ---- */

static void visit_phase(const struct state *s, struct phase *ph, struct tsr_visit *v) {
  tsr_visit_value(v, ph->start_cycle == TSR_PHASE_LATER);
  if (ph->start_cycle != TSR_PHASE_LATER) {
    tsr_visit_cycle(v, &ph->start_cycle);
    tsr_visit_value(v, ph->end_cycle != 0); /* 0: it left (leave_gated) */
    if (ph->end_cycle) tsr_visit_cycle(v, &ph->end_cycle);
    tsr_visit_fs(v, &ph->start_fs);
    tsr_visit_fs(v, &ph->end_fs);
  }
  tsr_visit_value(v, ph->capacity);
  tsr_visit_value(v, ph->gated);
  for (int d = READ; d <= WRITE; d++) {
    tsr_visit_value(v, ph->used[d]);
    tsr_visit_value(v, ph->way[d]);
    for (uint64_t i = 0; i < s->banks.banks; i++) tsr_visit_value(v, ph->words[d][i]);
  }
}

/* Phases that somebody may still meet: those that last, those whose addresses another may
 * follow, those that led to them; their places in the ring. */
static void visit_phases(struct state *s, struct tsr_visit *v) {
  uint64_t from = crowd_start(s, v->since_cycle);
  for (uint64_t i = 1; i <= PHASES; i++) {
    struct phase *ph = &s->phase[(s->n_phases + PHASES - i) % PHASES];
    bool alive = ph->end_cycle >= v->since_cycle || ph->end_cycle > from ||
                 ph->start_cycle == TSR_PHASE_LATER || ph->end_fs > v->now_fs;
    if (!alive || !(ph->end_cycle || ph->start_cycle)) continue;
    tsr_visit_value(v, i);
    visit_phase(s, ph, v);
  }
}

static void visit(void *vs, struct tsr_visit *v) {
  struct state *s = vs;
  tsr_visit_fs_floor(v, &s->busy_fs, v->now_fs);
  tsr_visit_cycle_floor(v, &s->busy_cycle, v->now_cycle);
  if (s->bytes_per_cycle != TSR_UNLIMITED || s->p->latency) visit_phases(s, v);
  for (int d = READ; d <= WRITE; d++) {
    tsr_visit_value(v, s->dma[d].free_fs >= v->now_fs ? s->dma[d].rem : 0);
    tsr_visit_fs_floor(v, &s->dma[d].free_fs, v->now_fs);
  }
  uint64_t *most = &s->counters[BANK_CONFLICT_MAX_CYCLES];
  for (uint64_t i = 0; i < s->banks.banks; i++) {
    tsr_visit_sum(v, &s->conflicts[i]);
    if (v->advance && v->delta[v->at_sum - 1]) *most = tsr_max_u64(*most, s->conflicts[i]);
  }
}

static void rest(void *vs) {
  struct state *s = vs;
  for (int i = 0; i < PHASES; i++) {
    struct phase *ph = &s->phase[i];
    *ph = (struct phase){.words = {ph->words[READ], ph->words[WRITE]}};
  }
  s->n_phases = s->busy_fs = s->busy_cycle = 0;
  for (int d = READ; d <= WRITE; d++) s->dma[d].free_fs = s->dma[d].rem = 0;
}

/* ---- facts ---- */

static uint64_t slot_bytes(const void *vp) {
  const struct params *p = vp;
  return p->size / p->buffers;
}
static uint64_t slots(const void *vp) {
  return ((const struct params *)vp)->buffers;
}
static uint64_t banks(const void *vp) {
  return ((const struct params *)vp)->banks;
}
static uint64_t bank_conflicts(const void *vs, uint64_t bank) {
  const struct state *s = vs;
  return bank < s->banks.banks ? s->conflicts[bank] : 0;
}

static const struct tsr_buffer_ops buffer = {.dma = dma,
                                             .tile = tile,
                                             .occupy = occupy,
                                             .slot_bytes = slot_bytes,
                                             .slots = slots,
                                             .bytes_per_cycle = bytes_per_cycle,
                                             .banks = banks,
                                             .bank_conflicts = bank_conflicts};

const struct tsr_component tsri_sram = {.abi = TSR_MODEL_ABI,
                                        .kind = "sram",
                                        .doc = "banked scratchpad whose ports DMA engines and "
                                               "tiles share",
                                        .state_size = sizeof(struct state),
                                        .params_size = sizeof(struct params),
                                        .params = params,
                                        .counters = counters,
                                        .init = init,
                                        .fini = fini,
                                        .visit = visit,
                                        .rest = rest,
                                        .buffer = &buffer};
