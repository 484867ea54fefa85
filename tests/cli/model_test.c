/* Models of users by value: dimensions, files that go in and come out, data sets, decoding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "sim/base/mem.h"
#include "tests/cli/tool.h"
#include "tests/support/nets.h"
#include "workloads/onnx/onnx_write.h"
#include "workloads/tensor/npy.h"
#include "workloads/tensor/safetensors.h"

#define LEN(a) (sizeof(a) / sizeof *(a))
#define ARCH "--arch", "systolic-32"
#define FULL "--numerics", "full"
#define FP32                                                               \
  "--set", "tile.formats.a=fp32", "--set", "tile.formats.b=fp32", "--set", \
      "tile.formats.out=fp32", "--set", "tile.rates.fp32=1"

enum { DONE = 0, NO = 1, USAGE = 2, INPUT = 3, STORE = 5 };

static const char model[] = "in x f32 B 6; normal w 6 5; MatMul x,w h; Relu h y; out y h";
static const char fused[] = "in x f32 B 6; normal w 6 5; MatMul x,w h; Relu h y; out y";
static const char other[] = "in x f32 B 6; normal v 6 5; MatMul x,v h; Relu h y; out y h";
/* The whole cache is read at each step; what comes out depends on all tokens. */
static const char decoder[] =
    "in tokens i64 B S; in past.0.key f32 B P 8; normal words 128 8; Gather words,tokens e; "
    "Concat past.0.key,e present.0.key axis=1; Transpose present.0.key t perm=0,2,1; "
    "MatMul e,t s; Softmax s p axis=-1; MatMul p,present.0.key c; normal w 8 128; "
    "MatMul c,w logits; out logits present.0.key";

static struct tsr_array *array(enum tsr_dtype type, unsigned rank, uint64_t a, uint64_t b,
                               uint64_t seed) {
  const struct tsr_net_value v = {.type = type, .rank = rank, .dim = {a, b}};
  return nets_draw(&v, false, seed);
}

/* m.onnx, and x in every form; wrong.npy has another shape. */
static int enter(void **state) {
  int rc = tool_enter(state);
  struct tsr_err err = TSR_ERR_INIT;
  unsigned char *bytes;
  size_t n;
  nets_write(model, "m.onnx");
  struct tsr_array *x = array(TSR_DTYPE_F32, 2, 4, 6, 5),
                   *wrong = array(TSR_DTYPE_F32, 2, 6, 4, 5);
  assert_int_equal(tsr_npy_write("x.npy", x, &err), TSR_OK);
  assert_int_equal(tsr_npy_write("wrong.npy", wrong, &err), TSR_OK);
  assert_int_equal(tsr_onnx_tensor_write(x, "x", &bytes, &n, &err), TSR_OK);
  tool_write("x.pb", (const char *)bytes, n);
  const struct tsr_safetensors_item item = {"it", x};
  assert_int_equal(tsr_safetensors_write("x.safetensors", &item, 1, &err), TSR_OK);
  tsr_mem_free(bytes);
  tsr_array_destroy(x);
  tsr_array_destroy(wrong);
  return rc;
}

/* ---- what is refused ---- */

