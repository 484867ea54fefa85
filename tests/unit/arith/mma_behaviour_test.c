/* Behaviours of real units that people took for errors, or met as errors elsewhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/mma_spec.h"
#include "sim/base/rng.h"

#define N(array) (sizeof(array) / sizeof(array)[0])
enum { K_MAX = 4096 };

static uint64_t code(const struct tsr_format *f, double v) {
  return tsr_arith_from_double(f, TSR_ROUND_RNE, v, NULL);
}

/* A unit of the table, or a text read for operands of format `in`. */
static const struct tsr_mma *unit(const char *text, const char *in, struct tsr_mma_spec *s) {
  const struct tsr_mma *u = tsr_mma_find(text);
  const struct tsr_format *f = tsr_format_find(in);
  if (u) return u;
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_mma_parse(text, f, f, NULL, s, &err)) fail_msg("%s: %s", text, tsr_err_text(&err));
  return &s->unit;
}

static double dot(const struct tsr_mma *u, const double *a, const double *b, size_t k,
                  double c) {
  static uint64_t x[K_MAX], y[K_MAX];
  for (size_t i = 0; i < k; i++) {
    x[i] = code(u->a, a[i]);
    y[i] = code(u->b, b[i]);
  }
  return tsr_arith_to_double(u->acc, tsr_mma_dot(u, x, y, k, code(u->acc, c), NULL));
}

/* Results of one small dot product in unit after unit. */
struct row {
  const char *unit, *in;
  double a[4], b[4], c, want;
};

static void check_rows(const struct row *rows, size_t n) {
  for (size_t i = 0; i < n; i++) {
    static struct tsr_mma_spec s;
    double got = dot(unit(rows[i].unit, rows[i].in, &s), rows[i].a, rows[i].b, 4, rows[i].c);
    if (got != rows[i].want)
      fail_msg("row %zu, %s: got %a, want %a", i, rows[i].unit, got, rows[i].want);
  }
}

/* The narrow accumulator of 8-bit formats belongs to a path, not to a chip: 2^-14
 * beside 1 is lost in wgmma, and kept by mma.sync, which is emulated with fp16. */
static void fp8_accumulates_narrowly_in_wgmma_and_not_in_mma_sync(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"nv_hopper_wgmma_k32_f32_e4m3_f32", "", {1, 0x1p-7}, {1, 0x1p-6}, 0, 1 + 0x1p-13},
      {"nv_hopper_wgmma_k32_f32_e4m3_f32", "", {1, 0x1p-7}, {1, 0x1p-7}, 0, 1},
      {"nv_ada_mma_m16n8k32_f32_e4m3_f32", "", {1, 0x1p-7}, {1, 0x1p-7}, 0, 1},
      {"nv_hopper_mmaemul_m16n8k32_f32_e4m3_f32", "", {1, 0x1p-7}, {1, 0x1p-7}, 0, 1 + 0x1p-14},
      {"nv_blackwell_mmaemul_m16n8k32_f32_e4m3_f32",
       "",
       {1, 0x1p-7},
       {1, 0x1p-7},
       0,
       1 + 0x1p-14},
      {"nv_blackwell_tcgen05_k32_f32_e4m3_f32", "", {1, 0x1p-7}, {1, 0x1p-7}, 0, 1 + 0x1p-14},
  };
  check_rows(rows, N(rows));
}

static void a_full_accumulator_passes_through_or_loses_ten_bits(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"nv_blackwell_tcgen05_k32_f32_e4m3_f32", "", {0}, {0}, 1 + 0x1.4p-13, 1 + 0x1.4p-13},
      {"nv_blackwell_tcgen05_k32_f32_e2m1_f32", "", {0}, {0}, 1 + 0x1p-23, 1 + 0x1p-23},
      {"nv_hopper_wgmma_k32_f32_e4m3_f32", "", {0}, {0}, 1 + 0x1.4p-13, 1 + 0x1p-13},
      {"nv_hopper_wgmma_k32_f32_e4m3_f32", "", {0}, {0}, 1 + 0x1p-23, 1},
      {"nv_ada_mma_m16n8k32_f32_e5m2_f32", "", {0}, {0}, -1 - 0x1p-14, -1},
      {"nv_blackwell_mxf4nvf4_k64_f32_e2m1_ue4m3_b16", "", {0}, {0}, 1 + 0x1p-23, 1 + 0x1p-23},
  };
  check_rows(rows, N(rows));
}

