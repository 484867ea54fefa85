/* Every command: its help, its options, its JSON, and output that cannot be written. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/cli/tool.h"

struct command {
  const char *name, *options[10];
};
static const struct command commands[] = {
    {"run",
     {"--arch=", "--workload=", "--set=", "--batch=", "--numerics=", "--trace=", "--model=",
      "--seed=", "--name="}},
    {"rerun", {NULL}},
    {"show", {"--csv"}},
    {"roofline", {"--output="}},
    {"check", {NULL}},
    {"config", {"--arch=", "--set=", "--yaml", "--keys"}},
    {"presets", {NULL}},
    {"models", {"--assumed", "--isa", "--formats", "--components"}},
    {"map",
     {"--arch=", "--workload=", "--mapping=", "--set=", "--batch=", "--objective=", "--seed=",
      "--output="}},
    {"lower",
     {"--arch=", "--workload=", "--mapping=", "--set=", "--batch=", "--layer=", "--output="}},
    {"asm", {"--output="}},
    {"disasm", {NULL}},
    {"dram", {"--preset=", "--trace=", "--scenario=", "--requests=", "--inject=", "--set="}},
    {"mma", {"--model=", "--k=", "--m=", "--n=", "--dist=", "--seed=", "--output="}},
    {"import", {"--output="}},
    {"db", {NULL}},
    {"help", {NULL}},
};
static const char *const common[] = {"--json", "--quiet", "--db=", "--help", NULL};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void expect_mentions(const char *text, const char *const *words, const char *name) {
  for (size_t i = 0; words[i]; i++)
    if (!strstr(text, words[i])) fail_msg("the help of %s lacks %s", name, words[i]);
}

static void help_tells_every_option(void **state) {
  (void)state;
  static const char *const ways[] = {"--help", "-h"};
  for (size_t i = 0; i < COMMANDS; i++) {
    for (int w = 0; w < 2; w++) {
      struct tool_result r;
      TOOL(&r, commands[i].name, ways[w]);
      assert_int_equal(r.rc, 0);
      assert_string_equal(r.err, "");
      expect_mentions(r.out, commands[i].options, commands[i].name);
      expect_mentions(r.out, common, commands[i].name);
      tool_result_fini(&r);
    }
    struct tool_result r;
    TOOL(&r, "help", commands[i].name);
    assert_int_equal(r.rc, 0);
    expect_mentions(r.out, commands[i].options, commands[i].name);
    tool_result_fini(&r);
  }
}

/* The table above is the program's own list. */
static void the_list_of_commands_is_complete(void **state) {
  (void)state;
  struct tool_result r;
  TOOL(&r, "help", "--json");
  json_t *all = json_loadb(r.out, r.out_n, 0, NULL), *list = json_object_get(all, "commands");
  assert_int_equal(json_array_size(list), COMMANDS);
  for (size_t i = 0; i < COMMANDS; i++)
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, i), "name")),
                        commands[i].name);
  json_decref(all);
  tool_result_fini(&r);
  static const char *const ways[] = {"help", "--help", "-h", NULL};
  for (size_t i = 0; i <= 3; i++) {
    tool_run(&r, (const char *const[]){ways[i], NULL});
    assert_int_equal(r.rc, 0);
    for (size_t c = 0; c < COMMANDS; c++) assert_non_null(strstr(r.out, commands[c].name));
    tool_result_fini(&r);
  }
}

static void unknown_options_are_a_usage_error(void **state) {
  (void)state;
  static const char *const wrong[] = {"--bogus", "-Z", "--jsonn=1"};
  for (size_t i = 0; i < COMMANDS; i++)
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
      struct tool_result r;
      TOOL(&r, commands[i].name, wrong[w]);
      if (r.rc != 2) fail_msg("%s %s: exit %d", commands[i].name, wrong[w], r.rc);
      assert_int_equal(r.out_n, 0);
      assert_true(*r.err);
      tool_result_fini(&r);
    }
  TOOL_EXPECT(2, "--bogus");
  TOOL_EXPECT(2, "");
}

/* ---- output ---- */

