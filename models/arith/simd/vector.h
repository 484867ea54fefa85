/* Kernels on vectors of 8 lanes in the compiler's own vector types: included by
 * portable.c (any processor) and avx2.c (which adds what AVX2 has instructions for).
 * What each computes and why it is exact: README.md. */
#ifndef TSR_MODELS_ARITH_SIMD_VECTOR_H
#define TSR_MODELS_ARITH_SIMD_VECTOR_H

#include <string.h>

#include "models/arith/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))

enum { NC = TSRI_NC, W = 8 };

typedef float vf __attribute__((vector_size(4 * W), aligned(4)));
typedef int32_t vi __attribute__((vector_size(4 * W), aligned(4)));
typedef uint32_t vu __attribute__((vector_size(4 * W), aligned(4)));
typedef double vd __attribute__((vector_size(8 * W), aligned(8)));
typedef int64_t vl __attribute__((vector_size(8 * W), aligned(8)));
typedef int8_t vb __attribute__((vector_size(W), aligned(1)));

INLINE vf load_f(const float *p) {
  return *(const vf *)(const void *)p;
}
/* Not by an addition to 0: that would lose the sign of a zero. */
INLINE vf vf_set(float x) {
  return (vf){x, x, x, x, x, x, x, x};
}
INLINE vd vd_set(double x) {
  return (vd){x, x, x, x, x, x, x, x};
}
INLINE vi vi_set(int32_t x) {
  return (vi){0} + x;
}
INLINE vl vl_set(int64_t x) {
  return (vl){0} + x;
}
INLINE vi pick_i(vi mask, vi yes, vi no) {
  return (mask & yes) | (~mask & no);
}
INLINE vl pick_l(vl mask, vl yes, vl no) {
  return (mask & yes) | (~mask & no);
}
INLINE vi max_i(vi x, vi y) {
  return pick_i(x > y, x, y);
}
/* Modulo 2^32: lanes that are done again may hold anything. */
INLINE vi add_i(vi x, vi y) {
  return (vi)((vu)x + (vu)y);
}
INLINE vf power(vi field) {
  return (vf)((vu)field << 23);
}

INLINE bool any(vi mask) {
  int64_t part[W / 2];
  memcpy(part, &mask, sizeof part);
  int64_t all = 0;
  for (int i = 0; i < W / 2; i++) all |= part[i];
  return all != 0;
}

/* v to the nearest multiple of the last place of a format (even on a tie), then to
 * infinity where it is beyond the format.  v + M - M with M = 1.5 * 2^52 last places
 * rounds once, in double; its sign is put back for a zero. */
INLINE vf narrowed(vd v, int man_bits, int exp_min) {
  vl bits = (vl)v, sign = bits & INT64_MIN;
  vl e = ((bits >> 52) & 0x7ff) - 1023;
  e = pick_l(e > (int64_t)exp_min, e, vl_set(exp_min));
  vl magic = ((e + (int64_t)(1023 + 52 - man_bits)) << 52) | (INT64_C(1) << 51);
  vd r = (v + (vd)magic) - (vd)magic;
  vl mag = (vl)r & INT64_MAX;
  vl limit = vl_set((int64_t)(1023 + 2 - exp_min) << 52);
  mag = pick_l(mag >= limit, vl_set((int64_t)0x7ff << 52), mag);
  /* Infinities and NaN do not take part. */
  mag = pick_l((bits & INT64_MAX) >= vl_set((int64_t)0x7ff << 52), bits & INT64_MAX, mag);
  return __builtin_convertvector((vd)(mag | sign), vf);
}

/* One fused step of one row, W columns at `col`. */
struct step {
  const struct tsri_tile *t;
  const float *a, *b; /* the row, the panel */
  const int8_t *ae, *be;
  size_t row, n, k;
};

INLINE vi top_exponent(const struct step *s, size_t col) {
  vi top = vi_set(TSRI_EXP_ZERO);
  for (size_t k = s->k; k < s->k + s->n; k++) {
    vb eb;
    memcpy(&eb, s->be + k * s->t->width + col, sizeof eb);
    top = max_i(top, __builtin_convertvector(eb, vi) + s->ae[k]);
  }
  /* As saturating bytes would have it: anything that far down is far. */
  return max_i(top, vi_set(TSRI_EXP_ZERO));
}

static vi odd_lanes(const struct step *s, size_t col) {
  vi odd = vi_set(0);
  for (size_t k = s->k; k < s->k + s->n; k++) {
    vb eb;
    memcpy(&eb, s->be + k * s->t->width + col, sizeof eb);
    odd |= __builtin_convertvector(eb, vi) == TSRI_EXP_SPECIAL;
    if (s->ae[k] == TSRI_EXP_SPECIAL) return vi_set(-1);
  }
  return odd;
}

