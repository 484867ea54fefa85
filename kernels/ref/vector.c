/* Rows, windows, attention and look-ups of the oracle (kernels/ref/vector.h). */
#include "kernels/ref/vector.h"

#include <string.h>

#include "kernels/ref/dd_int.h"
#include "kernels/ref/ref.h"

typedef struct tsri_dd dd;

static dd of(double v) {
  return (dd){v, 0};
}

void tsr_ref_broadcast(tsr_ref_binary_fn *f, const double *a, const double *b,
                       enum tsr_ref_with with, size_t m, size_t n, double *y) {
  static const struct {
    bool row, col; /* what the place in b follows */
  } follows[] = {[TSR_REF_FULL] = {true, true},
                 [TSR_REF_ROW] = {false, true},
                 [TSR_REF_COL] = {true, false},
                 [TSR_REF_SCALAR] = {false, false}};
  bool row = follows[with].row, col = follows[with].col;
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++)
      y[i * n + j] = f(a[i * n + j], b[(row ? i * (col ? n : 1) : 0) + (col ? j : 0)]);
}

/* ---- rows ---- */

static double row_max(const double *x, size_t n) {
  double most = x[0];
  for (size_t i = 1; i < n; i++)
    if (isnan(x[i]) || x[i] > most) most = x[i];
  return most;
}

static double row_min(const double *x, size_t n) {
  double least = x[0];
  for (size_t i = 1; i < n; i++)
    if (isnan(x[i]) || x[i] < least) least = x[i];
  return least;
}

static double row_absmax(const double *x, size_t n) {
  double most = fabs(x[0]);
  for (size_t i = 1; i < n; i++)
    if (isnan(x[i]) || fabs(x[i]) > most) most = fabs(x[i]);
  return most;
}

static dd sum_dd(const double *x, size_t n) {
  dd sum = of(0);
  for (size_t i = 0; i < n; i++) sum = tsri_dd_add(sum, of(x[i]));
  return sum;
}

static dd sumsq_dd(const double *x, size_t n) {
  dd sum = of(0);
  for (size_t i = 0; i < n; i++) sum = tsri_dd_add(sum, tsri_dd_product(x[i], x[i]));
  return sum;
}

static double row_sum(const double *x, size_t n) {
  return tsri_dd_value(sum_dd(x, n));
}

static double row_mean(const double *x, size_t n) {
  return tsri_dd_value(tsri_dd_div(sum_dd(x, n), of((double)n)));
}

static double row_sumsq(const double *x, size_t n) {
  return tsri_dd_value(sumsq_dd(x, n));
}

static double row_prod(const double *x, size_t n) {
  dd p = of(1);
  for (size_t i = 0; i < n; i++) p = tsri_dd_scale(p, x[i]);
  return tsri_dd_value(p);
}

tsr_ref_reduce_fn *tsr_ref_reduce(const char *name) {
  static const struct {
    const char *name;
    tsr_ref_reduce_fn *fn;
  } rows[] = {{"rowsum", row_sum},  {"rowmean", row_mean},   {"rowmax", row_max},
              {"rowmin", row_min},  {"rowsumsq", row_sumsq}, {"rowabsmax", row_absmax},
              {"rowprod", row_prod}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(rows[i].name, name) == 0) return rows[i].fn;
  return NULL;
}

void tsr_ref_softmax(const double *x, size_t n, double *y) {
  double most = row_max(x, n);
  dd sum = of(0);
  for (size_t i = 0; i < n; i++) sum = tsri_dd_add(sum, tsri_dd_exp(tsri_dd_sum(x[i], -most)));
  for (size_t i = 0; i < n; i++)
    y[i] = tsri_dd_value(tsri_dd_div(tsri_dd_exp(tsri_dd_sum(x[i], -most)), sum));
}

/* log of the sum = log(1 + the others than the largest one). */
void tsr_ref_log_softmax(const double *x, size_t n, double *y) {
  double most = row_max(x, n);
  dd others = of(0);
  bool seen = false;
  for (size_t i = 0; i < n; i++) {
    if (!seen && x[i] == most) {
      seen = true;
      if (isfinite(most)) continue;
    }
    others = tsri_dd_add(others, tsri_dd_exp(tsri_dd_sum(x[i], -most)));
  }
  others = tsri_dd_log1p(others);
  for (size_t i = 0; i < n; i++)
    y[i] = tsri_dd_value(tsri_dd_sub(tsri_dd_sum(x[i], -most), others));
}

/* v / sqrt(square + eps) * gain + bias */
static double scaled(dd v, dd root, const double *gain, const double *bias, size_t i) {
  v = tsri_dd_div(v, root);
  if (gain) v = tsri_dd_scale(v, gain[i]);
  if (bias) v = tsri_dd_add(v, of(bias[i]));
  return tsri_dd_value(v);
}

