/* Operands of single layers by name: `<layer>.a`, `<layer>.b`, `<layer>.c` of workloads that
 * are no model.
 *
 * Files given for them (--input), held against them (--expect) or written of them (--dump) are
 * values of a net without nodes; everything else is drawn as ever.  Such a value is whole and
 * in the order in which the operand lies (kernels/lower/README.md): its file may have any
 * dimensions of as many elements. */
#include <string.h>

#include "sim/run/run_int.h"
#include "workloads/net/net.h"
#include "workloads/translate/view.h"

struct naming {
  struct tsr_graph *g;
  struct tsr_net *net;
  struct tsr_op_binding *bindings;
  bool alone;
  struct tsr_err *err;
};

/* The operator that a name is of, and which operand. */
static bool split(const struct tsr_graph *g, const char *name, size_t *op, char *operand) {
  size_t n = strlen(name);
  if (n < 3 || name[n - 2] != '.' || !strchr("abc", name[n - 1])) return false;
  *operand = name[n - 1];
  for (*op = 0; *op < g->n_ops; ++*op)
    if (!strncmp(g->ops[*op].name, name, n - 2) && !g->ops[*op].name[n - 2]) return true;
  return false;
}

static enum tsr_status bind(struct naming *x, struct tsr_operand_view *v, size_t value,
                            uint64_t n) {
  uint64_t *cols = tsr_arena_array(x->g->arena, 1, sizeof *cols);
  struct tsr_view *part = tsr_arena_array(x->g->arena, 1, sizeof *part);
  if (!cols || !part) return tsr_err_nomem(x->err);
  tsr_view_whole(part, value, n);
  *cols = n;
  *v = (struct tsr_operand_view){1, 1, cols, part};
  return TSR_OK;
}

static enum tsr_status name_one(struct naming *x, const char *name, bool input) {
  size_t op, value;
  char operand;
  uint64_t n[3];
  bool here = split(x->g, name, &op, &operand);
  if (!here && !x->alone) return TSR_OK;
  if (!here || (input && operand == 'c'))
    return tsr_err_set(x->err, TSR_INPUT,
                       "workload '%s' has no %s '%s'; expected <layer>.a or <layer>.b%s",
                       x->g->name, input ? "input" : "tensor", name,
                       input ? "" : ", or <layer>.c for its result");
  if (tsr_net_find(x->net, name) != SIZE_MAX) return TSR_OK;
  if (!tsr_op_elems(&x->g->ops[op], &n[0], &n[1], &n[2]) || !n[operand - 'a'])
    return tsr_err_set(x->err, TSR_INPUT, "layer '%s' has no operand '%c'", x->g->ops[op].name,
                       operand);
  uint64_t elems = n[operand - 'a'];
  enum tsr_status st =
      tsr_net_value_new(x->net, name, TSR_DTYPE_F64, 1, &elems, &value, x->err);
  struct tsr_op_binding *b = &x->bindings[op];
  if (!st && operand == 'c') {
    tsr_view_whole(&b->out, value, elems);
    b->has_out = !st;
    return st;
  }
  if (!st) st = tsr_net_input(x->net, value, x->err);
  return st ? st : bind(x, operand == 'a' ? &b->a : &b->b, value, elems);
}

static enum tsr_status name_all(struct naming *x, const struct tsr_run_options *o) {
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; !st && i < o->n_inputs; i++) st = name_one(x, o->inputs[i].name, true);
  for (size_t i = 0; !st && i < o->n_expects; i++) st = name_one(x, o->expects[i].name, false);
  for (size_t i = 0; !st && i < o->n_dumps; i++) st = name_one(x, o->dumps[i].name, false);
  struct tsr_net_options none = {0};
  return st ? st : tsr_net_finish(x->net, &none, x->err);
}

enum tsr_status tsri_name_operands(const struct tsr_run_options *o, bool alone,
                                   struct tsr_graph *g, struct tsr_err *err) {
  if (g->bindings || !(o->n_inputs || o->n_expects || o->n_dumps)) return TSR_OK;
  struct naming x = {.g = g, .alone = alone, .err = err};
  enum tsr_status st = tsr_net_create(g->name, g->name, 1, &x.net, err);
  if (st) return st;
  x.bindings = tsr_arena_array(g->arena, g->n_ops, sizeof *x.bindings);
  struct tsr_net **nets = tsr_arena_array(g->arena, 1, sizeof(struct tsr_net *));
  st = x.bindings && nets ? name_all(&x, o) : tsr_err_nomem(err);
  if (st) {
    tsr_net_destroy(x.net);
    return st;
  }
  nets[0] = x.net;
  g->nets = nets;
  g->n_nets = 1;
  g->destroy_net = tsr_net_destroy;
  g->bindings = x.bindings;
  return TSR_OK;
}
