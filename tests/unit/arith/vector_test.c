/* The vector operations against a second evaluation: operands by tsr_arith_to_double,
 * arithmetic in float of the machine, functions by its libm in long double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/gemm.h"
#include "models/arith/vector.h"
#include "sim/base/mem.h"
#include "sim/base/rng.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static float as_float(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}
static uint32_t as_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}
static const struct tsr_format *fmt(const char *name) {
  const struct tsr_format *f = tsr_format_find(name);
  assert_non_null(f);
  return f;
}

/* ---- the second evaluation ---- */

static float fmax_nan(float x, float y) {
  if (isnan(x) || isnan(y)) return NAN;
  return x > y || (x == y && signbit(y)) ? x : y;
}
static float fmin_nan(float x, float y) {
  if (isnan(x) || isnan(y)) return NAN;
  return x < y || (x == y && signbit(x)) ? x : y;
}
static long double sigmoid(long double x) {
  /* strictly between 1/2 and its tangent, which a tie of fp32 must see */
  if (fabsl(x) < 0x1p-16L && x != 0) return nextafterl(0.5L + x / 4, 0.5L);
  return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}
static long double gelu_tanh(long double x) {
  return x * sigmoid(2 * sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x));
}
/* x * s, whose limit at -infinity is -0. */
static float vanishing(float x, long double y) {
  return isinf(x) && x < 0 ? -0.0f : (float)y;
}

static float ref_map(enum tsr_vec_op op, float x, float y, float imm) {
  float t;
  switch (op) {
  case TSR_VEC_NEG: return -x;
  case TSR_VEC_ROWABSMAX:
  case TSR_VEC_ABS: return fabsf(x);
  case TSR_VEC_RELU: return fmax_nan(x, 0.0f);
  case TSR_VEC_ROWSUMSQ:
  case TSR_VEC_SQUARE: return x * x;
  case TSR_VEC_SQRT: return sqrtf(x);
  case TSR_VEC_RSQRT: return (float)(1 / sqrtl(x));
  case TSR_VEC_RECIP: return 1 / x;
  case TSR_VEC_EXP: return (float)expl(x);
  case TSR_VEC_LOG: return (float)logl(x);
  case TSR_VEC_TANH: return (float)tanhl(x);
  case TSR_VEC_ERF: return (float)erfl(x);
  case TSR_VEC_SIGMOID: return (float)sigmoid(x);
  case TSR_VEC_GELU: return vanishing(x, x * 0.5L * erfcl(-x * sqrtl(0.5L)));
  case TSR_VEC_GELU_TANH: return vanishing(x, gelu_tanh(x));
  case TSR_VEC_SILU: return vanishing(x, x * sigmoid(x));
  case TSR_VEC_HARDSWISH:
    t = fmin_nan(fmax_nan(x + 3, 0), 6);
    t = x * t;
    return t / 6;
  case TSR_VEC_HARDSIGMOID: t = x / 6; return fmin_nan(fmax_nan(t + 0.5f, 0), 1);
  case TSR_VEC_SOFTPLUS:
    return (float)(x > 0 ? x + log1pl(expl(-(long double)x)) : log1pl(expl(x)));
  case TSR_VEC_SOFTSIGN: t = 1 + fabsf(x); return x / t;
  case TSR_VEC_SIN: return (float)sinl(x);
  case TSR_VEC_COS: return (float)cosl(x);
  case TSR_VEC_FLOOR: return floorf(x);
  case TSR_VEC_CEIL: return ceilf(x);
  case TSR_VEC_ROUND: return rintf(x);
  case TSR_VEC_SIGN: return isnan(x) || x == 0 ? x : copysignf(1, x);
  case TSR_VEC_NOT: return x == 0;
  case TSR_VEC_ADDI: return x + imm;
  case TSR_VEC_MULI: return x * imm;
  case TSR_VEC_MAXI: return fmax_nan(x, imm);
  case TSR_VEC_MINI: return fmin_nan(x, imm);
  case TSR_VEC_LEAKYRELU: return x > 0 ? x : x * imm;
  case TSR_VEC_ELU:
    if (!(x < 0)) return x;
    t = (float)expm1l(x);
    return t * imm;
  case TSR_VEC_ADD: return x + y;
  case TSR_VEC_SUB: return x - y;
  case TSR_VEC_MUL: return x * y;
  case TSR_VEC_DIV: return x / y;
  case TSR_VEC_MAX: return fmax_nan(x, y);
  case TSR_VEC_MIN: return fmin_nan(x, y);
  case TSR_VEC_LESS: return isless(x, y);
  case TSR_VEC_LESS_EQUAL: return islessequal(x, y);
  case TSR_VEC_GREATER: return isgreater(x, y);
  case TSR_VEC_GREATER_EQUAL: return isgreaterequal(x, y);
  case TSR_VEC_EQUAL: return x == y;
  case TSR_VEC_KEEP: return y == 0 ? 0 : x;
  case TSR_VEC_POW: return (float)powl(x, y);
  case TSR_VEC_FMOD: return fmodf(x, y);
  case TSR_VEC_MOD:
    t = fmodf(x, y);
    if (t == 0) return copysignf(0, y);
    return !signbit(t) == !signbit(y) ? t : t + y;
  case TSR_VEC_PRELU: return x > 0 ? x : x * y;
  case TSR_VEC_SUBEXP: t = x - y; return (float)expl(t);
  case TSR_VEC_DEQUANTISE: t = x - imm; return t * y;
  case TSR_VEC_QUANTISE: t = x / y; return t + imm; /* d a float */
  default: return x;
  }
}

static float ref_fold(enum tsr_vec_op op, float s, float x) {
  switch (op) {
  case TSR_VEC_ROWMAX:
  case TSR_VEC_ROWABSMAX:
  case TSR_VEC_POOLMAX: return fmax_nan(s, x);
  case TSR_VEC_ROWMIN: return fmin_nan(s, x);
  case TSR_VEC_ROWPROD: return s * x;
  default: return s + x;
  }
}
static bool has_mean(enum tsr_vec_op op) {
  return op == TSR_VEC_ROWMEAN || op == TSR_VEC_POOLMEAN;
}

/* The sum of partials [from, from + width) of a tree whose leaves are padded to a power
 * of two; leaf p holds the elements p, p + lanes, ... */
static float ref_tree(enum tsr_vec_op op, const float *x, size_t n, size_t lanes, size_t from,
                      size_t width) {
  if (width == 1) {
    float s = ref_map(op, x[from], 0, 0);
    for (size_t i = from + lanes; i < n; i += lanes)
      s = ref_fold(op, s, ref_map(op, x[i], 0, 0));
    return s;
  }
  float s = ref_tree(op, x, n, lanes, from, width / 2);
  size_t leaves = lanes < n ? lanes : n;
  if (from + width / 2 >= leaves) return s;
  return ref_fold(op, s, ref_tree(op, x, n, lanes, from + width / 2, width / 2));
}

/* ---- matrices of codes ---- */

static uint64_t peek(const void *p, const struct tsr_format *f, size_t i) {
  uint64_t code = 0; /* little endian */
  memcpy(&code, (const char *)p + i * tsr_gemm_code_bytes(f), tsr_gemm_code_bytes(f));
  return code;
}
static void poke(void *p, const struct tsr_format *f, size_t i, uint64_t code) {
  memcpy((char *)p + i * tsr_gemm_code_bytes(f), &code, tsr_gemm_code_bytes(f));
}
static double at(const void *p, const struct tsr_format *f, size_t i) {
  return tsr_arith_to_double(f, peek(p, f, i));
}
static bool is_nan(const struct tsr_format *f, uint64_t code) {
  return tsr_arith_decode(f, code).cls == TSR_NUM_NAN;
}

