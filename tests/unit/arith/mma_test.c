#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/mma_spec.h"

#define N(array) (sizeof(array) / sizeof(array)[0])
enum { INF16 = 0x7c00, NAN16 = 0x7e00 };

static const struct tsr_format *fmt(const char *name) {
  return tsr_format_find(name);
}

static uint64_t code(const struct tsr_format *f, double v) {
  return tsr_arith_from_double(f, TSR_ROUND_RNE, v, NULL);
}

static void rows_are_unique_and_within_the_limits(void **state) {
  (void)state;
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    assert_ptr_equal(tsr_mma_find(u->name), u);
    assert_true(u->doc[0] && u->src[0]);
    if (tsr_mma_invalid(u)) fail_msg("%s: %s", u->name, tsr_mma_invalid(u));
    assert_int_equal(u->acc->is_int, u->kind == TSR_MMA_INT);
    assert_in_range(u->fused_len, 0, TSR_MMA_FUSED_LEN_MAX);
    assert_in_range(u->align_bits, 0, TSR_MMA_ALIGN_BITS_MAX);
    if (u->kind != TSR_MMA_FUSED) continue;
    /* SRC:mmasim: ez follows the width of the sum, fp32 or fp16. */
    int wide = -108 - 25, narrow = 3 - 25;
    bool known = (u->zero_exp >= wide && u->zero_exp <= wide + 2) ||
                 (u->zero_exp >= narrow && u->zero_exp <= narrow + 2);
    assert_true(known);
    assert_int_equal(u->overflow_inf, u->round == TSR_ROUND_RZ);
    assert_int_equal(u->nan, TSR_NAN_ONES);
  }
  assert_null(tsr_mma_find("nv_none"));
  assert_null(tsr_mma_at(tsr_mma_count()));
}

static void the_default_unit_fits_the_operands(void **state) {
  (void)state;
  static const struct {
    const char *a, *b, *unit;
  } rows[] = {{"fp16", "fp16", "acc_seqfma_fp16_fp32"},
              {"bf16", "bf16", "acc_seqfma_bf16_fp32"},
              {"tf32", "tf32", "acc_seqfma_tf32_fp32"},
              {"fp32", "fp32", "acc_seqfma_fp32_fp32"},
              {"fp64", "fp64", "acc_seqfma_fp64_fp64"},
              {"fp8_e4m3", "fp8_e4m3", "acc_seqfma_e4m3_fp32"},
              {"fp8_e5m2", "fp8_e5m2", "acc_seqfma_e5m2_fp32"},
              {"int8", "int8", "int_s8_s8_s32_wrap"},
              {"uint8", "int8", "int_u8_s8_s32_wrap"},
              {"int8", "uint8", "int_s8_u8_s32_wrap"},
              {"uint8", "uint8", "int_u8_u8_s32_wrap"},
              {"fp16", "bf16", NULL},
              {"fp16", "int8", NULL},
              {"int32", "int32", NULL}};
  for (size_t i = 0; i < N(rows); i++) {
    const struct tsr_mma *u = tsr_mma_default(fmt(rows[i].a), fmt(rows[i].b));
    if (rows[i].unit) {
      assert_non_null(u);
      assert_string_equal(u->name, rows[i].unit);
    } else {
      assert_null(u);
    }
  }
}

/* SRC:mmasim: one dot product that tells the designs apart: C = 2^23 and products
 * -2^23, -1/2, -1/4, -1/8.  Every row that can hold the operands is one of these. */
