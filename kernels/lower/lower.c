#include "kernels/lower/lower_int.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"

/* Semaphores: a slot is free, a slot is full, for scratchpads a, b, c. */
enum { FREE = 0, FULL = 3 };

struct lowering {
  const struct tsr_shape *s;
  const struct tsr_mapping *m;
  const struct tsr_layout *layout;
  struct tsr_program *p;
  struct tsr_part part;
  uint32_t level[3]; /* loops around the transfers of a, b, c */
};

#define EMIT(lo, op, ...) tsr_isa_emit((lo)->p, TSR_ISA_##op, (const int64_t[]){__VA_ARGS__})

static int64_t loop_of(const struct tsr_mapping *m, enum tsr_isa_axis x) {
  for (uint32_t i = 0; i < m->n_loops; i++)
    if (m->loop[i].axis == x) return i;
  return TSR_ISA_NO_LOOP;
}

/* Format registers and places, by their use. */
enum { FMT_A, FMT_B, FMT_ACC, FMT_OUT };

static void emit_dim(struct lowering *lo, int t, int i, const struct tsri_dim *d,
                     uint64_t stride_bytes) {
  EMIT(lo, DIM, t, i, (int64_t)d->size, (int64_t)stride_bytes);
  EMIT(lo, BOX, t, i, (int64_t)d->extent, (int64_t)d->step);
  if (d->start) EMIT(lo, START, t, i, d->start);
  for (int f = 0; f < d->n_follow; f++) {
    if (lo->m->tile[d->follow[f].axis] > 1)
      EMIT(lo, FEED, t, i, d->follow[f].axis, d->follow[f].delta);
    int64_t l = loop_of(lo->m, d->follow[f].axis);
    if (l == TSR_ISA_NO_LOOP) continue;
    int64_t tile = (int64_t)lo->m->tile[d->follow[f].axis];
    EMIT(lo, WALK, t, i, l, d->follow[f].delta * tile);
  }
}

/* The coordinates of a dimension begin where the part does and end with it, but for the
 * rows and columns that neighbouring outputs of a convolution share. */
static void take_part(struct tsri_dim *d, const struct tsr_part *p, int i) {
  for (int f = 0; f < d->n_follow; f++) {
    if (d->follow[f].axis != p->axis[i]) continue;
    uint64_t delta = (uint64_t)d->follow[f].delta;
    d->start += (int64_t)(p->from[i] * delta);
    if (!d->halo) d->size = tsr_min_u64(d->size, (p->from[i] + p->size[i]) * delta);
  }
}

static void emit_tensor(struct lowering *lo, int t, const struct tsri_tensor *x) {
  static const int fmt[3] = {FMT_A, FMT_B, FMT_OUT};
  EMIT(lo, TENSOR, t, fmt[t], x->elem_bytes, (int64_t)lo->layout->base_bytes[t]);
  uint64_t stride[TSR_ISA_DIMS], s = x->elem_bytes;
  for (int i = x->rank; i-- > 0;) {
    stride[i] = s;
    s *= x->dim[i].size;
  }
  for (int i = 0; i < x->rank; i++) {
    struct tsri_dim d = x->dim[i];
    take_part(&d, &lo->part, 0);
    if (lo->part.axis[1] != lo->part.axis[0]) take_part(&d, &lo->part, 1);
    emit_dim(lo, t, i, &d, stride[i]);
  }
}

static void emit_formats(struct lowering *lo) {
  const char *const *names = lo->layout->formats;
  for (int f = FMT_A; f <= FMT_OUT; f++) EMIT(lo, FORMAT, f, tsr_isa_name(lo->p, names[f]));
}

/* The buffers of a scratchpad in turn: the n-th transfer uses the n-th of them. */
static void emit_place(struct lowering *lo, int t) {
  static const int fmt[3] = {FMT_A, FMT_B, FMT_ACC};
  const uint64_t elem[3] = {lo->s->a_bytes, lo->s->b_bytes, lo->s->acc_bytes};
  uint64_t slot = lo->layout->slot_bytes[t], wrap = slot * lo->layout->slots[t], step = slot;
  EMIT(lo, PLACE, t, t, fmt[t], (int64_t)elem[t], 0, (int64_t)wrap);
  for (uint32_t l = lo->level[t]; l-- > 0;) {
    if (step % wrap) EMIT(lo, ADVANCE, t, l, (int64_t)(step % wrap));
    step = (uint64_t)((tsr_u128)(step % wrap) * lo->m->loop[l].trips % wrap);
  }
}

/* Loops over which sums accumulate. */
static int64_t k_loops(const struct tsr_mapping *m) {
  int64_t mask = 0;
  for (uint32_t i = 0; i < m->n_loops; i++)
    if (m->loop[i].axis >= TSR_AXIS_KH && m->loop[i].axis <= TSR_AXIS_C)
      mask |= (int64_t)1 << i;
  return mask;
}

/* An axis that is not described has size 1; a short part of one that a loop walks is empty
 * from the second iteration on. */
