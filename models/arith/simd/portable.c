/* Kernels for any processor: the vector types of gcc and clang. */
#include "models/arith/simd/vector.h"

static bool runs(void) {
  return true;
}

static void fma32(const struct tsri_tile *t) {
  fma_rows(t, FMA_FP32);
}

static void int16(const struct tsri_tile *t) {
  const struct tsri_plan *p = t->p;
  const int16_t *panel = p->b16 + t->panel * NC * p->k_pad;
  for (size_t r = 0; r < t->rows; r++) {
    const int16_t *a = p->a16 + (t->row + r) * p->k_pad;
    uint32_t *c = (uint32_t *)t->c + r * NC;
    for (size_t k = t->k0; k < t->k1; k += 2) {
      const int16_t *b = panel + k * t->width;
      for (size_t l = 0; l < t->width; l++)
        c[l] += (uint32_t)(a[k] * b[2 * l]) + (uint32_t)(a[k + 1] * b[2 * l + 1]);
    }
  }
}

const struct tsri_isa tsri_isa_portable = {"portable",
                                           runs,
                                           {[TSRI_GEMM_FUSED] = fused,
                                            [TSRI_GEMM_TREE] = tree,
                                            [TSRI_GEMM_FMA32] = fma32,
                                            [TSRI_GEMM_FMA16] = fma16,
                                            [TSRI_GEMM_INT16] = int16}};
