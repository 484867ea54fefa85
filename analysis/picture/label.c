/* Texts: how much room they take, whether it is free, numbers with prefixes. */
#include <stdio.h>
#include <string.h>

#include "analysis/picture/picture_int.h"

/* Mean advance of a sans-serif letter over its size, on the wide side, so that a
 * text drawn with another font still fits its box. SRC:assumed */
static const double advance = 0.62;

static size_t points(const char *s) {
  size_t n = 0;
  for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
  return n;
}

struct box tsri_text_box(const char *text, double px, double x, double y) {
  return (struct box){x, y - px, (double)points(text) * px * advance, px * 1.3};
}

bool tsri_box_free(const struct canvas *c, struct box b) {
  for (size_t i = 0; i < c->n_texts; i++) {
    const struct box *t = &c->texts[i];
    if (b.x < t->x + t->w && t->x < b.x + b.w && b.y < t->y + t->h && t->y < b.y + b.h)
      return false;
  }
  return true;
}

void tsri_box_take(struct canvas *c, struct box b) {
  if (!tsr_mem_grow((void **)&c->texts, &c->cap_texts, c->n_texts + 1, sizeof *c->texts)) {
    c->failed = true;
    return;
  }
  c->texts[c->n_texts++] = b;
}

void tsri_text(struct canvas *c, const char *class, const char *anchor, double x, double y,
               const char *text) {
  tsr_str_addf(&c->svg, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", class,
               anchor, x, y);
  tsr_str_add_xml(&c->svg, text);
  tsr_str_add(&c->svg, "</text>\n");
}

char *tsri_si(char buf[TSRI_SI_MAX], double v, const char *unit) {
  static const char *const prefixes[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  enum { ONE = 4, LAST = sizeof prefixes / sizeof prefixes[0] - 1 };
  int p = ONE;
  for (; v >= 999.5 && p < LAST; p++) v /= 1000;
  for (; v > 0 && v < 0.9995 && p > 0; p--) v *= 1000;
  char digits[32];
  snprintf(digits, sizeof digits, "%.*f", v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2, v);
  if (strchr(digits, '.')) {
    size_t n = strlen(digits);
    while (digits[n - 1] == '0') digits[--n] = '\0';
    if (digits[n - 1] == '.') digits[--n] = '\0';
  }
  snprintf(buf, TSRI_SI_MAX, "%s %s%s", digits, prefixes[p], unit);
  return buf;
}
