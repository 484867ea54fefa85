/* What the functions that infer have in common. */
#include <stdarg.h>
#include <string.h>

#include "workloads/net/net_int.h"

enum tsr_status tsri_fail(const struct tsr_net *net, const struct tsr_net_node *node,
                          struct tsr_err *err, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *text = tsr_mem_vprintf(fmt, ap);
  va_end(ap);
  if (!text) return tsr_err_nomem(err);
  tsr_err_set(err, TSR_INPUT, "%s: node '%s' (%s): %s", net->path, node->name, node->op_name,
              text);
  tsr_mem_free(text);
  return TSR_INPUT;
}

#define FAIL(c, ...) tsri_fail((c)->net, (c)->node, (c)->err, __VA_ARGS__)

/* ---- inputs and outputs ---- */

const struct tsr_net_value *tsri_in(const struct tsri_infer *c, size_t i) {
  return i < c->node->n_in ? c->in[i] : NULL;
}

enum tsr_status tsri_set(struct tsri_infer *c, size_t i, enum tsr_dtype type, unsigned rank,
                         const uint64_t *dim) {
  if (i >= c->node->n_out) return TSR_OK;
  if (rank > TSR_RANK_MAX)
    return FAIL(c, "output %zu has too many dimensions; expected at most %d, got '%u'", i,
                TSR_RANK_MAX, rank);
  uint64_t n;
  if (!tsr_array_count(rank, dim, &n))
    return FAIL(c, "output %zu is too large; expected at most 2^40 elements", i);
  struct tsri_type t = {.type = type, .rank = rank};
  for (unsigned d = 0; d < rank; d++) t.dim[d] = dim[d];
  c->out[i] = t;
  return TSR_OK;
}

enum tsr_status tsri_set_like(struct tsri_infer *c, size_t i, size_t k) {
  return tsri_set(c, i, c->in[k]->type, c->in[k]->rank, c->in[k]->dim);
}

/* ---- what an input must be ---- */

static bool is_int(enum tsr_dtype t) {
  return !tsr_dtype_is_float(t) && t != TSR_DTYPE_BOOL && t != TSR_DTYPE_STRING;
}

enum tsr_status tsri_want_float(const struct tsri_infer *c, size_t i) {
  const struct tsr_net_value *v = tsri_in(c, i);
  if (!v || tsr_dtype_is_float(v->type)) return TSR_OK;
  return FAIL(c, "input %zu ('%s') has the wrong type; expected a floating one, got '%s'", i,
              v->name, tsr_dtype_name(v->type));
}

enum tsr_status tsri_want_int(const struct tsri_infer *c, size_t i) {
  const struct tsr_net_value *v = tsri_in(c, i);
  if (!v || is_int(v->type)) return TSR_OK;
  return FAIL(c, "input %zu ('%s') has the wrong type; expected integers, got '%s'", i, v->name,
              tsr_dtype_name(v->type));
}

enum tsr_status tsri_want_type_of(const struct tsri_infer *c, size_t i, size_t k) {
  const struct tsr_net_value *v = tsri_in(c, i), *w = tsri_in(c, k);
  if (!v || !w || v->type == w->type) return TSR_OK;
  return FAIL(c, "input %zu ('%s') has another type than input %zu; expected %s, got '%s'", i,
              v->name, k, tsr_dtype_name(w->type), tsr_dtype_name(v->type));
}

enum tsr_status tsri_want_rank(const struct tsri_infer *c, size_t i, unsigned rank) {
  const struct tsr_net_value *v = tsri_in(c, i);
  if (!v || v->rank == rank) return TSR_OK;
  return FAIL(c, "input %zu ('%s') has the wrong number of dimensions; expected %u, got '%u'",
              i, v->name, rank, v->rank);
}

enum tsr_status tsri_constant(const struct tsri_infer *c, size_t i, const char *what,
                              const struct tsr_array **out) {
  const struct tsr_net_value *v = tsri_in(c, i);
  if (!v) return FAIL(c, "input %zu (%s) is left out", i, what);
  if (!v->constant)
    return FAIL(c, "%s ('%s') must be known before the run; expected a constant", what,
                v->name);
  *out = v->constant;
  return TSR_OK;
}

