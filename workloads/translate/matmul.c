/* MatMul, Gemm, Einsum: products of matrices, alone or in batches. */
#include <stdio.h>
#include <string.h>

#include "workloads/translate/product_int.h"

/* ---- views ---- */

struct tsr_view tsri_tr_view_blank(const struct tsri_tr *t, size_t value, unsigned rank,
                                   const uint64_t *dim) {
  struct tsr_view v = tsri_tr_view(t, value);
  v.rank = rank;
  memset(v.dim, 0, sizeof v.dim);
  memset(v.coef, 0, sizeof v.coef);
  for (unsigned e = 0; e < rank; e++) v.dim[e] = dim[e];
  return v;
}

void tsri_tr_view_move(struct tsr_view *v, unsigned d, unsigned e, int64_t by) {
  v->coef[d][e] += by;
}

bool tsri_tr_view_same(const struct tsr_view *a, const struct tsr_view *b) {
  if (a->rank != b->rank || a->src_rank != b->src_rank) return false;
  for (unsigned e = 0; e < a->rank; e++)
    if (a->dim[e] != b->dim[e]) return false;
  for (unsigned d = 0; d < a->src_rank; d++) {
    if (a->extent[d] != b->extent[d] || a->base[d] != b->base[d] || a->table[d] || b->table[d])
      return false;
    for (unsigned e = 0; e < a->rank; e++)
      if (a->dim[e] > 1 && a->coef[d][e] != b->coef[d][e]) return false;
  }
  return true;
}

/* The value is made of the model's parameters alone. */
static bool is_weight(const struct tsri_tr *t, size_t value) {
  return tsri_tr_constant(t, value) || t->net->values[value].is_weight;
}

enum tsr_status tsri_tr_step(struct tsri_tr *t, struct tsri_tr_item *item,
                             enum tsr_op_kind kind, enum tsr_with with,
                             const struct tsr_view *view) {
  struct tsr_op *op = &item->op;
  TSR_CHECK(op->n_steps < TSR_EPILOGUE_MAX);
  if (view) TSRI_TRY(tsri_tr_bind(t, &item->bind.step[op->n_steps], view));
  op->step[op->n_steps++] = (struct tsr_op_step){.kind = kind, .with = with};
  return TSR_OK;
}

/* ---- what a product is called ---- */

/* Operators that leave scores scores and probabilities probabilities. */
static bool passes_scores(enum tsr_net_op op) {
  static const enum tsr_net_op list[] = {TSR_NET_MUL,      TSR_NET_DIV,    TSR_NET_ADD,
                                         TSR_NET_SUB,      TSR_NET_WHERE,  TSR_NET_CAST,
                                         TSR_NET_IDENTITY, TSR_NET_RESHAPE};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (op == list[i]) return true;
  return false;
}

static bool passes_probabilities(enum tsr_net_op op) {
  return op == TSR_NET_CAST || op == TSR_NET_DROPOUT || op == TSR_NET_IDENTITY ||
         op == TSR_NET_WHERE || op == TSR_NET_RESHAPE;
}

/* The only node that reads the value, NULL: none or several. */
static const struct tsr_net_node *only_reader(const struct tsr_net *net, size_t value) {
  const struct tsr_net_node *found = NULL;
  for (size_t i = 0; i < net->n_nodes; i++)
    for (size_t k = 0; k < net->nodes[i].n_in; k++) {
      if (net->nodes[i].in[k] != value || net->nodes[i].folded) continue;
      if (found && found != &net->nodes[i]) return NULL;
      found = &net->nodes[i];
    }
  return found;
}

enum { FAR = 8 }; /* nodes between a product and its softmax */

static bool reaches_softmax(const struct tsr_net *net, const struct tsr_net_node *n) {
  for (int i = 0; i < FAR && n && n->n_out && n->out[0] != SIZE_MAX; i++) {
    n = only_reader(net, n->out[0]);
    if (n && n->op == TSR_NET_SOFTMAX) return true;
    if (!n || !passes_scores(n->op)) return false;
  }
  return false;
}

