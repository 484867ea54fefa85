/* LSTM, GRU, RNN: one product of all inputs with W for each direction, then step by step one of
 * the state with R (the inputs' share added in its epilogue) and the cell's operators on slices
 * of its result.
 *
 * Gates lie side by side in ONNX's order: i o f c of an LSTM, z r h of a GRU.  States of steps
 * are values of their own; Y is put together of them, up to 64 at a time.  A sequence that has
 * ended keeps its state and gives zeros: both are chosen by a column of flags, known before
 * where sequence_lens is a constant (steps behind the longest one are not there at all). */
#include <stdio.h>
#include <string.h>

#include "workloads/translate/product_int.h"

enum { ACTIVATIONS = 3, DIRECTIONS = 2, CHUNK = TSR_OPERAND_PARTS, NAME = 64 };
enum { IN_X, IN_W, IN_R, IN_B, IN_LENGTHS, IN_H, IN_C, IN_P };

struct activation {
  const struct activation_row *row;
  double alpha, beta;
};

struct layer {
  struct tsri_tr *t;
  const struct tsr_net_node *n;
  uint64_t seq, batch, in, hidden, width; /* width: of all gates */
  unsigned dirs, n_act;
  bool batch_first, reverse[DIRECTIONS];
  bool input_forget, after; /* GRU: the reset gate works on the product */
  double clip;              /* 0: none */
  struct activation act[DIRECTIONS][ACTIVATIONS];
  /* The direction and step under way. */
  unsigned dir;
  uint64_t time;
  bool last;
  size_t inputs;        /* X * W' + Wb: [seq, batch, width] */
  struct tsr_view h, c; /* the state: [batch, hidden] */
};

/* ---- activations ---- */

/* Up to three operators one after the other. */
struct activation_row {
  const char *name;
  bool takes_alpha, takes_beta;
  double alpha, beta; /* where the node gives none */
  enum tsr_op_kind kind[3];
  unsigned n;
};
static const struct activation_row activation_rows[] = {
    {"Affine", true, true, 1, 0, {TSR_OP_AFFINE}, 1},
    {"Relu", false, false, 0, 0, {TSR_OP_RELU}, 1},
    {"LeakyRelu", true, false, 0.01, 0, {TSR_OP_LEAKY_RELU}, 1},
    {"ThresholdedRelu", true, false, 1, 0, {TSR_OP_GREATER_EQUAL, TSR_OP_KEEP}, 2},
    {"Tanh", false, false, 0, 0, {TSR_OP_TANH}, 1},
    {"ScaledTanh", true, true, 1, 1, {TSR_OP_AFFINE, TSR_OP_TANH, TSR_OP_AFFINE}, 3},
    {"Sigmoid", false, false, 0, 0, {TSR_OP_SIGMOID}, 1},
    {"HardSigmoid", true, true, 0.2, 0.5, {TSR_OP_AFFINE, TSR_OP_CLIP}, 2},
    {"Elu", true, false, 1, 0, {TSR_OP_ELU}, 1},
    {"Softsign", false, false, 0, 0, {TSR_OP_SOFTSIGN}, 1},
    {"Softplus", false, false, 0, 0, {TSR_OP_SOFTPLUS}, 1},
};

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Exporters write names in upper and lower case. */
static bool same_word(const char *a, const char *b) {
  while (*a && lower(*a) == lower(*b)) a++, b++;
  return !*a && !*b;
}

static double next_number(const struct tsr_net_attr *list, size_t *at, double absent) {
  return list && *at < list->n ? list->floats[(*at)++] : absent;
}

