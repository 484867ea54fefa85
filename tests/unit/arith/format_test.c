#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
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

/* Narrower formats: every code, in convert_test. */
static void encoding_a_decoded_wide_code_gives_it_back(void **state) {
  (void)state;
  for (size_t i = 0; i < tsr_format_count(); i++) {
    const struct tsr_format *f = tsr_format_at(i);
    struct tsr_rng r = {i};
    if (f->bits <= 16) continue;
    for (int n = 0; n < 50000; n++) {
      uint64_t code = tsr_rng_next(&r) >> (64 - f->bits);
      if (n % 8 == 0) code &= ~(f->is_int ? 0 : (uint64_t)0xff << (f->man_bits + f->pad_bits));
      check_identity(f, code);
    }
  }
}

static void names_are_found_and_unique(void **state) {
  (void)state;
  static const char *const want[] = {
      "fp64",     "fp32",         "tf32",         "fp16",     "bf16",     "fp8_e4m3",
      "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1",
      "nf4",      "e8m0",         "ue4m3",        "int4",     "int8",     "uint8",
      "int8_f6",  "int16",        "int32"};
  assert_int_equal(tsr_format_count(), N(want));
  for (size_t i = 0; i < N(want); i++) {
    assert_string_equal(tsr_format_find(want[i])->name, want[i]);
    assert_ptr_equal(tsr_format_find(want[i]), tsr_format_at(i));
  }
  assert_null(tsr_format_find("fp17"));
  assert_null(tsr_format_find("e5m2"));
  assert_null(tsr_format_at(N(want)));
}

static void a_name_spells_a_format(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *row; /* the same format in the table */
  } rows[] = {
      {"e5m2", "fp8_e5m2"},
      {"e4m3:fn", "fp8_e4m3"},
      {"e4m3:noinf", "fp8_e4m3"},
      {"e4m3:fnuz", "fp8_e4m3fnuz"},
      {"e4m3:nonegzero:bias8:noinf", "fp8_e4m3fnuz"},
      {"e5m2:fnuz", "fp8_e5m2fnuz"},
      {"e3m2:nonan:noinf", "fp6_e3m2"},
      {"e2m1:noinf:nonan", "fp4_e2m1"},
      {"e5m10", "fp16"},
      {"e8m7", "bf16"},
      {"e8m23", "fp32"},
      {"e11m52", "fp64"},
      {"fp16", "fp16"},
      {"nf4", "nf4"},
  };
  for (size_t i = 0; i < N(rows); i++) {
    struct tsr_format f;
    const struct tsr_format *r = tsr_format_find(rows[i].row);
    assert_int_equal(tsr_format_parse(rows[i].name, &f, NULL), TSR_OK);
    assert_string_equal(f.name, rows[i].name);
    assert_int_equal(f.bits, r->bits);
    assert_int_equal(f.exp_bits, r->exp_bits);
    assert_int_equal(f.man_bits, r->man_bits);
    assert_int_equal(f.bias, r->bias);
    assert_int_equal(f.has_inf, r->has_inf);
    assert_int_equal(f.has_nan, r->has_nan);
    assert_int_equal(f.no_neg_zero, r->no_neg_zero);
    assert_int_equal(f.no_subnormals, r->no_subnormals);
    assert_ptr_equal(f.codec, r->codec);
  }
}

