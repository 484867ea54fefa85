/* The parts of the engine: issue (instructions to requests), units (queues, semaphores,
 * barriers), accounts (where each cycle went), values (bits that move with requests). */
#ifndef TSR_SIM_ENGINE_ENGINE_INT_H
#define TSR_SIM_ENGINE_ENGINE_INT_H

#include "sim/engine/agenda.h"
#include "sim/engine/engine.h"

enum { TSRI_QUEUE = 64, TSRI_SIGNALS = 8 };

struct tsri_core;
struct tsri_unit;
struct tsri_running;
struct tsri_forward;
struct tsri_recalled;

/* ---- accounts ---- */

/* Who was late: what a semaphore's last signal came from. */
struct tsri_late {
  enum {
    TSRI_LATE_NONE,
    TSRI_LATE_LOAD,
    TSRI_LATE_STORE,
    TSRI_LATE_TILE,
    TSRI_LATE_VECTOR
  } from;
  struct tsr_lateness parts;
};

struct tsri_account {
  uint64_t upto;         /* cycles before this are charged */
  bool worked;           /* a span has come in this job */
  bool waited;           /* a wait has blocked since the last span */
  uint64_t work_end;     /* cycle after the last span */
  struct tsri_late late; /* of the wait that blocked last */
  uint64_t cycles[TSR_STATE_COUNT];
  size_t open[TSR_STATE_COUNT]; /* index + 1 of the growing segment of a state */
};

struct tsri_segments { /* of a job */
  bool failed;
  struct tsr_segment *list; /* owned */
  size_t n, cap;
};

/* One component instance of a unit: a tile of several, or the only one. */
struct tsri_lane {
  struct tsri_unit *unit;
  struct tsr_instance *inst;
  struct tsri_account account;
  uint64_t vcd_state;
};

void tsri_account_open(struct tsri_account *a, uint64_t cycle);
void tsri_account_span(struct tsri_lane *lane, int state, uint64_t start, uint64_t cycles);
/* A segment as the trace has it: charged already. */
void tsri_account_record(struct tsri_lane *lane, int state, uint64_t start, uint64_t cycles);
/* `core_done`: when the whole core was; from then on the unit waited for other cores.
 * `moves_only`: no unit of the job computed, so that a tile waited for moves all the time. */
void tsri_account_close(struct tsri_lane *lane, uint64_t core_done, uint64_t cycle,
                        bool moves_only);

/* ---- issue ---- */

/* An operand in a scratchpad: the clipped box of a tensor at an address. */
struct tsri_operand {
  int buf;       /* enum tsr_isa_buf */
  int fmt;       /* name of the place's format; -1 - register: not described */
  uint32_t elem; /* bytes */
  uint64_t addr, bytes;
  struct tsr_box box;           /* of the tensor, at the present loops */
  uint64_t first[TSR_ISA_DIMS]; /* coordinate of its first element inside the tensor … */
  uint64_t count[TSR_ISA_DIMS]; /* … and how many, step apart */
  uint64_t feed[TSR_ISA_DIMS][TSR_AXIS_COUNT + 1]; /* delta by dimension and axis */
};

/* The indices of a gather or scatter: a list of integers in a scratchpad, read when the
 * request starts.  Without values they are what tsr_engine_index makes of the addresses in
 * memory that the list was loaded from. */
struct tsri_list {
  uint64_t n;                   /* 0: the request has none */
  uint64_t memory, memory_elem; /* of the first in memory, bytes from one to the next */
  uint64_t below;               /* elements of dimension 0 */
};

/* What the values of a request need beyond its timing. */
struct tsri_data {
  struct tsri_list list;               /* its place is a */
  struct tsri_operand a, b, c;         /* a load or store: its place is c */
  struct tsri_operand meta;            /* of a sparse b: which products it keeps */
  int tensor_fmt;                      /* likewise, of the DRAM side */
  uint32_t shift;                      /* powers of two by which a transfer divides */
  uint64_t extent[TSR_AXIS_COUNT + 1]; /* the last is 1: no axis */
  struct tsr_inst inst;
};

