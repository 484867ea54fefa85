/* Shared by exact.c and its kernels. */
#ifndef TSR_KERNELS_CHECK_EXACT_INT_H
#define TSR_KERNELS_CHECK_EXACT_INT_H

#include <stddef.h>

/* A block of the result that a kernel holds in registers. */
enum { TSRI_EXACT_MR = 8, TSRI_EXACT_NR = 16 };

/* c[MR, NR] += a * b over k, k ascending for every element; a is k x MR, b is k x NR,
 * both packed; ldc in elements.  Products must be exact, so that a fused and a
 * separate multiply-add give the same bits. */
typedef void tsri_exact_kernel(size_t k, const double *a, const double *b, double *c,
                               size_t ldc);
tsri_exact_kernel tsri_exact_portable;
#if defined(__x86_64__)
tsri_exact_kernel tsri_exact_avx2, tsri_exact_avx512;
#endif

#endif