void tsr_ref_layernorm(const double *x, const double *gain, const double *bias, double eps,
                       size_t n, double *y) {
  dd mean = tsri_dd_div(sum_dd(x, n), of((double)n)), square = of(0);
  for (size_t i = 0; i < n; i++) {
    dd d = tsri_dd_sub(of(x[i]), mean);
    square = tsri_dd_add(square, tsri_dd_mul(d, d));
  }
  dd root = tsri_dd_sqrt(tsri_dd_add(tsri_dd_div(square, of((double)n)), of(eps)));
  for (size_t i = 0; i < n; i++)
    y[i] = scaled(tsri_dd_sub(of(x[i]), mean), root, gain, bias, i);
}

void tsr_ref_rmsnorm(const double *x, const double *gain, double eps, size_t n, double *y) {
  dd mean = tsri_dd_div(sumsq_dd(x, n), of((double)n));
  dd root = tsri_dd_sqrt(tsri_dd_add(mean, of(eps)));
  for (size_t i = 0; i < n; i++) y[i] = scaled(of(x[i]), root, gain, NULL, i);
}

void tsr_ref_batchnorm(const double *x, const double *scale, const double *shift, size_t n,
                       double *y) {
  for (size_t i = 0; i < n; i++)
    y[i] = tsri_dd_value(tsri_dd_add(tsri_dd_product(x[i], scale[i]), of(shift[i])));
}

void tsr_ref_rope(const double *x, const double *cs, size_t n, double *y) {
  for (size_t i = 0; i + 1 < n; i += 2) {
    double a = x[i], b = x[i + 1], c = cs[i], s = cs[i + 1];
    y[i] = tsri_dd_value(tsri_dd_sub(tsri_dd_product(a, c), tsri_dd_product(b, s)));
    y[i + 1] = tsri_dd_value(tsri_dd_add(tsri_dd_product(a, s), tsri_dd_product(b, c)));
  }
}

/* a stands before b in a list of the largest. */
static bool before(const double *x, size_t a, size_t b) {
  bool nan_a = isnan(x[a]), nan_b = isnan(x[b]);
  if (nan_a || nan_b) return nan_a && (!nan_b || a < b);
  return x[a] > x[b] || (x[a] == x[b] && a < b);
}

void tsr_ref_topk(const double *x, size_t n, size_t k, double *value, size_t *column) {
  for (size_t r = 0; r < k; r++) {
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
      bool behind = r == 0 || before(x, column[r - 1], i);
      if (behind && (best == n || before(x, i, best))) best = i;
    }
    column[r] = best;
    value[r] = x[best];
  }
}

/* ---- windows ---- */

/* Place of element j of a window along one axis; false: padding. */
static bool inside(size_t out, size_t stride, size_t j, size_t dil, size_t pad, size_t in,
                   size_t *at) {
  size_t padded = out * stride + j * dil;
  if (padded < pad || padded - pad >= in) return false;
  *at = padded - pad;
  return true;
}

/* Largest and sum of the window of result (b, h, w, c). */
static void window(const struct tsr_ref_pool *p, const double *x, size_t b, size_t h, size_t w,
                   size_t c, double *most, dd *sum) {
  *most = -INFINITY;
  *sum = of(0);
  for (size_t i = 0; i < p->k_h; i++)
    for (size_t j = 0; j < p->k_w; j++) {
      size_t y, z;
      if (!inside(h, p->stride_h, i, p->dil_h, p->pad_t, p->in_h, &y) ||
          !inside(w, p->stride_w, j, p->dil_w, p->pad_l, p->in_w, &z))
        continue;
      double v = x[((b * p->in_h + y) * p->in_w + z) * p->c + c];
      if (!isnan(*most) && (isnan(v) || v > *most)) *most = v;
      *sum = tsri_dd_add(*sum, of(v));
    }
}

static void pool(const struct tsr_ref_pool *p, const double *x, bool mean, double *y) {
  double all = (double)(p->k_h * p->k_w);
  for (size_t b = 0; b < p->batch; b++)
    for (size_t h = 0; h < p->out_h; h++)
      for (size_t w = 0; w < p->out_w; w++)
        for (size_t c = 0; c < p->c; c++) {
          double most;
          dd sum;
          window(p, x, b, h, w, c, &most, &sum);
          y[((b * p->out_h + h) * p->out_w + w) * p->c + c] =
              mean ? tsri_dd_value(tsri_dd_div(sum, of(all))) : most;
        }
}

void tsr_ref_maxpool(const struct tsr_ref_pool *p, const double *x, double *y) {
  pool(p, x, false, y);
}

void tsr_ref_avgpool(const struct tsr_ref_pool *p, const double *x, double *y) {
  pool(p, x, true, y);
}

/* ---- attention ---- */

static dd dot(const double *a, const double *b, size_t n) {
  dd sum = of(0);
  for (size_t i = 0; i < n; i++) sum = tsri_dd_add(sum, tsri_dd_product(a[i], b[i]));
  return sum;
}

static dd work_get(const double *work, size_t j) {
  return (dd){work[2 * j], work[2 * j + 1]};
}

static void work_set(double *work, size_t j, dd v) {
  work[2 * j] = v.hi;
  work[2 * j + 1] = v.lo;
}

