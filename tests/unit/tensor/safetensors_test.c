/* Safetensors: every type's values, a file's tensors by name, and headers that lie. */
#include <math.h>

#include "files.h"
#include "workloads/tensor/safetensors.h"

static uint8_t *make(const char *header, const void *data, size_t n, size_t *size) {
  size_t len = strlen(header);
  uint8_t *f = calloc(1, 8 + len + n + 1);
  assert_non_null(f);
  for (unsigned i = 0; i < 8; i++) f[i] = (uint8_t)((uint64_t)len >> (8 * i));
  memcpy(f + 8, header, len);
  if (n) memcpy(f + 8 + len, data, n);
  *size = 8 + len + n;
  return f;
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/* Two elements each; the codes are those of IEEE 754, OFP8 and two's complement. */
static const struct {
  const char *dtype;
  enum tsr_dtype type;
  const uint8_t *data;
  size_t n;
  double want[2];
} types[] = {
    {"F64",
     TSR_DTYPE_F64,
     BYTES(0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0),
     {1.5, -2}},
    {"F32", TSR_DTYPE_F32, BYTES(0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0), {1.5, -2}},
    {"F16", TSR_DTYPE_F16, BYTES(0, 0x3e, 0, 0xc0), {1.5, -2}},
    {"BF16", TSR_DTYPE_BF16, BYTES(0xc0, 0x3f, 0, 0xc0), {1.5, -2}},
    {"F8_E4M3", TSR_DTYPE_F32, BYTES(0x3c, 0x7e), {1.5, 448}},
    {"F8_E5M2", TSR_DTYPE_F32, BYTES(0x3e, 0xfc), {1.5, -INFINITY}},
    {"I64",
     TSR_DTYPE_I64,
     BYTES(1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
     {1, -1}},
    {"I32", TSR_DTYPE_I32, BYTES(1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff), {1, -1}},
    {"I16", TSR_DTYPE_I16, BYTES(1, 2, 0xff, 0xff), {513, -1}},
    {"I8", TSR_DTYPE_I8, BYTES(0x7f, 0x80), {127, -128}},
    {"U64", TSR_DTYPE_U64, BYTES(1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0), {1, 2}},
    {"U32", TSR_DTYPE_U32, BYTES(1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff), {1, 4294967295.0}},
    {"U16", TSR_DTYPE_U16, BYTES(1, 2, 0xff, 0xff), {513, 65535}},
    {"U8", TSR_DTYPE_U8, BYTES(0x7f, 0x80), {127, 128}},
    {"BOOL", TSR_DTYPE_BOOL, BYTES(0, 1), {0, 1}},
};

static void every_type_is_read(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(types); i++) {
    char header[128];
    size_t size;
    snprintf(header, sizeof header,
             "{\"t\": {\"dtype\": \"%s\", \"shape\": [1, 2], \"data_offsets\": [0, %zu]}}  ",
             types[i].dtype, types[i].n);
    uint8_t *f = make(header, types[i].data, types[i].n, &size);
    struct tsr_safetensors *s = NULL;
    struct tsr_array *a = NULL;
    assert_int_equal(tsr_safetensors_parse("x", f, size, &s, NULL), TSR_OK);
    assert_int_equal(tsr_safetensors_read(s, 0, NULL, &a, NULL), TSR_OK);
    assert_int_equal(a->type, types[i].type);
    assert_int_equal(a->rank, 2);
    for (size_t k = 0; k < 2; k++)
      if (tsr_array_get(a, k) != types[i].want[k])
        fail_msg("%s: element %zu is %g", types[i].dtype, k, tsr_array_get(a, k));
    tsr_array_destroy(a);
    tsr_safetensors_close(s);
    free(f);
  }
}

#define T(name, dtype, shape, at) \
  "\"" name "\": {\"dtype\": \"" dtype "\", \"shape\": " shape ", \"data_offsets\": " at "}"

static const struct {
  const char *header;
  size_t n;
  const char *says;
} bad[] = {
    {"{" T("a", "F32", "[2]", "[0, 8]") "} x", 8, "x:1:"},
    {"{" T("a", "F32", "[2]", "[0, 8]") "," T("a", "F32", "[2]", "[0, 8]") "}", 8, "duplicate"},
    {"{" T("a", "F33", "[2]", "[0, 8]") "}", 8, "tensor 'a' of 'x'; expected a dtype of F64"},
    {"{" T("a", "F32", "[2]", "[0, 8], \"more\": 1") "}", 8, "expected an object of dtype"},
    {"{\"a\": 1}", 0, "expected an object of dtype"},
    {"{" T("a", "F32", "2", "[0, 8]") "}", 8, "expected a shape of at most 8 sizes"},
    {"{" T("a", "F32", "[1,1,1,1,1,1,1,1,1]", "[0, 4]") "}", 4, "at most 8 sizes"},
    {"{" T("a", "F32", "[-2]", "[0, 8]") "}", 8, "sizes of its shape of 0 or more"},
    {"{" T("a", "F32", "[2.0]", "[0, 8]") "}", 8, "sizes of its shape of 0 or more"},
    {"{" T("a", "F32", "[4294967296, 4294967296]", "[0, 8]") "}", 8, "at most 2^40 elements"},
    {"{" T("a", "F32", "[2]", "[0, 16]") "}", 8, "within the 8 bytes of data"},
    {"{" T("a", "F32", "[2]", "[8, 0]") "}", 8, "data_offsets [begin, end]"},
    {"{" T("a", "F32", "[2]", "[-8, 0]") "}", 8, "data_offsets [begin, end]"},
    {"{" T("a", "F32", "[2]", "[0]") "}", 8, "data_offsets [begin, end]"},
    {"{" T("a", "F32", "[2]", "[0, 7]") "}", 8,
     "expected 8 bytes for its shape and type, got 7"},
    {"{" T("a", "U8", "[4]", "[0, 4]") "," T("b", "U8", "[4]", "[3, 7]") "}", 7,
     "tensor 'b' of 'x' overlaps another; expected it to begin at byte 4 of the data, got 3"},
    {"{" T("a", "U8", "[4]", "[0, 4]") "," T("b", "U8", "[4]", "[5, 9]") "}", 9,
     "leaves a hole"},
    {"{" T("a", "U8", "[4]", "[0, 4]") "}", 5, "expected the 4 bytes of its tensors, got 5"},
    {"{\"__metadata__\": {\"a\": 1}}", 0, "expected an object of texts"},
    {"[1, 2]", 0, "is no safetensors file"},
    {"{", 0, "is no safetensors file"},
};

static void headers_that_lie_are_refused(void **state) {
  (void)state;
  static const uint8_t data[32];
  for (size_t i = 0; i < LEN(bad); i++) {
    size_t size;
    uint8_t *f = make(bad[i].header, data, bad[i].n, &size);
    struct tsr_safetensors *s = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_safetensors_parse("x", f, size, &s, &err), TSR_INPUT);
    assert_null(s);
    files_message(&err, bad[i].says);
    free(f);
  }
  static const uint8_t huge[9] = {0, 0, 0, 0, 0, 0, 0, 0x80, '{'};
  struct tsr_safetensors *s = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_safetensors_parse("x", huge, 9, &s, &err), TSR_INPUT);
  files_message(&err, "expected the length of a JSON header of 2 to 1 bytes");
  assert_int_equal(tsr_safetensors_parse("x", huge, 4, &s, &err), TSR_INPUT);
  files_message(&err, "got 4 bytes");
  assert_int_equal(tsr_safetensors_open("/nowhere", &s, &err), TSR_INPUT);
  files_message(&err, "cannot read '/nowhere'");
}

