/* .npy: what NumPy writes is read as it is meant; what it does not write is refused. */
#include <math.h>

#include "files.h"
#include "workloads/tensor/npy.h"

/* A file of version `v` with this header's text and n bytes of data. */
static uint8_t *make(unsigned v, const char *header, const void *data, size_t n, size_t *size) {
  size_t len = strlen(header), at = v == 1 ? 10 : 12;
  uint8_t *f = calloc(1, at + len + n + 1);
  assert_non_null(f);
  memcpy(f, "\x93NUMPY", 6);
  f[6] = (uint8_t)v;
  f[8] = (uint8_t)len;
  f[9] = (uint8_t)(len >> 8);
  memcpy(f + at, header, len);
  if (n) memcpy(f + at + len, data, n);
  *size = at + len + n;
  return f;
}

static enum tsr_status parse(unsigned v, const char *header, const void *data, size_t n,
                             struct tsr_array **out, struct tsr_err *err) {
  size_t size;
  uint8_t *f = make(v, header, data, n, &size);
  enum tsr_status st = tsr_npy_parse("x.npy", f, size, NULL, out, err);
  free(f);
  return st;
}

#define HEAD(descr, order, shape) \
  "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }   \n"
#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/* The bytes are those of IEEE 754 and of two's complement. */
static const struct {
  const char *header;
  const uint8_t *data;
  size_t n;
  enum tsr_dtype type;
  double want[2];
} types[] = {
    {HEAD("<f2", "False", "(2,)"), BYTES(0x00, 0x3e, 0x00, 0xc0), TSR_DTYPE_F16, {1.5, -2}},
    {HEAD(">f2", "False", "(2,)"), BYTES(0x3e, 0x00, 0xc0, 0x00), TSR_DTYPE_F16, {1.5, -2}},
    {HEAD("<f4", "False", "(2,)"),
     BYTES(0, 0, 0xc0, 0x3f, 0, 0, 0x80, 0x7f),
     TSR_DTYPE_F32,
     {1.5, INFINITY}},
    {HEAD(">f8", "False", "(2,)"),
     BYTES(0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0),
     TSR_DTYPE_F64,
     {1.5, -2}},
    {HEAD("|i1", "False", "(2,)"), BYTES(0x7f, 0x80), TSR_DTYPE_I8, {127, -128}},
    {HEAD("|u1", "False", "(2,)"), BYTES(0x7f, 0x80), TSR_DTYPE_U8, {127, 128}},
    {HEAD("<i2", "False", "(2,)"), BYTES(0x01, 0x02, 0xff, 0xff), TSR_DTYPE_I16, {513, -1}},
    {HEAD(">i2", "False", "(2,)"), BYTES(0x01, 0x02, 0xff, 0xff), TSR_DTYPE_I16, {258, -1}},
    {HEAD("<u2", "False", "(2,)"), BYTES(0x01, 0x02, 0xff, 0xff), TSR_DTYPE_U16, {513, 65535}},
    {HEAD("<i4", "False", "(2,)"),
     BYTES(1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff),
     TSR_DTYPE_I32,
     {1, -2}},
    {HEAD(">u4", "False", "(2,)"),
     BYTES(0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe),
     TSR_DTYPE_U32,
     {1, 4294967294.0}},
    {HEAD("<i8", "False", "(2,)"),
     BYTES(1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
     TSR_DTYPE_I64,
     {1, -1}},
    {HEAD("|b1", "False", "(2,)"), BYTES(0, 1), TSR_DTYPE_BOOL, {0, 1}},
};

static void every_type_and_byte_order_is_read(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(types); i++)
    for (unsigned v = 1; v <= 3; v++) {
      struct tsr_array *a = NULL;
      assert_int_equal(parse(v, types[i].header, types[i].data, types[i].n, &a, NULL), TSR_OK);
      assert_int_equal(a->type, types[i].type);
      assert_int_equal(a->rank, 1);
      for (size_t k = 0; k < 2; k++)
        if (tsr_array_get(a, k) != types[i].want[k])
          fail_msg("%s: element %zu is %g", types[i].header, k, tsr_array_get(a, k));
      tsr_array_destroy(a);
    }
}

