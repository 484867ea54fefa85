/* The small networks of the zoo that hold every operator, not the matmuls alone: what lies
 * between them is a row or a step of an epilogue. */
#ifndef TSR_WORKLOADS_ZOO_BLOCKS_H
#define TSR_WORKLOADS_ZOO_BLOCKS_H

#include "sim/base/str.h"

size_t tsri_zoo_block_count(void);
/* Name of the i-th one (static). */
const char *tsri_zoo_block_name(size_t i);
/* Appends its text. */
void tsri_zoo_block_text(size_t i, struct tsr_str *out);

#endif
