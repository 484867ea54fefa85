/* dram.simple: latency, rate, channels. */
#include "fake.h"

#include <stdio.h>

#include "sim/base/mem.h"

static const struct tsr_memory_ops *open_dram(struct fake *f, struct tsr_instance *d,
                                              const char *text) {
  fake_open(f, 1000000000);
  fake_make(f, d, "dram.simple", text, NULL, NULL, NULL);
  return d->ops->memory;
}

static void a_lone_burst_takes_the_longer_of_latency_and_service(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t bytes, at, end;
  } rows[] = {
      {"{channels: 1, bandwidth: 1GB/s, latency: 100ns}", 64, 0, 100 * NS},
      {"{channels: 1, bandwidth: 1GB/s, latency: 64ns}", 64, 5 * NS, 69 * NS},
      {"{channels: 1, bandwidth: 1GB/s, latency: 64ns}", 65, 0, 65 * NS},
      {"{channels: 1, bandwidth: 1GB/s, latency: 0}", 64, 7 * NS, 71 * NS},
      {"{channels: 4, bandwidth: 1GB/s, latency: 0}", 64, 0, 256 * NS}, /* a quarter each */
      {"{channels: 1, bandwidth: unlimited, latency: 30ns}", 64, 0, 30 * NS},
      {"{channels: 1, bandwidth: 3GB/s, latency: 0}", 1, 0, 333334}, /* rounded up */
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance d;
    const struct tsr_memory_ops *m = open_dram(&f, &d, rows[i].text);
    uint64_t pipe = m->pipe_fs(d.state, rows[i].bytes), start, end;
    fake_burst(&d, rows[i].bytes, false, rows[i].at, &start, &end);
    assert_int_equal(start, rows[i].at);
    assert_int_equal(end, rows[i].end);
    uint64_t bw = m->bandwidth(d.params);
    if (bw == TSR_UNLIMITED)
      assert_int_equal(pipe, end - start);
    else /* the pipe is what latency adds to the service */
      assert_true(m->free_fs(d.state) <= end && pipe <= end - start);
    fake_drop(&d);
    fake_close(&f);
  }
}

static void a_million_bursts_take_exactly_the_rate(void **state) {
  (void)state;
  static const struct {
    uint64_t channels, bandwidth, bytes;
  } rows[] = {{1, 1000000000, 64},  {1, 3000000000, 64},  {8, 600000000000, 64},
              {7, 1000000000, 64},  {3, 51200000001, 32}, {1, 999999937, 1},
              {256, 1000003, 4096}, {2, 51200000000, 64}};
  enum { N = 1000000 };
  for (size_t i = 0; i < LEN(rows); i++) {
    char text[128];
    snprintf(text, sizeof text, "{channels: %llu, bandwidth: %lluB/s, latency: 0}",
             (unsigned long long)rows[i].channels, (unsigned long long)rows[i].bandwidth);
    struct fake f;
    struct tsr_instance d;
    (void)open_dram(&f, &d, text);
    uint64_t n = rows[i].bandwidth < 10000000 ? 1024 : N, start = 0, end = 0, last = 0;
    n -= n % rows[i].channels;
    for (uint64_t j = 0; j < n; j++) {
      fake_burst(&d, rows[i].bytes, j % 2, 0, &start, &end);
      last = tsr_max_u64(last, end);
    }
    tsr_u128 work = (tsr_u128)n * rows[i].bytes * TSR_FS_PER_S;
    uint64_t exact = (uint64_t)((work + rows[i].bandwidth - 1) / rows[i].bandwidth);
    assert_int_equal(last, exact);
    assert_int_equal(fake_counter(&d, "read_bytes") + fake_counter(&d, "write_bytes"),
                     n * rows[i].bytes);
    assert_int_equal(fake_counter(&d, "write_bytes"), n / 2 * rows[i].bytes);
    fake_drop(&d);
    fake_close(&f);
  }
}

