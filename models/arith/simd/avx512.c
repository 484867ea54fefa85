/* Kernels for AVX-512 (F, BW, DQ, VL, VNNI).  What each computes, why it is exact and
 * what bounds it: README.md. */
#include "models/arith/simd/avx512.h"

static bool runs(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

/* sum * 2^(e - F) as the next accumulator; e: alignment exponents. */
INLINE __m512 rounded(__m512i sum, __m512i e, int bits, int out) {
  __m512 unit = power(_mm512_sub_epi32(e, _mm512_set1_epi32(bits - 127)));
  if (out == TSRI_OUT_RNE32) return _mm512_mul_ps(_mm512_cvtepi32_ps(sum), unit);
  __m512 v = _mm512_cvt_roundepi32_ps(sum, RZ);
  if (out == TSRI_OUT_RNE16) {
    /* Round to odd at 24 bits, so that the second rounding sees what was dropped. */
    __mmask16 cut = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(v), sum);
    v = _mm512_castsi512_ps(_mm512_mask_or_epi32(_mm512_castps_si512(v), cut,
                                                 _mm512_castps_si512(v), _mm512_set1_epi32(1)));
    __m256i half = _mm512_cvtps_ph(_mm512_mul_ps(v, unit), _MM_FROUND_TO_NEAREST_INT);
    return _mm512_cvtph_ps(half);
  }
  v = _mm512_mul_ps(v, unit);
  if (out == TSRI_OUT_E8M13)
    v = _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(~0x3ff)));
  return v;
}

/* What a step keeps of 16 lanes of a row. */
struct lanes {
  __m512 old, scale; /* C; 2^(F - e), for products */
  __m512i e, lane;   /* alignment exponent; what lies between it and a packed one */
  __m512i sum, part;
  __mmask16 far, bad;
};

/* Exponents: where the lanes are aligned, and which can not be done here. */
INLINE void lanes_align(const struct fused *f, struct lanes *x, size_t r, size_t col, int out,
                        const int8_t *tops) {
  const struct tsri_plan *p = f->t->p;
  x->old = _mm512_loadu_ps((float *)f->t->c + (f->row + r) * NC + col);
  x->lane = scale_exponents(f, r, col);
  __m512i bits = _mm512_castps_si512(x->old);
  __m512i ep = _mm512_cvtepi8_epi32(_mm_load_si128((const void *)(tops + col)));
  __m512i ec = _mm512_srli_epi32(_mm512_slli_epi32(bits, 1), 24);
  ec = _mm512_sub_epi32(ec, _mm512_set1_epi32(127));
  if (out == TSRI_OUT_RNE16) {
    /* Subnormals of fp16 stand at -14; a zero at the least exponent. */
    __mmask16 some = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(INT32_MAX));
    ec = _mm512_max_epi32(ec, _mm512_set1_epi32(-14));
    ec = _mm512_mask_mov_epi32(_mm512_set1_epi32(p->zero_exp), some, ec);
    ec = _mm512_max_epi32(ec, _mm512_set1_epi32(p->zero_exp));
  }
  x->e = _mm512_max_epi32(_mm512_add_epi32(ep, x->lane), ec);
  __m512i least = _mm512_min_epi32(x->e, _mm512_sub_epi32(x->e, x->lane));
  x->far = _mm512_cmplt_epi32_mask(least, _mm512_set1_epi32(TSRI_EXP_FAR)) |
           _mm512_cmpgt_epi32_mask(x->e, _mm512_set1_epi32(TSRI_EXP_HIGH));
}

/* Lanes out of range: those of nothing but zeros are done here after all, as their
 * sum is a zero wherever they are aligned. */
INLINE void lanes_far(const struct tsri_plan *p, struct lanes *x, const int8_t *tops) {
  __m512i far = _mm512_set1_epi32(TSRI_EXP_FAR), high = _mm512_set1_epi32(TSRI_EXP_HIGH);
  __m512i ep = _mm512_cvtepi8_epi32(_mm_load_si128((const void *)tops));
  __m512i low = _mm512_add_epi32(_mm512_max_epi32(x->lane, _mm512_setzero_si512()), far);
  __mmask16 zero =
      _mm512_testn_epi32_mask(_mm512_castps_si512(x->old), _mm512_set1_epi32(INT32_MAX));
  zero &= _mm512_cmplt_epi32_mask(ep, far) & _mm512_cmple_epi32_mask(low, high);
  if (!p->spread) x->far &= (__mmask16)~zero;
  x->e = _mm512_max_epi32(_mm512_min_epi32(x->e, high), low);
}

