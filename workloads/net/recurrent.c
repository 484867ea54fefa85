/* Recurrent layers LSTM, GRU, RNN (SRC:onnx_operators): directions, lengths of sequences, both
 * layouts, all activations of ONNX.
 *
 * All inputs of a direction meet W in one product; a step multiplies the state by R and lets
 * the cell's own function make the next state.  Gates lie side by side in ONNX's order: i o f c
 * of an LSTM, z r h of a GRU.  A sequence that has ended keeps its state and gives zeros. */
#include <math.h>
#include <string.h>

#include "kernels/ref/vector.h"
#include "workloads/net/dense_int.h"
#include "workloads/net/operand_int.h"

/* ---- activations ---- */

typedef double activation_fn(double x, double alpha, double beta);

static double act_affine(double x, double alpha, double beta) {
  return alpha * x + beta;
}

static double act_relu(double x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return x < 0 ? 0 : x;
}

static double act_leaky_relu(double x, double alpha, double beta) {
  (void)beta;
  return x < 0 ? alpha * x : x;
}

static double act_thresholded_relu(double x, double alpha, double beta) {
  (void)beta;
  return x < alpha ? 0 : x;
}

static double act_tanh(double x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return tsr_ref_tanh(x);
}

static double act_scaled_tanh(double x, double alpha, double beta) {
  return alpha * tsr_ref_tanh(beta * x);
}

static double act_sigmoid(double x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return 1 / (1 + tsr_ref_exp(-x));
}

static double act_hard_sigmoid(double x, double alpha, double beta) {
  double v = alpha * x + beta;
  return v < 0 ? 0 : v > 1 ? 1 : v;
}

static double act_elu(double x, double alpha, double beta) {
  (void)beta;
  return x < 0 ? alpha * (tsr_ref_exp(x) - 1) : x;
}

static double act_softsign(double x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return x / (1 + fabs(x));
}

/* log(1 + e^x), from the side where the exponential is small. */
static double act_softplus(double x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return (x > 0 ? x : 0) + tsr_ref_log(1 + tsr_ref_exp(-fabs(x)));
}

/* Values of alpha and beta where the node gives none; lists give values only to functions that
 * take them.  Those of Affine and ScaledTanh, which ONNX leaves open, are SRC:assumed. */
static const struct activation_row {
  const char *name;
  activation_fn *fn;
  bool takes_alpha, takes_beta;
  double alpha, beta;
} activation_rows[] = {
    {"Affine", act_affine, true, true, 1, 0},
    {"Relu", act_relu, false, false, 0, 0},
    {"LeakyRelu", act_leaky_relu, true, false, 0.01, 0},
    {"ThresholdedRelu", act_thresholded_relu, true, false, 1, 0},
    {"Tanh", act_tanh, false, false, 0, 0},
    {"ScaledTanh", act_scaled_tanh, true, true, 1, 1},
    {"Sigmoid", act_sigmoid, false, false, 0, 0},
    {"HardSigmoid", act_hard_sigmoid, true, true, 0.2, 0.5},
    {"Elu", act_elu, true, false, 1, 0},
    {"Softsign", act_softsign, false, false, 0, 0},
    {"Softplus", act_softplus, false, false, 0, 0},
};

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Upper or lower case does not matter: exporters write both. */
static bool same_word(const char *a, const char *b) {
  while (*a && lower(*a) == lower(*b)) a++, b++;
  return !*a && !*b;
}

static const struct activation_row *activation_find(const char *name) {
  size_t n = sizeof activation_rows / sizeof *activation_rows;
  for (size_t i = 0; i < n; i++)
    if (same_word(name, activation_rows[i].name)) return &activation_rows[i];
  return NULL;
}

struct activation {
  activation_fn *fn;
  double alpha, beta;
};

/* ---- the layer ---- */

enum { MAX_ACTIVATIONS = 3, DIRECTIONS = 2 };
/* Inputs and outputs; the cell's state and peepholes are an LSTM's. */
enum { IN_X, IN_W, IN_R, IN_B, IN_LENGTHS, IN_H, IN_C, IN_P };
enum { OUT_Y, OUT_H, OUT_C };

