/* tile.dot: m x n dot products of k elements a cycle, as in the tensor cores of GPUs.
 *
 * A request is a matmul of operands in scratchpads.  Its result is cut into blocks of
 * m x n; a block takes ceil(k / (tile k * rate)) steps, one for each piece of k.
 *
 * Order.  The blocks of a group stand in strips, along which one operand's fragment is
 * the same: rows inner, columns outer with `keep: b` and `none`, columns inner, rows
 * outer with `keep: a`.  A strip is cut into as few folds as `accumulators` allow, of
 * even size, the larger ones first; no fold crosses the end of a strip.  Within a fold
 * k is outer, blocks inner: each piece of k is a round over the fold's blocks.
 *
 * A step.  Its operands come into one set of registers, `fetch` bytes a cycle of a and
 * b together, at least one cycle; the next step's begin to come in the cycle after it
 * entered.  The kept operand is not fetched while its fragment (place and piece of k)
 * stays the same.  The step enters in the last cycle of its fetch, or later: without
 * `forward` at least `depth` cycles after the step before it of the same block, and in
 * a request that is not `first` no step before all results so far are written, because
 * partial sums are read from scratchpad c where a step enters.
 *
 * Results.  A step that enters in cycle t is in its accumulator at the end of cycle
 * t + depth - 1; a block's last one goes to scratchpad c in that cycle.  No fold and no
 * request waits for the pipeline of the one before; what is left of it, depth - 1
 * cycles, shows where no step follows.
 *
 * So a fold of R rounds, whose operands come in F cycles a round and F' in the last,
 * with G = depth, or 1 with `forward`, takes F + (R-2) max(F, G) + max(F', G) cycles
 * (R = 1: F'), and a lone request the sum of its folds and depth - 1.  F is the number of
 * blocks where `fetch` is no limit.
 *
 * Accepted and consumed: when the last step has entered.  Done: its results are written.
 *
 * A gated request enters steps all the same; the whole tile stands still from the cycle
 * in which its first result would be written until `open`.  Inside, time is that of the
 * pipeline, which stops then; `shift` is by how much it is behind.
 *
 * A scratchpad whose port is too slow lengthens the fold, before its results.  Of a
 * sparse b, 2 of each 4 along k are stored and multiplied; all of a is fetched. */
#include "models/models_int.h"

enum keep { KEEP_A, KEEP_B, KEEP_NONE };
enum { A, B, C };

static const char *const keep_names[] = {"a", "b", "none", NULL};

struct params {
  uint64_t m, n, k, depth, fetch, accumulators;
  int keep;
  bool forward;
};

static const struct tsr_param params[] = {
    {.key = "m",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = 4096,
     .offset = offsetof(struct params, m),
     .uncertainty = "exact",
     .doc = "rows of the result of a step",
     .src = "SRC:assumed"},
    {.key = "n",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = 4096,
     .offset = offsetof(struct params, n),
     .uncertainty = "exact",
     .doc = "columns of the result of a step",
     .src = "SRC:assumed"},
    {.key = "k",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = 4096,
     .offset = offsetof(struct params, k),
     .uncertainty = "exact",
     .doc = "products of a dot product in one cycle, at rate 1",
     .src = "SRC:assumed"},
    {.key = "depth",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = 1024,
     .def = "4",
     .offset = offsetof(struct params, depth),
     .uncertainty = "0.5",
     .doc = "cycles from the operands of a step to its written accumulator",
     .src = "SRC:assumed"},
    {.key = "fetch",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_BYTES,
     .low = 1,
     .high = 1u << 24,
     .unlimited = true,
     .def = "unlimited",
     .offset = offsetof(struct params, fetch),
     .uncertainty = "exact",
     .doc = "bytes of operands that the tile takes in one cycle, a and b together",
     .src = "SRC:assumed"},
    {.key = "keep",
     .type = TSR_PARAM_ENUM,
     .names = keep_names,
     .def = "b",
     .offset = offsetof(struct params, keep),
     .uncertainty = "exact",
     .doc = "operand whose fragment stays in its registers between steps",
     .src = "SRC:assumed"},
    {.key = "accumulators",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = 65536,
     .def = "8",
     .offset = offsetof(struct params, accumulators),
     .uncertainty = "exact",
     .doc = "blocks of m x n results that the accumulators hold",
     .src = "SRC:assumed"},
    {.key = "forward",
     .type = TSR_PARAM_BOOL,
     .def = "false",
     .offset = offsetof(struct params, forward),
     .uncertainty = "exact",
     .doc = "the adder takes its last result back: the next step may add to the same block",
     .src = "SRC:assumed"},
    {.key = NULL}};

