/* tile.dot and the matrix units against a dot product tile in SystemVerilog: the cycles of
 * every request and fold equal, the results bit for bit.  The model runs through its
 * component interface, its scratchpads without a limit; the tile is driven by its
 * handshakes (dot.h), and nothing here computes a cycle. */
#include "tests/unit/models/fake.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/mem.h"
#include "tests/rtl/dot.h"
#include "tests/rtl/work.h"

enum { FOLDS = 100000 };

struct config {
  const char *name, *params;
  struct dot_config rtl;
};
static const struct config configs[] = {
    {"b kept", "keep: b, forward: false, accumulators: 8", {DOT_KEEP_B, false, 8, 0}},
    {"b kept, forward", "keep: b, forward: true, accumulators: 8", {DOT_KEEP_B, true, 8, 0}},
    {"a kept, 3 blocks", "keep: a, forward: false, accumulators: 3", {DOT_KEEP_A, false, 3, 0}},
    {"none kept, 2 blocks, 7 lanes",
     "keep: none, forward: false, accumulators: 2",
     {DOT_KEEP_NONE, false, 2, 7}},
    {"b kept, 1 block, 3 lanes, forward",
     "keep: b, forward: true, accumulators: 1",
     {DOT_KEEP_B, true, 1, 3}},
    {"b kept, 1 block", "keep: b, forward: false, accumulators: 1", {DOT_KEEP_B, false, 1, 0}},
    {"a kept, 5 blocks, 10 lanes",
     "keep: a, forward: false, accumulators: 5",
     {DOT_KEEP_A, false, 5, 10}},
};

/* ---- the two sides ---- */

struct rig {
  struct fake f;
  struct tsr_instance a, b, c, tile;
};
#define FREE "{size: 1MiB, width: unlimited}"

static void rig_open(struct rig *r, const struct config *x, bool fp) {
  char text[200], fetch[32] = "unlimited";
  uint64_t bytes = x->rtl.lanes * (fp ? 2 : 1);
  if (bytes) snprintf(fetch, sizeof fetch, "%lluB", (unsigned long long)bytes);
  snprintf(text, sizeof text, "{m: %llu, n: %llu, k: %llu, depth: %llu, fetch: %s, %s}",
           (unsigned long long)dot_m, (unsigned long long)dot_n, (unsigned long long)dot_k,
           (unsigned long long)dot_depth, fetch, x->params);
  fake_open(&r->f, 1000000000);
  fake_make(&r->f, &r->a, "sram", FREE, NULL, NULL, NULL);
  fake_make(&r->f, &r->b, "sram", FREE, NULL, NULL, NULL);
  fake_make(&r->f, &r->c, "sram", FREE, NULL, NULL, NULL);
  fake_make(&r->f, &r->tile, "tile.dot", text, &r->a, &r->b, &r->c);
}
static void rig_close(struct rig *r) {
  fake_drop(&r->tile);
  fake_drop(&r->a);
  fake_drop(&r->b);
  fake_drop(&r->c);
  fake_close(&r->f);
}

static void open_gate(void *arg) {
  struct tsr_instance *tile = arg;
  tile->ops->unit->open(tile->state);
}

static void run_model(struct rig *r, const struct config *x, bool fp, const struct rtl_work *w,
                      size_t n, struct ask *asks) {
  rig_open(r, x, fp);
  for (size_t i = 0; i < n; i++) {
    const struct rtl_shape *s = &w[i].s;
    asks[i] = (struct ask){.req = {.mm = {.m = s->m,
                                          .n = s->n,
                                          .k = s->k,
                                          .groups = 1,
                                          .first = s->first,
                                          .last = s->last,
                                          .gated = s->open > 0,
                                          .a_bytes = fp ? 2 : 1,
                                          .b_bytes = fp ? 2 : 1,
                                          .acc_bytes = 4,
                                          .out_bytes = 4,
                                          .rate = 1}}};
  }
  fake_chain(&r->f, &r->tile, asks, n, 0);
  for (size_t i = 0; i < n; i++)
    if (w[i].s.open) fake_at(&r->f, w[i].s.open * NS, open_gate, &r->tile);
  fake_run(&r->f);
  fake_check(asks, n);
  r->tile.ops->unit->end(r->tile.state);
}

