/* The plot of a roofline: roofs, layers, labels. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/picture/picture_int.h"

enum { LABELS_MAX = 8, NAME_MAX_POINTS = 28 };
static const double label_px = 12, r_max = 26, r_min = 3;

/* ---- roofs ---- */

static bool same_roof_before(const struct roofline *r, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (r->roofs[k].ops_per_s == r->roofs[i].ops_per_s && r->roofs[k].run == r->roofs[i].run)
      return true;
  return false;
}

/* Runs of one machine share their roofs, and then the words for them. */
static bool same_label_before(const struct roofline *r, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (r->roofs[k].ops_per_s == r->roofs[i].ops_per_s &&
        tsr_str_eq(r->roofs[k].format, r->roofs[i].format))
      return true;
  return false;
}
static bool same_bandwidth_before(const struct roofline *r, size_t run) {
  for (size_t k = 0; k < run; k++)
    if (r->runs[k].bandwidth == r->runs[run].bandwidth) return true;
  return false;
}

/* A roof close above would cross the words. */
static bool roof_close_above(const struct axes *a, const struct roofline *r, double y) {
  for (size_t i = 0; i < r->n_roofs; i++) {
    double other = tsri_py(a, r->roofs[i].ops_per_s);
    if (other < y && other > y - 22) return true;
  }
  return false;
}

/* self: not looked at; NULL: all circles are. */
static bool hits_a_circle(const struct roofline *r, const struct point *self, struct box b) {
  for (size_t i = 0; i < r->n_points; i++) {
    const struct point *p = &r->points[i];
    if (p != self && p->px + p->r > b.x && p->px - p->r < b.x + b.w && p->py + p->r > b.y &&
        p->py - p->r < b.y + b.h)
      return true;
  }
  return false;
}

/* Tries places along the line from (x0, y0) to (x1, y1); the text stands right of
 * or above the place by (dx, dy), on no other text and on no line. */
static bool label_line(struct canvas *c, const struct axes *a, const struct roofline *r,
                       const char *text, double x0, double y0, double x1, double y1, double dx,
                       double dy) {
  enum { PLACES = 24 };
  for (int i = 0; i < 2 * PLACES; i++) { /* the second time also on circles */
    double t = (double)(i % PLACES) / PLACES;
    double x = x0 + (x1 - x0) * t + dx, y = y0 + (y1 - y0) * t + dy;
    struct box b = tsri_text_box(text, label_px, x, y);
    if (b.x < a->left || b.x + b.w > a->right || b.y < a->top || b.y + b.h > a->bottom)
      continue;
    if (!tsri_box_free(c, b) || !tsri_box_clear(c, b)) continue;
    if (i < PLACES && hits_a_circle(r, NULL, b)) continue;
    tsri_box_take(c, b);
    tsri_text(c, "roof halo", "start", x, y, text);
    return true;
  }
  return false; /* the legend has the number too */
}

/* Where a roof leaves the slope of its run. */
static double roof_from(const struct axes *a, const struct roofline *r, const struct roof *f) {
  double bandwidth = r->runs[f->run].bandwidth;
  if (!(bandwidth > 0) || isinf(bandwidth)) return a->left;
  double ridge = tsri_px(a, f->ops_per_s / bandwidth);
  return ridge > a->left ? ridge : a->left;
}

static void draw_roof(struct canvas *c, const struct axes *a, const struct roofline *r,
                      size_t i) {
  const struct roof *f = &r->roofs[i];
  double from = roof_from(a, r, f), y = tsri_py(a, f->ops_per_s);
  if (same_roof_before(r, i)) return;
  tsr_str_addf(&c->svg,
               "<path class=\"peak\" d=\"M%.1f %.1fH%.1f\" stroke=\"%s\" stroke-width=\"2\" "
               "fill=\"none\"%s/>\n",
               from, y, a->right, tsri_colour(f->run),
               tsri_is_mix(f) ? " stroke-dasharray=\"8 5\"" : "");
  tsri_line_take(c, from, y, a->right, y);
}

