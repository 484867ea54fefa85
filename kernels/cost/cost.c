#include "kernels/cost/cost.h"

#include <math.h>
#include <string.h>

#include "sim/base/mem.h"

const char *const tsr_bound_names[] = {"tile", "memory", "vector", NULL};

enum { A, B, C, SLOTS_MAX = 8, LOOPS = TSR_AXIS_COUNT, KINDS = 1 << LOOPS };
enum { STORES = 6 };      /* the latest, which loads may meet */
enum { SETTLE_MAX = 24 }; /* iterations after which the last ones stand for all */

/* A tile, by which loops are in their last iteration: what it takes. */
struct kind {
  bool known;
  double transfer[3];            /* cycles of the memory for a, b, c */
  double bytes[3], useful[3];    /* in whole bursts, and of them the tensors' */
  double busy, head, tail, fold; /* of the tile: streams, first fill, last drain, one fold */
  double elems;                  /* of the result */
};

/* Times at which things are free or there. */
struct times {
  double load, store, tile, stream_end, last_fold, vector;
  double from[STORES], to[STORES]; /* the latest stores, in turn */
  double slot[3][SLOTS_MAX];       /* when buffers of a, b, c were let go of, the latest last */
  double full[2];                  /* the present tiles of a and b are there */
  double read;                     /* the tile has read the latest operands */
  double done;                     /* the latest result is there */
  double end;                      /* the latest store has ended */
  double sum[TSR_BOUND_COUNT_], bytes;
  double moved[2]; /* by the load engine, by the store engine */
};
enum { N_TIMES = sizeof(struct times) / sizeof(double) };
union state {
  struct times t;
  double v[N_TIMES];
};

struct walk {
  const struct tsr_mapping *m;
  const struct tsr_target *t;
  const struct tsr_shape *all;
  struct tsr_shape part; /* of a core */
  double rate[3];        /* bytes a cycle of transfers of a, b, c */
  double seen[3];        /* part of what a core moves that the memory sees */
  double latency[3];
  double use[3], port[3]; /* what a transfer alone takes of a core's share of the memory, of
                             the slices' ports */
  uint64_t cores;
  uint32_t level[3]; /* loops around the transfers */
  uint64_t slots[3];
  bool opened; /* a result's buffer is not asked for yet */
  struct kind kind[KINDS];
  union state s;
};

/* As fmax and fmin, which are calls for what they do with NaN. */
static inline double larger(double a, double b) {
  return a > b ? a : b;
}
static inline double smaller(double a, double b) {
  return a < b ? a : b;
}

/* ---- bytes ---- */

/* Bytes of whole bursts for `bytes` in runs of `run`, which begin at multiples of `stride`
 * somewhere: a run whose begin is g bytes apart from others in its burst touches, on average,
 * (run + burst - g)/burst bursts. */
static double in_bursts(const struct walk *w, double bytes, uint64_t run, uint64_t stride) {
  double burst = (double)w->t->burst_bytes;
  double g = (double)tsr_gcd_u64(tsr_gcd_u64(stride, w->t->burst_bytes), run);
  return bytes / (double)run * ((double)run + burst - g);
}

