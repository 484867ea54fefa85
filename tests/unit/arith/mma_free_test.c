/* Units with free parameters against a model of their own in doubles: operands so
 * narrow that every product, term and sum is exact there. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/mma_spec.h"
#include "sim/base/rng.h"

#define N(array) (sizeof(array) / sizeof(array)[0])
enum { K_MAX = 96 };

static double to_integer(enum tsr_round mode, double v) {
  double down = trunc(v);
  switch (mode) {
  case TSR_ROUND_RNE: return rint(v);
  case TSR_ROUND_RNA: return round(v);
  case TSR_ROUND_RU: return ceil(v);
  case TSR_ROUND_RD: return floor(v);
  case TSR_ROUND_ODD: return down != v && fmod(down, 2) == 0 ? down + copysign(1, v) : down;
  default: return down;
  }
}

static int exponent(double v) {
  int e;
  frexp(v, &e);
  return e - 1;
}

/* Away from overflow. */
static double rounded(int man_bits, int emin, enum tsr_round mode, double v) {
  if (v == 0) return v;
  int e = exponent(v) < emin ? emin : exponent(v);
  return ldexp(to_integer(mode, ldexp(v, man_bits - e)), e - man_bits);
}

/* The parameters of one unit, said again for the model. */
struct model {
  const char *text;
  int len, bits, man, inner_man, chunk, promote, period, width, norm, n, m;
  enum tsr_round round, align, outer;
  bool after, tree, logical;
};

static double add(const struct model *u, double x, double y, enum tsr_round mode) {
  return rounded(u->man, -126, mode, x + y);
}

struct term {
  double v;
  int e; /* sum of the operands' exponents */
};

/* One step; the running sum is `c`, with exponent e_c. */
static double step(const struct model *u, const struct term *t, size_t n, const double *c,
                   int e_c, int *q) {
  int top = -108 - u->bits;
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    if (t[i].v != 0 && t[i].e > top) top = t[i].e;
  if (c && *c != 0 && e_c > top) top = e_c;
  *q = top - u->bits;
  for (size_t i = 0; i < n; i++) sum += to_integer(u->align, ldexp(t[i].v, -*q));
  if (c) sum += to_integer(u->align, ldexp(*c, -*q));
  return ldexp(sum, *q);
}

static double sum_steps(const struct model *u, const struct term *t, size_t n,
                        const double *c) {
  double acc = c ? *c : 0, roots[K_MAX];
  size_t steps = 0;
  bool have = c != NULL, live = false;
  int q = 0, inner = u->inner_man ? u->inner_man : u->man;
  for (size_t i = 0; i < n; steps++) {
    size_t len = i + (size_t)u->len < n ? (size_t)u->len : n - i, used = 0;
    struct term in[K_MAX];
    if (u->logical) {
      for (size_t j = 0; j < len; j++)
        if (t[i + j].e != INT32_MIN) in[used++] = t[i + j];
    } else {
      memcpy(in, t + i, len * sizeof *t);
      used = len;
    }
    bool joins = have && !u->after && !u->tree;
    int e_c = live ? q + u->bits : acc ? exponent(acc) : 0;
    double d = step(u, in, used, joins ? &acc : NULL, e_c, &q);
    i += len;
    live = u->norm == -1 ? i < n : u->norm > 1 && (steps + 1) % (size_t)u->norm && i < n;
    if (!live) d = rounded(inner, -126, u->round, d);
    if (u->tree) {
      roots[steps] = d;
    } else {
      acc = have && u->after ? add(u, acc, d, u->outer) : d;
    }
    have = true;
  }
  if (!u->tree) return acc;
  for (; steps > 1; steps = (steps + 1) / 2)
    for (size_t i = 0; i < steps; i += 2)
      roots[i / 2] = i + 1 < steps ? add(u, roots[i], roots[i + 1], u->round) : roots[i];
  return add(u, *c, roots[0], u->round);
}

/* Strides, then what the selection leaves. */
static double sum_ordered(const struct model *u, const struct term *t, size_t lo, size_t hi,
                          const bool *in, const double *c) {
  struct term seq[K_MAX];
  size_t n = 0;
  int period = u->period ? u->period : 1, width = u->period ? u->width : 1;
  for (int lane = 0; lane * width < period; lane++) {
    for (size_t k = lo; k < hi; k++) {
      if ((int)((k - lo) % (size_t)period) / width != lane) continue;
      if (in[k]) seq[n++] = t[k];
      if (!in[k] && u->logical) seq[n++] = (struct term){0, INT32_MIN};
    }
  }
  return sum_steps(u, seq, n, c);
}