INLINE void lanes_open(const struct tsri_plan *p, struct lanes *x) {
  __m512i field = _mm512_sub_epi32(_mm512_set1_epi32(127 + p->bits), x->e);
  x->sum = _mm512_cvttps_epi32(_mm512_mul_ps(x->old, power(field)));
  field = _mm512_add_epi32(field, x->lane);
  x->scale = power(_mm512_max_epi32(field, _mm512_setzero_si512()));
  x->part = _mm512_setzero_si512();
}

INLINE void lanes_term(struct lanes *x, __m512 a, __m512 b) {
  __m512 z = _mm512_mul_ps(_mm512_mul_ps(a, b), x->scale);
  x->part = _mm512_add_epi32(x->part, _mm512_cvttps_epi32(z));
}

/* sum += part; lanes in which that leaves 32 bits are bad. */
INLINE void lanes_join(struct lanes *x, bool wraps) {
  __m512i s = _mm512_add_epi32(x->sum, x->part);
  if (wraps) {
    /* (x ^ s) & (y ^ s): the sum has a sign neither addend has. */
    __m512i o = _mm512_and_si512(_mm512_xor_si512(x->sum, s), _mm512_xor_si512(x->part, s));
    x->bad |= _mm512_movepi32_mask(o);
  }
  x->sum = s;
  x->part = _mm512_setzero_si512();
}

static __attribute__((noinline)) void lanes_redo(const struct fused *f, __mmask16 bad,
                                                 __m512 old, size_t r, size_t col) {
  const struct tsri_tile *t = f->t;
  _mm512_mask_storeu_ps((float *)t->c + (f->row + r) * NC + col, bad, old);
  for (unsigned m = bad; m; m &= m - 1)
    tsri_step_scalar(t, f->row + r, col + (size_t)__builtin_ctz(m), f->k, f->n);
}

/* One step of rows f->row .. of the tile, columns col .. col + 16 * vecs. */
INLINE void fused_step(const struct fused *f, size_t rows, size_t vecs, size_t col, int out,
                       int8_t (*tops)[64], const __mmask64 *odd) {
  const struct tsri_tile *t = f->t;
  const struct tsri_plan *p = t->p;
  struct lanes x[2][2];
  unsigned any = 0;
  UNROLL for (size_t r = 0; r < rows; r++) {
    UNROLL for (size_t v = 0; v < vecs; v++) {
      lanes_align(f, &x[r][v], r, col + 16 * v, out, tops[r]);
      any |= x[r][v].far;
    }
  }
  if (__builtin_expect(any, 0)) {
    UNROLL for (size_t r = 0; r < rows; r++) {
      UNROLL for (size_t v = 0; v < vecs; v++) lanes_far(p, &x[r][v], tops[r] + col + 16 * v);
    }
  }
  UNROLL for (size_t r = 0; r < rows; r++) {
    UNROLL for (size_t v = 0; v < vecs; v++) {
      x[r][v].bad = x[r][v].far | (__mmask16)(odd[r] >> (col + 16 * v));
      lanes_open(p, &x[r][v]);
    }
  }
  const float *a0 = f->a + f->k, *a1 = a0 + (rows > 1 ? p->g->k : 0);
  const float *b = f->b + f->k * t->width + col;
  for (size_t k = 0; k < f->n;) {
    /* 16 terms of less than 2^27 each stay inside 32 bits. */
    size_t to = k + 16 < f->n ? k + 16 : f->n;
    UNROLL_SOME for (; k < to; k++, b += t->width) {
      __m512 a[2] = {_mm512_set1_ps(a0[k]), _mm512_set1_ps(a1[k])};
      UNROLL for (size_t v = 0; v < vecs; v++) {
        __m512 y = _mm512_loadu_ps(b + 16 * v);
        UNROLL for (size_t r = 0; r < rows; r++) lanes_term(&x[r][v], a[r], y);
      }
    }
    UNROLL for (size_t r = 0; r < rows; r++) {
      UNROLL for (size_t v = 0; v < vecs; v++) lanes_join(&x[r][v], p->wraps);
    }
  }
  any = 0;
  UNROLL for (size_t r = 0; r < rows; r++) {
    UNROLL for (size_t v = 0; v < vecs; v++) {
      struct lanes *l = &x[r][v];
      /* A zero is -0 only where every term is negative or -0: rare, left to the
       * reference where C leaves that open. */
      l->bad |= _mm512_testn_epi32_mask(l->sum, l->sum) &
                _mm512_movepi32_mask(_mm512_castps_si512(l->old));
      any |= l->bad;
      _mm512_storeu_ps((float *)t->c + (f->row + r) * NC + col + 16 * v,
                       rounded(l->sum, l->e, p->bits, out));
    }
  }
  if (__builtin_expect(!any, 1)) return;
  UNROLL for (size_t r = 0; r < rows; r++) {
    UNROLL for (size_t v = 0; v < vecs; v++) if (x[r][v].bad)
        lanes_redo(f, x[r][v].bad, x[r][v].old, r, col + 16 * v);
  }
}

