/* A program on its way: lowered, as text, as binary, as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/cli/tool.h"

static void expect_output(const char *want, const char *const *args) {
  struct tool_result r;
  tool_run(&r, args);
  assert_int_equal(r.rc, 0);
  assert_string_equal(r.out, want);
  tool_result_fini(&r);
}
#define OUTPUT(want, ...) expect_output(want, (const char *const[]){__VA_ARGS__, NULL})

static void the_text_of_lower_assembles_to_its_binary(void **state) {
  (void)state;
  static const char *const flows[] = {"tile.dataflow=os", "tile.dataflow=ws",
                                      "tile.dataflow=is"};
  for (size_t i = 0; i < sizeof flows / sizeof flows[0]; i++) {
    struct tool_result text;
    size_t n, m;
    TOOL(&text, "lower", "--arch", "systolic-32", "--workload", "resnet50", "--layer", "conv1",
         "--set", flows[i]);
    tool_write("p.s", text.out, text.out_n);
    TOOL_EXPECT(0, "lower", "--arch", "systolic-32", "--workload", "resnet50", "--layer",
                "conv1", "--set", flows[i], "-o", "want.bin");
    OUTPUT("", "asm", "p.s", "-o", "p.bin");
    char *want = tool_read("want.bin", &n), *got = tool_read("p.bin", &m);
    assert_non_null(got);
    assert_int_equal(n, m);
    assert_memory_equal(want, got, n);
    /* the comment of `lower` apart, `disasm` prints what was assembled */
    OUTPUT(strchr(text.out, '\n') + 1, "disasm", "p.bin");
    free(want);
    free(got);
    tool_result_fini(&text);
  }
}

static void the_summary_counts_instructions_and_words(void **state) {
  (void)state;
  static const char source[] = "n = 2KiB\nsem s0, n\nloop l0, n\nend l0\nhalt\n";
  tool_write("p.s", source, sizeof source - 1);
  OUTPUT("p.s: 4 instructions, 5 words\n", "asm", "p.s");
  OUTPUT("{\"file\": \"p.s\", \"cores\": 1, \"programs\": 1, \"instructions\": 4, \"words\": "
         "5, \"output\": null}\n",
         "asm", "p.s", "--json");
  OUTPUT("{\"file\": \"p.s\", \"cores\": 1, \"programs\": 1, \"instructions\": 4, \"words\": "
         "5, \"output\": \"p.bin\"}\n",
         "asm", "p.s", "--json", "-o", "p.bin");
  OUTPUT("p.bin: program of 4 instructions for 1 core\n", "check", "p.bin");
}

/* A binary that is there stays when its next source is wrong. */
static void a_wrong_source_writes_nothing(void **state) {
  (void)state;
  size_t n, m;
  tool_write("p.s", "halt\n", 5);
  TOOL_EXPECT(0, "asm", "p.s", "-o", "p.bin");
  char *before = tool_read("p.bin", &n);
  TOOL_EXPECT(5, "asm", "p.s", "-o", "nowhere/p.bin");
  tool_write("p.s", "halt\nhalt\n", 10);
  TOOL_EXPECT(3, "asm", "p.s", "-o", "p.bin");
  char *after = tool_read("p.bin", &m);
  assert_int_equal(n, m);
  assert_memory_equal(before, after, n);
  free(before);
  free(after);
}

/* What is described behind a request is for those behind it, however far issue is ahead. */
static void a_later_description_changes_no_request(void **state) {
  (void)state;
  static const char *const later[] = {"",
                                      "format f0, \"bf16\"\n",
                                      "format f2, \"bf16\"\n",
                                      "format f3, \"bf16\"\n",
                                      "place p0, a, f0, elem=2, base=2, wrap=64\n",
                                      "axis c, none, size=1, tile=1\n",
                                      "box t0, i=2, extent=1\n"};
  struct tool_result text;
  TOOL(&text, "lower", "--arch", "systolic-32", "--workload", "gemm:8x8x8");
  size_t n = text.out_n - strlen("halt\n");
  assert_string_equal(text.out + n, "halt\n");
  for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
    char *p = malloc(text.out_n + 128);
    assert_non_null(p);
    int size = sprintf(p, "%.*s%shalt\n", (int)n, text.out, later[i]);
    tool_write("p.s", p, (size_t)size);
    TOOL_EXPECT(0, "run", "--arch", "systolic-32", "--workload", "gemm:8x8x8", "--program",
                "p.s", "--numerics", "full");
    free(p);
  }
  tool_result_fini(&text);
}

/* A product of one element, at a rate. */
#define PRODUCT(rate)                                                                      \
  "format f0, \"fp16\"\nformat f1, \"fp32\"\ntensor t0, f0, elem=2, base=0\n"              \
  "dim t0, i=0, size=8, stride=16\ndim t0, i=1, size=8, stride=2\n"                        \
  "box t0, i=0, extent=8\nbox t0, i=1, extent=8\n"                                         \
  "place p0, a, f0, elem=2, base=0, wrap=128\nplace p1, b, f0, elem=2, base=0, wrap=128\n" \
  "place p2, c, f1, elem=4, base=0, wrap=256\naxis c, none, size=1, tile=1\n"              \
  "load t0, p0\nload t0, p1\nsignal load, s0, done\nwait tile, s0, start\n"                \
  "mm p2, p0, p1, t0, t0, t0, over=none, rate=" rate "\nsignal tile, s1, done\n"           \
  "wait store, s1, start\nstore t0, p2\nhalt\n"

static void what_no_machine_can_run_is_told(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int rc;
    const char *says;
  } rows[] = {
      {PRODUCT("1"), 0, ""},
      {PRODUCT("2"), 3, "multiplies fp16 by fp16 into fp32 at a rate of at most 1, got 2"},
      {PRODUCT("255"), 3, "at a rate of at most 1, got 255"},
      {"loop l0, trips=1000000000000\nend l0\nhalt\n", 4,
       "core 0, instruction 1 (end l0): asks no unit for anything for 16777216 instructions"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tool_result r;
    tool_write("p.s", rows[i].text, strlen(rows[i].text));
    TOOL(&r, "run", "--arch", "systolic-32", "--program", "p.s", "--quiet");
    if (r.rc != rows[i].rc || !strstr(r.err, rows[i].says))
      fail_msg("%zu: exit %d\n%s", i, r.rc, r.err);
    tool_result_fini(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_text_of_lower_assembles_to_its_binary, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(the_summary_counts_instructions_and_words, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(a_wrong_source_writes_nothing, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(a_later_description_changes_no_request, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(what_no_machine_can_run_is_told, tool_enter, tool_leave)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
