/* Queues, semaphores, barriers and requests in flight. */
#include <inttypes.h>
#include <string.h>

#include "sim/base/log.h"
#include "sim/base/rng.h"
#include "sim/engine/forward.h"

enum { VCD_IDLE, VCD_WORKING, VCD_WAITING };

static void touch(struct tsri_unit *u) {
  u->dirty = true;
  tsri_engine_touch(u->core);
}

static void show(struct tsri_unit *u) {
  uint64_t state = u->in_flight ? VCD_WORKING : u->blocked ? VCD_WAITING : VCD_IDLE;
  for (unsigned i = 0; i < u->n_lanes; i++) u->lane[i].vcd_state = state;
}

static const struct tsr_unit_ops *ops_of(const struct tsri_unit *u) {
  return u->lane[0].inst->ops->unit;
}

static void waited(struct tsri_unit *u, const struct tsri_late *late) {
  for (unsigned i = 0; i < u->n_lanes; i++) {
    u->lane[i].account.waited = true;
    u->lane[i].account.late = *late;
  }
}

static void checked(struct tsri_flight *f, enum tsr_status st) {
  if (st) tsri_engine_fail(f->unit->core->e, st);
}

/* Lets the oldest closed gates of a unit go, while they wait for this semaphore. */
static void open_gates(struct tsri_unit *u, int sem) {
  struct tsri_sem *s = &u->core->sem[sem];
  while (u->closed && u->closed_sem == sem && s->value >= u->closed_n) {
    s->value -= u->closed_n;
    u->closed--;
    waited(u, &s->late);
    struct tsri_flight *f = u->gate_ring[u->gate_head++ % TSR_TICKETS_MAX];
    for (; f; f = f->next_gated) {
      f->gated = false;
      if (u->core->e->values) checked(f, tsri_values_open(f, u->core->e->err));
    }
    for (unsigned i = 0; i < u->n_lanes; i++) ops_of(u)->open(u->lane[i].inst->state);
  }
}

static void signal_core(struct tsri_core *c, int sem, struct tsri_late late) {
  c->sem[sem].value++;
  c->sem[sem].late = late;
  for (int i = 0; i < TSR_ISA_UNITS; i++) open_gates(&c->unit[i], sem);
  for (int i = 0; i < TSR_ISA_UNITS; i++)
    if (c->unit[i].blocked && c->unit[i].blocked_sem == sem) touch(&c->unit[i]);
}

static void signal_sem(struct tsri_core *c, int sem, int to, struct tsri_late late) {
  const struct tsr_job *j = c->job->job;
  uint32_t first = c->id, n = 1;
  if (to != TSR_TO_OWN) first = j->first_core;
  if (to == TSR_TO_ALL) n = j->n_cores;
  for (uint32_t i = 0; i < n; i++) signal_core(&c->e->core[first + i], sem, late);
}

static struct tsri_late late_of(const struct tsri_unit *u, const struct tsri_flight *f) {
  static const int from[TSR_ISA_UNITS] = {[TSR_UNIT_LOAD] = TSRI_LATE_LOAD,
                                          [TSR_UNIT_TILE] = TSRI_LATE_TILE,
                                          [TSR_UNIT_STORE] = TSRI_LATE_STORE,
                                          [TSR_UNIT_VECTOR] = TSRI_LATE_VECTOR};
  struct tsri_late l = {.from = from[u->id]};
  if (f) l.parts = f->late;
  return l;
}

/* Fires the signals of a flight that wait for this milestone. */
static void fire(struct tsri_flight *f, int when) {
  struct tsri_unit *u = f->unit;
  for (int i = 0; i < f->n_signals; i++)
    if (f->signal[i].when == when)
      signal_sem(u->core, f->signal[i].sem, f->signal[i].to, late_of(u, f));
}

/* ---- tickets: a milestone is reached when every part of the request is there ---- */

