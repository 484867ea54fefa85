/* What stands behind a product becomes its epilogue: steps of the vector unit on results that
 * have not left the chip.
 *
 * A product takes the only reader of its result, again and again, where that computes each
 * element from the one at its place: with nothing else, with constants that are the same for a
 * whole column, or with another result that lies like its own.  Constants become one row of
 * parameters in the columns of the product.  What the machine cannot run so stays an operator:
 * more than TSR_EPILOGUE_MAX steps, more second operands than an epilogue has room for, scalars
 * of a convolution with groups, a quantisation of sums that are no integers.
 *
 * Element i of the product's result lies at `base + sum of stride * coordinate` of its value;
 * an operator on that value counts rows, columns and repetitions in it.  Which of its constants
 * a column meets follows from the strides (struct meeting). */
#include <math.h> /* HUGE_VAL */
#include <string.h>

#include "workloads/translate/product_int.h"

enum {
  OPERANDS = 6 /* rows of second operands of an epilogue (kernels/lower/lower.h) */
};

/* Items by value: those that write it, those that read it. */
struct index {
  size_t *start, *item; /* items [start[v], start[v + 1]) */
};
struct fuse {
  struct tsri_tr *t;
  struct index writes, reads;
  size_t *into; /* the product that an operator went into, SIZE_MAX: none */
  bool *output; /* by value: it leaves the model */
};

/* ---- who reads, who writes ---- */

typedef void visit_fn(void *arg, size_t value);

static void visit_operand(const struct tsr_operand_view *o, visit_fn *fn, void *arg) {
  for (unsigned p = 0; p < o->n_parts; p++)
    if (o->part[p].value != SIZE_MAX) fn(arg, o->part[p].value);
}

static void visit_reads(const struct tsri_tr_item *it, visit_fn *fn, void *arg) {
  visit_operand(&it->bind.a, fn, arg);
  visit_operand(&it->bind.b, fn, arg);
  for (size_t s = 0; s < it->op.n_steps; s++) visit_operand(&it->bind.step[s], fn, arg);
}

static void visit_writes(const struct tsri_tr_item *it, visit_fn *fn, void *arg) {
  if (it->bind.has_out) fn(arg, it->bind.out.value);
  if (it->bind.has_out2) fn(arg, it->bind.out2.value);
}

static void count_one(void *arg, size_t value) {
  size_t *n = arg;
  n[value + 1]++;
}

struct filling {
  size_t *at, *item, i;
};
static void fill_one(void *arg, size_t value) {
  struct filling *f = arg;
  f->item[f->at[value]++] = f->i;
}

static enum tsr_status index_make(const struct fuse *f, bool reads, struct index *x) {
  size_t n = f->t->net->n_values;
  void (*visit)(const struct tsri_tr_item *, visit_fn *, void *) =
      reads ? visit_reads : visit_writes;
  x->start = tsr_mem_array(n + 2, sizeof *x->start);
  size_t *at = tsr_mem_array(n + 1, sizeof *at);
  for (size_t i = 0; x->start && i < f->t->n; i++) visit(&f->t->items[i], count_one, x->start);
  if (x->start) {
    for (size_t v = 0; v < n; v++) x->start[v + 1] += x->start[v];
    x->item = tsr_mem_array(x->start[n] + 1, sizeof *x->item);
  }
  if (x->item && at) {
    memcpy(at, x->start, n * sizeof *at);
    struct filling fill = {at, x->item, 0};
    for (; fill.i < f->t->n; fill.i++) visit(&f->t->items[fill.i], fill_one, &fill);
  }
  tsr_mem_free(at);
  return x->item && at ? TSR_OK : tsr_err_nomem(f->t->err);
}

/* The item that does what item i was to do. */
static size_t holder(const struct fuse *f, size_t i) {
  while (f->into[i] != SIZE_MAX) i = f->into[i];
  return i;
}

/* Values made since the index was (constants) are nobody's: their number is not in it. */
static size_t entries(const struct index *x, size_t value, size_t **list) {
  *list = x->item + x->start[value];
  return x->start[value + 1] - x->start[value];
}

/* The only writer of a value; SIZE_MAX: none or several. */
static size_t only_writer(const struct fuse *f, size_t value) {
  size_t *list;
  return entries(&f->writes, value, &list) == 1 ? holder(f, list[0]) : SIZE_MAX;
}

