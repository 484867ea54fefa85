/* The oracle of what is no matmul: rows, windows, single elements, attention, rows by index.
 *
 * Operands are decoded values (tsr_arith_to_double is exact for every format of at most 53
 * significant bits).  Each result is computed in double-double (106 bits) with functions of
 * its own, and rounded once to a double: within 0.51 ulp of the exact result of the same
 * operands, where no sum cancels more than 40 bits, and where the result is no subnormal
 * number, whose argument may be any double.  Nothing depends on libm but fma, sqrt, ldexp,
 * frexp, floor, which are exact, so a result is the same on every machine.
 * Shapes: matrices are row-major and dense, images NHWC.  A function of a row takes n values
 * and is called for each of the m rows.  In and out may be the same array unless said.
 * Specials: NaN and infinities as IEEE 754 in the formula; limits where a gate closes
 * (gelu, silu of -infinity are -0).
 * Ownership: arrays are the caller's, nothing is allocated.  Errors: indices outside their
 * table, as false; sizes of 0 are the caller's bug unless said.
 * Independent of models/arith but for formats.  Sources: at the functions. */
#ifndef TSR_KERNELS_REF_VECTOR_H
#define TSR_KERNELS_REF_VECTOR_H

#include "models/arith/format.h"

/* ---- single elements ---- */

double tsr_ref_exp(double x);
double tsr_ref_log(double x);
double tsr_ref_tanh(double x);
double tsr_ref_erf(double x);
double tsr_ref_erfc(double x);
/* Of any angle, however large. */
double tsr_ref_sin(double x);
double tsr_ref_cos(double x);
/* log(1 + e^x). */
double tsr_ref_softplus(double x);
/* x^y, special cases as IEEE 754-2019, 9.2.1 (pow). */
double tsr_ref_pow(double x, double y);

typedef double tsr_ref_unary_fn(double x);
typedef double tsr_ref_binary_fn(double a, double b);
typedef double tsr_ref_numbers_fn(double x, double alpha, double beta);
/* By the name of the operator: copy neg abs relu square sqrt rsqrt recip exp log tanh erf
 * sigmoid gelu gelu_tanh silu hardswish hardsigmoid softplus softsign (NaN of an infinity) sin
 * cos floor ceil round (half to even) sign not; NULL when it is none of them. */
tsr_ref_unary_fn *tsr_ref_unary(const char *name);
/* add sub mul div max min subexp (e^(a - b)); max and min give NaN when either is.
 * less less_equal greater greater_equal equal: 1 or 0, 0 where either is NaN.  keep: a where b
 * is not 0, else +0.  pow.  mod (sign of b, as a 0 has it), fmod (sign of a): NaN of b = 0.
 * prelu: a where a > 0, else a * b. */
tsr_ref_binary_fn *tsr_ref_binary(const char *name);
/* leaky_relu elu selu celu affine (x * alpha + beta) clip (min(max(x, alpha), beta), a NaN
 * stays), with the numbers of workloads/op.def; NULL when it is none of them. */
tsr_ref_numbers_fn *tsr_ref_numbers(const char *name);

/* How b meets the rows and columns of a: one element each, a row for all rows, one element a
 * row, one element. */
enum tsr_ref_with { TSR_REF_FULL, TSR_REF_ROW, TSR_REF_COL, TSR_REF_SCALAR };
/* y[m,n] = f(a[m,n], b); b has m*n, n, m or 1 values.  y may be a. */
void tsr_ref_broadcast(tsr_ref_binary_fn *f, const double *a, const double *b,
                       enum tsr_ref_with with, size_t m, size_t n, double *y);

/* ---- rows of n values ---- */

/* e^(x - max) / sum; -infinity gives 0 (a mask), a row of nothing else NaN. */
void tsr_ref_softmax(const double *x, size_t n, double *y);
/* x - max - log of the sum of e^(x - max). */
void tsr_ref_log_softmax(const double *x, size_t n, double *y);
/* (x - mean) / sqrt(var + eps) * gain + bias, var the mean of the squared differences; gain
 * and bias of n values, or NULL for 1 and 0.  SRC:ba2016. */
void tsr_ref_layernorm(const double *x, const double *gain, const double *bias, double eps,
                       size_t n, double *y);
