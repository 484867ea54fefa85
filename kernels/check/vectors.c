/* Reader of vector files (kernels/check/vectors.h). */
#include "kernels/check/vectors.h"

#include <string.h>

#include "sim/base/io.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"

/* Enough for any tile worth a file; keeps sizes far from overflow. */
enum { SIDE_MAX = 1 << 16, ROW_MAX = 1 << 24 };

static const char *const row_names[TSR_VECTORS_ROWS] = {"A", "B",  "C",  "SA", "SB",
                                                        "D", "D2", "D3", "D4", "X"};

/* Names of the files and of the table differ. */
static const struct {
  const char *file, *table;
} aliases[] = {{"e4m3", "fp8_e4m3"},
               {"e5m2", "fp8_e5m2"},
               {"e4m3fnuz", "fp8_e4m3fnuz"},
               {"e5m2fnuz", "fp8_e5m2fnuz"},
               {"e3m2", "fp6_e3m2"},
               {"e2m3", "fp6_e2m3"},
               {"e2m1", "fp4_e2m1"},
               {"ue8m0", "e8m0"},
               {"s8", "int8"},
               {"u8", "uint8"},
               {"s32", "int32"},
               {"xf32", "tf32"}};

static const struct tsr_format *find_format(const char *name) {
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
    if (strcmp(aliases[i].file, name) == 0) name = aliases[i].table;
  return tsr_format_find(name);
}

static size_t line_len(const struct tsr_vectors *v) {
  const char *end = memchr(v->text + v->at, '\n', v->len - v->at);
  return end ? (size_t)(end - (v->text + v->at)) : v->len - v->at;
}

static void next_line(struct tsr_vectors *v) {
  v->at += line_len(v);
  if (v->at < v->len) v->at++;
  v->line++;
}

static struct tsr_pos place(const struct tsr_vectors *v, uint32_t line, size_t col,
                            size_t width) {
  return (struct tsr_pos){&v->src, line, (uint32_t)col + 1, (uint32_t)width};
}

static enum tsr_status header_error(const struct tsr_vectors *v, const char *key,
                                    const char *rule, const char *got, struct tsr_err *err) {
  struct tsr_pos pos = place(v, 1, 0, 1);
  return tsr_err_at(err, TSR_INPUT, &pos, "bad header key '%s'; expected %s, got '%s'", key,
                    rule, got);
}

/* The header is the `#` lines before the first tile. */
static const char *find_key(const struct tsr_vectors *v, const char *key) {
  size_t n = strlen(key);
  const char *line = v->text, *end = v->text + v->len;
  while (line < end && *line == '#') {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    if (!stop) stop = end;
    for (const char *p = line + 1; p + n < stop; p++)
      if ((p[-1] == ' ' || p[-1] == '#') && memcmp(p, key, n) == 0 && p[n] == '=')
        return p + n + 1;
    line = stop + (stop < end);
  }
  return NULL;
}

bool tsr_vectors_key(const struct tsr_vectors *v, const char *key, char *buf, size_t size) {
  const char *p = find_key(v, key), *end = v->text + v->len;
  if (!p) return false;
  size_t n = 0;
  while (p + n < end && !strchr(" \n\r;:,", p[n])) n++;
  if (n == 0 || n >= size) return false;
  memcpy(buf, p, n);
  buf[n] = 0;
  return true;
}

static enum tsr_status read_size(const struct tsr_vectors *v, const char *key, size_t *out,
                                 struct tsr_err *err) {
  char word[32] = "";
  size_t value = 0;
  tsr_vectors_key(v, key, word, sizeof word);
  for (const char *p = word; *p && value <= ROW_MAX; p++) {
    if (*p < '0' || *p > '9') return header_error(v, key, "a number", word, err);
    value = value * 10 + (size_t)(*p - '0');
  }
  if (value < 1 || value > SIDE_MAX)
    return header_error(v, key, "a number from 1 to 65536", word, err);
  *out = value;
  return TSR_OK;
}

static enum tsr_status read_format(const struct tsr_vectors *v, const char *key,
                                   const struct tsr_format **out, struct tsr_err *err) {
  char word[32] = "";
  tsr_vectors_key(v, key, word, sizeof word);
  *out = find_format(word);
  return *out ? TSR_OK : header_error(v, key, "a number format", word, err);
}

/* `… modes RNE RZ …`: the names that follow. */
static void read_modes(struct tsr_vectors *v) {
  const char *end = v->text + v->len, *p = v->text;
  while (p < end && *p == '#') {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    if (!stop) stop = end;
    const char *at = memmem(p, (size_t)(stop - p), "modes ", 6);
    for (at = at ? at + 6 : stop; at < stop && v->n_modes < TSR_VECTORS_MODES;) {
      size_t n = 0, mode = 0;
      while (at + n < stop && at[n] != ' ') n++;
      while (mode < TSR_ROUND_N_ && !(strlen(tsr_round_name((enum tsr_round)mode)) == n &&
                                      memcmp(tsr_round_name((enum tsr_round)mode), at, n) == 0))
        mode++;
      if (mode == TSR_ROUND_N_) break;
      v->modes[v->n_modes++] = (enum tsr_round)mode;
      at += n + (at + n < stop);
    }
    p = stop + (stop < end);
  }
}

