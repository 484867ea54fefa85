#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "machine.h"
#include "sim/base/mem.h"
#include "workloads/translate/view.h"

/* One operator under way. */
struct run {
  const struct tsr_op *op;
  const double *a, *b;
  uint64_t n_a, n_b;
  double *c, *columns; /* columns: of topk */
};

/* ---- operands ---- */

/* Element e of an operand as an element of the value, -1: fill; straight from view.h's words.
 */
static int64_t place(const struct tsr_view *v, uint64_t e) {
  uint64_t i[TSR_VIEW_RANK];
  for (unsigned d = v->rank; d-- > 0; e /= v->dim[d]) i[d] = e % v->dim[d];
  int64_t at = 0;
  for (unsigned d = 0; d < v->src_rank; d++) {
    int64_t j = v->base[d];
    for (unsigned k = 0; k < v->rank; k++) j += v->coef[d][k] * (int64_t)i[k];
    if (v->table[d]) {
      if (j < 0 || (uint64_t)j >= v->n_table[d]) return -1;
      j = v->table[d][j];
    }
    if (j < 0 || (uint64_t)j >= v->extent[d]) return -1;
    at = at * (int64_t)v->extent[d] + j;
  }
  return at;
}

static double *take(const struct tsr_op *op, const struct tsr_operand_view *o, uint64_t elems,
                    double *const *values) {
  if (elems == 0) return NULL;
  double *x = tsr_mem_array(elems, sizeof *x);
  assert_non_null(x);
  uint64_t width = 0, from = 0;
  for (unsigned p = 0; p < o->n_parts; p++) width += o->cols[p];
  if (o->n_parts == 0) fail_msg("'%s': an operand is not bound", op->name);
  if (o->rows * width != elems)
    fail_msg("'%s': operand of %llu x %llu, not %llu elements", op->name,
             (unsigned long long)o->rows, (unsigned long long)width, (unsigned long long)elems);
  for (unsigned p = 0; p < o->n_parts; from += o->cols[p++]) {
    const struct tsr_view *v = &o->part[p];
    assert_int_equal(tsr_view_elems(v), o->rows * o->cols[p]);
    const double *value = v->value == SIZE_MAX ? NULL : values[v->value];
    for (uint64_t e = 0; e < tsr_view_elems(v); e++) {
      int64_t at = v->value == SIZE_MAX ? -1 : place(v, e);
      if (at >= 0 && !value)
        fail_msg("'%s' reads value %zu, which has no elements", op->name, v->value);
      x[e / o->cols[p] * width + from + e % o->cols[p]] = at < 0 ? v->fill : value[at];
    }
  }
  return x;
}

/* A result as the format holds it: whole numbers saturate. */
static double held(const char *format, double v) {
  static const struct {
    const char *name;
    double low, high;
  } whole[] = {{"int8", -128, 127},
               {"uint8", 0, 255},
               {"int16", -32768, 32767},
               {"int32", -2147483648.0, 2147483647.0}};
  for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
    if (strcmp(whole[i].name, format) == 0)
      return fmin(fmax(rint(v), whole[i].low), whole[i].high);
  return v;
}

static void put(const struct tsr_op *op, const struct tsr_view *v, uint64_t elems,
                const double *x, const char *format, double *const *values) {
  assert_int_equal(tsr_view_elems(v), elems);
  if (!values[v->value]) fail_msg("'%s' writes value %zu, which is none", op->name, v->value);
  for (uint64_t e = 0; e < elems; e++) {
    int64_t at = place(v, e);
    if (at < 0) fail_msg("'%s' writes outside its value", op->name);
    values[v->value][at] = held(format, x[e]);
  }
}

/* ---- single elements ---- */