static void mistakes_are_named(void **state) {
  (void)state;
  static const struct {
    const char *args[16];
    int rc;
    const char *says;
  } rows[] = {
      {{FULL}, USAGE, "dimension 'B' of input 'x' is open; give it as in --dim B=8"},
      {{FULL, "--dim", "B=4", "--dim", "Q=3"}, USAGE, "'Q'"},
      {{FULL, "--dim", "B=4", "--dim", "B=5"}, USAGE, "'B'"},
      {{FULL, "--dim", "B"}, USAGE, "--dim takes NAME=N"},
      {{FULL, "--dim", "B=many"}, USAGE, "--dim"},
      {{FULL, "--dim", "B=4", "--batch", "2"}, USAGE, "--dim NAME=2 instead of --batch"},
      {{FULL, "--dim", "B=4", "--input", "x=none.npy"}, INPUT, "none.npy"},
      {{FULL, "--dim", "B=4", "--input", "x=wrong.npy"}, INPUT, "expected 4x6, got '6x4'"},
      {{FULL, "--dim", "B=4", "--input", "y1=x.npy"}, INPUT, "no input 'y1'"},
      {{FULL, "--dim", "B=4", "--input", "w=x.npy"}, INPUT, "no input 'w'"},
      {{FULL, "--dim", "B=4", "--input", "x"}, USAGE, "--input takes NAME=FILE"},
      {{FULL, "--dim", "B=4", "--input", "x=x.safetensors:that"}, INPUT, "no tensor 'that'"},
      {{"--dim", "B=4", "--input", "x=x.npy"}, USAGE, "--numerics full"},
      {{"--dim", "B=4", "--dump", "y=y.npy"}, USAGE, "--numerics full"},
      {{FULL, "--dim", "B=4", "--ulp", "2"}, USAGE, "--expect"},
      {{FULL, "--dim", "B=4", "--expect", "y=x.npy", "--ulp", "-1"}, USAGE, "--ulp"},
      {{FULL, "--dim", "B=4", "--expect", "yy=x.npy"}, INPUT, "did you mean 'y'?"},
      {{FULL, "--dim", "B=4", "--expect", "y=x.npy"}, INPUT, "24 elements; expected 20"},
      {{FULL, "--dim", "B=4", "--dump", "yy=y.npy"}, INPUT, "no tensor 'yy'"},
      {{FULL, "--dim", "B=4", "--dump", "y=no/y.npy"}, STORE, "no/y.npy"},
      {{FULL, "--dim", "B=4", "--decode", "2"}, INPUT, "model 'm.onnx' has no"},
      {{FULL, "--dim", "B=4", "--decode", "0"}, USAGE, "--decode takes"},
      {{FULL, "--dim", "B=4", "--dataset", "none.txt"}, INPUT, "none.txt"},
      {{"--dim", "B=4", "--dataset", "x.npy"}, USAGE, "--numerics full"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    const char *args[24] = {"run", ARCH, "--workload", "m.onnx"};
    struct tool_result r;
    for (size_t a = 0; rows[i].args[a]; a++) args[5 + a] = rows[i].args[a];
    tool_run(&r, args);
    if (r.rc != rows[i].rc || !strstr(r.err, rows[i].says))
      fail_msg("row %zu: exit %d, expected %d with '%s':\n%s", i, r.rc, rows[i].rc,
               rows[i].says, r.err);
    tool_result_fini(&r);
  }
  assert_int_equal(tool_runs("tessera.db"), 0);
}

static void data_sets_and_decoding_are_of_models(void **state) {
  (void)state;
  struct tool_result r;
  tool_write("t.txt", "some text", 9);
  TOOL(&r, "run", ARCH, "--workload", "gemm:8x8x8", FULL, "--dataset", "t.txt");
  assert_int_equal(r.rc, USAGE);
  assert_non_null(strstr(r.err, "run one ONNX model; got workload 'gemm:8x8x8'"));
  tool_result_fini(&r);
}

/* ---- files ---- */

static bool same_files(const char *a, const char *b) {
  size_t n[2];
  char *text[2] = {tool_read(a, &n[0]), tool_read(b, &n[1])};
  assert_non_null(text[0]);
  assert_non_null(text[1]);
  bool same = n[0] == n[1] && !memcmp(text[0], text[1], n[0]);
  free(text[0]);
  free(text[1]);
  return same;
}

static void each_kind_of_file_gives_the_same_values(void **state) {
  (void)state;
  static const char *const kinds[][2] = {
      {"x=x.npy", "y=1.npy"}, {"x=x.pb", "y=2.npy"}, {"x=x.safetensors:it", "y=3.npy"}};
  for (size_t i = 0; i < LEN(kinds); i++)
    TOOL_EXPECT(DONE, "run", ARCH, "--workload", "m.onnx", FULL, "--dim", "B=4", "--input",
                kinds[i][0], "--dump", kinds[i][1]);
  assert_true(same_files("1.npy", "2.npy") && same_files("1.npy", "3.npy"));
  TOOL_EXPECT(DONE, "run", ARCH, "--workload", "m.onnx", FULL, "--dim", "B=4", "--dump",
              "y=drawn.npy");
  assert_false(same_files("1.npy", "drawn.npy"));
}

static void expectations_are_met_or_not(void **state) {
  (void)state;
  struct tool_result r;
  TOOL_EXPECT(DONE, "run", ARCH, "--workload", "m.onnx", FULL, "--dim", "B=4", "--input",
              "x=x.npy", "--dump", "h=h.npy", "--dump", "y=y.npy");
  TOOL_EXPECT(DONE, "run", ARCH, "--workload", "m.onnx", FULL, "--dim", "B=4", "--input",
              "x=x.npy", "--expect", "y=y.npy", "--expect", "h=h.npy", "--ulp", "0");
  assert_int_equal(tool_sql_int("tessera.db",
                                "SELECT count(*) FROM v_quality WHERE run = 2 AND "
                                "metric = 'expect_ulp' AND value = 0 AND met = 1"),
                   2);
  TOOL(&r, "run", ARCH, "--workload", "m.onnx", FULL, "--dim", "B=4", "--input", "x=x.npy",
       "--expect", "y=h.npy");
  assert_int_equal(r.rc, NO);
  assert_non_null(strstr(r.out, "expect_ulp(y)"));
  assert_non_null(strstr(r.out, "missed"));
  tool_result_fini(&r);
  assert_int_equal(tool_runs("tessera.db"), 3); /* what missed is stored too */
  assert_int_equal(
      tool_sql_int("tessera.db", "SELECT met FROM v_quality WHERE run = 3 AND met NOT NULL"),
      0);
  /* an int8 machine's values travel in fp16: a distance is one of that */
  TOOL_EXPECT(NO, "run", "--arch", "edge-npu", "--workload", "m.onnx", FULL, "--dim", "B=4",
              "--input", "x=x.npy", "--expect", "y=y.npy");
  TOOL_EXPECT(DONE, "run", "--arch", "edge-npu", "--workload", "m.onnx", FULL, "--dim", "B=4",
              "--input", "x=x.npy", "--expect", "y=y.npy", "--ulp", "1e6");
  /* enough ulp make the same file do */
  TOOL_EXPECT(DONE, "run", ARCH, "--workload", "m.onnx", FULL, "--dim", "B=4", "--input",
              "x=x.npy", "--expect", "y=h.npy", "--ulp", "1e300");
}

static void operands_of_layers_have_names(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_array *x = array(TSR_DTYPE_F32, 2, 4, 6, 5), *c;
  TOOL_EXPECT(DONE, "run", ARCH, "--workload", "gemm:4x5x6", FULL, "--input", "gemm0.a=x.npy",
              "--dump", "gemm0.a=a.npy", "--dump", "gemm0.c=c.npy");
  TOOL_EXPECT(DONE, "run", ARCH, "--workload", "gemm:4x5x6", FULL, "--input", "gemm0.a=x.npy",
              "--expect", "gemm0.c=c.npy", "--ulp", "0");
  TOOL_EXPECT(NO, "run", ARCH, "--workload", "gemm:4x5x6", FULL, "--expect", "gemm0.c=c.npy");
  TOOL_EXPECT(INPUT, "run", ARCH, "--workload", "gemm:4x5x6", FULL, "--input", "gemm0.c=c.npy");
  TOOL_EXPECT(INPUT, "run", ARCH, "--workload", "gemm:4x5x6", FULL, "--input", "gemm7.a=x.npy");
  /* the operand as it was given */
  assert_int_equal(tsr_npy_read("a.npy", NULL, &c, &err), TSR_OK);
  assert_int_equal(c->n, x->n);
  for (uint64_t i = 0; i < x->n; i++) assert_true(c->f[i] == x->f[i]);
  tsr_array_destroy(c);
  tsr_array_destroy(x);
}

/* ---- operators without a kernel ---- */

static void unsupported_operators_are_named_and_counted(void **state) {
  (void)state;
  struct tool_result r;
  nets_write("in x f32 4 6; normal w 6 5; MatMul x,w y; Fourier y z; out y", "u.onnx");
  TOOL(&r, "run", ARCH, "--workload", "u.onnx");
  assert_int_equal(r.rc, INPUT);
  assert_non_null(strstr(r.err, "'z'"));
  assert_non_null(strstr(r.err, "Fourier"));
  tool_result_fini(&r);
  TOOL(&r, "run", ARCH, "--workload", "u.onnx", "--skip-unsupported", FULL);
  if (r.rc != DONE) fail_msg("%s", r.err);
  assert_non_null(strstr(r.err, "without 1 of its 2 nodes"));
  assert_non_null(strstr(r.err, "'z' (Fourier)"));
  tool_result_fini(&r);
  assert_int_equal(tool_sql_int("tessera.db", "SELECT count(*) FROM v_inputs WHERE role = "
                                              "'workload' AND text LIKE '%skipped 1%'"),
                   1);
  TOOL_EXPECT(DONE, "rerun", "last");
}

/* ---- again ---- */

static void runs_are_repeated_while_the_model_is_the_same(void **state) {
  (void)state;
  struct tool_result r;
  TOOL_EXPECT(DONE, "run", ARCH, "--workload", "m.onnx", FULL, "--dim", "B=4", "--input",
              "x=x.npy", "--dump", "y=y.npy", "--set", "tile.formats.out=fp16");
  TOOL_EXPECT(DONE, "run", ARCH, "--workload", "m.onnx", FULL, "--dim", "B=4", "--input",
              "x=x.npy", "--expect", "y=y.npy", "--ulp", "0.5");
  TOOL_EXPECT(DONE, "rerun", "1");
  TOOL_EXPECT(DONE, "rerun", "2");
  tool_sql("tessera.db",
           "UPDATE run_quality SET value = value + 1 WHERE run_id = 2 AND seq = 0");
  TOOL_EXPECT(NO, "rerun", "2"); /* figures of quality are compared */
  nets_write(other, "m.onnx");
  TOOL(&r, "rerun", "1");
  assert_int_equal(r.rc, INPUT);
  assert_non_null(strstr(r.err, "is not what the stored run read"));
  tool_result_fini(&r);
}

static const char tables_sql[] =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('run', 'text') "
    "ORDER BY name";

static void two_runs_store_the_same(void **state) {
  (void)state;
  static const char *const db[] = {"a.db", "b.db"};
  for (int i = 0; i < 2; i++)
    TOOL_EXPECT(DONE, "run", "--db", db[i], ARCH, "--workload", "m.onnx", FULL, "--dim", "B=40",
                "--set", "tile.formats.a=int8", "--set", "tile.formats.b=int8", "--set",
                "tile.formats.acc=int32");
  char *names = tool_sql_dump(db[0], tables_sql), *rest = NULL;
  int filled = 0;
  for (char *name = strtok_r(names, "\n|", &rest); name; name = strtok_r(NULL, "\n|", &rest)) {
    char sql[128];
    (void)snprintf(sql, sizeof sql, "SELECT * FROM %s", name);
    char *a = tool_sql_dump(db[0], sql), *b = tool_sql_dump(db[1], sql);
    if (strcmp(a, b) != 0) fail_msg("%s differs:\n%s\n%s", name, a, b);
    filled += *a != '\0';
    free(a);
    free(b);
  }
  assert_true(filled >= 6);
  free(names);
}

/* ---- JSON ---- */

static double quality(const json_t *run, const char *metric) {
  size_t i;
  json_t *row;
  json_array_foreach(
      json_object_get(run, "quality"), i,
      row) if (!strcmp(json_string_value(json_object_get(row, "metric")),
                       metric)) return json_number_value(json_object_get(row, "value"));
  fail_msg("no figure '%s'", metric);
  return 0;
}

static json_t *run_json(const char *const *args) {
  struct tool_result r;
  tool_run(&r, args);
  if (r.rc != DONE) fail_msg("exit %d: %s", r.rc, r.err);
  json_t *j = json_loads(r.out, 0, NULL);
  if (!j) fail_msg("no JSON: %s", r.out);
  tool_result_fini(&r);
  return j;
}
#define RUN_JSON(...) run_json((const char *const[]){"run", "--json", ARCH, __VA_ARGS__, NULL})

static void json_has_the_figures_of_quality(void **state) {
  (void)state;
  json_t *run = RUN_JSON("--workload", "m.onnx", FULL, "--dim", "B=4");
  double e = quality(run, "norm_err");
  assert_true(e > 0 && e < 0x1p-10); /* fp16 */
  const json_t *row = json_array_get(json_object_get(run, "quality"), 0);
  static const char *const keys[] = {"metric", "tensor", "value", "n", "limit_value", "met"};
  for (size_t i = 0; i < LEN(keys); i++) assert_non_null(json_object_get(row, keys[i]));
  assert_int_equal(json_object_size(row), LEN(keys));
  assert_int_equal(json_array_size(json_object_get(run, "quality")),
                   4); /* two of each output */
  json_decref(run);
  run = RUN_JSON("--workload", "gemm:8x8x8");
  assert_true(json_is_array(json_object_get(run, "quality")));
  assert_int_equal(json_array_size(json_object_get(run, "quality")), 0);
  json_decref(run);
}

/* ---- other commands, other workloads ---- */

static void other_commands_take_models(void **state) {
  (void)state;
  struct tool_result r;
  TOOL(&r, "check", "m.onnx", "--dim", "B=4");
  assert_int_equal(r.rc, DONE);
  assert_non_null(strstr(r.out, "operators"));
  tool_result_fini(&r);
  TOOL_EXPECT(USAGE, "check", "m.onnx");
  TOOL_EXPECT(DONE, "lower", ARCH, "--workload", "m.onnx", "--dim", "B=4", "--layer", "h", "-o",
              "h.bin");
  TOOL_EXPECT(USAGE, "lower", ARCH, "--workload", "m.onnx", "--layer", "h", "-o", "h.bin");
  TOOL_EXPECT(DONE, "map", ARCH, "--workload", "m.onnx", "--dim", "B=4", "-o", "m.map");
  TOOL_EXPECT(DONE, "run", ARCH, "--workload", "m.onnx", "--dim", "B=4", "--mapping", "m.map");
}

static void a_model_runs_beside_another_workload(void **state) {
  (void)state;
  TOOL_EXPECT(DONE, "run", ARCH, "--set", "cores=4", "--set", "noc.kind=mesh", "--workload",
              "m.onnx@0-1", "--workload", "gemm:40x40x40@2-3", "--dim", "B=4", FULL, "--input",
              "x=x.npy", "--dump", "y=y.npy");
  TOOL_EXPECT(DONE, "run", ARCH, "--workload", "m.onnx", "--dim", "B=4", FULL, "--input",
              "x=x.npy", "--expect", "y=y.npy", "--ulp", "0");
  TOOL_EXPECT(DONE, "rerun", "1");
  TOOL_EXPECT(USAGE, "run", ARCH, "--set", "cores=4", "--set", "noc.kind=mesh", "--workload",
              "gemm:8x8x8@0-1", "--workload", "gemm:40x40x40@2-3", "--dim", "B=4");
}

/* ---- data sets ---- */

/* n images of 1 x 2 x 2 and their labels; images of classes 0 and 1 shine left or right. */
static void write_images(const char *path, uint64_t n) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_array *images, *labels;
  const uint64_t dim[3] = {n, 2, 2};
  assert_int_equal(tsr_array_create(NULL, TSR_DTYPE_U8, 3, dim, &images, &err), TSR_OK);
  assert_int_equal(tsr_array_create(NULL, TSR_DTYPE_U8, 1, dim, &labels, &err), TSR_OK);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t side = i / 3 % 2;
    labels->i[i] = (int64_t)(i == 6 ? !side : side); /* one is wrong */
    images->i[4 * i + side] = images->i[4 * i + 2 + side] = (int64_t)(128 + i);
  }
  const struct tsr_safetensors_item items[] = {{"images", images}, {"labels", labels}};
  assert_int_equal(tsr_safetensors_write(path, items, 2, &err), TSR_OK);
  tsr_array_destroy(images);
  tsr_array_destroy(labels);
}

