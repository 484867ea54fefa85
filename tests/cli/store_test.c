/* Where the store is, and files that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/cli/tool.h"

#define RUN "run", "--quiet", "--arch", "systolic-32", "--workload", "gemm:8x8x8"

static void the_store_is_named_by_option_variable_or_default(void **state) {
  (void)state;
  TOOL_EXPECT(0, RUN);
  assert_int_equal(tool_runs("tessera.db"), 1);
  assert_int_equal(setenv("TESSERA_DB", "variable.db", 1), 0);
  TOOL_EXPECT(0, RUN);
  TOOL_EXPECT(0, RUN);
  assert_int_equal(tool_runs("variable.db"), 2);
  TOOL_EXPECT(0, RUN, "--db", "option.db");
  assert_int_equal(tool_runs("option.db"), 1);
  assert_int_equal(setenv("TESSERA_DB", "", 1), 0); /* as if it were not set */
  TOOL_EXPECT(0, RUN);
  assert_int_equal(tool_runs("tessera.db"), 2);
  assert_int_equal(unsetenv("TESSERA_DB"), 0);
  assert_int_equal(tool_runs("variable.db"), 2);
  TOOL_EXPECT(2, RUN, "--db", "");
}

static void a_run_is_named_by_number_name_or_last(void **state) {
  (void)state;
  TOOL_EXPECT(0, RUN, "--name", "twin");
  TOOL_EXPECT(0, RUN, "--name", "twin");
  TOOL_EXPECT(0, RUN);
  static const struct {
    const char *run, *number;
  } rows[] = {{"1", "\"run_id\": 1,"}, {"twin", "\"run_id\": 2,"}, {"last", "\"run_id\": 3,"}};
  for (size_t i = 0; i < 3; i++) {
    struct tool_result r;
    TOOL(&r, "show", "layers", rows[i].run, "--json");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, rows[i].number));
    tool_result_fini(&r);
  }
}

/* ---- files that are no store ---- */

static void make_sqlite(const char *path, const char *sql) {
  sqlite3 *s;
  assert_int_equal(sqlite3_open(path, &s), SQLITE_OK);
  assert_int_equal(sqlite3_exec(s, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(s);
}

static void expect_untouched(const char *path, const char *says, const char *more) {
  size_t before_n = 0, after_n = 0;
  char *before = tool_read(path, &before_n);
  static const char *const commands[][8] = {
      {RUN}, {"show", "runs"}, {"db", "info"}, {"db", "check"}, {"rerun", "last"}};
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    const char *args[12];
    size_t n = 0;
    for (; commands[i][n]; n++) args[n] = commands[i][n];
    args[n++] = "--db";
    args[n++] = path;
    args[n] = NULL;
    struct tool_result r;
    tool_run(&r, args);
    if (r.rc != 5 || r.out_n || !strstr(r.err, says) || !strstr(r.err, more))
      fail_msg("%s with %s: exit %d\n%s", args[0], path, r.rc, r.err);
    tool_result_fini(&r);
  }
  char *after = tool_read(path, &after_n);
  assert_int_equal(before_n, after_n);
  if (before) assert_memory_equal(before, after, before_n);
  free(before);
  free(after);
}

static void files_of_others_are_refused_and_left_alone(void **state) {
  (void)state;
  make_sqlite("other.db", "CREATE TABLE t(x); INSERT INTO t VALUES (1);");
  expect_untouched("other.db", "SQLite file of another program", "hint: ");
  tool_write("text.db", "this is no store, but long enough to be mistaken for one\n", 57);
  expect_untouched("text.db", "not a database", "hint: ");
  TOOL_EXPECT(0, RUN, "--db", "newer.db");
  tool_sql("newer.db", "PRAGMA user_version = 99");
  expect_untouched("newer.db", "store schema 99 is newer than this program's", "hint: ");
  assert_int_equal(mkdir("folder.db", 0700), 0);
  struct tool_result r;
  TOOL(&r, RUN, "--db", "folder.db");
  assert_int_equal(r.rc, 5);
  assert_non_null(strstr(r.err, "is a folder"));
  tool_result_fini(&r);
}

static void places_without_a_store_are_told(void **state) {
  (void)state;
  static const struct {
    const char *args[9], *says;
  } rows[] = {
      {{RUN, "--db", "no/such/folder.db"}, "there is no folder 'no/such'"},
      {{"show", "runs", "--db", "none.db"}, "there is no store 'none.db'"},
      {{"db", "check", "--db", "none.db"}, "there is no store 'none.db'"},
      {{"roofline", "last", "-o", "r.svg", "--db", "none.db"}, "there is no store 'none.db'"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tool_result r;
    tool_run(&r, rows[i].args);
    if (r.rc != 5 || r.out_n || !strstr(r.err, rows[i].says))
      fail_msg("%s: exit %d\n%s", rows[i].says, r.rc, r.err);
    assert_non_null(strstr(r.err, "hint: "));
    tool_result_fini(&r);
  }
  assert_int_not_equal(access("none.db", F_OK), 0); /* reading makes no file */
  TOOL_EXPECT(0, RUN);
  TOOL_EXPECT(5, "roofline", "last", "-o", "no/such/folder.svg");
}

/* As another user where the test is run by one that may write everything. */
static void a_store_that_may_not_be_written_can_be_read(void **state) {
  (void)state;
  TOOL_EXPECT(0, RUN);
  assert_int_equal(chmod("tessera.db", 0444), 0);
  assert_int_equal(chmod(".", 0555), 0);
  tool_drop_root = true;
  struct tool_result r;
  tool_run(&r, (const char *const[]){RUN, NULL});
  if (r.rc == 127) {
    tool_drop_root = false;
    assert_int_equal(chmod(".", 0700), 0);
    print_message("another user may not run the binary: skipped\n");
    skip();
  }
  assert_int_equal(r.rc, 5);
  assert_non_null(strstr(r.err, "error: "));
  tool_result_fini(&r);
  TOOL(&r, "show", "runs", "--json");
  tool_drop_root = false;
  if (r.rc) fail_msg("exit %d\n%s", r.rc, r.err);
  assert_non_null(strstr(r.out, "\"run_id\": 1,"));
  tool_result_fini(&r);
  assert_int_equal(chmod(".", 0700), 0);
  assert_int_equal(tool_runs("tessera.db"), 1);
}

static void a_damaged_store_is_told(void **state) {
  (void)state;
  static const char *const damages[] = {
      "UPDATE layer SET cycles = cycles + 1 WHERE layer = 0",
      "UPDATE run SET macs = macs + 1",
      "UPDATE layer_stall SET cycles = cycles + 1 WHERE cause = 'ramp'",
      "UPDATE layer_unit SET cycles = cycles + 1",
  };
  for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
    char db[16];
    snprintf(db, sizeof db, "%zu.db", i);
    TOOL_EXPECT(0, RUN, "--db", db);
    TOOL_EXPECT(0, "db", "check", "--db", db);
    tool_sql(db, damages[i]);
    struct tool_result r;
    TOOL(&r, "db", "check", "--db", db);
    if (r.rc != 1) fail_msg("%s: exit %d\n%s", damages[i], r.rc, r.err);
    assert_int_equal(r.out_n, 0);
    tool_result_fini(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_store_is_named_by_option_variable_or_default,
                                      tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(a_run_is_named_by_number_name_or_last, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(files_of_others_are_refused_and_left_alone, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(places_without_a_store_are_told, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(a_store_that_may_not_be_written_can_be_read, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(a_damaged_store_is_told, tool_enter, tool_leave)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
