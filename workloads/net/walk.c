/* Walks over arrays with strides, and moves along them. */
#include <string.h>

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

/* ---- moving elements ---- */

static void move_run(const struct tsr_array *from, struct tsr_array *to,
                     const struct tsri_walk *w) {
  uint64_t a = w->at[0], b = w->at[1], sa = w->step[0], sb = w->step[1];
  bool dense = (sa == 1 && sb == 1) || w->n_inner == 1;
  if (dense && from->f) {
    memcpy(to->f + b, from->f + a, (size_t)w->n_inner * sizeof *to->f);
  } else if (dense) {
    memcpy(to->i + b, from->i + a, (size_t)w->n_inner * sizeof *to->i);
  } else if (from->f) {
    for (uint64_t k = 0; k < w->n_inner; k++) to->f[b + k * sb] = from->f[a + k * sa];
  } else {
    for (uint64_t k = 0; k < w->n_inner; k++) to->i[b + k * sb] = from->i[a + k * sa];
  }
}

void tsri_move(const struct tsr_array *from, uint64_t at_from, const uint64_t *stride_from,
               struct tsr_array *to, uint64_t at_to, const uint64_t *stride_to, unsigned rank,
               const uint64_t *dim) {
  uint64_t stride[2][TSR_RANK_MAX];
  for (unsigned d = 0; d < rank; d++) {
    stride[0][d] = stride_from[d];
    stride[1][d] = stride_to[d];
  }
  struct tsri_walk w;
  if (!tsri_net_walk_init(&w, rank, dim, 2, (const uint64_t(*)[TSR_RANK_MAX])stride)) return;
  w.at[0] = at_from;
  w.at[1] = at_to;
  do move_run(from, to, &w);
  while (tsri_net_walk_next(&w));
}

/* One run along the last dimension: base is where its first element would be in `from`, or
 * outside. */
struct pick {
  const struct tsr_array *from;
  struct tsr_array *to;
  double fill_f;
  int64_t fill_i;
};

static void pick_run(const struct pick *p, int64_t base, const int64_t *table, uint64_t n,
                     uint64_t at) {
  for (uint64_t k = 0; k < n; k++) {
    bool in = base >= 0 && table[k] >= 0;
    uint64_t src = in ? (uint64_t)(base + table[k]) : 0;
    if (p->to->f) {
      p->to->f[at + k] = in ? p->from->f[src] : p->fill_f;
    } else {
      p->to->i[at + k] = in ? p->from->i[src] : p->fill_i;
    }
  }
}

void tsri_pick(const struct tsr_array *from, struct tsr_array *to, const int64_t *const *table,
               double fill_f, int64_t fill_i) {
  struct pick p = {from, to, fill_f, fill_i};
  static const int64_t zero[1] = {0};
  unsigned rank = to->rank;
  uint64_t last = rank ? to->dim[rank - 1] : 1, stride[TSR_RANK_MAX], i[TSR_RANK_MAX] = {0};
  if (to->n == 0) return;
  tsri_strides(from->rank, from->dim, stride);
  for (uint64_t at = 0; at < to->n; at += last) {
    int64_t base = 0;
    for (unsigned d = 0; d + 1 < rank; d++) {
      int64_t j = table[d][i[d]];
      base = base < 0 || j < 0 ? -1 : base + j * (int64_t)stride[d];
    }
    pick_run(&p, base, rank ? table[rank - 1] : zero, last, at);
    for (unsigned d = rank ? rank - 1 : 0; d-- > 0;) {
      if (++i[d] < to->dim[d]) break;
      i[d] = 0;
    }
  }
}
