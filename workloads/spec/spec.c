/* From the text of a specification to a checked graph. */
#include "workloads/spec/spec.h"

#include <string.h>

#include "workloads/spec/spec_int.h"

bool tsr_spec_is(const char *text, size_t len) {
  static const char key[] = "kind:";
  for (size_t at = 0; at < len;) {
    const char *end = memchr(text + at, '\n', len - at);
    if (len - at >= sizeof key - 1 && !memcmp(text + at, key, sizeof key - 1)) return true;
    at = end ? (size_t)(end - text) + 1 : len;
  }
  return false;
}

/* The last part of a path without its ending; n its length. */
static const char *base_name(const char *path, size_t *n) {
  const char *slash = strrchr(path, '/');
  const char *name = slash && slash[1] ? slash + 1 : path, *dot = strrchr(name, '.');
  *n = dot && dot != name ? (size_t)(dot - name) : strlen(name);
  return name;
}

static enum tsr_status generate(struct tsr_build *b, const struct tsri_spec *s, uint64_t batch,
                                struct tsr_err *err) {
  struct tsri_gen g = {.s = s, .b = b, .err = err, .batch = batch};
  if (s->kind == TSRI_DLRM)
    tsri_gen_dlrm(&g);
  else
    tsri_gen_transformer(&g);
  if (!g.st && s->name[0]) g.st = tsr_build_rename(b, s->name, err);
  return g.st;
}

static enum tsr_status read_into(struct tsr_build *b, const char *path, const char *text,
                                 size_t len, uint64_t *batch, struct tsr_err *err) {
  struct tsr_arena *a = tsr_build_arena(b);
  struct tsr_node *root;
  enum tsr_status st = tsr_config_tree_parse(a, path, text, len, &root, err);
  if (st) return st;
  struct tsri_spec *s = tsr_arena_alloc(a, sizeof *s);
  if (!s) return tsr_err_nomem(err);
  st = tsri_spec_keys(a, root, s, err);
  if (st) return st;
  if (!tsr_mul_u64(s->batch, *batch ? *batch : 1, batch))
    return tsr_err_at(err, TSR_INPUT, tsri_spec_pos(s, "batch"),
                      "'batch' is too large; expected a product below 2^64");
  return generate(b, s, *batch, err);
}

enum tsr_status tsr_spec_read(const char *path, const char *text, size_t len, uint64_t batch,
                              struct tsr_graph **out, struct tsr_err *err) {
  size_t n;
  const char *base = base_name(path, &n);
  struct tsr_build *b;
  char *name = tsr_mem_strndup(base, n);
  if (!name) return tsr_err_nomem(err);
  enum tsr_status st = tsr_build_create(name, path, text, len, &b, err);
  tsr_mem_free(name);
  if (st) return st;
  st = read_into(b, path, text, len, &batch, err);
  if (!st) return tsr_build_finish(b, batch, out, err);
  tsr_build_destroy(b);
  return st;
}
