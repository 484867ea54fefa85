/* Several operands, broadcast, element by element (SRC:onnx_operators; broadcasting as numpy's,
 * before opset 7 by attributes `broadcast` and `axis`). */
#include <math.h>
#include <string.h>

#include "kernels/ref/vector.h"
#include "workloads/net/net_int.h"
#include "workloads/net/operand_int.h"

#define FAIL(c, ...) tsri_fail((c)->net, (c)->node, (c)->err, __VA_ARGS__)
enum { OPSET_NUMPY = 7 };

/* ---- shapes ---- */

/* The shape of an operand as it meets the others. */
struct shape {
  unsigned rank;
  uint64_t dim[TSR_RANK_MAX];
};

static struct shape shape_of(const struct tsr_net_value *v) {
  struct shape s = {.rank = v->rank};
  for (unsigned d = 0; d < v->rank; d++) s.dim[d] = v->dim[d];
  return s;
}

/* b as if dimensions of 1 stood behind it, so that its first meets `axis` of a. */
static enum tsr_status meet_at(const struct tsri_infer *c, const struct shape *a, int64_t axis,
                               struct shape *b) {
  if (axis < 0) axis += a->rank;
  if (axis < 0 || (uint64_t)axis + b->rank > a->rank)
    return FAIL(c, "'axis' is out of range; expected 0 to %d, got '%lld'",
                (int)a->rank - (int)b->rank, (long long)axis);
  while ((uint64_t)axis + b->rank < a->rank) b->dim[b->rank++] = 1;
  return TSR_OK;
}

static bool is_one(const struct shape *s) {
  for (unsigned d = 0; d < s->rank; d++)
    if (s->dim[d] != 1) return false;
  return true;
}

/* The slope of old PRelu models is a list by channel. */
static enum tsr_status meet_old(const struct tsri_infer *c, const struct shape *a,
                                struct shape *b) {
  enum tsr_net_op op = c->node->op;
  if (op == TSR_NET_PRELU)
    return b->rank == 1 && !is_one(b) && a->rank > 1 ? meet_at(c, a, 1, b) : TSR_OK;
  const struct tsr_net_attr *axis = tsr_net_attr(c->node, "axis");
  if (tsr_net_attr_int(c->node, "broadcast", 0) && axis && b->rank)
    return meet_at(c, a, axis->i, b);
  return TSR_OK;
}

/* Operand i as it meets the others. */
static enum tsr_status operand(const struct tsri_infer *c, size_t i, struct shape *out) {
  *out = shape_of(c->in[i]);
  if (c->net->opset >= OPSET_NUMPY || i == 0) return TSR_OK;
  struct shape first = shape_of(c->in[0]);
  return meet_old(c, &first, out);
}

/* Broadcasts all inputs. */
static enum tsr_status meet_all(const struct tsri_infer *c, struct shape *out) {
  enum tsr_status s = operand(c, 0, out);
  for (size_t i = 1; !s && i < c->node->n_in; i++) {
    struct shape b;
    s = operand(c, i, &b);
    if (s || tsri_broadcast(&out->rank, out->dim, b.rank, b.dim)) continue;
    return FAIL(c,
                "input %zu ('%s') does not fit the others; expected dimensions that are equal "
                "or 1 against %s, got '%s'",
                i, c->in[i]->name, tsri_net_shape_text(out->rank, out->dim).s,
                tsri_net_shape_text(c->in[i]->rank, c->in[i]->dim).s);
  }
  return s;
}

/* Output 0 of the type and the shape that all inputs make together. */
static enum tsr_status set_together(struct tsri_infer *c, enum tsr_dtype type) {
  struct shape out;
  enum tsr_status s = meet_all(c, &out);
  return s ? s : tsri_set(c, 0, type, out.rank, out.dim);
}

/* Steps of input i over the output. */
static enum tsr_status steps(const struct tsri_eval *c, size_t i, uint64_t *stride) {
  struct shape b;
  enum tsr_status s = operand(c->shape, i, &b);
  if (s) return s;
  struct tsr_array as = {.rank = b.rank};
  for (unsigned d = 0; d < b.rank; d++) as.dim[d] = b.dim[d];
  tsri_strides_to(&as, c->out[0]->rank, c->out[0]->dim, stride);
  return TSR_OK;
}

/* A walk over the output and inputs first .. first + n - 1. *any: there is something to do. */
static enum tsr_status walk_over(const struct tsri_eval *c, size_t first, unsigned n,
                                 struct tsri_walk *w, bool *any) {
  uint64_t stride[TSRI_WALK][TSR_RANK_MAX];
  const struct tsr_array *y = c->out[0];
  tsri_strides(y->rank, y->dim, stride[0]);
  for (unsigned k = 0; k < n; k++) {
    enum tsr_status s = steps(c, first + k, stride[1 + k]);
    if (s) return s;
  }
  *any = tsri_net_walk_init(w, y->rank, y->dim, n + 1, (const uint64_t(*)[TSR_RANK_MAX])stride);
  return TSR_OK;
}

