/* AVX-512 kernels of the units that are no plain chain: rounded trees that flush,
 * exact sums, two stages, scaled groups.  Sums wider than 32 bits are doubles that
 * stay exact; README.md has the bounds. */
#include "models/arith/simd/avx512.h"

/* Subnormals to a zero of their sign. */
INLINE __m512 flushed(__m512 x) {
  __mmask16 small =
      _mm512_testn_epi32_mask(_mm512_castps_si512(x), _mm512_set1_epi32(0x7f800000));
  return _mm512_castsi512_ps(_mm512_mask_and_epi32(
      _mm512_castps_si512(x), small, _mm512_castps_si512(x), _mm512_set1_epi32(INT32_MIN)));
}

INLINE void tree_block(const struct tsri_tile *t, size_t row, size_t col, size_t len) {
  size_t k_all = t->p->g->k;
  const float *a = t->p->av + (t->row + row) * k_all;
  const float *b = t->p->bv + t->panel * NC * k_all + col;
  float *c = (float *)t->c + row * NC + col;
  __m512 acc = _mm512_loadu_ps(c);
  /* A subnormal C is +0, whatever its sign; later ones can not be subnormal. */
  __mmask16 small =
      _mm512_testn_epi32_mask(_mm512_castps_si512(acc), _mm512_set1_epi32(0x7f800000)) &
      _mm512_test_epi32_mask(_mm512_castps_si512(acc), _mm512_set1_epi32(INT32_MAX));
  acc = _mm512_mask_mov_ps(acc, small, _mm512_setzero_ps());
  size_t k = t->k0;
  for (; k + len <= t->k1; k += len) {
    __m512 p[4];
    for (size_t i = 0; i < len; i++)
      p[i] = flushed(
          _mm512_mul_ps(_mm512_set1_ps(a[k + i]), _mm512_loadu_ps(b + (k + i) * t->width)));
    __m512 sum = flushed(_mm512_add_ps(p[0], p[1]));
    if (len == 4) sum = flushed(_mm512_add_ps(sum, flushed(_mm512_add_ps(p[2], p[3]))));
    acc = flushed(_mm512_add_ps(acc, sum));
  }
  _mm512_storeu_ps(c, acc);
  for (size_t l = 0; k < t->k1 && l < 16; l++) tsri_step_scalar(t, row, col + l, k, t->k1 - k);
}

void tsri_avx512_tree(const struct tsri_tile *t) {
  for (size_t r = 0; r < t->rows; r++) {
    for (size_t col = 0; col < t->width; col += 16) {
      if (t->p->len == 4)
        tree_block(t, r, col, 4);
      else
        tree_block(t, r, col, 2);
    }
  }
}

INLINE __m512d half_pd(__m512 x, int half) {
  return _mm512_cvtps_pd(half ? _mm512_extractf32x8_ps(x, 1) : _mm512_castps512_ps256(x));
}

INLINE __m512d half_int(__m512i x, int half) {
  return _mm512_cvtepi32_pd(half ? _mm512_extracti32x8_epi32(x, 1) : _mm512_castsi512_si256(x));
}

/* Lanes that the vector step can not do, once more through the reference. */
INLINE void redo(const struct tsri_tile *t, size_t row, size_t col, size_t k, size_t n,
                 __mmask16 bad, __m512 old) {
  float *at = (float *)t->c + row * NC + col;
  _mm512_mask_storeu_ps(at, bad, old);
  for (unsigned m = bad; m; m &= m - 1)
    tsri_step_scalar(t, row, col + (size_t)__builtin_ctz(m), k, n);
}

/* Products and C in double, added while no addition loses a bit (two-sum: its error
 * is 0), then rounded once.  A lane that lost one, or holds an infinity or NaN (whose
 * error is NaN), is left to the reference. */
