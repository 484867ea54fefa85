/* How long a run takes, from the start of the process to the closed store: best and
 * median of several, each into a store of its own, beside the floor of a process
 * that does nothing and of a run with nothing to simulate.  `bench_run [TIMES]`. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

enum { TIMES = 20, TIMES_MAX = 1000, ARGS = 10 };
static const double goal_s = 0.3; /* ResNet-50 on systolic-128 */

struct row {
  const char *name, *arch, *workload; /* arch NULL: `--version` */
  int share;                          /* of the times: 1/share of them */
};
static const struct row rows[] = {
    {"process alone", NULL, NULL, 1},
    {"empty run", "systolic-128", "gemm:1x1x1", 1},
    {"resnet50", "systolic-128", "resnet50", 1},
    {"gpt2-prefill-1024", "systolic-128", "gpt2-prefill-1024", 4},
    {"llama2-7b-prefill-512", "systolic-128", "llama2-7b-prefill-512", 10},
};
enum { ROW_GOAL = 2, ROW_COUNT = sizeof rows / sizeof rows[0] };

static char folder[64], db[96], out[96];

static void die(const char *what) {
  fprintf(stderr, "bench_run: %s\n", what);
  exit(1);
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void remove_store(void) {
  static const char *const tails[] = {"", "-wal", "-shm"};
  for (int i = 0; i < 3; i++) {
    char path[128];
    snprintf(path, sizeof path, "%s%s", db, tails[i]);
    unlink(path);
  }
}

static double run_once(const struct row *r) {
  const char *args[ARGS] = {TESSERA_BIN, "--version"};
  const char *const run[] = {"run",    "--quiet", "--json",     "--db",     db,
                             "--arch", r->arch,   "--workload", r->workload};
  if (r->arch)
    for (size_t i = 0; i < sizeof run / sizeof run[0]; i++) args[i + 1] = run[i];
  union { /* execv takes no const */
    const char **from;
    char *const *to;
  } v;
  const char *argv[ARGS + 1] = {NULL};
  for (int i = 0; i < ARGS; i++) argv[i] = args[i];
  v.from = argv;
  remove_store();
  double t0 = now_s();
  pid_t pid = fork();
  if (pid < 0) die("cannot fork");
  if (pid == 0) {
    int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) _exit(127);
    execv(TESSERA_BIN, v.to);
    _exit(127);
  }
  int status;
  if (waitpid(pid, &status, 0) != pid || status) die("a run failed");
  return now_s() - t0;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Events of the agenda and the simulation's own time, of the latest run. */
static void print_events(void) {
  json_t *run = json_load_file(out, 0, NULL), *t = json_object_get(run, "totals");
  double events = json_number_value(json_object_get(t, "events"));
  double wall = json_number_value(json_object_get(t, "wall_s"));
  if (wall > 0)
    printf("  %8.0f events in %.4f s: %.2f million/s", events, wall, events / wall * 1e-6);
  json_decref(run);
}

static double measure(const struct row *r, int times) {
  static double t[TIMES_MAX];
  times = times / r->share > 3 ? times / r->share : 3;
  for (int i = 0; i < times; i++) t[i] = run_once(r);
  qsort(t, (size_t)times, sizeof *t, by_value);
  printf("%-22s best %.4f s  median %.4f s  of %2d", r->name, t[0], t[times / 2], times);
  if (r->arch) print_events();
  printf("\n");
  fflush(stdout);
  return t[times / 2];
}

int main(int argc, char **argv) {
  int times = argc > 1 ? (int)strtol(argv[1], NULL, 10) : TIMES;
  if (times < 1 || times > TIMES_MAX) die("TIMES is 1 to 1000");
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.40s/tessera-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(folder)) die("no temporary folder");
  snprintf(db, sizeof db, "%s/run.db", folder);
  snprintf(out, sizeof out, "%s/out", folder);
  double median[ROW_COUNT];
  for (int i = 0; i < ROW_COUNT; i++) median[i] = measure(&rows[i], times);
  printf("resnet50 takes %.2f of %.1f s; the empty run alone %.2f\n", median[ROW_GOAL] / goal_s,
         goal_s, median[1] / goal_s);
  remove_store();
  unlink(out);
  rmdir(folder);
  return 0;
}
