/* Simulating a plan and recording what came out. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "sim/base/log.h"
#include "sim/engine/values.h"
#include "sim/run/feed.h"
#include "sim/run/run_int.h"
#include "sim/run/steps.h"
#include "workloads/translate/view.h"

const char *const tsr_numerics_names[] = {"off", "sample", "full", NULL};
const char *const tsr_trace_names[] = {"off", "summary", "full", NULL};

/* Everything of a run until it is stored; texts live in the arena. */
struct recorder {
  const struct tsr_run_options *o;
  const struct tsr_run_plan *plan;
  struct tsr_engine *engine;
  struct tsr_values *values; /* NULL: timing alone */
  struct tsr_arena *arena;
  struct tsr_run_layer *layers;
  struct tsr_program_set *set;         /* of the layers at work */
  const struct tsr_program ***program; /* by layer and core: what the jobs point to */
  uint64_t tile_macs;                  /* of one tile in a cycle, at rate 1 */
  uint64_t active_cycles, done, last_end;
  struct tsri_hand *hand;       /* values of nets; NULL: operands are drawn … */
  struct tsri_feed *feed;       /* … and their inputs and outputs */
  struct tsri_full *full;       /* of --numerics full … */
  struct tsri_op_full *op_full; /* … and of layers that are no product */
  double peak_time_macs;        /* Σ executed / peak of the layer, in cycles */
  struct tsr_err *err;
};

static double wall_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds(const struct recorder *r, uint64_t cycles) {
  return (double)cycles / (double)r->plan->machine->clock_hz;
}

/* ---- one layer ---- */

static enum tsr_status record_stalls(struct recorder *r, const struct tsr_layer_result *x,
                                     struct tsr_run_layer *out) {
  struct tsr_run_stall *list = tsr_arena_array(r->arena, TSR_CAUSE_COUNT, sizeof *list);
  if (!list) return tsr_err_nomem(r->err);
  for (int c = 0; c < TSR_CAUSE_COUNT; c++) {
    uint64_t cycles = x->units[x->pacing].cycles[TSR_STATE_CAUSE0 + c];
    if (!cycles) continue;
    list[out->n_stalls++] =
        (struct tsr_run_stall){tsr_engine_state_name(TSR_STATE_CAUSE0 + c), cycles};
    out->stall_cycles += cycles;
  }
  out->stalls = list;
  return TSR_OK;
}

static enum tsr_status record_units(struct recorder *r, const struct tsr_layer_result *x,
                                    struct tsr_run_layer *out) {
  struct tsr_run_unit *list =
      tsr_arena_array(r->arena, x->n_units * TSR_STATE_COUNT, sizeof *list);
  if (!list) return tsr_err_nomem(r->err);
  for (size_t u = 0; u < x->n_units; u++)
    for (int s = 0; s < TSR_STATE_COUNT; s++)
      if (x->units[u].cycles[s])
        list[out->n_units++] = (struct tsr_run_unit){x->units[u].name, tsr_engine_state_name(s),
                                                     x->units[u].cycles[s]};
  out->units = list;
  return TSR_OK;
}

static enum tsr_status record_segments(struct recorder *r, const struct tsr_layer_result *x,
                                       struct tsr_run_layer *out) {
  if (!x->n_segments) return TSR_OK;
  struct tsr_run_segment *list = tsr_arena_array(r->arena, x->n_segments, sizeof *list);
  if (!list) return tsr_err_nomem(r->err);
  for (size_t i = 0; i < x->n_segments; i++) {
    const struct tsr_segment *g = &x->segments[i];
    list[i] = (struct tsr_run_segment){g->unit,          tsr_engine_state_name(g->state),
                                       g->start_cycles,  g->duration_cycles,
                                       g->period_cycles, g->repeats};
  }
  out->segments = list;
  out->n_segments = x->n_segments;
  return TSR_OK;
}

static enum tsr_status record_texts(struct recorder *r, const struct tsr_run_layer_plan *l,
                                    struct tsr_run_layer *out) {
  if (l->foreign) {
    out->kernel = out->requested_kernel = "program";
    out->mapping = NULL;
    return TSR_OK;
  }
  struct tsr_str map = TSR_STR_INIT, kernel = TSR_STR_INIT;
  tsr_run_layer_print(l, &map);
  tsr_run_layer_kernel(r->plan, l, &kernel);
  out->mapping = map.failed ? NULL : tsr_arena_strdup(r->arena, map.p);
  out->kernel = kernel.failed ? NULL : tsr_arena_strdup(r->arena, kernel.p);
  tsr_str_fini(&map);
  tsr_str_fini(&kernel);
  out->requested_kernel = out->kernel;
  return out->mapping && out->kernel ? TSR_OK : tsr_err_nomem(r->err);
}

