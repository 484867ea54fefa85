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

/* Tries places along the line from (x0, y0) to (x1, y1); the text stands right of
 * or above the place by (dx, dy). */
static bool label_line(struct canvas *c, const struct axes *a, const char *text, double x0,
                       double y0, double x1, double y1, double dx, double dy) {
  enum { PLACES = 24 };
  for (int i = 0; i < PLACES; i++) {
    double t = (double)i / PLACES;
    double x = x0 + (x1 - x0) * t + dx, y = y0 + (y1 - y0) * t + dy;
    struct box b = tsri_text_box(text, label_px, x, y);
    if (b.x < a->left || b.x + b.w > a->right || b.y < a->top || b.y + b.h > a->bottom)
      continue;
    if (!tsri_box_free(c, b)) continue;
    tsri_box_take(c, b);
    tsri_text(c, "roof halo", "start", x, y, text);
    return true;
  }
  return false; /* the legend has the number too */
}

static void draw_roof(struct canvas *c, const struct axes *a, const struct roofline *r,
                      size_t i) {
  const struct roof *f = &r->roofs[i];
  double bandwidth = r->runs[f->run].bandwidth, y = tsri_py(a, f->ops_per_s);
  double from = a->left;
  bool mix = tsr_str_eq(f->format, "mix");
  if (bandwidth > 0 && !isinf(bandwidth)) {
    double ridge = tsri_px(a, f->ops_per_s / bandwidth);
    from = ridge > a->left ? ridge : a->left;
  }
  if (!same_roof_before(r, i))
    tsr_str_addf(&c->svg,
                 "<path class=\"peak\" d=\"M%.1f %.1fH%.1f\" stroke=\"%s\" stroke-width=\"2\" "
                 "fill=\"none\"%s/>\n",
                 from, y, a->right, tsri_colour(f->run),
                 mix ? " stroke-dasharray=\"8 5\"" : "");
  if (same_label_before(r, i)) return;
  char number[TSRI_SI_MAX], text[160];
  snprintf(text, sizeof text, "%s%s%.20s", tsri_si(number, f->ops_per_s, "ops/s"),
           f->format[0] ? " " : "", f->format);
  struct box b = tsri_text_box(text, label_px, 0, 0);
  double right = a->right - b.w - 6;
  const double above = -6, below = 15;
  bool down = roof_close_above(a, r, y);
  if (!label_line(c, a, text, right, y, from, y, 0, down ? below : above))
    (void)label_line(c, a, text, right, y, from, y, 0, down ? above : below);
}

