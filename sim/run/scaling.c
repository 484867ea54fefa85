#include "sim/run/scaling.h"

#include <float.h>
#include <string.h>

#include "sim/run/hand.h"
#include "sim/run/run_int.h"

/* ---- a graph that grows ---- */

struct pass {
  struct tsr_run_plan *p;
  struct tsr_graph *g;
  struct tsr_err *err;
  const char *wide, *a, *b; /* formats: of travelling values, of the operands of products */
  struct tsr_op *ops;       /* the new ones, in the graph's arena */
  struct tsr_op_binding *bindings;
  size_t n, cap;
  size_t *at;   /* where the old operators are now */
  struct made { /* values converted so far */
    size_t net, value, to, op;
    const char *format;
    struct tsr_array *scale;
  } * made;
  size_t n_made, cap_made;
};

static bool grow(struct pass *x) {
  if (x->n < x->cap) return true;
  size_t cap = x->cap ? 2 * x->cap : x->g->n_ops + 16;
  struct tsr_op *ops = tsr_arena_array(x->g->arena, cap, sizeof *ops);
  struct tsr_op_binding *bindings = tsr_arena_array(x->g->arena, cap, sizeof *bindings);
  if (!ops || !bindings) return false;
  if (x->n) {
    memcpy(ops, x->ops, x->n * sizeof *ops);
    memcpy(bindings, x->bindings, x->n * sizeof *bindings);
  }
  x->ops = ops;
  x->bindings = bindings;
  x->cap = cap;
  return true;
}

static bool is_narrow(const char *format) {
  struct tsr_format f;
  return !tsr_format_parse(format, &f, NULL) && f.bits <= 8;
}

static double largest(const char *format) {
  struct tsr_format f;
  bool known = !tsr_format_parse(format, &f, NULL);
  return known ? tsr_arith_to_double(&f, tsr_arith_max(&f, false)) : 1;
}

/* A constant of the net, to be filled later. */
static enum tsr_status constant(struct pass *x, struct tsr_net *net, const char *name,
                                uint64_t n, size_t *value, struct tsr_array **out) {
  enum tsr_status st = tsr_array_create(net->arena, TSR_DTYPE_F32, 1, &n, out, x->err);
  if (!st) st = tsr_net_value_new(net, name, TSR_DTYPE_F32, 1, &n, value, x->err);
  if (!st) st = tsr_net_constant(net, *value, *out, x->err);
  return st;
}

static enum tsr_status bind_whole(struct pass *x, size_t value, uint64_t n,
                                  struct tsr_operand_view *out) {
  uint64_t *cols = tsr_arena_array(x->g->arena, 1, sizeof *cols);
  struct tsr_view *part = tsr_arena_array(x->g->arena, 1, sizeof *part);
  if (!cols || !part) return tsr_err_nomem(x->err);
  tsr_view_whole(part, value, n);
  *cols = n;
  *out = (struct tsr_operand_view){1, 1, cols, part};
  return TSR_OK;
}

/* ---- conversions ---- */

static struct made *find_made(struct pass *x, size_t net, size_t value, const char *format) {
  for (size_t i = 0; i < x->n_made; i++) {
    struct made *m = &x->made[i];
    if (m->net == net && m->value == value && !strcmp(m->format, format)) return m;
  }
  return NULL;
}