static enum tsr_status record_numeric(struct recorder *r, size_t i, struct tsr_run_layer *out) {
  if (r->o->numerics == TSR_NUMERICS_OFF || r->plan->alone) return TSR_OK;
  bool product = tsri_is_product(r->plan->layers[i].op);
  if (r->o->numerics == TSR_NUMERICS_FULL && !product)
    return tsri_op_full_end(r->op_full, i, r->arena, &out->numeric, &out->n_numeric, r->err);
  if (!product) return TSR_OK; /* no sampled outputs: such a layer has no long sums */
  if (r->o->numerics == TSR_NUMERICS_FULL)
    return tsri_full_end(r->full, i, r->arena, &out->numeric, &out->n_numeric, r->err);
  struct tsr_run_numeric *n = tsr_arena_alloc(r->arena, sizeof *n);
  if (!n) return tsr_err_nomem(r->err);
  enum tsr_status st =
      tsri_run_sample(r->plan->machine, &r->plan->layers[i], i, r->o->seed, n, r->err);
  out->numeric = n;
  out->n_numeric = 1;
  return st;
}

/* Input rows (or columns) that at least one output touches through the filter. */
static uint64_t touched(uint64_t in, uint64_t out, uint64_t k, uint64_t stride, uint64_t dil,
                        uint64_t pad) {
  uint64_t n = 0;
  if (stride == 1 && dil == 1) return in; /* no gaps, but for what no output reaches */
  if (in > 1u << 20) return tsr_min_u64(in, out * k); /* a bound, when counting is long */
  for (uint64_t r = 0; r < in; r++)
    for (uint64_t j = 0; j < k; j++) {
      uint64_t at = r + pad; /* = o * stride + j * dil for an output o? */
      if (at < j * dil || (at - j * dil) % stride || (at - j * dil) / stride >= out) continue;
      n++;
      break;
    }
  return n;
}

/* Each operand element that is used, and the result, moved once. */
static uint64_t compulsory_bytes(const struct tsr_run_plan *p,
                                 const struct tsr_run_layer_plan *l) {
  uint64_t a, b, c;
  if (!tsri_is_product(l->op)) return tsri_op_compulsory(p, l);
  TSR_CHECK(tsr_op_elems(l->op, &a, &b, &c)); /* the plan has checked it */
  const struct tsr_conv *v = &l->op->conv;
  if (l->op->has_conv)
    a = v->batch * v->in_c *
        touched(v->in_h, v->out_h, v->k_h, v->stride_h, v->dil_h, v->pad_t) *
        touched(v->in_w, v->out_w, v->k_w, v->stride_w, v->dil_w, v->pad_l);
  uint64_t more = 0; /* of an epilogue */
  for (size_t i = 0; i < l->op->n_steps; i++)
    more += tsri_epilogue_elems(l, i) * tsr_ceil_div(tsri_epilogue_format(l, i)->bits, 8);
  return a * l->shape.a_bytes + b * l->shape.b_bytes + c * l->shape.out_bytes + more;
}

/* Multiply-accumulates a cycle of all tiles of the layer's cores, at its rate. */
static double peak_macs(const struct recorder *r, const struct tsr_run_layer_plan *l) {
  return (double)(r->tile_macs * l->rate) * (double)(r->plan->machine->tiles * l->n_cores);
}

/* The pass of a model that runs several times. */
static uint64_t step_of(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l) {
  if (!p->n_tenants || !p->tenants[l->tenant].steps) return TSR_STORE_NULL;
  const struct tsr_graph *g = l->graph;
  return g->bindings ? g->bindings[l->op - g->ops].net : TSR_STORE_NULL;
}

