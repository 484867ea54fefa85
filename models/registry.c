/* One line a component: a new one is a file, a line here and its tables. */
#include "models/registry.h"

#include <string.h>

#include "models/models_int.h"

static const struct tsr_component *const components[] = {
    &tsri_dram_simple,   &tsri_dram_banks, &tsri_llb,      &tsri_noc_crossbar,
    &tsri_noc_mesh,      &tsri_sram,       &tsri_dma_load, &tsri_dma_store,
    &tsri_tile_systolic, &tsri_tile_dot,   &tsri_vector};

size_t tsr_models_count(void) {
  return sizeof components / sizeof components[0];
}

const struct tsr_component *tsr_models_at(size_t i) {
  return components[i];
}

const struct tsr_component *tsr_models_find(const char *kind) {
  for (size_t i = 0; i < tsr_models_count(); i++)
    if (!strcmp(components[i]->kind, kind)) return components[i];
  return NULL;
}
