/* Matrix products: MatMul, Gemm, their integer forms, Einsum (SRC:onnx_operators).
 *
 * Integers of the quantised forms are held in doubles: products of two 9-bit differences are
 * exact in sums of up to 2^35 of them.  Scales of QLinearMatMul are multiplied and divided in
 * double precision, (a_scale * b_scale / y_scale) first, before the one rounding to even. */
#include <string.h>

#include "workloads/net/dense_int.h"
#include "workloads/net/operand_int.h"

/* ---- MatMul ---- */

/* A product of `batch` pairs of matrices, batch being broadcast. */
struct product {
  uint64_t m, n, k, n_batch;
  unsigned rank; /* of batch */
  uint64_t batch[TSR_RANK_MAX];
  uint64_t a_step[TSR_RANK_MAX], b_step[TSR_RANK_MAX]; /* elements, along batch */
  bool row, col; /* m and n are dimensions of the result */
};

static void batch_steps(const struct product *p, unsigned rank, const uint64_t *dim,
                        uint64_t size, uint64_t *step) {
  unsigned lead = rank > 2 ? rank - 2 : 0;
  memset(step, 0, TSR_RANK_MAX * sizeof *step);
  for (unsigned d = lead; d-- > 0;) {
    step[p->rank - lead + d] = dim[d] == 1 ? 0 : size;
    size *= dim[d];
  }
}

static enum tsr_status product_of(const struct tsri_infer *c, size_t ia, size_t ib,
                                  struct product *p) {
  const struct tsr_net_value *a = tsri_in(c, ia), *b = tsri_in(c, ib);
  enum tsr_status s = tsri_want_rank_from(c, ia, 1);
  if (s == TSR_OK) s = tsri_want_rank_from(c, ib, 1);
  if (s != TSR_OK) return s;
  memset(p, 0, sizeof *p);
  p->row = a->rank > 1;
  p->col = b->rank > 1;
  p->m = p->row ? a->dim[a->rank - 2] : 1;
  p->k = a->dim[a->rank - 1];
  p->n = p->col ? b->dim[b->rank - 1] : 1;
  unsigned lead = a->rank > 2 ? a->rank - 2 : 0;
  p->rank = lead;
  memcpy(p->batch, a->dim, lead * sizeof *a->dim);
  bool fit = b->dim[p->col ? b->rank - 2 : 0] == p->k &&
             tsri_broadcast(&p->rank, p->batch, b->rank > 2 ? b->rank - 2 : 0, b->dim);
  if (!fit)
    return tsri_fail(c->net, c->node, c->err,
                     "matrices that do not fit; expected [..,m,k] and [..,k,n], got %s and %s",
                     tsri_net_shape_text(a->rank, a->dim).s,
                     tsri_net_shape_text(b->rank, b->dim).s);
  batch_steps(p, a->rank, a->dim, p->m * p->k, p->a_step);
  batch_steps(p, b->rank, b->dim, p->k * p->n, p->b_step);
  p->n_batch = tsri_count(p->batch, 0, p->rank);
  if (tsri_count(b->dim, 0, b->rank > 2 ? b->rank - 2 : 0) == 1 && p->n_batch) {
    /* one matrix for all: their rows lie below each other */
    p->m *= p->n_batch;
    p->n_batch = 1;
  }
  return TSR_OK;
}

static enum tsr_status set_product(struct tsri_infer *c, size_t ia, size_t ib,
                                   enum tsr_dtype type) {
  struct product p;
  enum tsr_status s = product_of(c, ia, ib, &p);
  if (s != TSR_OK) return s;
  const struct tsr_net_value *a = tsri_in(c, ia);
  uint64_t dim[TSR_RANK_MAX + 2];
  unsigned rank = p.rank;
  memcpy(dim, p.batch, rank * sizeof *dim);
  if (p.row) dim[rank++] = a->dim[a->rank - 2];
  if (p.col) dim[rank++] = p.n;
  return tsri_set(c, 0, type, rank, dim);
}

static void offsets(const struct product *p, uint64_t at, uint64_t *a, uint64_t *b) {
  *a = *b = 0;
  if (p->n_batch == 1) return;
  for (unsigned d = p->rank; d-- > 0; at /= p->batch[d]) {
    *a += at % p->batch[d] * p->a_step[d];
    *b += at % p->batch[d] * p->b_step[d];
  }
}

