/* A run goes in and comes out of the views; names; the check of the sums. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/store/store_int.h"
#include "tests/unit/store/sample.h"

static char dir[64];
static char path[128];
static struct tsr_store *store;
static struct sample sample;

static int setup(void **state) {
  (void)state;
  snprintf(dir, sizeof dir, "%s", sample_dir());
  snprintf(path, sizeof path, "%s/t.db", dir);
  sample_init(&sample, 4, 6, true);
  store = NULL;
  return tsr_store_open(path, TSR_STORE_WRITE, &store, NULL) != TSR_OK;
}
static int teardown(void **state) {
  (void)state;
  int failed = tsr_store_close(store, NULL) != TSR_OK;
  sample_fini(&sample);
  sample_dir_remove(dir);
  return failed;
}

static uint64_t put(const char *name) {
  uint64_t id = 0;
  sample.run.name = name;
  assert_int_equal(tsr_store_put_run(store, &sample.run, &id, NULL), TSR_OK);
  return id;
}

static void the_views_give_back_what_was_put(void **state) {
  (void)state;
  assert_int_equal(put("base"), 1);
  assert_int_equal(put(NULL), 2);
  /* Layer 2 of the sample has no MACs. Every statement gives 1. */
  static const char *const facts[] = {
      "SELECT count(*) = 2 FROM v_runs",
      "SELECT name = 'base' AND policy IS NULL AND arch = 'edge.yaml' FROM v_runs WHERE run = "
      "1",
      "SELECT name IS NULL AND layers = 4 FROM v_runs WHERE run = 2",
      "SELECT seed = -1 AND wall_s = 0.125 AND energy_pj IS NULL FROM v_runs WHERE run = 1",
      "SELECT created_utc GLOB "
      "'20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z'"
      " FROM v_runs WHERE run = 1",
      "SELECT cycles = (SELECT sum(cycles) FROM v_layers WHERE run = 1) FROM v_runs WHERE run "
      "= 1",
      "SELECT count(*) = 4 FROM v_layers WHERE run = 2",
      "SELECT \"index\" = 1 AND layer = 1 AND name = 'layers.1.qkv' AND m = 128 AND n = 128 "
      "AND "
      "k = 256 FROM v_layers WHERE run = 1 AND layer = 1",
      "SELECT stalls = '{\"dram_bandwidth\":1400,\"ramp\":50}' FROM v_layers "
      "WHERE run = 1 AND layer = 1", /* noc was 0: absent */
      "SELECT utilization IS NULL AND mapping IS NULL AND numeric IS NULL FROM v_layers "
      "WHERE run = 1 AND layer = 2",
      "SELECT json_valid(numeric) AND json_extract(numeric, '$.checked_elems') = 64 AND "
      "json_extract(numeric, '$.bias') = -0.25 AND json_extract(numeric, '$.sqnr_db') IS NULL "
      "FROM v_layers WHERE run = 1 AND layer = 0",
      "SELECT count(*) = 6 AND max(sqnr_db) = 9e999 AND sum(k_to) = 3 * (256 + 128) FROM "
      "v_numeric "
      "WHERE run = 1",
      "SELECT sum(cycles) = 2 * (SELECT sum(cycles) FROM v_layers WHERE run = 1) FROM v_units "
      "WHERE run = 1",
      "SELECT fallback = 1 AND chosen = 'mma_fp16' AND requested = 'mma_fp8' AND reason LIKE "
      "'no %'"
      " FROM v_kernels WHERE run = 1 AND layer = 1",
      "SELECT fallback = 0 AND requested IS NULL FROM v_kernels WHERE run = 1 AND layer = 0",
      "SELECT count(*) = 2 AND sum(hash GLOB '[0-9a-f]*' AND length(hash) = 16) = 2 FROM "
      "v_inputs "
      "WHERE run = 2",
      "SELECT text = 'version: 1' || char(10) || 'name: edge' || char(10) FROM v_inputs "
      "WHERE run = 2 AND role = 'arch' AND name = 'edge.yaml'",
      "SELECT count(*) = 2 FROM text", /* two runs, the same two texts */
      /* Layer 0: 128 x 64 x 256 MACs, 132768 bytes moved, 4750 cycles at 1 GHz. */
      "SELECT ops = 4194304 AND ops_per_byte = 4194304 / 132768.0 AND "
      "compulsory_ops_per_byte = 4194304 / 114688.0 FROM v_roofline WHERE run = 1 AND layer = "
      "0",
      "SELECT abs(attained_ops_per_s - 4194304 / 4.75e-6) < 1 AND roof_ops_per_s = 2048e9 AND "
      "abs(bound_ops_per_s - 51.2e9 * 4194304 / 132768.0) < 1 FROM v_roofline "
      "WHERE run = 1 AND layer = 0",
      "SELECT ops = 0 AND ops_per_byte = 0 AND attained_ops_per_s = 0 FROM v_roofline "
      "WHERE run = 1 AND layer = 2",
  };
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
    if (sample_number(store, facts[i]) != 1) fail_msg("not so: %s", facts[i]);
}

