/* Transformers from end to end: what makes tokens, the stacks, what reads the result. */
#include <stdio.h>

#include "workloads/spec/spec_int.h"

static const struct tsri_from input = {0};

/* A convolution of the front end, with bias and activation as the rest has them. */
static struct tsri_from conv(struct tsri_gen *g, const char *part, struct tsr_conv c,
                             bool activation, struct tsri_from from) {
  c.batch = c.dil_h = c.dil_w = c.groups = 1;
  c.out_c = g->s->hidden;
  c.out_h = (c.in_h + c.pad_t + c.pad_b - c.k_h) / c.stride_h + 1;
  c.out_w = (c.in_w + c.pad_l + c.pad_r - c.k_w) / c.stride_w + 1;
  struct tsri_product p = {.part = part,
                           .kind = TSR_OP_CONV,
                           .m = c.out_h * c.out_w,
                           .n = c.out_c,
                           .k = c.k_h * c.k_w * c.in_c,
                           .count = 1,
                           .from = from,
                           .conv = &c};
  tsri_gen_bias(g, &p, false);
  if (activation) tsri_gen_activation(g, &p);
  return tsri_gen_one(g, tsri_gen_product(g, &p));
}

static struct tsri_from image(struct tsri_gen *g) {
  const struct tsri_spec *s = g->s;
  return conv(g, "patch_embed",
              (struct tsr_conv){.in_c = s->channels,
                                .in_h = s->image,
                                .in_w = s->image,
                                .k_h = s->patch,
                                .k_w = s->patch,
                                .stride_h = s->patch,
                                .stride_w = s->patch},
              false, input);
}

/* Two convolutions along time, the second with a stride (SRC:whisper). */
static struct tsri_from audio(struct tsri_gen *g) {
  struct tsr_conv c = {.in_c = g->s->mels,
                       .in_h = 1,
                       .in_w = g->s->frames,
                       .k_h = 1,
                       .k_w = 3,
                       .stride_h = 1,
                       .stride_w = 1,
                       .pad_l = 1,
                       .pad_r = 1};
  struct tsri_from x = conv(g, "conv1", c, true, input);
  c.in_c = g->s->hidden;
  c.stride_w = 2;
  return conv(g, "conv2", c, true, x);
}

static struct tsri_from words(struct tsri_gen *g, uint64_t tokens) {
  const struct tsr_op op = {.kind = TSR_OP_EMBEDDING,
                            .m = tokens,
                            .n = g->s->hidden,
                            .k = 1,
                            .count = 1,
                            .attr.table = g->s->vocab};
  if (!tsri_gen_all(g) || !g->s->vocab || !g->s->embedding) return input;
  return tsri_gen_one(g, tsri_gen_emit(g, "embed", op, input, false));
}

/* The first layer's input: `front` where a front end makes it, else words. */
static struct tsri_from embed(struct tsri_gen *g, bool front, uint64_t tokens) {
  struct tsri_from x;
  if (front)
    x = g->s->image ? image(g) : audio(g);
  else
    x = words(g, tokens);
  if (tsri_gen_all(g) && g->s->positions == TSRI_LEARNED)
    x = tsri_gen_one(g, tsri_gen_rows(g, "positions", TSR_OP_ADD, tokens, g->s->hidden, x));
  /* Without a norm at the start of its layers a model has one here; the model's input has been
   * through it. */
  if (g->s->norm_at == TSRI_AFTER && x.n) x = tsri_gen_norm(g, "embed_norm", tokens, x);
  return x;
}

/* A product on `rows` tokens of each inference. */
static struct tsri_from head(struct tsri_gen *g, const char *part, uint64_t rows, uint64_t n,
                             bool bias, bool tanh, struct tsri_from x) {
  struct tsri_product p = {.part = part,
                           .kind = TSR_OP_LINEAR,
                           .m = rows,
                           .n = n,
                           .k = g->s->hidden,
                           .count = 1,
                           .from = x};
  if (bias) tsri_gen_bias(g, &p, false);
  if (tanh) tsri_gen_step(&p, TSR_OP_TANH, input);
  return tsri_gen_one(g, tsri_gen_product(g, &p));
}