/* x / sqrt(mean of x^2 + eps) * gain.  SRC:zhang2019. */
void tsr_ref_rmsnorm(const double *x, const double *gain, double eps, size_t n, double *y);
/* x * scale + shift, a value of each for every column. */
void tsr_ref_batchnorm(const double *x, const double *scale, const double *shift, size_t n,
                       double *y);
/* Pairs (x, y) of neighbours, turned: (x*c - y*s, x*s + y*c); cs holds (c, s) of each pair,
 * n values; n even.  SRC:su2021. */
void tsr_ref_rope(const double *x, const double *cs, size_t n, double *y);

typedef double tsr_ref_reduce_fn(const double *x, size_t n);
/* rowsum rowmean rowmax rowmin rowsumsq rowabsmax rowprod; NULL when it is none of them. */
tsr_ref_reduce_fn *tsr_ref_reduce(const char *name);
/* The k largest, largest first, and their columns; of equals the first column; NaN counts as
 * the largest.  k <= n.  value and column hold k; value must not be x. */
void tsr_ref_topk(const double *x, size_t n, size_t k, double *value, size_t *column);

/* ---- windows ---- */

struct tsr_ref_pool {
  size_t batch, in_h, in_w, c, out_h, out_w; /* x[batch][in_h][in_w][c], y likewise */
  size_t k_h, k_w, stride_h, stride_w, pad_t, pad_l, dil_h, dil_w;
};
/* Padding is left out; a window of padding alone gives -infinity.  y must not be x. */
void tsr_ref_maxpool(const struct tsr_ref_pool *p, const double *x, double *y);
/* The sum / (k_h * k_w): padding counts as zeros.  y must not be x. */
void tsr_ref_avgpool(const struct tsr_ref_pool *p, const double *x, double *y);

/* ---- attention ---- */

struct tsr_ref_attention {
  size_t m, n, d; /* queries, keys, width of a head */
  bool causal;    /* query i sees keys 0 .. i + n - m; needs n >= m */
  double scale;   /* of the scores; 0: 1/sqrt(d), exactly */
};
/* out[m,d] = softmax(q[m,d] * k[n,d]^T * scale) * v[n,d] of one head, nothing rounded between.
 * work: 2*n values of the caller's, overwritten.  out may be q. */
void tsr_ref_attention(const struct tsr_ref_attention *a, const double *q, const double *k,
                       const double *v, double *work, double *out);

/* ---- rows by index ---- */

/* y[i,:] = sum over j < k of weight[i,j] * table[index[i,j],:] for m rows of n; weight NULL: 1.
 * k = 1 without weights is a plain look-up, with them the way back from the experts.  false:
 * an index is not below `rows`; y is then undefined.  y must not be table. */
bool tsr_ref_gather(const double *table, size_t rows, size_t n, const uint64_t *index,
                    const double *weight, size_t m, size_t k, double *y);
/* Order of the m*k rows that go to the experts: sorted by expert, in the order of tokens within
 * one.  expert[i,j]: of token i.  from[r]: place i*k + j of row r (its token is from[r] / k);
 * to: the inverse, row of place i*k + j, which is the index of the way back; first[e]: where
 * the rows of expert e start, experts + 1 values.  Each may be NULL.  false: an expert that is
 * not below `experts`. */
bool tsr_ref_dispatch(const uint64_t *expert, size_t m, size_t k, size_t experts,
                      uint64_t *from, uint64_t *to, uint64_t *first);

/* ---- formats ---- */

/* The code nearest to x (ties to even) in a format without a codec whose values are within
 * those of fp32, or in fp64; out of range as tsr_arith_round.  The sign of zero is not kept. */
uint64_t tsr_ref_encode(const struct tsr_format *f, double x);
/* x / scale + zero, rounded once to f (ties to even), clipped to its finite values.  NaN: as
 * tsr_ref_round.  scale > 0, finite; |x / scale| and |zero| below 2^500. */
uint64_t tsr_ref_quantise(const struct tsr_format *f, double x, double scale, double zero);
/* (the value of the code - zero) * scale. */
double tsr_ref_dequantise(const struct tsr_format *f, uint64_t code, double scale, double zero);

#endif
