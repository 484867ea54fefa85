/* The layers of a transformer: attention and feed-forward halves, each with its norm and its
 * residual. */
#include <stdio.h>

#include "workloads/spec/spec_int.h"

struct tsri_from tsri_gen_norm(struct tsri_gen *g, const char *part, uint64_t tokens,
                               struct tsri_from x) {
  if (!tsri_gen_all(g) || g->s->norm == TSRI_NO_NORM) return x;
  enum tsr_op_kind kind = g->s->norm == TSRI_RMSNORM ? TSR_OP_RMSNORM : TSR_OP_LAYERNORM;
  return tsri_gen_one(g, tsri_gen_rows(g, part, kind, tokens, g->s->hidden, x));
}

static struct tsri_from norm_before(struct tsri_gen *g, const char *part, uint64_t tokens,
                                    struct tsri_from x) {
  return g->s->norm_at == TSRI_BEFORE ? tsri_gen_norm(g, part, tokens, x) : x;
}

static struct tsri_from norm_after(struct tsri_gen *g, const char *part, uint64_t tokens,
                                   struct tsri_from x) {
  return g->s->norm_at == TSRI_AFTER ? tsri_gen_norm(g, part, tokens, x) : x;
}

/* What attention reads; k and v have no names where they are kept from before. */
struct qkv {
  struct tsri_from q, k, v;
};

static struct tsri_from project(struct tsri_gen *g, const char *part, uint64_t tokens,
                                uint64_t n, struct tsri_from x) {
  struct tsri_product p = {.part = part,
                           .kind = TSR_OP_LINEAR,
                           .m = tokens,
                           .n = n,
                           .k = g->s->hidden,
                           .count = 1,
                           .from = x};
  tsri_gen_bias(g, &p, true);
  return tsri_gen_one(g, tsri_gen_product(g, &p));
}

static struct tsri_from rope(struct tsri_gen *g, const char *part, uint64_t tokens,
                             uint64_t heads, struct tsri_from x) {
  if (!tsri_gen_all(g) || g->s->positions != TSRI_ROPE) return x;
  const struct tsr_op op = {
      .kind = TSR_OP_ROPE, .m = tokens, .n = g->s->head_dim, .k = 1, .count = heads};
  return tsri_gen_one(g, tsri_gen_emit(g, part, op, x, false));
}

static struct qkv projections(struct tsri_gen *g, const struct tsri_stack *t,
                              struct tsri_from x) {
  uint64_t q = t->heads * g->s->head_dim, kv = t->kv_heads * g->s->head_dim;
  struct qkv r = {0};
  if (g->s->qkv == TSRI_QKV_FUSED) {
    r.q = project(g, "qkv", t->tokens, q + 2 * kv, x);
    r.v = r.q; /* with one name attention takes the keys from it too */
    return r;
  }
  r.q = project(g, "q_proj", t->tokens, q, x);
  r.k = project(g, "k_proj", t->tokens, kv, x);
  r.v = project(g, "v_proj", t->tokens, kv, x);
  r.q = rope(g, "q_rope", t->tokens, t->heads, r.q);
  r.k = rope(g, "k_rope", t->tokens, t->kv_heads, r.k);
  return r;
}

struct names {
  const char *fused, *scores, *softmax, *mix;
};

static struct tsri_from attend(struct tsri_gen *g, const struct tsri_stack *t,
                               const struct names *names, struct qkv x, uint64_t keys,
                               bool causal) {
  uint64_t d = g->s->head_dim;
  struct tsr_op op = {.kind = TSR_OP_ATTENTION,
                      .m = t->tokens,
                      .n = keys,
                      .k = d,
                      .count = t->heads,
                      .attr = {.heads = t->heads, .kv_heads = t->kv_heads, .causal = causal}};
  if (g->s->attention == TSRI_ATTENTION) {
    struct tsri_from kv = x.k.n ? tsri_gen_join(g, x.k, x.v) : x.k;
    return tsri_gen_one(g,
                        tsri_gen_emit(g, names->fused, op, tsri_gen_join(g, x.q, kv), false));
  }
  struct tsri_product qk = {.part = names->scores,
                            .kind = TSR_OP_ATTN_QK,
                            .m = t->tokens,
                            .n = keys,
                            .k = d,
                            .count = t->heads,
                            .from = x.q,
                            .second = x.k};
  struct tsri_from p = tsri_gen_one(g, tsri_gen_product(g, &qk));
  op = (struct tsr_op){
      .kind = TSR_OP_SOFTMAX, .m = t->tokens, .n = keys, .k = 1, .count = t->heads};
  if (tsri_gen_all(g)) p = tsri_gen_one(g, tsri_gen_emit(g, names->softmax, op, p, false));
  struct tsri_product pv = {.part = names->mix,
                            .kind = TSR_OP_ATTN_PV,
                            .m = t->tokens,
                            .n = d,
                            .k = keys,
                            .count = t->heads,
                            .from = p,
                            .second = x.v};
  return tsri_gen_one(g, tsri_gen_product(g, &pv));
}