/* ---- views as strides ---- */

/* The addresses that a view reaches, one dimension after the other; false: not by strides. */
struct strides {
  unsigned n;
  uint64_t size[TSR_VIEW_RANK];
  int64_t by[TSR_VIEW_RANK], base;
};

static bool strides_of(const struct tsr_view *v, struct strides *s) {
  int64_t step = 1;
  *s = (struct strides){.n = v->rank};
  memcpy(s->size, v->dim, sizeof s->size);
  for (unsigned d = v->src_rank; d-- > 0;) {
    if (v->table[d]) return false;
    s->base += step * v->base[d];
    for (unsigned e = 0; e < v->rank; e++) s->by[e] += step * v->coef[d][e];
    step *= (int64_t)v->extent[d];
  }
  return true;
}

/* ---- constants of a column ---- */

/* How the results of a product meet the operands of an operator behind it: where each
 * coordinate of a result moves in the operator's count, rows and columns. */
struct meeting {
  struct strides at;
  bool column[TSR_VIEW_RANK]; /* the coordinate is one of columns (or of counts) */
  uint64_t columns;           /* of all counts */
};

/* Splits the coordinates into those of rows and those of columns; false where one is both. */
static bool sort_coordinates(const struct tsr_op *op, struct meeting *x) {
  uint64_t want[3] = {op->n, op->m, op->count}; /* from behind */
  bool column[3] = {true, false, true};
  if (op->has_conv) want[0] *= op->count; /* channels of all groups side by side */
  unsigned part = 0;
  uint64_t have = 1;
  for (unsigned e = x->at.n; e-- > 0;) {
    if (x->at.size[e] == 1) continue;
    while (part < 3 && have == want[part]) {
      part++;
      have = 1;
    }
    if (part == 3) return false;
    x->column[e] = column[part];
    have *= x->at.size[e];
    if (want[part] % have) return false;
  }
  x->columns = op->n * op->count;
  return true;
}

/* The operator's element that each result is: its place in the value where the operator takes
 * the value as it lies, its own number where it takes the places that the product fills. */
static bool meet(const struct fuse *f, const struct tsri_tr_item *p,
                 const struct tsri_tr_item *e, struct meeting *x) {
  const struct tsr_view *a = &e->bind.a.part[0], *o = &e->bind.out;
  *x = (struct meeting){0};
  if (tsri_tr_view_is_flat(f->t, a)) {
    if (!tsri_tr_view_is_flat(f->t, o) || !strides_of(&p->bind.out, &x->at)) return false;
  } else {
    if (!tsri_tr_view_same(a, &p->bind.out) || !tsri_tr_view_same(a, o)) return false;
    x->at = (struct strides){.n = a->rank};
    memcpy(x->at.size, a->dim, sizeof x->at.size);
    int64_t step = 1;
    for (unsigned d = a->rank; d-- > 0; step *= (int64_t)a->dim[d]) x->at.by[d] = step;
  }
  return sort_coordinates(&p->op, x);
}

/* Divides coordinates by what they do to a place: those of rows must not change which element
 * of b a place meets, a place's `(place / each) % of`. */
static bool rows_agree(const struct meeting *x, uint64_t each, uint64_t of) {
  uint64_t inner = (uint64_t)x->at.base % each;
  for (unsigned i = 0; i < x->at.n; i++) {
    uint64_t by = (uint64_t)x->at.by[i];
    if (x->at.size[i] == 1) continue;
    if (x->at.by[i] < 0) return false;
    if (x->column[i]) {
      if (by % each) return false;
    } else if (by % (each * of)) {
      inner += by * (x->at.size[i] - 1);
    }
  }
  return x->at.base >= 0 && inner < each;
}

/* The second operand of e as one element for each column of the product; false: it is no such
 * row.  `row` of two: batchnorm's. */
struct constants {
  const struct tsr_operand_view *b;
  uint64_t each, of; /* element (place / each) % of */
};

