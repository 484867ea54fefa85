#include "sim/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/mem.h"

static _Atomic uint64_t fail_in; /* writes until one fails; 0 = off */

void tsr_io_fail_at(uint64_t nth) {
  atomic_store(&fail_in, nth);
}

bool tsr_io_fail_now(void) {
  uint64_t n = atomic_load(&fail_in);
  while (n && !atomic_compare_exchange_weak(&fail_in, &n, n - 1)) {
  }
  return n == 1;
}

/* The system's words for an errno, in the form of our messages. */
static const char *errno_text(int code, char *buf, size_t n) {
  char tmp[128];
  snprintf(buf, n, "%s", strerror_r(code, tmp, sizeof tmp));
  if (buf[0] >= 'A' && buf[0] <= 'Z' && buf[1] >= 'a' && buf[1] <= 'z')
    buf[0] = (char)(buf[0] - 'A' + 'a');
  return buf;
}

static enum tsr_status fail(struct tsr_err *err, enum tsr_status st, const char *verb,
                            const char *path, int code) {
  char buf[128];
  return tsr_err_set(err, st, "cannot %s '%s': %s", verb, path,
                     errno_text(code, buf, sizeof buf));
}

/* Reads to the end of file, one byte more than the limit at most.  `hint`: the size that the
 * file claims. */
static enum tsr_status read_all(int fd, const char *path, uint64_t limit, uint64_t hint,
                                void **p, size_t *n, struct tsr_err *err) {
  size_t cap = 0;
  if (hint <= limit && !tsr_mem_grow(p, &cap, (size_t)hint + 4096, 1))
    return tsr_err_nomem(err);
  for (;;) {
    if (*n > limit || hint > limit)
      return tsr_err_set(err, TSR_INPUT, "'%s' is too large; expected at most %" PRIu64 " MiB",
                         path, limit >> 20);
    if (*n + 1 >= cap && !tsr_mem_grow(p, &cap, *n + 4096, 1)) return tsr_err_nomem(err);
    ssize_t got = read(fd, (char *)*p + *n, cap - *n - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(err, TSR_INPUT, "read", path, errno);
    if (got == 0) break;
    *n += (size_t)got;
  }
  ((char *)*p)[*n] = '\0';
  return TSR_OK;
}

static enum tsr_status read_whole(const char *path, uint64_t limit, void **out, size_t *len,
                                  struct tsr_err *err) {
  void *p = NULL;
  size_t n = 0;
  struct stat sb;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(err, TSR_INPUT, "read", path, errno);
  enum tsr_status st = TSR_OK;
  if (fstat(fd, &sb) != 0)
    st = fail(err, TSR_INPUT, "read", path, errno);
  else if (S_ISDIR(sb.st_mode))
    st = tsr_err_set(err, TSR_INPUT, "cannot read '%s'; expected a file, got a folder", path);
  else
    st = read_all(fd, path, limit, S_ISREG(sb.st_mode) ? (uint64_t)sb.st_size : 0, &p, &n, err);
  close(fd);
  if (st != TSR_OK) {
    tsr_mem_free(p);
    return st;
  }
  *out = p;
  *len = n;
  return TSR_OK;
}

enum tsr_status tsr_io_read(const char *path, char **text, size_t *len, struct tsr_err *err) {
  void *p;
  enum tsr_status st = read_whole(path, TSR_IO_TEXT_MAX, &p, len, err);
  if (st == TSR_OK) *text = p;
  return st;
}

enum tsr_status tsr_io_read_bytes(const char *path, uint64_t limit, unsigned char **data,
                                  size_t *len, struct tsr_err *err) {
  void *p;
  enum tsr_status st = read_whole(path, limit, &p, len, err);
  if (st == TSR_OK) *data = p;
  return st;
}

enum tsr_status tsr_io_read_part(const char *path, uint64_t offset, void *data, size_t len,
                                 struct tsr_err *err) {
  unsigned char *p = data;
  size_t n = 0;
  if (offset > INT64_MAX || len > INT64_MAX - offset)
    return fail(err, TSR_INPUT, "read", path, EOVERFLOW);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(err, TSR_INPUT, "read", path, errno);
  enum tsr_status st = TSR_OK;
  while (n < len && st == TSR_OK) {
    ssize_t got = pread(fd, p + n, len - n, (off_t)(offset + n));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      st = fail(err, TSR_INPUT, "read", path, errno);
    else if (got == 0)
      st = tsr_err_set(err, TSR_INPUT,
                       "'%s' is too short; expected %zu bytes from byte %" PRIu64 ", got %zu",
                       path, len, offset, n);
    else
      n += (size_t)got;
  }
  close(fd);
  return st;
}

/* 0, or the errno. */
static int write_all(int fd, const char *p, size_t n) {
  while (n) {
    if (tsr_io_fail_now()) return ENOSPC;
    ssize_t put = write(fd, p, n);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    p += put;
    n -= (size_t)put;
  }
  return 0;
}

/* Devices and pipes take the bytes as they come. */
static int write_through(const char *path, const void *data, size_t n) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  int code = write_all(fd, data, n);
  if (close(fd) != 0 && !code) code = errno;
  return code;
}

