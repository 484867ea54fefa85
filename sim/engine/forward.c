/* Fast-forward (sim/engine/forward.h): what is recorded, when it repeats, and what moves. */
#include "sim/engine/forward.h"

#include <string.h>

#include "sim/base/log.h"
#include "sim/base/mem.h"

enum {
  PAST = 16,         /* iterations that one is held against */
  MARKS = 256,       /* heads of iterations between issue and execution: a queue's entries */
  GAIN_MIN = 48,     /* events that must be saved: to issue anew has its price */
  TRIPS_MIN = 5,     /* of a loop worth looking at */
  LOG_MAX = 1 << 18, /* segments remembered for repetition */
  REPLAY_MAX = 1 << 24,
  RECALLED_MAX = 1024 /* jobs: some 10 KiB each */
};

/* The state behind an instant. */
struct past {
  uint64_t hash, index; /* of the loop */
  uint64_t issued[TSR_ISA_UNITS];
  uint64_t now_fs, now_cycle;
  struct tsr_words state, held, sums;
  size_t log;
};

/* A loop of the program: a register may serve several, one after the other. */
struct body {
  int loop;
  size_t from, to; /* instructions */
  uint64_t trips;
  uint32_t inner, outer; /* sets of the loops in it and around it */
  bool may;              /* be skipped: it describes nothing */
};

/* The head of an iteration, as issue passed it. */
struct mark {
  const struct body *body;
  uint64_t number;                /* of all marks */
  uint64_t described;             /* instructions before it */
  uint64_t index[TSR_ISA_LOOPS];  /* of all loops */
  uint64_t issued[TSR_ISA_UNITS]; /* entries before it */
};

/* The loop that a register serves. */
struct loop {
  struct mark *mark;       /* owned; a ring, allocated with the first */
  uint64_t n_marks, at;    /* so far; those before `at` have been passed by all units */
  const struct body *body; /* of what follows */
  uint64_t outer;          /* indices of the loops around it, when `past` was recorded */
  size_t n;                /* recorded, the latest PAST of them kept */
  struct past past[PAST];
};

struct logged {
  struct tsri_lane *lane;
  int state;
  uint64_t start, cycles;
};

/* A job that was run: what it asked for, and what it came to. */
struct tsri_recalled {
  uint64_t hash, phase; /* of the program; of its first cycle */
  size_t n_inst;
  struct tsr_inst *inst; /* owned; as in `canonical` */
  uint64_t fs;
  uint64_t *delta;                /* owned */
  struct tsr_layer_result result; /* units and segments owned, from cycle 0 on */
  struct tsr_unit_result *units;
  struct tsr_segment *segments;
};

struct tsri_forward {
  struct tsr_engine *e;
  struct tsri_core *core;
  bool gathers; /* the program: what a list of indices picks is never the same */
  struct tsri_recalled *recalled; /* owned; an open-addressed table of `slots` */
  size_t n_recalled, slots;
  struct tsr_words begin; /* sums when the job began */
  uint64_t begin_fs;
  uint64_t phases;   /* cycles after which instants fall on the same fraction of a fs */
  struct body *body; /* owned */
  size_t n_bodies, cap_bodies;
  struct loop loop[TSR_ISA_LOOPS];
  uint64_t n_marks;
  bool sem[TSR_ISA_SEMS]; /* used by the program */
  struct tsr_visit record;
  uint8_t *moves; /* owned; by held field */
  size_t cap_moves;
  uint64_t *delta; /* owned; by sum */
  size_t cap_delta;
  struct logged *log; /* owned */
  size_t n_log, cap_log;
  bool log_full; /* some are missing: begin anew */
};
enum { EVENTS = 0 }; /* the first of all sums: the agenda's */

/* ---- hashes ---- */

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ h >> 32;
}

static uint64_t hash_view(uint64_t h, const struct tsr_buffer_view *v) {
  h = mix(h, (uint64_t)(uintptr_t)v->buffer);
  h = mix(h, v->addr);
  return mix(mix(h, (uint64_t)v->i_bytes), (uint64_t)v->j_bytes);
}

static uint64_t hash_xfer(uint64_t h, const struct tsr_xfer_req *q, uint64_t align) {
  const struct tsr_box *b = &q->box;
  uint64_t addr = b->base_bytes;
  for (uint32_t i = 0; i < b->rank; i++) {
    uint64_t skip = b->start[i] < 0 ? tsr_ceil_div(0 - (uint64_t)b->start[i], b->step[i]) : 0;
    uint64_t at = (uint64_t)b->start[i] + skip * b->step[i];
    uint64_t left = at < b->size[i] ? tsr_ceil_div(b->size[i] - at, b->step[i]) : 0;
    uint64_t n = skip < b->extent[i] ? tsr_min_u64(b->extent[i] - skip, left) : 0;
    addr += at * b->stride_bytes[i];
    h = mix(mix(h, n), b->stride_bytes[i] * b->step[i]);
  }
  h = mix(mix(h, b->elem_bytes), addr % align | (addr & TSR_ADDR_NEAR));
  h = mix(mix(h, (uint64_t)(uintptr_t)q->buffer), q->local_addr);
  return mix(h, q->n_others);
}

