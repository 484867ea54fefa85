/* What a run of the machine takes, from the start of the process to the closed store: best and
 * median of several, each into a store of its own, against the limit that it is to keep; the
 * events that it stands for, how many of them it accounted for at once, what it is bound by,
 * and its peak memory.  Beside it in the same run the floor of a process that does nothing and
 * of a run with nothing to simulate, and the same run with every event simulated.
 * `bench_machine [TIMES]`. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "sim/base/rng.h"

enum { TIMES = 20, TIMES_MAX = 1000, ARGS = 16, LAYERS = 10000 };

/* What a limit counts from. */
enum { PROCESS, FLOOR, OTHER };
struct row {
  const char *name, *workload; /* workload NULL: `--version` */
  const char *more[4];
  double limit; /* seconds, or of OTHER times the row `of`; 0: none */
  int kind, of;
  int share; /* of the times: 1/share of them */
  bool both; /* the same without fast-forward */
};
enum { EMPTY = 1, RESNET = 2, GEMM = 4 };
static const struct row rows[] = {
    {"process alone", NULL, {NULL}, 0, PROCESS, 0, 1, false},
    {"empty run", "gemm:1x1x1", {NULL}, 0, PROCESS, 0, 1, false},
    {"ResNet-50", "resnet50", {NULL}, 0.05, PROCESS, 0, 1, true},
    {"ResNet-50, full trace", "resnet50", {"--trace", "full"}, 1.5, OTHER, RESNET, 1, false},
    {"GEMM 2048^3", "gemm:2048x2048x2048", {NULL}, 0.03, FLOOR, 0, 1, true},
    {"GEMM 8192^3", "gemm:8192x8192x8192", {NULL}, 0.12, FLOOR, 0, 2, true},
    {"GEMM 100000^3",
     "gemm:100000x100000x100000",
     {"--set", "dram.capacity=unlimited"},
     1,
     PROCESS,
     0,
     4,
     false},
    {"Llama-2-7B prefill 2048", "llama2-7b-prefill-2048", {NULL}, 0.5, PROCESS, 0, 4, false},
    {"10,000 random layers", "", {NULL}, 10, PROCESS, 0, 10, false},
    {"ResNet-50, DRAM banks",
     "resnet50",
     {"--set", "dram.model=banks", "--set", "dram.preset=hbm2-2000"},
     5,
     OTHER,
     RESNET,
     4,
     false},
    {"GEMM 2048^3, DRAM banks",
     "gemm:2048x2048x2048",
     {"--set", "dram.model=banks", "--set", "dram.preset=hbm2-2000"},
     5,
     OTHER,
     GEMM,
     4,
     false},
    {"GEMM 1024^3 by sample",
     "gemm:1024x1024x1024",
     {"--numerics", "sample"},
     0,
     PROCESS,
     0,
     10,
     false},
    {"GEMM 1024^3 by value",
     "gemm:1024x1024x1024",
     {"--numerics", "full"},
     0,
     PROCESS,
     0,
     10,
     false},
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };
static const double memory_mib = 64, operands_mib = 3 * 3 * 2; /* of 1024^3 in fp16, 3 times */

static char folder[64], db[96], out[96], many[96];

struct taken {
  double best_s, median_s, events, skipped, simulated_s;
  double peak_mib;
};

