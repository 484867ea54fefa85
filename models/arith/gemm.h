/* Matrix products through a matrix unit, bit for bit, at the speed of the processor.
 *
 * D = A * B + C for whole matrices: element (i, j) equals tsr_mma_dot over row i of A
 * and column j of B, on every bit and every path.  Shapes: A m x k, B k x n, C and D
 * m x n, all row-major; ld* are row strides in elements.
 * Codes in memory: one an element, in the smallest of 1, 2, 4, 8 bytes that holds
 * the format's bits (formats narrower than a byte: one code a byte).
 * Ownership: everything is borrowed for the call.
 * Errors: TSR_NOMEM, with C untouched.  Memory: packed operands, at most 12 bytes an
 * element of A and of B (B's columns rounded up to 16), and tiles of fixed size.
 * Determinism: the result depends on no thread count, path or blocking.
 * Sources: those of models/arith/mma.h. */
#ifndef TSR_MODELS_ARITH_GEMM_H
#define TSR_MODELS_ARITH_GEMM_H

#include "models/arith/mma.h"
#include "sim/base/err.h"

struct tsr_gemm {
  const struct tsr_mma *unit;
  size_t m, n, k;
  const void *a; /* codes of unit->a */
  size_t lda;
  const void *b; /* codes of unit->b */
  size_t ldb;
  void *c; /* codes of unit->acc: C on entry, D on exit */
  size_t ldc;
  /* Ends of ranges of k, ascending, the last = k.  Each range starts at +0; their
   * sums meet as in tsr_mma_dot_split.  n_cuts 0: one range that starts from C. */
  const size_t *cuts;
  size_t n_cuts;
  unsigned threads; /* at most this many; 0 and 1: the calling thread alone */
  /* Block scales, one code (1 byte) for each unit->scale_block of k; both NULL: 1.
   * scale_a: m rows of lds_a; scale_b: one row of lds_b for each block of k. */
  const void *scale_a;
  size_t lds_a;
  const void *scale_b;
  size_t lds_b;
};

/* Runs `g` on the fastest path that knows the unit.  With `events` or `stats` (both
 * may be NULL) they collect over all elements, on the scalar path; same bits. */
enum tsr_status tsr_gemm_run(const struct tsr_gemm *g, unsigned *events,
                             struct tsr_mma_stats *stats, struct tsr_err *err);
/* The same, element by element through tsr_mma_dot_split. */
enum tsr_status tsr_gemm_reference(const struct tsr_gemm *g, unsigned *events,
                                   struct tsr_mma_stats *stats, struct tsr_err *err);

/* The path tsr_gemm_run takes for `u`: "avx512", "avx2", "portable" or "scalar"
 * (static). */
const char *tsr_gemm_path(const struct tsr_mma *u);
/* Tests: allows this path and slower ones only; NULL: all.  false, and nothing
 * changed, when this processor or build lacks it.  Not while a product runs. */
bool tsr_gemm_force(const char *path);
/* Bytes of a code of `f` in memory. */
size_t tsr_gemm_code_bytes(const struct tsr_format *f);

#endif
