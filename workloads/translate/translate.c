/* The translation of a net: every node by the row of its operator, then the graph of it. */
#include "workloads/translate/translate.h"

#include <string.h>

#include "sim/base/log.h"
#include "sim/base/str.h"
#include "workloads/build.h"
#include "workloads/translate/product_int.h"

static const struct tsri_tr_row *const families[] = {
    tsri_tr_element_rows, tsri_tr_layout_rows,    tsri_tr_index_rows,  tsri_tr_resize_rows,
    tsri_tr_reduce_rows,  tsri_tr_norm_rows,      tsri_tr_matmul_rows, tsri_tr_conv_rows,
    tsri_tr_integer_rows, tsri_tr_recurrent_rows,
};

static const struct tsri_tr_row *row_of(const char *op) {
  for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
    for (const struct tsri_tr_row *r = families[f]; r->op; r++)
      if (strcmp(r->op, op) == 0) return r;
  return NULL;
}

bool tsr_translate_has(enum tsr_net_op op) {
  return op != TSR_NET_UNKNOWN && row_of(tsr_net_op_name(op)) != NULL;
}

/* Shapes of all that the node touches are known; else nothing can be lowered. */
static const struct tsr_net_value *unshaped(const struct tsr_net *net,
                                            const struct tsr_net_node *n) {
  for (size_t i = 0; i < n->n_in + n->n_out; i++) {
    size_t v = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
    if (v != SIZE_MAX && !net->values[v].shaped) return &net->values[v];
  }
  return NULL;
}

static enum tsr_status lower_node(struct tsri_tr *t, size_t i) {
  const struct tsr_net_node *n = &t->net->nodes[i];
  const struct tsri_tr_whole *w = &t->wholes[i];
  if (n->folded || n->skipped || w->inside) return TSR_OK;
  t->node = i;
  const struct tsri_tr_row *r =
      n->op == TSR_NET_UNKNOWN ? NULL : row_of(tsr_net_op_name(n->op));
  if (!r)
    return tsr_err_set(t->err, TSR_INPUT,
                       "operator '%s' of node '%s' has no kernel on the machine", n->op_name,
                       n->name);
  const struct tsr_net_value *v = unshaped(t->net, n);
  if (v) return tsri_tr_refuse(t, n, "the shape of '%s' is not known", v->name);
  return w->found ? tsri_tr_lower_whole(t, n, w) : r->fn(t, n, r->arg);
}

/* ---- dependencies ---- */

/* Writers of a value, the latest first: a list in `prev`, by operator and result. */
enum { RESULTS = 2 };
struct writers {
  size_t *last; /* by value: entry + 1, 0 = none */
  size_t *prev; /* by entry (operator * RESULTS + result) */
  size_t *list; /* what an operator depends on, in the making */
  size_t n, cap;
};

static bool list_add(struct writers *w, size_t op) {
  void *p = w->list;
  if (!tsr_mem_grow(&p, &w->cap, w->n + 1, sizeof *w->list)) return false;
  w->list = p;
  w->list[w->n++] = op;
  return true;
}

/* Writers of all parts of an operand, each once, in the order in which they run. */
static bool depend(struct writers *w, const struct tsr_operand_view *o) {
  size_t from = w->n;
  for (unsigned p = 0; p < o->n_parts; p++) {
    size_t v = o->part[p].value, at = w->n;
    if (v == SIZE_MAX) continue;
    for (size_t e = w->last[v]; e; e = w->prev[e - 1]) {
      size_t op = (e - 1) / RESULTS;
      bool have = false;
      for (size_t i = from; i < w->n; i++) have = have || w->list[i] == op;
      if (!have && !list_add(w, op)) return false;
    }
    for (size_t lo = at, hi = w->n; lo + 1 < hi; lo++) { /* latest first: turn round */
      size_t x = w->list[lo];
      w->list[lo] = w->list[--hi];
      w->list[hi] = x;
    }
  }
  return true;
}

/* A product of a result with itself names it once. */
static void name_once(struct writers *w, const struct tsr_op *op) {
  if (op->n_steps || !tsr_op_kind_info(op->kind)->has_macs || w->n != 2) return;
  if (w->list[0] == w->list[1]) w->n = 1;
}

static void written(struct writers *w, const struct tsr_view *v, size_t entry) {
  if (v->value == SIZE_MAX) return;
  w->prev[entry] = w->last[v->value];
  w->last[v->value] = entry + 1;
}

static enum tsr_status add_ops(struct tsri_tr *t, struct writers *w, struct tsr_build *b,
                               struct tsr_op_binding *bindings) {
  size_t at = 0;
  for (size_t i = 0; i < t->n; i++) {
    struct tsri_tr_item *it = &t->items[i];
    if (it->dropped) continue;
    w->n = 0;
    bool ok = depend(w, &it->bind.a) && depend(w, &it->bind.b);
    for (size_t s = 0; ok && s < it->op.n_steps; s++) ok = depend(w, &it->bind.step[s]);
    if (!ok) return tsr_err_nomem(t->err);
    name_once(w, &it->op);
    it->op.after = w->list;
    it->op.n_after = w->n;
    enum tsr_status st = tsr_build_add(b, &it->op, t->err);
    if (st) return st;
    if (it->bind.has_out) written(w, &it->bind.out, RESULTS * at);
    if (it->bind.has_out2) written(w, &it->bind.out2, RESULTS * at + 1);
    bindings[at++] = it->bind;
  }
  return TSR_OK;
}

