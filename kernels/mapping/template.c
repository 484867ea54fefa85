/* The os, ws, is and rs templates: enumerate tilings, keep the best that fits.
 *
 * Figures of a candidate, in core cycles.  Of N steps (tiles multiplied), each
 * computes c = compute/N and loads l; a scratchpad of D buffers lets a step begin
 * when the one D before has let go of its buffer, so a step takes
 * max(c, l, (c + l + latency + S)/D), S the load of a stationary operand; the same
 * with the stores for tiles of results, which wait for the drain.  Before come the
 * first load, after it the last store; and all bytes at the memory's rate, with the
 * last step behind them, are a bound of their own.  They only rank tilings; the time
 * of a run comes from the event model. */
#include <math.h>

#include "kernels/mapping/mapping_int.h"

enum { LIST_MAX = 96 };

struct axis3 { /* tile sizes of the three axes of m or k */
  uint64_t v[3];
};
/* What an entry of a list comes to: tiles, and folds of the array over all of them. */
struct steps {
  double tiles, folds;
};
/* A tiling that fits, as places in the lists, and its figures. */
struct tiling {
  int g, k, n, m;
  bool m_outer;
  double compute, cost, bytes;
};
struct search {
  const struct tsr_shape *s;
  const struct tsr_target *t;
  uint64_t M, K;
  struct axis3 m[LIST_MAX], k[LIST_MAX];
  uint64_t n[LIST_MAX], g[LIST_MAX];
  int n_m, n_k, n_n, n_g;
  struct steps m_steps[LIST_MAX], k_steps[LIST_MAX], n_steps[LIST_MAX], g_steps[LIST_MAX];
  double best_compute, best_cost; /* of the fastest tiling */
  struct tiling *kept;            /* owned; the fastest, and what is not much slower */
  size_t n_kept, cap_kept;
  bool failed;       /* out of memory */
  uint64_t least[3]; /* bytes of the smallest tile tried, for the message */
};

/* Tile sizes of one axis: unit times powers of two below size. */
static void powers(uint64_t size, uint64_t unit, uint64_t *list, int *n) {
  for (uint64_t v = unit; v < size && *n < LIST_MAX - 1; v *= 2) list[(*n)++] = v;
}

/* Elements along the array, rows or columns, of axis m, n or k. */
static uint64_t array_span(const struct tsr_target *t, enum tsr_isa_axis kind) {
  static const struct {
    enum tsr_isa_axis rows, cols;
  } spatial[] = {[TSR_FLOW_OS] = {TSR_AXIS_OW, TSR_AXIS_N},
                 [TSR_FLOW_WS] = {TSR_AXIS_C, TSR_AXIS_N},
                 [TSR_FLOW_IS] = {TSR_AXIS_C, TSR_AXIS_OW},
                 [TSR_FLOW_DOT] = {TSR_AXIS_OW, TSR_AXIS_N},
                 [TSR_FLOW_RS] = {TSR_AXIS_N, TSR_AXIS_OW}};
  uint64_t scale = kind == TSR_AXIS_C ? t->rate : 1;
  if (spatial[t->flow].rows == kind) return t->rows * scale;
  if (spatial[t->flow].cols == kind) return t->cols * scale;
  return 0; /* streams */
}
static uint64_t unit_of(const struct tsr_target *t, enum tsr_isa_axis kind) {
  uint64_t u = array_span(t, kind);
  return u ? u : tsr_max_u64(t->rows, 16);
}