static bool multiply(const struct product *p, const double *a, const double *b, double *out) {
  for (uint64_t i = 0; i < p->n_batch; i++) {
    uint64_t at_a, at_b;
    offsets(p, i, &at_a, &at_b);
    struct tsri_mm mm = {.m = p->m, .n = p->n, .k = p->k, .c_row = p->n};
    mm.a = (struct tsri_mat){a + at_a, p->k, 1, NULL, NULL};
    mm.b = (struct tsri_mat){b + at_b, p->n, 1, NULL, NULL};
    mm.c = out + i * p->m * p->n;
    if (!tsri_mm(&mm)) return false;
  }
  return true;
}

/* Modulo 2^64, which any narrower width divides. */
static void multiply_int(const struct product *p, const int64_t *a, const int64_t *b,
                         int64_t *out, enum tsr_dtype type) {
  for (uint64_t i = 0; i < p->n_batch; i++) {
    uint64_t at_a, at_b;
    offsets(p, i, &at_a, &at_b);
    int64_t *c = out + i * p->m * p->n;
    for (uint64_t r = 0; r < p->m; r++)
      for (uint64_t j = 0; j < p->n; j++) {
        uint64_t sum = 0;
        for (uint64_t k = 0; k < p->k; k++)
          sum += (uint64_t)a[at_a + r * p->k + k] * (uint64_t)b[at_b + k * p->n + j];
        c[r * p->n + j] = tsr_dtype_wrap(type, (int64_t)sum);
      }
  }
}

enum tsr_status tsri_infer_matmul(struct tsri_infer *c) {
  enum tsr_status s = tsri_want_number(c, 0);
  if (s == TSR_OK) s = tsri_want_type_of(c, 1, 0);
  return s == TSR_OK ? set_product(c, 0, 1, tsri_in(c, 0)->type) : s;
}

enum tsr_status tsri_eval_matmul(struct tsri_eval *c) {
  struct product p;
  enum tsr_status s = product_of(c->shape, 0, 1, &p);
  if (s != TSR_OK) return s;
  const struct tsr_array *a = tsri_arg(c, 0), *b = tsri_arg(c, 1);
  struct tsr_array *y = tsri_result(c, 0);
  if (!y) return TSR_OK;
  if (tsr_dtype_is_float(a->type))
    return multiply(&p, a->f, b->f, y->f) ? s : tsr_err_nomem(c->err);
  multiply_int(&p, a->i, b->i, y->i, y->type);
  return s;
}

/* ---- quantised products ---- */

static const enum tsr_dtype bytes[] = {TSR_DTYPE_U8, TSR_DTYPE_I8, TSR_DTYPE_NONE};

/* A scale or zero point of a matrix: one for all, a list along its side, or a value of its own
 * for every row (side 0) or column (side 1) of every matrix of the batch. */
static enum tsr_status want_side(const struct tsri_infer *c, size_t i, size_t of, unsigned side,
                                 const char *what) {
  const struct tsr_net_value *v = tsri_in(c, i), *m = tsri_in(c, of);
  if (!v || (v->rank <= 1 && tsri_count(v->dim, 0, v->rank) == 1)) return TSR_OK;
  uint64_t dim[TSR_RANK_MAX];
  unsigned rank = m->rank;
  memcpy(dim, m->dim, sizeof dim);
  uint64_t n = rank < 2 ? 1 : dim[side ? rank - 1 : rank - 2];
  if (v->rank <= 1 || rank < 2) return tsri_want_list(c, i, what, n);
  dim[side ? rank - 2 : rank - 1] = 1;
  return tsri_want_shape(c, i, what, rank, dim);
}

/* The value of such a list for element `at` of a row-major array of matrices m x n. */
static double side_value(const struct tsr_array *v, unsigned side, uint64_t at, uint64_t m,
                         uint64_t n) {
  if (!v) return 0;
  if (v->n == 1) return tsr_array_get(v, 0);
  uint64_t row = at / n; /* over the whole batch */
  if (side) return tsr_array_get(v, (v->rank > 1 ? row / m * n : 0) + at % n);
  return tsr_array_get(v, v->rank > 1 ? row : row % m);
}

