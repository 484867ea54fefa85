#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/io.h"
#include "tests/unit/onnx/wire.h"
#include "workloads/onnx/onnx.h"

/* /tmp/tsr-onnx-…/ holds outside.bin (16 bytes) and the model's folder in/, with w.bin (16
 * bytes: 0, 1, 2, 3 as f32), sub/w.bin, links and a pipe. */
static char root[64];
static const char *const made[] = {"in/w.bin", "in/sub/w.bin", "outside.bin", "in/leaves",
                                   "in/stays", "in/folder/x",  "in/pipe",     "in/m.onnx"};

static const char *in_root(const char *name) {
  static char path[4][200];
  static unsigned turn;
  char *p = path[turn++ % 4];
  snprintf(p, sizeof path[0], "%s/%s", root, name);
  return p;
}

static int enter(void **state) {
  (void)state;
  static const float data[] = {0, 1, 2, 3};
  snprintf(root, sizeof root, "/tmp/tsr-onnx-XXXXXX");
  if (!mkdtemp(root) || mkdir(in_root("in"), 0700) || mkdir(in_root("in/sub"), 0700)) return -1;
  for (size_t i = 0; i < 3; i++)
    if (tsr_io_write(in_root(made[i]), data, sizeof data, NULL) != TSR_OK) return -1;
  if (symlink("../outside.bin", in_root("in/leaves")) ||
      symlink("sub/w.bin", in_root("in/stays")))
    return -1;
  if (symlink("..", in_root("in/folder"))) return -1;
  return mkfifo(in_root("in/pipe"), 0600);
}

static int leave(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) unlink(in_root(made[i]));
  unlink(in_root("in/folder"));
  rmdir(in_root("in/sub"));
  rmdir(in_root("in"));
  return rmdir(root);
}

static void entry(struct tsr_str *t, const char *key, const char *value) {
  struct tsr_str e = TSR_STR_INIT;
  if (!value) return;
  wire_text(&e, 1, key);
  wire_text(&e, 2, value);
  wire_message(t, 13, &e);
}

/* y = x + w with w, four f32, in another file. */
static struct tsr_str model(const char *location, const char *offset, const char *length,
                            int64_t n) {
  struct tsr_str t = TSR_STR_INIT, g = TSR_STR_INIT;
  wire_int(&t, 1, n);
  wire_int(&t, 2, 1);
  wire_text(&t, 8, "w");
  entry(&t, "location", location);
  entry(&t, "offset", offset);
  entry(&t, "length", length);
  entry(&t, "checksum", "ignored");
  wire_int(&t, 14, 1);
  wire_node(&g, "Add", "sum", "x,w", "y");
  wire_message(&g, GRAPH_INITIALISER, &t);
  wire_value(&g, GRAPH_INPUT, "x", 4);
  wire_value(&g, GRAPH_OUTPUT, "y", 4);
  return wire_model(&g, 13);
}

static void files_beside_the_model_are_read(void **state) {
  (void)state;
  static const struct {
    const char *location, *offset, *length;
    int64_t n;
    double first;
  } rows[] = {
      {"w.bin", NULL, NULL, 4, 0},   {"w.bin", "0", "16", 4, 0},
      {"w.bin", "4", "8", 2, 1},     {"w.bin", "12", NULL, 1, 3},
      {"./w.bin", NULL, NULL, 4, 0}, {"sub/w.bin", "8", NULL, 2, 2},
      {"stays", NULL, NULL, 4, 0},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    struct tsr_str m = model(rows[k].location, rows[k].offset, rows[k].length, rows[k].n);
    struct tsr_net *net = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_io_write(in_root("in/m.onnx"), m.p, m.n, NULL), TSR_OK);
    if (tsr_onnx_read(in_root("in/m.onnx"), NULL, &net, &err) != TSR_OK)
      fail_msg("row %zu: %s", k, err.msg[0]);
    const struct tsr_net_value *w = &net->values[tsr_net_find(net, "w")];
    assert_int_equal(w->constant->n, rows[k].n);
    for (int64_t i = 0; i < rows[k].n; i++)
      assert_true(w->constant->f[i] == rows[k].first + (double)i);
    tsr_net_destroy(net);
    tsr_str_fini(&m);
    tsr_err_fini(&err);
  }
}

static void other_files_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *location, *offset, *length, *message;
  } rows[] = {
      {NULL, NULL, NULL, "expected a location"},
      {"", NULL, NULL, "expected a location"},
      {"/etc/passwd", NULL, NULL, "expected a name relative to the model's folder"},
      {"../outside.bin", NULL, NULL, "expected a name without '..', got '../outside.bin'"},
      {"sub/../w.bin", NULL, NULL, "expected a name without '..'"},
      {"sub/..", NULL, NULL, "expected a name without '..'"},
      {"leaves", NULL, NULL, "expected a file that no link leads out of the model's folder"},
      {"folder/outside.bin", NULL, NULL, "expected a file that no link leads out"},
      {"gone.bin", NULL, NULL, "expected a file that exists, got 'gone.bin'"},
      {"sub", NULL, NULL, "expected an ordinary file"},
      {"pipe", NULL, NULL, "expected an ordinary file"},
      {"w.bin", "1", NULL,
       "needs 16 bytes from byte 1 of 'w.bin'; expected that within its 16"},
      {"w.bin", "18446744073709551615", NULL, "needs 16 bytes from byte 18446744073709551615"},
      {"w.bin", "18446744073709551616", NULL, "bad offset"},
      {"w.bin", "-1", NULL, "bad offset; expected a number of bytes, got '-1'"},
      {"w.bin", "", NULL, "bad offset"},
      {"w.bin", "0", "15", "needs 16 bytes, got 15 bytes of 'w.bin'"},
      {"w.bin", "0", "0x10", "bad length"},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    struct tsr_str m = model(rows[k].location, rows[k].offset, rows[k].length, 4);
    struct tsr_net *net = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_onnx_parse(in_root("in/m.onnx"), m.p, m.n, NULL, &net, &err),
                     TSR_INPUT);
    if (!strstr(err.msg[0], rows[k].message) || !strstr(err.msg[0], "tensor 'w'"))
      fail_msg("row %zu: '%s' in: %s", k, rows[k].message, err.msg[0]);
    assert_null(net);
    tsr_str_fini(&m);
    tsr_err_fini(&err);
  }
}

static void a_long_name_is_refused(void **state) {
  (void)state;
  char name[5000];
  memset(name, 'a', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  struct tsr_str m = model(name, NULL, NULL, 4);
  struct tsr_net *net = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_onnx_parse(in_root("in/m.onnx"), m.p, m.n, NULL, &net, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "a shorter name"));
  tsr_str_fini(&m);
  tsr_err_fini(&err);
}

static void absurd_dimensions_ask_for_no_memory(void **state) {
  (void)state;
  struct tsr_str m = model("w.bin", NULL, NULL, INT64_C(1) << 39);
  struct tsr_net *net = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_onnx_parse(in_root("in/m.onnx"), m.p, m.n, NULL, &net, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "needs 2199023255552 bytes"));
  tsr_str_fini(&m);
  tsr_err_fini(&err);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(files_beside_the_model_are_read, enter, leave),
      cmocka_unit_test_setup_teardown(other_files_are_refused, enter, leave),
      cmocka_unit_test_setup_teardown(a_long_name_is_refused, enter, leave),
      cmocka_unit_test_setup_teardown(absurd_dimensions_ask_for_no_memory, enter, leave),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
