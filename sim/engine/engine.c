/* Life cycle: build, run a layer, collect. */
#include "sim/engine/engine.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/log.h"
#include "sim/engine/forward.h"

/* ---- environment ---- */

static void halt(struct tsr_engine *e, int why) {
  if (e->stop == TSRI_STOP_NONE) e->stop = why;
  tsr_agenda_stop(e->agenda, TSR_SIM);
}

static uint64_t env_now(void *engine) {
  return tsr_agenda_now(((struct tsr_engine *)engine)->agenda);
}
static uint64_t env_cycle_fs(void *engine, uint64_t cycle) {
  struct tsr_engine *e = engine;
  uint64_t fs;
  if (tsr_clock_fs(cycle, e->env.clock_hz, &fs)) return fs;
  halt(e, TSRI_STOP_TIME);
  return UINT64_MAX;
}
static uint64_t env_fs_cycle(void *engine, uint64_t fs) {
  return tsr_clock_cycle_at(fs, ((struct tsr_engine *)engine)->env.clock_hz);
}
static void env_at(void *engine, uint64_t fs, int priority, tsr_model_fn *fn, void *arg) {
  struct tsr_engine *e = engine;
  if (tsr_interrupted) { /* a transfer may last as long as a layer */
    halt(e, TSRI_STOP_INTERRUPT);
    return;
  }
  if (fs >= UINT64_MAX - 1) {
    halt(e, TSRI_STOP_TIME);
    return;
  }
  if (tsr_agenda_ran(e->agenda) >= e->machine->max_events) {
    halt(e, TSRI_STOP_EVENTS);
    return;
  }
  if (e->machine->max_cycles != TSR_UNLIMITED && env_fs_cycle(e, fs) > e->machine->max_cycles) {
    halt(e, TSRI_STOP_CYCLES);
    return;
  }
  tsr_agenda_at(e->agenda, fs, priority, fn, arg);
}
static void env_span(void *engine, void *unit, enum tsr_span_state state, uint64_t start,
                     uint64_t cycles) {
  static const int states[TSR_SPAN_N_] = {[TSR_SPAN_BUSY] = TSR_STATE_BUSY,
                                          [TSR_SPAN_FILL] = TSR_STATE_FILL,
                                          [TSR_SPAN_DRAIN] = TSR_STATE_DRAIN,
                                          [TSR_SPAN_CONFLICT] =
                                              TSR_STATE_CAUSE0 + TSR_CAUSE_SRAM_CONFLICT};
  (void)engine;
  if (cycles) tsri_account_span(unit, states[state], start, cycles);
}

/* ---- building ---- */

static enum tsr_status allocate_instances(struct tsr_engine *e, struct tsr_err *err) {
  const struct tsr_machine *m = e->machine;
  e->inst = tsr_mem_array(m->n_slots, sizeof *e->inst);
  e->inited = tsr_mem_array(m->n_slots, sizeof *e->inited);
  if (!e->inst || !e->inited) return tsr_err_nomem(err);
  for (size_t i = 0; i < m->n_slots; i++) {
    const struct tsr_machine_instance *x = &m->slot[i];
    size_t n = 0;
    while (x->ops->counters && x->ops->counters[n].name) n++;
    e->inst[i] = (struct tsr_instance){.ops = x->ops,
                                       .params = x->params,
                                       .name = x->name,
                                       .state = tsr_mem_alloc(x->ops->state_size),
                                       .counters = tsr_mem_array(n + 1, sizeof(uint64_t))};
    if (!e->inst[i].state || !e->inst[i].counters) return tsr_err_nomem(err);
  }
  return TSR_OK;
}

/* `core0.sram.a` is module `sram_a` of module `core0`. */
static enum tsr_status add_module(struct tsr_engine *e, const char *full,
                                  struct tsr_sc_module *core, struct tsr_err *err) {
  const char *dot = core ? strchr(full, '.') : NULL;
  const char *local = dot ? dot + 1 : full;
  char name[48];
  size_t n = 0;
  for (; local[n] && n < sizeof name - 1; n++) name[n] = local[n] == '.' ? '_' : local[n];
  name[n] = '\0';
  struct tsr_sc_module *module;
  return tsr_sc_module_new(e->sim, core, name, &module, err);
}