static void list_m(struct search *q) {
  const uint64_t *z = q->s->size;
  uint64_t B = z[TSR_AXIS_B], H = z[TSR_AXIS_OH], W = z[TSR_AXIS_OW], v[LIST_MAX];
  int n = 0;
  q->m[q->n_m++] = (struct axis3){{B, H, W}};
  powers(B, 1, v, &n);
  for (int i = n; i-- > 0 && q->n_m < 24;) q->m[q->n_m++] = (struct axis3){{v[i], H, W}};
  for (uint64_t h = H - 1; h >= 1 && q->n_m<64; h = h> 16 ? h - h / 16 : h - 1)
    q->m[q->n_m++] = (struct axis3){{1, h, W}};
  if (H > 1 && q->n_m >= 64) q->m[q->n_m++] = (struct axis3){{1, 1, W}};
  n = 0;
  uint64_t unit = unit_of(q->t, TSR_AXIS_OW);
  powers(tsr_min_u64(unit, W), 1, v, &n); /* below the array, for small scratchpads */
  powers(W, unit, v, &n);
  for (int i = n; i-- > 0 && q->n_m < LIST_MAX;) q->m[q->n_m++] = (struct axis3){{1, 1, v[i]}};
}

/* Whether sums of tiles of k are promoted: there is more than one, or each has its scale. */
static bool promotes(const struct search *q) {
  return q->t->promote && (q->K > q->t->promote || q->t->scale_bytes);
}

/* The greatest divisor of n, at most `most`. */
static uint64_t divisor(uint64_t n, uint64_t most) {
  uint64_t d = most;
  while (d > 1 && n % d) d--;
  return d;
}

/* The one cut of k that promotion leaves: `promote` products, of a convolution the most of
 * whole rows of the filter, taps or channels that are no more. */
static struct axis3 promoted_k(const struct search *q) {
  const uint64_t *z = q->s->size;
  uint64_t W = z[TSR_AXIS_KW], C = z[TSR_AXIS_C], P = q->t->promote;
  if (W * C <= P) return (struct axis3){{tsr_min_u64(P / (W * C), z[TSR_AXIS_KH]), W, C}};
  if (C <= P) return (struct axis3){{1, P / C, C}};
  bool grouped = q->s->conv && z[TSR_AXIS_G] > 1; /* its channels are cut evenly */
  return (struct axis3){{1, 1, grouped ? divisor(C, P) : P}};
}

static void list_k(struct search *q) {
  const uint64_t *z = q->s->size;
  uint64_t H = z[TSR_AXIS_KH], W = z[TSR_AXIS_KW], C = z[TSR_AXIS_C], v[LIST_MAX];
  int n = 0;
  if (promotes(q)) {
    q->k[q->n_k++] = promoted_k(q);
    return;
  }
  q->k[q->n_k++] = (struct axis3){{H, W, C}};
  if (H > 1) q->k[q->n_k++] = (struct axis3){{1, W, C}};
  if (W > 1) q->k[q->n_k++] = (struct axis3){{1, 1, C}};
  uint64_t unit = unit_of(q->t, TSR_AXIS_C);
  powers(tsr_min_u64(unit, C), 1, v, &n);
  powers(C, unit, v, &n);
  for (int i = n; i-- > 0 && q->n_k < LIST_MAX;) q->k[q->n_k++] = (struct axis3){{1, 1, v[i]}};
}

static void list_n_g(struct search *q) {
  uint64_t N = q->s->size[TSR_AXIS_N], G = q->s->size[TSR_AXIS_G], v[LIST_MAX];
  uint64_t unit = unit_of(q->t, TSR_AXIS_N);
  int n = 0;
  powers(tsr_min_u64(unit, N), 1, v, &n);
  powers(N, unit, v, &n);
  q->n[q->n_n++] = N;
  for (int i = n; i-- > 0;) q->n[q->n_n++] = v[i];
  n = 0;
  powers(G, 1, v, &n);
  q->g[q->n_g++] = G;
  for (int i = n; i-- > 0;) q->g[q->n_g++] = v[i];
}

/* Sum over the tiles of one axis of ceil(extent / unit), times `per` elements an
 * axis step; unit 0 counts tiles. */
static double sum_ceil(uint64_t size, uint64_t tile, uint64_t per, uint64_t unit) {
  uint64_t full = size / tile, rest = size % tile;
  if (unit == 0) return (double)(full + (rest != 0));
  double s = (double)full * (double)tsr_ceil_div(tile * per, unit);
  return rest ? s + (double)tsr_ceil_div(rest * per, unit) : s;
}

