/* The engine: builds a machine as SystemC modules and runs programs on it.
 *
 * Units (two DMA engines, a tile) take instructions from queues that the program
 * fills in order; they run concurrently and meet at semaphores only.  Time is
 * SystemC's; the agenda orders what is simultaneous; a layer ends when SystemC
 * starves with every unit done, and is a deadlock when it starves before.
 * Issue and semaphores cost no time.
 *
 * Every cycle of every unit in a layer is one of: busy, fill, drain, a cause
 * (causes.def), idle; they sum to the layer's cycles.  Work spans come from the
 * models; a gap before a span is charged, whole, to the dependency that arrived
 * last: a load splits it into exposed latency, port and bandwidth (what is left),
 * a store is `writeback`, a tile or a semaphore `sync`; before the tile's first
 * span and after its last it is `ramp`.
 *
 * Units: core cycles, fs, bytes.  Ownership: the machine is borrowed.
 * Errors: TSR_SIM for deadlock, cycle limit, an end past 2^64 fs, interruption. */
#ifndef TSR_SIM_ENGINE_ENGINE_H
#define TSR_SIM_ENGINE_ENGINE_H

#include "isa/isa.h"
#include "sim/engine/machine.h"

enum tsr_cause {
#define CAUSE(id, name, doc) TSR_CAUSE_##id,
#include "sim/engine/causes.def"
#undef CAUSE
  TSR_CAUSE_COUNT
};

/* States of a unit's cycle: work first, then the causes, then idle. */
enum { TSR_STATE_BUSY, TSR_STATE_FILL, TSR_STATE_DRAIN, TSR_STATE_CAUSE0 };
enum { TSR_STATE_IDLE = TSR_STATE_CAUSE0 + TSR_CAUSE_COUNT, TSR_STATE_COUNT };
/* Name of a state (static); name and doc of a cause. */
const char *tsr_engine_state_name(int state);
const char *tsr_engine_cause_doc(enum tsr_cause c);

struct tsr_segment { /* see struct tsr_run_segment of the store */
  int unit, state;
  uint64_t start_cycles, duration_cycles, period_cycles, repeats;
};

struct tsr_layer_result {
  uint64_t start_cycles, cycles, events;
  uint64_t unit_cycles[TSR_ISA_UNITS][TSR_STATE_COUNT];
  uint64_t folds, active_cycles, slots, slots_used, macs, conflict_cycles;
  uint64_t dram_read_bytes, dram_write_bytes, sram_read_bytes, sram_write_bytes;
  uint64_t transfers, useful_bytes;
  size_t n_segments;
  const struct tsr_segment *segments; /* borrowed until the next run */
};

struct tsr_engine_options {
  bool trace;           /* collect segments */
  const char *vcd_path; /* unit states as a VCD (0 idle, 1 working, 2 waiting); NULL: none */
};

struct tsr_engine;
enum tsr_status tsr_engine_create(const struct tsr_machine *m,
                                  const struct tsr_engine_options *o, struct tsr_engine **out,
                                  struct tsr_err *err);
void tsr_engine_destroy(struct tsr_engine *e);
const char *tsr_engine_unit_name(const struct tsr_engine *e, int unit);

/* Runs a checked program from the present cycle until all is done. */
enum tsr_status tsr_engine_run(struct tsr_engine *e, const struct tsr_program *p,
                               const char *layer, struct tsr_layer_result *out,
                               struct tsr_err *err);

/* Estimates without simulating: agenda events of a program, boxes and tiles unclipped,
 * bursts in full trains (two DMA engines that both wait for their windows take shorter
 * ones), and the cycles that the tile alone needs.  Saturate at UINT64_MAX. */
void tsr_engine_estimate(const struct tsr_machine *m, const struct tsr_program *p,
                         uint64_t *events, uint64_t *tile_cycles);

#endif
