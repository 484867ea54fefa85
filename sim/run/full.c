/* Numeric figures of a whole layer (`--numerics full`).
 *
 * Every output is computed by the machine's matrix unit with the program's K cuts,
 * through the matrix product of models/arith/gemm.h, on the operands that sampled
 * outputs have too (operand.h), and held against the exact sum of the same operands
 * (kernels/check/exact.h).  Work goes in panels of columns and strips of rows, in a
 * fixed order: figures do not depend on threads.
 *
 * Rows, all of [0, K): `out` the outputs; `acc` the accumulators, in ulp of their own
 * format; then the error in parts, all in ulp of the output: `quantisation` (exact
 * sum of the quantised operands against that of the fp32 ones), `accumulation`,
 * `rounding`, and `unquantised` (outputs against the fp32 operands).  Behind them the
 * sampled outputs along K (trace.c): `acc` [0, to) what is held there, `range` [from,
 * to) what that range lost.
 *
 * Memory: A as codes and fp32, one panel of B likewise, buffers of fixed size.
 * Overflow and subnormal_in here are what operands and results show; swamped terms
 * are counted on the sampled outputs. */
#include <inttypes.h>
#include <string.h>

#include "kernels/check/bound.h"
#include "kernels/check/exact.h"
#include "models/arith/gemm.h"
#include "sim/base/log.h"
#include "sim/run/run_int.h"

enum { ROWS = 256, COLS = 256 };
enum part { OUT, ACC, QUANTISATION, ACCUMULATION, ROUNDING, UNQUANTISED, PARTS };
static const char *const names[PARTS] = {"out",          "acc",      "quantisation",
                                         "accumulation", "rounding", "unquantised"};

/* A block of an operand: codes, what they were, and which lanes hold a subnormal. */
struct block {
  void *codes;
  float *from;
  size_t bytes;
  bool *subnormal; /* a row of A, a column of B */
};

struct full {
  struct tsri_operands o;
  size_t *cuts, n_cuts;
  struct block tensor, strip, panel; /* all of A; ROWS x K; K x COLS */
  void *c;                           /* ROWS x COLS accumulators */
  size_t c_bytes;
  struct tsri_tables *tables;
  uint64_t run;         /* elements of A that lie side by side along k */
  bool *subnormal_code; /* of A's format, by code; NULL: it has none that is drawn */
  bool *subnormal_b;
  struct tsr_exact_plan plan;
  struct tsr_exact *exact;
  struct tsr_check check[PARTS];
};

/* ---- tables ---- */

void tsri_tables_fini(struct tsri_tables *t) {
  tsr_draw_table_destroy(t->a);
  tsr_draw_table_destroy(t->b);
  *t = (struct tsri_tables){NULL, NULL};
}

static enum tsr_status table_for(struct tsr_draw_table **t, const struct tsr_format *f,
                                 struct tsr_err *err) {
  if (*t && tsr_draw_table_format(*t) == f) return TSR_OK;
  tsr_draw_table_destroy(*t);
  *t = NULL;
  return tsr_draw_table_create(f, t, err);
}

/* Which codes are subnormal; *out stays NULL where a format has more than 16 bits:
 * its subnormals lie below every value drawn. */
static bool subnormal_codes(const struct tsr_format *f, bool **out) {
  if (f->bits > 16) return true;
  size_t n = (size_t)1 << f->bits;
  *out = tsr_mem_array(n, sizeof **out);
  for (size_t code = 0; *out && code < n; code++)
    (*out)[code] = tsr_arith_decode(f, code).subnormal;
  return *out != NULL;
}

/* ---- memory ---- */

static bool block_make(struct block *b, const struct tsr_format *f, uint64_t n,
                       uint64_t lanes) {
  b->bytes = tsr_gemm_code_bytes(f);
  b->codes = tsr_mem_array(n, b->bytes);
  b->from = tsr_mem_array(n, sizeof *b->from);
  b->subnormal = tsr_mem_array(lanes, sizeof *b->subnormal);
  return b->codes && b->from && b->subnormal;
}

static void block_free(struct block *b) {
  tsr_mem_free(b->codes);
  tsr_mem_free(b->from);
  tsr_mem_free(b->subnormal);
}

static enum tsr_status plan_layer(struct full *f, struct tsr_err *err) {
  struct tsr_exact_range a, b;
  tsr_draw_normal_range(f->o.a, &a);
  tsr_draw_normal_range(f->o.b, &b);
  if (tsr_exact_plan_make(&a, &b, f->o.k, &f->plan)) return TSR_OK;
  return tsr_err_set(err, TSR_INPUT,
                     "the values of layer '%s' in %s and %s span too many bits for --numerics "
                     "full; --numerics sample has no such bound",
                     f->o.l->op->name, f->o.a->name, f->o.b->name);
}

