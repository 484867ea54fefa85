/* Everything before simulation: read, choose formats, map, place, lower. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/lower/lower.h"
#include "models/arith/format.h"
#include "models/arith/mma.h"
#include "sim/base/log.h"
#include "sim/run/feed.h"
#include "sim/run/operand.h"
#include "sim/run/run_int.h"
#include "sim/run/scaling.h"
#include "sim/run/steps.h"

void tsr_run_plan_fini(struct tsr_run_plan *p) {
  tsr_mem_free(p->layers);
  tsr_mem_free(p->scaled);
  for (size_t i = 0; i < p->n_given; i++)
    tsr_array_destroy((struct tsr_array *)(uintptr_t)p->given[i].array);
  tsr_mem_free(p->given);
  tsr_mem_free(p->made);
  for (size_t t = 0; t < p->n_tenants; t++) {
    tsr_graph_destroy(p->tenants[t].graph);
    tsri_steps_destroy(p->tenants[t].steps);
  }
  tsr_isa_set_fini(&p->program);
  tsr_mapping_file_destroy(p->mappings);
  tsr_arena_destroy(p->arena);
  tsr_machine_destroy(p->machine);
  *p = (struct tsr_run_plan){0};
}

/* ---- formats ---- */

const char *tsri_or_else(const char *own, const char *machine) {
  return own && *own ? own : machine;
}

/* The format of a name: a row of the table, else one of the plan's own. */
static enum tsr_status find_format(struct tsr_run_plan *p, const char *name, const char *role,
                                   const struct tsr_format **out, struct tsr_err *err) {
  *out = tsr_format_find(name);
  for (size_t i = 0; !*out && i < p->n_formats; i++)
    if (!strcmp(p->formats[i].name, name)) *out = &p->formats[i];
  if (*out) return TSR_OK;
  TSR_CHECK(p->n_formats < TSR_RUN_FORMATS_MAX); /* five roles of one machine */
  enum tsr_status st = tsr_format_parse(name, &p->formats[p->n_formats], err);
  if (st) {
    tsr_err_hint(err, "it stands in tile.formats.%s", role);
    return st;
  }
  *out = &p->formats[p->n_formats++];
  return TSR_OK;
}

static enum tsr_status check_unit(const struct tsr_machine *m,
                                  const struct tsr_run_layer_plan *l, struct tsr_err *err) {
  struct tsr_mma_spec store;
  const struct tsr_mma *unit;
  return tsr_mma_resolve(m->mma, l->a, l->mm_b, l->acc, &store, &unit, err);
}

/* An element takes whole bytes in memory, whatever its bits. */
static uint32_t bytes_of(const struct tsr_format *f) {
  return (uint32_t)tsr_ceil_div(f->bits, 8);
}

/* Weights with scales: sums of a tile of k are multiplied in place, in fp32; products of a
 * weight and its scale must be exact there, so that figures have something to be held
 * against. */
static enum tsr_status choose_scales(struct tsr_run_plan *p, struct tsr_run_layer_plan *l,
                                     uint32_t rate, struct tsr_err *err) {
  l->format_scale = p->machine->format_scale;
  l->rate = rate;
  enum tsr_status st = find_format(p, l->format_scale, "scale", &l->scale, err);
  if (st) return st;
  const struct tsr_format *s = l->scale;
  unsigned bits = (l->b->is_int ? l->b->bits : l->b->man_bits + 1u) + s->man_bits + 1u;
  if (s->is_int || s->exp_bits < 5 || s->exp_bits > 8 || bits > 24)
    return tsr_err_set(
        err, TSR_INPUT,
        "a scale in %s of weights in %s: expected a floating-point format of 5 to "
        "8 exponent bits, with the weights at most 24 significant bits",
        l->format_scale, l->format_b);
  if (bytes_of(l->acc) != 4 || l->out->is_int)
    return tsr_err_set(err, TSR_INPUT,
                       "tile.group scales sums of 4 bytes and stores floating-point results; "
                       "got %s and %s",
                       l->format_acc, l->format_out);
  return check_unit(p->machine, l, err);
}

