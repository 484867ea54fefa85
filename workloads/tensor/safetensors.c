/* Safetensors: eight bytes of length, a JSON object, the tensors' bytes. */
#include "workloads/tensor/safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "models/arith/format.h"
#include "sim/base/io.h"
#include "sim/base/str.h"
#include "workloads/tensor/file_int.h"

enum { LENGTH_BYTES = 8, ALIGN = 8 };
#define HEADER_MAX 100000000u /* SRC:safetensors */

/* SRC:safetensors, its dtypes. */
static const struct dtype {
  const char *word;
  enum tsr_dtype type;
  unsigned bytes;
  const char *format; /* where tsr_dtype lacks it */
} dtypes[] = {
    {"F64", TSR_DTYPE_F64, 8, NULL},
    {"I64", TSR_DTYPE_I64, 8, NULL},
    {"U64", TSR_DTYPE_U64, 8, NULL},
    {"F32", TSR_DTYPE_F32, 4, NULL},
    {"I32", TSR_DTYPE_I32, 4, NULL},
    {"U32", TSR_DTYPE_U32, 4, NULL},
    {"F16", TSR_DTYPE_F16, 2, NULL},
    {"BF16", TSR_DTYPE_BF16, 2, NULL},
    {"I16", TSR_DTYPE_I16, 2, NULL},
    {"U16", TSR_DTYPE_U16, 2, NULL},
    {"I8", TSR_DTYPE_I8, 1, NULL},
    {"U8", TSR_DTYPE_U8, 1, NULL},
    {"BOOL", TSR_DTYPE_BOOL, 1, NULL},
    {"F8_E4M3", TSR_DTYPE_F32, 1, "fp8_e4m3"},
    {"F8_E5M2", TSR_DTYPE_F32, 1, "fp8_e5m2"},
};

struct tensor {
  struct tsr_safetensors_info info;
  const struct dtype *dtype;
  uint64_t begin, end; /* bytes, from the end of the header */
};

struct tsr_safetensors {
  struct tsr_arena *arena; /* names */
  struct tsri_source src;
  uint64_t data; /* where the tensors begin */
  size_t n;
  struct tensor *t;
  size_t *sorted; /* by name */
};

static enum tsr_status bad(const struct tsr_safetensors *s, struct tsr_err *err,
                           const char *name, const char *expected) {
  return tsr_err_set(err, TSR_INPUT, "tensor '%s' of '%s'; expected %s", name, s->src.path,
                     expected);
}

/* ---- the header ---- */

static enum tsr_status header_length(struct tsr_safetensors *s, uint64_t *out,
                                     struct tsr_err *err) {
  uint8_t head[LENGTH_BYTES + 1];
  const struct tsri_source *src = &s->src;
  if (src->size < sizeof head)
    return tsr_err_set(err, TSR_INPUT,
                       "'%s' is no safetensors file; expected 8 bytes of length and a JSON "
                       "header, got %llu bytes",
                       src->path, (unsigned long long)src->size);
  enum tsr_status st = tsri_source_read(src, 0, head, sizeof head, err);
  if (st) return st;
  uint64_t len = 0;
  for (unsigned i = 0; i < LENGTH_BYTES; i++) len |= (uint64_t)head[i] << (8 * i);
  uint64_t most = tsr_min_u64(HEADER_MAX, src->size - LENGTH_BYTES);
  if (len < 2 || len > most || head[LENGTH_BYTES] != '{')
    return tsr_err_set(err, TSR_INPUT,
                       "'%s' is no safetensors file; expected the length of a JSON header of 2 "
                       "to %llu bytes and then '{', got %llu",
                       src->path, (unsigned long long)most, (unsigned long long)len);
  *out = len;
  return TSR_OK;
}

static enum tsr_status syntax(const char *path, const char *text, size_t len,
                              const json_error_t *e, struct tsr_err *err) {
  struct tsr_src src = {path, text, len};
  struct tsr_pos pos = {&src, e->line > 0 ? (uint32_t)e->line : 1,
                        e->column > 0 ? (uint32_t)e->column : 1, 1};
  if (json_error_code(e) == json_error_out_of_memory) return tsr_err_nomem(err);
  return tsr_err_at(err, TSR_INPUT, &pos, "header of a safetensors file: %s", e->text);
}

static enum tsr_status load_header(struct tsr_safetensors *s, uint64_t len, json_t **out,
                                   struct tsr_err *err) {
  char *text = tsr_mem_alloc((size_t)len + 1);
  if (!text) return tsr_err_nomem(err);
  enum tsr_status st = tsri_source_read(&s->src, LENGTH_BYTES, text, (size_t)len, err);
  if (!st) {
    json_error_t e;
    json_t *root = json_loadb(text, (size_t)len, JSON_REJECT_DUPLICATES, &e);
    if (!root)
      st = syntax(s->src.path, text, (size_t)len, &e, err);
    else
      *out = root; /* an object: it begins with '{' */
  }
  tsr_mem_free(text);
  return st;
}

