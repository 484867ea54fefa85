/* Text to programs, from the table alone: statements, operands, the whole. */
#include <string.h>

#include "isa/asm_int.h"
#include "sim/base/io.h"

/* ---- operands ---- */

struct place {
  uint32_t line, col, width;
};

struct work {
  struct tsri_asm read;
  struct tsr_program program;
  struct place *places; /* owned; of the instructions */
  size_t n_places, cap_places;
  size_t n_inst; /* passed so far, sound or not */
};

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
  const char *const *names = tsri_kinds[f->kind].names;
  size_t n = 0;
  for (; names[n]; n++)
    if (s->tok.kind == TSRI_TOK_NAME && tsri_tok_eq(&s->tok, names[n])) {
      *out = (int64_t)n;
      tsri_asm_next(s);
      return true;
    }
  struct tsr_str all = TSR_STR_INIT;
  for (size_t i = 0; i < n; i++) tsr_str_addf(&all, "%s%s", i ? ", " : "", names[i]);
  tsri_asm_fault(s, &s->tok, "'%s' has an unknown value; expected one of %s, got %s", f->name,
                 all.p ? all.p : "", tsri_asm_show(s, &s->tok));
  tsr_str_fini(&all);
  if (s->tok.kind == TSRI_TOK_NAME) tsri_asm_hint(s, &s->tok, names, n);
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