static double one(enum tsr_op_kind kind, double a, double alpha, double beta) {
  switch (kind) {
  case TSR_OP_RELU: return a > 0 ? a : 0;
  case TSR_OP_GELU: return a / 2 * (1 + erf(a / sqrt(2)));
  case TSR_OP_GELU_TANH:
    return a / 2 * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (a + 0.044715 * a * a * a)));
  case TSR_OP_SILU: return a / (1 + exp(-a));
  case TSR_OP_SIGMOID: return 1 / (1 + exp(-a));
  case TSR_OP_TANH: return tanh(a);
  case TSR_OP_HARDSWISH: return a * fmin(fmax(a + 3, 0), 6) / 6;
  case TSR_OP_HARDSIGMOID: return fmin(fmax(a / 6 + 0.5, 0), 1);
  case TSR_OP_EXP: return exp(a);
  case TSR_OP_LOG: return log(a);
  case TSR_OP_ERF: return erf(a);
  case TSR_OP_SQRT: return sqrt(a);
  case TSR_OP_RSQRT: return 1 / sqrt(a);
  case TSR_OP_RECIP: return 1 / a;
  case TSR_OP_SQUARE: return a * a;
  case TSR_OP_ABS: return fabs(a);
  case TSR_OP_NEG: return -a;
  case TSR_OP_COPY: return a;
  case TSR_OP_LEAKY_RELU: return a > 0 ? a : alpha * a;
  case TSR_OP_ELU: return a > 0 ? a : alpha * expm1(a);
  case TSR_OP_SELU: return a > 0 ? beta * a : beta * alpha * expm1(a);
  case TSR_OP_CELU: return a > 0 ? a : alpha * expm1(a / alpha);
  case TSR_OP_SOFTPLUS: return log1p(exp(a));
  case TSR_OP_SOFTSIGN: return a / (1 + fabs(a));
  case TSR_OP_FLOOR: return floor(a);
  case TSR_OP_CEIL: return ceil(a);
  case TSR_OP_ROUND: return rint(a);
  case TSR_OP_SIGN: return (a > 0) - (a < 0);
  case TSR_OP_SIN: return sin(a);
  case TSR_OP_COS: return cos(a);
  case TSR_OP_NOT: return a == 0;
  case TSR_OP_AFFINE: return a * alpha + beta;
  case TSR_OP_CLIP: return fmin(fmax(a, alpha), beta);
  default: fail_msg("'%s' is no operator on one element", tsr_op_kind_name(kind)); return 0;
  }
}

static double two(enum tsr_op_kind kind, double a, double b, double b2, double zero,
                  const char *format) {
  switch (kind) {
  case TSR_OP_ADD:
  case TSR_OP_BIAS: return a + b;
  case TSR_OP_SUB: return a - b;
  case TSR_OP_MUL: return a * b;
  case TSR_OP_DIV: return a / b;
  case TSR_OP_MAX: return fmax(a, b);
  case TSR_OP_MIN: return fmin(a, b);
  case TSR_OP_BATCHNORM: return a * b + b2;
  case TSR_OP_QUANTISE: return *format ? held(format, rint(a / b) + zero) : a / b;
  case TSR_OP_DEQUANTISE: return (a - zero) * b;
  case TSR_OP_LESS: return a < b;
  case TSR_OP_LESS_EQUAL: return a <= b;
  case TSR_OP_GREATER: return a > b;
  case TSR_OP_GREATER_EQUAL: return a >= b;
  case TSR_OP_EQUAL: return a == b;
  case TSR_OP_KEEP: return b != 0 ? a : 0;
  case TSR_OP_POW: return pow(a, b);
  case TSR_OP_MOD: return a - b * floor(a / b);
  case TSR_OP_FMOD: return fmod(a, b);
  case TSR_OP_PRELU: return a > 0 ? a : a * b;
  default: fail_msg("'%s' is no operator on two elements", tsr_op_kind_name(kind)); return 0;
  }
}

/* Where the second operand's element of product (or repetition) g, row r, column c lies, and,
 * of two rows, how far behind it the second. */