struct layer {
  uint64_t seq, batch, in, hidden, gates, dirs;
  bool batch_first;         /* layout=1 */
  bool reverse[DIRECTIONS]; /* by direction */
  bool input_forget, after; /* LSTM: forget what is not put in; GRU: linear_before_reset */
  double clip;              /* 0: none */
  unsigned n_act;           /* a direction's */
  struct activation act[DIRECTIONS][MAX_ACTIVATIONS];
};

static const struct cell_row {
  enum tsr_net_op op;
  unsigned gates, n_act;
  const char *act[MAX_ACTIVATIONS];
} cell_rows[] = {
    {TSR_NET_LSTM, 4, 3, {"Sigmoid", "Tanh", "Tanh"}},
    {TSR_NET_GRU, 3, 2, {"Sigmoid", "Tanh"}},
    {TSR_NET_RNN, 1, 1, {"Tanh"}},
};

static const struct cell_row *cell_of(enum tsr_net_op op) {
  for (size_t i = 0; i < sizeof cell_rows / sizeof *cell_rows; i++)
    if (cell_rows[i].op == op) return &cell_rows[i];
  return NULL;
}

/* The next value of a list attribute, `absent` where it has ended. */
static double next(const struct tsr_net_attr *list, size_t *at, double absent) {
  return list && *at < list->n ? list->floats[(*at)++] : absent;
}

static enum tsr_status activations_of(const struct tsri_infer *c, const struct cell_row *cell,
                                      struct layer *l) {
  const struct tsr_net_attr *names = tsr_net_attr(c->node, "activations");
  const struct tsr_net_attr *alpha = tsr_net_attr(c->node, "activation_alpha");
  const struct tsr_net_attr *beta = tsr_net_attr(c->node, "activation_beta");
  size_t at_alpha = 0, at_beta = 0, n = l->dirs * cell->n_act;
  bool lists = (!names || names->kind == TSR_ATTR_TEXTS) &&
               (!alpha || alpha->kind == TSR_ATTR_FLOATS) &&
               (!beta || beta->kind == TSR_ATTR_FLOATS);
  if (!lists || (names && names->n != n))
    return tsri_fail(
        c->net, c->node, c->err,
        "wrong activations; expected %zu names and lists of numbers, got %zu names", n,
        names ? names->n : 0);
  for (size_t i = 0; i < n; i++) {
    const char *name = names ? names->texts[i] : cell->act[i % cell->n_act];
    const struct activation_row *row = activation_find(name);
    if (!row)
      return tsri_fail(c->net, c->node, c->err,
                       "unknown activation; expected one such as Tanh or Sigmoid, got '%s'",
                       name);
    struct activation *a = &l->act[i / cell->n_act][i % cell->n_act];
    *a = (struct activation){row->fn, row->alpha, row->beta};
    if (row->takes_alpha) a->alpha = next(alpha, &at_alpha, row->alpha);
    if (row->takes_beta) a->beta = next(beta, &at_beta, row->beta);
  }
  return TSR_OK;
}

static enum tsr_status direction_of(const struct tsri_infer *c, struct layer *l) {
  const char *name = tsr_net_attr_text(c->node, "direction", "forward");
  bool both = strcmp(name, "bidirectional") == 0, back = strcmp(name, "reverse") == 0;
  if (!both && !back && strcmp(name, "forward") != 0)
    return tsri_fail(c->net, c->node, c->err,
                     "unknown direction; expected forward, reverse or bidirectional, got '%s'",
                     name);
  l->dirs = both ? 2 : 1;
  l->reverse[0] = back;
  l->reverse[1] = both;
  return TSR_OK;
}

