/* Operators of the machine that models spell out in nodes: silu, hardswish, gelu by erf, layer
 * normalisation and its kin without a mean.
 *
 * A pattern is found from its last node back.  The nodes between are left out where nothing
 * else reads them; the last one is lowered as the whole. */
#include <math.h> /* fabs */
#include <string.h>

#include "workloads/translate/translate_int.h"

enum { FACTORS = 4 };

struct search {
  struct tsri_tr *t;
  size_t *uses;       /* by value: readers, and one for an output of the model */
  size_t list[16], n; /* nodes inside the pattern being matched */
};

static enum tsr_net_op op_of(const struct search *s, size_t value) {
  size_t p = value == SIZE_MAX ? SIZE_MAX : s->t->net->values[value].producer;
  if (p == SIZE_MAX || s->t->net->nodes[p].folded || s->t->net->nodes[p].skipped)
    return TSR_NET_UNKNOWN;
  return s->t->net->nodes[p].op;
}

/* The node of this operator that makes the value, if only `uses` read it; it is inside then. */
static const struct tsr_net_node *made_by(struct search *s, size_t value, enum tsr_net_op op,
                                          size_t uses) {
  if (op_of(s, value) != op || s->uses[value] != uses) return NULL;
  size_t at = s->t->net->values[value].producer;
  bool have = false;
  for (size_t i = 0; i < s->n; i++) have = have || s->list[i] == at;
  if (!have && s->n == sizeof s->list / sizeof s->list[0]) return NULL;
  if (!have) s->list[s->n++] = at;
  return &s->t->net->nodes[at];
}

/* The value is a constant of one element near v. */
static bool is_number(const struct search *s, size_t value, double v) {
  const struct tsr_array *c = tsri_tr_constant(s->t, value);
  return c && c->n == 1 && fabs(tsr_array_get(c, 0) - v) <= 1e-6 * fabs(v);
}

static bool same_shape(const struct search *s, size_t a, size_t b) {
  struct tsri_tr_shape x = tsri_tr_shape_of(s->t, a), y = tsri_tr_shape_of(s->t, b);
  return x.rank == y.rank && memcmp(x.dim, y.dim, x.rank * sizeof *x.dim) == 0;
}

/* ---- x * sigmoid(x) ---- */

static bool silu(struct search *s, const struct tsr_net_node *n, struct tsri_tr_whole *w) {
  for (unsigned i = 0; n->op == TSR_NET_MUL && i < 2; i++) {
    s->n = 0;
    const struct tsr_net_node *gate = made_by(s, n->in[i], TSR_NET_SIGMOID, 1);
    if (!gate || gate->in[0] != n->in[1 - i]) continue;
    *w = (struct tsri_tr_whole){.kind = TSR_OP_SILU, .x = gate->in[0]};
    return true;
  }
  return false;
}

/* ---- x * min(max(x + 3, 0), 6) / 6 ---- */

/* A bound of a Clip: input i, or before opset 11 an attribute. */
static bool is_bound(const struct search *s, const struct tsr_net_node *n, size_t i,
                     const char *name, double v) {
  double far = 2 * v + 1, got = tsr_net_attr_float(n, name, far);
  return tsri_tr_in(n, i) == SIZE_MAX ? fabs(got - v) <= 0 : is_number(s, n->in[i], v);
}

/* What v is the part of between 0 and 6, 3 added; SIZE_MAX. */
static size_t clipped_of(struct search *s, size_t v) {
  const struct tsr_net_node *clip = made_by(s, v, TSR_NET_CLIP, 1);
  if (!clip || !is_bound(s, clip, 1, "min", 0) || !is_bound(s, clip, 2, "max", 6))
    return SIZE_MAX;
  const struct tsr_net_node *sum = made_by(s, clip->in[0], TSR_NET_ADD, 1);
  if (!sum) return SIZE_MAX;
  if (is_number(s, sum->in[1], 3)) return sum->in[0];
  return is_number(s, sum->in[0], 3) ? sum->in[1] : SIZE_MAX;
}

/* What is divided by 6 in this node; SIZE_MAX. */
static size_t sixth(const struct search *s, const struct tsr_net_node *n) {
  if (n && n->op == TSR_NET_DIV) return is_number(s, n->in[1], 6) ? n->in[0] : SIZE_MAX;
  if (!n || n->op != TSR_NET_MUL) return SIZE_MAX;
  if (is_number(s, n->in[1], 1.0 / 6)) return n->in[0];
  return is_number(s, n->in[0], 1.0 / 6) ? n->in[1] : SIZE_MAX;
}

