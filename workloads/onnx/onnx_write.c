/* A net as a ModelProto.  All messages live in one arena until they are packed. */
#include "workloads/onnx/onnx_write.h"

#include <inttypes.h>
#include <string.h>

#include "sim/base/str.h"
#include "workloads/onnx/onnx_int.h"

enum { IR_VERSION = 8 };

struct writer {
  const struct tsr_net *net;
  struct tsr_arena *arena;
  struct tsr_err *err;
};

/* protobuf-c takes texts to write as if it could change them. */
static char *text(struct writer *w, const char *s) {
  return tsr_arena_strdup(w->arena, s);
}

/* n messages of `size` bytes each in one block, and the list of them. */
static void **messages(struct writer *w, size_t n, size_t size, void (*init)(void *)) {
  void **list = tsr_arena_array(w->arena, n, sizeof *list);
  unsigned char *block = tsr_arena_array(w->arena, n, size);
  if (!list || !block) return NULL;
  for (size_t i = 0; i < n; i++) {
    list[i] = block + i * size;
    init(list[i]);
  }
  return list;
}

#define MESSAGES(Type, init_fn)                                   \
  static void init_##init_fn(void *p) {                           \
    onnx__##init_fn##__init(p);                                   \
  }                                                               \
  static Type **new_##init_fn(struct writer *w, size_t n) {       \
    return (Type **)messages(w, n, sizeof(Type), init_##init_fn); \
  }
MESSAGES(Onnx__ModelProto, model_proto)
MESSAGES(Onnx__OperatorSetIdProto, operator_set_id_proto)
MESSAGES(Onnx__GraphProto, graph_proto)
MESSAGES(Onnx__NodeProto, node_proto)
MESSAGES(Onnx__AttributeProto, attribute_proto)
MESSAGES(Onnx__TensorProto, tensor_proto)
MESSAGES(Onnx__ValueInfoProto, value_info_proto)
MESSAGES(Onnx__TypeProto, type_proto)
MESSAGES(Onnx__TypeProto__Tensor, type_proto__tensor)
MESSAGES(Onnx__TensorShapeProto, tensor_shape_proto)
MESSAGES(Onnx__TensorShapeProto__Dimension, tensor_shape_proto__dimension)
#undef MESSAGES

/* ---- tensors ---- */

static enum tsr_status put_dims(struct writer *w, const struct tsr_array *a,
                                Onnx__TensorProto *t) {
  t->n_dims = a->rank;
  t->dims = tsr_arena_array(w->arena, a->rank, sizeof *t->dims);
  if (!t->dims) return tsr_err_nomem(w->err);
  for (unsigned i = 0; i < a->rank; i++) t->dims[i] = (int64_t)a->dim[i];
  return TSR_OK;
}

static enum tsr_status put_tensor(struct writer *w, const struct tsr_array *a, const char *name,
                                  Onnx__TensorProto *t) {
  unsigned width = tsr_dtype_bytes(a->type);
  uint64_t n;
  enum tsr_status st = put_dims(w, a, t);
  if (st != TSR_OK) return st;
  if (!tsr_mul_u64(a->n, width, &n) || n > TSR_ONNX_FILE_MAX)
    return tsr_err_set(w->err, TSR_INPUT,
                       "tensor '%s' is too large for an ONNX file; expected at most %" PRIu64
                       " bytes",
                       tsri_onnx_text(name), TSR_ONNX_FILE_MAX);
  t->has_data_type = true;
  t->data_type = (int32_t)a->type;
  t->has_raw_data = true;
  t->raw_data.len = (size_t)n;
  t->raw_data.data = tsr_arena_alloc(w->arena, (size_t)n);
  if (name) t->name = text(w, name);
  if (!t->raw_data.data || (name && !t->name)) return tsr_err_nomem(w->err);
  for (uint64_t i = 0; i < a->n; i++)
    tsr_dtype_store(a->type, a->f ? tsr_dtype_round(a->type, a->f[i]) : 0, a->i ? a->i[i] : 0,
                    t->raw_data.data + i * width);
  return TSR_OK;
}

/* ---- attributes ---- */