static enum tsr_status read_activations(struct layer *l, const char *const *absent) {
  const struct tsr_net_attr *names = tsr_net_attr(l->n, "activations");
  const struct tsr_net_attr *alpha = tsr_net_attr(l->n, "activation_alpha");
  const struct tsr_net_attr *beta = tsr_net_attr(l->n, "activation_beta");
  size_t at_alpha = 0, at_beta = 0, n = sizeof activation_rows / sizeof *activation_rows;
  for (size_t i = 0; i < l->dirs * (size_t)l->n_act; i++) {
    const char *name = names && i < names->n ? names->texts[i] : absent[i % l->n_act];
    const struct activation_row *row = NULL;
    for (size_t k = 0; k < n; k++)
      if (same_word(name, activation_rows[k].name)) row = &activation_rows[k];
    if (!row) return tsri_tr_refuse(l->t, l->n, "activation '%s'", name);
    struct activation *a = &l->act[i / l->n_act][i % l->n_act];
    *a = (struct activation){row, row->alpha, row->beta};
    if (row->takes_alpha) a->alpha = next_number(alpha, &at_alpha, row->alpha);
    if (row->takes_beta) a->beta = next_number(beta, &at_beta, row->beta);
  }
  return TSR_OK;
}

/* ---- names, values, views ---- */

/* `back.12.gates`: of the step under way. */
static const char *named(const struct layer *l, const char *what, char to[NAME]) {
  const char *dir = l->dirs == 1 ? "" : l->dir ? "back." : "forth.";
  (void)snprintf(to, NAME, "%s%llu.%s", dir, (unsigned long long)l->time, what);
  return to;
}

static size_t input(const struct layer *l, size_t i) {
  return tsri_tr_in(l->n, i);
}

static enum tsr_dtype type_of(const struct layer *l) {
  return l->t->net->values[l->n->in[IN_X]].type;
}

/* Columns [from, from + n) of the [batch, …] rows of a value. */
static struct tsr_view columns(const struct layer *l, size_t value, uint64_t from, uint64_t n) {
  struct tsr_view v = tsri_tr_view_blank(l->t, value, 2, (uint64_t[]){l->batch, n});
  v.base[1] = (int64_t)from;
  tsri_tr_view_move(&v, 0, 0, 1);
  tsri_tr_view_move(&v, 1, 1, 1);
  return v;
}

/* A part of columns of such a view. */
static struct tsr_view part(const struct tsr_view *of, uint64_t from, uint64_t n) {
  struct tsr_view v = *of;
  v.base[v.src_rank - 1] += (int64_t)from;
  v.dim[1] = n;
  return v;
}

/* A new value of [batch, n]. */
static enum tsr_status fresh(const struct layer *l, const char *what, uint64_t n,
                             struct tsr_view *out) {
  char name[NAME];
  size_t value;
  uint64_t dim[2] = {l->batch, n};
  TSRI_TRY(tsri_tr_temp(l->t, named(l, what, name), type_of(l), 2, dim, &value));
  *out = columns(l, value, 0, n);
  return TSR_OK;
}

/* The inputs' share of the step, columns [from, from + n). */
static struct tsr_view share(const struct layer *l, uint64_t from, uint64_t n) {
  struct tsr_view v = tsri_tr_view_blank(l->t, l->inputs, 2, (uint64_t[]){l->batch, n});
  v.base[0] = (int64_t)l->time;
  v.base[2] = (int64_t)from;
  tsri_tr_view_move(&v, 1, 0, 1);
  tsri_tr_view_move(&v, 2, 1, 1);
  return v;
}

/* This direction's part of initial or last states. */
static struct tsr_view state_view(const struct layer *l, size_t value) {
  struct tsr_view v = tsri_tr_view_blank(l->t, value, 2, (uint64_t[]){l->batch, l->hidden});
  v.base[l->batch_first] = (int64_t)l->dir;
  tsri_tr_view_move(&v, !l->batch_first, 0, 1);
  tsri_tr_view_move(&v, 2, 1, 1);
  return v;
}

/* Where the state of the step goes: the last one to the output that is for it. */
static enum tsr_status state_out(const struct layer *l, const char *what, size_t output,
                                 struct tsr_view *out) {
  size_t value = tsri_tr_out(l->n, output);
  if (!l->last || value == SIZE_MAX) return fresh(l, what, l->hidden, out);
  *out = state_view(l, value);
  return TSR_OK;
}

/* ---- operators ---- */

