/* tile.dot against its formulas and against a machine that goes cycle by cycle: operand
 * registers that fill, a pipeline of steps, accumulators that wait for it. */
#include "tile_rig.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/mem.h"

enum { KEEP_A, KEEP_B, KEEP_NONE };
static const char *const keeps[] = {"a", "b", "none"};

struct dot {
  uint64_t m, n, k, depth, fetch, accumulators; /* fetch 0: unlimited */
  int keep;
  bool forward;
};

static void open_dot(struct rig *r, const struct dot *x, const char *const sram[3]) {
  char text[240], fetch[32] = "unlimited";
  if (x->fetch) snprintf(fetch, sizeof fetch, "%lluB", (unsigned long long)x->fetch);
  snprintf(text, sizeof text,
           "{m: %llu, n: %llu, k: %llu, depth: %llu, fetch: %s, accumulators: %llu, keep: %s, "
           "forward: %s}",
           (unsigned long long)x->m, (unsigned long long)x->n, (unsigned long long)x->k,
           (unsigned long long)x->depth, fetch, (unsigned long long)x->accumulators,
           keeps[x->keep], x->forward ? "true" : "false");
  rig_make(r, "tile.dot", text, sram[0], sram[1], sram[2]);
}
static const char *const free_ports[3] = {FREE, FREE, FREE};

/* ---- the slow machine ---- */

enum { REQS = 4 };

struct step {
  size_t req;
  uint64_t a_tag, b_tag, a_bytes, b_bytes; /* fragments: which, and how much */
  uint64_t block;                          /* unique; its steps follow each other */
  uint64_t multipliers, macs;
  bool starts, ends; /* its block */
};
struct slow {
  const struct dot *x;
  const struct ask *asks;
  const uint64_t *release, *open; /* by request: not before; gates */
  struct step *steps;
  size_t n, cap, of[REQS]; /* of a request */
  uint64_t tags, blocks, folds;
  /* out */
  uint64_t began[REQS], accepted[REQS], done[REQS];
  uint64_t fetched, multipliers, macs; /* cycles in which operands came; all steps' */
  uint64_t emptied;                    /* others: a step waited, or only the pipeline worked */
  uint64_t stood[REQS][2];             /* from and to when a request's gate stopped all */
};

static void add_step(struct slow *s, struct step t) {
  assert_true(tsr_mem_grow((void **)&s->steps, &s->cap, s->n + 1, sizeof *s->steps));
  s->steps[s->n++] = t;
  s->of[t.req]++;
  s->multipliers += t.multipliers;
  s->macs += t.macs;
}

/* Piece p of k: elements of a and of b, the multipliers of a dot product in use. */
static void piece(const struct slow *s, const struct tsr_mm_req *q, uint64_t p, uint64_t *ka,
                  uint64_t *kb, uint64_t *used) {
  uint64_t want = s->x->k * q->rate, at = 0;
  *ka = *kb = *used = 0;
  for (uint64_t i = 0, have = 0; i < q->k; i++) { /* stored elements, one by one */
    if (q->sparse && i % 4 > 1) continue;
    if (have++ / want == p) ++*kb;
  }
  for (; at < *kb; at += q->rate) ++*used;
  uint64_t wide = q->sparse ? 2 * want : want;
  for (uint64_t i = 0; i < q->k; i++) *ka += i / wide == p;
}

/* Blocks [from, to) of the strip at `still`, k outer. */
static void add_fold(struct slow *s, size_t req, uint64_t still, uint64_t from, uint64_t to) {
  const struct tsr_mm_req *q = &s->asks[req].req.mm;
  bool rows = s->x->keep != KEEP_A; /* the strip goes along m */
  uint64_t ka, kb, used, base = s->blocks;
  s->blocks += to - from;
  s->folds++;
  for (uint64_t p = 0; piece(s, q, p, &ka, &kb, &used), kb > 0; p++)
    for (uint64_t i = from; i < to; i++) {
      uint64_t bm = rows ? i : still, bn = rows ? still : i, nka, nkb, nused;
      uint64_t h = tsr_min_u64(s->x->m, q->m - bm * s->x->m),
               w = tsr_min_u64(s->x->n, q->n - bn * s->x->n);
      piece(s, q, p + 1, &nka, &nkb, &nused);
      add_step(s, (struct step){.req = req,
                                .a_tag = s->tags + bm * 1000 + p,
                                .b_tag = s->tags + bn * 1000 + p,
                                .a_bytes = h * ka * q->a_bytes,
                                .b_bytes = w * kb * q->b_bytes,
                                .block = base + i - from,
                                .multipliers = h * w * used,
                                .macs = h * w * kb,
                                .starts = p == 0,
                                .ends = nkb == 0});
    }
}

static void add_request(struct slow *s, size_t req) {
  const struct tsr_mm_req *q = &s->asks[req].req.mm;
  bool a = s->x->keep == KEEP_A;
  uint64_t bm = tsr_ceil_div(q->m, s->x->m), bn = tsr_ceil_div(q->n, s->x->n);
  uint64_t strips = a ? bm : bn, len = a ? bn : bm;
  if (!q->m || !q->n || !q->k || q->kind != TSR_MM_RUN) return;
  for (uint64_t g = 0; g < q->groups; g++, s->tags += 1000000)
    for (uint64_t t = 0; t < strips; t++) {
      uint64_t folds = tsr_ceil_div(len, s->x->accumulators);
      for (uint64_t at = 0; at < len; folds--) { /* what is left, over the folds left */
        uint64_t size = tsr_ceil_div(len - at, folds);
        add_fold(s, req, t, at, at + size);
        at += size;
      }
    }
}

