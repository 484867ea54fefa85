/* The vector operations (models/arith/vector.h): a row of rules an operation, and the
 * loops of the five kinds over them. */
#include "models/arith/vector.h"

#include <float.h>
#include <math.h> /* sqrt, fabs, isnan and the like: nothing transcendental */
#include <string.h>

#include "models/arith/func_int.h"
#include "models/arith/gemm.h"
#include "models/arith/round_int.h"

static const struct tsr_vec_info infos[] = {
#define VEC(id, name, kind, cls, doc)                                  \
  {name, TSR_VEC_##kind, TSR_VEC_CLASS_##cls,                          \
   TSR_VEC_##kind == TSR_VEC_BINARY || TSR_VEC_##id == TSR_VEC_ROPE || \
           TSR_VEC_##id == TSR_VEC_ROPE_HALF                           \
       ? 2                                                             \
       : 1,                                                            \
   doc},
#include "models/arith/vector.def"
#undef VEC
};

const struct tsr_vec_info *tsr_vec_info(unsigned op) {
  return op < TSR_VEC_N_ ? &infos[op] : NULL;
}

int tsr_vec_find(const char *name) {
  for (int i = 0; i < TSR_VEC_N_; i++)
    if (strcmp(infos[i].name, name) == 0) return i;
  return -1;
}

static const struct tsr_format *const fp32 = &tsri_formats[TSRI_FORMAT_fp32];

/* One operand of a job. */
struct side {
  const unsigned char *codes;
  const struct tsr_format *format;
  size_t bytes, ld; /* of a code; of a row, in elements */
  bool rounds;      /* does not fit the datapath and is rounded as it enters */
};

struct run {
  const struct tsr_vec_job *job;
  const struct rule *rule;
  struct side a, b, d;
  struct tsr_round_spec round;
  bool exact;    /* the datapath is not fp32: nothing is rounded in it */
  bool integers; /* all operands and d are integers */
  double imm;
  uint64_t index; /* of the present result */
  unsigned ev, all;
  struct tsr_vec_stats stats;
};

/* ---- the datapath ---- */

