/* Sums along K that leave the tile: promoted ones, and those of several cores.  Every run
 * compares what the program left in memory with the operator's product, bit for bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/mem.h"
#include "sim/run/run_int.h"
#include "tests/unit/run/ran.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

/* ---- the order of additions ---- */

/* Two large parts of opposite sign and small ones between: the order shows in the bits. */
static void sums_meet_in_ascending_order(void **state) {
  (void)state;
  static const struct {
    bool promoted;
    struct {
      float acc;
      bool tile, part;
    } range[6];
    float want;
  } rows[] = {
      /* one core, promoted: 2^24 + 1 is 2^24, and so on; then - 2^24 */
      {true, {{16777216, 1, 0}, {1, 1, 0}, {1, 1, 0}, {-16777216, 1, 1}}, 0},
      {true, {{1, 1, 0}, {1, 1, 0}, {16777216, 1, 0}, {-16777216, 1, 1}}, 2},
      /* two cores: each promotes its own before the two meet */
      {true, {{16777216, 1, 0}, {1, 1, 1}, {1, 1, 0}, {1, 1, 1}}, 16777218},
      /* four cores */
      {false, {{16777216, 0, 1}, {1, 0, 1}, {1, 0, 1}, {-16777216, 0, 1}}, 0},
      {false, {{1, 0, 1}, {1, 0, 1}, {16777216, 0, 1}, {-16777216, 0, 1}}, 2},
      {false, {{-0.0f, 0, 1}}, -0.0f},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_run_layer_plan l = {.mapping = {.promoted = rows[i].promoted}};
    const struct tsr_format *fp16 = tsr_format_find("fp16"), *fp32 = tsr_format_find("fp32");
    struct tsri_operands o = {.l = &l, .acc = fp32, .sum = fp32};
    assert_int_equal(tsr_mma_resolve("", fp16, fp16, fp32, &o.spec, &o.unit, NULL), TSR_OK);
    struct tsri_sums s = {0};
    for (int r = 0; r == 0 || rows[i].range[r].acc != 0; r++) {
      uint32_t code;
      memcpy(&code, &rows[i].range[r].acc, sizeof code);
      s.acc = code;
      const struct tsri_cut cut = {0, rows[i].range[r].tile, rows[i].range[r].part};
      tsri_sums_cut(&o, &cut, 0, &s, NULL);
      if (r == 5) break;
    }
    uint32_t want;
    memcpy(&want, &rows[i].want, sizeof want);
    assert_int_equal(s.total, want);
  }
}

/* ---- promotion ---- */

/* What a run's vector unit did: elements that it took, in all. */
static const struct {
  const char *name, *arch, *workload, *sets[8];
  uint64_t adds; /* M * N * tiles of k */
} promoted[] = {
    {"ws", "systolic-32", "gemm:70x50x300", {"tile.promote=64"}, 70 * 50 * 5},
    {"is",
     "systolic-32",
     "gemm:70x50x300",
     {"tile.promote=64", "tile.dataflow=is"},
     70 * 50 * 5},
    {"os",
     "systolic-32",
     "gemm:70x50x300",
     {"tile.promote=64", "tile.dataflow=os"},
     70 * 50 * 5},
    {"one product a tile", "systolic-32", "gemm:5x6x7", {"tile.promote=1"}, 5 * 6 * 7},
    {"all of k in one tile", "systolic-32", "gemm:70x50x64", {"tile.promote=64"}, 0},
    {"bf16",
     "systolic-32",
     "gemm:33x31x200",
     {"tile.promote=50", "tile.formats.a=bf16", "tile.formats.b=bf16", "tile.formats.out=bf16"},
     33 * 31 * 4},
    {"accumulators in fp16",
     "systolic-32",
     "gemm:33x31x200",
     {"tile.promote=32", "tile.formats.acc=fp16"},
     33 * 31 * 7},
    {"bert", "systolic-128", "gemm:128x768x768", {"tile.promote=128"}, 128 * 768 * 6},
};

static void promoted_sums_cost_an_addition_a_tile_of_k(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(promoted); i++) {
    struct ran r;
    ran_make(&r, promoted[i].arch, promoted[i].workload, promoted[i].sets, TSR_NUMERICS_FULL);
    double busy = ran_number(&r, "SELECT sum(cycles) FROM v_units WHERE run = 1 AND "
                                 "unit = 'core0.vector' AND state = 'busy'");
    double lanes = 128, tiles = (double)promoted[i].adds / lanes;
    /* each addition of a tile ends its last pass early */
    if (busy < tiles || busy > tiles * 1.2 + 60)
      fail_msg("%s: %.0f cycles of the vector unit, %.1f expected", promoted[i].name, busy,
               tiles);
    ran_fini(&r);
  }
}