/* With a store of one run and the files net.csv, p.bin, p.s; a key that the object has. */
struct output {
  const char *args[10], *key;
};
static const struct output outputs[] = {
    {{"run", "--arch", "systolic-32", "--workload", "gemm:8x8x8"}, "totals"},
    {{"rerun", "first"}, "equal"},
    {{"show", "runs"}, "runs"},
    {{"show", "layers", "first"}, "layers"},
    {{"show", "units", "first"}, "units"},
    {{"show", "stalls", "first"}, NULL},
    {{"show", "kernels", "first"}, NULL},
    {{"show", "numerics", "first"}, NULL},
    {{"roofline", "first", "-o", "r.svg"}, "file"},
    {{"check", "net.csv", "p.bin", "arch.yaml"}, "files"},
    {{"config", "--arch", "systolic-32"}, "values"},
    {{"config", "--keys"}, "keys"},
    {{"config", "--arch", "systolic-32", "--yaml"}, "values"},
    {{"presets"}, "presets"},
    {{"presets", "arch"}, "presets"},
    {{"models"}, "models"},
    {{"models", "--isa"}, "models"},
    {{"models", "--assumed"}, "models"},
    {{"models", "--formats", "--components"}, "models"},
    {{"lower", "--arch", "systolic-32", "--workload", "gemm:8x8x8,9x9x9"}, "layers"},
    {{"lower", "--arch", "systolic-32", "--workload", "gemm:8x8x8", "-o", "q.bin"}, "layers"},
    {{"map", "--arch", "systolic-32", "--workload", "gemm:8x8x8", "-o", "q.yaml"}, "layers"},
    {{"asm", "p.s"}, "words"},
    {{"asm", "p.s", "-o", "q.bin"}, "output"},
    {{"disasm", "p.bin"}, "text"},
    {{"import", "scalesim", "net.csv"}, "runs"},
    {{"db", "info"}, "schema_version"},
    {{"db", "check"}, "ok"},
    {{"db", "migrate"}, "schema_version"},
    {{"mma", "list"}, "units"},
    {{"mma", "eval", "acc_seqfma_fp16_fp16", "--k", "16", "--m", "2", "--n", "2"}, "points"},
    {{"help"}, "commands"},
};
enum { OUTPUTS = sizeof outputs / sizeof outputs[0] };

static int enter_with_files(void **state) {
  static const char csv[] = "model,layer,op,M,N,K,count,notes\nm,a,gemm,4,5,6,1,\n";
  if (tool_enter(state)) return -1;
  tool_write("net.csv", csv, sizeof csv - 1);
  TOOL_EXPECT(0, "run", "--arch", "systolic-32", "--workload", "net.csv", "--name", "first",
              "--numerics", "sample");
  TOOL_EXPECT(0, "lower", "--arch", "systolic-32", "--workload", "net.csv", "-o", "p.bin");
  struct tool_result r;
  TOOL(&r, "disasm", "p.bin");
  tool_write("p.s", r.out, r.out_n);
  tool_result_fini(&r);
  TOOL(&r, "config", "--arch", "systolic-32", "--yaml");
  tool_write("arch.yaml", r.out, r.out_n);
  tool_result_fini(&r);
  return 0;
}

enum { ARGS = 12 };

static const char **with_json(const struct output *o, bool json, const char *args[ARGS]) {
  size_t n = 0;
  for (size_t i = 0; i < ARGS; i++) args[i] = NULL;
  for (; o->args[n]; n++) args[n] = o->args[n];
  if (json) args[n] = "--json";
  return args;
}

static void json_is_one_object_and_nothing_else(void **state) {
  (void)state;
  for (size_t i = 0; i < OUTPUTS; i++) {
    const char *args[ARGS];
    struct tool_result r;
    json_error_t e;
    tool_run(&r, with_json(&outputs[i], true, args));
    if (r.rc) fail_msg("%s: exit %d\n%s", args[0], r.rc, r.err);
    json_t *j = json_loadb(r.out, r.out_n, JSON_REJECT_DUPLICATES, &e);
    if (!json_is_object(j)) fail_msg("%s %s: %s\n%s", args[0], args[1], e.text, r.out);
    if (outputs[i].key) assert_non_null(json_object_get(j, outputs[i].key));
    json_decref(j);
    tool_result_fini(&r);
  }
}

/* To a file, and says nothing then. */
static bool writes_a_program(const char *const *args) {
  bool output = false;
  for (size_t i = 0; args[i]; i++) output = output || !strcmp(args[i], "-o");
  return output && (!strcmp(args[0], "lower") || !strcmp(args[0], "asm"));
}

