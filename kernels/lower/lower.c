/* The loops of a program, with what happens around and inside them. */
#include "kernels/lower/lower_int.h"
#include "models/arith/vector.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"

enum {
  MASK_K = 1u << TSR_AXIS_KH | 1u << TSR_AXIS_KW | 1u << TSR_AXIS_C,
  MASK_ROWS = 1u << TSR_AXIS_G | 1u << TSR_AXIS_B | 1u << TSR_AXIS_OH | 1u << TSR_AXIS_OW,
  MASK_COLS = 1u << TSR_AXIS_N
};

/* Loops over which sums accumulate. */
static int64_t k_loops(const struct tsr_mapping *m) {
  int64_t mask = 0;
  for (uint32_t i = 0; i < m->n_loops; i++)
    if (MASK_K & 1u << m->loop[i].axis) mask |= (int64_t)1 << i;
  return mask;
}

static void signal(struct tsri_lowering *lo, int unit, int sem, int when) {
  TSRI_EMIT(lo, SIGNAL, unit, sem, when, TSR_TO_OWN);
}

/* Who reads an operand as it was loaded, and the semaphore that says it is there. */
static int reader_of(const struct tsri_lowering *lo, int t) {
  return t == TSR_BUF_B && lo->layout->dequant ? TSR_UNIT_VECTOR : TSR_UNIT_TILE;
}
static int full_of(const struct tsri_lowering *lo, int t) {
  return reader_of(lo, t) == TSR_UNIT_VECTOR ? TSRI_SEM_RAW_FULL : TSRI_SEM_FULL + t;
}

/* For all cores, when a slot is free at each. */
static void emit_shared_load(struct tsri_lowering *lo, int t) {
  if (lo->core) return; /* the first does it */
  for (uint64_t c = 0; c < tsri_lower_cores(lo); c++)
    TSRI_EMIT(lo, WAIT, TSR_UNIT_LOAD, (int64_t)(TSRI_SEM_OF_CORE + c), TSR_GATE_START, 1);
  TSRI_EMIT(lo, LOAD, t, t, TSR_TO_ALL);
  TSRI_EMIT(lo, SIGNAL, TSR_UNIT_LOAD, full_of(lo, t), TSR_WHEN_DONE, TSR_TO_ALL);
}

/* Its reader has read an operand for the last time. */
static void emit_read(struct tsri_lowering *lo, int t) {
  int unit = reader_of(lo, t);
  if (lo->shared == t)
    TSRI_EMIT(lo, SIGNAL, unit, (int64_t)(TSRI_SEM_OF_CORE + lo->core), TSR_WHEN_READ,
              TSR_TO_FIRST);
  else
    signal(lo, unit, TSRI_SEM_FREE + t, TSR_WHEN_READ);
}

/* Weights become numbers of a's format: the vector unit takes each once a load. */
static void emit_dequant(struct tsri_lowering *lo) {
  TSRI_EMIT(lo, WAIT, TSR_UNIT_VECTOR, TSRI_SEM_RAW_FULL, TSR_GATE_START, 1);
  TSRI_EMIT(lo, WAIT, TSR_UNIT_VECTOR, TSRI_SEM_READY_FREE, TSR_GATE_START, 1);
  TSRI_EMIT(lo, VEC, TSR_VEC_COPY, TSRI_PLACE_READY, TSR_BUF_B, 0, TSR_BC_NONE,
            1u << TSR_AXIS_G | MASK_K, MASK_COLS, 0, 0);
  emit_read(lo, TSR_BUF_B);
  signal(lo, TSR_UNIT_VECTOR, TSRI_SEM_FULL + TSR_BUF_B, TSR_WHEN_DONE);
}