static enum tsr_status read_formats(struct tsr_vectors *v, struct tsr_err *err) {
  char word[32];
  enum tsr_status st = read_format(v, "a", &v->a, err);
  if (!st) st = read_format(v, "b", &v->b, err);
  if (!st) st = read_format(v, "c", &v->c, err);
  v->d = v->c;
  if (!st && tsr_vectors_key(v, "d", word, sizeof word)) st = read_format(v, "d", &v->d, err);
  if (!st && tsr_vectors_key(v, "scale", word, sizeof word)) {
    st = read_format(v, "scale", &v->scale, err);
    if (!st) st = read_size(v, "scale_block", &v->scale_block, err);
    if (!st && v->k % v->scale_block)
      st = header_error(v, "scale_block", "a divisor of K", "another number", err);
  }
  return st;
}

/* Values a row must have; 0: it must not be there. */
static size_t row_size(const struct tsr_vectors *v, enum tsr_vectors_row row) {
  size_t out = v->n_modes ? v->n_modes : v->m * v->n;
  size_t blocks = v->scale ? v->k / v->scale_block : 0;
  switch (row) {
  case TSR_VECTORS_A: return v->m * v->k;
  case TSR_VECTORS_B: return v->k * v->n;
  case TSR_VECTORS_C: return v->m * v->n;
  case TSR_VECTORS_SA: return v->m * blocks;
  case TSR_VECTORS_SB: return v->n * blocks;
  case TSR_VECTORS_D: return out;
  case TSR_VECTORS_X: return v->m * v->n;
  default: return v->is_int ? out : 0;
  }
}

static const struct tsr_format *row_format(const struct tsr_vectors *v,
                                           enum tsr_vectors_row row) {
  switch (row) {
  case TSR_VECTORS_A: return v->a;
  case TSR_VECTORS_B: return v->b;
  case TSR_VECTORS_C: return v->c;
  case TSR_VECTORS_SA:
  case TSR_VECTORS_SB: return v->scale;
  case TSR_VECTORS_X: return tsr_format_find("uint8");
  default: return v->d;
  }
}

static enum tsr_status read_header(struct tsr_vectors *v, struct tsr_err *err) {
  enum tsr_status st = read_size(v, "M", &v->m, err);
  char word[32];
  if (!st) st = read_size(v, "N", &v->n, err);
  if (!st) st = read_size(v, "K", &v->k, err);
  if (!st && (v->m * v->k > ROW_MAX || v->n * v->k > ROW_MAX || v->m * v->n > ROW_MAX))
    st = header_error(v, "K", "tiles of at most 16777216 values", "a larger one", err);
  if (!st) st = read_formats(v, err);
  if (st) return st;
  v->is_int = v->a->is_int && v->b->is_int && v->d->is_int;
  v->nan_exact = tsr_vectors_key(v, "nan", word, sizeof word) && strcmp(word, "exact") == 0;
  read_modes(v);
  if (v->n_modes && v->m * v->n != 1)
    return header_error(v, "M", "1 where D lists modes", "more", err);
  for (int i = 0; i < TSR_VECTORS_ROWS; i++) {
    size_t n = row_size(v, (enum tsr_vectors_row)i);
    v->row[i] = tsr_mem_array(n, sizeof *v->row[i]);
    if (!v->row[i]) return tsr_err_nomem(err);
  }
  while (v->at < v->len && v->text[v->at] == '#') next_line(v);
  return TSR_OK;
}

/* `text` is transferred. */
static enum tsr_status open_owned(struct tsr_vectors *v, const char *path, char *text,
                                  size_t len, struct tsr_err *err) {
  memset(v, 0, sizeof *v);
  v->path = path;
  v->line = 1;
  v->text = text;
  v->len = len;
  v->src = (struct tsr_src){path, v->text, v->len};
  enum tsr_status st = read_header(v, err);
  if (st) tsr_vectors_close(v);
  return st;
}

enum tsr_status tsr_vectors_open(struct tsr_vectors *v, const char *path, struct tsr_err *err) {
  char *text;
  size_t len;
  enum tsr_status st = tsr_io_read(path, &text, &len, err);
  return st ? st : open_owned(v, path, text, len, err);
}

enum tsr_status tsr_vectors_open_text(struct tsr_vectors *v, const char *path, const char *text,
                                      size_t len, struct tsr_err *err) {
  char *copy = tsr_mem_alloc(len + 1);
  if (!copy) return tsr_err_nomem(err);
  if (len) memcpy(copy, text, len);
  return open_owned(v, path, copy, len, err);
}