/* Where no tile is at work, sums and temporaries are the vector unit's. */
static const char *datapath(const struct tsr_run_layer_plan *l) {
  const char *const names[] = {l->format_a, l->format_b, l->format_out};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (!strcmp(names[i], "fp64")) return "fp64";
  return "fp32";
}

/* Whether a format has every value of another. */
static bool holds(const struct tsr_format *wide, const struct tsr_format *f) {
  if (wide->is_int || wide->codec || f->codec) return false;
  if (f->is_int) return f->bits <= wide->man_bits + 1u && (1 << (wide->exp_bits - 1)) > f->bits;
  return f->exp_bits <= wide->exp_bits && f->man_bits <= wide->man_bits;
}

static enum tsr_status choose_formats(struct tsr_run_plan *p, struct tsr_run_layer_plan *l,
                                      struct tsr_err *err) {
  const struct tsr_machine *m = p->machine;
  const struct tsr_op *op = l->op;
  l->format_a = tsri_or_else(op->format_a, m->format_a);
  l->format_b = tsri_or_else(op->format_b, m->format_b);
  l->format_acc = tsri_or_else(op->format_acc, m->format_acc);
  l->format_out = tsri_or_else(op->format_out, m->format_out);
  bool macs = tsr_op_kind_info(op->kind)->has_macs;
  if (!macs) l->format_acc = datapath(l);
  enum tsr_status st = find_format(p, l->format_a, "a", &l->a, err);
  if (!st) st = find_format(p, l->format_b, "b", &l->b, err);
  if (!st) st = find_format(p, l->format_acc, "acc", &l->acc, err);
  if (!st) st = find_format(p, l->format_out, "out", &l->out, err);
  l->separate = op->n_steps && m->epilogue == TSR_EPILOGUE_SEPARATE;
  if (!st && macs && op->n_steps) st = tsri_epilogue_check(l, err);
  if (st || !macs) return st;
  const char *mm_b = l->format_b;
  l->mm_b = l->b;
  if (m->dequant && tsr_op_b_is_weight(op) && l->a != l->b) {
    if (!holds(l->a, l->b))
      return tsr_err_set(
          err, TSR_INPUT,
          "tile.dequant converts weights in %s to %s, which does not hold them all; "
          "expected a floating-point format of activations that does",
          l->format_b, l->format_a);
    l->mm_b = l->a;
    mm_b = l->format_a;
  }
  uint64_t rate = tsr_machine_rate(m, l->format_a, mm_b, l->format_acc, l->format_out, false);
  if (!rate)
    return tsr_err_set(err, TSR_INPUT,
                       "layer '%s': the tile does not execute %s by %s into %s, out as %s; "
                       "expected tile.rates.%s and tile.rates.%s equal and above 0, or a rule "
                       "of tile.rates.rules",
                       op->name, l->format_a, l->format_b, l->format_acc, l->format_out,
                       l->format_a, l->format_b);
  if (m->group && tsr_op_b_is_weight(op)) return choose_scales(p, l, (uint32_t)rate, err);
  if (m->promote && (l->acc->is_int || l->acc->exp_bits > 8 || l->acc->man_bits > 23))
    return tsr_err_set(
        err, TSR_INPUT,
        "tile.promote adds sums in fp32, which does not hold those in %s; expected "
        "a floating-point accumulator within fp32, or tile.promote 0",
        l->format_acc);
  l->rate = (uint32_t)rate;
  l->shift = l->graph->bindings ? 0 : tsri_operand_shift(l); /* of drawn operands */
  return check_unit(m, l, err);
}

/* ---- shapes ---- */

