/* Files of SCALE-Sim and ONNXim: what they become, the fate of every key, mistakes in place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/io.h"
#include "workloads/exchange/import.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

typedef enum tsr_status read_fn(const char *path, const char *text, size_t len,
                                struct tsr_import *out, struct tsr_err *err);

static void must_read(read_fn *read, const char *file, struct tsr_import *im) {
  char path[512], *text;
  size_t n;
  struct tsr_err err = TSR_ERR_INIT;
  snprintf(path, sizeof path, "%s/import/%s", TSR_TEST_DATA, file);
  assert_int_equal(tsr_io_read(path, &text, &n, NULL), TSR_OK);
  if (read(file, text, n, im, &err)) fail_msg("%s", err.n ? err.msg[0] : "?");
  tsr_err_fini(&err);
  tsr_mem_free(text);
}

static const struct tsr_import_key *key(const struct tsr_import *im, const char *name) {
  const struct tsr_import_key *found = NULL;
  for (size_t i = 0; i < im->n_keys; i++)
    if (!strcmp(im->keys[i].key, name)) {
      assert_null(found); /* once */
      found = &im->keys[i];
    }
  if (!found) fail_msg("key %s is not accounted for", name);
  return found;
}

static void holds(const struct tsr_import *im, const char *const *lines, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!strstr(im->text, lines[i])) fail_msg("'%s' is not in:\n%s", lines[i], im->text);
}

static void a_scalesim_machine_has_its_sizes(void **state) {
  (void)state;
  struct tsr_import im;
  /* Three interfaces of 10 bytes a cycle at 1 GHz are 30 GB/s. */
  static const char *const lines[] = {
      "\nname: array-8x8-os\n", "rows: 8 ",        "cols: 8 ",        "dataflow: os ",
      "weight_preload: false",  "a: {size: 4KiB,", "b: {size: 4KiB,", "c: {size: 2KiB,",
      "bandwidth: 30GB/s "};
  must_read(tsr_import_scalesim, "array-8x8.cfg", &im);
  assert_int_equal(im.kind, TSR_IMPORT_ARCH);
  assert_string_equal(im.name, "array-8x8-os");
  holds(&im, lines, LEN(lines));
  assert_int_equal(im.n_keys, 14);
  assert_string_equal(key(&im, "ArrayHeight")->as, "tile.rows");
  assert_true(key(&im, "Bandwidth")->used);
  assert_false(key(&im, "IfmapOffset")->used);
  assert_false(key(&im, "SparsitySupport")->used);
  tsr_import_fini(&im);
}

#define ARCH                                                                     \
  "[architecture_presets]\nArrayHeight : 4\nArrayWidth : 4\nIfmapSramSzkB : 1\n" \
  "FilterSramSzkB : 1\nOfmapSramSzkB : 1\nDataflow : ws\n"
#define CALC "[run_presets]\nInterfaceBandwidth : CALC\n"

static void what_is_calculated_is_unlimited(void **state) {
  (void)state;
  struct tsr_import im;
  struct tsr_err err = TSR_ERR_INIT;
  static const char text[] = "; a remark\n" ARCH "Bandwidth : 10, 20\nArrayHight = 3\n" CALC;
  assert_int_equal(tsr_import_scalesim("/d/my file.cfg", text, strlen(text), &im, &err),
                   TSR_OK);
  assert_string_equal(im.name, "my-file");
  assert_non_null(strstr(im.text, "bandwidth: unlimited"));
  assert_string_equal(key(&im, "Bandwidth")->as, "InterfaceBandwidth is CALC");
  assert_false(key(&im, "ArrayHight")->used);
  assert_int_equal(err.warnings, 1);
  assert_non_null(
      strstr(err.warn, "/d/my file.cfg:10:1: warning: key 'ArrayHight' is not known"));
  assert_non_null(strstr(err.warn, "did you mean 'ArrayHeight'?"));
  tsr_err_fini(&err);
  tsr_import_fini(&im);
}

struct bad {
  const char *text;
  unsigned line, col;
  const char *says;
};

