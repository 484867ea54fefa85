/* The JSON of `run`: its keys, and that every sum of its definitions holds. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/cli/tool.h"

static const char *const head_keys[] = {"run_id", "name",    "arch",   "workload",
                                        "policy", "model",   "status", "totals",
                                        "layers", "quality", NULL};
static const char *const totals_keys[] = {"cycles",
                                          "time_s",
                                          "overlap_cycles",
                                          "macs",
                                          "executed_macs",
                                          "utilization",
                                          "tensor_active",
                                          "dram_read_bytes",
                                          "dram_write_bytes",
                                          "sram_read_bytes",
                                          "sram_write_bytes",
                                          "energy_pj",
                                          "avg_power_mw",
                                          "peak_power_mw",
                                          "inferences_per_s",
                                          "tokens_per_s",
                                          "events",
                                          "fast_forwarded",
                                          "wall_s",
                                          "dma_bytes",
                                          NULL};
static const char *const layer_keys[] = {"index",
                                         "name",
                                         "op",
                                         "m",
                                         "n",
                                         "k",
                                         "count",
                                         "kernel",
                                         "mapping",
                                         "format_a",
                                         "format_b",
                                         "format_acc",
                                         "format_out",
                                         "sparse",
                                         "requested_kernel",
                                         "fallback_reason",
                                         "folds",
                                         "start_cycles",
                                         "cycles",
                                         "time_s",
                                         "compute_cycles",
                                         "stall_cycles",
                                         "stalls",
                                         "utilization",
                                         "mapping_efficiency",
                                         "macs",
                                         "executed_macs",
                                         "dram_read_bytes",
                                         "dram_write_bytes",
                                         "sram_read_bytes",
                                         "sram_write_bytes",
                                         "energy_pj",
                                         "dma_bytes",
                                         "numeric",
                                         NULL};
static const char *const numeric_keys[] = {
    "checked_elems", "max_ulp",       "mean_ulp",  "norm_err",  "sqnr_db",
    "bias",          "overflow",      "underflow", "saturated", "subnormal_in",
    "nan",           "swamped_terms", NULL};
static const char *const causes[] = {"dram_bandwidth",
                                     "dram_latency",
                                     "dram_bank",
                                     "dram_refresh",
                                     "dram_turnaround",
                                     "sram_conflict",
                                     "noc",
                                     "writeback",
                                     "sync",
                                     "ramp",
                                     "vector",
                                     "imbalance",
                                     "throttle",
                                     NULL};
/* Figures that are numbers in every run of matmuls. */
static const char *const layer_numbers[] = {"index",
                                            "m",
                                            "n",
                                            "k",
                                            "count",
                                            "folds",
                                            "start_cycles",
                                            "cycles",
                                            "time_s",
                                            "compute_cycles",
                                            "stall_cycles",
                                            "utilization",
                                            "mapping_efficiency",
                                            "macs",
                                            "executed_macs",
                                            "dram_read_bytes",
                                            "dram_write_bytes",
                                            "sram_read_bytes",
                                            "sram_write_bytes",
                                            "dma_bytes",
                                            NULL};
static const char *const totals_numbers[] = {"cycles",
                                             "time_s",
                                             "overlap_cycles",
                                             "macs",
                                             "executed_macs",
                                             "utilization",
                                             "tensor_active",
                                             "dram_read_bytes",
                                             "dram_write_bytes",
                                             "sram_read_bytes",
                                             "sram_write_bytes",
                                             "inferences_per_s",
                                             "events",
                                             "fast_forwarded",
                                             "wall_s",
                                             "dma_bytes",
                                             NULL};
/* totals = sum over layers */
static const char *const sums[] = {"macs",
                                   "executed_macs",
                                   "dram_read_bytes",
                                   "dram_write_bytes",
                                   "sram_read_bytes",
                                   "sram_write_bytes",
                                   "dma_bytes",
                                   NULL};

struct net {
  const char *arch, *workload;
  double clock_hz, peak;
};
static const struct net nets[] = {
    {"systolic-128", "resnet50", 1e9, 128 * 128},
    {"systolic-128", "mobilenetv2", 1e9, 128 * 128},
    {"systolic-128", "bert-base-s128", 1e9, 128 * 128},
    {"systolic-32", "resnet50", 1e9, 32 * 32},
    {"systolic-32", "vit-b16", 1e9, 32 * 32},
    {"edge-npu", "mobilenetv2", 1e9, 16 * 16},
    {"tpu-v1", "resnet50", 7e8, 256 * 256},
    {"tpu-v1", "bert-base-s384", 7e8, 256 * 256},
    {"systolic-128", "gemm:1x1x1,64x100x3000,1000x1x7", 1e9, 128 * 128},
};