/* Bytes that the next step's operands need, the registers holding a and b. */
static uint64_t needs(const struct slow *s, const struct step *t, const uint64_t held[2]) {
  return (s->x->keep == KEEP_A && held[0] == t->a_tag ? 0 : t->a_bytes) +
         (s->x->keep == KEEP_B && held[1] == t->b_tag ? 0 : t->b_bytes);
}

/* pipe[i]: the step that entered i + 1 cycles ago, or SIZE_MAX. */
static bool may_enter(const struct slow *s, const struct step *t, const size_t *pipe) {
  for (uint64_t i = 0; i + 1 < s->x->depth; i++) {
    if (pipe[i] == SIZE_MAX) continue;
    const struct step *o = &s->steps[pipe[i]];
    if (!s->x->forward && o->block == t->block) return false;
    if (!s->asks[t->req].req.mm.first && o->req < t->req) return false;
  }
  return true;
}

static void slow_run(struct slow *s, size_t n_reqs) {
  enum { DEPTH_MAX = 64 };
  size_t pipe[DEPTH_MAX], at = 0, written = 0, left[REQS] = {0}, D = s->x->depth;
  assert_true(D <= DEPTH_MAX);
  for (size_t i = 0; i < DEPTH_MAX; i++) pipe[i] = SIZE_MAX;
  for (size_t q = 0; q < n_reqs; q++) add_request(s, q);
  memcpy(left, s->of, sizeof left);
  uint64_t held[2] = {UINT64_MAX, UINT64_MAX}, need = 0;
  bool loading = false;
  size_t req = 0;
  bool started = false;
  for (uint64_t c = 0; req < n_reqs || written < s->n; c++) {
    /* requests without steps take none; one begins where the one before was accepted */
    while (req < n_reqs && !started && c >= s->release[req]) {
      s->began[req] = c;
      started = s->of[req] > 0;
      if (!started) s->accepted[req++] = c;
    }
    const struct step *t = started ? &s->steps[at] : NULL;
    bool fresh = t && !loading;
    if (fresh) need = needs(s, t, held), loading = true;
    uint64_t rest = !t || !s->x->fetch ? 0 : need - tsr_min_u64(need, s->x->fetch);
    bool enters = t && !rest && may_enter(s, t, pipe);
    size_t leaves = D == 1 ? (enters ? at : SIZE_MAX) : pipe[D - 2];
    if (leaves != SIZE_MAX && s->steps[leaves].ends && c < s->open[s->steps[leaves].req]) {
      uint64_t *stood = s->stood[s->steps[leaves].req];
      if (!stood[1]) stood[0] = c;
      stood[1] = c + 1;
      loading = loading && !fresh;
      continue; /* nobody takes the result: all stands still */
    }
    bool fetches = fresh || need > 0, works = enters;
    for (uint64_t i = 0; i + 1 < D; i++) works = works || pipe[i] != SIZE_MAX;
    s->fetched += fetches;
    s->emptied += !fetches && works;
    need = rest;
    if (leaves != SIZE_MAX) {
      written++;
      s->done[s->steps[leaves].req] = c + 1;
    }
    for (size_t i = D; i-- > 1;) pipe[i] = pipe[i - 1];
    pipe[0] = enters ? at : SIZE_MAX;
    if (!enters) continue;
    held[0] = t->a_tag, held[1] = t->b_tag;
    loading = false;
    at++;
    if (--left[req] == 0) {
      s->accepted[req++] = c + 1;
      started = false;
    }
  }
  for (size_t q = 0; q < n_reqs; q++) {
    s->done[q] = tsr_max_u64(s->done[q], s->accepted[q]);
    if (q) s->done[q] = tsr_max_u64(s->done[q], s->done[q - 1]);
  }
}

/* ---- the events ---- */

/* As fake_chain's, but not before its release. */
struct paced {
  struct ask *ask;
  uint64_t release;
};
static struct paced paced[REQS];
static void start_paced(void *arg) {
  struct paced *p = arg;
  p->ask->started = p->ask->f->now;
  p->ask->unit->ops->unit->start(p->ask->unit->state, &p->ask->req, &p->ask->ticket);
}
static void accepted_paced(struct tsr_ticket *t) {
  struct ask *a = (struct ask *)t;
  a->accepted = a->f->now;
  a->n_accepted++;
  for (size_t i = 0; i < REQS; i++) {
    if (paced[i].ask != a->next || !a->next) continue;
    if (paced[i].release * NS <= a->f->now)
      start_paced(&paced[i]);
    else
      fake_at(a->f, paced[i].release * NS, start_paced, &paced[i]);
  }
}
static void open_gate(void *arg) {
  struct tsr_instance *tile = arg;
  tile->ops->unit->open(tile->state);
}

static void events_run(struct rig *r, struct ask *a, size_t n, const uint64_t *release,
                       const uint64_t *open) {
  fake_chain(&r->f, &r->tile, a, n, 0);
  r->f.n = 0; /* ours starts it */
  for (size_t i = 0; i < n; i++) {
    a[i].ticket.accepted = accepted_paced;
    paced[i] = (struct paced){&a[i], release[i]};
    if (a[i].req.mm.gated) fake_at(&r->f, open[i] * NS, open_gate, &r->tile);
  }
  fake_at(&r->f, release[0] * NS, start_paced, &paced[0]);
  fake_run(&r->f);
  fake_check(a, n);
  r->tile.ops->unit->end(r->tile.state);
}

