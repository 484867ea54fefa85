/* The trainers' arithmetic against the oracle, their gradients against differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "kernels/ref/vector.h"
#include "sim/base/rng.h"
#include "workloads/models/train/images.h"
#include "workloads/models/train/lm.h"
#include "workloads/models/train/num.h"

static void exp_and_erf_are_within_their_bounds(void **state) {
  (void)state;
  for (int i = -8700; i <= 8800; i++) {
    float x = (float)i / 100;
    double want = tsr_ref_exp((double)x);
    assert_true(fabs((double)tsr_train_exp(x) - want) <= 2e-7 * want);
  }
  assert_true(tsr_train_exp(-1000) == 0);
  for (int i = -600; i <= 600; i++) {
    float x = (float)i / 100;
    assert_true(fabs((double)tsr_train_erf(x) - tsr_ref_erf((double)x)) <= 4e-7);
  }
}

static void fill(float *x, size_t n, uint64_t stream) {
  for (size_t i = 0; i < n; i++) x[i] = (float)tsr_rng_normal(5, stream, i);
}

static void products_are_the_sums_in_order(void **state) {
  (void)state;
  static const struct {
    size_t m, n, k;
    bool ta, tb, add;
  } rows[] = {{1, 1, 1, false, false, false},   {8, 16, 4, false, false, true},
              {9, 17, 5, true, false, false},   {7, 15, 3, false, true, true},
              {130, 33, 20, true, true, false}, {129, 18, 256, false, true, false}};
  static float a[40000], b[40000], c[5000], d[5000];
  fill(a, 40000, 1);
  fill(b, 40000, 2);
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    size_t m = rows[r].m, n = rows[r].n, k = rows[r].k;
    size_t lda = (rows[r].ta ? m : k) + 2, ldb = (rows[r].tb ? k : n) + 1;
    fill(c, m * n, 3);
    memcpy(d, c, sizeof d);
    tsr_train_gemm(m, n, k, (struct tsr_train_mat){a, lda, rows[r].ta},
                   (struct tsr_train_mat){b, ldb, rows[r].tb}, c, n, rows[r].add);
    for (size_t i = 0; i < m; i++)
      for (size_t j = 0; j < n; j++) {
        float sum = 0;
        for (size_t p = 0; p < k; p++)
          sum += (rows[r].ta ? a[p * lda + i] : a[i * lda + p]) *
                 (rows[r].tb ? b[j * ldb + p] : b[p * ldb + j]);
        assert_true(c[i * n + j] == (rows[r].add ? d[i * n + j] + sum : sum));
      }
  }
}

static void products_of_long_sums_are_near(void **state) {
  (void)state;
  enum { K = 700 };
  static float a[K * 3], b[K * 5];
  float c[15];
  fill(a, K * 3, 1);
  fill(b, K * 5, 2);
  tsr_train_gemm(3, 5, K, (struct tsr_train_mat){a, K, false},
                 (struct tsr_train_mat){b, 5, false}, c, 5, false);
  for (size_t i = 0; i < 15; i++) {
    double sum = 0;
    for (size_t p = 0; p < K; p++) sum += (double)a[i / 5 * K + p] * (double)b[p * 5 + i % 5];
    assert_true(fabs((double)c[i] - sum) < 1e-4);
  }
}

/* One step moves by the rate against the gradient; without one, only by the decay. */
static void adam_steps_by_the_rate(void **state) {
  (void)state;
  struct tsr_train_adam o = {0.5f, 0.9f, 0.99f, 0.1f};
  float w[] = {1, 1, 1}, g[] = {3, -2, 0}, m[3] = {0}, v[3] = {0};
  tsr_train_adam(&o, 1, w, g, m, v, 3);
  assert_true(fabsf(w[0] - 0.45f) < 1e-5f);
  assert_true(fabsf(w[1] - 1.45f) < 1e-5f);
  assert_true(fabsf(w[2] - 0.95f) < 1e-5f);
}

static void rate_rises_then_falls_to_a_tenth(void **state) {
  (void)state;
  assert_true(fabsf(tsr_train_rate(1, 0, 10, 110) - 0.1f) < 1e-6f);
  assert_true(fabsf(tsr_train_rate(1, 10, 10, 110) - 1) < 2e-4f);
  assert_true(fabsf(tsr_train_rate(1, 60, 10, 110) - 0.55f) < 2e-4f);
  assert_true(fabsf(tsr_train_rate(1, 110, 10, 110) - 0.1f) < 2e-4f);
}