/* The cut that fits: rows of the filter, taps, channels; of groups even ones. */
static void promoted_convolutions_are_exact(void **state) {
  (void)state;
  static const char *const convs[] = {
      "op:conv:in_c=20,hw=9,out_c=12,window=3,pad=1",
      "op:conv:in_c=12,hw=10,out_c=8,window=3,stride=2,pad=1,groups=2",
      "op:conv:in_c=40,hw=6,out_c=9,window=1,batch=3"};
  static const char *const sets[][4] = {{"tile.promote=500"},
                                        {"tile.promote=130"},
                                        {"tile.promote=45"},
                                        {"tile.promote=20"},
                                        {"tile.promote=7"},
                                        {"tile.promote=7", "tile.dataflow=os"},
                                        {"tile.promote=45", "cores=3", "split=k"}};
  for (size_t c = 0; c < LEN(convs); c++)
    for (size_t i = 0; i < LEN(sets); i++) {
      struct ran r;
      ran_make(&r, "systolic-32", convs[c], sets[i], TSR_NUMERICS_FULL);
      ran_fini(&r);
    }
}

static void promotion_of_what_fp32_does_not_hold_is_refused(void **state) {
  (void)state;
  static const char *const sets[] = {"tile.promote=64",       "tile.formats.a=int8",
                                     "tile.formats.b=int8",   "tile.formats.acc=int32",
                                     "tile.formats.out=int8", NULL};
  struct ran r;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(ran_try(&r, "systolic-32", "gemm:8x8x128", sets, TSR_NUMERICS_OFF, &err),
                   TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "tile.promote"));
  tsr_err_fini(&err);
  ran_fini(&r);
}

/* The matmul of the tour: an fp8 unit that keeps 13 bits of each step, over a long K. */
static void promotion_buys_accuracy_with_cycles(void **state) {
  (void)state;
  static const char *const plain[] = {
      "tile.formats.a=fp8_e4m3", "tile.formats.b=fp8_e4m3",
      "tile.formats.out=bf16",   "tile.mma=nv_hopper_wgmma_k32_f32_e4m3_f32",
      "tile.rates.fp8_e4m3=1",   NULL};
  static const char *const wide[] = {"tile.formats.a=fp8_e4m3",
                                     "tile.formats.b=fp8_e4m3",
                                     "tile.formats.out=bf16",
                                     "tile.mma=nv_hopper_wgmma_k32_f32_e4m3_f32",
                                     "tile.rates.fp8_e4m3=1",
                                     "tile.promote=128",
                                     NULL};
  static const char *const narrow[] = {
      "tile.formats.a=fp8_e4m3", "tile.formats.b=fp8_e4m3",
      "tile.formats.out=bf16",   "tile.mma=nv_hopper_wgmma_k32_f32_e4m3_f32",
      "tile.rates.fp8_e4m3=1",   "tile.promote=128",
      "vector.lanes=32",         NULL};
  static const char *const *const sets[] = {plain, wide, narrow};
  double cycles[3], error[3], waits[3];
  for (int i = 0; i < 3; i++) {
    struct ran r;
    ran_make(&r, "systolic-128", "gemm:128x128x4096", sets[i], TSR_NUMERICS_FULL);
    cycles[i] = ran_number(&r, "SELECT cycles FROM v_layers WHERE run = 1");
    error[i] = ran_number(&r, "SELECT norm_err FROM v_numeric WHERE run = 1 AND "
                              "tensor = 'accumulation'");
    waits[i] = ran_number(&r, "SELECT share FROM v_stalls WHERE run = 1 AND cause = 'vector'");
    ran_fini(&r);
  }
  assert_true(error[1] < error[0] / 8);
  assert_true(error[2] == error[1]); /* lanes change time alone */
  assert_true(cycles[1] > cycles[0]);
  assert_true(cycles[2] > 2 * cycles[1]); /* 128 * 128 * 32 additions at 32 a cycle */
  assert_true(cycles[2] > 128 * 128 * 32 / 32 && cycles[2] < 1.3 * (128 * 128 * 32 / 32));
  assert_true(waits[0] == 0 && waits[2] > 0.5);
}