/* The operator that converts a value. */
static enum tsr_status convert_op(struct pass *x, const struct tsr_op *reader,
                                  const struct tsr_op_binding *b, struct made *m, bool scaled) {
  struct tsr_net *net = x->g->nets[b->net];
  const struct tsr_net_value *v = &net->values[m->value];
  uint64_t n = 1, cols = v->rank ? v->dim[v->rank - 1] : 1;
  for (unsigned d = 0; d < v->rank; d++) n *= v->dim[d];
  struct tsr_op op = {.kind = scaled ? TSR_OP_QUANTISE : TSR_OP_COPY,
                      .m = n / tsr_max_u64(cols, 1),
                      .n = cols,
                      .k = 1,
                      .count = 1,
                      .attr.with = scaled ? TSR_WITH_SCALAR : TSR_WITH_FULL,
                      .format_a = x->wide,
                      .format_b = scaled ? "fp32" : x->wide,
                      .format_acc = "",
                      .format_out = m->format,
                      .sparsity = "",
                      .pos = reader->pos};
  op.name = tsr_arena_printf(x->g->arena, "%s.%s", reader->name,
                             m->format == x->a ? "quantise_a" : "quantise_b");
  size_t *after = tsr_arena_array(x->g->arena, reader->n_after + 1, sizeof *after);
  if (!op.name || !after || !grow(x)) return tsr_err_nomem(x->err);
  for (size_t i = 0; i < reader->n_after; i++) after[i] = x->at[reader->after[i]];
  op.after = after;
  op.n_after = reader->n_after;
  struct tsr_op_binding own = {.net = b->net, .node = b->node, .has_out = true};
  enum tsr_status st = bind_whole(x, m->value, n, &own.a);
  size_t scale = SIZE_MAX;
  if (!st && scaled) {
    st = constant(x, net, "scale", 1, &scale, &m->scale);
    if (!st) st = bind_whole(x, scale, 1, &own.b);
    v = &net->values[m->value]; /* values may have moved */
  }
  if (!st)
    st = tsr_net_value_new(net, "quantised", TSR_DTYPE_F32, v->rank, v->dim, &m->to, x->err);
  if (st) return st;
  tsr_view_whole(&own.out, m->to, n);
  m->op = x->n;
  x->ops[x->n] = op;
  x->bindings[x->n++] = own;
  return TSR_OK;
}

/* An operand's view of another value of the same shape. */
static enum tsr_status look_at(struct pass *x, struct tsr_operand_view *v, size_t value) {
  struct tsr_view *part = tsr_arena_array(x->g->arena, v->n_parts, sizeof *part);
  if (!part) return tsr_err_nomem(x->err);
  memcpy(part, v->part, v->n_parts * sizeof *part);
  for (unsigned i = 0; i < v->n_parts; i++) part[i].value = value;
  v->part = part;
  return TSR_OK;
}

/* The conversion of an activation, made if it is not there yet. */
static enum tsr_status converted(struct pass *x, const struct tsr_op *op,
                                 const struct tsr_op_binding *b, struct tsr_operand_view *v,
                                 const char *format, struct made **out) {
  size_t value = v->part[0].value;
  *out = find_made(x, b->net, value, format);
  if (!*out) {
    struct made m = {.net = b->net, .value = value, .format = format};
    enum tsr_status st = convert_op(x, op, b, &m, is_narrow(format));
    if (st) return st;
    if (!tsr_mem_grow((void **)&x->made, &x->cap_made, x->n_made + 1, sizeof *x->made))
      return tsr_err_nomem(x->err);
    x->made[x->n_made] = m;
    *out = &x->made[x->n_made++];
  }
  return look_at(x, v, (*out)->to);
}

/* ---- products ---- */

/* An operand that some operator makes, or an input of the model: of one value alone. */
static bool is_activation(const struct pass *x, const struct tsr_op_binding *b,
                          const struct tsr_operand_view *v) {
  if (v->n_parts != 1 || v->part[0].value == SIZE_MAX) return false;
  const struct tsr_net_value *value = &x->g->nets[b->net]->values[v->part[0].value];
  return !value->constant && !value->is_weight;
}

static enum tsr_status weights(struct pass *x, struct tsr_op_binding *b,
                               struct tsri_scaled *s) {
  struct tsr_net *net = x->g->nets[b->net];
  size_t value;
  s->weights = b->b;
  enum tsr_status st =
      constant(x, net, "weights.scaled", s->groups * s->k * s->n, &value, &s->ready);
  return st ? st : bind_whole(x, value, s->groups * s->k * s->n, &b->b);
}