static uint64_t hash_mm(uint64_t h, const struct tsr_mm_req *q) {
  const uint64_t values[] = {q->kind,    q->m,         q->n,         q->k,      q->groups,
                             q->first,   q->last,      q->gated,     q->sparse, q->a_bytes,
                             q->b_bytes, q->acc_bytes, q->out_bytes, q->rate};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) h = mix(h, values[i]);
  return hash_view(hash_view(hash_view(h, &q->a), &q->b), &q->c);
}

static uint64_t hash_vec(uint64_t h, const struct tsr_vec_req *q) {
  const uint64_t values[] = {q->op,      q->rows,    q->cols,    q->window, q->first,
                             q->d_bytes, q->a_bytes, q->b_bytes, q->b_elems};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) h = mix(h, values[i]);
  return hash_view(hash_view(hash_view(h, &q->d), &q->a), &q->b);
}

uint64_t tsri_forward_signature(const struct tsri_forward *f, int unit,
                                const struct tsr_req *req) {
  uint64_t h = (uint64_t)unit + 1;
  if (unit == TSR_UNIT_TILE) return hash_mm(h, &req->mm);
  if (unit == TSR_UNIT_VECTOR) return hash_vec(h, &req->vec);
  return hash_xfer(h, &req->xfer, f->record.align);
}

/* ---- the engine's own state ---- */

static void visit_late(const struct tsri_late *l, struct tsr_visit *v) {
  tsr_visit_value(v, l->from);
  tsr_visit_value(v, l->parts.latency_cycles);
  tsr_visit_value(v, l->parts.conflict_cycles);
  tsr_visit_value(v, l->parts.noc_cycles);
  tsr_visit_value(v, l->parts.data_cycles);
  tsr_visit_value(v, l->parts.bank_cycles);
  tsr_visit_value(v, l->parts.refresh_cycles);
  tsr_visit_value(v, l->parts.turn_cycles);
}

static void visit_flight(struct tsri_flight *f, struct tsr_visit *v) {
  const uint64_t values[] = {
      f->used,      f->consumed, f->done, f->left_accepted, f->left_consumed,
      f->left_done, f->gated,    f->pc,   f->signature,     (uint64_t)f->n_signals};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) tsr_visit_value(v, values[i]);
  tsr_visit_pointer(v, f->gated ? f->next_gated : NULL);
  visit_late(&(struct tsri_late){.parts = f->late}, v);
  for (unsigned i = 0; f->used && i < f->unit->n_lanes; i++) /* what models have said already */
    visit_late(&(struct tsri_late){.parts = f->part[i].ticket.late}, v);
  for (int i = 0; i < f->n_signals; i++) {
    tsr_visit_value(v, (uint64_t)f->signal[i].sem);
    tsr_visit_value(v, (uint64_t)f->signal[i].when);
    tsr_visit_value(v, (uint64_t)f->signal[i].to);
  }
}

static void visit_account(struct tsri_account *a, struct tsr_visit *v) {
  tsr_visit_held(v, &a->upto);
  tsr_visit_held(v, &a->work_end);
  tsr_visit_value(v, a->worked);
  tsr_visit_value(v, a->waited);
  visit_late(&a->late, v);
  for (int s = 0; s < TSR_STATE_COUNT; s++) tsr_visit_sum(v, &a->cycles[s]);
}

static void visit_unit(struct tsri_unit *u, struct tsr_visit *v) {
  const uint64_t values[] = {u->ready,
                             u->blocked,
                             u->blocked ? (uint64_t)u->blocked_sem : 0,
                             u->blocked ? u->blocked_n : 0,
                             u->arrived,
                             (uint64_t)u->gate_sem,
                             u->gate_n,
                             u->closed ? (uint64_t)u->closed_sem : 0,
                             u->closed ? u->closed_n : 0,
                             u->closed,
                             u->in_flight};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) tsr_visit_value(v, values[i]);
  tsr_visit_held(v, &u->blocked_cycle);
  tsr_visit_held(v, &u->closed_cycle);
  for (unsigned i = 0; i < u->closed; i++)
    tsr_visit_pointer(v, u->gate_ring[(u->gate_head + i) % TSR_TICKETS_MAX]);
  tsr_visit_pointer(v, u->last);
  for (uint64_t i = 0; i < TSR_TICKETS_MAX; i++) {
    if (!u->flight[i].used && &u->flight[i] != u->last) continue;
    tsr_visit_value(v, i);
    visit_flight(&u->flight[i], v);
  }
  for (unsigned i = 0; i < u->n_lanes; i++) visit_account(&u->lane[i].account, v);
}

/* Where the units stand in the iteration that all have entered, and how what they will ask for
 * falls on bursts and buffers.  Queues hold what lies between them and issue, which is as far
 * ahead as they allow: nothing of its own. */