static void shape_of(struct tsr_run_layer_plan *l) {
  const struct tsr_op *op = l->op;
  struct tsr_shape *s = &l->shape;
  s->a_bytes = bytes_of(l->a);
  s->b_bytes = bytes_of(l->b);
  s->acc_bytes = bytes_of(l->acc);
  s->out_bytes = bytes_of(l->out);
  if (!tsri_is_product(op)) return;
  for (int x = 0; x < TSR_AXIS_COUNT; x++) s->size[x] = 1;
  s->size[TSR_AXIS_G] = op->count;
  s->size[TSR_AXIS_N] = op->n;
  s->size[TSR_AXIS_OW] = op->m;
  s->size[TSR_AXIS_C] = op->k;
  if (!op->has_conv) return;
  const struct tsr_conv *c = &op->conv;
  s->conv = true;
  s->size[TSR_AXIS_B] = c->batch;
  s->size[TSR_AXIS_OH] = c->out_h;
  s->size[TSR_AXIS_OW] = c->out_w;
  s->size[TSR_AXIS_KH] = c->k_h;
  s->size[TSR_AXIS_KW] = c->k_w;
  s->size[TSR_AXIS_C] = c->in_c / c->groups;
  s->in_h = c->in_h;
  s->in_w = c->in_w;
  s->stride_h = c->stride_h;
  s->stride_w = c->stride_w;
  s->dil_h = c->dil_h;
  s->dil_w = c->dil_w;
  s->pad_t = c->pad_t;
  s->pad_l = c->pad_l;
}

/* ---- mapping and lowering ---- */

static void facts_of(const struct tsr_machine *m, int slot, struct tsr_unit_facts *out) {
  m->slot[slot].ops->unit->facts(m->slot[slot].params, out);
}

static double per_cycle(const struct tsr_machine *m, uint64_t bytes_per_s) {
  return bytes_per_s == TSR_UNLIMITED ? INFINITY : (double)bytes_per_s / (double)m->clock_hz;
}

/* Bytes per core cycle that a core can move: the window of outstanding bursts over the
 * latency, the narrower port of scratchpads a and b, what stands before the memory. */
static double core_rate(const struct tsr_machine *m, double latency_cycles) {
  double rate = INFINITY;
  struct tsr_unit_facts load;
  facts_of(m, TSR_SLOT_LOAD, &load);
  if (latency_cycles > 0)
    rate = fmin(rate, (double)load.outstanding * (double)load.burst_bytes / latency_cycles);
  for (int i = TSR_SLOT_SRAM_A; i <= TSR_SLOT_SRAM_B; i++) {
    uint64_t port = m->slot[i].ops->buffer->bytes_per_cycle(m->slot[i].params);
    if (port != TSR_UNLIMITED) rate = fmin(rate, (double)port);
  }
  return rate;
}

static uint64_t llb_bytes(const struct tsr_machine *m) {
  if (m->llb < 0) return 0;
  return m->slot[m->llb].ops->memory->held_bytes(m->slot[m->llb].params);
}
static double llb_rate(const struct tsr_machine *m) {
  if (m->llb < 0) return INFINITY;
  const struct tsr_machine_instance *x = &m->slot[m->llb];
  return per_cycle(m, x->ops->memory->bandwidth(x->params));
}

/* Slices that take addresses in turn, and after how many bytes the next one does. */
static void slices_of(const struct tsr_machine *m, struct tsr_target *t) {
  t->slices = t->grain_bytes = 0;
  if (m->llb < 0) return;
  const struct tsr_machine_instance *x = &m->slot[m->llb];
  t->slices = x->ops->memory->channels(x->params);
  t->grain_bytes = x->ops->memory->interleave(x->params);
}

/* Latency of the interconnect and of the last-level buffer. */
static double way_cycles(const struct tsr_run_plan *p) {
  const struct tsr_machine *m = p->machine;
  double fs = p->way_fs;
  if (m->llb >= 0) {
    const struct tsr_machine_instance *llb = &m->slot[m->llb];
    fs += (double)llb->ops->memory->latency_fs(llb->params);
  }
  return fs * (double)m->clock_hz / (double)TSR_FS_PER_S;
}

/* How the links crowd when cores move alike. */
static enum tsr_status find_crowd(struct tsr_run_plan *p, struct tsr_err *err) {
  const struct tsr_machine *m = p->machine;
  if (m->noc < 0) return TSR_OK;
  const struct tsr_machine_instance *noc = &m->slot[m->noc], *mem = &m->slot[noc->peer[0]];
  struct tsr_unit_facts load;
  facts_of(m, TSR_SLOT_LOAD, &load);
  for (int i = 0; i < 2; i++) {
    p->crowd[i] = tsr_arena_array(p->arena, m->cores, sizeof *p->crowd[i]);
    if (!p->crowd[i]) return tsr_err_nomem(err);
  }
  uint64_t slices = mem->ops->memory->channels(mem->params);
  p->way_fs = noc->ops->memory->crowd(noc->params, m->cores, slices, load.burst_bytes,
                                      p->crowd[0], p->crowd[1]);
  return p->way_fs < 0 ? tsr_err_nomem(err) : TSR_OK;
}