static void record_figures(struct recorder *r, size_t i, const struct tsr_layer_result *x,
                           struct tsr_run_layer *out) {
  const struct tsr_run_layer_plan *l = &r->plan->layers[i];
  const struct tsr_op *op = l->op;
  *out = (struct tsr_run_layer){.index = i,
                                .step = step_of(r->plan, l),
                                .tenant = l->tenant,
                                .first_core = l->first_core,
                                .cores = l->n_cores,
                                .name = op->name,
                                .op = tsr_op_kind_name(op->kind),
                                .m = op->m,
                                .n = op->n,
                                .k = op->k,
                                .count = op->count,
                                .format_a = l->format_a,
                                .format_b = l->format_b,
                                .format_acc = l->format_acc,
                                .format_out = l->format_out,
                                .folds = x->folds,
                                .start_cycles = x->start_cycles,
                                .cycles = x->cycles,
                                .time_s = seconds(r, x->cycles),
                                .executed_macs = x->macs,
                                .peak_macs_per_cycle = peak_macs(r, l),
                                .dram_read_bytes = x->dram_read_bytes,
                                .dram_write_bytes = x->dram_write_bytes,
                                .sram_read_bytes = x->sram_read_bytes,
                                .sram_write_bytes = x->sram_write_bytes,
                                .dma_bytes = x->dma_bytes,
                                .compulsory_bytes = compulsory_bytes(r->plan, l),
                                .transfers = x->transfers,
                                .tile_active_cycles = x->active_cycles,
                                .energy_pj = NAN};
  (void)tsr_op_macs(op, &out->macs);
  const uint64_t *tile = x->units[x->pacing].cycles;
  out->compute_cycles = tile[TSR_STATE_BUSY] + tile[TSR_STATE_FILL] + tile[TSR_STATE_DRAIN];
  double slots = (double)x->cycles * out->peak_macs_per_cycle;
  out->utilization = slots > 0 ? (double)x->macs / slots : NAN; /* none without MACs */
  out->mapping_efficiency = x->slots ? (double)x->slots_used / (double)x->slots : NAN;
  r->active_cycles += x->active_cycles;
  r->last_end = tsr_max_u64(r->last_end, x->start_cycles + x->cycles);
  double share = (double)l->n_cores / (double)r->plan->machine->cores;
  if (l->rate) r->peak_time_macs += (double)x->macs / out->peak_macs_per_cycle * share;
}

static enum tsr_status on_begin(void *arg, size_t i, struct tsr_err *err) {
  struct recorder *r = arg;
  enum tsr_status st = tsr_run_lower(r->plan, i, &r->set[i], err);
  if (st) return st;
  for (uint32_t c = 0; c < r->plan->layers[i].n_cores; c++)
    r->program[i][c] = &r->set[i].program[c];
  if (!r->full) return TSR_OK;
  tsr_values_of(r->values, i);
  size_t graph, net;
  if (r->hand && tsri_hand_fresh(r->hand, i, &graph, &net))
    st = tsri_feed_begin(r->feed, graph, net, err);
  if (!st && r->hand) st = tsri_hand_begin(r->hand, i, err);
  if (st) return st;
  return tsri_is_product(r->plan->layers[i].op) ? tsri_full_begin(r->full, i, err)
                                                : tsri_op_full_begin(r->op_full, i, err);
}

static enum tsr_status on_end(void *arg, size_t i, const struct tsr_layer_result *x,
                              struct tsr_err *err) {
  struct recorder *r = arg;
  const struct tsr_run_plan *p = r->plan;
  const struct tsr_run_layer_plan *l = &p->layers[i];
  struct tsr_run_layer *out = &r->layers[i];
  (void)err; /* r->err */
  record_figures(r, i, x, out);
  if (p->alone) {
    out->op = "program";
    out->m = out->n = out->k = out->count = TSR_STORE_NULL;
    out->macs = out->executed_macs;
    out->compulsory_bytes = x->useful_bytes;
    out->format_a = out->format_b = out->format_acc = out->format_out = NULL;
  }
  if (l->foreign && !p->alone && out->executed_macs != out->macs)
    return tsr_err_set(r->err, TSR_SIM,
                       "layer '%s': the program multiplies %" PRIu64 " times, the operator "
                       "%" PRIu64,
                       out->name, out->executed_macs, out->macs);
  if (!l->foreign && out->executed_macs != out->macs)
    TSR_BUG("a lowered program does not do the work of its layer");
  enum tsr_status st = record_texts(r, l, out);
  if (!st) st = record_stalls(r, x, out);
  if (!st && r->o->trace != TSR_TRACE_OFF) st = record_units(r, x, out);
  if (!st) st = record_segments(r, x, out);
  if (r->values) tsr_values_of(r->values, i);
  if (!st) st = record_numeric(r, i, out);
  size_t graph, net;
  if (!st && r->hand && tsri_hand_last(r->hand, i, &graph, &net))
    st = tsri_feed_end(r->feed, graph, net, r->err);
  if (!st && r->hand) tsri_hand_end(r->hand, i);
  tsr_isa_set_fini(&r->set[i]);
  tsr_progress("layers", ++r->done, r->plan->n_layers);
  return st;
}

