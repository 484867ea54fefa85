/* The analytic model: the time of a product under a mapping, without the event model.
 *
 * It walks the mapping's loops tile by tile, as the program does, with one figure for each
 * transfer (bytes in whole bursts over the rate, and the latency) and for each multiplication
 * (the tile's own estimate of a lone request, its fill and drain taken off), and keeps the
 * times at which engines, tile and buffers are free.  A loop whose iterations have come to take
 * the same is not walked on: times move by as many as are left but the last.  So it costs some
 * tens of tiles, however many there are.
 *
 * Of several cores it knows what slices and links pass for all of them, and the sums of a k
 * that they divide.  What it leaves out: bank and port conflicts of scratchpads, the order of
 * bursts, other layers.
 *
 * Units: core cycles, bytes.  Ownership: plain values. */
#ifndef TSR_KERNELS_COST_COST_H
#define TSR_KERNELS_COST_COST_H

#include "kernels/mapping/mapping.h"

/* What a layer's time is made of, each as if nothing else took any. */
enum tsr_bound { TSR_BOUND_TILE, TSR_BOUND_MEMORY, TSR_BOUND_VECTOR, TSR_BOUND_COUNT_ };
extern const char *const tsr_bound_names[]; /* tile memory vector NULL */

struct tsr_cost {
  double cycles;
  double
      busy[TSR_BOUND_COUNT_]; /* cycles of the tile, of what moves data, of the vector unit */
  double dram_bytes;          /* of all cores */
  enum tsr_bound bound;       /* the largest of busy */
};

/* A layer divided among cores as `split` says (NULL: one), its largest part mapped by m. */
void tsr_cost_layer(const struct tsr_shape *s, const struct tsr_mapping *m,
                    const struct tsr_split *split, const struct tsr_target *t,
                    struct tsr_cost *out);

#endif
