/* What an import holds. */
#include <string.h>

#include "workloads/exchange/import_int.h"

bool tsri_import_init(struct tsr_import *im, enum tsr_import_kind kind) {
  *im = (struct tsr_import){.kind = kind, .arena = tsr_arena_create()};
  return im->arena != NULL;
}

void tsr_import_fini(struct tsr_import *im) {
  tsr_arena_destroy(im->arena);
  tsr_mem_free(im->keys);
  tsr_mem_free(im->runs);
  *im = (struct tsr_import){.arena = NULL};
}

bool tsri_import_key(struct tsr_import *im, const char *key, bool used, const char *as) {
  for (size_t i = 0; i < im->n_keys; i++) /* of several models in a list */
    if (im->keys[i].as == as && !strcmp(im->keys[i].key, key)) return true;
  void *p = im->keys;
  const char *copy = tsr_arena_strdup(im->arena, key);
  bool good = copy && tsr_mem_grow(&p, &im->cap_keys, im->n_keys + 1, sizeof *im->keys);
  im->keys = p;
  if (good) im->keys[im->n_keys++] = (struct tsr_import_key){copy, used, as};
  return good;
}

bool tsri_import_run(struct tsr_import *im, const char *model, uint64_t batch) {
  void *p = im->runs;
  const char *copy = tsr_arena_strdup(im->arena, model);
  bool good = copy && tsr_mem_grow(&p, &im->cap_runs, im->n_runs + 1, sizeof *im->runs);
  im->runs = p;
  if (good) im->runs[im->n_runs++] = (struct tsr_import_run){copy, batch};
  return good;
}

static bool fits_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         c == '-' || c == '_' || c == '.';
}

enum { NAME_MAX_BYTES = 40 };

bool tsri_import_name(struct tsr_import *im, const char *name, const char *path) {
  const char *base = strrchr(path, '/');
  size_t n = name ? strlen(name) : 0;
  if (n == 0) {
    name = base && base[1] ? base + 1 : path;
    const char *dot = strrchr(name, '.');
    n = dot && dot > name ? (size_t)(dot - name) : strlen(name);
  }
  if (n > NAME_MAX_BYTES) n = NAME_MAX_BYTES;
  char *copy = tsr_arena_strndup(im->arena, name, n);
  if (!copy) return false;
  for (char *c = copy; *c; c++)
    if (!fits_name(*c)) *c = '-';
  if (*copy == '.' || *copy == '-') *copy = '_'; /* no hidden file, no option */
  im->name = *copy ? copy : "imported";
  return true;
}

bool tsri_import_text(struct tsr_import *im, struct tsr_str *text) {
  char *p = tsr_str_take(text);
  im->text = p ? tsr_arena_strdup(im->arena, p) : NULL;
  tsr_mem_free(p);
  return im->text != NULL;
}
