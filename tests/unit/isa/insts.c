#include "tests/unit/isa/insts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants these above */
#include <cmocka.h>

uint64_t insts_mask(unsigned width) {
  return width == 64 ? UINT64_MAX : (1ull << width) - 1;
}

int64_t insts_random_value(const struct tsri_field *f, struct tsr_rng *r) {
  uint64_t count = tsri_kinds[f->kind].count;
  uint64_t high = count ? count - 1 : insts_mask(f->width);
  switch (tsr_rng_range(r, 0, 3)) {
  case 0: return 0;
  case 1: return (int64_t)high;
  default: return (int64_t)(high == UINT64_MAX ? tsr_rng_next(r) : tsr_rng_range(r, 0, high));
  }
}

struct tsr_inst insts_random(int op, struct tsr_rng *r) {
  struct tsr_inst i = {.op = (uint8_t)op};
  const struct tsri_row *row = &tsri_rows[op];
  FOR_FIELDS(row, j) i.f[j] = insts_random_value(&row->field[j], r);
  return i;
}

bool insts_same(const struct tsr_inst *a, const struct tsr_inst *b) {
  return a->op == b->op && !memcmp(a->f, b->f, sizeof a->f);
}

static struct tsr_program names;

const struct tsr_program *insts_names(void) {
  for (int i = (int)names.n_names; i < TSR_ISA_NAMES; i++) {
    char name[32];
    snprintf(name, sizeof name, "; #%d, \\", i); /* what means something elsewhere */
    assert_int_equal(tsr_isa_name(&names, name), i);
  }
  return &names;
}

void insts_names_fini(void) {
  tsr_isa_program_fini(&names);
}

char *insts_text(const struct tsr_inst *i) {
  struct tsr_str s = TSR_STR_INIT;
  tsr_isa_print(insts_names(), i, &s);
  char *text = tsr_str_take(&s);
  assert_non_null(text);
  return text;
}
