#include "sim/run/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/log.h"
#include "sim/run/run_int.h"
#include "workloads/onnx/onnx.h"
#include "workloads/translate/view.h"

/* SETTLED: the most dimensions that are settled here. */
enum { IMAGES = 500, SEQUENCES = 16, TOKENS = 128, DIMS_MAX = 32, SETTLED = 4 };

void tsri_steps_destroy(struct tsri_steps *s) {
  if (!s) return;
  tsr_dataset_close(s->data);
  tsr_mem_free(s->pass);
  tsr_mem_free((char *)(uintptr_t)s->input);
  tsr_mem_free(s);
}

/* ---- inputs by their kind ---- */

static bool is_cache(const struct tsr_net_value *v) {
  return !strncmp(v->name, "past", 4);
}

static const struct tsr_net_value *find_input(const struct tsr_net *net, bool tokens) {
  for (size_t i = 0; i < net->n_inputs; i++) {
    const struct tsr_net_value *v = &net->values[net->inputs[i]];
    if (is_cache(v) || tsr_dtype_is_float(v->type) == tokens) continue;
    if (tokens && v->rank != 2) continue;
    return v;
  }
  return NULL;
}

static const struct tsr_net_value *find_cache(const struct tsr_net *net) {
  for (size_t i = 0; i < net->n_inputs; i++)
    if (is_cache(&net->values[net->inputs[i]])) return &net->values[net->inputs[i]];
  return NULL;
}

size_t tsri_steps_cache(const struct tsr_net *net, size_t input) {
  const char *name = net->values[input].name;
  static const char *const from[] = {"past_key_values", "past"};
  for (size_t i = 0; i < sizeof from / sizeof from[0]; i++) {
    size_t n = strlen(from[i]);
    if (strncmp(name, from[i], n) != 0) continue;
    for (size_t o = 0; o < net->n_outputs; o++) {
      const char *out = net->values[net->outputs[o]].name;
      const char *rest = strncmp(out, "present", 7) ? NULL : out + 7;
      if (rest && !strncmp(rest, "_key_values", 11)) rest += 11;
      if (rest && !strcmp(rest, name + n)) return net->outputs[o];
    }
  }
  return SIZE_MAX;
}

size_t tsri_steps_scores(const struct tsr_net *net) {
  for (size_t o = 0; o < net->n_outputs; o++)
    if (!strcmp(net->values[net->outputs[o]].name, "logits")) return net->outputs[o];
  return net->n_outputs ? net->outputs[0] : SIZE_MAX;
}

/* ---- dimensions ---- */

struct dims {
  struct tsr_net_dim list[DIMS_MAX];
  size_t n;
};

static uint64_t *dim_of(struct dims *d, const char *name) {
  for (size_t i = 0; i < d->n; i++)
    if (!strcmp(d->list[i].name, name)) return &d->list[i].value;
  return NULL;
}

/* An open dimension's size: the user's, else `absent`, which is then taken. */
static uint64_t settle(struct dims *d, const struct tsr_net_value *v, unsigned axis,
                       uint64_t absent) {
  if (!v || axis >= v->rank) return absent;
  if (!v->dim_name[axis]) return v->dim[axis];
  uint64_t *have = dim_of(d, v->dim_name[axis]);
  if (have) return *have;
  if (d->n < DIMS_MAX) d->list[d->n++] = (struct tsr_net_dim){v->dim_name[axis], absent};
  return absent;
}

static void set(struct dims *d, const struct tsr_net_value *v, unsigned axis, uint64_t to) {
  if (!v || axis >= v->rank || !v->dim_name[axis]) return;
  uint64_t *have = dim_of(d, v->dim_name[axis]);
  if (have)
    *have = to;
  else if (d->n < DIMS_MAX)
    d->list[d->n++] = (struct tsr_net_dim){v->dim_name[axis], to};
}

/* The axis of a cache along which it grows: the open one that is not the batch. */
static unsigned cache_axis(const struct tsr_net_value *cache,
                           const struct tsr_net_value *tokens) {
  for (unsigned a = 0; a < cache->rank; a++) {
    const char *name = cache->dim_name[a];
    if (name && (!tokens->dim_name[0] || strcmp(name, tokens->dim_name[0]) != 0)) return a;
  }
  return cache->rank;
}

/* ---- several graphs as one ---- */

static enum tsr_status copy_view(struct tsr_arena *arena, struct tsr_operand_view *v) {
  if (!v->n_parts) return TSR_OK;
  uint64_t *cols = tsr_arena_array(arena, v->n_parts, sizeof *cols);
  struct tsr_view *part = tsr_arena_array(arena, v->n_parts, sizeof *part);
  if (!cols || !part) return TSR_NOMEM;
  memcpy(cols, v->cols, v->n_parts * sizeof *cols);
  memcpy(part, v->part, v->n_parts * sizeof *part);
  v->cols = cols;
  v->part = part;
  return TSR_OK;
}

