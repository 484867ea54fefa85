/* Appending operators: names, batches, products with what follows them. */
#include <stdio.h>
#include <string.h>

#include "workloads/spec/spec_int.h"

bool tsri_gen_all(const struct tsri_gen *g) {
  return g->s->operators == TSRI_ALL;
}

static void fail(struct tsri_gen *g, enum tsr_status st) {
  if (!g->st) g->st = st;
}

static size_t *places(struct tsri_gen *g, size_t n) {
  size_t *at = g->st ? NULL : tsr_arena_array(tsr_build_arena(g->b), n, sizeof *at);
  if (!at && !g->st) fail(g, tsr_err_nomem(g->err));
  return at;
}

struct tsri_from tsri_gen_one(struct tsri_gen *g, size_t at) {
  size_t *p = places(g, 1);
  if (!p) return (struct tsri_from){0};
  *p = at;
  return (struct tsri_from){p, 1};
}

struct tsri_from tsri_gen_join(struct tsri_gen *g, struct tsri_from a, struct tsri_from b) {
  if (a.n == 0 || b.n == 0) return a.n ? a : b;
  size_t *p = places(g, a.n + b.n);
  if (!p) return (struct tsri_from){0};
  memcpy(p, a.at, a.n * sizeof *p);
  memcpy(p + a.n, b.at, b.n * sizeof *p);
  return (struct tsri_from){p, a.n + b.n};
}

size_t tsri_gen_emit(struct tsri_gen *g, const char *part, struct tsr_op op,
                     struct tsri_from from, bool batched) {
  char name[128];
  size_t at = tsr_build_count(g->b);
  if (g->st) return 0;
  int n = snprintf(name, sizeof name, "%s%s", g->prefix, part);
  TSR_CHECK(n > 0 && (size_t)n < sizeof name);
  op.name = name;
  op.after = from.at;
  op.n_after = from.n;
  op.pos = g->s->root->pos;
  if (at >= TSR_SPEC_OPS_MAX)
    fail(g, tsr_err_at(g->err, TSR_INPUT, &op.pos,
                       "too many operators; expected layers and experts that make at most %d",
                       TSR_SPEC_OPS_MAX));
  else if (!batched && !tsr_op_batch(&op, g->batch))
    fail(g, tsr_err_at(g->err, TSR_INPUT, &op.pos,
                       "'%s' is too large at this batch; expected sizes below 2^64, got '%llu'",
                       name, (unsigned long long)g->batch));
  else
    fail(g, tsr_build_add(g->b, &op, g->err));
  return at;
}

size_t tsri_gen_rows(struct tsri_gen *g, const char *part, enum tsr_op_kind kind, uint64_t m,
                     uint64_t n, struct tsri_from from) {
  struct tsr_op op = {.kind = kind, .m = m, .n = n, .k = 1, .count = 1};
  if (tsr_op_kind_info(kind)->eps) op.attr.eps = g->s->eps;
  return tsri_gen_emit(g, part, op, from, false);
}

void tsri_gen_step(struct tsri_product *p, enum tsr_op_kind kind, struct tsri_from with) {
  TSR_CHECK(p->n_steps < TSRI_STEPS);
  p->step[p->n_steps++] = (struct tsri_step){kind, with};
}

void tsri_gen_bias(const struct tsri_gen *g, struct tsri_product *p, bool qkv) {
  bool has = g->s->bias == TSRI_BIAS_ALL || (qkv && g->s->bias == TSRI_BIAS_QKV);
  if (has) tsri_gen_step(p, TSR_OP_BIAS, (struct tsri_from){0});
}

void tsri_gen_activation(const struct tsri_gen *g, struct tsri_product *p) {
  static const enum tsr_op_kind kinds[] = {[TSRI_RELU] = TSR_OP_RELU,
                                           [TSRI_GELU] = TSR_OP_GELU,
                                           [TSRI_GELU_TANH] = TSR_OP_GELU_TANH,
                                           [TSRI_SILU] = TSR_OP_SILU};
  if (g->s->activation != TSRI_NO_ACTIVATION)
    tsri_gen_step(p, kinds[g->s->activation], (struct tsri_from){0});
}

/* Each step as an operator that reads the one before it. */
static size_t emit_steps(struct tsri_gen *g, const struct tsri_product *p, size_t at) {
  for (size_t i = 0; i < p->n_steps; i++) {
    char part[96];
    const char *name = tsr_op_kind_name(p->step[i].kind);
    int n = snprintf(part, sizeof part, "%s.%s", p->part, name);
    TSR_CHECK(n > 0 && (size_t)n < sizeof part);
    struct tsr_op op = {
        .kind = p->step[i].kind, .m = p->m, .n = p->n, .k = 1, .count = p->count};
    at = tsri_gen_emit(g, part, op, tsri_gen_join(g, tsri_gen_one(g, at), p->step[i].with),
                       p->batched);
  }
  return at;
}

size_t tsri_gen_product(struct tsri_gen *g, const struct tsri_product *p) {
  struct tsr_op op = {.kind = p->kind, .m = p->m, .n = p->n, .k = p->k, .count = p->count};
  op.has_conv = p->conv != NULL;
  if (p->conv) op.conv = *p->conv;
  struct tsri_from from = tsri_gen_join(g, p->from, p->second);
  if (g->st) return 0; /* lists may lack what failed */
  bool separate = tsri_gen_all(g) && g->s->epilogue == TSRI_SEPARATE;
  for (size_t i = 0; i < p->n_steps && !separate; i++) {
    /* Behind a product that reads the model's input a name would be that of its A. */
    TSR_CHECK(p->step[i].with.n == 0 || from.n > 0);
    from = tsri_gen_join(g, from, p->step[i].with);
    if (tsri_gen_all(g)) op.step[op.n_steps++].kind = p->step[i].kind;
  }
  size_t at = tsri_gen_emit(g, p->part, op, from, p->batched);
  return separate ? emit_steps(g, p, at) : at;
}
