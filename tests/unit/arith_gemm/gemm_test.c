/* Every path of a matrix product gives the bits of the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/gemm.h"
#include "models/arith/mma_spec.h"
#include "sim/base/mem.h"

static const char *const paths[] = {"avx512", "avx2", "portable", "scalar"};
enum { PATHS = sizeof paths / sizeof paths[0] };

static uint64_t seed;

static uint64_t draw(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed * UINT64_C(0x9e3779b97f4a7c15) >> 8;
}

static uint64_t mask_of(const struct tsr_format *f) {
  return f->bits == 64 ? UINT64_MAX : (UINT64_C(1) << f->bits) - 1;
}

static bool special(const struct tsr_format *f, uint64_t code) {
  enum tsr_num_class c = tsr_arith_decode(f, code).cls;
  return c == TSR_NUM_INF || c == TSR_NUM_NAN;
}

/* A code of random bits that is finite. */
static uint64_t finite(const struct tsr_format *f) {
  uint64_t code;
  do code = draw() & mask_of(f);
  while (special(f, code));
  return code;
}

static uint64_t near_one(const struct tsr_format *f, int spread) {
  double v = (double)(draw() % 4096 + 1) / 2048.0;
  int e = (int)(draw() % (uint64_t)(2 * spread + 1)) - spread;
  for (; e > 0; e--) v *= 2;
  for (; e < 0; e++) v /= 2;
  return tsr_arith_from_double(f, TSR_ROUND_RNE, draw() & 1 ? v : -v, NULL);
}

static uint64_t bits_code(const struct tsr_format *f) {
  return draw() & mask_of(f);
}
static uint64_t narrow_code(const struct tsr_format *f) {
  return near_one(f, 2);
}
static uint64_t spread_code(const struct tsr_format *f) {
  return near_one(f, 12);
}
static uint64_t wide_code(const struct tsr_format *f) {
  return near_one(f, 60);
}
static uint64_t small_code(const struct tsr_format *f) {
  /* Subnormals and the first normals; integers: small. */
  uint64_t sign = f->bits ? (draw() & 1) << (f->bits - 1) : 0;
  return (sign | (draw() & ((UINT64_C(2) << f->man_bits) - 1) << f->pad_bits)) & mask_of(f);
}
static uint64_t mixed_code(const struct tsr_format *f) {
  return draw() % 3 ? narrow_code(f) : small_code(f);
}
static uint64_t sparse_code(const struct tsr_format *f) {
  if (draw() % 4 == 0) return near_one(f, 1);
  uint64_t zero = f->is_int || f->codec || draw() % 2 ? 0 : UINT64_C(1) << (f->bits - 1);
  return tsr_arith_decode(f, zero).cls == TSR_NUM_ZERO ? zero : 0;
}
static uint64_t zero_code(const struct tsr_format *f) {
  return draw() % 64 ? sparse_code(f) & (UINT64_C(1) << (f->bits - 1)) : small_code(f);
}
static uint64_t same_code(const struct tsr_format *f) {
  return tsr_arith_from_double(f, TSR_ROUND_RNE, 1.9999 - (double)(draw() % 3) * 0.01, NULL);
}
static uint64_t special_code(const struct tsr_format *f) {
  return draw() % 40 ? narrow_code(f) : bits_code(f);
}
static uint64_t big_code(const struct tsr_format *f) {
  uint64_t code = finite(f);
  if (f->is_int || f->exp_bits == 0) return code;
  /* The top two bits of the exponent set, or all but the lowest. */
  code |= ((UINT64_C(1) << (f->exp_bits - 1)) - 1) << (f->man_bits + 1 + f->pad_bits);
  return special(f, code) ? finite(f) : code;
}

