/* From what a reader built to a net that runs: dimensions bound, nodes sorted, types and shapes
 * inferred, constants folded. */
#include <stdio.h>
#include <string.h>

#include "sim/base/str.h"
#include "workloads/net/net_int.h"

enum { FOLD_LOG2_MAX = 28 }; /* elements of one folded result */

/* ---- words of messages ---- */

void tsri_type_text(enum tsr_dtype type, unsigned rank, const uint64_t *dim,
                    const char *const *open, char text[TSRI_TYPE_TEXT]) {
  size_t n = (size_t)snprintf(text, TSRI_TYPE_TEXT, "%s[", tsr_dtype_name(type));
  for (unsigned d = 0; d < rank; d++) {
    const char *comma = d ? "," : "";
    if (open && open[d]) {
      n += (size_t)snprintf(text + n, TSRI_TYPE_TEXT - n, "%s?", comma);
    } else {
      n += (size_t)snprintf(text + n, TSRI_TYPE_TEXT - n, "%s%llu", comma,
                            (unsigned long long)dim[d]);
    }
  }
  snprintf(text + n, TSRI_TYPE_TEXT - n, "]");
}

/* ---- inputs and their open dimensions ---- */

/* An input with a constant is none: older models list initialisers among the inputs. */
static void drop_constant_inputs(struct tsr_net *net) {
  size_t n = 0;
  for (size_t k = 0; k < net->n_inputs; k++) {
    struct tsr_net_value *v = &net->values[net->inputs[k]];
    v->is_input = !v->constant;
    if (v->is_input) net->inputs[n++] = net->inputs[k];
  }
  net->n_inputs = n;
}

static enum tsr_status check_inputs(const struct tsr_net *net, struct tsr_err *err) {
  enum tsr_status s = TSR_OK;
  for (size_t k = 0; k < net->n_inputs; k++) {
    const struct tsr_net_value *v = &net->values[net->inputs[k]];
    if (!v->shaped || !v->type)
      s = tsr_err_set(err, TSR_INPUT, "%s: input '%s' has no %s", net->path, v->name,
                      v->type ? "shape" : "type");
    else if (!tsr_dtype_bytes(v->type))
      s = tsr_err_set(err, TSR_INPUT, "%s: input '%s' is of type '%s', which is not supported",
                      net->path, v->name, tsr_dtype_name(v->type));
  }
  return s;
}

static const struct tsr_net_dim *given(const struct tsr_net_options *o, const char *name) {
  for (size_t k = 0; o && k < o->n_dims; k++)
    if (strcmp(o->dims[k].name, name) == 0) return &o->dims[k];
  return NULL;
}

/* Calls fn for every open dimension of the inputs. */
typedef void open_fn(void *arg, struct tsr_net_value *v, unsigned d);
static void each_open(struct tsr_net *net, open_fn *fn, void *arg) {
  for (size_t k = 0; k < net->n_inputs; k++) {
    struct tsr_net_value *v = &net->values[net->inputs[k]];
    for (unsigned d = 0; d < v->rank; d++)
      if (v->dim_name[d]) fn(arg, v, d);
  }
}

struct binding {
  struct tsr_net *net;
  const struct tsr_net_options *o;
  const char *name; /* looked for */
  bool found;
  struct tsr_str open, told; /* 'a', 'b' */
  struct tsr_err *err;
  enum tsr_status s;
};

static void look(void *arg, struct tsr_net_value *v, unsigned d) {
  struct binding *b = arg;
  b->found |= strcmp(v->dim_name[d], b->name) == 0;
}

static void list_open(void *arg, struct tsr_net_value *v, unsigned d) {
  struct binding *b = arg;
  char quoted[160];
  snprintf(quoted, sizeof quoted, "'%.150s'", v->dim_name[d]);
  if (b->open.p && strstr(b->open.p, quoted)) return;
  tsr_str_addf(&b->open, "%s%s", b->open.n ? ", " : "", quoted);
}

