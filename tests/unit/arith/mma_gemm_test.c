/* Units described by texts through the matrix product: whatever path knows such a
 * unit, it gives the bits of the reference.  Here are the fields that a fast path must
 * not overlook. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/gemm.h"
#include "models/arith/mma_spec.h"
#include "sim/base/rng.h"

#define N(array) (sizeof(array) / sizeof(array)[0])
enum { M = 3, COLS = 19, K = 100 };

/* Around 1, the edges of the range, specials, or any bits. */
static uint64_t some_code(const struct tsr_format *f, int kind, struct tsr_rng *r) {
  uint64_t x = tsr_rng_next(r), all = UINT64_MAX >> (64 - f->bits);
  if (f->is_int || kind == 3) return x & all;
  double v = 1 + (double)(x >> 40) / (1 << 24);
  int e = kind == 0   ? (int)(x % 9) - 4
          : kind == 1 ? f->bias - 3 + (int)(x % 4)
                      : -f->bias + 2 - (int)(x % 6);
  for (; e > 0; e--) v *= 2;
  for (; e < 0; e++) v /= 2;
  return tsr_arith_from_double(f, TSR_ROUND_RNE, x >> 63 ? -v : v, NULL);
}

static void put(void *to, size_t bytes, size_t i, uint64_t code) {
  memcpy((char *)to + i * bytes, &code, bytes); /* low bytes first */
}

static void compare(const char *text, const char *in, struct tsr_rng *r, int kind) {
  static struct tsr_mma_spec s;
  static uint64_t a[M * K], b[K * COLS], c[2][M * COLS];
  const struct tsr_format *f = tsr_format_find(in);
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_mma_parse(text, f, f, NULL, &s, &err)) fail_msg("%s: %s", text, tsr_err_text(&err));
  const struct tsr_mma *u = &s.unit;
  size_t in_bytes = tsr_gemm_code_bytes(f), c_bytes = tsr_gemm_code_bytes(u->acc);
  size_t k = tsr_rng_range(r, 1, K);
  static const size_t no_cuts[1];
  const size_t cuts[] = {(k + 1) / 2, k};
  for (size_t i = 0; i < M * k; i++) put(a, in_bytes, i, some_code(f, kind, r));
  for (size_t i = 0; i < k * COLS; i++)
    put(b, in_bytes, i, some_code(f, kind == 1 ? 0 : kind, r));
  for (size_t i = 0; i < M * COLS; i++) put(c[0], c_bytes, i, some_code(u->acc, kind, r));
  memcpy(c[1], c[0], sizeof c[0]);
  for (int run = 0; run < 2; run++) {
    bool split = k > 1 && u->sparse_m == 0 && kind == 0;
    struct tsr_gemm g = {.unit = u,
                         .m = M,
                         .n = COLS,
                         .k = k,
                         .a = a,
                         .lda = k,
                         .b = b,
                         .ldb = COLS,
                         .c = c[run],
                         .ldc = COLS,
                         .cuts = split ? cuts : no_cuts,
                         .n_cuts = split ? 2 : 0};
    enum tsr_status st =
        run ? tsr_gemm_run(&g, NULL, NULL, NULL) : tsr_gemm_reference(&g, NULL, NULL, NULL);
    assert_int_equal(st, TSR_OK);
  }
  for (size_t i = 0; i < M * COLS; i++) {
    uint64_t x = 0, y = 0;
    memcpy(&x, (char *)c[0] + i * c_bytes, c_bytes);
    memcpy(&y, (char *)c[1] + i * c_bytes, c_bytes);
    if (x != y)
      fail_msg("%s (%s), operands %d, k %zu, element %zu: reference %llx, path %s %llx", text,
               tsr_gemm_path(u), kind, k, i, (unsigned long long)x, tsr_gemm_path(u),
               (unsigned long long)y);
  }
}

