/* Lowering: a mapping becomes a program.
 *
 * The program describes the three tensors, opens the mapping's loops, and in each
 * moves operands in, multiplies, moves results out, synchronised by semaphores:
 * a load waits for a free slot, the tile for full ones, a store for the tile.
 * Its length depends on the number of loops, never on the size of the layer.
 *
 * Sums that are promoted: each tile of k is summed on its own and the vector unit adds it,
 * in ascending order of k, to a running sum in fp32; that one is stored.  Sums whose k is
 * divided among cores: each core stores its own, in the format in which it holds it (the
 * accumulator's, or fp32 when promoted); when all are there, each core adds up its share of
 * the results, in ascending order of the cores, in that format.  Sums that are scaled: the
 * sum of a tile of k is multiplied by a row of scales, one for each n, in fp32, and added so.
 *
 * Epilogue: the vector unit works on a tile of results before it is stored, step after step, in
 * place: in fp32 where a sum has four bytes, else in the sum's format; what quantise makes for
 * a result of integers is int32 until it is stored.
 *
 * An operand that all cores need alike (A where n is divided, B where m is) may be loaded by
 * the first of them for all: each tells it when a slot is free, and it tells all when a slot
 * is full.
 *
 * Layout of tensors in DRAM: a plain matmul A[g][m][k], B[g][k][n], C[g][m][n]; a
 * convolution A in NHWC with groups side by side in the channels, B[g][kh][kw][c][n],
 * C in NHWC.  Partial sums of cores: one C behind the other.  Errors: TSR_NOMEM. */
#ifndef TSR_KERNELS_LOWER_LOWER_H
#define TSR_KERNELS_LOWER_LOWER_H

#include "isa/isa.h"
#include "kernels/lower/op.h"
#include "kernels/mapping/mapping.h"

/* A step of the epilogue: rows of its second operand lie [row][g][n] (with row: n alone,
 * batchnorm two rows), [g][m] (col), [g] (scalar) or like C (full). */
struct tsr_lower_step {
  struct tsr_op_step does;
  uint64_t base_bytes; /* 0 elements: it has none */
  uint32_t bytes;      /* of an element */
};
/* Where an epilogue happens: on results in their scratchpad, or in a pass of its own over sums
 * that were stored. */
enum tsr_epilogue { TSR_EPILOGUE_FUSED, TSR_EPILOGUE_SEPARATE };
extern const char *const tsr_epilogue_names[]; /* fused separate NULL */
enum { TSR_EPILOGUE_OPERANDS = 6 };            /* rows of second operands, of all steps */

struct tsr_layout {
  uint64_t base_bytes[3]; /* addresses of a, b, c in DRAM */
  uint64_t parts_bytes;   /* address of the cores' partial sums, where there are such */
  uint64_t scales_bytes;  /* and of the weights' scales [g][tile of k][n] */
  uint32_t scale_bytes;   /* of one of them */
  const char *scale_format;
  size_t n_steps;             /* of the epilogue */
  enum tsr_epilogue epilogue; /* separate: sums go to parts_bytes and back */
  bool whole;                 /* quantise makes integers */
  struct tsr_lower_step step[TSR_EPILOGUE_MAX];
  uint64_t slots[3];      /* buffers of scratchpads a, b, c */
  uint64_t slot_bytes[3]; /* of one of them */
  uint32_t rate;          /* products per array element and cycle */
  uint32_t shift;         /* results are divided by 2^shift on their way out */
  bool dequant;           /* weights become numbers of a's format in the vector unit */
  bool multicast;         /* what all cores need is loaded by the first for all */
  uint64_t pad_bytes;     /* behind each row of b in memory */
  bool tiled;             /* b lies in panels as wide as a tile of n, which divides n */
  const char *formats[4]; /* of a, b, the accumulator, the result */
};

/* One core of several: which, and how the layer is divided. */
struct tsr_lower_core {
  struct tsr_split split;
  uint64_t core;
};

/* How the second operand of a step lies, whatever the graph calls it; *rows of it, 0: none. */
enum tsr_with tsr_lower_step_operand(enum tsr_op_kind kind, enum tsr_with with, unsigned *rows);
/* The vector operations of a step, each on what the one before has made. */
size_t tsr_lower_step_list(const struct tsr_op_step *s,
                           struct tsr_vector_step out[TSR_STEPS_MAX]);
/* An immediate of one of them, as the code of an fp32. */
uint32_t tsr_lower_step_imm(const struct tsr_op_step *s, enum tsr_step_imm imm);

/* The program of one core: its part of the layer (NULL: all of it) under the mapping of
 * the largest part.  *out is empty before; transferred (tsr_isa_program_fini). */
enum tsr_status tsr_lower_program(const struct tsr_shape *s, const struct tsr_mapping *m,
                                  const struct tsr_layout *layout,
                                  const struct tsr_lower_core *core, struct tsr_program *out,
                                  struct tsr_err *err);

#endif
