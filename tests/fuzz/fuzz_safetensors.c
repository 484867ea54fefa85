/* Safetensors and IDX files: any bytes give tensors within the file, all of which can be read,
 * or an error with a message; never both, never neither. */
#include <stdlib.h>
#include <string.h>

#include "workloads/tensor/idx.h"
#include "workloads/tensor/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good) {
  if (!good) abort();
}

static void read_all(struct tsr_safetensors *s, size_t size) {
  uint64_t n = 0;
  for (size_t i = 0; i < tsr_safetensors_count(s); i++) {
    const struct tsr_safetensors_info *t = tsr_safetensors_at(s, i);
    struct tsr_array *a = NULL;
    require(tsr_safetensors_find(s, t->name) == i);
    require(tsr_safetensors_read(s, i, NULL, &a, NULL) == TSR_OK);
    require(a->n == t->n && a->type == t->type);
    n += t->n;
    tsr_array_destroy(a);
  }
  require(n < size); /* an element is a byte or more */
}

static void read_idx(const uint8_t *data, size_t size) {
  struct tsr_idx x = {0};
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status st = tsr_idx_parse("fuzz.idx", data, size, &x, &err);
  require((st == TSR_OK) == (err.total == 0) && (st == TSR_OK) == (x.data != NULL));
  tsr_idx_fini(&x);
  tsr_err_fini(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tsr_safetensors *s = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status st = tsr_safetensors_parse("fuzz.safetensors", data, size, &s, &err);
  require((st == TSR_OK) == (s != NULL));
  require((st == TSR_OK) == (err.total == 0));
  if (s) read_all(s, size);
  tsr_safetensors_close(s);
  tsr_err_fini(&err);
  read_idx(data, size);
  return 0;
}
