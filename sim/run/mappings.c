/* Mappings that are not the template's: from a file, or searched for (kernels/cost/search.h)
 * and confirmed by the event model. */
#include <inttypes.h>
#include <string.h>

#include "kernels/cost/search.h"
#include "kernels/mapping/file.h"
#include "sim/base/log.h"
#include "sim/base/mem.h"
#include "sim/run/run_int.h"

/* ---- from a file ---- */

enum tsr_status tsri_mappings_open(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                   struct tsr_err *err) {
  if (!o->mapping) return TSR_OK;
  if (!o->mapping_text && !strcmp(o->mapping, TSR_RUN_MAPPING_BEST)) return TSR_OK;
  enum tsr_status st = tsr_mapping_file_read(o->mapping, o->mapping_text, &p->mappings, err);
  if (st) return st;
  p->mapping_text = tsr_arena_strdup(p->arena, tsr_mapping_file_text(p->mappings));
  return p->mapping_text ? TSR_OK : tsr_err_nomem(err);
}

static enum tsr_status apply(struct tsr_run_plan *p, struct tsr_run_layer_plan *l,
                             struct tsr_err *err) {
  struct tsr_target t;
  struct tsr_mapping m;
  bool found;
  tsr_run_target(p, l, &t);
  enum tsr_status st = tsr_mapping_file_find(p->mappings, l->op->name, &l->shape, &t,
                                             l->max_cores, &l->split, &m, &found, err);
  if (st || !found) return st;
  l->mapping = m;
  l->n_cores = (uint32_t)tsr_split_cores(&l->split);
  return TSR_OK;
}

/* Tiles of queries and keys; the division among cores stays. */
static enum tsr_status apply_attention(struct tsr_run_plan *p, struct tsr_run_layer_plan *l,
                                       struct tsr_err *err) {
  const uint64_t size[2] = {l->op->m, l->op->n};
  struct tsr_attention_tiles t;
  const struct tsr_pos *pos;
  struct tsr_lower_at at;
  bool found;
  enum tsr_status st =
      tsr_mapping_file_attention(p->mappings, l->op->name, size, &t, &found, &pos, err);
  if (st || !found) return st;
  tsri_op_at(p, l, &at);
  if (tsr_lower_attention_tiles(l->op, &at, t.m, t.n, t.resident, &l->cut)) return TSR_OK;
  st = tsr_err_at(err, TSR_INPUT, pos,
                  "tiles of %" PRIu64 " queries and %" PRIu64
                  " keys%s do not fit the scratchpads; expected smaller ones",
                  t.m, t.n, t.resident ? ", all of a head resident," : "");
  tsr_err_hint(err, "the entry is that of layer '%s'", l->op->name);
  return st;
}

static bool is_attention(const struct tsr_run_layer_plan *l) {
  return l->op->kind == TSR_OP_ATTENTION;
}

enum tsr_status tsri_mappings_read(struct tsr_run_plan *p, struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  if (!p->mappings) return TSR_OK;
  for (size_t i = 0; !st && i < p->n_layers; i++) {
    struct tsr_run_layer_plan *l = &p->layers[i];
    tsr_mapping_file_workload(p->mappings, l->tenant);
    if (tsri_is_product(l->op)) st = apply(p, l, err);
    if (is_attention(l)) st = apply_attention(p, l, err);
  }
  if (!st) st = tsr_mapping_file_used(p->mappings, err);
  for (size_t i = 0; st && i < p->n_layers; i++) {
    if (!p->layers[i].op->part.of) continue;
    tsr_err_hint(err, "keep cuts chains into parts; theirs are layers such as '%s'",
                 p->layers[i].op->name);
    break;
  }
  return st;
}

enum tsr_status tsr_run_mappings_write(const struct tsr_run_plan *p, struct tsr_str *out,
                                       struct tsr_err *err) {
  tsr_mapping_write_head(&p->residency, true, out);
  for (size_t i = 0; i < p->n_layers; i++) {
    const struct tsr_run_layer_plan *l = &p->layers[i];
    struct tsr_target t;
    if (is_attention(l)) {
      struct tsr_attention_tiles x = {.resident = l->cut.resident};
      tsr_lower_attention_of(&l->cut, &x.m, &x.n);
      tsr_mapping_write_attention(l->op->name, &x, out);
    } else if (tsri_is_product(l->op)) {
      tsr_run_target(p, l, &t);
      tsr_mapping_write(l->op->name, &l->shape, &l->mapping, &l->split, &t, out);
    } else {
      continue;
    }
    if (p->n_tenants > 1) tsr_mapping_write_workload(l->tenant, out);
  }
  return out->failed ? tsr_err_nomem(err) : TSR_OK;
}

