/* Life cycle: build, run a layer, collect. */
#include "sim/engine/engine.h"

#include <inttypes.h>
#include <string.h>

#include "sim/base/log.h"
#include "sim/engine/engine_int.h"

static const int unit_slots[TSR_ISA_UNITS] = {TSR_SLOT_LOAD, TSR_SLOT_TILE, TSR_SLOT_STORE};

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
  if (tsr_agenda_events(e->agenda) >= e->machine->max_events) {
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
  struct tsr_engine *e = engine;
  struct tsri_unit *u = unit;
  if (cycles) tsri_account_span(&u->account, u->id, states[state], start, cycles, &e->segments);
}

/* ---- building ---- */

static enum tsr_status build_instance(struct tsr_engine *e, int slot,
                                      struct tsr_sc_module *core, struct tsr_err *err) {
  const struct tsr_machine_instance *m = &e->machine->slot[slot];
  struct tsr_instance *x = &e->inst[slot];
  struct tsr_wiring w = {.env = &e->env, .self = x};
  for (int p = 0; p < TSR_PORTS_MAX; p++)
    if (m->peer[p] >= 0) w.peer[p] = &e->inst[m->peer[p]];
  const char *local = strncmp(m->name, "core0.", 6) == 0 ? m->name + 6 : m->name;
  char name[48];
  size_t n = 0;
  for (; local[n] && n < sizeof name - 1; n++) name[n] = local[n] == '.' ? '_' : local[n];
  name[n] = '\0';
  struct tsr_sc_module *module;
  enum tsr_status st =
      tsr_sc_module_new(e->sim, local == m->name ? NULL : core, name, &module, err);
  if (!st) st = m->ops->init(x->state, x->params, &w, err);
  e->inited[slot] = !st;
  return st;
}

static enum tsr_status allocate_instances(struct tsr_engine *e, struct tsr_err *err) {
  for (int i = 0; i < TSR_SLOT_COUNT; i++) {
    const struct tsr_machine_instance *m = &e->machine->slot[i];
    size_t n = 0;
    while (m->ops->counters && m->ops->counters[n].name) n++;
    e->inst[i] = (struct tsr_instance){.ops = m->ops,
                                       .params = m->params,
                                       .name = m->name,
                                       .state = tsr_mem_alloc(m->ops->state_size),
                                       .counters = tsr_mem_array(n + 1, sizeof(uint64_t))};
    if (!e->inst[i].state || !e->inst[i].counters) return tsr_err_nomem(err);
  }
  return TSR_OK;
}

static enum tsr_status build(struct tsr_engine *e, const char *vcd, struct tsr_err *err) {
  struct tsr_sc_module *core;
  enum tsr_status st = tsr_sc_open(NULL, &e->sim, err);
  if (!st) st = tsr_sc_module_new(e->sim, NULL, "core0", &core, err);
  if (!st) st = tsr_agenda_create(e->sim, core, &e->agenda, err);
  if (!st) st = allocate_instances(e, err);
  for (int i = 0; !st && i < TSR_ISA_UNITS; i++) {
    struct tsri_unit *u = &e->unit[i];
    u->e = e;
    u->id = i;
    u->inst = &e->inst[unit_slots[i]];
    u->inst->unit = u;
  }
  for (int i = 0; !st && i < TSR_SLOT_COUNT; i++) st = build_instance(e, i, core, err);
  struct tsr_sc_trace *trace = NULL;
  if (!st && vcd) st = tsr_sc_trace_open(e->sim, vcd, &trace, err);
  for (int i = 0; !st && trace && i < TSR_ISA_UNITS; i++)
    st = tsr_sc_trace_value(trace, &e->unit[i].vcd_state, 2, e->unit[i].inst->name, err);
  return st;
}

enum tsr_status tsr_engine_create(const struct tsr_machine *m,
                                  const struct tsr_engine_options *o, struct tsr_engine **out,
                                  struct tsr_err *err) {
  struct tsr_engine *e = tsr_mem_alloc(sizeof *e);
  if (!e) return tsr_err_nomem(err);
  e->machine = m;
  e->segments.on = o && o->trace;
  e->pending_unit = -1;
  e->env = (struct tsr_env){.engine = e,
                            .clock_hz = m->clock_hz,
                            .now_fs = env_now,
                            .at = env_at,
                            .cycle_fs = env_cycle_fs,
                            .fs_cycle = env_fs_cycle,
                            .span = env_span};
  enum tsr_status st = build(e, o ? o->vcd_path : NULL, err);
  if (st) {
    tsr_engine_destroy(e);
    return st;
  }
  *out = e;
  return TSR_OK;
}

void tsr_engine_destroy(struct tsr_engine *e) {
  if (!e) return;
  for (int i = 0; i < TSR_SLOT_COUNT; i++) {
    struct tsr_instance *x = &e->inst[i];
    if (e->inited[i] && x->ops->fini) x->ops->fini(x->state);
    tsr_mem_free(x->state);
    tsr_mem_free(x->counters);
  }
  (void)tsr_sc_close(e->sim);
  if (e->agenda) tsr_agenda_destroy(e->agenda);
  tsr_mem_free(e->segments.list);
  tsr_mem_free(e);
}

