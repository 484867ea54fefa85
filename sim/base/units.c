#include "sim/base/units.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/mem.h"

struct suffix {
  const char *text;
  uint64_t scale; /* in base units */
};

static const struct suffix counts[] = {{"", 1}, {NULL, 0}};
static const struct suffix bytes[] = {
    {"B", 1},           {"KB", 1000},          {"MB", 1000000},
    {"GB", 1000000000}, {"TB", 1000000000000}, {"KiB", 1u << 10},
    {"MiB", 1u << 20},  {"GiB", 1u << 30},     {"TiB", UINT64_C(1) << 40},
    {NULL, 0}};
static const struct suffix hertz[] = {
    {"Hz", 1}, {"kHz", 1000}, {"MHz", 1000000}, {"GHz", 1000000000}, {NULL, 0}};
static const struct suffix times[] = {
    {"fs", 1},          {"ps", 1000},          {"ns", 1000000},
    {"us", 1000000000}, {"ms", 1000000000000}, {"s", TSR_FS_PER_S},
    {NULL, 0}};
static const struct suffix rates[] = {{"B/s", 1},
                                      {"KB/s", 1000},
                                      {"MB/s", 1000000},
                                      {"GB/s", 1000000000},
                                      {"TB/s", 1000000000000},
                                      {"KiB/s", 1u << 10},
                                      {"MiB/s", 1u << 20},
                                      {"GiB/s", 1u << 30},
                                      {"TiB/s", UINT64_C(1) << 40},
                                      {NULL, 0}};

static const struct {
  const struct suffix *suffixes;
  const char *example;
} units[TSR_UNIT_N_] = {
    [TSR_UNIT_COUNT] = {counts, "a whole number such as 32"},
    [TSR_UNIT_BYTES] = {bytes, "a size such as 512KiB"},
    [TSR_UNIT_HZ] = {hertz, "a frequency such as 1.05GHz"},
    [TSR_UNIT_FS] = {times, "a time such as 45ns"},
    [TSR_UNIT_BYTES_PER_S] = {rates, "a rate such as 600GB/s"},
};

const char *tsr_unit_example(enum tsr_unit unit) {
  return units[unit].example;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static size_t digits(const char *p, size_t n) {
  size_t i = 0;
  while (i < n && is_digit(p[i])) i++;
  return i;
}

/* A number taken apart: whole part, fraction digits, suffix. */
struct parts {
  const char *whole, *frac, *suffix;
  size_t n_whole, n_frac, n_suffix;
};

static bool split(const char *p, size_t n, struct parts *out) {
  size_t i = digits(p, n);
  *out = (struct parts){.whole = p, .n_whole = i};
  if (!i) return false;
  if (i < n && p[i] == '.') {
    out->frac = p + ++i;
    out->n_frac = digits(p + i, n - i);
    if (!out->n_frac) return false;
    i += out->n_frac;
  }
  out->suffix = p + i;
  out->n_suffix = n - i;
  for (; i < n; i++)
    if (p[i] == '.' || is_digit(p[i])) return false; /* 1.2.3, 1e9 */
  return true;
}

static const struct suffix *find_suffix(enum tsr_unit unit, const struct parts *t) {
  for (const struct suffix *s = units[unit].suffixes; s->text; s++)
    if (strlen(s->text) == t->n_suffix && memcmp(s->text, t->suffix, t->n_suffix) == 0)
      return s;
  return NULL;
}

static bool is_zero(const struct parts *t) {
  for (size_t i = 0; i < t->n_whole; i++)
    if (t->whole[i] != '0') return false;
  for (size_t i = 0; i < t->n_frac; i++)
    if (t->frac[i] != '0') return false;
  return true;
}

/* 0.f1f2…fn * scale, exactly: multiplied from the last digit on, each finished
 * digit must be 0. The carry stays below 10 * scale, hence below 2^64. */
static bool scale_fraction(const struct parts *t, uint64_t scale, uint64_t *out) {
  uint64_t carry = 0;
  for (size_t i = t->n_frac; i-- > 0;) {
    carry += (uint64_t)(t->frac[i] - '0') * scale;
    if (carry % 10) return false;
    carry /= 10;
  }
  *out = carry;
  return true;
}

static bool scale_whole(const struct parts *t, uint64_t scale, uint64_t *out) {
  uint64_t v = 0;
  for (size_t i = 0; i < t->n_whole; i++)
    if (!tsr_mul_u64(v, 10, &v) || !tsr_add_u64(v, (uint64_t)(t->whole[i] - '0'), &v))
      return false;
  return tsr_mul_u64(v, scale, out);
}

enum tsr_quantity_result tsr_quantity_parse(const char *text, size_t n, enum tsr_unit unit,
                                            uint64_t *out) {
  static const char word[] = "unlimited";
  struct parts t;
  uint64_t frac, whole, v;
  if (n == sizeof word - 1 && memcmp(text, word, n) == 0) {
    *out = TSR_UNLIMITED;
    return TSR_QUANTITY_OK;
  }
  bool negative = n && text[0] == '-';
  if (!split(text + negative, n - negative, &t)) return TSR_QUANTITY_NOT_A_NUMBER;
  if (negative) return TSR_QUANTITY_NEGATIVE;
  const struct suffix *s = find_suffix(unit, &t);
  if (!s && t.n_suffix == 0 && is_zero(&t)) s = units[unit].suffixes;
  if (!s) return TSR_QUANTITY_WRONG_UNIT;
  if (!scale_fraction(&t, s->scale, &frac)) return TSR_QUANTITY_NOT_WHOLE;
  if (!scale_whole(&t, s->scale, &whole) || !tsr_add_u64(whole, frac, &v) || v == TSR_UNLIMITED)
    return TSR_QUANTITY_TOO_LARGE;
  *out = v;
  return TSR_QUANTITY_OK;
}

/* v in units of s; scales divide a power of ten, so that at most 40 fraction
 * digits end it (2^-40). */
static void print_scaled(uint64_t v, const struct suffix *s, char *buf, size_t size) {
  char frac[48];
  size_t n = 0;
  uint64_t rem = v % s->scale;
  for (; rem; rem %= s->scale) {
    rem *= 10;
    frac[n++] = (char)('0' + rem / s->scale);
  }
  frac[n] = '\0';
  snprintf(buf, size, "%llu%s%s%s", (unsigned long long)(v / s->scale), n ? "." : "", frac,
           s->text);
}

/* Shortest first, of equal ones the larger unit: 1.05GHz before 1050MHz. */
char *tsr_quantity_print(uint64_t v, enum tsr_unit unit, char *buf) {
  enum { HELD = 48 };
  if (v == TSR_UNLIMITED) {
    snprintf(buf, HELD, "unlimited");
    return buf;
  }
  uint64_t best = 0;
  for (const struct suffix *s = units[unit].suffixes; s->text; s++) {
    char t[96];
    if (s->scale > 1 && v < s->scale) continue;
    print_scaled(v, s, t, sizeof t);
    size_t n = strlen(t), have = best ? strlen(buf) : HELD;
    if (n > have || (n == have && s->scale < best)) continue;
    if (n >= HELD) continue;
    memcpy(buf, t, n + 1);
    best = s->scale;
  }
  return buf;
}
