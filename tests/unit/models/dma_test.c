/* dma.load and dma.store: what bounds a transfer, from both sides. */
#include "fake.h"

#include <stdio.h>

#include "sim/base/mem.h"

struct rig {
  struct fake f;
  struct tsr_instance dram, buf, load, store;
};

static void rig_open_two(struct rig *r, const char *dram, const char *sram, const char *load,
                         const char *store) {
  fake_open(&r->f, 1000000000);
  fake_make(&r->f, &r->dram, "dram.simple", dram, NULL, NULL, NULL);
  fake_make(&r->f, &r->buf, "sram", sram, NULL, NULL, NULL);
  fake_make(&r->f, &r->load, "dma.load", load, &r->dram, &r->dram, NULL);
  fake_make(&r->f, &r->store, "dma.store", store, &r->dram, &r->dram, NULL);
}

static void rig_open(struct rig *r, const char *dram, const char *sram, const char *dma) {
  rig_open_two(r, dram, sram, dma, dma);
}

static void rig_close(struct rig *r) {
  fake_drop(&r->load);
  fake_drop(&r->store);
  fake_drop(&r->buf);
  fake_drop(&r->dram);
  fake_close(&r->f);
}

/* Ends one transfer of n bursts of 64 B and gives its time in fs. */
static uint64_t time_of(const char *dram, const char *sram, const char *dma, bool store,
                        uint64_t n, struct tsr_lateness *late) {
  struct rig r;
  rig_open(&r, dram, sram, dma);
  struct tsr_instance *u = store ? &r.store : &r.load;
  struct ask a = {.req = fake_bytes(&r.buf, 4096, 64 * n)};
  fake_chain(&r.f, u, &a, 1, 1000 * NS); /* the memory has been idle for long */
  fake_run(&r.f);
  fake_check(&a, 1);
  assert_int_equal(fake_counter(u, "transfers"), 1);
  assert_int_equal(fake_counter(u, "bursts"), n);
  assert_int_equal(fake_counter(u, "useful_bytes"), 64 * n);
  assert_int_equal(fake_counter(&r.dram, store ? "write_bytes" : "read_bytes"), 64 * n);
  assert_int_equal(fake_counter(&r.buf, store ? "read_bytes" : "write_bytes"), 64 * n);
  assert_int_equal(fake_spent(&r.f, u, TSR_SPAN_BUSY),
                   tsr_ceil_div(a.done, NS) - 1000); /* busy from start to end */
  if (late) *late = a.ticket.late;
  uint64_t t = a.done - a.started;
  rig_close(&r);
  return t;
}

#define FAST_DRAM "{channels: 1, bandwidth: 100GB/s, latency: 60ns}" /* 0.64 ns a burst */
#define FREE_SRAM "{size: 1MiB, width: unlimited}"

static void bandwidth_bounds_a_long_transfer(void **state) {
  (void)state;
  static const uint64_t counts[] = {1, 2, 31, 32, 33, 64, 1000, 20000};
  for (size_t i = 0; i < LEN(counts); i++)
    for (int store = 0; store < 2; store++) {
      struct tsr_lateness late;
      uint64_t t =
          time_of(FAST_DRAM, FREE_SRAM, "{outstanding: 1024}", store, counts[i], &late);
      assert_int_equal(t, (counts[i] - 1) * 640000 + 60 * NS);
      /* what latency adds to the last burst's service, and no more */
      assert_in_range(late.latency_cycles, 59, 60);
      assert_int_equal(late.conflict_cycles, 0);
    }
}

static void the_window_bounds_by_latency(void **state) {
  (void)state;
  enum { N = 16 * 500 };
  uint64_t t = time_of(FAST_DRAM, FREE_SRAM, "{outstanding: 16}", false, N, NULL);
  /* rounds of 16 bursts, a latency apart; the first round is issued at the rate */
  assert_int_equal(t, (N / 16 - 1) * 60 * NS + 15 * 640000 + 60 * NS);
  double gb_per_s = 64.0 * N / ((double)t * 1e-6); /* bytes per ns */
  double limit = 16 * 64.0 / 60;                   /* 17.07 GB/s */
  assert_true(gb_per_s < limit && gb_per_s > 0.99 * limit);
}