static void visit_position(const struct tsri_forward *f, int loop, const struct mark *at,
                           struct tsr_visit *v) {
  const struct tsri_core *c = f->core;
  const struct tsri_issue *is = &c->issue;
  for (int u = 0; u < TSR_ISA_UNITS; u++)
    tsr_visit_value(v, tsri_core_executed(c, u) - at->issued[u]);
  for (int p = 0; p < TSR_ISA_PLACES; p++) {
    const struct tsri_place *x = &is->place[p];
    if (!x->advance[loop]) continue;
    tsr_visit_value(v, (uint64_t)((tsr_u128)at->index[loop] * x->advance[loop] % x->wrap));
  }
  for (int t = 0; t < TSR_ISA_TENSORS; t++) {
    const struct tsri_tensor *x = &is->tensor[t];
    const tsr_i128 align = (tsr_i128)v->align;
    tsr_i128 moved = 0;
    for (uint32_t i = 0; i < x->box.rank; i++) {
      tsr_i128 by = (tsr_i128)x->walk[i][loop] * at->index[loop] % align;
      moved += by * (tsr_i128)(x->box.stride_bytes[i] % v->align) % align;
    }
    tsr_visit_value(v, (uint64_t)((moved % align + align) % align));
  }
}

/* Everything but where the program stands. */
static void visit_machine(struct tsri_forward *f, struct tsr_visit *v) {
  struct tsr_engine *e = f->e;
  struct tsri_core *c = f->core;
  tsr_visit_value(v, v->now_cycle % f->phases);
  tsr_visit_value(v, e->env.cycle_fs(e, v->now_cycle) - v->now_fs); /* between two cycles */
  tsr_agenda_visit(e->agenda, v);
  v->since_cycle = v->now_cycle;
  for (size_t i = e->machine->n_slots; i-- > 0;) { /* units before their scratchpads */
    struct tsr_instance *x = &e->inst[i];
    const struct tsr_counter *k = x->ops->counters;
    tsr_visit_value(v, x->users);
    x->ops->visit(x->state, v);
    for (int j = 0; k && k[j].name; j++)
      if (k[j].kind == TSR_COUNTER_SUM) tsr_visit_sum(v, &x->counters[j]);
  }
  for (int s = 0; s < TSR_ISA_SEMS; s++) {
    if (!f->sem[s]) continue;
    tsr_visit_value(v, c->sem[s].value);
    visit_late(&c->sem[s].late, v);
  }
  for (int u = 0; u < TSR_ISA_UNITS; u++) visit_unit(&c->unit[u], v);
}

/* ---- iterations that ask for the same ---- */

/* Trips of the loops of a register inside a body. */
static uint64_t most_trips(const struct tsri_forward *f, const struct body *in, int loop) {
  uint64_t most = 1;
  for (size_t i = 0; i < f->n_bodies; i++) {
    const struct body *b = &f->body[i];
    if (b->loop == loop && b->from > in->from && b->to < in->to)
      most = tsr_max_u64(most, b->trips);
  }
  return most;
}

/* What a dimension of a tensor reaches: from its start with every loop at its index, `loop`
 * at 0, those inside it anywhere. */
struct reach {
  tsr_i128 low, high;
};
static struct reach reach_of(const struct tsri_forward *f, int loop, const struct mark *at,
                             const struct tsri_tensor *t, uint32_t i) {
  struct reach r = {t->box.start[i], t->box.start[i]};
  for (int x = 0; x < TSR_ISA_LOOPS; x++) {
    tsr_i128 w = t->walk[i][x];
    if (!w || x == loop) continue;
    if (at->body->inner & 1u << x) {
      *(w < 0 ? &r.low : &r.high) += w * (tsr_i128)(most_trips(f, at->body, x) - 1);
    } else if (at->body->outer & 1u << x) {
      r.low += w * at->index[x];
      r.high += w * at->index[x];
    }
  }
  r.high += (tsr_i128)(t->box.extent[i] - 1) * t->box.step[i];
  return r;
}

/* Narrows [*first, *last], indices of `loop`, to those at which low + w * index >= 0 and
 * high + w * index < size. */
static void narrow(struct reach r, tsr_i128 w, uint64_t size, tsr_i128 *first, tsr_i128 *last) {
  tsr_i128 room = (tsr_i128)size - 1 - r.high; /* w * index <= room */
  if (w > 0) {
    if (room < 0)
      *last = -1;
    else if (room / w < *last)
      *last = room / w;
    if (r.low < 0 && (-r.low + w - 1) / w > *first) *first = (-r.low + w - 1) / w;
  } else { /* -w * index <= low, and >= -room */
    if (r.low < 0)
      *last = -1;
    else if (r.low / -w < *last)
      *last = r.low / -w;
    if (room < 0 && (-room - w - 1) / -w > *first) *first = (-room - w - 1) / -w;
  }
}

/* The last byte that the tensor's boxes reach lies in the memory for these indices, too. */
static void narrow_memory(const struct tsri_forward *f, int loop, const struct mark *at,
                          const struct tsri_tensor *t, tsr_i128 *last) {
  const struct tsri_issue *is = &f->core->issue;
  uint64_t memory = tsri_issue_memory_end(is, t->box.base_bytes);
  if (memory == UINT64_MAX) return;
  tsr_i128 end = (tsr_i128)t->box.base_bytes + t->box.elem_bytes, step = 0;
  for (uint32_t i = 0; i < t->box.rank; i++) {
    struct reach r = reach_of(f, loop, at, t, i);
    tsr_i128 most = (tsr_i128)t->box.size[i] - 1;
    if (!t->walk[i][loop]) r.high = r.high < most ? r.high : most; /* clipped, always */
    end += (r.high > 0 ? r.high : 0) * (tsr_i128)t->box.stride_bytes[i];
    if (t->walk[i][loop] > 0)
      step += (tsr_i128)t->walk[i][loop] * (tsr_i128)t->box.stride_bytes[i];
  }
  tsr_i128 room = (tsr_i128)memory - end;
  if (room < 0)
    *last = -1;
  else if (step && room / step < *last)
    *last = room / step;
}

