/* The table of matrix units and the way into each kind (models/arith/mma.h). */
#include "models/arith/mma.h"

#include <string.h>

#include "models/arith/arith_int.h"

static const struct tsr_mma units[] = {
#define FORMAT(name) &tsri_formats[TSRI_FORMAT_##name]
#define TSR_MMA_FMA(name, in, out, doc, src)                       \
  {#name, TSR_MMA_SEQ_FMA, FORMAT(in), FORMAT(in), FORMAT(out), 0, \
   0,     TSR_ROUND_RNE,   false,      0,          doc,         src},
#define TSR_MMA_FUSED(name, in, out, len, bits, round, inf, ez, doc, src) \
  {#name, TSR_MMA_FUSED,     FORMAT(in), FORMAT(in), FORMAT(out), len,    \
   bits,  TSR_ROUND_##round, inf,        ez,         doc,         src},
#define TSR_MMA_INT(name, a, b, out, doc, src)                 \
  {#name, TSR_MMA_INT,   FORMAT(a), FORMAT(b), FORMAT(out), 0, \
   0,     TSR_ROUND_RNE, false,     0,         doc,         src},
#include "models/arith/mma.def"
};

enum { UNITS = sizeof units / sizeof units[0] };

size_t tsr_mma_count(void) {
  return UNITS;
}

const struct tsr_mma *tsr_mma_at(size_t i) {
  return i < UNITS ? &units[i] : NULL;
}

const struct tsr_mma *tsr_mma_find(const char *name) {
  for (size_t i = 0; i < UNITS; i++)
    if (strcmp(units[i].name, name) == 0) return &units[i];
  return NULL;
}

const struct tsr_mma *tsr_mma_default(const struct tsr_format *a, const struct tsr_format *b) {
  for (size_t i = 0; i < UNITS; i++) {
    const struct tsr_mma *u = &units[i];
    bool fits =
        u->kind == TSR_MMA_INT || (u->kind == TSR_MMA_SEQ_FMA && u->acc == FORMAT(fp32));
    if (fits && u->a == a && u->b == b) return u;
  }
  return NULL;
}

uint64_t tsri_mma_nan(const struct tsr_mma *u) {
  if (u->kind == TSR_MMA_FUSED) return tsri_mask(u->acc->bits - 1u);
  struct tsr_num nan = {TSR_NUM_NAN, false, false, 0, 1};
  return tsr_arith_encode(u->acc, u->round, &nan, NULL);
}

uint64_t tsr_mma_dot_stats(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b,
                           size_t k, uint64_t c, unsigned *events,
                           struct tsr_mma_stats *stats) {
  unsigned ev = 0;
  struct tsr_mma_stats st = {0};
  switch (u->kind) {
  case TSR_MMA_SEQ_FMA: c = tsri_dot_fma(u, a, b, k, c, &ev, &st); break;
  case TSR_MMA_FUSED: c = tsri_dot_fused(u, a, b, k, c, &ev, &st); break;
  case TSR_MMA_INT: c = tsri_dot_int(u, a, b, k, c, &ev); break;
  }
  if (events) *events |= ev;
  if (stats) stats->swamped_terms += st.swamped_terms;
  return c;
}

uint64_t tsr_mma_dot(const struct tsr_mma *u, const uint64_t *a, const uint64_t *b, size_t k,
                     uint64_t c, unsigned *events) {
  return tsr_mma_dot_stats(u, a, b, k, c, events, NULL);
}

static uint64_t add_int(const struct tsr_format *f, uint64_t x, uint64_t y, unsigned *events) {
  uint64_t code = (x + y) & tsri_mask(f->bits);
  uint64_t top = UINT64_C(1) << (f->bits - 1);
  /* Two addends of one sign and a sum of the other: it has wrapped. */
  if ((x ^ code) & (y ^ code) & top) *events |= TSR_EVENT_OVERFLOW;
  return code;
}

uint64_t tsr_mma_add(const struct tsr_mma *u, uint64_t x, uint64_t y, unsigned *events) {
  unsigned ev = 0;
  uint64_t r;
  if (u->acc->is_int) {
    r = add_int(u->acc, x, y, &ev);
  } else {
    struct tsr_num vx = tsri_decode(u->acc, x), vy = tsri_decode(u->acc, y);
    struct tsri_term tx = tsri_term_of(&vx), ty = tsri_term_of(&vy);
    if (vx.subnormal || vy.subnormal) ev |= TSR_EVENT_SUBNORMAL_IN;
    r = tsri_sum(u->acc, TSR_ROUND_RNE, &tx, &ty, tsri_mma_nan(u), &ev);
  }
  if (events) *events |= ev;
  return r;
}
