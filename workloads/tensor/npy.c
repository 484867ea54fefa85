/* .npy: magic, version, a header that is a Python dictionary, the elements. */
#include "workloads/tensor/npy.h"

#include <string.h>

#include "sim/base/io.h"
#include "sim/base/str.h"
#include "workloads/tensor/file_int.h"

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6, HEAD_1 = 10, HEAD_2 = 12, HEADER_MAX = 1 << 20, ALIGN = 64 };

/* SRC:npy, the letters and widths of `descr`. */
static const struct descr {
  const char *word;
  enum tsr_dtype type;
  unsigned bytes;
} descrs[] = {
    {"f2", TSR_DTYPE_F16, 2}, {"f4", TSR_DTYPE_F32, 4}, {"f8", TSR_DTYPE_F64, 8},
    {"i1", TSR_DTYPE_I8, 1},  {"i2", TSR_DTYPE_I16, 2}, {"i4", TSR_DTYPE_I32, 4},
    {"i8", TSR_DTYPE_I64, 8}, {"u1", TSR_DTYPE_U8, 1},  {"u2", TSR_DTYPE_U16, 2},
    {"u4", TSR_DTYPE_U32, 4}, {"u8", TSR_DTYPE_U64, 8}, {"b1", TSR_DTYPE_BOOL, 1},
};

/* The header while it is read. */
struct header {
  struct tsr_src src; /* the dictionary's text */
  size_t at;
  struct tsr_err *err;
  bool descr, order, shape; /* seen */
  struct tsri_elems elems;
  bool fortran;
  unsigned rank;
  uint64_t dim[TSR_RANK_MAX];
};

static enum tsr_status wrong(struct header *h, size_t at, size_t width, const char *expected) {
  struct tsr_pos pos = {&h->src, 1, (uint32_t)at + 1, (uint32_t)(width ? width : 1)};
  for (size_t i = 0; i < at && i < h->src.len; i++)
    if (h->src.text[i] == '\n') {
      pos.line++;
      pos.col = (uint32_t)(at - i);
    }
  if (at >= h->src.len)
    return tsr_err_at(h->err, TSR_INPUT, &pos, "header of a .npy file ends; expected %s",
                      expected);
  size_t shown = tsr_min_u64(width ? width : 1, 40);
  return tsr_err_at(h->err, TSR_INPUT, &pos, "header of a .npy file; expected %s, got '%.*s'",
                    expected, (int)shown, h->src.text + at);
}

static void skip_blanks(struct header *h) {
  while (h->at < h->src.len && strchr(" \t\n", h->src.text[h->at]) && h->src.text[h->at])
    h->at++;
}

/* Takes the character when it is the next one. */
static bool take(struct header *h, char c) {
  skip_blanks(h);
  if (h->at >= h->src.len || h->src.text[h->at] != c) return false;
  h->at++;
  return true;
}

static enum tsr_status need(struct header *h, char c, const char *expected) {
  return take(h, c) ? TSR_OK : wrong(h, h->at, 1, expected);
}

struct word {
  const char *p;
  size_t n, at;
};

static bool word_is(const struct word *w, const char *text) {
  return w->n == strlen(text) && memcmp(w->p, text, w->n) == 0;
}

/* A Python string without escapes. */
static enum tsr_status take_string(struct header *h, const char *expected, struct word *out) {
  skip_blanks(h);
  size_t from = h->at;
  char quote = from < h->src.len ? h->src.text[from] : '\0';
  if (quote != '\'' && quote != '"') return wrong(h, from, 1, expected);
  size_t end = from + 1;
  while (end < h->src.len && h->src.text[end] != quote && h->src.text[end] != '\\') end++;
  if (end >= h->src.len || h->src.text[end] != quote)
    return wrong(h, end, 1, "a string's end, without escapes");
  *out = (struct word){h->src.text + from + 1, end - from - 1, from + 1};
  h->at = end + 1;
  return TSR_OK;
}

