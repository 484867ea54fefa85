#include "models/tile/fold.h"

#include "sim/base/mem.h"

const struct tsri_flow tsri_flows[TSRI_FLOWS] = {
    [TSRI_OS] = {"os", TSRI_M, TSRI_N, TSRI_K, false, TSRI_C, TSRI_A, false},
    [TSRI_WS] = {"ws", TSRI_K, TSRI_N, TSRI_M, true, TSRI_B, TSRI_A, false},
    [TSRI_IS] = {"is", TSRI_K, TSRI_M, TSRI_N, true, TSRI_A, TSRI_B, false},
    [TSRI_RS] = {"rs", TSRI_N, TSRI_M, TSRI_K, true, TSRI_B, TSRI_A, true},
};

/* The dimensions of an operand: element (i, j). */
static const struct {
  enum tsri_dim i, j;
} operand_dims[] = {
    [TSRI_A] = {TSRI_M, TSRI_K}, [TSRI_B] = {TSRI_K, TSRI_N}, [TSRI_C] = {TSRI_M, TSRI_N}};

/* ---- 2:4: positions along k of kept elements and of dense ones ---- */

enum { GROUP = 4, KEPT = 2 };

static uint64_t kept_of(uint64_t dense) {
  return dense / GROUP * KEPT + tsr_min_u64(dense % GROUP, KEPT);
}
/* Groups that the first `kept` elements come from. */
static uint64_t groups_of(uint64_t kept) {
  return tsr_ceil_div(kept, KEPT);
}
/* Dense elements in those groups. */
static uint64_t dense_of(const struct tsr_mm_req *q, uint64_t kept) {
  return q->sparse ? tsr_min_u64(q->k, groups_of(kept) * GROUP) : kept;
}

uint64_t tsri_extent(const struct tsr_mm_req *q, enum tsri_dim dim) {
  const uint64_t dims[] = {[TSRI_M] = q->m, [TSRI_N] = q->n, [TSRI_K] = q->k};
  return dim == TSRI_K && q->sparse ? kept_of(q->k) : dims[dim];
}

/* ---- cutting ---- */

uint64_t tsri_lines(const struct tsr_mm_req *q) {
  return q->lines ? q->lines : q->m;
}
uint64_t tsri_k_lines(const struct tsr_mm_req *q) {
  return q->k_lines ? q->k_lines : 1;
}
uint64_t tsri_k_line(const struct tsr_mm_req *q) {
  return tsr_ceil_div(tsri_extent(q, TSRI_K), tsri_k_lines(q));
}

/* The extent of a dimension as a flow has it. */
static uint64_t extent(const struct tsri_array *x, const struct tsr_mm_req *q,
                       enum tsri_dim dim) {
  if (!x->flow->lines) return tsri_extent(q, dim);
  if (dim == TSRI_N) return q->n * tsri_k_lines(q);
  if (dim == TSRI_M) return tsri_lines(q);
  return q->m / tsri_lines(q) * tsri_k_line(q);
}

/* Of lines: whole filters, above each other as often as they fit, and such columns of filters
 * side by side where all rows of results leave room for more than one. */
static uint64_t filter_rows(const struct tsri_array *x, const struct tsr_mm_req *q) {
  uint64_t taps = tsri_k_lines(q), lines = tsri_lines(q);
  uint64_t above = x->rows > taps ? x->rows / taps * taps : x->rows;
  return above * tsr_max_u64(x->cols / tsr_max_u64(lines, 1), 1);
}

/* Elements of dimension `dim` along a side of `n` elements. */
static uint64_t side(const struct tsri_array *x, const struct tsr_mm_req *q, enum tsri_dim dim,
                     uint64_t n) {
  if (x->flow->lines) return dim == TSRI_N ? filter_rows(x, q) : n;
  return dim == TSRI_K ? n * q->rate : n;
}