/* Ones by ones: the exact sum is K. */
static double sum_of_ones(const char *text, const char *in, size_t k) {
  static struct tsr_mma_spec s;
  static double ones[K_MAX];
  for (size_t i = 0; i < k; i++) ones[i] = 1.0 + (i % 3 ? 0 : 0.125);
  return dot(unit(text, in, &s), ones, ones, k, 0);
}

static void promotion_every_so_many_k_bounds_the_loss(void **state) {
  (void)state;
  static const char unit_text[] = "nv_hopper_wgmma_k32_f32_e4m3_f32";
  const char in[] = "fp8_e4m3";
  double exact = sum_of_ones("exact", in, K_MAX), plain = sum_of_ones(unit_text, in, K_MAX);
  double p128 = sum_of_ones("nv_hopper_wgmma_k32_f32_e4m3_f32:promote=128", in, K_MAX);
  double chunk = sum_of_ones("nv_hopper_wgmma_k32_f32_e4m3_f32:chunk=512", in, K_MAX);
  assert_true(plain < exact);
  assert_true(fabs(p128 - exact) < fabs(chunk - exact));
  assert_true(fabs(chunk - exact) < fabs(plain - exact));
  assert_true(fabs(p128 - exact) <= 0x1p-13 * exact);
}

/* The accumulator's format and that of the partial sums are two settings: 45.25^2 =
 * 2047.5625 in the first of three passes of 16, ones in the others. */
static void accumulator_and_partial_formats_are_separate(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double whole, split;
  } rows[] = {{"fma:acc=fp32", 2079.5625, 2079.5625},
              /* From 2048 on the last place of fp16 is 2: ones are ties, to even. */
              {"fma:acc=fp16", 2048, 2080},
              {"fma:acc=fp32,part=fp16", 2079.5625, 2080},
              /* Stored between the passes: 2048 + 16, then + 16. */
              {"fma:acc=fp32,part=fp16,part-order=chain", 2079.5625, 2080},
              {"fma:acc=fp32,part=fp16,part-round=rz", 2079.5625, 2079},
              {"fma:acc=fp32,part=bf16,part-round=rz", 2079.5625, 2072}};
  const struct tsr_format *f = tsr_format_find("fp16");
  uint64_t a[48], b[48];
  static const size_t cuts[] = {16, 32, 48};
  for (int i = 0; i < 48; i++) a[i] = b[i] = code(f, i == 0 ? 45.25 : i < 16 ? 0 : 1);
  for (size_t i = 0; i < N(rows); i++) {
    static struct tsr_mma_spec s;
    const struct tsr_mma *u = unit(rows[i].text, "fp16", &s);
    struct tsr_mma_dot_args args = {.a = a, .b = b, .k = 48};
    double whole = tsr_arith_to_double(u->acc, tsr_mma_dot(u, a, b, 48, 0, NULL));
    double split = tsr_arith_to_double(u->acc, tsr_mma_dot_split(u, &args, cuts, 3, NULL));
    if (whole != rows[i].whole || split != rows[i].split)
      fail_msg("%s: whole %g, split %g", rows[i].text, whole, split);
  }
}

