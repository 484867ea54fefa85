/* All of a roofline but what is in the plot: head, axes, legend, caption. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/picture/picture_int.h"
#include "sim/base/units.h"

enum {
  WIDTH = 1280,
  HEIGHT = 800,
  LEGEND_X = 992,
  LEGEND_TOP = 96,
  LEGEND_LINES = 30,
  FULL_RUNS = 3 /* of more runs the legend has the highest roof only */
};

/* Colours that people who see few colours can tell apart (SRC:okabe2008), its
 * yellow darkened for a white ground, and two more (SRC:assumed). */
static const char *const colours[TSR_PICTURE_RUNS_MAX] = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#555555", "#7b3fa0"};
const char *tsri_colour(size_t run) {
  return colours[run % TSR_PICTURE_RUNS_MAX];
}

const char *tsri_run_label(const struct roofline_run *run, char buf[TSRI_LABEL_MAX]) {
  enum { NAME_POINTS = 30, PART_POINTS = 12 };
  char a[TSRI_LABEL_MAX / 2], b[TSRI_LABEL_MAX / 4];
  if (run->name)
    snprintf(buf, TSRI_LABEL_MAX, "%" PRIu64 " %s", run->id,
             tsri_cut(a, sizeof a, run->name, NAME_POINTS));
  else
    snprintf(buf, TSRI_LABEL_MAX, "run %" PRIu64 ": %s, %s", run->id,
             tsri_cut(a, sizeof a, run->workload, PART_POINTS),
             tsri_cut(b, sizeof b, run->arch, PART_POINTS));
  return buf;
}

bool tsri_is_mix(const struct roof *f) {
  return tsr_str_eq(f->format, "mix");
}

double tsri_pow10(int e) {
  double v = 1;
  for (; e > 0; e--) v *= 10;
  for (; e < 0; e++) v /= 10;
  return v;
}

static int floor_log10(double v) {
  double l = tsr_log10(v);
  int i = (int)l;
  return i > l ? i - 1 : i;
}

struct range {
  double lo, hi;
};
static void widen(struct range *g, double v) {
  if (!(v > 0) || isinf(v)) return;
  if (!(g->lo <= v)) g->lo = v;
  if (!(g->hi >= v)) g->hi = v;
}
/* Whole decades around the range, at least one above and below what is marked. */
static void decades(struct range g, int *lo, int *hi) {
  if (!(g.lo > 0)) g = (struct range){1, 1};
  *lo = floor_log10(g.lo * 0.7);
  *hi = floor_log10(g.hi * 1.4) + 1;
  if (*hi - *lo < 2) --*lo;
}

struct axes tsri_axes(const struct roofline *r) {
  struct range x = {NAN, NAN}, y = {NAN, NAN};
  for (size_t i = 0; i < r->n_points; i++) {
    widen(&x, r->points[i].x);
    widen(&x, r->points[i].compulsory);
    widen(&y, r->points[i].y);
  }
  for (size_t i = 0; i < r->n_roofs; i++) {
    double ridge = r->roofs[i].ops_per_s / r->runs[r->roofs[i].run].bandwidth;
    widen(&x, ridge);
    widen(&x, ridge * 3);
    widen(&x, ridge / 10);
    widen(&y, r->roofs[i].ops_per_s);
  }
  struct axes a = {.left = 96, .top = 84, .right = 972, .bottom = 676};
  decades(x, &a.x_lo, &a.x_hi);
  decades(y, &a.y_lo, &a.y_hi);
  return a;
}

double tsri_px(const struct axes *a, double x) {
  return a->left + (tsr_log10(x) - a->x_lo) / (a->x_hi - a->x_lo) * (a->right - a->left);
}
double tsri_py(const struct axes *a, double y) {
  return a->bottom - (tsr_log10(y) - a->y_lo) / (a->y_hi - a->y_lo) * (a->bottom - a->top);
}

/* The end of a long name: a path tells most there. */
static void add_short(struct tsr_str *s, const char *name) {
  enum { LONGEST = 32 };
  size_t n = strlen(name);
  if (n > LONGEST) {
    name += n - LONGEST;
    while (((unsigned char)*name & 0xc0) == 0x80) name++;
    tsr_str_add(s, "..");
  }
  tsr_str_add_xml(s, name);
}

static void add_title(struct tsr_str *s, const struct roofline *r) {
  if (r->n_runs == 1) {
    tsr_str_add(s, "Roofline of run ");
    tsr_str_addf(s, "%" PRIu64 ": ", r->runs[0].id);
    add_short(s, r->runs[0].workload);
    tsr_str_add(s, " on ");
    add_short(s, r->runs[0].arch);
    return;
  }
  /* Names would run out of the picture; the legend has them. */
  tsr_str_add(s, "Roofline of runs ");
  for (size_t i = 0; i < r->n_runs; i++)
    tsr_str_addf(s, "%s%" PRIu64, i ? ", " : "", r->runs[i].id);
}

