/* Error studies in the store, and a store of the first schema brought forward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/mem.h"
#include "sim/store/store_int.h"
#include "tests/unit/store/sample.h"

static char dir[64], path[128];

static int setup(void **state) {
  (void)state;
  snprintf(dir, sizeof dir, "%s", sample_dir());
  snprintf(path, sizeof path, "%s/t.db", dir);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  sample_dir_remove(dir);
  return 0;
}

static const uint64_t ulp[] = {3, 0, 1}, cancel[] = {4};
static const struct tsr_hist_edge ulp_edges[] = {{0, 0}, {0, 1}, {1, 2}},
                                  cancel_edges[] = {{0, 1}};
static const struct tsr_eval_point points[] = {{.unit = "u",
                                                .format_a = "fp16",
                                                .format_b = "fp16",
                                                .format_acc = "fp32",
                                                .dist = "normal",
                                                .k = 16,
                                                .checked_elems = 4,
                                                .max_ulp = 1.5,
                                                .bound = 0.25,
                                                .terms = 64,
                                                .swamped_terms = 2,
                                                .n_ulp = 3,
                                                .ulp = ulp,
                                                .ulp_edges = ulp_edges,
                                                .n_cancel = 1,
                                                .cancel = cancel,
                                                .cancel_edges = cancel_edges},
                                               {.unit = "u",
                                                .format_a = "fp16",
                                                .format_b = "fp16",
                                                .format_acc = "fp32",
                                                .dist = "ones",
                                                .k = 32,
                                                .checked_elems = 4}};
static const struct tsr_eval_record record = {"0.1", 7, 2, 2, 2, points};

static void a_study_comes_back_whole(void **state) {
  (void)state;
  struct tsr_store *s = NULL;
  uint64_t id = 0;
  assert_int_equal(tsr_store_open(path, TSR_STORE_WRITE, &s, NULL), TSR_OK);
  for (uint64_t i = 1; i <= 2; i++) {
    assert_int_equal(tsr_store_put_eval(s, &record, &id, NULL), TSR_OK);
    assert_int_equal(id, i);
  }
  static const struct {
    const char *sql;
    long long v;
  } rows[] = {{"SELECT count(*) FROM v_mma_eval", 4},
              {"SELECT count(*) FROM v_mma_eval_hist", 6}, /* bins with a count */
              {"SELECT sum(count) FROM v_mma_eval_hist WHERE eval = 1 AND kind = 'ulp'", 4},
              {"SELECT m = 2 AND n = 2 AND seed = 7 AND max_ulp = 1.5 AND bound = 0.25 AND "
               "swamped_terms = 2 FROM v_mma_eval WHERE eval = 2 AND k = 16",
               1},
              {"SELECT hi = 2 FROM v_mma_eval_hist WHERE eval = 1 AND bin = 2", 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (sample_number(s, rows[i].sql) != rows[i].v)
      fail_msg("%s: %lld", rows[i].sql, sample_number(s, rows[i].sql));
  assert_int_equal(tsr_store_check(s, NULL), TSR_OK);
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
}

static void a_study_that_cannot_be_written_leaves_nothing(void **state) {
  (void)state;
  struct tsr_store *s = NULL;
  uint64_t id = 42;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_eval_point bad[2] = {points[0], points[1]};
  struct tsr_eval_record r = record;
  bad[1].k = UINT64_MAX - 5; /* no number of a store */
  r.points = bad;
  assert_int_equal(tsr_store_open(path, TSR_STORE_WRITE, &s, NULL), TSR_OK);
  assert_int_equal(tsr_store_put_eval(s, &r, &id, &err), TSR_STORE);
  assert_non_null(strstr(err.msg[0], "mma_eval_point.k"));
  assert_int_equal(id, 42);
  assert_int_equal(sample_number(s, "SELECT count(*) FROM mma_eval"), 0);
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  tsr_err_fini(&err);
}

