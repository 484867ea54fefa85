/* What stands at the head of a program: formats, tensors, places, axes. */
#include "kernels/lower/lower_int.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"

int64_t tsri_lower_loop(const struct tsr_mapping *m, enum tsr_isa_axis x) {
  for (uint32_t i = 0; i < m->n_loops; i++)
    if (m->loop[i].axis == x) return i;
  return TSR_ISA_NO_LOOP;
}

uint64_t tsri_lower_size(const struct tsri_lowering *lo, enum tsr_isa_axis x) {
  for (int i = 0; i < 2; i++)
    if (lo->part.axis[i] == x) return lo->part.size[i];
  return lo->s->size[x];
}

uint64_t tsri_lower_tile_c(const struct tsr_mapping *m) {
  return m->tile[TSR_AXIS_G] * tsr_mapping_tile_m(m) * m->tile[TSR_AXIS_N];
}

uint64_t tsri_lower_tile_b(const struct tsr_mapping *m) {
  return m->tile[TSR_AXIS_G] * tsr_mapping_tile_k(m) * m->tile[TSR_AXIS_N];
}

uint64_t tsri_lower_sum_bytes(const struct tsri_lowering *lo) {
  return lo->m->promoted ? TSR_PROMOTED_BYTES : lo->s->acc_bytes;
}

static void describe_dim(struct tsri_lowering *lo, int t, int i, const struct tsri_dim *d,
                         uint64_t stride_bytes) {
  TSRI_EMIT(lo, DIM, t, i, (int64_t)d->size, (int64_t)stride_bytes);
  TSRI_EMIT(lo, BOX, t, i, (int64_t)d->extent, (int64_t)d->step);
  if (d->start) TSRI_EMIT(lo, START, t, i, d->start);
  for (int f = 0; f < d->n_follow; f++) {
    if (lo->m->tile[d->follow[f].axis] > 1 && !d->panels)
      TSRI_EMIT(lo, FEED, t, i, d->follow[f].axis, d->follow[f].delta);
    int64_t l = tsri_lower_loop(lo->m, d->follow[f].axis);
    if (l == TSR_ISA_NO_LOOP || d->inside) continue;
    int64_t tile = d->panels ? 1 : (int64_t)lo->m->tile[d->follow[f].axis];
    TSRI_EMIT(lo, WALK, t, i, l, d->follow[f].delta * tile);
  }
}

/* The coordinates of a dimension begin where the part does and end with it, but for the
 * rows and columns that neighbouring outputs of a convolution share. */
static void take_part(const struct tsri_lowering *lo, struct tsri_dim *d, int i) {
  const struct tsr_part *p = &lo->part;
  for (int f = 0; f < d->n_follow; f++) {
    if (d->follow[f].axis != p->axis[i] || d->inside) continue;
    uint64_t delta = (uint64_t)d->follow[f].delta;
    uint64_t of = d->panels ? lo->m->tile[p->axis[i]] : 1; /* parts are of whole panels */
    d->start += (int64_t)(p->from[i] / of * delta);
    if (!d->halo) d->size = tsr_min_u64(d->size, (p->from[i] + p->size[i]) / of * delta);
  }
}

/* The format and the address of what a tensor's transfers move: c itself, or the core's
 * own partial sums. */
static void describe_base(struct tsri_lowering *lo, int t, struct tsri_tensor *x) {
  static const int fmt[3] = {TSRI_FMT_A, TSRI_FMT_B, TSRI_FMT_OUT};
  int64_t f = fmt[t], base = (int64_t)lo->layout->base_bytes[t];
  bool parts = tsri_lower_parts(lo) > 1;
  if (t == TSR_BUF_C && (parts || tsri_lower_separate(lo))) {
    uint64_t elems = 1;
    for (int i = 0; i < x->rank; i++) elems *= x->dim[i].size;
    x->elem_bytes = (uint32_t)tsri_lower_sum_bytes(lo);
    base = (int64_t)(lo->layout->parts_bytes + (parts ? lo->core * elems * x->elem_bytes : 0));
    f = lo->m->promoted ? TSRI_FMT_SUM : TSRI_FMT_ACC;
  }
  TSRI_EMIT(lo, TENSOR, t, f, x->elem_bytes, base);
}

