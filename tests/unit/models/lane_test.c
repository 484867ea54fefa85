/* The lane against a list of all bookings. */
#include "fake.h"

#include "models/lane.h"

enum { BOOKINGS_MAX = 4096 };

struct booking {
  uint64_t from, to;
};
/* Every booking there is, in order of time. */
struct slow {
  struct booking at[BOOKINGS_MAX];
  size_t n;
};

static void slow_insert(struct slow *s, uint64_t from, uint64_t to) {
  size_t i = s->n++;
  assert_true(s->n <= BOOKINGS_MAX);
  for (; i > 0 && s->at[i - 1].from > from; i--) s->at[i] = s->at[i - 1];
  s->at[i] = (struct booking){from, to};
  assert_true(i == 0 || s->at[i - 1].to <= from); /* no time is used twice */
  assert_true(i + 1 == s->n || s->at[i + 1].from >= to);
}

/* The first place that is long enough. */
static uint64_t slow_place(const struct slow *s, uint64_t takes, uint64_t ready) {
  uint64_t at = ready;
  for (size_t i = 0; i < s->n; i++) {
    if (s->at[i].to <= at) continue;
    if (s->at[i].from >= at + takes) break;
    at = s->at[i].to;
  }
  return at;
}

/* Few enough gaps at a time that none is forgotten. */
static void bookings_take_the_first_place(void **state) {
  (void)state;
  struct tsr_rng r = {5};
  static struct slow s;
  uint64_t into_gaps = 0;
  for (int run = 0; run < 300; run++) {
    struct tsr_lane l;
    tsr_lane_init(&l, 1000000000); /* a byte a ns */
    s.n = 0;
    uint64_t bytes = 0, waited = 0, now = 0, behind = 0;
    for (int i = 0; i < 200; i++) {
      if (tsr_rng_range(&r, 0, 9) == 0) now += tsr_rng_range(&r, 0, 300) * NS;
      uint64_t size = tsr_rng_range(&r, 1, 20);
      uint64_t ready = now + tsr_rng_range(&r, 0, 200) * NS, start;
      uint64_t due = slow_place(&s, size * NS, ready);
      uint64_t end = tsr_lane_take(&l, now, size, ready, &start);
      assert_int_equal(start, due);
      assert_int_equal(end, due + size * NS);
      slow_insert(&s, start, end);
      into_gaps += start < behind;
      behind = tsr_max_u64(behind, end);
      bytes += size;
      waited += start - ready;
      assert_true(l.n < TSR_LANE_GAPS);
    }
    assert_int_equal(l.bytes, bytes);
    assert_int_equal(l.wait_fs, waited);
    assert_int_equal(tsr_lane_busy_fs(&l), bytes * NS);
  }
  assert_true(into_gaps > 3000);
}

/* More gaps than it keeps, rates that do not divide: late perhaps, never twice. */
static void no_time_is_used_twice(void **state) {
  (void)state;
  struct tsr_rng r = {6};
  static struct slow s;
  uint64_t later = 0;
  for (int run = 0; run < 60; run++) {
    struct tsr_lane l;
    tsr_lane_init(&l, tsr_rng_range(&r, 1000003, 3000000019));
    s.n = 0;
    for (int i = 0; i < 400; i++) {
      uint64_t size = tsr_rng_range(&r, 1, 4), takes;
      uint64_t ready = tsr_rng_range(&r, 0, 4000) * NS * 1000, start;
      uint64_t end = tsr_lane_take(&l, 0, size, ready, &start);
      takes = (uint64_t)((tsr_u128)size * TSR_FS_PER_S / l.tail.rate_bytes_per_s);
      assert_true(start >= ready && end - start >= takes && end - start <= takes + 2);
      later += start > slow_place(&s, end - start, ready);
      slow_insert(&s, start, end);
    }
  }
  assert_true(later > 0); /* gaps were forgotten */
}

/* In order of time it is the server, to the fs. */
static void in_order_it_is_exact_at_its_rate(void **state) {
  (void)state;
  static const uint64_t rates[] = {1000000000, 3000000000, 51200000001, 999999937};
  for (size_t i = 0; i < LEN(rates); i++) {
    struct tsr_lane l;
    struct tsr_server one;
    tsr_lane_init(&l, rates[i]);
    tsr_server_init(&one, rates[i]);
    uint64_t end = 0, start, due, ready = 0;
    struct tsr_rng r = {7};
    for (int k = 0; k < 100000; k++) {
      if (k > 50000 && k % 100 == 0) ready = end + tsr_rng_range(&r, 0, 3) * NS;
      due = tsr_server_take(&one, 64, ready, &start);
      end = tsr_lane_take(&l, ready, 64, ready, &start);
      assert_int_equal(end, due);
    }
  }
}

static void what_is_past_is_gone(void **state) {
  (void)state;
  struct tsr_lane l;
  uint64_t start;
  tsr_lane_init(&l, 1000000000);
  assert_int_equal(tsr_lane_take(&l, 0, 10, 100 * NS, &start), 110 * NS);
  assert_int_equal(l.n, 1);                                                   /* [0, 100) */
  assert_int_equal(tsr_lane_take(&l, 99 * NS, 1, 99 * NS, &start), 100 * NS); /* its last ns */
  assert_int_equal(tsr_lane_take(&l, 99 * NS, 1, 99 * NS, &start), 111 * NS);
  assert_int_equal(tsr_lane_take(&l, 120 * NS, 1, 200 * NS, &start), 201 * NS);
  assert_int_equal(l.n, 1); /* [120, 200): before that it is past */
  assert_int_equal(l.gap[0].from_fs, 120 * NS);
}

static void unlimited_passes_at_once_and_time_sticks_at_its_end(void **state) {
  (void)state;
  struct tsr_lane l;
  uint64_t start;
  tsr_lane_init(&l, TSR_UNLIMITED);
  for (uint64_t i = 100; i-- > 0;) {
    assert_int_equal(tsr_lane_take(&l, 0, 64, i, &start), i);
    assert_int_equal(start, i);
  }
  assert_int_equal(tsr_lane_busy_fs(&l), 0);
  tsr_lane_init(&l, 1000000);
  assert_true(tsr_lane_take(&l, 0, 64, UINT64_MAX - 5, &start) >= UINT64_MAX - 1);
  assert_int_equal(tsr_lane_take(&l, 0, 64, 0, &start), 64000 * NS); /* before it is room */
  assert_true(tsr_lane_take(&l, UINT64_MAX - 5, 64, UINT64_MAX - 5, &start) >= UINT64_MAX - 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bookings_take_the_first_place),
      cmocka_unit_test(no_time_is_used_twice),
      cmocka_unit_test(in_order_it_is_exact_at_its_rate),
      cmocka_unit_test(what_is_past_is_gone),
      cmocka_unit_test(unlimited_passes_at_once_and_time_sticks_at_its_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
