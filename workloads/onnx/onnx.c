/* A ModelProto as a net: opset, initialisers, inputs, nodes, declared shapes. */
#include "workloads/onnx/onnx.h"

#include <inttypes.h>
#include <string.h>

#include "sim/base/io.h"
#include "sim/base/str.h"
#include "workloads/onnx/onnx_int.h"

/* One model being read. */
struct reader {
  const char *path;
  struct tsr_net *net;
  struct tsr_arena *scratch; /* what tsr_net_node copies */
  const char **used;         /* names of nodes, open addressing */
  size_t n_used;             /* slots, a power of two */
  size_t renamed;            /* nodes whose name was taken */
  const char *first_renamed;
  struct tsr_err *err;
};

/* ---- the model ---- */

static bool is_default(const char *domain) {
  return !domain || !domain[0] || tsr_str_eq(domain, "ai.onnx");
}

static bool uses_default(const Onnx__GraphProto *g) {
  for (size_t i = 0; i < g->n_node; i++)
    if (is_default(g->node[i]->domain)) return true;
  return false;
}

static enum tsr_status find_opset(const char *path, const Onnx__ModelProto *m, int *out,
                                  struct tsr_err *err) {
  int64_t v = 0;
  for (size_t i = 0; i < m->n_opset_import; i++)
    if (is_default(m->opset_import[i]->domain) && m->opset_import[i]->has_version)
      v = m->opset_import[i]->version;
  if (v == 0 && !uses_default(m->graph)) v = TSR_ONNX_OPSET_MAX; /* nothing depends on it */
  if (v < 1 || v > INT32_MAX)
    return tsr_err_set(err, TSR_INPUT,
                       "%s: the model names no opset of ONNX's operators; expected an import "
                       "of the default domain, version 1 to %d, got '%" PRId64 "'",
                       path, TSR_ONNX_OPSET_MAX, v);
  if (v > TSR_ONNX_OPSET_MAX)
    tsr_err_warn(err, NULL,
                 "%s: the model is of opset %" PRId64
                 "; operators are read with their meaning at opset %d",
                 path, v, TSR_ONNX_OPSET_MAX);
  *out = (int)v;
  return TSR_OK;
}

static enum tsr_status check_model(const char *path, const Onnx__ModelProto *m,
                                   struct tsr_err *err) {
  if (!m->graph) return tsr_err_set(err, TSR_INPUT, "%s: the model has no graph", path);
  if (m->n_functions)
    return tsr_err_set(err, TSR_INPUT,
                       "%s: the model defines the function '%s'; expected a graph of "
                       "operators alone",
                       path, tsri_onnx_text(m->functions[0]->name));
  if (m->graph->n_sparse_initializer) {
    const Onnx__SparseTensorProto *s = m->graph->sparse_initializer[0];
    return tsr_err_set(err, TSR_INPUT,
                       "%s: initialiser '%s' is a sparse tensor; expected a dense one", path,
                       s->values ? tsri_onnx_text(s->values->name) : "");
  }
  return TSR_OK;
}