static struct dot random_dot(struct tsr_rng *r) {
  struct dot x = {.m = tsr_rng_range(r, 1, 9),
                  .n = tsr_rng_range(r, 1, 9),
                  .k = tsr_rng_range(r, 1, 9),
                  .depth = tsr_rng_range(r, 1, tsr_rng_range(r, 0, 3) ? 9 : 40),
                  .fetch = tsr_rng_range(r, 0, 2) ? tsr_rng_range(r, 1, 200) : 0,
                  .accumulators = tsr_rng_range(r, 1, 9),
                  .keep = (int)tsr_rng_range(r, 0, 2),
                  .forward = tsr_rng_range(r, 0, 1)};
  return x;
}

static struct ask random_mm(struct tsr_rng *r, uint64_t high) {
  struct ask a = mm(tsr_rng_range(r, 1, high), tsr_rng_range(r, 1, high),
                    tsr_rng_range(r, 1, tsr_rng_range(r, 0, 1) ? high : 9));
  struct tsr_mm_req *q = &a.req.mm;
  q->groups = tsr_rng_range(r, 0, 3) ? 1 : tsr_rng_range(r, 2, 4);
  q->rate = tsr_rng_range(r, 0, 3) ? 1 : (uint32_t)tsr_rng_range(r, 2, 4);
  q->a_bytes = 1u << tsr_rng_range(r, 0, 2);
  q->b_bytes = 1u << tsr_rng_range(r, 0, 2);
  q->sparse = !tsr_rng_range(r, 0, 3);
  return a;
}

static uint64_t n_steps(const struct slow *s) {
  return s->n;
}

static void compare_sums(const struct rig *r, const struct slow *s) {
  const struct dot *x = s->x;
  const struct tsr_instance *t = &r->tile;
  uint64_t slots = n_steps(s) * x->m * x->n * x->k;
  assert_int_equal(fake_counter(t, "folds"), s->folds);
  assert_int_equal(fake_counter(t, "macs"), s->macs);
  assert_int_equal(fake_counter(t, "slots"), slots);
  assert_int_equal(fake_counter(t, "slots_used"), s->multipliers);
  assert_int_equal(fake_counter(t, "conflict_cycles"), 0);
  assert_int_equal(fake_counter(t, "active_cycles"), s->fetched);
  assert_int_equal(fake_spent(&r->f, t, TSR_SPAN_BUSY), n_steps(s));
  assert_int_equal(fake_spent(&r->f, t, TSR_SPAN_FILL), s->fetched - n_steps(s));
  assert_int_equal(fake_spent(&r->f, t, TSR_SPAN_DRAIN), s->emptied);
  assert_int_equal(fake_spent(&r->f, t, TSR_SPAN_CONFLICT), 0);
  for (size_t i = 0; i < r->f.n_spans; i++)
    for (size_t q = 0; q < REQS; q++) {
      const struct fake_span *p = &r->f.span[i];
      assert_true(p->start >= s->stood[q][1] || p->start + p->cycles <= s->stood[q][0]);
    }
}

static void check_against_slow(const struct dot *x, struct ask *a, size_t n,
                               const uint64_t *release, const uint64_t *open) {
  struct slow s = {.x = x, .asks = a, .release = release, .open = open};
  slow_run(&s, n);
  struct rig r;
  open_dot(&r, x, free_ports);
  events_run(&r, a, n, release, open);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(cycles(a[i].started), s.began[i]);
    assert_int_equal(cycles(a[i].accepted), s.accepted[i]);
    assert_int_equal(cycles(a[i].consumed), s.accepted[i]);
    assert_int_equal(cycles(a[i].done), s.done[i]);
  }
  compare_sums(&r, &s);
  if (s.n) assert_int_equal(fake_last_end(&r.f, &r.tile), s.done[s.steps[s.n - 1].req]);
  rig_close(&r);
  tsr_mem_free(s.steps);
}

static void a_lone_request_goes_as_cycle_by_cycle(void **state) {
  (void)state;
  struct tsr_rng r = {1};
  static const uint64_t none[REQS];
  for (int i = 0; i < 3000; i++) {
    struct dot x = random_dot(&r);
    struct ask a = random_mm(&r, 40);
    check_against_slow(&x, &a, 1, none, none);
    /* One description, two fidelities. */
    struct rig g;
    open_dot(&g, &x, free_ports);
    struct tsr_estimate est;
    g.tile.ops->unit->estimate(g.tile.params, &a.req, &est);
    rig_run(&g, &a, 1);
    assert_int_equal(est.cycles, cycles(a.done));
    assert_int_equal(est.folds, fake_counter(&g.tile, "folds"));
    assert_int_equal(g.f.events, est.events);
    rig_close(&g);
  }
}