/* The iterations [*first, *last] of a loop that ask for the same, but where. */
static void alike(const struct tsri_forward *f, int loop, const struct mark *at,
                  uint64_t *first, uint64_t *last) {
  const struct tsri_issue *is = &f->core->issue;
  tsr_i128 from = 1, to = (tsr_i128)at->body->trips - 2;
  for (int t = 0; t < TSR_ISA_TENSORS; t++) {
    const struct tsri_tensor *x = &is->tensor[t];
    bool walks = false;
    for (uint32_t i = 0; i < x->box.rank; i++) {
      if (!x->walk[i][loop]) continue;
      walks = true;
      narrow(reach_of(f, loop, at, x, i), x->walk[i][loop], x->box.size[i], &from, &to);
    }
    if (walks) narrow_memory(f, loop, at, x, &to);
  }
  for (int x = 0; x < TSR_AXIS_COUNT; x++) {
    const struct tsri_axis *a = &is->axis[x];
    if (a->loop != loop) continue;
    tsr_i128 whole = (tsr_i128)(a->size / a->tile); /* tiles that are not cut */
    if (whole - 1 < to) to = whole - 1;
  }
  *first = (uint64_t)from;
  *last = to < from ? 0 : (uint64_t)to;
}

/* ---- recording ---- */

static void forget(struct tsri_forward *f) {
  for (int l = 0; l < TSR_ISA_LOOPS; l++) f->loop[l].n = 0;
  f->n_log = 0;
  f->log_full = false;
}

static uint64_t outer_key(const struct mark *at) {
  uint64_t h = mix(1, at->body->from);
  for (int i = 0; i < TSR_ISA_LOOPS; i++)
    if (at->body->outer & 1u << i) h = mix(h, at->index[i]);
  return h;
}

static bool keep(struct tsr_words *to, const struct tsr_words *from) {
  if (to->cap < from->n && !tsr_mem_grow((void **)&to->w, &to->cap, from->n, sizeof *to->w))
    return false;
  memcpy(to->w, from->w, from->n * sizeof *to->w);
  to->n = from->n;
  return true;
}

static bool same_words(const struct tsr_words *a, const struct tsr_words *b) {
  return a->n == b->n && !memcmp(a->w, b->w, a->n * sizeof *a->w);
}

static uint64_t record(struct tsri_forward *f, int loop, const struct mark *at) {
  struct tsr_visit *v = &f->record;
  v->state.n = v->held.n = v->sums.n = 0;
  v->now_fs = tsr_agenda_now(f->e->agenda);
  v->now_cycle = tsri_engine_cycle(f->e);
  visit_position(f, loop, at, v);
  visit_machine(f, v);
  uint64_t h = 1;
  for (size_t i = 0; i < v->state.n; i++) h = mix(h, v->state.w[i]);
  return h;
}

/* Whether the present state is one of before; which fields that may stay have moved. */
static bool repeats(struct tsri_forward *f, const struct past *p, uint64_t hash) {
  const struct tsr_visit *v = &f->record;
  if (p->hash != hash || !same_words(&p->state, &v->state) || p->held.n != v->held.n)
    return false;
  if (!tsr_mem_grow((void **)&f->moves, &f->cap_moves, v->held.n + 1, sizeof *f->moves))
    return false;
  for (size_t i = 0; i < v->held.n; i++) {
    uint64_t by = v->held.w[i] - p->held.w[i];
    if (by && by != v->now_cycle - p->now_cycle) return false;
    f->moves[i] = by != 0;
  }
  return true;
}

/* ---- moving on ---- */

/* Segments of the repetitions, as they would have been recorded. */
static void replay(struct tsri_forward *f, const struct past *p, uint64_t times,
                   uint64_t cycles) {
  size_t to = f->n_log;
  for (uint64_t k = 1; k <= times; k++)
    for (size_t i = p->log; i < to; i++) {
      struct logged g = f->log[i];
      tsri_account_record(g.lane, g.state, g.start + k * cycles, g.cycles);
    }
}

static struct mark *mark_at(const struct loop *l, uint64_t i) {
  return &l->mark[i % MARKS];
}

/* By how many iterations the unit that is furthest is ahead of the one that all have entered.
 */
static uint64_t lead_of(const struct tsri_forward *f, int loop, const struct mark *at) {
  const struct loop *l = &f->loop[loop];
  uint64_t lead = 0;
  for (uint64_t i = l->at; i < l->n_marks; i++) {
    const struct mark *m = mark_at(l, i);
    for (int u = 0; u < TSR_ISA_UNITS; u++) {
      if (tsri_core_executed(f->core, u) <= m->issued[u]) continue;
      bool here = m->index[loop] > at->index[loop] && outer_key(m) == outer_key(at);
      if (m->issued[u] > at->issued[u])
        lead = here ? m->index[loop] - at->index[loop] : UINT64_MAX;
    }
  }
  return lead;
}

