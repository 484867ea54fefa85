/* The epilogue of a product: steps of the vector unit on a tile of results, in place, before
 * it is stored.  Second operands come beside the results in scratchpad c, each in a ring of
 * two, when the loops that they follow move on: a row of n once for all of m. */
#include "kernels/lower/lower_int.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"

enum {
  MASK_M = 1u << TSR_AXIS_B | 1u << TSR_AXIS_OH | 1u << TSR_AXIS_OW,
  MASK_G = 1u << TSR_AXIS_G,
  MASK_N = 1u << TSR_AXIS_N,
  SLOTS = TSR_PROMOTED_SLOTS
};

/* A convolution's groups are columns of its result. */
int64_t tsri_lower_rows(const struct tsri_lowering *lo) {
  return lo->s->conv ? MASK_M : MASK_G | MASK_M;
}
int64_t tsri_lower_cols(const struct tsri_lowering *lo) {
  return lo->s->conv ? MASK_G | MASK_N : MASK_N;
}

enum tsr_with tsr_lower_step_operand(enum tsr_op_kind kind, enum tsr_with with,
                                     unsigned *rows) {
  enum tsr_op_shape b = tsr_op_kind_info(kind)->b;
  *rows = b == TSR_SHAPE_NONE ? 0 : b == TSR_SHAPE_N2 ? 2 : 1;
  return b == TSR_SHAPE_N || b == TSR_SHAPE_N2 ? TSR_WITH_ROW : with;
}

/* The operator that a step is when it stands alone. */
static struct tsr_op alone(const struct tsr_op_step *s) {
  return (struct tsr_op){
      .kind = s->kind,
      .m = 1,
      .n = 1,
      .k = 1,
      .attr = {.with = s->with, .alpha = s->alpha, .beta = s->beta, .zero = s->zero}};
}

size_t tsr_lower_step_list(const struct tsr_op_step *s,
                           struct tsr_vector_step out[TSR_STEPS_MAX]) {
  const struct tsr_op op = alone(s);
  return tsr_lower_op_steps(&op, out);
}

uint32_t tsr_lower_step_imm(const struct tsr_op_step *s, enum tsr_step_imm imm) {
  const struct tsr_op op = alone(s);
  return tsr_lower_op_imm(&op, imm);
}

static uint32_t level_of(const struct tsri_lowering *lo, enum tsr_with with) {
  static const unsigned follows[TSR_WITH_COUNT_] = {[TSR_WITH_FULL] = MASK_G | MASK_M | MASK_N,
                                                    [TSR_WITH_ROW] = MASK_G | MASK_N,
                                                    [TSR_WITH_COL] = MASK_G | MASK_M,
                                                    [TSR_WITH_SCALAR] = MASK_G};
  uint32_t level = 0;
  for (uint32_t i = 0; i < lo->m->n_loops; i++)
    if (follows[with] & 1u << lo->m->loop[i].axis) level = i + 1;
  return level;
}

void tsri_lower_find_operands(struct tsri_lowering *lo) {
  for (size_t i = 0; i < lo->layout->n_steps; i++) {
    const struct tsr_lower_step *s = &lo->layout->step[i];
    unsigned rows;
    enum tsr_with with = tsr_lower_step_operand(s->does.kind, s->does.with, &rows);
    for (unsigned r = 0; r < rows; r++) {
      TSR_CHECK(lo->n_operands < TSR_EPILOGUE_OPERANDS);
      lo->operand[lo->n_operands++] = (struct tsri_operand_row){with, i, r, level_of(lo, with)};
    }
  }
}

/* The dimensions of the result that an operand has too. */
static void choose_dims(const struct tsri_lowering *lo, enum tsr_with with,
                        const struct tsri_tensor *c, struct tsri_tensor *x) {
  static const uint8_t matmul[TSR_WITH_COUNT_] = {
      [TSR_WITH_FULL] = 7, [TSR_WITH_ROW] = 5, [TSR_WITH_COL] = 3, [TSR_WITH_SCALAR] = 1};
  static const uint8_t conv[TSR_WITH_COUNT_] = {
      [TSR_WITH_FULL] = 15, [TSR_WITH_ROW] = 8, [TSR_WITH_COL] = 7, [TSR_WITH_SCALAR] = 0};
  unsigned set = lo->s->conv ? conv[with] : matmul[with];
  x->rank = 0;
  for (int i = 0; i < c->rank; i++)
    if (set & 1u << i) x->dim[x->rank++] = c->dim[i];
  if (!x->rank) x->dim[x->rank++] = (struct tsri_dim){.size = 1, .extent = 1, .step = 1};
}

