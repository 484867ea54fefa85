#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/unit/onnx/wire.h"
#include "workloads/onnx/onnx.h"
#include "workloads/onnx/onnx_write.h"

/* Something of everything: attributes, an initialiser, declared shapes, a name that is left
 * out. */
static struct tsr_str small_model(void) {
  struct tsr_str g = TSR_STR_INIT, n = TSR_STR_INIT, a = TSR_STR_INIT, t = TSR_STR_INIT;
  wire_int(&t, 1, 2);
  wire_int(&t, 2, 7);
  wire_bytes(&t, 7, "\x02\x02", 2);
  wire_text(&a, 1, "value");
  wire_message(&a, 5, &t);
  wire_int(&a, 20, 4);
  wire_text(&n, 2, "shape");
  wire_text(&n, 4, "Constant");
  wire_message(&n, 5, &a);
  wire_message(&g, GRAPH_NODE, &n);
  wire_node(&g, "Add", "sum", "x,w", "s");
  wire_node(&g, "Reshape", NULL, "s,shape", "y");
  wire_initialiser(&g, "w", 4);
  wire_value(&g, GRAPH_INPUT, "x", 4);
  wire_value(&g, GRAPH_INFO, "s", 4);
  return wire_model(&g, 13);
}

/* Read from a block of exactly its size, so that a read past its end is seen. */
static enum tsr_status read_exact(const char *p, size_t n, struct tsr_err *err) {
  char *block = malloc(n ? n : 1);
  struct tsr_net *net = NULL;
  assert_non_null(block);
  if (n) memcpy(block, p, n);
  enum tsr_status st = tsr_onnx_parse("m.onnx", block, n, NULL, &net, err);
  assert_true((st == TSR_OK) == (net != NULL));
  free(block);
  tsr_net_destroy(net);
  return st;
}

/* Cut between two fields of the model itself the rest is still a message. */
static void a_model_cut_anywhere_is_read_or_refused(void **state) {
  (void)state;
  struct tsr_str m = small_model();
  size_t whole = 0;
  for (size_t n = 0; n <= m.n; n++) {
    struct tsr_err err = TSR_ERR_INIT;
    enum tsr_status st = read_exact(m.p, n, &err);
    assert_true(st == TSR_OK || (st == TSR_INPUT && err.total == 1));
    whole += st == TSR_OK;
    tsr_err_fini(&err);
  }
  assert_int_equal(whole, 1);
  tsr_str_fini(&m);
}

static void every_byte_may_be_wrong(void **state) {
  (void)state;
  static const unsigned char masks[] = {0x01, 0x08, 0x80, 0xff};
  struct tsr_str m = small_model();
  for (size_t i = 0; i < m.n; i++)
    for (size_t k = 0; k < sizeof masks; k++) {
      struct tsr_err err = TSR_ERR_INIT;
      m.p[i] = (char)(m.p[i] ^ masks[k]);
      enum tsr_status st = read_exact(m.p, m.n, &err);
      assert_true((st == TSR_OK) == (err.total == 0));
      m.p[i] = (char)(m.p[i] ^ masks[k]);
      tsr_err_fini(&err);
    }
  tsr_str_fini(&m);
}

static void lengths_that_are_not_there_are_refused_at_their_byte(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    const char *message;
  } rows[] = {
      {"\x3a\xff\xff\xff\xff\x07", 6,
       "a field of 2147483647 bytes at byte 0; expected at most the 0 bytes that are left"},
      {"\x08\x08\x3a\x04\x0a\xff\xff\x03", 8, "a field of 65535 bytes at byte 4"},
      {"\x08", 1, "a number that never ends at byte 0"},
      {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "a number that never ends"},
      {"\xff\xff", 2, "a field that never ends at byte 0"},
      {"\x3a\xff", 2, "a length that never ends at byte 0"},
      {"\x00\x00", 2, "no field number at byte 0"},
      {"\x3b\x00", 2, "an unknown kind of field at byte 0"},
      {"\x0d\x00", 2, "a field of 4 bytes at byte 0"},
      {"\x3a\x00\x3a\x00", 4, "ModelProto has a second 'graph' at byte 2"},
      {"\x38\x01", 2, "a field has the wrong type"},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(read_exact(rows[k].bytes, rows[k].n, &err), TSR_INPUT);
    if (!strstr(err.msg[0], rows[k].message))
      fail_msg("row %zu: '%s' in: %s", k, rows[k].message, err.msg[0]);
    tsr_err_fini(&err);
  }
}

