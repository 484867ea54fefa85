/* Inside the AVX-512 kernels: exponents and scales of packed operands. */
#ifndef TSR_MODELS_ARITH_SIMD_AVX512_H
#define TSR_MODELS_ARITH_SIMD_AVX512_H

#include <immintrin.h>

#include "models/arith/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))
/* Before a loop of few turns over registers. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#define UNROLL_SOME _Pragma("clang loop unroll_count(4)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#define UNROLL_SOME _Pragma("GCC unroll 4")
#endif

enum { RZ = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC, NC = TSRI_NC };

/* Rows of A and the panel of B as the fused kernel reads them. */
struct fused {
  const struct tsri_tile *t;
  const float *a, *b;
  const int8_t *ae, *be;
  size_t row; /* within the tile */
  size_t n;   /* products of the step at hand */
  size_t k;   /* its first */
};

/* The largest exponent of a product, for up to 64 columns of `rows` rows; of every
 * `stride`-th product from the `first` on. */
INLINE void top_exponents(const struct fused *f, size_t rows, size_t first, size_t stride,
                          __m512i *top) {
  const struct tsri_tile *t = f->t;
  __mmask64 lanes = t->width == 64 ? ~(__mmask64)0 : ((__mmask64)1 << t->width) - 1;
  size_t k_all = t->p->g->k;
  UNROLL for (size_t r = 0; r < rows; r++) top[r] = _mm512_set1_epi8(TSRI_EXP_ZERO);
  for (size_t k = f->k + first; k < f->k + f->n; k += stride) {
    __m512i eb = _mm512_maskz_loadu_epi8(lanes, f->be + k * t->width);
    UNROLL for (size_t r = 0; r < rows; r++) {
      __m512i ea = _mm512_set1_epi8(f->ae[r * k_all + k]);
      top[r] = _mm512_max_epi8(top[r], _mm512_adds_epi8(ea, eb));
    }
  }
}

/* Columns of this step that hold an infinity or NaN, or all where row `r` of A does. */
INLINE __mmask64 odd_lanes(const struct fused *f, size_t r) {
  const struct tsri_tile *t = f->t;
  const struct tsri_plan *p = t->p;
  __mmask64 lanes = t->width == 64 ? ~(__mmask64)0 : ((__mmask64)1 << t->width) - 1;
  __mmask64 odd = 0;
  for (size_t k = f->k; k < f->k + f->n; k++) {
    if (f->ae[r * p->g->k + k] == TSRI_EXP_SPECIAL) return lanes;
    __m512i eb = _mm512_maskz_loadu_epi8(lanes, f->be + k * t->width);
    odd |= _mm512_cmpeq_epi8_mask(eb, _mm512_set1_epi8(TSRI_EXP_SPECIAL));
  }
  return odd;
}

INLINE __m512 power(__m512i field) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(field, 23));
}

/* What the operands' own scaling and the block scales add to a packed exponent. */
INLINE __m512i scale_exponents(const struct fused *f, size_t r, size_t col) {
  const struct tsri_plan *p = f->t->p;
  if (!p->a_exp) return _mm512_set1_epi32(p->top);
  size_t block = f->k / p->scale_block;
  __m512i b = _mm512_loadu_si512(p->b_exp + block * p->panels * NC + f->t->col + col);
  int32_t a = p->a_exp[(f->t->row + f->row + r) * p->blocks + block];
  return _mm512_add_epi32(b, _mm512_set1_epi32(p->top + a));
}

/* Kernels of avx512_steps.c. */
void tsri_avx512_tree(const struct tsri_tile *t);
void tsri_avx512_exact(const struct tsri_tile *t);
void tsri_avx512_stages(const struct tsri_tile *t);
void tsri_avx512_grouped(const struct tsri_tile *t);

#endif
