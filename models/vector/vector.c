/* vector: a unit of `lanes` lanes that reads one or two operands from scratchpads, applies
 * an operation to every element, and writes the result back.
 *
 * A lane is 4 bytes wide.  An operation takes a lane r cycles an element (`rates`, by its
 * class in models/arith/vector.def, or its own under `ops`).  With `pack` a lane takes 2
 * elements of 2 bytes or 4 of 1 byte at once, by the widest element that streams; one of
 * 8 bytes takes it twice as long.  So e = lanes * pack elements make a pass of
 * r * ceil(width / 4) cycles, and a request of
 *   element by element    ceil(rows * cols / e) passes: rows follow each other
 *   a reduction           rows * ceil(cols / e): a row ends its pass
 *   a window operation    window * ceil(rows * cols / e): a lane holds a result
 * accepts elements for T = passes * cycles of a pass.  Ports that are too narrow lengthen
 * T; reads begin with it, writes `latency` cycles later.  Results are complete `latency`
 * cycles after the last pass, those of a reduction another `tree` cycles for each level
 * of the tree over min(lanes, cols) partial sums.  (SRC:assumed, a plain pipeline.)
 *
 * The next request may start when this one has accepted its last pass: pipelined, no
 * bubble.  Requests end in order.  Two events a request. */
#include "models/arith/vector.h"
#include "models/models_int.h"
#include "sim/base/mem.h"

struct params {
  uint64_t lanes, latency, tree;
  bool pack;
  uint64_t rates[TSR_VEC_CLASS_N_];
  uint64_t ops[TSR_VEC_N_]; /* 0: that of its class */
};

enum { LANE_BYTES = 4, RATE_MAX = 4096 };

#define RATE(cls, name, def_, doc_)                                                   \
  {.key = "rates." name,                                                              \
   .type = TSR_PARAM_QUANTITY,                                                        \
   .unit = TSR_UNIT_COUNT,                                                            \
   .low = 1,                                                                          \
   .high = RATE_MAX,                                                                  \
   .def = def_,                                                                       \
   .offset = offsetof(struct params, rates) + TSR_VEC_CLASS_##cls * sizeof(uint64_t), \
   .uncertainty = "0.5",                                                              \
   .doc = "cycles of a lane for an element: " doc_,                                   \
   .src = "SRC:assumed"},
#define VEC(id, name, kind, cls, doc_)                                          \
  {.key = "ops." name,                                                          \
   .type = TSR_PARAM_QUANTITY,                                                  \
   .unit = TSR_UNIT_COUNT,                                                      \
   .low = 0,                                                                    \
   .high = RATE_MAX,                                                            \
   .def = "0",                                                                  \
   .offset = offsetof(struct params, ops) + TSR_VEC_##id * sizeof(uint64_t),    \
   .uncertainty = "0.5",                                                        \
   .doc = "cycles of a lane for an element of " name "; 0: those of its class", \
   .src = "SRC:assumed"},

static const struct tsr_param params[] = {
    {.key = "lanes",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = TSR_VEC_LANES_MAX,
     .def = "128",
     .offset = offsetof(struct params, lanes),
     .uncertainty = "exact",
     .doc = "lanes of 4 bytes; also the partial sums of a reduction",
     .src = "SRC:assumed"},
    {.key = "latency",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 0,
     .high = 4096,
     .def = "8",
     .offset = offsetof(struct params, latency),
     .uncertainty = "0.5",
     .doc = "cycles from an operand to its result",
     .src = "SRC:assumed"},
    {.key = "tree",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 0,
     .high = 4096,
     .def = "1",
     .offset = offsetof(struct params, tree),
     .uncertainty = "0.5",
     .doc = "cycles of a level of the tree that adds the lanes' partial sums",
     .src = "SRC:assumed"},
    {.key = "pack",
     .type = TSR_PARAM_BOOL,
     .def = "false",
     .offset = offsetof(struct params, pack),
     .uncertainty = "exact",
     .doc = "a lane takes 2 elements of 2 bytes, or 4 of 1 byte, at once",
     .src = "SRC:assumed"},
    RATE(MOVE, "move", "1", "copies") RATE(SIMPLE, "simple", "1", "additions and comparisons")
        RATE(MUL, "mul", "1", "multiplications") RATE(DIV, "div", "4", "divisions and roots")
            RATE(SPECIAL, "special", "4", "exponentials and what is made of them")
#include "models/arith/vector.def"
                {.key = NULL}};
