#include "kernels/cost/search.h"

#include <math.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/rng.h"

enum {
  PARTS = 48,     /* an axis is cut in at most so many even parts */
  LIST_MAX = 192, /* tiles of an axis, or of the axes of m or k */
  WHOLE_MAX = 6000,
  STEPS = 5000, /* of a guided search, in */
  STARTS = 4,
  ORDERS = 6,
  DEPTHS = 5
};

struct triple {
  uint64_t v[3];
};
struct lists {
  struct triple m[LIST_MAX], k[LIST_MAX];
  uint64_t n[LIST_MAX], g[LIST_MAX];
};
/* A place in the space. */
enum { AT_M, AT_K, AT_N, AT_G, AT_ORDER, AT_DEPTH, DIMS };

struct space {
  const struct tsr_shape *all;
  const struct tsr_split *split;
  const struct tsr_target *t;
  struct tsr_shape part;
  struct lists *lists; /* owned */
  int size[DIMS];
  struct tsr_search *found;
};

/* ---- lists ---- */

static void add(uint64_t *list, int *n, uint64_t v) {
  for (int i = 0; i < *n; i++)
    if (list[i] == v) return;
  if (*n < LIST_MAX && v) list[(*n)++] = v;
}

/* From the whole axis down. */
static int cuts_of(uint64_t size, uint64_t unit, uint64_t *list) {
  int n = 0;
  add(list, &n, size);
  for (uint64_t i = 2; i <= PARTS && i <= size; i++) {
    uint64_t v = tsr_ceil_div(tsr_ceil_div(size, i), unit) * unit;
    if (v < size) add(list, &n, v);
  }
  for (uint64_t v = unit; v > 0; v /= 2)
    if (v < size) add(list, &n, v);
  return n;
}

static uint64_t unit_of(const struct tsr_target *t, enum tsr_isa_axis x) {
  bool stationary = t->flow == TSR_FLOW_WS || t->flow == TSR_FLOW_IS;
  if (t->flow == TSR_FLOW_RS)
    return x == TSR_AXIS_N ? t->rows : x == TSR_AXIS_OW ? t->cols : 16;
  if (x == TSR_AXIS_C) return stationary ? t->rows * t->rate : t->depth * t->rate;
  if (x == TSR_AXIS_N && t->flow != TSR_FLOW_IS) return t->cols;
  if (x == TSR_AXIS_OW && t->flow == TSR_FLOW_IS) return t->cols;
  return t->flow == TSR_FLOW_OS || t->flow == TSR_FLOW_DOT ? t->rows : 16;
}

static void list_m(struct space *x) {
  const uint64_t *z = x->part.size;
  uint64_t v[LIST_MAX];
  struct triple *list = x->lists->m;
  int *n = &x->size[AT_M], of;
  of = cuts_of(z[TSR_AXIS_B], 1, v);
  for (int i = 0; i < of && *n < LIST_MAX; i++)
    list[(*n)++] = (struct triple){{v[i], z[TSR_AXIS_OH], z[TSR_AXIS_OW]}};
  of = cuts_of(z[TSR_AXIS_OH], 1, v);
  for (int i = 1; i < of && *n < LIST_MAX; i++)
    list[(*n)++] = (struct triple){{1, v[i], z[TSR_AXIS_OW]}};
  of = cuts_of(z[TSR_AXIS_OW], tsr_max_u64(unit_of(x->t, TSR_AXIS_OW), 1), v);
  for (int i = 1; i < of && *n < LIST_MAX; i++) list[(*n)++] = (struct triple){{1, 1, v[i]}};
}

static void list_k(struct space *x, const struct tsr_mapping *start) {
  const uint64_t *z = x->part.size;
  uint64_t v[LIST_MAX], H = z[TSR_AXIS_KH], W = z[TSR_AXIS_KW], C = z[TSR_AXIS_C];
  struct triple *list = x->lists->k;
  int *n = &x->size[AT_K];
  if (start->promoted) { /* there is one */
    memcpy(list[(*n)++].v, &start->tile[TSR_AXIS_KH], sizeof list[0].v);
    return;
  }
  list[(*n)++] = (struct triple){{H, W, C}};
  if (H > 1) list[(*n)++] = (struct triple){{1, W, C}};
  if (W > 1) list[(*n)++] = (struct triple){{1, 1, C}};
  int of = cuts_of(C, tsr_max_u64(unit_of(x->t, TSR_AXIS_C), 1), v);
  for (int i = 1; i < of && *n < LIST_MAX; i++) list[(*n)++] = (struct triple){{1, 1, v[i]}};
}

