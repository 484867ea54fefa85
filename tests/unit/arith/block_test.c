#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/block.h"
#include "sim/base/rng.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

enum { BLOCK_MAX = 32 };

static uint64_t fp64_code(double v) {
  uint64_t code;
  memcpy(&code, &v, sizeof code);
  return code;
}

static struct tsr_num num(double v) {
  return tsr_arith_decode(tsr_format_find("fp64"), fp64_code(v));
}

static double real(struct tsr_num v) {
  if (v.cls == TSR_NUM_NAN) return (double)NAN;
  if (v.cls == TSR_NUM_INF) return v.sign ? -(double)INFINITY : (double)INFINITY;
  return ldexp(v.sign ? -(double)v.sig : (double)v.sig, v.exp) * (v.cls == TSR_NUM_FINITE);
}

static double largest(const struct tsr_format *f) {
  return tsr_arith_to_double(f, tsr_arith_max(f, false));
}

/* Encodes v and decodes it again. */
static unsigned there_and_back(const struct tsr_block *b, const struct tsr_block_spec *s,
                               const double *v, size_t n, uint64_t tensor, uint64_t *scale,
                               double *back) {
  uint64_t in[BLOCK_MAX], elem[BLOCK_MAX];
  unsigned ev = 0;
  for (size_t i = 0; i < n; i++) in[i] = fp64_code(v[i]);
  tsr_block_encode(b, s, tsr_format_find("fp64"), in, n, 0, tensor, scale, elem, &ev);
  for (size_t i = 0; i < n; i++) back[i] = real(tsr_block_decode(b, elem[i], *scale, tensor));
  return ev;
}

static void names_are_found(void **state) {
  (void)state;
  static const struct {
    const char *name, *elem, *scale;
    size_t len;
    double max;
  } rows[] = {
      {"mxfp8_e4m3", "fp8_e4m3", "e8m0", 32, 448},
      {"mxfp8_e5m2", "fp8_e5m2", "e8m0", 32, 57344},
      {"mxfp6_e3m2", "fp6_e3m2", "e8m0", 32, 28},
      {"mxfp6_e2m3", "fp6_e2m3", "e8m0", 32, 7.5},
      {"mxfp4_e2m1", "fp4_e2m1", "e8m0", 32, 6},
      {"mxint8", "int8_f6", "e8m0", 32, 127.0 / 64},
      {"nvfp4", "fp4_e2m1", "ue4m3", 16, 6},
  };
  assert_int_equal(tsr_block_count(), N(rows));
  for (size_t i = 0; i < N(rows); i++) {
    const struct tsr_block *b = tsr_block_find(rows[i].name);
    assert_ptr_equal(b, tsr_block_at(i));
    assert_string_equal(b->elem->name, rows[i].elem);
    assert_string_equal(b->scale->name, rows[i].scale);
    assert_int_equal(b->len, rows[i].len);
    assert_true(largest(b->elem) == rows[i].max);
  }
  assert_null(tsr_block_find("mxfp8"));
  assert_null(tsr_block_at(N(rows)));
}

/* tests/data/arith/mx_scale_modes.csv: element, amax, then code and `sat` of each mode. */
static void scale_modes_give_the_recorded_codes(void **state) {
  (void)state;
  static const enum tsr_block_scale_mode columns[] = {
      TSR_BLOCK_SCALE_FLOOR, TSR_BLOCK_SCALE_RCEIL, TSR_BLOCK_SCALE_CEIL, TSR_BLOCK_SCALE_EVEN};
  FILE *f = fopen(TSR_TEST_DATA "/arith/mx_scale_modes.csv", "r");
  assert_non_null(f);
  char line[256];
  int rows = 0;
  assert_non_null(fgets(line, sizeof line, f));
  while (fgets(line, sizeof line, f)) {
    char *p = line, elem[16], name[24];
    line[strcspn(line, "\r\n")] = 0;
    snprintf(elem, sizeof elem, "%s", strsep(&p, ","));
    snprintf(name, sizeof name, "mxfp%d_%s", elem[1] == '2' ? 4 : 8, elem);
    const struct tsr_block *b = tsr_block_find(name);
    double amax = strtod(strsep(&p, ","), NULL);
    for (size_t i = 0; i < N(columns); i++) {
      struct tsr_block_spec s = {.scale_mode = columns[i]};
      unsigned long code = strtoul(strsep(&p, ","), NULL, 10);
      bool sat = strcmp(strsep(&p, ","), "sat") == 0;
      struct tsr_num v = num(-amax);
      uint64_t got = tsr_block_scale(b, &s, &v, 0, NULL), scale;
      double x = ldexp(1, (int)got - 127), back;
      if (got != code) fail_msg("%s %g mode %zu: %d, not %lu", name, amax, i, (int)got, code);
      assert_int_equal(amax / x > largest(b->elem), sat);
      unsigned ev = there_and_back(b, &s, &amax, 1, 0, &scale, &back);
      assert_int_equal(scale, code);
      if (sat) assert_true(back == largest(b->elem) * x);
      if (!sat) assert_false(ev & TSR_EVENT_SATURATED);
    }
    rows++;
  }
  fclose(f);
  assert_int_equal(rows, 33);
}