static enum tsr_status each(const struct layer *l, const char *what, enum tsr_op_kind kind,
                            double alpha, double beta, const struct tsr_view *a,
                            const struct tsr_view *b, enum tsr_with with,
                            const struct tsr_view *out) {
  char name[NAME];
  struct tsri_tr_item item = tsri_tr_item(kind, out->dim[0], out->dim[1], 1, 1);
  item.op.attr.alpha = alpha;
  item.op.attr.beta = beta;
  if (b) item.op.attr.with = with;
  TSRI_TRY(tsri_tr_bind(l->t, &item.bind.a, a));
  if (b) TSRI_TRY(tsri_tr_bind(l->t, &item.bind.b, b));
  tsri_tr_bind_out(&item, out);
  return tsri_tr_emit(l->t, named(l, what, name), &item);
}

static enum tsr_status one(const struct layer *l, const char *what, enum tsr_op_kind kind,
                           double alpha, double beta, const struct tsr_view *a,
                           struct tsr_view *out) {
  TSRI_TRY(fresh(l, what, a->dim[1], out));
  return each(l, what, kind, alpha, beta, a, NULL, TSR_WITH_FULL, out);
}

static enum tsr_status two(const struct layer *l, const char *what, enum tsr_op_kind kind,
                           const struct tsr_view *a, const struct tsr_view *b,
                           struct tsr_view *out) {
  TSRI_TRY(fresh(l, what, a->dim[1], out));
  return each(l, what, kind, 0, 0, a, b, TSR_WITH_FULL, out);
}

/* Numbers of operator i of an activation. */
static void numbers(const struct activation *a, unsigned i, double *alpha, double *beta) {
  bool scaled = a->row->n == 3;
  *alpha = a->alpha;
  *beta = a->beta;
  if (scaled) *alpha = i == 0 ? a->beta : a->alpha;
  if (scaled) *beta = 0;
  if (a->row->kind[i] == TSR_OP_CLIP) {
    *alpha = 0;
    *beta = 1;
  }
}

/* x where x >= alpha, else 0. */
static enum tsr_status threshold(const struct layer *l, const char *what,
                                 const struct activation *a, const struct tsr_view *x,
                                 const struct tsr_view *out) {
  struct tsr_view flags;
  size_t number;
  TSRI_TRY(tsri_tr_scalar(l->t, type_of(l), a->alpha, &number));
  struct tsr_view v = tsri_tr_view_flat(l->t, number);
  TSRI_TRY(fresh(l, "flags", x->dim[1], &flags));
  TSRI_TRY(each(l, "flags", TSR_OP_GREATER_EQUAL, 0, 0, x, &v, TSR_WITH_SCALAR, &flags));
  return each(l, what, TSR_OP_KEEP, 0, 0, x, &flags, TSR_WITH_FULL, out);
}

/* Activation `which` of x into out. */
static enum tsr_status activate_to(const struct layer *l, const char *what, unsigned which,
                                   struct tsr_view x, const struct tsr_view *out) {
  const struct activation *a = &l->act[l->dir][which];
  double alpha, beta;
  if (l->clip > 0) {
    struct tsr_view from = x;
    TSRI_TRY(one(l, "clipped", TSR_OP_CLIP, -l->clip, l->clip, &from, &x));
  }
  if (a->row->kind[0] == TSR_OP_GREATER_EQUAL) return threshold(l, what, a, &x, out);
  for (unsigned i = 0; i + 1 < a->row->n; i++) {
    numbers(a, i, &alpha, &beta);
    struct tsr_view from = x;
    TSRI_TRY(one(l, "part", a->row->kind[i], alpha, beta, &from, &x));
  }
  numbers(a, a->row->n - 1, &alpha, &beta);
  return each(l, what, a->row->kind[a->row->n - 1], alpha, beta, &x, NULL, TSR_WITH_FULL, out);
}

static enum tsr_status activate(const struct layer *l, const char *what, unsigned which,
                                const struct tsr_view *x, struct tsr_view *out) {
  TSRI_TRY(fresh(l, what, x->dim[1], out));
  return activate_to(l, what, which, *x, out);
}

/* ---- products ---- */

/* Rows [from, from + n) of this direction's W or R, transposed: [k, n]. */
static struct tsr_view weights(const struct layer *l, size_t value, uint64_t from, uint64_t n,
                               uint64_t k) {
  struct tsr_view v = tsri_tr_view_blank(l->t, value, 2, (uint64_t[]){k, n});
  v.base[0] = l->dir;
  v.base[1] = (int64_t)from;
  tsri_tr_view_move(&v, 1, 1, 1);
  tsri_tr_view_move(&v, 2, 0, 1);
  return v;
}

