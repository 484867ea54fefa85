/* The components of this build, as models/registry.c lists them. */
#ifndef TSR_MODELS_MODELS_INT_H
#define TSR_MODELS_MODELS_INT_H

#include "models/model.h"

extern const struct tsr_component tsri_dram_simple;
extern const struct tsr_component tsri_dram_banks;
extern const struct tsr_component tsri_llb;
extern const struct tsr_component tsri_noc_crossbar;
extern const struct tsr_component tsri_noc_mesh;
extern const struct tsr_component tsri_sram;
extern const struct tsr_component tsri_dma_load;
extern const struct tsr_component tsri_dma_store;
extern const struct tsr_component tsri_tile_systolic;
extern const struct tsr_component tsri_tile_dot;
extern const struct tsr_component tsri_vector;

#endif
