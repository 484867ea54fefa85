/* Vector files of matrix units: any bytes are replayed or refused with one message. */
#include <stdlib.h>

#include "kernels/check/vectors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good) {
  if (!good) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tsr_vectors_result r;
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status st =
      tsr_vectors_check_text("int_fuzz.txt", (const char *)data, size, NULL, &r, &err);
  require(st == err.status && err.total == (st != TSR_OK));
  require(st == TSR_OK || st == TSR_INPUT || st == TSR_NOMEM);
  if (!st) require(r.tiles > 0 && r.elements == r.exact + r.contested + r.mismatches);
  tsr_err_fini(&err);
  return 0;
}