static double from_bits32(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Rounds to the datapath. */
static double fl(struct run *r, double x) {
  if (r->exact) return x;
  float f = (float)x;
  if ((double)f == x || isnan(x)) return f;
  r->ev |= TSR_EVENT_INEXACT;
  if (isinf(f)) r->ev |= TSR_EVENT_OVERFLOW;
  if (fabsf(f) <= FLT_MIN) (void)tsr_arith_from_double(fp32, TSR_ROUND_RNE, x, &r->ev);
  return f;
}

typedef double map_fn(struct run *r, double x, double y);

static double same(struct run *r, double x, double y) {
  (void)r, (void)y;
  return x;
}
static double neg(struct run *r, double x, double y) {
  (void)r, (void)y;
  return -x;
}
static double absolute(struct run *r, double x, double y) {
  (void)r, (void)y;
  return fabs(x);
}
static double larger(struct run *r, double x, double y) {
  (void)r;
  if (isnan(x) || isnan(y)) return NAN;
  if (x == y) return signbit(x) ? y : x;
  return x > y ? x : y;
}
static double smaller(struct run *r, double x, double y) {
  return -larger(r, -x, -y);
}
static double relu(struct run *r, double x, double y) {
  (void)y;
  return larger(r, x, 0.0);
}
static double add(struct run *r, double x, double y) {
  return fl(r, x + y);
}
static double sub(struct run *r, double x, double y) {
  return fl(r, x - y);
}
/* Of integers that wrap: the low 32 bits, which a double would lose. */
static double wrapped_product(struct run *r, double x, double y) {
  int64_t p = (int64_t)x * (int64_t)y;
  int32_t low = (int32_t)(uint32_t)(uint64_t)p;
  if (p != low) r->ev |= TSR_EVENT_OVERFLOW | TSR_EVENT_INEXACT;
  return low;
}
static double product(struct run *r, double x, double y) {
  double p = x * y;
  if (r->integers && !r->round.saturate && fabs(p) >= 0x1p53) return wrapped_product(r, x, y);
  return fl(r, p);
}
static double mul(struct run *r, double x, double y) {
  return fl(r, x * y);
}
static double quotient(struct run *r, double x, double y) {
  return fl(r, x / y);
}
/* Of integers toward zero, and 0 where the divisor is; else as IEEE 754 has it. */
static double whole_or(struct run *r, double x, double y, double (*f)(double, double)) {
  if (!r->integers || y != 0) return f(x, y);
  (void)x;
  r->ev |= TSR_EVENT_INVALID;
  return 0;
}
static double ratio(double x, double y) {
  return x / y;
}
static double divide(struct run *r, double x, double y) {
  double q = whole_or(r, x, y, ratio);
  if (!r->integers) return fl(r, q);
  if (trunc(q) != q) r->ev |= TSR_EVENT_INEXACT;
  return trunc(q);
}
static double remainder_of_a(struct run *r, double x, double y) {
  return fl(r, whole_or(r, x, y, fmod));
}
static double remainder_of_b(struct run *r, double x, double y) {
  double rest = whole_or(r, x, y, fmod);
  if (rest == 0) return copysign(rest, y);
  return signbit(rest) == signbit(y) ? fl(r, rest) : add(r, rest, y);
}
static double square(struct run *r, double x, double y) {
  (void)y;
  return product(r, x, x);
}
static double root(struct run *r, double x, double y) {
  (void)y;
  return fl(r, sqrt(x));
}
static double reciprocal(struct run *r, double x, double y) {
  (void)y;
  return fl(r, 1 / x);
}
static double leaky(struct run *r, double x, double y) {
  return x > 0 ? x : mul(r, x, y);
}
static double leaky_by(struct run *r, double x, double y) {
  return x > 0 ? x : product(r, x, y);
}
static double hardswish(struct run *r, double x, double y) {
  (void)y;
  double t = smaller(r, larger(r, add(r, x, 3), 0), 6);
  return quotient(r, mul(r, x, t), 6);
}
static double hardsigmoid(struct run *r, double x, double y) {
  (void)y;
  return smaller(r, larger(r, add(r, quotient(r, x, 6), 0.5), 0), 1);
}
static double softsign(struct run *r, double x, double y) {
  (void)y;
  return quotient(r, x, add(r, 1, fabs(x)));
}
static double sign(struct run *r, double x, double y) {
  (void)r, (void)y;
  return x > 0 ? 1 : x < 0 ? -1 : x;
}
static double is_zero(struct run *r, double x, double y) {
  (void)r, (void)y;
  return x == 0;
}

/* Whole numbers, exactly. */
#define WHOLE(name, f)                                    \
  static double name(struct run *r, double x, double y) { \
    (void)r, (void)y;                                     \
    return f(x);                                          \
  }
WHOLE(down, floor)
WHOLE(up, ceil)
WHOLE(nearest, nearbyint)

/* A NaN compares with nothing. */
#define COMPARISON(name, op)                              \
  static double name(struct run *r, double x, double y) { \
    (void)r;                                              \
    return x op y;                                        \
  }
COMPARISON(less, <)
COMPARISON(less_equal, <=)
COMPARISON(greater, >)
COMPARISON(greater_equal, >=)
COMPARISON(equal, ==)

static double keep(struct run *r, double x, double y) {
  (void)r;
  return y != 0 ? x : 0;
}
static double dequantise(struct run *r, double x, double y) {
  return mul(r, sub(r, x, r->imm), y);
}

#define FUNCTION(name)                                       \
  static double name##_(struct run *r, double x, double y) { \
    (void)y;                                                 \
    return fl(r, tsri_fn_##name(x));                         \
  }
FUNCTION(exp)
FUNCTION(log)
FUNCTION(tanh)
FUNCTION(erf)
FUNCTION(sigmoid)
FUNCTION(gelu)
FUNCTION(gelu_tanh)
FUNCTION(silu)
FUNCTION(rsqrt)
FUNCTION(softplus)
FUNCTION(sin)
FUNCTION(cos)

static double elu(struct run *r, double x, double y) {
  if (!(x < 0)) return x;
  double v = fl(r, tsri_fn_expm1_below_0(x));
  if (isfinite(x)) r->ev |= TSR_EVENT_INEXACT; /* where its double does not show it */
  return mul(r, v, y);
}

static double power(struct run *r, double x, double y) {
  bool exact;
  double v = tsri_fn_pow(x, y, &exact);
  if (!exact) r->ev |= TSR_EVENT_INEXACT | (v == 0 ? TSR_EVENT_UNDERFLOW : 0);
  return fl(r, v);
}

static struct tsr_num num_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return tsri_decode(&tsri_formats[TSRI_FORMAT_fp64], bits);
}

