/* The epilogue of a layer: steps of the vector unit behind a product (kernels/lower/lower.h).
 *
 * Parameters (bias, batchnorm, scales) are in fp32, another operator's result in the format of
 * this one's.  Values are drawn like operands; what divides or scales lies between 1/2 and 3/2
 * times a power of two that brings sums into the range of the result.  The results of a layer
 * are computed a second time from the operator's own sums, by models/arith/vector.h on whole
 * matrices; with the lowering this shares the list of vector operations of a step. */
#include <string.h>

#include "models/arith/gemm.h"
#include "models/arith/vector.h"
#include "sim/base/rng.h"
#include "sim/run/run_int.h"

enum { STREAM_BIT = 60 };

enum tsr_with tsri_epilogue_with(const struct tsr_run_layer_plan *l, size_t step,
                                 unsigned *rows) {
  const struct tsr_op_step *s = &l->op->step[step];
  return tsr_lower_step_operand(s->kind, s->with, rows);
}

const struct tsr_format *tsri_epilogue_format(const struct tsr_run_layer_plan *l, size_t step) {
  unsigned rows;
  bool full = tsri_epilogue_with(l, step, &rows) == TSR_WITH_FULL;
  return full ? l->out : tsr_format_find("fp32");
}

static uint32_t bytes_of(const struct tsr_run_layer_plan *l, size_t step) {
  return (uint32_t)tsr_ceil_div(tsri_epilogue_format(l, step)->bits, 8);
}

uint64_t tsri_epilogue_elems(const struct tsr_run_layer_plan *l, size_t step) {
  const struct tsr_op *op = l->op;
  unsigned rows;
  enum tsr_with with = tsri_epilogue_with(l, step, &rows);
  const uint64_t each[TSR_WITH_COUNT_] = {[TSR_WITH_FULL] = op->m * op->n,
                                          [TSR_WITH_ROW] = op->n,
                                          [TSR_WITH_COL] = op->m,
                                          [TSR_WITH_SCALAR] = 1};
  return rows * each[with] * op->count;
}

bool tsri_epilogue_whole(const struct tsr_run_layer_plan *l) {
  for (size_t i = 0; i < l->op->n_steps; i++)
    if (l->op->step[i].kind == TSR_OP_QUANTISE && l->out->is_int) return true;
  return false;
}

enum tsr_status tsri_epilogue_check(const struct tsr_run_layer_plan *l, struct tsr_err *err) {
  unsigned rows, all = 0;
  for (size_t i = 0; i < l->op->n_steps; i++) {
    enum tsr_with with = tsri_epilogue_with(l, i, &rows);
    all += rows;
    if (rows && l->op->has_conv && l->op->count > 1 &&
        (with == TSR_WITH_COL || with == TSR_WITH_SCALAR))
      return tsr_err_at(err, TSR_INPUT, &l->op->pos,
                        "layer '%s': step '%s' of a convolution with groups takes one operand "
                        "for each of them; expected `row` or `full`",
                        l->op->name, tsr_op_kind_name(l->op->step[i].kind));
  }
  if (all > TSR_EPILOGUE_OPERANDS)
    return tsr_err_at(err, TSR_INPUT, &l->op->pos,
                      "the epilogue of layer '%s' has %u rows of second operands; expected at "
                      "most %d",
                      l->op->name, all, TSR_EPILOGUE_OPERANDS);
  if (tsri_epilogue_whole(l) && tsr_ceil_div(l->acc->bits, 8) != 4)
    return tsr_err_at(err, TSR_INPUT, &l->op->pos,
                      "layer '%s' quantises sums in %s; expected an accumulator of 4 bytes",
                      l->op->name, l->format_acc);
  return TSR_OK;
}