/* The gradient g of a loss against central differences at some of n weights w. */
struct probe {
  double (*loss)(void *model);
  void *model;
  float *w;
  const float *g;
};
static void check(const struct probe *p, size_t i, float h, double bound) {
  float was = p->w[i];
  p->w[i] = was + h;
  double up = p->loss(p->model);
  float above = p->w[i];
  p->w[i] = was - h;
  double slope = (up - p->loss(p->model)) / ((double)above - (double)p->w[i]);
  p->w[i] = was;
  if (fabs(slope - (double)p->g[i]) > bound)
    fail_msg("weight %zu: slope %g, gradient %g", i, slope, (double)p->g[i]);
}

enum { B = 2, S = 7, VOCAB = 11, N = 3 };
static const uint8_t text[B * S] = {1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 10};
static const uint8_t next[B * S] = {4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 10, 0};

static double lm_loss(void *model) {
  float logits[B * S * VOCAB];
  tsr_train_lm_forward(model, text, B, S, logits);
  return tsr_train_loss(logits, next, B * S, VOCAB, false);
}

static struct tsr_train_lm *tiny(void) {
  static const struct tsr_train_lm_shape shape = {
      .layers = 2, .d = 18, .heads = 3, .ffn = 20, .vocab = VOCAB, .ctx = 9};
  struct tsr_train_lm *lm;
  assert_int_equal(tsr_train_lm_create(&shape, 3, B * S, S, &lm, NULL), TSR_OK);
  for (size_t i = 0; i < lm->n; i++) lm->w[i] += 0.1f * (float)tsr_rng_normal(4, 9, i);
  return lm;
}

static void gradients_of_the_transformer_are_slopes(void **state) {
  (void)state;
  struct tsr_train_lm *lm = tiny();
  float logits[B * S * VOCAB];
  tsr_train_lm_forward(lm, text, B, S, logits);
  tsr_train_loss(logits, next, B * S, VOCAB, true);
  tsr_train_lm_backward(lm, text, B, S, logits);
  const struct probe p = {lm_loss, lm, lm->w, lm->g};
  size_t zero = 0;
  for (size_t r = 0; r < lm->n_params; r++)
    for (size_t k = 0; k < 12 && k < lm->param[r].n; k++) {
      size_t i = lm->param[r].at + (k * 37 + 5) % lm->param[r].n;
      check(&p, i, 4e-3f, 4e-4);
      zero += lm->g[i] == 0;
    }
  assert_true(zero < 40); /* positions 7 and 8, tokens not in the text */
  tsr_train_lm_destroy(lm);
}

static void a_token_reaches_only_what_is_behind_it(void **state) {
  (void)state;
  struct tsr_train_lm *lm = tiny();
  float a[B * S * VOCAB], b[B * S * VOCAB];
  uint8_t other[B * S];
  memcpy(other, text, sizeof other);
  other[S - 1] = 0; /* the last token of the first row */
  tsr_train_lm_forward(lm, text, B, S, a);
  tsr_train_lm_forward(lm, other, B, S, b);
  size_t past = (S - 1) * VOCAB;
  assert_memory_equal(a, b, past * sizeof *a);
  assert_memory_not_equal(a + past, b + past, VOCAB * sizeof *a);
  assert_memory_equal(a + past + VOCAB, b + past + VOCAB, S * VOCAB * sizeof *a);
  tsr_train_lm_destroy(lm);
}

static void outliers_do_not_change_the_function(void **state) {
  (void)state;
  static const size_t channel[] = {2, 11};
  struct tsr_train_lm *lm = tiny();
  float before[B * S * VOCAB], after[B * S * VOCAB];
  size_t gain = lm->param[TSR_TRAIN_LM_FIRST + TSR_TRAIN_LN1_G].at;
  float was = lm->w[gain + 11], beside = lm->w[gain + 10];
  tsr_train_lm_forward(lm, text, B, S, before);
  tsr_train_lm_outliers(lm, channel, 2, 32);
  tsr_train_lm_forward(lm, text, B, S, after);
  assert_memory_equal(before, after, sizeof before);
  assert_true(lm->w[gain + 11] == 32 * was);
  assert_true(lm->w[gain + 10] == beside);
  tsr_train_lm_destroy(lm);
}

