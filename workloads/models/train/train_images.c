/* train_images [FOLDER [mlp|cnn]...]: trains the classifiers of images.h on Fashion-MNIST and
 * writes fashion-mlp.onnx and fashion-cnn.onnx into the working folder.  FOLDER has the four
 * idx files of the data set (default: where Debian's package has them). */
#include <stdio.h>
#include <string.h>

#include "sim/base/rng.h"
#include "sim/base/str.h"
#include "workloads/models/train/images.h"
#include "workloads/models/train/num.h"
#include "workloads/tensor/idx.h"

enum { SEED = 17, PIXELS = TSR_TRAIN_PIXELS, CLASSES = TSR_TRAIN_CLASSES };

struct recipe {
  enum tsr_train_images_kind kind;
  const char *word, *file;
  size_t epochs;
  float rate;
};
static const struct recipe recipes[] = {{TSR_TRAIN_MLP, "mlp", "fashion-mlp.onnx", 10, 2e-3f},
                                        {TSR_TRAIN_CNN, "cnn", "fashion-cnn.onnx", 12, 3e-3f}};

struct part {
  struct tsr_idx image, label;
};
struct data {
  struct part train, test;
};

static enum tsr_status open_one(const char *folder, const char *name, struct tsr_idx *out,
                                struct tsr_err *err) {
  char *path = tsr_mem_printf("%s/%s", folder, name);
  if (!path) return tsr_err_nomem(err);
  enum tsr_status s = tsr_idx_open(path, out, err);
  tsr_mem_free(path);
  return s;
}

static enum tsr_status open_part(const char *folder, const char *image, const char *label,
                                 struct part *p, struct tsr_err *err) {
  enum tsr_status s = open_one(folder, image, &p->image, err);
  if (s == TSR_OK) s = open_one(folder, label, &p->label, err);
  if (s != TSR_OK) return s;
  if (p->image.n != p->label.n * PIXELS)
    return tsr_err_set(err, TSR_INPUT, "%s/%s: expected 28 x 28 images, one a label", folder,
                       image);
  for (uint64_t i = 0; i < p->label.n; i++)
    if (p->label.data[i] >= CLASSES)
      return tsr_err_set(err, TSR_INPUT, "%s/%s: expected labels below 10", folder, label);
  return TSR_OK;
}

static void load(const struct part *p, size_t image, float *to) {
  for (size_t i = 0; i < PIXELS; i++) to[i] = (float)p->image.data[image * PIXELS + i] / 255.0f;
}

static double accuracy(struct tsr_train_images *net, const struct part *p, float *x,
                       float *logits) {
  size_t right = 0, n = p->label.n;
  for (size_t at = 0; at < n; at += TSR_TRAIN_BATCH) {
    size_t b = n - at < TSR_TRAIN_BATCH ? n - at : TSR_TRAIN_BATCH;
    for (size_t i = 0; i < b; i++) load(p, at + i, x + i * PIXELS);
    tsr_train_images_forward(net, x, b, logits);
    for (size_t i = 0; i < b; i++)
      right += tsr_train_argmax(logits + i * CLASSES, CLASSES) == p->label.data[at + i];
  }
  return (double)right / (double)n;
}

/* The order of an epoch: Fisher and Yates. */
static void shuffle(uint32_t *order, size_t n, uint64_t epoch) {
  for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
  for (size_t i = n; i > 1; i--) {
    size_t j = (size_t)(tsr_rng_u64(SEED, 1000 + epoch, i) % i);
    uint32_t t = order[i - 1];
    order[i - 1] = order[j];
    order[j] = t;
  }
}

struct bench {
  float *x, *logits, *m, *v;
  uint32_t *order;
};