/* Partial sums in bf16: the error grows to what the format allows, fp32 has none. */
static void bf16_partials_of_split_k_cost_what_fp32_partials_do_not(void **state) {
  (void)state;
  const struct tsr_format *f = tsr_format_find("bf16");
  static uint64_t a[K_MAX], b[K_MAX];
  static size_t cuts[64];
  for (size_t k = 0; k < K_MAX; k++) {
    a[k] = code(f, k / 64 % 2 ? -1 : 1.0078125);
    b[k] = code(f, 1);
  }
  for (size_t i = 0; i < 64; i++) cuts[i] = 64 * (i + 1);
  struct tsr_mma_dot_args args = {.a = a, .b = b, .k = K_MAX};
  static struct tsr_mma_spec s;
  double exact = 0.0078125 * K_MAX / 2, got[3];
  static const char *const texts[] = {"fma", "fma:part=fp32", "fma:part=e8m4"};
  for (int i = 0; i < 3; i++) {
    const struct tsr_mma *u = unit(texts[i], "bf16", &s);
    got[i] = tsr_arith_to_double(u->acc, tsr_mma_dot_split(u, &args, cuts, 64, NULL));
  }
  assert_true(got[0] == exact && got[1] == exact);
  assert_true(fabs(got[2] - exact) > 0.4 * exact);
}

static void cdna2_flushes_what_others_keep(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"amd_cdna2_mfma_16x16x16_f16", "", {0x1p-20}, {0x1p10}, 0, 0},
      {"amd_cdna2_mfma_16x16x16_f16", "", {0x1p-14}, {0x1p10}, 0, 0x1p-4},
      {"amd_cdna1_mfma_16x16x16_f16", "", {0x1p-20}, {0x1p10}, 0, 0x1p-10},
      {"amd_cdna3_mfma_16x16x16_f16", "", {0x1p-20}, {0x1p10}, 0, 0x1p-10},
      {"nv_hopper_mma_m16n8k16_f32_f16_f32", "", {0x1p-20}, {0x1p10}, 0, 0x1p-10},
      /* The way out of it: the operands as bf16. */
      {"amd_cdna2_mfma_16x16x16_bf16_1k", "", {0x1p-20}, {0x1p10}, 0, 0x1p-10},
      {"tree:L=4,via=bf16,flush=yes", "fp16", {0x1p-20}, {0x1p10}, 0, 0x1p-10},
      /* Products and sums that end below 2^-126 go too. */
      {"amd_cdna2_mfma_16x16x16_bf16_1k", "", {0x1p-70}, {0x1p-60}, 0, 0},
      {"amd_cdna1_mfma_16x16x8_bf16", "", {0x1p-70}, {0x1p-60}, 0, 0x1p-130},
      {"amd_cdna2_mfma_16x16x16_bf16_1k", "", {0}, {0}, 0x1p-130, 0},
  };
  check_rows(rows, N(rows));
}

/* A sum below the normal numbers becomes a zero of its sign, where the format has
 * one: 0x80 of a format without -0 is NaN. */
static void a_flushed_sum_is_a_zero_that_its_format_has(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t a, want;
  } rows[] = {{"fma:acc=fp8_e4m3fnuz,flush=yes", 0x9c00, 0x00}, /* -2^-8 */
              {"fma:acc=fp8_e4m3fnuz,flush=yes", 0x1c00, 0x00},
              {"fma:acc=fp8_e4m3fnuz,flush=yes", 0xa000, 0x88}, /* -2^-7, normal */
              {"fma:acc=fp8_e4m3fnuz", 0x9c00, 0x84},
              {"fma:acc=fp8_e5m2fnuz,flush=yes", 0x8400, 0x88}, /* -2^-14, normal */
              {"fma:acc=fp8_e4m3,flush=yes", 0x9c00, 0x80},     /* -0 */
              {"tree:acc=fp8_e4m3fnuz,flush=yes", 0x9c00, 0x00},
              {"exact:acc=fp8_e4m3fnuz,flush=yes", 0x9c00, 0x00},
              {"fused:acc=fp8_e4m3fnuz,flush=yes", 0x9c00, 0x00},
              {"fma:acc=fp32,inner=fp8_e4m3fnuz,flush=yes", 0x9c00, 0}};
  for (size_t i = 0; i < N(rows); i++) {
    static struct tsr_mma_spec s;
    const uint64_t one = 0x3c00;
    uint64_t got = tsr_mma_dot(unit(rows[i].text, "fp16", &s), &rows[i].a, &one, 1, 0, NULL);
    if (got != rows[i].want) fail_msg("row %zu, %s: %llx", i, rows[i].text, (long long)got);
  }
}

