/* Makes the layer lists of the zoo: what no specification says.
 *
 * The CSV files beside this one are its output, committed; a test makes them again
 * and compares byte for byte. */
#ifndef TSR_WORKLOADS_ZOO_GENERATE_H
#define TSR_WORKLOADS_ZOO_GENERATE_H

#include "sim/base/str.h"

size_t tsri_zoo_make_count(void);
/* Name of the i-th network, without `.csv` (static). */
const char *tsri_zoo_make_name(size_t i);
/* Appends its text (see the builder for what happens without memory). */
void tsri_zoo_make_text(size_t i, struct tsr_str *out);

#endif