/* Chains with sums in parts, gaps and closed gates. */
static void chains_go_as_cycle_by_cycle(void **state) {
  (void)state;
  struct tsr_rng r = {2};
  for (int i = 0; i < 4000; i++) {
    struct dot x = random_dot(&r);
    struct ask a[REQS];
    uint64_t release[REQS], open[REQS], now = 0, gate = 0;
    uint64_t gaps = tsr_rng_range(&r, 0, 1) ? 0 : 60, late = tsr_rng_range(&r, 0, 300);
    for (int j = 0; j < REQS; j++) {
      a[j] = random_mm(&r, i % 2 ? 8 : 24);
      a[j].req.mm.first = tsr_rng_range(&r, 0, 1);
      a[j].req.mm.last = tsr_rng_range(&r, 0, 1);
      a[j].req.mm.gated = i % 4 > 1 && tsr_rng_range(&r, 0, 3);
      if (!tsr_rng_range(&r, 0, 9)) a[j].req.mm.k = 0;
      if (!tsr_rng_range(&r, 0, 19)) a[j].req.mm.kind = TSR_MM_PRELOAD;
      now += gaps ? tsr_rng_range(&r, 0, gaps) : 0;
      release[j] = now;
      if (a[j].req.mm.gated) gate += tsr_rng_range(&r, 0, late);
      open[j] = a[j].req.mm.gated ? gate : 0;
    }
    check_against_slow(&x, a, REQS, release, open);
  }
}

/* Figures worked out by hand. */
static void known_requests_take_known_cycles(void **state) {
  (void)state;
  static const struct {
    struct dot x;
    uint64_t m, n, k, end;
  } rows[] = {
      {{4, 4, 4, 1, 0, 1, KEEP_B, false}, 4, 4, 4, 1},
      {{4, 4, 4, 5, 0, 1, KEEP_B, false}, 4, 4, 4, 5},  /* the pipeline alone */
      {{4, 4, 4, 5, 0, 1, KEEP_B, false}, 4, 4, 5, 10}, /* two dependent steps */
      {{4, 4, 4, 5, 0, 1, KEEP_B, true}, 4, 4, 5, 6},
      {{4, 4, 4, 5, 0, 1, KEEP_B, false}, 4, 4, 40, 50},
      {{4, 4, 4, 5, 0, 1, KEEP_B, true}, 4, 4, 40, 14},
      /* 4 blocks, 10 pieces of k: one after the other, two at a time, all; 5 fill it */
      {{4, 4, 4, 5, 0, 1, KEEP_B, false}, 16, 4, 40, 4 * (1 + 9 * 5) + 4},
      {{4, 4, 4, 5, 0, 2, KEEP_B, false}, 16, 4, 40, 2 * (2 + 9 * 5) + 4},
      {{4, 4, 4, 5, 0, 3, KEEP_B, false}, 16, 4, 40, 2 * (2 + 9 * 5) + 4},
      {{4, 4, 4, 5, 0, 4, KEEP_B, false}, 16, 4, 40, 4 + 9 * 5 + 4},
      {{4, 4, 4, 4, 0, 4, KEEP_B, false}, 16, 4, 40, 40 + 3},
      {{4, 4, 4, 4, 0, 5, KEEP_B, false}, 20, 4, 40, 50 + 3},
      /* strips do not mix: n in strips of one block with b or none kept, m with a */
      {{4, 4, 4, 5, 0, 4, KEEP_B, false}, 4, 16, 40, 4 * (1 + 9 * 5) + 4},
      {{4, 4, 4, 5, 0, 4, KEEP_NONE, false}, 4, 16, 40, 4 * (1 + 9 * 5) + 4},
      {{4, 4, 4, 5, 0, 4, KEEP_A, false}, 4, 16, 40, 4 + 9 * 5 + 4},
      /* fragments of 32 B each; 16 B come in a cycle */
      {{4, 4, 4, 1, 64, 2, KEEP_NONE, false}, 8, 4, 8, 4},
      {{4, 4, 4, 1, 63, 2, KEEP_NONE, false}, 8, 4, 8, 8},
      {{4, 4, 4, 1, 16, 2, KEEP_NONE, false}, 8, 4, 8, 4 * 4},
      {{4, 4, 4, 1, 16, 2, KEEP_B, false}, 8, 4, 8, 2 * (4 + 2)},
      {{4, 4, 4, 1, 16, 1, KEEP_B, false}, 8, 4, 8, 4 * 4}, /* b comes for each block */
      {{4, 4, 4, 1, 16, 1, KEEP_B, false}, 8, 4, 4, 4 + 2}, /* it is still there */
      {{4, 4, 4, 1, 16, 2, KEEP_A, false}, 8, 4, 8, 4 * 4},
      {{4, 4, 4, 3, 16, 1, KEEP_B, false}, 4, 4, 8, 4 + 4 + 2}, /* waits behind the fetch */
      {{4, 4, 4, 6, 16, 1, KEEP_B, false}, 4, 4, 8, 4 + 6 + 5}, /* and the other way round */
      {{4, 4, 4, 1, 16, 1, KEEP_B, false}, 4, 4, 6, 4 + 2},     /* half a piece is left */
      {{1, 1, 1, 1, 1, 1, KEEP_B, false}, 1, 1, 1, 4},
      {{1, 1, 1, 1, 0, 1, KEEP_NONE, true}, 1, 1, 1, 1},
      {{8, 8, 16, 4, 0, 8, KEEP_B, false}, 64, 64, 64, 8 * 8 * 4 + 3},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct rig r;
    open_dot(&r, &rows[i].x, free_ports);
    struct ask a = mm(rows[i].m, rows[i].n, rows[i].k);
    rig_run(&r, &a, 1);
    assert_int_equal(cycles(a.done), rows[i].end);
    rig_close(&r);
  }
}

