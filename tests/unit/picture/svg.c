/* What every picture must hold to. */
#include "tests/unit/picture/svg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/picture/picture_int.h"

size_t svg_count(const char *text, const char *what) {
  size_t n = 0;
  for (; (text = strstr(text, what)); text += strlen(what)) n++;
  return n;
}

/* Elements close in the order they opened, & begins a known entity. */
void svg_well_formed(const char *svg) {
  char stack[16][32];
  int depth = 0;
  for (const char *p = svg; *p; p++) {
    if (*p == '&' && strncmp(p, "&amp;", 5) && strncmp(p, "&lt;", 4) && strncmp(p, "&gt;", 4) &&
        strncmp(p, "&quot;", 6) && strncmp(p, "&#39;", 5) && strncmp(p, "&apos;", 6))
      fail_msg("entity at %.20s", p);
    if (*p != '<') continue;
    const char *end = strchr(p, '>');
    assert_non_null(end);
    char name[32] = "";
    sscanf(p + (p[1] == '/' ? 2 : 1), "%31[a-z]", name);
    assert_true(name[0]);
    size_t quotes = 0;
    for (const char *q = p; q < end; q++) quotes += *q == '"';
    assert_int_equal(quotes % 2, 0);
    if (p[1] == '/') {
      assert_true(depth > 0);
      assert_string_equal(stack[--depth], name);
    } else if (end[-1] != '/') {
      assert_true(depth < 16);
      memcpy(stack[depth++], name, sizeof name);
    }
    p = end;
  }
  assert_int_equal(depth, 0);
}

static double size_of(const char *class) {
  static const struct {
    const char *class;
    double px;
  } sizes[] = {{"title", 20},  {"axis", 15}, {"roof", 12}, {"point", 12},
               {"legend", 12}, {"note", 12}, {"tick", 13}, {"panel", 15}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    if (!strncmp(class, sizes[i].class, strlen(sizes[i].class))) return sizes[i].px;
  return 13;
}

/* Each entity to the one character it stands for. */
static void unescape(char *s) {
  char *out = s;
  for (; *s; *out++ = *s++) {
    if (*s != '&') continue;
    s = strchr(s, ';');
    assert_non_null(s);
  }
  *out = '\0';
}

/* The boxes of the upright texts whose class begins with `of`; returns how many. */
static size_t text_boxes(const char *svg, const char *of, struct box *boxes, char (*texts)[200],
                         size_t max) {
  size_t n = 0;
  for (const char *p = svg; (p = strstr(p, "<text class=\"")); p++) {
    char class[40] = "", anchor[16] = "start";
    double x, y;
    const char *end = strchr(p, '>'), *ax = strstr(p, " x=\""),
               *an = strstr(p, "text-anchor=\"");
    sscanf(p, "<text class=\"%39[^\"]", class);
    if (strncmp(class, of, strlen(of)) != 0) continue;
    if (!ax || ax > end) continue; /* turned by a transform: the name of the y axis */
    if (an && an < end) sscanf(an, "text-anchor=\"%15[^\"]", anchor);
    assert_int_equal(sscanf(ax, " x=\"%lf\" y=\"%lf\"", &x, &y), 2);
    assert_true(n < max);
    size_t len = strcspn(end + 1, "<");
    snprintf(texts[n], 200, "%.*s", (int)len, end + 1);
    unescape(texts[n]);
    struct box b = tsri_text_box(texts[n], size_of(class), x, y);
    if (anchor[0] == 'm') b.x -= b.w / 2;
    if (anchor[0] == 'e') b.x -= b.w;
    boxes[n++] = b;
  }
  return n;
}

void svg_texts_apart(const char *svg, double height) {
  enum { MAX = 600 };
  static struct box b[MAX];
  static char texts[MAX][200];
  size_t n = text_boxes(svg, "", b, texts, MAX);
  assert_true(n >= 5);
  for (size_t i = 0; i < n; i++) {
    if (b[i].x < 0 || b[i].x + b[i].w > 1290 || b[i].y < 0 || b[i].y + b[i].h > height)
      fail_msg("'%s' leaves the picture", texts[i]);
    for (size_t k = 0; k < i; k++)
      if (b[i].x < b[k].x + b[k].w && b[k].x < b[i].x + b[i].w &&
          b[i].y < b[k].y + b[k].h - 3 && b[k].y < b[i].y + b[i].h - 3)
        fail_msg("'%s' lies on '%s'", texts[i], texts[k]);
  }
}

/* Whether one of the points along the line, close together, lies in the box. */
static bool passes(struct box b, double x0, double y0, double x1, double y1) {
  enum { STEPS = 4000 };
  for (int i = 0; i <= STEPS; i++) {
    double x = x0 + (x1 - x0) * i / STEPS, y = y0 + (y1 - y0) * i / STEPS;
    if (x > b.x && x < b.x + b.w && y > b.y && y < b.y + b.h) return true;
  }
  return false;
}

static bool crossed(const char *svg, struct box b) {
  static const char *const forms[] = {"<path class=\"peak\" d=\"M%lf %lfH%lf",
                                      "<path class=\"slope\" d=\"M%lf %lfL%lf %lf",
                                      "<path class=\"compulsory\" d=\"M%lf %lfH%lf"};
  for (const char *p = svg; (p = strstr(p, "<path class=")); p++)
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
      double x0, y0, x1, y1;
      int n = sscanf(p, forms[i], &x0, &y0, &x1, &y1);
      if (n >= 3 && passes(b, x0, y0, x1, n == 4 ? y1 : y0)) return true;
    }
  return false;
}

size_t svg_texts_crossed(const char *svg, const char *class) {
  enum { MAX = 100 };
  static struct box b[MAX];
  static char texts[MAX][200];
  size_t n = text_boxes(svg, class, b, texts, MAX), k = 0;
  for (size_t i = 0; i < n; i++) k += crossed(svg, b[i]);
  return k;
}
