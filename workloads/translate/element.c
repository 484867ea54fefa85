/* Operators that work element by element. */
#include <float.h>
#include <math.h> /* INFINITY, fabs, isfinite */
#include <string.h>

#include "workloads/translate/translate_int.h"

#define KIND(id) (&(const enum tsr_op_kind){TSR_OP_##id})

static enum tsr_op_kind kind_of(const void *arg) {
  return *(const enum tsr_op_kind *)arg;
}

/* A value of the type and shape of `like` for what stands between. */
static enum tsr_status temp_like(struct tsri_tr *t, const char *what, size_t like,
                                 size_t *out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, like);
  return tsri_tr_temp(t, what, s.type, s.rank, s.dim, out);
}
static enum tsr_status bool_like(struct tsri_tr *t, const char *what, size_t like,
                                 size_t *out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, like);
  return tsri_tr_temp(t, what, TSR_DTYPE_BOOL, s.rank, s.dim, out);
}

/* ---- one operand ---- */

static enum tsr_status unary(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  return tsri_tr_unary(t, NULL, kind_of(arg), NULL, n->in[0], n->out[0]);
}

/* Kinds with numbers: the attributes that hold them and what they are when absent. */
struct numbers {
  enum tsr_op_kind kind;
  const char *alpha, *beta;
  double alpha_absent, beta_absent;
};

static enum tsr_status with_numbers(struct tsri_tr *t, const struct tsr_net_node *n,
                                    const void *arg) {
  const struct numbers *w = arg;
  struct tsr_op_attr a = {.alpha = tsr_net_attr_float(n, w->alpha, w->alpha_absent)};
  if (w->beta) a.beta = tsr_net_attr_float(n, w->beta, w->beta_absent);
  return tsri_tr_unary(t, NULL, w->kind, &a, n->in[0], n->out[0]);
}

static enum tsr_status gelu(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  (void)arg;
  bool by_tanh = strcmp(tsr_net_attr_text(n, "approximate", "none"), "tanh") == 0;
  return tsri_tr_unary(t, NULL, by_tanh ? TSR_OP_GELU_TANH : TSR_OP_GELU, NULL, n->in[0],
                       n->out[0]);
}

static enum tsr_status hard_sigmoid(struct tsri_tr *t, const struct tsr_net_node *n,
                                    const void *arg) {
  (void)arg;
  struct tsr_op_attr line = {.alpha = tsr_net_attr_float(n, "alpha", 0.2),
                             .beta = tsr_net_attr_float(n, "beta", 0.5)};
  if (fabs(line.alpha - 1.0 / 6) < 1e-8 && line.beta == 0.5)
    return tsri_tr_unary(t, NULL, TSR_OP_HARDSIGMOID, NULL, n->in[0], n->out[0]);
  size_t x = SIZE_MAX;
  struct tsr_op_attr within = {.alpha = 0, .beta = 1};
  enum tsr_status s = temp_like(t, "line", n->in[0], &x);
  if (!s) s = tsri_tr_unary(t, "line", TSR_OP_AFFINE, &line, n->in[0], x);
  return s ? s : tsri_tr_unary(t, "clip", TSR_OP_CLIP, &within, x, n->out[0]);
}

static enum tsr_status thresholded_relu(struct tsri_tr *t, const struct tsr_net_node *n,
                                        const void *arg) {
  (void)arg;
  size_t above = SIZE_MAX;
  enum tsr_status s = bool_like(t, "above", n->in[0], &above);
  if (!s)
    s = tsri_tr_with_number(t, "above", TSR_OP_GREATER, n->in[0],
                            tsr_net_attr_float(n, "alpha", 1.0), above);
  return s ? s : tsri_tr_binary(t, "keep", TSR_OP_KEEP, n->in[0], above, n->out[0]);
}

