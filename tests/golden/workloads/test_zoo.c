/* The zoo against what made it, against independent layer lists and totals, and
 * against published counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/io.h"
#include "workloads/graph.h"
#include "workloads/spec/spec.h"
#include "workloads/zoo/generate.h"

/* The list of the same network, written independently with repeated layers
 * counted, and its row of workload_totals.csv; batched totals where there are. */
static const struct {
  const char *name, *list;
  struct {
    uint64_t batch;
    const char *totals;
  } batched[2];
} nets[] = {
    {"resnet50", "resnet50_v1.5_b1", {{32, "resnet50_v1.5_b32"}, {0}}},
    {"mobilenetv2", "mobilenetv2_b1", {{0}, {0}}},
    {"bert-base-s128", "bert_base_s128_b1", {{0}, {0}}},
    {"bert-base-s384", "bert_base_s384_b1", {{0}, {0}}},
    {"vit-b16", "vit_b16_b1", {{0}, {0}}},
    {"gpt2-prefill-1024", "gpt2_124m_prefill_1024_b1", {{0}, {0}}},
    {"llama2-7b-prefill-512", "llama2_7b_prefill_s512_b1", {{0}, {0}}},
    {"llama2-7b-prefill-2048", "llama2_7b_prefill_s2048_b1", {{0}, {0}}},
    {"llama2-7b-decode-2048",
     "llama2_7b_decode_ctx2048_b1",
     {{16, "llama2_7b_decode_ctx2048_b16"}, {64, "llama2_7b_decode_ctx2048_b64"}}},
    {"dlrm", "dlrm_v1_b1", {{128, "dlrm_v1_b128"}, {2048, "dlrm_v1_b2048"}}},
    {"mixtral-8x7b-decode-2048",
     "mixtral_8x7b_decode_ctx2048_b1",
     {{64, "mixtral_8x7b_decode_ctx2048_b64"}, {0}}},
    {"whisper-large-v3-encode", "whisper_large_v3_encode_b1", {{0}, {0}}},
    {"whisper-large-v3-decode", "whisper_large_v3_decode_b1", {{0}, {0}}},
};
enum { NETS = sizeof nets / sizeof nets[0] };

static struct tsr_graph *must_read(const char *what, uint64_t batch) {
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_workload_read(what, &(struct tsr_workload_options){.batch = batch}, &g, &err))
    fail_msg("%s: %s", what, err.msg[0]);
  if (err.warnings) fail_msg("%s: %s", what, err.warn);
  tsr_err_fini(&err);
  return g;
}

static struct tsr_graph *read_list(const char *list) {
  char *path = tsr_mem_printf("%s/workloads/%s.csv", TSR_TEST_DATA, list);
  struct tsr_graph *g = must_read(path, 0);
  tsr_mem_free(path);
  return g;
}

static char *read_file(const char *path) {
  char *text = NULL;
  size_t len = 0;
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_io_read(path, &text, &len, &err)) fail_msg("%s", err.msg[0]);
  return text;
}

static bool in_the_zoo(const char *name) {
  for (size_t i = 0; i < tsr_zoo_count(); i++)
    if (strcmp(tsr_zoo_name(i), name) == 0) return true;
  return false;
}

static void the_lists_are_what_the_generator_makes(void **state) {
  (void)state;
  for (size_t i = 0; i < tsri_zoo_make_count(); i++) {
    const char *name = tsri_zoo_make_name(i);
    assert_true(in_the_zoo(name));
    struct tsr_str made = TSR_STR_INIT;
    tsri_zoo_make_text(i, &made);
    char *text = tsr_str_take(&made);
    char *path = tsr_mem_printf("%s/%s.csv", TSR_ZOO_DIR, name);
    char *file = read_file(path);
    assert_string_equal(file, text);
    assert_string_equal(tsr_zoo_text(name), text);
    tsr_mem_free(path);
    tsr_mem_free(file);
    tsr_mem_free(text);
  }
}

