/* Jobs: layers on ranges of cores, side by side where their cores and their order allow. */
#include <inttypes.h>
#include <string.h>

#include "sim/base/log.h"
#include "sim/base/mem.h"
#include "sim/engine/forward.h"

/* ---- counters ---- */

static int counter_index(const struct tsr_instance *x, const char *name) {
  for (int c = 0; x->ops->counters && x->ops->counters[c].name; c++)
    if (!strcmp(x->ops->counters[c].name, name)) return c;
  return -1;
}

static uint64_t counter(const struct tsr_instance *x, const char *name) {
  int c = counter_index(x, name);
  if (c < 0) TSR_BUG("a component lacks a counter that the engine reports");
  return x->counters[c];
}

static void clear_core(struct tsr_engine *e, uint32_t core) {
  int from = tsr_machine_slot(e->machine, core, TSR_SLOT_SRAM_A);
  int to = tsr_machine_slot(e->machine, core + 1, TSR_SLOT_SRAM_A);
  for (int i = from; i < to; i++) {
    struct tsr_instance *x = &e->inst[i];
    for (int c = 0; x->ops->counters && x->ops->counters[c].name; c++) x->counters[c] = 0;
  }
}

/* ---- results ---- */

static void add_unit(struct tsr_engine *e, const struct tsri_lane *lane,
                     struct tsr_layer_result *out, uint64_t *latest) {
  const struct tsri_account *a = &lane->account;
  struct tsr_unit_result *u = &e->unit_results[out->n_units];
  u->name = lane->inst->name;
  u->kind = (enum tsr_isa_unit)lane->unit->id;
  memcpy(u->cycles, a->cycles, sizeof u->cycles);
  /* The pacing unit is the tile that ended last, without one that worked the vector unit. */
  uint64_t rank = u->kind == TSR_UNIT_TILE ? (a->worked ? 3 : 1) : 0;
  if (u->kind == TSR_UNIT_VECTOR) rank = 2;
  uint64_t score = rank << 60 | a->work_end;
  if (rank && score > *latest) {
    *latest = score;
    out->pacing = out->n_units;
  }
  out->n_units++;
}

static void add_core(struct tsr_engine *e, uint32_t id, struct tsr_layer_result *out,
                     uint64_t *latest) {
  struct tsri_core *c = &e->core[id];
  for (int u = 0; u < TSR_ISA_UNITS; u++)
    for (unsigned l = 0; l < c->unit[u].n_lanes; l++) {
      const struct tsri_lane *lane = &c->unit[u].lane[l];
      if (u != TSR_UNIT_VECTOR || lane->account.worked) add_unit(e, lane, out, latest);
    }
  for (unsigned t = 0; t < e->machine->tiles; t++) {
    const struct tsr_instance *x = c->unit[TSR_UNIT_TILE].lane[t].inst;
    out->folds += counter(x, "folds");
    out->active_cycles += counter(x, "active_cycles");
    out->slots += counter(x, "slots");
    out->slots_used += counter(x, "slots_used");
    out->macs += counter(x, "macs");
    out->conflict_cycles += counter(x, "conflict_cycles");
  }
  const struct tsr_instance *vector = c->unit[TSR_UNIT_VECTOR].lane[0].inst;
  out->vector_ops += counter(vector, "ops");
  out->vector_elements += counter(vector, "elements");
  out->vector_cycles += counter(vector, "active_cycles");
  for (int s = TSR_SLOT_SRAM_A; s <= TSR_SLOT_SRAM_C; s++) {
    const struct tsr_instance *x = &e->inst[tsr_machine_slot(e->machine, id, s)];
    out->sram_read_bytes += counter(x, "read_bytes");
    out->sram_write_bytes += counter(x, "write_bytes");
  }
  for (int s = TSR_SLOT_LOAD; s <= TSR_SLOT_STORE; s++) {
    const struct tsr_instance *x = &e->inst[tsr_machine_slot(e->machine, id, s)];
    out->transfers += counter(x, "transfers");
    out->useful_bytes += counter(x, "useful_bytes");
    out->dma_bytes += counter(x, "moved_bytes");
  }
}