uint64_t tsri_folds(const struct tsri_array *x, const struct tsr_mm_req *q) {
  const struct tsri_flow *fl = x->flow;
  return tsr_ceil_div(extent(x, q, fl->rows), side(x, q, fl->rows, x->rows)) *
         tsr_ceil_div(extent(x, q, fl->cols), side(x, q, fl->cols, x->cols)) * q->groups;
}

uint64_t tsri_stream(const struct tsri_array *x, const struct tsr_mm_req *q) {
  uint64_t n = extent(x, q, x->flow->stream);
  return x->flow->stream == TSRI_K ? tsr_ceil_div(n, q->rate) : n;
}

void tsri_fold_at(const struct tsri_array *x, const struct tsr_mm_req *q,
                  const struct tsri_place *p, struct tsri_fold *out) {
  const struct tsri_flow *fl = x->flow;
  struct tsri_fold f = {.row0 = p->row0, .col0 = p->col0};
  f.rows = tsr_min_u64(side(x, q, fl->rows, x->rows), extent(x, q, fl->rows) - p->row0);
  f.cols = tsr_min_u64(side(x, q, fl->cols, x->cols), extent(x, q, fl->cols) - p->col0);
  f.stream = extent(x, q, fl->stream);
  f.T = tsri_stream(x, q);
  bool k_rows = fl->rows == TSRI_K;
  f.first_k = q->first && (!k_rows || p->row0 == 0);
  f.last_k = q->last && (!k_rows || p->row0 + f.rows == extent(x, q, TSRI_K));
  *out = f;
}

bool tsri_fold_next(const struct tsri_array *x, const struct tsr_mm_req *q,
                    struct tsri_place *p) {
  const struct tsri_flow *fl = x->flow;
  p->row0 += side(x, q, fl->rows, x->rows);
  if (p->row0 < extent(x, q, fl->rows)) return true;
  p->row0 = 0;
  p->col0 += side(x, q, fl->cols, x->cols);
  if (p->col0 < extent(x, q, fl->cols)) return true;
  p->col0 = 0;
  return ++p->group < q->groups;
}

/* ---- what a fold touches ---- */

struct range {
  uint64_t start, n;
};

static struct range executed(const struct tsri_array *x, const struct tsri_fold *f,
                             enum tsri_dim dim) {
  if (dim == x->flow->rows) return (struct range){f->row0, f->rows};
  if (dim == x->flow->cols) return (struct range){f->col0, f->cols};
  return (struct range){0, f->stream};
}

/* The same as operand `o` stores it: b what is executed, a all of it. */
static struct range stored(const struct tsri_array *x, const struct tsr_mm_req *q,
                           const struct tsri_fold *f, enum tsri_operand o, enum tsri_dim dim) {
  struct range r = executed(x, f, dim);
  if (dim != TSRI_K || o != TSRI_A) return r;
  uint64_t start = dense_of(q, r.start);
  return (struct range){start, dense_of(q, r.start + r.n) - start};
}

static uint32_t elem_bytes(const struct tsr_mm_req *q, enum tsri_operand o) {
  return o == TSRI_A ? q->a_bytes : o == TSRI_B ? q->b_bytes : q->acc_bytes;
}

/* Of lines: whole rows of the filters and of the results; of the input what its share of the
 * results reads, rows that several of them read once. */
static uint64_t line_bytes(const struct tsr_mm_req *q, const struct tsri_fold *f,
                           enum tsri_operand o) {
  uint64_t filters = tsr_ceil_div(f->rows, tsri_k_lines(q)), lines = tsri_lines(q);
  switch (o) {
  case TSRI_A: {
    uint64_t elems = q->a_elems ? q->a_elems : q->m * q->k;
    return tsr_ceil_div(elems * f->cols, lines) * q->a_bytes;
  }
  case TSRI_B: return f->rows * tsri_k_line(q) * q->b_bytes;
  default: return filters * f->cols * (q->m / lines) * q->acc_bytes;
  }
}