/* A store as schema 1 left it, with rows of its own. */
static void a_store_of_the_first_schema_keeps_its_figures(void **state) {
  (void)state;
  const struct tsr_embedded first[] = {tsri_store_schema[0], {NULL, NULL, 0}};
  struct tsr_store *s = NULL;
  assert_int_equal(tsri_store_open(path, TSR_STORE_WRITE, first, &s, NULL), TSR_OK);
  assert_int_equal(
      tsri_store_exec(
          s,
          "INSERT INTO run(run_id, created_utc, arch, workload, model, status, "
          "version, seed, cycles, overlap_cycles, macs, executed_macs, dram_read_bytes, "
          "dram_write_bytes, sram_read_bytes, sram_write_bytes) "
          "VALUES(1, 't', 'a', 'w', 'event', 'ok', '0', 1, 10, 0, 0, 0, 0, 0, 0, 0);"
          "INSERT INTO layer(run_id, layer, name, op, cycles, compute_cycles, "
          "stall_cycles, macs, executed_macs, dram_read_bytes, dram_write_bytes, "
          "sram_read_bytes, sram_write_bytes) "
          "VALUES(1, 0, 'l', 'gemm', 10, 10, 0, 0, 0, 0, 0, 0, 0);"
          "INSERT INTO numeric(run_id, layer, seq, tensor, k_from, k_to, "
          "checked_elems, max_ulp) VALUES(1, 0, 0, 'out', 0, 16, 64, 1.25);",
          "filling", NULL),
      TSR_OK);
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_store_open(path, TSR_STORE_READ, &s, &err), TSR_STORE);
  assert_non_null(strstr(err.msg[0], "db migrate"));
  tsr_err_fini(&err);
  assert_int_equal(tsr_store_open(path, TSR_STORE_WRITE, &s, NULL), TSR_OK);
  static const struct {
    const char *sql;
    long long v;
  } rows[] = {{"PRAGMA user_version", 6},
              {"SELECT max_ulp = 1.25 AND bound IS NULL AND terms IS NULL FROM v_numeric", 1},
              {"SELECT count(*) FROM v_numeric_hist", 0},
              {"SELECT count(*) FROM v_mma_eval", 0},
              {"SELECT cycles FROM v_runs", 10}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (sample_number(s, rows[i].sql) != rows[i].v)
      fail_msg("%s: %lld", rows[i].sql, sample_number(s, rows[i].sql));
  struct sample sample;
  uint64_t id = 0;
  sample_init(&sample, 2, 1, false);
  assert_int_equal(tsr_store_put_run(s, &sample.run, &id, NULL), TSR_OK);
  assert_int_equal(id, 2);
  assert_true(sample_number(s, "SELECT count(*) FROM v_numeric_hist WHERE run = 2") > 0);
  assert_int_equal(tsr_store_check(s, NULL), TSR_OK);
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  sample_fini(&sample);
}

/* Both schemas meet: a new store and one brought forward look the same. */
static void old_and_new_stores_have_one_schema(void **state) {
  (void)state;
  char other[160];
  snprintf(other, sizeof other, "%s/u.db", dir);
  const struct tsr_embedded first[] = {tsri_store_schema[0], {NULL, NULL, 0}};
  struct tsr_store *s = NULL;
  assert_int_equal(tsri_store_open(path, TSR_STORE_WRITE, first, &s, NULL), TSR_OK);
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  long long sums[2];
  const char *const paths[] = {path, other};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(tsr_store_open(paths[i], TSR_STORE_WRITE, &s, NULL), TSR_OK);
    sums[i] = sample_number(s, "SELECT sum(length(sql)) FROM sqlite_master");
    assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  }
  assert_int_equal(sums[0], sums[1]);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(a_study_comes_back_whole),
      T(a_study_that_cannot_be_written_leaves_nothing),
      T(a_store_of_the_first_schema_keeps_its_figures),
      T(old_and_new_stores_have_one_schema),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