static void emit_load(struct tsri_lowering *lo, int t) {
  if (lo->shared == t) {
    emit_shared_load(lo, t);
  } else {
    TSRI_EMIT(lo, WAIT, TSR_UNIT_LOAD, TSRI_SEM_FREE + t, TSR_GATE_START, 1);
    TSRI_EMIT(lo, LOAD, t, t, TSR_TO_OWN);
    signal(lo, TSR_UNIT_LOAD, full_of(lo, t), TSR_WHEN_DONE);
  }
  if (reader_of(lo, t) == TSR_UNIT_VECTOR) emit_dequant(lo);
}

/* The tile has read an operand for the last time. */
static void emit_free(struct tsri_lowering *lo, int t) {
  if (reader_of(lo, t) == TSR_UNIT_VECTOR)
    signal(lo, TSR_UNIT_TILE, TSRI_SEM_READY_FREE, TSR_WHEN_READ);
  else
    emit_read(lo, t);
}

/* The innermost: a tile of products.  What is promoted begins anew and is added up by the
 * vector unit, which copies the first. */
static void emit_product(struct tsri_lowering *lo) {
  bool promoted = lo->m->promoted;
  if (promoted)
    TSRI_EMIT(lo, WAIT, TSR_UNIT_TILE, TSRI_SEM_FREE + TSR_BUF_C, TSR_GATE_RESULT, 1);
  TSRI_EMIT(lo, MM, TSR_BUF_C, TSR_BUF_A, lo->layout->dequant ? TSRI_PLACE_READY : TSR_BUF_B,
            TSR_BUF_C, TSR_BUF_A, TSR_BUF_B, promoted ? 0 : k_loops(lo->m), lo->layout->rate,
            TSR_DENSE, 0);
  if (!promoted) return;
  signal(lo, TSR_UNIT_TILE, TSRI_SEM_FULL + TSR_BUF_C, TSR_WHEN_DONE);
  TSRI_EMIT(lo, WAIT, TSR_UNIT_VECTOR, TSRI_SEM_FULL + TSR_BUF_C, TSR_GATE_START, 1);
  int64_t over = k_loops(lo->m);
  int part = lo->m->scaled ? TSRI_PLACE_SCALED : TSR_BUF_C;
  if (lo->m->scaled) /* the only tile of k is the sum */
    TSRI_EMIT(lo, VEC, TSR_VEC_MUL, over ? part : TSRI_PLACE_SUM, TSR_BUF_C, TSRI_PLACE_SCALES,
              TSR_BC_ROW, MASK_ROWS, MASK_COLS, 0, 0);
  if (over)
    TSRI_EMIT(lo, VEC, TSR_VEC_ADD, TSRI_PLACE_SUM, part, TSRI_PLACE_SUM, TSR_BC_NONE,
              MASK_ROWS, MASK_COLS, over, 0);
  /* scaled parts lie where the products were: they must have been written, too */
  signal(lo, TSR_UNIT_VECTOR, TSRI_SEM_FREE + TSR_BUF_C,
         lo->m->scaled && over ? TSR_WHEN_DONE : TSR_WHEN_READ);
}

/* A result begins: there must be room for it when its first element comes. */
static void emit_open(struct tsri_lowering *lo) {
  if (lo->m->promoted)
    TSRI_EMIT(lo, WAIT, TSR_UNIT_VECTOR, TSRI_SEM_SUM_FREE, TSR_GATE_START, 1);
  else
    TSRI_EMIT(lo, WAIT, TSR_UNIT_TILE, TSRI_SEM_FREE + TSR_BUF_C, TSR_GATE_RESULT, 1);
}

/* Semaphores and the place of sums that are complete. */
struct sums {
  int unit, full, free, place;
};
static struct sums sums_of(const struct tsri_lowering *lo) {
  if (lo->m->promoted)
    return (struct sums){TSR_UNIT_VECTOR, TSRI_SEM_SUM_FULL, TSRI_SEM_SUM_FREE, TSRI_PLACE_SUM};
  return (struct sums){TSR_UNIT_TILE, TSRI_SEM_FULL + TSR_BUF_C, TSRI_SEM_FREE + TSR_BUF_C,
                       TSR_BUF_C};
}

