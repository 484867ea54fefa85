/* Error figures (kernels/check/check.h). */
#include "kernels/check/check.h"

#include <string.h>

#include "sim/base/units.h"

/* 2^e as a double, -1022 <= e <= 1023. */
static double pow2(int e) {
  uint64_t bits = (uint64_t)(e + 1023) << 52;
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

void tsr_check_init(struct tsr_check *c, const struct tsr_format *out) {
  memset(c, 0, sizeof *c);
  c->out = out;
}

/* Exponent of one unit in the last place of the output format at s. */
static int ulp_exp(const struct tsr_format *f, const struct tsr_ref *s) {
  if (f->is_int) return 0;
  int e = 1 - f->bias;
  if (!tsr_ref_is_zero(s) && tsr_ref_msb(s) > e) e = tsr_ref_msb(s);
  return e - f->man_bits;
}

/* Bits below the last place that the smallest values of the format have. */
static bool is_subnormal_loss(const struct tsr_format *f, const struct tsr_ref *s) {
  int emin = 1 - f->bias;
  return !f->is_int && tsr_ref_msb(s) < emin && tsr_ref_lsb(s) < emin - f->man_bits;
}

static void compare(struct tsr_check *c, const struct tsr_ref *exact,
                    const struct tsr_num *got) {
  struct tsr_ref diff = *exact; /* s - s^, exactly */
  tsr_ref_sub(&diff, got);
  double d = -tsr_ref_double(&diff), s = tsr_ref_double(exact);
  double ulp = d / pow2(ulp_exp(c->out, exact));
  double size = ulp < 0 ? -ulp : ulp;
  c->compared++;
  if (size > c->max_ulp) c->max_ulp = size;
  c->sum_ulp += size;
  c->sum_signed_ulp += ulp;
  c->sum_s2 += s * s;
  c->sum_d2 += d * d;
}

void tsr_check_add(struct tsr_check *c, const struct tsr_ref *exact, uint64_t code,
                   unsigned events) {
  struct tsr_num got = tsr_arith_decode(c->out, code);
  bool finite = tsr_ref_is_finite(exact);
  bool got_finite = got.cls == TSR_NUM_ZERO || got.cls == TSR_NUM_FINITE;
  bool over = finite && (!got_finite || (events & (TSR_EVENT_OVERFLOW | TSR_EVENT_SATURATED)));
  c->elems++;
  c->nan += got.cls == TSR_NUM_NAN;
  c->saturated += (events & TSR_EVENT_SATURATED) != 0;
  c->subnormal_in += (events & TSR_EVENT_SUBNORMAL_IN) != 0;
  c->overflow += over;
  if (finite && !over && !tsr_ref_is_zero(exact))
    c->underflow += got.cls == TSR_NUM_ZERO || is_subnormal_loss(c->out, exact);
  if (finite && got_finite) compare(c, exact, &got);
}

void tsr_check_finish(const struct tsr_check *c, struct tsr_check_result *r) {
  double nan = __builtin_nan(""), n = c->compared ? (double)c->compared : nan;
  r->checked_elems = c->elems;
  r->overflow = c->overflow;
  r->underflow = c->underflow;
  r->saturated = c->saturated;
  r->subnormal_in = c->subnormal_in;
  r->nan = c->nan;
  r->swamped_terms = c->swamped_terms;
  r->max_ulp = c->compared ? c->max_ulp : nan;
  r->mean_ulp = c->sum_ulp / n;
  r->bias = c->sum_signed_ulp / n;
  r->norm_err = c->sum_s2 > 0 ? __builtin_sqrt(c->sum_d2) / __builtin_sqrt(c->sum_s2) : nan;
  r->sqnr_db =
      c->sum_s2 > 0 && c->sum_d2 > 0 ? 10 * (tsr_log10(c->sum_s2) - tsr_log10(c->sum_d2)) : nan;
}