static const struct dtype *dtype_find(const char *word) {
  for (size_t i = 0; word && i < sizeof dtypes / sizeof dtypes[0]; i++)
    if (strcmp(dtypes[i].word, word) == 0) return &dtypes[i];
  return NULL;
}

static enum tsr_status read_shape(const struct tsr_safetensors *s, struct tensor *t,
                                  const json_t *shape, struct tsr_err *err) {
  if (!json_is_array(shape) || json_array_size(shape) > TSR_RANK_MAX)
    return bad(s, err, t->info.name, "a shape of at most 8 sizes");
  t->info.rank = (unsigned)json_array_size(shape);
  for (unsigned d = 0; d < t->info.rank; d++) {
    const json_t *size = json_array_get(shape, d);
    if (!json_is_integer(size) || json_integer_value(size) < 0)
      return bad(s, err, t->info.name, "sizes of its shape of 0 or more");
    t->info.dim[d] = (uint64_t)json_integer_value(size);
  }
  if (!tsr_array_count(t->info.rank, t->info.dim, &t->info.n))
    return bad(s, err, t->info.name, "at most 2^40 elements");
  return TSR_OK;
}

static enum tsr_status read_offsets(const struct tsr_safetensors *s, struct tensor *t,
                                    const json_t *offsets, struct tsr_err *err) {
  uint64_t v[2], data = s->src.size - s->data;
  bool good = json_is_array(offsets) && json_array_size(offsets) == 2;
  for (size_t i = 0; i < 2 && good; i++) {
    const json_t *o = json_array_get(offsets, i);
    good = json_is_integer(o) && json_integer_value(o) >= 0;
    if (good) v[i] = (uint64_t)json_integer_value(o);
  }
  if (!good || v[0] > v[1] || v[1] > data)
    return tsr_err_set(err, TSR_INPUT,
                       "tensor '%s' of '%s'; expected data_offsets [begin, end] within the "
                       "%llu bytes of data",
                       t->info.name, s->src.path, (unsigned long long)data);
  uint64_t want = t->info.n * t->dtype->bytes; /* below 2^43 */
  if (v[1] - v[0] != want)
    return tsr_err_set(err, TSR_INPUT,
                       "tensor '%s' of '%s'; expected %llu bytes for its shape and type, got "
                       "%llu",
                       t->info.name, s->src.path, (unsigned long long)want,
                       (unsigned long long)(v[1] - v[0]));
  t->begin = v[0];
  t->end = v[1];
  return TSR_OK;
}

static enum tsr_status read_tensor(struct tsr_safetensors *s, const char *name, const json_t *o,
                                   struct tsr_err *err) {
  struct tensor *t = &s->t[s->n];
  t->info.name = tsr_arena_strdup(s->arena, name);
  if (!t->info.name) return tsr_err_nomem(err);
  if (!json_is_object(o) || json_object_size(o) != 3)
    return bad(s, err, name, "an object of dtype, shape and data_offsets");
  t->dtype = dtype_find(json_string_value(json_object_get(o, "dtype")));
  if (!t->dtype)
    return bad(
        s, err, name,
        "a dtype of F64 F32 F16 BF16 F8_E4M3 F8_E5M2 I64 I32 I16 I8 U64 U32 U16 U8 BOOL");
  t->info.dtype = t->dtype->word;
  t->info.type = t->dtype->type;
  enum tsr_status st = read_shape(s, t, json_object_get(o, "shape"), err);
  if (!st) st = read_offsets(s, t, json_object_get(o, "data_offsets"), err);
  if (!st) s->n++;
  return st;
}

static enum tsr_status read_metadata(const struct tsr_safetensors *s, json_t *o,
                                     struct tsr_err *err) {
  const char *key;
  json_t *value;
  bool good = json_is_object(o);
  if (good) json_object_foreach(o, key, value) good = good && json_is_string(value);
  if (good) return TSR_OK;
  return tsr_err_set(err, TSR_INPUT, "__metadata__ of '%s'; expected an object of texts",
                     s->src.path);
}

/* ---- what lies where ---- */

static int by_place(const void *a, const void *b, void *arg) {
  const struct tensor *t = arg, *x = &t[*(const size_t *)a], *y = &t[*(const size_t *)b];
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}

static int by_name(const void *a, const void *b, void *arg) {
  const struct tensor *t = arg;
  return strcmp(t[*(const size_t *)a].info.name, t[*(const size_t *)b].info.name);
}

