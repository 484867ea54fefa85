/* Values of the vector operations (vector.def), on matrices of codes.
 *
 * Shapes: a is rows x cols; so is d, but for a reduction (rows x 1), a window operation
 * (rows x cols, from rows x cols windows of a) and compress24 (rows x cols/2).
 * Codes in memory as in gemm.h: tsr_gemm_code_bytes(format) an element.
 *
 * Arithmetic.  Operands are decoded exactly.  The datapath is fp32: every IEEE operation
 * of a row's formula is rounded to it (to nearest even), in the order written, and a
 * function (exp, log, tanh, erf, sigmoid, gelu, gelu_tanh, silu, rsqrt, softplus, sin, cos,
 * pow, the e^a - 1 of elu) once, within 0.500001 ulp.  Then the result is rounded once to the
 * format of d by `round`.  What only selects or moves (copy, neg, abs, relu, max, min, keep,
 * compress24), compares, or makes whole numbers (floor, ceil, round, sign, not) is exact up to
 * that rounding.  An int32 operand of another operation is rounded to fp32 as it enters, but
 * for the first step of quantise and dequantise, which takes it whole.
 * - Wide: where a format of the job is not contained in fp32, the datapath is fp64.
 * - Integers: where all are integers, operations are exact as long as results stay below
 *   2^53; d wraps or saturates as `round` says.  Products of two wrap exactly too.  div
 *   drops the fraction, INEXACT (SRC:onnx_operators); a divisor of 0 makes div, mod and fmod 0,
 * INVALID.
 * - less and the like: 1 or 0; a NaN compares with nothing.  keep: 0 whatever a is, and a NaN
 *   in b is not 0.  mod and fmod: exact but for what the sign of b adds; a 0 of mod has its
 *   sign.  pow: special cases of IEEE 754-2019, 9.2.1.  sign of 0 and NaN: itself.
 * - quantise, d an integer: a / b, rounded to a whole number by `round`, plus imm, clipped
 *   (SRC:onnx_quantize); d a float: (a / b) + imm.  It always saturates.
 * - max, min, relu: NaN wins, -0 < +0 (IEEE 754-2019, maximum and minimum).
 * - rope (SRC:su2021): with odd cols the last element is copied.
 * - Reductions: element i goes to partial sum i mod lanes, each from its first element on
 *   in ascending order; then neighbours meet (0 with 1, 2 with 3, ...; an odd last one
 *   passes), and so on until one is left; then the factor imm, where there is one; then
 *   what d holds, unless `first`: d = d + sum.  So lanes alone decide the order.  A
 *   window is added in ascending order, whatever the lanes.  Nothing to reduce: 0 for
 *   sums and rowabsmax, else the neutral infinity (integers: the limit).
 * - compress24: of every aligned 4 elements the 2 of largest magnitude (ties: the lower
 *   place; NaN is above all, -0 is zero), ascending, and for them a nibble
 *   place0 | place1 << 2, group 0 in the low half of a byte.  Places of a group with
 *   fewer than two non-zeros: SRC:pytorch_24.  A last group is filled with zeros.
 *
 * Events: of every rounding, datapath and d.  INVALID also for a NaN made from operands
 * that were none.  In the wide datapath itself only INVALID and OVERFLOW are seen.
 * d may be a, or b, element on element where their codes have the same size.
 * Ownership: everything is borrowed for the call.  Errors: none; a job that breaks its
 * contract is the caller's bug.  Determinism: no libm transcendental, no thread, no
 * memory of earlier calls. */
#ifndef TSR_MODELS_ARITH_VECTOR_H
#define TSR_MODELS_ARITH_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/arith/format.h"

enum tsr_vec_op {
#define VEC(id, name, kind, cls, doc) TSR_VEC_##id,
#include "models/arith/vector.def"
#undef VEC
  TSR_VEC_N_
};
enum tsr_vec_kind {
  TSR_VEC_UNARY,
  TSR_VEC_BINARY,
  TSR_VEC_REDUCE,
  TSR_VEC_WINDOW,
  TSR_VEC_PAIR
};
enum tsr_vec_class {
  TSR_VEC_CLASS_MOVE,
  TSR_VEC_CLASS_SIMPLE,
  TSR_VEC_CLASS_MUL,
  TSR_VEC_CLASS_DIV,
  TSR_VEC_CLASS_SPECIAL,
  TSR_VEC_CLASS_N_
};

struct tsr_vec_info {
  const char *name;
  enum tsr_vec_kind kind;
  enum tsr_vec_class cls;
  unsigned sources; /* 1: a; 2: a and b */
  const char *doc;
};
/* Of a row (static); NULL for no row. */
const struct tsr_vec_info *tsr_vec_info(unsigned op);
/* By name, or -1. */
int tsr_vec_find(const char *name);

/* Which element of b meets a[i][j]. */
enum tsr_vec_spread {
  TSR_VEC_EACH, /* b[i][j] */
  TSR_VEC_ROW,  /* b[0][j]: one row for all */
  TSR_VEC_COL,  /* b[i][0]: one column for all */
  TSR_VEC_ONE   /* b[0][0] */
};

/* A matrix of codes; strides in elements, the columns of a row adjacent. */
struct tsr_vec_in {
  const void *codes;
  const struct tsr_format *format;
  size_t ld;
};

enum { TSR_VEC_LANES_MAX = 4096 };

struct tsr_vec_job {
  enum tsr_vec_op op;
  size_t rows, cols;
  struct tsr_vec_in a, b; /* b.codes NULL: none */
  enum tsr_vec_spread spread;
  void *d;
  const struct tsr_format *d_format;
  size_t ldd;
  /* WINDOW: element w of the window of d[i][j] is a[i*ld + w*window_ld + j], or, where it
   * is not NULL, a[i*ld + window_at[w] + j]. */
  size_t window, window_ld;
  const size_t *window_at;
  uint32_t imm;                /* fp32 code */
  bool first;                  /* REDUCE, WINDOW: overwrites d */
  unsigned lanes;              /* REDUCE: at most TSR_VEC_LANES_MAX; 0: 1 */
  struct tsr_round_spec round; /* into d; SR: by index0 + i * cols + j of the result */
  uint64_t index0;
  uint8_t *meta; /* compress24: row i at meta + i * ldm, ceil(cols / 8) bytes of it */
  size_t ldm;
};

/* What happened to the results; opportunities are `elements`. */
struct tsr_vec_stats {
  uint64_t elements;                                         /* results written */
  uint64_t overflow, underflow, saturated, invalid, inexact; /* results with this event */
  uint64_t dropped; /* compress24: non-zeros that were not kept */
};

/* Runs a job.  `events` is OR-ed into and `stats` added to; both may be NULL. */
void tsr_vec_run(const struct tsr_vec_job *job, unsigned *events, struct tsr_vec_stats *stats);

#endif