#undef VEC
#undef RATE

enum { OPS, ELEMENTS, ACTIVE_CYCLES, CONFLICT_CYCLES, CLASS_ELEMS };
static const struct tsr_counter counters[] = {
    {"ops", TSR_COUNTER_SUM, "requests executed"},
    {"elements", TSR_COUNTER_SUM, "elements that entered a lane"},
    {"active_cycles", TSR_COUNTER_SUM, "cycles in which the unit accepts elements"},
    {"conflict_cycles", TSR_COUNTER_SUM,
     "cycles by which scratchpad ports lengthened requests"},
    [CLASS_ELEMS + TSR_VEC_CLASS_MOVE] = {"move_elems", TSR_COUNTER_SUM, "of those, moved"},
    [CLASS_ELEMS + TSR_VEC_CLASS_SIMPLE] = {"simple_elems", TSR_COUNTER_SUM,
                                            "of those, added or compared"},
    [CLASS_ELEMS + TSR_VEC_CLASS_MUL] = {"mul_elems", TSR_COUNTER_SUM, "of those, multiplied"},
    [CLASS_ELEMS + TSR_VEC_CLASS_DIV] = {"div_elems", TSR_COUNTER_SUM,
                                         "of those, divided or under a root"},
    [CLASS_ELEMS + TSR_VEC_CLASS_SPECIAL] = {"special_elems", TSR_COUNTER_SUM,
                                             "of those, through a special function"},
    {NULL, TSR_COUNTER_SUM, NULL}};

/* Results on their way: where, when the first and when the last is there. */
struct pending {
  const struct tsr_instance *buffer;
  uint64_t from, to; /* bytes */
  uint64_t first, done;
  bool in_order; /* an element behind the other; else all are there when the last is */
};
enum { PENDING = 16 };

struct state {
  const struct params *p;
  const struct tsr_env *env;
  struct tsr_instance *self;
  struct tsr_ticket *accepting;               /* of the request that takes elements */
  struct tsr_ticket *ending[TSR_TICKETS_MAX]; /* a ring: requests end in order */
  uint64_t n_started, n_done;
  struct pending pending[PENDING]; /* a ring: of the latest requests */
  uint64_t free;                   /* cycle from which elements of another request may enter */
  uint64_t last_done;              /* of the latest request: its results are complete */
  bool drains;                     /* [free, last_done) is not reported yet */
};

static enum tsr_status init(void *vs, const void *vp, const struct tsr_wiring *w,
                            struct tsr_err *err) {
  struct state *s = vs;
  (void)err;
  s->p = vp;
  s->env = w->env;
  s->self = w->self;
  return TSR_OK;
}

/* ---- what a request takes ---- */

/* Far beyond the end of time, and still far from a wrap when added to. */
static const uint64_t FOREVER = UINT64_C(1) << 62;

static uint64_t times(uint64_t a, uint64_t b) {
  uint64_t r;
  return tsr_mul_u64(a, b, &r) && r < FOREVER ? r : FOREVER;
}

struct cost {
  uint64_t elements;
  uint64_t cycles; /* in which they enter */
  uint64_t tail;   /* from the last pass to the last result */
};

static uint32_t width_of(const struct tsr_vec_req *q, enum tsr_vec_kind kind) {
  uint32_t w = q->a_bytes > q->b_bytes ? q->a_bytes : q->b_bytes;
  return kind == TSR_VEC_REDUCE || q->d_bytes < w ? w : q->d_bytes;
}

static uint64_t levels(uint64_t lanes) {
  return lanes > 1 ? 64 - (uint64_t)__builtin_clzll(lanes - 1) : 0;
}

static struct cost cost_of(const struct params *p, const struct tsr_vec_req *q) {
  const struct tsr_vec_info *info = tsr_vec_info(q->op);
  uint32_t width = width_of(q, info->kind);
  uint64_t fit = p->pack && width && width < LANE_BYTES ? LANE_BYTES / width : 1;
  uint64_t e = p->lanes * fit, results = times(q->rows, q->cols);
  uint64_t rate = p->ops[q->op] ? p->ops[q->op] : p->rates[info->cls];
  uint64_t slow = width > LANE_BYTES ? tsr_ceil_div(width, LANE_BYTES) : 1;
  struct cost c = {.elements = results, .tail = p->latency};
  uint64_t passes = tsr_ceil_div(results, e);
  if (info->kind == TSR_VEC_REDUCE) {
    passes = times(q->rows, tsr_ceil_div(q->cols, e));
    c.tail += p->tree * levels(tsr_min_u64(p->lanes, q->cols));
  } else if (info->kind == TSR_VEC_WINDOW) {
    passes = times(passes, q->window);
    c.elements = times(results, q->window);
  }
  c.cycles = times(passes, rate * slow);
  return c;
}

