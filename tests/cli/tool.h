/* Running the binary: arguments in; exit code, output and messages out.
 *
 * tool_enter makes an empty folder and goes there; tool_leave removes it.  Stores
 * are `tessera.db` of that folder unless a test says otherwise. */
#ifndef TSR_TESTS_CLI_TOOL_H
#define TSR_TESTS_CLI_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int tool_enter(void **state); /* cmocka set-up and tear-down */
int tool_leave(void **state);

struct tool_result {
  int rc;    /* exit code, -1 when a signal ended it */
  int sig;   /* that signal, else 0 */
  char *out; /* owned; standard output, NUL-terminated */
  size_t out_n;
  char *err; /* owned; standard error */
  double wall_s;
};
void tool_result_fini(struct tool_result *r);

enum tool_stdout { TOOL_STDOUT_FILE, TOOL_STDOUT_FULL, TOOL_STDOUT_CLOSED };

/* Runs `tessera args…`; the list ends with NULL.  *r is overwritten, not freed. */
void tool_run(struct tool_result *r, const char *const *args);
void tool_run_to(struct tool_result *r, enum tool_stdout where, const char *const *args);
#define TOOL(r, ...) tool_run(r, (const char *const[]){__VA_ARGS__, NULL})
/* Runs it and expects this exit code; prints the messages where it is another. */
void tool_expect(int rc, const char *const *args);
#define TOOL_EXPECT(rc, ...) tool_expect(rc, (const char *const[]){__VA_ARGS__, NULL})

/* While set, the binary runs as `nobody` where the test runs as root, so that
 * permissions hold for it; its output then goes through descriptors opened before. */
extern bool tool_drop_root;

/* Starts it with output and messages to nowhere; tool_wait gives the result's code
 * and signal. */
pid_t tool_start(const char *const *args, const char *err_path);
void tool_wait(pid_t pid, int *rc, int *sig);

void tool_write(const char *path, const char *text, size_t n);
char *tool_read(const char *path, size_t *n); /* owned by the caller; NULL: no file */

/* The first column of the first row; fails the test on an SQL error. */
int64_t tool_sql_int(const char *db, const char *sql);
void tool_sql(const char *db, const char *sql);
/* Every row of a query as text, a row a line, columns between bars; owned. */
char *tool_sql_dump(const char *db, const char *sql);
/* Runs in the store, 0 where there is no file. */
int64_t tool_runs(const char *db);

double tool_now_s(void);

#endif