static enum tsr_status mish(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  (void)arg;
  size_t soft = SIZE_MAX, tanh = SIZE_MAX;
  enum tsr_status s = temp_like(t, "softplus", n->in[0], &soft);
  if (!s) s = temp_like(t, "tanh", n->in[0], &tanh);
  if (!s) s = tsri_tr_unary(t, "softplus", TSR_OP_SOFTPLUS, NULL, n->in[0], soft);
  if (!s) s = tsri_tr_unary(t, "tanh", TSR_OP_TANH, NULL, soft, tanh);
  return s ? s : tsri_tr_binary(t, "mul", TSR_OP_MUL, n->in[0], tanh, n->out[0]);
}

static enum tsr_status is_nan(struct tsri_tr *t, const struct tsr_net_node *n,
                              const void *arg) {
  (void)arg;
  size_t same = SIZE_MAX;
  enum tsr_status s = bool_like(t, "same", n->in[0], &same);
  if (!s) s = tsri_tr_binary(t, "same", TSR_OP_EQUAL, n->in[0], n->in[0], same);
  return s ? s : tsri_tr_unary(t, "not", TSR_OP_NOT, NULL, same, n->out[0]);
}

static enum tsr_status is_inf(struct tsri_tr *t, const struct tsr_net_node *n,
                              const void *arg) {
  (void)arg;
  bool plus = tsr_net_attr_int(n, "detect_positive", 1) != 0;
  bool minus = tsr_net_attr_int(n, "detect_negative", 1) != 0;
  size_t x = n->in[0];
  if (plus && minus) {
    enum tsr_status s = temp_like(t, "abs", n->in[0], &x);
    if (!s) s = tsri_tr_unary(t, "abs", TSR_OP_ABS, NULL, n->in[0], x);
    if (s) return s;
  }
  /* Neither: nothing is below minus infinity. */
  return tsri_tr_with_number(t, plus || minus ? "equal" : "never",
                             plus || minus ? TSR_OP_EQUAL : TSR_OP_LESS, x,
                             plus ? (double)INFINITY : (double)-INFINITY, n->out[0]);
}

/* A bound of Clip: attribute before opset 11, input since. */
struct bound {
  bool given, fixed;
  double v;
  size_t value;
};

static struct bound bound_of(const struct tsri_tr *t, const struct tsr_net_node *n,
                             const char *name, size_t input, double none) {
  struct bound b = {.fixed = true, .v = none, .value = tsri_tr_in(n, input)};
  const struct tsr_array *c = tsri_tr_constant(t, b.value);
  b.given = b.value != SIZE_MAX || tsr_net_attr(n, name);
  b.fixed = b.value == SIZE_MAX || c;
  if (c)
    b.v = tsr_array_get(c, 0);
  else if (b.value == SIZE_MAX)
    b.v = tsr_net_attr_float(n, name, none);
  if (fabs(b.v) > (double)FLT_MAX) b.v = b.v < 0 ? (double)-INFINITY : (double)INFINITY;
  return b;
}

static enum tsr_status clip(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  (void)arg;
  struct bound low = bound_of(t, n, "min", 1, (double)-INFINITY);
  struct bound high = bound_of(t, n, "max", 2, (double)INFINITY);
  if (!low.given && !high.given) return tsri_tr_alias(t, n->in[0], n->out[0]);
  if (low.fixed && high.fixed) {
    struct tsr_op_attr a = {.alpha = low.v, .beta = high.v};
    return tsri_tr_unary(t, NULL, TSR_OP_CLIP, &a, n->in[0], n->out[0]);
  }
  size_t x = n->in[0], to = n->out[0];
  enum tsr_status s = TSR_OK;
  if (low.given) {
    if (high.given) s = temp_like(t, "max", n->in[0], &to);
    if (!s) s = tsri_tr_binary(t, "max", TSR_OP_MAX, x, low.value, to);
    x = to;
  }
  if (s || !high.given) return s;
  return tsri_tr_binary(t, "min", TSR_OP_MIN, x, high.value, n->out[0]);
}

/* ---- types ---- */

/* What is left of x / y by the sign of x, taken off x: `to` = y * trunc(x / y). */
static enum tsr_status cut(struct tsri_tr *t, size_t x, size_t rest, size_t to) {
  return tsri_tr_binary(t, "whole", TSR_OP_SUB, x, rest, to);
}

