/* Queues, semaphores and requests in flight. */
#include <inttypes.h>

#include "sim/base/log.h"
#include "sim/engine/engine_int.h"

enum { VCD_IDLE, VCD_WORKING, VCD_WAITING };

static uint64_t now_cycle(struct tsr_engine *e) {
  return e->env.fs_cycle(e, tsr_agenda_now(e->agenda));
}

static void touch(struct tsri_unit *u) {
  u->dirty = true;
}

static void show(struct tsri_unit *u) {
  u->vcd_state = u->in_flight ? VCD_WORKING : u->blocked ? VCD_WAITING : VCD_IDLE;
}

/* Lets the oldest closed gate of a unit go, if it waits for this semaphore. */
static void open_gate(struct tsri_unit *u, int sem) {
  struct tsr_engine *e = u->e;
  if (!u->closed || u->closed_sem != sem || !e->sem[sem].value) return;
  e->sem[sem].value--;
  u->closed--;
  u->account.waited = true;
  u->account.late = e->sem[sem].late;
  u->inst->ops->unit->open(u->inst->state);
}

static void signal_sem(struct tsr_engine *e, int sem, struct tsri_late late) {
  e->sem[sem].value++;
  e->sem[sem].late = late;
  for (int i = 0; i < TSR_ISA_UNITS; i++) open_gate(&e->unit[i], sem);
  for (int i = 0; i < TSR_ISA_UNITS; i++)
    if (e->unit[i].blocked && e->unit[i].blocked_sem == sem) touch(&e->unit[i]);
}

static struct tsri_late late_of(const struct tsri_unit *u, const struct tsri_flight *f) {
  struct tsri_late l = {.from = u->id == TSR_UNIT_LOAD    ? TSRI_LATE_LOAD
                                : u->id == TSR_UNIT_STORE ? TSRI_LATE_STORE
                                                          : TSRI_LATE_TILE};
  if (f) l.parts = f->ticket.late;
  return l;
}

/* Fires the signals of a flight that wait for this milestone. */
static void fire(struct tsri_flight *f, int when) {
  struct tsri_unit *u = f->unit;
  for (int i = 0; i < f->n_signals; i++)
    if (f->signal[i].when == when) signal_sem(u->e, f->signal[i].sem, late_of(u, f));
}

static void on_accepted(struct tsr_ticket *t) {
  struct tsri_flight *f = (struct tsri_flight *)t;
  f->unit->ready = true;
  touch(f->unit);
  tsri_units_progress(f->unit->e);
}
static void on_consumed(struct tsr_ticket *t) {
  struct tsri_flight *f = (struct tsri_flight *)t;
  f->consumed = true;
  fire(f, TSR_WHEN_READ);
  tsri_units_progress(f->unit->e);
}
static void on_done(struct tsr_ticket *t) {
  struct tsri_flight *f = (struct tsri_flight *)t;
  struct tsri_unit *u = f->unit;
  f->done = true;
  fire(f, TSR_WHEN_DONE);
  u->in_flight--;
  f->used = false;
  touch(u);
  show(u);
  tsri_units_progress(u->e);
}

/* Whether the next request's gate is closed; takes from its semaphore if not. */
static bool gate_closed(struct tsri_unit *u) {
  int sem = u->gate_sem;
  u->gate_sem = -1;
  if (sem < 0) return false;
  if (!u->closed && u->e->sem[sem].value) {
    u->e->sem[sem].value--;
    return false;
  }
  if (!u->closed) u->closed_cycle = now_cycle(u->e);
  u->closed++;
  u->closed_sem = sem;
  return true;
}

static void start(struct tsri_unit *u, const struct tsr_req *req) {
  struct tsri_flight *f = NULL;
  for (unsigned i = 0; i < TSR_TICKETS_MAX && !f; i++)
    if (!u->flight[i].used && &u->flight[i] != u->last) f = &u->flight[i];
  TSR_CHECK(f);
  f->ticket = (struct tsr_ticket){on_accepted, on_consumed, on_done, {0, 0}};
  f->req = *req;
  if (gate_closed(u)) f->req.mm.gated = true;
  f->unit = u;
  f->used = true;
  f->consumed = f->done = false;
  f->n_signals = 0;
  u->last = f;
  u->in_flight++;
  u->ready = false;
  show(u);
  u->inst->ops->unit->start(u->inst->state, &f->req, &f->ticket);
}

