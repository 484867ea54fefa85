#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/format.h"
#include "sim/base/rng.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

enum {
  OVER = TSR_EVENT_OVERFLOW | TSR_EVENT_INEXACT,
  CLIP = OVER | TSR_EVENT_SATURATED,
  UNDER = TSR_EVENT_UNDERFLOW | TSR_EVENT_INEXACT
};

/* Formats without infinity, or without any special, that the table may get. */
static const struct tsr_format e4m3 = {"e4m3", false, false, 8,    0,  4,
                                       3,      7,     false, true, "", ""};
static const struct tsr_format e2m1 = {"e2m1", false, false, 4,     0,  2,
                                       1,      1,     false, false, "", ""};

static uint64_t encode_decoded(const struct tsr_format *f, enum tsr_round mode, uint64_t code,
                               unsigned *ev) {
  struct tsr_num v = tsr_arith_decode(f, code);
  return tsr_arith_encode(f, mode, &v, ev);
}

static void check_identity(const struct tsr_format *f, uint64_t code) {
  struct tsr_num v = tsr_arith_decode(f, code);
  for (int mode = 0; mode < TSR_ROUND_N_; mode++) {
    unsigned ev = 0;
    uint64_t back = encode_decoded(f, (enum tsr_round)mode, code, &ev);
    assert_int_equal(ev & ~(unsigned)TSR_EVENT_SUBNORMAL_OUT, 0);
    assert_int_equal((ev & TSR_EVENT_SUBNORMAL_OUT) != 0, v.subnormal);
    if (v.cls == TSR_NUM_NAN) {
      assert_int_equal(tsr_arith_decode(f, back).cls, TSR_NUM_NAN);
    } else {
      assert_int_equal(back, code >> f->pad_bits << f->pad_bits);
    }
  }
}

static void encoding_a_decoded_code_gives_it_back(void **state) {
  (void)state;
  for (size_t i = 0; i < tsr_format_count(); i++) {
    const struct tsr_format *f = tsr_format_at(i);
    struct tsr_rng r = {i};
    uint64_t codes = f->bits <= 16 ? UINT64_C(1) << f->bits : 100000;
    for (uint64_t c = 0; c < codes; c++)
      check_identity(f, f->bits <= 16 ? c : tsr_rng_next(&r) & 0xffffffffu);
  }
  for (uint64_t c = 0; c < 256; c++) check_identity(&e4m3, c);
  for (uint64_t c = 0; c < 16; c++) check_identity(&e2m1, c);
}

static void names_are_found_and_unique(void **state) {
  (void)state;
  static const char *const want[] = {"fp32", "tf32", "fp16", "bf16", "int8", "uint8", "int32"};
  assert_int_equal(tsr_format_count(), N(want));
  for (size_t i = 0; i < N(want); i++) {
    assert_string_equal(tsr_format_find(want[i])->name, want[i]);
    assert_ptr_equal(tsr_format_find(want[i]), tsr_format_at(i));
  }
  assert_null(tsr_format_find("fp17"));
  assert_null(tsr_format_at(N(want)));
}

static void known_codes_have_their_values(void **state) {
  (void)state;
  static const struct {
    const char *format;
    uint64_t code;
    double value;
  } rows[] = {
      {"fp16", 0x7bff, 65504},
      {"fp16", 0x0001, 0x1p-24},
      {"fp16", 0x0400, 0x1p-14},
      {"fp16", 0xc000, -2},
      {"bf16", 0x3f81, 1.0078125},
      {"bf16", 0x0001, 0x1p-133},
      {"fp32", 0x00000001, 0x1p-149},
      {"fp32", 0x7f7fffff, 0x1.fffffep127},
      {"tf32", 0x3f801fff, 1},
      {"tf32", 0x3f802000, 1 + 0x1p-10},
      {"tf32", 0x00002000, 0x1p-136},
      {"int8", 0x80, -128},
      {"int8", 0xff, -1},
      {"uint8", 0xff, 255},
      {"int32", 0x80000000, -0x1p31},
  };
  for (size_t i = 0; i < N(rows); i++) {
    double got = tsr_arith_to_double(tsr_format_find(rows[i].format), rows[i].code);
    assert_true(got == rows[i].value);
  }
}

