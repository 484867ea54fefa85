#include "tests/unit/arith/values.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

const struct shape shapes[] = {
    {.name = "fp16", .exp_bits = 5, .man_bits = 10, .bias = 15, .inf = true},
    {.name = "bf16", .exp_bits = 8, .man_bits = 7, .bias = 127, .inf = true},
    {.name = "fp8_e4m3", .exp_bits = 4, .man_bits = 3, .bias = 7, .nan_ones = true},
    {.name = "fp8_e5m2", .exp_bits = 5, .man_bits = 2, .bias = 15, .inf = true},
    {.name = "fp8_e4m3fnuz",
     .exp_bits = 4,
     .man_bits = 3,
     .bias = 8,
     .nan_neg_zero = true,
     .no_neg_zero = true},
    {.name = "fp8_e5m2fnuz",
     .exp_bits = 5,
     .man_bits = 2,
     .bias = 16,
     .nan_neg_zero = true,
     .no_neg_zero = true},
    {.name = "fp6_e3m2", .exp_bits = 3, .man_bits = 2, .bias = 3},
    {.name = "fp6_e2m3", .exp_bits = 2, .man_bits = 3, .bias = 1},
    {.name = "fp4_e2m1", .exp_bits = 2, .man_bits = 1, .bias = 1},
    {.name = "nf4", .kind = LIST},
    {.name = "e8m0",
     .exp_bits = 8,
     .bias = 127,
     .no_sign = true,
     .nan_ones = true,
     .no_zero = true},
    {.name = "ue4m3",
     .exp_bits = 4,
     .man_bits = 3,
     .bias = 7,
     .no_sign = true,
     .nan_ones = true},
    {.name = "int4", .kind = INTEGER, .exp_bits = 4},
    {.name = "int8", .kind = INTEGER, .exp_bits = 8},
    {.name = "uint8", .kind = INTEGER, .exp_bits = 8, .no_sign = true},
    {.name = "int8_f6", .kind = INTEGER, .exp_bits = 8, .man_bits = 6},
    {.name = "int16", .kind = INTEGER, .exp_bits = 16},
    {.name = "e4m3", .exp_bits = 4, .man_bits = 3, .bias = 7, .inf = true},
    {.name = "e6m9", .exp_bits = 6, .man_bits = 9, .bias = 31, .inf = true},
    {.name = "e3m0:noinf", .exp_bits = 3, .bias = 3, .nan_ones = true},
    {.name = "e4m0:noinf:nonan:unsigned", .exp_bits = 4, .bias = 7, .no_sign = true},
    {.name = "e5m2:nosub",
     .exp_bits = 5,
     .man_bits = 2,
     .bias = 15,
     .inf = true,
     .no_subnormals = true},
    {.name = "e3m0:nosub:fnuz",
     .exp_bits = 3,
     .bias = 4,
     .nan_neg_zero = true,
     .no_neg_zero = true,
     .no_subnormals = true},
    {.name = "e4m3:nonegzero",
     .exp_bits = 4,
     .man_bits = 3,
     .bias = 7,
     .inf = true,
     .no_neg_zero = true},
    {.name = "e2m3:noinf:nonan:bias5:nonegzero",
     .exp_bits = 2,
     .man_bits = 3,
     .bias = 5,
     .no_neg_zero = true},
    {.name = "e1m5:fn", .exp_bits = 1, .man_bits = 5, .bias = 0, .nan_ones = true},
};
const size_t n_shapes = sizeof shapes / sizeof shapes[0];

/* SRC:dettmers2023 */
static const float nf4[16] = {-1.0000000000f, -0.6961928010f, -0.5250730515f, -0.3949174881f,
                              -0.2844413817f, -0.1847734302f, -0.0910500363f, 0.0000000000f,
                              0.0795802996f,  0.1609302014f,  0.2461123019f,  0.3379152417f,
                              0.4407098293f,  0.5626170039f,  0.7229568362f,  1.0000000000f};

static unsigned width(const struct shape *s) {
  if (s->kind == LIST) return 4;
  if (s->kind == INTEGER) return (unsigned)s->exp_bits;
  /* A row without sign may keep the bit above. */
  bool byte = s->no_sign && s->exp_bits + s->man_bits == 7;
  return (unsigned)(s->exp_bits + s->man_bits + (!s->no_sign || byte));
}