static double value_of(const struct tsr_num *n) {
  double x = (double)n->sig;
  if (n->cls == TSR_NUM_NAN) return NAN;
  if (n->cls == TSR_NUM_INF) x = INFINITY;
  if (n->cls == TSR_NUM_ZERO) x = 0;
  if (n->cls == TSR_NUM_FINITE) {
    uint64_t bits =
        n->exp >= -1022 ? (uint64_t)(n->exp + 1023) << 52 : UINT64_C(1) << (n->exp + 1074);
    double power;
    memcpy(&power, &bits, sizeof power);
    x *= power;
  }
  return n->sign ? -x : x;
}

/* A whole number, of more bits than any integer format: clipped later. */
static double whole(struct run *r, double q) {
  static const struct tsr_format wide = {
      .name = "int54", .is_int = true, .bits = 54, .man_bits = 53};
  struct tsr_num n = num_of(q);
  unsigned ev = 0;
  if (isnan(q)) return q;
  uint64_t code = tsr_arith_encode_spec(&wide, &r->round, r->index, &n, &ev);
  r->ev |= ev & TSR_EVENT_INEXACT;
  n = tsri_decode(&wide, code);
  return value_of(&n);
}
static double quantise(struct run *r, double x, double y) {
  double q = quotient(r, x, y);
  if (r->d.format->is_int && r->d.format->bias == 0) return whole(r, q) + r->imm;
  return fl(r, q + r->imm);
}

static double subexp(struct run *r, double x, double y) {
  return fl(r, tsri_fn_exp(sub(r, x, y)));
}

/* ---- the table ---- */

enum pole { NO_POLE, POLE_X, POLE_Y }; /* the operand at whose zero the result is infinite */

