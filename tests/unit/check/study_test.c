/* Operands, bounds and studies of units. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/check/bound.h"
#include "kernels/check/exact.h"
#include "kernels/check/study.h"
#include "models/arith/gemm.h"
#include "models/arith/mma_spec.h"

static const struct tsr_mma *unit(const char *name) {
  const struct tsr_mma *u = tsr_mma_find(name);
  if (!u) fail_msg("no unit %s", name);
  return u;
}

static struct tsr_check_result study(const char *name, enum tsr_draw dist, uint64_t k,
                                     struct tsr_study_result *x) {
  struct tsr_study s = {unit(name), dist, 1, 4, 4, k};
  struct tsr_check_result r;
  assert_int_equal(tsr_study_run(&s, x, NULL), TSR_OK);
  tsr_check_finish(&x->check, &r);
  return r;
}

/* Sums of k ones: where each accumulator stops, by hand.  fp16 counts to 2048: then 1
 * is half an ulp and the tie goes to even; bf16 likewise to 256. */
static void ones_show_where_an_accumulator_stops(void **state) {
  (void)state;
  static const struct {
    const char *unit;
    uint64_t k;
    double value;
  } rows[] = {{"acc_seqfma_fp16_fp16", 2048, 2048}, {"acc_seqfma_fp16_fp16", 4096, 2048},
              {"acc_seqfma_bf16_bf16", 256, 256},   {"acc_seqfma_bf16_bf16", 1024, 256},
              {"acc_seqfma_fp16_fp32", 4096, 4096}, {"int_s8_s8_s32_wrap", 4096, 4096}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tsr_study_result x;
    struct tsr_check_result r = study(rows[i].unit, TSR_DRAW_ONES, rows[i].k, &x);
    double lost = (double)rows[i].k - rows[i].value;
    assert_int_equal(r.checked_elems, 16);
    /* the same loss in all 16 results: norm-wise and componentwise it is lost / k */
    assert_true(r.norm_err == lost / (double)rows[i].k);
    assert_true(r.max_comp == lost / (double)rows[i].k && r.mean_comp == r.max_comp);
    assert_true(x.quantisation_err == 0 && x.unquantised_err == r.norm_err);
    if (!unit(rows[i].unit)->acc->is_int)
      assert_int_equal(x.stats.swamped_terms, 16 * (uint64_t)lost);
    assert_int_equal(x.cancel[0], 16); /* |a|^T|b| = |s| */
  }
}