static void bind(void *arg, struct tsr_net_value *v, unsigned d) {
  struct binding *b = arg;
  const struct tsr_net_dim *g = given(b->o, v->dim_name[d]);
  if (g) {
    if (d == 0 && v == &b->net->values[b->net->inputs[0]] && g->value) b->net->batch = g->value;
    v->dim[d] = g->value;
    v->dim_name[d] = NULL;
    return;
  }
  char quoted[160];
  snprintf(quoted, sizeof quoted, "'%.150s'", v->dim_name[d]);
  if (b->told.p && strstr(b->told.p, quoted)) return; /* each name once */
  tsr_str_add(&b->told, quoted);
  b->s = tsr_err_set(b->err, TSR_USAGE,
                     "%s: dimension '%s' of input '%s' is open; give it as in --dim %s=8",
                     b->net->path, v->dim_name[d], v->name, v->dim_name[d]);
}

/* Every name that the user gave is one of an open dimension, and given once. */
static enum tsr_status check_dims(struct tsr_net *net, struct binding *b) {
  each_open(net, list_open, b);
  if (b->open.failed) return tsr_err_nomem(b->err);
  const char *open = b->open.n ? b->open.p : "none";
  for (size_t k = 0; b->o && k < b->o->n_dims; k++) {
    b->name = b->o->dims[k].name;
    b->found = false;
    each_open(net, look, b);
    if (!b->found)
      b->s = tsr_err_set(b->err, TSR_USAGE,
                         "%s: no input has an open dimension '%s'; open are: %s", net->path,
                         b->name, open);
    else if (given(b->o, b->name) != &b->o->dims[k])
      b->s = tsr_err_set(b->err, TSR_USAGE, "dimension '%s' is given twice", b->name);
  }
  return b->s;
}

static enum tsr_status bind_dims(struct tsr_net *net, const struct tsr_net_options *o,
                                 struct tsr_err *err) {
  struct binding b = {
      .net = net, .o = o, .open = TSR_STR_INIT, .told = TSR_STR_INIT, .err = err};
  net->batch = 1;
  b.s = check_dims(net, &b);
  if (!b.s) each_open(net, bind, &b);
  tsr_str_fini(&b.open);
  tsr_str_fini(&b.told);
  enum tsr_status s = b.s;
  for (size_t k = 0; !s && k < net->n_inputs; k++) {
    const struct tsr_net_value *v = &net->values[net->inputs[k]];
    uint64_t n;
    if (!tsr_array_count(v->rank, v->dim, &n))
      s = tsr_err_set(err, TSR_INPUT,
                      "%s: input '%s' is too large; expected at most 2^40 elements", net->path,
                      v->name);
  }
  return s;
}

/* ---- order ---- */

enum mark { NEW, OPEN, DONE };
struct sort {
  const struct tsr_net *net;
  size_t *cursor; /* by node: its next input to look at */
  unsigned char *mark;
  size_t *stack, *order;
  size_t n_stack, n_order;
  struct tsr_err *err;
};

static enum tsr_status no_producer(const struct sort *t, const struct tsr_net_node *n,
                                   const struct tsr_net_value *v) {
  return tsri_fail(t->net, n, t->err,
                   "reads value '%s', which no node makes and which is neither an input nor a "
                   "constant",
                   v->name);
}

/* One step of the node on top of the stack: an input's producer goes on top of it, or it is
 * done. */