static const struct {
  const char *name;
  uint64_t (*operand)(const struct tsr_format *), (*c)(const struct tsr_format *);
} kinds[] = {
    {"narrow", narrow_code, narrow_code},
    {"spread", spread_code, spread_code},
    {"wide", wide_code, wide_code},
    {"bits", bits_code, bits_code},
    {"subnormal", small_code, small_code},
    {"mixed", mixed_code, narrow_code},
    {"sparse", sparse_code, sparse_code},
    {"zeros", zero_code, zero_code},
    {"equal", same_code, narrow_code},
    {"special", special_code, special_code},
    {"big", big_code, big_code},
    {"finite", finite, finite},
    {"tiny beside C", small_code, narrow_code},
    {"C tiny beside", narrow_code, small_code},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

struct shape {
  size_t m, n, k;
};

struct product {
  struct tsr_gemm g;
  void *a, *b, *c, *want;
  size_t c_size;
};

static void put(void *p, size_t bytes, size_t i, uint64_t code) {
  memcpy((char *)p + i * bytes, &code, bytes);
}

static uint64_t get(const void *p, size_t bytes, size_t i) {
  uint64_t code = 0;
  memcpy(&code, (const char *)p + i * bytes, bytes);
  return code;
}

static void *fill(const struct tsr_format *f, size_t n,
                  uint64_t (*make)(const struct tsr_format *)) {
  size_t bytes = tsr_gemm_code_bytes(f);
  void *p = tsr_mem_array(n, bytes);
  assert_non_null(p);
  for (size_t i = 0; i < n; i++) put(p, bytes, i, make(f) & mask_of(f));
  return p;
}

/* Pairs of products that cancel: b repeats, a changes its sign. */
static void cancel(struct product *p) {
  const struct tsr_mma *u = p->g.unit;
  size_t a = tsr_gemm_code_bytes(u->a), b = tsr_gemm_code_bytes(u->b);
  for (size_t k = 1; k < p->g.k; k += 2) {
    for (size_t i = 0; i < p->g.m; i++) {
      uint64_t code = get(p->a, a, i * p->g.lda + k - 1);
      put(p->a, a, i * p->g.lda + k, code ^ (UINT64_C(1) << (u->a->bits - 1)));
    }
    for (size_t j = 0; j < p->g.n; j++)
      put(p->b, b, k * p->g.ldb + j, get(p->b, b, (k - 1) * p->g.ldb + j));
  }
}

static void open_product(struct product *p, const struct tsr_mma *u, struct shape s,
                         size_t kind) {
  /* Rows are longer than what is used of them. */
  p->g = (struct tsr_gemm){
      .unit = u, .m = s.m, .n = s.n, .k = s.k, .lda = s.k + 3, .ldb = s.n + 1, .ldc = s.n + 2};
  p->a = fill(u->a, s.m * p->g.lda, kinds[kind].operand);
  p->b = fill(u->b, s.k * p->g.ldb, kinds[kind].operand);
  p->c = fill(u->acc, s.m * p->g.ldc, kinds[kind].c);
  p->c_size = s.m * p->g.ldc * tsr_gemm_code_bytes(u->acc);
  p->want = tsr_mem_alloc(p->c_size);
  assert_non_null(p->want);
  if (draw() % 4 == 0 && !u->a->codec && !u->a->is_unsigned) cancel(p);
  p->g.a = p->a;
  p->g.b = p->b;
}

static void close_product(struct product *p) {
  tsr_mem_free(p->a);
  tsr_mem_free(p->b);
  tsr_mem_free(p->c);
  tsr_mem_free(p->want);
}

static void check(struct product *p, const char *what) {
  memcpy(p->want, p->c, p->c_size);
  p->g.c = p->want;
  assert_int_equal(tsr_gemm_reference(&p->g, NULL, NULL, NULL), TSR_OK);
  void *got = tsr_mem_alloc(p->c_size);
  assert_non_null(got);
  for (size_t i = 0; i < PATHS; i++) {
    if (!tsr_gemm_force(paths[i])) continue;
    memcpy(got, p->c, p->c_size);
    p->g.c = got;
    p->g.threads = (unsigned)(draw() % 3);
    assert_int_equal(tsr_gemm_run(&p->g, NULL, NULL, NULL), TSR_OK);
    size_t bytes = tsr_gemm_code_bytes(p->g.unit->acc);
    for (size_t at = 0; at < p->c_size / bytes; at++) {
      if (get(got, bytes, at) == get(p->want, bytes, at)) continue;
      fail_msg(
          "%s on %s (%s, %zux%zux%zu, %zu cuts), row %zu column %zu of C %llx: %llx, want %llx",
          p->g.unit->name, paths[i], what, p->g.m, p->g.n, p->g.k, p->g.n_cuts, at / p->g.ldc,
          at % p->g.ldc, (unsigned long long)get(p->c, bytes, at),
          (unsigned long long)get(got, bytes, at), (unsigned long long)get(p->want, bytes, at));
    }
  }
  tsr_mem_free(got);
  assert_true(tsr_gemm_force(NULL));
}

static void run_unit(const struct tsr_mma *u, struct shape s, size_t kind) {
  struct product p;
  open_product(&p, u, s, kind);
  check(&p, kinds[kind].name);
  size_t cuts[] = {0, s.k / 3 / 16 * 16, s.k / 2 + 1, s.k};
  cuts[0] = cuts[1] / 2;
  p.g.cuts = cuts;
  p.g.n_cuts = sizeof cuts / sizeof cuts[0];
  if (draw() % 2 && cuts[0] && cuts[1] < cuts[2]) check(&p, kinds[kind].name);
  close_product(&p);
}

/* Rounds of the random tests; TESSERA_GEMM_ROUNDS asks for more.  One round, of every
 * day, takes every other kind of operands and every third unit for long chains. */
static size_t rounds(void) {
  const char *text = getenv("TESSERA_GEMM_ROUNDS");
  return text ? strtoul(text, NULL, 10) : 1;
}

static void every_unit_and_path_equals_the_reference_on_odd_tiles(void **state) {
  (void)state;
  static const struct shape shapes[] = {{5, 19, 37}, {2, 35, 16}, {1, 1, 50}, {3, 8, 67}};
  seed = 88172645463325252;
  for (size_t round = 0; round < rounds(); round++) {
    for (size_t i = 0; i < tsr_mma_count(); i++) {
      for (size_t kind = rounds() > 1 ? 0 : i % 2; kind<KINDS; kind += rounds()> 1 ? 1 : 2)
        run_unit(tsr_mma_at(i), shapes[(i + kind + round) % 4], kind);
    }
  }
}

static void tiles_and_panels_meet_without_a_seam(void **state) {
  (void)state;
  static const char *const units[] = {
      "nv_ampere_mma_m16n8k16_f32_bf16_f32", "nv_hopper_wgmma_k32_f32_e4m3_f32",
      "acc_seqfma_fp16_fp32", "int_u8_s8_s32_wrap", "nv_hopper_mma_m16n8k16_f16_f16_f16"};
  static const struct shape shapes[] = {
      {33, 65, 70}, {34, 129, 9}, {67, 48, 130}, {32, 64, 64}};
  seed = 5;
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    const struct tsr_mma *u = tsr_mma_find(units[i]);
    assert_non_null(u);
    for (size_t s = 0; s < 4; s++) run_unit(u, shapes[s], (i + s) % KINDS);
  }
}

