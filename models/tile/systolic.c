/* tile.systolic: an array of rows x cols multiply-accumulate elements.
 *
 * A request is a matmul of operands in scratchpads; the tile cuts it into folds
 * (what the array holds at once), columns outer, rows inner, and runs one event
 * a fold.  What a dataflow is stands in one table (SRC:scalesim, formulas checked
 * against that tool's results; a fold is not shortened at the edges):
 *   T products stream through, stationary operands take S = rows cycles to load,
 *   the skew of the array adds rows + cols - 2 to fill and drain:
 *     os  rows: m, cols: n, stream: k   S = 0      P = T + rows + cols - 2
 *     ws  rows: k, cols: n, stream: m   S = rows   P = S + T + rows + cols - 2
 *     is  rows: k, cols: m, stream: n   S = rows   P = S + T + rows + cols - 2
 * Without weight_preload folds follow each other: F folds take F * P.  With it
 * (ws, is) the next stationary operand loads while this fold streams: a fold
 * starts max(T, S) after the one before, the first pays S, the last the skew.
 *
 * os results are captured in a shadow register when a fold's last element
 * finishes, and leave over `rows` cycles.  `drain: overlap` lets the next fold
 * run meanwhile, so that only the layer's last drain shows (after the compute
 * cycles); `drain: serial` adds it to every fold.  ws and is results leave as
 * they come and are accumulated in scratchpad c.
 *
 * A request may be gated: the buffer of its results is still being emptied.  It
 * starts all the same; the array stands still from the cycle in which the first
 * result would be written (os: after the first fold; ws, is: `rows` cycles into the
 * first stream) until `open`.
 *
 * A scratchpad whose port is too slow lengthens the phase it feeds. */
#include "models/models_int.h"

enum dataflow { OS, WS, IS };
enum drain { OVERLAP, SERIAL };
enum { DIM_M, DIM_N, DIM_K };
enum { BUF_A, BUF_B, BUF_C };

static const char *const dataflow_names[] = {"os", "ws", "is", NULL};
static const char *const drain_names[] = {"overlap", "serial", NULL};

struct flow {
  int rows, cols, stream; /* DIM_*: what lies along the array, what streams */
  bool stationary;        /* an operand is loaded before the stream */
  int held, streamed;     /* BUF_*: the operand that is held, the one that streams */
};
static const struct flow flows[] = {
    [OS] = {DIM_M, DIM_N, DIM_K, false, -1, BUF_A},
    [WS] = {DIM_K, DIM_N, DIM_M, true, BUF_B, BUF_A},
    [IS] = {DIM_K, DIM_M, DIM_N, true, BUF_A, BUF_B},
};

struct params {
  uint64_t rows, cols;
  int dataflow, drain;
  bool preload;
};

static const struct tsr_param params[] = {
    {.key = "rows",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = 65536,
     .offset = offsetof(struct params, rows),
     .uncertainty = "exact",
     .doc = "rows of the array",
     .src = "SRC:assumed"},
    {.key = "cols",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = 65536,
     .offset = offsetof(struct params, cols),
     .uncertainty = "exact",
     .doc = "columns of the array",
     .src = "SRC:assumed"},
    {.key = "dataflow",
     .type = TSR_PARAM_ENUM,
     .names = dataflow_names,
     .def = "ws",
     .offset = offsetof(struct params, dataflow),
     .uncertainty = "exact",
     .doc = "which operand stays in the array: outputs, weights, inputs",
     .src = "SRC:assumed"},
    {.key = "weight_preload",
     .type = TSR_PARAM_BOOL,
     .def = "true",
     .offset = offsetof(struct params, preload),
     .uncertainty = "exact",
     .doc = "load the next stationary operand while this fold streams (ws, is)",
     .src = "SRC:assumed"},
    {.key = "drain",
     .type = TSR_PARAM_ENUM,
     .names = drain_names,
     .def = "overlap",
     .offset = offsetof(struct params, drain),
     .uncertainty = "exact",
     .doc = "whether os results leave during the next fold or before it",
     .src = "SRC:assumed"},
    {.key = NULL}};

