#include "workloads/models/train/lm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/rng.h"
#include "workloads/models/train/num.h"

enum { LANES = 16 };
static const float eps = 1e-5f;

const struct tsr_train_lm_shape tsr_train_lm_char = {
    .layers = 3, .d = 96, .heads = 4, .ffn = 384, .vocab = 128, .ctx = 256};

/* What a LayerNorm keeps: its result, the normalised row, 1 / deviation. */
struct norm {
  float *y, *hat, *r;
};
struct layer {
  struct norm n1, n2;
  float *q, *k, *v; /* [T,d] */
  float *p;         /* [b,heads,s,s] */
  float *a;         /* [T,d] attention's result */
  float *h, *u;     /* [T,ffn] before and after GELU */
};
struct tsri_lm_work {
  float *all; /* the one allocation */
  struct layer *layer;
  struct norm nf;
  float *x, *dx, *dn, *da, *dq, *dk, *dv; /* [T,d] */
  float *dh;                              /* [T,ffn] */
  float *dp;                              /* [s,s] */
};

/* ---- parameters ---- */

static void add_param(struct tsr_train_lm *lm, const char *name, size_t rows, size_t cols) {
  struct tsr_train_param *p = &lm->param[lm->n_params++];
  snprintf(p->name, sizeof p->name, "%s", name);
  p->rank = rows ? 2 : 1;
  p->dim[0] = rows ? rows : cols;
  p->dim[1] = rows ? cols : 0;
  p->at = lm->n;
  p->n = (rows ? rows : 1) * cols;
  lm->n += p->n;
}

static void add_layer(struct tsr_train_lm *lm, size_t l) {
  static const char *const names[] = {
      "ln1.weight",    "ln1.bias",    "attn.q.weight", "attn.q.bias",
      "attn.k.weight", "attn.k.bias", "attn.v.weight", "attn.v.bias",
      "attn.o.weight", "attn.o.bias", "ln2.weight",    "ln2.bias",
      "ffn.1.weight",  "ffn.1.bias",  "ffn.2.weight",  "ffn.2.bias"};
  size_t d = lm->shape.d, f = lm->shape.ffn;
  for (size_t i = 0; i < TSR_TRAIN_LM_ROWS; i++) {
    char name[TSR_TRAIN_NAME];
    bool matrix = i == TSR_TRAIN_WQ || i == TSR_TRAIN_WK || i == TSR_TRAIN_WV ||
                  i == TSR_TRAIN_WO || i == TSR_TRAIN_W1 || i == TSR_TRAIN_W2;
    snprintf(name, sizeof name, "%zu.%s", l, names[i]);
    add_param(lm, name,
              !matrix             ? 0
              : i == TSR_TRAIN_W2 ? f
                                  : d,
              i == TSR_TRAIN_W1 || i == TSR_TRAIN_B1 ? f : d);
  }
}

static void add_params(struct tsr_train_lm *lm) {
  const struct tsr_train_lm_shape *s = &lm->shape;
  add_param(lm, "token.weight", s->vocab, s->d);
  add_param(lm, "position.weight", s->ctx, s->d);
  for (size_t l = 0; l < s->layers; l++) add_layer(lm, l);
  add_param(lm, "lnf.weight", 0, s->d);
  add_param(lm, "lnf.bias", 0, s->d);
  add_param(lm, "head.weight", s->d, s->vocab);
}

static size_t row_of(size_t l, size_t row) {
  return TSR_TRAIN_LM_FIRST + l * TSR_TRAIN_LM_ROWS + row;
}
/* Weights and gradients of a row; layer `layers` has the rows behind the last one. */
static float *weight(const struct tsr_train_lm *lm, size_t l, size_t row) {
  return lm->w + lm->param[row_of(l, row)].at;
}
static float *grad(const struct tsr_train_lm *lm, size_t l, size_t row) {
  return lm->g + lm->param[row_of(l, row)].at;
}

/* Matrices with deviation 1 / sqrt(rows), less where they add to the residual stream; gains
 * are 1, biases 0. */
