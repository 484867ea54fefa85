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
 *     rs  rows: rows of filters, cols: rows of results (SRC:eyeriss), stream: a row of results
 *         times one of the filter    S = a row of the filter   P = S + T + rows + cols - 2
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
 * A preload request loads what the next request holds first, so that this one does not
 * wait for it: without weight_preload the array stands until it is loaded, with it the
 * load goes behind the stream before.
 *
 * `rule: onnxim` (SRC:onnxim, with weight_preload) has three other figures: a stream
 * takes at least 4 cycles; a load that meets an array that has drained takes
 * 2 rows - 1; one that does not began with the stream before, whenever it was asked
 * for.  So folds follow each other after max(T, 4, rows), and F of them take
 * 2 rows - 1 + (F - 1) max(T, 4, rows) + max(T, 4) + rows + cols - 2.
 *
 * A scratchpad whose port is too slow lengthens the phase it feeds.  Operands are where
 * the request's views say, or else behind the ports a, b, c; those of one phase that
 * share a scratchpad share its port. */
#include "models/models_int.h"
#include "models/tile/fold.h"

enum drain { OVERLAP, SERIAL };
enum rule { RULE_ARRAY, RULE_ONNXIM };
enum { ONNXIM_STREAM_MIN = 4 };

static const char *const dataflow_names[] = {"os", "ws", "is", "rs", NULL}; /* as tsri_flows */
static const char *const drain_names[] = {"overlap", "serial", NULL};
static const char *const rule_names[] = {"array", "onnxim", NULL};

struct params {
  uint64_t rows, cols;
  int dataflow, drain, rule;
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
     .doc = "what stays in the array: outputs, weights, inputs, rows of filters",
     .src = "SRC:assumed"},
    {.key = "weight_preload",
     .type = TSR_PARAM_BOOL,
     .def = "true",
     .offset = offsetof(struct params, preload),
     .uncertainty = "exact",
     .doc = "load the next stationary operand while this fold streams (ws, is, rs)",
     .src = "SRC:assumed"},
    {.key = "drain",
     .type = TSR_PARAM_ENUM,
     .names = drain_names,
     .def = "overlap",
     .offset = offsetof(struct params, drain),
     .uncertainty = "exact",
     .doc = "whether os results leave during the next fold or before it",
     .src = "SRC:assumed"},
    {.key = "rule",
     .type = TSR_PARAM_ENUM,
     .names = rule_names,
     .def = "array",
     .offset = offsetof(struct params, rule),
     .uncertainty = "exact",
     .doc = "how loads and streams follow: as in the array, or as ONNXim counts (ws, is)",
     .src = "SRC:onnxim"},
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

/* A stationary operand's load, in cycles. */
struct load {
  uint64_t start, S, S0; /* its length, with and without the port's delay */
};

/* The present fold's schedule, in cycles; spans are reported when it is settled. */
struct plan {
  struct tsri_fold f;
  struct tsr_instance *results; /* scratchpad whose port waits for the gate, or NULL */
  uint64_t acc_bytes;           /* of the fold's partial sums, once */
  struct load load;             /* before the stream; nothing when it was done before */
  uint64_t start;               /* of the stream */
  uint64_t T, T0;               /* the stream, with and without the ports' delay */
  uint64_t gate;                /* when the first result would be written */
};

struct state {
  const struct params *p;
  struct tsri_array array;
  const struct tsr_env *env;
  uint64_t *counters;
  struct tsr_instance *self, *buf[3];
  const struct tsr_mm_req *req, *next_req; /* next: started, not begun */
  struct tsr_ticket *ticket, *next_ticket, *draining[TSR_TICKETS_MAX];
  uint64_t n_tickets, n_consumed, n_done; /* ring positions in draining */
  uint64_t last_consumed, last_done;      /* cycles: requests end in order */
  struct tsri_place place;                /* in the request */
  bool finished;                          /* the present fold is the request's last */
  struct tsri_fold f;
  /* the array's time, in cycles */
  uint64_t free;                               /* the next fold may start (os, no preload) */
  uint64_t drain_end;                          /* os: the shadow register is empty again */
  bool streamed;                               /* preload: a fold has streamed in this layer */
  uint64_t stream_start, stream_end, stream_T; /* of the latest fold; T without ports */
  uint64_t held_start, held; /* what the ports added to it, not reported yet */
  uint64_t drain_start;      /* of the latest fold: its last product has entered */
  uint64_t resume;           /* the array stood still until then */
  bool loaded;               /* by a preload request: what the next fold holds */
  struct load load;          /* … and when */
  /* gates */
  struct plan plan;
  uint64_t gated, opened; /* requests gated and gates opened, so far */
  uint64_t ordinal;       /* the present request's: open once opened >= ordinal */
  bool settling;          /* a fold is planned and not settled: its gate is closed */
  bool at_gate;           /* … and has reached it */
  bool deferred;          /* the next fold may start but waits for that */
  uint64_t deferred_cycle;
};

