/* Scales of the weights: a row of them, one for each n, for each tile of k (and group of a
 * convolution or batch of a matmul). */
#include "kernels/lower/lower_int.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"

/* Tiles of k that one step of an axis passes: of the axes inside it. */
static uint64_t tiles_inside(const struct tsri_lowering *lo, enum tsr_isa_axis x) {
  uint64_t n = 1;
  for (int y = (int)x + 1; y <= TSR_AXIS_C; y++)
    n *= tsr_ceil_div(lo->s->size[y], lo->m->tile[y]);
  return n;
}

static uint64_t part_from(const struct tsri_lowering *lo, enum tsr_isa_axis x) {
  for (int i = 0; i < 2; i++)
    if (lo->part.axis[i] == x) return lo->part.from[i];
  return 0;
}

static void walk(struct tsri_lowering *lo, int dim, enum tsr_isa_axis x, uint64_t delta) {
  int64_t l = tsri_lower_loop(lo->m, x);
  if (l != TSR_ISA_NO_LOOP) TSRI_EMIT(lo, WALK, TSRI_TENSOR_SCALES, dim, l, (int64_t)delta);
}

/* The row of the first tile of k that the part has. */
static uint64_t first_row(const struct tsri_lowering *lo) {
  uint64_t row = 0;
  for (int x = TSR_AXIS_KH; x <= TSR_AXIS_C; x++)
    row += part_from(lo, (enum tsr_isa_axis)x) / lo->m->tile[x] *
           tiles_inside(lo, (enum tsr_isa_axis)x);
  return row;
}

void tsri_lower_describe_scales(struct tsri_lowering *lo, uint64_t base) {
  const int t = TSRI_TENSOR_SCALES;
  const uint64_t elem = lo->layout->scale_bytes, n = lo->s->size[TSR_AXIS_N];
  const uint64_t rows = tsr_mapping_k_tiles(lo->s, lo->m), tile = lo->m->tile[TSR_AXIS_N];
  const uint64_t from[3] = {part_from(lo, TSR_AXIS_G), first_row(lo),
                            part_from(lo, TSR_AXIS_N)};
  const uint64_t size[3] = {lo->s->size[TSR_AXIS_G], rows,
                            from[2] + tsri_lower_size(lo, TSR_AXIS_N)};
  const uint64_t stride[3] = {rows * n * elem, n * elem, elem}, extent[3] = {1, 1, tile};
  TSRI_EMIT(lo, TENSOR, t, TSRI_FMT_SCALE, (int64_t)elem, (int64_t)lo->layout->scales_bytes);
  for (int i = 0; i < 3; i++) {
    TSRI_EMIT(lo, DIM, t, i, (int64_t)size[i], (int64_t)stride[i]);
    TSRI_EMIT(lo, BOX, t, i, (int64_t)extent[i], 1);
    if (from[i]) TSRI_EMIT(lo, START, t, i, (int64_t)from[i]);
  }
  walk(lo, 0, TSR_AXIS_G, 1);
  for (int x = TSR_AXIS_KH; x <= TSR_AXIS_C; x++)
    walk(lo, 1, (enum tsr_isa_axis)x, tiles_inside(lo, (enum tsr_isa_axis)x));
  walk(lo, 2, TSR_AXIS_N, tile);
  const struct tsri_ring ring = {TSR_BUF_C,          TSRI_FMT_SCALE,  elem, base, tile * elem,
                                 TSR_PROMOTED_SLOTS, lo->scales_level};
  tsri_lower_place(lo, TSRI_PLACE_SCALES, &ring);
  TSRI_EMIT(lo, SEM, TSRI_SEM_SCALES_FREE, TSR_PROMOTED_SLOTS);
}