/* ---- the whole run ---- */

/* Inferences that the run makes, of all its workloads. */
static double batch_of(const struct tsr_run_plan *p) {
  double n = 0;
  for (size_t t = 0; t < p->n_tenants; t++) n += (double)p->tenants[t].graph->batch;
  return n;
}

/* Of a text: tokens that went in, over all the time; of a decode loop: tokens that came out
 * behind the prompt's pass, over the time since. */
static double tokens_per_s(const struct recorder *r) {
  const struct tsr_run_plan *p = r->plan;
  const struct tsri_steps *s = p->n_tenants ? p->tenants[0].steps : NULL;
  if (!s || s->kind == TSRI_STEPS_IMAGES) return NAN;
  bool decode = s->kind == TSRI_STEPS_DECODE;
  uint64_t from = decode ? UINT64_MAX : 0;
  double tokens = 0;
  for (size_t i = 0; i < s->n; i++)
    tokens += (double)(s->pass[i].n * (decode ? i > 0 : s->tokens));
  for (size_t i = 0; decode && i < p->n_layers; i++)
    if (r->layers[i].step && r->layers[i].step != TSR_STORE_NULL)
      from = tsr_min_u64(from, r->layers[i].start_cycles);
  return r->last_end > from ? tokens / seconds(r, r->last_end - from) : NAN;
}

static void sum(const struct recorder *r, double wall, struct tsr_run_totals *t) {
  const double tiles = (double)(r->plan->machine->tiles * r->plan->machine->cores);
  *t = (struct tsr_run_totals){.energy_pj = NAN,
                               .avg_power_mw = NAN,
                               .peak_power_mw = NAN,
                               .tokens_per_s = NAN,
                               .events = tsr_engine_events(r->engine),
                               .fast_forwarded = tsr_engine_events(r->engine) -
                                                 tsr_engine_events_run(r->engine),
                               .wall_s = wall};
  for (size_t i = 0; i < r->plan->n_layers; i++) {
    const struct tsr_run_layer *l = &r->layers[i];
    t->cycles += l->cycles;
    t->macs += l->macs;
    t->executed_macs += l->executed_macs;
    t->dram_read_bytes += l->dram_read_bytes;
    t->dram_write_bytes += l->dram_write_bytes;
    t->dma_bytes += l->dma_bytes;
    t->sram_read_bytes += l->sram_read_bytes;
    t->sram_write_bytes += l->sram_write_bytes;
  }
  t->overlap_cycles = t->cycles - r->last_end;
  t->cycles = r->last_end;
  t->time_s = seconds(r, t->cycles);
  t->utilization = t->cycles && t->macs ? r->peak_time_macs / (double)t->cycles : NAN;
  t->tensor_active = t->cycles ? (double)r->active_cycles / (double)t->cycles / tiles : NAN;
  t->inferences_per_s = t->cycles ? batch_of(r->plan) / t->time_s : NAN;
  if (r->plan->alone) t->inferences_per_s = NAN;
  t->tokens_per_s = tokens_per_s(r);
}

/* What rerun needs beside the texts, one `key=value` a line. */
static char *options_text(const struct recorder *r) {
  const struct tsr_run_options *o = r->o;
  struct tsr_str s = TSR_STR_INIT;
  tsr_str_addf(&s, "batch=%" PRIu64 "\nseed=%" PRIu64 "\nnumerics=%s\ntrace=%s\n", o->batch,
               o->seed, tsr_numerics_names[o->numerics], tsr_trace_names[o->trace]);
  for (size_t i = 0; i < o->n_dims; i++)
    tsr_str_addf(&s, "dim=%s=%" PRIu64 "\n", o->dims[i].name, o->dims[i].value);
  if (o->skip_unsupported) tsr_str_add(&s, "skip_unsupported=1\n");
  for (size_t i = 0; i < o->n_inputs; i++)
    tsr_str_addf(&s, "input=%s=%s\n", o->inputs[i].name, o->inputs[i].path);
  for (size_t i = 0; i < o->n_expects; i++)
    tsr_str_addf(&s, "expect=%s=%s\n", o->expects[i].name, o->expects[i].path);
  if (o->n_expects) tsr_str_addf(&s, "ulp=%.17g\n", o->ulp);
  if (o->dataset) tsr_str_addf(&s, "dataset=%s\n", o->dataset);
  if (o->decode) tsr_str_addf(&s, "decode=%" PRIu64 "\n", o->decode);
  char *text = s.failed ? NULL : tsr_arena_strdup(r->arena, s.p);
  tsr_str_fini(&s);
  return text;
}

