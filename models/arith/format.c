/* The table of formats, and conversions (models/arith/format.h). */
#include "models/arith/format.h"

#include <string.h>

#include "models/arith/round_int.h"
#include "sim/base/rng.h"

enum { FMT_IEEE = 1, FMT_NAN = 2, FMT_NOZ = 4, FMT_UNS = 8, FMT_INT = 16 };

const struct tsr_format tsri_formats[] = {
#define TSR_FORMAT(name_, bits_, pad, exp, man, bias_, flags, codec_, doc_, src_) \
  {.name = #name_,                                                                \
   .is_int = ((flags)&FMT_INT) != 0,                                              \
   .is_unsigned = ((flags)&FMT_UNS) != 0,                                         \
   .bits = bits_,                                                                 \
   .pad_bits = pad,                                                               \
   .exp_bits = exp,                                                               \
   .man_bits = man,                                                               \
   .bias = bias_,                                                                 \
   .has_inf = ((flags)&FMT_IEEE) != 0,                                            \
   .has_nan = ((flags) & (FMT_IEEE | FMT_NAN)) != 0,                              \
   .no_neg_zero = ((flags)&FMT_NOZ) != 0,                                         \
   .codec = codec_,                                                               \
   .doc = doc_,                                                                   \
   .src = src_},
#include "models/arith/format.def"
#undef TSR_FORMAT
};

static const struct tsr_format *const fp64 = &tsri_formats[TSRI_FORMAT_fp64];

size_t tsr_format_count(void) {
  return TSRI_FORMAT_N_;
}

const struct tsr_format *tsr_format_at(size_t i) {
  return i < TSRI_FORMAT_N_ ? &tsri_formats[i] : NULL;
}

const struct tsr_format *tsr_format_find(const char *name) {
  for (size_t i = 0; i < TSRI_FORMAT_N_; i++)
    if (strcmp(tsri_formats[i].name, name) == 0) return &tsri_formats[i];
  return NULL;
}

uint64_t tsr_arith_nan(const struct tsr_format *f, enum tsr_nan rule) {
  if (f->codec) return f->codec->nan;
  if (!f->has_nan) return 0;
  if (tsri_nan_is_neg_zero(f)) return tsri_sign_bit(f) << f->pad_bits;
  if (!f->has_inf || rule == TSR_NAN_ONES) return (tsri_sign_bit(f) - 1) << f->pad_bits;
  return tsri_inf(f, false) | UINT64_C(1) << (f->man_bits - 1 + f->pad_bits);
}

uint64_t tsr_arith_max(const struct tsr_format *f, bool sign) {
  if (f->codec) return f->codec->max[sign];
  if (f->is_unsigned && sign) return 0;
  if (f->is_int) {
    uint64_t most = tsri_mask(f->is_unsigned ? f->bits : f->bits - 1u);
    return sign ? most + 1 : most;
  }
  return ((sign ? tsri_sign_bit(f) : 0) | tsri_max_finite(f)) << f->pad_bits;
}

/* An infinity, or what stands for it where nothing is clipped; false: nothing does. */
static bool infinity_code(const struct tsr_format *f, const struct tsr_round_spec *s, bool sign,
                          uint64_t *code, unsigned *events) {
  if (s->saturate || !f->has_nan) return false;
  if (f->has_inf && !(sign && f->is_unsigned)) {
    *code = tsri_inf(f, sign);
  } else {
    *code = tsr_arith_nan(f, s->nan);
    *events |= TSR_EVENT_INVALID;
  }
  return true;
}

static uint64_t encode_special(const struct tsr_format *f, const struct tsr_round_spec *s,
                               const struct tsr_num *v, unsigned *events) {
  uint64_t code = 0;
  bool wraps = f->is_int && !s->saturate;
  if (v->cls == TSR_NUM_NAN || wraps) {
    if (!f->has_nan) *events |= TSR_EVENT_INVALID;
    return tsr_arith_nan(f, s->nan);
  }
  if (infinity_code(f, s, v->sign, &code, events)) return code;
  *events |= TSR_EVENT_SATURATED;
  return tsr_arith_max(f, v->sign);
}