static void on_accepted(struct tsr_ticket *t) {
  struct tsri_flight *f = ((struct tsri_part *)t)->flight;
  if (--f->left_accepted) return;
  f->unit->ready = true;
  touch(f->unit);
  tsri_units_progress(f->unit->core->e);
}

static void on_consumed(struct tsr_ticket *t) {
  struct tsri_flight *f = ((struct tsri_part *)t)->flight;
  struct tsr_engine *e = f->unit->core->e;
  if (--f->left_consumed) return;
  f->consumed = true;
  if (e->values) checked(f, tsri_values_consumed(f, e->err));
  fire(f, TSR_WHEN_READ);
  tsri_units_progress(e);
}

static void on_done(struct tsr_ticket *t) {
  struct tsri_flight *f = ((struct tsri_part *)t)->flight;
  struct tsri_unit *u = f->unit;
  struct tsr_engine *e = u->core->e;
  struct tsr_lateness *l = &f->late;
  l->latency_cycles = tsr_max_u64(l->latency_cycles, t->late.latency_cycles);
  l->conflict_cycles = tsr_max_u64(l->conflict_cycles, t->late.conflict_cycles);
  l->noc_cycles = tsr_max_u64(l->noc_cycles, t->late.noc_cycles);
  l->data_cycles = tsr_max_u64(l->data_cycles, t->late.data_cycles);
  l->bank_cycles = tsr_max_u64(l->bank_cycles, t->late.bank_cycles);
  l->refresh_cycles = tsr_max_u64(l->refresh_cycles, t->late.refresh_cycles);
  l->turn_cycles = tsr_max_u64(l->turn_cycles, t->late.turn_cycles);
  if (--f->left_done) return;
  f->done = true;
  if (e->values) checked(f, tsri_values_done(f, e->err));
  fire(f, TSR_WHEN_DONE);
  u->in_flight--;
  f->used = false;
  touch(u);
  show(u);
  tsri_units_progress(e);
}

/* ---- starting ---- */

/* Whether the next request's gate is closed; takes from its semaphore if not. */
static bool gate_closed(struct tsri_unit *u) {
  int sem = u->gate_sem;
  u->gate_sem = -1;
  if (sem < 0) return false;
  struct tsri_sem *s = &u->core->sem[sem];
  if (!u->closed && s->value >= u->gate_n) {
    s->value -= u->gate_n;
    return false;
  }
  if (!u->closed) u->closed_cycle = tsri_engine_cycle(u->core->e);
  u->closed_sem = sem;
  u->closed_n = u->gate_n;
  return true;
}

static void shift_view(struct tsr_buffer_view *v, uint64_t i, uint64_t j) {
  v->addr += i * (uint64_t)v->i_bytes + j * (uint64_t)v->j_bytes;
}

/* The part of a multiplication that one of several tiles does: columns of the array's n
 * where there are enough for all, else groups, else rows of m. */
static void cut(const struct tsri_unit *u, struct tsr_mm_req *q, unsigned i) {
  struct tsr_unit_facts facts;
  ops_of(u)->facts(u->lane[0].inst->params, &facts);
  uint64_t unit = facts.cols ? facts.cols : 1, n = u->n_lanes;
  uint64_t *dim = &q->n, align = unit;
  if (tsr_ceil_div(q->n, unit) < n) {
    bool groups = q->groups >= n;
    dim = groups ? &q->groups : &q->m;
    align = groups ? 1 : facts.rows ? facts.rows : 1;
  }
  uint64_t share = tsr_ceil_div(tsr_ceil_div(*dim, n), align) * align;
  uint64_t from = tsr_min_u64(share * i, *dim);
  uint64_t mine = tsr_min_u64(share, *dim - from);
  if (dim == &q->n) {
    shift_view(&q->b, 0, from);
    shift_view(&q->c, 0, from);
  } else if (dim == &q->m) {
    shift_view(&q->a, from, 0);
    shift_view(&q->c, from, 0);
    q->lines = 0; /* whole rows or not */
  }
  *dim = mine;
}