static double link_rate(const struct tsr_machine *m) {
  if (m->noc < 0) return INFINITY;
  const struct tsr_machine_instance *noc = &m->slot[m->noc];
  return per_cycle(m, noc->ops->memory->bandwidth(noc->params));
}

/* Cycles that a fold of the tile takes beyond its products. */
static uint64_t skew_of(const struct tsr_unit_facts *tile) {
  return tile->depth ? tile->latency_cycles : tile->rows + tile->cols - 2;
}

/* A component's own estimate of a lone request. */
static uint64_t tile_cycles(const void *tile, const struct tsr_tile_work *w, uint32_t rate) {
  const struct tsr_machine_instance *x = tile;
  const struct tsr_req req = {.mm = {.m = w->m,
                                     .n = w->n,
                                     .k = w->k,
                                     .groups = w->groups,
                                     .lines = w->lines,
                                     .k_lines = w->k_lines,
                                     .first = true,
                                     .last = w->last,
                                     .rate = rate,
                                     .a_bytes = 1,
                                     .b_bytes = 1,
                                     .acc_bytes = 1,
                                     .out_bytes = 1}};
  struct tsr_estimate est = {0};
  x->ops->unit->estimate(x->params, &req, &est);
  return est.cycles;
}

/* Cycles of a lone preload: what a stream waits for that follows none. */
static uint64_t head_of(const struct tsr_machine *m, const struct tsr_unit_facts *tile) {
  const struct tsr_machine_instance *x = &m->slot[TSR_SLOT_TILE];
  const struct tsr_req req = {
      .mm = {.kind = TSR_MM_PRELOAD, .m = 1, .n = 1, .k = 1, .groups = 1, .rate = 1}};
  struct tsr_estimate est = {0};
  if (!tile->preload) return 0;
  x->ops->unit->estimate(x->params, &req, &est);
  return est.cycles;
}

void tsri_slots(const struct tsr_run_plan *p, int buf, uint64_t *slots, uint64_t *slot_bytes) {
  enum { ALIGN = 64 }; /* of a buffer that something is kept beside */
  const struct tsr_machine_instance *b = &p->machine->slot[TSR_SLOT_SRAM_A + buf];
  *slots = b->ops->buffer->slots(b->params);
  *slot_bytes = b->ops->buffer->slot_bytes(b->params);
  if (buf != TSR_BUF_A || !p->residency.keep_bytes) return;
  *slot_bytes = (*slots * *slot_bytes - p->residency.keep_bytes) / *slots / ALIGN * ALIGN;
}

/* What passes between two buffers in a cycle. */
static double port_rate(const struct tsr_machine *m, int from, int to) {
  const struct tsr_machine_instance *x = &m->slot[TSR_SLOT_SRAM_A + from],
                                    *y = &m->slot[TSR_SLOT_SRAM_A + to];
  uint64_t rate = tsr_min_u64(x->ops->buffer->bytes_per_cycle(x->params),
                              y->ops->buffer->bytes_per_cycle(y->params));
  return rate == TSR_UNLIMITED ? INFINITY : (double)rate;
}