static enum tsr_status read_descr(struct header *h) {
  static const char expected[] =
      "a number type: f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 behind '<', '>' or '|'";
  struct word w;
  enum tsr_status st = take_string(h, expected, &w);
  if (st) return st;
  char order = w.n ? w.p[0] : '\0';
  struct word rest = {w.p + 1, w.n ? w.n - 1 : 0, w.at + 1};
  for (size_t i = 0; i < sizeof descrs / sizeof descrs[0]; i++) {
    const struct descr *d = &descrs[i];
    if (!word_is(&rest, d->word)) continue;
    bool known = order == '<' || order == '>' || (order == '|' && d->bytes == 1);
    if (!known) break;
    h->elems = (struct tsri_elems){.type = d->type, .bytes = d->bytes, .swap = order == '>'};
    return TSR_OK;
  }
  return wrong(h, w.at, w.n, expected);
}

static enum tsr_status read_order(struct header *h) {
  static const struct {
    const char *word;
    bool value;
  } words[] = {{"True", true}, {"False", false}};
  skip_blanks(h);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    size_t n = strlen(words[i].word);
    if (h->src.len - h->at < n || memcmp(h->src.text + h->at, words[i].word, n)) continue;
    h->fortran = words[i].value;
    h->at += n;
    return TSR_OK;
  }
  return wrong(h, h->at, 1, "True or False");
}

static enum tsr_status read_size(struct header *h, uint64_t *out) {
  skip_blanks(h);
  size_t from = h->at;
  uint64_t v = 0;
  while (h->at < h->src.len && h->src.text[h->at] >= '0' && h->src.text[h->at] <= '9') {
    uint64_t digit = (uint64_t)(h->src.text[h->at++] - '0');
    if (!tsr_mul_u64(v, 10, &v) || !tsr_add_u64(v, digit, &v))
      return wrong(h, from, h->at - from, "a size below 2^64");
  }
  if (h->at == from) return wrong(h, from, 1, "a size");
  *out = v;
  return TSR_OK;
}

/* () (3,) (3, 4) (3, 4,) */
static enum tsr_status read_shape(struct header *h) {
  enum tsr_status st = need(h, '(', "a shape such as (3, 4)");
  bool comma = true; /* a size may follow */
  for (h->rank = 0; !st && !take(h, ')');) {
    if (!comma) return wrong(h, h->at, 1, "',' or ')'");
    if (h->rank == TSR_RANK_MAX) return wrong(h, h->at, 1, "at most 8 dimensions");
    st = read_size(h, &h->dim[h->rank]);
    if (st) return st;
    h->rank++;
    comma = take(h, ',');
  }
  if (!st && h->rank == 1 && !comma) return wrong(h, h->at - 1, 1, "',' behind the only size");
  return st;
}

static enum tsr_status read_pair(struct header *h) {
  const struct {
    const char *key;
    bool *seen;
    enum tsr_status (*read)(struct header *h);
  } keys[] = {{"descr", &h->descr, read_descr},
              {"fortran_order", &h->order, read_order},
              {"shape", &h->shape, read_shape}};
  static const char expected[] = "the keys 'descr', 'fortran_order' and 'shape', each once";
  struct word w;
  enum tsr_status st = take_string(h, expected, &w);
  for (size_t i = 0; i < sizeof keys / sizeof keys[0] && !st; i++) {
    if (!word_is(&w, keys[i].key)) continue;
    if (*keys[i].seen) break;
    *keys[i].seen = true;
    st = need(h, ':', "':' behind a key");
    return st ? st : keys[i].read(h);
  }
  return st ? st : wrong(h, w.at, w.n, expected);
}

static enum tsr_status read_header(struct header *h) {
  enum tsr_status st = need(h, '{', "'{'");
  bool comma = true;
  while (!st && !take(h, '}')) {
    if (!comma) return wrong(h, h->at, 1, "',' or '}'");
    st = read_pair(h);
    if (!st) comma = take(h, ',');
  }
  if (st) return st;
  if (!h->descr || !h->order || !h->shape)
    return wrong(h, h->at - 1, 1, "the keys 'descr', 'fortran_order' and 'shape'");
  skip_blanks(h);
  return h->at == h->src.len ? TSR_OK : wrong(h, h->at, 1, "nothing but blanks behind '}'");
}

static uint32_t little(const uint8_t *p, unsigned n) {
  uint32_t v = 0;
  for (unsigned i = 0; i < n; i++) v |= (uint32_t)p[i] << (8 * i);
  return v;
}

