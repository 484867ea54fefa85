/* The table of isa.def as the files of this folder see it. */
#ifndef TSR_ISA_ISA_INT_H
#define TSR_ISA_ISA_INT_H

#include "isa/isa.h"

enum tsri_kind {
  TSRI_U, TSRI_S, TSRI_T, TSRI_L, TSRI_X, TSRI_B, TSRI_N, TSRI_W, TSRI_P, TSRI_M, TSRI_KINDS
};

struct tsri_field {
  const char *name; /* NULL: no such operand */
  enum tsri_kind kind;
  uint8_t word, low, width;
};
struct tsri_row {
  const char *mnemonic;
  uint8_t words;
  const char *doc;
  struct tsri_field field[TSR_ISA_FIELDS_MAX + 1]; /* ends with name NULL */
};
extern const struct tsri_row tsri_rows[TSR_ISA_OP_COUNT];

/* How an operand kind is written: a register prefix or a list of names, and how
 * many there are (0: any number). */
struct tsri_kind_row {
  const char *prefix;
  const char *const *names;
  uint32_t count;
};
extern const struct tsri_kind_row tsri_kinds[TSRI_KINDS];

/* Whether the opcode is known and every operand has a code. */
bool tsri_operands_fit(const struct tsr_inst *i);

#endif
