/* One operand, element by element (SRC:onnx_operators). */
#include <math.h>
#include <string.h>

#include "kernels/ref/vector.h"
#include "workloads/net/net_int.h"
#include "workloads/net/operand_int.h"

#define FAIL(c, ...) tsri_fail((c)->net, (c)->node, (c)->err, __VA_ARGS__)

/* ---- functions of a number and two attributes ---- */

typedef double unary_fn(double x, double a, double b);

static double relu(double x, double a, double b) {
  (void)a, (void)b;
  return x < 0 ? 0 : x; /* NaN stays */
}
static double leaky_relu(double x, double a, double b) {
  (void)b;
  return x < 0 ? a * x : x;
}
static double thresholded(double x, double a, double b) {
  (void)b;
  return x > a || isnan(x) ? x : 0;
}
static double softsign(double x, double a, double b) {
  (void)a, (void)b;
  return x / (1 + fabs(x));
}
static double mish(double x, double a, double b) {
  (void)a, (void)b;
  return x < -800 ? -0.0 : x * tsr_ref_tanh(tsr_ref_softplus(x));
}
static double within01(double x) {
  return x < 0 ? 0 : x > 1 ? 1 : x;
}
static double hard_sigmoid(double x, double a, double b) {
  return within01(a * x + b);
}
static double hard_swish(double x, double a, double b) {
  (void)a, (void)b;
  return x * within01(x / 6 + 0.5);
}
static double reciprocal(double x, double a, double b) {
  (void)a, (void)b;
  return 1 / x;
}
static double absolute(double x, double a, double b) {
  (void)a, (void)b;
  return fabs(x);
}
static double negative(double x, double a, double b) {
  (void)a, (void)b;
  return -x;
}
static double sign(double x, double a, double b) {
  (void)a, (void)b;
  return isnan(x) ? x : (double)((x > 0) - (x < 0));
}
static double down(double x, double a, double b) {
  (void)a, (void)b;
  return floor(x);
}
static double up(double x, double a, double b) {
  (void)a, (void)b;
  return ceil(x);
}
static double to_even(double x, double a, double b) {
  (void)a, (void)b;
  return nearbyint(x);
}
static double root(double x, double a, double b) {
  (void)a, (void)b;
  return sqrt(x);
}

/* ---- the table ---- */

/* One of fn, of the oracle's function of a number, of its functions with two numbers. */
struct unary {
  bool ints; /* integers too */
  unary_fn *fn;
  const char *plain, *numbers;
  const char *name_a, *name_b;
  double a, b; /* where the attributes are not given */
};
/* Numbers of Selu as the operator's text has them, which are those of f32. */
#define SELU_ALPHA 1.67326319217681884765625
#define SELU_GAMMA 1.05070102214813232421875

static const struct unary UNARY[TSR_NET_OP_COUNT_] = {
    [TSR_NET_RELU] = {.ints = true, .fn = relu},
    [TSR_NET_LEAKY_RELU] = {.fn = leaky_relu, .name_a = "alpha", .a = 0.01},
    [TSR_NET_ELU] = {.numbers = "elu", .name_a = "alpha", .a = 1},
    [TSR_NET_SELU] = {.numbers = "selu",
                      .name_a = "alpha",
                      .a = SELU_ALPHA,
                      .name_b = "gamma",
                      .b = SELU_GAMMA},
    [TSR_NET_CELU] = {.numbers = "celu", .name_a = "alpha", .a = 1},
    [TSR_NET_THRESHOLDED_RELU] = {.fn = thresholded, .name_a = "alpha", .a = 1},
    [TSR_NET_SOFTPLUS] = {.plain = "softplus"},
    [TSR_NET_SOFTSIGN] = {.fn = softsign},
    [TSR_NET_MISH] = {.fn = mish},
    [TSR_NET_SIGMOID] = {.plain = "sigmoid"},
    [TSR_NET_HARD_SIGMOID] =
        {.fn = hard_sigmoid, .name_a = "alpha", .a = 0.2, .name_b = "beta", .b = 0.5},
    [TSR_NET_HARD_SWISH] = {.fn = hard_swish},
    [TSR_NET_TANH] = {.plain = "tanh"},
    [TSR_NET_GELU] = {.plain = "gelu"},
    [TSR_NET_ERF] = {.plain = "erf"},
    [TSR_NET_EXP] = {.plain = "exp"},
    [TSR_NET_LOG] = {.plain = "log"},
    [TSR_NET_SQRT] = {.fn = root},
    [TSR_NET_RECIPROCAL] = {.fn = reciprocal},
    [TSR_NET_ABS] = {.ints = true, .fn = absolute},
    [TSR_NET_NEG] = {.ints = true, .fn = negative},
    [TSR_NET_SIGN] = {.ints = true, .fn = sign},
    [TSR_NET_FLOOR] = {.fn = down},
    [TSR_NET_CEIL] = {.fn = up},
    [TSR_NET_ROUND] = {.fn = to_even},
    [TSR_NET_SIN] = {.plain = "sin"},
    [TSR_NET_COS] = {.plain = "cos"},
};

