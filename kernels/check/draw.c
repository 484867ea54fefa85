/* Operand values (kernels/check/draw.h). */
#include "kernels/check/draw.h"

#include <string.h>

#include "kernels/check/exact.h"
#include "models/arith/gemm.h"
#include "sim/base/rng.h"

const char *const tsr_draw_names[] = {
#define NAME(id, name, doc) name,
    TSR_DRAW_LIST(NAME)
#undef NAME
        NULL};
const char *const tsr_draw_docs[] = {
#define DOC(id, name, doc) doc,
    TSR_DRAW_LIST(DOC)
#undef DOC
        NULL};

/* Shape of the distributions.  SRC:assumed */
enum { OUTLIER_ONE_OF = 256, OUTLIER_TIMES = 64, SPARED = 8 };
static const double octaves_per_sigma = 1.5, spared_scale = 0.125;

enum { SECOND = 62 }; /* this bit of a stream: a second draw of the same element */

/* 2^x, |x| < 64, by one table of constants and exact splitting: x is taken to 16
 * fraction bits, and each set bit multiplies by the double nearest to 2^(2^-i). */
static double exp2_of(double x) {
  static const double root[16] = {
      0x1.6a09e667f3bcdp+0, 0x1.306fe0a31b715p+0, 0x1.172b83c7d517bp+0, 0x1.0b5586cf9890fp+0,
      0x1.059b0d3158574p+0, 0x1.02c9a3e778061p+0, 0x1.0163da9fb3335p+0, 0x1.00b1afa5abcbfp+0,
      0x1.0058c86da1c0ap+0, 0x1.002c605e2e8cfp+0, 0x1.00162f3904052p+0, 0x1.000b175effdc7p+0,
      0x1.00058ba01fbap+0,  0x1.0002c5cc37da9p+0, 0x1.000162e525eep+0,  0x1.0000b17255776p+0};
  int32_t fixed = (int32_t)(x * 65536.0);
  int32_t whole = fixed >> 16;
  uint32_t fraction = (uint32_t)fixed & 0xffff;
  uint64_t bits = (uint64_t)(whole + 1023) << 52;
  double v;
  memcpy(&v, &bits, sizeof v);
  for (int i = 0; i < 16; i++)
    if (fraction >> (15 - i) & 1) v *= root[i];
  return v;
}

float tsr_draw_normal(uint64_t seed, uint64_t stream, uint64_t index) {
  return (float)tsr_rng_normal(seed, stream, index);
}

/* A second source of bits for the element. */
static uint64_t second(uint64_t seed, uint64_t stream, uint64_t index) {
  return tsr_rng_u64(seed, stream | UINT64_C(1) << SECOND, index);
}

/* The sum over k of such a dot product is that of the spared pairs alone. */
static double cancelling(uint64_t seed, uint64_t stream, bool b, uint64_t lane, uint64_t k,
                         uint64_t K) {
  uint64_t half = K / 2, base = lane * K;
  if (k < half || k >= 2 * half) return tsr_rng_normal(seed, stream, base + k);
  uint64_t first = k - half;
  if (first % SPARED == 0) return spared_scale * tsr_rng_normal(seed, stream, base + k);
  double v = tsr_rng_normal(seed, stream, base + first);
  return b ? -v : v;
}

float tsr_draw_value(enum tsr_draw dist, uint64_t seed, uint64_t stream, bool b, uint64_t lane,
                     uint64_t k, uint64_t K) {
  uint64_t index = lane * K + k;
  switch (dist) {
  case TSR_DRAW_NORMAL: return tsr_draw_normal(seed, stream, index);
  case TSR_DRAW_UNIFORM:
    return (float)((double)(tsr_rng_u64(seed, stream, index) >> 11) * 0x1p-52 - 1);
  case TSR_DRAW_SAME_SIGN:
    return (float)((double)((tsr_rng_u64(seed, stream, index) >> 11) + 1) * 0x1p-53);
  case TSR_DRAW_LOGNORMAL: {
    double v = exp2_of(octaves_per_sigma * tsr_rng_normal(seed, stream, index));
    return (float)(second(seed, stream, index) & 1 ? -v : v);
  }
  case TSR_DRAW_OUTLIERS: {
    double v = tsr_rng_normal(seed, stream, index);
    return (float)(second(seed, stream, index) % OUTLIER_ONE_OF ? v : OUTLIER_TIMES * v);
  }
  case TSR_DRAW_CANCELLING: return (float)cancelling(seed, stream, b, lane, k, K);
  case TSR_DRAW_ONES:
  case TSR_DRAW_N_: break;
  }
  return 1;
}