static void every_member_has_its_own_column(void **state) {
  (void)state;
  /* All integers of a layer differ, so that no two columns can be swapped. */
  struct tsr_run_layer *l = &sample.layers[0];
  uint64_t *u[] = {&l->m,
                   &l->n,
                   &l->k,
                   &l->count,
                   &l->folds,
                   &l->start_cycles,
                   &l->cycles,
                   &l->compute_cycles,
                   &l->stall_cycles,
                   &l->macs,
                   &l->executed_macs,
                   &l->dram_read_bytes,
                   &l->dram_write_bytes,
                   &l->sram_read_bytes,
                   &l->sram_write_bytes,
                   &l->compulsory_bytes,
                   &l->dma_bytes,
                   &l->transfers,
                   &l->tile_active_cycles};
  static const char *const columns[] = {"m",
                                        "n",
                                        "k",
                                        "count",
                                        "folds",
                                        "start_cycles",
                                        "cycles",
                                        "compute_cycles",
                                        "stall_cycles",
                                        "macs",
                                        "executed_macs",
                                        "dram_read_bytes",
                                        "dram_write_bytes",
                                        "sram_read_bytes",
                                        "sram_write_bytes",
                                        "compulsory_bytes",
                                        "dma_bytes",
                                        "transfers",
                                        "tile_active_cycles"};
  enum { N = sizeof columns / sizeof columns[0] };
  for (uint64_t i = 0; i < N; i++) *u[i] = 1000 + i;
  put(NULL);
  for (uint64_t i = 0; i < N; i++) {
    char sql[160];
    snprintf(sql, sizeof sql, "SELECT %s FROM v_layers WHERE run = 1 AND layer = 0",
             columns[i]);
    if (sample_number(store, sql) != (long long)(1000 + i)) fail_msg("%s", columns[i]);
  }
}

static void segments_unroll_to_their_repeats(void **state) {
  (void)state;
  static const struct {
    uint64_t start, duration, period, repeats;
  } rows[] = {{7, 3, 10, 0},   {7, 3, 10, 1},   {0, 1, 2, 1023},  {5, 2, 4, 1024},
              {5, 2, 4, 1025}, {0, 1, 1, 4097}, {9, 0, 3, 70000}, {1, 1, 5, 1048577}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tsr_run_segment g = {"tile0",          "busy",         rows[i].start,
                                rows[i].duration, rows[i].period, rows[i].repeats};
    sample.run.n_layers = 1;
    sample.layers[0].n_segments = 1;
    sample.layers[0].segments = &g;
    uint64_t id = put(NULL), n = rows[i].repeats;
    char sql[400];
    snprintf(sql, sizeof sql,
             "SELECT count(*) = %llu AND count(DISTINCT start_cycles) = %llu AND (%llu = 0 OR "
             "(min(start_cycles) = %llu AND max(end_cycles) = %llu AND "
             "sum(end_cycles - start_cycles) = %llu)) FROM v_occupancy WHERE run = %llu",
             (unsigned long long)n, (unsigned long long)n, (unsigned long long)n,
             (unsigned long long)g.start_cycles,
             (unsigned long long)(g.start_cycles + (n ? n - 1 : 0) * g.period_cycles +
                                  g.duration_cycles),
             (unsigned long long)(n * g.duration_cycles), (unsigned long long)id);
    if (sample_number(store, sql) != 1) fail_msg("row %zu: %s", i, sql);
  }
}