static bool constants_of(const struct fuse *f, const struct tsri_tr_item *e,
                         const struct meeting *x, struct constants *c) {
  unsigned of_step = tsr_op_kind_info(e->op.kind)->b;
  enum tsr_with with = e->op.attr.with;
  if (of_step == TSR_SHAPE_N || of_step == TSR_SHAPE_N2) with = TSR_WITH_ROW;
  const struct tsr_operand_view *b = &e->bind.b;
  bool pair = of_step == TSR_SHAPE_N2 && b->n_parts == 2 && b->rows == 1; /* a part each */
  if (b->n_parts != 1 && !pair) return false;
  for (unsigned p = 0; p < b->n_parts; p++)
    if (!tsri_tr_constant(f->t, b->part[p].value)) return false;
  const struct tsr_view *v = &b->part[0];
  *c = (struct constants){b, 1, 1};
  if (with == TSR_WITH_FULL) return false;
  if (with == TSR_WITH_ROW) c->of = e->op.n;
  if (with == TSR_WITH_COL) {
    c->each = e->op.n;
    c->of = e->op.m;
  }
  /* One for all counts: their coordinate must not move it. */
  if (e->op.count > 1) {
    if (v->rank < 2 || of_step == TSR_SHAPE_N2 || v->dim[0] != e->op.count) return false;
    for (unsigned d = 0; d < v->src_rank; d++)
      if (v->coef[d][0]) return false;
  }
  return rows_agree(x, c->each, c->of);
}

/* ---- reading constants ---- */

struct reading {
  const struct tsr_array *from;
  double *to, fill;
};

static void read_run(void *arg, uint64_t first, uint64_t n, int64_t at, int64_t step) {
  const struct reading *r = arg;
  for (uint64_t i = 0; i < n; i++)
    r->to[first + i] = at == TSR_VIEW_OUTSIDE
                           ? r->fill
                           : tsr_array_get(r->from, (uint64_t)(at + (int64_t)i * step));
}

enum tsr_status tsri_tr_read(const struct tsri_tr *t, const struct tsr_operand_view *o,
                             double **out) {
  uint64_t n = 0, at = 0;
  for (unsigned p = 0; p < o->n_parts; p++) n += tsr_view_elems(&o->part[p]);
  double *to = tsr_mem_array((size_t)n, sizeof *to);
  if (!to) return tsr_err_nomem(t->err);
  for (unsigned p = 0; p < o->n_parts; p++) {
    const struct tsr_view *v = &o->part[p];
    struct reading r = {tsri_tr_constant(t, v->value), to + at, v->fill};
    tsr_view_runs(v, read_run, &r);
    at += tsr_view_elems(v);
  }
  *out = to;
  return TSR_OK;
}

/* Element numbers of the columns in ascending order: fn(arg, column, place). */
typedef void column_fn(void *arg, uint64_t column, uint64_t place);
static void each_column(const struct meeting *x, column_fn *fn, void *arg) {
  uint64_t i[TSR_VIEW_RANK] = {0};
  for (uint64_t c = 0; c < x->columns; c++) {
    int64_t place = x->at.base;
    for (unsigned e = 0; e < x->at.n; e++)
      if (x->column[e]) place += x->at.by[e] * (int64_t)i[e];
    fn(arg, c, (uint64_t)place);
    for (unsigned e = x->at.n; e-- > 0;) {
      if (!x->column[e]) continue;
      if (++i[e] < x->at.size[e]) break;
      i[e] = 0;
    }
  }
}

struct spreading {
  const struct constants *c;
  const double *from;
  double *to;
};
static void spread_one(void *arg, uint64_t column, uint64_t place) {
  const struct spreading *s = arg;
  s->to[column] = s->from[place / s->c->each % s->c->of];
}

/* The constant operand by columns: `rows` rows of x->columns, the caller's. */
static enum tsr_status by_columns(const struct fuse *f, const struct meeting *x,
                                  const struct constants *c, unsigned rows, double **out) {
  double *from;
  TSRI_TRY(tsri_tr_read(f->t, c->b, &from));
  double *to = tsr_mem_array((size_t)x->columns, rows * sizeof *to);
  for (unsigned r = 0; to && r < rows; r++) {
    struct spreading s = {c, from + r * c->of, to + r * x->columns};
    each_column(x, spread_one, &s);
  }
  tsr_mem_free(from);
  *out = to;
  return to ? TSR_OK : tsr_err_nomem(f->t->err);
}

/* ---- steps ---- */

/* A step in the making. */
struct step {
  enum tsr_op_kind kind;
  enum tsr_with with;
  double alpha, beta, zero;
  unsigned rows; /* of constants, 0: none */
  double *value; /* [rows][columns], owned */
  size_t other;  /* the result that a full step reads, SIZE_MAX: none */
};

