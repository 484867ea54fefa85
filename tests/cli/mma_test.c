/* mma: units listed, vectors replayed, studies stored; and run --numerics full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/cli/tool.h"

#define UNIT "nv_hopper_mma_m16n8k16_f32_f16_f32"
#define DATA TSR_TEST_DATA "/mma/"

static json_t *parse(const struct tool_result *r) {
  json_error_t e;
  json_t *j = json_loadb(r->out, r->out_n, JSON_REJECT_DUPLICATES, &e);
  if (!json_is_object(j)) fail_msg("line %d: %s\n%s", e.line, e.text, r->err);
  return j;
}

static double number(const json_t *o, const char *key) {
  const json_t *v = json_object_get(o, key);
  if (!json_is_number(v)) fail_msg("%s is no number", key);
  return json_number_value(v);
}

static void every_unit_is_listed_once(void **state) {
  (void)state;
  struct tool_result r;
  TOOL(&r, "mma", "list", "--json");
  assert_int_equal(r.rc, 0);
  json_t *j = parse(&r), *list = json_object_get(j, "units"), *u;
  json_t *seen = json_object();
  size_t i;
  assert_true(json_array_size(list) >= 152);
  json_array_foreach(list, i, u) {
    const char *name = json_string_value(json_object_get(u, "name"));
    if (json_object_get(seen, name)) fail_msg("%s is there twice", name);
    json_object_set_new(seen, name, json_true());
    assert_true(json_is_string(json_object_get(u, "format_acc")));
    assert_true(json_is_string(json_object_get(u, "doc")));
  }
  assert_non_null(json_object_get(seen, UNIT));
  json_decref(seen);
  json_decref(j);
  tool_result_fini(&r);
}

static void vectors_replay_without_a_mismatch(void **state) {
  (void)state;
  struct tool_result r;
  TOOL(&r, "mma", "check", DATA UNIT ".txt", DATA "hw_H100_fp16_fp32.txt",
       DATA "int_s8_u8_s32.txt", DATA "acc_seqfma_bf16_fp16.txt", "--json");
  assert_int_equal(r.rc, 0);
  json_t *j = parse(&r), *f;
  size_t i;
  double elements = 0;
  assert_int_equal(json_array_size(json_object_get(j, "files")), 4);
  json_array_foreach(json_object_get(j, "files"), i, f) {
    assert_true(number(f, "mismatches") == 0);
    assert_true(number(f, "exact") + number(f, "contested") == number(f, "elements"));
    assert_true(number(f, "tiles") > 0);
    elements += number(f, "elements");
  }
  assert_true(elements == number(j, "elements") && number(j, "mismatches") == 0);
  assert_string_equal(json_string_value(json_object_get(
                          json_array_get(json_object_get(j, "files"), 0), "model")),
                      UNIT);
  json_decref(j);
  tool_result_fini(&r);
}

static void a_mismatch_is_exit_1_and_named(void **state) {
  (void)state;
  struct tool_result r;
  TOOL(&r, "mma", "check", DATA UNIT ".txt", "--model", "nv_volta_mma_m8n8k4_f32_f16_f32",
       "--json");
  assert_int_equal(r.rc, 1);
  json_t *j = parse(&r);
  assert_true(number(j, "mismatches") > 0);
  assert_non_null(strstr(r.err, UNIT ".txt"));
  json_decref(j);
  tool_result_fini(&r);
}

static void bad_files_and_names_are_told(void **state) {
  (void)state;
  static const char head[] = "# model=" UNIT "\n# a=fp16 b=fp16 c=fp32 d=fp32\n"
                             "# M=1 N=1 K=2\ntile 0\nA 3c00 zz\n";
  tool_write("bad.txt", head, sizeof head - 1);
  static const struct {
    int rc;
    const char *args[10], *words;
  } rows[] = {
      {3, {"mma", "check", "bad.txt"}, "bad.txt:5:8: error: "},
      {3, {"mma", "check", "none.txt"}, "none.txt"},
      {2, {"mma", "check", DATA UNIT ".txt", "--model", "nv_hoper"}, "nv_hoper"},
      {2, {"mma"}, "list, check or eval"},
      {2, {"mma", "lits"}, "lits"},
      {2, {"mma", "check"}, "takes files"},
      {2, {"mma", "list", "x"}, "unexpected argument"},
      {2, {"mma", "list", "--k", "4"}, "--k is an option of mma eval"},
      {2, {"mma", "check", "bad.txt", "-o", "x.svg"}, "-o is an option of mma eval"},
      {2, {"mma", "eval", "--k", "4"}, "--model"},
      {2, {"mma", "eval", "--model", UNIT}, "--k is missing"},
      {2, {"mma", "eval", "--model", UNIT, "--k", "0"}, "--k takes"},
      {2, {"mma", "eval", "--model", UNIT, "--k", "8,x"}, "--k takes a number"},
      {2, {"mma", "eval", "--model", UNIT, "--k", "8", "--m", "0"}, "--m takes"},
      {2, {"mma", "eval", "--model", UNIT, "--k", "8", "--dist=flat"}, "normal"},
      {2, {"mma", "eval", "--model", "nv_none", "--k", "8"}, "nv_none"},
      {2, {"mma", "eval", "--model", "fused:a=fp16,b=fp16,L=x", "--k", "8"}, "L"},
      {5, {"mma", "eval", "--model", UNIT, "--k", "8", "-o", "no/x.svg"}, "no/x.svg"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tool_result r;
    tool_run(&r, rows[i].args);
    if (r.rc != rows[i].rc || !strstr(r.err, rows[i].words))
      fail_msg("row %zu: exit %d\n%s", i, r.rc, r.err);
    tool_result_fini(&r);
  }
}

static void a_study_is_stored_printed_and_drawn(void **state) {
  (void)state;
  struct tool_result r;
  TOOL(&r, "mma", "eval", "--model", UNIT, "--model", "acc_seqfma_bf16_bf16", "--k", "100",
       "--m", "4", "--n", "3", "--dist", "normal,ones", "-o", "e.svg", "--json");
  if (r.rc) fail_msg("%s", r.err);
  json_t *j = parse(&r), *points = json_object_get(j, "points"), *p;
  size_t i;
  assert_true(number(j, "eval_id") == 1 && number(j, "m") == 4 && number(j, "n") == 3);
  assert_int_equal(json_array_size(points), 2 * 2 * 4); /* 16, 32, 64, 100 */
  json_array_foreach(points, i, p) {
    double in_bins[2] = {0, 0};
    size_t b;
    json_t *h;
    assert_true(number(p, "checked_elems") == 12);
    assert_true(number(p, "max_comp") <= number(p, "bound"));
    json_array_foreach(json_object_get(p, "histogram"), b, h)
        in_bins[!strcmp(json_string_value(json_object_get(h, "kind")), "ulp")] +=
        number(h, "count");
    assert_true(in_bins[0] == 12 && in_bins[1] == 12);
  }
  assert_int_equal(tool_sql_int("tessera.db", "SELECT count(*) FROM v_mma_eval"), 16);
  assert_int_equal(tool_sql_int("tessera.db", "SELECT sum(count) FROM v_mma_eval_hist"),
                   16 * 24);
  size_t n;
  char *svg = tool_read("e.svg", &n);
  assert_non_null(svg);
  assert_true(strstr(svg, "<title") && strstr(svg, UNIT) &&
              strstr(svg, "acc_seqfma_bf16_bf16"));
  assert_null(strstr(svg, "<script"));
  assert_null(strstr(svg, "nan"));
  assert_null(strstr(svg, "inf"));
  free(svg);
  json_decref(j);
  tool_result_fini(&r);
  TOOL_EXPECT(0, "db", "check");
}

