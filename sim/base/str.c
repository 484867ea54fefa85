#include "sim/base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/mem.h"

void tsr_str_fini(struct tsr_str *s) {
  tsr_mem_free(s->p);
  *s = (struct tsr_str)TSR_STR_INIT;
}

/* Room for n more bytes and the NUL. */
static bool reserve(struct tsr_str *s, size_t n) {
  void *p = s->p;
  if (s->failed) return false;
  if (n > SIZE_MAX / 2 - s->n || !tsr_mem_grow(&p, &s->cap, s->n + n + 1, 1)) {
    s->failed = true;
    return false;
  }
  s->p = p;
  return true;
}

void tsr_str_addn(struct tsr_str *s, const char *text, size_t n) {
  if (!reserve(s, n)) return;
  if (n) memcpy(s->p + s->n, text, n);
  s->n += n;
  s->p[s->n] = '\0';
}

void tsr_str_add(struct tsr_str *s, const char *text) {
  tsr_str_addn(s, text, strlen(text));
}

void tsr_str_addv(struct tsr_str *s, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  if (n < 0) s->failed = true;
  if (n < 0 || !reserve(s, (size_t)n)) return;
  vsnprintf(s->p + s->n, (size_t)n + 1, fmt, ap);
  s->n += (size_t)n;
}

void tsr_str_addf(struct tsr_str *s, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  tsr_str_addv(s, fmt, ap);
  va_end(ap);
}

static const char *xml_entity(char c) {
  switch (c) {
  case '&': return "&amp;";
  case '<': return "&lt;";
  case '>': return "&gt;";
  case '"': return "&quot;";
  case '\'': return "&#39;";
  default: return NULL;
  }
}

void tsr_str_add_xml(struct tsr_str *s, const char *text) {
  for (size_t n = strlen(text), len; n; text += len, n -= len) {
    uint32_t cp;
    const char *entity = xml_entity(*text);
    len = tsr_utf8_decode(text, n, &cp);
    if (!len) {
      tsr_str_add(s, "?");
      len = 1;
    } else if (entity) {
      tsr_str_add(s, entity);
    } else if (!tsr_utf8_is_control(cp) || cp == '\t' || cp == '\n') {
      tsr_str_addn(s, text, len);
    }
  }
}

char *tsr_str_take(struct tsr_str *s) {
  tsr_str_addn(s, "", 0);
  char *p = s->failed ? NULL : s->p;
  if (!p) tsr_mem_free(s->p);
  *s = (struct tsr_str)TSR_STR_INIT;
  return p;
}

bool tsr_str_eq(const char *a, const char *b) {
  return strcmp(a, b) == 0;
}

bool tsr_str_ends(const char *s, const char *suffix) {
  size_t n = strlen(s), m = strlen(suffix);
  return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

uint64_t tsr_fnv1a(uint64_t h, const void *data, size_t n) {
  const unsigned char *p = data;
  for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u; /* SRC:fnv */
  return h;
}

/* Lead bytes of UTF-8 (SRC:rfc3629): mask, value, payload, least code point. */
static const struct {
  unsigned char mask, value, payload;
  uint32_t least;
} utf8_rows[] = {
    {0x80, 0x00, 0x7f, 0},
    {0xe0, 0xc0, 0x1f, 0x80},
    {0xf0, 0xe0, 0x0f, 0x800},
    {0xf8, 0xf0, 0x07, 0x10000},
};

size_t tsr_utf8_decode(const char *p, size_t n, uint32_t *cp) {
  const unsigned char *b = (const unsigned char *)p;
  for (size_t len = 1; len <= 4 && len <= n; len++) {
    if ((b[0] & utf8_rows[len - 1].mask) != utf8_rows[len - 1].value) continue;
    uint32_t v = b[0] & utf8_rows[len - 1].payload;
    for (size_t i = 1; i < len; i++) {
      if ((b[i] & 0xc0) != 0x80) return 0;
      v = v << 6 | (b[i] & 0x3fu);
    }
    if (v < utf8_rows[len - 1].least || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff)) return 0;
    *cp = v;
    return len;
  }
  return 0;
}

bool tsr_utf8_is_control(uint32_t cp) {
  return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x2028 || cp == 0x2029 ||
         (cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069) ||
         (cp & 0xfffe) == 0xfffe;
}

void tsr_str_add_json(struct tsr_str *s, const char *text) {
  static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
  tsr_str_add(s, "\"");
  for (const char *p = text; *p; p++) {
    const char *e = strchr(plain, *p);
    if (e)
      tsr_str_addf(s, "\\%c", letter[e - plain]);
    else if ((unsigned char)*p < 0x20)
      tsr_str_addf(s, "\\u%04x", (unsigned)(unsigned char)*p);
    else
      tsr_str_addn(s, p, 1);
  }
  tsr_str_add(s, "\"");
}
