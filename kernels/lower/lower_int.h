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
  bool halo;   /* neighbouring elements of an axis share coordinates */
  bool panels; /* an element is a tile of the axis it follows, … */
  bool inside; /* … or lies within one */
  struct tsri_follow follow[TSRI_FOLLOW_MAX];
  int n_follow;
};
struct tsri_tensor { /* row-major, slowest dimension first */
  uint32_t elem_bytes;
  int rank;
  struct tsri_dim dim[TSR_ISA_DIMS];
  uint64_t pad_bytes; /* behind each row of the last dimension */
};

/* The operator families: tensors a, b, c of the shape under the mapping. */
void tsri_describe_matmul(const struct tsr_shape *s, const struct tsr_mapping *m,
                          struct tsri_tensor t[3]);
void tsri_describe_conv(const struct tsr_shape *s, const struct tsr_mapping *m,
                        struct tsri_tensor t[3]);

/* Format registers, by their use. */
enum {
  TSRI_FMT_A,
  TSRI_FMT_B,
  TSRI_FMT_ACC,
  TSRI_FMT_OUT,
  TSRI_FMT_SUM,
  TSRI_FMT_SCALE,
  TSRI_FMT_WHOLE
};
/* Tensors and places beyond those of a, b, c: sums that others are added to, parts of a
 * sum as they come back. */
enum {
  TSRI_PLACE_SUM = 3,
  TSRI_PLACE_PART = 4,
  TSRI_PLACE_SCALES,
  TSRI_PLACE_SCALED,
  TSRI_PLACE_EACH,    /* a result in the format of the epilogue … */
  TSRI_PLACE_WHOLE,   /* … and as integers */
  TSRI_PLACE_READY,   /* weights in a's format */
  TSRI_PLACE_OPERANDS /* and on */
};
enum {
  TSRI_TENSOR_PARTS = 3,
  TSRI_TENSOR_RESULT = 4,
  TSRI_TENSOR_SCALES,
  TSRI_TENSOR_OPERANDS /* and on */
};
/* Semaphores: a slot is free, a slot is full, for scratchpads a, b, c; the same for running
 * sums and for parts that come back; the parts of all cores are there. */
enum {
  TSRI_SEM_FREE = 0,
  TSRI_SEM_FULL = 3,
  TSRI_SEM_SUM_FREE = 6,
  TSRI_SEM_SUM_FULL,
  TSRI_SEM_PART_FREE,
  TSRI_SEM_PART_FULL,
  TSRI_SEM_TOTAL_FREE, /* sums of the cores' */
  TSRI_SEM_TOTAL_FULL,
  TSRI_SEM_PARTS,
  TSRI_SEM_SCALES_FREE,
  TSRI_SEM_SCALES_FULL,
  TSRI_SEM_STEPS_FULL, /* a result behind its epilogue */
  TSRI_SEM_OPERAND_FREE = 16,
  TSRI_SEM_READY_FREE = 22, /* of weights in a's format; those are full as b is */
  TSRI_SEM_RAW_FULL,        /* weights as they were loaded */
  TSRI_SEM_OPERAND_FULL = 24,
  TSRI_SEM_BACK_FULL = 30, /* sums that a separate epilogue has loaded again */
  TSRI_SEM_OF_CORE = 32    /* and on, of the first core: a slot of the shared operand is free at
                              core 0, 1, … of the program's */
};
enum { TSRI_SHARING_MAX = TSR_ISA_SEMS - TSRI_SEM_OF_CORE }; /* cores */

/* A row of a step's second operand. */
struct tsri_operand_row {
  enum tsr_with with;
  size_t step;
  unsigned row;
  uint32_t level; /* loops around its transfers */
};

/* A program in the making. */
struct tsri_lowering {
  const struct tsr_shape *s;
  const struct tsr_mapping *m;
  const struct tsr_layout *layout;
  struct tsr_program *p;
  struct tsr_split split;
  uint64_t core; /* of the layer's */
  struct tsr_part part;
  int shared;        /* operand that the first core loads for all: a or b, -1: none */
  uint32_t level[3]; /* loops around the transfers of a, b, c */
  uint64_t used_c;   /* bytes of scratchpad c that rings take */
  size_t n_operands;
  struct tsri_operand_row operand[TSR_EPILOGUE_OPERANDS];
  uint32_t scales_level; /* and of the scales */
  uint64_t trips[TSR_AXIS_COUNT];
};

#define TSRI_EMIT(lo, op, ...) \
  tsr_isa_emit((lo)->p, TSR_ISA_##op, (const int64_t[]){__VA_ARGS__})

/* The loop of an axis, or TSR_ISA_NO_LOOP. */
int64_t tsri_lower_loop(const struct tsr_mapping *m, enum tsr_isa_axis x);
/* Elements of an axis that the part has. */
uint64_t tsri_lower_size(const struct tsri_lowering *lo, enum tsr_isa_axis x);
/* The axes of rows and of columns of a result, as sets. */
int64_t tsri_lower_rows(const struct tsri_lowering *lo);
int64_t tsri_lower_cols(const struct tsri_lowering *lo);
/* A tensor whose box is of the dimensions of x, within the core's part. */
void tsri_lower_tensor(struct tsri_lowering *lo, int t, const struct tsri_tensor *x, int fmt,
                       uint64_t base_bytes);
/* The epilogue: which operands there are; what the head says of them (c: the tensor of the
 * result); their transfers at a level of loops and the end of their use; the operations.
 * Returns the place of the result. */
void tsri_lower_find_operands(struct tsri_lowering *lo);
void tsri_lower_describe_steps(struct tsri_lowering *lo, const struct tsri_tensor *c);
void tsri_lower_load_operands(struct tsri_lowering *lo, uint32_t level);
void tsri_lower_free_operands(struct tsri_lowering *lo, uint32_t level);
int tsri_lower_run_steps(struct tsri_lowering *lo);
/* Scales of the weights: what the head says of them. */
void tsri_lower_describe_scales(struct tsri_lowering *lo, uint64_t base);
/* A ring of buffers: the n-th transfer inside `level` loops uses the n-th of them. */
struct tsri_ring {
  int buf, fmt;
  uint64_t elem, base, slot, slots;
  uint32_t level;
};
void tsri_lower_place(struct tsri_lowering *lo, int place, const struct tsri_ring *r);
/* Formats, tensors, places, axes and the semaphores that go with them. */
void tsri_lower_describe(struct tsri_lowering *lo);
/* Elements of c that a tile holds. */
uint64_t tsri_lower_tile_c(const struct tsr_mapping *m);
uint64_t tsri_lower_tile_b(const struct tsr_mapping *m);
/* Cores of the layer. */
static inline uint64_t tsri_lower_cores(const struct tsri_lowering *lo) {
  return tsr_split_cores(&lo->split);
}
/* Bytes of an element of what leaves scratchpad c. */
uint64_t tsri_lower_sum_bytes(const struct tsri_lowering *lo);
/* Results are finished by a pass over stored sums. */
static inline bool tsri_lower_separate(const struct tsri_lowering *lo) {
  return lo->layout->n_steps && lo->layout->epilogue == TSR_EPILOGUE_SEPARATE;
}
/* Cores whose sums along k meet in memory; 1: those of each are complete. */
uint64_t tsri_lower_parts(const struct tsri_lowering *lo);
/* Behind the loops: the cores' partial sums, added in ascending order, become results. */
void tsri_lower_reduce(struct tsri_lowering *lo);

#endif