static uint64_t second(const struct tsr_op *op, enum tsr_op_kind kind, enum tsr_with with,
                       uint64_t g, uint64_t r, uint64_t c, uint64_t at) {
  enum tsr_op_shape shape = tsr_op_kind_info(kind)->b;
  if (shape == TSR_SHAPE_N) with = TSR_WITH_ROW;
  /* Rows of a step are one for all products each: [row][g][n]. */
  if (shape == TSR_SHAPE_N2) return g * (op->n_steps ? 1 : 2) * op->n + c;
  switch (with) {
  case TSR_WITH_FULL: return at;
  case TSR_WITH_ROW: return g * op->n + c;
  case TSR_WITH_COL: return g * op->m + r;
  default: return g;
  }
}

static double element(const struct tsr_op *op, enum tsr_op_kind kind, enum tsr_with with,
                      const struct tsr_op_attr *t, double a, const double *b, uint64_t g,
                      uint64_t r, uint64_t c, uint64_t at) {
  if (!b) return one(kind, a, t->alpha, t->beta);
  uint64_t i = second(op, kind, with, g, r, c, at);
  bool pair = tsr_op_kind_info(kind)->b == TSR_SHAPE_N2;
  return two(kind, a, b[i], pair ? b[i + op->n * (op->n_steps ? op->count : 1)] : 0, t->zero,
             op->format_out);
}

static void run_elements(struct run *x) {
  const struct tsr_op *op = x->op;
  for (uint64_t g = 0, at = 0; g < op->count; g++)
    for (uint64_t r = 0; r < op->m; r++)
      for (uint64_t c = 0; c < op->n; c++, at++)
        x->c[at] = element(op, op->kind, op->attr.with, &op->attr, x->a[at], x->b, g, r, c, at);
}

/* ---- rows ---- */

static double fold(enum tsr_op_kind kind, const double *a, uint64_t n) {
  double s = kind == TSR_OP_ROWPROD  ? 1
             : kind == TSR_OP_ROWMAX ? -(double)INFINITY
             : kind == TSR_OP_ROWMIN ? (double)INFINITY
                                     : 0;
  for (uint64_t i = 0; i < n; i++) switch (kind) {
    case TSR_OP_ROWMAX: s = fmax(s, a[i]); break;
    case TSR_OP_ROWMIN: s = fmin(s, a[i]); break;
    case TSR_OP_ROWABSMAX: s = fmax(s, fabs(a[i])); break;
    case TSR_OP_ROWPROD: s *= a[i]; break;
    case TSR_OP_ROWSUMSQ: s += a[i] * a[i]; break;
    default: s += a[i]; break;
    }
  return kind == TSR_OP_ROWMEAN ? s / (double)n : s;
}

static void soft(const struct tsr_op *op, const double *a, double *c) {
  double most = fold(TSR_OP_ROWMAX, a, op->n), sum = 0;
  for (uint64_t i = 0; i < op->n; i++) sum += exp(a[i] - most);
  for (uint64_t i = 0; i < op->n; i++)
    c[i] = op->kind == TSR_OP_SOFTMAX ? exp(a[i] - most) / sum : a[i] - most - log(sum);
}

static void centred(const struct tsr_op *op, const double *a, const double *b, double *c) {
  uint64_t n = op->n;
  bool rms = op->kind == TSR_OP_RMSNORM;
  double mean = rms ? 0 : fold(TSR_OP_ROWMEAN, a, n), square = 0;
  for (uint64_t i = 0; i < n; i++) square += (a[i] - mean) * (a[i] - mean);
  double scale = 1 / sqrt(square / (double)n + op->attr.eps);
  for (uint64_t i = 0; i < n; i++) {
    c[i] = (a[i] - mean) * scale;
    if (b) c[i] = c[i] * b[i] + (rms ? 0 : b[n + i]);
  }
}

static void largest(const struct tsr_op *op, const double *a, double *c, double *columns) {
  bool *taken = tsr_mem_array(op->n, sizeof *taken);
  assert_non_null(taken);
  for (uint64_t k = 0; k < op->k; k++) {
    uint64_t best = op->n;
    for (uint64_t i = 0; i < op->n; i++)
      if (!taken[i] && (best == op->n || a[i] > a[best])) best = i;
    taken[best] = true;
    c[k] = a[best];
    columns[k] = (double)best;
  }
  tsr_mem_free(taken);
}

