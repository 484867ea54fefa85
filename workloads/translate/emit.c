/* Values, views and operators of a translation under way. */
#include <stdarg.h>
#include <string.h>

#include "sim/base/str.h"
#include "workloads/translate/translate_int.h"

enum tsr_status tsri_tr_refuse(struct tsri_tr *t, const struct tsr_net_node *n, const char *fmt,
                               ...) {
  va_list ap;
  va_start(ap, fmt);
  char *why = tsr_mem_vprintf(fmt, ap);
  va_end(ap);
  if (!why) return tsr_err_nomem(t->err);
  enum tsr_status s = tsr_err_set(t->err, TSR_INPUT,
                                  "operator '%s' of node '%s' has no kernel on the machine: %s",
                                  n->op_name, n->name, why);
  tsr_mem_free(why);
  return s;
}

/* ---- values ---- */

struct tsri_tr_shape tsri_tr_shape_of(const struct tsri_tr *t, size_t value) {
  const struct tsr_net_value *v = &t->net->values[value];
  struct tsri_tr_shape s = {.type = v->type, .rank = v->rank, .n = 1};
  memcpy(s.dim, v->dim, sizeof s.dim);
  for (unsigned d = 0; d < v->rank; d++) s.n *= v->dim[d];
  return s;
}

size_t tsri_tr_in(const struct tsr_net_node *n, size_t i) {
  return i < n->n_in ? n->in[i] : SIZE_MAX;
}

size_t tsri_tr_out(const struct tsr_net_node *n, size_t i) {
  return i < n->n_out ? n->out[i] : SIZE_MAX;
}

size_t tsr_translate_source(const struct tsr_net *net, size_t value) {
  while (value != SIZE_MAX && net->values[value].alias != SIZE_MAX)
    value = net->values[value].alias;
  return value;
}

const struct tsr_array *tsri_tr_constant(const struct tsri_tr *t, size_t value) {
  return value == SIZE_MAX ? NULL
                           : t->net->values[tsr_translate_source(t->net, value)].constant;
}

static enum tsr_status listed(struct tsri_tr *t, const struct tsr_net_node *n, size_t have,
                              size_t max) {
  return have <= max
             ? TSR_OK
             : tsri_tr_refuse(t, n, "expected lists of at most %zu, got %zu", max, have);
}

enum tsr_status tsri_tr_ints(struct tsri_tr *t, const struct tsr_net_node *n, const char *name,
                             size_t i, int64_t *list, size_t max, size_t *count, bool *given) {
  size_t have = 0, value = i == SIZE_MAX ? SIZE_MAX : tsri_tr_in(n, i);
  const struct tsr_net_attr *a = name ? tsr_net_attr(n, name) : NULL;
  const struct tsr_array *c = tsri_tr_constant(t, value);
  if (!a && value != SIZE_MAX && !c)
    return tsri_tr_refuse(t, n, "its input '%s' is known only when it runs",
                          t->net->values[value].name);
  if (a && a->kind == TSR_ATTR_INT) {
    list[have++] = a->i;
  } else if (a) {
    enum tsr_status s = listed(t, n, a->n, max);
    if (s) return s;
    for (; have < a->n; have++) list[have] = a->ints[have];
  } else if (c) {
    enum tsr_status s = listed(t, n, (size_t)c->n, max);
    if (s) return s;
    for (; have < c->n; have++) list[have] = tsr_array_get_int(c, have);
  }
  *count = have;
  *given = a || c;
  return TSR_OK;
}

unsigned tsri_tr_axis(const struct tsr_net_node *n, const char *name, int64_t absent,
                      unsigned rank) {
  unsigned axis = 0;
  if (!tsr_net_axis(tsr_net_attr_int(n, name, absent), rank, &axis)) return 0;
  return axis;
}

enum tsr_status tsri_tr_temp(struct tsri_tr *t, const char *what, enum tsr_dtype type,
                             unsigned rank, const uint64_t *dim, size_t *out) {
  char *name = tsr_mem_printf("%s.%s", t->net->nodes[t->node].name, what);
  if (!name) return tsr_err_nomem(t->err);
  size_t v = SIZE_MAX;
  enum tsr_status s = tsr_net_value_new(t->net, name, type, rank, dim, &v, t->err);
  tsr_mem_free(name);
  if (s) return s;
  t->net->values[v].alias = SIZE_MAX;
  *out = v;
  return TSR_OK;
}

enum tsr_status tsri_tr_const(struct tsri_tr *t, const char *what, enum tsr_dtype type,
                              unsigned rank, const uint64_t *dim, size_t *out,
                              struct tsr_array **array) {
  struct tsr_array *a = NULL;
  size_t v = SIZE_MAX;
  enum tsr_status s = tsr_array_create(t->net->arena, type, rank, dim, &a, t->err);
  if (!s) s = tsri_tr_temp(t, what, type, rank, dim, &v);
  if (!s) s = tsr_net_constant(t->net, v, a, t->err);
  if (s) return s;
  t->net->values[v].is_weight = true;
  *out = v;
  *array = a;
  return TSR_OK;
}

