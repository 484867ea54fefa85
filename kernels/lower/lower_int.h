#ifndef TSR_KERNELS_LOWER_LOWER_INT_H
#define TSR_KERNELS_LOWER_LOWER_INT_H

#include "kernels/lower/lower.h"

/* How a coordinate of a tensor follows one axis: delta elements per axis element. */
struct tsri_follow {
  enum tsr_isa_axis axis;
  int64_t delta;
};
enum { TSRI_FOLLOW_MAX = 2 };
struct tsri_dim {
  uint64_t size, extent, step;
  int64_t start;
  bool halo; /* neighbouring elements of an axis share coordinates */
  struct tsri_follow follow[TSRI_FOLLOW_MAX];
  int n_follow;
};
struct tsri_tensor { /* row-major, slowest dimension first */
  uint32_t elem_bytes;
  int rank;
  struct tsri_dim dim[TSR_ISA_DIMS];
};

/* The operator families: tensors a, b, c of the shape under the mapping. */
void tsri_describe_matmul(const struct tsr_shape *s, const struct tsr_mapping *m,
                          struct tsri_tensor t[3]);
void tsri_describe_conv(const struct tsr_shape *s, const struct tsr_mapping *m,
                        struct tsri_tensor t[3]);

#endif