uint64_t tsri_fold_bytes(const struct tsri_array *x, const struct tsr_mm_req *q,
                         const struct tsri_fold *f, enum tsri_operand o) {
  if (x->flow->lines) return line_bytes(q, f, o);
  uint64_t elems = 1, meta = 0;
  elems *= stored(x, q, f, o, operand_dims[o].i).n;
  elems *= stored(x, q, f, o, operand_dims[o].j).n;
  if (q->sparse && o == TSRI_B) { /* two positions of 2 bits a group */
    struct range k = executed(x, f, TSRI_K);
    uint64_t groups = groups_of(k.start + k.n) - groups_of(k.start);
    meta = tsr_ceil_div(groups * executed(x, f, TSRI_N).n, 2);
  }
  return elems * elem_bytes(q, o) + meta;
}

/* ---- where ---- */

const struct tsr_buffer_view *tsri_view(const struct tsr_mm_req *q, enum tsri_operand o) {
  const struct tsr_buffer_view *views[] = {
      [TSRI_A] = &q->a, [TSRI_B] = &q->b, [TSRI_C] = &q->c};
  return views[o];
}

/* The dimension of an operand that a cycle takes a line of; the other one it steps. */
static enum tsri_dim line_of(const struct tsri_flow *fl, enum tsri_operand o) {
  if (fl->stationary) return o == fl->streamed ? fl->rows : fl->cols;
  return o == TSRI_A ? fl->rows : fl->cols;
}

/* `n` elements `apart`, times `m` elements `step` apart, as lanes of equal distance. */
static bool merge(struct tsr_pattern *t, uint64_t n, int64_t apart, uint64_t m, int64_t step) {
  const int64_t elem = t->elem_bytes;
  t->lanes = n;
  t->lane_bytes = apart;
  if (m == 1) return true;
  if (step == elem && m <= UINT32_MAX / t->elem_bytes) { /* side by side: a wide lane */
    t->elem_bytes *= (uint32_t)m;
    return true;
  }
  t->lanes = m;
  t->lane_bytes = step;
  if (n == 1) return true;
  if (apart == elem && n <= UINT32_MAX / t->elem_bytes) {
    t->elem_bytes *= (uint32_t)n;
    return true;
  }
  t->lanes = n * m;
  if (step == apart * (int64_t)n) {
    t->lane_bytes = apart;
    return true;
  }
  return apart == step * (int64_t)m;
}

bool tsri_fold_pattern(const struct tsri_array *x, const struct tsr_mm_req *q,
                       const struct tsri_fold *f, enum tsri_operand o,
                       struct tsr_pattern *out) {
  const struct tsr_buffer_view *v = tsri_view(q, o);
  if (!v->buffer || x->flow->lines) return false;
  enum tsri_dim i = operand_dims[o].i, j = operand_dims[o].j;
  bool i_line = line_of(x->flow, o) == i;
  struct range ri = stored(x, q, f, o, i), rj = stored(x, q, f, o, j);
  struct range line = i_line ? ri : rj, step = i_line ? rj : ri;
  int64_t apart = i_line ? v->i_bytes : v->j_bytes, down = i_line ? v->j_bytes : v->i_bytes;
  /* Along k a cycle takes `rate` products, of dense a twice as many elements. */
  uint64_t at_once = 1;
  if ((i_line ? j : i) == TSRI_K) at_once = q->sparse && o == TSRI_A ? 2 * q->rate : q->rate;
  struct tsr_pattern t = {.elem_bytes = elem_bytes(q, o)};
  t.addr = v->addr + ri.start * (uint64_t)v->i_bytes + rj.start * (uint64_t)v->j_bytes;
  t.steps = tsr_ceil_div(step.n, at_once);
  t.step_bytes = down * (int64_t)at_once;
  if (!merge(&t, line.n, apart, tsr_min_u64(at_once, step.n), down)) return false;
  *out = t;
  return true;
}
