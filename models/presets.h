/* Presets: named texts that the binary carries, by kind (`arch`).  Static. */
#ifndef TSR_MODELS_PRESETS_H
#define TSR_MODELS_PRESETS_H

#include <stddef.h>

#include "sim/base/err.h"

/* The text of a preset, or NULL. */
const char *tsr_preset_text(const char *kind, const char *name);
/* Adds a hint to the last message of err: the nearest name, else all names. */
void tsr_preset_hint(const char *kind, const char *name, struct tsr_err *err);

size_t tsr_preset_count(void);
const char *tsr_preset_kind(size_t i);
const char *tsr_preset_name(size_t i);
/* Its first comment line. Borrowed until the process ends; not NUL-terminated:
 * *len bytes. */
const char *tsr_preset_doc(size_t i, size_t *len);

/* models/SOURCES.tsv, whole. */
const char *tsr_sources_text(void);

#endif
