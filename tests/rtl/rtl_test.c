/* tile.systolic and the matrix units against an array in SystemVerilog: the cycles of
 * every request and fold equal, the results bit for bit.  The model runs through its
 * component interface, its scratchpads without a limit; the array is driven by its
 * handshakes (rtl.h), and nothing here computes a cycle. */
#include "tests/unit/models/fake.h"

#include <stdio.h>
#include <string.h>

#include "models/arith/mma.h"
#include "sim/base/mem.h"
#include "tests/rtl/rtl.h"

enum { REQS = 4, FOLDS = 20000 };

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

struct unit {
  const char *name;
  bool fp;
};
static const struct unit units[] = {{"int_s8_s8_s32_wrap", false},
                                    {"acc_seqfma_fp16_fp32", true}};

/* A product c[m,n] = a[m,k] * b[k,n]. */
struct shape {
  uint64_t m, n, k;
  bool first, last;
  uint64_t open; /* its results are taken from this cycle on; 0: always */
};

struct work {
  struct shape s;
  uint16_t *a, *b, *at, *bt; /* row-major, and transposed */
  uint32_t *c;
};

/* ---- operands ---- */

static uint16_t int8_code(struct tsr_rng *r) {
  return (uint16_t)tsr_rng_range(r, 0, 255);
}

/* Of near and far exponents, both signs, subnormals and zeros; one of 400 is infinite
 * or no number. */
static uint16_t fp16_code(struct tsr_rng *r) {
  uint64_t sign = tsr_rng_range(r, 0, 1) << 15, fraction = tsr_rng_range(r, 0, 1023), exp;
  switch (tsr_rng_range(r, 0, 7)) {
  case 0: exp = tsr_rng_range(r, 0, 30); break;
  case 1: exp = 0; break;
  case 2: return (uint16_t)sign;
  default: exp = tsr_rng_range(r, 12, 18);
  }
  if (tsr_rng_range(r, 0, 399) == 0) exp = 31;
  if (exp == 31 && tsr_rng_range(r, 0, 3)) fraction = 0;
  return (uint16_t)(sign | exp << 10 | fraction);
}

static uint16_t *operand(struct tsr_rng *r, bool fp, uint64_t n) {
  uint16_t *p = tsr_mem_array(n, sizeof *p);
  assert_non_null(p);
  for (uint64_t i = 0; i < n; i++) p[i] = fp ? fp16_code(r) : int8_code(r);
  return p;
}

static uint16_t *transposed(const uint16_t *p, uint64_t rows, uint64_t cols) {
  uint16_t *t = tsr_mem_array(rows * cols, sizeof *t);
  assert_non_null(t);
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t j = 0; j < cols; j++) t[j * rows + i] = p[i * cols + j];
  return t;
}

static void work_open(struct work *w, struct shape s, bool fp, struct tsr_rng *r) {
  w->s = s;
  w->a = operand(r, fp, s.m * s.k);
  w->b = operand(r, fp, s.k * s.n);
  w->at = transposed(w->a, s.m, s.k);
  w->bt = transposed(w->b, s.k, s.n);
  w->c = tsr_mem_array(s.m * s.n, sizeof *w->c);
  assert_non_null(w->c);
  memset(w->c, 0xa5, s.m * s.n * sizeof *w->c);
}
static void work_close(struct work *w) {
  tsr_mem_free(w->a);
  tsr_mem_free(w->b);
  tsr_mem_free(w->at);
  tsr_mem_free(w->bt);
  tsr_mem_free(w->c);
}

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

