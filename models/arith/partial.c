/* Partial sums: K split over passes or cores (models/arith/mma.h). */
#include "models/arith/mma_int.h"

static uint64_t add(const struct tsr_mma *u, uint64_t x, uint64_t y, unsigned *events) {
  struct tsri_run r;
  tsri_run_init(&r, u, NULL, events, NULL);
  return tsri_acc_add(&r, TSR_ROUND_RNE, x, y);
}

uint64_t tsr_mma_add(const struct tsr_mma *u, uint64_t x, uint64_t y, unsigned *events) {
  unsigned ev = 0;
  uint64_t r = add(u, x, y, &ev);
  if (events) *events |= ev;
  return r;
}

uint64_t tsr_mma_partial(const struct tsr_mma *u, uint64_t x, unsigned *events) {
  if (!u->part) return x;
  uint64_t stored = tsr_arith_convert(u->acc, x, u->part, u->part_round, events);
  return tsr_arith_convert(u->part, stored, u->acc, TSR_ROUND_RNE, NULL);
}

/* Partial sums met so far; TREE: one root for every bit of n, the largest first. */
struct meeting {
  const struct tsr_mma *u;
  unsigned ev;
  size_t n, depth;
  uint64_t root[64];
};

static uint64_t meet_two(struct meeting *m, uint64_t x, uint64_t y) {
  const struct tsr_mma *u = m->u;
  bool chain = u->part_order == TSR_MMA_PART_CHAIN;
  bool x_moves = u->part_order != TSR_MMA_PART_ASC || m->n == 1;
  if (x_moves) x = tsr_mma_partial(u, x, &m->ev);
  if (!chain) y = tsr_mma_partial(u, y, &m->ev);
  return add(u, x, y, &m->ev);
}

static void meet(struct meeting *m, uint64_t p) {
  if (m->u->part_order == TSR_MMA_PART_TREE) {
    for (size_t bit = 1; m->n & bit; bit <<= 1) p = meet_two(m, m->root[--m->depth], p);
    m->root[m->depth++] = p;
  } else {
    m->root[0] = m->n ? meet_two(m, m->root[0], p) : p;
    m->depth = 1;
  }
  m->n++;
}

static uint64_t meet_end(struct meeting *m) {
  if (!m->depth) return 0;
  uint64_t sum = m->root[--m->depth];
  while (m->depth) sum = meet_two(m, m->root[--m->depth], sum);
  return sum;
}

uint64_t tsr_mma_reduce(const struct tsr_mma *u, const uint64_t *p, size_t n,
                        unsigned *events) {
  struct meeting m = {.u = u};
  for (size_t i = 0; i < n; i++) meet(&m, p[i]);
  uint64_t sum = meet_end(&m);
  if (events) *events |= m.ev;
  return sum;
}

static struct tsr_mma_dot_args
range_of(const struct tsr_mma *u, const struct tsr_mma_dot_args *args, size_t from, size_t to) {
  struct tsr_mma_dot_args r = *args;
  size_t block = u->scale ? from / (size_t)u->scale_block : 0;
  r.a += from;
  r.b += from;
  r.k = to - from;
  r.c = 0;
  if (r.scale_a) r.scale_a += block;
  if (r.scale_b) r.scale_b += block;
  if (r.select && u->sparse_m) r.select += from / (size_t)u->sparse_m;
  return r;
}

uint64_t tsr_mma_dot_split(const struct tsr_mma *u, const struct tsr_mma_dot_args *args,
                           const size_t *cuts, size_t n_cuts, unsigned *events) {
  if (n_cuts == 0) return tsr_mma_dot_full(u, args, events, NULL);
  struct meeting m = {.u = u};
  for (size_t i = 0, from = 0; i < n_cuts; from = cuts[i++]) {
    struct tsr_mma_dot_args part = range_of(u, args, from, cuts[i]);
    meet(&m, tsr_mma_dot_full(u, &part, &m.ev, NULL));
  }
  uint64_t sum = meet_end(&m);
  sum = add(u, args->c, sum, &m.ev);
  if (events) *events |= m.ev;
  return sum;
}
