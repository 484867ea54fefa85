/* The registry: every component kind of this build, by name.  Static. */
#ifndef TSR_MODELS_REGISTRY_H
#define TSR_MODELS_REGISTRY_H

#include "models/model.h"

size_t tsr_models_count(void);
const struct tsr_component *tsr_models_at(size_t i);
/* By kind (`dram.simple`), or NULL. */
const struct tsr_component *tsr_models_find(const char *kind);

#endif
