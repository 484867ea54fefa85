/* One network by several routes: however it is written, each layer has the same name, sizes and
 * cycles.  And what the command line does with specifications. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/cli/tool.h"
#include "tests/support/models.h"
#include "workloads/exchange/graph_json.h"
#include "workloads/graph.h"
#include "workloads/net/net.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

/* Numbers are such that a float of a model holds them. */

/* Two layers of a small decoder with words: norms, softmax, a gated feed-forward part. */
#define DECODER_LAYER(l, x)                                                \
  "d," l ".attn_norm,rmsnorm,32,64,,,,9.5367431640625e-07,,," x "\n"       \
  "d," l ".q_proj,linear,32,64,64,1,,,,," l ".attn_norm\n"                 \
  "d," l ".k_proj,linear,32,32,64,1,,,,," l ".attn_norm\n"                 \
  "d," l ".v_proj,linear,32,32,64,1,,,,," l ".attn_norm\n"                 \
  "d," l ".attn_qk,attn_qk,32,32,16,4,,,,," l ".q_proj " l ".k_proj\n"     \
  "d," l ".softmax,softmax,32,32,,4,,,,," l ".attn_qk\n"                   \
  "d," l ".attn_pv,attn_pv,32,16,32,4,,,,," l ".softmax " l ".v_proj\n"    \
  "d," l ".o_proj,linear,32,64,64,1,,,residual,," l ".attn_pv " x "\n"     \
  "d," l ".ffn_norm,rmsnorm,32,64,,,,9.5367431640625e-07,,," l ".o_proj\n" \
  "d," l ".gate,linear,32,96,64,1,,,silu,," l ".ffn_norm\n"                \
  "d," l ".up,linear,32,96,64,1,,,mul,," l ".ffn_norm " l ".gate\n"        \
  "d," l ".down,linear,32,64,96,1,,,residual,," l ".up " l ".o_proj\n"

static const char decoder_csv[] =
    "model,layer,op,M,N,K,count,notes,eps,epilogue,table,after\n"
    "d,embed,embedding,32,64,1,,,,,100,-\n" DECODER_LAYER("layers.0", "embed") DECODER_LAYER(
        "layers.1", "layers.0.down") "d,final_norm,rmsnorm,32,64,,,,9.5367431640625e-07,,,\n"
                                     "d,lm_head,linear,1,100,64,1,,,,,\n";

static const char decoder_yaml[] =
    "version: 1\nname: d\nkind: decoder\nlayers: 2\nhidden: 64\nheads: 4\nkv_heads: 2\n"
    "ffn: 96\nffn_kind: gated\nnorm: rmsnorm\neps: 9.5367431640625e-07\nvocab: 100\nsequence: "
    "32\n";

/* The products of an encoder, as published lists have them. */
static const char encoder_csv[] = "model,layer,op,M,N,K,count,notes,after\n"
                                  "e,layers.0.qkv,linear,48,192,64,1,,-\n"
                                  "e,layers.0.attn_qk,attn_qk,48,48,32,2,,\n"
                                  "e,layers.0.attn_pv,attn_pv,48,32,48,2,,layers.0.attn_qk "
                                  "layers.0.qkv\n"
                                  "e,layers.0.attn_out,linear,48,64,64,1,,\n"
                                  "e,layers.0.ffn1,linear,48,256,64,1,,\n"
                                  "e,layers.0.ffn2,linear,48,64,256,1,,layers.0.ffn1 "
                                  "layers.0.attn_out\n"
                                  "e,pooler,linear,1,64,64,1,,\n";

static const char encoder_yaml[] =
    "version: 1\nname: e\nkind: encoder\noperators: products\nlayers: 1\nhidden: 64\nheads: 2\n"
    "ffn: 256\nqkv: fused\nsequence: 48\npooler: true\n";