static bool comes_from_softmax(const struct tsr_net *net, size_t value) {
  for (int i = 0; i < FAR && value != SIZE_MAX; i++) {
    size_t p = net->values[value].producer;
    if (p == SIZE_MAX) return false;
    const struct tsr_net_node *n = &net->nodes[p];
    if (n->op == TSR_NET_SOFTMAX) return true;
    if (!passes_probabilities(n->op)) return false;
    value = SIZE_MAX;
    for (size_t k = 0; k < n->n_in && value == SIZE_MAX; k++)
      if (n->in[k] != SIZE_MAX && net->values[n->in[k]].producer != SIZE_MAX &&
          !net->values[n->in[k]].constant)
        value = n->in[k];
  }
  return false;
}

static enum tsr_op_kind kind_of_batch(const struct tsri_tr *t, size_t a, size_t b) {
  const struct tsr_net *net = t->net;
  if (is_weight(t, a) || is_weight(t, b)) return TSR_OP_BMM;
  if (comes_from_softmax(net, a)) return TSR_OP_ATTN_PV;
  return reaches_softmax(net, &net->nodes[t->node]) ? TSR_OP_ATTN_QK : TSR_OP_BMM;
}

/* ---- MatMul ---- */

static uint64_t product_of(const uint64_t *dim, unsigned n) {
  uint64_t p = 1;
  for (unsigned i = 0; i < n; i++) p *= dim[i]; /* of a value's elements, counted before */
  return p;
}

static enum tsr_status bind_three(struct tsri_tr *t, struct tsri_tr_item *it,
                                  const struct tsr_view *a, const struct tsr_view *b,
                                  const struct tsr_view *out) {
  TSRI_TRY(tsri_tr_bind(t, &it->bind.a, a));
  TSRI_TRY(tsri_tr_bind(t, &it->bind.b, b));
  tsri_tr_bind_out(it, out);
  return TSR_OK;
}

/* One matrix B for all rows of A. */
static enum tsr_status shared(struct tsri_tr *t, const struct tsri_tr_shape *sa, size_t a,
                              const struct tsri_tr_shape *sb, size_t b, size_t out,
                              struct tsri_tr_item *item) {
  uint64_t k = sa->dim[sa->rank - 1], n = sb->rank > 1 ? sb->dim[sb->rank - 1] : 1;
  uint64_t m = product_of(sa->dim, sa->rank - 1);
  enum tsr_op_kind kind = is_weight(t, b) ? TSR_OP_LINEAR : kind_of_batch(t, a, b);
  struct tsr_view va = tsri_tr_view_as(t, a, 2, (uint64_t[]){m, k});
  struct tsr_view vb = tsri_tr_view_as(t, b, 2, (uint64_t[]){k, n});
  struct tsr_view vo = tsri_tr_view_as(t, out, 2, (uint64_t[]){m, n});
  *item = tsri_tr_item(kind, m, n, k, 1);
  return bind_three(t, item, &va, &vb, &vo);
}

enum tsr_status tsri_tr_matmul(struct tsri_tr *t, size_t a, size_t b, size_t out,
                               struct tsri_tr_item *item) {
  struct tsri_tr_shape sa = tsri_tr_shape_of(t, a), sb = tsri_tr_shape_of(t, b);
  unsigned before = sb.rank > 2 ? sb.rank - 2 : 0;
  if (product_of(sb.dim, before) == 1) return shared(t, &sa, a, &sb, b, out, item);
  unsigned batch = before > sa.rank - 2 || sa.rank < 2 ? before : sa.rank - 2, r = batch + 2;
  uint64_t da[TSR_RANK_MAX], db[TSR_RANK_MAX], dc[TSR_RANK_MAX], count = 1;
  for (unsigned i = 0; i < batch; i++) { /* right-aligned */
    uint64_t x = i + sa.rank >= r ? sa.dim[i + sa.rank - r] : 1;
    uint64_t y = i + sb.rank >= r ? sb.dim[i + sb.rank - r] : 1;
    da[i] = db[i] = dc[i] = x == 1 ? y : x;
    count *= dc[i];
  }
  da[batch] = dc[batch] = sa.rank > 1 ? sa.dim[sa.rank - 2] : 1;
  da[batch + 1] = db[batch] = sa.dim[sa.rank - 1];
  db[batch + 1] = dc[batch + 1] = sb.dim[sb.rank - 1];
  struct tsr_view va = tsri_tr_view_broadcast(t, a, r, da);
  struct tsr_view vb = tsri_tr_view_broadcast(t, b, r, db);
  struct tsr_view vo = tsri_tr_view_as(t, out, r, dc);
  *item = tsri_tr_item(kind_of_batch(t, a, b), dc[batch], dc[batch + 1], db[batch], count);
  return bind_three(t, item, &va, &vb, &vo);
}

