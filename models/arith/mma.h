/* Matrix units: how a dot product is accumulated, bit for bit.
 *
 * A unit is a value of struct tsr_mma: a row of mma.def, or one described by a
 * text (mma_spec.h).  A dot product runs through these stages, each a field:
 *   select   a sparse unit lets n of every m products enter
 *   order    the sequence of the products along k
 *   promote, chunk   sums of so many k start at +0 and are added, rounded once
 *   steps    the kind adds fused_len products to the running sum and rounds
 * The chain is ascending, the rounded result of one step is C of the next, and a
 * last group shorter than fused_len is one step of its own.
 * Operands are codes; shapes: a[k], b[k], c and the result one element.
 * Events are OR-ed into *events; a NULL events is allowed.
 * Sources: SRC:mmasim and SRC:khattak2025 (the steps of real units, their
 * parameters and special values), SRC:ieee754. */
#ifndef TSR_MODELS_ARITH_MMA_H
#define TSR_MODELS_ARITH_MMA_H

#include "models/arith/format.h"

enum tsr_mma_kind {
  TSR_MMA_SEQ_FMA,    /* acc = round(acc + a*b), k ascending */
  TSR_MMA_FUSED,      /* T-step: align at the largest exponent, truncate, add */
  TSR_MMA_INT,        /* integers; see int_mode */
  TSR_MMA_SEQ_MULADD, /* p = round(a*b), acc = round(acc + p) */
  TSR_MMA_TREE,       /* products rounded, adjacent pairs added, then acc + root */
  TSR_MMA_EXACT,      /* acc = round(exact sum of the step and acc) */
  TSR_MMA_TWO_STAGE,  /* products fused first, then joined with acc (TR, GTR) */
  TSR_MMA_GROUPED,    /* exact sums of groups, scaled, then fused (GST) */
  TSR_MMA_KIND_N_
};

/* What an integer accumulator does outside its range. */
enum tsr_mma_int {
  TSR_MMA_INT_WRAP,    /* modulo 2^bits */
  TSR_MMA_INT_SATEND,  /* exact, clamped once at the end of the sum */
  TSR_MMA_INT_SATSTEP, /* clamped after every product, in order of k */
  TSR_MMA_INT_PAIR16,  /* adjacent pairs of products saturate to 16 bits, then wrap;
                          of those that enter, in the unit's order, from the start of
                          a chain; one left over is a pair with 0 */
  TSR_MMA_INT_N_
};

enum tsr_mma_join {
  TSR_MMA_JOIN_SUM,  /* C is one more term of the fused sum */
  TSR_MMA_JOIN_AFTER /* the products alone are rounded, then C is added, rounded */
};

enum tsr_mma_order {
  TSR_MMA_ORDER_ASC,
  TSR_MMA_ORDER_STRIDED, /* all k of lane 0, then of lane 1, …: see order_period */
  TSR_MMA_ORDER_TREE     /* each step without C; results added pairwise; C last */
};

/* How partial sums of several ranges of k meet (tsr_mma_reduce). */
enum tsr_mma_part_order {
  TSR_MMA_PART_ASC,   /* ((p0 + p1) + p2) + …, the running sum in `acc` */
  TSR_MMA_PART_CHAIN, /* the same, the running sum stored as a partial between */
  TSR_MMA_PART_TREE   /* adjacent pairs, level by level; an odd one passes up */
};

/* A row whose fused_len and align_bits are within the first two is summed in 64
 * bits; every row of the table is.  The last two bound any unit. */
enum {
  TSR_MMA_FUSED_LEN_MAX = 64,
  TSR_MMA_ALIGN_BITS_MAX = 48,
  TSR_MMA_LEN_MAX = 256,
  TSR_MMA_BITS_MAX = 64
};

struct tsr_mma {
  const char *name;
  enum tsr_mma_kind kind;
  const struct tsr_format *a, *b; /* operand formats; both floats or both integers */
  const struct tsr_format *acc;   /* accumulator and result */
  int fused_len;                  /* L: products of a step (FUSED, TREE, EXACT,
                                     TWO_STAGE, GROUPED; TREE, EXACT: 0 = all) */
  int align_bits;                 /* F (FUSED, TWO_STAGE, GROUPED) */
  enum tsr_round round;           /* of each step's result */
  bool overflow_inf;              /* overflow gives infinity in every mode */
  int zero_exp;                   /* ez: least exponent of alignment (FUSED, GROUPED) */
  const char *doc, *src;

  /* Inside a step */
  enum tsr_nan nan;               /* the NaN it makes */
  bool flush;                     /* subnormal operands, products, sums become 0 */
  enum tsr_round align_round;     /* at the alignment cut; RZ truncates, RD floors */
  enum tsr_mma_join join;         /* where C enters (FUSED) */
  int align2_bits;                /* F2 of the second stage (TWO_STAGE) */
  int group_len;                  /* products of a group (GROUPED) */
  bool parity;                    /* even and odd k are summed apart (TWO_STAGE) */
  const struct tsr_format *inner; /* format a step's result is rounded to first, then
                                     to acc: narrower, kept there exactly, or wider,
                                     rounded twice by `round`; NULL: acc */
  int norm_every;                 /* steps between normalisations of the running sum
                                     (FUSED): 0 or 1 each, n every n-th; -1 at the
                                     end; between, it stays in fixed point */
  const struct tsr_format *via;   /* operands are converted to this first; NULL: no */
  enum tsr_round via_round;
  enum tsr_mma_int int_mode; /* INT */

