/* What holds for every matrix unit: order inside a step, chains, scaling. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/ref/ref.h"
#include "models/arith/mma_spec.h"
#include "sim/base/rng.h"

#define N(array) (sizeof(array) / sizeof(array)[0])
enum { K_MAX = 256, BLOCKS = 16 };

static uint64_t code(const struct tsr_format *f, double v) {
  return tsr_arith_from_double(f, TSR_ROUND_RNE, v, NULL);
}

/* Normal numbers whose exponents are close enough for most terms to matter, with one
 * to spare at each end of the format. */
static uint64_t some_operand(const struct tsr_format *f, struct tsr_rng *r) {
  uint64_t x = tsr_rng_next(r);
  if (f->is_int) return x & ((UINT64_C(1) << f->bits) - 1);
  uint64_t v = x & ((UINT64_C(1) << f->man_bits) - 1);
  uint64_t fields = UINT64_C(1) << f->exp_bits, span = fields > 16 ? 12 : fields - 3;
  uint64_t e = fields > 16 ? (uint64_t)f->bias - 6 : 1;
  if (span > fields) span = 1;
  e += (x >> 32) % span;
  return ((x >> 63 << (f->exp_bits + f->man_bits)) | e << f->man_bits | v) << f->pad_bits;
}

struct problem {
  uint64_t a[K_MAX], b[K_MAX], sa[BLOCKS], sb[BLOCKS], c;
  size_t k;
};

static void draw(struct problem *p, const struct tsr_mma *u, size_t k, struct tsr_rng *r) {
  p->k = k;
  p->c = some_operand(u->acc, r);
  for (size_t i = 0; i < k; i++) {
    p->a[i] = some_operand(u->a, r);
    p->b[i] = some_operand(u->b, r);
  }
  /* E8M0 about 1, or normal UE4M3 */
  bool e8m0 = u->scale && u->scale->man_bits == 0;
  for (size_t i = 0; i < BLOCKS; i++) {
    p->sa[i] = e8m0 ? 125 + tsr_rng_range(r, 0, 4) : 0x30 + tsr_rng_range(r, 0, 15);
    p->sb[i] = e8m0 ? 125 + tsr_rng_range(r, 0, 4) : 0x30 + tsr_rng_range(r, 0, 15);
  }
}

static uint64_t run(const struct tsr_mma *u, const struct problem *p) {
  struct tsr_mma_dot_args args = {.a = p->a, .b = p->b, .k = p->k, .c = p->c};
  if (u->scale) {
    args.scale_a = p->sa;
    args.scale_b = p->sb;
  }
  return tsr_mma_dot_full(u, &args, NULL, NULL);
}

/* Swaps products at random among those `apart` positions apart in [from, to). */
static void shuffle(struct problem *p, size_t from, size_t to, size_t apart,
                    struct tsr_rng *r) {
  for (size_t first = from; first < from + apart && first < to; first++) {
    size_t n = (to - first + apart - 1) / apart;
    for (size_t i = n; i > 1; i--) {
      size_t x = first + (i - 1) * apart, y = first + tsr_rng_range(r, 0, i - 1) * apart;
      uint64_t a = p->a[x], b = p->b[x];
      p->a[x] = p->a[y];
      p->b[x] = p->b[y];
      p->a[y] = a;
      p->b[y] = b;
    }
  }
}

/* Products within which order cannot matter, and how far apart they lie; 0: order
 * always may. */
static size_t free_range(const struct tsr_mma *u, size_t *apart) {
  *apart = u->parity ? 2 : 1;
  if (!tsr_mma_is_plain(u) && !u->scale) return 0;
  switch (u->kind) {
  case TSR_MMA_FUSED:
  case TSR_MMA_TWO_STAGE: return (size_t)u->fused_len;
  case TSR_MMA_GROUPED: return (size_t)u->group_len;
  case TSR_MMA_EXACT: return u->fused_len ? (size_t)u->fused_len : 64;
  case TSR_MMA_INT:
    return u->int_mode == TSR_MMA_INT_WRAP || u->int_mode == TSR_MMA_INT_SATEND ? 64 : 0;
  default: return 0;
  }
}

