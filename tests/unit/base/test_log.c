#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>

#include "sim/base/log.h"

static char seen[256];

static void keep(void *arg, const char *line) {
  size_t n = strlen(seen);
  snprintf(seen + n, sizeof seen - n, "%s[%s]", (const char *)arg, line);
}

static void keep_progress(void *arg, const char *what, uint64_t done, uint64_t total) {
  size_t n = strlen(seen);
  snprintf(seen + n, sizeof seen - n, "%s%s %u/%u;", (const char *)arg, what, (unsigned)done,
           (unsigned)total);
}

static void notes_reach_the_sink_line_by_line(void **state) {
  (void)state;
  char mark[] = ">";
  seen[0] = '\0';
  tsr_log_note("nobody listens");
  tsr_log_sink(keep, mark);
  tsr_log_note("n = %d", 3);
  tsr_log_note("two\n\nlines\n");
  tsr_log_sink(NULL, NULL);
  tsr_log_note("nobody listens");
  assert_string_equal(seen, ">[n = 3]>[two]>[]>[lines]");
}

static void progress_reaches_the_sink(void **state) {
  (void)state;
  char mark[] = "~";
  seen[0] = '\0';
  tsr_progress("layers", 1, 2);
  tsr_progress_sink(keep_progress, mark);
  tsr_progress("layers", 1, 2);
  tsr_progress("layers", 2, 0);
  tsr_progress_sink(NULL, NULL);
  tsr_progress("layers", 1, 2);
  assert_string_equal(seen, "~layers 1/2;~layers 2/0;");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(notes_reach_the_sink_line_by_line),
      cmocka_unit_test(progress_reaches_the_sink),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