static enum tsr_status truncate(struct tsri_tr *t, size_t x, size_t out) {
  size_t rest = SIZE_MAX;
  enum tsr_status s = temp_like(t, "fraction", x, &rest);
  if (!s) s = tsri_tr_with_number(t, "fraction", TSR_OP_FMOD, x, 1, rest);
  return s ? s : cut(t, x, rest, out);
}

static enum tsr_status cast(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  (void)arg;
  enum tsr_dtype from = tsri_tr_shape_of(t, n->in[0]).type;
  enum tsr_dtype to = tsri_tr_shape_of(t, n->out[0]).type;
  bool whole = !tsr_dtype_is_float(from);
  if (from == to ||
      (to != TSR_DTYPE_BOOL && strcmp(tsri_tr_format(from), tsri_tr_format(to)) == 0))
    return tsri_tr_alias(t, n->in[0], n->out[0]);
  if (to == TSR_DTYPE_BOOL) {
    size_t zero = SIZE_MAX;
    enum tsr_status s = bool_like(t, "zero", n->in[0], &zero);
    if (!s) s = tsri_tr_unary(t, "zero", TSR_OP_NOT, NULL, n->in[0], zero);
    return s ? s : tsri_tr_unary(t, "not", TSR_OP_NOT, NULL, zero, n->out[0]);
  }
  if (!whole && !tsr_dtype_is_float(to)) return truncate(t, n->in[0], n->out[0]);
  return tsri_tr_unary(t, NULL, TSR_OP_COPY, NULL, n->in[0], n->out[0]);
}

/* ---- two operands ---- */

/* The second operand as it meets the first: models before opset 7 say along which axis, and
 * the slopes of their PRelu are by channel. */
static enum tsr_status second(struct tsri_tr *t, const struct tsr_net_node *n, size_t *out) {
  enum { OPSET_NUMPY = 7 };
  const struct tsri_tr_shape a = tsri_tr_shape_of(t, n->in[0]),
                             b = tsri_tr_shape_of(t, n->in[1]);
  uint64_t dim[TSR_RANK_MAX];
  unsigned rank = b.rank;
  int64_t axis = -1;
  *out = n->in[1];
  if (t->net->opset >= OPSET_NUMPY || !b.rank || b.rank > a.rank) return TSR_OK;
  if (n->op == TSR_NET_PRELU)
    axis = b.n != 1 && b.rank == 1 && a.rank > 1 ? 1 : -1;
  else if (tsr_net_attr_int(n, "broadcast", 0) && tsr_net_attr(n, "axis"))
    axis = tsr_net_attr_int(n, "axis", 0) + (tsr_net_attr_int(n, "axis", 0) < 0 ? a.rank : 0);
  if (axis < 0) return TSR_OK;
  for (unsigned d = 0; d < b.rank; d++) dim[d] = b.dim[d];
  while ((uint64_t)axis + rank < a.rank) dim[rank++] = 1;
  return tsri_tr_reshaped(t, n->in[1], rank, dim, out);
}

static enum tsr_status binary(struct tsri_tr *t, const struct tsr_net_node *n,
                              const void *arg) {
  size_t b;
  enum tsr_status s = second(t, n, &b);
  return s ? s : tsri_tr_binary(t, NULL, kind_of(arg), n->in[0], b, n->out[0]);
}

/* Integers are divided towards zero. */
static enum tsr_status divide(struct tsri_tr *t, const struct tsr_net_node *n,
                              const void *arg) {
  if (tsr_dtype_is_float(tsri_tr_shape_of(t, n->out[0]).type)) return binary(t, n, arg);
  size_t rest = SIZE_MAX, whole = SIZE_MAX, b = SIZE_MAX;
  enum tsr_status s = second(t, n, &b);
  if (!s) s = temp_like(t, "rest", n->out[0], &rest);
  if (!s) s = temp_like(t, "whole", n->out[0], &whole);
  if (!s) s = tsri_tr_binary(t, "rest", TSR_OP_FMOD, n->in[0], b, rest);
  if (!s) s = cut(t, n->in[0], rest, whole);
  return s ? s : tsri_tr_binary(t, "div", TSR_OP_DIV, whole, b, n->out[0]);
}