void tsr_vectors_close(struct tsr_vectors *v) {
  for (int i = 0; i < TSR_VECTORS_ROWS; i++) tsr_mem_free(v->row[i]);
  tsr_mem_free(v->text);
  memset(v, 0, sizeof *v);
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One value at column `col` of the line; *width: what was looked at. */
static bool read_value(const char *p, const char *end, unsigned bits, uint64_t *out,
                       size_t *width) {
  uint64_t v = 0;
  bool good = p < end;
  size_t n = 0;
  for (; p + n < end && p[n] != ' ' && p[n] != '\r'; n++) {
    int digit = hex_digit(p[n]);
    good = good && digit >= 0 && v >> 60 == 0;
    v = v << 4 | (uint64_t)(digit & 15);
  }
  *width = n ? n : 1;
  *out = v;
  return good && (bits >= 64 || v >> bits == 0);
}

static enum tsr_status read_row(struct tsr_vectors *v, enum tsr_vectors_row row, size_t col,
                                size_t len, struct tsr_err *err) {
  const char *line = v->text + v->at, *end = line + len;
  const struct tsr_format *f = row_format(v, row);
  size_t want = row_size(v, row), width;
  struct tsr_pos pos = place(v, v->line, 0, col);
  if (v->count[row])
    return tsr_err_at(err, TSR_INPUT, &pos, "row %s twice in one tile", row_names[row]);
  if (want == 0)
    return tsr_err_at(err, TSR_INPUT, &pos, "row %s does not belong in this file",
                      row_names[row]);
  for (const char *p = line + col; p < end; p += width) {
    while (p < end && (*p == ' ' || *p == '\r')) p++;
    if (p == end) break;
    uint64_t value;
    bool good = read_value(p, end, f->bits, &value, &width);
    pos = place(v, v->line, (size_t)(p - line), width);
    if (!good)
      return tsr_err_at(err, TSR_INPUT, &pos,
                        "bad value; expected a hexadecimal code of at most %u bits, got '%.*s'",
                        (unsigned)f->bits, (int)(width < 40 ? width : 40), p);
    if (v->count[row] == want)
      return tsr_err_at(err, TSR_INPUT, &pos, "too many values; expected %zu in row %s", want,
                        row_names[row]);
    v->row[row][v->count[row]++] = value;
  }
  if (v->count[row] == want) return TSR_OK;
  pos = place(v, v->line, len, 1);
  return tsr_err_at(err, TSR_INPUT, &pos, "too few values; expected %zu in row %s, got '%zu'",
                    want, row_names[row], v->count[row]);
}

static enum tsr_status read_line(struct tsr_vectors *v, struct tsr_err *err) {
  const char *line = v->text + v->at;
  size_t len = line_len(v), n = 0;
  while (n < len && line[n] != ' ' && line[n] != '\r') n++;
  if (n == 0) return TSR_OK;
  if (n == 2 && memcmp(line, "D1", 2) == 0) return read_row(v, TSR_VECTORS_D, 2, len, err);
  for (int i = 0; i < TSR_VECTORS_ROWS; i++)
    if (strlen(row_names[i]) == n && memcmp(row_names[i], line, n) == 0)
      return read_row(v, (enum tsr_vectors_row)i, n, len, err);
  struct tsr_pos pos = place(v, v->line, 0, n);
  return tsr_err_at(err, TSR_INPUT, &pos,
                    "unknown row; expected tile, A, B, C, SA, SB, D, D1 to D4 or X, got '%.*s'",
                    (int)(n < 40 ? n : 40), line);
}

static bool at_tile(const struct tsr_vectors *v) {
  return v->len - v->at >= 5 && memcmp(v->text + v->at, "tile ", 5) == 0;
}

static enum tsr_status begin_tile(struct tsr_vectors *v, struct tsr_err *err) {
  const char *line = v->text + v->at;
  size_t len = line_len(v), n = 0;
  while (5 + n < len && line[5 + n] >= '0' && line[5 + n] <= '9') n++;
  v->tile_line = v->line;
  if (!at_tile(v) || n == 0 || n >= sizeof v->number) {
    struct tsr_pos pos = place(v, v->line, 0, len ? len : 1);
    return tsr_err_at(err, TSR_INPUT, &pos, "expected 'tile <number>', got '%.*s'",
                      (int)(len < 40 ? len : 40), line);
  }
  memcpy(v->number, line + 5, n);
  v->number[n] = 0;
  next_line(v);
  return TSR_OK;
}

static enum tsr_status end_tile(const struct tsr_vectors *v, struct tsr_err *err) {
  for (int i = 0; i < TSR_VECTORS_X; i++) {
    if (v->count[i] == row_size(v, (enum tsr_vectors_row)i)) continue;
    struct tsr_pos pos = place(v, v->tile_line, 0, 4);
    return tsr_err_at(err, TSR_INPUT, &pos, "tile without row %s", row_names[i]);
  }
  return TSR_OK;
}

enum tsr_status tsr_vectors_next(struct tsr_vectors *v, bool *more, struct tsr_err *err) {
  memset(v->count, 0, sizeof v->count);
  while (v->at < v->len && line_len(v) == 0) next_line(v);
  *more = v->at < v->len;
  if (!*more) return TSR_OK;
  enum tsr_status st = begin_tile(v, err);
  while (!st && v->at < v->len && !at_tile(v)) {
    st = read_line(v, err);
    next_line(v);
  }
  return st ? st : end_tile(v, err);
}
