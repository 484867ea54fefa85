/* Conversions of every format of 16 bits or less, and of fp32 and fp64 where it is
 * hard, against codes picked by comparing values.  With the argument `all` every code
 * of 16 bits is a source, else one in many. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/rng.h"
#include "tests/unit/arith/values.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

static uint64_t stride = 211; /* prime: meets every field of a code */
static struct values *formats;

static int make(void **state) {
  (void)state;
  formats = calloc(n_shapes, sizeof *formats);
  assert_non_null(formats);
  for (size_t i = 0; i < n_shapes; i++) values_make(&formats[i], &shapes[i]);
  return 0;
}

static int release(void **state) {
  (void)state;
  for (size_t i = 0; i < n_shapes; i++) values_free(&formats[i]);
  free(formats);
  return 0;
}

static uint64_t step(const struct values *t) {
  return t->bits > 8 ? stride : 1;
}

static bool same(double x, double y) {
  return (isnan(x) && isnan(y)) || (x == y && !signbit(x) == !signbit(y));
}

static void every_format_of_16_bits_is_among_these(void **state) {
  (void)state;
  for (size_t i = 0; i < tsr_format_count(); i++) {
    const struct tsr_format *f = tsr_format_at(i);
    bool found = f->bits > 16;
    for (size_t k = 0; k < n_shapes; k++) found |= strcmp(shapes[k].name, f->name) == 0;
    if (!found) fail_msg("%s is not tested", f->name);
  }
}

static void decoding_then_encoding_is_the_identity(void **state) {
  (void)state;
  for (size_t i = 0; i < n_shapes; i++) {
    const struct values *t = &formats[i];
    assert_int_equal(t->format.bits, t->bits);
    for (uint64_t c = 0; c < (uint64_t)1 << t->bits; c++) {
      double v = values_of(t, c);
      if (!same(tsr_arith_to_double(&t->format, c), v))
        fail_msg("%s %#llx is %a, not %a", t->shape.name, (unsigned long long)c,
                 tsr_arith_to_double(&t->format, c), v);
      bool subnormal = v != 0 && fabs(v) < t->min_normal;
      struct tsr_num n = tsr_arith_decode(&t->format, c);
      assert_int_equal(n.subnormal, subnormal);
      for (int mode = 0; mode < TSR_ROUND_N_; mode++) {
        struct tsr_round_spec s = {.mode = (enum tsr_round)mode};
        unsigned ev = 0;
        uint64_t back = tsr_arith_encode_spec(&t->format, &s, c, &n, &ev);
        uint64_t want = isnan(v) ? t->nan : c;
        /* Of codes for one value the lowest is written. */
        bool twin = back != want && same(values_of(t, back), v) && back < c;
        bool may = t->shape.no_sign || t->shape.no_subnormals || t->shape.no_neg_zero;
        if (back != want && !(twin && may))
          fail_msg("%s %#llx comes back as %#llx", t->shape.name, (unsigned long long)c,
                   (unsigned long long)back);
        assert_int_equal(ev, subnormal ? TSR_EVENT_SUBNORMAL_OUT : 0);
      }
    }
  }
}

/* x, held by `code` of `from`, into t. */
static void check(const struct tsr_format *from, uint64_t code, double x, bool subnormal,
                  const struct values *t) {
  for (int mode = 0; mode < TSR_ROUND_SR; mode++)
    for (int saturate = 0; saturate < 2; saturate++) {
      struct tsr_round_spec s = {.mode = (enum tsr_round)mode, .saturate = saturate};
      unsigned ev = 0;
      uint64_t got = tsr_arith_convert_spec(from, code, &t->format, &s, 0, &ev);
      struct picked p = values_pick(t, x, s.mode, saturate);
      if (subnormal) p.events |= TSR_EVENT_SUBNORMAL_IN;
      if (got != p.code || ev != p.events)
        fail_msg("%s %#llx (%a) to %s %s%s: %#llx flags %#x, expected %#llx flags %#x",
                 from->name, (unsigned long long)code, x, t->shape.name, tsr_round_name(s.mode),
                 saturate ? " saturating" : "", (unsigned long long)got, ev,
                 (unsigned long long)p.code, p.events);
    }
}

static void conversions_pick_what_comparing_values_picks(void **state) {
  (void)state;
  for (size_t i = 0; i < n_shapes; i++) {
    const struct values *from = &formats[i];
    for (uint64_t c = 0; c < (uint64_t)1 << from->bits; c += step(from)) {
      double x = values_of(from, c);
      bool subnormal = x != 0 && fabs(x) < from->min_normal;
      for (size_t j = 0; j < n_shapes; j++) check(&from->format, c, x, subnormal, &formats[j]);
    }
  }
}