/* What no generator makes is a specification, and each network has its text and its name. */
static void the_rest_are_specifications(void **state) {
  (void)state;
  size_t specs = 0;
  for (size_t i = 0; i < tsr_zoo_count(); i++) {
    const char *name = tsr_zoo_name(i), *text = tsr_zoo_text(name);
    assert_non_null(text);
    assert_true(strlen(tsr_zoo_doc(i)) > 0);
    struct tsr_graph *g = must_read(name, 0);
    assert_string_equal(g->name, name);
    assert_string_equal(g->text, text);
    tsr_graph_destroy(g);
    specs += tsr_spec_is(text, strlen(text));
  }
  assert_int_equal(specs + tsri_zoo_make_count(), tsr_zoo_count());
  assert_null(tsr_zoo_text("resnet"));
  assert_null(tsr_zoo_text("resnet50.csv"));
  assert_null(tsr_zoo_text("dlrm.yaml"));
  assert_null(tsr_zoo_name(tsr_zoo_count()));
}

/* Totals in the sense of workload_totals.csv: independent matmuls, MACs, those
 * of attention, weights (B of every operator whose B is one). */
struct totals {
  uint64_t gemms, macs, attention_macs, weights;
};

static struct totals totals_of(const struct tsr_graph *g) {
  struct totals t = {0};
  for (size_t i = 0; i < g->n_ops; i++) {
    uint64_t macs, a, b, c;
    assert_true(tsr_op_macs(&g->ops[i], &macs));
    assert_true(tsr_op_elems(&g->ops[i], &a, &b, &c));
    t.gemms += g->ops[i].count;
    t.macs += macs;
    if (tsr_op_kind_b_is_weight(g->ops[i].kind))
      t.weights += b;
    else
      t.attention_macs += macs;
  }
  return t;
}

static void check_totals(const struct tsr_graph *g, const char *table, const char *row) {
  char key[128];
  snprintf(key, sizeof key, "\n%s,", row);
  const char *at = strstr(table, key);
  if (!at) fail_msg("no row %s", row);
  unsigned long long rows, gemms, macs, attention, weights;
  assert_int_equal(sscanf(at + strlen(key), "%llu,%llu,%llu,%llu,%llu", &rows, &gemms, &macs,
                          &attention, &weights),
                   5);
  struct totals t = totals_of(g);
  if (t.gemms != gemms || t.macs != macs || t.attention_macs != attention ||
      t.weights != weights)
    fail_msg("%s: %llu matmuls, %llu MACs, %llu of attention, %llu weights", row,
             (unsigned long long)t.gemms, (unsigned long long)t.macs,
             (unsigned long long)t.attention_macs, (unsigned long long)t.weights);
}

static void totals_are_exactly_those_of_the_table(void **state) {
  (void)state;
  char *table = read_file(TSR_TEST_DATA "/workloads/workload_totals.csv");
  for (size_t i = 0; i < NETS; i++) {
    struct tsr_graph *g = must_read(nets[i].name, 0);
    assert_string_equal(g->name, nets[i].name);
    check_totals(g, table, nets[i].list);
    struct totals t = totals_of(g);
    print_message("golden: zoo %s: %llu MACs, %llu weights\n", nets[i].name,
                  (unsigned long long)t.macs, (unsigned long long)t.weights);
    tsr_graph_destroy(g);
    g = read_list(nets[i].list);
    check_totals(g, table, nets[i].list);
    tsr_graph_destroy(g);
    for (size_t j = 0; j < 2 && nets[i].batched[j].batch; j++) {
      g = must_read(nets[i].name, nets[i].batched[j].batch);
      check_totals(g, table, nets[i].batched[j].totals);
      tsr_graph_destroy(g);
    }
  }
  tsr_mem_free(table);
}

struct shape {
  uint64_t kind, m, n, k;
};

static int shape_order(const void *a, const void *b) {
  const struct shape *x = a, *y = b;
  const uint64_t l[] = {x->kind, x->m, x->n, x->k}, r[] = {y->kind, y->m, y->n, y->k};
  for (size_t i = 0; i < 4; i++)
    if (l[i] != r[i]) return l[i] < r[i] ? -1 : 1;
  return 0;
}

/* One entry for each of the `count` matmuls, sorted. */
static struct shape *expanded(const struct tsr_graph *g, size_t *n) {
  *n = (size_t)totals_of(g).gemms;
  struct shape *s = tsr_mem_array(*n, sizeof *s);
  size_t at = 0;
  for (size_t i = 0; i < g->n_ops; i++)
    for (uint64_t c = 0; c < g->ops[i].count; c++)
      s[at++] = (struct shape){g->ops[i].kind, g->ops[i].m, g->ops[i].n, g->ops[i].k};
  qsort(s, *n, sizeof *s, shape_order);
  return s;
}