struct rule {
  map_fn *map;    /* UNARY: of a and imm; BINARY: of a and b; else of an element */
  bool imm;       /* the map takes it */
  map_fn *fold;   /* of the sum so far and an element */
  double neutral; /* of fold: what nothing gives */
  bool scales;    /* the sum is multiplied by imm */
  bool takes_int; /* operands enter as they are, int32 too */
  enum pole pole;
  bool vanishes; /* never 0 for finite operands, but for -0 or 0 of an operand 0 */
  bool function; /* inexact everywhere but at `exact_at` */
  double exact_at;
};
static const struct rule rules[TSR_VEC_N_] = {
    [TSR_VEC_COPY] = {.map = same, .takes_int = true},
    [TSR_VEC_NEG] = {.map = neg, .takes_int = true},
    [TSR_VEC_ABS] = {.map = absolute, .takes_int = true},
    [TSR_VEC_RELU] = {.map = relu, .takes_int = true},
    [TSR_VEC_SQUARE] = {.map = square},
    [TSR_VEC_SQRT] = {.map = root},
    [TSR_VEC_RSQRT] = {.map = rsqrt_, .pole = POLE_X},
    [TSR_VEC_RECIP] = {.map = reciprocal, .pole = POLE_X},
    [TSR_VEC_EXP] = {.map = exp_, .vanishes = true, .function = true},
    [TSR_VEC_LOG] = {.map = log_, .pole = POLE_X, .function = true, .exact_at = 1},
    [TSR_VEC_TANH] = {.map = tanh_, .function = true},
    [TSR_VEC_ERF] = {.map = erf_, .function = true},
    [TSR_VEC_SIGMOID] = {.map = sigmoid_, .vanishes = true, .function = true},
    [TSR_VEC_GELU] = {.map = gelu_, .vanishes = true, .function = true},
    [TSR_VEC_GELU_TANH] = {.map = gelu_tanh_, .vanishes = true, .function = true},
    [TSR_VEC_SILU] = {.map = silu_, .vanishes = true, .function = true},
    [TSR_VEC_HARDSWISH] = {.map = hardswish},
    [TSR_VEC_HARDSIGMOID] = {.map = hardsigmoid},
    [TSR_VEC_SOFTPLUS] = {.map = softplus_,
                          .vanishes = true,
                          .function = true,
                          .exact_at = NAN},
    [TSR_VEC_SOFTSIGN] = {.map = softsign},
    [TSR_VEC_SIN] = {.map = sin_, .function = true},
    [TSR_VEC_COS] = {.map = cos_, .function = true},
    [TSR_VEC_FLOOR] = {.map = down, .takes_int = true},
    [TSR_VEC_CEIL] = {.map = up, .takes_int = true},
    [TSR_VEC_ROUND] = {.map = nearest, .takes_int = true},
    [TSR_VEC_SIGN] = {.map = sign, .takes_int = true},
    [TSR_VEC_NOT] = {.map = is_zero, .takes_int = true},
    [TSR_VEC_ADDI] = {.map = add, .imm = true},
    [TSR_VEC_MULI] = {.map = mul, .imm = true},
    [TSR_VEC_MAXI] = {.map = larger, .imm = true, .takes_int = true},
    [TSR_VEC_MINI] = {.map = smaller, .imm = true, .takes_int = true},
    [TSR_VEC_LEAKYRELU] = {.map = leaky, .imm = true},
    [TSR_VEC_ELU] = {.map = elu, .imm = true},
    [TSR_VEC_ADD] = {.map = add},
    [TSR_VEC_SUB] = {.map = sub},
    [TSR_VEC_MUL] = {.map = product},
    [TSR_VEC_DIV] = {.map = divide, .pole = POLE_Y},
    [TSR_VEC_MAX] = {.map = larger, .takes_int = true},
    [TSR_VEC_MIN] = {.map = smaller, .takes_int = true},
    [TSR_VEC_LESS] = {.map = less, .takes_int = true},
    [TSR_VEC_LESS_EQUAL] = {.map = less_equal, .takes_int = true},
    [TSR_VEC_GREATER] = {.map = greater, .takes_int = true},
    [TSR_VEC_GREATER_EQUAL] = {.map = greater_equal, .takes_int = true},
    [TSR_VEC_EQUAL] = {.map = equal, .takes_int = true},
    [TSR_VEC_KEEP] = {.map = keep, .takes_int = true},
    [TSR_VEC_POW] = {.map = power, .pole = POLE_X},
    [TSR_VEC_MOD] = {.map = remainder_of_b},
    [TSR_VEC_FMOD] = {.map = remainder_of_a},
    [TSR_VEC_PRELU] = {.map = leaky_by},
    [TSR_VEC_SUBEXP] = {.map = subexp, .vanishes = true, .function = true},
    [TSR_VEC_QUANTISE] = {.map = quantise, .takes_int = true, .pole = POLE_Y},
    [TSR_VEC_DEQUANTISE] = {.map = dequantise, .takes_int = true},
    [TSR_VEC_ROPE] = {.map = mul},
    [TSR_VEC_ROPE_HALF] = {.map = mul},
    [TSR_VEC_ROWSUM] = {.map = same, .fold = add},
    [TSR_VEC_ROWMAX] = {.map = same, .fold = larger, .neutral = -INFINITY, .takes_int = true},
    [TSR_VEC_ROWMIN] = {.map = same, .fold = smaller, .neutral = INFINITY, .takes_int = true},
    [TSR_VEC_ROWSUMSQ] = {.map = square, .fold = add},
    [TSR_VEC_ROWABSMAX] = {.map = absolute, .fold = larger, .takes_int = true},
    [TSR_VEC_ROWPROD] = {.map = same, .fold = product, .neutral = 1},
    [TSR_VEC_ROWMEAN] = {.map = same, .fold = add, .scales = true},
    [TSR_VEC_POOLMAX] = {.map = same, .fold = larger, .neutral = -INFINITY, .takes_int = true},
    [TSR_VEC_POOLSUM] = {.map = same, .fold = add},
    [TSR_VEC_POOLMEAN] = {.map = same, .fold = add, .scales = true},
    [TSR_VEC_COMPRESS24] = {.map = same, .takes_int = true},
};