static uint64_t rounded(const struct tsr_format *f, const struct tsr_round_spec *s, double v,
                        uint64_t index) {
  struct tsr_num n = tsr_arith_decode(fmt("fp64"), 0);
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  n = tsr_arith_decode(fmt("fp64"), bits);
  return tsr_arith_encode_spec(f, s, index, &n, NULL);
}

/* A code that is often near 1, sometimes anything. */
static uint64_t some_code(struct tsr_rng *r, const struct tsr_format *f) {
  uint64_t any = tsr_rng_next(r),
           mask = f->bits == 64 ? UINT64_MAX : (UINT64_C(1) << f->bits) - 1;
  if (any % 8 == 0) return any >> 3 & mask;
  double v = (double)(int64_t)tsr_rng_next(r) * 0x1p-61; /* [-4, 4) */
  if (f->is_int) v *= f->bits > 8 ? 1e6 : 20;
  return tsr_arith_from_double(f, TSR_ROUND_RNE, v, NULL);
}
static void fill(struct tsr_rng *r, void *p, const struct tsr_format *f, size_t n) {
  for (size_t i = 0; i < n; i++) poke(p, f, i, some_code(r, f));
}

enum { MAX = 2048 };
struct rig {
  uint64_t a[MAX], b[MAX], d[MAX], was[MAX];
  uint8_t meta[MAX];
  struct tsr_vec_job q;
};

static void same_code(const struct rig *g, size_t at_, uint64_t want, const char *what) {
  const struct tsr_format *f = g->q.d_format;
  uint64_t got = peek(g->d, f, at_);
  if (got == want || (is_nan(f, got) && is_nan(f, want))) return;
  fail_msg("%s %s -> %s at %zu (%zu x %zu, lanes %u): %llx, not %llx",
           tsr_vec_info(g->q.op)->name, g->q.a.format->name, what, at_, g->q.rows, g->q.cols,
           g->q.lanes, (unsigned long long)got, (unsigned long long)want);
}

static size_t b_index(const struct tsr_vec_job *q, size_t i, size_t j) {
  bool all_rows = q->spread == TSR_VEC_ROW || q->spread == TSR_VEC_ONE;
  bool all_cols = q->spread == TSR_VEC_COL || q->spread == TSR_VEC_ONE;
  return (all_rows ? 0 : i * q->b.ld) + (all_cols ? 0 : j);
}

/* An int32 operand enters rounded, but for the operations that take it whole: none of
 * their values here needs more than 24 bits. */
static float operand(const struct tsr_vec_in *m, size_t i) {
  return (float)at(m->codes, m->format, i);
}

static void check_elementwise(const struct rig *g) {
  const struct tsr_vec_job *q = &g->q;
  for (size_t i = 0; i < q->rows; i++)
    for (size_t j = 0; j < q->cols; j++) {
      float x = operand(&q->a, i * q->a.ld + j);
      float y = tsr_vec_info(q->op)->sources == 2 ? operand(&q->b, b_index(q, i, j)) : 0;
      float v = ref_map(q->op, x, y, as_float(q->imm));
      same_code(g, i * q->ldd + j,
                rounded(q->d_format, &q->round, v, q->index0 + i * q->cols + j),
                q->d_format->name);
    }
}

static void check_finish(const struct rig *g, size_t at_, float s, uint64_t index) {
  const struct tsr_vec_job *q = &g->q;
  if (has_mean(q->op)) s = s * as_float(q->imm);
  if (!q->first) s = ref_fold(q->op, (float)at(g->was, q->d_format, at_), s);
  same_code(g, at_, rounded(q->d_format, &q->round, s, index), q->d_format->name);
}

static void check_reduce(const struct rig *g) {
  const struct tsr_vec_job *q = &g->q;
  float x[MAX];
  for (size_t i = 0; i < q->rows; i++) {
    for (size_t j = 0; j < q->cols; j++) x[j] = operand(&q->a, i * q->a.ld + j);
    size_t width = 1;
    while (width < q->lanes && width < q->cols) width *= 2;
    check_finish(g, i * q->ldd, ref_tree(q->op, x, q->cols, q->lanes, 0, width), q->index0 + i);
  }
}

static void check_windows(const struct rig *g) {
  const struct tsr_vec_job *q = &g->q;
  for (size_t i = 0; i < q->rows; i++)
    for (size_t j = 0; j < q->cols; j++) {
      float s = operand(&q->a, i * q->a.ld + j);
      for (size_t w = 1; w < q->window; w++)
        s = ref_fold(q->op, s, operand(&q->a, i * q->a.ld + w * q->window_ld + j));
      check_finish(g, i * q->ldd + j, s, q->index0 + i * q->cols + j);
    }
}

static void check_rope(const struct rig *g) {
  const struct tsr_vec_job *q = &g->q;
  size_t half = q->cols / 2;
  bool apart = q->op == TSR_VEC_ROPE_HALF;
  for (size_t i = 0; i < q->rows; i++) {
    for (size_t p = 0; p < half; p++) {
      size_t jx = apart ? p : 2 * p, jy = apart ? p + half : 2 * p + 1;
      float x = operand(&q->a, i * q->a.ld + jx), y = operand(&q->a, i * q->a.ld + jy);
      float c = operand(&q->b, b_index(q, i, jx)), s = operand(&q->b, b_index(q, i, jy));
      float xc = x * c, ys = y * s, xs = x * s, yc = y * c;
      uint64_t index = q->index0 + i * q->cols;
      same_code(g, i * q->ldd + jx, rounded(q->d_format, &q->round, xc - ys, index + jx), "x");
      same_code(g, i * q->ldd + jy, rounded(q->d_format, &q->round, xs + yc, index + jy), "y");
    }
    if (q->cols % 2)
      same_code(g, i * q->ldd + q->cols - 1,
                rounded(q->d_format, &q->round, operand(&q->a, i * q->a.ld + q->cols - 1),
                        q->index0 + (i + 1) * q->cols - 1),
                "last");
  }
}

static void make(struct rig *g, struct tsr_rng *r, enum tsr_vec_op op, const char *a,
                 const char *b, const char *d) {
  static const unsigned lanes[] = {1, 2, 3, 4, 8, 13, 64, 4096};
  struct tsr_vec_job *q = &g->q;
  *q = (struct tsr_vec_job){.op = op, .d = g->d, .d_format = fmt(d)};
  q->rows = tsr_rng_range(r, 1, 5);
  q->cols = tsr_rng_range(r, 1, 40);
  q->window = tsr_rng_range(r, 1, 5);
  q->window_ld = q->cols + tsr_rng_range(r, 0, 2);
  size_t ld = tsr_vec_info(op)->kind == TSR_VEC_WINDOW ? q->window_ld : q->cols;
  q->a = (struct tsr_vec_in){g->a, fmt(a), ld + tsr_rng_range(r, 0, 3)};
  q->b = (struct tsr_vec_in){g->b, fmt(b), q->cols + tsr_rng_range(r, 0, 3)};
  q->ldd = q->cols + tsr_rng_range(r, 0, 3);
  q->spread = (enum tsr_vec_spread)tsr_rng_range(r, 0, 3);
  if (tsr_vec_info(op)->kind == TSR_VEC_PAIR)
    q->spread = tsr_rng_range(r, 0, 1) ? TSR_VEC_EACH : TSR_VEC_ROW;
  q->imm = as_bits((float)(int64_t)tsr_rng_next(r) * 0x1p-62f);
  q->first = tsr_rng_range(r, 0, 1);
  q->lanes = lanes[tsr_rng_range(r, 0, LEN(lanes) - 1)];
  q->round = (struct tsr_round_spec){.mode = (enum tsr_round)tsr_rng_range(r, 0, TSR_ROUND_SR),
                                     .saturate = tsr_rng_range(r, 0, 1),
                                     .seed = 5};
  if (op == TSR_VEC_QUANTISE) q->round.saturate = true;
  q->index0 = tsr_rng_range(r, 0, 1) ? 1000 : 0;
  q->meta = g->meta;
  q->ldm = (q->cols + 7) / 8 + 1;
  fill(r, g->a, q->a.format, MAX);
  fill(r, g->b, q->b.format, MAX);
  fill(r, g->d, q->d_format, MAX);
  memcpy(g->was, g->d, sizeof g->d);
}