/* The sum of the left half less that of the right, and the other way round. */
#define CLASSES(n)                                                                        \
  "in image f32 " n " 1 2 2; ints d 0 4; Reshape image,d f; ints c 1 -1 -1 1 1 -1 -1 1; " \
  "ints e 4 2; Reshape c,e g; Cast g w to=1; MatMul f,w y; out y"

static void images_are_classified_batch_by_batch(void **state) {
  (void)state;
  struct tool_result r;
  write_images("i.safetensors", 10);
  nets_write(CLASSES("N"), "c.onnx");
  nets_write(CLASSES("4"), "c4.onnx");
  json_t *run = RUN_JSON("--workload", "c.onnx", FULL, "--dim", "N=4", "--dataset",
                         "i.safetensors"); /* 4, 4 and 2 */
  assert_true(quality(run, "top1") == 0.9 && quality(run, "top1_reference") == 0.9);
  assert_true(quality(run, "agreement") == 1);
  assert_int_equal(json_array_size(json_object_get(run, "layers")) % 3, 0);
  json_decref(run);
  assert_int_equal(tool_sql_int("tessera.db", "SELECT count(DISTINCT step) FROM layer"), 3);
  TOOL_EXPECT(DONE, "show", "quality", "last");
  TOOL_EXPECT(DONE, "show", "steps", "last");
  TOOL_EXPECT(DONE, "rerun", "last");
  TOOL(&r, "run", ARCH, "--workload", "c4.onnx", FULL, "--dataset", "i.safetensors");
  assert_int_equal(r.rc, DONE); /* whole batches alone, and it says so */
  assert_non_null(strstr(r.err, "the last 2 of 'i.safetensors' are left out"));
  assert_non_null(strstr(r.out, "of 8"));
  tool_result_fini(&r);
  TOOL_EXPECT(INPUT, "run", ARCH, "--workload", "c.onnx", FULL, "--dataset", "i.safetensors",
              "--decode", "2");
}

