/* Comma separated text with positions (RFC 4180), and its fields. */
#include <string.h>

#include "workloads/workloads_int.h"

void tsri_row_fini(struct tsri_row *r) {
  tsr_mem_free(r->f);
  memset(r, 0, sizeof *r);
}

bool tsri_row_blank(const struct tsri_row *r) {
  for (size_t i = 0; i < r->n; i++)
    if (tsri_field_trim(r->f[i]).n != 0) return false;
  return true;
}

static struct tsr_pos pos_at(const struct tsri_build *b, size_t at, size_t width) {
  struct tsr_pos p = {b->src, b->line, (uint32_t)(at - b->line_start + 1), (uint32_t)width};
  return p;
}

static enum tsr_status bad_byte(struct tsri_build *b, size_t start, size_t at, uint32_t line) {
  struct tsr_pos p = {b->src, line, (uint32_t)(at - start + 1), 1};
  return tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &p,
                                 "not a text file; expected UTF-8 text, got the byte 0x%02x",
                                 (unsigned char)b->src->text[at]));
}

enum tsr_status tsri_scan_check(struct tsri_build *b) {
  const char *s = b->src->text;
  size_t len = b->src->len, start = 0;
  uint32_t line = 1;
  for (size_t at = 0, step; at < len; at += step) {
    uint32_t cp = 0;
    step = tsr_utf8_decode(s + at, len - at, &cp);
    bool lone_cr = cp == '\r' && at + 1 < len && s[at + 1] != '\n';
    bool layout = cp == '\t' || cp == '\r' || cp == '\n';
    if (step == 0 || lone_cr || (!layout && tsr_utf8_is_control(cp)))
      return bad_byte(b, start, at, line);
    if (s[at] == '\n') {
      line++;
      start = at + 1;
    }
  }
  return TSR_OK;
}

/* At a line end or the end of the text. */
static bool at_end_of_row(const struct tsri_build *b) {
  const char *s = b->src->text;
  return b->at >= b->src->len || s[b->at] == '\n' || s[b->at] == '\r';
}

static void skip_line_end(struct tsri_build *b) {
  const char *s = b->src->text;
  if (b->at < b->src->len && s[b->at] == '\r') b->at++;
  if (b->at < b->src->len && s[b->at] == '\n') b->at++;
  b->line++;
  b->line_start = b->at;
}

static bool unquoted_field(struct tsri_build *b, struct tsri_field *f) {
  const char *s = b->src->text;
  size_t from = b->at;
  while (!at_end_of_row(b) && s[b->at] != ',') {
    if (s[b->at] == '"') {
      struct tsr_pos p = pos_at(b, b->at, 1);
      tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &p,
                              "quote inside an unquoted field; expected the whole field in "
                              "quotes, with \"\" for a quote"));
      return false;
    }
    b->at++;
  }
  f->p = s + from;
  f->n = b->at - from;
  f->pos = pos_at(b, from, f->n);
  return true;
}

/* Takes out the second of each pair of quotes. */
static bool unescape(struct tsri_build *b, struct tsri_field *f) {
  char *copy = tsr_arena_strndup(b->g->arena, f->p, f->n);
  if (!copy) {
    tsri_nomem(b);
    return false;
  }
  size_t n = 0;
  for (size_t i = 0; i < f->n; i++) {
    copy[n++] = copy[i];
    if (copy[i] == '"') i++;
  }
  copy[n] = '\0';
  f->p = copy;
  f->n = n;
  return true;
}

static bool quoted_field(struct tsri_build *b, struct tsri_field *f) {
  const char *s = b->src->text;
  size_t open = b->at++;
  bool doubled = false;
  f->pos = pos_at(b, open, 1);
  for (; b->at < b->src->len; b->at++) {
    if (s[b->at] == '\n') {
      b->line++;
      b->line_start = b->at + 1;
    }
    if (s[b->at] != '"') continue;
    if (b->at + 1 >= b->src->len || s[b->at + 1] != '"') break;
    doubled = true;
    b->at++;
  }
  if (b->at >= b->src->len) {
    tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos,
                            "quoted field without an end; expected a closing quote"));
    return false;
  }
  f->p = s + open + 1;
  f->n = b->at - open - 1;
  b->at++;
  if (f->pos.line == b->line) f->pos.width = (uint32_t)(b->at - open);
  if (!at_end_of_row(b) && s[b->at] != ',') {
    struct tsr_pos p = pos_at(b, b->at, 1);
    tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &p,
                            "text behind a closing quote; expected a comma or the end of the "
                            "line"));
    return false;
  }
  return !doubled || unescape(b, f);
}