/* The node that makes v is Div or Mul, and read once. */
static const struct tsr_net_node *scaling(struct search *s, size_t v) {
  const struct tsr_net_node *n = made_by(s, v, TSR_NET_DIV, 1);
  return n ? n : made_by(s, v, TSR_NET_MUL, 1);
}

static bool hardswish(struct search *s, const struct tsr_net_node *n, struct tsri_tr_whole *w) {
  s->n = 0;
  size_t of = sixth(s, n);
  const struct tsr_net_node *mul = of == SIZE_MAX ? n : made_by(s, of, TSR_NET_MUL, 1);
  if (!mul || mul->op != TSR_NET_MUL) return false;
  size_t mark = s->n;
  for (unsigned i = 0; i < 2; i++) {
    s->n = mark;
    size_t gate = of == SIZE_MAX ? sixth(s, scaling(s, mul->in[i])) : mul->in[i];
    size_t x = gate == SIZE_MAX ? SIZE_MAX : clipped_of(s, gate);
    if (x == SIZE_MAX || x != mul->in[1 - i]) continue;
    *w = (struct tsri_tr_whole){.kind = TSR_OP_HARDSWISH, .x = x};
    return true;
  }
  return false;
}

/* ---- x * 1/2 * (1 + erf(x / sqrt 2)), in any order ---- */

static bool factors(struct search *s, const struct tsr_net_node *n, size_t *f, size_t *count) {
  for (unsigned i = 0; i < 2; i++) {
    const struct tsr_net_node *inner = made_by(s, n->in[i], TSR_NET_MUL, 1);
    if (inner) {
      if (!factors(s, inner, f, count)) return false;
    } else {
      if (*count == FACTORS) return false;
      f[(*count)++] = n->in[i];
    }
  }
  return true;
}

/* What v is the sum of one and the error function of, over sqrt 2; SIZE_MAX. */
static size_t normal_of(struct search *s, size_t v) {
  const double root = 1.4142135623730951;
  const struct tsr_net_node *sum = made_by(s, v, TSR_NET_ADD, 1);
  if (!sum) return SIZE_MAX;
  unsigned one = is_number(s, sum->in[0], 1) ? 0 : 1;
  const struct tsr_net_node *erf = made_by(s, sum->in[1 - one], TSR_NET_ERF, 1);
  if (!erf || !is_number(s, sum->in[one], 1)) return SIZE_MAX;
  const struct tsr_net_node *scaled = made_by(s, erf->in[0], TSR_NET_DIV, 1);
  if (scaled) return is_number(s, scaled->in[1], root) ? scaled->in[0] : SIZE_MAX;
  scaled = made_by(s, erf->in[0], TSR_NET_MUL, 1);
  if (!scaled) return SIZE_MAX;
  if (is_number(s, scaled->in[1], 1 / root)) return scaled->in[0];
  return is_number(s, scaled->in[0], 1 / root) ? scaled->in[1] : SIZE_MAX;
}

static bool gelu(struct search *s, const struct tsr_net_node *n, struct tsri_tr_whole *w) {
  size_t f[FACTORS], count = 0, x = SIZE_MAX;
  bool half = false, alone = false;
  if (n->op != TSR_NET_MUL) return false;
  s->n = 0;
  if (!factors(s, n, f, &count) || count != 3) return false;
  for (size_t i = 0; i < 3 && x == SIZE_MAX; i++) {
    size_t mark = s->n;
    x = normal_of(s, f[i]);
    if (x == SIZE_MAX) s->n = mark;
  }
  for (size_t i = 0; i < 3; i++) {
    half = half || is_number(s, f[i], 0.5);
    alone = alone || (x != SIZE_MAX && f[i] == x);
  }
  if (!half || !alone) return false;
  *w = (struct tsri_tr_whole){.kind = TSR_OP_GELU, .x = x};
  return true;
}

/* ---- (x - mean) / sqrt(mean of its squares + eps) * gain + bias ---- */