static void die(const char *what) {
  fprintf(stderr, "bench_machine: %s\n", what);
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

/* 1 to 4096 along each axis, small sizes as likely as large ones. */
static void write_layers(void) {
  struct tsr_rng r = {1};
  FILE *f = fopen(many, "w");
  if (!f) die("cannot write a layer list");
  fprintf(f, "model,layer,op,M,N,K,count,notes,after\n");
  for (int i = 0; i < LAYERS; i++) {
    uint64_t v[3];
    for (int j = 0; j < 3; j++)
      v[j] = tsr_rng_range(&r, 1, (uint64_t)1 << tsr_rng_range(&r, 0, 12));
    fprintf(f, "many,l%d,linear,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",1,,-\n", i, v[0], v[1],
            v[2]);
  }
  if (fclose(f)) die("cannot write a layer list");
}

static double run_once(const struct row *r, bool off, double *peak_mib) {
  const char *argv[ARGS + 1] = {TESSERA_BIN, "--version"};
  const char *const run[] = {"run",    "--quiet",      "--json",     "--db", db,
                             "--arch", "systolic-128", "--workload", NULL};
  size_t n = 1;
  for (size_t i = 0; r->workload && run[i]; i++) argv[n++] = run[i];
  if (r->workload) argv[n++] = *r->workload ? r->workload : many;
  for (size_t i = 0; i < 4 && r->more[i]; i++) argv[n++] = r->more[i];
  if (off) {
    argv[n++] = "--set";
    argv[n++] = "sim.fast_forward=false";
  }
  union { /* execv takes no const */
    const char **from;
    char *const *to;
  } v = {argv};
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
  struct rusage used;
  if (wait4(pid, &status, 0, &used) != pid || status) die("a run failed");
  *peak_mib = (double)used.ru_maxrss / 1024;
  return now_s() - t0;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static struct taken measure(const struct row *r, int times, bool off) {
  static double t[TIMES_MAX];
  struct taken x = {0};
  times = times / r->share > 3 ? times / r->share : 3;
  for (int i = 0; i < times; i++) t[i] = run_once(r, off, &x.peak_mib);
  qsort(t, (size_t)times, sizeof *t, by_value);
  x.best_s = t[0];
  x.median_s = t[times / 2];
  if (!r->workload) return x;
  json_t *run = json_load_file(out, 0, NULL), *totals = json_object_get(run, "totals");
  x.events = json_number_value(json_object_get(totals, "events"));
  x.skipped = json_number_value(json_object_get(totals, "fast_forwarded"));
  x.simulated_s = json_number_value(json_object_get(totals, "wall_s"));
  json_decref(run);
  return x;
}

/* Whether simulation or what stands around it takes longer. */
static const char *bound_by(const struct taken *x, double floor_s) {
  if (x->simulated_s < 0.5 * x->median_s) return "start, mapping, store";
  return x->median_s < 2 * floor_s ? "the floor" : "simulation";
}

static void print(const struct row *r, const struct taken *x, const struct taken *all) {
  double base = r->kind == FLOOR ? all[EMPTY].median_s : 0;
  double limit = r->kind == OTHER ? r->limit * all[r->of].median_s : r->limit;
  printf("%-24s %8.4f %8.4f", r->name, x->best_s, x->median_s);
  if (limit > 0)
    printf("  %6.3f %5.2f", limit, (x->median_s - base) / limit);
  else
    printf("  %6s %5s", "", "");
  if (r->workload)
    printf("  %10.3g %6.1f %8.1f %6.1f  %s", x->events, 100 * x->skipped / x->events,
           x->events / x->simulated_s * 1e-6, x->peak_mib, bound_by(x, all[EMPTY].median_s));
  printf("\n");
  fflush(stdout);
}

int main(int argc, char **argv) {
  int times = argc > 1 ? (int)strtol(argv[1], NULL, 10) : TIMES;
  if (times < 1 || times > TIMES_MAX) die("TIMES is 1 to 1000");
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.40s/tessera-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(folder)) die("no temporary folder");
  snprintf(db, sizeof db, "%s/run.db", folder);
  snprintf(out, sizeof out, "%s/out", folder);
  snprintf(many, sizeof many, "%s/many.csv", folder);
  write_layers();
  struct taken all[ROW_COUNT] = {{0}};
  printf("systolic-128, dram.model simple but where it says banks; seconds; of the limit (over "
         "the "
         "empty run for GEMMs)\n"
         "%-24s %8s %8s  %6s %5s  %10s %6s %8s %6s  bound by\n",
         "", "best", "median", "limit", "ratio", "events", "skip %", "M/s", "MiB");
  for (int i = 0; i < ROW_COUNT; i++) {
    all[i] = measure(&rows[i], times, false);
    print(&rows[i], &all[i], all);
    if (!rows[i].both) continue;
    struct taken off = measure(&rows[i], times / 4, true);
    printf("  every event simulated: %.4f s, %.1f times as long\n", off.median_s,
           off.median_s / all[i].median_s);
  }
  double most = 0;
  for (int i = 0; i + 1 < ROW_COUNT; i++)
    if (all[i].peak_mib > most) most = all[i].peak_mib;
  printf("peak memory: %.1f MiB, %.2f of %.0f; by value %.1f MiB, %.2f of %.0f\n", most,
         most / memory_mib, memory_mib, all[ROW_COUNT - 1].peak_mib,
         all[ROW_COUNT - 1].peak_mib / (memory_mib + operands_mib), memory_mib + operands_mib);
  remove_store();
  unlink(out);
  unlink(many);
  rmdir(folder);
  return 0;
}