enum { FOLDS, ACTIVE_CYCLES, SLOTS, SLOTS_USED, MACS, CONFLICTS };
static const struct tsr_counter counters[] = {
    {"folds", TSR_COUNTER_SUM, "folds run"},
    {"active_cycles", TSR_COUNTER_SUM, "cycles in which the tile takes operands"},
    {"slots", TSR_COUNTER_SUM, "multipliers times steps"},
    {"slots_used", TSR_COUNTER_SUM, "of those, multipliers that hold work"},
    {"macs", TSR_COUNTER_SUM,
     "useful multiply-accumulates, those of a sparse operand's zeros "
     "not counted"},
    {"conflict_cycles", TSR_COUNTER_SUM, "cycles by which scratchpad ports lengthened folds"},
    {NULL, TSR_COUNTER_SUM, NULL}};

/* ---- how long a fold takes ---- */

/* A request as the tile cuts it.  Arrays are by operand: m and a, n and b. */
struct job {
  const struct params *p;
  const struct tsr_mm_req *q;
  int still, moving; /* operand that is the same along a strip, the other */
  uint64_t size[2];  /* of a block */
  uint64_t extent[2], elem_bytes[2];
  uint64_t k[2], piece[2]; /* elements along k that are stored; in a step */
  uint64_t rounds;         /* steps of a block */
  uint64_t strips, blocks; /* of a group; of a strip */
  uint64_t folds;          /* of a strip */
};

struct fold {
  uint64_t blocks;
  uint64_t still, moving, last; /* extents: of the strip, of all blocks, of the last */
  uint64_t still0, moving0;     /* where it begins */
  bool fresh;                   /* the fragment that is kept is not there yet */
};

struct timing {
  uint64_t cycles; /* without ports: those in which operands come, and waits */
  uint64_t waits;
  uint64_t enters; /* cycle in which the first block's last step enters */
  uint64_t first;  /* cycles until the first step could enter */
};

static bool has_work(const struct tsr_mm_req *q) {
  return q->kind == TSR_MM_RUN && q->m && q->n && q->k && q->groups;
}

/* Elements of k that a sparse operand stores: 2 of each 4. */
static uint64_t stored(uint64_t k) {
  return k / 4 * 2 + tsr_min_u64(k % 4, 2);
}

static struct job job_of(const struct params *p, const struct tsr_mm_req *q) {
  bool a = p->keep == KEEP_A;
  struct job j = {.p = p,
                  .q = q,
                  .still = a ? A : B,
                  .moving = a ? B : A,
                  .size = {p->m, p->n},
                  .extent = {q->m, q->n},
                  .elem_bytes = {q->a_bytes, q->b_bytes},
                  .k = {q->k, q->sparse ? stored(q->k) : q->k}};
  j.piece[B] = p->k * q->rate;
  j.piece[A] = q->sparse ? 2 * j.piece[B] : j.piece[B];
  j.rounds = tsr_ceil_div(j.k[B], j.piece[B]);
  j.strips = tsr_ceil_div(j.extent[j.still], j.size[j.still]);
  j.blocks = tsr_ceil_div(j.extent[j.moving], j.size[j.moving]);
  j.folds = tsr_ceil_div(j.blocks, p->accumulators);
  return j;
}

/* Fold `i` of a strip. */
static struct fold fold_of(const struct job *j, uint64_t strip, uint64_t i) {
  uint64_t even = j->blocks / j->folds, larger = j->blocks % j->folds;
  uint64_t size = j->size[j->moving];
  struct fold f = {.blocks = even + (i < larger),
                   .still0 = strip * j->size[j->still],
                   .moving0 = (i * even + tsr_min_u64(i, larger)) * size,
                   .fresh = j->p->keep == KEEP_NONE || j->rounds > 1 || i == 0};
  f.still = tsr_min_u64(j->size[j->still], j->extent[j->still] - f.still0);
  f.moving = tsr_min_u64(f.blocks * size, j->extent[j->moving] - f.moving0);
  f.last = f.moving - (f.blocks - 1) * size;
  return f;
}