static void set_bytes(struct walk *w, const struct tsr_mapping *tile, struct kind *k) {
  const struct tsr_shape *s = &w->part;
  const uint64_t *z = w->all->size, *x = tile->tile; /* rows are those of the whole tensor */
  uint64_t bytes[3];
  tsr_mapping_tile_bytes(s, tile, bytes);
  bytes[C] = bytes[C] / s->acc_bytes * s->out_bytes;
  uint64_t groups = s->conv ? z[TSR_AXIS_G] : 1;
  uint64_t row[3] = {groups * z[TSR_AXIS_C] * s->a_bytes, z[TSR_AXIS_N] * s->b_bytes,
                     groups * z[TSR_AXIS_N] * s->out_bytes}; /* of the tensors, innermost */
  uint64_t run[3] = {(s->conv ? x[TSR_AXIS_G] : 1) * x[TSR_AXIS_C] * s->a_bytes,
                     x[TSR_AXIS_N] * s->b_bytes,
                     (s->conv ? x[TSR_AXIS_G] : 1) * x[TSR_AXIS_N] * s->out_bytes};
  for (int i = 0; i < 3; i++) {
    bool whole = run[i] == row[i]; /* rows follow each other */
    uint64_t length = whole ? bytes[i] : run[i];
    if (i == A && s->conv && whole) length = run[i] * tsr_min_u64(s->in_w, bytes[i] / run[i]);
    k->bytes[i] = bytes[i] ? in_bursts(w, (double)bytes[i], tsr_max_u64(length, 1), row[i]) : 0;
    k->useful[i] = (double)bytes[i];
    k->transfer[i] = k->bytes[i] / w->rate[i];
  }
}

/* ---- the tile ---- */

static bool stationary(const struct tsr_target *t) {
  return tsr_flow_is_stationary(t->flow);
}

/* The largest share of one of a core's tiles. */
static void cut(const struct tsr_target *t, uint64_t *m, uint64_t *n, uint64_t *g) {
  uint64_t cols = tsr_max_u64(t->cols, 1), rows = tsr_max_u64(t->rows, 1);
  if (t->tiles < 2) return;
  if (tsr_ceil_div(*n, cols) >= t->tiles)
    *n = tsr_ceil_div(tsr_ceil_div(*n, t->tiles), cols) * cols;
  else if (*g >= t->tiles)
    *g = tsr_ceil_div(*g, t->tiles);
  else
    *m = tsr_min_u64(*m, tsr_ceil_div(tsr_ceil_div(*m, t->tiles), rows) * rows);
}

/* Stream of one fold: with fewer rows than its stationary operand takes to load it is shorter
 * than the time between folds. */
static double fold_of(const struct tsr_target *t, struct tsr_tile_work x) {
  if (t->flow == TSR_FLOW_RS) {
    uint64_t lines = tsr_min_u64(x.lines, t->cols);
    uint64_t above = tsr_max_u64(t->rows / x.k_lines, 1), beside = t->cols / x.lines;
    x.m = x.m / x.lines * lines;
    x.lines = lines;
    x.n = tsr_min_u64(x.n, above * tsr_max_u64(beside, 1));
  } else {
    uint64_t *side = t->flow == TSR_FLOW_IS ? &x.m : &x.n;
    *side = tsr_min_u64(*side, t->cols);
    x.k = tsr_min_u64(x.k, t->rows * t->rate);
  }
  x.groups = 1;
  return (double)t->tile_cycles(t->tile, &x, t->rate);
}

/* Until the first stationary operand is there: of rows of filters one of them. */
static double head_of(const struct tsr_target *t, const struct tsr_tile_work *x) {
  if (t->flow != TSR_FLOW_RS) return (double)t->head;
  return (double)tsr_ceil_div(tsr_ceil_div(x->k, x->k_lines), t->rate);
}

static void set_work(struct walk *w, const struct tsr_mapping *tile, bool last_k,
                     struct kind *k) {
  const struct tsr_target *t = w->t;
  struct tsr_tile_work x = {.m = tsr_mapping_tile_m(tile),
                            .n = tile->tile[TSR_AXIS_N],
                            .k = tsr_mapping_tile_k(tile),
                            .groups = tile->tile[TSR_AXIS_G],
                            .lines = tsr_tile_lines(tile->tile),
                            .k_lines = tile->tile[TSR_AXIS_KH],
                            .last = last_k};
  k->elems = (double)(x.m * x.n * x.groups);
  cut(t, &x.m, &x.n, &x.groups);
  if (t->tiles > 1) x.lines = tsr_min_u64(x.lines, x.m);
  double all = (double)t->tile_cycles(t->tile, &x, t->rate);
  bool streams = stationary(t) && t->preload;
  k->head = streams ? head_of(t, &x) : 0;
  k->tail = t->flow == TSR_FLOW_DOT ? (double)t->skew - 1 : streams ? (double)t->skew : 0;
  k->busy = all - k->head - k->tail;
  k->fold = stationary(t) ? fold_of(t, x) - k->head - k->tail : 0;
}

