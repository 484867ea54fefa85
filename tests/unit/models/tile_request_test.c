/* tile.systolic: preload requests, 2:4, the rule of ONNXim, operands by their views. */
#include <stdio.h>
#include <string.h>

#include "sim/base/mem.h"
#include "tile_rig.h"

/* A request at 0 and another one at cycle `at`, which the unit then accepts. */
static void run_two(struct rig *r, struct ask *a, struct ask *b, uint64_t at) {
  fake_chain(&r->f, &r->tile, a, 1, 0);
  fake_chain(&r->f, &r->tile, b, 1, at * NS);
  fake_run(&r->f);
  fake_check(a, 1);
  fake_check(b, 1);
  r->tile.ops->unit->end(r->tile.state);
}

/* ---- the rule of ONNXim ---- */

/* Figures worked out by hand: 2 R - 1 + passes of max(T, 4, R) + R + C - 2. */
static void onnxim_counts_as_it_is_said_to(void **state) {
  (void)state;
  static const struct {
    struct array x;
    uint64_t m, n, k, end;
  } rows[] = {
      {{WS, 128, 128, true, false, true}, 128, 128, 128, 255 + 128 + 254},
      {{WS, 128, 128, true, false, true}, 128, 256, 256, 255 + 4 * 128 + 254},
      {{WS, 128, 128, true, false, true}, 300, 128, 256, 255 + 2 * 300 + 254},
      {{WS, 128, 128, true, false, true}, 1, 128, 256, 255 + 128 + 4 + 254},
      {{WS, 2, 2, true, false, true}, 1, 2, 4, 3 + 2 * 4 + 2}, /* 4 cycles at least */
      {{WS, 2, 2, true, false, true}, 4, 2, 4, 3 + 2 * 4 + 2},
      {{WS, 2, 2, true, false, true}, 5, 2, 4, 3 + 2 * 5 + 2},
      {{IS, 8, 4, true, false, true}, 4, 20, 16, 15 + 2 * 20 + 10},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct rig r;
    rig_open(&r, &rows[i].x, FREE, FREE, FREE);
    struct ask a = mm(rows[i].m, rows[i].n, rows[i].k);
    rig_run(&r, &a, 1);
    assert_int_equal(cycles(a.done), rows[i].end);
    rig_close(&r);
  }
}

/* A load is hidden as long as the array has not drained; from then on it is paid. */
static void onnxim_hides_a_load_until_the_array_has_drained(void **state) {
  (void)state;
  struct array x = {WS, 8, 8, true, false, true};
  /* the first: load 15, stream 20, drained at 49 */
  static const struct {
    uint64_t asked, done;
  } rows[] = {{15, 35 + 34}, {34, 35 + 34},      {35, 35 + 34},     {36, 36 + 34},
              {48, 48 + 34}, {49, 49 + 15 + 34}, {60, 60 + 15 + 34}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct ask a[2] = {mm(20, 8, 8), mm(20, 8, 8)};
    struct rig r;
    rig_open(&r, &x, FREE, FREE, FREE);
    run_two(&r, &a[0], &a[1], rows[i].asked);
    assert_int_equal(cycles(a[0].done), 49);
    assert_int_equal(cycles(a[1].done), rows[i].done);
    rig_close(&r);
  }
}

static void onnxim_is_refused_where_it_says_nothing(void **state) {
  (void)state;
  static const struct {
    const char *text, *message; /* NULL: taken */
  } rows[] = {
      {"{rows: 4, cols: 4, dataflow: os, rule: onnxim}", "got os with it"},
      {"{rows: 4, cols: 4, dataflow: ws, weight_preload: false, rule: onnxim}",
       "got ws without it"},
      {"{rows: 4, cols: 4, dataflow: ws, rule: onnxim}", NULL},
      {"{rows: 4, cols: 4, dataflow: is, rule: onnxim}", NULL},
      {"{rows: 4, cols: 4, dataflow: os}", NULL},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance t;
    struct tsr_err err = TSR_ERR_INIT;
    fake_open(&f, 1000000000);
    fake_prepare(&t, "tile.systolic", rows[i].text);
    struct tsr_wiring w = {.env = &f.env, .self = &t};
    enum tsr_status s = t.ops->init(t.state, t.params, &w, &err);
    assert_int_equal(s, rows[i].message ? TSR_INPUT : TSR_OK);
    if (rows[i].message) assert_non_null(strstr(err.msg[0], rows[i].message));
    tsr_err_fini(&err);
    fake_drop(&t);
    fake_close(&f);
  }
}