/* Bytes that the DRAM has moved for the job's cores so far: others are at work too.  Where it
 * does not tell them apart, for all. */
static uint64_t dram_bytes(const struct tsr_engine *e, const struct tsr_job *j, bool write) {
  const struct tsr_instance *dram = &e->inst[TSR_SLOT_DRAM];
  const struct tsr_memory_ops *ops = dram->ops->memory;
  if (!ops->core_bytes) return counter(dram, write ? "write_bytes" : "read_bytes");
  uint64_t sum = 0;
  for (uint32_t c = j->first_core; c < j->first_core + j->n_cores; c++)
    sum += ops->core_bytes(dram->state, c, write);
  return sum;
}

static void collect(struct tsr_engine *e, struct tsri_running *r, uint64_t end,
                    struct tsr_layer_result *out) {
  *out = (struct tsr_layer_result){.start_cycles = r->start_cycle,
                                   .cycles = end - r->start_cycle,
                                   .events = tsr_agenda_events(e->agenda) - r->start_events};
  uint64_t latest = 0;
  for (uint32_t i = 0; i < r->job->n_cores; i++)
    add_core(e, r->job->first_core + i, out, &latest);
  out->dram_read_bytes = dram_bytes(e, r->job, false) - r->dram_mark[0];
  out->dram_write_bytes = dram_bytes(e, r->job, true) - r->dram_mark[1];
  out->units = e->unit_results;
  out->n_segments = r->segments.n;
  out->segments = r->segments.list;
}

/* ---- life of a job ---- */

void tsri_engine_fail(struct tsr_engine *e, enum tsr_status st) {
  if (e->stop == TSRI_STOP_NONE) {
    e->stop = TSRI_STOP_FAILURE;
    e->failure = st;
  }
  tsr_agenda_stop(e->agenda, TSR_SIM);
}

const char *tsri_engine_job_name(const struct tsri_core *c) {
  return c->job ? c->job->job->name : "";
}

uint64_t tsri_engine_cycle(const struct tsr_engine *e) {
  return tsr_clock_cycle_at(tsr_agenda_now(e->agenda), e->env.clock_hz);
}

void tsri_engine_touch(struct tsri_core *c) {
  struct tsr_engine *e = c->e;
  if (c->dirty) return;
  c->dirty = true;
  e->dirty[(e->dirty_head + e->dirty_count++) % e->machine->cores] = c->id;
}

static void start_core(struct tsr_engine *e, struct tsri_running *r, uint32_t i) {
  const struct tsr_machine *m = e->machine;
  struct tsri_core *c = &e->core[r->job->first_core + i];
  struct tsr_instance *buffers[TSR_ISA_BUFS];
  uint64_t bytes[TSR_ISA_BUFS];
  for (int b = 0; b < TSR_ISA_BUFS; b++) {
    buffers[b] = &e->inst[tsr_machine_slot(m, c->id, TSR_SLOT_SRAM_A + b)];
    const struct tsr_buffer_ops *ops = buffers[b]->ops->buffer;
    bytes[b] = ops->slot_bytes(buffers[b]->params) * ops->slots(buffers[b]->params);
  }
  clear_core(e, c->id);
  if (e->values) tsri_values_start(e->values, c->id);
  c->job = r;
  tsri_units_reset(c, r->start_cycle);
  if (m->unified) buffers[TSR_BUF_B] = buffers[TSR_BUF_C] = buffers[TSR_BUF_A];
  tsri_issue_start(&c->issue, r->job->program[i], buffers, bytes);
  const struct tsr_instance *dram = &e->inst[TSR_SLOT_DRAM];
  c->issue.memory_bytes = dram->ops->memory->capacity(dram->params); /* unlimited: the most */
  if (m->unified) {
    c->issue.buffer_from[TSR_BUF_B] = bytes[TSR_BUF_A];
    c->issue.buffer_from[TSR_BUF_C] = bytes[TSR_BUF_A] + bytes[TSR_BUF_B];
  }
  if (i) return;
  c->issue.n_others = r->job->n_cores - 1;
  for (int b = 0; b < TSR_ISA_BUFS; b++)
    c->issue.others[b] = r->others + (size_t)b * c->issue.n_others;
}

