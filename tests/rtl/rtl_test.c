/* tile.systolic and the matrix units against an array in SystemVerilog: the cycles of
 * every request and fold equal, the results bit for bit.  The model runs through its
 * component interface, its scratchpads without a limit; the array is driven by its
 * handshakes (rtl.h), and nothing here computes a cycle. */
#include "tests/unit/models/fake.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/mem.h"
#include "tests/rtl/rtl.h"
#include "tests/rtl/work.h"

enum { FOLDS = 20000 };

struct flow {
  const char *name, *params;
  enum rtl_flow rtl;
  bool os, serial; /* serial: a drain shows in every fold, not after the last */
  bool swap;       /* `is` is the ws array with the operands' parts exchanged */
};
static const struct flow flows[] = {
    {"os", "dataflow: os", RTL_OS, true, false, false},
    {"os, serial drain", "dataflow: os, drain: serial", RTL_OS_SERIAL, true, true, false},
    {"ws", "dataflow: ws, weight_preload: false", RTL_WS, false, false, false},
    {"ws, preload", "dataflow: ws, weight_preload: true", RTL_WS_PRELOAD, false, false, false},
    {"is", "dataflow: is, weight_preload: false", RTL_WS, false, false, true},
    {"is, preload", "dataflow: is, weight_preload: true", RTL_WS_PRELOAD, false, false, true},
};

/* ---- the two sides ---- */

struct rig {
  struct fake f;
  struct tsr_instance a, b, c, tile;
};
#define FREE "{size: 1MiB, width: unlimited}"