static void names_that_spell_none_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name, *message;
  } rows[] = {
      {"", "unknown format"},
      {"e", "unknown format"},
      {"e5", "unknown format"},
      {"e5m", "unknown format"},
      {"e0m3", "unknown format"},
      {"e12m3", "unknown format"},
      {"e05m3", "unknown format"},
      {"e5m53", "unknown format"},
      {"e5m99999999999", "unknown format"},
      {"e5m2:", "unknown format"},
      {"e5m2:inf", "unknown format"},
      {"e5m2:nosub:nosub", "unknown format"},
      {"e5m2:fn:noinf", "unknown format"},
      {"e5m2:bias", "unknown format"},
      {"e5m2:bias-1", "unknown format"},
      {"e5m2:bias99999", "unknown format"},
      {"e5m2 ", "unknown format"},
      {"fp8_e4m4", "did you mean 'fp8_e4m3'"},
      {"e5m2:nonan", "expected noinf beside nonan"},
      {"e4m3:fnuz:noinf", "expected fnuz without"},
      {"e4m3:unsigned:nonegzero", "expected unsigned without"},
      {"e5m0", "expected a fraction bit for NaN"},
      {"e1m4", "expected room for a normal number"},
      {"e1m0:fn", "expected room for a normal number"},
      {"e11m52:noinf", "expected a range within fp64"},
      {"e11m52:fnuz", "expected a range within fp64"},
      {"e5m10:bias1070", "expected a range within fp64"},
  };
  for (size_t i = 0; i < N(rows); i++) {
    struct tsr_format f = {.bits = 77};
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_format_parse(rows[i].name, &f, &err), TSR_USAGE);
    assert_int_equal(f.bits, 77);
    assert_int_equal(err.n, 1);
    if (!strstr(err.msg[0], rows[i].message))
      fail_msg("'%s' gives: %s", rows[i].name, err.msg[0]);
    tsr_err_fini(&err);
  }
}

/* Names put together at random: refused with a message, or a format whose codes come
 * back and whose values lie in fp64. */
static void every_name_that_spells_a_format_gives_one_that_works(void **state) {
  (void)state;
  static const char *const parts[] = {":noinf",     ":nonan",    ":fnuz",        ":nosub",
                                      ":nonegzero", ":unsigned", ":bias3",       ":bias15",
                                      ":fn",        "",          ":noinf:nonan", ":bias1000"};
  const struct tsr_format *d = tsr_format_find("fp64");
  struct tsr_rng r = {21};
  int accepted = 0;
  for (int i = 0; i < 4000; i++) {
    char name[80];
    uint64_t x = tsr_rng_next(&r);
    snprintf(name, sizeof name, "e%dm%d%s%s%s", (int)(x % 13), (int)((x >> 8) % 54),
             parts[(x >> 16) % N(parts)], parts[(x >> 24) % N(parts)],
             parts[(x >> 32) % N(parts)]);
    struct tsr_format f;
    if (tsr_format_parse(name, &f, NULL) != TSR_OK) continue;
    accepted++;
    for (int n = 0; n < 40; n++) {
      uint64_t code = tsr_rng_next(&r) >> (64 - f.bits);
      if (n < 4) code = (n & 1 ? UINT64_MAX : 0) >> (64 - f.bits) >> (n / 2);
      struct tsr_num v = tsr_arith_decode(&f, code);
      uint64_t back = tsr_arith_encode(&f, TSR_ROUND_RNE, &v, NULL);
      struct tsr_num w = tsr_arith_decode(&f, back);
      assert_int_equal(v.cls, w.cls);
      if (v.cls == TSR_NUM_NAN) continue;
      assert_true(v.sign == w.sign && v.exp == w.exp && v.sig == w.sig);
      unsigned ev = 0;
      uint64_t wide = tsr_arith_convert(&f, code, d, TSR_ROUND_RNE, &ev);
      assert_int_equal(ev & (TSR_EVENT_INEXACT | TSR_EVENT_INVALID), 0);
      assert_int_equal(tsr_arith_convert(d, wide, &f, TSR_ROUND_RD, NULL), back);
    }
  }
  assert_in_range(accepted, 300, 3000);
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
      {"fp64", 1, 0x1p-1074},
      {"fp8_e4m3", 0x7e, 448},
      {"fp8_e4m3", 0x01, 0x1p-9},
      {"fp8_e5m2", 0x7b, 57344},
      {"fp8_e5m2", 0x01, 0x1p-16},
      {"fp8_e4m3fnuz", 0x7f, 240},
      {"fp8_e4m3fnuz", 0x01, 0x1p-10},
      {"fp8_e5m2fnuz", 0x7f, 57344},
      {"fp8_e5m2fnuz", 0x81, -0x1p-17},
      {"fp6_e3m2", 0x1f, 28},
      {"fp6_e3m2", 0x01, 0.0625},
      {"fp6_e2m3", 0x1f, 7.5},
      {"fp6_e2m3", 0x21, -0.125},
      {"fp4_e2m1", 0x7, 6},
      {"fp4_e2m1", 0xd, -3},
      {"nf4", 0, -1},
      {"nf4", 7, 0},
      {"nf4", 14, 0x1.722766p-1},
      {"e8m0", 0x00, 0x1p-127},
      {"e8m0", 0x7f, 1},
      {"e8m0", 0x86, 128},
      {"e8m0", 0xfe, 0x1p127},
      {"ue4m3", 0x7e, 448},
      {"ue4m3", 0xfe, 448},
      {"ue4m3", 0x01, 0x1p-9},
      {"int4", 0x8, -8},
      {"int8_f6", 0x7f, 1.984375},
      {"int8_f6", 0x80, -2},
      {"int16", 0x8000, -32768},
  };
  for (size_t i = 0; i < N(rows); i++) {
    double got = tsr_arith_to_double(tsr_format_find(rows[i].format), rows[i].code);
    if (got != rows[i].value)
      fail_msg("%s %#llx is %a", rows[i].format, (unsigned long long)rows[i].code, got);
  }
}