/* Elements of this direction's biases or peepholes. */
static struct tsr_view row(const struct layer *l, size_t value, uint64_t from, uint64_t n) {
  struct tsr_view v = tsri_tr_view_blank(l->t, value, 1, &n);
  v.base[0] = l->dir;
  v.base[1] = (int64_t)from;
  tsri_tr_view_move(&v, 1, 0, 1);
  return v;
}

static enum tsr_status bias(const struct layer *l, struct tsri_tr_item *item, uint64_t from,
                            uint64_t n) {
  if (input(l, IN_B) == SIZE_MAX) return TSR_OK;
  struct tsr_view v = row(l, input(l, IN_B), from, n);
  return tsri_tr_step(l->t, item, TSR_OP_BIAS, TSR_WITH_ROW, &v);
}

/* X * W' + Wb of all steps. */
static enum tsr_status project(struct layer *l) {
  struct tsri_tr *t = l->t;
  char name[NAME];
  uint64_t dim[3] = {l->seq, l->batch, l->width};
  const char *what = l->dirs == 1 ? "inputs" : l->dir ? "back.inputs" : "forth.inputs";
  TSRI_TRY(tsri_tr_temp(t, what, type_of(l), 3, dim, &l->inputs));
  struct tsri_tr_item item = tsri_tr_item(TSR_OP_LINEAR, l->seq * l->batch, l->width, l->in, 1);
  static const unsigned turned[] = {1, 0, 2};
  struct tsr_view a = tsri_tr_view(t, input(l, IN_X)), out = tsri_tr_view(t, l->inputs);
  if (l->batch_first) a = tsri_tr_view_permuted(&a, turned);
  struct tsr_view b = weights(l, input(l, IN_W), 0, l->width, l->in);
  TSRI_TRY(tsri_tr_bind(t, &item.bind.a, &a));
  TSRI_TRY(tsri_tr_bind(t, &item.bind.b, &b));
  tsri_tr_bind_out(&item, &out);
  TSRI_TRY(bias(l, &item, 0, l->width));
  (void)snprintf(name, sizeof name, "%s", what);
  return tsri_tr_emit(t, name, &item);
}

/* state * R' + Rb, gates [from, from + n); with the inputs' share where `all`. */
static enum tsr_status recur(const struct layer *l, const char *what,
                             const struct tsr_view *state, uint64_t from, uint64_t n, bool all,
                             struct tsr_view *out) {
  char name[NAME];
  TSRI_TRY(fresh(l, what, n, out));
  struct tsri_tr_item item = tsri_tr_item(TSR_OP_LINEAR, l->batch, n, l->hidden, 1);
  struct tsr_view b = weights(l, input(l, IN_R), from, n, l->hidden);
  TSRI_TRY(tsri_tr_bind(l->t, &item.bind.a, state));
  TSRI_TRY(tsri_tr_bind(l->t, &item.bind.b, &b));
  tsri_tr_bind_out(&item, out);
  TSRI_TRY(bias(l, &item, l->width + from, n));
  if (all) {
    struct tsr_view x = share(l, from, n);
    TSRI_TRY(tsri_tr_step(l->t, &item, TSR_OP_ADD, TSR_WITH_FULL, &x));
  }
  return tsri_tr_emit(l->t, named(l, what, name), &item);
}

/* ---- cells ---- */

/* Gate q of `before` with the cell's state seen through a peephole, activated. */
static enum tsr_status peep(const struct layer *l, const char *what,
                            const struct tsr_view *before, uint64_t q,
                            const struct tsr_view *cell, struct tsr_view *out) {
  struct tsr_view x = part(before, q * l->hidden, l->hidden), seen, sum;
  if (input(l, IN_P) == SIZE_MAX) return activate(l, what, 0, &x, out);
  struct tsr_view p = row(l, input(l, IN_P), q * l->hidden, l->hidden);
  TSRI_TRY(fresh(l, "seen", l->hidden, &seen));
  TSRI_TRY(each(l, "seen", TSR_OP_MUL, 0, 0, cell, &p, TSR_WITH_ROW, &seen));
  TSRI_TRY(two(l, "peephole", TSR_OP_ADD, &x, &seen, &sum));
  return activate(l, what, 0, &sum, out);
}

