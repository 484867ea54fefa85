/* Requests a second through the bank-level DRAM model, one thread: by device, in a row and at
 * random, best of several.  Beside it in the same run the same controller stepped clock by
 * clock, as simulators that loop over cycles do, which must come to the same clocks; the goal;
 * and what the field's two simulators were measured at, on another machine (SRC:ramulator2,
 * SRC:dramsim3, one thread, their faster figure of each kind).  `bench_dram [TIMES]`. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "models/dram/replay.h"
#include "sim/base/mem.h"

enum { TIMES = 5, ROWS = 2000000, RANDOM = 1000000, STEPPED = 20 };

static const char *const presets[] = {"ddr4-3200",   "ddr5-4800",  "lpddr4-2400",
                                      "lpddr5-6400", "hbm2-2000",  "hbm2-2000-legacy",
                                      "hbm3-6400",   "gddr6-14000"};
static const struct kind {
  const char *name, *scenario;
  uint64_t n;
  double goal, ramulator, dramsim;
} kinds[] = {{"in a row", "seq;1;", ROWS, 10e6, 355e3, 410e3},
             {"random", "rand;1;", RANDOM, 2e6, 80e3, 62e3}};

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void die(const char *what) {
  fprintf(stderr, "bench_dram: %s\n", what);
  exit(1);
}

/* A channel that is asked at every clock. */
struct stepped {
  struct tsri_channel ch;
  struct tsri_channel_sums sums;
  uint64_t last;
};
static void on_done(void *arg, uint64_t tag, uint64_t clock) {
  struct stepped *s = arg;
  (void)tag;
  if (s->last < clock - 1) s->last = clock - 1;
}
static uint64_t step_all(const struct tsr_dram_config *c, const struct tsr_dram_stream *q,
                         uint64_t n, double *took_s) {
  static struct tsri_addr_map map;
  struct stepped s = {.last = 0};
  if (tsri_addr_init(&map, c, NULL) || tsri_channel_init(&s.ch, c, &s.sums, NULL))
    die("out of memory");
  s.ch.done = on_done;
  s.ch.arg = &s;
  double from = now_s();
  uint64_t t = 0, i = 0, taken = 0, last_in = 0;
  for (; i < n || s.ch.reading; t++) {
    (void)tsri_channel_run(&s.ch, t + 1, TSRI_UNTIL_LIMIT);
    for (taken = 0; i < n && (!c->inject || taken < c->inject); taken++, i++) {
      bool write = q->addr[i] & 1;
      if (!tsri_channel_room(&s.ch, write)) break;
      uint64_t addr = q->addr[i] >> 1;
      tsri_channel_accept(&s.ch, t, tsri_addr_place(&map, addr), addr, write, i);
      last_in = t;
    }
  }
  *took_s = now_s() - from;
  tsri_channel_fini(&s.ch);
  return 1 + tsr_max_u64(s.last, last_in);
}

static void bench(const char *preset, const struct kind *k, int times) {
  struct tsr_dram_config c;
  struct tsr_dram_stream s = {0};
  struct tsr_dram_replay r;
  double best = 1e9, stepped = 1e9;
  if (!tsr_dram_preset(preset, &c)) die("no such preset");
  c.org.channels = 1;
  if (tsr_dram_scenario(k->scenario, c.org.tx_bytes, k->n, &s, NULL)) die("no such scenario");
  for (int i = 0; i < times; i++) {
    double from = now_s();
    if (tsr_dram_replay(&c, &s, &r, NULL)) die("a replay failed");
    if (now_s() - from < best) best = now_s() - from;
  }
  uint64_t n = k->n / STEPPED, clocks = 0;
  for (int i = 0; i < times; i++) {
    double took;
    clocks = step_all(&c, &s, n, &took);
    if (took < stepped) stepped = took;
  }
  s.n = n;
  if (tsr_dram_replay(&c, &s, &r, NULL)) die("a replay failed");
  if (r.clocks != clocks) die("clock by clock it is not the same");
  double rate = (double)k->n / best, by_clock = (double)n / stepped;
  printf("%-16s %-9s %9.2f %8.2f %9.2f %8.2f %9.1f %9.1f\n", preset, k->name, rate / 1e6,
         rate / k->goal, by_clock / 1e6, rate / by_clock, rate / k->ramulator,
         rate / k->dramsim);
  tsr_dram_stream_fini(&s);
}

int main(int argc, char **argv) {
  int times = argc > 1 ? atoi(argv[1]) : TIMES;
  if (times < 1) die("expected a number of times of at least 1");
  printf("%-16s %-9s %9s %8s %9s %8s %9s %9s\n", "device", "requests", "M/s", "x goal",
         "clocked", "x that", "x ramul.", "x dramsim");
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
      bench(presets[i], &kinds[k], times);
  printf("\ngoal: %.0f M/s in a row, %.0f M/s at random.  clocked: the same, asked at every "
         "clock.\nRamulator 2.1 and DRAMsim3 as measured elsewhere, in a row and at random: "
         "%.0f and %.0f k/s, %.0f and %.0f k/s.\n",
         kinds[0].goal / 1e6, kinds[1].goal / 1e6, kinds[0].ramulator / 1e3,
         kinds[1].ramulator / 1e3, kinds[0].dramsim / 1e3, kinds[1].dramsim / 1e3);
  return 0;
}