/* What the job does not own keeps its codes. */
static void check_untouched(const struct rig *g, size_t per_row) {
  const struct tsr_format *f = g->q.d_format;
  for (size_t i = 0; i < MAX; i++)
    if (i / g->q.ldd >= g->q.rows || i % g->q.ldd >= per_row)
      assert_int_equal(peek(g->d, f, i), peek(g->was, f, i));
}

static const struct {
  const char *a, *b, *d;
} formats[] = {
    {"fp32", "fp32", "fp32"}, {"fp16", "fp16", "fp16"},         {"bf16", "bf16", "bf16"},
    {"fp16", "fp32", "fp32"}, {"bf16", "fp16", "fp8_e4m3"},     {"fp32", "fp32", "fp8_e5m2"},
    {"int8", "fp32", "fp16"}, {"fp8_e4m3", "fp8_e5m2", "fp32"}, {"fp4_e2m1", "nf4", "bf16"},
};

static void every_operation_equals_its_formula(void **state) {
  (void)state;
  static void (*const checks[])(const struct rig *) = {[TSR_VEC_UNARY] = check_elementwise,
                                                       [TSR_VEC_BINARY] = check_elementwise,
                                                       [TSR_VEC_REDUCE] = check_reduce,
                                                       [TSR_VEC_WINDOW] = check_windows,
                                                       [TSR_VEC_PAIR] = check_rope};
  struct tsr_rng r = {3};
  struct rig *g = tsr_mem_alloc(sizeof *g);
  assert_non_null(g);
  for (unsigned op = 0; op < TSR_VEC_N_; op++) {
    if (op == TSR_VEC_COMPRESS24) continue;
    for (int n = 0; n < 270; n++) {
      make(g, &r, op, formats[n % 9].a, formats[n % 9].b, formats[n % 9].d);
      struct tsr_vec_stats s = {0};
      tsr_vec_run(&g->q, NULL, &s);
      enum tsr_vec_kind kind = tsr_vec_info(op)->kind;
      checks[kind](g);
      size_t per_row = kind == TSR_VEC_REDUCE ? 1 : g->q.cols;
      check_untouched(g, per_row);
      assert_int_equal(s.elements, g->q.rows * per_row);
    }
  }
  tsr_mem_free(g);
}

/* Unary operations over every code of 16 bits, into fp32 and back into the format. */
static void every_narrow_operand(void **state) {
  (void)state;
  static const char *const names[] = {"fp16", "bf16"};
  uint16_t *a = tsr_mem_array(65536, sizeof *a);
  uint32_t *d = tsr_mem_array(65536, sizeof *d);
  uint16_t *h = tsr_mem_array(65536, sizeof *h);
  assert_true(a && d && h);
  for (unsigned i = 0; i < 65536; i++) a[i] = (uint16_t)i;
  for (unsigned op = 0; op < TSR_VEC_N_; op++) {
    if (tsr_vec_info(op)->kind != TSR_VEC_UNARY) continue;
    for (int k = 0; k < 2; k++) {
      const struct tsr_format *f = fmt(names[k]);
      struct tsr_vec_job q = {.op = op,
                              .rows = 256,
                              .cols = 256,
                              .a = {a, f, 256},
                              .d = d,
                              .d_format = fmt("fp32"),
                              .ldd = 256,
                              .imm = as_bits(0.3f)};
      tsr_vec_run(&q, NULL, NULL);
      q.d = h;
      q.d_format = f;
      tsr_vec_run(&q, NULL, NULL);
      for (unsigned i = 0; i < 65536; i++) {
        float want = ref_map(op, (float)tsr_arith_to_double(f, i), 0, as_float(q.imm));
        bool nan = isnan(want) && isnan(as_float(d[i])) && is_nan(f, h[i]);
        if (!nan && (d[i] != as_bits(want) ||
                     h[i] != tsr_arith_convert(fmt("fp32"), d[i], f, TSR_ROUND_RNE, NULL)))
          fail_msg("%s %s %04x: %08x %04x, not %08x", tsr_vec_info(op)->name, names[k], i, d[i],
                   h[i], as_bits(want));
      }
    }
  }
  tsr_mem_free(a);
  tsr_mem_free(d);
  tsr_mem_free(h);
}

/* ---- rows worked out by hand ---- */

enum {
  OV = TSR_EVENT_OVERFLOW,
  UN = TSR_EVENT_UNDERFLOW,
  IX = TSR_EVENT_INEXACT,
  SAT = TSR_EVENT_SATURATED,
  SUBIN = TSR_EVENT_SUBNORMAL_IN,
  SUB = TSR_EVENT_SUBNORMAL_OUT,
  INV = TSR_EVENT_INVALID
};

static void lanes_decide_the_order_of_a_sum(void **state) {
  (void)state;
  static const float a[] = {0x1p24f, 1, 1, -0x1p24f, 1, 1};
  static const struct {
    size_t cols;
    unsigned lanes;
    float sum;
  } rows[] = {
      {4, 1, 0},    /* ((2^24 + 1) + 1) - 2^24: each 1 is a tie to even */
      {4, 2, 1},    /* (2^24 + 1) + (1 - 2^24) */
      {4, 3, 2},    /* ((2^24 - 2^24) + 1) + 1 */
      {4, 4, 1},    /* (2^24 + 1) + (1 - 2^24) */
      {4, 4096, 1}, /* no more partial sums than elements */
      {6, 3, 4},    /* ((2^24 - 2^24) + (1 + 1)) + (1 + 1) */
      {6, 4, 3},    /* ((2^24 + 1) + (1 + 1)) + (1 - 2^24) */
      {4, 0, 0},    /* as 1 */
      {6, 1, 2},    {1, 7, 0x1p24f},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    float d = 7;
    struct tsr_vec_job q = {.op = TSR_VEC_ROWSUM,
                            .rows = 1,
                            .cols = rows[i].cols,
                            .a = {a, fmt("fp32"), 8},
                            .d = &d,
                            .d_format = fmt("fp32"),
                            .ldd = 1,
                            .first = true,
                            .lanes = rows[i].lanes};
    tsr_vec_run(&q, NULL, NULL);
    if (d != rows[i].sum)
      fail_msg("%zu elements, %u lanes: %g", rows[i].cols, rows[i].lanes, (double)d);
    q.first = false;
    float before = d;
    tsr_vec_run(&q, NULL, NULL);
    assert_true(d == before + rows[i].sum);
  }
}