static enum tsr_status modulo(struct tsri_tr *t, const struct tsr_net_node *n,
                              const void *arg) {
  (void)arg;
  bool c_like = tsr_net_attr_int(n, "fmod", 0) != 0;
  return binary(t, n, c_like ? KIND(FMOD) : KIND(MOD));
}

static enum tsr_status exclusive_or(struct tsri_tr *t, const struct tsr_net_node *n,
                                    const void *arg) {
  (void)arg;
  size_t same = SIZE_MAX;
  enum tsr_status s = temp_like(t, "same", n->out[0], &same);
  if (!s) s = tsri_tr_binary(t, "same", TSR_OP_EQUAL, n->in[0], n->in[1], same);
  return s ? s : tsri_tr_unary(t, "not", TSR_OP_NOT, NULL, same, n->out[0]);
}

/* ---- more operands ---- */

/* The first input that has the shape of the result, or 0. */
static size_t widest(const struct tsri_tr *t, const struct tsr_net_node *n) {
  uint64_t want = tsri_tr_shape_of(t, n->out[0]).n;
  for (size_t i = 0; i < n->n_in; i++)
    if (tsri_tr_shape_of(t, n->in[i]).n == want) return i;
  return 0;
}

static enum tsr_status chain(struct tsri_tr *t, const struct tsr_net_node *n,
                             enum tsr_op_kind kind, size_t out) {
  size_t from = widest(t, n), x = n->in[from], left = n->n_in - 1;
  for (size_t i = 0; i < n->n_in; i++) {
    if (i == from) continue;
    size_t to = out;
    enum tsr_status s = --left ? temp_like(t, "part", n->out[0], &to) : TSR_OK;
    bool plain = !left && from == 0 && i == 1 && out == n->out[0];
    if (!s) s = tsri_tr_binary(t, plain ? NULL : tsr_op_kind_name(kind), kind, x, n->in[i], to);
    if (s) return s;
    x = to;
  }
  return TSR_OK;
}

static enum tsr_status variadic(struct tsri_tr *t, const struct tsr_net_node *n,
                                const void *arg) {
  if (n->n_in == 1) return tsri_tr_alias(t, n->in[0], n->out[0]);
  return chain(t, n, kind_of(arg), n->out[0]);
}

static enum tsr_status mean(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  (void)arg;
  if (n->n_in == 1) return tsri_tr_alias(t, n->in[0], n->out[0]);
  size_t sum = SIZE_MAX;
  struct tsr_op_attr share = {.alpha = 1.0 / (double)n->n_in};
  enum tsr_status s = temp_like(t, "sum", n->out[0], &sum);
  if (!s) s = chain(t, n, TSR_OP_ADD, sum);
  return s ? s : tsri_tr_unary(t, "share", TSR_OP_AFFINE, &share, sum, n->out[0]);
}

/* One side of Where: v where c is not 0, else 0, in the shape of the result.  A finite number
 * is a factor of c. */
static enum tsr_status side(struct tsri_tr *t, const char *what, size_t c, size_t v,
                            size_t out) {
  const struct tsr_array *k = tsri_tr_constant(t, v);
  bool c_is_full = tsri_tr_shape_of(t, c).n == tsri_tr_shape_of(t, out).n;
  if (k && k->n == 1 && isfinite(tsr_array_get(k, 0)) && c_is_full)
    return tsri_tr_binary(t, what, TSR_OP_MUL, c, v, out);
  return tsri_tr_binary(t, what, TSR_OP_KEEP, v, c, out);
}

static bool is_zero(const struct tsri_tr *t, size_t v) {
  const struct tsr_array *k = tsri_tr_constant(t, v);
  return k && k->n == 1 && tsr_array_get(k, 0) == 0;
}