static void order_inside_a_step_does_not_matter(void **state) {
  (void)state;
  struct tsr_rng r = {3};
  size_t units = 0;
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    size_t apart, len = free_range(u, &apart);
    if (len < 2) continue;
    units++;
    for (int rep = 0; rep < 30; rep++) {
      struct problem p;
      draw(&p, u, 64, &r);
      uint64_t want = run(u, &p);
      for (size_t at = 0; at < p.k; at += len) shuffle(&p, at, at + len, apart, &r);
      if (run(u, &p) != want) fail_msg("%s: order inside a step matters", u->name);
    }
  }
  assert_true(units > 120);
}

/* Where order is kept it is seen: shuffling everything changes some result. */
static void order_across_steps_may_matter(void **state) {
  (void)state;
  struct tsr_rng r = {4};
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    size_t apart, len = free_range(u, &apart), changed = 0;
    bool exact = u->kind == TSR_MMA_EXACT && u->fused_len == 0;
    /* Sums of few small numbers are exact in any order. */
    bool coarse = u->a->man_bits + u->b->man_bits < 8 && u->acc->man_bits > 10;
    if (u->kind == TSR_MMA_INT || exact || (coarse && len)) continue;
    for (int rep = 0; rep < 400 && !changed; rep++) {
      struct problem p;
      draw(&p, u, 128, &r);
      /* One large term, so that what follows loses bits. */
      p.c = code(u->acc, u->acc->man_bits > 23   ? 0x1p40
                         : u->acc->man_bits > 10 ? 0x1p16
                                                 : 0x1p9);
      uint64_t want = run(u, &p);
      shuffle(&p, 0, p.k, 1, &r);
      changed += run(u, &p) != want;
    }
    if (!changed) fail_msg("%s: no order matters", u->name);
  }
}

static void a_sum_may_be_cut_at_the_period_and_continued(void **state) {
  (void)state;
  struct tsr_rng r = {5};
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    size_t period = tsr_mma_period(u);
    if (!period || 2 * period > K_MAX) continue;
    for (int rep = 0; rep < 20; rep++) {
      struct problem p, head, tail;
      draw(&p, u, 2 * period + tsr_rng_range(&r, 0, K_MAX - 2 * period), &r);
      head = tail = p;
      head.k = period * tsr_rng_range(&r, 0, p.k / period);
      tail.k = p.k - head.k;
      memcpy(tail.a, p.a + head.k, tail.k * sizeof *p.a);
      memcpy(tail.b, p.b + head.k, tail.k * sizeof *p.b);
      if (u->scale) {
        size_t block = head.k / (size_t)u->scale_block;
        memmove(tail.sa, p.sa + block, (BLOCKS - block) * sizeof *p.sa);
        memmove(tail.sb, p.sb + block, (BLOCKS - block) * sizeof *p.sb);
      }
      tail.c = run(u, &head);
      if (run(u, &tail) != run(u, &p)) fail_msg("%s: cut at %zu of %zu", u->name, head.k, p.k);
    }
  }
}

/* x * 2^n of a code that stays normal. */
static uint64_t scaled(const struct tsr_format *f, uint64_t x, int n) {
  struct tsr_num v = tsr_arith_decode(f, x);
  v.exp += n;
  return tsr_arith_encode(f, TSR_ROUND_RNE, &v, NULL);
}

static void scaling_by_powers_of_two_changes_only_the_exponent(void **state) {
  (void)state;
  struct tsr_rng r = {6};
  size_t units = 0;
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    if (u->acc->is_int) continue;
    units++;
    for (int rep = 0; rep < 40; rep++) {
      struct problem p, q;
      draw(&p, u, 64, &r);
      q = p;
      int n = u->acc->exp_bits > 5 && u->a->exp_bits > 5 ? 5 : 1;
      for (size_t k = 0; k < p.k; k++) q.a[k] = scaled(u->a, p.a[k], n);
      q.c = scaled(u->acc, p.c, n);
      uint64_t d = run(u, &p), e = run(u, &q);
      struct tsr_num v = tsr_arith_decode(u->acc, d);
      /* Away from the ends of the range. */
      double size = fabs(tsr_arith_to_double(u->acc, d));
      if (v.cls > TSR_NUM_FINITE || v.subnormal || (size && size < 0x1p-9) || size > 0x1p13)
        continue;
      if (v.cls == TSR_NUM_FINITE && e != scaled(u->acc, d, n))
        fail_msg("%s: %llx scaled is %llx", u->name, (unsigned long long)d,
                 (unsigned long long)e);
    }
  }
  assert_true(units > 200);
}

