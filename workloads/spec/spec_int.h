/* What the files of this folder share: the values of a specification, and the generator that
 * appends operators to a graph under construction.
 *
 * The generator is sticky: after the first failure it does nothing more, so that callers need
 * no check between operators; `st` has the failure. */
#ifndef TSR_WORKLOADS_SPEC_SPEC_INT_H
#define TSR_WORKLOADS_SPEC_SPEC_INT_H

#include "sim/config/param.h"
#include "sim/config/tree.h"
#include "workloads/build.h"
#include "workloads/spec/spec.h"

enum tsri_kind { TSRI_DECODER, TSRI_ENCODER, TSRI_ENCODER_DECODER, TSRI_DLRM };
enum tsri_operators { TSRI_PRODUCTS, TSRI_ALL };
enum tsri_epilogue { TSRI_FUSED, TSRI_SEPARATE };
enum tsri_phase { TSRI_PREFILL, TSRI_DECODE, TSRI_ENCODE };
enum tsri_qkv { TSRI_QKV_SPLIT, TSRI_QKV_FUSED };
enum tsri_attention { TSRI_MATMULS, TSRI_ATTENTION };
enum tsri_ffn { TSRI_PLAIN, TSRI_GATED, TSRI_GATED_FUSED };
enum tsri_norm { TSRI_NO_NORM, TSRI_LAYERNORM, TSRI_RMSNORM };
enum tsri_norm_at { TSRI_BEFORE, TSRI_AFTER };
enum tsri_activation { TSRI_NO_ACTIVATION, TSRI_RELU, TSRI_GELU, TSRI_GELU_TANH, TSRI_SILU };
enum tsri_positions { TSRI_NO_POSITIONS, TSRI_ROPE, TSRI_LEARNED };
enum tsri_bias { TSRI_NO_BIAS, TSRI_BIAS_QKV, TSRI_BIAS_ALL };
enum tsri_logits { TSRI_NO_LOGITS, TSRI_LAST, TSRI_EVERY };
enum tsri_interaction { TSRI_DOT, TSRI_CONCAT };

struct tsri_list { /* of numbers, in the graph's arena */
  uint64_t *v;
  size_t n;
};

struct tsri_spec {
  uint64_t version, batch;
  char name[TSR_PARAM_NAME_MAX];
  int kind, operators, epilogue;
  /* transformers */
  uint64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, experts, top_k;
  uint64_t sequence, context, classes;
  int phase, qkv, attention, ffn_kind, norm, norm_at, activation, positions, bias, logits;
  int routing;
  double eps;
  bool embedding, pooler, class_token;
  uint64_t enc_layers, enc_heads, enc_kv_heads, enc_ffn, enc_sequence;
  uint64_t image, patch, channels, mels, frames;
  /* dlrm */
  struct tsri_list tables, bottom, top;
  uint64_t rows, max_rows, lookups;
  int interaction;
  /* given in the text, by the place of the row in its table */
  const struct tsr_param *table;
  bool *seen;
  const struct tsr_node *root;
};

/* keys.c: reads the tree into *s, with defaults and rules; lists go into the arena. */
enum tsr_status tsri_spec_keys(struct tsr_arena *a, const struct tsr_node *root,
                               struct tsri_spec *s, struct tsr_err *err);
/* A row of this key was in the text. */
bool tsri_spec_has(const struct tsri_spec *s, const char *key);
/* Where it was, else the text's start. */
const struct tsr_pos *tsri_spec_pos(const struct tsri_spec *s, const char *key);
/* The lists of kind dlrm (dlrm_keys.c). */
enum tsr_status tsri_spec_lists(struct tsr_arena *a, struct tsri_spec *s, struct tsr_err *err);

/* Operators that something reads: one, several whose sum it is (experts), or none, the input
 * of the model. */
struct tsri_from {
  const size_t *at;
  size_t n;
};

struct tsri_gen {
  const struct tsri_spec *s;
  struct tsr_build *b;
  struct tsr_err *err;
  enum tsr_status st;
  uint64_t batch;
  char prefix[40]; /* of names: `decoder.layers.17.` */
};

enum { TSRI_STEPS = 4 };
/* What a product is followed by: `with` is the other operand, n = 0 the model's input. */
struct tsri_step {
  enum tsr_op_kind kind;
  struct tsri_from with;
};

struct tsri_product {
  const char *part; /* of the name, behind the prefix */
  enum tsr_op_kind kind;
  uint64_t m, n, k, count;
  struct tsri_from from, second; /* second: where B comes from, n = 0: a weight or `from` */
  size_t n_steps;
  struct tsri_step step[TSRI_STEPS];
  bool batched;                /* m has the batch already */
  const struct tsr_conv *conv; /* its geometry, NULL: a matmul */
};

/* gen.c: copies of lists in the graph's arena. */
struct tsri_from tsri_gen_one(struct tsri_gen *g, size_t at);
struct tsri_from tsri_gen_join(struct tsri_gen *g, struct tsri_from a, struct tsri_from b);
/* Appends the operator `prefix part`, for the whole batch unless `batched`; its index. */
size_t tsri_gen_emit(struct tsri_gen *g, const char *part, struct tsr_op op,
                     struct tsri_from from, bool batched);
/* The same of an operator without products: m rows of n, k = 1. */
size_t tsri_gen_rows(struct tsri_gen *g, const char *part, enum tsr_op_kind kind, uint64_t m,
                     uint64_t n, struct tsri_from from);
/* A product and its steps: fused into it, as operators of their own, or (where products stand
 * alone) only as dependencies; index of what holds the result. */
size_t tsri_gen_product(struct tsri_gen *g, const struct tsri_product *p);
void tsri_gen_step(struct tsri_product *p, enum tsr_op_kind kind, struct tsri_from with);
/* Bias and activation where the specification has them. */
void tsri_gen_bias(const struct tsri_gen *g, struct tsri_product *p, bool qkv);
void tsri_gen_activation(const struct tsri_gen *g, struct tsri_product *p);
bool tsri_gen_all(const struct tsri_gen *g);

/* A stack of layers: encoder or decoder. */
struct tsri_stack {
  const char *prefix; /* "", `encoder.`, `decoder.` */
  uint64_t layers, heads, kv_heads, ffn, tokens, keys;
  bool causal, cross;
  uint64_t cross_keys;
  const size_t *cross_at; /* K and V of each layer; NULL: they are kept from before */
};
/* layers.c: appends the layers; what holds the result. */
struct tsri_from tsri_gen_stack(struct tsri_gen *g, const struct tsri_stack *t,
                                struct tsri_from x);
struct tsri_from tsri_gen_norm(struct tsri_gen *g, const char *part, uint64_t tokens,
                               struct tsri_from x);
/* experts.c: the feed-forward half as a mixture. */
struct tsri_from tsri_gen_experts(struct tsri_gen *g, const struct tsri_stack *t,
                                  struct tsri_from h, struct tsri_from residual);
/* transformer.c, dlrm.c: the whole graph. */
void tsri_gen_transformer(struct tsri_gen *g);
void tsri_gen_dlrm(struct tsri_gen *g);

#endif
