/* dram replay as users call it: what it prints, what it refuses and where, and a machine whose
 * memory is that model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "tool.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static json_t *replay(const char *const *args) {
  struct tool_result r;
  tool_run(&r, args);
  if (r.rc) fail_msg("%s", r.err);
  json_t *j = json_loads(r.out, 0, NULL);
  assert_non_null(j);
  tool_result_fini(&r);
  return j;
}
#define REPLAY(...) \
  replay((const char *const[]){"dram", "replay", "--json", "--preset", __VA_ARGS__, NULL})
static double number(const json_t *j, const char *key) {
  const json_t *v = json_object_get(j, key);
  if (!v || !json_is_number(v)) fail_msg("%s is no number", key);
  return json_number_value(v);
}

static void the_keys_are_there_and_agree(void **state) {
  (void)state;
  json_t *j = REPLAY("ddr4-3200", "--scenario", "rand;20000;seed=7 wpct=30");
  static const char *const keys[] = {"requests",      "read_bytes",
                                     "write_bytes",   "cycles",
                                     "activates",     "bandwidth_bytes_per_s",
                                     "bandwidth_pct", "peak_bytes_per_s",
                                     "precharges",    "avg_read_latency_ns",
                                     "row_hit_rate",  "refreshes",
                                     "requests_per_s"};
  for (size_t i = 0; i < LEN(keys); i++) (void)number(j, keys[i]);
  assert_true(json_is_null(json_object_get(j, "energy_pj")));
  assert_true(json_is_string(json_object_get(j, "trace_hash")));
  assert_true(number(j, "requests") == 20000);
  assert_true(number(j, "read_bytes") + number(j, "write_bytes") == 20000 * 64);
  double share = number(j, "bandwidth_bytes_per_s") / number(j, "peak_bytes_per_s");
  assert_true(number(j, "bandwidth_pct") / 100 > 0.999 * share &&
              number(j, "bandwidth_pct") / 100 < 1.001 * share);
  assert_true(number(j, "row_hit_rate") >= 0 && number(j, "row_hit_rate") <= 1);
  json_decref(j);
}

/* A trace file of a scenario's requests is that scenario. */
static void a_trace_is_what_it_says(void **state) {
  (void)state;
  char text[64 * 200] = "# a remark\n";
  size_t n = strlen(text);
  for (int i = 0; i < 200; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "* R 0x%x\n", i * 64);
  tool_write("seq.trace", text, n);
  json_t *a = REPLAY("ddr4-3200", "--trace", "seq.trace");
  json_t *b = REPLAY("ddr4-3200", "--scenario", "seq;200;");
  static const char *const same[] = {"cycles", "activates", "read_bytes", "row_hit_rate"};
  for (size_t i = 0; i < LEN(same); i++) assert_true(number(a, same[i]) == number(b, same[i]));
  assert_string_equal(json_string_value(json_object_get(a, "trace_hash")),
                      json_string_value(json_object_get(b, "trace_hash")));
  json_decref(a);
  json_decref(b);
}