/* The same over the three axes of m or k, of which at most one is cut. */
static double sum_ceil3(const uint64_t *size, const uint64_t *tile, uint64_t unit) {
  if (tile[2] < size[2])
    return (double)size[0] * (double)size[1] * sum_ceil(size[2], tile[2], 1, unit);
  if (tile[1] < size[1]) return (double)size[0] * sum_ceil(size[1], tile[1], size[2], unit);
  return sum_ceil(size[0], tile[0], size[1] * size[2], unit);
}

/* All tiles as large as the first; those of a core cut n, groups or m among them. */
static double tiles_cycles(const struct search *q, const uint64_t *tile) {
  const struct tsr_target *t = q->t;
  const uint64_t *z = q->s->size;
  uint64_t m = tile[TSR_AXIS_B] * tile[TSR_AXIS_OH] * tile[TSR_AXIS_OW], n = tile[TSR_AXIS_N];
  uint64_t k = tile[TSR_AXIS_KH] * tile[TSR_AXIS_KW] * tile[TSR_AXIS_C], g = tile[TSR_AXIS_G];
  if (t->tiles < 2)
    ;
  else if (tsr_ceil_div(n, t->cols) >= t->tiles)
    n = tsr_ceil_div(tsr_ceil_div(n, t->tiles), t->cols) * t->cols;
  else if (g >= t->tiles)
    g = tsr_ceil_div(g, t->tiles);
  else
    m = tsr_ceil_div(tsr_ceil_div(m, t->tiles), t->rows) * t->rows;
  double steps = 1;
  for (int x = 0; x < TSR_AXIS_COUNT; x++) TSR_CHECK(tile[x]); /* none is empty */
  for (int x = 0; x < TSR_AXIS_COUNT; x++) steps *= (double)tsr_ceil_div(z[x], tile[x]);
  const struct tsr_tile_work w = {m, n, k, g, tsr_tile_lines(tile), tile[TSR_AXIS_KH], true};
  double each = (double)t->tile_cycles(t->tile, &w, t->rate);
  if (t->flow == TSR_FLOW_RS && t->preload) each -= (double)t->skew; /* but for the last */
  return steps * each + (double)t->skew;
}

static double compute_cycles(const struct search *q, const uint64_t *tile,
                             const struct tiling *x) {
  const struct tsr_target *t = q->t;
  const uint64_t *z = q->s->size;
  double skew = (double)t->skew, R = (double)t->rows;
  double g = (double)z[TSR_AXIS_G], M = (double)q->M, N = (double)z[TSR_AXIS_N];
  double k_tiles = promotes(q) ? q->k_steps[x->k].tiles : 1;
  double m = q->m_steps[x->m].folds, k = q->k_steps[x->k].folds, n = q->n_steps[x->n].folds;
  double folds, stream;
  switch (t->flow) {
  case TSR_FLOW_RS:
  case TSR_FLOW_DOT: return tiles_cycles(q, tile);
  case TSR_FLOW_OS: return g * m * n * ((double)tsr_ceil_div(q->K, t->rate) + k_tiles * skew);
  case TSR_FLOW_WS: /* every m tile streams through every (k, n) fold */
    folds = g * m * n * k;
    stream = g * M * n * k;
    break;
  default:
    folds = g * m * n * k;
    stream = g * N * m * k;
    break;
  }
  if (!t->preload) return stream + folds * (R + skew);
  double each = stream / folds;
  return folds * (each > R ? each : R) + R + skew;
}

