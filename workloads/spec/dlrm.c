/* DLRM: dense features through the bottom, categories through tables, their pairwise products
 * and the dense ones through the top (SRC:dlrm-mlperf). */
#include <stdio.h>

#include "workloads/spec/spec_int.h"

/* One layer of the bottom or the top. */
static struct tsri_from dense(struct tsri_gen *g, const char *side, size_t i, uint64_t n,
                              uint64_t k, enum tsr_op_kind activation, struct tsri_from x) {
  char part[32];
  (void)snprintf(part, sizeof part, "%s%zu", side, i);
  struct tsri_product p = {
      .part = part, .kind = TSR_OP_LINEAR, .m = 1, .n = n, .k = k, .count = 1, .from = x};
  tsri_gen_step(&p, TSR_OP_BIAS, (struct tsri_from){0});
  tsri_gen_step(&p, activation, (struct tsri_from){0});
  return tsri_gen_one(g, tsri_gen_product(g, &p));
}

/* One row of each table, behind the dense features. */
static struct tsri_from features(struct tsri_gen *g, uint64_t width,
                                 struct tsri_from dense_at) {
  const struct tsri_list *t = &g->s->tables;
  size_t *at = g->st ? NULL : tsr_arena_array(tsr_build_arena(g->b), t->n + 1, sizeof *at);
  if (!at && !g->st) g->st = tsr_err_nomem(g->err);
  if (g->st) return (struct tsri_from){0};
  at[0] = dense_at.at[0];
  for (size_t i = 0; i < t->n; i++) {
    char part[32];
    (void)snprintf(part, sizeof part, "embedding.%zu", i);
    const struct tsr_op op = {.kind = TSR_OP_EMBEDDING,
                              .m = 1,
                              .n = width,
                              .k = g->s->lookups,
                              .count = 1,
                              .attr.table = t->v[i]};
    at[i + 1] = tsri_gen_emit(g, part, op, (struct tsri_from){0}, false);
  }
  struct tsri_from all = {at, t->n + 1};
  return tsri_gen_one(g,
                      tsri_gen_rows(g, "features", TSR_OP_CONCAT, 1, (t->n + 1) * width, all));
}

/* What the top reads and how wide it is. */
struct joined {
  struct tsri_from from;
  uint64_t width;
};

/* Every pair of features once. */
static struct joined pairs(struct tsri_gen *g, uint64_t width, struct tsri_from bottom,
                           struct tsri_from x) {
  uint64_t f = g->s->tables.n + 1, n = f * (f - 1) / 2;
  struct joined r = {.width = width + n};
  /* In lists of products a product of two activations is one of attention. */
  enum tsr_op_kind kind = tsri_gen_all(g) ? TSR_OP_BMM : TSR_OP_ATTN_QK;
  struct tsri_product p = {
      .part = "interaction", .kind = kind, .m = f, .n = f, .k = width, .count = 1, .from = x};
  r.from = tsri_gen_one(g, tsri_gen_product(g, &p));
  if (tsri_gen_all(g)) {
    const struct tsr_op op = {
        .kind = TSR_OP_GATHER, .m = n, .n = 1, .k = 1, .count = 1, .attr.table = f * f};
    r.from = tsri_gen_one(g, tsri_gen_emit(g, "pairs", op, r.from, false));
    r.from = tsri_gen_one(g, tsri_gen_rows(g, "top_input", TSR_OP_CONCAT, 1, r.width,
                                           tsri_gen_join(g, bottom, r.from)));
  } else {
    r.from = tsri_gen_join(g, r.from, bottom);
  }
  return r;
}

void tsri_gen_dlrm(struct tsri_gen *g) {
  const struct tsri_spec *s = g->s;
  uint64_t width = s->bottom.v[s->bottom.n - 1];
  struct tsri_from x = {0};
  for (size_t i = 1; i < s->bottom.n; i++)
    x = dense(g, "bot", i - 1, s->bottom.v[i], s->bottom.v[i - 1], TSR_OP_RELU, x);
  struct joined in = {.from = x, .width = (s->tables.n + 1) * width};
  if (tsri_gen_all(g)) in.from = features(g, width, x);
  if (s->interaction == TSRI_DOT) in = pairs(g, width, x, in.from);
  for (size_t i = 0; i < s->top.n; i++) {
    enum tsr_op_kind last = i + 1 == s->top.n ? TSR_OP_SIGMOID : TSR_OP_RELU;
    in.from = dense(g, "top", i, s->top.v[i], in.width, last, in.from);
    in.width = s->top.v[i];
  }
}