/* ---- preload requests ---- */

static struct ask preload_of(const struct ask *run) {
  struct ask a = *run;
  a.req.mm.kind = TSR_MM_PRELOAD;
  return a;
}

/* A preload request at 0, the product `asked` cycles later: what is left of the load. */
static void a_preload_takes_the_load_off_the_next_request(void **state) {
  (void)state;
  static const struct {
    struct array x;
    uint64_t accepted, loaded; /* of the preload request */
    uint64_t asked, done; /* of a product of 20 rows, 8 k and 8 n: 20 + 14 after the load */
  } rows[] = {
      {{WS, 8, 8, true, false, false}, 0, 8, 0, 8 + 34},
      {{WS, 8, 8, true, false, false}, 0, 8, 7, 8 + 34},
      {{WS, 8, 8, true, false, false}, 0, 8, 8, 8 + 34},
      {{WS, 8, 8, true, false, false}, 0, 8, 9, 9 + 34},
      {{WS, 8, 8, true, false, false}, 0, 8, 100, 100 + 34},
      {{WS, 8, 8, false, false, false}, 8, 8, 8, 8 + 34},
      {{WS, 8, 8, false, false, false}, 8, 8, 9, 9 + 34},
      {{WS, 8, 8, false, false, false}, 8, 8, 100, 100 + 34},
      {{IS, 8, 20, true, false, false}, 0, 8, 50, 50 + 8 + 26},
      {{IS, 8, 20, false, false, false}, 8, 8, 50, 50 + 8 + 26},
      {{WS, 8, 8, true, false, true}, 0, 15, 14, 15 + 34},
      {{WS, 8, 8, true, false, true}, 0, 15, 16, 16 + 34},
      {{OS, 20, 8, true, false, false}, 0, 0, 3, 3 + 8 + 26 + 20}, /* nothing to load */
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct ask run = mm(20, 8, 8), pre = preload_of(&run);
    struct rig r;
    rig_open(&r, &rows[i].x, FREE, FREE, FREE);
    run_two(&r, &pre, &run, rows[i].asked);
    assert_int_equal(cycles(pre.accepted), rows[i].accepted);
    assert_int_equal(cycles(pre.consumed), rows[i].loaded);
    assert_int_equal(cycles(pre.done), rows[i].loaded);
    assert_int_equal(cycles(run.done), rows[i].done);
    assert_int_equal(fake_counter(&r.tile, "folds"), 1);
    assert_int_equal(fake_spent(&r.f, &r.tile, TSR_SPAN_FILL), rows[i].loaded);
    struct tsr_estimate est;
    r.tile.ops->unit->estimate(r.tile.params, &pre.req, &est);
    assert_int_equal(est.cycles, rows[i].loaded);
    assert_int_equal(est.folds, 0);
    rig_close(&r);
  }
}

/* Behind a stream: the product before loads from 0, streams over [8, 28), drains to 42. */
static void a_preload_goes_behind_the_stream_before(void **state) {
  (void)state;
  static const struct {
    bool preload;
    uint64_t pre_at, asked, start; /* of the second product's stream */
  } rows[] = {
      {true, 8, 8, 28},    {true, 8, 40, 40},   {true, 20, 20, 28}, {true, 21, 21, 29},
      {true, 21, 29, 29},  {true, 21, 30, 30},  {true, 40, 47, 48}, {true, 40, 49, 49},
      {false, 42, 50, 50}, {false, 42, 51, 51},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct array x = {WS, 8, 8, rows[i].preload, false, false};
    struct ask first = mm(20, 8, 8), run = mm(20, 8, 8), pre = preload_of(&run);
    struct rig r;
    rig_open(&r, &x, FREE, FREE, FREE);
    fake_chain(&r.f, &r.tile, &pre, 1, rows[i].pre_at * NS);
    fake_chain(&r.f, &r.tile, &run, 1, rows[i].asked * NS);
    rig_run(&r, &first, 1);
    fake_check(&pre, 1);
    fake_check(&run, 1);
    assert_int_equal(cycles(first.done), 42);
    assert_int_equal(cycles(run.done), rows[i].start + 20 + 14);
    assert_true(pre.done >= first.done); /* requests end in order */
    rig_close(&r);
  }
}

