/* The order in which a program sums along K.
 *
 * Products of a range go to the accumulator of the matrix unit.  Where the array cuts k, or a
 * tile of k ends, the sum so far is rounded to its format; a range that is promoted is
 * multiplied by its scale, where there are scales, and added to a running sum, both in fp32, to
 * nearest even, in ascending order, and the next begins at +0.
 * Where k is divided among cores, their sums meet in ascending order of the cores, in the
 * format in which they are held: the first as it is, each other added with one rounding. */
#include <math.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/run/run_int.h"

/* The part of K that the core at `at` has, with its shape. */
static void part_at(const struct tsr_run_layer_plan *l, uint64_t at, uint64_t *from,
                    uint64_t *to, struct tsr_shape *shape) {
  *from = 0;
  *to = l->op->k;
  *shape = l->shape;
  for (int i = 0; i < 2; i++) {
    enum tsr_isa_axis x = l->split.axis[i];
    if (x < TSR_AXIS_KH || l->split.parts[i] < 2) continue;
    uint64_t inner = 1; /* the axes of k outside the one that is divided have size 1 */
    for (int y = (int)x + 1; y <= TSR_AXIS_C; y++) inner *= l->shape.size[y];
    uint64_t each = l->split.chunk[i] * inner;
    *from = at / each * each;
    *to = tsr_min_u64(*from + each, l->op->k);
    shape->size[x] = (*to - *from) / inner;
    return;
  }
}

enum tsr_status tsri_run_cuts(const struct tsri_operands *o, struct tsri_cut **cuts, size_t *n,
                              struct tsr_err *err) {
  const struct tsr_run_layer_plan *l = o->l;
  struct tsri_cut *list = NULL;
  size_t cap = 0, period = tsr_mma_period(o->unit);
  uint64_t range = 0; /* where the present one began */
  *n = 0;
  for (uint64_t at = 0; at < l->op->k;) {
    struct tsr_shape shape;
    uint64_t from, to;
    part_at(l, at, &from, &to, &shape);
    uint64_t tile = from + tsr_mapping_k_tile(&shape, &l->mapping, at - from);
    at = from + tsr_mapping_k_cut(&shape, &l->mapping, at - from);
    bool promoted = l->mapping.promoted && at == tile;
    bool matters = promoted || at == to || !period || (at - range) % period != 0;
    if (!matters) continue; /* the unit rounds there by itself */
    if (!tsr_mem_grow((void **)&list, &cap, *n + 1, sizeof *list)) {
      tsr_mem_free(list);
      return tsr_err_nomem(err);
    }
    list[(*n)++] = (struct tsri_cut){(size_t)at, promoted, at == to};
    range = at;
  }
  *cuts = list;
  return TSR_OK;
}

static float float_of(uint32_t code) {
  float f;
  memcpy(&f, &code, sizeof f);
  return f;
}

static uint64_t code_of(const struct tsri_operands *o, float f) {
  uint32_t code;
  if (isnan(f)) return tsr_arith_from_double(o->sum, TSR_ROUND_RNE, (double)NAN, NULL);
  memcpy(&code, &f, sizeof code);
  return code;
}

/* The sum of two: in fp32 by the machine that runs this, which rounds to nearest even too. */
static uint64_t add(const struct tsri_operands *o, uint64_t x, uint64_t y, unsigned *events) {
  if (!o->l->mapping.promoted) return tsr_mma_add(o->unit, x, y, events);
  float sum = float_of((uint32_t)x) + float_of((uint32_t)y);
  bool finite = isfinite(float_of((uint32_t)x)) && isfinite(float_of((uint32_t)y));
  if (events && finite && isinf(sum)) *events |= TSR_EVENT_OVERFLOW;
  return code_of(o, sum);
}

/* A sum in fp32 times a scale, rounded to nearest even. */
static uint64_t multiply(const struct tsri_operands *o, uint64_t x, uint64_t scale,
                         unsigned *events) {
  float sum = float_of((uint32_t)x), s = (float)tsr_arith_to_double(o->l->scale, scale);
  float product = sum * s;
  if (events && isfinite(sum) && isfinite(s) && isinf(product)) *events |= TSR_EVENT_OVERFLOW;
  return code_of(o, product);
}

void tsri_sums_cut(const struct tsri_operands *o, const struct tsri_cut *cut, uint64_t scale,
                   struct tsri_sums *s, unsigned *events) {
  if (cut->promoted) {
    uint64_t wide = tsr_arith_convert(o->acc, s->acc, o->sum, TSR_ROUND_RNE, NULL);
    if (o->l->scale) wide = multiply(o, wide, scale, events);
    s->promoted = s->has_promoted ? add(o, s->promoted, wide, events) : wide;
    s->has_promoted = true;
    s->acc = 0;
  }
  if (!cut->part) return;
  uint64_t sum = s->has_promoted ? s->promoted : s->acc;
  s->total = s->has_total ? add(o, s->total, sum, events) : sum;
  s->has_total = true;
  s->has_promoted = false;
  s->acc = s->promoted = 0;
}

void tsri_run_ranges(const struct tsri_cut *cuts, size_t n, uint64_t k, uint64_t *longest,
                     uint64_t *ranges) {
  uint64_t from = 0;
  *longest = *ranges = 0;
  for (size_t i = 0; i < n && from < k; i++) {
    if (!cuts[i].promoted && !cuts[i].part) continue;
    *longest = tsr_max_u64(*longest, tsr_min_u64(cuts[i].end, k) - from);
    from = cuts[i].end;
    (*ranges)++;
  }
}
