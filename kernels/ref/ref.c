/* The exact accumulator: fixed point, two's complement (kernels/ref/ref.h). */
#include "kernels/ref/ref.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"

void tsr_ref_init(struct tsr_ref *r) {
  memset(r, 0, sizeof *r);
}

/* Adds or subtracts mag * 2^(64 * at). */
static void limbs_add(struct tsr_ref *r, size_t at, uint64_t mag, bool negative) {
  for (size_t i = at; i < TSR_REF_LIMBS && mag; i++) {
    uint64_t old = r->limb[i];
    r->limb[i] = negative ? old - mag : old + mag;
    mag = negative ? r->limb[i] > old : r->limb[i] < old; /* borrow or carry */
  }
}

/* r += (-1)^negative * mag * 2^exp. */
static void fixed_add(struct tsr_ref *r, bool negative, tsr_u128 mag, int exp) {
  if (mag == 0) return;
  int at = exp - TSR_REF_LSB;
  if (at < 0 || at / 64 + 3 >= TSR_REF_LIMBS) abort();
  unsigned shift = (unsigned)at % 64;
  size_t limb = (size_t)at / 64;
  uint64_t lo = (uint64_t)mag, hi = (uint64_t)(mag >> 64);
  limbs_add(r, limb, lo << shift, negative);
  limbs_add(r, limb + 1, hi << shift, negative);
  if (shift == 0) return;
  limbs_add(r, limb + 1, lo >> (64 - shift), negative);
  limbs_add(r, limb + 2, hi >> (64 - shift), negative);
}

static void add_infinity(struct tsr_ref *r, bool negative) {
  if (negative) {
    r->neg_inf = true;
  } else {
    r->pos_inf = true;
  }
  if (r->pos_inf && r->neg_inf) r->nan = true;
}

void tsr_ref_mul_add(struct tsr_ref *r, const struct tsr_num *a, const struct tsr_num *b) {
  bool negative = a->sign != b->sign;
  bool inf = a->cls == TSR_NUM_INF || b->cls == TSR_NUM_INF;
  bool zero = a->cls == TSR_NUM_ZERO || b->cls == TSR_NUM_ZERO;
  if (a->cls == TSR_NUM_NAN || b->cls == TSR_NUM_NAN || (inf && zero)) {
    r->nan = true;
  } else if (inf) {
    add_infinity(r, negative);
  } else if (!zero) {
    fixed_add(r, negative, (tsr_u128)a->sig * b->sig, a->exp + b->exp);
  }
}

static void add_signed(struct tsr_ref *r, const struct tsr_num *v, bool negative) {
  switch (v->cls) {
  case TSR_NUM_NAN: r->nan = true; break;
  case TSR_NUM_INF: add_infinity(r, negative); break;
  case TSR_NUM_FINITE: fixed_add(r, negative, v->sig, v->exp); break;
  case TSR_NUM_ZERO: break;
  }
}

void tsr_ref_add(struct tsr_ref *r, const struct tsr_num *v) {
  add_signed(r, v, v->sign);
}

void tsr_ref_sub(struct tsr_ref *r, const struct tsr_num *v) {
  add_signed(r, v, !v->sign);
}

bool tsr_ref_is_finite(const struct tsr_ref *r) {
  return !r->nan && !r->pos_inf && !r->neg_inf;
}

bool tsr_ref_is_zero(const struct tsr_ref *r) {
  for (size_t i = 0; i < TSR_REF_LIMBS; i++)
    if (r->limb[i]) return false;
  return tsr_ref_is_finite(r);
}

void tsr_ref_gemm(const struct tsr_format *fa, const uint64_t *a, const struct tsr_format *fb,
                  const uint64_t *b, const struct tsr_format *fc, uint64_t *c, size_t m,
                  size_t n, size_t k) {
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) {
      struct tsr_ref sum;
      tsr_ref_init(&sum);
      for (size_t l = 0; l < k; l++) {
        struct tsr_num x = tsr_arith_decode(fa, a[i * k + l]);
        struct tsr_num y = tsr_arith_decode(fb, b[l * n + j]);
        tsr_ref_mul_add(&sum, &x, &y);
      }
      c[i * n + j] = tsr_ref_round(&sum, fc, TSR_ROUND_RNE);
    }
  }
}