static void known_blocks_have_their_values(void **state) {
  (void)state;
  static const struct {
    const char *format;
    enum tsr_block_scale_mode mode;
    double in[4];
    uint64_t scale;
    double out[4];
  } rows[] = {
      /* The block maximum itself is clipped: 957 / 2 is above 448. */
      {"mxfp8_e4m3", TSR_BLOCK_SCALE_FLOOR, {957, 1, -3, 0}, 128, {896, 1, -3, 0}},
      {"mxfp8_e4m3", TSR_BLOCK_SCALE_RCEIL, {957, 1, -3, 0}, 129, {960, 1, -3, 0}},
      {"mxfp4_e2m1", TSR_BLOCK_SCALE_FLOOR, {6, -4, 0.5, 0.25}, 127, {6, -4, 0.5, 0}},
      {"mxfp4_e2m1", TSR_BLOCK_SCALE_FLOOR, {7, 1, 0, 0}, 127, {6, 1, 0, 0}},
      {"mxfp6_e2m3", TSR_BLOCK_SCALE_FLOOR, {0.9375, 0.015625, 0, 0}, 124, {0.9375, 0.015625}},
      {"mxint8",
       TSR_BLOCK_SCALE_FLOOR,
       {1.984375, -1.5, 0.0078125, 0.015625},
       127,
       {1.984375, -1.5, 0, 0.015625}},
      {"mxint8", TSR_BLOCK_SCALE_FLOOR, {100, -64, 1, 0.5}, 133, {100, -64, 1, 0}},
      /* Zeros take the smallest scale; it is 2^-127, no zero. */
      {"mxfp8_e5m2", TSR_BLOCK_SCALE_FLOOR, {0, -0.0, 0, 0}, 0, {0, 0, 0, 0}},
      {"mxfp8_e5m2", TSR_BLOCK_SCALE_FLOOR, {0x1p-135, 0, 0, 0}, 0, {0x1p-135, 0, 0, 0}},
      {"mxfp8_e5m2", TSR_BLOCK_SCALE_FLOOR, {0x1p127, 0, 0, 0}, 239, {0x1p127, 0, 0, 0}},
  };
  for (size_t i = 0; i < N(rows); i++) {
    struct tsr_block_spec s = {.scale_mode = rows[i].mode};
    uint64_t scale;
    double back[4];
    there_and_back(tsr_block_find(rows[i].format), &s, rows[i].in, 4, 0, &scale, back);
    if (scale != rows[i].scale) fail_msg("row %zu: scale %d", i, (int)scale);
    for (int k = 0; k < 4; k++)
      if (back[k] != rows[i].out[k]) fail_msg("row %zu element %d: %g", i, k, back[k]);
  }
}