void tsri_epilogue_target(const struct tsr_run_layer_plan *l, struct tsr_target *t) {
  t->epilogue = l->op->n_steps != 0;
  t->group_alone = false;
  t->row_bytes = t->col_bytes = t->full_bytes = t->one_bytes = 0;
  for (size_t i = 0; i < l->op->n_steps; i++) {
    unsigned rows;
    enum tsr_with with = tsri_epilogue_with(l, i, &rows);
    uint32_t *const to[TSR_WITH_COUNT_] = {[TSR_WITH_FULL] = &t->full_bytes,
                                           [TSR_WITH_ROW] = &t->row_bytes,
                                           [TSR_WITH_COL] = &t->col_bytes,
                                           [TSR_WITH_SCALAR] = &t->one_bytes};
    if (!rows) continue;
    *to[with] += rows * bytes_of(l, i);
    bool shared = with == TSR_WITH_ROW || with == TSR_WITH_SCALAR;
    if (shared && !l->op->has_conv) t->group_alone = true;
  }
}

void tsri_epilogue_layout(const struct tsr_run_layer_plan *l, struct tsr_layout *out) {
  out->n_steps = l->op->n_steps;
  out->whole = tsri_epilogue_whole(l);
  out->epilogue = l->separate ? TSR_EPILOGUE_SEPARATE : TSR_EPILOGUE_FUSED;
  for (size_t i = 0; i < l->op->n_steps; i++)
    out->step[i] = (struct tsr_lower_step){
        .does = l->op->step[i], .base_bytes = l->step_bytes[i], .bytes = bytes_of(l, i)};
}

/* ---- values ---- */

/* The power of two that brings sums (of variance K, in units of drawn integers) to what the
 * result holds. */
static int scale_exp(const struct tsri_operands *o) {
  int e = 0;
  for (uint64_t k = o->k; k >= 4; k /= 4) e++;
  if (!o->l->scale) e += ((o->a->is_int ? 1 : 0) + (o->b->is_int ? 1 : 0)) * TSR_DRAW_INT_SCALE;
  return o->out->is_int ? e - TSR_DRAW_INT_SCALE : e;
}

uint64_t tsri_epilogue_operand(const struct tsri_operands *o, size_t step, uint64_t index) {
  const struct tsr_format *f = tsri_epilogue_format(o->l, step);
  enum tsr_op_kind kind = o->l->op->step[step].kind;
  uint64_t stream = UINT64_C(1) << STREAM_BIT | o->layer << 4 | step;
  float from;
  if (kind != TSR_OP_QUANTISE && kind != TSR_OP_DEQUANTISE && kind != TSR_OP_DIV)
    return tsr_draw_quantise(f, tsr_draw_normal(o->seed, stream, index), TSR_DRAW_INT_SCALE,
                             &from);
  double v = 0.5 + (double)(tsr_rng_u64(o->seed, stream, index) >> 40) / (1 << 24);
  int e = kind == TSR_OP_DEQUANTISE ? -scale_exp(o) : scale_exp(o);
  for (; e > 0; e--) v *= 2;
  for (; e < 0; e++) v /= 2;
  return tsr_arith_from_double(f, TSR_ROUND_RNE, v, NULL);
}

/* ---- results ---- */

struct block {
  const struct tsri_operands *o;
  const uint8_t *const *data;
  uint64_t row, rows, col, cols;
  void *at, *b; /* codes of results; of an operand */
  const struct tsr_format *f;
};

/* Where element (i, j) of the block meets an operand's row. */
static uint64_t place(const struct block *x, enum tsr_with with, unsigned row, uint64_t i,
                      uint64_t j) {
  const struct tsr_op *op = x->o->l->op;
  uint64_t group = (x->row + i) / op->m, m = (x->row + i) % op->m;
  switch (with) {
  case TSR_WITH_FULL: return tsri_operand_c_index(x->o, x->row + i, x->col + j);
  case TSR_WITH_ROW: return (row * op->count + group) * op->n + x->col + j;
  case TSR_WITH_COL: return group * op->m + m;
  default: return group;
  }
}