static enum tsr_status sort_step(struct sort *t) {
  size_t top = t->stack[t->n_stack - 1];
  const struct tsr_net_node *n = &t->net->nodes[top];
  while (t->cursor[top] < n->n_in) {
    size_t in = n->in[t->cursor[top]++];
    if (in == SIZE_MAX) continue;
    const struct tsr_net_value *v = &t->net->values[in];
    if (v->producer == SIZE_MAX) {
      if (v->is_input || v->constant) continue;
      return no_producer(t, n, v);
    }
    if (t->mark[v->producer] == OPEN)
      return tsri_fail(t->net, n, t->err, "is part of a cycle: its input '%s' depends on it",
                       v->name);
    if (t->mark[v->producer] == DONE) continue;
    t->mark[v->producer] = OPEN;
    t->stack[t->n_stack++] = v->producer;
    return TSR_OK;
  }
  t->mark[top] = DONE;
  t->order[t->n_order++] = top;
  t->n_stack--;
  return TSR_OK;
}

/* A node comes where the model has it, or earlier, just before the first that reads it. */
static enum tsr_status sort_all(struct sort *t) {
  enum tsr_status s = TSR_OK;
  for (size_t k = 0; !s && k < t->net->n_nodes; k++) {
    if (t->mark[k] == DONE) continue;
    t->mark[k] = OPEN;
    t->stack[t->n_stack++] = k;
    while (!s && t->n_stack) s = sort_step(t);
  }
  return s;
}

static enum tsr_status reorder(struct tsr_net *net, const size_t *order, struct tsr_err *err) {
  struct tsr_net_node *nodes = tsr_mem_array(net->n_nodes, sizeof *nodes);
  if (!nodes) return tsr_err_nomem(err);
  for (size_t k = 0; k < net->n_nodes; k++) {
    nodes[k] = net->nodes[order[k]];
    for (size_t i = 0; i < nodes[k].n_out; i++)
      if (nodes[k].out[i] != SIZE_MAX) net->values[nodes[k].out[i]].producer = k;
  }
  tsr_mem_free(net->nodes);
  net->nodes = nodes;
  net->cap_nodes = net->n_nodes;
  return TSR_OK;
}

static enum tsr_status sort_nodes(struct tsr_net *net, struct tsr_err *err) {
  struct sort t = {.net = net, .err = err};
  t.cursor = tsr_mem_array(net->n_nodes, sizeof *t.cursor);
  t.mark = tsr_mem_array(net->n_nodes, 1);
  t.stack = tsr_mem_array(net->n_nodes, sizeof *t.stack);
  t.order = tsr_mem_array(net->n_nodes, sizeof *t.order);
  bool ok = t.cursor && t.mark && t.stack && t.order;
  enum tsr_status s = ok ? sort_all(&t) : tsr_err_nomem(err);
  if (!s) s = reorder(net, t.order, err);
  tsr_mem_free(t.cursor);
  tsr_mem_free(t.mark);
  tsr_mem_free(t.stack);
  tsr_mem_free(t.order);
  return s;
}

static enum tsr_status check_ends(const struct tsr_net *net, struct tsr_err *err) {
  enum tsr_status s = TSR_OK;
  for (size_t k = 0; k < net->n_outputs; k++) {
    const struct tsr_net_value *v = &net->values[net->outputs[k]];
    if (v->producer == SIZE_MAX && !v->is_input && !v->constant)
      s = tsr_err_set(err, TSR_INPUT, "%s: output '%s' is made by no node", net->path, v->name);
  }
  return s;
}

/* ---- operators ---- */

static bool has_subgraph(const struct tsr_net_node *n) {
  for (size_t k = 0; k < n->n_attrs; k++)
    if (n->attrs[k].kind == TSR_ATTR_GRAPH) return true;
  return false;
}

static bool is_control(const struct tsr_net_node *n) {
  static const char *const NAMES[] = {"If", "Loop", "Scan", "SequenceMap"};
  for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++)
    if (!*n->domain && strcmp(n->op_name, NAMES[k]) == 0) return true;
  return has_subgraph(n);
}

static bool unsupported(const struct tsr_net_node *n) {
  return n->op == TSR_NET_UNKNOWN || has_subgraph(n);
}