static void run_rows(struct run *x) {
  const struct tsr_op *op = x->op;
  for (uint64_t r = 0; r < op->m * op->count; r++) {
    const double *a = x->a + r * op->n;
    uint64_t g = r / op->m;
    switch (op->kind) {
    case TSR_OP_SOFTMAX:
    case TSR_OP_LOG_SOFTMAX: soft(op, a, x->c + r * op->n); break;
    case TSR_OP_LAYERNORM: centred(op, a, x->b + g * 2 * op->n, x->c + r * op->n); break;
    case TSR_OP_RMSNORM: centred(op, a, x->b + g * op->n, x->c + r * op->n); break;
    case TSR_OP_NORMALISE: centred(op, a, NULL, x->c + r * op->n); break;
    case TSR_OP_TOPK: largest(op, a, x->c + r * op->k, x->columns + r * op->k); break;
    default: x->c[r] = fold(op->kind, a, op->n); break;
    }
  }
}

/* ---- windows and products ---- */

/* The input of row r (a place of the result) under tap (kh, kw), or false. */
static bool under(const struct tsr_conv *v, uint64_t r, uint64_t kh, uint64_t kw,
                  uint64_t *at) {
  uint64_t ow = r % v->out_w, oh = r / v->out_w % v->out_h, b = r / v->out_w / v->out_h;
  int64_t h = (int64_t)(oh * v->stride_h + kh * v->dil_h) - (int64_t)v->pad_t;
  int64_t w = (int64_t)(ow * v->stride_w + kw * v->dil_w) - (int64_t)v->pad_l;
  if (h < 0 || w < 0 || h >= (int64_t)v->in_h || w >= (int64_t)v->in_w) return false;
  *at = ((b * v->in_h + (uint64_t)h) * v->in_w + (uint64_t)w) * v->in_c;
  return true;
}

static void run_windows(struct run *x) {
  const struct tsr_op *op = x->op;
  const struct tsr_conv *v = &op->conv;
  bool most = op->kind == TSR_OP_MAXPOOL || op->kind == TSR_OP_GLOBAL_MAXPOOL;
  for (uint64_t r = 0; r < op->m; r++)
    for (uint64_t c = 0; c < op->n; c++) {
      double s = most ? -(double)INFINITY : 0;
      for (uint64_t k = 0; k < op->k; k++) {
        uint64_t at;
        if (!under(v, r, k / v->k_w, k % v->k_w, &at)) continue;
        s = most ? fmax(s, x->a[at + c]) : s + x->a[at + c];
      }
      x->c[r * op->n + c] = most ? s : s / (double)op->k;
    }
}

static double dot(const struct run *x, uint64_t g, uint64_t r, uint64_t c) {
  const struct tsr_op *op = x->op;
  const struct tsr_conv *v = &op->conv;
  double s = 0;
  for (uint64_t k = 0; k < op->k; k++) {
    double b = x->b[(g * op->k + k) * op->n + c];
    uint64_t at = (g * op->m + r) * op->k + k;
    if (op->has_conv) {
      uint64_t each = v->in_c / v->groups, tap = k / each;
      if (!under(v, r, tap / v->k_w, tap % v->k_w, &at)) continue;
      at += g * each + k % each;
    }
    s += x->a[at] * b;
  }
  return s;
}

/* Products, then their epilogue. Results of a convolution are NHWC, others one product behind
 * the other. */
static void run_products(struct run *x, double *const *steps) {
  const struct tsr_op *op = x->op;
  for (uint64_t g = 0; g < op->count; g++)
    for (uint64_t r = 0; r < op->m; r++)
      for (uint64_t c = 0; c < op->n; c++) {
        uint64_t at =
            op->has_conv ? (r * op->count + g) * op->n + c : (g * op->m + r) * op->n + c;
        double y = dot(x, g, r, c);
        for (size_t i = 0; i < op->n_steps; i++) {
          const struct tsr_op_step *p = &op->step[i];
          struct tsr_op_attr t = {.alpha = p->alpha, .beta = p->beta, .zero = p->zero};
          y = element(op, p->kind, p->with, &t, y, steps[i], g, r, c, at);
        }
        x->c[at] = y;
      }
}

