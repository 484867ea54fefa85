/* IDX files, the format of the MNIST data sets (SRC:idx): unsigned bytes, plain or gzip.
 *
 * Shapes: as the file says, row-major; images are [n, rows, columns], labels [n].
 * Units: elements.  Ownership: the bytes are the caller's (tsr_idx_fini); an array is the
 * caller's, or the arena's where one is given.
 * Errors: TSR_INPUT says what was expected.  The size that a header claims is held against the
 * file before it is allocated; of a compressed file, against the most that its bytes can hold.
 */
#ifndef TSR_WORKLOADS_TENSOR_IDX_H
#define TSR_WORKLOADS_TENSOR_IDX_H

#include "workloads/net/array.h"

struct tsr_idx {
  unsigned rank;
  uint64_t dim[TSR_RANK_MAX];
  uint64_t n;
  uint8_t *data; /* owned; n bytes */
};
enum tsr_status tsr_idx_open(const char *path, struct tsr_idx *out, struct tsr_err *err);
/* The same of n bytes in memory; `path` is for messages. */
enum tsr_status tsr_idx_parse(const char *path, const void *data, size_t n, struct tsr_idx *out,
                              struct tsr_err *err);
void tsr_idx_fini(struct tsr_idx *x);

#endif