static void init(struct tsr_train_lm *lm, uint64_t seed) {
  for (size_t i = 0; i < lm->n_params; i++) {
    const struct tsr_train_param *p = &lm->param[i];
    double scale = 1 / sqrt((double)p->dim[0]);
    bool back = strstr(p->name, "attn.o") || strstr(p->name, "ffn.2");
    if (back) scale /= sqrt(2 * (double)lm->shape.layers);
    if (i < TSR_TRAIN_LM_FIRST) scale = i == TSR_TRAIN_TOKEN ? 0.1 : 0.03;
    bool gain = p->rank == 1 && strstr(p->name, ".weight");
    for (size_t j = 0; j < p->n; j++)
      lm->w[p->at + j] = p->rank == 2 ? (float)(scale * tsr_rng_normal(seed, i, j)) : gain;
  }
}

/* ---- room ---- */

/* n floats of the run, or, while it is measured, none. */
static float *take(float *all, size_t *at, size_t n) {
  float *p = all ? all + *at : NULL;
  *at += (n + LANES - 1) / LANES * LANES;
  return p;
}

static struct norm take_norm(float *all, size_t *at, size_t t, size_t d) {
  float *y = take(all, at, t * d), *hat = take(all, at, t * d);
  return (struct norm){y, hat, take(all, at, t)};
}

static size_t lay_out(struct tsr_train_lm *lm, float *all) {
  struct tsri_lm_work *k = lm->work;
  size_t at = 0, t = lm->tokens, d = lm->shape.d, td = t * d, f = t * lm->shape.ffn;
  for (size_t l = 0; l < lm->shape.layers; l++) {
    struct layer *y = &k->layer[l];
    y->n1 = take_norm(all, &at, t, d);
    y->n2 = take_norm(all, &at, t, d);
    y->q = take(all, &at, td);
    y->k = take(all, &at, td);
    y->v = take(all, &at, td);
    y->a = take(all, &at, td);
    y->p = take(all, &at, t * lm->length * lm->shape.heads);
    y->h = take(all, &at, f);
    y->u = take(all, &at, f);
  }
  k->nf = take_norm(all, &at, t, d);
  float **const rows[] = {&k->x, &k->dx, &k->dn, &k->da, &k->dq, &k->dk, &k->dv};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) *rows[i] = take(all, &at, td);
  k->dh = take(all, &at, f);
  k->dp = take(all, &at, lm->length * lm->length);
  return at;
}

enum tsr_status tsr_train_lm_create(const struct tsr_train_lm_shape *shape, uint64_t seed,
                                    size_t tokens, size_t length, struct tsr_train_lm **out,
                                    struct tsr_err *err) {
  struct tsr_train_lm *lm = tsr_mem_alloc(sizeof *lm);
  if (!lm) return tsr_err_nomem(err);
  lm->shape = *shape;
  lm->tokens = tokens;
  lm->length = length;
  lm->param =
      tsr_mem_array(TSR_TRAIN_LM_FIRST + shape->layers * TSR_TRAIN_LM_ROWS + TSR_TRAIN_LM_LAST,
                    sizeof *lm->param);
  lm->work = tsr_mem_alloc(sizeof *lm->work);
  if (lm->param) add_params(lm);
  lm->w = tsr_mem_array(lm->n, sizeof *lm->w);
  lm->g = tsr_mem_array(lm->n, sizeof *lm->g);
  if (lm->work) lm->work->layer = tsr_mem_array(shape->layers, sizeof *lm->work->layer);
  if (lm->work && lm->work->layer)
    lm->work->all = tsr_mem_array(lay_out(lm, NULL), sizeof(float));
  if (!lm->param || !lm->w || !lm->g || !lm->work || !lm->work->all) {
    tsr_train_lm_destroy(lm);
    return tsr_err_nomem(err);
  }
  lay_out(lm, lm->work->all);
  init(lm, seed);
  *out = lm;
  return TSR_OK;
}

void tsr_train_lm_destroy(struct tsr_train_lm *lm) {
  if (!lm) return;
  if (lm->work) {
    tsr_mem_free(lm->work->all);
    tsr_mem_free(lm->work->layer);
  }
  tsr_mem_free(lm->work);
  tsr_mem_free(lm->param);
  tsr_mem_free(lm->w);
  tsr_mem_free(lm->g);
  tsr_mem_free(lm);
}

/* ---- rows: sums in sixteen lanes, added up at the end ---- */

static float row_dot(const float *a, const float *b, size_t n) {
  float lane[LANES] = {0}, sum = 0;
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t j = 0; j < LANES; j++) lane[j] += a[i + j] * b[i + j];
  for (; i < n; i++) sum += a[i] * b[i];
  for (size_t j = 0; j < LANES; j++) sum += lane[j];
  return sum;
}