/* The closed form of the header, for whole blocks and pieces. */
static void whole_blocks_take_the_formula(void **state) {
  (void)state;
  struct tsr_rng r = {3};
  for (int i = 0; i < 2000; i++) {
    struct dot x = random_dot(&r);
    uint64_t bm = tsr_rng_range(&r, 1, 12), bn = tsr_rng_range(&r, 1, 12),
             R = tsr_rng_range(&r, 1, 12);
    struct ask a = mm(bm * x.m, bn * x.n, R * x.k);
    a.req.mm.groups = tsr_rng_range(&r, 1, 3);
    uint64_t still = (x.keep == KEEP_A ? x.m : x.n) * x.k * 2;
    uint64_t moving = (x.keep == KEEP_A ? x.n : x.m) * x.k * 2;
    uint64_t len = x.keep == KEEP_A ? bn : bm, strips = x.keep == KEEP_A ? bm : bn;
    uint64_t G = x.forward ? 1 : x.depth, folds = tsr_ceil_div(len, x.accumulators), strip = 0;
    uint64_t both = x.fetch ? tsr_ceil_div(still + moving, x.fetch) : 1;
    uint64_t one = x.fetch && x.keep != KEEP_NONE ? tsr_ceil_div(moving, x.fetch) : both;
    for (uint64_t f = 0; f < folds; f++) {
      uint64_t blocks = (len * (f + 1) + folds - 1) / folds - (len * f + folds - 1) / folds;
      /* the same sizes, in another order */
      uint64_t F = (R > 1 || f == 0 ? both : one) + (blocks - 1) * one;
      strip += F + (R - 1) * tsr_max_u64(F, G);
    }
    struct rig g;
    open_dot(&g, &x, free_ports);
    rig_run(&g, &a, 1);
    assert_int_equal(cycles(a.done), strip * strips * a.req.mm.groups + x.depth - 1);
    rig_close(&g);
  }
}

static uint64_t time_of(const struct dot *x, struct ask a) {
  struct rig r;
  a.req.mm.gated = false;
  open_dot(&r, x, free_ports);
  rig_run(&r, &a, 1);
  rig_close(&r);
  return cycles(a.done);
}

/* More accumulators, more bytes a cycle, an adder that takes its result back, a kept
 * operand: none costs a cycle. */
static void more_of_anything_is_never_slower(void **state) {
  (void)state;
  struct tsr_rng r = {4};
  for (int i = 0; i < 3000; i++) {
    struct dot x = random_dot(&r), y = x;
    struct ask a = random_mm(&r, 60);
    uint64_t t = time_of(&x, a);
    y.accumulators += tsr_rng_range(&r, 1, 8);
    assert_true(time_of(&y, a) <= t);
    y = x;
    y.fetch = y.fetch && tsr_rng_range(&r, 0, 3) ? y.fetch + tsr_rng_range(&r, 1, 50) : 0;
    assert_true(time_of(&y, a) <= t);
    y = x;
    y.forward = true;
    assert_true(time_of(&y, a) <= t);
    y = x;
    if (y.keep == KEEP_NONE) y.keep = KEEP_B; /* the same order */
    assert_true(time_of(&y, a) <= t);
  }
}

/* Macs never exceed what the multipliers could do in the time. */
static void utilisation_is_at_most_one(void **state) {
  (void)state;
  struct tsr_rng r = {5};
  bool full = false;
  for (int i = 0; i < 2000; i++) {
    struct dot x = random_dot(&r);
    struct ask a = random_mm(&r, 60);
    struct rig g;
    open_dot(&g, &x, free_ports);
    rig_run(&g, &a, 1);
    uint64_t most_macs = cycles(a.done) * x.m * x.n * x.k * a.req.mm.rate;
    assert_true(fake_counter(&g.tile, "macs") <= most_macs);
    assert_true(fake_counter(&g.tile, "slots_used") <= fake_counter(&g.tile, "slots"));
    full = full || fake_counter(&g.tile, "macs") == most_macs;
    rig_close(&g);
  }
  assert_true(full);
}

/* A gate in time costs nothing; each cycle later is one cycle lost. */
static void a_closed_gate_delays_from_the_first_result_on(void **state) {
  (void)state;
  static const struct {
    struct dot x;
    uint64_t m, n, k, gate;
  } rows[] = {
      {{4, 4, 4, 1, 0, 1, KEEP_B, false}, 4, 4, 4, 0},
      {{4, 4, 4, 5, 0, 1, KEEP_B, false}, 4, 4, 4, 4},
      {{4, 4, 4, 5, 0, 1, KEEP_B, false}, 4, 4, 8, 9},
      {{4, 4, 4, 5, 0, 4, KEEP_B, false}, 16, 4, 40, 9 * 5 + 4},
      {{4, 4, 4, 3, 0, 4, KEEP_B, false}, 16, 4, 40, 9 * 4 + 2},
      {{4, 4, 4, 5, 0, 4, KEEP_B, true}, 16, 4, 40, 9 * 4 + 4},
      {{4, 4, 4, 8, 0, 1, KEEP_B, false}, 40, 40, 4, 7}, /* seven folds are in the pipeline */
      {{4, 4, 4, 3, 16, 2, KEEP_B, false}, 8, 4, 8, 6 + 3 + 2},
  };
  static const uint64_t late[] = {0, 1, 2, 17, 400};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct ask plain = mm(rows[i].m, rows[i].n, rows[i].k);
    uint64_t alone = time_of(&rows[i].x, plain);
    for (size_t j = 0; j <= LEN(late); j++) {
      struct ask a = plain;
      a.req.mm.gated = true;
      uint64_t lost = j < LEN(late) ? late[j] : 0;
      struct rig r;
      open_dot(&r, &rows[i].x, free_ports);
      fake_at(&r.f, j < LEN(late) ? (rows[i].gate + lost) * NS : 0, open_gate, &r.tile);
      rig_run(&r, &a, 1);
      assert_int_equal(cycles(a.done), alone + lost);
      struct tsr_estimate est;
      r.tile.ops->unit->estimate(r.tile.params, &a.req, &est);
      assert_int_equal(r.f.events, est.events + 1); /* and the opening */
      assert_int_equal(fake_counter(&r.tile, "macs"),
                       plain.req.mm.m * plain.req.mm.n * plain.req.mm.k);
      rig_close(&r);
    }
  }
}