static uint64_t fetch_cycles(const struct params *p, uint64_t bytes) {
  if (p->fetch == TSR_UNLIMITED) return 1;
  return tsr_max_u64(1, tsr_ceil_div(bytes, p->fetch));
}

/* Cycles in which the operands of a round come, and of its first step. */
struct round {
  uint64_t first, all;
};
static struct round round_of(const struct job *j, const struct fold *f, bool last) {
  uint64_t column[2]; /* bytes of one row of a, one column of b */
  for (int x = A; x <= B; x++) {
    uint64_t k = last ? j->k[x] - (j->rounds - 1) * j->piece[x] : j->piece[x];
    column[x] = k * j->elem_bytes[x];
  }
  uint64_t still = f->still * column[j->still];
  uint64_t head = f->fresh ? still : 0, rest = j->p->keep == KEEP_NONE ? still : 0;
  uint64_t whole = j->size[j->moving] * column[j->moving], edge = f->last * column[j->moving];
  struct round r = {0, 0};
  r.all = r.first = fetch_cycles(j->p, head + (f->blocks > 1 ? whole : edge));
  if (f->blocks > 1)
    r.all +=
        (f->blocks - 2) * fetch_cycles(j->p, rest + whole) + fetch_cycles(j->p, rest + edge);
  return r;
}

static struct timing timing_of(const struct job *j, const struct fold *f) {
  struct round r = round_of(j, f, j->rounds == 1), end = round_of(j, f, true);
  struct timing t = {r.all, 0, r.first - 1, r.first};
  uint64_t gap = j->p->forward ? 1 : j->p->depth, n = j->rounds - 1;
  if (!n) return t;
  uint64_t before = (n - 1) * tsr_max_u64(r.all, gap); /* the last two rounds */
  t.cycles = r.all + before + tsr_max_u64(end.all, gap);
  t.waits = t.cycles - n * r.all - end.all;
  t.enters = before + r.first - 1 + tsr_max_u64(r.all - r.first + end.first, gap);
  return t;
}

/* ---- state ---- */

/* A request from its start to the end of its results; cycles of the pipeline. */
struct flight {
  struct tsr_ticket *ticket;
  bool gated;
  uint64_t ordinal; /* its gate is open once `opened` has reached it */
  uint64_t gate;    /* its first result is written */
  uint64_t done;
};

/* What a fold's cycles are, in the order in which they are reported though they alternate:
 * operands come and no step enters, ports, steps, and waits for the pipeline. */
static const enum tsr_span_state parts[] = {TSR_SPAN_FILL, TSR_SPAN_CONFLICT, TSR_SPAN_BUSY,
                                            TSR_SPAN_DRAIN};
enum { FILL, CONFLICT, BUSY, WAIT, N_PARTS };

