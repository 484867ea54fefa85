/* Error bounds (kernels/check/bound.h). */
#include "kernels/check/bound.h"

#include <string.h>

#include "sim/base/mem.h"

static double pow2(int e) {
  uint64_t bits = (uint64_t)(e + 1023) << 52;
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static uint64_t ceil_log2(uint64_t v) {
  uint64_t n = 0;
  while (n < 63 && UINT64_C(1) << n < v) n++;
  return n;
}

double tsr_check_roundoff(const struct tsr_format *f, enum tsr_round mode) {
  if (f->is_int) return 0;
  bool nearest = mode == TSR_ROUND_RNE || mode == TSR_ROUND_RNA;
  return pow2(nearest ? -f->man_bits - 1 : -f->man_bits);
}

/* What one step of `len` products adds to the error of its terms: alignment and the
 * rounding of its result. */
static double step_error(const struct tsr_mma *u, uint64_t len) {
  double round = tsr_check_roundoff(u->inner ? u->inner : u->acc, u->round);
  double cut = pow2(-u->align_bits), terms = (double)len;
  switch (u->kind) {
  case TSR_MMA_FUSED: return (terms + 1) * cut + round;
  /* Products, the two sums of a parity, C and the joined sum are floored. */
  case TSR_MMA_TWO_STAGE: return (terms + 4) * cut + 2 * pow2(-u->align2_bits) + round;
  /* A group's sum may lie two bits below the exponent it is aligned by. */
  case TSR_MMA_GROUPED:
    return 4 * ((double)tsr_ceil_div(len, u->group_len ? (uint64_t)u->group_len : 1) + 1) *
               cut +
           round;
  default: return round;
  }
}

/* Of a chain over k products. */
static double chain_error(const struct tsr_mma *u, uint64_t k) {
  double round = tsr_check_roundoff(u->acc, u->round);
  uint64_t len = u->fused_len > 0 ? tsr_min_u64((uint64_t)u->fused_len, k) : k;
  uint64_t steps = tsr_ceil_div(k, tsr_max_u64(len, 1));
  switch (u->kind) {
  case TSR_MMA_INT: return 0;
  case TSR_MMA_SEQ_FMA: return (double)k * round;
  case TSR_MMA_SEQ_MULADD: return (double)(k + 1) * round;
  case TSR_MMA_TREE: return (double)(1 + ceil_log2(len) + steps) * round;
  default: break;
  }
  double outer = tsr_check_roundoff(u->acc, u->outer_round);
  double step = step_error(u, len);
  if (u->join == TSR_MMA_JOIN_AFTER) step += outer;
  if (u->order == TSR_MMA_ORDER_TREE) return step + (double)(ceil_log2(steps) + 1) * round;
  return (double)steps * step;
}

double tsr_check_bound(const struct tsr_mma *u, uint64_t range_k, uint64_t ranges) {
  double outer = tsr_check_roundoff(u->acc, u->outer_round), e;
  uint64_t chunk = u->chunk > 0 ? tsr_min_u64((uint64_t)u->chunk, range_k) : 0;
  uint64_t promote = u->promote > 0 ? tsr_min_u64((uint64_t)u->promote, range_k) : 0;
  uint64_t inner = chunk ? chunk : promote ? promote : range_k;
  e = chain_error(u, inner);
  if (chunk) e += (double)tsr_ceil_div(promote ? promote : range_k, chunk) * outer;
  if (promote) e += (double)tsr_ceil_div(range_k, promote) * outer;
  if (ranges > 1) {
    const struct tsr_format *part = u->part ? u->part : u->acc;
    e += (double)ranges * tsr_check_roundoff(u->acc, TSR_ROUND_RNE);
    if (u->part) e += (double)ranges * tsr_check_roundoff(part, u->part_round);
  }
  return e < 1 ? e / (1 - e) : (double)__builtin_nan("");
}