static void same_matmuls(const char *name, uint64_t batch, const char *list) {
  struct tsr_graph *a = must_read(name, batch), *b = read_list(list);
  size_t na, nb;
  struct shape *sa = expanded(a, &na), *sb = expanded(b, &nb);
  assert_int_equal(na, nb);
  if (memcmp(sa, sb, na * sizeof *sa) != 0) fail_msg("%s differs", name);
  tsr_mem_free(sa);
  tsr_mem_free(sb);
  tsr_graph_destroy(a);
  tsr_graph_destroy(b);
}

static void matmuls_are_those_of_the_lists_one_by_one(void **state) {
  (void)state;
  for (size_t i = 0; i < NETS; i++) same_matmuls(nets[i].name, 0, nets[i].list);
  /* Eight experts instead of two. */
  same_matmuls("mixtral-8x7b-decode-2048", 64, "mixtral_8x7b_decode_ctx2048_b64");
}

/* Networks that are not built in, by their hyper-parameters alone, against the table. */
#define LLAMA2_70B                                                                        \
  "version: 1\nkind: decoder\noperators: products\nlayers: 80\nhidden: 8192\nheads: 64\n" \
  "kv_heads: 8\nffn: 28672\nffn_kind: gated_fused\nqkv: fused\nvocab: 32000\n"
#define MIXTRAL                                                                           \
  "version: 1\nkind: decoder\noperators: products\nlayers: 32\nhidden: 4096\nheads: 32\n" \
  "kv_heads: 8\nffn: 14336\nffn_kind: gated\nexperts: 8\ntop_k: 2\nqkv: fused\nvocab: 32000\n"
#define WHISPER_BASE                                                                 \
  "version: 1\nkind: encoder_decoder\noperators: products\nlayers: 6\nhidden: 512\n" \
  "heads: 8\nffn: 2048\naudio: {mels: 80, frames: 3000}\n"
static const struct {
  const char *totals, *text;
} others[] = {
    {"llama2_70b_prefill_s2048_b1", LLAMA2_70B "sequence: 2048\n"},
    {"llama2_70b_decode_ctx2048_b64", LLAMA2_70B "phase: decode\ncontext: 2048\nbatch: 64\n"},
    {"llama3_8b_prefill_s512_b1",
     "version: 1\nkind: decoder\noperators: products\nlayers: 32\nhidden: 4096\nheads: 32\n"
     "kv_heads: 8\nffn: 14336\nffn_kind: gated_fused\nqkv: fused\nvocab: 128256\nsequence: "
     "512\n"},
    {"mixtral_8x7b_prefill_s2048_b1", MIXTRAL "sequence: 2048\n"},
    {"gpt2_124m_decode_1024_b1",
     "version: 1\nkind: decoder\noperators: products\nlayers: 12\nhidden: 768\nheads: 12\n"
     "ffn: 3072\nqkv: fused\nvocab: 50257\nphase: decode\ncontext: 1024\n"},
    /* two logits for each token, where an answer starts and ends */
    {"bert_large_s384_b1",
     "version: 1\nkind: encoder\noperators: products\nlayers: 24\nhidden: 1024\nheads: 16\n"
     "ffn: 4096\nsequence: 384\nvocab: 2\nlogits: all\n"},
    {"whisper_base_encode_b1", WHISPER_BASE "phase: encode\n"},
    {"whisper_base_decode_b1", WHISPER_BASE "phase: decode\ncontext: 448\nvocab: 51865\n"},
};

static void other_networks_have_the_totals_of_the_table(void **state) {
  (void)state;
  char *table = read_file(TSR_TEST_DATA "/workloads/workload_totals.csv");
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    struct tsr_graph *g = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    if (tsr_spec_read("t.yaml", others[i].text, strlen(others[i].text), 0, &g, &err))
      fail_msg("%s: %s", others[i].totals, err.msg[0]);
    check_totals(g, table, others[i].totals);
    tsr_graph_destroy(g);
  }
  tsr_mem_free(table);
}

/* Published counts, rounded as published (0 = not published), and the parameters that are no
 * matrix of a matmul: normalisation, biases, embeddings, all from the
 * hyper-parameters. The sum must print as the published figure. */