/* The assignments made on the command line, ` k=v` each: the architecture's text holds
 * them already, this says what they were. */
static char *changes_text(const struct recorder *r) {
  if (r->o->changes) return tsr_arena_strdup(r->arena, r->o->changes);
  struct tsr_str s = TSR_STR_INIT;
  for (size_t i = 0; i < r->o->n_sets; i++)
    tsr_str_addf(&s, "%s%s", i ? " " : "", r->o->sets[i]);
  char *text = s.failed ? NULL : tsr_arena_strdup(r->arena, s.p ? s.p : "");
  tsr_str_fini(&s);
  return text;
}

struct rows {
  struct tsr_run_counter *counters;
  struct tsr_run_moved *moved;
  size_t n_counters, n_moved;
};
/* Of the few memories of a machine. */
enum { COUNTERS_MAX = 256, MOVED_MAX = 4 * TSR_HISTORY_MAX };
static enum tsr_status on_counter(void *arg, const struct tsr_counter_result *c) {
  struct rows *r = arg;
  TSR_CHECK(r->n_counters < COUNTERS_MAX);
  r->counters[r->n_counters++] = (struct tsr_run_counter){c->instance, c->name, c->value};
  return TSR_OK;
}
static enum tsr_status on_moved(void *arg, const struct tsr_moved_result *m) {
  struct rows *r = arg;
  TSR_CHECK(r->n_moved < MOVED_MAX);
  r->moved[r->n_moved++] =
      (struct tsr_run_moved){m->instance, m->start_cycles, m->cycles, m->bytes};
  return TSR_OK;
}
static enum tsr_status record_memories(struct recorder *r, struct tsr_run_record *rec) {
  struct rows x = {.counters = tsr_arena_array(r->arena, COUNTERS_MAX, sizeof *x.counters),
                   .moved = tsr_arena_array(r->arena, MOVED_MAX, sizeof *x.moved)};
  if (!x.counters || !x.moved) return tsr_err_nomem(r->err);
  enum tsr_status st = tsr_engine_counters(r->engine, on_counter, &x);
  if (!st) st = tsr_engine_moved(r->engine, on_moved, &x);
  rec->n_counters = x.n_counters;
  rec->counters = x.counters;
  rec->n_moved = x.n_moved;
  rec->moved = x.moved;
  return st;
}

static enum tsr_status record_shared(struct recorder *r, struct tsr_run_record *rec) {
  const struct tsr_run_plan *p = r->plan;
  const struct tsr_resource_result *list;
  size_t n = tsr_engine_resources(r->engine, &list);
  struct tsr_run_tenant_record *tenants =
      tsr_arena_array(r->arena, p->n_tenants, sizeof *tenants);
  struct tsr_run_resource *resources = tsr_arena_array(r->arena, n + 1, sizeof *resources);
  if (!tenants || !resources) return tsr_err_nomem(r->err);
  for (size_t t = 0; t < p->n_tenants; t++)
    tenants[t] = (struct tsr_run_tenant_record){p->tenants[t].source, p->tenants[t].first_core,
                                                p->tenants[t].n_cores};
  for (size_t i = 0; i < n; i++)
    resources[i] = (struct tsr_run_resource){list[i].instance, list[i].name, list[i].bytes,
                                             list[i].busy_cycles, list[i].wait_cycles};
  rec->n_tenants = p->n_tenants;
  rec->tenants = tenants;
  rec->n_resources = n;
  rec->resources = resources;
  return record_memories(r, rec);
}

/* Of the first layer that multiplies. */
static double first_peak(const struct recorder *r) {
  for (size_t i = 0; i < r->plan->n_layers; i++)
    if (r->plan->layers[i].rate) return r->layers[i].peak_macs_per_cycle;
  return 0;
}