static void check_double(double x, const struct values *t) {
  static const struct tsr_format *fp64, *fp32;
  fp64 = tsr_format_find("fp64");
  fp32 = tsr_format_find("fp32");
  uint64_t code;
  memcpy(&code, &x, sizeof code);
  check(fp64, code, x, fpclassify(x) == FP_SUBNORMAL, t);
  const float near[] = {(float)x, nextafterf((float)x, INFINITY),
                        nextafterf((float)x, -INFINITY)};
  for (size_t i = 0; i < N(near); i++) {
    uint32_t bits;
    memcpy(&bits, &near[i], sizeof bits);
    check(fp32, bits, (double)near[i], fpclassify(near[i]) == FP_SUBNORMAL, t);
  }
}

/* Values, ties, and one bit to either side of them; the edges always. */
static void hard_fp32_and_fp64_sources_round_once(void **state) {
  (void)state;
  for (size_t j = 0; j < n_shapes; j++) {
    const struct values *t = &formats[j];
    for (size_t i = 0; i < t->n; i++) {
      double v = t->at[i].v, after = i + 1 < t->n ? t->at[i + 1].v : t->next ? t->next : 2 * v;
      bool edge = i < 8 || i + 8 > t->n || fabs(v) <= 2 * t->min_normal;
      uint64_t every = t->bits > 8 ? stride / (edge ? 12 : 1) + 1 : 1;
      if (i % every && i > 2 && i + 3 < t->n) continue;
      const double x[] = {v, v + (after - v) / 2, after};
      for (size_t k = 0; k < N(x); k++)
        for (int side = -1; side <= 1; side++) {
          double y = side == 0 ? x[k] : nextafter(x[k], side * INFINITY);
          check_double(y, t);
          check_double(-y, t);
        }
    }
    static const double far[] = {1e300,   0x1p-1074, 0x1p-1022, 0x1p-149, 0x1.fffffep127,
                                 0x1p128, 0x1p62,    0x1.8p63,  0x1p64,   0x1.123456789abcdp70};
    for (size_t k = 0; k < N(far); k++) {
      check_double(far[k], t);
      check_double(-far[k], t);
    }
  }
}

static void flushing_takes_subnormals_and_nothing_else(void **state) {
  (void)state;
  for (size_t i = 0; i < n_shapes; i++)
    for (size_t j = 0; j < n_shapes; j++) {
      const struct values *from = &formats[i], *to = &formats[j];
      for (uint64_t c = 0; c < (uint64_t)1 << from->bits; c += 37 * step(from) % 251 + 1) {
        double x = values_of(from, c), v;
        bool subnormal = x != 0 && fabs(x) < from->min_normal;
        struct tsr_round_spec in = {.ftz_in = true}, out = {.ftz_out = true};
        unsigned ev = 0;
        uint64_t got = tsr_arith_convert_spec(&from->format, c, &to->format, &in, 0, &ev);
        struct picked p = values_pick(to, subnormal ? copysign(0, x) : x, TSR_ROUND_RNE, false);
        if (subnormal) p.events |= TSR_EVENT_SUBNORMAL_IN;
        if (got != p.code) print_message("%s %s", from->shape.name, to->shape.name);
        assert_int_equal(got, p.code);
        assert_int_equal(ev, p.events);
        ev = 0;
        got = tsr_arith_convert_spec(&from->format, c, &to->format, &out, 0, &ev);
        p = values_pick(to, x, TSR_ROUND_RNE, false);
        v = values_of(to, p.code);
        if (p.events & TSR_EVENT_SUBNORMAL_OUT) {
          p = values_pick(to, copysign(0, v), TSR_ROUND_RNE, false);
          p.events |= TSR_EVENT_UNDERFLOW | TSR_EVENT_INEXACT;
        }
        if (subnormal) p.events |= TSR_EVENT_SUBNORMAL_IN;
        if (got != p.code) print_message("%s %s", from->shape.name, to->shape.name);
        assert_int_equal(got, p.code);
        assert_int_equal(ev, p.events);
      }
    }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_format_of_16_bits_is_among_these),
      cmocka_unit_test(decoding_then_encoding_is_the_identity),
      cmocka_unit_test(conversions_pick_what_comparing_values_picks),
      cmocka_unit_test(hard_fp32_and_fp64_sources_round_once),
      cmocka_unit_test(flushing_takes_subnormals_and_nothing_else),
  };
  if (argc > 1 && strcmp(argv[1], "all") == 0) stride = 1;
  return cmocka_run_group_tests(tests, make, release);
}