/* Two in a row load twice, and what a layer leaves loaded the next one loads again. */
static void a_preload_lasts_until_the_next_request_or_the_end(void **state) {
  (void)state;
  for (int preload = 0; preload < 2; preload++) {
    struct array x = {WS, 8, 8, preload, false, false};
    struct ask run = mm(20, 8, 8), late = mm(20, 8, 8);
    struct ask pre[2] = {preload_of(&run), preload_of(&run)};
    struct rig r;
    rig_open(&r, &x, FREE, FREE, FREE);
    fake_chain(&r.f, &r.tile, pre, 2, 0);
    fake_chain(&r.f, &r.tile, &run, 1, 16 * NS);
    fake_run(&r.f);
    assert_int_equal(cycles(pre[1].done), 16);
    assert_int_equal(cycles(run.done), 16 + 34);
    assert_int_equal(fake_counter(&r.b, "read_bytes"), 2 * 8 * 8 * 2);
    pre[0] = preload_of(&run);
    fake_chain(&r.f, &r.tile, pre, 1, 100 * NS);
    fake_run(&r.f);
    r.tile.ops->unit->end(r.tile.state);
    fake_chain(&r.f, &r.tile, &late, 1, 200 * NS);
    fake_run(&r.f);
    assert_int_equal(cycles(late.done), 200 + 8 + 34);
    rig_close(&r);
  }
}

/* Only the first fold's operand is there; the others load as ever. */
static void a_preload_is_of_one_fold(void **state) {
  (void)state;
  static const struct {
    bool preload;
    uint64_t end;
  } rows[] = {{true, 100 + 2 * 20 + 14}, {false, 100 + 2 * (20 + 14) + 8}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct array x = {WS, 8, 8, rows[i].preload, false, false};
    struct ask run = mm(20, 8, 16), pre = preload_of(&run);
    struct rig r;
    rig_open(&r, &x, FREE, FREE, FREE);
    run_two(&r, &pre, &run, 100);
    assert_int_equal(cycles(run.done), rows[i].end);
    assert_int_equal(fake_counter(&r.b, "read_bytes"), 16 * 8 * 2);
    assert_int_equal(fake_counter(&r.tile, "folds"), 2);
    rig_close(&r);
  }
}

/* A narrow port lengthens the load, wherever it is asked for: 128 B through 15 a cycle. */
static void a_narrow_port_lengthens_a_preload(void **state) {
  (void)state;
  for (int preload = 0; preload < 2; preload++)
    for (unsigned width = 15; width <= 16; width++) {
      char narrow[64];
      snprintf(narrow, sizeof narrow, "{size: 1MiB, width: %uB}", width);
      struct array x = {WS, 8, 8, preload, false, false};
      struct ask run = mm(20, 8, 8), pre = preload_of(&run);
      struct rig r;
      rig_open(&r, &x, FREE, narrow, FREE);
      run_two(&r, &pre, &run, 50);
      assert_int_equal(cycles(pre.done), width == 15 ? 9 : 8);
      assert_int_equal(cycles(run.done), 50 + 34);
      assert_int_equal(fake_counter(&r.tile, "conflict_cycles"), width == 15);
      assert_int_equal(fake_spent(&r.f, &r.tile, TSR_SPAN_CONFLICT), width == 15);
      assert_int_equal(fake_spent(&r.f, &r.tile, TSR_SPAN_FILL), 8);
      rig_close(&r);
    }
}

static void open_gate(void *arg) {
  struct tsr_instance *tile = arg;
  tile->ops->unit->open(tile->state);
}