/* ---- ports ---- */

struct traffic { /* of one scratchpad */
  struct tsr_instance *buffer;
  uint64_t read, write;
  const struct tsr_buffer_view *view; /* the one that moves most: its strides tell the banks */
  uint64_t most;
  uint32_t elem_bytes;
};
enum { SIDES = 4 }; /* a, b, d read, d written */

static void add_traffic(struct traffic *t, size_t *n, const struct tsr_buffer_view *v,
                        uint64_t elems, uint32_t elem_bytes, bool write, uint64_t more_bytes) {
  uint64_t bytes = times(elems, elem_bytes) + more_bytes;
  size_t i = 0;
  if (!v->buffer || !bytes) return;
  while (i < *n && t[i].buffer != v->buffer) i++;
  if (i == *n) t[(*n)++] = (struct traffic){.buffer = v->buffer};
  *(write ? &t[i].write : &t[i].read) += bytes;
  if (bytes <= t[i].most) return;
  t[i].most = bytes;
  t[i].view = v;
  t[i].elem_bytes = elem_bytes;
}

/* Two views of one scratchpad share its ports, so each scratchpad is asked once. */
static size_t traffic_of(const struct tsr_vec_req *q, const struct cost *c, struct traffic *t) {
  enum tsr_vec_kind kind = tsr_vec_info(q->op)->kind;
  bool sums = kind == TSR_VEC_REDUCE || kind == TSR_VEC_WINDOW;
  uint64_t results = kind == TSR_VEC_REDUCE ? q->rows : times(q->rows, q->cols), meta = 0;
  size_t n = 0;
  if (q->op == TSR_VEC_COMPRESS24) {
    results = times(q->rows, 2 * tsr_ceil_div(q->cols, 4));
    meta = times(q->rows, tsr_ceil_div(q->cols, 8)); /* a nibble for 4 elements */
  }
  add_traffic(t, &n, &q->a, c->elements, q->a_bytes, false, 0);
  add_traffic(t, &n, &q->b, q->b_elems, q->b_bytes, false, 0);
  if (sums && !q->first) add_traffic(t, &n, &q->d, results, q->d_bytes, false, 0);
  add_traffic(t, &n, &q->d, results, q->d_bytes, true, meta);
  return n;
}

/* Lanes lie along a row; a step is the next part of it, or the next row. */
static struct tsr_pattern pattern_of(const struct state *s, const struct tsr_vec_req *q,
                                     const struct traffic *t) {
  uint64_t lanes = tsr_max_u64(1, tsr_min_u64(s->p->lanes, q->cols));
  int64_t part = (int64_t)lanes * t->view->j_bytes;
  return (struct tsr_pattern){.addr = t->view->addr,
                              .lane_bytes = t->view->j_bytes,
                              .step_bytes = q->cols > lanes ? part : t->view->i_bytes,
                              .lanes = lanes,
                              .steps = tsr_ceil_div(t->most, lanes * t->elem_bytes),
                              .elem_bytes = t->elem_bytes};
}

/* Cycles in which the elements enter, lengthened by the ports: the slowest of them holds
 * the pipeline, and all are in use as long. */
static uint64_t through_ports(struct state *s, const struct tsr_vec_req *q,
                              const struct cost *c, uint64_t start) {
  struct traffic t[SIDES];
  size_t n = traffic_of(q, c, t);
  uint64_t T = c->cycles;
  for (size_t i = 0; i < n; i++) {
    struct tsr_pattern at = pattern_of(s, q, &t[i]);
    const struct tsr_buffer_ops *ops = t[i].buffer->ops->buffer;
    T = tsr_max_u64(T, ops->tile(t[i].buffer->state, TSR_PHASE_LATER, c->cycles, t[i].read,
                                 t[i].write, &at));
  }
  for (size_t i = 0; i < n; i++) {
    uint64_t from = t[i].read ? start : start + s->p->latency;
    t[i].buffer->ops->buffer->occupy(t[i].buffer->state, from, T, t[i].read, t[i].write);
  }
  return T;
}