/* A function of finite operands says what its double does not show. */
static void note_function(struct run *r, double x, double y, double v) {
  const struct rule *rule = r->rule;
  double arg = r->job->op == TSR_VEC_SUBEXP ? x - y : x;
  if (isnan(v) || !isfinite(arg) || arg == rule->exact_at || (x == 0 && rule->pole == POLE_X))
    return;
  r->ev |= TSR_EVENT_INEXACT;
  if (v == 0 && rule->vanishes) r->ev |= TSR_EVENT_UNDERFLOW;
}

static void note_special(struct run *r, double x, double y, double v) {
  enum pole pole = r->rule->pole;
  if (isnan(v)) {
    if (!isnan(x) && !isnan(y)) r->ev |= TSR_EVENT_INVALID;
  } else if (isfinite(x) && isfinite(y) && !(pole == POLE_X && x == 0) &&
             !(pole == POLE_Y && y == 0)) {
    r->ev |= TSR_EVENT_OVERFLOW | TSR_EVENT_INEXACT;
  }
}

static double apply(struct run *r, map_fn *f, double x, double y) {
  double v = f(r, x, y);
  if (!isfinite(v)) note_special(r, x, y, v);
  return v;
}

/* ---- codes ---- */

static uint64_t load(const struct side *s, size_t i) {
  const unsigned char *p = s->codes + i * s->bytes;
  uint16_t h;
  uint32_t w;
  uint64_t d;
  switch (s->bytes) {
  case 1: return *p;
  case 2: memcpy(&h, p, 2); return h;
  case 4: memcpy(&w, p, 4); return w;
  default: memcpy(&d, p, 8); return d;
  }
}

static void store(unsigned char *p, size_t bytes, uint64_t code) {
  uint16_t h = (uint16_t)code;
  uint32_t w = (uint32_t)code;
  switch (bytes) {
  case 1: *p = (unsigned char)code; break;
  case 2: memcpy(p, &h, 2); break;
  case 4: memcpy(p, &w, 4); break;
  default: memcpy(p, &code, 8); break;
  }
}

/* Element i of an operand, as it enters the datapath. */
static double get(struct run *r, const struct side *s, size_t i) {
  uint64_t code = load(s, i);
  if (s->format == fp32) {
    double x = from_bits32((uint32_t)code);
    if (!(fabs(x) < FLT_MIN && x != 0)) return x;
  }
  struct tsr_num n = tsri_decode(s->format, code);
  if (n.subnormal) {
    r->ev |= TSR_EVENT_SUBNORMAL_IN;
    if (r->round.ftz_in) n.cls = TSR_NUM_ZERO;
  }
  double x = value_of(&n);
  return s->rounds ? fl(r, x) : x;
}