static void known_codes_are_nan(void **state) {
  (void)state;
  static const struct {
    const char *format;
    uint64_t code; /* what a NaN becomes */
    uint64_t ones; /* the same where units set every bit */
    uint64_t also; /* another NaN */
  } rows[] = {
      {"fp64", 0x7ff8000000000000, 0x7fffffffffffffff, 0xfff0000000000001},
      {"fp32", 0x7fc00000, 0x7fffffff, 0xff800001},
      {"tf32", 0x7fc00000, 0x7fffe000, 0x7f802000},
      {"fp16", 0x7e00, 0x7fff, 0xfc01},
      {"bf16", 0x7fc0, 0x7fff, 0xff81},
      {"fp8_e5m2", 0x7e, 0x7f, 0xfd},
      {"fp8_e4m3", 0x7f, 0x7f, 0xff},
      {"fp8_e4m3fnuz", 0x80, 0x80, 0x80},
      {"fp8_e5m2fnuz", 0x80, 0x80, 0x80},
      {"e8m0", 0xff, 0xff, 0xff},
      {"ue4m3", 0x7f, 0x7f, 0xff},
  };
  for (size_t i = 0; i < N(rows); i++) {
    const struct tsr_format *f = tsr_format_find(rows[i].format);
    struct tsr_num v = tsr_arith_decode(f, rows[i].also);
    assert_int_equal(v.cls, TSR_NUM_NAN);
    struct tsr_round_spec quiet = {.nan = TSR_NAN_QUIET}, ones = {.nan = TSR_NAN_ONES};
    unsigned ev = 0;
    assert_int_equal(tsr_arith_encode_spec(f, &quiet, 0, &v, &ev), rows[i].code);
    assert_int_equal(tsr_arith_encode_spec(f, &ones, 0, &v, &ev), rows[i].ones);
    assert_int_equal(ev, 0);
    assert_int_equal(tsr_arith_decode(f, rows[i].ones).cls, TSR_NUM_NAN);
  }
}