enum { GATE_I, GATE_O, GATE_F, GATE_C };

/* The gates i, o, f: at once where nothing tells them apart, else o when the new state is. */
static enum tsr_status lstm_gates(const struct layer *l, const struct tsr_view *before,
                                  struct tsr_view gate[3]) {
  uint64_t h = l->hidden;
  struct tsr_view all, x;
  if (input(l, IN_P) == SIZE_MAX) {
    uint64_t n = l->input_forget ? 2 : 3;
    x = part(before, 0, n * h);
    TSRI_TRY(activate(l, "gates", 0, &x, &all));
    for (uint64_t q = 0; q < n; q++) gate[q] = part(&all, q * h, h);
  } else {
    TSRI_TRY(peep(l, "i", before, GATE_I, &l->c, &gate[GATE_I]));
    if (!l->input_forget) TSRI_TRY(peep(l, "f", before, GATE_F, &l->c, &gate[GATE_F]));
  }
  if (!l->input_forget) return TSR_OK;
  return one(l, "f", TSR_OP_AFFINE, -1, 1, &gate[GATE_I], &gate[GATE_F]);
}

static enum tsr_status lstm_step(const struct layer *l, struct tsr_view *h,
                                 struct tsr_view *c) {
  uint64_t n = l->hidden;
  struct tsr_view before, gate[3], x, fresh_c, kept, put, seen;
  TSRI_TRY(recur(l, "recur", &l->h, 0, l->width, true, &before));
  TSRI_TRY(lstm_gates(l, &before, gate));
  x = part(&before, GATE_C * n, n);
  TSRI_TRY(activate(l, "cell", 1, &x, &fresh_c));
  TSRI_TRY(two(l, "kept", TSR_OP_MUL, &gate[GATE_F], &l->c, &kept));
  TSRI_TRY(two(l, "put", TSR_OP_MUL, &gate[GATE_I], &fresh_c, &put));
  TSRI_TRY(each(l, "c", TSR_OP_ADD, 0, 0, &kept, &put, TSR_WITH_FULL, c));
  if (input(l, IN_P) != SIZE_MAX) TSRI_TRY(peep(l, "o", &before, GATE_O, c, &gate[GATE_O]));
  TSRI_TRY(activate(l, "shown", 2, c, &seen));
  return each(l, "h", TSR_OP_MUL, 0, 0, &gate[GATE_O], &seen, TSR_WITH_FULL, h);
}

/* (1 - z) * fresh + z * h. */
static enum tsr_status gru_mix(const struct layer *l, const struct tsr_view *z,
                               const struct tsr_view *now, struct tsr_view *h) {
  struct tsr_view rest, put, kept;
  TSRI_TRY(one(l, "rest", TSR_OP_AFFINE, -1, 1, z, &rest));
  TSRI_TRY(two(l, "put", TSR_OP_MUL, &rest, now, &put));
  TSRI_TRY(two(l, "kept", TSR_OP_MUL, z, &l->h, &kept));
  return each(l, "h", TSR_OP_ADD, 0, 0, &put, &kept, TSR_WITH_FULL, h);
}

static enum tsr_status gru_step(const struct layer *l, struct tsr_view *h, struct tsr_view *c) {
  uint64_t n = l->hidden;
  struct tsr_view before, gates, reset, now, x, rec;
  (void)c;
  TSRI_TRY(recur(l, "recur", &l->h, 0, l->after ? 3 * n : 2 * n, !l->after, &rec));
  before = rec;
  if (l->after) {
    struct tsr_view a = part(&rec, 0, 2 * n), b = share(l, 0, 2 * n);
    TSRI_TRY(two(l, "sums", TSR_OP_ADD, &a, &b, &before));
  }
  TSRI_TRY(activate(l, "gates", 0, &before, &gates));
  struct tsr_view z = part(&gates, 0, n), r = part(&gates, n, n);
  if (l->after) {
    struct tsr_view a = part(&rec, 2 * n, n), b = share(l, 2 * n, n);
    TSRI_TRY(two(l, "reset", TSR_OP_MUL, &r, &a, &reset));
    TSRI_TRY(two(l, "before", TSR_OP_ADD, &reset, &b, &x));
  } else {
    TSRI_TRY(two(l, "reset", TSR_OP_MUL, &r, &l->h, &reset));
    TSRI_TRY(recur(l, "before", &reset, 2 * n, n, true, &x));
  }
  TSRI_TRY(activate(l, "now", 1, &x, &now));
  return gru_mix(l, &z, &now, h);
}