/* As many repetitions as are left before an edge, the last iteration, or a limit. */
static uint64_t times_of(const struct tsri_forward *f, int loop, const struct mark *at,
                         const struct past *p) {
  const struct tsr_visit *v = &f->record;
  const struct tsr_machine *m = f->e->machine;
  uint64_t first, last, index = at->index[loop], period = index - p->index;
  alike(f, loop, at, &first, &last);
  uint64_t lead = lead_of(f, loop, at);
  if (p->index < first || index > last || lead > last - index) return 0;
  uint64_t times = (last - lead - index) / period;
  uint64_t fs = v->now_fs - p->now_fs, cycles = v->now_cycle - p->now_cycle;
  if (!fs) return 0; /* a loop without end would be one without time */
  times = tsr_min_u64(times, (UINT64_MAX - 2 - v->now_fs) / fs);
  if (m->max_cycles != TSR_UNLIMITED)
    times = tsr_min_u64(times, m->max_cycles > v->now_cycle && cycles
                                   ? (m->max_cycles - v->now_cycle) / cycles
                                   : 0);
  uint64_t events = v->sums.w[EVENTS] - p->sums.w[EVENTS]; /* of a repetition */
  if (times < GAIN_MIN && times * events < GAIN_MIN) return 0;
  size_t logged = f->n_log - p->log;
  return f->e->trace && logged ? tsr_min_u64(times, REPLAY_MAX / logged) : times;
}

/* Issue begins anew at the head of an iteration; entries that were executed are dropped. */
static void reissue(struct tsri_forward *f, int loop, const struct mark *from, uint64_t times,
                    const struct past *p) {
  struct tsri_core *c = f->core;
  struct tsri_issue *is = &c->issue;
  struct mark at = *from;
  for (int u = 0; u < TSR_ISA_UNITS; u++) {
    struct tsri_unit *x = &c->unit[u];
    c->drop[u] = tsri_core_executed(c, u) - at.issued[u];
    at.issued[u] += times * (at.issued[u] - p->issued[u]);
    c->issued[u] = at.issued[u];
    x->head = x->count = 0;
  }
  at.index[loop] += times * (at.index[loop] - p->index);
  for (int l = 0; l < TSR_ISA_LOOPS; l++) { /* what was issued after it will be again */
    struct loop *x = &f->loop[l];
    while (x->n_marks && mark_at(x, x->n_marks - 1)->number > at.number) x->n_marks--;
    x->at = tsr_min_u64(x->at, x->n_marks);
  }
  for (size_t b = 0; b < f->n_bodies; b++) {
    const struct body *x = &f->body[b];
    bool around = x->from <= at.body->from && x->to >= at.body->to;
    if (around) is->loop[x->loop] = (struct tsri_loop){at.index[x->loop], x->trips, x->from};
  }
  *mark_at(&f->loop[loop], f->loop[loop].n_marks - 1) = at;
  is->pc = at.body->from;
  is->halted = false;
  is->looped = 0;
  c->pending_unit = -1;
  for (int u = 0; u < TSR_ISA_UNITS; u++) {
    c->unit[u].dirty = true;
    tsri_engine_touch(c);
  }
}

static bool skip(struct tsri_forward *f, int loop, const struct mark *at,
                 const struct past *p) {
  const struct tsr_visit *v = &f->record;
  uint64_t times = times_of(f, loop, at, p);
  if (!times) return false;
  if (!tsr_mem_grow((void **)&f->delta, &f->cap_delta, v->sums.n + 1, sizeof *f->delta))
    return false;
  for (size_t i = 0; i < v->sums.n; i++) f->delta[i] = v->sums.w[i] - p->sums.w[i];
  uint64_t cycles = v->now_cycle - p->now_cycle;
  struct tsr_visit go = {.advance = true,
                         .now_fs = v->now_fs,
                         .now_cycle = v->now_cycle,
                         .align = v->align,
                         .fs = times * (v->now_fs - p->now_fs),
                         .cycles = times * cycles,
                         .times = times,
                         .delta = f->delta,
                         .moves = f->moves};
  if (f->e->trace) replay(f, p, times, cycles);
  visit_machine(f, &go);
  TSR_CHECK(go.at_sum == v->sums.n && go.at_held == v->held.n);
  reissue(f, loop, at, times, p);
  tsri_units_progress(f->e);
  return true;
}

static void note(struct tsri_forward *f, int loop, const struct mark *at, uint64_t hash) {
  struct tsr_visit *v = &f->record;
  struct loop *l = &f->loop[loop];
  struct past *p = &l->past[l->n++ % PAST];
  p->hash = hash;
  p->index = at->index[loop];
  memcpy(p->issued, at->issued, sizeof p->issued);
  p->now_fs = v->now_fs;
  p->now_cycle = v->now_cycle;
  p->log = f->n_log;
  if (!keep(&p->state, &v->state) || !keep(&p->held, &v->held) || !keep(&p->sums, &v->sums))
    l->n = 0;
}

/* Behind an instant in which all units have entered an iteration; true: it has moved on. */
static bool look(struct tsri_forward *f, int loop, const struct mark *at) {
  struct loop *l = &f->loop[loop];
  uint64_t key = outer_key(at);
  if (l->outer != key) l->n = 0;
  l->outer = key;
  if (at->described != f->core->issue.described) return false; /* others than it had */
  uint64_t hash = record(f, loop, at);
  if (f->record.failed) return false;
  for (size_t i = 1; i <= PAST && i <= l->n; i++) {
    const struct past *p = &l->past[(l->n - i) % PAST];
    if (repeats(f, p, hash) && skip(f, loop, at, p)) {
      l->n = 0;
      return true;
    }
  }
  note(f, loop, at, hash);
  return false;
}

