/* Texts of matrix units: any bytes give a unit that can be used and printed, or an
 * error with a message. */
#include <stdlib.h>
#include <string.h>

#include "models/arith/mma_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good) {
  if (!good) abort();
}

static void use(const struct tsr_mma *u) {
  char text[2 * TSR_MMA_TEXT_MAX];
  uint64_t a[70], b[70];
  require(!tsr_mma_invalid(u));
  require(strlen(tsr_mma_print(u, text, sizeof text)) > 0);
  for (unsigned i = 0; i < 70; i++) {
    a[i] = i * UINT64_C(0x9e3779b97f4a7c15);
    b[i] = ~a[i];
    if (u->a->bits < 64) a[i] &= (UINT64_C(1) << u->a->bits) - 1;
    if (u->b->bits < 64) b[i] &= (UINT64_C(1) << u->b->bits) - 1;
  }
  unsigned ev = 0;
  struct tsr_mma_stats st = {0};
  uint64_t d = tsr_mma_dot_stats(u, a, b, 70, 0, &ev, &st);
  require(tsr_mma_dot(u, a, b, 70, 0, NULL) == d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const formats[] = {"fp16", "int8", "fp8_e4m3"};
  char *text = malloc(size + 1);
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = 0;
  for (size_t i = 0; i < 3; i++) {
    struct tsr_mma_spec spec;
    struct tsr_err err = TSR_ERR_INIT;
    const struct tsr_format *f = tsr_format_find(formats[i]);
    enum tsr_status st = tsr_mma_parse(text, f, f, NULL, &spec, &err);
    require((st == TSR_OK) == (err.total == 0) && st == err.status);
    if (!st) use(&spec.unit);
    tsr_err_fini(&err);
  }
  free(text);
  return 0;
}
