/* The component interface: what a hardware model is to the rest.
 *
 * A component is one ops table (kind, parameters, counters, functions).  The
 * engine allocates its state, hands it a wiring (environment, counters, peers)
 * and drives it by requests; the model answers by calling back at simulated
 * instants.  Models do not see the instruction set, the program or the store.
 *
 * Roles.  A component fills one of three: a memory (DRAM, interconnect and last-level
 * buffer before it: serves bursts), a buffer (scratchpad: ports that tiles and DMA
 * engines share), a unit (executes requests from a queue: DMA engine, tile).
 *
 * Time is absolute, in fs (env->now_fs); cycles are of the core clock.
 * Ownership: parameters, wiring and requests are borrowed; a request must stay
 * valid until its ticket's `done`.
 * Errors: init returns a status; after that a model cannot fail, except that the
 * environment stops the run when an instant would pass 2^64 fs. */
#ifndef TSR_MODELS_MODEL_H
#define TSR_MODELS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/visit.h"
#include "sim/base/err.h"
#include "sim/config/param.h"

#define TSR_MODEL_ABI 1

/* ---- environment: what the engine gives to a model ---- */

typedef void tsr_model_fn(void *arg);

/* States a unit's cycle can be in; waiting is charged by the engine. */
enum tsr_span_state {
  TSR_SPAN_BUSY,     /* accepts work */
  TSR_SPAN_FILL,     /* pipeline fills, stationary operand loads */
  TSR_SPAN_DRAIN,    /* pipeline empties within a fold */
  TSR_SPAN_CONFLICT, /* work pending, scratchpad port not available */
  TSR_SPAN_N_
};

struct tsr_env {
  void *engine;
  uint64_t clock_hz; /* core clock */
  uint64_t (*now_fs)(void *engine);
  /* Runs fn(arg) at fs >= now; smaller priority first at one instant. */
  void (*at)(void *engine, uint64_t fs, int priority, tsr_model_fn *fn, void *arg);
  /* The instant of a core cycle; stops the run when past 2^64 fs. */
  uint64_t (*cycle_fs)(void *engine, uint64_t cycle);
  uint64_t (*fs_cycle)(void *engine, uint64_t fs); /* first cycle at or after fs */
  /* Unit `unit` was in `state` during [start, start + cycles).  Spans of a unit
   * come in order and do not overlap; what lies between is charged by the engine. */
  void (*span)(void *engine, void *unit, enum tsr_span_state state, uint64_t start_cycle,
               uint64_t cycles);
};

/* Priorities at one instant: data arrives before anything is started. */
enum { TSR_PRIO_MEMORY = 0, TSR_PRIO_DMA = 1, TSR_PRIO_TILE = 2, TSR_PRIO_ISSUE = 3 };

/* ---- counters ---- */

enum tsr_counter_kind { TSR_COUNTER_SUM, TSR_COUNTER_MAX };
struct tsr_counter {
  const char *name; /* with its unit as suffix; NULL ends a table */
  enum tsr_counter_kind kind;
  const char *doc;
};

/* ---- peers ---- */

struct tsr_component;
/* A component instance as others see it. */
struct tsr_instance {
  const struct tsr_component *ops;
  void *state;
  void *params;
  uint64_t *counters;
  const char *name; /* `core0.sram.a` */
  void *unit;       /* the engine's handle, for env->span; NULL for non-units */
  /* Of a memory: units with a request that is not accepted yet; the units keep it. */
  uint32_t users;
};

enum { TSR_PORTS_MAX = 5 };
struct tsr_wiring {
  const struct tsr_env *env;
  struct tsr_instance *self;
  struct tsr_instance *peer[TSR_PORTS_MAX]; /* by the order of ops->ports */
  uint32_t core;                            /* that the component belongs to */
  uint32_t cores;                           /* of the machine, at least 1 */
};

/* ---- requests ---- */

/* A box of a tensor in DRAM, up to four dimensions, slowest first.  Dimension i
 * has `size` elements `stride_bytes` apart; the box takes the elements
 * start + j*step, j < extent, that lie inside [0, size).  What lies outside is
 * padding: no traffic, zeros. */
struct tsr_box {
  uint64_t base_bytes; /* address of element (0, 0, …) */
  uint32_t rank, elem_bytes;
  uint64_t size[4], stride_bytes[4];
  int64_t start[4];
  uint64_t extent[4], step[4];
};

/* A window of addresses that is not the memory's: byte x of it is one that a core's scratchpad
 * a keeps from layer to layer, beside its buffers. */
#define TSR_ADDR_NEAR ((uint64_t)1 << 62)
/* A second name of the memory's own addresses: what is moved by it takes no place in a
 * last-level buffer. */