/* a - zero, in doubles; NULL when out of memory. */
static double *centred(const struct tsr_array *a, const struct tsr_array *zero, unsigned side) {
  double *out = tsri_doubles(a->n);
  uint64_t n = a->rank ? a->dim[a->rank - 1] : 1, m = a->rank > 1 ? a->dim[a->rank - 2] : 1;
  bool one = !zero || zero->n == 1;
  double z = one ? side_value(zero, side, 0, m, n) : 0;
  if (a->rank == 1 && side) { /* a vector is a column */
    m = n;
    n = 1;
  }
  for (uint64_t i = 0; out && i < a->n; i++)
    out[i] = (double)a->i[i] - (one ? z : side_value(zero, side, i, m, n));
  return out;
}

/* The exact product of inputs ia and ib less their zero points; *out is the caller's. */
static enum tsr_status integer_product(struct tsri_eval *c, size_t ia, size_t iaz, size_t ib,
                                       size_t ibz, double **out) {
  struct product p;
  enum tsr_status s = product_of(c->shape, ia, ib, &p);
  if (s != TSR_OK) return s;
  double *a = centred(tsri_arg(c, ia), tsri_arg(c, iaz), 0);
  double *b = centred(tsri_arg(c, ib), tsri_arg(c, ibz), 1);
  *out = tsri_doubles(p.n_batch * p.m * p.n);
  bool ok = a && b && *out && multiply(&p, a, b, *out);
  tsr_mem_free(a);
  tsr_mem_free(b);
  if (ok) return TSR_OK;
  tsr_mem_free(*out);
  *out = NULL;
  return tsr_err_nomem(c->err);
}

enum tsr_status tsri_infer_matmul_integer(struct tsri_infer *c) {
  enum tsr_status s = tsri_want_types(c, 0, bytes);
  if (s == TSR_OK) s = tsri_want_types(c, 1, bytes);
  if (s == TSR_OK) s = tsri_want_type_of(c, 2, 0);
  if (s == TSR_OK) s = tsri_want_type_of(c, 3, 1);
  if (s == TSR_OK) s = set_product(c, 0, 1, TSR_DTYPE_I32);
  if (s == TSR_OK) s = want_side(c, 2, 0, 0, "a_zero_point");
  if (s == TSR_OK) s = want_side(c, 3, 1, 1, "b_zero_point");
  return s;
}

enum tsr_status tsri_eval_matmul_integer(struct tsri_eval *c) {
  struct tsr_array *y = tsri_result(c, 0);
  double *sum;
  if (!y) return TSR_OK;
  enum tsr_status s = integer_product(c, 0, 2, 1, 3, &sum);
  if (s != TSR_OK) return s;
  for (uint64_t i = 0; i < y->n; i++) y->i[i] = tsr_dtype_wrap(y->type, (int64_t)sum[i]);
  tsr_mem_free(sum);
  return s;
}

/* Inputs of QLinearMatMul. */
enum { QA, QA_SCALE, QA_ZERO, QB, QB_SCALE, QB_ZERO, QY_SCALE, QY_ZERO };

static enum tsr_status want_result_side(const struct tsri_infer *c, size_t i,
                                        const char *what) {
  const struct tsr_net_value *v = tsri_in(c, i), *a = tsri_in(c, QA);
  if (v->rank <= 1)
    return tsri_want_list_or_one(c, i, what, a->rank > 1 ? a->dim[a->rank - 2] : 1);
  uint64_t dim[TSR_RANK_MAX];
  unsigned rank = c->out[0].rank;
  memcpy(dim, c->out[0].dim, sizeof dim);
  if (rank) dim[rank - 1] = 1;
  return tsri_want_shape(c, i, what, rank, dim);
}