static const struct {
  const char *name;
  double macs_g, macs_step;     /* in 10^9 */
  uint64_t rest;                /* parameters outside the matmuls */
  double params_m, params_step; /* in 10^6 */
} published[] = {
    /* 53 batch norms: 2 * 26560 channels; bias of the classifier. SRC:torchvision-resnet */
    {"resnet50", 4.09, 0.01, 2 * 26560 + 1000, 25.557, 0.001},
    /* 52 batch norms: 2 * 17056 channels; bias. SRC:torchvision-mobilenetv2 */
    {"mobilenetv2", 0.300, 0.01, 2 * 17056 + 1000, 3.505, 0.001},
    /* 25 layer norms; 12 layers of biases; patch and head biases; class token and
     * 197 positions. SRC:torchvision-vit */
    {"vit-b16", 17.56, 0.01,
     25 * 2 * 768 + 12 * (2304 + 768 + 3072 + 768) + 768 + 1000 + 198 * 768, 86.568, 0.001},
    /* 30522 words, 512 positions, 2 segments; 25 norms; biases; pooler bias. SRC:bert-config */
    {"bert-base-s384", 0, 0,
     (30522 + 512 + 2) * 768 + 25 * 2 * 768 + 12 * (2304 + 768 + 3072 + 768) + 768, 110, 1},
    /* Head tied to the embedding; 1024 positions; 25 norms; biases. SRC:gpt2-hparams */
    {"gpt2-prefill-1024", 0, 0, 1024 * 768 + 25 * 2 * 768 + 12 * (2304 + 768 + 3072 + 768),
     124.4, 0.1},
    /* Untied embedding of 32000 words; 65 RMS norms. SRC:llama2-config */
    {"llama2-7b-prefill-512", 0, 0, 32000 * 4096ull + 65 * 4096, 6738, 1},
    /* The six experts that one token does not touch; the embedding; 65 RMS norms.
     * SRC:mixtral-config */
    {"mixtral-8x7b-decode-2048", 0, 0,
     32ull * 6 * 3 * 4096 * 14336 + 32000 * 4096ull + 65 * 4096, 46703, 1},
    /* The decoder (its head tied to the embedding) but for the cross K and V, which are in the
     * encoder's list; 448 positions, 1500 of the
     * encoder; norms; biases, keys have none.  SRC:whisper */
    {"whisper-large-v3-encode", 0, 0,
     32 * (4 + 2 + 8) * 1280ull * 1280 + 51866 * 1280ull + (448 + 1500) * 1280 +
         (2 * 32 + 3 * 32 + 2) * 2 * 1280 + 32 * (3 + 5) * 1280 + 32 * (3 + 5) * 1280 +
         32 * 3 * 1280 + 2 * 1280,
     1543, 1},
};

static void counts_are_the_published_ones(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
    struct tsr_graph *g = must_read(published[i].name, 0);
    struct totals t = totals_of(g);
    double macs = (double)t.macs / 1e9, params = (double)(t.weights + published[i].rest) / 1e6;
    double dm = macs - published[i].macs_g, dp = params - published[i].params_m;
    if (published[i].macs_g > 0 &&
        (dm < -published[i].macs_step || dm > published[i].macs_step))
      fail_msg("%s: %f G MACs", published[i].name, macs);
    if (dp < -published[i].params_step || dp > published[i].params_step)
      fail_msg("%s: %f M parameters", published[i].name, params);
    tsr_graph_destroy(g);
  }
}

static size_t find(const struct tsr_graph *g, const char *name) {
  for (size_t i = 0; i < g->n_ops; i++)
    if (strcmp(g->ops[i].name, name) == 0) return i;
  fail_msg("no layer %s", name);
  return 0;
}