/* ---- a request ---- */

static uint64_t now_cycle(const struct state *s) {
  return s->env->fs_cycle(s->env->engine, s->env->now_fs(s->env->engine));
}

static void at(struct state *s, uint64_t cycle, tsr_model_fn *fn) {
  uint64_t fs = s->env->cycle_fs(s->env->engine, cycle);
  s->env->at(s->env->engine, tsr_max_u64(fs, s->env->now_fs(s->env->engine)), TSR_PRIO_TILE, fn,
             s);
}

static void span(struct state *s, enum tsr_span_state state, uint64_t start, uint64_t cycles) {
  if (cycles) s->env->span(s->env->engine, s->self->unit, state, start, cycles);
}

/* The pipeline emptied from `free` on, until `until` at the latest. */
static void report_drain(struct state *s, uint64_t until) {
  until = tsr_min_u64(until, s->last_done);
  if (s->drains && until > s->free) span(s, TSR_SPAN_DRAIN, s->free, until - s->free);
  s->drains = false;
}

static void on_accepted(void *arg) {
  struct state *s = arg;
  struct tsr_ticket *t = s->accepting;
  t->accepted(t); /* which may start the next request */
  t->consumed(t);
}

static void on_done(void *arg) {
  struct state *s = arg;
  struct tsr_ticket *t = s->ending[s->n_done++ % TSR_TICKETS_MAX];
  if (s->n_done == s->n_started) report_drain(s, s->last_done);
  t->done(t);
}

static void count(struct state *s, const struct tsr_vec_req *q, const struct cost *c,
                  uint64_t conflicts) {
  uint64_t *k = s->self->counters;
  k[OPS]++;
  k[ELEMENTS] += c->elements;
  k[ACTIVE_CYCLES] += c->cycles;
  k[CONFLICT_CYCLES] += conflicts;
  k[CLASS_ELEMS + tsr_vec_info(q->op)->cls] += c->elements;
}

/* The byte behind n elements at an address. */
static uint64_t behind(uint64_t addr, uint64_t elems, uint32_t bytes) {
  uint64_t to;
  return tsr_add_u64(addr, times(elems, bytes), &to) ? to : UINT64_MAX;
}

/* The cycle from which `elems` elements at a view may be read in T cycles: not before they
 * are there, those that come in order as they come. */
static uint64_t there(const struct state *s, const struct tsr_buffer_view *v, uint64_t elems,
                      uint32_t bytes, uint64_t T, uint64_t from) {
  uint64_t to = behind(v->addr, elems, bytes);
  for (int i = 0; i < PENDING; i++) {
    const struct pending *p = &s->pending[i];
    if (p->done <= from || !elems || p->buffer != v->buffer || to <= p->from ||
        p->to <= v->addr)
      continue;
    uint64_t last = p->done > T ? p->done - T : 0;
    from = tsr_max_u64(from, p->in_order ? tsr_max_u64(p->first, last) : p->done);
  }
  return from;
}

/* When the first element may enter: its operands may be results of requests before it. */
static uint64_t ready(const struct state *s, const struct tsr_vec_req *q, uint64_t T,
                      uint64_t from) {
  enum tsr_vec_kind kind = tsr_vec_info(q->op)->kind;
  uint64_t all = times(times(q->rows, q->cols), q->window);
  from = there(s, &q->a, all, q->a_bytes, T, from);
  from = there(s, &q->b, q->b_elems, q->b_bytes, q->b_elems == all ? T : 0, from);
  bool adds = (kind == TSR_VEC_REDUCE || kind == TSR_VEC_WINDOW) && !q->first;
  return adds ? there(s, &q->d, q->rows, q->d_bytes, 0, from) : from;
}

static void remember(struct state *s, const struct tsr_vec_req *q, uint64_t first,
                     uint64_t done) {
  enum tsr_vec_kind kind = tsr_vec_info(q->op)->kind;
  uint64_t elems = kind == TSR_VEC_REDUCE ? q->rows : times(q->rows, q->cols);
  s->pending[s->n_started % PENDING] =
      (struct pending){.buffer = q->d.buffer,
                       .from = q->d.addr,
                       .to = behind(q->d.addr, elems, q->d_bytes),
                       .first = first,
                       .done = done,
                       .in_order = kind == TSR_VEC_UNARY || kind == TSR_VEC_BINARY};
}