static char *eval_dump(const char *id) {
  char sql[600];
  snprintf(sql, sizeof sql,
           "SELECT p.seq, p.unit, p.dist, p.k, hex(p.max_ulp), printf('%%.17g', p.norm_err), "
           "printf('%%.17g', p.mean_comp), p.swamped_terms, h.kind, h.bin, h.count FROM "
           "v_mma_eval p JOIN v_mma_eval_hist h ON h.eval = p.eval AND h.seq = p.seq "
           "WHERE p.eval = %s ORDER BY 1, 9, 10",
           id);
  return tool_sql_dump("tessera.db", sql);
}

static void a_study_again_gives_the_same_bits(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++)
    TOOL_EXPECT(0, "mma", "eval", UNIT, "nv_hopper_wgmma_k32_f32_e4m3_f32", "--k", "8,96",
                "--dist", "all", "--m", "5", "--n", "5", "--seed", i == 2 ? "8" : "7");
  char *a = eval_dump("1"), *b = eval_dump("2"), *c = eval_dump("3");
  assert_string_equal(a, b);
  assert_string_not_equal(a, c);
  free(a), free(b), free(c);
}

/* ---- run --numerics full ---- */

static char *numeric_dump(int64_t run, const char *where) {
  char sql[700];
  snprintf(sql, sizeof sql,
           "SELECT layer, seq, tensor, k_from, k_to, checked_elems, printf('%%.17g', max_ulp), "
           "printf('%%.17g', mean_ulp), printf('%%.17g', norm_err), printf('%%.17g', bias), "
           "overflow, underflow, saturated, nan FROM v_numeric WHERE run = %d %s "
           "ORDER BY layer, seq",
           (int)run, where);
  return tool_sql_dump("tessera.db", sql);
}