static enum tsr_status sizes_of(const struct tsri_infer *c, struct layer *l) {
  for (size_t i = 0; i < 3; i++) {
    enum tsr_status s = tsri_in(c, i) ? tsri_want_rank(c, i, 3)
                                      : tsri_fail(c->net, c->node, c->err,
                                                  "input %zu is left out; expected X, W, R", i);
    if (s != TSR_OK) return s;
  }
  const uint64_t *x = tsri_in(c, IN_X)->dim;
  l->batch_first = tsr_net_attr_int(c->node, "layout", 0) != 0;
  l->seq = x[l->batch_first];
  l->batch = x[!l->batch_first];
  l->in = x[2];
  l->hidden = tsri_in(c, IN_R)->dim[2];
  int64_t told = tsr_net_attr_int(c->node, "hidden_size", (int64_t)l->hidden);
  if (told >= 0 && (uint64_t)told == l->hidden) return TSR_OK;
  return tsri_fail(c->net, c->node, c->err,
                   "hidden_size does not fit R; expected %llu, got '%lld'",
                   (unsigned long long)l->hidden, (long long)told);
}

static enum tsr_status layer_of(const struct tsri_infer *c, struct layer *l) {
  const struct cell_row *cell = cell_of(c->node->op);
  *l = (struct layer){.gates = cell->gates, .n_act = cell->n_act};
  l->input_forget = tsr_net_attr_int(c->node, "input_forget", 0) != 0;
  l->after = tsr_net_attr_int(c->node, "linear_before_reset", 0) != 0;
  l->clip = tsr_net_attr_float(c->node, "clip", 0);
  enum tsr_status s = direction_of(c, l);
  if (s == TSR_OK) s = activations_of(c, cell, l);
  return s == TSR_OK ? sizes_of(c, l) : s;
}

static enum tsr_status want_operands(const struct tsri_infer *c, const struct layer *l) {
  static const enum tsr_dtype lengths[] = {TSR_DTYPE_I32, TSR_DTYPE_NONE};
  uint64_t width = l->gates * l->hidden;
  uint64_t w[] = {l->dirs, width, l->in}, r[] = {l->dirs, width, l->hidden};
  uint64_t b[] = {l->dirs, 2 * width}, p[] = {l->dirs, 3 * l->hidden};
  uint64_t state[] = {l->batch_first ? l->batch : l->dirs, l->batch_first ? l->dirs : l->batch,
                      l->hidden};
  enum tsr_status s = tsri_want_float(c, IN_X);
  for (size_t i = 1; s == TSR_OK && i < 8; i++)
    if (i != IN_LENGTHS) s = tsri_want_type_of(c, i, IN_X);
  if (s == TSR_OK) s = tsri_want_types(c, IN_LENGTHS, lengths);
  if (s == TSR_OK) s = tsri_want_shape(c, IN_W, "W", 3, w);
  if (s == TSR_OK) s = tsri_want_shape(c, IN_R, "R", 3, r);
  if (s == TSR_OK) s = tsri_want_shape(c, IN_B, "B", 2, b);
  if (s == TSR_OK) s = tsri_want_list(c, IN_LENGTHS, "sequence_lens", l->batch);
  if (s == TSR_OK) s = tsri_want_shape(c, IN_H, "initial_h", 3, state);
  if (s == TSR_OK) s = tsri_want_shape(c, IN_C, "initial_c", 3, state);
  return s == TSR_OK ? tsri_want_shape(c, IN_P, "P", 2, p) : s;
}

static enum tsr_status infer_layer(struct tsri_infer *c) {
  struct layer l;
  enum tsr_status s = layer_of(c, &l);
  if (s == TSR_OK) s = want_operands(c, &l);
  if (s != TSR_OK) return s;
  enum tsr_dtype type = tsri_in(c, IN_X)->type;
  uint64_t y[2][4] = {{l.seq, l.dirs, l.batch, l.hidden}, {l.batch, l.seq, l.dirs, l.hidden}};
  uint64_t state[2][3] = {{l.dirs, l.batch, l.hidden}, {l.batch, l.dirs, l.hidden}};
  s = tsri_set(c, OUT_Y, type, 4, y[l.batch_first]);
  if (s == TSR_OK) s = tsri_set(c, OUT_H, type, 3, state[l.batch_first]);
  return s == TSR_OK ? tsri_set(c, OUT_C, type, 3, state[l.batch_first]) : s;
}

