/* The models that are shipped, read and evaluated by the reference, against the forward passes
 * of the programs that trained them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "workloads/models/train/images.h"
#include "workloads/models/train/lm.h"
#include "workloads/models/train/num.h"
#include "workloads/onnx/onnx.h"
#include "workloads/tensor/dataset.h"

static void ok(enum tsr_status s, struct tsr_err *err) {
  if (s == TSR_OK) return;
  fail_msg("%s", err->n ? err->msg[0] : "no message");
}

static struct tsr_net *load(const char *file, const struct tsr_net_dim *dims, size_t n) {
  char path[512];
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_net *net = NULL;
  const struct tsr_net_options o = {.dims = dims, .n_dims = n};
  snprintf(path, sizeof path, "%s/%s", TSR_MODELS, file);
  ok(tsr_onnx_read(path, &o, &net, &err), &err);
  return net;
}

/* Values of a run, by name.  All but constants are freed at its end. */
struct run {
  struct tsr_net *net;
  struct tsr_array **value;
};
static struct run begin(struct tsr_net *net) {
  struct run r = {net, tsr_mem_array(net->n_values, sizeof *r.value)};
  assert_non_null(r.value);
  return r;
}
static struct tsr_array *input(struct run *r, const char *name) {
  size_t at = tsr_net_find(r->net, name);
  assert_true(at != SIZE_MAX && r->net->values[at].is_input);
  const struct tsr_net_value *v = &r->net->values[at];
  assert_int_equal(tsr_array_create(NULL, v->type, v->rank, v->dim, &r->value[at], NULL),
                   TSR_OK);
  return r->value[at];
}
static void eval(struct run *r) {
  struct tsr_err err = TSR_ERR_INIT;
  ok(tsr_net_eval(r->net, r->value, NULL, NULL, &err), &err);
}
static const struct tsr_array *output(const struct run *r, const char *name) {
  size_t at = tsr_net_find(r->net, name);
  assert_true(at != SIZE_MAX && r->net->values[at].is_output);
  return r->value[at];
}
static void end(struct run *r) {
  for (size_t i = 0; i < r->net->n_values; i++)
    if (!r->net->values[i].constant) tsr_array_destroy(r->value[i]);
  tsr_mem_free(r->value);
}

static size_t best(const double *x, size_t n) {
  size_t b = 0;
  for (size_t j = 1; j < n; j++)
    if (x[j] > x[b]) b = j;
  return b;
}

/* ---- the classifiers ---- */

enum { IMAGES = 500, PART = 100, CLASSES = TSR_TRAIN_CLASSES };

struct classifier {
  const char *file;
  enum tsr_train_images_kind kind;
  size_t right; /* of the 500 images, as the trainer's own pass counts them too */
};

static void part(struct tsr_net *net, struct tsr_train_images *model, struct tsr_dataset *d,
                 uint64_t from, size_t right[2]) {
  struct run r = begin(net);
  struct tsr_array *image = input(&r, "image"), *got;
  assert_int_equal(tsr_dataset_images(d, from, PART, NULL, &got, NULL), TSR_OK);
  assert_int_equal(got->n, image->n);
  memcpy(image->f, got->f, got->n * sizeof *got->f);
  eval(&r);
  const struct tsr_array *y = output(&r, "logits");
  const int64_t *label = tsr_dataset_labels(d) + from;
  for (size_t i = 0; i < PART; i++) {
    float x[TSR_TRAIN_PIXELS], logits[CLASSES];
    for (size_t j = 0; j < TSR_TRAIN_PIXELS; j++)
      x[j] = (float)got->f[i * TSR_TRAIN_PIXELS + j];
    tsr_train_images_forward(model, x, 1, logits);
    for (size_t j = 0; j < CLASSES; j++)
      assert_true(fabs((double)logits[j] - y->f[i * CLASSES + j]) < 1e-4);
    right[0] += best(y->f + i * CLASSES, CLASSES) == (size_t)label[i];
    right[1] += tsr_train_argmax(logits, CLASSES) == (size_t)label[i];
  }
  tsr_array_destroy(got);
  end(&r);
}

