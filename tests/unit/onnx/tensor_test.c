#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "sim/base/io.h"
#include "tests/unit/onnx/wire.h"
#include "workloads/onnx/onnx.h"

enum {
  DIMS = 1,
  TYPE = 2,
  FLOATS = 4,
  INT32S = 5,
  INT64S = 7,
  RAW = 9,
  DOUBLES = 10,
  UINT64S = 11
};

/* One tensor: its type, dimensions (-1 ends them), one field of data. */
struct row {
  int type;
  int64_t dim[10];
  unsigned field; /* 0: no data */
  const char *data;
  size_t n;
  const char *message; /* NULL: good */
  double want[4];
};
#define BYTES(s) s, sizeof s - 1

static struct tsr_str tensor_of(const struct row *r) {
  struct tsr_str t = TSR_STR_INIT;
  for (size_t i = 0; r->dim[i] != -1; i++) wire_int(&t, DIMS, r->dim[i]);
  wire_int(&t, TYPE, r->type);
  if (r->field) wire_bytes(&t, r->field, r->data, r->n);
  assert_false(t.failed);
  return t;
}

static void every_place_of_elements_is_read(void **state) {
  (void)state;
  static const struct row rows[] = {
      {1, {2, -1}, RAW, BYTES("\0\0\x80\x3f\0\0\0\xc0"), NULL, {1, -2}},
      {1, {2, -1}, FLOATS, BYTES("\0\0\x80\x3f\0\0\0\xc0"), NULL, {1, -2}},
      {1, {-1}, RAW, BYTES("\0\0\x80\x3f"), NULL, {1}},
      {1, {3, 0, -1}, 0, NULL, 0, NULL, {0}},
      {2, {2, -1}, INT32S, BYTES("\x05\xff\x01"), NULL, {5, 255}},
      {2, {2, -1}, RAW, BYTES("\x05\xff"), NULL, {5, 255}},
      {3, {2, -1}, RAW, BYTES("\x05\xff"), NULL, {5, -1}},
      {3,
       {2, -1},
       INT32S,
       BYTES("\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
       NULL,
       {5, -1}},
      {4, {1, -1}, RAW, BYTES("\x01\x80"), NULL, {32769}},
      {5, {1, -1}, RAW, BYTES("\x01\x80"), NULL, {-32767}},
      {6, {1, -1}, RAW, BYTES("\x01\0\0\x80"), NULL, {-2147483647.0}},
      {6, {2, -1}, INT32S, BYTES("\x01\x02"), NULL, {1, 2}},
      {7,
       {2, -1},
       INT64S,
       BYTES("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
       NULL,
       {1, -1}},
      {9, {2, -1}, RAW, BYTES("\0\x01"), NULL, {0, 1}},
      {10, {2, -1}, INT32S, BYTES("\x80\x78\x80\x80\x03"), NULL, {1, -2}},
      {10, {2, -1}, RAW, BYTES("\0\x3c\0\xc0"), NULL, {1, -2}},
      {11, {1, -1}, DOUBLES, BYTES("\0\0\0\0\0\0\xf8\x3f"), NULL, {1.5}},
      {12, {1, -1}, UINT64S, BYTES("\xff\xff\xff\xff\x0f"), NULL, {4294967295.0}},
      {13, {1, -1}, UINT64S, BYTES("\x07"), NULL, {7}},
      {16, {1, -1}, RAW, BYTES("\x80\x3f"), NULL, {1}},
      {16, {1, -1}, INT32S, BYTES("\x80\x7f"), NULL, {1}},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    struct tsr_str t = tensor_of(&rows[k]);
    struct tsr_array *a = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    if (tsr_onnx_tensor_parse("t.pb", t.p, t.n, &a, &err) != TSR_OK)
      fail_msg("row %zu: %s", k, err.msg[0]);
    assert_int_equal(a->type, rows[k].type);
    for (uint64_t i = 0; i < a->n; i++)
      if (tsr_array_get(a, i) != rows[k].want[i])
        fail_msg("row %zu element %d: expected %g, got %g", k, (int)i, rows[k].want[i],
                 tsr_array_get(a, i));
    tsr_array_destroy(a);
    tsr_str_fini(&t);
    tsr_err_fini(&err);
  }
}

static void what_does_not_fit_is_named(void **state) {
  (void)state;
  static const struct row rows[] = {
      {1, {2, 3, -1}, RAW, BYTES("1234567"), "6 elements of f32 needs 24 bytes, got 7", {0}},
      {1, {2, -1}, FLOATS, BYTES("1234"), "2 elements of f32 needs 8 bytes, got 4", {0}},
      {1, {2, -1}, INT32S, BYTES("\x01\x02"), "needs 8 bytes, got 0", {0}},
      {2, {1, -1}, INT32S, BYTES("\x01\x02"), "1 elements of u8 needs 1 bytes, got 2", {0}},
      {7, {4, -1}, 0, NULL, 0, "needs 32 bytes, got 0", {0}},
      {1, {1099511627776, 1099511627776, -1}, 0, NULL, 0, "at most 2^40 elements", {0}},
      {1, {9223372036854775807, 3, -1}, 0, NULL, 0, "at most 2^40 elements", {0}},
      {1, {-2, -1}, 0, NULL, 0, "dimension 0 of the tensor is -2; expected 0 or more", {0}},
      {1,
       {1, 1, 1, 1, 1, 1, 1, 1, 1, -1},
       RAW,
       BYTES("1234"),
       "9 dimensions; expected at most 8",
       {0}},
      {8, {1, -1}, 6, BYTES("text"), "elements of string", {0}},
      {14, {1, -1}, RAW, BYTES("12345678"), "elements of complex64", {0}},
      {0, {1, -1}, RAW, BYTES("1234"), "elements of undefined", {0}},
      {99, {1, -1}, RAW, BYTES("1234"), "elements of type 99", {0}},
      {-5, {1, -1}, RAW, BYTES("1234"), "elements of type -5", {0}},
      {1, {1, -1}, 3, BYTES(""), "is a segment of a tensor", {0}},
      {1,
       {1, -1},
       13,
       BYTES("\x0a\x63"),
       "a field of 99 bytes at byte 6; expected at most the 0 bytes that are left",
       {0}},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    struct tsr_str t = tensor_of(&rows[k]);
    struct tsr_array *a = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_onnx_tensor_parse("t.pb", t.p, t.n, &a, &err), TSR_INPUT);
    assert_null(a);
    if (!strstr(err.msg[0], rows[k].message) || !strstr(err.msg[0], "t.pb"))
      fail_msg("row %zu: '%s' in: %s", k, rows[k].message, err.msg[0]);
    tsr_str_fini(&t);
    tsr_err_fini(&err);
  }
}

static void elements_twice_are_refused(void **state) {
  (void)state;
  struct tsr_str t = TSR_STR_INIT;
  struct tsr_array *a = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  wire_int(&t, DIMS, 1);
  wire_int(&t, TYPE, 1);
  wire_bytes(&t, RAW, "1234", 4);
  wire_bytes(&t, FLOATS, "1234", 4);
  assert_int_equal(tsr_onnx_tensor_parse("t.pb", t.p, t.n, &a, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "twice"));
  tsr_str_fini(&t);
  tsr_err_fini(&err);
}

static void a_file_is_a_tensor(void **state) {
  (void)state;
  char path[] = "/tmp/tsr-tensor-XXXXXX";
  static const struct row row = {1, {1, -1}, RAW, BYTES("\0\0\x80\x3f"), NULL, {1}};
  struct tsr_str t = tensor_of(&row);
  struct tsr_array *a = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  assert_true(mkstemp(path) >= 0);
  assert_int_equal(tsr_io_write(path, t.p, t.n, NULL), TSR_OK);
  assert_int_equal(tsr_onnx_tensor_read(path, &a, NULL), TSR_OK);
  assert_true(a->f[0] == 1);
  remove(path);
  struct tsr_array *none = NULL;
  assert_int_equal(tsr_onnx_tensor_read(path, &none, &err), TSR_INPUT);
  assert_null(none);
  assert_non_null(strstr(err.msg[0], "no such file"));
  tsr_array_destroy(a);
  tsr_str_fini(&t);
  tsr_err_fini(&err);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_place_of_elements_is_read),
      cmocka_unit_test(what_does_not_fit_is_named),
      cmocka_unit_test(elements_twice_are_refused),
      cmocka_unit_test(a_file_is_a_tensor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
