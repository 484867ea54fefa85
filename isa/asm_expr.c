/* Expressions of the assembler: integers of 128 bits, exact or refused. */
#include <string.h>

#include "isa/asm_int.h"
#include "sim/base/units.h"

enum { NEST_MAX = 64 }; /* brackets within brackets */

#define I128_MIN ((tsr_i128)((tsr_u128)1 << 127))

/* The overflowing or undefined result is refused in the words of its row. */
static bool add(tsr_i128 a, tsr_i128 b, tsr_i128 *r) {
  return !__builtin_add_overflow(a, b, r);
}
static bool sub(tsr_i128 a, tsr_i128 b, tsr_i128 *r) {
  return !__builtin_sub_overflow(a, b, r);
}
static bool mul(tsr_i128 a, tsr_i128 b, tsr_i128 *r) {
  return !__builtin_mul_overflow(a, b, r);
}
static bool quotient(tsr_i128 a, tsr_i128 b, tsr_i128 *r) {
  if (b == 0 || (b == -1 && a == I128_MIN)) return false;
  *r = a / b;
  return true;
}
static bool rest(tsr_i128 a, tsr_i128 b, tsr_i128 *r) {
  if (b == 0 || (b == -1 && a == I128_MIN)) return false;
  *r = a % b;
  return true;
}

static const char too_large[] = "the result needs more than 128 bits";
static const char by_zero[] = "division by zero";

static const struct op {
  char mark;
  int rank; /* binds more tightly the higher it is */
  bool (*apply)(tsr_i128 a, tsr_i128 b, tsr_i128 *r);
  const char *fault;
} ops[] = {{'+', 1, add, too_large},
           {'-', 1, sub, too_large},
           {'*', 2, mul, too_large},
           {'/', 2, quotient, by_zero},
           {'%', 2, rest, by_zero}};

static const struct op *find_op(const struct tsri_asm *s) {
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (tsri_asm_is(s, ops[i].mark)) return &ops[i];
  return NULL;
}

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

static enum tsr_quantity_result digits(const char *p, size_t n, unsigned base, uint64_t *v) {
  *v = 0;
  for (size_t i = 0; i < n; i++) {
    unsigned d = (unsigned)digit(p[i]);
    if (d >= base) return TSR_QUANTITY_NOT_A_NUMBER;
    if (!tsr_mul_u64(*v, base, v) || !tsr_add_u64(*v, d, v)) return TSR_QUANTITY_TOO_LARGE;
  }
  return n ? TSR_QUANTITY_OK : TSR_QUANTITY_NOT_A_NUMBER;
}

static bool number(struct tsri_asm *s, tsr_i128 *out) {
  const struct tsri_tok t = s->tok;
  bool hex = t.n > 1 && t.at[0] == '0' && t.at[1] == 'x';
  uint64_t v;
  enum tsr_quantity_result r =
      hex ? digits(t.at + 2, t.n - 2, 16, &v) : digits(t.at, t.n, 10, &v);
  if (r == TSR_QUANTITY_NOT_A_NUMBER && !hex)
    r = tsr_quantity_parse(t.at, t.n, TSR_UNIT_BYTES, &v);
  if (r == TSR_QUANTITY_TOO_LARGE)
    return tsri_asm_fault(s, &t, "number too large; expected at most 64 bits, got %s",
                          tsri_asm_show(s, &t));
  if (r != TSR_QUANTITY_OK)
    return tsri_asm_fault(s, &t, "no number; expected 12, 0x1f or 512KiB, got %s",
                          tsri_asm_show(s, &t));
  *out = v;
  tsri_asm_next(s);
  return true;
}

static void hint_name(struct tsri_asm *s, const struct tsri_tok *t) {
  enum { MANY = 10000 }; /* names that no person wrote are not searched again and again */
  if (!s->err || s->err->total > TSR_ERR_MAX || s->n_names > MANY) return;
  const char **names = tsr_mem_array(s->n_names, sizeof *names);
  for (size_t i = 0; names && i < s->n_names; i++) names[i] = s->names[i].text;
  if (names) tsri_asm_hint(s, t, names, s->n_names);
  tsr_mem_free(names);
}