/* Near the small end a unit without subnormals is no longer scale-free; one that
 * keeps them is. */
static void scaling_into_subnormals_shows_on_units_that_flush_alone(void **state) {
  (void)state;
  static const struct {
    const char *unit;
    bool same;
  } rows[] = {{"amd_cdna2_mfma_16x16x16_f16", false},
              {"amd_cdna1_mfma_16x16x16_f16", true},
              {"amd_cdna3_mfma_16x16x16_f16", true},
              {"nv_ampere_mma_m16n8k16_f32_f16_f32", true},
              {"acc_seqfma_fp16_fp32", true}};
  for (size_t i = 0; i < N(rows); i++) {
    const struct tsr_mma *u = tsr_mma_find(rows[i].unit);
    static const double v[] = {0x1p-13, 0x1.8p-13, -0x1.4p-13, 0x1p-14};
    uint64_t a[4], small[4], b[4];
    for (int k = 0; k < 4; k++) {
      a[k] = code(u->a, v[k]);
      small[k] = code(u->a, v[k] * 0x1p-6);
      b[k] = code(u->b, 0x1p4);
    }
    double d = tsr_arith_to_double(u->acc, tsr_mma_dot(u, a, b, 4, 0, NULL));
    double e = tsr_arith_to_double(u->acc, tsr_mma_dot(u, small, b, 4, 0, NULL));
    assert_true(d != 0);
    assert_int_equal(e == d * 0x1p-6, rows[i].same);
    if (!rows[i].same) assert_true(e == 0);
  }
}

/* The wide accumulator against the oracle, which shares nothing but decoding. */
static void exact_sums_are_those_of_the_oracle(void **state) {
  (void)state;
  static const enum tsr_round modes[] = {TSR_ROUND_RNE, TSR_ROUND_RZ, TSR_ROUND_RNA,
                                         TSR_ROUND_RU,  TSR_ROUND_RD, TSR_ROUND_ODD};
  struct tsr_rng r = {8};
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    if (u->kind != TSR_MMA_EXACT || u->fused_len || u->a->bits > 32) continue;
    for (int rep = 0; rep < 200; rep++) {
      struct problem p;
      struct tsr_ref exact;
      struct tsr_mma m = tsr_mma_with_round(u, modes[rep % (int)N(modes)]);
      draw(&p, u, 1 + tsr_rng_range(&r, 0, 60), &r);
      /* Any bits now and then: wide exponents, subnormals, specials. */
      for (size_t k = 0; rep % 3 == 0 && k < p.k; k++) {
        p.a[k] = tsr_rng_next(&r) & ((UINT64_C(1) << u->a->bits) - 1);
        p.b[k] = tsr_rng_next(&r) & ((UINT64_C(1) << u->b->bits) - 1);
      }
      tsr_ref_init(&exact);
      struct tsr_num c = tsr_arith_decode(u->acc, p.c);
      tsr_ref_add(&exact, &c);
      for (size_t k = 0; k < p.k; k++) {
        struct tsr_num x = tsr_arith_decode(u->a, p.a[k]), y = tsr_arith_decode(u->b, p.b[k]);
        tsr_ref_mul_add(&exact, &x, &y);
      }
      uint64_t got = run(&m, &p), want = tsr_ref_round(&exact, u->acc, m.round);
      bool zero = tsr_ref_is_finite(&exact) && tsr_ref_is_zero(&exact);
      if (got != want && !zero)
        fail_msg("%s mode %s: %llx, oracle %llx", u->name, tsr_round_name(m.round),
                 (unsigned long long)got, (unsigned long long)want);
    }
  }
}

static void the_exact_accumulator_does_not_see_the_order(void **state) {
  (void)state;
  struct tsr_rng r = {9};
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    if (u->kind != TSR_MMA_EXACT || u->fused_len) continue;
    for (int rep = 0; rep < 30; rep++) {
      struct problem p;
      draw(&p, u, K_MAX, &r);
      uint64_t want = run(u, &p);
      shuffle(&p, 0, p.k, 1, &r);
      assert_int_equal(run(u, &p), want);
    }
  }
}

