/* One channel of a DRAM under a watch (dram_watch.h), and streams to put into it.
 *
 * What fails ends the test.  Units: clocks, bytes. */
#ifndef TSR_TESTS_UNIT_MODELS_DRAM_RIG_H
#define TSR_TESTS_UNIT_MODELS_DRAM_RIG_H

#include "dram_watch.h"
#include "fake.h"

struct dram_request {
  uint64_t addr, at; /* not before clock `at` */
  bool write;
};
struct dram_rig {
  struct tsr_dram_config c;
  struct tsri_addr_map map;
  struct tsri_channel ch;
  struct tsri_channel_sums sums;
  struct dram_watch watch;
  size_t n;
  const struct dram_request *req; /* of the present play */
  uint64_t *taken, *answered;     /* owned; clocks, 0: not yet */
  uint64_t last;                  /* clock of the last answer */
};

/* All that there is of a configuration, but one channel. */
void dram_rig_open(struct dram_rig *r, const struct tsr_dram_config *c);
void dram_rig_close(struct dram_rig *r);
/* Puts all requests in, in order, each as soon as there is room, and waits until all are
 * answered and, but for those that the policy leaves, written.  Every request is answered once,
 * later than it came; where no two have one address, each has its command at its bank. */
void dram_rig_play(struct dram_rig *r, const struct dram_request *req, size_t n);
/* Clock of the ith command of kinds (a mask of 1 << TSRI_…); fails when there is none. */
uint64_t dram_rig_clock_of(const struct dram_rig *r, unsigned kinds, size_t i);

enum dram_stream_kind {
  DRAM_SEQUENTIAL,
  DRAM_RANDOM,
  DRAM_MIXED,    /* random reads and writes */
  DRAM_CONFLICT, /* reads and writes of one bank's rows */
  DRAM_PAUSES,   /* mixed, with pauses */
  DRAM_REPEATS,  /* reads and writes of few addresses */
  DRAM_STREAMS
};
/* But for the last no two have one address. */
void dram_stream_make(const struct dram_rig *r, enum dram_stream_kind kind, uint64_t seed,
                      struct dram_request *req, size_t n);

#endif
