/* Names of formats and of rounding modes (grammar: tsr_format_parse). */
#include <string.h>

#include "models/arith/round_int.h"

enum { EXP_BITS_MAX = 11, MAN_BITS_MAX = 52, BIAS_DIGITS = 4 };

enum option {
  OPT_NOINF = 1,
  OPT_NONAN = 2,
  OPT_FNUZ = 4,
  OPT_NOSUB = 8,
  OPT_NONEGZERO = 16,
  OPT_UNSIGNED = 32,
  OPT_BIAS = 64
};

static const struct {
  const char *word;
  unsigned bit;
} options[] = {
    {"noinf", OPT_NOINF},       {"fn", OPT_NOINF},    {"nonan", OPT_NONAN},
    {"fnuz", OPT_FNUZ},         {"nosub", OPT_NOSUB}, {"nonegzero", OPT_NONEGZERO},
    {"unsigned", OPT_UNSIGNED},
};

const char *tsr_round_name(enum tsr_round mode) {
  static const char *const names[TSR_ROUND_N_] = {"RNE", "RZ", "RNA", "RU", "RD", "ODD", "SR"};
  return (unsigned)mode < TSR_ROUND_N_ ? names[mode] : NULL;
}

static enum tsr_status unknown(const char *name, struct tsr_err *err) {
  const char *names[TSRI_FORMAT_N_];
  for (size_t i = 0; i < TSRI_FORMAT_N_; i++) names[i] = tsri_formats[i].name;
  tsr_err_set(err, TSR_USAGE,
              "unknown format; expected a name or e<E>m<M>[:option]..., got '%s'", name);
  const char *near = tsr_err_nearest(name, names, TSRI_FORMAT_N_);
  if (near) tsr_err_hint(err, "did you mean '%s'?", near);
  return TSR_USAGE;
}

/* Digits without a leading zero, up to `max`; false: none, or more. */
static bool number(const char **p, int max, int *out) {
  const char *s = *p;
  int v = 0, n = 0;
  for (; *s >= '0' && *s <= '9' && n <= BIAS_DIGITS; s++, n++) v = 10 * v + (*s - '0');
  if (n == 0 || n > BIAS_DIGITS || v > max || (n > 1 && **p == '0')) return false;
  *p = s;
  *out = v;
  return true;
}

/* One option at *p, after its colon. */
static bool option(const char **p, unsigned *seen, int *bias) {
  size_t n = strcspn(*p, ":");
  unsigned bit = 0;
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
    if (strlen(options[i].word) == n && strncmp(*p, options[i].word, n) == 0)
      bit = options[i].bit;
  const char *end = *p + n, *digits = *p + strlen("bias");
  if (n > strlen("bias") && strncmp(*p, "bias", strlen("bias")) == 0 &&
      number(&digits, 9999, bias) && digits == end)
    bit = OPT_BIAS;
  if (bit == 0 || (*seen & bit)) return false;
  *seen |= bit;
  *p = end;
  return true;
}

static const char *contradiction(const struct tsr_format *f, unsigned seen) {
  bool fnuz = seen & OPT_FNUZ;
  if (fnuz && (seen & ~(unsigned)(OPT_FNUZ | OPT_NOSUB | OPT_BIAS)))
    return "fnuz without noinf, nonan, nonegzero and unsigned";
  if ((seen & OPT_NONAN) && !(seen & OPT_NOINF)) return "noinf beside nonan";
  if ((seen & OPT_UNSIGNED) && (seen & OPT_NONEGZERO)) return "unsigned without nonegzero";
  if (f->has_inf && f->man_bits == 0) return "a fraction bit for NaN, or noinf";
  if (tsri_max_finite(f) < UINT64_C(1) << f->man_bits) return "room for a normal number";
  int top = (int)(tsri_max_finite(f) >> f->man_bits) - f->bias;
  int last = 1 - f->bias - (f->no_subnormals ? 0 : f->man_bits);
  const struct tsr_format *d = &tsri_formats[TSRI_FORMAT_fp64];
  if (top > d->bias || last < 1 - d->bias - d->man_bits) return "a range within fp64";
  return NULL;
}

enum tsr_status tsr_format_parse(const char *name, struct tsr_format *out,
                                 struct tsr_err *err) {
  const struct tsr_format *row = tsr_format_find(name);
  if (row) {
    *out = *row;
    return TSR_OK;
  }
  const char *p = name;
  int e = 0, m = 0, bias = 0;
  unsigned seen = 0;
  if (*p++ != 'e' || !number(&p, EXP_BITS_MAX, &e) || e == 0) return unknown(name, err);
  if (*p++ != 'm' || !number(&p, MAN_BITS_MAX, &m)) return unknown(name, err);
  while (*p == ':') {
    p++;
    if (!option(&p, &seen, &bias)) return unknown(name, err);
  }
  if (*p) return unknown(name, err);
  bool fnuz = seen & OPT_FNUZ;
  struct tsr_format f = {.name = name,
                         .is_unsigned = seen & OPT_UNSIGNED,
                         .exp_bits = (uint8_t)e,
                         .man_bits = (uint8_t)m,
                         .bias = (1 << (e - 1)) - !fnuz,
                         .has_inf = !fnuz && !(seen & OPT_NOINF),
                         .has_nan = !(seen & OPT_NONAN),
                         .no_subnormals = seen & OPT_NOSUB,
                         .no_neg_zero = fnuz || (seen & OPT_NONEGZERO),
                         .doc = "given by its name",
                         .src = "ieee754"};
  f.bits = (uint8_t)(e + m + !f.is_unsigned);
  if (seen & OPT_BIAS) f.bias = bias;
  const char *rule = contradiction(&f, seen);
  if (rule)
    return tsr_err_set(err, TSR_USAGE, "format does not exist; expected %s, got '%s'", rule,
                       name);
  *out = f;
  return TSR_OK;
}