/* d of int32 enters a sum of fp32 rounded, as any operand does; one of integers whole. */
static void what_d_holds_enters_as_an_operand(void **state) {
  (void)state;
  static const struct {
    const char *a;
    int32_t d; /* 16777217 before */
  } rows[] = {{"fp32", 16777216}, {"int32", 16777218}};
  for (size_t i = 0; i < LEN(rows); i++) {
    const struct tsr_format *f = fmt(rows[i].a);
    uint32_t a = (uint32_t)tsr_arith_from_double(f, TSR_ROUND_RNE, 1, NULL);
    int32_t d = 16777217;
    struct tsr_vec_job q = {.op = TSR_VEC_ROWSUM,
                            .rows = 1,
                            .cols = 1,
                            .a = {&a, f, 1},
                            .d = &d,
                            .d_format = fmt("int32"),
                            .ldd = 1,
                            .lanes = 4};
    tsr_vec_run(&q, NULL, NULL);
    assert_int_equal(d, rows[i].d);
  }
}

/* A format is within fp32 up to its ends; a step beyond makes the datapath fp64.  Seen in
 * (1 + 2^-30) * 1 into the narrow fp16 by RU: an fp32 sum has lost 2^-30. */
static void the_datapath_is_as_wide_as_the_formats(void **state) {
  (void)state;
  static const struct {
    const char *a;
    bool wide;
  } rows[] = {{"fp32", false},          {"fp64", true},           {"e8m23", false},
              {"e8m24", true},          {"e5m24", true},          {"e9m10", true},
              {"e8m22:bias128", false}, {"e8m23:bias128", true},  {"e8m10:bias126", true},
              {"e4m3:fn", false},       {"e8m10:bias127", false}, {"nf4", false}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_format f;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_format_parse(rows[i].a, &f, &err), TSR_OK);
    tsr_err_fini(&err);
    uint64_t a = tsr_arith_from_double(&f, TSR_ROUND_RNE, 1, NULL);
    uint16_t d = 0;
    struct tsr_vec_job q = {.op = TSR_VEC_ADDI,
                            .rows = 1,
                            .cols = 1,
                            .a = {&a, &f, 1},
                            .d = &d,
                            .d_format = fmt("fp16"),
                            .ldd = 1,
                            .imm = as_bits(0x1p-30f),
                            .round = {.mode = TSR_ROUND_RU}};
    tsr_vec_run(&q, NULL, NULL);
    if (d != (rows[i].wide ? 0x3c01 : 0x3c00)) fail_msg("%s: %04x", rows[i].a, d);
  }
}

/* Flushing, of operands and of results. */
static void subnormals_flush_where_told(void **state) {
  (void)state;
  static const struct {
    const char *f;
    double x;
    bool in, out;
    double d;
    unsigned events;
  } rows[] = {
      {"fp32", -0x1p-149, false, false, -0x1p-148, SUBIN | SUB},
      {"fp32", -0x1p-149, true, false, -0.0, SUBIN},
      {"fp32", -0x1p-149, false, true, -0.0, SUBIN | UN | IX},
      {"fp32", 0x1p-127, false, true, 0x1p-126, SUBIN},
      {"fp16", 0x1p-24, false, false, 0x1p-23, SUBIN | SUB},
      {"fp16", 0x1p-24, true, false, 0, SUBIN},
      {"fp16", 0x1p-24, false, true, 0, SUBIN | UN | IX},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    const struct tsr_format *f = fmt(rows[i].f);
    struct tsr_round_spec exact = {0};
    uint64_t a = rounded(f, &exact, rows[i].x, 0), d = 0;
    struct tsr_vec_job q = {.op = TSR_VEC_MULI,
                            .rows = 1,
                            .cols = 1,
                            .a = {&a, f, 1},
                            .d = &d,
                            .d_format = f,
                            .ldd = 1,
                            .imm = as_bits(2),
                            .round = {.ftz_in = rows[i].in, .ftz_out = rows[i].out}};
    unsigned events = 0;
    tsr_vec_run(&q, &events, NULL);
    double got = tsr_arith_to_double(f, d);
    assert_true(got == rows[i].d && !signbit(got) == !signbit(rows[i].d));
    assert_int_equal(events, rows[i].events);
  }
}

/* Events of one element do not stand at another: rope's two results, compress's places. */
static void events_stay_with_their_result(void **state) {
  (void)state;
  static const float pair[] = {0x1p127f, 0x1p127f}, turn[] = {1, 1}; /* x - y, x + y */
  float d[2];
  struct tsr_vec_job q = {.op = TSR_VEC_ROPE,
                          .rows = 1,
                          .cols = 2,
                          .a = {pair, fmt("fp32"), 2},
                          .b = {turn, fmt("fp32"), 2},
                          .d = d,
                          .d_format = fmt("fp32"),
                          .ldd = 2};
  struct tsr_vec_stats s = {0};
  tsr_vec_run(&q, NULL, &s);
  assert_true(d[0] == 0 && isinf(d[1]));
  assert_int_equal(s.overflow, 1);
  int32_t wide[] = {16777217, 0}; /* rounded as it enters: both results have it */
  float quarter[] = {1, 0};
  s = (struct tsr_vec_stats){0};
  q.a = (struct tsr_vec_in){wide, fmt("int32"), 2};
  q.b.codes = quarter;
  tsr_vec_run(&q, NULL, &s);
  assert_true(d[0] == 16777216 && d[1] == 0);
  assert_int_equal(s.inexact, 2);
  float group[4] = {0x1p-149f, 1, 2, 0};
  uint8_t meta;
  unsigned events = 0;
  q.op = TSR_VEC_COMPRESS24;
  q.cols = 4;
  q.a = (struct tsr_vec_in){group, fmt("fp32"), 4};
  q.meta = &meta;
  tsr_vec_run(&q, &events, NULL);
  assert_int_equal(events, 0); /* the subnormal one was not kept */
  group[1] = 0;
  tsr_vec_run(&q, &events, NULL);
  assert_int_equal(events, SUBIN | SUB);
}

static void nothing_to_reduce_gives_the_neutral_element(void **state) {
  (void)state;
  static const struct {
    const char *op;
    float d;
  } rows[] = {{"rowsum", 0},    {"rowmax", -INFINITY}, {"rowmin", INFINITY},
              {"rowabsmax", 0}, {"rowsumsq", 0},       {"rowprod", 1},
              {"rowmean", 0},   {"poolmax", -INFINITY}};
  for (size_t i = 0; i < LEN(rows); i++) {
    float d = 7, a = 1;
    int op = tsr_vec_find(rows[i].op);
    bool window = tsr_vec_info((unsigned)op)->kind == TSR_VEC_WINDOW;
    struct tsr_vec_job q = {.op = (enum tsr_vec_op)op,
                            .rows = 1,
                            .cols = window,
                            .a = {&a, fmt("fp32"), 1},
                            .d = &d,
                            .d_format = fmt("fp32"),
                            .ldd = 1,
                            .first = true,
                            .lanes = 4};
    tsr_vec_run(&q, NULL, NULL);
    assert_true(d == rows[i].d);
  }
}

/* One element through an operation: values as doubles. */
struct one {
  const char *op, *a, *b, *d;
  double x, y;
  float imm;
  bool saturate;
  double want;
  unsigned events;
};
static const double INF = INFINITY;
static const double NA = NAN;