struct joined {
  struct tsr_graph *g;
  struct tsr_op *ops;
  struct tsr_op_binding *bindings;
  size_t n_nets, cap;
  size_t *ends, n_ends; /* operators of the last pass that none of it waits for */
};

static enum tsr_status copy_op(struct joined *j, const struct tsr_graph *from, size_t i,
                               size_t base) {
  struct tsr_arena *arena = j->g->arena;
  struct tsr_op *op = &j->ops[base + i];
  struct tsr_op_binding *b = &j->bindings[base + i];
  *op = from->ops[i];
  *b = from->bindings[i];
  b->net = j->n_nets;
  op->name = tsr_arena_strdup(arena, op->name);
  size_t *after = tsr_arena_array(arena, op->n_after + 1, sizeof *after);
  if (!op->name || !after) return TSR_NOMEM;
  for (size_t k = 0; k < op->n_after; k++) after[k] = base + from->ops[i].after[k];
  op->after = after;
  if (!op->n_after) { /* one pass after the other: all of it */
    op->after = j->ends;
    op->n_after = j->n_ends;
  }
  op->pos = (struct tsr_pos){0};
  enum tsr_status st = copy_view(arena, &b->a);
  if (!st) st = copy_view(arena, &b->b);
  for (size_t k = 0; !st && k < TSR_EPILOGUE_MAX; k++) st = copy_view(arena, &b->step[k]);
  const char **text[] = {&op->format_a, &op->format_b, &op->format_acc, &op->format_out,
                         &op->sparsity};
  for (size_t k = 0; !st && k < sizeof text / sizeof text[0]; k++)
    if (*text[k] && !(*text[k] = tsr_arena_strdup(arena, *text[k]))) st = TSR_NOMEM;
  return st;
}

/* Room for n operators; twice as much each time, so that many passes cost no more than a few.
 */
static bool reserve(struct joined *j, size_t n) {
  if (n <= j->cap) return true;
  size_t cap = n > 2 * j->cap ? n : 2 * j->cap, have = j->g->n_ops;
  struct tsr_op *ops = tsr_arena_array(j->g->arena, cap, sizeof *ops);
  struct tsr_op_binding *bindings = tsr_arena_array(j->g->arena, cap, sizeof *bindings);
  if (!ops || !bindings) return false;
  if (have) {
    memcpy(ops, j->ops, have * sizeof *ops);
    memcpy(bindings, j->bindings, have * sizeof *bindings);
  }
  j->ops = ops;
  j->bindings = bindings;
  j->cap = cap;
  return true;
}

/* Keeps what the next pass waits for. */
static bool find_ends(struct joined *j, size_t base, const struct tsr_graph *from) {
  size_t *ends = tsr_arena_array(j->g->arena, from->n_ops + 1, sizeof *ends), n = 0;
  bool *waited = tsr_mem_array(from->n_ops + 1, sizeof *waited);
  bool ok = ends && waited;
  for (size_t i = 0; ok && i < from->n_ops; i++)
    for (size_t k = 0; k < from->ops[i].n_after; k++) waited[from->ops[i].after[k]] = true;
  for (size_t i = 0; ok && i < from->n_ops; i++)
    if (!waited[i]) ends[n++] = base + i;
  tsr_mem_free(waited);
  j->ends = ends;
  j->n_ends = n;
  return ok;
}

/* The operators of `from` behind those that are there; its net is taken over. */
static enum tsr_status append(struct joined *j, struct tsr_graph *from, struct tsr_err *err) {
  size_t base = j->g->n_ops;
  if (!reserve(j, base + from->n_ops)) return tsr_err_nomem(err);
  for (size_t i = 0; i < from->n_ops; i++)
    if (copy_op(j, from, i, base)) return tsr_err_nomem(err);
  if (!find_ends(j, base, from)) return tsr_err_nomem(err);
  j->g->ops = j->ops;
  j->g->bindings = j->bindings;
  j->g->n_ops = base + from->n_ops;
  j->g->nets[j->n_nets++] = from->nets[0];
  j->g->n_nets = j->n_nets;
  from->n_nets = 0;
  return TSR_OK;
}

static enum tsr_status open_join(struct joined *j, const struct tsr_graph *first, size_t n,
                                 struct tsr_err *err) {
  struct tsr_arena *arena = tsr_arena_create();
  struct tsr_graph *g = arena ? tsr_arena_alloc(arena, sizeof *g) : NULL;
  if (g) {
    *g = (struct tsr_graph){.arena = arena, .destroy_net = first->destroy_net};
    g->name = tsr_arena_strdup(arena, first->name);
    g->nets = tsr_arena_array(arena, n, sizeof *g->nets);
  }
  if (!g || !g->name || !g->nets) {
    tsr_arena_destroy(arena);
    return tsr_err_nomem(err);
  }
  *j = (struct joined){.g = g};
  return TSR_OK;
}

