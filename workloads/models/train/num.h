/* Arithmetic of training: products of f32 matrices, steps of Adam, elementary functions.
 *
 * Every sum has a fixed order that does not depend on the width of the machine's vectors, and
 * nothing is contracted to a fused operation, so that a training run gives the same bits
 * wherever it is compiled with the project's flags.
 * Units and shapes: row-major f32 matrices with a row pitch (ld) in elements.
 * Ownership: the caller's.  Errors: none. */
#ifndef TSR_WORKLOADS_MODELS_TRAIN_NUM_H
#define TSR_WORKLOADS_MODELS_TRAIN_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A matrix as an operand: turned (`t`), element (i, j) is p[j * ld + i]. */
struct tsr_train_mat {
  const float *p;
  size_t ld;
  bool t;
};
/* c[m,n] = a[m,k] * b[k,n], or += with `add`. */
void tsr_train_gemm(size_t m, size_t n, size_t k, struct tsr_train_mat a,
                    struct tsr_train_mat b, float *c, size_t ldc, bool add);
/* Every row of y[m,n] = bias; what a product is then added to. */
void tsr_train_rows(float *y, const float *bias, size_t m, size_t n);
/* g[n] += the sum of the rows of dy[m,n]. */
void tsr_train_rows_sum(float *g, const float *dy, size_t m, size_t n);

/* One step of Adam (SRC:kingma2015) with decoupled weight decay (SRC:loshchilov2019), the
 * step's number from 1 on. */
struct tsr_train_adam {
  float rate, beta1, beta2, decay;
};
void tsr_train_adam(const struct tsr_train_adam *o, size_t step, float *w, const float *g,
                    float *m, float *v, size_t n);
/* The learning rate of a step: up over `warm` steps, then down a half cosine to a tenth. */
float tsr_train_rate(float peak, size_t step, size_t warm, size_t steps);

/* Loss of rows of logits[m,n] against labels (mean of -ln p), the gradient of that mean in
 * place of the logits where `grad`. */
double tsr_train_loss(float *logits, const uint8_t *label, size_t m, size_t n, bool grad);
size_t tsr_train_argmax(const float *x, size_t n);

/* e^x with a relative error of at most 2e-7; 0 below -87 (SRC:cephes, expf). */
static inline float tsr_train_exp(float x) {
  float c = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  float r = c * 1.44269504f + 12582912.0f; /* rounds to an integer in the low bits */
  int32_t bits;
  memcpy(&bits, &r, sizeof bits);
  r -= 12582912.0f;
  float t = (c - r * 0.693359375f) + r * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * t + 1.3981999507e-3f;
  p = p * t + 8.3334519073e-3f;
  p = p * t + 4.1665795894e-2f;
  p = p * t + 1.6666665459e-1f;
  p = p * t + 5.0000001201e-1f;
  p = p * t * t + t + 1.0f;
  int32_t scale = (int32_t)(((uint32_t)bits - 0x4b400000u + 127u) << 23);
  float s;
  memcpy(&s, &scale, sizeof s);
  return x < -87.0f ? 0.0f : p * s;
}

/* The error function within 2e-7 (SRC:abramowitz1964, 7.1.26). */
static inline float tsr_train_erf(float x) {
  float a = x < 0 ? -x : x, t = 1.0f / (1.0f + 0.3275911f * a);
  float p = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t +
             0.254829592f) *
            t;
  float y = 1.0f - p * tsr_train_exp(-a * a);
  return x < 0 ? -y : y;
}

#endif