enum tsr_status tsri_tr_scalar(struct tsri_tr *t, enum tsr_dtype type, double v, size_t *out) {
  struct tsr_array *a = NULL;
  enum tsr_status s = tsri_tr_const(t, "number", type, 0, NULL, out, &a);
  if (!s) tsr_array_set(a, 0, v);
  return s;
}

enum tsr_status tsri_tr_alias(struct tsri_tr *t, size_t from, size_t to) {
  if (to == SIZE_MAX) return TSR_OK;
  t->net->values[to].alias = tsr_translate_source(t->net, from);
  return TSR_OK;
}

enum tsr_status tsri_tr_reshaped(struct tsri_tr *t, size_t value, unsigned rank,
                                 const uint64_t *dim, size_t *out) {
  size_t v = SIZE_MAX;
  enum tsr_status s = tsri_tr_temp(t, "shaped", t->net->values[value].type, rank, dim, &v);
  if (s) return s;
  t->net->values[v].constant = t->net->values[value].constant;
  t->net->values[v].is_weight = t->net->values[value].is_weight;
  *out = v;
  return tsri_tr_alias(t, value, v);
}

const char *tsri_tr_format(enum tsr_dtype type) {
  switch (type) {
  case TSR_DTYPE_BOOL:
  case TSR_DTYPE_U8: return "uint8";
  case TSR_DTYPE_I8: return "int8";
  case TSR_DTYPE_I16: return "int16";
  case TSR_DTYPE_U16:
  case TSR_DTYPE_I32:
  case TSR_DTYPE_U32:
  case TSR_DTYPE_I64:
  case TSR_DTYPE_U64: return "int32";
  default: return "";
  }
}

/* ---- views ---- */

struct tsr_view tsri_tr_view_as(const struct tsri_tr *t, size_t value, unsigned rank,
                                const uint64_t *dim) {
  struct tsr_view v;
  tsr_view_of(&v, tsr_translate_source(t->net, value), rank, dim);
  return v;
}

struct tsr_view tsri_tr_view(const struct tsri_tr *t, size_t value) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, value);
  return tsri_tr_view_as(t, value, s.rank, s.dim);
}

struct tsr_view tsri_tr_view_flat(const struct tsri_tr *t, size_t value) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, value);
  return tsri_tr_view_as(t, value, 1, &s.n);
}

struct tsr_view tsri_tr_view_permuted(const struct tsr_view *v, const unsigned *perm) {
  struct tsr_view p = *v;
  for (unsigned e = 0; e < v->rank; e++) {
    p.dim[e] = v->dim[perm[e]];
    for (unsigned d = 0; d < v->src_rank; d++) p.coef[d][e] = v->coef[d][perm[e]];
  }
  return p;
}

struct tsr_view tsri_tr_view_broadcast(const struct tsri_tr *t, size_t value, unsigned rank,
                                       const uint64_t *dim) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, value);
  struct tsr_view v = tsri_tr_view_as(t, value, s.rank, s.dim);
  memset(v.coef, 0, sizeof v.coef);
  v.rank = rank;
  memcpy(v.dim, dim, rank * sizeof *dim);
  for (unsigned d = 0; d < s.rank; d++)
    if (s.dim[d] != 1) v.coef[d][rank - s.rank + d] = 1;
  return v;
}

struct tsr_view tsri_tr_view_nhwc(const struct tsri_tr *t, size_t value) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, value);
  uint64_t dim[4] = {s.dim[0], s.rank > 1 ? s.dim[1] : 1, 1, 1};
  static const unsigned perm[4] = {0, 2, 3, 1};
  if (s.rank > 2) dim[3] = s.dim[s.rank - 1];
  for (unsigned d = 2; d + 1 < s.rank; d++) dim[2] *= s.dim[d];
  struct tsr_view v = tsri_tr_view_as(t, value, 4, dim);
  return tsri_tr_view_permuted(&v, perm);
}

/* Counts in *arg how far a walk goes on in steps of 1. */
static void flat_run(void *arg, uint64_t first, uint64_t n, int64_t at, int64_t step) {
  bool *flat = arg;
  if (at != (int64_t)first || (n > 1 && step != 1)) *flat = false;
}

bool tsri_tr_view_is_flat(const struct tsri_tr *t, const struct tsr_view *v) {
  uint64_t extent = 1;
  for (unsigned d = 0; d < v->src_rank; d++) extent *= v->extent[d];
  if (v->value == SIZE_MAX || tsr_view_elems(v) != extent ||
      extent != tsri_tr_shape_of(t, v->value).n)
    return false;
  if (v->rank == 1 && v->src_rank == 1)
    return v->coef[0][0] == 1 && v->base[0] == 0 && !v->table[0];
  bool flat = true;
  tsr_view_runs(v, flat_run, &flat);
  return flat;
}

/* ---- operators ---- */

