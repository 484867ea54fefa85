/* Operands by value (sim/run/operand.h). */
#include "sim/run/operand.h"

#include "kernels/check/draw.h"
#include "kernels/check/exact.h"
#include "sim/base/rng.h"

enum { GRID = 8 };

uint64_t tsri_operand_stream(const struct tsri_operands *o, int tensor) {
  return o->layer << 2 | (uint64_t)tensor;
}

uint32_t tsri_run_sum_bytes(const struct tsr_run_layer_plan *l) {
  return l->mapping.promoted ? TSR_PROMOTED_BYTES : l->shape.acc_bytes;
}

uint64_t tsri_operand_ready(const struct tsri_operands *o, uint64_t b) {
  if (o->mm_b == o->b) return b;
  return tsr_arith_convert(o->b, b, o->mm_b, TSR_ROUND_RNE, NULL);
}

uint64_t tsri_run_stored(const struct tsr_run_layer_plan *l) {
  uint64_t parts = tsri_run_parts(l);
  return parts > 1 ? parts : l->separate;
}

uint64_t tsri_run_scales(const struct tsr_run_layer_plan *l) {
  return l->op->count * tsr_mapping_k_tiles(&l->shape, &l->mapping) * l->op->n;
}

/* Powers of two by which scales bring drawn integers back to variance 1. */
static int scale_down(const struct tsri_operands *o) {
  return ((o->a->is_int ? 1 : 0) + (o->b->is_int ? 1 : 0)) * TSR_DRAW_INT_SCALE;
}

uint64_t tsri_operand_scale(const struct tsri_operands *o, uint64_t index) {
  if (!o->l->scale) return 0;
  uint64_t u = tsr_rng_u64(o->seed, tsri_operand_stream(o, TSRI_TENSOR_SCALE), index) >> 40;
  double v = 0.5 + (double)u / (1 << 24);
  return tsr_arith_from_double(o->l->scale, TSR_ROUND_RNE, v / (1 << scale_down(o)), NULL);
}

uint64_t tsri_operand_scale_index(const struct tsri_operands *o, uint64_t group, uint64_t k,
                                  uint64_t col) {
  const struct tsr_run_layer_plan *l = o->l;
  uint64_t rows = tsr_mapping_k_tiles(&l->shape, &l->mapping);
  return (group * rows + tsr_mapping_k_index(&l->shape, &l->mapping, k)) * l->op->n + col;
}

uint64_t tsri_operand_scaled(const struct tsri_operands *o, uint64_t b, uint64_t scale) {
  if (!o->l->scale) return b;
  double v = tsr_arith_to_double(o->b, b) * tsr_arith_to_double(o->l->scale, scale);
  return tsr_arith_from_double(o->exact_b, TSR_ROUND_RNE, v, NULL); /* both exact */
}

uint64_t tsri_run_parts(const struct tsr_run_layer_plan *l) {
  uint64_t n = 1;
  for (int i = 0; i < 2; i++)
    if (l->split.axis[i] >= TSR_AXIS_KH) n = tsr_max_u64(n, l->split.parts[i]);
  return n;
}

/* Results of integers are requantised by a power of two, so that a sum of K
 * products of variance 2^(4*TSR_DRAW_INT_SCALE) has that scale again. */
uint32_t tsri_operand_shift(const struct tsr_run_layer_plan *l) {
  if (!l->out->is_int || l->out->bits >= l->acc->bits) return 0;
  for (size_t i = 0; i < l->op->n_steps; i++)
    if (l->op->step[i].kind == TSR_OP_QUANTISE) return 0; /* that brings them into range */
  unsigned log2k = 0;
  while (l->op->k >> (log2k + 1)) log2k++;
  return TSR_DRAW_INT_SCALE + (log2k + 1) / 2;
}

enum tsr_status tsri_operands_init(struct tsri_operands *o, const struct tsr_machine *m,
                                   const struct tsr_run_layer_plan *l, uint64_t layer,
                                   uint64_t seed, struct tsr_err *err) {
  *o = (struct tsri_operands){.l = l,
                              .a = l->a,
                              .b = l->b,
                              .mm_b = l->mm_b,
                              .acc = l->acc,
                              .out = l->out,
                              .exact_b = l->scale ? tsr_format_find("fp32") : l->b,
                              .sum = l->mapping.promoted ? tsr_format_find("fp32") : l->acc,
                              .seed = seed,
                              .layer = layer,
                              .k = l->op->k};
  enum tsr_status st = tsr_mma_resolve(m->mma, o->a, o->mm_b, o->acc, &o->spec, &o->unit, err);
  if (st) return st;
  o->shift = (int)l->shift;
  bool steps = l->op->n_steps != 0;
  o->shown = steps ? o->sum : o->out;
  o->shown_shift = steps ? 0 : o->shift;
  return TSR_OK;
}