/* gelu, or its approximation. */
static const char *plain_name(const struct tsr_net_node *n, const struct unary *u) {
  if (n->op != TSR_NET_GELU) return u->plain;
  const char *how = tsr_net_attr_text(n, "approximate", "none");
  return strcmp(how, "tanh") == 0 ? "gelu_tanh" : strcmp(how, "none") == 0 ? u->plain : NULL;
}

enum tsr_status tsri_infer_unary(struct tsri_infer *c) {
  const struct unary *u = &UNARY[c->node->op];
  enum tsr_status s = u->ints ? tsri_want_number(c, 0) : tsri_want_float(c, 0);
  if (s) return s;
  if (u->plain && !plain_name(c->node, u))
    return FAIL(c, "'approximate' is unknown; expected none or tanh, got '%s'",
                tsr_net_attr_text(c->node, "approximate", ""));
  if (c->node->op == TSR_NET_CELU && tsr_net_attr_float(c->node, "alpha", 1) == 0)
    return FAIL(c, "'alpha' is 0; expected any other number");
  return tsri_set_like(c, 0, 0);
}

static int64_t unary_int(enum tsr_net_op op, enum tsr_dtype t, int64_t v) {
  bool minus = v < 0 && t != TSR_DTYPE_U64;
  switch (op) {
  case TSR_NET_RELU: return minus ? 0 : v;
  case TSR_NET_ABS: return minus ? (int64_t)(0 - (uint64_t)v) : v;
  case TSR_NET_SIGN: return minus ? -1 : v != 0;
  default: return (int64_t)(0 - (uint64_t)v);
  }
}

enum tsr_status tsri_eval_unary(struct tsri_eval *c) {
  const struct tsr_net_node *n = c->node;
  const struct unary *u = &UNARY[n->op];
  const struct tsr_array *x = c->in[0];
  struct tsr_array *y = c->out[0];
  if (!y) return TSR_OK;
  if (x->i) {
    for (uint64_t k = 0; k < x->n; k++)
      y->i[k] = tsr_dtype_wrap(y->type, unary_int(n->op, x->type, x->i[k]));
    return TSR_OK;
  }
  double a = u->name_a ? tsr_net_attr_float(n, u->name_a, u->a) : 0;
  double b = u->name_b ? tsr_net_attr_float(n, u->name_b, u->b) : 0;
  if (u->plain) {
    tsr_ref_unary_fn *fn = tsr_ref_unary(plain_name(n, u));
    for (uint64_t k = 0; k < x->n; k++) y->f[k] = fn(x->f[k]);
    return TSR_OK;
  }
  unary_fn *fn = u->numbers ? tsr_ref_numbers(u->numbers) : u->fn;
  for (uint64_t k = 0; k < x->n; k++) y->f[k] = fn(x->f[k], a, b);
  return TSR_OK;
}

/* ---- questions ---- */

enum tsr_status tsri_infer_not(struct tsri_infer *c) {
  static const enum tsr_dtype types[] = {TSR_DTYPE_BOOL, TSR_DTYPE_NONE};
  enum tsr_status s = tsri_want_types(c, 0, types);
  return s ? s : tsri_set_like(c, 0, 0);
}

enum tsr_status tsri_eval_not(struct tsri_eval *c) {
  for (uint64_t k = 0; c->out[0] && k < c->in[0]->n; k++) c->out[0]->i[k] = !c->in[0]->i[k];
  return TSR_OK;
}

static enum tsr_status infer_question(struct tsri_infer *c) {
  enum tsr_status s = tsri_want_float(c, 0);
  return s ? s : tsri_set(c, 0, TSR_DTYPE_BOOL, c->in[0]->rank, c->in[0]->dim);
}

enum tsr_status tsri_infer_is_nan(struct tsri_infer *c) {
  return infer_question(c);
}

enum tsr_status tsri_eval_is_nan(struct tsri_eval *c) {
  for (uint64_t k = 0; c->out[0] && k < c->in[0]->n; k++)
    c->out[0]->i[k] = isnan(c->in[0]->f[k]);
  return TSR_OK;
}

enum tsr_status tsri_infer_is_inf(struct tsri_infer *c) {
  return infer_question(c);
}