static bool empty(const struct tsri_tr *t, size_t value) {
  return tsri_tr_shape_of(t, value).n == 0;
}

static enum tsr_status lower_matmul(struct tsri_tr *t, const struct tsr_net_node *n,
                                    const void *arg) {
  (void)arg;
  struct tsri_tr_item item;
  bool done;
  TSRI_TRY(tsri_tr_on_codes(t, n, &done));
  if (done || empty(t, tsri_tr_out(n, 0))) return TSR_OK;
  if (empty(t, tsri_tr_in(n, 0)))
    return tsri_tr_refuse(t, n, "a product over no elements is not supported");
  TSRI_TRY(tsri_tr_matmul(t, tsri_tr_in(n, 0), tsri_tr_in(n, 1), tsri_tr_out(n, 0), &item));
  return tsri_tr_emit(t, NULL, &item);
}

/* ---- Gemm ---- */

/* The value times a number: a new constant where it is one, else a `mul`. */
static enum tsr_status scaled(struct tsri_tr *t, const char *what, size_t value, double by,
                              size_t *out) {
  struct tsri_tr_shape s = tsri_tr_shape_of(t, value);
  const struct tsr_array *c = tsri_tr_constant(t, value);
  *out = value;
  if (by == 1) return TSR_OK;
  if (!c) {
    TSRI_TRY(tsri_tr_temp(t, what, s.type, s.rank, s.dim, out));
    return tsri_tr_with_number(t, what, TSR_OP_MUL, value, by, *out);
  }
  struct tsr_array *to;
  TSRI_TRY(tsri_tr_const(t, what, s.type, s.rank, s.dim, out, &to));
  for (uint64_t i = 0; i < c->n; i++) tsr_array_set(to, i, by * tsr_array_get(c, i));
  return TSR_OK;
}

/* C is one row for all of m. */
static bool is_row(const struct tsri_tr_shape *c) {
  return product_of(c->dim, c->rank ? c->rank - 1 : 0) == 1;
}

struct tsr_view tsri_tr_view_matrix(const struct tsri_tr *t, size_t value, bool transposed) {
  static const unsigned turned[] = {1, 0};
  struct tsr_view v = tsri_tr_view(t, value);
  return transposed ? tsri_tr_view_permuted(&v, turned) : v;
}

enum tsr_status tsri_tr_gemm(struct tsri_tr *t, size_t a, bool ta, size_t b, bool tb,
                             size_t out, struct tsri_tr_item *item) {
  struct tsr_view va = tsri_tr_view_matrix(t, a, ta), vb = tsri_tr_view_matrix(t, b, tb);
  enum tsr_op_kind kind = is_weight(t, b) ? TSR_OP_LINEAR : TSR_OP_BMM;
  *item = tsri_tr_item(kind, va.dim[0], vb.dim[1], va.dim[1], 1);
  struct tsr_view vo = tsri_tr_view(t, out);
  return bind_three(t, item, &va, &vb, &vo);
}

static enum tsr_status gemm_product(struct tsri_tr *t, const struct tsr_net_node *n, size_t a,
                                    size_t b, size_t bias, size_t out, const char *what) {
  struct tsri_tr_item item;
  bool ta = tsr_net_attr_int(n, "transA", 0) != 0, tb = tsr_net_attr_int(n, "transB", 0) != 0;
  TSRI_TRY(tsri_tr_gemm(t, a, ta, b, tb, out, &item));
  if (bias != SIZE_MAX) {
    struct tsr_view row = tsri_tr_view_broadcast(t, bias, 1, &item.op.n);
    TSRI_TRY(tsri_tr_step(t, &item, TSR_OP_BIAS, TSR_WITH_ROW, &row));
  }
  return tsri_tr_emit(t, what, &item);
}