static bool same_op(const struct tsr_net_node *a, const struct tsr_net_node *b) {
  return strcmp(a->op_name, b->op_name) == 0 && strcmp(a->domain, b->domain) == 0;
}

/* One message an operator, at its first node, with the count of the others.  `first` holds the
 * nodes reported, at most TSR_ERR_MAX. */
struct unknown {
  size_t node, count;
};
static enum tsr_status check_operators(const struct tsr_net *net, struct tsr_err *err) {
  struct unknown first[TSR_ERR_MAX];
  size_t n = 0;
  for (size_t k = 0; k < net->n_nodes; k++) {
    if (!unsupported(&net->nodes[k])) continue;
    size_t at = 0;
    while (at < n && !same_op(&net->nodes[first[at].node], &net->nodes[k])) at++;
    if (at < n) {
      first[at].count++;
    } else if (n < TSR_ERR_MAX) {
      first[n++] = (struct unknown){k, 1};
    }
  }
  for (size_t k = 0; k < n; k++) {
    const struct tsr_net_node *x = &net->nodes[first[k].node];
    char more[48] = "";
    if (first[k].count > 1)
      snprintf(more, sizeof more, " (and %zu more nodes with it)", first[k].count - 1);
    if (is_control(x)) {
      tsri_fail(net, x, err, "control flow is not supported%s", more);
    } else if (*x->domain) {
      tsri_fail(net, x, err, "operator '%s' of domain '%s' is not supported%s", x->op_name,
                x->domain, more);
    } else {
      tsri_fail(net, x, err, "operator '%s' is not supported%s", x->op_name, more);
    }
  }
  return n ? TSR_INPUT : TSR_OK;
}

static enum tsr_status check_count(const struct tsr_net *net, const struct tsr_net_node *n,
                                   const char *what, size_t got, unsigned low, unsigned high,
                                   struct tsr_err *err) {
  if (got >= low && (high == TSRI_ANY || got <= high)) return TSR_OK;
  char want[48];
  if (low == high) {
    snprintf(want, sizeof want, "%u", low);
  } else if (high == TSRI_ANY) {
    snprintf(want, sizeof want, "at least %u", low);
  } else {
    snprintf(want, sizeof want, "%u to %u", low, high);
  }
  return tsri_fail(net, n, err, "has the wrong number of %s; expected %s, got '%zu'", what,
                   want, got);
}

enum tsr_status tsri_check_arity(const struct tsr_net *net, const struct tsr_net_node *n,
                                 struct tsr_err *err) {
  const struct tsri_op *op = tsri_op(n->op);
  enum tsr_status s = check_count(net, n, "inputs", n->n_in, op->low_in, op->high_in, err);
  if (!s) s = check_count(net, n, "outputs", n->n_out, op->low_out, op->high_out, err);
  for (size_t i = 0; !s && i < n->n_in; i++)
    if (n->in[i] == SIZE_MAX && (i < op->low_in || op->high_in == TSRI_ANY))
      s = tsri_fail(net, n, err, "input %zu is left out", i);
  return s;
}

/* ---- types and shapes ---- */

struct finish {
  struct tsr_net *net;
  unsigned char *behind; /* by value: a skipped node stands before it */
  const struct tsr_net_value **in;
  const struct tsr_array **array;
  struct tsri_type *types;
  struct tsr_array **made;
  struct tsr_err *err;
};