static const struct {
  const char *net, *layer, *after[2];
} edges[] = {
    {"resnet50", "conv1", {0}},
    {"resnet50", "layer1.0.conv1", {"conv1"}},
    {"resnet50", "layer1.0.downsample", {"conv1"}},
    {"resnet50", "layer1.0.conv3", {"layer1.0.conv2", "layer1.0.downsample"}},
    {"resnet50", "layer1.1.conv3", {"layer1.1.conv2", "layer1.0.conv3"}},
    {"resnet50", "layer4.0.downsample", {"layer3.5.conv3"}},
    {"resnet50", "fc", {"layer4.2.conv3"}},
    {"mobilenetv2", "features.3.project", {"features.3.dw", "features.2.project"}},
    {"mobilenetv2", "features.2.project", {"features.2.dw"}},
    {"mobilenetv2", "classifier", {"features.18"}},
    {"bert-base-s128", "layers.0.v_proj", {0}},
    {"bert-base-s128", "layers.0.attn_out", {"layers.0.attn_pv"}},
    {"bert-base-s128", "layers.3.attn_qk", {"layers.3.q_proj", "layers.3.k_proj"}},
    {"bert-base-s128", "layers.3.attn_pv", {"layers.3.attn_qk", "layers.3.v_proj"}},
    {"vit-b16", "layers.0.qkv", {"patch_embed"}},
    {"vit-b16", "layers.0.attn_out", {"layers.0.attn_pv", "patch_embed"}},
    {"llama2-7b-decode-2048", "layers.0.qkv", {0}},
    {"llama2-7b-decode-2048", "layers.31.o_proj", {"layers.31.attn_pv", "layers.30.down"}},
    {"llama2-7b-decode-2048", "lm_head", {"layers.31.down"}},
    {"dlrm", "top0", {"interaction", "bot2"}},
    {"mixtral-8x7b-decode-2048",
     "layers.0.experts.1.up",
     {"layers.0.o_proj", "layers.0.router"}},
    {"mixtral-8x7b-decode-2048",
     "lm_head",
     {"layers.31.experts.0.down", "layers.31.experts.1.down"}},
    {"whisper-large-v3-encode", "encoder.conv2", {"encoder.conv1"}},
    {"whisper-large-v3-encode", "decoder.layers.31.cross_v", {"encoder.layers.31.ffn2"}},
    {"whisper-large-v3-decode", "decoder.layers.0.cross_q", {"decoder.layers.0.attn_out"}},
};

static void dependencies_are_the_real_ones(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
    struct tsr_graph *g = must_read(edges[i].net, 0);
    const struct tsr_op *op = &g->ops[find(g, edges[i].layer)];
    size_t n = 0;
    for (; n < 2 && edges[i].after[n]; n++) {
      assert_true(n < op->n_after);
      assert_string_equal(g->ops[op->after[n]].name, edges[i].after[n]);
    }
    assert_int_equal(op->n_after, n);
    tsr_graph_destroy(g);
  }
}

/* What Whisper's encoder leaves for its decoder. */
static bool is_result(const char *name) {
  return strstr(name, ".cross_k") != NULL || strstr(name, ".cross_v") != NULL;
}

/* Every operator but the last is read by another, and every convolution that
 * another convolution reads has as many channels as that one takes. */
static void every_result_is_read_and_channels_fit(void **state) {
  (void)state;
  for (size_t i = 0; i < NETS; i++) {
    struct tsr_graph *g = must_read(nets[i].name, 0);
    bool *used = tsr_mem_array(g->n_ops, sizeof *used);
    for (size_t j = 0; j < g->n_ops; j++) {
      const struct tsr_op *op = &g->ops[j];
      for (size_t a = 0; a < op->n_after; a++) used[op->after[a]] = true;
      if (!op->has_conv || op->n_after == 0) continue;
      assert_int_equal(g->ops[op->after[0]].conv.out_c, op->conv.in_c);
    }
    for (size_t j = 0; j + 1 < g->n_ops; j++)
      if (!used[j] && !is_result(g->ops[j].name))
        fail_msg("%s: nothing reads %s", nets[i].name, g->ops[j].name);
    tsr_mem_free(used);
    tsr_graph_destroy(g);
  }
}

/* The networks with every operator: MACs and matrix weights of the same layers in the
 * independent list (table row, and how many of its layers one stands for), or by the formula.
 */
static const struct {
  const char *name;
  size_t ops;
  uint64_t macs, weights; /* of matmuls */
} blocks[] = {
    /* bert_base_s128_b1: 12 layers and a pooler of 768 * 768 */
    {"transformer-block", 11, (11174215680 - 768 * 768) / 12, (85524480 - 768 * 768) / 12},
    /* router; 256 rows through two matrices of 512 * 2048; 8 experts */
    {"mlp-moe", 5 + 16 + 2, 128 * 8 * 512 + 2ull * 256 * 512 * 2048,
     8 * 512 + 8 * 2ull * 512 * 2048},
    /* 27 * 27 * 128 of the interaction, the rest once for each weight */
    {"dlrm-full", 3 + 26 + 4 + 5, 2365184 + 27 * 27 * 128,
     13 * 512 + 512 * 256 + 256 * 128 + 479 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 +
         256},
    {"cnn-block", 7, 112ull * 112 * 64 * 147 + 2 * 56ull * 56 * 64 * 576 + 64 * 1000,
     64 * 147 + 2 * 64 * 576 + 64 * 1000},
};
enum { BLOCKS = sizeof blocks / sizeof blocks[0] };