static void target_of(const struct tsr_run_plan *p, struct tsr_target *t) {
  const struct tsr_machine *m = p->machine;
  const struct tsr_machine_instance *dram = &m->slot[TSR_SLOT_DRAM];
  double latency = (double)dram->ops->memory->latency_fs(dram->params) * (double)m->clock_hz /
                   (double)TSR_FS_PER_S;
  double memory = per_cycle(m, dram->ops->memory->bandwidth(dram->params));
  struct tsr_unit_facts tile, load;
  facts_of(m, TSR_SLOT_TILE, &tile);
  facts_of(m, TSR_SLOT_LOAD, &load);
  *t = (struct tsr_target){.rows = tile.rows,
                           .cols = tile.cols,
                           .depth = tsr_max_u64(tile.depth, 1),
                           .skew = skew_of(&tile),
                           .tiles = m->tiles,
                           .tile_cycles = tile_cycles,
                           .tile = &m->slot[TSR_SLOT_TILE],
                           .preload = tile.preload,
                           .burst_bytes = load.burst_bytes,
                           .head = head_of(m, &tile),
                           .dram_bytes_per_cycle = fmin(memory, core_rate(m, latency)),
                           .memory_bytes_per_cycle = memory,
                           .core_bytes_per_cycle = fmin(core_rate(m, latency), link_rate(m)),
                           .llb_bytes = llb_bytes(m),
                           .llb_bytes_per_cycle = llb_rate(m),
                           .way_cycles = way_cycles(p),
                           .crowd = {p->crowd[0], p->crowd[1]},
                           .link_bytes_per_cycle = link_rate(m),
                           .latency_cycles = latency,
                           .promote = m->promote,
                           .multicast = m->multicast};
  slices_of(m, t);
  struct tsr_unit_facts vector;
  facts_of(m, TSR_SLOT_VECTOR, &vector);
  t->lanes = vector.lanes;
  for (int i = 0; tsr_flow_names[i]; i++)
    if (!strcmp(tile.dataflow, tsr_flow_names[i])) t->flow = (enum tsr_dataflow)i;
  for (int i = 0; i < 3; i++) tsri_slots(p, i, &t->slots[i], &t->slot_bytes[i]);
  t->near_bytes_per_cycle = port_rate(m, TSR_BUF_A, TSR_BUF_C);
}

static bool product_is_dequantised(const struct tsr_run_layer_plan *l) {
  return l->mm_b != l->b;
}

/* Cycles of the vector unit for an element of a result: by its estimate of many. */
static double step_cycles(const struct tsr_machine *m, const struct tsr_run_layer_plan *l) {
  enum { ROWS = 1024, COLS = 1024 };
  const struct tsr_machine_instance *x = &m->slot[TSR_SLOT_VECTOR];
  double sum = 0;
  for (size_t i = 0; i < l->op->n_steps; i++) {
    struct tsr_vector_step list[TSR_STEPS_MAX];
    size_t n = tsr_lower_step_list(&l->op->step[i], list);
    for (size_t j = 0; j < n; j++) {
      const struct tsr_req req = {.vec = {.op = list[j].op,
                                          .rows = ROWS,
                                          .cols = COLS,
                                          .window = 1,
                                          .d_bytes = 4,
                                          .a_bytes = 4}};
      struct tsr_estimate est = {0};
      x->ops->unit->estimate(x->params, &req, &est);
      sum += (double)est.cycles / ROWS / COLS;
    }
  }
  return sum;
}

static bool same_steps(const struct tsr_op *x, const struct tsr_op *y) {
  if (x->n_steps != y->n_steps) return false;
  for (size_t i = 0; i < x->n_steps; i++) {
    const struct tsr_op_step *s = &x->step[i], *t = &y->step[i];
    if (s->kind != t->kind || s->with != t->with || s->alpha != t->alpha ||
        s->beta != t->beta || s->zero != t->zero)
      return false;
  }
  return true;
}

bool tsri_same_work(const struct tsr_run_layer_plan *a, const struct tsr_run_layer_plan *b) {
  return a->rate == b->rate && a->scale == b->scale && a->mm_b == b->mm_b && a->b == b->b &&
         same_steps(a->op, b->op) && tsr_shape_equal(&a->shape, &b->shape) &&
         !memcmp(a->near, b->near, sizeof a->near) && a->bypass == b->bypass &&
         a->place.align_bytes == b->place.align_bytes &&
         a->place.skew_bytes == b->place.skew_bytes &&
         a->place.pad_bytes == b->place.pad_bytes && a->place.tiled == b->place.tiled;
}

/* Equal shapes on as many cores get equal mappings: layers repeat. */
static const struct tsr_run_layer_plan *same_shape(const struct tsr_run_plan *p, size_t i) {
  for (size_t j = 0; j < i; j++) {
    const struct tsr_run_layer_plan *o = &p->layers[j], *l = &p->layers[i];
    if (o->max_cores == l->max_cores && tsri_same_work(o, l)) return o;
  }
  return NULL;
}