static enum tsr_status settle(struct finish *f, const struct tsr_net_node *n, size_t i) {
  struct tsr_net_value *v = &f->net->values[n->out[i]];
  const struct tsri_type *t = &f->types[i];
  bool same = !v->type || v->type == t->type;
  if (v->shaped) {
    same = same && v->rank == t->rank;
    for (unsigned d = 0; same && d < t->rank; d++)
      same = v->dim_name[d] || v->dim[d] == t->dim[d];
  }
  if (!same) {
    char says[TSRI_TYPE_TEXT], is[TSRI_TYPE_TEXT];
    tsri_type_text(v->type ? v->type : t->type, v->shaped ? v->rank : t->rank,
                   v->shaped ? v->dim : t->dim, v->dim_name, says);
    tsri_type_text(t->type, t->rank, t->dim, NULL, is);
    return tsri_fail(f->net, n, f->err, "makes value '%s' as %s, but the model says %s",
                     v->name, is, says);
  }
  v->type = t->type;
  v->shaped = true;
  v->rank = t->rank;
  for (unsigned d = 0; d < t->rank; d++) {
    v->dim[d] = t->dim[d];
    v->dim_name[d] = NULL;
  }
  return TSR_OK;
}

static bool is_view_of_shape(const struct tsr_net_node *n) {
  return n->op == TSR_NET_SHAPE || n->op == TSR_NET_SIZE;
}

static bool foldable(const struct finish *f, const struct tsr_net_node *n) {
  for (size_t i = 0; i < n->n_out; i++) {
    uint64_t count;
    if (n->out[i] == SIZE_MAX) continue;
    if (!tsr_array_count(f->types[i].rank, f->types[i].dim, &count)) return false;
    if (count > UINT64_C(1) << FOLD_LOG2_MAX) return false;
  }
  if (is_view_of_shape(n)) return true;
  for (size_t i = 0; i < n->n_in; i++)
    if (f->in[i] && !f->in[i]->constant) return false;
  return true;
}

/* Shape and Size see a shape alone: no array stands behind their input. */
static enum tsr_status eval_fold(struct finish *f, struct tsr_net_node *n) {
  if (is_view_of_shape(n)) {
    struct tsri_infer c = {f->net, n, f->in, f->types, f->err};
    enum tsr_status s = tsr_array_create(NULL, f->types[0].type, f->types[0].rank,
                                         f->types[0].dim, &f->made[0], f->err);
    struct tsri_eval e = {&c, f->net, n, f->array, f->made, f->err};
    return s ? s : tsri_op(n->op)->eval(&e);
  }
  for (size_t i = 0; i < n->n_in; i++) f->array[i] = f->in[i] ? f->in[i]->constant : NULL;
  return tsr_net_eval_node(f->net, n, f->array, f->made, f->err);
}

static enum tsr_status fold(struct finish *f, struct tsr_net_node *n) {
  bool weight = true;
  for (size_t i = 0; i < n->n_in; i++) weight = weight && (!f->in[i] || f->in[i]->is_weight);
  for (size_t i = 0; i < n->n_out; i++) f->made[i] = NULL;
  enum tsr_status s = eval_fold(f, n);
  for (size_t i = 0; i < n->n_out; i++) {
    struct tsr_array *a = NULL;
    if (!s && f->made[i]) s = tsr_array_copy(f->net->arena, f->made[i], &a, f->err);
    tsr_array_destroy(f->made[i]);
    if (s || !a) continue;
    f->net->values[n->out[i]].constant = a;
    f->net->values[n->out[i]].is_weight = weight;
  }
  n->folded = !s;
  return s;
}

static void skip(struct finish *f, struct tsr_net_node *n) {
  n->skipped = true;
  f->net->n_skipped++;
  for (size_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == SIZE_MAX) continue;
    struct tsr_net_value *v = &f->net->values[n->out[i]];
    f->behind[n->out[i]] = 1;
    for (unsigned d = 0; v->shaped && d < v->rank; d++)
      if (v->dim_name[d]) v->shaped = false; /* open: no shape to draw */
  }
}

/* Inputs of the node; what is behind a skipped node, what has no shape. */
static void look_at_inputs(struct finish *f, const struct tsr_net_node *n, bool *behind,
                           bool *shapeless) {
  *behind = *shapeless = false;
  for (size_t i = 0; i < n->n_in; i++) {
    f->in[i] = n->in[i] == SIZE_MAX ? NULL : &f->net->values[n->in[i]];
    if (!f->in[i]) continue;
    *behind |= f->behind[n->in[i]] != 0;
    *shapeless |= !f->in[i]->shaped || !f->in[i]->type;
  }
}