/* Results keep a code each in 8 bytes between operations; tsr_vec_run wants its own form. */
static void *packed(const struct tsr_format *f, const uint64_t *codes, uint64_t n, void *to) {
  size_t bytes = tsr_gemm_code_bytes(f);
  for (uint64_t i = 0; i < n; i++) memcpy((char *)to + i * bytes, &codes[i], bytes);
  return to;
}

static void take_operand(const struct block *x, size_t step, unsigned row, uint64_t *codes) {
  unsigned rows;
  enum tsr_with with = tsri_epilogue_with(x->o->l, step, &rows);
  uint32_t elem = bytes_of(x->o->l, step);
  for (uint64_t i = 0; i < x->rows; i++)
    for (uint64_t j = 0; j < x->cols; j++) {
      uint64_t code = 0, at = place(x, with, row, i, j) * elem;
      memcpy(&code, x->data[step] + at, elem);
      codes[i * x->cols + j] = code;
    }
}

/* One operation: operands element by element, whatever is shared. */
static void run_one(struct block *x, size_t step, const struct tsr_vector_step *s,
                    uint64_t *codes, uint64_t *second) {
  const struct tsr_run_layer_plan *l = x->o->l;
  uint64_t n = x->rows * x->cols;
  bool four = tsri_run_sum_bytes(l) == 4;
  const struct tsr_format *d = four ? tsr_format_find("fp32") : x->o->sum;
  if (s->op == TSR_VEC_QUANTISE && tsri_epilogue_whole(l)) d = tsr_format_find("int32");
  struct tsr_vec_job job = {
      .op = (enum tsr_vec_op)s->op,
      .rows = x->rows,
      .cols = x->cols,
      .a = {packed(x->f, codes, n, x->at), x->f, x->cols},
      .spread = TSR_VEC_EACH,
      .d = codes,
      .d_format = d,
      .ldd = x->cols,
      .imm = tsr_lower_step_imm(&l->op->step[step], (enum tsr_step_imm)s->imm),
      .first = true,
      .lanes = 1};
  if (s->b != TSR_STEP_NONE) {
    const struct tsr_format *f = tsri_epilogue_format(l, step);
    take_operand(x, step, s->b == TSR_STEP_B1, second);
    job.b = (struct tsr_vec_in){packed(f, second, n, x->b), f, x->cols};
  }
  tsr_vec_run(&job, NULL, NULL);
  size_t bytes = tsr_gemm_code_bytes(d);
  for (uint64_t i = n; i-- > 0;) { /* spread out again, the last first */
    uint64_t code = 0;
    memcpy(&code, (const char *)codes + i * bytes, bytes);
    codes[i] = code;
  }
  x->f = d;
}

enum tsr_status tsri_epilogue_run(const struct tsri_operands *o, const uint8_t *const *data,
                                  uint64_t row, uint64_t rows, uint64_t col, uint64_t cols,
                                  uint64_t *codes, struct tsr_err *err) {
  struct block x = {o, data, row, rows, col, cols, NULL, NULL, o->sum};
  x.at = tsr_mem_array(rows * cols, sizeof *codes);
  x.b = tsr_mem_array(rows * cols, sizeof *codes);
  uint64_t *second = tsr_mem_array(rows * cols, sizeof *second);
  bool there = x.at && x.b && second;
  for (size_t i = 0; there && i < o->l->op->n_steps; i++) {
    struct tsr_vector_step list[TSR_STEPS_MAX];
    size_t n = tsr_lower_step_list(&o->l->op->step[i], list);
    for (size_t j = 0; j < n; j++) run_one(&x, i, &list[j], codes, second);
  }
  for (uint64_t i = 0; there && i < rows * cols; i++) {
    struct tsr_num v = tsr_arith_decode(x.f, codes[i]);
    unsigned events = 0;
    v.exp -= o->shift;
    codes[i] = tsr_arith_encode(o->out, TSR_ROUND_RNE, &v, &events);
  }
  tsr_mem_free(x.at);
  tsr_mem_free(x.b);
  tsr_mem_free(second);
  return there ? TSR_OK : tsr_err_nomem(err);
}
