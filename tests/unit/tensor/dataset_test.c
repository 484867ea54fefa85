/* Data sets: IDX plain and packed, safetensors, texts; and what is none of them. */
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "files.h"
#include "workloads/tensor/dataset.h"
#include "workloads/tensor/idx.h"
#include "workloads/tensor/safetensors.h"

static const uint8_t images[] = {0, 0, 8, 3, 0, 0, 0, 2, 0,   0,   0,   2,   0,   0,
                                 0, 3, 0, 1, 2, 3, 4, 5, 250, 251, 252, 253, 254, 255};
static const uint8_t labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 7, 9};

static void put_packed(const char *path, const void *data, size_t n) {
  gzFile f = gzopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(gzwrite(f, data, (unsigned)n), n);
  assert_int_equal(gzclose(f), Z_OK);
}

static void check_images(const char *path) {
  struct tsr_dataset *d = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  uint64_t dim[3];
  if (tsr_dataset_open(path, &d, &err)) fail_msg("%s: %s", path, err.msg[0]);
  assert_int_equal(tsr_dataset_kind(d), TSR_DATASET_IMAGES);
  assert_int_equal(tsr_dataset_count(d), 2);
  assert_null(tsr_dataset_text(d));
  tsr_dataset_image_dims(d, dim);
  assert_true(dim[0] == 1 && dim[1] == 2 && dim[2] == 3);
  assert_int_equal(tsr_dataset_labels(d)[0], 7);
  assert_int_equal(tsr_dataset_labels(d)[1], 9);
  for (uint64_t first = 0; first < 2; first++) {
    struct tsr_array *a;
    assert_int_equal(tsr_dataset_images(d, first, 2 - first, NULL, &a, NULL), TSR_OK);
    assert_int_equal(a->type, TSR_DTYPE_F32);
    assert_int_equal(a->rank, 4);
    assert_true(a->dim[0] == 2 - first && a->dim[1] == 1 && a->dim[2] == 2 && a->dim[3] == 3);
    for (uint64_t i = 0; i < a->n; i++)
      assert_true(a->f[i] == (double)images[16 + 6 * first + i] / 255.0);
    tsr_array_destroy(a);
  }
  tsr_dataset_close(d);
}

static void idx_pairs_are_found_plain_and_packed(void **state) {
  (void)state;
  mkdir("plain", 0777);
  mkdir("packed", 0777);
  files_put("plain/t10k-images-idx3-ubyte", images, sizeof images);
  files_put("plain/t10k-labels-idx1-ubyte", labels, sizeof labels);
  put_packed("packed/t10k-images-idx3-ubyte.gz", images, sizeof images);
  put_packed("packed/t10k-labels-idx1-ubyte.gz", labels, sizeof labels);
  put_packed("packed/train-images-idx3-ubyte.gz", images, sizeof images);
  put_packed("packed/train-labels-idx1-ubyte.gz", labels, sizeof labels);
  check_images("plain");
  check_images("packed");
  check_images("packed/");
  check_images("plain/t10k-images-idx3-ubyte");
  check_images("packed/train-images-idx3-ubyte.gz");
}

static struct tsr_array *array(enum tsr_dtype t, unsigned rank, const uint64_t *dim,
                               const uint8_t *v) {
  struct tsr_array *a;
  assert_int_equal(tsr_array_create(NULL, t, rank, dim, &a, NULL), TSR_OK);
  for (uint64_t i = 0; i < a->n; i++) tsr_array_set(a, i, v[i]);
  return a;
}

static void put_set(const char *path, struct tsr_array *x, struct tsr_array *y) {
  const struct tsr_safetensors_item items[] = {{"images", x}, {"labels", y}};
  assert_int_equal(tsr_safetensors_write(path, items, y ? 2 : 1, NULL), TSR_OK);
  tsr_array_destroy(x);
  tsr_array_destroy(y);
}

static void safetensors_hold_images_and_labels(void **state) {
  (void)state;
  static const uint64_t whd[] = {2, 2, 3}, four[] = {2, 3, 1, 2}, two[] = {2};
  put_set("bytes", array(TSR_DTYPE_U8, 3, whd, images + 16),
          array(TSR_DTYPE_I64, 1, two, labels + 8));
  check_images("bytes");
  put_set("floats", array(TSR_DTYPE_F32, 4, four, images + 16),
          array(TSR_DTYPE_U8, 1, two, labels + 8));
  struct tsr_dataset *d;
  struct tsr_array *a;
  uint64_t dim[3];
  assert_int_equal(tsr_dataset_open("floats", &d, NULL), TSR_OK);
  tsr_dataset_image_dims(d, dim);
  assert_true(dim[0] == 3 && dim[1] == 1 && dim[2] == 2);
  assert_int_equal(tsr_dataset_images(d, 1, 1, NULL, &a, NULL), TSR_OK);
  for (uint64_t i = 0; i < 6; i++) assert_true(a->f[i] == images[22 + i]); /* as they are */
  tsr_array_destroy(a);
  tsr_dataset_close(d);
}