uint64_t tsri_overflow(const struct tsr_format *f, const struct tsr_round_spec *s, bool sign,
                       unsigned *events) {
  static const bool outward[TSR_ROUND_N_][2] = {
      [TSR_ROUND_RNE] = {true, true}, [TSR_ROUND_RNA] = {true, true},
      [TSR_ROUND_RU] = {true, false}, [TSR_ROUND_RD] = {false, true},
      [TSR_ROUND_SR] = {true, true},
  };
  uint64_t code;
  *events |= TSR_EVENT_OVERFLOW | TSR_EVENT_INEXACT;
  if (outward[s->mode][sign] && infinity_code(f, s, sign, &code, events)) return code;
  *events |= TSR_EVENT_SATURATED;
  return tsr_arith_max(f, sign);
}

bool tsri_sr_up(uint64_t sig, int shift, unsigned sr_bits, uint64_t draw) {
  int r = sr_bits ? (int)sr_bits : 64;
  /* The top r bits of the discarded field, as an r-bit integer. */
  uint64_t field = shift > 64 ? sig : sig & tsri_mask((unsigned)shift);
  field = shift <= r ? field << (r - shift) : shift - r < 64 ? field >> (shift - r) : 0;
  return field != 0 && draw >> (64 - r) >= tsri_mask((unsigned)r) - field + 1;
}

uint64_t tsri_draw(const struct tsr_round_spec *s, uint64_t index) {
  return s->mode == TSR_ROUND_SR ? tsr_rng_u64(s->seed, s->stream, index) : 0;
}

uint64_t tsri_round_int(const struct tsr_format *f, const struct tsr_round_spec *s,
                        uint64_t draw, bool sign, int exp, uint64_t sig, bool sticky,
                        unsigned *events) {
  bool inexact = false;
  exp += f->bias;
  bool fits = sig == 0 || exp <= __builtin_clzll(sig);
  uint64_t mag =
      fits ? tsri_cut(sig, sig ? -exp : 1, sticky, sign, s, draw, &inexact) : UINT64_MAX;
  uint64_t limit = f->is_unsigned && sign ? 0 : tsri_mask(f->bits - !f->is_unsigned) + sign;
  if (inexact) *events |= TSR_EVENT_INEXACT;
  if (!fits || mag > limit) {
    if (s->saturate) return tsri_overflow(f, s, sign, events);
    *events |= TSR_EVENT_OVERFLOW | TSR_EVENT_INEXACT;
    if (!fits) mag = exp < 64 ? sig << exp : 0; /* its low bits are all that stays */
  }
  return (sign ? 0 - mag : mag) & tsri_mask(f->bits);
}

struct tsr_num tsr_arith_decode(const struct tsr_format *f, uint64_t code) {
  return tsri_decode(f, code);
}

uint64_t tsr_arith_round_spec(const struct tsr_format *f, const struct tsr_round_spec *s,
                              uint64_t index, bool sign, int exp, uint64_t sig, bool sticky,
                              unsigned *events) {
  unsigned ev = 0;
  uint64_t r = tsri_round_spec(f, s, tsri_draw(s, index), sign, exp, sig, sticky, &ev);
  if (events) *events |= ev;
  return r;
}

uint64_t tsr_arith_encode_spec(const struct tsr_format *f, const struct tsr_round_spec *s,
                               uint64_t index, const struct tsr_num *v, unsigned *events) {
  unsigned ev = 0;
  uint64_t r;
  if (v->cls == TSR_NUM_NAN || v->cls == TSR_NUM_INF) {
    r = encode_special(f, s, v, &ev);
  } else {
    uint64_t sig = v->cls == TSR_NUM_ZERO ? 0 : v->sig;
    r = tsri_round_spec(f, s, tsri_draw(s, index), v->sign, v->exp, sig, false, &ev);
  }
  if (events) *events |= ev;
  return r;
}

