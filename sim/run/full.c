/* Numeric figures of a whole layer (`--numerics full`).
 *
 * Operands, those that sampled outputs have too (operand.h), are drawn into the DRAM
 * image, or handed on from the layers before (hand.h); the program moves and multiplies them
 * (sim/engine/values.h).  What it left in memory, outputs and the accumulators that they came
 * from, must equal the operator's own product (models/arith/gemm.h, with the program's K cuts)
 * bit for bit, or the run fails; it is held against the exact sum of the same operands
 * (kernels/check/exact.h).  Work goes in panels of columns and strips of rows, in a fixed
 * order: figures do not depend on threads.
 *
 * Rows, all of [0, K): `out` the outputs; `acc` the accumulators, in ulp of their own
 * format; then the error in parts, all in ulp of the output: `quantisation` (exact
 * sum of the quantised operands against that of the fp32 ones), `accumulation`,
 * `rounding`, and `unquantised` (outputs against the fp32 operands).  Behind them the
 * sampled outputs along K (trace.c): `acc` [0, to) what is held there, `range` [from,
 * to) what that range lost.
 *
 * Memory: A as codes and fp32, one panel of B likewise, buffers of fixed size; the image
 * holds A, B, the outputs and their accumulators, and a note for each byte written.
 * Overflow and subnormal_in here are what operands and results show; swamped terms
 * are counted on the sampled outputs. */
#include <inttypes.h>
#include <string.h>

#include "kernels/check/bound.h"
#include "kernels/check/exact.h"
#include "models/arith/gemm.h"
#include "sim/base/log.h"
#include "sim/run/hand.h"
#include "sim/run/loose.h"
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

/* What whole layers share: tables of drawn values, one for each format. */
struct tables {
  struct tsr_draw_table **list; /* owned, as what it holds */
  size_t n, cap;
};

struct full { /* a layer at work */
  struct tsri_operands o;
  struct tsr_values *values;
  struct tsri_cut *cuts;
  size_t n_cuts;
  struct block tensor, strip, panel; /* all of A; ROWS x K; K x COLS */
  void *ready;                       /* the panel as it is multiplied; NULL: as it is */
  uint32_t *wide;                    /* the panel times its scales, in fp32 */
  uint64_t *scale;                   /* the scales of a panel: by tile of k and column */
  void *at_work;                     /* ROWS x COLS accumulators of the operator … */
  struct tsri_sums *sums;            /* … and sums */
  size_t acc_bytes;
  const uint8_t *step[TSR_EPILOGUE_MAX]; /* second operands of the epilogue, in the image */
  uint64_t *behind;                      /* results of a strip behind it */
  const uint8_t *out, *acc;              /* what the program left: codes in the image */
  uint64_t wrong, wrong_row, wrong_col, wrong_got, wrong_want;
  struct tables *tables;
  struct tsr_draw_table *draw_a, *draw_b; /* of them */
  uint64_t run;                           /* elements of A that lie side by side along k */
  bool *subnormal_code; /* of A's format, by code; NULL: it has none that is drawn */
  bool *subnormal_b;
  struct tsr_exact_plan plan;
  struct tsr_exact *exact; /* NULL: their values span too many bits; then … */
  struct tsri_loose *loose;
  struct tsri_hand *hand; /* NULL: all operands are drawn */
  struct block given;     /* all of B, where it is handed on */
  size_t index;
  struct tsr_check check[PARTS];
};

struct tsri_full {
  const struct tsr_run_plan *plan;
  struct tsr_values *values;
  struct tsri_hand *hand; /* NULL: all operands are drawn */
  uint64_t seed;
  struct full **layer; /* by index; NULL: not at work */
  struct tables tables;
};

/* ---- tables ---- */

