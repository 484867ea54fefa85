/* What the assembler reads with: tokens, places, names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa/asm_int.h"

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

static bool is_name(char c) {
  return is_name_start(c) || is_digit(c);
}

void tsri_asm_next(struct tsri_asm *s) {
  while (s->at < s->end && (*s->at == ' ' || *s->at == '\t')) s->at++;
  const char *from = s->at, *to = from;
  enum tsri_tok_kind kind = TSRI_TOK_END;
  if (from < s->end) {
    kind = is_digit(*from)        ? TSRI_TOK_NUMBER
           : is_name_start(*from) ? TSRI_TOK_NAME
           : *from == '"'         ? TSRI_TOK_TEXT
                                  : TSRI_TOK_MARK;
    uint32_t cp;
    size_t len =
        kind == TSRI_TOK_MARK ? tsr_utf8_decode(from, (size_t)(s->end - from), &cp) : 1;
    to = from + (len ? len : 1);
    if (kind == TSRI_TOK_TEXT) {
      while (to < s->end && *to != '"') to++;
      if (to < s->end) to++;
    }
    while (kind < TSRI_TOK_MARK && to < s->end && is_name(*to)) to++;
  }
  s->tok = (struct tsri_tok){kind, from, (size_t)(to - from)};
  s->at = to;
}

bool tsri_asm_is(const struct tsri_asm *s, char mark) {
  return s->tok.kind == TSRI_TOK_MARK && s->tok.n == 1 && *s->tok.at == mark;
}

bool tsri_tok_eq(const struct tsri_tok *t, const char *word) {
  return strlen(word) == t->n && memcmp(t->at, word, t->n) == 0;
}

struct tsri_tok tsri_asm_since(const struct tsri_asm *s, const struct tsri_tok *from) {
  const char *to = s->tok.at;
  while (to > from->at + from->n && (to[-1] == ' ' || to[-1] == '\t')) to--;
  return (struct tsri_tok){from->kind, from->at, (size_t)(to - from->at)};
}

bool tsri_tok_is_register(const struct tsri_tok *t) {
  for (int k = 0; k < TSRI_KINDS; k++) {
    const struct tsri_kind_row *row = &tsri_kinds[k];
    if (row->last && tsri_tok_eq(t, row->last)) return true;
    size_t i = row->prefix ? strlen(row->prefix) : 0;
    if (i == 0 || t->n <= i || memcmp(t->at, row->prefix, i) != 0) continue;
    while (i < t->n && is_digit(t->at[i])) i++;
    if (i == t->n) return true;
  }
  return false;
}

bool tsri_asm_fault(struct tsri_asm *s, const struct tsri_tok *t, const char *fmt, ...) {
  const struct tsr_pos pos = {&s->src, s->line, (uint32_t)(t->at - s->start) + 1,
                              (uint32_t)t->n};
  va_list ap;
  va_start(ap, fmt);
  char *text = tsr_mem_vprintf(fmt, ap);
  va_end(ap);
  (void)tsr_err_at(s->err, TSR_INPUT, &pos, "%s", text ? text : fmt);
  tsr_mem_free(text);
  s->failed = true;
  return false;
}

const char *tsri_asm_show(struct tsri_asm *s, const struct tsri_tok *t) {
  enum { MOST = 64 };
  if (t->kind == TSRI_TOK_END) return "the end of the line";
  bool cut = t->n > MOST;
  snprintf(s->shown, sizeof s->shown, "'%.*s%s'", cut ? MOST : (int)t->n, t->at,
           cut ? "…" : "");
  return s->shown;
}

void tsri_asm_hint(struct tsri_asm *s, const struct tsri_tok *t, const char *const *names,
                   size_t n) {
  char word[64];
  if (t->n >= sizeof word) return; /* no slip of a finger */
  memcpy(word, t->at, t->n);
  word[t->n] = '\0';
  const char *near = tsr_err_nearest(word, names, n);
  if (near) tsr_err_hint(s->err, "did you mean '%s'?", near);
}

void tsri_asm_add_name(struct tsri_asm *s, const struct tsri_tok *t, bool known,
                       tsr_i128 value) {
  const char *text = tsr_arena_strndup(s->arena, t->at, t->n);
  void *list = s->names;
  if (!text || !tsr_mem_grow(&list, &s->cap_names, s->n_names + 1, sizeof *s->names)) {
    s->no_memory = true;
    return;
  }
  s->names = list;
  s->names[s->n_names++] = (struct tsri_name){text, s->line, (uint32_t)(t->at - s->start) + 1,
                                              known ? TSRI_NAME_KNOWN : TSRI_NAME_LATER, value};
}

static int by_text(const void *x, const void *y) {
  const struct tsri_name *a = x, *b = y;
  int order = strcmp(a->text, b->text);
  if (order) return order;
  if (a->line != b->line) return a->line < b->line ? -1 : 1;
  return (a->col > b->col) - (a->col < b->col);
}

void tsri_asm_sort_names(struct tsri_asm *s) {
  if (s->n_names) qsort(s->names, s->n_names, sizeof *s->names, by_text);
}

/* strcmp of the name and the token. */
static int compare(const char *name, const struct tsri_tok *t) {
  int order = strncmp(name, t->at, t->n);
  return order ? order : name[t->n] != '\0';
}

struct tsri_name *tsri_asm_find_name(struct tsri_asm *s, const struct tsri_tok *t) {
  size_t low = 0, high = s->n_names;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (compare(s->names[mid].text, t) < 0)
      low = mid + 1;
    else
      high = mid;
  }
  return low < s->n_names && compare(s->names[low].text, t) == 0 ? &s->names[low] : NULL;
}
