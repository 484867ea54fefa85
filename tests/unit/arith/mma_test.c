#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/mma.h"
#include "sim/base/rng.h"

#define N(array) (sizeof(array) / sizeof(array)[0])
enum { INF16 = 0x7c00, NAN16 = 0x7e00, K_MAX = 64 };

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
    assert_int_equal(u->a->is_int, u->kind == TSR_MMA_INT);
    assert_int_equal(u->acc->is_int, u->kind == TSR_MMA_INT);
    if (u->kind != TSR_MMA_FUSED) continue;
    assert_in_range(u->fused_len, 1, TSR_MMA_FUSED_LEN_MAX);
    assert_in_range(u->align_bits, 1, TSR_MMA_ALIGN_BITS_MAX);
    assert_true(u->zero_exp == -108 - u->align_bits || u->zero_exp == 3 - u->align_bits);
    assert_int_equal(u->overflow_inf, u->round == TSR_ROUND_RZ);
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
      assert_string_equal(u->name, rows[i].unit);
    } else {
      assert_null(u);
    }
  }
}

/* SRC:mmasim: one dot product that tells the alignment widths apart.  The terms
 * -1/2, -1/4, -1/8 stand beside 2^23, of which F - 23 bits below 1 remain. */
static void alignment_width_decides_what_survives_cancellation(void **state) {
  (void)state;
  static const double a[] = {-0x1p13, -0.5, -0.25, -0.125}, b[] = {0x1p10, 1, 1, 1};
  static const double want[] = {0, -0.5, -0.75}; /* F = 23, 24, 25 */
  size_t seen = 0;
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    if (u->acc != fmt("fp32")) continue;
    uint64_t x[4], y[4];
    for (int k = 0; k < 4; k++) {
      x[k] = code(u->a, a[k]);
      y[k] = code(u->b, b[k]);
    }
    double got =
        tsr_arith_to_double(u->acc, tsr_mma_dot(u, x, y, 4, code(u->acc, 0x1p23), NULL));
    double expect = u->kind == TSR_MMA_FUSED ? want[u->align_bits - 23] : -0.875;
    if (got != expect) fail_msg("%s: got %g, want %g", u->name, got, expect);
    seen++;
  }
  assert_true(seen > 20);
}

/* Any bits, but exponents close enough for most terms to matter. */
static uint64_t some_operand(const struct tsr_format *f, struct tsr_rng *r) {
  uint64_t x = tsr_rng_next(r), v = x & ((UINT64_C(1) << f->man_bits) - 1);
  uint64_t e = (uint64_t)f->bias - 6 + (x >> 32) % 12;
  return ((x >> 63 << (f->exp_bits + f->man_bits)) | e << f->man_bits | v) << f->pad_bits;
}

static void shuffle(uint64_t *a, uint64_t *b, size_t n, struct tsr_rng *r) {
  for (size_t i = n; i > 1; i--) {
    size_t j = tsr_rng_range(r, 0, i - 1);
    uint64_t x = a[i - 1], y = b[i - 1];
    a[i - 1] = a[j];
    b[i - 1] = b[j];
    a[j] = x;
    b[j] = y;
  }
}

static void order_inside_a_fused_step_does_not_matter(void **state) {
  (void)state;
  struct tsr_rng r = {3};
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    if (u->kind != TSR_MMA_FUSED) continue;
    size_t len = (size_t)u->fused_len, order_seen = 0;
    for (int rep = 0; rep < 200; rep++) {
      uint64_t a[2 * K_MAX], b[2 * K_MAX], c = some_operand(u->acc, &r);
      for (size_t k = 0; k < 2 * len; k++) {
        a[k] = some_operand(u->a, &r);
        b[k] = some_operand(u->b, &r);
      }
      uint64_t want = tsr_mma_dot(u, a, b, 2 * len, c, NULL);
      shuffle(a, b, len, &r);
      shuffle(a + len, b + len, len, &r);
      assert_int_equal(tsr_mma_dot(u, a, b, 2 * len, c, NULL), want);
      shuffle(a, b, 2 * len, &r); /* across steps it may matter */
      order_seen += tsr_mma_dot(u, a, b, 2 * len, c, NULL) != want;
    }
    assert_true(order_seen > 0);
  }
}

static void a_long_dot_product_is_a_chain_of_steps(void **state) {
  (void)state;
  struct tsr_rng r = {5};
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    size_t len = u->kind == TSR_MMA_FUSED ? (size_t)u->fused_len : 1;
    for (int rep = 0; rep < 50; rep++) {
      uint64_t a[K_MAX], b[K_MAX], c0 = code(u->acc, 1), c = c0;
      size_t k = tsr_rng_range(&r, 0, K_MAX);
      for (size_t j = 0; j < k; j++) {
        a[j] = u->a->is_int ? tsr_rng_next(&r) & 0xff : some_operand(u->a, &r);
        b[j] = u->b->is_int ? tsr_rng_next(&r) & 0xff : some_operand(u->b, &r);
      }
      for (size_t j = 0; j < k; j += len)
        c = tsr_mma_dot(u, a + j, b + j, k - j < len ? k - j : len, c, NULL);
      assert_int_equal(tsr_mma_dot(u, a, b, k, c0, NULL), c);
    }
  }
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
    struct tsr_mma_stats stats = {100};
    uint64_t c = code(u->acc, rows[i].c);
    uint64_t d = tsr_mma_dot_stats(u, a, b, 3, c, NULL, &stats);
    assert_int_equal(d, tsr_mma_dot(u, a, b, 3, c, NULL));
    assert_int_equal(stats.swamped_terms, 100 + rows[i].want);
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
      cmocka_unit_test(alignment_width_decides_what_survives_cancellation),
      cmocka_unit_test(order_inside_a_fused_step_does_not_matter),
      cmocka_unit_test(a_long_dot_product_is_a_chain_of_steps),
      cmocka_unit_test(specials_follow_the_rules),
      cmocka_unit_test(overflow_depends_on_the_unit),
      cmocka_unit_test(swamped_terms_are_counted),
      cmocka_unit_test(tiny_terms_are_aligned_by_the_floor),
      cmocka_unit_test(adding_in_narrow_and_integer_accumulators),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