/* An operator with a constant as a step: kinds whose second operand is a parameter. */
static const struct constant_step {
  enum tsr_op_kind kind, step;
  bool inverse; /* takes 1/b, or -b where it is added */
} constant_steps[] = {
    {TSR_OP_ADD, TSR_OP_BIAS, false},
    {TSR_OP_SUB, TSR_OP_BIAS, true},
    {TSR_OP_BIAS, TSR_OP_BIAS, false},
    {TSR_OP_MUL, TSR_OP_BATCHNORM, false},
    {TSR_OP_DIV, TSR_OP_BATCHNORM, true},
    {TSR_OP_BATCHNORM, TSR_OP_BATCHNORM, false},
    {TSR_OP_PRELU, TSR_OP_PRELU, false},
    {TSR_OP_QUANTISE, TSR_OP_QUANTISE, false},
    {TSR_OP_DEQUANTISE, TSR_OP_DEQUANTISE, false},
    {TSR_OP_MAX, TSR_OP_CLIP, false},
    {TSR_OP_MIN, TSR_OP_CLIP, false},
};

static bool all_equal(const double *v, uint64_t n) {
  for (uint64_t i = 1; i < n; i++)
    if (v[i] != v[0]) return false;
  return true;
}

/* One number for all columns needs no row: a factor, a shift, a bound.  false: the machine has
 * no such step. */
static bool as_number(struct step *s, enum tsr_op_kind kind, uint64_t columns, bool scalars) {
  double v = s->value[0];
  if (!all_equal(s->value, columns)) return kind != TSR_OP_MAX && kind != TSR_OP_MIN;
  if (!isfinite(v)) return false;
  s->alpha = kind == TSR_OP_MUL || kind == TSR_OP_DIV || kind == TSR_OP_MAX ? v : 1;
  s->beta = kind == TSR_OP_ADD || kind == TSR_OP_SUB || kind == TSR_OP_MIN ? v : 0;
  if (kind == TSR_OP_MAX) s->beta = HUGE_VAL;
  if (kind == TSR_OP_MIN) s->alpha = -HUGE_VAL;
  if (kind == TSR_OP_QUANTISE || kind == TSR_OP_DEQUANTISE) {
    if (scalars) s->with = TSR_WITH_SCALAR;
    return true;
  }
  if (kind == TSR_OP_BIAS || kind == TSR_OP_BATCHNORM) return true;
  if (kind == TSR_OP_PRELU) {
    s->kind = TSR_OP_LEAKY_RELU;
    s->alpha = v;
  } else if (s->kind != TSR_OP_CLIP) {
    s->kind = TSR_OP_AFFINE;
  }
  s->rows = 0;
  return true;
}

static bool integer_sums(const struct tsr_op *op) {
  return !strcmp(op->format_acc, "int32");
}

/* Whole numbers that fp32, the format of parameters, holds. */
static bool exact(const double *v, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    if (!(fabs(v[i]) <= 0x1p24)) return false;
  return true;
}

static enum tsr_status constant_step(const struct fuse *f, const struct tsri_tr_item *p,
                                     const struct tsri_tr_item *e, const struct meeting *x,
                                     struct step *s, bool *good) {
  struct constants c;
  const struct constant_step *row = NULL;
  for (size_t i = 0; i < sizeof constant_steps / sizeof *constant_steps; i++)
    if (constant_steps[i].kind == e->op.kind) row = &constant_steps[i];
  *good = row && constants_of(f, e, x, &c);
  if (!*good) return TSR_OK;
  bool two = e->op.kind == TSR_OP_BATCHNORM;
  s->kind = row->step;
  s->with = TSR_WITH_ROW;
  s->rows = s->kind == TSR_OP_BATCHNORM ? 2 : 1;
  TSRI_TRY(by_columns(f, x, &c, two ? 2 : 1, &s->value));
  for (uint64_t i = 0; row->inverse && i < x->columns; i++)
    s->value[i] = e->op.kind == TSR_OP_DIV ? 1 / s->value[i] : -s->value[i];
  if (s->kind == TSR_OP_BATCHNORM && !two) { /* a factor without a shift */
    double *more = tsr_mem_array((size_t)x->columns, 2 * sizeof *more);
    if (more) memcpy(more, s->value, (size_t)x->columns * sizeof *more);
    tsr_mem_free(s->value);
    s->value = more;
    if (!more) return tsr_err_nomem(f->t->err);
  }
  s->zero = e->op.attr.zero;
  if (s->kind == TSR_OP_BIAS && integer_sums(&p->op) && !p->op.n_steps) {
    *good = exact(s->value, x->columns);
    return TSR_OK;
  }
  bool scalars = !(p->op.has_conv && p->op.count > 1);
  *good = as_number(s, e->op.kind, x->columns, scalars);
  return TSR_OK;
}