enum { FOLDS, ACTIVE_CYCLES, SLOTS, SLOTS_USED, MACS, CONFLICTS };
static const struct tsr_counter counters[] = {
    {"folds", TSR_COUNTER_SUM, "folds run"},
    {"active_cycles", TSR_COUNTER_SUM, "cycles in which the array accepts work"},
    {"slots", TSR_COUNTER_SUM, "array elements times folds"},
    {"slots_used", TSR_COUNTER_SUM, "of those, elements that hold work"},
    {"macs", TSR_COUNTER_SUM, "useful multiply-accumulates"},
    {"conflict_cycles", TSR_COUNTER_SUM, "cycles by which scratchpad ports lengthened folds"},
    {NULL, TSR_COUNTER_SUM, NULL}};

struct fold {                  /* clipped extents of the present fold */
  uint64_t rows, cols, stream; /* elements along each axis */
  uint64_t T;                  /* cycles of the stream */
  bool first_k, last_k;        /* no partial sum comes in; the sum is complete */
};

/* The present fold's schedule, in cycles; spans are reported when it is settled. */
struct plan {
  struct fold f;
  uint32_t acc_bytes;
  uint64_t start; /* of the stationary operand's load, or of the stream */
  uint64_t S, S0; /* its load with and without the port's delay */
  uint64_t T, T0; /* the stream, with and without it */
  uint64_t gate;  /* when the first result would be written */
};

struct state {
  const struct params *p;
  const struct tsr_env *env;
  uint64_t *counters;
  struct tsr_instance *self, *buf[3];
  const struct tsr_mm_req *req, *next_req; /* next: started, not begun */
  struct tsr_ticket *ticket, *next_ticket, *draining[TSR_TICKETS_MAX];
  uint64_t n_tickets, n_consumed, n_done; /* ring positions in draining */
  uint64_t last_consumed, last_done;      /* cycles: requests end in order */
  /* position in the request */
  uint64_t group, row0, col0;
  bool finished; /* the present fold is the request's last */
  struct fold f;
  /* the array's time, in cycles */
  uint64_t free;                               /* the next fold may start (os, no preload) */
  uint64_t drain_end;                          /* os: the shadow register is empty again */
  bool streamed;                               /* preload: a fold has streamed in this layer */
  uint64_t stream_start, stream_end, stream_T; /* of the latest fold; T without ports */
  uint64_t held_start, held; /* what the ports added to it, not reported yet */
  uint64_t drain_start;      /* of the latest fold: its last product has entered */
  uint64_t resume;           /* the array stood still until then */
  /* gates */
  struct plan plan;
  uint64_t gated, opened; /* requests gated and gates opened, so far */
  uint64_t ordinal;       /* the present request's: open once opened >= ordinal */
  bool settling;          /* a fold is planned and not settled: its gate is closed */
  bool at_gate;           /* … and has reached it */
  bool deferred;          /* the next fold may start but waits for that */
  uint64_t deferred_cycle;
};

static enum tsr_status init(void *vs, const void *vp, const struct tsr_wiring *w,
                            struct tsr_err *err) {
  (void)err;
  struct state *s = vs;
  s->p = vp;
  s->env = w->env;
  s->self = w->self;
  s->counters = w->self->counters;
  for (int i = 0; i < 3; i++) s->buf[i] = w->peer[i];
  return TSR_OK;
}

static const struct flow *flow_of(const struct params *p) {
  return &flows[p->dataflow];
}
static bool preloads(const struct state *s) {
  return s->p->preload && flow_of(s->p)->stationary;
}
static uint64_t skew(const struct params *p) {
  return p->rows + p->cols - 2;
}
static uint64_t at_cycle(const struct state *s, uint64_t cycle) {
  return s->env->cycle_fs(s->env->engine, cycle);
}
static uint64_t now_cycle(const struct state *s) {
  return s->env->fs_cycle(s->env->engine, s->env->now_fs(s->env->engine));
}
static void span(struct state *s, enum tsr_span_state st, uint64_t start, uint64_t cycles) {
  if (cycles) s->env->span(s->env->engine, s->self->unit, st, start, cycles);
}

/* Elements of k that one array row holds or that stream in one cycle. */
static uint64_t span_of(const struct params *p, const struct flow *fl, uint32_t rate,
                        bool rows) {
  uint64_t n = rows ? p->rows : p->cols;
  return (rows ? fl->rows : fl->cols) == DIM_K ? n * rate : n;
}