static struct tsri_flight *free_flight(struct tsri_unit *u) {
  for (unsigned i = 0; i < TSR_TICKETS_MAX; i++)
    if (!u->flight[i].used && &u->flight[i] != u->last) return &u->flight[i];
  TSR_BUG("more requests in flight than tickets");
}

uint64_t tsr_engine_index(uint64_t seed, uint64_t address, uint64_t below) {
  enum { STREAM = 0x696478 }; /* apart from those of operands */
  return tsr_rng_u64(seed, (uint64_t)STREAM << 32, address) % below;
}

/* The list of a gather or scatter, which stays where it is while the request is at work. */
static enum tsr_status resolve(struct tsri_flight *f, const struct tsri_op *op) {
  const struct tsri_list *l = &op->list;
  struct tsr_engine *e = f->unit->core->e;
  if (!tsr_mem_grow((void **)&f->index, &f->cap_index, l->n, sizeof *f->index))
    return tsr_err_nomem(e->err);
  if (e->values) return tsri_values_index(f, e->err);
  for (uint64_t i = 0; i < l->n; i++)
    f->index[i] = tsr_engine_index(e->seed, l->memory + i * l->memory_elem, l->below);
  return TSR_OK;
}

/* Whether a request writes results: not one that multiplies nothing or loads ahead, nor one
 * whose sums stay in the array. */
static bool has_results(const struct tsri_unit *u, const struct tsr_mm_req *q) {
  return q->kind == TSR_MM_RUN && q->m && q->n && q->k && q->groups &&
         (q->last || !u->holds_sums);
}

/* Results come in order: those of a request wait for the newest gate that is closed. */
static void wait_for_gate(struct tsri_unit *u, struct tsri_flight *f,
                          const struct tsr_req *req) {
  f->gated = u->closed > 0 && has_results(u, &req->mm);
  f->next_gated = NULL;
  if (!f->gated) return;
  struct tsri_flight **at = &u->gate_ring[(u->gate_head + u->closed - 1) % TSR_TICKETS_MAX];
  while (*at) at = &(*at)->next_gated;
  *at = f;
}

static void start(struct tsri_unit *u, const struct tsri_op *op) {
  struct tsri_flight *f = free_flight(u);
  tsr_mem_free(f->data);
  f->data = op->data;
  f->pc = op->pc;
  f->signature = op->signature;
  f->unit = u;
  f->used = true;
  f->consumed = f->done = f->is_ahead = false;
  f->n_signals = 0;
  f->late = (struct tsr_lateness){0};
  f->left_accepted = f->left_consumed = f->left_done = u->n_lanes;
  bool closed = gate_closed(u);
  if (closed) u->gate_ring[(u->gate_head + u->closed++) % TSR_TICKETS_MAX] = NULL;
  wait_for_gate(u, f, &op->req);
  u->last = f;
  u->in_flight++;
  u->ready = false;
  show(u);
  for (unsigned i = 0; i < u->n_lanes; i++) {
    struct tsri_part *p = &f->part[i];
    p->ticket = (struct tsr_ticket){on_accepted, on_consumed, on_done, {0}};
    p->flight = f;
    p->req = op->req;
    if (u->id == TSR_UNIT_TILE) {
      p->req.mm.gated = closed;
      if (u->n_lanes > 1) cut(u, &p->req.mm, i);
    }
  }
  if (u->core->e->values) checked(f, tsri_values_begin(f, u->core->e->err));
  bool list = op->kind == TSRI_OP_REQ && op->list.n;
  if (list) checked(f, resolve(f, op));
  for (unsigned i = 0; list && i < u->n_lanes; i++) f->part[i].req.xfer.index = f->index;
  for (unsigned i = 0; i < u->n_lanes; i++)
    ops_of(u)->start(u->lane[i].inst->state, &f->part[i].req, &f->part[i].ticket);
}

/* ---- queue entries ---- */

