#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "sim/base/err.h"
#include "sim/base/mem.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static void messages_show_the_line_and_a_caret(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint32_t line, col, width;
    const char *want;
  } rows[] = {
      {"a: 1\nb: xy\n", 2, 4, 2, "f.yaml:2:4: error: bad\nb: xy\n   ^~\n"},
      {"a: 1", 1, 1, 0, "f.yaml:1:1: error: bad\na: 1\n^\n"},
      {"a: 1\r\nb", 1, 4, 9, "f.yaml:1:4: error: bad\na: 1\n   ^\n"},
      {"\tx\ty", 1, 4, 1, "f.yaml:1:4: error: bad\n\tx\ty\n\t \t^\n"},
      {"ab", 1, 3, 1, "f.yaml:1:3: error: bad\nab\n  ^\n"},
      {"ab", 1, 99, 5, "f.yaml:1:99: error: bad\nab\n  ^\n"},
      {"a\n", 2, 1, 1, "f.yaml:2:1: error: bad\n\n^\n"},
      {"a", 7, 1, 1, "f.yaml:7:1: error: bad\n"},
      {"\x1b[31m\x7f\xff", 1, 7, 1, "f.yaml:1:7: error: bad\n?[31m??\n      ^\n"},
      {"\xc3\xa9: \xe2\x82\xac!", 1, 8, 1,
       "f.yaml:1:8: error: bad\n\xc3\xa9: \xe2\x82\xac!\n    ^\n"},
      {NULL, 3, 5, 1, "f.yaml:3:5: error: bad\n"},
      {"a", 0, 5, 1, "error: bad\n"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_src src = {"f.yaml", rows[i].text, rows[i].text ? strlen(rows[i].text) : 0};
    struct tsr_pos pos = {&src, rows[i].line, rows[i].col, rows[i].width};
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_err_at(&err, TSR_INPUT, &pos, "%s", "bad"), TSR_INPUT);
    assert_string_equal(err.msg[0], rows[i].want);
    assert_int_equal(err.status, TSR_INPUT);
    tsr_err_fini(&err);
  }
}

static void a_source_need_not_end_in_nul(void **state) {
  (void)state;
  char *text = tsr_mem_strndup("abc", 3);
  struct tsr_src src = {"f", text, 2};
  struct tsr_pos pos = {&src, 1, 2, 5};
  struct tsr_err err = TSR_ERR_INIT;
  tsr_err_at(&err, TSR_INPUT, &pos, "bad");
  assert_string_equal(err.msg[0], "f:1:2: error: bad\nab\n ^\n");
  tsr_err_fini(&err);
  tsr_mem_free(text);
}

/* Whatever the column, at most 120 bytes are shown and the caret is under X. */
static void long_lines_are_shown_through_a_window(void **state) {
  (void)state;
  for (size_t at = 0; at < 400; at++) {
    char text[400];
    memset(text, 'a', sizeof text);
    text[at] = 'X';
    struct tsr_src src = {"f", text, sizeof text};
    struct tsr_pos pos = {&src, 1, (uint32_t)at + 1, 300};
    struct tsr_err err = TSR_ERR_INIT;
    tsr_err_at(&err, TSR_INPUT, &pos, "bad");
    const char *line = strchr(err.msg[0], '\n') + 1, *caret = strchr(line, '\n') + 1;
    assert_int_equal(caret - line - 1, 120);
    assert_true(strlen(caret) <= 121);
    assert_int_equal(line[strchr(caret, '^') - caret], 'X');
    tsr_err_fini(&err);
  }
}

/* Pieces of 7 bytes, which no window edge is a multiple of. */
static void a_window_cuts_no_character(void **state) {
  (void)state;
  static const char piece[] = "\xe2\x82\xac"
                              "a\xc3\xa9.";
  char text[100 * (sizeof piece - 1)];
  for (size_t i = 0; i < sizeof text; i++) text[i] = piece[i % (sizeof piece - 1)];
  for (size_t at = 0; at < sizeof text; at++) {
    if (((unsigned char)text[at] & 0xc0) == 0x80) continue;
    struct tsr_src src = {"f", text, sizeof text};
    struct tsr_pos pos = {&src, 1, (uint32_t)at + 1, 1};
    struct tsr_err err = TSR_ERR_INIT;
    tsr_err_at(&err, TSR_INPUT, &pos, "bad");
    assert_null(strchr(err.msg[0], '?'));
    assert_non_null(strstr(err.msg[0], "^\n"));
    tsr_err_fini(&err);
  }
}

static void texts_cannot_drive_a_terminal(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  tsr_err_set(&err, TSR_INPUT, "got '%s'", "\x1b]0;x\x07\xc2\x9b\xff\xc3\xa9\n  second");
  assert_string_equal(err.msg[0], "error: got '?]0;x???\xc3\xa9\n  second'\n");
  tsr_err_fini(&err);
}