static void expect_keys(json_t *o, const char *const *keys) {
  size_t i = 0;
  const char *key;
  json_t *value;
  assert_true(json_is_object(o));
  json_object_foreach(o, key, value) { /* jansson keeps the order of the text */
    assert_non_null(keys[i]);
    assert_string_equal(key, keys[i]);
    i++;
  }
  assert_null(keys[i]);
}

static void expect_numbers(json_t *o, const char *const *keys) {
  for (size_t i = 0; keys[i]; i++)
    if (!json_is_number(json_object_get(o, keys[i]))) fail_msg("%s is no number", keys[i]);
}

static int64_t whole(json_t *o, const char *key) {
  json_t *v = json_object_get(o, key);
  if (!json_is_integer(v)) fail_msg("%s is no whole number", key);
  return json_integer_value(v);
}
static double real(json_t *o, const char *key) {
  json_t *v = json_object_get(o, key);
  if (!json_is_number(v)) fail_msg("%s is no number", key);
  return json_number_value(v);
}
static void near(double a, double b) {
  if (!(fabs(a - b) <= 1e-12 * fabs(b))) fail_msg("%.17g is not %.17g", a, b);
}

static json_t *parse(const char *text, size_t n) {
  json_error_t e;
  json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e); /* refuses what follows it */
  if (!j) fail_msg("line %d: %s", e.line, e.text);
  return j;
}

static void check_stalls(json_t *layer) {
  const char *key;
  json_t *value;
  int64_t sum = 0;
  json_object_foreach(json_object_get(layer, "stalls"), key, value) {
    size_t i = 0;
    while (causes[i] && strcmp(causes[i], key) != 0) i++;
    if (!causes[i]) fail_msg("unknown cause %s", key);
    assert_true(json_integer_value(value) > 0);
    sum += json_integer_value(value);
  }
  assert_int_equal(sum, whole(layer, "stall_cycles"));
}

static void check_layer(json_t *l, size_t i, int64_t start, const struct net *net) {
  expect_keys(l, layer_keys);
  expect_numbers(l, layer_numbers);
  assert_int_equal(whole(l, "index"), i);
  assert_int_equal(whole(l, "start_cycles"), start); /* nothing overlaps */
  check_stalls(l);
  int64_t cycles = whole(l, "cycles"), macs = whole(l, "macs");
  assert_true(cycles > 0);
  assert_int_equal(cycles, whole(l, "compute_cycles") + whole(l, "stall_cycles"));
  assert_int_equal(macs, whole(l, "m") * whole(l, "n") * whole(l, "k") * whole(l, "count"));
  assert_int_equal(macs, whole(l, "executed_macs")); /* dense */
  near(real(l, "utilization"), (double)macs / ((double)cycles * net->peak));
  near(real(l, "time_s"), (double)cycles / net->clock_hz);
  assert_true(real(l, "utilization") > 0 && real(l, "utilization") <= 1);
  assert_true(real(l, "mapping_efficiency") > 0 && real(l, "mapping_efficiency") <= 1);
  assert_true(json_is_null(json_object_get(l, "numeric")));
  assert_true(json_is_null(json_object_get(l, "energy_pj")));
}

static void check_totals(json_t *run, const struct net *net) {
  json_t *t = json_object_get(run, "totals"), *layers = json_object_get(run, "layers"), *l;
  size_t i;
  int64_t cycles = 0;
  double peak_cycles = 0;
  expect_keys(t, totals_keys);
  expect_numbers(t, totals_numbers);
  json_array_foreach(layers, i, l) {
    check_layer(l, i, cycles, net);
    cycles += whole(l, "cycles");
    peak_cycles += (double)whole(l, "executed_macs") / net->peak;
  }
  assert_int_equal(whole(t, "cycles"), cycles - whole(t, "overlap_cycles"));
  for (size_t s = 0; sums[s]; s++) {
    int64_t sum = 0;
    json_array_foreach(layers, i, l) sum += whole(l, sums[s]);
    assert_int_equal(whole(t, sums[s]), sum);
  }
  near(real(t, "time_s"), (double)whole(t, "cycles") / net->clock_hz);
  near(real(t, "utilization"), peak_cycles / (double)whole(t, "cycles"));
  near(real(t, "inferences_per_s"), 1 / real(t, "time_s"));
  assert_true(real(t, "utilization") <= real(t, "tensor_active")); /* padding included */
  assert_true(real(t, "tensor_active") <= 1);
  assert_true(whole(t, "events") > 0);
}

/* Every unit's cycles of a layer are the layer's; the tile's are its compute and
 * stall cycles. */