static void long_chains_equal_the_reference(void **state) {
  (void)state;
  static const size_t ks[] = {512, 2047, 4096};
  seed = 77;
  for (size_t i = 0; i<tsr_mma_count(); i += rounds()> 1 ? 1 : 3)
    run_unit(tsr_mma_at(i), (struct shape){2, 3, ks[i / 3 % 3]}, i % 2 ? 1 : 11);
}

/* Units that no row of the table has, on the fast paths and beside them. */
static void free_parameters_equal_the_reference(void **state) {
  (void)state;
  static const int lens[] = {1, 3, 8, 24, 48, 64}, bits[] = {1, 5, 13, 22, 25, 26, 31};
  static const enum tsr_round modes[] = {TSR_ROUND_RZ, TSR_ROUND_RNE};
  seed = 4242;
  struct tsr_mma u = *tsr_mma_find("nv_ampere_mma_m16n8k16_f32_bf16_f32");
  for (size_t i = 0; i < 6; i++) {
    for (size_t j = 0; j < 7; j++) {
      u.name = "free";
      u.fused_len = lens[i];
      u.align_bits = bits[j];
      u.round = modes[(i + j) % 2];
      u.overflow_inf = draw() % 2;
      u.zero_exp = -100 - (int)(draw() % 40);
      for (size_t kind = 0; kind < KINDS; kind++) run_unit(&u, (struct shape){3, 17, 70}, kind);
    }
  }
}

