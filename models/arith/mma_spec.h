/* Matrix units described by a text.
 *
 *   unit  = base [":" key "=" value {"," key "=" value}]
 *   base  = the name of a row of mma.def, whose values then hold, or a kind:
 *           fma muladd tree exact fused two-stage grouped int
 *   keys  = a b acc c inner via part scale        a format's name
 *           L F F2 ez chunk promote group block norm   integers (norm: step, end, or n)
 *           round align via-round outer-round part-round   a rounding mode
 *           sat (wrap satend satstep pair16) · join (sum after) · order (asc tree
 *           strided:S strided:S:W) · sparse (N:M) · len (physical logical) ·
 *           part-order (asc chain tree) · nan (quiet ones) · overflow (ieee inf) ·
 *           flush, parity (yes no)
 *   list  = unit {";" unit}                       the first one whose formats fit
 * `c` as a key also takes join and after, as `join`; `order=tree` of a kind that
 * rounds each product is the adder tree.  A kind starts from: acc=fp32 (int32 for
 * int), L=16 (fma, muladd, int: 1), F=25, F2=31, group=16, round=rne (fused,
 * grouped: rz), align=rz (two-stage second stage floors), ez=-108-F.
 * Keys `a`, `b` and `acc` may be absent where the caller names the formats.
 * Ownership: a spec owns what its unit points to; it must not be copied or moved.
 * Errors: TSR_USAGE with a message that names the key; the output is unchanged. */
#ifndef TSR_MODELS_ARITH_MMA_SPEC_H
#define TSR_MODELS_ARITH_MMA_SPEC_H

#include "models/arith/mma.h"
#include "sim/base/err.h"

enum { TSR_MMA_TEXT_MAX = 256, TSR_MMA_SPEC_FORMATS = 8 };

struct tsr_mma_spec {
  struct tsr_mma unit;
  struct tsr_format formats[TSR_MMA_SPEC_FORMATS]; /* of names that are no rows */
  char names[TSR_MMA_SPEC_FORMATS][32];
  char name[TSR_MMA_TEXT_MAX]; /* the text it came from */
};

/* Reads one unit.  a, b, acc: used where the text names none; NULL: none. */
enum tsr_status tsr_mma_parse(const char *text, const struct tsr_format *a,
                              const struct tsr_format *b, const struct tsr_format *acc,
                              struct tsr_mma_spec *out, struct tsr_err *err);
/* The unit a machine uses for operands of formats a and b into acc (NULL: any): the
 * first of the list `text` that fits, or tsr_mma_default where text is empty.
 * *unit points into the table or into *store. */
enum tsr_status tsr_mma_resolve(const char *text, const struct tsr_format *a,
                                const struct tsr_format *b, const struct tsr_format *acc,
                                struct tsr_mma_spec *store, const struct tsr_mma **unit,
                                struct tsr_err *err);
/* Why a unit cannot work (static text), or NULL: fields contradict each other or lie
 * outside the limits. */
const char *tsr_mma_invalid(const struct tsr_mma *u);
/* The unit as a text that tsr_mma_parse reads back, into buf; returns buf. */
char *tsr_mma_print(const struct tsr_mma *u, char *buf, size_t size);

#endif