/* ---- kinds ---- */

static const struct kind *kind_of(struct walk *w, unsigned last) {
  struct kind *k = &w->kind[last];
  if (k->known) return k;
  struct tsr_mapping tile = *w->m;
  bool last_k = true;
  for (uint32_t i = 0; i < w->m->n_loops; i++) {
    const struct tsr_map_loop *l = &w->m->loop[i];
    bool is_last = last & 1u << i;
    uint64_t trips = tsr_ceil_div(w->part.size[l->axis], l->tile);
    if (is_last) tile.tile[l->axis] = w->part.size[l->axis] - (trips - 1) * l->tile;
    if (tsr_axis_is_k((int)l->axis)) last_k = last_k && is_last;
  }
  set_bytes(w, &tile, k);
  set_work(w, &tile, last_k, k);
  k->known = true;
  return k;
}

/* ---- buffers ---- */

/* When the buffer is free that the transfer `ahead` of the next one takes: the one of as many
 * before as there are. */
static double free_of(const struct walk *w, int x, uint64_t ahead) {
  return w->s.t.slot[x][SLOTS_MAX - w->slots[x] + ahead];
}

static void let_go(struct times *s, int x, double at) {
  memmove(&s->slot[x][0], &s->slot[x][1], (SLOTS_MAX - 1) * sizeof s->slot[x][0]);
  s->slot[x][SLOTS_MAX - 1] = at;
}

/* ---- transfers ---- */

/* When `work` of the memory that begins at `from` is done.  The memory serves both engines by
 * turns: where with a store it is asked for `crowd` times what it has, both take so much longer
 * until one is through; the store and those behind it end later. */
static double beside_stores(struct times *s, double from, double work, double crowd) {
  if (s->to[STORES - 1] <= from) return from + work; /* all are through */
  for (int i = 0; i < STORES; i++) {
    double late = i ? larger(s->to[i - 1] - s->from[i], 0) : 0;
    s->from[i] += late;
    s->to[i] += late;
    if (s->to[i] <= from) continue;
    double alone = smaller(larger(s->from[i] - from, 0), work);
    from += alone;
    work -= alone;
    double both = smaller(work, s->to[i] - from);
    if (both <= 0) continue;
    from += crowd * both;
    work -= both;
    s->to[i] += (crowd - 1) * both;
  }
  s->store = s->to[STORES - 1];
  return from + work;
}

/* By how much a load and a store take longer while both are at it. */
static double crowd_of(const struct walk *w, int x) {
  return larger(larger(w->use[x] + w->use[C], w->port[x] + w->port[C]), 1);
}

static void load(struct walk *w, int x, const struct kind *k) {
  struct times *s = &w->s.t;
  double from = larger(s->load, free_of(w, x, 0));
  bool near = w->t->near[x]; /* it passes no memory */
  double crowd = crowd_of(w, x);
  s->load = near ? from + k->transfer[x] : beside_stores(s, from, k->transfer[x], crowd);
  s->full[x] = s->load + (near ? 0 : w->latency[x]);
  s->moved[0] += k->transfer[x];
  s->bytes += k->bytes[x] * w->seen[x];
}

static double store(struct walk *w, double ready, const struct kind *k) {
  struct times *s = &w->s.t;
  double from = larger(s->store, ready), own = k->transfer[C];
  s->store = from + own;
  s->moved[1] += own;
  if (w->t->near[C]) return s->store;
  memmove(&s->from[0], &s->from[1], (STORES - 1) * sizeof s->from[0]);
  memmove(&s->to[0], &s->to[1], (STORES - 1) * sizeof s->to[0]);
  s->from[STORES - 1] = from;
  s->to[STORES - 1] = s->store;
  s->bytes += k->bytes[C] * w->seen[C];
  return s->store;
}