/* ---- passes ---- */

struct reading {
  const struct tsr_run_options *o;
  const struct tsr_workload_options *how; /* NULL: nothing is said */
  const char *path;
  struct tsri_steps *s;
  struct tsr_net *shape; /* unfinished: what is open */
  struct dims dims;
  const struct tsr_net_value *main, *cache;
  struct tsr_err *err;
};

static bool add_pass(struct tsri_steps *s, uint64_t first, uint64_t n) {
  size_t cap = s->n;
  if (!tsr_mem_grow((void **)&s->pass, &cap, s->n + 1, sizeof *s->pass)) return false;
  s->pass[s->n++] = (struct tsri_pass){first, n};
  return true;
}

/* Passes over `count` images or sequences, at most `many` each; where the model fixes how many,
 * over whole batches alone. */
static enum tsr_status plan_passes(struct reading *r, uint64_t count, uint64_t many) {
  bool open = r->main->rank && r->main->dim_name[0];
  uint64_t rest = open || !many ? 0 : count % many;
  if (rest)
    tsr_log_note("the last %" PRIu64 " of '%s' are left out: '%s' takes %" PRIu64 " at a time",
                 rest, r->o->dataset, r->path, many);
  count -= rest;
  if (!many || !count)
    return tsr_err_set(r->err, TSR_INPUT,
                       "data set '%s' has too little for a pass of '%s'; expected more data "
                       "or a smaller --dim",
                       r->o->dataset, r->path);
  for (uint64_t at = 0; at < count; at += many)
    if (!add_pass(r->s, at, tsr_min_u64(many, count - at))) return tsr_err_nomem(r->err);
  return TSR_OK;
}

static enum tsr_status plan_images(struct reading *r) {
  uint64_t count = tsr_dataset_count(r->s->data);
  uint64_t many = settle(&r->dims, r->main, 0, tsr_min_u64(count, IMAGES));
  return plan_passes(r, count, many);
}

static enum tsr_status plan_text(struct reading *r) {
  struct tsri_steps *s = r->s;
  s->tokens = settle(&r->dims, r->main, 1, TOKENS);
  if (r->cache && settle(&r->dims, r->cache, cache_axis(r->cache, r->main), 0))
    return tsr_err_set(r->err, TSR_INPUT,
                       "a text begins with an empty cache; expected 0 for dimension %u of "
                       "'%s'",
                       cache_axis(r->cache, r->main), r->cache->name);
  uint64_t windows = s->tokens ? tsr_dataset_count(s->data) / s->tokens : 0;
  uint64_t many = settle(&r->dims, r->main, 0, tsr_min_u64(windows, SEQUENCES));
  return plan_passes(r, windows, many);
}

/* A prompt, and then a token at a time. */
static enum tsr_status plan_decode(struct reading *r) {
  struct tsri_steps *s = r->s;
  if (!r->cache)
    return tsr_err_set(
        r->err, TSR_INPUT,
        "model '%s' has no input whose name begins with 'past'; expected a cache "
        "for --decode",
        r->path);
  s->tokens = settle(&r->dims, r->main, 1, TOKENS);
  uint64_t many = settle(&r->dims, r->main, 0, 1);
  if (s->data && tsr_dataset_count(s->data) < many * s->tokens)
    return tsr_err_set(r->err, TSR_INPUT,
                       "data set '%s' has %" PRIu64 " tokens; expected %" PRIu64 " for %" PRIu64
                       " prompts",
                       r->o->dataset, tsr_dataset_count(s->data), many * s->tokens, many);
  for (uint64_t i = 0; i <= r->o->decode; i++)
    if (!add_pass(s, 0, many)) return tsr_err_nomem(r->err);
  return TSR_OK;
}

static void dims_of_pass(struct reading *r, size_t i) {
  struct tsri_steps *s = r->s;
  set(&r->dims, r->main, 0, s->pass[i].n);
  if (s->kind != TSRI_STEPS_DECODE) return;
  set(&r->dims, r->main, 1, i ? 1 : s->tokens);
  set(&r->dims, r->cache, cache_axis(r->cache, r->main), i ? s->tokens + i - 1 : 0);
}