static enum tsr_status find_others(struct tsr_engine *e, struct tsri_running *r) {
  const struct tsr_machine *m = e->machine;
  size_t n = r->job->n_cores - 1, at = 0;
  r->others = tsr_mem_array(TSR_ISA_BUFS * n + 1, sizeof(struct tsr_instance *));
  if (!r->others) return tsr_err_nomem(e->err);
  for (int b = 0; b < TSR_ISA_BUFS; b++)
    for (uint32_t i = 1; i <= n; i++) {
      int piece = m->unified ? TSR_SLOT_SRAM_A : TSR_SLOT_SRAM_A + b;
      r->others[at++] = &e->inst[tsr_machine_slot(m, r->job->first_core + i, piece)];
    }
  return TSR_OK;
}

static void finish(struct tsr_engine *e, struct tsri_running *r);
static void end_recalled(void *arg) {
  struct tsri_running *r = arg;
  finish(r->engine, r);
}

/* A job that begins while no other is at work meets a machine at rest. */
static void rest(struct tsr_engine *e) {
  unsigned running = 0;
  for (size_t i = 0; i < e->n_jobs; i++) running += e->job[i].state == TSRI_JOB_RUNS;
  for (size_t i = 0; running == 1 && i < e->machine->n_slots; i++)
    if (e->inst[i].ops->rest) e->inst[i].ops->rest(e->inst[i].state);
}

static void begin(void *arg) {
  struct tsri_running *r = arg;
  struct tsr_engine *e = r->engine;
  size_t index = (size_t)(r - e->job);
  r->start_cycle = tsri_engine_cycle(e);
  r->start_events = tsr_agenda_events(e->agenda) - 1; /* this one is its own */
  r->dram_mark[0] = dram_bytes(e, r->job, false);
  r->dram_mark[1] = dram_bytes(e, r->job, true);
  enum tsr_status st = e->hooks->begin ? e->hooks->begin(e->hooks->arg, index, e->err) : TSR_OK;
  if (!st) st = find_others(e, r);
  if (st) {
    tsri_engine_fail(e, st);
    return;
  }
  rest(e);
  if (e->forward && (r->recalled = tsri_recall(e->forward, r)) != NULL) {
    uint64_t end = tsr_agenda_now(e->agenda) + tsri_recall_account(e->forward, r->recalled);
    e->env.at(e, end, TSR_PRIO_ISSUE, end_recalled, r);
    return;
  }
  for (uint32_t i = 0; i < r->job->n_cores; i++) start_core(e, r, i);
  if (e->forward) {
    tsri_forward_begin(e->forward, &e->core[r->job->first_core]);
    tsri_recall_begin(e->forward, r);
  }
  tsri_units_progress(e);
}

/* Starts what may start now: nothing before it is left, and its cores are free. */
static void launch(struct tsr_engine *e) {
  uint64_t at = tsri_engine_cycle(e);
  for (size_t i = 0; i < e->n_jobs && e->stop == TSRI_STOP_NONE; i++) {
    struct tsri_running *r = &e->job[i];
    if (r->state != TSRI_JOB_WAITS) continue;
    bool free = !r->left_after;
    for (uint32_t c = 0; c < r->job->n_cores; c++) {
      struct tsri_core *core = &e->core[r->job->first_core + c];
      free = free && !core->job && !core->reserved;
      core->reserved = true; /* a job later in the list does not overtake this one */
    }
    if (!free) continue;
    r->state = TSRI_JOB_RUNS;
    for (uint32_t c = 0; c < r->job->n_cores; c++) e->core[r->job->first_core + c].job = r;
    e->env.at(e, e->env.cycle_fs(e, at), TSR_PRIO_ISSUE, begin, r);
  }
  for (uint64_t c = 0; c < e->machine->cores; c++) e->core[c].reserved = false;
}