static void channels_are_taken_in_turn(void **state) {
  (void)state;
  static const uint64_t counts[] = {1, 2, 3, 8, 256};
  for (size_t i = 0; i < LEN(counts); i++) {
    uint64_t c = counts[i], start, end;
    char text[96]; /* 1 ns of service a burst of 64 B on each channel */
    snprintf(text, sizeof text, "{channels: %llu, bandwidth: %lluGB/s, latency: 10ns}",
             (unsigned long long)c, (unsigned long long)(64 * c));
    struct fake f;
    struct tsr_instance d;
    const struct tsr_memory_ops *m = open_dram(&f, &d, text);
    assert_int_equal(m->channels(d.params), c);
    for (uint64_t j = 0; j < 5 * c; j++) {
      assert_int_equal(m->free_fs(d.state), j / c * NS);
      fake_burst(&d, 64, false, 0, &start, &end);
      assert_int_equal(start, j / c * NS);
      assert_int_equal(end, (j / c + 10) * NS);
    }
    fake_drop(&d);
    fake_close(&f);
  }
}

/* A train is its bursts one by one, whatever its length; idle time is what passed
 * between them because they were not ready. */
static void a_train_is_its_bursts_one_by_one(void **state) {
  (void)state;
  struct tsr_rng r = {3};
  for (int i = 0; i < 300; i++) {
    struct fake f, g;
    struct tsr_instance d, e;
    char text[96];
    snprintf(text, sizeof text, "{channels: %u, bandwidth: %uMB/s, latency: %uns}",
             (unsigned)tsr_rng_range(&r, 1, 9), (unsigned)tsr_rng_range(&r, 100, 90000),
             (unsigned)tsr_rng_range(&r, 0, 90));
    const struct tsr_memory_ops *m = open_dram(&f, &d, text);
    (void)open_dram(&g, &e, text);
    uint64_t ready = 0;
    for (int k = 0; k < 10; k++) {
      struct tsr_train t = {.n = (uint32_t)tsr_rng_range(&r, 1, TSR_TRAIN_MAX),
                            .burst_bytes = 64,
                            .write = k % 2};
      for (uint32_t j = 0; j < t.n; j++)
        t.ready_fs[j] = ready += tsr_rng_range(&r, 0, 3) ? 0 : tsr_rng_range(&r, 0, 99 * NS);
      uint64_t from = t.ready_fs[0], due = 0;
      t.noc_fs = t.hold_fs = 77;
      uint64_t idle = m->serve(d.state, &t, from);
      assert_int_equal(t.noc_fs + t.hold_fs, 0); /* there is no link here */
      for (uint32_t j = 0; j < t.n; j++) {
        uint64_t could = tsr_max_u64(m->free_fs(e.state), from), start, end;
        fake_burst(&e, 64, k % 2, t.ready_fs[j], &start, &end);
        assert_int_equal(t.start_fs[j], start);
        assert_int_equal(t.end_fs[j], end);
        due += start > could ? start - could : 0;
      }
      assert_int_equal(idle, due);
      assert_int_equal(m->free_fs(d.state), m->free_fs(e.state));
    }
    assert_int_equal(fake_counter(&d, "read_bytes"), fake_counter(&e, "read_bytes"));
    assert_int_equal(fake_counter(&d, "write_bytes"), fake_counter(&e, "write_bytes"));
    fake_drop(&d);
    fake_drop(&e);
    fake_close(&f);
    fake_close(&g);
  }
}

/* Each channel by name: its bytes, its time, how long bursts were ready before it took them. */
static void channels_report_what_they_did(void **state) {
  (void)state;
  struct fake f;
  struct tsr_instance d;
  const struct tsr_memory_ops *m =
      open_dram(&f, &d, "{channels: 3, bandwidth: 192GB/s, latency: 0}"); /* 1 ns a burst */
  uint64_t start, end;
  for (int i = 0; i < 7; i++) fake_burst(&d, 64, false, 0, &start, &end);
  static const struct {
    const char *name;
    uint64_t bursts, wait_ns;
  } rows[] = {{"channel0", 3, 0 + 1 + 2}, {"channel1", 2, 0 + 1}, {"channel2", 2, 0 + 1}};
  assert_int_equal(m->resources(d.state), LEN(rows));
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_resource x;
    m->resource(d.state, i, &x);
    assert_string_equal(x.name, rows[i].name);
    assert_int_equal(x.bytes, 64 * rows[i].bursts);
    assert_int_equal(x.busy_fs, rows[i].bursts * NS);
    assert_int_equal(x.wait_fs, rows[i].wait_ns * NS);
  }
  fake_drop(&d);
  fake_close(&f);
}

