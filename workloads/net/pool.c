/* Poolings over one to three spatial dimensions (SRC:onnx_operators); one and two dimensions
 * are three with leading 1s. */
#include <math.h>

#include "workloads/net/operand_int.h"

struct pool {
  uint64_t in[3], out[3], kernel[3], stride[3], dil[3], lo[3], hi[3];
  uint64_t n_planes, n_in, n_out; /* batch * channels; elements of a plane */
};

static enum tsr_status pool_of(const struct tsri_infer *c, struct pool *p,
                               struct tsr_net_window *w) {
  const struct tsr_net_value *x = tsri_in(c, 0);
  enum tsr_status s = tsri_window(c, w); /* rank too */
  if (s != TSR_OK) return s;
  *p = (struct pool){.n_planes = x->dim[0] * x->dim[1]};
  for (unsigned d = 0; d < 3; d++) {
    bool has = d + w->dims >= 3;
    unsigned e = has ? d + w->dims - 3 : 0;
    p->in[d] = has ? w->in[e] : 1;
    p->out[d] = has ? w->out[e] : 1;
    p->kernel[d] = has ? w->kernel[e] : 1;
    p->stride[d] = has ? w->stride[e] : 1;
    p->dil[d] = has ? w->dil[e] : 1;
    p->lo[d] = has ? w->pad_lo[e] : 0;
    p->hi[d] = has ? w->pad_hi[e] : 0;
  }
  p->n_in = tsri_count(p->in, 0, 3);
  p->n_out = tsri_count(p->out, 0, 3);
  return TSR_OK;
}

/* Calls fn for every element of x under the window of result `site`, in row-major order;
 * returns how many elements lie in x or its padding. */
typedef void element_fn(void *arg, uint64_t at);
static uint64_t window(const struct pool *p, uint64_t site, element_fn *fn, void *arg) {
  uint64_t first[3], n = 0;
  for (unsigned d = 3; d-- > 0; site /= p->out[d]) first[d] = site % p->out[d] * p->stride[d];
  for (uint64_t kz = 0; kz < p->kernel[0]; kz++)
    for (uint64_t ky = 0; ky < p->kernel[1]; ky++)
      for (uint64_t kx = 0; kx < p->kernel[2]; kx++) {
        uint64_t k[3] = {kz, ky, kx}, at = 0;
        bool in = true, padded = true;
        for (unsigned d = 0; d < 3; d++) {
          uint64_t i = first[d] + k[d] * p->dil[d]; /* counted from where padding begins */
          padded = padded && i < p->lo[d] + p->in[d] + p->hi[d];
          in = in && i >= p->lo[d] && i - p->lo[d] < p->in[d];
          at = at * p->in[d] + i - p->lo[d];
        }
        if (in) fn(arg, at);
        n += padded;
      }
  return n;
}

/* ---- the largest ---- */

struct largest {
  const double *f; /* of the plane, or */
  const int64_t *i;
  bool found;
  uint64_t at;
};

static void take_largest(void *arg, uint64_t at) {
  struct largest *l = arg;
  bool more = !l->found;
  if (!more && l->f)
    more = l->f[at] > l->f[l->at] || (isnan(l->f[at]) && !isnan(l->f[l->at]));
  else if (!more)
    more = l->i[at] > l->i[l->at];
  if (!more) return;
  l->found = true;
  l->at = at;
}

/* The index of an element of a plane when the first dimension runs fastest. */
static uint64_t column_major(const struct pool *p, uint64_t at) {
  uint64_t i[3], out = 0;
  for (unsigned d = 3; d-- > 0; at /= p->in[d]) i[d] = at % p->in[d];
  for (unsigned d = 3; d-- > 0;) out = out * p->in[d] + i[d];
  return out;
}

static void set_largest(const struct pool *p, const struct tsr_array *x, bool columns,
                        struct tsr_array *y, struct tsr_array *index) {
  double least = 0, most;
  if (x->i) tsri_int_range(x->type, &least, &most);
  for (uint64_t o = 0; o < p->n_planes * p->n_out; o++) {
    uint64_t base = o / p->n_out * p->n_in;
    struct largest l = {.f = x->f ? x->f + base : NULL, .i = x->i ? x->i + base : NULL};
    window(p, o % p->n_out, take_largest, &l);
    if (y && y->f) y->f[o] = l.found ? l.f[l.at] : -INFINITY;
    if (y && y->i) y->i[o] = l.found ? l.i[l.at] : (int64_t)least;
    if (!index) continue;
    uint64_t at = columns ? column_major(p, l.at) : l.at;
    index->i[o] = l.found ? (int64_t)(base + at) : -1;
  }
}