struct state {
  const struct params *p;
  const struct tsr_env *env;
  uint64_t *counters;
  struct tsr_instance *self, *buf[3];
  struct flight flight[TSR_TICKETS_MAX]; /* ring; how many of all came how far: */
  uint64_t n_begun, n_ended, n_passed, n_left, n_consumed, n_done;
  uint64_t opened, gated; /* gates opened, requests gated in this layer */
  bool watching;          /* the first gate not passed has its event */
  bool frozen;            /* it was closed: the pipeline stands */
  uint64_t shift;         /* cycles for which it has stood so far */
  /* the present request, and its fold */
  struct job job;
  uint64_t group, strip, index;
  struct fold f;
  uint64_t start, end, part[N_PARTS], reported;
  uint64_t c_read, c_write;
  bool waiting, held; /* for a gate within the fold; and scratchpad c for the fold */
  /* cycles of the pipeline */
  uint64_t free;    /* the latest step has entered */
  uint64_t written; /* its result is where it belongs */
  uint64_t emptied; /* up to here what is left in the pipeline is reported */
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

static struct flight *flight_at(struct state *s, uint64_t i) {
  return &s->flight[i % TSR_TICKETS_MAX];
}
static uint64_t now_cycle(const struct state *s) {
  return s->env->fs_cycle(s->env->engine, s->env->now_fs(s->env->engine));
}
/* Runs fn at a cycle of the pipeline, which no closed gate precedes. */
static void at(struct state *s, uint64_t cycle, tsr_model_fn *fn) {
  cycle = tsr_max_u64(cycle + s->shift, now_cycle(s));
  s->env->at(s->env->engine, s->env->cycle_fs(s->env->engine, cycle), TSR_PRIO_TILE, fn, s);
}
static void span(struct state *s, enum tsr_span_state st, uint64_t start, uint64_t cycles) {
  if (cycles) s->env->span(s->env->engine, s->self->unit, st, start + s->shift, cycles);
}

/* The first gate that is not passed; NULL: none. */
static struct flight *next_gate(struct state *s) {
  while (s->n_passed < s->n_begun && !flight_at(s, s->n_passed)->gated) s->n_passed++;
  return s->n_passed < s->n_begun ? flight_at(s, s->n_passed) : NULL;
}
static bool closed(const struct state *s, const struct flight *x) {
  return s->opened < x->ordinal;
}

static uint64_t pipeline_now(struct state *s) {
  return s->frozen ? next_gate(s)->gate : now_cycle(s) - s->shift;
}

/* ---- ports ---- */

/* Where the accesses of an operand fall: a round reads a piece of k of all rows (or
 * columns), as if the last piece were whole.  False where neither axis is contiguous;
 * then evenly. */
static bool pattern_of(const struct state *s, int x, uint64_t lanes, uint64_t lane0,
                       struct tsr_pattern *out) {
  const struct job *j = &s->job;
  const struct tsr_buffer_view *v = x == A ? &j->q->a : &j->q->b;
  int64_t lane = x == A ? v->i_bytes : v->j_bytes, along = x == A ? v->j_bytes : v->i_bytes;
  int64_t elem = (int64_t)j->elem_bytes[x];
  int64_t piece = (int64_t)tsr_min_u64(j->piece[x], j->k[x]);
  if (along != elem && lane != elem) return false;
  *out = (struct tsr_pattern){.addr = v->addr + lane0 * (uint64_t)lane,
                              .lane_bytes = lane,
                              .step_bytes = piece * along,
                              .lanes = lanes,
                              .steps = j->rounds,
                              .elem_bytes = (uint32_t)(piece * elem)};
  if (along == elem) return true;
  out->lane_bytes = along; /* k across the lanes */
  out->lanes = (uint64_t)piece;
  out->elem_bytes = (uint32_t)(lanes * (uint64_t)elem);
  return true;
}

static uint64_t operand_cycles(struct state *s, int x, uint64_t cycles) {
  const struct job *j = &s->job;
  const struct fold *f = &s->f;
  bool still = x == j->still, again = still && s->p->keep == KEEP_NONE && f->blocks > 1;
  uint64_t lanes = still ? f->still : f->moving;
  uint64_t bytes = lanes * j->k[x] * j->elem_bytes[x] * (again ? f->blocks : 1);
  if (still && !f->fresh) bytes = 0;
  struct tsr_pattern pattern;
  bool dense =
      bytes && !again && pattern_of(s, x, lanes, still ? f->still0 : f->moving0, &pattern);
  struct tsr_instance *b = s->buf[x];
  return b->ops->buffer->tile(b->state, s->start + s->shift, cycles, bytes, 0,
                              dense ? &pattern : NULL);
}

/* The fold's cycles with what the ports of a and b, then c, add to `cycles`.  `gate`, NULL
 * or of the request at hand, moves with them. */
static uint64_t port_cycles(struct state *s, uint64_t cycles, uint64_t *gate) {
  uint64_t a = operand_cycles(s, A, cycles), b = operand_cycles(s, B, cycles);
  uint64_t operands = tsr_max_u64(a, b);
  if (gate) *gate += operands - cycles;
  const struct flight *g = next_gate(s);
  s->held = g && closed(s, g) && g->gate < s->start + operands;
  s->c_write = s->f.still * s->f.moving * s->job.q->acc_bytes;
  s->c_read = s->job.q->first ? 0 : s->c_write;
  struct tsr_instance *x = s->buf[C];
  uint64_t from = s->held ? TSR_PHASE_LATER : s->start + s->shift;
  uint64_t c = x->ops->buffer->tile(x->state, from, cycles, s->c_read, s->c_write, NULL);
  uint64_t all = tsr_max_u64(operands, c);
  if (gate) *gate += all - operands;
  return all;
}

/* ---- folds ---- */

static void on_consumed(void *arg) {
  struct state *s = arg;
  struct tsr_ticket *t = flight_at(s, s->n_consumed++)->ticket;
  t->consumed(t);
}
static void on_done(void *arg) {
  struct state *s = arg;
  struct tsr_ticket *t = flight_at(s, s->n_done++)->ticket;
  t->done(t);
}
static void on_accepted(void *arg) {
  struct state *s = arg;
  struct tsr_ticket *t = flight_at(s, s->n_begun - 1)->ticket;
  t->accepted(t);
}

/* Results end in order, each after the gates up to its own. */
static void let_leave(struct state *s) {
  (void)next_gate(s); /* passes over requests that have none */
  while (s->n_left < tsr_min_u64(s->n_passed, s->n_ended))
    at(s, flight_at(s, s->n_left++)->done, on_done);
}

static void end_request(struct state *s, uint64_t consumed, uint64_t done) {
  struct flight *x = flight_at(s, s->n_ended++);
  x->done = done;
  x->ticket->late = (struct tsr_lateness){0};
  at(s, consumed, on_consumed);
  let_leave(s);
  at(s, consumed, on_accepted);
}

/* Reports the fold's cycles up to `until`, counted from its start. */
static void report(struct state *s, uint64_t until) {
  uint64_t from = 0;
  for (int i = 0; i < N_PARTS; from += s->part[i++]) {
    uint64_t lo = tsr_max_u64(from, s->reported), hi = tsr_min_u64(from + s->part[i], until);
    if (lo < hi) span(s, parts[i], s->start + lo, hi - lo);
  }
  s->reported = until;
}

/* The same for what is left in the pipeline where no operands come. */
static void report_emptying(struct state *s, uint64_t until) {
  until = tsr_min_u64(until, s->written);
  if (s->emptied >= until) return;
  span(s, TSR_SPAN_DRAIN, s->emptied, until - s->emptied);
  s->emptied = until;
}

static void count(struct state *s) {
  const struct job *j = &s->job;
  const struct fold *f = &s->f;
  uint64_t *c = s->counters, rate = j->q->rate;
  uint64_t whole = (j->rounds - 1) * s->p->k; /* multipliers of a dot product, all rounds */
  uint64_t last = tsr_ceil_div(j->k[B] - (j->rounds - 1) * j->piece[B], rate);
  c[FOLDS]++;
  c[ACTIVE_CYCLES] += s->end - s->start - s->part[WAIT];
  c[SLOTS] += f->blocks * j->rounds * s->p->m * s->p->n * s->p->k;
  c[SLOTS_USED] += f->still * f->moving * (whole + last);
  c[MACS] += f->still * f->moving * j->k[B];
  c[CONFLICTS] += s->part[CONFLICT];
}

static bool next_fold(struct state *s) {
  if (++s->index < s->job.folds) return true;
  s->index = 0;
  if (++s->strip < s->job.strips) return true;
  s->strip = 0;
  return ++s->group < s->job.q->groups;
}

static void run_fold(void *arg);

/* Once no gate is left before its end, a fold's cycles are known. */
static void settle(struct state *s) {
  const struct flight *g = next_gate(s);
  s->waiting = g && g->gate < s->end;
  if (s->waiting) return;
  if (s->held) {
    struct tsr_instance *c = s->buf[C];
    c->ops->buffer->occupy(c->state, now_cycle(s), s->end - s->start, s->c_read, s->c_write);
  }
  report(s, s->end - s->start);
  count(s);
  s->free = s->emptied = s->end;
  s->written = s->end + s->p->depth - 1;
  if (next_fold(s))
    at(s, s->free, run_fold);
  else
    end_request(s, s->free, s->written);
}

static void watch_gate(struct state *s);

static void run_fold(void *arg) {
  struct state *s = arg;
  s->start = tsr_max_u64(s->free, pipeline_now(s));
  report_emptying(s, s->start);
  bool first = !s->group && !s->strip && !s->index;
  s->f = fold_of(&s->job, s->strip, s->index);
  struct timing t = timing_of(&s->job, &s->f);
  uint64_t ready = s->start + t.first - 1; /* partial sums are in scratchpad c */
  uint64_t wait = first && !s->job.q->first && s->written > ready ? s->written - ready : 0;
  t.cycles += wait;
  uint64_t *gate = first ? &flight_at(s, s->n_begun - 1)->gate : NULL;
  if (gate) *gate = s->start + wait + t.enters + s->p->depth - 1;
  uint64_t cycles = port_cycles(s, t.cycles, gate);
  s->end = s->start + cycles;
  s->part[BUSY] = s->f.blocks * s->job.rounds;
  s->part[WAIT] = t.waits + wait;
  s->part[CONFLICT] = cycles - t.cycles;
  s->part[FILL] = t.cycles - s->part[WAIT] - s->part[BUSY];
  s->reported = 0;
  watch_gate(s);
  settle(s);
}

/* ---- gates ---- */

static void pass_gate(struct state *s, uint64_t stall) {
  uint64_t gate = next_gate(s)->gate;
  if (s->waiting)
    report(s, gate - s->start);
  else
    report_emptying(s, gate);
  s->watching = s->frozen = false;
  s->shift += stall;
  s->n_passed++;
  let_leave(s);
  watch_gate(s);
  if (s->waiting) settle(s);
}

static void on_gate(void *arg) {
  struct state *s = arg;
  s->frozen = closed(s, next_gate(s));
  if (!s->frozen) pass_gate(s, 0);
}

static void watch_gate(struct state *s) {
  const struct flight *g = next_gate(s);
  if (!g || s->watching) return;
  s->watching = true;
  at(s, g->gate, on_gate);
}

static void open(void *vs) {
  struct state *s = vs;
  s->opened++;
  if (s->frozen && !closed(s, next_gate(s)))
    pass_gate(s, now_cycle(s) - s->shift - next_gate(s)->gate);
}

static void start(void *vs, const struct tsr_req *req, struct tsr_ticket *t) {
  struct state *s = vs;
  const struct tsr_mm_req *q = &req->mm;
  bool work = has_work(q);
  struct flight *x = flight_at(s, s->n_begun);
  *x = (struct flight){.ticket = t, .gated = q->gated && work};
  if (q->gated) x->ordinal = ++s->gated;
  s->n_begun++;
  if (!work) { /* wholly outside, or nothing to preload */
    uint64_t now = tsr_max_u64(pipeline_now(s), s->free);
    end_request(s, now, tsr_max_u64(now, s->written));
    return;
  }
  s->job = job_of(s->p, q);
  s->group = s->strip = s->index = 0;
  run_fold(s);
}

static void end(void *vs) {
  struct state *s = vs;
  report_emptying(s, s->written);
  s->gated = s->opened = 0;
}

/* ---- repetition ---- */

/* A cycle of the pipeline is one of the clock's, less those for which it has stood. */
static void visit_cycle(const struct state *s, uint64_t *cycle, struct tsr_visit *v) {
  uint64_t real = *cycle + s->shift;
  tsr_visit_cycle(v, &real);
  *cycle = real - s->shift;
}
static void visit_floor(const struct state *s, uint64_t *cycle, uint64_t floor,
                        struct tsr_visit *v) {
  uint64_t real = *cycle + s->shift;
  tsr_visit_cycle_floor(v, &real, floor);
  *cycle = real - s->shift;
}

static void visit_flights(struct state *s, struct tsr_visit *v) {
  const uint64_t behind[] = {s->n_ended, s->n_passed, s->n_left, s->n_consumed, s->n_done};
  uint64_t from = s->n_begun;
  for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
    tsr_visit_value(v, s->n_begun - behind[i]);
    from = tsr_min_u64(from, behind[i]);
  }
  for (uint64_t i = from; i < s->n_begun; i++) {
    struct flight *x = flight_at(s, i);
    tsr_visit_pointer(v, x->ticket);
    tsr_visit_value(v, x->gated);
    tsr_visit_value(v, s->gated - x->ordinal);
    if (x->gated && i >= s->n_passed) visit_cycle(s, &x->gate, v);
    if (i < s->n_ended && i >= s->n_left) visit_cycle(s, &x->done, v);
  }
}

