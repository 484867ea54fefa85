/* The assembler: one instruction and its operands, from the table alone. */
#include <string.h>

#include "isa/asm_int.h"

/* ---- operands ---- */

/* An operand as it stands there, before it is read. */
struct given {
  struct tsri_tok name; /* END: by position */
  struct tsri_tok first;
  const char *rest; /* behind `first` */
  const struct tsri_field *field;
};

static int count_fields(const struct tsri_row *row) {
  int n = 0;
  while (row->field[n].name) n++;
  return n;
}

/* The operands' names, as a message shows them. */
static const char *list_fields(const struct tsri_row *row, struct tsr_str *out) {
  for (int j = 0; row->field[j].name; j++)
    tsr_str_addf(out, "%s%s", j ? ", " : "", row->field[j].name);
  return out->p && !out->failed ? out->p : "nothing";
}

static bool read_word(struct tsri_asm *s, const struct tsri_field *f, int64_t *out) {
  const struct tsri_kind_row *k = &tsri_kinds[f->kind];
  size_t n = 0;
  for (; k->names[n]; n++)
    if (s->tok.kind == TSRI_TOK_NAME && tsri_tok_eq(&s->tok, k->names[n])) {
      *out = (int64_t)n;
      tsri_asm_next(s);
      return true;
    }
  struct tsr_str all = TSR_STR_INIT;
  for (size_t i = 0; i < n; i++) tsr_str_addf(&all, "%s%s", i ? ", " : "", k->names[i]);
  tsri_asm_fault(s, &s->tok, "'%s' has an unknown value; expected one of %s%s, got %s", f->name,
                 all.p ? all.p : "", k->set ? ", or none" : "", tsri_asm_show(s, &s->tok));
  tsr_str_fini(&all);
  if (s->tok.kind == TSRI_TOK_NAME) tsri_asm_hint(s, &s->tok, k->names, n);
  return false;
}

/* The number in a register's name, without leading zeros; false: there is none. */
static bool register_number(const struct tsri_tok *t, const char *prefix, uint64_t *out) {
  size_t i = strlen(prefix);
  if (t->n <= i || memcmp(t->at, prefix, i) != 0) return false;
  if (t->at[i] == '0' && t->n > i + 1) return false;
  *out = 0;
  for (; i < t->n; i++) {
    if (t->at[i] < '0' || t->at[i] > '9') return false;
    if (!tsr_mul_u64(*out, 10, out) || !tsr_add_u64(*out, (uint64_t)(t->at[i] - '0'), out))
      return false;
  }
  return true;
}

/* Registers of a kind that are written with a number. */
static uint32_t count_numbered(const struct tsri_kind_row *k) {
  return k->set ? (uint32_t)__builtin_ctz(k->count) : k->count - (k->last ? 1 : 0);
}

static bool read_register(struct tsri_asm *s, const struct tsri_field *f, int64_t *out) {
  const struct tsri_kind_row *k = &tsri_kinds[f->kind];
  const char *other = k->set ? "none" : k->last;
  uint32_t numbered = count_numbered(k);
  uint64_t v = numbered;
  bool good = false;
  if (s->tok.kind == TSRI_TOK_NAME)
    good = k->last && tsri_tok_eq(&s->tok, k->last)
               ? true
               : register_number(&s->tok, k->prefix, &v) && v < numbered;
  if (!good)
    return tsri_asm_fault(s, &s->tok,
                          "'%s' is no such register; expected %s0 to %s%u%s%s, got %s", f->name,
                          k->prefix, k->prefix, (unsigned)numbered - 1, other ? " or " : "",
                          other ? other : "", tsri_asm_show(s, &s->tok));
  *out = (int64_t)v;
  tsri_asm_next(s);
  return true;
}

/* Members with `|` between them, each once, or `none`. */
static bool read_set(struct tsri_asm *s, const struct tsri_field *f, int64_t *out) {
  bool names = tsri_kinds[f->kind].names;
  int64_t set = 0, member = 0;
  if (s->tok.kind == TSRI_TOK_NAME && tsri_tok_eq(&s->tok, "none")) {
    tsri_asm_next(s);
    *out = 0;
    return true;
  }
  for (;; tsri_asm_next(s)) {
    const struct tsri_tok word = s->tok;
    if (!(names ? read_word : read_register)(s, f, &member)) return false;
    if (set >> member & 1)
      return tsri_asm_fault(s, &word, "'%s' has %s twice", f->name, tsri_asm_show(s, &word));
    set |= (int64_t)1 << member;
    if (!tsri_asm_is(s, '|')) break;
  }
  *out = set;
  return true;
}

