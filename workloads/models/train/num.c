#include "workloads/models/train/num.h"

#include <math.h>

enum { MR = 8, NR = 16, KB = 256, MB = 128 };

typedef float lanes __attribute__((vector_size(NR * sizeof(float)), may_alias));

/* c[MR,NR] of panels a[k][MR], b[k][NR]: every element is one sum in the order of k. */
static void tile(size_t k, const float *a, const float *b, float *c) {
  lanes c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0}, c4 = {0}, c5 = {0}, c6 = {0}, c7 = {0};
  for (size_t p = 0; p < k; p++, a += MR, b += NR) {
    const lanes v = *(const lanes *)b;
    c0 += a[0] * v, c1 += a[1] * v, c2 += a[2] * v, c3 += a[3] * v;
    c4 += a[4] * v, c5 += a[5] * v, c6 += a[6] * v, c7 += a[7] * v;
  }
  lanes *out = (lanes *)c;
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
  out[4] = c4, out[5] = c5, out[6] = c6, out[7] = c7;
}

/* Rows [i0, i0 + rows) of columns [k0, k0 + k) as panels of `width` rows, zero-padded. */
static void pack(struct tsr_train_mat a, size_t i0, size_t rows, size_t k0, size_t k,
                 size_t width, float *to) {
  for (size_t i = 0; i < rows; i += width, to += k * width) {
    size_t w = rows - i < width ? rows - i : width;
    if (w < width) memset(to, 0, k * width * sizeof *to);
    if (a.t) {
      for (size_t p = 0; p < k; p++)
        memcpy(to + p * width, a.p + (k0 + p) * a.ld + i0 + i, w * sizeof *to);
    } else {
      for (size_t r = 0; r < w; r++) {
        const float *from = a.p + (i0 + i + r) * a.ld + k0;
        for (size_t p = 0; p < k; p++) to[p * width + r] = from[p];
      }
    }
  }
}

static void store(const float *t, size_t rows, size_t cols, float *c, size_t ldc, bool add) {
  for (size_t i = 0; i < rows; i++) {
    float *row = c + i * ldc;
    if (add)
      for (size_t j = 0; j < cols; j++) row[j] += t[i * NR + j];
    else
      memcpy(row, t + i * NR, cols * sizeof *row);
  }
}

void tsr_train_gemm(size_t m, size_t n, size_t k, struct tsr_train_mat a,
                    struct tsr_train_mat b, float *c, size_t ldc, bool add) {
  _Alignas(64) float pa[MB * KB], pb[KB * NR], t[MR * NR];
  b.t = !b.t; /* packed by its columns */
  for (size_t k0 = 0; k0 < k; k0 += KB) {
    size_t kb = k - k0 < KB ? k - k0 : KB;
    for (size_t i0 = 0; i0 < m; i0 += MB) {
      size_t mb = m - i0 < MB ? m - i0 : MB;
      pack(a, i0, mb, k0, kb, MR, pa);
      for (size_t j = 0; j < n; j += NR) {
        size_t cols = n - j < NR ? n - j : NR;
        pack(b, j, cols, k0, kb, NR, pb);
        for (size_t i = 0; i < mb; i += MR) {
          tile(kb, pa + i * kb, pb, t);
          store(t, mb - i < MR ? mb - i : MR, cols, c + (i0 + i) * ldc + j, ldc, add || k0);
        }
      }
    }
  }
}

void tsr_train_rows(float *y, const float *bias, size_t m, size_t n) {
  for (size_t i = 0; i < m; i++) memcpy(y + i * n, bias, n * sizeof *y);
}

void tsr_train_rows_sum(float *g, const float *dy, size_t m, size_t n) {
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) g[j] += dy[i * n + j];
}

static float power(float x, size_t n) {
  double y = 1, b = x;
  for (; n; n >>= 1, b *= b)
    if (n & 1) y *= b;
  return (float)y;
}

void tsr_train_adam(const struct tsr_train_adam *o, size_t step, float *w, const float *g,
                    float *m, float *v, size_t n) {
  const float b1 = o->beta1, b2 = o->beta2;
  const float c1 = 1 / (1 - power(b1, step)), c2 = 1 / (1 - power(b2, step));
  for (size_t i = 0; i < n; i++) {
    m[i] = b1 * m[i] + (1 - b1) * g[i];
    v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
    w[i] -= o->rate * (m[i] * c1 / (sqrtf(v[i] * c2) + 1e-8f) + o->decay * w[i]);
  }
}

/* cos(pi * x) for x in [0, 1]: a polynomial about 1/2, within 2e-4. */
static float cos_pi(float x) {
  float u = (0.5f - x) * 3.14159265f, s = u * u;
  return u * (1 + s * (-1.0f / 6 + s * (1.0f / 120 - s / 5040)));
}

float tsr_train_rate(float peak, size_t step, size_t warm, size_t steps) {
  if (step < warm) return peak * (float)(step + 1) / (float)warm;
  float x = (float)(step - warm) / (float)(steps - warm);
  return peak * (0.1f + 0.45f * (1 + cos_pi(x > 1 ? 1 : x)));
}

/* ln x of a positive x: the exponent and a series in (m - 1) / (m + 1). */
static double log_of(double x) {
  int e;
  double f = frexp(x, &e), y = (f - 1) / (f + 1), s = y * y, sum = 0, term = y;
  for (int i = 1; i < 60; i += 2, term *= s) sum += term / i;
  return 2 * sum + e * 0.693147180559945309;
}

double tsr_train_loss(float *logits, const uint8_t *label, size_t m, size_t n, bool grad) {
  double loss = 0;
  for (size_t i = 0; i < m; i++) {
    float *x = logits + i * n, max = x[tsr_train_argmax(x, n)];
    float of_label = x[label[i]], sum = 0;
    for (size_t j = 0; j < n; j++) sum += tsr_train_exp(x[j] - max);
    loss += log_of((double)sum) - ((double)of_label - (double)max);
    if (!grad) continue;
    for (size_t j = 0; j < n; j++) x[j] = tsr_train_exp(x[j] - max) / sum / (float)m;
    x[label[i]] -= 1 / (float)m;
  }
  return loss / (double)m;
}

size_t tsr_train_argmax(const float *x, size_t n) {
  size_t best = 0;
  for (size_t j = 1; j < n; j++)
    if (x[j] > x[best]) best = j;
  return best;
}