/* ---- one direction ---- */

/* What a direction works on: pre holds X * W' + Wb of every step, a row for each row of X; rec
 * the products of a step with R; h and c the state, a row for each sequence. */
struct run {
  const struct layer *l;
  const struct activation *act;
  uint64_t dir, width; /* width: of all gates */
  double *pre, *rec, *h, *c, *reset;
  const double *r, *rb, *p; /* R, its bias (or NULL), peepholes (or NULL) */
  const int64_t *lengths;   /* or NULL */
};

static double activate(const struct run *k, unsigned which, double x) {
  double clip = k->l->clip;
  if (clip > 0) x = x < -clip ? -clip : x > clip ? clip : x;
  const struct activation *a = &k->act[which];
  return a->fn(x, a->alpha, a->beta);
}

static uint64_t length(const struct run *k, uint64_t b) {
  return k->lengths ? (uint64_t)k->lengths[b] : k->l->seq;
}

/* Time that step `s` of sequence b reads; false where it has ended. */
static bool time_of(const struct run *k, uint64_t b, uint64_t s, uint64_t *t) {
  uint64_t n = length(k, b);
  if (s >= n) return false;
  *t = k->l->reverse[k->dir] ? n - 1 - s : s;
  return true;
}

/* The row of X, and of pre, of sequence b at a time. */
static uint64_t row_of(const struct layer *l, uint64_t b, uint64_t t) {
  return l->batch_first ? b * l->seq + t : t * l->batch + b;
}

/* rec[:, from .. from + n) = state * R' + Rb of these columns. */
static bool recur(const struct run *k, const double *state, uint64_t from, uint64_t n) {
  const struct layer *l = k->l;
  for (uint64_t b = 0; b < l->batch; b++)
    for (uint64_t j = from; j < from + n; j++) k->rec[b * k->width + j] = k->rb ? k->rb[j] : 0;
  struct tsri_mm mm = {.m = l->batch, .n = n, .k = l->hidden, .c_row = k->width};
  mm.a = (struct tsri_mat){state, l->hidden, 1, NULL, NULL};
  mm.b = (struct tsri_mat){k->r + from * l->hidden, 1, l->hidden, NULL, NULL};
  mm.c = k->rec + from;
  return tsri_mm(&mm);
}

static void lstm_cell(const struct run *k, const double *x, const double *rec, double *h,
                      double *c) {
  uint64_t n = k->l->hidden;
  const double *p = k->p;
  for (uint64_t j = 0; j < n; j++) {
    double old = c[j];
    double in = x[j] + rec[j] + (p ? p[j] * old : 0);
    double out = x[n + j] + rec[n + j];
    double forget = x[2 * n + j] + rec[2 * n + j] + (p ? p[2 * n + j] * old : 0);
    in = activate(k, 0, in);
    forget = k->l->input_forget ? 1 - in : activate(k, 0, forget);
    c[j] = forget * old + in * activate(k, 1, x[3 * n + j] + rec[3 * n + j]);
    out = activate(k, 0, out + (p ? p[n + j] * c[j] : 0));
    h[j] = out * activate(k, 2, c[j]);
  }
}

static bool lstm_step(const struct run *k, uint64_t s) {
  uint64_t t, n = k->l->hidden;
  if (!recur(k, k->h, 0, k->width)) return false;
  for (uint64_t b = 0; b < k->l->batch; b++)
    if (time_of(k, b, s, &t))
      lstm_cell(k, k->pre + row_of(k->l, b, t) * k->width, k->rec + b * k->width, k->h + b * n,
                k->c + b * n);
  return true;
}