/* Layers of at most 64 outputs, 8 by 8: the sample is the whole layer, in one order. */
static void full_and_sample_agree_where_they_see_the_same(void **state) {
  (void)state;
  static const struct {
    const char *set[3], *workload;
  } rows[] = {
      {{"tile.mma=" UNIT, NULL}, "gemm:8x8x600,8x8x64,8x8x1,8x8x1153"},
      {{NULL}, "gemm:8x8x600"},
      {{"tile.formats.out=fp32", NULL}, "gemm:8x8x777"},
      {{"tile.formats.a=int8", "tile.formats.b=int8", NULL}, "gemm:8x8x300"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const char *args[32] = {
        "run", "--arch", "systolic-32", "--workload", rows[i].workload, "--numerics", "sample"};
    size_t n = 7;
    for (size_t s = 0; s < 3 && rows[i].set[s]; s++) {
      args[n++] = "--set";
      args[n++] = rows[i].set[s];
    }
    if (strstr(rows[i].set[0] ? rows[i].set[0] : "", "int8")) {
      args[n++] = "--set";
      args[n++] = "tile.formats.acc=int32";
      args[n++] = "--set";
      args[n++] = "tile.formats.out=int8";
    }
    tool_expect(0, args);
    args[6] = "full";
    tool_expect(0, args);
    int64_t run = tool_runs("tessera.db");
    char *sample = numeric_dump(run - 1, "AND seq = 0"),
         *full = numeric_dump(run, "AND seq = 0");
    assert_true(strlen(sample) > 0);
    assert_string_equal(sample, full);
    free(sample), free(full);
  }
  /* The end of the way along K is the accumulator of the whole layer. */
  assert_int_equal(
      tool_sql_int(
          "tessera.db",
          "SELECT count(*) FROM v_numeric a JOIN v_numeric b USING (run, layer, k_to) "
          "WHERE a.seq = 1 AND b.seq > 1 AND b.tensor = 'acc' AND a.max_ulp = b.max_ulp "
          "AND a.mean_ulp = b.mean_ulp AND a.norm_err IS b.norm_err AND "
          "a.max_comp = b.max_comp AND a.bound IS b.bound"),
      7);
  TOOL_EXPECT(0, "db", "check");
}

static void a_whole_layer_is_computed_and_split(void **state) {
  (void)state;
  TOOL_EXPECT(0, "run", "--arch", "systolic-128", "--workload", "gemm:300x300x513", "--set",
              "tile.mma=" UNIT, "--numerics", "full");
  static const struct {
    const char *sql;
    int64_t want;
  } rows[] = {
      {"SELECT checked_elems FROM v_numeric WHERE seq = 0", 90000},
      {"SELECT count(DISTINCT tensor) FROM v_numeric", 7},
      /* every result lies in one bin */
      {"SELECT count(*) FROM (SELECT x.seq, x.checked_elems AS n, sum(h.count) AS c FROM "
       "v_numeric x JOIN v_numeric_hist h USING (run, layer, seq) GROUP BY x.seq HAVING n <> "
       "c)",
       0},
      /* ranges of K follow each other and end at K */
      {"SELECT sum(k_to - k_from) FROM v_numeric WHERE tensor = 'range'", 513},
      {"SELECT count(*) FROM v_numeric WHERE tensor = 'acc' AND max_comp > bound", 0},
      {"SELECT count(*) FROM v_numeric WHERE tensor = 'acc' AND bound IS NULL", 0},
      /* the parts add up: bias is a mean, and means add (same ulp for all but one) */
      {"SELECT abs((SELECT bias FROM v_numeric WHERE tensor = 'out') - (SELECT sum(bias) FROM "
       "v_numeric WHERE tensor IN ('accumulation', 'rounding'))) < 1e-12",
       1},
      /* rounding to nearest costs at most half an ulp */
      {"SELECT max_ulp <= 0.5 FROM v_numeric WHERE tensor = 'rounding'", 1},
      {"SELECT terms = 64 * (k_to - k_from) FROM v_numeric WHERE tensor = 'range' AND k_from = "
       "0",
       1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (tool_sql_int("tessera.db", rows[i].sql) != rows[i].want)
      fail_msg("%s: %d", rows[i].sql, (int)tool_sql_int("tessera.db", rows[i].sql));
  TOOL_EXPECT(0, "rerun", "last");
}

/* A convolution in im2col form, with padding, strides and groups, 8 x 8 outputs. */
static void convolutions_agree_too(void **state) {
  (void)state;
  static const char csv[] =
      "model,layer,op,M,N,K,count,notes,batch,in_c,in_h,in_w,out_c,k_h,k_w,stride_h,stride_w,"
      "pad_t,pad_l,pad_b,pad_r,dil_h,dil_w,groups,after\n"
      "m,a,conv,8,8,144,1,,1,16,8,4,8,3,3,2,2,1,1,1,1,1,1,1,\n";
  tool_write("net.csv", csv, sizeof csv - 1);
  for (int i = 0; i < 2; i++)
    TOOL_EXPECT(0, "run", "--arch", "systolic-32", "--workload", "net.csv", "--numerics",
                i ? "full" : "sample");
  char *sample = numeric_dump(1, "AND seq = 0"), *full = numeric_dump(2, "AND seq = 0");
  assert_string_equal(sample, full);
  free(sample), free(full);
}

static void what_a_unit_cannot_multiply_is_refused(void **state) {
  (void)state;
  static const struct {
    int rc;
    const char *set, *words;
  } rows[] = {{3, "tile.mma=nv_hopper_mma_m16n8k16_f32_bf16_f32", "bf16"},
              {2, "tile.mma=nv_hoper", "nv_hoper"},
              {3, "tile.mma=int_s8_s8_s32_wrap", "int8"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tool_result r;
    TOOL(&r, "run", "--arch", "systolic-32", "--workload", "gemm:8x8x8", "--numerics", "full",
         "--set", rows[i].set);
    if (r.rc != rows[i].rc || !strstr(r.err, rows[i].words))
      fail_msg("%s: exit %d\n%s", rows[i].set, r.rc, r.err);
    tool_result_fini(&r);
  }
  assert_int_equal(tool_runs("tessera.db"), 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, tool_enter, tool_leave)
  const struct CMUnitTest tests[] = {
      T(every_unit_is_listed_once),
      T(vectors_replay_without_a_mismatch),
      T(a_mismatch_is_exit_1_and_named),
      T(bad_files_and_names_are_told),
      T(a_study_is_stored_printed_and_drawn),
      T(a_study_again_gives_the_same_bits),
      T(full_and_sample_agree_where_they_see_the_same),
      T(a_whole_layer_is_computed_and_split),
      T(convolutions_agree_too),
      T(what_a_unit_cannot_multiply_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
