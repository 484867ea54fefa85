/* import as users call it: files in, an architecture or a specification out, and the line that
 * it prints runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <jansson.h>

#include "tool.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))
#define DATA TSR_TEST_DATA "/import/"

static json_t *import(const char *const *args) {
  struct tool_result r;
  tool_run(&r, args);
  if (r.rc) fail_msg("%s", r.err);
  json_t *j = json_loads(r.out, 0, NULL);
  assert_non_null(j);
  tool_result_fini(&r);
  return j;
}
#define IMPORT(...) import((const char *const[]){"import", "--json", __VA_ARGS__, NULL})

/* Runs the nth line that was printed, as its words. */
static void run_line(const json_t *j, size_t nth) {
  const char *line = json_string_value(json_array_get(json_object_get(j, "runs"), nth));
  assert_non_null(line);
  char *copy = strdup(line), *save = NULL;
  const char *args[16];
  size_t n = 0;
  assert_non_null(copy);
  for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
    assert_true(n < LEN(args) - 1);
    args[n++] = w;
  }
  args[n] = NULL;
  assert_string_equal(args[0], "tessera");
  tool_expect(0, args + 1);
  free(copy);
}

static void a_scalesim_folder_runs(void **state) {
  (void)state;
  json_t *j = IMPORT("scalesim", TSR_TEST_DATA "/import", "-o", "out");
  assert_string_equal(json_string_value(json_object_get(j, "tool")), "scalesim");
  assert_int_equal(json_array_size(json_object_get(j, "files")), 2);
  assert_int_equal(json_array_size(json_object_get(j, "keys")), 14);
  assert_int_equal(json_array_size(json_object_get(j, "runs")), 1);
  run_line(j, 0);
  json_decref(j);
  /* Output stationary, 8x8: ceil(m/8) * ceil(n/8) folds of k + 8 + 8 - 2 cycles. */
  assert_int_equal(tool_sql_int("tessera.db", "SELECT sum(compute_cycles) FROM v_layers"),
                   2 * 3 * (32 + 14) + 1 * 2 * (24 + 14));
  assert_int_equal(tool_runs("tessera.db"), 1);
}

static void onnxim_files_run(void **state) {
  (void)state;
  json_t *j = IMPORT("onnxim", DATA "core-16x16.json", DATA "tiny-llm.json");
  assert_int_equal(json_array_size(json_object_get(j, "runs")), 1);
  run_line(j, 0);
  json_decref(j);
  assert_true(tool_sql_int("tessera.db", "SELECT count(*) FROM v_layers") > 20);
}

/* SRC:onnxim: its recorded cycles of this GEMM on this machine, within what the preset of it
 * keeps. */
static void an_imported_core_takes_onnxims_cycles(void **state) {
  (void)state;
  static const char core[] =
      "{\"num_cores\": 1, \"core_type\": \"systolic_ws\", \"core_freq\": 1000,"
      "\"core_width\": 128, \"core_height\": 128, \"spad_size\": 65536,"
      "\"accum_spad_size\": 8192, \"vector_process_bit\": 65536, \"dram_type\": \"simple\","
      "\"dram_freq\": 1200, \"dram_channels\": 16, \"dram_latency\": 10, \"dram_req_size\": 32,"
      "\"icnt_type\": \"simple\", \"icnt_freq\": 2000, \"icnt_latency\": 1, \"precision\": 2}";
  tool_write("core.json", core, strlen(core));
  TOOL_EXPECT(0, "import", "onnxim", "core.json");
  TOOL_EXPECT(0, "run", "--arch", "./core.yaml", "--workload", "gemm:1024x1024x1024");
  int64_t cycles = tool_sql_int("tessera.db", "SELECT cycles FROM v_layers");
  assert_in_range(cycles, 67166 * 97 / 100, 67166 * 103 / 100);
}

static void a_list_names_what_is_built_in(void **state) {
  (void)state;
  json_t *j = IMPORT("onnxim", DATA "list.json");
  const json_t *runs = json_object_get(j, "runs");
  assert_int_equal(json_array_size(runs), 2);
  assert_string_equal(json_string_value(json_array_get(runs, 0)),
                      "tessera run --arch systolic-128 --workload resnet50 --batch 2");
  assert_string_equal(json_string_value(json_array_get(runs, 1)),
                      "tessera run --arch systolic-128 --workload ./other.onnx");
  json_decref(j);
}

