/* A mixture of experts in the place of a layer's feed-forward half.
 *
 * Balanced routing: a token goes to top_k experts, so T tokens touch min(experts, T * top_k) of
 * them, and these share the rows as evenly as whole rows can be. */
#include <stdio.h>

#include "workloads/spec/spec_int.h"

struct mixture {
  struct tsri_from in, residual; /* what each expert reads; what the layer adds */
  uint64_t touched, rows;        /* rows of all of them, of the whole batch */
};

static struct tsri_from expert_product(struct tsri_gen *g, uint64_t e, const char *what,
                                       struct tsri_product p) {
  char part[64];
  (void)snprintf(part, sizeof part, "experts.%llu.%s", (unsigned long long)e, what);
  p.part = part;
  p.kind = TSR_OP_MOE_LINEAR;
  p.count = 1;
  p.batched = true;
  return tsri_gen_one(g, tsri_gen_product(g, &p));
}

/* Expert e; what it returns ends it. */
static struct tsri_from expert(struct tsri_gen *g, const struct tsri_stack *t,
                               const struct mixture *x, uint64_t e) {
  uint64_t rows = x->rows / x->touched + (e < x->rows % x->touched), d = g->s->hidden;
  bool all = tsri_gen_all(g), plain = g->s->ffn_kind == TSRI_PLAIN;
  struct tsri_product p = {.m = rows, .n = t->ffn, .k = d, .from = x->in}, up = p;
  struct tsri_from mid;
  if (g->s->ffn_kind == TSRI_GATED_FUSED) {
    p.n = 2 * t->ffn;
    mid = expert_product(g, e, "gate_up", p);
  } else {
    tsri_gen_activation(g, &p);
    mid = expert_product(g, e, plain ? "up" : "gate", p);
  }
  if (g->s->ffn_kind == TSRI_GATED) {
    if (all) tsri_gen_step(&up, TSR_OP_MUL, mid);
    struct tsri_from second = expert_product(g, e, "up", up);
    mid = all ? second : tsri_gen_join(g, mid, second);
  }
  p = (struct tsri_product){.m = rows, .n = d, .k = t->ffn, .from = mid};
  /* Where products stand alone nothing else adds the residual. */
  if (!all) p.from = tsri_gen_join(g, mid, x->residual);
  return expert_product(g, e, "down", p);
}

static struct tsri_from experts(struct tsri_gen *g, const struct tsri_stack *t,
                                const struct mixture *x) {
  size_t n = 0;
  size_t *ends =
      g->st ? NULL : tsr_arena_array(tsr_build_arena(g->b), (size_t)x->touched, sizeof *ends);
  if (!ends && !g->st) g->st = tsr_err_nomem(g->err);
  for (uint64_t e = 0; e < x->touched && !g->st; e++) {
    struct tsri_from end = expert(g, t, x, e);
    if (!g->st) ends[n++] = end.at[0];
  }
  return g->st ? (struct tsri_from){0} : (struct tsri_from){ends, n};
}

static enum tsr_status rows_of(const struct tsri_gen *g, const struct tsri_stack *t,
                               uint64_t *rows) {
  uint64_t tokens;
  if (tsr_mul_u64(g->batch, t->tokens, &tokens) && tsr_mul_u64(tokens, g->s->top_k, rows))
    return TSR_OK;
  return tsr_err_at(g->err, TSR_INPUT, tsri_spec_pos(g->s, "top_k"),
                    "too many rows for the experts; expected batch * sequence * top_k below "
                    "2^64");
}

struct tsri_from tsri_gen_experts(struct tsri_gen *g, const struct tsri_stack *t,
                                  struct tsri_from h, struct tsri_from residual) {
  uint64_t d = g->s->hidden, n = g->s->experts, top = g->s->top_k;
  struct mixture x = {.residual = residual};
  if (!g->st) g->st = rows_of(g, t, &x.rows);
  if (g->st) return (struct tsri_from){0};
  x.touched = tsr_min_u64(n, x.rows);
  struct tsri_product p = {.part = "router",
                           .kind = TSR_OP_LINEAR,
                           .m = t->tokens,
                           .n = n,
                           .k = d,
                           .count = 1,
                           .from = h};
  struct tsri_from router = tsri_gen_one(g, tsri_gen_product(g, &p));
  if (!tsri_gen_all(g)) {
    x.in = tsri_gen_join(g, h, router);
    return experts(g, t, &x);
  }
  router =
      tsri_gen_one(g, tsri_gen_rows(g, "router_softmax", TSR_OP_SOFTMAX, t->tokens, n, router));
  struct tsr_op op = {.kind = TSR_OP_TOPK, .m = t->tokens, .n = n, .k = top, .count = 1};
  router = tsri_gen_one(g, tsri_gen_emit(g, "router_topk", op, router, false));
  op = (struct tsr_op){.kind = TSR_OP_MOE_GATHER,
                       .m = t->tokens * top,
                       .n = d,
                       .k = top,
                       .count = 1,
                       .attr.experts = n};
  x.in = tsri_gen_one(g, tsri_gen_emit(g, "dispatch", op, tsri_gen_join(g, h, router), false));
  op.kind = TSR_OP_MOE_SCATTER;
  op.m = t->tokens;
  struct tsri_from ends = tsri_gen_join(g, experts(g, t, &x), router);
  struct tsri_from sum = tsri_gen_one(g, tsri_gen_emit(g, "combine", op, ends, false));
  return tsri_gen_one(g, tsri_gen_rows(g, "residual", TSR_OP_ADD, t->tokens, d,
                                       tsri_gen_join(g, sum, residual)));
}