/* A port of exactly the need changes nothing; a byte less lengthens. */
static void a_narrow_port_lengthens_what_it_feeds(void **state) {
  (void)state;
  static const struct {
    struct dot x;
    int buf;
    unsigned width;
    uint64_t m, n, k, extra;
  } rows[] = {
      /* 8 blocks of 8 pieces, one fold of 64 cycles: a 64 x 32 x 2 B, b 8 x 32 x 2 B */
      {{8, 8, 4, 3, 0, 8, KEEP_B, false}, 0, 64, 64, 8, 32, 0},
      {{8, 8, 4, 3, 0, 8, KEEP_B, false}, 0, 63, 64, 8, 32, 2}, /* ceil(4096/63) - 64 */
      {{8, 8, 4, 3, 0, 8, KEEP_B, false}, 1, 8, 64, 8, 32, 0},
      {{8, 8, 4, 3, 0, 8, KEEP_B, false}, 1, 7, 64, 8, 32, 10}, /* ceil(512/7) - 64 */
      {{8, 8, 4, 3, 0, 8, KEEP_NONE, false}, 1, 64, 64, 8, 32, 0},
      {{8, 8, 4, 3, 0, 8, KEEP_NONE, false}, 1, 32, 64, 8, 32, 64},
      {{8, 8, 4, 3, 0, 8, KEEP_B, false}, 2, 32, 64, 8, 32, 0}, /* 64 x 8 x 4 B */
      {{8, 8, 4, 3, 0, 8, KEEP_B, false}, 2, 16, 64, 8, 32, 64},
      {{8, 8, 4, 3, 0, 8, KEEP_A, false}, 0, 8, 8, 64, 32, 0},
      {{8, 8, 4, 3, 0, 8, KEEP_A, false}, 1, 32, 8, 64, 32, 64},
      /* a fold that waits has time: 1 block, 8 pieces 16 cycles apart, 113 cycles */
      {{8, 8, 4, 16, 0, 8, KEEP_B, false}, 0, 5, 8, 8, 32, 0},
      {{8, 8, 4, 16, 0, 8, KEEP_B, false}, 0, 4, 8, 8, 32, 128 - 113},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    char narrow[64];
    snprintf(narrow, sizeof narrow, "{size: 1MiB, width: %uB}", rows[i].width);
    const char *s[3] = {FREE, FREE, FREE};
    s[rows[i].buf] = narrow;
    struct ask a = mm(rows[i].m, rows[i].n, rows[i].k);
    uint64_t alone = time_of(&rows[i].x, a);
    struct rig r;
    open_dot(&r, &rows[i].x, s);
    rig_run(&r, &a, 1);
    assert_int_equal(cycles(a.done), alone + rows[i].extra);
    assert_int_equal(fake_counter(&r.tile, "conflict_cycles"), rows[i].extra);
    assert_int_equal(fake_spent(&r.f, &r.tile, TSR_SPAN_CONFLICT), rows[i].extra);
    rig_close(&r);
  }
}

/* A slow port keeps the first result back, and with it what a gate stops; the port of c
 * is taken from the opening on. */
struct probe {
  struct rig *r;
  uint64_t waited_fs;
};
static void move_64_bytes(void *arg) {
  struct probe *p = arg;
  (void)fake_move(&p->r->c, 64, false, p->r->f.now, &p->waited_fs);
}
static void a_gate_moves_with_what_the_ports_add(void **state) {
  (void)state;
  static const struct {
    int buf; /* whose port is narrow */
    unsigned width;
    uint64_t gate;
  } rows[] = {
      /* the first of 8 results enters in cycle 56 of 64 and is written in 58 */
      {0, 64, 58}, {0, 32, 58 + 64}, {1, 4, 58 + 64}, {2, 32, 58}, {2, 16, 58 + 64},
  };
  struct dot x = {8, 8, 4, 3, 0, 8, KEEP_B, false};
  for (size_t i = 0; i < LEN(rows); i++)
    for (uint64_t late = 0; late < 40; late += 13) {
      char narrow[64];
      snprintf(narrow, sizeof narrow, "{size: 1MiB, width: %uB, ports: 1rw}", rows[i].width);
      const char *s[3] = {FREE, FREE, FREE};
      s[rows[i].buf] = narrow;
      struct ask a = mm(64, 8, 32);
      struct rig r;
      open_dot(&r, &x, s);
      rig_run(&r, &a, 1);
      uint64_t alone = cycles(a.done);
      rig_close(&r);
      open_dot(&r, &x, s);
      a.req.mm.gated = true;
      struct probe before = {&r, 0}, after = {&r, 0};
      uint64_t open = rows[i].gate + late;
      fake_at(&r.f, open * NS, open_gate, &r.tile);
      if (rows[i].buf == 2) {
        fake_at(&r.f, (open - 5) * NS, move_64_bytes, &before);
        fake_at(&r.f, (open + 1) * NS, move_64_bytes, &after);
      }
      rig_run(&r, &a, 1);
      assert_int_equal(cycles(a.done), alone + late);
      if (rows[i].buf == 2 && late) {
        assert_int_equal(before.waited_fs, 0);
        assert_true(after.waited_fs > 0);
      }
      rig_close(&r);
    }
}