/* Of several cores one is far: what comes at 50 ns is asked for first. */
static void a_request_on_its_way_keeps_no_other_core_waiting(void **state) {
  (void)state;
  for (uint32_t cores = 1; cores <= 2; cores++) {
    struct fake f;
    struct tsr_instance d;
    fake_open(&f, 1000000000);
    f.cores = cores;
    fake_make(&f, &d, "dram.simple", "{channels: 1, bandwidth: 64GB/s, latency: 0}", NULL, NULL,
              NULL);
    uint64_t start, end;
    fake_burst(&d, 64, false, 50 * NS, &start, &end);
    assert_int_equal(end, 51 * NS);
    for (uint64_t i = 0; i < 60; i++) {
      fake_burst(&d, 64, false, 0, &start, &end);
      uint64_t in_turn = cores == 1 ? 51 + i : i < 50 ? i : i + 1;
      assert_int_equal(start, in_turn * NS);
    }
    fake_drop(&d);
    fake_close(&f);
  }
}

static void idle_time_is_not_saved_up(void **state) {
  (void)state;
  struct fake f;
  struct tsr_instance d;
  (void)open_dram(&f, &d, "{channels: 1, bandwidth: 64GB/s, latency: 0}");
  uint64_t start, end;
  fake_burst(&d, 64, false, 0, &start, &end);
  fake_burst(&d, 64, false, 1000 * NS, &start, &end);
  fake_burst(&d, 64, false, 0, &start, &end);
  assert_int_equal(start, 1001 * NS);
  assert_int_equal(end, 1002 * NS);
  fake_drop(&d);
  fake_close(&f);
}

static void unlimited_bandwidth_leaves_latency_alone(void **state) {
  (void)state;
  struct fake f;
  struct tsr_instance d;
  const struct tsr_memory_ops *m = open_dram(
      &f, &d, "{channels: 2, bandwidth: unlimited, latency: 45ns, capacity: unlimited}");
  for (uint64_t j = 0; j < 1000; j++) {
    uint64_t start, end;
    fake_burst(&d, 65536, false, j, &start, &end);
    assert_int_equal(start, j);
    assert_int_equal(end, j + 45 * NS);
  }
  assert_true(m->bandwidth(d.params) == TSR_UNLIMITED);
  assert_true(m->capacity(d.params) == TSR_UNLIMITED);
  assert_int_equal(m->latency_fs(d.params), 45 * NS);
  fake_drop(&d);
  fake_close(&f);
}

static void an_instant_past_the_end_of_time_sticks(void **state) {
  (void)state;
  struct fake f;
  struct tsr_instance d;
  (void)open_dram(&f, &d, "{channels: 1, bandwidth: 1MB/s, latency: 1ms}");
  uint64_t start, end;
  fake_burst(&d, 64, false, UINT64_MAX - 2, &start, &end);
  assert_true(end >= UINT64_MAX - 1);
  fake_burst(&d, 64, false, 0, &start, &end);
  assert_true(end >= UINT64_MAX - 1);
  fake_drop(&d);
  fake_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_lone_burst_takes_the_longer_of_latency_and_service),
      cmocka_unit_test(a_million_bursts_take_exactly_the_rate),
      cmocka_unit_test(channels_are_taken_in_turn),
      cmocka_unit_test(a_train_is_its_bursts_one_by_one),
      cmocka_unit_test(channels_report_what_they_did),
      cmocka_unit_test(a_request_on_its_way_keeps_no_other_core_waiting),
      cmocka_unit_test(idle_time_is_not_saved_up),
      cmocka_unit_test(unlimited_bandwidth_leaves_latency_alone),
      cmocka_unit_test(an_instant_past_the_end_of_time_sticks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