static void add_desc(struct tsr_str *s, const struct roofline *r) {
  char a[TSRI_SI_MAX], b[TSRI_SI_MAX];
  tsr_str_addf(s, "Operations per second over operations per DRAM byte of %zu layers.",
               r->n_points);
  for (size_t i = 0; i < r->n_points && i < 3; i++) {
    const struct point *p = &r->points[i];
    tsr_str_add(s, i ? "; " : " Costliest: ");
    tsr_str_add_xml(s, p->name);
    tsr_str_addf(s, ", %s of a roof of %s", tsri_si(a, p->y, "ops/s"),
                 tsri_si(b, p->roof, "ops/s"));
  }
}

void tsri_frame_head(struct canvas *c, const struct roofline *r) {
  struct tsr_str *s = &c->svg;
  tsr_str_addf(s,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
               "height=\"%d\" role=\"img\" aria-labelledby=\"t d\">\n<title id=\"t\">",
               WIDTH, HEIGHT, WIDTH, HEIGHT);
  add_title(s, r);
  tsr_str_add(s, "</title>\n<desc id=\"d\">");
  add_desc(s, r);
  tsr_str_add(s, "</desc>\n<style>\n"
                 "text{font-family:sans-serif;font-size:13px;fill:#222}\n"
                 ".title{font-size:20px;font-weight:bold}.axis{font-size:15px}\n"
                 ".roof,.point,.legend{font-size:12px}.note{font-size:12px;fill:#555}\n"
                 ".halo{stroke:#fff;stroke-width:3px;paint-order:stroke}\n"
                 "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
                 "<text class=\"title\" x=\"96\" y=\"50\">");
  add_title(s, r);
  tsr_str_add(s, "</text>\n");
}

/* 1, 10, 100, 1 k …; 0.1, 0.01, 0.001 and 1e-4 below one. */
static const char *tick_label(char buf[TSRI_SI_MAX], int e) {
  if (e < -3)
    snprintf(buf, TSRI_SI_MAX, "1e%d", e);
  else if (e < 0)
    snprintf(buf, TSRI_SI_MAX, "%.*f", -e, tsri_pow10(e));
  else {
    tsri_si(buf, tsri_pow10(e), "");
    if (e < 3) snprintf(buf, TSRI_SI_MAX, "%.0f", tsri_pow10(e));
  }
  return buf;
}

static void grid_line(struct canvas *c, const struct axes *a, bool vertical, double at,
                      const char *colour) {
  double x1 = vertical ? at : a->left, x2 = vertical ? at : a->right;
  double y1 = vertical ? a->top : at, y2 = vertical ? a->bottom : at;
  tsr_str_addf(&c->svg,
               "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1,
               y1, x2, y2, colour);
}

static void axis(struct canvas *c, const struct axes *a, bool vertical, int lo, int hi) {
  char buf[TSRI_SI_MAX];
  int every = 1 + (hi - lo) / 12; /* decades a label: more would not be read */
  for (int e = lo; e <= hi; e++) {
    for (int m = 2; m <= 9 && e < hi && hi - lo <= 8; m++) {
      double v = m * tsri_pow10(e);
      grid_line(c, a, !vertical, vertical ? tsri_py(a, v) : tsri_px(a, v), "#f0f0f0");
    }
    double at = vertical ? tsri_py(a, tsri_pow10(e)) : tsri_px(a, tsri_pow10(e));
    grid_line(c, a, !vertical, at, "#cccccc");
    if ((e - lo) % every) continue;
    if (vertical)
      tsri_text(c, "tick", "end", a->left - 8, at + 5, tick_label(buf, e));
    else
      tsri_text(c, "tick", "middle", at, a->bottom + 20, tick_label(buf, e));
  }
}

void tsri_frame_axes(struct canvas *c, const struct axes *a) {
  axis(c, a, false, a->x_lo, a->x_hi);
  axis(c, a, true, a->y_lo, a->y_hi);
  tsr_str_addf(&c->svg,
               "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
               "stroke=\"#222\"/>\n",
               a->left, a->top, a->right - a->left, a->bottom - a->top);
  double mx = (a->left + a->right) / 2, my = (a->top + a->bottom) / 2;
  tsri_text(c, "axis", "middle", mx, a->bottom + 46, "useful operations per DRAM byte");
  tsr_str_addf(&c->svg,
               "<text class=\"axis\" text-anchor=\"middle\" transform=\"translate(28 %.1f) "
               "rotate(-90)\">operations/s</text>\n",
               my);
}