/* What goes through the scratchpads: the kept operand once a round, partial sums. */
static void bytes_are_those_of_the_fragments(void **state) {
  (void)state;
  static const struct {
    int keep;
    uint64_t accumulators, k;
    bool first, sparse;
    uint64_t a, b, c_read, c_write; /* 32 x 16 results, 4 x 2 blocks */
  } rows[] = {
      {KEEP_B, 4, 40, true, false, 2 * 32 * 80, 16 * 80, 0, 2048},
      {KEEP_B, 2, 40, true, false, 2 * 32 * 80, 2 * 16 * 80, 0, 2048},
      {KEEP_B, 1, 40, true, false, 2 * 32 * 80, 4 * 16 * 80, 0, 2048},
      {KEEP_B, 1, 4, true, false, 2 * 32 * 8, 16 * 8, 0, 2048}, /* one piece stays */
      {KEEP_NONE, 4, 40, true, false, 2 * 32 * 80, 4 * 16 * 80, 0, 2048},
      {KEEP_A, 4, 40, true, false, 32 * 80, 4 * 16 * 80, 0, 2048},
      {KEEP_B, 4, 40, false, false, 2 * 32 * 80, 16 * 80, 2048, 2048},
      {KEEP_B, 4, 40, true, true, 2 * 32 * 80, 16 * 40, 0, 2048},
      {KEEP_B, 4, 7, true, true, 2 * 32 * 14, 16 * 8, 0, 2048},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct dot x = {8, 8, 4, 3, 0, rows[i].accumulators, rows[i].keep, false};
    struct rig r;
    open_dot(&r, &x, free_ports);
    struct ask a = mm(32, 16, rows[i].k);
    a.req.mm.first = rows[i].first;
    a.req.mm.sparse = rows[i].sparse;
    rig_run(&r, &a, 1);
    assert_int_equal(fake_counter(&r.a, "read_bytes"), rows[i].a);
    assert_int_equal(fake_counter(&r.b, "read_bytes"), rows[i].b);
    assert_int_equal(fake_counter(&r.c, "read_bytes"), rows[i].c_read);
    assert_int_equal(fake_counter(&r.c, "write_bytes"), rows[i].c_write);
    rig_close(&r);
  }
}

/* Random ports, chains and gates: time is accounted for and work is done. */
static void spans_never_overlap_and_work_is_conserved(void **state) {
  (void)state;
  static const char *const ports[] = {"1rw", "1r1w", "2rw"};
  struct tsr_rng rng = {6};
  for (int i = 0; i < 1000; i++) {
    struct dot x = random_dot(&rng);
    char text[3][96];
    const char *s[3];
    for (int j = 0; j < 3; j++) {
      snprintf(text[j], sizeof text[j], "{size: 1MiB, width: %uB, ports: %s}",
               (unsigned)tsr_rng_range(&rng, 1, 64), ports[tsr_rng_range(&rng, 0, 2)]);
      s[j] = text[j];
    }
    struct ask a[REQS];
    struct rig r;
    open_dot(&r, &x, s);
    uint64_t at = 0, gates = 0, free_end = 0;
    for (int j = 0; j < REQS; j++) {
      a[j] = random_mm(&rng, 30);
      a[j].req.mm.gated = i % 2 && tsr_rng_range(&rng, 0, 1);
      a[j].req.mm.sparse = false;
      at += tsr_rng_range(&rng, 0, 400);
      if (a[j].req.mm.gated) fake_at(&r.f, at * NS, open_gate, &r.tile), gates = at;
      free_end += time_of(&x, a[j]) - (x.depth - 1);
    }
    rig_run(&r, a, REQS);
    uint64_t macs = 0, spent = 0;
    for (int j = 0; j < REQS; j++)
      macs += a[j].req.mm.m * a[j].req.mm.n * a[j].req.mm.k * a[j].req.mm.groups;
    for (int j = 0; j < TSR_SPAN_N_; j++)
      spent += fake_spent(&r.f, &r.tile, (enum tsr_span_state)j);
    assert_int_equal(fake_counter(&r.tile, "macs"), macs);
    uint64_t conflict = fake_spent(&r.f, &r.tile, TSR_SPAN_CONFLICT);
    assert_int_equal(conflict, fake_counter(&r.tile, "conflict_cycles"));
    assert_int_equal(spent, free_end + conflict + x.depth - 1);
    assert_true(spent <= cycles(a[REQS - 1].done));
    assert_true(cycles(a[REQS - 1].done) <= spent + gates);
    if (!gates) assert_int_equal(spent, cycles(a[REQS - 1].done));
    assert_int_equal(fake_last_end(&r.f, &r.tile), cycles(a[REQS - 1].done));
    rig_close(&r);
  }
}