static enum tsr_status read_pass(struct reading *r, size_t i, struct tsr_graph **out) {
  char prefix[32] = "";
  dims_of_pass(r, i);
  if (r->s->n > 1)
    snprintf(prefix, sizeof prefix, "%s%zu.",
             r->s->kind == TSRI_STEPS_DECODE ? "step" : "batch", i);
  struct tsr_workload_options how = {0};
  if (r->how) how = *r->how;
  how.text = NULL; /* that is of all passes together */
  how.dims = r->dims.list;
  how.n_dims = r->dims.n;
  how.prefix = prefix[0] ? prefix : NULL;
  return tsr_workload_read(r->path, &how, out, r->err);
}

/* What a run stores: the first pass's manifest and how many follow. */
static enum tsr_status name_text(struct reading *r, struct tsr_graph *g, const char *first,
                                 const char *text) {
  g->text = tsr_arena_printf(g->arena, "%spasses %zu\n", first, r->s->n);
  if (!g->text) return tsr_err_nomem(r->err);
  if (!text || !strcmp(text, g->text)) return TSR_OK;
  return tsr_err_set(r->err, TSR_INPUT,
                     "model '%s' is not what the stored run read; expected the file as it was "
                     "then",
                     r->path);
}

static enum tsr_status read_all(struct reading *r, const char *text, struct tsr_graph **out) {
  struct joined j = {0};
  char *first = NULL;
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; !st && i < r->s->n; i++) {
    struct tsr_graph *one = NULL;
    if (tsr_interrupted) st = tsr_err_set(r->err, TSR_SIM, "interrupted; nothing was stored");
    if (!st) st = read_pass(r, i, &one);
    if (!st && !i) {
      first = tsr_mem_strdup(one->text);
      st = first ? open_join(&j, one, r->s->n, r->err) : tsr_err_nomem(r->err);
    }
    if (!st) st = append(&j, one, r->err);
    if (!st) j.g->batch += r->s->pass[i].n;
    tsr_graph_destroy(one);
  }
  if (!st && r->s->kind == TSRI_STEPS_DECODE) j.g->batch = r->s->pass[0].n;
  if (!st) st = name_text(r, j.g, first, text);
  tsr_mem_free(first);
  if (st)
    tsr_graph_destroy(j.g);
  else
    *out = j.g;
  return st;
}

/* ---- the whole ---- */

static enum tsr_status choose(struct reading *r) {
  struct tsri_steps *s = r->s;
  const struct tsr_run_options *o = r->o;
  bool text = s->data && tsr_dataset_kind(s->data) == TSR_DATASET_TEXT;
  s->kind = o->decode ? TSRI_STEPS_DECODE : text ? TSRI_STEPS_TEXT : TSRI_STEPS_IMAGES;
  if (o->decode && s->data && !text)
    return tsr_err_set(
        r->err, TSR_INPUT,
        "--decode goes on from a text; expected --dataset with one, got images in "
        "'%s'",
        o->dataset);
  bool tokens = s->kind != TSRI_STEPS_IMAGES;
  r->main = find_input(r->shape, tokens);
  r->cache = find_cache(r->shape);
  if (!r->main)
    return tsr_err_set(r->err, TSR_INPUT, "model '%s' has no %s; expected one for --%s",
                       r->path,
                       tokens ? "integer input of two dimensions" : "floating-point input",
                       o->decode ? "decode" : "dataset");
  s->input = tsr_mem_strdup(r->main->name);
  if (!s->input) return tsr_err_nomem(r->err);
  switch (s->kind) {
  case TSRI_STEPS_IMAGES: return plan_images(r);
  case TSRI_STEPS_TEXT: return plan_text(r);
  default: return plan_decode(r);
  }
}

enum tsr_status tsri_steps_read(const struct tsr_run_options *o,
                                const struct tsr_workload_options *how, const char *path,
                                const char *text, struct tsri_steps **out,
                                struct tsr_graph **graph, struct tsr_err *err) {
  if (o->n_dims > DIMS_MAX - SETTLED)
    return tsr_err_set(err, TSR_USAGE, "expected at most %d dimensions, got %zu",
                       DIMS_MAX - SETTLED, o->n_dims);
  struct reading r = {
      .o = o, .how = how, .path = path, .s = tsr_mem_alloc(sizeof *r.s), .err = err};
  if (!r.s) return tsr_err_nomem(err);
  for (size_t i = 0; i < o->n_dims; i++) r.dims.list[r.dims.n++] = o->dims[i];
  enum tsr_status st = o->dataset ? tsr_dataset_open(o->dataset, &r.s->data, err) : TSR_OK;
  if (!st) st = tsr_onnx_read(path, NULL, &r.shape, err);
  if (!st) st = choose(&r);
  if (!st) st = read_all(&r, text, graph);
  tsr_net_destroy(r.shape);
  if (st)
    tsri_steps_destroy(r.s);
  else
    *out = r.s;
  return st;
}
