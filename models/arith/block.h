/* Block formats: elements that share a scale.
 *
 * Models: OCP MX (32 elements, scale E8M0, a power of two) and NVFP4 (16 elements,
 * scale UE4M3, and one fp32 scale for the tensor).  value = element * block scale
 * (* tensor scale), exactly; an element is its source over the scales, rounded once.
 * Elements and scales are codes of block->elem and block->scale.
 * A block runs along k; the last one of a row may be shorter.
 * Events are OR-ed into *events; a NULL events is allowed.
 * Ownership: none, no allocation.  Sources: SRC:ocp_mx, SRC:nvfp4, SRC:torchao. */
#ifndef TSR_MODELS_ARITH_BLOCK_H
#define TSR_MODELS_ARITH_BLOCK_H

#include "models/arith/format.h"

struct tsr_block {
  const char *name;
  const struct tsr_format *elem, *scale;
  size_t len;        /* elements to a scale */
  bool tensor_scale; /* a further fp32 scale for the whole tensor */
  const char *doc, *src;
};

size_t tsr_block_count(void);
const struct tsr_block *tsr_block_at(size_t i);
/* By name (`mxfp8_e4m3`), or NULL. */
const struct tsr_block *tsr_block_find(const char *name);

/* The exponent of a power-of-two scale, from the largest magnitude of the block;
 * emax: exponent of the element's largest value, max. */
enum tsr_block_scale_mode {
  TSR_BLOCK_SCALE_FLOOR, /* floor(log2 amax) - emax: what OCP MX describes */
  TSR_BLOCK_SCALE_CEIL,  /* ceil(log2 amax) - emax */
  TSR_BLOCK_SCALE_EVEN,  /* floor(log2(amax + half a last place of the element)) - emax */
  TSR_BLOCK_SCALE_RCEIL, /* ceil(log2(amax / max)): the least that clips nothing */
  TSR_BLOCK_SCALE_N_
};

struct tsr_block_spec {
  enum tsr_block_scale_mode scale_mode; /* power-of-two scales only */
  /* Of the elements; they always saturate.  `saturate` is about the scale: an
   * infinity in the block, or a scale beyond the format, gives the largest scale
   * and clipped elements (true), or the NaN scale (false). */
  struct tsr_round_spec round;
};

/* Scale of the tensor (fp32 code): amax / (largest element * largest block scale),
 * to nearest even, kept within the positive finite numbers; 1 for amax 0; NaN with
 * INVALID for an infinity or NaN.  1 where the format has none. */
uint64_t tsr_block_tensor_scale(const struct tsr_block *b, const struct tsr_num *amax,
                                unsigned *events);
/* Scale of a block of largest magnitude amax.  A power of two: by mode, kept at
 * 2^-127 or above.  NVFP4: amax / (largest element * tensor scale), to nearest even,
 * at most 448 (a block far below the tensor may get 0).  amax 0 gives the smallest
 * scale.  NaN gives the NaN scale. */
uint64_t tsr_block_scale(const struct tsr_block *b, const struct tsr_block_spec *s,
                         const struct tsr_num *amax, uint64_t tensor_scale, unsigned *events);
/* One block: n <= b->len codes of `from` become n element codes and *scale.
 * `index` is that of the first element, for SR.  tensor_scale: fp32 code, ignored
 * where the format has none.  Elements under a NaN scale are 0, under a zero scale
 * zeros of their sign. */
void tsr_block_encode(const struct tsr_block *b, const struct tsr_block_spec *s,
                      const struct tsr_format *from, const uint64_t *in, size_t n,
                      uint64_t index, uint64_t tensor_scale, uint64_t *scale, uint64_t *elem,
                      unsigned *events);
/* The exact value of an element. */
struct tsr_num tsr_block_decode(const struct tsr_block *b, uint64_t elem, uint64_t scale,
                                uint64_t tensor_scale);

#endif
