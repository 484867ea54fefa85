/* Figures that a person can derive: wave quantisation, a window of bursts, an array for one
 * row, an attention that keeps its scores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/run/ran.h"

static double run(const char *arch, const char *workload, const char *const *sets,
                  const char *mapping, const char *sql) {
  struct tsr_err err = TSR_ERR_INIT;
  struct ran r;
  enum tsr_status st =
      mapping ? ran_mapped(&r, arch, workload, sets, mapping, TSR_NUMERICS_OFF, &err)
              : ran_try(&r, arch, workload, sets, TSR_NUMERICS_OFF, &err);
  if (st) fail_msg("%s: %s", workload, err.n ? err.msg[0] : "no run");
  double v = ran_number(&r, sql);
  tsr_err_fini(&err);
  ran_fini(&r);
  return v;
}

static const char cycles[] = "SELECT cycles FROM v_layers WHERE run = 1";
static const char read_per_s[] = "SELECT dram_read_bytes / time_s FROM v_layers WHERE run = 1";

/* 108 cores, results in tiles of 256 x 128, M = 2304, K = 4096: N = 1536 are 108 tiles, one a
 * core; N = 1537 are 117, so that some have two. */
static void one_tile_more_than_cores_doubles_the_time(void **state) {
  (void)state;
  static const char *const sets[] = {"cores=108",
                                     "noc.kind=none",
                                     "llb.size=0",
                                     "dram.bandwidth=unlimited",
                                     "dram.latency=0ns",
                                     "sram.a.size=16MiB",
                                     "sram.b.size=16MiB",
                                     "sram.c.size=1MiB",
                                     "dma.outstanding=65536",
                                     NULL};
  static const char one[] = "version: 1\nlayers:\n  - layer: gemm0\n    cores: {m: 9, n: 12}\n"
                            "    loops: [{axis: k, tile: 512}]\n";
  static const char two[] =
      "version: 1\nlayers:\n  - layer: gemm0\n    cores: {m: 9, n: 7}\n    chunk: {n: 256}\n"
      "    loops: [{axis: n, tile: 128}, {axis: k, tile: 512}]\n";
  double even = run("dot-4x4", "gemm:2304x1536x4096", sets, one, cycles);
  double more = run("dot-4x4", "gemm:2304x1537x4096", sets, two, cycles);
  /* a core's four tiles of 8 x 8 x 4 take 256 x 128 x 4096 products at 1024 a cycle */
  assert_true(even >= 131072 && even < 1.02 * 131072);
  assert_true(more >= 1.98 * even && more <= 2.02 * even);
}

/* 16 bursts of 64 bytes on their way for 60 ns: 17.07 GB/s. */
static void a_window_of_bursts_bounds_the_rate(void **state) {
  (void)state;
  static const char *const bandwidth[] = {"dram.bandwidth=unlimited", "dram.bandwidth=600GB/s",
                                          "dram.bandwidth=20GB/s"};
  for (size_t i = 0; i < 3; i++) {
    const char *const sets[] = {"dma.outstanding=16", "dma.burst=64B", "dram.latency=60ns",
                                bandwidth[i], NULL};
    double rate = run("systolic-128", "gemm:1x4096x4096", sets, NULL, read_per_s);
    assert_true(rate <= 17.0667e9);
    assert_true(rate >= (i < 2 ? 0.99 : 0.9) * 17.0667e9);
  }
  static const char *const twice[] = {"dma.outstanding=32", "dma.burst=64B",
                                      "dram.latency=60ns", "dram.bandwidth=unlimited", NULL};
  assert_true(run("systolic-128", "gemm:1x4096x4096", twice, NULL, read_per_s) > 33e9);
}

/* Without preload a fold of R x C weights takes R cycles to load and M + R + C - 2 to stream.
 */
static void one_row_uses_little_of_the_array(void **state) {
  (void)state;
  static const struct {
    const char *workload, *rows, *cols;
    double R, C, M;
  } cases[] = {{"gemm:1x128x128", "tile.rows=128", "tile.cols=128", 128, 128, 1},
               {"gemm:1x24x40", "tile.rows=40", "tile.cols=24", 40, 24, 1},
               {"gemm:7x16x8", "tile.rows=8", "tile.cols=16", 8, 16, 7}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *const sets[] = {"tile.weight_preload=false", cases[i].rows, cases[i].cols,
                                NULL};
    const double R = cases[i].R, C = cases[i].C, M = cases[i].M;
    double took = run("systolic-128", cases[i].workload, sets, NULL,
                      "SELECT compute_cycles FROM v_layers WHERE run = 1");
    assert_true(took == 2 * R + C + M - 2);
    double used = run("systolic-128", cases[i].workload, sets, NULL,
                      "SELECT executed_macs / (compute_cycles * peak_macs_per_cycle) FROM "
                      "v_layers WHERE run = 1");
    double want = M / (2 * R + C + M - 2);
    assert_true(used > want - 1e-9 && used < want + 1e-9);
  }
}

/* Eyeriss, 12 x 14 elements: of AlexNet's layers conv2 uses 135 of them, conv3 to conv5 156
 * (SRC:eyeriss, recalled): filters of r rows stand above each other as often as they fit, the
 * rows of results side by side.  T is a row of results times one of the filter. */
static void rows_of_filters_fill_the_array_as_in_eyeriss(void **state) {
  (void)state;
  static const struct {
    const char *conv;
    double active, folds, T, S;
  } rows[] = {{"op:conv:in_c=48,hw=27,out_c=128,window=5,pad=2", 135, 64 * 2, 27 * 240, 240},
              {"op:conv:in_c=256,hw=13,out_c=384,window=3,pad=1", 156, 96, 13 * 768, 768},
              {"op:conv:in_c=192,hw=13,out_c=192,window=3,pad=1", 156, 48, 13 * 576, 576},
              {"op:conv:in_c=192,hw=13,out_c=128,window=3,pad=1", 156, 32, 13 * 576, 576}};
  static const char *const sets[] = {"tile.dataflow=rs", "tile.rows=12", "tile.cols=14", NULL};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double active = run("systolic-32", rows[i].conv, sets, NULL,
                        "SELECT mapping_efficiency * 168 FROM v_layers WHERE run = 1");
    assert_true(active > rows[i].active - 1e-6 && active < rows[i].active + 1e-6);
    double took = run("systolic-32", rows[i].conv, sets, NULL,
                      "SELECT compute_cycles FROM v_layers WHERE run = 1");
    assert_true(took == rows[i].S + rows[i].folds * rows[i].T + 12 + 14 - 2);
  }
}

/* A head of S = 2048, d = 128 in fp16: four operands once, or scores and probabilities to
 * memory and back beside them. */
static void scores_that_stay_move_nothing(void **state) {
  (void)state;
  static const char moved[] =
      "SELECT dram_read_bytes + dram_write_bytes FROM v_layers WHERE run = 1";
  static const char *const tiled[] = {NULL}, *const plain[] = {"attention=plain", NULL};
  const char *head = "op:attention:heads=1,s=2048,d=128";
  const double S = 2048, d = 128;
  assert_true(run("systolic-128", head, tiled, NULL, moved) == 4 * S * d * 2);
  assert_true(run("systolic-128", head, plain, NULL, moved) == (4 * S * d + 4 * S * S) * 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_tile_more_than_cores_doubles_the_time),
      cmocka_unit_test(a_window_of_bursts_bounds_the_rate),
      cmocka_unit_test(one_row_uses_little_of_the_array),
      cmocka_unit_test(rows_of_filters_fill_the_array_as_in_eyeriss),
      cmocka_unit_test(scores_that_stay_move_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
