/* Inside models/arith: the pieces of a matrix unit that mma.c puts together, over the
 * decoding and the rounding waist of round_int.h. */
#ifndef TSR_MODELS_ARITH_ARITH_INT_H
#define TSR_MODELS_ARITH_ARITH_INT_H

#include "models/arith/mma.h"
#include "models/arith/round_int.h"
#include "sim/base/mem.h"

/* An addend before rounding: (-1)^sign * sig * 2^exp, 0 < sig < 2^120 when FINITE
 * (two significands and those of two scales; mma_limits.c refuses wider units). */
struct tsri_term {
  enum tsr_num_class cls;
  bool sign;
  int exp;
  tsr_u128 sig;
};

/* Exact product of two decoded values; *events gains INVALID for 0 * inf. */
struct tsri_term tsri_product(const struct tsr_num *a, const struct tsr_num *b,
                              unsigned *events);
struct tsri_term tsri_term_of(const struct tsr_num *v);
/* x + y, rounded once into f; a NaN result is the code `nan`.  A sum that cancels is
 * +0, or -0 when rounding down. */
uint64_t tsri_sum(const struct tsr_format *f, enum tsr_round mode, const struct tsri_term *x,
                  const struct tsri_term *y, uint64_t nan, unsigned *events);

/* The code of the NaN a unit makes. */
uint64_t tsri_mma_nan(const struct tsr_mma *u);

#endif