static void classifiers_are_as_accurate_as_when_trained(void **state) {
  (void)state;
  static const struct classifier rows[] = {{"fashion-mlp.onnx", TSR_TRAIN_MLP, 447},
                                           {"fashion-cnn.onnx", TSR_TRAIN_CNN, 458}};
  const struct tsr_net_dim dims[] = {{"N", PART}};
  struct tsr_err err = TSR_ERR_INIT;
  for (size_t k = 0; k < 2; k++) {
    struct tsr_dataset *d;
    struct tsr_train_images *model;
    struct tsr_net *net = load(rows[k].file, dims, 1);
    ok(tsr_dataset_open(TSR_MODELS "/fashion-mnist-500.safetensors", &d, &err), &err);
    assert_int_equal(tsr_train_images_create(rows[k].kind, 0, &model, NULL), TSR_OK);
    ok(tsr_train_import(net, model->param, model->n_params, model->w, &err), &err);
    size_t right[2] = {0};
    for (uint64_t from = 0; from < IMAGES; from += PART) part(net, model, d, from, right);
    print_message("%s: %zu of %d\n", rows[k].file, right[0], IMAGES);
    assert_int_equal(right[0], right[1]);
    assert_int_equal(right[0], rows[k].right);
    tsr_train_images_destroy(model);
    tsr_dataset_close(d);
    tsr_net_destroy(net);
  }
}

/* ---- the transformer ---- */

enum { LENGTH = 24, VOCAB = 128, LAYERS = 3 };

static struct tsr_dataset *held_out(void) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_dataset *d;
  ok(tsr_dataset_open(TSR_MODELS "/char-lm.txt", &d, &err), &err);
  assert_int_equal(tsr_dataset_kind(d), TSR_DATASET_TEXT);
  return d;
}

static struct tsr_net *load_lm(uint64_t batch, uint64_t s, uint64_t past) {
  const struct tsr_net_dim dims[] = {{"B", batch}, {"S", s}, {"P", past}};
  return load("char-lm.onnx", dims, 3);
}

static struct tsr_train_lm *trained(const struct tsr_net *net, size_t tokens, size_t length) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_train_lm *lm;
  assert_int_equal(tsr_train_lm_create(&tsr_train_lm_char, 0, tokens, length, &lm, NULL),
                   TSR_OK);
  ok(tsr_train_import(net, lm->param, lm->n_params, lm->w, &err), &err);
  return lm;
}

/* The tokens, and an empty or zero past. */
static void feed(struct run *r, const uint8_t *text) {
  struct tsr_array *tokens = input(r, "tokens");
  for (uint64_t i = 0; i < tokens->n; i++) tokens->i[i] = text[i];
  for (size_t i = 0; i < r->net->n_inputs; i++) {
    const char *name = r->net->values[r->net->inputs[i]].name;
    if (strncmp(name, "past.", 5) == 0) input(r, name);
  }
}

static struct run prefill(struct tsr_net *net, const uint8_t *text) {
  struct run r = begin(net);
  feed(&r, text);
  eval(&r);
  return r;
}

static void prefill_is_the_trainers_forward_pass(void **state) {
  (void)state;
  enum { B = 2 };
  struct tsr_dataset *d = held_out();
  struct tsr_net *net = load_lm(B, LENGTH, 0);
  struct tsr_train_lm *lm = trained(net, B * LENGTH, LENGTH);
  static float logits[B * LENGTH * VOCAB];
  struct run r = prefill(net, tsr_dataset_text(d));
  const struct tsr_array *y = output(&r, "logits");
  tsr_train_lm_forward(lm, tsr_dataset_text(d), B, LENGTH, logits);
  double off = 0;
  for (size_t i = 0; i < B * LENGTH * VOCAB; i++)
    off = fmax(off, fabs((double)logits[i] - y->f[i]));
  print_message("largest difference %g\n", off);
  assert_true(off < 1e-4);
  end(&r);
  tsr_train_lm_destroy(lm);
  tsr_net_destroy(net);
  tsr_dataset_close(d);
}