/* ---- moves ---- */

static uint64_t row_at(const struct tsr_op *op, double i) {
  if (!(i >= 0 && i < (double)op->attr.table && i == floor(i)))
    fail_msg("'%s': no row %g", op->name, i);
  return (uint64_t)i;
}

static void run_moves(struct run *x) {
  const struct tsr_op *op = x->op;
  uint64_t m = op->m, n = op->n, k = op->k, table = op->attr.table;
  for (uint64_t g = 0; g < op->count; g++)
    for (uint64_t r = 0; r < m; r++)
      for (uint64_t c = 0; c < n; c++) {
        uint64_t at = (g * m + r) * n + c;
        if (op->kind == TSR_OP_TRANSPOSE)
          x->c[(g * n + c) * m + r] = x->a[at];
        else if (op->kind == TSR_OP_COPY || op->kind == TSR_OP_CONCAT)
          x->c[at] = x->a[at];
        else if (op->kind == TSR_OP_GATHER)
          x->c[at] = x->a[(g * table + row_at(op, x->b[g * m + r])) * n + c];
        else if (op->kind == TSR_OP_GATHER_COLS)
          x->c[at] = x->a[(g * m + r) * table + row_at(op, x->b[g * n + c])];
        else if (op->kind == TSR_OP_EMBEDDING)
          for (uint64_t i = 0; i < k; i++)
            x->c[at] += x->b[(g * table + row_at(op, x->a[(g * m + r) * k + i])) * n + c];
        else
          fail_msg("'%s' (%s) is not known here", op->name, tsr_op_kind_name(op->kind));
      }
}

/* ---- all ---- */

static void run_one(const struct tsr_op *op, const struct tsr_op_binding *b,
                    double *const *values) {
  uint64_t n_a, n_b, n_c;
  assert_true(tsr_op_elems(op, &n_a, &n_b, &n_c));
  struct run x = {.op = op, .n_a = n_a, .n_b = n_b};
  double *a = take(op, &b->a, n_a, values), *second_operand = take(op, &b->b, n_b, values);
  double *steps[TSR_EPILOGUE_MAX] = {NULL};
  for (size_t i = 0; i < op->n_steps; i++) {
    uint64_t e;
    assert_true(tsr_op_step_elems(op, i, &e));
    steps[i] = take(op, &b->step[i], e, values);
  }
  x.a = a;
  x.b = second_operand;
  x.c = tsr_mem_array(n_c, sizeof *x.c);
  x.columns = tsr_mem_array(n_c, sizeof *x.columns);
  assert_true(x.c && x.columns);
  switch (tsr_op_kind_info(op->kind)->cls) {
  case TSR_CLASS_MATMUL:
  case TSR_CLASS_CONV: run_products(&x, steps); break;
  case TSR_CLASS_ROWWISE: run_rows(&x); break;
  case TSR_CLASS_ELEMENTWISE: run_elements(&x); break;
  case TSR_CLASS_WINDOW: run_windows(&x); break;
  default: run_moves(&x); break;
  }
  assert_true(b->has_out);
  put(op, &b->out, n_c, x.c, op->format_out, values);
  if (b->has_out2) put(op, &b->out2, n_c, x.columns, "int32", values);
  for (size_t i = 0; i < op->n_steps; i++) tsr_mem_free(steps[i]);
  tsr_mem_free(a);
  tsr_mem_free(second_operand);
  tsr_mem_free(x.c);
  tsr_mem_free(x.columns);
}

void machine_run(const struct tsr_graph *g, double *const *values) {
  for (size_t i = 0; i < g->n_ops; i++) {
    assert_int_equal(g->bindings[i].net, 0);
    run_one(&g->ops[i], &g->bindings[i], values);
  }
}
