/* Operand values for studies and numeric checks: drawn by seed, stream and index
 * alone, so that order and threads do not matter.
 *
 * Everything is built from integers, additions and multiplications of doubles: the
 * same bits on every machine.  A value is rounded to fp32 first; that is the
 * unquantised operand.  Then it is quantised to the operand's format.
 * Integers: fp32 values times 2^TSR_DRAW_INT_SCALE, unsigned ones by magnitude.
 * Ownership: none.  Sources: SRC:salmon2011 (the generator). */
#ifndef TSR_KERNELS_CHECK_DRAW_H
#define TSR_KERNELS_CHECK_DRAW_H

#include <stdint.h>

#include "models/arith/format.h"

enum { TSR_DRAW_INT_SCALE = 5 };

/* X(id, name, doc) */
#define TSR_DRAW_LIST(X)                                                       \
  X(NORMAL, "normal", "mean 0, variance 1")                                    \
  X(UNIFORM, "uniform", "from -1 to 1")                                        \
  X(SAME_SIGN, "same-sign", "uniform from 0 to 1: every product adds")         \
  X(LOGNORMAL, "lognormal", "magnitude 2^(1.5 z), z normal; random sign")      \
  X(OUTLIERS, "outliers", "normal; one value of 256 is 64 times as large")     \
  X(CANCELLING, "cancelling",                                                  \
    "the second half of k takes back the first, but for every eighth product") \
  X(ONES, "ones", "every value 1")

enum tsr_draw {
#define TSR_DRAW_ENUM(id, name, doc) TSR_DRAW_##id,
  TSR_DRAW_LIST(TSR_DRAW_ENUM)
#undef TSR_DRAW_ENUM
      TSR_DRAW_N_
};
extern const char *const tsr_draw_names[]; /* ends with NULL */
extern const char *const tsr_draw_docs[];

/* One value of a distribution as fp32.  `lane` is the row of A or the column of B,
 * k its place of K; `b`: of operand B (cancelling differs).  `stream` tells tensors
 * apart; streams that differ below bit 62 must be used for different ones. */
float tsr_draw_value(enum tsr_draw dist, uint64_t seed, uint64_t stream, bool b, uint64_t lane,
                     uint64_t k, uint64_t K);
/* The normal value of an element of a tensor, as fp32. */
float tsr_draw_normal(uint64_t seed, uint64_t stream, uint64_t index);

/* x in format f (rounded to nearest even).  *from: what was quantised: x, scaled
 * for integers by 2^scale (0 or TSR_DRAW_INT_SCALE), without sign for unsigned. */
uint64_t tsr_draw_quantise(const struct tsr_format *f, float x, int scale, float *from);

/* Bits that the quantised normal values of a format span: an a-priori range. */
struct tsr_exact_range;
void tsr_draw_normal_range(const struct tsr_format *f, struct tsr_exact_range *out);

/* Many normal elements at once, through a table of the codes met so far; tables serve
 * any seed and stream, and one at a time may use one.  Equals tsr_draw_quantise of
 * tsr_draw_normal, element by element. */
struct tsr_draw_table;
enum tsr_status tsr_draw_table_create(const struct tsr_format *f, struct tsr_draw_table **out,
                                      struct tsr_err *err);
void tsr_draw_table_destroy(struct tsr_draw_table *t); /* NULL is allowed */
const struct tsr_format *tsr_draw_table_format(const struct tsr_draw_table *t);
/* Elements [index, index + n) as codes of `bytes` bytes each (tsr_gemm_code_bytes) and
 * what they were quantised from. */
void tsr_draw_normal_many(struct tsr_draw_table *t, uint64_t seed, uint64_t stream,
                          uint64_t index, size_t n, void *codes, float *from);

#endif
