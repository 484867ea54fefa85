#include "tests/cli/tool.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

enum { ARGS_MAX = 64, NOBODY = 65534 };

bool tool_drop_root;

/* ---- the folder ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st;
  (void)type;
  (void)at;
  return remove(path);
}

int tool_enter(void **state) {
  const char *tmp = getenv("TMPDIR");
  char name[4096];
  snprintf(name, sizeof name, "%s/tessera-cli-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(name) || chdir(name)) return -1;
  unsetenv("TESSERA_DB");
  *state = strdup(name);
  return *state ? 0 : -1;
}

int tool_leave(void **state) {
  char *name = *state;
  if (chdir("/")) return -1;
  int r = nftw(name, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  free(name);
  return r;
}

void tool_write(const char *path, const char *text, size_t n) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(text, 1, n, f) != n || fclose(f)) fail_msg("%s cannot be written", path);
}

char *tool_read(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  char *text = NULL;
  size_t len = 0, cap = 0;
  for (size_t got = 1; got; len += got) {
    if (cap < len + 65536) {
      cap = 2 * len + 65536;
      text = realloc(text, cap + 1);
      assert_non_null(text);
    }
    got = fread(text + len, 1, cap - len, f);
  }
  fclose(f);
  text[len] = '\0';
  if (n) *n = len;
  return text;
}

/* ---- processes ---- */

double tool_now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void redirect(const char *path, int fd) {
  int f = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (f < 0 || dup2(f, fd) < 0) _exit(126);
  close(f);
}

/* stdout_path NULL: closed. */
static pid_t start(const char *const *args, const char *stdout_path, const char *err_path) {
  const char *argv[ARGS_MAX] = {TESSERA_BIN};
  for (size_t i = 0; args[i]; i++) {
    assert_true(i + 2 < ARGS_MAX);
    argv[i + 1] = args[i];
  }
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid) return pid;
  redirect(err_path, STDERR_FILENO);
  if (stdout_path)
    redirect(stdout_path, STDOUT_FILENO);
  else
    close(STDOUT_FILENO);
  if (tool_drop_root && geteuid() == 0 && (setgid(NOBODY) || setuid(NOBODY))) _exit(126);
  union { /* execv takes no const */
    const char **from;
    char *const *to;
  } v = {argv};
  execv(TESSERA_BIN, v.to);
  _exit(127);
}

pid_t tool_start(const char *const *args, const char *err_path) {
  return start(args, "/dev/null", err_path);
}

void tool_wait(pid_t pid, int *rc, int *sig) {
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  *rc = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  *sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void tool_run_to(struct tool_result *r, enum tool_stdout where, const char *const *args) {
  static const char *const paths[] = {[TOOL_STDOUT_FILE] = ".out",
                                      [TOOL_STDOUT_FULL] = "/dev/full",
                                      [TOOL_STDOUT_CLOSED] = NULL};
  *r = (struct tool_result){0};
  double t0 = tool_now_s();
  pid_t pid = start(args, paths[where], ".err");
  tool_wait(pid, &r->rc, &r->sig);
  r->wall_s = tool_now_s() - t0;
  r->out = where == TOOL_STDOUT_FILE ? tool_read(".out", &r->out_n) : strdup("");
  r->err = tool_read(".err", NULL);
  assert_non_null(r->out);
  assert_non_null(r->err);
}

void tool_run(struct tool_result *r, const char *const *args) {
  tool_run_to(r, TOOL_STDOUT_FILE, args);
}

void tool_result_fini(struct tool_result *r) {
  free(r->out);
  free(r->err);
  *r = (struct tool_result){0};
}

void tool_expect(int rc, const char *const *args) {
  struct tool_result r;
  tool_run(&r, args);
  if (r.rc != rc) {
    for (size_t i = 0; args[i]; i++) print_message("%s ", args[i]);
    print_message("\n%s", r.err);
  }
  assert_int_equal(r.rc, rc);
  tool_result_fini(&r);
}

/* ---- stores ---- */

static sqlite3 *open_db(const char *db) {
  sqlite3 *s;
  if (sqlite3_open_v2(db, &s, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
    fail_msg("%s: %s", db, sqlite3_errmsg(s));
  return s;
}

static sqlite3_stmt *prepare(sqlite3 *s, const char *sql) {
  sqlite3_stmt *q;
  if (sqlite3_prepare_v2(s, sql, -1, &q, NULL) != SQLITE_OK)
    fail_msg("%s: %s", sql, sqlite3_errmsg(s));
  return q;
}

int64_t tool_sql_int(const char *db, const char *sql) {
  sqlite3 *s = open_db(db);
  sqlite3_stmt *q = prepare(s, sql);
  if (sqlite3_step(q) != SQLITE_ROW) fail_msg("%s: %s", sql, sqlite3_errmsg(s));
  int64_t v = sqlite3_column_int64(q, 0);
  sqlite3_finalize(q);
  sqlite3_close(s);
  return v;
}

void tool_sql(const char *db, const char *sql) {
  sqlite3 *s = open_db(db);
  char *message = NULL;
  if (sqlite3_exec(s, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
  sqlite3_close(s);
}

char *tool_sql_dump(const char *db, const char *sql) {
  sqlite3 *s = open_db(db);
  sqlite3_stmt *q = prepare(s, sql);
  char *text = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  assert_non_null(f);
  while (sqlite3_step(q) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(q); i++) {
      const unsigned char *v = sqlite3_column_text(q, i);
      fprintf(f, "%s|", v ? (const char *)v : "NULL");
    }
    fputc('\n', f);
  }
  fclose(f);
  sqlite3_finalize(q);
  sqlite3_close(s);
  return text;
}

int64_t tool_runs(const char *db) {
  if (access(db, F_OK)) return 0;
  return tool_sql_int(db, "SELECT count(*) FROM v_runs");
}
