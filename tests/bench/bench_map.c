/* What searching for mappings gains: the zoo's networks on the presets where they fit, by
 * template and by the best found, against the roofline.  `bench_map [NETWORKS [PRESET]]`. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/run/run.h"

static const char *const presets[] = {"systolic-32", "systolic-128", "onnxim-128", "tpu-v1",
                                      "edge-npu",    "dot-4x4",      "mesh-16"};

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Twins count as often as they are there. */
static bool search(struct tsr_run_plan *p, double *before, double *best, double *roofline,
                   double *looked) {
  static struct tsr_run_found f;
  double *of = calloc(2 * p->n_layers, sizeof *of);
  size_t *twin = calloc(p->n_layers, sizeof *twin);
  bool good = of && twin;
  if (good) tsr_run_twins(p, twin);
  for (size_t i = 0; good && i < p->n_layers; i++) {
    if (twin[i] == SIZE_MAX) continue;
    if (twin[i] == i) {
      good = !tsr_run_search(p, i, 1, &f, NULL);
      of[2 * i] = (double)f.before_cycles;
      of[2 * i + 1] = (double)f.best_cycles;
      *looked += (double)f.evaluated;
    }
    *before += of[2 * twin[i]];
    *best += of[2 * twin[i] + 1];
    *roofline += tsr_run_roofline_cycles(p, &p->layers[i]);
  }
  free(of);
  free(twin);
  return good;
}

int main(int argc, char **argv) {
  size_t networks = tsr_zoo_count();
  if (argc > 1 && strtoul(argv[1], NULL, 10) < networks) networks = strtoul(argv[1], NULL, 10);
  printf("%-14s %-24s %14s %14s %7s %7s %9s %7s\n", "preset", "network", "template", "best",
         "less %", "x roof", "looked at", "s");
  for (size_t a = 0; a < sizeof presets / sizeof *presets; a++)
    for (size_t w = 0; w < networks; w++) {
      const struct tsr_run_options o = {.arch = presets[a], .workload = tsr_zoo_name(w)};
      struct tsr_run_plan p;
      double before = 0, best = 0, roofline = 0, looked = 0, t0 = now_s();
      if (argc > 2 && strcmp(argv[2], presets[a]) != 0) continue;
      if (tsr_run_plan_make(&o, &p, NULL)) continue; /* it does not fit */
      if (search(&p, &before, &best, &roofline, &looked) && before > 0)
        printf("%-14s %-24s %14.0f %14.0f %7.1f %7.2f %9.0f %7.1f\n", presets[a],
               tsr_zoo_name(w), before, best, 100 * (1 - best / before), best / roofline,
               looked, now_s() - t0);
      fflush(stdout);
      tsr_run_plan_fini(&p);
    }
  return 0;
}