static enum tsr_status check_places(struct tsr_safetensors *s, struct tsr_err *err) {
  uint64_t at = 0, data = s->src.size - s->data;
  qsort_r(s->sorted, s->n, sizeof *s->sorted, by_place, s->t);
  for (size_t i = 0; i < s->n; i++) {
    const struct tensor *t = &s->t[s->sorted[i]];
    if (t->begin != at)
      return tsr_err_set(err, TSR_INPUT,
                         "tensor '%s' of '%s' %s; expected it to begin at byte %llu of the "
                         "data, got %llu",
                         t->info.name, s->src.path,
                         t->begin < at ? "overlaps another" : "leaves a hole",
                         (unsigned long long)at, (unsigned long long)t->begin);
    at = t->end;
  }
  if (at == data) return TSR_OK;
  return tsr_err_set(err, TSR_INPUT,
                     "data of '%s'; expected the %llu bytes of its tensors, got %llu",
                     s->src.path, (unsigned long long)at, (unsigned long long)data);
}

static enum tsr_status read_tensors(struct tsr_safetensors *s, json_t *root,
                                    struct tsr_err *err) {
  const char *name;
  json_t *value;
  enum tsr_status st = TSR_OK;
  size_t most = json_object_size(root);
  s->t = tsr_mem_array(most + 1, sizeof *s->t);
  s->sorted = tsr_mem_array(most + 1, sizeof *s->sorted);
  if (!s->t || !s->sorted) return tsr_err_nomem(err);
  json_object_foreach(root, name, value) {
    if (st) break;
    st = strcmp(name, "__metadata__") == 0 ? read_metadata(s, value, err)
                                           : read_tensor(s, name, value, err);
  }
  if (st) return st;
  for (size_t i = 0; i < s->n; i++) s->sorted[i] = i;
  st = check_places(s, err);
  qsort_r(s->sorted, s->n, sizeof *s->sorted, by_name, s->t);
  return st;
}

static enum tsr_status read_header(struct tsr_safetensors *s, struct tsr_err *err) {
  uint64_t len = 0;
  json_t *root = NULL;
  enum tsr_status st = header_length(s, &len, err);
  if (!st) st = load_header(s, len, &root, err);
  if (st) return st;
  s->data = LENGTH_BYTES + len;
  st = read_tensors(s, root, err);
  json_decref(root);
  return st;
}

/* Takes the source over, whatever comes of it. */
static enum tsr_status open_source(struct tsri_source *src, struct tsr_safetensors **out,
                                   struct tsr_err *err) {
  struct tsr_arena *arena = tsr_arena_create();
  struct tsr_safetensors *s = arena ? tsr_arena_alloc(arena, sizeof *s) : NULL;
  char *path = s ? tsr_arena_strdup(arena, src->path) : NULL;
  if (!path) {
    tsri_source_close(src);
    tsr_arena_destroy(arena);
    return tsr_err_nomem(err);
  }
  s->arena = arena;
  s->src = *src;
  s->src.path = path;
  enum tsr_status st = read_header(s, err);
  if (st)
    tsr_safetensors_close(s);
  else
    *out = s;
  return st;
}

enum tsr_status tsr_safetensors_open(const char *path, struct tsr_safetensors **out,
                                     struct tsr_err *err) {
  struct tsri_source src;
  enum tsr_status st = tsri_source_open(&src, path, err);
  return st ? st : open_source(&src, out, err);
}

enum tsr_status tsr_safetensors_parse(const char *path, const void *data, size_t n,
                                      struct tsr_safetensors **out, struct tsr_err *err) {
  struct tsri_source src;
  tsri_source_memory(&src, path, data, n);
  return open_source(&src, out, err);
}

void tsr_safetensors_close(struct tsr_safetensors *s) {
  if (!s) return;
  tsri_source_close(&s->src);
  tsr_mem_free(s->t);
  tsr_mem_free(s->sorted);
  tsr_arena_destroy(s->arena); /* s itself lives there */
}

size_t tsr_safetensors_count(const struct tsr_safetensors *s) {
  return s->n;
}

const struct tsr_safetensors_info *tsr_safetensors_at(const struct tsr_safetensors *s,
                                                      size_t i) {
  TSR_CHECK(i < s->n);
  return &s->t[i].info;
}

size_t tsr_safetensors_find(const struct tsr_safetensors *s, const char *name) {
  size_t low = 0, high = s->n;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    int order = strcmp(s->t[s->sorted[mid]].info.name, name);
    if (order == 0) return s->sorted[mid];
    if (order < 0)
      low = mid + 1;
    else
      high = mid;
  }
  return SIZE_MAX;
}

