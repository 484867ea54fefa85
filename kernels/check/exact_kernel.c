/* The fp64 block: the same sums in the same order on each path. */
#include "kernels/check/exact_int.h"

enum { MR = TSRI_EXACT_MR, NR = TSRI_EXACT_NR };

void tsri_exact_portable(size_t k, const double *a, const double *b, double *c, size_t ldc) {
  for (int i = 0; i < MR; i++) {
    double acc[NR];
    for (int j = 0; j < NR; j++) acc[j] = c[(size_t)i * ldc + (size_t)j];
    for (size_t l = 0; l < k; l++)
      for (int j = 0; j < NR; j++) acc[j] += a[l * MR + (size_t)i] * b[l * NR + (size_t)j];
    for (int j = 0; j < NR; j++) c[(size_t)i * ldc + (size_t)j] = acc[j];
  }
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Four rows by eight columns: eight sums in flight hide the latency. */
__attribute__((target("avx2,fma"))) static void
avx2_part(size_t k, const double *a, const double *b, double *c, size_t ldc) {
  __m256d acc[4][2];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 2; j++) acc[i][j] = _mm256_loadu_pd(c + (size_t)i * ldc + 4 * j);
  for (size_t l = 0; l < k; l++) {
    __m256d b0 = _mm256_loadu_pd(b + l * NR), b1 = _mm256_loadu_pd(b + l * NR + 4);
    for (int i = 0; i < 4; i++) {
      __m256d x = _mm256_broadcast_sd(a + l * MR + i);
      acc[i][0] = _mm256_fmadd_pd(x, b0, acc[i][0]);
      acc[i][1] = _mm256_fmadd_pd(x, b1, acc[i][1]);
    }
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 2; j++) _mm256_storeu_pd(c + (size_t)i * ldc + 4 * j, acc[i][j]);
}

void tsri_exact_avx2(size_t k, const double *a, const double *b, double *c, size_t ldc) {
  for (int i = 0; i < MR; i += 4)
    for (int j = 0; j < NR; j += 8) avx2_part(k, a + i, b + j, c + (size_t)i * ldc + j, ldc);
}

__attribute__((target("avx512f"))) void
tsri_exact_avx512(size_t k, const double *a, const double *b, double *c, size_t ldc) {
  __m512d acc[MR][2];
  for (int i = 0; i < MR; i++)
    for (int j = 0; j < 2; j++) acc[i][j] = _mm512_loadu_pd(c + (size_t)i * ldc + 8 * j);
  for (size_t l = 0; l < k; l++) {
    __m512d b0 = _mm512_loadu_pd(b + l * NR), b1 = _mm512_loadu_pd(b + l * NR + 8);
    for (int i = 0; i < MR; i++) {
      __m512d x = _mm512_set1_pd(a[l * MR + (size_t)i]);
      acc[i][0] = _mm512_fmadd_pd(x, b0, acc[i][0]);
      acc[i][1] = _mm512_fmadd_pd(x, b1, acc[i][1]);
    }
  }
  for (int i = 0; i < MR; i++)
    for (int j = 0; j < 2; j++) _mm512_storeu_pd(c + (size_t)i * ldc + 8 * j, acc[i][j]);
}
#endif
