/* Files of other simulators: any bytes give an import with a name, a text or runs, and reasons
 * for its keys, or an error with a message; never both, never neither. */
#include <stdlib.h>
#include <string.h>

#include "workloads/exchange/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good) {
  if (!good) abort();
}

typedef enum tsr_status read_fn(const char *path, const char *text, size_t len,
                                struct tsr_import *out, struct tsr_err *err);

static void read_as(read_fn *read, const char *path, const char *text, size_t len) {
  struct tsr_import im = {.arena = NULL};
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status st = read(path, text, len, &im, &err);
  require((st == TSR_OK) == (im.arena != NULL));
  require((st == TSR_OK) == (err.total == 0));
  if (im.arena) {
    require(im.name && *im.name && !strchr(im.name, '/') && *im.name != '.');
    require(im.kind == TSR_IMPORT_LIST ? im.n_runs > 0 : im.text != NULL);
    for (size_t i = 0; i < im.n_keys; i++) require(im.keys[i].as != NULL);
  }
  tsr_import_fini(&im);
  tsr_err_fini(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  read_as(tsr_import_scalesim, "fuzz.cfg", text, size);
  read_as(tsr_import_onnxim, "fuzz.json", text, size);
  free(text);
  return 0;
}
