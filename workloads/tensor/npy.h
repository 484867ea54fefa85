/* NumPy's .npy files: one array each (SRC:npy).
 *
 * Read: versions 1.0, 2.0 and 3.0; f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8 and b1 of either byte
 * order; C and Fortran order (the array is row-major).  Written: version 1.0, little-endian, in
 * the array's type; bf16, which NumPy lacks, as f4.
 * Units: elements.  Ownership: arrays are the caller's, or the arena's where one is given.
 * Errors: TSR_INPUT with the column of the header or the bytes that were expected; sizes are
 * held against the file before anything is allocated for them.  TSR_STORE from writing. */
#ifndef TSR_WORKLOADS_TENSOR_NPY_H
#define TSR_WORKLOADS_TENSOR_NPY_H

#include "workloads/net/array.h"

enum tsr_status tsr_npy_read(const char *path, struct tsr_arena *arena, struct tsr_array **out,
                             struct tsr_err *err);
/* The same of n bytes in memory; `path` is for messages. */
enum tsr_status tsr_npy_parse(const char *path, const void *data, size_t n,
                              struct tsr_arena *arena, struct tsr_array **out,
                              struct tsr_err *err);
enum tsr_status tsr_npy_write(const char *path, const struct tsr_array *a, struct tsr_err *err);

#endif