static const struct bad bad_cfg[] = {
    {"", 1, 1, "key 'ArrayHeight' is missing; expected it in section [architecture_presets]"},
    {"ArrayHeight : 4\n", 1, 1, "key before the first section"},
    {"[general]\n  hello\n", 2, 3, "malformed line"},
    {"[general]\n: 4\n", 2, 1, "malformed line"},
    {"[general\n", 1, 1, "malformed section"},
    {"[]\n", 1, 1, "malformed section"},
    {"[architecture_presets]\nArrayHeight : four\n", 2, 15,
     "ArrayHeight; expected a whole number from 1 to 2^32 - 1, got 'four'"},
    {"[architecture_presets]\nArrayHeight : 0\n", 2, 15, "got '0'"},
    {"[architecture_presets]\nArrayHeight : 4294967296\n", 2, 15, "got '4294967296'"},
    {"[architecture_presets]\nArrayHeight :\n", 2, 14, "ArrayHeight; expected"},
    {"[architecture_presets]\nArrayHeight : 4\narrayheight : 4\n", 3, 1, "key twice"},
    {"[architecture_presets]\nDataflow : rs\n", 2, 12, "expected os, ws or is, got 'rs'"},
    {"[run_presets]\nInterfaceBandwidth : MAYBE\n", 2, 22, "expected CALC or USER"},
    {ARCH, 7, 1, "key 'InterfaceBandwidth' is missing"},
    {ARCH "[run_presets]\nInterfaceBandwidth : USER\n", 9, 1,
     "key 'Bandwidth' is missing; expected it in section [architecture_presets], for "
     "InterfaceBandwidth is USER"},
};

#define CORE(more)                                                                         \
  "{\"num_cores\": 4, \"core_type\": \"systolic_ws\", \"core_freq\": 1000,\n"              \
  "\"core_width\": 128, \"core_height\": 128, \"spad_size\": 65536,\n"                     \
  "\"accum_spad_size\": 8192, \"vector_process_bit\": 65536, \"dram_type\": \"simple\",\n" \
  "\"dram_freq\": 1200, \"dram_channels\": 16, \"icnt_type\": \"simple\",\n"               \
  "\"icnt_freq\": 2000, \"precision\": 2" more "}"

static const struct bad bad_json[] = {
    {"{", 1, 1, "no JSON"},
    {"{\"a\": 1}", 1, 1, "no file of ONNXim; expected a core configuration"},
    {"{\"num_cores\": 0, \"core_type\": \"systolic_ws\"}", 1, 15, "num_cores; expected"},
    {"{\"num_cores\": 4294967296}", 1, 15, "expected less than 2^32"},
    {"{\"num_cores\": 1, \"core_type\": 4}", 1, 31, "core_type; expected a text, got a number"},
    {"{\"num_cores\": 1}", 1, 1, "key 'core_type' is missing"},
    {CORE(", \"dram_latency\": -1"), 5, 52, "dram_latency; expected"},
    {"{\"models\": []}", 1, 12, "expected an array of one model or more"},
    {"{\"models\": [1]}", 1, 13, "model; expected an object, got a number"},
    {"{\"models\": [{\"batch_size\": 1}]}", 1, 13, "key 'name' is missing"},
    {"{\"models\": [{\"name\": \"a\"}], \"other\": 1}", 1, 29, "unknown key"},
    {"{\"num_attention_heads\": 4, \"hidden_size\": 8}", 1, 1, "key 'vocab_size' is missing"},
};

static void check_bad(read_fn *read, const struct bad *b, const char *path) {
  struct tsr_import im = {.arena = NULL};
  struct tsr_err err = TSR_ERR_INIT;
  char start[64];
  snprintf(start, sizeof start, "%s:%u:%u: error: ", path, b->line, b->col);
  assert_int_equal(read(path, b->text, strlen(b->text), &im, &err), TSR_INPUT);
  assert_null(im.arena);
  assert_true(err.n > 0);
  if (strncmp(err.msg[0], start, strlen(start)) != 0 || !strstr(err.msg[0], b->says))
    fail_msg("expected '%s… %s', got '%s'", start, b->says, err.msg[0]);
  tsr_err_fini(&err);
}

static void mistakes_are_shown_in_place(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(bad_cfg); i++)
    check_bad(tsr_import_scalesim, &bad_cfg[i], "s.cfg");
  for (size_t i = 0; i < LEN(bad_json); i++)
    check_bad(tsr_import_onnxim, &bad_json[i], "o.json");
}