/* A burst is served in 2 ns, latency is 60 ns: 30 outstanding keep up, 29 do not. */
static void a_window_just_long_enough_hides_latency(void **state) {
  (void)state;
  static const struct {
    unsigned outstanding;
    bool hidden;
  } rows[] = {{29, false}, {30, true}, {31, true}, {1, false}, {64, true}};
  enum { N = 29 * 30 * 4 };
  for (size_t i = 0; i < LEN(rows); i++) {
    char dma[64];
    snprintf(dma, sizeof dma, "{outstanding: %u}", rows[i].outstanding);
    uint64_t t = time_of("{channels: 1, bandwidth: 32GB/s, latency: 60ns}", FREE_SRAM, dma,
                         false, N, NULL);
    uint64_t hidden = (N - 1) * 2 * NS + 60 * NS;
    if (rows[i].hidden)
      assert_int_equal(t, hidden);
    else
      assert_int_equal(t, (N / rows[i].outstanding - 1) * 60 * NS +
                              (rows[i].outstanding - 1) * 2 * NS + 60 * NS);
  }
}

static void the_scratchpad_port_bounds(void **state) {
  (void)state;
  static const struct {
    unsigned width;
    uint64_t service; /* fs of a burst at the port, 1 GHz */
  } rows[] = {{8, 8 * NS}, {32, 2 * NS}, {64, 1 * NS}};
  enum { N = 2000 };
  for (size_t i = 0; i < LEN(rows); i++)
    for (int store = 0; store < 2; store++) {
      char sram[64];
      snprintf(sram, sizeof sram, "{size: 1MiB, width: %uB}", rows[i].width);
      struct tsr_lateness late;
      uint64_t t = time_of(FAST_DRAM, sram, "{outstanding: 1024}", store, N, &late);
      assert_int_equal(t, N * rows[i].service + 60 * NS);
      if (!store) assert_true(late.conflict_cycles > late.latency_cycles);
    }
}

static void unlimited_memory_takes_latency_alone(void **state) {
  (void)state;
  static const char *const dram = "{channels: 1, bandwidth: unlimited, latency: 60ns}";
  assert_int_equal(time_of(dram, FREE_SRAM, "{outstanding: 4096}", false, 4096, NULL), 60 * NS);
  assert_int_equal(time_of(dram, FREE_SRAM, "{outstanding: 1024}", false, 4096, NULL),
                   4 * 60 * NS);
}

static void an_empty_box_ends_where_it_starts(void **state) {
  (void)state;
  for (int store = 0; store < 2; store++) {
    struct rig r;
    rig_open(&r, FAST_DRAM, FREE_SRAM, "{}");
    struct tsr_instance *u = store ? &r.store : &r.load;
    struct ask a[3] = {{.req = fake_bytes(&r.buf, 0, 6400)},
                       {.req = fake_bytes(&r.buf, 0, 64)},
                       {.req = fake_bytes(&r.buf, 0, 6400)}};
    a[1].req.xfer.box.start[0] = 64; /* wholly outside */
    fake_chain(&r.f, u, a, 3, 0);
    fake_run(&r.f);
    fake_check(a, 3);
    assert_int_equal(fake_counter(u, "bursts"), 200);
    assert_int_equal(fake_counter(u, "useful_bytes"), 12800);
    assert_true(a[1].done >= a[0].done && a[2].done >= a[1].done);
    assert_int_equal(a[2].done, 199 * 640000 + 60 * NS); /* it cost no time */
    rig_close(&r);
  }
}

/* The next transfer's bursts follow the last issue of the one before. */
static void transfers_follow_each_other_without_a_gap(void **state) {
  (void)state;
  enum { N = 50, EACH = 37 };
  struct rig r;
  rig_open(&r, FAST_DRAM, FREE_SRAM, "{outstanding: 1024}");
  struct ask a[N] = {{.n_done = 0}};
  for (int i = 0; i < N; i++) a[i].req = fake_bytes(&r.buf, (uint64_t)i * 4096, 64 * EACH);
  fake_chain(&r.f, &r.load, a, N, 0);
  fake_run(&r.f);
  fake_check(a, N);
  for (int i = 0; i < N; i++)
    assert_int_equal(a[i].done, ((uint64_t)(i + 1) * EACH - 1) * 640000 + 60 * NS);
  rig_close(&r);
}

static void consumed_means_read_for_the_last_time(void **state) {
  (void)state;
  struct rig r;
  rig_open(&r, FAST_DRAM, "{size: 1MiB, width: 64B}", "{}");
  struct ask in = {.req = fake_bytes(&r.buf, 0, 6400)},
             out = {.req = fake_bytes(&r.buf, 0, 6400)};
  fake_chain(&r.f, &r.load, &in, 1, 0);
  fake_run(&r.f);
  fake_chain(&r.f, &r.store, &out, 1, 1000 * NS);
  fake_run(&r.f);
  fake_check(&in, 1);
  fake_check(&out, 1);
  assert_int_equal(in.consumed, in.done);    /* a load's operand is the DRAM's */
  assert_int_equal(out.consumed, 1100 * NS); /* 100 bursts have left the port */
  assert_int_equal(out.done, out.consumed + 60 * NS);
  rig_close(&r);
}