static struct tsri_array array_of(const struct params *p) {
  return (struct tsri_array){&tsri_flows[p->dataflow], p->rows, p->cols};
}

static enum tsr_status init(void *vs, const void *vp, const struct tsr_wiring *w,
                            struct tsr_err *err) {
  struct state *s = vs;
  s->p = vp;
  const struct tsri_flow *flow = &tsri_flows[s->p->dataflow];
  if (s->p->rule == RULE_ONNXIM && !(s->p->preload && flow->stationary && !flow->lines))
    return tsr_err_set(err, TSR_INPUT,
                       "rule 'onnxim' does not fit the tile; expected dataflow ws or is with "
                       "weight_preload, got %s %s it",
                       dataflow_names[s->p->dataflow], s->p->preload ? "with" : "without");
  s->array = array_of(s->p);
  s->env = w->env;
  s->self = w->self;
  s->counters = w->self->counters;
  for (int i = 0; i < 3; i++) s->buf[i] = w->peer[i];
  return TSR_OK;
}

static bool stationary(const struct state *s) {
  return s->array.flow->stationary;
}
static bool preloads(const struct state *s) {
  return s->p->preload && stationary(s);
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

/* Cycles of a fold's stream, ports apart. */
static uint64_t stream_rule(const struct params *p, uint64_t T) {
  return p->rule == RULE_ONNXIM ? tsr_max_u64(T, ONNXIM_STREAM_MIN) : T;
}

static void set_fold(struct state *s) {
  tsri_fold_at(&s->array, s->req, &s->place, &s->f);
  s->f.T = stream_rule(s->p, s->f.T);
}

/* ---- scratchpads ---- */

static struct tsr_instance *buffer_of(const struct state *s, enum tsri_operand o) {
  struct tsr_instance *b = tsri_view(s->req, o)->buffer;
  return b ? b : s->buf[o];
}

/* What an operand's port moves in a phase. */
struct use {
  enum tsri_operand operand;
  uint64_t read, write;
};

static struct use reads(const struct state *s, enum tsri_operand o) {
  return (struct use){.operand = o, .read = tsri_fold_bytes(&s->array, s->req, &s->f, o)};
}

static uint64_t phase(struct state *s, const struct use *u, uint64_t start, uint64_t cycles) {
  struct tsr_instance *b = buffer_of(s, u->operand);
  struct tsr_pattern t;
  bool known = tsri_fold_pattern(&s->array, s->req, &s->f, u->operand, &t);
  return b->ops->buffer->tile(b->state, start, cycles, u->read, u->write, known ? &t : NULL);
}

static bool share(const struct state *s, enum tsri_operand a, enum tsri_operand b) {
  return buffer_of(s, a) == buffer_of(s, b);
}

/* Two operands at once; in one scratchpad they are one use of its port, from the first
 * one's start on, and where the accesses of both fall is no pattern. */
static uint64_t phase2(struct state *s, const struct use *u, const struct use *v,
                       uint64_t start, uint64_t start_v, uint64_t cycles) {
  if (!share(s, u->operand, v->operand))
    return tsr_max_u64(phase(s, u, start, cycles), phase(s, v, start_v, cycles));
  struct tsr_instance *b = buffer_of(s, u->operand);
  return b->ops->buffer->tile(b->state, start, cycles, u->read + v->read, u->write + v->write,
                              NULL);
}

/* The stream's cycles, lengthened by the ports that feed it. */
static uint64_t stream_cycles(struct state *s, uint64_t start) {
  if (!stationary(s)) {
    struct use a = reads(s, TSRI_A), b = reads(s, TSRI_B);
    return phase2(s, &a, &b, start, start, s->f.T);
  }
  uint64_t acc = tsri_fold_bytes(&s->array, s->req, &s->f, TSRI_C);
  struct use in = reads(s, s->array.flow->streamed);
  struct use out = {TSRI_C, s->f.first_k ? 0 : acc, acc};
  return phase2(s, &in, &out, start, s->settling ? TSR_PHASE_LATER : start, s->f.T);
}

/* The results' port, once the gate has let the fold at hand go. */
static void occupy_results(struct state *s) {
  const struct plan *p = &s->plan;
  struct tsr_instance *c = p->results;
  if (!c) return; /* os: when they are captured; or with the stream that they share with */
  c->ops->buffer->occupy(c->state, now_cycle(s), p->T, p->f.first_k ? 0 : p->acc_bytes,
                         p->acc_bytes);
}

/* Cycles that a stationary operand takes to load: along the rows of the array, or into each
 * element its row of a filter. */
static uint64_t load_rule(const struct params *p, const struct tsr_mm_req *q) {
  if (!tsri_flows[p->dataflow].lines) return p->rows;
  return tsr_ceil_div(tsri_k_line(q), q->rate);
}

/* The load of the present fold's stationary operand, asked for at cycle `from`. */
static struct load load_at(struct state *s, uint64_t from) {
  if (!stationary(s)) return (struct load){.start = from};
  uint64_t takes = load_rule(s->p, s->req);
  struct load l = {.start = from, .S0 = takes};
  if (s->p->preload && s->streamed) l.start = tsr_max_u64(from, s->stream_start);
  if (s->p->rule == RULE_ONNXIM) {
    if (!s->streamed || from >= s->drain_start + skew(s->p))
      l.S0 = 2 * s->p->rows - 1;
    else
      l.start = s->stream_start;
  }
  struct use in = reads(s, s->array.flow->held);
  l.S = l.S0 + phase(s, &in, l.start, takes) - takes;
  return l;
}

static void count(struct state *s, uint64_t stream, uint64_t conflicts) {
  const struct tsri_fold *f = &s->f;
  const struct tsri_flow *fl = s->array.flow;
  uint64_t *c = s->counters;
  c[ACTIVE_CYCLES] += stream;
  c[CONFLICTS] += conflicts;
  c[MACS] += f->rows * f->cols * f->stream;
  if (!fl->stationary && !f->last_k) return; /* the fold goes on with the next k */
  c[FOLDS]++;
  c[SLOTS] += s->p->rows * s->p->cols;
  uint64_t rows = fl->rows == TSRI_K ? tsr_ceil_div(f->rows, s->req->rate) : f->rows;
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
  uint64_t from = tsr_max_u64(s->free, now_cycle(s));
  p->load = s->loaded ? (struct load){.start = from} : load_at(s, from);
  s->loaded = false;
  p->start = from + p->load.S;
  p->T0 = s->f.T;
  p->T = stream_cycles(s, p->start);
  p->gate = p->start + (stationary(s) ? s->p->rows - 1 : p->T + skew(s->p));
}

/* os results leave through the shadow register once it is empty; returns when they
 * are in the scratchpad.  *end, of the fold, moves. */
static uint64_t capture(struct state *s, uint64_t *end) {
  uint64_t rows = s->p->rows, hold = s->drain_end > *end ? s->drain_end - *end : 0;
  struct use out = {TSRI_C, 0, tsri_fold_bytes(&s->array, s->req, &s->f, TSRI_C)};
  uint64_t leave = phase(s, &out, *end + hold, rows);
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

static void report_load(struct state *s, const struct load *l) {
  span(s, TSR_SPAN_FILL, l->start, l->S0);
  span(s, TSR_SPAN_CONFLICT, l->start + l->S0, l->S - l->S0);
}

static void settle_serial(struct state *s, uint64_t stall) {
  const struct plan *p = &s->plan;
  bool os = !stationary(s);
  uint64_t tail = os && !s->f.last_k ? 0 : skew(s->p);
  report_load(s, &p->load);
  uint64_t end = report_stream(s, p->start, s->p->rows - 1, os ? 0 : stall);
  span(s, TSR_SPAN_CONFLICT, end, p->T - p->T0);
  end += p->T - p->T0;
  if (!os && p->T0 <= s->p->rows - 1) end += stall; /* stood still while draining */
  span(s, TSR_SPAN_DRAIN, end, tail);
  end += tail;
  if (os) end += stall;
  count(s, p->T, (p->load.S - p->load.S0) + (p->T - p->T0));
  uint64_t done = os && s->f.last_k ? capture(s, &end) : end;
  s->free = end;
  s->finished = !tsri_fold_next(&s->array, s->req, &s->place);
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
  const struct load *l = &p->load;
  p->load = s->loaded ? s->load : load_at(s, from);
  s->loaded = false;
  uint64_t ready = l->start + l->S;
  p->start = tsr_max_u64(from, ready);
  if (s->streamed) p->start = tsr_max_u64(p->start, tsr_max_u64(s->stream_end, s->resume));
  if (ready < s->resume) ready = p->start; /* what the stall has cost shows before it */
  /* What preloading cannot hide is fill: first the cycles by which a port lengthened
   * the stream before, then the gap. */
  uint64_t fill = !s->streamed ? l->S0 : l->S0 > s->stream_T ? l->S0 - s->stream_T : 0;
  fill -= report_held(s, fill);
  uint64_t idle = s->streamed ? s->stream_end : l->start, gap = ready > idle ? ready - idle : 0;
  fill = tsr_min_u64(fill, gap);
  uint64_t late = tsr_min_u64(l->S - l->S0, gap - fill); /* by the port */
  span(s, TSR_SPAN_CONFLICT, ready - fill - late, late);
  span(s, TSR_SPAN_FILL, ready - fill, fill);
  p->T0 = s->f.T;
  p->T = stream_cycles(s, p->start);
  p->gate = p->start + s->p->rows - 1;
  count(s, p->T, late + (p->T - p->T0));
  s->streamed = true;
  s->stream_start = p->start;
  s->stream_T = p->T0;
  s->finished = !tsri_fold_next(&s->array, s->req, &s->place);
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

/* When the fold or request at hand could have begun, had the one before been settled. */
static uint64_t asked_at(struct state *s) {
  uint64_t cycle = s->deferred_cycle ? s->deferred_cycle : now_cycle(s);
  s->deferred_cycle = 0;
  return cycle;
}

static void run_fold(void *arg) {
  struct state *s = arg;
  if (s->settling) { /* the fold before decides when this one can start */
    s->deferred = true;
    s->deferred_cycle = now_cycle(s);
    return;
  }
  set_fold(s);
  bool closed = gate_closed(s) && (stationary(s) || s->f.last_k);
  uint64_t from = asked_at(s);
  s->settling = closed;
  s->plan.f = s->f;
  bool apart = stationary(s) && !share(s, s->array.flow->streamed, TSRI_C);
  s->plan.results = apart ? buffer_of(s, TSRI_C) : NULL;
  s->plan.acc_bytes = tsri_fold_bytes(&s->array, s->req, &s->f, TSRI_C);
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

/* Without preload the array stands until the operand is loaded; with it the load goes
 * behind the stream before, and the next request may come at once. */
static void begin_preload(struct state *s) {
  uint64_t from = asked_at(s);
  if (s->loaded) from = tsr_max_u64(from, s->load.start + s->load.S); /* once more */
  set_fold(s);
  s->load = load_at(s, from);
  s->loaded = true;
  uint64_t end = s->load.start + s->load.S;
  finish(s, end, end);
  if (preloads(s)) {
    at(s, from, on_accepted);
    return;
  }
  report_load(s, &s->load);
  s->counters[CONFLICTS] += s->load.S - s->load.S0;
  at(s, end, on_accepted);
}

static void begin_nothing(struct state *s) {
  s->deferred_cycle = 0;
  uint64_t now = tsr_max_u64(now_cycle(s), s->free); /* wholly outside: no work */
  finish(s, now, now);
  at(s, now, on_accepted);
}

static void begin(struct state *s) {
  const struct tsr_mm_req *q = s->next_req;
  bool preload = q->kind == TSR_MM_PRELOAD;
  s->req = q;
  s->ticket = s->next_ticket;
  s->next_req = NULL;
  s->place = (struct tsri_place){0};
  if (q->gated && !preload) s->ordinal = ++s->gated;
  if (!(q->m && q->n && q->k && q->groups))
    begin_nothing(s);
  else if (preload)
    begin_preload(s);
  else
    run_fold(s);
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
  s->loaded = false;
  s->resume = 0;
  s->gated = s->opened = s->ordinal = 0;
}

/* ---- repetition ---- */

static void visit_load(struct load *l, struct tsr_visit *v) {
  tsr_visit_cycle(v, &l->start);
  tsr_visit_value(v, l->S);
  tsr_visit_value(v, l->S0);
}

static void visit_fold(const struct tsri_fold *f, struct tsr_visit *v) {
  const uint64_t values[] = {f->row0,   f->col0, f->rows,    f->cols,
                             f->stream, f->T,    f->first_k, f->last_k};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) tsr_visit_value(v, values[i]);
}

/* A fold whose gate is closed. */
static void visit_plan(struct plan *p, struct tsr_visit *v) {
  visit_fold(&p->f, v);
  visit_load(&p->load, v);
  tsr_visit_pointer(v, p->results);
  tsr_visit_value(v, p->acc_bytes);
  tsr_visit_cycle(v, &p->start);
  tsr_visit_value(v, p->T);
  tsr_visit_value(v, p->T0);
  tsr_visit_cycle(v, &p->gate);
}

/* The stream that the next load and the next fold follow. */
static void visit_stream(struct state *s, struct tsr_visit *v) {
  tsr_visit_value(v, s->streamed);
  if (s->streamed) {
    tsr_visit_cycle(v, &s->stream_start);
    tsr_visit_cycle(v, &s->stream_end);
    tsr_visit_cycle(v, &s->drain_start);
    tsr_visit_value(v, s->stream_T);
  }
  tsr_visit_value(v, s->held);
  if (s->held) tsr_visit_cycle(v, &s->held_start);
  tsr_visit_value(v, s->resume != 0);
  if (s->resume) tsr_visit_cycle(v, &s->resume);
  tsr_visit_value(v, s->loaded);
  if (s->loaded) visit_load(&s->load, v);
}

static void visit(void *vs, struct tsr_visit *v) {
  struct state *s = vs;
  if (s->deferred_cycle) v->since_cycle = tsr_min_u64(v->since_cycle, s->deferred_cycle);
  if (s->streamed && s->p->rule == RULE_ONNXIM) /* loads begin with the stream before */
    v->since_cycle = tsr_min_u64(v->since_cycle, s->stream_start);
  tsr_visit_pointer(v, s->req);
  tsr_visit_pointer(v, s->ticket);
  tsr_visit_pointer(v, s->next_req);
  tsr_visit_value(v, s->n_tickets - s->n_consumed);
  tsr_visit_value(v, s->n_tickets - s->n_done);
  for (uint64_t i = s->n_done; i < s->n_tickets; i++)
    tsr_visit_pointer(v, s->draining[i % TSR_TICKETS_MAX]);
  const uint64_t values[] = {s->place.group, s->place.row0,        s->place.col0,
                             s->finished,    s->gated - s->opened, s->gated - s->ordinal,
                             s->settling,    s->at_gate,           s->deferred};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) tsr_visit_value(v, values[i]);
  visit_fold(&s->f, v);
  uint64_t *const ends[] = {&s->last_consumed, &s->last_done, &s->free, &s->drain_end};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    tsr_visit_cycle_floor(v, ends[i], v->now_cycle);
  visit_stream(s, v);
  if (s->settling) visit_plan(&s->plan, v);
  tsr_visit_value(v, s->deferred_cycle != 0);
  if (s->deferred_cycle) tsr_visit_cycle(v, &s->deferred_cycle);
}

static void rest(void *vs) {
  struct state *s = vs;
  s->last_consumed = s->last_done = s->free = s->drain_end = 0;
  s->stream_start = s->stream_end = s->drain_start = s->stream_T = 0;
}

static void estimate(const void *vp, const struct tsr_req *req, struct tsr_estimate *out) {
  const struct params *p = vp;
  const struct tsri_array x = array_of(p);
  bool held = x.flow->stationary;
  uint64_t S = !held ? 0 : load_rule(p, &req->mm);
  uint64_t S0 = p->rule == RULE_ONNXIM ? 2 * p->rows - 1 : S; /* of an idle array */
  if (req->mm.kind == TSR_MM_PRELOAD) {
    *out = (struct tsr_estimate){.cycles = S0, .events = 3};
    return;
  }
  uint64_t F = tsri_folds(&x, &req->mm), T = stream_rule(p, tsri_stream(&x, &req->mm));
  uint64_t tail = !held && !req->mm.last ? 0 : skew(p);
  if (p->drain == SERIAL && !held && req->mm.last) tail += p->rows;
  out->folds = F;
  out->events = F + 3;
  out->cycles = p->preload && held ? S0 + (F - (F > 0)) * tsr_max_u64(T, S) + T + tail
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
    .doc = "systolic array: output, weight, input or row stationary",
    .state_size = sizeof(struct state),
    .params_size = sizeof(struct params),
    .params = params,
    .counters = counters,
    .ports = ports,
    .init = init,
    .visit = visit,
    .rest = rest,
    .unit = &unit};