/* An encoder with all of its operators. */
static const char whole_csv[] =
    "model,layer,op,M,N,K,count,notes,eps,epilogue,table,after\n"
    "w,embed,embedding,24,32,1,,,,,50,-\n"
    "w,embed_norm,layernorm,24,32,,,,7.62939453125e-06,,,\n"
    "w,layers.0.q_proj,linear,24,32,32,1,,,bias,,embed_norm\n"
    "w,layers.0.k_proj,linear,24,32,32,1,,,bias,,embed_norm\n"
    "w,layers.0.v_proj,linear,24,32,32,1,,,bias,,embed_norm\n"
    "w,layers.0.attn_qk,attn_qk,24,24,8,4,,,,,layers.0.q_proj layers.0.k_proj\n"
    "w,layers.0.softmax,softmax,24,24,,4,,,,,\n"
    "w,layers.0.attn_pv,attn_pv,24,8,24,4,,,,,layers.0.softmax layers.0.v_proj\n"
    "w,layers.0.attn_out,linear,24,32,32,1,,,bias+residual,,layers.0.attn_pv embed_norm\n"
    "w,layers.0.attn_norm,layernorm,24,32,,,,7.62939453125e-06,,,\n"
    "w,layers.0.ffn1,linear,24,64,32,1,,,bias+gelu,,\n"
    "w,layers.0.ffn2,linear,24,32,64,1,,,bias+residual,,layers.0.ffn1 layers.0.attn_norm\n"
    "w,layers.0.ffn_norm,layernorm,24,32,,,,7.62939453125e-06,,,\n"
    "w,pooler,linear,1,32,32,1,,,bias+tanh,,\n";

static const char whole_yaml[] =
    "version: 1\nname: w\nkind: encoder\nlayers: 1\nhidden: 32\nheads: 4\nffn: 64\n"
    "norm_at: after\neps: 7.62939453125e-06\nbias: all\nvocab: 50\nsequence: 24\npooler: "
    "true\n";

static const char cnn_csv[] =
    "model,layer,op,M,N,K,count,notes,in_c,in_h,in_w,out_c,k_h,k_w,stride_h,stride_w,"
    "pad_t,pad_l,pad_b,pad_r,groups,epilogue,after\n"
    "c,conv1,conv,,,,,,3,16,16,16,3,3,2,2,1,1,1,1,,bias+relu,-\n"
    "c,dw,dwconv,,,,,,16,8,8,16,3,3,1,1,1,1,1,1,16,\"bias+clip(0,6)\",\n"
    "c,project,conv,,,,,,16,8,8,16,1,1,1,1,0,0,0,0,,bias+residual+relu,dw conv1\n"
    "c,pool,maxpool,,,,,,16,8,8,,2,2,2,2,0,0,0,0,,,\n"
    "c,conv2,conv,,,,,,16,4,4,32,3,3,1,1,1,1,1,1,,bias+relu,\n"
    "c,gap,global_avgpool,,,,,,32,4,4,,,,,,,,,,,,\n"
    "c,fc,linear,1,10,32,1,,,,,,,,,,,,,,,bias,\n"
    "c,softmax,softmax,1,10,,,,,,,,,,,,,,,,,,\n";

static const char dlrm_csv[] =
    "model,layer,op,M,N,K,count,notes,epilogue,table,after\n"
    "r,bot0,linear,1,32,13,1,,bias+relu,,-\n"
    "r,bot1,linear,1,16,32,1,,bias+relu,,\n"
    "r,embedding.0,embedding,1,16,1,,,,40,-\n"
    "r,embedding.1,embedding,1,16,1,,,,30,-\n"
    "r,embedding.2,embedding,1,16,1,,,,20,-\n"
    "r,features,concat,1,64,,,,,,bot1 embedding.0 embedding.1 embedding.2\n"
    "r,interaction,bmm,4,4,16,1,,,,\n"
    "r,pairs,gather,6,1,,,,,16,\n"
    "r,top_input,concat,1,22,,,,,,bot1 pairs\n"
    "r,top0,linear,1,24,22,1,,bias+relu,,\n"
    "r,top1,linear,1,1,24,1,,bias+sigmoid,,\n";

static const char dlrm_yaml[] =
    "version: 1\nname: r\nkind: dlrm\nbottom: [13, 32, 16]\ntop: [24, 1]\n"
    "tables: [40, 30, 20]\n";

/* A file that says the network: this text, or what `make` writes. */
struct route {
  const char *path, *text;
  void (*make)(const char *path);
};

static const struct {
  const char *name;
  size_t layers;
  struct route routes[3]; /* each against the first; ends with path NULL */
} networks[] = {
    {"decoder",
     27,
     {{"./decoder.csv", decoder_csv, NULL},
      {"./decoder.yaml", decoder_yaml, NULL},
      {"./decoder.onnx", NULL, models_decoder}}},
    {"products of an encoder",
     7,
     {{"./encoder.csv", encoder_csv, NULL}, {"./encoder.yaml", encoder_yaml, NULL}}},
    {"encoder",
     14,
     {{"./whole.csv", whole_csv, NULL},
      {"./whole.yaml", whole_yaml, NULL},
      {"./whole.onnx", NULL, models_encoder}}},
    {"convolutions", 8, {{"./cnn.csv", cnn_csv, NULL}, {"./cnn.onnx", NULL, models_cnn}}},
    {"recommendation",
     11,
     {{"./dlrm.csv", dlrm_csv, NULL},
      {"./dlrm.yaml", dlrm_yaml, NULL},
      {"./dlrm.onnx", NULL, models_dlrm}}},
};

