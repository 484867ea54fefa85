#include "sim/base/err.h"

#include <stdarg.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/str.h"

/* The longest piece of a source line that is shown. */
enum { WINDOW = 120 };

void tsr_err_init(struct tsr_err *err) {
  *err = (struct tsr_err)TSR_ERR_INIT;
}

void tsr_err_fini(struct tsr_err *err) {
  for (size_t i = 0; i < err->n; i++) tsr_mem_free(err->msg[i]);
  tsr_mem_free(err->warn);
  tsr_err_init(err);
}

/* One character that is safe to show; returns the bytes taken from p. */
static size_t add_char(struct tsr_str *s, const char *p, size_t n) {
  uint32_t cp = 0;
  size_t len = tsr_utf8_decode(p, n, &cp);
  bool show = len && (cp == '\t' || !tsr_utf8_is_control(cp));
  tsr_str_addn(s, show ? p : "?", show ? len : 1);
  return len ? len : 1;
}

/* Text of a message: as add_char, with line breaks kept (lists of who waits). */
static void add_text(struct tsr_str *s, const char *p) {
  for (size_t n = strlen(p), len; n; p += len, n -= len) {
    len = 1;
    if (*p == '\n')
      tsr_str_addn(s, p, 1);
    else
      len = add_char(s, p, n);
  }
}

/* Line `line` (from 1) of the source without its line end; false: none such. */
static bool source_line(const struct tsr_src *src, uint32_t line, const char **p, size_t *n) {
  const char *at = src->text, *end = at + src->len;
  for (; line > 1; line--) {
    const char *nl = memchr(at, '\n', (size_t)(end - at));
    if (!nl) return false;
    at = nl + 1;
  }
  const char *nl = memchr(at, '\n', (size_t)(end - at));
  *p = at;
  *n = (size_t)((nl ? nl : end) - at);
  if (*n && at[*n - 1] == '\r') --*n;
  return true;
}

static bool is_continuation(char c) {
  return ((unsigned char)c & 0xc0) == 0x80;
}

/* Narrows p[0..n-1] to at most WINDOW bytes around offset `at`, never cutting a
 * character; returns the offset inside the window. */
static size_t cut_window(const char **p, size_t *n, size_t at) {
  if (*n <= WINDOW) return at;
  size_t from = at > WINDOW / 2 ? at - WINDOW / 2 : 0;
  if (from > *n - WINDOW) from = *n - WINDOW;
  size_t to = from + WINDOW;
  while (from < at && is_continuation((*p)[from])) from++;
  while (to < *n && to > at + 1 && is_continuation((*p)[to])) to--;
  *p += from;
  *n = to - from;
  return at - from;
}

/* The source line and the caret line below it.  Tabs are copied to the caret
 * line, so that the caret stands under its text at any tab width. */
static void add_source(struct tsr_str *s, const struct tsr_pos *pos) {
  const char *p;
  size_t n;
  if (!pos->src->text || !source_line(pos->src, pos->line, &p, &n)) return;
  size_t at = pos->col ? pos->col - 1 : 0;
  if (at > n) at = n;
  size_t width = pos->width ? pos->width : 1;
  at = cut_window(&p, &n, at);
  for (size_t i = 0; i < n;) i += add_char(s, p + i, n - i);
  tsr_str_add(s, "\n");
  uint32_t cp;
  for (size_t i = 0, len; i < n && i < at + width; i += len) {
    len = tsr_utf8_decode(p + i, n - i, &cp);
    if (!len) len = 1;
    if (i < at)
      tsr_str_add(s, p[i] == '\t' ? "\t" : " ");
    else
      tsr_str_add(s, i == at ? "^" : "~");
  }
  if (at >= n) tsr_str_add(s, "^");
  tsr_str_add(s, "\n");
}

static char *make(const char *word, const struct tsr_pos *pos, const char *fmt, va_list ap) {
  struct tsr_str s = TSR_STR_INIT;
  char *what = tsr_mem_vprintf(fmt, ap);
  if (!what) return NULL;
  bool placed = pos && pos->src && pos->line;
  if (placed) {
    add_text(&s, pos->src->path ? pos->src->path : "-");
    tsr_str_addf(&s, ":%u:%u: ", (unsigned)pos->line, (unsigned)(pos->col ? pos->col : 1));
  }
  tsr_str_add(&s, word);
  add_text(&s, what);
  tsr_str_add(&s, "\n");
  if (placed) add_source(&s, pos);
  tsr_mem_free(what);
  return tsr_str_take(&s);
}

static enum tsr_status add(struct tsr_err *err, enum tsr_status st, const struct tsr_pos *pos,
                           const char *fmt, va_list ap) {
  TSR_CHECK(st != TSR_OK);
  if (!err) return st;
  if (err->status == TSR_OK) err->status = st;
  err->total++;
  err->last = TSR_ERR_LAST_NONE;
  if (err->n == TSR_ERR_MAX) return st;
  char *m = make("error: ", pos, fmt, ap);
  if (!m) return st;
  err->msg[err->n++] = m;
  err->last = TSR_ERR_LAST_ERROR;
  return st;
}

enum tsr_status tsr_err_set(struct tsr_err *err, enum tsr_status s, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  add(err, s, NULL, fmt, ap);
  va_end(ap);
  return s;
}

enum tsr_status tsr_err_at(struct tsr_err *err, enum tsr_status s, const struct tsr_pos *pos,
                           const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  add(err, s, pos, fmt, ap);
  va_end(ap);
  return s;
}

enum tsr_status tsr_err_nomem(struct tsr_err *err) {
  return tsr_err_set(err, TSR_NOMEM, "out of memory");
}

/* Appends `more` to *text (NULL: none yet); without memory nothing changes. */
static bool append(char **text, const char *more) {
  char *joined = tsr_mem_printf("%s%s", *text ? *text : "", more);
  if (!joined) return false;
  tsr_mem_free(*text);
  *text = joined;
  return true;
}

void tsr_err_hint(struct tsr_err *err, const char *fmt, ...) {
  if (!err || err->last == TSR_ERR_LAST_NONE) return;
  va_list ap;
  va_start(ap, fmt);
  char *hint = make("hint: ", NULL, fmt, ap);
  va_end(ap);
  if (!hint) return;
  append(err->last == TSR_ERR_LAST_WARNING ? &err->warn : &err->msg[err->n - 1], hint);
  tsr_mem_free(hint);
}

void tsr_err_warn(struct tsr_err *err, const struct tsr_pos *pos, const char *fmt, ...) {
  if (!err) return;
  err->last = TSR_ERR_LAST_NONE;
  if (err->warnings++ >= TSR_ERR_MAX) return;
  va_list ap;
  va_start(ap, fmt);
  char *w = make("warning: ", pos, fmt, ap);
  va_end(ap);
  if (!w) return;
  if (append(&err->warn, w)) err->last = TSR_ERR_LAST_WARNING;
  tsr_mem_free(w);
}

char *tsr_err_text(const struct tsr_err *err) {
  struct tsr_str s = TSR_STR_INIT;
  if (err->warn) tsr_str_add(&s, err->warn);
  for (size_t i = 0; i < err->n; i++) tsr_str_add(&s, err->msg[i]);
  if (!err->n && err->status != TSR_OK)
    tsr_str_addf(&s, "error: %s\n", tsr_status_text(err->status));
  return tsr_str_take(&s);
}
