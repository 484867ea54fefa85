/* Random machines and operators.
 *
 * A case is made from a seed and an index alone.  Its plan maps the operator on the
 * machine; the plan's program may be run on another machine of the same scratchpads. */
#ifndef TSR_TESTS_PROP_CASES_H
#define TSR_TESTS_PROP_CASES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/rng.h"
#include "tests/support/layers.h"

enum { PROP_1RW, PROP_1R1W, PROP_2RW };

struct prop_machine {
  int flow; /* enum tsr_dataflow */
  bool preload, serial_drain;
  uint64_t rows, cols, rate;
  uint64_t size_bytes[3], buffers[3], banks[3], width_bytes[3]; /* of a, b, c */
  int ports;                                                    /* PROP_*, of all three */
  uint64_t outstanding, burst_bytes, channels, bandwidth, latency_ns, clock_mhz;
  /* What several cores share; cores 0: one core and none of it. */
  uint64_t cores, tiles, noc_bandwidth, hop_ns, header_bytes, llb_bytes, llb_slices;
  int split, noc; /* enum tsr_split_kind, PROP_NONE ... */
};
enum { PROP_NONE, PROP_CROSSBAR, PROP_MESH };

enum { PROP_SETS = 56, PROP_SET_MAX = 64 };
struct prop_sets {
  char text[PROP_SETS][PROP_SET_MAX];
  const char *set[PROP_SETS];
  size_t n;
};

struct prop_operator {
  bool conv;
  char name[64];  /* what `--workload` takes, of a plain matmul */
  char text[512]; /* CSV, of a convolution */
};

/* How many cases to try: $TESSERA_PROP_CASES where it is set, else `usual`. */
uint64_t prop_cases(uint64_t usual);
void prop_machine_random(struct tsr_rng *r, struct prop_machine *m);
/* Several cores with an interconnect and a last-level buffer, or without. */
void prop_machine_share(struct tsr_rng *r, struct prop_machine *m);
/* Unlimited bandwidth and ports, no latency. */
void prop_machine_idealise(struct prop_machine *m);
void prop_machine_sets(const struct prop_machine *m, struct prop_sets *out);
void prop_operator_random(struct tsr_rng *r, struct prop_operator *o);
/* Prints what repeats the case. */
void prop_print(const struct prop_machine *m, const struct prop_operator *o);

/* `what` holds of the case (m, o) in scope; else the test ends and says what repeats it. */
#define EXPECT(what, ...)                         \
  do {                                            \
    if (!(what)) {                                \
      prop_print(m, o);                           \
      fail_msg("not so: " #what " " __VA_ARGS__); \
    }                                             \
  } while (0)

/* false: the operator does not fit the scratchpads; any other failure ends the test. */
bool prop_plan(const struct prop_machine *m, const struct prop_operator *o,
               struct tsr_run_plan *out);
/* The machine alone; owned (tsr_machine_destroy). */
struct tsr_machine *prop_machine_make(const struct prop_machine *m);
/* Runs the plan's only layer on a machine. */
void prop_run(const struct tsr_run_plan *p, const struct tsr_machine *on, struct layer *out);

#endif