/* When there is a buffer for a result: the store that has it ends later by the loads that are
 * still to come beside it, those for which there are buffers by then. */
static double room_for_result(const struct walk *w, const struct kind *k) {
  const struct times *s = &w->s.t;
  if (w->m->promoted || w->t->near[C] || w->slots[C] > STORES) return free_of(w, C, 0);
  if (s->to[STORES - 1] <= s->load) return s->to[STORES - w->slots[C]];
  struct times ahead;
  double free = s->load;
  uint32_t inner = w->level[A] > w->level[B] ? w->level[A] : w->level[B];
  memcpy(ahead.from, s->from, sizeof s->from);
  memcpy(ahead.to, s->to, sizeof s->to);
  for (uint64_t j = 1; j < SLOTS_MAX; j++)
    for (int x = B; x >= A; x--) {
      if (w->level[x] != inner || w->t->near[x] || j >= w->slots[x]) continue;
      double from = larger(free, free_of(w, x, j));
      free = beside_stores(&ahead, from, k->transfer[x], crowd_of(w, x));
    }
  return ahead.to[STORES - w->slots[C]];
}

/* ---- the product ---- */

/* When the stationary operand is there that is asked for at `from`: its load goes behind the
 * stream before.  One that takes longer than there are rows (tile.rule onnxim) does so in an
 * array that has drained; in another it began with that stream. */
static double loaded(const struct walk *w, const struct kind *k, double from) {
  const struct times *s = &w->s.t;
  double rows = (double)w->t->rows, drained = s->stream_end + (double)w->t->skew;
  if (k->head <= rows) return larger(from, s->last_fold) + k->head;
  if (from >= drained || s->stream_end <= 0) return from + k->head;
  return larger(from, s->last_fold + rows);
}

static void product(struct walk *w, const struct kind *k) {
  const struct tsr_target *t = w->t;
  struct times *s = &w->s.t;
  double from = larger(larger(s->full[A], s->full[B]), s->tile);
  bool streams = stationary(t) && t->preload;
  double begin = larger(streams ? loaded(w, k, from) : from, s->stream_end);
  double end = begin + k->busy;
  if (w->opened || w->m->promoted) { /* its first result wants a buffer */
    double room = room_for_result(w, k);
    double first = streams ? begin + (double)t->rows : t->flow == TSR_FLOW_OS ? end : begin;
    if (room > first) end += room - first;
    w->opened = false;
  }
  s->sum[TSR_BOUND_TILE] += k->busy + (streams ? larger(k->head - k->fold, 0) : 0);
  s->stream_end = end;
  s->last_fold = end - (streams ? k->fold : 0);
  s->tile = streams ? s->last_fold : end;
  s->read = end;
  s->done = end + k->tail;
  if (t->flow == TSR_FLOW_OS) s->done += (double)t->rows;
  if (!w->m->promoted) return;
  double adding = k->elems * (w->m->scaled ? 2 : 1) / (double)tsr_max_u64(t->lanes, 1);
  s->vector = larger(s->vector, s->done) + adding;
  s->sum[TSR_BOUND_VECTOR] += adding;
  let_go(s, C, s->vector);
  s->done = s->vector;
}

static void close_result(struct walk *w, const struct kind *k) {
  struct times *s = &w->s.t;
  double ready = s->done;
  if (w->t->step_cycles > 0) {
    double steps = k->elems * w->t->step_cycles;
    s->vector = larger(s->vector, ready) + steps;
    s->sum[TSR_BOUND_VECTOR] += steps;
    ready = s->vector;
  }
  double end = store(w, ready, k);
  s->end = end + (w->t->near[C] ? 0 : w->latency[C]);
  if (!w->m->promoted) let_go(s, C, end);
}

/* ---- loops ---- */

static void walk_level(struct walk *w, uint32_t level, unsigned last);