INLINE void fused_rows(struct fused *f, size_t rows, int out) {
  const struct tsri_tile *t = f->t;
  const struct tsri_plan *p = t->p;
  const size_t width = t->width;
  TSR_CHECK(width <= NC); /* `odd` has a bit for each column */
  _Alignas(64) int8_t tops[2][64];
  for (f->k = t->k0; f->k < t->k1; f->k += f->n) {
    __m512i top[2];
    __mmask64 odd[2] = {0, 0};
    f->n = tsr_min_u64((uint64_t)p->len, t->k1 - f->k);
    top_exponents(f, rows, 0, 1, top);
    for (size_t r = 0; r < rows; r++) {
      _mm512_store_si512(tops[r], top[r]);
      if (p->a_odd[t->row + f->row + r] | p->b_odd[t->panel]) odd[r] = odd_lanes(f, r);
    }
    size_t col = 0;
    for (; col + 32 <= width; col += 32) fused_step(f, rows, 2, col, out, tops, odd);
    if (col < width) fused_step(f, rows, 1, col, out, tops, odd);
  }
}

INLINE void fused_out(const struct tsri_tile *t, int out) {
  const struct tsri_plan *p = t->p;
  size_t k = p->g->k, at = t->panel * NC * k;
  for (size_t r = 0; r < t->rows;) {
    struct fused f = {.t = t, .b = p->bv + at, .be = p->be + at, .row = r};
    f.a = p->av + (t->row + r) * k;
    f.ae = p->ae + (t->row + r) * k;
    if (r + 2 <= t->rows) {
      fused_rows(&f, 2, out);
      r += 2;
    } else {
      fused_rows(&f, 1, out);
      r += 1;
    }
  }
}

static void fused(const struct tsri_tile *t) {
  switch (t->p->out) {
  case TSRI_OUT_RZ32: fused_out(t, TSRI_OUT_RZ32); break;
  case TSRI_OUT_E8M13: fused_out(t, TSRI_OUT_E8M13); break;
  case TSRI_OUT_RNE32: fused_out(t, TSRI_OUT_RNE32); break;
  case TSRI_OUT_RNE16: fused_out(t, TSRI_OUT_RNE16); break;
  }
}

/* acc = fma(a, b, acc) over k for `rows` rows and 16 * vecs columns. */
INLINE void fma32_block(const struct tsri_tile *t, size_t row, size_t col, int rows, int vecs) {
  size_t k_all = t->p->g->k;
  const float *a = t->p->av + (t->row + row) * k_all;
  const float *b = t->p->bv + t->panel * NC * k_all + col;
  float *c = (float *)t->c + row * NC + col;
  __m512 acc[6][4];
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < vecs; v++) acc[r][v] = _mm512_loadu_ps(c + r * NC + 16 * v);
  for (size_t k = t->k0; k < t->k1; k++) {
    __m512 y[4];
    for (int v = 0; v < vecs; v++) y[v] = _mm512_loadu_ps(b + k * t->width + 16 * v);
    for (int r = 0; r < rows; r++) {
      __m512 x = _mm512_set1_ps(a[(size_t)r * k_all + k]);
      for (int v = 0; v < vecs; v++) acc[r][v] = _mm512_fmadd_ps(x, y[v], acc[r][v]);
    }
  }
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < vecs; v++) _mm512_storeu_ps(c + r * NC + 16 * v, acc[r][v]);
}