static void what_is_wrong_is_said_where_it_is(void **state) {
  (void)state;
  tool_write("bad.trace", "0 R 0x40\n3 X 0x80\n", 18);
  tool_write("back.trace", "9 R 0x40\n3 R 0x80\n", 18);
  tool_write("empty.trace", "", 0);
  tool_write("far.trace", "18446744073709551615 R 0\n", 25);
  static const struct {
    int rc;
    const char *args[8], *says;
  } rows[] = {
      {2, {"dram"}, "dram"},
      {2, {"dram", "reply"}, "reply"},
      {2, {"dram", "replay", "--scenario", "seq;10;"}, "--preset"},
      {2, {"dram", "replay", "--preset", "ddr4-3200"}, "--trace"},
      {2,
       {"dram", "replay", "--preset", "ddr4-320", "--scenario", "seq;10;"},
       "did you mean 'ddr4-3200'"},
      {3,
       {"dram", "replay", "--preset", "ddr4-3200", "--scenario", "sequential;10;"},
       "sequential"},
      {3,
       {"dram", "replay", "--preset", "ddr4-3200", "--trace", "bad.trace"},
       "bad.trace:2:3: error"},
      {3,
       {"dram", "replay", "--preset", "ddr4-3200", "--trace", "back.trace"},
       "back.trace:2:1: error"},
      {3, {"dram", "replay", "--preset", "ddr4-3200", "--trace", "none.trace"}, "none.trace"},
      {3, {"dram", "replay", "--preset", "ddr4-3200", "--trace", "far.trace"}, "below 2^48"},
      {3,
       {"dram", "replay", "--preset", "ddr4-3200", "--scenario", "seq;10;load=30"},
       "'load'"},
      {3, {"dram", "replay", "--preset", "ddr4-3200", "--scenario", "seq;0;"}, "0 requests"},
      {3, {"dram", "replay", "--preset", "ddr4-3200", "--scenario", "seq;9;w=7"}, "'w'"},
      {3,
       {"dram", "replay", "--preset", "ddr4-3200", "--scenario",
        "gemm;100;M=9 N=9 K=9 tm=1 tn=1 tk=1 e=0"},
       "'e'"},
      {3, {"dram", "replay", "--preset", "ddr4-3200", "--trace", "empty.trace"}, "empty.trace"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tool_result r;
    tool_run(&r, rows[i].args);
    if (r.rc != rows[i].rc || !strstr(r.err, rows[i].says) || *r.out)
      fail_msg("row %zu: exit %d, %s%s", i, r.rc, r.out, r.err);
    tool_result_fini(&r);
  }
}

static void keys_change_the_device_and_wrong_ones_are_refused(void **state) {
  (void)state;
  json_t *a = REPLAY("ddr4-3200", "--scenario", "rand;20000;");
  json_t *b = REPLAY("ddr4-3200", "--scenario", "rand;20000;", "--set", "timing.tFAW=200");
  assert_true(number(b, "bandwidth_pct") < 0.7 * number(a, "bandwidth_pct"));
  json_decref(a);
  json_decref(b);
  static const char *const wrong[][2] = {{"timing.tFAQ=20", "did you mean"},
                                         {"timing.tRAS=3", "tRAS"},
                                         {"map=co,bg", "map"},
                                         {"hash=ba=ba", "hash"},
                                         {"page=ajar", "page"},
                                         {"policy=best", "policy"}};
  for (size_t i = 0; i < LEN(wrong); i++) {
    struct tool_result r;
    TOOL(&r, "dram", "replay", "--preset", "ddr4-3200", "--scenario", "seq;10;", "--set",
         wrong[i][0]);
    if (!r.rc || !strstr(r.err, wrong[i][1])) fail_msg("%s: %d %s", wrong[i][0], r.rc, r.err);
    tool_result_fini(&r);
  }
}

/* Writes of one address are merged: not all of them cross the bus. */
static void bandwidth_is_what_crosses_the_bus(void **state) {
  (void)state;
  static const char *const streams[] = {"rand;1000;seed=1 range=0 wpct=100", "seq;100;w=1",
                                        "rand;5000;seed=3 range=4096 wpct=50"};
  for (size_t i = 0; i < LEN(streams); i++) {
    json_t *j = REPLAY("hbm2-2000", "--scenario", streams[i]);
    assert_true(number(j, "bandwidth_pct") <= 100);
    json_decref(j);
  }
  /* a year at low load, and days of rest, take no time */
  tool_write("rest.trace", "0 R 0\n200000000000000 R 40\n", 26);
  json_t *j = REPLAY("hbm2-2000", "--trace", "rest.trace");
  assert_true(number(j, "cycles") > 2e14);
  json_decref(j);
}

/* The same machine and layer on the simple memory and on this one, well and poorly mapped:
 * bytes stay, the poor mapping waits for banks, counters and the time line are stored. */
static void a_machine_waits_for_its_banks(void **state) {
  (void)state;
#define RUN                                                                               \
  "run", "--quiet", "--arch", "systolic-128", "--workload", "gemm:64x2048x2048", "--set", \
      "dram.model=banks", "--set", "dram.preset=hbm2-2000", "--set", "dram.channels=16"
  TOOL_EXPECT(0, RUN);
  TOOL_EXPECT(0, RUN, "--set", "dram.map=co,pc,bg,ba,si,ro,ch", "--set", "dram.hash=");
  TOOL_EXPECT(0, "db", "check");
  const char *db = "tessera.db";
  int64_t good = tool_sql_int(db, "SELECT cycles FROM v_runs WHERE run = 1");
  int64_t poor = tool_sql_int(db, "SELECT cycles FROM v_runs WHERE run = 2");
  assert_true(poor > 3 * good);
  int64_t bank = tool_sql_int(
      db, "SELECT sum(cycles) FROM v_stalls WHERE run = 2 AND cause = 'dram_bank'");
  assert_true(2 * bank > poor);
  assert_int_equal(tool_sql_int(db, "SELECT count(DISTINCT dram_read_bytes) FROM v_runs"), 1);
  for (int run = 1; run <= 2; run++) {
    char sql[200];
    snprintf(sql, sizeof sql,
             "SELECT (SELECT dram_read_bytes + dram_write_bytes FROM v_runs WHERE run = %d) = "
             "(SELECT sum(value) FROM v_counters WHERE run = %d AND counter LIKE '%%_bytes')",
             run, run);
    assert_int_equal(tool_sql_int(db, sql), 1);
    snprintf(sql, sizeof sql,
             "SELECT max(share) <= 1 AND count(*) > 8 FROM v_bandwidth WHERE run = %d", run);
    assert_int_equal(tool_sql_int(db, sql), 1);
  }
  assert_int_equal(
      tool_sql_int(db,
                   "SELECT sum(bytes) <= 2 * 64 * 2048 * 2048 FROM v_bandwidth WHERE run = 1"),
      1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_keys_are_there_and_agree),
      cmocka_unit_test(a_trace_is_what_it_says),
      cmocka_unit_test(what_is_wrong_is_said_where_it_is),
      cmocka_unit_test(keys_change_the_device_and_wrong_ones_are_refused),
      cmocka_unit_test(bandwidth_is_what_crosses_the_bus),
      cmocka_unit_test(a_machine_waits_for_its_banks),
  };
  return cmocka_run_group_tests(tests, tool_enter, tool_leave);
}