static void label_roof(struct canvas *c, const struct axes *a, const struct roofline *r,
                       size_t i) {
  const struct roof *f = &r->roofs[i];
  if (same_label_before(r, i)) return;
  double from = roof_from(a, r, f), y = tsri_py(a, f->ops_per_s);
  char number[TSRI_SI_MAX], text[160];
  snprintf(text, sizeof text, "%s%s%.20s", tsri_si(number, f->ops_per_s, "ops/s"),
           f->format[0] ? " " : "", f->format);
  struct box b = tsri_text_box(text, label_px, 0, 0);
  double right = a->right - b.w - 6;
  const double above = -6, below = 15;
  bool down = roof_close_above(a, r, y);
  if (!label_line(c, a, r, text, right, y, from, y, 0, down ? below : above))
    (void)label_line(c, a, r, text, right, y, from, y, 0, down ? above : below);
}

/* The slope of a run: from the lower left up to its highest roof. false: it has none. */
static bool slope_of(const struct axes *a, const struct roofline *r, size_t run,
                     struct line *out) {
  double bandwidth = r->runs[run].bandwidth, top = 0;
  for (size_t i = 0; i < r->n_roofs; i++)
    if (r->roofs[i].run == run && r->roofs[i].ops_per_s > top) top = r->roofs[i].ops_per_s;
  if (!(bandwidth > 0) || isinf(bandwidth) || !(top > 0)) return false;
  double x_lo = tsri_pow10(a->x_lo), y_lo = tsri_pow10(a->y_lo);
  double x = x_lo * bandwidth >= y_lo ? x_lo : y_lo / bandwidth;
  *out = (struct line){tsri_px(a, x), tsri_py(a, x * bandwidth), tsri_px(a, top / bandwidth),
                       tsri_py(a, top)};
  return true;
}

static void draw_slope(struct canvas *c, const struct axes *a, const struct roofline *r,
                       size_t run) {
  struct line l;
  if (!slope_of(a, r, run, &l)) return;
  tsr_str_addf(&c->svg,
               "<path class=\"slope\" d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"%s\" "
               "stroke-width=\"2\" fill=\"none\"/>\n",
               l.x0, l.y0, l.x1, l.y1, tsri_colour(run));
  tsri_line_take(c, l.x0, l.y0, l.x1, l.y1);
}

static void label_slope(struct canvas *c, const struct axes *a, const struct roofline *r,
                        size_t run) {
  struct line l;
  if (same_bandwidth_before(r, run) || !slope_of(a, r, run, &l)) return;
  char text[TSRI_SI_MAX];
  tsri_si(text, r->runs[run].bandwidth, "B/s");
  double x = l.x0 + (l.x1 - l.x0) * 0.1, y = l.y0 + (l.y1 - l.y0) * 0.1;
  double w = tsri_text_box(text, label_px, 0, 0).w;
  /* Right and below of the line, farther off where it is flat, or left and above. */
  const double off[][2] = {{12, 8}, {12, 18}, {12, 28}, {-12 - w, -4}, {-12 - w, -14}};
  for (size_t i = 0; i < sizeof off / sizeof off[0]; i++)
    if (label_line(c, a, r, text, x, y, l.x1, l.y1, off[i][0], off[i][1])) return;
}

/* ---- layers ---- */

static void place_points(const struct axes *a, struct roofline *r) {
  double longest = r->n_points ? r->points[0].time_s : 0;
  for (size_t i = 0; i < r->n_points; i++) {
    struct point *p = &r->points[i];
    p->px = p->x > 0 ? tsri_px(a, p->x) : a->right;
    p->py = tsri_py(a, p->y);
    p->r = longest > 0 ? r_max * sqrt(p->time_s / longest) : r_min;
    if (!(p->r >= r_min)) p->r = r_min;
  }
}