struct tsri_op { /* one entry of a unit's queue */
  enum { TSRI_OP_WAIT, TSRI_OP_SIGNAL, TSRI_OP_BARRIER, TSRI_OP_REQ } kind;
  int sem, when, to;
  uint32_t n;
  size_t pc;
  uint64_t signature; /* of the request (forward.h) */
  struct tsr_req req;
  struct tsri_list list;
  struct tsri_data *data; /* owned, with values only */
};

struct tsri_tensor {
  struct tsr_box box; /* start[] as given by `start` */
  int fmt;
  int64_t walk[TSR_ISA_DIMS][TSR_ISA_LOOPS];
  uint64_t feed[TSR_ISA_DIMS][TSR_AXIS_COUNT + 1];
};
struct tsri_place {
  int buf, fmt;
  uint32_t elem;
  uint64_t base, wrap, advance[TSR_ISA_LOOPS];
};
struct tsri_axis {
  int loop;
  uint64_t size, tile;
};
struct tsri_loop {
  uint64_t index, trips;
  size_t body; /* pc after the loop instruction */
};

/* What a load brought to a scratchpad: where in memory it begins. */
struct tsri_loaded {
  int buf;
  uint32_t elem, memory_elem;
  uint64_t addr, bytes, memory;
};
enum { TSRI_LOADED = 16 };

/* The instruction stream's state. */
struct tsri_issue {
  const struct tsr_program *p;
  struct tsr_instance *buffer[TSR_ISA_BUFS]; /* requests name them; NULL: an estimate */
  uint64_t buffer_bytes[TSR_ISA_BUFS];
  /* The same of the program's other cores, for loads to all; its first core alone has them. */
  struct tsr_instance *const *others[TSR_ISA_BUFS];
  uint32_t n_others;
  uint64_t buffer_from[TSR_ISA_BUFS]; /* where it begins in its memory */
  uint64_t memory_bytes;              /* of the DRAM */
  size_t pc;
  bool halted;
  uint64_t idle;                    /* instructions since the last request */
  int format_name[TSR_ISA_FORMATS]; /* of the program's names, -1: none */
  struct tsri_tensor tensor[TSR_ISA_TENSORS];
  struct tsri_place place[TSR_ISA_PLACES];
  struct tsri_axis axis[TSR_AXIS_COUNT];
  struct tsri_loop loop[TSR_ISA_LOOPS];
  uint32_t sem_init[TSR_ISA_SEMS];
  struct tsri_loaded loaded[TSRI_LOADED]; /* a ring of the latest loads */
  uint64_t n_loaded;
  uint32_t looped;    /* set of loops gone back in; the reader clears it */
  uint64_t described; /* instructions that described something */
};

/* What a request touches that is not there. */
struct tsri_fault {
  const char *what; /* static; NULL: none */
  uint64_t from, to, limit;
  int buf; /* or one of the following, of which the latter two touch nothing */
};
enum { TSRI_FAULT_DRAM = -1, TSRI_FAULT_WORK = -2, TSRI_FAULT_IDLE = -3 };
/* Instructions between two requests of a core: a loop without requests takes no simulated
 * time and would never end. */
enum { TSRI_IDLE_MAX = 1 << 24 };
/* Elements that one instruction may multiply or combine: far beyond any scratchpad, and
 * sums of bytes and cycles stay within 64 bits. */
#define TSRI_WORK_MAX ((uint64_t)1 << 48)

void tsri_issue_start(struct tsri_issue *is, const struct tsr_program *p,
                      struct tsr_instance *const *buffers, const uint64_t *bytes);
/* Where the memory ends that a tensor at `base` lies in: the DRAM, or scratchpad a. */
uint64_t tsri_issue_memory_end(const struct tsri_issue *is, uint64_t base);
/* Takes in a description of a tensor, place, axis or format; anything else is ignored. */
void tsri_issue_describe(struct tsri_issue *is, const struct tsr_inst *in);
/* The next queue entry and its unit; false when the program has halted.  Runs
 * descriptions and loops on the way; `sem` instructions set semaphores through
 * sem_init, which the caller reads when *unit is -1.  `data` (may be NULL): filled for a
 * request. */
