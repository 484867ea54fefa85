/* Error of matrix units against K: one panel a distribution, one line a unit. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/picture/picture_int.h"
#include "sim/base/units.h"

enum { WIDTH = 1280, MARGIN = 24, TOP = 76, PANEL_H = 380, LEGEND_ROW = 22, NAMES_MAX = 68 };
enum { LEFT = 74, RIGHT = 16, HEAD = 34, FOOT = 56 }; /* inside a panel */

struct mark {
  size_t unit, dist;
  double k, err, bound; /* NAN: none */
};

struct chart {
  struct tsr_arena *arena;
  const char **units, **dists;
  size_t n_units, cap_units, n_dists, cap_dists;
  struct mark *marks;
  size_t n, cap, exact; /* exact: results without an error, which have no place */
  double k_lo, k_hi, y_lo, y_hi;
};

/* ---- data ---- */

static size_t intern(struct chart *c, const char ***list, size_t *n, size_t *cap,
                     const char *name, bool *ok) {
  for (size_t i = 0; i < *n; i++)
    if (tsr_str_eq((*list)[i], name)) return i;
  void *p = *list;
  const char *copy = tsr_arena_strdup(c->arena, name);
  if (!copy || !tsr_mem_grow(&p, cap, *n + 1, sizeof **list)) {
    *ok = false;
    return 0;
  }
  *list = p;
  (*list)[(*n)++] = copy;
  return *n - 1;
}

static void widen(double *lo, double *hi, double v) {
  if (!(v > 0) || isinf(v)) return;
  if (!(*lo <= v)) *lo = v;
  if (!(*hi >= v)) *hi = v;
}

static bool add(struct chart *c, const struct tsr_query *q) {
  bool ok = true;
  if (!tsr_mem_grow((void **)&c->marks, &c->cap, c->n + 1, sizeof *c->marks)) return false;
  struct mark m = {.k = tsr_query_double(q, 2),
                   .err = tsr_query_double(q, 3),
                   .bound = tsr_query_double(q, 4)};
  m.unit = intern(c, &c->units, &c->n_units, &c->cap_units, tsr_query_text(q, 0), &ok);
  m.dist = intern(c, &c->dists, &c->n_dists, &c->cap_dists, tsr_query_text(q, 1), &ok);
  if (m.err == 0) c->exact++;
  widen(&c->k_lo, &c->k_hi, m.k);
  widen(&c->y_lo, &c->y_hi, m.err);
  widen(&c->y_lo, &c->y_hi, m.bound);
  c->marks[c->n++] = m;
  return ok;
}

static enum tsr_status load(struct tsr_store *s, uint64_t id, struct chart *c,
                            struct tsr_err *err) {
  static const char sql[] =
      "SELECT unit, dist, k, max_comp, bound FROM v_mma_eval WHERE eval = ?1 ORDER BY seq";
  struct tsr_query *q = NULL;
  c->arena = tsr_arena_create();
  if (!c->arena) return tsr_err_nomem(err);
  enum tsr_status st = tsr_store_query(s, sql, &q, err);
  if (st) return st;
  tsr_query_bind_u64(q, 1, id);
  bool row = false;
  while (!(st = tsr_query_step(q, &row, err)) && row)
    if (!add(c, q)) {
      st = tsr_err_nomem(err);
      break;
    }
  tsr_query_close(q);
  if (!st && !c->n)
    st = tsr_err_set(err, TSR_INPUT, "there is no study %" PRIu64 " in the store", id);
  return st;
}

/* ---- axes ---- */

/* log10, and the same for the ends of an axis. */
static int floor_int(double v) {
  int i = (int)v;
  return i > v ? i - 1 : i;
}

struct frame {
  double left, right, top, bottom; /* of the plot */
  double x_lo, x_hi;               /* log2 of K */
  int y_lo, y_hi;                  /* decades */
};

static double log2_of(double v) {
  return tsr_log10(v) / tsr_log10(2);
}

static struct frame frame_of(const struct chart *c, size_t panel, size_t columns, double w) {
  struct frame f;
  size_t column = panel % columns, row = panel / columns;
  double x = MARGIN + (double)column * w;
  double y = TOP + (double)row * PANEL_H;
  f.left = x + LEFT;
  f.right = x + w - RIGHT;
  f.top = y + HEAD;
  f.bottom = y + PANEL_H - FOOT;
  f.x_lo = floor_int(log2_of(c->k_lo) + 1e-9);
  f.x_hi = -floor_int(-log2_of(c->k_hi) + 1e-9);
  if (f.x_hi <= f.x_lo) f.x_hi = f.x_lo + 1;
  f.y_lo = c->y_lo > 0 ? floor_int(tsr_log10(c->y_lo)) : -1;
  f.y_hi = c->y_hi > 0 ? floor_int(tsr_log10(c->y_hi)) + 1 : 0;
  return f;
}