double values_of(const struct values *t, uint64_t code) {
  const struct shape *s = &t->shape;
  if (s->kind == LIST) return (double)nf4[code & 15];
  if (s->kind == INTEGER) {
    double span = ldexp(1, s->exp_bits), v = (double)code;
    return ldexp(!s->no_sign && v >= span / 2 ? v - span : v, -s->man_bits);
  }
  uint64_t one = 1, man = code & ((one << s->man_bits) - 1);
  uint64_t field = code >> s->man_bits & ((one << s->exp_bits) - 1);
  bool negative = !s->no_sign && code >> (s->exp_bits + s->man_bits) & 1;
  bool top = field == (one << s->exp_bits) - 1, ones = man == (one << s->man_bits) - 1;
  if (s->inf && top) return man ? (double)NAN : negative ? -(double)INFINITY : (double)INFINITY;
  if (s->nan_ones && top && ones) return (double)NAN;
  double frac = ldexp((double)man, -s->man_bits), v;
  if (field || s->no_zero) {
    v = ldexp(1 + frac, (int)field - s->bias);
  } else {
    v = s->no_subnormals ? 0 : ldexp(frac, 1 - s->bias);
  }
  if (v == 0 && negative && s->nan_neg_zero) return (double)NAN;
  if (v == 0 && s->no_neg_zero) return 0;
  return negative ? -v : v;
}

static int by_value(const void *x, const void *y) {
  const struct value *a = x, *b = y;
  if (a->v != b->v) return a->v < b->v ? -1 : 1;
  return a->code < b->code ? -1 : a->code > b->code;
}

void values_make(struct values *t, const struct shape *s) {
  *t = (struct values){.shape = *s, .bits = width(s)};
  if (tsr_format_parse(s->name, &t->format, NULL) != TSR_OK) fail_msg("no format %s", s->name);
  size_t codes = (size_t)1 << t->bits, n = 0;
  t->at = malloc(codes * sizeof *t->at);
  assert_non_null(t->at);
  for (uint64_t c = 0; c < codes; c++) {
    double v = values_of(t, c);
    if (isfinite(v) && !(v == 0 && signbit(v))) t->at[n++] = (struct value){v, c};
  }
  qsort(t->at, n, sizeof *t->at, by_value);
  /* Of several codes for one value the lowest is the one that is written. */
  for (size_t i = 0; i < n; i++)
    if (t->n == 0 || t->at[t->n - 1].v != t->at[i].v) t->at[t->n++] = t->at[i];
  uint64_t one = 1, mag = (one << (s->exp_bits + s->man_bits)) - 1;
  double max = t->at[t->n - 1].v;
  if (s->kind == LIST) t->nan = 7;
  if (s->kind == INTEGER) t->next = max + ldexp(1, -s->man_bits);
  if (s->kind != FLOAT) return;
  int e;
  frexp(max, &e);
  t->min_normal = s->no_zero ? 0 : ldexp(1, 1 - s->bias);
  t->next = max + ldexp(1, (max < t->min_normal ? 1 - s->bias : e - 1) - s->man_bits);
  t->inf = mag - ((one << s->man_bits) - 1);
  t->nan = s->inf            ? t->inf | one << s->man_bits >> 1
           : s->nan_neg_zero ? mag + 1
           : s->nan_ones     ? mag
                             : 0;
}

void values_free(struct values *t) {
  free(t->at);
}

static bool has_nan(const struct shape *s) {
  return s->inf || s->nan_ones || s->nan_neg_zero;
}

static uint64_t sign_of(const struct values *t) {
  return (uint64_t)1 << (t->shape.exp_bits + t->shape.man_bits);
}

static uint64_t zero_code(const struct values *t, bool negative) {
  const struct shape *s = &t->shape;
  if (s->kind == LIST) return 7;
  bool keeps = s->kind == FLOAT && !s->no_sign && !s->no_neg_zero;
  return negative && keeps ? sign_of(t) : 0;
}

static uint64_t infinite(const struct values *t, bool negative, unsigned *events) {
  if (t->shape.inf && !(negative && t->shape.no_sign))
    return t->inf | (negative ? sign_of(t) : 0);
  *events |= TSR_EVENT_INVALID;
  return t->nan;
}

static struct picked special(const struct values *t, double x, bool saturate) {
  struct picked p = {0, 0};
  bool nan = isnan(x), wraps = t->shape.kind == INTEGER && !saturate;
  if (nan || wraps) {
    p.code = t->nan;
    if (!has_nan(&t->shape)) p.events = TSR_EVENT_INVALID;
  } else if (!saturate && has_nan(&t->shape)) {
    p.code = infinite(t, x < 0, &p.events);
  } else {
    p.code = t->at[x < 0 ? 0 : t->n - 1].code;
    p.events = TSR_EVENT_SATURATED;
  }
  return p;
}

/* Is the last digit of a magnitude odd?  One-digit significands all are. */
static bool odd(const struct values *t, uint64_t code) {
  if (t->shape.kind == FLOAT && t->shape.man_bits == 0) return values_of(t, code) != 0;
  return code & 1; /* two's complement keeps the parity */
}

/* Between magnitudes small < x < large: is large taken? */
static bool outer(double small, double x, double large, bool small_odd, bool negative,
                  enum tsr_round mode) {
  double mid = small + (large - small) / 2; /* exact */
  switch (mode) {
  case TSR_ROUND_RNE: return x > mid || (x == mid && small_odd);
  case TSR_ROUND_RNA: return x >= mid;
  case TSR_ROUND_RU: return !negative;
  case TSR_ROUND_RD: return negative;
  case TSR_ROUND_ODD: return !small_odd;
  default: return false;
  }
}

