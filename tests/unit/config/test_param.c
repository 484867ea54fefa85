#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "sim/base/str.h"
#include "sim/config/param.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

enum { OS, WS, IS };
static const char *const dataflows[] = {"os", "ws", "is", NULL};

struct unit {
  uint64_t rows, size, clock, latency, rate;
  int dataflow;
  bool preload;
  char a[TSR_PARAM_NAME_MAX], b[TSR_PARAM_NAME_MAX];
  double share;
  char units[TSR_PARAM_TEXT_MAX];
};

#define AT(f) \
  .offset = offsetof(struct unit, f), .uncertainty = "exact", .doc = "d", .src = "assumed"
static const struct tsr_param table[] = {
    {.key = "rows",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = 4096,
     AT(rows)},
    {.key = "size",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_BYTES,
     .low = 1024,
     .high = UINT64_MAX,
     .unlimited = true,
     .def = "512KiB",
     AT(size)},
    {.key = "clock",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_HZ,
     .low = 1,
     .high = 10000000000,
     .def = "1GHz",
     AT(clock)},
    {.key = "latency",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_FS,
     .low = 0,
     .high = TSR_FS_PER_S,
     .def = "45ns",
     AT(latency)},
    {.key = "rate",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_BYTES_PER_S,
     .low = 1,
     .high = UINT64_MAX,
     .def = "600GB/s",
     AT(rate)},
    {.key = "dataflow", .type = TSR_PARAM_ENUM, .names = dataflows, .def = "ws", AT(dataflow)},
    {.key = "preload", .type = TSR_PARAM_BOOL, .def = "true", AT(preload)},
    {.key = "formats.a", .type = TSR_PARAM_NAME, .def = "int8", AT(a)},
    {.key = "formats.b", .type = TSR_PARAM_NAME, .def = "", AT(b)},
    {.key = "share", .type = TSR_PARAM_REAL, .rlow = 0, .rhigh = 1, .def = "0.25", AT(share)},
    {.key = "units", .type = TSR_PARAM_TEXT, .def = "", AT(units)},
    {.key = NULL},
};

struct result {
  enum tsr_status st;
  struct unit u;
  bool seen[LEN(table) - 1];
  char *text;
};

static struct result read_text(const char *text) {
  static const char *const ignore[] = {"kind", NULL};
  struct tsr_arena *a = tsr_arena_create();
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_node *root;
  struct result r;
  memset(&r, 0, sizeof r);
  assert_int_equal(tsr_config_tree_parse(a, "f", text, strlen(text), &root, NULL), TSR_OK);
  tsr_param_defaults(table, &r.u);
  r.st = tsr_param_read(table, "tile.", root, ignore, &r.u, r.seen, &err);
  assert_int_equal(r.st, err.status);
  r.text = tsr_err_text(&err);
  tsr_err_fini(&err);
  tsr_arena_destroy(a);
  return r;
}

static void defaults_fill_every_field_but_required_ones(void **state) {
  (void)state;
  struct unit u;
  memset(&u, 0, sizeof u);
  u.rows = 77;
  tsr_param_defaults(table, &u);
  assert_int_equal(u.rows, 77);
  assert_int_equal(u.size, 524288);
  assert_int_equal(u.clock, 1000000000);
  assert_int_equal(u.latency, 45000000);
  assert_true(u.rate == 600000000000);
  assert_int_equal(u.dataflow, WS);
  assert_true(u.preload);
  assert_string_equal(u.a, "int8");
  assert_string_equal(u.b, "");
  assert_true(u.share == 0.25);
  assert_string_equal(u.units, "");
  assert_int_equal(tsr_param_count(table), 11);
}

