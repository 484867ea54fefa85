/* The same inputs give the same bytes in the store; `rerun` tells when they do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/cli/tool.h"

/* Result tables without the run's number; of a run itself, without what may differ. */
static const char *const queries[] = {
    "SELECT name, arch, workload, policy, model, status, version, seed, numerics, trace, "
    "clock_hz, peak_macs_per_cycle, dram_bytes_per_s, cycles, time_s, overlap_cycles, macs, "
    "executed_macs, utilization, tensor_active, dram_read_bytes, dram_write_bytes, "
    "sram_read_bytes, sram_write_bytes, energy_pj, avg_power_mw, peak_power_mw, "
    "inferences_per_s, tokens_per_s, events, fast_forwarded FROM run",
    "SELECT seq, role, name, hash, text FROM v_inputs ORDER BY run, seq",
    "SELECT * FROM layer ORDER BY run_id, layer",
    "SELECT * FROM layer_stall ORDER BY run_id, layer, cause",
    "SELECT * FROM layer_unit ORDER BY run_id, layer, unit, state",
    "SELECT * FROM segment ORDER BY run_id, layer, seq",
    "SELECT * FROM numeric ORDER BY run_id, layer, seq",
    "SELECT * FROM numeric_hist ORDER BY run_id, layer, seq, bin",
    "SELECT * FROM run_tenant ORDER BY run_id, tenant",
    "SELECT * FROM run_resource ORDER BY run_id, instance, resource",
    "SELECT * FROM run_counter ORDER BY run_id, instance, counter",
    "SELECT * FROM run_moved ORDER BY run_id, instance, start_cycles",
    "SELECT * FROM run_quality ORDER BY run_id, seq",
};

struct input {
  const char *args[12];
  bool segments, numerics, histograms;
};
static const struct input inputs[] = {
    {{"--arch", "systolic-128", "--workload", "resnet50"}, false, false, false},
    {{"--arch", "systolic-32", "--workload", "gemm:100x300x500", "--trace", "full",
      "--numerics", "sample", "--seed", "7"},
     true,
     true,
     false},
    {{"--arch", "systolic-32", "--workload", "gemm:70x300x290,9x9x9", "--numerics", "full"},
     false,
     true,
     true},
    {{"--arch", "edge-npu", "--workload", "mobilenetv2", "--trace", "full"},
     true,
     false,
     false},
    {{"--arch", "tpu-v1", "--workload", "bert-base-s128", "--batch", "2"}, false, false, false},
    {{"--arch", "systolic-32", "--workload", "gemm:90x80x200@0-2 + gemm:64x64x64@3", "--set",
      "cores=4", "--set", "noc.kind=mesh", "--numerics", "full"},
     false,
     true,
     true},
};

static void run_into(const char *db, const struct input *in) {
  const char *args[20] = {"run", "--quiet", "--db", db};
  for (size_t i = 0; in->args[i]; i++) args[4 + i] = in->args[i];
  tool_expect(0, args);
}

static void two_runs_store_the_same(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
    char db[2][16];
    for (int d = 0; d < 2; d++) {
      snprintf(db[d], sizeof db[d], "%zu%c.db", i, "ab"[d]);
      run_into(db[d], &inputs[i]);
    }
    for (size_t q = 0; q < sizeof queries / sizeof queries[0]; q++) {
      char *a = tool_sql_dump(db[0], queries[q]), *b = tool_sql_dump(db[1], queries[q]);
      if (strcmp(a, b) != 0) fail_msg("%s differs:\n%s\n%s", queries[q], a, b);
      assert_true(*a || q >= 5);
      if (q == 5) assert_int_equal(*a != '\0', inputs[i].segments);
      if (q == 6) assert_int_equal(*a != '\0', inputs[i].numerics);
      if (q == 7) assert_int_equal(*a != '\0', inputs[i].histograms);
      free(a);
      free(b);
    }
    /* No table of results is left out above. */
    assert_int_equal(
        tool_sql_int(
            db[0], "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                   "name NOT IN ('run', 'run_input', 'text', 'layer', 'layer_stall', "
                   "'layer_unit', 'segment', 'numeric', 'numeric_hist', 'iota', "
                   "'mma_eval', 'mma_eval_point', 'mma_eval_hist', "
                   "'run_tenant', 'run_resource', 'run_counter', 'run_moved', 'run_quality')"),
        0);
  }
}