/* fp64: the machine's fma, rounded in each of its modes. */
static void fp64_chains_are_the_machines(void **state) {
  (void)state;
  static const char *const units[] = {"acc_seqfma_fp64_fp64", "nv_hopper_mma_m16n8k16_f64",
                                      "amd_cdna3_mfma_16x16x4_f64"};
  struct tsr_rng r = {10};
  for (int i = 0; i < 60000; i++) {
    const struct tsr_mma *u = tsr_mma_find(units[i % 3]);
    uint64_t a = tsr_rng_next(&r), b = tsr_rng_next(&r), c = tsr_rng_next(&r);
    double x, y, z;
    if (i % 2) { /* close exponents, where they cancel and tie */
      a = (a & ~(UINT64_C(0x7ff) << 52)) | (1020 + (a >> 52 & 7)) << 52;
      b = (b & ~(UINT64_C(0x7ff) << 52)) | (1020 + (b >> 52 & 7)) << 52;
    }
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    memcpy(&z, &c, sizeof z);
    if (i % 4 == 1) z = -(x * y) * (1 + (i % 3) * 0x1p-52);
    if (i % 4 == 3) z = ldexp(x, -30);
    memcpy(&c, &z, sizeof c);
    double want = fma(x, y, z);
    uint64_t got = tsr_mma_dot(u, &a, &b, 1, c, NULL), bits;
    memcpy(&bits, &want, sizeof bits);
    if (isnan(want) ? tsr_arith_decode(u->acc, got).cls != TSR_NUM_NAN : got != bits)
      fail_msg("%a * %a + %a gives %llx, machine %a", x, y, z, (unsigned long long)got, want);
  }
}

/* Sparse pairs, one product of every two k: a cut after two k would part them. */
static void sparse_pairs_are_not_cut(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t period;
  } rows[] = {{"int:a=int8,b=int8,sat=pair16", 2},
              {"int:a=int8,b=int8,sat=pair16,sparse=1:2,len=logical", 0},
              {"int:a=int8,b=int8,sat=pair16,sparse=1:2", 0},
              {"int:a=int8,b=int8,sat=pair16,sparse=1:2,chunk=32", 32},
              {"fused:a=fp16,b=fp16,L=8,sparse=1:2,len=logical", 8}};
  for (size_t i = 0; i < N(rows); i++) {
    static struct tsr_mma_spec s;
    assert_int_equal(tsr_mma_parse(rows[i].text, NULL, NULL, NULL, &s, NULL), TSR_OK);
    assert_int_equal(tsr_mma_period(&s.unit), rows[i].period);
  }
}

/* The products in the order in which a unit takes them, as operands of another. */
static size_t reorder(size_t k, size_t period, size_t width, const uint32_t *select, size_t m,
                      const uint64_t *a, const uint64_t *b, uint64_t *to_a, uint64_t *to_b) {
  size_t n = 0;
  for (size_t lane = 0; lane * width < period && lane <= k; lane++)
    for (size_t i = 0; i < k; i++) {
      if (i % period / width != lane) continue;
      if (m && !(select[i / m] >> (i % m) & 1)) continue;
      to_a[n] = a[i];
      to_b[n++] = b[i];
    }
  return n;
}

/* Whatever the length of a sum and of its pieces, and however long the stride: a unit
 * that takes products in another order, or not all, is one that gets them so. */