/* ---- two numbers ---- */

enum tsr_status tsri_infer_binary(struct tsri_infer *c) {
  enum tsr_status s = tsri_want_number(c, 0);
  if (!s) s = tsri_want_number(c, 1);
  if (!s && c->node->op != TSR_NET_POW) s = tsri_want_type_of(c, 1, 0);
  if (s) return s;
  bool floats = tsr_dtype_is_float(c->in[0]->type);
  if (c->node->op == TSR_NET_MOD && floats && tsr_net_attr_int(c->node, "fmod", 0) == 0)
    return FAIL(c, "the remainder of floats needs 'fmod'; expected 1, got '0'");
  return set_together(c, c->in[0]->type);
}

/* y[k] = f(a[k], b[k]) over n elements with steps of a and b. */
typedef void float_run(const double *a, uint64_t sa, const double *b, uint64_t sb, double *y,
                       uint64_t n);
#define FLOAT_RUN(name, expression)                                                       \
  static void name(const double *a, uint64_t sa, const double *b, uint64_t sb, double *y, \
                   uint64_t n) {                                                          \
    for (uint64_t k = 0; k < n; k++, a += sa, b += sb) y[k] = (expression);               \
  }
FLOAT_RUN(run_add, *a + *b)
FLOAT_RUN(run_sub, *a - *b)
FLOAT_RUN(run_mul, *a **b)
FLOAT_RUN(run_div, *a / *b)
FLOAT_RUN(run_fmod, fmod(*a, *b)) /* exact, so the same everywhere */
FLOAT_RUN(run_pow, *b == 2 ? *a * *a : *b == 1 ? *a : tsr_ref_pow(*a, *b))
FLOAT_RUN(run_max, *a > *b || *a != *a ? *a : *b)
FLOAT_RUN(run_min, *a < *b || *a != *a ? *a : *b)
FLOAT_RUN(run_prelu, *a < 0 ? *a * *b : *a)

static float_run *float_run_of(enum tsr_net_op op) {
  switch (op) {
  case TSR_NET_ADD:
  case TSR_NET_SUM:
  case TSR_NET_MEAN: return run_add;
  case TSR_NET_SUB: return run_sub;
  case TSR_NET_MUL: return run_mul;
  case TSR_NET_DIV: return run_div;
  case TSR_NET_MOD: return run_fmod;
  case TSR_NET_POW: return run_pow;
  case TSR_NET_MAX: return run_max;
  case TSR_NET_MIN: return run_min;
  default: return run_prelu;
  }
}