static enum tsr_status store_run(struct recorder *r, double wall, struct tsr_store *store,
                                 uint64_t *run_id) {
  const struct tsr_run_options *o = r->o;
  const struct tsr_machine *m = r->plan->machine;
  const struct tsr_machine_instance *dram = &m->slot[TSR_SLOT_DRAM];
  uint64_t bw = dram->ops->memory->bandwidth(dram->params);
  const char *options = options_text(r), *changes = changes_text(r);
  const char *workload;
  if (!options || !changes || tsri_tenants_text(r->plan, r->arena, &workload, r->err))
    return tsr_err_nomem(r->err);
  const struct tsr_run_input inputs[] = {
      {"arch", o->arch, m->text},
      {"workload", o->workload, workload},
      {"options", "options", options},
      {"program", o->program, r->plan->program_text},
      {"mapping", o->mapping ? o->mapping : "keep", r->plan->mapping_text},
      {"changes", "--set", changes}};
  struct tsr_run_input used[sizeof inputs / sizeof inputs[0]];
  size_t n_inputs = 0;
  for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
    if (inputs[i].name && inputs[i].text && (i < 2 || *inputs[i].text))
      used[n_inputs++] = inputs[i];
  struct tsr_run_record rec = {.name = o->name,
                               .arch = m->name,
                               .workload = r->plan->name,
                               .model = "event",
                               .status = "ok",
                               .version = o->version,
                               .seed = o->seed,
                               .numerics = tsr_numerics_names[o->numerics],
                               .trace = tsr_trace_names[o->trace],
                               .clock_hz = (double)m->clock_hz,
                               .peak_macs_per_cycle = first_peak(r),
                               .dram_bytes_per_s = bw == TSR_UNLIMITED ? INFINITY : (double)bw,
                               .n_inputs = n_inputs,
                               .inputs = used,
                               .n_layers = r->plan->n_layers,
                               .layers = r->layers};
  sum(r, wall, &rec.totals);
  enum tsr_status st = record_shared(r, &rec);
  if (!st && r->feed)
    st = tsri_feed_finish(r->feed, r->arena, &rec.quality, &rec.n_quality, r->err);
  return st ? st : tsr_store_put_run(store, &rec, run_id, r->err);
}

static enum tsr_status refuse_by_estimate(const struct tsr_run_plan *p, bool forwards,
                                          struct tsr_err *err) {
  uint64_t fs, limit = p->machine->max_events;
  if (!forwards && limit != TSR_UNLIMITED && p->events > limit) {
    enum tsr_status st = tsr_err_set(
        err, TSR_SIM, "workload '%s' would take about %.3g events; sim.max_events is %" PRIu64,
        p->name, (double)p->events, limit);
    tsr_err_hint(err, "raise it with --set sim.max_events=N; 10^7 events take some seconds");
    return st;
  }
  if (!tsr_clock_fs(p->tile_cycles / 2, p->machine->clock_hz, &fs))
    return tsr_err_set(err, TSR_SIM,
                       "workload '%s' would end past 2^64 fs (18446.7 s of simulated time)",
                       p->name);
  return TSR_OK;
}

/* The plan as jobs: a layer waits for its inputs, and for cores. */
static enum tsr_status make_jobs(struct recorder *r, struct tsr_job **out) {
  const struct tsr_run_plan *p = r->plan;
  struct tsr_job *jobs = tsr_arena_array(r->arena, p->n_layers, sizeof *jobs);
  r->set = tsr_arena_array(r->arena, p->n_layers, sizeof *r->set);
  r->program = tsr_arena_array(r->arena, p->n_layers, sizeof *r->program);
  if (!jobs || !r->set || !r->program) return tsr_err_nomem(r->err);
  for (size_t i = 0; i < p->n_layers; i++) {
    const struct tsr_run_layer_plan *l = &p->layers[i];
    const struct tsr_program **list = tsr_arena_array(r->arena, l->n_cores, sizeof *list);
    size_t *after = tsr_arena_array(r->arena, l->op->n_after + 1, sizeof *after);
    if (!list || !after) return tsr_err_nomem(r->err);
    r->program[i] = list;
    for (size_t a = 0; a < l->op->n_after; a++)
      after[a] = p->tenants[l->tenant].first_layer + l->op->after[a];
    jobs[i] = (struct tsr_job){.name = l->op->name,
                               .first_core = l->first_core,
                               .n_cores = l->n_cores,
                               .program = list,
                               .n_after = l->op->n_after,
                               .after = after};
  }
  *out = jobs;
  return TSR_OK;
}