/* Units described by texts: a start, then options, each drawn or left out. */
#define OPERANDS(key)                                                                     \
  {                                                                                       \
    key "=fp16", key "=bf16", key "=tf32", key "=fp32", key "=fp8_e4m3", key "=fp8_e5m2", \
        key "=fp8_e4m3fnuz", key "=fp6_e3m2", key "=fp4_e2m1", key "=e5m10:nosub",        \
        key "=e8m7:nosub", key "=e8m7:noinf", key "=e5m2:noinf", key "=e5m10:unsigned",   \
        key "=e8m7:nonegzero", key "=e8m15", key "=ue4m3", key "=e5m10:fnuz", key "=nf4", \
        key "=e2m1:nosub:noinf:nonan", key "=e3m4:bias120", key "=fp64"                   \
  }
enum { CHOICES_MAX = 22 };

static const char *const starts[] = {"fma",
                                     "fused",
                                     "fused",
                                     "fused:join=after",
                                     "tree:L=2",
                                     "tree:flush=yes",
                                     "exact",
                                     "exact:L=4",
                                     "tree:L=4",
                                     "grouped:L=64",
                                     "grouped",
                                     "int",
                                     "two-stage",
                                     "two-stage:L=4",
                                     "two-stage:parity=yes",
                                     "muladd",
                                     "fused",
                                     "tree:L=4",
                                     "grouped:a=fp4_e2m1,nan=ones",
                                     "tree:L=2"};

static const struct {
  unsigned odds; /* one in so many texts has the option */
  const char *choice[CHOICES_MAX];
} options[] = {
    {1, OPERANDS("a")},
    {2, OPERANDS("b")},
    {2,
     {"acc=fp32", "acc=fp16", "acc=bf16", "acc=fp64", "acc=e8m23:nosub", "acc=e8m22",
      "acc=e8m23:nonegzero", "acc=e8m23:noinf", "acc=e8m23:bias126", "acc=e5m10:nosub",
      "acc=e5m10:bias14", "acc=e8m7:noinf"}},
    {3, {"round=rne", "round=rz", "round=ru", "round=rne"}},
    {4, {"F=1", "F=13", "F=24", "F=25", "F=26", "F=35"}},
    {4, {"L=1", "L=3", "L=8", "L=16", "L=32", "L=64"}},
    {4, {"ez=-140", "ez=-98", "ez=-97", "ez=-22", "ez=0", "ez=24", "ez=155"}},
    {5, {"flush=yes", "flush=yes", "flush=no"}},
    {5, {"overflow=inf", "overflow=ieee"}},
    {4, {"nan=ones", "nan=quiet"}},
    {4, {"chunk=1", "chunk=9", "chunk=16", "chunk=24", "chunk=32"}},
    {5, {"outer-round=rne", "outer-round=rz"}},
    {6,
     {"scale=e8m0,block=16", "scale=e8m0,block=32", "scale=e8m0,block=48",
      "scale=ue4m3,block=16", "scale=e4m2,block=16", "scale=e5m0:noinf:unsigned,block=32",
      "scale=fp8_e4m3,block=32"}},
    {6, {"order=strided:4:2", "order=strided:5", "order=tree"}},
    {8, {"inner=e8m13", "inner=e8m13:nosub", "inner=e8m13:noinf", "inner=fp64"}},
    {8, {"via=fp16", "via=e5m10:nosub", "via=bf16"}},
    {9, {"parity=yes", "norm=end", "align=rd", "join=after", "promote=32", "sparse=2:4"}},
};
enum {
  STARTS = sizeof starts / sizeof starts[0],
  OPTIONS = sizeof options / sizeof options[0]
};

static const char *one_of(const char *const *choice, size_t most) {
  size_t n = 0;
  while (n < most && choice[n]) n++;
  return choice[draw() % n];
}

