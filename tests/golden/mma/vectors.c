#include "tests/golden/mma/vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(const char *path) {
  FILE *in = fopen(path, "rb");
  if (!in) return NULL;
  size_t n = 0, cap = 1 << 20;
  char *text = malloc(cap + 1);
  while (text && !feof(in) && !ferror(in)) {
    n += fread(text + n, 1, cap - n, in);
    if (n < cap) continue;
    char *more = realloc(text, 2 * cap + 1);
    if (!more) break;
    text = more;
    cap *= 2;
  }
  if (text) text[n] = 0;
  bool whole = feof(in) && !ferror(in);
  fclose(in);
  if (whole) return text;
  free(text);
  return NULL;
}

bool vec_word(const struct vec_file *f, const char *key, char *out, size_t size) {
  const char *at = f->header;
  while ((at = strstr(at, key)) && at != f->header && at[-1] != ' ') at++;
  if (!at) return false;
  at += strlen(key);
  size_t n = strcspn(at, " \n;:");
  if (n >= size) return false;
  memcpy(out, at, n);
  out[n] = 0;
  return true;
}

static bool shape(const struct vec_file *f, const char *key, size_t *out) {
  char word[16];
  if (!vec_word(f, key, word, sizeof word)) return false;
  *out = strtoul(word, NULL, 10);
  return *out > 0;
}

bool vec_open(struct vec_file *f, const char *path) {
  memset(f, 0, sizeof *f);
  f->text = read_all(path);
  if (!f->text) return false;
  char *first = strstr(f->text, "\ntile ");
  if (first) {
    f->header = strndup(f->text, (size_t)(first - f->text) + 1);
    f->next = first + 1;
    if (f->header && shape(f, "M=", &f->m) && shape(f, "N=", &f->n) && shape(f, "K=", &f->k))
      return true;
  }
  vec_close(f);
  return false;
}

void vec_close(struct vec_file *f) {
  free(f->text);
  free(f->header);
  f->text = f->header = NULL;
}

/* D and D1 are the same row: the results of the mode that is listed first. */
static int row_of(const char *line, size_t len) {
  static const char *const names[][2] = {
      {"A", "A"}, {"B", "B"}, {"C", "C"}, {"D", "D1"}, {"X", "X"}};
  for (int i = 0; i < VEC_ROWS; i++)
    for (int j = 0; j < 2; j++)
      if (strlen(names[i][j]) == len && strncmp(line, names[i][j], len) == 0) return i;
  return -1;
}

bool vec_next(struct vec_file *f, struct vec_tile *t) {
  memset(t->count, 0, sizeof t->count);
  if (strncmp(f->next, "tile ", 5) != 0) return false;
  f->next += strcspn(f->next, "\n");
  while (*f->next == '\n' && strncmp(f->next + 1, "tile ", 5) != 0) {
    char *line = f->next + 1, *end = line + strcspn(line, "\n");
    size_t len = strcspn(line, " \n");
    int row = row_of(line, len);
    char *p = line + len;
    while (row >= 0 && p < end && t->count[row] < VEC_MAX) {
      char *stop;
      uint64_t v = strtoull(p, &stop, 16);
      if (stop == p || stop > end) break;
      t->row[row][t->count[row]++] = v;
      p = stop;
    }
    f->next = end;
  }
  if (*f->next == '\n') f->next++;
  return true;
}