static const struct one ones[] = {
    /* quantise: the first rows are the example of ONNX QuantizeLinear */
    {"quantise", "fp32", "fp32", "uint8", 0, 2, 128, 0, 128, 0},
    {"quantise", "fp32", "fp32", "uint8", 2, 2, 128, 0, 129, 0},
    {"quantise", "fp32", "fp32", "uint8", 3, 2, 128, 0, 130, IX},
    {"quantise", "fp32", "fp32", "uint8", 1000, 2, 128, 0, 255, OV | IX | SAT},
    {"quantise", "fp32", "fp32", "uint8", -254, 2, 128, 0, 1, 0},
    {"quantise", "fp32", "fp32", "uint8", -1000, 2, 128, 0, 0, OV | IX | SAT},
    /* a tie is broken before the zero point is added, odd or not */
    {"quantise", "fp32", "fp32", "int8", 0.5, 1, 1, 0, 1, IX},
    {"quantise", "fp32", "fp32", "int8", 1.5, 1, 1, 0, 3, IX},
    {"quantise", "fp32", "fp32", "int8", -0.5, 1, 0, 0, 0, IX},
    {"quantise", "fp32", "fp32", "int8", 127.49, 1, 0, 0, 127, IX},
    {"quantise", "fp32", "fp32", "int8", 127.5, 1, 0, 0, 127, OV | IX | SAT},
    {"quantise", "fp32", "fp32", "int8", -128.5, 1, 0, 0, -128, IX},
    {"quantise", "fp32", "fp32", "int4", 100, 1, 0, 0, 7, OV | IX | SAT},
    {"quantise", "fp32", "fp32", "int8", -1e38, 1e-3, 5, 0, -128, OV | IX | SAT},
    {"quantise", "fp32", "fp32", "int8", NA, 1, 5, 0, 0, INV},
    {"quantise", "int32", "fp32", "int8", 2147483647, 0x1p25, 0, 0, 64, IX},
    {"quantise", "fp32", "fp32", "fp8_e4m3", 1000, 1, 0, 0, 448, OV | IX | SAT},
    {"quantise", "fp32", "fp32", "fp8_e4m3", 100, 10, 0, 0, 10, 0},
    /* 16777217 - 1 is taken whole; as an addend it loses its last bit on the way in */
    {"dequantise", "int32", "fp32", "fp32", 16777217, 2, 1, 0, 33554432, 0},
    {"dequantise", "int8", "fp32", "fp32", -128, 0.5, 10, 0, -69, 0},
    {"dequantise", "uint8", "fp16", "bf16", 255, 0.25, 3, 0, 63, 0},
    {"add", "int32", "fp32", "fp32", 16777217, -16777216, 0, 0, 0, IX},
    {"add", "fp32", "int32", "fp32", -16777216, 16777217, 0, 0, 0, IX},
    /* integers are exact, and wrap or clip */
    {"add", "int32", "int32", "int32", 2147483647, 1, 0, 0, -2147483648.0, OV | IX},
    {"add", "int32", "int32", "int32", 2147483647, 1, 0, 1, 2147483647, OV | IX | SAT},
    {"add", "int32", "int32", "int32", 16777217, 2, 0, 0, 16777219, 0},
    {"sub", "int8", "int8", "int8", -100, 100, 0, 1, -128, OV | IX | SAT},
    {"sub", "int8", "int8", "int8", -100, 100, 0, 0, 56, OV | IX},
    {"mul", "int32", "int32", "int32", 123456789, 987654321, 0, 0, -67153019, OV | IX},
    {"mul", "int32", "int32", "int32", 123456789, 987654321, 0, 1, 2147483647, OV | IX | SAT},
    {"square", "int32", "fp32", "int32", -2147483647, 0, 0, 0, 1, OV | IX},
    {"neg", "int8", "fp32", "int8", -128, 0, 0, 1, 127, OV | IX | SAT},
    {"div", "int32", "int32", "int32", 7, 2, 0, 1, 3, IX},
    {"div", "int32", "int32", "int32", -7, 2, 0, 1, -3, IX},
    {"div", "int32", "int32", "int32", 2147483647, -1, 0, 0, -2147483647, 0},
    {"div", "int32", "int32", "int32", -2147483648.0, -1, 0, 1, 2147483647, OV | IX | SAT},
    {"div", "int32", "int32", "int32", 5, 0, 0, 1, 0, INV},
    {"div", "uint8", "uint8", "uint8", 255, 16, 0, 0, 15, IX},
    {"mod", "int32", "int32", "int32", -7, 3, 0, 0, 2, 0},
    {"mod", "int32", "int32", "int32", 7, -3, 0, 0, -2, 0},
    {"mod", "int32", "int32", "int32", 2147483647, 65536, 0, 0, 65535, 0},
    {"mod", "int32", "int32", "int32", 5, 0, 0, 0, 0, INV},
    {"fmod", "int32", "int32", "int32", -7, 3, 0, 0, -1, 0},
    {"fmod", "int8", "int8", "int8", -128, -1, 0, 0, 0, 0},
    {"less", "int32", "int32", "int32", 16777216, 16777217, 0, 0, 1, 0},
    {"equal", "int32", "int32", "int8", 16777216, 16777217, 0, 0, 0, 0},
    {"greater_equal", "uint8", "uint8", "uint8", 255, 255, 0, 0, 1, 0},
    {"keep", "int32", "int32", "int32", 16777217, 5, 0, 0, 16777217, 0},
    {"sign", "int8", "fp32", "int8", -128, 0, 0, 0, -1, 0},
    {"not", "int32", "fp32", "int32", 0, 0, 0, 0, 1, 0},
    {"not", "int32", "fp32", "int32", -9, 0, 0, 0, 0, 0},
    {"maxi", "int32", "fp32", "int32", 16777217, 0, 4, 0, 16777217, 0},
    {"pow", "int32", "int32", "int32", -3, 5, 0, 0, -243, 0},
    /* copies */
    {"copy", "int32", "fp32", "int8", 300, 0, 0, 0, 44, OV | IX},
    {"copy", "int32", "fp32", "int8", 300, 0, 0, 1, 127, OV | IX | SAT},
    {"copy", "int32", "fp32", "fp32", 16777217, 0, 0, 0, 16777216, IX},
    {"copy", "int32", "fp32", "fp64", 16777217, 0, 0, 0, 16777217, 0},
    {"copy", "fp64", "fp32", "fp16", 1 + 0x1p-11 + 0x1p-40, 0, 0, 0, 1 + 0x1p-10, IX},
    {"copy", "fp32", "fp32", "fp16", 65520, 0, 0, 0, INF, OV | IX},
    {"copy", "fp32", "fp32", "fp16", 65520, 0, 0, 1, 65504, OV | IX | SAT},
    {"copy", "fp32", "fp32", "fp32", 0x1p-149, 0, 0, 0, 0x1p-149, SUBIN | SUB},
    {"copy", "fp32", "fp32", "int8", NA, 0, 0, 0, 0, INV},
    /* rounded to fp32, then to d: 1 + 2^-11 + 2^-40 would be above the tie */
    {"add", "fp32", "fp32", "fp16", 1 + 0x1p-11, 0x1p-40, 0, 0, 1, IX},
    {"add", "fp64", "fp32", "fp16", 1 + 0x1p-11, 0x1p-40, 0, 0, 1 + 0x1p-10, IX},
    {"add", "fp16", "fp16", "fp16", 65504, 65504, 0, 0, INF, OV | IX},
    {"add", "fp32", "fp32", "fp32", 0x1.fffffep127, 0x1.fffffep127, 0, 0, INF, OV | IX},
    {"add", "fp64", "fp64", "fp64", 0x1.fffffffffffffp1023, 0x1p1023, 0, 0, INF, OV | IX},
    {"mul", "fp64", "fp64", "fp64", 1 + 0x1p-52, 3, 0, 0, 3 + 0x1p-50, 0},
    {"mul", "fp32", "fp32", "fp32", 0x1p-100, 0x1.8p-49, 0, 0, 0x1p-148, UN | IX | SUB},
    {"mul", "fp32", "fp32", "fp32", 0x1p-100, 0x1p-100, 0, 0, 0, UN | IX},
    {"mul", "fp32", "fp32", "fp32", 0x1p-100, 0x1p-40, 0, 0, 0x1p-140, SUB},
    {"mul", "fp32", "fp32", "fp32", INF, 0, 0, 0, NA, INV},
    {"mul", "fp32", "fp32", "fp32", NA, 0, 0, 0, NA, 0},
    {"sub", "fp32", "fp32", "fp32", INF, INF, 0, 0, NA, INV},
    {"div", "fp32", "fp32", "fp32", 0, 0, 0, 0, NA, INV},
    {"div", "fp32", "fp32", "fp32", 1, 0, 0, 0, INF, 0},
    {"div", "fp32", "fp32", "fp32", 0x1p127, 0x1p-1, 0, 0, INF, OV | IX},
    {"recip", "fp32", "fp32", "fp32", -0.0, 0, 0, 0, -INF, 0},
    {"sqrt", "fp32", "fp32", "fp32", -1, 0, 0, 0, NA, INV},
    {"sqrt", "fp32", "fp32", "fp32", -0.0, 0, 0, 0, -0.0, 0},
    {"rsqrt", "fp32", "fp32", "fp32", 0, 0, 0, 0, INF, 0},
    {"log", "fp32", "fp32", "fp32", 0, 0, 0, 0, -INF, 0},
    {"log", "fp32", "fp32", "fp32", 1, 0, 0, 0, 0, 0},
    {"log", "fp32", "fp32", "fp32", -1, 0, 0, 0, NA, INV},
    {"exp", "fp32", "fp32", "fp32", 0, 0, 0, 0, 1, 0},
    {"exp", "fp32", "fp32", "fp32", 89, 0, 0, 0, INF, OV | IX},
    {"exp", "fp32", "fp32", "fp32", 800, 0, 0, 0, INF, OV | IX},
    {"exp", "fp32", "fp32", "fp32", -104, 0, 0, 0, 0, UN | IX},
    {"exp", "fp32", "fp32", "fp32", -1000, 0, 0, 0, 0, UN | IX},
    {"exp", "fp64", "fp32", "fp64", -1000, 0, 0, 0, 0, UN | IX},
    {"exp", "fp32", "fp32", "fp32", -INF, 0, 0, 0, 0, 0},
    {"tanh", "fp32", "fp32", "fp32", 30, 0, 0, 0, 1, IX},
    {"gelu", "fp32", "fp32", "fp32", -INF, 0, 0, 0, -0.0, 0},
    {"gelu", "fp32", "fp32", "fp32", -50, 0, 0, 0, -0.0, UN | IX},
    {"subexp", "fp32", "fp32", "fp32", -INF, 3, 0, 0, 0, 0},
    {"subexp", "fp32", "fp32", "fp32", 3, 3, 0, 0, 1, 0},
    {"subexp", "fp32", "fp32", "fp32", -0x1p127, 0x1p127, 0, 0, 0, OV | UN | IX},
    {"subexp", "fp32", "fp32", "fp32", INF, INF, 0, 0, NA, INV},
    /* maximum and minimum */
    {"max", "fp32", "fp32", "fp32", -0.0, 0, 0, 0, 0, 0},
    {"max", "fp32", "fp32", "fp32", 0, -0.0, 0, 0, 0, 0},
    {"min", "fp32", "fp32", "fp32", 0, -0.0, 0, 0, -0.0, 0},
    {"max", "fp32", "fp32", "fp32", NA, 1, 0, 0, NA, 0},
    {"min", "fp32", "fp32", "fp32", 1, NA, 0, 0, NA, 0},
    {"relu", "fp32", "fp32", "fp32", -0.0, 0, 0, 0, 0, 0},
    {"relu", "fp32", "fp32", "fp32", NA, 0, 0, 0, NA, 0},
    {"relu", "int32", "fp32", "int8", -7, 0, 0, 0, 0, 0},
    {"max", "int32", "int32", "int32", 16777217, 16777216, 0, 0, 16777217, 0},
    {"leakyrelu", "fp32", "fp32", "fp32", -2, 0, 0.25f, 0, -0.5, 0},
    {"hardswish", "fp32", "fp32", "fp32", -4, 0, 0, 0, -0.0, 0},
    {"hardsigmoid", "fp32", "fp32", "fp32", 3, 0, 0, 0, 1, 0},
    /* comparisons: a NaN compares with nothing */
    {"less", "fp32", "fp32", "fp32", -0.0, 0, 0, 0, 0, 0},
    {"less_equal", "fp32", "fp32", "fp32", -0.0, 0, 0, 0, 1, 0},
    {"less_equal", "fp32", "fp32", "fp32", NA, 0, 0, 0, 0, 0},
    {"greater_equal", "fp32", "fp32", "fp32", 1, NA, 0, 0, 0, 0},
    {"equal", "fp32", "fp32", "fp32", NA, NA, 0, 0, 0, 0},
    {"greater", "fp32", "fp32", "fp32", INF, 1, 0, 0, 1, 0},
    /* kept or not, whatever it is */
    {"keep", "fp32", "fp32", "fp32", NA, 0, 0, 0, 0, 0},
    {"keep", "fp32", "fp32", "fp32", -INF, -0.0, 0, 0, 0, 0},
    {"keep", "fp32", "fp32", "fp32", -2, NA, 0, 0, -2, 0},
    {"keep", "fp32", "fp32", "fp32", -0.0, 1, 0, 0, -0.0, 0},
    /* whole numbers */
    {"floor", "fp32", "fp32", "fp32", -0.5, 0, 0, 0, -1, 0},
    {"ceil", "fp32", "fp32", "fp32", -0.5, 0, 0, 0, -0.0, 0},
    {"round", "fp32", "fp32", "fp32", 2.5, 0, 0, 0, 2, 0},
    {"round", "fp32", "fp32", "fp32", -1.5, 0, 0, 0, -2, 0},
    {"round", "fp32", "fp32", "fp32", 0x1.fffffep-2, 0, 0, 0, 0, 0},
    {"floor", "fp32", "fp32", "fp32", -INF, 0, 0, 0, -INF, 0},
    {"sign", "fp32", "fp32", "fp32", -0.0, 0, 0, 0, -0.0, 0},
    {"sign", "fp32", "fp32", "fp32", NA, 0, 0, 0, NA, 0},
    {"not", "fp32", "fp32", "fp32", NA, 0, 0, 0, 0, 0},
    {"not", "fp32", "fp32", "fp32", -0.0, 0, 0, 0, 1, 0},
    /* remainders */
    {"mod", "fp32", "fp32", "fp32", -1, 3, 0, 0, 2, 0},
    {"mod", "fp32", "fp32", "fp32", -3, 3, 0, 0, 0, 0},
    {"mod", "fp32", "fp32", "fp32", 3, -3, 0, 0, -0.0, 0},
    {"mod", "fp32", "fp32", "fp32", -1, INF, 0, 0, INF, 0},
    {"mod", "fp32", "fp32", "fp32", -0x1p-30, 1, 0, 0, 1, IX},
    {"fmod", "fp32", "fp32", "fp32", 0x1p127, 3, 0, 0, 2, 0},
    {"fmod", "fp32", "fp32", "fp32", -1, INF, 0, 0, -1, 0},
    {"fmod", "fp32", "fp32", "fp32", 1, 0, 0, 0, NA, INV},
    {"fmod", "fp32", "fp32", "fp32", INF, 2, 0, 0, NA, INV},
    /* powers */
    {"pow", "fp32", "fp32", "fp32", 3, 15, 0, 0, 14348907, 0},
    {"pow", "fp32", "fp32", "fp32", 3, 16, 0, 0, 43046720, IX},
    {"pow", "fp32", "fp32", "fp32", 0.25, -1.5, 0, 0, 8, 0},
    {"pow", "fp32", "fp32", "fp32", -2, 3, 0, 0, -8, 0},
    {"pow", "fp32", "fp32", "fp32", -8, 1 / 3.0, 0, 0, NA, INV},
    {"pow", "fp32", "fp32", "fp32", NA, 0, 0, 0, 1, 0},
    {"pow", "fp32", "fp32", "fp32", 1, NA, 0, 0, 1, 0},
    {"pow", "fp32", "fp32", "fp32", -1, INF, 0, 0, 1, 0},
    {"pow", "fp32", "fp32", "fp32", 0.5, -INF, 0, 0, INF, 0},
    {"pow", "fp32", "fp32", "fp32", -0.0, -3, 0, 0, -INF, 0},
    {"pow", "fp32", "fp32", "fp32", -0.0, 3, 0, 0, -0.0, 0},
    {"pow", "fp32", "fp32", "fp32", -INF, 3, 0, 0, -INF, 0},
    {"pow", "fp32", "fp32", "fp32", -INF, -2, 0, 0, 0, 0},
    {"pow", "fp32", "fp32", "fp32", 10, 39, 0, 0, INF, OV | IX},
    {"pow", "fp32", "fp32", "fp32", 3, -1000, 0, 0, 0, UN | IX},
    {"pow", "fp32", "fp32", "fp32", 2, -149, 0, 0, 0x1p-149, SUB},
    /* the other functions */
    {"sin", "fp32", "fp32", "fp32", -0.0, 0, 0, 0, -0.0, 0},
    {"sin", "fp32", "fp32", "fp32", INF, 0, 0, 0, NA, INV},
    {"cos", "fp32", "fp32", "fp32", 0, 0, 0, 0, 1, 0},
    {"cos", "fp32", "fp32", "fp32", 0x1p-20, 0, 0, 0, 1, IX},
    {"softplus", "fp32", "fp32", "fp32", -INF, 0, 0, 0, 0, 0},
    {"softplus", "fp32", "fp32", "fp32", INF, 0, 0, 0, INF, 0},
    {"softplus", "fp32", "fp32", "fp32", 100, 0, 0, 0, 100, IX},
    {"softplus", "fp32", "fp32", "fp32", -200, 0, 0, 0, 0, UN | IX},
    {"softsign", "fp32", "fp32", "fp32", -3, 0, 0, 0, -0.75, 0},
    {"elu", "fp32", "fp32", "fp32", -INF, 0, 2, 0, -2, 0},
    {"elu", "fp32", "fp32", "fp32", -0.0, 0, 2, 0, -0.0, 0},
    {"elu", "fp32", "fp32", "fp32", -0x1p-60, 0, 2, 0, -0x1p-59, IX},
    {"elu", "fp32", "fp32", "fp32", NA, 0, 2, 0, NA, 0},
    {"prelu", "fp32", "fp32", "fp32", -2, 0.25, 0, 0, -0.5, 0},
    {"prelu", "fp32", "fp32", "fp32", 2, NA, 0, 0, 2, 0},
};

