/* Building a net, and reading its nodes. */
#include "workloads/net/net.h"

#include <string.h>

#include "sim/base/str.h"
#include "workloads/net/net_int.h"

/* ---- the table of operators ---- */

static const struct tsri_op OPS[TSR_NET_OP_COUNT_] = {
    [TSR_NET_UNKNOWN] = {"?", "an operator without a row", 0, 0, 0, 0, NULL, NULL},
#define NET(id, name, low_in, high_in, low_out, high_out, infer, eval, doc) \
  [TSR_NET_##id] = {name, doc, low_in, high_in, low_out, high_out, infer, eval},
#include "workloads/net/net.def"
#undef NET
};

const struct tsri_op *tsri_op(enum tsr_net_op op) {
  return &OPS[op];
}

const char *tsr_net_op_name(enum tsr_net_op op) {
  return OPS[op].name;
}

const char *tsr_net_op_doc(enum tsr_net_op op) {
  return OPS[op].doc;
}

enum tsr_net_op tsr_net_op_find(const char *name) {
  for (unsigned op = 1; op < TSR_NET_OP_COUNT_; op++)
    if (strcmp(OPS[op].name, name) == 0) return (enum tsr_net_op)op;
  return TSR_NET_UNKNOWN;
}

/* ---- names ---- */

/* Open addressing; cap is a power of two, at most half full. */
struct names {
  const char **key;
  size_t *id;
  size_t n, cap;
};
struct tsr_net_names {
  struct names values, nodes;
};

static size_t names_slot(const struct names *t, const char *key) {
  size_t at = (size_t)tsr_fnv1a(TSR_FNV_INIT, key, strlen(key)) & (t->cap - 1);
  while (t->key[at] && strcmp(t->key[at], key) != 0) at = (at + 1) & (t->cap - 1);
  return at;
}

static size_t names_find(const struct names *t, const char *key) {
  if (!t->cap) return SIZE_MAX;
  size_t at = names_slot(t, key);
  return t->key[at] ? t->id[at] : SIZE_MAX;
}

static bool names_grow(struct names *t) {
  struct names to = {NULL, NULL, t->n, t->cap ? t->cap * 2 : 64};
  to.key = tsr_mem_array(to.cap, sizeof *to.key);
  to.id = tsr_mem_array(to.cap, sizeof *to.id);
  if (!to.key || !to.id) {
    tsr_mem_free(to.key);
    tsr_mem_free(to.id);
    return false;
  }
  for (size_t s = 0; s < t->cap; s++) {
    if (!t->key[s]) continue;
    size_t at = names_slot(&to, t->key[s]);
    to.key[at] = t->key[s];
    to.id[at] = t->id[s];
  }
  tsr_mem_free(t->key);
  tsr_mem_free(t->id);
  *t = to;
  return true;
}

/* Room for one more, so that names_add cannot fail. */
static bool names_reserve(struct names *t) {
  return t->n * 2 < t->cap || names_grow(t);
}

static void names_add(struct names *t, const char *key, size_t id) {
  size_t at = names_slot(t, key);
  t->key[at] = key;
  t->id[at] = id;
  t->n++;
}

/* `base`, or `base.<k>` where it is taken; in the arena.  Numbers are given in turn, so the
 * first free one is found by halves: many values may share a base. */
static char *names_free_one(struct tsr_arena *arena, const struct names *t, const char *base) {
  char *name = tsr_arena_strdup(arena, base), *free_one = name;
  size_t taken = 1, k = 2;
  if (!name || names_find(t, name) == SIZE_MAX) return name;
  for (;; taken = k, k *= 2) {
    free_one = tsr_arena_printf(arena, "%s.%zu", base, k);
    if (!free_one || names_find(t, free_one) == SIZE_MAX) break;
  }
  while (free_one && k - taken > 1) {
    size_t middle = taken + (k - taken) / 2;
    name = tsr_arena_printf(arena, "%s.%zu", base, middle);
    if (!name) return NULL;
    bool is_free = names_find(t, name) == SIZE_MAX;
    if (is_free) free_one = name;
    *(is_free ? &k : &taken) = middle;
  }
  return free_one;
}

/* ---- the net ---- */

static const char *text_or(const char *s, const char *absent) {
  return s && *s ? s : absent;
}

static enum tsr_status bad(const struct tsr_net *net, struct tsr_err *err, const char *what,
                           const char *value, const char *why) {
  return tsr_err_set(err, TSR_INPUT, "%s: %s '%s' %s", net->path, what, value, why);
}

/* Names are printed in tables and messages: as in lists of layers, nothing in them moves a
 * terminal. */
static enum tsr_status check_name(const struct tsr_net *net, const char *what, const char *name,
                                  struct tsr_err *err) {
  size_t len = name ? strlen(name) : 0;
  for (size_t at = 0, step; at < len; at += step) {
    uint32_t cp = 0;
    step = tsr_utf8_decode(name + at, len - at, &cp);
    if (!step || tsr_utf8_is_control(cp))
      return bad(net, err, what, name,
                 "has a name that is no UTF-8 without control characters");
  }
  return TSR_OK;
}

enum tsr_status tsr_net_create(const char *name, const char *path, int opset,
                               struct tsr_net **out, struct tsr_err *err) {
  struct tsr_net *net = tsr_mem_alloc(sizeof *net);
  if (!net) return tsr_err_nomem(err);
  net->opset = opset;
  net->names = tsr_mem_alloc(sizeof *net->names);
  net->arena = tsr_arena_create();
  if (net->arena) {
    net->path = tsr_arena_strdup(net->arena, text_or(path, text_or(name, "net")));
    net->name = tsr_arena_strdup(net->arena, text_or(name, "net"));
  }
  if (!net->names || !net->name || !net->path) {
    tsr_net_destroy(net);
    return tsr_err_nomem(err);
  }
  enum tsr_status st = check_name(net, "model", name, err);
  if (st) {
    tsr_net_destroy(net);
    return st;
  }
  *out = net;
  return TSR_OK;
}

static void names_fini(struct names *t) {
  tsr_mem_free(t->key);
  tsr_mem_free(t->id);
}

void tsr_net_destroy(struct tsr_net *net) {
  if (!net) return;
  if (net->names) {
    names_fini(&net->names->values);
    names_fini(&net->names->nodes);
  }
  tsr_mem_free(net->names);
  tsr_mem_free(net->values);
  tsr_mem_free(net->nodes);
  tsr_mem_free(net->inputs);
  tsr_mem_free(net->outputs);
  if (net->arena) tsr_arena_destroy(net->arena);
  tsr_mem_free(net);
}

/* ---- values ---- */

static bool grow(void *list, size_t *cap, size_t n, size_t size) {
  void **p = list;
  if (n < *cap) return true;
  return tsr_mem_grow(p, cap, n < 16 ? 16 : n * 2, size);
}

size_t tsr_net_find(const struct tsr_net *net, const char *name) {
  return names_find(&net->names->values, name);
}

/* name: in the arena, and not taken. */
static enum tsr_status add_value(struct tsr_net *net, const char *name, size_t *out,
                                 struct tsr_err *err) {
  void *p = net->values;
  bool ok = names_reserve(&net->names->values) &&
            grow(&p, &net->cap_values, net->n_values, sizeof *net->values);
  net->values = p;
  if (!ok) return tsr_err_nomem(err);
  size_t at = net->n_values++;
  net->values[at] =
      (struct tsr_net_value){.name = name, .producer = SIZE_MAX, .alias = SIZE_MAX};
  names_add(&net->names->values, name, at);
  *out = at;
  return TSR_OK;
}

enum tsr_status tsr_net_value(struct tsr_net *net, const char *name, size_t *out,
                              struct tsr_err *err) {
  size_t at = tsr_net_find(net, name);
  if (at != SIZE_MAX) {
    *out = at;
    return TSR_OK;
  }
  enum tsr_status st = check_name(net, "value", name, err);
  if (st) return st;
  char *copy = tsr_arena_strdup(net->arena, name);
  return copy ? add_value(net, copy, out, err) : tsr_err_nomem(err);
}

enum tsr_status tsr_net_value_new(struct tsr_net *net, const char *base, enum tsr_dtype type,
                                  unsigned rank, const uint64_t *dim, size_t *out,
                                  struct tsr_err *err) {
  uint64_t n;
  if (rank > TSR_RANK_MAX || !tsr_array_count(rank, dim, &n))
    return bad(net, err, "value", base, "is too large; expected at most 2^40 elements");
  const char *name = names_free_one(net->arena, &net->names->values, base);
  if (!name) return tsr_err_nomem(err);
  enum tsr_status s = add_value(net, name, out, err);
  if (s) return s;
  struct tsr_net_value *v = &net->values[*out];
  v->type = type;
  v->shaped = true;
  v->rank = rank;
  for (unsigned d = 0; d < rank; d++) v->dim[d] = dim[d];
  return TSR_OK;
}

enum tsr_status tsr_net_constant(struct tsr_net *net, size_t value,
                                 const struct tsr_array *array, struct tsr_err *err) {
  struct tsr_net_value *v = &net->values[value];
  if (v->producer != SIZE_MAX)
    return bad(net, err, "value", v->name, "is a constant and made by a node");
  v->constant = array;
  v->is_weight = true;
  v->type = array->type;
  v->shaped = true;
  v->rank = array->rank;
  for (unsigned d = 0; d < array->rank; d++) {
    v->dim[d] = array->dim[d];
    v->dim_name[d] = NULL;
  }
  return TSR_OK;
}

enum tsr_status tsr_net_input(struct tsr_net *net, size_t value, struct tsr_err *err) {
  struct tsr_net_value *v = &net->values[value];
  if (v->is_input) return bad(net, err, "input", v->name, "is declared twice");
  if (v->producer != SIZE_MAX) return bad(net, err, "input", v->name, "is made by a node");
  void *p = net->inputs;
  bool ok = grow(&p, &net->cap_inputs, net->n_inputs, sizeof *net->inputs);
  net->inputs = p;
  if (!ok) return tsr_err_nomem(err);
  net->inputs[net->n_inputs++] = value;
  v->is_input = true;
  return TSR_OK;
}

enum tsr_status tsr_net_output(struct tsr_net *net, size_t value, struct tsr_err *err) {
  struct tsr_net_value *v = &net->values[value];
  if (v->is_output) return bad(net, err, "output", v->name, "is declared twice");
  void *p = net->outputs;
  bool ok = grow(&p, &net->cap_outputs, net->n_outputs, sizeof *net->outputs);
  net->outputs = p;
  if (!ok) return tsr_err_nomem(err);
  net->outputs[net->n_outputs++] = value;
  v->is_output = true;
  return TSR_OK;
}

/* ---- nodes ---- */

static const void *copy(struct tsr_arena *arena, const void *from, size_t n, size_t size) {
  void *to = tsr_arena_array(arena, n, size);
  if (to && n) memcpy(to, from, n * size);
  return to;
}

static const char *const *copy_texts(struct tsr_arena *arena, const char *const *from,
                                     size_t n) {
  const char **to = tsr_arena_array(arena, n, sizeof *to);
  for (size_t k = 0; to && k < n; k++) {
    to[k] = tsr_arena_strdup(arena, from[k]);
    if (!to[k]) return NULL;
  }
  return to;
}

static bool copy_attr(struct tsr_arena *arena, const struct tsr_net_attr *from,
                      struct tsr_net_attr *to) {
  *to = *from;
  to->name = tsr_arena_strdup(arena, from->name);
  bool ok = to->name != NULL;
  if (from->text) ok &= (to->text = tsr_arena_strdup(arena, from->text)) != NULL;
  if (from->ints) ok &= (to->ints = copy(arena, from->ints, from->n, sizeof *to->ints)) != NULL;
  if (from->floats)
    ok &= (to->floats = copy(arena, from->floats, from->n, sizeof *to->floats)) != NULL;
  if (from->texts) ok &= (to->texts = copy_texts(arena, from->texts, from->n)) != NULL;
  return ok;
}

static size_t without_tail(const size_t *list, size_t n) {
  while (n && list[n - 1] == SIZE_MAX) n--;
  return n;
}

static bool own_domain(const char *domain) {
  return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

static bool name_node(struct tsr_net *net, struct tsr_net_node *n, const char *name) {
  const struct names *taken = &net->names->nodes;
  const char *own =
      name && *name ? name : tsr_arena_printf(net->arena, "%s_%zu", n->op_name, net->n_nodes);
  n->name = own ? names_free_one(net->arena, taken, own) : NULL;
  return n->name != NULL;
}

static enum tsr_status make_node(struct tsr_net *net, const char *op_name, const char *domain,
                                 const char *name, struct tsr_net_node *n,
                                 struct tsr_err *err) {
  struct tsr_net_attr *attrs = tsr_arena_array(net->arena, n->n_attrs, sizeof *attrs);
  bool ok = attrs != NULL;
  for (size_t k = 0; ok && k < n->n_attrs; k++)
    ok = copy_attr(net->arena, &n->attrs[k], &attrs[k]);
  n->attrs = attrs;
  n->op_name = tsr_arena_strdup(net->arena, op_name);
  n->domain = tsr_arena_strdup(net->arena, own_domain(domain) ? "" : domain);
  n->in = copy(net->arena, n->in, n->n_in, sizeof *n->in);
  n->out = copy(net->arena, n->out, n->n_out, sizeof *n->out);
  n->op = own_domain(domain) ? tsr_net_op_find(op_name) : TSR_NET_UNKNOWN;
  if (!ok || !n->op_name || !n->domain || !n->in || !n->out || !name_node(net, n, name))
    return tsr_err_nomem(err);
  return TSR_OK;
}

static enum tsr_status check_outputs(const struct tsr_net *net, const struct tsr_net_node *n,
                                     struct tsr_err *err) {
  for (size_t k = 0; k < n->n_out; k++) {
    if (n->out[k] == SIZE_MAX) continue;
    const struct tsr_net_value *v = &net->values[n->out[k]];
    const char *what = v->producer != SIZE_MAX ? "another node"
                       : v->is_input           ? "an input of the model"
                       : v->constant           ? "a constant"
                                               : NULL;
    for (size_t j = 0; j < k; j++)
      if (n->out[j] == n->out[k]) what = "an earlier output of the node";
    if (what)
      return tsri_fail(net, n, err, "makes value '%s', which is %s%s", v->name,
                       v->producer != SIZE_MAX ? "made by " : "", what);
  }
  return TSR_OK;
}

enum tsr_status tsr_net_node(struct tsr_net *net, const char *op_name, const char *domain,
                             const char *name, const size_t *in, size_t n_in, const size_t *out,
                             size_t n_out, const struct tsr_net_attr *attrs, size_t n_attrs,
                             struct tsr_err *err) {
  struct tsr_net_node n = {.in = in, .out = out, .attrs = attrs, .n_attrs = n_attrs};
  n.n_in = without_tail(in, n_in);
  n.n_out = without_tail(out, n_out);
  enum tsr_status s = check_name(net, "node", name, err);
  if (!s) s = make_node(net, op_name, domain, name, &n, err);
  if (!s) s = check_outputs(net, &n, err);
  if (s) return s;
  void *p = net->nodes;
  bool ok = names_reserve(&net->names->nodes) &&
            grow(&p, &net->cap_nodes, net->n_nodes, sizeof *net->nodes);
  net->nodes = p;
  if (!ok) return tsr_err_nomem(err);
  names_add(&net->names->nodes, n.name, net->n_nodes);
  for (size_t k = 0; k < n.n_out; k++)
    if (n.out[k] != SIZE_MAX) net->values[n.out[k]].producer = net->n_nodes;
  net->nodes[net->n_nodes++] = n;
  return TSR_OK;
}

/* ---- reading nodes ---- */

const struct tsr_net_attr *tsr_net_attr(const struct tsr_net_node *n, const char *name) {
  for (size_t k = 0; k < n->n_attrs; k++)
    if (strcmp(n->attrs[k].name, name) == 0) return &n->attrs[k];
  return NULL;
}

int64_t tsr_net_attr_int(const struct tsr_net_node *n, const char *name, int64_t absent) {
  const struct tsr_net_attr *a = tsr_net_attr(n, name);
  return a && a->kind == TSR_ATTR_INT ? a->i : absent;
}

double tsr_net_attr_float(const struct tsr_net_node *n, const char *name, double absent) {
  const struct tsr_net_attr *a = tsr_net_attr(n, name);
  if (a && a->kind == TSR_ATTR_INT) return (double)a->i;
  return a && a->kind == TSR_ATTR_FLOAT ? a->f : absent;
}

const char *tsr_net_attr_text(const struct tsr_net_node *n, const char *name,
                              const char *absent) {
  const struct tsr_net_attr *a = tsr_net_attr(n, name);
  return a && a->kind == TSR_ATTR_TEXT ? a->text : absent;
}

const int64_t *tsr_net_attr_ints(const struct tsr_net_node *n, const char *name,
                                 size_t *count) {
  const struct tsr_net_attr *a = tsr_net_attr(n, name);
  bool has = a && a->kind == TSR_ATTR_INTS;
  *count = has ? a->n : 0;
  return has ? a->ints : NULL;
}

const struct tsr_net_value *tsr_net_in(const struct tsr_net *net, const struct tsr_net_node *n,
                                       size_t i) {
  return i < n->n_in && n->in[i] != SIZE_MAX ? &net->values[n->in[i]] : NULL;
}

bool tsr_net_axis(int64_t axis, unsigned rank, unsigned *out) {
  if (axis < -(int64_t)rank || axis >= (int64_t)rank) return false;
  *out = (unsigned)(axis < 0 ? axis + (int64_t)rank : axis);
  return true;
}