/* Back to the residual stream, which it adds. */
static struct tsri_from close(struct tsri_gen *g, const char *part, uint64_t tokens, uint64_t k,
                              struct tsri_from from, struct tsri_from residual) {
  struct tsri_product p = {.part = part,
                           .kind = TSR_OP_LINEAR,
                           .m = tokens,
                           .n = g->s->hidden,
                           .k = k,
                           .count = 1,
                           .from = from};
  tsri_gen_bias(g, &p, false);
  tsri_gen_step(&p, TSR_OP_ADD, residual);
  return tsri_gen_one(g, tsri_gen_product(g, &p));
}

static struct tsri_from self_attention(struct tsri_gen *g, const struct tsri_stack *t,
                                       struct tsri_from x) {
  static const struct names names = {"attention", "attn_qk", "softmax", "attn_pv"};
  struct tsri_from h = norm_before(g, "attn_norm", t->tokens, x);
  h = attend(g, t, &names, projections(g, t, h), t->keys, t->causal);
  const char *out = g->s->kind == TSRI_DECODER ? "o_proj" : "attn_out";
  h = close(g, out, t->tokens, t->heads * g->s->head_dim, h, x);
  return norm_after(g, "attn_norm", t->tokens, h);
}

static struct tsri_from cross_attention(struct tsri_gen *g, const struct tsri_stack *t,
                                        uint64_t layer, struct tsri_from x) {
  static const struct names names = {"cross_attention", "cross_qk", "cross_softmax",
                                     "cross_pv"};
  uint64_t q = t->heads * g->s->head_dim;
  struct qkv in = {0};
  in.q = project(g, "cross_q", t->tokens, q, norm_before(g, "cross_norm", t->tokens, x));
  if (t->cross_at && !g->st) {
    in.k = (struct tsri_from){t->cross_at + 2 * layer, 1};
    in.v = (struct tsri_from){t->cross_at + 2 * layer + 1, 1};
  }
  struct tsri_from h = attend(g, t, &names, in, t->cross_keys, false);
  h = close(g, "cross_out", t->tokens, q, h, x);
  return norm_after(g, "cross_norm", t->tokens, h);
}

static struct tsri_product wide(const struct tsri_gen *g, const struct tsri_stack *t,
                                const char *part, uint64_t n, struct tsri_from x) {
  struct tsri_product p = {.part = part,
                           .kind = TSR_OP_LINEAR,
                           .m = t->tokens,
                           .n = n,
                           .k = g->s->hidden,
                           .count = 1,
                           .from = x};
  tsri_gen_bias(g, &p, false);
  return p;
}

/* What the second matrix reads. */
static struct tsri_from widen(struct tsri_gen *g, const struct tsri_stack *t,
                              struct tsri_from x) {
  struct tsri_product p;
  if (g->s->ffn_kind == TSRI_GATED_FUSED) {
    p = wide(g, t, "gate_up", 2 * t->ffn, x);
    return tsri_gen_one(g, tsri_gen_product(g, &p));
  }
  p = wide(g, t, g->s->ffn_kind == TSRI_PLAIN ? "ffn1" : "gate", t->ffn, x);
  tsri_gen_activation(g, &p);
  struct tsri_from first = tsri_gen_one(g, tsri_gen_product(g, &p));
  if (g->s->ffn_kind == TSRI_PLAIN) return first;
  p = wide(g, t, "up", t->ffn, x);
  if (tsri_gen_all(g)) tsri_gen_step(&p, TSR_OP_MUL, first);
  struct tsri_from up = tsri_gen_one(g, tsri_gen_product(g, &p));
  return tsri_gen_all(g) ? up : tsri_gen_join(g, first, up);
}

static struct tsri_from feed_forward(struct tsri_gen *g, const struct tsri_stack *t,
                                     struct tsri_from x) {
  struct tsri_from h = norm_before(g, "ffn_norm", t->tokens, x);
  if (g->s->experts) {
    h = tsri_gen_experts(g, t, h, x);
  } else {
    h = widen(g, t, h);
    h = close(g, g->s->ffn_kind == TSRI_PLAIN ? "ffn2" : "down", t->tokens, t->ffn, h, x);
  }
  return norm_after(g, "ffn_norm", t->tokens, h);
}

struct tsri_from tsri_gen_stack(struct tsri_gen *g, const struct tsri_stack *t,
                                struct tsri_from x) {
  for (uint64_t i = 0; i < t->layers && !g->st; i++) {
    (void)snprintf(g->prefix, sizeof g->prefix, "%slayers.%llu.", t->prefix,
                   (unsigned long long)i);
    x = self_attention(g, t, x);
    if (t->cross) x = cross_attention(g, t, i, x);
    x = feed_forward(g, t, x);
  }
  (void)snprintf(g->prefix, sizeof g->prefix, "%s", t->prefix);
  if (g->s->norm_at == TSRI_BEFORE) x = tsri_gen_norm(g, "final_norm", t->tokens, x);
  return x;
}
