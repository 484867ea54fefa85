/* The oracle's own rounding: bit by bit from the fixed-point sum.  It must not use
 * the waist of models/arith, which it is there to judge. */
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"

enum { BITS = 64 * TSR_REF_LIMBS };

/* A finite value as sign and magnitude. */
struct magnitude {
  bool negative;
  uint64_t limb[TSR_REF_LIMBS];
  int msb, lsb; /* exponents of the highest and lowest bit set; zero: both */
                /* TSR_REF_LSB - 1 */
};

static bool bit(const struct magnitude *v, int exp) {
  int i = exp - TSR_REF_LSB;
  return i >= 0 && i < BITS && ((v->limb[i / 64] >> (i % 64)) & 1);
}

static void magnitude_of(const struct tsr_ref *r, struct magnitude *v) {
  v->negative = r->limb[TSR_REF_LIMBS - 1] >> 63;
  uint64_t carry = v->negative;
  for (size_t i = 0; i < TSR_REF_LIMBS; i++) {
    v->limb[i] = (v->negative ? ~r->limb[i] : r->limb[i]) + carry;
    carry = carry && v->limb[i] == 0;
  }
  v->msb = v->lsb = TSR_REF_LSB - 1;
  for (int i = TSR_REF_LIMBS - 1; i >= 0; i--) {
    if (v->limb[i] == 0) continue;
    if (v->msb < TSR_REF_LSB) v->msb = TSR_REF_LSB + 64 * i + 63 - __builtin_clzll(v->limb[i]);
    v->lsb = TSR_REF_LSB + 64 * i + __builtin_ctzll(v->limb[i]);
  }
}

int tsr_ref_msb(const struct tsr_ref *r) {
  struct magnitude v;
  magnitude_of(r, &v);
  if (v.msb < TSR_REF_LSB) abort(); /* zero has no bit */
  return v.msb;
}

int tsr_ref_lsb(const struct tsr_ref *r) {
  struct magnitude v;
  magnitude_of(r, &v);
  if (v.lsb < TSR_REF_LSB) abort();
  return v.lsb;
}

/* The magnitude in units of 2^q, rounded; it must be below 2^63. */
static uint64_t in_units(const struct magnitude *v, int q, enum tsr_round mode) {
  uint64_t n = 0;
  for (int e = v->msb; e >= q; e--) n = 2 * n + bit(v, e);
  bool exact = v->lsb >= q || v->msb < TSR_REF_LSB, half = bit(v, q - 1), odd = n % 2 == 1;
  if (exact) return n;
  switch (mode) {
  case TSR_ROUND_RNE: return half && (v->lsb < q - 1 || odd) ? n + 1 : n;
  case TSR_ROUND_RNA: return half ? n + 1 : n;
  case TSR_ROUND_RU: return v->negative ? n : n + 1;
  case TSR_ROUND_RD: return v->negative ? n + 1 : n;
  case TSR_ROUND_ODD: return odd ? n : n + 1;
  case TSR_ROUND_RZ: return n;
  case TSR_ROUND_SR:
  case TSR_ROUND_N_: break;
  }
  abort(); /* no exact result to judge by */
}

/* Where a result too large goes: outward is infinity, if there is one. */
static bool outward(bool negative, enum tsr_round mode) {
  return mode == TSR_ROUND_RNE || mode == TSR_ROUND_RNA ||
         mode == (negative ? TSR_ROUND_RD : TSR_ROUND_RU);
}

struct layout {
  int man_bits, emin;
  unsigned sign_at;
  uint64_t max_mag, inf_mag, nan_code; /* magnitudes without sign */
};

static struct layout layout_of(const struct tsr_format *f) {
  struct layout l = {f->man_bits, 1 - f->bias, (unsigned)f->man_bits + f->exp_bits, 0, 0, 0};
  uint64_t ones = (UINT64_C(1) << l.sign_at) - 1, hidden = UINT64_C(1) << f->man_bits;
  bool nan_at_neg_zero = f->has_nan && !f->has_inf && f->no_neg_zero;
  l.inf_mag = ones - (hidden - 1);
  l.max_mag = f->has_inf ? l.inf_mag - 1 : f->has_nan && !nan_at_neg_zero ? ones - 1 : ones;
  l.nan_code = f->has_inf ? l.inf_mag + hidden / 2 : f->has_nan ? ones : 0;
  if (nan_at_neg_zero) l.nan_code = ones + 1;
  if (!f->has_inf) l.inf_mag = l.max_mag;
  return l;
}

static uint64_t magnitude_code(const struct magnitude *v, const struct layout *l,
                               bool no_subnormals, enum tsr_round mode) {
  if (v->msb < TSR_REF_LSB) return 0;
  int e = v->msb < l->emin ? l->emin : v->msb;
  uint64_t hidden = UINT64_C(1) << l->man_bits;
  if (v->msb < l->emin && no_subnormals) return in_units(v, l->emin, mode) * hidden;
  uint64_t n = in_units(v, e - l->man_bits, mode);
  if (n == 2 * hidden) {
    n = hidden;
    e++;
  }
  if (e - l->emin < 1 << 11) {
    uint64_t code = n < hidden ? n : ((uint64_t)(e - l->emin + 1) << l->man_bits) + n - hidden;
    if (code <= l->max_mag) return code;
  }
  return outward(v->negative, mode) ? l->inf_mag : l->max_mag;
}

static uint64_t float_code(const struct tsr_ref *r, const struct tsr_format *f,
                           enum tsr_round mode) {
  struct layout l = layout_of(f);
  uint64_t negative = r->neg_inf, mag = l.inf_mag;
  if (r->nan) return l.nan_code << f->pad_bits;
  if (tsr_ref_is_finite(r)) {
    struct magnitude v;
    magnitude_of(r, &v);
    negative = v.negative;
    mag = magnitude_code(&v, &l, f->no_subnormals, mode);
  }
  if (negative && f->is_unsigned) return 0;
  if (mag == 0 && f->no_neg_zero) negative = 0;
  return (negative << l.sign_at | mag) << f->pad_bits;
}

static uint64_t int_code(const struct tsr_ref *r, const struct tsr_format *f,
                         enum tsr_round mode) {
  uint64_t span = UINT64_C(1) << f->bits; /* integer formats are below 64 bits */
  uint64_t most = f->is_unsigned ? span - 1 : span / 2 - 1,
           least = f->is_unsigned ? 0 : span / 2;
  if (r->nan) return 0;
  if (r->pos_inf) return most;
  if (r->neg_inf) return (span - least) % span;
  struct magnitude v;
  magnitude_of(r, &v);
  uint64_t limit = v.negative ? least : most;
  int unit = -f->bias;
  uint64_t n = v.msb - unit >= f->bits ? limit : in_units(&v, unit, mode);
  if (n > limit) n = limit;
  return v.negative ? (span - n) % span : n;
}

uint64_t tsr_ref_round(const struct tsr_ref *r, const struct tsr_format *f,
                       enum tsr_round mode) {
  if (f->codec) abort(); /* the header excludes it */
  return f->is_int ? int_code(r, f, mode) : float_code(r, f, mode);
}

double tsr_ref_double(const struct tsr_ref *r) {
  uint64_t code = float_code(r, tsr_format_find("fp64"), TSR_ROUND_RNE);
  double v;
  memcpy(&v, &code, sizeof v);
  return v;
}
