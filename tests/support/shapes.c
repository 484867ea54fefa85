#include "tests/support/shapes.h"

#include "sim/base/mem.h"

static struct tsr_shape empty(struct tsr_rng *r) {
  struct tsr_shape s = {.a_bytes = (uint32_t)tsr_rng_range(r, 1, 4),
                        .b_bytes = (uint32_t)tsr_rng_range(r, 1, 4),
                        .acc_bytes = 4,
                        .out_bytes = (uint32_t)tsr_rng_range(r, 1, 4)};
  for (int x = 0; x < TSR_AXIS_COUNT; x++) s.size[x] = 1;
  return s;
}

struct tsr_shape shapes_gemm(struct tsr_rng *r, uint64_t max) {
  struct tsr_shape s = empty(r);
  s.size[TSR_AXIS_OW] = tsr_rng_range(r, 1, max);
  s.size[TSR_AXIS_N] = tsr_rng_range(r, 1, max);
  s.size[TSR_AXIS_C] = tsr_rng_range(r, 1, max);
  if (tsr_rng_range(r, 0, 2) == 0) s.size[TSR_AXIS_G] = tsr_rng_range(r, 2, 7);
  return s;
}

/* One side of the image; false when no output is left. */
static bool side(struct tsr_rng *r, uint64_t max, uint64_t *in, uint64_t *k, uint64_t *stride,
                 uint64_t *dil, uint64_t *pad, uint64_t *out) {
  *in = tsr_rng_range(r, 1, max);
  *k = tsr_rng_range(r, 1, 4);
  *stride = tsr_rng_range(r, 0, 1) ? 1 : tsr_rng_range(r, 1, 6);
  *dil = tsr_rng_range(r, 0, 2) ? 1 : tsr_rng_range(r, 2, 3);
  *pad = tsr_rng_range(r, 0, 3);
  uint64_t padded = *in + *pad + tsr_rng_range(r, 0, 3), reach = (*k - 1) * *dil + 1;
  if (padded < reach) return false;
  *out = (padded - reach) / *stride + 1;
  return true;
}

struct tsr_shape shapes_conv(struct tsr_rng *r, uint64_t max) {
  struct tsr_shape s = empty(r);
  uint64_t *z = s.size;
  s.conv = true;
  while (!side(r, max, &s.in_h, &z[TSR_AXIS_KH], &s.stride_h, &s.dil_h, &s.pad_t,
               &z[TSR_AXIS_OH])) {
  }
  while (!side(r, max, &s.in_w, &z[TSR_AXIS_KW], &s.stride_w, &s.dil_w, &s.pad_l,
               &z[TSR_AXIS_OW])) {
  }
  z[TSR_AXIS_B] = tsr_rng_range(r, 0, 1) ? 1 : tsr_rng_range(r, 2, 3);
  z[TSR_AXIS_C] = tsr_rng_range(r, 1, max);
  z[TSR_AXIS_N] = tsr_rng_range(r, 1, max);
  switch (tsr_rng_range(r, 0, 3)) {
  case 0: z[TSR_AXIS_G] = tsr_rng_range(r, 2, 4); break;
  case 1: /* depthwise, sometimes with a multiplier */
    z[TSR_AXIS_G] = tsr_rng_range(r, 2, 2 * max);
    z[TSR_AXIS_C] = 1;
    z[TSR_AXIS_N] = tsr_rng_range(r, 1, 2);
    break;
  default: break;
  }
  return s;
}

struct tsr_target shapes_target(struct tsr_rng *r, uint64_t least, uint64_t most) {
  struct tsr_target t = {.flow = (enum tsr_dataflow)tsr_rng_range(r, 0, 2),
                         .rows = tsr_rng_range(r, 1, 12),
                         .cols = tsr_rng_range(r, 1, 12),
                         .preload = tsr_rng_range(r, 0, 1),
                         .rate = tsr_rng_range(r, 0, 2) ? 1 : (uint32_t)tsr_rng_range(r, 2, 4),
                         .burst_bytes = 64,
                         .dram_bytes_per_cycle = (double)tsr_rng_range(r, 1, 256),
                         .latency_cycles = (double)tsr_rng_range(r, 0, 200)};
  for (int i = 0; i < 3; i++) {
    t.slot_bytes[i] = tsr_rng_range(r, least, most);
    t.slots[i] = tsr_rng_range(r, 1, 4);
  }
  return t;
}
