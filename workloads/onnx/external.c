/* Elements in a file beside the model.  A model is somebody else's text: it names no file
 * outside its own folder. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/io.h"
#include "sim/base/str.h"
#include "workloads/onnx/onnx_int.h"

struct place {
  const char *path, *label; /* of messages */
  const char *location;
  bool has_length;
  uint64_t offset, length;
  struct tsr_err *err;
};

static enum tsr_status number(const struct place *p, const char *key, const char *text,
                              uint64_t *out) {
  uint64_t v = 0;
  bool good = text[0] != '\0';
  for (const char *c = text; *c && good; c++)
    good = *c >= '0' && *c <= '9' && tsr_mul_u64(v, 10, &v) &&
           tsr_add_u64(v, (uint64_t)(*c - '0'), &v);
  if (!good)
    return tsr_err_set(p->err, TSR_INPUT,
                       "%s: %s has external data of bad %s; expected a number of bytes, got "
                       "'%s'",
                       p->path, p->label, key, text);
  *out = v;
  return TSR_OK;
}

static enum tsr_status read_entries(struct place *p, const Onnx__TensorProto *t) {
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; i < t->n_external_data && st == TSR_OK; i++) {
    const char *key = tsri_onnx_text(t->external_data[i]->key);
    const char *value = tsri_onnx_text(t->external_data[i]->value);
    if (tsr_str_eq(key, "location")) p->location = value;
    if (tsr_str_eq(key, "offset")) st = number(p, key, value, &p->offset);
    if (tsr_str_eq(key, "length")) {
      st = number(p, key, value, &p->length);
      p->has_length = true;
    }
  }
  return st;
}

static bool has_parent_part(const char *s) {
  for (const char *c = s; *c;) {
    size_t n = strcspn(c, "/");
    if (n == 2 && c[0] == '.' && c[1] == '.') return true;
    c += n + (c[n] == '/');
  }
  return false;
}

static enum tsr_status refuse(const struct place *p, const char *rule) {
  return tsr_err_set(p->err, TSR_INPUT,
                     "%s: %s has its data in another file; expected %s, got '%s'", p->path,
                     p->label, rule, tsri_onnx_text(p->location));
}

static enum tsr_status check_location(const struct place *p) {
  if (!p->location || !p->location[0]) return refuse(p, "a location");
  if (p->location[0] == '/') return refuse(p, "a name relative to the model's folder");
  if (has_parent_part(p->location)) return refuse(p, "a name without '..'");
  return TSR_OK;
}

/* Both names with their links followed; the file must stay inside the folder. */
static enum tsr_status resolve(const struct place *p, char *file) {
  char folder[PATH_MAX], real_folder[PATH_MAX];
  const char *slash = strrchr(p->path, '/');
  size_t n = slash ? (size_t)(slash - p->path) + 1 : 2;
  size_t m = strlen(p->location);
  if (n + m >= PATH_MAX) return refuse(p, "a shorter name");
  memcpy(folder, slash ? p->path : "./", n);
  folder[n] = '\0';
  if (!realpath(folder, real_folder)) return refuse(p, "a file beside the model");
  memcpy(folder + n, p->location, m + 1);
  if (!realpath(folder, file))
    return refuse(p, errno == ENOENT ? "a file that exists" : "a file that can be read");
  size_t k = strlen(real_folder);
  if (k == 1) k = 0; /* the root folder */
  if (strncmp(file, real_folder, k) != 0 || file[k] != '/')
    return refuse(p, "a file that no link leads out of the model's folder");
  return TSR_OK;
}

static enum tsr_status check_range(const struct place *p, const char *file, uint64_t n) {
  struct stat sb;
  uint64_t end;
  if (stat(file, &sb) != 0 || !S_ISREG(sb.st_mode)) return refuse(p, "an ordinary file");
  if (p->has_length && p->length != n)
    return tsr_err_set(p->err, TSR_INPUT,
                       "%s: %s needs %" PRIu64 " bytes, got %" PRIu64 " bytes of '%s'", p->path,
                       p->label, n, p->length, p->location);
  if (!tsr_add_u64(p->offset, n, &end) || end > (uint64_t)sb.st_size)
    return tsr_err_set(p->err, TSR_INPUT,
                       "%s: %s needs %" PRIu64 " bytes from byte %" PRIu64
                       " of '%s'; expected that within its %" PRIu64 " bytes",
                       p->path, p->label, n, p->offset, p->location, (uint64_t)sb.st_size);
  return TSR_OK;
}

enum tsr_status tsri_onnx_external(const char *path, const char *label,
                                   const Onnx__TensorProto *t, uint64_t n, unsigned char **out,
                                   struct tsr_err *err) {
  struct place p = {.path = path, .label = label, .err = err};
  char file[PATH_MAX];
  enum tsr_status st = read_entries(&p, t);
  if (st == TSR_OK) st = check_location(&p);
  if (st == TSR_OK) st = resolve(&p, file);
  if (st == TSR_OK) st = check_range(&p, file, n);
  if (st != TSR_OK) return st;
  unsigned char *data = tsr_mem_alloc((size_t)n);
  if (!data) return tsr_err_nomem(err);
  st = tsr_io_read_part(file, p.offset, data, (size_t)n, err);
  if (st == TSR_OK)
    *out = data;
  else
    tsr_mem_free(data);
  return st;
}
