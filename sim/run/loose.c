#include "sim/run/loose.h"

#include <math.h>
#include <string.h>

#include "models/arith/gemm.h"

struct tsri_loose {
  size_t cols; /* of the last run */
  double *b;   /* decoded, a row of k at a time */
  double *from_b;
  double *hi, *lo, *abs, *from; /* by result */
};

enum tsr_status tsri_loose_create(size_t rows, size_t cols, size_t k, struct tsri_loose **out,
                                  struct tsr_err *err) {
  struct tsri_loose *x = tsr_mem_alloc(sizeof *x);
  uint64_t n, m;
  if (!x) return tsr_err_nomem(err);
  if (tsr_mul_u64(rows, cols, &n) && tsr_mul_u64(k, cols, &m)) {
    x->b = tsr_mem_array(m, sizeof *x->b);
    x->from_b = tsr_mem_array(m, sizeof *x->from_b);
    x->hi = tsr_mem_array(n, sizeof *x->hi);
    x->lo = tsr_mem_array(n, sizeof *x->lo);
    x->abs = tsr_mem_array(n, sizeof *x->abs);
    x->from = tsr_mem_array(n, sizeof *x->from);
  }
  if (!x->b || !x->from_b || !x->hi || !x->lo || !x->abs || !x->from) {
    tsri_loose_destroy(x);
    return tsr_err_nomem(err);
  }
  *out = x;
  return TSR_OK;
}

void tsri_loose_destroy(struct tsri_loose *x) {
  if (!x) return;
  tsr_mem_free(x->b);
  tsr_mem_free(x->from_b);
  tsr_mem_free(x->hi);
  tsr_mem_free(x->lo);
  tsr_mem_free(x->abs);
  tsr_mem_free(x->from);
  tsr_mem_free(x);
}

static double decoded(const struct tsr_exact_operand *o, size_t at) {
  return tsr_arith_to_double(o->f, tsr_exact_code(o->codes, tsr_gemm_code_bytes(o->f), at));
}

/* sums[j] += a * b[j], with what is lost. */
static void add_row(size_t n, double a, const double *b, bool rest, double *hi, double *lo,
                    double *abs) {
  for (size_t j = 0; j < n; j++) {
    double p = a * b[j], s = hi[j] + p, v = s - hi[j];
    double lost = (hi[j] - (s - v)) + (p - v);
    if (rest) lost += fma(a, b[j], -p);
    hi[j] = s;
    lo[j] += lost;
    abs[j] += p < 0 ? -p : p;
  }
}

void tsri_loose_run(struct tsri_loose *x, size_t rows, size_t cols, size_t k,
                    const struct tsr_exact_operand *a, const struct tsr_exact_operand *b) {
  bool rest = a->f->man_bits + b->f->man_bits > 51;
  x->cols = cols;
  for (size_t i = 0; i < k; i++)
    for (size_t j = 0; j < cols; j++) {
      x->b[i * cols + j] = decoded(b, i * b->ld + j);
      x->from_b[i * cols + j] = (double)b->from[i * b->ld + j];
    }
  memset(x->hi, 0, rows * cols * sizeof *x->hi);
  memset(x->lo, 0, rows * cols * sizeof *x->lo);
  memset(x->abs, 0, rows * cols * sizeof *x->abs);
  memset(x->from, 0, rows * cols * sizeof *x->from);
  for (size_t r = 0; r < rows; r++)
    for (size_t i = 0; i < k; i++) {
      double from = (double)a->from[r * a->ld + i];
      add_row(cols, decoded(a, r * a->ld + i), x->b + i * cols, rest, x->hi + r * cols,
              x->lo + r * cols, x->abs + r * cols);
      for (size_t j = 0; j < cols; j++) x->from[r * cols + j] += from * x->from_b[i * cols + j];
    }
}

void tsri_loose_sum(const struct tsri_loose *x, size_t row, size_t col, double *hi,
                    double *lo) {
  double h = x->hi[row * x->cols + col], l = x->lo[row * x->cols + col];
  *hi = isfinite(h) ? h + l : h; /* what an infinity lost is no number */
  *lo = isfinite(*hi) ? (h - *hi) + l : 0;
}
double tsri_loose_abs(const struct tsri_loose *x, size_t row, size_t col) {
  return x->abs[row * x->cols + col];
}
double tsri_loose_from(const struct tsri_loose *x, size_t row, size_t col) {
  return x->from[row * x->cols + col];
}