static void one_dot_product_tells_the_designs_apart(void **state) {
  (void)state;
  static const struct {
    const char *prefix, *a; /* of the name; operand format, NULL: any */
    double want;
  } rows[] = {
      {"nv_ampere_mma_m8n8k4_f64", NULL, -0.875},
      {"nv_hopper_mma_m16n8k4_f64", NULL, -0.875},
      {"nv_hopper_mma_m16n8k8_f64", NULL, -0.875},
      {"nv_hopper_mma_m16n8k16_f64", NULL, -0.875},
      {"nv_volta_", "fp16", 0},
      {"nv_turing_", "fp16", -0.5},
      {"nv_ampere_", NULL, -0.5},
      {"nv_ada_", "fp16", -0.5},
      {"nv_ada_", "bf16", -0.5},
      {"nv_ada_", "tf32", -0.5},
      {"nv_ada_", "fp8_e5m2", 0},
      {"nv_hopper_wgmma_", "fp8_e5m2", 0},
      {"nv_hopper_mmaemul_", "fp8_e5m2", 0},
      {"nv_blackwell_mmaemul_", "fp8_e5m2", 0},
      {"nv_hopper_", NULL, -0.75},
      {"nv_blackwell_", NULL, -0.75},
      {"nv_rtxblackwell_", NULL, -0.75},
      {"amd_cdna1_", NULL, -0.875},
      {"amd_cdna2_mfma_32x32x2_f32", NULL, -0.875},
      {"amd_cdna3_mfma_32x32x2_f32", NULL, -0.875},
      {"amd_cdna2_mfma_16x16x4_f64", NULL, -0.875},
      {"amd_cdna3_mfma_16x16x4_f64", NULL, -0.875},
      {"amd_cdna2_mfma_16x16x8_bf16", NULL, -0.375},
      {"amd_cdna2_", NULL, 0},
      {"amd_cdna3_", "fp8_e5m2fnuz", -1},
      {"amd_cdna3_mfma_16x16x8_xf32", NULL, -0.5},
      {"amd_cdna3_", NULL, -0.5},
      {"acc_seqfma_", NULL, -0.875},
      {"acc_seqmuladd_", NULL, -0.875},
      {"acc_exact_", NULL, -0.875},
      {"acc_chunk", NULL, 0}, /* apart from C, -2^23 swallows the rest one by one */
      {"acc_tree_", NULL, 0}, /* -2^23 - 1/2 is a tie, which goes to even */
  };
  static const double a[] = {-0x1p13, -0.5, -0.25, -0.125}, b[] = {0x1p10, 1, 1, 1};
  size_t seen = 0;
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    uint64_t x[4], y[4], c = code(u->acc, 0x1p23);
    bool holds = !u->acc->is_int && tsr_arith_to_double(u->acc, c) == 0x1p23;
    for (int k = 0; k < 4 && holds; k++) {
      x[k] = code(u->a, a[k]);
      y[k] = code(u->b, b[k]);
      holds =
          tsr_arith_to_double(u->a, x[k]) == a[k] && tsr_arith_to_double(u->b, y[k]) == b[k];
    }
    if (!holds || u->acc->man_bits < 23) continue;
    size_t row = 0;
    while (row < N(rows) &&
           !(strncmp(u->name, rows[row].prefix, strlen(rows[row].prefix)) == 0 &&
             (!rows[row].a || fmt(rows[row].a) == u->a)))
      row++;
    if (row == N(rows)) fail_msg("%s: no row expects anything of it", u->name);
    double got = tsr_arith_to_double(u->acc, tsr_mma_dot(u, x, y, 4, c, NULL));
    if (got != rows[row].want) fail_msg("%s: got %g, want %g", u->name, got, rows[row].want);
    seen++;
  }
  assert_true(seen > 80);
}

/* The same with block scales: 2^13 and 2^10 in those of the first group. */
static void a_wide_grouped_sum_keeps_what_a_fused_one_drops(void **state) {
  (void)state;
  const struct tsr_mma *u = tsr_mma_find("nv_blackwell_mxf4nvf4_k64_f32_e2m1_ue8m0_b16");
  uint64_t a[32] = {code(u->a, -1)}, b[32] = {code(u->b, 1)};
  static const double small[] = {-4, -2, -1};
  for (int i = 0; i < 3; i++) {
    a[16 + i] = code(u->a, small[i]);
    b[16 + i] = code(u->b, 1);
  }
  const uint64_t sa[2] = {127 + 13, 127}, sb[2] = {127 + 10, 127 - 3};
  uint64_t d = tsr_mma_dot_scaled(u, a, b, 32, sa, sb, code(u->acc, 0x1p23), NULL);
  assert_true(tsr_arith_to_double(u->acc, d) == -0.875);
}