static void texts_are_read_in_windows(void **state) {
  (void)state;
  static const char text[] = "the quick brown fox jumps over the lazy dog, twice or thrice";
  nets_write(decoder, "d.onnx");
  tool_write("t.txt", text, sizeof text - 1);
  json_t *run = RUN_JSON("--workload", "d.onnx", FULL, FP32, "--dataset", "t.txt", "--dim",
                         "B=3", "--dim", "S=8"); /* 7 windows: 3, 3 and 1 */
  assert_true(quality(run, "kl") < 1e-9 && quality(run, "flip_rate") == 0);
  double bits = quality(run, "bits_per_token"), ref = quality(run, "bits_per_token_reference");
  assert_true(bits > 1 && bits - ref < 1e-4 && ref - bits < 1e-4);
  assert_true(
      json_number_value(json_object_get(json_object_get(run, "totals"), "tokens_per_s")) > 0);
  json_decref(run);
  assert_int_equal(tool_sql_int("tessera.db", "SELECT count(DISTINCT step) FROM layer"), 3);
  assert_int_equal(tool_sql_int("tessera.db", "SELECT n FROM v_quality WHERE metric = 'kl'"),
                   56);
  assert_int_equal(
      tool_sql_int("tessera.db", "SELECT n FROM v_quality WHERE metric = 'bits_per_token'"),
      49);
}