/* ---- by the event model ---- */

struct result {
  uint64_t cycles, dram_bytes, events;
};

static enum tsr_status on_end(void *arg, size_t job, const struct tsr_layer_result *r,
                              struct tsr_err *err) {
  struct result *out = arg;
  (void)job;
  (void)err;
  *out = (struct result){r->cycles, r->dram_read_bytes + r->dram_write_bytes, r->events};
  return TSR_OK;
}

/* The layer alone on a machine at rest. */
static enum tsr_status simulate(const struct tsr_run_plan *p, size_t layer, struct result *out,
                                struct tsr_err *err) {
  const struct tsr_run_layer_plan *l = &p->layers[layer];
  struct tsr_program_set set = {0};
  struct tsr_engine *engine = NULL;
  const struct tsr_program **list = tsr_mem_array(l->n_cores, sizeof *list);
  if (!list) return tsr_err_nomem(err);
  enum tsr_status st = tsr_run_lower(p, layer, &set, err);
  for (uint32_t c = 0; !st && c < l->n_cores; c++) list[c] = &set.program[c];
  if (!st) st = tsr_engine_create(p->machine, NULL, &engine, err);
  if (!st) {
    const struct tsr_job job = {.name = l->op->name,
                                .first_core = l->first_core,
                                .n_cores = l->n_cores,
                                .program = list};
    const struct tsr_job_hooks hooks = {.arg = out, .end = on_end};
    st = tsr_engine_run(engine, &job, 1, &hooks, err);
  }
  tsr_engine_destroy(engine);
  tsr_isa_set_fini(&set);
  tsr_mem_free(list);
  return st;
}

/* Fewer cycles, or as many and fewer bytes; then these are the best figures. */
static bool is_better(const struct result *r, struct tsr_run_found *out) {
  if (r->cycles > out->best_cycles ||
      (r->cycles == out->best_cycles && r->dram_bytes >= out->best_bytes))
    return false;
  out->best_cycles = r->cycles;
  out->best_bytes = r->dram_bytes;
  return true;
}

/* ---- attention ---- */

/* Tiles of an attention by trying them: powers of two that fit, the largest first, as long as
 * simulating them takes no more than so many events; what there is stays unless one is faster.
 */
enum { TRY_EVENTS = 4000000, TRY_QUERIES = 512, TRY_KEYS = 512, TRY_LEAST = 16 };

static enum tsr_status search_tiles(struct tsr_run_plan *p, size_t layer,
                                    struct tsr_run_found *out, struct tsr_err *err) {
  struct tsr_run_layer_plan *l = &p->layers[layer];
  const struct tsr_lower_cut start = l->cut;
  struct tsr_lower_at at;
  struct result r = {0, 0, 0};
  uint64_t events = 0;
  enum tsr_status st = simulate(p, layer, &r, err);
  out->before_cycles = out->best_cycles = r.cycles;
  out->before_bytes = out->best_bytes = r.dram_bytes;
  out->best.cut = start;
  tsri_op_at(p, l, &at);
  for (uint64_t m = TRY_QUERIES; !st && m >= TRY_LEAST; m /= 2)
    for (uint64_t n = TRY_KEYS; !st && n >= TRY_LEAST; n /= 2)
      for (int resident = 1; !st && resident >= 0; resident--) {
        uint64_t tm = tsr_min_u64(m, l->op->m), tn = tsr_min_u64(n, l->op->n);
        if ((m > tm && m / 2 >= l->op->m) || (n > tn && n / 2 >= l->op->n)) continue;
        if (events > TRY_EVENTS) break;
        if (!tsr_lower_attention_tiles(l->op, &at, tm, tn, resident, &l->cut)) continue;
        st = simulate(p, layer, &r, err);
        events += r.events;
        out->evaluated++;
        if (!st && is_better(&r, out)) out->best.cut = l->cut;
      }
  l->cut = start;
  return st;
}

static bool same_attention(const struct tsr_run_layer_plan *x,
                           const struct tsr_run_layer_plan *y) {
  const struct tsr_op *a = x->op, *b = y->op;
  return is_attention(x) && a->m == b->m && a->n == b->n && a->k == b->k &&
         a->count == b->count && a->attr.heads == b->attr.heads &&
         a->attr.kv_heads == b->attr.kv_heads && a->attr.causal == b->attr.causal &&
         x->a == y->a && x->b == y->b && x->out == y->out && x->n_cores == y->n_cores &&
         !memcmp(x->near, y->near, sizeof x->near);
}