/* What other tools got wrong, or differ in. */
static void known_conversions_give_the_documented_code(void **state) {
  (void)state;
  static const struct {
    const char *format;
    double v;
    bool saturate;
    enum tsr_round mode;
    uint64_t code;
  } rows[] = {
      /* Beyond 448 the convention is a flag, not a habit. */
      {"fp8_e4m3", 1000, false, TSR_ROUND_RNE, 0x7f},
      {"fp8_e4m3", 1000, true, TSR_ROUND_RNE, 0x7e},
      {"fp8_e4m3", 464, false, TSR_ROUND_RNE, 0x7e},
      {"fp8_e4m3", 464.0000000000001, false, TSR_ROUND_RNE, 0x7f},
      {"fp8_e4m3", -1000, false, TSR_ROUND_RNE, 0x7f},
      {"fp8_e4m3", -1000, false, TSR_ROUND_RZ, 0xfe},
      {"fp8_e5m2", 1e6, false, TSR_ROUND_RNE, 0x7c},
      {"fp8_e5m2", 1e6, true, TSR_ROUND_RNE, 0x7b},
      {"fp8_e5m2", -__builtin_inf(), false, TSR_ROUND_RNE, 0xfc},
      {"fp8_e5m2", -__builtin_inf(), true, TSR_ROUND_RNE, 0xfb},
      {"fp8_e4m3", __builtin_inf(), false, TSR_ROUND_RZ, 0x7f},
      {"fp8_e4m3fnuz", __builtin_inf(), false, TSR_ROUND_RNE, 0x80},
      {"fp8_e4m3fnuz", __builtin_inf(), true, TSR_ROUND_RNE, 0x7f},
      /* A detour over fp32 would round twice. */
      {"fp8_e4m3", -431.99999999999994, false, TSR_ROUND_RNE, 0xfd}, /* -416 */
      {"bf16", 1 + 0x1p-8 + 0x1p-40, false, TSR_ROUND_RNE, 0x3f81},
      /* A negative that rounds to zero is +0, not NaN, where there is no -0. */
      {"fp8_e4m3fnuz", -1e-8, false, TSR_ROUND_RNE, 0x00},
      {"fp8_e5m2fnuz", -1e-8, false, TSR_ROUND_RNE, 0x00},
      {"fp8_e5m2fnuz", -0.0, false, TSR_ROUND_RD, 0x00},
      {"fp8_e4m3", -1e-8, false, TSR_ROUND_RNE, 0x80},
      /* fp32 to bf16 to nearest even, where a truncation drifts toward zero. */
      {"bf16", 1.00585938, false, TSR_ROUND_RNE, 0x3f81},
      {"bf16", 1.00585938, false, TSR_ROUND_RZ, 0x3f80},
      /* 3.0 with every fraction bit of fp32 in use keeps its sign. */
      {"fp32", 3.0, false, TSR_ROUND_RNE, 0x40400000},
      {"fp32", 3.99999999, false, TSR_ROUND_RNE, 0x40800000},
      /* Ties away from zero only where asked for. */
      {"fp16", 1 + 0x1p-11, false, TSR_ROUND_RNA, 0x3c01},
      {"fp16", 1 + 0x1p-11, false, TSR_ROUND_RNE, 0x3c00},
      /* Scales: E8M0 has neither zero nor infinity, UE4M3 ends at 448. */
      {"e8m0", 128, false, TSR_ROUND_RNE, 0x86},
      {"e8m0", 0, false, TSR_ROUND_RNE, 0x00},
      {"e8m0", __builtin_inf(), false, TSR_ROUND_RNE, 0xff},
      {"e8m0", __builtin_inf(), true, TSR_ROUND_RNE, 0xfe},
      {"e8m0", -1, true, TSR_ROUND_RNE, 0x00},
      {"e8m0", -1, false, TSR_ROUND_RNE, 0xff},
      {"e8m0", 0x1.8p3, false, TSR_ROUND_RNE, 0x83},
      {"e8m0", 0x1.7fp3, false, TSR_ROUND_RNE, 0x82},
      {"ue4m3", 61440, true, TSR_ROUND_RNE, 0x7e},
      {"ue4m3", -1, true, TSR_ROUND_RNE, 0x00},
      /* Integers clip, or wrap. */
      {"int8", 200, true, TSR_ROUND_RNE, 0x7f},
      {"int8", 200, false, TSR_ROUND_RNE, 200},
      {"uint8", -1, false, TSR_ROUND_RNE, 255},
      {"int4", 8, true, TSR_ROUND_RNE, 0x7},
      {"int32", 4294967297.0, false, TSR_ROUND_RNE, 1},
      {"int32", 0x1p64 + 0x1p12, false, TSR_ROUND_RNE, 4096},
      {"int32", -0x1p64 - 0x1p12, false, TSR_ROUND_RNE, 0xfffff000},
      {"int32", 0x1p300, false, TSR_ROUND_RNE, 0},
      {"nf4", 0.04, false, TSR_ROUND_RNE, 8},
      {"nf4", 0.039, false, TSR_ROUND_RNE, 7},
      {"nf4", -2, false, TSR_ROUND_RNE, 0},
      {"nf4", __builtin_nan(""), false, TSR_ROUND_RNE, 7},
      {"fp16", 1 + 0x1p-30, false, TSR_ROUND_ODD, 0x3c01},
      {"fp16", 1e300, false, TSR_ROUND_ODD, 0x7bff},
  };
  for (size_t i = 0; i < N(rows); i++) {
    const struct tsr_format *f = tsr_format_find(rows[i].format), *d = tsr_format_find("fp64");
    struct tsr_round_spec s = {.mode = rows[i].mode, .saturate = rows[i].saturate};
    uint64_t code;
    memcpy(&code, &rows[i].v, sizeof code);
    code = tsr_arith_convert_spec(d, code, f, &s, 0, NULL);
    if (code != rows[i].code)
      fail_msg("%s %a %s gives %#llx", f->name, rows[i].v, tsr_round_name(s.mode),
               (unsigned long long)code);
  }
}