static void start(void *vs, const struct tsr_req *req, struct tsr_ticket *t) {
  struct state *s = vs;
  const struct tsr_vec_req *q = &req->vec;
  struct cost c = cost_of(s->p, q);
  uint64_t from = tsr_max_u64(now_cycle(s), s->free), T = 0, done = from;
  if (c.cycles) {
    from = ready(s, q, c.cycles, from);
    report_drain(s, from);
    T = through_ports(s, q, &c, from);
    span(s, TSR_SPAN_BUSY, from, c.cycles);
    span(s, TSR_SPAN_CONFLICT, from + c.cycles, T - c.cycles);
    s->free = from + T;
    s->drains = true;
    done = s->free + c.tail;
    remember(s, q, from + s->p->latency, done);
  }
  count(s, q, &c, T > c.cycles ? T - c.cycles : 0);
  t->late = (struct tsr_lateness){.conflict_cycles = T > c.cycles ? T - c.cycles : 0};
  s->last_done = tsr_max_u64(s->last_done, done);
  s->accepting = t;
  s->ending[s->n_started++ % TSR_TICKETS_MAX] = t;
  at(s, from + T, on_accepted);
  at(s, s->last_done, on_done);
}

static void end(void *vs) {
  struct state *s = vs;
  report_drain(s, s->last_done);
}

/* ---- repetition ---- */

static void visit_pending(struct pending *p, struct tsr_visit *v) {
  tsr_visit_pointer(v, p->buffer);
  tsr_visit_value(v, p->from);
  tsr_visit_value(v, p->to);
  tsr_visit_value(v, p->in_order);
  tsr_visit_cycle(v, &p->first);
  tsr_visit_cycle(v, &p->done);
}

static void visit(void *vs, struct tsr_visit *v) {
  struct state *s = vs;
  tsr_visit_pointer(v, s->accepting);
  tsr_visit_value(v, s->n_started - s->n_done);
  for (uint64_t i = s->n_done; i < s->n_started; i++)
    tsr_visit_pointer(v, s->ending[i % TSR_TICKETS_MAX]);
  for (uint64_t i = 1; i <= PENDING; i++) {
    struct pending *p = &s->pending[(s->n_started + PENDING - i) % PENDING];
    if (p->done <= v->now_cycle) continue;
    tsr_visit_value(v, i);
    visit_pending(p, v);
  }
  tsr_visit_value(v, s->drains);
  if (s->drains)
    tsr_visit_cycle(v, &s->free);
  else
    tsr_visit_cycle_floor(v, &s->free, v->now_cycle);
  if (s->drains)
    tsr_visit_cycle(v, &s->last_done);
  else
    tsr_visit_cycle_floor(v, &s->last_done, v->now_cycle);
}

static void rest(void *vs) {
  struct state *s = vs;
  for (int i = 0; i < PENDING; i++) s->pending[i] = (struct pending){0};
  s->free = s->last_done = 0;
}

static void estimate(const void *vp, const struct tsr_req *req, struct tsr_estimate *out) {
  struct cost c = cost_of(vp, &req->vec);
  *out = (struct tsr_estimate){.cycles = c.cycles ? c.cycles + c.tail : 0, .events = 2};
}

static void facts(const void *vp, struct tsr_unit_facts *out) {
  const struct params *p = vp;
  *out = (struct tsr_unit_facts){.lanes = p->lanes, .latency_cycles = p->latency};
}

static const struct tsr_unit_ops unit = {
    .start = start, .end = end, .estimate = estimate, .facts = facts};
/* Which scratchpads an operation uses, its request says; the ports show which it may. */
static const struct tsr_port ports[] = {
    {"a", "sram"}, {"b", "sram"}, {"c", "sram"}, {NULL, NULL}};

const struct tsr_component tsri_vector = {.abi = TSR_MODEL_ABI,
                                          .kind = "vector",
                                          .doc = "vector unit: lanes that work on elements in "
                                                 "scratchpads",
                                          .state_size = sizeof(struct state),
                                          .params_size = sizeof(struct params),
                                          .params = params,
                                          .counters = counters,
                                          .ports = ports,
                                          .init = init,
                                          .visit = visit,
                                          .rest = rest,
                                          .unit = &unit};