/* A signal belongs to the request before it. */
static bool attach(struct tsri_unit *u, const struct tsri_op *op) {
  struct tsri_flight *f = u->last;
  bool reached = !f || f->done || (op->when == TSR_WHEN_READ && f->consumed);
  if (reached) {
    signal_sem(u->core, op->sem, op->to, late_of(u, f));
    return true;
  }
  if (f->n_signals == TSRI_SIGNALS) return false;
  f->signal[f->n_signals].sem = op->sem;
  f->signal[f->n_signals].to = op->to;
  f->signal[f->n_signals++].when = op->when;
  return true;
}

static void block(struct tsri_unit *u, int sem, uint32_t n) {
  if (!u->blocked) u->blocked_cycle = tsri_engine_cycle(u->core->e);
  u->blocked = true;
  u->blocked_sem = sem;
  u->blocked_n = n;
}

static bool take(struct tsri_unit *u, int sem, uint32_t n) {
  struct tsri_sem *s = &u->core->sem[sem];
  if (s->value < n) {
    block(u, sem, n);
    return false;
  }
  s->value -= n;
  if (u->blocked) waited(u, &s->late);
  u->blocked = false;
  return true;
}

/* A wait for the result of the next request blocks nothing yet. */
static bool set_gate(struct tsri_unit *u, const struct tsri_op *op) {
  if (op->when != TSR_GATE_RESULT || !ops_of(u)->open || u->gate_sem >= 0) return false;
  if (u->closed && (u->closed_sem != op->sem || u->closed_n != op->n)) return false;
  u->gate_sem = op->sem;
  u->gate_n = op->n;
  return true;
}

/* The last to come lets all go. */
static bool pass_barrier(struct tsri_unit *u) {
  struct tsri_running *j = u->core->job;
  if (j->barrier[u->id] > u->barrier) {
    u->barrier++;
    u->arrived = false;
    if (u->blocked) waited(u, &(struct tsri_late){.from = TSRI_LATE_NONE});
    u->blocked = false;
    return true;
  }
  if (u->in_flight) return false;
  block(u, -1, 1);
  if (u->arrived) return false;
  u->arrived = true;
  if (++j->arrived[u->id] < j->job->n_cores) return false;
  j->arrived[u->id] = 0;
  j->barrier[u->id]++;
  for (uint32_t i = 0; i < j->job->n_cores; i++)
    touch(&u->core->e->core[j->job->first_core + i].unit[u->id]);
  return pass_barrier(u);
}

/* Does what the head of the queue asks for; false when it must wait. */
static bool step(struct tsri_unit *u) {
  const struct tsri_op *op = &u->queue[u->head];
  switch (op->kind) {
  case TSRI_OP_WAIT:
    if (!set_gate(u, op) && !take(u, op->sem, op->n)) return false;
    break;
  case TSRI_OP_SIGNAL:
    if (!attach(u, op)) return false;
    break;
  case TSRI_OP_BARRIER:
    if (!pass_barrier(u)) return false;
    break;
  case TSRI_OP_REQ:
    if (!u->ready || u->in_flight >= TSR_TICKETS_MAX - 1) return false;
    start(u, op);
    break;
  }
  u->head = (u->head + 1) % TSRI_QUEUE;
  u->count--;
  return true;
}

static bool push(struct tsri_unit *u, const struct tsri_op *op) {
  if (u->count == TSRI_QUEUE) return false;
  u->queue[(u->head + u->count++) % TSRI_QUEUE] = *op;
  touch(u);
  return true;
}

