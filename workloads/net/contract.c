/* Einsum in evaluation: two inputs by the blocked product, any other number label by label. */
#include <string.h>

#include "workloads/net/dense_int.h"
#include "workloads/net/operand_int.h"

enum { SIDE_OUT = TSR_EINSUM_INPUTS, N_SIDES };

/* Steps of every label in every input and in the result, 0 where it does not occur. */
struct contraction {
  struct tsr_net_einsum e;
  size_t n_in;
  uint64_t step[N_SIDES][TSR_EINSUM_LABELS];
  bool has[N_SIDES][TSR_EINSUM_LABELS];
};

static enum tsr_status contraction_of(struct tsri_eval *c, struct contraction *x) {
  memset(x, 0, sizeof *x);
  enum tsr_status s = tsri_einsum(c->shape, &x->e);
  if (s != TSR_OK) return s;
  x->n_in = c->node->n_in;
  for (size_t i = 0; i < x->n_in; i++) {
    uint64_t stride[TSR_RANK_MAX];
    tsri_strides(c->in[i]->rank, c->in[i]->dim, stride);
    for (unsigned d = 0; d < x->e.n_in[i]; d++) {
      unsigned label = x->e.in[i][d];
      x->has[i][label] = true;
      /* the same label twice walks the diagonal; 1 under a larger label repeats */
      if (c->in[i]->dim[d] == x->e.size[label]) x->step[i][label] += stride[d];
    }
  }
  uint64_t step = 1;
  for (unsigned d = x->e.n_out; d-- > 0;) {
    x->has[SIDE_OUT][x->e.out[d]] = true;
    x->step[SIDE_OUT][x->e.out[d]] = step;
    step *= x->e.size[x->e.out[d]];
  }
  return TSR_OK;
}

/* Labels that are walked together. */
struct group {
  unsigned n;
  unsigned label[TSR_EINSUM_LABELS];
  uint64_t size;
};

static void put(struct group *g, const struct contraction *x, unsigned label) {
  g->label[g->n++] = label;
  g->size *= x->e.size[label];
}

/* The offset of element `at` of the group in one side. */
static uint64_t offset(const struct group *g, const struct contraction *x, size_t side,
                       uint64_t at) {
  uint64_t sum = 0;
  for (unsigned k = g->n; k-- > 0; at /= x->e.size[g->label[k]])
    sum += at % x->e.size[g->label[k]] * x->step[side][g->label[k]];
  return sum;
}

static size_t *offsets(const struct group *g, const struct contraction *x, size_t side) {
  size_t *list = tsr_mem_array(g->size, sizeof *list);
  for (uint64_t i = 0; list && i < g->size; i++) list[i] = offset(g, x, side, i);
  return list;
}

/* ---- two inputs of floats ---- */

struct groups {
  struct group batch, m, n, k;
};

static void sort_labels(const struct contraction *x, struct groups *g) {
  g->batch = g->m = g->n = g->k = (struct group){.size = 1};
  /* labels of the result in its order, then those that are summed */
  for (unsigned d = 0; d < x->e.n_out; d++) {
    unsigned label = x->e.out[d];
    bool a = x->has[0][label], b = x->has[1][label];
    put(a && b ? &g->batch : a ? &g->m : &g->n, x, label);
  }
  for (unsigned label = 0; label < x->e.n_labels; label++)
    if (!x->has[SIDE_OUT][label]) put(&g->k, x, label);
}

