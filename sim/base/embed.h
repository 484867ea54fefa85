/* Files that the binary carries: presets, the zoo, schemas (see tsr_embed in the
 * top CMakeLists.txt).  A table ends with name NULL; texts are NUL-terminated. */
#ifndef TSR_SIM_BASE_EMBED_H
#define TSR_SIM_BASE_EMBED_H

#include <stddef.h>

struct tsr_embedded {
  const char *name; /* file name without its folder */
  const char *text;
  size_t len;
};

#endif
