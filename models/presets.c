#include "models/presets.h"

#include <string.h>

#include "sim/base/embed.h"
#include "sim/base/str.h"

extern const struct tsr_embedded tsri_presets[];
extern const struct tsr_embedded tsri_sources[];

enum { NAMES_MAX = 64 };
enum { SUFFIX = sizeof ".yaml" - 1 };

/* `systolic-32.yaml` is preset `systolic-32`. */
static bool is(const struct tsr_embedded *e, const char *name) {
  size_t n = strlen(e->name) - SUFFIX;
  return strlen(name) == n && !memcmp(e->name, name, n);
}

const char *tsr_preset_text(const char *kind, const char *name) {
  if (strcmp(kind, "arch") != 0) return NULL;
  for (const struct tsr_embedded *e = tsri_presets; e->name; e++)
    if (is(e, name)) return e->text;
  return NULL;
}

size_t tsr_preset_count(void) {
  size_t n = 0;
  while (tsri_presets[n].name) n++;
  return n;
}

const char *tsr_preset_kind(size_t i) {
  (void)i; /* every preset of this build is an architecture */
  return "arch";
}

const char *tsr_preset_name(size_t i) {
  static char names[NAMES_MAX][32]; /* filled with the same bytes each time */
  size_t n = strlen(tsri_presets[i].name) - SUFFIX;
  TSR_CHECK(i < NAMES_MAX && n < sizeof names[0]);
  memcpy(names[i], tsri_presets[i].name, n);
  return names[i];
}

const char *tsr_preset_doc(size_t i, size_t *len) {
  const char *t = tsri_presets[i].text;
  while (*t == '#' || *t == ' ') t++;
  const char *end = strchr(t, '\n');
  *len = end ? (size_t)(end - t) : strlen(t);
  return t;
}

void tsr_preset_hint(const char *kind, const char *name, struct tsr_err *err) {
  const char *names[NAMES_MAX];
  size_t n = 0;
  struct tsr_str all = TSR_STR_INIT;
  for (size_t i = 0; i < tsr_preset_count() && n < NAMES_MAX; i++) {
    if (strcmp(tsr_preset_kind(i), kind) != 0) continue;
    names[n] = tsr_preset_name(i);
    tsr_str_addf(&all, "%s%s", n ? ", " : "", names[n]);
    n++;
  }
  const char *near = tsr_err_nearest(name, names, n);
  if (near)
    tsr_err_hint(err, "did you mean '%s'?", near);
  else if (all.p)
    tsr_err_hint(err, "presets: %s; a file is given by its path, such as ./%s.yaml", all.p,
                 name);
  tsr_str_fini(&all);
}

const char *tsr_sources_text(void) {
  return tsri_sources[0].text;
}