static void draw_text(char *text, size_t size) {
  bool row = draw() % 4 == 0; /* a row of the table, a field or two changed */
  const char *start = row ? tsr_mma_at(draw() % tsr_mma_count())->name : one_of(starts, STARTS);
  int n = snprintf(text, size, "%s", start);
  for (size_t i = 0; i < OPTIONS; i++) {
    if (draw() % (options[i].odds * (row ? 4 : 1)) != 0) continue;
    if (i == 0 && strstr(text, ":a=")) continue;
    n += snprintf(text + n, size - (size_t)n, "%c%s", strchr(text, ':') ? ',' : ':',
                  one_of(options[i].choice, CHOICES_MAX));
    assert_true((size_t)n < size);
  }
}

/* Scales of all sizes, near 1, or large. */
static uint8_t *draw_scales(const struct tsr_format *f, size_t n, size_t how) {
  uint8_t *codes = tsr_mem_alloc(n);
  assert_non_null(codes);
  for (size_t i = 0; i < n; i++) {
    uint64_t code = how == 0 ? draw() : how == 1 ? 120 + draw() % 16 : 180 + draw() % 12;
    codes[i] = (uint8_t)(code & mask_of(f));
  }
  return codes;
}

static void run_text(const struct tsr_mma *u) {
  struct product p;
  struct shape s = {1 + draw() % 3, 1 + draw() % 18, 1 + draw() % 70};
  size_t kind = draw() % KINDS;
  if (!u->scale) {
    run_unit(u, s, kind);
    return;
  }
  open_product(&p, u, s, kind);
  size_t blocks = s.k / (size_t)u->scale_block + 1, how = draw() % 3;
  uint8_t *sa = draw_scales(u->scale, s.m * blocks, how);
  uint8_t *sb = draw_scales(u->scale, s.n * blocks, how);
  p.g.scale_a = sa;
  p.g.lds_a = blocks;
  p.g.scale_b = sb;
  p.g.lds_b = s.n;
  check(&p, kinds[kind].name);
  tsr_mem_free(sa);
  tsr_mem_free(sb);
  close_product(&p);
}

/* Whatever a text describes: a fast path knows it whole, or leaves it alone. */
static void described_units_equal_the_reference(void **state) {
  (void)state;
  size_t units = 0, fast = 0, texts = rounds() > 1 ? 24000 * rounds() : 12000;
  seed = 20240229;
  for (size_t i = 0; i < texts; i++) {
    char text[TSR_MMA_TEXT_MAX];
    struct tsr_mma_spec spec;
    struct tsr_err err = TSR_ERR_INIT;
    draw_text(text, sizeof text);
    enum tsr_status status = tsr_mma_parse(text, NULL, NULL, NULL, &spec, &err);
    tsr_err_fini(&err);
    if (status) continue;
    bool is_fast = strcmp(tsr_gemm_path(&spec.unit), "scalar") != 0;
    units++;
    fast += is_fast;
    /* The scalar path is the reference: now and then. */
    if (is_fast || draw() % 16 == 0) run_text(&spec.unit);
  }
  print_message("%zu units of %zu texts, %zu with a fast path\n", units, texts, fast);
  assert_true(fast > texts / 40);
}