bool tsri_issue_next(struct tsri_issue *is, struct tsri_op *op, struct tsri_data *data,
                     int *unit, struct tsri_fault *fault);
/* The request of an instruction at the present loop indices. */
void tsri_issue_request(const struct tsri_issue *is, const struct tsr_inst *in,
                        struct tsr_req *out, struct tsri_data *data, struct tsri_fault *fault);
/* Where a place is at the present loop indices. */
uint64_t tsri_issue_address(const struct tsri_issue *is, int place);
/* The unit that executes an instruction, -1: none. */
int tsri_issue_unit(uint8_t op);

/* ---- units ---- */

/* A request at one instance. */
struct tsri_part {
  struct tsr_ticket ticket; /* first, so that a ticket is its part */
  struct tsr_req req;
  struct tsri_flight *flight;
};

struct tsri_flight {
  struct tsri_unit *unit;
  bool used, consumed, done;
  unsigned left_accepted, left_consumed, left_done; /* parts */
  struct tsr_lateness late;                         /* the worst of its parts */
  bool gated;                     /* a gate before its results is closed yet … */
  struct tsri_flight *next_gated; /* … and before those of this one */
  bool is_ahead;                  /* its results are known and wait for that gate … */
  uint8_t *ahead;                 /* … as codes, group by group; owned */
  size_t cap_ahead;
  size_t pc;
  uint64_t signature;
  struct tsri_data *data; /* owned */
  uint64_t *index;        /* owned; of a gather or scatter */
  size_t cap_index;
  int n_signals;
  struct {
    int sem, when, to;
  } signal[TSRI_SIGNALS];
  struct tsri_part *part; /* one a lane, owned */
};

struct tsri_unit {
  struct tsri_core *core;
  int id;
  unsigned n_lanes;
  struct tsri_lane *lane;
  struct tsri_op queue[TSRI_QUEUE];
  unsigned head, count;
  bool ready; /* may start a request */
  bool dirty; /* on the list of units to step */
  bool blocked;
  int blocked_sem; /* -1: a barrier */
  uint32_t blocked_n;
  uint64_t blocked_cycle;
  uint64_t barrier; /* barriers passed in this job */
  bool arrived;     /* at the next one */
  int gate_sem;     /* of the next request's result, -1: none */
  uint32_t gate_n;
  int closed_sem; /* what the closed gates wait for */
  uint32_t closed_n;
  unsigned closed;       /* requests started whose gate is closed … */
  uint64_t closed_cycle; /* … the first of them since */
  struct tsri_flight flight[TSR_TICKETS_MAX];
  unsigned in_flight;
  struct tsri_flight *gate_ring[TSR_TICKETS_MAX]; /* of closed gates: who waits, oldest first */
  bool holds_sums; /* a tile that keeps partial sums inside between requests */
  unsigned gate_head;
  struct tsri_flight *last; /* the request started last, or NULL */
};

struct tsri_sem {
  uint64_t value;
  struct tsri_late late; /* of the last signal */
};

struct tsri_core {
  struct tsr_engine *e;
  uint32_t id;
  struct tsri_running *job; /* NULL: idle */
  bool dirty, done, reserved;
  uint64_t done_cycle;
  struct tsri_issue issue;
  struct tsri_op pending;         /* an entry whose queue is full */
  int pending_unit;               /* -1: none */
  uint64_t issued[TSR_ISA_UNITS]; /* entries so far, by unit */
  uint64_t drop[TSR_ISA_UNITS];   /* entries to come that were executed already (forward.h) */
  struct tsri_unit unit[TSR_ISA_UNITS];
  struct tsri_sem sem[TSR_ISA_SEMS];
};

/* Entries of a unit that it has executed. */
static inline uint64_t tsri_core_executed(const struct tsri_core *c, int unit) {
  return c->issued[unit] - c->unit[unit].count;
}

