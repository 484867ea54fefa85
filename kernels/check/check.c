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

/* floor(log2(v)) of a normal v > 0. */
static int log2_of(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return (int)(bits >> 52 & 0x7ff) - 1023;
}

void tsr_check_init(struct tsr_check *c, const struct tsr_format *out) {
  memset(c, 0, sizeof *c);
  c->out = out;
}

unsigned tsr_check_bin(double size) {
  if (!(size > 0)) return 0;
  int i = log2_of(size) - TSR_CHECK_LOG2_LO + 1;
  return i < 1 ? 1 : i >= TSR_CHECK_BINS ? TSR_CHECK_BINS - 1 : (unsigned)i;
}

void tsr_check_bin_edges(unsigned bin, double *lo, double *hi) {
  *lo = *hi = 0;
  if (!bin) return;
  if (bin > 1) *lo = pow2((int)bin - 1 + TSR_CHECK_LOG2_LO);
  *hi =
      bin == TSR_CHECK_BINS - 1 ? (double)__builtin_inf() : pow2((int)bin + TSR_CHECK_LOG2_LO);
}

/* ---- one element ---- */

/* d = s^ - s, rounded once; ulp_exp: of the output format at s. */
static void put(struct tsr_check *c, double s, double d, int ulp_exp, double abs) {
  int half = ulp_exp / 2; /* both powers exist in every format's range */
  double ulp = d * pow2(-half) * pow2(half - ulp_exp);
  double size = ulp < 0 ? -ulp : ulp;
  c->compared++;
  if (size > c->max_ulp) c->max_ulp = size;
  c->sum_ulp += size;
  c->sum_signed_ulp += ulp;
  c->sum_s2 += s * s;
  c->sum_d2 += d * d;
  c->hist[tsr_check_bin(size)]++;
  if (!(abs > 0)) return;
  double comp = (d < 0 ? -d : d) / abs;
  c->with_abs++;
  if (comp > c->max_comp) c->max_comp = comp;
  c->sum_comp += comp;
}

/* Exponent of one unit in the last place of the output format at a value of the
 * exponent msb; `zero`: at 0. */
static int ulp_exp(const struct tsr_format *f, bool zero, int msb) {
  if (f->is_int) return 0;
  int e = 1 - f->bias;
  if (!zero && msb > e) e = msb;
  return e - f->man_bits;
}

/* Counts of one element; s is finite unless `finite` is false. */
struct element {
  const struct tsr_num *got;
  bool finite, zero, loses_bits; /* of s */
  unsigned events;
};

static void count(struct tsr_check *c, const struct element *e) {
  bool got_finite = e->got->cls <= TSR_NUM_FINITE;
  bool over =
      e->finite && (!got_finite || (e->events & (TSR_EVENT_OVERFLOW | TSR_EVENT_SATURATED)));
  c->elems++;
  c->nan += e->got->cls == TSR_NUM_NAN;
  c->saturated += (e->events & TSR_EVENT_SATURATED) != 0;
  c->subnormal_in += (e->events & TSR_EVENT_SUBNORMAL_IN) != 0;
  c->overflow += over;
  if (e->finite && !over && !e->zero)
    c->underflow += e->got->cls == TSR_NUM_ZERO || e->loses_bits;
}

/* Below the smallest normal number with bits below the smallest subnormal. */
static bool is_subnormal_loss(const struct tsr_format *f, int msb, int lsb) {
  int emin = 1 - f->bias;
  return !f->is_int && msb < emin && lsb < emin - f->man_bits;
}

void tsr_check_add_abs(struct tsr_check *c, const struct tsr_ref *exact, uint64_t code,
                       unsigned events, double abs) {
  struct tsr_num got = tsr_arith_decode(c->out, code);
  struct element e = {&got, tsr_ref_is_finite(exact), tsr_ref_is_zero(exact), false, events};
  if (e.finite && !e.zero)
    e.loses_bits = is_subnormal_loss(c->out, tsr_ref_msb(exact), tsr_ref_lsb(exact));
  count(c, &e);
  if (!e.finite || got.cls > TSR_NUM_FINITE) return;
  struct tsr_ref diff = *exact; /* s - s^, exactly */
  tsr_ref_sub(&diff, &got);
  int msb = e.zero ? 0 : tsr_ref_msb(exact);
  put(c, tsr_ref_double(exact), -tsr_ref_double(&diff), ulp_exp(c->out, e.zero, msb), abs);
}

void tsr_check_add(struct tsr_check *c, const struct tsr_ref *exact, uint64_t code,
                   unsigned events) {
  tsr_check_add_abs(c, exact, code, events, 0);
}