static enum tsr_status open_layer(struct full *f, struct tsr_err *err) {
  const struct tsri_operands *o = &f->o;
  uint64_t a, b, c, strip, panel;
  TSR_CHECK(tsr_op_elems(o->l->op, &a, &b, &c)); /* the plan has checked it */
  uint64_t rows = tsr_min_u64(ROWS, o->l->op->m), cols = tsr_min_u64(COLS, o->l->op->n);
  if (!tsr_mul_u64(rows, o->k, &strip) || !tsr_mul_u64(cols, o->k, &panel))
    return tsr_err_nomem(err);
  f->c_bytes = tsr_gemm_code_bytes(o->unit->acc);
  f->c = tsr_mem_array(rows * cols, f->c_bytes);
  if (!f->c || !block_make(&f->tensor, o->a, a, 0) ||
      !block_make(&f->strip, o->a, strip, rows) || !block_make(&f->panel, o->b, panel, cols))
    return tsr_err_nomem(err);
  if (!subnormal_codes(o->a, &f->subnormal_code) || !subnormal_codes(o->b, &f->subnormal_b))
    return tsr_err_nomem(err);
  const struct tsr_op *op = o->l->op;
  f->run = op->has_conv ? op->conv.in_c / op->conv.groups : o->k;
  enum tsr_status st = table_for(&f->tables->a, o->a, err);
  if (!st) st = table_for(&f->tables->b, o->b, err);
  if (!st) st = plan_layer(f, err);
  if (st) return st;
  for (int p = 0; p < PARTS; p++)
    tsr_check_init(&f->check[p], p == ACC ? o->unit->acc : o->out);
  return tsr_exact_create(o->a, o->b, rows, cols, &f->exact, err);
}

static void close_layer(struct full *f) {
  block_free(&f->tensor);
  block_free(&f->strip);
  block_free(&f->panel);
  tsr_mem_free(f->subnormal_code);
  tsr_mem_free(f->subnormal_b);
  tsr_mem_free(f->c);
  tsr_mem_free(f->cuts);
  tsr_exact_destroy(f->exact);
}

/* ---- operands ---- */

static void draw_a(struct full *f) {
  uint64_t n, b, c;
  TSR_CHECK(tsr_op_elems(f->o.l->op, &n, &b, &c));
  tsr_draw_normal_many(f->tables->a, f->o.seed, tsri_operand_stream(&f->o, TSRI_TENSOR_A), 0, n,
                       f->tensor.codes, f->tensor.from);
}

/* Columns [col, col + n) of a group. */
static void draw_panel(struct full *f, uint64_t group, uint64_t col, uint64_t n) {
  uint64_t stream = tsri_operand_stream(&f->o, TSRI_TENSOR_B);
  memset(f->panel.subnormal, 0, n * sizeof *f->panel.subnormal);
  for (uint64_t k = 0; k < f->o.k; k++) {
    char *row = (char *)f->panel.codes + k * n * f->panel.bytes;
    tsr_draw_normal_many(f->tables->b, f->o.seed, stream,
                         tsri_operand_b_index(&f->o, group, k, col), n, row,
                         f->panel.from + k * n);
    for (uint64_t j = 0; f->subnormal_b && j < n; j++)
      if (f->subnormal_b[tsr_exact_code(row, f->panel.bytes, j)]) f->panel.subnormal[j] = true;
  }
}

/* Rows [row, row + n), counted over groups, in im2col form. */
static void gather_strip(struct full *f, uint64_t row, uint64_t n) {
  size_t bytes = f->strip.bytes;
  for (uint64_t i = 0; i < n; i++) {
    char *codes = (char *)f->strip.codes + i * f->o.k * bytes;
    float *from = f->strip.from + i * f->o.k;
    for (uint64_t k = 0, index; k < f->o.k; k += f->run) {
      if (tsri_operand_a_index(&f->o, row + i, k, &index)) {
        memcpy(codes + k * bytes, (char *)f->tensor.codes + index * bytes, f->run * bytes);
        memcpy(from + k, f->tensor.from + index, f->run * sizeof *from);
      } else {
        memset(codes + k * bytes, 0, f->run * bytes);
        memset(from + k, 0, f->run * sizeof *from);
      }
    }
    bool subnormal = false;
    for (uint64_t k = 0; f->subnormal_code && k < f->o.k; k++)
      subnormal |= f->subnormal_code[tsr_exact_code(codes, bytes, k)];
    f->strip.subnormal[i] = subnormal;
  }
}

/* ---- results ---- */

static double magnitude(double v) {
  return v < 0 ? -v : v;
}

/* v * 2^-shift, exactly. */
static double shifted(const struct full *f, double v) {
  return v / (double)(UINT64_C(1) << f->o.shift);
}