static size_t run_rtl(const struct config *x, bool fp, struct rtl_work *w, size_t n,
                      struct rtl_mm *mm, struct rtl_fold *folds) {
  assert_true(x->rtl.accumulators <= dot_accumulators);
  for (size_t i = 0; i < n; i++) {
    const struct rtl_shape *s = &w[i].s;
    mm[i] = (struct rtl_mm){.m = s->m,
                            .n = s->n,
                            .k = s->k,
                            .first = s->first,
                            .last = s->last,
                            .a = w[i].a,
                            .b = w[i].b,
                            .c = w[i].c,
                            .open = s->open};
  }
  return dot_run(&x->rtl, fp, mm, n, folds, FOLDS);
}

/* ---- comparisons ---- */

static uint64_t cycle(uint64_t fs) {
  assert_int_equal(fs % NS, 0);
  return fs / NS;
}

static void same(const char *what, const struct config *x, const struct rtl_shape *s,
                 uint64_t model, uint64_t rtl) {
  if (model == rtl) return;
  fail_msg("%s, %llux%llux%llu: %s: the model says %llu, the tile %llu", x->name,
           (unsigned long long)s->m, (unsigned long long)s->n, (unsigned long long)s->k, what,
           (unsigned long long)model, (unsigned long long)rtl);
}

static void compare_requests(const struct config *x, const struct rtl_work *w, size_t n,
                             const struct ask *asks, const struct rtl_mm *mm) {
  for (size_t i = 0; i < n; i++) {
    same("last operand", x, &w[i].s, cycle(asks[i].accepted), mm[i].taken);
    same("operands free", x, &w[i].s, cycle(asks[i].consumed), mm[i].taken);
    same("end", x, &w[i].s, cycle(asks[i].done), mm[i].end);
  }
}

/* The model's busy cycles of a fold are its steps; before them stand those in which
 * operands come and no step enters.  Where nothing stands still or waits to begin, the
 * first of both is the first operand. */
static void compare_folds(const struct config *x, const struct rtl_shape *s,
                          const struct rig *r, const struct rtl_fold *folds, size_t n,
                          bool starts) {
  size_t at = 0;
  uint64_t steps = 0;
  const struct fake_span *fill = NULL;
  for (size_t i = 0; i < r->f.n_spans; i++) {
    const struct fake_span *p = &r->f.span[i];
    if (p->unit != r->tile.unit) continue;
    if (p->state == TSR_SPAN_FILL && !steps) fill = p;
    if (p->state != TSR_SPAN_BUSY) continue;
    if (at == n) fail_msg("%s: the model runs more folds than the tile", x->name);
    if (!steps && starts)
      same("start of a fold", x, s, fill ? fill->start : p->start, folds[at].start);
    steps += p->cycles;
    if (steps < folds[at].beats) continue;
    same("steps of a fold", x, s, steps, folds[at].beats);
    fill = NULL;
    steps = 0;
    at++;
  }
  same("folds", x, s, at, n);
}

struct total { /* over the shapes, for the report */
  uint64_t requests, folds, rtl, model;
};

static void run(const struct config *x, const struct rtl_unit *u,
                const struct rtl_shape *shapes, size_t n, struct tsr_rng *rng,
                struct total *t) {
  struct rtl_work w[RTL_REQS];
  struct ask asks[RTL_REQS];
  struct rtl_mm mm[RTL_REQS];
  bool starts = true;
  assert_true(n <= RTL_REQS);
  for (size_t i = 0; i < n; i++) {
    rtl_work_open(&w[i], shapes[i], u->fp, rng);
    starts = starts && shapes[i].first && !shapes[i].open;
  }
  struct rtl_fold *folds = tsr_mem_array(FOLDS, sizeof *folds);
  assert_non_null(folds);
  struct rig r;
  size_t n_folds = run_rtl(x, u->fp, w, n, mm, folds);
  assert_true(n_folds <= FOLDS);
  run_model(&r, x, u->fp, w, n, asks);
  compare_requests(x, w, n, asks, mm);
  compare_folds(x, shapes, &r, folds, n_folds, starts);
  rtl_work_compare(x->name, false, u, w, n);
  t->requests += n;
  t->folds += n_folds;
  t->rtl += mm[n - 1].end;
  t->model += cycle(asks[n - 1].done);
  rig_close(&r);
  tsr_mem_free(folds);
  for (size_t i = 0; i < n; i++) rtl_work_close(&w[i]);
}