static void bounds_are_those_of_the_text_books(void **state) {
  (void)state;
  static const struct {
    const char *unit;
    uint64_t range_k, ranges;
    double e; /* gamma = e / (1 - e) */
  } rows[] = {{"acc_seqfma_fp16_fp32", 100, 1, 100 * 0x1p-24},
              {"acc_seqfma_fp16_fp16", 64, 1, 64 * 0x1p-11},
              {"acc_seqfma_bf16_bf16", 16, 1, 16 * 0x1p-8},
              {"acc_seqfma_fp16_fp32", 100, 3, 103 * 0x1p-24},
              /* two steps of 16 and C, cut at 2^-25, and one rounding toward zero each */
              {"nv_hopper_mma_m16n8k16_f32_f16_f32", 32, 1, 2 * (17 * 0x1p-25 + 0x1p-23)},
              {"nv_volta_mma_m8n8k4_f32_f16_f32", 8, 1, 2 * (5 * 0x1p-23 + 0x1p-23)},
              {"int_s8_s8_s32_wrap", 1000, 1, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    double got = tsr_check_bound(unit(rows[i].unit), rows[i].range_k, rows[i].ranges);
    double want = rows[i].e / (1 - rows[i].e);
    if (!(got >= want * (1 - 1e-15) && got <= want * (1 + 1e-15)))
      fail_msg("%s: %g, expected %g", rows[i].unit, got, want);
  }
  double none = tsr_check_bound(unit("acc_seqfma_bf16_bf16"), 256, 1); /* 256 * 2^-8 = 1 */
  assert_true(none != none);
}

/* Every unit of the table stays within its bound, whatever the data. */
static void no_unit_passes_its_bound(void **state) {
  (void)state;
  static const uint64_t ks[] = {8, 40, 129};
  for (size_t u = 0; u < tsr_mma_count(); u++)
    for (int d = 0; d < TSR_DRAW_N_; d++)
      for (size_t k = 0; k < sizeof ks / sizeof ks[0]; k++) {
        struct tsr_study s = {tsr_mma_at(u), (enum tsr_draw)d, 3, 2, 2, ks[k]};
        struct tsr_study_result x;
        struct tsr_check_result r;
        assert_int_equal(tsr_study_run(&s, &x, NULL), TSR_OK);
        tsr_check_finish(&x.check, &r);
        if (x.bound == x.bound && r.max_comp > x.bound && !r.overflow && !r.subnormal_in &&
            !r.underflow)
          fail_msg("%s, %s, K = %d: %g above %g", s.unit->name, tsr_draw_names[d], (int)ks[k],
                   r.max_comp, x.bound);
        assert_int_equal(r.checked_elems, 4);
        assert_int_equal(r.nan, 0);
      }
}

/* A bound speaks of sums that neither overflow nor underflow: none is given where one
 * did, or where an operand was taken for zero. */
static void no_bound_is_given_for_what_it_does_not_cover(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum tsr_draw dist;
    uint64_t k;
    bool some;
  } rows[] = {{"fma:a=e3m4,b=e3m4,acc=bf16,round=odd,flush=yes", TSR_DRAW_NORMAL, 1, false},
              {"fma:a=e3m4,b=e3m4,acc=bf16,round=odd", TSR_DRAW_NORMAL, 1, true},
              {"fma:a=e3m4,b=e3m4,acc=bf16,round=odd,flush=yes", TSR_DRAW_ONES, 16, true},
              {"int:a=int16,b=int16,sat=pair16", TSR_DRAW_LOGNORMAL, 64, false},
              {"int:a=int16,b=int16,sat=pair16", TSR_DRAW_ONES, 64, true},
              {"int:a=int8,b=int8,sat=wrap", TSR_DRAW_NORMAL, 64, true}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    static struct tsr_mma_spec spec;
    struct tsr_study_result x;
    struct tsr_check_result r;
    assert_int_equal(tsr_mma_parse(rows[i].text, NULL, NULL, NULL, &spec, NULL), TSR_OK);
    struct tsr_study s = {&spec.unit, rows[i].dist, 3, 16, 16, rows[i].k};
    assert_int_equal(tsr_study_run(&s, &x, NULL), TSR_OK);
    tsr_check_finish(&x.check, &r);
    if ((x.bound == x.bound) != rows[i].some) fail_msg("row %zu: bound %g", i, x.bound);
    if (rows[i].some && r.max_comp > x.bound) fail_msg("row %zu: %g", i, r.max_comp);
  }
}

/* Reads nothing but seed, lane and k. */
static void a_study_does_not_depend_on_its_size(void **state) {
  (void)state;
  struct tsr_study small = {
      unit("nv_hopper_mma_m16n8k16_f32_f16_f32"), TSR_DRAW_OUTLIERS, 5, 1, 1, 200};
  struct tsr_study_result a, b;
  assert_int_equal(tsr_study_run(&small, &a, NULL), TSR_OK);
  assert_int_equal(tsr_study_run(&small, &b, NULL), TSR_OK);
  assert_memory_equal(&a, &b, sizeof a);
  small.seed = 6;
  assert_int_equal(tsr_study_run(&small, &b, NULL), TSR_OK);
  assert_true(a.check.sum_s2 != b.check.sum_s2);
}

