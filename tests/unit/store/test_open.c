/* What is opened, what is refused and with which words; migrations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/store/store_int.h"
#include "tests/unit/store/sample.h"

static char dir[64];
static char path[128];

static int setup(void **state) {
  (void)state;
  snprintf(dir, sizeof dir, "%s", sample_dir());
  snprintf(path, sizeof path, "%s/t.db", dir);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  chmod(dir, 0700);
  sample_dir_remove(dir);
  return 0;
}

static void write_file(const char *text) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}
static void by_sql(const char *sql) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
}
static void make_store(void) {
  struct tsr_store *s = NULL;
  assert_int_equal(tsr_store_open(path, TSR_STORE_WRITE, &s, NULL), TSR_OK);
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
}

static void at_nothing(void) {}
static void at_empty(void) {
  write_file("");
}
static void at_text(void) {
  write_file(
      "this is no database, and it is longer than the hundred bytes of a header of SQLite, "
      "so that it is read as one\n");
}
static void at_short_text(void) {
  write_file("hello\n");
}
static void at_foreign(void) {
  by_sql("CREATE TABLE cat(name)");
}
static void at_foreign_id(void) {
  by_sql("PRAGMA application_id = 77; CREATE TABLE cat(name)");
}
static void at_folder(void) {
  assert_int_equal(mkdir(path, 0700), 0);
}
static void at_newer(void) {
  make_store();
  by_sql("PRAGMA user_version = 7");
}
static void at_missing_folder(void) {
  snprintf(path, sizeof path, "%s/no/t.db", dir);
}
static void at_no_name(void) {
  path[0] = '\0';
}
static void at_early_kill(void) {
  by_sql("PRAGMA page_size=16384; PRAGMA journal_mode=WAL");
}
static void at_device(void) {
  snprintf(path, sizeof path, "/dev/null");
}

/* Texts NULL: it opens.  A refusal names what was found and, second, the rule or
 * the remedy. */
static const struct {
  const char *what;
  void (*make)(void);
  const char *write[2], *read[2];
} rows[] = {
    {"nothing", at_nothing, {NULL}, {"there is no store", "tessera run"}},
    {"an empty file", at_empty, {NULL}, {"is empty", "tessera run"}},
    {"killed early", at_early_kill, {NULL}, {"is empty", "tessera run"}},
    {"a store", make_store, {NULL}, {NULL}},
    {"text", at_text, {"not a database", "--db"}, {"not a database", "--db"}},
    {"short text", at_short_text, {"not a database", "--db"}, {"not a database", "--db"}},
    {"foreign", at_foreign, {"of another program", "0x54535231"}, {"another program", "--db"}},
    {"foreign id", at_foreign_id, {"0x0000004d", "--db"}, {"0x0000004d", "--db"}},
    {"folder", at_folder, {"is a folder", "expected a file"}, {"is a folder", "a file"}},
    {"newer",
     at_newer,
     {"store schema 7 is newer than this program's 6", "newer one"},
     {"store schema 7 is newer than this program's 6", "--db"}},
    {"no folder", at_missing_folder, {"no folder", "make the folder"}, {"no store", "--db"}},
    {"no name", at_no_name, {"is empty", "file name"}, {"is empty", "file name"}},
    {"device", at_device, {"no regular file", "/dev/null"}, {"no regular file", "/dev/null"}},
};

static void expect(const char *what, enum tsr_store_mode mode, const char *const *words) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_store *s = NULL;
  enum tsr_status status = tsr_store_open(path, mode, &s, &err);
  if (!words[0] ? status != TSR_OK
                : status != TSR_STORE || s || err.n != 1 || !strstr(err.msg[0], words[0]) ||
                      !strstr(err.msg[0], words[1]))
    fail_msg("%s, mode %d: status %d, %s", what, mode, status,
             err.n ? err.msg[0] : "no message");
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  tsr_err_fini(&err);
}

static void files_are_opened_or_refused_with_words(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int mode = TSR_STORE_READ; mode <= TSR_STORE_WRITE; mode++) {
      teardown(state);
      setup(state);
      rows[i].make();
      expect(rows[i].what, mode, mode == TSR_STORE_WRITE ? rows[i].write : rows[i].read);
    }
}