static void run_model(struct rig *r, const struct flow *x, bool fp, const struct work *w,
                      size_t n, struct ask *asks) {
  rig_open(r, x);
  for (size_t i = 0; i < n; i++) {
    const struct shape *s = &w[i].s;
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

static size_t run_rtl(const struct flow *x, bool fp, struct work *w, size_t n,
                      struct rtl_mm *mm, struct rtl_fold *folds) {
  for (size_t i = 0; i < n; i++) {
    const struct shape *s = &w[i].s;
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

static void same(const char *what, const struct flow *x, const struct shape *s, uint64_t model,
                 uint64_t rtl) {
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

static void compare_requests(const struct flow *x, const struct rig *r, const struct work *w,
                             size_t n, const struct ask *asks, const struct rtl_mm *mm) {
  for (size_t i = 0; i < n; i++) {
    const struct shape *s = &w[i].s;
    same("end", x, s, cycle(asks[i].done), mm[i].end);
    if (i + 1 < n && (x->serial || !s->last)) continue;
    same("drain", x, s, model_drain(x, r, &asks[i]), mm[i].end - mm[i].computed);
  }
}

/* The model's busy spans are the streams of the array, fold by fold; one that stood still
 * in between is in two pieces. */
static void compare_folds(const struct flow *x, const struct shape *s, const struct rig *r,
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

/* A request continues the sums of those before it back to the latest `first`. */
static void compare_values(const struct flow *x, const struct unit *u, const struct work *w,
                           size_t n) {
  const struct tsr_mma *mma = tsr_mma_find(u->name);
  assert_non_null(mma);
  uint64_t k_max = 0;
  for (size_t i = 0; i < n; i++) k_max += w[i].s.k;
  uint64_t *a = tsr_mem_array(k_max, sizeof *a), *b = tsr_mem_array(k_max, sizeof *b);
  assert_true(a && b);
  for (size_t last = 0, first = 0; last < n; last++) {
    if (w[last].s.first) first = last;
    if (!w[last].s.last) continue;
    const struct shape *s = &w[last].s;
    for (uint64_t i = 0; i < s->m; i++)
      for (uint64_t j = 0; j < s->n; j++) {
        size_t k = 0;
        for (size_t q = first; q <= last; q++)
          for (uint64_t l = 0; l < w[q].s.k; l++, k++) {
            a[k] = w[q].a[i * w[q].s.k + l];
            b[k] = w[q].b[l * w[q].s.n + j];
          }
        uint64_t want = tsr_mma_dot(mma, a, b, k, 0, NULL);
        uint32_t got = w[last].c[x->swap ? j * s->m + i : i * s->n + j];
        if (got != want)
          fail_msg("%s, %s, c[%llu,%llu] of %llux%llux%llu: the model says %08llx, the array "
                   "%08x",
                   x->name, u->name, (unsigned long long)i, (unsigned long long)j,
                   (unsigned long long)s->m, (unsigned long long)s->n, (unsigned long long)s->k,
                   (unsigned long long)want, (unsigned)got);
      }
  }
  tsr_mem_free(a);
  tsr_mem_free(b);
}

struct total { /* over the shapes, for the report */
  uint64_t requests, folds, rtl, rtl_drain, model, model_drain;
};

static void run(const struct flow *x, const struct unit *u, const struct shape *shapes,
                size_t n, struct tsr_rng *rng, struct total *t) {
  struct work w[REQS];
  struct ask asks[REQS];
  struct rtl_mm mm[REQS];
  assert_true(n <= REQS);
  for (size_t i = 0; i < n; i++) work_open(&w[i], shapes[i], u->fp, rng);
  struct rtl_fold *folds = tsr_mem_array(FOLDS, sizeof *folds);
  assert_non_null(folds);
  struct rig r;
  size_t n_folds = run_rtl(x, u->fp, w, n, mm, folds);
  assert_true(n_folds <= FOLDS);
  run_model(&r, x, u->fp, w, n, asks);
  compare_requests(x, &r, w, n, asks, mm);
  compare_folds(x, shapes, &r, folds, n_folds);
  compare_values(x, u, w, n);
  t->requests += n;
  t->folds += n_folds;
  t->rtl += mm[n - 1].computed;
  t->rtl_drain += mm[n - 1].end - mm[n - 1].computed;
  uint64_t drain = model_drain(x, &r, &asks[n - 1]);
  t->model += cycle(asks[n - 1].done) - drain;
  t->model_drain += drain;
  rig_close(&r);
  tsr_mem_free(folds);
  for (size_t i = 0; i < n; i++) work_close(&w[i]);
}

static void report(const struct flow *x, const struct unit *u, const struct total *t) {
  print_message("%llux%llu %s, %s: %llu requests, %llu folds; array %llu cycles and %llu of "
                "last drain, model %llu and %llu\n",
                (unsigned long long)rtl_rows, (unsigned long long)rtl_cols, x->name, u->name,
                (unsigned long long)t->requests, (unsigned long long)t->folds,
                (unsigned long long)t->rtl, (unsigned long long)t->rtl_drain,
                (unsigned long long)t->model, (unsigned long long)t->model_drain);
}

/* Around the sizes 1, 4, 6, 8, 16 and 32 on each side; long, flat, thin, square. */
static const struct shape shapes[] = {
    {1, 1, 1, true, true, 0},    {1, 1, 40, true, true, 0},   {1, 40, 1, true, true, 0},
    {40, 1, 1, true, true, 0},   {1, 7, 9, true, true, 0},    {9, 1, 7, true, true, 0},
    {7, 9, 1, true, true, 0},    {2, 3, 5, true, true, 0},    {3, 3, 3, true, true, 0},
    {4, 4, 4, true, true, 0},    {5, 5, 5, true, true, 0},    {4, 4, 3, true, true, 0},
    {3, 4, 4, true, true, 0},    {4, 3, 4, true, true, 0},    {8, 6, 8, true, true, 0},
    {8, 6, 7, true, true, 0},    {9, 6, 8, true, true, 0},    {8, 7, 8, true, true, 0},
    {8, 6, 9, true, true, 0},    {7, 5, 7, true, true, 0},    {16, 12, 16, true, true, 0},
    {17, 13, 17, true, true, 0}, {15, 11, 15, true, true, 0}, {16, 16, 16, true, true, 0},
    {16, 16, 17, true, true, 0}, {17, 16, 16, true, true, 0}, {16, 17, 16, true, true, 0},
    {15, 15, 15, true, true, 0}, {32, 32, 32, true, true, 0}, {33, 31, 32, true, true, 0},
    {31, 33, 34, true, true, 0}, {64, 4, 4, true, true, 0},   {4, 64, 4, true, true, 0},
    {4, 4, 64, true, true, 0},   {100, 8, 6, true, true, 0},  {6, 100, 8, true, true, 0},
    {8, 6, 100, true, true, 0},  {2, 50, 50, true, true, 0},  {50, 2, 50, true, true, 0},
    {50, 50, 2, true, true, 0},  {23, 29, 31, true, true, 0}, {31, 23, 29, true, true, 0},
    {48, 24, 20, true, true, 0}, {20, 48, 24, true, true, 0}, {24, 20, 48, true, true, 0},
    {3, 17, 70, true, true, 0},  {70, 3, 17, true, true, 0},  {17, 70, 3, true, true, 0},
};

static void every_shape_takes_the_cycles_of_the_array(void **state) {
  (void)state;
  for (size_t x = 0; x < LEN(flows); x++)
    for (size_t u = 0; u < LEN(units); u++) {
      struct tsr_rng rng = {100 * x + u};
      struct total t = {0};
      for (size_t i = 0; i < LEN(shapes); i++)
        run(&flows[x], &units[u], &shapes[i], 1, &rng, &t);
      report(&flows[x], &units[u], &t);
    }
}

/* Requests that follow each other: preloading goes on over the edge, drains overlap. */
static const struct shape chains[][REQS] = {
    {{4, 4, 4, true, true, 0},
     {4, 4, 4, true, true, 0},
     {4, 4, 4, true, true, 0},
     {4, 4, 4, true, true, 0}},
    {{1, 1, 1, true, true, 0},
     {1, 1, 1, true, true, 0},
     {1, 1, 1, true, true, 0},
     {1, 1, 1, true, true, 0}},
    {{30, 5, 9, true, true, 0},
     {1, 5, 9, true, true, 0},
     {30, 5, 9, true, true, 0},
     {2, 2, 2, true, true, 0}},
    {{1, 9, 40, true, true, 0},
     {40, 9, 1, true, true, 0},
     {9, 40, 1, true, true, 0},
     {9, 1, 40, true, true, 0}},
    {{17, 17, 17, true, true, 0},
     {3, 3, 3, true, true, 0},
     {16, 16, 16, true, true, 0},
     {8, 6, 8, true, true, 0}},
};

static void requests_in_a_chain_take_the_cycles_of_the_array(void **state) {
  (void)state;
  for (size_t x = 0; x < LEN(flows); x++)
    for (size_t u = 0; u < LEN(units); u++) {
      struct tsr_rng rng = {7000 + 100 * x + u};
      struct total t = {0};
      for (size_t i = 0; i < LEN(chains); i++)
        run(&flows[x], &units[u], chains[i], REQS, &rng, &t);
      report(&flows[x], &units[u], &t);
    }
}

/* A sum cut along k: os keeps it in the elements, ws and is in the accumulators. */
static void a_sum_in_parts_takes_the_cycles_of_the_array(void **state) {
  (void)state;
  static const uint64_t cuts[][REQS] = {
      {1, 1, 1, 1}, {5, 5, 5, 5}, {16, 8, 4, 2}, {3, 30, 1, 17}, {33, 1, 32, 64}};
  for (size_t x = 0; x < LEN(flows); x++)
    for (size_t u = 0; u < LEN(units); u++) {
      struct tsr_rng rng = {9000 + 100 * x + u};
      struct total t = {0};
      for (size_t i = 0; i < LEN(cuts); i++) {
        struct shape s[REQS];
        uint64_t least = tsr_min_u64(rtl_rows, rtl_cols), m = least - i % least;
        for (size_t q = 0; q < REQS; q++)
          s[q] = (struct shape){m, 1 + i % least, cuts[i][q], q == 0, q == REQS - 1, 0};
        run(&flows[x], &units[u], s, REQS, &rng, &t);
      }
      report(&flows[x], &units[u], &t);
    }
}

/* os: the array stands still from the first result on until somebody takes it. */
static void a_result_not_taken_stops_the_array_and_the_model(void **state) {
  (void)state;
  for (size_t x = 0; x < LEN(flows); x++) {
    struct tsr_rng rng = {77};
    struct total t = {0};
    for (int i = 0; i < 200; i++) {
      struct shape s[REQS];
      uint64_t open = 0;
      for (size_t q = 0; q < REQS; q++) {
        uint64_t m = tsr_rng_range(&rng, 1, 30), n = tsr_rng_range(&rng, 1, 30);
        open += tsr_rng_range(&rng, 1, 200);
        s[q] = (struct shape){m,    n,    tsr_rng_range(&rng, 1, 30),
                              true, true, tsr_rng_range(&rng, 0, 3) ? open : 0};
      }
      run(&flows[x], &units[0], s, i % 2 && flows[x].rtl != RTL_WS_PRELOAD ? REQS : 1, &rng,
          &t);
    }
    report(&flows[x], &units[0], &t);
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
