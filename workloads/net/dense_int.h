/* One product of matrices, shared by MatMul, Gemm, Einsum, convolutions and recurrent cells.
 *
 * Units: elements; strides and offsets count elements, not bytes.  Ownership: arrays are the
 * caller's; what packing needs is allocated and freed within.  Errors: false is out of memory.
 */
#ifndef TSR_WORKLOADS_NET_DENSE_INT_H
#define TSR_WORKLOADS_NET_DENSE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Element (i, j) is at i * row + j * col; where a list of offsets is given, it takes the place
 * of that product. */
struct tsri_mat {
  const double *p;
  size_t row, col;
  const size_t *rows, *cols;
};
/* c[i * c_row + j] += a[m,k] * b[k,n].  Every sum starts from its c and adds the products in
 * the order of ascending k, whatever the sizes, so a result does not depend on the blocking. */
struct tsri_mm {
  size_t m, n, k;
  struct tsri_mat a, b;
  double *c;
  size_t c_row;
};
bool tsri_mm(const struct tsri_mm *p);

#endif
