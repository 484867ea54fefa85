/* Inside models/arith: decoding and the rounding waist, inline for the dot products. */
#ifndef TSR_MODELS_ARITH_ROUND_INT_H
#define TSR_MODELS_ARITH_ROUND_INT_H

#include "models/arith/format.h"

enum tsri_format_id {
#define TSR_FORMAT(name, ...) TSRI_FORMAT_##name,
#include "models/arith/format.def"
#undef TSR_FORMAT
  TSRI_FORMAT_N_
};
extern const struct tsr_format tsri_formats[];
extern const struct tsr_codec tsri_codec_nf4, tsri_codec_e8m0;

/* No format has more than 11 exponent bits: above this it is out of range. */
enum { TSRI_EXP_RANGE_MAX = 2047 };

static inline uint64_t tsri_mask(unsigned bits) {
  return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* Exponent of the smallest normal number. */
static inline int tsri_emin(const struct tsr_format *f) {
  return 1 - f->bias;
}

/* The sign bit, before padding. */
static inline uint64_t tsri_sign_bit(const struct tsr_format *f) {
  return UINT64_C(1) << (f->exp_bits + f->man_bits);
}

static inline bool tsri_nan_is_neg_zero(const struct tsr_format *f) {
  return f->has_nan && !f->has_inf && f->no_neg_zero && !f->is_unsigned;
}

/* Largest finite magnitude, as a code without sign and padding. */
static inline uint64_t tsri_max_finite(const struct tsr_format *f) {
  uint64_t all = tsri_mask((unsigned)f->exp_bits + f->man_bits);
  if (f->has_inf) return all - (UINT64_C(1) << f->man_bits);
  return f->has_nan && !tsri_nan_is_neg_zero(f) ? all - 1 : all;
}

static inline uint64_t tsri_inf(const struct tsr_format *f, bool sign) {
  uint64_t mag = tsri_mask(f->exp_bits) << f->man_bits;
  return ((sign ? tsri_sign_bit(f) : 0) | mag) << f->pad_bits;
}

static inline struct tsr_num tsri_decode_int(const struct tsr_format *f, uint64_t code) {
  uint64_t v = code & tsri_mask(f->bits);
  bool neg = !f->is_unsigned && (v >> (f->bits - 1));
  struct tsr_num r = {TSR_NUM_FINITE, neg, false, -f->bias,
                      neg ? tsri_mask(f->bits) - v + 1 : v};
  if (v == 0) r.cls = TSR_NUM_ZERO;
  return r;
}

static inline struct tsr_num tsri_decode(const struct tsr_format *f, uint64_t code) {
  if (f->codec) return f->codec->decode(f, code);
  if (f->is_int) return tsri_decode_int(f, code);
  code >>= f->pad_bits;
  uint64_t man = code & tsri_mask(f->man_bits);
  uint64_t field = (code >> f->man_bits) & tsri_mask(f->exp_bits);
  if (field == 0 && f->no_subnormals) man = 0;
  int e = field ? (int)field - f->bias : tsri_emin(f);
  struct tsr_num r = {TSR_NUM_FINITE, !f->is_unsigned && (code & tsri_sign_bit(f)),
                      field == 0 && man, e - f->man_bits,
                      field ? man | UINT64_C(1) << f->man_bits : man};
  if (r.sig == 0) {
    r.cls = r.sign && tsri_nan_is_neg_zero(f) ? TSR_NUM_NAN : TSR_NUM_ZERO;
    r.sign = r.sign && !f->no_neg_zero;
  } else if ((code & (tsri_sign_bit(f) - 1)) > tsri_max_finite(f)) {
    r.cls = f->has_inf && man == 0 ? TSR_NUM_INF : TSR_NUM_NAN;
  }
  return r;
}

/* The top sr_bits of the discarded field plus as many random bits: does it carry? */
bool tsri_sr_up(uint64_t sig, int shift, unsigned sr_bits, uint64_t draw);

/* Drops the low `shift` bits of sig (shift <= 0: none, sig moves up) and rounds. */
static inline uint64_t tsri_cut(uint64_t sig, int shift, bool sticky, bool sign,
                                const struct tsr_round_spec *s, uint64_t draw, bool *inexact) {
  if (shift <= 0) {
    *inexact = sticky;
    return sig << -shift;
  }
  uint64_t kept = shift < 64 ? sig >> shift : 0;
  bool half = shift <= 64 && ((sig >> (shift - 1)) & 1), up = false;
  bool rest = sticky || (sig & tsri_mask((unsigned)shift - 1)) != 0;
  *inexact = half || rest;
  switch (s->mode) {
  case TSR_ROUND_RNE: up = half && (rest || (kept & 1)); break;
  case TSR_ROUND_RNA: up = half; break;
  case TSR_ROUND_RU: up = !sign && *inexact; break;
  case TSR_ROUND_RD: up = sign && *inexact; break;
  case TSR_ROUND_ODD: up = *inexact && !(kept & 1); break;
  case TSR_ROUND_SR: up = tsri_sr_up(sig, shift, s->sr_bits, draw); break;
  case TSR_ROUND_RZ:
  case TSR_ROUND_N_: break;
  }
  return kept + up;
}

uint64_t tsri_round_int(const struct tsr_format *f, const struct tsr_round_spec *s,
                        uint64_t draw, bool sign, int exp, uint64_t sig, bool sticky,
                        unsigned *events);
/* The result beyond the largest (or, sign set, the smallest) finite value. */
uint64_t tsri_overflow(const struct tsr_format *f, const struct tsr_round_spec *s, bool sign,
                       unsigned *events);
/* Random bits of an element; 0 where the mode needs none. */
uint64_t tsri_draw(const struct tsr_round_spec *s, uint64_t index);

/* Below the smallest normal number: was it so with the exponent unbounded?  `mag` may
 * have reached that number only because the last place is coarse down here. */
static inline bool tsri_tiny(const struct tsr_format *f, const struct tsr_round_spec *s,
                             uint64_t draw, bool sign, int exp, uint64_t sig, bool sticky,
                             uint64_t mag) {
  uint64_t min_normal = UINT64_C(1) << f->man_bits;
  if (mag < min_normal) return true;
  bool unused;
  return sig == 0 || tsri_cut(sig, tsri_emin(f) - 1 - f->man_bits - exp, sticky, sign, s, draw,
                              &unused) < 2 * min_normal;
}

/* The waist (contract: tsr_arith_round_spec); events must not be NULL. */
static inline uint64_t tsri_round_spec(const struct tsr_format *f,
                                       const struct tsr_round_spec *s, uint64_t draw, bool sign,
                                       int exp, uint64_t sig, bool sticky, unsigned *events) {
  if (f->codec) return f->codec->round(f, s, draw, sign, exp, sig, sticky, events);
  if (f->is_int) return tsri_round_int(f, s, draw, sign, exp, sig, sticky, events);
  int man = f->man_bits, emin = tsri_emin(f);
  int msb = sig ? 63 - __builtin_clzll(sig) + exp : emin - 1;
  int e = msb > emin ? msb : emin;
  if (e - emin > TSRI_EXP_RANGE_MAX) return tsri_overflow(f, s, sign, events);
  /* Without subnormals the last place below the normal numbers is the smallest one. */
  int coarse = f->no_subnormals && msb < emin ? man : 0;
  int shift = sig ? e - man + coarse - exp : 1;
  bool inexact;
  /* The carry of a rounding up runs from fraction into exponent by itself. */
  uint64_t mag = (tsri_cut(sig, shift, sticky, sign, s, draw, &inexact) << coarse) +
                 ((uint64_t)(int64_t)(e - emin) << man);
  if (mag > tsri_max_finite(f) || (sign && f->is_unsigned && mag))
    return tsri_overflow(f, s, sign, events);
  uint64_t min_normal = UINT64_C(1) << man;
  if (inexact) {
    bool tiny = msb < emin && tsri_tiny(f, s, draw, sign, exp, sig, sticky, mag);
    *events |= TSR_EVENT_INEXACT | (tiny ? (unsigned)TSR_EVENT_UNDERFLOW : 0);
  }
  if (mag && mag < min_normal) {
    if (s->ftz_out) {
      *events |= TSR_EVENT_INEXACT | TSR_EVENT_UNDERFLOW;
      mag = 0;
    } else {
      *events |= TSR_EVENT_SUBNORMAL_OUT;
    }
  }
  if (mag == 0 && (f->no_neg_zero || f->is_unsigned)) sign = false;
  return ((sign ? tsri_sign_bit(f) : 0) | mag) << f->pad_bits;
}

/* What a mode alone means (contract: tsr_arith_round). */
static inline struct tsr_round_spec tsri_spec_of(const struct tsr_format *f,
                                                 enum tsr_round mode) {
  return (struct tsr_round_spec){.mode = mode, .saturate = !f->has_inf};
}

static inline uint64_t tsri_round(const struct tsr_format *f, enum tsr_round mode, bool sign,
                                  int exp, uint64_t sig, bool sticky, unsigned *events) {
  struct tsr_round_spec s = tsri_spec_of(f, mode);
  return tsri_round_spec(f, &s, tsri_draw(&s, 0), sign, exp, sig, sticky, events);
}

#endif
