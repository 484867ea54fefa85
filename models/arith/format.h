/* Number formats and conversions between them.
 *
 * Models: sign-exponent-significand floats, two's complement integers and fixed
 * point, each a row of format.def or a name in the grammar of tsr_format_parse, and
 * formats that are neither, by a codec.  A code is the raw bit pattern in the low
 * bits of a uint64_t.  Every rounding goes through one waist, tsr_arith_round_spec.
 * Events are OR-ed into *events; a NULL events is allowed everywhere.
 * Ownership: none, no allocation; names and codecs are borrowed.
 * Errors: only tsr_format_parse has any; asking for an unknown format or rounding
 * mode is the caller's bug.
 * Sources: SRC:ieee754, SRC:ocp_ofp8 and the rows of format.def. */
#ifndef TSR_MODELS_ARITH_FORMAT_H
#define TSR_MODELS_ARITH_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"

/* Rounding modes.  SR is the last: a loop over the modes that need no random bits
 * ends before it. */
enum tsr_round {
  TSR_ROUND_RNE, /* to nearest, ties to the even significand (one-digit formats: away) */
  TSR_ROUND_RZ,  /* toward zero */
  TSR_ROUND_RNA, /* to nearest, ties away from zero */
  TSR_ROUND_RU,  /* toward +infinity */
  TSR_ROUND_RD,  /* toward -infinity */
  TSR_ROUND_ODD, /* inexact: toward zero, then the last bit of the significand set */
  TSR_ROUND_SR,  /* stochastic: random bits added to the discarded field, then RZ */
  TSR_ROUND_N_
};
/* `RNE`; NULL for no mode. */
const char *tsr_round_name(enum tsr_round mode);