static const char *const machines[] = {"systolic-128", "dot-4x4", "mesh-16"};
static const char *const compared[] = {
    "name",   "op",           "m",        "n",           "k",
    "count",  "start_cycles", "kernel",   "mapping",     "format_a",
    "cycles", "stall_cycles", "stalls",   "utilization", "dram_read_bytes",
    "macs",   "dma_bytes",    "energy_pj"};

/* How often, of what does not say it itself; of the decoder's model by its open dimension. */
static json_t *run(const char *arch, const char *path, const char *batch) {
  struct tool_result r;
  char dim[32];
  bool open = strcmp(path, "./decoder.onnx") == 0;
  (void)snprintf(dim, sizeof dim, "batch=%s", batch);
  TOOL(&r, "run", "--arch", arch, "--workload", path, "--json", open ? "--dim" : "--batch",
       open ? dim : batch);
  if (r.rc) fail_msg("%s on %s: %s", path, arch, r.err);
  json_t *j = json_loads(r.out, 0, NULL);
  assert_non_null(j);
  tool_result_fini(&r);
  return j;
}

static void same_layers(const char *what, json_t *x, json_t *y, size_t n) {
  json_t *a = json_object_get(x, "layers"), *b = json_object_get(y, "layers");
  assert_int_equal(json_array_size(a), n);
  assert_int_equal(json_array_size(b), n);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < LEN(compared); k++) {
      json_t *l = json_object_get(json_array_get(a, i), compared[k]),
             *r = json_object_get(json_array_get(b, i), compared[k]);
      if (!l || !json_equal(l, r)) {
        char *left = json_dumps(l, JSON_ENCODE_ANY), *right = json_dumps(r, JSON_ENCODE_ANY);
        fail_msg("%s, layer %zu, %s: %s and %s", what, i, compared[k], left, right);
      }
    }
}

static void write_route(const struct route *r) {
  if (r->make)
    r->make(r->path);
  else
    tool_write(r->path, r->text, strlen(r->text));
}

static void routes_have_the_same_layers_and_cycles(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(networks); i++) {
    const struct route *r = networks[i].routes;
    for (size_t k = 0; k < LEN(networks[i].routes) && r[k].path; k++) write_route(&r[k]);
    for (size_t m = 0; m < LEN(machines); m++) {
      json_t *first = run(machines[m], r[0].path, "1");
      for (size_t k = 1; k < LEN(networks[i].routes) && r[k].path; k++) {
        json_t *other = run(machines[m], r[k].path, "1");
        same_layers(networks[i].name, first, other, networks[i].layers);
        json_t *cycles = json_object_get(json_object_get(first, "totals"), "cycles");
        assert_true(json_integer_value(cycles) > 0);
        assert_true(
            json_equal(cycles, json_object_get(json_object_get(other, "totals"), "cycles")));
        json_decref(other);
      }
      json_decref(first);
    }
  }
}

/* The graph as JSON: all that there is of it but its bindings. */
static char *graph_of(const char *path, uint64_t batch) {
  const struct tsr_net_dim dim = {"batch", batch};
  bool open = strcmp(path, "./decoder.onnx") == 0;
  struct tsr_workload_options o = {
      .batch = open ? 0 : batch, .dims = open ? &dim : NULL, .n_dims = open};
  struct tsr_graph *g = NULL;
  struct tsr_str text = TSR_STR_INIT;
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_workload_read(path, &o, &g, &err)) fail_msg("%s: %s", path, err.msg[0]);
  assert_int_equal(tsr_graph_json_write(g, &text, &err), TSR_OK);
  tsr_graph_destroy(g);
  tsr_err_fini(&err);
  return tsr_str_take(&text);
}

/* Shows the first line of the two that differs. */
static void same_text(const char *x, const char *path, const char *y) {
  size_t at = 0, line = 0;
  for (; x[at] && x[at] == y[at]; at++)
    if (x[at] == '\n') line = at + 1;
  if (x[at] != y[at])
    fail_msg("%s:\n%.*s\nand\n%.*s", path, (int)strcspn(x + line, "\n"), x + line,
             (int)strcspn(y + line, "\n"), y + line);
}

