/* Inside models/arith: decoding and the rounding waist, inline for the dot
 * products, and the pieces of a matrix unit that mma.c puts together. */
#ifndef TSR_MODELS_ARITH_ARITH_INT_H
#define TSR_MODELS_ARITH_ARITH_INT_H

#include "models/arith/format.h"
#include "models/arith/mma.h"
#include "sim/base/mem.h"

enum tsri_format_id {
#define TSR_FORMAT(name, ...) TSRI_FORMAT_##name,
#include "models/arith/format.def"
#undef TSR_FORMAT
  TSRI_FORMAT_N_
};
extern const struct tsr_format tsri_formats[];

static inline uint64_t tsri_mask(unsigned bits) {
  return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* Exponent of the smallest normal number. */
static inline int tsri_emin(const struct tsr_format *f) {
  return 1 - f->bias;
}

static inline uint64_t tsri_sign_bit(const struct tsr_format *f) {
  return UINT64_C(1) << (f->exp_bits + f->man_bits);
}

/* Largest finite magnitude, as a code without sign and padding. */
static inline uint64_t tsri_max_finite(const struct tsr_format *f) {
  uint64_t all = tsri_mask((unsigned)f->exp_bits + f->man_bits);
  if (f->has_inf) return all - (UINT64_C(1) << f->man_bits);
  return f->has_nan ? all - 1 : all;
}

static inline uint64_t tsri_inf(const struct tsr_format *f, bool sign) {
  uint64_t mag = tsri_mask(f->exp_bits) << f->man_bits;
  return ((sign ? tsri_sign_bit(f) : 0) | mag) << f->pad_bits;
}

static inline struct tsr_num tsri_decode_int(const struct tsr_format *f, uint64_t code) {
  uint64_t v = code & tsri_mask(f->bits);
  bool neg = !f->is_unsigned && (v >> (f->bits - 1));
  struct tsr_num r = {TSR_NUM_FINITE, neg, false, 0, neg ? tsri_mask(f->bits) - v + 1 : v};
  if (v == 0) r.cls = TSR_NUM_ZERO;
  return r;
}

static inline struct tsr_num tsri_decode(const struct tsr_format *f, uint64_t code) {
  if (f->is_int) return tsri_decode_int(f, code);
  code >>= f->pad_bits;
  uint64_t man = code & tsri_mask(f->man_bits);
  uint64_t field = (code >> f->man_bits) & tsri_mask(f->exp_bits);
  int e = field ? (int)field - f->bias : tsri_emin(f);
  struct tsr_num r = {TSR_NUM_FINITE, (code & tsri_sign_bit(f)) != 0, field == 0 && man,
                      e - f->man_bits, field ? man | UINT64_C(1) << f->man_bits : man};
  if (r.sig == 0) {
    r.cls = TSR_NUM_ZERO;
  } else if ((code & (tsri_sign_bit(f) - 1)) > tsri_max_finite(f)) {
    r.cls = f->has_inf && man == 0 ? TSR_NUM_INF : TSR_NUM_NAN;
  }
  return r;
}

/* Drops the low `shift` bits of sig (shift <= 0: none, sig moves up) and rounds. */
static inline uint64_t tsri_cut(uint64_t sig, int shift, bool sticky, enum tsr_round mode,
                                bool *inexact) {
  if (shift <= 0) {
    *inexact = sticky;
    return sig << -shift;
  }
  uint64_t kept = shift < 64 ? sig >> shift : 0;
  bool half = shift <= 64 && ((sig >> (shift - 1)) & 1);
  bool rest = sticky || (sig & tsri_mask((unsigned)shift - 1)) != 0;
  *inexact = half || rest;
  return kept + (mode == TSR_ROUND_RNE && half && (rest || (kept & 1)));
}

uint64_t tsri_round_int(const struct tsr_format *f, enum tsr_round mode, bool sign, int exp,
                        uint64_t sig, bool sticky, unsigned *events);
uint64_t tsri_overflow(const struct tsr_format *f, enum tsr_round mode, bool sign,
                       unsigned *events);

/* The waist (contract: tsr_arith_round); events must not be NULL. */
static inline uint64_t tsri_round(const struct tsr_format *f, enum tsr_round mode, bool sign,
                                  int exp, uint64_t sig, bool sticky, unsigned *events) {
  if (f->is_int) return tsri_round_int(f, mode, sign, exp, sig, sticky, events);
  int man = f->man_bits, emin = tsri_emin(f);
  int msb = sig ? 63 - __builtin_clzll(sig) + exp : emin - 1;
  int e = msb > emin ? msb : emin;
  int shift = sig ? e - man - exp : 1;
  bool inexact;
  /* The carry of a rounding up runs from fraction into exponent by itself. */
  uint64_t mag =
      tsri_cut(sig, shift, sticky, mode, &inexact) + ((uint64_t)(int64_t)(e - emin) << man);
  if (mag > tsri_max_finite(f)) return tsri_overflow(f, mode, sign, events);
  uint64_t min_normal = UINT64_C(1) << man;
  if (inexact) {
    bool unused, tiny = mag < min_normal;
    /* Reached the smallest normal number only because the last place is coarse
     * down here: with the exponent unbounded the result would still be below. */
    if (msb < emin && !tiny)
      tiny = tsri_cut(sig, shift - 1, sticky, mode, &unused) < 2 * min_normal;
    *events |= TSR_EVENT_INEXACT | (tiny ? (unsigned)TSR_EVENT_UNDERFLOW : 0);
  }
  if (mag && mag < min_normal) *events |= TSR_EVENT_SUBNORMAL_OUT;
  return ((sign ? tsri_sign_bit(f) : 0) | mag) << f->pad_bits;
}

/* An addend before rounding: (-1)^sign * sig * 2^exp, 0 < sig < 2^64 when FINITE
 * (products of two formats of at most 32 significant bits). */
struct tsri_term {
  enum tsr_num_class cls;
  bool sign;
  int exp;
  tsr_u128 sig;
};

/* Exact product of two decoded values; *events gains INVALID for 0 * inf. */
struct tsri_term tsri_product(const struct tsr_num *a, const struct tsr_num *b,
                              unsigned *events);
struct tsri_term tsri_term_of(const struct tsr_num *v);
/* x + y, rounded once into f; a NaN result is the code `nan`. */
uint64_t tsri_sum(const struct tsr_format *f, enum tsr_round mode, const struct tsri_term *x,
                  const struct tsri_term *y, uint64_t nan, unsigned *events);

/* The NaN a unit makes: NVIDIA units set every bit but the sign (SRC:mmasim). */
uint64_t tsri_mma_nan(const struct tsr_mma *u);
/* One dot product each; events and stats must not be NULL. */
uint64_t tsri_dot_fma(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b, size_t k,
                      uint64_t c, unsigned *events, struct tsr_mma_stats *stats);
uint64_t tsri_dot_fused(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b, size_t k,
                        uint64_t c, unsigned *events, struct tsr_mma_stats *stats);
uint64_t tsri_dot_int(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b, size_t k,
                      uint64_t c, unsigned *events);

#endif