static bool same(double a, double b) {
  return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-9;
}

/* Whether the last `period` iterations moved every time by what those before did. */
static bool settled(const union state *past, int n, int period) {
  if (n < 2 * period) return false;
  const union state *now = &past[n], *mid = &past[n - period], *old = &past[n - 2 * period];
  for (int i = 0; i < N_TIMES; i++)
    if (!same(now->v[i] - mid->v[i], mid->v[i] - old->v[i])) return false;
  return true;
}

/* For how many repetitions by `now - mid` no store that goes on beside the loads comes to its
 * end: there what follows is another thing. */
static double until_stores_end(const union state *mid, const union state *now) {
  double most = INFINITY, by = now->t.load - mid->t.load;
  for (int i = 0; i < STORES; i++) {
    double left = now->t.to[i] - now->t.load, closer = by - (now->t.to[i] - mid->t.to[i]);
    if (left > 0 && closer > 1e-9 * by) most = smaller(most, floor(left / closer));
  }
  return most;
}

static void walk_loop(struct walk *w, uint32_t level, unsigned last) {
  const struct tsr_map_loop *l = &w->m->loop[level];
  uint64_t trips = tsr_ceil_div(w->part.size[l->axis], l->tile);
  union state past[SETTLE_MAX + 1];
  int n = 0;
  past[0] = w->s;
  for (uint64_t i = 0; i + 1 < trips; i++) {
    walk_level(w, level + 1, last);
    if (n == SETTLE_MAX) {
      memmove(&past[0], &past[1], n * sizeof *past);
      n--;
    }
    past[++n] = w->s;
    uint64_t left = trips - 2 - i;
    for (int period = 1; period <= 4 && left; period++) {
      bool enough = n == SETTLE_MAX && period == 4; /* near enough */
      if (!enough && !settled(past, n, period)) continue;
      double most = until_stores_end(&past[n - period], &past[n]);
      uint64_t times = left / (uint64_t)period;
      if (most < 1) break;
      if (most < (double)times) times = (uint64_t)most;
      for (int v = 0; v < N_TIMES; v++)
        w->s.v[v] += (double)times * (past[n].v[v] - past[n - period].v[v]);
      i += times * (uint64_t)period;
      past[0] = w->s;
      n = 0;
      break;
    }
  }
  walk_level(w, level + 1, last | 1u << level);
}

static void walk_level(struct walk *w, uint32_t level, unsigned last) {
  bool a = w->level[A] == level, b = w->level[B] == level, c = w->level[C] == level;
  /* what a transfer moves depends on the loops around it alone */
  const struct kind *k = kind_of(w, last);
  if (b) load(w, B, k);
  if (a) load(w, A, k);
  if (c) w->opened = true;
  if (level < w->m->n_loops)
    walk_loop(w, level, last);
  else
    product(w, k);
  for (int x = A; x <= B; x++)
    if (w->level[x] == level) let_go(&w->s.t, x, w->s.t.read);
  if (c) close_result(w, k);
}

/* ---- k among cores ---- */

/* Cores that divide k store sums, all of them, and then each adds up its share of the results.
 */
static bool divides_k(const struct tsr_split *split) {
  return split && split->parts[0] > 1 && tsr_axis_is_k((int)split->axis[0]);
}

static double reduction(const struct walk *w, const struct tsr_shape *s) {
  const struct tsr_target *t = w->t;
  double cores = (double)w->cores, sum = (double)w->part.out_bytes;
  double results = (double)(s->size[TSR_AXIS_G] * tsr_shape_m(s) * s->size[TSR_AXIS_N]);
  double rate = smaller(t->core_bytes_per_cycle, t->llb_bytes_per_cycle / cores);
  if (t->crowd[0])
    rate = smaller(rate, t->link_bytes_per_cycle / larger(t->crowd[0][w->cores - 1], 1));
  if (results * sum * cores > (double)t->llb_bytes)
    rate = smaller(rate, t->memory_bytes_per_cycle / cores);
  double loads = results * sum / rate, adds = results / (double)tsr_max_u64(t->lanes, 1);
  double stores = results / cores * (double)s->out_bytes / w->rate[C];
  return larger(loads, adds) + stores + 2 * w->latency[C]; /* results / cores, from each core */
}