/* Both ask for the memory at once: it serves without a gap, and each half of it. */
static void two_engines_share_the_memory(void **state) {
  (void)state;
  enum { N = 4000 };
  struct rig r;
  rig_open(&r, FAST_DRAM, FREE_SRAM, "{outstanding: 1024}");
  struct ask in = {.req = fake_bytes(&r.buf, 0, 64 * N)},
             out = {.req = fake_bytes(&r.buf, 0, 64 * N)};
  fake_chain(&r.f, &r.load, &in, 1, 0);
  fake_chain(&r.f, &r.store, &out, 1, 0);
  fake_run(&r.f);
  fake_check(&in, 1);
  fake_check(&out, 1);
  uint64_t last = tsr_max_u64(in.done, out.done), first = tsr_min_u64(in.done, out.done);
  assert_int_equal(last, (2 * N - 1) * UINT64_C(640000) + 60 * NS);
  assert_true(last - first <= 64 * 640000); /* a train or two apart */
  rig_close(&r);
}

/* Neither keeps the memory busy alone: side by side they lose nothing. */
static void two_latency_bound_engines_fill_each_others_gaps(void **state) {
  (void)state;
  enum { N = 1600 };
  uint64_t alone = time_of(FAST_DRAM, FREE_SRAM, "{outstanding: 16}", false, N, NULL);
  struct rig r;
  rig_open(&r, FAST_DRAM, FREE_SRAM, "{outstanding: 16}");
  struct ask in = {.req = fake_bytes(&r.buf, 0, 64 * N)},
             out = {.req = fake_bytes(&r.buf, 0, 64 * N)};
  fake_chain(&r.f, &r.load, &in, 1, 0);
  fake_chain(&r.f, &r.store, &out, 1, 0);
  fake_run(&r.f);
  uint64_t last = tsr_max_u64(in.done, out.done);
  assert_true(last >= alone);
  assert_true(last <= alone + 4 * 60 * NS); /* the start of the second, once */
  rig_close(&r);
}

/* One waits for its window most of the time; the other has the memory meanwhile. */
static void a_waiting_engine_does_not_book_the_memory(void **state) {
  (void)state;
  enum { SLOW = 400, FAST = 8000 };
  struct rig r;
  rig_open_two(&r, FAST_DRAM, FREE_SRAM, "{outstanding: 4}", "{outstanding: 1024}");
  struct ask in = {.req = fake_bytes(&r.buf, 0, 64 * SLOW)},
             out = {.req = fake_bytes(&r.buf, 0, 64 * FAST)};
  fake_chain(&r.f, &r.load, &in, 1, 0);
  fake_chain(&r.f, &r.store, &out, 1, 0);
  fake_run(&r.f);
  fake_check(&in, 1);
  fake_check(&out, 1);
  uint64_t service = 640000, together = (FAST + SLOW) * service + 60 * NS;
  assert_true(out.done <= together);
  assert_true(out.done >= (FAST - 1) * service + 60 * NS);
  /* a round is a latency, and at most a train of the other before each burst */
  assert_true(in.done >= SLOW / 4 * 60 * NS);
  assert_true(in.done <= SLOW / 4 * (60 * NS + TSR_TRAIN_MAX * service + 4 * service));
  rig_close(&r);
}

/* Rows of a few bytes, far apart: each costs a burst. */
static void scattered_bytes_cost_whole_bursts(void **state) {
  (void)state;
  struct rig r;
  rig_open(&r, FAST_DRAM, FREE_SRAM, "{}");
  struct ask a = {.req = {.xfer = {.box = {.rank = 2,
                                           .elem_bytes = 2,
                                           .size = {100, 512},
                                           .stride_bytes = {1024, 2},
                                           .extent = {100, 3},
                                           .step = {1, 1}},
                                   .buffer = &r.buf}}};
  fake_chain(&r.f, &r.load, &a, 1, 0);
  fake_run(&r.f);
  assert_int_equal(fake_counter(&r.load, "useful_bytes"), 600);
  assert_int_equal(fake_counter(&r.dram, "read_bytes"), 6400);
  assert_int_equal(a.done, 99 * 640000 + 60 * NS);
  rig_close(&r);
}