static void hand_made_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(ones); i++) {
    const struct one *o = &ones[i];
    struct tsr_round_spec exact = {0};
    uint64_t a = rounded(fmt(o->a), &exact, o->x, 0), b = rounded(fmt(o->b), &exact, o->y, 0);
    uint64_t d = 0;
    unsigned events = 0;
    int op = tsr_vec_find(o->op);
    assert_true(op >= 0);
    struct tsr_vec_job q = {.op = (enum tsr_vec_op)op,
                            .rows = 1,
                            .cols = 1,
                            .a = {&a, fmt(o->a), 1},
                            .b = {&b, fmt(o->b), 1},
                            .d = &d,
                            .d_format = fmt(o->d),
                            .ldd = 1,
                            .imm = as_bits(o->imm),
                            .round = {.saturate = o->saturate}};
    struct tsr_vec_stats s = {0};
    tsr_vec_run(&q, &events, &s);
    double got = tsr_arith_to_double(fmt(o->d), d);
    bool ok =
        isnan(o->want) ? isnan(got) : got == o->want && !signbit(got) == !signbit(o->want);
    if (!ok || events != o->events)
      fail_msg("row %zu, %s(%g, %g): %a with %x, not %a with %x", i, o->op, o->x, o->y, got,
               events, o->want, o->events);
    assert_int_equal(s.elements, 1);
    assert_int_equal(s.overflow, !!(events & OV));
    assert_int_equal(s.underflow, !!(events & UN));
    assert_int_equal(s.saturated, !!(events & SAT));
    assert_int_equal(s.invalid, !!(events & INV));
    assert_int_equal(s.inexact, !!(events & IX));
  }
}