static enum tsr_status rnn_step(const struct layer *l, struct tsr_view *h, struct tsr_view *c) {
  struct tsr_view before;
  (void)c;
  TSRI_TRY(recur(l, "recur", &l->h, 0, l->hidden, true, &before));
  return activate_to(l, "h", 0, before, h);
}

typedef enum tsr_status step_fn(const struct layer *l, struct tsr_view *h, struct tsr_view *c);
static const struct cell_row {
  enum tsr_net_op op;
  unsigned gates, n_act;
  const char *act[ACTIVATIONS];
  step_fn *step;
} cell_rows[] = {
    {TSR_NET_LSTM, 4, 3, {"Sigmoid", "Tanh", "Tanh"}, lstm_step},
    {TSR_NET_GRU, 3, 2, {"Sigmoid", "Tanh"}, gru_step},
    {TSR_NET_RNN, 1, 1, {"Tanh"}, rnn_step},
};

/* ---- sequences that end ---- */

/* How many sequences have the step. */
enum reach { REACH_ALL, REACH_SOME, REACH_NONE };

static enum reach reach_of(const struct layer *l, uint64_t time) {
  size_t v = input(l, IN_LENGTHS);
  const struct tsr_array *lengths = tsri_tr_constant(l->t, v);
  if (v == SIZE_MAX) return REACH_ALL;
  if (!lengths) return REACH_SOME;
  uint64_t n = 0;
  for (uint64_t b = 0; b < lengths->n; b++) n += tsr_array_get_int(lengths, b) > (int64_t)time;
  return n == lengths->n ? REACH_ALL : n ? REACH_SOME : REACH_NONE;
}

/* A flag for each sequence: it has the step, or (`ended`) not. */
static enum tsr_status flags_of(const struct layer *l, bool ended, struct tsr_view *out) {
  struct tsri_tr *t = l->t;
  char name[NAME];
  size_t lengths = input(l, IN_LENGTHS), value;
  const struct tsr_array *c = tsri_tr_constant(t, lengths);
  const char *what = named(l, ended ? "ended" : "lasts", name);
  if (c) {
    struct tsr_array *to;
    TSRI_TRY(tsri_tr_const(t, what, TSR_DTYPE_BOOL, 1, &l->batch, &value, &to));
    for (uint64_t b = 0; b < l->batch; b++)
      to->i[b] = (tsr_array_get_int(c, b) > (int64_t)l->time) != ended;
  } else {
    TSRI_TRY(tsri_tr_temp(t, what, TSR_DTYPE_BOOL, 1, &l->batch, &value));
    TSRI_TRY(tsri_tr_with_number(t, what, ended ? TSR_OP_LESS_EQUAL : TSR_OP_GREATER, lengths,
                                 (double)l->time, value));
  }
  *out = tsri_tr_view_flat(t, value);
  return TSR_OK;
}

/* The new state where the sequence lasts, the old one where it has ended, into out; *shown:
 * zeros in its place. */
static enum tsr_status choose(const struct layer *l, const char *what,
                              const struct tsr_view *now, const struct tsr_view *old,
                              const struct tsr_view *lasts, const struct tsr_view *ended,
                              const struct tsr_view *out, struct tsr_view *shown) {
  struct tsr_view kept;
  TSRI_TRY(fresh(l, "shown", l->hidden, shown));
  TSRI_TRY(each(l, "shown", TSR_OP_KEEP, 0, 0, now, lasts, TSR_WITH_COL, shown));
  TSRI_TRY(fresh(l, "held", l->hidden, &kept));
  TSRI_TRY(each(l, "held", TSR_OP_KEEP, 0, 0, old, ended, TSR_WITH_COL, &kept));
  return each(l, what, TSR_OP_ADD, 0, 0, shown, &kept, TSR_WITH_FULL, out);
}