static void epoch(struct tsr_train_images *net, const struct recipe *r, const struct part *p,
                  const struct bench *b, size_t e) {
  size_t per = p->label.n / TSR_TRAIN_BATCH, steps = per * r->epochs;
  uint8_t label[TSR_TRAIN_BATCH];
  double loss = 0;
  shuffle(b->order, p->label.n, e);
  for (size_t k = 0; k < per; k++) {
    size_t step = e * per + k;
    struct tsr_train_adam o = {tsr_train_rate(r->rate, step, 200, steps), 0.9f, 0.999f, 1e-4f};
    for (size_t i = 0; i < TSR_TRAIN_BATCH; i++) {
      size_t image = b->order[k * TSR_TRAIN_BATCH + i];
      load(p, image, b->x + i * PIXELS);
      label[i] = p->label.data[image];
    }
    tsr_train_images_forward(net, b->x, TSR_TRAIN_BATCH, b->logits);
    loss += tsr_train_loss(b->logits, label, TSR_TRAIN_BATCH, CLASSES, true);
    tsr_train_images_backward(net, b->x, TSR_TRAIN_BATCH, b->logits);
    tsr_train_adam(&o, step + 1, net->w, net->g, b->m, b->v, net->n);
  }
  printf("%s: epoch %zu of %zu: loss %.4f\n", r->word, e + 1, r->epochs, loss / (double)per);
  fflush(stdout);
}

static enum tsr_status train(const struct recipe *r, const struct data *d,
                             struct tsr_train_images *net, struct tsr_err *err) {
  struct bench b = {.x = tsr_mem_array(TSR_TRAIN_BATCH * PIXELS, sizeof(float)),
                    .logits = tsr_mem_array(TSR_TRAIN_BATCH * CLASSES, sizeof(float)),
                    .m = tsr_mem_array(net->n, sizeof(float)),
                    .v = tsr_mem_array(net->n, sizeof(float)),
                    .order = tsr_mem_array(d->train.label.n, sizeof(uint32_t))};
  enum tsr_status s = TSR_OK;
  if (b.x && b.logits && b.m && b.v && b.order) {
    for (size_t e = 0; e < r->epochs; e++) epoch(net, r, &d->train, &b, e);
    printf("%s: %zu parameters, accuracy %.2f %% of %zu test images\n", r->word, net->n,
           100 * accuracy(net, &d->test, b.x, b.logits), (size_t)d->test.label.n);
  } else {
    s = tsr_err_nomem(err);
  }
  tsr_mem_free(b.x);
  tsr_mem_free(b.logits);
  tsr_mem_free(b.m);
  tsr_mem_free(b.v);
  tsr_mem_free(b.order);
  return s;
}

static enum tsr_status make(const struct recipe *r, const struct data *d, struct tsr_err *err) {
  struct tsr_train_images *model;
  struct tsr_net *net;
  enum tsr_status s = tsr_train_images_create(r->kind, SEED, &model, err);
  if (s != TSR_OK) return s;
  s = train(r, d, model, err);
  if (s == TSR_OK) s = tsr_train_images_export(model, &net, err);
  if (s == TSR_OK) {
    s = tsr_train_save(net, r->file, err);
    tsr_net_destroy(net);
  }
  tsr_train_images_destroy(model);
  return s;
}

static bool wanted(const char *word, int argc, char **argv) {
  for (int i = 2; i < argc; i++)
    if (tsr_str_eq(argv[i], word)) return true;
  return argc <= 2;
}

int main(int argc, char **argv) {
  const char *folder = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
  struct data d = {0};
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status s = open_part(folder, "train-images-idx3-ubyte.gz",
                                "train-labels-idx1-ubyte.gz", &d.train, &err);
  if (s == TSR_OK)
    s = open_part(folder, "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz", &d.test,
                  &err);
  for (size_t i = 0; s == TSR_OK && i < sizeof recipes / sizeof *recipes; i++)
    if (wanted(recipes[i].word, argc, argv)) s = make(&recipes[i], &d, &err);
  tsr_idx_fini(&d.train.image);
  tsr_idx_fini(&d.train.label);
  tsr_idx_fini(&d.test.image);
  tsr_idx_fini(&d.test.label);
  for (size_t i = 0; i < err.n; i++) fprintf(stderr, "%s", err.msg[i]);
  tsr_err_fini(&err);
  return s == TSR_OK ? 0 : 1;
}