static void blocks_hold_the_matmuls_of_their_networks(void **state) {
  (void)state;
  for (size_t i = 0; i < BLOCKS; i++) {
    struct tsr_graph *g = must_read(blocks[i].name, 0);
    uint64_t macs = 0, weights = 0;
    for (size_t j = 0; j < g->n_ops; j++) {
      uint64_t m, a, b, c;
      assert_true(tsr_op_macs(&g->ops[j], &m) && tsr_op_elems(&g->ops[j], &a, &b, &c));
      macs += m;
      if (m && tsr_op_b_is_weight(&g->ops[j])) weights += b;
    }
    assert_int_equal(g->n_ops, blocks[i].ops);
    if (macs != blocks[i].macs || weights != blocks[i].weights)
      fail_msg("%s: %llu MACs, %llu weights", blocks[i].name, (unsigned long long)macs,
               (unsigned long long)weights);
    tsr_graph_destroy(g);
  }
}

/* What a residual adds: the layer of this name, "" for the model's input. */
static const struct {
  const char *net, *layer;
  size_t step;
  const char *from;
} residuals[] = {
    {"transformer-block", "attn_out", 1, ""},
    {"transformer-block", "ffn2", 1, "attn_norm"},
    {"cnn-block", "conv2b", 1, "maxpool"},
};

static void residuals_come_from_the_right_layer(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof residuals / sizeof residuals[0]; i++) {
    struct tsr_graph *g = must_read(residuals[i].net, 0);
    const struct tsr_op *op = &g->ops[find(g, residuals[i].layer)];
    size_t source = 0;
    assert_int_equal(op->step[residuals[i].step].kind, TSR_OP_ADD);
    assert_true(tsr_op_step_source(op, residuals[i].step, &source));
    assert_string_equal(source == SIZE_MAX ? "" : g->ops[source].name, residuals[i].from);
    tsr_graph_destroy(g);
  }
}

/* Where the first operand is another operator's result, it has as many elements as that.
 * A result that several read in part (the experts' rows) or that is one part of several
 * (concat, the experts' sum) is left out. */
static void results_have_the_size_of_what_reads_them(void **state) {
  (void)state;
  for (size_t i = 0; i < BLOCKS; i++)
    for (uint64_t batch = 1; batch <= 3; batch++) {
      struct tsr_graph *g = must_read(blocks[i].name, batch);
      bool *used = tsr_mem_array(g->n_ops, sizeof *used);
      size_t checked = 0;
      for (size_t j = 0; j < g->n_ops; j++) {
        const struct tsr_op *op = &g->ops[j];
        for (size_t a = 0; a < op->n_after; a++) used[op->after[a]] = true;
        bool partly = op->kind == TSR_OP_CONCAT || op->kind == TSR_OP_MOE_SCATTER ||
                      (op->n_after && g->ops[op->after[0]].kind == TSR_OP_MOE_GATHER);
        if (op->n_after == 0 || partly) continue;
        uint64_t a, b, c, from_a, from_b, made;
        assert_true(tsr_op_elems(op, &a, &b, &c));
        assert_true(tsr_op_elems(&g->ops[op->after[0]], &from_a, &from_b, &made));
        if (a != made)
          fail_msg("%s: %s reads %llu of %llu", blocks[i].name, op->name, (unsigned long long)a,
                   (unsigned long long)made);
        checked++;
      }
      assert_true(checked >= 4);
      for (size_t j = 0; j + 1 < g->n_ops; j++)
        if (!used[j]) fail_msg("%s: nothing reads %s", blocks[i].name, g->ops[j].name);
      tsr_mem_free(used);
      tsr_graph_destroy(g);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_lists_are_what_the_generator_makes),
      cmocka_unit_test(the_rest_are_specifications),
      cmocka_unit_test(totals_are_exactly_those_of_the_table),
      cmocka_unit_test(matmuls_are_those_of_the_lists_one_by_one),
      cmocka_unit_test(other_networks_have_the_totals_of_the_table),
      cmocka_unit_test(counts_are_the_published_ones),
      cmocka_unit_test(dependencies_are_the_real_ones),
      cmocka_unit_test(every_result_is_read_and_channels_fit),
      cmocka_unit_test(blocks_hold_the_matmuls_of_their_networks),
      cmocka_unit_test(residuals_come_from_the_right_layer),
      cmocka_unit_test(results_have_the_size_of_what_reads_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
