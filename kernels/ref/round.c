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
  if (mode == TSR_ROUND_RZ || !bit(v, q - 1)) return n;
  return v->lsb < q - 1 || n % 2 == 1 ? n + 1 : n;
}

struct layout {
  int man_bits, emin;
  unsigned sign_at;
  uint64_t max_mag, inf_mag, nan_mag; /* without sign */
};

static struct layout layout_of(const struct tsr_format *f) {
  struct layout l = {f->man_bits, 1 - f->bias, (unsigned)f->man_bits + f->exp_bits, 0, 0, 0};
  uint64_t ones = (UINT64_C(1) << l.sign_at) - 1, hidden = UINT64_C(1) << f->man_bits;
  l.inf_mag = ones - (hidden - 1);
  l.max_mag = f->has_inf ? l.inf_mag - 1 : f->has_nan ? ones - 1 : ones;
  if (!f->has_inf) l.inf_mag = l.max_mag;
  l.nan_mag = f->has_inf ? l.inf_mag + hidden / 2 : f->has_nan ? ones : 0;
  return l;
}

static uint64_t magnitude_code(const struct magnitude *v, const struct layout *l,
                               enum tsr_round mode) {
  if (v->msb < TSR_REF_LSB) return 0;
  int e = v->msb < l->emin ? l->emin : v->msb;
  uint64_t n = in_units(v, e - l->man_bits, mode), hidden = UINT64_C(1) << l->man_bits;
  if (n == 2 * hidden) {
    n = hidden;
    e++;
  }
  uint64_t code = n < hidden ? n : ((uint64_t)(e - l->emin + 1) << l->man_bits) + n - hidden;
  if (code <= l->max_mag) return code;
  return mode == TSR_ROUND_RNE ? l->inf_mag : l->max_mag;
}

static uint64_t float_code(const struct tsr_ref *r, const struct tsr_format *f,
                           enum tsr_round mode) {
  struct layout l = layout_of(f);
  uint64_t negative = r->neg_inf, mag = l.inf_mag;
  if (r->nan) return l.nan_mag << f->pad_bits;
  if (tsr_ref_is_finite(r)) {
    struct magnitude v;
    magnitude_of(r, &v);
    negative = v.negative;
    mag = magnitude_code(&v, &l, mode);
  }
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
  uint64_t n = v.msb >= f->bits ? limit : in_units(&v, 0, mode);
  if (n > limit) n = limit;
  return v.negative ? (span - n) % span : n;
}

uint64_t tsr_ref_round(const struct tsr_ref *r, const struct tsr_format *f,
                       enum tsr_round mode) {
  return f->is_int ? int_code(r, f, mode) : float_code(r, f, mode);
}

double tsr_ref_double(const struct tsr_ref *r) {
  static const struct tsr_format binary64 = {
      "double", false, false, 64, 0, 11, 52, 1023, true, true, "IEEE binary64", "ieee754"};
  uint64_t code = float_code(r, &binary64, TSR_ROUND_RNE);
  double v;
  memcpy(&v, &code, sizeof v);
  return v;
}