static bool scan_fields(struct tsri_build *b, struct tsri_row *row) {
  const char *s = b->src->text;
  for (row->n = 0;;) {
    void *p = row->f;
    if (!tsr_mem_grow(&p, &row->cap, row->n + 1, sizeof *row->f)) {
      tsri_nomem(b);
      return false;
    }
    row->f = p;
    struct tsri_field *f = &row->f[row->n++];
    bool quoted = b->at < b->src->len && s[b->at] == '"';
    if (!(quoted ? quoted_field(b, f) : unquoted_field(b, f))) return false;
    row->end = pos_at(b, b->at, 1);
    if (at_end_of_row(b)) break;
    b->at++; /* the comma */
  }
  skip_line_end(b);
  return true;
}

bool tsri_scan_row(struct tsri_build *b, struct tsri_row *row) {
  while (b->at < b->src->len) {
    if (!scan_fields(b, row)) return false;
    if (row->n > 1 || tsri_field_trim(row->f[0]).n > 0) return true;
  }
  return false;
}

char *tsri_field_text(struct tsri_build *b, const struct tsri_field *f) {
  return tsr_arena_strndup(b->g->arena, f->p, f->n);
}

bool tsri_field_is(const struct tsri_field *f, const char *word) {
  return strlen(word) == f->n && memcmp(f->p, word, f->n) == 0;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

struct tsri_field tsri_field_trim(struct tsri_field f) {
  bool plain = f.pos.width == f.n; /* no quotes: text and position run alike */
  while (f.n > 0 && is_blank(f.p[0])) {
    f.p++;
    f.n--;
    if (plain) f.pos.col++;
  }
  while (f.n > 0 && is_blank(f.p[f.n - 1])) f.n--;
  if (plain) f.pos.width = (uint32_t)f.n;
  return f;
}

struct tsri_field tsri_field_part(const struct tsri_field *f, size_t from, size_t n) {
  struct tsri_field part = {f->p + from, n, f->pos};
  if (f->pos.width == f->n) {
    part.pos.col += (uint32_t)from;
    part.pos.width = (uint32_t)n;
  }
  return part;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool tsri_field_digits(const struct tsri_field *f) {
  for (size_t i = 0; i < f->n; i++)
    if (!is_digit(f->p[i])) return false;
  return f->n > 0;
}

int tsri_field_shown(const struct tsri_field *f) {
  enum { MOST = 60 };
  if (f->n <= MOST) return (int)f->n;
  int n = MOST;
  while (n > 0 && ((unsigned char)f->p[n] & 0xc0) == 0x80) n--;
  return n;
}

static bool number_bad(struct tsri_build *b, const struct tsri_field *f, const char *what,
                       const char *how, const char *rule) {
  tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos, "%s is %s; expected %s, got '%.*s'", what,
                          how, rule, tsri_field_shown(f), f->p));
  return false;
}

bool tsri_field_u64(struct tsri_build *b, const struct tsri_field *f, const char *what,
                    uint64_t low, uint64_t *out) {
  const char *rule = low == 0 ? "a whole number" : "a whole number of 1 or more";
  if (f->n == 0) return number_bad(b, f, what, "empty", rule);
  if (!tsri_field_digits(f)) {
    struct tsri_field rest = {f->p + 1, f->n - 1, f->pos};
    bool negative = f->p[0] == '-' && tsri_field_digits(&rest);
    return number_bad(b, f, what, negative ? "negative" : "not a number",
                      negative ? rule : "decimal digits only");
  }
  uint64_t v = 0;
  for (size_t i = 0; i < f->n; i++)
    if (!tsr_mul_u64(v, 10, &v) || !tsr_add_u64(v, (uint64_t)(f->p[i] - '0'), &v))
      return number_bad(b, f, what, "too large", "at most 18446744073709551615");
  if (v < low) return number_bad(b, f, what, "zero", rule);
  *out = v;
  return true;
}