static void values_are_read(void **state) {
  (void)state;
  struct result r =
      read_text("kind: x\nrows: 4096\nsize: unlimited\nclock: 0.7GHz\nlatency: 0\n"
                "rate: '1B/s'\ndataflow: os\npreload: false\n"
                "formats: {b: fp8_e4m3, a: \"\"}\nshare: 1e-3\n"
                "units: x_1;fused:L=16,order=strided:4\n");
  assert_string_equal(r.text, "");
  assert_int_equal(r.st, TSR_OK);
  assert_int_equal(r.u.rows, 4096);
  assert_true(r.u.size == TSR_UNLIMITED);
  assert_int_equal(r.u.clock, 700000000);
  assert_int_equal(r.u.latency, 0);
  assert_int_equal(r.u.rate, 1);
  assert_int_equal(r.u.dataflow, OS);
  assert_false(r.u.preload);
  assert_string_equal(r.u.a, "");
  assert_string_equal(r.u.b, "fp8_e4m3");
  assert_true(r.u.share == 0.001);
  assert_string_equal(r.u.units, "x_1;fused:L=16,order=strided:4");
  for (size_t i = 0; i < LEN(r.seen); i++) assert_true(r.seen[i]);
  tsr_mem_free(r.text);
}

static void only_given_rows_are_seen(void **state) {
  (void)state;
  struct result r = read_text("rows: 8\nformats: {a: fp16}\n");
  assert_int_equal(r.st, TSR_OK);
  for (size_t i = 0; i < LEN(r.seen); i++) assert_int_equal(r.seen[i], i == 0 || i == 7);
  tsr_mem_free(r.text);
}

