/* Shared by the files of analysis/picture. */
#ifndef TSR_ANALYSIS_PICTURE_PICTURE_INT_H
#define TSR_ANALYSIS_PICTURE_PICTURE_INT_H

#include <stdbool.h>

#include "analysis/picture/picture.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"

/* ---- Data of a roofline (arena-owned texts) ---- */

struct roof {
  size_t run;         /* index, not number */
  const char *format; /* of operand A; "mix" for the mixed network; "" unknown */
  double ops_per_s;
};

struct point {
  size_t run;
  uint64_t layer;
  const char *name, *op;
  double x, compulsory; /* operations per byte; NAN: no bytes */
  double y, roof, bound, time_s, share;
  double px, py, r; /* on the picture */
};

struct roofline_run {
  uint64_t id;
  const char *name, *arch, *workload; /* name may be NULL */
  double bandwidth;                   /* bytes/s; INFINITY unlimited; NAN unknown */
  double peak, time_s;
  size_t without_macs, without_time, without_bytes; /* layers */
  double without_macs_s;
};

struct roofline {
  struct tsr_arena *arena;
  struct roofline_run runs[TSR_PICTURE_RUNS_MAX];
  size_t n_runs;
  struct point *points; /* costliest first */
  size_t n_points, cap_points;
  struct roof *roofs;
  size_t n_roofs, cap_roofs;
};

enum tsr_status tsri_roofline_load(struct tsr_store *s, const uint64_t *ids, size_t n,
                                   struct roofline *r, struct tsr_err *err);
void tsri_roofline_fini(struct roofline *r);

/* ---- Places for texts ---- */

struct box {
  double x, y, w, h; /* y: top */
};

struct line {
  double x0, y0, x1, y1;
};

struct canvas {
  struct tsr_str svg;
  struct box *texts; /* of every text in the plot */
  size_t n_texts, cap_texts;
  struct line *lines; /* that no text should stand on */
  size_t n_lines, cap_lines;
  bool failed; /* out of memory */
};

/* The box of a text of `px` pixels height, its baseline starting at (x, y). */
struct box tsri_text_box(const char *text, double px, double x, double y);
bool tsri_box_free(const struct canvas *c, struct box b);
void tsri_box_take(struct canvas *c, struct box b);
void tsri_line_take(struct canvas *c, double x0, double y0, double x1, double y1);
/* No line taken passes through the box or ends in it. */
bool tsri_box_clear(const struct canvas *c, struct box b);
/* Frees what a canvas holds. */
void tsri_canvas_fini(struct canvas *c);
/* Writes a text; anchor start, middle or end. No box is taken. */
void tsri_text(struct canvas *c, const char *class, const char *anchor, double x, double y,
               const char *text);
/* In another colour than the class's. */
void tsri_text_in(struct canvas *c, const char *colour, const char *class, const char *anchor,
                  double x, double y, const char *text);
/* At most `points` characters of a text, cut at the end with `..`; returns buf. */
char *tsri_cut(char *buf, size_t size, const char *text, size_t points);

/* `33.5 T` and a unit, three digits; returns buf. */
enum { TSRI_SI_MAX = 64 };
char *tsri_si(char buf[TSRI_SI_MAX], double v, const char *unit);

/* ---- The frame ---- */

/* Plot area in pixels, and the decades of its axes. */
struct axes {
  double left, top, right, bottom;
  int x_lo, x_hi, y_lo, y_hi; /* powers of ten */
};
struct axes tsri_axes(const struct roofline *r);
double tsri_px(const struct axes *a, double x);
double tsri_py(const struct axes *a, double y);
/* 10^e. */
double tsri_pow10(int e);

void tsri_frame_head(struct canvas *c, const struct roofline *r);
void tsri_frame_axes(struct canvas *c, const struct axes *a);
void tsri_frame_legend(struct canvas *c, const struct roofline *r);
void tsri_frame_caption(struct canvas *c, const struct roofline *r);
const char *tsri_colour(size_t run);
/* Label of a run: its number and its name, or what it ran on what. */
enum { TSRI_LABEL_MAX = 192 };
const char *tsri_run_label(const struct roofline_run *run, char buf[TSRI_LABEL_MAX]);
bool tsri_is_mix(const struct roof *f);

#endif
