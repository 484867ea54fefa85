/* The table of formats, rounding, and conversions (models/arith/format.h). */
#include "models/arith/format.h"

#include <string.h>

#include "models/arith/arith_int.h"

const struct tsr_format tsri_formats[] = {
#define TSR_FORMAT(name, is_int, is_unsigned, bits, pad, exp, man, bias, inf, nan, doc, src) \
  {#name, is_int, is_unsigned, bits, pad, exp, man, bias, inf, nan, doc, src},
#include "models/arith/format.def"
#undef TSR_FORMAT
};

/* How a C double lies in memory; no operand format of a unit. */
static const struct tsr_format host_double = {
    "double", false, false, 64, 0, 11, 52, 1023, true, true, "IEEE binary64", "ieee754"};

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

/* The largest magnitude of a sign in an integer format. */
static uint64_t int_limit(const struct tsr_format *f, bool sign) {
  if (f->is_unsigned) return sign ? 0 : tsri_mask(f->bits);
  return tsri_mask(f->bits - 1u) + (sign ? 1 : 0);
}

uint64_t tsri_overflow(const struct tsr_format *f, enum tsr_round mode, bool sign,
                       unsigned *events) {
  *events |= TSR_EVENT_OVERFLOW | TSR_EVENT_INEXACT;
  if (f->has_inf && mode == TSR_ROUND_RNE) return tsri_inf(f, sign);
  *events |= TSR_EVENT_SATURATED;
  return ((sign ? tsri_sign_bit(f) : 0) | tsri_max_finite(f)) << f->pad_bits;
}

uint64_t tsri_round_int(const struct tsr_format *f, enum tsr_round mode, bool sign, int exp,
                        uint64_t sig, bool sticky, unsigned *events) {
  bool inexact = false, fits = sig == 0 || exp <= __builtin_clzll(sig);
  uint64_t mag = fits ? tsri_cut(sig, sig ? -exp : 1, sticky, mode, &inexact) : UINT64_MAX;
  uint64_t limit = int_limit(f, sign);
  if (mag > limit) {
    mag = limit;
    *events |= TSR_EVENT_OVERFLOW | TSR_EVENT_SATURATED | TSR_EVENT_INEXACT;
  } else if (inexact) {
    *events |= TSR_EVENT_INEXACT;
  }
  return (sign ? 0 - mag : mag) & tsri_mask(f->bits);
}

static uint64_t nan_code(const struct tsr_format *f) {
  if (f->has_inf) return tsri_inf(f, false) | UINT64_C(1) << (f->man_bits - 1 + f->pad_bits);
  return (tsri_sign_bit(f) - 1) << f->pad_bits;
}

static uint64_t encode_special(const struct tsr_format *f, const struct tsr_num *v,
                               unsigned *events) {
  if (v->cls == TSR_NUM_NAN) {
    if (f->has_nan) return nan_code(f);
    *events |= TSR_EVENT_INVALID;
    return 0;
  }
  if (f->has_inf) return tsri_inf(f, v->sign);
  *events |= TSR_EVENT_SATURATED;
  if (!f->is_int) return ((v->sign ? tsri_sign_bit(f) : 0) | tsri_max_finite(f)) << f->pad_bits;
  uint64_t limit = int_limit(f, v->sign);
  return (v->sign ? 0 - limit : limit) & tsri_mask(f->bits);
}

struct tsr_num tsr_arith_decode(const struct tsr_format *f, uint64_t code) {
  return tsri_decode(f, code);
}

uint64_t tsr_arith_round(const struct tsr_format *f, enum tsr_round mode, bool sign, int exp,
                         uint64_t sig, bool sticky, unsigned *events) {
  unsigned ev = 0;
  uint64_t r = tsri_round(f, mode, sign, exp, sig, sticky, &ev);
  if (events) *events |= ev;
  return r;
}

uint64_t tsr_arith_encode(const struct tsr_format *f, enum tsr_round mode,
                          const struct tsr_num *v, unsigned *events) {
  unsigned ev = 0;
  uint64_t r = v->cls == TSR_NUM_NAN || v->cls == TSR_NUM_INF
                   ? encode_special(f, v, &ev)
                   : tsri_round(f, mode, v->sign, v->exp, v->sig, false, &ev);
  if (events) *events |= ev;
  return r;
}

uint64_t tsr_arith_convert(const struct tsr_format *from, uint64_t code,
                           const struct tsr_format *to, enum tsr_round mode, unsigned *events) {
  struct tsr_num v = tsri_decode(from, code);
  if (events && v.subnormal) *events |= TSR_EVENT_SUBNORMAL_IN;
  return tsr_arith_encode(to, mode, &v, events);
}

uint64_t tsr_arith_from_double(const struct tsr_format *f, enum tsr_round mode, double v,
                               unsigned *events) {
  uint64_t code;
  memcpy(&code, &v, sizeof code);
  return tsr_arith_convert(&host_double, code, f, mode, events);
}

double tsr_arith_to_double(const struct tsr_format *f, uint64_t code) {
  uint64_t bits = tsr_arith_convert(f, code, &host_double, TSR_ROUND_RNE, NULL);
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