/* ODD on the way to a format two bits narrower or more makes two roundings one. */
static void rounding_to_odd_first_is_free_of_double_rounding(void **state) {
  (void)state;
  const struct tsr_format *d = tsr_format_find("fp64"), *wide = tsr_format_find("fp32"),
                          *f = tsr_format_find("bf16");
  struct tsr_round_spec odd = {.mode = TSR_ROUND_ODD}, near = {.mode = TSR_ROUND_RNE};
  struct tsr_rng r = {5};
  int differ = 0;
  for (int i = 0; i < 100000; i++) {
    uint64_t x = tsr_rng_next(&r), keep = ~UINT64_C(0) << (x & 63);
    /* Around ties of bf16, with something far below. */
    uint64_t code = (UINT64_C(0x3ff0) << 48 | (x & UINT64_C(0x000fe00000000000)) |
                     UINT64_C(1) << 44 | (x & ~keep & 0xffff));
    uint64_t once = tsr_arith_convert_spec(d, code, f, &near, 0, NULL);
    uint64_t via = tsr_arith_convert_spec(d, code, wide, &odd, 0, NULL);
    assert_int_equal(tsr_arith_convert_spec(wide, via, f, &near, 0, NULL), once);
    via = tsr_arith_convert_spec(d, code, wide, &near, 0, NULL);
    differ += tsr_arith_convert_spec(wide, via, f, &near, 0, NULL) != once;
  }
  assert_true(differ > 1000); /* to nearest first does round twice */
}

/* Each result is within one place, and yet the truncated ones all lean the same way. */
static void truncation_drifts_toward_zero_where_nearest_does_not(void **state) {
  (void)state;
  static const char *const names[] = {"bf16", "tf32"};
  const struct tsr_format *fp32 = tsr_format_find("fp32");
  for (size_t n = 0; n < N(names); n++) {
    const struct tsr_format *f = tsr_format_find(names[n]);
    struct tsr_rng r = {3};
    double drift[2] = {0, 0};
    enum { REPS = 20000 };
    for (int i = 0; i < REPS; i++) {
      uint64_t code = 0x3f800000 | tsr_rng_next(&r) >> 41; /* in [1, 2) */
      double v = tsr_arith_to_double(fp32, code), place = n ? 0x1p-10 : 0x1p-7;
      for (int mode = 0; mode < 2; mode++) {
        uint64_t x =
            tsr_arith_convert(fp32, code, f, mode ? TSR_ROUND_RZ : TSR_ROUND_RNE, NULL);
        drift[mode] += (tsr_arith_to_double(f, x) - v) / place / REPS;
      }
    }
    assert_true(drift[0] > -0.01 && drift[0] < 0.01);
    assert_true(drift[1] > -0.51 && drift[1] < -0.49);
  }
}