static bool commutes(enum tsr_op_kind k) {
  return k == TSR_OP_ADD || k == TSR_OP_MUL || k == TSR_OP_MAX || k == TSR_OP_MIN;
}

/* Another result that lies like the product's own, made before it. */
static bool full_step(const struct fuse *f, size_t product, const struct tsri_tr_item *e,
                      struct step *s) {
  if (e->op.attr.with != TSR_WITH_FULL || e->bind.b.n_parts != 1) return false;
  if (!commutes(e->op.kind) && e->op.kind != TSR_OP_SUB && e->op.kind != TSR_OP_DIV)
    return false;
  const struct tsr_view *b = &e->bind.b.part[0], *a = &e->bind.a.part[0];
  if (b->value == SIZE_MAX || tsri_tr_constant(f->t, b->value)) return false;
  bool flat = tsri_tr_view_is_flat(f->t, a);
  if (flat ? !tsri_tr_view_is_flat(f->t, b) : !tsri_tr_view_same(a, b)) return false;
  size_t writer = only_writer(f, b->value);
  if (writer == SIZE_MAX || writer >= product) return false;
  s->kind = e->op.kind;
  s->with = TSR_WITH_FULL;
  s->other = b->value;
  return true;
}

static enum tsr_status step_of(const struct fuse *f, size_t product,
                               const struct tsri_tr_item *e, struct step *s, bool *good) {
  const struct tsri_tr_item *p = &f->t->items[product];
  const struct tsr_op_info *info = tsr_op_kind_info(e->op.kind);
  struct meeting x;
  *s = (struct step){.kind = e->op.kind,
                     .alpha = e->op.attr.alpha,
                     .beta = e->op.attr.beta,
                     .other = SIZE_MAX};
  *good = info->step && e->bind.a.n_parts == 1 && e->bind.has_out && meet(f, p, e, &x);
  if (!*good || info->b == TSR_SHAPE_NONE) return TSR_OK;
  if (full_step(f, product, e, s)) return TSR_OK;
  return constant_step(f, p, e, &x, s, good);
}

/* ---- what fits ---- */

static unsigned rows_of(const struct tsr_op *op) {
  unsigned n = 0;
  for (size_t i = 0; i < op->n_steps; i++) {
    enum tsr_op_shape b = tsr_op_kind_info(op->step[i].kind)->b;
    n += b == TSR_SHAPE_NONE ? 0 : b == TSR_SHAPE_N2 ? 2 : 1;
  }
  return n;
}

/* Second operands that lie like the result have its format. */
static bool formats_fit(const struct fuse *f, const struct tsri_tr_item *p,
                        const struct step *s, const char *out) {
  for (size_t i = 0; i < p->op.n_steps; i++) {
    const struct tsr_operand_view *o = &p->bind.step[i];
    if (p->op.step[i].with != TSR_WITH_FULL || o->n_parts != 1) continue;
    if (strcmp(tsri_tr_format(f->t->net->values[o->part[0].value].type), out)) return false;
  }
  return s->other == SIZE_MAX || !strcmp(tsri_tr_format(f->t->net->values[s->other].type), out);
}

static bool fits(const struct fuse *f, const struct tsri_tr_item *p,
                 const struct tsri_tr_item *e, const struct step *s) {
  const struct tsr_op *op = &p->op;
  unsigned more = s->other != SIZE_MAX ? 1 : s->rows;
  enum tsr_dtype type = f->t->net->values[e->bind.out.value].type;
  bool last = op->n_steps && op->step[op->n_steps - 1].kind == TSR_OP_QUANTISE;
  if (op->n_steps >= TSR_EPILOGUE_MAX || rows_of(op) + more > OPERANDS || last) return false;
  if (!formats_fit(f, p, s, e->op.format_out)) return false;
  if (s->kind == TSR_OP_QUANTISE) return integer_sums(op);
  /* Sums of integers stay integers until they are scaled; nothing else makes integers. */
  return tsr_dtype_is_float(type) || (integer_sums(op) && s->kind == TSR_OP_BIAS);
}