static void order_and_selection_are_a_matter_of_operands(void **state) {
  (void)state;
  static const struct {
    const char *text, *plain, *in;
    size_t period, width, n, m;
  } rows[] = {
      {"int:sat=pair16,sparse=1:3,len=logical", "int:sat=pair16", "int16", 1, 1, 1, 3},
      {"int:sat=pair16,sparse=1:3", "int:sat=pair16", "int16", 1, 1, 1, 3},
      {"int:sat=pair16,sparse=3:5,len=logical", "int:sat=pair16", "int16", 1, 1, 3, 5},
      {"int:sat=pair16,sparse=1:3,len=logical,order=tree", "int:sat=pair16", "int16", 1, 1, 1,
       3},
      {"int:sat=pair16,order=strided:7:2", "int:sat=pair16", "int16", 7, 2, 0, 0},
      {"int:sat=satstep,acc=int16,order=strided:2:1", "int:sat=satstep,acc=int16", "int16", 2,
       1, 0, 0},
      {"exact:order=tree,sparse=1:3", "exact:order=tree", "fp16", 1, 1, 1, 3},
      {"tree:order=tree,sparse=1:3", "tree:order=tree", "fp16", 1, 1, 1, 3},
      {"fma:order=strided:4:1", "fma", "fp16", 4, 1, 0, 0},
      {"fma:order=strided:16:4", "fma", "fp16", 16, 4, 0, 0},
      {"fma:order=strided:7:3", "fma", "fp16", 7, 3, 0, 0},
      {"fma:order=strided:5:5", "fma", "fp16", 5, 5, 0, 0},
      {"fused:L=4,order=strided:9:4,sparse=2:4", "fused:L=4", "fp16", 9, 4, 2, 4},
      {"fma:order=strided:1000:3", "fma", "fp16", 1000, 3, 0, 0},
      {"fma:order=strided:1000000:1", "fma", "fp16", 1000000, 1, 0, 0},
      {"fma:order=strided:1000000:999999", "fma", "fp16", 1000000, 999999, 0, 0},
  };
  enum { LONG = 1200 };
  static uint64_t a[LONG], b[LONG], x[LONG], y[LONG];
  static uint32_t select[LONG];
  static struct tsr_mma_spec s, t;
  static const size_t ks[] = {1, 2, 8, 9, 255, 257, 600, 1187};
  struct tsr_rng r = {8};
  for (size_t i = 0; i < N(rows); i++)
    for (size_t j = 0; j < 4 * N(ks); j++) {
      const struct tsr_format *f = tsr_format_find(rows[i].in);
      size_t k = ks[j % N(ks)], m = rows[i].m;
      struct tsr_err err = TSR_ERR_INIT;
      if (tsr_mma_parse(rows[i].text, f, f, NULL, &s, &err))
        fail_msg("%s: %s", rows[i].text, tsr_err_text(&err));
      assert_int_equal(tsr_mma_parse(rows[i].plain, f, f, NULL, &t, NULL), TSR_OK);
      for (size_t p = 0; p < k; p++) {
        a[p] = some_operand(f, &r);
        b[p] = some_operand(f, &r);
      }
      for (size_t p = 0; f->is_int && p < k;
           p++) { /* some products clip alone, others paired */
        a[p] = (a[p] & 0xff) | 0x60;
        b[p] = (b[p] & 0xff) | 0x60;
      }
      for (size_t g = 0; m && g * m < k; g++)
        select[g] = rows[i].n == 1   ? UINT32_C(1) << tsr_rng_range(&r, 0, m - 1)
                    : rows[i].n == 2 ? 0x9
                                     : 0xb;
      size_t n = reorder(k, rows[i].period, rows[i].width, select, m, a, b, x, y);
      struct tsr_mma_dot_args args = {.a = a, .b = b, .k = k, .select = m ? select : NULL};
      unsigned ev[2] = {0, 0};
      uint64_t got = tsr_mma_dot_full(&s.unit, &args, &ev[0], NULL);
      uint64_t want = tsr_mma_dot(&t.unit, x, y, n, 0, &ev[1]);
      if (got != want || ev[0] != ev[1])
        fail_msg("%s, K = %zu: %llx, want %llx", rows[i].text, k, (unsigned long long)got,
                 (unsigned long long)want);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(order_inside_a_step_does_not_matter),
      cmocka_unit_test(order_across_steps_may_matter),
      cmocka_unit_test(a_sum_may_be_cut_at_the_period_and_continued),
      cmocka_unit_test(scaling_by_powers_of_two_changes_only_the_exponent),
      cmocka_unit_test(scaling_into_subnormals_shows_on_units_that_flush_alone),
      cmocka_unit_test(exact_sums_are_those_of_the_oracle),
      cmocka_unit_test(the_exact_accumulator_does_not_see_the_order),
      cmocka_unit_test(fp64_chains_are_the_machines),
      cmocka_unit_test(sparse_pairs_are_not_cut),
      cmocka_unit_test(order_and_selection_are_a_matter_of_operands),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