static void specials_follow_the_rules(void **state) {
  (void)state;
  static const struct {
    uint64_t a[2], b[2], c; /* fp16, fp16, fp32 */
    uint64_t fused, fma;
    bool invalid;
  } rows[] = {
      {{NAN16, 0x3c00}, {0, 0x3c00}, 0, 0x7fffffff, 0x7fc00000, false},
      {{INF16, 0x3c00}, {0, 0x3c00}, 0, 0x7fffffff, 0x7fc00000, true},
      {{INF16, INF16}, {0x3c00, 0xbc00}, 0, 0x7fffffff, 0x7fc00000, true},
      {{INF16, 0x3c00}, {0x3c00, 0x3c00}, 0xff800000, 0x7fffffff, 0x7fc00000, true},
      {{INF16, 0x3c00}, {0xbc00, 0x3c00}, 0, 0xff800000, 0xff800000, false},
      {{0x3c00, 0x3c00}, {0x3c00, 0x3c00}, 0x7f800000, 0x7f800000, 0x7f800000, false},
      {{0x3c00, 0x3c00}, {0x3c00, 0x3c00}, 0x7f800001, 0x7fffffff, 0x7fc00000, false},
      {{0x8000, 0x8000}, {0x3c00, 0x3c00}, 0x80000000, 0x80000000, 0x80000000, false},
      {{0x8000, 0x0000}, {0x3c00, 0x3c00}, 0x80000000, 0x00000000, 0x00000000, false},
      {{0x3c00, 0xbc00}, {0x3c00, 0x3c00}, 0x80000000, 0x00000000, 0x00000000, false},
  };
  const struct tsr_mma *fused = tsr_mma_find("nv_hopper_mma_m16n8k16_f32_f16_f32");
  const struct tsr_mma *fma = tsr_mma_find("acc_seqfma_fp16_fp32");
  for (size_t i = 0; i < N(rows); i++) {
    unsigned ev = 0, ev2 = 0;
    assert_int_equal(tsr_mma_dot(fused, rows[i].a, rows[i].b, 2, rows[i].c, &ev),
                     rows[i].fused);
    assert_int_equal(tsr_mma_dot(fma, rows[i].a, rows[i].b, 2, rows[i].c, &ev2), rows[i].fma);
    assert_int_equal((ev & TSR_EVENT_INVALID) != 0, rows[i].invalid);
    assert_int_equal((ev2 & TSR_EVENT_INVALID) != 0, rows[i].invalid);
  }
}