/* ---- parameters that go into weights ---- */

/* A factor of each column of a product with constant weights goes into these. */
static bool takes_factors(const struct fuse *f, const struct tsri_tr_item *p) {
  const struct tsr_op *op = &p->op;
  if (op->n_steps > 1 || (op->n_steps == 1 && op->step[0].kind != TSR_OP_BIAS)) return false;
  if (!tsr_op_b_is_weight(op) || p->bind.b.n_parts != 1 || integer_sums(op)) return false;
  if (op->n_steps && !tsri_tr_constant(f->t, p->bind.step[0].part[0].value)) return false;
  const struct tsr_array *w = tsri_tr_constant(f->t, p->bind.b.part[0].value);
  return w && w->f;
}

enum tsr_status tsri_tr_scale_weights(struct tsri_tr *t, struct tsri_tr_item *p,
                                      const double *by) {
  const struct tsr_op *op = &p->op;
  struct tsr_array *to;
  double *from;
  size_t value;
  uint64_t dim[3] = {op->count, op->k, op->n};
  TSRI_TRY(tsri_tr_read(t, &p->bind.b, &from));
  enum tsr_dtype type = tsri_tr_constant(t, p->bind.b.part[0].value)->type;
  enum tsr_status st = tsri_tr_const(t, "scaled", type, 3, dim, &value, &to);
  for (uint64_t i = 0; !st && i < to->n; i++)
    tsr_array_set(to, i, from[i] * by[i / (op->k * op->n) * op->n + i % op->n]);
  tsr_mem_free(from);
  if (st) return st;
  struct tsr_view v = tsri_tr_view(t, value);
  return tsri_tr_bind(t, &p->bind.b, &v);
}

/* scale and shift behind an optional bias: into the weights, and one bias. */
static enum tsr_status fold_factors(const struct fuse *f, struct tsri_tr_item *p,
                                    struct step *s) {
  uint64_t n = p->op.n * p->op.count;
  if (p->op.n_steps) {
    double *bias;
    TSRI_TRY(tsri_tr_read(f->t, &p->bind.step[0], &bias));
    for (uint64_t i = 0; i < n; i++) s->value[n + i] += bias[i] * s->value[i];
    tsr_mem_free(bias);
  }
  TSRI_TRY(tsri_tr_scale_weights(f->t, p, s->value));
  memmove(s->value, s->value + n, (size_t)n * sizeof *s->value);
  p->op.n_steps = 0;
  s->kind = TSR_OP_BIAS;
  s->rows = 1;
  return TSR_OK;
}

/* ---- taking one in ---- */

static enum tsr_status add_step(const struct fuse *f, struct tsri_tr_item *p,
                                const struct step *s) {
  struct tsr_view v = p->bind.out;
  struct tsr_array *to;
  if (s->other != SIZE_MAX) {
    v.value = s->other;
  } else if (s->rows) {
    uint64_t dim[2] = {s->rows, p->op.n * p->op.count};
    size_t value;
    if (s->with == TSR_WITH_SCALAR) dim[1] = p->op.count;
    TSRI_TRY(
        tsri_tr_const(f->t, tsr_op_kind_name(s->kind), TSR_DTYPE_F32, 2, dim, &value, &to));
    for (uint64_t i = 0; i < to->n; i++) to->f[i] = s->value[i];
    v = tsri_tr_view(f->t, value);
  }
  size_t at = p->op.n_steps;
  TSRI_TRY(
      tsri_tr_step(f->t, p, s->kind, s->with, s->other != SIZE_MAX || s->rows ? &v : NULL));
  p->op.step[at].alpha = s->alpha;
  p->op.step[at].beta = s->beta;
  p->op.step[at].zero = s->zero;
  return TSR_OK;
}

/* The reader e becomes the last step of product i. */
static enum tsr_status take(struct fuse *f, size_t i, size_t e, struct step *s) {
  struct tsri_tr_item *p = &f->t->items[i], *x = &f->t->items[e];
  f->t->node = p->bind.node; /* names of constants */
  if (s->kind == TSR_OP_BATCHNORM && takes_factors(f, p)) TSRI_TRY(fold_factors(f, p, s));
  TSRI_TRY(add_step(f, p, s));
  p->bind.out.value = x->bind.out.value;
  p->op.format_out = x->op.format_out;
  x->dropped = true;
  f->into[e] = i;
  return TSR_OK;
}