/* One step; *shown is what Y has of it. */
static enum tsr_status step(struct layer *l, const struct cell_row *cell, bool some,
                            struct tsr_view *shown) {
  struct tsr_view h, c = l->c, lasts, ended, to, rest;
  bool lstm = cell->op == TSR_NET_LSTM;
  if (!some) {
    TSRI_TRY(state_out(l, "h", 1, &h));
    if (lstm) TSRI_TRY(state_out(l, "c", 2, &c));
    TSRI_TRY(cell->step(l, &h, &c));
    l->c = c;
    l->h = *shown = h;
    return TSR_OK;
  }
  TSRI_TRY(fresh(l, "h", l->hidden, &h));
  if (lstm) TSRI_TRY(fresh(l, "c", l->hidden, &c));
  TSRI_TRY(cell->step(l, &h, &c));
  TSRI_TRY(flags_of(l, false, &lasts));
  TSRI_TRY(flags_of(l, true, &ended));
  TSRI_TRY(state_out(l, "state", 1, &to));
  TSRI_TRY(choose(l, "state", &h, &l->h, &lasts, &ended, &to, shown));
  l->h = to;
  if (!lstm) return TSR_OK;
  TSRI_TRY(state_out(l, "cell_state", 2, &to));
  TSRI_TRY(choose(l, "cell_state", &c, &l->c, &lasts, &ended, &to, &rest));
  l->c = to;
  return TSR_OK;
}

/* ---- Y ---- */

/* Steps that wait to be put into Y, side by side. */
struct shown {
  struct tsr_view view[CHUNK];
  unsigned n;
  uint64_t from; /* time of the first */
};

static enum tsr_status flush(const struct layer *l, struct shown *s) {
  size_t y = tsri_tr_out(l->n, 0);
  uint64_t cols[CHUNK], dim[3] = {l->batch, s->n, l->hidden};
  char name[NAME];
  if (!s->n || y == SIZE_MAX) return TSR_OK;
  unsigned time = l->batch_first ? 1 : 0, batch = l->batch_first ? 0 : 2;
  unsigned dir = l->batch_first ? 2 : 1;
  struct tsr_view out = tsri_tr_view_blank(l->t, y, 3, dim);
  out.base[time] = (int64_t)s->from;
  out.base[dir] = l->dir;
  tsri_tr_view_move(&out, batch, 0, 1);
  tsri_tr_view_move(&out, time, 1, l->reverse[l->dir] ? -1 : 1);
  tsri_tr_view_move(&out, 3, 2, 1);
  for (unsigned i = 0; i < s->n; i++) cols[i] = l->hidden;
  struct tsri_tr_item item =
      tsri_tr_item(s->n > 1 ? TSR_OP_CONCAT : TSR_OP_COPY, l->batch, s->n * l->hidden, 1, 1);
  TSRI_TRY(tsri_tr_bind_parts(l->t, &item.bind.a, l->batch, s->n, cols, s->view));
  tsri_tr_bind_out(&item, &out);
  s->n = 0;
  return tsri_tr_emit(l->t, named(l, "y", name), &item);
}

/* ---- a direction ---- */

/* The initial state, or zeros. */
static enum tsr_status begin(const struct layer *l, size_t value, const char *what,
                             struct tsr_view *out) {
  struct tsr_array *zeros;
  uint64_t dim[2] = {l->batch, l->hidden};
  if (value != SIZE_MAX) {
    *out = state_view(l, value);
    return TSR_OK;
  }
  TSRI_TRY(tsri_tr_const(l->t, what, type_of(l), 2, dim, &value, &zeros));
  *out = columns(l, value, 0, l->hidden);
  return TSR_OK;
}

