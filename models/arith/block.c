/* Block formats (models/arith/block.h). */
#include "models/arith/block.h"

#include <stdlib.h>
#include <string.h>

#include "models/arith/round_int.h"
#include "sim/base/mem.h"

static const struct tsr_block blocks[] = {
#define TSR_BLOCK(name, elem, scale, len, tensor, doc, src) \
  {#name,                                                   \
   &tsri_formats[TSRI_FORMAT_##elem],                       \
   &tsri_formats[TSRI_FORMAT_##scale],                      \
   len,                                                     \
   tensor,                                                  \
   doc,                                                     \
   src},
#include "models/arith/block.def"
#undef TSR_BLOCK
};

enum { BLOCKS = sizeof blocks / sizeof blocks[0], E8M0_BIAS = 127, E8M0_MAX = 0xfe };

static const struct tsr_format *const fp32 = &tsri_formats[TSRI_FORMAT_fp32];

size_t tsr_block_count(void) {
  return BLOCKS;
}

const struct tsr_block *tsr_block_at(size_t i) {
  return i < BLOCKS ? &blocks[i] : NULL;
}

const struct tsr_block *tsr_block_find(const char *name) {
  for (size_t i = 0; i < BLOCKS; i++)
    if (strcmp(blocks[i].name, name) == 0) return &blocks[i];
  return NULL;
}

/* ---- magnitudes ---- */

/* sig * 2^exp with the leading bit of sig at 63; exponent of that bit. */
static uint64_t leading(const struct tsr_num *v, int *msb) {
  int n = __builtin_clzll(v->sig);
  *msb = v->exp + 63 - n;
  return v->sig << n;
}

/* |x| > |y|; NaN above infinity above all. */
static bool larger(const struct tsr_num *x, const struct tsr_num *y) {
  if (x->cls != y->cls || x->cls != TSR_NUM_FINITE) return x->cls > y->cls;
  int ex, ey;
  uint64_t sx = leading(x, &ex), sy = leading(y, &ey);
  return ex != ey ? ex > ey : sx > sy;
}

static struct tsr_num largest(const struct tsr_format *f) {
  return tsri_decode(f, tsr_arith_max(f, false));
}

static struct tsr_num product(const struct tsr_num *x, const struct tsr_num *y) {
  enum tsr_num_class cls = x->cls > y->cls ? x->cls : y->cls;
  bool zero = x->cls == TSR_NUM_ZERO || y->cls == TSR_NUM_ZERO;
  if (zero && cls == TSR_NUM_INF) cls = TSR_NUM_NAN;
  if (zero && cls == TSR_NUM_FINITE) cls = TSR_NUM_ZERO;
  return (struct tsr_num){cls, x->sign != y->sign, false, x->exp + y->exp, x->sig * y->sig};
}

/* v / d, both finite and d not zero, rounded once. */
static uint64_t quotient(const struct tsr_format *f, const struct tsr_round_spec *s,
                         uint64_t index, const struct tsr_num *v, const struct tsr_num *d,
                         unsigned *events) {
  int ev, ed;
  if (v->cls == TSR_NUM_ZERO) return tsr_arith_encode_spec(f, s, index, v, events);
  tsr_u128 num = (tsr_u128)leading(v, &ev) << 63;
  uint64_t den = leading(d, &ed), q = (uint64_t)(num / den);
  return tsr_arith_round_spec(f, s, index, v->sign != d->sign, ev - ed - 63, q, num % den != 0,
                              events);
}

/* ---- scales ---- */

/* floor(log2) of the element's largest value. */
static int element_emax(const struct tsr_format *elem) {
  struct tsr_num max = largest(elem);
  int e;
  leading(&max, &e);
  return e;
}

static int scale_exponent(const struct tsr_format *elem, enum tsr_block_scale_mode mode,
                          const struct tsr_num *amax) {
  int e, unused, frac = elem->is_int ? elem->bias : elem->man_bits;
  uint64_t sig = leading(amax, &e);
  struct tsr_num max = largest(elem);
  switch (mode) {
  case TSR_BLOCK_SCALE_CEIL: e += sig > UINT64_C(1) << 63; break;
  case TSR_BLOCK_SCALE_EVEN: e += sig + (UINT64_C(1) << (62 - frac)) < sig; break;
  case TSR_BLOCK_SCALE_RCEIL: e += sig > leading(&max, &unused); break;
  case TSR_BLOCK_SCALE_FLOOR:
  case TSR_BLOCK_SCALE_N_: break;
  }
  return e - element_emax(elem);
}

static uint64_t power_scale(const struct tsr_block *b, const struct tsr_block_spec *s,
                            const struct tsr_num *amax, unsigned *events) {
  bool inf = amax->cls == TSR_NUM_INF;
  int code = inf ? E8M0_MAX + 1 : scale_exponent(b->elem, s->scale_mode, amax) + E8M0_BIAS;
  if (code < 0) return 0;
  if (code <= E8M0_MAX) return (uint64_t)code;
  *events |= inf ? 0 : (unsigned)TSR_EVENT_OVERFLOW;
  *events |= s->round.saturate ? TSR_EVENT_SATURATED : TSR_EVENT_INVALID;
  return s->round.saturate ? E8M0_MAX : tsr_arith_nan(b->scale, TSR_NAN_QUIET);
}

static uint64_t fraction_scale(const struct tsr_block *b, const struct tsr_block_spec *s,
                               const struct tsr_num *amax, uint64_t tensor_scale,
                               unsigned *events) {
  struct tsr_num t = tsri_decode(fp32, tensor_scale), max = largest(b->elem);
  struct tsr_num full = product(&max, &t);
  struct tsr_round_spec near = {.mode = TSR_ROUND_RNE, .saturate = true};
  if (full.cls != TSR_NUM_FINITE) return tsr_arith_nan(b->scale, TSR_NAN_QUIET);
  if (amax->cls == TSR_NUM_FINITE) return quotient(b->scale, &near, 0, amax, &full, events);
  *events |= s->round.saturate ? TSR_EVENT_SATURATED : TSR_EVENT_INVALID;
  return s->round.saturate ? tsr_arith_max(b->scale, false)
                           : tsr_arith_nan(b->scale, TSR_NAN_QUIET);
}

uint64_t tsr_block_tensor_scale(const struct tsr_block *b, const struct tsr_num *amax,
                                unsigned *events) {
  struct tsr_num one = {TSR_NUM_FINITE, false, false, 0, 1}, v = *amax;
  unsigned ev = 0;
  uint64_t code;
  v.sign = false;
  if (!b->tensor_scale || v.cls == TSR_NUM_ZERO) {
    code = tsr_arith_encode(fp32, TSR_ROUND_RNE, &one, NULL);
  } else if (v.cls != TSR_NUM_FINITE) {
    ev |= TSR_EVENT_INVALID;
    code = tsr_arith_nan(fp32, TSR_NAN_QUIET);
  } else {
    struct tsr_num elem = largest(b->elem), scale = largest(b->scale);
    struct tsr_num full = product(&elem, &scale);
    struct tsr_round_spec near = {.mode = TSR_ROUND_RNE, .saturate = true};
    code = quotient(fp32, &near, 0, &v, &full, &ev);
    if (code == 0) code = 1; /* the smallest one: a scale of 0 says nothing */
  }
  if (events) *events |= ev;
  return code;
}

uint64_t tsr_block_scale(const struct tsr_block *b, const struct tsr_block_spec *s,
                         const struct tsr_num *amax, uint64_t tensor_scale, unsigned *events) {
  struct tsr_num v = *amax;
  unsigned ev = 0;
  uint64_t code = 0;
  v.sign = false;
  if (v.cls == TSR_NUM_NAN) {
    code = tsr_arith_nan(b->scale, TSR_NAN_QUIET);
  } else if (v.cls != TSR_NUM_ZERO) {
    code = b->tensor_scale ? fraction_scale(b, s, &v, tensor_scale, &ev)
                           : power_scale(b, s, &v, &ev);
  }
  if (events) *events |= ev;
  return code;
}

/* ---- blocks ---- */

static struct tsr_num scales(const struct tsr_block *b, uint64_t scale, uint64_t tensor_scale) {
  struct tsr_num x = tsri_decode(b->scale, scale);
  if (!b->tensor_scale) return x;
  struct tsr_num t = tsri_decode(fp32, tensor_scale);
  return product(&x, &t);
}

static struct tsr_num source(const struct tsr_format *from, uint64_t code,
                             const struct tsr_round_spec *s, unsigned *events) {
  struct tsr_num v = tsri_decode(from, code);
  if (v.subnormal) *events |= TSR_EVENT_SUBNORMAL_IN;
  if (v.subnormal && s->ftz_in) v.cls = TSR_NUM_ZERO;
  return v;
}

static uint64_t element(const struct tsr_block *b, const struct tsr_round_spec *s,
                        uint64_t index, struct tsr_num v, const struct tsr_num *x,
                        unsigned *events) {
  if (x->cls > TSR_NUM_FINITE) return 0;
  if (x->cls == TSR_NUM_ZERO && v.cls == TSR_NUM_FINITE) {
    *events |= TSR_EVENT_INEXACT | TSR_EVENT_UNDERFLOW;
    v.cls = TSR_NUM_ZERO;
  }
  if (v.cls != TSR_NUM_FINITE) return tsr_arith_encode_spec(b->elem, s, index, &v, events);
  return quotient(b->elem, s, index, &v, x, events);
}

void tsr_block_encode(const struct tsr_block *b, const struct tsr_block_spec *s,
                      const struct tsr_format *from, const uint64_t *in, size_t n,
                      uint64_t index, uint64_t tensor_scale, uint64_t *scale, uint64_t *elem,
                      unsigned *events) {
  if (n > b->len) abort();
  struct tsr_round_spec round = s->round;
  struct tsr_num amax = {TSR_NUM_ZERO, false, false, 0, 0};
  unsigned ev = 0;
  round.saturate = true;
  for (size_t i = 0; i < n; i++) {
    struct tsr_num v = source(from, in[i], &round, &ev);
    if (larger(&v, &amax)) amax = v;
  }
  *scale = tsr_block_scale(b, s, &amax, tensor_scale, &ev);
  struct tsr_num x = scales(b, *scale, tensor_scale);
  for (size_t i = 0; i < n; i++)
    elem[i] = element(b, &round, index + i, source(from, in[i], &round, &ev), &x, &ev);
  if (events) *events |= ev;
}

struct tsr_num tsr_block_decode(const struct tsr_block *b, uint64_t elem, uint64_t scale,
                                uint64_t tensor_scale) {
  struct tsr_num v = tsri_decode(b->elem, elem), x = scales(b, scale, tensor_scale);
  return product(&v, &x);
}