/* Scores of one query into work; the largest one. */
static dd scores(const struct tsr_ref_attention *a, const double *q, const double *k,
                 size_t keys, double *work) {
  dd most = of(-INFINITY), scale = of(a->scale);
  if (a->scale == 0) scale = tsri_dd_div(of(1), tsri_dd_sqrt(of((double)a->d)));
  for (size_t j = 0; j < keys; j++) {
    dd s = tsri_dd_mul(dot(q, k + j * a->d, a->d), scale);
    work_set(work, j, s);
    if (s.hi > most.hi || (s.hi == most.hi && s.lo > most.lo)) most = s;
  }
  return most;
}

void tsr_ref_attention(const struct tsr_ref_attention *a, const double *q, const double *k,
                       const double *v, double *work, double *out) {
  for (size_t i = 0; i < a->m; i++) {
    size_t keys = a->causal ? i + a->n - a->m + 1 : a->n;
    dd most = scores(a, q + i * a->d, k, keys, work), sum = of(0);
    for (size_t j = 0; j < keys; j++) {
      dd e = tsri_dd_exp(tsri_dd_sub(work_get(work, j), most));
      work_set(work, j, e);
      sum = tsri_dd_add(sum, e);
    }
    for (size_t c = 0; c < a->d; c++) {
      dd o = of(0);
      for (size_t j = 0; j < keys; j++)
        o = tsri_dd_add(o, tsri_dd_scale(work_get(work, j), v[j * a->d + c]));
      out[i * a->d + c] = tsri_dd_value(tsri_dd_div(o, sum));
    }
  }
}

/* ---- rows by index ---- */

bool tsr_ref_gather(const double *table, size_t rows, size_t n, const uint64_t *index,
                    const double *weight, size_t m, size_t k, double *y) {
  for (size_t i = 0; i < m * k; i++)
    if (index[i] >= rows) return false;
  for (size_t i = 0; i < m; i++)
    for (size_t c = 0; c < n; c++) {
      dd sum = of(0);
      for (size_t j = i * k; j < (i + 1) * k; j++)
        sum =
            tsri_dd_add(sum, tsri_dd_product(weight ? weight[j] : 1, table[index[j] * n + c]));
      y[i * n + c] = tsri_dd_value(sum);
    }
  return true;
}

bool tsr_ref_dispatch(const uint64_t *expert, size_t m, size_t k, size_t experts,
                      uint64_t *from, uint64_t *to, uint64_t *first) {
  for (size_t i = 0; i < m * k; i++)
    if (expert[i] >= experts) return false;
  size_t row = 0;
  for (size_t e = 0; e < experts; e++) {
    if (first) first[e] = row;
    for (size_t i = 0; i < m * k; i++) {
      if (expert[i] != e) continue;
      if (from) from[row] = i;
      if (to) to[i] = row;
      row++;
    }
  }
  if (first) first[experts] = row;
  return true;
}

/* ---- formats ---- */

static struct tsr_num num_of(double v) {
  uint64_t code;
  memcpy(&code, &v, sizeof code);
  return tsr_arith_decode(tsr_format_find("fp64"), code);
}

/* Adds v to the exact sum.  What is too large or too small for it is put where every format
 * that the header allows treats it alike. */
static void sum_add(struct tsr_ref *r, double v) {
  double a = fabs(v);
  if (isfinite(v) && a > 0x1p600) v = copysign(0x1p600, v);
  if (a > 0 && a < 0x1p-500) v = copysign(0x1p-500, v);
  struct tsr_num n = num_of(v);
  tsr_ref_add(r, &n);
}

static bool is_fp64(const struct tsr_format *f) {
  return !f->is_int && f->exp_bits == 11 && f->man_bits == 52;
}

uint64_t tsr_ref_encode(const struct tsr_format *f, double x) {
  if (is_fp64(f)) {
    uint64_t code;
    memcpy(&code, &x, sizeof code);
    return code;
  }
  struct tsr_ref r;
  tsr_ref_init(&r);
  sum_add(&r, x);
  return tsr_ref_round(&r, f, TSR_ROUND_RNE);
}

uint64_t tsr_ref_quantise(const struct tsr_format *f, double x, double scale, double zero) {
  double high = tsr_arith_to_double(f, tsr_arith_max(f, false)),
         low = tsr_arith_to_double(f, tsr_arith_max(f, true));
  dd q = tsri_dd_div(of(x), of(scale)), v = tsri_dd_add(q, of(zero));
  if (v.hi >= high) return tsr_arith_max(f, false);
  if (v.hi <= low) return tsr_arith_max(f, true);
  struct tsr_ref r;
  tsr_ref_init(&r);
  sum_add(&r, q.hi);
  sum_add(&r, q.lo);
  sum_add(&r, zero);
  return tsr_ref_round(&r, f, TSR_ROUND_RNE);
}

double tsr_ref_dequantise(const struct tsr_format *f, uint64_t code, double scale,
                          double zero) {
  dd v = tsri_dd_sum(tsr_arith_to_double(f, code), -zero);
  return tsri_dd_value(tsri_dd_scale(v, scale));
}