static bool entered(const struct tsri_core *c, const struct mark *m) {
  for (int u = 0; u < TSR_ISA_UNITS; u++)
    if (m->issued[u] > tsri_core_executed(c, u)) return false;
  return true;
}

/* The latest iteration of a loop that all units have entered, where it is another than
 * before; NULL: it is not. */
static const struct mark *newly_entered(struct tsri_forward *f, struct loop *l) {
  const struct mark *m = NULL;
  if (l->n_marks > l->at + MARKS) l->at = l->n_marks - MARKS;
  while (l->at < l->n_marks && entered(f->core, mark_at(l, l->at))) m = mark_at(l, l->at++);
  return m;
}

/* The widest loop first: what it skips holds the others. */
static void settled(void *arg) {
  struct tsri_forward *f = arg;
  const struct mark *entered[TSR_ISA_LOOPS];
  uint32_t set = 0;
  if (f->e->stop != TSRI_STOP_NONE || !f->core || !f->core->job) return;
  if (f->log_full) forget(f);
  for (int l = 0; l < TSR_ISA_LOOPS; l++) {
    if (f->loop[l].at == f->loop[l].n_marks) continue;
    entered[l] = newly_entered(f, &f->loop[l]);
    if (entered[l]) set |= 1u << l;
  }
  while (set) {
    int best = -1;
    for (int l = 0; l < TSR_ISA_LOOPS; l++)
      if (set & 1u << l && (best < 0 || entered[l]->body->from < entered[best]->body->from))
        best = l;
    if (look(f, best, entered[best])) return;
    set &= ~(1u << best);
  }
}

void tsri_forward_looped(struct tsri_forward *f, int loop) {
  const struct tsri_core *c = f->core;
  const struct tsri_loop *l = &c->issue.loop[loop];
  struct loop *x = &f->loop[loop];
  if (l->trips < TRIPS_MIN) return;
  if (!x->body || x->body->from != l->body) {
    x->body = NULL;
    for (size_t i = 0; i < f->n_bodies && !x->body; i++)
      if (f->body[i].from == l->body) x->body = &f->body[i];
  }
  if (!x->body || !x->body->may) return;
  if (!x->mark) x->mark = tsr_mem_array(MARKS, sizeof *x->mark);
  if (!x->mark) return;
  struct mark *m = mark_at(x, x->n_marks++);
  *m = (struct mark){.body = x->body, .number = f->n_marks++, .described = c->issue.described};
  for (int i = 0; i < TSR_ISA_LOOPS; i++) m->index[i] = c->issue.loop[i].index;
  memcpy(m->issued, c->issued, sizeof m->issued);
}

void tsri_forward_log(struct tsri_forward *f, struct tsri_lane *lane, int state, uint64_t start,
                      uint64_t cycles) {
  f->log_full = f->log_full || f->n_log >= LOG_MAX ||
                !tsr_mem_grow((void **)&f->log, &f->cap_log, f->n_log + 1, sizeof *f->log);
  if (f->log_full) return;
  f->log[f->n_log++] = (struct logged){lane, state, start, cycles};
}

/* ---- programs ---- */

static bool describes(uint8_t op) {
  return op <= TSR_ISA_SEM;
}

static bool add_body(struct tsri_forward *f, int loop, size_t from, uint64_t trips,
                     uint32_t open) {
  if (!tsr_mem_grow((void **)&f->body, &f->cap_bodies, f->n_bodies + 1, sizeof *f->body))
    return false;
  f->body[f->n_bodies++] =
      (struct body){.loop = loop, .from = from, .trips = trips, .outer = open, .may = true};
  for (size_t i = 0; i + 1 < f->n_bodies; i++)
    if (!f->body[i].to) f->body[i].inner |= 1u << loop;
  return true;
}

/* The loops of a program, which of them may be skipped, the semaphores that it uses. */
static bool read_program(struct tsri_forward *f, const struct tsr_program *p) {
  uint32_t open = 0;
  f->gathers = false;
  memset(f->sem, 0, sizeof f->sem);
  f->n_bodies = 0;
  for (size_t i = 0; i < p->n; i++) {
    const struct tsr_inst *in = &p->inst[i];
    if (in->op == TSR_ISA_GATHER || in->op == TSR_ISA_SCATTER) f->gathers = true;
    if (in->op == TSR_ISA_SEM) f->sem[in->f[0]] = true;
    if (in->op == TSR_ISA_WAIT || in->op == TSR_ISA_SIGNAL) f->sem[in->f[1]] = true;
    if (in->op == TSR_ISA_LOOP) {
      if (!add_body(f, (int)in->f[0], i + 1, (uint64_t)in->f[1], open)) return false;
      open |= 1u << in->f[0];
    } else if (in->op == TSR_ISA_END) {
      open &= ~(1u << in->f[0]);
      for (size_t b = f->n_bodies; b-- > 0;)
        if (f->body[b].loop == in->f[0] && !f->body[b].to) f->body[b].to = i;
    } else if (describes(in->op)) {
      for (size_t b = 0; b < f->n_bodies; b++)
        if (!f->body[b].to) f->body[b].may = false;
    }
  }
  return true;
}