static void layout_of(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                      struct tsr_layout *out) {
  *out =
      (struct tsr_layout){.rate = l->rate,
                          .shift = l->shift,
                          .multicast = p->machine->multicast,
                          .pad_bytes = l->place.pad_bytes,
                          .tiled = l->place.tiled,
                          .formats = {l->format_a, l->format_b, l->format_acc, l->format_out}};
  for (int b = 0; b < 3; b++) {
    out->base_bytes[b] = l->base_bytes[b];
    out->parts_bytes = l->parts_bytes;
    out->scales_bytes = l->scales_bytes;
    out->scale_format = l->format_scale;
    tsri_epilogue_layout(l, out);
    out->dequant = product_is_dequantised(l);
    out->scale_bytes = l->scale ? bytes_of(l->scale) : 0;
    tsri_slots(p, b, &out->slots[b], &out->slot_bytes[b]);
    if (!l->mapping.slots[b]) continue;
    out->slot_bytes[b] = out->slot_bytes[b] * out->slots[b] / l->mapping.slots[b];
    out->slots[b] = l->mapping.slots[b];
  }
}

static enum tsr_status lower_core(const struct tsr_run_plan *p, size_t layer, uint32_t core,
                                  struct tsr_program *out, struct tsr_err *err) {
  const struct tsr_run_layer_plan *l = &p->layers[layer];
  if (!tsri_is_product(l->op)) return tsri_op_lower(p, l, core, out, err);
  struct tsr_layout layout;
  layout_of(p, l, &layout);
  const struct tsr_lower_core which = {l->split, core};
  enum tsr_status st = tsr_lower_program(&l->shape, &l->mapping, &layout, &which, out, err);
  if (!st) st = tsr_isa_check(out, err);
  return st;
}

/* The user's own program, in a set of the caller's. */
static enum tsr_status share_program(const struct tsr_run_plan *p, struct tsr_program_set *out,
                                     struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  for (size_t c = 0; !st && c < p->program.n; c++) {
    struct tsr_program same = p->program.program[c];
    same.borrowed = true;
    st = tsr_isa_set_add(out, &same, 1, err);
  }
  return st;
}

enum tsr_status tsr_run_lower(const struct tsr_run_plan *p, size_t layer,
                              struct tsr_program_set *out, struct tsr_err *err) {
  if (p->layers[layer].foreign) return share_program(p, out, err);
  enum tsr_status st = tsr_isa_set_machine(out, p->machine->name, p->machine->hash, err);
  for (uint32_t c = 0; !st && c < p->layers[layer].n_cores; c++) {
    struct tsr_program one = {0};
    st = lower_core(p, layer, c, &one, err);
    if (!st) st = tsr_isa_set_add(out, &one, 1, err);
    if (st) tsr_isa_program_fini(&one);
  }
  return st;
}

void tsr_run_target(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                    struct tsr_target *out) {
  target_of(p, out);
  memcpy(out->near, l->near, sizeof out->near);
  out->bypass = l->bypass;
  out->place = l->place;
  out->rate = l->rate;
  out->promote = l->scale ? p->machine->group : p->machine->promote;
  tsri_epilogue_target(l, out);
  out->step_cycles = step_cycles(p->machine, l);
  out->ready_bytes = product_is_dequantised(l) ? l->shape.a_bytes : 0;
  out->scale_bytes = l->scale ? bytes_of(l->scale) : 0;
}

