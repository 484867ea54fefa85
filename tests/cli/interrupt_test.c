/* A run that is ended from outside leaves the store whole: it is there or not. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/cli/tool.h"

enum { KILLS = 30, TAIL_KILLS = 10 };

static void pause_s(double s) {
  struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
  nanosleep(&t, NULL);
}

static const char *const victim[] = {"run",         "--quiet",    "--arch",
                                     "systolic-32", "--workload", "bert-base-s128",
                                     "--trace",     "full",       NULL};

/* Rows of a run's tables that belong to no run, or to one with another number of layers. */
static void expect_whole_runs(int64_t runs, int64_t layers) {
  static const char partial[] =
      "SELECT (SELECT count(*) FROM layer WHERE run_id NOT IN (SELECT run_id FROM run)) + "
      "(SELECT count(*) FROM layer_unit WHERE run_id NOT IN (SELECT run_id FROM run)) + "
      "(SELECT count(*) FROM segment WHERE run_id NOT IN (SELECT run_id FROM run)) + "
      "(SELECT count(*) FROM run_input WHERE run_id NOT IN (SELECT run_id FROM run))";
  char other[128];
  snprintf(other, sizeof other, "SELECT count(*) FROM v_runs WHERE layers <> %d", (int)layers);
  assert_int_equal(tool_sql_int("tessera.db", partial), 0);
  assert_int_equal(tool_sql_int("tessera.db", other), 0);
  assert_int_equal(tool_runs("tessera.db"), runs);
  TOOL_EXPECT(0, "db", "check");
}

static void kill_at_any_moment_leaves_whole_runs(void **state) {
  (void)state;
  double whole = 1e9; /* the fastest of some: a machine busy with other things is slow once */
  for (int i = 0; i < 3; i++) {
    struct tool_result r;
    tool_run(&r, victim);
    assert_int_equal(r.rc, 0);
    if (r.wall_s < whole) whole = r.wall_s;
    tool_result_fini(&r);
  }
  int64_t layers = tool_sql_int("tessera.db", "SELECT max(layers) FROM v_runs"),
          runs = tool_runs("tessera.db"), killed = 0;
  uint64_t rng = 20240607;
  for (int i = 0; i < KILLS + TAIL_KILLS; i++) {
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    double u = (double)(rng >> 40) / (double)(1u << 24);
    /* Some at any moment, some where the results are being stored. */
    double at = i < KILLS ? u * whole : whole * (0.8 + 0.3 * u);
    int rc, sig;
    pid_t pid = tool_start(victim, ".err");
    pause_s(at);
    kill(pid, SIGKILL);
    tool_wait(pid, &rc, &sig);
    assert_true(sig == SIGKILL || rc == 0);
    killed += sig == SIGKILL;
    /* Killed after its commit, it is stored all the same. */
    int64_t now = tool_runs("tessera.db");
    assert_true(now == runs || now == runs + 1);
    if (rc == 0) assert_int_equal(now, runs + 1);
    runs = now;
    expect_whole_runs(runs, layers);
  }
  assert_true(killed >= KILLS / 2);
  print_message("%d of %d were killed, %d runs stored\n", (int)killed, KILLS + TAIL_KILLS,
                (int)runs);
}

/* A first run killed while the store is being made leaves one that can be used. */
static void kill_while_the_store_is_made(void **state) {
  (void)state;
  static const char *const first[] = {"run",         "--quiet",    "--arch",
                                      "systolic-32", "--workload", "gemm:8x8x8",
                                      "--db",        "new.db",     NULL};
  for (int i = 0; i < 20; i++) {
    int rc, sig;
    pid_t pid = tool_start(first, ".err");
    pause_s(0.001 * i);
    kill(pid, SIGKILL);
    tool_wait(pid, &rc, &sig);
    tool_expect(0, first);
    TOOL_EXPECT(0, "db", "check", "--db", "new.db");
    assert_int_equal(remove("new.db"), 0);
    remove("new.db-wal");
    remove("new.db-shm");
  }
}

static void an_interrupt_ends_a_run_with_a_message(void **state) {
  (void)state;
  static const struct {
    int signal;
    const char *db;
  } rows[] = {{SIGINT, "int.db"}, {SIGTERM, "term.db"}};
  for (size_t i = 0; i < 2; i++) {
    int rc, sig;
    const char *const args[] = {"run",
                                "--arch",
                                "systolic-32",
                                "--workload",
                                "llama2-7b-prefill-2048",
                                "--db",
                                rows[i].db,
                                "--set",
                                "sim.fast_forward=false",
                                NULL};
    char *messages = NULL;
    /* On a busy machine the plan may still be in the making: then it comes later. */
    for (double wait_s = 0.3; wait_s < 20; wait_s *= 2) {
      free(messages);
      pid_t pid = tool_start(args, "messages");
      for (int n = 0; access(rows[i].db, F_OK) && n < 1000; n++) pause_s(0.01);
      pause_s(wait_s);
      double t0 = tool_now_s();
      kill(pid, rows[i].signal);
      tool_wait(pid, &rc, &sig);
      messages = tool_read("messages", NULL);
      if (rc != 4) fail_msg("exit %d, signal %d\n%s", rc, sig, messages);
      assert_true(tool_now_s() - t0 < 2);
      if (strstr(messages, "in layer '")) break;
    }
    assert_non_null(strstr(messages, "error: interrupted in layer '"));
    assert_non_null(strstr(messages, "nothing was stored"));
    free(messages);
    assert_int_equal(tool_runs(rows[i].db), 0);
    TOOL_EXPECT(0, "db", "check", "--db", rows[i].db);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(kill_at_any_moment_leaves_whole_runs, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(kill_while_the_store_is_made, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(an_interrupt_ends_a_run_with_a_message, tool_enter,
                                      tool_leave)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