/* The graph's own name, else the file's without its folder. */
static const char *name_of(const char *path, const Onnx__GraphProto *g) {
  if (g->name && g->name[0]) return g->name;
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* ---- initialisers ---- */

static enum tsr_status read_initialiser(struct reader *r, const Onnx__TensorProto *t) {
  const char *name = tsri_onnx_text(t->name);
  struct tsr_array *a;
  size_t at;
  if (!name[0])
    return tsr_err_set(r->err, TSR_INPUT, "%s: an initialiser has no name", r->path);
  enum tsr_status st = tsr_net_value(r->net, name, &at, r->err);
  if (st != TSR_OK) return st;
  if (r->net->values[at].constant)
    return tsr_err_set(r->err, TSR_INPUT, "%s: initialiser '%s' stands twice", r->path, name);
  char *label = tsr_arena_printf(r->scratch, "tensor '%s'", name);
  if (!label) return tsr_err_nomem(r->err);
  st = tsri_onnx_tensor(r->path, label, t, r->net->arena, &a, r->err);
  return st == TSR_OK ? tsr_net_constant(r->net, at, a, r->err) : st;
}

/* ---- attributes ---- */

/* The node that an attribute belongs to, as messages say it. */
struct owner {
  struct reader *r;
  const char *node, *op;
  bool known; /* net.def has the operator */
};

static enum tsr_status refuse_attr(const struct owner *o, const Onnx__AttributeProto *a,
                                   const char *what) {
  return tsr_err_set(o->r->err, TSR_INPUT, "%s: node '%s' (%s): attribute '%s' %s", o->r->path,
                     o->node, o->op, tsri_onnx_text(a->name), what);
}

/* Old models leave the type to the field that is filled. */
static int type_of(const Onnx__AttributeProto *a) {
  if (a->has_type && a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED)
    return (int)a->type;
  if (a->has_i) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
  if (a->has_f) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
  if (a->has_s) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
  if (a->t) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
  if (a->g) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
  if (a->n_floats) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
  if (a->n_strings) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
  return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
}

static char *text_of(struct tsr_arena *arena, const ProtobufCBinaryData *s) {
  return s->len ? tsr_arena_strndup(arena, (const char *)s->data, s->len)
                : tsr_arena_strdup(arena, "");
}

static enum tsr_status read_texts(const struct owner *o, const Onnx__AttributeProto *a,
                                  struct tsr_net_attr *out) {
  struct tsr_arena *arena = o->r->scratch;
  const char **texts = tsr_arena_array(arena, a->n_strings, sizeof *texts);
  if (!texts) return tsr_err_nomem(o->r->err);
  for (size_t i = 0; i < a->n_strings; i++)
    if (!(texts[i] = text_of(arena, &a->strings[i]))) return tsr_err_nomem(o->r->err);
  out->n = a->n_strings;
  out->texts = texts;
  return TSR_OK;
}

static enum tsr_status read_floats(const struct owner *o, const Onnx__AttributeProto *a,
                                   struct tsr_net_attr *out) {
  double *f = tsr_arena_array(o->r->scratch, a->n_floats, sizeof *f);
  if (!f) return tsr_err_nomem(o->r->err);
  for (size_t i = 0; i < a->n_floats; i++) f[i] = (double)a->floats[i];
  out->n = a->n_floats;
  out->floats = f;
  return TSR_OK;
}

static enum tsr_status read_array(const struct owner *o, const Onnx__AttributeProto *a,
                                  struct tsr_net_attr *out) {
  struct tsr_array *array;
  if (!a->t) return refuse_attr(o, a, "holds no tensor");
  char *label = tsr_arena_printf(o->r->scratch, "attribute '%s' of node '%s' (%s)",
                                 tsri_onnx_text(a->name), o->node, o->op);
  if (!label) return tsr_err_nomem(o->r->err);
  enum tsr_status st =
      tsri_onnx_tensor(o->r->path, label, a->t, o->r->net->arena, &array, o->r->err);
  if (st == TSR_OK) out->array = array;
  return st;
}

/* *keep: whether the node gets the attribute.  What no operator of net.def can use is dropped
 * from operators that it lacks: whether those are refused is tsr_net_finish's to say. */
static enum tsr_status read_attr(const struct owner *o, const Onnx__AttributeProto *a,
                                 struct tsr_net_attr *out, bool *keep) {
  *keep = true;
  *out = (struct tsr_net_attr){.name = tsri_onnx_text(a->name)};
  if (!out->name[0])
    return tsr_err_set(o->r->err, TSR_INPUT,
                       "%s: node '%s' (%s) has an attribute without a name", o->r->path,
                       o->node, o->op);
  if (a->ref_attr_name && a->ref_attr_name[0])
    return refuse_attr(o, a, "refers to a function's attribute; expected a value");
  switch (type_of(a)) {
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
    out->kind = TSR_ATTR_INT;
    out->i = a->i;
    return TSR_OK;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
    out->kind = TSR_ATTR_FLOAT;
    out->f = (double)a->f;
    return TSR_OK;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
    out->kind = TSR_ATTR_TEXT;
    out->text = text_of(o->r->scratch, &a->s);
    return out->text ? TSR_OK : tsr_err_nomem(o->r->err);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
    out->kind = TSR_ATTR_INTS;
    out->n = a->n_ints;
    out->ints = a->ints;
    return TSR_OK;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
    out->kind = TSR_ATTR_FLOATS;
    return read_floats(o, a, out);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
    out->kind = TSR_ATTR_TEXTS;
    return read_texts(o, a, out);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
    out->kind = TSR_ATTR_ARRAY;
    *keep = o->known || (a->t && tsri_onnx_type_held(a->t->data_type));
    return *keep ? read_array(o, a, out) : TSR_OK;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH:
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPHS: out->kind = TSR_ATTR_GRAPH; return TSR_OK;
  default: break;
  }
  *keep = false;
  return o->known ? refuse_attr(o, a,
                                "is a sparse tensor, a list of tensors or a type; expected a "
                                "number, a text, a tensor or a list of numbers or texts")
                  : TSR_OK;
}

/* ---- nodes ---- */

/* Takes a name for a node; false when it is taken already. */
static bool take_name(struct reader *r, const char *name) {
  size_t at = (size_t)tsr_fnv1a(TSR_FNV_INIT, name, strlen(name)) & (r->n_used - 1);
  for (; r->used[at]; at = (at + 1) & (r->n_used - 1))
    if (tsr_str_eq(r->used[at], name)) return false;
  r->used[at] = name;
  return true;
}

static enum tsr_status make_names(struct reader *r, size_t n_nodes) {
  r->n_used = 16;
  while (r->n_used < 2 * n_nodes) r->n_used *= 2;
  r->used = tsr_arena_array(r->scratch, r->n_used, sizeof *r->used);
  return r->used ? TSR_OK : tsr_err_nomem(r->err);
}

/* The node's own name, `<op>_<index>` where it has none, with a number behind it where another
 * node has it.  A number is tried from the node's index on, which hardly anything else has. */
static enum tsr_status name_node(struct reader *r, const Onnx__NodeProto *n, size_t index,
                                 const char **out) {
  const char *own = tsri_onnx_text(n->name);
  const char *name =
      own[0] ? own : tsr_arena_printf(r->scratch, "%s_%zu", tsri_onnx_text(n->op_type), index);
  const char *base = name;
  for (size_t i = index; name && !take_name(r, name); i++)
    name = tsr_arena_printf(r->scratch, "%s_%zu", base, i);
  if (!name) return tsr_err_nomem(r->err);
  if (own[0] && name != own && r->renamed++ == 0) r->first_renamed = own;
  *out = name;
  return TSR_OK;
}

static enum tsr_status read_values(struct reader *r, char *const *names, size_t n,
                                   size_t **out) {
  size_t *v = tsr_arena_array(r->scratch, n, sizeof *v);
  if (!v) return tsr_err_nomem(r->err);
  for (size_t i = 0; i < n; i++) {
    v[i] = SIZE_MAX;
    if (!tsri_onnx_text(names[i])[0]) continue;
    enum tsr_status st = tsr_net_value(r->net, names[i], &v[i], r->err);
    if (st != TSR_OK) return st;
  }
  *out = v;
  return TSR_OK;
}

static enum tsr_status read_attrs(const struct owner *o, const Onnx__NodeProto *n,
                                  struct tsr_net_attr **out, size_t *count) {
  struct tsr_net_attr *a = tsr_arena_array(o->r->scratch, n->n_attribute, sizeof *a);
  size_t kept = 0;
  if (!a) return tsr_err_nomem(o->r->err);
  for (size_t i = 0; i < n->n_attribute; i++) {
    bool keep;
    enum tsr_status st = read_attr(o, n->attribute[i], &a[kept], &keep);
    if (st != TSR_OK) return st;
    for (size_t j = 0; keep && j < kept; j++)
      if (tsr_str_eq(a[j].name, a[kept].name))
        return refuse_attr(o, n->attribute[i], "stands twice");
    kept += keep;
  }
  *out = a;
  *count = kept;
  return TSR_OK;
}

static enum tsr_status read_node(struct reader *r, const Onnx__NodeProto *n, size_t index) {
  struct owner o = {.r = r, .op = tsri_onnx_text(n->op_type)};
  const char *domain = is_default(n->domain) ? "" : n->domain;
  struct tsr_net_attr *attrs = NULL;
  size_t *in = NULL, *out = NULL, n_attrs = 0;
  enum tsr_status st = name_node(r, n, index, &o.node);
  if (st != TSR_OK) return st;
  if (!o.op[0])
    return tsr_err_set(r->err, TSR_INPUT, "%s: node '%s' names no operator", r->path, o.node);
  o.known = tsr_net_op_find(o.op) != TSR_NET_UNKNOWN;
  st = read_values(r, n->input, n->n_input, &in);
  if (st == TSR_OK) st = read_values(r, n->output, n->n_output, &out);
  if (st == TSR_OK) st = read_attrs(&o, n, &attrs, &n_attrs);
  if (st != TSR_OK) return st;
  return tsr_net_node(r->net, o.op, domain, o.node, in, n->n_input, out, n->n_output, attrs,
                      n_attrs, r->err);
}

static enum tsr_status read_nodes(struct reader *r, const Onnx__GraphProto *g) {
  enum tsr_status st = make_names(r, g->n_node);
  for (size_t i = 0; i < g->n_node && st == TSR_OK; i++) st = read_node(r, g->node[i], i);
  if (st == TSR_OK && r->renamed)
    tsr_err_warn(r->err, NULL,
                 "%s: node name '%s' stands more than once; %zu node%s got a number behind "
                 "their name",
                 r->path, r->first_renamed, r->renamed, r->renamed == 1 ? "" : "s");
  return st;
}

/* A value that nothing makes would only be found once it is read. */
static enum tsr_status check_sources(const struct tsr_net *net, struct tsr_err *err) {
  for (size_t i = 0; i < net->n_nodes; i++)
    for (size_t j = 0; j < net->nodes[i].n_in; j++) {
      size_t v = net->nodes[i].in[j];
      if (v == SIZE_MAX || net->values[v].producer != SIZE_MAX || net->values[v].is_input ||
          net->values[v].constant)
        continue;
      return tsr_err_set(err, TSR_INPUT,
                         "%s: node '%s' (%s) reads '%s', which nothing makes; expected an "
                         "input, an initialiser or a node's output",
                         net->path, net->nodes[i].name, net->nodes[i].op_name,
                         net->values[v].name);
    }
  return TSR_OK;
}

static enum tsr_status read_graph(struct reader *r, const Onnx__GraphProto *g) {
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; i < g->n_initializer && st == TSR_OK; i++)
    st = read_initialiser(r, g->initializer[i]);
  if (st == TSR_OK) st = tsri_onnx_declare_inputs(r->net, g, r->err);
  if (st == TSR_OK) st = read_nodes(r, g);
  if (st == TSR_OK) st = check_sources(r->net, r->err);
  if (st == TSR_OK) st = tsri_onnx_declare_rest(r->net, g, r->err);
  return st;
}