/* The gates z and r in place of their products, and r * h. */
static void gru_gates(const struct run *k, const double *x, double *rec, const double *h,
                      double *reset) {
  uint64_t n = k->l->hidden;
  for (uint64_t j = 0; j < 2 * n; j++) rec[j] = activate(k, 0, x[j] + rec[j]);
  for (uint64_t j = 0; j < n; j++) reset[j] = rec[n + j] * h[j];
}

static void gru_cell(const struct run *k, const double *x, const double *rec, double *h) {
  uint64_t n = k->l->hidden;
  for (uint64_t j = 0; j < n; j++) {
    double add = rec[2 * n + j] * (k->l->after ? rec[n + j] : 1), z = rec[j];
    h[j] = (1 - z) * activate(k, 1, x[2 * n + j] + add) + z * h[j];
  }
}

static bool gru_step(const struct run *k, uint64_t s) {
  uint64_t t, n = k->l->hidden, batch = k->l->batch;
  if (!recur(k, k->h, 0, k->l->after ? k->width : 2 * n)) return false;
  for (uint64_t b = 0; b < batch; b++)
    if (time_of(k, b, s, &t))
      gru_gates(k, k->pre + row_of(k->l, b, t) * k->width, k->rec + b * k->width, k->h + b * n,
                k->reset + b * n);
  if (!k->l->after && !recur(k, k->reset, 2 * n, n)) return false;
  for (uint64_t b = 0; b < batch; b++)
    if (time_of(k, b, s, &t))
      gru_cell(k, k->pre + row_of(k->l, b, t) * k->width, k->rec + b * k->width, k->h + b * n);
  return true;
}

static bool rnn_step(const struct run *k, uint64_t s) {
  uint64_t t, n = k->l->hidden;
  if (!recur(k, k->h, 0, k->width)) return false;
  for (uint64_t b = 0; b < k->l->batch; b++)
    for (uint64_t j = 0; time_of(k, b, s, &t) && j < n; j++)
      k->h[b * n + j] =
          activate(k, 0, k->pre[row_of(k->l, b, t) * k->width + j] + k->rec[b * k->width + j]);
  return true;
}

/* ---- evaluation ---- */

/* Where sequence b of a direction stands in initial and last states. */
static uint64_t state_at(const struct layer *l, uint64_t dir, uint64_t b) {
  return (l->batch_first ? b * l->dirs + dir : dir * l->batch + b) * l->hidden;
}

static uint64_t y_at(const struct layer *l, uint64_t dir, uint64_t b, uint64_t t) {
  uint64_t row =
      l->batch_first ? (b * l->seq + t) * l->dirs + dir : (t * l->dirs + dir) * l->batch + b;
  return row * l->hidden;
}

static void load_state(const struct run *k, const struct tsr_array *from, double *to) {
  uint64_t n = k->l->hidden;
  for (uint64_t b = 0; from && b < k->l->batch; b++)
    memcpy(to + b * n, from->f + state_at(k->l, k->dir, b), n * sizeof *to);
}

static void store_state(const struct run *k, const double *from, struct tsr_array *to) {
  uint64_t n = k->l->hidden;
  for (uint64_t b = 0; to && b < k->l->batch; b++)
    memcpy(to->f + state_at(k->l, k->dir, b), from + b * n, n * sizeof *from);
}

static void store_step(const struct run *k, uint64_t s, struct tsr_array *y) {
  uint64_t t, n = k->l->hidden;
  for (uint64_t b = 0; y && b < k->l->batch; b++)
    if (time_of(k, b, s, &t))
      memcpy(y->f + y_at(k->l, k->dir, b, t), k->h + b * n, n * sizeof *k->h);
}