static void every_field_of_a_text_is_obeyed(void **state) {
  (void)state;
  static const struct {
    const char *text, *in;
  } rows[] = {
      {"fused", "fp16"},
      {"fused:overflow=ieee", "bf16"},
      {"fused:nan=ones", "bf16"},
      {"fused:F=13", "bf16"},
      {"fused:align=rne", "fp16"},
      {"fused:align=rd,round=rd", "fp16"},
      {"fused:round=rne", "fp16"},
      {"fused:round=odd", "fp16"},
      {"fused:flush=yes", "bf16"},
      {"fused:ez=-60", "bf16"},
      {"fused:inner=e8m13", "bf16"},
      {"fused:inner=e8m13,overflow=ieee", "bf16"},
      {"fused:inner=e8m12", "fp16"},
      {"fused:acc=fp16,round=rne", "fp16"},
      {"fused:acc=fp16,round=rne,overflow=inf", "fp16"},
      {"fused:acc=bf16,round=rne", "bf16"},
      {"fused:L=17,F=22", "fp8_e4m3"},
      {"fused:L=100,F=22", "fp8_e5m2"},
      {"fused:norm=end", "fp8_e4m3"},
      {"fused:norm=2", "fp8_e4m3"},
      {"fused:join=after,outer-round=rne", "fp16"},
      {"fused:via=bf16", "fp16"},
      {"fused:via=bf16,via-round=rz", "fp16"},
      {"fused:via=fp16,via-round=ru,chunk=32,outer-round=rne", "fp32"},
      {"fused:chunk=32,outer-round=rne", "fp16"},
      {"fused:chunk=32,outer-round=ru", "fp16"},
      {"fused:chunk=16,promote=64,outer-round=rne", "fp16"},
      {"fused:promote=64,outer-round=rne", "fp16"},
      {"fused:order=strided:4,outer-round=rne", "fp16"},
      {"fused:order=strided:6:4,chunk=24,outer-round=rne", "fp16"},
      {"fused:order=tree,round=rne", "fp16"},
      {"fused:sparse=2:4,outer-round=rne", "fp16"},
      {"fused:sparse=2:4,len=logical,outer-round=rne", "fp16"},
      {"fused:part=bf16,outer-round=rne", "fp16"},
      {"fused:part=bf16,part-order=tree,outer-round=rne", "fp16"},
      {"fused", "nf4"},
      {"fused", "int8_f6"},
      {"fused", "fp8_e4m3fnuz"},
      {"fma", "fp16"},
      {"fma:inner=e8m9", "fp16"},
      {"fma:acc=bf16,inner=tf32", "bf16"},
      {"fma:nan=ones", "bf16"},
      {"fma:flush=yes", "bf16"},
      {"fma:round=rz", "fp16"},
      {"fma:round=rz,overflow=inf", "bf16"},
      {"fma:via=tf32", "fp32"},
      {"fma:acc=fp16", "fp16"},
      {"fma:acc=fp16,nan=ones", "fp16"},
      {"fma:acc=bf16", "fp16"},
      {"fma:order=tree", "fp16"},
      {"fma:order=strided:2", "fp32"},
      {"fma:chunk=16", "fp32"},
      {"fma:chunk=16,outer-round=rd", "fp32"},
      {"fma:sparse=1:2", "fp32"},
      {"fma:acc=fp64", "fp64"},
      {"fma:acc=fp64,inner=fp32", "fp64"},
      {"fma:acc=fp64,nan=ones", "fp64"},
      {"fma:part=bf16,part-order=chain", "fp32"},
      {"muladd", "fp16"},
      {"muladd:flush=yes,inner=e8m9", "bf16"},
      {"tree", "fp16"},
      {"tree:L=4,flush=yes", "fp16"},
      {"tree:L=4", "fp16"},
      {"tree:L=2,flush=yes,inner=bf16", "bf16"},
      {"tree:L=4,flush=yes,nan=ones", "bf16"},
      {"tree:L=8,flush=yes", "fp16"},
      {"exact", "fp16"},
      {"exact:L=4", "fp16"},
      {"exact:L=4,inner=e8m9", "fp16"},
      {"exact:L=4,flush=yes", "bf16"},
      {"exact:L=4,nan=ones", "bf16"},
      {"exact:L=4,round=rz", "bf16"},
      {"two-stage", "bf16"},
      {"two-stage:parity=yes,L=16", "fp8_e5m2fnuz"},
      {"two-stage:inner=e8m9", "fp16"},
      {"two-stage:flush=yes", "bf16"},
      {"two-stage:nan=ones", "bf16"},
      {"two-stage:F2=40", "bf16"},
      {"grouped", "fp4_e2m1"},
      {"grouped:group=8", "fp4_e2m1"},
      {"grouped:overflow=ieee,F=20", "fp4_e2m1"},
      {"grouped:align=rne", "fp4_e2m1"},
      {"int", "int8"},
      {"int:acc=int24", "int8"},
      {"int:acc=int64", "int16"},
      {"int:sat=satend", "int8"},
      {"int:sat=satstep,acc=int16", "int8"},
      {"int:sat=pair16", "uint8"},
      {"int:inner=int16,chunk=8", "int8"},
      {"int:order=strided:2", "int8"},
      {"int:sparse=2:4", "int8"},
      {"int:part=int16", "int8"},
      {"int", "uint8"},
      {"int:acc=uint32", "uint8"},
      {"int", "int4"},
  };
  struct tsr_rng r = {21};
  for (size_t i = 0; i < N(rows); i++)
    for (int kind = 0; kind < 4; kind++) compare(rows[i].text, rows[i].in, &r, kind);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_field_of_a_text_is_obeyed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
