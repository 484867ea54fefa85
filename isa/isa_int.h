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
  TSRI_Y,
  TSRI_K,
  TSRI_KINDS
};

struct tsri_field {
  const char *name; /* NULL: no such operand */
  enum tsri_kind kind;
  uint8_t word, low, width;
  int16_t omitted; /* the value where a text leaves it out; -1: it must stand there */
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
 * register where it has one of its own; whether it is a set of such registers or names,
 * bit i the one of number i; whether it is a quoted name of the program. */
struct tsri_kind_row {
  const char *prefix;
  const char *const *names;
  uint32_t count;
  const char *last;
  bool set, quoted;
};
extern const struct tsri_kind_row tsri_kinds[TSRI_KINDS];

/* The values that have a code, both included. */
void tsri_field_range(const struct tsri_field *f, tsr_i128 *low, tsr_i128 *high);
/* Whether the opcode is known and every operand has a code. */
bool tsri_operands_fit(const struct tsr_inst *i);

/* The kind of a vector operation, and whether it reads a second operand. */
enum tsri_vec_kind {
  TSRI_VEC_UNARY,
  TSRI_VEC_BINARY,
  TSRI_VEC_REDUCE,
  TSRI_VEC_WINDOW,
  TSRI_VEC_PAIR
};
enum tsri_vec_kind tsri_vec_kind(int64_t op);
bool tsri_vec_reads_b(int64_t op);

/* The same instructions with the same names. */
bool tsri_program_same(const struct tsr_program *a, const struct tsr_program *b);

/* Whether name[0..n-1] can name a format or a machine: 1 to TSR_ISA_NAME_MAX printable
 * ASCII characters without a quote. */
bool tsri_name_valid(const char *name, size_t n);
/* The number of a name; n_names: there is none of it. */
size_t tsri_name_find(const struct tsr_program *p, const char *name);
/* A name is added even where it is there already, as a damaged container may do. */
bool tsri_name_append(struct tsr_program *p, const char *name, size_t n);

/* What is wrong with a program: the instruction where it shows (n: behind the
 * last), the one to blame. */
struct tsri_flaw {
  size_t at, cause;
  char what[112];
};
/* tsr_isa_check without words; *flaw is written when it is not sound. */
bool tsri_program_sound(const struct tsr_program *p, struct tsri_flaw *flaw);
/* Operands in range and names in order: what the encoding and the text rely on. */
bool tsri_operands_sound(const struct tsr_program *p, struct tsri_flaw *flaw);

/* tsr_isa_assemble without the check of the whole: any list of instructions. */
enum tsr_status tsri_assemble_part(const char *path, const char *text, size_t len,
                                   struct tsr_program *out, struct tsr_err *err);

#endif
