/* Networks with every operator: what each key puts into the graph, and that results have the
 * size of what reads them. */
#include <stdlib.h>

#include "sim/base/str.h"
#include "tests/unit/spec/spec_test.h"

#define TINY "version: 1\nkind: decoder\nlayers: 1\nhidden: 8\nheads: 4\nffn: 12\nsequence: 3\n"
#define TINY_E "version: 1\nkind: encoder\nlayers: 1\nhidden: 8\nheads: 4\nffn: 12\n"
#define TINY_B                                                                              \
  "version: 1\nkind: encoder_decoder\nlayers: 1\nhidden: 8\nheads: 4\nffn: 12\nvocab: 20\n" \
  "encoder: {layers: 2, sequence: 5}\n"

/* An operator as a line: name kind MxNxK/count(after)+steps. */
static void line(const struct tsr_graph *g, const struct tsr_op *op, struct tsr_str *s) {
  tsr_str_addf(s, "%s %s %llux%llux%llu/%llu(", op->name, tsr_op_kind_name(op->kind),
               (unsigned long long)op->m, (unsigned long long)op->n, (unsigned long long)op->k,
               (unsigned long long)op->count);
  for (size_t i = 0; i < op->n_after; i++)
    tsr_str_addf(s, "%s%s", i ? " " : "", g->ops[op->after[i]].name);
  tsr_str_add(s, ")");
  for (size_t i = 0; i < op->n_steps; i++)
    tsr_str_addf(s, "+%s", tsr_op_kind_name(op->step[i].kind));
}