static void set_fold(struct state *s) {
  const struct flow *fl = flow_of(s->p);
  const struct tsr_mm_req *q = s->req;
  const uint64_t dim[3] = {q->m, q->n, q->k};
  uint64_t r = span_of(s->p, fl, q->rate, true), c = span_of(s->p, fl, q->rate, false);
  s->f.rows = tsr_min_u64(r, dim[fl->rows] - s->row0);
  s->f.cols = tsr_min_u64(c, dim[fl->cols] - s->col0);
  s->f.stream = dim[fl->stream];
  s->f.T = fl->stream == DIM_K ? tsr_ceil_div(s->f.stream, q->rate) : s->f.stream;
  bool k_rows = fl->rows == DIM_K;
  s->f.first_k = q->first && (!k_rows || s->row0 == 0);
  s->f.last_k = q->last && (!k_rows || s->row0 + s->f.rows == dim[DIM_K]);
}

/* Moves to the next fold: columns outer, rows inner, groups outermost. */
static bool next_fold(struct state *s) {
  const struct flow *fl = flow_of(s->p);
  const uint64_t dim[3] = {s->req->m, s->req->n, s->req->k};
  s->row0 += span_of(s->p, fl, s->req->rate, true);
  if (s->row0 < dim[fl->rows]) return true;
  s->row0 = 0;
  s->col0 += span_of(s->p, fl, s->req->rate, false);
  if (s->col0 < dim[fl->cols]) return true;
  s->col0 = 0;
  return ++s->group < s->req->groups;
}

static uint64_t tile_phase(struct state *s, int buf, uint64_t start, uint64_t cycles,
                           uint64_t read, uint64_t write) {
  struct tsr_instance *b = s->buf[buf];
  return b->ops->buffer->tile(b->state, start, cycles, read, write, NULL);
}

/* Bytes of an operand that a fold touches. */
static uint64_t operand_bytes(const struct state *s, int buf, uint64_t elems) {
  return elems * (buf == BUF_A ? s->req->a_bytes : s->req->b_bytes);
}

/* The stream's cycles, lengthened by the ports that feed it. */
static uint64_t stream_cycles(struct state *s, uint64_t start) {
  const struct flow *fl = flow_of(s->p);
  const struct fold *f = &s->f;
  uint64_t T = f->T;
  if (!fl->stationary) {
    uint64_t a =
        tile_phase(s, BUF_A, start, T, operand_bytes(s, BUF_A, f->rows * f->stream), 0);
    uint64_t b =
        tile_phase(s, BUF_B, start, T, operand_bytes(s, BUF_B, f->cols * f->stream), 0);
    return tsr_max_u64(a, b);
  }
  uint64_t in = tile_phase(s, fl->streamed, start, T,
                           operand_bytes(s, fl->streamed, f->rows * f->stream), 0);
  uint64_t acc = f->stream * f->cols * s->req->acc_bytes;
  uint64_t out =
      tile_phase(s, BUF_C, s->settling ? TSR_PHASE_LATER : start, T, f->first_k ? 0 : acc, acc);
  return tsr_max_u64(in, out);
}

/* The results' port, once the gate has let the fold at hand go. */
static void occupy_results(struct state *s) {
  const struct fold *f = &s->plan.f;
  if (!flow_of(s->p)->stationary) return; /* os: when they are captured */
  struct tsr_instance *c = s->buf[BUF_C];
  uint64_t acc = f->stream * f->cols * s->plan.acc_bytes;
  c->ops->buffer->occupy(c->state, now_cycle(s), s->plan.T, f->first_k ? 0 : acc, acc);
}

static uint64_t load_cycles(struct state *s, uint64_t start) {
  const struct flow *fl = flow_of(s->p);
  if (!fl->stationary) return 0;
  return tile_phase(s, fl->held, start, s->p->rows,
                    operand_bytes(s, fl->held, s->f.rows * s->f.cols), 0);
}

