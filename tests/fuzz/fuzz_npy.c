/* .npy files: any bytes give an array of the file's size, or an error with a message; never
 * both, never neither. */
#include <stdlib.h>

#include "workloads/tensor/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good) {
  if (!good) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tsr_array *a = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status s = tsr_npy_parse("fuzz.npy", data, size, NULL, &a, &err);
  require((s == TSR_OK) == (a != NULL));
  require((s == TSR_OK) == (err.total == 0));
  require(!a || a->n * tsr_dtype_bytes(a->type) < size);
  require(!a || !a->f == !tsr_dtype_is_float(a->type));
  tsr_array_destroy(a);
  tsr_err_fini(&err);
  return 0;
}
