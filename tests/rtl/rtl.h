/* Drives the arrays of systolic.sv by their handshakes and tells when those came.
 *
 * Cycles are counted from the first handshake after reset, which is in cycle 0; "end"
 * is the cycle after a handshake.  Operands are row-major codes: int8 in the low byte,
 * or fp16; results are int32 or fp32.  Operands beyond the edge of a matrix are zeros.
 * Requests are cut into folds, columns outer, rows inner.
 * Errors: the bench ends the program when the array stands still for good. */
#ifndef TSR_TESTS_RTL_RTL_H
#define TSR_TESTS_RTL_RTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rtl_flow { RTL_OS, RTL_OS_SERIAL, RTL_WS, RTL_WS_PRELOAD };

struct rtl_mm {
  uint64_t m, n, k;
  bool first, last;      /* of a sum over several requests: those fit the array */
  const uint16_t *a, *b; /* [m][k], [k][n] */
  uint32_t *c;           /* [m][n]; results, where last */
  uint64_t open;         /* results are taken from this cycle on */
  /* out */
  uint64_t computed; /* os: the first result of the last fold is there; ws: = end */
  uint64_t taken;    /* end of the last operand */
  uint64_t end;      /* of the last result; of the last operand where there is none */
};
struct rtl_fold {
  uint64_t start, end; /* of its first and last operand that streams */
  uint64_t beats;      /* handshakes in between */
};

/* Rows and columns of the array that was built. */
extern const uint64_t rtl_rows, rtl_cols;

/* Runs the requests one after the other; returns how many folds there were, the first
 * `cap` of which are in `folds`. */
size_t rtl_run(enum rtl_flow flow, bool fp, struct rtl_mm *mm, size_t n, struct rtl_fold *folds,
               size_t cap);

#ifdef __cplusplus
}
#endif
#endif