/* An A that is the same in every run. */
static enum tsr_status fixed(struct pass *x, const struct tsr_op *op, struct tsr_op_binding *b,
                             struct tsri_scaled *s) {
  uint64_t n_a, n_b, n_c;
  size_t value;
  if (!tsr_op_elems(op, &n_a, &n_b, &n_c))
    return tsr_err_set(x->err, TSR_INPUT, "layer '%s' has more than 2^64 elements", op->name);
  s->fixed = b->a;
  s->a_max = largest(x->a);
  enum tsr_status st =
      constant(x, x->g->nets[b->net], "a.scaled", n_a, &value, &s->fixed_ready);
  return st ? st : bind_whole(x, value, n_a, &b->a);
}

/* Activations that lie side by side have scales of their own, which one product has not. */
static enum tsr_status check_whole(struct pass *x, const struct tsr_op *op,
                                   const struct tsr_operand_view *v, const char *format,
                                   const char *role) {
  if (v->n_parts < 2 || !is_narrow(format)) return TSR_OK;
  return tsr_err_set(x->err, TSR_INPUT,
                     "layer '%s' multiplies %u values side by side, which have no scale in "
                     "common; expected tile.formats.%s of more than 8 bits, got '%s'",
                     op->name, v->n_parts, role, format);
}

/* The first step of the epilogue. */
static enum tsr_status rescale(struct pass *x, struct tsr_op *op, struct tsr_op_binding *b,
                               struct tsri_scaled *s) {
  if (op->n_steps == TSR_EPILOGUE_MAX)
    return tsr_err_set(x->err, TSR_INPUT,
                       "layer '%s' has %d steps behind it, which leaves none for the scale of "
                       "its operands",
                       op->name, TSR_EPILOGUE_MAX);
  memmove(&op->step[1], &op->step[0], op->n_steps * sizeof op->step[0]);
  memmove(&b->step[1], &b->step[0], op->n_steps * sizeof b->step[0]);
  op->step[0] = (struct tsr_op_step){.kind = TSR_OP_DEQUANTISE, .with = TSR_WITH_ROW};
  op->n_steps++;
  size_t value;
  enum tsr_status st =
      constant(x, x->g->nets[b->net], "sums.scale", s->groups * s->n, &value, &s->out_scale);
  return st ? st : bind_whole(x, value, s->groups * s->n, &b->step[0]);
}

static enum tsr_status remember(struct pass *x, const struct tsri_scaled *s) {
  struct tsr_run_plan *p = x->p;
  void *list = p->scaled;
  if (!tsr_mem_grow(&list, &p->cap_scaled, p->n_scaled + 1, sizeof *p->scaled))
    return tsr_err_nomem(x->err);
  p->scaled = list;
  p->scaled[p->n_scaled++] = *s;
  return TSR_OK;
}

/* Converts both operands of a product; *op and *b are its own copies. */
static enum tsr_status product(struct pass *x, struct tsr_op *op, struct tsr_op_binding *b,
                               size_t first[2], size_t *n_first) {
  struct tsri_scaled s = {.graph = x->g,
                          .net = b->net,
                          .a = SIZE_MAX,
                          .b = SIZE_MAX,
                          .groups = op->count,
                          .k = op->k,
                          .n = op->n};
  const struct tsr_op old = *op; /* its `after` is of the old graph */
  struct made *m;
  enum tsr_status st = check_whole(x, op, &b->a, x->a, "a");
  if (!st) st = check_whole(x, op, &b->b, x->b, "b");
  if (st) return st;
  if (is_activation(x, b, &b->a) && strcmp(x->a, x->wide) != 0) {
    size_t value = b->a.part[0].value;
    st = converted(x, &old, b, &b->a, x->a, &m);
    if (st) return st;
    first[(*n_first)++] = m->op;
    if (m->scale) s.a = value, s.a_scale = m->scale, s.a_max = largest(x->a);
  } else if (b->a.n_parts && is_narrow(x->a)) {
    st = fixed(x, op, b, &s);
    if (st) return st;
  }
  if (is_activation(x, b, &b->b) && strcmp(x->b, x->wide) != 0) {
    size_t value = b->b.part[0].value;
    st = converted(x, &old, b, &b->b, x->b, &m);
    if (st) return st;
    first[(*n_first)++] = m->op;
    if (m->scale) s.b = value, s.b_scale = m->scale, s.b_max = largest(x->b);
  } else if (b->b.n_parts && is_narrow(x->b)) {
    s.b_max = largest(x->b);
    st = weights(x, b, &s);
  }
  if (!st && (s.a_max > 0 || s.b_max > 0)) st = rescale(x, op, b, &s);
  if (!st && (s.a_max > 0 || s.b_max > 0)) st = remember(x, &s);
  return st;
}

