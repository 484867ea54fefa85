/* The parts of the engine: issue (instructions to requests), units (queues,
 * semaphores), accounts (where each cycle went). */
#ifndef TSR_SIM_ENGINE_ENGINE_INT_H
#define TSR_SIM_ENGINE_ENGINE_INT_H

#include "sim/engine/agenda.h"
#include "sim/engine/engine.h"

enum { TSRI_QUEUE = 64, TSRI_SIGNALS = 4 };

/* ---- accounts ---- */

/* Who was late: what a semaphore's last signal came from. */
struct tsri_late {
  enum { TSRI_LATE_NONE, TSRI_LATE_LOAD, TSRI_LATE_STORE, TSRI_LATE_TILE } from;
  struct tsr_lateness parts;
};

struct tsri_account {
  uint64_t upto;         /* cycles before this are charged */
  bool worked;           /* a span has come in this layer */
  bool waited;           /* a wait has blocked since the last span */
  struct tsri_late late; /* of the wait that blocked last */
  uint64_t cycles[TSR_STATE_COUNT];
};

struct tsri_segments {
  bool on, failed;
  struct tsr_segment *list;
  size_t n, cap;
  size_t open[TSR_ISA_UNITS][TSR_STATE_COUNT]; /* index + 1 of the growing segment */
};

void tsri_account_open(struct tsri_account *a, uint64_t cycle);
void tsri_account_span(struct tsri_account *a, int unit, int state, uint64_t start,
                       uint64_t cycles, struct tsri_segments *seg);
void tsri_account_close(struct tsri_account *a, int unit, uint64_t cycle,
                        struct tsri_segments *seg);

/* ---- issue ---- */

struct tsri_op { /* one entry of a unit's queue */
  enum { TSRI_OP_WAIT, TSRI_OP_SIGNAL, TSRI_OP_REQ } kind;
  int sem, when;
  struct tsr_req req;
};

struct tsri_tensor {
  struct tsr_box box; /* start[] as given by `start` */
  int64_t walk[TSR_ISA_DIMS][TSR_ISA_LOOPS];
};
struct tsri_axis {
  int loop;
  uint64_t size, tile;
};
struct tsri_loop {
  uint64_t index, trips;
  size_t body; /* pc after the loop instruction */
};

/* The instruction stream's state. */
struct tsri_issue {
  const struct tsr_program *p;
  struct tsr_instance *buffers; /* a, b, c; requests name them */
  size_t pc;
  bool halted;
  struct tsri_tensor tensor[TSR_ISA_TENSORS];
  struct tsri_axis axis[TSR_AXIS_COUNT];
  struct tsri_loop loop[TSR_ISA_LOOPS];
  uint32_t sem_init[TSR_ISA_SEMS];
};

void tsri_issue_start(struct tsri_issue *is, const struct tsr_program *p,
                      struct tsr_instance *buffers);
/* Takes in a description of a tensor or an axis; anything else is ignored. */
void tsri_issue_describe(struct tsri_issue *is, const struct tsr_inst *in);
/* The next queue entry and its unit; false when the program has halted.  Runs
 * descriptions and loops on the way; `sem` instructions set semaphores through
 * sem_init, which the caller reads when *unit is -1. */
bool tsri_issue_next(struct tsri_issue *is, struct tsri_op *op, int *unit);
/* The request of a load, store or mm at the present loop indices. */
void tsri_issue_request(const struct tsri_issue *is, const struct tsr_inst *in,
                        struct tsr_req *out);

/* ---- units ---- */

struct tsri_flight {
  struct tsr_ticket ticket; /* first, so that a ticket is its flight */
  struct tsr_req req;
  struct tsri_unit *unit;
  bool used, consumed, done;
  int n_signals;
  struct {
    int sem, when;
  } signal[TSRI_SIGNALS];
};

struct tsri_unit {
  struct tsr_engine *e;
  int id;
  struct tsr_instance *inst;
  struct tsri_op queue[TSRI_QUEUE];
  unsigned head, count;
  bool ready; /* may start a request */
  bool dirty; /* on the list of units to step */
  bool blocked;
  int blocked_sem;
  uint64_t blocked_cycle;
  int gate_sem;          /* of the next request's result, -1: none */
  int closed_sem;        /* what the closed gates wait for */
  unsigned closed;       /* requests started whose gate is closed … */
  uint64_t closed_cycle; /* … the first of them since */
  struct tsri_flight flight[TSR_TICKETS_MAX];
  unsigned in_flight;
  struct tsri_flight *last; /* the request started last, or NULL */
  struct tsri_account account;
  uint64_t vcd_state;
};

struct tsri_sem {
  uint64_t value;
  struct tsri_late late; /* of the last signal */
};

struct tsr_engine {
  const struct tsr_machine *machine;
  struct tsr_sc_sim *sim;
  struct tsr_agenda *agenda;
  struct tsr_env env;
  struct tsr_instance inst[TSR_SLOT_COUNT];
  bool inited[TSR_SLOT_COUNT];
  struct tsri_issue issue;
  struct tsri_op pending; /* an entry whose queue is full */
  int pending_unit;       /* -1: none */
  struct tsri_unit unit[TSR_ISA_UNITS];
  struct tsri_sem sem[TSR_ISA_SEMS];
  struct tsri_segments segments;
  uint64_t start_cycle;
  enum {
    TSRI_STOP_NONE,
    TSRI_STOP_CYCLES,
    TSRI_STOP_EVENTS,
    TSRI_STOP_TIME,
    TSRI_STOP_INTERRUPT
  } stop;
};

/* Steps units and issues until nothing more can happen at this instant. */
void tsri_units_progress(struct tsr_engine *e);
bool tsri_units_done(const struct tsr_engine *e);
void tsri_units_reset(struct tsr_engine *e);
/* Appends who waits for what, since when, and the queues' fills. */
void tsri_units_explain(const struct tsr_engine *e, struct tsr_str *out);

#endif