uint64_t tsri_operand(const struct tsri_operands *o, int tensor, uint64_t index, float *from) {
  const struct tsri_given *given = tensor <= TSRI_TENSOR_B ? &o->given[tensor] : NULL;
  if (given && given->codes) {
    *from = given->from[index];
    return tsr_exact_code(given->codes, given->bytes, index);
  }
  float x = tsr_draw_normal(o->seed, tsri_operand_stream(o, tensor), index);
  return tsr_draw_quantise(tensor == TSRI_TENSOR_A ? o->a : o->b, x, TSR_DRAW_INT_SCALE, from);
}

bool tsri_operand_a_index(const struct tsri_operands *o, uint64_t row, uint64_t k,
                          uint64_t *index) {
  const struct tsr_op *op = o->l->op;
  uint64_t g = row / op->m, m = row % op->m;
  if (!op->has_conv) {
    *index = row * op->k + k;
    return true;
  }
  const struct tsr_conv *c = &op->conv;
  uint64_t per_group = c->in_c / c->groups;
  uint64_t ch = k % per_group, kw = k / per_group % c->k_w, kh = k / per_group / c->k_w;
  uint64_t ow = m % c->out_w, oh = m / c->out_w % c->out_h, b = m / c->out_w / c->out_h;
  uint64_t ih = oh * c->stride_h + kh * c->dil_h, iw = ow * c->stride_w + kw * c->dil_w;
  if (ih < c->pad_t || iw < c->pad_l) return false;
  ih -= c->pad_t;
  iw -= c->pad_l;
  if (ih >= c->in_h || iw >= c->in_w) return false;
  *index = ((b * c->in_h + ih) * c->in_w + iw) * c->in_c + g * per_group + ch;
  return true;
}

uint64_t tsri_operand_b_index(const struct tsri_operands *o, uint64_t group, uint64_t k,
                              uint64_t col) {
  return (group * o->k + k) * o->l->op->n + col;
}

uint64_t tsri_operand_c_index(const struct tsri_operands *o, uint64_t row, uint64_t col) {
  const struct tsr_op *op = o->l->op;
  uint64_t g = row / op->m, m = row % op->m;
  return op->has_conv ? (m * op->count + g) * op->n + col : row * op->n + col;
}

uint64_t tsri_operand_out(const struct tsri_operands *o, uint64_t sum, unsigned *events) {
  struct tsr_num v = tsr_arith_decode(o->sum, sum);
  v.exp -= o->shift;
  return tsr_arith_encode(o->out, TSR_ROUND_RNE, &v, events);
}

uint64_t tsri_operand_shown(const struct tsri_operands *o, uint64_t sum, unsigned *events) {
  return o->l->op->n_steps ? sum : tsri_operand_out(o, sum, events);
}

/* The i-th of n places spread over `size`, one in each stratum. */
static uint64_t place(const struct tsri_operands *o, uint64_t i, uint64_t n, uint64_t size,
                      uint64_t salt) {
  uint64_t lo = (uint64_t)((tsr_u128)i * size / n),
           hi = (uint64_t)((tsr_u128)(i + 1) * size / n);
  return lo + tsr_rng_u64(o->seed, tsri_operand_stream(o, TSRI_TENSOR_PICK), salt << 32 | i) %
                  (hi - lo);
}

struct tsri_grid tsri_operand_grid(const struct tsri_operands *o) {
  const struct tsr_op *op = o->l->op;
  uint64_t rows = op->m * op->count;
  struct tsri_grid g;
  g.rows = tsr_min_u64(rows, GRID);
  g.cols = tsr_min_u64(op->n, tsr_ceil_div(TSRI_SAMPLES, g.rows));
  g.rows = tsr_min_u64(rows, tsr_ceil_div(TSRI_SAMPLES, g.cols));
  return g;
}

void tsri_operand_place(const struct tsri_operands *o, const struct tsri_grid *g, uint64_t i,
                        uint64_t j, uint64_t *row, uint64_t *col) {
  *row = place(o, i, g->rows, o->l->op->m * o->l->op->count, 1);
  *col = place(o, j, g->cols, o->l->op->n, 2 + i);
}