static void hints_follow_what_was_added_last(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  tsr_err_hint(&err, "nothing to follow");
  tsr_err_set(&err, TSR_USAGE, "one");
  tsr_err_hint(&err, "did you mean '%s'?", "x");
  tsr_err_warn(&err, NULL, "odd");
  tsr_err_hint(&err, "see %d", 2);
  tsr_err_set(&err, TSR_INPUT, "two");
  assert_string_equal(err.msg[0], "error: one\nhint: did you mean 'x'?\n");
  assert_string_equal(err.msg[1], "error: two\n");
  assert_string_equal(err.warn, "warning: odd\nhint: see 2\n");
  assert_int_equal(err.status, TSR_USAGE);
  char *text = tsr_err_text(&err);
  assert_string_equal(text, "warning: odd\nhint: see 2\nerror: one\n"
                            "hint: did you mean 'x'?\nerror: two\n");
  tsr_mem_free(text);
  tsr_err_fini(&err);
  assert_int_equal(err.n, 0);
  text = tsr_err_text(&err);
  assert_string_equal(text, "");
  tsr_mem_free(text);
}

static void the_first_20_are_kept_and_all_counted(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  for (int i = 1; i <= 25; i++) {
    tsr_err_set(&err, TSR_INPUT, "no %d", i);
    tsr_err_hint(&err, "hint %d", i);
    tsr_err_warn(&err, NULL, "w%d", i);
  }
  assert_int_equal(err.n, TSR_ERR_MAX);
  assert_int_equal(err.total, 25);
  assert_int_equal(err.warnings, 25);
  assert_string_equal(err.msg[19], "error: no 20\nhint: hint 20\n");
  assert_non_null(strstr(err.warn, "w20\n"));
  assert_null(strstr(err.warn, "w21\n"));
  tsr_err_fini(&err);
}

static void a_null_err_still_gives_the_status(void **state) {
  (void)state;
  assert_int_equal(tsr_err_set(NULL, TSR_STORE, "x"), TSR_STORE);
  assert_int_equal(tsr_err_at(NULL, TSR_INPUT, NULL, "x"), TSR_INPUT);
  assert_int_equal(tsr_err_nomem(NULL), TSR_NOMEM);
  tsr_err_hint(NULL, "x");
  tsr_err_warn(NULL, NULL, "x");
}

static void without_memory_errors_are_counted(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  tsr_mem_fail_at(1, true);
  assert_int_equal(tsr_err_nomem(&err), TSR_NOMEM);
  tsr_err_hint(&err, "x");
  tsr_err_warn(&err, NULL, "x");
  assert_null(tsr_err_text(&err));
  tsr_mem_fail_at(0, false);
  assert_int_equal(err.n, 0);
  assert_int_equal(err.total, 1);
  assert_int_equal(err.status, TSR_NOMEM);
  char *text = tsr_err_text(&err);
  assert_string_equal(text, "error: out of memory\n");
  tsr_mem_free(text);
  tsr_err_fini(&err);
}

static void the_nearest_name_is_found(void **state) {
  (void)state;
  static const char *const names[] = {"size", "banks", "width", "ports", "buffers", "dataflow"};
  static const struct {
    const char *word, *near;
  } rows[] = {
      {"size", "size"},
      {"sise", "size"},
      {"siez", "size"},
      {"sizes", "size"},
      {"bank", "banks"},
      {"portz", "ports"},
      {"prots", "ports"},
      {"bufers", "buffers"},
      {"data_flow", "dataflow"},
      {"dtaaflwo", "dataflow"},
      {"colour", NULL},
      {"", NULL},
      {"xx", NULL},
      {"depth", NULL},
      {"bufer", NULL},
      {"Size", "size"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    const char *got = tsr_err_nearest(rows[i].word, names, LEN(names));
    assert_string_equal(got ? got : "none", rows[i].near ? rows[i].near : "none");
  }
  char longer[200];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  assert_null(tsr_err_nearest(longer, names, LEN(names)));
}

static void statuses_have_their_exit_codes(void **state) {
  (void)state;
  static const struct {
    enum tsr_status s;
    int code;
  } rows[] = {{TSR_OK, 0},  {TSR_NO, 1},    {TSR_USAGE, 2}, {TSR_INPUT, 3},
              {TSR_SIM, 4}, {TSR_STORE, 5}, {TSR_NOMEM, 5}, {TSR_INCONCLUSIVE, 6}};
  assert_int_equal(LEN(rows), TSR_STATUS_COUNT_);
  for (size_t i = 0; i < LEN(rows); i++) {
    assert_int_equal(tsr_status_exit(rows[i].s), rows[i].code);
    assert_true(strlen(tsr_status_text(rows[i].s)) > 3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_show_the_line_and_a_caret),
      cmocka_unit_test(a_source_need_not_end_in_nul),
      cmocka_unit_test(long_lines_are_shown_through_a_window),
      cmocka_unit_test(a_window_cuts_no_character),
      cmocka_unit_test(texts_cannot_drive_a_terminal),
      cmocka_unit_test(hints_follow_what_was_added_last),
      cmocka_unit_test(the_first_20_are_kept_and_all_counted),
      cmocka_unit_test(a_null_err_still_gives_the_status),
      cmocka_unit_test(without_memory_errors_are_counted),
      cmocka_unit_test(the_nearest_name_is_found),
      cmocka_unit_test(statuses_have_their_exit_codes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
