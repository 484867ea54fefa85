/* The JSON of runs: keys in order, values of the record, null where none. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "analysis/query/query.h"
#include "sim/base/mem.h"
#include "tests/unit/store/sample.h"

static char dir[64];
static struct tsr_store *store;
static struct sample sample;

static int setup(void **state) {
  (void)state;
  char path[128];
  uint64_t id = 0;
  snprintf(dir, sizeof dir, "%s", sample_dir());
  snprintf(path, sizeof path, "%s/t.db", dir);
  sample_init(&sample, 3, 2, true);
  sample.run.name = "a \"b\" \\ µ";
  sample.run.workload = "c \n\x01"; /* JSON escapes whatever a file can hold */
  sample.run.totals.macs = sample.run.totals.executed_macs = (1ull << 53) + 1;
  sample.layers[0].time_s = 0.1;
  sample.layers[0].mapping_efficiency = 1.0 / 3;
  sample.layers[1].time_s = 1;
  return tsr_store_open(path, TSR_STORE_WRITE, &store, NULL) != TSR_OK ||
         tsr_store_put_run(store, &sample.run, &id, NULL) != TSR_OK || id != 1;
}
static int teardown(void **state) {
  (void)state;
  int failed = tsr_store_close(store, NULL) != TSR_OK;
  sample_fini(&sample);
  sample_dir_remove(dir);
  return failed;
}

static json_t *run_json(void) {
  char *text = NULL;
  json_error_t e;
  assert_int_equal(tsr_query_run_json(store, 1, &text, NULL), TSR_OK);
  assert_int_equal(text[strlen(text) - 1], '\n');
  json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &e);
  if (!j) fail_msg("line %d: %s", e.line, e.text);
  tsr_mem_free(text);
  return j;
}

/* The keys of the object, joined by blanks, are these. */
static void assert_keys(const json_t *j, const char *keys) {
  char got[1024] = "";
  size_t n = 0;
  const char *key;
  json_t *v;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) n +=
      (size_t)snprintf(got + n, sizeof got - n, "%s%s", n ? " " : "", key);
  assert_string_equal(got, keys);
}

static void the_keys_are_those_of_the_reference_in_its_order(void **state) {
  (void)state;
  json_t *j = run_json();
  const json_t *layers = json_object_get(j, "layers"), *l0 = json_array_get(layers, 0);
  assert_keys(j, "run_id name arch workload policy model status totals layers quality");
  assert_keys(json_object_get(j, "totals"),
              "cycles time_s overlap_cycles macs executed_macs utilization tensor_active "
              "dram_read_bytes dram_write_bytes sram_read_bytes sram_write_bytes energy_pj "
              "avg_power_mw peak_power_mw inferences_per_s tokens_per_s events fast_forwarded "
              "wall_s dma_bytes");
  assert_int_equal(json_array_size(layers), 3);
  assert_keys(l0,
              "index name op m n k count kernel mapping format_a format_b format_acc "
              "format_out sparse requested_kernel fallback_reason folds start_cycles cycles "
              "time_s compute_cycles stall_cycles stalls utilization mapping_efficiency macs "
              "executed_macs dram_read_bytes dram_write_bytes sram_read_bytes "
              "sram_write_bytes energy_pj dma_bytes numeric");
  assert_keys(json_object_get(l0, "stalls"), "dram_bandwidth ramp");
  assert_keys(
      json_object_get(l0, "numeric"),
      "checked_elems max_ulp mean_ulp norm_err sqnr_db bias overflow underflow saturated "
      "subnormal_in nan swamped_terms");
  json_decref(j);
}

