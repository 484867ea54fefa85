/* What the graph says of its values: inputs, outputs, element types and shapes. */
#include <inttypes.h>

#include "workloads/onnx/onnx_int.h"

struct declared {
  const struct tsr_net *net;
  const char *role, *name; /* of messages: input 'x' */
  struct tsr_err *err;
  enum tsr_dtype type;
  bool ranked; /* has a shape, maybe with open dimensions */
  unsigned rank;
  uint64_t dim[TSR_RANK_MAX];
  bool open[TSR_RANK_MAX];
  const char *param[TSR_RANK_MAX]; /* of an open one; NULL when it has no name */
};

static enum tsr_status refuse_kind(const struct declared *d, const char *kind) {
  return tsr_err_set(d->err, TSR_INPUT, "%s: %s '%s' is %s; expected a tensor", d->net->path,
                     d->role, d->name, kind);
}

static enum tsr_status read_dims(struct declared *d, const Onnx__TensorShapeProto *s) {
  if (s->n_dim > TSR_RANK_MAX)
    return tsr_err_set(d->err, TSR_INPUT, "%s: %s '%s' has %zu dimensions; expected at most %d",
                       d->net->path, d->role, d->name, s->n_dim, TSR_RANK_MAX);
  for (size_t i = 0; i < s->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *x = s->dim[i];
    bool valued = x->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    bool named = x->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                 x->dim_param && x->dim_param[0];
    if (valued && x->dim_value < 0)
      return tsr_err_set(d->err, TSR_INPUT,
                         "%s: dimension %zu of %s '%s' is %" PRId64 "; expected 0 or more",
                         d->net->path, i, d->role, d->name, x->dim_value);
    d->open[i] = !valued;
    d->dim[i] = valued ? (uint64_t)x->dim_value : 0;
    d->param[i] = named ? x->dim_param : NULL;
  }
  d->ranked = true;
  d->rank = (unsigned)s->n_dim;
  return TSR_OK;
}

static bool all_known(const struct declared *d) {
  for (unsigned i = 0; i < d->rank; i++)
    if (d->open[i]) return false;
  return d->ranked;
}

static enum tsr_status read_tensor(struct declared *d, const Onnx__TypeProto__Tensor *t) {
  char buf[32];
  int32_t type = t->has_elem_type ? t->elem_type : 0;
  if (type != 0 && !tsri_onnx_type_held(type))
    return tsr_err_set(d->err, TSR_INPUT,
                       "%s: %s '%s' holds elements of %s; expected one of f16, bf16, f32, f64, "
                       "bool, i8 … i64, u8 … u64",
                       d->net->path, d->role, d->name,
                       tsri_onnx_type_name(type, buf, sizeof buf));
  d->type = (enum tsr_dtype)type;
  enum tsr_status st = t->shape ? read_dims(d, t->shape) : TSR_OK;
  uint64_t n;
  if (st == TSR_OK && all_known(d) && !tsr_array_count(d->rank, d->dim, &n))
    return tsr_err_set(
        d->err, TSR_INPUT,
        "%s: the dimensions of %s '%s' are too large; expected at most 2^40 elements",
        d->net->path, d->role, d->name);
  return st;
}

static enum tsr_status read_type(struct declared *d, const Onnx__TypeProto *t) {
  if (!t) return TSR_OK;
  switch (t->value_case) {
  case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE: return read_tensor(d, t->tensor_type);
  case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE: return refuse_kind(d, "a sequence");
  case ONNX__TYPE_PROTO__VALUE_MAP_TYPE: return refuse_kind(d, "a map");
  case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE: return refuse_kind(d, "an optional");
  case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE: return refuse_kind(d, "a sparse tensor");
  default: return TSR_OK;
  }
}