static void overflow_depends_on_the_unit(void **state) {
  (void)state;
  static const struct {
    const char *unit;
    double a, b, c;
    uint64_t want;
    unsigned has, has_not;
  } rows[] = {
      /* Truncating units go to infinity, not to the largest finite number. */
      {"nv_hopper_mma_m16n8k16_f32_bf16_f32", 0x1p127, 2, 0, 0x7f800000, TSR_EVENT_OVERFLOW,
       TSR_EVENT_SATURATED},
      {"nv_hopper_mma_m16n8k16_f32_bf16_f32", -0x1p127, 1, -0x1.fp127, 0xff800000,
       TSR_EVENT_OVERFLOW, TSR_EVENT_SATURATED},
      {"nv_hopper_mma_m16n8k16_f16_f16_f16", 65504, 1, 16, 0x7c00, TSR_EVENT_OVERFLOW,
       TSR_EVENT_SATURATED},
      {"nv_hopper_mma_m16n8k16_f16_f16_f16", 65504, 1, 8, 0x7bff, TSR_EVENT_INEXACT,
       TSR_EVENT_OVERFLOW},
      /* Bits lost in the alignment alone. */
      {"nv_hopper_mma_m16n8k16_f32_f16_f32", 1, 1, 0x1.000002p-10, 0x3f802000,
       TSR_EVENT_INEXACT, TSR_EVENT_OVERFLOW},
      {"nv_hopper_mma_m16n8k16_f32_f16_f32", 1, 1, 0x1.8p-10, 0x3f803000, 0, TSR_EVENT_INEXACT},
      {"acc_seqfma_fp16_fp16", 256, 256, 0, 0x7c00, TSR_EVENT_OVERFLOW, TSR_EVENT_SATURATED},
      {"acc_seqfma_fp16_fp16", 0x1p-24, 1, 0, 0x0001, TSR_EVENT_SUBNORMAL_IN,
       TSR_EVENT_UNDERFLOW},
      {"acc_seqfma_fp16_fp16", 0x1p-14, 0x1p-12, 0, 0, TSR_EVENT_UNDERFLOW,
       TSR_EVENT_SUBNORMAL_IN},
      {"int_s8_s8_s32_wrap", -128, -128, 0x7fffffff, 0x80003fff, TSR_EVENT_OVERFLOW,
       TSR_EVENT_SATURATED},
      {"int_u8_s8_s32_wrap", 255, -128, -5, 0xffff807b, 0, TSR_EVENT_OVERFLOW},
  };
  for (size_t i = 0; i < N(rows); i++) {
    const struct tsr_mma *u = tsr_mma_find(rows[i].unit);
    uint64_t a = code(u->a, rows[i].a), b = code(u->b, rows[i].b), c = code(u->acc, rows[i].c);
    unsigned ev = 0;
    assert_int_equal(tsr_mma_dot(u, &a, &b, 1, c, &ev), rows[i].want);
    assert_int_equal(ev & rows[i].has, rows[i].has);
    assert_int_equal(ev & rows[i].has_not, 0);
  }
}

static void swamped_terms_are_counted(void **state) {
  (void)state;
  static const struct {
    const char *unit;
    double a[3], c;
    uint64_t want;
  } rows[] = {
      /* F = 24: beside 2^10 the last bit kept is 2^-14. */
      {"nv_ampere_mma_m16n8k8_f32_f16_f32", {0x1p10, 0x1p-14, 0}, 0, 0},
      {"nv_ampere_mma_m16n8k8_f32_f16_f32", {0x1p10, 0x1.8p-15, 0x1p-15}, 0, 2},
      {"nv_ampere_mma_m16n8k8_f32_f16_f32", {0x1p-15, 0, 0}, 0x1p10, 1},
      /* The accumulator is no term, zeros are none either. */
      {"nv_ampere_mma_m16n8k8_f32_f16_f32", {0x1p10, 0, 0}, 0x1p-20, 0},
      {"acc_seqfma_fp16_fp16", {2048, 1, 1}, 0, 2},
      {"acc_seqfma_fp16_fp16", {2048, 2, 0}, 0, 0},
      {"acc_seqfma_fp16_fp32", {2048, 1, 1}, 0, 0},
  };
  for (size_t i = 0; i < N(rows); i++) {
    const struct tsr_mma *u = tsr_mma_find(rows[i].unit);
    uint64_t a[3], b[3];
    for (int k = 0; k < 3; k++) {
      a[k] = code(u->a, rows[i].a[k]);
      b[k] = code(u->b, 1);
    }
    struct tsr_mma_stats stats = {.swamped_terms = 100};
    uint64_t c = code(u->acc, rows[i].c);
    uint64_t d = tsr_mma_dot_stats(u, a, b, 3, c, NULL, &stats);
    assert_int_equal(d, tsr_mma_dot(u, a, b, 3, c, NULL));
    assert_int_equal(stats.swamped_terms, 100 + rows[i].want);
  }
}