static void mistakes_are_answered_with_the_rule(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum tsr_status st;
    const char *first; /* the first line */
    const char *part;  /* somewhere in the text */
  } rows[] = {
      {"rows: 0", TSR_INPUT,
       "f:1:7: error: 'tile.rows' is out of range; expected a whole number such as 32, from 1 "
       "to "
       "4096, got '0'\n",
       "rows: 0\n      ^\n"},
      {"units: a*b", TSR_INPUT, "f:1:8: error: 'tile.units' holds a character",
       "expected at most 511 letters, digits, '-', '_', '.', ':', '=', ',' and ';', got 'a*b'"},
      {"rows: 4097", TSR_INPUT, "f:1:7: error: 'tile.rows' is out of range;", "      ^~~~\n"},
      {"rows: 32B", TSR_INPUT, "f:1:7: error: 'tile.rows' takes no unit;", "got '32B'"},
      {"rows: x", TSR_INPUT, "f:1:7: error: 'tile.rows' is no number;", "got 'x'"},
      {"rows: -1", TSR_INPUT, "f:1:7: error: 'tile.rows' is negative;", "got '-1'"},
      {"rows: 1.5", TSR_INPUT, "f:1:7: error: 'tile.rows' is no whole number", "got '1.5'"},
      {"rows: '8'", TSR_INPUT, "f:1:7: error: 'tile.rows' is a quoted text;", "got '8'"},
      {"rows: 99999999999999999999", TSR_INPUT, "f:1:7: error: 'tile.rows' is too large;", ""},
      {"rows: unlimited", TSR_INPUT, "f:1:7: error: 'tile.rows' cannot be unlimited;", ""},
      {"rows: [1]", TSR_INPUT, "f:1:7: error: 'tile.rows' is a list; expected", ""},
      {"rows: {a: 1}", TSR_INPUT, "f:1:7: error: 'tile.rows' is a mapping; expected", ""},
      {"rows:", TSR_INPUT, "f:1:6: error: 'tile.rows' has no value; expected", ""},
      {"{}", TSR_INPUT,
       "f:1:1: error: 'tile.rows' is missing; expected a whole number such as 32, from 1 to "
       "4096\n",
       ""},
      {"rows: 1\nsize: 512", TSR_INPUT,
       "f:2:7: error: 'tile.size' has no unit or a wrong one; expected a size such as 512KiB, "
       "at "
       "least 1KiB, or unlimited, got '512'\n",
       ""},
      {"rows: 1\nsize: 1B", TSR_INPUT, "f:2:7: error: 'tile.size' is out of range;",
       "at least 1KiB"},
      {"rows: 1\nclock: 45ns", TSR_INPUT,
       "f:2:8: error: 'tile.clock' has no unit or a wrong one;",
       "from 1Hz to 10GHz, got '45ns'"},
      {"rows: 1\nlatency: 0.1fs", TSR_INPUT, "f:2:10: error: 'tile.latency' is no whole number",
       ""},
      {"rows: 1\ndataflow: oss", TSR_INPUT,
       "f:2:11: error: 'tile.dataflow' has an unknown value; expected one of os, ws, is, got "
       "'oss'\n",
       "hint: did you mean 'os'?\n"},
      {"rows: 1\npreload: yes", TSR_INPUT,
       "f:2:10: error: 'tile.preload' is neither true nor false; expected true or false, got "
       "'yes'\n",
       ""},
      {"rows: 1\npreload: 'true'", TSR_INPUT, "f:2:10: error: 'tile.preload' is neither", ""},
      {"rows: 1\nformats: {a: x y}", TSR_INPUT,
       "f:2:14: error: 'tile.formats.a' holds a character that names do not have;",
       "got 'x y'"},
      {"rows: 1\nformats: {a: 123456789012345678901234567890123456789012345678}", TSR_INPUT,
       "f:2:14: error: 'tile.formats.a' is too long; expected at most 47 letters", ""},
      {"rows: 1\nformats: fp16", TSR_INPUT,
       "f:2:10: error: 'tile.formats' is no mapping; expected its keys\n", ""},
      {"rows: 1\nshare: 1.5", TSR_INPUT,
       "f:2:8: error: 'tile.share' is out of range; expected a number from 0 to 1, got '1.5'\n",
       ""},
      {"rows: 1\nshare: 0x1", TSR_INPUT, "f:2:8: error: 'tile.share' is no number;", ""},
      {"rows: 1\nshare: .5", TSR_INPUT, "f:2:8: error: 'tile.share' is no number;", ""},
      {"rows: 1\nshare: nan", TSR_INPUT, "f:2:8: error: 'tile.share' is no number;", ""},
      {"rows: 1\nshare: 1e999", TSR_INPUT, "f:2:8: error: 'tile.share' is out of range;", ""},
      {"rows: 1\nrowz: 2", TSR_USAGE, "f:2:1: error: unknown key 'tile.rowz'\n",
       "rowz: 2\n^~~~\nhint: did you mean 'tile.rows'?\n"},
      {"rows: 1\nformats: {aa: x}", TSR_USAGE, "f:2:11: error: unknown key 'tile.formats.aa'\n",
       "hint: did you mean 'tile.formats.a'?\n"},
      {"rows: 1\nformats: {kind: x}", TSR_USAGE,
       "f:2:11: error: unknown key 'tile.formats.kind'\n", "hint: the keys here are a, b\n"},
      {"rows: 1\nunheard_of: 2", TSR_USAGE, "f:2:1: error: unknown key 'tile.unheard_of'\n",
       "hint: the keys here are rows, size, clock, latency, rate, dataflow, preload, formats, "
       "share, units, "
       "kind\n"},
      {"rows: 1\nformats.a: x", TSR_USAGE, "f:2:1: error: unknown key 'tile.formats.a'\n",
       "hint: write dotted keys as nested mappings\n"},
      {"rows: 1\nformats: {a: {c: 1}}", TSR_INPUT,
       "f:2:14: error: 'tile.formats.a' is a mapping;", ""},
      {"[1]", TSR_INPUT, "f:1:1: error: 'tile' is no mapping; expected keys with values\n", ""},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct result r = read_text(rows[i].text);
    if (r.st != rows[i].st || strncmp(r.text, rows[i].first, strlen(rows[i].first)) != 0 ||
        !strstr(r.text, rows[i].part))
      fail_msg("'%s' gives %d\n%s\nexpected\n%s…%s", rows[i].text, (int)r.st, r.text,
               rows[i].first, rows[i].part);
    tsr_mem_free(r.text);
  }
}