static void count(struct state *s, uint64_t stream, uint64_t conflicts) {
  const struct fold *f = &s->f;
  const struct flow *fl = flow_of(s->p);
  uint64_t *c = s->counters;
  c[ACTIVE_CYCLES] += stream;
  c[CONFLICTS] += conflicts;
  c[MACS] += f->rows * f->cols * f->stream;
  if (fl->stream == DIM_K && !f->last_k) return; /* the fold goes on with the next k */
  c[FOLDS]++;
  c[SLOTS] += s->p->rows * s->p->cols;
  uint64_t rows = fl->rows == DIM_K ? tsr_ceil_div(f->rows, s->req->rate) : f->rows;
  c[SLOTS_USED] += rows * f->cols;
}

static void on_consumed(void *arg) {
  struct state *s = arg;
  struct tsr_ticket *t = s->draining[s->n_consumed++ % TSR_TICKETS_MAX];
  t->consumed(t);
}
static void on_done(void *arg) {
  struct state *s = arg;
  struct tsr_ticket *t = s->draining[s->n_done++ % TSR_TICKETS_MAX];
  t->done(t);
}
static void on_accepted(void *arg) {
  struct state *s = arg;
  s->ticket->accepted(s->ticket);
}

static void at(struct state *s, uint64_t cycle, tsr_model_fn *fn) {
  cycle = tsr_max_u64(cycle, now_cycle(s));
  s->env->at(s->env->engine, at_cycle(s, cycle), TSR_PRIO_TILE, fn, s);
}

static void finish(struct state *s, uint64_t consumed, uint64_t done) {
  s->ticket->late = (struct tsr_lateness){0};
  s->last_consumed = tsr_max_u64(s->last_consumed, consumed);
  s->last_done = tsr_max_u64(s->last_done, done);
  s->draining[s->n_tickets++ % TSR_TICKETS_MAX] = s->ticket;
  at(s, s->last_consumed, on_consumed);
  at(s, s->last_done, on_done);
}

static void run_fold(void *arg);

static bool gate_closed(const struct state *s) {
  return s->opened < s->ordinal;
}

/* Busy cycles of the stream, interrupted by `stall` cycles after `before` of them
 * (the engine charges the gap); returns where they end. */
static uint64_t report_stream(struct state *s, uint64_t start, uint64_t before,
                              uint64_t stall) {
  const struct plan *p = &s->plan;
  uint64_t head = stall ? tsr_min_u64(p->T0, before) : p->T0;
  span(s, TSR_SPAN_BUSY, start, head);
  if (head < p->T0) start += stall;
  span(s, TSR_SPAN_BUSY, start + head, p->T0 - head);
  return start + p->T0;
}

/* ---- one fold after the other: os, and ws or is without preload ---- */

static void plan_serial(struct state *s) {
  struct plan *p = &s->plan;
  bool os = !flow_of(s->p)->stationary;
  p->start = tsr_max_u64(s->free, now_cycle(s));
  p->S = load_cycles(s, p->start);
  p->S0 = os ? 0 : s->p->rows;
  p->T0 = s->f.T;
  p->T = stream_cycles(s, p->start + p->S);
  p->gate = p->start + p->S + (os ? p->T + skew(s->p) : s->p->rows - 1);
}

/* os results leave through the shadow register once it is empty; returns when they
 * are in the scratchpad.  *end, of the fold, moves. */
static uint64_t capture(struct state *s, uint64_t *end) {
  uint64_t rows = s->p->rows, hold = s->drain_end > *end ? s->drain_end - *end : 0;
  uint64_t bytes = s->f.rows * s->f.cols * s->req->acc_bytes;
  uint64_t leave = tile_phase(s, BUF_C, *end + hold, rows, 0, bytes);
  span(s, TSR_SPAN_CONFLICT, *end, hold);
  *end += hold;
  s->drain_end = *end + leave;
  s->counters[CONFLICTS] += hold;
  if (s->p->drain == SERIAL) {
    span(s, TSR_SPAN_DRAIN, *end, rows);
    span(s, TSR_SPAN_CONFLICT, *end + rows, leave - rows);
    s->counters[CONFLICTS] += leave - rows;
    *end += leave;
  }
  return s->drain_end;
}

