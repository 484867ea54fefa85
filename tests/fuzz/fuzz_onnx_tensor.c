/* The reader of ONNX tensors: any bytes give an array or an error with a message; an array is
 * written and read back equal. */
#include <stdlib.h>
#include <string.h>

#include "workloads/onnx/onnx.h"
#include "workloads/onnx/onnx_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good) {
  if (!good) abort();
}

static struct tsr_array *read_one(const void *data, size_t size) {
  struct tsr_array *a = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status st = tsr_onnx_tensor_parse("/nonexistent/fuzz.pb", data, size, &a, &err);
  require((st == TSR_OK) == (a != NULL));
  require((st == TSR_OK) == (err.total == 0));
  tsr_err_fini(&err);
  return a;
}

static bool same(double a, double b) {
  return a == b || (a != a && b != b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tsr_array *a = read_one(data, size);
  if (!a) return 0;
  unsigned char *bytes = NULL;
  size_t len = 0;
  require(tsr_onnx_tensor_write(a, "a", &bytes, &len, NULL) == TSR_OK);
  struct tsr_array *b = read_one(bytes, len);
  require(b && b->type == a->type && b->rank == a->rank && b->n == a->n);
  for (uint64_t i = 0; i < a->n; i++)
    require(a->f ? same(a->f[i], b->f[i]) : a->i[i] == b->i[i]);
  tsr_mem_free(bytes);
  tsr_array_destroy(a);
  tsr_array_destroy(b);
  return 0;
}