/* The widest operands and scales that a unit may have, at their largest. */
static void scales_beside_wide_operands_lose_nothing(void **state) {
  (void)state;
  static const char *const texts[] = {"fma",   "muladd",     "tree",
                                      "exact", "fused:F=60", "two-stage:F=60,F2=64"};
  const struct tsr_format *fp64 = tsr_format_find("fp64");
  const double x = 2 - 0x1p-52, scale = 2 - 0x1p-6;
  const double want = 16 * (1 - 0x1p-7) * (1 - 0x1p-7);
  for (size_t i = 0; i < N(texts); i++) {
    static struct tsr_mma_spec s;
    char text[96];
    struct tsr_err err = TSR_ERR_INIT;
    snprintf(text, sizeof text, "%s%cacc=fp64,scale=e6m6,block=1", texts[i],
             strchr(texts[i], ':') ? ',' : ':');
    if (tsr_mma_parse(text, fp64, fp64, NULL, &s, &err))
      fail_msg("%s: %s", text, tsr_err_text(&err));
    uint64_t a = code(fp64, x), k = code(s.unit.scale, scale);
    double got =
        tsr_arith_to_double(fp64, tsr_mma_dot_scaled(&s.unit, &a, &a, 1, &k, &k, 0, NULL));
    if (!(fabs(got - want) < want * 0x1p-48)) fail_msg("%s: %a, want %a", text, got, want);
  }
}

/* A format changed on the way shows: three bits are lost, truncated or rounded. */
static void operands_converted_on_the_way_are_rounded_as_told(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"fma", "fp16", {1 + 0x1p-10}, {1}, 0, 1 + 0x1p-10},
      {"fma:via=bf16", "fp16", {1 + 7 * 0x1p-10}, {1}, 0, 1 + 0x1p-7},
      {"fma:via=bf16,via-round=rz", "fp16", {1 + 7 * 0x1p-10}, {1}, 0, 1},
      /* tf32 units drop the low bits of a word: biased toward zero. */
      {"fma:via=tf32,via-round=rz", "fp32", {1 + 0x1.fp-11}, {1}, 0, 1},
      {"fma:via=tf32,via-round=rne", "fp32", {1 + 0x1.fp-11}, {1}, 0, 1 + 0x1p-10},
      {"fma", "fp32", {1 + 0x1.fp-11}, {1}, 0, 1 + 0x1.fp-11},
  };
  check_rows(rows, N(rows));
}

static void xf32_drops_the_low_bits_of_the_word(void **state) {
  (void)state;
  static const char *const units[] = {"amd_cdna3_mfma_16x16x8_xf32",
                                      "nv_ampere_mma_m16n8k8_f32_tf32_f32"};
  for (size_t i = 0; i < N(units); i++) {
    const uint64_t a[] = {0x3f801fff}, minus[] = {0xbf801fff}, b[] = {0x3f800000};
    const struct tsr_mma *u = tsr_mma_find(units[i]);
    assert_int_equal(tsr_mma_dot(u, a, b, 1, 0, NULL), 0x3f800000);
    assert_int_equal(tsr_mma_dot(u, minus, b, 1, 0, NULL), 0xbf800000);
  }
}

static void tf32_operands_err_by_two_to_the_minus_eleven(void **state) {
  (void)state;
  struct tsr_rng r = {11};
  static struct tsr_mma_spec s;
  double worst[2] = {0, 0};
  for (int rep = 0; rep < 200; rep++) {
    double a[1] = {1 + ldexp((double)(tsr_rng_next(&r) >> 41), -23)}, b[1] = {1};
    worst[0] = fmax(worst[0], fabs(dot(unit("fma:via=tf32", "fp32", &s), a, b, 1, 0) - a[0]));
    worst[1] = fmax(worst[1], fabs(dot(unit("fma", "fp32", &s), a, b, 1, 0) - a[0]));
  }
  assert_true(worst[0] > 0x1p-12 && worst[0] <= 0x1p-11);
  assert_true(worst[1] == 0);
}