static void list_steps(struct search *q) {
  const uint64_t *z = q->s->size;
  const uint64_t rows = array_span(q->t, TSR_AXIS_OW), depth = array_span(q->t, TSR_AXIS_C),
                 cols = array_span(q->t, TSR_AXIS_N);
  for (int i = 0; i < q->n_m; i++)
    q->m_steps[i] = (struct steps){sum_ceil3(&z[TSR_AXIS_B], q->m[i].v, 0),
                                   sum_ceil3(&z[TSR_AXIS_B], q->m[i].v, rows)};
  for (int i = 0; i < q->n_k; i++)
    q->k_steps[i] = (struct steps){sum_ceil3(&z[TSR_AXIS_KH], q->k[i].v, 0),
                                   sum_ceil3(&z[TSR_AXIS_KH], q->k[i].v, depth)};
  for (int i = 0; i < q->n_n; i++)
    q->n_steps[i] = (struct steps){sum_ceil(z[TSR_AXIS_N], q->n[i], 1, 0),
                                   sum_ceil(z[TSR_AXIS_N], q->n[i], 1, cols)};
  for (int i = 0; i < q->n_g; i++) q->g_steps[i].tiles = sum_ceil(z[TSR_AXIS_G], q->g[i], 1, 0);
}

/* DRAM bytes of a run of `bytes` contiguous ones, in whole bursts. */
static double burst_bytes(const struct tsr_target *t, uint64_t bytes) {
  uint64_t b = tsr_ceil_div(bytes, t->burst_bytes) * t->burst_bytes;
  return (double)b + (bytes % t->burst_bytes ? (double)t->burst_bytes / 2 : 0);
}

static double near_weight(const struct tsr_target *t) {
  if (!isfinite(t->near_bytes_per_cycle) || !isfinite(t->dram_bytes_per_cycle)) return 0;
  return t->dram_bytes_per_cycle / t->near_bytes_per_cycle;
}

/* DRAM bytes to move one tile of a, b, c (c in the output format); of what stays on the chip
 * those that the memory would move in the time that the port takes. */
static void tile_traffic(const struct search *q, const uint64_t *tile, double out[3]) {
  const struct tsr_shape *s = q->s;
  const uint64_t *z = s->size;
  uint64_t bytes[3];
  tsri_tile_bytes(s, tile, bytes);
  bytes[2] = bytes[2] / s->acc_bytes * s->out_bytes;
  uint64_t chans = tile[TSR_AXIS_G] * tile[TSR_AXIS_C];
  bool all_chans =
      s->conv ? chans == z[TSR_AXIS_G] * z[TSR_AXIS_C] : tile[TSR_AXIS_C] == z[TSR_AXIS_C];
  uint64_t run[3] = {(s->conv ? chans : tile[TSR_AXIS_C]) * s->a_bytes,
                     tile[TSR_AXIS_N] * s->b_bytes,
                     tile[TSR_AXIS_N] * (s->conv ? tile[TSR_AXIS_G] : 1) * s->out_bytes};
  bool all_n = tile[TSR_AXIS_N] == z[TSR_AXIS_N];
  bool merged[3] = {all_chans, all_n, all_n && (!s->conv || tile[TSR_AXIS_G] == z[TSR_AXIS_G])};
  for (int i = 0; i < 3; i++) {
    out[i] = merged[i] ? burst_bytes(q->t, bytes[i])
                       : (double)bytes[i] / (double)run[i] * burst_bytes(q->t, run[i]);
    if (i < 2 && q->t->readers[i] > 0) out[i] /= q->t->readers[i];
    if (q->t->near[i]) out[i] *= near_weight(q->t);
  }
}

/* How often things happen under a tiling and a loop order. */
struct counts {
  double bytes;   /* DRAM traffic, all of it */
  double each[3]; /* of one tile of a, b, c */
  double steps;   /* tiles multiplied */
  double results; /* tiles of c */
};

static struct counts count(const struct search *q, const struct tiling *x,
                           const double each[3]) {
  struct counts c = {.each = {each[0], each[1], each[2]}};
  double g = q->g_steps[x->g].tiles, m = q->m_steps[x->m].tiles, k = q->k_steps[x->k].tiles,
         n = q->n_steps[x->n].tiles;
  bool k_cut = k > 1;
  /* An operand is loaded once per step of the loops around and at its own. */
  double a_times = g * m * k * (k_cut || (!x->m_outer && m > 1) ? n : 1);
  double b_times = g * n * k * (k_cut || (x->m_outer && n > 1) ? m : 1);
  c.results = g * m * n;
  c.steps = c.results * k;
  c.bytes = c.each[0] * a_times + c.each[1] * b_times + c.each[2] * c.results;
  return c;
}

