/* Kernels for AVX2 with FMA. */
#include <immintrin.h>

#include "models/arith/simd/vector.h"

static bool runs(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

INLINE void fma32_block(const struct tsri_tile *t, size_t row, size_t col, int rows) {
  size_t k_all = t->p->g->k;
  const float *a = t->p->av + (t->row + row) * k_all;
  const float *b = t->p->bv + t->panel * NC * k_all + col;
  float *c = (float *)t->c + row * NC + col;
  __m256 acc[6][2];
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < 2; v++) acc[r][v] = _mm256_loadu_ps(c + r * NC + 8 * v);
  for (size_t k = t->k0; k < t->k1; k++) {
    __m256 y[2];
    for (int v = 0; v < 2; v++) y[v] = _mm256_loadu_ps(b + k * t->width + 8 * v);
    for (int r = 0; r < rows; r++) {
      __m256 x = _mm256_set1_ps(a[(size_t)r * k_all + k]);
      for (int v = 0; v < 2; v++) acc[r][v] = _mm256_fmadd_ps(x, y[v], acc[r][v]);
    }
  }
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < 2; v++) _mm256_storeu_ps(c + r * NC + 8 * v, acc[r][v]);
}

static void fma32(const struct tsri_tile *t) {
  for (size_t r = 0; r < t->rows;) {
    bool many = r + 6 <= t->rows;
    for (size_t col = 0; col < t->width; col += 16) {
      if (many)
        fma32_block(t, r, col, 6);
      else
        fma32_block(t, r, col, 1);
    }
    r += many ? 6 : 1;
  }
}

INLINE void fma64_block(const struct tsri_tile *t, size_t row, size_t col, int rows) {
  size_t k_all = t->p->g->k;
  const double *a = t->p->ad + (t->row + row) * k_all;
  const double *b = t->p->bd + t->panel * NC * k_all + col;
  double *c = (double *)t->c + row * NC + col;
  __m256d acc[6][2];
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < 2; v++) acc[r][v] = _mm256_loadu_pd(c + r * NC + 4 * v);
  for (size_t k = t->k0; k < t->k1; k++) {
    __m256d y[2];
    for (int v = 0; v < 2; v++) y[v] = _mm256_loadu_pd(b + k * t->width + 4 * v);
    for (int r = 0; r < rows; r++) {
      __m256d x = _mm256_set1_pd(a[(size_t)r * k_all + k]);
      for (int v = 0; v < 2; v++) acc[r][v] = _mm256_fmadd_pd(x, y[v], acc[r][v]);
    }
  }
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < 2; v++) _mm256_storeu_pd(c + r * NC + 4 * v, acc[r][v]);
}

static void fma64(const struct tsri_tile *t) {
  for (size_t r = 0; r < t->rows;) {
    bool many = r + 6 <= t->rows;
    for (size_t col = 0; col < t->width; col += 8) {
      if (many)
        fma64_block(t, r, col, 6);
      else
        fma64_block(t, r, col, 1);
    }
    r += many ? 6 : 1;
  }
}

INLINE void int16_block(const struct tsri_tile *t, size_t row, size_t col, int rows) {
  size_t pad = t->p->k_pad;
  const int16_t *a = t->p->a16 + (t->row + row) * pad;
  const int16_t *b = t->p->b16 + t->panel * NC * pad + 2 * col;
  int32_t *c = (int32_t *)t->c + row * NC + col;
  __m256i acc[4][2];
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < 2; v++)
      acc[r][v] = _mm256_loadu_si256((const void *)(c + r * NC + 8 * v));
  for (size_t k = t->k0; k < t->k1; k += 2) {
    __m256i y[2];
    for (int v = 0; v < 2; v++)
      y[v] = _mm256_loadu_si256((const void *)(b + k * t->width + 16 * v));
    for (int r = 0; r < rows; r++) {
      int32_t pair;
      memcpy(&pair, a + (size_t)r * pad + k, 4);
      for (int v = 0; v < 2; v++)
        acc[r][v] =
            _mm256_add_epi32(acc[r][v], _mm256_madd_epi16(_mm256_set1_epi32(pair), y[v]));
    }
  }
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < 2; v++) _mm256_storeu_si256((void *)(c + r * NC + 8 * v), acc[r][v]);
}

static void int16(const struct tsri_tile *t) {
  for (size_t r = 0; r < t->rows;) {
    bool many = r + 4 <= t->rows;
    for (size_t col = 0; col < t->width; col += 16) {
      if (many)
        int16_block(t, r, col, 4);
      else
        int16_block(t, r, col, 1);
    }
    r += many ? 4 : 1;
  }
}

const struct tsri_isa tsri_isa_avx2 = {"avx2",
                                       runs,
                                       {[TSRI_GEMM_FUSED] = fused,
                                        [TSRI_GEMM_TREE] = tree,
                                        [TSRI_GEMM_FMA32] = fma32,
                                        [TSRI_GEMM_FMA64] = fma64,
                                        [TSRI_GEMM_FMA16] = fma16,
                                        [TSRI_GEMM_INT16] = int16}};
