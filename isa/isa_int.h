/* The table of isa.def as the files of this folder see it. */
#ifndef TSR_ISA_ISA_INT_H
#define TSR_ISA_ISA_INT_H

#include "isa/isa.h"
#include "sim/base/mem.h"

enum tsri_kind {
  TSRI_U,
  TSRI_S,
  TSRI_T,
  TSRI_L,
  TSRI_X,
  TSRI_B,
  TSRI_N,
  TSRI_W,
  TSRI_P,
  TSRI_M,
  TSRI_A,
  TSRI_Q,
  TSRI_R,
  TSRI_V,
  TSRI_C,
  TSRI_Z,
  TSRI_J,
  TSRI_KINDS
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

/* How an operand kind is written: a register prefix or a list of names, else a
 * number; how many values there are (0: as many as fit); the word for the last
 * register where it has one of its own. */
struct tsri_kind_row {
  const char *prefix;
  const char *const *names;
  uint32_t count;
  const char *last;
};
extern const struct tsri_kind_row tsri_kinds[TSRI_KINDS];

/* The values that have a code, both included. */
void tsri_field_range(const struct tsri_field *f, tsr_i128 *low, tsr_i128 *high);
/* Whether the opcode is known and every operand has a code. */
bool tsri_operands_fit(const struct tsr_inst *i);

/* What is wrong with a program: the instruction where it shows (n: behind the
 * last), the one to blame. */
struct tsri_flaw {
  size_t at, cause;
  const char *what; /* static */
};
/* tsr_isa_assemble without the check of the whole: any list of instructions. */
enum tsr_status tsri_assemble_part(const char *path, const char *text, size_t len,
                                   struct tsr_program *out, struct tsr_err *err);
/* tsr_isa_check without words; *flaw is written when it is not sound. */
bool tsri_program_sound(const struct tsr_program *p, struct tsri_flaw *flaw);

#endif