/* Whether the order of the loops over m and n makes a difference. */
static bool has_orders(const struct search *q, const struct tiling *x) {
  return q->k_steps[x->k].tiles <= 1 && q->m_steps[x->m].tiles > 1 &&
         q->n_steps[x->n].tiles > 1;
}

/* Time of n overlapped steps of work and transfer over `slots` buffers, without the
 * first transfer: n - 1 of them overlap the transfer of the next, the last stands
 * alone. */
static double overlapped(double n, double work, double move, double extra, double slots) {
  double w = work / n, v = n > 1 ? move / (n - 1) : 0, chain = (w + v + extra) / slots;
  return (n - 1) * fmax(fmax(w, v), chain) + w;
}

/* The vector unit adds up the tiles of k, beside the array. */
static double vector_cycles(const struct search *q, const struct counts *c) {
  if (!promotes(q) || !q->t->lanes) return 0;
  double results =
      (double)q->s->size[TSR_AXIS_G] * (double)q->M * (double)q->s->size[TSR_AXIS_N];
  double passes = q->t->scale_bytes ? 2 : 1; /* multiplied, added */
  return passes * results * (c->steps / c->results) / (double)q->t->lanes;
}

static double cost_of(const struct search *q, double compute, const struct counts *c) {
  const struct tsr_target *t = q->t;
  compute = fmax(compute, vector_cycles(q, c));
  double rate = t->dram_bytes_per_cycle, latency = t->latency_cycles;
  bool stationary = tsr_flow_is_stationary(t->flow);
  double S = stationary ? (double)t->rows : 0, skew = (double)t->skew;
  double first = (c->each[0] + c->each[1]) / rate + latency, last = c->each[2] / rate + latency;
  double stored = c->each[2] * c->results;
  double loads =
      overlapped(c->steps, compute, (c->bytes - stored - c->each[0] - c->each[1]) / rate,
                 latency + S, (double)tsr_min_u64(t->slots[0], t->slots[1]));
  double stores =
      overlapped(c->results, compute, stored / rate, latency + skew, (double)t->slots[2]);
  double memory = c->bytes / rate + compute / c->steps + latency;
  return fmax(first + fmax(loads, stores) + last, memory);
}

static bool pays_by_fold(const struct tsr_target *t) {
  if (t->flow == TSR_FLOW_DOT) return false; /* its pipeline stays full */
  return t->flow == TSR_FLOW_OS || !t->preload;
}

/* How much slower than the fastest a tiling may be that moves fewer bytes. */
static const double SLACK = 1.01;

/* Without preload every fold pays its fill and drain: only tilings of the fewest
 * folds count, whatever they cost.  Whether a tiling of at least so much may be chosen. */
static bool may(const struct search *q, double compute, double cost) {
  if (!q->n_kept) return true;
  if (!pays_by_fold(q->t)) return cost <= q->best_cost * SLACK;
  if (compute != q->best_compute) return compute < q->best_compute;
  return cost <= q->best_cost * SLACK;
}

static void keep(struct search *q, const struct tiling *x) {
  if (!may(q, x->compute, x->cost)) return;
  bool fewer = pays_by_fold(q->t) && q->n_kept && x->compute < q->best_compute;
  if (!q->n_kept || fewer || x->cost < q->best_cost) {
    q->best_compute = x->compute;
    q->best_cost = x->cost;
  }
  if (!tsr_mem_grow((void **)&q->kept, &q->cap_kept, q->n_kept + 1, sizeof *q->kept)) {
    q->failed = true;
    return;
  }
  q->kept[q->n_kept++] = *x;
}

/* Of the tilings within a hundredth of the fastest, the one that moves the fewest bytes; of
 * those the fastest. */
