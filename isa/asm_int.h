/* The assembler's reader: tokens of one line, names, expressions. */
#ifndef TSR_ISA_ASM_INT_H
#define TSR_ISA_ASM_INT_H

#include "isa/isa_int.h"

enum tsri_tok_kind {
  TSRI_TOK_END,
  TSRI_TOK_NAME,
  TSRI_TOK_NUMBER,
  TSRI_TOK_MARK,
  TSRI_TOK_TEXT
};

/* A piece of the line; a mark is one character that begins nothing else, a text stands
 * with its quotes, of which the last may be missing. */
struct tsri_tok {
  enum tsri_tok_kind kind;
  const char *at;
  size_t n;
};

enum tsri_name_state {
  TSRI_NAME_LATER, /* a constant whose line is not reached yet */
  TSRI_NAME_KNOWN,
  TSRI_NAME_BROKEN /* its expression was refused, and that told */
};

/* A label (the number of the instruction that follows) or a constant. */
struct tsri_name {
  const char *text;
  uint32_t line, col;
  enum tsri_name_state state;
  tsr_i128 value;
};

struct tsri_asm {
  struct tsr_src src;
  struct tsr_err *err;
  struct tsr_arena *arena; /* texts of names */
  struct tsri_name *names; /* owned; by text, then in the order of the lines */
  size_t n_names, cap_names;
  uint32_t line;                /* from 1 */
  const char *start, *at, *end; /* of the line; behind the token; before a comment */
  struct tsri_tok tok;
  struct tsr_program *program; /* that the instructions belong to */
  bool failed, no_memory;
  char shown[96];
};

/* The next token into s->tok. */
void tsri_asm_next(struct tsri_asm *s);
bool tsri_asm_is(const struct tsri_asm *s, char mark);
bool tsri_tok_eq(const struct tsri_tok *t, const char *word);
/* From the first byte of `from` to the last before the current token. */
struct tsri_tok tsri_asm_since(const struct tsri_asm *s, const struct tsri_tok *from);
/* Whether it reads as a register of any kind: a prefix and digits, or a last one's word. */
bool tsri_tok_is_register(const struct tsri_tok *t);

/* A mistake at a token: the source is refused. Returns false. */
bool tsri_asm_fault(struct tsri_asm *s, const struct tsri_tok *t, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The token as a message shows it, cut where it is long; valid until the next call. */
const char *tsri_asm_show(struct tsri_asm *s, const struct tsri_tok *t);
/* After a message about `t`: the nearest of the names, where one is near. */
void tsri_asm_hint(struct tsri_asm *s, const struct tsri_tok *t, const char *const *names,
                   size_t n);

/* Names: all are added, then sorted, then found.  Of several definitions the first
 * is found. */
void tsri_asm_add_name(struct tsri_asm *s, const struct tsri_tok *t, bool known,
                       tsr_i128 value);
void tsri_asm_sort_names(struct tsri_asm *s);
struct tsri_name *tsri_asm_find_name(struct tsri_asm *s, const struct tsri_tok *t);

/* Reads the longest expression from the current token on.  false: told. */
bool tsri_asm_expr(struct tsri_asm *s, tsr_i128 *out);
/* One value of an expression: a number, a name, or what stands in brackets. */
bool tsri_asm_value(struct tsri_asm *s, tsr_i128 *out);
enum { TSRI_I128_TEXT = 48 };
char *tsri_i128_print(tsr_i128 v, char buf[TSRI_I128_TEXT]);

/* Reads a quoted text that is a valid name; `what` is for messages. */
bool tsri_asm_text(struct tsri_asm *s, const char *what, char text[TSR_ISA_NAME_MAX + 1]);
/* The instruction of this mnemonic, or -1. */
int tsri_asm_find_row(const struct tsri_tok *t);
/* Reads the rest of the line, the operands.  false: told. */
bool tsri_asm_instruction(struct tsri_asm *s, const struct tsri_tok *mnemonic,
                          struct tsr_inst *out);

#endif