#define TSR_ADDR_PAST ((uint64_t)1 << 61)

struct tsr_xfer_req { /* DMA: box <-> scratchpad */
  struct tsr_box box;
  struct tsr_instance *buffer;
  /* Dimension 0 is taken at these places instead of start + j*step (gather, scatter);
   * box.extent[0] of them.  NULL: a box. */
  const uint64_t *index;
  uint64_t local_addr; /* in the buffer */
  /* A load for several cores at once: the buffers of the others and their number; they
   * take the same bytes at the same address. */
  struct tsr_instance *const *others;
  uint32_t n_others;
};

/* An operand in its scratchpad: element (i, j) at addr + i*i_bytes + j*j_bytes.  What a
 * convolution reads is not straight; then these are the strides of the innermost axes. */
struct tsr_buffer_view {
  struct tsr_instance *buffer;
  uint64_t addr;
  int64_t i_bytes, j_bytes;
};

enum tsr_mm_kind {
  TSR_MM_RUN,
  TSR_MM_PRELOAD /* loads the stationary operand of the next request's first fold */
};
struct tsr_mm_req { /* tile: c[m,n] (+)= a[m,k] * b[k,n], operands in scratchpads */
  enum tsr_mm_kind kind;
  uint64_t m, n, k, groups; /* clipped extents; `groups` independent products */
  /* What a convolution's m and k are made of: m of `lines` rows of results, k of k_lines rows
   * of the filter; 0: m of rows of one, k of one row.  Elements of a that a product reads. */
  uint64_t lines, k_lines, a_elems;
  bool first;  /* overwrites c: no partial sum is read */
  bool last;   /* the result is complete after this one */
  bool gated;  /* no result is written before the unit's `open` was called for it */
  bool sparse; /* b holds 2 of every 4 along k: half the products are executed */
  uint32_t a_bytes, b_bytes, acc_bytes, out_bytes; /* an element */
  uint32_t rate;                  /* products per array element and cycle, along k */
  struct tsr_buffer_view a, b, c; /* (m, k), (k, n), (m, n) */
};

/* Vector unit: d[rows, cols] = op(a[, b]).  A reduction has cols elements for each of its
 * rows results, a window op `window` elements for each of rows * cols results. */
struct tsr_vec_req {
  uint32_t op; /* row of models/arith/vector.def */
  uint64_t rows, cols, window;
  bool first;                         /* a reduction that does not read its result first */
  uint32_t d_bytes, a_bytes, b_bytes; /* an element; b_bytes 0: no second operand */
  uint64_t b_elems;                   /* of the second operand, which may be broadcast */
  struct tsr_buffer_view d, a, b;
};

struct tsr_req {
  union {
    struct tsr_xfer_req xfer;
    struct tsr_mm_req mm;
    struct tsr_vec_req vec;
  };
};

/* Why a request ended as late as it did: parts of its duration, for charging
 * the wait of whoever depends on it.  In core cycles. */
struct tsr_lateness {
  uint64_t latency_cycles;  /* exposed DRAM latency and window waits */
  uint64_t conflict_cycles; /* scratchpad port */
  uint64_t noc_cycles;      /* links of the interconnect, slices of the last-level buffer */
  /* The memory's data buses moved data; stood still for a row or bank, a refresh, another
   * direction.  All 0: the memory does not tell. */
  uint64_t data_cycles, bank_cycles, refresh_cycles, turn_cycles;
};

/* Requests of one unit that may be in flight at once. */
enum { TSR_TICKETS_MAX = 64 };

/* A request in flight.  The unit calls, at the simulated instants, in order:
 * accepted (it can take another request), consumed (operands were read for the
 * last time: their buffers are free), done (result is where it belongs). */
struct tsr_ticket {
  void (*accepted)(struct tsr_ticket *t);
  void (*consumed)(struct tsr_ticket *t);
  void (*done)(struct tsr_ticket *t);
  struct tsr_lateness late; /* filled before done */
};

/* Cheap figures of a request on an idle machine, for estimates and the analytic
 * model: they compose to bounds, not to the event result. */
struct tsr_estimate {
  uint64_t cycles; /* of the unit, memory ideal */
  uint64_t events; /* work of the simulator, in agenda events */
  uint64_t folds;
};

/* ---- role tables ---- */

