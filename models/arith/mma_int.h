/* Inside models/arith: one dot product on its way through the stages of a unit. */
#ifndef TSR_MODELS_ARITH_MMA_INT_H
#define TSR_MODELS_ARITH_MMA_INT_H

#include "models/arith/arith_int.h"

/* A sum wide enough to be exact: two's complement, lowest limb first. */
enum { TSRI_WIDE_LIMBS = 80, TSRI_WIDE_BITS = 64 * TSRI_WIDE_LIMBS };
struct tsri_wide {
  int lsb, limbs; /* weight of bit 0 is 2^lsb */
  uint64_t w[TSRI_WIDE_LIMBS];
};
void tsri_wide_init(struct tsri_wide *x, int lsb, int bits);
void tsri_wide_add(struct tsri_wide *x, bool sign, int exp, tsr_u128 sig);
/* The magnitude: 64 bits from the top one at *exp, *sticky below; false: zero. */
bool tsri_wide_top(const struct tsri_wide *x, bool *sign, int *exp, uint64_t *sig,
                   bool *sticky);

int tsri_clz128(tsr_u128 v); /* v > 0 */
/* Rounds m * 2^exp. */
uint64_t tsri_round128(const struct tsr_format *f, enum tsr_round mode, bool sign, int exp,
                       tsr_u128 m, bool sticky, unsigned *events);
/* v >> down of a magnitude (down < 0: up), rounded by mode for its sign; *lost is set
 * when a bit was lost. */
tsr_u128 tsri_shift(tsr_u128 v, int down, enum tsr_round mode, bool sign, bool *lost);
/* |value| < 2^max, a multiple of 2^min. */
void tsri_format_range(const struct tsr_format *f, int *min, int *max);
/* The wide sum of an EXACT unit: all its terms and C. */
void tsri_exact_range(const struct tsr_mma *u, int *lsb, int *bits);

/* Specials and signs of the terms of one sum. */
struct tsri_signs {
  bool nan, inf[2], sign[2]; /* sign[s]: a term with sign s took part */
};

/* One addend of a fused sum: (-1)^sign * sig * 2^exp, aligned by `top`. */
struct tsri_lane {
  bool sign;
  int exp, top;
  tsr_u128 sig;
};

/* A float format taken apart for the common case: a normal number. */
struct tsri_normal {
  uint64_t low, span; /* magnitudes of normal numbers: low to low + span */
  uint64_t mag_mask, man_mask;
  unsigned pad, man_bits, sign_at;
  int exp; /* of the last place, less the exponent field */
};

struct tsri_run {
  const struct tsr_mma *u;
  const struct tsr_mma_dot_args *args;
  unsigned *events;                       /* not NULL */
  struct tsr_mma_stats *stats;            /* NULL: nobody counts */
  const struct tsr_format *fa, *fb, *out; /* out: format a step rounds to */
  int frac;     /* fraction bits of an unnormalised product with its scales */
  bool use_top; /* the formats have no such thing: align by the leading bit */
  uint64_t nan; /* of acc */
  bool direct;  /* na and nb take operands apart: no conversion, nothing unusual */
  struct tsri_normal na, nb, nacc;
  struct tsri_term scale; /* of the products from k = scale_from to scale_to */
  size_t scale_from, scale_to;
  /* What a step keeps from piece to piece, or a running sum between normalisations. */
  struct tsri_wide wide; /* EXACT */
  struct tsri_signs signs;
  tsr_i128 sum;  /* INT; FUSED: sum * 2^exp while `live` */
  tsr_i128 lone; /* INT, PAIR16: a product that waits for its other, while has_lone */
  bool has_lone;
  int exp;
  bool live;
  int step;           /* since the last normalisation */
  uint64_t stack[64]; /* TREE: roots of whole subtrees, the largest first */
  size_t count;       /* TREE: products so far */
};

/* Products that go into one step; a step of any length comes in pieces of at most
 * TSR_MMA_LEN_MAX unless its operands lie in a row.  Product i is that of a[i] and
 * b[i] at k[i] (k NULL: base + i). */
struct tsri_piece {
  const uint64_t *a, *b;
  const size_t *k;
  size_t base, n;
  const uint64_t *c; /* the accumulator; NULL: the step has none */
  bool first, last;  /* piece of its step */
  bool end;          /* last step of its sum */
};

typedef uint64_t tsri_step_fn(struct tsri_run *r, const struct tsri_piece *p);
tsri_step_fn tsri_step_fma, tsri_step_muladd, tsri_step_tree, tsri_step_exact;
tsri_step_fn tsri_step_fused, tsri_step_two_stage, tsri_step_grouped, tsri_step_int;