static struct tsr_array *array(enum tsr_dtype t, unsigned rank, uint64_t d0, uint64_t d1) {
  struct tsr_array *a;
  const uint64_t dim[] = {d0, d1};
  assert_int_equal(tsr_array_create(NULL, t, rank, dim, &a, NULL), TSR_OK);
  for (uint64_t i = 0; i < a->n; i++) tsr_array_set(a, i, (double)(i % 100));
  return a;
}

static void a_file_of_several_is_read_by_name(void **state) {
  (void)state;
  struct tsr_array *arrays[] = {array(TSR_DTYPE_U8, 1, 3, 0), array(TSR_DTYPE_F64, 2, 2, 3),
                                array(TSR_DTYPE_BF16, 2, 4, 5), array(TSR_DTYPE_F32, 0, 0, 0),
                                array(TSR_DTYPE_I16, 2, 0, 7)};
  static const char *const names[] = {"u \"8\"", "layer.0.weight", "b", "s", "empty"};
  struct tsr_safetensors_item items[LEN(arrays)];
  for (size_t i = 0; i < LEN(arrays); i++)
    items[i] = (struct tsr_safetensors_item){names[i], arrays[i]};
  struct tsr_safetensors *s;
  assert_int_equal(tsr_safetensors_write("w", items, LEN(arrays), NULL), TSR_OK);
  assert_int_equal(tsr_safetensors_open("w", &s, NULL), TSR_OK);
  assert_int_equal(tsr_safetensors_count(s), LEN(arrays));
  assert_true(tsr_safetensors_find(s, "none") == SIZE_MAX);
  for (size_t i = 0; i < LEN(arrays); i++) {
    struct tsr_array *a;
    size_t at = tsr_safetensors_find(s, names[i]);
    assert_true(at != SIZE_MAX);
    assert_string_equal(tsr_safetensors_at(s, at)->name, names[i]);
    assert_int_equal(tsr_safetensors_read(s, at, NULL, &a, NULL), TSR_OK);
    assert_int_equal(a->type, arrays[i]->type);
    assert_int_equal(a->rank, arrays[i]->rank);
    assert_int_equal(a->n, arrays[i]->n);
    for (uint64_t k = 0; k < a->n; k++)
      assert_true(tsr_array_get(a, k) == tsr_array_get(arrays[i], k));
    tsr_array_destroy(a);
  }
  struct tsr_array *rows;
  size_t b = tsr_safetensors_find(s, "b");
  assert_int_equal(tsr_safetensors_read_rows(s, b, 1, 2, NULL, &rows, NULL), TSR_OK);
  assert_int_equal(rows->dim[0], 2);
  assert_int_equal(rows->n, 10);
  assert_true(rows->f[0] == 5 && rows->f[9] == 14);
  tsr_array_destroy(rows);
  tsr_safetensors_close(s);
  for (size_t i = 0; i < LEN(arrays); i++) tsr_array_destroy(arrays[i]);
}