static void tokens_are_chosen_and_the_cache_goes_on(void **state) {
  (void)state;
  static const char text[] = "once upon a time";
  nets_write(decoder, "d.onnx");
  tool_write("t.txt", text, sizeof text - 1);
  for (int drawn = 0; drawn < 2; drawn++) {
    json_t *run = drawn ? RUN_JSON("--workload", "d.onnx", FULL, FP32, "--decode", "5", "--dim",
                                   "S=4", "--dump", "present.0.key=k.npy")
                        : RUN_JSON("--workload", "d.onnx", FULL, FP32, "--decode", "5", "--dim",
                                   "S=4", "--dataset", "t.txt");
    assert_true(quality(run, "flip_rate") == 0 && quality(run, "kl_max") < 1e-9);
    assert_true(
        json_number_value(json_object_get(json_object_get(run, "totals"), "tokens_per_s")) > 0);
    json_decref(run);
  }
  /* the prompt's pass and five more; the cache grows: rows of keys that are multiplied */
  char *n = tool_sql_dump("tessera.db", "SELECT n FROM v_layers WHERE run = 1 AND name LIKE "
                                        "'step_.s' ORDER BY layer");
  assert_string_equal(n, "4|\n5|\n6|\n7|\n8|\n9|\n");
  free(n);
  TOOL_EXPECT(DONE, "rerun", "1");
  TOOL_EXPECT(DONE, "show", "steps", "1");
}

