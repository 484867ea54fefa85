/* Operands by number, their wanted shapes and types (workloads/net/operand_int.h). */
#include "workloads/net/operand_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

const struct tsr_array *tsri_arg(const struct tsri_eval *c, size_t i) {
  return i < c->node->n_in ? c->in[i] : NULL;
}

struct tsr_array *tsri_result(const struct tsri_eval *c, size_t i) {
  return i < c->node->n_out ? c->out[i] : NULL;
}

struct tsri_net_shape_text tsri_net_shape_text(unsigned rank, const uint64_t *dim) {
  struct tsri_net_shape_text t = {"["};
  size_t at = 1;
  for (unsigned d = 0; d < rank; d++)
    at += (size_t)snprintf(t.s + at, sizeof t.s - at, "%s%" PRIu64, d ? "," : "", dim[d]);
  snprintf(t.s + at, sizeof t.s - at, "]");
  return t;
}

enum tsr_status tsri_want_shape(const struct tsri_infer *c, size_t i, const char *what,
                                unsigned rank, const uint64_t *dim) {
  const struct tsr_net_value *v = tsri_in(c, i);
  if (!v) return TSR_OK;
  bool same = v->rank == rank;
  for (unsigned d = 0; same && d < rank; d++) same = v->dim[d] == dim[d];
  if (same) return TSR_OK;
  return tsri_fail(c->net, c->node, c->err, "wrong shape of %s; expected %s, got %s", what,
                   tsri_net_shape_text(rank, dim).s, tsri_net_shape_text(v->rank, v->dim).s);
}

enum tsr_status tsri_want_list(const struct tsri_infer *c, size_t i, const char *what,
                               uint64_t n) {
  return tsri_want_shape(c, i, what, 1, &n);
}

enum tsr_status tsri_want_list_or_one(const struct tsri_infer *c, size_t i, const char *what,
                                      uint64_t n) {
  const struct tsr_net_value *v = tsri_in(c, i);
  if (v && v->rank <= 1 && tsri_count(v->dim, 0, v->rank) == 1) return TSR_OK;
  return tsri_want_shape(c, i, what, 1, &n);
}

enum tsr_status tsri_want_rank_from(const struct tsri_infer *c, size_t i, unsigned rank) {
  const struct tsr_net_value *v = tsri_in(c, i);
  if (!v || v->rank >= rank) return TSR_OK;
  return tsri_fail(c->net, c->node, c->err,
                   "input %zu has too few dimensions; expected at least %u, got %s", i, rank,
                   tsri_net_shape_text(v->rank, v->dim).s);
}

enum tsr_status tsri_want_types(const struct tsri_infer *c, size_t i,
                                const enum tsr_dtype *types) {
  const struct tsr_net_value *v = tsri_in(c, i);
  if (!v) return TSR_OK;
  char list[96] = "";
  size_t at = 0;
  for (size_t k = 0; types[k] != TSR_DTYPE_NONE; k++) {
    if (v->type == types[k]) return TSR_OK;
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", k ? ", " : "",
                           tsr_dtype_name(types[k]));
  }
  return tsri_fail(c->net, c->node, c->err,
                   "wrong type of input %zu; expected one of %s, got '%s'", i, list,
                   tsr_dtype_name(v->type));
}

enum tsr_status tsri_want_number(const struct tsri_infer *c, size_t i) {
  const struct tsr_net_value *v = tsri_in(c, i);
  if (!v || (v->type != TSR_DTYPE_BOOL && v->type != TSR_DTYPE_STRING)) return TSR_OK;
  return tsri_fail(c->net, c->node, c->err,
                   "wrong type of input %zu; expected a number, got '%s'", i,
                   tsr_dtype_name(v->type));
}

uint64_t tsri_count(const uint64_t *dim, unsigned from, unsigned to) {
  uint64_t n = 1;
  for (unsigned d = from; d < to; d++) n *= dim[d];
  return n;
}

void tsri_int_range(enum tsr_dtype type, double *least, double *most) {
  bool is_unsigned = type == TSR_DTYPE_U8 || type == TSR_DTYPE_U16 || type == TSR_DTYPE_U32;
  int bits = (int)tsr_dtype_bytes(type) * 8;
  *least = is_unsigned ? 0 : -ldexp(1, bits - 1);
  *most = ldexp(1, is_unsigned ? bits : bits - 1) - 1;
}

int64_t tsri_quantise(enum tsr_dtype type, double v, double zero) {
  double least, most;
  if (isnan(v)) return 0;
  tsri_int_range(type, &least, &most);
  v = nearbyint(v) + zero;
  return (int64_t)(v < least ? least : v > most ? most : v);
}

int64_t tsri_order_key(enum tsr_dtype type, int64_t v) {
  return type == TSR_DTYPE_U64 ? (int64_t)((uint64_t)v ^ (UINT64_C(1) << 63)) : v;
}

double *tsri_doubles(uint64_t n) {
  return tsr_mem_array((size_t)n, sizeof(double));
}