bool tsri_asm_text(struct tsri_asm *s, const char *what, char text[TSR_ISA_NAME_MAX + 1]) {
  const struct tsri_tok t = s->tok;
  bool whole = t.kind == TSRI_TOK_TEXT && t.n >= 2 && t.at[t.n - 1] == '"';
  if (!whole || !tsri_name_valid(t.at + 1, t.n - 2))
    return tsri_asm_fault(s, &t,
                          "'%s' is no such text; expected 1 to %d printable ASCII characters "
                          "in quotes, got %s",
                          what, (int)TSR_ISA_NAME_MAX, tsri_asm_show(s, &t));
  memcpy(text, t.at + 1, t.n - 2);
  text[t.n - 2] = '\0';
  tsri_asm_next(s);
  return true;
}

static bool read_name(struct tsri_asm *s, const struct tsri_field *f, int64_t *out) {
  char name[TSR_ISA_NAME_MAX + 1];
  const struct tsri_tok t = s->tok;
  if (!tsri_asm_text(s, f->name, name)) return false;
  struct tsr_program *p = s->program;
  if (p->n_names == TSR_ISA_NAMES && tsri_name_find(p, name) == p->n_names)
    return tsri_asm_fault(s, &t, "too many names; expected at most %d, got %s too",
                          (int)TSR_ISA_NAMES, tsri_asm_show(s, &t));
  *out = tsr_isa_name(p, name);
  return true;
}

static bool read_number(struct tsri_asm *s, const struct tsri_field *f, int64_t *out) {
  const struct tsri_tok from = s->tok;
  tsr_i128 v, low, high;
  if (!tsri_asm_expr(s, &v)) return false;
  tsri_field_range(f, &low, &high);
  if (v < low || v > high) {
    char b[3][TSRI_I128_TEXT];
    const struct tsri_tok all = tsri_asm_since(s, &from);
    return tsri_asm_fault(s, &all, "'%s' is out of range; expected %s to %s, got '%s'", f->name,
                          tsri_i128_print(low, b[0]), tsri_i128_print(high, b[1]),
                          tsri_i128_print(v, b[2]));
  }
  *out = (int64_t)(uint64_t)v;
  return true;
}

struct reading {
  bool (*read)(struct tsri_asm *s, const struct tsri_field *f, int64_t *out);
  const char *goes_on; /* what may follow besides a comma and the end */
};

static struct reading reading_of(const struct tsri_kind_row *k) {
  if (k->set) return (struct reading){read_set, "'|', "};
  if (k->quoted) return (struct reading){read_name, ""};
  if (k->names) return (struct reading){read_word, ""};
  if (k->prefix) return (struct reading){read_register, ""};
  return (struct reading){read_number, "an operator, "};
}

static bool read_operand(struct tsri_asm *s, const struct given *g, int64_t *out) {
  const struct reading r = reading_of(&tsri_kinds[g->field->kind]);
  s->tok = g->first;
  s->at = g->rest;
  if (!r.read(s, g->field, out)) return false;
  if (s->tok.kind == TSRI_TOK_END || tsri_asm_is(s, ',')) return true;
  return tsri_asm_fault(s, &s->tok,
                        "'%s' goes on; expected %s',' or the end of the line, got %s",
                        g->field->name, r.goes_on, tsri_asm_show(s, &s->tok));
}

/* ---- instructions ---- */

/* Cuts the rest of the line at its commas. */
static bool split(struct tsri_asm *s, const struct tsri_row *row, struct given *g, int *n) {
  int most = count_fields(row);
  *n = 0;
  if (s->tok.kind == TSRI_TOK_END) return true;
  for (;; tsri_asm_next(s)) {
    if (*n == most) {
      struct tsr_str all = TSR_STR_INIT;
      tsri_asm_fault(s, &s->tok, "'%s' takes %d operand%s; expected %s, got %s too",
                     row->mnemonic, most, most == 1 ? "" : "s", list_fields(row, &all),
                     tsri_asm_show(s, &s->tok));
      tsr_str_fini(&all);
      return false;
    }
    struct tsri_tok word = s->tok;
    const char *behind = s->at;
    g[*n] = (struct given){{TSRI_TOK_END, NULL, 0}, word, behind, NULL};
    if (word.kind == TSRI_TOK_NAME) tsri_asm_next(s);
    if (word.kind == TSRI_TOK_NAME && tsri_asm_is(s, '=')) {
      tsri_asm_next(s);
      g[*n] = (struct given){word, s->tok, s->at, NULL};
    }
    ++*n;
    while (s->tok.kind != TSRI_TOK_END && !tsri_asm_is(s, ',')) tsri_asm_next(s);
    if (s->tok.kind == TSRI_TOK_END) return true;
  }
}