static void specials_follow_the_saturate_flag(void **state) {
  (void)state;
  const double inf = (double)INFINITY, nan = (double)NAN;
  const struct {
    const char *format;
    double v;
    bool saturate;
    uint64_t scale;
    double back; /* of the special itself; every other element under a NaN scale is NaN */
    unsigned events;
  } rows[] = {
      {"mxfp8_e4m3", nan, true, 0xff, nan, 0},
      {"mxfp8_e4m3", -inf, false, 0xff, nan, TSR_EVENT_INVALID},
      {"mxfp8_e4m3", -inf, true, 0xfe, -448 * 0x1p127, TSR_EVENT_SATURATED},
      {"mxint8", 0x1p130, false, 0xff, nan, TSR_EVENT_OVERFLOW | TSR_EVENT_INVALID},
      {"mxint8", 0x1p130, true, 0xfe, 0x1.fcp127, TSR_EVENT_OVERFLOW | TSR_EVENT_SATURATED},
      {"nvfp4", nan, true, 0x7f, nan, 0},
      {"nvfp4", inf, true, 0x7e, 448 * 6, TSR_EVENT_SATURATED},
      {"nvfp4", inf, false, 0x7f, nan, TSR_EVENT_INVALID},
  };
  for (size_t i = 0; i < N(rows); i++) {
    struct tsr_block_spec s = {.round = {.saturate = rows[i].saturate}};
    double in[2] = {rows[i].v, 1}, back[2];
    uint64_t scale;
    unsigned ev =
        there_and_back(tsr_block_find(rows[i].format), &s, in, 2, 0x3f800000, &scale, back);
    assert_int_equal(scale, rows[i].scale);
    assert_true(back[0] == rows[i].back || (isnan(back[0]) && isnan(rows[i].back)));
    assert_int_equal(isnan(back[1]), isnan(rows[i].back));
    assert_int_equal(ev & rows[i].events, rows[i].events);
    assert_int_equal(ev & TSR_EVENT_INVALID, rows[i].events & TSR_EVENT_INVALID);
  }
}

/* No element value lies nearer than the one taken: products of element and scales are
 * exact in double, and a rounded difference is never on the wrong side of another. */
static void every_element_is_the_nearest(void **state) {
  (void)state;
  for (size_t f = 0; f < tsr_block_count(); f++) {
    const struct tsr_block *b = tsr_block_at(f);
    struct tsr_rng r = {f};
    for (int rep = 0; rep < 200; rep++) {
      struct tsr_block_spec s = {.scale_mode = (enum tsr_block_scale_mode)(rep % 4)};
      double in[BLOCK_MAX], back[BLOCK_MAX], amax = 0;
      for (size_t i = 0; i < b->len; i++) {
        uint64_t x = tsr_rng_next(&r);
        in[i] = ldexp((double)(int64_t)(x & 0xffff) - 32768, (int)(x >> 60) - 20);
        amax = fmax(amax, fabs(in[i]));
      }
      struct tsr_num top = num(amax * (rep % 3 + 1));
      uint64_t tensor = tsr_block_tensor_scale(b, &top, NULL), scale;
      there_and_back(b, &s, in, b->len, tensor, &scale, back);
      double x = tsr_arith_to_double(b->scale, scale);
      if (b->tensor_scale) x *= tsr_arith_to_double(tsr_format_find("fp32"), tensor);
      for (size_t i = 0; i < b->len; i++)
        for (uint64_t c = 0; c < (uint64_t)1 << b->elem->bits; c++) {
          double other = tsr_arith_to_double(b->elem, c) * x;
          if (!isfinite(other)) continue;
          if (fabs(other - in[i]) < fabs(back[i] - in[i]))
            fail_msg("%s: %a became %a, %a is nearer", b->name, in[i], back[i], other);
        }
    }
  }
}

static void encoding_what_was_decoded_changes_nothing(void **state) {
  (void)state;
  for (size_t f = 0; f < tsr_block_count(); f++) {
    const struct tsr_block *b = tsr_block_at(f);
    struct tsr_rng r = {7 + f};
    for (int rep = 0; rep < 100; rep++) {
      double in[BLOCK_MAX], once[BLOCK_MAX], twice[BLOCK_MAX];
      struct tsr_block_spec s = {.scale_mode = TSR_BLOCK_SCALE_FLOOR};
      uint64_t scale;
      for (size_t i = 0; i < b->len; i++) in[i] = tsr_rng_normal(3, f, tsr_rng_next(&r));
      there_and_back(b, &s, in, b->len, 0x3b000000, &scale, once);
      there_and_back(b, &s, once, b->len, 0x3b000000, &scale, twice);
      for (size_t i = 0; i < b->len; i++) assert_true(once[i] == twice[i]);
    }
  }
}