/* A train of bursts of one size, in the order in which the memory sees them. */
enum { TSR_TRAIN_MAX = 32 };
struct tsr_train {
  uint32_t n;
  uint32_t burst_bytes;
  bool write;
  bool past;        /* takes no place in a last-level buffer */
  uint32_t core;    /* that asks */
  uint32_t n_cores; /* that take a read, from `core` on; 1 but for a multicast */
  uint64_t noc_fs;  /* out: time that the last burst waited for links and slices */
  uint64_t hold_fs; /* out: the part of it by which its start is later */
  uint64_t addr[TSR_TRAIN_MAX];
  uint64_t ready_fs[TSR_TRAIN_MAX]; /* in: not before this */
  uint64_t start_fs[TSR_TRAIN_MAX]; /* out: service began, less the way of the request */
  uint64_t end_fs[TSR_TRAIN_MAX];   /* out: the last byte arrived */
};

/* A server inside a memory (link, slice, channel) and what it has done so far. */
struct tsr_resource {
  char name[32]; /* `channel0`, `slice3`, `core3.up`, `x1y0.east` */
  uint64_t bytes;
  uint64_t busy_fs; /* bytes over its rate; 0 where that is unlimited */
  uint64_t wait_fs; /* sum over all that passed: from ready to start */
};

/* Who puts bursts in: told of each when it ended (a write: when it was taken), a batch in order
 * of time.  What it is told of may be yet to come, or past by no more than it takes to read. */
struct tsr_answer {
  uint64_t end_fs;
  uint32_t tag;
};
struct tsr_asker {
  void (*done)(void *arg, const struct tsr_answer *list, uint32_t n);
  void *arg;
  uint32_t bursts, burst_bytes; /* at most in flight, tags below that; size */
};

/* Bytes that a memory moved so far, in stretches of equal length from the first instant on. */
enum { TSR_HISTORY_MAX = 64 };
struct tsr_history {
  uint64_t fs; /* of a stretch */
  uint64_t bytes[TSR_HISTORY_MAX];
};

/* What the data buses of a memory did so far, in the mean over them. */
struct tsr_standstill {
  uint64_t data_fs;    /* moved data */
  uint64_t bank_fs;    /* stood still for rows and banks, or because others had it all to do */
  uint64_t refresh_fs; /* … for refreshes */
  uint64_t turn_fs;    /* … to turn from one direction to the other */
};

/* Memories stack: an interconnect and a last-level buffer are memories in front of the
 * DRAM and pass on what they do not hold. */
struct tsr_memory_ops {
  /* Serves a train.  Returns the time for which the memory stood idle between its
   * bursts, or since `from_fs`, because they were not ready. */
  uint64_t (*serve)(void *state, struct tsr_train *t, uint64_t from_fs);
  /* When the next burst could start at the earliest; one sent before has to wait. */
  uint64_t (*free_fs)(void *state);
  /* Unloaded time between the end of a burst's service and its last byte. */
  uint64_t (*pipe_fs)(void *state, uint64_t bytes);
  /* Facts of the parameters: peak B/s of a core (TSR_UNLIMITED: none), bytes, count, fs. */
  uint64_t (*bandwidth)(const void *params);
  uint64_t (*capacity)(const void *params);
  uint64_t (*channels)(const void *params);
  uint64_t (*latency_fs)(const void *params);
  /* Its servers, one by one; both NULL: it has none to tell of. */
  size_t (*resources)(const void *state);
  void (*resource)(const void *state, size_t i, struct tsr_resource *out);
  /* Bytes of consecutive addresses in one channel, after which the next one follows;
   * NULL: the address does not choose the channel. */
  uint64_t (*interleave)(const void *params);
  /* Optional, all or none: in place of `serve`, with answers later, so that what comes in
   * until then may be served first.  `join`: before the run, once by who submits; *id is its
   * name.  `submit`: burst i of the train is known by tag[i]. */
  enum tsr_status (*join)(void *state, const struct tsr_asker *who, uint32_t *id,
                          struct tsr_err *err);
  void (*submit)(void *state, uint32_t id, const struct tsr_train *t, const uint32_t *tag);
  void (*stood)(void *state, struct tsr_standstill *out);
  /* Optional: when it moved what. */
  void (*history)(const void *state, struct tsr_history *out);
  /* Optional: bytes that it holds of the memory behind it. */
  uint64_t (*held_bytes)(const void *params);
  /* Optional: of the first i + 1 cores, i < cores, when each moves alike, in bursts, from (to)
   * all `slices`: how many times what one moves passes the busiest link of reads (writes),
   * reads[i] (writes[i]).  Returns the unloaded time of a middling way there and back, in fs;
   * negative: out of memory. */
  double (*crowd)(const void *params, uint64_t cores, uint64_t slices, uint64_t burst_bytes,
                  double *reads, double *writes);
  /* Optional: bytes that a core's trains have read (write: written) so far, a write-back
   * being of the core that made room by it.  Over the cores they sum to the counters. */
  uint64_t (*core_bytes)(const void *state, uint32_t core, bool write);
};