static bool bind_named(struct tsri_asm *s, const struct tsri_row *row, struct given *g,
                       bool *taken) {
  for (int j = 0; row->field[j].name; j++) {
    if (!tsri_tok_eq(&g->name, row->field[j].name)) continue;
    if (taken[j])
      return tsri_asm_fault(s, &g->name, "operand %s given twice", tsri_asm_show(s, &g->name));
    taken[j] = true;
    g->field = &row->field[j];
    return true;
  }
  const char *names[TSR_ISA_FIELDS_MAX];
  int n = count_fields(row);
  for (int j = 0; j < n; j++) names[j] = row->field[j].name;
  struct tsr_str all = TSR_STR_INIT;
  tsri_asm_fault(s, &g->name, "'%s' has no such operand; expected %s, got %s", row->mnemonic,
                 list_fields(row, &all), tsri_asm_show(s, &g->name));
  tsr_str_fini(&all);
  tsri_asm_hint(s, &g->name, names, (size_t)n);
  return false;
}

/* Operands with a name take their places first, the others fill what is left. */
static bool bind(struct tsri_asm *s, const struct tsri_row *row, struct given *g, int n,
                 bool *taken) {
  bool good = true;
  for (int i = 0; i < n; i++)
    if (g[i].name.kind == TSRI_TOK_NAME) good = bind_named(s, row, &g[i], taken) && good;
  for (int i = 0, j = 0; good && i < n; i++) {
    if (g[i].field) continue;
    while (taken[j]) j++; /* there are no more operands than fields */
    taken[j] = true;
    g[i].field = &row->field[j];
  }
  return good;
}

static bool none_missing(struct tsri_asm *s, const struct tsri_tok *mnemonic,
                         const struct tsri_row *row, const bool *taken) {
  struct tsr_str missing = TSR_STR_INIT, all = TSR_STR_INIT;
  for (int j = 0; row->field[j].name; j++)
    if (!taken[j]) tsr_str_addf(&missing, "%s'%s'", missing.n ? ", " : "", row->field[j].name);
  bool none = !missing.n && !missing.failed;
  if (!none)
    tsri_asm_fault(s, mnemonic, "'%s' lacks %s; expected %s", row->mnemonic,
                   missing.p ? missing.p : "operands", list_fields(row, &all));
  tsr_str_fini(&missing);
  tsr_str_fini(&all);
  return none;
}

int tsri_asm_find_row(const struct tsri_tok *t) {
  for (int op = 0; op < TSR_ISA_OP_COUNT; op++)
    if (tsri_tok_eq(t, tsri_rows[op].mnemonic)) return op;
  return -1;
}

static bool unknown_instruction(struct tsri_asm *s, const struct tsri_tok *t) {
  const char *names[TSR_ISA_OP_COUNT];
  for (int op = 0; op < TSR_ISA_OP_COUNT; op++) names[op] = tsri_rows[op].mnemonic;
  tsri_asm_fault(s, t, "unknown instruction; expected one of `tessera models --isa`, got %s",
                 tsri_asm_show(s, t));
  tsri_asm_hint(s, t, names, TSR_ISA_OP_COUNT);
  return false;
}

/* Operands that were left out and have a value for that. */
static void fill_in(const struct tsri_row *row, bool *taken, struct tsr_inst *out) {
  for (int j = 0; row->field[j].name; j++) {
    if (taken[j] || row->field[j].omitted < 0) continue;
    taken[j] = true;
    out->f[j] = row->field[j].omitted;
  }
}

bool tsri_asm_instruction(struct tsri_asm *s, const struct tsri_tok *mnemonic,
                          struct tsr_inst *out) {
  struct given g[TSR_ISA_FIELDS_MAX];
  bool taken[TSR_ISA_FIELDS_MAX + 1] = {false};
  int n, op = tsri_asm_find_row(mnemonic);
  if (op < 0) return unknown_instruction(s, mnemonic);
  const struct tsri_row *row = &tsri_rows[op];
  *out = (struct tsr_inst){.op = (uint8_t)op};
  if (!split(s, row, g, &n) || !bind(s, row, g, n, taken)) return false;
  bool good = true;
  fill_in(row, taken, out);
  for (int i = 0; i < n; i++)
    good = read_operand(s, &g[i], &out->f[g[i].field - row->field]) && good;
  return good && none_missing(s, mnemonic, row, taken);
}