static void describe_dims(struct tsri_lowering *lo, int t, const struct tsri_tensor *x) {
  uint64_t stride[TSR_ISA_DIMS], s = x->elem_bytes;
  for (int i = x->rank; i-- > 0;) {
    stride[i] = s;
    s *= x->dim[i].size;
    if (i + 1 == x->rank) s += x->pad_bytes;
  }
  for (int i = 0; i < x->rank; i++) {
    struct tsri_dim d = x->dim[i];
    take_part(lo, &d, 0);
    if (lo->part.axis[1] != lo->part.axis[0]) take_part(lo, &d, 1);
    describe_dim(lo, t, i, &d, stride[i]);
  }
}

static void describe_tensor(struct tsri_lowering *lo, int t, struct tsri_tensor *x) {
  describe_base(lo, t, x);
  describe_dims(lo, t, x);
}

void tsri_lower_tensor(struct tsri_lowering *lo, int t, const struct tsri_tensor *x, int fmt,
                       uint64_t base_bytes) {
  TSRI_EMIT(lo, TENSOR, t, fmt, x->elem_bytes, (int64_t)base_bytes);
  describe_dims(lo, t, x);
}

static void describe_formats(struct tsri_lowering *lo) {
  for (int f = TSRI_FMT_A; f <= TSRI_FMT_OUT; f++)
    TSRI_EMIT(lo, FORMAT, f, tsr_isa_name(lo->p, lo->layout->formats[f]));
  if (lo->m->promoted || lo->layout->n_steps)
    TSRI_EMIT(lo, FORMAT, TSRI_FMT_SUM, tsr_isa_name(lo->p, "fp32"));
  if (lo->m->scaled)
    TSRI_EMIT(lo, FORMAT, TSRI_FMT_SCALE, tsr_isa_name(lo->p, lo->layout->scale_format));
}

void tsri_lower_place(struct tsri_lowering *lo, int place, const struct tsri_ring *r) {
  uint64_t wrap = r->slot * r->slots, step = r->slot;
  TSRI_EMIT(lo, PLACE, place, r->buf, r->fmt, (int64_t)r->elem, (int64_t)r->base,
            (int64_t)wrap);
  for (uint32_t l = r->level; l-- > 0;) {
    if (step % wrap) TSRI_EMIT(lo, ADVANCE, place, l, (int64_t)(step % wrap));
    step = (uint64_t)((tsr_u128)(step % wrap) * lo->trips[lo->m->loop[l].axis] % wrap);
  }
}

/* All slots are free: the core's own, or at each core. */
static void describe_free(struct tsri_lowering *lo, int t, uint64_t slots) {
  if (lo->shared != t)
    TSRI_EMIT(lo, SEM, TSRI_SEM_FREE + t, (int64_t)slots);
  else if (lo->core == 0)
    for (uint64_t c = 0; c < tsri_lower_cores(lo); c++)
      TSRI_EMIT(lo, SEM, (int64_t)(TSRI_SEM_OF_CORE + c), (int64_t)slots);
}

/* The buffers of a scratchpad in turn, an element in the bytes of its format. */
static void describe_slots(struct tsri_lowering *lo, int t) {
  bool waits = t == TSR_BUF_C && lo->layout->n_steps; /* beside it lies what it is met by */
  static const int fmt[3] = {TSRI_FMT_A, TSRI_FMT_B, TSRI_FMT_ACC};
  const uint64_t elem[3] = {lo->s->a_bytes, lo->s->b_bytes, lo->s->acc_bytes};
  struct tsri_ring r = {
      t, fmt[t], elem[t], 0, lo->layout->slot_bytes[t], lo->layout->slots[t], lo->level[t]};
  if (waits) {
    r.slot = tsri_lower_tile_c(lo->m) * elem[t];
    r.slots = TSR_PROMOTED_SLOTS;
    lo->used_c = r.slot * r.slots;
  }
  tsri_lower_place(lo, t, &r);
  describe_free(lo, t, r.slots);
}

/* Scratchpad b of weights that are converted: as loaded, behind that as multiplied. */
static void describe_ready(struct tsri_lowering *lo) {
  const uint64_t slots = lo->layout->slots[TSR_BUF_B], elems = tsri_lower_tile_b(lo->m);
  const struct tsri_ring raw = {
      TSR_BUF_B, TSRI_FMT_B,          lo->s->b_bytes, 0, elems * lo->s->b_bytes,
      slots,     lo->level[TSR_BUF_B]};
  const struct tsri_ring ready = {
      TSR_BUF_B, TSRI_FMT_A,          lo->s->a_bytes, raw.slot * slots, elems * lo->s->a_bytes,
      slots,     lo->level[TSR_BUF_B]};
  tsri_lower_place(lo, TSR_BUF_B, &raw);
  tsri_lower_place(lo, TSRI_PLACE_READY, &ready);
  describe_free(lo, TSR_BUF_B, slots);
  TSRI_EMIT(lo, SEM, TSRI_SEM_READY_FREE, (int64_t)slots);
}