static void report_fault(struct tsri_core *c, size_t pc, const struct tsri_fault *fault) {
  struct tsr_engine *e = c->e;
  struct tsr_str text = TSR_STR_INIT;
  tsr_isa_print(c->issue.p, &c->issue.p->inst[pc], &text);
  struct tsr_str what = TSR_STR_INIT;
  if (fault->buf == TSRI_FAULT_WORK)
    tsr_str_addf(&what, "%s %" PRIu64 " elements of work at once", fault->what, fault->limit);
  else if (fault->buf == TSRI_FAULT_IDLE)
    tsr_str_addf(&what, "%s %" PRIu64 " instructions", fault->what, fault->limit);
  else
    tsr_str_addf(&what, "bytes %" PRIu64 " to %" PRIu64 " %s %s%s, which has %" PRIu64 " bytes",
                 fault->from, fault->to, fault->what,
                 fault->buf < 0 ? "the memory" : "scratchpad ",
                 fault->buf < 0 ? "" : tsr_isa_buf_names[fault->buf], fault->limit);
  enum tsr_status st = tsr_err_set(
      e->err, TSR_SIM, "layer '%s', core %u, instruction %zu (%s): %s", tsri_engine_job_name(c),
      c->id, pc, text.p ? text.p : "", what.p ? what.p : "");
  tsr_str_fini(&what);
  tsr_str_fini(&text);
  tsri_engine_fail(e, st);
}

/* A load to all cores is their first one's: what the others may not ask for. */
static bool loads_for_others(struct tsri_core *c) {
  const struct tsr_inst *in = &c->issue.p->inst[c->pending.pc];
  const struct tsr_job *j = c->job->job;
  if (in->op != TSR_ISA_LOAD || in->f[2] == TSR_TO_OWN) return false;
  if (in->f[2] == TSR_TO_ALL && (c->id == j->first_core)) return false;
  tsri_engine_fail(c->e,
                   tsr_err_set(c->e->err, TSR_SIM,
                               "layer '%s', core %u, instruction %zu: a load for other "
                               "cores; only core %u, the program's first, loads for all",
                               tsri_engine_job_name(c), c->id, c->pending.pc, j->first_core));
  return true;
}

/* What fast-forward wants to know of an entry. */
static void observe(struct tsri_core *c) {
  struct tsri_forward *f = c->e->forward;
  for (uint32_t set = c->issue.looped; set; set &= set - 1)
    tsri_forward_looped(f, __builtin_ctz(set));
  c->issue.looped = 0;
  if (c->pending_unit >= 0 && c->pending.kind == TSRI_OP_REQ)
    c->pending.signature = tsri_forward_signature(f, c->pending_unit, &c->pending.req);
}

/* The next entry of the program; false when there is none (any more). */
static bool fetch(struct tsri_core *c) {
  struct tsr_engine *e = c->e;
  struct tsri_data data;
  struct tsri_fault fault = {0};
  if (!tsri_issue_next(&c->issue, &c->pending, &data, &c->pending_unit, &fault)) return false;
  if (fault.what) {
    report_fault(c, c->pending.pc, &fault);
    return false;
  }
  if (e->forward) observe(c);
  if (c->pending_unit >= 0 && c->pending.kind == TSRI_OP_REQ && loads_for_others(c))
    return false;
  if (c->pending_unit < 0 || c->pending.kind != TSRI_OP_REQ || !e->values) return true;
  c->pending.data = tsr_mem_alloc(sizeof data);
  if (c->pending.data)
    *c->pending.data = data;
  else
    tsri_engine_fail(e, tsr_err_nomem(e->err));
  return c->pending.data != NULL;
}

/* Fills queues until one is full or the program halts. */
static bool issue(struct tsri_core *c) {
  bool any = false;
  for (;;) {
    if (c->pending_unit < 0) {
      if (c->issue.halted || !fetch(c)) return any;
      if (c->pending_unit < 0) { /* a semaphore's initial value */
        c->sem[c->pending.sem].value = c->issue.sem_init[c->pending.sem];
        continue;
      }
    }
    if (c->drop[c->pending_unit])
      c->drop[c->pending_unit]--;
    else if (!push(&c->unit[c->pending_unit], &c->pending))
      return any;
    c->issued[c->pending_unit]++;
    c->pending_unit = -1;
    any = true;
  }
}

static bool is_done(const struct tsri_core *c) {
  if (!c->issue.halted || c->pending_unit >= 0) return false;
  for (int i = 0; i < TSR_ISA_UNITS; i++)
    if (c->unit[i].count || c->unit[i].in_flight || !c->unit[i].ready) return false;
  return true;
}