/* Larger than the pieces in which files are read. */
static void large_tensors_are_whole(void **state) {
  (void)state;
  struct tsr_array *a = array(TSR_DTYPE_I32, 2, 300, 331), *b;
  for (uint64_t i = 0; i < a->n; i++) a->i[i] = (int64_t)i;
  const struct tsr_safetensors_item item = {"a", a};
  struct tsr_safetensors *s;
  assert_int_equal(tsr_safetensors_write("large", &item, 1, NULL), TSR_OK);
  assert_int_equal(tsr_safetensors_open("large", &s, NULL), TSR_OK);
  assert_int_equal(tsr_safetensors_read_rows(s, 0, 7, 200, NULL, &b, NULL), TSR_OK);
  for (uint64_t i = 0; i < b->n; i++) assert_int_equal(b->i[i], i + 7 * 331);
  tsr_safetensors_close(s);
  tsr_array_destroy(a);
  tsr_array_destroy(b);
}

static enum tsr_status open_and_read(void *arg, struct tsr_err *err) {
  struct tsr_safetensors *s;
  struct tsr_array *a;
  enum tsr_status st = tsr_safetensors_open(arg, &s, err);
  if (st) return st;
  st = tsr_safetensors_read(s, 0, NULL, &a, err);
  if (!st) {
    const struct tsr_safetensors_item item = {"again", a};
    st = tsr_safetensors_write("again", &item, 1, err);
    tsr_array_destroy(a);
  }
  tsr_safetensors_close(s);
  return st;
}

static void out_of_memory_is_told(void **state) {
  (void)state;
  size_t n;
  char path[] = "m";
  uint8_t *f = make("{" T("a", "U8", "[4]", "[0, 4]") "," T("b", "U8", "[4]", "[4, 8]") "}",
                    "abcdefgh", 8, &n);
  files_put(path, f, n);
  free(f);
  files_starve(open_and_read, path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_is_read), cmocka_unit_test(headers_that_lie_are_refused),
      cmocka_unit_test_setup_teardown(a_file_of_several_is_read_by_name, files_enter,
                                      files_leave),
      cmocka_unit_test_setup_teardown(large_tensors_are_whole, files_enter, files_leave),
      cmocka_unit_test_setup_teardown(out_of_memory_is_told, files_enter, files_leave)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