/* ---- the layer ---- */

/* How often an operand's tile is moved by one core. */
static double moves_of(const struct walk *w, int x) {
  double n = 1;
  for (uint32_t i = 0; i < w->level[x]; i++)
    n *= (double)tsr_ceil_div(w->part.size[w->m->loop[i].axis], w->m->loop[i].tile);
  return n;
}

/* What of an operand's traffic the memory sees.  A last-level buffer that holds all of the
 * layer reads operands once and keeps results; one that does not, and a multicast, still serve
 * all cores that want the same with one read. */
static double seen_by_memory(const struct walk *w, const struct tsr_shape *s,
                             const struct tsr_split *split, int x) {
  if (w->t->near[x]) return 0;
  struct tsr_mapping all = *w->m;
  uint64_t bytes[3], sum = 0;
  memcpy(all.tile, s->size, sizeof all.tile);
  tsr_mapping_tile_bytes(s, &all, bytes);
  bytes[C] = bytes[C] / s->acc_bytes * s->out_bytes;
  for (int i = A; i <= C; i++) sum += bytes[i];
  bool shared = x != C && split && w->cores > 1 && tsr_split_shares(split, x);
  double once = shared && (w->t->multicast || w->t->llb_bytes) ? 1 / (double)w->cores : 1;
  const struct kind *k = &w->kind[0];
  /* what is left of a burst, a neighbour of the tile takes out of the buffer */
  if (w->t->llb_bytes && k->bytes[x] > 0) once *= k->useful[x] / k->bytes[x];
  if (sum > w->t->llb_bytes) return once;
  if (x == C) return 0;
  double moved = k->bytes[x] * moves_of(w, x) * (double)w->cores;
  return smaller(once, moved > 0 ? (double)bytes[x] / moved : 1);
}

/* ---- slices ---- */

/* A tensor's tile in memory: `rows` runs of `run` bytes, `stride` apart; how far apart the
 * tiles of cores are that are one apart along each axis of the division. */
struct runs {
  uint64_t run, stride, rows, apart[2];
};

static uint64_t along(const struct walk *w, int x, enum tsr_isa_axis axis) {
  const struct tsr_shape *s = w->all;
  const uint64_t *z = s->size;
  uint64_t groups = s->conv ? z[TSR_AXIS_G] : 1;
  uint64_t rows[3] = {groups * z[TSR_AXIS_C] * s->a_bytes, z[TSR_AXIS_N] * s->b_bytes,
                      groups * z[TSR_AXIS_N] * s->out_bytes};
  uint64_t elem[3] = {s->a_bytes, s->b_bytes, s->out_bytes};
  if (!tsr_mapping_follows(x, axis)) return 0;
  switch (axis) {
  case TSR_AXIS_N: return elem[x];
  case TSR_AXIS_C: return x == A ? elem[x] : rows[x];
  case TSR_AXIS_OW: return rows[x] * (x == A && s->conv ? s->stride_w : 1);
  case TSR_AXIS_OH: return rows[x] * (x == A ? s->stride_h * s->in_w : z[TSR_AXIS_OW]);
  case TSR_AXIS_B:
    return rows[x] * (x == A ? s->in_h * s->in_w : z[TSR_AXIS_OH] * z[TSR_AXIS_OW]);
  case TSR_AXIS_G:
    if (s->conv && x != B) return elem[x] * z[x == A ? TSR_AXIS_C : TSR_AXIS_N];
    return rows[x] * (x == B ? tsr_shape_k(s) : tsr_shape_m(s));
  default: return 0;
  }
}

