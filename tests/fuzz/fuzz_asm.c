/* The assembler: any bytes give a sound program or an error with a message; what is
 * assembled prints as a text that assembles to the same instructions. */
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good) {
  if (!good) abort();
}

static void check_program(const struct tsr_program *p) {
  require(tsr_isa_check(p, NULL) == TSR_OK);
  struct tsr_str text = TSR_STR_INIT;
  struct tsr_program again = {0};
  tsr_isa_disasm(p, &text);
  require(!text.failed);
  require(tsr_isa_assemble("again.s", text.p, text.n, &again, NULL) == TSR_OK);
  require(again.n == p->n);
  for (size_t i = 0; i < p->n; i++) {
    require(again.inst[i].op == p->inst[i].op);
    require(!memcmp(again.inst[i].f, p->inst[i].f, sizeof p->inst[i].f));
  }
  tsr_isa_program_fini(&again);
  tsr_str_fini(&text);
}

/* Every message says where. */
static void check_messages(const struct tsr_err *err, bool placed) {
  for (size_t i = 0; i < err->n; i++)
    require(!strncmp(err->msg[i], placed ? "fuzz.s:" : "error: ", 7));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tsr_program p = {0};
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status s = tsr_isa_assemble("fuzz.s", (const char *)data, size, &p, &err);
  require((s == TSR_OK) == (p.n > 0));
  require((s == TSR_OK) == (err.total == 0));
  require(s == err.status);
  bool binary = size >= 16 && !memcmp(data, "TSRPROG", 7) && memchr(data + 8, 0, 8);
  check_messages(&err, !binary);
  if (s == TSR_OK) check_program(&p);
  tsr_isa_program_fini(&p);
  tsr_err_fini(&err);
  return 0;
}