static void settle_serial(struct state *s, uint64_t stall) {
  const struct plan *p = &s->plan;
  bool os = !flow_of(s->p)->stationary;
  uint64_t tail = os && !s->f.last_k ? 0 : skew(s->p);
  span(s, TSR_SPAN_FILL, p->start, p->S0);
  span(s, TSR_SPAN_CONFLICT, p->start + p->S0, p->S - p->S0);
  uint64_t stream = p->start + p->S, in_stream = os ? 0 : stall;
  uint64_t end = report_stream(s, stream, s->p->rows - 1, in_stream);
  span(s, TSR_SPAN_CONFLICT, end, p->T - p->T0);
  end += p->T - p->T0;
  if (!os && p->T0 <= s->p->rows - 1) end += stall; /* stood still while draining */
  span(s, TSR_SPAN_DRAIN, end, tail);
  end += tail;
  if (os) end += stall;
  count(s, p->T, (p->S - p->S0) + (p->T - p->T0));
  uint64_t done = os && s->f.last_k ? capture(s, &end) : end;
  s->free = end;
  s->finished = !next_fold(s);
  if (!s->finished) {
    at(s, s->free, run_fold);
    return;
  }
  finish(s, s->free, tsr_max_u64(s->free, done));
  at(s, s->free, on_accepted);
}

/* ---- the stationary operand of the next fold loads while this one streams ---- */

/* Reports what the ports added to the latest stream, the first `fill` cycles of it as
 * fill; returns how many those were. */
static uint64_t report_held(struct state *s, uint64_t fill) {
  fill = tsr_min_u64(fill, s->held);
  span(s, TSR_SPAN_FILL, s->held_start, fill);
  span(s, TSR_SPAN_CONFLICT, s->held_start + fill, s->held - fill);
  s->held = 0;
  return fill;
}

static void plan_preload(struct state *s, uint64_t from) {
  struct plan *p = &s->plan;
  if (s->streamed) from = tsr_max_u64(from, s->stream_start);
  p->S0 = s->p->rows;
  p->S = load_cycles(s, from);
  p->start = from + p->S;
  if (s->streamed) p->start = tsr_max_u64(p->start, tsr_max_u64(s->stream_end, s->resume));
  /* What preloading cannot hide is fill: first the cycles by which a port lengthened
   * the stream before, then the gap. */
  uint64_t fill = !s->streamed ? p->S0 : p->S0 > s->stream_T ? p->S0 - s->stream_T : 0;
  fill -= report_held(s, fill);
  uint64_t gap = s->streamed ? p->start - s->stream_end : p->start - from;
  fill = tsr_min_u64(fill, gap);
  uint64_t late = tsr_min_u64(p->S - p->S0, gap - fill); /* by the port */
  span(s, TSR_SPAN_CONFLICT, p->start - fill - late, late);
  span(s, TSR_SPAN_FILL, p->start - fill, fill);
  p->T0 = s->f.T;
  p->T = stream_cycles(s, p->start);
  p->gate = p->start + s->p->rows - 1;
  count(s, p->T, late + (p->T - p->T0));
  s->streamed = true;
  s->stream_start = p->start;
  s->stream_T = p->T0;
  s->finished = !next_fold(s);
  at(s, p->start, s->finished ? on_accepted : run_fold);
}

static void settle_preload(struct state *s, uint64_t stall, bool finished) {
  const struct plan *p = &s->plan;
  s->held_start = report_stream(s, p->start, s->p->rows - 1, stall);
  s->held = p->T - p->T0;
  s->stream_end = s->held_start + s->held;
  s->drain_start = p->start + p->T + stall; /* it stood still, streaming or draining */
  s->resume = stall ? now_cycle(s) + 1 : 0;
  if (finished) finish(s, s->stream_end, s->drain_start + skew(s->p));
}

/* ---- gates ---- */

static void begin(struct state *s);

static void settle(struct state *s, uint64_t stall) {
  bool finished = s->finished;
  s->settling = s->at_gate = false;
  if (preloads(s))
    settle_preload(s, stall, finished);
  else
    settle_serial(s, stall);
  if (!s->deferred) return;
  s->deferred = false;
  if (s->next_req)
    begin(s);
  else
    run_fold(s);
}

static void on_gate(void *arg) {
  struct state *s = arg;
  if (gate_closed(s)) {
    s->at_gate = true;
    return;
  }
  occupy_results(s);
  settle(s, 0);
}

static void open(void *vs) {
  struct state *s = vs;
  s->opened++;
  if (!s->at_gate || gate_closed(s)) return;
  occupy_results(s);
  settle(s, now_cycle(s) - s->plan.gate);
}