/* Column by column in the file, row by row in the array. */
static void fortran_order_is_turned(void **state) {
  (void)state;
  struct tsr_array *a = NULL;
  static const uint8_t data[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  assert_int_equal(parse(1, HEAD("|u1", "True", "(2, 3, 2)"), data, 12, &a, NULL), TSR_OK);
  for (int64_t i = 0; i < 2; i++)
    for (int64_t j = 0; j < 3; j++)
      for (int64_t k = 0; k < 2; k++)
        assert_int_equal(a->i[(i * 3 + j) * 2 + k], i + 2 * j + 6 * k);
  tsr_array_destroy(a);
  /* Two chunks of the reader. */
  enum { ROWS = 3, COLS = 3000 };
  uint8_t *many = malloc(ROWS * COLS);
  assert_non_null(many);
  for (size_t i = 0; i < ROWS * COLS; i++) many[i] = (uint8_t)(i % 251);
  assert_int_equal(parse(1, HEAD("|u1", "True", "(3, 3000)"), many, ROWS * COLS, &a, NULL),
                   TSR_OK);
  for (size_t i = 0; i < ROWS; i++)
    for (size_t j = 0; j < COLS; j++)
      assert_int_equal(a->i[i * COLS + j], (i + ROWS * j) % 251);
  free(many);
  tsr_array_destroy(a);
}

static void headers_may_be_written_otherwise(void **state) {
  (void)state;
  static const char *const headers[] = {
      "{'shape':(2,),'fortran_order':False,'descr':'|u1'}",
      "{ \"descr\" : \"|u1\" , \"fortran_order\" : True , \"shape\" : ( 2 , ) , } \n",
      "{'descr': '<u1', 'fortran_order': False, 'shape': (2,)}\n\n  "};
  for (size_t i = 0; i < LEN(headers); i++) {
    struct tsr_array *a = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    if (parse(1, headers[i], "\5\6", 2, &a, &err)) fail_msg("%s", err.msg[0]);
    assert_int_equal(a->i[1], 6);
    tsr_array_destroy(a);
  }
  struct tsr_array *a = NULL;
  assert_int_equal(parse(1, HEAD("|u1", "False", "()"), "\7", 1, &a, NULL), TSR_OK);
  assert_int_equal(a->rank, 0);
  assert_int_equal(a->i[0], 7);
  tsr_array_destroy(a);
  assert_int_equal(parse(1, HEAD("<f4", "True", "(3, 0)"), "", 0, &a, NULL), TSR_OK);
  assert_int_equal(a->n, 0);
  tsr_array_destroy(a);
}

static const struct {
  const char *header;
  size_t n; /* bytes of data */
  const char *says;
} bad[] = {
    {HEAD("<c8", "False", "(2,)"), 16,
     "x.npy:1:12: error: header of a .npy file; expected a "
     "number type"},
    {HEAD("|f4", "False", "(2,)"), 8, "x.npy:1:12: error"},
    {HEAD("=f4", "False", "(2,)"), 8, "got '=f4'"},
    {HEAD("", "False", "(2,)"), 8, "expected a number type"},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8,
     "x.npy:1:11: error"},
    {HEAD("<f4", "Maybe", "(2,)"), 8, "expected True or False"},
    {HEAD("<f4", "False", "(2)"), 8, "expected ',' behind the only size"},
    {HEAD("<f4", "False", "[2,]"), 8, "expected a shape such as (3, 4)"},
    {HEAD("<f4", "False", "(-2,)"), 8, "expected a size, got '-'"},
    {HEAD("<f4", "False", "(2 3)"), 24, "expected ',' or ')'"},
    {HEAD("<f4", "False", "(1,1,1,1,1,1,1,1,1)"), 4, "expected at most 8 dimensions"},
    {HEAD("<f4", "False", "(99999999999999999999,)"), 8, "expected a size below 2^64"},
    {HEAD("<f4", "False", "(4294967296, 4294967296)"), 8, "expected at most 2^40 elements"},
    {HEAD("<f4", "False", "(2,)"), 7, "expected 8 bytes for 2 elements of 4 bytes, got 7"},
    {HEAD("<f4", "False", "(2,)"), 9, "got 9"},
    {"{'descr': '<f4', 'fortran_order': False}", 0, "expected the keys"},
    {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4,
     "x.npy:1:19: error: header of a .npy file; expected the keys"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}", 4, "got 'more'"},
    {"{'descr': '<f4' 'fortran_order': False, 'shape': ()}", 4, "expected ',' or '}'"},
    {"{'descr' '<f4', 'fortran_order': False, 'shape': ()}", 4, "expected ':'"},
    {"{'des\\x63r': '<f4', 'fortran_order': False, 'shape': ()}", 4, "without escapes"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", 4, "nothing but blanks"},
    {"'descr': '<f4'", 4, "expected '{'"},
    {"{'descr': '<f4'", 4, "header of a .npy file ends"},
};

static void mistakes_are_shown_where_they_are(void **state) {
  (void)state;
  static const uint8_t data[32];
  for (size_t i = 0; i < LEN(bad); i++) {
    struct tsr_array *a = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(parse(1, bad[i].header, data, bad[i].n, &a, &err), TSR_INPUT);
    assert_null(a);
    files_message(&err, bad[i].says);
  }
}

static void what_is_no_npy_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *data;
    size_t n;
    const char *says;
  } rows[] = {{"", 0, "is no .npy file"},
              {"\x93NUMPX\1\0\2\0{}", 12, "is no .npy file"},
              {"\x93NUMPY\4\0\2\0{}", 12, "expected .npy 1.0, 2.0 or 3.0, got '4.0'"},
              {"\x93NUMPY\1\1\2\0{}", 12, "got '1.1'"},
              {"\x93NUMPY\1\0\3\0{}", 12, "expected at most 2 bytes, got 3"},
              {"\x93NUMPY\2\0\2\0\0", 11, "ends inside its first 12 bytes"},
              {"\x93NUMPY\2\0\xff\xff\xff\xff", 12, "is too long"}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_array *a = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_npy_parse("x", rows[i].data, rows[i].n, NULL, &a, &err), TSR_INPUT);
    assert_null(a);
    files_message(&err, rows[i].says);
  }
  struct tsr_array *a = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_npy_read("/nowhere/x.npy", NULL, &a, &err), TSR_INPUT);
  files_message(&err, "cannot read '/nowhere/x.npy'");
  assert_int_equal(tsr_npy_read("/tmp", NULL, &a, &err), TSR_INPUT);
  files_message(&err, "got a folder");
}