/* ---- 2 of 4 ---- */

/* SRC:pytorch_24: masks e0 e1 e2 e3 with at most two non-zeros, and their metadata. */
static const struct {
  bool e[4];
  uint8_t nibble;
} masks[] = {{{0, 0, 0, 0}, 0xe}, {{1, 0, 0, 0}, 0xc}, {{0, 1, 0, 0}, 0xd}, {{1, 1, 0, 0}, 0x4},
             {{0, 0, 1, 0}, 0xe}, {{1, 0, 1, 0}, 0x8}, {{0, 1, 1, 0}, 0x9}, {{0, 0, 0, 1}, 0xe},
             {{1, 0, 0, 1}, 0xc}, {{0, 1, 0, 1}, 0xd}, {{0, 0, 1, 1}, 0xe}};

static struct tsr_vec_job compress(const float *a, size_t cols, float *d, uint8_t *meta) {
  return (struct tsr_vec_job){.op = TSR_VEC_COMPRESS24,
                              .rows = 1,
                              .cols = cols,
                              .a = {a, fmt("fp32"), cols},
                              .d = d,
                              .d_format = fmt("fp32"),
                              .ldd = cols,
                              .meta = meta};
}

static void few_non_zeros_have_the_places_of_the_table(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(masks); i++) {
    float a[4], d[2];
    uint8_t meta = 0xff;
    for (int k = 0; k < 4; k++) a[k] = masks[i].e[k] ? (float)(k + 2) : k % 2 ? -0.0f : 0.0f;
    struct tsr_vec_job q = compress(a, 4, d, &meta);
    struct tsr_vec_stats s = {0};
    tsr_vec_run(&q, NULL, &s);
    assert_int_equal(meta, masks[i].nibble);
    assert_int_equal(s.dropped, 0);
    assert_true(d[0] == a[meta & 3] && d[1] == a[meta >> 2 & 3]);
  }
}