/* Single elements in which a rule shows that a fast path could miss. */
static const struct rule {
  const char *text;
  uint32_t c, want;
  uint64_t a[4], b[4]; /* the last one up to k repeats */
  size_t k;
  uint8_t scale_a[4], scale_b[4];
  bool fast; /* false: left to the scalar path */
} rules[] = {
    /* -0 is no subnormal: it keeps its sign where subnormals are flushed. */
    {"amd_cdna2_mfma_16x16x16_f16",
     0x80000000,
     0x80000000,
     {0x3c00, 0x3c00, 0x3c00, 0x3c00},
     {0x8000, 0x8000, 0x8000, 0x8000},
     4,
     {0},
     {0},
     true},
    {"amd_cdna2_mfma_16x16x16_f16",
     0x80000000,
     0,
     {0x3c00, 0x3c00, 0x3c00, 0x3c00},
     {0x8001, 0x8001, 0x8001, 0x8001},
     4,
     {0},
     {0},
     true},
    /* 1 is below the last place of a sum aligned at 2^24. */
    {"fused:a=fp16,b=fp16,L=4,F=13,ez=24,outer-round=rne",
     0,
     0,
     {0x3c00},
     {0x3c00},
     1,
     {0},
     {0},
     false},
    {"fma:a=e5m10:nosub,b=fp16", 0, 0, {0x0001}, {0x3c00}, 1, {0}, {0}, false},
    {"fma:a=e8m7:noinf,b=bf16", 0, 0x7f000000, {0x7f80}, {0x3f00}, 1, {0}, {0}, false},
    {"fma:a=bf16,b=bf16,acc=e8m23:nosub", 0, 0, {0x0080}, {0x3f00}, 1, {0}, {0}, false},
    {"fma:a=bf16,b=bf16,acc=e8m23:nonegzero", 0, 0, {0x0080}, {0x8080}, 1, {0}, {0}, false},
    /* A chunk ends within a block of scales. */
    {"nv_rtxblackwell_mxf8f6f4_k32_f32_e4m3_ue8m0:chunk=48",
     0,
     0x44280000,
     {0x38, 0x38, 0x38, 0x38},
     {0x38, 0x38, 0x38, 0x38},
     96,
     {0x7f, 0x81, 0x83},
     {0x7f, 0x7f, 0x7f},
     false},
    {"grouped:a=fp4_e2m1,b=fp4_e2m1,scale=e4m2,block=16,outer-round=rne",
     0,
     0xc2800000,
     {2, 2, 2, 2},
     {2, 2, 2, 2},
     64,
     {0x5c, 0x5c, 0x5c, 0x5c},
     {0x1c, 0x1c, 0x1c, 0x1c},
     false},
    /* A step ends within a block of scales. */
    {"grouped:a=fp4_e2m1,scale=e8m0,block=48",
     0,
     0x43800000,
     {2, 2, 2, 2},
     {2, 2, 2, 2},
     106,
     {0x7f, 0x7f, 0x83},
     {0x7f, 0x7f, 0x7f},
     false},
    {"grouped:a=fp4_e2m1,b=fp4_e2m1,flush=yes,outer-round=rne",
     1,
     0,
     {0},
     {0},
     64,
     {0},
     {0},
     false},
    /* The odd products, negative and far below, take one last place when joined. */
    {"two-stage:a=bf16,b=bf16,L=4,parity=yes",
     0,
     0x3f7fffff,
     {0x3f80, 0x8c80},
     {0x3f80, 0x2c80},
     2,
     {0},
     {0},
     true},
    /* Four groups that are finite, and whose sum is not. */
    {"nv_rtxblackwell_mxf4nvf4_k64_f32_e2m1_ue8m0_b32",
     0,
     0x7f800000,
     {7, 7, 7, 7},
     {7, 7, 7, 7},
     64,
     {0xba, 0xba},
     {0xba, 0xba},
     true},
    {"fused:a=fp16,b=fp16,L=16,F=25,nan=ones",
     0,
     0x40800000,
     {0x3c00, 0x3c00, 0x3c00, 0x3c00},
     {0x3c00, 0x3c00, 0x3c00, 0x3c00},
     4,
     {0},
     {0},
     true},
};

static void check_rule(const struct rule *r) {
  struct tsr_mma_spec spec;
  uint8_t a[128 * 8], b[128 * 8];
  assert_int_equal(tsr_mma_parse(r->text, NULL, NULL, NULL, &spec, NULL), TSR_OK);
  const struct tsr_mma *u = &spec.unit;
  for (size_t k = 0; k < r->k; k++) {
    put(a, tsr_gemm_code_bytes(u->a), k, r->a[k < 4 ? k : 3]);
    put(b, tsr_gemm_code_bytes(u->b), k, r->b[k < 4 ? k : 3]);
  }
  uint32_t c = r->c;
  struct tsr_gemm g = {
      .unit = u, .m = 1, .n = 1, .k = r->k, .a = a, .lda = r->k, .b = b, .ldb = 1, .ldc = 1};
  g.c = &c;
  if (u->scale) g.scale_a = r->scale_a, g.scale_b = r->scale_b;
  g.lds_a = 4;
  g.lds_b = 1;
  assert_int_equal(tsr_gemm_reference(&g, NULL, NULL, NULL), TSR_OK);
  assert_int_equal(c, r->want);
  for (size_t j = 0; j < PATHS; j++) {
    if (!tsr_gemm_force(paths[j])) continue;
    c = r->c;
    assert_int_equal(tsr_gemm_run(&g, NULL, NULL, NULL), TSR_OK);
    if (c != r->want) fail_msg("%s on %s: %x, want %x", r->text, paths[j], c, r->want);
    if (!r->fast) assert_string_equal(tsr_gemm_path(u), "scalar");
  }
  assert_true(tsr_gemm_force(NULL));
}