/* What is quantised: exact, a power of two away. */
static float source_of(const struct tsr_format *f, float x, int scale) {
  if (f->is_int) x *= (float)(1 << scale);
  return f->is_unsigned && x < 0 ? -x : x;
}

uint64_t tsr_draw_quantise(const struct tsr_format *f, float x, int scale, float *from) {
  *from = source_of(f, x, scale);
  return tsr_arith_from_double(f, TSR_ROUND_RNE, (double)*from, NULL);
}

/* ---- many normal values ---- */

enum { PLACES = 2 * TSR_RNG_STEPS + 1, CHUNK = 1024 };

/* A code for each integer that the generator gives; `known` tells which are made. */
struct tsr_draw_table {
  const struct tsr_format *f;
  size_t bytes;
  uint32_t *codes; /* formats of more than 32 bits: NULL, no table */
  bool *known;
};

enum tsr_status tsr_draw_table_create(const struct tsr_format *f, struct tsr_draw_table **out,
                                      struct tsr_err *err) {
  struct tsr_draw_table *t = tsr_mem_alloc(sizeof *t);
  if (!t) return tsr_err_nomem(err);
  t->f = f;
  t->bytes = tsr_gemm_code_bytes(f);
  if (f->bits <= 32) {
    t->codes = tsr_mem_array(PLACES, sizeof *t->codes);
    t->known = tsr_mem_array(PLACES, sizeof *t->known);
    if (!t->codes || !t->known) {
      tsr_draw_table_destroy(t);
      return tsr_err_nomem(err);
    }
  }
  *out = t;
  return TSR_OK;
}

void tsr_draw_table_destroy(struct tsr_draw_table *t) {
  if (!t) return;
  tsr_mem_free(t->codes);
  tsr_mem_free(t->known);
  tsr_mem_free(t);
}

const struct tsr_format *tsr_draw_table_format(const struct tsr_draw_table *t) {
  return t->f;
}

static uint64_t code_of(struct tsr_draw_table *t, int32_t steps, float *from) {
  const struct tsr_format *f = t->f;
  float x = (float)tsr_rng_normal_of(steps);
  int32_t place = steps + TSR_RNG_STEPS;
  if (!t->codes) return tsr_draw_quantise(f, x, TSR_DRAW_INT_SCALE, from);
  if (!t->known[place]) {
    t->codes[place] = (uint32_t)tsr_draw_quantise(f, x, TSR_DRAW_INT_SCALE, from);
    t->known[place] = true;
  }
  *from = source_of(f, x, TSR_DRAW_INT_SCALE);
  return t->codes[place];
}

void tsr_draw_normal_many(struct tsr_draw_table *t, uint64_t seed, uint64_t stream,
                          uint64_t index, size_t n, void *codes, float *from) {
  int32_t steps[CHUNK];
  for (size_t at = 0; at < n; at += CHUNK) {
    size_t len = tsr_min_u64(CHUNK, n - at);
    tsr_rng_normal_steps(seed, stream, index + at, len, steps);
    for (size_t i = 0; i < len; i++) {
      uint64_t code = code_of(t, steps[i], &from[at + i]);
      tsr_exact_code_set(codes, t->bytes, at + i, code);
    }
  }
}

void tsr_draw_normal_range(const struct tsr_format *f, struct tsr_exact_range *out) {
  /* The smallest magnitude but 0 is above 2^-16, the largest below 5, which a coarse
   * format may round up to 8. */
  enum { LEAST = -16, MOST = 3 };
  tsr_exact_range_init(out);
  out->any = true;
  if (f->codec || f->bits <= 4) { /* few codes: look at all */
    tsr_exact_range_init(out);
    for (uint64_t code = 0; code >> f->bits == 0; code++) {
      struct tsr_num v = tsr_arith_decode(f, code);
      if (v.cls == TSR_NUM_FINITE) tsr_exact_range_add(out, &v);
    }
  } else if (f->is_int) {
    out->lsb = -f->bias;
    out->msb = MOST + TSR_DRAW_INT_SCALE;
  } else {
    int least = 1 - f->bias;
    out->lsb = (least > LEAST ? least : LEAST) - f->man_bits;
    out->msb = MOST;
  }
}