/* A preload right before each product changes nothing, whatever ports and gates do. */
static void a_preload_right_before_changes_nothing(void **state) {
  (void)state;
  struct tsr_rng rng = {23};
  for (int i = 0; i < 600; i++) {
    enum { N = 4 };
    struct array x = random_array(&rng);
    x.onnxim = x.flow != OS && x.preload && tsr_rng_range(&rng, 0, 1);
    char s[3][96];
    for (int j = 0; j < 3; j++)
      snprintf(s[j], sizeof s[j], "{size: 1MiB, width: %uB}",
               (unsigned)tsr_rng_range(&rng, 1, 64));
    struct ask plain[N], with[2 * N];
    uint64_t opens[N];
    for (int j = 0; j < N; j++) {
      plain[j] = mm(tsr_rng_range(&rng, 0, 30), tsr_rng_range(&rng, 1, 30),
                    tsr_rng_range(&rng, 1, 60));
      plain[j].req.mm.gated = tsr_rng_range(&rng, 0, 1);
      plain[j].req.mm.sparse = tsr_rng_range(&rng, 0, 1);
      with[2 * j] = preload_of(&plain[j]);
      with[2 * j + 1] = plain[j];
      opens[j] = (j ? opens[j - 1] : 0) + tsr_rng_range(&rng, 0, 300);
    }
    struct rig r[2];
    for (int k = 0; k < 2; k++) {
      rig_open(&r[k], &x, s[0], s[1], s[2]);
      for (int j = 0; j < N; j++)
        if (plain[j].req.mm.gated) fake_at(&r[k].f, opens[j] * NS, open_gate, &r[k].tile);
      rig_run(&r[k], k ? with : plain, k ? 2 * N : N);
    }
    for (int j = 0; j < N; j++) {
      assert_int_equal(plain[j].done, with[2 * j + 1].done);
      assert_int_equal(plain[j].consumed, with[2 * j + 1].consumed);
    }
    for (int t = 0; t < TSR_SPAN_N_; t++)
      assert_int_equal(fake_spent(&r[0].f, &r[0].tile, t), fake_spent(&r[1].f, &r[1].tile, t));
    for (int j = 0; r[0].tile.ops->counters[j].name; j++)
      assert_int_equal(r[0].tile.counters[j], r[1].tile.counters[j]);
    assert_int_equal(fake_counter(&r[0].b, "read_bytes"), fake_counter(&r[1].b, "read_bytes"));
    rig_close(&r[0]);
    rig_close(&r[1]);
  }
}

/* Fill that a stream could not hide stands before the next stream, stall or none: a
 * stream of 3 over [8, 11), a load over [8, 16), the gate at 15. */
static void fill_stands_before_the_stream(void **state) {
  (void)state;
  static const struct {
    uint64_t opened, start; /* of the second stream */
  } rows[] = {{0, 16}, {15, 16}, {16, 17}, {40, 41}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct array x = {WS, 8, 8, true, false, false};
    struct ask a[2] = {mm(3, 8, 8), mm(3, 8, 8)};
    a[0].req.mm.gated = true;
    struct rig r;
    rig_open(&r, &x, FREE, FREE, FREE);
    fake_at(&r.f, rows[i].opened * NS, open_gate, &r.tile);
    rig_run(&r, a, 2);
    uint64_t end = 0, cycles_of = 0;
    for (size_t j = 0; j < r.f.n_spans; j++) {
      if (r.f.span[j].unit != r.tile.unit || r.f.span[j].state != TSR_SPAN_FILL) continue;
      cycles_of = r.f.span[j].cycles;
      end = r.f.span[j].start + cycles_of;
    }
    assert_int_equal(cycles_of, 8 - 3);
    assert_int_equal(end, rows[i].start);
    assert_int_equal(cycles(a[1].done), rows[i].start + 3 + 14);
    rig_close(&r);
  }
}

/* ---- 2:4 ---- */