static void emit_store(struct tsri_lowering *lo, int unit, int full, int tensor, int place,
                       uint32_t shift) {
  signal(lo, unit, full, TSR_WHEN_DONE);
  TSRI_EMIT(lo, WAIT, TSR_UNIT_STORE, full, TSR_GATE_START, 1);
  TSRI_EMIT(lo, STORE, tensor, place, shift);
  signal(lo, TSR_UNIT_STORE, sums_of(lo).free, TSR_WHEN_READ);
}

/* The vector unit takes sums that another unit has left, as `full` tells, and what it makes is
 * stored. */
static void emit_steps(struct tsri_lowering *lo, int unit, int full, int tensor) {
  if (unit != TSR_UNIT_VECTOR) {
    signal(lo, unit, full, TSR_WHEN_DONE);
    TSRI_EMIT(lo, WAIT, TSR_UNIT_VECTOR, full, TSR_GATE_START, 1);
  }
  int place = tsri_lower_run_steps(lo);
  emit_store(lo, TSR_UNIT_VECTOR, TSRI_SEM_STEPS_FULL, tensor, place, lo->layout->shift);
}

/* It is complete: from here on it is the store's, or the vector unit's first. */
static void emit_close(struct tsri_lowering *lo) {
  struct sums x = sums_of(lo);
  bool sums = tsri_lower_parts(lo) > 1 || tsri_lower_separate(lo);
  if (lo->layout->n_steps && !sums)
    emit_steps(lo, x.unit, x.full, TSR_BUF_C);
  else
    emit_store(lo, x.unit, x.full, TSR_BUF_C, x.place, sums ? 0 : lo->layout->shift);
}

static void emit_scales(struct tsri_lowering *lo) {
  TSRI_EMIT(lo, WAIT, TSR_UNIT_LOAD, TSRI_SEM_SCALES_FREE, TSR_GATE_START, 1);
  TSRI_EMIT(lo, LOAD, TSRI_TENSOR_SCALES, TSRI_PLACE_SCALES, TSR_TO_OWN);
  signal(lo, TSR_UNIT_LOAD, TSRI_SEM_SCALES_FULL, TSR_WHEN_DONE);
  TSRI_EMIT(lo, WAIT, TSR_UNIT_VECTOR, TSRI_SEM_SCALES_FULL, TSR_GATE_START, 1);
}

/* The loops from `level` inwards. */
static void emit_level(struct tsri_lowering *lo, uint32_t level) {
  bool b = lo->level[TSR_BUF_B] == level, a = lo->level[TSR_BUF_A] == level;
  bool c = lo->level[TSR_BUF_C] == level, scales = lo->m->scaled && lo->scales_level == level;
  if (b) emit_load(lo, TSR_BUF_B);
  if (a) emit_load(lo, TSR_BUF_A);
  if (b) TSRI_EMIT(lo, WAIT, TSR_UNIT_TILE, TSRI_SEM_FULL + TSR_BUF_B, TSR_GATE_START, 1);
  if (a) TSRI_EMIT(lo, WAIT, TSR_UNIT_TILE, TSRI_SEM_FULL + TSR_BUF_A, TSR_GATE_START, 1);
  if (c) emit_open(lo);
  if (scales) emit_scales(lo);
  if (!tsri_lower_separate(lo)) tsri_lower_load_operands(lo, level);
  if (level < lo->m->n_loops) {
    TSRI_EMIT(lo, LOOP, level, (int64_t)lo->trips[lo->m->loop[level].axis]);
    emit_level(lo, level + 1);
    TSRI_EMIT(lo, END, level);
  } else {
    emit_product(lo);
  }
  if (a) emit_free(lo, TSR_BUF_A);
  if (b) emit_free(lo, TSR_BUF_B);
  if (scales) signal(lo, TSR_UNIT_VECTOR, TSRI_SEM_SCALES_FREE, TSR_WHEN_READ);
  if (c) emit_close(lo);
  if (!tsri_lower_separate(lo)) tsri_lower_free_operands(lo, level);
}