static bool name(struct tsri_asm *s, tsr_i128 *out) {
  static const char expected[] = "expected a label, or a constant defined above";
  const struct tsri_tok t = s->tok;
  const struct tsri_name *found = tsri_asm_find_name(s, &t);
  if (!found && tsri_tok_is_register(&t))
    return tsri_asm_fault(s, &t, "no number; expected an expression, got register %s",
                          tsri_asm_show(s, &t));
  if (!found) {
    tsri_asm_fault(s, &t, "unknown name; %s, got %s", expected, tsri_asm_show(s, &t));
    hint_name(s, &t);
    return false;
  }
  if (found->state == TSRI_NAME_LATER)
    return tsri_asm_fault(s, &t, "constant used before line %u defines it; %s, got %s",
                          (unsigned)found->line, expected, tsri_asm_show(s, &t));
  tsri_asm_next(s);
  *out = found->value;
  if (found->state == TSRI_NAME_BROKEN) s->failed = true;
  return found->state == TSRI_NAME_KNOWN;
}

static bool binary(struct tsri_asm *s, int rank, int depth, tsr_i128 *out);

static bool bracket(struct tsri_asm *s, int depth, tsr_i128 *out) {
  const struct tsri_tok open = s->tok;
  if (depth == NEST_MAX)
    return tsri_asm_fault(s, &open, "brackets too deep; expected at most %d", NEST_MAX);
  tsri_asm_next(s);
  if (!binary(s, 1, depth + 1, out)) return false;
  if (!tsri_asm_is(s, ')'))
    return tsri_asm_fault(s, &s->tok,
                          "'(' of column %u is open; expected an operator or ')', got %s",
                          (unsigned)(open.at - s->start) + 1, tsri_asm_show(s, &s->tok));
  tsri_asm_next(s);
  return true;
}

static bool primary(struct tsri_asm *s, int depth, tsr_i128 *out) {
  if (tsri_asm_is(s, '(')) return bracket(s, depth, out);
  if (s->tok.kind == TSRI_TOK_NUMBER) return number(s, out);
  if (s->tok.kind == TSRI_TOK_NAME) return name(s, out);
  return tsri_asm_fault(s, &s->tok, "no value; expected a number, a name or '(', got %s",
                        tsri_asm_show(s, &s->tok));
}

static bool unary(struct tsri_asm *s, int depth, tsr_i128 *out) {
  const struct tsri_tok sign = s->tok;
  bool negative = false;
  for (; tsri_asm_is(s, '-') || tsri_asm_is(s, '+'); tsri_asm_next(s))
    negative ^= tsri_asm_is(s, '-');
  tsr_i128 v = 0;
  if (!primary(s, depth, &v)) return false;
  if (negative && !sub(0, v, &v)) return tsri_asm_fault(s, &sign, "%s", too_large);
  *out = v;
  return true;
}

/* Operators of at least this rank, from the left. */
static bool binary(struct tsri_asm *s, int rank, int depth, tsr_i128 *out) {
  tsr_i128 left = 0, right = 0;
  if (!unary(s, depth, &left)) return false;
  for (const struct op *o; (o = find_op(s)) && o->rank >= rank;) {
    const struct tsri_tok at = s->tok;
    tsri_asm_next(s);
    if (!binary(s, o->rank + 1, depth, &right)) return false;
    if (!o->apply(left, right, &left))
      return tsri_asm_fault(s, &at, "%s", o->fault == by_zero && right ? too_large : o->fault);
  }
  *out = left;
  return true;
}

bool tsri_asm_value(struct tsri_asm *s, tsr_i128 *out) {
  return primary(s, 0, out);
}

bool tsri_asm_expr(struct tsri_asm *s, tsr_i128 *out) {
  return binary(s, 1, 0, out);
}

char *tsri_i128_print(tsr_i128 v, char buf[TSRI_I128_TEXT]) {
  tsr_u128 left = v < 0 ? -(tsr_u128)v : (tsr_u128)v;
  char *p = buf + TSRI_I128_TEXT - 1;
  *p = '\0';
  do {
    *--p = (char)('0' + (int)(left % 10));
    left /= 10;
  } while (left);
  if (v < 0) *--p = '-';
  return p;
}
