#include "sim/run/pack.h"

#include "sim/base/mem.h"

bool tsri_block_fit(const struct tsri_block *others, size_t n, uint64_t align, uint64_t limit,
                    struct tsri_block *x, size_t *index) {
  uint64_t at = 0;
  size_t i = 0;
  for (; i < n; i++) { /* by address: the first gap that is wide enough */
    const struct tsri_block *o = &others[i];
    if (o->to < x->from || x->to < o->from) continue;
    if (o->at >= at && o->at - at >= x->bytes) break;
    at = tsr_max_u64(at, tsr_ceil_div(o->at + o->bytes, align) * align);
  }
  if (at > limit || x->bytes > limit - at) return false;
  x->at = at;
  for (i = 0; i < n && others[i].at <= at; i++) continue;
  *index = i;
  return true;
}