void tsri_forward_begin(struct tsri_forward *f, struct tsri_core *c) {
  f->core = c;
  for (int l = 0; l < TSR_ISA_LOOPS; l++) {
    f->loop[l].body = NULL;
    f->loop[l].n_marks = f->loop[l].at = 0;
  }
  forget(f);
  if (!read_program(f, c->issue.p) || f->gathers) f->n_bodies = 0;
}

/* ---- equal jobs ---- */

/* An instruction with what does not matter left out: where a tensor lies, but for bursts. */
static struct tsr_inst canonical(const struct tsri_forward *f, const struct tsr_inst *in) {
  struct tsr_inst x = *in;
  uint64_t base = (uint64_t)x.f[3];
  if (x.op == TSR_ISA_TENSOR)
    x.f[3] = (int64_t)(base % f->record.align | (base & TSR_ADDR_NEAR));
  return x;
}

static bool same_inst(const struct tsr_inst *a, const struct tsr_inst *b) {
  return a->op == b->op && !memcmp(a->f, b->f, sizeof a->f);
}

static uint64_t hash_program(const struct tsri_forward *f, const struct tsr_program *p) {
  uint64_t h = mix(1, p->n);
  for (size_t i = 0; i < p->n; i++) {
    struct tsr_inst x = canonical(f, &p->inst[i]);
    h = mix(h, x.op);
    for (size_t j = 0; j < sizeof x.f / sizeof *x.f; j++) h = mix(h, (uint64_t)x.f[j]);
  }
  return h ? h : 1;
}

static bool equals(const struct tsri_forward *f, const struct tsri_recalled *x, uint64_t hash,
                   uint64_t phase, const struct tsr_program *p) {
  if (x->hash != hash || x->phase != phase || x->n_inst != p->n) return false;
  for (size_t i = 0; i < p->n; i++) {
    struct tsr_inst in = canonical(f, &p->inst[i]);
    if (!same_inst(&in, &x->inst[i])) return false;
  }
  return true;
}

/* The entry of a program, or the free one where it would stand. */
static struct tsri_recalled *find(const struct tsri_forward *f, const struct tsri_running *r) {
  const struct tsr_program *p = r->job->program[0];
  uint64_t hash = hash_program(f, p), phase = r->start_cycle % f->phases;
  size_t at = hash % f->slots;
  while (f->recalled[at].hash && !equals(f, &f->recalled[at], hash, phase, p))
    at = (at + 1) % f->slots;
  return &f->recalled[at];
}

const struct tsri_recalled *tsri_recall(struct tsri_forward *f, const struct tsri_running *r) {
  const struct tsri_recalled *x = f->n_recalled ? find(f, r) : NULL;
  return x && x->hash ? x : NULL;
}

uint64_t tsri_recall_account(struct tsri_forward *f, const struct tsri_recalled *x) {
  f->core = &f->e->core[0];
  if (!tsr_mem_grow((void **)&f->moves, &f->cap_moves, f->record.held.n + 1, sizeof *f->moves))
    tsri_engine_fail(f->e, tsr_err_nomem(f->e->err));
  if (f->moves) memset(f->moves, 0, f->record.held.n);
  struct tsr_visit go = {.advance = true,
                         .again = true,
                         .now_fs = tsr_agenda_now(f->e->agenda),
                         .now_cycle = tsri_engine_cycle(f->e),
                         .align = f->record.align,
                         .times = 1,
                         .delta = x->delta,
                         .moves = f->moves};
  if (f->moves) visit_machine(f, &go);
  return x->fs;
}

void tsri_recall_result(const struct tsri_recalled *x, struct tsri_running *r,
                        struct tsr_layer_result *out) {
  struct tsri_segments *s = &r->segments;
  *out = x->result;
  out->start_cycles = r->start_cycle;
  if (!x->result.n_segments) return;
  if (!tsr_mem_grow((void **)&s->list, &s->cap, x->result.n_segments, sizeof *s->list)) {
    s->failed = true;
    return;
  }
  s->n = x->result.n_segments;
  for (size_t i = 0; i < s->n; i++) {
    s->list[i] = x->segments[i];
    s->list[i].start_cycles += r->start_cycle;
  }
  out->segments = s->list;
}

static void record_sums(struct tsri_forward *f) {
  struct tsr_visit *v = &f->record;
  v->state.n = v->held.n = v->sums.n = 0;
  v->now_fs = tsr_agenda_now(f->e->agenda);
  v->now_cycle = tsri_engine_cycle(f->e);
  visit_machine(f, v);
}

void tsri_recall_begin(struct tsri_forward *f, const struct tsri_running *r) {
  (void)r;
  if (f->gathers) return;
  record_sums(f);
  f->begin_fs = f->record.now_fs;
  f->begin.n = 0;
  if (!f->record.failed) (void)keep(&f->begin, &f->record.sums);
}

static void free_recalled(struct tsri_recalled *x) {
  tsr_mem_free(x->inst);
  tsr_mem_free(x->delta);
  tsr_mem_free(x->units);
  tsr_mem_free(x->segments);
  *x = (struct tsri_recalled){0};
}

