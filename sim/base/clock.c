#include "sim/base/mem.h"
#include "sim/base/status.h"
#include "sim/base/units.h"

bool tsr_clock_fs(uint64_t cycle, uint64_t hz, uint64_t *fs) {
  TSR_CHECK(hz > 0);
  tsr_u128 v = (tsr_u128)cycle * TSR_FS_PER_S / hz;
  if (v > UINT64_MAX) return false;
  *fs = (uint64_t)v;
  return true;
}

/* floor(n * 10^15 / hz) >= fs  <=>  n >= fs * hz / 10^15, since fs is whole.
 * Saturates at 2^64 - 1, which only a clock above 10^15 Hz can reach. */
uint64_t tsr_clock_cycle_at(uint64_t fs, uint64_t hz) {
  TSR_CHECK(hz > 0);
  tsr_u128 product = (tsr_u128)fs * hz;
  tsr_u128 n = product / TSR_FS_PER_S + (product % TSR_FS_PER_S != 0);
  return n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
}
