#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <math.h>

#include "sim/base/mem.h"
#include "sim/base/rng.h"
#include "sim/base/units.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static const uint64_t clocks[] = {700000000, 1050000000, 940000000, 1,
                                  3,         999999999,  1000000000};

/* Known instants: floor(n * 10^15 / f), worked out by hand. */
static void cycles_fall_at_their_instants(void **state) {
  (void)state;
  static const struct {
    uint64_t cycle, hz, fs;
  } rows[] = {
      {0, 700000000, 0},
      {1, 700000000, 1428571},  /* 1428571.43 */
      {7, 700000000, 10000000}, /* exact again after 7 cycles */
      {700000000, 700000000, TSR_FS_PER_S},
      {1, 1050000000, 952380}, /* 952380.95 */
      {21, 1050000000, 20000000},
      {1, 940000000, 1063829}, /* 1063829.79 */
      {47, 940000000, 50000000},
      {18446, 1, 18446u * TSR_FS_PER_S},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    uint64_t fs = 1;
    assert_true(tsr_clock_fs(rows[i].cycle, rows[i].hz, &fs));
    assert_true(fs == rows[i].fs);
  }
}

static void an_instant_past_64_bits_is_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(clocks); i++) {
    /* The last cycle whose instant fits, from the inequality n * 10^15 < 2^64 f. */
    tsr_u128 limit = ((tsr_u128)clocks[i] << 64) - 1;
    uint64_t last = (uint64_t)(limit / TSR_FS_PER_S), fs = 5;
    assert_true(tsr_clock_fs(last, clocks[i], &fs));
    fs = 5;
    assert_false(tsr_clock_fs(last + 1, clocks[i], &fs));
    assert_int_equal(fs, 5);
    assert_false(tsr_clock_fs(UINT64_MAX, clocks[i], &fs));
  }
}

/* The first cycle at or after an instant: its own instant is not before, the one
 * of the cycle before it is. */
static void the_cycle_at_an_instant_is_tight_from_both_sides(void **state) {
  (void)state;
  struct tsr_rng r = {2};
  for (int i = 0; i < 20000; i++) {
    uint64_t hz = clocks[tsr_rng_range(&r, 0, LEN(clocks) - 1)];
    uint64_t n = tsr_rng_next(&r) >> tsr_rng_range(&r, 30, 63), fs, at, before;
    if (!tsr_clock_fs(n, hz, &fs)) continue;
    assert_true(tsr_clock_cycle_at(fs, hz) == n);
    if (n) assert_true(tsr_clock_cycle_at(fs + 1, hz) == n + 1);
    uint64_t any = tsr_rng_next(&r) >> 8, c = tsr_clock_cycle_at(any, hz);
    assert_true(!tsr_clock_fs(c, hz, &at) || at >= any);
    assert_true(c == 0 || (tsr_clock_fs(c - 1, hz, &before) && before < any));
  }
  assert_int_equal(tsr_clock_cycle_at(0, 700000000), 0);
  assert_true(tsr_clock_cycle_at(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
}

static void log10_agrees_with_libm(void **state) {
  (void)state;
  static const double special[] = {1,
                                   10,
                                   100,
                                   1e-300,
                                   1e300,
                                   5e-324,
                                   2.2250738585072014e-308,
                                   0.5,
                                   2,
                                   1.4142135623730951,
                                   0.70710678118654757,
                                   1.0000000000000002,
                                   0.99999999999999989,
                                   1.7976931348623157e308};
  struct tsr_rng r = {3};
  double worst = 0;
  for (int i = 0; i < 100000; i++) {
    double x;
    if (i < (int)LEN(special)) {
      x = special[i];
    } else if (i % 2) {
      uint64_t bits = tsr_rng_range(&r, 1, 0x7fefffffffffffffu);
      memcpy(&x, &bits, sizeof x);
    } else {
      x = 0.9 + 0.2 * ((double)(tsr_rng_next(&r) >> 11) * 0x1p-53); /* where log10 is near 0 */
    }
    double want = log10(x), got = tsr_log10(x), e = fabs(got - want);
    if (want != 0) e /= fabs(want);
    if (e > worst) worst = e;
    if (!(e < 1e-13)) fail_msg("log10(%.17g): %.17g, libm %.17g", x, got, want);
  }
  assert_true(worst > 0); /* another route than libm's, or the bound means nothing */
  assert_true(tsr_log10(0) == -INFINITY);
  assert_true(tsr_log10(INFINITY) == INFINITY);
  assert_true(isnan(tsr_log10(-1)));
  assert_true(isnan(tsr_log10(NAN)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cycles_fall_at_their_instants),
      cmocka_unit_test(an_instant_past_64_bits_is_refused),
      cmocka_unit_test(the_cycle_at_an_instant_is_tight_from_both_sides),
      cmocka_unit_test(log10_agrees_with_libm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
