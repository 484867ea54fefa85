/* Text: a growing buffer, splitting, hashing.
 *
 * A builder never fails in the middle: when memory runs out it remembers, adds
 * nothing more, and tsr_str_take returns NULL. */
#ifndef TSR_SIM_BASE_STR_H
#define TSR_SIM_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsr_str {
  char *p; /* owned, NUL-terminated once something was added; NULL before */
  size_t n, cap;
  bool failed;
};
#define TSR_STR_INIT \
  { NULL, 0, 0, false }

void tsr_str_fini(struct tsr_str *s);
void tsr_str_add(struct tsr_str *s, const char *text);
void tsr_str_addn(struct tsr_str *s, const char *text, size_t n);
void tsr_str_addf(struct tsr_str *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void tsr_str_addv(struct tsr_str *s, const char *fmt, va_list ap);
/* Text for XML/SVG/HTML: & < > " ' escaped, control characters other than tab
 * and newline dropped, bytes that are no UTF-8 shown as `?`. */
void tsr_str_add_xml(struct tsr_str *s, const char *text);
/* A JSON string with its quotes. */
void tsr_str_add_json(struct tsr_str *s, const char *text);
/* The text (transferred; free with tsr_mem_free), or NULL when memory ran out.
 * The builder is empty afterwards. */
char *tsr_str_take(struct tsr_str *s);

bool tsr_str_eq(const char *a, const char *b);
bool tsr_str_ends(const char *s, const char *suffix);

/* FNV-1a, 64 bits: identity of stored texts.  Start with TSR_FNV_INIT. */
#define TSR_FNV_INIT 0xcbf29ce484222325u
uint64_t tsr_fnv1a(uint64_t h, const void *data, size_t n);

/* The length in bytes of the UTF-8 sequence at p[0..n-1] and its code point, or
 * 0 (*cp unchanged) when there is none. */
size_t tsr_utf8_decode(const char *p, size_t n, uint32_t *cp);
/* Characters that move or hide text on a terminal: C0, C1, line separators,
 * direction overrides, non-characters. */
bool tsr_utf8_is_control(uint32_t cp);

#endif
