/* A lane: a server of bytes that is booked ahead and keeps what it leaves free.
 *
 * A memory answers some requests later than others: the data of a miss book a link for
 * an instant far ahead, those of a hit that follows could pass long before.  A lane
 * therefore remembers the free intervals between its bookings and gives each booking
 * the first place that is long enough; behind all of them it is a tsr_server, exact at
 * its rate.  It remembers LANE_GAPS intervals, forgets those that are past, and the
 * oldest when there are more: a forgotten one is time lost, never time used twice.
 * SRC:graphite-queue
 *
 * Times in fs, an instant past 2^64 sticks (models/server.h).  TSR_UNLIMITED: no wait. */
#ifndef TSR_MODELS_LANE_H
#define TSR_MODELS_LANE_H

#include "models/server.h"

enum { TSR_LANE_GAPS = 64 };

struct tsr_lane_gap {
  uint64_t from_fs, to_fs;
};

struct tsr_lane {
  struct tsr_server tail;  /* behind all gaps */
  uint64_t bytes, wait_fs; /* so far */
  uint32_t n;              /* gaps, in order of time */
  struct tsr_lane_gap gap[TSR_LANE_GAPS];
};

static inline void tsr_lane_init(struct tsr_lane *l, uint64_t rate) {
  *l = (struct tsr_lane){.n = 0};
  tsr_server_init(&l->tail, rate);
}

/* What it was busy for: its bytes over its rate. */
static inline uint64_t tsr_lane_busy_fs(const struct tsr_lane *l) {
  if (l->tail.rate_bytes_per_s == TSR_UNLIMITED) return 0;
  return (uint64_t)((tsr_u128)l->bytes * TSR_FS_PER_S / l->tail.rate_bytes_per_s);
}

static inline void tsri_lane_drop(struct tsr_lane *l, uint32_t i, uint32_t n) {
  l->n -= n;
  for (; i < l->n; i++) l->gap[i] = l->gap[i + n];
}

/* Before gap i > 0, or behind all; of a full list the oldest goes. */
static inline void tsri_lane_insert(struct tsr_lane *l, uint32_t i, struct tsr_lane_gap g) {
  if (l->n == TSR_LANE_GAPS) {
    tsri_lane_drop(l, 0, 1);
    i--;
  }
  for (uint32_t k = l->n++; k > i; k--) l->gap[k] = l->gap[k - 1];
  l->gap[i] = g;
}

/* A place of `takes` fs in the gaps from `ready_fs` on; false: there is none. */
static inline bool tsri_lane_fit(struct tsr_lane *l, uint64_t takes, uint64_t ready_fs,
                                 uint64_t *start_fs) {
  for (uint32_t i = 0; i < l->n; i++) {
    struct tsr_lane_gap g = l->gap[i];
    uint64_t start = g.from_fs > ready_fs ? g.from_fs : ready_fs;
    if (start >= g.to_fs || g.to_fs - start < takes) continue;
    uint64_t end = start + takes;
    bool before = start > g.from_fs, after = end < g.to_fs;
    if (before && after) {
      l->gap[i].to_fs = start;
      tsri_lane_insert(l, i + 1, (struct tsr_lane_gap){end, g.to_fs});
    } else if (before || after) {
      *(before ? &l->gap[i].to_fs : &l->gap[i].from_fs) = before ? start : end;
    } else {
      tsri_lane_drop(l, i, 1);
    }
    *start_fs = start;
    return true;
  }
  return false;
}

/* Books `bytes` from `ready_fs` on, at `now_fs`; *start_fs is when they begin to pass, the
 * result when they have (rounded up to a whole fs). */
static inline uint64_t tsr_lane_take(struct tsr_lane *l, uint64_t now_fs, uint64_t bytes,
                                     uint64_t ready_fs, uint64_t *start_fs) {
  struct tsr_server *t = &l->tail;
  l->bytes += bytes;
  *start_fs = ready_fs;
  if (t->rate_bytes_per_s == TSR_UNLIMITED || bytes == 0) return ready_fs;
  if (bytes != t->unit_bytes) tsr_server_set_unit(t, bytes);
  uint32_t past = 0;
  while (past < l->n && l->gap[past].to_fs <= now_fs) past++;
  if (past) tsri_lane_drop(l, 0, past);
  uint64_t end, takes = t->quot + (t->rest != 0), free = t->free_fs + (t->rem != 0);
  if (ready_fs < free && tsri_lane_fit(l, takes, ready_fs, start_fs)) {
    end = *start_fs + takes;
  } else {
    struct tsr_lane_gap g = {free > now_fs ? free : now_fs, ready_fs};
    if (g.from_fs < g.to_fs) tsri_lane_insert(l, l->n, g);
    end = tsr_server_take(t, bytes, ready_fs, start_fs);
  }
  l->wait_fs += *start_fs - ready_fs;
  return end;
}

#endif