static enum tsr_status add(struct pass *x, size_t i) {
  struct tsr_op op = x->g->ops[i];
  struct tsr_op_binding b = x->g->bindings[i];
  size_t first[2], n_first = 0;
  bool open = !op.format_a || !*op.format_a;
  enum tsr_status st = TSR_OK;
  if (tsri_is_product(&op) && open)
    st = product(x, &op, &b, first, &n_first);
  else if (!tsri_is_product(&op) && open)
    op.format_a = x->wide;
  if (st) return st;
  if (!tsri_is_product(&op) && (!op.format_b || !*op.format_b)) op.format_b = x->wide;
  if (!op.format_out || !*op.format_out) op.format_out = x->wide;
  size_t *after = tsr_arena_array(x->g->arena, op.n_after + n_first + 1, sizeof *after), n = 0;
  if (!after || !grow(x)) return tsr_err_nomem(x->err);
  for (size_t j = 0; j < n_first; j++)
    if (!n || after[0] != first[j]) after[n++] = first[j];
  for (size_t j = 0; j < op.n_after; j++) after[n++] = x->at[op.after[j]];
  op.after = after;
  op.n_after = n;
  x->at[i] = x->n;
  x->ops[x->n] = op;
  x->bindings[x->n++] = b;
  return TSR_OK;
}

const char *tsri_scaling_wide(const struct tsr_machine *m) {
  const struct tsr_format *out = tsr_format_find(m->format_out);
  bool narrow = is_narrow(m->format_out) || (out && out->is_int);
  return narrow ? "fp16" : m->format_out;
}

enum tsr_status tsri_scaling_insert(struct tsr_run_plan *p, struct tsr_graph *g,
                                    struct tsr_err *err) {
  const struct tsr_machine *m = p->machine;
  struct pass x = {.p = p,
                   .g = g,
                   .err = err,
                   .wide = tsri_scaling_wide(m),
                   .a = m->format_a,
                   .b = m->format_b};
  x.at = tsr_mem_array(g->n_ops + 1, sizeof *x.at);
  enum tsr_status st = x.at ? TSR_OK : tsr_err_nomem(err);
  for (size_t i = 0; !st && i < g->n_ops; i++) st = add(&x, i);
  if (!st) {
    g->ops = x.ops;
    g->bindings = x.bindings;
    g->n_ops = x.n;
  }
  tsr_mem_free(x.at);
  tsr_mem_free(x.made);
  return st;
}

/* ---- scales ---- */

static double magnitude(double v) {
  return v < 0 ? -v : v;
}

/* max|x| / most; 1 where nothing is to be scaled. */
static double scale_of(const double *x, uint64_t n, uint64_t step, double most) {
  double top = 0;
  for (uint64_t i = 0; i < n; i++)
    if (magnitude(x[i * step]) > top && magnitude(x[i * step]) < 0x1p120)
      top = magnitude(x[i * step]);
  return top > 0 ? top / most : 1;
}

/* A scale that the vector unit has in fp32; what is smaller than its normal numbers stays that
 * small when it is divided by the least of them. */
static double in_fp32(double v) {
  return v < (double)FLT_MIN ? (double)FLT_MIN : (double)(float)v;
}