/* Where the header's text and the elements begin. */
struct places {
  uint64_t text, data;
};

static enum tsr_status find_header(const struct tsri_source *s, struct places *p,
                                   struct tsr_err *err) {
  uint8_t head[HEAD_2] = {0};
  size_t n = (size_t)tsr_min_u64(s->size, sizeof head);
  enum tsr_status st = tsri_source_read(s, 0, head, n, err);
  if (st) return st;
  if (n < HEAD_1 || memcmp(head, magic, MAGIC_BYTES) != 0)
    return tsr_err_set(err, TSR_INPUT,
                       "'%s' is no .npy file; expected it to begin with \\x93NUMPY", s->path);
  unsigned major = head[6], minor = head[7];
  if (major < 1 || major > 3 || minor != 0)
    return tsr_err_set(err, TSR_INPUT,
                       "version of '%s'; expected .npy 1.0, 2.0 or 3.0, got '%u.%u'", s->path,
                       major, minor);
  p->text = major == 1 ? HEAD_1 : HEAD_2;
  if (s->size < p->text)
    return tsr_err_set(err, TSR_INPUT, "'%s' ends inside its first %d bytes", s->path, HEAD_2);
  uint32_t len = little(head + 8, major == 1 ? 2 : 4);
  if (len > HEADER_MAX || len > s->size - p->text)
    return tsr_err_set(
        err, TSR_INPUT, "header of '%s' is too long; expected at most %llu bytes, got %u",
        s->path, (unsigned long long)tsr_min_u64(HEADER_MAX, s->size - p->text), len);
  p->data = p->text + len;
  return TSR_OK;
}

/* The elements that the header names fill the rest of the file. */
static enum tsr_status check_size(const struct tsri_source *s, const struct header *h,
                                  uint64_t data, uint64_t *n, struct tsr_err *err) {
  char shape[TSRI_SHAPE_TEXT];
  if (!tsr_array_count(h->rank, h->dim, n))
    return tsr_err_set(err, TSR_INPUT, "shape of '%s'; expected at most 2^40 elements, got %s",
                       s->path, tsri_shape_text(h->rank, h->dim, shape));
  uint64_t want = *n * h->elems.bytes; /* below 2^43 */
  if (want == s->size - data) return TSR_OK;
  return tsr_err_set(err, TSR_INPUT,
                     "data of '%s'; expected %llu bytes for %s elements of %u bytes, got %llu",
                     s->path, (unsigned long long)want, tsri_shape_text(h->rank, h->dim, shape),
                     h->elems.bytes, (unsigned long long)(s->size - data));
}

enum { TURN_ELEMS = 4096 };

/* Fortran order: the first dimension runs fastest in the file. */
static enum tsr_status read_turned(const struct tsri_source *s, const struct header *h,
                                   uint64_t data, struct tsr_array *a, struct tsr_err *err) {
  uint64_t at[TSR_RANK_MAX] = {0}, step[TSR_RANK_MAX], to = 0;
  uint8_t *chunk = tsr_mem_array(TURN_ELEMS, h->elems.bytes);
  if (!chunk) return tsr_err_nomem(err);
  for (unsigned d = h->rank; d-- > 0;)
    step[d] = d + 1 == h->rank ? 1 : step[d + 1] * h->dim[d + 1];
  enum tsr_status st = TSR_OK;
  for (uint64_t i = 0; i < a->n && !st; i++) {
    uint64_t in = i % TURN_ELEMS;
    if (in == 0)
      st = tsri_source_read(s, data + i * h->elems.bytes, chunk,
                            (size_t)tsr_min_u64(a->n - i, TURN_ELEMS) * h->elems.bytes, err);
    if (!st) tsri_elems_load(&h->elems, chunk + in * h->elems.bytes, a, to);
    for (unsigned d = 0; d < h->rank; d++) {
      to += step[d];
      if (++at[d] < h->dim[d]) break;
      to -= step[d] * at[d];
      at[d] = 0;
    }
  }
  tsr_mem_free(chunk);
  return st;
}

