/* tile.systolic against its formulas, evaluated here a second time. */
#include <stdio.h>

#include "tile_rig.h"

static void check_lone(const struct array *x, struct ask a) {
  const struct tsr_mm_req *q = &a.req.mm;
  struct rig r;
  rig_open(&r, x, FREE, FREE, FREE);
  rig_run(&r, &a, 1);
  uint64_t F = folds_of(x, q), T = stream_of(x, q);
  assert_int_equal(cycles(a.done), end_of(x, q));
  assert_int_equal(fake_counter(&r.tile, "folds"), F);
  assert_int_equal(fake_counter(&r.tile, "active_cycles"), F * T);
  assert_int_equal(fake_counter(&r.tile, "macs"), macs_of(q));
  assert_int_equal(fake_counter(&r.tile, "slots"), F * x->R * x->C);
  assert_true(fake_counter(&r.tile, "slots_used") <= F * x->R * x->C);
  assert_int_equal(fake_counter(&r.tile, "conflict_cycles"), 0);
  /* Spans: the fake has seen that they are in order; here that they sum. */
  const struct tsr_instance *u = &r.tile;
  assert_int_equal(fake_spent(&r.f, u, TSR_SPAN_BUSY), F * T);
  assert_int_equal(fake_spent(&r.f, u, TSR_SPAN_CONFLICT), 0);
  uint64_t worked = fake_spent(&r.f, u, TSR_SPAN_BUSY) + fake_spent(&r.f, u, TSR_SPAN_FILL) +
                    fake_spent(&r.f, u, TSR_SPAN_DRAIN);
  uint64_t hidden = x->flow == OS && !x->serial ? x->R : 0; /* the last drain */
  assert_int_equal(worked + hidden, cycles(a.done));
  assert_int_equal(fake_last_end(&r.f, u) + hidden, cycles(a.done));
  /* One description, two fidelities. */
  struct tsr_estimate est;
  r.tile.ops->unit->estimate(r.tile.params, &a.req, &est);
  assert_int_equal(est.folds, F);
  assert_int_equal(est.cycles + hidden, cycles(a.done));
  assert_true(r.f.events <= est.events + 1);
  rig_close(&r);
}

static void a_lone_request_takes_the_formula(void **state) {
  (void)state;
  struct tsr_rng r = {7};
  for (int i = 0; i < 3000; i++) {
    struct array x = random_array(&r);
    struct ask a =
        mm(tsr_rng_range(&r, 1, 100), tsr_rng_range(&r, 1, 100), tsr_rng_range(&r, 1, 100));
    a.req.mm.groups = tsr_rng_range(&r, 0, 3) ? 1 : tsr_rng_range(&r, 2, 5);
    a.req.mm.rate = (uint32_t)tsr_rng_range(&r, 0, 3) ? 1 : (uint32_t)tsr_rng_range(&r, 2, 4);
    a.req.mm.sparse = tsr_rng_range(&r, 0, 3) == 0;
    x.onnxim = x.flow != OS && x.preload && tsr_rng_range(&r, 0, 3) == 0;
    check_lone(&x, a);
  }
}

