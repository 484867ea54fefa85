/* IDX: two zeros, a type, the rank, big-endian sizes, the elements; gzip around it or not. */
#include "workloads/tensor/idx.h"

#include <limits.h>
#include <string.h>
#define ZLIB_CONST /* it reads only */
#include <zlib.h>

#include "sim/base/io.h"

enum { HEAD = 4, SIZE_BYTES = 4, TYPE_U8 = 8, GZIP_WINDOW = 16 + MAX_WBITS };
/* SRC:zlib, deflate expands at most about 1032 times. */
enum { EXPANSION = 1032 };

/* The file's content, unpacked as it is asked for. */
struct stream {
  const char *path;
  const uint8_t *data;
  size_t n, at;
  bool packed;
  z_stream z;
};

/* Memory of zlib goes through ours too. */
static voidpf z_alloc(voidpf arg, uInt items, uInt size) {
  (void)arg;
  return tsr_mem_array(items, size);
}

static void z_free(voidpf arg, voidpf p) {
  (void)arg;
  tsr_mem_free(p);
}

static enum tsr_status stream_open(struct stream *s, const char *path, const void *data,
                                   size_t n, struct tsr_err *err) {
  memset(s, 0, sizeof *s);
  s->path = path;
  s->data = data;
  s->n = n;
  s->packed = n >= 2 && s->data[0] == 0x1f && s->data[1] == 0x8b;
  if (!s->packed) return TSR_OK;
  if (n > UINT_MAX) return tsr_err_set(err, TSR_INPUT, "'%s' is too large", path);
  s->z.zalloc = z_alloc;
  s->z.zfree = z_free;
  s->z.next_in = s->data;
  s->z.avail_in = (uInt)n;
  return inflateInit2(&s->z, GZIP_WINDOW) == Z_OK ? TSR_OK : tsr_err_nomem(err);
}

static void stream_close(struct stream *s) {
  if (s->packed) inflateEnd(&s->z);
}

static enum tsr_status broken(const struct stream *s, struct tsr_err *err) {
  return tsr_err_set(err, TSR_INPUT, "'%s' cannot be unpacked: %s; expected gzip data", s->path,
                     s->z.msg ? s->z.msg : "the data end");
}

/* The most bytes that are still to come. */
static uint64_t stream_most(const struct stream *s) {
  return s->packed ? (uint64_t)s->n * EXPANSION : s->n - s->at;
}

/* Up to n bytes; fewer at the end of the content. */
static enum tsr_status stream_read(struct stream *s, uint8_t *to, uint64_t n, uint64_t *got,
                                   struct tsr_err *err) {
  if (!s->packed) {
    *got = tsr_min_u64(n, s->n - s->at);
    if (*got) memcpy(to, s->data + s->at, (size_t)*got);
    s->at += (size_t)*got;
    return TSR_OK;
  }
  for (*got = 0; *got < n;) {
    uInt part = (uInt)tsr_min_u64(n - *got, UINT_MAX);
    s->z.next_out = to + *got;
    s->z.avail_out = part;
    int rc = inflate(&s->z, Z_NO_FLUSH);
    *got += part - s->z.avail_out;
    if (rc == Z_STREAM_END) return TSR_OK;
    if (rc == Z_MEM_ERROR) return tsr_err_nomem(err);
    if (rc != Z_OK) return broken(s, err);
  }
  return TSR_OK;
}

/* Nothing is left; the checksum of packed data has been looked at. */
static enum tsr_status stream_end(struct stream *s, struct tsr_err *err) {
  uint8_t more;
  uint64_t got;
  enum tsr_status st = stream_read(s, &more, 1, &got, err);
  if (st) return st;
  if (got || (s->packed && s->z.avail_in))
    return tsr_err_set(err, TSR_INPUT, "'%s' is longer than its sizes say", s->path);
  return TSR_OK;
}

static enum tsr_status ends(const struct stream *s, const char *what, struct tsr_err *err) {
  return tsr_err_set(err, TSR_INPUT, "'%s' ends early; expected %s", s->path, what);
}

static enum tsr_status read_sizes(struct stream *s, struct tsr_idx *x, struct tsr_err *err) {
  uint8_t b[SIZE_BYTES];
  uint64_t got;
  for (unsigned d = 0; d < x->rank; d++) {
    enum tsr_status st = stream_read(s, b, sizeof b, &got, err);
    if (st) return st;
    if (got < sizeof b) return ends(s, "a size of four bytes for each dimension", err);
    x->dim[d] = (uint64_t)b[0] << 24 | (uint64_t)b[1] << 16 | (uint64_t)b[2] << 8 | b[3];
  }
  if (!tsr_array_count(x->rank, x->dim, &x->n) || x->n > stream_most(s))
    return tsr_err_set(err, TSR_INPUT,
                       "sizes of '%s' are larger than the file; expected at most %llu elements",
                       s->path, (unsigned long long)stream_most(s));
  return TSR_OK;
}

static enum tsr_status read_head(struct stream *s, struct tsr_idx *x, struct tsr_err *err) {
  uint8_t b[HEAD];
  uint64_t got;
  enum tsr_status st = stream_read(s, b, sizeof b, &got, err);
  if (st) return st;
  if (got < HEAD || b[0] || b[1])
    return tsr_err_set(err, TSR_INPUT,
                       "'%s' is no IDX file; expected two zeros, a type and a rank at its "
                       "begin",
                       s->path);
  if (b[2] != TYPE_U8)
    return tsr_err_set(err, TSR_INPUT,
                       "type of '%s'; expected 0x08, unsigned bytes, got '0x%02x'", s->path,
                       b[2]);
  if (b[3] == 0 || b[3] > TSR_RANK_MAX)
    return tsr_err_set(err, TSR_INPUT, "rank of '%s'; expected 1 to %d, got '%u'", s->path,
                       TSR_RANK_MAX, b[3]);
  x->rank = b[3];
  return read_sizes(s, x, err);
}

static enum tsr_status read_stream(struct stream *s, struct tsr_idx *x, struct tsr_err *err) {
  uint64_t got = 0;
  enum tsr_status st = read_head(s, x, err);
  if (st) return st;
  x->data = tsr_mem_alloc((size_t)x->n);
  if (!x->data) return tsr_err_nomem(err);
  st = stream_read(s, x->data, x->n, &got, err);
  if (!st && got < x->n) st = ends(s, "as many bytes as its sizes say", err);
  if (!st) st = stream_end(s, err);
  return st;
}

enum tsr_status tsr_idx_parse(const char *path, const void *data, size_t n, struct tsr_idx *out,
                              struct tsr_err *err) {
  struct stream s;
  struct tsr_idx x = {0};
  enum tsr_status st = stream_open(&s, path, data, n, err);
  if (st) return st;
  st = read_stream(&s, &x, err);
  stream_close(&s);
  if (st)
    tsr_idx_fini(&x);
  else
    *out = x;
  return st;
}

enum tsr_status tsr_idx_open(const char *path, struct tsr_idx *out, struct tsr_err *err) {
  char *data;
  size_t n;
  enum tsr_status st = tsr_io_read(path, &data, &n, err);
  if (st) return st;
  st = tsr_idx_parse(path, data, n, out, err);
  tsr_mem_free(data);
  return st;
}

void tsr_idx_fini(struct tsr_idx *x) {
  tsr_mem_free(x->data);
  x->data = NULL;
}
