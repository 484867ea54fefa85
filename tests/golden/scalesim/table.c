#include "tests/golden/scalesim/table.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COL_M, COL_N, COL_K, COL_R, COL_C, COL_FLOW, COL_FIGURE, COLS, FIELDS_MAX = 48 };
static const char *const names[COLS] = {"M", "N", "K", "R", "C", "dataflow", "formula_cycles"};

/* Splits a line at its commas, in place; these files quote nothing. */
static size_t split(char *line, char *field[FIELDS_MAX]) {
  size_t n = 0;
  line[strcspn(line, "\r\n")] = '\0';
  for (char *at = line; at && n < FIELDS_MAX; n++) {
    field[n] = at;
    at = strchr(at, ',');
    if (at) *at++ = '\0';
  }
  return n;
}

/* Finds the columns; how many fields a row must have to hold them. */
static size_t columns(char **field, size_t n, size_t at[COLS], const char *path) {
  size_t needed = 0;
  for (int c = 0; c < COLS; c++) {
    size_t i = 0;
    while (i < n && strcmp(field[i], names[c]) != 0 &&
           !(c == COL_FIGURE && !strcmp(field[i], "scalesim_total_cycles")))
      i++;
    if (i == n) fail_msg("%s has no column '%s'", path, names[c]);
    at[c] = i;
    if (needed < i + 1) needed = i + 1;
  }
  return needed;
}

static uint64_t number(const char *text, const char *path) {
  char *end;
  errno = 0;
  unsigned long long v = strtoull(text, &end, 10);
  if (errno || end == text || *end) fail_msg("%s: '%s' is no number", path, text);
  return v;
}

static void append(struct golden_table *t, char **field, const size_t at[COLS],
                   const char *path) {
  if (t->n == t->cap) {
    t->cap = t->cap ? 2 * t->cap : 1024;
    t->row = realloc(t->row, t->cap * sizeof *t->row);
    assert_non_null(t->row);
  }
  struct golden_row *r = &t->row[t->n++];
  *r = (struct golden_row){.m = number(field[at[COL_M]], path),
                           .n = number(field[at[COL_N]], path),
                           .k = number(field[at[COL_K]], path),
                           .rows = number(field[at[COL_R]], path),
                           .cols = number(field[at[COL_C]], path),
                           .last_cycle = number(field[at[COL_FIGURE]], path)};
  snprintf(r->flow, sizeof r->flow, "%s", field[at[COL_FLOW]]);
}

void golden_table_read(struct golden_table *t, const char *path) {
  FILE *f = fopen(path, "r");
  if (!f) fail_msg("%s cannot be opened", path);
  char line[2048], *field[FIELDS_MAX];
  size_t at[COLS], needed = 0, before = t->n;
  while (fgets(line, sizeof line, f)) {
    if (*line == '#') continue;
    size_t n = split(line, field);
    if (!needed) {
      needed = columns(field, n, at, path);
      continue;
    }
    if (n < needed) fail_msg("%s: a row has %zu columns, not %zu", path, n, needed);
    append(t, field, at, path);
  }
  fclose(f);
  if (t->n == before) fail_msg("%s has no rows", path);
  t->read += t->n - before;
}

size_t golden_table_read_folder(struct golden_table *t, const char *folder,
                                const char *prefix) {
  DIR *d = opendir(folder);
  if (!d) fail_msg("%s cannot be opened", folder);
  size_t n = 0;
  for (const struct dirent *e; (e = readdir(d));) {
    size_t len = strlen(e->d_name);
    if (strncmp(e->d_name, prefix, strlen(prefix)) != 0 || len < 4 ||
        strcmp(e->d_name + len - 4, ".csv") != 0)
      continue;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    golden_table_read(t, path);
    n++;
  }
  closedir(d);
  return n;
}

static int order(const void *va, const void *vb) {
  const struct golden_row *a = va, *b = vb;
  int flow = strcmp(a->flow, b->flow);
  const uint64_t x[] = {a->rows, a->cols, a->m, a->n, a->k};
  const uint64_t y[] = {b->rows, b->cols, b->m, b->n, b->k};
  for (int i = 0; i < 5; i++) {
    if (i == 2 && flow) return flow;
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  }
  return 0;
}

void golden_table_sort(struct golden_table *t) {
  qsort(t->row, t->n, sizeof *t->row, order);
  size_t kept = 0;
  for (size_t i = 0; i < t->n; i++) {
    if (kept && order(&t->row[kept - 1], &t->row[i]) == 0) {
      assert_int_equal(t->row[kept - 1].last_cycle, t->row[i].last_cycle);
      continue;
    }
    t->row[kept++] = t->row[i];
  }
  t->n = kept;
}

void golden_table_fini(struct golden_table *t) {
  free(t->row);
  *t = (struct golden_table){0};
}