INLINE void exact_step(const struct tsri_tile *t, size_t row, size_t col, size_t k, size_t n) {
  size_t k_all = t->p->g->k;
  const float *a = t->p->av + (t->row + row) * k_all;
  const float *b = t->p->bv + t->panel * NC * k_all + col;
  float *c = (float *)t->c + row * NC + col;
  __m512 old = _mm512_loadu_ps(c);
  __m256 out[2];
  unsigned bad = 0;
  for (int h = 0; h < 2; h++) {
    __m512d acc = half_pd(old, h);
    __mmask8 lost = 0;
    for (size_t i = k; i < k + n; i++) {
      __m512d y = _mm512_cvtps_pd(_mm256_loadu_ps(b + i * t->width + 8 * h));
      __m512d p = _mm512_mul_pd(_mm512_set1_pd((double)a[i]), y);
      __m512d s = _mm512_add_pd(acc, p), d = _mm512_sub_pd(s, acc);
      __m512d err = _mm512_add_pd(_mm512_sub_pd(acc, _mm512_sub_pd(s, d)), _mm512_sub_pd(p, d));
      lost |= _mm512_cmp_pd_mask(err, _mm512_setzero_pd(), _CMP_NEQ_UQ);
      acc = s;
    }
    out[h] = _mm512_cvtpd_ps(acc);
    bad |= (unsigned)lost << (8 * h);
  }
  _mm256_storeu_ps(c, out[0]);
  _mm256_storeu_ps(c + 8, out[1]);
  if (bad) redo(t, row, col, k, n, (__mmask16)bad, old);
}

void tsri_avx512_exact(const struct tsri_tile *t) {
  size_t len = (size_t)t->p->len;
  for (size_t r = 0; r < t->rows; r++) {
    for (size_t k = t->k0; k < t->k1; k += len) {
      size_t n = tsr_min_u64(len, t->k1 - k);
      for (size_t col = 0; col < t->width; col += 16) exact_step(t, r, col, k, n);
    }
  }
}

/* The first stage: every stride-th product aligned at *e (relative), truncated. */
INLINE __m512i first_stage(const struct fused *f, size_t col, size_t first, size_t stride,
                           const int8_t *tops, __m512i *e) {
  const struct tsri_plan *p = f->t->p;
  const float *a = f->a + f->k, *b = f->b + f->k * f->t->width + col;
  *e = _mm512_cvtepi8_epi32(_mm_load_si128((const void *)(tops + col)));
  __m512i near = _mm512_max_epi32(*e, _mm512_set1_epi32(TSRI_EXP_FAR));
  __m512 scale = power(_mm512_sub_epi32(_mm512_set1_epi32(127 + p->bits), near));
  __m512i sum = _mm512_setzero_si512();
  for (size_t k = first; k < f->n; k += stride) {
    __m512 z = _mm512_mul_ps(_mm512_set1_ps(a[k]), _mm512_loadu_ps(b + k * f->t->width));
    sum = _mm512_add_epi32(sum, _mm512_cvttps_epi32(_mm512_mul_ps(z, scale)));
  }
  return sum;
}

/* 8 lanes of the second stage; F = 24, F2 = 31.  t: first stage in units of
 * 2^(e - d - 24), c: C, e: alignment exponent (as doubles). */
INLINE __m256 second_stage(__m512d t, __m512d c, __m512d e, __m512d d, bool parity, __m512d ec,
                           __mmask8 *zero) {
  enum { DOWN = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC };
  t = _mm512_roundscale_pd(_mm512_scalef_pd(t, _mm512_sub_pd(_mm512_set1_pd(8), d)), DOWN);
  c = _mm512_roundscale_pd(_mm512_scalef_pd(c, _mm512_sub_pd(_mm512_set1_pd(24), e)), DOWN);
  if (parity) {
    __mmask8 none = _mm512_cmp_pd_mask(ec, _mm512_sub_pd(e, _mm512_set1_pd(25)), _CMP_LT_OQ);
    c = _mm512_mask_mov_pd(c, none, _mm512_setzero_pd());
  }
  __m512d s = _mm512_fmadd_pd(c, _mm512_set1_pd(256), t); /* exact: below 2^38 */
  __m512d q = _mm512_sub_pd(e, _mm512_set1_pd(32));
  __m512d msb = _mm512_max_pd(_mm512_getexp_pd(s), _mm512_sub_pd(_mm512_set1_pd(-126), q));
  __m512d down = _mm512_sub_pd(msb, _mm512_set1_pd(31));
  __m512d cut = _mm512_scalef_pd(s, _mm512_sub_pd(_mm512_setzero_pd(), down));
  cut = _mm512_roundscale_pd(cut, DOWN);
  *zero = _mm512_cmp_pd_mask(s, _mm512_setzero_pd(), _CMP_EQ_OQ);
  return _mm512_cvtpd_ps(_mm512_scalef_pd(cut, _mm512_add_pd(down, q)));
}

