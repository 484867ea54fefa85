/* The operands of a layer by value: what sampled and whole layers compute on.
 *
 * An element is given (hand.h), or drawn (approximately normal, variance 1;
 * kernels/check/draw.h) from the seed, the layer, the tensor and its index in the tensor
 * alone, then quantised to the layer's format.  A convolution's A is its im2col form, of which
 * padding is zero.  Rows of A count over groups: row = group * m + row in the group. */
#ifndef TSR_SIM_RUN_OPERAND_H
#define TSR_SIM_RUN_OPERAND_H

#include "models/arith/mma_spec.h"
#include "sim/run/run.h"

enum { TSRI_TENSOR_A, TSRI_TENSOR_B, TSRI_TENSOR_PICK, TSRI_TENSOR_SCALE };

/* An operand whose values are given: codes of tsr_gemm_code_bytes each in the tensor's order,
 * and what they were quantised from; codes NULL: it is drawn. */
struct tsri_given {
  const void *codes;
  size_t bytes;
  const float *from;
};

struct tsri_operands {
  const struct tsr_run_layer_plan *l;
  struct tsri_given given[2]; /* A, B; borrowed */
  const struct tsr_mma *unit;
  struct tsr_mma_spec spec; /* what unit may point to: do not copy or move */
  const struct tsr_format *a, *b, *acc, *out;
  const struct tsr_format *mm_b;    /* of b as it is multiplied */
  const struct tsr_format *exact_b; /* of b times its scale: b, or fp32 with scales */
  const struct tsr_format *sum; /* of what results are made from: acc, or fp32 if promoted */
  uint64_t seed, layer, k;
  /* Of which figures are made: results before an epilogue.  With one the sums themselves,
   * which no format of memory has met. */
  const struct tsr_format *shown;
  int shown_shift;
  int shift; /* integers: results are scaled by 2^-shift to fit the output */
};

/* Bytes of a sum that leaves its scratchpad, in o->sum. */
uint32_t tsri_run_sum_bytes(const struct tsr_run_layer_plan *l);
/* How often a whole C of sums lies in memory: for each such core, or for an epilogue. */
uint64_t tsri_run_stored(const struct tsr_run_layer_plan *l);
/* Scales of a layer's weights: [group][tile of k][column]. */
uint64_t tsri_run_scales(const struct tsr_run_layer_plan *l);
/* A scale by its index, 1/2 to 3/2, for integers divided by what their values are drawn
 * with (TSR_DRAW_INT_SCALE); without scales 1 in fp32 is meant, and 0 returned. */
uint64_t tsri_operand_scale(const struct tsri_operands *o, uint64_t index);
/* Where the scale of B[k, col] of a group stands. */
uint64_t tsri_operand_scale_index(const struct tsri_operands *o, uint64_t group, uint64_t k,
                                  uint64_t col);
/* A weight times its scale, exactly, in o->exact_b; without scales the weight. */
uint64_t tsri_operand_scaled(const struct tsri_operands *o, uint64_t b, uint64_t scale);
/* A weight as it is multiplied: in o->mm_b. */
uint64_t tsri_operand_ready(const struct tsri_operands *o, uint64_t b);
/* Cores that divide k among them; 1: none do. */
uint64_t tsri_run_parts(const struct tsr_run_layer_plan *l);
/* By which power of two the results of a layer are divided on their way out. */
uint32_t tsri_operand_shift(const struct tsr_run_layer_plan *l);
/* TSR_INPUT and TSR_USAGE where the machine has no unit for the layer's formats. */
enum tsr_status tsri_operands_init(struct tsri_operands *o, const struct tsr_machine *m,
                                   const struct tsr_run_layer_plan *l, uint64_t layer,
                                   uint64_t seed, struct tsr_err *err);
/* The code of an element by its index in the tensor; *from: before quantisation. */
uint64_t tsri_operand(const struct tsri_operands *o, int tensor, uint64_t index, float *from);
/* The stream of random numbers of a tensor. */
uint64_t tsri_operand_stream(const struct tsri_operands *o, int tensor);
/* Where A[row, k] stands in the tensor; false: padding. */
bool tsri_operand_a_index(const struct tsri_operands *o, uint64_t row, uint64_t k,
                          uint64_t *index);
/* Where B[k, col] of a group stands in the tensor. */
uint64_t tsri_operand_b_index(const struct tsri_operands *o, uint64_t group, uint64_t k,
                              uint64_t col);
/* Where C[row, col] stands in the tensor; rows count over groups. */
uint64_t tsri_operand_c_index(const struct tsri_operands *o, uint64_t row, uint64_t col);
/* A sum in the output format, after the shift. */
uint64_t tsri_operand_out(const struct tsri_operands *o, uint64_t sum, unsigned *events);

/* A sum as figures take it. */
uint64_t tsri_operand_shown(const struct tsri_operands *o, uint64_t sum, unsigned *events);

/* The outputs that are looked at one by one: at least TSRI_SAMPLES of a layer, or
 * all, on a grid spread over it. */
enum { TSRI_SAMPLES = 64 };
struct tsri_grid {
  uint64_t rows, cols; /* of the grid */
};
struct tsri_grid tsri_operand_grid(const struct tsri_operands *o);
/* Row and column of the matrix (rows over groups) at place (i, j) of the grid. */
void tsri_operand_place(const struct tsri_operands *o, const struct tsri_grid *g, uint64_t i,
                        uint64_t j, uint64_t *row, uint64_t *col);

#endif
