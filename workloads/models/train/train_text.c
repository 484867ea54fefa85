/* train_text STEPS HELD_OUT FILE...: trains the model of lm.h on the texts FILE... (HELD_OUT
 * among them is left out) and writes into the working folder char-lm.onnx and char-lm.txt, the
 * bytes of HELD_OUT as the model sees them: 7-bit, every other byte a `?`. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/io.h"
#include "sim/base/rng.h"
#include "sim/base/str.h"
#include "workloads/models/train/lm.h"
#include "workloads/models/train/num.h"

enum { SEED = 29, ROWS = 4, LENGTH = 256, TOKENS = ROWS * LENGTH, WARM = 100, TEXT_MIN = 4096 };

/* The channels made outliers, and by how much. */
static const size_t outlier[] = {7, 42, 83};
static const float outlier_factor = 32;

struct text {
  uint8_t *p;
  size_t n;
};

static enum tsr_status add_file(struct tsr_str *to, const char *path, struct tsr_err *err) {
  char *text;
  size_t n;
  enum tsr_status s = tsr_io_read(path, &text, &n, err);
  if (s != TSR_OK) return s;
  for (size_t i = 0; i < n; i++)
    if ((unsigned char)text[i] >= 128 || !text[i]) text[i] = '?';
  tsr_str_addn(to, text, n);
  tsr_mem_free(text);
  return to->failed ? tsr_err_nomem(err) : TSR_OK;
}

static enum tsr_status add_files(char **path, int n, const char *but, struct text *out,
                                 struct tsr_err *err) {
  struct tsr_str all = TSR_STR_INIT;
  enum tsr_status s = TSR_OK;
  for (int i = 0; i < n && s == TSR_OK; i++)
    if (!but || !tsr_str_eq(path[i], but)) s = add_file(&all, path[i], err);
  if (s == TSR_OK && all.n < TEXT_MIN)
    s = tsr_err_set(err, TSR_INPUT, "expected texts of at least %d bytes, got %zu", TEXT_MIN,
                    all.n);
  if (s == TSR_OK) {
    out->n = all.n;
    out->p = (uint8_t *)tsr_str_take(&all);
  }
  tsr_str_fini(&all);
  return s;
}

struct bench {
  float *logits, *m, *v;
};

static double bits(double loss) {
  return loss * 1.44269504088896341;
}

/* Bits per byte of a text in windows of LENGTH: every byte but the first of each window is
 * predicted from all before it in the window. */
static double bits_per_byte(struct tsr_train_lm *lm, const struct text *t, float *logits) {
  double loss = 0;
  size_t n = 0;
  for (size_t at = 0; at + 2 <= t->n; at += LENGTH) {
    size_t s = t->n - at < LENGTH ? t->n - at : LENGTH;
    if (s < 2) break;
    tsr_train_lm_forward(lm, t->p + at, 1, s, logits);
    loss +=
        tsr_train_loss(logits, t->p + at + 1, s - 1, lm->shape.vocab, false) * (double)(s - 1);
    n += s - 1;
  }
  return bits(loss / (double)n);
}

static void step(struct tsr_train_lm *lm, const struct bench *b, size_t at, size_t steps) {
  double norm = 0;
  for (size_t i = 0; i < lm->n; i++) norm += (double)lm->g[i] * (double)lm->g[i];
  norm = sqrt(norm);
  if (norm > 1)
    for (size_t i = 0; i < lm->n; i++) lm->g[i] *= (float)(1 / norm);
  for (size_t i = 0; i < lm->n_params; i++) {
    const struct tsr_train_param *p = &lm->param[i];
    struct tsr_train_adam o = {tsr_train_rate(3e-3f, at, WARM, steps), 0.9f, 0.98f,
                               p->rank == 2 ? 0.02f : 0};
    tsr_train_adam(&o, at + 1, lm->w + p->at, lm->g + p->at, b->m + p->at, b->v + p->at, p->n);
  }
}