static void fma32(const struct tsri_tile *t) {
  for (size_t r = 0; r < t->rows;) {
    bool many = r + 6 <= t->rows;
    size_t col = 0;
    for (; col + 64 <= t->width; col += 64) {
      if (many)
        fma32_block(t, r, col, 6, 4);
      else
        fma32_block(t, r, col, 1, 4);
    }
    for (; col < t->width; col += 16) {
      if (many)
        fma32_block(t, r, col, 6, 1);
      else
        fma32_block(t, r, col, 1, 1);
    }
    r += many ? 6 : 1;
  }
}

INLINE void fma64_block(const struct tsri_tile *t, size_t row, size_t col, int rows) {
  size_t k_all = t->p->g->k;
  const double *a = t->p->ad + (t->row + row) * k_all;
  const double *b = t->p->bd + t->panel * NC * k_all + col;
  double *c = (double *)t->c + row * NC + col;
  __m512d acc[6][2];
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < 2; v++) acc[r][v] = _mm512_loadu_pd(c + r * NC + 8 * v);
  for (size_t k = t->k0; k < t->k1; k++) {
    __m512d y[2];
    for (int v = 0; v < 2; v++) y[v] = _mm512_loadu_pd(b + k * t->width + 8 * v);
    for (int r = 0; r < rows; r++) {
      __m512d x = _mm512_set1_pd(a[(size_t)r * k_all + k]);
      for (int v = 0; v < 2; v++) acc[r][v] = _mm512_fmadd_pd(x, y[v], acc[r][v]);
    }
  }
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < 2; v++) _mm512_storeu_pd(c + r * NC + 8 * v, acc[r][v]);
}

static void fma64(const struct tsri_tile *t) {
  for (size_t r = 0; r < t->rows;) {
    bool many = r + 6 <= t->rows;
    for (size_t col = 0; col < t->width; col += 16) {
      if (many)
        fma64_block(t, r, col, 6);
      else
        fma64_block(t, r, col, 1);
    }
    r += many ? 6 : 1;
  }
}

/* fp16 or bf16 after each step: the sum rounded to odd in fp32 (RZ, last bit set
 * where inexact: rounding the other way gives another number), then to nearest even
 * in the narrow format.  24 bits are more than two above 11: no double rounding. */