/* Exponent of the lowest bit set of a finite v that is not 0. */
static int lowest_bit(double v) {
  uint64_t bits, man;
  memcpy(&bits, &v, sizeof bits);
  int exp = (int)(bits >> 52 & 0x7ff);
  man = bits & ((UINT64_C(1) << 52) - 1);
  if (exp) man |= UINT64_C(1) << 52;
  return (exp ? exp : 1) - 1075 + __builtin_ctzll(man);
}

/* s and s^ are doubles, so that one subtraction rounds their difference once. */
void tsr_check_add_double(struct tsr_check *c, double exact, uint64_t code, unsigned events,
                          double abs) {
  struct tsr_num got = tsr_arith_decode(c->out, code);
  bool finite = exact - exact == 0, zero = exact == 0;
  struct element e = {&got, finite, zero, false, events};
  int msb = finite && !zero ? log2_of(exact < 0 ? -exact : exact) : 0;
  if (finite && !zero) e.loses_bits = is_subnormal_loss(c->out, msb, lowest_bit(exact));
  count(c, &e);
  if (!finite || got.cls > TSR_NUM_FINITE) return;
  double value = got.cls == TSR_NUM_ZERO ? 0 : (double)got.sig * pow2(got.exp);
  put(c, exact, (got.sign ? -value : value) - exact, ulp_exp(c->out, zero, msb), abs);
}

void tsr_check_add_diff(struct tsr_check *c, double s, double diff, double abs) {
  bool zero = s == 0;
  c->elems++;
  put(c, s, diff, ulp_exp(c->out, zero, zero ? 0 : log2_of(s < 0 ? -s : s)), abs);
}

void tsr_check_add_values(struct tsr_check *c, double s, double got, double abs) {
  tsr_check_add_diff(c, s, got - s, abs);
}

/* ---- fixed point ---- */

static tsr_u128 size_of(tsr_i128 v) {
  return v < 0 ? -(tsr_u128)v : (tsr_u128)v;
}
static int msb_of(tsr_u128 v) {
  uint64_t hi = (uint64_t)(v >> 64);
  return hi ? 127 - __builtin_clzll(hi) : 63 - __builtin_clzll((uint64_t)v);
}
static int lsb_of(tsr_u128 v) {
  uint64_t lo = (uint64_t)v;
  return lo ? __builtin_ctzll(lo) : 64 + __builtin_ctzll((uint64_t)(v >> 64));
}

bool tsr_check_fixed(const struct tsr_num *v, int lsb, tsr_i128 *out) {
  if (v->cls > TSR_NUM_FINITE) return false;
  *out = 0;
  if (v->cls == TSR_NUM_ZERO) return true;
  int up = v->exp - lsb, low = __builtin_ctzll(v->sig);
  if (up + low < 0 || up + 63 - __builtin_clzll(v->sig) > 125) return false;
  tsr_i128 m = up >= 0 ? (tsr_i128)((tsr_u128)v->sig << up) : (tsr_i128)(v->sig >> -up);
  *out = v->sign ? -m : m;
  return true;
}

double tsr_check_fixed_double(tsr_i128 fixed, int lsb) {
  return (double)fixed * pow2(lsb); /* the conversion rounds to nearest, ties to even */
}

void tsr_check_fixed_ref(tsr_i128 fixed, int lsb, struct tsr_ref *out) {
  tsr_u128 m = size_of(fixed);
  tsr_ref_init(out);
  for (int half = 0; half < 2; half++) {
    uint64_t sig = (uint64_t)(m >> 64 * half);
    struct tsr_num v = {sig ? TSR_NUM_FINITE : TSR_NUM_ZERO, fixed < 0, false, lsb + 64 * half,
                        sig};
    tsr_ref_add(out, &v);
  }
}

void tsr_check_add_fixed(struct tsr_check *c, tsr_i128 sum, int lsb, uint64_t code,
                         unsigned events, double abs) {
  struct tsr_num got = tsr_arith_decode(c->out, code);
  tsr_i128 fixed;
  if (!tsr_check_fixed(&got, lsb, &fixed)) {
    struct tsr_ref exact;
    tsr_check_fixed_ref(sum, lsb, &exact);
    tsr_check_add_abs(c, &exact, code, events, abs);
    return;
  }
  tsr_u128 size = size_of(sum);
  struct element e = {&got, true, sum == 0, false, events};
  int msb = sum ? msb_of(size) + lsb : 0;
  if (sum) e.loses_bits = is_subnormal_loss(c->out, msb, lsb_of(size) + lsb);
  count(c, &e);
  put(c, tsr_check_fixed_double(sum, lsb), tsr_check_fixed_double(fixed - sum, lsb),
      ulp_exp(c->out, sum == 0, msb), abs);
}

/* ---- figures ---- */

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
  r->max_comp = c->with_abs ? c->max_comp : nan;
  r->mean_comp = c->with_abs ? c->sum_comp / (double)c->with_abs : nan;
}