static enum tsr_status set_pool(struct tsri_infer *c, size_t i, enum tsr_dtype type,
                                const struct tsr_net_window *w) {
  const struct tsr_net_value *x = tsri_in(c, 0);
  uint64_t dim[TSR_RANK_MAX] = {x->dim[0], x->dim[1]};
  for (unsigned d = 0; d < w->dims; d++) dim[2 + d] = w->out[d];
  return tsri_set(c, i, type, x->rank, dim);
}

enum tsr_status tsri_infer_max_pool(struct tsri_infer *c) {
  struct pool p;
  struct tsr_net_window w;
  enum tsr_status s = tsri_want_number(c, 0);
  if (s == TSR_OK) s = pool_of(c, &p, &w);
  if (s == TSR_OK) s = set_pool(c, 0, tsri_in(c, 0)->type, &w);
  return s == TSR_OK ? set_pool(c, 1, TSR_DTYPE_I64, &w) : s;
}

enum tsr_status tsri_eval_max_pool(struct tsri_eval *c) {
  struct pool p;
  struct tsr_net_window w;
  enum tsr_status s = pool_of(c->shape, &p, &w);
  if (s != TSR_OK) return s;
  set_largest(&p, tsri_arg(c, 0), tsr_net_attr_int(c->node, "storage_order", 0) != 0,
              tsri_result(c, 0), tsri_result(c, 1));
  return s;
}

/* ---- the mean ---- */

struct total {
  const double *x;
  double sum;
  uint64_t n;
};

static void take_total(void *arg, uint64_t at) {
  struct total *t = arg;
  t->sum += t->x[at];
  t->n++;
}

enum tsr_status tsri_infer_average_pool(struct tsri_infer *c) {
  struct pool p;
  struct tsr_net_window w;
  enum tsr_status s = tsri_want_float(c, 0);
  if (s == TSR_OK) s = pool_of(c, &p, &w);
  return s == TSR_OK ? set_pool(c, 0, tsri_in(c, 0)->type, &w) : s;
}

/* With count_include_pad the divisor counts padding, but not what ceil_mode reaches beyond it;
 * a window that holds nothing gives 0. */
enum tsr_status tsri_eval_average_pool(struct tsri_eval *c) {
  struct pool p;
  struct tsr_net_window w;
  struct tsr_array *y = tsri_result(c, 0);
  if (!y) return TSR_OK;
  enum tsr_status s = pool_of(c->shape, &p, &w);
  if (s != TSR_OK) return s;
  bool padding = tsr_net_attr_int(c->node, "count_include_pad", 0) != 0;
  for (uint64_t o = 0; o < y->n; o++) {
    struct total t = {.x = tsri_arg(c, 0)->f + o / p.n_out * p.n_in};
    uint64_t padded = window(&p, o % p.n_out, take_total, &t), n = padding ? padded : t.n;
    y->f[o] = n ? t.sum / (double)n : 0;
  }
  return s;
}

/* ---- whole planes ---- */

enum tsr_status tsri_infer_global_pool(struct tsri_infer *c) {
  enum tsr_status s = tsri_want_float(c, 0);
  if (s == TSR_OK) s = tsri_want_rank_from(c, 0, 3);
  if (s != TSR_OK) return s;
  const struct tsr_net_value *x = tsri_in(c, 0);
  uint64_t dim[TSR_RANK_MAX] = {x->dim[0], x->dim[1]};
  for (unsigned d = 2; d < x->rank; d++) dim[d] = 1;
  return tsri_set(c, 0, x->type, x->rank, dim);
}

enum tsr_status tsri_eval_global_pool(struct tsri_eval *c) {
  const struct tsr_array *x = tsri_arg(c, 0);
  struct tsr_array *y = tsri_result(c, 0);
  uint64_t n = tsri_count(x->dim, 2, x->rank);
  bool mean = c->node->op == TSR_NET_GLOBAL_AVERAGE_POOL;
  for (uint64_t o = 0; y && o < y->n; o++) {
    struct total t = {.x = x->f + o * n};
    struct largest l = {.f = x->f + o * n};
    for (uint64_t i = 0; i < n; i++) mean ? take_total(&t, i) : take_largest(&l, i);
    if (mean)
      y->f[o] = t.sum / (double)n;
    else
      y->f[o] = l.found ? l.f[l.at] : -INFINITY;
  }
  return TSR_OK;
}