static void draw_point(struct canvas *c, const struct axes *a, const struct roofline *r,
                       const struct point *p) {
  struct tsr_str *s = &c->svg;
  char buf[TSRI_SI_MAX];
  char label[TSRI_LABEL_MAX];
  const char *colour = tsri_colour(p->run);
  if (p->compulsory > 0) {
    double end = tsri_px(a, p->compulsory);
    tsri_line_take(c, p->px, p->py, end, p->py);
    tsri_line_take(c, end, p->py - 5, end, p->py + 5);
    tsr_str_addf(s,
                 "<path class=\"compulsory\" d=\"M%.1f %.1fH%.1fm0 -5v10\" stroke=\"%s\" "
                 "stroke-opacity=\"0.6\" fill=\"none\"/>\n",
                 p->px, p->py, end, colour);
  }
  tsr_str_addf(s,
               "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" fill-opacity=\"0.4\" "
               "stroke=\"%s\"><title>",
               p->px, p->py, p->r, colour, colour);
  tsr_str_add_xml(s, p->name);
  tsr_str_add(s, " (");
  tsr_str_add_xml(s, p->op);
  tsr_str_add(s, "), ");
  tsr_str_add_xml(s, tsri_run_label(&r->runs[p->run], label));
  if (p->x > 0)
    tsr_str_addf(s, ": %.4g operations/byte", p->x);
  else
    tsr_str_add(s, ": no DRAM bytes");
  if (p->compulsory > 0) tsr_str_addf(s, " (compulsory %.4g)", p->compulsory);
  tsr_str_addf(s, ", %s", tsri_si(buf, p->y, "ops/s"));
  if (p->bound > 0)
    tsr_str_addf(s, " = %.1f %% of its roof of %s", 100 * p->y / p->bound,
                 tsri_si(buf, p->bound, "ops/s"));
  tsr_str_addf(s, ", %s", tsri_si(buf, p->time_s, "s"));
  if (p->share > 0) tsr_str_addf(s, " = %.1f %% of the run", 100 * p->share);
  tsr_str_add(s, "</title></circle>\n");
}

/* ---- labels of the costliest ---- */

static bool close_by(const struct point *a, const struct point *b) {
  return fabs(a->px - b->px) < 2 && fabs(a->py - b->py) < 2 && a->run == b->run;
}

/* Points on one spot share the label of the costliest. */
static bool counted_before(const struct roofline *r, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (close_by(&r->points[k], &r->points[i])) return true;
  return false;
}

static void label_text(const struct roofline *r, size_t i, bool count, char *buf, size_t n) {
  const struct point *p = &r->points[i];
  char name[120];
  size_t alike = 0;
  for (size_t k = i + 1; count && k < r->n_points; k++) alike += close_by(p, &r->points[k]);
  tsri_cut(name, sizeof name, p->name, NAME_MAX_POINTS);
  if (alike)
    snprintf(buf, n, "%s (+%zu alike)", name, alike);
  else
    snprintf(buf, n, "%s", name);
}

/* How much a label may cross, the strictest first. */
enum strict { CROSS_NOTHING, CROSS_CIRCLES, CROSS_LINES, STRICT_COUNT };

static bool place_free(const struct canvas *c, const struct axes *a, const struct roofline *r,
                       const struct point *p, struct box b, enum strict strict) {
  if (b.x < a->left || b.x + b.w > a->right || b.y < a->top || b.y + b.h > a->bottom)
    return false;
  return tsri_box_free(c, b) && (strict >= CROSS_CIRCLES || !hits_a_circle(r, p, b)) &&
         (strict >= CROSS_LINES || tsri_box_clear(c, b));
}

/* Some place near the point that crosses no more than `strict`. */
static bool label_near(struct canvas *c, const struct axes *a, const struct roofline *r,
                       const struct point *p, const char *text, enum strict strict,
                       double away) {
  double w = tsri_text_box(text, label_px, 0, 0).w, e = p->r * 0.8 + 3 + away;
  const double places[][2] = {{p->px + p->r + 5, p->py + 4},
                              {p->px - p->r - 5 - w, p->py + 4},
                              {p->px - w / 2, p->py - p->r - away - 6},
                              {p->px - w / 2, p->py + p->r + away + 15},
                              {p->px + e, p->py - e},
                              {p->px + e, p->py + e + 10},
                              {p->px - e - w, p->py - e},
                              {p->px - e - w, p->py + e + 10},
                              {p->px + e, p->py - e - 14},
                              {p->px + e, p->py + e + 24},
                              {p->px - e - w, p->py - e - 14},
                              {p->px - e - w, p->py + e + 24}};
  enum { PLACES = sizeof places / sizeof places[0] };
  for (size_t k = 0; k < PLACES; k++) {
    double x = places[k][0], y = places[k][1];
    struct box b = tsri_text_box(text, label_px, x, y);
    if (!place_free(c, a, r, p, b, strict)) continue;
    tsri_box_take(c, b);
    if (r->n_runs == 1)
      tsri_text(c, "point halo", "start", x, y, text);
    else
      tsri_text_in(c, tsri_colour(p->run), "point halo", "start", x, y, text);
    return true;
  }
  return false;
}