static enum tsr_status build_instance(struct tsr_engine *e, size_t slot,
                                      struct tsr_sc_module *core, struct tsr_err *err) {
  const struct tsr_machine_instance *m = &e->machine->slot[slot];
  struct tsr_instance *x = &e->inst[slot];
  struct tsr_wiring w = {.env = &e->env,
                         .self = x,
                         .core = m->core < 0 ? 0 : (uint32_t)m->core,
                         .cores = (uint32_t)e->machine->cores};
  for (int p = 0; p < TSR_PORTS_MAX; p++)
    if (m->peer[p] >= 0) w.peer[p] = &e->inst[m->peer[p]];
  enum tsr_status st = add_module(e, m->name, core, err);
  if (!st) st = m->ops->init(x->state, x->params, &w, err);
  e->inited[slot] = !st;
  return st;
}

static enum tsr_status build_unit(struct tsri_core *c, int id, struct tsr_err *err) {
  static const int piece[TSR_ISA_UNITS] = {[TSR_UNIT_LOAD] = TSR_SLOT_LOAD,
                                           [TSR_UNIT_TILE] = TSR_SLOT_TILE,
                                           [TSR_UNIT_STORE] = TSR_SLOT_STORE,
                                           [TSR_UNIT_VECTOR] = TSR_SLOT_VECTOR};
  struct tsr_engine *e = c->e;
  struct tsri_unit *u = &c->unit[id];
  u->core = c;
  u->id = id;
  u->n_lanes = id == TSR_UNIT_TILE ? (unsigned)e->machine->tiles : 1;
  const struct tsr_machine_instance *x =
      &e->machine->slot[tsr_machine_slot(e->machine, c->id, piece[id])];
  struct tsr_unit_facts facts = {0};
  x->ops->unit->facts(x->params, &facts);
  u->holds_sums = facts.dataflow && !strcmp(facts.dataflow, "os");
  u->lane = tsr_mem_array(u->n_lanes, sizeof *u->lane);
  if (!u->lane) return tsr_err_nomem(err);
  for (unsigned i = 0; i < u->n_lanes; i++) {
    struct tsri_lane *l = &u->lane[i];
    l->unit = u;
    l->inst = &e->inst[tsr_machine_slot(e->machine, c->id, piece[id]) + (int)i];
    l->inst->unit = l;
  }
  for (int f = 0; f < TSR_TICKETS_MAX; f++) {
    u->flight[f].part = tsr_mem_array(u->n_lanes, sizeof *u->flight[f].part);
    if (!u->flight[f].part) return tsr_err_nomem(err);
  }
  return TSR_OK;
}

static enum tsr_status build_core(struct tsr_engine *e, uint32_t id,
                                  struct tsr_sc_module *module, struct tsr_err *err) {
  const struct tsr_machine *m = e->machine;
  struct tsri_core *c = &e->core[id];
  c->e = e;
  c->id = id;
  c->pending_unit = -1;
  enum tsr_status st = TSR_OK;
  for (int u = 0; !st && u < TSR_ISA_UNITS; u++) st = build_unit(c, u, err);
  int first = tsr_machine_slot(m, id, TSR_SLOT_SRAM_A);
  int end = tsr_machine_slot(m, id + 1, TSR_SLOT_SRAM_A);
  for (int s = first; !st && s < end; s++) st = build_instance(e, (size_t)s, module, err);
  return st;
}

/* Memories before those who ask them: the DRAM, then what stands before it. */
static enum tsr_status build_shared(struct tsr_engine *e, struct tsr_err *err) {
  const struct tsr_machine *m = e->machine;
  enum tsr_status st = build_instance(e, TSR_SLOT_DRAM, NULL, err);
  if (!st && m->llb >= 0) st = build_instance(e, (size_t)m->llb, NULL, err);
  if (!st && m->noc >= 0) st = build_instance(e, (size_t)m->noc, NULL, err);
  return st;
}

static enum tsr_status trace_units(struct tsr_engine *e, const char *path,
                                   struct tsr_err *err) {
  struct tsr_sc_trace *trace = NULL;
  enum tsr_status st = tsr_sc_trace_open(e->sim, path, &trace, err);
  for (uint32_t c = 0; c < e->machine->cores; c++)
    for (int u = 0; u < TSR_ISA_UNITS; u++)
      for (unsigned l = 0; !st && l < e->core[c].unit[u].n_lanes; l++) {
        struct tsri_lane *lane = &e->core[c].unit[u].lane[l];
        st = tsr_sc_trace_value(trace, &lane->vcd_state, 2, lane->inst->name, err);
      }
  return st;
}