static enum tsr_status where(struct tsri_tr *t, const struct tsr_net_node *n, const void *arg) {
  (void)arg;
  size_t c = n->in[0], x = n->in[1], y = n->in[2], out = n->out[0];
  if (is_zero(t, y)) return side(t, NULL, c, x, out);
  size_t other = SIZE_MAX, kept[2] = {SIZE_MAX, SIZE_MAX};
  enum tsr_status s = bool_like(t, "else", c, &other);
  if (!s) s = tsri_tr_unary(t, "else", TSR_OP_NOT, NULL, c, other);
  if (s || is_zero(t, x)) return s ? s : side(t, "no", other, y, out);
  for (unsigned i = 0; !s && i < 2; i++) s = temp_like(t, i ? "no" : "yes", out, &kept[i]);
  if (!s) s = side(t, "yes", c, x, kept[0]);
  if (!s) s = side(t, "no", other, y, kept[1]);
  return s ? s : tsri_tr_binary(t, "either", TSR_OP_ADD, kept[0], kept[1], out);
}

#define NUMBERS(...) (&(const struct numbers){__VA_ARGS__})
/* Defaults: SRC:onnx_operators. */
const struct tsri_tr_row tsri_tr_element_rows[] = {
    {"Relu", unary, KIND(RELU)},
    {"LeakyRelu", with_numbers, NUMBERS(TSR_OP_LEAKY_RELU, "alpha", NULL, 0.01, 0)},
    {"Elu", with_numbers, NUMBERS(TSR_OP_ELU, "alpha", NULL, 1, 0)},
    {"Selu", with_numbers,
     NUMBERS(TSR_OP_SELU, "alpha", "gamma", 1.67326319217681884765625,
             1.05070102214813232421875)},
    {"Celu", with_numbers, NUMBERS(TSR_OP_CELU, "alpha", NULL, 1, 0)},
    {"ThresholdedRelu", thresholded_relu, NULL},
    {"Softplus", unary, KIND(SOFTPLUS)},
    {"Softsign", unary, KIND(SOFTSIGN)},
    {"Mish", mish, NULL},
    {"Sigmoid", unary, KIND(SIGMOID)},
    {"HardSigmoid", hard_sigmoid, NULL},
    {"HardSwish", unary, KIND(HARDSWISH)},
    {"Tanh", unary, KIND(TANH)},
    {"Gelu", gelu, NULL},
    {"Erf", unary, KIND(ERF)},
    {"Exp", unary, KIND(EXP)},
    {"Log", unary, KIND(LOG)},
    {"Sqrt", unary, KIND(SQRT)},
    {"Reciprocal", unary, KIND(RECIP)},
    {"Abs", unary, KIND(ABS)},
    {"Neg", unary, KIND(NEG)},
    {"Sign", unary, KIND(SIGN)},
    {"Floor", unary, KIND(FLOOR)},
    {"Ceil", unary, KIND(CEIL)},
    {"Round", unary, KIND(ROUND)},
    {"Sin", unary, KIND(SIN)},
    {"Cos", unary, KIND(COS)},
    {"Not", unary, KIND(NOT)},
    {"IsNaN", is_nan, NULL},
    {"IsInf", is_inf, NULL},
    {"Clip", clip, NULL},
    {"Cast", cast, NULL},
    {"CastLike", cast, NULL},
    {"PRelu", binary, KIND(PRELU)},
    {"Add", binary, KIND(ADD)},
    {"Sub", binary, KIND(SUB)},
    {"Mul", binary, KIND(MUL)},
    {"Div", divide, KIND(DIV)},
    {"Pow", binary, KIND(POW)},
    {"Mod", modulo, NULL},
    {"Min", variadic, KIND(MIN)},
    {"Max", variadic, KIND(MAX)},
    {"Sum", variadic, KIND(ADD)},
    {"Mean", mean, NULL},
    {"Equal", binary, KIND(EQUAL)},
    {"Less", binary, KIND(LESS)},
    {"LessOrEqual", binary, KIND(LESS_EQUAL)},
    {"Greater", binary, KIND(GREATER)},
    {"GreaterOrEqual", binary, KIND(GREATER_EQUAL)},
    {"And", binary, KIND(MIN)},
    {"Or", binary, KIND(MAX)},
    {"Xor", exclusive_or, NULL},
    {"Where", where, NULL},
    {NULL, NULL, NULL},
};
