/* Walks over arrays with strides. */
#include "workloads/net/net_int.h"

void tsri_strides(unsigned rank, const uint64_t *dim, uint64_t *stride) {
  uint64_t s = 1;
  for (unsigned d = rank; d-- > 0;) {
    stride[d] = s;
    s *= dim[d];
  }
}

void tsri_strides_to(const struct tsr_array *a, unsigned rank, const uint64_t *dim,
                     uint64_t *stride) {
  uint64_t own[TSR_RANK_MAX];
  tsri_strides(a->rank, a->dim, own);
  for (unsigned d = 0; d < rank; d++) {
    bool has = d + a->rank >= rank;
    unsigned e = has ? d + a->rank - rank : 0;
    stride[d] = has && a->dim[e] == dim[d] ? own[e] : 0;
  }
}

/* Dimension d of the shape goes on where the walk's last one ends, for all offsets. */
static bool joins(const struct tsri_walk *w, unsigned d, const uint64_t *dim,
                  const uint64_t (*stride)[TSR_RANK_MAX]) {
  if (!w->rank) return false;
  for (unsigned k = 0; k < w->n; k++)
    if (w->stride[k][w->rank - 1] != stride[k][d] * dim[d]) return false;
  return true;
}

bool tsri_net_walk_init(struct tsri_walk *w, unsigned rank, const uint64_t *dim, unsigned n,
                        const uint64_t (*stride)[TSR_RANK_MAX]) {
  *w = (struct tsri_walk){.n = n, .n_inner = 1};
  for (unsigned d = 0; d < rank; d++) {
    if (dim[d] == 0) return false;
    if (dim[d] == 1) continue;
    bool join = joins(w, d, dim, stride);
    if (!join) w->rank++;
    w->dim[w->rank - 1] = join ? w->dim[w->rank - 1] * dim[d] : dim[d];
    for (unsigned k = 0; k < n; k++) w->stride[k][w->rank - 1] = stride[k][d];
  }
  if (!w->rank) return true;
  w->rank--; /* the last dimension is the caller's */
  w->n_inner = w->dim[w->rank];
  for (unsigned k = 0; k < n; k++) w->step[k] = w->stride[k][w->rank];
  return true;
}

bool tsri_net_walk_next(struct tsri_walk *w) {
  for (unsigned d = w->rank; d-- > 0;) {
    for (unsigned k = 0; k < w->n; k++) w->at[k] += w->stride[k][d];
    if (++w->i[d] < w->dim[d]) return true;
    w->i[d] = 0;
    for (unsigned k = 0; k < w->n; k++) w->at[k] -= w->stride[k][d] * w->dim[d];
  }
  return false;
}