static enum tsr_status read_part(struct tsr_safetensors *s, const struct tensor *t,
                                 const uint64_t *dim, uint64_t from, struct tsr_arena *arena,
                                 struct tsr_array **out, struct tsr_err *err) {
  struct tsr_array *a;
  const struct dtype *d = t->dtype;
  const struct tsri_elems e = {.type = d->type,
                               .bytes = d->bytes,
                               .format = d->format ? tsr_format_find(d->format) : NULL};
  enum tsr_status st = tsr_array_create(arena, d->type, t->info.rank, dim, &a, err);
  if (st) return st;
  st = tsri_elems_read(&s->src, s->data + t->begin, &e, from, a->n, a, 0, err);
  if (!st)
    *out = a;
  else if (!arena)
    tsr_array_destroy(a);
  return st;
}

enum tsr_status tsr_safetensors_read(struct tsr_safetensors *s, size_t i,
                                     struct tsr_arena *arena, struct tsr_array **out,
                                     struct tsr_err *err) {
  TSR_CHECK(i < s->n);
  return read_part(s, &s->t[i], s->t[i].info.dim, 0, arena, out, err);
}

enum tsr_status tsr_safetensors_read_rows(struct tsr_safetensors *s, size_t i, uint64_t first,
                                          uint64_t n, struct tsr_arena *arena,
                                          struct tsr_array **out, struct tsr_err *err) {
  TSR_CHECK(i < s->n && s->t[i].info.rank > 0);
  const struct tensor *t = &s->t[i];
  uint64_t dim[TSR_RANK_MAX];
  TSR_CHECK(first <= t->info.dim[0] && n <= t->info.dim[0] - first);
  memcpy(dim, t->info.dim, sizeof dim);
  dim[0] = n;
  uint64_t row = t->info.dim[0] ? t->info.n / t->info.dim[0] : 0;
  return read_part(s, t, dim, first * row, arena, out, err);
}

/* ---- writing ---- */

/* NULL for types that the format lacks. */
static const struct dtype *dtype_of(enum tsr_dtype type) {
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
    if (dtypes[i].type == type && !dtypes[i].format) return &dtypes[i];
  return NULL;
}

static void write_entry(struct tsr_str *h, const struct tsr_safetensors_item *item,
                        const struct dtype *d, uint64_t at) {
  const struct tsr_array *a = item->array;
  if (h->n > 1) tsr_str_add(h, ",");
  tsr_str_add_json(h, item->name);
  tsr_str_addf(h, ":{\"dtype\":\"%s\",\"shape\":[", d->word);
  for (unsigned i = 0; i < a->rank; i++)
    tsr_str_addf(h, "%s%llu", i ? "," : "", (unsigned long long)a->dim[i]);
  tsr_str_addf(h, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)at,
               (unsigned long long)(at + a->n * d->bytes));
}

typedef void visit_fn(void *arg, const struct tsr_safetensors_item *item, const struct dtype *d,
                      uint64_t at);

/* The items in the order of the file; returns the bytes of all. */
static uint64_t visit_items(const struct tsr_safetensors_item *items, size_t n, visit_fn *fn,
                            void *arg) {
  uint64_t at = 0;
  for (unsigned bytes = 8; bytes > 0; bytes /= 2)
    for (size_t i = 0; i < n; i++) {
      const struct dtype *d = dtype_of(items[i].array->type);
      TSR_CHECK(d != NULL);
      if (d->bytes != bytes) continue;
      fn(arg, &items[i], d, at);
      at += items[i].array->n * d->bytes;
    }
  return at;
}

static void visit_header(void *arg, const struct tsr_safetensors_item *item,
                         const struct dtype *d, uint64_t at) {
  write_entry(arg, item, d, at);
}

static void visit_data(void *arg, const struct tsr_safetensors_item *item,
                       const struct dtype *d, uint64_t at) {
  uint8_t *data = arg;
  tsri_elems_store(item->array, d->type, data + at);
}

enum tsr_status tsr_safetensors_write(const char *path,
                                      const struct tsr_safetensors_item *items, size_t n,
                                      struct tsr_err *err) {
  struct tsr_str h = TSR_STR_INIT;
  tsr_str_add(&h, "{");
  uint64_t bytes = visit_items(items, n, visit_header, &h);
  tsr_str_add(&h, "}");
  while (!h.failed && h.n % ALIGN) tsr_str_add(&h, " ");
  size_t whole = LENGTH_BYTES + h.n + (size_t)bytes;
  uint8_t *file = h.failed ? NULL : tsr_mem_alloc(whole);
  enum tsr_status st = file ? TSR_OK : tsr_err_nomem(err);
  if (file) {
    for (unsigned i = 0; i < LENGTH_BYTES; i++) file[i] = (uint8_t)((uint64_t)h.n >> (8 * i));
    memcpy(file + LENGTH_BYTES, h.p, h.n);
    visit_items(items, n, visit_data, file + LENGTH_BYTES + h.n);
    st = tsr_io_write(path, file, whole, err);
  }
  tsr_mem_free(file);
  tsr_str_fini(&h);
  return st;
}