static void report(const struct config *x, const struct rtl_unit *u, const struct total *t) {
  print_message("%llux%llux%llu, depth %llu, %s, %s: %llu requests, %llu folds; tile %llu "
                "cycles, model %llu\n",
                (unsigned long long)dot_m, (unsigned long long)dot_n, (unsigned long long)dot_k,
                (unsigned long long)dot_depth, x->name, u->name,
                (unsigned long long)t->requests, (unsigned long long)t->folds,
                (unsigned long long)t->rtl, (unsigned long long)t->model);
}

static void every_shape_takes_the_cycles_of_the_tile(void **state) {
  (void)state;
  for (size_t x = 0; x < LEN(configs); x++)
    for (size_t u = 0; u < RTL_UNITS; u++) {
      struct tsr_rng rng = {100 * x + u};
      struct total t = {0};
      for (size_t i = 0; i < RTL_SHAPES; i++)
        run(&configs[x], &rtl_units[u], &rtl_shapes[i], 1, &rng, &t);
      report(&configs[x], &rtl_units[u], &t);
    }
}

static void requests_in_a_chain_take_the_cycles_of_the_tile(void **state) {
  (void)state;
  for (size_t x = 0; x < LEN(configs); x++)
    for (size_t u = 0; u < RTL_UNITS; u++) {
      struct tsr_rng rng = {7000 + 100 * x + u};
      struct total t = {0};
      for (size_t i = 0; i < RTL_CHAINS; i++)
        run(&configs[x], &rtl_units[u], rtl_chains[i], RTL_REQS, &rng, &t);
      report(&configs[x], &rtl_units[u], &t);
    }
}

/* A sum cut along k goes through scratchpad c, whatever the results' number. */
static void a_sum_in_parts_takes_the_cycles_of_the_tile(void **state) {
  (void)state;
  static const uint64_t cuts[][RTL_REQS] = {
      {1, 1, 1, 1}, {5, 5, 5, 5}, {16, 8, 4, 2}, {3, 30, 1, 17}, {33, 1, 32, 64}};
  for (size_t x = 0; x < LEN(configs); x++)
    for (size_t u = 0; u < RTL_UNITS; u++) {
      struct tsr_rng rng = {9000 + 100 * x + u};
      struct total t = {0};
      for (size_t i = 0; i < LEN(cuts) * 4; i++) {
        struct rtl_shape s[RTL_REQS];
        uint64_t m = tsr_rng_range(&rng, 1, i % 2 ? 6 : 40), n = tsr_rng_range(&rng, 1, 20);
        for (size_t q = 0; q < RTL_REQS; q++)
          s[q] = (struct rtl_shape){m, n, cuts[i / 4][q], q == 0, q == RTL_REQS - 1, 0};
        run(&configs[x], &rtl_units[u], s, RTL_REQS, &rng, &t);
      }
      report(&configs[x], &rtl_units[u], &t);
    }
}

/* The tile stands still from the first result on until somebody takes it, with all that
 * has entered behind it. */
static void a_result_not_taken_stops_the_tile_and_the_model(void **state) {
  (void)state;
  for (size_t x = 0; x < LEN(configs); x++) {
    struct tsr_rng rng = {77};
    struct total t = {0};
    for (int i = 0; i < 200; i++) {
      struct rtl_shape s[RTL_REQS];
      uint64_t open = 0, high = i % 4 > 1 ? 30 : 6;
      for (size_t q = 0; q < RTL_REQS; q++) {
        uint64_t m = tsr_rng_range(&rng, 1, high), n = tsr_rng_range(&rng, 1, high);
        open += tsr_rng_range(&rng, 1, i % 8 > 3 ? 20 : 200);
        s[q] = (struct rtl_shape){m,    n,    tsr_rng_range(&rng, 1, high),
                                  true, true, tsr_rng_range(&rng, 0, 3) ? open : 0};
      }
      run(&configs[x], &rtl_units[0], s, i % 2 ? RTL_REQS : 1, &rng, &t);
    }
    report(&configs[x], &rtl_units[0], &t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_shape_takes_the_cycles_of_the_tile),
      cmocka_unit_test(requests_in_a_chain_take_the_cycles_of_the_tile),
      cmocka_unit_test(a_sum_in_parts_takes_the_cycles_of_the_tile),
      cmocka_unit_test(a_result_not_taken_stops_the_tile_and_the_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
