/* Results whose k is divided among cores: when the partial sums of all are in memory, each
 * core loads its share of the results from every core's sums, adds them up in ascending
 * order, and stores what becomes of them.  A share is a run of elements of C, as it lies in
 * memory; a step of it is as much as scratchpad c holds four times: two sums that come in,
 * two that are at work.  Semaphores are set at the head of the program: issue runs ahead. */
#include "kernels/lower/lower_int.h"
#include "models/arith/vector.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"

enum { STEP = 0, PARTS = 1 }; /* loops */

uint64_t tsri_lower_parts(const struct tsri_lowering *lo) {
  uint64_t n = 1;
  for (int i = 0; i < 2; i++)
    if (tsr_axis_is_k((int)lo->split.axis[i])) n = tsr_max_u64(n, lo->split.parts[i]);
  return n;
}

static uint64_t elems_of(const struct tsr_shape *s) {
  return s->size[TSR_AXIS_G] * tsr_shape_m(s) * s->size[TSR_AXIS_N];
}

/* The run of one core: [from, to) of all elements, in steps of `step`. */
struct share {
  uint64_t elems, from, to, step, trips;
};

static struct share share_of(const struct tsri_lowering *lo) {
  uint64_t each = tsr_ceil_div(elems_of(lo->s), tsri_lower_parts(lo));
  uint64_t room = lo->layout->slots[TSR_BUF_C] * lo->layout->slot_bytes[TSR_BUF_C];
  struct share x = {.elems = elems_of(lo->s)};
  x.from = tsr_min_u64(lo->core * each, x.elems);
  x.to = tsr_min_u64(x.from + each, x.elems);
  x.step = tsr_min_u64(tsr_max_u64(room / (4 * tsri_lower_sum_bytes(lo)), 1), each);
  x.trips = tsr_ceil_div(x.to - x.from, x.step);
  return x;
}

static void describe_run(struct tsri_lowering *lo, int t, int i, const struct share *x,
                         uint64_t elem) {
  TSRI_EMIT(lo, DIM, t, i, (int64_t)x->to, (int64_t)elem);
  TSRI_EMIT(lo, BOX, t, i, (int64_t)x->step, 1);
  TSRI_EMIT(lo, START, t, i, (int64_t)x->from);
  TSRI_EMIT(lo, WALK, t, i, STEP, (int64_t)x->step);
}

static void describe(struct tsri_lowering *lo, const struct share *x) {
  int64_t fmt = lo->m->promoted ? TSRI_FMT_SUM : TSRI_FMT_ACC;
  uint64_t elem = tsri_lower_sum_bytes(lo), slot = x->step * elem, n = tsri_lower_parts(lo);
  TSRI_EMIT(lo, TENSOR, TSRI_TENSOR_PARTS, fmt, (int64_t)elem,
            (int64_t)lo->layout->parts_bytes);
  TSRI_EMIT(lo, DIM, TSRI_TENSOR_PARTS, 0, (int64_t)n, (int64_t)(x->elems * elem));
  TSRI_EMIT(lo, BOX, TSRI_TENSOR_PARTS, 0, 1, 1);
  TSRI_EMIT(lo, WALK, TSRI_TENSOR_PARTS, 0, PARTS, 1);
  describe_run(lo, TSRI_TENSOR_PARTS, 1, x, elem);
  TSRI_EMIT(lo, TENSOR, TSRI_TENSOR_RESULT, TSRI_FMT_OUT, lo->s->out_bytes,
            (int64_t)lo->layout->base_bytes[TSR_BUF_C]);
  describe_run(lo, TSRI_TENSOR_RESULT, 0, x, lo->s->out_bytes);
  TSRI_EMIT(lo, PLACE, TSRI_PLACE_PART, TSR_BUF_C, fmt, (int64_t)elem, 0, (int64_t)(2 * slot));
  TSRI_EMIT(lo, ADVANCE, TSRI_PLACE_PART, PARTS, (int64_t)slot);
  if (n % 2) TSRI_EMIT(lo, ADVANCE, TSRI_PLACE_PART, STEP, (int64_t)slot);
  TSRI_EMIT(lo, PLACE, TSRI_PLACE_SUM, TSR_BUF_C, fmt, (int64_t)elem, (int64_t)(2 * slot),
            (int64_t)(2 * slot));
  TSRI_EMIT(lo, ADVANCE, TSRI_PLACE_SUM, STEP, (int64_t)slot);
  TSRI_EMIT(lo, AXIS, TSR_AXIS_OW, STEP, (int64_t)(x->to - x->from), (int64_t)x->step);
}

static void signal(struct tsri_lowering *lo, int unit, int sem, int when) {
  TSRI_EMIT(lo, SIGNAL, unit, sem, when, TSR_TO_OWN);
}

/* One partial sum comes in and is added; the first is copied. */
static void add_part(struct tsri_lowering *lo) {
  TSRI_EMIT(lo, WAIT, TSR_UNIT_LOAD, TSRI_SEM_PART_FREE, TSR_GATE_START, 1);
  TSRI_EMIT(lo, LOAD, TSRI_TENSOR_PARTS, TSRI_PLACE_PART, TSR_TO_OWN);
  signal(lo, TSR_UNIT_LOAD, TSRI_SEM_PART_FULL, TSR_WHEN_DONE);
  TSRI_EMIT(lo, WAIT, TSR_UNIT_VECTOR, TSRI_SEM_PART_FULL, TSR_GATE_START, 1);
  TSRI_EMIT(lo, VEC, TSR_VEC_ADD, TSRI_PLACE_SUM, TSRI_PLACE_PART, TSRI_PLACE_SUM, TSR_BC_NONE,
            1u << TSR_AXIS_OW, 0, (int64_t)1 << PARTS, 0);
  signal(lo, TSR_UNIT_VECTOR, TSRI_SEM_PART_FREE, TSR_WHEN_READ);
}

void tsri_lower_reduce(struct tsri_lowering *lo) {
  struct share x = share_of(lo);
  /* Those who come here have stored; what they read next is complete. */
  TSRI_EMIT(lo, BARRIER, TSR_UNIT_STORE);
  if (!x.trips) return;
  signal(lo, TSR_UNIT_STORE, TSRI_SEM_PARTS, TSR_WHEN_DONE);
  TSRI_EMIT(lo, WAIT, TSR_UNIT_LOAD, TSRI_SEM_PARTS, TSR_GATE_START, 1);
  describe(lo, &x);
  TSRI_EMIT(lo, LOOP, STEP, (int64_t)x.trips);
  TSRI_EMIT(lo, WAIT, TSR_UNIT_VECTOR, TSRI_SEM_TOTAL_FREE, TSR_GATE_START, 1);
  TSRI_EMIT(lo, LOOP, PARTS, (int64_t)tsri_lower_parts(lo));
  add_part(lo);
  TSRI_EMIT(lo, END, PARTS);
  signal(lo, TSR_UNIT_VECTOR, TSRI_SEM_TOTAL_FULL, TSR_WHEN_DONE);
  TSRI_EMIT(lo, WAIT, TSR_UNIT_STORE, TSRI_SEM_TOTAL_FULL, TSR_GATE_START, 1);
  TSRI_EMIT(lo, STORE, TSRI_TENSOR_RESULT, TSRI_PLACE_SUM, lo->layout->shift);
  signal(lo, TSR_UNIT_STORE, TSRI_SEM_TOTAL_FREE, TSR_WHEN_READ);
  TSRI_EMIT(lo, END, STEP);
}