static double at_x(const struct frame *f, double k) {
  return f->left + (log2_of(k) - f->x_lo) / (f->x_hi - f->x_lo) * (f->right - f->left);
}
static double at_y(const struct frame *f, double v) {
  return f->bottom -
         (tsr_log10(v) - f->y_lo) / (double)(f->y_hi - f->y_lo) * (f->bottom - f->top);
}

static void line(struct canvas *c, double x1, double y1, double x2, double y2) {
  tsr_str_addf(&c->svg,
               "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n",
               x1, y1, x2, y2);
}

/* As many labels as have room: one every `every` steps. */
static int every(double steps, double room, double each) {
  int n = 1;
  while (steps / n * each > room) n++;
  return n;
}

static void axes(struct canvas *c, const struct frame *f) {
  char text[32];
  int nx = every(f->x_hi - f->x_lo, f->right - f->left, 52);
  for (int e = (int)f->x_lo; e <= (int)f->x_hi; e++) {
    double x = f->left + (e - f->x_lo) / (f->x_hi - f->x_lo) * (f->right - f->left);
    if ((e - (int)f->x_lo) % nx) continue;
    line(c, x, f->top, x, f->bottom);
    snprintf(text, sizeof text, "%.0f", (double)(UINT64_C(1) << e));
    tsri_text(c, "tick", "middle", x, f->bottom + 18, text);
  }
  int ny = every(f->y_hi - f->y_lo, f->bottom - f->top, 20);
  for (int e = f->y_lo; e <= f->y_hi; e++) {
    double y = f->bottom - (e - f->y_lo) / (double)(f->y_hi - f->y_lo) * (f->bottom - f->top);
    if ((e - f->y_lo) % ny) continue;
    line(c, f->left, y, f->right, y);
    snprintf(text, sizeof text, "1e%d", e);
    tsri_text(c, "tick", "end", f->left - 8, y + 4, text);
  }
  tsr_str_addf(&c->svg,
               "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
               "stroke=\"#222\"/>\n",
               f->left, f->top, f->right - f->left, f->bottom - f->top);
  tsri_text(c, "axis", "middle", (f->left + f->right) / 2, f->bottom + 40, "K");
}

/* ---- lines ---- */

/* Eight colours, then again with another mark. */
static void marker(struct tsr_str *s, size_t unit, double x, double y) {
  enum { SHAPES = 5 };
  size_t shape = unit / TSR_PICTURE_RUNS_MAX % SHAPES;
  tsr_str_add(s, "<path d=\"");
  switch (shape) { /* the formats must be literals */
  case 0: tsr_str_addf(s, "M%.1f %.1fm-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", x, y); break;
  case 1: tsr_str_addf(s, "M%.1f %.1fm-4 -4h8v8h-8z", x, y); break;
  case 2: tsr_str_addf(s, "M%.1f %.1fm0 -5l5 8h-10z", x, y); break;
  case 3: tsr_str_addf(s, "M%.1f %.1fm0 -5l5 5l-5 5l-5 -5z", x, y); break;
  default: tsr_str_addf(s, "M%.1f %.1fm0 5l5 -8h-10z", x, y); break;
  }
  tsr_str_addf(s, "\" fill=\"%s\"", tsri_colour(unit));
}

static void path(struct canvas *c, const struct chart *h, const struct frame *f, size_t unit,
                 size_t dist, bool bound) {
  struct tsr_str d = TSR_STR_INIT;
  bool pen = false;
  for (size_t i = 0; i < h->n; i++) {
    const struct mark *m = &h->marks[i];
    double v = bound ? m->bound : m->err;
    if (m->unit != unit || m->dist != dist) continue;
    if (!(v > 0) || isinf(v)) {
      pen = false;
      continue;
    }
    tsr_str_addf(&d, "%s%.1f %.1f", pen ? "L" : "M", at_x(f, m->k), at_y(f, v));
    pen = true;
  }
  if (d.p)
    tsr_str_addf(
        &c->svg,
        "<path class=\"%s\" d=\"%s\" stroke=\"%s\" stroke-width=\"%s\" fill=\"none\"%s/>\n",
        bound ? "bound" : "error", d.p, tsri_colour(unit), bound ? "1" : "2",
        bound ? " stroke-dasharray=\"5 4\"" : "");
  c->failed = c->failed || d.failed;
  tsr_str_fini(&d);
}

static void points(struct canvas *c, const struct chart *h, const struct frame *f,
                   size_t dist) {
  for (size_t i = 0; i < h->n; i++) {
    const struct mark *m = &h->marks[i];
    if (m->dist != dist || !(m->err > 0) || isinf(m->err)) continue;
    marker(&c->svg, m->unit, at_x(f, m->k), at_y(f, m->err));
    tsr_str_add(&c->svg, "><title>");
    tsr_str_add_xml(&c->svg, h->units[m->unit]);
    tsr_str_addf(&c->svg, ", K = %.0f: %.4g", m->k, m->err);
    if (m->bound > 0) tsr_str_addf(&c->svg, " (bound %.4g)", m->bound);
    tsr_str_add(&c->svg, "</title></path>\n");
  }
}