static void sparse_products_take_half_and_move_what_is_kept(void **state) {
  (void)state;
  static const struct {
    int flow;
    bool sparse;
    uint32_t rate;
    uint64_t m, n, k;
    uint64_t folds, active, a, b; /* cycles of streams, bytes read */
  } rows[] = {
      {WS, false, 1, 16, 8, 32, 4, 64, 16 * 32 * 2, 32 * 8 * 2},
      {WS, true, 1, 16, 8, 32, 2, 32, 16 * 32 * 2, 16 * 8 * 2 + 32 * 8 / 8},
      {WS, true, 2, 16, 8, 32, 1, 16, 16 * 32 * 2, 16 * 8 * 2 + 32 * 8 / 8},
      {WS, true, 1, 16, 16, 32, 4, 64, 2 * 16 * 32 * 2, 16 * 16 * 2 + 32 * 16 / 8},
      {IS, true, 1, 8, 16, 32, 2, 32, 8 * 32 * 2, 16 * 16 * 2 + 32 * 16 / 8},
      {OS, false, 1, 8, 8, 32, 1, 32, 8 * 32 * 2, 32 * 8 * 2},
      {OS, true, 1, 8, 8, 32, 1, 16, 8 * 32 * 2, 16 * 8 * 2 + 32 * 8 / 8},
      {OS, true, 2, 8, 8, 32, 1, 8, 8 * 32 * 2, 16 * 8 * 2 + 32 * 8 / 8},
      {OS, true, 2, 8, 8, 36, 1, 9, 8 * 36 * 2, 18 * 8 * 2 + 36 * 8 / 8},
      /* the last group has less than four: its first two are kept, its nibble stays */
      {OS, true, 1, 8, 8, 33, 1, 17, 8 * 33 * 2, 17 * 8 * 2 + 9 * 8 / 2},
      {OS, true, 1, 8, 8, 35, 1, 18, 8 * 35 * 2, 18 * 8 * 2 + 9 * 8 / 2},
      {WS, true, 1, 16, 8, 34, 3, 48, 16 * 34 * 2, 18 * 8 * 2 + 9 * 8 / 2},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct array x = {rows[i].flow, 8, 8, true, false, false};
    struct ask a = mm(rows[i].m, rows[i].n, rows[i].k);
    a.req.mm.sparse = rows[i].sparse;
    a.req.mm.rate = rows[i].rate;
    struct rig r;
    rig_open(&r, &x, FREE, FREE, FREE);
    rig_run(&r, &a, 1);
    assert_int_equal(fake_counter(&r.tile, "folds"), rows[i].folds);
    assert_int_equal(fake_counter(&r.tile, "active_cycles"), rows[i].active);
    assert_int_equal(fake_counter(&r.tile, "macs"), macs_of(&a.req.mm));
    assert_int_equal(fake_counter(&r.a, "read_bytes"), rows[i].a);
    assert_int_equal(fake_counter(&r.b, "read_bytes"), rows[i].b);
    rig_close(&r);
  }
}

/* ---- views ---- */