/* ---- chains ---- */

/* At most two readers of a value that are still there; how many reads there are. */
static size_t readers(const struct fuse *f, size_t value, size_t out[2]) {
  size_t *list, n = entries(&f->reads, value, &list), live = 0;
  for (size_t i = 0; i < n; i++) {
    if (f->t->items[list[i]].dropped && f->into[list[i]] == SIZE_MAX) continue;
    if (live < 2) out[live] = holder(f, list[i]);
    live++;
  }
  return live;
}

/* x * sigmoid(x) and x * hardsigmoid(x) have a name: the multiplication, or SIZE_MAX.  Both
 * read the result alone, and the gate has no other reader. */
static size_t gated(const struct fuse *f, size_t value, const size_t r[2],
                    enum tsr_op_kind *kind) {
  for (int i = 0; i < 2; i++) {
    const struct tsri_tr_item *gate = &f->t->items[r[i]], *mul = &f->t->items[r[1 - i]];
    enum tsr_op_kind k = gate->op.kind;
    if ((k != TSR_OP_SIGMOID && k != TSR_OP_HARDSIGMOID) || mul->op.kind != TSR_OP_MUL)
      continue;
    size_t w = gate->bind.out.value, of[2];
    if (mul->op.attr.with != TSR_WITH_FULL || mul->bind.a.n_parts != 1 ||
        mul->bind.b.n_parts != 1 || gate->bind.a.n_parts != 1 || f->output[w])
      continue;
    const struct tsr_view *a = &mul->bind.a.part[0], *b = &mul->bind.b.part[0];
    bool both = (a->value == value && b->value == w) || (a->value == w && b->value == value);
    if (!both || readers(f, w, of) != 1 || only_writer(f, w) != r[i]) continue;
    if (!tsri_tr_view_is_flat(f->t, a) || !tsri_tr_view_is_flat(f->t, b) ||
        !tsri_tr_view_is_flat(f->t, &gate->bind.a.part[0]) ||
        !tsri_tr_view_is_flat(f->t, &gate->bind.out))
      continue;
    *kind = k == TSR_OP_SIGMOID ? TSR_OP_SILU : TSR_OP_HARDSWISH;
    return r[1 - i];
  }
  return SIZE_MAX;
}

static enum tsr_status next_gated(struct fuse *f, size_t i, const size_t r[2], bool *more) {
  struct tsri_tr_item *p = &f->t->items[i];
  struct step s = {.other = SIZE_MAX, .alpha = 0};
  size_t value = p->bind.out.value, e = gated(f, value, r, &s.kind);
  if (e == SIZE_MAX) return TSR_OK;
  const struct tsri_tr_item *mul = &f->t->items[e];
  if (!tsri_tr_view_is_flat(f->t, &mul->bind.out) || only_writer(f, mul->bind.out.value) != e ||
      !fits(f, p, mul, &s))
    return TSR_OK;
  size_t gate = e == r[0] ? r[1] : r[0];
  TSRI_TRY(take(f, i, e, &s));
  f->t->items[gate].dropped = true;
  f->into[gate] = i;
  *more = true;
  return TSR_OK;
}

/* Kinds that commute may have the product on their other side. */
static void turn(struct tsri_tr_item *e, size_t value) {
  if (!commutes(e->op.kind) || e->op.attr.with != TSR_WITH_FULL) return;
  if (e->bind.a.n_parts != 1 || e->bind.b.n_parts != 1) return;
  if (e->bind.b.part[0].value != value || e->bind.a.part[0].value == value) return;
  struct tsr_operand_view a = e->bind.a;
  const char *format = e->op.format_a;
  e->bind.a = e->bind.b;
  e->bind.b = a;
  e->op.format_a = e->op.format_b;
  e->op.format_b = format;
}