static void train(struct tsr_train_lm *lm, const struct bench *b, const struct text *corpus,
                  const struct text *held, size_t steps) {
  uint8_t token[TOKENS], next[TOKENS];
  double loss = 0;
  for (size_t at = 0; at < steps; at++) {
    for (size_t r = 0; r < ROWS; r++) {
      size_t from = (size_t)(tsr_rng_u64(SEED, 2000, at * ROWS + r) % (corpus->n - LENGTH - 1));
      memcpy(token + r * LENGTH, corpus->p + from, LENGTH);
      memcpy(next + r * LENGTH, corpus->p + from + 1, LENGTH);
    }
    tsr_train_lm_forward(lm, token, ROWS, LENGTH, b->logits);
    loss += tsr_train_loss(b->logits, next, TOKENS, lm->shape.vocab, true);
    tsr_train_lm_backward(lm, token, ROWS, LENGTH, b->logits);
    step(lm, b, at, steps);
    if ((at + 1) % 100 == 0) {
      printf("step %zu of %zu: %.3f bits per byte", at + 1, steps, bits(loss / 100));
      if ((at + 1) % 500 == 0) printf(", held out %.3f", bits_per_byte(lm, held, b->logits));
      printf("\n");
      fflush(stdout);
      loss = 0;
    }
  }
}

static enum tsr_status save(struct tsr_train_lm *lm, const struct text *held,
                            struct tsr_err *err) {
  struct tsr_net *net;
  enum tsr_status s = tsr_train_lm_export(lm, &net, err);
  if (s != TSR_OK) return s;
  s = tsr_train_save(net, "char-lm.onnx", err);
  tsr_net_destroy(net);
  return s == TSR_OK ? tsr_io_write("char-lm.txt", held->p, held->n, err) : s;
}

static enum tsr_status make(const struct text *corpus, const struct text *held, size_t steps,
                            struct tsr_err *err) {
  struct tsr_train_lm *lm;
  enum tsr_status s = tsr_train_lm_create(&tsr_train_lm_char, SEED, TOKENS, LENGTH, &lm, err);
  if (s != TSR_OK) return s;
  struct bench b = {.logits = tsr_mem_array(TOKENS * lm->shape.vocab, sizeof(float)),
                    .m = tsr_mem_array(lm->n, sizeof(float)),
                    .v = tsr_mem_array(lm->n, sizeof(float))};
  if (b.logits && b.m && b.v) {
    printf("%zu parameters, %zu bytes of text, %zu held out\n", lm->n, corpus->n, held->n);
    train(lm, &b, corpus, held, steps);
    tsr_train_lm_outliers(lm, outlier, sizeof outlier / sizeof *outlier, outlier_factor);
    printf("held out: %.4f bits per byte\n", bits_per_byte(lm, held, b.logits));
    s = save(lm, held, err);
  } else {
    s = tsr_err_nomem(err);
  }
  tsr_mem_free(b.logits);
  tsr_mem_free(b.m);
  tsr_mem_free(b.v);
  tsr_train_lm_destroy(lm);
  return s;
}

/* A number of steps; 0 when it is none. */
static size_t number(const char *text) {
  size_t n = 0;
  for (; *text >= '0' && *text <= '9' && n < 1000000; text++)
    n = n * 10 + (size_t)(*text - '0');
  return *text ? 0 : n;
}

int main(int argc, char **argv) {
  struct tsr_err err = TSR_ERR_INIT;
  struct text corpus = {0}, held = {0};
  size_t steps = argc > 3 ? number(argv[1]) : 0;
  if (!steps) {
    fprintf(stderr, "usage: train_text STEPS HELD_OUT FILE...\n");
    return 2;
  }
  enum tsr_status s = add_files(argv + 2, 1, NULL, &held, &err);
  if (s == TSR_OK) s = add_files(argv + 3, argc - 3, argv[2], &corpus, &err);
  if (s == TSR_OK) s = make(&corpus, &held, steps, &err);
  tsr_mem_free(corpus.p);
  tsr_mem_free(held.p);
  for (size_t i = 0; i < err.n; i++) fprintf(stderr, "%s", err.msg[i]);
  tsr_err_fini(&err);
  return s == TSR_OK ? 0 : 1;
}