static void check_units(void) {
  static const char mismatches[] =
      "SELECT count(*) FROM (SELECT l.cycles AS want, sum(u.cycles) AS got FROM v_layers l "
      "JOIN v_units u ON u.run = l.run AND u.layer = l.layer GROUP BY l.run, l.layer, u.unit) "
      "WHERE want IS NOT got";
  static const char tile[] =
      "SELECT count(*) FROM (SELECT l.compute_cycles AS want, sum(u.cycles) AS got FROM "
      "v_layers l JOIN v_units u ON u.run = l.run AND u.layer = l.layer WHERE u.unit LIKE "
      "'%.tile0' AND u.state IN ('busy', 'fill', 'drain') GROUP BY l.run, l.layer) "
      "WHERE want IS NOT got";
  static const char units[] = "SELECT count(*) FROM (SELECT count(DISTINCT unit) AS n FROM "
                              "v_units GROUP BY run, layer) "
                              "WHERE n <> 3";
  assert_int_equal(tool_sql_int("tessera.db", mismatches), 0);
  assert_int_equal(tool_sql_int("tessera.db", tile), 0);
  assert_int_equal(tool_sql_int("tessera.db", units), 0);
}

static void sums_hold_for_every_network(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++) {
    const struct net *n = &nets[i];
    struct tool_result r;
    TOOL(&r, "run", "--arch", n->arch, "--workload", n->workload, "--json");
    if (r.rc) fail_msg("%s on %s: %s", n->workload, n->arch, r.err);
    json_t *run = parse(r.out, r.out_n);
    expect_keys(run, head_keys);
    assert_int_equal(whole(run, "run_id"), i + 1);
    assert_string_equal(json_string_value(json_object_get(run, "arch")), n->arch);
    assert_string_equal(json_string_value(json_object_get(run, "workload")), n->workload);
    assert_string_equal(json_string_value(json_object_get(run, "model")), "event");
    assert_string_equal(json_string_value(json_object_get(run, "status")), "ok");
    assert_true(json_is_null(json_object_get(run, "name")));
    assert_true(json_is_null(json_object_get(run, "policy")));
    check_totals(run, n);
    json_decref(run);
    tool_result_fini(&r);
  }
  check_units();
  TOOL_EXPECT(0, "db", "check");
}

static void numeric_figures_have_their_keys(void **state) {
  (void)state;
  struct tool_result r;
  TOOL(&r, "run", "--arch", "systolic-32", "--workload", "gemm:40x50x600", "--numerics",
       "sample", "--name", "sampled", "--json");
  assert_int_equal(r.rc, 0);
  json_t *run = parse(r.out, r.out_n);
  json_t *numeric =
      json_object_get(json_array_get(json_object_get(run, "layers"), 0), "numeric");
  expect_keys(numeric, numeric_keys);
  assert_true(whole(numeric, "checked_elems") > 0);
  assert_true(real(numeric, "norm_err") > 0 && real(numeric, "norm_err") < 0.01);
  assert_true(real(numeric, "mean_ulp") <= real(numeric, "max_ulp"));
  assert_string_equal(json_string_value(json_object_get(run, "name")), "sampled");
  json_decref(run);
  tool_result_fini(&r);
}

static void the_batch_multiplies_work_and_inferences(void **state) {
  (void)state;
  struct tool_result r[2];
  json_t *t[2], *run[2];
  for (int i = 0; i < 2; i++) {
    TOOL(&r[i], "run", "--arch", "systolic-128", "--workload", "mobilenetv2", "--json",
         "--batch", i ? "4" : "1");
    assert_int_equal(r[i].rc, 0);
    run[i] = parse(r[i].out, r[i].out_n);
    t[i] = json_object_get(run[i], "totals");
  }
  assert_int_equal(whole(t[1], "macs"), 4 * whole(t[0], "macs"));
  near(real(t[1], "inferences_per_s"), 4 / real(t[1], "time_s"));
  assert_true(whole(t[1], "cycles") > whole(t[0], "cycles"));
  assert_true(whole(t[1], "cycles") < 5 * whole(t[0], "cycles"));
  for (int i = 0; i < 2; i++) {
    json_decref(run[i]);
    tool_result_fini(&r[i]);
  }
}

static void the_clock_scales_time_and_not_compute(void **state) {
  (void)state;
  struct tool_result r;
  struct net n = {"systolic-32", "gemm:100x200x300", 1.3e9, 32 * 32};
  TOOL(&r, "run", "--arch", n.arch, "--workload", n.workload, "--set", "clock=1.3GHz",
       "--json");
  assert_int_equal(r.rc, 0);
  json_t *run = parse(r.out, r.out_n);
  check_totals(run, &n);
  json_decref(run);
  tool_result_fini(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(sums_hold_for_every_network, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(numeric_figures_have_their_keys, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(the_batch_multiplies_work_and_inferences, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(the_clock_scales_time_and_not_compute, tool_enter,
                                      tool_leave)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
