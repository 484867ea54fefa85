/* A server of bytes at an exact rate: the shared piece of memories and ports.
 *
 * Serving n bytes at r B/s takes n*10^15/r fs; the fraction is carried, so that
 * a million bursts take exactly a million times as long as one.
 * r = TSR_UNLIMITED serves in no time.  An instant past 2^64 fs sticks at
 * UINT64_MAX, which the environment refuses. */
#ifndef TSR_MODELS_SERVER_H
#define TSR_MODELS_SERVER_H

#include <stdint.h>

#include "sim/base/mem.h"
#include "sim/base/units.h"

struct tsr_server {
  uint64_t rate_bytes_per_s;
  uint64_t free_fs; /* the next service may start at free_fs + rem/rate fs */
  uint64_t rem;
  uint64_t unit_bytes, quot, rest; /* one unit takes quot + rest/rate fs */
};

static inline void tsr_server_init(struct tsr_server *s, uint64_t rate) {
  *s = (struct tsr_server){.rate_bytes_per_s = rate};
}

static inline void tsr_server_set_unit(struct tsr_server *s, uint64_t bytes) {
  tsr_u128 w = (tsr_u128)bytes * TSR_FS_PER_S;
  s->unit_bytes = bytes;
  s->quot = (uint64_t)(w / s->rate_bytes_per_s);
  s->rest = (uint64_t)(w % s->rate_bytes_per_s);
}

/* Serves `bytes` from `earliest_fs` on; *start_fs is when that began, the result
 * when it ended (both rounded up to a whole fs). */
static inline uint64_t tsr_server_take(struct tsr_server *s, uint64_t bytes,
                                       uint64_t earliest_fs, uint64_t *start_fs) {
  if (s->free_fs < earliest_fs) {
    s->free_fs = earliest_fs;
    s->rem = 0;
  }
  *start_fs = s->free_fs + (s->rem != 0);
  if (s->rate_bytes_per_s == TSR_UNLIMITED) return s->free_fs;
  if (bytes != s->unit_bytes) tsr_server_set_unit(s, bytes);
  s->rem += s->rest;
  uint64_t carry = s->rem >= s->rate_bytes_per_s;
  if (carry) s->rem -= s->rate_bytes_per_s;
  if (!tsr_add_u64(s->free_fs, s->quot + carry, &s->free_fs)) s->free_fs = UINT64_MAX - 1;
  return s->free_fs + (s->rem != 0);
}

#endif