/* Room for one more; a full table begins anew. */
static bool grow_table(struct tsri_forward *f) {
  if (f->n_recalled == RECALLED_MAX) {
    for (size_t i = 0; i < f->slots; i++) free_recalled(&f->recalled[i]);
    f->n_recalled = 0;
  }
  if (2 * f->n_recalled < f->slots) return true;
  size_t slots = f->slots ? 4 * f->slots : 64;
  struct tsri_recalled *old = f->recalled, *table = tsr_mem_array(slots, sizeof *table);
  if (!table) return false;
  for (size_t i = 0; i < f->slots; i++) {
    size_t at = old[i].hash % slots;
    if (!old[i].hash) continue;
    while (table[at].hash) at = (at + 1) % slots;
    table[at] = old[i];
  }
  tsr_mem_free(old);
  f->recalled = table;
  f->slots = slots;
  return true;
}

static bool copy_result(struct tsri_recalled *x, const struct tsr_layer_result *r) {
  x->result = *r;
  x->units = tsr_mem_array(r->n_units + 1, sizeof *x->units);
  x->segments = tsr_mem_array(r->n_segments + 1, sizeof *x->segments);
  if (!x->units || !x->segments) return false;
  memcpy(x->units, r->units, r->n_units * sizeof *x->units);
  for (size_t i = 0; i < r->n_segments; i++) {
    x->segments[i] = r->segments[i];
    x->segments[i].start_cycles -= r->start_cycles;
  }
  x->result.units = x->units;
  return true;
}

void tsri_recall_end(struct tsri_forward *f, const struct tsri_running *r,
                     const struct tsr_layer_result *result) {
  const struct tsr_program *p = r->job->program[0];
  if (f->gathers || r->segments.failed) return;
  record_sums(f);
  if (f->record.failed || f->begin.n != f->record.sums.n || !grow_table(f)) return;
  struct tsri_recalled *x = find(f, r);
  x->inst = tsr_mem_array(p->n, sizeof *x->inst);
  x->delta = tsr_mem_array(f->begin.n + 1, sizeof *x->delta);
  if (!x->inst || !x->delta || !copy_result(x, result)) {
    free_recalled(x);
    return;
  }
  for (size_t i = 0; i < p->n; i++) x->inst[i] = canonical(f, &p->inst[i]);
  for (size_t i = 0; i < f->begin.n; i++) x->delta[i] = f->record.sums.w[i] - f->begin.w[i];
  x->delta[EVENTS]--; /* it ends with an event */
  x->n_inst = p->n;
  x->fs = f->record.now_fs - f->begin_fs;
  x->phase = r->start_cycle % f->phases;
  x->hash = hash_program(f, p);
  f->n_recalled++;
}

/* ---- life ---- */

bool tsr_engine_forwards(const struct tsr_machine *m) {
  bool can = m->fast_forward && m->cores == 1 && m->llb < 0 && m->noc < 0;
  for (size_t i = 0; can && i < m->n_slots; i++) can = m->slot[i].ops->visit != NULL;
  return can;
}

enum tsr_status tsri_forward_create(struct tsr_engine *e, struct tsri_forward **out,
                                    struct tsr_err *err) {
  const struct tsr_machine *m = e->machine;
  *out = NULL;
  if (e->values || !tsr_engine_forwards(m)) return TSR_OK;
  struct tsri_forward *f = tsr_mem_alloc(sizeof *f);
  if (!f) return tsr_err_nomem(err);
  f->e = e;
  f->phases = m->clock_hz / tsr_gcd_u64(m->clock_hz, TSR_FS_PER_S);
  struct tsr_unit_facts load, store;
  m->slot[TSR_SLOT_LOAD].ops->unit->facts(m->slot[TSR_SLOT_LOAD].params, &load);
  m->slot[TSR_SLOT_STORE].ops->unit->facts(m->slot[TSR_SLOT_STORE].params, &store);
  f->record.align = load.burst_bytes / tsr_gcd_u64(load.burst_bytes, store.burst_bytes);
  f->record.align *= store.burst_bytes;
  const struct tsr_machine_instance *dram = &m->slot[TSR_SLOT_DRAM];
  TSR_CHECK(!dram->ops->memory->interleave); /* addresses do not choose channels */
  tsr_agenda_settled(e->agenda, settled, f);
  *out = f;
  return TSR_OK;
}

void tsri_forward_destroy(struct tsri_forward *f) {
  if (!f) return;
  for (int l = 0; l < TSR_ISA_LOOPS; l++) {
    tsr_mem_free(f->loop[l].mark);
    for (int i = 0; i < PAST; i++) {
      struct past *p = &f->loop[l].past[i];
      tsr_mem_free(p->state.w);
      tsr_mem_free(p->held.w);
      tsr_mem_free(p->sums.w);
    }
  }
  for (size_t i = 0; i < f->slots; i++) free_recalled(&f->recalled[i]);
  tsr_mem_free(f->recalled);
  tsr_mem_free(f->begin.w);
  tsr_visit_fini(&f->record);
  tsr_mem_free(f->moves);
  tsr_mem_free(f->delta);
  tsr_mem_free(f->log);
  tsr_mem_free(f->body);
  tsr_mem_free(f);
}