static void doubles_round_once(void **state) {
  (void)state;
  static const struct {
    const char *format;
    double v;
    uint64_t rne, rz;
    unsigned rne_ev, rz_ev;
  } rows[] = {
      /* A detour over fp32 would round these twice. */
      {"bf16", 1 + 0x1p-8 + 0x1p-40, 0x3f81, 0x3f80, TSR_EVENT_INEXACT, TSR_EVENT_INEXACT},
      {"fp16", 1 + 0x1p-11 + 0x1p-40, 0x3c01, 0x3c00, TSR_EVENT_INEXACT, TSR_EVENT_INEXACT},
      {"fp16", 1 + 0x1p-11, 0x3c00, 0x3c00, TSR_EVENT_INEXACT, TSR_EVENT_INEXACT},
      {"fp16", 1 + 3 * 0x1p-11, 0x3c02, 0x3c01, TSR_EVENT_INEXACT, TSR_EVENT_INEXACT},
      {"fp16", 65519.99, 0x7bff, 0x7bff, TSR_EVENT_INEXACT, TSR_EVENT_INEXACT},
      {"fp16", 65520, 0x7c00, 0x7bff, OVER, TSR_EVENT_INEXACT},
      {"fp16", -65536, 0xfc00, 0xfbff, OVER, CLIP},
      {"fp16", 1e300, 0x7c00, 0x7bff, OVER, CLIP},
      {"fp16", 0x1p-25, 0, 0, UNDER, UNDER},
      {"fp16", 0x1.8p-25, 1, 0, UNDER | TSR_EVENT_SUBNORMAL_OUT, UNDER},
      {"fp16", -0x1p-24, 0x8001, 0x8001, TSR_EVENT_SUBNORMAL_OUT, TSR_EVENT_SUBNORMAL_OUT},
      {"fp16", 0x1p-1060, 0, 0, UNDER | TSR_EVENT_SUBNORMAL_IN, UNDER | TSR_EVENT_SUBNORMAL_IN},
      /* Rounded up to the smallest normal number: tiny only where the rounding with
       * an unbounded exponent stays below it. */
      {"fp16", 0x1p-14 - 0x1p-25, 0x0400, 0x03ff, UNDER, UNDER | TSR_EVENT_SUBNORMAL_OUT},
      {"fp16", 0x1p-14 - 0x1p-26, 0x0400, 0x03ff, TSR_EVENT_INEXACT,
       UNDER | TSR_EVENT_SUBNORMAL_OUT},
      {"fp16", -0.0, 0x8000, 0x8000, 0, 0},
      {"tf32", 1 + 0x1p-11, 0x3f800000, 0x3f800000, TSR_EVENT_INEXACT, TSR_EVENT_INEXACT},
      {"tf32", 1 + 3 * 0x1p-11, 0x3f804000, 0x3f802000, TSR_EVENT_INEXACT, TSR_EVENT_INEXACT},
      {"int8", 2.5, 2, 2, TSR_EVENT_INEXACT, TSR_EVENT_INEXACT},
      {"int8", -3.5, 0xfc, 0xfd, TSR_EVENT_INEXACT, TSR_EVENT_INEXACT},
      {"int8", 127.5, 127, 127, CLIP, TSR_EVENT_INEXACT},
      {"int8", -128.5, 0x80, 0x80, TSR_EVENT_INEXACT, TSR_EVENT_INEXACT},
      {"int8", -129, 0x80, 0x80, CLIP, CLIP},
      {"int8", 0x1p-70, 0, 0, TSR_EVENT_INEXACT, TSR_EVENT_INEXACT},
      {"uint8", -1, 0, 0, CLIP, CLIP},
      {"uint8", -0.25, 0, 0, TSR_EVENT_INEXACT, TSR_EVENT_INEXACT},
      {"uint8", 256, 255, 255, CLIP, CLIP},
      {"int32", 0x1p31, 0x7fffffff, 0x7fffffff, CLIP, CLIP},
      {"int32", -0x1p31, 0x80000000, 0x80000000, 0, 0},
      {"int32", 1e300, 0x7fffffff, 0x7fffffff, CLIP, CLIP},
      {"int32", __builtin_inf(), 0x7fffffff, 0x7fffffff, TSR_EVENT_SATURATED,
       TSR_EVENT_SATURATED},
      {"int8", -__builtin_inf(), 0x80, 0x80, TSR_EVENT_SATURATED, TSR_EVENT_SATURATED},
      {"int8", __builtin_nan(""), 0, 0, TSR_EVENT_INVALID, TSR_EVENT_INVALID},
      {"fp16", __builtin_nan(""), 0x7e00, 0x7e00, 0, 0},
      {"tf32", __builtin_nan(""), 0x7fc00000, 0x7fc00000, 0, 0},
      {"bf16", -__builtin_inf(), 0xff80, 0xff80, 0, 0},
  };
  for (size_t i = 0; i < N(rows); i++) {
    const struct tsr_format *f = tsr_format_find(rows[i].format);
    unsigned ev = 0;
    print_message("%s %a\n", f->name, rows[i].v);
    assert_int_equal(tsr_arith_from_double(f, TSR_ROUND_RNE, rows[i].v, &ev), rows[i].rne);
    assert_int_equal(ev, rows[i].rne_ev);
    ev = 0;
    assert_int_equal(tsr_arith_from_double(f, TSR_ROUND_RZ, rows[i].v, &ev), rows[i].rz);
    assert_int_equal(ev, rows[i].rz_ev);
  }
}

