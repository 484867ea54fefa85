/* The reference: one node, the whole net. */
#include "workloads/net/net_int.h"

/* ---- one node ---- */

/* Inputs and outputs of a node as infer sees them. */
struct frame {
  struct tsr_net_value *values; /* as the arrays are */
  const struct tsr_net_value **in;
  struct tsri_type *types;
  struct tsr_array **out;
};

static void frame_fini(struct frame *f) {
  tsr_mem_free(f->values);
  tsr_mem_free((void *)f->in);
  tsr_mem_free(f->types);
  tsr_mem_free(f->out);
}

static enum tsr_status frame_init(struct frame *f, const struct tsr_net_node *n,
                                  struct tsr_err *err) {
  f->values = tsr_mem_array(n->n_in, sizeof *f->values);
  f->in = tsr_mem_array(n->n_in, sizeof *f->in);
  f->types = tsr_mem_array(n->n_out, sizeof *f->types);
  f->out = tsr_mem_array(n->n_out, sizeof(struct tsr_array *));
  if (f->values && f->in && f->types && f->out) return TSR_OK;
  frame_fini(f);
  return tsr_err_nomem(err);
}

static void describe(const struct tsr_net *net, const struct tsr_net_node *n,
                     const struct tsr_array *const *in, struct frame *f) {
  for (size_t i = 0; i < n->n_in; i++) {
    if (!in[i]) continue;
    const char *name = n->in[i] == SIZE_MAX ? "" : net->values[n->in[i]].name;
    struct tsr_net_value *v = &f->values[i];
    *v = (struct tsr_net_value){.name = name, .type = in[i]->type, .shaped = true};
    v->producer = SIZE_MAX;
    v->rank = in[i]->rank;
    for (unsigned d = 0; d < v->rank; d++) v->dim[d] = in[i]->dim[d];
    v->constant = in[i];
    f->in[i] = v;
  }
}

static enum tsr_status run(struct tsri_eval *e, const struct tsri_op *op, struct frame *f) {
  enum tsr_status s = op->infer(e->shape);
  for (size_t i = 0; !s && i < e->node->n_out; i++) {
    if (e->node->out[i] == SIZE_MAX) continue;
    const struct tsri_type *t = &f->types[i];
    s = tsr_array_create(NULL, t->type, t->rank, t->dim, &f->out[i], e->err);
  }
  return s ? s : op->eval(e);
}

enum tsr_status tsr_net_eval_node(const struct tsr_net *net, const struct tsr_net_node *n,
                                  const struct tsr_array *const *in, struct tsr_array **out,
                                  struct tsr_err *err) {
  if (n->op == TSR_NET_UNKNOWN) return tsri_fail(net, n, err, "the operator is not supported");
  enum tsr_status s = tsri_check_arity(net, n, err);
  for (size_t i = 0; !s && i < n->n_in; i++)
    if (n->in[i] != SIZE_MAX && !in[i])
      s = tsri_fail(net, n, err, "input %zu ('%s') has no value", i,
                    net->values[n->in[i]].name);
  struct frame f;
  if (!s) s = frame_init(&f, n, err);
  if (s) return s;
  describe(net, n, in, &f);
  struct tsri_infer shape = {net, n, f.in, f.types, err};
  struct tsri_eval e = {&shape, net, n, in, f.out, err};
  s = run(&e, tsri_op(n->op), &f);
  for (size_t i = 0; i < n->n_out; i++) {
    if (s) {
      tsr_array_destroy(f.out[i]);
    } else {
      out[i] = f.out[i];
    }
  }
  frame_fini(&f);
  return s;
}

/* ---- the whole net ---- */

struct pass {
  const struct tsr_net *net;
  struct tsr_array **value;
  bool (*keep)(void *arg, size_t value);
  void *arg;
  size_t *readers; /* left, by value */
  const struct tsr_array **in;
  struct tsr_array **out;
  struct tsr_err *err;
};

static bool kept(const struct pass *p, size_t v) {
  return p->keep ? p->keep(p->arg, v) : p->net->values[v].is_output;
}

static bool ours(const struct pass *p, size_t v) {
  const struct tsr_net_value *x = &p->net->values[v];
  bool skipped = x->producer != SIZE_MAX && p->net->nodes[x->producer].skipped;
  return !x->is_input && !x->constant && !skipped;
}

static void drop(struct pass *p, size_t v) {
  tsr_array_destroy(p->value[v]);
  p->value[v] = NULL;
}