static bool contract_pair(const struct contraction *x, const double *a, const double *b,
                          double *y) {
  struct groups g;
  sort_labels(x, &g);
  size_t *list[6] = {offsets(&g.m, x, 0),        offsets(&g.k, x, 0),
                     offsets(&g.k, x, 1),        offsets(&g.n, x, 1),
                     offsets(&g.m, x, SIDE_OUT), offsets(&g.n, x, SIDE_OUT)};
  double *c = tsri_doubles(g.m.size * g.n.size);
  bool ok = c != NULL;
  for (size_t i = 0; i < 6; i++) ok = ok && list[i];
  for (uint64_t i = 0; ok && i < g.batch.size; i++) {
    struct tsri_mm mm = {.m = g.m.size, .n = g.n.size, .k = g.k.size, .c = c};
    mm.c_row = g.n.size;
    mm.a = (struct tsri_mat){a + offset(&g.batch, x, 0, i), 0, 0, list[0], list[1]};
    mm.b = (struct tsri_mat){b + offset(&g.batch, x, 1, i), 0, 0, list[2], list[3]};
    memset(c, 0, g.m.size * g.n.size * sizeof *c);
    ok = tsri_mm(&mm);
    double *to = y + offset(&g.batch, x, SIDE_OUT, i);
    for (uint64_t r = 0; ok && r < g.m.size; r++)
      for (uint64_t j = 0; j < g.n.size; j++) to[list[4][r] + list[5][j]] = c[r * g.n.size + j];
  }
  for (size_t i = 0; i < 6; i++) tsr_mem_free(list[i]);
  tsr_mem_free(c);
  return ok;
}

/* ---- any number of inputs ---- */

/* The sum of all products for one element of the result: `at` holds its offsets. */
static void sum_products(const struct tsri_eval *c, const struct contraction *x,
                         const struct group *k, const uint64_t *at, struct tsr_array *y,
                         uint64_t to) {
  double sum = 0;
  uint64_t whole = 0;
  for (uint64_t i = 0; i < k->size; i++) {
    double f = 1;
    uint64_t w = 1;
    for (size_t j = 0; j < x->n_in; j++) {
      uint64_t from = at[j] + offset(k, x, j, i);
      if (y->f)
        f *= c->in[j]->f[from];
      else
        w *= (uint64_t)c->in[j]->i[from];
    }
    sum += f;
    whole += w;
  }
  if (y->f)
    y->f[to] = sum;
  else
    y->i[to] = tsr_dtype_wrap(y->type, (int64_t)whole);
}

static void contract(const struct tsri_eval *c, const struct contraction *x,
                     struct tsr_array *y) {
  struct group out = {.size = 1}, k = {.size = 1};
  for (unsigned d = 0; d < x->e.n_out; d++) put(&out, x, x->e.out[d]);
  for (unsigned label = 0; label < x->e.n_labels; label++)
    if (!x->has[SIDE_OUT][label]) put(&k, x, label);
  for (uint64_t i = 0; i < y->n; i++) {
    uint64_t at[TSR_EINSUM_INPUTS];
    for (size_t j = 0; j < x->n_in; j++) at[j] = offset(&out, x, j, i);
    sum_products(c, x, &k, at, y, i);
  }
}

enum tsr_status tsri_infer_einsum(struct tsri_infer *c) {
  enum tsr_status s = tsri_want_number(c, 0);
  for (size_t i = 0; s == TSR_OK && i < c->node->n_in; i++) {
    if (!tsri_in(c, i))
      return tsri_fail(c->net, c->node, c->err, "input %zu is left out; expected all", i);
    s = tsri_want_type_of(c, i, 0);
  }
  struct tsr_net_einsum e;
  if (s == TSR_OK) s = tsri_einsum(c, &e);
  if (s != TSR_OK) return s;
  uint64_t dim[TSR_RANK_MAX];
  for (unsigned d = 0; d < e.n_out; d++) dim[d] = e.size[e.out[d]];
  return tsri_set(c, 0, tsri_in(c, 0)->type, e.n_out, dim);
}

enum tsr_status tsri_eval_einsum(struct tsri_eval *c) {
  struct contraction x;
  struct tsr_array *y = tsri_result(c, 0);
  if (!y) return TSR_OK;
  enum tsr_status s = contraction_of(c, &x);
  if (s != TSR_OK || !y->n) return s;
  if (x.n_in == 2 && y->f)
    return contract_pair(&x, c->in[0]->f, c->in[1]->f, y->f) ? s : tsr_err_nomem(c->err);
  contract(c, &x, y);
  return s;
}