static void losses_on_the_way_are_counted(void **state) {
  (void)state;
  static const struct {
    const char *unit;
    double a[3], c;
    uint64_t terms, truncated, steps, absorbed, cancelled, bits, max;
  } rows[] = {
      /* F = 24: beside 2^10 the last bit kept is 2^-14; the sum is about 2^10. */
      {"nv_ampere_mma_m16n8k8_f32_f16_f32",
       {0x1p10, 0x1.8p-14, 0x1p-15},
       0,
       3,
       1,
       0,
       0,
       1,
       0,
       0},
      {"nv_ampere_mma_m16n8k8_f32_f16_f32", {0x1p10, 0, 0}, 0x1p-20, 1, 0, 1, 1, 1, 0, 0},
      {"nv_ampere_mma_m16n8k8_f32_f16_f32",
       {0x1p10, -0x1p10, 1},
       0x1p-3,
       3,
       0,
       1,
       0,
       1,
       10,
       10},
      {"nv_ampere_mma_m16n8k8_f32_f16_f32", {1, -1, 0}, 0, 2, 0, 0, 0, 0, 0, 0},
      {"nv_ampere_mma_m16n8k8_f32_f16_f32", {0x1p15, 0x1p15, 0}, 0, 2, 0, 0, 0, 1, 0, 0},
      {"amd_cdna3_mfma_16x16x16_f16", {0x1p10, 0x1.8p-14, 0}, 0x1p-20, 2, 1, 1, 1, 1, 0, 0},
      /* fp16: 2048 + 3 is 2052, which takes part of the 3; 1 is gone. */
      {"acc_seqfma_fp16_fp16", {2048, 3, 1}, 0, 3, 1, 2, 0, 3, 0, 0},
      {"acc_seqfma_fp16_fp16", {4096, 0, 0}, 1, 1, 1, 1, 1, 1, 0, 0},
      {"acc_seqfma_fp16_fp16", {8, -8, 0.5}, 0, 3, 0, 1, 0, 2, 0, 0},
      {"acc_seqfma_fp16_fp16", {8, -7, 0}, 0, 2, 0, 1, 0, 2, 3, 3},
      {"acc_exact_fp16_fp32", {8, -7, 0}, 0, 2, 0, 0, 0, 0, 0, 0},
  };
  for (size_t i = 0; i < N(rows); i++) {
    const struct tsr_mma *u = tsr_mma_find(rows[i].unit);
    uint64_t a[3], b[3];
    for (int k = 0; k < 3; k++) {
      a[k] = code(u->a, rows[i].a[k]);
      b[k] = code(u->b, 1);
    }
    struct tsr_mma_stats st = {0};
    tsr_mma_dot_stats(u, a, b, 3, code(u->acc, rows[i].c), NULL, &st);
    if (st.terms != rows[i].terms || st.truncated_terms != rows[i].truncated ||
        st.steps != rows[i].steps || st.absorbed_acc != rows[i].absorbed ||
        st.cancelled_steps != rows[i].cancelled || st.cancel_bits != rows[i].bits ||
        st.cancel_max != rows[i].max)
      fail_msg("row %zu: terms %d truncated %d steps %d absorbed %d results %d bits %d max %d",
               i, (int)st.terms, (int)st.truncated_terms, (int)st.steps, (int)st.absorbed_acc,
               (int)st.cancelled_steps, (int)st.cancel_bits, (int)st.cancel_max);
  }
}

/* With no large term to align by, ez does: what lies below 2^(ez - F) is lost, though
 * it alone would decide the rounding. */