enum tsr_status tsri_infer_qlinear_matmul(struct tsri_infer *c) {
  static const size_t scales[] = {QA_SCALE, QB_SCALE, QY_SCALE};
  for (size_t i = 0; i < 8; i++)
    if (!tsri_in(c, i))
      return tsri_fail(c->net, c->node, c->err, "input %zu is left out; expected all eight", i);
  enum tsr_status s = TSR_OK;
  for (size_t i = 0; s == TSR_OK && i < 3; i++) s = tsri_want_float(c, scales[i]);
  if (s == TSR_OK) s = tsri_want_types(c, QA, bytes);
  if (s == TSR_OK) s = tsri_want_types(c, QB, bytes);
  if (s == TSR_OK) s = tsri_want_types(c, QY_ZERO, bytes);
  if (s == TSR_OK) s = tsri_want_type_of(c, QA_ZERO, QA);
  if (s == TSR_OK) s = tsri_want_type_of(c, QB_ZERO, QB);
  if (s == TSR_OK) s = set_product(c, QA, QB, tsri_in(c, QY_ZERO)->type);
  if (s == TSR_OK) s = want_side(c, QA_SCALE, QA, 0, "a_scale");
  if (s == TSR_OK) s = want_side(c, QA_ZERO, QA, 0, "a_zero_point");
  if (s == TSR_OK) s = want_side(c, QB_SCALE, QB, 1, "b_scale");
  if (s == TSR_OK) s = want_side(c, QB_ZERO, QB, 1, "b_zero_point");
  if (s == TSR_OK) s = want_result_side(c, QY_SCALE, "y_scale");
  if (s == TSR_OK) s = want_result_side(c, QY_ZERO, "y_zero_point");
  return s;
}

/* The scale of input i at element `at` of the result.  A batch that A or B does not have
 * repeats: its lists of own values are of the same shape as the result's, or one matrix's. */
static double scale_at(const struct tsr_array *v, unsigned side, uint64_t at, uint64_t m,
                       uint64_t n) {
  if (v->n == 1) return tsr_array_get(v, 0);
  uint64_t row = at / n;
  if (side) return tsr_array_get(v, (row / m * n + at % n) % v->n);
  return tsr_array_get(v, row % v->n);
}

enum tsr_status tsri_eval_qlinear_matmul(struct tsri_eval *c) {
  struct tsr_array *y = tsri_result(c, 0);
  double *sum;
  if (!y) return TSR_OK;
  enum tsr_status s = integer_product(c, QA, QA_ZERO, QB, QB_ZERO, &sum);
  if (s != TSR_OK) return s;
  const struct tsr_array *a = tsri_arg(c, QA), *b = tsri_arg(c, QB);
  uint64_t m = a->rank > 1 ? a->dim[a->rank - 2] : 1;
  uint64_t n = b->rank > 1 ? b->dim[b->rank - 1] : 1;
  for (uint64_t i = 0; i < y->n; i++) {
    double scale = scale_at(tsri_arg(c, QA_SCALE), 0, i, m, n) *
                   scale_at(tsri_arg(c, QB_SCALE), 1, i, m, n) /
                   scale_at(tsri_arg(c, QY_SCALE), 0, i, m, n);
    y->i[i] =
        tsri_quantise(y->type, sum[i] * scale, scale_at(tsri_arg(c, QY_ZERO), 0, i, m, n));
  }
  tsr_mem_free(sum);
  return s;
}

/* ---- Gemm ---- */

struct gemm {
  uint64_t m, n, k;
  bool ta, tb;
};

static enum tsr_status gemm_of(const struct tsri_infer *c, struct gemm *g) {
  enum tsr_status s = tsri_want_rank(c, 0, 2);
  if (s == TSR_OK) s = tsri_want_rank(c, 1, 2);
  if (s != TSR_OK) return s;
  const struct tsr_net_value *a = tsri_in(c, 0), *b = tsri_in(c, 1);
  g->ta = tsr_net_attr_int(c->node, "transA", 0) != 0;
  g->tb = tsr_net_attr_int(c->node, "transB", 0) != 0;
  g->m = a->dim[g->ta];
  g->k = a->dim[!g->ta];
  g->n = b->dim[!g->tb];
  if (b->dim[g->tb] == g->k) return TSR_OK;
  return tsri_fail(
      c->net, c->node, c->err, "matrices that do not fit; expected %s and %s, got %s and %s",
      g->ta ? "[k,m]" : "[m,k]", g->tb ? "[n,k]" : "[k,n]",
      tsri_net_shape_text(a->rank, a->dim).s, tsri_net_shape_text(b->rank, b->dim).s);
}