static double sum_nested(const struct model *u, const struct term *t, size_t lo, size_t hi,
                         const bool *in, const double *c, int level) {
  int len = level == 2 ? u->promote : u->chunk;
  const double zero = 0;
  if (level == 0) return sum_ordered(u, t, lo, hi, in, c);
  if (!len) return sum_nested(u, t, lo, hi, in, c, level - 1);
  double acc = *c;
  for (size_t at = lo; at < hi; at += (size_t)len) {
    size_t to = at + (size_t)len < hi ? at + (size_t)len : hi;
    acc = add(u, acc, sum_nested(u, t, at, to, in, &zero, level - 1), u->outer);
  }
  return acc;
}

static void select_some(const struct model *u, size_t k, bool *in, uint32_t *masks,
                        struct tsr_rng *r) {
  for (size_t i = 0; i < k; i++) in[i] = u->m == 0;
  for (size_t g = 0; u->m && g * (size_t)u->m < k; g++) {
    masks[g] = 0;
    for (int picked = 0; picked < u->n;) {
      size_t i = tsr_rng_range(r, 0, (uint64_t)u->m - 1), at = g * (size_t)u->m + i;
      if (masks[g] >> i & 1) continue;
      masks[g] |= UINT32_C(1) << i;
      if (at < k) in[at] = true;
      picked++;
    }
  }
}

static const struct model models[] = {
    {.text = "fused:L=4,F=10",
     .len = 4,
     .bits = 10,
     .man = 23,
     .round = TSR_ROUND_RZ,
     .align = TSR_ROUND_RZ},
    {.text = "fused:L=1,F=0,round=rne", .len = 1, .man = 23, .align = TSR_ROUND_RZ},
    {.text = "fused:L=7,F=12,align=rne,round=rna",
     .len = 7,
     .bits = 12,
     .man = 23,
     .round = TSR_ROUND_RNA,
     .align = TSR_ROUND_RNE},
    {.text = "fused:L=8,F=9,align=rd,round=rd",
     .len = 8,
     .bits = 9,
     .man = 23,
     .round = TSR_ROUND_RD,
     .align = TSR_ROUND_RD,
     .outer = TSR_ROUND_RD},
    {.text = "fused:L=16,F=11,align=ru,round=odd",
     .len = 16,
     .bits = 11,
     .man = 23,
     .round = TSR_ROUND_ODD,
     .align = TSR_ROUND_RU},
    {.text = "fused:L=8,F=11,align=odd,round=rne",
     .len = 8,
     .bits = 11,
     .man = 23,
     .align = TSR_ROUND_ODD},
    {.text = "fused:L=8,F=12,join=after,round=rne",
     .len = 8,
     .bits = 12,
     .man = 23,
     .align = TSR_ROUND_RZ,
     .after = true},
    {.text = "fused:L=8,F=12,c=after,round=rz,outer-round=rne",
     .len = 8,
     .bits = 12,
     .man = 23,
     .round = TSR_ROUND_RZ,
     .align = TSR_ROUND_RZ,
     .after = true},
    {.text = "fused:L=4,F=14,inner=e8m7,round=rz",
     .len = 4,
     .bits = 14,
     .man = 23,
     .inner_man = 7,
     .round = TSR_ROUND_RZ,
     .align = TSR_ROUND_RZ,
     .outer = TSR_ROUND_RZ},
    {.text = "fused:L=4,F=14,inner=e8m9,chunk=32,outer-round=rne",
     .len = 4,
     .bits = 14,
     .man = 23,
     .inner_man = 9,
     .chunk = 32,
     .round = TSR_ROUND_RZ,
     .align = TSR_ROUND_RZ},
    {.text = "fused:L=4,F=14,inner=e8m9,chunk=8,promote=32,outer-round=ru",
     .len = 4,
     .bits = 14,
     .man = 23,
     .inner_man = 9,
     .chunk = 8,
     .promote = 32,
     .round = TSR_ROUND_RZ,
     .align = TSR_ROUND_RZ,
     .outer = TSR_ROUND_RU},
    {.text = "fused:L=4,F=11,order=strided:4,round=rne",
     .len = 4,
     .bits = 11,
     .man = 23,
     .align = TSR_ROUND_RZ,
     .period = 4,
     .width = 1},
    {.text = "fused:L=5,F=11,order=strided:6:4,chunk=24,round=rne",
     .len = 5,
     .bits = 11,
     .man = 23,
     .align = TSR_ROUND_RZ,
     .period = 6,
     .width = 4,
     .chunk = 24},
    {.text = "fused:L=4,F=11,order=tree,round=rne",
     .len = 4,
     .bits = 11,
     .man = 23,
     .align = TSR_ROUND_RZ,
     .tree = true},
    {.text = "fused:L=4,F=9,norm=3,round=rne",
     .len = 4,
     .bits = 9,
     .man = 23,
     .align = TSR_ROUND_RZ,
     .norm = 3},
    {.text = "fused:L=4,F=9,norm=end,align=rne,acc=e8m9,round=rne",
     .len = 4,
     .bits = 9,
     .man = 9,
     .align = TSR_ROUND_RNE,
     .norm = -1},
    {.text = "fused:L=4,F=10,sparse=2:4",
     .len = 4,
     .bits = 10,
     .man = 23,
     .round = TSR_ROUND_RZ,
     .align = TSR_ROUND_RZ,
     .n = 2,
     .m = 4},
    {.text = "fused:L=8,F=10,sparse=2:4,len=logical",
     .len = 8,
     .bits = 10,
     .man = 23,
     .round = TSR_ROUND_RZ,
     .align = TSR_ROUND_RZ,
     .n = 2,
     .m = 4,
     .logical = true},
    {.text = "fused:L=8,F=10,sparse=3:7,order=strided:2",
     .len = 8,
     .bits = 10,
     .man = 23,
     .round = TSR_ROUND_RZ,
     .align = TSR_ROUND_RZ,
     .n = 3,
     .m = 7,
     .period = 2,
     .width = 1},
};