/* Hardware that narrows in two steps is described by two conversions. */
static void two_roundings_differ_from_one_where_the_first_makes_a_tie(void **state) {
  (void)state;
  const struct tsr_format *fp32 = tsr_format_find("fp32"), *tf32 = tsr_format_find("tf32"),
                          *bf16 = tsr_format_find("bf16");
  uint64_t x = tsr_arith_from_double(fp32, TSR_ROUND_RNE, 1 + 0x1p-8 - 0x1p-12, NULL);
  assert_int_equal(tsr_arith_convert(fp32, x, bf16, TSR_ROUND_RNA, NULL), 0x3f80);
  uint64_t y = tsr_arith_convert(fp32, x, tf32, TSR_ROUND_RNA, NULL);
  assert_int_equal(y, 0x3f808000);
  assert_int_equal(tsr_arith_convert(tf32, y, bf16, TSR_ROUND_RNA, NULL), 0x3f81);
}

/* A format nobody listed: its values are a table of the caller's. */
static void a_table_of_values_is_a_format(void **state) {
  (void)state;
  static const int64_t powers[] = {-8, -4, -2, -1, 0, 1, 2, 4};
  static const struct tsr_codec codec = {.decode = tsr_codec_table_decode,
                                         .round = tsr_codec_table_round,
                                         .nan = 4,
                                         .max = {7, 0},
                                         .values = powers,
                                         .n = N(powers),
                                         .exp = -1};
  static const struct tsr_format f = {.name = "pow2", .bits = 3, .codec = &codec};
  static const struct {
    double v;
    enum tsr_round mode;
    uint64_t code;
    unsigned ev;
  } rows[] = {
      {-4, TSR_ROUND_RNE, 0, 0},
      {2, TSR_ROUND_RNE, 7, 0},
      {1.5, TSR_ROUND_RNE, 6, TSR_EVENT_INEXACT},
      {1.5, TSR_ROUND_RNA, 7, TSR_EVENT_INEXACT},
      {-1.5, TSR_ROUND_RNA, 1, TSR_EVENT_INEXACT},
      {-1.5, TSR_ROUND_RZ, 2, TSR_EVENT_INEXACT},
      {-1.5, TSR_ROUND_RD, 1, TSR_EVENT_INEXACT},
      {-1.5, TSR_ROUND_RU, 2, TSR_EVENT_INEXACT},
      {0x1p-1000, TSR_ROUND_RU, 5, TSR_EVENT_INEXACT},
      {-0x1p-1000, TSR_ROUND_RD, 3, TSR_EVENT_INEXACT},
      {0x1p-1000, TSR_ROUND_ODD, 5, TSR_EVENT_INEXACT},
      {1e300, TSR_ROUND_RNE, 7, CLIP},
      {-1e300, TSR_ROUND_RZ, 0, CLIP},
  };
  for (size_t i = 0; i < N(rows); i++) {
    unsigned ev = 0;
    assert_int_equal(tsr_arith_from_double(&f, rows[i].mode, rows[i].v, &ev), rows[i].code);
    assert_int_equal(ev, rows[i].ev);
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
    const char *f;
    double v;
    uint64_t code;
    unsigned ev;
  } rows[] = {
      {"fp8_e4m3", 448, 0x7e, 0},
      {"fp8_e4m3", 463, 0x7e, TSR_EVENT_INEXACT},
      {"fp8_e4m3", 1000, 0x7e, CLIP},
      {"fp8_e4m3", -__builtin_inf(), 0xfe, TSR_EVENT_SATURATED},
      {"fp8_e4m3", __builtin_nan(""), 0x7f, 0},
      {"fp8_e4m3", 0x1p-9, 0x01, TSR_EVENT_SUBNORMAL_OUT},
      {"fp4_e2m1", 6, 0x7, 0},
      {"fp4_e2m1", 100, 0x7, CLIP},
      {"fp4_e2m1", -0.5, 0x9, TSR_EVENT_SUBNORMAL_OUT},
      {"fp4_e2m1", 2.5, 0x4, TSR_EVENT_INEXACT},
      {"fp4_e2m1", __builtin_nan(""), 0, TSR_EVENT_INVALID},
  };
  for (size_t i = 0; i < N(rows); i++) {
    unsigned ev = 0;
    assert_int_equal(
        tsr_arith_from_double(tsr_format_find(rows[i].f), TSR_ROUND_RNE, rows[i].v, &ev),
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

/* A double at or beside a code's value or the middle between two, or of any bits. */
static uint64_t near_code(const struct tsr_format *f, uint64_t code, uint64_t draw) {
  const struct tsr_format *fp64 = tsr_format_find("fp64");
  uint64_t bits = tsr_arith_convert(f, code, fp64, TSR_ROUND_RNE, NULL);
  switch (draw % 4) {
  case 0: return bits;
  case 1: return bits + (draw >> 2) % 5 - 2;
  case 2: /* half a unit away, and beside that */
    return f->man_bits < 52 ? bits + (UINT64_C(1) << (51 - f->man_bits)) + (draw >> 2) % 3 - 1
                            : bits;
  default: return bits ^ draw >> 12;
  }
}

/* With events the long way is taken, without them a short one where it can be. */
static void doubles_take_a_short_way_to_the_same_code(void **state) {
  (void)state;
  static const char *const more[] = {
      "e5m3",  "e4m3:fnuz", "e3m2:nosub", "e8m0:noinf:nonan", "e2m3:noinf:nonan:unsigned",
      "e11m1", "e1m6"};
  const struct tsr_format *fp64 = tsr_format_find("fp64");
  for (size_t i = 0; i < tsr_format_count() + N(more); i++) {
    struct tsr_format own;
    const struct tsr_format *f = i < tsr_format_count() ? tsr_format_at(i) : &own;
    if (f == &own && tsr_format_parse(more[i - tsr_format_count()], &own, NULL)) continue;
    for (uint64_t n = 0; n < 20000; n++) {
      uint64_t code = tsr_rng_u64(3, i, 2 * n) >> (64 - f->bits);
      uint64_t bits = near_code(f, code, tsr_rng_u64(3, i, 2 * n + 1)), plain;
      double v, back = tsr_arith_to_double(f, code);
      memcpy(&v, &bits, sizeof v);
      uint64_t got = tsr_arith_from_double(f, TSR_ROUND_RNE, v, NULL);
      uint64_t want = tsr_arith_convert(fp64, bits, f, TSR_ROUND_RNE, NULL);
      if (got != want)
        fail_msg("%s: %a gives %llx, not %llx", f->name, v, (unsigned long long)got,
                 (unsigned long long)want);
      memcpy(&plain, &back, sizeof plain);
      want = tsr_arith_convert(f, code, fp64, TSR_ROUND_RNE, NULL);
      if (plain != want)
        fail_msg("%s: code %llx is %a", f->name, (unsigned long long)code, back);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(encoding_a_decoded_wide_code_gives_it_back),
      cmocka_unit_test(names_are_found_and_unique),
      cmocka_unit_test(a_name_spells_a_format),
      cmocka_unit_test(names_that_spell_none_are_refused),
      cmocka_unit_test(every_name_that_spells_a_format_gives_one_that_works),
      cmocka_unit_test(known_codes_have_their_values),
      cmocka_unit_test(known_codes_are_nan),
      cmocka_unit_test(known_conversions_give_the_documented_code),
      cmocka_unit_test(rounding_to_odd_first_is_free_of_double_rounding),
      cmocka_unit_test(truncation_drifts_toward_zero_where_nearest_does_not),
      cmocka_unit_test(two_roundings_differ_from_one_where_the_first_makes_a_tie),
      cmocka_unit_test(a_table_of_values_is_a_format),
      cmocka_unit_test(doubles_round_once),
      cmocka_unit_test(doubles_take_a_short_way_to_the_same_code),
      cmocka_unit_test(formats_without_specials_clip),
      cmocka_unit_test(sticky_bits_decide_ties_and_exactness),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