static enum tsr_status infer_node(struct finish *f, struct tsr_net_node *n,
                                  struct tsr_err *err) {
  struct tsr_err *outer = f->err;
  f->err = err;
  for (size_t i = 0; i < n->n_out; i++) f->types[i] = (struct tsri_type){0};
  struct tsri_infer c = {f->net, n, f->in, f->types, err};
  enum tsr_status s = tsri_check_arity(f->net, n, err);
  if (!s) s = tsri_op(n->op)->infer(&c);
  for (size_t i = 0; !s && i < n->n_out; i++)
    if (n->out[i] != SIZE_MAX) s = settle(f, n, i);
  if (!s && foldable(f, n)) s = fold(f, n);
  f->err = outer;
  return s;
}

/* Behind a skipped node something may be unknown that the node needs: it is skipped as well. */
static enum tsr_status infer_behind(struct finish *f, struct tsr_net_node *n) {
  struct tsr_err own = TSR_ERR_INIT;
  enum tsr_status s = infer_node(f, n, &own);
  tsr_err_fini(&own);
  if (s == TSR_NOMEM) return tsr_err_nomem(f->err);
  if (s) skip(f, n);
  for (size_t i = 0; i < n->n_out; i++)
    if (n->out[i] != SIZE_MAX) f->behind[n->out[i]] = 1;
  return TSR_OK;
}

static enum tsr_status infer_all(struct finish *f) {
  enum tsr_status s = TSR_OK;
  for (size_t k = 0; !s && k < f->net->n_nodes; k++) {
    struct tsr_net_node *n = &f->net->nodes[k];
    bool behind, shapeless;
    look_at_inputs(f, n, &behind, &shapeless);
    if (unsupported(n) || shapeless) {
      skip(f, n);
    } else {
      s = behind ? infer_behind(f, n) : infer_node(f, n, f->err);
    }
  }
  return s;
}

static enum tsr_status infer_nodes(struct tsr_net *net, struct tsr_err *err) {
  struct finish f = {.net = net, .err = err};
  size_t most_in = 1, most_out = 1;
  for (size_t k = 0; k < net->n_nodes; k++) {
    most_in = net->nodes[k].n_in > most_in ? net->nodes[k].n_in : most_in;
    most_out = net->nodes[k].n_out > most_out ? net->nodes[k].n_out : most_out;
  }
  f.behind = tsr_mem_array(net->n_values, 1);
  f.in = tsr_mem_array(most_in, sizeof *f.in);
  f.array = tsr_mem_array(most_in, sizeof *f.array);
  f.types = tsr_mem_array(most_out, sizeof *f.types);
  f.made = tsr_mem_array(most_out, sizeof(struct tsr_array *));
  bool ok = f.behind && f.in && f.array && f.types && f.made;
  enum tsr_status s = ok ? infer_all(&f) : tsr_err_nomem(err);
  tsr_mem_free(f.behind);
  tsr_mem_free((void *)f.in);
  tsr_mem_free((void *)f.array);
  tsr_mem_free(f.types);
  tsr_mem_free(f.made);
  return s;
}

enum tsr_status tsr_net_finish(struct tsr_net *net, const struct tsr_net_options *o,
                               struct tsr_err *err) {
  bool skip_unknown = o && o->skip_unsupported;
  drop_constant_inputs(net);
  enum tsr_status s = check_inputs(net, err);
  if (!s) s = bind_dims(net, o, err);
  if (!s) s = sort_nodes(net, err);
  if (!s) s = check_ends(net, err);
  if (!s && !skip_unknown) s = check_operators(net, err);
  if (!s) s = infer_nodes(net, err);
  if (!s) net->finished = true;
  return s;
}