static void formats_without_specials_clip(void **state) {
  (void)state;
  static const struct {
    const struct tsr_format *f;
    double v;
    uint64_t code;
    unsigned ev;
  } rows[] = {
      {&e4m3, 448, 0x7e, 0},
      {&e4m3, 463, 0x7e, TSR_EVENT_INEXACT},
      {&e4m3, 1000, 0x7e, CLIP},
      {&e4m3, -__builtin_inf(), 0xfe, TSR_EVENT_SATURATED},
      {&e4m3, __builtin_nan(""), 0x7f, 0},
      {&e4m3, 0x1p-9, 0x01, TSR_EVENT_SUBNORMAL_OUT},
      {&e2m1, 6, 0x7, 0},
      {&e2m1, 100, 0x7, CLIP},
      {&e2m1, -0.5, 0x9, TSR_EVENT_SUBNORMAL_OUT},
      {&e2m1, 2.5, 0x4, TSR_EVENT_INEXACT},
      {&e2m1, __builtin_nan(""), 0, TSR_EVENT_INVALID},
  };
  for (size_t i = 0; i < N(rows); i++) {
    unsigned ev = 0;
    assert_int_equal(tsr_arith_from_double(rows[i].f, TSR_ROUND_RNE, rows[i].v, &ev),
                     rows[i].code);
    assert_int_equal(ev, rows[i].ev);
  }
}

static void sticky_bits_decide_ties_and_exactness(void **state) {
  (void)state;
  const struct tsr_format *f = tsr_format_find("fp16");
  /* (1 + 2^-11) with and without something below: sig has its last bit at 2^-63. */
  uint64_t sig = UINT64_C(1) << 63 | UINT64_C(1) << 52;
  unsigned ev = 0;
  assert_int_equal(tsr_arith_round(f, TSR_ROUND_RNE, false, -63, sig, false, &ev), 0x3c00);
  assert_int_equal(tsr_arith_round(f, TSR_ROUND_RNE, true, -63, sig, true, &ev), 0xbc01);
  assert_int_equal(ev, TSR_EVENT_INEXACT);
  ev = 0;
  assert_int_equal(tsr_arith_round(f, TSR_ROUND_RZ, false, -63, UINT64_C(1) << 63, true, &ev),
                   0x3c00);
  assert_int_equal(ev, TSR_EVENT_INEXACT);
  ev = 0;
  assert_int_equal(tsr_arith_round(f, TSR_ROUND_RNE, true, -500, 0, true, &ev), 0x8000);
  assert_int_equal(ev, UNDER);
  ev = 0;
  assert_int_equal(tsr_arith_round(f, TSR_ROUND_RNE, true, 500, 0, false, NULL), 0x8000);
  assert_int_equal(ev, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(encoding_a_decoded_code_gives_it_back),
      cmocka_unit_test(names_are_found_and_unique),
      cmocka_unit_test(known_codes_have_their_values),
      cmocka_unit_test(doubles_round_once),
      cmocka_unit_test(formats_without_specials_clip),
      cmocka_unit_test(sticky_bits_decide_ties_and_exactness),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