static void output_that_cannot_be_written_is_exit_5(void **state) {
  (void)state;
  static const enum tool_stdout wheres[] = {TOOL_STDOUT_FULL, TOOL_STDOUT_CLOSED};
  for (size_t w = 0; w < 2; w++) {
    for (size_t i = 0; i < 2 * OUTPUTS; i++) {
      const char *args[ARGS];
      struct tool_result r;
      with_json(&outputs[i / 2], i % 2, args);
      bool silent = !(i % 2) && writes_a_program(args);
      tool_run_to(&r, wheres[w], args);
      if (r.rc != (silent ? 0 : 5)) fail_msg("%s %s: exit %d", args[0], args[1], r.rc);
      if (!silent) {
        const char *at = strstr(r.err, "standard output cannot be written");
        assert_non_null(at);
        assert_null(strstr(at + 1, "standard output")); /* told once */
      }
      tool_result_fini(&r);
    }
    struct tool_result r;
    static const char *const more[][3] = {{"--version"}, {"run", "--help"}, {"help", "run"}};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
      tool_run_to(&r, wheres[w], (const char *const[]){more[i][0], more[i][1], NULL});
      assert_int_equal(r.rc, 5);
      tool_result_fini(&r);
    }
  }
  TOOL_EXPECT(0, "db", "check"); /* nothing was written into the store instead */
}

static void quiet_says_nothing_but_results_and_errors(void **state) {
  (void)state;
  struct tool_result r;
  TOOL(&r, "run", "--quiet", "--arch", "systolic-32", "--workload", "gemm:8x8x8");
  assert_int_equal(r.rc, 0);
  assert_string_equal(r.err, "");
  assert_true(r.out_n > 0);
  tool_result_fini(&r);
  TOOL(&r, "run", "--quiet", "--arch", "nosuch", "--workload", "gemm:8x8x8");
  assert_int_equal(r.rc, 2);
  assert_non_null(strstr(r.err, "error: "));
  tool_result_fini(&r);
}

/* The array's own cycles in the closing lines are those of its states. */
static void a_run_tells_what_its_array_did(void **state) {
  (void)state;
  struct tool_result r;
  uint64_t compute = 0, streaming = 0, fill = 0, stalled = 0;
  TOOL(&r, "run", "--arch", "systolic-32", "--workload", "gemm:100x200x300", "--quiet");
  assert_int_equal(r.rc, 0);
  const char *at = strstr(r.out, "inferences/s\n");
  assert_non_null(at);
  assert_int_equal(sscanf(strchr(at, '\n'),
                          " %" SCNu64 " compute: %" SCNu64 " streaming, %" SCNu64
                          " fill and drain; %" SCNu64 " stalled",
                          &compute, &streaming, &fill, &stalled),
                   4);
  assert_int_equal(streaming + fill, compute);
  assert_true(fill > 0);
  assert_int_equal(streaming,
                   tool_sql_int("tessera.db", "SELECT sum(cycles) FROM v_units WHERE "
                                              "unit LIKE '%tile0' AND state='busy'"));
  assert_int_equal(compute + stalled, tool_sql_int("tessera.db", "SELECT cycles FROM v_runs"));
  tool_result_fini(&r);
  TOOL(&r, "run", "--arch", "systolic-32", "--workload", "gemm:9x9x9", "--trace", "off");
  assert_non_null(strstr(r.out, " compute; "));
  tool_result_fini(&r);
}

static void a_table_without_rows_is_a_note(void **state) {
  (void)state;
  static const char *const tables[][2] = {{"numerics", "run with --numerics sample"},
                                          {"units", "run with --trace summary"}};
  TOOL_EXPECT(0, "run", "--arch", "systolic-32", "--workload", "gemm:9x9x9", "--trace", "off");
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    struct tool_result r;
    TOOL(&r, "show", tables[i][0]);
    assert_int_equal(r.rc, 0);
    assert_int_equal(strncmp(r.err, "note: ", 6), 0);
    assert_non_null(strstr(r.err, tables[i][1]));
    assert_null(strstr(r.out, "note"));
    tool_result_fini(&r);
    TOOL(&r, "show", tables[i][0], "--quiet");
    assert_string_equal(r.err, "");
    tool_result_fini(&r);
  }
}