static enum tsr_status simulate(struct recorder *r) {
  const struct tsr_run_plan *p = r->plan;
  struct tsr_job *jobs = NULL;
  const struct tsr_job_hooks hooks = {.arg = r, .begin = on_begin, .end = on_end};
  bool forwards = r->o->numerics != TSR_NUMERICS_FULL && tsr_engine_forwards(p->machine);
  enum tsr_status st = refuse_by_estimate(p, forwards, r->err);
  if (st) return st;
  r->arena = tsr_arena_create();
  r->layers = r->arena ? tsr_arena_array(r->arena, p->n_layers, sizeof *r->layers) : NULL;
  if (!r->layers) return tsr_err_nomem(r->err);
  if (r->o->numerics == TSR_NUMERICS_FULL) {
    st = tsr_values_create(p->machine, &r->values, r->err);
    if (!st && p->alone) {
      st = tsri_program_tensors(p, r->values, r->o->seed, r->err);
    } else {
      if (!st) st = tsri_hand_create(p, r->o->seed, &r->hand, r->err);
      if (!st && r->hand) st = tsri_feed_create(p, r->o, r->hand, &r->feed, r->err);
      if (!st) st = tsri_full_create(p, r->values, r->hand, r->o->seed, &r->full, r->err);
      if (!st) st = tsri_op_full_create(p, r->values, r->hand, r->o->seed, &r->op_full, r->err);
    }
  }
  struct tsr_engine_options eo = {
      .trace = r->o->trace == TSR_TRACE_FULL, .values = r->values, .seed = r->o->seed};
  if (!st) st = make_jobs(r, &jobs);
  if (!st) st = tsr_engine_create(p->machine, &eo, &r->engine, r->err);
  if (!st) st = tsr_engine_run(r->engine, jobs, p->n_layers, &hooks, r->err);
  for (size_t i = 0; r->set && i < p->n_layers; i++) tsr_isa_set_fini(&r->set[i]);
  tsr_progress("layers", 0, 0);
  return st;
}

static void begin(struct recorder *r) {
  const struct tsr_machine_instance *tile = &r->plan->machine->slot[TSR_SLOT_TILE];
  struct tsr_unit_facts facts;
  tile->ops->unit->facts(tile->params, &facts);
  r->tile_macs = facts.rows * facts.cols * tsr_max_u64(facts.depth, 1);
}

static void end(struct recorder *r) {
  tsr_engine_destroy(r->engine);
  tsri_full_destroy(r->full);
  tsri_op_full_destroy(r->op_full);
  tsri_feed_destroy(r->feed);
  tsri_hand_destroy(r->hand);
  tsr_values_destroy(r->values);
  tsr_arena_destroy(r->arena);
}

enum tsr_status tsr_run_measure(const struct tsr_run_plan *p, struct tsr_run_measured *out,
                                struct tsr_err *err) {
  const struct tsr_run_options o = {.seed = 1};
  struct recorder r = {.o = &o, .plan = p, .err = err};
  begin(&r);
  enum tsr_status st = simulate(&r);
  if (!st) {
    struct tsr_run_totals t;
    sum(&r, 0, &t);
    *out = (struct tsr_run_measured){t.cycles, t.dram_read_bytes + t.dram_write_bytes};
  }
  end(&r);
  return st;
}

enum tsr_status tsr_run_execute(const struct tsr_run_options *o, struct tsr_store *store,
                                uint64_t *run_id, struct tsr_err *err) {
  struct tsr_run_plan plan;
  enum tsr_status st = tsr_run_plan_make(o, &plan, err);
  if (!st && !tsr_run_keeps_auto(o)) st = tsri_without(o, &plan, err);
  if (st) {
    tsr_run_plan_fini(&plan);
    return st;
  }
  double t0 = wall_s();
  struct recorder r = {.o = o, .plan = &plan, .err = err};
  begin(&r);
  st = simulate(&r);
  if (!st && store) st = store_run(&r, wall_s() - t0, store, run_id);
  end(&r);
  tsr_run_plan_fini(&plan);
  return st;
}
