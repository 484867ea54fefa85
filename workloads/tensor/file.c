/* Bytes of files and of memory; elements in and out. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/arith/format.h"
#include "workloads/tensor/file_int.h"

static enum tsr_status fail(const char *path, int code, struct tsr_err *err) {
  char buf[128];
  return tsr_err_set(err, TSR_INPUT, "cannot read '%s': %s", path,
                     strerror_r(code, buf, sizeof buf));
}

enum tsr_status tsri_source_open(struct tsri_source *s, const char *path, struct tsr_err *err) {
  struct stat sb;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(path, errno, err);
  enum tsr_status st = TSR_OK;
  if (fstat(fd, &sb) != 0)
    st = fail(path, errno, err);
  else if (!S_ISREG(sb.st_mode))
    st = tsr_err_set(err, TSR_INPUT, "cannot read '%s'; expected a file, got %s", path,
                     S_ISDIR(sb.st_mode) ? "a folder" : "a device or pipe");
  if (st) {
    close(fd);
    return st;
  }
  *s = (struct tsri_source){.path = path, .fd = fd, .size = (uint64_t)sb.st_size};
  return TSR_OK;
}

void tsri_source_memory(struct tsri_source *s, const char *path, const void *data, size_t n) {
  *s = (struct tsri_source){.path = path, .fd = -1, .mem = data, .size = n};
}

void tsri_source_close(struct tsri_source *s) {
  if (s->fd >= 0) close(s->fd);
  s->fd = -1;
}

enum tsr_status tsri_source_read(const struct tsri_source *s, uint64_t at, void *to, size_t n,
                                 struct tsr_err *err) {
  TSR_CHECK(at <= s->size && n <= s->size - at);
  if (s->fd < 0) {
    if (n) memcpy(to, s->mem + at, n);
    return TSR_OK;
  }
  for (char *p = to; n;) {
    ssize_t got = pread(s->fd, p, n, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(s->path, errno, err);
    if (got == 0)
      return tsr_err_set(err, TSR_INPUT, "'%s' became shorter while it was read", s->path);
    p += got;
    n -= (size_t)got;
    at += (uint64_t)got;
  }
  return TSR_OK;
}

void tsri_elems_load(const struct tsri_elems *e, const uint8_t *p, struct tsr_array *a,
                     uint64_t i) {
  uint8_t turned[8];
  if (e->swap) {
    for (unsigned b = 0; b < e->bytes; b++) turned[b] = p[e->bytes - 1 - b];
    p = turned;
  }
  double f = 0;
  int64_t v = 0;
  if (e->format)
    f = tsr_arith_to_double(e->format, *p);
  else
    tsr_dtype_load(e->type, p, &f, &v);
  if (a->f)
    a->f[i] = f;
  else
    a->i[i] = v;
}

enum { CHUNK_BYTES = 1 << 16 };

enum tsr_status tsri_elems_read(const struct tsri_source *s, uint64_t at,
                                const struct tsri_elems *e, uint64_t from, uint64_t n,
                                struct tsr_array *a, uint64_t to, struct tsr_err *err) {
  uint8_t *chunk = tsr_mem_alloc(CHUNK_BYTES);
  if (!chunk) return tsr_err_nomem(err);
  enum tsr_status st = TSR_OK;
  for (uint64_t done = 0; done < n && !st;) {
    uint64_t part = tsr_min_u64(n - done, CHUNK_BYTES / e->bytes);
    st = tsri_source_read(s, at + (from + done) * e->bytes, chunk, (size_t)(part * e->bytes),
                          err);
    for (uint64_t i = 0; i < part && !st; i++)
      tsri_elems_load(e, chunk + i * e->bytes, a, to + done + i);
    done += part;
  }
  tsr_mem_free(chunk);
  return st;
}

void tsri_elems_store(const struct tsr_array *a, enum tsr_dtype as, uint8_t *to) {
  unsigned bytes = tsr_dtype_bytes(as);
  for (uint64_t i = 0; i < a->n; i++)
    tsr_dtype_store(as, a->f ? a->f[i] : 0, a->i ? a->i[i] : 0, to + i * bytes);
}

const char *tsri_shape_text(unsigned rank, const uint64_t *dim, char *buf) {
  size_t n = 0;
  if (rank == 0) return "scalar";
  for (unsigned d = 0; d < rank; d++)
    n += (size_t)snprintf(buf + n, TSRI_SHAPE_TEXT - n, "%s%llu", d ? "x" : "",
                          (unsigned long long)dim[d]);
  return buf;
}