static const struct {
  const char *what, *text;
  const char *lines[32];
} rows[] = {
    {"a decoder with words",
     TINY "kv_heads: 2\nvocab: 20\nnorm: rmsnorm\nffn_kind: gated\npositions: rope\n",
     {"embed embedding 3x8x1/1()", "layers.0.attn_norm rmsnorm 3x8x1/1(embed)",
      "layers.0.q_proj linear 3x8x8/1(layers.0.attn_norm)",
      "layers.0.k_proj linear 3x4x8/1(layers.0.attn_norm)",
      "layers.0.v_proj linear 3x4x8/1(layers.0.attn_norm)",
      "layers.0.q_rope rope 3x2x1/4(layers.0.q_proj)",
      "layers.0.k_rope rope 3x2x1/2(layers.0.k_proj)",
      "layers.0.attn_qk attn_qk 3x3x2/4(layers.0.q_rope layers.0.k_rope)",
      "layers.0.softmax softmax 3x3x1/4(layers.0.attn_qk)",
      "layers.0.attn_pv attn_pv 3x2x3/4(layers.0.softmax layers.0.v_proj)",
      "layers.0.o_proj linear 3x8x8/1(layers.0.attn_pv embed)+add",
      "layers.0.ffn_norm rmsnorm 3x8x1/1(layers.0.o_proj)",
      "layers.0.gate linear 3x12x8/1(layers.0.ffn_norm)+silu",
      "layers.0.up linear 3x12x8/1(layers.0.ffn_norm layers.0.gate)+mul",
      "layers.0.down linear 3x8x12/1(layers.0.up layers.0.o_proj)+add",
      "final_norm rmsnorm 3x8x1/1(layers.0.down)", "lm_head linear 1x20x8/1(final_norm)"}},
    {"attention as one operator, fused projections, a cache",
     TINY "context: 9\nqkv: fused\nattention: fused\nnorm: none\nlogits: none\nvocab: 20\n"
          "embedding: false\nbias: qkv\nactivation: none\n",
     {"layers.0.qkv linear 3x24x8/1()+bias",
      "layers.0.attention attention 3x9x2/4(layers.0.qkv)",
      "layers.0.o_proj linear 3x8x8/1(layers.0.attention)+add",
      "layers.0.ffn1 linear 3x12x8/1(layers.0.o_proj)",
      "layers.0.ffn2 linear 3x8x12/1(layers.0.ffn1 layers.0.o_proj)+add"}},
    {"steps on their own",
     TINY "qkv: fused\nattention: fused\nnorm: none\nbias: all\nactivation: relu\n"
          "epilogue: separate\nhead_dim: 3\n",
     {"layers.0.qkv linear 3x36x8/1()", "layers.0.qkv.bias bias 3x36x1/1(layers.0.qkv)",
      "layers.0.attention attention 3x3x3/4(layers.0.qkv.bias)",
      "layers.0.o_proj linear 3x8x12/1(layers.0.attention)",
      "layers.0.o_proj.bias bias 3x8x1/1(layers.0.o_proj)",
      "layers.0.o_proj.add add 3x8x1/1(layers.0.o_proj.bias)",
      "layers.0.ffn1 linear 3x12x8/1(layers.0.o_proj.add)",
      "layers.0.ffn1.bias bias 3x12x1/1(layers.0.ffn1)",
      "layers.0.ffn1.relu relu 3x12x1/1(layers.0.ffn1.bias)",
      "layers.0.ffn2 linear 3x8x12/1(layers.0.ffn1.relu)",
      "layers.0.ffn2.bias bias 3x8x1/1(layers.0.ffn2)",
      "layers.0.ffn2.add add 3x8x1/1(layers.0.ffn2.bias layers.0.o_proj.add)"}},
    {"an encoder with positions, norms behind, two heads",
     TINY_E "sequence: 3\nnorm_at: after\npositions: learned\nvocab: 20\nqkv: fused\n"
            "attention: fused\nactivation: gelu_tanh\npooler: true\nclasses: 6\n",
     {"embed embedding 3x8x1/1()", "positions add 3x8x1/1(embed)",
      "embed_norm layernorm 3x8x1/1(positions)", "layers.0.qkv linear 3x24x8/1(embed_norm)",
      "layers.0.attention attention 3x3x2/4(layers.0.qkv)",
      "layers.0.attn_out linear 3x8x8/1(layers.0.attention embed_norm)+add",
      "layers.0.attn_norm layernorm 3x8x1/1(layers.0.attn_out)",
      "layers.0.ffn1 linear 3x12x8/1(layers.0.attn_norm)+gelu_tanh",
      "layers.0.ffn2 linear 3x8x12/1(layers.0.ffn1 layers.0.attn_norm)+add",
      "layers.0.ffn_norm layernorm 3x8x1/1(layers.0.ffn2)",
      "pooler linear 1x8x8/1(layers.0.ffn_norm)+tanh", "head linear 1x6x8/1(pooler)"}},
    {"an image without a class token, at a batch of two",
     TINY_E "image: {size: 6, patch: 2, channels: 1, class_token: false}\nnorm: none\n"
            "qkv: fused\nattention: fused\nbatch: 2\n",
     {"patch_embed conv 18x8x4/1()", "layers.0.qkv linear 18x24x8/1(patch_embed)",
      "layers.0.attention attention 9x9x2/8(layers.0.qkv)",
      "layers.0.attn_out linear 18x8x8/1(layers.0.attention patch_embed)+add",
      "layers.0.ffn1 linear 18x12x8/1(layers.0.attn_out)+gelu",
      "layers.0.ffn2 linear 18x8x12/1(layers.0.ffn1 layers.0.attn_out)+add"}},
    {"both stacks in one graph",
     TINY_B "sequence: 3\noperators: products\nqkv: fused\nattention: fused\nlogits: all\n",
     {"encoder.layers.0.qkv linear 5x24x8/1()",
      "encoder.layers.0.attention attention 5x5x2/4(encoder.layers.0.qkv)",
      "encoder.layers.0.attn_out linear 5x8x8/1(encoder.layers.0.attention)",
      "encoder.layers.0.ffn1 linear 5x12x8/1(encoder.layers.0.attn_out)",
      "encoder.layers.0.ffn2 linear 5x8x12/1(encoder.layers.0.ffn1 encoder.layers.0.attn_out)",
      "encoder.layers.1.qkv linear 5x24x8/1(encoder.layers.0.ffn2)",
      "encoder.layers.1.attention attention 5x5x2/4(encoder.layers.1.qkv)",
      "encoder.layers.1.attn_out linear 5x8x8/1(encoder.layers.1.attention "
      "encoder.layers.0.ffn2)",
      "encoder.layers.1.ffn1 linear 5x12x8/1(encoder.layers.1.attn_out)",
      "encoder.layers.1.ffn2 linear 5x8x12/1(encoder.layers.1.ffn1 encoder.layers.1.attn_out)",
      "decoder.layers.0.cross_k linear 5x8x8/1(encoder.layers.1.ffn2)",
      "decoder.layers.0.cross_v linear 5x8x8/1(encoder.layers.1.ffn2)",
      "decoder.layers.0.qkv linear 3x24x8/1()",
      "decoder.layers.0.attention attention 3x3x2/4(decoder.layers.0.qkv)",
      "decoder.layers.0.attn_out linear 3x8x8/1(decoder.layers.0.attention)",
      "decoder.layers.0.cross_q linear 3x8x8/1(decoder.layers.0.attn_out)",
      "decoder.layers.0.cross_attention attention 3x5x2/4(decoder.layers.0.cross_q "
      "decoder.layers.0.cross_k decoder.layers.0.cross_v)",
      "decoder.layers.0.cross_out linear 3x8x8/1(decoder.layers.0.cross_attention "
      "decoder.layers.0.attn_out)",
      "decoder.layers.0.ffn1 linear 3x12x8/1(decoder.layers.0.cross_out)",
      "decoder.layers.0.ffn2 linear 3x8x12/1(decoder.layers.0.ffn1 "
      "decoder.layers.0.cross_out)",
      "lm_head linear 3x20x8/1(decoder.layers.0.ffn2)"}},
    {"audio, the encoder alone",
     "version: 1\nkind: encoder_decoder\nlayers: 1\nhidden: 8\nheads: 4\nffn: 12\n"
     "encoder: {heads: 2, ffn: 7}\naudio: {mels: 3, frames: 9}\nphase: encode\nnorm: none\n"
     "qkv: fused\nattention: fused\nbias: all\n",
     {"encoder.conv1 conv 9x8x9/1()+bias+gelu",
      "encoder.conv2 conv 5x8x24/1(encoder.conv1)+bias+gelu",
      "encoder.layers.0.qkv linear 5x12x8/1(encoder.conv2)+bias"}},
    {"experts that have uneven rows",
     TINY "experts: 4\ntop_k: 2\noperators: products\nqkv: fused\nattention: fused\n",
     {"layers.0.qkv linear 3x24x8/1()", "layers.0.attention attention 3x3x2/4(layers.0.qkv)",
      "layers.0.o_proj linear 3x8x8/1(layers.0.attention)",
      "layers.0.router linear 3x4x8/1(layers.0.o_proj)",
      "layers.0.experts.0.up moe_linear 2x12x8/1(layers.0.o_proj layers.0.router)",
      "layers.0.experts.0.down moe_linear 2x8x12/1(layers.0.experts.0.up layers.0.o_proj)",
      "layers.0.experts.1.up moe_linear 2x12x8/1(layers.0.o_proj layers.0.router)",
      "layers.0.experts.1.down moe_linear 2x8x12/1(layers.0.experts.1.up layers.0.o_proj)",
      "layers.0.experts.2.up moe_linear 1x12x8/1(layers.0.o_proj layers.0.router)",
      "layers.0.experts.2.down moe_linear 1x8x12/1(layers.0.experts.2.up layers.0.o_proj)",
      "layers.0.experts.3.up moe_linear 1x12x8/1(layers.0.o_proj layers.0.router)"}},
    {"tables side by side",
     "version: 1\nkind: dlrm\ntables: 2\nrows: 9\nmax_rows: 7\nlookups: 3\nbottom: [3, 4]\n"
     "top: [1]\ninteraction: concat\nepilogue: separate\n",
     {"bot0 linear 1x4x3/1()", "bot0.bias bias 1x4x1/1(bot0)",
      "bot0.relu relu 1x4x1/1(bot0.bias)", "embedding.0 embedding 1x4x3/1()",
      "embedding.1 embedding 1x4x3/1()",
      "features concat 1x12x1/1(bot0.relu embedding.0 embedding.1)",
      "top0 linear 1x1x12/1(features)", "top0.bias bias 1x1x1/1(top0)",
      "top0.sigmoid sigmoid 1x1x1/1(top0.bias)"}},
};