static enum tsr_status build(struct tsr_engine *e, const char *vcd, struct tsr_err *err) {
  uint32_t cores = (uint32_t)e->machine->cores;
  struct tsr_sc_module *core;
  enum tsr_status st = tsr_sc_open(NULL, &e->sim, err);
  if (!st) st = allocate_instances(e, err);
  e->core = tsr_mem_array(cores, sizeof *e->core);
  e->dirty = tsr_mem_array(cores, sizeof *e->dirty);
  if (!st && (!e->core || !e->dirty)) st = tsr_err_nomem(err);
  for (uint32_t i = 0; !st && i < cores; i++) {
    char name[24];
    (void)snprintf(name, sizeof name, "core%u", i);
    st = tsr_sc_module_new(e->sim, NULL, name, &core, err);
    if (!st && i == 0) st = tsr_agenda_create(e->sim, core, &e->agenda, err);
    if (!st && i == 0) st = build_shared(e, err);
    if (!st) st = build_core(e, i, core, err);
  }
  if (st) return st;
  e->n_resources = tsri_resources_count(e);
  e->resource_results = tsr_mem_array(e->n_resources + 1, sizeof *e->resource_results);
  e->unit_results = tsr_mem_array(e->machine->n_slots, sizeof *e->unit_results);
  if (!e->resource_results || !e->unit_results) return tsr_err_nomem(err);
  return vcd ? trace_units(e, vcd, err) : TSR_OK;
}

enum tsr_status tsr_engine_create(const struct tsr_machine *m,
                                  const struct tsr_engine_options *o, struct tsr_engine **out,
                                  struct tsr_err *err) {
  struct tsr_engine *e = tsr_mem_alloc(sizeof *e);
  if (!e) return tsr_err_nomem(err);
  e->machine = m;
  e->trace = o && o->trace;
  e->values = o ? o->values : NULL;
  e->seed = o ? o->seed : 0;
  e->env = (struct tsr_env){.engine = e,
                            .clock_hz = m->clock_hz,
                            .now_fs = env_now,
                            .at = env_at,
                            .cycle_fs = env_cycle_fs,
                            .fs_cycle = env_fs_cycle,
                            .span = env_span};
  enum tsr_status st = build(e, o ? o->vcd_path : NULL, err);
  if (!st && !(o && o->vcd_path)) st = tsri_forward_create(e, &e->forward, err);
  if (st) {
    tsr_engine_destroy(e);
    return st;
  }
  *out = e;
  return TSR_OK;
}

static void free_unit(struct tsri_unit *u) {
  for (unsigned i = 0; i < TSRI_QUEUE; i++)
    if (i < u->count) tsr_mem_free(u->queue[(u->head + i) % TSRI_QUEUE].data);
  for (int f = 0; f < TSR_TICKETS_MAX; f++) {
    tsr_mem_free(u->flight[f].part);
    tsr_mem_free(u->flight[f].data);
    tsr_mem_free(u->flight[f].index);
    tsr_mem_free(u->flight[f].ahead);
  }
  tsr_mem_free(u->lane);
}

static void free_core(struct tsri_core *c) {
  if (c->pending_unit >= 0 && c->pending.kind == TSRI_OP_REQ) tsr_mem_free(c->pending.data);
  for (int u = 0; u < TSR_ISA_UNITS; u++) free_unit(&c->unit[u]);
}

void tsr_engine_destroy(struct tsr_engine *e) {
  if (!e) return;
  tsri_forward_destroy(e->forward);
  for (size_t i = 0; e->inst && e->inited && i < e->machine->n_slots; i++) {
    struct tsr_instance *x = &e->inst[i];
    if (e->inited[i] && x->ops->fini) x->ops->fini(x->state);
    tsr_mem_free(x->state);
    tsr_mem_free(x->counters);
  }
  (void)tsr_sc_close(e->sim);
  if (e->agenda) tsr_agenda_destroy(e->agenda);
  for (uint64_t i = 0; e->core && i < e->machine->cores; i++) free_core(&e->core[i]);
  tsr_mem_free(e->core);
  tsr_mem_free(e->dirty);
  tsr_mem_free(e->inst);
  tsr_mem_free(e->inited);
  tsr_mem_free(e->unit_results);
  tsr_mem_free(e->resource_results);
  tsr_mem_free(e);
}

uint64_t tsr_engine_events(const struct tsr_engine *e) {
  return tsr_agenda_events(e->agenda);
}
uint64_t tsr_engine_events_run(const struct tsr_engine *e) {
  return tsr_agenda_ran(e->agenda);
}