/* Rows of 128 B by a list: two bursts each, a row twice in a row is moved once. */
static void listed_rows_are_what_is_moved(void **state) {
  (void)state;
  static const struct {
    uint64_t index[6], n, bursts, useful;
  } rows[] = {{{7, 3, 90, 0}, 4, 8, 512},
              {{5, 6, 7}, 3, 6, 384},
              {{5, 5, 4, 5}, 4, 8, 512},
              {{100, 2, 1000000}, 3, 2, 128}, /* outside: nothing to move */
              {{100}, 1, 0, 0}};
  for (size_t i = 0; i < LEN(rows); i++)
    for (int store = 0; store < 2; store++) {
      struct rig r;
      rig_open(&r, FAST_DRAM, FREE_SRAM, "{}");
      struct tsr_instance *u = store ? &r.store : &r.load;
      struct ask a = {.req = {.xfer = {.box = {.rank = 2,
                                               .elem_bytes = 2,
                                               .size = {100, 64},
                                               .stride_bytes = {128, 2},
                                               .extent = {rows[i].n, 64},
                                               .step = {1, 1}},
                                       .buffer = &r.buf,
                                       .index = rows[i].index}}};
      fake_chain(&r.f, u, &a, 1, 0);
      fake_run(&r.f);
      fake_check(&a, 1);
      assert_int_equal(fake_counter(u, "bursts"), rows[i].bursts);
      assert_int_equal(fake_counter(u, "useful_bytes"), rows[i].useful);
      assert_int_equal(a.done, rows[i].bursts ? (rows[i].bursts - 1) * 640000 + 60 * NS : 0);
      struct tsr_estimate est;
      u->ops->unit->estimate(u->params, &a.req, &est);
      assert_true(r.f.events <= est.events + 1);
      rig_close(&r);
    }
}

/* A list may be longer than the tensor. */
static void the_estimate_knows_lists(void **state) {
  (void)state;
  enum { N = 200 };
  uint64_t index[N];
  for (uint64_t i = 0; i < N; i++) index[i] = i % 2;
  struct rig r;
  rig_open(&r, FAST_DRAM, FREE_SRAM, "{outstanding: 1}");
  struct ask a = {.req = {.xfer = {.box = {.rank = 2,
                                           .elem_bytes = 2,
                                           .size = {2, 64},
                                           .stride_bytes = {128, 2},
                                           .extent = {N, 64},
                                           .step = {1, 1}},
                                   .buffer = &r.buf,
                                   .index = index}}};
  fake_chain(&r.f, &r.load, &a, 1, 0);
  fake_run(&r.f);
  assert_int_equal(fake_counter(&r.load, "bursts"), 2 * N);
  struct tsr_estimate est;
  r.load.ops->unit->estimate(r.load.params, &a.req, &est);
  assert_true(r.f.events <= est.events + 1);
  rig_close(&r);
}

static void the_estimate_bounds_the_events(void **state) {
  (void)state;
  static const uint64_t counts[] = {0, 1, 31, 32, 33, 100, 5000};
  for (size_t i = 0; i < LEN(counts); i++) {
    struct rig r;
    rig_open(&r, FAST_DRAM, FREE_SRAM, "{outstanding: 8}");
    struct ask a = {.req = fake_bytes(&r.buf, 0, tsr_max_u64(64 * counts[i], 1))};
    if (!counts[i]) a.req.xfer.box.start[0] = 1;
    fake_chain(&r.f, &r.load, &a, 1, 0);
    fake_run(&r.f);
    struct tsr_estimate est;
    r.load.ops->unit->estimate(r.load.params, &a.req, &est);
    assert_true(r.f.events <= est.events + 1); /* and the one that started it */
    rig_close(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bandwidth_bounds_a_long_transfer),
      cmocka_unit_test(the_window_bounds_by_latency),
      cmocka_unit_test(a_window_just_long_enough_hides_latency),
      cmocka_unit_test(the_scratchpad_port_bounds),
      cmocka_unit_test(unlimited_memory_takes_latency_alone),
      cmocka_unit_test(an_empty_box_ends_where_it_starts),
      cmocka_unit_test(transfers_follow_each_other_without_a_gap),
      cmocka_unit_test(consumed_means_read_for_the_last_time),
      cmocka_unit_test(two_engines_share_the_memory),
      cmocka_unit_test(two_latency_bound_engines_fill_each_others_gaps),
      cmocka_unit_test(a_waiting_engine_does_not_book_the_memory),
      cmocka_unit_test(scattered_bytes_cost_whole_bursts),
      cmocka_unit_test(listed_rows_are_what_is_moved),
      cmocka_unit_test(the_estimate_knows_lists),
      cmocka_unit_test(the_estimate_bounds_the_events),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