/* What a run that keeps results says of itself without is what that run then comes to. */
static void what_stays_on_the_chip_is_told_with_and_without(void **state) {
  (void)state;
  struct tool_result r;
  uint64_t cycles = 0, bytes = 0;
  TOOL_EXPECT(0, "run", "--arch", "tpu-v1", "--workload", "transformer-block");
  TOOL(&r, "run", "--arch", "tpu-v1", "--workload", "transformer-block", "--keep", "8MiB");
  assert_int_equal(r.rc, 0);
  assert_int_equal(sscanf(r.err,
                          "note: without what stays on the chip, by templates: %" SCNu64
                          " cycles, %" SCNu64 " bytes",
                          &cycles, &bytes),
                   2);
  tool_result_fini(&r);
  assert_int_equal(cycles, tool_sql_int("tessera.db", "SELECT cycles FROM v_runs WHERE run=1"));
  assert_int_equal(
      bytes, tool_sql_int("tessera.db",
                          "SELECT dram_read_bytes + dram_write_bytes FROM v_runs WHERE run=1"));
  assert_true(bytes > (uint64_t)tool_sql_int(
                          "tessera.db",
                          "SELECT dram_read_bytes + dram_write_bytes FROM v_runs WHERE run=2"));
  TOOL(&r, "run", "--arch", "tpu-v1", "--workload", "transformer-block", "--keep", "auto");
  assert_int_equal(r.rc, 0);
  assert_int_equal(strncmp(r.err, "note: keep auto: ", 17), 0);
  tool_result_fini(&r);
}

/* What goes wrong while ways to keep results are tried ends as any other error does. */
static void what_keep_cannot_try_is_one_error(void **state) {
  (void)state;
  static const char *const how[][2] = {{"--keep", "auto"}, {"--mapping", "best"}};
  for (size_t i = 0; i < sizeof how / sizeof how[0]; i++) {
    struct tool_result r;
    TOOL(&r, "run", "--arch", "nosuch", "--workload", "resnet50", how[i][0], how[i][1]);
    assert_int_equal(r.rc, 2);
    assert_non_null(strstr(r.err, "error: "));
    tool_result_fini(&r);
    TOOL(&r, "run", "--arch", "tpu-v1", "--workload", "nosuch", how[i][0], how[i][1]);
    assert_int_equal(r.rc, 2);
    assert_non_null(strstr(r.err, "error: "));
    tool_result_fini(&r);
  }
}

/* In code points, blanks at an end left out. */
static void texts_fit_a_hundred_columns(void **state) {
  (void)state;
  static const char *const ways[][4] = {{"models"},
                                        {"models", "--isa"},
                                        {"models", "--assumed"},
                                        {"models", "--formats"},
                                        {"config", "--keys"},
                                        {"presets"},
                                        {"show", "runs"},
                                        {"show", "layers"},
                                        {"show", "units"},
                                        {"show", "kernels"},
                                        {"show", "numerics"},
                                        {"config", "-a", "systolic-128"}};
  TOOL_EXPECT(0, "run", "--arch", "systolic-128", "--workload", "mobilenetv2", "--name",
              "a-name-of-many-letters-for-one-run", "--set", "dram.bandwidth=301GB/s", "--set",
              "sram.a.size=16MiB", "--numerics", "sample");
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    struct tool_result r;
    TOOL(&r, ways[i][0], ways[i][1], ways[i][2]);
    assert_int_equal(r.rc, 0);
    size_t columns = 0;
    for (const char *p = r.out; *p; p++) {
      columns = *p == '\n' ? 0 : columns + (((unsigned char)*p & 0xc0) != 0x80);
      if (columns > 100)
        fail_msg("%s %s: a line of more than 100 columns", ways[i][0],
                 ways[i][1] ? ways[i][1] : "");
    }
    assert_null(strstr(r.out, "SRC:assumed"));
    tool_result_fini(&r);
  }
}

static void the_version_is_one_line(void **state) {
  (void)state;
  struct tool_result r;
  TOOL(&r, "--version");
  assert_int_equal(r.rc, 0);
  assert_int_equal(strncmp(r.out, "tessera ", 8), 0);
  assert_ptr_equal(strchr(r.out, '\n'), r.out + r.out_n - 1);
  tool_result_fini(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(help_tells_every_option, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(the_list_of_commands_is_complete, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(unknown_options_are_a_usage_error, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(json_is_one_object_and_nothing_else, enter_with_files,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(output_that_cannot_be_written_is_exit_5, enter_with_files,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(quiet_says_nothing_but_results_and_errors, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(a_run_tells_what_its_array_did, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(a_table_without_rows_is_a_note, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(what_keep_cannot_try_is_one_error, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(what_stays_on_the_chip_is_told_with_and_without,
                                      tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(texts_fit_a_hundred_columns, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(the_version_is_one_line, tool_enter, tool_leave)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
