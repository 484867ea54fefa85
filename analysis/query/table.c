/* Rows as aligned text and as CSV (SRC:rfc4180). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/query/query_int.h"
#include "sim/base/mem.h"

enum { LINE_MAX_COLUMNS = 100, GAP = 2 };

/* What gives room first, and down to which width. */
static const struct {
  enum tsri_cell cell;
  size_t least;
} gives[] = {{TSRI_NAME, 16}, {TSRI_NOTE, 24}, {TSRI_NAME, 12}, {TSRI_LEFT, 12},
             {TSRI_NOTE, 8},  {TSRI_NAME, 8},  {TSRI_LEFT, 8}};

/* A table in the making: cells row by row, row 0 the headings. */
struct grid {
  struct tsr_arena *arena;
  const struct tsri_heading *h;
  size_t columns, n, cap;
  const char **cells;
  size_t *widths; /* 0: the column is left out */
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
  char buf[TSR_QUERY_AMOUNT_MAX];
  switch (g->h[i].cell) {
  case TSRI_F1:
    if (v > 0 && v < 0.05) return "<0.1";
    return tsr_arena_printf(g->arena, "%.1f", v);
  case TSRI_F2: return tsr_arena_printf(g->arena, "%.2f", v);
  case TSRI_G6: return tsr_arena_printf(g->arena, "%.6g", v);
  case TSRI_G3: return tsr_arena_printf(g->arena, "%.3g", v);
  case TSRI_TIME: return tsr_arena_strdup(g->arena, tsr_query_amount(buf, v, 3, "s"));
  case TSRI_BYTES: return tsr_arena_strdup(g->arena, tsr_query_amount(buf, v, 3, "B"));
  case TSRI_NAME:
  case TSRI_NOTE:
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

static bool says_nothing(const struct grid *g, size_t column) {
  size_t i = g->columns + column;
  for (; i < g->n; i += g->columns)
    if (g->cells[i][0] && strcmp(g->cells[i], "-") != 0 && strcmp(g->cells[i], "0") != 0)
      return false;
  return i > g->columns + column; /* there are rows */
}

static void leave_out(struct grid *g) {
  TSR_CHECK(g->columns == 0 || g->widths);
  for (size_t i = 0; i < g->columns; i++)
    if (g->h[i].optional && says_nothing(g, i)) g->widths[i] = 0;
}

/* The widest column of a kind that can still give, or NULL. */
static size_t *widest(struct grid *g, enum tsri_cell kind, size_t least) {
  size_t *w = NULL;
  for (size_t i = 0; i < g->columns; i++)
    if (g->h[i].cell == kind && g->widths[i] > least && (!w || g->widths[i] > *w))
      w = &g->widths[i];
  return w;
}

/* Takes from the columns in the order of the table above until a line fits. */
static void fit(struct grid *g) {
  TSR_CHECK(g->columns == 0 || g->widths);
  size_t line = 0;
  for (size_t i = 0; i < g->columns; i++) line += g->widths[i] ? g->widths[i] + GAP : 0;
  for (size_t k = 0; k < sizeof gives / sizeof gives[0]; k++)
    for (size_t *w; line > LINE_MAX_COLUMNS + GAP; line--) {
      w = widest(g, gives[k].cell, gives[k].least);
      if (!w) break;
      --*w;
    }
}

static bool left(enum tsri_cell kind) {
  return kind == TSRI_NAME || kind == TSRI_NOTE || kind == TSRI_LEFT;
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
  size_t due = 0; /* blanks before the next text: none end a line */
  for (size_t i = 0; i < g->columns; i++) {
    if (!g->widths[i]) continue;
    const char *text = g->cells[row * g->columns + i];
    size_t n = tsr_min_u64(width(text), g->widths[i]), rest = g->widths[i] - n;
    bool is_left = left(g->h[i].cell);
    if (n) pad(s, due + (is_left ? 0 : rest));
    put_text(s, text, g->widths[i]);
    due = n ? GAP + (is_left ? rest : 0) : due + g->widths[i] + GAP;
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
    leave_out(&g);
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