/* Scratchpad c of promoted sums: a ring of partial ones, behind it one of running ones. */
static void describe_promoted(struct tsri_lowering *lo) {
  const uint64_t elems = tsri_lower_tile_c(lo->m), slots = TSR_PROMOTED_SLOTS;
  const struct tsri_ring part = {
      TSR_BUF_C, TSRI_FMT_ACC,  lo->s->acc_bytes, 0, elems * lo->s->acc_bytes,
      slots,     lo->m->n_loops};
  const struct tsri_ring sum = {TSR_BUF_C,
                                TSRI_FMT_SUM,
                                TSR_PROMOTED_BYTES,
                                part.slot * slots,
                                elems * TSR_PROMOTED_BYTES,
                                slots,
                                lo->level[TSR_BUF_C]};
  tsri_lower_place(lo, TSR_BUF_C, &part);
  tsri_lower_place(lo, TSRI_PLACE_SUM, &sum);
  TSRI_EMIT(lo, SEM, TSRI_SEM_FREE + TSR_BUF_C, (int64_t)slots);
  TSRI_EMIT(lo, SEM, TSRI_SEM_SUM_FREE, (int64_t)slots);
  lo->used_c = sum.base + sum.slot * slots;
  if (!lo->m->scaled) return;
  struct tsri_ring scaled = part; /* in place: an element of either has four bytes */
  scaled.fmt = TSRI_FMT_SUM;
  tsri_lower_place(lo, TSRI_PLACE_SCALED, &scaled);
  tsri_lower_describe_scales(lo, lo->used_c);
  lo->used_c += slots * lo->m->tile[TSR_AXIS_N] * lo->layout->scale_bytes;
}

/* An axis that is not described has size 1; a short part of one that a loop walks is empty
 * from the second iteration on. */
static void describe_axes(struct tsri_lowering *lo) {
  for (int x = 0; x < TSR_AXIS_COUNT; x++) {
    uint64_t size = tsri_lower_size(lo, (enum tsr_isa_axis)x);
    int64_t loop = tsri_lower_loop(lo->m, (enum tsr_isa_axis)x);
    if (size > 1 || lo->m->tile[x] > 1 || loop != TSR_ISA_NO_LOOP)
      TSRI_EMIT(lo, AXIS, x, loop, (int64_t)size, (int64_t)lo->m->tile[x]);
  }
}

/* B of a matmul, [g][k][n], in panels: [g][panel][k][n of a panel]. */
static void cut_panels(const struct tsri_lowering *lo, struct tsri_tensor *b) {
  uint64_t tile = lo->m->tile[TSR_AXIS_N];
  struct tsri_dim panel = {.size = lo->s->size[TSR_AXIS_N] / tile,
                           .extent = 1,
                           .step = 1,
                           .panels = true,
                           .follow = {{TSR_AXIS_N, 1}},
                           .n_follow = 1};
  struct tsri_dim cols = b->dim[2];
  cols.size = tile;
  cols.inside = true;
  b->dim[3] = cols;
  b->dim[2] = b->dim[1];
  b->dim[1] = panel;
  b->rank = 4;
}

void tsri_lower_describe(struct tsri_lowering *lo) {
  struct tsri_tensor t[3];
  (lo->s->conv ? tsri_describe_conv : tsri_describe_matmul)(lo->s, lo->m, t);
  t[TSR_BUF_B].pad_bytes = lo->layout->pad_bytes;
  if (lo->layout->tiled) cut_panels(lo, &t[TSR_BUF_B]);
  describe_formats(lo);
  for (int i = 0; i < 3; i++) describe_tensor(lo, i, &t[i]);
  for (int i = 0; i < 3; i++)
    if ((i != TSR_BUF_C || !lo->m->promoted) && (i != TSR_BUF_B || !lo->layout->dequant))
      describe_slots(lo, i);
  if (lo->layout->dequant) describe_ready(lo);
  if (lo->m->promoted) describe_promoted(lo);
  describe_axes(lo);
  if (lo->layout->n_steps) tsri_lower_describe_steps(lo, &t[TSR_BUF_C]);
  if (tsri_lower_parts(lo) < 2) return;
  TSRI_EMIT(lo, SEM, TSRI_SEM_PART_FREE, 2);
  TSRI_EMIT(lo, SEM, TSRI_SEM_TOTAL_FREE, 2);
}
