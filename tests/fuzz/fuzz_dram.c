/* Request traces and scenarios: any bytes give a stream whose addresses are of the device's
 * reach and whose clocks do not fall, or an error with a message; never both, never neither. */
#include <stdlib.h>
#include <string.h>

#include "models/dram/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good) {
  if (!good) abort();
}

static void check_stream(const struct tsr_dram_stream *s) {
  for (size_t i = 1; s->at && i < s->n; i++) require(s->at[i] >= s->at[i - 1]);
}

static void read_trace(const char *text, size_t size) {
  struct tsr_dram_stream s = {0};
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status st = tsr_dram_trace_parse("fuzz.trace", text, size, &s, &err);
  require((st == TSR_OK) == (err.total == 0));
  if (st == TSR_OK) check_stream(&s);
  tsr_dram_stream_fini(&s);
  tsr_err_fini(&err);
}

static void read_scenario(const char *text) {
  struct tsr_dram_stream s = {0};
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status st = tsr_dram_scenario(text, 64, 1000, &s, &err);
  require((st == TSR_OK) == (err.total == 0));
  require(st != TSR_OK || s.n <= 1000); /* a product ends when it is done */
  tsr_dram_stream_fini(&s);
  tsr_err_fini(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  read_trace(text, size);
  read_scenario(text);
  free(text);
  return 0;
}