enum tsr_status tsri_infer_gemm(struct tsri_infer *c) {
  struct gemm g;
  enum tsr_status s = tsri_want_number(c, 0);
  if (s == TSR_OK) s = tsri_want_type_of(c, 1, 0);
  if (s == TSR_OK) s = tsri_want_type_of(c, 2, 0);
  if (s == TSR_OK) s = gemm_of(c, &g);
  if (s != TSR_OK) return s;
  uint64_t dim[TSR_RANK_MAX] = {g.m, g.n};
  const struct tsr_net_value *add = tsri_in(c, 2);
  if (add) {
    /* before opset 7 a C of another shape had to be announced */
    bool exact = c->net->opset < 7 && !tsr_net_attr_int(c->node, "broadcast", 0);
    uint64_t got[TSR_RANK_MAX] = {g.m, g.n};
    unsigned rank = 2;
    bool fit = tsri_broadcast(&rank, got, add->rank, add->dim) && rank == 2 && got[0] == g.m &&
               got[1] == g.n && (!exact || (add->rank == 2 && add->dim[0] == g.m));
    if (!fit || (exact && add->dim[1] != g.n))
      return tsri_fail(c->net, c->node, c->err, "wrong shape of C; expected %s%s, got %s",
                       tsri_net_shape_text(2, dim).s,
                       exact ? "" : " or what is broadcast to it",
                       tsri_net_shape_text(add->rank, add->dim).s);
  }
  return tsri_set(c, 0, tsri_in(c, 0)->type, 2, dim);
}

/* alpha * product + beta * add of integers: exact where the factors are integers. */
static int64_t gemm_int(double alpha, int64_t product, double beta, int64_t add) {
  if (alpha == (double)(int64_t)alpha && beta == (double)(int64_t)beta)
    return (int64_t)((uint64_t)(int64_t)alpha * (uint64_t)product +
                     (uint64_t)(int64_t)beta * (uint64_t)add);
  return (int64_t)(alpha * (double)product + beta * (double)add);
}

static void gemm_finish(const struct tsri_eval *c, struct tsr_array *y) {
  const struct tsr_array *add = tsri_arg(c, 2);
  double alpha = tsr_net_attr_float(c->node, "alpha", 1);
  double beta = tsr_net_attr_float(c->node, "beta", 1);
  uint64_t step[TSR_RANK_MAX] = {0};
  if (add) tsri_strides_to(add, 2, y->dim, step);
  for (uint64_t i = 0; i < y->dim[0]; i++)
    for (uint64_t j = 0; j < y->dim[1]; j++) {
      uint64_t at = i * y->dim[1] + j, from = i * step[0] + j * step[1];
      if (y->f && add)
        y->f[at] = alpha * y->f[at] + beta * add->f[from];
      else if (y->f)
        y->f[at] = alpha * y->f[at];
      else
        y->i[at] =
            tsr_dtype_wrap(y->type, gemm_int(alpha, y->i[at], beta, add ? add->i[from] : 0));
    }
}

enum tsr_status tsri_eval_gemm(struct tsri_eval *c) {
  struct gemm g;
  enum tsr_status s = gemm_of(c->shape, &g);
  if (s != TSR_OK) return s;
  const struct tsr_array *a = tsri_arg(c, 0), *b = tsri_arg(c, 1);
  struct tsr_array *y = tsri_result(c, 0);
  if (!y) return TSR_OK;
  size_t ai = g.ta ? 1 : g.k, ak = g.ta ? g.m : 1, bk = g.tb ? 1 : g.n, bj = g.tb ? g.k : 1;
  if (y->f) {
    struct tsri_mm mm = {.m = g.m, .n = g.n, .k = g.k, .c = y->f, .c_row = g.n};
    mm.a = (struct tsri_mat){a->f, ai, ak, NULL, NULL};
    mm.b = (struct tsri_mat){b->f, bk, bj, NULL, NULL};
    if (!tsri_mm(&mm)) return tsr_err_nomem(c->err);
  } else {
    for (uint64_t i = 0; i < g.m; i++)
      for (uint64_t j = 0; j < g.n; j++) {
        uint64_t sum = 0;
        for (uint64_t k = 0; k < g.k; k++)
          sum += (uint64_t)a->i[i * ai + k * ak] * (uint64_t)b->i[k * bk + j * bj];
        y->i[i * g.n + j] = (int64_t)sum;
      }
  }
  gemm_finish(c, y);
  return s;
}
