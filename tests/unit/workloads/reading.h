/* Malformed texts as rows: where the first message points and what it says. */
#ifndef TSR_TESTS_UNIT_WORKLOADS_READING_H
#define TSR_TESTS_UNIT_WORKLOADS_READING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/graph.h"

struct bad {
  const char *text;
  unsigned line, col;
  const char *says; /* part of the first message */
};

/* Reads `text` as the file t.csv. */
static inline enum tsr_status read_text(const char *text, struct tsr_graph **g,
                                        struct tsr_err *err) {
  return tsr_workload_read("t.csv", &(struct tsr_workload_options){.text = text}, g, err);
}

static inline void check_message(const struct tsr_err *err, const char *path, unsigned line,
                                 unsigned col, const char *says) {
  char *start = tsr_mem_printf("%s:%u:%u: error: ", path, line, col);
  assert_true(err->n > 0);
  if (strncmp(err->msg[0], start, strlen(start)) != 0 || !strstr(err->msg[0], says))
    fail_msg("expected '%s… %s…', got '%s'", start, says, err->msg[0]);
  tsr_mem_free(start);
}

static inline void check_bad(const struct bad *b) {
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status s = read_text(b->text, &g, &err);
  if (s != TSR_INPUT) fail_msg("status %d for '%s'", (int)s, b->text);
  assert_null(g);
  check_message(&err, "t.csv", b->line, b->col, b->says);
  tsr_err_fini(&err);
  /* Without a place for messages the status is the same. */
  assert_int_equal(read_text(b->text, &g, NULL), s);
  assert_null(g);
}

static inline struct tsr_graph *must_read(const char *text) {
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  if (read_text(text, &g, &err)) fail_msg("'%s': %s", text, err.n ? err.msg[0] : "no message");
  assert_non_null(g);
  tsr_err_fini(&err);
  return g;
}

#endif