/* A tensor that a fused operator takes in is made when somebody asks for it. */
static void any_tensor_can_be_written(void **state) {
  (void)state;
  struct tsr_array *h, *y;
  uint64_t below = 0;
  nets_write(fused, "f.onnx");
  TOOL_EXPECT(DONE, "run", ARCH, "--workload", "f.onnx", FULL, "--dim", "B=4", "--input",
              "x=x.npy", "--dump", "h=h.npy", "--dump", "y=y.npy");
  assert_int_equal(tsr_npy_read("h.npy", NULL, &h, NULL), TSR_OK);
  assert_int_equal(tsr_npy_read("y.npy", NULL, &y, NULL), TSR_OK);
  assert_int_equal(h->n, y->n);
  for (uint64_t i = 0; i < h->n; i++) {
    below += h->f[i] < 0;
    assert_true(y->f[i] == (h->f[i] < 0 ? 0 : h->f[i]));
  }
  assert_true(below > 0);
  tsr_array_destroy(h);
  tsr_array_destroy(y);
}

/* An attribute says as much of a model as its weights do. */
static void a_changed_attribute_is_another_model(void **state) {
  (void)state;
  struct tool_result r;
  nets_write("in x f32 B 6; LeakyRelu x y alpha=0.5; out y", "c.onnx");
  TOOL_EXPECT(DONE, "run", ARCH, "--workload", "c.onnx", "--dim", "B=4");
  TOOL_EXPECT(DONE, "rerun", "last");
  nets_write("in x f32 B 6; LeakyRelu x y alpha=0.25; out y", "c.onnx");
  TOOL(&r, "rerun", "last");
  assert_int_equal(r.rc, INPUT);
  assert_non_null(strstr(r.err, "is not what the stored run read"));
  tool_result_fini(&r);
}

int main(void) {
#define TEST(t) cmocka_unit_test_setup_teardown(t, enter, tool_leave)
  const struct CMUnitTest tests[] = {
      TEST(any_tensor_can_be_written),
      TEST(a_changed_attribute_is_another_model),
      TEST(mistakes_are_named),
      TEST(data_sets_and_decoding_are_of_models),
      TEST(each_kind_of_file_gives_the_same_values),
      TEST(expectations_are_met_or_not),
      TEST(operands_of_layers_have_names),
      TEST(unsupported_operators_are_named_and_counted),
      TEST(runs_are_repeated_while_the_model_is_the_same),
      TEST(two_runs_store_the_same),
      TEST(json_has_the_figures_of_quality),
      TEST(other_commands_take_models),
      TEST(a_model_runs_beside_another_workload),
      TEST(images_are_classified_batch_by_batch),
      TEST(texts_are_read_in_windows),
      TEST(tokens_are_chosen_and_the_cache_goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
