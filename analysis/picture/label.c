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

void tsri_line_take(struct canvas *c, double x0, double y0, double x1, double y1) {
  if (!tsr_mem_grow((void **)&c->lines, &c->cap_lines, c->n_lines + 1, sizeof *c->lines)) {
    c->failed = true;
    return;
  }
  c->lines[c->n_lines++] = (struct line){x0, y0, x1, y1};
}

/* Narrows [*t0, *t1] to where from + t * d lies within [lo, hi]; false: nowhere. */
static bool narrow(double from, double d, double lo, double hi, double *t0, double *t1) {
  if (d == 0) return from > lo && from < hi;
  double a = (lo - from) / d, b = (hi - from) / d;
  double first = a < b ? a : b, last = a < b ? b : a;
  if (first > *t0) *t0 = first;
  if (last < *t1) *t1 = last;
  return *t0 < *t1;
}

bool tsri_box_clear(const struct canvas *c, struct box b) {
  for (size_t i = 0; i < c->n_lines; i++) {
    const struct line *l = &c->lines[i];
    double t0 = 0, t1 = 1;
    if (narrow(l->x0, l->x1 - l->x0, b.x, b.x + b.w, &t0, &t1) &&
        narrow(l->y0, l->y1 - l->y0, b.y, b.y + b.h, &t0, &t1))
      return false;
  }
  return true;
}

void tsri_canvas_fini(struct canvas *c) {
  tsr_str_fini(&c->svg);
  tsr_mem_free(c->texts);
  tsr_mem_free(c->lines);
}

static void text_of(struct canvas *c, const char *style, const char *class, const char *anchor,
                    double x, double y, const char *text) {
  tsr_str_addf(&c->svg, "<text class=\"%s\"%s text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", class,
               style, anchor, x, y);
  tsr_str_add_xml(&c->svg, text);
  tsr_str_add(&c->svg, "</text>\n");
}

void tsri_text(struct canvas *c, const char *class, const char *anchor, double x, double y,
               const char *text) {
  text_of(c, "", class, anchor, x, y, text);
}

void tsri_text_in(struct canvas *c, const char *colour, const char *class, const char *anchor,
                  double x, double y, const char *text) {
  char style[64];
  snprintf(style, sizeof style, " style=\"fill:%.30s\"", colour);
  text_of(c, style, class, anchor, x, y, text);
}

char *tsri_cut(char *buf, size_t size, const char *text, size_t limit) {
  size_t bytes = 0, keep = points(text) > limit ? limit - 2 : limit, n = 0;
  for (; text[bytes]; bytes++) {
    bool begins = ((unsigned char)text[bytes] & 0xc0) != 0x80;
    if (begins && (n == keep || bytes + 8 > size)) break;
    n += begins;
  }
  snprintf(buf, size, "%.*s%s", (int)bytes, text, text[bytes] ? ".." : "");
  return buf;
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