static double activation_scale(struct tsr_array *const *ref, size_t value, double most) {
  const struct tsr_array *a = ref[value];
  return a && a->f ? in_fp32(scale_of(a->f, a->n, 1, most)) : 1;
}

/* *scale: the one of all its elements. */
static enum tsr_status fill_fixed(const struct tsri_scaled *s, const struct tsr_net *net,
                                  struct tsr_array *const *ref, double *scale,
                                  struct tsr_err *err) {
  struct tsr_array *a = s->fixed_ready;
  enum tsr_status st = tsri_hand_gather(net, ref, &s->fixed, false, a->f, err);
  *scale = st ? 1 : in_fp32(scale_of(a->f, a->n, 1, s->a_max));
  for (uint64_t i = 0; !st && i < a->n; i++) a->f[i] /= *scale;
  return st;
}

static enum tsr_status fill_weights(const struct tsri_scaled *s, const struct tsr_net *net,
                                    struct tsr_array *const *ref, double with,
                                    struct tsr_err *err) {
  enum tsr_status st = tsri_hand_gather(net, ref, &s->weights, false, s->ready->f, err);
  for (uint64_t g = 0; !st && g < s->groups; g++)
    for (uint64_t j = 0; j < s->n; j++) {
      double *column = s->ready->f + g * s->k * s->n + j;
      double scale = in_fp32(scale_of(column, s->k, s->n, s->b_max));
      for (uint64_t i = 0; i < s->k; i++) column[i * s->n] /= scale;
      s->out_scale->f[g * s->n + j] = in_fp32(with * scale);
    }
  return st;
}

static enum tsr_status fill(struct tsri_scaled *s, const struct tsr_net *net,
                            struct tsr_array *const *ref, struct tsr_err *err) {
  double a = s->a == SIZE_MAX ? 1 : activation_scale(ref, s->a, s->a_max);
  double b = s->b == SIZE_MAX ? 1 : activation_scale(ref, s->b, s->b_max);
  s->late_a = s->a != SIZE_MAX && !ref[s->a];
  s->late_b = s->b != SIZE_MAX && !ref[s->b];
  enum tsr_status st = s->fixed_ready ? fill_fixed(s, net, ref, &a, err) : TSR_OK;
  if (st) return st;
  if (s->a_scale) s->a_scale->f[0] = a;
  if (s->b_scale) s->b_scale->f[0] = b;
  if (s->ready) return fill_weights(s, net, ref, a * b, err);
  for (uint64_t j = 0; j < s->groups * s->n; j++) s->out_scale->f[j] = in_fp32(a * b);
  return TSR_OK;
}

/* The sums of a product whose operand was not scaled before. */
static void rescale_sums(struct tsri_scaled *s, double by) {
  for (uint64_t j = 0; j < s->groups * s->n; j++)
    s->out_scale->f[j] = in_fp32(s->out_scale->f[j] * by);
}

void tsri_scaling_late(const struct tsr_run_plan *p, const struct tsr_graph *g, size_t net,
                       const struct tsr_array *scale, struct tsr_array *const *value) {
  for (size_t i = 0; i < p->n_scaled; i++) {
    struct tsri_scaled *s = &p->scaled[i];
    if (s->graph != g || s->net != net) continue;
    if (s->late_a && s->a_scale == scale) {
      s->a_scale->f[0] = activation_scale(value, s->a, s->a_max);
      rescale_sums(s, s->a_scale->f[0]);
      s->late_a = false;
    }
    if (s->late_b && s->b_scale == scale) {
      s->b_scale->f[0] = activation_scale(value, s->b, s->b_max);
      rescale_sums(s, s->b_scale->f[0]);
      s->late_b = false;
    }
  }
}

enum tsr_status tsri_scaling_fill(const struct tsr_run_plan *p, const struct tsr_graph *g,
                                  size_t net, struct tsr_array *const *ref,
                                  struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; !st && i < p->n_scaled; i++)
    if (p->scaled[i].graph == g && p->scaled[i].net == net)
      st = fill(&p->scaled[i], g->nets[net], ref, err);
  return st;
}