static enum tsr_status read_array(const struct tsri_source *s, const struct header *h,
                                  uint64_t data, struct tsr_arena *arena,
                                  struct tsr_array **out, struct tsr_err *err) {
  uint64_t n;
  struct tsr_array *a;
  enum tsr_status st = check_size(s, h, data, &n, err);
  if (!st) st = tsr_array_create(arena, h->elems.type, h->rank, h->dim, &a, err);
  if (st) return st;
  st = h->fortran && h->rank > 1 ? read_turned(s, h, data, a, err)
                                 : tsri_elems_read(s, data, &h->elems, 0, n, a, 0, err);
  if (!st)
    *out = a;
  else if (!arena)
    tsr_array_destroy(a);
  return st;
}

static enum tsr_status read_source(const struct tsri_source *s, struct tsr_arena *arena,
                                   struct tsr_array **out, struct tsr_err *err) {
  struct places p = {0};
  enum tsr_status st = find_header(s, &p, err);
  if (st) return st;
  size_t len = (size_t)(p.data - p.text);
  char *text = tsr_mem_alloc(len + 1);
  if (!text) return tsr_err_nomem(err);
  struct header h = {.src = {s->path, text, len}, .err = err};
  st = tsri_source_read(s, p.text, text, len, err);
  if (!st) st = read_header(&h);
  if (!st) st = read_array(s, &h, p.data, arena, out, err);
  tsr_mem_free(text);
  return st;
}

enum tsr_status tsr_npy_read(const char *path, struct tsr_arena *arena, struct tsr_array **out,
                             struct tsr_err *err) {
  struct tsri_source s;
  enum tsr_status st = tsri_source_open(&s, path, err);
  if (st) return st;
  st = read_source(&s, arena, out, err);
  tsri_source_close(&s);
  return st;
}

enum tsr_status tsr_npy_parse(const char *path, const void *data, size_t n,
                              struct tsr_arena *arena, struct tsr_array **out,
                              struct tsr_err *err) {
  struct tsri_source s;
  tsri_source_memory(&s, path, data, n);
  return read_source(&s, arena, out, err);
}

/* ---- writing ---- */

static const struct descr *descr_of(enum tsr_dtype type) {
  if (type == TSR_DTYPE_BF16) type = TSR_DTYPE_F32;
  for (size_t i = 0; i < sizeof descrs / sizeof descrs[0]; i++)
    if (descrs[i].type == type) return &descrs[i];
  return NULL;
}

static void write_header(struct tsr_str *s, const struct tsr_array *a, const struct descr *d) {
  struct tsr_str h = TSR_STR_INIT;
  tsr_str_addf(&h, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
               d->bytes == 1 ? '|' : '<', d->word);
  for (unsigned i = 0; i < a->rank; i++)
    tsr_str_addf(&h, "%s%llu", i ? ", " : "", (unsigned long long)a->dim[i]);
  tsr_str_add(&h, a->rank == 1 ? ",), }" : "), }");
  size_t whole = (HEAD_1 + h.n + 1 + ALIGN - 1) / ALIGN * ALIGN;
  while (!h.failed && HEAD_1 + h.n + 1 < whole) tsr_str_add(&h, " ");
  tsr_str_add(&h, "\n");
  const char head[4] = {1, 0, (char)(h.n & 0xff), (char)(h.n >> 8)};
  tsr_str_addn(s, magic, MAGIC_BYTES);
  tsr_str_addn(s, head, sizeof head);
  if (h.failed)
    s->failed = true;
  else
    tsr_str_addn(s, h.p, h.n);
  tsr_str_fini(&h);
}

enum tsr_status tsr_npy_write(const char *path, const struct tsr_array *a,
                              struct tsr_err *err) {
  const struct descr *d = descr_of(a->type);
  TSR_CHECK(d != NULL);
  struct tsr_str head = TSR_STR_INIT;
  write_header(&head, a, d);
  size_t n = head.n + (size_t)a->n * d->bytes;
  uint8_t *whole = head.failed ? NULL : tsr_mem_alloc(n);
  enum tsr_status st = whole ? TSR_OK : tsr_err_nomem(err);
  if (whole) {
    memcpy(whole, head.p, head.n);
    tsri_elems_store(a, d->type, whole + head.n);
    st = tsr_io_write(path, whole, n, err);
  }
  tsr_mem_free(whole);
  tsr_str_fini(&head);
  return st;
}