static enum tsr_status table_for(struct tables *t, const struct tsr_format *f,
                                 struct tsr_draw_table **out, struct tsr_err *err) {
  for (size_t i = 0; i < t->n; i++)
    if (tsr_draw_table_format(t->list[i]) == f) {
      *out = t->list[i];
      return TSR_OK;
    }
  if (!tsr_mem_grow((void **)&t->list, &t->cap, t->n + 1, sizeof(struct tsr_draw_table *)))
    return tsr_err_nomem(err);
  enum tsr_status st = tsr_draw_table_create(f, &t->list[t->n], err);
  if (!st) *out = t->list[t->n++];
  return st;
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

/* Scales lie between 1/2 and 3/2 times a power of two. */
static void add_scale_range(const struct full *f, struct tsr_exact_range *b) {
  int exp = 0;
  double one = tsr_arith_to_double(f->o.l->scale, tsri_operand_scale(&f->o, 0));
  while (one < 0.5) one *= 2, exp--;
  b->msb += exp + 2;
  b->lsb += exp - 3 - f->o.l->scale->man_bits;
}

/* The range of an operand: of its values, or of those that may be drawn. */
static void range_of(const struct tsri_given *given, const struct tsr_format *f, uint64_t n,
                     struct tsr_exact_range *out) {
  if (!given->codes) {
    tsr_draw_normal_range(f, out);
    return;
  }
  tsr_exact_range_init(out);
  for (uint64_t i = 0; i < n; i++) {
    struct tsr_num v = tsr_arith_decode(f, tsr_exact_code(given->codes, given->bytes, i));
    tsr_exact_range_add(out, &v);
  }
}

static enum tsr_status plan_layer(struct full *f, uint64_t n_a, uint64_t n_b, bool *exact,
                                  struct tsr_err *err) {
  struct tsr_exact_range a, b;
  range_of(&f->o.given[TSRI_TENSOR_A], f->o.a, n_a, &a);
  range_of(&f->o.given[TSRI_TENSOR_B], f->o.b, n_b, &b);
  if (f->o.l->scale) add_scale_range(f, &b);
  *exact = a.any && b.any && tsr_exact_plan_make(&a, &b, f->o.k, &f->plan);
  if (*exact || f->o.given[TSRI_TENSOR_A].codes || f->o.given[TSRI_TENSOR_B].codes)
    return TSR_OK;
  return tsr_err_set(err, TSR_INPUT,
                     "the values of layer '%s' in %s and %s span too many bits for --numerics "
                     "full; --numerics sample has no such bound",
                     f->o.l->op->name, f->o.a->name, f->o.b->name);
}

/* Operands that are handed on, all of them. */
static enum tsr_status take(struct full *f, int operand, const struct tsr_format *fmt,
                            uint64_t n, struct block *to, struct tsr_err *err) {
  if (!tsri_hand_has(f->hand, f->index, operand)) return TSR_OK;
  if (!to->codes && !block_make(to, fmt, n, 0)) return tsr_err_nomem(err);
  f->o.given[operand] = (struct tsri_given){to->codes, to->bytes, to->from};
  return tsri_hand_take(f->hand, f->index, operand, fmt, n, to->codes, to->from, err);
}

static enum tsr_status open_layer(struct full *f, struct tsr_err *err) {
  const struct tsri_operands *o = &f->o;
  uint64_t a, b, c, strip, panel;
  TSR_CHECK(tsr_op_elems(o->l->op, &a, &b, &c)); /* the plan has checked it */
  uint64_t rows = tsr_min_u64(ROWS, o->l->op->m), cols = tsr_min_u64(COLS, o->l->op->n);
  if (!tsr_mul_u64(rows, o->k, &strip) || !tsr_mul_u64(cols, o->k, &panel))
    return tsr_err_nomem(err);
  f->acc_bytes = tsr_gemm_code_bytes(o->unit->acc);
  if (o->mm_b != o->b) {
    f->ready = tsr_mem_array(panel, tsr_gemm_code_bytes(o->mm_b));
    if (!f->ready) return tsr_err_nomem(err);
  }
  if (o->l->scale) {
    f->wide = tsr_mem_array(panel, sizeof *f->wide);
    f->scale = tsr_mem_array(panel, sizeof *f->scale);
    if (!f->wide || !f->scale) return tsr_err_nomem(err);
  }
  f->at_work = tsr_mem_array(rows * cols, f->acc_bytes);
  f->sums = tsr_mem_array(rows * cols, sizeof *f->sums);
  if (!f->at_work || !f->sums || !block_make(&f->tensor, o->a, a, 0) ||
      !block_make(&f->strip, o->a, strip, rows) || !block_make(&f->panel, o->b, panel, cols))
    return tsr_err_nomem(err);
  f->behind = tsr_mem_array(rows * cols, sizeof *f->behind);
  if (!f->behind) return tsr_err_nomem(err);
  if (!subnormal_codes(o->a, &f->subnormal_code) || !subnormal_codes(o->b, &f->subnormal_b))
    return tsr_err_nomem(err);
  const struct tsr_op *op = o->l->op;
  f->run = op->has_conv ? op->conv.in_c / op->conv.groups : o->k;
  enum tsr_status st = table_for(f->tables, o->a, &f->draw_a, err);
  if (!st) st = table_for(f->tables, o->b, &f->draw_b, err);
  bool exact = true;
  if (!st) st = take(f, TSRI_HAND_A, o->a, a, &f->tensor, err);
  if (!st) st = take(f, TSRI_HAND_B, o->b, b, &f->given, err);
  if (!st) st = plan_layer(f, a, b, &exact, err);
  if (st) return st;
  for (int p = 0; p < PARTS; p++) tsr_check_init(&f->check[p], p == ACC ? o->sum : o->shown);
  if (!exact) return tsri_loose_create(rows, cols, o->k, &f->loose, err);
  return tsr_exact_create(o->a, o->exact_b, rows, cols, &f->exact, err);
}

static void close_layer(struct full *f) {
  block_free(&f->tensor);
  block_free(&f->strip);
  block_free(&f->panel);
  tsr_mem_free(f->subnormal_code);
  tsr_mem_free(f->subnormal_b);
  tsr_mem_free(f->at_work);
  tsr_mem_free(f->ready);
  tsr_mem_free(f->wide);
  tsr_mem_free(f->behind);
  tsr_mem_free(f->scale);
  tsr_mem_free(f->sums);
  tsr_mem_free(f->cuts);
  tsr_exact_destroy(f->exact);
  tsri_loose_destroy(f->loose);
  block_free(&f->given);
  tsr_mem_free(f);
}

/* ---- operands ---- */

static void draw_a(struct full *f) {
  enum { PIECE = 1 << 20 };
  uint64_t n, b, c, stream = tsri_operand_stream(&f->o, TSRI_TENSOR_A);
  if (f->o.given[TSRI_TENSOR_A].codes) return;
  TSR_CHECK(tsr_op_elems(f->o.l->op, &n, &b, &c));
  for (uint64_t at = 0; at < n && !tsr_interrupted; at += PIECE)
    tsr_draw_normal_many(f->draw_a, f->o.seed, stream, at, tsr_min_u64(PIECE, n - at),
                         (char *)f->tensor.codes + at * f->tensor.bytes, f->tensor.from + at);
}

/* Codes of n elements into the image, an element in its own bytes. */
static void put_codes(const struct block *b, uint64_t n, uint32_t elem, uint8_t *to) {
  if (elem == b->bytes) {
    memcpy(to, b->codes, n * elem);
    return;
  }
  for (uint64_t i = 0; i < n; i++) {
    uint64_t code = tsr_exact_code(b->codes, b->bytes, i);
    for (uint32_t j = 0; j < elem; j++) to[i * elem + j] = (uint8_t)(code >> 8 * j);
  }
}

/* All of B, a piece at a time. */
static void draw_b(struct full *f, uint8_t *to) {
  uint64_t a, n, c, stream = tsri_operand_stream(&f->o, TSRI_TENSOR_B);
  uint64_t piece = f->o.k * tsr_min_u64(COLS, f->o.l->op->n); /* the panel's size */
  uint32_t elem = f->o.l->shape.b_bytes;
  TSR_CHECK(tsr_op_elems(f->o.l->op, &a, &n, &c));
  if (f->given.codes) {
    put_codes(&f->given, n, elem, to);
    return;
  }
  for (uint64_t at = 0; at < n && !tsr_interrupted; at += piece) {
    uint64_t many = tsr_min_u64(piece, n - at);
    tsr_draw_normal_many(f->draw_b, f->o.seed, stream, at, many, f->panel.codes, f->panel.from);
    put_codes(&f->panel, many, elem, to + at * elem);
  }
}

/* Row k of the panel times its scales. */
static void scale_row(struct full *f, uint64_t group, uint64_t col, uint64_t k, uint64_t n) {
  const void *row = (const char *)f->panel.codes + k * n * f->panel.bytes;
  uint64_t index = tsri_operand_scale_index(&f->o, group, k, col);
  for (uint64_t j = 0; j < n; j++) {
    uint64_t s = tsri_operand_scale(&f->o, index + j), at = k * n + j;
    f->scale[at] = s;
    f->wide[at] =
        (uint32_t)tsri_operand_scaled(&f->o, tsr_exact_code(row, f->panel.bytes, j), s);
    f->panel.from[at] *= (float)tsr_arith_to_double(f->o.l->scale, s);
  }
}

/* Columns [col, col + n) of a group. */
static void draw_panel(struct full *f, uint64_t group, uint64_t col, uint64_t n) {
  uint64_t stream = tsri_operand_stream(&f->o, TSRI_TENSOR_B);
  memset(f->panel.subnormal, 0, n * sizeof *f->panel.subnormal);
  for (uint64_t k = 0; k < f->o.k; k++) {
    char *row = (char *)f->panel.codes + k * n * f->panel.bytes;
    uint64_t at = tsri_operand_b_index(&f->o, group, k, col);
    if (f->given.codes) {
      memcpy(row, (char *)f->given.codes + at * f->panel.bytes, n * f->panel.bytes);
      memcpy(f->panel.from + k * n, f->given.from + at, n * sizeof(float));
    } else {
      tsr_draw_normal_many(f->draw_b, f->o.seed, stream, at, n, row, f->panel.from + k * n);
    }
    for (uint64_t j = 0; f->subnormal_b && j < n; j++)
      if (f->subnormal_b[tsr_exact_code(row, f->panel.bytes, j)]) f->panel.subnormal[j] = true;
    if (f->o.l->scale) scale_row(f, group, col, k, n);
  }
  for (uint64_t i = 0; f->ready && i < f->o.k * n; i++) {
    uint64_t code = tsr_exact_code(f->panel.codes, f->panel.bytes, i);
    tsr_exact_code_set(f->ready, tsr_gemm_code_bytes(f->o.mm_b), i,
                       tsri_operand_ready(&f->o, code));
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
  return v / (double)(UINT64_C(1) << f->o.shown_shift);
}

/* The error in parts, all finite. */
static void add_parts(struct full *f, tsr_i128 sum, const struct tsr_num *acc,
                      const struct tsr_num *out, double abs, double from) {
  int lsb = f->plan.lsb - f->o.shown_shift;
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

/* The error in parts where sums are double-doubles. */
static void add_loose_parts(struct full *f, double s, double acc, double out, double abs,
                            double from) {
  tsr_check_add_diff(&f->check[QUANTISATION], s, s - from, abs);
  tsr_check_add_diff(&f->check[ACCUMULATION], s, acc - s, abs);
  tsr_check_add_diff(&f->check[ROUNDING], s, out - acc, abs);
  tsr_check_add_diff(&f->check[UNQUANTISED], from, out - from, abs);
}

/* hi + lo, over 2^shift. */
static struct tsr_ref loose_ref(double hi, double lo, int shift) {
  struct tsr_ref r;
  const double part[2] = {hi, lo};
  tsr_ref_init(&r);
  for (int i = 0; i < 2; i++) {
    uint64_t bits;
    memcpy(&bits, &part[i], sizeof bits);
    struct tsr_num v = tsr_arith_decode(tsr_format_find("fp64"), bits);
    if (v.cls == TSR_NUM_ZERO) continue;
    v.exp -= shift;
    tsr_ref_add(&r, &v);
  }
  return r;
}

/* Figures of a result whose sum is a double-double; code: of the sum, shown: of the result. */
static void add_loose(struct full *f, uint64_t i, uint64_t j, uint64_t code, uint64_t shown,
                      unsigned events, unsigned out_events) {
  const struct tsri_operands *o = &f->o;
  double hi, lo, abs = tsri_loose_abs(f->loose, i, j);
  tsri_loose_sum(f->loose, i, j, &hi, &lo);
  struct tsr_ref sum = loose_ref(hi, lo, 0), scaled = loose_ref(hi, lo, o->shown_shift);
  tsr_check_add_abs(&f->check[ACC], &sum, code, events, abs);
  tsr_check_add_abs(&f->check[OUT], &scaled, shown, events | out_events, shifted(f, abs));
  double acc = shifted(f, tsr_arith_to_double(o->sum, code)),
         out = tsr_arith_to_double(o->shown, shown), s = shifted(f, hi);
  if (magnitude(acc) <= 0x1p1000 && magnitude(out) <= 0x1p1000 && magnitude(s) <= 0x1p1000)
    add_loose_parts(f, s, acc, out, shifted(f, abs),
                    shifted(f, tsri_loose_from(f->loose, i, j)));
}

/* What the program left for an output; the sum that it came from. */
static uint64_t left(const struct full *f, uint64_t row, uint64_t col, uint64_t *acc) {
  uint64_t index = tsri_operand_c_index(&f->o, row, col), out = 0;
  const uint32_t elem = f->o.l->shape.out_bytes, from = tsri_run_sum_bytes(f->o.l);
  *acc = 0;
  for (uint32_t i = 0; i < from; i++) *acc |= (uint64_t)f->acc[index * from + i] << 8 * i;
  for (uint32_t i = 0; i < elem; i++) out |= (uint64_t)f->out[index * elem + i] << 8 * i;
  return out;
}

static void note_wrong(struct full *f, uint64_t row, uint64_t col, uint64_t got,
                       uint64_t want) {
  if (f->wrong++) return;
  f->wrong_row = row;
  f->wrong_col = col;
  f->wrong_got = got;
  f->wrong_want = want;
}

/* Result (i, j) of the strip at row, of the panel at col. */
static void add_result(struct full *f, uint64_t row, uint64_t col, uint64_t i, uint64_t j,
                       uint64_t cols) {
  const struct tsri_operands *o = &f->o;
  uint64_t code, out_code = left(f, row + i, col + j, &code);
  uint64_t want = f->sums[i * cols + j].total;
  if (o->l->op->n_steps) code = want; /* what was converted is behind the epilogue */
  unsigned events = f->strip.subnormal[i] || f->panel.subnormal[j] ? TSR_EVENT_SUBNORMAL_IN : 0;
  unsigned out_events = 0;
  uint64_t shown = tsri_operand_shown(o, want, &out_events);
  uint64_t out_want = o->l->op->n_steps ? f->behind[i * cols + j] : shown;
  if (code != want)
    note_wrong(f, row + i, col + j, code, want);
  else if (out_code != out_want)
    note_wrong(f, row + i, col + j, out_code, out_want);
  if (f->loose) {
    add_loose(f, i, j, code, shown, events, out_events);
    return;
  }
  tsr_i128 sum = tsr_exact_sum(f->exact, i, j);
  double abs = tsr_exact_abs(f->exact, i, j);
  struct tsr_num acc = tsr_arith_decode(o->sum, code);
  tsr_i128 fixed;
  /* An integer accumulator errs by leaving its range and by nothing else. */
  if (o->sum->is_int && (!tsr_check_fixed(&acc, f->plan.lsb, &fixed) || fixed != sum))
    events |= TSR_EVENT_OVERFLOW;
  tsr_check_add_fixed(&f->check[ACC], sum, f->plan.lsb, code, events, abs);
  acc.exp -= o->shown_shift;
  struct tsr_num out = tsr_arith_decode(o->shown, shown);
  abs = shifted(f, abs);
  tsr_check_add_fixed(&f->check[OUT], sum, f->plan.lsb - o->shown_shift, shown,
                      events | out_events, abs);
  if (acc.cls <= TSR_NUM_FINITE && out.cls <= TSR_NUM_FINITE)
    add_parts(f, sum, &acc, &out, magnitude(abs), shifted(f, tsr_exact_from(f->exact, i, j)));
}

/* The sums of a strip where a range ends. */
static void cut_sums(struct full *f, const struct tsri_cut *cut, uint64_t rows, uint64_t cols) {
  for (uint64_t i = 0; i < rows * cols; i++) {
    uint64_t scale = f->scale ? f->scale[(cut->end - 1) * cols + i % cols] : 0;
    f->sums[i].acc = tsr_exact_code(f->at_work, f->acc_bytes, i);
    tsri_sums_cut(&f->o, cut, scale, &f->sums[i], NULL);
    tsr_exact_code_set(f->at_work, f->acc_bytes, i, f->sums[i].acc);
  }
}

/* The operator's own product: the ranges of K one after the other (sums.c). */
static enum tsr_status multiply(struct full *f, uint64_t rows, uint64_t cols,
                                struct tsr_err *err) {
  const struct tsri_operands *o = &f->o;
  const char *a = f->strip.codes, *b = f->ready ? f->ready : f->panel.codes;
  const size_t b_bytes = tsr_gemm_code_bytes(o->mm_b);
  memset(f->at_work, 0, rows * cols * f->acc_bytes);
  memset(f->sums, 0, rows * cols * sizeof *f->sums);
  struct tsr_gemm g = {.unit = o->unit,
                       .m = rows,
                       .n = cols,
                       .lda = o->k,
                       .ldb = cols,
                       .c = f->at_work,
                       .ldc = cols,
                       .threads = 1};
  enum tsr_status st = TSR_OK;
  for (size_t i = 0, from = 0; !st && i < f->n_cuts; from = f->cuts[i++].end) {
    g.k = f->cuts[i].end - from;
    g.a = a + from * f->strip.bytes;
    g.b = b + from * cols * b_bytes;
    st = tsr_gemm_run(&g, NULL, NULL, err);
    if (!st) cut_sums(f, &f->cuts[i], rows, cols);
  }
  return st;
}

static enum tsr_status compute_strip(struct full *f, uint64_t row, uint64_t rows, uint64_t col,
                                     uint64_t cols, struct tsr_err *err) {
  const struct tsri_operands *o = &f->o;
  enum tsr_status st = multiply(f, rows, cols, err);
  for (uint64_t i = 0; i < rows * cols; i++) f->behind[i] = f->sums[i].total;
  if (!st && o->l->op->n_steps)
    st = tsri_epilogue_run(o, f->step, row, rows, col, cols, f->behind, err);
  if (st) return st;
  const struct tsr_exact_operand a = {o->a, f->strip.codes, o->k, f->strip.from};
  const void *codes = f->wide ? (const void *)f->wide : f->panel.codes;
  const struct tsr_exact_operand b = {o->exact_b, codes, cols, f->panel.from};
  if (f->loose)
    tsri_loose_run(f->loose, rows, cols, o->k, &a, &b);
  else
    tsr_exact_run(f->exact, &f->plan, rows, cols, o->k, &a, &b);
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t j = 0; j < cols; j++) add_result(f, row, col, i, j, cols);
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
    enum tsr_status st = compute_strip(f, group * op->m + row, rows, col, cols, err);
    if (st) return st;
  }
  return TSR_OK;
}

static enum tsr_status compute(struct full *f, struct tsr_err *err) {
  const struct tsr_op *op = f->o.l->op;
  uint64_t panels = tsr_ceil_div(op->n, COLS), done = 0;
  enum tsr_status st = TSR_OK;
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
  uint64_t longest, ranges;
  tsri_run_ranges(f->cuts, f->n_cuts, k_to, &longest, &ranges);
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

/* ---- a layer's life ---- */

enum tsr_status tsri_full_create(const struct tsr_run_plan *p, struct tsr_values *values,
                                 struct tsri_hand *hand, uint64_t seed, struct tsri_full **out,
                                 struct tsr_err *err) {
  struct tsri_full *f = tsr_mem_alloc(sizeof *f);
  if (!f) return tsr_err_nomem(err);
  f->plan = p;
  f->values = values;
  f->hand = hand;
  f->seed = seed;
  f->layer = tsr_mem_array(p->n_layers + 1, sizeof(struct full *));
  if (!f->layer) {
    tsr_mem_free(f);
    return tsr_err_nomem(err);
  }
  *out = f;
  return TSR_OK;
}

void tsri_full_destroy(struct tsri_full *f) {
  if (!f) return;
  for (size_t i = 0; i < f->plan->n_layers; i++)
    if (f->layer[i]) close_layer(f->layer[i]);
  for (size_t i = 0; i < f->tables.n; i++) tsr_draw_table_destroy(f->tables.list[i]);
  tsr_mem_free(f->tables.list);
  tsr_mem_free(f->layer);
  tsr_mem_free(f);
}

static enum tsr_status fill_scales(struct full *f, struct tsr_err *err) {
  const struct tsr_run_layer_plan *l = f->o.l;
  uint64_t n = tsri_run_scales(l), elem = tsr_ceil_div(l->scale->bits, 8);
  uint8_t *to;
  enum tsr_status st = tsr_values_tensor(f->values, l->scales_bytes, n * elem, true, &to, err);
  for (uint64_t i = 0; !st && i < n; i++) {
    uint64_t code = tsri_operand_scale(&f->o, i);
    for (uint64_t j = 0; j < elem; j++) to[i * elem + j] = (uint8_t)(code >> 8 * j);
  }
  return st;
}

static enum tsr_status fill_step(struct full *f, size_t step, struct tsr_err *err) {
  const struct tsr_run_layer_plan *l = f->o.l;
  uint64_t n = tsri_epilogue_elems(l, step);
  uint64_t elem = tsr_ceil_div(tsri_epilogue_format(l, step)->bits, 8);
  uint8_t *to;
  if (!n) return TSR_OK;
  enum tsr_status st =
      tsr_values_tensor(f->values, l->step_bytes[step], n * elem, true, &to, err);
  if (st) return st;
  f->step[step] = to;
  if (tsri_hand_has(f->hand, f->index, TSRI_HAND_STEP + (int)step)) {
    const struct tsr_format *fmt = tsri_epilogue_format(l, step);
    struct block b = {0};
    st = block_make(&b, fmt, n, 0) ? TSR_OK : tsr_err_nomem(err);
    if (!st)
      st = tsri_hand_take(f->hand, f->index, TSRI_HAND_STEP + (int)step, fmt, n, b.codes, NULL,
                          err);
    if (!st) put_codes(&b, n, (uint32_t)elem, to);
    block_free(&b);
    return st;
  }
  for (uint64_t i = 0; i < n; i++) {
    uint64_t code = tsri_epilogue_operand(&f->o, step, i);
    for (uint64_t j = 0; j < elem; j++) to[i * elem + j] = (uint8_t)(code >> 8 * j);
  }
  return TSR_OK;
}

/* Weights row by row become padded or tiled ones (kernels/mapping/mapping.h), in their place.
 */
static enum tsr_status lay_out_b(const struct tsr_run_layer_plan *l, uint64_t elems,
                                 uint8_t *to, struct tsr_err *err) {
  const struct tsr_shape *s = &l->shape;
  uint64_t n = s->size[TSR_AXIS_N], k = s->size[TSR_AXIS_C], pitch;
  uint64_t row = tsri_weight_row(l, &pitch), panels = n / row, bytes = row * s->b_bytes;
  if (!l->place.tiled) k = elems / n; /* all rows are of one panel */
  uint8_t *from = tsr_mem_array(elems, s->b_bytes);
  if (!from) return tsr_err_nomem(err);
  memcpy(from, to, elems * s->b_bytes);
  for (uint64_t i = 0; i < elems / row; i++) { /* in order of addresses */
    uint64_t g = i / (panels * k), panel = i / k % panels, at = i % k;
    uint64_t source = ((g * k + at) * panels + panel) * bytes;
    memcpy(to + i * pitch, from + source, bytes);
  }
  tsr_mem_free(from);
  return TSR_OK;
}

/* The tensors of the layer in the image: operands drawn, results never written. */
static enum tsr_status fill_image(struct full *f, struct tsr_err *err) {
  const struct tsr_run_layer_plan *l = f->o.l;
  const struct tsr_shape *s = &l->shape;
  uint64_t a, b, c;
  uint8_t *to = NULL, *kept = NULL;
  TSR_CHECK(tsr_op_elems(l->op, &a, &b, &c));
  enum tsr_status st =
      tsr_values_tensor(f->values, l->base_bytes[TSR_BUF_A], a * s->a_bytes, true, &to, err);
  if (st) return st;
  draw_a(f);
  put_codes(&f->tensor, a, s->a_bytes, to);
  uint64_t pitch, row = tsri_weight_row(l, &pitch);
  st = tsr_values_tensor(f->values, l->base_bytes[TSR_BUF_B], b / row * pitch, true, &to, err);
  if (st) return st;
  draw_b(f, to);
  if (pitch != s->size[TSR_AXIS_N] * s->b_bytes) st = lay_out_b(l, b, to, err);
  if (st) return st;
  if (tsr_interrupted)
    return tsr_err_set(err, TSR_SIM, "interrupted in layer '%s'; nothing was stored",
                       l->op->name);
  if (l->scale) st = fill_scales(f, err);
  for (size_t i = 0; !st && i < l->op->n_steps; i++) st = fill_step(f, i, err);
  if (st) return st;
  st =
      tsr_values_tensor(f->values, l->base_bytes[TSR_BUF_C], c * s->out_bytes, false, &to, err);
  if (!st)
    st = tsr_values_keep(f->values, l->base_bytes[TSR_BUF_C], s->out_bytes,
                         tsri_run_sum_bytes(l), &kept, err);
  if (!st && tsri_run_stored(l))
    st = tsr_values_tensor(f->values, l->parts_bytes,
                           tsri_run_stored(l) * c * tsri_run_sum_bytes(l), false, NULL, err);
  f->out = to;
  f->acc = kept;
  return st;
}

enum tsr_status tsri_full_begin(struct tsri_full *x, size_t layer, struct tsr_err *err) {
  const struct tsr_run_layer_plan *l = &x->plan->layers[layer];
  struct full *f = x->layer[layer] = tsr_mem_alloc(sizeof *f);
  if (!f) return tsr_err_nomem(err);
  f->tables = &x->tables;
  f->values = x->values;
  f->hand = x->hand;
  f->index = layer;
  enum tsr_status st = tsri_operands_init(&f->o, x->plan->machine, l, layer, x->seed, err);
  if (!st && f->o.unit->scale)
    st = tsr_err_set(
        err, TSR_INPUT,
        "matrix unit '%s' takes block scales, which the operands of a run have not; "
        "expected a unit without scales for --numerics",
        f->o.unit->name);
  if (!st) st = tsri_run_cuts(&f->o, &f->cuts, &f->n_cuts, err);
  if (!st) st = open_layer(f, err);
  return st ? st : fill_image(f, err);
}

static enum tsr_status check_complete(const struct full *f, struct tsr_err *err) {
  const struct tsr_run_layer_plan *l = f->o.l;
  uint64_t byte;
  if (!tsr_values_missing(f->values, l->base_bytes[TSR_BUF_C], &byte)) return TSR_OK;
  return tsr_err_set(err, TSR_SIM,
                     "layer '%s': the program never wrote byte %" PRIu64 " of the result",
                     l->op->name, byte);
}

static enum tsr_status check_equal(const struct full *f, struct tsr_err *err) {
  if (!f->wrong) return TSR_OK;
  return tsr_err_set(err, TSR_SIM,
                     "layer '%s': the program's result is not the operator's in %" PRIu64
                     " elements, the first at row %" PRIu64 ", column %" PRIu64
                     ": expected code 0x%" PRIx64 ", got 0x%" PRIx64,
                     f->o.l->op->name, f->wrong, f->wrong_row, f->wrong_col, f->wrong_want,
                     f->wrong_got);
}

/* The results go to whoever reads them; held against the reference they make a row. */
static enum tsr_status hand_on(const struct full *f, struct tsr_arena *arena,
                               struct tsr_run_numeric *rows, size_t *n, struct tsr_err *err) {
  const struct tsr_run_layer_plan *l = f->o.l;
  uint64_t a, b, c;
  if (!tsri_hand_keeps(f->hand, f->index, false)) return TSR_OK;
  TSR_CHECK(tsr_op_elems(l->op, &a, &b, &c));
  struct tsr_check *check = tsr_mem_alloc(sizeof *check);
  if (!check) return tsr_err_nomem(err);
  bool held = false;
  enum tsr_status st = tsri_hand_put(f->hand, f->index, false, l->out, l->shape.out_bytes, c,
                                     f->out, check, &held, err);
  if (!st && held) st = tsri_hand_row(check, arena, &rows[(*n)++], err);
  tsr_mem_free(check);
  return st;
}

enum tsr_status tsri_full_end(struct tsri_full *x, size_t layer, struct tsr_arena *arena,
                              const struct tsr_run_numeric **rows, size_t *n,
                              struct tsr_err *err) {
  struct full *f = x->layer[layer];
  struct tsri_trace trace;
  enum tsr_status st = check_complete(f, err);
  if (!st) st = compute(f, err);
  if (!st) st = check_equal(f, err);
  if (!st) st = tsri_run_trace(&f->o, &trace, err);
  if (!st) {
    struct tsr_run_numeric *list =
        tsr_arena_array(arena, PARTS + 2 * trace.n + 1, sizeof *list);
    *n = 0;
    st = list ? fill_rows(f, &trace, arena, list, n, err) : tsr_err_nomem(err);
    *rows = list;
    if (!st) st = hand_on(f, arena, list, n, err);
  }
  for (int t = 0; t < 3; t++) tsr_values_drop(x->values, f->o.l->base_bytes[t]);
  for (size_t i = 0; i < f->o.l->op->n_steps; i++)
    if (tsri_epilogue_elems(f->o.l, i)) tsr_values_drop(x->values, f->o.l->step_bytes[i]);
  if (f->o.l->scale) tsr_values_drop(x->values, f->o.l->scales_bytes);
  if (tsri_run_stored(f->o.l)) tsr_values_drop(x->values, f->o.l->parts_bytes);
  close_layer(f);
  x->layer[layer] = NULL;
  return st;
}
