/* The preset onnxim-128 beside ONNXim, GEMM by GEMM: total cycles within 3 %.
 *
 * The figures are those of runs of ONNXim (commit a1e8629, MIT licence): one core,
 * 128x128 weight stationary, fp16, its simple DRAM of 16 channels and simple
 * interconnect.  Bounds beside each figure, written out apart from the product: the
 * array's part by that tool's rule, and below the whole lies what must come before the
 * first product (a strip of 128 rows of a and 128 columns of b) and after the last (a
 * 128x128 result) at the bandwidth of the preset, the memory's latency apart. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/run/run.h"
#include "sim/store/store.h"

enum { ARRAY = 128, ELEM = 2, BYTES_PER_CYCLE = 512, LATENCY = 12, PERCENT = 3 };

static const struct {
  uint64_t m, n, k, cycles;
} rows[] = {
    {256, 256, 256, 1888},   {512, 512, 512, 9310},      {1024, 1024, 1024, 67166},
    {512, 3072, 768, 75107}, {2048, 2048, 2048, 526942},
};

struct figures {
  uint64_t cycles, compute_cycles, folds;
};

static void must(enum tsr_status s, const struct tsr_err *err) {
  if (s) fail_msg("%s", err->n ? err->msg[0] : "failed without a message");
}

static struct figures simulate(struct tsr_store *store, const char *workload) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_run_options o = {.arch = "onnxim-128", .workload = workload, .version = "test"};
  struct tsr_query *q;
  uint64_t run;
  bool row = false;
  must(tsr_run_execute(&o, store, &run, &err), &err);
  must(tsr_store_query(store,
                       "SELECT cycles, compute_cycles, folds FROM v_layers WHERE run = ?1", &q,
                       &err),
       &err);
  tsr_query_bind_u64(q, 1, run);
  must(tsr_query_step(q, &row, &err), &err);
  assert_true(row);
  struct figures f = {tsr_query_u64(q, 0), tsr_query_u64(q, 1), tsr_query_u64(q, 2)};
  must(tsr_query_step(q, &row, &err), &err);
  assert_false(row); /* one layer */
  tsr_query_close(q);
  tsr_err_fini(&err);
  return f;
}

/* A load of 2*128 - 1 cycles into the idle array, a pass each 128 cycles (no tile has
 * fewer rows), 128 + 128 - 2 to drain. */
static uint64_t array_cycles(uint64_t folds) {
  return 2 * ARRAY - 1 + folds * ARRAY + 2 * ARRAY - 2;
}

static void gemms_take_the_cycles_of_onnxim(void **state) {
  (void)state;
  char folder[] = "/tmp/tessera_onnxim_XXXXXX", path[64], workload[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/t.db", folder);
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_store *store;
  must(tsr_store_open(path, TSR_STORE_WRITE, &store, &err), &err);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint64_t m = rows[i].m, n = rows[i].n, k = rows[i].k, want = rows[i].cycles;
    snprintf(workload, sizeof workload, "gemm:%" PRIu64 "x%" PRIu64 "x%" PRIu64, m, n, k);
    struct figures f = simulate(store, workload);
    uint64_t folds = m / ARRAY * (n / ARRAY) * (k / ARRAY);
    uint64_t edges = (2 * ARRAY * k + ARRAY * ARRAY) * ELEM / BYTES_PER_CYCLE;
    print_message("%s: %" PRIu64 " cycles, ONNXim %" PRIu64 " (%+.2f %%)\n", workload, f.cycles,
                  want, 100 * ((double)f.cycles / (double)want - 1));
    assert_int_equal(f.folds, folds);
    assert_int_equal(f.compute_cycles, array_cycles(folds));
    assert_true(f.cycles >= array_cycles(folds) + edges);
    assert_true(f.cycles <= array_cycles(folds) + edges + 2 * LATENCY + 2);
    assert_true(100 * f.cycles >= (100 - PERCENT) * want);
    assert_true(100 * f.cycles <= (100 + PERCENT) * want);
  }
  must(tsr_store_close(store, &err), &err);
  tsr_err_fini(&err);
  remove(path);
  rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(gemms_take_the_cycles_of_onnxim)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