/* Of the block scales of this step. */
INLINE vi scale_exponent(const struct step *s, size_t col) {
  const struct tsri_plan *p = s->t->p;
  if (!p->a_exp) return vi_set(0);
  size_t block = s->k / p->scale_block;
  const int32_t *b = p->b_exp + block * p->panels * NC + s->t->col + col;
  return *(const vi *)(const void *)b + p->a_exp[(s->t->row + s->row) * p->blocks + block];
}

INLINE vf rounded(vi sum, vi e, int bits, int out) {
  vf unit = power(e - (bits - 127));
  if (out == TSRI_OUT_RNE32) return __builtin_convertvector(sum, vf) * unit;
  vd wide = __builtin_convertvector(sum, vd);
  if (out == TSRI_OUT_RNE16) return narrowed(wide * __builtin_convertvector(unit, vd), 10, -14);
  /* Toward zero at 24 (14) bits: the rest of the 53 is dropped. */
  int64_t drop = out == TSRI_OUT_E8M13 ? (INT64_C(1) << 39) - 1 : (INT64_C(1) << 29) - 1;
  return __builtin_convertvector((vd)((vl)wide & ~drop), vf) * unit;
}

INLINE void redo(const struct step *s, size_t col, vi bad, float *at, vf old) {
  int32_t which[W];
  memcpy(which, &bad, sizeof which);
  for (size_t l = 0; l < W; l++) {
    if (!which[l]) continue;
    memcpy(at + l, (const char *)&old + 4 * l, 4);
    tsri_step_scalar(s->t, s->row, col + l, s->k, s->n);
  }
}

INLINE void fused_step(const struct step *s, size_t col, int out) {
  const struct tsri_plan *p = s->t->p;
  float *c = (float *)s->t->c + s->row * NC + col;
  vf old = load_f(c);
  vi bits = (vi)old, mag = bits & INT32_MAX, ep = top_exponent(s, col);
  vi ec = (mag >> 23) - 127, lane = scale_exponent(s, col) + p->top, top = ep + lane;
  if (out == TSRI_OUT_RNE16) {
    ec = max_i(ec, vi_set(-14));
    ec = pick_i(mag == 0, vi_set(p->zero_exp), max_i(ec, vi_set(p->zero_exp)));
  }
  top = max_i(top, ec);
  vi bad = (top < TSRI_EXP_FAR) | (top - lane < TSRI_EXP_FAR) | (top > TSRI_EXP_HIGH);
  if (any(bad)) {
    vi low = max_i(lane, vi_set(0)) + TSRI_EXP_FAR;
    if (!p->spread) bad &= ~((mag == 0) & (ep < TSRI_EXP_FAR) & (low <= TSRI_EXP_HIGH));
    top = max_i(pick_i(top > TSRI_EXP_HIGH, vi_set(TSRI_EXP_HIGH), top), low);
  }
  if (p->a_odd[s->t->row + s->row] | p->b_odd[s->t->panel]) bad |= odd_lanes(s, col);
  vi field = 127 + p->bits - top;
  vi sum = __builtin_convertvector(old * power(field), vi);
  vf scale = power(max_i(field + lane, vi_set(0)));
  const float *b = s->b + s->k * s->t->width + col;
  for (size_t from = 0; from < s->n; from += 16) {
    size_t to = from + 16 < s->n ? from + 16 : s->n;
    vi part = vi_set(0);
    for (size_t k = from; k < to; k++) {
      vf x = vf_set(s->a[s->k + k]);
      part = add_i(part, __builtin_convertvector(x * load_f(b + k * s->t->width) * scale, vi));
    }
    vi next = add_i(sum, part);
    if (p->wraps) bad |= ((sum ^ next) & (part ^ next)) < 0;
    sum = next;
  }
  bad |= (sum == 0) & (bits < 0);
  *(vf *)(void *)c = rounded(sum, top, p->bits, out);
  if (any(bad)) redo(s, col, bad, c, old);
}

INLINE void fused_rows(const struct tsri_tile *t, int out) {
  const struct tsri_plan *p = t->p;
  size_t k = p->g->k, at = t->panel * NC * k;
  for (size_t r = 0; r < t->rows; r++) {
    struct step s = {
        t, p->av + (t->row + r) * k, p->bv + at, p->ae + (t->row + r) * k, p->be + at, r, 0, 0};
    for (s.k = t->k0; s.k < t->k1; s.k += s.n) {
      s.n = tsr_min_u64((uint64_t)p->len, t->k1 - s.k);
      for (size_t col = 0; col < t->width; col += W) fused_step(&s, col, out);
    }
  }
}