/* The code of a result in a format other than its own. */
static uint64_t encode(struct run *r, double x) {
  struct tsr_num n = num_of(x);
  if (n.cls != TSR_NUM_FINITE)
    return tsr_arith_encode_spec(r->d.format, &r->round, r->index, &n, &r->ev);
  return tsri_round_spec(r->d.format, &r->round, tsri_draw(&r->round, r->index), n.sign, n.exp,
                         n.sig, false, &r->ev);
}

static void note_result(struct run *r) {
  struct tsr_vec_stats *s = &r->stats;
  s->overflow += (r->ev & TSR_EVENT_OVERFLOW) != 0;
  s->underflow += (r->ev & TSR_EVENT_UNDERFLOW) != 0;
  s->saturated += (r->ev & TSR_EVENT_SATURATED) != 0;
  s->invalid += (r->ev & TSR_EVENT_INVALID) != 0;
  s->inexact += (r->ev & TSR_EVENT_INEXACT) != 0;
  r->all |= r->ev;
  r->ev = 0;
}

/* A result, with what happened on the way to it. */
static void put(struct run *r, size_t i, double x) {
  float v = (float)x;
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  bool as_is =
      r->d.format == fp32 && (double)v == x && !(fabsf(v) < FLT_MIN && v != 0) && !isinf(v);
  unsigned char *d = r->job->d;
  store(d + i * r->d.bytes, r->d.bytes, as_is ? bits : encode(r, x));
  r->stats.elements++;
  if (r->ev) note_result(r);
}

static size_t b_at(const struct run *r, size_t i, size_t j) {
  switch (r->job->spread) {
  case TSR_VEC_EACH: return i * r->b.ld + j;
  case TSR_VEC_ROW: return j;
  case TSR_VEC_COL: return i * r->b.ld;
  case TSR_VEC_ONE: break;
  }
  return 0;
}

/* ---- the kinds ---- */

static void elementwise(struct run *r, size_t i) {
  const struct tsr_vec_job *q = r->job;
  bool binary = infos[q->op].kind == TSR_VEC_BINARY;
  for (size_t j = 0; j < q->cols; j++) {
    r->index = q->index0 + (uint64_t)i * q->cols + j;
    double x = get(r, &r->a, i * r->a.ld + j);
    double y = binary ? get(r, &r->b, b_at(r, i, j)) : r->rule->imm ? r->imm : 0;
    double v = apply(r, r->rule->map, x, y);
    if (r->rule->function) note_function(r, x, y, v);
    put(r, i * r->d.ld + j, v);
  }
}

/* The end of a reduction into element `at` of d. */
static void finish(struct run *r, size_t at, double sum) {
  if (r->rule->scales) sum = apply(r, mul, sum, r->imm);
  if (!r->job->first) sum = apply(r, r->rule->fold, get(r, &r->d, at), sum);
  put(r, at, sum);
}

static void reduce_row(struct run *r, size_t i) {
  const struct tsr_vec_job *q = r->job;
  const struct rule *rule = r->rule;
  double partial[TSR_VEC_LANES_MAX];
  size_t lanes = q->lanes ? q->lanes : 1, n = lanes < q->cols ? lanes : q->cols, lane = 0;
  r->index = q->index0 + i;
  for (size_t j = 0; j < n; j++)
    partial[j] = apply(r, rule->map, get(r, &r->a, i * r->a.ld + j), 0);
  for (size_t j = n; j < q->cols; j++) {
    double x = apply(r, rule->map, get(r, &r->a, i * r->a.ld + j), 0);
    partial[lane] = apply(r, rule->fold, partial[lane], x);
    if (++lane == n) lane = 0;
  }
  for (; n > 1; n = (n + 1) / 2) {
    for (size_t p = 0; p < n / 2; p++)
      partial[p] = apply(r, rule->fold, partial[2 * p], partial[2 * p + 1]);
    if (n % 2) partial[n / 2] = partial[n - 1];
  }
  finish(r, i * r->d.ld, q->cols ? partial[0] : rule->neutral);
}