static void rerun_of_each_equals_it(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
    run_into("tessera.db", &inputs[i]);
    struct tool_result r;
    TOOL(&r, "rerun", "last", "--json");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "\"equal\": true"));
    tool_result_fini(&r);
  }
  TOOL_EXPECT(0, "rerun", "1");
  assert_int_equal(tool_runs("tessera.db"), 2 * sizeof inputs / sizeof inputs[0] + 1);
}

/* A run of an own file is repeated from the stored text: the file may be gone. */
static void rerun_needs_no_file(void **state) {
  (void)state;
  static const char csv[] = "model,layer,op,M,N,K,count,notes\nm,a,gemm,40,50,60,1,\n";
  tool_write("net.csv", csv, sizeof csv - 1);
  TOOL_EXPECT(0, "run", "--arch", "systolic-32", "--workload", "net.csv", "--set",
              "tile.rows=16", "--name", "mine");
  assert_int_equal(remove("net.csv"), 0);
  TOOL_EXPECT(0, "rerun", "mine");
  TOOL_EXPECT(3, "rerun", "yours");
}

#define BARE_MEMORY                                             \
  "sram: {a: {size: 4KiB}, b: {size: 4KiB}, c: {size: 4KiB}}\n" \
  "dram: {bandwidth: 16GB/s, latency: 20ns}\n"
/* What an architecture leaves out stands in the stored text and is read from there again. */
static void rerun_of_a_bare_architecture_equals_it(void **state) {
  (void)state;
  static const char *const texts[] = {
      "version: 1\nclock: 1GHz\ntile: {kind: systolic, rows: 8, cols: 8, rates: {fp16: "
      "1}}\n" BARE_MEMORY,
      "version: 1\nclock: 1GHz\ntile: {kind: dot, m: 2, n: 2, k: 4, formats: {scale: bf16}, "
      "rates: {fp16: 1}}\n" BARE_MEMORY,
      "version: 1\nclock: 1GHz\ntile: {kind: systolic, rows: 8, cols: 8, group: 16, "
      "dequant: true, formats: {b: int8}, rates: {fp16: 1}}\n" BARE_MEMORY,
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct tool_result r;
    tool_write("bare.yaml", texts[i], strlen(texts[i]));
    TOOL_EXPECT(0, "run", "--arch", "bare.yaml", "--workload", "gemm:9x20x40", "--numerics",
                "full");
    assert_int_equal(remove("bare.yaml"), 0);
    TOOL(&r, "rerun", "last", "--json");
    if (r.rc) fail_msg("%zu: exit %d\n%s%s", i, r.rc, r.out, r.err);
    assert_non_null(strstr(r.out, "\"equal\": true"));
    tool_result_fini(&r);
  }
}

static const char *const doctorings[] = {
    "UPDATE layer SET cycles = cycles + 1 WHERE run_id = 1 AND layer = 0",
    "UPDATE layer SET mapping = 'none' WHERE run_id = 1 AND layer = 0",
    "UPDATE run SET utilization = utilization / 2 WHERE run_id = 1",
    "UPDATE layer_stall SET cycles = cycles + 1 WHERE run_id = 1 AND cause = 'ramp'",
    "UPDATE layer_unit SET cycles = cycles + 1 WHERE run_id = 1 AND state = 'busy'",
    "DELETE FROM layer_unit WHERE run_id = 1 AND state = 'busy'",
    "UPDATE segment SET start_cycles = start_cycles + 1 WHERE run_id = 1 AND seq = 0",
    "DELETE FROM segment WHERE run_id = 1 AND seq = 0",
    "UPDATE numeric SET max_ulp = max_ulp + 1 WHERE run_id = 1",
};

static void rerun_tells_of_a_figure_that_differs(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof doctorings / sizeof doctorings[0]; i++) {
    char db[16];
    struct tool_result r;
    snprintf(db, sizeof db, "%zu.db", i);
    run_into(db, &inputs[1]);
    tool_sql(db, doctorings[i]);
    TOOL(&r, "rerun", "1", "--db", db);
    if (r.rc != 1) fail_msg("%s: exit %d\n%s", doctorings[i], r.rc, r.err);
    assert_non_null(strstr(r.out, "run 2 differs from run 1: "));
    tool_result_fini(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(two_runs_store_the_same, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(rerun_of_each_equals_it, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(rerun_needs_no_file, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(rerun_of_a_bare_architecture_equals_it, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(rerun_tells_of_a_figure_that_differs, tool_enter,
                                      tool_leave)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