static void panel(struct canvas *c, const struct chart *h, size_t dist, size_t columns,
                  double w) {
  struct frame f = frame_of(h, dist, columns, w);
  tsri_text(c, "panel", "start", f.left, f.top - 10, h->dists[dist]);
  axes(c, &f);
  for (size_t u = 0; u < h->n_units; u++) {
    path(c, h, &f, u, dist, true);
    path(c, h, &f, u, dist, false);
  }
  points(c, h, &f, dist);
}

/* ---- around it ---- */

static void head(struct canvas *c, const struct chart *h, uint64_t id, double height) {
  tsr_str_addf(&c->svg,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
               "height=\"%.0f\" role=\"img\" aria-labelledby=\"t d\">\n"
               "<title id=\"t\">Error of matrix units against K, study %" PRIu64 "</title>\n"
               "<desc id=\"d\">Largest componentwise error of %zu units over K, both axes "
               "logarithmic; dashed: the a-priori bound.</desc>\n",
               WIDTH, height, WIDTH, height, id, h->n_units);
  tsr_str_add(&c->svg, "<style>\n"
                       "text{font-family:sans-serif;font-size:13px;fill:#222}\n"
                       ".title{font-size:20px;font-weight:bold}.panel{font-size:15px;"
                       "font-weight:bold}.axis{font-size:14px}.tick{font-size:12px}\n"
                       ".note{font-size:12px;fill:#555}\n"
                       "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
  char title[96];
  snprintf(title, sizeof title, "Error of matrix units against K, study %" PRIu64, id);
  tsri_text(c, "title", "start", MARGIN, 36, title);
  tsri_text(
      c, "note", "start", MARGIN, 58,
      "largest |computed - exact| / (|a|T |b|) over the results; dashed: its a-priori bound");
}

/* A name that keeps both ends when it is long. */
static void short_name(const char *name, char *out, size_t size) {
  size_t n = strlen(name);
  if (n <= NAMES_MAX)
    snprintf(out, size, "%s", name);
  else
    snprintf(out, size, "%.33s..%s", name, name + n - 33);
}

static double legend(struct canvas *c, const struct chart *h, double y, bool draw) {
  enum { COLUMN = 616, COLUMNS = (WIDTH - 2 * MARGIN) / COLUMN };
  char name[NAMES_MAX + 16];
  for (size_t u = 0; draw && u < h->n_units; u++) {
    size_t column = u % COLUMNS, row = u / COLUMNS;
    double x = MARGIN + (double)column * COLUMN;
    double at = y + (double)row * LEGEND_ROW;
    tsr_str_addf(&c->svg, "<path d=\"M%.1f %.1fh28\" stroke=\"%s\" stroke-width=\"2\"/>\n", x,
                 at - 4, tsri_colour(u));
    marker(&c->svg, u, x + 14, at - 4);
    tsr_str_add(&c->svg, "/>\n");
    short_name(h->units[u], name, sizeof name);
    tsri_text(c, "legend", "start", x + 36, at, name);
  }
  y += (double)tsr_ceil_div(h->n_units, COLUMNS) * LEGEND_ROW;
  if (draw && h->exact) {
    snprintf(name, sizeof name, "%zu points without an error are not drawn", h->exact);
    tsri_text(c, "note", "start", MARGIN, y + 4, name);
  }
  return y + 24;
}

static void draw(struct canvas *c, const struct chart *h, uint64_t id) {
  size_t columns = h->n_dists == 1 ? 1 : h->n_dists <= 4 ? 2 : 3;
  size_t rows = tsr_ceil_div(h->n_dists, columns);
  double w = (double)(WIDTH - 2 * MARGIN) / (double)columns;
  double y = TOP + (double)rows * PANEL_H + 24;
  head(c, h, id, legend(c, h, y, false));
  for (size_t d = 0; d < h->n_dists; d++) panel(c, h, d, columns, w);
  (void)legend(c, h, y, true);
  tsr_str_add(&c->svg, "</svg>\n");
}

enum tsr_status tsr_picture_error_k(struct tsr_store *s, uint64_t eval_id, char **svg,
                                    struct tsr_err *err) {
  struct chart h = {.k_lo = NAN, .k_hi = NAN, .y_lo = NAN, .y_hi = NAN};
  struct canvas c = {.svg = TSR_STR_INIT};
  enum tsr_status st = load(s, eval_id, &h, err);
  if (!st) {
    draw(&c, &h, eval_id);
    char *text = c.failed ? NULL : tsr_str_take(&c.svg);
    if (text)
      *svg = text;
    else
      st = tsr_err_nomem(err);
  }
  tsr_str_fini(&c.svg);
  if (h.arena) tsr_arena_destroy(h.arena);
  tsr_mem_free(h.units);
  tsr_mem_free(h.dists);
  tsr_mem_free(h.marks);
  return st;
}