#define TSR_PHASE_LATER UINT64_MAX

/* Where the accesses of a phase fall: in cycle j, lane i touches elem_bytes at
 * addr + i*lane_bytes + j*step_bytes. */
struct tsr_pattern {
  uint64_t addr;
  int64_t lane_bytes, step_bytes;
  uint64_t lanes, steps;
  uint32_t elem_bytes;
};

struct tsr_buffer_ops {
  /* The DMA side moves n units of `bytes` (write: into the buffer); unit i is ready at
   * time_fs[i], which becomes when the port has taken it.  Returns how much time the
   * tile's use of the port cost. */
  uint64_t (*dma)(void *state, uint64_t bytes, bool write, uint32_t n, uint64_t *time_fs);
  /* The tile side moves `read` and `write` bytes over a phase of `cycles` from
   * `start_cycle`; returns the cycles that the phase takes (>= cycles).  The tile
   * goes before the DMA side.  TSR_PHASE_LATER: it is not yet known when; `occupy`
   * tells, with the same bytes and the cycles returned.  `pattern`: where the accesses
   * fall, for the banks; NULL: evenly. */
  uint64_t (*tile)(void *state, uint64_t start_cycle, uint64_t cycles, uint64_t read,
                   uint64_t write, const struct tsr_pattern *pattern);
  void (*occupy)(void *state, uint64_t start_cycle, uint64_t cycles, uint64_t read,
                 uint64_t write);
  /* Facts of the parameters. */
  uint64_t (*slot_bytes)(const void *params);      /* capacity of one of its buffers */
  uint64_t (*slots)(const void *params);           /* how many buffers it is cut into */
  uint64_t (*bytes_per_cycle)(const void *params); /* one direction; TSR_UNLIMITED */
  /* Optional, both or neither: how many banks there are, and the cycles after the first
   * that a bank needed for a step of a phase. */
  uint64_t (*banks)(const void *params);
  uint64_t (*bank_conflicts)(const void *state, uint64_t bank);
};

/* Fields that do not concern a unit are zero. */
struct tsr_unit_facts {
  uint64_t rows, cols, depth;        /* tile: of the array, or m, n, k of a dot product unit;
                                        rows * cols * depth multiply-accumulates a cycle */
  const char *dataflow;              /* tile: os, ws, is, dot (static) */
  uint64_t latency_cycles;           /* dot: of its pipeline */
  uint64_t lanes;                    /* vector unit */
  bool preload;                      /* tile: a stationary operand loads behind the stream */
  uint64_t outstanding, burst_bytes; /* DMA */
};

struct tsr_unit_ops {
  /* Starts a request; only after the previous ticket's `accepted`. */
  void (*start)(void *state, const struct tsr_req *req, struct tsr_ticket *t);
  /* The buffer of the results of the oldest gated request not opened yet is free.
   * NULL: the unit knows no gates. */
  void (*open)(void *state);
  /* The layer is over: report what was kept back (a last drain). */
  void (*end)(void *state);
  void (*estimate)(const void *params, const struct tsr_req *req, struct tsr_estimate *out);
  /* What a mapping needs to know of the unit. */
  void (*facts)(const void *params, struct tsr_unit_facts *out);
};

struct tsr_port {
  const char *name; /* NULL ends */
  const char *kind; /* prefix of the peer's kind, or several: `sram`, `dram|noc|llb` */
};

struct tsr_component {
  uint32_t abi;     /* TSR_MODEL_ABI */
  const char *kind; /* `tile.systolic` */
  const char *doc;
  size_t state_size, params_size;
  const struct tsr_param *params;
  /* Optional: sets all parameters to what those name that were given; `given` tells which,
   * by row.  NULL, or the key (static) whose value names nothing. */
  const char *(*derive)(void *params, const bool *given);
  const struct tsr_counter *counters; /* may be NULL */
  const struct tsr_port *ports;       /* may be NULL */
  /* Once, before the run; state is zero-filled. */
  enum tsr_status (*init)(void *state, const void *params, const struct tsr_wiring *w,
                          struct tsr_err *err);
  void (*fini)(void *state); /* may be NULL */
  /* Everything that it does depends on (models/visit.h), counters of kind SUM apart; NULL: its
   * state never repeats. */
  void (*visit)(void *state, struct tsr_visit *v);
  /* Nothing is in flight, and nobody asks about what was: what comes meets it as it was built,
   * sums apart; may be NULL. */
  void (*rest)(void *state);
  /* One of these, by role. */
  const struct tsr_memory_ops *memory;
  const struct tsr_buffer_ops *buffer;
  const struct tsr_unit_ops *unit;
};

#endif