/* A signal belongs to the request before it. */
static bool attach(struct tsri_unit *u, const struct tsri_op *op) {
  struct tsri_flight *f = u->last;
  bool reached = !f || f->done || (op->when == TSR_WHEN_READ && f->consumed);
  if (reached) {
    signal_sem(u->e, op->sem, late_of(u, f));
    return true;
  }
  if (f->n_signals == TSRI_SIGNALS) return false;
  f->signal[f->n_signals].sem = op->sem;
  f->signal[f->n_signals++].when = op->when;
  return true;
}

static bool take(struct tsri_unit *u, int sem) {
  struct tsr_engine *e = u->e;
  if (e->sem[sem].value) {
    e->sem[sem].value--;
    if (u->blocked) {
      u->account.waited = true;
      u->account.late = e->sem[sem].late;
    }
    u->blocked = false;
    return true;
  }
  if (!u->blocked) u->blocked_cycle = now_cycle(e);
  u->blocked = true;
  u->blocked_sem = sem;
  return false;
}

/* A wait for the result of the next request blocks nothing yet. */
static bool set_gate(struct tsri_unit *u, const struct tsri_op *op) {
  if (op->when != TSR_GATE_RESULT || !u->inst->ops->unit->open || u->gate_sem >= 0)
    return false;
  if (u->closed && u->closed_sem != op->sem) return false;
  u->gate_sem = op->sem;
  return true;
}

/* Does what the head of the queue asks for; false when it must wait. */
static bool step(struct tsri_unit *u) {
  const struct tsri_op *op = &u->queue[u->head];
  switch (op->kind) {
  case TSRI_OP_WAIT:
    if (!set_gate(u, op) && !take(u, op->sem)) return false;
    break;
  case TSRI_OP_SIGNAL:
    if (!attach(u, op)) return false;
    break;
  case TSRI_OP_REQ:
    if (!u->ready || u->in_flight >= TSR_TICKETS_MAX - 1) return false;
    start(u, &op->req);
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

/* Fills queues until one is full or the program halts. */
static bool issue(struct tsr_engine *e) {
  bool any = false;
  for (;;) {
    if (e->pending_unit < 0) {
      if (e->issue.halted || !tsri_issue_next(&e->issue, &e->pending, &e->pending_unit))
        return any;
      if (e->pending_unit < 0) { /* a semaphore's initial value */
        e->sem[e->pending.sem].value = e->issue.sem_init[e->pending.sem];
        continue;
      }
    }
    if (!push(&e->unit[e->pending_unit], &e->pending)) return any;
    e->pending_unit = -1;
    any = true;
  }
}

void tsri_units_progress(struct tsr_engine *e) {
  if (tsr_interrupted && e->stop == TSRI_STOP_NONE) {
    e->stop = TSRI_STOP_INTERRUPT;
    tsr_agenda_stop(e->agenda, TSR_SIM);
    return;
  }
  for (bool again = true; again;) {
    again = issue(e);
    for (int i = 0; i < TSR_ISA_UNITS; i++) {
      struct tsri_unit *u = &e->unit[i];
      if (!u->dirty) continue;
      u->dirty = false;
      while (u->count && step(u)) again = true;
      show(u);
    }
  }
}

bool tsri_units_done(const struct tsr_engine *e) {
  if (!e->issue.halted || e->pending_unit >= 0) return false;
  for (int i = 0; i < TSR_ISA_UNITS; i++)
    if (e->unit[i].count || e->unit[i].in_flight) return false;
  return true;
}

void tsri_units_reset(struct tsr_engine *e) {
  e->pending_unit = -1;
  for (int i = 0; i < TSR_ISA_SEMS; i++) e->sem[i] = (struct tsri_sem){0};
  for (int i = 0; i < TSR_ISA_UNITS; i++) {
    struct tsri_unit *u = &e->unit[i];
    u->head = u->count = 0;
    u->ready = true;
    u->dirty = true;
    u->blocked = false;
    u->last = NULL;
    u->gate_sem = -1;
    u->closed = 0;
    tsri_account_open(&u->account, e->start_cycle);
  }
}

void tsri_units_explain(const struct tsr_engine *e, struct tsr_str *out) {
  for (int i = 0; i < TSR_ISA_UNITS; i++) {
    const struct tsri_unit *u = &e->unit[i];
    tsr_str_addf(out, "%s%s: queue %u of %d, %u in flight", i ? "; " : "", u->inst->name,
                 u->count, TSRI_QUEUE, u->in_flight);
    if (u->blocked)
      tsr_str_addf(out, ", waits for s%d since cycle %" PRIu64, u->blocked_sem,
                   u->blocked_cycle);
    if (u->closed)
      tsr_str_addf(out, ", results of %u request%s wait for s%d since cycle %" PRIu64,
                   u->closed, u->closed == 1 ? "" : "s", u->closed_sem, u->closed_cycle);
  }
}
