/* The hyper-parameters of the small networks, and the rows that follow from them. */
#include "workloads/zoo/blocks.h"

#include <stdio.h>

#include "sim/base/mem.h"

/* A row; 0 and NULL leave a column empty. */
struct row {
  const char *layer, *op;
  unsigned m, n, k, count;
  unsigned in_c, in, out_c, kernel, stride, pad; /* square; in_c 0: no geometry */
  unsigned experts;
  const char *eps, *epilogue, *after;
};

struct sheet {
  struct tsr_str *out;
  const char *model;
};

static void header(struct sheet *s) {
  tsr_str_add(s->out, "model,layer,op,M,N,K,count,notes,in_c,in_h,in_w,out_c,k_h,k_w,stride_h,"
                      "stride_w,pad_t,pad_l,pad_b,pad_r,experts,eps,epilogue,after\n");
}

static void number(struct sheet *s, unsigned v) {
  if (v) tsr_str_addf(s->out, "%u", v);
  tsr_str_add(s->out, ",");
}

static void text(struct sheet *s, const char *v, const char *end) {
  if (v) tsr_str_add(s->out, v);
  tsr_str_add(s->out, end);
}

static void add(struct sheet *s, struct row r) {
  tsr_str_addf(s->out, "%s,%s,%s,", s->model, r.layer, r.op);
  const unsigned v[] = {r.m,      r.n,   r.k,     r.count,  0,        r.in_c,
                        r.in,     r.in,  r.out_c, r.kernel, r.kernel, r.stride,
                        r.stride, r.pad, r.pad,   r.pad,    r.pad,    r.experts};
  for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) number(s, v[i]);
  text(s, r.eps, ",");
  text(s, r.epilogue, ",");
  text(s, r.after, "\n");
}

/* One encoder layer of BERT base, 128 tokens (SRC:bert-config).  The scores' 1/sqrt(64) is
 * part of the query weights. */
static void transformer_block(struct sheet *s) {
  enum { TOKENS = 128, D = 768, HEADS = 12, WIDTH = 64, FF = 3072 };
  const struct row rows[] = {
      {"q_proj", "linear", TOKENS, D, D, 1, .epilogue = "bias", .after = "-"},
      {"k_proj", "linear", TOKENS, D, D, 1, .epilogue = "bias", .after = "-"},
      {"v_proj", "linear", TOKENS, D, D, 1, .epilogue = "bias", .after = "-"},
      {"attn_qk", "attn_qk", TOKENS, TOKENS, WIDTH, HEADS, .after = "q_proj k_proj"},
      {"softmax", "softmax", TOKENS, TOKENS, 0, HEADS, .after = NULL},
      {"attn_pv", "attn_pv", TOKENS, WIDTH, TOKENS, HEADS, .after = "softmax v_proj"},
      /* the residual is the layer's input */
      {"attn_out", "linear", TOKENS, D, D, 1, .epilogue = "bias+residual"},
      {"attn_norm", "layernorm", TOKENS, D, .eps = "1e-12"},
      {"ffn1", "linear", TOKENS, FF, D, 1, .epilogue = "bias+gelu"},
      {"ffn2", "linear", TOKENS, D, FF, 1, .epilogue = "bias+residual",
       .after = "ffn1 attn_norm"},
      {"ffn_norm", "layernorm", TOKENS, D, .eps = "1e-12"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) add(s, rows[i]);
}

/* A mixture of experts in the manner of Mixtral, small (sizes SRC:assumed): each token goes to
 * 2 of 8 experts, which share the tokens evenly. */
static void mlp_moe(struct sheet *s) {
  enum {
    TOKENS = 128,
    D = 512,
    FF = 2048,
    EXPERTS = 8,
    TOP = 2,
    EACH = TOKENS * TOP / EXPERTS
  };
  const struct row before[] = {
      {"norm", "rmsnorm", TOKENS, D, .after = "-"},
      {"router", "linear", TOKENS, EXPERTS, D, 1, .after = "norm"},
      {"router_softmax", "softmax", TOKENS, EXPERTS, .after = NULL},
      {"router_topk", "topk", TOKENS, EXPERTS, TOP, .after = NULL},
      {"dispatch", "moe_gather", TOKENS * TOP, D, TOP, .experts = EXPERTS,
       .after = "norm router_topk"},
  };
  for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) add(s, before[i]);
  struct tsr_str downs = TSR_STR_INIT;
  for (unsigned e = 0; e < EXPERTS; e++) {
    char up[32], down[32];
    snprintf(up, sizeof up, "experts.%u.up", e);
    snprintf(down, sizeof down, "experts.%u.down", e);
    add(s, (struct row){up, "moe_linear", EACH, FF, D, 1, .epilogue = "silu",
                        .after = "dispatch"});
    add(s, (struct row){down, "moe_linear", EACH, D, FF, 1, .after = up});
    tsr_str_addf(&downs, "%s ", down);
  }
  tsr_str_add(&downs, "router_topk");
  char *after = tsr_str_take(&downs);
  s->out->failed |= after == NULL;
  add(s, (struct row){"combine", "moe_scatter", TOKENS, D, TOP, .experts = EXPERTS,
                      .after = after});
  /* the residual is the block's input */
  add(s, (struct row){"residual", "add", TOKENS, D, .after = NULL});
  tsr_mem_free(after);
}

/* The stem and the first block of ResNet-18, then its head (SRC:he2015). */
static void cnn_block(struct sheet *s) {
  enum { C = 64, CLASSES = 1000 };
  const struct row rows[] = {
      {"conv1", "conv", 0, 0, 0, 0, 3, 224, C, 7, 2, 3, .epilogue = "bias+relu", .after = "-"},
      {"maxpool", "maxpool", 0, 0, 0, 0, C, 112, 0, 3, 2, 1, .after = NULL},
      {"conv2a", "conv", 0, 0, 0, 0, C, 56, C, 3, 1, 1, .epilogue = "bias+relu"},
      {"conv2b", "conv", 0, 0, 0, 0, C, 56, C, 3, 1, 1, .epilogue = "bias+residual+relu",
       .after = "conv2a maxpool"},
      {"avgpool", "global_avgpool", 0, 0, 0, 0, C, 56, .after = NULL},
      {"fc", "linear", 1, CLASSES, C, 1, .epilogue = "bias"},
      {"softmax", "softmax", 1, CLASSES, .after = NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) add(s, rows[i]);
}

static const struct {
  const char *name;
  void (*make)(struct sheet *s);
} blocks[] = {
    {"transformer-block", transformer_block}, {"mlp-moe", mlp_moe}, {"cnn-block", cnn_block}};

size_t tsri_zoo_block_count(void) {
  return sizeof blocks / sizeof blocks[0];
}

const char *tsri_zoo_block_name(size_t i) {
  return blocks[i].name;
}

void tsri_zoo_block_text(size_t i, struct tsr_str *out) {
  struct sheet s = {out, blocks[i].name};
  header(&s);
  blocks[i].make(&s);
}