/* Normal fp8_e4m3 numbers from 2^-3 up to 2^4: products are whole multiples of 2^-12. */
static uint64_t some_code(struct tsr_rng *r) {
  uint64_t x = tsr_rng_next(r);
  return (x >> 63) << 7 | (4 + (x >> 8) % 7) << 3 | (x & 7);
}

static void free_parameters_do_what_they_say(void **state) {
  (void)state;
  const struct tsr_format *f = tsr_format_find("fp8_e4m3");
  struct tsr_rng r = {1};
  for (size_t i = 0; i < N(models); i++) {
    const struct model *u = &models[i];
    static struct tsr_mma_spec spec;
    struct tsr_err err = TSR_ERR_INIT;
    if (tsr_mma_parse(u->text, f, f, NULL, &spec, &err))
      fail_msg("%s: %s", u->text, tsr_err_text(&err));
    for (int rep = 0; rep < 300; rep++) {
      uint64_t a[K_MAX], b[K_MAX];
      struct term t[K_MAX];
      uint32_t masks[K_MAX] = {0};
      bool in[K_MAX];
      size_t k = tsr_rng_range(&r, 1, K_MAX);
      for (size_t j = 0; j < k; j++) {
        a[j] = some_code(&r);
        b[j] = some_code(&r);
        double x = tsr_arith_to_double(f, a[j]), y = tsr_arith_to_double(f, b[j]);
        t[j] = (struct term){x * y, exponent(x) + exponent(y)};
      }
      select_some(u, k, in, masks, &r);
      double c = rounded(u->man, -126, TSR_ROUND_RNE,
                         ldexp((double)(int64_t)tsr_rng_next(&r), -50 - (int)(rep % 12)));
      struct tsr_mma_dot_args args = {.a = a, .b = b, .k = k};
      args.c = tsr_arith_from_double(spec.unit.acc, TSR_ROUND_RNE, c, NULL);
      if (u->m) args.select = masks;
      double got =
          tsr_arith_to_double(spec.unit.acc, tsr_mma_dot_full(&spec.unit, &args, NULL, NULL));
      double want = sum_nested(u, t, 0, k, in, &c, 2);
      if (got != want) fail_msg("%s: k %zu gives %a, model %a", u->text, k, got, want);
    }
  }
}

