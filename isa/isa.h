/* The instruction set, programs, and sets of programs.
 *
 * A program is a list of instructions for one core; a set holds one program for each core
 * of a machine.  isa.def is the only place where an instruction is described: encoding,
 * decoding, text and manual follow from it.
 *
 * Units: a count of elements, bytes for strides and bases.
 * Ownership: a program owns its instructions and names (tsr_isa_program_fini), a set its
 * programs (tsr_isa_set_fini).
 * Errors: TSR_INPUT for words that are no canonical instruction, a program that is not
 * sound or a container that is damaged, with the place; TSR_NOMEM. */
#ifndef TSR_ISA_ISA_H
#define TSR_ISA_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/str.h"

enum tsr_isa_op {
#define INST(id, mnemonic, words, doc, fields) TSR_ISA_##id,
#define F(name, kind, word, low, width)
#define D(name, kind, word, low, width, value)
#include "isa/isa.def"
#undef INST
#undef F
#undef D
  TSR_ISA_OP_COUNT
};

enum {
  TSR_ISA_FIELDS_MAX = 10,
  TSR_ISA_WORDS_MAX = 3,
  TSR_ISA_TENSORS = 16,
  TSR_ISA_PLACES = 16,
  TSR_ISA_FORMATS = 16,
  TSR_ISA_DIMS = 4,
  TSR_ISA_LOOPS = 15, /* l15 is `none` */
  TSR_ISA_NO_LOOP = 15,
  TSR_ISA_SEMS = 256,
  TSR_ISA_NAMES = 64,    /* of a program */
  TSR_ISA_NAME_MAX = 63, /* bytes of a name */
  TSR_ISA_CORES = 4096   /* of a set */
};

/* Axes of the matmul space.  m = b*oh*ow, n, k = kh*kw*c, groups = g; a plain
 * matmul uses g, ow (as m), n and c (as k). */
enum tsr_isa_axis {
  TSR_AXIS_G,
  TSR_AXIS_B,
  TSR_AXIS_OH,
  TSR_AXIS_OW,
  TSR_AXIS_N,
  TSR_AXIS_KH,
  TSR_AXIS_KW,
  TSR_AXIS_C,
  TSR_AXIS_COUNT
};
enum tsr_isa_unit {
  TSR_UNIT_LOAD,
  TSR_UNIT_TILE,
  TSR_UNIT_STORE,
  TSR_UNIT_VECTOR,
  TSR_ISA_UNITS
};
enum tsr_isa_buf { TSR_BUF_A, TSR_BUF_B, TSR_BUF_C, TSR_ISA_BUFS };
enum tsr_isa_when { TSR_WHEN_READ, TSR_WHEN_DONE, TSR_ISA_WHENS };
enum tsr_isa_gate { TSR_GATE_START, TSR_GATE_RESULT, TSR_ISA_GATES };
/* Whom a signal or a load reaches: this core, all cores of the program, the first. */
enum tsr_isa_to { TSR_TO_OWN, TSR_TO_ALL, TSR_TO_FIRST, TSR_ISA_TOS };
/* How the second operand of a vector operation meets rows and columns: an element each;
 * one row for all; one column for all; one element. */
enum tsr_isa_bc { TSR_BC_NONE, TSR_BC_ROW, TSR_BC_COL, TSR_BC_ONE, TSR_ISA_BCS };
enum tsr_isa_sparse { TSR_DENSE, TSR_SPARSE_24, TSR_ISA_SPARSES };

extern const char *const tsr_isa_axis_names[TSR_AXIS_COUNT + 1];
extern const char *const tsr_isa_unit_names[TSR_ISA_UNITS + 1];
extern const char *const tsr_isa_buf_names[TSR_ISA_BUFS + 1];

struct tsr_inst {
  uint8_t op;                    /* enum tsr_isa_op */
  int64_t f[TSR_ISA_FIELDS_MAX]; /* operands in the order of isa.def; unsigned 64-bit
                                    operands are their bit pattern */
};

struct tsr_program {
  struct tsr_inst *inst; /* owned */
  size_t n, cap;
  char **name; /* formats by name, owned; in the order of their first use, no other */
  size_t n_names, cap_names;
  bool borrowed; /* inst and name belong to another program of the set */
  bool failed;   /* memory ran out while emitting */
};

/* What the cores of a machine run, each its own program.  Cores that run the same share
 * one program in memory: theirs are `borrowed`, and must not be changed. */
struct tsr_program_set {
  size_t n;                    /* cores */
  struct tsr_program *program; /* owned; of each core */
  size_t cap;
  char *machine;         /* owned; that it was made for; NULL: any */
  uint64_t machine_hash; /* of its effective text; 0 where there is no machine */
};

