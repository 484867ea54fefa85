/* Lines of at most 100 columns. */
#include <stdarg.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/cmd/cmd.h"

enum { COLUMNS = 100 };

/* Bytes of the longest part of p[0..n-1] that ends before a blank and fits `room`
 * columns; the first word where none does. */
static size_t part(const char *p, size_t n, size_t room) {
  size_t columns = 0, best = 0;
  for (size_t i = 0; i < n; i++) {
    if (p[i] == ' ' && i && p[i - 1] != ' ') {
      if (columns > room && best) return best;
      best = i;
      if (columns > room) return best;
    }
    columns += ((unsigned char)p[i] & 0xc0) != 0x80;
  }
  return columns <= room || !best ? n : best;
}

static void line(struct tsr_str *out, size_t indent, const char *p, size_t n) {
  for (size_t at = 0;;) {
    size_t from = at ? indent : 0;
    /* A first word stands behind its own indent. */
    size_t blanks = at ? 0 : strspn(p, " ");
    size_t take = blanks + part(p + at + blanks, n - at - blanks, COLUMNS - from - blanks);
    tsr_str_addn(out, p + at, take);
    at += take;
    while (at < n && p[at] == ' ') at++;
    tsr_str_add(out, "\n");
    if (at >= n) return;
    for (size_t i = 0; i < indent; i++) tsr_str_add(out, " ");
  }
}

void cmd_wrap_text(struct tsr_str *out, size_t indent, const char *text) {
  for (const char *end; *text; text = end + (*end == '\n')) {
    end = strchrnul(text, '\n');
    line(out, indent, text, (size_t)(end - text));
  }
}

void cmd_wrap(struct tsr_str *out, size_t indent, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *text = tsr_mem_vprintf(fmt, ap);
  va_end(ap);
  if (text)
    cmd_wrap_text(out, indent, text);
  else
    out->failed = true;
  tsr_mem_free(text);
}
