/* Views: which element of a value each element of an operand is. */
#include "workloads/translate/view.h"

#include <string.h>

uint64_t tsr_view_elems(const struct tsr_view *v) {
  uint64_t n = 1;
  for (unsigned e = 0; e < v->rank; e++) n *= v->dim[e];
  return n;
}

/* A run that may still grow. */
struct growing {
  tsr_view_run_fn *fn;
  void *arg;
  uint64_t first, n;
  int64_t at, step;
};

static void flush(struct growing *g) {
  if (g->n) g->fn(g->arg, g->first, g->n, g->at, g->step);
  g->first += g->n;
  g->n = 0;
}

/* Lengthens the run by n elements from `at` on where they go on as it does. */
static void add(struct growing *g, uint64_t n, int64_t at, int64_t step) {
  if (n == 1) step = 0;
  if (g->n && at == TSR_VIEW_OUTSIDE && g->at == TSR_VIEW_OUTSIDE) {
    g->n += n;
    return;
  }
  if (g->n && at != TSR_VIEW_OUTSIDE && g->at != TSR_VIEW_OUTSIDE) {
    int64_t have = g->n == 1 ? at - g->at : g->step;
    if (at == g->at + (int64_t)g->n * have && (n == 1 || step == have)) {
      g->step = have;
      g->n += n;
      return;
    }
  }
  flush(g);
  g->n = n;
  g->at = at;
  g->step = at == TSR_VIEW_OUTSIDE ? 0 : step;
}

/* A view made ready for its walk: dimensions of 1 gone. */
struct walk {
  const struct tsr_view *v;
  unsigned rank;
  unsigned of[TSR_VIEW_RANK]; /* the view's dimension */
  int64_t stride[TSR_RANK_MAX];
};

static void prepare(struct walk *w, const struct tsr_view *v) {
  w->v = v;
  w->rank = 0;
  for (unsigned e = 0; e < v->rank; e++)
    if (v->dim[e] > 1) w->of[w->rank++] = e;
  int64_t stride = 1;
  for (unsigned d = v->src_rank; d-- > 0;) {
    w->stride[d] = stride;
    stride *= (int64_t)v->extent[d];
  }
}

/* Coordinate j[d] looked up and held against the extent; false: outside. */
static bool settle(const struct tsr_view *v, unsigned d, int64_t j, int64_t *out) {
  if (v->table[d]) {
    if (j < 0 || (uint64_t)j >= v->n_table[d]) return false;
    j = v->table[d][j];
  }
  if (j < 0 || (uint64_t)j >= v->extent[d]) return false;
  *out = j;
  return true;
}

/* One row of the innermost dimension, element by element: a table bends it. */
static void row_by_table(const struct walk *w, const int64_t *j, unsigned e, uint64_t n,
                         struct growing *g) {
  const struct tsr_view *v = w->v;
  for (uint64_t i = 0; i < n; i++) {
    int64_t at = 0, c;
    for (unsigned d = 0; d < v->src_rank && at >= 0; d++)
      at = settle(v, d, j[d] + v->coef[d][e] * (int64_t)i, &c) ? at + c * w->stride[d]
                                                               : TSR_VIEW_OUTSIDE;
    add(g, 1, at, 0);
  }
}

static int64_t ceil_to(int64_t a, int64_t b) { /* b > 0 */
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

/* Narrows [lo, hi) to the i with 0 <= j + c*i < extent; c is not 0. */
static void narrow(int64_t j, int64_t c, int64_t extent, int64_t *lo, int64_t *hi) {
  int64_t from = c > 0 ? ceil_to(-j, c) : ceil_to(j - extent + 1, -c);
  int64_t to = c > 0 ? ceil_to(extent - j, c) : ceil_to(j + 1, -c);
  if (from > *lo) *lo = from;
  if (to < *hi) *hi = to;
}

/* One row of the innermost dimension e: fill, a run, fill. */
static void row_plain(const struct walk *w, const int64_t *j, unsigned e, uint64_t n,
                      struct growing *g) {
  const struct tsr_view *v = w->v;
  int64_t lo = 0, hi = (int64_t)n, at = 0, step = 0, c;
  for (unsigned d = 0; d < v->src_rank; d++) {
    int64_t by = v->coef[d][e];
    if (by) {
      narrow(j[d], by, (int64_t)v->extent[d], &lo, &hi);
      at += j[d] * w->stride[d];
      step += by * w->stride[d];
    } else if (settle(v, d, j[d], &c)) {
      at += c * w->stride[d];
    } else {
      hi = lo;
    }
  }
  if (lo >= hi) {
    add(g, n, TSR_VIEW_OUTSIDE, 0);
    return;
  }
  if (lo > 0) add(g, (uint64_t)lo, TSR_VIEW_OUTSIDE, 0);
  add(g, (uint64_t)(hi - lo), at + lo * step, step);
  if (hi < (int64_t)n) add(g, n - (uint64_t)hi, TSR_VIEW_OUTSIDE, 0);
}

void tsr_view_runs(const struct tsr_view *v, tsr_view_run_fn *fn, void *arg) {
  struct growing g = {.fn = fn, .arg = arg};
  uint64_t elems = tsr_view_elems(v);
  if (elems == 0) return;
  if (v->value == SIZE_MAX) {
    fn(arg, 0, elems, TSR_VIEW_OUTSIDE, 0);
    return;
  }
  struct walk w;
  prepare(&w, v);
  unsigned e = w.rank ? w.of[w.rank - 1] : 0;
  uint64_t n = w.rank ? v->dim[e] : 1, i[TSR_VIEW_RANK] = {0};
  bool bent = false;
  for (unsigned d = 0; d < v->src_rank; d++)
    bent = bent || (w.rank && v->table[d] && v->coef[d][e]);
  int64_t j[TSR_RANK_MAX];
  memcpy(j, v->base, sizeof j);
  for (;;) {
    if (w.rank == 0 || bent)
      row_by_table(&w, j, e, n, &g);
    else
      row_plain(&w, j, e, n, &g);
    unsigned q = w.rank ? w.rank - 1 : 0;
    for (; q > 0; q--) {
      unsigned o = w.of[q - 1];
      bool more = ++i[o] < v->dim[o];
      int64_t by = more ? 1 : -(int64_t)(v->dim[o] - 1);
      for (unsigned d = 0; d < v->src_rank; d++) j[d] += by * v->coef[d][o];
      if (more) break;
      i[o] = 0;
    }
    if (q == 0) break;
  }
  flush(&g);
}

void tsr_view_of(struct tsr_view *v, size_t value, unsigned rank, const uint64_t *dim) {
  memset(v, 0, sizeof *v);
  v->value = value;
  v->rank = v->src_rank = rank;
  for (unsigned d = 0; d < rank; d++) {
    v->dim[d] = v->extent[d] = dim[d];
    v->coef[d][d] = 1;
  }
}

void tsr_view_whole(struct tsr_view *v, size_t value, uint64_t n) {
  tsr_view_of(v, value, 1, &n);
}