uint64_t tsr_arith_convert_spec(const struct tsr_format *from, uint64_t code,
                                const struct tsr_format *to, const struct tsr_round_spec *s,
                                uint64_t index, unsigned *events) {
  struct tsr_num v = tsri_decode(from, code);
  if (events && v.subnormal) *events |= TSR_EVENT_SUBNORMAL_IN;
  if (v.subnormal && s->ftz_in) v.cls = TSR_NUM_ZERO;
  return tsr_arith_encode_spec(to, s, index, &v, events);
}

uint64_t tsr_arith_round(const struct tsr_format *f, enum tsr_round mode, bool sign, int exp,
                         uint64_t sig, bool sticky, unsigned *events) {
  struct tsr_round_spec s = tsri_spec_of(f, mode);
  return tsr_arith_round_spec(f, &s, 0, sign, exp, sig, sticky, events);
}

uint64_t tsr_arith_encode(const struct tsr_format *f, enum tsr_round mode,
                          const struct tsr_num *v, unsigned *events) {
  struct tsr_round_spec s = tsri_spec_of(f, mode);
  return tsr_arith_encode_spec(f, &s, 0, v, events);
}

uint64_t tsr_arith_convert(const struct tsr_format *from, uint64_t code,
                           const struct tsr_format *to, enum tsr_round mode, unsigned *events) {
  struct tsr_round_spec s = tsri_spec_of(to, mode);
  return tsr_arith_convert_spec(from, code, to, &s, 0, events);
}

/* ---- doubles ---- */

enum { DOUBLE_MAN = 52, DOUBLE_BIAS = 1023, DOUBLE_TOP = 0x7ff };

/* Sign, exponent and fraction as IEEE 754 has them, on values that are not special. */
static bool is_plain(const struct tsr_format *f) {
  return !f->codec && !f->is_int && !f->is_unsigned && !f->pad_bits && f->man_bits &&
         f->man_bits <= DOUBLE_MAN;
}

/* The code of v rounded to nearest even, where both are zero or normal numbers and no rounding
 * reaches the exponent of the largest; false: another case. */
static bool plain_code(const struct tsr_format *f, double v, uint64_t *code) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  uint64_t sign = bits >> 63 << (f->exp_bits + f->man_bits), man = bits & tsri_mask(DOUBLE_MAN);
  int exp = (int)(bits >> DOUBLE_MAN & DOUBLE_TOP), field = exp - DOUBLE_BIAS + f->bias;
  if (!is_plain(f)) return false;
  if (!exp && !man && (!sign || !f->no_neg_zero)) {
    *code = sign;
    return true;
  }
  if (!exp || field < 1 || field >= (int)tsri_mask(f->exp_bits) - 1) return false;
  unsigned down = DOUBLE_MAN - f->man_bits;
  if (down) man = (man + tsri_mask(down - 1) + (man >> down & 1)) >> down;
  *code = sign | (((uint64_t)field << f->man_bits) + man);
  return true;
}

uint64_t tsr_arith_from_double(const struct tsr_format *f, enum tsr_round mode, double v,
                               unsigned *events) {
  uint64_t code;
  if (mode == TSR_ROUND_RNE && !events && plain_code(f, v, &code)) return code;
  memcpy(&code, &v, sizeof code);
  return tsr_arith_convert(fp64, code, f, mode, events);
}

/* The double of a normal number that no format keeps for an infinity or a NaN; false: another
 * case. */
static bool plain_double(const struct tsr_format *f, uint64_t code, uint64_t *bits) {
  uint64_t field = code >> f->man_bits & tsri_mask(f->exp_bits);
  int exp = (int)field - f->bias + DOUBLE_BIAS;
  if (!is_plain(f) || !field || field == tsri_mask(f->exp_bits)) return false;
  if (exp < 1 || exp >= DOUBLE_TOP) return false;
  *bits = (code >> (f->exp_bits + f->man_bits) & 1) << 63 | (uint64_t)exp << DOUBLE_MAN |
          (code & tsri_mask(f->man_bits)) << (DOUBLE_MAN - f->man_bits);
  return true;
}

double tsr_arith_to_double(const struct tsr_format *f, uint64_t code) {
  uint64_t bits;
  if (!plain_double(f, code, &bits))
    bits = tsr_arith_convert(f, code, fp64, TSR_ROUND_RNE, NULL);
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