static void an_onnxim_core_has_its_sizes(void **state) {
  (void)state;
  struct tsr_import im;
  struct tsr_err err = TSR_ERR_INIT;
  /* 16 channels of 32 bytes at 1.2 GHz; 1 cycle of 1.2 GHz and two of 2 GHz; half of 64 MiB;
   * 65536 bits are 2048 lanes; two results of 128x128 of 4 bytes. */
  static const char *const lines[] = {"clock: 1000MHz ",
                                      "cores: 4 ",
                                      "rows: 128 ",
                                      "dataflow: ws ",
                                      "rule: onnxim",
                                      "formats: {a: fp16, b: fp16, acc: fp32, out: fp16}",
                                      "lanes: 2048 ",
                                      "a: {size: 33554432B,",
                                      "c: {size: 131072B,",
                                      "kind: crossbar ",
                                      "bandwidth: 614400MB/s",
                                      "latency: 1834ps ",
                                      "burst: 32B ",
                                      "channels: 16 "};
  static const char text[] = CORE(", \"add_latency\": 1, \"color\": 3");
  assert_int_equal(tsr_import_onnxim("tpu.json", text, strlen(text), &im, &err), TSR_OK);
  assert_int_equal(im.kind, TSR_IMPORT_ARCH);
  assert_string_equal(im.name, "tpu");
  holds(&im, lines, LEN(lines));
  assert_int_equal(im.n_keys, 16);
  assert_string_equal(key(&im, "core_width")->as, "tile.cols");
  assert_false(key(&im, "add_latency")->used);
  assert_false(key(&im, "color")->used);
  assert_int_equal(err.warnings, 1);
  tsr_err_fini(&err);
  tsr_import_fini(&im);
}

static void a_language_model_becomes_a_specification(void **state) {
  (void)state;
  struct tsr_import im;
  static const char *const lines[] = {
      "\nkind: decoder\n", "layers: 2 ",  "hidden: 32 ",      "heads: 4 ",
      "kv_heads: 2 ",      "ffn: 64 ",    "ffn_kind: gated ", "activation: silu ",
      "norm: rmsnorm ",    "vocab: 100 ", "sequence: 16 "};
  must_read(tsr_import_onnxim, "tiny-llm.json", &im);
  assert_int_equal(im.kind, TSR_IMPORT_SPEC);
  holds(&im, lines, LEN(lines));
  assert_int_equal(im.n_keys, 9);
  tsr_import_fini(&im);
}

static void a_list_names_its_models(void **state) {
  (void)state;
  struct tsr_import im;
  must_read(tsr_import_onnxim, "list.json", &im);
  assert_int_equal(im.kind, TSR_IMPORT_LIST);
  assert_null(im.text);
  assert_int_equal(im.n_runs, 2);
  assert_string_equal(im.runs[0].model, "resnet50");
  assert_int_equal(im.runs[0].batch, 2);
  assert_string_equal(im.runs[1].model, "other");
  assert_int_equal(im.runs[1].batch, 1);
  tsr_import_fini(&im);
}

static void starve(read_fn *read, const char *text) {
  for (uint64_t nth = 1;; nth++) {
    struct tsr_import im = {.arena = NULL};
    struct tsr_err err = TSR_ERR_INIT;
    tsr_mem_fail_at(nth, false);
    enum tsr_status st = read("x", text, strlen(text), &im, &err);
    tsr_mem_fail_at(0, false);
    tsr_err_fini(&err);
    assert_true((st == TSR_OK) == (im.arena != NULL));
    tsr_import_fini(&im);
    if (st == TSR_OK) {
      assert_true(nth > 10);
      return;
    }
    assert_int_equal(st, TSR_NOMEM);
  }
}

static void out_of_memory_is_told(void **state) {
  (void)state;
  starve(tsr_import_scalesim, ARCH CALC "ReadRequestBuffer : 1\n");
  starve(tsr_import_onnxim, CORE(""));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_scalesim_machine_has_its_sizes),
                                     cmocka_unit_test(what_is_calculated_is_unlimited),
                                     cmocka_unit_test(mistakes_are_shown_in_place),
                                     cmocka_unit_test(an_onnxim_core_has_its_sizes),
                                     cmocka_unit_test(a_language_model_becomes_a_specification),
                                     cmocka_unit_test(a_list_names_its_models),
                                     cmocka_unit_test(out_of_memory_is_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
