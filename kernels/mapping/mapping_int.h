#ifndef TSR_KERNELS_MAPPING_MAPPING_INT_H
#define TSR_KERNELS_MAPPING_MAPPING_INT_H

#include "kernels/mapping/mapping.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"

/* Input rows (or columns) that a tile touches: `extent` of them, `step` apart. */
void tsri_input_span(const struct tsr_shape *s, const uint64_t *tile, bool height,
                     uint64_t *extent, uint64_t *step);
/* Bytes of a tile in scratchpads a, b, c. */
void tsri_tile_bytes(const struct tsr_shape *s, const uint64_t *tile, uint64_t bytes[3]);

#endif