static void rules_beside_the_step_hold_on_every_path(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) check_rule(&rules[i]);
}

/* What the sums of chunks would do does not matter where there are none. */
static void a_described_unit_is_as_fast_as_the_row_it_equals(void **state) {
  (void)state;
  static const char *const texts[] = {"fused:a=fp16,b=fp16,L=16,F=25,nan=ones",
                                      "fused:a=e5m10,b=e5m10,L=8,F=24,outer-round=ru",
                                      "fused:a=fp8_e4m3,b=fp8_e5m2,inner=e8m13"};
  const struct tsr_mma *row = tsr_mma_find("nv_hopper_wgmma_k16_f32_f16_f32");
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct tsr_mma_spec spec;
    assert_int_equal(tsr_mma_parse(texts[i], NULL, NULL, NULL, &spec, NULL), TSR_OK);
    assert_string_equal(tsr_gemm_path(&spec.unit), tsr_gemm_path(row));
  }
}

static void threads_do_not_change_a_bit(void **state) {
  (void)state;
  seed = 9;
  const struct tsr_mma *u = tsr_mma_find("nv_hopper_wgmma_k16_f32_f16_f32");
  struct product p;
  open_product(&p, u, (struct shape){70, 150, 40}, 1);
  void *got = tsr_mem_alloc(p.c_size);
  for (unsigned threads = 0; threads < 9; threads++) {
    void *out = threads ? got : p.want;
    memcpy(out, p.c, p.c_size);
    p.g.c = out;
    p.g.threads = threads;
    assert_int_equal(tsr_gemm_run(&p.g, NULL, NULL, NULL), TSR_OK);
    if (threads) assert_memory_equal(got, p.want, p.c_size);
  }
  tsr_mem_free(got);
  close_product(&p);
}

static void events_and_statistics_are_those_of_the_dot_products(void **state) {
  (void)state;
  seed = 31;
  for (size_t i = 0; i < tsr_mma_count(); i += 7) {
    const struct tsr_mma *u = tsr_mma_at(i);
    struct product p;
    open_product(&p, u, (struct shape){3, 5, 64}, 9);
    struct tsr_mma_stats run = {0}, want = {0};
    unsigned ev = 0, want_ev = 0;
    memcpy(p.want, p.c, p.c_size);
    p.g.c = p.want;
    p.g.threads = 2;
    assert_int_equal(tsr_gemm_run(&p.g, &ev, &run, NULL), TSR_OK);
    size_t ab = tsr_gemm_code_bytes(u->a), bb = tsr_gemm_code_bytes(u->b);
    size_t cb = tsr_gemm_code_bytes(u->acc);
    for (size_t r = 0; r < 3; r++) {
      for (size_t c = 0; c < 5; c++) {
        uint64_t a[64], b[64];
        for (size_t k = 0; k < 64; k++) a[k] = get(p.a, ab, r * p.g.lda + k);
        for (size_t k = 0; k < 64; k++) b[k] = get(p.b, bb, k * p.g.ldb + c);
        uint64_t d =
            tsr_mma_dot_stats(u, a, b, 64, get(p.c, cb, r * p.g.ldc + c), &want_ev, &want);
        assert_int_equal(d, get(p.want, cb, r * p.g.ldc + c));
      }
    }
    assert_int_equal(ev, want_ev);
    assert_memory_equal(&run, &want, sizeof run);
    close_product(&p);
  }
}