/* One cache after another: P tokens are behind, one comes. */
static void decode_with_the_cache_is_prefill(void **state) {
  (void)state;
  struct tsr_dataset *d = held_out();
  const uint8_t *text = tsr_dataset_text(d);
  struct tsr_net *whole = load_lm(1, LENGTH, 0);
  struct run all = prefill(whole, text), before = {0};
  for (uint64_t p = 0; p < LENGTH; p++) {
    struct run r = begin(load_lm(1, 1, p));
    input(&r, "tokens")->i[0] = text[p];
    for (size_t i = 0; i < 2 * LAYERS; i++) {
      char past[32], present[32];
      snprintf(past, sizeof past, "past.%zu.%s", i / 2, i % 2 ? "value" : "key");
      snprintf(present, sizeof present, "present.%zu.%s", i / 2, i % 2 ? "value" : "key");
      struct tsr_array *to = input(&r, past);
      if (!p) continue;
      const struct tsr_array *from = output(&before, present);
      assert_int_equal(from->n, to->n);
      memcpy(to->f, from->f, to->n * sizeof *to->f);
    }
    eval(&r);
    const struct tsr_array *y = output(&r, "logits"), *want = output(&all, "logits");
    for (size_t j = 0; j < VOCAB; j++)
      assert_true(fabs(y->f[j] - want->f[p * VOCAB + j]) < 1e-6);
    if (p) {
      end(&before);
      tsr_net_destroy(before.net);
    }
    before = r;
  }
  end(&before);
  tsr_net_destroy(before.net);
  end(&all);
  tsr_net_destroy(whole);
  tsr_dataset_close(d);
}

static bool is_the_value(void *arg, size_t value) {
  return value == *(size_t *)arg;
}

/* Means of magnitudes of what a norm gives, channel by channel: the chosen ones stand ten to a
 * hundred times above the mean of the others. */
static void activations_have_outlier_channels(void **state) {
  (void)state;
  enum { D = 96, OUTLIERS = 3 };
  static const size_t channel[OUTLIERS] = {7, 42, 83};
  static const char *const norm[] = {"0.n1", "1.n2", "normed"};
  struct tsr_dataset *d = held_out();
  struct tsr_net *net = load_lm(1, LENGTH, 0);
  for (size_t k = 0; k < sizeof norm / sizeof *norm; k++) {
    size_t at = tsr_net_find(net, norm[k]);
    struct run r = begin(net);
    double mean[D] = {0}, others = 0;
    feed(&r, tsr_dataset_text(d));
    assert_int_equal(tsr_net_eval(net, r.value, is_the_value, &at, NULL), TSR_OK);
    assert_int_equal(r.value[at]->n, LENGTH * D);
    for (size_t i = 0; i < LENGTH * D; i++) mean[i % D] += fabs(r.value[at]->f[i]) / LENGTH;
    for (size_t i = 0; i < D; i++) others += mean[i] / (D - OUTLIERS);
    for (size_t i = 0; i < OUTLIERS; i++) others -= mean[channel[i]] / (D - OUTLIERS);
    for (size_t i = 0; i < OUTLIERS; i++) {
      double times = mean[channel[i]] / others;
      print_message("%s: channel %zu stands %.1f times above\n", norm[k], channel[i], times);
      assert_true(times > 10 && times < 100);
    }
    end(&r);
  }
  tsr_net_destroy(net);
  tsr_dataset_close(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classifiers_are_as_accurate_as_when_trained),
      cmocka_unit_test(prefill_is_the_trainers_forward_pass),
      cmocka_unit_test(decode_with_the_cache_is_prefill),
      cmocka_unit_test(activations_have_outlier_channels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