static void one_graph(const struct route *r, size_t n, uint64_t batch) {
  char *first = graph_of(r[0].path, batch);
  for (size_t k = 1; k < n && r[k].path; k++) {
    char *text = graph_of(r[k].path, batch);
    same_text(first, r[k].path, text);
    tsr_mem_free(text);
  }
  tsr_mem_free(first);
}

static void routes_are_one_graph(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(networks); i++) {
    const struct route *r = networks[i].routes;
    for (size_t k = 0; k < LEN(networks[i].routes) && r[k].path; k++) write_route(&r[k]);
    one_graph(r, LEN(networks[i].routes), 1);
  }
  one_graph(networks[0].routes, LEN(networks[0].routes), 3);
}

static void a_batch_means_the_same(void **state) {
  (void)state;
  const struct route *r = networks[0].routes;
  write_route(&r[0]);
  json_t *first = run("systolic-128", r[0].path, "3");
  for (size_t k = 1; k < LEN(networks[0].routes); k++) {
    write_route(&r[k]);
    json_t *other = run("systolic-128", r[k].path, "3");
    same_layers("batch", first, other, networks[0].layers);
    json_decref(other);
  }
  json_decref(first);
}

/* The stored text is enough; the file may be gone, or be another. */
static void a_run_is_made_again_from_its_text(void **state) {
  (void)state;
  tool_write("again.yaml", encoder_yaml, strlen(encoder_yaml));
  TOOL_EXPECT(0, "run", "--arch", "systolic-128", "--workload", "./again.yaml");
  TOOL_EXPECT(0, "rerun", "last");
  tool_write("again.yaml", decoder_yaml, strlen(decoder_yaml));
  TOOL_EXPECT(0, "rerun", "last");
  assert_int_equal(unlink("again.yaml"), 0);
  TOOL_EXPECT(0, "rerun", "last");
  TOOL_EXPECT(0, "run", "--arch", "systolic-128", "--workload", "dlrm");
  TOOL_EXPECT(0, "rerun", "last");
}

static const struct {
  const char *text;
  int rc;
  const char *says; /* on one of the two outputs */
} checks[] = {
    {decoder_yaml, 0, "workload d, 27 operators"},
    {"version: 1\nkind: decoder\nlayers: 2\n", 3, "'hidden' is missing"},
    {"version: 1\nkind: decoder\nlayer: 2\n", 2, "did you mean 'layers'?"},
    {"version: 1\nkind: dlrm\ntables: [2, 3]\nbottom: [2, 2]\ntop: [0]\n", 3,
     "t.yaml:5:7: error: 'top' holds no width"},
};

static void specifications_are_checked(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(checks); i++) {
    struct tool_result r;
    tool_write("t.yaml", checks[i].text, strlen(checks[i].text));
    TOOL(&r, "check", "t.yaml");
    if (r.rc != checks[i].rc || !strstr(r.rc ? r.err : r.out, checks[i].says))
      fail_msg("%s: %d, %s%s", checks[i].text, r.rc, r.out, r.err);
    tool_result_fini(&r);
  }
}

static void built_in_networks_are_listed(void **state) {
  (void)state;
  static const char *const names[] = {"resnet50",
                                      "mobilenetv2",
                                      "bert-base-s128",
                                      "bert-base-s384",
                                      "vit-b16",
                                      "gpt2-prefill-1024",
                                      "dlrm",
                                      "llama2-7b-prefill-512",
                                      "llama2-7b-prefill-2048",
                                      "dlrm-full",
                                      "llama2-7b-decode-2048",
                                      "mixtral-8x7b-decode-2048",
                                      "cnn-block",
                                      "whisper-large-v3-encode",
                                      "whisper-large-v3-decode",
                                      "transformer-block",
                                      "mlp-moe"};
  struct tool_result r;
  TOOL(&r, "presets", "workload", "--json");
  assert_int_equal(r.rc, 0);
  for (size_t i = 0; i < LEN(names); i++) {
    char quoted[64];
    (void)snprintf(quoted, sizeof quoted, "\"%s\"", names[i]);
    if (!strstr(r.out, quoted)) fail_msg("no %s in %s", names[i], r.out);
  }
  tool_result_fini(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(routes_have_the_same_layers_and_cycles),
                                     cmocka_unit_test(routes_are_one_graph),
                                     cmocka_unit_test(a_batch_means_the_same),
                                     cmocka_unit_test(a_run_is_made_again_from_its_text),
                                     cmocka_unit_test(specifications_are_checked),
                                     cmocka_unit_test(built_in_networks_are_listed)};
  return cmocka_run_group_tests(tests, tool_enter, tool_leave);
}