static enum tsr_status map(struct tsr_run_plan *p, struct tsr_err *err) {
  struct tsr_target target;
  for (size_t i = 0; i < p->n_layers; i++) {
    if (tsr_interrupted) return tsr_err_set(err, TSR_SIM, "interrupted; nothing was stored");
    struct tsr_run_layer_plan *l = &p->layers[i];
    const struct tsr_run_layer_plan *twin = same_shape(p, i);
    enum tsr_status st = TSR_OK;
    bool product = tsri_is_product(l->op);
    if (product && !twin) tsr_run_target(p, l, &target);
    if (!product) {
      st = tsri_op_map(p, l, err);
    } else if (twin) {
      l->mapping = twin->mapping;
      l->split = twin->split;
    } else {
      st = tsr_mapping_split(&l->shape, &target, p->machine->split, l->max_cores, l->op->name,
                             &l->split, &l->mapping, err);
    }
    char kept[48];
    if (st && p->residency.keep_bytes)
      tsr_err_hint(err, "keep takes %s of scratchpad a",
                   tsr_quantity_print(p->residency.keep_bytes, TSR_UNIT_BYTES, kept));
    if (st) return st;
    if (product) l->n_cores = (uint32_t)tsr_split_cores(&l->split);
  }
  return TSR_OK;
}

static enum tsr_status estimate(struct tsr_run_plan *p, struct tsr_err *err) {
  for (size_t i = 0; i < p->n_layers; i++) {
    struct tsr_run_layer_plan *l = &p->layers[i];
    struct tsr_program first = {0};
    enum tsr_status st = lower_core(p, i, 0, &first, err);
    if (st) return st;
    uint64_t cycles, events;
    tsr_engine_estimate(p->machine, &first, &events, &cycles);
    tsr_isa_program_fini(&first);
    if (!tsr_mul_u64(events, l->n_cores, &l->events)) l->events = UINT64_MAX;
    if (!tsr_add_u64(p->events, l->events, &p->events)) p->events = UINT64_MAX;
    if (!tsr_add_u64(p->tile_cycles, cycles, &p->tile_cycles)) p->tile_cycles = UINT64_MAX;
  }
  return TSR_OK;
}

/* Figures are stored as signed 64-bit integers. */
static enum tsr_status check_sums(const struct tsr_run_plan *p, struct tsr_err *err) {
  uint64_t macs, sum = 0;
  for (size_t i = 0; i < p->n_layers; i++)
    if (!tsr_op_macs(p->layers[i].op, &macs) || !tsr_add_u64(sum, macs, &sum) || sum >> 63)
      return tsr_err_at(err, TSR_INPUT, &p->layers[i].op->pos,
                        "the MACs of '%s' pass 2^63 with layer '%s'; expected less work",
                        p->name, p->layers[i].op->name);
  return TSR_OK;
}

/* ---- layers ---- */

static enum tsr_status add_layers(struct tsr_run_plan *p, struct tsr_err *err) {
  size_t n = 0;
  for (size_t t = 0; t < p->n_tenants; t++) n += p->tenants[t].graph->n_ops;
  p->layers = tsr_mem_array(n, sizeof *p->layers);
  if (!p->layers) return tsr_err_nomem(err);
  for (size_t t = 0; t < p->n_tenants; t++) {
    struct tsr_run_tenant *x = &p->tenants[t];
    x->first_layer = p->n_layers;
    for (size_t i = 0; i < x->graph->n_ops; i++) {
      struct tsr_run_layer_plan *l = &p->layers[p->n_layers++];
      l->op = &x->graph->ops[i];
      l->graph = x->graph;
      l->tenant = t;
    }
  }
  return TSR_OK;
}

/* Conversions of what is bound to a net; outlier columns.  What cuts operators apart leaves
 * their bindings behind. */
static enum tsr_status settle(const struct tsr_run_options *o, struct tsr_run_plan *p,
                              struct tsr_graph *g, struct tsr_err *err) {
  bool full = o->numerics == TSR_NUMERICS_FULL, bound = g->bindings != NULL;
  bool cuts = p->residency.keep_bytes || p->machine->outliers > 0;
  if (bound && full && (cuts || p->machine->group))
    return tsr_err_set(
        err, TSR_INPUT,
        "--numerics full hands values on between the operators of '%s'; expected "
        "it without --keep, tile.outliers and tile.group",
        g->name);
  bool model = bound && g->nets[0]->n_nodes; /* else operands given one by one */
  enum tsr_status st = model ? tsri_scaling_insert(p, g, err) : TSR_OK;
  if (!st) st = tsri_outliers_split(p->machine, g, err);
  if (cuts) g->bindings = NULL;
  return st;
}