static int64_t narrowed(int64_t v, int bits, int how) {
  int64_t max = (int64_t)(UINT64_MAX >> (65 - bits)), min = -max - 1;
  if (how) return v < min ? min : v > max ? max : v;
  return (int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits);
}

static void integer_accumulators_of_any_width_wrap_or_saturate(void **state) {
  (void)state;
  static const char *const modes[] = {"wrap", "satend", "satstep"};
  static const int widths[] = {16, 17, 20, 24, 32, 48, 64};
  const struct tsr_format *s8 = tsr_format_find("int8");
  struct tsr_rng r = {2};
  for (size_t w = 0; w < N(widths); w++) {
    for (int mode = 0; mode < 3; mode++) {
      static struct tsr_mma_spec spec;
      char text[64];
      snprintf(text, sizeof text, "int:acc=int%d,sat=%s", widths[w], modes[mode]);
      assert_int_equal(tsr_mma_parse(text, s8, s8, NULL, &spec, NULL), TSR_OK);
      size_t clipped = 0;
      for (int rep = 0; rep < 100; rep++) {
        uint64_t a[K_MAX], b[K_MAX], mask = UINT64_MAX >> (64 - widths[w]);
        int64_t c = narrowed((int64_t)tsr_rng_next(&r), widths[w], 0), acc = c, sum = c;
        bool near_end = widths[w] == 64;
        if (near_end) acc = sum = c = c >> 8;
        for (size_t k = 0; k < K_MAX; k++) {
          a[k] = tsr_rng_next(&r) & 0xff;
          b[k] = rep % 2 ? a[k] : tsr_rng_next(&r) & 0xff;
          int64_t p = (int64_t)(int8_t)a[k] * (int8_t)b[k];
          sum += p;
          acc = narrowed(acc + p, widths[w], mode);
        }
        int64_t want = mode == 2 ? acc : narrowed(sum, widths[w], mode);
        unsigned ev = 0;
        uint64_t got = tsr_mma_dot(&spec.unit, a, b, K_MAX, (uint64_t)c & mask, &ev);
        assert_int_equal(got, (uint64_t)want & mask);
        clipped += (ev & TSR_EVENT_OVERFLOW) != 0;
        if (mode == 0) assert_int_equal((ev & TSR_EVENT_OVERFLOW) != 0, want != sum);
        if (mode == 1) assert_int_equal((ev & TSR_EVENT_SATURATED) != 0, want != sum);
      }
      if (widths[w] <= 20) assert_true(clipped > 0);
    }
  }
}

/* Chunks of a narrow integer accumulator that is emptied into a wide one. */
static void a_narrow_integer_accumulator_is_emptied_in_time(void **state) {
  (void)state;
  const struct tsr_format *u8 = tsr_format_find("uint8");
  static struct tsr_mma_spec spec;
  uint64_t a[64], b[64];
  for (int i = 0; i < 64; i++) a[i] = b[i] = 100;
  static const struct {
    const char *text;
    uint64_t want;
  } rows[] = {{"int:inner=int16,chunk=3", 640000},
              {"int:inner=int16,chunk=4", (uint64_t)(40000 - 65536) * 16},
              {"int:inner=int16,chunk=4,sat=satend", 32767 * 16}};
  for (size_t i = 0; i < N(rows); i++) {
    assert_int_equal(tsr_mma_parse(rows[i].text, u8, u8, NULL, &spec, NULL), TSR_OK);
    assert_int_equal(tsr_mma_dot(&spec.unit, a, b, 64, 0, NULL), rows[i].want & 0xffffffff);
  }
}