static bool put_list(struct writer *w, const struct tsr_net_attr *from,
                     Onnx__AttributeProto *to) {
  switch (from->kind) {
  case TSR_ATTR_INTS:
    to->n_ints = from->n;
    to->ints = tsr_arena_array(w->arena, from->n, sizeof *to->ints);
    for (size_t i = 0; to->ints && i < from->n; i++) to->ints[i] = from->ints[i];
    return to->ints != NULL;
  case TSR_ATTR_FLOATS:
    to->n_floats = from->n;
    to->floats = tsr_arena_array(w->arena, from->n, sizeof *to->floats);
    for (size_t i = 0; to->floats && i < from->n; i++)
      to->floats[i] = (float)tsr_dtype_round(TSR_DTYPE_F32, from->floats[i]);
    return to->floats != NULL;
  default: break;
  }
  to->n_strings = from->n;
  to->strings = tsr_arena_array(w->arena, from->n, sizeof *to->strings);
  for (size_t i = 0; to->strings && i < from->n; i++) {
    char *s = text(w, from->texts[i]);
    if (!s) return false;
    to->strings[i] = (ProtobufCBinaryData){strlen(s), (uint8_t *)s};
  }
  return to->strings != NULL;
}

static enum tsr_status put_attr(struct writer *w, const struct tsr_net_node *n,
                                const struct tsr_net_attr *from, Onnx__AttributeProto *to) {
  static const Onnx__AttributeProto__AttributeType types[] = {
      [TSR_ATTR_INT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
      [TSR_ATTR_FLOAT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
      [TSR_ATTR_TEXT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING,
      [TSR_ATTR_INTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
      [TSR_ATTR_FLOATS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS,
      [TSR_ATTR_TEXTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS,
      [TSR_ATTR_ARRAY] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR,
  };
  bool ok = (to->name = text(w, from->name)) != NULL;
  to->has_type = true;
  if (from->kind != TSR_ATTR_GRAPH) to->type = types[from->kind];
  switch (from->kind) {
  case TSR_ATTR_INT:
    to->has_i = true;
    to->i = from->i;
    break;
  case TSR_ATTR_FLOAT:
    to->has_f = true;
    to->f = (float)tsr_dtype_round(TSR_DTYPE_F32, from->f);
    break;
  case TSR_ATTR_TEXT:
    to->has_s = true;
    to->s.data = (uint8_t *)text(w, from->text);
    to->s.len = strlen(from->text);
    ok &= to->s.data != NULL;
    break;
  case TSR_ATTR_INTS:
  case TSR_ATTR_FLOATS:
  case TSR_ATTR_TEXTS: ok &= put_list(w, from, to); break;
  case TSR_ATTR_ARRAY: {
    Onnx__TensorProto **t = new_tensor_proto(w, 1);
    if (!t) return tsr_err_nomem(w->err);
    to->t = t[0];
    enum tsr_status st = put_tensor(w, from->array, NULL, t[0]);
    if (st != TSR_OK) return st;
    break;
  }
  case TSR_ATTR_GRAPH:
    return tsr_err_set(w->err, TSR_INPUT,
                       "%s: node '%s' (%s) has a subgraph, which cannot be written",
                       w->net->path, n->name, n->op_name);
  }
  return ok ? TSR_OK : tsr_err_nomem(w->err);
}

/* ---- nodes ---- */

static char **value_names(struct writer *w, const size_t *list, size_t n) {
  char **names = tsr_arena_array(w->arena, n, sizeof *names);
  for (size_t i = 0; names && i < n; i++) {
    names[i] = text(w, list[i] == SIZE_MAX ? "" : w->net->values[list[i]].name);
    if (!names[i]) return NULL;
  }
  return names;
}

static enum tsr_status put_node(struct writer *w, const struct tsr_net_node *from,
                                Onnx__NodeProto *to) {
  to->n_input = from->n_in;
  to->input = value_names(w, from->in, from->n_in);
  to->n_output = from->n_out;
  to->output = value_names(w, from->out, from->n_out);
  to->name = text(w, from->name);
  to->op_type = text(w, from->op_name);
  to->domain = text(w, from->domain);
  to->n_attribute = from->n_attrs;
  to->attribute = new_attribute_proto(w, from->n_attrs);
  if (!to->input || !to->output || !to->name || !to->op_type || !to->domain || !to->attribute)
    return tsr_err_nomem(w->err);
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; i < from->n_attrs && st == TSR_OK; i++)
    st = put_attr(w, from, &from->attrs[i], to->attribute[i]);
  return st;
}

/* ---- values ---- */

static bool put_shape(struct writer *w, const struct tsr_net_value *v,
                      Onnx__TypeProto__Tensor *t) {
  Onnx__TensorShapeProto **s = new_tensor_shape_proto(w, 1);
  Onnx__TensorShapeProto__Dimension **d = new_tensor_shape_proto__dimension(w, v->rank);
  if (!s || !d) return false;
  for (unsigned i = 0; i < v->rank; i++) {
    if (v->dim_name[i]) {
      d[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
      d[i]->dim_param = text(w, v->dim_name[i]);
      if (!d[i]->dim_param) return false;
    } else {
      d[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
      d[i]->dim_value = (int64_t)v->dim[i];
    }
  }
  s[0]->n_dim = v->rank;
  s[0]->dim = d;
  t->shape = s[0];
  return true;
}

static bool put_value(struct writer *w, const struct tsr_net_value *v,
                      Onnx__ValueInfoProto *to) {
  to->name = text(w, v->name);
  if (!to->name) return false;
  if (v->type == TSR_DTYPE_NONE) return true;
  Onnx__TypeProto **type = new_type_proto(w, 1);
  Onnx__TypeProto__Tensor **tensor = new_type_proto__tensor(w, 1);
  if (!type || !tensor) return false;
  tensor[0]->has_elem_type = true;
  tensor[0]->elem_type = (int32_t)v->type;
  type[0]->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  type[0]->tensor_type = tensor[0];
  to->type = type[0];
  return !v->shaped || put_shape(w, v, tensor[0]);
}

static enum tsr_status put_ends(struct writer *w, const size_t *list, size_t n,
                                Onnx__ValueInfoProto ***out) {
  *out = new_value_info_proto(w, n);
  if (!*out) return tsr_err_nomem(w->err);
  for (size_t i = 0; i < n; i++)
    if (!put_value(w, &w->net->values[list[i]], (*out)[i])) return tsr_err_nomem(w->err);
  return TSR_OK;
}

/* Made by a node, seen by nobody outside, and known. */
static bool is_between(const struct tsr_net_value *v) {
  return v->producer != SIZE_MAX && !v->is_output && v->type != TSR_DTYPE_NONE && v->shaped;
}

static bool is_initialiser(const struct tsr_net_value *v) {
  return v->constant && v->producer == SIZE_MAX;
}

static enum tsr_status put_values(struct writer *w, Onnx__GraphProto *g) {
  const struct tsr_net *net = w->net;
  size_t n_init = 0, n_between = 0;
  for (size_t i = 0; i < net->n_values; i++) {
    n_init += is_initialiser(&net->values[i]);
    n_between += is_between(&net->values[i]);
  }
  g->initializer = new_tensor_proto(w, n_init);
  g->value_info = new_value_info_proto(w, n_between);
  if (!g->initializer || !g->value_info) return tsr_err_nomem(w->err);
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; i < net->n_values && st == TSR_OK; i++) {
    const struct tsr_net_value *v = &net->values[i];
    if (is_initialiser(v))
      st = put_tensor(w, v->constant, v->name, g->initializer[g->n_initializer++]);
    else if (is_between(v) && !put_value(w, v, g->value_info[g->n_value_info++]))
      st = tsr_err_nomem(w->err);
  }
  return st;
}

/* ---- the model ---- */

static enum tsr_status put_graph(struct writer *w, Onnx__GraphProto *g) {
  const struct tsr_net *net = w->net;
  g->name = text(w, net->name);
  g->n_node = net->n_nodes;
  g->node = new_node_proto(w, net->n_nodes);
  if (!g->name || !g->node) return tsr_err_nomem(w->err);
  enum tsr_status st = put_values(w, g);
  for (size_t i = 0; i < net->n_nodes && st == TSR_OK; i++)
    st = put_node(w, &net->nodes[i], g->node[i]);
  g->n_input = net->n_inputs;
  g->n_output = net->n_outputs;
  if (st == TSR_OK) st = put_ends(w, net->inputs, net->n_inputs, &g->input);
  if (st == TSR_OK) st = put_ends(w, net->outputs, net->n_outputs, &g->output);
  return st;
}

/* The default domain at the net's opset, then each other domain of its nodes once. */
static enum tsr_status put_opsets(struct writer *w, Onnx__ModelProto *m) {
  const struct tsr_net *net = w->net;
  const char **domains = tsr_arena_array(w->arena, net->n_nodes + 1, sizeof *domains);
  size_t n = 1;
  if (!domains) return tsr_err_nomem(w->err);
  domains[0] = "";
  for (size_t i = 0; i < net->n_nodes; i++) {
    size_t at = 0;
    while (at < n && !tsr_str_eq(domains[at], net->nodes[i].domain)) at++;
    if (at == n) domains[n++] = net->nodes[i].domain;
  }
  m->n_opset_import = n;
  m->opset_import = new_operator_set_id_proto(w, n);
  if (!m->opset_import) return tsr_err_nomem(w->err);
  for (size_t i = 0; i < n; i++) {
    m->opset_import[i]->domain = text(w, domains[i]);
    m->opset_import[i]->has_version = true;
    m->opset_import[i]->version = i ? 1 : net->opset;
    if (!m->opset_import[i]->domain) return tsr_err_nomem(w->err);
  }
  return TSR_OK;
}

static enum tsr_status put_model(struct writer *w, Onnx__ModelProto **out) {
  Onnx__ModelProto **m = new_model_proto(w, 1);
  Onnx__GraphProto **g = new_graph_proto(w, 1);
  if (!m || !g) return tsr_err_nomem(w->err);
  m[0]->has_ir_version = true;
  m[0]->ir_version = IR_VERSION;
  m[0]->producer_name = text(w, "tessera");
  m[0]->graph = g[0];
  if (!m[0]->producer_name) return tsr_err_nomem(w->err);
  enum tsr_status st = put_opsets(w, m[0]);
  if (st == TSR_OK) st = put_graph(w, g[0]);
  if (st == TSR_OK) *out = m[0];
  return st;
}

static enum tsr_status pack(const ProtobufCMessage *m, const char *what, unsigned char **out,
                            size_t *len, struct tsr_err *err) {
  size_t n = protobuf_c_message_get_packed_size(m);
  if (n > TSR_ONNX_FILE_MAX)
    return tsr_err_set(err, TSR_INPUT,
                       "%s is too large for an ONNX file; expected at most %" PRIu64
                       " bytes, got %zu",
                       what, TSR_ONNX_FILE_MAX, n);
  unsigned char *p = tsr_mem_alloc(n);
  if (!p) return tsr_err_nomem(err);
  *len = protobuf_c_message_pack(m, p);
  *out = p;
  return TSR_OK;
}

enum tsr_status tsr_onnx_write(const struct tsr_net *net, unsigned char **out, size_t *len,
                               struct tsr_err *err) {
  struct writer w = {net, tsr_arena_create(), err};
  Onnx__ModelProto *m = NULL;
  if (!w.arena) return tsr_err_nomem(err);
  enum tsr_status st = put_model(&w, &m);
  if (st == TSR_OK) st = pack(&m->base, net->path, out, len, err);
  tsr_arena_destroy(w.arena);
  return st;
}

enum tsr_status tsr_onnx_tensor_write(const struct tsr_array *a, const char *name,
                                      unsigned char **out, size_t *len, struct tsr_err *err) {
  struct writer w = {NULL, tsr_arena_create(), err};
  if (!w.arena) return tsr_err_nomem(err);
  Onnx__TensorProto **t = new_tensor_proto(&w, 1);
  enum tsr_status st = t ? put_tensor(&w, a, name, t[0]) : tsr_err_nomem(err);
  if (st == TSR_OK) st = pack(&t[0]->base, "the tensor", out, len, err);
  tsr_arena_destroy(w.arena);
  return st;
}