/* ---- k divided among cores ---- */

static const struct {
  const char *name, *workload, *sets[8];
  double parts, m, n, k;
} divided[] = {
    {"even", "gemm:40x50x4096", {"cores=4", "split=k"}, 4, 40, 50, 4096},
    {"odd cores, odd k", "gemm:33x17x1001", {"cores=3", "split=k"}, 3, 33, 17, 1001},
    {"more cores than shares of rows", "gemm:1x3x4096", {"cores=8", "split=k"}, 8, 1, 3, 4096},
    {"promoted", "gemm:40x50x4000", {"cores=4", "split=k", "tile.promote=96"}, 4, 40, 50, 4000},
    {"sums in fp16",
     "gemm:40x50x4096",
     {"cores=4", "split=k", "tile.formats.acc=fp16"},
     4,
     40,
     50,
     4096},
    {"integers",
     "gemm:40x50x4096",
     {"cores=4", "split=k", "tile.formats.a=int8", "tile.formats.b=int8",
      "tile.formats.acc=int32", "tile.formats.out=int8"},
     4,
     40,
     50,
     4096},
    {"os", "gemm:40x50x4096", {"cores=4", "split=k", "tile.dataflow=os"}, 4, 40, 50, 4096},
};

static void cores_that_divide_k_add_up_to_the_product(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(divided); i++) {
    struct ran r;
    ran_make(&r, "systolic-32", divided[i].workload, divided[i].sets, TSR_NUMERICS_FULL);
    double wrote = ran_number(&r, "SELECT dram_write_bytes FROM v_layers WHERE run = 1");
    double read = ran_number(&r, "SELECT dram_read_bytes FROM v_layers WHERE run = 1");
    bool half = strstr(divided[i].name, "fp16") != NULL,
         ints = !strcmp(divided[i].name, "integers");
    double sum = half ? 2 : 4, in = ints ? 1 : 2, c = divided[i].m * divided[i].n;
    double least_written = c * (divided[i].parts * sum + in);
    double least_read =
        divided[i].parts * c * sum + (divided[i].m + divided[i].n) * divided[i].k * in;
    /* bursts round up; every core's sums leave and come back once */
    if (wrote < least_written || read < least_read || wrote > 1.5 * least_written + 4096)
      fail_msg("%s: %.0f written, %.0f read; expected %.0f and %.0f", divided[i].name, wrote,
               read, least_written, least_read);
    ran_fini(&r);
  }
}

/* auto divides k where m and n leave cores without work, and not where they feed them. */
static void auto_divides_k_where_figures_say_so(void **state) {
  (void)state;
  static const struct {
    const char *workload;
    bool k;
  } rows[] = {{"gemm:32x32x8192", true}, {"gemm:1024x1024x128", false}};
  static const char *const sets[] = {"cores=4", NULL},
                           *const m_sets[] = {"cores=4", "split=m", NULL},
                           *const k_sets[] = {"cores=4", "split=k", NULL};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_run_plan p;
    struct tsr_run_options o = {
        .arch = "systolic-32", .workload = rows[i].workload, .sets = sets, .n_sets = 1};
    assert_int_equal(tsr_run_plan_make(&o, &p, NULL), TSR_OK);
    assert_int_equal(tsri_run_parts(&p.layers[0]) > 1, rows[i].k);
    tsr_run_plan_fini(&p);
    struct ran by_k, by_m;
    ran_make(&by_k, "systolic-32", rows[i].workload, k_sets, TSR_NUMERICS_OFF);
    ran_make(&by_m, "systolic-32", rows[i].workload, m_sets, TSR_NUMERICS_OFF);
    const char sql[] = "SELECT cycles FROM v_layers WHERE run = 1";
    assert_int_equal(ran_number(&by_k, sql) < ran_number(&by_m, sql), rows[i].k);
    ran_fini(&by_k);
    ran_fini(&by_m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_meet_in_ascending_order),
      cmocka_unit_test(promoted_sums_cost_an_addition_a_tile_of_k),
      cmocka_unit_test(promoted_convolutions_are_exact),
      cmocka_unit_test(promotion_of_what_fp32_does_not_hold_is_refused),
      cmocka_unit_test(promotion_buys_accuracy_with_cycles),
      cmocka_unit_test(cores_that_divide_k_add_up_to_the_product),
      cmocka_unit_test(auto_divides_k_where_figures_say_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