/* A job of the list that tsr_engine_run was given. */
struct tsri_running {
  struct tsr_engine *engine;
  const struct tsr_job *job;
  enum { TSRI_JOB_WAITS, TSRI_JOB_RUNS, TSRI_JOB_OVER } state;
  size_t left_after; /* jobs before it that are not over */
  uint32_t cores_done;
  const struct tsri_recalled *recalled; /* an equal one before it, NULL: none (forward.h) */
  uint64_t start_cycle, start_events, dram_mark[2]; /* bytes read and written before */
  struct tsri_segments segments;
  struct tsr_instance **others;    /* owned; buffers a of all cores but the first, then b, c */
  uint64_t barrier[TSR_ISA_UNITS]; /* generations */
  uint32_t arrived[TSR_ISA_UNITS];
};

struct tsr_engine {
  const struct tsr_machine *machine;
  struct tsr_values *values;
  uint64_t seed;
  struct tsr_sc_sim *sim;
  struct tsr_agenda *agenda;
  struct tsr_env env;
  struct tsr_instance *inst; /* by slot */
  bool *inited;
  struct tsri_core *core;
  uint32_t *dirty; /* ring of cores to step, one entry each at most */
  uint32_t dirty_head, dirty_count;
  bool progressing, trace;
  struct tsri_forward *forward; /* owned; NULL: every event is run */
  /* the present list of jobs */
  const struct tsr_job_hooks *hooks;
  struct tsri_running *job;
  size_t n_jobs, jobs_over;
  struct tsr_unit_result *unit_results;
  struct tsr_resource_result *resource_results;
  size_t n_resources;
  struct tsr_err *err;     /* of the run */
  enum tsr_status failure; /* of a hook or a request */
  enum {
    TSRI_STOP_NONE,
    TSRI_STOP_CYCLES,
    TSRI_STOP_EVENTS,
    TSRI_STOP_TIME,
    TSRI_STOP_INTERRUPT,
    TSRI_STOP_FAILURE
  } stop;
};

/* Stops the run at once with a status whose message stands in e->err. */
void tsri_engine_fail(struct tsr_engine *e, enum tsr_status st);
/* The core has done its program: the job may be over. */
void tsri_engine_core_done(struct tsri_core *c);
/* Puts a core on the ring of those to step. */
void tsri_engine_touch(struct tsri_core *c);
/* The name of the job that a core is at (static while it runs). */
const char *tsri_engine_job_name(const struct tsri_core *c);
uint64_t tsri_engine_cycle(const struct tsr_engine *e);

/* Steps units and issues until nothing more can happen at this instant. */
void tsri_units_progress(struct tsr_engine *e);
void tsri_units_reset(struct tsri_core *c, uint64_t cycle);
/* Appends who of a core waits for what, since when, and the queues' fills. */
void tsri_units_explain(const struct tsri_core *c, struct tsr_str *out);

/* Resources that there are (resource.c). */
size_t tsri_resources_count(const struct tsr_engine *e);

/* ---- values (values.c) ---- */

/* A core starts a program: what its scratchpads hold counts as never written. */
void tsri_values_start(struct tsr_values *v, uint32_t core);
/* A request begins: its operands must be free, its sources written.  TSR_SIM with a
 * message that names the instruction. */
enum tsr_status tsri_values_begin(struct tsri_flight *f, struct tsr_err *err);
/* Its closed gate opens: it begins to write. */
enum tsr_status tsri_values_open(struct tsri_flight *f, struct tsr_err *err);
/* Its operands were read for the last time: what it computes is computed. */
enum tsr_status tsri_values_consumed(struct tsri_flight *f, struct tsr_err *err);
enum tsr_status tsri_values_done(struct tsri_flight *f, struct tsr_err *err);
/* The indices of a gather or scatter that starts, from the scratchpad. */
enum tsr_status tsri_values_index(struct tsri_flight *f, struct tsr_err *err);

#endif