static bool read_register(struct tsri_asm *s, const struct tsri_field *f, int64_t *out) {
  const struct tsri_kind_row *k = &tsri_kinds[f->kind];
  uint32_t numbered = k->count - (k->last ? 1 : 0);
  uint64_t v = numbered;
  bool good = false;
  if (s->tok.kind == TSRI_TOK_NAME)
    good = k->last && tsri_tok_eq(&s->tok, k->last)
               ? true
               : register_number(&s->tok, k->prefix, &v) && v < numbered;
  if (!good)
    return tsri_asm_fault(s, &s->tok,
                          "'%s' is no such register; expected %s0 to %s%u%s%s, got %s", f->name,
                          k->prefix, k->prefix, (unsigned)numbered - 1, k->last ? " or " : "",
                          k->last ? k->last : "", tsri_asm_show(s, &s->tok));
  *out = (int64_t)v;
  tsri_asm_next(s);
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

static bool read_operand(struct tsri_asm *s, const struct given *g, int64_t *out) {
  const struct tsri_kind_row *k = &tsri_kinds[g->field->kind];
  s->tok = g->first;
  s->at = g->rest;
  if (!(k->names ? read_word : k->prefix ? read_register : read_number)(s, g->field, out))
    return false;
  if (s->tok.kind == TSRI_TOK_END || tsri_asm_is(s, ',')) return true;
  return tsri_asm_fault(
      s, &s->tok, "'%s' goes on; expected %s',' or the end of the line, got %s", g->field->name,
      k->names || k->prefix ? "" : "an operator, ", tsri_asm_show(s, &s->tok));
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

static int find_row(const struct tsri_tok *t) {
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

static bool read_instruction(struct tsri_asm *s, const struct tsri_tok *mnemonic,
                             struct tsr_inst *out) {
  struct given g[TSR_ISA_FIELDS_MAX];
  bool taken[TSR_ISA_FIELDS_MAX + 1] = {false};
  int n, op = find_row(mnemonic);
  if (op < 0) return unknown_instruction(s, mnemonic);
  const struct tsri_row *row = &tsri_rows[op];
  *out = (struct tsr_inst){.op = (uint8_t)op};
  if (!split(s, row, g, &n) || !bind(s, row, g, n, taken)) return false;
  bool good = true;
  for (int i = 0; i < n; i++)
    good = read_operand(s, &g[i], &out->f[g[i].field - row->field]) && good;
  return good && none_missing(s, mnemonic, row, taken);
}

/* ---- statements ---- */

enum statement { NOTHING, CONSTANT, INSTRUCTION, UNKNOWN };

/* Reads labels and the first word behind them; afterwards the current token is what
 * follows that word. */
static enum statement begin(struct work *w, struct tsri_tok *word,
                            void (*label)(struct work *, const struct tsri_tok *)) {
  struct tsri_asm *s = &w->read;
  for (;; tsri_asm_next(s)) {
    *word = s->tok;
    if (word->kind == TSRI_TOK_END) return NOTHING;
    if (word->kind != TSRI_TOK_NAME) return UNKNOWN;
    tsri_asm_next(s);
    if (tsri_asm_is(s, '=')) return CONSTANT;
    if (!tsri_asm_is(s, ':')) return INSTRUCTION;
    label(w, word);
  }
}

static void add_label(struct work *w, const struct tsri_tok *name) {
  tsri_asm_add_name(&w->read, name, true, (tsr_i128)w->n_inst);
}

/* The first pass: every name, and what the labels stand for. */
static void survey(struct work *w) {
  struct tsri_tok word;
  enum statement what = begin(w, &word, add_label);
  if (what == CONSTANT) tsri_asm_add_name(&w->read, &word, false, 0);
  if (what == INSTRUCTION) w->n_inst++;
}

/* The name that this place defines; NULL: told that it must not. */
static struct tsri_name *defined_here(struct tsri_asm *s, const struct tsri_tok *t) {
  struct tsri_name *name = tsri_asm_find_name(s, t);
  const char *taken = find_row(t) >= 0          ? "an instruction"
                      : tsri_tok_is_register(t) ? "a register"
                                                : NULL;
  if (taken)
    tsri_asm_fault(s, t, "name taken by %s; expected another, got %s", taken,
                   tsri_asm_show(s, t));
  else if (!name)
    s->no_memory = true; /* the survey could not keep it */
  else if (name->line == s->line && name->col == (uint32_t)(t->at - s->start) + 1)
    return name;
  else
    tsri_asm_fault(s, t, "name taken by line %u; expected another, got %s",
                   (unsigned)name->line, tsri_asm_show(s, t));
  return NULL;
}

static void check_label(struct work *w, const struct tsri_tok *name) {
  (void)defined_here(&w->read, name);
}

static void define_constant(struct tsri_asm *s, const struct tsri_tok *word) {
  struct tsri_name *name = defined_here(s, word);
  if (!name) return;
  tsr_i128 v = 0;
  tsri_asm_next(s); /* behind the = */
  bool good = tsri_asm_expr(s, &v);
  if (good && s->tok.kind != TSRI_TOK_END)
    good = tsri_asm_fault(s, &s->tok, "expected an operator or the end of the line, got %s",
                          tsri_asm_show(s, &s->tok));
  name->state = good ? TSRI_NAME_KNOWN : TSRI_NAME_BROKEN;
  name->value = v;
}

static void emit(struct work *w, const struct tsri_tok *mnemonic) {
  struct tsri_asm *s = &w->read;
  struct tsr_inst in;
  if (!read_instruction(s, mnemonic, &in)) return;
  void *list = w->places;
  if (!tsr_mem_grow(&list, &w->cap_places, w->n_places + 1, sizeof *w->places)) {
    s->no_memory = true;
    return;
  }
  w->places = list;
  w->places[w->n_places++] =
      (struct place){s->line, (uint32_t)(mnemonic->at - s->start) + 1, (uint32_t)mnemonic->n};
  tsr_isa_emit(&w->program, in.op, in.f);
}

/* The second pass. */
static void translate(struct work *w) {
  struct tsri_tok word;
  switch (begin(w, &word, check_label)) {
  case NOTHING: break;
  case CONSTANT: define_constant(&w->read, &word); break;
  case INSTRUCTION: emit(w, &word); break;
  case UNKNOWN:
    tsri_asm_fault(&w->read, &word, "expected an instruction, a label or a constant, got %s",
                   tsri_asm_show(&w->read, &word));
  }
}

/* ---- the whole ---- */

static const char *cut_at(const char *from, const char *to, char mark) {
  const char *at = memchr(from, mark, (size_t)(to - from));
  return at ? at : to;
}

static void each_line(struct work *w, void (*statement)(struct work *)) {
  static const char bom[] = "\xef\xbb\xbf";
  struct tsri_asm *s = &w->read;
  const char *at = s->src.text, *end = at + s->src.len;
  s->line = 0;
  while (at < end && !s->no_memory && !w->program.failed) {
    const char *stop = cut_at(at, end, '\n');
    bool marked = ++s->line == 1 && stop - at >= 3 && !memcmp(at, bom, 3);
    s->start = at;
    s->at = at + (marked ? 3 : 0);
    s->end = cut_at(s->at, stop, ';');
    s->end = cut_at(s->at, s->end, '#');
    if (s->end == stop && s->end > s->at && s->end[-1] == '\r') s->end--;
    tsri_asm_next(s);
    statement(w);
    at = stop == end ? end : stop + 1;
  }
}

/* tsr_isa_check, told at the line to blame. */
static enum tsr_status check(struct work *w) {
  struct tsri_flaw flaw;
  if (tsri_program_sound(&w->program, &flaw)) return TSR_OK;
  struct tsr_pos pos = {&w->read.src, 1, 1, 1};
  if (w->n_places) {
    size_t i = flaw.cause < w->n_places ? flaw.cause : w->n_places - 1;
    pos =
        (struct tsr_pos){&w->read.src, w->places[i].line, w->places[i].col, w->places[i].width};
  }
  return tsr_err_at(w->read.err, TSR_INPUT, &pos, "%s%s", flaw.what,
                    w->n_places ? "" : "; there is no instruction");
}

static enum tsr_status passes(struct work *w) {
  each_line(w, survey);
  tsri_asm_sort_names(&w->read);
  each_line(w, translate);
  if (w->read.no_memory || w->program.failed) return tsr_err_nomem(w->read.err);
  return w->read.failed ? TSR_INPUT : TSR_OK;
}

static bool is_container(const char *text, size_t len) {
  return len >= 16 && !memcmp(text, "TSRPROG", 7) && memchr(text + 8, '\0', 8);
}

static enum tsr_status assemble(const char *path, const char *text, size_t len, bool whole,
                                struct tsr_program *out, struct tsr_err *err) {
  if (len > TSR_IO_TEXT_MAX) return tsr_err_set(err, TSR_INPUT, "%s: too large", path);
  if (is_container(text, len)) {
    enum tsr_status st =
        tsr_err_set(err, TSR_INPUT, "%s: a binary program; expected its text", path);
    tsr_err_hint(err, "`tessera disasm` prints it");
    return st;
  }
  struct work w = {.read = {.src = {path, len ? text : "", len}, .err = err}};
  w.read.arena = tsr_arena_create();
  enum tsr_status st = w.read.arena ? passes(&w) : tsr_err_nomem(err);
  if (!st && whole) st = check(&w);
  tsr_arena_destroy(w.read.arena);
  tsr_mem_free(w.read.names);
  tsr_mem_free(w.places);
  if (st)
    tsr_isa_program_fini(&w.program);
  else
    *out = w.program;
  return st;
}

enum tsr_status tsri_assemble_part(const char *path, const char *text, size_t len,
                                   struct tsr_program *out, struct tsr_err *err) {
  return assemble(path, text, len, false, out, err);
}

enum tsr_status tsr_isa_assemble(const char *path, const char *text, size_t len,
                                 struct tsr_program *out, struct tsr_err *err) {
  return assemble(path, text, len, true, out, err);
}