void tsr_isa_program_fini(struct tsr_program *p);
/* Appends; operands beyond the instruction's own are ignored.  A borrowed program is
 * not changed, but failed. */
void tsr_isa_emit(struct tsr_program *p, enum tsr_isa_op op, const int64_t *f);
/* The number of a name, which is added unless it is there.  To be called as the
 * instruction that uses it is emitted: names count in the order of their first use. */
int64_t tsr_isa_name(struct tsr_program *p, const char *name);

void tsr_isa_set_fini(struct tsr_program_set *s);
/* The next `cores` (1 or more) cores run *p, which is transferred; it is empty afterwards,
 * also on failure.  A program that is equal to that of an earlier core is shared with it.
 * TSR_INPUT: more than TSR_ISA_CORES; TSR_NOMEM, also for what failed while emitting. */
enum tsr_status tsr_isa_set_add(struct tsr_program_set *s, struct tsr_program *p, size_t cores,
                                struct tsr_err *err);
/* The machine that the set was made for: its name (1 to TSR_ISA_NAME_MAX printable ASCII
 * characters without a quote; NULL: any) and the hash of its effective text. */
enum tsr_status tsr_isa_set_machine(struct tsr_program_set *s, const char *name, uint64_t hash,
                                    struct tsr_err *err);

/* Words of one instruction (1..TSR_ISA_WORDS_MAX); the values must fit their fields. */
size_t tsr_isa_encode(const struct tsr_inst *i, uint64_t words[TSR_ISA_WORDS_MAX]);
/* Decodes at words[0..n-1]; returns words used, 0 when this is no instruction (an
 * unknown opcode, a bit that no field covers, an operand outside its list). */
size_t tsr_isa_decode(const uint64_t *words, size_t n, struct tsr_inst *out);

/* One instruction as text, without newline; `p` (may be NULL) has its names.  A name that
 * is not there stands as its number, which does not assemble. */
void tsr_isa_print(const struct tsr_program *p, const struct tsr_inst *i, struct tsr_str *out);
/* The whole program, loops indented, one instruction a line. */
void tsr_isa_disasm(const struct tsr_program *p, struct tsr_str *out);
/* The set: its machine, then each program behind the line of its cores.  A set of one
 * core for any machine is its program alone. */
void tsr_isa_set_disasm(const struct tsr_program_set *s, struct tsr_str *out);

/* Assembles text[0..len-1] (need not end with a NUL), a program as tsr_isa_disasm
 * prints it or as a person writes it; what more may stand there says README.md.
 * `path` is for messages.  TSR_INPUT with file:line:col, several mistakes at once,
 * also for what tsr_isa_check refuses, and for more than one core; TSR_NOMEM.
 * *out unchanged on failure. */
enum tsr_status tsr_isa_assemble(const char *path, const char *text, size_t len,
                                 struct tsr_program *out, struct tsr_err *err);
/* The same for a set, as tsr_isa_set_disasm prints it. */
enum tsr_status tsr_isa_set_assemble(const char *path, const char *text, size_t len,
                                     struct tsr_program_set *out, struct tsr_err *err);

/* The manual: every instruction with encoding and meaning. */
void tsr_isa_manual(struct tsr_str *out);
const char *tsr_isa_mnemonic(enum tsr_isa_op op);
const char *tsr_isa_doc(enum tsr_isa_op op);

/* Checks what every engine relies on: operands and sizes in range; loops matched and
 * nested, those of a set `over` open; tensors, places and formats described before they
 * are used, with every dimension up to the last; what a tensor or a place spans within
 * 64 bits; names valid and in the order of their first use; halt last and only there. */
enum tsr_status tsr_isa_check(const struct tsr_program *p, struct tsr_err *err);

/* Container "TSRPROG2": little-endian words of 64 bits; texts are a length in bytes and
 * the bytes, filled up with zeros.
 *   magic, number of words from the fourth on, FNV-1a of those
 *   machine: text (empty: any), hash
 *   cores, number of different programs; each: number of names, texts, number of words, words
 *   until every core has its program: cores, number of the program
 * Equal programs are stored once.  One encoding each: what loads saves to the same bytes.
 * The bytes are transferred (tsr_mem_free).  A program that is not sound is not saved. */
enum tsr_status tsr_isa_set_save(const struct tsr_program_set *s, uint8_t **bytes, size_t *n,
                                 struct tsr_err *err);
/* *out unchanged on failure; programs are sound (tsr_isa_check). */
enum tsr_status tsr_isa_set_load(const char *path, const uint8_t *bytes, size_t n,
                                 struct tsr_program_set *out, struct tsr_err *err);

#endif
