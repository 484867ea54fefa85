/* Formats that are no sign-exponent-significand: a table of values (NF4), and the
 * power-of-two scale without zero (E8M0). */
#include "models/arith/round_int.h"
#include "sim/base/mem.h"

/* ---- any ascending table ---- */

/* Values and sources meet in units of 2^(exp - 64); a source beyond 2^126 units lies
 * beyond every value. */
enum { BELOW = 64, FAR = 126 };

/* floor of (-1)^sign * sig * 2^exp in those units; *rest: something lies above it. */
static tsr_i128 floor_units(int table_exp, bool sign, int exp, uint64_t sig, bool sticky,
                            bool *rest) {
  int up = exp - (table_exp - BELOW);
  int msb = sig ? 63 - __builtin_clzll(sig) : 0;
  tsr_u128 mag;
  *rest = sticky;
  if (up + msb >= FAR) {
    mag = (tsr_u128)1 << FAR;
  } else if (up >= 0) {
    mag = (tsr_u128)sig << up;
  } else {
    mag = up > -64 ? sig >> -up : 0;
    *rest = sticky || (up <= -64 ? sig != 0 : (sig & tsri_mask((unsigned)-up)) != 0);
  }
  if (sig == 0) mag = 0;
  return sign ? -(tsr_i128)mag - *rest : (tsr_i128)mag;
}

static tsr_i128 value_units(const struct tsr_codec *c, size_t i) {
  return (tsr_i128)((tsr_u128)(tsr_i128)c->values[i] << BELOW);
}

struct tsr_num tsr_codec_table_decode(const struct tsr_format *f, uint64_t code) {
  int64_t v = f->codec->values[code & tsri_mask(f->bits)];
  struct tsr_num r = {v ? TSR_NUM_FINITE : TSR_NUM_ZERO, v < 0, false, f->codec->exp,
                      v < 0 ? 0 - (uint64_t)v : (uint64_t)v};
  return r;
}

/* Ties and ODD go by the code, an index.  Between two neighbours, `off` (and more, if rest)
 * above value lo, `gap` wide. */
static bool table_up(const struct tsr_round_spec *s, uint64_t draw, size_t lo, bool negative,
                     tsr_u128 off, tsr_u128 gap, bool rest) {
  bool above = 2 * off > gap || (2 * off == gap && rest), tie = 2 * off == gap && !rest;
  int r = s->sr_bits ? s->sr_bits : 64;
  switch (s->mode) {
  case TSR_ROUND_RNE: return above || (tie && (lo & 1));
  case TSR_ROUND_RNA: return above || (tie && !negative);
  case TSR_ROUND_RU: return true;
  case TSR_ROUND_RD: return false;
  case TSR_ROUND_ODD: return !(lo & 1);
  case TSR_ROUND_SR: {
    tsr_u128 step = gap >> BELOW;
    TSR_CHECK(step > 0); /* the table ascends */
    uint64_t part = (uint64_t)(off / step >> (BELOW - r));
    return part != 0 && draw >> (64 - r) >= tsri_mask((unsigned)r) - part + 1;
  }
  case TSR_ROUND_RZ:
  case TSR_ROUND_N_: break;
  }
  return negative;
}

uint64_t tsr_codec_table_round(const struct tsr_format *f, const struct tsr_round_spec *s,
                               uint64_t draw, bool sign, int exp, uint64_t sig, bool sticky,
                               unsigned *events) {
  const struct tsr_codec *c = f->codec;
  bool rest;
  tsr_i128 x = floor_units(c->exp, sign, exp, sig, sticky, &rest);
  if (x < value_units(c, 0)) return tsri_overflow(f, s, true, events);
  size_t lo = 0;
  while (lo + 1 < c->n && value_units(c, lo + 1) <= x) lo++;
  tsr_u128 off = (tsr_u128)(x - value_units(c, lo));
  if (off == 0 && !rest) return lo;
  if (lo + 1 == c->n) return tsri_overflow(f, s, false, events);
  *events |= TSR_EVENT_INEXACT;
  tsr_u128 gap = (tsr_u128)(value_units(c, lo + 1) - value_units(c, lo));
  return lo + table_up(s, draw, lo, sign, off, gap, rest);
}

/* ---- NF4: bitsandbytes' 16 fp32 constants, in units of 2^-27 (SRC:dettmers2023) ---- */

static const int64_t nf4_values[16] = {
    -134217728, -93441416, -70474112, -53004928, -38177076, -24799870, -12220529, 0,
    10681087,   21599686,  33032634,  45354216,  59151072,  75513176,  97033624,  134217728,
};

const struct tsr_codec tsri_codec_nf4 = {.decode = tsr_codec_table_decode,
                                         .round = tsr_codec_table_round,
                                         .nan = 7,
                                         .max = {15, 0},
                                         .values = nf4_values,
                                         .n = 16,
                                         .exp = -27};

/* ---- E8M0 ---- */

enum { E8M0_BIAS = 127, E8M0_NAN = 0xff, E8M0_MAX = 0xfe };

static struct tsr_num e8m0_decode(const struct tsr_format *f, uint64_t code) {
  (void)f;
  code &= 0xff;
  struct tsr_num r = {code == E8M0_NAN ? TSR_NUM_NAN : TSR_NUM_FINITE, false, false,
                      (int)code - E8M0_BIAS, 1};
  return r;
}

static uint64_t e8m0_round(const struct tsr_format *f, const struct tsr_round_spec *s,
                           uint64_t draw, bool sign, int exp, uint64_t sig, bool sticky,
                           unsigned *events) {
  if (sign && (sig || sticky)) return tsri_overflow(f, s, true, events);
  int down = sig ? 63 - __builtin_clzll(sig) : 0, e = exp + down;
  bool inexact = false;
  if (sig && tsri_cut(sig, down, sticky, false, s, draw, &inexact) == 2) e++;
  if (sig && e > E8M0_MAX - E8M0_BIAS) return tsri_overflow(f, s, false, events);
  if (inexact) *events |= TSR_EVENT_INEXACT;
  int code = sig ? e + E8M0_BIAS : -1; /* negative: below the least value */
  if (code >= 0) return (uint64_t)code;
  *events |= TSR_EVENT_INEXACT | TSR_EVENT_UNDERFLOW | TSR_EVENT_SATURATED;
  return 0;
}

const struct tsr_codec tsri_codec_e8m0 = {
    .decode = e8m0_decode, .round = e8m0_round, .nan = E8M0_NAN, .max = {E8M0_MAX, 0}};