/* The slope of a run: from the lower left up to its highest roof. */
static void draw_slope(struct canvas *c, const struct axes *a, const struct roofline *r,
                       size_t run) {
  double bandwidth = r->runs[run].bandwidth, top = 0;
  for (size_t i = 0; i < r->n_roofs; i++)
    if (r->roofs[i].run == run && r->roofs[i].ops_per_s > top) top = r->roofs[i].ops_per_s;
  if (!(bandwidth > 0) || isinf(bandwidth) || !(top > 0)) return;
  double x_lo = tsri_pow10(a->x_lo), y_lo = tsri_pow10(a->y_lo);
  double x = x_lo * bandwidth >= y_lo ? x_lo : y_lo / bandwidth;
  double px = tsri_px(a, x), py = tsri_py(a, x * bandwidth);
  double ex = tsri_px(a, top / bandwidth), ey = tsri_py(a, top);
  tsr_str_addf(&c->svg,
               "<path class=\"slope\" d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"%s\" "
               "stroke-width=\"2\" fill=\"none\"/>\n",
               px, py, ex, ey, tsri_colour(run));
  if (same_bandwidth_before(r, run)) return;
  char text[TSRI_SI_MAX];
  tsri_si(text, bandwidth, "B/s");
  (void)label_line(c, a, text, px + (ex - px) * 0.1, py + (ey - py) * 0.1, ex, ey, 12, 8);
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
  const char *colour = tsri_colour(p->run);
  if (p->compulsory > 0)
    tsr_str_addf(s,
                 "<path class=\"compulsory\" d=\"M%.1f %.1fH%.1fm0 -5v10\" stroke=\"%s\" "
                 "stroke-opacity=\"0.6\" fill=\"none\"/>\n",
                 p->px, p->py, tsri_px(a, p->compulsory), colour);
  tsr_str_addf(s,
               "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" fill-opacity=\"0.4\" "
               "stroke=\"%s\"><title>",
               p->px, p->py, p->r, colour, colour);
  tsr_str_add_xml(s, p->name);
  tsr_str_add(s, " (");
  tsr_str_add_xml(s, p->op);
  tsr_str_add(s, "), ");
  tsr_str_add_xml(s, tsri_run_label(&r->runs[p->run], buf));
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

static bool hits_a_circle(const struct roofline *r, const struct point *self, struct box b) {
  for (size_t i = 0; i < r->n_points; i++) {
    const struct point *p = &r->points[i];
    if (p != self && p->px + p->r > b.x && p->px - p->r < b.x + b.w && p->py + p->r > b.y &&
        p->py - p->r < b.y + b.h)
      return true;
  }
  return false;
}

static bool close_by(const struct point *a, const struct point *b) {
  return fabs(a->px - b->px) < 2 && fabs(a->py - b->py) < 2 && a->run == b->run;
}

/* Points on one spot share the label of the costliest. */
static bool counted_before(const struct roofline *r, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (close_by(&r->points[k], &r->points[i])) return true;
  return false;
}

static void label_text(const struct roofline *r, size_t i, char *buf, size_t n) {
  const struct point *p = &r->points[i];
  size_t alike = 0, points = 0, bytes = 0;
  for (size_t k = i + 1; k < r->n_points; k++) alike += close_by(p, &r->points[k]);
  while (p->name[bytes] && bytes < n / 2) {
    points += ((unsigned char)p->name[bytes] & 0xc0) != 0x80;
    if (points > NAME_MAX_POINTS) break;
    bytes++;
  }
  const char *cut = p->name[bytes] ? ".." : "";
  if (alike)
    snprintf(buf, n, "%.*s%s (+%zu alike)", (int)bytes, p->name, cut, alike);
  else
    snprintf(buf, n, "%.*s%s", (int)bytes, p->name, cut);
}

static bool label_point(struct canvas *c, const struct axes *a, const struct roofline *r,
                        size_t i) {
  const struct point *p = &r->points[i];
  char text[160];
  label_text(r, i, text, sizeof text);
  double w = tsri_text_box(text, label_px, 0, 0).w;
  const double places[][2] = {
      {p->px + p->r + 5, p->py + 4},        {p->px - p->r - 5 - w, p->py + 4},
      {p->px - w / 2, p->py - p->r - 6},    {p->px - w / 2, p->py + p->r + 15},
      {p->px + p->r, p->py - p->r - 2},     {p->px + p->r, p->py + p->r + 10},
      {p->px - p->r - w, p->py - p->r - 2}, {p->px - p->r - w, p->py + p->r + 10}};
  enum { PLACES = sizeof places / sizeof places[0] };
  /* The costliest layer has a second round, in which it may cross circles. */
  for (int k = 0; k < (i ? PLACES : 2 * PLACES); k++) {
    double x = places[k % PLACES][0], y = places[k % PLACES][1];
    struct box b = tsri_text_box(text, label_px, x, y);
    if (b.x < a->left || b.x + b.w > a->right || b.y < a->top || b.y + b.h > a->bottom)
      continue;
    if (!tsri_box_free(c, b) || (k < PLACES && hits_a_circle(r, p, b))) continue;
    tsri_box_take(c, b);
    tsri_text(c, "point halo", "start", x, y, text);
    return true;
  }
  return false;
}

static void draw(struct canvas *c, struct roofline *r) {
  struct axes a = tsri_axes(r);
  tsri_frame_head(c, r);
  tsri_frame_axes(c, &a);
  place_points(&a, r);
  for (size_t i = 0; i < r->n_points; i++) draw_point(c, &a, r, &r->points[i]);
  for (size_t i = 0; i < r->n_roofs; i++) draw_roof(c, &a, r, i);
  for (size_t i = 0; i < r->n_runs; i++) draw_slope(c, &a, r, i);
  for (size_t i = 0, n = 0; i < r->n_points && n < LABELS_MAX && i < 64; i++)
    if (!counted_before(r, i)) n += label_point(c, &a, r, i);
  tsri_frame_legend(c, r);
  tsri_frame_caption(c);
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
  tsr_str_fini(&c.svg);
  tsr_mem_free(c.texts);
  tsri_roofline_fini(&r);
  return status;
}