static void tiny_terms_are_aligned_by_the_floor(void **state) {
  (void)state;
  static const struct {
    const char *unit;
    double a[2], b[2];
    uint64_t want;
  } rows[] = {
      /* 2^-25 + 2^-48: half of the smallest subnormal and a little. */
      {"nv_hopper_mma_m16n8k16_f16_f16_f16", {0x1p-12, 0x1p-24}, {0x1p-13, 0x1p-24}, 0},
      {"nv_hopper_wgmma_k16_f16_f16_f16", {0x1p-12, 0x1p-24}, {0x1p-13, 0x1p-24}, 1},
      {"nv_volta_mma_m8n8k4_f16_f16_f16", {0x1p-12, 0x1p-24}, {0x1p-13, 0x1p-20}, 0},
      {"nv_volta_mma_m8n8k4_f16_f16_f16", {0x1p-12, 0x1p-24}, {0x1p-13, 0x1p-19}, 1},
      /* 2^-149 less a little, truncated toward zero. */
      {"nv_hopper_mma_m16n8k16_f32_bf16_f32", {0x1p-100, -0x1p-100}, {0x1p-49, 0x1p-59}, 1},
      {"nv_hopper_mma_m16n8k16_f32_bf16_f32", {0x1p-100, -0x1p-100}, {0x1p-49, 0x1p-58}, 0},
      {"nv_ampere_mma_m16n8k8_f32_bf16_f32", {0x1p-100, -0x1p-100}, {0x1p-49, 0x1p-57}, 1},
      {"nv_ampere_mma_m16n8k8_f32_bf16_f32", {0x1p-100, -0x1p-100}, {0x1p-49, 0x1p-56}, 0},
  };
  for (size_t i = 0; i < N(rows); i++) {
    const struct tsr_mma *u = tsr_mma_find(rows[i].unit);
    uint64_t a[2], b[2];
    for (int k = 0; k < 2; k++) {
      a[k] = code(u->a, rows[i].a[k]);
      b[k] = code(u->b, rows[i].b[k]);
    }
    assert_int_equal(tsr_mma_dot(u, a, b, 2, 0, NULL), rows[i].want);
  }
}

static void adding_in_narrow_and_integer_accumulators(void **state) {
  (void)state;
  static const struct {
    const char *unit;
    uint64_t x, y, want;
    unsigned events;
  } rows[] = {
      {"acc_seqfma_fp16_fp16", 0x6800, 0x3c00, 0x6800, TSR_EVENT_INEXACT}, /* 2048 + 1 */
      {"acc_seqfma_fp16_fp16", 0x6800, 0x4200, 0x6802, TSR_EVENT_INEXACT}, /* 2048 + 3 */
      {"acc_seqfma_fp16_fp16", 0x3c00, 0xbc00, 0x0000, 0},
      {"acc_seqfma_fp16_fp16", 0x8000, 0x8000, 0x8000, 0},
      {"nv_volta_mma_m8n8k4_f16_f16_f16", 0x7c00, 0xfc00, 0x7fff, TSR_EVENT_INVALID},
      {"int_s8_s8_s32_wrap", 0x7fffffff, 1, 0x80000000, TSR_EVENT_OVERFLOW},
      {"int_s8_s8_s32_wrap", 0x80000000, 0xffffffff, 0x7fffffff, TSR_EVENT_OVERFLOW},
      {"int_s8_s8_s32_wrap", 0xffffffff, 1, 0, 0},
  };
  for (size_t i = 0; i < N(rows); i++) {
    unsigned ev = 0;
    assert_int_equal(tsr_mma_add(tsr_mma_find(rows[i].unit), rows[i].x, rows[i].y, &ev),
                     rows[i].want);
    assert_int_equal(ev, rows[i].events);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_unique_and_within_the_limits),
      cmocka_unit_test(the_default_unit_fits_the_operands),
      cmocka_unit_test(one_dot_product_tells_the_designs_apart),
      cmocka_unit_test(a_wide_grouped_sum_keeps_what_a_fused_one_drops),
      cmocka_unit_test(specials_follow_the_rules),
      cmocka_unit_test(overflow_depends_on_the_unit),
      cmocka_unit_test(swamped_terms_are_counted),
      cmocka_unit_test(losses_on_the_way_are_counted),
      cmocka_unit_test(tiny_terms_are_aligned_by_the_floor),
      cmocka_unit_test(adding_in_narrow_and_integer_accumulators),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