static const struct tiling *choose(const struct search *q) {
  const struct tiling *best = NULL;
  for (size_t i = 0; i < q->n_kept; i++) {
    const struct tiling *x = &q->kept[i];
    if (!may(q, x->compute, x->cost)) continue;
    if (best && (x->bytes > best->bytes || (x->bytes == best->bytes && x->cost >= best->cost)))
      continue;
    best = x;
  }
  return best;
}

static void try_one(struct search *q, const uint64_t *tile, struct tiling x) {
  double each[3];
  x.compute = compute_cycles(q, tile, &x);
  if (!may(q, x.compute, x.compute)) return; /* it takes longer still */
  tile_traffic(q, tile, each);
  for (int order = 0; order <= has_orders(q, &x); order++) {
    x.m_outer = order;
    struct counts c = count(q, &x, each);
    x.cost = cost_of(q, x.compute, &c);
    x.bytes = c.bytes;
    keep(q, &x);
  }
}

/* Scales and operands of an epilogue that lie beside a tile's sums. */
static uint64_t beside_bytes(const struct search *q, const uint64_t *tile, uint64_t elems) {
  const struct tsr_target *t = q->t;
  uint64_t n = tile[TSR_AXIS_N] * tile[TSR_AXIS_G], m = elems / tile[TSR_AXIS_N];
  return tile[TSR_AXIS_N] * t->scale_bytes + n * t->row_bytes + m * t->col_bytes +
         elems * t->full_bytes + t->one_bytes;
}

/* Bytes that a tile takes in a buffer of each scratchpad. */
static void need(const struct search *q, const uint64_t *tile, uint64_t bytes[3]) {
  tsri_tile_bytes(q->s, tile, bytes);
  bytes[1] += bytes[1] / q->s->b_bytes * q->t->ready_bytes;
  if (promotes(q) ||
      q->t->epilogue) { /* rings of partial and of running sums share scratchpad c */
    uint64_t elems = bytes[2] / q->s->acc_bytes;
    uint64_t sums = bytes[2] + (promotes(q) ? elems * TSR_PROMOTED_BYTES : 0);
    uint64_t all = TSR_PROMOTED_SLOTS * (sums + beside_bytes(q, tile, elems));
    bytes[2] = tsr_ceil_div(all, q->t->slots[2]);
  }
}

static bool fits(struct search *q, const uint64_t *tile) {
  uint64_t bytes[3];
  need(q, tile, bytes);
  bool ok = true;
  for (int i = 0; i < 3; i++) {
    q->least[i] = tsr_min_u64(q->least[i], bytes[i]);
    ok = ok && bytes[i] <= q->t->slot_bytes[i];
  }
  return ok;
}

/* Rules that the lowering relies on. */
static bool allowed(const struct search *q, const uint64_t *tile) {
  const uint64_t *z = q->s->size;
  bool k_whole = true, n_whole = tile[TSR_AXIS_N] == z[TSR_AXIS_N];
  for (int x = TSR_AXIS_KH; x <= TSR_AXIS_C; x++) k_whole = k_whole && tile[x] == z[x];
  if (tile[TSR_AXIS_G] > 1 && !(k_whole && n_whole)) return false;
  if (q->s->conv && z[TSR_AXIS_G] > 1 && /* a box must not reach into the next group */
      (z[TSR_AXIS_C] % tile[TSR_AXIS_C] || z[TSR_AXIS_N] % tile[TSR_AXIS_N]))
    return false;
  if (q->t->group_alone && tile[TSR_AXIS_G] > 1) return false;
  if (q->t->scale_bytes && tile[TSR_AXIS_G] > 1)
    return false; /* a row of scales for all of m */
  if (q->t->flow == TSR_FLOW_RS && tile[TSR_AXIS_KH] > q->t->rows)
    return false; /* rows of a filter lie along those of the array */
  if (q->t->flow != TSR_FLOW_OS || k_whole || promotes(q)) return true;
  /* os keeps one fold in the array while k tiles pass through it */
  uint64_t m = tile[TSR_AXIS_B] * tile[TSR_AXIS_OH] * tile[TSR_AXIS_OW];
  return m <= q->t->rows && tile[TSR_AXIS_N] <= q->t->cols;
}