/* Three products of tf32 parts emulate fp32; the small ones must be summed before
 * they meet the large one. */
static void corrections_added_last_one_by_one_are_lost(void **state) {
  (void)state;
  const struct tsr_mma *u = tsr_mma_find("nv_ampere_mma_m16n8k8_f32_tf32_f32");
  double big[4], small[4], one[4] = {1, 1, 1, 1}, exact = 0, mixed = 0, first = 0;
  for (int rep = 0; rep < 256; rep++) {
    for (int i = 0; i < 4; i++) {
      big[i] = 1;
      small[i] = 0x1.8p-16;
      exact += big[i] + small[i];
    }
    mixed = dot(u, big, one, 4, mixed);
    mixed = dot(u, small, one, 4, mixed);
    first = dot(u, small, one, 4, first);
  }
  for (int rep = 0; rep < 256; rep++) first = dot(u, big, one, 4, first);
  assert_true(fabs(first - exact) * 4 < fabs(mixed - exact));
}

/* Every step within one last place, and the sum shrinks: what max ulp hides and the
 * mean of the signed error shows. */
static void truncation_drifts_and_rounding_does_not(void **state) {
  (void)state;
  struct tsr_rng r = {12};
  static struct tsr_mma_spec s;
  static const char *const texts[] = {"fma:acc=bf16,round=rz", "fma:acc=bf16",
                                      "fma:acc=bf16,round=rna"};
  double mean[3] = {0, 0, 0};
  enum { REPS = 300, K = 64 };
  for (int rep = 0; rep < REPS; rep++) {
    double a[K], b[K], exact = 0;
    for (int k = 0; k < K; k++) {
      a[k] = 1 + (double)(tsr_rng_next(&r) >> 57) / 128;
      b[k] = 1;
      exact += a[k];
    }
    for (int i = 0; i < 3; i++)
      mean[i] += (dot(unit(texts[i], "bf16", &s), a, b, K, 0) - exact) / exact / REPS;
  }
  assert_true(mean[0] < -0.01);
  assert_true(fabs(mean[1]) < 0.002);
  assert_true(fabs(mean[2]) < 0.01);
}

/* A sum that is rounded twice, to tf32 and to bf16, with ties away each time: it can
 * be had, and it drifts away from zero where one rounding to even does not. */
static void rounding_twice_with_ties_away_drifts_outward(void **state) {
  (void)state;
  static const struct row rows[] = {
      /* 1 + 2^-8 - 2^-12: tf32 makes it a tie of bf16, which goes away from 1. */
      {"fma:acc=bf16,inner=tf32,round=rna",
       "fp32",
       {1, 0x1p-8 - 0x1p-12},
       {1, 1},
       0,
       1 + 0x1p-7},
      {"fma:acc=bf16,round=rna", "fp32", {1, 0x1p-8 - 0x1p-12}, {1, 1}, 0, 1},
      {"fma:acc=bf16,inner=tf32", "fp32", {1, 0x1p-8}, {1, 1}, 0, 1},
  };
  check_rows(rows, N(rows));
  struct tsr_rng r = {13};
  static struct tsr_mma_spec s;
  static const char *const texts[] = {"fma:acc=bf16,inner=tf32,round=rna", "fma:acc=bf16"};
  double mean[2] = {0, 0};
  enum { REPS = 300, K = 128 };
  for (int rep = 0; rep < REPS; rep++) {
    double a[K], one[K], exact = 0;
    for (int k = 0; k < K; k++) {
      a[k] = 1 + (double)(tsr_rng_next(&r) >> 57) / 128;
      one[k] = 1;
      exact += a[k];
    }
    for (int i = 0; i < 2; i++)
      mean[i] += (dot(unit(texts[i], "bf16", &s), a, one, K, 0) - exact) / exact / REPS;
  }
  assert_true(mean[0] > 0.002 && mean[0] > 4 * fabs(mean[1]));
}