static void block_scales_reach_every_element(void **state) {
  (void)state;
  seed = 12;
  size_t seen = 0;
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    if (!u->scale) continue;
    struct product p;
    size_t k = 128, blocks = k / (size_t)u->scale_block;
    open_product(&p, u, (struct shape){3, 19, k}, 0);
    uint8_t *sa = tsr_mem_alloc(3 * blocks), *sb = tsr_mem_alloc(blocks * 20);
    for (size_t l = 0; l < 3 * blocks; l++) sa[l] = (uint8_t)(60 + draw() % 8);
    for (size_t l = 0; l < blocks * 20; l++) sb[l] = (uint8_t)(60 + draw() % 8);
    p.g.scale_a = sa;
    p.g.lds_a = blocks;
    p.g.scale_b = sb;
    p.g.lds_b = 20;
    check(&p, "scaled");
    size_t cb = tsr_gemm_code_bytes(u->acc);
    for (size_t r = 0; r < 3; r++) {
      for (size_t c = 0; c < 19; c++) {
        uint64_t a[128], b[128], x[8], y[8];
        for (size_t l = 0; l < k; l++) a[l] = ((uint8_t *)p.a)[r * p.g.lda + l];
        for (size_t l = 0; l < k; l++) b[l] = ((uint8_t *)p.b)[l * p.g.ldb + c];
        for (size_t l = 0; l < blocks; l++) x[l] = sa[r * blocks + l], y[l] = sb[l * 20 + c];
        assert_int_equal(
            tsr_mma_dot_scaled(u, a, b, k, x, y, get(p.c, cb, r * p.g.ldc + c), NULL),
            get(p.want, cb, r * p.g.ldc + c));
      }
    }
    tsr_mem_free(sa);
    tsr_mem_free(sb);
    close_product(&p);
    seen++;
  }
  assert_true(seen > 0);
}

static void every_family_has_a_fast_path(void **state) {
  (void)state;
  static const char *const units[] = {"nv_ampere_mma_m16n8k16_f32_f16_f32",
                                      "nv_hopper_mma_m16n8k16_f16_f16_f16",
                                      "nv_ada_mma_m16n8k32_f32_e4m3_f32",
                                      "nv_ampere_mma_m16n8k8_f32_tf32_f32",
                                      "acc_seqfma_fp16_fp32",
                                      "acc_seqfma_fp16_fp16",
                                      "int_s8_u8_s32_wrap"};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    const struct tsr_mma *u = tsr_mma_find(units[i]);
    assert_non_null(u);
    for (size_t j = 0; j < PATHS; j++) {
      if (!tsr_gemm_force(paths[j])) continue;
      bool fast = strcmp(tsr_gemm_path(u), "scalar") != 0;
      assert_int_equal(fast, strcmp(paths[j], "scalar") != 0);
    }
  }
  assert_false(tsr_gemm_force("no such path"));
  assert_true(tsr_gemm_force(NULL));
}

static void an_empty_product_leaves_c(void **state) {
  (void)state;
  uint32_t c[4] = {1, 2, 3, 0xffc00001};
  struct tsr_gemm g = {
      .unit = tsr_mma_find("acc_seqfma_fp16_fp32"), .m = 2, .n = 2, .c = c, .ldc = 2};
  assert_int_equal(tsr_gemm_run(&g, NULL, NULL, NULL), TSR_OK);
  assert_int_equal(c[0], 1);
  assert_int_equal(c[3], 0xffc00001);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_unit_and_path_equals_the_reference_on_odd_tiles),
      cmocka_unit_test(tiles_and_panels_meet_without_a_seam),
      cmocka_unit_test(long_chains_equal_the_reference),
      cmocka_unit_test(free_parameters_equal_the_reference),
      cmocka_unit_test(described_units_equal_the_reference),
      cmocka_unit_test(rules_beside_the_step_hold_on_every_path),
      cmocka_unit_test(a_described_unit_is_as_fast_as_the_row_it_equals),
      cmocka_unit_test(threads_do_not_change_a_bit),
      cmocka_unit_test(events_and_statistics_are_those_of_the_dot_products),
      cmocka_unit_test(block_scales_reach_every_element),
      cmocka_unit_test(every_family_has_a_fast_path),
      cmocka_unit_test(an_empty_product_leaves_c)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
