/* Outliers of activations (`tile.outliers`): the columns of k whose values would ruin a narrow
 * format are multiplied apart, in a wider one (SRC:dettmers2022).
 *
 * A matmul X times weights with activations in fewer bits than `tile.formats.outlier` becomes
 * four operators:
 *   NAME.outliers.x  the outlier columns of X as it was before it was narrowed   gather_cols
 *   NAME.outliers.w  the rows of the weights that meet them, widened on the way  gather
 *   NAME.outliers    their product, in the wide format                           bmm
 *   NAME             the narrow one over all of k (outliers are zeros there), with an epilogue
 *                    that adds it behind the scales
 * Which columns they are is given, as indices of other look-ups are: how many matters here. */
#include <math.h>
#include <string.h>

#include "models/arith/format.h"
#include "sim/base/mem.h"
#include "sim/run/run_int.h"

enum { PARTS = 3 }; /* operators beside the matmul */

/* What an operator of one machine is split by. */
struct pass {
  const struct tsr_machine *m;
  struct tsr_graph *g;
  const struct tsr_format *wide;
  struct tsr_op *ops; /* of the new graph */
  size_t n, *at;      /* how many there are; where the old ones stand */
};

static uint64_t columns_of(const struct tsr_machine *m, const struct tsr_op *op) {
  const double slack = 1 - 0x1p-40; /* 0.07 of 100 are 7, whatever binary fractions say */
  return (uint64_t)ceil((double)op->k * m->outliers * slack);
}

static const char *format_of(const char *own, const char *machine) {
  return own && *own ? own : machine;
}

enum tsr_status tsri_format_read(const char *name, struct tsr_format *f, struct tsr_err *err) {
  const struct tsr_format *known = tsr_format_find(name);
  if (!known) return tsr_format_parse(name, f, err);
  *f = *known;
  return TSR_OK;
}

/* Names that are to be made. */
static enum tsr_status clash(const struct pass *x, const struct tsr_op *op,
                             struct tsr_err *err) {
  size_t n = strlen(op->name);
  for (size_t i = 0; i < x->g->n_ops; i++) {
    const char *other = x->g->ops[i].name;
    if (strncmp(other, op->name, n) != 0 || strncmp(other + n, ".outliers", 9) != 0) continue;
    return tsr_err_at(err, TSR_INPUT, &x->g->ops[i].pos,
                      "tile.outliers makes a layer of this name of '%s'; expected another than "
                      "'%s'",
                      op->name, other);
  }
  return TSR_OK;
}

static enum tsr_status is_split(const struct pass *x, const struct tsr_op *op, bool *yes,
                                struct tsr_err *err) {
  const struct tsr_op_info *info = tsr_op_kind_info(op->kind);
  struct tsr_format a, out;
  *yes = false;
  if (info->cls != TSR_CLASS_MATMUL || !info->b_is_weight || columns_of(x->m, op) >= op->k)
    return TSR_OK;
  enum tsr_status st = tsri_format_read(format_of(op->format_a, x->m->format_a), &a, err);
  if (!st) st = tsri_format_read(format_of(op->format_out, x->m->format_out), &out, err);
  if (st || a.bits >= x->wide->bits) return st;
  if (out.is_int)
    return tsr_err_at(err, TSR_INPUT, &op->pos,
                      "tile.outliers adds sums to the results of layer '%s', which are in %s; "
                      "expected a floating-point format",
                      op->name, format_of(op->format_out, x->m->format_out));
  if (op->n_steps == TSR_EPILOGUE_MAX)
    return tsr_err_at(err, TSR_INPUT, &op->pos,
                      "tile.outliers adds a step to the epilogue of layer '%s'; expected at "
                      "most %d before",
                      op->name, TSR_EPILOGUE_MAX - 1);
  *yes = true;
  return clash(x, op, err);
}

static bool set_after(struct pass *x, struct tsr_op *op, const size_t *after, size_t n) {
  size_t *list = tsr_arena_array(x->g->arena, n + 1, sizeof *list);
  if (!list) return false;
  if (n) memcpy(list, after, n * sizeof *list);
  op->after = list;
  op->n_after = n;
  return true;
}

static bool add(struct pass *x, const struct tsr_op *of, const char *suffix, struct tsr_op op) {
  op.name = tsr_arena_printf(x->g->arena, "%s.outliers%s", of->name, suffix);
  op.count = of->count;
  op.sparsity = "";
  op.pos = of->pos;
  if (!op.name || !set_after(x, &op, op.after, op.n_after)) return false;
  x->ops[x->n++] = op;
  return true;
}