/* Rights do not bind root, so a child gives them up first. */
static int as_nobody(void (*body)(void)) {
  pid_t pid = fork();
  if (pid == 0) {
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(9);
    body();
    _exit(0);
  }
  int st = 0;
  assert_int_equal(waitpid(pid, &st, 0), pid);
  return WIFEXITED(st) ? WEXITSTATUS(st) : 99;
}
static void child_write(void) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_store *s = NULL;
  if (tsr_store_open(path, TSR_STORE_WRITE, &s, &err) != TSR_STORE) _exit(1);
  if (!strstr(err.msg[0], "cannot be written") || !strstr(err.msg[0], "--db")) _exit(2);
  tsr_err_fini(&err);
}
static void child_read(void) {
  struct tsr_store *s = NULL;
  uint64_t id = 0;
  if (tsr_store_open(path, TSR_STORE_READ, &s, NULL) != TSR_OK) _exit(1);
  if (tsr_store_find_run(s, "last", &id, NULL) != TSR_OK || id != 1) _exit(2);
  if (tsr_store_close(s, NULL) != TSR_OK) _exit(3);
}

static void a_folder_without_right_to_write_is_read_but_not_written(void **state) {
  (void)state;
  chmod(dir, 0555);
  assert_int_equal(as_nobody(child_write), 0);
  chmod(dir, 0755);
  struct tsr_store *s = NULL;
  struct sample sample;
  uint64_t id = 0;
  sample_init(&sample, 2, 2, true);
  assert_int_equal(tsr_store_open(path, TSR_STORE_WRITE, &s, NULL), TSR_OK);
  assert_int_equal(tsr_store_put_run(s, &sample.run, &id, NULL), TSR_OK);
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  sample_fini(&sample);
  chmod(path, 0444);
  chmod(dir, 0555);
  assert_int_equal(as_nobody(child_read), 0);
}

static void a_reader_cannot_write(void **state) {
  (void)state;
  make_store();
  struct tsr_store *s = NULL;
  struct sample sample;
  uint64_t id = 42;
  struct tsr_err err = TSR_ERR_INIT;
  sample_init(&sample, 1, 0, false);
  assert_int_equal(tsr_store_open(path, TSR_STORE_READ, &s, NULL), TSR_OK);
  assert_int_equal(tsr_store_put_run(s, &sample.run, &id, &err), TSR_STORE);
  assert_int_equal(id, 42);
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  tsr_err_fini(&err);
  sample_fini(&sample);
}

static void a_new_store_has_the_settings_of_a_store(void **state) {
  (void)state;
  struct tsr_store *s = NULL;
  assert_int_equal(tsr_store_open(path, TSR_STORE_WRITE, &s, NULL), TSR_OK);
  static const struct {
    const char *sql;
    long long v;
  } settings[] = {
      {"PRAGMA application_id", TSR_STORE_APP_ID},
      {"PRAGMA user_version", 6},
      {"PRAGMA page_size", 16384},
      {"PRAGMA synchronous", 1},
      {"PRAGMA foreign_keys", 1},
      {"PRAGMA busy_timeout", 20000},
      {"SELECT journal_mode = 'wal' FROM pragma_journal_mode", 1},
      {"SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND "
       "NOT "
       "strict AND name NOT LIKE 'sqlite%'",
       0},
      {"SELECT count(*) FROM sqlite_master WHERE type = 'view' AND sql NOT LIKE '%AS' || "
       "char(10) || '-- %'",
       0}, /* each view says what it holds */
  };
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
    if (sample_number(s, settings[i].sql) != settings[i].v)
      fail_msg("%s: %lld", settings[i].sql, sample_number(s, settings[i].sql));
  struct tsr_store_info info;
  assert_int_equal(tsr_store_info(s, &info, NULL), TSR_OK);
  assert_int_equal(info.schema_version, 6);
  assert_int_equal(info.runs, 0);
  assert_int_equal(info.page_bytes, 16384);
  assert_true(info.pages > 1);
  assert_string_equal(info.sqlite_version, sqlite3_libversion());
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
}

static void names_that_mean_something_to_sqlite_are_files(void **state) {
  (void)state;
  static const char *const names[] = {":memory:", "file:x.db?mode=memory", "a b%20#?.db"};
  char here[512];
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(dir), 0);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct tsr_store *s = NULL;
    assert_int_equal(tsr_store_open(names[i], TSR_STORE_WRITE, &s, NULL), TSR_OK);
    assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
    assert_int_equal(access(names[i], F_OK), 0);
  }
  assert_int_equal(chdir(here), 0);
}

/* The program's migrations and one more. */
static const struct tsr_embedded *with_another(const char *sql) {
  static struct tsr_embedded list[8];
  size_t n = 0;
  for (; tsri_store_schema[n].name; n++) list[n] = tsri_store_schema[n];
  assert_true(n + 1 < sizeof list / sizeof list[0]);
  list[n] = (struct tsr_embedded){"more.sql", sql, strlen(sql)};
  return list;
}

