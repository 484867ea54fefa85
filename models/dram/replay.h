/* A request stream through the DRAM model alone: put in in order, at most `inject` a clock,
 * each as soon as its channel has room (and not before its time).
 *
 * Clocks count from 0; `clocks` is one more than that of the last event: the last request
 * taken, or the last datum read or written.  With `posted`, as the references count, what is
 * still to be written is not waited for; then a short stream may seem faster than the bus. */
#ifndef TSR_MODELS_DRAM_REPLAY_H
#define TSR_MODELS_DRAM_REPLAY_H

#include "models/dram/channel.h"
#include "models/dram/scenario.h"

struct tsr_dram_replay {
  uint64_t requests, clocks;
  struct tsri_channel_sums sums; /* over the channels */
  uint64_t max_latency_clocks;
  double bandwidth_pct; /* of the peak */
  struct tsri_timeline timeline;
};

enum tsr_status tsr_dram_replay(const struct tsr_dram_config *c,
                                const struct tsr_dram_stream *s, struct tsr_dram_replay *out,
                                struct tsr_err *err);

#endif