static struct runs runs_of(const struct walk *w, const struct tsr_split *split, int x) {
  const struct tsr_shape *s = w->all;
  const struct kind *k = &w->kind[0];
  const uint64_t *tile = w->m->tile, groups = s->conv ? tile[TSR_AXIS_G] : 1;
  uint64_t run[3] = {groups * tile[TSR_AXIS_C] * s->a_bytes, tile[TSR_AXIS_N] * s->b_bytes,
                     groups * tile[TSR_AXIS_N] * s->out_bytes};
  struct runs r = {.run = tsr_max_u64(run[x], 1)};
  r.stride = along(w, x, x == B ? TSR_AXIS_C : TSR_AXIS_OW);
  if (x == A && s->conv) r.stride /= tsr_max_u64(s->stride_w, 1); /* of pixels */
  if (x == A && !s->conv) r.stride = s->size[TSR_AXIS_C] * s->a_bytes;
  r.rows = tsr_max_u64((uint64_t)(k->useful[x] / (double)r.run), 1);
  for (int i = 0; split && i < 2; i++)
    r.apart[i] = split->parts[i] > 1 ? split->chunk[i] * along(w, x, split->axis[i]) : 0;
  return r;
}

/* Bytes by slice. */
enum { SLICES = 64, ROWS = 64 };
struct shares {
  double v[SLICES];
};

static struct shares of_tile(const struct walk *w, const struct runs *r) {
  const uint64_t U = w->t->slices, I = w->t->grain_bytes;
  struct shares own = {{0}};
  for (uint64_t j = 0; j < r->rows && j < ROWS; j++)
    for (uint64_t at = j * r->stride, end = at + r->run; at < end; at = (at / I + 1) * I)
      own.v[at / I % U] += (double)(tsr_min_u64((at / I + 1) * I, end) - at);
  return own;
}

/* The same, and n - 1 times more, each `by` bytes on. */
static struct shares repeat(const struct walk *w, struct shares x, uint64_t n, uint64_t by) {
  const uint64_t U = w->t->slices, I = w->t->grain_bytes;
  struct shares sum = x;
  if (by % (U * I) == 0) return x;
  for (uint64_t i = 1; i < n && i < SLICES; i++)
    for (uint64_t u = 0; u < U; u++) sum.v[(u + i * by / I) % U] += x.v[u];
  return sum;
}

static double evenness(const struct walk *w, const struct shares *x) {
  double most = 0, sum = 0;
  for (uint64_t u = 0; u < w->t->slices; u++) {
    sum += x->v[u];
    most = larger(most, x->v[u]);
  }
  return sum / (most * (double)w->t->slices);
}

/* Tiles that a core has before it at once: of the innermost loop that the tensor follows as
 * many as it has buffers (few), or of all loops (all). */
static struct shares of_tiles(const struct walk *w, int x, struct shares own, bool all) {
  for (uint32_t i = w->level[x]; i-- > 0;) {
    const struct tsr_map_loop *l = &w->m->loop[i];
    if (!tsr_mapping_follows(x, l->axis)) continue;
    own = repeat(w, own, all ? l->trips : tsr_min_u64(l->trips, w->slots[x]),
                 l->tile * along(w, x, l->axis));
    if (!all) break;
  }
  return own;
}

/* Whether cores wait for each other at least as often as they move a tensor: for an operand
 * that one of them loads for all. */
static bool in_step(const struct walk *w, const struct tsr_split *split, int x) {
  if (!w->t->multicast || w->cores < 2) return false;
  for (int o = A; o <= B; o++)
    if (tsr_split_shares(split, o)) return w->level[o] >= w->level[x];
  return false;
}

/* How much of the slices' ports is at work when all cores move their tiles of a tensor: all, or
 * less where their rows, or they among each other, begin at the same ones.  Cores that do not
 * wait for each other drift apart until each slice has its share of them; then what U slices do
 * for N cores is that of a closed network of queues, N / (N + U - 1). */
