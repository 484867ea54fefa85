/* The loader of programs: any bytes give a sound program or an error with a message;
 * what is loaded saves to the same bytes.  The bytes are tried as a container, and as
 * the words of one, because no mutation finds a container's hash. */
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"
#include "sim/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good) {
  if (!good) abort();
}

static void check_program(const struct tsr_program *p, const uint8_t *bytes, size_t n) {
  require(tsr_isa_check(p, NULL) == TSR_OK);
  uint8_t *again;
  size_t m;
  if (tsr_isa_save(p, &again, &m, NULL) == TSR_OK) {
    require(m == n && memcmp(again, bytes, n) == 0);
    tsr_mem_free(again);
  }
  struct tsr_str text = TSR_STR_INIT;
  tsr_isa_disasm(p, &text);
  size_t lines = 0;
  for (size_t i = 0; i < text.n; i++) lines += text.p[i] == '\n';
  require(text.failed || lines == p->n);
  tsr_str_fini(&text);
}

static void load_one(const uint8_t *bytes, size_t n) {
  struct tsr_program p = {0};
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status s = tsr_isa_load("fuzz.bin", bytes, n, &p, &err);
  require((s == TSR_OK) == (p.n > 0));
  require((s == TSR_OK) == (err.total == 0));
  require(s == err.status);
  if (s == TSR_OK) check_program(&p, bytes, n);
  tsr_isa_program_fini(&p);
  tsr_err_fini(&err);
}

static void put_le(uint8_t *b, uint64_t v) {
  for (int i = 0; i < 8; i++) b[i] = (uint8_t)(v >> 8 * i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  load_one(data, size);
  size_t n = size / 8 * 8;
  uint8_t *c = malloc(24 + n);
  if (!c) return 0;
  memcpy(c, "TSRPROG1", 8);
  put_le(c + 8, n / 8);
  memcpy(c + 24, data, n);
  put_le(c + 16, tsr_fnv1a(TSR_FNV_INIT, c + 24, n));
  load_one(c, 24 + n);
  free(c);
  return 0;
}
