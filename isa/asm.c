/* Text to programs: statements, directives, the whole. */
#include <string.h>

#include "isa/asm_int.h"
#include "sim/base/io.h"

struct place {
  uint32_t line, col, width;
};

/* The program of one or more cores. */
struct section {
  struct tsr_program program;
  size_t cores;
  bool named;               /* by a directive, which stands `at` */
  struct place at, *places; /* owned; of the instructions */
  size_t n_places, cap_places;
};

struct work {
  struct tsri_asm read;
  struct section *sections; /* owned; the last is being read */
  size_t n_sections, cap_sections;
  size_t n_inst; /* of the section, passed so far, sound or not */
  size_t cores;  /* of all directives so far */
  struct tsr_program_set set;
  struct place machine;
};

/* ---- statements ---- */

enum statement { NOTHING, CONSTANT, INSTRUCTION, DIRECTIVE, UNKNOWN };

static const struct directive *find_directive(const struct tsri_tok *t);

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
    if (!tsri_asm_is(s, ':')) return find_directive(word) ? DIRECTIVE : INSTRUCTION;
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
  if (what == DIRECTIVE && tsri_tok_eq(&word, ".core")) w->n_inst = 0;
}

/* The name that this place defines; NULL: told that it must not. */
static struct tsri_name *defined_here(struct tsri_asm *s, const struct tsri_tok *t) {
  struct tsri_name *name = tsri_asm_find_name(s, t);
  const char *taken = tsri_asm_find_row(t) >= 0 ? "an instruction"
                      : find_directive(t)       ? "a directive"
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

static struct place place_of(const struct tsri_asm *s, const struct tsri_tok *t) {
  return (struct place){s->line, (uint32_t)(t->at - s->start) + 1, (uint32_t)t->n};
}

static void emit(struct work *w, const struct tsri_tok *mnemonic) {
  struct tsri_asm *s = &w->read;
  struct section *c = &w->sections[w->n_sections - 1];
  struct tsr_inst in;
  w->n_inst++;
  if (!tsri_asm_instruction(s, mnemonic, &in)) return;
  if (!tsr_mem_grow((void **)&c->places, &c->cap_places, c->n_places + 1, sizeof *c->places)) {
    s->no_memory = true;
    return;
  }
  c->places[c->n_places++] = place_of(s, mnemonic);
  tsr_isa_emit(&c->program, in.op, in.f);
}

/* ---- directives ---- */

/* Instructions from here on belong to a program of their own. */
static struct section *begin_section(struct work *w) {
  if (!tsr_mem_grow((void **)&w->sections, &w->cap_sections, w->n_sections + 1,
                    sizeof *w->sections)) {
    w->read.no_memory = true;
    return NULL;
  }
  struct section *c = &w->sections[w->n_sections++];
  *c = (struct section){.cores = 1, .at = {1, 1, 1}};
  w->read.program = &c->program;
  return c;
}

static bool line_ends(struct tsri_asm *s, const char *also) {
  return s->tok.kind == TSRI_TOK_END ||
         tsri_asm_fault(s, &s->tok, "expected %sthe end of the line, got %s", also,
                        tsri_asm_show(s, &s->tok));
}

/* FIRST or FIRST-LAST, where FIRST is the next core. */
static bool read_cores(struct work *w, size_t *cores) {
  struct tsri_asm *s = &w->read;
  const struct tsri_tok from = s->tok;
  tsr_i128 first, last;
  if (!tsri_asm_value(s, &first)) return false;
  last = first;
  if (tsri_asm_is(s, '-')) {
    tsri_asm_next(s);
    if (!tsri_asm_value(s, &last)) return false;
  }
  const struct tsri_tok all = tsri_asm_since(s, &from);
  if (!line_ends(s, "'-' or ")) return false;
  if (first != (tsr_i128)w->cores || last < first || last >= TSR_ISA_CORES)
    return tsri_asm_fault(s, &all,
                          "no range of cores; expected it to begin with %zu and to end "
                          "below %d, got %s",
                          w->cores, (int)TSR_ISA_CORES, tsri_asm_show(s, &all));
  *cores = (size_t)(last - first) + 1;
  return true;
}

static void begin_core(struct work *w, const struct tsri_tok *word) {
  struct section *c = &w->sections[w->n_sections - 1];
  if (!c->named && w->n_inst) {
    tsri_asm_fault(&w->read, word,
                   "instructions above belong to no core; expected '.core 0' "
                   "above them");
    c->named = true;
  }
  w->n_inst = 0;
  if (c->named && !(c = begin_section(w))) return;
  c->named = true;
  c->at = place_of(&w->read, word);
  if (read_cores(w, &c->cores)) w->cores += c->cores;
}

static void name_machine(struct work *w, const struct tsri_tok *word) {
  struct tsri_asm *s = &w->read;
  char name[TSR_ISA_NAME_MAX + 1];
  tsr_i128 hash;
  if (w->set.machine) {
    tsri_asm_fault(s, word, "%s given twice", tsri_asm_show(s, word));
    return;
  }
  w->machine = place_of(s, word);
  if (!tsri_asm_text(s, "machine", name)) return;
  if (!tsri_asm_is(s, ',')) {
    tsri_asm_fault(s, &s->tok, "expected ',' and a hash, got %s", tsri_asm_show(s, &s->tok));
    return;
  }
  tsri_asm_next(s);
  const struct tsri_tok from = s->tok;
  if (!tsri_asm_expr(s, &hash)) return;
  const struct tsri_tok all = tsri_asm_since(s, &from);
  if (hash < 0 || hash > UINT64_MAX)
    tsri_asm_fault(s, &all, "'hash' is out of range; expected 64 bits, got %s",
                   tsri_asm_show(s, &all));
  else if (line_ends(s, "an operator or ") &&
           tsr_isa_set_machine(&w->set, name, (uint64_t)hash, NULL))
    s->no_memory = true;
}

static const struct directive {
  const char *word;
  void (*read)(struct work *w, const struct tsri_tok *word);
} directives[] = {{".core", begin_core}, {".machine", name_machine}};

static const struct directive *find_directive(const struct tsri_tok *t) {
  for (size_t i = 0; i < sizeof directives / sizeof *directives; i++)
    if (tsri_tok_eq(t, directives[i].word)) return &directives[i];
  return NULL;
}

/* The second pass. */
static void translate(struct work *w) {
  struct tsri_tok word;
  switch (begin(w, &word, check_label)) {
  case NOTHING: break;
  case CONSTANT: define_constant(&w->read, &word); break;
  case INSTRUCTION: emit(w, &word); break;
  case DIRECTIVE: find_directive(&word)->read(w, &word); break;
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

/* Where the line's comment begins, which is not within quotes. */
static const char *comment(const char *at, const char *to) {
  bool quoted = false;
  for (; at < to && (quoted || (*at != ';' && *at != '#')); at++)
    if (*at == '"') quoted = !quoted;
  return at;
}

static bool can_go_on(const struct work *w) {
  return !w->read.no_memory && w->n_sections && !w->sections[w->n_sections - 1].program.failed;
}

static void each_line(struct work *w, void (*statement)(struct work *)) {
  static const char bom[] = "\xef\xbb\xbf";
  struct tsri_asm *s = &w->read;
  const char *at = s->src.text, *end = at + s->src.len;
  s->line = 0;
  w->n_inst = 0;
  while (at < end && can_go_on(w)) {
    const char *stop = cut_at(at, end, '\n');
    bool marked = ++s->line == 1 && stop - at >= 3 && !memcmp(at, bom, 3);
    s->start = at;
    s->at = at + (marked ? 3 : 0);
    s->end = comment(s->at, stop);
    if (s->end == stop && s->end > s->at && s->end[-1] == '\r') s->end--;
    tsri_asm_next(s);
    statement(w);
    at = stop == end ? end : stop + 1;
  }
}

/* tsr_isa_check, told at the line to blame. */
static enum tsr_status check(struct work *w, const struct section *c) {
  struct tsri_flaw flaw;
  if (tsri_program_sound(&c->program, &flaw)) return TSR_OK;
  struct place at = c->at;
  if (c->n_places) at = c->places[flaw.cause < c->n_places ? flaw.cause : c->n_places - 1];
  struct tsr_pos pos = {&w->read.src, at.line, at.col, at.width};
  return tsr_err_at(w->read.err, TSR_INPUT, &pos, "%s%s", flaw.what,
                    c->n_places ? "" : "; there is no instruction");
}

static enum tsr_status passes(struct work *w) {
  if (!begin_section(w)) return tsr_err_nomem(w->read.err);
  each_line(w, survey);
  tsri_asm_sort_names(&w->read);
  each_line(w, translate);
  if (!can_go_on(w)) return tsr_err_nomem(w->read.err);
  return w->read.failed ? TSR_INPUT : TSR_OK;
}

/* The sections as a set. */
static enum tsr_status gather(struct work *w, bool whole) {
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; whole && i < w->n_sections; i++) {
    enum tsr_status one = check(w, &w->sections[i]);
    st = st ? st : one;
  }
  for (size_t i = 0; !st && i < w->n_sections; i++)
    st = tsr_isa_set_add(&w->set, &w->sections[i].program, w->sections[i].cores, w->read.err);
  return st;
}

static bool is_container(const char *text, size_t len) {
  return len >= 16 && !memcmp(text, "TSRPROG", 7) && memchr(text + 8, '\0', 8);
}

static void work_fini(struct work *w) {
  for (size_t i = 0; i < w->n_sections; i++) {
    tsr_isa_program_fini(&w->sections[i].program);
    tsr_mem_free(w->sections[i].places);
  }
  tsr_mem_free(w->sections);
  tsr_mem_free(w->read.names);
  tsr_arena_destroy(w->read.arena);
}

/* One program asked for, and the text has more: told where that begins. */
static enum tsr_status only_one(struct work *w) {
  struct place at = w->n_sections > 1 ? w->sections[1].at
                    : w->set.machine  ? w->machine
                                      : w->sections[0].at;
  struct tsr_pos pos = {&w->read.src, at.line, at.col, at.width};
  if (w->set.n == 1 && !w->set.machine) return TSR_OK;
  return tsr_err_at(w->read.err, TSR_INPUT, &pos,
                    "expected the program of one core, for any machine, got a set");
}

static enum tsr_status assemble(const char *path, const char *text, size_t len, bool whole,
                                bool one, struct tsr_program_set *out, struct tsr_err *err) {
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
  if (!st) st = gather(&w, whole);
  if (!st && one) st = only_one(&w);
  work_fini(&w);
  if (st)
    tsr_isa_set_fini(&w.set);
  else
    *out = w.set;
  return st;
}

static enum tsr_status assemble_one(const char *path, const char *text, size_t len, bool whole,
                                    struct tsr_program *out, struct tsr_err *err) {
  struct tsr_program_set set = {0};
  enum tsr_status st = assemble(path, text, len, whole, true, &set, err);
  if (st) return st;
  TSR_CHECK(set.program);
  *out = set.program[0];
  set.n = 0; /* it owns nothing else */
  tsr_isa_set_fini(&set);
  return TSR_OK;
}

enum tsr_status tsri_assemble_part(const char *path, const char *text, size_t len,
                                   struct tsr_program *out, struct tsr_err *err) {
  return assemble_one(path, text, len, false, out, err);
}

enum tsr_status tsr_isa_assemble(const char *path, const char *text, size_t len,
                                 struct tsr_program *out, struct tsr_err *err) {
  return assemble_one(path, text, len, true, out, err);
}

enum tsr_status tsr_isa_set_assemble(const char *path, const char *text, size_t len,
                                     struct tsr_program_set *out, struct tsr_err *err) {
  return assemble(path, text, len, true, false, out, err);
}