static inline size_t tsri_piece_k(const struct tsri_piece *p, size_t i) {
  return p->k ? p->k[i] : p->base + i;
}
/* t times the scales of product k, of a unit that has scales. */
void tsri_scale_term(struct tsri_run *r, struct tsri_term *t, size_t k);
/* Any operands and accumulators, conversions and flushes done. */
struct tsri_term tsri_load_any(struct tsri_run *r, uint64_t a, uint64_t b);
struct tsri_term tsri_load_any_acc(struct tsri_run *r, uint64_t c);

static inline bool tsri_is_normal(const struct tsri_normal *f, uint64_t code) {
  return ((code >> f->pad) & f->mag_mask) - f->low <= f->span;
}

static inline struct tsri_term tsri_load_bare(struct tsri_run *r, const struct tsri_piece *p,
                                              size_t i) {
  uint64_t a = p->a[i], b = p->b[i];
  const struct tsri_normal *f = &r->na, *g = &r->nb;
  if (!r->direct || !tsri_is_normal(f, a) || !tsri_is_normal(g, b))
    return tsri_load_any(r, a, b);
  uint64_t x = a >> f->pad, y = b >> g->pad;
  struct tsri_term t;
  t.cls = TSR_NUM_FINITE;
  t.sign = (x >> f->sign_at ^ y >> g->sign_at) & 1;
  t.exp = (int)((x & f->mag_mask) >> f->man_bits) + f->exp +
          (int)((y & g->mag_mask) >> g->man_bits) + g->exp;
  t.sig = (tsr_u128)((x & f->man_mask) | f->low) * ((y & g->man_mask) | g->low);
  return t;
}

/* The term of product i, conversions, flushes and scales done. */
static inline struct tsri_term tsri_load(struct tsri_run *r, const struct tsri_piece *p,
                                         size_t i) {
  struct tsri_term t = tsri_load_bare(r, p, i);
  if (r->u->scale) tsri_scale_term(r, &t, tsri_piece_k(p, i));
  return t;
}

static inline struct tsri_term tsri_load_acc(struct tsri_run *r, uint64_t c) {
  const struct tsri_normal *f = &r->nacc;
  if (!tsri_is_normal(f, c)) return tsri_load_any_acc(r, c);
  uint64_t x = c >> f->pad;
  struct tsri_term t;
  t.cls = TSR_NUM_FINITE;
  t.sign = x >> f->sign_at & 1;
  t.exp = (int)((x & f->mag_mask) >> f->man_bits) + f->exp;
  t.sig = (x & f->man_mask) | f->low;
  return t;
}

/* Loads all products as lanes (FINITE ones), notes the rest; returns their number. */
int tsri_lanes(struct tsri_run *r, const struct tsri_piece *p, struct tsri_lane *lanes);
struct tsri_lane tsri_lane_acc(const struct tsri_run *r, const struct tsri_term *t);
/* The lane in units of 2^q, with its sign; counts it as a term, or as acc. */
tsr_i128 tsri_lane_cut(struct tsri_run *r, const struct tsri_lane *v, int q, bool is_acc);

static inline void tsri_signs_note(struct tsri_signs *s, enum tsr_num_class cls, bool sign) {
  s->sign[sign] = true;
  if (cls <= TSR_NUM_FINITE) return;
  if (cls == TSR_NUM_NAN) s->nan = true;
  if (cls == TSR_NUM_INF) s->inf[sign] = true;
}
static inline bool tsri_signs_special(const struct tsri_signs *s) {
  return s->nan || s->inf[0] || s->inf[1];
}
/* The result of a sum with a special term. */
uint64_t tsri_signs_result(struct tsri_run *r);
/* The sign of a sum that is zero: of its terms where they agree. */
bool tsri_signs_zero(const struct tsri_signs *s, enum tsr_round mode);

/* Rounds m * 2^exp to the step's format; the result is a code of acc. */
uint64_t tsri_finish(struct tsri_run *r, bool sign, int exp, tsr_u128 m, bool sticky);
/* A fused sum s * 2^q that was aligned by `top`. */
uint64_t tsri_finish_sum(struct tsri_run *r, tsr_i128 s, int q, int top);
/* x + y of acc codes, rounded once to acc, by the unit's rules. */
uint64_t tsri_acc_add(struct tsri_run *r, enum tsr_round mode, uint64_t x, uint64_t y);
/* x + y of a step: rounded once to the step's format; the result is a code of acc. */
uint64_t tsri_step_sum(struct tsri_run *r, const struct tsri_term *x,
                       const struct tsri_term *y);
uint64_t tsri_int_add(const struct tsr_mma *u, uint64_t x, uint64_t y, unsigned *events);

void tsri_run_init(struct tsri_run *r, const struct tsr_mma *u,
                   const struct tsr_mma_dot_args *args, unsigned *events,
                   struct tsr_mma_stats *stats);
/* All of one sum, c included. */
uint64_t tsri_run_sum(struct tsri_run *r);

#endif