/* The sum joins results once they are scaled. */
static void add_step(struct tsr_op *op) {
  size_t at = 0;
  while (at < op->n_steps && op->step[at].kind == TSR_OP_DEQUANTISE) at++;
  memmove(&op->step[at + 1], &op->step[at], (op->n_steps - at) * sizeof op->step[0]);
  op->step[at] = (struct tsr_op_step){.kind = TSR_OP_ADD, .with = TSR_WITH_FULL};
  op->n_steps++;
}

/* What steps read stands last in `after`, in their order: the sum before all others. */
static bool depend(struct pass *x, struct tsr_op *op, size_t sum) {
  size_t n = op->n_after, keep = n, source;
  size_t *after = tsr_arena_array(x->g->arena, n + 1, sizeof *after);
  if (!after) return false;
  for (size_t i = 0; i < op->n_steps; i++)
    if (tsr_op_step_source(op, i, &source) && source != SIZE_MAX) keep--;
  memcpy(after, op->after, keep * sizeof *after);
  after[keep] = sum;
  memcpy(after + keep + 1, op->after + keep, (n - keep) * sizeof *after);
  op->after = after;
  op->n_after = n + 1;
  return true;
}

/* The operators in front of one, whose dependencies are those of the new graph. */
static bool split(struct pass *x, struct tsr_op *op) {
  const char *wide = x->m->format_outlier;
  uint64_t n = columns_of(x->m, op);
  const size_t both[2] = {x->n, x->n + 1};
  struct tsr_op columns = {.kind = TSR_OP_GATHER_COLS,
                           .m = op->m,
                           .n = n,
                           .k = 1,
                           .attr = {.table = op->k},
                           .format_a = wide,
                           .format_b = wide,
                           .format_acc = "",
                           .format_out = wide,
                           .n_after = op->n_after ? 1 : 0, /* behind X */
                           .after = op->after};
  struct tsr_op rows = columns, product = columns;
  rows.kind = TSR_OP_GATHER;
  rows.m = n;
  rows.n = op->n;
  rows.format_a = format_of(op->format_b, x->m->format_b);
  product.kind = TSR_OP_BMM;
  product.n = op->n;
  product.k = n;
  product.attr.table = 0;
  product.format_acc = "fp32";
  product.format_out = op->format_out;
  product.n_after = 2;
  product.after = both;
  if (!add(x, op, ".x", columns) || !add(x, op, ".w", rows) || !add(x, op, "", product) ||
      !depend(x, op, x->n - 1))
    return false;
  add_step(op);
  return true;
}

static enum tsr_status copy(struct pass *x, const struct tsr_op *from, struct tsr_err *err) {
  struct tsr_op op = *from;
  bool yes;
  enum tsr_status st = is_split(x, from, &yes, err);
  if (st) return st;
  size_t *after = tsr_arena_array(x->g->arena, op.n_after + 1, sizeof *after);
  if (!after) return tsr_err_nomem(err);
  for (size_t i = 0; i < op.n_after; i++) after[i] = x->at[from->after[i]];
  op.after = after;
  if (yes && !split(x, &op)) return tsr_err_nomem(err);
  x->at[from - x->g->ops] = x->n;
  x->ops[x->n++] = op;
  return TSR_OK;
}

enum tsr_status tsri_outliers_split(const struct tsr_machine *m, struct tsr_graph *g,
                                    struct tsr_err *err) {
  struct tsr_format wide;
  struct pass x = {.m = m, .g = g, .wide = &wide};
  if (!(m->outliers > 0)) return TSR_OK;
  enum tsr_status st = tsri_format_read(m->format_outlier, &wide, err);
  if (st) {
    tsr_err_hint(err, "it stands in tile.formats.outlier");
    return st;
  }
  if (wide.is_int)
    return tsr_err_set(err, TSR_INPUT,
                       "tile.formats.outlier is %s; expected a floating-point format",
                       m->format_outlier);
  x.ops = tsr_arena_array(g->arena, g->n_ops * (1 + PARTS), sizeof *x.ops);
  x.at = tsr_arena_array(g->arena, g->n_ops, sizeof *x.at);
  if (!x.ops || !x.at) return tsr_err_nomem(err);
  for (size_t i = 0; !st && i < g->n_ops; i++) st = copy(&x, &g->ops[i], err);
  if (st) return st;
  if (x.n == g->n_ops)
    tsr_err_warn(
        err, NULL,
        "tile.outliers: no matmul of '%s' has weights, more than one k and activations "
        "in fewer bits than %s; nothing is gathered",
        g->name, m->format_outlier);
  g->ops = x.ops;
  g->n_ops = x.n;
  return TSR_OK;
}