static float row_sum(const float *a, size_t n) {
  float lane[LANES] = {0}, sum = 0;
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t j = 0; j < LANES; j++) lane[j] += a[i + j];
  for (; i < n; i++) sum += a[i];
  for (size_t j = 0; j < LANES; j++) sum += lane[j];
  return sum;
}

static float row_max(const float *a, size_t n) {
  float lane[LANES], max = a[0];
  size_t i = 0;
  for (size_t j = 0; j < LANES; j++) lane[j] = a[0];
  for (; i + LANES <= n; i += LANES)
    for (size_t j = 0; j < LANES; j++) lane[j] = a[i + j] > lane[j] ? a[i + j] : lane[j];
  for (; i < n; i++) max = a[i] > max ? a[i] : max;
  for (size_t j = 0; j < LANES; j++) max = lane[j] > max ? lane[j] : max;
  return max;
}

static struct tsr_train_mat mat(const float *p, size_t ld) {
  return (struct tsr_train_mat){p, ld, false};
}
static struct tsr_train_mat turned(const float *p, size_t ld) {
  return (struct tsr_train_mat){p, ld, true};
}

static void layernorm(const struct norm *n, const float *x, const float *gain,
                      const float *bias, size_t t, size_t d) {
  for (size_t i = 0; i < t; i++) {
    float *hat = n->hat + i * d, *y = n->y + i * d, mean = row_sum(x + i * d, d) / (float)d;
    for (size_t j = 0; j < d; j++) hat[j] = x[i * d + j] - mean;
    float r = 1 / sqrtf(row_dot(hat, hat, d) / (float)d + eps);
    for (size_t j = 0; j < d; j++) {
      hat[j] *= r;
      y[j] = hat[j] * gain[j] + bias[j];
    }
    n->r[i] = r;
  }
}

/* dx += the gradient through the norm; dn is overwritten. */
static void layernorm_back(const struct norm *n, const float *gain, float *dgain, float *dbias,
                           float *dn, size_t t, size_t d, float *dx) {
  for (size_t i = 0; i < t; i++) {
    const float *hat = n->hat + i * d;
    float *dy = dn + i * d;
    for (size_t j = 0; j < d; j++) {
      dgain[j] += dy[j] * hat[j];
      dbias[j] += dy[j];
      dy[j] *= gain[j];
    }
    float mean = row_sum(dy, d) / (float)d, dot = row_dot(dy, hat, d) / (float)d;
    for (size_t j = 0; j < d; j++) dx[i * d + j] += n->r[i] * (dy[j] - mean - hat[j] * dot);
  }
}

static void dense(const float *x, const float *w, const float *b, size_t t, size_t in,
                  size_t out, float *y) {
  tsr_train_rows(y, b, t, out);
  tsr_train_gemm(t, out, in, mat(x, in), mat(w, out), y, out, true);
}

/* Gradients of weights and bias, and dx, which is overwritten or added to. */
static void dense_back(const float *x, const float *w, const float *dy, size_t t, size_t in,
                       size_t out, float *dw, float *db, float *dx, bool add) {
  tsr_train_gemm(in, out, t, turned(x, in), mat(dy, out), dw, out, true);
  tsr_train_rows_sum(db, dy, t, out);
  tsr_train_gemm(t, in, out, mat(dy, out), turned(w, out), dx, in, add);
}

/* ---- forward ---- */

static void softmax_causal(float *p, size_t s, float scale) {
  for (size_t i = 0; i < s; i++, p += s) {
    size_t n = i + 1;
    float max = row_max(p, n);
    for (size_t j = 0; j < n; j++) p[j] = tsr_train_exp((p[j] - max) * scale);
    float r = 1 / row_sum(p, n);
    for (size_t j = 0; j < n; j++) p[j] *= r;
    memset(p + n, 0, (s - n) * sizeof *p);
  }
}

static void attention(const struct tsr_train_lm *lm, const struct layer *y, size_t b,
                      size_t s) {
  size_t d = lm->shape.d, heads = lm->shape.heads, hd = d / heads;
  float scale = 1 / sqrtf((float)hd);
  for (size_t i = 0; i < b * heads; i++) {
    size_t at = i / heads * s * d + i % heads * hd;
    float *p = y->p + i * s * s;
    tsr_train_gemm(s, s, hd, mat(y->q + at, d), turned(y->k + at, d), p, s, false);
    softmax_causal(p, s, scale);
    tsr_train_gemm(s, hd, s, mat(p, s), mat(y->v + at, d), y->a + at, d, false);
  }
}