/* The legend grows downward, a line at a time, and says what it leaves out. */
struct legend {
  struct canvas *c;
  int lines;
};
static double legend_y(const struct legend *l) {
  return LEGEND_TOP + 20.0 * l->lines;
}
static bool legend_room(struct legend *l) {
  if (l->lines < LEGEND_LINES) return true;
  if (l->lines++ == LEGEND_LINES)
    tsri_text(l->c, "note", "start", LEGEND_X, legend_y(l), "more in the store: v_roofline");
  return false;
}
static void legend_text(struct legend *l, const char *class, double indent, const char *text) {
  if (!legend_room(l)) return;
  tsri_text(l->c, class, "start", LEGEND_X + indent, legend_y(l), text);
  l->lines++;
}

static void legend_run(struct legend *l, const struct roofline *r, size_t i) {
  const struct roofline_run *run = &r->runs[i];
  char a[TSRI_SI_MAX], label[TSRI_LABEL_MAX], line[160];
  if (!legend_room(l)) return;
  tsr_str_addf(&l->c->svg,
               "<rect x=\"%d\" y=\"%.1f\" width=\"14\" height=\"14\" fill=\"%s\" "
               "fill-opacity=\"0.6\"/>\n",
               LEGEND_X, legend_y(l) - 12, tsri_colour(i));
  legend_text(l, "legend", 22, tsri_run_label(run, label));
  for (size_t k = 0, n = 0; k < r->n_roofs; k++)
    if (r->roofs[k].run == i && n++ < (r->n_runs > FULL_RUNS ? 1 : r->n_roofs)) {
      snprintf(line, sizeof line, "roof %s %.20s", tsri_si(a, r->roofs[k].ops_per_s, "ops/s"),
               r->roofs[k].format);
      legend_text(l, "legend", 22, line);
    }
  if (isinf(run->bandwidth))
    snprintf(line, sizeof line, "DRAM bandwidth unlimited");
  else if (isnan(run->bandwidth))
    snprintf(line, sizeof line, "DRAM bandwidth unknown");
  else
    snprintf(line, sizeof line, "DRAM bandwidth %s", tsri_si(a, run->bandwidth, "B/s"));
  legend_text(l, "legend", 22, line);
  if (r->n_runs > FULL_RUNS) return;
  const struct {
    size_t n;
    const char *what;
  } notes[] = {{run->without_macs, "without MACs: not drawn"},
               {run->without_time, "without a time: not drawn"},
               {run->without_bytes, "without bytes: right edge"}};
  for (size_t k = 0; k < sizeof notes / sizeof notes[0]; k++)
    if (notes[k].n) {
      snprintf(line, sizeof line, "%zu %s %s", notes[k].n, notes[k].n == 1 ? "layer" : "layers",
               notes[k].what);
      legend_text(l, "note", 8, line);
    }
  if (run->without_macs_s > 0 && run->time_s > 0) {
    snprintf(line, sizeof line, "(no MACs: %.1f %% of the time)",
             100 * run->without_macs_s / run->time_s);
    legend_text(l, "note", 8, line);
  }
}

void tsri_frame_legend(struct canvas *c, const struct roofline *r) {
  struct legend l = {c, 0};
  /* The keys first: they must not fall to a long list of runs. */
  tsr_str_addf(&c->svg,
               "<ellipse cx=\"%d\" cy=\"%.1f\" rx=\"7\" ry=\"7\" fill=\"#888\" "
               "fill-opacity=\"0.5\" stroke=\"#888\"/>\n",
               LEGEND_X + 7, legend_y(&l) - 5);
  legend_text(&l, "legend", 22, "a layer; area: its time");
  tsr_str_addf(&c->svg, "<path d=\"M%d %.1fh14m0 -5v10\" stroke=\"#888\" fill=\"none\"/>\n",
               LEGEND_X, legend_y(&l) - 5);
  legend_text(&l, "legend", 22, "its compulsory intensity");
  tsr_str_addf(&c->svg, "<path d=\"M%d %.1fh14\" stroke=\"#222\" stroke-width=\"2\"/>\n",
               LEGEND_X, legend_y(&l) - 5);
  legend_text(&l, "legend", 22, "roof: no layer is above its own");
  l.lines++;
  for (size_t i = 0; i < r->n_runs; i++) legend_run(&l, r, i);
}

void tsri_frame_caption(struct canvas *c, const struct roofline *r) {
  bool mixed = false;
  for (size_t i = 0; i < r->n_roofs; i++) mixed = mixed || tsri_is_mix(&r->roofs[i]);
  tsri_text(
      c, "note", "start", 96, 754,
      "roof(x) = min(peak of the executed formats, x * DRAM bandwidth); x = useful "
      "operations / DRAM bytes moved, refetches included; an executed MAC is 2 operations.");
  tsri_text(c, "note", "start", 96, 774,
            mixed
                ? "Compulsory intensity: were each operand and the result moved once. mix: the "
                  "roof of the whole network, sum of MACs / sum of (MACs / peak)."
                : "Compulsory intensity: were each operand and the result moved once.");
}