/* A mean over the last axis alone, kept as a dimension of 1. */
static bool over_last(const struct search *s, const struct tsr_net_node *mean) {
  unsigned rank = tsri_tr_shape_of(s->t, mean->in[0]).rank, axis = 0;
  size_t have = 0;
  const int64_t *axes = tsr_net_attr_ints(mean, "axes", &have);
  const struct tsr_array *c = tsri_tr_constant(s->t, tsri_tr_in(mean, 1));
  int64_t one = axes && have == 1 ? axes[0] : 0;
  if (!axes && c && c->n == 1) {
    one = tsr_array_get_int(c, 0);
    have = 1;
  }
  return have == 1 && tsr_net_attr_int(mean, "keepdims", 1) && tsr_net_axis(one, rank, &axis) &&
         axis + 1 == rank;
}

/* The value whose squares' mean v is; *uses: how often it is read for them. */
static size_t squared(struct search *s, size_t v, size_t *uses) {
  const struct tsr_net_node *mean = made_by(s, v, TSR_NET_REDUCE_MEAN, 1);
  if (!mean || !over_last(s, mean)) return SIZE_MAX;
  const struct tsr_net_node *square = made_by(s, mean->in[0], TSR_NET_POW, 1);
  *uses = 1;
  if (square) return is_number(s, square->in[1], 2) ? square->in[0] : SIZE_MAX;
  square = made_by(s, mean->in[0], TSR_NET_MUL, 1);
  *uses = 2;
  return square && square->in[0] == square->in[1] ? square->in[0] : SIZE_MAX;
}

/* Normalised rows: sets x and eps. */
static bool normal_rows(struct search *s, size_t v, struct tsri_tr_whole *w) {
  const struct tsr_net_node *ratio = made_by(s, v, TSR_NET_DIV, 1);
  const struct tsr_net_node *root = ratio ? made_by(s, ratio->in[1], TSR_NET_SQRT, 1) : NULL;
  const struct tsr_net_node *sum = root ? made_by(s, root->in[0], TSR_NET_ADD, 1) : NULL;
  if (!sum) return false;
  unsigned at = tsri_tr_constant(s->t, sum->in[0]) ? 0 : 1;
  const struct tsr_array *eps = tsri_tr_constant(s->t, sum->in[at]);
  size_t uses = 0, off = squared(s, sum->in[1 - at], &uses);
  if (!eps || eps->n != 1 || off == SIZE_MAX || off != ratio->in[0]) return false;
  const struct tsr_net_node *less = made_by(s, off, TSR_NET_SUB, uses + 1);
  const struct tsr_net_node *mean =
      less ? made_by(s, less->in[1], TSR_NET_REDUCE_MEAN, 1) : NULL;
  if (!mean || mean->in[0] != less->in[0] || !over_last(s, mean)) return false;
  w->x = less->in[0];
  w->eps = tsr_array_get(eps, 0);
  return w->eps >= 0 && w->eps < 1;
}

/* A constant or parameter of one element for each of the last axis. */
static bool is_row(const struct search *s, size_t value, size_t x) {
  struct tsri_tr_shape v = tsri_tr_shape_of(s->t, value), of = tsri_tr_shape_of(s->t, x);
  return v.rank == 1 && of.rank >= 1 && v.dim[0] == of.dim[of.rank - 1];
}

static bool layer_norm(struct search *s, const struct tsr_net_node *n,
                       struct tsri_tr_whole *w) {
  for (unsigned i = 0; n->op == TSR_NET_ADD && i < 2; i++) {
    s->n = 0;
    *w = (struct tsri_tr_whole){.kind = TSR_OP_LAYERNORM, .bias = n->in[1 - i]};
    const struct tsr_net_node *scaled = made_by(s, n->in[i], TSR_NET_MUL, 1);
    for (unsigned k = 0; scaled && k < 2; k++) {
      size_t mark = s->n;
      w->gain = scaled->in[1 - k];
      if (normal_rows(s, scaled->in[k], w) && is_row(s, w->gain, w->x) &&
          is_row(s, w->bias, w->x))
        return true;
      s->n = mark;
    }
  }
  return false;
}

/* ---- x / sqrt(mean of its squares + eps) * gain ---- */