static void tile_of(const struct search *q, const struct tiling *x,
                    uint64_t tile[TSR_AXIS_COUNT]) {
  tile[TSR_AXIS_G] = q->g[x->g];
  tile[TSR_AXIS_N] = q->n[x->n];
  for (int i = 0; i < 3; i++) {
    tile[TSR_AXIS_B + i] = q->m[x->m].v[i];
    tile[TSR_AXIS_KH + i] = q->k[x->k].v[i];
  }
}

static void try_all(struct search *q) {
  uint64_t tile[TSR_AXIS_COUNT];
  struct tiling x = {0};
  for (x.g = 0; x.g < q->n_g; x.g++)
    for (x.k = 0; x.k < q->n_k; x.k++)
      for (x.n = 0; x.n < q->n_n; x.n++)
        for (x.m = 0; x.m < q->n_m; x.m++) {
          tile_of(q, &x, tile);
          if (allowed(q, tile) && fits(q, tile)) try_one(q, tile, x);
        }
}

void tsr_mapping_finish(const struct tsr_shape *s, const struct tsr_target *t,
                        struct tsr_mapping *m) {
  static const enum tsr_isa_axis spatial[][2] = {[TSR_FLOW_OS] = {TSR_AXIS_OW, TSR_AXIS_N},
                                                 [TSR_FLOW_WS] = {TSR_AXIS_C, TSR_AXIS_N},
                                                 [TSR_FLOW_IS] = {TSR_AXIS_C, TSR_AXIS_OW},
                                                 [TSR_FLOW_DOT] = {TSR_AXIS_OW, TSR_AXIS_N},
                                                 [TSR_FLOW_RS] = {TSR_AXIS_N, TSR_AXIS_OW}};
  const struct search q = {.s = s, .t = t, .K = tsr_shape_k(s)};
  m->flow = t->flow;
  m->spatial_rows = spatial[t->flow][0];
  m->spatial_cols = spatial[t->flow][1];
  m->array_rows = array_span(t, m->spatial_rows);
  m->array_cols = array_span(t, m->spatial_cols);
  m->k_cut = m->spatial_rows == TSR_AXIS_C ? m->array_rows : 0;
  m->promoted = promotes(&q);
  m->scaled = t->scale_bytes != 0;
}

void tsr_mapping_loops(const struct tsr_shape *s, const enum tsr_isa_axis order[TSR_AXIS_COUNT],
                       struct tsr_mapping *m) {
  m->n_loops = 0;
  for (int i = 0; i < TSR_AXIS_COUNT; i++) {
    enum tsr_isa_axis x = order[i];
    uint64_t trips = tsr_ceil_div(s->size[x], m->tile[x]);
    if (trips > 1) m->loop[m->n_loops++] = (struct tsr_map_loop){x, m->tile[x], trips};
  }
}

/* Products are summed in ascending order: loops of k follow it, and a tile is a run of it. */
static bool is_run_of_k(const struct tsr_shape *s, const struct tsr_mapping *m) {
  enum tsr_isa_axis last = TSR_AXIS_KH;
  for (uint32_t i = 0; i < m->n_loops; i++) {
    enum tsr_isa_axis x = m->loop[i].axis;
    if (!tsr_axis_is_k(x)) continue;
    if (x < last) return false;
    last = x;
  }
  int x = TSR_AXIS_C;
  while (x > TSR_AXIS_KH && m->tile[x] == s->size[x]) x--;
  while (x-- > TSR_AXIS_KH)
    if (m->tile[x] != 1) return false;
  return true;
}