static enum tsr_status lower_gemm(struct tsri_tr *t, const struct tsr_net_node *n,
                                  const void *arg) {
  (void)arg;
  size_t a = tsri_tr_in(n, 0), b = tsri_tr_in(n, 1), c = tsri_tr_in(n, 2);
  size_t out = tsri_tr_out(n, 0), to = out, product = out;
  struct tsri_tr_shape so = tsri_tr_shape_of(t, out);
  double alpha = tsr_net_attr_float(n, "alpha", 1), beta = tsr_net_attr_float(n, "beta", 1);
  bool done;
  TSRI_TRY(tsri_tr_on_codes(t, n, &done));
  if (done || so.n == 0) return TSR_OK;
  if (beta == 0) c = SIZE_MAX;
  bool folded = alpha == 1 || tsri_tr_constant(t, b);
  if (folded) TSRI_TRY(scaled(t, "weights", b, alpha, &b));
  if (c != SIZE_MAX) TSRI_TRY(scaled(t, "c", c, beta, &c));
  struct tsri_tr_shape sc = {0};
  if (c != SIZE_MAX) sc = tsri_tr_shape_of(t, c);
  size_t bias = SIZE_MAX;
  if (c != SIZE_MAX && folded && tsri_tr_constant(t, c) && is_row(&sc)) {
    bias = c;
    c = SIZE_MAX;
    if (sc.rank > 1) TSRI_TRY(tsri_tr_reshaped(t, bias, 1, &sc.dim[sc.rank - 1], &bias));
  }
  if (c != SIZE_MAX) TSRI_TRY(tsri_tr_temp(t, "sum", so.type, so.rank, so.dim, &to));
  product = to;
  if (!folded) TSRI_TRY(tsri_tr_temp(t, "product", so.type, so.rank, so.dim, &product));
  bool alone = folded && c == SIZE_MAX;
  TSRI_TRY(gemm_product(t, n, a, b, bias, product, alone ? NULL : "matmul"));
  if (!folded) TSRI_TRY(tsri_tr_with_number(t, "alpha", TSR_OP_MUL, product, alpha, to));
  return c == SIZE_MAX ? TSR_OK : tsri_tr_binary(t, "c", TSR_OP_ADD, to, c, out);
}

/* ---- Einsum ---- */

/* A factor: a value, and the label of each of its dimensions. */
struct term {
  size_t value;
  unsigned n, label[TSR_RANK_MAX];
};
/* A list of labels, in order. */
struct labels {
  unsigned n, at[TSR_EINSUM_LABELS];
};
struct einsum {
  struct tsri_tr *t;
  struct tsr_net_einsum e;
  size_t out;
  enum tsr_dtype type;
};

static bool term_has(const struct term *x, unsigned label) {
  for (unsigned d = 0; d < x->n; d++)
    if (x->label[d] == label) return true;
  return false;
}

static bool in_result(const struct einsum *s, unsigned label) {
  for (unsigned d = 0; d < s->e.n_out; d++)
    if (s->e.out[d] == label) return true;
  return false;
}

static uint64_t size_of(const struct einsum *s, const struct labels *l) {
  uint64_t p = 1;
  for (unsigned i = 0; i < l->n; i++) p *= s->e.size[l->at[i]];
  return p;
}

static void join(struct labels *l, const struct labels *more) {
  for (unsigned i = 0; i < more->n; i++) l->at[l->n++] = more->at[i];
}

/* The term with its labels in this order; a label twice in it is its diagonal, one that it
 * lacks repeats it. */
static enum tsr_status term_view(const struct einsum *s, const struct term *x,
                                 const struct labels *l, struct tsr_view *out) {
  uint64_t dim[TSR_VIEW_RANK] = {0};
  if (l->n > TSR_VIEW_RANK)
    return tsri_tr_refuse(s->t, &s->t->net->nodes[s->t->node],
                          "an operand over %u labels; expected at most %d", l->n,
                          TSR_VIEW_RANK);
  for (unsigned i = 0; i < l->n; i++) dim[i] = s->e.size[l->at[i]];
  *out = tsri_tr_view_blank(s->t, x->value, l->n, dim);
  for (unsigned d = 0; d < x->n; d++)
    for (unsigned i = 0; i < l->n; i++)
      if (x->label[d] == l->at[i] && out->extent[d] > 1) tsri_tr_view_move(out, d, i, 1);
  return TSR_OK;
}