static void a_text_is_its_bytes(void **state) {
  (void)state;
  struct tsr_dataset *d;
  files_put("t.txt", "to be\n\xff", 7);
  assert_int_equal(tsr_dataset_open("t.txt", &d, NULL), TSR_OK);
  assert_int_equal(tsr_dataset_kind(d), TSR_DATASET_TEXT);
  assert_int_equal(tsr_dataset_count(d), 7);
  assert_memory_equal(tsr_dataset_text(d), "to be\n\xff", 7);
  assert_null(tsr_dataset_labels(d));
  tsr_dataset_close(d);
}

static void refuse(const char *path, const char *says) {
  struct tsr_dataset *d = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_dataset_open(path, &d, &err), TSR_INPUT);
  assert_null(d);
  files_message(&err, says);
}

static void what_is_no_data_set_is_told(void **state) {
  (void)state;
  static const uint64_t whd[] = {2, 2, 3}, two[] = {2}, three[] = {3}, six[] = {2, 6};
  mkdir("empty", 0777);
  mkdir("half", 0777);
  mkdir("odd", 0777);
  files_put("half/t10k-images-idx3-ubyte", images, sizeof images);
  files_put("odd/t10k-images-idx3-ubyte", images, sizeof images);
  files_put("odd/t10k-labels-idx1-ubyte", (const uint8_t[]){0, 0, 8, 1, 0, 0, 0, 1, 7}, 9);
  files_put("images.idx", images, sizeof images);
  files_put("some.csv", "a,b\n1,2\n", 8);
  files_put("empty.txt", "", 0);
  files_put("bad.safetensors", "hello, world", 12);
  refuse("/nowhere/x", "cannot read '/nowhere/x'");
  refuse("empty", "expected t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte in it");
  refuse("half", "is no data set");
  refuse("odd", "expected one for each of the 2 images, got 1");
  refuse("images.idx", "expected images-idx3-ubyte in it");
  refuse("some.csv", "is no data set; expected a folder of IDX files");
  refuse("empty.txt", "is empty");
  refuse("bad.safetensors", "is no safetensors file");
  put_set("alone", array(TSR_DTYPE_U8, 3, whd, images + 16), NULL);
  refuse("alone", "'labels' is missing");
  put_set("shape", array(TSR_DTYPE_U8, 2, six, images + 16),
          array(TSR_DTYPE_U8, 1, two, labels + 8));
  refuse("shape", "expected U8 or F32 of [N,H,W] or [N,C,H,W], got U8 2x6");
  put_set("type", array(TSR_DTYPE_I16, 3, whd, images + 16),
          array(TSR_DTYPE_U8, 1, two, labels + 8));
  refuse("type", "got I16 2x2x3");
  put_set("count", array(TSR_DTYPE_U8, 3, whd, images + 16),
          array(TSR_DTYPE_U8, 1, three, labels + 7));
  refuse("count", "expected 2 integers, one for each image, got U8 of 3");
  struct tsr_array *y = array(TSR_DTYPE_I8, 1, two, labels + 8);
  y->i[1] = -1;
  put_set("sign", array(TSR_DTYPE_U8, 3, whd, images + 16), y);
  refuse("sign", "label 1 of 'sign'; expected 0 or more, got '-1'");
}

static void broken_idx_files_are_told(void **state) {
  (void)state;
  static const struct {
    const char *data;
    size_t n;
    const char *says;
  } rows[] = {
      {"", 0, "is no IDX file"},
      {"\0\1\x8\1\0\0\0\0", 8, "is no IDX file"},
      {"\0\0\xd\1\0\0\0\0", 8, "expected 0x08, unsigned bytes, got '0x0d'"},
      {"\0\0\x8\0", 4, "rank of 'x'; expected 1 to 8, got '0'"},
      {"\0\0\x8\x9", 4, "got '9'"},
      {"\0\0\x8\2\0\0\0\1\0\0", 10, "ends early; expected a size of four bytes"},
      {"\0\0\x8\1\0\0\0\3ab", 10, "sizes of 'x' are larger than the file"},
      {"\0\0\x8\1\0\0\0\2abc", 11, "longer than its sizes say"},
      {"\0\0\x8\2\xff\xff\xff\xff\xff\xff\xff\xff", 12, "larger than the file"},
      {"\x1f\x8b\x8\0\0\0\0\0\0\3", 10, "cannot be unpacked"},
      {"\x1f\x8b garbage", 10, "cannot be unpacked"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_idx x = {0};
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_idx_parse("x", rows[i].data, rows[i].n, &x, &err), TSR_INPUT);
    assert_null(x.data);
    files_message(&err, rows[i].says);
  }
}

