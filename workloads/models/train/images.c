#include "workloads/models/train/images.h"

#include <math.h>
#include <string.h>

#include "sim/base/rng.h"
#include "workloads/models/train/num.h"

enum {
  SIDE1 = 28,
  PLANE1 = SIDE1 * SIDE1,
  CH1 = 8,
  SIDE2 = 14,
  PLANE2 = SIDE2 * SIDE2,
  CH2 = 16,
  SIDE3 = 7,
  PLANE3 = SIDE3 * SIDE3,
  FLAT = CH2 * PLANE3,
  TAPS1 = 9,
  TAPS2 = CH1 * 9,
  HIDDEN_MAX = 128
};

/* What a forward pass keeps for the backward one, and scratch of one image. */
struct tsri_images_work {
  float flat[TSR_TRAIN_BATCH * FLAT], dflat[TSR_TRAIN_BATCH * FLAT];
  float hidden[TSR_TRAIN_BATCH * HIDDEN_MAX], dhidden[TSR_TRAIN_BATCH * HIDDEN_MAX];
  float pool1[TSR_TRAIN_BATCH][CH1 * PLANE2];
  uint16_t from1[TSR_TRAIN_BATCH][CH1 * PLANE2], from2[TSR_TRAIN_BATCH][FLAT];
  float cols[TAPS2 * PLANE2], dcols[TAPS2 * PLANE2], conv[CH1 * PLANE1], dpool[CH1 * PLANE2];
};

/* The rows of the tables: the convolutions' first, then the two layers of all. */
struct row {
  const char *name;
  unsigned rank;
  uint64_t dim[4];
};
static const struct row mlp_rows[] = {{"fc1.weight", 2, {128, 784}},
                                      {"fc1.bias", 1, {128}},
                                      {"fc2.weight", 2, {10, 128}},
                                      {"fc2.bias", 1, {10}}};
static const struct row cnn_rows[] = {
    {"conv1.weight", 4, {CH1, 1, 3, 3}},   {"conv1.bias", 1, {CH1}},
    {"conv2.weight", 4, {CH2, CH1, 3, 3}}, {"conv2.bias", 1, {CH2}},
    {"fc1.weight", 2, {32, FLAT}},         {"fc1.bias", 1, {32}},
    {"fc2.weight", 2, {10, 32}},           {"fc2.bias", 1, {10}}};

static void table(struct tsr_train_images *net, const struct row *rows, size_t n) {
  net->n_params = n;
  for (size_t i = 0; i < n; i++) {
    struct tsr_train_param *p = &net->param[i];
    memcpy(p->name, rows[i].name, strlen(rows[i].name) + 1);
    p->rank = rows[i].rank;
    p->at = net->n;
    p->n = 1;
    for (unsigned d = 0; d < p->rank; d++) {
      p->dim[d] = rows[i].dim[d];
      p->n *= p->dim[d];
    }
    net->n += p->n;
  }
}

/* Weights of standard deviation sqrt(2 / fan in), biases 0. */
static void init(struct tsr_train_images *net, uint64_t seed) {
  for (size_t i = 0; i < net->n_params; i++) {
    const struct tsr_train_param *p = &net->param[i];
    if (p->rank == 1) continue;
    double scale = sqrt(2 * (double)p->dim[0] / (double)p->n);
    for (size_t j = 0; j < p->n; j++)
      net->w[p->at + j] = (float)(scale * tsr_rng_normal(seed, i, j));
  }
}

enum tsr_status tsr_train_images_create(enum tsr_train_images_kind kind, uint64_t seed,
                                        struct tsr_train_images **out, struct tsr_err *err) {
  struct tsr_train_images *net = tsr_mem_alloc(sizeof *net);
  if (!net) return tsr_err_nomem(err);
  net->kind = kind;
  if (kind == TSR_TRAIN_MLP)
    table(net, mlp_rows, sizeof mlp_rows / sizeof *mlp_rows);
  else
    table(net, cnn_rows, sizeof cnn_rows / sizeof *cnn_rows);
  net->w = tsr_mem_array(net->n, sizeof *net->w);
  net->g = tsr_mem_array(net->n, sizeof *net->g);
  net->work = tsr_mem_alloc(sizeof *net->work);
  if (!net->w || !net->g || !net->work) {
    tsr_train_images_destroy(net);
    return tsr_err_nomem(err);
  }
  init(net, seed);
  *out = net;
  return TSR_OK;
}

void tsr_train_images_destroy(struct tsr_train_images *net) {
  if (!net) return;
  tsr_mem_free(net->w);
  tsr_mem_free(net->g);
  tsr_mem_free(net->work);
  tsr_mem_free(net);
}

/* Parameter i, and its gradient. */
static const float *weight(const struct tsr_train_images *net, size_t i) {
  return net->w + net->param[i].at;
}
static float *grad(struct tsr_train_images *net, size_t i) {
  return net->g + net->param[i].at;
}