enum tsr_status tsri_eval_is_inf(struct tsri_eval *c) {
  bool plus = tsr_net_attr_int(c->node, "detect_positive", 1) != 0;
  bool minus = tsr_net_attr_int(c->node, "detect_negative", 1) != 0;
  for (uint64_t k = 0; c->out[0] && k < c->in[0]->n; k++) {
    double v = c->in[0]->f[k];
    c->out[0]->i[k] = isinf(v) && (v > 0 ? plus : minus);
  }
  return TSR_OK;
}

/* ---- bounds ---- */

static enum tsr_status want_one(struct tsri_infer *c, size_t i) {
  const struct tsr_net_value *v = tsri_in(c, i);
  if (!v || v->rank == 0 || (v->rank == 1 && v->dim[0] == 1)) return TSR_OK;
  return FAIL(c, "input %zu ('%s') is no single number", i, v->name);
}

enum tsr_status tsri_infer_clip(struct tsri_infer *c) {
  enum tsr_status s = tsri_want_number(c, 0);
  for (size_t i = 1; !s && i < c->node->n_in; i++) {
    s = want_one(c, i);
    if (!s) s = tsri_want_type_of(c, i, 0);
  }
  return s ? s : tsri_set_like(c, 0, 0);
}

static void clip_ints(struct tsri_eval *c, const struct tsr_array *low,
                      const struct tsr_array *high) {
  enum tsr_dtype t = c->in[0]->type;
  for (uint64_t k = 0; k < c->in[0]->n; k++) {
    int64_t v = c->in[0]->i[k];
    if (low && tsri_order_key(t, v) < tsri_order_key(t, low->i[0])) v = low->i[0];
    if (high && tsri_order_key(t, v) > tsri_order_key(t, high->i[0])) v = high->i[0];
    c->out[0]->i[k] = v;
  }
}

enum tsr_status tsri_eval_clip(struct tsri_eval *c) {
  const struct tsr_array *x = c->in[0], *low = tsri_arg(c, 1), *high = tsri_arg(c, 2);
  if (!c->out[0]) return TSR_OK;
  if (x->i) {
    clip_ints(c, low, high);
    return TSR_OK;
  }
  double from = low ? low->f[0] : tsr_net_attr_float(c->node, "min", -INFINITY);
  double to = high ? high->f[0] : tsr_net_attr_float(c->node, "max", INFINITY);
  for (uint64_t k = 0; k < x->n; k++) {
    double v = x->f[k] < from ? from : x->f[k];
    c->out[0]->f[k] = v > to ? to : v;
  }
  return TSR_OK;
}

/* ---- types ---- */

enum tsr_status tsri_infer_cast(struct tsri_infer *c) {
  const struct tsr_net_value *like = tsri_in(c, 1);
  int64_t to = like ? (int64_t)like->type : tsr_net_attr_int(c->node, "to", 0);
  bool known = to > 0 && to < TSR_DTYPE_N_ && tsr_dtype_bytes((enum tsr_dtype)to) > 0;
  if (!known)
    return FAIL(c,
                "'to' names a type that is not supported; expected the number of a float, "
                "integer or bool, got '%lld'",
                (long long)to);
  return tsri_set(c, 0, (enum tsr_dtype)to, c->in[0]->rank, c->in[0]->dim);
}

static bool rounds(enum tsr_dtype from, enum tsr_dtype to) {
  if (!tsr_dtype_is_float(from)) return to != TSR_DTYPE_F64;
  return to != from && tsr_dtype_bytes(to) <= tsr_dtype_bytes(from);
}

static void cast_to_float(const struct tsr_array *x, struct tsr_array *y) {
  bool round = rounds(x->type, y->type);
  for (uint64_t k = 0; k < x->n; k++) {
    double v = tsr_array_get(x, k);
    y->f[k] = round ? tsr_dtype_round(y->type, v) : v;
  }
}

/* Towards zero; bool: what is not 0. */
static void cast_to_int(const struct tsr_array *x, struct tsr_array *y) {
  for (uint64_t k = 0; k < x->n; k++) {
    if (y->type == TSR_DTYPE_BOOL) {
      y->i[k] = x->f ? x->f[k] != 0 : x->i[k] != 0;
    } else if (x->i) {
      y->i[k] = tsr_dtype_wrap(y->type, x->i[k]);
    } else {
      tsr_array_set(y, k, trunc(x->f[k]));
    }
  }
}

enum tsr_status tsri_eval_cast(struct tsri_eval *c) {
  if (!c->out[0]) return TSR_OK;
  if (c->out[0]->f) {
    cast_to_float(c->in[0], c->out[0]);
  } else {
    cast_to_int(c->in[0], c->out[0]);
  }
  return TSR_OK;
}
