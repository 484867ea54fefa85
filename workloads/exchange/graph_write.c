/* A graph as JSON: an operator a line. */
#include <inttypes.h>
#include <math.h> /* isinf, isnan */
#include <string.h>

#include "workloads/exchange/graph_int.h"

static void add_number(struct tsr_str *s, double v) {
  if (isinf(v))
    tsr_str_add(s, v < 0 ? "\"-inf\"" : "\"inf\"");
  else
    tsr_str_addf(s, "%.17g", v);
}

static enum tsr_status add_sizes(struct tsr_str *s, const char *name,
                                 const struct tsri_graph_size *sizes, const void *from,
                                 const char *sep, struct tsr_err *err) {
  for (const struct tsri_graph_size *z = sizes; z->key; z++) {
    uint64_t v;
    memcpy(&v, (const char *)from + z->place, sizeof v);
    if (v > INT64_MAX)
      return tsr_err_set(err, TSR_INPUT,
                         "%s of '%s' is too large for JSON; expected at most 2^63 - 1, got "
                         "'%" PRIu64 "'",
                         z->key, name, v);
    tsr_str_addf(s, "%s\"%s\": %" PRIu64, z == sizes ? sep : ", ", z->key, v);
  }
  return TSR_OK;
}

/* Keys of an object, commas between. */
struct object {
  struct tsr_str *s;
  const char *sep;
};

static void key(struct object *o, const char *name) {
  tsr_str_addf(o->s, "%s\"%s\": ", o->sep, name);
  o->sep = ", ";
}

static void key_size(struct object *o, const char *name, uint64_t v) {
  key(o, name);
  tsr_str_addf(o->s, "%" PRIu64, v);
}

static void key_number(struct object *o, const char *name, double v) {
  key(o, name);
  add_number(o->s, v);
}

static void key_text(struct object *o, const char *name, const char *v) {
  key(o, name);
  tsr_str_add_json(o->s, v);
}

static void key_numbers(struct object *o, const struct tsr_op_info *i, double alpha,
                        double beta, double zero, enum tsr_with with) {
  if (i->alpha) key_number(o, "alpha", alpha);
  if (i->beta) key_number(o, "beta", beta);
  if (i->zero) key_number(o, "zero", zero);
  if (i->b == TSR_SHAPE_WITH) key_text(o, "with", tsr_with_name(with));
}

/* What the kind takes, said even where it is the default. */
static void add_attributes(struct tsr_str *s, const struct tsr_op *op) {
  const struct tsr_op_info *i = tsr_op_kind_info(op->kind);
  const struct tsr_op_attr *t = &op->attr;
  struct object o = {s, ", \"attributes\": {"};
  const char *none = o.sep;
  if (i->cls == TSR_CLASS_ATTENTION) {
    key_size(&o, "heads", t->heads);
    key_size(&o, "kv_heads", t->kv_heads);
    key(&o, "causal");
    tsr_str_add(s, t->causal ? "true" : "false");
  }
  if (i->table) key_size(&o, "table", t->table);
  if (i->experts) key_size(&o, "experts", t->experts);
  if (i->eps) key_number(&o, "eps", t->eps);
  key_numbers(&o, i, t->alpha, t->beta, t->zero, t->with);
  if (o.sep != none) tsr_str_add(s, "}");
}

static void add_epilogue(struct tsr_str *s, const struct tsr_op *op) {
  if (op->n_steps == 0) return;
  tsr_str_add(s, ", \"epilogue\": [");
  for (size_t i = 0; i < op->n_steps; i++) {
    const struct tsr_op_step *x = &op->step[i];
    struct object o = {s, i ? ", {" : "{"};
    key_text(&o, "op", tsr_op_kind_name(x->kind));
    key_numbers(&o, tsr_op_kind_info(x->kind), x->alpha, x->beta, x->zero, x->with);
    tsr_str_add(s, "}");
  }
  tsr_str_add(s, "]");
}

static void add_formats(struct tsr_str *s, const struct tsr_op *op) {
  const struct {
    const char *name, *value;
  } rows[] = {{"a", op->format_a},
              {"b", op->format_b},
              {"acc", op->format_acc},
              {"out", op->format_out}};
  struct object o = {s, ", \"formats\": {"};
  const char *none = o.sep;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (*rows[i].value) key_text(&o, rows[i].name, rows[i].value);
  if (o.sep != none) tsr_str_add(s, "}");
}

static void add_after(struct tsr_str *s, const struct tsr_graph *g, const struct tsr_op *op) {
  tsr_str_add(s, ", \"after\": [");
  for (size_t i = 0; i < op->n_after; i++) {
    if (i) tsr_str_add(s, ", ");
    tsr_str_add_json(s, g->ops[op->after[i]].name);
  }
  tsr_str_add(s, "]");
}

static enum tsr_status add_op(struct tsr_str *s, const struct tsr_graph *g,
                              const struct tsr_op *op, struct tsr_err *err) {
  tsr_str_add(s, "{\"name\": ");
  tsr_str_add_json(s, op->name);
  tsr_str_addf(s, ", \"op\": \"%s\"", tsr_op_kind_name(op->kind));
  enum tsr_status st = add_sizes(s, op->name, tsri_graph_sizes, op, ", ", err);
  if (!st && op->has_conv) {
    st = add_sizes(s, op->name, tsri_graph_conv, &op->conv, ", \"conv\": {", err);
    tsr_str_add(s, "}");
  }
  if (st) return st;
  add_attributes(s, op);
  add_epilogue(s, op);
  add_formats(s, op);
  if (*op->sparsity) {
    tsr_str_add(s, ", \"sparsity\": ");
    tsr_str_add_json(s, op->sparsity);
  }
  add_after(s, g, op);
  tsr_str_add(s, "}");
  return TSR_OK;
}

enum tsr_status tsr_graph_json_write(const struct tsr_graph *g, struct tsr_str *out,
                                     struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  tsr_str_addf(out, "{\"tessera_graph\": %d,\n \"name\": ", TSR_GRAPH_JSON_VERSION);
  tsr_str_add_json(out, g->name);
  tsr_str_addf(out, ",\n \"batch\": %" PRIu64 ",\n \"operators\": [", g->batch);
  for (size_t i = 0; i < g->n_ops && !st; i++) {
    tsr_str_add(out, i ? ",\n  " : "\n  ");
    st = add_op(out, g, &g->ops[i], err);
  }
  tsr_str_add(out, "\n ]}\n");
  if (!st && out->failed) st = tsr_err_nomem(err);
  return st;
}
