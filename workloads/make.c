/* The builder as other folders use it: copies in, a checked graph out. */
#include <string.h>

#include "workloads/build.h"
#include "workloads/workloads_int.h"

struct tsr_build {
  struct tsri_build b;
};

enum tsr_status tsr_build_create(const char *name, const char *path, const char *text,
                                 size_t len, struct tsr_build **out, struct tsr_err *err) {
  struct tsr_build *b = tsr_mem_alloc(sizeof *b);
  if (!b) return tsr_err_nomem(err);
  enum tsr_status st = tsri_build_init(&b->b, path, name, text, len, err);
  if (st) {
    tsr_build_destroy(b);
    return st;
  }
  *out = b;
  return TSR_OK;
}

void tsr_build_destroy(struct tsr_build *b) {
  if (!b) return;
  tsr_graph_destroy(b->b.g);
  tsr_mem_free(b->b.ops);
  tsr_mem_free(b->b.names.slot);
  tsr_mem_free(b);
}

struct tsr_arena *tsr_build_arena(struct tsr_build *b) {
  return b->b.g->arena;
}

const struct tsr_src *tsr_build_src(const struct tsr_build *b) {
  return b->b.src;
}

size_t tsr_build_count(const struct tsr_build *b) {
  return b->b.n;
}

size_t tsr_build_find(const struct tsr_build *b, const char *name) {
  return tsri_build_find(&b->b, name, strlen(name));
}

/* Replaces a text by its copy; NULL stays, and the empty one needs no room. */
static bool keep(struct tsr_arena *a, const char **text) {
  if (!*text) return true;
  *text = **text ? tsr_arena_strdup(a, *text) : "";
  return *text != NULL;
}

static bool keep_after(struct tsr_arena *a, struct tsr_op *op) {
  if (op->n_after == 0) {
    op->after = NULL;
    return true;
  }
  size_t *list = tsr_arena_array(a, op->n_after, sizeof *list);
  if (!list) return false;
  memcpy(list, op->after, op->n_after * sizeof *list);
  op->after = list;
  return true;
}

enum tsr_status tsr_build_add(struct tsr_build *b, const struct tsr_op *op,
                              struct tsr_err *err) {
  struct tsr_arena *a = b->b.g->arena;
  struct tsr_op o = *op;
  if (!op->name || !*op->name)
    return tsr_err_at(err, TSR_INPUT, &op->pos, "an operator without a name; expected one");
  if (tsr_build_find(b, op->name) != SIZE_MAX)
    return tsr_err_at(err, TSR_INPUT, &op->pos,
                      "name of an operator taken; expected each under its own name, got '%s'",
                      op->name);
  for (size_t i = 0; i < op->n_after; i++) TSR_CHECK(op->after[i] < b->b.n);
  bool kept = keep(a, &o.name) && keep(a, &o.format_a) && keep(a, &o.format_b) &&
              keep(a, &o.format_acc) && keep(a, &o.format_out) && keep(a, &o.sparsity) &&
              keep_after(a, &o);
  if (!kept) return tsr_err_nomem(err);
  b->b.err = err;
  enum tsr_status st = tsri_build_add(&b->b, &o);
  b->b.status = TSR_OK; /* the caller has been told */
  b->b.errors = 0;
  return st;
}

enum tsr_status tsr_build_rename(struct tsr_build *b, const char *name, struct tsr_err *err) {
  char *copy = tsr_arena_strdup(b->b.g->arena, name);
  if (!copy) return tsr_err_nomem(err);
  b->b.g->name = copy;
  return TSR_OK;
}

enum tsr_status tsr_build_finish(struct tsr_build *b, uint64_t batch, struct tsr_graph **out,
                                 struct tsr_err *err) {
  struct tsri_build *in = &b->b;
  in->err = err;
  in->g->batch = batch ? batch : 1;
  if (in->n == 0)
    tsri_note(in, tsr_err_set(err, TSR_INPUT, "'%s' has no operator; expected one at least",
                              in->g->name));
  for (size_t i = 0; i < in->n && !tsri_build_full(in); i++) {
    enum tsr_status st = tsr_op_check(&in->ops[i], err);
    if (st) tsri_note(in, st);
  }
  enum tsr_status st = tsri_build_finish(in, out);
  tsr_mem_free(b);
  return st;
}