static void visit_fold(struct state *s, struct tsr_visit *v) {
  const struct fold *f = &s->f;
  const uint64_t values[] = {s->group,   s->strip,   s->index,   f->blocks,  f->still,
                             f->moving,  f->last,    f->still0,  f->moving0, f->fresh,
                             s->part[0], s->part[1], s->part[2], s->part[3], s->reported,
                             s->c_read,  s->c_write, s->waiting, s->held};
  tsr_visit_pointer(v, s->job.q);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) tsr_visit_value(v, values[i]);
  visit_cycle(s, &s->start, v);
  visit_cycle(s, &s->end, v);
}

static void visit(void *vs, struct tsr_visit *v) {
  struct state *s = vs;
  uint64_t floor = pipeline_now(s) + s->shift;
  v->since_cycle = tsr_min_u64(v->since_cycle, floor);
  visit_flights(s, v);
  tsr_visit_value(v, s->gated - s->opened);
  tsr_visit_value(v, s->watching);
  tsr_visit_value(v, s->frozen);
  if (s->n_begun != s->n_ended) visit_fold(s, v);
  bool emptied = s->emptied >= s->written;
  tsr_visit_value(v, emptied);
  for (int i = 0; i < 2; i++) {
    uint64_t *cycle = i ? &s->emptied : &s->written;
    if (emptied)
      visit_floor(s, cycle, floor, v);
    else
      visit_cycle(s, cycle, v);
  }
  visit_floor(s, &s->free, floor, v);
}