/* ---- searched for ---- */

enum tsr_status tsr_run_search(struct tsr_run_plan *p, size_t layer, uint64_t seed,
                               struct tsr_run_found *out, struct tsr_err *err) {
  struct tsr_run_layer_plan *l = &p->layers[layer];
  const struct tsr_mapping start = l->mapping;
  struct tsr_target t;
  struct result r = {0, 0, 0};
  *out = (struct tsr_run_found){0};
  if (is_attention(l)) return search_tiles(p, layer, out, err);
  struct tsr_search *s = tsr_mem_alloc(sizeof *s);
  if (!s) return tsr_err_nomem(err);
  tsr_run_target(p, l, &t);
  enum tsr_status st = tsr_search_mappings(&l->shape, &l->split, &t, &start, seed, s, err);
  if (!st) st = simulate(p, layer, &r, err);
  out->before_cycles = out->best_cycles = r.cycles;
  out->before_bytes = out->best_bytes = r.dram_bytes;
  out->best.mapping = start;
  out->evaluated = st ? 0 : s->evaluated;
  out->whole = !st && s->whole;
  for (size_t i = 0; !st && i < s->n; i++) {
    l->mapping = s->best[i].mapping;
    st = simulate(p, layer, &r, err);
    if (st) break;
    out->model[out->n] = s->best[i].cost.cycles;
    out->cycles[out->n++] = r.cycles;
    if (is_better(&r, out)) out->best.mapping = l->mapping;
  }
  l->mapping = start;
  out->n_sample = st ? 0 : s->n_sample;
  memcpy(out->sample, s->sample, sizeof out->sample);
  tsr_mem_free(s);
  return st;
}

enum tsr_status tsr_run_simulate(struct tsr_run_plan *p, size_t layer,
                                 const struct tsr_mapping *m, uint64_t *cycles,
                                 struct tsr_err *err) {
  struct tsr_run_layer_plan *l = &p->layers[layer];
  const struct tsr_mapping own = l->mapping;
  struct result r = {0, 0, 0};
  l->mapping = *m;
  enum tsr_status st = simulate(p, layer, &r, err);
  l->mapping = own;
  *cycles = r.cycles;
  return st;
}

static bool same_mapping(const struct tsr_mapping *x, const struct tsr_mapping *y) {
  if (x->n_loops != y->n_loops || memcmp(x->tile, y->tile, sizeof x->tile) != 0) return false;
  for (uint32_t i = 0; i < x->n_loops; i++)
    if (x->loop[i].axis != y->loop[i].axis) return false;
  return !memcmp(x->slots, y->slots, sizeof x->slots);
}

static bool same_division(const struct tsr_split *x, const struct tsr_split *y) {
  for (int i = 0; i < 2; i++)
    if (x->axis[i] != y->axis[i] || x->parts[i] != y->parts[i] || x->chunk[i] != y->chunk[i])
      return false;
  return true;
}

static bool is_twin(const struct tsr_run_layer_plan *x, const struct tsr_run_layer_plan *y) {
  if (is_attention(y)) return same_attention(x, y);
  return tsri_is_product(x->op) && x->first_core == y->first_core && x->n_cores == y->n_cores &&
         same_division(&x->split, &y->split) && same_mapping(&x->mapping, &y->mapping) &&
         tsri_same_work(x, y);
}

void tsr_run_twins(const struct tsr_run_plan *p, size_t *twin) {
  for (size_t i = 0; i < p->n_layers; i++) {
    twin[i] = 0;
    while (twin[i] < i && !is_twin(&p->layers[twin[i]], &p->layers[i])) twin[i]++;
    if (!tsr_run_is_mapped(&p->layers[i])) twin[i] = SIZE_MAX;
  }
}

static void exchange(struct tsr_run_plan *p, struct tsr_run_way *w) {
  for (size_t i = 0; i < p->n_layers; i++) {
    const struct tsr_run_way own = {p->layers[i].mapping, p->layers[i].cut};
    p->layers[i].mapping = w[i].mapping;
    p->layers[i].cut = w[i].cut;
    w[i] = own;
  }
}