/* Brute force: no other pair is better in (larger magnitude, then lower place). */
static void the_two_largest_stay(void **state) {
  (void)state;
  static const float values[] = {0, -0.0f, 1, -1, 2, -2, 3, INFINITY, -INFINITY, NAN};
  for (unsigned n = 0; n < 10000; n++) {
    float a[4], d[2];
    uint8_t meta = 0;
    for (unsigned k = 0, m = n; k < 4; k++, m /= 10) a[k] = values[m % 10];
    struct tsr_vec_job q = compress(a, 4, d, &meta);
    struct tsr_vec_stats s = {0};
    tsr_vec_run(&q, NULL, &s);
    unsigned i0 = meta & 3, i1 = meta >> 2, non_zero = 0;
    assert_true(i0 < i1 && i1 < 4);
    for (unsigned k = 0; k < 4; k++) non_zero += a[k] != 0;
    assert_int_equal(s.dropped, non_zero > 2 ? non_zero - 2 : 0);
    for (unsigned k = 0; k < 4; k++) {
      if (k == i0 || k == i1 || a[k] == 0) continue;
      for (unsigned j = 0; j < 2; j++) { /* what stays is not below what goes */
        unsigned p = j ? i1 : i0;
        float x = isnan(a[p]) ? INFINITY : fabsf(a[p]),
              y = isnan(a[k]) ? INFINITY : fabsf(a[k]);
        int rank = isnan(a[p]) - isnan(a[k]);
        assert_true(rank > 0 || (rank == 0 && (x > y || (x == y && p < k))));
      }
    }
    if (!isnan(d[0]) && !isnan(d[1])) assert_true(d[0] == a[i0] && d[1] == a[i1]);
  }
}

static void groups_pack_into_bytes_and_the_last_is_filled(void **state) {
  (void)state;
  static const float a[] = {1, 2, 3, 4, 0, 5, 0, -6, 7, 8, 9}; /* 2 groups and 3 elements */
  static const float want[] = {3, 4, 5, -6, 8, 9};
  float d[8] = {0};
  uint8_t meta[3] = {0xff, 0xff, 0xff};
  struct tsr_vec_job q = compress(a, 11, d, meta);
  struct tsr_vec_stats s = {0};
  tsr_vec_run(&q, NULL, &s);
  for (size_t i = 0; i < LEN(want); i++) assert_true(d[i] == want[i]);
  assert_int_equal(meta[0], 0xde); /* 2, 3 and 1, 3 */
  assert_int_equal(meta[1], 0x09); /* 1, 2 */
  assert_int_equal(meta[2], 0xff);
  assert_int_equal(s.dropped, 3);
  assert_int_equal(s.elements, 6);
}

/* ---- what operators are made of ---- */

/* softmax of a row as rowmax, subexp, rowsum, div: sums to 1, and equals the definition. */
static void softmax_is_four_operations(void **state) {
  (void)state;
  enum { N = 33 };
  float x[N], e[N], max, sum;
  long double total = 0;
  for (int i = 0; i < N; i++) x[i] = (float)((i * 37) % 20) - 8.25f;
  struct tsr_vec_job q = {.op = TSR_VEC_ROWMAX,
                          .rows = 1,
                          .cols = N,
                          .a = {x, fmt("fp32"), N},
                          .d = &max,
                          .d_format = fmt("fp32"),
                          .ldd = 1,
                          .first = true,
                          .lanes = 8};
  tsr_vec_run(&q, NULL, NULL);
  q.op = TSR_VEC_SUBEXP;
  q.b = (struct tsr_vec_in){&max, fmt("fp32"), 1};
  q.spread = TSR_VEC_COL;
  q.d = e;
  q.ldd = N;
  tsr_vec_run(&q, NULL, NULL);
  q.op = TSR_VEC_ROWSUM;
  q.a.codes = e;
  q.d = &sum;
  tsr_vec_run(&q, NULL, NULL);
  q.op = TSR_VEC_DIV;
  q.b.codes = &sum;
  q.d = e; /* in place */
  tsr_vec_run(&q, NULL, NULL);
  for (int i = 0; i < N; i++) total += expl(x[i] - 10.75L);
  for (int i = 0; i < N; i++) {
    long double want = expl(x[i] - 10.75L) / total;
    assert_true(fabsl(e[i] - want) <= want * 4 * 0x1p-24L);
  }
  assert_true(max == 10.75f);
}

/* Overlapping windows of an image in NHWC, 3 x 3, stride 2: by a job for each row of the
 * window, and by one job with the places of its elements. */
static void a_pool_over_two_axes(void **state) {
  (void)state;
  enum { W = 7, C = 3, OUT = 3 };
  static const size_t places[9] = {0,
                                   C,
                                   2 * C,
                                   W * C,
                                   W * C + C,
                                   W * C + 2 * C,
                                   2 * W * C,
                                   2 * W * C + C,
                                   2 * W * C + 2 * C};
  float img[3 * W * C], d[OUT * C], at_once[OUT * C];
  for (int i = 0; i < 3 * W * C; i++) img[i] = (float)((i * 29) % 61) - 60;
  struct tsr_vec_job q = {.op = TSR_VEC_POOLMAX,
                          .rows = OUT,
                          .cols = C,
                          .a = {img, fmt("fp32"), 2 * C},
                          .d = at_once,
                          .d_format = fmt("fp32"),
                          .ldd = C,
                          .window = 9,
                          .window_at = places,
                          .first = true};
  tsr_vec_run(&q, NULL, NULL);
  q.d = d;
  q.window = 3;
  q.window_at = NULL;
  q.window_ld = C;
  for (int y = 0; y < 3; y++) {
    q.a.codes = img + y * W * C;
    q.first = y == 0;
    tsr_vec_run(&q, NULL, NULL);
  }
  for (int o = 0; o < OUT; o++)
    for (int c = 0; c < C; c++) {
      float want = -100;
      for (int y = 0; y < 3; y++)
        for (int x = 0; x < 3; x++) want = fmaxf(want, img[(y * W + 2 * o + x) * C + c]);
      assert_true(d[o * C + c] == want && at_once[o * C + c] == want);
    }
}

static void rows_of_the_table_are_sane(void **state) {
  (void)state;
  for (unsigned i = 0; i < TSR_VEC_N_; i++) {
    const struct tsr_vec_info *v = tsr_vec_info(i);
    assert_true(v && *v->name && *v->doc);
    assert_int_equal(tsr_vec_find(v->name), i); /* no name twice */
    bool two = v->kind == TSR_VEC_BINARY || strncmp(v->name, "rope", 4) == 0;
    assert_int_equal(v->sources, two ? 2 : 1);
  }
  assert_null(tsr_vec_info(TSR_VEC_N_));
  assert_int_equal(tsr_vec_find("nothing"), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_the_table_are_sane),
      cmocka_unit_test(every_operation_equals_its_formula),
      cmocka_unit_test(every_narrow_operand),
      cmocka_unit_test(lanes_decide_the_order_of_a_sum),
      cmocka_unit_test(what_d_holds_enters_as_an_operand),
      cmocka_unit_test(the_datapath_is_as_wide_as_the_formats),
      cmocka_unit_test(subnormals_flush_where_told),
      cmocka_unit_test(events_stay_with_their_result),
      cmocka_unit_test(nothing_to_reduce_gives_the_neutral_element),
      cmocka_unit_test(hand_made_rows),
      cmocka_unit_test(few_non_zeros_have_the_places_of_the_table),
      cmocka_unit_test(the_two_largest_stay),
      cmocka_unit_test(groups_pack_into_bytes_and_the_last_is_filled),
      cmocka_unit_test(softmax_is_four_operations),
      cmocka_unit_test(a_pool_over_two_axes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