/* Operands in one scratchpad share its port: 8 rows of 2 B in, 8 columns of 4 B out. */
static void operands_in_one_scratchpad_share_its_port(void **state) {
  (void)state;
  static const struct {
    int flow;
    const char *sram;
    bool shared, first;
    uint64_t extra, a, b, read, write; /* bytes: of a, of b, of partial sums */
  } rows[] = {
      {WS, "{size: 1MiB, width: 48B, ports: 1rw}", true, true, 0, 512, 128, 0, 1024},
      {WS, "{size: 1MiB, width: 47B, ports: 1rw}", true, true, 1, 512, 128, 0, 1024},
      {WS, "{size: 1MiB, width: 47B, ports: 1rw}", false, true, 0, 512, 128, 0, 1024},
      {WS, "{size: 1MiB, width: 32B, ports: 1r1w}", true, true, 0, 512, 128, 0, 1024},
      {WS, "{size: 1MiB, width: 31B, ports: 1r1w}", true, true, 2, 512, 128, 0, 1024},
      {WS, "{size: 1MiB, width: 48B, ports: 1r1w}", true, false, 0, 512, 128, 1024, 1024},
      {WS, "{size: 1MiB, width: 47B, ports: 1r1w}", true, false, 1, 512, 128, 1024, 1024},
      /* os, 32 x 8: in 8 cycles 32 rows and 8 columns of 2 B */
      {OS, "{size: 1MiB, width: 80B, ports: 1r1w}", true, true, 0, 512, 128, 0, 1024},
      {OS, "{size: 1MiB, width: 79B, ports: 1r1w}", true, true, 1, 512, 128, 0, 1024},
      {OS, "{size: 1MiB, width: 79B, ports: 1r1w}", false, true, 0, 512, 128, 0, 1024},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct array x = {rows[i].flow, rows[i].flow == OS ? 32 : 8, 8, true, false, false};
    struct ask a = mm(32, 8, 8);
    a.req.mm.first = rows[i].first;
    struct rig r;
    rig_open(&r, &x, rows[i].sram, rows[i].sram, rows[i].sram);
    if (rows[i].shared) a.req.mm.a.buffer = a.req.mm.b.buffer = a.req.mm.c.buffer = &r.b;
    rig_run(&r, &a, 1);
    assert_int_equal(fake_counter(&r.tile, "conflict_cycles"), rows[i].extra);
    assert_int_equal(cycles(a.done), end_of(&x, &a.req.mm) + rows[i].extra);
    uint64_t all = rows[i].a + rows[i].b + rows[i].read;
    assert_int_equal(fake_counter(&r.b, "read_bytes"), rows[i].shared ? all : rows[i].b);
    assert_int_equal(fake_counter(&r.b, "write_bytes"), rows[i].shared ? rows[i].write : 0);
    assert_int_equal(fake_counter(&r.a, "read_bytes"), rows[i].shared ? 0 : rows[i].a);
    assert_int_equal(fake_counter(&r.c, "write_bytes"), rows[i].shared ? 0 : rows[i].write);
    rig_close(&r);
  }
}

/* A scratchpad that notes what it is asked for. */
struct notes {
  size_t n, occupied;
  struct {
    bool known;
    struct tsr_pattern t;
  } phase[16];
};

static uint64_t note(void *state, uint64_t start, uint64_t cycles, uint64_t read,
                     uint64_t write, const struct tsr_pattern *t) {
  (void)start;
  (void)read;
  (void)write;
  struct notes *s = state;
  assert_true(s->n < LEN(s->phase));
  s->phase[s->n].known = t != NULL;
  if (t) s->phase[s->n].t = *t;
  s->n++;
  return cycles;
}

static void note_occupied(void *state, uint64_t start, uint64_t cycles, uint64_t read,
                          uint64_t write) {
  struct notes *s = state;
  assert_int_equal(start, 99); /* when the gate opened */
  assert_int_equal(cycles, 20);
  assert_int_equal(read, 0);
  assert_int_equal(write, 20 * 8 * 4);
  s->occupied++;
}

/* What waits for a gate takes its port later; what shares the stream's, with it. */
static void results_behind_a_gate_take_their_port_once(void **state) {
  (void)state;
  static const struct tsr_buffer_ops buffer = {.tile = note, .occupy = note_occupied};
  static const struct tsr_component noting = {
      .abi = TSR_MODEL_ABI, .kind = "sram.notes", .buffer = &buffer};
  static const struct {
    int flow;
    bool shared;
    size_t phases, later; /* of the scratchpad of c; os: the stream, then the drain */
  } rows[] = {{WS, false, 1, 1}, {WS, true, 1, 0}, {OS, false, 1, 0}, {OS, true, 2, 0}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct array x = {rows[i].flow, rows[i].flow == OS ? 20 : 8, 8, true, false, false};
    struct notes notes[3] = {0};
    struct tsr_instance s[3];
    for (int j = 0; j < 3; j++)
      s[j] = (struct tsr_instance){.ops = &noting, .state = &notes[j]};
    struct ask a = mm(20, 8, 8);
    a.req.mm.gated = true;
    a.req.mm.b.buffer = &s[1];
    a.req.mm.c.buffer = &s[2];
    a.req.mm.a.buffer = &s[rows[i].shared ? 2 : 0];
    struct rig r;
    rig_open(&r, &x, FREE, FREE, FREE);
    fake_at(&r.f, 99 * NS, open_gate, &r.tile);
    rig_run(&r, &a, 1);
    assert_int_equal(notes[2].n, rows[i].phases);
    assert_int_equal(notes[2].occupied, rows[i].later);
    rig_close(&r);
  }
}

