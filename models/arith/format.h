/* Number formats and conversions between them.
 *
 * Models: sign-exponent-significand floats and two's complement integers, each
 * a row of format.def.  A code is the raw bit pattern in the low bits of a
 * uint64_t.  Every rounding goes through one waist, tsr_arith_round.
 * Events are OR-ed into *events; a NULL events is allowed everywhere.
 * Errors: none at run time; asking for an unknown format is the caller's bug.
 * Sources: SRC:ieee754, SRC:ocp_ofp8 and the rows of format.def. */
#ifndef TSR_MODELS_ARITH_FORMAT_H
#define TSR_MODELS_ARITH_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tsr_round { TSR_ROUND_RNE, TSR_ROUND_RZ, TSR_ROUND_N_ };

/* Event flags of an operation (bits). */
enum tsr_event {
  TSR_EVENT_OVERFLOW = 1 << 0,  /* finite result outside the format */
  TSR_EVENT_UNDERFLOW = 1 << 1, /* tiny after rounding and inexact */
  TSR_EVENT_INEXACT = 1 << 2,
  TSR_EVENT_SATURATED = 1 << 3, /* clipped to the largest finite value */
  TSR_EVENT_SUBNORMAL_IN = 1 << 4,
  TSR_EVENT_SUBNORMAL_OUT = 1 << 5,
  TSR_EVENT_INVALID = 1 << 6 /* NaN made from operands that were none */
};

enum tsr_num_class { TSR_NUM_ZERO, TSR_NUM_FINITE, TSR_NUM_INF, TSR_NUM_NAN };

/* A decoded value: (-1)^sign * sig * 2^exp, sig an integer below 2^64, sig > 0
 * for FINITE.  Not normalised beyond what the code held. */
struct tsr_num {
  enum tsr_num_class cls;
  bool sign;
  bool subnormal; /* the code was subnormal in its format */
  int exp;
  uint64_t sig;
};

struct tsr_format {
  const char *name;
  bool is_int;      /* two's complement, value = code */
  bool is_unsigned; /* integers only */
  uint8_t bits;     /* width of a code in memory, in bits */
  uint8_t pad_bits; /* low bits of a code that are ignored, and 0 when encoded */
  uint8_t exp_bits, man_bits;
  int bias;
  bool has_inf, has_nan;
  const char *doc, *src;
};

/* Table of formats; index is a stable id within one build. */
size_t tsr_format_count(void);
const struct tsr_format *tsr_format_at(size_t i);
/* By name (`fp16`), or NULL. */
const struct tsr_format *tsr_format_find(const char *name);

struct tsr_num tsr_arith_decode(const struct tsr_format *f, uint64_t code);
/* The waist: rounds (-1)^sign * (sig + sticky bits below it) * 2^exp to `f`.
 * `sticky`: something non-zero lies below sig's last bit; then sig must reach at
 * least one bit below the last one the result keeps (sig >= 2^62 always does).
 * Out of range: OVERFLOW | INEXACT; integers, and floats without an infinity or
 * rounded toward zero, clip to the largest finite value and add SATURATED.
 * Underflow: tiny after rounding, as IEEE 754 section 7.5 (a). */
uint64_t tsr_arith_round(const struct tsr_format *f, enum tsr_round mode, bool sign, int exp,
                         uint64_t sig, bool sticky, unsigned *events);
/* Encodes any decoded value, specials too.  NaN becomes the canonical quiet NaN
 * (sign clear, only the top fraction bit set; all bits set where the format has
 * NaN but no infinity), or 0 with INVALID where the format has none.  An infinity
 * the format lacks clips to the largest finite value with SATURATED. */
uint64_t tsr_arith_encode(const struct tsr_format *f, enum tsr_round mode,
                          const struct tsr_num *v, unsigned *events);
uint64_t tsr_arith_convert(const struct tsr_format *from, uint64_t code,
                           const struct tsr_format *to, enum tsr_round mode, unsigned *events);
uint64_t tsr_arith_from_double(const struct tsr_format *f, enum tsr_round mode, double v,
                               unsigned *events);
/* Exact for every format of at most 53 significant bits. */
double tsr_arith_to_double(const struct tsr_format *f, uint64_t code);

#endif