static void values_come_back_exactly_and_missing_ones_as_null(void **state) {
  (void)state;
  json_t *j = run_json();
  const json_t *t = json_object_get(j, "totals"), *layers = json_object_get(j, "layers");
  const json_t *l0 = json_array_get(layers, 0), *l1 = json_array_get(layers, 1),
               *l2 = json_array_get(layers, 2);
  assert_string_equal(json_string_value(json_object_get(j, "name")), sample.run.name);
  assert_true(json_is_null(json_object_get(j, "policy")));
  assert_int_equal(json_integer_value(json_object_get(t, "macs")), (1ll << 53) + 1);
  assert_true(json_real_value(json_object_get(t, "utilization")) ==
              sample.run.totals.utilization);
  assert_true(json_is_null(json_object_get(t, "energy_pj")));
  assert_true(json_is_integer(json_object_get(t, "cycles")));
  assert_true(json_real_value(json_object_get(l0, "time_s")) == 0.1);
  assert_true(json_real_value(json_object_get(l0, "mapping_efficiency")) == 1.0 / 3);
  assert_true(json_is_real(json_object_get(l1, "time_s"))); /* 1.0, not 1 */
  assert_true(json_is_null(json_object_get(l2, "utilization")));
  assert_true(json_is_null(json_object_get(l2, "numeric")));
  assert_true(json_is_null(json_object_get(l0, "sparse")));
  const json_t *x = json_object_get(l0, "numeric");
  assert_int_equal(json_integer_value(json_object_get(x, "checked_elems")), 64);
  assert_true(json_real_value(json_object_get(x, "mean_ulp")) == 0.1);
  assert_true(json_is_null(json_object_get(x, "sqnr_db"))); /* infinite */
  long long sum = 0;
  const char *cause;
  json_t *v;
  json_object_foreach(json_object_get(l1, "stalls"), cause, v) sum += json_integer_value(v);
  assert_int_equal(sum, sample.layers[1].stall_cycles);
  assert_string_equal(json_string_value(json_object_get(l1, "fallback_reason")),
                      sample.layers[1].fallback_reason);
  json_decref(j);
}

static void doubles_print_in_the_fewest_digits(void **state) {
  (void)state;
  char *text = NULL;
  assert_int_equal(tsr_query_run_json(store, 1, &text, NULL), TSR_OK);
  static const char *const parts[] = {"\"time_s\": 0.1,", "\"time_s\": 1.0,",
                                      "\"mapping_efficiency\": 0.3333333333333333,",
                                      "\"wall_s\": 0.125, "};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (!strstr(text, parts[i])) fail_msg("%s is not in %s", parts[i], text);
  tsr_mem_free(text);
}

static void a_run_that_is_not_there_is_refused(void **state) {
  (void)state;
  char *text = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_query_run_json(store, 2, &text, &err), TSR_INPUT);
  assert_null(text);
  assert_non_null(strstr(err.msg[0], "no run 2"));
  tsr_err_fini(&err);
}

static void the_list_of_runs_has_all_of_them(void **state) {
  (void)state;
  uint64_t id = 0;
  char *text = NULL;
  sample.run.name = NULL;
  assert_int_equal(tsr_store_put_run(store, &sample.run, &id, NULL), TSR_OK);
  assert_int_equal(tsr_query_runs_json(store, &text, NULL), TSR_OK);
  json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  const json_t *runs = json_object_get(j, "runs");
  assert_keys(j, "runs");
  assert_int_equal(json_array_size(runs), 2);
  assert_keys(json_array_get(runs, 1),
              "run_id name arch workload policy model status totals created_utc");
  assert_true(json_is_null(json_object_get(json_array_get(runs, 1), "name")));
  json_decref(j);
  tsr_mem_free(text);
}

static void a_failing_allocation_is_told_and_leaves_the_output(void **state) {
  (void)state;
  enum tsr_status status = TSR_NOMEM;
  unsigned failures = 0;
  for (uint64_t nth = 1; status != TSR_OK; nth++) {
    char *text = NULL;
    tsr_mem_fail_at(nth, false);
    status = tsr_query_run_json(store, 1, &text, NULL);
    tsr_mem_fail_at(0, false);
    if (status != TSR_OK && status != TSR_NOMEM) fail_msg("status %d", status);
    assert_true((status == TSR_OK) == (text != NULL));
    failures += status != TSR_OK;
    tsr_mem_free(text);
  }
  assert_true(failures > 2);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(the_keys_are_those_of_the_reference_in_its_order),
      T(values_come_back_exactly_and_missing_ones_as_null),
      T(doubles_print_in_the_fewest_digits),
      T(a_run_that_is_not_there_is_refused),
      T(the_list_of_runs_has_all_of_them),
      T(a_failing_allocation_is_told_and_leaves_the_output),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