static void rig_open(struct rig *r, const struct flow *x) {
  char text[160];
  snprintf(text, sizeof text, "{rows: %llu, cols: %llu, %s}", (unsigned long long)rtl_rows,
           (unsigned long long)rtl_cols, x->params);
  fake_open(&r->f, 1000000000);
  fake_make(&r->f, &r->a, "sram", FREE, NULL, NULL, NULL);
  fake_make(&r->f, &r->b, "sram", FREE, NULL, NULL, NULL);
  fake_make(&r->f, &r->c, "sram", FREE, NULL, NULL, NULL);
  fake_make(&r->f, &r->tile, "tile.systolic", text, &r->a, &r->b, &r->c);
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

static void run_model(struct rig *r, const struct flow *x, bool fp, const struct rtl_work *w,
                      size_t n, struct ask *asks) {
  rig_open(r, x);
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

static size_t run_rtl(const struct flow *x, bool fp, struct rtl_work *w, size_t n,
                      struct rtl_mm *mm, struct rtl_fold *folds) {
  for (size_t i = 0; i < n; i++) {
    const struct rtl_shape *s = &w[i].s;
    mm[i] = (struct rtl_mm){.m = x->swap ? s->n : s->m,
                            .n = x->swap ? s->m : s->n,
                            .k = s->k,
                            .first = s->first,
                            .last = s->last,
                            .a = x->swap ? w[i].bt : w[i].a,
                            .b = x->swap ? w[i].at : w[i].b,
                            .c = w[i].c,
                            .open = s->open};
  }
  return rtl_run(x->rtl, fp, mm, n, folds, FOLDS);
}

/* ---- comparisons ---- */

static uint64_t cycle(uint64_t fs) {
  assert_int_equal(fs % NS, 0);
  return fs / NS;
}

static void same(const char *what, const struct flow *x, const struct rtl_shape *s,
                 uint64_t model, uint64_t rtl) {
  if (model == rtl) return;
  fail_msg("%s, %llux%llux%llu: %s: the model says %llu, the array %llu", x->name,
           (unsigned long long)s->m, (unsigned long long)s->n, (unsigned long long)s->k, what,
           (unsigned long long)model, (unsigned long long)rtl);
}

/* Cycles by which the results of a request leave after it has been computed. ws and is
 * results leave as they come. With a serial drain, of the last request only. */
static uint64_t model_drain(const struct flow *x, const struct rig *r, const struct ask *a) {
  if (!x->os) return 0;
  if (!x->serial) return cycle(a->done - a->accepted);
  for (size_t i = r->f.n_spans; i-- > 0;)
    if (r->f.span[i].unit == r->tile.unit && r->f.span[i].state == TSR_SPAN_DRAIN)
      return r->f.span[i].cycles;
  return 0;
}

static void compare_requests(const struct flow *x, const struct rig *r,
                             const struct rtl_work *w, size_t n, const struct ask *asks,
                             const struct rtl_mm *mm) {
  for (size_t i = 0; i < n; i++) {
    const struct rtl_shape *s = &w[i].s;
    same("end", x, s, cycle(asks[i].done), mm[i].end);
    if (i + 1 < n && (x->serial || !s->last)) continue;
    same("drain", x, s, model_drain(x, r, &asks[i]), mm[i].end - mm[i].computed);
  }
}

/* The model's busy spans are the streams of the array, fold by fold; one that stood still
 * in between is in two pieces. */
static void compare_folds(const struct flow *x, const struct rtl_shape *s, const struct rig *r,
                          const struct rtl_fold *folds, size_t n) {
  size_t at = 0;
  uint64_t beats = 0;
  for (size_t i = 0; i < r->f.n_spans; i++) {
    const struct fake_span *p = &r->f.span[i];
    if (p->unit != r->tile.unit || p->state != TSR_SPAN_BUSY) continue;
    if (at == n) fail_msg("%s: the model runs more folds than the array", x->name);
    if (!beats) same("start of a fold", x, s, p->start, folds[at].start);
    beats += p->cycles;
    if (beats < folds[at].beats) continue;
    same("end of its stream", x, s, p->start + p->cycles, folds[at].end);
    same("operands of a fold", x, s, beats, folds[at].beats);
    beats = 0;
    at++;
  }
  same("folds", x, s, at, n);
}

struct total { /* over the shapes, for the report */
  uint64_t requests, folds, rtl, rtl_drain, model, model_drain;
};

static void run(const struct flow *x, const struct rtl_unit *u, const struct rtl_shape *shapes,
                size_t n, struct tsr_rng *rng, struct total *t) {
  struct rtl_work w[RTL_REQS];
  struct ask asks[RTL_REQS];
  struct rtl_mm mm[RTL_REQS];
  assert_true(n <= RTL_REQS);
  for (size_t i = 0; i < n; i++) rtl_work_open(&w[i], shapes[i], u->fp, rng);
  struct rtl_fold *folds = tsr_mem_array(FOLDS, sizeof *folds);
  assert_non_null(folds);
  struct rig r;
  size_t n_folds = run_rtl(x, u->fp, w, n, mm, folds);
  assert_true(n_folds <= FOLDS);
  run_model(&r, x, u->fp, w, n, asks);
  compare_requests(x, &r, w, n, asks, mm);
  compare_folds(x, shapes, &r, folds, n_folds);
  rtl_work_compare(x->name, x->swap, u, w, n);
  t->requests += n;
  t->folds += n_folds;
  t->rtl += mm[n - 1].computed;
  t->rtl_drain += mm[n - 1].end - mm[n - 1].computed;
  uint64_t drain = model_drain(x, &r, &asks[n - 1]);
  t->model += cycle(asks[n - 1].done) - drain;
  t->model_drain += drain;
  rig_close(&r);
  tsr_mem_free(folds);
  for (size_t i = 0; i < n; i++) rtl_work_close(&w[i]);
}

static void report(const struct flow *x, const struct rtl_unit *u, const struct total *t) {
  print_message("%llux%llu %s, %s: %llu requests, %llu folds; array %llu cycles and %llu of "
                "last drain, model %llu and %llu\n",
                (unsigned long long)rtl_rows, (unsigned long long)rtl_cols, x->name, u->name,
                (unsigned long long)t->requests, (unsigned long long)t->folds,
                (unsigned long long)t->rtl, (unsigned long long)t->rtl_drain,
                (unsigned long long)t->model, (unsigned long long)t->model_drain);
}

static void every_shape_takes_the_cycles_of_the_array(void **state) {
  (void)state;
  for (size_t x = 0; x < LEN(flows); x++)
    for (size_t u = 0; u < RTL_UNITS; u++) {
      struct tsr_rng rng = {100 * x + u};
      struct total t = {0};
      for (size_t i = 0; i < RTL_SHAPES; i++)
        run(&flows[x], &rtl_units[u], &rtl_shapes[i], 1, &rng, &t);
      report(&flows[x], &rtl_units[u], &t);
    }
}

static void requests_in_a_chain_take_the_cycles_of_the_array(void **state) {
  (void)state;
  for (size_t x = 0; x < LEN(flows); x++)
    for (size_t u = 0; u < RTL_UNITS; u++) {
      struct tsr_rng rng = {7000 + 100 * x + u};
      struct total t = {0};
      for (size_t i = 0; i < RTL_CHAINS; i++)
        run(&flows[x], &rtl_units[u], rtl_chains[i], RTL_REQS, &rng, &t);
      report(&flows[x], &rtl_units[u], &t);
    }
}

/* A sum cut along k: os keeps it in the elements, ws and is in the accumulators. */
static void a_sum_in_parts_takes_the_cycles_of_the_array(void **state) {
  (void)state;
  static const uint64_t cuts[][RTL_REQS] = {
      {1, 1, 1, 1}, {5, 5, 5, 5}, {16, 8, 4, 2}, {3, 30, 1, 17}, {33, 1, 32, 64}};
  for (size_t x = 0; x < LEN(flows); x++)
    for (size_t u = 0; u < RTL_UNITS; u++) {
      struct tsr_rng rng = {9000 + 100 * x + u};
      struct total t = {0};
      for (size_t i = 0; i < LEN(cuts); i++) {
        struct rtl_shape s[RTL_REQS];
        uint64_t least = tsr_min_u64(rtl_rows, rtl_cols), m = least - i % least;
        for (size_t q = 0; q < RTL_REQS; q++)
          s[q] = (struct rtl_shape){m, 1 + i % least, cuts[i][q], q == 0, q == RTL_REQS - 1, 0};
        run(&flows[x], &rtl_units[u], s, RTL_REQS, &rng, &t);
      }
      report(&flows[x], &rtl_units[u], &t);
    }
}

/* os: the array stands still from the first result on until somebody takes it. */
static void a_result_not_taken_stops_the_array_and_the_model(void **state) {
  (void)state;
  for (size_t x = 0; x < LEN(flows); x++) {
    struct tsr_rng rng = {77};
    struct total t = {0};
    for (int i = 0; i < 200; i++) {
      struct rtl_shape s[RTL_REQS];
      uint64_t open = 0;
      for (size_t q = 0; q < RTL_REQS; q++) {
        uint64_t m = tsr_rng_range(&rng, 1, 30), n = tsr_rng_range(&rng, 1, 30);
        open += tsr_rng_range(&rng, 1, 200);
        s[q] = (struct rtl_shape){m,    n,    tsr_rng_range(&rng, 1, 30),
                                  true, true, tsr_rng_range(&rng, 0, 3) ? open : 0};
      }
      run(&flows[x], &rtl_units[0], s, i % 2 && flows[x].rtl != RTL_WS_PRELOAD ? RTL_REQS : 1,
          &rng, &t);
    }
    report(&flows[x], &rtl_units[0], &t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_shape_takes_the_cycles_of_the_array),
      cmocka_unit_test(requests_in_a_chain_take_the_cycles_of_the_array),
      cmocka_unit_test(a_result_not_taken_stops_the_array_and_the_model),
      cmocka_unit_test(a_sum_in_parts_takes_the_cycles_of_the_array),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