/* Beyond the largest magnitude of this sign. */
static struct picked beyond(const struct values *t, double x, enum tsr_round mode,
                            bool saturate) {
  bool negative = x < 0;
  const struct value *edge = &t->at[negative ? 0 : t->n - 1];
  bool unit = t->shape.kind == INTEGER && negative;
  double next = unit ? edge->v - ldexp(1, -t->shape.man_bits) : t->next;
  bool nowhere =
      t->shape.kind == LIST || (t->shape.kind == FLOAT && negative && t->shape.no_sign);
  struct picked p = {edge->code, TSR_EVENT_INEXACT};
  bool over = nowhere || fabs(x) >= fabs(next) ||
              outer(fabs(edge->v), fabs(x), fabs(next), odd(t, edge->code), negative, mode);
  if (!over) return p;
  p.events |= TSR_EVENT_OVERFLOW;
  bool wraps = t->shape.kind == INTEGER && !saturate;
  bool outward = mode == TSR_ROUND_RNE || mode == TSR_ROUND_RNA ||
                 mode == (negative ? TSR_ROUND_RD : TSR_ROUND_RU);
  if (wraps) {
    /* Rounded to units, then the low bits: exact in double below 2^53 units. */
    double u = ldexp(fabs(x), t->shape.man_bits), f = floor(u), m = ldexp(1, t->shape.exp_bits);
    if (u != f) f += outer(f, u, f + 1, fmod(f, 2) == 1, negative, mode);
    f = fmod(f, m);
    p.code = (uint64_t)(negative && f > 0 ? m - f : f);
  } else if (!saturate && outward && has_nan(&t->shape)) {
    p.code = infinite(t, negative, &p.events);
  } else {
    p.events |= TSR_EVENT_SATURATED;
  }
  return p;
}

/* Below the smallest normal number even when the exponent were unbounded? */
static bool tiny(const struct values *t, double x, enum tsr_round mode) {
  double a = fabs(x);
  if (t->shape.kind != FLOAT || a >= t->min_normal) return false;
  double before = t->min_normal - ldexp(t->min_normal, -1 - t->shape.man_bits);
  return a <= before || !outer(before, a, t->min_normal, true, x < 0, mode);
}

struct picked values_pick(const struct values *t, double x, enum tsr_round mode,
                          bool saturate) {
  if (!isfinite(x)) return special(t, x, saturate);
  const struct shape *s = &t->shape;
  bool negative = signbit(x) != 0;
  if (s->no_zero && fabs(x) < t->at[0].v && (!negative || x == 0)) {
    double least = t->at[0].v, before = least / 2;
    if (x > before && outer(before, x, least, true, false, mode))
      return (struct picked){t->at[0].code, TSR_EVENT_INEXACT};
    return (struct picked){t->at[0].code,
                           TSR_EVENT_INEXACT | TSR_EVENT_UNDERFLOW | TSR_EVENT_SATURATED};
  }
  if (x == 0) return (struct picked){zero_code(t, negative), 0};
  if (x > t->at[t->n - 1].v) return beyond(t, x, mode, saturate);
  if (x < t->at[0].v && !(negative && s->no_sign && s->kind == FLOAT && !s->no_zero))
    return beyond(t, x, mode, saturate);
  if (negative && s->no_sign) { /* a float: zero, or out of range downward */
    struct values mirrored = *t;
    struct picked p = values_pick(&mirrored, -x,
                                  mode == TSR_ROUND_RU   ? TSR_ROUND_RD
                                  : mode == TSR_ROUND_RD ? TSR_ROUND_RU
                                                         : mode,
                                  true);
    if (p.code == 0) return p;
    return beyond(t, -INFINITY, mode, saturate);
  }
  size_t lo = 0, hi = t->n;
  while (hi - lo > 1) {
    size_t mid = (lo + hi) / 2;
    if (t->at[mid].v <= x)
      lo = mid;
    else
      hi = mid;
  }
  struct picked p = {t->at[lo].code, 0};
  if (t->at[lo].v != x) {
    const struct value *small = &t->at[negative ? lo + 1 : lo];
    const struct value *large = &t->at[negative ? lo : lo + 1];
    bool out =
        outer(fabs(small->v), fabs(x), fabs(large->v), odd(t, small->code), negative, mode);
    p.code = out ? large->code : small->code;
    p.events |= TSR_EVENT_INEXACT;
    if (tiny(t, x, mode)) p.events |= TSR_EVENT_UNDERFLOW;
  }
  double v = values_of(t, p.code);
  if (v == 0) p.code = zero_code(t, negative);
  if (s->kind == FLOAT && v != 0 && fabs(v) < t->min_normal)
    p.events |= TSR_EVENT_SUBNORMAL_OUT;
  return p;
}
