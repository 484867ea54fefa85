/* The analytic model against the event model, over the zoo's networks, the presets and the
 * dataflows that they take: how far off, by preset and in all; how it ranks what the mapper
 * looks at (Spearman's rank correlation over a sample of each search); evaluations a second.
 * `bench_cost [NETWORKS]`: so many of the zoo. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/run/run.h"

static const char *const presets[] = {"systolic-32", "systolic-128", "onnxim-128", "tpu-v1",
                                      "edge-npu",    "dot-4x4",      "mesh-16"};
static const char *const flows[] = {"ws", "os", "is", "rs"};
enum { PRESETS = sizeof presets / sizeof *presets, FLOWS = 4, OFF_MAX = 100000, RANKS = 64 };
enum { RANK_LAYERS = 2, RANK_MACS = 30000000 }; /* of a network on a preset: small ones */

struct list {
  double v[OFF_MAX];
  size_t n;
};
static struct list all, one, ranks;
static double model_s, model_n;

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double at(struct list *l, double part) {
  qsort(l->v, l->n, sizeof *l->v, by_value);
  return l->n ? l->v[(size_t)((double)(l->n - 1) * part)] : NAN;
}

static void add(struct list *l, double v) {
  if (l->n < OFF_MAX) l->v[l->n++] = v;
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double rank_of(const double *v, size_t n, size_t i) {
  double less = 0, same = 0;
  for (size_t j = 0; j < n; j++) {
    less += v[j] < v[i];
    same += v[j] == v[i];
  }
  return less + (same - 1) / 2;
}

static double spearman(const double *a, const double *b, size_t n) {
  double mean = ((double)n - 1) / 2, ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < n; i++) {
    double x = rank_of(a, n, i) - mean, y = rank_of(b, n, i) - mean;
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : NAN;
}

static void rank_layer(struct tsr_run_plan *p, size_t i) {
  static struct tsr_run_found f;
  double model[TSR_SEARCH_SAMPLE], events[TSR_SEARCH_SAMPLE];
  if (tsr_run_search(p, i, 1, &f, NULL) || f.n_sample < 8) return;
  for (size_t k = 0; k < f.n_sample; k++) {
    uint64_t cycles = 0;
    if (tsr_run_simulate(p, i, &f.sample[k].mapping, &cycles, NULL)) return;
    model[k] = f.sample[k].cost.cycles;
    events[k] = (double)cycles;
  }
  double r = spearman(model, events, f.n_sample);
  if (!isnan(r)) add(&ranks, r);
}

static void look(struct tsr_run_plan *p, bool rank) {
  size_t ranked = 0, *twin = calloc(p->n_layers + 1, sizeof *twin);
  if (!twin) return;
  tsr_run_twins(p, twin);
  for (size_t i = 0; i < p->n_layers; i++) {
    const struct tsr_run_layer_plan *l = &p->layers[i];
    struct tsr_cost c;
    uint64_t cycles;
    if (twin[i] != i || !tsr_run_is_product(l)) continue;
    struct tsr_target t;
    tsr_run_target(p, l, &t);
    double t0 = now_s();
    for (int k = 0; k < 20; k++) tsr_cost_layer(&l->shape, &l->mapping, &l->split, &t, &c);
    model_s += now_s() - t0;
    model_n += 20;
    if (tsr_run_simulate(p, i, &l->mapping, &cycles, NULL) || !cycles) continue;
    double off = fabs(c.cycles / (double)cycles - 1);
    add(&one, off);
    add(&all, off);
    uint64_t macs = 0;
    (void)tsr_op_macs(l->op, &macs);
    if (rank && ranked < RANK_LAYERS && macs < RANK_MACS) {
      rank_layer(p, i);
      ranked++;
    }
  }
  free(twin);
}

int main(int argc, char **argv) {
  size_t networks = tsr_zoo_count();
  if (argc > 1 && strtoul(argv[1], NULL, 10) < networks) networks = strtoul(argv[1], NULL, 10);
  printf("analytic model against events: %zu networks, dataflows that fit\n"
         "%-14s %7s %9s %9s %9s\n",
         networks, "preset", "layers", "median %", "p95 %", "most %");
  for (size_t a = 0; a < PRESETS; a++) {
    one.n = 0;
    for (size_t f = 0; f < FLOWS; f++)
      for (size_t w = 0; w < networks; w++) {
        char flow[48];
        const char *const sets[] = {"dram.capacity=unlimited", flow};
        snprintf(flow, sizeof flow, "tile.dataflow=%s", flows[f]);
        const struct tsr_run_options o = {.arch = presets[a],
                                          .workload = tsr_zoo_name(w),
                                          .sets = sets,
                                          .n_sets = strcmp(presets[a], "dot-4x4") ? 2 : 1};
        struct tsr_run_plan p;
        if (o.n_sets == 1 && f) continue; /* it has no dataflow */
        if (tsr_run_plan_make(&o, &p, NULL)) continue;
        look(&p, f == 0);
        tsr_run_plan_fini(&p);
      }
    printf("%-14s %7zu %9.2f %9.2f %9.1f\n", presets[a], one.n, 100 * at(&one, 0.5),
           100 * at(&one, 0.95), 100 * at(&one, 1));
    fflush(stdout);
  }
  printf("%-14s %7zu %9.2f %9.2f %9.1f  of at most 3 and 15\n", "all", all.n,
         100 * at(&all, 0.5), 100 * at(&all, 0.95), 100 * at(&all, 1));
  printf("rank correlation over %zu searches: median %.3f, tenth percentile %.3f, of at least "
         "0.9\n",
         ranks.n, at(&ranks, 0.5), at(&ranks, 0.1));
  printf("%.0f evaluations a second, %.2f of 100000\n", model_n / model_s,
         model_n / model_s / 1e5);
  return 0;
}