static enum tsr_status read_model(const char *path, const Onnx__ModelProto *m,
                                  struct tsr_net **out, struct tsr_err *err) {
  struct reader r = {.path = path, .err = err};
  int opset = 0;
  enum tsr_status st = check_model(path, m, err);
  if (st == TSR_OK) st = find_opset(path, m, &opset, err);
  if (st == TSR_OK) st = tsr_net_create(name_of(path, m->graph), path, opset, &r.net, err);
  if (st != TSR_OK) return st;
  r.scratch = tsr_arena_create();
  st = r.scratch ? read_graph(&r, m->graph) : tsr_err_nomem(err);
  if (r.scratch) tsr_arena_destroy(r.scratch);
  if (st == TSR_OK)
    *out = r.net;
  else
    tsr_net_destroy(r.net);
  return st;
}

/* `owned`: the same bytes where they are to be freed as soon as they are unpacked. */
static enum tsr_status parse(const char *path, const void *data, size_t len,
                             unsigned char *owned, const struct tsr_net_options *o,
                             struct tsr_net **out, struct tsr_err *err) {
  struct tsri_onnx_memory memory;
  ProtobufCMessage *m;
  struct tsr_net *net;
  tsri_onnx_memory_init(&memory, len);
  enum tsr_status st =
      tsri_onnx_unpack(path, &onnx__model_proto__descriptor, data, len, &memory, &m, err);
  tsr_mem_free(owned);
  if (st != TSR_OK) return st;
  st = read_model(path, (const Onnx__ModelProto *)m, &net, err);
  protobuf_c_message_free_unpacked(m, &memory.allocator);
  if (st != TSR_OK) return st;
  if (o) st = tsr_net_finish(net, o, err);
  if (st == TSR_OK)
    *out = net;
  else
    tsr_net_destroy(net);
  return st;
}

enum tsr_status tsr_onnx_parse(const char *path, const void *data, size_t len,
                               const struct tsr_net_options *o, struct tsr_net **out,
                               struct tsr_err *err) {
  return parse(path, data, len, NULL, o, out, err);
}

enum tsr_status tsr_onnx_read(const char *path, const struct tsr_net_options *o,
                              struct tsr_net **out, struct tsr_err *err) {
  unsigned char *data;
  size_t len;
  enum tsr_status st = tsr_io_read_bytes(path, TSR_ONNX_FILE_MAX, &data, &len, err);
  return st == TSR_OK ? parse(path, data, len, data, o, out, err) : st;
}