static void windows(struct run *r, size_t i) {
  const struct tsr_vec_job *q = r->job;
  for (size_t j = 0; j < q->cols; j++) {
    double sum = r->rule->neutral;
    r->index = q->index0 + (uint64_t)i * q->cols + j;
    for (size_t w = 0; w < q->window; w++) {
      size_t at = q->window_at ? q->window_at[w] : w * q->window_ld;
      double x = get(r, &r->a, i * r->a.ld + at + j);
      sum = w ? apply(r, r->rule->fold, sum, x) : x;
    }
    finish(r, i * r->d.ld + j, sum);
  }
}

/* (x cos - y sin, x sin + y cos), each product rounded. */
static void rotate(struct run *r, size_t i, size_t jx, size_t jy) {
  const struct tsr_vec_job *q = r->job;
  double x = get(r, &r->a, i * r->a.ld + jx), y = get(r, &r->a, i * r->a.ld + jy);
  double c = get(r, &r->b, b_at(r, i, jx)), s = get(r, &r->b, b_at(r, i, jy));
  unsigned in = r->ev; /* of the operands: both results have it */
  r->index = q->index0 + (uint64_t)i * q->cols + jx;
  double xc = apply(r, mul, x, c), ys = apply(r, mul, y, s), u = apply(r, sub, xc, ys);
  unsigned ev_u = r->ev;
  r->ev = in;
  double xs = apply(r, mul, x, s), yc = apply(r, mul, y, c), v = apply(r, add, xs, yc);
  unsigned ev_v = r->ev;
  r->ev = ev_u;
  put(r, i * r->d.ld + jx, u);
  r->index = q->index0 + (uint64_t)i * q->cols + jy;
  r->ev = ev_v;
  put(r, i * r->d.ld + jy, v);
}

static void rotate_row(struct run *r, size_t i) {
  size_t cols = r->job->cols, half = cols / 2;
  bool apart = r->job->op == TSR_VEC_ROPE_HALF;
  for (size_t p = 0; p < half; p++)
    rotate(r, i, apart ? p : 2 * p, apart ? p + half : 2 * p + 1);
  if (cols % 2 == 0) return;
  r->index = r->job->index0 + (uint64_t)i * cols + cols - 1;
  put(r, i * r->d.ld + cols - 1, get(r, &r->a, i * r->a.ld + cols - 1));
}

/* ---- 2 of 4 ---- */

static double magnitude(double x) {
  return isnan(x) ? INFINITY : fabs(x);
}
static bool beats(const double *x, int i, int j) {
  if (isnan(x[i]) != isnan(x[j])) return isnan(x[i]);
  double a = magnitude(x[i]), b = magnitude(x[j]);
  return a > b || (a == b && i < j);
}

/* Places of the two that stay, ascending; the number of non-zeros that do not. */
static unsigned choose(const double *x, int keep[2]) {
  unsigned non_zero = 0;
  int best[2] = {0, 1};
  for (int i = 0; i < 4; i++) non_zero += x[i] != 0;
  if (beats(x, 1, 0)) best[0] = 1, best[1] = 0;
  for (int i = 2; i < 4; i++) {
    if (beats(x, i, best[0])) {
      best[1] = best[0];
      best[0] = i;
    } else if (beats(x, i, best[1])) {
      best[1] = i;
    }
  }
  if (non_zero == 0) best[0] = 2, best[1] = 3;
  if (non_zero == 1) best[1] = best[0] == 3 ? 2 : 3;
  keep[0] = best[0] < best[1] ? best[0] : best[1];
  keep[1] = best[0] < best[1] ? best[1] : best[0];
  return non_zero > 2 ? non_zero - 2 : 0;
}