static void step_core(struct tsri_core *c) {
  struct tsr_engine *e = c->e;
  if (!c->job || c->done) return;
  for (bool again = true; again && e->stop == TSRI_STOP_NONE;) {
    again = issue(c);
    for (int i = 0; i < TSR_ISA_UNITS; i++) {
      struct tsri_unit *u = &c->unit[i];
      if (!u->dirty) continue;
      u->dirty = false;
      while (u->count && e->stop == TSRI_STOP_NONE && step(u)) again = true;
      show(u);
    }
  }
  if (e->stop == TSRI_STOP_NONE && is_done(c)) tsri_engine_core_done(c);
}

void tsri_units_progress(struct tsr_engine *e) {
  if (tsr_interrupted && e->stop == TSRI_STOP_NONE) {
    e->stop = TSRI_STOP_INTERRUPT;
    tsr_agenda_stop(e->agenda, TSR_SIM);
    return;
  }
  if (e->progressing) return; /* a model called back at once: the loop below goes on */
  e->progressing = true;
  while (e->dirty_count && e->stop == TSRI_STOP_NONE) {
    struct tsri_core *c = &e->core[e->dirty[e->dirty_head]];
    e->dirty_head = (e->dirty_head + 1) % (uint32_t)e->machine->cores;
    e->dirty_count--;
    c->dirty = false;
    step_core(c);
  }
  e->progressing = false;
}

void tsri_units_reset(struct tsri_core *c, uint64_t cycle) {
  c->pending_unit = -1;
  c->done = false;
  memset(c->issued, 0, sizeof c->issued);
  memset(c->drop, 0, sizeof c->drop);
  for (int i = 0; i < TSR_ISA_SEMS; i++) c->sem[i] = (struct tsri_sem){0};
  for (int i = 0; i < TSR_ISA_UNITS; i++) {
    struct tsri_unit *u = &c->unit[i];
    u->head = u->count = 0;
    u->ready = true;
    u->blocked = u->arrived = false;
    u->barrier = 0;
    u->last = NULL;
    u->gate_sem = -1;
    u->closed = u->gate_head = 0;
    touch(u);
    for (unsigned l = 0; l < u->n_lanes; l++) tsri_account_open(&u->lane[l].account, cycle);
  }
}

static void explain_unit(const struct tsri_unit *u, struct tsr_str *out) {
  tsr_str_addf(out, "%s: queue %u of %d, %u in flight", u->lane[0].inst->name, u->count,
               TSRI_QUEUE, u->in_flight);
  if (u->blocked && u->blocked_sem < 0)
    tsr_str_addf(out, ", waits at a barrier since cycle %" PRIu64, u->blocked_cycle);
  else if (u->blocked && u->blocked_n == 1)
    tsr_str_addf(out, ", waits for s%d since cycle %" PRIu64, u->blocked_sem, u->blocked_cycle);
  else if (u->blocked)
    tsr_str_addf(out, ", waits for %u of s%d (it holds %" PRIu64 ") since cycle %" PRIu64,
                 u->blocked_n, u->blocked_sem, u->core->sem[u->blocked_sem].value,
                 u->blocked_cycle);
  if (u->closed)
    tsr_str_addf(out, ", results of %u request%s wait for s%d since cycle %" PRIu64, u->closed,
                 u->closed == 1 ? "" : "s", u->closed_sem, u->closed_cycle);
}

void tsri_units_explain(const struct tsri_core *c, struct tsr_str *out) {
  for (int i = 0; i < TSR_ISA_UNITS; i++) {
    const struct tsri_unit *u = &c->unit[i];
    bool idle = !u->count && !u->in_flight && !u->blocked && !u->closed;
    if (idle && i == TSR_UNIT_VECTOR) continue; /* most programs have no use for it */
    if (out->n) tsr_str_add(out, "; ");
    explain_unit(u, out);
  }
}