/* ---- the graph ---- */

static void add_value(struct tsr_str *s, const struct tsr_net *net, size_t value) {
  if (value == SIZE_MAX) {
    tsr_str_add(s, " -");
    return;
  }
  const struct tsr_net_value *v = &net->values[value];
  tsr_str_addf(s, " %s:%s[", v->name, tsr_dtype_name(v->type));
  for (unsigned d = 0; v->shaped && d < v->rank; d++)
    tsr_str_addf(s, "%s%llu", d ? "," : "", (unsigned long long)v->dim[d]);
  tsr_str_add(s, "]");
}

/* The model in words: what a run stores as its source. */
static char *manifest(const struct tsr_net *net) {
  struct tsr_str s = TSR_STR_INIT;
  tsr_str_addf(&s, "# model %s, opset %d\n", net->name, net->opset);
  for (size_t i = 0; i < net->n_inputs; i++) {
    tsr_str_add(&s, "input");
    add_value(&s, net, net->inputs[i]);
    tsr_str_add(&s, "\n");
  }
  for (size_t i = 0; i < net->n_nodes; i++) {
    const struct tsr_net_node *n = &net->nodes[i];
    tsr_str_addf(&s, "%s %s", n->op_name, n->name);
    for (size_t k = 0; k < n->n_in; k++) add_value(&s, net, n->in[k]);
    tsr_str_add(&s, " ->");
    for (size_t k = 0; k < n->n_out; k++) add_value(&s, net, n->out[k]);
    tsr_str_add(&s, n->folded ? " (constant)\n" : n->skipped ? " (skipped)\n" : "\n");
  }
  for (size_t i = 0; i < net->n_outputs; i++) {
    tsr_str_add(&s, "output");
    add_value(&s, net, net->outputs[i]);
    tsr_str_add(&s, "\n");
  }
  return tsr_str_take(&s);
}

static enum tsr_status finish(struct tsri_tr *t, struct writers *w, struct tsr_graph **out) {
  if (!t->n)
    return tsr_err_set(t->err, TSR_INPUT,
                       "model '%s' has nothing to compute: its outputs hold no elements, or "
                       "nothing that runs leads to them",
                       t->net->name);
  size_t entries = t->n ? RESULTS * t->n : 1;
  w->last = tsr_mem_array(t->net->n_values, sizeof *w->last);
  w->prev = tsr_mem_array(entries, sizeof *w->prev);
  char *text = manifest(t->net);
  struct tsr_build *b = NULL;
  enum tsr_status s = w->last && w->prev && text ? TSR_OK : tsr_err_nomem(t->err);
  if (!s)
    s = tsr_build_create(t->net->name, t->net->path, text, text ? strlen(text) : 0, &b, t->err);
  tsr_mem_free(text);
  if (s) return s;
  struct tsr_arena *arena = tsr_build_arena(b);
  struct tsr_op_binding *bindings = tsr_arena_array(arena, t->n ? t->n : 1, sizeof *bindings);
  struct tsr_net **nets = tsr_arena_array(arena, 1, sizeof *nets);
  s = bindings && nets ? add_ops(t, w, b, bindings) : tsr_err_nomem(t->err);
  if (s) {
    tsr_build_destroy(b);
    return s;
  }
  struct tsr_graph *g = NULL;
  s = tsr_build_finish(b, t->net->batch, &g, t->err);
  if (s) return s;
  nets[0] = t->net;
  g->bindings = bindings;
  g->nets = nets;
  g->n_nets = 1;
  g->destroy_net = tsr_net_destroy;
  *out = g;
  return TSR_OK;
}

/* What looks at neighbours takes time by the square of the operators: larger graphs stay as
 * they are. */
enum { FUSED_MAX = 10000 };

enum tsr_status tsr_translate(struct tsr_net *net, const char *prefix, struct tsr_graph **out,
                              struct tsr_err *err) {
  TSR_CHECK(net->finished);
  struct tsri_tr t = {.net = net, .err = err, .prefix = prefix ? prefix : ""};
  struct writers w = {0};
  enum tsr_status s = TSR_OK;
  for (size_t v = 0; v < net->n_values; v++) net->values[v].alias = SIZE_MAX;
  s = tsri_tr_patterns(&t);
  for (size_t i = 0; !s && i < net->n_nodes; i++) {
    s = lower_node(&t, i);
    if (!s && tsr_interrupted) s = tsr_err_set(err, TSR_SIM, "interrupted");
  }
  if (!s) s = tsri_tr_outputs(&t);
  if (!s && t.n <= FUSED_MAX) s = tsri_tr_free_layout(&t);
  if (!s && t.n <= FUSED_MAX) s = tsri_tr_fuse(&t);
  if (!s && t.n <= FUSED_MAX) s = tsri_tr_settle(&t);
  if (!s) s = finish(&t, &w, out);
  tsr_mem_free(w.last);
  tsr_mem_free(w.prev);
  tsr_mem_free(w.list);
  tsr_mem_free(t.items);
  tsr_mem_free(t.wholes);
  tsr_mem_free(t.slot);
  return s;
}