static void run_fold(void *arg) {
  struct state *s = arg;
  if (s->settling) { /* the fold before decides when this one can start */
    s->deferred = true;
    s->deferred_cycle = now_cycle(s);
    return;
  }
  set_fold(s);
  bool closed = gate_closed(s) && (flow_of(s->p)->stationary || s->f.last_k);
  uint64_t from = s->deferred_cycle ? s->deferred_cycle : now_cycle(s);
  s->deferred_cycle = 0;
  s->settling = closed;
  s->plan.f = s->f;
  s->plan.acc_bytes = s->req->acc_bytes;
  if (preloads(s))
    plan_preload(s, from);
  else
    plan_serial(s);
  if (closed) {
    s->env->at(s->env->engine, at_cycle(s, s->plan.gate), TSR_PRIO_TILE, on_gate, s);
  } else {
    settle(s, 0);
  }
}

static void begin(struct state *s) {
  const struct tsr_mm_req *q = s->next_req;
  s->req = q;
  s->ticket = s->next_ticket;
  s->next_req = NULL;
  s->group = s->row0 = s->col0 = 0;
  if (q->gated) s->ordinal = ++s->gated;
  if (q->m && q->n && q->k && q->groups) {
    run_fold(s);
    return;
  }
  s->deferred_cycle = 0;
  uint64_t now = tsr_max_u64(now_cycle(s), s->free); /* wholly outside: no work */
  finish(s, now, now);
  at(s, now, on_accepted);
}

static void start(void *vs, const struct tsr_req *req, struct tsr_ticket *t) {
  struct state *s = vs;
  s->next_req = &req->mm;
  s->next_ticket = t;
  if (s->settling) {
    s->deferred = true;
    s->deferred_cycle = now_cycle(s);
    return;
  }
  begin(s);
}

static void end(void *vs) {
  struct state *s = vs;
  (void)report_held(s, 0);
  if (s->streamed) span(s, TSR_SPAN_DRAIN, s->drain_start, skew(s->p));
  s->streamed = false;
  s->resume = 0;
  s->gated = s->opened = s->ordinal = 0;
}

static void estimate(const void *vp, const struct tsr_req *req, struct tsr_estimate *out) {
  const struct params *p = vp;
  const struct flow *fl = flow_of(p);
  const uint64_t dim[3] = {req->mm.m, req->mm.n, req->mm.k};
  uint32_t rate = req->mm.rate;
  uint64_t F = tsr_ceil_div(dim[fl->rows], span_of(p, fl, rate, true)) *
               tsr_ceil_div(dim[fl->cols], span_of(p, fl, rate, false)) * req->mm.groups;
  uint64_t T = fl->stream == DIM_K ? tsr_ceil_div(dim[DIM_K], rate) : dim[fl->stream];
  uint64_t S = fl->stationary ? p->rows : 0;
  uint64_t tail = !fl->stationary && !req->mm.last ? 0 : skew(p);
  if (p->drain == SERIAL && !fl->stationary && req->mm.last) tail += p->rows;
  out->folds = F;
  out->events = F + 3;
  out->cycles = p->preload && fl->stationary ? S + (F - (F > 0)) * tsr_max_u64(T, S) + T + tail
                                             : F * (S + T + tail);
}

static void facts(const void *vp, struct tsr_unit_facts *out) {
  const struct params *p = vp;
  *out = (struct tsr_unit_facts){.rows = p->rows,
                                 .cols = p->cols,
                                 .dataflow = dataflow_names[p->dataflow],
                                 .preload = p->preload};
}

static const struct tsr_unit_ops unit = {
    .start = start, .open = open, .end = end, .estimate = estimate, .facts = facts};
static const struct tsr_port ports[] = {
    {"a", "sram"}, {"b", "sram"}, {"c", "sram"}, {NULL, NULL}};

const struct tsr_component tsri_tile_systolic = {
    .abi = TSR_MODEL_ABI,
    .kind = "tile.systolic",
    .doc = "systolic array: output, weight or input stationary",
    .state_size = sizeof(struct state),
    .params_size = sizeof(struct params),
    .params = params,
    .counters = counters,
    .ports = ports,
    .init = init,
    .unit = &unit};