static int64_t divide(enum tsr_dtype t, int64_t a, int64_t b) {
  if (t == TSR_DTYPE_U64) return (int64_t)((uint64_t)a / (uint64_t)b);
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

/* Of the sign of b, or (like_c) of a. */
static int64_t remainder_of(enum tsr_dtype t, int64_t a, int64_t b, bool like_c) {
  if (t == TSR_DTYPE_U64) return (int64_t)((uint64_t)a % (uint64_t)b);
  if (b == -1) return 0;
  int64_t r = a % b;
  return !like_c && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t power(enum tsr_dtype t, int64_t a, int64_t b) {
  if (b < 0 && t != TSR_DTYPE_U64) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  uint64_t r = 1, base = (uint64_t)a;
  for (uint64_t e = (uint64_t)b; e; e >>= 1, base *= base)
    if (e & 1) r *= base;
  return (int64_t)r;
}

static int64_t int_of(const struct tsri_eval *c, int64_t a, int64_t b) {
  enum tsr_dtype t = c->in[0]->type;
  bool less = tsri_order_key(t, a) < tsri_order_key(t, b);
  switch (c->node->op) {
  case TSR_NET_ADD:
  case TSR_NET_SUM: return (int64_t)((uint64_t)a + (uint64_t)b);
  case TSR_NET_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
  case TSR_NET_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
  case TSR_NET_DIV: return divide(t, a, b);
  case TSR_NET_MOD: return remainder_of(t, a, b, tsr_net_attr_int(c->node, "fmod", 0) != 0);
  case TSR_NET_POW: return power(c->in[1]->type, a, b);
  case TSR_NET_MAX: return less ? b : a;
  default: return less ? a : b;
  }
}

static enum tsr_status no_zeros(const struct tsri_eval *c) {
  for (uint64_t k = 0; k < c->in[1]->n; k++)
    if (c->in[1]->i[k] == 0) return FAIL(c, "divides integers by zero");
  return TSR_OK;
}

/* Powers whose exponent is of another kind than the base. */
static void mixed_power(const struct tsri_eval *c, struct tsri_walk *w) {
  const struct tsr_array *a = c->in[0], *b = c->in[1];
  do {
    for (uint64_t k = 0; k < w->n_inner; k++) {
      double v = tsr_ref_pow(tsr_array_get(a, w->at[1] + k * w->step[1]),
                             tsr_array_get(b, w->at[2] + k * w->step[2]));
      tsr_array_set(c->out[0], w->at[0] + k, c->out[0]->i ? trunc(v) : v);
    }
  } while (tsri_net_walk_next(w));
}

static void walk_ints(const struct tsri_eval *c, const int64_t *a, const int64_t *b,
                      struct tsri_walk *w) {
  struct tsr_array *y = c->out[0];
  do {
    for (uint64_t k = 0; k < w->n_inner; k++)
      y->i[w->at[0] + k] = tsr_dtype_wrap(
          y->type, int_of(c, a[w->at[1] + k * w->step[1]], b[w->at[2] + k * w->step[2]]));
  } while (tsri_net_walk_next(w));
}

static void walk_floats(const struct tsri_eval *c, struct tsri_walk *w) {
  float_run *run = float_run_of(c->node->op);
  do {
    run(c->in[0]->f + w->at[1], w->step[1], c->in[1]->f + w->at[2], w->step[2],
        c->out[0]->f + w->at[0], w->n_inner);
  } while (tsri_net_walk_next(w));
}

enum tsr_status tsri_eval_binary(struct tsri_eval *c) {
  struct tsri_walk w;
  bool any;
  if (!c->out[0]) return TSR_OK;
  enum tsr_net_op op = c->node->op;
  enum tsr_status s = walk_over(c, 0, 2, &w, &any);
  if (!s && any && c->in[1]->i && (op == TSR_NET_DIV || op == TSR_NET_MOD)) s = no_zeros(c);
  if (s || !any) return s;
  if (!c->in[0]->f != !c->in[1]->f) {
    mixed_power(c, &w);
  } else if (c->in[0]->f) {
    walk_floats(c, &w);
  } else {
    walk_ints(c, c->in[0]->i, c->in[1]->i, &w);
  }
  return TSR_OK;
}

enum tsr_status tsri_infer_prelu(struct tsri_infer *c) {
  enum tsr_status s = tsri_want_float(c, 0);
  if (!s) s = tsri_want_type_of(c, 1, 0);
  struct shape out;
  if (!s) s = meet_all(c, &out);
  if (s) return s;
  bool same = out.rank == c->in[0]->rank;
  for (unsigned d = 0; same && d < out.rank; d++) same = out.dim[d] == c->in[0]->dim[d];
  if (!same) return FAIL(c, "the slope '%s' is larger than what it multiplies", c->in[1]->name);
  return tsri_set_like(c, 0, 0);
}

enum tsr_status tsri_eval_prelu(struct tsri_eval *c) {
  return tsri_eval_binary(c);
}

/* ---- any number of operands ---- */

enum tsr_status tsri_infer_variadic(struct tsri_infer *c) {
  enum tsr_status s = tsri_want_number(c, 0);
  if (!s && c->node->op == TSR_NET_MEAN) s = tsri_want_float(c, 0);
  for (size_t i = 1; !s && i < c->node->n_in; i++) s = tsri_want_type_of(c, i, 0);
  return s ? s : set_together(c, c->in[0]->type);
}

static void copy_run(const struct tsri_eval *c, const struct tsri_walk *w) {
  for (uint64_t k = 0; k < w->n_inner; k++) {
    uint64_t from = w->at[1] + k * w->step[1];
    if (c->out[0]->f) {
      c->out[0]->f[w->at[0] + k] = c->in[0]->f[from];
    } else {
      c->out[0]->i[w->at[0] + k] = c->in[0]->i[from];
    }
  }
}

/* The result so far with input i. */
static void join_run(const struct tsri_eval *c, size_t i, const struct tsri_walk *w) {
  struct tsr_array *y = c->out[0];
  if (y->f) {
    double *at = y->f + w->at[0];
    float_run_of(c->node->op)(at, 1, c->in[i]->f + w->at[1], w->step[1], at, w->n_inner);
    return;
  }
  int64_t *at = y->i + w->at[0];
  const int64_t *b = c->in[i]->i + w->at[1];
  for (uint64_t k = 0; k < w->n_inner; k++)
    at[k] = tsr_dtype_wrap(y->type, int_of(c, at[k], b[k * w->step[1]]));
}

enum tsr_status tsri_eval_variadic(struct tsri_eval *c) {
  struct tsr_array *y = c->out[0];
  if (!y || y->n == 0) return TSR_OK;
  for (size_t i = 0; i < c->node->n_in; i++) {
    struct tsri_walk w;
    bool any;
    enum tsr_status s = walk_over(c, i, 1, &w, &any);
    if (s) return s;
    do {
      if (i == 0) {
        copy_run(c, &w);
      } else {
        join_run(c, i, &w);
      }
    } while (tsri_net_walk_next(&w));
  }
  if (c->node->op == TSR_NET_MEAN)
    for (uint64_t k = 0; k < y->n; k++) y->f[k] /= (double)c->node->n_in;
  return TSR_OK;
}

/* ---- questions ---- */

enum tsr_status tsri_infer_compare(struct tsri_infer *c) {
  enum tsr_status s = c->node->op == TSR_NET_EQUAL ? TSR_OK : tsri_want_number(c, 0);
  if (!s) s = tsri_want_type_of(c, 1, 0);
  return s ? s : set_together(c, TSR_DTYPE_BOOL);
}

/* order: -1, 0, 1; 2 where one is NaN. */
static bool holds(enum tsr_net_op op, int order) {
  switch (op) {
  case TSR_NET_EQUAL: return order == 0;
  case TSR_NET_LESS: return order == -1;
  case TSR_NET_LESS_OR_EQUAL: return order == -1 || order == 0;
  case TSR_NET_GREATER: return order == 1;
  default: return order == 1 || order == 0;
  }
}

static int order_floats(double a, double b) {
  return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
}

static int order_ints(enum tsr_dtype t, int64_t a, int64_t b) {
  int64_t x = tsri_order_key(t, a), y = tsri_order_key(t, b);
  return x < y ? -1 : x > y;
}

enum tsr_status tsri_eval_compare(struct tsri_eval *c) {
  struct tsri_walk w;
  bool any;
  if (!c->out[0]) return TSR_OK;
  const struct tsr_array *a = c->in[0], *b = c->in[1];
  enum tsr_status s = walk_over(c, 0, 2, &w, &any);
  if (s || !any) return s;
  do {
    for (uint64_t k = 0; k < w.n_inner; k++) {
      uint64_t x = w.at[1] + k * w.step[1], y = w.at[2] + k * w.step[2];
      int order = a->f ? order_floats(a->f[x], b->f[y]) : order_ints(a->type, a->i[x], b->i[y]);
      c->out[0]->i[w.at[0] + k] = holds(c->node->op, order);
    }
  } while (tsri_net_walk_next(&w));
  return TSR_OK;
}

static const enum tsr_dtype BOOLS[] = {TSR_DTYPE_BOOL, TSR_DTYPE_NONE};

enum tsr_status tsri_infer_logic(struct tsri_infer *c) {
  enum tsr_status s = tsri_want_types(c, 0, BOOLS);
  if (!s) s = tsri_want_types(c, 1, BOOLS);
  return s ? s : set_together(c, TSR_DTYPE_BOOL);
}

enum tsr_status tsri_eval_logic(struct tsri_eval *c) {
  struct tsri_walk w;
  bool any;
  if (!c->out[0]) return TSR_OK;
  enum tsr_status s = walk_over(c, 0, 2, &w, &any);
  if (s || !any) return s;
  enum tsr_net_op op = c->node->op;
  do {
    for (uint64_t k = 0; k < w.n_inner; k++) {
      int64_t a = c->in[0]->i[w.at[1] + k * w.step[1]];
      int64_t b = c->in[1]->i[w.at[2] + k * w.step[2]];
      c->out[0]->i[w.at[0] + k] = op == TSR_NET_AND ? a & b : op == TSR_NET_OR ? a | b : a ^ b;
    }
  } while (tsri_net_walk_next(&w));
  return TSR_OK;
}

enum tsr_status tsri_infer_where(struct tsri_infer *c) {
  enum tsr_status s = tsri_want_types(c, 0, BOOLS);
  if (!s) s = tsri_want_type_of(c, 2, 1);
  return s ? s : set_together(c, c->in[1]->type);
}

enum tsr_status tsri_eval_where(struct tsri_eval *c) {
  struct tsri_walk w;
  bool any;
  if (!c->out[0]) return TSR_OK;
  struct tsr_array *y = c->out[0];
  enum tsr_status s = walk_over(c, 0, 3, &w, &any);
  if (s || !any) return s;
  do {
    for (uint64_t k = 0; k < w.n_inner; k++) {
      bool first = c->in[0]->i[w.at[1] + k * w.step[1]] != 0;
      const struct tsr_array *from = c->in[first ? 1 : 2];
      uint64_t at = first ? w.at[2] + k * w.step[2] : w.at[3] + k * w.step[3];
      if (y->f) {
        y->f[w.at[0] + k] = from->f[at];
      } else {
        y->i[w.at[0] + k] = from->i[at];
      }
    }
  } while (tsri_net_walk_next(&w));
  return TSR_OK;
}