/* cols[c * 9, side * side] of x[c, side, side] with a border of 0. */
static void im2col(const float *x, size_t c, size_t side, float *cols) {
  size_t plane = side * side;
  for (size_t r = 0; r < c * 9; r++, cols += plane) {
    const float *from = x + r / 9 * plane;
    size_t kh = r % 9 / 3, kw = r % 3, left = kw == 0, n = side - (kw != 1);
    memset(cols, 0, plane * sizeof *cols);
    for (size_t y = kh == 0; y < side - (kh == 2); y++)
      memcpy(cols + y * side + left, from + (y + kh - 1) * side + (kw == 2), n * sizeof *cols);
  }
}

/* dx[c, side, side] = the sums of dcols where they came from. */
static void col2im(const float *dcols, size_t c, size_t side, float *dx) {
  size_t plane = side * side;
  memset(dx, 0, c * plane * sizeof *dx);
  for (size_t r = 0; r < c * 9; r++, dcols += plane) {
    float *to = dx + r / 9 * plane;
    size_t kh = r % 9 / 3, kw = r % 3, left = kw == 0, n = side - (kw != 1);
    for (size_t y = kh == 0; y < side - (kh == 2); y++) {
      const float *d = dcols + y * side + left;
      float *t = to + (y + kh - 1) * side + (kw == 2);
      for (size_t i = 0; i < n; i++) t[i] += d[i];
    }
  }
}

static void relu(float *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = x[i] > 0 ? x[i] : 0;
}

/* The largest of each 2 x 2 window, and which of the plane it was. */
static void pool(const float *x, size_t c, size_t side, float *y, uint16_t *from) {
  for (size_t k = 0; k < c; k++, x += side * side)
    for (size_t i = 0; i < side; i += 2)
      for (size_t j = 0; j < side; j += 2) {
        size_t at = i * side + j, b = at;
        if (x[at + 1] > x[b]) b = at + 1;
        if (x[at + side] > x[b]) b = at + side;
        if (x[at + side + 1] > x[b]) b = at + side + 1;
        *from++ = (uint16_t)b;
        *y++ = x[b];
      }
}

/* The gradient before Relu and pooling: where the largest was positive. */
static void unpool(const float *dy, const float *y, const uint16_t *from, size_t c, size_t side,
                   float *dx) {
  size_t out = side * side / 4;
  memset(dx, 0, c * side * side * sizeof *dx);
  for (size_t k = 0; k < c; k++)
    for (size_t i = 0; i < out; i++)
      if (y[k * out + i] > 0) dx[k * side * side + from[k * out + i]] = dy[k * out + i];
}

/* Convolution, Relu and pooling of one image; i: its weights in the table. */
static void block(struct tsr_train_images *net, size_t i, const float *x, size_t in,
                  size_t out_ch, size_t side, float *y, uint16_t *from) {
  struct tsri_images_work *k = net->work;
  size_t plane = side * side;
  im2col(x, in, side, k->cols);
  for (size_t c = 0; c < out_ch; c++)
    for (size_t j = 0; j < plane; j++) k->conv[c * plane + j] = weight(net, i + 1)[c];
  tsr_train_gemm(out_ch, plane, in * 9, (struct tsr_train_mat){weight(net, i), in * 9, false},
                 (struct tsr_train_mat){k->cols, plane, false}, k->conv, plane, true);
  relu(k->conv, out_ch * plane);
  pool(k->conv, out_ch, side, y, from);
}

/* Its gradients, and dx where asked. */
static void block_back(struct tsr_train_images *net, size_t i, const float *x, size_t in,
                       size_t out_ch, size_t side, const float *y, const uint16_t *from,
                       const float *dy, float *dx) {
  struct tsri_images_work *k = net->work;
  size_t plane = side * side;
  unpool(dy, y, from, out_ch, side, k->conv);
  im2col(x, in, side, k->cols);
  tsr_train_gemm(out_ch, in * 9, plane, (struct tsr_train_mat){k->conv, plane, false},
                 (struct tsr_train_mat){k->cols, plane, true}, grad(net, i), in * 9, true);
  for (size_t c = 0; c < out_ch; c++) {
    float sum = 0;
    for (size_t j = 0; j < plane; j++) sum += k->conv[c * plane + j];
    grad(net, i + 1)[c] += sum;
  }
  if (!dx) return;
  tsr_train_gemm(in * 9, plane, out_ch, (struct tsr_train_mat){weight(net, i), in * 9, true},
                 (struct tsr_train_mat){k->conv, plane, false}, k->dcols, plane, false);
  col2im(k->dcols, in, side, dx);
}

/* y[n,out] = x[n,in] * w' + b. */
static void dense(struct tsr_train_images *net, size_t i, const float *x, size_t n, float *y) {
  size_t out = net->param[i].dim[0], in = net->param[i].dim[1];
  tsr_train_rows(y, weight(net, i + 1), n, out);
  tsr_train_gemm(n, out, in, (struct tsr_train_mat){x, in, false},
                 (struct tsr_train_mat){weight(net, i), in, true}, y, out, true);
}