/* must: rather the name alone, farther off, or across circles or lines, than none. */
static bool label_point(struct canvas *c, const struct axes *a, const struct roofline *r,
                        size_t i, bool must) {
  enum { RINGS = 8 };
  for (enum strict s = CROSS_NOTHING; s < (must ? STRICT_COUNT : CROSS_CIRCLES); s++)
    for (int ring = 0; ring <= (must ? RINGS : 0); ring++)
      for (int count = 1; count >= !must; count--) {
        char text[160];
        label_text(r, i, count, text, sizeof text);
        if (label_near(c, a, r, &r->points[i], text, s, 14.0 * ring)) return true;
      }
  return false;
}

/* Every run has its share of the labels, its costliest layer's first. */
static void label_points(struct canvas *c, const struct axes *a, const struct roofline *r) {
  enum { TRIES = 64, LEAST = 2 };
  TSR_CHECK(r->n_runs > 0);
  size_t share = r->n_runs > LABELS_MAX / LEAST ? LEAST : LABELS_MAX / r->n_runs;
  for (size_t pass = 0; pass < 2; pass++)
    for (size_t run = 0; run < r->n_runs; run++)
      for (size_t i = 0, n = 0, tries = 0; i < r->n_points && tries < TRIES; i++) {
        if (r->points[i].run != run || counted_before(r, i)) continue;
        /* The first of each run stand before the others take room. */
        if (pass == 0 || tries) n += label_point(c, a, r, i, tries == 0);
        if (pass == 0 || n + 1 >= share) break;
        tries++;
      }
}

static void draw(struct canvas *c, struct roofline *r) {
  struct axes a = tsri_axes(r);
  tsri_frame_head(c, r);
  tsri_frame_axes(c, &a);
  place_points(&a, r);
  for (size_t i = 0; i < r->n_points; i++) draw_point(c, &a, r, &r->points[i]);
  for (size_t i = 0; i < r->n_roofs; i++) draw_roof(c, &a, r, i);
  for (size_t i = 0; i < r->n_runs; i++) draw_slope(c, &a, r, i);
  for (size_t i = 0; i < r->n_roofs; i++) label_roof(c, &a, r, i);
  for (size_t i = 0; i < r->n_runs; i++) label_slope(c, &a, r, i);
  label_points(c, &a, r);
  tsri_frame_legend(c, r);
  tsri_frame_caption(c, r);
  tsr_str_add(&c->svg, "</svg>\n");
}

enum tsr_status tsr_picture_roofline(struct tsr_store *s, const uint64_t *run_ids, size_t n,
                                     char **svg, struct tsr_err *err) {
  if (n == 0 || n > TSR_PICTURE_RUNS_MAX)
    return tsr_err_set(err, TSR_USAGE, "a roofline of %zu runs; expected 1 to %d", n,
                       TSR_PICTURE_RUNS_MAX);
  struct roofline r = {0};
  struct canvas c = {.svg = TSR_STR_INIT};
  enum tsr_status status = tsri_roofline_load(s, run_ids, n, &r, err);
  if (status == TSR_OK) {
    draw(&c, &r);
    char *text = c.failed ? NULL : tsr_str_take(&c.svg);
    if (text)
      *svg = text;
    else
      status = tsr_err_nomem(err);
  }
  tsri_canvas_fini(&c);
  tsri_roofline_fini(&r);
  return status;
}