/* A packed file with its last bytes (checksum and length) or its middle spoilt. */
static void spoilt_packed_files_are_told(void **state) {
  (void)state;
  uint8_t f[256];
  put_packed("x.gz", images, sizeof images);
  FILE *in = fopen("x.gz", "rb");
  assert_non_null(in);
  size_t n = fread(f, 1, sizeof f, in);
  fclose(in);
  struct tsr_idx x = {0};
  assert_int_equal(tsr_idx_parse("x", f, n, &x, NULL), TSR_OK);
  assert_int_equal(x.n, 12);
  tsr_idx_fini(&x);
  for (size_t cut = 1; cut < n; cut++) {
    assert_int_equal(tsr_idx_parse("x", f, n - cut, &x, NULL), TSR_INPUT);
    assert_null(x.data);
  }
  f[n - 5] ^= 1; /* of the checksum */
  assert_int_equal(tsr_idx_parse("x", f, n, &x, NULL), TSR_INPUT);
  f[n - 5] ^= 1;
  f[n] = 0; /* one byte more */
  assert_int_equal(tsr_idx_parse("x", f, n + 1, &x, NULL), TSR_INPUT);
}

static enum tsr_status open_and_take(void *arg, struct tsr_err *err) {
  struct tsr_dataset *d;
  struct tsr_array *a;
  enum tsr_status st = tsr_dataset_open(arg, &d, err);
  if (st) return st;
  st = tsr_dataset_kind(d) == TSR_DATASET_TEXT ? TSR_OK
                                               : tsr_dataset_images(d, 0, 1, NULL, &a, err);
  if (!st && tsr_dataset_kind(d) == TSR_DATASET_IMAGES) tsr_array_destroy(a);
  tsr_dataset_close(d);
  return st;
}

static void out_of_memory_is_told(void **state) {
  (void)state;
  static const uint64_t whd[] = {2, 2, 3}, two[] = {2};
  char folder[] = "packed", set[] = "bytes", text[] = "t.txt";
  mkdir("packed", 0777);
  put_packed("packed/t10k-images-idx3-ubyte.gz", images, sizeof images);
  put_packed("packed/t10k-labels-idx1-ubyte.gz", labels, sizeof labels);
  put_set(set, array(TSR_DTYPE_U8, 3, whd, images + 16),
          array(TSR_DTYPE_I64, 1, two, labels + 8));
  files_put(text, "abc", 3);
  files_starve(open_and_take, folder);
  files_starve(open_and_take, set);
  files_starve(open_and_take, text);
}

/* The slice that lies in workloads/models is the begin of Debian's package, where that is. */
static void the_slice_is_what_it_says(void **state) {
  (void)state;
  struct tsr_dataset *slice, *whole;
  struct tsr_array *a, *b;
  assert_int_equal(tsr_dataset_open(TSR_TEST_DATA "/../../workloads/models/"
                                                  "fashion-mnist-500.safetensors",
                                    &slice, NULL),
                   TSR_OK);
  assert_int_equal(tsr_dataset_count(slice), 500);
  uint64_t seen = 0;
  for (size_t i = 0; i < 500; i++) {
    assert_in_range(tsr_dataset_labels(slice)[i], 0, 9);
    seen |= UINT64_C(1) << tsr_dataset_labels(slice)[i];
  }
  assert_int_equal(seen, 0x3ff);
  if (tsr_dataset_open("/usr/share/datasets/fashion-mnist", &whole, NULL) == TSR_OK) {
    assert_int_equal(tsr_dataset_count(whole), 10000);
    assert_memory_equal(tsr_dataset_labels(slice), tsr_dataset_labels(whole),
                        500 * sizeof(int64_t));
    assert_int_equal(tsr_dataset_images(slice, 0, 500, NULL, &a, NULL), TSR_OK);
    assert_int_equal(tsr_dataset_images(whole, 0, 500, NULL, &b, NULL), TSR_OK);
    assert_int_equal(a->n, 500 * 28 * 28);
    assert_memory_equal(a->f, b->f, a->n * sizeof *a->f);
    tsr_array_destroy(a);
    tsr_array_destroy(b);
    tsr_dataset_close(whole);
  }
  tsr_dataset_close(slice);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(idx_pairs_are_found_plain_and_packed, files_enter,
                                      files_leave),
      cmocka_unit_test_setup_teardown(safetensors_hold_images_and_labels, files_enter,
                                      files_leave),
      cmocka_unit_test_setup_teardown(a_text_is_its_bytes, files_enter, files_leave),
      cmocka_unit_test_setup_teardown(what_is_no_data_set_is_told, files_enter, files_leave),
      cmocka_unit_test(broken_idx_files_are_told),
      cmocka_unit_test_setup_teardown(spoilt_packed_files_are_told, files_enter, files_leave),
      cmocka_unit_test_setup_teardown(out_of_memory_is_told, files_enter, files_leave),
      cmocka_unit_test(the_slice_is_what_it_says)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
