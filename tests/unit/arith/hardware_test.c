/* Against the arithmetic of the machine the test runs on: its conversions, sums and
 * fused multiply-adds in fp32, in both rounding modes, and its rounding to integer
 * of exactly scaled doubles for the narrow formats. */
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/mma.h"
#include "sim/base/rng.h"

/* The modes the machine has. */
static const struct {
  enum tsr_round mode;
  int fe;
} modes[] = {{TSR_ROUND_RNE, FE_TONEAREST},
             {TSR_ROUND_RZ, FE_TOWARDZERO},
             {TSR_ROUND_RU, FE_UPWARD},
             {TSR_ROUND_RD, FE_DOWNWARD}};
enum { MODES = sizeof modes / sizeof modes[0] };

static float as_float(uint64_t code) {
  uint32_t bits = (uint32_t)code;
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static uint64_t as_code(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

static double as_double(uint64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static bool same_float(uint64_t x, uint64_t y) {
  return x == y || (isnan(as_float(x)) && isnan(as_float(y)));
}

/* fp32 codes where things happen: random bits, close exponents, the edges. */
static uint64_t some_fp32(struct tsr_rng *r) {
  static const uint32_t edges[] = {0x00000000, 0x00000001, 0x007fffff, 0x00800000, 0x00800001,
                                   0x3f800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff, 0x7f800000,
                                   0x7fc00000, 0x7f000000, 0x1f800000, 0x20000000, 0x5f7fffff};
  uint64_t x = tsr_rng_next(r), sign = x >> 63 << 31;
  switch ((x >> 56) & 7) {
  case 0: return sign | edges[(x >> 8) % (sizeof edges / sizeof edges[0])];
  case 1: return sign | (x & 0xffffff);                                /* tiny */
  case 2: return sign | (0x3f000000 + (x & 0x1ffffff));                /* near 1 */
  case 3: return sign | (0x3f800000 + ((x & 3) << 22) + (x >> 8 & 3)); /* few bits */
  default: return x & 0xffffffff;
  }
}

#if defined(__x86_64__)
/* SSE detects tininess after rounding, as the waist does. */
static unsigned machine_events(void) {
  int e = fetestexcept(FE_ALL_EXCEPT);
  return (e & FE_OVERFLOW ? (unsigned)TSR_EVENT_OVERFLOW : 0) |
         (e & FE_UNDERFLOW ? (unsigned)TSR_EVENT_UNDERFLOW : 0) |
         (e & FE_INEXACT ? (unsigned)TSR_EVENT_INEXACT : 0);
}
static const unsigned comparable = TSR_EVENT_OVERFLOW | TSR_EVENT_UNDERFLOW | TSR_EVENT_INEXACT;
#else
static unsigned machine_events(void) {
  return 0;
}
static const unsigned comparable = 0;
#endif

static void double_to_fp32_is_the_machines(void **state) {
  (void)state;
  const struct tsr_format *f = tsr_format_find("fp32");
  for (int n = 0; n < MODES; n++) {
    enum tsr_round mode = modes[n].mode;
    struct tsr_rng r = {7};
    fesetround(modes[n].fe);
    for (int i = 0; i < 150000; i++) {
      uint64_t x = tsr_rng_next(&r);
      /* Exponents of fp32 and around them; now and then few bits, for ties. */
      uint64_t e = 1023 - 155 + (x >> 20) % 290, m = x >> 12;
      if (x & 1) m &= ~UINT64_C(0) << (26 + (x >> 1) % 8);
      volatile double v = as_double(x >> 63 << 63 | e << 52 | (m & (UINT64_MAX >> 12)));
      feclearexcept(FE_ALL_EXCEPT);
      volatile float want = (float)v;
      unsigned want_ev = machine_events(), ev = 0;
      uint64_t got = tsr_arith_from_double(f, mode, v, &ev);
      if (got != as_code(want) || (ev & comparable) != want_ev)
        fail_msg("mode %d: %a gives %llx events %x, machine %x events %x", mode, v,
                 (unsigned long long)got, ev, (unsigned)as_code(want), want_ev);
    }
  }
  fesetround(FE_TONEAREST);
}

/* Independent rounding: scale by a power of two (exact), round to integer, scale
 * back (exact). */
static double round_in_double(const struct tsr_format *f, enum tsr_round mode, double v) {
  int e;
  frexp(v, &e);
  e = e - 1 < 1 - f->bias ? 1 - f->bias : e - 1;
  double scaled = ldexp(v, f->man_bits - e), max = ldexp(2 - ldexp(1, -f->man_bits), f->bias);
  double n = trunc(scaled);
  bool outward = mode == TSR_ROUND_RNE || mode == TSR_ROUND_RNA ||
                 mode == (v < 0 ? TSR_ROUND_RD : TSR_ROUND_RU);
  switch (mode) {
  case TSR_ROUND_RNE: n = rint(scaled); break;
  case TSR_ROUND_RNA: n = round(scaled); break;
  case TSR_ROUND_RU: n = ceil(scaled); break;
  case TSR_ROUND_RD: n = floor(scaled); break;
  case TSR_ROUND_ODD:
    if (n != scaled && fmod(n, 2) == 0) n += copysign(1, v);
    break;
  default: break;
  }
  n = ldexp(copysign(n, v), e - f->man_bits);
  if (fabs(n) <= max) return n;
  return copysign(outward ? INFINITY : max, v);
}

static void fp32_to_narrow_formats_rounds_as_scaled_doubles_do(void **state) {
  (void)state;
  static const char *const names[] = {"fp16", "bf16", "tf32"};
  const struct tsr_format *fp32 = tsr_format_find("fp32");
  for (size_t n = 0; n < 3; n++) {
    const struct tsr_format *f = tsr_format_find(names[n]);
    struct tsr_rng r = {11};
    for (int i = 0; i < 200000; i++) {
      uint64_t code = some_fp32(&r);
      if (i & 1) code = (code & 0x8fffffff) | 0x30000000; /* mostly inside fp16 */
      if (i & 2) code &= 0xfffff000;                      /* ties */
      double v = as_float(code);
      if (!isfinite(v)) continue;
      enum tsr_round mode = (enum tsr_round)((i >> 2) % TSR_ROUND_SR);
      unsigned ev = 0;
      uint64_t got = tsr_arith_convert(fp32, code, f, mode, &ev);
      double want = round_in_double(f, mode, v), back = tsr_arith_to_double(f, got);
      assert_true(back == want && signbit(back) == signbit(v));
      assert_int_equal((ev & TSR_EVENT_INEXACT) != 0, want != v);
    }
  }
}

static void fp32_sequential_fma_is_the_machines(void **state) {
  (void)state;
  struct tsr_mma u = *tsr_mma_find("acc_seqfma_fp32_fp32");
  for (int n = 0; n < MODES; n++) {
    enum tsr_round mode = modes[n].mode;
    struct tsr_rng r = {13};
    u.round = mode;
    fesetround(modes[n].fe);
    for (int i = 0; i < 200000; i++) {
      uint64_t a = some_fp32(&r), b = some_fp32(&r), c = some_fp32(&r);
      volatile float x = as_float(a), y = as_float(b), z = as_float(c);
      if (i % 4 == 0) z = -(x * y); /* cancel down to the rounding error */
      if (i % 8 == 0) z = as_float(as_code(z) + (uint64_t)(i % 64) - 32);
      c = as_code(z);
      uint64_t want = as_code(fmaf(x, y, z)), got = tsr_mma_dot(&u, &a, &b, 1, c, NULL);
      if (!same_float(want, got))
        fail_msg("mode %d: %a * %a + %a gives %llx, machine %llx", mode, (double)x, (double)y,
                 (double)z, (unsigned long long)got, (unsigned long long)want);
    }
  }
  fesetround(FE_TONEAREST);
}

static void chains_of_narrow_operands_are_the_machines(void **state) {
  (void)state;
  static const struct {
    const char *unit;
    uint64_t mask; /* of random operand bits: keeps exponents in the middle */
    uint64_t base;
  } rows[] = {{"acc_seqfma_fp16_fp32", 0xbfff, 0},
              {"acc_seqfma_bf16_fp32", 0x83ff, 0x3c00},
              {"acc_seqfma_tf32_fp32", 0x83ffffff, 0x3c000000}};
  enum { K = 64 };
  for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
    const struct tsr_mma *u = tsr_mma_find(rows[n].unit);
    struct tsr_rng r = {17};
    for (int rep = 0; rep < 1000; rep++) {
      uint64_t a[K], b[K], c = rep % 2 ? 0 : 0x40490fdb;
      float acc = as_float(c);
      for (int i = 0; i < K; i++) {
        a[i] = (tsr_rng_next(&r) & rows[n].mask) | rows[n].base;
        b[i] = (tsr_rng_next(&r) & rows[n].mask) | rows[n].base;
        acc = fmaf((float)tsr_arith_to_double(u->a, a[i]),
                   (float)tsr_arith_to_double(u->b, b[i]), acc);
      }
      assert_true(same_float(tsr_mma_dot(u, a, b, K, c, NULL), as_code(acc)));
    }
  }
}

static void adding_partial_sums_is_the_machines(void **state) {
  (void)state;
  const struct tsr_mma *u = tsr_mma_find("nv_hopper_mma_m16n8k16_f32_f16_f32");
  struct tsr_rng r = {19};
  for (int i = 0; i < 400000; i++) {
    uint64_t a = some_fp32(&r), b = some_fp32(&r);
    volatile float x = as_float(a), y = as_float(b);
    feclearexcept(FE_ALL_EXCEPT);
    volatile float want = x + y;
    unsigned want_ev = machine_events(), ev = 0;
    uint64_t got = tsr_mma_add(u, a, b, &ev);
    assert_true(same_float(got, as_code(want)));
    assert_int_equal(ev & comparable, want_ev);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(double_to_fp32_is_the_machines),
      cmocka_unit_test(fp32_to_narrow_formats_rounds_as_scaled_doubles_do),
      cmocka_unit_test(fp32_sequential_fma_is_the_machines),
      cmocka_unit_test(chains_of_narrow_operands_are_the_machines),
      cmocka_unit_test(adding_partial_sums_is_the_machines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
