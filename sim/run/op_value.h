/* The results of a layer that is no product, made a second time from the operands in the
 * image: on whole rows, windows or heads, by models/arith/vector.h and gemm.h, in the order
 * of reductions that the layer's tiles and the unit's lanes ask for; and as exact values, by
 * kernels/ref/vector.h.  Shares with the program the list of vector operations and the tile
 * sizes along a reduced dimension, and nothing else. */
#ifndef TSR_SIM_RUN_OP_VALUE_H
#define TSR_SIM_RUN_OP_VALUE_H

#include "sim/run/run_int.h"

struct tsri_op_data {
  const struct tsr_run_layer_plan *l;
  struct tsr_lower_at at;
  struct tsr_lower_tensor tensor[TSR_LOWER_TENSORS];
  const struct tsr_format *format[TSR_LOWER_TENSORS], *acc;
  const uint8_t *codes[TSR_LOWER_TENSORS]; /* in the image, an element in its own bytes */
  uint32_t elem[TSR_LOWER_TENSORS];
  unsigned lanes;
  const char *mma; /* the machine's */
};

/* Results [first, first + n) of a tensor: the codes that the program must have left (of
 * tsr_gemm_code_bytes each), and the exact values.  Borrowed for the call. */
typedef void tsri_op_result_fn(void *arg, int tensor, uint64_t first, uint64_t n,
                               const void *want, const double *exact);
enum tsr_status tsri_op_values(const struct tsri_op_data *d, tsri_op_result_fn *fn, void *arg,
                               struct tsr_err *err);

#endif
