/* Rows as aligned text and as CSV (SRC:rfc4180). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/query/query_int.h"
#include "sim/base/mem.h"

enum { LINE_MAX_COLUMNS = 100, GAP = 2, TEXT_MIN = 8 };

/* A table in the making: cells row by row, row 0 the headings. */
struct grid {
  struct tsr_arena *arena;
  const struct tsri_heading *h;
  size_t columns, n, cap;
  const char **cells;
  size_t *widths;
};

/* Code points of UTF-8 (a cell has no combining ones). */
static size_t width(const char *s) {
  size_t n = 0;
  for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
  return n;
}

static const char *after(const char *s, size_t points) {
  while (*s && points--) do
      s++;
    while (((unsigned char)*s & 0xc0) == 0x80);
  return s;
}

static const char *cell(struct grid *g, const struct tsr_query *q, int i) {
  if (tsr_query_is_null(q, i)) return "-";
  double v = tsr_query_double(q, i);
  switch (g->h[i].cell) {
  case TSRI_F1: return tsr_arena_printf(g->arena, "%.1f", v);
  case TSRI_F3: return tsr_arena_printf(g->arena, "%.3f", v);
  case TSRI_G3: return tsr_arena_printf(g->arena, "%.3g", v);
  case TSRI_NAME:
  case TSRI_LEFT:
  case TSRI_RIGHT: break;
  }
  return tsr_arena_strdup(g->arena, tsr_query_text(q, i));
}

static bool add(struct grid *g, const char *text) {
  if (!text || !tsr_mem_grow((void **)&g->cells, &g->cap, g->n + 1, sizeof *g->cells))
    return false;
  size_t *w = &g->widths[g->n % g->columns];
  *w = tsr_max_u64(*w, width(text));
  g->cells[g->n++] = text;
  return true;
}

static enum tsr_status collect(struct grid *g, struct tsr_query *q, struct tsr_err *err) {
  for (size_t i = 0; i < g->columns; i++)
    if (!add(g, g->h[i].text)) return tsr_err_nomem(err);
  enum tsr_status status;
  bool row = false;
  while ((status = tsr_query_step(q, &row, err)) == TSR_OK && row)
    for (size_t i = 0; i < g->columns; i++)
      if (!add(g, cell(g, q, (int)i))) return tsr_err_nomem(err);
  return status;
}

/* The widest column of a kind that can still give, or NULL. */
static size_t *widest(struct grid *g, enum tsri_cell kind) {
  size_t *w = NULL;
  for (size_t i = 0; i < g->columns; i++)
    if (g->h[i].cell == kind && g->widths[i] > TEXT_MIN && (!w || g->widths[i] > *w))
      w = &g->widths[i];
  return w;
}

/* Takes from the names, then from other texts, until a line fits. */
static void fit(struct grid *g) {
  size_t line = GAP * (g->columns - 1);
  for (size_t i = 0; i < g->columns; i++) line += g->widths[i];
  for (; line > LINE_MAX_COLUMNS; line--) {
    size_t *w = widest(g, TSRI_NAME);
    if (!w) w = widest(g, TSRI_LEFT);
    if (!w) return;
    --*w;
  }
}

static bool left(enum tsri_cell kind) {
  return kind == TSRI_NAME || kind == TSRI_LEFT;
}

/* A text that is too wide loses its middle: both ends of a name tell more. */
static void put_text(struct tsr_str *s, const char *text, size_t w) {
  size_t n = width(text);
  if (n <= w) {
    tsr_str_add(s, text);
    return;
  }
  size_t head = (w - 2) / 2, tail = w - 2 - head;
  tsr_str_addn(s, text, (size_t)(after(text, head) - text));
  tsr_str_add(s, "..");
  tsr_str_add(s, after(text, n - tail));
}

static void pad(struct tsr_str *s, size_t n) {
  while (n--) tsr_str_add(s, " ");
}

static void put_row(struct tsr_str *s, const struct grid *g, size_t row) {
  for (size_t i = 0; i < g->columns; i++) {
    const char *text = g->cells[row * g->columns + i];
    size_t n = tsr_min_u64(width(text), g->widths[i]);
    if (i) pad(s, GAP);
    if (!left(g->h[i].cell)) pad(s, g->widths[i] - n);
    put_text(s, text, g->widths[i]);
    if (left(g->h[i].cell) && i + 1 < g->columns) pad(s, g->widths[i] - n);
  }
  tsr_str_add(s, "\n");
}

enum tsr_status tsri_table_text(struct tsr_query *q, const struct tsri_heading *h,
                                struct tsr_str *s, struct tsr_err *err) {
  struct grid g = {
      .arena = tsr_arena_create(), .h = h, .columns = (size_t)tsr_query_columns(q)};
  if (!g.arena) return tsr_err_nomem(err);
  g.widths = tsr_arena_array(g.arena, g.columns, sizeof *g.widths);
  enum tsr_status status = g.widths ? collect(&g, q, err) : tsr_err_nomem(err);
  if (status == TSR_OK) {
    fit(&g);
    for (size_t row = 0; row < g.n / g.columns; row++) put_row(s, &g, row);
  }
  tsr_mem_free(g.cells);
  tsr_arena_destroy(g.arena);
  return status;
}

static void csv_field(struct tsr_str *s, const char *text) {
  if (!strpbrk(text, ",\"\r\n")) {
    tsr_str_add(s, text);
    return;
  }
  tsr_str_add(s, "\"");
  for (; *text; text++) tsr_str_addn(s, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
  tsr_str_add(s, "\"");
}

static void csv_value(struct tsr_str *s, const struct tsr_query *q, int i) {
  if (tsr_query_is_null(q, i)) return;
  if (tsr_query_is_real(q, i))
    tsri_real(s, tsr_query_double(q, i));
  else
    csv_field(s, tsr_query_text(q, i));
}

enum tsr_status tsri_table_csv(struct tsr_query *q, struct tsr_str *s, struct tsr_err *err) {
  int columns = tsr_query_columns(q);
  for (int i = 0; i < columns; i++) {
    if (i) tsr_str_add(s, ",");
    csv_field(s, tsr_query_column_name(q, i));
  }
  tsr_str_add(s, "\n");
  enum tsr_status status;
  bool row = false;
  while ((status = tsr_query_step(q, &row, err)) == TSR_OK && row) {
    for (int i = 0; i < columns; i++) {
      if (i) tsr_str_add(s, ",");
      csv_value(s, q, i);
    }
    tsr_str_add(s, "\n");
  }
  return status;
}