/* A scratchpad that notes which bytes the patterns of its phases touch. */
enum { NOTED = 8192 };
struct noted {
  unsigned char touched[NOTED];
  int phases, even; /* all, and those without a pattern */
};
static uint64_t note(void *vs, uint64_t start, uint64_t n, uint64_t read, uint64_t write,
                     const struct tsr_pattern *p) {
  (void)start, (void)read, (void)write;
  struct noted *s = vs;
  s->phases++;
  s->even += !p;
  for (uint64_t j = 0; p && j < p->steps; j++)
    for (uint64_t i = 0; i < p->lanes; i++)
      for (uint64_t e = 0; e < p->elem_bytes; e++) {
        int64_t at =
            (int64_t)(p->addr + e) + (int64_t)i * p->lane_bytes + (int64_t)j * p->step_bytes;
        assert_in_range(at, 0, NOTED - 1);
        s->touched[at]++;
      }
  return n;
}

static void patterns_touch_each_byte_of_an_operand(void **state) {
  (void)state;
  static const struct tsr_buffer_ops buffer = {.tile = note};
  static const struct tsr_component pad = {.kind = "sram", .buffer = &buffer};
  static const struct {
    int keep;
    bool a_along_k, b_along_k; /* the contiguous axis */
    uint64_t m, n, k;
    int b_times; /* each byte of b, with b kept or not the strip's own operand */
  } rows[] = {{KEEP_B, true, true, 24, 20, 32, 1},  {KEEP_B, true, false, 24, 20, 32, 1},
              {KEEP_B, false, true, 21, 19, 16, 1}, {KEEP_B, false, false, 7, 5, 32, 1},
              {KEEP_B, true, true, 40, 3, 5, 1},    {KEEP_A, true, false, 8, 20, 32, 1},
              {KEEP_A, true, false, 24, 20, 32, 3}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct dot x = {8, 4, 16, 3, 0, 5, rows[i].keep, false};
    struct noted a = {0}, b = {0};
    struct rig r;
    open_dot(&r, &x, free_ports);
    struct tsr_instance pads[2] = {{.ops = &pad, .state = &a}, {.ops = &pad, .state = &b}};
    fake_wire(&r.f, &r.tile, &pads[0], &pads[1], &r.c);
    uint64_t m = rows[i].m, n = rows[i].n, k = rows[i].k;
    struct ask q = mm(m, n, k);
    q.req.mm.a = (struct tsr_buffer_view){.addr = 64};
    q.req.mm.a.i_bytes = rows[i].a_along_k ? (int64_t)k * 2 : 2;
    q.req.mm.a.j_bytes = rows[i].a_along_k ? 2 : (int64_t)m * 2;
    q.req.mm.b = (struct tsr_buffer_view){.addr = 32};
    q.req.mm.b.i_bytes = rows[i].b_along_k ? 2 : (int64_t)n * 2;
    q.req.mm.b.j_bytes = rows[i].b_along_k ? (int64_t)k * 2 : 2;
    rig_run(&r, &q, 1);
    int a_times = rows[i].keep == KEEP_B ? (int)tsr_ceil_div(n, x.n) : 1;
    for (uint64_t j = 0; j < NOTED; j++) {
      assert_int_equal(a.touched[j], j >= 64 && j < 64 + m * k * 2 ? a_times : 0);
      assert_int_equal(b.touched[j], j >= 32 && j < 32 + n * k * 2 ? rows[i].b_times : 0);
    }
    assert_int_equal(a.even + b.even, 0);
    rig_close(&r);
    /* with a stride on both axes accesses fall evenly */
    open_dot(&r, &x, free_ports);
    fake_wire(&r.f, &r.tile, &pads[0], &pads[1], &r.c);
    q.req.mm.a.i_bytes = q.req.mm.a.j_bytes = 6;
    a.phases = a.even = 0;
    rig_run(&r, &q, 1);
    assert_true(a.phases > 0);
    assert_int_equal(a.even, a.phases);
    rig_close(&r);
  }
}

static void facts_name_the_unit(void **state) {
  (void)state;
  struct dot x = {16, 8, 32, 7, 0, 4, KEEP_A, true};
  struct rig r;
  open_dot(&r, &x, free_ports);
  struct tsr_unit_facts f;
  r.tile.ops->unit->facts(r.tile.params, &f);
  assert_int_equal(f.rows, 16);
  assert_int_equal(f.cols, 8);
  assert_int_equal(f.depth, 32);
  assert_int_equal(f.latency_cycles, 7);
  assert_string_equal(f.dataflow, "dot");
  assert_false(f.preload);
  rig_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_requests_take_known_cycles),
      cmocka_unit_test(whole_blocks_take_the_formula),
      cmocka_unit_test(a_lone_request_goes_as_cycle_by_cycle),
      cmocka_unit_test(chains_go_as_cycle_by_cycle),
      cmocka_unit_test(more_of_anything_is_never_slower),
      cmocka_unit_test(utilisation_is_at_most_one),
      cmocka_unit_test(a_closed_gate_delays_from_the_first_result_on),
      cmocka_unit_test(a_narrow_port_lengthens_what_it_feeds),
      cmocka_unit_test(a_gate_moves_with_what_the_ports_add),
      cmocka_unit_test(bytes_are_those_of_the_fragments),
      cmocka_unit_test(spans_never_overlap_and_work_is_conserved),
      cmocka_unit_test(patterns_touch_each_byte_of_an_operand),
      cmocka_unit_test(facts_name_the_unit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