struct tsri_tr_item tsri_tr_item(enum tsr_op_kind kind, uint64_t m, uint64_t n, uint64_t k,
                                 uint64_t count) {
  struct tsri_tr_item it;
  memset(&it, 0, sizeof it);
  it.op.kind = kind;
  it.op.m = m;
  it.op.n = n;
  it.op.k = k;
  it.op.count = count;
  return it;
}

enum tsr_status tsri_tr_bind_parts(struct tsri_tr *t, struct tsr_operand_view *o, uint64_t rows,
                                   unsigned parts, const uint64_t *cols,
                                   const struct tsr_view *v) {
  uint64_t *c = tsr_arena_array(t->net->arena, parts, sizeof *c);
  struct tsr_view *p = tsr_arena_array(t->net->arena, parts, sizeof *p);
  if (!c || !p) return tsr_err_nomem(t->err);
  memcpy(c, cols, parts * sizeof *c);
  memcpy(p, v, parts * sizeof *p);
  *o = (struct tsr_operand_view){rows, parts, c, p};
  return TSR_OK;
}

enum tsr_status tsri_tr_bind(struct tsri_tr *t, struct tsr_operand_view *o,
                             const struct tsr_view *v) {
  uint64_t cols = tsr_view_elems(v);
  return tsri_tr_bind_parts(t, o, 1, 1, &cols, v);
}

void tsri_tr_bind_out(struct tsri_tr_item *it, const struct tsr_view *v) {
  it->bind.out = *v;
  it->bind.has_out = true;
}

/* Where a name stands, or would, in the table of names. */
static size_t slot_of(const struct tsri_tr *t, const char *name) {
  size_t mask = t->slots - 1;
  size_t at = (size_t)tsr_fnv1a(TSR_FNV_INIT, name, strlen(name)) & mask;
  while (t->slot[at] && strcmp(t->items[t->slot[at] - 1].op.name, name) != 0)
    at = (at + 1) & mask;
  return at;
}

static bool slots_reserve(struct tsri_tr *t) {
  if (t->slots > 2 * (t->n + 1)) return true;
  size_t slots = t->slots ? 2 * t->slots : 256;
  size_t *slot = tsr_mem_array(slots, sizeof *slot);
  if (!slot) return false;
  tsr_mem_free(t->slot);
  t->slot = slot;
  t->slots = slots;
  for (size_t i = 0; i < t->n; i++) slot[slot_of(t, t->items[i].op.name)] = i + 1;
  return true;
}

/* The operator's name, with a number behind where it is taken. */
static char *name_of(struct tsri_tr *t, const char *what) {
  const char *node = t->net->nodes[t->node].name;
  bool same = t->last_number && t->last_node == t->node && t->last_what == what;
  for (unsigned i = same ? t->last_number + 1 : 1;; i++) {
    struct tsr_str s = TSR_STR_INIT;
    tsr_str_addf(&s, "%s%s", t->prefix, node);
    t->last_node = t->node;
    t->last_what = what;
    t->last_number = i;
    if (what) tsr_str_addf(&s, ".%s", what);
    if (i > 1) tsr_str_addf(&s, ".%u", i);
    char *text = tsr_str_take(&s);
    if (!text) return NULL;
    bool taken = t->slot[slot_of(t, text)] != 0;
    char *name = taken ? NULL : tsr_arena_strdup(t->net->arena, text);
    tsr_mem_free(text);
    if (!taken) return name;
  }
}

static const char *format_of(const struct tsri_tr *t, const struct tsr_view *v) {
  return v->value == SIZE_MAX ? "" : tsri_tr_format(t->net->values[v->value].type);
}

static void formats(const struct tsri_tr *t, struct tsri_tr_item *it) {
  const struct tsr_op_binding *b = &it->bind;
  if (!it->op.format_a) it->op.format_a = b->a.n_parts ? format_of(t, &b->a.part[0]) : "";
  if (!it->op.format_b) it->op.format_b = b->b.n_parts ? format_of(t, &b->b.part[0]) : "";
  if (!it->op.format_out) it->op.format_out = b->has_out ? format_of(t, &b->out) : "";
  if (!it->op.format_acc) it->op.format_acc = "";
  if (!it->op.sparsity) it->op.sparsity = "";
}

enum tsr_status tsri_tr_emit(struct tsri_tr *t, const char *what,
                             const struct tsri_tr_item *item) {
  struct tsri_tr_item it = *item;
  if (!it.op.m || !it.op.n || !it.op.count) return TSR_OK; /* nothing to compute */
  void *p = t->items;
  if (!tsr_mem_grow(&p, &t->cap, t->n + 1, sizeof *t->items)) return tsr_err_nomem(t->err);
  t->items = p;
  if (!slots_reserve(t)) return tsr_err_nomem(t->err);
  it.op.name = name_of(t, what);
  if (!it.op.name) return tsr_err_nomem(t->err);
  formats(t, &it);
  it.bind.node = t->node;
  enum tsr_status s = tsr_op_check(&it.op, t->err);
  if (s) return s;
  t->items[t->n] = it;
  t->slot[slot_of(t, it.op.name)] = ++t->n;
  return TSR_OK;
}