static bool computed(const struct tsr_engine *e, const struct tsr_job *j) {
  bool any = false;
  for (uint32_t i = 0; i < j->n_cores; i++)
    for (int u = 0; u < TSR_ISA_UNITS; u++) {
      const struct tsri_unit *x = &e->core[j->first_core + i].unit[u];
      if (u != TSR_UNIT_TILE && u != TSR_UNIT_VECTOR) continue;
      for (unsigned l = 0; l < x->n_lanes; l++) any = any || x->lane[l].account.worked;
    }
  return any;
}

static void close_core(struct tsri_core *c, uint64_t end, bool moves_only) {
  for (int u = 0; u < TSR_ISA_UNITS; u++)
    for (unsigned l = 0; l < c->unit[u].n_lanes; l++) {
      struct tsri_lane *lane = &c->unit[u].lane[l];
      lane->inst->ops->unit->end(lane->inst->state);
    }
  for (int u = 0; u < TSR_ISA_UNITS; u++)
    for (unsigned l = 0; l < c->unit[u].n_lanes; l++)
      tsri_account_close(&c->unit[u].lane[l], tsr_min_u64(c->done_cycle, end), end, moves_only);
}

static void settle(struct tsr_engine *e, struct tsri_running *r, struct tsr_layer_result *out) {
  const struct tsr_job *j = r->job;
  uint64_t end = tsri_engine_cycle(e);
  bool moves_only = !computed(e, j);
  for (uint32_t i = 0; i < j->n_cores; i++)
    close_core(&e->core[j->first_core + i], end, moves_only);
  collect(e, r, end, out);
  if (e->forward) tsri_recall_end(e->forward, r, out);
}

static void finish(struct tsr_engine *e, struct tsri_running *r) {
  const struct tsr_job *j = r->job;
  struct tsr_layer_result result;
  if (r->recalled)
    tsri_recall_result(r->recalled, r, &result);
  else
    settle(e, r, &result);
  size_t index = (size_t)(r - e->job);
  enum tsr_status st = r->segments.failed
                           ? tsr_err_nomem(e->err)
                           : e->hooks->end(e->hooks->arg, index, &result, e->err);
  if (st) {
    tsri_engine_fail(e, st);
    return;
  }
  r->state = TSRI_JOB_OVER;
  e->jobs_over++;
  for (uint32_t i = 0; i < j->n_cores; i++) e->core[j->first_core + i].job = NULL;
  tsr_mem_free(r->segments.list);
  tsr_mem_free(r->others);
  r->segments = (struct tsri_segments){0};
  r->others = NULL;
  for (size_t i = index + 1; i < e->n_jobs; i++)
    for (size_t a = 0; a < e->job[i].job->n_after; a++)
      if (e->job[i].job->after[a] == index) e->job[i].left_after--;
  launch(e);
}

void tsri_engine_core_done(struct tsri_core *c) {
  struct tsri_running *r = c->job;
  c->done = true;
  c->done_cycle = tsri_engine_cycle(c->e);
  if (++r->cores_done == r->job->n_cores) finish(c->e, r);
}

/* ---- the whole list ---- */

static const char *present_names(const struct tsr_engine *e) {
  for (size_t i = 0; i < e->n_jobs; i++)
    if (e->job[i].state == TSRI_JOB_RUNS) return e->job[i].job->name;
  return e->n_jobs ? e->job[0].job->name : "";
}