/* A new file beside `path`; its name is left in tmp. */
static int open_temp(const char *path, char *tmp, size_t size) {
  for (unsigned i = 0; i < 1000; i++) {
    int n = snprintf(tmp, size, "%s.tmp-%ld-%u", path, (long)getpid(), i);
    if (n < 0 || (size_t)n >= size) break;
    int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  errno = ENAMETOOLONG;
  return -1;
}

static void folder_of(const char *path, char *dir, size_t size) {
  const char *slash = strrchr(path, '/');
  int n = slash ? (int)(slash - path) + 1 : 1;
  snprintf(dir, size, "%.*s", n, slash ? path : ".");
}

/* Makes the rename last over a power cut; file systems that cannot sync a
 * folder are no error. */
static void sync_folder(const char *path) {
  char dir[PATH_MAX];
  folder_of(path, dir, sizeof dir);
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

static int write_beside(const char *path, const mode_t *mode, const void *data, size_t n) {
  char tmp[PATH_MAX + 32];
  int fd = open_temp(path, tmp, sizeof tmp);
  if (fd < 0) return errno;
  int code = write_all(fd, data, n);
  if (!code && mode && fchmod(fd, *mode & 07777) != 0) code = errno;
  if (!code && fsync(fd) != 0) code = errno;
  if (close(fd) != 0 && !code) code = errno;
  if (!code && rename(tmp, path) != 0) code = errno;
  if (code)
    unlink(tmp);
  else
    sync_folder(path);
  return code;
}

enum tsr_status tsr_io_write(const char *path, const void *data, size_t n,
                             struct tsr_err *err) {
  char real[PATH_MAX];
  struct stat sb;
  int code;
  bool there = stat(path, &sb) == 0;
  if (!there)
    code = write_beside(path, NULL, data, n);
  else if (S_ISDIR(sb.st_mode))
    code = EISDIR;
  else if (!S_ISREG(sb.st_mode))
    code = write_through(path, data, n);
  else if (!realpath(path, real))
    code = errno;
  else
    code = write_beside(real, &sb.st_mode, data, n); /* a link stays a link */
  return code ? fail(err, TSR_STORE, "write", path, code) : TSR_OK;
}

enum tsr_status tsr_io_writable(const char *path, struct tsr_err *err) {
  char real[PATH_MAX], dir[PATH_MAX];
  struct stat sb;
  bool there = stat(path, &sb) == 0;
  if (there && S_ISDIR(sb.st_mode)) return fail(err, TSR_STORE, "write", path, EISDIR);
  if (there && !S_ISREG(sb.st_mode)) return TSR_OK; /* written through */
  folder_of(there && realpath(path, real) ? real : path, dir, sizeof dir);
  return access(dir, W_OK | X_OK) ? fail(err, TSR_STORE, "write", path, errno) : TSR_OK;
}