static void nvfp4_has_two_scales(void **state) {
  (void)state;
  const struct tsr_block *b = tsr_block_find("nvfp4");
  struct tsr_block_spec s = {.scale_mode = TSR_BLOCK_SCALE_FLOOR};
  static const struct {
    double tensor_amax, block_amax;
    uint64_t tensor, scale;
  } rows[] = {
      {2688, 2688, 0x3f800000, 0x7e}, /* 448 * 6: both full */
      {2688, 6, 0x3f800000, 0x38},    /* block scale 1 */
      {1344, 1344, 0x3f000000, 0x7e},        {2688, 1344, 0x3f800000, 0x76}, /* 224 */
      {2688, 6 * 1.0625, 0x3f800000, 0x38},  /* a tie, to even */
      {2688, 6 * 0x1p-11, 0x3f800000, 0x00}, /* far below the tensor */
      {2688, 0, 0x3f800000, 0x00},           {0, 0, 0x3f800000, 0x00},
  };
  for (size_t i = 0; i < N(rows); i++) {
    struct tsr_num t = num(rows[i].tensor_amax), m = num(rows[i].block_amax);
    uint64_t tensor = tsr_block_tensor_scale(b, &t, NULL);
    assert_int_equal(tensor, rows[i].tensor);
    assert_int_equal(tsr_block_scale(b, &s, &m, tensor, NULL), rows[i].scale);
  }
  /* Under a scale of zero every element is zero, of its sign, and is counted. */
  double in[2] = {0x1p-9, -0x1p-9}, back[2];
  uint64_t scale;
  unsigned ev = there_and_back(b, &s, in, 2, 0x3f800000, &scale, back);
  assert_int_equal(scale, 0);
  assert_true(back[0] == 0 && back[1] == 0);
  assert_int_equal(ev & TSR_EVENT_UNDERFLOW, TSR_EVENT_UNDERFLOW);
  struct tsr_num tiny = num(0x1p-149), infinite = num((double)INFINITY);
  assert_int_equal(tsr_block_tensor_scale(b, &tiny, NULL), 1);
  assert_int_equal(tsr_block_tensor_scale(b, &infinite, &ev), 0x7fc00000);
  assert_true(ev & TSR_EVENT_INVALID);
}

static void rounding_of_elements_is_free(void **state) {
  (void)state;
  const struct tsr_block *b = tsr_block_find("mxfp4_e2m1");
  static const struct {
    enum tsr_round mode;
    double out; /* of 2.5 beside 4: a tie between 2 and 3 */
  } rows[] = {{TSR_ROUND_RNE, 2}, {TSR_ROUND_RNA, 3}, {TSR_ROUND_RZ, 2}, {TSR_ROUND_RU, 3}};
  double in[2] = {2.5, 4}, back[2];
  uint64_t scale;
  for (size_t i = 0; i < N(rows); i++) {
    struct tsr_block_spec s = {.round = {.mode = rows[i].mode}};
    there_and_back(b, &s, in, 2, 0, &scale, back);
    assert_true(back[0] == rows[i].out && back[1] == 4);
  }
  /* Stochastic: by the index of the element, whatever the block it is in. */
  struct tsr_block_spec s = {.round = {.mode = TSR_ROUND_SR, .seed = 9}};
  const struct tsr_format *d = tsr_format_find("fp64");
  uint64_t v[32], whole[32], part[16];
  for (size_t i = 0; i < 32; i++) v[i] = fp64_code(i % 16 ? 2.5 : 4);
  tsr_block_encode(b, &s, d, v, 32, 100, 0, &scale, whole, NULL);
  tsr_block_encode(b, &s, d, v + 16, 16, 116, 0, &scale, part, NULL);
  assert_memory_equal(whole + 16, part, sizeof part);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_found),
      cmocka_unit_test(scale_modes_give_the_recorded_codes),
      cmocka_unit_test(known_blocks_have_their_values),
      cmocka_unit_test(specials_follow_the_saturate_flag),
      cmocka_unit_test(every_element_is_the_nearest),
      cmocka_unit_test(encoding_what_was_decoded_changes_nothing),
      cmocka_unit_test(nvfp4_has_two_scales),
      cmocka_unit_test(rounding_of_elements_is_free),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