const char *tsr_engine_unit_name(const struct tsr_engine *e, int unit) {
  return e->unit[unit].inst->name;
}

/* ---- running ---- */

static void kick(void *arg) {
  tsri_units_progress(arg);
}

static void clear_counters(struct tsr_engine *e) {
  for (int i = 0; i < TSR_SLOT_COUNT; i++)
    for (int c = 0; e->inst[i].ops->counters && e->inst[i].ops->counters[c].name; c++)
      e->inst[i].counters[c] = 0;
  e->segments.n = 0;
  memset(e->segments.open, 0, sizeof e->segments.open);
}

static uint64_t counter(const struct tsr_engine *e, int slot, const char *name) {
  const struct tsr_instance *x = &e->inst[slot];
  for (int c = 0; x->ops->counters[c].name; c++)
    if (!strcmp(x->ops->counters[c].name, name)) return x->counters[c];
  TSR_BUG("a component lacks a counter that the engine reports");
}

static void collect(struct tsr_engine *e, uint64_t end, uint64_t events,
                    struct tsr_layer_result *out) {
  *out = (struct tsr_layer_result){
      .start_cycles = e->start_cycle, .cycles = end - e->start_cycle, .events = events};
  for (int i = 0; i < TSR_ISA_UNITS; i++)
    memcpy(out->unit_cycles[i], e->unit[i].account.cycles, sizeof out->unit_cycles[i]);
  out->folds = counter(e, TSR_SLOT_TILE, "folds");
  out->active_cycles = counter(e, TSR_SLOT_TILE, "active_cycles");
  out->slots = counter(e, TSR_SLOT_TILE, "slots");
  out->slots_used = counter(e, TSR_SLOT_TILE, "slots_used");
  out->macs = counter(e, TSR_SLOT_TILE, "macs");
  out->conflict_cycles = counter(e, TSR_SLOT_TILE, "conflict_cycles");
  out->dram_read_bytes = counter(e, TSR_SLOT_DRAM, "read_bytes");
  out->dram_write_bytes = counter(e, TSR_SLOT_DRAM, "write_bytes");
  for (int s = TSR_SLOT_SRAM_A; s <= TSR_SLOT_SRAM_C; s++) {
    out->sram_read_bytes += counter(e, s, "read_bytes");
    out->sram_write_bytes += counter(e, s, "write_bytes");
  }
  for (int s = TSR_SLOT_LOAD; s <= TSR_SLOT_STORE; s++) {
    out->transfers += counter(e, s, "transfers");
    out->useful_bytes += counter(e, s, "useful_bytes");
  }
  out->n_segments = e->segments.n;
  out->segments = e->segments.list;
}

static enum tsr_status stopped(const struct tsr_engine *e, const char *layer,
                               struct tsr_err *err) {
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
  default: return TSR_OK;
  }
}

static enum tsr_status deadlock(const struct tsr_engine *e, const char *layer,
                                struct tsr_err *err) {
  struct tsr_str who = TSR_STR_INIT;
  tsri_units_explain(e, &who);
  enum tsr_status st = tsr_err_set(
      err, TSR_SIM, "deadlock in layer '%s' at cycle %" PRIu64 ": %s", layer,
      tsr_clock_cycle_at(tsr_agenda_now(e->agenda), e->env.clock_hz), who.p ? who.p : "");
  tsr_str_fini(&who);
  return st;
}

enum tsr_status tsr_engine_run(struct tsr_engine *e, const struct tsr_program *p,
                               const char *layer, struct tsr_layer_result *out,
                               struct tsr_err *err) {
  e->stop = TSRI_STOP_NONE;
  e->start_cycle = env_fs_cycle(e, tsr_agenda_now(e->agenda));
  clear_counters(e);
  tsri_units_reset(e);
  tsri_issue_start(&e->issue, p, &e->inst[TSR_SLOT_SRAM_A]);
  uint64_t before = tsr_agenda_events(e->agenda);
  env_at(e, env_cycle_fs(e, e->start_cycle), TSR_PRIO_ISSUE, kick, e);
  enum tsr_sc_result r =
      e->stop == TSRI_STOP_NONE ? tsr_sc_run(e->sim, TSR_SC_FOREVER) : TSR_SC_STOPPED;
  enum tsr_status st = stopped(e, layer, err);
  if (!st) st = tsr_sc_status(e->sim, r, err);
  if (!st) st = tsr_agenda_status(e->agenda);
  if (!st && e->segments.failed) st = tsr_err_nomem(err);
  if (!st && !tsri_units_done(e)) st = deadlock(e, layer, err);
  if (st) return st;
  for (int i = 0; i < TSR_ISA_UNITS; i++)
    e->unit[i].inst->ops->unit->end(e->unit[i].inst->state);
  uint64_t end = env_fs_cycle(e, tsr_agenda_now(e->agenda));
  for (int i = 0; i < TSR_ISA_UNITS; i++)
    tsri_account_close(&e->unit[i].account, i, end, &e->segments);
  collect(e, end, tsr_agenda_events(e->agenda) - before, out);
  return TSR_OK;
}