struct images {
  struct tsr_train_images *net;
  float x[N * TSR_TRAIN_PIXELS], logits[N * TSR_TRAIN_CLASSES];
};
static const uint8_t label[N] = {3, 0, 9};

static double images_loss(void *model) {
  struct images *m = model;
  tsr_train_images_forward(m->net, m->x, N, m->logits);
  return tsr_train_loss(m->logits, label, N, TSR_TRAIN_CLASSES, false);
}

static void gradients_of_the_classifiers_are_slopes(void **state) {
  (void)state;
  for (int kind = TSR_TRAIN_MLP; kind <= TSR_TRAIN_CNN; kind++) {
    static struct images m;
    assert_int_equal(tsr_train_images_create((enum tsr_train_images_kind)kind, 7, &m.net, NULL),
                     TSR_OK);
    for (size_t i = 0; i < N * TSR_TRAIN_PIXELS; i++)
      m.x[i] = (float)(tsr_rng_u64(8, 0, i) % 256) / 255;
    images_loss(&m);
    tsr_train_loss(m.logits, label, N, TSR_TRAIN_CLASSES, true);
    tsr_train_images_backward(m.net, m.x, N, m.logits);
    const struct probe p = {images_loss, &m, m.net->w, m.net->g};
    for (size_t r = 0; r < m.net->n_params; r++)
      for (size_t k = 0; k < 8 && k < m.net->param[r].n; k++) {
        size_t i = m.net->param[r].at + (k * 37 + 5) % m.net->param[r].n;
        check(&p, i, 2e-4f, 2e-3 + 0.02 * fabs((double)m.net->g[i]));
      }
    tsr_train_images_destroy(m.net);
  }
}

static void what_is_exported_is_imported(void **state) {
  (void)state;
  struct tsr_train_lm *lm = tiny();
  struct tsr_net *net;
  assert_int_equal(tsr_train_lm_export(lm, &net, NULL), TSR_OK);
  float *w = tsr_mem_array(lm->n, sizeof *w);
  assert_int_equal(tsr_train_import(net, lm->param, lm->n_params, w, NULL), TSR_OK);
  assert_memory_equal(w, lm->w, lm->n * sizeof *w);
  lm->param[3].dim[0]++;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_train_import(net, lm->param, lm->n_params, w, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "no parameter 0.ln1.bias"));
  tsr_err_fini(&err);
  tsr_mem_free(w);
  tsr_net_destroy(net);
  tsr_train_lm_destroy(lm);
}

/* Whatever allocation fails, the status says so and nothing is left behind. */
static void out_of_memory_is_reported(void **state) {
  (void)state;
  enum tsr_status s = TSR_NOMEM;
  for (uint64_t nth = 1; s != TSR_OK && nth < 5000; nth += 1 + nth / 16) {
    struct tsr_train_lm *lm = NULL;
    struct tsr_net *net = NULL;
    static const struct tsr_train_lm_shape shape = {
        .layers = 1, .d = 4, .heads = 2, .ffn = 4, .vocab = 5, .ctx = 4};
    tsr_mem_fail_at(nth, true);
    s = tsr_train_lm_create(&shape, 1, 4, 4, &lm, NULL);
    if (s == TSR_OK) {
      s = tsr_train_lm_export(lm, &net, NULL);
      tsr_train_lm_destroy(lm);
    }
    tsr_mem_fail_at(0, false);
    assert_true(s == TSR_OK || s == TSR_NOMEM);
    if (s == TSR_OK) tsr_net_destroy(net);
  }
  assert_int_equal(s, TSR_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exp_and_erf_are_within_their_bounds),
      cmocka_unit_test(products_are_the_sums_in_order),
      cmocka_unit_test(products_of_long_sums_are_near),
      cmocka_unit_test(adam_steps_by_the_rate),
      cmocka_unit_test(rate_rises_then_falls_to_a_tenth),
      cmocka_unit_test(gradients_of_the_transformer_are_slopes),
      cmocka_unit_test(a_token_reaches_only_what_is_behind_it),
      cmocka_unit_test(outliers_do_not_change_the_function),
      cmocka_unit_test(gradients_of_the_classifiers_are_slopes),
      cmocka_unit_test(what_is_exported_is_imported),
      cmocka_unit_test(out_of_memory_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