/* Of the loops over groups, m and n, outer to inner. */
static const enum tsr_isa_axis orders[ORDERS][3] = {
    {TSR_AXIS_G, TSR_AXIS_N, TSR_AXIS_OW}, {TSR_AXIS_G, TSR_AXIS_OW, TSR_AXIS_N},
    {TSR_AXIS_N, TSR_AXIS_G, TSR_AXIS_OW}, {TSR_AXIS_OW, TSR_AXIS_G, TSR_AXIS_N},
    {TSR_AXIS_N, TSR_AXIS_OW, TSR_AXIS_G}, {TSR_AXIS_OW, TSR_AXIS_N, TSR_AXIS_G}};

static void make_lists(struct space *x, const struct tsr_mapping *start) {
  list_m(x);
  list_k(x, start);
  x->size[AT_N] =
      cuts_of(x->part.size[TSR_AXIS_N], tsr_max_u64(unit_of(x->t, TSR_AXIS_N), 1), x->lists->n);
  x->size[AT_G] = cuts_of(x->part.size[TSR_AXIS_G], 1, x->lists->g);
  x->size[AT_ORDER] = x->part.size[TSR_AXIS_G] > 1 ? ORDERS : 2;
  x->size[AT_DEPTH] = DEPTHS;
}

/* ---- a place ---- */

static bool mapping_at(const struct space *x, const int *at, struct tsr_mapping *m) {
  static const bool more[DEPTHS][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 0, 1}};
  struct tsr_target t = *x->t;
  enum tsr_isa_axis order[TSR_AXIS_COUNT];
  int n = 0;
  *m = (struct tsr_mapping){0};
  for (int b = 0; b < 3; b++)
    if (more[at[AT_DEPTH]][b]) m->slots[b] = t.slots[b] + 1;
  if (m->slots[2] && (t.promote || t.epilogue)) return false;
  tsr_mapping_target(m, &t);
  for (int i = 0; i < 3; i++) {
    m->tile[TSR_AXIS_B + i] = x->lists->m[at[AT_M]].v[i];
    m->tile[TSR_AXIS_KH + i] = x->lists->k[at[AT_K]].v[i];
    if (orders[at[AT_ORDER]][i] == TSR_AXIS_OW) {
      order[n++] = TSR_AXIS_B;
      order[n++] = TSR_AXIS_OH;
    }
    order[n++] = orders[at[AT_ORDER]][i];
  }
  for (int k = TSR_AXIS_KH; k <= TSR_AXIS_C; k++) order[n++] = (enum tsr_isa_axis)k;
  m->tile[TSR_AXIS_N] = x->lists->n[at[AT_N]];
  m->tile[TSR_AXIS_G] = x->lists->g[at[AT_G]];
  tsr_mapping_loops(&x->part, order, m);
  tsr_mapping_finish(&x->part, &t, m);
  uint64_t bytes[3];
  return tsr_mapping_check(&x->part, &t, m, bytes) == TSR_MAPPING_SOUND;
}

static bool same(const struct tsr_mapping *a, const struct tsr_mapping *b) {
  if (a->n_loops != b->n_loops || memcmp(a->tile, b->tile, sizeof a->tile) != 0 ||
      memcmp(a->slots, b->slots, sizeof a->slots) != 0)
    return false;
  for (uint32_t i = 0; i < a->n_loops; i++)
    if (a->loop[i].axis != b->loop[i].axis) return false;
  return true;
}

static void keep(struct tsr_search *f, const struct tsr_mapping *m, const struct tsr_cost *c) {
  size_t at = f->n;
  while (at > 0 && f->best[at - 1].cost.cycles > c->cycles) at--;
  if (at == TSR_SEARCH_BEST) return;
  for (size_t i = 0; i < f->n; i++)
    if (same(&f->best[i].mapping, m)) return;
  if (f->n < TSR_SEARCH_BEST) f->n++;
  memmove(&f->best[at + 1], &f->best[at], (f->n - 1 - at) * sizeof f->best[0]);
  f->best[at] = (struct tsr_candidate){*m, *c};
}

static void sample(struct tsr_search *f, const struct tsr_candidate *c) {
  struct tsr_rng r = {f->evaluated};
  uint64_t at = f->n_sample;
  if (f->n_sample < TSR_SEARCH_SAMPLE)
    f->n_sample++;
  else
    at = tsr_rng_range(&r, 0, f->evaluated - 1);
  if (at < TSR_SEARCH_SAMPLE) f->sample[at] = *c;
}

/* Cycles at a place, infinite where nothing fits. */
static double evaluate(struct space *x, const int *at) {
  struct tsr_candidate c;
  struct tsr_target t = *x->t;
  if (!mapping_at(x, at, &c.mapping)) return INFINITY;
  tsr_mapping_target(&c.mapping, &t);
  tsr_cost_layer(x->all, &c.mapping, x->split, &t, &c.cost);
  c.mapping.cost_cycles = c.cost.cycles;
  x->found->evaluated++;
  keep(x->found, &c.mapping, &c.cost);
  sample(x->found, &c);
  return c.cost.cycles;
}

/* ---- all of it, or where it leads ---- */

