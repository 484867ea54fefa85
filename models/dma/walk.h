/* Walking a box of a tensor burst by burst.
 *
 * A box becomes runs of contiguous bytes (inner dimensions that touch are
 * merged), a run becomes the bursts that it touches; bursts start at multiples
 * of the burst size.  Two neighbours that touch the same burst share it.
 * A gather or scatter lists the places of dimension 0; each is a box of the rest. */
#ifndef TSR_MODELS_DMA_WALK_H
#define TSR_MODELS_DMA_WALK_H

#include "models/model.h"

struct tsri_walk {
  uint64_t burst_bytes;
  uint32_t rank;                /* dimensions left after merging, slowest first */
  uint64_t count[4], stride[4]; /* in bytes */
  uint64_t index[4];
  /* places of dimension 0, or NULL; the present one */
  const uint64_t *place;
  uint64_t places, at, place_bytes, place_size, base;
  uint64_t run_bytes;    /* contiguous bytes of a run */
  uint64_t run_addr;     /* of the present run */
  uint64_t next, last;   /* next and last burst number of the present run */
  uint64_t useful_bytes; /* of the whole box, clipped */
  bool empty, end;
};

/* Clips the box to the tensor and starts at its first burst.  `index` (borrowed): the
 * box.extent[0] places of dimension 0, as in struct tsr_xfer_req; NULL: a box. */
void tsri_walk_init(struct tsri_walk *w, const struct tsr_box *box, const uint64_t *index,
                    uint64_t burst_bytes);
/* The next burst's address; false at the end. */
bool tsri_walk_next(struct tsri_walk *w, uint64_t *addr);
/* Where it stands, addresses apart (models/visit.h); not of a list of places. */
void tsri_walk_visit(const struct tsri_walk *w, struct tsr_visit *v);

#endif