/* The error in parts, all finite. */
static void add_parts(struct full *f, tsr_i128 sum, const struct tsr_num *acc,
                      const struct tsr_num *out, double abs, double from) {
  int lsb = f->plan.lsb - f->o.shift;
  struct tsr_ref a, b; /* acc - s and out - acc, exactly */
  tsr_i128 fixed_acc, fixed_out;
  double s = tsr_check_fixed_double(sum, lsb), gained, rounded;
  if (tsr_check_fixed(acc, lsb, &fixed_acc) && tsr_check_fixed(out, lsb, &fixed_out)) {
    gained = tsr_check_fixed_double(fixed_acc - sum, lsb);
    rounded = tsr_check_fixed_double(fixed_out - fixed_acc, lsb);
  } else {
    tsr_check_fixed_ref(-sum, lsb, &a);
    tsr_ref_add(&a, acc);
    gained = tsr_ref_double(&a);
    tsr_ref_init(&b);
    tsr_ref_add(&b, out);
    tsr_ref_sub(&b, acc);
    rounded = tsr_ref_double(&b);
  }
  tsr_check_add_diff(&f->check[QUANTISATION], s, s - from, abs);
  tsr_check_add_diff(&f->check[ACCUMULATION], s, gained, abs);
  tsr_check_add_diff(&f->check[ROUNDING], s, rounded, abs);
  tsr_check_add_diff(&f->check[UNQUANTISED], from, (s - from) + gained + rounded, abs);
}

static void add_result(struct full *f, uint64_t i, uint64_t j, uint64_t cols) {
  const struct tsri_operands *o = &f->o;
  uint64_t code = tsr_exact_code(f->c, f->c_bytes, i * cols + j);
  tsr_i128 sum = tsr_exact_sum(f->exact, i, j);
  double abs = tsr_exact_abs(f->exact, i, j);
  unsigned events = f->strip.subnormal[i] || f->panel.subnormal[j] ? TSR_EVENT_SUBNORMAL_IN : 0;
  struct tsr_num acc = tsr_arith_decode(o->unit->acc, code);
  tsr_i128 fixed;
  /* An integer accumulator errs by leaving its range and by nothing else. */
  if (o->unit->acc->is_int && (!tsr_check_fixed(&acc, f->plan.lsb, &fixed) || fixed != sum))
    events |= TSR_EVENT_OVERFLOW;
  tsr_check_add_fixed(&f->check[ACC], sum, f->plan.lsb, code, events, abs);
  acc.exp -= o->shift;
  unsigned out_events = 0;
  uint64_t out_code = tsr_arith_encode(o->out, TSR_ROUND_RNE, &acc, &out_events);
  struct tsr_num out = tsr_arith_decode(o->out, out_code);
  abs = shifted(f, abs);
  tsr_check_add_fixed(&f->check[OUT], sum, f->plan.lsb - o->shift, out_code,
                      events | out_events, abs);
  if (acc.cls <= TSR_NUM_FINITE && out.cls <= TSR_NUM_FINITE)
    add_parts(f, sum, &acc, &out, magnitude(abs), shifted(f, tsr_exact_from(f->exact, i, j)));
}

static enum tsr_status compute_strip(struct full *f, uint64_t rows, uint64_t cols,
                                     struct tsr_err *err) {
  const struct tsri_operands *o = &f->o;
  memset(f->c, 0, rows * cols * f->c_bytes);
  struct tsr_gemm g = {.unit = o->unit,
                       .m = rows,
                       .n = cols,
                       .k = o->k,
                       .a = f->strip.codes,
                       .lda = o->k,
                       .b = f->panel.codes,
                       .ldb = cols,
                       .c = f->c,
                       .ldc = cols,
                       .cuts = f->cuts,
                       .n_cuts = f->n_cuts,
                       .threads = 1};
  enum tsr_status st = tsr_gemm_run(&g, NULL, NULL, err);
  if (st) return st;
  const struct tsr_exact_operand a = {o->a, f->strip.codes, o->k, f->strip.from};
  const struct tsr_exact_operand b = {o->b, f->panel.codes, cols, f->panel.from};
  tsr_exact_run(f->exact, &f->plan, rows, cols, o->k, &a, &b);
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t j = 0; j < cols; j++) add_result(f, i, j, cols);
  return TSR_OK;
}

static enum tsr_status compute_panel(struct full *f, uint64_t group, uint64_t col,
                                     uint64_t cols, struct tsr_err *err) {
  const struct tsr_op *op = f->o.l->op;
  draw_panel(f, group, col, cols);
  for (uint64_t row = 0; row < op->m; row += ROWS) {
    uint64_t rows = tsr_min_u64(ROWS, op->m - row);
    if (tsr_interrupted)
      return tsr_err_set(err, TSR_SIM, "interrupted in layer '%s'; nothing was stored",
                         op->name);
    gather_strip(f, group * op->m + row, rows);
    enum tsr_status st = compute_strip(f, rows, cols, err);
    if (st) return st;
  }
  return TSR_OK;
}