static enum tsr_status read_info(struct tsr_net *net, const char *role,
                                 const Onnx__ValueInfoProto *v, struct declared *d,
                                 struct tsr_err *err) {
  *d = (struct declared){.net = net, .role = role, .name = tsri_onnx_text(v->name), .err = err};
  if (!d->name[0]) return tsr_err_set(err, TSR_INPUT, "%s: an %s has no name", net->path, role);
  return read_type(d, v->type);
}

/* What is open gets a name: the model's, or one of the value and the axis. */
static enum tsr_status put_shape(struct tsr_net *net, size_t at, const struct declared *d) {
  struct tsr_net_value *v = &net->values[at];
  v->shaped = d->ranked;
  v->rank = d->rank;
  for (unsigned i = 0; i < d->rank; i++) {
    v->dim[i] = d->dim[i];
    if (!d->open[i]) continue;
    v->dim_name[i] = d->param[i] ? tsr_arena_strdup(net->arena, d->param[i])
                                 : tsr_arena_printf(net->arena, "%s.%u", d->name, i);
    if (!v->dim_name[i]) return tsr_err_nomem(d->err);
  }
  return TSR_OK;
}

static enum tsr_status put_input(struct tsr_net *net, size_t at, const struct declared *d) {
  if (d->type == TSR_DTYPE_NONE)
    return tsr_err_set(d->err, TSR_INPUT, "%s: %s '%s' has no element type", net->path, d->role,
                       d->name);
  net->values[at].type = d->type;
  return put_shape(net, at, d);
}

/* Of what a node makes; inputs and initialisers have said theirs. */
static enum tsr_status put_declared(struct tsr_net *net, size_t at, const struct declared *d) {
  struct tsr_net_value *v = &net->values[at];
  if (v->is_input || v->constant) return TSR_OK;
  if (d->type != TSR_DTYPE_NONE) v->type = d->type;
  return d->ranked ? put_shape(net, at, d) : TSR_OK;
}

enum tsr_status tsri_onnx_declare_inputs(struct tsr_net *net, const Onnx__GraphProto *g,
                                         struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; i < g->n_input && st == TSR_OK; i++) {
    struct declared d;
    size_t at;
    st = read_info(net, "input", g->input[i], &d, err);
    if (st == TSR_OK) st = tsr_net_value(net, d.name, &at, err);
    if (st != TSR_OK || net->values[at].constant) continue;
    if (net->values[at].is_input)
      return tsr_err_set(err, TSR_INPUT, "%s: input '%s' is declared twice", net->path, d.name);
    st = put_input(net, at, &d);
    if (st == TSR_OK) st = tsr_net_input(net, at, err);
  }
  return st;
}

enum tsr_status tsri_onnx_declare_rest(struct tsr_net *net, const Onnx__GraphProto *g,
                                       struct tsr_err *err) {
  struct declared d;
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; i < g->n_value_info && st == TSR_OK; i++) {
    st = read_info(net, "value", g->value_info[i], &d, err);
    size_t at = st == TSR_OK ? tsr_net_find(net, d.name) : SIZE_MAX;
    if (at != SIZE_MAX) st = put_declared(net, at, &d);
  }
  for (size_t i = 0; i < g->n_output && st == TSR_OK; i++) {
    size_t at;
    st = read_info(net, "output", g->output[i], &d, err);
    if (st != TSR_OK) break;
    at = tsr_net_find(net, d.name);
    if (at == SIZE_MAX || (net->values[at].producer == SIZE_MAX && !net->values[at].is_input &&
                           !net->values[at].constant))
      return tsr_err_set(err, TSR_INPUT,
                         "%s: nothing makes output '%s'; expected a node, an input or an "
                         "initialiser of that name",
                         net->path, d.name);
    if (net->values[at].is_output)
      return tsr_err_set(err, TSR_INPUT, "%s: output '%s' is declared twice", net->path,
                         d.name);
    st = put_declared(net, at, &d);
    if (st == TSR_OK) st = tsr_net_output(net, at, err);
  }
  return st;
}