/* A new term over these labels; the result itself when `last`. */
static enum tsr_status term_new(const struct einsum *s, const char *what,
                                const struct labels *l, bool last, struct term *out) {
  uint64_t dim[TSR_RANK_MAX] = {0};
  if (last) {
    out->value = s->out;
    out->n = s->e.n_out;
    memcpy(out->label, s->e.out, sizeof out->label);
    return TSR_OK;
  }
  if (l->n > TSR_RANK_MAX)
    return tsri_tr_refuse(s->t, &s->t->net->nodes[s->t->node],
                          "a partial result of %u dimensions; expected at most %d", l->n,
                          TSR_RANK_MAX);
  out->n = l->n;
  for (unsigned i = 0; i < l->n; i++) {
    out->label[i] = l->at[i];
    dim[i] = s->e.size[l->at[i]];
  }
  return tsri_tr_temp(s->t, what, s->type, l->n, dim, &out->value);
}

/* Labels of x, each once, that are needed (by `other` or the result) or are not. */
static void pick(const struct einsum *s, const struct term *x, const struct term *rest,
                 unsigned n_rest, bool needed, struct labels *out) {
  out->n = 0;
  for (unsigned d = 0; d < x->n; d++) {
    bool want = in_result(s, x->label[d]), seen = false;
    for (unsigned r = 0; r < n_rest; r++) want = want || term_has(&rest[r], x->label[d]);
    for (unsigned i = 0; i < out->n; i++) seen = seen || out->at[i] == x->label[d];
    if (!seen && want == needed) out->at[out->n++] = x->label[d];
  }
}

/* Sums x over the labels that nothing else needs. */
static enum tsr_status sum_alone(const struct einsum *s, const char *what, struct term *x,
                                 const struct term *rest, unsigned n_rest, bool last) {
  struct labels kept, gone, all;
  struct tsr_view va, vo;
  struct term to;
  pick(s, x, rest, n_rest, true, &kept);
  pick(s, x, rest, n_rest, false, &gone);
  if (!gone.n && !last) return TSR_OK;
  if (last) { /* in the order of the result */
    kept.n = s->e.n_out;
    memcpy(kept.at, s->e.out, s->e.n_out * sizeof *s->e.out);
  }
  all = kept;
  join(&all, &gone);
  TSRI_TRY(term_new(s, what, &kept, last, &to));
  TSRI_TRY(term_view(s, x, &all, &va));
  TSRI_TRY(term_view(s, &to, &kept, &vo));
  if (!gone.n) return tsri_tr_copy(s->t, last ? NULL : what, &va, &vo);
  struct tsri_tr_item item =
      tsri_tr_item(TSR_OP_ROWSUM, size_of(s, &kept), size_of(s, &gone), 1, 1);
  TSRI_TRY(tsri_tr_bind(s->t, &item.bind.a, &va));
  tsri_tr_bind_out(&item, &vo);
  *x = to;
  return tsri_tr_emit(s->t, last ? NULL : what, &item);
}

/* Labels of a product by what they are in it. */
struct roles {
  struct labels batch, m, n, k;
};

static void sort_labels(const struct einsum *s, const struct term *a, const struct term *b,
                        const struct term *rest, unsigned n_rest, struct roles *r) {
  struct labels of_a, of_b;
  memset(r, 0, sizeof *r);
  pick(s, a, a, 1, true, &of_a); /* all of them, each once */
  pick(s, b, b, 1, true, &of_b);
  for (unsigned i = 0; i < of_a.n; i++) {
    unsigned l = of_a.at[i];
    bool both = term_has(b, l), after = in_result(s, l);
    for (unsigned x = 0; x < n_rest; x++) after = after || term_has(&rest[x], l);
    struct labels *to = !both ? &r->m : after ? &r->batch : &r->k;
    to->at[to->n++] = l;
  }
  for (unsigned i = 0; i < of_b.n; i++)
    if (!term_has(a, of_b.at[i])) r->n.at[r->n.n++] = of_b.at[i];
}

/* Elements meet elements: nothing is summed, and neither side has labels of its own. */
static enum tsr_status meet(const struct einsum *s, const char *what, const struct roles *r,
                            const struct term *a, const struct term *b, const struct term *to) {
  struct tsr_view va, vb, vo;
  uint64_t rows = size_of(s, &r->batch);
  TSRI_TRY(term_view(s, a, &r->batch, &va));
  TSRI_TRY(term_view(s, b, &r->batch, &vb));
  TSRI_TRY(term_view(s, to, &r->batch, &vo));
  uint64_t n = r->batch.n ? s->e.size[r->batch.at[r->batch.n - 1]] : 1;
  struct tsri_tr_item item = tsri_tr_item(TSR_OP_MUL, rows / n, n, 1, 1);
  item.op.attr.with = TSR_WITH_FULL;
  TSRI_TRY(bind_three(s->t, &item, &va, &vb, &vo));
  return tsri_tr_emit(s->t, what, &item);
}