static void keys_put_operators_into_the_graph(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tsr_graph *g = must_spec(rows[i].text, 0);
    for (size_t j = 0; rows[i].lines[j]; j++) {
      struct tsr_str s = TSR_STR_INIT;
      if (j >= g->n_ops) fail_msg("%s: no %s", rows[i].what, rows[i].lines[j]);
      line(g, &g->ops[j], &s);
      if (strcmp(s.p, rows[i].lines[j]) != 0)
        fail_msg("%s:\n%s, expected\n%s", rows[i].what, s.p, rows[i].lines[j]);
      tsr_str_fini(&s);
    }
    tsr_graph_destroy(g);
  }
}

/* The first operand of each operator is as large as what makes it, but where one token of many
 * is read, several share a result, or one is part of a sum. */
static void results_have_the_size_of_what_reads_them(void **state) {
  (void)state;
  static const char *const texts[] = {
      TINY "vocab: 9\npositions: rope\nffn_kind: gated\nbias: all\nlogits: all\n",
      TINY "vocab: 9\nexperts: 4\ntop_k: 2\nffn_kind: gated\nepilogue: separate\nlogits: all\n",
      TINY_E "sequence: 4\nnorm_at: after\nattention: fused\nbias: all\nepilogue: separate\n",
      TINY_B "sequence: 3\nlogits: all\nbias: qkv\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    for (uint64_t batch = 1; batch < 4; batch++) {
      struct tsr_graph *g = must_spec(texts[i], batch);
      size_t checked = 0;
      assert_int_equal(g->batch, batch);
      for (size_t j = 0; j < g->n_ops; j++) {
        const struct tsr_op *op = &g->ops[j];
        uint64_t a, b, c, from_a, from_b, made;
        bool partly = op->kind == TSR_OP_MOE_SCATTER ||
                      (op->n_after && g->ops[op->after[0]].kind == TSR_OP_MOE_GATHER);
        if (op->n_after == 0 || partly) continue;
        assert_true(tsr_op_elems(op, &a, &b, &c));
        assert_true(tsr_op_elems(&g->ops[op->after[0]], &from_a, &from_b, &made));
        if (a != made)
          fail_msg("%s reads %llu of %llu", op->name, (unsigned long long)a,
                   (unsigned long long)made);
        checked++;
      }
      assert_true(checked >= 8);
      tsr_graph_destroy(g);
    }
}

static void names_come_from_the_text_or_the_file(void **state) {
  (void)state;
  static const char bare[] = TINY, named[] = TINY "name: mine\n";
  static const struct {
    const char *path, *text, *name;
  } names[] = {{"a/b.c/net.yaml", bare, "net"},
               {"net.yml", bare, "net"},
               {".yaml", bare, ".yaml"},
               {"./net.yaml", named, "mine"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct tsr_graph *g = must_read(names[i].path, names[i].text, 0);
    assert_string_equal(g->name, names[i].name);
    assert_string_equal(g->text, names[i].text);
    tsr_graph_destroy(g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(keys_put_operators_into_the_graph),
                                     cmocka_unit_test(results_have_the_size_of_what_reads_them),
                                     cmocka_unit_test(names_come_from_the_text_or_the_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