/* The pass of a separate epilogue: tiles of sums come back, in the loops without k. */
static void emit_pass(struct tsri_lowering *lo, uint32_t level) {
  tsri_lower_load_operands(lo, level);
  if (level < lo->level[TSR_BUF_C]) {
    TSRI_EMIT(lo, LOOP, level, (int64_t)lo->trips[lo->m->loop[level].axis]);
    emit_pass(lo, level + 1);
    TSRI_EMIT(lo, END, level);
  } else {
    struct sums x = sums_of(lo);
    TSRI_EMIT(lo, WAIT, TSR_UNIT_LOAD, x.free, TSR_GATE_START, 1);
    TSRI_EMIT(lo, LOAD, TSR_BUF_C, x.place, TSR_TO_OWN);
    /* not as in the loops before: there the store waits for it, which may lag behind */
    emit_steps(lo, TSR_UNIT_LOAD, TSRI_SEM_BACK_FULL, TSRI_TENSOR_RESULT);
  }
  tsri_lower_free_operands(lo, level);
}

/* It begins when all sums are in memory. */
static void emit_separate(struct tsri_lowering *lo) {
  TSRI_EMIT(lo, BARRIER, TSR_UNIT_STORE);
  signal(lo, TSR_UNIT_STORE, TSRI_SEM_PARTS, TSR_WHEN_DONE);
  TSRI_EMIT(lo, WAIT, TSR_UNIT_LOAD, TSRI_SEM_PARTS, TSR_GATE_START, 1);
  emit_pass(lo, 0);
}

static int shared_operand(const struct tsri_lowering *lo) {
  uint64_t cores = tsri_lower_cores(lo);
  if (!lo->layout->multicast || cores < 2 || cores > TSRI_SHARING_MAX) return -1;
  for (int t = TSR_BUF_A; t <= TSR_BUF_B; t++)
    if (tsr_split_shares(&lo->split, t)) return t;
  return -1;
}

/* Trips of the loops: those of the largest part, so that all cores go in step; of k as many
 * as the part has, so that no sum begins with nothing. */
static void count_trips(struct tsri_lowering *lo) {
  for (uint32_t i = 0; i < lo->m->n_loops; i++) {
    const struct tsr_map_loop *l = &lo->m->loop[i];
    bool k = MASK_K & 1u << l->axis;
    lo->trips[l->axis] = k ? tsr_ceil_div(tsri_lower_size(lo, l->axis), l->tile) : l->trips;
  }
}

enum tsr_status tsr_lower_program(const struct tsr_shape *s, const struct tsr_mapping *m,
                                  const struct tsr_layout *layout,
                                  const struct tsr_lower_core *core, struct tsr_program *out,
                                  struct tsr_err *err) {
  struct tsri_lowering lo = {.s = s, .m = m, .layout = layout, .p = out};
  lo.split = (struct tsr_split){.axis = {TSR_AXIS_G, TSR_AXIS_G},
                                .chunk = {s->size[TSR_AXIS_G], s->size[TSR_AXIS_G]},
                                .parts = {1, 1}};
  if (core) {
    lo.split = core->split;
    lo.core = core->core;
  }
  lo.part = tsr_split_part(s, &lo.split, lo.core);
  lo.shared = shared_operand(&lo);
  count_trips(&lo);
  for (int i = 0; i < 3; i++) lo.level[i] = tsr_mapping_level(m, i);
  lo.scales_level = lo.level[TSR_BUF_B]; /* they go with the weights */
  tsri_lower_find_operands(&lo);
  tsri_lower_describe(&lo);
  emit_level(&lo, 0);
  if (tsri_lower_parts(&lo) > 1) tsri_lower_reduce(&lo);
  if (tsri_lower_separate(&lo)) emit_separate(&lo);
  TSRI_EMIT(&lo, HALT, 0);
  if (!out->failed) return TSR_OK;
  tsr_isa_program_fini(out);
  return tsr_err_nomem(err);
}