static void an_older_store_is_brought_forward_by_a_writer_alone(void **state) {
  (void)state;
  const struct tsr_embedded *two =
      with_another("ALTER TABLE run ADD COLUMN mood TEXT; UPDATE run SET mood = 'calm';");
  struct tsr_store *s = NULL;
  struct sample sample;
  uint64_t id = 0;
  struct tsr_err err = TSR_ERR_INIT;
  sample_init(&sample, 2, 1, false);
  assert_int_equal(tsr_store_open(path, TSR_STORE_WRITE, &s, NULL), TSR_OK);
  assert_int_equal(tsr_store_put_run(s, &sample.run, &id, NULL), TSR_OK);
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  s = NULL;
  assert_int_equal(tsri_store_open(path, TSR_STORE_READ, two, &s, &err), TSR_STORE);
  assert_non_null(strstr(err.msg[0], "schema 6 is older than this program's 7"));
  assert_non_null(strstr(err.msg[0], "db migrate"));
  assert_int_equal(tsri_store_open(path, TSR_STORE_WRITE, two, &s, NULL), TSR_OK);
  assert_int_equal(sample_number(s, "PRAGMA user_version"), 7);
  assert_int_equal(sample_number(s, "SELECT count(*) FROM run WHERE mood = 'calm'"), 1);
  assert_int_equal(sample_number(s, "PRAGMA foreign_keys"), 1);
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  tsr_err_fini(&err);
  sample_fini(&sample);
}

static void a_migration_that_fails_changes_nothing(void **state) {
  (void)state;
  make_store();
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_store *s = NULL;
  const struct tsr_embedded *two =
      with_another("ALTER TABLE run ADD COLUMN mood TEXT; INSERT INTO nowhere VALUES(1);");
  assert_int_equal(tsri_store_open(path, TSR_STORE_WRITE, two, &s, &err), TSR_STORE);
  assert_non_null(strstr(err.msg[0], "more.sql"));
  assert_int_equal(tsr_store_open(path, TSR_STORE_READ, &s, NULL), TSR_OK);
  assert_int_equal(sample_number(s, "PRAGMA user_version"), 6);
  assert_int_equal(
      sample_number(s, "SELECT count(*) FROM pragma_table_info('run') WHERE name = 'mood'"), 0);
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  tsr_err_fini(&err);
}

static void several_makers_of_one_store_all_write_their_runs(void **state) {
  (void)state;
  enum { MAKERS = 4, ROUNDS = 3 };
  for (int round = 0; round < ROUNDS; round++) {
    snprintf(path, sizeof path, "%s/%d.db", dir, round);
    pid_t pids[MAKERS];
    for (int i = 0; i < MAKERS; i++) {
      pids[i] = fork();
      if (pids[i]) continue;
      struct tsr_store *s = NULL;
      struct sample sample;
      uint64_t id = 0;
      sample_init(&sample, 3, 20, true);
      if (tsr_store_open(path, TSR_STORE_WRITE, &s, NULL) != TSR_OK) _exit(1);
      if (tsr_store_put_run(s, &sample.run, &id, NULL) != TSR_OK) _exit(2);
      if (tsr_store_close(s, NULL) != TSR_OK) _exit(3);
      _exit(0);
    }
    for (int i = 0; i < MAKERS; i++) {
      int st = 0;
      assert_int_equal(waitpid(pids[i], &st, 0), pids[i]);
      assert_int_equal(st, 0);
    }
    struct tsr_store *s = NULL;
    assert_int_equal(tsr_store_open(path, TSR_STORE_READ, &s, NULL), TSR_OK);
    assert_int_equal(sample_number(s, "SELECT count(*) FROM v_runs"), MAKERS);
    assert_int_equal(sample_number(s, "SELECT max(run) FROM v_runs"), MAKERS);
    assert_int_equal(tsr_store_check(s, NULL), TSR_OK);
    assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  }
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(files_are_opened_or_refused_with_words),
      T(a_folder_without_right_to_write_is_read_but_not_written),
      T(a_reader_cannot_write),
      T(a_new_store_has_the_settings_of_a_store),
      T(names_that_mean_something_to_sqlite_are_files),
      T(an_older_store_is_brought_forward_by_a_writer_alone),
      T(a_migration_that_fails_changes_nothing),
      T(several_makers_of_one_store_all_write_their_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