/* The inputs that are given: of files, and in memory. */
static enum tsr_status read_given(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                  struct tsr_err *err) {
  p->given = tsr_mem_array(o->n_inputs + o->n_values + 1, sizeof *p->given);
  p->made = tsr_mem_array(o->n_expects + o->n_dumps + 1, sizeof *p->made);
  if (!p->given || !p->made) return tsr_err_nomem(err);
  for (size_t i = 0; i < o->n_expects; i++) p->made[p->n_made++] = o->expects[i].name;
  for (size_t i = 0; i < o->n_dumps; i++) p->made[p->n_made++] = o->dumps[i].name;
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; !st && i < o->n_inputs; i++) {
    struct tsr_array *a;
    st = tsri_feed_read(o->inputs[i].path, &a, err);
    if (!st) p->given[p->n_given++] = (struct tsr_workload_given){o->inputs[i].name, a};
  }
  for (size_t i = 0; !st && i < o->n_values; i++) {
    struct tsr_array *a;
    st = tsr_array_copy(NULL, o->values[i].array, &a, err);
    if (!st) p->given[p->n_given++] = (struct tsr_workload_given){o->values[i].name, a};
  }
  return st;
}

static enum tsr_status read_tenants(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                    struct tsr_err *err) {
  enum tsr_status st = read_given(o, p, err);
  if (!st) st = o->workload ? tsri_tenants_read(o, p, err) : tsri_program_alone(o, p, err);
  for (size_t t = 0; !st && o->workload && t < p->n_tenants; t++)
    st = settle(o, p, p->tenants[t].graph, err);
  for (size_t t = 0; !st && p->residency.keep_bytes && t < p->n_tenants; t++)
    st = tsri_fuse(p, p->tenants[t].graph, err);
  if (!st) st = add_layers(p, err);
  for (size_t i = 0; !st && i < p->n_layers; i++) {
    st = choose_formats(p, &p->layers[i], err);
    if (!st) shape_of(&p->layers[i]);
  }
  return st;
}

static enum tsr_status make(const struct tsr_run_options *o, struct tsr_run_plan *p,
                            struct tsr_err *err) {
  enum tsr_status st =
      tsr_machine_read(o->arch, o->arch_text, o->sets, o->n_sets, &p->machine, err);
  if (!st) st = find_crowd(p, err);
  if (!st && o->program) st = tsri_program_read(o, p, err);
  if (!st && o->workload) st = tsri_mappings_open(o, p, err);
  if (!st && o->workload) st = tsri_keep_read(o, p, err);
  if (!st) st = read_tenants(o, p, err);
  if (!st) st = check_sums(p, err);
  if (!st) st = tsri_cores_assign(p, err);
  if (!st && o->workload) st = tsri_keep(p, err);
  if (!st && o->workload) st = map(p, err);
  if (!st && o->workload) st = tsri_mappings_read(p, err);
  if (!st && o->workload) st = tsri_place(p, err);
  if (!st && o->workload) st = tsri_mappings_best(o, p, err);
  if (!st && o->workload) st = estimate(p, err);
  return st || !p->program.n ? st : tsri_program_place(p, err);
}

bool tsr_run_keeps_auto(const struct tsr_run_options *o) {
  bool best = o->mapping && !o->mapping_text && !strcmp(o->mapping, TSR_RUN_MAPPING_BEST);
  return o->workload && !o->program && !o->residency && !o->graph &&
         (o->keep ? !strcmp(o->keep, TSR_RUN_KEEP_AUTO) : best);
}

enum tsr_status tsr_run_plan_make(const struct tsr_run_options *o, struct tsr_run_plan *out,
                                  struct tsr_err *err) {
  struct tsr_run_options own = *o;
  struct tsr_residency how;
  *out = (struct tsr_run_plan){.arena = tsr_arena_create()};
  enum tsr_status st = out->arena ? TSR_OK : tsr_err_nomem(err);
  if (!st && tsr_run_keeps_auto(o)) {
    st = tsri_reside(o, &how, err);
    own.residency = &how;
  }
  if (!st) st = make(&own, out, err);
  bool taken = out->n_tenants && out->tenants[0].graph == o->graph;
  if (st && !taken) tsr_graph_destroy(o->graph);
  if (st) tsr_run_plan_fini(out);
  return st;
}
