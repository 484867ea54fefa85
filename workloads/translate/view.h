/* Where the elements of an operator's tensor come from, or go to, in a value of a net.
 *
 * An operand of the operator graph is an array of its own shape and layout (a convolution's A
 * is NHWC); a view says which element of a value of the net (row-major, as the model has it)
 * each of its elements is.  Coordinates i[0..rank) run over the operand in row-major order, the
 * last fastest, and j[d] = base[d] + sum over e of coef[d][e] * i[e] is, where `table[d]` is
 * not NULL, looked up (table[d][j[d]], n_table[d] entries), and then the coordinate d of the
 * value.  What falls outside [0, extent[d]) (or outside the table) is `fill`.
 *
 * A result's view must be one to one and have no fill.
 * Ownership: plain values; tables live in the net's arena. */
#ifndef TSR_WORKLOADS_TRANSLATE_VIEW_H
#define TSR_WORKLOADS_TRANSLATE_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "workloads/net/array.h"

enum { TSR_VIEW_RANK = 12 };
struct tsr_view {
  size_t value;  /* of the net; SIZE_MAX: `fill` everywhere */
  unsigned rank; /* of the operand */
  uint64_t dim[TSR_VIEW_RANK];
  unsigned src_rank; /* of the value */
  uint64_t extent[TSR_RANK_MAX];
  int64_t base[TSR_RANK_MAX];
  int64_t coef[TSR_RANK_MAX][TSR_VIEW_RANK];
  const int64_t *table[TSR_RANK_MAX];
  uint64_t n_table[TSR_RANK_MAX];
  double fill;
};
enum { TSR_VIEW_OUTSIDE = -1 };
/* The elements of the operand: the product of dim. */
uint64_t tsr_view_elems(const struct tsr_view *v);
/* Calls fn for runs of the operand: elements [first, first + n) are the value's from `at` on in
 * steps of `step` elements (0: all the same one; `at` TSR_VIEW_OUTSIDE: the fill). In order,
 * the operand whole. */
typedef void tsr_view_run_fn(void *arg, uint64_t first, uint64_t n, int64_t at, int64_t step);
void tsr_view_runs(const struct tsr_view *v, tsr_view_run_fn *fn, void *arg);
/* The whole value as it is: one dimension of `n` elements. */
void tsr_view_whole(struct tsr_view *v, size_t value, uint64_t n);
/* The value with its own dimensions (coefficients of 1). */
void tsr_view_of(struct tsr_view *v, size_t value, unsigned rank, const uint64_t *dim);

/* An operand: several views side by side.  It is `rows` rows; part p covers cols[p] columns of
 * every row, its view running over rows x cols[p]. */
enum { TSR_OPERAND_PARTS = 64 };
struct tsr_operand_view {
  uint64_t rows;
  unsigned n_parts; /* 0: the operand is drawn, not bound */
  const uint64_t *cols;
  const struct tsr_view *part;
};

/* The bindings of one operator. */
struct tsr_op_binding {
  size_t net;  /* of the graph's */
  size_t node; /* of the net that it is part of, for messages and figures */
  struct tsr_operand_view a, b;
  struct tsr_operand_view step[8]; /* second operands of the epilogue (TSR_EPILOGUE_MAX) */
  struct tsr_view out;
  bool has_out;
  struct tsr_view out2; /* topk: the columns */
  bool has_out2;
};

#endif