/* Figures worked out by hand. */
static void known_requests_take_known_cycles(void **state) {
  (void)state;
  static const struct {
    struct array x;
    uint64_t m, n, k, end;
  } rows[] = {
      {{OS, 4, 4, false, false, false}, 4, 4, 10, 10 + 6 + 4}, /* stream, skew, drain */
      {{OS, 4, 4, false, true, false}, 8, 4, 10, 2 * (10 + 6 + 4)},
      {{OS, 4, 4, false, false, false}, 8, 4, 10, 2 * (10 + 6) + 4},
      {{WS, 4, 8, false, false, false}, 10, 8, 4, 4 + 10 + 10},
      {{WS, 4, 8, false, false, false}, 10, 9, 5, 4 * (4 + 10 + 10)},
      {{WS, 4, 8, true, false, false}, 10, 8, 8, 4 + 2 * 10 + 10},
      {{WS, 8, 4, true, false, false}, 3, 4, 16, 8 + 8 + 3 + 10}, /* loading bounds */
      {{IS, 4, 4, false, false, false}, 4, 9, 4, 4 + 9 + 6},
      {{WS, 1, 1, false, false, false}, 1, 1, 1, 2},
      {{OS, 1, 1, false, false, false}, 1, 1, 1, 2},
      {{WS, 1, 1, true, false, false}, 1, 1, 5, 1 + 5},
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

/* Preloading goes on over the edge of a request: only the first load and the last
 * skew of all show. */
static void preloading_does_not_stop_between_requests(void **state) {
  (void)state;
  struct tsr_rng rng = {11};
  for (int i = 0; i < 300; i++) {
    struct array x = random_array(&rng);
    if (x.flow == OS) x.flow = WS;
    x.preload = true;
    enum { N = 5 };
    struct ask a[N];
    uint64_t total = x.R, T = 0;
    for (int j = 0; j < N; j++) {
      a[j] = mm(tsr_rng_range(&rng, 1, 60), tsr_rng_range(&rng, 1, 60),
                tsr_rng_range(&rng, 1, 60));
      for (uint64_t f = 0; f < folds_of(&x, &a[j].req.mm); f++) {
        total += T ? (T > x.R ? T : x.R) : 0; /* the fold before */
        T = stream_of(&x, &a[j].req.mm);
      }
    }
    struct rig r;
    rig_open(&r, &x, FREE, FREE, FREE);
    rig_run(&r, a, N);
    assert_int_equal(cycles(a[N - 1].done), total + T + x.R + x.C - 2);
    assert_int_equal(fake_last_end(&r.f, &r.tile), total + T + x.R + x.C - 2);
    rig_close(&r);
  }
}

/* os holds a fold while chunks of k pass: one skew, one drain, one fold. */
static void os_chunks_of_k_are_one_fold(void **state) {
  (void)state;
  static const struct {
    uint64_t R, C, m, n;
    uint64_t k[4];
    bool serial;
  } rows[] = {{8, 8, 8, 8, {20, 20, 20, 20}, false},
              {8, 8, 5, 3, {20, 20, 20, 7}, true},
              {8, 4, 8, 4, {9, 9, 9, 9}, false},
              {16, 16, 16, 16, {1, 1, 1, 1}, false}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct array x = {OS, rows[i].R, rows[i].C, false, rows[i].serial, false};
    struct ask a[4];
    uint64_t K = 0;
    for (int j = 0; j < 4; j++) {
      a[j] = mm(rows[i].m, rows[i].n, rows[i].k[j]);
      a[j].req.mm.first = j == 0;
      a[j].req.mm.last = j == 3;
      K += rows[i].k[j];
    }
    struct rig r;
    rig_open(&r, &x, FREE, FREE, FREE);
    rig_run(&r, a, 4);
    struct ask whole = mm(rows[i].m, rows[i].n, K);
    assert_int_equal(cycles(a[3].done), end_of(&x, &whole.req.mm));
    assert_int_equal(fake_counter(&r.tile, "folds"), 1);
    assert_int_equal(fake_counter(&r.tile, "macs"), rows[i].m * rows[i].n * K);
    rig_close(&r);
  }
}

/* A chunk shorter than the drain of the result before it ends first; each
 * milestone still belongs to its own request. */
static void a_short_chunk_does_not_take_the_drain_before_it(void **state) {
  (void)state;
  struct array x = {OS, 16, 16, false, false, false};
  struct ask a[2] = {mm(16, 16, 50), mm(16, 16, 3)};
  a[1].req.mm.last = false;
  struct rig r;
  rig_open(&r, &x, FREE, FREE, FREE);
  rig_run(&r, a, 2);
  assert_int_equal(cycles(a[0].accepted), 50 + 30);
  assert_int_equal(cycles(a[0].done), 50 + 30 + 16);
  assert_int_equal(cycles(a[1].consumed), 50 + 30 + 3);
  rig_close(&r);
}

static void an_empty_request_takes_no_time(void **state) {
  (void)state;
  static const struct array arrays[] = {{OS, 8, 8, false, false, false},
                                        {OS, 8, 8, false, true, false},
                                        {WS, 8, 8, true, false, false},
                                        {WS, 8, 8, false, false, false},
                                        {IS, 8, 8, true, false, false}};
  for (size_t i = 0; i < LEN(arrays); i++)
    for (int dim = 0; dim < 4; dim++) {
      struct ask a[3] = {mm(20, 20, 20), mm(20, 20, 20), mm(20, 20, 20)};
      uint64_t *size[] = {&a[1].req.mm.m, &a[1].req.mm.n, &a[1].req.mm.k, &a[1].req.mm.groups};
      *size[dim] = 0;
      struct rig r;
      rig_open(&r, &arrays[i], FREE, FREE, FREE);
      rig_run(&r, a, 3);
      uint64_t with = a[2].done, first = a[0].done;
      assert_int_equal(fake_counter(&r.tile, "macs"), 2 * 20 * 20 * 20);
      rig_close(&r);
      struct ask b[2] = {mm(20, 20, 20), mm(20, 20, 20)};
      rig_open(&r, &arrays[i], FREE, FREE, FREE);
      rig_run(&r, b, 2);
      assert_int_equal(with, b[1].done);
      assert_int_equal(first, b[0].done);
      rig_close(&r);
    }
}

/* A port of exactly the stream's need changes nothing; a byte less lengthens. */
static void a_narrow_port_lengthens_what_it_feeds(void **state) {
  (void)state;
  static const struct {
    struct array x;
    int buf;                 /* whose port is narrow */
    unsigned width;          /* bytes a cycle, 1r1w */
    uint64_t m, n, k, extra; /* cycles lost */
  } rows[] = {
      /* ws: 8 rows of 2 B stream in each cycle, 8 columns of 4 B go out */
      {{WS, 8, 8, false, false, false}, 0, 16, 32, 8, 8, 0},
      {{WS, 8, 8, false, false, false}, 0, 15, 32, 8, 8, 3}, /* ceil(512/15) - 32 */
      {{WS, 8, 8, false, false, false}, 2, 32, 32, 8, 8, 0},
      {{WS, 8, 8, false, false, false}, 2, 31, 32, 8, 8, 2}, /* ceil(1024/31) - 32 */
      {{WS, 8, 8, false, false, false}, 1, 16, 32, 8, 8, 0}, /* 128 B in 8 cycles */
      {{WS, 8, 8, false, false, false}, 1, 15, 32, 8, 8, 1},
      {{WS, 8, 8, true, false, false}, 0, 8, 32, 8, 8, 32},
      {{WS, 8, 8, true, false, false}, 1, 8, 32, 8, 8, 8}, /* the first load shows */
      {{IS, 8, 8, false, false, false}, 1, 8, 8, 32, 8, 32},
      {{OS, 8, 8, false, false, false}, 0, 8, 8, 8, 32, 32},
      {{OS, 8, 8, false, false, false}, 1, 8, 8, 8, 32, 32},
      {{OS, 8, 8, false, false, false}, 0, 16, 8, 8, 32, 0},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    char narrow[64];
    snprintf(narrow, sizeof narrow, "{size: 1MiB, width: %uB}", rows[i].width);
    const char *s[3] = {FREE, FREE, FREE};
    s[rows[i].buf] = narrow;
    struct rig r;
    rig_open(&r, &rows[i].x, s[0], s[1], s[2]);
    struct ask a = mm(rows[i].m, rows[i].n, rows[i].k);
    rig_run(&r, &a, 1);
    assert_int_equal(cycles(a.done), end_of(&rows[i].x, &a.req.mm) + rows[i].extra);
    assert_int_equal(fake_counter(&r.tile, "conflict_cycles"), rows[i].extra);
    assert_int_equal(fake_spent(&r.f, &r.tile, TSR_SPAN_CONFLICT), rows[i].extra);
    rig_close(&r);
  }
}

static void a_second_fold_of_k_reads_partial_sums(void **state) {
  (void)state;
  static const struct {
    int flow;
    uint64_t k;
    bool first;
    uint64_t read, write; /* bytes of scratchpad c */
  } rows[] = {{WS, 8, true, 0, 8 * 8 * 4},
              {WS, 8, false, 8 * 8 * 4, 8 * 8 * 4},
              {WS, 24, true, 2 * 256, 3 * 256},
              {IS, 16, true, 256, 2 * 256},
              {OS, 100, true, 0, 256}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct array x = {rows[i].flow, 8, 8, true, false, false};
    struct rig r;
    rig_open(&r, &x, FREE, FREE, FREE);
    struct ask a = mm(8, 8, rows[i].k);
    a.req.mm.first = rows[i].first;
    rig_run(&r, &a, 1);
    assert_int_equal(fake_counter(&r.c, "read_bytes"), rows[i].read);
    assert_int_equal(fake_counter(&r.c, "write_bytes"), rows[i].write);
    rig_close(&r);
  }
}

/* ---- gates ---- */

static void open_gate(void *arg) {
  struct tsr_instance *tile = arg;
  tile->ops->unit->open(tile->state);
}

/* First instant at which a result of the request's first fold is written. */
static uint64_t gate_of(const struct array *x, const struct tsr_mm_req *q) {
  return x->flow == OS ? stream_of(x, q) + x->R + x->C - 2 : 2 * x->R - 1;
}

/* A free buffer in time costs nothing; each cycle later is one cycle lost. */
static void a_closed_gate_delays_from_the_first_result_on(void **state) {
  (void)state;
  struct tsr_rng rng = {13};
  for (int i = 0; i < 400; i++) {
    struct array x = random_array(&rng);
    struct ask plain =
        mm(tsr_rng_range(&rng, 1, 60), tsr_rng_range(&rng, 1, 60), tsr_rng_range(&rng, 1, 60));
    uint64_t gate = gate_of(&x, &plain.req.mm), late[] = {0, 1, 2, 17, 400};
    for (size_t j = 0; j < LEN(late) + 1; j++) {
      struct ask a = plain;
      a.req.mm.gated = true;
      struct rig r;
      rig_open(&r, &x, FREE, FREE, FREE);
      uint64_t lost = j < LEN(late) ? late[j] : 0, at = j < LEN(late) ? gate + lost : 0;
      fake_at(&r.f, at * NS, open_gate, &r.tile);
      rig_run(&r, &a, 1);
      assert_int_equal(cycles(a.done), end_of(&x, &a.req.mm) + lost);
      assert_int_equal(fake_counter(&r.tile, "macs"), a.req.mm.m * a.req.mm.n * a.req.mm.k);
      rig_close(&r);
    }
  }
}

/* Gates open in the order of their requests, whenever the opening comes. */
static void gates_of_a_chain_open_in_order(void **state) {
  (void)state;
  struct tsr_rng rng = {17};
  enum { N = 4 };
  for (int i = 0; i < 300; i++) {
    struct array x = random_array(&rng);
    struct ask free[N], gated[N];
    for (int j = 0; j < N; j++) {
      free[j] = mm(tsr_rng_range(&rng, 1, 30), tsr_rng_range(&rng, 1, 30),
                   tsr_rng_range(&rng, 1, 30));
      gated[j] = free[j];
      gated[j].req.mm.gated = tsr_rng_range(&rng, 0, 3) != 0;
    }
    struct rig r;
    rig_open(&r, &x, FREE, FREE, FREE);
    rig_run(&r, free, N);
    rig_close(&r);
    rig_open(&r, &x, FREE, FREE, FREE);
    uint64_t at = 0;
    for (int j = 0; j < N; j++) {
      if (!gated[j].req.mm.gated) continue;
      at += tsr_rng_range(&rng, 0, 300);
      fake_at(&r.f, at * NS, open_gate, &r.tile);
    }
    rig_run(&r, gated, N);
    for (int j = 0; j < N; j++) {
      assert_true(gated[j].done >= free[j].done);
      assert_true(cycles(gated[j].done) <= cycles(free[j].done) + at);
    }
    rig_close(&r);
  }
}

/* Random ports and chains: whatever happens, time is accounted for and work done. */
static void spans_never_overlap_and_work_is_conserved(void **state) {
  (void)state;
  struct tsr_rng rng = {5};
  for (int i = 0; i < 400; i++) {
    struct array x = random_array(&rng);
    char s[3][96];
    static const char *const ports[] = {"1rw", "1r1w", "2rw"};
    for (int j = 0; j < 3; j++)
      snprintf(s[j], sizeof s[j], "{size: 1MiB, width: %uB, ports: %s}",
               (unsigned)tsr_rng_range(&rng, 1, 64), ports[tsr_rng_range(&rng, 0, 2)]);
    struct rig r;
    rig_open(&r, &x, s[0], s[1], s[2]);
    enum { N = 4 };
    struct ask a[N];
    uint64_t macs = 0, ideal = 0;
    for (int j = 0; j < N; j++) {
      a[j] = mm(tsr_rng_range(&rng, 1, 50), tsr_rng_range(&rng, 1, 50),
                tsr_rng_range(&rng, 1, 50));
      macs += a[j].req.mm.m * a[j].req.mm.n * a[j].req.mm.k;
      ideal += folds_of(&x, &a[j].req.mm) * stream_of(&x, &a[j].req.mm);
    }
    rig_run(&r, a, N);
    assert_int_equal(fake_counter(&r.tile, "macs"), macs);
    assert_int_equal(fake_spent(&r.f, &r.tile, TSR_SPAN_BUSY), ideal);
    uint64_t conflict = fake_spent(&r.f, &r.tile, TSR_SPAN_CONFLICT);
    uint64_t counted = fake_counter(&r.tile, "conflict_cycles");
    if (x.preload && x.flow != OS) {
      /* Cycles that a port adds hide the next load; they are fill all the same, so that
       * the work is the closed formula whatever the ports do. */
      uint64_t work = x.R + x.R + x.C - 2, T = 0;
      for (int j = 0; j < N; j++) {
        T = stream_of(&x, &a[j].req.mm);
        work += folds_of(&x, &a[j].req.mm) * (T > x.R ? T : x.R);
      }
      work = work + T - (T > x.R ? T : x.R);
      assert_int_equal(fake_spent(&r.f, &r.tile, TSR_SPAN_BUSY) +
                           fake_spent(&r.f, &r.tile, TSR_SPAN_FILL) +
                           fake_spent(&r.f, &r.tile, TSR_SPAN_DRAIN),
                       work);
      assert_true(conflict <= counted);
    } else {
      assert_int_equal(conflict, counted);
    }
    assert_true(fake_last_end(&r.f, &r.tile) <= cycles(a[N - 1].done));
    for (int j = 1; j < N; j++) assert_true(a[j].done >= a[j - 1].done);
    rig_close(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_lone_request_takes_the_formula),
      cmocka_unit_test(known_requests_take_known_cycles),
      cmocka_unit_test(preloading_does_not_stop_between_requests),
      cmocka_unit_test(os_chunks_of_k_are_one_fold),
      cmocka_unit_test(a_short_chunk_does_not_take_the_drain_before_it),
      cmocka_unit_test(an_empty_request_takes_no_time),
      cmocka_unit_test(a_narrow_port_lengthens_what_it_feeds),
      cmocka_unit_test(a_second_fold_of_k_reads_partial_sums),
      cmocka_unit_test(a_closed_gate_delays_from_the_first_result_on),
      cmocka_unit_test(gates_of_a_chain_open_in_order),
      cmocka_unit_test(spans_never_overlap_and_work_is_conserved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