static void two_gigabytes_claimed_by_one_kilobyte_are_refused(void **state) {
  (void)state;
  char bytes[1024] = "\x08\x08\x3a\xff\xff\xff\xff\x07";
  struct tsr_err err = TSR_ERR_INIT;
  tsr_mem_fail_at(0, false);
  assert_int_equal(read_exact(bytes, sizeof bytes, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "a field of 2147483647 bytes"));
  tsr_err_fini(&err);
}

/* A graph within an attribute within a node within a graph … */
static struct tsr_str nested(unsigned levels) {
  struct tsr_str g = TSR_STR_INIT;
  for (unsigned i = 0; i < levels; i++) {
    struct tsr_str a = TSR_STR_INIT, n = TSR_STR_INIT, outer = TSR_STR_INIT;
    wire_text(&a, 1, "body");
    wire_message(&a, 6, &g);
    wire_text(&n, 4, "Loop");
    wire_message(&n, 5, &a);
    wire_message(&outer, GRAPH_NODE, &n);
    g = outer;
  }
  return wire_model(&g, 13);
}

static void nesting_has_an_end(void **state) {
  (void)state;
  static const struct {
    unsigned levels;
    enum tsr_status want;
  } rows[] = {{1, TSR_OK}, {20, TSR_OK}, {21, TSR_INPUT}, {22, TSR_INPUT}, {2000, TSR_INPUT}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    struct tsr_str m = nested(rows[k].levels);
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(read_exact(m.p, m.n, &err), rows[k].want);
    if (err.n) assert_non_null(strstr(err.msg[0], "at most 64 messages inside each other"));
    tsr_err_fini(&err);
    tsr_str_fini(&m);
  }
}

/* Empty attributes are two bytes each and some hundred in memory. */
static void memory_has_an_end(void **state) {
  (void)state;
  struct tsr_str g = TSR_STR_INIT, n = TSR_STR_INIT;
  for (size_t i = 0; i < 600000; i++) tsr_str_addn(&n, "\x2a\x00", 2);
  wire_message(&g, GRAPH_NODE, &n);
  struct tsr_str m = wire_model(&g, 13);
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(read_exact(m.p, m.n, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "bytes of memory; expected at most 64 times"));
  tsr_err_fini(&err);
  tsr_str_fini(&m);
}

static void any_allocation_may_fail(void **state) {
  (void)state;
  struct tsr_str m = small_model();
  size_t failed = 0;
  for (uint64_t nth = 1;; nth++) {
    struct tsr_net *net = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    tsr_mem_fail_at(nth, false);
    enum tsr_status st = tsr_onnx_parse("m.onnx", m.p, m.n, NULL, &net, &err);
    bool reached = tsr_mem_calls() >= nth;
    tsr_mem_fail_at(0, false);
    tsr_net_destroy(net);
    tsr_err_fini(&err);
    if (!reached) break;
    assert_int_equal(st, TSR_NOMEM);
    failed++;
  }
  assert_true(failed > 20);
  tsr_str_fini(&m);
}

/* Of this process: other work on the machine does not count. */
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void a_hundred_thousand_nodes_are_read_at_once(void **state) {
  (void)state;
  static const struct tsr_net_options none = {0};
  enum { NODES = 100000 };
  struct tsr_str g = TSR_STR_INIT;
  struct tsr_net *net = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  for (int i = 0; i < NODES; i++) {
    char in[24], out[24];
    snprintf(in, sizeof in, i ? "v%d" : "x", i);
    snprintf(out, sizeof out, i == NODES - 1 ? "y" : "v%d", i + 1);
    wire_node(&g, "Identity", i % 3 ? "same" : NULL, in, out);
  }
  wire_value(&g, GRAPH_INPUT, "x", 4);
  wire_value(&g, GRAPH_OUTPUT, "y", 4);
  struct tsr_str m = wire_model(&g, 13);
  double start = seconds();
  if (tsr_onnx_parse("m.onnx", m.p, m.n, &none, &net, &err) != TSR_OK)
    fail_msg("%s", err.msg[0]);
  double took = seconds() - start;
  assert_int_equal(net->n_nodes, NODES);
  print_message("%d nodes in %.3f s\n", NODES, took);
  assert_true(took < 20); /* a quadratic step takes minutes, a sanitizer seconds */
  tsr_net_destroy(net);
  tsr_str_fini(&m);
  tsr_err_fini(&err);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_model_cut_anywhere_is_read_or_refused),
      cmocka_unit_test(every_byte_may_be_wrong),
      cmocka_unit_test(lengths_that_are_not_there_are_refused_at_their_byte),
      cmocka_unit_test(two_gigabytes_claimed_by_one_kilobyte_are_refused),
      cmocka_unit_test(nesting_has_an_end),
      cmocka_unit_test(memory_has_an_end),
      cmocka_unit_test(any_allocation_may_fail),
      cmocka_unit_test(a_hundred_thousand_nodes_are_read_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
