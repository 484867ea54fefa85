/* What staying on the chip gains: the zoo's networks on the presets where they fit, by
 * templates, whole and by events, without and with what `--keep auto` finds (sim/run/reside.c).
 * `bench_keep [NETWORKS [PRESET]]`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/run/run.h"

static const char *const presets[] = {"systolic-32", "systolic-128", "onnxim-128", "tpu-v1",
                                      "edge-npu",    "dot-4x4",      "mesh-16"};

/* keep NULL: none. */
static int measure(const char *preset, size_t network, const char *keep,
                   struct tsr_run_measured *m, struct tsr_residency *how) {
  const struct tsr_run_options o = {
      .arch = preset, .workload = tsr_zoo_name(network), .keep = keep};
  struct tsr_run_plan p;
  if (tsr_run_plan_make(&o, &p, NULL)) return 0; /* it does not fit */
  int good = !tsr_run_measure(&p, m, NULL);
  *how = p.residency;
  tsr_run_plan_fini(&p);
  return good;
}

static void print(const char *preset, size_t network) {
  struct tsr_run_measured none, found;
  struct tsr_residency how;
  if (!measure(preset, network, NULL, &none, &how)) return;
  if (!measure(preset, network, TSR_RUN_KEEP_AUTO, &found, &how)) return;
  const double mb = 1e6;
  printf("%-14s %-24s %14.0f %14.0f %7.1f %9.1f %9.1f %7.1f  ", preset, tsr_zoo_name(network),
         (double)none.cycles, (double)found.cycles,
         100 * (1 - (double)found.cycles / (double)none.cycles), (double)none.dram_bytes / mb,
         (double)found.dram_bytes / mb,
         100 * (1 - (double)found.dram_bytes / (double)none.dram_bytes));
  if (how.keep_bytes)
    printf("keep %.0f KiB\n", (double)how.keep_bytes / 1024);
  else
    printf("%s\n", how.weights_bypass ? "bypass weights" : "-");
  fflush(stdout);
}

int main(int argc, char **argv) {
  size_t networks = tsr_zoo_count();
  if (argc > 1 && strtoul(argv[1], NULL, 10) < networks) networks = strtoul(argv[1], NULL, 10);
  printf("%-14s %-24s %14s %14s %7s %9s %9s %7s  %s\n", "preset", "network", "cycles", "auto",
         "less %", "DRAM MB", "auto", "less %", "how");
  for (size_t a = 0; a < sizeof presets / sizeof *presets; a++)
    for (size_t w = 0; w < networks; w++)
      if (argc < 3 || !strcmp(argv[2], presets[a])) print(presets[a], w);
  return 0;
}