static void emit_axes(struct lowering *lo) {
  for (int x = 0; x < TSR_AXIS_COUNT; x++) {
    uint64_t size = lo->s->size[x];
    for (int i = 0; i < 2; i++)
      if ((int)lo->part.axis[i] == x) size = lo->part.size[i];
    int64_t loop = loop_of(lo->m, x);
    if (size > 1 || lo->m->tile[x] > 1 || loop != TSR_ISA_NO_LOOP)
      EMIT(lo, AXIS, x, loop, (int64_t)size, (int64_t)lo->m->tile[x]);
  }
}

static void emit_load(struct lowering *lo, int t) {
  EMIT(lo, WAIT, TSR_UNIT_LOAD, FREE + t, TSR_GATE_START, 1);
  EMIT(lo, LOAD, t, t, TSR_TO_OWN);
  EMIT(lo, SIGNAL, TSR_UNIT_LOAD, FULL + t, TSR_WHEN_DONE, TSR_TO_OWN);
}

/* The loops from `level` inwards, with what happens around and inside them. */
static void emit_level(struct lowering *lo, uint32_t level) {
  bool b = lo->level[TSR_BUF_B] == level, a = lo->level[TSR_BUF_A] == level;
  bool c = lo->level[TSR_BUF_C] == level;
  if (b) emit_load(lo, TSR_BUF_B);
  if (a) emit_load(lo, TSR_BUF_A);
  if (b) EMIT(lo, WAIT, TSR_UNIT_TILE, FULL + TSR_BUF_B, TSR_GATE_START, 1);
  if (a) EMIT(lo, WAIT, TSR_UNIT_TILE, FULL + TSR_BUF_A, TSR_GATE_START, 1);
  if (c) EMIT(lo, WAIT, TSR_UNIT_TILE, FREE + TSR_BUF_C, TSR_GATE_RESULT, 1);
  if (level < lo->m->n_loops) {
    EMIT(lo, LOOP, level, (int64_t)lo->m->loop[level].trips);
    emit_level(lo, level + 1);
    EMIT(lo, END, level);
  } else {
    EMIT(lo, MM, TSR_BUF_C, TSR_BUF_A, TSR_BUF_B, TSR_BUF_C, TSR_BUF_A, TSR_BUF_B,
         k_loops(lo->m), lo->layout->rate, TSR_DENSE, 0);
  }
  if (a) EMIT(lo, SIGNAL, TSR_UNIT_TILE, FREE + TSR_BUF_A, TSR_WHEN_READ, TSR_TO_OWN);
  if (b) EMIT(lo, SIGNAL, TSR_UNIT_TILE, FREE + TSR_BUF_B, TSR_WHEN_READ, TSR_TO_OWN);
  if (!c) return;
  EMIT(lo, SIGNAL, TSR_UNIT_TILE, FULL + TSR_BUF_C, TSR_WHEN_DONE, TSR_TO_OWN);
  EMIT(lo, WAIT, TSR_UNIT_STORE, FULL + TSR_BUF_C, TSR_GATE_START, 1);
  EMIT(lo, STORE, TSR_BUF_C, TSR_BUF_C, lo->layout->shift);
  EMIT(lo, SIGNAL, TSR_UNIT_STORE, FREE + TSR_BUF_C, TSR_WHEN_READ, TSR_TO_OWN);
}

/* A tensor moves just inside the innermost loop that one of its axes follows. */
static uint32_t level_of(const struct tsr_mapping *m, int t) {
  static const uint32_t axes[3] = {
      [TSR_BUF_A] = ~(1u << TSR_AXIS_N),
      [TSR_BUF_B] = ~(1u << TSR_AXIS_B | 1u << TSR_AXIS_OH | 1u << TSR_AXIS_OW),
      [TSR_BUF_C] = ~(1u << TSR_AXIS_KH | 1u << TSR_AXIS_KW | 1u << TSR_AXIS_C)};
  uint32_t level = 0;
  for (uint32_t i = 0; i < m->n_loops; i++)
    if (axes[t] & 1u << m->loop[i].axis) level = i + 1;
  return level;
}

enum tsr_status tsr_lower_program(const struct tsr_shape *s, const struct tsr_mapping *m,
                                  const struct tsr_layout *layout, const struct tsr_part *part,
                                  struct tsr_program *out, struct tsr_err *err) {
  struct tsri_tensor t[3];
  struct lowering lo = {.s = s, .m = m, .layout = layout, .p = out};
  lo.part = part ? *part
                 : (struct tsr_part){.axis = {TSR_AXIS_G, TSR_AXIS_G},
                                     .size = {s->size[TSR_AXIS_G], s->size[TSR_AXIS_G]}};
  (s->conv ? tsri_describe_conv : tsri_describe_matmul)(s, m, t);
  emit_formats(&lo);
  for (int i = 0; i < 3; i++) {
    lo.level[i] = level_of(m, i);
    emit_tensor(&lo, i, &t[i]);
    emit_place(&lo, i);
  }
  emit_axes(&lo);
  for (int i = 0; i < 3; i++) EMIT(&lo, SEM, FREE + i, (int64_t)layout->slots[i]);
  emit_level(&lo, 0);
  EMIT(&lo, HALT, 0);
  if (!out->failed) return TSR_OK;
  tsr_isa_program_fini(out);
  return tsr_err_nomem(err);
}