static void look_whole(struct space *x) {
  int at[DIMS];
  for (at[AT_DEPTH] = 0; at[AT_DEPTH] < x->size[AT_DEPTH]; at[AT_DEPTH]++)
    for (at[AT_ORDER] = 0; at[AT_ORDER] < x->size[AT_ORDER]; at[AT_ORDER]++)
      for (at[AT_G] = 0; at[AT_G] < x->size[AT_G]; at[AT_G]++)
        for (at[AT_N] = 0; at[AT_N] < x->size[AT_N]; at[AT_N]++)
          for (at[AT_K] = 0; at[AT_K] < x->size[AT_K]; at[AT_K]++)
            for (at[AT_M] = 0; at[AT_M] < x->size[AT_M]; at[AT_M]++) (void)evaluate(x, at);
}

static void random_place(const struct space *x, struct tsr_rng *r, int *at) {
  for (int d = 0; d < DIMS; d++) at[d] = (int)tsr_rng_range(r, 0, (uint64_t)x->size[d] - 1);
}

static void step(const struct space *x, struct tsr_rng *r, int *at) {
  int d = (int)tsr_rng_range(r, 0, DIMS - 1), reach = d < AT_ORDER ? 4 : x->size[d];
  int by = (int)tsr_rng_range(r, 1, (uint64_t)reach);
  at[d] += tsr_rng_range(r, 0, 1) ? by : -by;
  if (at[d] < 0) at[d] = 0;
  if (at[d] >= x->size[d]) at[d] = x->size[d] - 1;
}

/* Threshold accepting (Dueck and Scheuer, 1990): annealing without an exponential. */
static void anneal(struct space *x, struct tsr_rng *r, int *at, double cost) {
  for (int i = 0; i < STEPS; i++) {
    int next[DIMS];
    memcpy(next, at, sizeof next);
    for (uint64_t n = tsr_rng_range(r, 1, 2); n > 0; n--) step(x, r, next);
    double c = evaluate(x, next);
    /* worse by a part of the present: at first up to 4 %, less and less */
    double heat = 0.04 * (1 - (double)i / STEPS);
    double chance = (double)(tsr_rng_next(r) >> 11) * 0x1p-53;
    if (isinf(c) && !isinf(cost)) continue;
    if (c > cost * (1 + heat * chance)) continue;
    memcpy(at, next, sizeof next);
    cost = c;
  }
}

/* The place nearest a mapping. */
static void place_of(const struct space *x, const struct tsr_mapping *m, int *at) {
  memset(at, 0, DIMS * sizeof *at);
  for (int i = 0; i < x->size[AT_M]; i++)
    if (!memcmp(x->lists->m[i].v, &m->tile[TSR_AXIS_B], sizeof x->lists->m[i].v)) at[AT_M] = i;
  for (int i = 0; i < x->size[AT_K]; i++)
    if (!memcmp(x->lists->k[i].v, &m->tile[TSR_AXIS_KH], sizeof x->lists->k[i].v)) at[AT_K] = i;
  for (int i = 0; i < x->size[AT_N]; i++)
    if (x->lists->n[i] >= m->tile[TSR_AXIS_N]) at[AT_N] = i;
  for (int i = 0; i < x->size[AT_G]; i++)
    if (x->lists->g[i] >= m->tile[TSR_AXIS_G]) at[AT_G] = i;
}

static void look_guided(struct space *x, const struct tsr_mapping *start, uint64_t seed) {
  struct tsr_rng r = {seed};
  for (int i = 0; i < STARTS; i++) {
    int at[DIMS];
    if (i == 0)
      place_of(x, start, at);
    else
      random_place(x, &r, at);
    anneal(x, &r, at, evaluate(x, at));
  }
}

enum tsr_status tsr_search_mappings(const struct tsr_shape *s, const struct tsr_split *split,
                                    const struct tsr_target *t, const struct tsr_mapping *start,
                                    uint64_t seed, struct tsr_search *out,
                                    struct tsr_err *err) {
  struct space x = {
      .all = s, .split = split, .t = t, .part = tsr_split_largest(split, s), .found = out};
  struct tsr_candidate first = {.mapping = *start};
  uint64_t places = 1;
  *out = (struct tsr_search){0};
  x.lists = tsr_mem_alloc(sizeof *x.lists);
  if (!x.lists) return tsr_err_nomem(err);
  make_lists(&x, start);
  struct tsr_target own = *t;
  tsr_mapping_target(start, &own);
  tsr_cost_layer(s, start, split, &own, &first.cost);
  keep(out, &first.mapping, &first.cost);
  for (int d = 0; d < DIMS; d++) places *= (uint64_t)x.size[d];
  out->whole = places <= WHOLE_MAX;
  if (out->whole)
    look_whole(&x);
  else
    look_guided(&x, start, seed);
  tsr_mem_free(x.lists);
  return TSR_OK;
}