static void rest(void *vs) {
  struct state *s = vs;
  s->start = s->end = s->free = s->written = s->emptied = s->shift = 0;
}

/* ---- what others ask ---- */

/* Folds [from, to) of a strip take the same but for their size, of which there are two. */
static uint64_t folds_cycles(const struct job *j, uint64_t strip, uint64_t from, uint64_t to) {
  uint64_t larger = tsr_min_u64(tsr_max_u64(j->blocks % j->folds, from), to), sum = 0;
  const uint64_t part[2][2] = {{from, larger}, {larger, to}};
  for (int i = 0; i < 2; i++) {
    if (part[i][0] >= part[i][1]) continue;
    struct fold f = fold_of(j, strip, part[i][0]);
    sum += (part[i][1] - part[i][0]) * timing_of(j, &f).cycles;
  }
  return sum;
}

static uint64_t strip_cycles(const struct job *j, uint64_t strip) {
  uint64_t last = j->folds - 1; /* the first fetches more, the last is cut */
  uint64_t sum = folds_cycles(j, strip, 0, 1);
  if (last > 1) sum += folds_cycles(j, strip, 1, last);
  return last ? sum + folds_cycles(j, strip, last, j->folds) : sum;
}

static void estimate(const void *vp, const struct tsr_req *req, struct tsr_estimate *out) {
  const struct params *p = vp;
  *out = (struct tsr_estimate){.events = 3};
  if (!has_work(&req->mm)) return;
  struct job j = job_of(p, &req->mm);
  uint64_t last = j.strips - 1;
  out->folds = j.folds * j.strips * req->mm.groups;
  out->events += out->folds + req->mm.gated;
  out->cycles =
      (last * strip_cycles(&j, 0) + strip_cycles(&j, last)) * req->mm.groups + p->depth - 1;
}

static void facts(const void *vp, struct tsr_unit_facts *out) {
  const struct params *p = vp;
  *out = (struct tsr_unit_facts){
      .rows = p->m, .cols = p->n, .depth = p->k, .dataflow = "dot", .latency_cycles = p->depth};
}

static const struct tsr_unit_ops unit = {
    .start = start, .open = open, .end = end, .estimate = estimate, .facts = facts};
static const struct tsr_port ports[] = {
    {"a", "sram"}, {"b", "sram"}, {"c", "sram"}, {NULL, NULL}};

const struct tsr_component tsri_tile_dot = {
    .abi = TSR_MODEL_ABI,
    .kind = "tile.dot",
    .doc = "dot products, a block of results a cycle, in a pipeline",
    .state_size = sizeof(struct state),
    .params_size = sizeof(struct params),
    .params = params,
    .counters = counters,
    .ports = ports,
    .init = init,
    .visit = visit,
    .rest = rest,
    .unit = &unit};