/* ---- lists and axes ---- */

static enum tsr_status take_list(const struct tsri_infer *c, const char *name, size_t n,
                                 size_t max) {
  if (n <= max) return TSR_OK;
  return FAIL(c, "'%s' has too many entries; expected at most %zu, got '%zu'", name, max, n);
}

enum tsr_status tsri_ints(const struct tsri_infer *c, const char *name, size_t i, int64_t *list,
                          size_t max, size_t *n, bool *given) {
  const struct tsr_net_attr *a = tsr_net_attr(c->node, name);
  *n = 0;
  *given = false;
  if (a) {
    bool one = a->kind == TSR_ATTR_INT;
    if (!one && a->kind != TSR_ATTR_INTS)
      return FAIL(c, "attribute '%s' has the wrong type; expected integers", name);
    enum tsr_status s = take_list(c, name, one ? 1 : a->n, max);
    if (s) return s;
    *n = one ? 1 : a->n;
    for (size_t k = 0; k < *n; k++) list[k] = one ? a->i : a->ints[k];
    *given = true;
    return TSR_OK;
  }
  const struct tsr_array *v = NULL;
  if (i == SIZE_MAX || !tsri_in(c, i)) return TSR_OK;
  enum tsr_status s = tsri_constant(c, i, name, &v);
  if (s) return s;
  if (!v->i || v->rank > 1)
    return FAIL(c, "'%s' ('%s') is no list of integers", name, c->in[i]->name);
  if ((s = take_list(c, name, (size_t)v->n, max))) return s;
  *n = (size_t)v->n;
  for (size_t k = 0; k < *n; k++) list[k] = v->i[k];
  *given = true;
  return TSR_OK;
}

static enum tsr_status settle_axis(const struct tsri_infer *c, const char *name, int64_t axis,
                                   unsigned rank, unsigned *out) {
  if (tsr_net_axis(axis, rank, out)) return TSR_OK;
  return FAIL(c, "'%s' is out of range; expected %lld to %lld, got '%lld'", name,
              -(long long)rank, (long long)rank - 1, (long long)axis);
}

enum tsr_status tsri_axis(const struct tsri_infer *c, const char *name, int64_t absent,
                          unsigned rank, unsigned *out) {
  return settle_axis(c, name, tsr_net_attr_int(c->node, name, absent), rank, out);
}

enum tsr_status tsri_net_axes(const struct tsri_infer *c, const char *name, size_t i,
                              unsigned rank, bool axes[TSR_RANK_MAX], bool *given) {
  int64_t list[TSR_RANK_MAX];
  size_t n;
  memset(axes, 0, TSR_RANK_MAX * sizeof *axes);
  enum tsr_status s = tsri_ints(c, name, i, list, TSR_RANK_MAX, &n, given);
  for (size_t k = 0; !s && k < n; k++) {
    unsigned axis;
    s = settle_axis(c, name, list[k], rank, &axis);
    if (!s && axes[axis]) s = FAIL(c, "'%s' names axis %u twice", name, axis);
    if (!s) axes[axis] = true;
  }
  return s;
}

bool tsri_broadcast(unsigned *rank, uint64_t *dim, unsigned b_rank, const uint64_t *b_dim) {
  unsigned r = *rank > b_rank ? *rank : b_rank;
  uint64_t out[TSR_RANK_MAX];
  for (unsigned d = 0; d < r; d++) {
    uint64_t a = d + *rank >= r ? dim[d + *rank - r] : 1;
    uint64_t b = d + b_rank >= r ? b_dim[d + b_rank - r] : 1;
    if (a != b && a != 1 && b != 1) return false;
    out[d] = a == 1 ? b : a;
  }
  *rank = r;
  for (unsigned d = 0; d < r; d++) dim[d] = out[d];
  return true;
}
