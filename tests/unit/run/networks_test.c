/* Networks of the zoo that hold more than products run from end to end: every layer has its
 * kernel, those without products no utilisation, and the sums of the store hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/run/ran.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static const char *const none[] = {NULL};

static void networks_run_from_end_to_end(void **state) {
  (void)state;
  static const struct {
    const char *workload;
    unsigned layers, without_macs;
  } rows[] = {{"transformer-block", 11, 3},
              {"mlp-moe", 23, 6},
              {"dlrm-full", 38, 29},
              {"cnn-block", 7, 3}};
  static const char *const machines[] = {"systolic-128", "edge-npu"};
  for (size_t i = 0; i < LEN(rows); i++)
    for (size_t m = 0; m < LEN(machines); m++) {
      struct ran r;
      struct tsr_err err = TSR_ERR_INIT;
      ran_make(&r, machines[m], rows[i].workload, none, TSR_NUMERICS_OFF);
      assert_true(ran_number(&r, "SELECT count(*) FROM v_layers") == rows[i].layers);
      assert_true(ran_number(&r, "SELECT count(*) FROM v_layers WHERE utilization IS NULL "
                                 "AND macs = 0") == rows[i].without_macs);
      assert_true(ran_number(&r, "SELECT count(*) FROM v_layers WHERE kernel IS NULL "
                                 "OR stall_cycles + compute_cycles != cycles") == 0);
      assert_true(ran_number(&r, "SELECT count(*) FROM v_layers WHERE cycles = 0") == 0);
      assert_int_equal(tsr_store_check(r.store, &err), TSR_OK);
      tsr_err_fini(&err);
      ran_fini(&r);
    }
}

static void a_network_computes_itself(void **state) {
  (void)state;
  struct ran r;
  ran_make(&r, "systolic-128", "cnn-block", none, TSR_NUMERICS_FULL);
  /* Pooling selects; averages, sums and the softmax round once, or nearly, to fp16. */
  static const struct {
    const char *layer;
    double max_ulp;
  } rows[] = {{"maxpool", 0}, {"avgpool", 0.501}, {"softmax", 0.51}};
  for (size_t i = 0; i < LEN(rows); i++) {
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "SELECT max_ulp FROM v_numeric WHERE name = '%s' AND tensor = 'out'",
                   rows[i].layer);
    double ulp = ran_number(&r, sql);
    if (ulp > rows[i].max_ulp) fail_msg("%s: %.17g ulp", rows[i].layer, ulp);
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM v_numeric WHERE name = '%s' AND checked_elems > 0",
                   rows[i].layer);
    assert_true(ran_number(&r, sql) == 1);
  }
  ran_fini(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(networks_run_from_end_to_end),
                                     cmocka_unit_test(a_network_computes_itself)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