enum tsr_status tsr_run_take(struct tsr_run_plan *p, const struct tsr_run_way *best,
                             struct tsr_run_measured *before, struct tsr_run_measured *after,
                             struct tsr_err *err) {
  bool alone = p->machine->cores == 1 && p->machine->llb < 0 && p->machine->noc < 0;
  struct tsr_run_way *w = tsr_mem_array(p->n_layers + 1, sizeof *w);
  *before = *after = (struct tsr_run_measured){0, 0};
  if (!w) return tsr_err_nomem(err);
  for (size_t i = 0; i < p->n_layers; i++) {
    const struct tsr_run_layer_plan *l = &p->layers[i];
    w[i] = (struct tsr_run_way){tsri_is_product(l->op) ? best[i].mapping : l->mapping,
                                is_attention(l) ? best[i].cut : l->cut};
  }
  enum tsr_status st = alone ? TSR_OK : tsr_run_measure(p, before, err);
  exchange(p, w);
  if (!st && !alone) st = tsr_run_measure(p, after, err);
  if (!st && after->cycles > before->cycles) {
    exchange(p, w);
    *after = *before;
  }
  tsr_mem_free(w);
  return st;
}

static enum tsr_status search_all(struct tsr_run_plan *p, uint64_t seed,
                                  struct tsr_run_way *best, struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  size_t *twin = tsr_mem_array(p->n_layers + 1, sizeof *twin);
  if (!twin) return tsr_err_nomem(err);
  tsr_run_twins(p, twin);
  for (size_t i = 0; !st && i < p->n_layers; i++) {
    struct tsr_run_found found;
    if (twin[i] == i) {
      st = tsr_run_search(p, i, seed, &found, err);
      if (!st) best[i] = found.best;
    } else if (twin[i] < i) {
      best[i] = best[twin[i]];
    }
    tsr_progress("layers mapped", i + 1, p->n_layers);
  }
  tsr_progress("layers mapped", 0, 0);
  tsr_mem_free(twin);
  return st;
}

enum tsr_status tsri_mappings_best(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                   struct tsr_err *err) {
  if (!o->mapping || strcmp(o->mapping, TSR_RUN_MAPPING_BEST) != 0) return TSR_OK;
  if (o->mapping_text) return TSR_OK; /* a stored run's, read already */
  struct tsr_str text = TSR_STR_INIT;
  struct tsr_run_measured before, after;
  struct tsr_run_way *best = tsr_mem_array(p->n_layers + 1, sizeof *best);
  if (!best) return tsr_err_nomem(err);
  enum tsr_status st = search_all(p, o->seed, best, err);
  if (!st) st = tsr_run_take(p, best, &before, &after, err);
  tsr_mem_free(best);
  if (!st) st = tsr_run_mappings_write(p, &text, err);
  if (!st) {
    p->mapping_text = tsr_arena_strdup(p->arena, text.p);
    if (!p->mapping_text) st = tsr_err_nomem(err);
  }
  tsr_str_fini(&text);
  return st;
}

/* ---- the analytic model ---- */

void tsr_run_cost(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                  struct tsr_cost *out) {
  struct tsr_target t;
  tsr_run_target(p, l, &t);
  tsr_mapping_target(&l->mapping, &t);
  tsr_cost_layer(&l->shape, &l->mapping, &l->split, &t, out);
}

bool tsr_run_is_mapped(const struct tsr_run_layer_plan *l) {
  return tsri_is_product(l->op) || is_attention(l);
}

bool tsr_run_is_product(const struct tsr_run_layer_plan *l) {
  return tsri_is_product(l->op);
}

/* Peak of the cores it may use, and the memory's rate for what must move. */
double tsr_run_roofline_cycles(const struct tsr_run_plan *p,
                               const struct tsr_run_layer_plan *l) {
  struct tsr_target t;
  uint64_t macs = 0, a = 0, b = 0, c = 0;
  tsr_run_target(p, l, &t);
  (void)tsr_op_macs(l->op, &macs);
  (void)tsr_op_elems(l->op, &a, &b, &c);
  double per_cycle = (double)(t.rows * t.cols * t.depth) * (double)t.rate * (double)t.tiles;
  double compute = (double)macs / (per_cycle * (double)l->max_cores);
  double bytes = (l->near[TSR_BUF_A] ? 0 : (double)a * l->shape.a_bytes) +
                 (l->near[TSR_BUF_B] ? 0 : (double)b * l->shape.b_bytes) +
                 (t.llb_bytes || l->near[TSR_BUF_C] ? 0 : (double)c * l->shape.out_bytes);
  double memory = bytes / t.memory_bytes_per_cycle;
  return compute > memory ? compute : memory;
}