static void dense_back(struct tsr_train_images *net, size_t i, const float *x, size_t n,
                       const float *dy, float *dx) {
  size_t out = net->param[i].dim[0], in = net->param[i].dim[1];
  tsr_train_gemm(out, in, n, (struct tsr_train_mat){dy, out, true},
                 (struct tsr_train_mat){x, in, false}, grad(net, i), in, true);
  tsr_train_rows_sum(grad(net, i + 1), dy, n, out);
  if (dx)
    tsr_train_gemm(n, in, out, (struct tsr_train_mat){dy, out, false},
                   (struct tsr_train_mat){weight(net, i), in, false}, dx, in, false);
}

void tsr_train_images_forward(struct tsr_train_images *net, const float *x, size_t n,
                              float *logits) {
  struct tsri_images_work *k = net->work;
  const float *flat = x;
  size_t fc = 0;
  if (net->kind == TSR_TRAIN_CNN) {
    for (size_t i = 0; i < n; i++) {
      block(net, 0, x + i * PLANE1, 1, CH1, SIDE1, k->pool1[i], k->from1[i]);
      block(net, 2, k->pool1[i], CH1, CH2, SIDE2, k->flat + i * FLAT, k->from2[i]);
    }
    flat = k->flat;
    fc = 4;
  }
  dense(net, fc, flat, n, k->hidden);
  relu(k->hidden, n * net->param[fc].dim[0]);
  dense(net, fc + 2, k->hidden, n, logits);
}

void tsr_train_images_backward(struct tsr_train_images *net, const float *x, size_t n,
                               const float *dlogits) {
  struct tsri_images_work *k = net->work;
  bool cnn = net->kind == TSR_TRAIN_CNN;
  size_t fc = cnn ? 4 : 0, hidden = n * net->param[fc].dim[0];
  memset(net->g, 0, net->n * sizeof *net->g);
  dense_back(net, fc + 2, k->hidden, n, dlogits, k->dhidden);
  for (size_t i = 0; i < hidden; i++) k->dhidden[i] = k->hidden[i] > 0 ? k->dhidden[i] : 0;
  dense_back(net, fc, cnn ? k->flat : x, n, k->dhidden, cnn ? k->dflat : NULL);
  for (size_t i = 0; cnn && i < n; i++) {
    block_back(net, 2, k->pool1[i], CH1, CH2, SIDE2, k->flat + i * FLAT, k->from2[i],
               k->dflat + i * FLAT, k->dpool);
    block_back(net, 0, x + i * PLANE1, 1, CH1, SIDE1, k->pool1[i], k->from1[i], k->dpool, NULL);
  }
}

static void export_conv(struct tsr_train_export *x, const char *in, const char *out) {
  static const int64_t three[] = {3, 3}, one[] = {1, 1, 1, 1}, two[] = {2, 2};
  const struct tsr_net_attr conv[] = {
      {.name = "kernel_shape", .kind = TSR_ATTR_INTS, .n = 2, .ints = three},
      {.name = "pads", .kind = TSR_ATTR_INTS, .n = 4, .ints = one},
      {.name = "strides", .kind = TSR_ATTR_INTS, .n = 2, .ints = one}};
  const struct tsr_net_attr max[] = {
      {.name = "kernel_shape", .kind = TSR_ATTR_INTS, .n = 2, .ints = two},
      {.name = "strides", .kind = TSR_ATTR_INTS, .n = 2, .ints = two}};
  bool first = in[0] == 'i';
  tsr_train_export_node(x, "Conv", in, first ? "conv1" : "conv2", conv, 3);
  tsr_train_export_node(x, "Relu", first ? "conv1" : "conv2", first ? "act1" : "act2", NULL, 0);
  tsr_train_export_node(x, "MaxPool", first ? "act1" : "act2", out, max, 2);
}

enum tsr_status tsr_train_images_export(const struct tsr_train_images *net,
                                        struct tsr_net **out, struct tsr_err *err) {
  const struct tsr_net_attr axis = {.name = "axis", .kind = TSR_ATTR_INT, .i = 1};
  const struct tsr_net_attr turned = {.name = "transB", .kind = TSR_ATTR_INT, .i = 1};
  bool cnn = net->kind == TSR_TRAIN_CNN;
  struct tsr_train_export x;
  tsr_train_export_begin(&x, cnn ? "fashion-cnn" : "fashion-mlp", err);
  tsr_train_export_input(&x, "image", TSR_DTYPE_F32, "N 1 28 28");
  tsr_train_export_params(&x, net->param, net->n_params, net->w);
  if (cnn) {
    export_conv(&x, "image conv1.weight conv1.bias", "pool1");
    export_conv(&x, "pool1 conv2.weight conv2.bias", "pool2");
  }
  tsr_train_export_node(&x, "Flatten", cnn ? "pool2" : "image", "flat", &axis, 1);
  tsr_train_export_node(&x, "Gemm", "flat fc1.weight fc1.bias", "fc1", &turned, 1);
  tsr_train_export_node(&x, "Relu", "fc1", "hidden", NULL, 0);
  tsr_train_export_node(&x, "Gemm", "hidden fc2.weight fc2.bias", "logits", &turned, 1);
  tsr_train_export_output(&x, "logits", "N 10");
  return tsr_train_export_end(&x, out);
}