static void distributions_are_what_they_say(void **state) {
  (void)state;
  enum { N = 4000 };
  for (int d = 0; d < TSR_DRAW_N_; d++) {
    double sum = 0, square = 0, least = 1e9, most = -1e9;
    for (uint64_t k = 0; k < N; k++) {
      double v = (double)tsr_draw_value((enum tsr_draw)d, 1, 0, false, 3, k, N);
      sum += v, square += v * v;
      least = v < least ? v : least, most = v > most ? v : most;
    }
    double mean = sum / N, var = square / N - mean * mean;
    switch ((enum tsr_draw)d) {
    case TSR_DRAW_NORMAL:
      assert_true(mean > -0.07 && mean < 0.07 && var > 0.9 && var < 1.1);
      break;
    case TSR_DRAW_UNIFORM:
      assert_true(least >= -1 && most <= 1 && mean > -0.05 && mean < 0.05 && var > 0.31 &&
                  var < 0.36);
      break;
    case TSR_DRAW_SAME_SIGN:
      assert_true(least > 0 && most <= 1 && mean > 0.47 && mean < 0.53);
      break;
    case TSR_DRAW_LOGNORMAL: assert_true(least < -2 && most > 2 && most < 200); break;
    case TSR_DRAW_OUTLIERS: assert_true(most > 20 && var > 8 && var < 40); break;
    case TSR_DRAW_CANCELLING: assert_true(var > 0.8 && var < 1.1); break;
    case TSR_DRAW_ONES: assert_true(least == 1 && most == 1); break;
    case TSR_DRAW_N_: break;
    }
  }
  /* The second half takes back the first but for every eighth product. */
  for (uint64_t k = 0; k < 100; k++) {
    double p[2];
    for (int h = 0; h < 2; h++)
      p[h] = (double)tsr_draw_value(TSR_DRAW_CANCELLING, 1, 0, false, 0, k + 100 * (uint64_t)h,
                                    200) *
             (double)tsr_draw_value(TSR_DRAW_CANCELLING, 1, 1, true, 0, k + 100 * (uint64_t)h,
                                    200);
    assert_true((p[0] + p[1] == 0) == (k % 8 != 0));
  }
}

static void many_values_are_the_single_ones(void **state) {
  (void)state;
  static const char *const formats[] = {"fp16", "bf16",  "fp32",    "fp64",
                                        "int8", "uint8", "fp8_e4m3"};
  enum { N = 3001, FROM = 12345 };
  static uint8_t codes[N * 8];
  static float from[N];
  for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
    const struct tsr_format *x = tsr_format_find(formats[f]);
    struct tsr_draw_table *t;
    struct tsr_exact_range seen, range;
    assert_int_equal(tsr_draw_table_create(x, &t, NULL), TSR_OK);
    assert_ptr_equal(tsr_draw_table_format(t), x);
    tsr_draw_normal_range(x, &range);
    tsr_exact_range_init(&seen);
    for (int round = 0; round < 2; round++) { /* the second: from the table */
      tsr_draw_normal_many(t, 9, 4, FROM, N, codes, from);
      for (size_t i = 0; i < N; i++) {
        float one;
        uint64_t want =
            tsr_draw_quantise(x, tsr_draw_normal(9, 4, FROM + i), TSR_DRAW_INT_SCALE, &one);
        assert_true(tsr_exact_code(codes, tsr_gemm_code_bytes(x), i) == want && from[i] == one);
        struct tsr_num v = tsr_arith_decode(x, want);
        tsr_exact_range_add(&seen, &v);
      }
    }
    assert_true(range.lsb <= seen.lsb && range.msb >= seen.msb && !seen.special);
    tsr_draw_table_destroy(t);
  }
}

static void a_ladder_ends_with_its_k(void **state) {
  (void)state;
  static const struct {
    uint64_t k;
    size_t n;
    uint64_t list[5];
  } rows[] = {{8, 1, {8}},
              {16, 1, {16}},
              {17, 2, {16, 17}},
              {100, 4, {16, 32, 64, 100}},
              {128, 4, {16, 32, 64, 128}}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint64_t k[TSR_STUDY_LADDER_MAX];
    assert_int_equal(tsr_study_ladder(16, rows[i].k, k), rows[i].n);
    assert_memory_equal(k, rows[i].list, rows[i].n * sizeof *k);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ones_show_where_an_accumulator_stops),
      cmocka_unit_test(bounds_are_those_of_the_text_books),
      cmocka_unit_test(no_unit_passes_its_bound),
      cmocka_unit_test(no_bound_is_given_for_what_it_does_not_cover),
      cmocka_unit_test(a_study_does_not_depend_on_its_size),
      cmocka_unit_test(distributions_are_what_they_say),
      cmocka_unit_test(many_values_are_the_single_ones),
      cmocka_unit_test(a_ladder_ends_with_its_k),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
