#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "sim/base/rng.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

/* Known-answer vectors of Random123 for philox4x32, 10 rounds. SRC:salmon2011 */
static void philox_gives_the_published_vectors(void **state) {
  (void)state;
  static const struct {
    uint64_t seed, stream, index;
    uint32_t out[4];
  } rows[] = {
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x299f31d0a4093822u,
       0x0370734413198a2eu,
       0x85a308d3243f6a88u,
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    uint32_t w[4];
    tsr_rng_block(rows[i].seed, rows[i].stream, rows[i].index, w);
    assert_memory_equal(w, rows[i].out, sizeof w);
    uint64_t u = tsr_rng_u64(rows[i].seed, rows[i].stream, rows[i].index);
    assert_true(u == ((uint64_t)rows[i].out[1] << 32 | rows[i].out[0]));
  }
}

/* First values of SplitMix64 from state 0 and 1234567. SRC:steele2014 */
static void splitmix_gives_the_published_values(void **state) {
  (void)state;
  struct tsr_rng zero = {0}, r = {1234567};
  assert_true(tsr_rng_next(&zero) == 0xe220a8397b1dcdafu);
  static const uint64_t want[] = {6457827717110365317u, 3203168211198807973u,
                                  9817491932198370423u, 4593380528125082431u,
                                  16408922859458223821u};
  for (size_t i = 0; i < LEN(want); i++) assert_true(tsr_rng_next(&r) == want[i]);
}

static void ranges_hold_their_ends_and_every_value(void **state) {
  (void)state;
  static const uint64_t rows[][2] = {
      {0, 0}, {5, 5}, {0, 1}, {10, 16}, {UINT64_MAX - 2, UINT64_MAX}};
  struct tsr_rng r = {4};
  for (size_t i = 0; i < LEN(rows); i++) {
    unsigned count[8] = {0};
    uint64_t n = rows[i][1] - rows[i][0] + 1;
    for (unsigned k = 0; k < 2000 * n; k++) {
      uint64_t v = tsr_rng_range(&r, rows[i][0], rows[i][1]);
      assert_true(v >= rows[i][0] && v <= rows[i][1]);
      count[v - rows[i][0]]++;
    }
    /* 2000 expected, standard deviation below 45: six of them. */
    for (uint64_t k = 0; k < n; k++) assert_in_range(count[k], 1730, 2270);
  }
  uint64_t ored = 0;
  for (int i = 0; i < 100; i++) ored |= tsr_rng_range(&r, 0, UINT64_MAX);
  assert_true(ored == UINT64_MAX);
}

static void normals_have_mean_0_and_variance_1(void **state) {
  (void)state;
  enum { N = 200000 };
  double sum = 0, sq = 0, low = 0, high = 0;
  for (uint64_t i = 0; i < N; i++) {
    double v = tsr_rng_normal(7, 1, i);
    sum += v;
    sq += v * v;
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  assert_true(sum / N > -0.0135 && sum / N < 0.0135); /* 6 sigma: 6 / sqrt N */
  assert_true(sq / N > 0.98 && sq / N < 1.02);
  assert_true(low > -6 && low < -3.5 && high > 3.5 && high < 6);
}

static void streams_seeds_and_indices_differ(void **state) {
  (void)state;
  uint64_t base = tsr_rng_u64(1, 2, 3);
  assert_true(base == tsr_rng_u64(1, 2, 3));
  assert_true(base != tsr_rng_u64(2, 2, 3));
  assert_true(base != tsr_rng_u64(1, 3, 3));
  assert_true(base != tsr_rng_u64(1, 2, 4));
  assert_true(base != tsr_rng_u64(1, 3, 2));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(philox_gives_the_published_vectors),
      cmocka_unit_test(splitmix_gives_the_published_values),
      cmocka_unit_test(ranges_hold_their_ends_and_every_value),
      cmocka_unit_test(normals_have_mean_0_and_variance_1),
      cmocka_unit_test(streams_seeds_and_indices_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