static void gelu(const float *x, size_t n, float *y) {
  for (size_t i = 0; i < n; i++) y[i] = 0.5f * x[i] * (1 + tsr_train_erf(x[i] * 0.707106781f));
}

static void layer_forward(struct tsr_train_lm *lm, size_t l, size_t b, size_t s) {
  struct tsri_lm_work *k = lm->work;
  const struct layer *y = &k->layer[l];
  size_t t = b * s, d = lm->shape.d, f = lm->shape.ffn;
#define W(row) weight(lm, l, TSR_TRAIN_##row)
  layernorm(&y->n1, k->x, W(LN1_G), W(LN1_B), t, d);
  dense(y->n1.y, W(WQ), W(BQ), t, d, d, y->q);
  dense(y->n1.y, W(WK), W(BK), t, d, d, y->k);
  dense(y->n1.y, W(WV), W(BV), t, d, d, y->v);
  attention(lm, y, b, s);
  dense(y->a, W(WO), W(BO), t, d, d, k->dn); /* dn is free until the way back */
  for (size_t i = 0; i < t * d; i++) k->x[i] += k->dn[i];
  layernorm(&y->n2, k->x, W(LN2_G), W(LN2_B), t, d);
  dense(y->n2.y, W(W1), W(B1), t, d, f, y->h);
  gelu(y->h, t * f, y->u);
  dense(y->u, W(W2), W(B2), t, f, d, k->dn);
  for (size_t i = 0; i < t * d; i++) k->x[i] += k->dn[i];
}

void tsr_train_lm_forward(struct tsr_train_lm *lm, const uint8_t *tokens, size_t b, size_t s,
                          float *logits) {
  struct tsri_lm_work *k = lm->work;
  size_t t = b * s, d = lm->shape.d, last = lm->shape.layers, vocab = lm->shape.vocab;
  const float *token = lm->w + lm->param[TSR_TRAIN_TOKEN].at;
  const float *position = lm->w + lm->param[TSR_TRAIN_POSITION].at;
  for (size_t i = 0; i < t; i++)
    for (size_t j = 0; j < d; j++)
      k->x[i * d + j] = token[tokens[i] * d + j] + position[i % s * d + j];
  for (size_t l = 0; l < last; l++) layer_forward(lm, l, b, s);
  layernorm(&k->nf, k->x, weight(lm, last, TSR_TRAIN_LNF_G), weight(lm, last, TSR_TRAIN_LNF_B),
            t, d);
  tsr_train_gemm(t, vocab, d, mat(k->nf.y, d), mat(weight(lm, last, TSR_TRAIN_HEAD), vocab),
                 logits, vocab, false);
}

/* ---- backward ---- */

/* d GELU / dx = Phi(x) + x * phi(x). */
static void gelu_back(const float *x, size_t n, float *dy) {
  for (size_t i = 0; i < n; i++)
    dy[i] *= 0.5f * (1 + tsr_train_erf(x[i] * 0.707106781f)) +
             x[i] * 0.398942280f * tsr_train_exp(-0.5f * x[i] * x[i]);
}

static void attention_back(const struct tsr_train_lm *lm, const struct layer *y, size_t b,
                           size_t s) {
  struct tsri_lm_work *k = lm->work;
  size_t d = lm->shape.d, heads = lm->shape.heads, hd = d / heads;
  float scale = 1 / sqrtf((float)hd), *dp = k->dp;
  for (size_t i = 0; i < b * heads; i++) {
    size_t at = i / heads * s * d + i % heads * hd;
    const float *p = y->p + i * s * s;
    tsr_train_gemm(s, s, hd, mat(k->da + at, d), turned(y->v + at, d), dp, s, false);
    tsr_train_gemm(s, hd, s, turned(p, s), mat(k->da + at, d), k->dv + at, d, false);
    for (size_t r = 0; r < s; r++) {
      float dot = row_dot(p + r * s, dp + r * s, s);
      for (size_t j = 0; j < s; j++)
        dp[r * s + j] = scale * p[r * s + j] * (dp[r * s + j] - dot);
    }
    tsr_train_gemm(s, hd, s, mat(dp, s), mat(y->k + at, d), k->dq + at, d, false);
    tsr_train_gemm(s, hd, s, turned(dp, s), mat(y->q + at, d), k->dk + at, d, false);
  }
}