/* pre = X * W' + Wb. */
static bool project(const struct tsri_eval *c, const struct run *k) {
  const struct layer *l = k->l;
  const struct tsr_array *bias = tsri_arg(c, IN_B);
  uint64_t rows = l->seq * l->batch;
  for (uint64_t i = 0; bias && i < rows * k->width; i++)
    k->pre[i] = bias->f[k->dir * 2 * k->width + i % k->width];
  struct tsri_mm mm = {.m = rows, .n = k->width, .k = l->in, .c = k->pre, .c_row = k->width};
  mm.a = (struct tsri_mat){tsri_arg(c, IN_X)->f, l->in, 1, NULL, NULL};
  mm.b =
      (struct tsri_mat){tsri_arg(c, IN_W)->f + k->dir * k->width * l->in, 1, l->in, NULL, NULL};
  return tsri_mm(&mm);
}

typedef bool step_fn(const struct run *k, uint64_t s);

static bool run_direction(const struct tsri_eval *c, const struct layer *l, uint64_t dir,
                          step_fn *step) {
  const struct tsr_array *bias = tsri_arg(c, IN_B), *p = tsri_arg(c, IN_P);
  const struct tsr_array *lengths = tsri_arg(c, IN_LENGTHS);
  struct run k = {.l = l, .act = l->act[dir], .dir = dir, .width = l->gates * l->hidden};
  k.r = tsri_arg(c, IN_R)->f + dir * k.width * l->hidden;
  k.rb = bias ? bias->f + (2 * dir + 1) * k.width : NULL;
  k.p = p ? p->f + dir * 3 * l->hidden : NULL;
  k.lengths = lengths ? lengths->i : NULL;
  k.pre = tsri_doubles(l->seq * l->batch * k.width);
  k.rec = tsri_doubles(l->batch * k.width);
  k.h = tsri_doubles(l->batch * l->hidden);
  k.c = tsri_doubles(l->batch * l->hidden);
  k.reset = tsri_doubles(l->batch * l->hidden);
  bool ok = k.pre && k.rec && k.h && k.c && k.reset && project(c, &k);
  if (ok) {
    load_state(&k, tsri_arg(c, IN_H), k.h);
    load_state(&k, tsri_arg(c, IN_C), k.c);
  }
  for (uint64_t s = 0; ok && s < l->seq; s++) {
    ok = step(&k, s);
    if (ok) store_step(&k, s, tsri_result(c, OUT_Y));
  }
  if (ok) {
    store_state(&k, k.h, tsri_result(c, OUT_H));
    store_state(&k, k.c, tsri_result(c, OUT_C));
  }
  tsr_mem_free(k.pre);
  tsr_mem_free(k.rec);
  tsr_mem_free(k.h);
  tsr_mem_free(k.c);
  tsr_mem_free(k.reset);
  return ok;
}

static enum tsr_status eval_layer(struct tsri_eval *c, step_fn *step) {
  struct layer l;
  enum tsr_status s = layer_of(c->shape, &l);
  if (s != TSR_OK) return s;
  const struct tsr_array *lengths = tsri_arg(c, IN_LENGTHS);
  for (uint64_t b = 0; lengths && b < lengths->n; b++)
    if (lengths->i[b] < 0 || (uint64_t)lengths->i[b] > l.seq)
      return tsri_fail(c->net, c->node, c->err,
                       "sequence_lens is out of range; expected 0 to %llu, got '%lld'",
                       (unsigned long long)l.seq, (long long)lengths->i[b]);
  for (uint64_t dir = 0; dir < l.dirs; dir++)
    if (!run_direction(c, &l, dir, step)) return tsr_err_nomem(c->err);
  return s;
}

enum tsr_status tsri_infer_lstm(struct tsri_infer *c) {
  return infer_layer(c);
}

enum tsr_status tsri_eval_lstm(struct tsri_eval *c) {
  return eval_layer(c, lstm_step);
}

enum tsr_status tsri_infer_gru(struct tsri_infer *c) {
  return infer_layer(c);
}

enum tsr_status tsri_eval_gru(struct tsri_eval *c) {
  return eval_layer(c, gru_step);
}

enum tsr_status tsri_infer_rnn(struct tsri_infer *c) {
  return infer_layer(c);
}

enum tsr_status tsri_eval_rnn(struct tsri_eval *c) {
  return eval_layer(c, rnn_step);
}
