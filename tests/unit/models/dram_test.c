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
    m->burst(d.state, 0, rows[i].bytes, false, rows[i].at, &start, &end);
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
  } rows[] = {{1, 1000000000, 64},  {1, 3000000000, 64}, {8, 600000000000, 64},
              {7, 1000000000, 64},  {3, 51200000001, 32}, {1, 999999937, 1},
              {256, 1000003, 4096}, {2, 51200000000, 64}};
  enum { N = 1000000 };
  for (size_t i = 0; i < LEN(rows); i++) {
    char text[128];
    snprintf(text, sizeof text, "{channels: %llu, bandwidth: %lluB/s, latency: 0}",
             (unsigned long long)rows[i].channels, (unsigned long long)rows[i].bandwidth);
    struct fake f;
    struct tsr_instance d;
    const struct tsr_memory_ops *m = open_dram(&f, &d, text);
    uint64_t n = rows[i].bandwidth < 10000000 ? 1024 : N, start = 0, end = 0, last = 0;
    n -= n % rows[i].channels;
    for (uint64_t j = 0; j < n; j++) {
      m->burst(d.state, 0, rows[i].bytes, j % 2, 0, &start, &end);
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
      m->burst(d.state, 0, 64, false, 0, &start, &end);
      assert_int_equal(start, j / c * NS);
      assert_int_equal(end, (j / c + 10) * NS);
    }
    fake_drop(&d);
    fake_close(&f);
  }
}

static void idle_time_is_not_saved_up(void **state) {
  (void)state;
  struct fake f;
  struct tsr_instance d;
  const struct tsr_memory_ops *m =
      open_dram(&f, &d, "{channels: 1, bandwidth: 64GB/s, latency: 0}");
  uint64_t start, end;
  m->burst(d.state, 0, 64, false, 0, &start, &end);
  m->burst(d.state, 0, 64, false, 1000 * NS, &start, &end);
  m->burst(d.state, 0, 64, false, 0, &start, &end);
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
    m->burst(d.state, 0, 65536, false, j, &start, &end);
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
  const struct tsr_memory_ops *m =
      open_dram(&f, &d, "{channels: 1, bandwidth: 1MB/s, latency: 1ms}");
  uint64_t start, end;
  m->burst(d.state, 0, 64, false, UINT64_MAX - 2, &start, &end);
  assert_true(end >= UINT64_MAX - 1);
  m->burst(d.state, 0, 64, false, 0, &start, &end);
  assert_true(end >= UINT64_MAX - 1);
  fake_drop(&d);
  fake_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_lone_burst_takes_the_longer_of_latency_and_service),
      cmocka_unit_test(a_million_bursts_take_exactly_the_rate),
      cmocka_unit_test(channels_are_taken_in_turn),
      cmocka_unit_test(idle_time_is_not_saved_up),
      cmocka_unit_test(unlimited_bandwidth_leaves_latency_alone),
      cmocka_unit_test(an_instant_past_the_end_of_time_sticks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