static enum tsr_status compute(struct full *f, struct tsr_err *err) {
  const struct tsr_op *op = f->o.l->op;
  uint64_t panels = tsr_ceil_div(op->n, COLS), done = 0;
  enum tsr_status st = TSR_OK;
  draw_a(f);
  for (uint64_t g = 0; !st && g < op->count; g++)
    for (uint64_t col = 0; !st && col < op->n; col += COLS) {
      st = compute_panel(f, g, col, tsr_min_u64(COLS, op->n - col), err);
      tsr_progress("numerics: panels of the layer", ++done, panels * op->count);
    }
  return st;
}

/* ---- rows ---- */

static const uint64_t *keep(struct tsr_arena *arena, const struct tsr_check *c) {
  uint64_t *hist = tsr_arena_array(arena, TSR_CHECK_BINS, sizeof *hist);
  if (hist) memcpy(hist, c->hist, sizeof c->hist);
  return hist;
}

static const struct tsr_hist_edge *edges_of(struct tsr_arena *arena) {
  struct tsr_hist_edge *e = tsr_arena_array(arena, TSR_CHECK_BINS, sizeof *e);
  for (unsigned i = 0; e && i < TSR_CHECK_BINS; i++) tsr_check_bin_edges(i, &e[i].lo, &e[i].hi);
  return e;
}

static double bound_of(const struct full *f, uint64_t k_to) {
  uint64_t longest = 0, ranges = 0;
  for (uint64_t i = 0, from = 0; i < f->n_cuts && from < k_to; from = f->cuts[i++], ranges++)
    longest = tsr_max_u64(longest, tsr_min_u64(f->cuts[i], k_to) - from);
  return tsr_check_bound(f->o.unit, longest, ranges);
}

static enum tsr_status fill_rows(const struct full *f, const struct tsri_trace *t,
                                 struct tsr_arena *arena, struct tsr_run_numeric *rows,
                                 size_t *n, struct tsr_err *err) {
  for (int p = 0; p < PARTS; p++) {
    const uint64_t *hist = keep(arena, &f->check[p]);
    if (!hist) return tsr_err_nomem(err);
    tsri_run_numeric_row(&f->check[p], names[p], 0, f->o.k, hist, &rows[(*n)++]);
  }
  rows[ACC].bound = bound_of(f, f->o.k);
  for (size_t i = 0; i < t->n; i++) {
    const struct tsri_trace_point *x = &t->point[i];
    const uint64_t *held = keep(arena, &x->held), *own = keep(arena, &x->own);
    if (!held || !own) return tsr_err_nomem(err);
    tsri_run_numeric_row(&x->held, "acc", 0, x->to, held, &rows[*n]);
    rows[(*n)++].bound = bound_of(f, x->to);
    tsri_run_numeric_row(&x->own, "range", x->from, x->to, own, &rows[*n]);
    tsri_run_numeric_stats(&x->stats, &rows[(*n)++]);
  }
  const struct tsr_hist_edge *edges = edges_of(arena);
  for (size_t i = 0; edges && i < *n; i++) rows[i].hist_edges = edges;
  return edges ? TSR_OK : tsr_err_nomem(err);
}

enum tsr_status tsri_run_full(const struct tsr_machine *m, const struct tsr_run_layer_plan *l,
                              uint64_t layer, uint64_t seed, struct tsri_tables *tables,
                              struct tsr_arena *arena, const struct tsr_run_numeric **rows,
                              size_t *n, struct tsr_err *err) {
  struct full f = {.tables = tables};
  struct tsri_trace trace;
  enum tsr_status st = tsri_operands_init(&f.o, m, l, layer, seed, err);
  if (st) return st;
  if (f.o.unit->scale)
    st = tsr_err_set(
        err, TSR_INPUT,
        "matrix unit '%s' takes block scales, which the operands of a run have not; "
        "expected a unit without scales for --numerics",
        f.o.unit->name);
  if (!st) st = tsri_run_cuts(l, &f.cuts, &f.n_cuts, err);
  if (!st) st = open_layer(&f, err);
  if (!st) st = compute(&f, err);
  if (!st) st = tsri_run_trace(&f.o, &trace, err);
  if (!st) {
    struct tsr_run_numeric *list = tsr_arena_array(arena, PARTS + 2 * trace.n, sizeof *list);
    *n = 0;
    st = list ? fill_rows(&f, &trace, arena, list, n, err) : tsr_err_nomem(err);
    *rows = list;
  }
  close_layer(&f);
  return st;
}
