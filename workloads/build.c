/* The builder of a graph: operators, their names, errors counted. */
#include <string.h>

#include "workloads/workloads_int.h"

enum tsr_status tsri_note(struct tsri_build *b, enum tsr_status s) {
  if (b->status == TSR_OK) b->status = s;
  b->errors++;
  return s;
}

enum tsr_status tsri_nomem(struct tsri_build *b) {
  b->status = TSR_NOMEM;
  b->errors++;
  return tsr_err_nomem(b->err);
}

bool tsri_build_full(const struct tsri_build *b) {
  return b->status == TSR_NOMEM || b->errors >= TSR_ERR_MAX;
}

static const struct tsr_src *source_make(struct tsr_graph *g, const char *path, size_t len) {
  struct tsr_src *src = tsr_arena_alloc(g->arena, sizeof *src);
  if (!src) return NULL;
  size_t skip = len >= 3 && memcmp(g->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  src->path = tsr_arena_strdup(g->arena, path);
  src->text = g->text + skip;
  src->len = len - skip;
  return src->path ? src : NULL;
}

enum tsr_status tsri_build_init(struct tsri_build *b, const char *path, const char *name,
                                const char *text, size_t len, struct tsr_err *err) {
  memset(b, 0, sizeof *b);
  b->err = err;
  b->line = 1;
  struct tsr_arena *arena = tsr_arena_create();
  if (!arena) return tsri_nomem(b);
  b->g = tsr_arena_alloc(arena, sizeof *b->g);
  if (!b->g) {
    tsr_arena_destroy(arena);
    return tsri_nomem(b);
  }
  b->g->arena = arena;
  b->g->name = tsr_arena_strdup(arena, name);
  b->g->text = tsr_arena_strndup(arena, text, len);
  if (b->g->name && b->g->text) b->src = source_make(b->g, path, len);
  return b->src ? TSR_OK : tsri_nomem(b);
}

enum tsr_status tsri_build_finish(struct tsri_build *b, struct tsr_graph **out) {
  struct tsr_graph *g = b->g;
  if (b->status == TSR_OK) {
    g->ops = tsr_arena_array(g->arena, b->n, sizeof *g->ops);
    if (!g->ops) tsri_nomem(b);
  }
  if (b->status == TSR_OK) {
    memcpy(g->ops, b->ops, b->n * sizeof *g->ops);
    g->n_ops = b->n;
    *out = g;
  } else {
    tsr_graph_destroy(g);
  }
  tsr_mem_free(b->ops);
  tsr_mem_free(b->names.slot);
  return b->status;
}

static size_t name_slot(const struct tsri_build *b, const char *name, size_t n) {
  size_t mask = b->names.cap - 1;
  size_t at = (size_t)tsr_fnv1a(TSR_FNV_INIT, name, n) & mask;
  for (size_t i; (i = b->names.slot[at]) != 0; at = (at + 1) & mask) {
    const char *have = b->ops[i - 1].name;
    if (strlen(have) == n && memcmp(have, name, n) == 0) break;
  }
  return at;
}

size_t tsri_build_find(const struct tsri_build *b, const char *name, size_t n) {
  if (b->names.cap == 0) return SIZE_MAX;
  size_t i = b->names.slot[name_slot(b, name, n)];
  return i == 0 ? SIZE_MAX : i - 1;
}

/* Keeps the table at most half full. */
static bool names_reserve(struct tsri_build *b) {
  if (b->names.cap > 2 * b->names.n) return true;
  size_t cap = b->names.cap == 0 ? 64 : 2 * b->names.cap;
  size_t *slot = tsr_mem_array(cap, sizeof *slot);
  if (!slot) return false;
  tsr_mem_free(b->names.slot);
  b->names.slot = slot;
  b->names.cap = cap;
  for (size_t i = 0; i < b->n; i++)
    slot[name_slot(b, b->ops[i].name, strlen(b->ops[i].name))] = i + 1;
  return true;
}

static const char *or_empty(const char *s) {
  return s ? s : "";
}

enum tsr_status tsri_build_add(struct tsri_build *b, const struct tsr_op *op) {
  void *p = b->ops;
  if (!tsr_mem_grow(&p, &b->cap, b->n + 1, sizeof *b->ops)) return tsri_nomem(b);
  b->ops = p;
  if (!names_reserve(b)) return tsri_nomem(b);
  struct tsr_op *o = &b->ops[b->n];
  *o = *op;
  o->format_a = or_empty(op->format_a);
  o->format_b = or_empty(op->format_b);
  o->format_acc = or_empty(op->format_acc);
  o->format_out = or_empty(op->format_out);
  o->sparsity = or_empty(op->sparsity);
  size_t at = name_slot(b, o->name, strlen(o->name));
  TSR_CHECK(b->names.slot[at] == 0);
  b->names.slot[at] = ++b->n;
  b->names.n++;
  return TSR_OK;
}

enum tsr_status tsri_build_chain(struct tsri_build *b, struct tsr_op *op) {
  op->n_after = 0;
  op->after = NULL;
  if (b->n == 0) return TSR_OK;
  size_t *after = tsr_arena_array(b->g->arena, 1, sizeof *after);
  if (!after) return tsri_nomem(b);
  after[0] = b->n - 1;
  op->n_after = 1;
  op->after = after;
  return TSR_OK;
}