static void fused(const struct tsri_tile *t) {
  switch (t->p->out) {
  case TSRI_OUT_RZ32: fused_rows(t, TSRI_OUT_RZ32); break;
  case TSRI_OUT_E8M13: fused_rows(t, TSRI_OUT_E8M13); break;
  case TSRI_OUT_RNE32: fused_rows(t, TSRI_OUT_RNE32); break;
  case TSRI_OUT_RNE16: fused_rows(t, TSRI_OUT_RNE16); break;
  }
}

/* x * y + c rounded to odd in double: x * y is exact (two significands of 24 bits),
 * the sum's error is exact (two-sum), and tells to which neighbour to go where the
 * nearest has an even last place.  Infinities and NaN have no error (NaN). */
INLINE vd sum_odd(vd x, vd y, vd c) {
  vd p = x * y, s = p + c, d = s - p;
  vd err = (p - (s - d)) + (c - d);
  vl inexact = (err > 0) | (err < 0);
  vl even = ((vl)s & 1) == 0, away = (err > 0) == (s > 0);
  vl step = pick_l(away, vl_set(1), vl_set(-1));
  return (vd)((vl)s + (step & inexact & even));
}

enum fma_out { FMA_FP32, FMA_FP16, FMA_BF16 };

INLINE void fma_rows(const struct tsri_tile *t, int out) {
  size_t k_all = t->p->g->k;
  const float *panel = t->p->bv + t->panel * NC * k_all;
  for (size_t r = 0; r < t->rows; r++) {
    const float *a = t->p->av + (t->row + r) * k_all;
    for (size_t col = 0; col < t->width; col += W) {
      float *c = (float *)t->c + r * NC + col;
      vf acc = load_f(c);
      for (size_t k = t->k0; k < t->k1; k++) {
        vd y = __builtin_convertvector(load_f(panel + k * t->width + col), vd);
        vd s = sum_odd(vd_set((double)a[k]), y, __builtin_convertvector(acc, vd));
        if (out == FMA_FP32) acc = __builtin_convertvector(s, vf);
        if (out == FMA_FP16) acc = narrowed(s, 10, -14);
        if (out == FMA_BF16) acc = narrowed(s, 7, -126);
      }
      *(vf *)(void *)c = acc;
    }
  }
}

static void fma16(const struct tsri_tile *t) {
  if (t->p->g->unit->acc->man_bits == 7)
    fma_rows(t, FMA_BF16);
  else
    fma_rows(t, FMA_FP16);
}

/* Subnormals to a zero of their sign. */
INLINE vf flushed(vf x) {
  vi bits = (vi)x;
  return (vf)(bits & (INT32_MIN | ((bits & 0x7f800000) != 0)));
}

INLINE vf product(const struct tsri_tile *t, const float *a, const float *b, size_t k) {
  return flushed(vf_set(a[k]) * load_f(b + k * t->width));
}

/* Trees of 2 or 4 rounded products, every result flushed. */
INLINE void tree_lanes(const struct tsri_tile *t, size_t r, size_t col, size_t len) {
  size_t k_all = t->p->g->k, k = t->k0;
  const float *a = t->p->av + (t->row + r) * k_all;
  const float *b = t->p->bv + t->panel * NC * k_all + col;
  float *c = (float *)t->c + r * NC + col;
  vi bits = (vi)load_f(c);
  /* A subnormal C is +0, whatever its sign; later ones can not be subnormal. */
  vf acc = (vf)(bits & (((bits & 0x7f800000) != 0) | (bits == INT32_MIN)));
  for (; k + len <= t->k1; k += len) {
    vf sum = flushed(product(t, a, b, k) + product(t, a, b, k + 1));
    if (len == 4)
      sum = flushed(sum + flushed(product(t, a, b, k + 2) + product(t, a, b, k + 3)));
    acc = flushed(acc + sum);
  }
  *(vf *)(void *)c = acc;
  for (size_t l = 0; k < t->k1 && l < W; l++) tsri_step_scalar(t, r, col + l, k, t->k1 - k);
}

static void tree(const struct tsri_tile *t) {
  for (size_t r = 0; r < t->rows; r++) {
    for (size_t col = 0; col < t->width; col += W) {
      if (t->p->len == 4)
        tree_lanes(t, r, col, 4);
      else
        tree_lanes(t, r, col, 2);
    }
  }
}

#endif
