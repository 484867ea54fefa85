/* Packing what lives for a while: blocks share bytes where their lives do not meet.
 *
 * Units: bytes; lives are [from, to], both counted, in any unit of time.  Ownership: plain
 * values. */
#ifndef TSR_SIM_RUN_PACK_H
#define TSR_SIM_RUN_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsri_block {
  size_t from, to;
  uint64_t bytes, at; /* at: where it was put */
};

/* Puts a block at the lowest place, aligned, where it meets none of `n` others that live at the
 * same time, and ends within `limit`; false: there is none (x stays).  `others` are sorted by
 * `at`; the place of x among them is *index. */
bool tsri_block_fit(const struct tsri_block *others, size_t n, uint64_t align, uint64_t limit,
                    struct tsri_block *x, size_t *index);

#endif