  /* Around the steps; 0 = absent */
  const struct tsr_format *c;     /* format of C in memory, contained in acc; NULL: acc.
                                     tsr_mma_dot takes C as a code of acc always */
  int instr_k;                    /* k of one instruction (documentation only) */
  const struct tsr_format *scale; /* block scales of both operands; NULL: none */
  int scale_block;                /* k per scale */
  enum tsr_mma_order order;       /* inside a chunk, or the whole sum without one */
  int order_period, order_width;  /* lane of k: (k mod period) / width */
  int chunk, promote;             /* k of a chunk, and of a group of chunks */
  enum tsr_round outer_round;     /* of the sums of chunks, and of join AFTER */
  int sparse_n, sparse_m;         /* n of every m k enter; 0: dense */
  bool sparse_logical;            /* fused_len counts k before the selection */
  const struct tsr_format *part;  /* format of a partial sum between passes; NULL: acc */
  enum tsr_round part_round;
  enum tsr_mma_part_order part_order;
};

size_t tsr_mma_count(void);
const struct tsr_mma *tsr_mma_at(size_t i);
const struct tsr_mma *tsr_mma_find(const char *name);
/* The unit used when a machine names none for these operand formats: fp32
 * sequential FMA for floats (fp64 for fp64), int32 modulo 2^32 for integers; NULL
 * when none fits. */
const struct tsr_mma *tsr_mma_default(const struct tsr_format *a, const struct tsr_format *b);

/* True for a chain of steps and nothing around them: no selection, order, chunks,
 * scales, conversion, narrower or unnormalised running sum, C joins the sum, cuts
 * truncate.  Such a unit is told by kind, formats, fused_len, align_bits,
 * align2_bits, group_len, round, zero_exp, overflow_inf, nan, flush, parity,
 * int_mode and `inner` alone. */
bool tsr_mma_is_plain(const struct tsr_mma *u);
/* Products after which the running sum is a rounded `acc` code again, so that a sum
 * may be cut there and continued from it as C; 0: nowhere. */
size_t tsr_mma_period(const struct tsr_mma *u);
/* A copy in which every rounding of sums (steps, chunks) is `mode`. */
struct tsr_mma tsr_mma_with_round(const struct tsr_mma *u, enum tsr_round mode);

/* result = c (+) sum over k of a[i]*b[i], through the unit.  `events` collects.
 * INT: OVERFLOW when the exact sum does not fit (SATSTEP, PAIR16: when one is
 * clipped; with SATURATED where it is).
 * A sparse unit takes the n of every m with the largest |a| (the lower k first). */
uint64_t tsr_mma_dot(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b, size_t k,
                     uint64_t c, unsigned *events);
/* What a dot product lost on the way; counters only grow.  Terms are products.
 * Kinds that round each addition count it there: swamped = the sum kept its value. */
struct tsr_mma_stats {
  /* Non-zero finite products that left no bit after alignment (FUSED, TWO_STAGE,
   * GROUPED: groups) or that left the accumulator as it was (SEQ_FMA, SEQ_MULADD). */
  uint64_t swamped_terms;
  uint64_t terms;           /* non-zero finite products (GROUPED: groups) that entered */
  uint64_t truncated_terms; /* left some bits, not all */
  uint64_t steps;           /* steps with a non-zero finite accumulator */
  uint64_t absorbed_acc;    /* of these: the accumulator left no bit */
  uint64_t cancelled_steps; /* steps with a finite non-zero result */
  uint64_t cancel_bits;     /* sum over these of max(0, e_max - e_result) */
  uint64_t cancel_max;      /* the largest of these (a maximum, not a sum) */
};
/* As tsr_mma_dot, and counts; stats may be NULL. */
uint64_t tsr_mma_dot_stats(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b,
                           size_t k, uint64_t c, unsigned *events, struct tsr_mma_stats *stats);

/* One dot product with everything that may come with its operands. */
struct tsr_mma_dot_args {
  const uint64_t *a, *b; /* codes, k of each */
  size_t k;
  /* Scale codes, one for each scale_block of k; NULL: all 1.  A scale that is no
   * finite number makes its products NaN. */
  const uint64_t *scale_a, *scale_b;
  /* Sparse units: bit i of select[g] lets k = g * sparse_m + i enter, at most
   * sparse_n bits of each; NULL: by |a|. */
  const uint32_t *select;
  uint64_t c;
};
uint64_t tsr_mma_dot_full(const struct tsr_mma *u, const struct tsr_mma_dot_args *args,
                          unsigned *events, struct tsr_mma_stats *stats);
/* Shorthand for block-scaled units. */
uint64_t tsr_mma_dot_scaled(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b,
                            size_t k, const uint64_t *scale_a, const uint64_t *scale_b,
                            uint64_t c, unsigned *events);

/* One addition in the accumulator format (RNE; integers wrap, or clamp where the
 * unit clamps): how a partial sum of another pass is added. */
uint64_t tsr_mma_add(const struct tsr_mma *u, uint64_t x, uint64_t y, unsigned *events);
/* A partial sum as it comes back from memory: rounded to `part`, as an acc code. */
uint64_t tsr_mma_partial(const struct tsr_mma *u, uint64_t x, unsigned *events);
/* Sums n partial sums (each of a range that started at +0), in the unit's partial
 * format and order; n = 1 gives it unchanged, n = 0 gives +0.
 * Equals additions by tsr_mma_add in ascending order when `part` is NULL and the
 * order ASC. */
uint64_t tsr_mma_reduce(const struct tsr_mma *u, const uint64_t *p, size_t n, unsigned *events);
/* The whole of split K: ranges end at cuts[0..n_cuts-1], ascending, the last = k, on
 * whole scale blocks and selection groups; n_cuts 0: one range that starts from c.
 * Otherwise the reduced sum, then c + it. */
uint64_t tsr_mma_dot_split(const struct tsr_mma *u, const struct tsr_mma_dot_args *args,
                           const size_t *cuts, size_t n_cuts, unsigned *events);

#endif
