/* Lowering of what is no matmul or convolution: an operator of workloads/op.def becomes one
 * program a core.
 *
 * A program loops over tiles, double-buffered where the scratchpads have several buffers:
 * inputs go to scratchpad a, second operands and parameters to b, results and what leads to
 * them to c; load, vector unit (and tile, of an attention) and store meet at semaphores.
 * Row-wise and elementwise operators are lists of vector operations (op.def of this folder's
 * own: lower.def), so that who checks a program can take the same list.
 *
 * Layouts: matrices row-major, `count` of them behind one another; images NHWC; attention
 * Q[head][m][k], keys K[kv head][n][k] and behind all of them values V[kv head][n][k].
 * Units: elements, unless the name says bytes.  Ownership: plain values.
 * Errors: TSR_INPUT where a tile fits no scratchpad, with what does not. */
#ifndef TSR_KERNELS_LOWER_OP_H
#define TSR_KERNELS_LOWER_OP_H

#include "isa/isa.h"
#include "kernels/mapping/mapping.h"
#include "models/arith/vector.h"
#include "workloads/graph.h"

/* Tensors of an operator; extra ones beside the three of op.def. */
enum {
  TSR_LOWER_A,
  TSR_LOWER_B,
  TSR_LOWER_OUT,
  TSR_LOWER_X0,
  TSR_LOWER_X1,
  TSR_LOWER_X2,
  TSR_LOWER_TENSORS,
  TSR_LOWER_EXTRA = TSR_LOWER_TENSORS - TSR_LOWER_X0
};
/* Their formats: the roles of a layer, and two that no policy changes. */
enum tsr_lower_fmt {
  TSR_LOWER_FMT_A,
  TSR_LOWER_FMT_B,
  TSR_LOWER_FMT_ACC, /* of temporaries; of a matmul's sums */
  TSR_LOWER_FMT_OUT,
  TSR_LOWER_FMT_INT32,
  TSR_LOWER_FMT_FP32,
  TSR_LOWER_FMTS
};
enum tsr_lower_content {
  TSR_CONTENT_DATA,    /* drawn like operands */
  TSR_CONTENT_INDEX,   /* indices below `below` */
  TSR_CONTENT_COUNT,   /* 0, 1, 2, … */
  TSR_CONTENT_PLACES,  /* of a causal attention: n - m, n - m + 1, … for m queries, then
                          0, 1, … for n keys */
  TSR_CONTENT_RESULT,  /* the program writes it */
  TSR_CONTENT_SCRATCH, /* it writes and reads it */
};
struct tsr_lower_tensor {
  uint64_t elems; /* 0: there is none */
  enum tsr_lower_fmt fmt;
  enum tsr_lower_content content;
  uint64_t below;
};

enum tsr_attention { TSR_ATTENTION_TILED, TSR_ATTENTION_PLAIN, TSR_ATTENTION_N_ };
extern const char *const tsr_attention_names[]; /* tiled plain NULL */

enum { TSR_LOWER_SOURCES = 64 };
/* Where the operator runs, and where its tensors lie. */
struct tsr_lower_at {
  uint64_t base_bytes[TSR_LOWER_TENSORS];
  uint64_t slots[3], slot_bytes[3]; /* buffers of scratchpads a, b, c */
  const char *formats[TSR_LOWER_FMTS];
  uint32_t bytes[TSR_LOWER_FMTS]; /* of an element */
  uint32_t rate;                  /* attention: products per array element and cycle */
  enum tsr_attention attention;
  bool integers;    /* a format of a, b is one of integers */
  size_t n_sources; /* concat: columns of each source; 0: one */
  uint64_t source[TSR_LOWER_SOURCES];
};

/* How an operator is cut into tiles and among cores. */
struct tsr_lower_cut {
  uint32_t cores;
  int axis; /* cores divide axis number `axis` of size[] in chunks */
  uint64_t chunk;
  uint64_t size[4]; /* of the operator, outer to inner (a family's own axes) … */
  uint64_t tile[4]; /* … and of a tile */
  uint64_t parts;   /* columns are cut in so many tiles: rows take several passes */
  bool resident;    /* attention: keys and values of a head stay in scratchpad b */
};