static void what_a_store_cannot_hold_is_refused_whole(void **state) {
  (void)state;
  struct tsr_run_layer *l = &sample.layers[3];
  const struct tsr_run_layer good = *l;
  const struct tsr_run_segment big = {"t", "busy", 0, 1, 1, (1ull << 40) + 1};
  static const struct tsr_run_unit twice[] = {{"t", "busy", 1}, {"t", "busy", 1}};
  struct {
    struct tsr_run_layer layer;
    const char *words;
  } rows[] = {{good, "layer.macs passes 2^63 - 1"},
              {good, "NOT NULL"},
              {good, "CHECK"},
              {good, "UNIQUE"},
              {good, "UNIQUE"}};
  rows[0].layer.macs = 1ull << 63;
  rows[1].layer.name = NULL;
  rows[2].layer.segments = &big, rows[2].layer.n_segments = 1;
  rows[3].layer.units = twice, rows[3].layer.n_units = 2;
  rows[4].layer.index = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tsr_err err = TSR_ERR_INIT;
    uint64_t id = 42;
    *l = rows[i].layer;
    assert_int_equal(tsr_store_put_run(store, &sample.run, &id, &err), TSR_STORE);
    if (!strstr(err.msg[0], rows[i].words)) fail_msg("%zu: %s", i, err.msg[0]);
    assert_int_equal(id, 42);
    assert_int_equal(sample_number(store, "SELECT (SELECT count(*) FROM run) + "
                                          "(SELECT count(*) FROM layer) + "
                                          "(SELECT count(*) FROM text)"),
                     0);
    tsr_err_fini(&err);
  }
  *l = good;
  assert_int_equal(put(NULL), 1);
}

static void a_run_is_found_by_number_name_or_last(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  uint64_t id = 42;
  assert_int_equal(tsr_store_find_run(store, "last", &id, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "holds no runs"));
  tsr_err_fini(&err);
  put("base");
  put("wide");
  put("base");
  put(NULL);
  static const struct {
    const char *run;
    uint64_t id; /* 0: not found, with these words */
    const char *words;
  } rows[] = {{"1", 1, NULL},
              {"base", 3, NULL}, /* the newest of that name */
              {"wide", 2, NULL},
              {"last", 4, NULL},
              {"0", 0, "from 1 to 4"},
              {"5", 0, "from 1 to 4"},
              {"99999999999999999999", 0, "from 1 to 4"},
              {"-1", 0, "from 1 to 4"},
              {"1 OR 1", 0, "'1 OR 1'"},
              {"bsae", 0, NULL},
              {"basee", 0, "did you mean 'base'?"},
              {"", 0, "from 1 to 4"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    id = 42;
    enum tsr_status status = tsr_store_find_run(store, rows[i].run, &id, &err);
    if (status != (rows[i].id ? TSR_OK : TSR_INPUT) || id != (rows[i].id ? rows[i].id : 42))
      fail_msg("'%s': status %d, run %d", rows[i].run, status, (int)id);
    if (rows[i].words && !strstr(err.msg[0], rows[i].words)) fail_msg("%s", err.msg[0]);
    tsr_err_fini(&err);
  }
}

static void names_that_mean_another_run_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool valid;
  } rows[] = {{"", false},   {"last", false},   {"12", false},   {"0", false},
              {"12a", true}, {"lasting", true}, {"-1", false},   {"b s", true},
              {"µ", true},   {"x\ny", false},   {"\xff", false}, {"\x1b[31m", false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint64_t id = 0;
    assert_int_equal(tsr_store_run_name_valid(rows[i].name), rows[i].valid);
    sample.run.name = rows[i].name;
    assert_int_equal(tsr_store_put_run(store, &sample.run, &id, NULL),
                     rows[i].valid ? TSR_OK : TSR_INPUT);
  }
}

/* Each edit breaks one sum of a run that holds; the check names it. */
static const struct {
  const char *sql, *words;
} breaks[] = {
    {"UPDATE layer SET cycles = cycles + 1 WHERE layer = 1", "compute_cycles + stall_cycles"},
    {"UPDATE layer SET stall_cycles = stall_cycles + 1, compute_cycles = compute_cycles - 1 "
     "WHERE layer = 0",
     "expected stall_cycles = sum of stalls"},
    {"DELETE FROM layer_stall WHERE layer = 0 AND cause = 'ramp'", "sum of stalls"},
    {"UPDATE layer_unit SET cycles = cycles - 1 WHERE layer = 2 AND unit = 'dma' AND "
     "state = 'idle'",
     "(layers.2.softmax), unit dma"},
    {"UPDATE run SET overlap_cycles = 1", "overlap_cycles"},
    {"UPDATE run SET macs = macs + 1", "totals.macs"},
    {"UPDATE run SET executed_macs = executed_macs + 1", "totals.executed_macs"},
    {"UPDATE run SET dram_read_bytes = 0", "totals.dram_read_bytes"},
    {"UPDATE run SET dram_write_bytes = 0", "totals.dram_write_bytes"},
    {"UPDATE run SET sram_read_bytes = 0", "totals.sram_read_bytes"},
    {"UPDATE run SET sram_write_bytes = 0", "totals.sram_write_bytes"},
    {"UPDATE layer SET energy_pj = 1.0; UPDATE run SET energy_pj = 4.00001",
     "totals.energy_pj"},
    {"UPDATE layer SET utilization = 1.0000001 WHERE layer = 0", "from 0 to 1"},
    {"UPDATE run SET utilization = -0.5", "from 0 to 1"},
    {"UPDATE layer SET mapping_efficiency = 2 WHERE layer = 0", "mapping_efficiency"},
    {"UPDATE layer SET macs = macs - 1 WHERE layer = 0", "executed_macs <= macs"},
    {"PRAGMA foreign_keys = OFF; DELETE FROM layer WHERE layer = 3",
     "refers to no row of layer"},
    {"UPDATE text SET body = 'version: 2' WHERE text_id = 1", "input text 1 has hash"},
};