static void the_scratchpad_is_told_where_accesses_fall(void **state) {
  (void)state;
  static const struct tsr_buffer_ops buffer = {.tile = note};
  static const struct tsr_component noting = {
      .abi = TSR_MODEL_ABI, .kind = "sram.notes", .buffer = &buffer};
  static const struct {
    int flow;
    size_t phases;              /* of all operands */
    struct tsr_pattern a, b, c; /* of the first fold */
  } rows[] = {
      /* 12 x 16 x 20 on 8 x 8: a row-major at 0, b at 1000, c (4 B) at 2000 */
      {OS, 3 * 4, {0, 40, 2, 8, 20, 2}, {1000, 2, 32, 8, 20, 2}, {2000, 4, 64, 8, 8, 4}},
      {WS, 3 * 6, {0, 2, 40, 8, 12, 2}, {1000, 2, 32, 8, 8, 2}, {2000, 4, 64, 8, 12, 4}},
      {IS, 3 * 6, {0, 40, 2, 8, 8, 2}, {1000, 32, 2, 8, 16, 2}, {2000, 64, 4, 8, 16, 4}},
  };
  for (size_t i = 0; i < LEN(rows); i++)
    for (int views = 0; views < 2; views++) {
      struct array x = {rows[i].flow, 8, 8, true, false, false};
      struct notes notes[3] = {0};
      struct tsr_instance s[3];
      for (int j = 0; j < 3; j++)
        s[j] = (struct tsr_instance){.ops = &noting, .state = &notes[j]};
      struct ask a = mm(12, 16, 20);
      if (views) {
        a.req.mm.a = (struct tsr_buffer_view){&s[0], 0, 40, 2};
        a.req.mm.b = (struct tsr_buffer_view){&s[1], 1000, 32, 2};
        a.req.mm.c = (struct tsr_buffer_view){&s[2], 2000, 64, 4};
      }
      struct rig r;
      rig_open(&r, &x, FREE, FREE, FREE);
      rig_run(&r, &a, 1);
      const struct tsr_pattern *want[] = {&rows[i].a, &rows[i].b, &rows[i].c};
      size_t n = 0;
      for (int j = 0; j < 3; j++) {
        n += notes[j].n;
        if (!views) continue;
        assert_true(notes[j].phase[0].known);
        const struct tsr_pattern *t = &notes[j].phase[0].t;
        assert_int_equal(t->addr, want[j]->addr);
        assert_int_equal(t->lane_bytes, want[j]->lane_bytes);
        assert_int_equal(t->step_bytes, want[j]->step_bytes);
        assert_int_equal(t->lanes, want[j]->lanes);
        assert_int_equal(t->steps, want[j]->steps);
        assert_int_equal(t->elem_bytes, want[j]->elem_bytes);
      }
      assert_int_equal(n, views ? rows[i].phases : 0);
      rig_close(&r);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(onnxim_counts_as_it_is_said_to),
      cmocka_unit_test(onnxim_hides_a_load_until_the_array_has_drained),
      cmocka_unit_test(onnxim_is_refused_where_it_says_nothing),
      cmocka_unit_test(a_preload_takes_the_load_off_the_next_request),
      cmocka_unit_test(a_preload_goes_behind_the_stream_before),
      cmocka_unit_test(a_preload_lasts_until_the_next_request_or_the_end),
      cmocka_unit_test(a_preload_is_of_one_fold),
      cmocka_unit_test(a_narrow_port_lengthens_a_preload),
      cmocka_unit_test(a_preload_right_before_changes_nothing),
      cmocka_unit_test(fill_stands_before_the_stream),
      cmocka_unit_test(sparse_products_take_half_and_move_what_is_kept),
      cmocka_unit_test(operands_in_one_scratchpad_share_its_port),
      cmocka_unit_test(results_behind_a_gate_take_their_port_once),
      cmocka_unit_test(the_scratchpad_is_told_where_accesses_fall),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
