#include "tests/prop/folds.h"

#include <string.h>

#include "sim/base/mem.h"

enum { RING = 64 };

struct walk {
  const struct prop_machine *m;
  const struct tsr_shape *s;
  const struct tsr_mapping *map;
  struct prop_folds *out;
  uint64_t index[TSR_AXIS_COUNT]; /* of the loops, by axis */
  /* preload: the latest stream */
  bool streamed;
  uint64_t start, T;
  uint64_t done[RING]; /* result tiles, in turn */
};

static uint64_t up(uint64_t a, uint64_t b) {
  return (a + b - 1) / b;
}
static uint64_t max(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

/* The elements of an axis in the present tile. */
static uint64_t extent(const struct walk *w, int x) {
  uint64_t tile = w->map->tile[x], at = w->index[x] * tile;
  uint64_t left = w->s->size[x] - at;
  return left < tile ? left : tile;
}

struct request {
  uint64_t m, n, k, groups;
  bool first, last; /* of its result */
};

static struct request request_of(const struct walk *w) {
  struct request q = {
      .m = extent(w, TSR_AXIS_B) * extent(w, TSR_AXIS_OH) * extent(w, TSR_AXIS_OW),
      .n = extent(w, TSR_AXIS_N),
      .k = extent(w, TSR_AXIS_KH) * extent(w, TSR_AXIS_KW) * extent(w, TSR_AXIS_C),
      .groups = extent(w, TSR_AXIS_G),
      .first = true,
      .last = true};
  for (int x = TSR_AXIS_KH; x <= TSR_AXIS_C; x++) {
    q.first = q.first && w->index[x] == 0;
    q.last = q.last && (w->index[x] + 1) * w->map->tile[x] >= w->s->size[x];
  }
  return q;
}

/* SRC:scalesim: P = S + T + rows + cols - 2, one fold behind the other; partial sums
 * of os stay in the array (no skew) until their last k. */
static void serial(struct walk *w, const struct request *q, uint64_t folds, uint64_t T) {
  const struct prop_machine *m = w->m;
  bool os = m->flow == TSR_FLOW_OS;
  uint64_t skew = m->rows + m->cols - 2, P = T + (os ? 0 : m->rows);
  if (!os || q->last) P += skew;
  if (os && q->last && m->serial_drain) P += m->rows;
  w->out->compute_cycles += folds * P;
}

/* The next stationary operand loads during this stream: a fold starts max(T, rows)
 * after the one before, the first after its own load. */
static void preloaded(struct walk *w, const struct request *q, uint64_t folds, uint64_t T) {
  const struct prop_machine *m = w->m;
  uint64_t c_slots = m->buffers[2], skew = m->rows + m->cols - 2;
  for (uint64_t f = 0; f < folds; f++) {
    w->start = w->streamed ? w->start + max(w->T, m->rows) : m->rows;
    w->streamed = true;
    w->T = T;
    /* Its first result would be written `rows` cycles on: is that buffer empty? */
    uint64_t r = w->out->results;
    if (f == 0 && q->first && r >= c_slots &&
        w->done[(r - c_slots) % RING] > w->start + m->rows)
      w->out->waits = true;
  }
  if (q->last) w->done[w->out->results % RING] = w->start + T + skew;
  w->out->compute_cycles = w->start + T + skew;
}

static void one_request(struct walk *w) {
  const struct prop_machine *m = w->m;
  struct request q = request_of(w);
  const uint64_t k_rows = m->rows * m->rate;
  uint64_t folds, T;
  switch (m->flow) {
  case TSR_FLOW_OS:
    folds = up(q.m, m->rows) * up(q.n, m->cols);
    T = up(q.k, m->rate);
    break;
  case TSR_FLOW_WS:
    folds = up(q.k, k_rows) * up(q.n, m->cols);
    T = q.m;
    break;
  default:
    folds = up(q.k, k_rows) * up(q.m, m->cols);
    T = q.n;
    break;
  }
  folds *= q.groups;
  if (m->preload && m->flow != TSR_FLOW_OS)
    preloaded(w, &q, folds, T);
  else
    serial(w, &q, folds, T);
  if (m->flow != TSR_FLOW_OS || q.last) w->out->folds += folds;
  w->out->macs += q.m * q.n * q.k * q.groups;
  w->out->requests++;
  w->out->results += q.last;
}

static void all_loops(struct walk *w, uint32_t level) {
  if (level == w->map->n_loops) {
    one_request(w);
    return;
  }
  const struct tsr_map_loop *l = &w->map->loop[level];
  for (w->index[l->axis] = 0; w->index[l->axis] < l->trips; w->index[l->axis]++)
    all_loops(w, level + 1);
  w->index[l->axis] = 0;
}

/* How often a tensor is moved as a whole: the trips of loops that it does not follow,
 * around the innermost that it does; and its tiles moved one after another. */
static void moves(const struct tsr_mapping *map, const int *axes, uint64_t *times,
                  uint64_t *tiles) {
  uint64_t around = 1;
  *times = *tiles = 1;
  for (uint32_t i = 0; i < map->n_loops; i++) {
    bool follows = false;
    for (int a = 0; axes[a] >= 0; a++) follows = follows || axes[a] == (int)map->loop[i].axis;
    around *= map->loop[i].trips;
    if (!follows) continue;
    *tiles = around;
  }
  uint64_t own = 1;
  for (uint32_t i = 0; i < map->n_loops; i++)
    for (int a = 0; axes[a] >= 0; a++)
      if (axes[a] == (int)map->loop[i].axis) own *= map->loop[i].trips;
  *times = *tiles / own;
}

static void traffic(struct walk *w) {
  static const int a_axes[] = {TSR_AXIS_G,  TSR_AXIS_B,  TSR_AXIS_OH, TSR_AXIS_OW,
                               TSR_AXIS_KH, TSR_AXIS_KW, TSR_AXIS_C,  -1};
  static const int b_axes[] = {TSR_AXIS_G,  TSR_AXIS_N, TSR_AXIS_KH,
                               TSR_AXIS_KW, TSR_AXIS_C, -1};
  const struct tsr_shape *s = w->s;
  uint64_t a_times, b_times, a_tiles, b_tiles, g = s->size[TSR_AXIS_G];
  uint64_t M = s->size[TSR_AXIS_OW], N = s->size[TSR_AXIS_N], K = s->size[TSR_AXIS_C];
  moves(w->map, a_axes, &a_times, &a_tiles);
  moves(w->map, b_axes, &b_times, &b_tiles);
  if (!s->conv)
    w->out->useful_bytes = g * (M * K * s->a_bytes * a_times + K * N * s->b_bytes * b_times +
                                M * N * s->out_bytes);
  /* A single buffer is loaded again only after its stream has ended. */
  bool preload = w->m->preload && w->m->flow != TSR_FLOW_OS;
  if (preload &&
      ((w->m->buffers[0] == 1 && a_tiles > 1) || (w->m->buffers[1] == 1 && b_tiles > 1)))
    w->out->waits = true;
}

void prop_folds_of(const struct prop_machine *m, const struct tsr_run_layer_plan *l,
                   struct prop_folds *out) {
  *out = (struct prop_folds){0};
  struct walk w = {.m = m, .s = &l->shape, .map = &l->mapping, .out = out};
  all_loops(&w, 0);
  traffic(&w);
  out->end_cycles = out->compute_cycles;
  if (m->flow == TSR_FLOW_OS && !m->serial_drain) out->end_cycles += m->rows;
}