static enum tsr_status stopped(const struct tsr_engine *e, struct tsr_err *err) {
  const char *layer = present_names(e);
  switch (e->stop) {
  case TSRI_STOP_CYCLES:
    return tsr_err_set(err, TSR_SIM, "layer '%s' passes sim.max_cycles = %" PRIu64, layer,
                       e->machine->max_cycles);
  case TSRI_STOP_EVENTS:
    return tsr_err_set(err, TSR_SIM, "layer '%s' passes sim.max_events = %" PRIu64, layer,
                       e->machine->max_events);
  case TSRI_STOP_TIME:
    return tsr_err_set(
        err, TSR_SIM, "layer '%s' would end past 2^64 fs (18446.7 s of simulated time)", layer);
  case TSRI_STOP_INTERRUPT:
    return tsr_err_set(err, TSR_SIM, "interrupted in layer '%s'; nothing was stored", layer);
  case TSRI_STOP_FAILURE: return e->failure;
  default: return TSR_OK;
  }
}

enum { EXPLAIN_CORES = 8 };

static enum tsr_status deadlock(const struct tsr_engine *e, struct tsr_err *err) {
  struct tsr_str who = TSR_STR_INIT;
  unsigned told = 0, left = 0;
  for (uint64_t i = 0; i < e->machine->cores; i++) {
    const struct tsri_core *c = &e->core[i];
    if (!c->job || c->done) continue;
    if (told++ < EXPLAIN_CORES)
      tsri_units_explain(c, &who);
    else
      left++;
  }
  if (left) tsr_str_addf(&who, "; and %u cores more", left);
  enum tsr_status st =
      tsr_err_set(err, TSR_SIM, "deadlock in layer '%s' at cycle %" PRIu64 ": %s",
                  present_names(e), tsri_engine_cycle(e), who.p ? who.p : "");
  tsr_str_fini(&who);
  return st;
}

static enum tsr_status open_list(struct tsr_engine *e, const struct tsr_job *jobs, size_t n,
                                 const struct tsr_job_hooks *hooks, struct tsr_err *err) {
  e->stop = TSRI_STOP_NONE;
  e->hooks = hooks;
  e->err = err;
  e->n_jobs = n;
  e->jobs_over = 0;
  e->job = tsr_mem_array(n + 1, sizeof *e->job);
  if (!e->job) return tsr_err_nomem(err);
  for (size_t i = 0; i < n; i++) {
    TSR_CHECK(jobs[i].n_cores && jobs[i].first_core + jobs[i].n_cores <= e->machine->cores);
    for (size_t a = 0; a < jobs[i].n_after; a++) TSR_CHECK(jobs[i].after[a] < i);
    e->job[i] =
        (struct tsri_running){.engine = e, .job = &jobs[i], .left_after = jobs[i].n_after};
  }
  return TSR_OK;
}

enum tsr_status tsr_engine_run(struct tsr_engine *e, const struct tsr_job *jobs, size_t n,
                               const struct tsr_job_hooks *hooks, struct tsr_err *err) {
  enum tsr_status st = open_list(e, jobs, n, hooks, err);
  if (!st && n) {
    launch(e);
    enum tsr_sc_result r =
        e->stop == TSRI_STOP_NONE ? tsr_sc_run(e->sim, TSR_SC_FOREVER) : TSR_SC_STOPPED;
    st = stopped(e, err);
    if (!st) st = tsr_sc_status(e->sim, r, err);
    if (!st) st = tsr_agenda_status(e->agenda);
    if (!st && e->jobs_over < n) st = deadlock(e, err);
  }
  for (size_t i = 0; e->job && i < n; i++) {
    tsr_mem_free(e->job[i].segments.list);
    tsr_mem_free(e->job[i].others);
  }
  tsr_mem_free(e->job);
  e->job = NULL;
  return st;
}