static double spread(const struct walk *w, const struct tsr_split *split, int x, bool once) {
  const double U = (double)w->t->slices, N = (double)w->cores;
  struct runs r = runs_of(w, split, x);
  if (U < 2 || U > SLICES || r.run >= w->t->slices * w->t->grain_bytes) return 1;
  struct shares tile = of_tile(w, &r), cores = tile;
  for (int i = 0; split && !once && i < 2; i++)
    cores = repeat(w, cores, split->parts[i], r.apart[i]);
  struct shares near = of_tiles(w, x, cores, false), all = of_tiles(w, x, cores, true);
  double even = evenness(w, &near);
  if (once || (split && in_step(w, split, x))) return even;
  return larger(even, evenness(w, &all) * N / (N + U - 1));
}

static void set_rates(struct walk *w, const struct tsr_shape *s,
                      const struct tsr_split *split) {
  const struct tsr_target *t = w->t;
  double memory = t->memory_bytes_per_cycle / (double)w->cores;
  for (int x = A; x <= C; x++) w->rate[x] = 1;
  (void)kind_of(w, 0); /* its bytes */
  for (int x = A; x <= C; x++) {
    w->seen[x] = seen_by_memory(w, s, split, x);
    bool once = x != C && t->multicast && split && w->cores > 1 && tsr_split_shares(split, x);
    double slices = t->llb_bytes_per_cycle / (once ? 1 : (double)w->cores);
    if (isfinite(slices)) slices *= spread(w, split, x, once);
    double link = smaller(t->core_bytes_per_cycle, slices);
    if (t->crowd[0] && !once)
      link = smaller(link, t->link_bytes_per_cycle / larger(t->crowd[x == C][w->cores - 1], 1));
    w->rate[x] = w->seen[x] > 0 ? smaller(link, memory / w->seen[x]) : link;
    if (t->near[x]) w->rate[x] = t->near_bytes_per_cycle;
    w->use[x] = isfinite(memory) ? smaller(w->rate[x] * w->seen[x] / memory, 1) : 0;
    w->port[x] = isfinite(slices) ? smaller(w->rate[x] / slices, 1) : 0;
    w->latency[x] = t->latency_cycles + t->way_cycles;
  }
  w->kind[0].known = false;
}

void tsr_cost_layer(const struct tsr_shape *s, const struct tsr_mapping *m,
                    const struct tsr_split *split, const struct tsr_target *t,
                    struct tsr_cost *out) {
  struct walk w = {.m = m, .t = t, .all = s, .part = *s, .cores = 1};
  if (split) {
    w.cores = tsr_split_cores(split);
    w.part = tsr_split_largest(split, s);
    if (divides_k(split)) w.part.out_bytes = t->promote ? TSR_PROMOTED_BYTES : s->acc_bytes;
  }
  for (int x = A; x <= C; x++) {
    w.level[x] = tsr_mapping_level(m, x);
    w.slots[x] = tsr_min_u64(tsr_max_u64(t->slots[x], 1), SLOTS_MAX);
  }
  set_rates(&w, s, split);
  if (m->promoted || t->epilogue) w.slots[C] = TSR_PROMOTED_SLOTS;
  walk_level(&w, 0, 0);
  *out = (struct tsr_cost){.cycles = larger(w.s.t.end, w.s.t.done),
                           .dram_bytes = w.s.t.bytes * (double)w.cores};
  if (divides_k(split)) out->cycles += reduction(&w, s);

  /* engines that crowd the memory share its time, others have one each */
  double beside = larger(crowd_of(&w, A), crowd_of(&w, B)) - 1;
  double *moved = w.s.t.moved, *busy = &w.s.t.sum[TSR_BOUND_MEMORY];
  *busy = larger(moved[0], moved[1]) + beside * smaller(moved[0], moved[1]);
  for (int i = 0; i < TSR_BOUND_COUNT_; i++) {
    out->busy[i] = w.s.t.sum[i];
    if (out->busy[i] > out->busy[out->bound]) out->bound = (enum tsr_bound)i;
  }
}
