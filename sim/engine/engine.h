/* The engine: builds a machine as SystemC modules and runs programs on it.
 *
 * A job is a layer at work on a range of cores, one program a core.  Jobs on disjoint
 * cores run side by side; a job starts when the jobs that it waits for are over and its
 * cores are free.  The units of a core (two DMA engines, the tiles, a vector unit) take
 * instructions from queues that its program fills in order; they run concurrently and
 * meet at semaphores and barriers only.  Time is SystemC's; the agenda orders what is
 * simultaneous; when SystemC starves with jobs left, that is a deadlock.  Issue,
 * semaphores and barriers cost no time.
 *
 * Every cycle of every unit in a job is one of: busy, fill, drain, a cause
 * (causes.def), idle; they sum to the job's cycles.  Work spans come from the models; a
 * gap before a span is charged, whole, to the dependency that arrived last: a load splits
 * it into exposed latency, port, interconnect and bandwidth (what is left), a store is
 * `writeback`, the vector unit `vector`, a tile or a semaphore `sync`; before the first
 * span of a tile (or vector unit) and after its last it is `ramp`, and once the rest of
 * its core is done too `imbalance`.
 *
 * With values, requests also move and compute the operands' bits; see values.h.
 *
 * Units: core cycles, fs, bytes.  Ownership: the machine is borrowed.
 * Errors: TSR_SIM for deadlock, cycle limit, an end past 2^64 fs, interruption, an access
 * outside a buffer or the memory. */
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
  const char *unit;  /* static */
  int state;
  uint64_t start_cycles, duration_cycles, period_cycles, repeats;
};

/* One unit of the job's cores. */
struct tsr_unit_result {
  const char *name; /* `core0.tile0`, the machine's */
  enum tsr_isa_unit kind;
  uint64_t cycles[TSR_STATE_COUNT];
};

/* A piece of hardware that many use (a link, a slice, a channel) or that conflicts are
 * counted for (a bank). */
struct tsr_resource_result {
  const char *instance; /* the machine's */
  char name[32];
  uint64_t bytes, busy_cycles, wait_cycles;
};

/* A counter of a memory over the run. */
struct tsr_counter_result {
  const char *instance, *name;
  uint64_t value;
};
/* Bytes that a memory moved in a stretch of the run. */
struct tsr_moved_result {
  const char *instance;
  uint64_t start_cycles, cycles, bytes;
};

struct tsr_layer_result {
  uint64_t start_cycles, cycles, events;
  size_t n_units;
  const struct tsr_unit_result *units; /* those that worked or waited; borrowed */
  size_t pacing;                       /* of units: the tile (or vector unit) that ended last */
  uint64_t folds, active_cycles, slots, slots_used, macs, conflict_cycles;
  uint64_t vector_ops, vector_elements, vector_cycles;
  uint64_t dram_read_bytes, dram_write_bytes, sram_read_bytes, sram_write_bytes;
  uint64_t transfers, useful_bytes, dma_bytes; /* dma: in whole bursts, wherever they went */
  size_t n_segments;
  const struct tsr_segment *segments; /* borrowed */
};

struct tsr_job {
  const char *name;
  uint32_t first_core, n_cores;
  const struct tsr_program *const *program; /* of each core */
  size_t n_after;
  const size_t *after; /* jobs before it in the list */
};

/* Called at the simulated instants; a status other than TSR_OK ends the run with it.
 * The result is borrowed for the call. */
struct tsr_job_hooks {
  void *arg;
  enum tsr_status (*begin)(void *arg, size_t job, struct tsr_err *err); /* may be NULL */
  enum tsr_status (*end)(void *arg, size_t job, const struct tsr_layer_result *r,
                         struct tsr_err *err);
};

struct tsr_values;
struct tsr_engine_options {
  bool trace;           /* collect segments */
  const char *vcd_path; /* unit states as a VCD (0 idle, 1 working, 2 waiting); NULL: none */
  struct tsr_values *values; /* bits move too (borrowed); NULL: timing alone */
  uint64_t seed;             /* of what is drawn where there are no values: indices */
};

/* An index below `below` that stands at an address of memory where no values say which: all
 * are equally likely.  Who puts indices into the image takes them from here too, so that
 * they are the same with values and without. */
uint64_t tsr_engine_index(uint64_t seed, uint64_t address, uint64_t below);

struct tsr_engine;
enum tsr_status tsr_engine_create(const struct tsr_machine *m,
                                  const struct tsr_engine_options *o, struct tsr_engine **out,
                                  struct tsr_err *err);
void tsr_engine_destroy(struct tsr_engine *e);

/* Runs checked programs from the present cycle until all jobs are done. */
enum tsr_status tsr_engine_run(struct tsr_engine *e, const struct tsr_job *jobs, size_t n,
                               const struct tsr_job_hooks *hooks, struct tsr_err *err);

/* What happened so far at everything that many use; *out is borrowed from the engine until
 * the next call.  Those never used are left out. */
size_t tsr_engine_resources(struct tsr_engine *e, const struct tsr_resource_result **out);
/* What the memories counted so far, and when they moved bytes: calls `fn` for each in order.
 * Stops at the first failure. */
enum tsr_status tsr_engine_counters(const struct tsr_engine *e,
                                    enum tsr_status (*fn)(void *arg,
                                                          const struct tsr_counter_result *r),
                                    void *arg);
enum tsr_status
tsr_engine_moved(const struct tsr_engine *e,
                 enum tsr_status (*fn)(void *arg, const struct tsr_moved_result *r), void *arg);
/* Agenda events so far, of all jobs; of those, how many were run and not accounted for
 * at once (forward.h). */
uint64_t tsr_engine_events(const struct tsr_engine *e);
uint64_t tsr_engine_events_run(const struct tsr_engine *e);
/* Whether loops that repeat themselves are accounted for at once, values apart. */
bool tsr_engine_forwards(const struct tsr_machine *m);

/* Estimates without simulating: agenda events of a core's program, boxes and tiles
 * unclipped, bursts in full trains (two DMA engines that both wait for their windows take
 * shorter ones), and the cycles that the tile alone needs.  Saturate at UINT64_MAX. */
void tsr_engine_estimate(const struct tsr_machine *m, const struct tsr_program *p,
                         uint64_t *events, uint64_t *tile_cycles);

#endif