/* The last step that any sequence has; false: none has one. */
static bool last_step(const struct layer *l, uint64_t *last) {
  for (uint64_t i = l->seq; i-- > 0;) {
    uint64_t time = l->reverse[l->dir] ? l->seq - 1 - i : i;
    if (reach_of(l, time) == REACH_NONE) continue;
    *last = i;
    return true;
  }
  return false;
}

static enum tsr_status steps(struct layer *l, const struct cell_row *cell, struct shown *s) {
  uint64_t last = 0;
  bool any = last_step(l, &last);
  for (uint64_t i = 0; i < l->seq; i++) {
    struct tsr_view shown = {.value = SIZE_MAX, .rank = 2, .dim = {l->batch, l->hidden}};
    l->time = l->reverse[l->dir] ? l->seq - 1 - i : i;
    l->last = any && i == last;
    enum reach reach = reach_of(l, l->time);
    if (reach != REACH_NONE) TSRI_TRY(step(l, cell, reach == REACH_SOME, &shown));
    if (s->n == 0) s->from = l->time;
    s->view[s->n++] = shown;
    if (s->n == CHUNK) TSRI_TRY(flush(l, s));
  }
  TSRI_TRY(flush(l, s));
  for (size_t o = 1; !any && o < 3; o++) { /* no step at all: the initial state stays */
    if (tsri_tr_out(l->n, o) == SIZE_MAX) continue;
    struct tsr_view to = state_view(l, tsri_tr_out(l->n, o));
    TSRI_TRY(tsri_tr_copy(l->t, o == 1 ? "h" : "c", o == 1 ? &l->h : &l->c, &to));
  }
  return TSR_OK;
}

static enum tsr_status direction(struct layer *l, const struct cell_row *cell) {
  l->time = l->reverse[l->dir] ? l->seq - 1 : 0;
  TSRI_TRY(project(l));
  TSRI_TRY(begin(l, input(l, IN_H), "h0", &l->h));
  if (cell->op == TSR_NET_LSTM) TSRI_TRY(begin(l, input(l, IN_C), "c0", &l->c));
  struct shown *s = tsr_mem_alloc(sizeof *s);
  if (!s) return tsr_err_nomem(l->t->err);
  enum tsr_status st = steps(l, cell, s);
  tsr_mem_free(s);
  return st;
}

static enum tsr_status lower_recurrent(struct tsri_tr *t, const struct tsr_net_node *n,
                                       const void *arg) {
  (void)arg;
  const struct cell_row *cell = NULL;
  struct layer l = {.t = t, .n = n};
  for (size_t i = 0; i < sizeof cell_rows / sizeof *cell_rows; i++)
    if (cell_rows[i].op == n->op) cell = &cell_rows[i];
  const char *name = tsr_net_attr_text(n, "direction", "forward");
  struct tsri_tr_shape x = tsri_tr_shape_of(t, n->in[IN_X]);
  l.dirs = strcmp(name, "bidirectional") == 0 ? 2 : 1;
  l.reverse[0] = strcmp(name, "reverse") == 0;
  l.reverse[1] = l.dirs == 2;
  l.batch_first = tsr_net_attr_int(n, "layout", 0) != 0;
  l.seq = x.dim[l.batch_first];
  l.batch = x.dim[!l.batch_first];
  l.in = x.dim[2];
  l.hidden = t->net->values[n->in[IN_R]].dim[2];
  l.width = cell->gates * l.hidden;
  l.n_act = cell->n_act;
  l.input_forget = tsr_net_attr_int(n, "input_forget", 0) != 0;
  l.after = tsr_net_attr_int(n, "linear_before_reset", 0) != 0;
  l.clip = tsr_net_attr_float(n, "clip", 0);
  if (!x.n || !l.hidden) return tsri_tr_refuse(t, n, "a sequence of no elements");
  TSRI_TRY(read_activations(&l, cell->act));
  for (l.dir = 0; l.dir < l.dirs; l.dir++) TSRI_TRY(direction(&l, cell));
  return TSR_OK;
}

const struct tsri_tr_row tsri_tr_recurrent_rows[] = {{"LSTM", lower_recurrent, NULL},
                                                     {"GRU", lower_recurrent, NULL},
                                                     {"RNN", lower_recurrent, NULL},
                                                     {NULL, NULL, NULL}};