static enum tsr_status next(struct fuse *f, size_t i, bool *more) {
  struct tsri_tr_item *p = &f->t->items[i];
  size_t value = p->bind.out.value, r[2];
  *more = false;
  if (f->output[value] || only_writer(f, value) != i) return TSR_OK;
  size_t n = readers(f, value, r);
  if (n == 2 && r[0] != r[1]) return next_gated(f, i, r, more);
  if (n != 1 || r[0] <= i) return TSR_OK;
  struct tsri_tr_item *e = &f->t->items[r[0]];
  struct step s;
  bool good = false;
  turn(e, value);
  if (!e->bind.a.n_parts || e->bind.a.part[0].value != value || e->op.n_steps) return TSR_OK;
  enum tsr_status st = step_of(f, i, e, &s, &good);
  good = good && only_writer(f, e->bind.out.value) == r[0] && fits(f, p, e, &s);
  if (!st && good) st = take(f, i, r[0], &s);
  tsr_mem_free(s.value);
  *more = good && !st;
  return st;
}

/* Sums of integers that leave as such are corrected as integers, not in the epilogue. */
static void leave_integers(struct fuse *f, size_t i, const struct tsri_tr_item *before) {
  struct tsri_tr_item *p = &f->t->items[i];
  if (!integer_sums(&p->op) || strcmp(p->op.format_out, "int32")) return;
  for (size_t e = 0; e < f->t->n; e++)
    if (f->into[e] == i) {
      f->into[e] = SIZE_MAX;
      f->t->items[e].dropped = false;
    }
  *p = *before;
}

static enum tsr_status chain(struct fuse *f, size_t i) {
  const struct tsri_tr_item *p = &f->t->items[i];
  enum tsr_op_class cls = tsr_op_kind_info(p->op.kind)->cls;
  if (p->dropped || !p->bind.has_out || p->bind.has_out2) return TSR_OK;
  if (cls != TSR_CLASS_MATMUL && cls != TSR_CLASS_CONV) return TSR_OK;
  struct tsri_tr_item before = *p;
  bool more = true;
  while (more) TSRI_TRY(next(f, i, &more));
  leave_integers(f, i, &before);
  return TSR_OK;
}

/* ---- what nobody reads ---- */

static void need(void *arg, size_t value) {
  bool *needed = arg;
  needed[value] = true;
}

/* Values that leave the model, or that a node without a kernel reads. */
static void mark_outputs(const struct tsr_net *net, bool *out) {
  for (size_t v = 0; v < net->n_values; v++)
    if (net->values[v].is_output) out[tsr_translate_source(net, v)] = true;
  for (size_t i = 0; i < net->n_nodes; i++)
    for (size_t k = 0; net->nodes[i].skipped && k < net->nodes[i].n_in; k++)
      if (net->nodes[i].in[k] != SIZE_MAX)
        out[tsr_translate_source(net, net->nodes[i].in[k])] = true;
}

static enum tsr_status drop_unread(const struct fuse *f) {
  bool *needed = tsr_mem_array(f->t->net->n_values, sizeof *needed);
  if (!needed) return tsr_err_nomem(f->t->err);
  mark_outputs(f->t->net, needed);
  for (size_t i = f->t->n; i-- > 0;) {
    struct tsri_tr_item *it = &f->t->items[i];
    if (it->dropped) continue;
    bool read = (it->bind.has_out && needed[it->bind.out.value]) ||
                (it->bind.has_out2 && needed[it->bind.out2.value]);
    it->dropped = !read;
    if (read) visit_reads(it, need, needed);
  }
  tsr_mem_free(needed);
  return TSR_OK;
}

enum tsr_status tsri_tr_fuse(struct tsri_tr *t) {
  struct fuse f = {.t = t};
  size_t n = t->net->n_values;
  f.into = tsr_mem_array(t->n + 1, sizeof *f.into);
  f.output = tsr_mem_array(n + 1, sizeof *f.output);
  enum tsr_status st = f.into && f.output ? TSR_OK : tsr_err_nomem(t->err);
  for (size_t i = 0; !st && i < t->n; i++) f.into[i] = SIZE_MAX;
  if (!st) mark_outputs(t->net, f.output);
  if (!st) st = index_make(&f, true, &f.reads);
  if (!st) st = index_make(&f, false, &f.writes);
  for (size_t i = 0; !st && i < t->n; i++) st = chain(&f, i);
  if (!st) st = drop_unread(&f);
  tsr_mem_free(f.into);
  tsr_mem_free(f.output);
  tsr_mem_free(f.reads.start);
  tsr_mem_free(f.reads.item);
  tsr_mem_free(f.writes.start);
  tsr_mem_free(f.writes.item);
  return st;
}