/* The selection decides what enters: a NaN left out does no harm. */
static void what_is_not_selected_does_not_enter(void **state) {
  (void)state;
  const struct tsr_format *f = tsr_format_find("fp16");
  static struct tsr_mma_spec spec;
  assert_int_equal(tsr_mma_parse("fused:sparse=2:4", f, f, NULL, &spec, NULL), TSR_OK);
  const uint64_t a[] = {0x7e00, 0x3c00, 0x4000, 0x7c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00};
  const uint64_t b[] = {0x3c00, 0x3c00, 0x3c00, 0x0000, 0x3c00, 0x4000, 0x4200, 0x4400};
  const uint32_t select[] = {0x6, 0x9}; /* 1 + 2, then 1 + 4 */
  struct tsr_mma_dot_args args = {.a = a, .b = b, .k = 8, .select = select};
  assert_int_equal(tsr_mma_dot_full(&spec.unit, &args, NULL, NULL), 0x41000000);
  /* By size: of 1, -3, 2, 0.5 the second and third; of equals the first ones. */
  const uint64_t c[] = {0x3c00, 0xc200, 0x4000, 0x3800, 0x3c00, 0x3c00, 0x3c00, 0x3c00};
  assert_int_equal(tsr_mma_dot(&spec.unit, c, b, 8, 0, NULL), 0x40000000); /* -1 + 3 */
}

static void partial_sums_meet_in_their_format_and_order(void **state) {
  (void)state;
  const struct tsr_format *f = tsr_format_find("bf16");
  static const struct {
    const char *text;
    double p[5], want;
  } rows[] = {
      {"fma", {256, 1, 1, 1, 1}, 260},
      /* bf16 keeps 8 bits: 256 + 1 goes back to 256 each time it is stored. */
      {"fma:part=bf16,part-order=chain", {256, 1, 1, 1, 1}, 257},
      {"fma:part=bf16", {256, 1, 1, 1, 1}, 260},
      {"fma:part=bf16", {257, 1, 1, 1, 1}, 260},
      {"fma:part=bf16,part-round=ru", {257, 1, 1, 1, 1}, 262},
      /* ((256+1)+(1+1))+1: the stored sum of four is 258, after 257 became 256. */
      {"fma:part=bf16,part-order=tree", {256, 1, 1, 1, 1}, 259},
      {"fma:part=bf16,part-order=tree", {256, 2, 3, 1, 1}, 263},
  };
  for (size_t i = 0; i < N(rows); i++) {
    static struct tsr_mma_spec spec;
    uint64_t p[5];
    assert_int_equal(tsr_mma_parse(rows[i].text, f, f, NULL, &spec, NULL), TSR_OK);
    for (int k = 0; k < 5; k++)
      p[k] = tsr_arith_from_double(spec.unit.acc, TSR_ROUND_RNE, rows[i].p[k], NULL);
    double got = tsr_arith_to_double(spec.unit.acc, tsr_mma_reduce(&spec.unit, p, 5, NULL));
    if (got != rows[i].want) fail_msg("%s: %g, want %g", rows[i].text, got, rows[i].want);
  }
}

static void split_k_is_its_ranges_reduced(void **state) {
  (void)state;
  struct tsr_rng r = {7};
  static const size_t cuts[] = {32, 64, 96};
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    if (u->scale) continue;
    uint64_t a[K_MAX], b[K_MAX], part[3], mask = UINT64_MAX >> (64 - u->a->bits);
    for (size_t k = 0; k < K_MAX; k++) {
      a[k] = tsr_rng_next(&r) & mask;
      b[k] = tsr_rng_next(&r) & (UINT64_MAX >> (64 - u->b->bits));
    }
    struct tsr_mma_dot_args args = {.a = a, .b = b, .k = K_MAX};
    for (size_t n = 0; n < 3; n++)
      part[n] = tsr_mma_dot(u, a + 32 * n, b + 32 * n, 32, 0, NULL);
    uint64_t sum = tsr_mma_add(u, tsr_mma_add(u, part[0], part[1], NULL), part[2], NULL);
    assert_int_equal(tsr_mma_reduce(u, part, 3, NULL), sum);
    assert_int_equal(tsr_mma_dot_split(u, &args, cuts, 3, NULL), tsr_mma_add(u, 0, sum, NULL));
    assert_int_equal(tsr_mma_dot_split(u, &args, cuts, 0, NULL),
                     tsr_mma_dot(u, a, b, K_MAX, 0, NULL));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(free_parameters_do_what_they_say),
      cmocka_unit_test(integer_accumulators_of_any_width_wrap_or_saturate),
      cmocka_unit_test(a_narrow_integer_accumulator_is_emptied_in_time),
      cmocka_unit_test(what_is_not_selected_does_not_enter),
      cmocka_unit_test(partial_sums_meet_in_their_format_and_order),
      cmocka_unit_test(split_k_is_its_ranges_reduced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