/* The root that v is x over: sets *x. */
static const struct tsr_net_node *root_under(struct search *s, size_t v, size_t *x) {
  const struct tsr_net_node *ratio = made_by(s, v, TSR_NET_DIV, 1);
  *x = ratio ? ratio->in[0] : SIZE_MAX;
  if (ratio) return made_by(s, ratio->in[1], TSR_NET_SQRT, 1);
  const struct tsr_net_node *scaled = made_by(s, v, TSR_NET_MUL, 1);
  for (unsigned i = 0; scaled && i < 2; i++) {
    const struct tsr_net_node *inverse = made_by(s, scaled->in[i], TSR_NET_RECIPROCAL, 1);
    *x = scaled->in[1 - i];
    if (inverse) return made_by(s, inverse->in[0], TSR_NET_SQRT, 1);
    inverse = made_by(s, scaled->in[i], TSR_NET_DIV, 1);
    if (inverse && is_number(s, inverse->in[0], 1))
      return made_by(s, inverse->in[1], TSR_NET_SQRT, 1);
  }
  return NULL;
}

static bool rms_norm(struct search *s, const struct tsr_net_node *n, struct tsri_tr_whole *w) {
  for (unsigned i = 0; n->op == TSR_NET_MUL && i < 2; i++) {
    s->n = 0;
    *w = (struct tsri_tr_whole){.kind = TSR_OP_RMSNORM, .gain = n->in[1 - i]};
    const struct tsr_net_node *root = root_under(s, n->in[i], &w->x);
    const struct tsr_net_node *sum = root ? made_by(s, root->in[0], TSR_NET_ADD, 1) : NULL;
    if (!sum) continue;
    unsigned at = tsri_tr_constant(s->t, sum->in[0]) ? 0 : 1;
    const struct tsr_array *eps = tsri_tr_constant(s->t, sum->in[at]);
    size_t uses = 0;
    if (!eps || eps->n != 1 || squared(s, sum->in[1 - at], &uses) != w->x) continue;
    w->eps = tsr_array_get(eps, 0);
    if (is_row(s, w->gain, w->x) && w->eps >= 0 && w->eps < 1) return true;
  }
  return false;
}

/* ---- all ---- */

typedef bool match_fn(struct search *s, const struct tsr_net_node *n, struct tsri_tr_whole *w);
static match_fn *const patterns[] = {silu, hardswish, gelu, layer_norm, rms_norm};

static void match_node(struct search *s, size_t i, struct tsri_tr_whole *wholes) {
  const struct tsr_net_node *n = &s->t->net->nodes[i];
  if (n->folded || n->skipped || n->op == TSR_NET_UNKNOWN) return;
  for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++) {
    struct tsri_tr_whole w = {0};
    if (!patterns[p](s, n, &w) || !same_shape(s, w.x, n->out[0])) continue;
    w.found = true;
    wholes[i] = w;
    for (size_t k = 0; k < s->n; k++) wholes[s->list[k]].inside = true;
    return;
  }
}

enum tsr_status tsri_tr_patterns(struct tsri_tr *t) {
  const struct tsr_net *net = t->net;
  struct search s = {.t = t};
  s.uses = tsr_mem_array(net->n_values, sizeof *s.uses);
  t->wholes = tsr_mem_array(net->n_nodes, sizeof *t->wholes);
  if (!s.uses || !t->wholes) {
    tsr_mem_free(s.uses);
    return tsr_err_nomem(t->err);
  }
  for (size_t i = 0; i < net->n_nodes; i++)
    for (size_t k = 0; k < net->nodes[i].n_in; k++)
      if (net->nodes[i].in[k] != SIZE_MAX) s.uses[net->nodes[i].in[k]]++;
  for (size_t i = 0; i < net->n_outputs; i++) s.uses[net->outputs[i]]++;
  for (size_t i = net->n_nodes; i-- > 0;) /* the largest first */
    if (!t->wholes[i].inside) match_node(&s, i, t->wholes);
  tsr_mem_free(s.uses);
  return TSR_OK;
}

enum tsr_status tsri_tr_lower_whole(struct tsri_tr *t, const struct tsr_net_node *n,
                                    const struct tsri_tr_whole *w) {
  if (w->kind == TSR_OP_RMSNORM)
    return tsri_tr_rms_norm(t, NULL, w->x, 1, w->gain, w->eps, n->out[0]);
  if (w->kind != TSR_OP_LAYERNORM)
    return tsri_tr_unary(t, NULL, w->kind, NULL, w->x, n->out[0]);
  return tsri_tr_layer_norm(t, NULL, w->x, 1, w->gain, w->bias, w->eps, n->out[0]);
}