static void describe_operand(struct tsri_lowering *lo, size_t i, const struct tsri_tensor *c) {
  const struct tsri_operand_row *o = &lo->operand[i];
  const struct tsr_lower_step *s = &lo->layout->step[o->step];
  struct tsri_tensor x = {.pad_bytes = 0};
  uint64_t all = s->bytes, tile = s->bytes;
  choose_dims(lo, o->with, c, &x);
  x.elem_bytes = s->bytes;
  for (int d = 0; d < x.rank; d++) {
    all *= x.dim[d].size;
    tile *= x.dim[d].extent;
  }
  int fmt = o->with == TSR_WITH_FULL ? TSRI_FMT_OUT : TSRI_FMT_SUM;
  tsri_lower_tensor(lo, TSRI_TENSOR_OPERANDS + (int)i, &x, fmt, s->base_bytes + o->row * all);
  const struct tsri_ring ring = {TSR_BUF_C, fmt, s->bytes, lo->used_c, tile, SLOTS, o->level};
  tsri_lower_place(lo, TSRI_PLACE_OPERANDS + (int)i, &ring);
  TSRI_EMIT(lo, SEM, TSRI_SEM_OPERAND_FREE + (int64_t)i, SLOTS);
  lo->used_c += SLOTS * tile;
}

/* The same bytes as a sum, in another format. */
static void describe_alias(struct tsri_lowering *lo, int place, int fmt) {
  uint64_t slot = tsri_lower_tile_c(lo->m) * tsri_lower_sum_bytes(lo);
  uint64_t base = lo->m->promoted ? SLOTS * tsri_lower_tile_c(lo->m) * lo->s->acc_bytes : 0;
  const struct tsri_ring ring = {TSR_BUF_C, fmt,   tsri_lower_sum_bytes(lo), base,
                                 slot,      SLOTS, lo->level[TSR_BUF_C]};
  tsri_lower_place(lo, place, &ring);
}

const char *const tsr_epilogue_names[] = {"fused", "separate", NULL};

void tsri_lower_describe_steps(struct tsri_lowering *lo, const struct tsri_tensor *c) {
  if (tsri_lower_separate(lo)) {
    struct tsri_tensor result = *c;
    result.elem_bytes = lo->s->out_bytes;
    tsri_lower_tensor(lo, TSRI_TENSOR_RESULT, &result, TSRI_FMT_OUT,
                      lo->layout->base_bytes[TSR_BUF_C]);
  }
  bool four = tsri_lower_sum_bytes(lo) == 4;
  describe_alias(lo, TSRI_PLACE_EACH, four ? TSRI_FMT_SUM : TSRI_FMT_ACC);
  if (lo->layout->whole) {
    TSRI_EMIT(lo, FORMAT, TSRI_FMT_WHOLE, tsr_isa_name(lo->p, "int32"));
    describe_alias(lo, TSRI_PLACE_WHOLE, TSRI_FMT_WHOLE);
  }
  for (size_t i = 0; i < lo->n_operands; i++) describe_operand(lo, i, c);
}

void tsri_lower_load_operands(struct tsri_lowering *lo, uint32_t level) {
  for (int i = 0; i < (int)lo->n_operands; i++) {
    if (lo->operand[i].level != level) continue;
    TSRI_EMIT(lo, WAIT, TSR_UNIT_LOAD, TSRI_SEM_OPERAND_FREE + i, TSR_GATE_START, 1);
    TSRI_EMIT(lo, LOAD, TSRI_TENSOR_OPERANDS + i, TSRI_PLACE_OPERANDS + i, TSR_TO_OWN);
    TSRI_EMIT(lo, SIGNAL, TSR_UNIT_LOAD, TSRI_SEM_OPERAND_FULL + i, TSR_WHEN_DONE, TSR_TO_OWN);
    TSRI_EMIT(lo, WAIT, TSR_UNIT_VECTOR, TSRI_SEM_OPERAND_FULL + i, TSR_GATE_START, 1);
  }
}

void tsri_lower_free_operands(struct tsri_lowering *lo, uint32_t level) {
  for (int i = 0; i < (int)lo->n_operands; i++)
    if (lo->operand[i].level == level)
      TSRI_EMIT(lo, SIGNAL, TSR_UNIT_VECTOR, TSRI_SEM_OPERAND_FREE + i, TSR_WHEN_READ,
                TSR_TO_OWN);
}

/* The operand's place of a step, its first or second row. */
static int operand_place(const struct tsri_lowering *lo, size_t step, unsigned row) {
  for (int i = 0; i < (int)lo->n_operands; i++)
    if (lo->operand[i].step == step && lo->operand[i].row == row)
      return TSRI_PLACE_OPERANDS + i;
  return 0; /* it has none: not looked at */
}

int tsri_lower_run_steps(struct tsri_lowering *lo) {
  int at = lo->m->promoted ? TSRI_PLACE_SUM : TSR_BUF_C;
  for (size_t i = 0; i < lo->layout->n_steps; i++) {
    const struct tsr_lower_step *s = &lo->layout->step[i];
    struct tsr_vector_step list[TSR_STEPS_MAX];
    size_t n = tsr_lower_step_list(&s->does, list);
    for (size_t j = 0; j < n; j++) {
      bool whole = list[j].op == TSR_VEC_QUANTISE && lo->layout->whole;
      int to = whole ? TSRI_PLACE_WHOLE : TSRI_PLACE_EACH;
      TSRI_EMIT(lo, VEC, list[j].op, to, at, operand_place(lo, i, list[j].b == TSR_STEP_B1),
                list[j].bc, tsri_lower_rows(lo), tsri_lower_cols(lo), 0,
                tsr_lower_step_imm(&s->does, (enum tsr_step_imm)list[j].imm));
      at = to;
    }
  }
  return at;
}