enum tsr_mapping_fault tsr_mapping_check(const struct tsr_shape *s, const struct tsr_target *t,
                                         const struct tsr_mapping *m, uint64_t bytes[3]) {
  struct search q = {.s = s, .t = t, .M = tsr_shape_m(s), .K = tsr_shape_k(s)};
  bool sums = false; /* a loop of k is open: what follows it may not move results */
  for (uint32_t i = 0; i < m->n_loops; i++) {
    enum tsr_isa_axis x = m->loop[i].axis;
    bool k = tsr_axis_is_k(x);
    if (!k && sums) return TSR_MAPPING_SUMS;
    sums = sums || k;
  }
  if (!is_run_of_k(s, m)) return TSR_MAPPING_K;
  need(&q, m->tile, bytes);
  for (int b = 0; b < 3; b++)
    if (bytes[b] > t->slot_bytes[b]) return TSR_MAPPING_ROOM;
  if (promotes(&q)) {
    struct axis3 k = promoted_k(&q);
    for (int i = 0; i < 3; i++)
      if (m->tile[TSR_AXIS_KH + i] != k.v[i]) return TSR_MAPPING_PROMOTED;
  }
  return allowed(&q, m->tile) ? TSR_MAPPING_SOUND : TSR_MAPPING_RULES;
}

static void fill(const struct search *q, const struct tiling *best, struct tsr_mapping *out) {
  static const enum tsr_isa_axis orders[2][TSR_AXIS_COUNT] = {
      {TSR_AXIS_G, TSR_AXIS_N, TSR_AXIS_B, TSR_AXIS_OH, TSR_AXIS_OW, TSR_AXIS_KH, TSR_AXIS_KW,
       TSR_AXIS_C},
      {TSR_AXIS_G, TSR_AXIS_B, TSR_AXIS_OH, TSR_AXIS_OW, TSR_AXIS_N, TSR_AXIS_KH, TSR_AXIS_KW,
       TSR_AXIS_C}};
  *out = (struct tsr_mapping){0};
  tile_of(q, best, out->tile);
  tsr_mapping_loops(q->s, orders[best->m_outer], out);
  tsr_mapping_finish(q->s, q->t, out);
  out->cost_cycles = best->cost;
}

enum tsr_status tsr_mapping_template(const struct tsr_shape *s, const struct tsr_target *t,
                                     const char *name, struct tsr_mapping *out,
                                     struct tsr_err *err) {
  static const char bufs[] = "abc";
  struct search q = {.s = s,
                     .t = t,
                     .M = tsr_shape_m(s),
                     .K = tsr_shape_k(s),
                     .least = {UINT64_MAX, UINT64_MAX, UINT64_MAX}};
  list_m(&q);
  list_k(&q);
  list_n_g(&q);
  list_steps(&q);
  int all_k = q.n_k;
  if (t->flow == TSR_FLOW_RS && !promotes(&q)) q.n_k = 1; /* filters whole, where they fit */
  try_all(&q);
  if (!q.n_kept && q.n_k < all_k) {
    q.n_k = all_k;
    try_all(&q);
  }
  const struct tiling *best = choose(&q);
  if (best) fill(&q, best, out);
  tsr_mem_free(q.kept);
  if (q.failed) return tsr_err_nomem(err);
  if (best) return TSR_OK;
  for (int i = 0; i < 3; i++) {
    char need[48], have[48];
    if (q.least[i] <= t->slot_bytes[i] || q.least[i] == UINT64_MAX) continue;
    return tsr_err_set(
        err, TSR_INPUT,
        "layer '%s' does not fit: its smallest %s tile in scratchpad %c needs %s, "
        "a buffer holds %s",
        name, tsr_flow_names[t->flow], bufs[i],
        tsr_quantity_print(q.least[i], TSR_UNIT_BYTES, need),
        tsr_quantity_print(t->slot_bytes[i], TSR_UNIT_BYTES, have));
  }
  return tsr_err_set(
      err, TSR_INPUT,
      q.least[0] == UINT64_MAX
          ? "layer '%s' does not fit: no %s tile obeys the rules of the array and "
            "of tile.promote or tile.group"
          : "layer '%s' does not fit: no %s tile fits scratchpads a, b and c "
            "together",
      name, tsr_flow_names[t->flow]);
}