INLINE __m512 fma16_step(__m512 x, __m512 y, __m512 acc, bool bf16) {
  __m512 lo = _mm512_fmadd_round_ps(x, y, acc, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  __m512 hi = _mm512_fmadd_round_ps(x, y, acc, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
  __m512i l = _mm512_castps_si512(lo), h = _mm512_castps_si512(hi);
  /* Neighbours: the one whose last bit is set (an overflow: the largest finite number
   * has it set).  Equal: exact.  -0 and +0: terms that cancel, which is +0. */
  __mmask16 odd = _mm512_test_epi32_mask(l, _mm512_set1_epi32(1));
  __m512i v = _mm512_mask_mov_epi32(h, odd, l);
  if (!bf16) {
    __m256i half = _mm512_cvtps_ph(_mm512_castsi512_ps(v), _MM_FROUND_TO_NEAREST_INT);
    return _mm512_cvtph_ps(half);
  }
  __mmask16 nan = _mm512_cmp_ps_mask(lo, hi, _CMP_UNORD_Q);
  __m512i up = _mm512_and_si512(_mm512_srli_epi32(v, 16), _mm512_set1_epi32(1));
  v = _mm512_add_epi32(v, _mm512_add_epi32(up, _mm512_set1_epi32(0x7fff)));
  v = _mm512_and_si512(v, _mm512_set1_epi32(~0xffff));
  return _mm512_castsi512_ps(_mm512_mask_mov_epi32(v, nan, _mm512_set1_epi32(0x7fc00000)));
}

INLINE void fma16_block(const struct tsri_tile *t, size_t row, size_t col, int rows,
                        bool bf16) {
  size_t k_all = t->p->g->k;
  const float *a = t->p->av + (t->row + row) * k_all;
  const float *b = t->p->bv + t->panel * NC * k_all + col;
  float *c = (float *)t->c + row * NC + col;
  __m512 acc[8];
  for (int r = 0; r < rows; r++) acc[r] = _mm512_loadu_ps(c + r * NC);
  for (size_t k = t->k0; k < t->k1; k++) {
    __m512 y = _mm512_loadu_ps(b + k * t->width);
    for (int r = 0; r < rows; r++)
      acc[r] = fma16_step(_mm512_set1_ps(a[(size_t)r * k_all + k]), y, acc[r], bf16);
  }
  for (int r = 0; r < rows; r++) _mm512_storeu_ps(c + r * NC, acc[r]);
}

static void fma16(const struct tsri_tile *t) {
  bool bf16 = t->p->g->unit->acc->man_bits == 7;
  for (size_t r = 0; r < t->rows;) {
    bool many = r + 8 <= t->rows;
    for (size_t col = 0; col < t->width; col += 16) {
      if (many && bf16)
        fma16_block(t, r, col, 8, true);
      else if (many)
        fma16_block(t, r, col, 8, false);
      else
        fma16_block(t, r, col, 1, bf16);
    }
    r += many ? 8 : 1;
  }
}

INLINE void int8_block(const struct tsri_tile *t, size_t row, size_t col, int rows, int vecs) {
  size_t pad = t->p->k_pad;
  const uint8_t *a = t->p->a8 + (t->row + row) * pad;
  const uint8_t *b = t->p->b8 + t->panel * NC * pad + 4 * col;
  int32_t *c = (int32_t *)t->c + row * NC + col;
  __m512i acc[6][4];
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < vecs; v++) acc[r][v] = _mm512_loadu_si512(c + r * NC + 16 * v);
  for (size_t k = t->k0; k < t->k1; k += 4) {
    __m512i y[4];
    for (int v = 0; v < vecs; v++) y[v] = _mm512_loadu_si512(b + k * t->width + 64 * v);
    for (int r = 0; r < rows; r++) {
      int32_t quad;
      __builtin_memcpy(&quad, a + (size_t)r * pad + k, 4);
      __m512i x = _mm512_set1_epi32(quad);
      for (int v = 0; v < vecs; v++) acc[r][v] = _mm512_dpbusd_epi32(acc[r][v], x, y[v]);
    }
  }
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < vecs; v++) _mm512_storeu_si512(c + r * NC + 16 * v, acc[r][v]);
}

static void int8(const struct tsri_tile *t) {
  for (size_t r = 0; r < t->rows;) {
    bool many = r + 6 <= t->rows;
    size_t col = 0;
    for (; col + 64 <= t->width; col += 64) {
      if (many)
        int8_block(t, r, col, 6, 4);
      else
        int8_block(t, r, col, 1, 4);
    }
    for (; col < t->width; col += 16) {
      if (many)
        int8_block(t, r, col, 6, 1);
      else
        int8_block(t, r, col, 1, 1);
    }
    r += many ? 6 : 1;
  }
}

const struct tsri_isa tsri_isa_avx512 = {"avx512",
                                         runs,
                                         {[TSRI_GEMM_FUSED] = fused,
                                          [TSRI_GEMM_FMA32] = fma32,
                                          [TSRI_GEMM_FMA64] = fma64,
                                          [TSRI_GEMM_FMA16] = fma16,
                                          [TSRI_GEMM_TREE] = tsri_avx512_tree,
                                          [TSRI_GEMM_EXACT] = tsri_avx512_exact,
                                          [TSRI_GEMM_STAGES] = tsri_avx512_stages,
                                          [TSRI_GEMM_GROUPED] = tsri_avx512_grouped,
                                          [TSRI_GEMM_INT8] = int8}};