/* Which tensors there are (elements without the epilogue's, all counts). */
enum tsr_status tsr_lower_op_tensors(const struct tsr_op *op, const struct tsr_lower_at *at,
                                     struct tsr_lower_tensor t[TSR_LOWER_TENSORS],
                                     struct tsr_err *err);
/* Cuts the operator among at most `cores` cores. */
enum tsr_status tsr_lower_op_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                                 uint64_t cores, struct tsr_lower_cut *cut,
                                 struct tsr_err *err);
/* Tiles of an attention in a cut that was made: m queries, n keys, and whether keys and values
 * of a head stay in scratchpad b.  false: they do not fit, *cut stays. */
bool tsr_lower_attention_tiles(const struct tsr_op *op, const struct tsr_lower_at *at,
                               uint64_t m, uint64_t n, bool resident,
                               struct tsr_lower_cut *cut);
void tsr_lower_attention_of(const struct tsr_lower_cut *cut, uint64_t *m, uint64_t *n);
/* The program of one of cut->cores cores.  *out is empty before; transferred. */
enum tsr_status tsr_lower_op(const struct tsr_op *op, const struct tsr_lower_at *at,
                             const struct tsr_lower_cut *cut, uint64_t core,
                             struct tsr_program *out, struct tsr_err *err);
/* `softmax.rows`: the operator and the way it is done (static second half). */
const char *tsr_lower_op_way(const struct tsr_op *op, const struct tsr_lower_at *at,
                             const struct tsr_lower_cut *cut);
/* Its tiles in a line, like tsr_mapping_print. */
void tsr_lower_op_print(const struct tsr_op *op, const struct tsr_lower_cut *cut,
                        struct tsr_str *out);

/* ---- operators as lists of vector operations ---- */

enum tsr_step_operand {
  TSR_STEP_A,
  TSR_STEP_B,  /* the second operand, its first row */
  TSR_STEP_B1, /* its second row */
  TSR_STEP_D,
  TSR_STEP_T0, /* a temporary of rows and columns */
  TSR_STEP_T1,
  TSR_STEP_R0, /* one of an element a row */
  TSR_STEP_R1,
  TSR_STEP_R2,
  TSR_STEP_NONE
};
enum tsr_step_when {
  TSR_STEP_EACH,  /* for every tile of columns */
  TSR_STEP_AGAIN, /* only where columns are cut: the pass before has done it, but not kept */
  TSR_STEP_END    /* once the pass has seen all columns */
};
enum tsr_step_imm {
  TSR_STEP_ZERO,
  TSR_STEP_ONE,
  TSR_STEP_INV_N,
  TSR_STEP_EPS,
  TSR_STEP_ALPHA,
  TSR_STEP_INV_ALPHA,
  TSR_STEP_BETA,
  TSR_STEP_ZERO_POINT
};
struct tsr_vector_step {
  uint8_t pass, when; /* enum tsr_step_when */
  uint8_t op;         /* enum tsr_vec_op */
  uint8_t d, a, b;    /* enum tsr_step_operand */
  uint8_t bc;         /* enum tsr_isa_bc: how b meets rows and columns */
  uint8_t imm;        /* enum tsr_step_imm */
};
enum { TSR_STEPS_MAX = 16 };
/* The list of a row-wise or elementwise operator (not topk), copied; how many. */
size_t tsr_lower_op_steps(const struct tsr_op *op, struct tsr_vector_step out[TSR_STEPS_MAX]);
/* An immediate as the code of an fp32. */
uint32_t tsr_lower_op_imm(const struct tsr_op *op, enum tsr_step_imm imm);

/* Rows of such an operator, or of gathers: count and m flattened where b allows it. */
struct tsr_lower_rows {
  uint64_t g, m, n;
};
void tsr_lower_op_rows(const struct tsr_op *op, struct tsr_lower_rows *out);

#endif
