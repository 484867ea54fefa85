/* Stochastic rounding: what it is on average, and what it depends on. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/format.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

/* A million for the first rows; fewer for the rest, to stay quick. */
enum { DRAWS_MANY = 1000000, DRAWS_FEW = 200000, ROWS_MANY = 5 };

static uint64_t code_of(double v) {
  uint64_t code;
  memcpy(&code, &v, sizeof code);
  return code;
}

static uint64_t draw(const struct tsr_format *f, const struct tsr_round_spec *s, double v,
                     uint64_t index) {
  return tsr_arith_convert_spec(tsr_format_find("fp64"), code_of(v), f, s, index, NULL);
}

/* v lies between lo and hi, neighbours: each comes up as often as the distances say.
 * With r bits that do not cover what is discarded, up to 2^-r less often upward. */
static void it_is_unbiased_over_a_million_draws(void **state) {
  (void)state;
  static const struct {
    const char *format;
    double v, lo, hi;
    uint8_t bits;
  } rows[] = {
      {"fp8_e4m3", 1.03125, 1, 1.125, 32}, /* a quarter */
      {"fp8_e4m3", -417.6, -416, -448, 0}, /* a twentieth, in 64 bits */
      {"bf16", 1 + 0x1p-8 + 0x1p-40, 1, 1.0078125, 33},
      {"bf16", 3 + 0x1.8p-7, 3, 3 + 0x1p-6, 16},
      {"fp16", 0x1.4p-25, 0, 0x1p-24, 8},          /* below the smallest value */
      {"fp16", -0x1.8p-24, -0x1p-24, -0x1p-23, 1}, /* a half, in one bit */
      {"fp8_e5m2", 1 + 0x1p-2 * 0.3, 1, 1.25, 4},  /* 0.3 is not in sixteenths */
      {"fp8_e5m2", 1 + 0x1p-2 * 0.3, 1, 1.25, 10},
      {"fp4_e2m1", 5.5, 4, 6, 23},
      {"int8", -2.7, -2, -3, 24},
      {"nf4", 0.9, 0x1.722766p-1, 1, 24},
      {"e8m0", 5, 4, 8, 20},
      {"e5m2:nosub", 0x1.4p-16, 0, 0x1p-14, 12},
  };
  for (size_t i = 0; i < N(rows); i++) {
    struct tsr_format f;
    assert_int_equal(tsr_format_parse(rows[i].format, &f, NULL), TSR_OK);
    struct tsr_round_spec s = {
        .mode = TSR_ROUND_SR, .saturate = true, .sr_bits = rows[i].bits, .seed = 11 + i};
    uint64_t lo = tsr_arith_from_double(&f, TSR_ROUND_RNE, rows[i].lo, NULL);
    uint64_t hi = tsr_arith_from_double(&f, TSR_ROUND_RNE, rows[i].hi, NULL);
    if (rows[i].lo == 0 && rows[i].v < 0)
      lo = tsr_arith_from_double(&f, TSR_ROUND_RNE, -0.0, NULL);
    long up = 0, draws = i < ROWS_MANY ? DRAWS_MANY : DRAWS_FEW;
    for (uint64_t n = 0; n < (uint64_t)draws; n++) {
      uint64_t code = draw(&f, &s, rows[i].v, n);
      if (code != lo && code != hi)
        fail_msg("%s: code %#llx", f.name, (unsigned long long)code);
      up += code == hi;
    }
    double p = (rows[i].v - rows[i].lo) / (rows[i].hi - rows[i].lo);
    double sigma = sqrt((double)draws * p * (1 - p)), off = (double)up - (double)draws * p;
    double coarse = rows[i].bits ? (double)draws * ldexp(1, -rows[i].bits) : 0;
    if (off > 5 * sigma || off < -5 * sigma - coarse)
      fail_msg("%s %a: off by %g sigma", f.name, rows[i].v, off / sigma);
    /* With few bits the probability is a multiple of 2^-r, exactly. */
    double steps = floor(p * ldexp(1, rows[i].bits)) * coarse;
    if (rows[i].bits && rows[i].bits <= 10 && fabs((double)up - steps) > 5 * sigma)
      fail_msg("%s %a: %ld of %g", f.name, rows[i].v, up, steps);
  }
}

static void the_result_depends_on_seed_stream_and_index_alone(void **state) {
  (void)state;
  enum { M = 4096 };
  static uint64_t forward[M];
  const struct tsr_format *f = tsr_format_find("fp8_e4m3");
  struct tsr_round_spec s = {.mode = TSR_ROUND_SR, .sr_bits = 20, .seed = 3};
  struct tsr_round_spec other = s, stream = s;
  other.seed = 4;
  stream.stream = 1;
  int seeds = 0, streams = 0, ups = 0;
  for (uint64_t i = 0; i < M; i++) forward[i] = draw(f, &s, 1.0625, i);
  for (uint64_t i = M; i-- > 0;) {
    assert_int_equal(draw(f, &s, 1.0625, i), forward[i]);
    ups += forward[i] == 0x39;
    seeds += draw(f, &other, 1.0625, i) != forward[i];
    streams += draw(f, &stream, 1.0625, i) != forward[i];
  }
  /* Halves: within 5 sigma of M / 2. */
  assert_in_range(ups, M / 2 - 160, M / 2 + 160);
  assert_in_range(seeds, M / 2 - 160, M / 2 + 160);
  assert_in_range(streams, M / 2 - 160, M / 2 + 160);
}

static void exact_values_never_move(void **state) {
  (void)state;
  static const char *const names[] = {"fp8_e4m3", "fp16", "fp4_e2m1", "int8", "nf4"};
  for (size_t n = 0; n < N(names); n++) {
    const struct tsr_format *f = tsr_format_find(names[n]);
    for (uint8_t bits = 0; bits <= 64; bits++)
      for (uint64_t i = 0; i < 100; i++) {
        struct tsr_round_spec s = {.mode = TSR_ROUND_SR, .sr_bits = bits, .seed = i};
        unsigned ev = 0;
        uint64_t one = tsr_arith_from_double(f, TSR_ROUND_RNE, 1, NULL);
        assert_int_equal(
            tsr_arith_convert_spec(tsr_format_find("fp64"), code_of(1), f, &s, i, &ev), one);
        assert_int_equal(ev, 0);
      }
  }
}

/* Above the largest value: to infinity as often as the distance to the next place. */
static void overflow_is_stochastic_too(void **state) {
  (void)state;
  const struct tsr_format *f = tsr_format_find("fp16");
  struct tsr_round_spec s = {.mode = TSR_ROUND_SR, .seed = 1};
  long up = 0;
  for (uint64_t i = 0; i < 40000; i++) {
    uint64_t code = draw(f, &s, 65504 + 8, i);
    assert_true(code == 0x7bff || code == 0x7c00);
    up += code == 0x7c00;
  }
  assert_in_range(up, 10000 - 434, 10000 + 434);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_is_unbiased_over_a_million_draws),
      cmocka_unit_test(the_result_depends_on_seed_stream_and_index_alone),
      cmocka_unit_test(exact_values_never_move),
      cmocka_unit_test(overflow_is_stochastic_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