static void a_broken_sum_is_named(void **state) {
  (void)state;
  put("base");
  put(NULL);
  assert_int_equal(tsr_store_check(store, NULL), TSR_OK);
  for (size_t i = 0; i < sizeof breaks / sizeof breaks[0]; i++) {
    struct tsr_err err = TSR_ERR_INIT;
    char *words = NULL;
    /* The pragma must stand outside of the transaction. */
    sqlite3_exec(store->db, "PRAGMA foreign_keys = OFF; BEGIN", NULL, NULL, NULL);
    assert_int_equal(sqlite3_exec(store->db, breaks[i].sql, NULL, NULL, &words), SQLITE_OK);
    enum tsr_status status = tsr_store_check(store, &err);
    bool named = false;
    for (size_t m = 0; m < err.n; m++) named |= strstr(err.msg[m], breaks[i].words) != NULL;
    if (status != TSR_NO || !named)
      fail_msg("%s: status %d, %s", breaks[i].sql, status, err.n ? err.msg[0] : "no message");
    sqlite3_exec(store->db, "ROLLBACK; PRAGMA foreign_keys = ON", NULL, NULL, NULL);
    tsr_err_fini(&err);
  }
  assert_int_equal(tsr_store_check(store, NULL), TSR_OK);
}

static void rounded_energies_do_not_fail_the_check(void **state) {
  (void)state;
  for (size_t i = 0; i < 4; i++) sample.layers[i].energy_pj = 0.1 * (double)(i + 1);
  sample.run.totals.energy_pj = 1.0;
  put(NULL);
  assert_int_equal(tsr_store_check(store, NULL), TSR_OK);
}

static void the_same_record_gives_the_same_rows(void **state) {
  (void)state;
  put("a");
  put("a");
  static const char *const tables[] = {"layer",   "layer_stall", "layer_unit",
                                       "segment", "numeric",     "run_input"};
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    char sql[400];
    snprintf(sql, sizeof sql,
             "CREATE TEMP TABLE a AS SELECT * FROM %s WHERE run_id = 1; "
             "CREATE TEMP TABLE b AS SELECT * FROM %s WHERE run_id = 2; "
             "UPDATE b SET run_id = 1;",
             tables[i], tables[i]);
    assert_int_equal(sqlite3_exec(store->db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_true(sample_number(store, "SELECT count(*) FROM temp.a") > 0);
    assert_int_equal(sample_number(store, "SELECT count(*) FROM (SELECT * FROM temp.a EXCEPT "
                                          "SELECT * FROM temp.b)"),
                     0);
    sqlite3_exec(store->db, "DROP TABLE temp.a; DROP TABLE temp.b", NULL, NULL, NULL);
  }
}

static void a_failed_binding_is_told_at_the_step(void **state) {
  (void)state;
  struct tsr_query *q = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  bool row = true;
  assert_int_equal(tsr_store_query(store, "SELECT 1", &q, NULL), TSR_OK);
  tsr_query_bind_u64(q, 3, 1);
  assert_int_equal(tsr_query_step(q, &row, &err), TSR_STORE);
  tsr_query_close(q);
  tsr_err_fini(&err);
  assert_int_equal(tsr_store_query(store, "SELEKT 1", &q, &err), TSR_STORE);
  assert_non_null(strstr(err.msg[0], "SELEKT"));
  tsr_err_fini(&err);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(the_views_give_back_what_was_put),
      T(every_member_has_its_own_column),
      T(segments_unroll_to_their_repeats),
      T(what_a_store_cannot_hold_is_refused_whole),
      T(a_run_is_found_by_number_name_or_last),
      T(names_that_mean_another_run_are_refused),
      T(a_broken_sum_is_named),
      T(rounded_energies_do_not_fail_the_check),
      T(the_same_record_gives_the_same_rows),
      T(a_failed_binding_is_told_at_the_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