/* 255 * 127 * 2 does not fit 16 bits: 32767 comes out where pairs saturate. */
static void pairs_of_int8_products_saturate_where_told(void **state) {
  (void)state;
  const uint64_t a[] = {255, 255}, b[] = {127, 127};
  static const struct {
    const char *unit;
    uint64_t want;
  } rows[] = {{"int_u8_s8_s32_pair16", 32767},
              {"int_u8_s8_s32_wrap", 64770},
              {"int_u8_s8_s32_satend", 64770},
              {"int_u8_s8_s32_satstep", 64770}};
  for (size_t i = 0; i < N(rows); i++)
    assert_int_equal(tsr_mma_dot(tsr_mma_find(rows[i].unit), a, b, 2, 0, NULL), rows[i].want);
}

/* Beyond 2^24 an int32 sum stays exact; through fp32 it would be off by one. */
static void integer_sums_stay_exact_above_two_to_the_24(void **state) {
  (void)state;
  const struct tsr_mma *u = tsr_mma_find("int_u8_u8_s32_wrap");
  const uint64_t one = 1;
  uint64_t d = tsr_mma_dot(u, &one, &one, 1, UINT64_C(1) << 24, NULL);
  assert_int_equal(d, 0x1000001);
  uint64_t f = tsr_arith_convert(u->acc, d, tsr_format_find("fp32"), TSR_ROUND_RNE, NULL);
  assert_true(tsr_arith_to_double(tsr_format_find("fp32"), f) == 0x1p24);
}

static void saturating_each_step_differs_from_saturating_at_the_end(void **state) {
  (void)state;
  const uint64_t a[] = {127, 0x81}, b[] = {127, 127}; /* +16129 - 16129 */
  const uint64_t c = 0x7fffffff;
  assert_int_equal(tsr_mma_dot(tsr_mma_find("int_s8_s8_s32_satend"), a, b, 2, c, NULL), c);
  assert_int_equal(tsr_mma_dot(tsr_mma_find("int_s8_s8_s32_satstep"), a, b, 2, c, NULL),
                   c - 16129);
  assert_int_equal(tsr_mma_dot(tsr_mma_find("int_s8_s8_s32_wrap"), a, b, 2, c, NULL), c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fp8_accumulates_narrowly_in_wgmma_and_not_in_mma_sync),
      cmocka_unit_test(a_full_accumulator_passes_through_or_loses_ten_bits),
      cmocka_unit_test(promotion_every_so_many_k_bounds_the_loss),
      cmocka_unit_test(accumulator_and_partial_formats_are_separate),
      cmocka_unit_test(bf16_partials_of_split_k_cost_what_fp32_partials_do_not),
      cmocka_unit_test(cdna2_flushes_what_others_keep),
      cmocka_unit_test(a_flushed_sum_is_a_zero_that_its_format_has),
      cmocka_unit_test(scales_beside_wide_operands_lose_nothing),
      cmocka_unit_test(operands_converted_on_the_way_are_rounded_as_told),
      cmocka_unit_test(xf32_drops_the_low_bits_of_the_word),
      cmocka_unit_test(tf32_operands_err_by_two_to_the_minus_eleven),
      cmocka_unit_test(corrections_added_last_one_by_one_are_lost),
      cmocka_unit_test(truncation_drifts_and_rounding_does_not),
      cmocka_unit_test(rounding_twice_with_ties_away_drifts_outward),
      cmocka_unit_test(pairs_of_int8_products_saturate_where_told),
      cmocka_unit_test(integer_sums_stay_exact_above_two_to_the_24),
      cmocka_unit_test(saturating_each_step_differs_from_saturating_at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