static void all_mistakes_are_reported_at_once(void **state) {
  (void)state;
  struct result r = read_text("rowz: 1\nsize: 5\nshare: 0.5\nformats: {c: 1}\n");
  assert_int_equal(r.st, TSR_USAGE);
  static const char *const parts[] = {
      "f:1:1: error: unknown key 'tile.rowz'", "f:2:7: error: 'tile.size' has no unit",
      "f:4:11: error: unknown key 'tile.formats.c'", "f:1:1: error: 'tile.rows' is missing"};
  const char *p = r.text;
  for (size_t i = 0; i < LEN(parts); i++) {
    p = strstr(p, parts[i]);
    assert_non_null(p);
  }
  assert_true(r.u.share == 0.5);      /* the good value is taken */
  assert_int_equal(r.u.size, 524288); /* the bad one is not */
  tsr_mem_free(r.text);
}

static void a_preset_makes_required_rows_optional(void **state) {
  (void)state;
  struct unit u;
  bool seen[LEN(table) - 1] = {true};
  memset(&u, 0, sizeof u);
  assert_int_equal(tsr_param_read(table, "", NULL, NULL, &u, seen, NULL), TSR_OK);
  seen[0] = false;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_param_read(table, "", NULL, NULL, &u, seen, &err), TSR_INPUT);
  assert_string_equal(err.msg[0],
                      "error: 'rows' is missing; expected a whole number such as 32, "
                      "from 1 to 4096\n");
  tsr_err_fini(&err);
  assert_int_equal(tsr_param_read(table, "", NULL, NULL, &u, NULL, NULL), TSR_INPUT);
}

static void values_print_as_they_are_written(void **state) {
  (void)state;
  static const struct {
    size_t row;
    const char *text;
  } rows[] = {
      {0, "32"},
      {1, "27MiB"},
      {1, "unlimited"},
      {2, "1.05GHz"},
      {3, "13.75ns"},
      {4, "1.5TB/s"},
      {5, "is"},
      {6, "false"},
      {6, "true"},
      {7, "fp8_e4m3"},
      {7, "\"\""},
      {9, "0.1"},
      {9, "0.3333333333333333"},
      {9, "1e-09"},
      {9, "1"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_str s = TSR_STR_INIT;
    const struct tsr_param *row = &table[rows[i].row];
    bool nested = rows[i].row == 7;
    tsr_str_addf(&s, "rows: 1\n%s%s: %s%s\n", nested ? "formats: {" : "",
                 nested ? "a" : row->key, rows[i].text, nested ? "}" : "");
    char *text = tsr_str_take(&s);
    struct result r = read_text(rows[i].row ? text : text + strlen("rows: 1\n"));
    assert_string_equal(r.text, "");
    tsr_param_print(row, &r.u, &s);
    char *printed = tsr_str_take(&s);
    assert_string_equal(printed, rows[i].text);
    tsr_mem_free(printed);
    tsr_mem_free(text);
    tsr_mem_free(r.text);
  }
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  static const char text[] = "rows: 1\nformats: {a: x, b: y}\nshare: 0.5\n";
  struct tsr_arena *a = tsr_arena_create();
  struct tsr_node *root;
  assert_int_equal(tsr_config_tree_parse(a, "f", text, strlen(text), &root, NULL), TSR_OK);
  uint64_t nth = 1;
  for (enum tsr_status st = TSR_NOMEM; st != TSR_OK; nth++) {
    struct unit u;
    struct tsr_err err = TSR_ERR_INIT;
    memset(&u, 0, sizeof u);
    tsr_mem_fail_at(nth, true);
    st = tsr_param_read(table, "", root, NULL, &u, NULL, &err);
    tsr_mem_fail_at(0, false);
    assert_true(st == TSR_OK || st == TSR_NOMEM);
    assert_int_equal(err.status, st);
    tsr_err_fini(&err);
  }
  assert_true(nth > 5);
  tsr_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_fill_every_field_but_required_ones),
      cmocka_unit_test(values_are_read),
      cmocka_unit_test(only_given_rows_are_seen),
      cmocka_unit_test(mistakes_are_answered_with_the_rule),
      cmocka_unit_test(all_mistakes_are_reported_at_once),
      cmocka_unit_test(a_preset_makes_required_rows_optional),
      cmocka_unit_test(values_print_as_they_are_written),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