static enum tsr_status check_input(const struct pass *p, size_t v) {
  const struct tsr_net_value *x = &p->net->values[v];
  const struct tsr_array *a = p->value[v];
  if (!a)
    return tsr_err_set(p->err, TSR_INPUT, "%s: input '%s' has no value", p->net->path, x->name);
  bool same = a->type == x->type && a->rank == x->rank;
  for (unsigned d = 0; same && d < a->rank; d++) same = a->dim[d] == x->dim[d];
  if (same) return TSR_OK;
  char want[TSRI_TYPE_TEXT], got[TSRI_TYPE_TEXT];
  tsri_type_text(x->type, x->rank, x->dim, NULL, want);
  tsri_type_text(a->type, a->rank, a->dim, NULL, got);
  return tsr_err_set(p->err, TSR_INPUT,
                     "%s: the value of input '%s' does not fit; expected %s, "
                     "got '%s'",
                     p->net->path, x->name, want, got);
}

static void count_readers(struct pass *p, size_t *most_in, size_t *most_out) {
  for (size_t k = 0; k < p->net->n_nodes; k++) {
    const struct tsr_net_node *n = &p->net->nodes[k];
    *most_in = n->n_in > *most_in ? n->n_in : *most_in;
    *most_out = n->n_out > *most_out ? n->n_out : *most_out;
    for (size_t i = 0; !n->folded && i < n->n_in; i++)
      if (n->in[i] != SIZE_MAX) p->readers[n->in[i]]++;
  }
}

/* Values that nobody reads any more. */
static void drop_read(struct pass *p, const struct tsr_net_node *n) {
  for (size_t i = 0; i < n->n_in; i++) {
    size_t v = n->in[i];
    if (v != SIZE_MAX && --p->readers[v] == 0 && ours(p, v) && !kept(p, v)) drop(p, v);
  }
}

static enum tsr_status eval_one(struct pass *p, const struct tsr_net_node *n) {
  const struct tsr_net *net = p->net;
  if (n->skipped) { /* its outputs are given, or missed where they are read */
    drop_read(p, n);
    return TSR_OK;
  }
  for (size_t i = 0; i < n->n_in; i++) {
    size_t v = n->in[i];
    p->in[i] = v == SIZE_MAX             ? NULL
               : net->values[v].constant ? net->values[v].constant
                                         : p->value[v];
    if (v != SIZE_MAX && !p->in[i] && !ours(p, v))
      return tsri_fail(
          net, n, p->err,
          "reads '%s', which comes of a node that was skipped and cannot be computed",
          net->values[v].name);
  }
  for (size_t i = 0; i < n->n_out; i++) p->out[i] = NULL;
  enum tsr_status s = tsr_net_eval_node(net, n, p->in, p->out, p->err);
  if (s) return s;
  for (size_t i = 0; i < n->n_out; i++) {
    size_t v = n->out[i];
    if (v == SIZE_MAX) continue;
    p->value[v] = p->out[i];
    if (!p->readers[v] && !kept(p, v)) drop(p, v);
  }
  drop_read(p, n);
  return TSR_OK;
}

static enum tsr_status eval_all(struct pass *p) {
  const struct tsr_net *net = p->net;
  enum tsr_status s = TSR_OK;
  for (size_t k = 0; !s && k < net->n_inputs; k++) s = check_input(p, net->inputs[k]);
  for (size_t k = 0; !s && k < net->n_nodes; k++)
    if (!net->nodes[k].folded) s = eval_one(p, &net->nodes[k]);
  for (size_t v = 0; s && v < net->n_values; v++)
    if (ours(p, v)) drop(p, v);
  return s;
}

enum tsr_status tsr_net_eval(const struct tsr_net *net, struct tsr_array **value,
                             bool (*keep)(void *arg, size_t value), void *arg,
                             struct tsr_err *err) {
  struct pass p = {.net = net, .value = value, .keep = keep, .arg = arg, .err = err};
  if (!net->finished)
    return tsr_err_set(err, TSR_INPUT, "%s: the net is not finished", net->path);
  for (size_t v = 0; v < net->n_values; v++)
    if (ours(&p, v)) value[v] = NULL;
  size_t most_in = 0, most_out = 0;
  p.readers = tsr_mem_array(net->n_values, sizeof *p.readers);
  if (p.readers) count_readers(&p, &most_in, &most_out);
  p.in = tsr_mem_array(most_in, sizeof *p.in);
  p.out = tsr_mem_array(most_out, sizeof(struct tsr_array *));
  bool ok = p.readers && p.in && p.out;
  enum tsr_status s = ok ? eval_all(&p) : tsr_err_nomem(err);
  tsr_mem_free(p.readers);
  tsr_mem_free((void *)p.in);
  tsr_mem_free(p.out);
  return s;
}