static void layer_back(struct tsr_train_lm *lm, size_t l, size_t b, size_t s) {
  struct tsri_lm_work *k = lm->work;
  const struct layer *y = &k->layer[l];
  size_t t = b * s, d = lm->shape.d, f = lm->shape.ffn;
#define G(row) grad(lm, l, TSR_TRAIN_##row)
  dense_back(y->u, W(W2), k->dx, t, f, d, G(W2), G(B2), k->dh, false);
  gelu_back(y->h, t * f, k->dh);
  dense_back(y->n2.y, W(W1), k->dh, t, d, f, G(W1), G(B1), k->dn, false);
  layernorm_back(&y->n2, W(LN2_G), G(LN2_G), G(LN2_B), k->dn, t, d, k->dx);
  dense_back(y->a, W(WO), k->dx, t, d, d, G(WO), G(BO), k->da, false);
  attention_back(lm, y, b, s);
  dense_back(y->n1.y, W(WQ), k->dq, t, d, d, G(WQ), G(BQ), k->dn, false);
  dense_back(y->n1.y, W(WK), k->dk, t, d, d, G(WK), G(BK), k->dn, true);
  dense_back(y->n1.y, W(WV), k->dv, t, d, d, G(WV), G(BV), k->dn, true);
  layernorm_back(&y->n1, W(LN1_G), G(LN1_G), G(LN1_B), k->dn, t, d, k->dx);
#undef G
#undef W
}

void tsr_train_lm_backward(struct tsr_train_lm *lm, const uint8_t *tokens, size_t b, size_t s,
                           const float *dlogits) {
  struct tsri_lm_work *k = lm->work;
  size_t t = b * s, d = lm->shape.d, last = lm->shape.layers, vocab = lm->shape.vocab;
  float *token = lm->g + lm->param[TSR_TRAIN_TOKEN].at;
  float *position = lm->g + lm->param[TSR_TRAIN_POSITION].at;
  memset(lm->g, 0, lm->n * sizeof *lm->g);
  memset(k->dx, 0, t * d * sizeof *k->dx);
  tsr_train_gemm(d, vocab, t, turned(k->nf.y, d), mat(dlogits, vocab),
                 grad(lm, last, TSR_TRAIN_HEAD), vocab, true);
  tsr_train_gemm(t, d, vocab, mat(dlogits, vocab),
                 turned(weight(lm, last, TSR_TRAIN_HEAD), vocab), k->dn, d, false);
  layernorm_back(&k->nf, weight(lm, last, TSR_TRAIN_LNF_G), grad(lm, last, TSR_TRAIN_LNF_G),
                 grad(lm, last, TSR_TRAIN_LNF_B), k->dn, t, d, k->dx);
  for (size_t l = last; l-- > 0;) layer_back(lm, l, b, s);
  for (size_t i = 0; i < t; i++)
    for (size_t j = 0; j < d; j++) {
      token[tokens[i] * d + j] += k->dx[i * d + j];
      position[i % s * d + j] += k->dx[i * d + j];
    }
}

/* ---- outliers ---- */

static void scale_pair(struct tsr_train_lm *lm, size_t l, size_t gain, const size_t *reader,
                       size_t readers, size_t channel, float factor) {
  weight(lm, l, gain)[channel] *= factor;
  weight(lm, l, gain + 1)[channel] *= factor; /* its bias stands behind it */
  for (size_t i = 0; i < readers; i++) {
    size_t cols = lm->param[row_of(l, reader[i])].dim[1];
    float *row = weight(lm, l, reader[i]) + channel * cols;
    for (size_t j = 0; j < cols; j++) row[j] /= factor;
  }
}

void tsr_train_lm_outliers(struct tsr_train_lm *lm, const size_t *channel, size_t n,
                           float factor) {
  static const size_t qkv[] = {TSR_TRAIN_WQ, TSR_TRAIN_WK, TSR_TRAIN_WV};
  static const size_t ffn[] = {TSR_TRAIN_W1}, head[] = {TSR_TRAIN_HEAD};
  for (size_t i = 0; i < n; i++) {
    for (size_t l = 0; l < lm->shape.layers; l++) {
      scale_pair(lm, l, TSR_TRAIN_LN1_G, qkv, 3, channel[i], factor);
      scale_pair(lm, l, TSR_TRAIN_LN2_G, ffn, 1, channel[i], factor);
    }
    scale_pair(lm, lm->shape.layers, TSR_TRAIN_LNF_G, head, 1, channel[i], factor);
  }
}