static void what_is_written_is_read_again(void **state) {
  (void)state;
  for (enum tsr_dtype t = TSR_DTYPE_F32; t < TSR_DTYPE_N_; t++) {
    if (tsr_dtype_bytes(t) == 0) continue;
    for (unsigned rank = 0; rank <= 3; rank++) {
      const uint64_t dim[] = {2, 1, 3};
      struct tsr_array *a, *b;
      assert_int_equal(tsr_array_create(NULL, t, rank, dim, &a, NULL), TSR_OK);
      for (uint64_t i = 0; i < a->n; i++) tsr_array_set(a, i, i % 2 ? 1 : 0);
      assert_int_equal(tsr_npy_write("w.npy", a, NULL), TSR_OK);
      assert_int_equal(tsr_npy_read("w.npy", NULL, &b, NULL), TSR_OK);
      assert_int_equal(b->type, t == TSR_DTYPE_BF16 ? TSR_DTYPE_F32 : t);
      assert_int_equal(b->rank, rank);
      assert_int_equal(b->n, a->n);
      for (uint64_t i = 0; i < a->n; i++)
        assert_true(tsr_array_get(a, i) == tsr_array_get(b, i));
      tsr_array_destroy(a);
      tsr_array_destroy(b);
    }
  }
}

/* As numpy.save writes it: the version, a header that ends at a multiple of 64. */
static void the_file_is_laid_out_as_numpy_does(void **state) {
  (void)state;
  struct tsr_array *a;
  const uint64_t dim[] = {3};
  char head[129] = {0};
  assert_int_equal(tsr_array_create(NULL, TSR_DTYPE_F32, 1, dim, &a, NULL), TSR_OK);
  a->f[0] = 1.5;
  assert_int_equal(tsr_npy_write("l.npy", a, NULL), TSR_OK);
  FILE *f = fopen("l.npy", "rb");
  assert_non_null(f);
  assert_int_equal(fread(head, 1, sizeof head, f), 129);
  fclose(f);
  assert_memory_equal(head,
                      "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, "
                      "'shape': (3,), }",
                      10 + 57);
  assert_int_equal(head[127], '\n');
  tsr_array_destroy(a);
}

static enum tsr_status read_and_write(void *arg, struct tsr_err *err) {
  struct tsr_array *a;
  enum tsr_status st = tsr_npy_read(arg, NULL, &a, err);
  if (st) return st;
  st = tsr_npy_write("again.npy", a, err);
  tsr_array_destroy(a);
  return st;
}

static void out_of_memory_is_told(void **state) {
  (void)state;
  size_t n;
  char path[] = "m.npy";
  uint8_t *f = make(1, HEAD("|u1", "True", "(2, 3)"), "abcdef", 6, &n);
  files_put(path, f, n);
  free(f);
  files_starve(read_and_write, path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_and_byte_order_is_read),
      cmocka_unit_test(fortran_order_is_turned),
      cmocka_unit_test(headers_may_be_written_otherwise),
      cmocka_unit_test(mistakes_are_shown_where_they_are),
      cmocka_unit_test(what_is_no_npy_is_refused),
      cmocka_unit_test_setup_teardown(what_is_written_is_read_again, files_enter, files_leave),
      cmocka_unit_test_setup_teardown(the_file_is_laid_out_as_numpy_does, files_enter,
                                      files_leave),
      cmocka_unit_test_setup_teardown(out_of_memory_is_told, files_enter, files_leave)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
