/* Folds: a matmul cut into what an array of rows x cols elements holds at once,
 * columns outer, rows inner, groups outermost; which elements a fold touches, and
 * where they lie.  No time but the length of the stream.
 *
 * 2:4 sparsity (SRC:mishra2021).  b stores 2 of every 4 elements along k, and the
 * position of each in 2 bits.  Extents of k count what is executed, two of four: at a
 * dense peak of P products a cycle, m n k of them take m n k / (2 P) cycles.  So a row
 * of the array (ws, is) or a cycle of the stream (os) covers 2 * rate dense elements.
 * Elements of a are chosen after they were read: a moves in full.  b moves half its
 * elements, and half a byte for each group of four.  The view of b counts what is
 * stored.  Cuts of k between requests must not part a group.
 *
 * Units: elements, bytes.  Ownership: requests are borrowed. */
#ifndef TSR_MODELS_TILE_FOLD_H
#define TSR_MODELS_TILE_FOLD_H

#include "models/model.h"

enum tsri_dim { TSRI_M, TSRI_N, TSRI_K };
enum tsri_operand { TSRI_A, TSRI_B, TSRI_C };

struct tsri_flow {
  const char *name;
  enum tsri_dim rows, cols, stream; /* what lies along the array, what streams */
  bool stationary;                  /* an operand is loaded before the stream */
  enum tsri_operand held, streamed; /* of a stationary flow */
  bool lines;                       /* row stationary: dimensions are those of lines, below */
};
/* Row stationary (SRC:eyeriss): an element holds a row of a filter and makes with it a row of
 * results' share, which adds up along the rows of the filter.  TSRI_N counts filters times
 * their rows, whole filters in a fold, more than the array has rows where
 * several columns of them stand side by side; TSRI_M rows of results; TSRI_K what an element
 * multiplies: a row of results times a row of the filter. */
enum { TSRI_OS, TSRI_WS, TSRI_IS, TSRI_RS, TSRI_FLOWS };
extern const struct tsri_flow tsri_flows[TSRI_FLOWS];

struct tsri_array {
  const struct tsri_flow *flow;
  uint64_t rows, cols;
};

struct tsri_fold {
  uint64_t row0, col0;         /* first element along rows and columns */
  uint64_t rows, cols, stream; /* elements, clipped */
  uint64_t T;                  /* cycles of the stream */
  bool first_k, last_k;        /* no partial sum comes in; the sum is complete */
};

/* Where a request stands; zero: at its first fold. */
struct tsri_place {
  uint64_t group, row0, col0;
};

/* Of a convolution's request, or of another that has none: rows of results, of the filter, and
 * what a row of the filter has along k. */
uint64_t tsri_lines(const struct tsr_mm_req *q);
uint64_t tsri_k_lines(const struct tsr_mm_req *q);
uint64_t tsri_k_line(const struct tsr_mm_req *q);

/* What is executed along a dimension; folds of a request; cycles of each one's stream. */
uint64_t tsri_extent(const struct tsr_mm_req *q, enum tsri_dim dim);
uint64_t tsri_folds(const struct tsri_array *x, const struct tsr_mm_req *q);
uint64_t tsri_stream(const struct tsri_array *x, const struct tsr_mm_req *q);

void tsri_fold_at(const struct tsri_array *x, const struct tsr_mm_req *q,
                  const struct tsri_place *p, struct tsri_fold *out);
/* Moves to the next fold; false after the last. */
bool tsri_fold_next(const struct tsri_array *x, const struct tsr_mm_req *q,
                    struct tsri_place *p);

/* Bytes of operand a or b that a fold reads, positions of kept elements included;
 * of c: those of its partial sums, once. */
uint64_t tsri_fold_bytes(const struct tsri_array *x, const struct tsr_mm_req *q,
                         const struct tsri_fold *f, enum tsri_operand o);

/* Where a fold's accesses to an operand fall: a cycle takes a line along the array,
 * the skew of the wavefront is made behind the port.  False where the view has no
 * buffer, or where what a cycle takes is no line of equal distances: evenly then.
 * Groups all fall where the first does: a view tells no distance between them. */
bool tsri_fold_pattern(const struct tsri_array *x, const struct tsr_mm_req *q,
                       const struct tsri_fold *f, enum tsri_operand o, struct tsr_pattern *out);

const struct tsr_buffer_view *tsri_view(const struct tsr_mm_req *q, enum tsri_operand o);

#endif