static void compress_row(struct run *r, size_t i) {
  const struct tsr_vec_job *q = r->job;
  size_t groups = q->cols / 4 + (q->cols % 4 != 0);
  for (size_t g = 0; g < groups; g++) {
    double x[4] = {0};
    unsigned ev[4] = {0};
    int keep[2];
    for (size_t j = 0; j < 4 && 4 * g + j < q->cols; j++) {
      x[j] = get(r, &r->a, i * r->a.ld + 4 * g + j);
      ev[j] = r->ev;
      r->ev = 0;
    }
    r->stats.dropped += choose(x, keep);
    for (size_t k = 0; k < 2; k++) {
      r->index = q->index0 + (uint64_t)i * 2 * groups + 2 * g + k;
      r->ev = ev[keep[k]];
      put(r, i * r->d.ld + 2 * g + k, x[keep[k]]);
    }
    unsigned nibble = (unsigned)keep[0] | (unsigned)keep[1] << 2;
    uint8_t *m = &q->meta[i * q->ldm + g / 2];
    *m = (uint8_t)(g % 2 ? *m | nibble << 4 : nibble);
  }
}

static void pairs(struct run *r, size_t i) {
  if (r->job->op == TSR_VEC_COMPRESS24)
    compress_row(r, i);
  else
    rotate_row(r, i);
}

/* ---- a job ---- */

static bool within_fp32(const struct tsr_format *f) {
  if (f->is_int || f->codec) return true;
  int top = (int)tsri_mask(f->exp_bits) - f->bias;
  return f->man_bits <= 23 && tsri_emin(f) - f->man_bits >= -149 && top <= 128;
}

static bool is_integer(const struct tsr_format *f) {
  return f->is_int && f->bias == 0;
}

static struct side side_of(const void *codes, const struct tsr_format *f, size_t ld) {
  struct side s = {.codes = codes, .format = f, .ld = ld};
  if (f) s.bytes = tsr_gemm_code_bytes(f);
  return s;
}

void tsr_vec_run(const struct tsr_vec_job *q, unsigned *events, struct tsr_vec_stats *stats) {
  static void (*const kinds[])(struct run *, size_t) = {[TSR_VEC_UNARY] = elementwise,
                                                        [TSR_VEC_BINARY] = elementwise,
                                                        [TSR_VEC_REDUCE] = reduce_row,
                                                        [TSR_VEC_WINDOW] = windows,
                                                        [TSR_VEC_PAIR] = pairs};
  bool two = infos[q->op].sources == 2;
  struct run r = {.job = q,
                  .rule = &rules[q->op],
                  .a = side_of(q->a.codes, q->a.format, q->a.ld),
                  .b = side_of(q->b.codes, two ? q->b.format : NULL, q->b.ld),
                  .d = side_of(q->d, q->d_format, q->ldd),
                  .round = q->round,
                  .imm = from_bits32(q->imm)};
  const struct tsr_format *b = two ? q->b.format : q->a.format;
  bool wide = !within_fp32(q->a.format) || !within_fp32(b) || !within_fp32(q->d_format);
  r.integers = is_integer(q->a.format) && is_integer(b) && is_integer(q->d_format);
  r.exact = wide || r.integers;
  r.a.rounds = !r.rule->takes_int && !r.exact && q->a.format->is_int;
  r.b.rounds = !r.rule->takes_int && !r.exact && b->is_int;
  r.d.rounds = !r.rule->takes_int && !r.exact && q->d_format->is_int;
  if (q->op == TSR_VEC_QUANTISE) r.round.saturate = true;
  for (size_t i = 0; i < q->rows; i++) kinds[infos[q->op].kind](&r, i);
  if (events) *events |= r.all;
  if (!stats) return;
  stats->elements += r.stats.elements;
  stats->overflow += r.stats.overflow;
  stats->underflow += r.stats.underflow;
  stats->saturated += r.stats.saturated;
  stats->invalid += r.stats.invalid;
  stats->inexact += r.stats.inexact;
  stats->dropped += r.stats.dropped;
}