/* Event flags of an operation (bits). */
enum tsr_event {
  TSR_EVENT_OVERFLOW = 1 << 0,  /* finite result outside the format */
  TSR_EVENT_UNDERFLOW = 1 << 1, /* tiny after rounding and inexact */
  TSR_EVENT_INEXACT = 1 << 2,
  TSR_EVENT_SATURATED = 1 << 3, /* clipped to the nearest finite value */
  TSR_EVENT_SUBNORMAL_IN = 1 << 4,
  TSR_EVENT_SUBNORMAL_OUT = 1 << 5,
  TSR_EVENT_INVALID = 1 << 6 /* NaN made from operands that were none, or lost */
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

struct tsr_codec;

/* NaN codes follow from the flags: with infinities, those of IEEE 754; without,
 * all bits set but the sign (OFP8 E4M3) where -0 exists or there is no sign, else
 * the code of -0 (fnuz). */
struct tsr_format {
  const char *name;
  bool is_int;      /* two's complement, value = code * 2^-bias */
  bool is_unsigned; /* no sign; a float's bit above the exponent is ignored */
  uint8_t bits;     /* width of a code in memory, in bits */
  uint8_t pad_bits; /* low bits of a code that are ignored, and 0 when encoded */
  uint8_t exp_bits, man_bits;
  int bias;
  bool has_inf, has_nan; /* an infinity needs a NaN */
  const char *doc, *src;
  bool no_subnormals;            /* exponent field 0 is zero, whatever the fraction */
  bool no_neg_zero;              /* the code of -0 is NaN (fnuz), or reads as +0 */
  const struct tsr_codec *codec; /* not NULL: replaces decoding and rounding */
};

/* Table of formats; index is a stable id within one build. */
size_t tsr_format_count(void);
const struct tsr_format *tsr_format_at(size_t i);
/* By name (`fp16`), or NULL.  Rows of the table only. */
const struct tsr_format *tsr_format_find(const char *name);

/* A format by its name: a row of the table, or
 *   e<E>m<M>[:option]...   E in 1..11, M in 0..52
 * with a sign, IEEE bias 2^(E-1)-1, infinities and NaN in the top exponent, and
 * subnormals, unless options say otherwise:
 *   noinf, fn  no infinity; NaN is all ones only       (fp8_e4m3 = e4m3:fn)
 *   nonan      no NaN either; needs noinf              (fp4_e2m1 = e2m1:noinf:nonan)
 *   fnuz       noinf, nonegzero and a bias of 2^(E-1)  (fp8_e4m3fnuz = e4m3:fnuz)
 *   nosub      no subnormals: below the smallest normal number there is only zero
 *   nonegzero  no -0: with noinf its code is NaN, else it reads as +0
 *   unsigned   no sign; negative values clip to zero
 *   bias<N>    another bias
 * Every such format must fit fp64 exactly and hold a normal number.
 * out->name is `name` (borrowed; a table row: the table's).  TSR_USAGE: not such a
 * name; *out is unchanged then. */
enum tsr_status tsr_format_parse(const char *name, struct tsr_format *out, struct tsr_err *err);

/* The NaN an operation makes. */
enum tsr_nan {
  TSR_NAN_QUIET, /* sign clear, only the top fraction bit set (IEEE 754) */
  TSR_NAN_ONES   /* sign clear, every other bit set: what NVIDIA units give */
};
/* Its code; formats without infinity have one NaN (of each sign) whichever the rule.
 * The code of +0 where the format has no NaN. */
uint64_t tsr_arith_nan(const struct tsr_format *f, enum tsr_nan rule);

/* Code of the largest finite value; `sign`: of the smallest one. */
uint64_t tsr_arith_max(const struct tsr_format *f, bool sign);

/* How a value becomes a code.  Zero-filled: RNE, not saturating, nothing flushed. */
struct tsr_round_spec {
  enum tsr_round mode;
  /* Beyond the largest finite value.  true: that value, for infinities too.  false:
   * infinity, or NaN where the format has only that, or the largest finite value
   * where it has neither; a direction that rounds toward zero keeps the largest
   * finite value (IEEE 754 section 7.4).  Integers wrap modulo 2^bits. */
  bool saturate;
  bool ftz_in;  /* a subnormal source reads as a zero of its sign */
  bool ftz_out; /* a subnormal result becomes a zero of its sign (after rounding) */
  enum tsr_nan nan;
  /* SR: random bits added to the top of the discarded field, 1 to 64; 0 means 64.
   * The bits depend on seed, stream and element index alone. */
  uint8_t sr_bits;
  uint64_t seed, stream;
};

struct tsr_num tsr_arith_decode(const struct tsr_format *f, uint64_t code);

/* The waist: rounds (-1)^sign * (sig + sticky bits below it) * 2^exp to `f`.
 * `sticky`: something non-zero lies below sig's last bit; then sig must reach at
 * least one bit below the last one the result keeps (sig >= 2^62 always does).
 * `index`: of the element, for SR.
 * Underflow: tiny after rounding, as IEEE 754 section 7.5 (a).
 * Out of range: OVERFLOW | INEXACT, SATURATED where it was clipped, INVALID where it
 * became NaN.  A negative value in a float without sign is out of range downward.
 * A format without zero gives its smallest value with UNDERFLOW | SATURATED. */
uint64_t tsr_arith_round_spec(const struct tsr_format *f, const struct tsr_round_spec *s,
                              uint64_t index, bool sign, int exp, uint64_t sig, bool sticky,
                              unsigned *events);
/* Encodes any decoded value, specials too.  NaN becomes +0 with INVALID where the
 * format has none; an infinity the format lacks goes the way of an overflow
 * (integers that wrap: 0 with INVALID). */
uint64_t tsr_arith_encode_spec(const struct tsr_format *f, const struct tsr_round_spec *s,
                               uint64_t index, const struct tsr_num *v, unsigned *events);
/* One rounding from code to code. */
uint64_t tsr_arith_convert_spec(const struct tsr_format *from, uint64_t code,
                                const struct tsr_format *to, const struct tsr_round_spec *s,
                                uint64_t index, unsigned *events);

/* The same by mode alone: saturating exactly where the format has no infinity,
 * nothing flushed, quiet NaN; SR with 64 bits of seed 0, index 0. */
uint64_t tsr_arith_round(const struct tsr_format *f, enum tsr_round mode, bool sign, int exp,
                         uint64_t sig, bool sticky, unsigned *events);
uint64_t tsr_arith_encode(const struct tsr_format *f, enum tsr_round mode,
                          const struct tsr_num *v, unsigned *events);
uint64_t tsr_arith_convert(const struct tsr_format *from, uint64_t code,
                           const struct tsr_format *to, enum tsr_round mode, unsigned *events);
uint64_t tsr_arith_from_double(const struct tsr_format *f, enum tsr_round mode, double v,
                               unsigned *events);
/* Exact for every format of at most 53 significant bits within the range of fp64. */
double tsr_arith_to_double(const struct tsr_format *f, uint64_t code);

/* A format that is no sign-exponent-significand.  `decode` never fails: every code
 * means something.  `round` has the arguments of the waist, with the random bits in
 * place of the index; *events is not NULL. */
struct tsr_codec {
  struct tsr_num (*decode)(const struct tsr_format *f, uint64_t code);
  uint64_t (*round)(const struct tsr_format *f, const struct tsr_round_spec *s, uint64_t draw,
                    bool sign, int exp, uint64_t sig, bool sticky, unsigned *events);
  uint64_t nan;    /* what a NaN becomes: NaN where has_nan, else a zero */
  uint64_t max[2]; /* codes of the largest and, [1], the smallest value */
  /* For the two functions below. */
  const int64_t *values; /* ascending, code i means values[i] * 2^exp; |.| < 2^62 */
  size_t n;
  int exp;
};
/* A codec by table: any ascending list of values. */
struct tsr_num tsr_codec_table_decode(const struct tsr_format *f, uint64_t code);
uint64_t tsr_codec_table_round(const struct tsr_format *f, const struct tsr_round_spec *s,
                               uint64_t draw, bool sign, int exp, uint64_t sig, bool sticky,
                               unsigned *events);

#endif