static void the_fate_of_keys_is_told(void **state) {
  (void)state;
  struct tool_result r;
  TOOL(&r, "import", "scalesim", DATA "array-8x8.cfg");
  assert_int_equal(r.rc, 0);
  static const char *const lines[] = {
      "./array-8x8-os.yaml: from ", "\n  ArrayHeight               tile.rows\n",
      "\n  IfmapOffset               not used: addresses of operands are given out by the "
      "run\n",
      "\ntessera run --arch ./array-8x8-os.yaml --workload resnet50\n"};
  for (size_t i = 0; i < LEN(lines); i++)
    if (!strstr(r.out, lines[i])) fail_msg("'%s' is not in:\n%s", lines[i], r.out);
  tool_result_fini(&r);
  TOOL_EXPECT(0, "check", "array-8x8-os.yaml");
}

static void refuse(int rc, const char *says, const char *const *args) {
  struct tool_result r;
  tool_run(&r, args);
  if (r.rc != rc || !strstr(r.err, says))
    fail_msg("expected %d and '%s', got %d and '%s'", rc, says, r.rc, r.err);
  tool_result_fini(&r);
}
#define REFUSE(rc, says, ...) \
  refuse(rc, says, (const char *const[]){"import", __VA_ARGS__, NULL})

static void mistakes_are_refused(void **state) {
  (void)state;
  mkdir("empty", 0777);
  tool_write("file", "x", 1);
  tool_write("bad.cfg", "[general]\nrun_name\n", 19);
  tool_write("bad.csv", "Layer, M, N, K,\na, 1, x, 1,\n", 28);
  tool_write("wide.cfg", "", 0);
  REFUSE(2, "import takes a tool", NULL);
  REFUSE(2, "is one of scalesim, onnxim", "timeloop", "x.cfg");
  REFUSE(2, "takes files or folders", "scalesim");
  REFUSE(3, "is no file of scalesim; expected .cfg, .csv or a folder", "scalesim", "file");
  REFUSE(3, "is no file of onnxim; expected .json or a folder", "onnxim", "bad.cfg");
  REFUSE(3, "has nothing to import; expected .json", "onnxim", "empty");
  REFUSE(3, "cannot read 'none.cfg'", "scalesim", "none.cfg");
  REFUSE(3, "bad.cfg:2:1: error: malformed line", "scalesim", "bad.cfg");
  REFUSE(3, "bad.csv:2:", "scalesim", "bad.csv");
  REFUSE(3, "would be written twice", "scalesim", DATA "array-8x8.cfg", DATA "array-8x8.cfg");
  REFUSE(5, "cannot make the folder", "scalesim", DATA "array-8x8.cfg", "-o", "no/such/folder");
  REFUSE(5, "", "scalesim", DATA "array-8x8.cfg", "-o", "file");
}

/* The machine is looked at before it is written. */
static void a_machine_that_cannot_be_is_not_written(void **state) {
  (void)state;
  static const char cfg[] =
      "[architecture_presets]\nArrayHeight : 100000\nArrayWidth : 4\nIfmapSramSzkB : 1\n"
      "FilterSramSzkB : 1\nOfmapSramSzkB : 1\nDataflow : ws\n"
      "[run_presets]\nInterfaceBandwidth : CALC\n";
  tool_write("tall.cfg", cfg, strlen(cfg));
  size_t n;
  REFUSE(3, "rows", "scalesim", "tall.cfg");
  assert_null(tool_read("tall.yaml", &n));
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, tool_enter, tool_leave)
  const struct CMUnitTest tests[] = {TEST(a_scalesim_folder_runs),
                                     TEST(onnxim_files_run),
                                     TEST(an_imported_core_takes_onnxims_cycles),
                                     TEST(a_list_names_what_is_built_in),
                                     TEST(the_fate_of_keys_is_told),
                                     TEST(mistakes_are_refused),
                                     TEST(a_machine_that_cannot_be_is_not_written)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