INLINE void stages_step(const struct fused *f, size_t col, bool parity, int8_t (*tops)[64],
                        __mmask64 odd) {
  const struct tsri_plan *p = f->t->p;
  float *at = (float *)f->t->c + f->row * NC + col;
  __m512 c = _mm512_loadu_ps(at);
  __m512i bits = _mm512_castps_si512(c), e, sum;
  __mmask16 far = 0; /* a half below FAR: cut at FAR, not where the reference has it */
  if (parity) {
    __m512i e1;
    sum = first_stage(f, col, 0, 2, tops[0], &e);
    __m512i sum1 = first_stage(f, col, 1, 2, tops[1], &e1);
    __m512i top = _mm512_max_epi32(e, e1);
    far = _mm512_cmplt_epi32_mask(_mm512_min_epi32(e, e1), _mm512_set1_epi32(TSRI_EXP_FAR));
    sum = _mm512_add_epi32(_mm512_srav_epi32(sum, _mm512_sub_epi32(top, e)),
                           _mm512_srav_epi32(sum1, _mm512_sub_epi32(top, e1)));
    e = top;
  } else {
    sum = first_stage(f, col, 0, 1, tops[0], &e);
  }
  __mmask16 none = _mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(TSRI_EXP_FAR));
  __mmask16 bad = (__mmask16)(odd >> col);
  if (p->spread) bad |= none | far;
  __m512i ec = _mm512_srli_epi32(_mm512_slli_epi32(bits, 1), 24);
  ec = _mm512_max_epi32(_mm512_sub_epi32(ec, _mm512_set1_epi32(127)), _mm512_set1_epi32(-126));
  __m512i ed = _mm512_add_epi32(e, _mm512_set1_epi32(p->top));
  ed = _mm512_mask_mov_epi32(ed, none, _mm512_set1_epi32(-999));
  __m512i top = _mm512_max_epi32(ed, ec), d = _mm512_sub_epi32(top, ed);
  bad |= _mm512_cmpgt_epi32_mask(top, _mm512_set1_epi32(TSRI_EXP_HIGH));
  unsigned zero = 0;
  for (int h = 0; h < 2; h++) {
    __mmask8 z;
    __m256 r = second_stage(half_int(sum, h), half_pd(c, h), half_int(top, h), half_int(d, h),
                            parity, half_int(ec, h), &z);
    zero |= (unsigned)z << (8 * h);
    _mm256_storeu_ps(at + 8 * h, r);
  }
  bad |= (__mmask16)zero & _mm512_movepi32_mask(bits);
  if (bad) redo(f->t, f->row, col, f->k, f->n, bad, c);
}

INLINE void fused_open(struct fused *f, const struct tsri_tile *t, size_t row) {
  const struct tsri_plan *p = t->p;
  size_t k = p->g->k, at = t->panel * NC * k;
  *f = (struct fused){.t = t, .b = p->bv + at, .be = p->be + at, .row = row};
  f->a = p->av + (t->row + row) * k;
  f->ae = p->ae + (t->row + row) * k;
}

static void stages_rows(const struct tsri_tile *t, bool parity) {
  const struct tsri_plan *p = t->p;
  _Alignas(64) int8_t tops[2][64];
  for (size_t r = 0; r < t->rows; r++) {
    struct fused f;
    fused_open(&f, t, r);
    for (f.k = t->k0; f.k < t->k1; f.k += f.n) {
      f.n = tsr_min_u64((uint64_t)p->len, t->k1 - f.k);
      for (size_t half = 0; half <= (size_t)parity; half++) {
        __m512i top;
        top_exponents(&f, 1, half, parity ? 2 : 1, &top);
        _mm512_store_si512(tops[half], top);
      }
      __mmask64 odd = 0;
      if (p->a_odd[t->row + r] | p->b_odd[t->panel]) odd = odd_lanes(&f, 0);
      for (size_t col = 0; col < t->width; col += 16) {
        if (parity)
          stages_step(&f, col, true, tops, odd);
        else
          stages_step(&f, col, false, tops, odd);
      }
    }
  }
}

void tsri_avx512_stages(const struct tsri_tile *t) {
  stages_rows(t, t->p->g->unit->parity);
}

/* Up to GROUPS_HIGH a step stays below 2^127: a group is less than 16 * 6 * 6 * 4 < 2^12
 * times the power of its scales. */
enum { GROUPS_MAX = 4, GROUPS_HIGH = 112 };