static enum tsr_status contract(const struct einsum *s, const char *what, struct term *a,
                                struct term *b, const struct term *rest, unsigned n_rest,
                                bool last) {
  struct roles r;
  struct term to;
  struct tsr_view va, vb, vo;
  bool wa = is_weight(s->t, a->value), wb = is_weight(s->t, b->value);
  if (wa && !wb) { /* the weights are B */
    struct term x = *a;
    *a = *b;
    *b = x;
    wb = true;
  }
  sort_labels(s, a, b, rest, n_rest, &r);
  struct labels of_a = r.batch, of_b = r.batch, of_c = r.batch;
  join(&of_a, &r.m);
  join(&of_a, &r.k);
  join(&of_b, &r.k);
  join(&of_b, &r.n);
  join(&of_c, &r.m);
  join(&of_c, &r.n);
  TSRI_TRY(term_new(s, what, &of_c, last, &to));
  const char *name = last ? NULL : what;
  if (!r.k.n && !r.m.n && !r.n.n) {
    TSRI_TRY(meet(s, name, &r, a, b, &to));
    *a = to;
    return TSR_OK;
  }
  uint64_t count = size_of(s, &r.batch);
  enum tsr_op_kind kind = wb && count == 1 ? TSR_OP_LINEAR : TSR_OP_BMM;
  if (kind == TSR_OP_BMM) kind = kind_of_batch(s->t, a->value, b->value);
  struct tsri_tr_item item =
      tsri_tr_item(kind, size_of(s, &r.m), size_of(s, &r.n), size_of(s, &r.k), count);
  TSRI_TRY(term_view(s, a, &of_a, &va));
  TSRI_TRY(term_view(s, b, &of_b, &vb));
  TSRI_TRY(term_view(s, &to, &of_c, &vo));
  TSRI_TRY(bind_three(s->t, &item, &va, &vb, &vo));
  TSRI_TRY(tsri_tr_emit(s->t, name, &item));
  *a = to;
  return TSR_OK;
}

static enum tsr_status einsum_run(const struct einsum *s, struct term *x, unsigned n) {
  char what[32];
  for (unsigned i = 0; i < n && n > 1; i++) { /* what is one factor's alone */
    struct term rest[TSR_EINSUM_INPUTS];
    unsigned n_rest = 0;
    for (unsigned j = 0; j < n; j++)
      if (j != i) rest[n_rest++] = x[j];
    (void)snprintf(what, sizeof what, "sum%u", i);
    TSRI_TRY(sum_alone(s, what, &x[i], rest, n_rest, false));
  }
  for (unsigned i = 1; i < n; i++) {
    (void)snprintf(what, sizeof what, "product%u", i);
    TSRI_TRY(contract(s, what, &x[0], &x[i], x + i + 1, n - i - 1, i + 1 == n));
  }
  return n > 1 ? TSR_OK : sum_alone(s, "sum", &x[0], NULL, 0, true);
}

static enum tsr_status lower_einsum(struct tsri_tr *t, const struct tsr_net_node *n,
                                    const void *arg) {
  (void)arg;
  struct einsum s = {.t = t, .out = tsri_tr_out(n, 0)};
  struct term x[TSR_EINSUM_INPUTS];
  TSRI_TRY(tsr_net_einsum(t->net, n, &s.e, t->err));
  struct tsri_tr_shape so = tsri_tr_shape_of(t, s.out);
  s.type = so.type;
  if (so.n == 0) return TSR_OK;
  for (unsigned i = 0; i < n->n_in; i++) {
    x[i] = (struct term){.value = n->in[i], .n = s.e.n_in[i]};
    memcpy(x[i].label, s.e.in[i], sizeof x[i].label);
    if (tsri_tr_shape_of(t, n->in[i]).n == 0)
      return tsri_tr_refuse(t, n, "a sum over no elements is not supported");
  }
  return einsum_run(&s, x, (unsigned)n->n_in);
}

const struct tsri_tr_row tsri_tr_matmul_rows[] = {{"MatMul", lower_matmul, NULL},
                                                  {"Gemm", lower_gemm, NULL},
                                                  {"Einsum", lower_einsum, NULL},
                                                  {NULL, NULL, NULL}};