static void heads(struct tsri_gen *g, uint64_t tokens, struct tsri_from x) {
  const struct tsri_spec *s = g->s;
  g->prefix[0] = '\0';
  if (s->pooler) x = head(g, "pooler", 1, s->hidden, true, true, x);
  if (s->classes) x = head(g, "head", 1, s->classes, true, false, x);
  if (s->logits != TSRI_NO_LOGITS)
    (void)head(g, "lm_head", s->logits == TSRI_LAST ? 1 : tokens, s->vocab, false, false, x);
}

static void one_stack(struct tsri_gen *g) {
  const struct tsri_spec *s = g->s;
  const struct tsri_stack t = {.prefix = "",
                               .layers = s->layers,
                               .heads = s->heads,
                               .kv_heads = s->kv_heads,
                               .ffn = s->ffn,
                               .tokens = s->sequence,
                               .keys = s->context,
                               .causal = s->kind == TSRI_DECODER};
  struct tsri_from x = embed(g, s->image || s->frames, s->sequence);
  heads(g, s->sequence, tsri_gen_stack(g, &t, x));
}

/* Keys and values of every decoder layer from what the encoder made, once; their operators. */
static const size_t *cross_kv(struct tsri_gen *g, struct tsri_from x) {
  const struct tsri_spec *s = g->s;
  static const char *const parts[] = {"cross_k", "cross_v"};
  size_t *at = g->st ? NULL : tsr_arena_array(tsr_build_arena(g->b), 2 * s->layers, sizeof *at);
  if (!at && !g->st) g->st = tsr_err_nomem(g->err);
  for (uint64_t i = 0; i < 2 * s->layers && !g->st; i++) {
    (void)snprintf(g->prefix, sizeof g->prefix, "decoder.layers.%llu.",
                   (unsigned long long)i / 2);
    struct tsri_product p = {.part = parts[i % 2],
                             .kind = TSR_OP_LINEAR,
                             .m = s->enc_sequence,
                             .n = s->kv_heads * s->head_dim,
                             .k = s->hidden,
                             .count = 1,
                             .from = x};
    tsri_gen_bias(g, &p, true);
    at[i] = tsri_gen_product(g, &p);
  }
  return at;
}

static void two_stacks(struct tsri_gen *g) {
  const struct tsri_spec *s = g->s;
  struct tsri_stack t = {.prefix = "encoder.",
                         .layers = s->enc_layers,
                         .heads = s->enc_heads,
                         .kv_heads = s->enc_kv_heads,
                         .ffn = s->enc_ffn,
                         .tokens = s->enc_sequence,
                         .keys = s->enc_sequence};
  const size_t *cross_at = NULL;
  if (s->phase != TSRI_DECODE) {
    (void)snprintf(g->prefix, sizeof g->prefix, "encoder.");
    struct tsri_from x = embed(g, s->image || s->frames, s->enc_sequence);
    cross_at = cross_kv(g, tsri_gen_stack(g, &t, x));
  }
  if (s->phase == TSRI_ENCODE) return;
  t = (struct tsri_stack){.prefix = "decoder.",
                          .layers = s->layers,
                          .heads = s->heads,
                          .kv_heads = s->kv_heads,
                          .ffn = s->ffn,
                          .tokens = s->sequence,
                          .keys = s->context,
                          .causal = true,
                          .cross = true,
                          .cross_keys = s->enc_sequence,
                          .cross_at = cross_at};
  (void)snprintf(g->prefix, sizeof g->prefix, "decoder.");
  heads(g, s->sequence, tsri_gen_stack(g, &t, embed(g, false, s->sequence)));
}

void tsri_gen_transformer(struct tsri_gen *g) {
  if (g->s->kind == TSRI_ENCODER_DECODER)
    two_stacks(g);
  else
    one_stack(g);
}