/* A step of groups: their exact sums are floats, cut and added in double. */
INLINE void grouped_step(const struct tsri_tile *t, size_t row, size_t col, size_t k0,
                         size_t n) {
  const struct tsri_plan *p = t->p;
  size_t k_all = p->g->k, len = (size_t)p->g->unit->group_len, groups = n / len;
  const float *a = p->av + (t->row + row) * k_all;
  const float *b = p->bv + t->panel * NC * k_all + col;
  float *at = (float *)t->c + row * NC + col;
  __m512 c = _mm512_loadu_ps(at), sum[GROUPS_MAX];
  __m512i exp[GROUPS_MAX], bits = _mm512_castps_si512(c);
  __m512i mag = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MAX));
  __m512i top = _mm512_set1_epi32(p->zero_exp), high = _mm512_set1_epi32(GROUPS_HIGH);
  __m512i ec = _mm512_sub_epi32(_mm512_srli_epi32(mag, 23), _mm512_set1_epi32(127));
  ec = _mm512_max_epi32(ec, _mm512_set1_epi32(-126));
  __mmask16 bad = 0;
  top = _mm512_mask_max_epi32(top, _mm512_test_epi32_mask(mag, mag), top, ec);
  for (size_t g = 0; g < groups; g++) {
    __m512 s = _mm512_setzero_ps(), some = s;
    for (size_t k = k0 + g * len; k < k0 + (g + 1) * len; k++) {
      __m512 x = _mm512_set1_ps(a[k]), y = _mm512_loadu_ps(b + k * t->width);
      s = _mm512_fmadd_ps(x, y, s);
      some = _mm512_fmadd_ps(_mm512_abs_ps(x), _mm512_abs_ps(y), some);
    }
    exp[g] = _mm512_setzero_si512();
    if (p->a_exp) {
      size_t block = (k0 + g * len) / p->scale_block;
      size_t b_at = block * p->panels * NC + t->col + col;
      size_t a_at = (t->row + row) * p->blocks + block;
      __m512 sig =
          _mm512_mul_ps(_mm512_set1_ps(p->a_sig[a_at]), _mm512_loadu_ps(p->b_sig + b_at));
      exp[g] = _mm512_add_epi32(_mm512_set1_epi32(p->a_exp[a_at]),
                                _mm512_loadu_si512(p->b_exp + b_at));
      s = _mm512_mul_ps(s, sig);
      some = _mm512_mul_ps(some, sig);
      bad |= _mm512_cmpgt_epi32_mask(exp[g], _mm512_set1_epi32(1000)); /* a NaN */
    }
    sum[g] = s;
    __mmask16 counts = _mm512_cmp_ps_mask(some, _mm512_setzero_ps(), _CMP_GT_OQ);
    top = _mm512_mask_max_epi32(top, counts, top, exp[g]);
  }
  bad |= _mm512_cmpgt_epi32_mask(top, high);
  unsigned zero = 0;
  for (int h = 0; h < 2; h++) {
    __m512d q = _mm512_sub_pd(half_int(top, h), _mm512_set1_pd((double)p->bits));
    __m512d all = _mm512_roundscale_pd(
        _mm512_scalef_pd(half_pd(c, h), _mm512_sub_pd(_mm512_setzero_pd(), q)), RZ);
    for (size_t g = 0; g < groups; g++) {
      __m512d term =
          _mm512_scalef_pd(half_pd(sum[g], h), _mm512_sub_pd(half_int(exp[g], h), q));
      all = _mm512_add_pd(all, _mm512_roundscale_pd(term, RZ));
    }
    zero |= (unsigned)_mm512_cmp_pd_mask(all, _mm512_setzero_pd(), _CMP_EQ_OQ) << (8 * h);
    /* Adding +0 makes a -0 of truncation +0. */
    __m512d v = _mm512_add_pd(_mm512_scalef_pd(all, q), _mm512_setzero_pd());
    _mm256_storeu_ps(at + 8 * h, _mm512_cvt_roundpd_ps(v, RZ));
  }
  bad |= (__mmask16)zero & _mm512_movepi32_mask(bits);
  if (bad) redo(t, row, col, k0, n, bad, c);
}

void tsri_avx512_grouped(const struct tsri_tile *t) {
  size_t len = (size_t)t->p->len, group = (size_t)t->p->g->unit->group_len;
  for (size_t r = 0; r < t->rows; r++) {
    for (size_t k = t->k0; k < t->k1; k += len) {
      size_t n = tsr_min_u64(len, t->k1 - k);
      for (size_t col = 0; col < t->width; col += 16) {
        if (n % group == 0) {
          grouped_step(t, r, col, k, n);
          continue;
        }
        for (size_t l = 0; l < 16; l++) tsri_step_scalar(t, r, col + l, k, n);
      }
    }
  }
}
