#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/mma_spec.h"
#include "sim/base/mem.h"
#include "sim/base/rng.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

static void every_row_is_found_by_its_name_and_by_its_text(void **state) {
  (void)state;
  struct tsr_rng r = {1};
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    static struct tsr_mma_spec spec, again;
    char text[TSR_MMA_TEXT_MAX], second[TSR_MMA_TEXT_MAX];
    struct tsr_err err = TSR_ERR_INIT;
    tsr_mma_print(u, text, sizeof text);
    if (tsr_mma_parse(text, NULL, NULL, NULL, &spec, &err))
      fail_msg("%s: %s", text, tsr_err_text(&err));
    assert_int_equal(tsr_mma_parse(u->name, NULL, NULL, NULL, &again, NULL), TSR_OK);
    assert_string_equal(tsr_mma_print(&spec.unit, second, sizeof second), text);
    assert_int_equal(tsr_mma_period(&spec.unit), tsr_mma_period(u));
    for (int rep = 0; rep < 20; rep++) {
      uint64_t a[64], b[64], c = tsr_rng_next(&r) >> (64 - u->acc->bits);
      for (int k = 0; k < 64; k++) {
        a[k] = tsr_rng_next(&r) >> (64 - u->a->bits);
        b[k] = tsr_rng_next(&r) >> (64 - u->b->bits);
      }
      unsigned ev[3] = {0, 0, 0};
      uint64_t want = tsr_mma_dot(u, a, b, 64, c, &ev[0]);
      assert_int_equal(tsr_mma_dot(&spec.unit, a, b, 64, c, &ev[1]), want);
      assert_int_equal(tsr_mma_dot(&again.unit, a, b, 64, c, &ev[2]), want);
      assert_true(ev[0] == ev[1] && ev[0] == ev[2]);
    }
  }
}

static void a_text_changes_a_row(void **state) {
  (void)state;
  static struct tsr_mma_spec s;
  const char *text = "nv_hopper_mma_m16n8k16_f32_f16_f32:F=13,inner=e8m13,promote=128";
  assert_int_equal(tsr_mma_parse(text, NULL, NULL, NULL, &s, NULL), TSR_OK);
  assert_string_equal(s.unit.name, text);
  assert_int_equal(s.unit.align_bits, 13);
  assert_int_equal(s.unit.fused_len, 16);
  assert_int_equal(s.unit.zero_exp, -133);
  assert_int_equal(s.unit.promote, 128);
  assert_string_equal(s.unit.inner->name, "e8m13");
  assert_int_equal(s.unit.inner->man_bits, 13);
}

static void bad_texts_are_refused_with_the_key(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } rows[] = {
      {"", "unknown matrix unit ''"},
      {"fuse", "did you mean 'fused'?"},
      {"nv_hopper_mma_m16n8k16_f32_f16_f31",
       "did you mean 'nv_hopper_mma_m16n8k16_f32_f16_f32'?"},
      {"fused:", "key=value"},
      {"fused:L", "got 'L'"},
      {"fused:L=", "bad value for 'L'"},
      {"fused:L=x", "bad value for 'L'"},
      {"fused:L=0", "at least 1"},
      {"fused:L=257", "from 0 to 256"},
      {"fused:L=99999999999999999999", "bad value for 'L'"},
      {"fused:F=65", "from 0 to 64"},
      {"fused:F=-1", "bad value for 'F'"},
      {"fused:L=8,L=8", "twice"},
      {"fused:rond=rz", "did you mean 'round'?"},
      {"fused:round=up", "rne rz rna ru rd odd"},
      {"fused:round=sr", "rne rz rna ru rd odd"},
      {"fused:acc=fp33", "fp33"},
      {"fused:inner=e5m26", "one of inner and acc is contained"},
      {"fused:order=sideways", "strided:S:W"},
      {"fused:order=strided:0", "strided:S:W"},
      {"fused:order=strided:4:5", "strided:S:W"},
      {"fused:order=strided:4:1:1", "strided:S:W"},
      {"fused:sparse=4:2", "N:M"},
      {"fused:sparse=2", "N:M"},
      {"fused:sparse=2:33", "N:M"},
      {"fused:len=logical", "needs sparse"},
      {"fused:chunk=48,promote=64", "multiple of chunk"},
      {"fused:norm=0", "bad value for 'norm'"},
      {"fused:norm=2,join=after", "norm needs a chain"},
      {"fma:norm=2", "norm is for fused units"},
      {"fma:L=4", "one product at a time"},
      {"fma:join=after", "join is for fused units"},
      {"fused:sat=wrap,sat=wrap", "twice"},
      {"fused:sat=satend", "sat is for integer units"},
      {"fused:acc=int32", "float format with NaN"},
      {"fused:acc=fp4_e2m1", "float format with NaN"},
      {"fused:scale=e8m0", "scale needs block"},
      {"fused:block=32", "block needs scale"},
      {"grouped:L=20", "multiple of group"},
      {"grouped:scale=ue4m3,block=8", "multiple of group"},
      {"grouped:a=bf16,b=bf16", "span at most"},
      {"exact:a=fp64,b=fp64,acc=fp64,scale=fp64,block=1", "at most 120 significant bits"},
      {"exact:a=fp64,b=fp64,scale=e11m0:fn,block=1", "at most 5120 bits"},
      {"fma:a=fp64,b=fp64,scale=fp32,block=1", "at most 120 significant bits"},
      {"fused:a=fp64,b=fp64,acc=fp64,scale=fp16,block=1", "at most 120 significant bits"},
      {"muladd:a=int64,b=int64", "at most 120 significant bits"},
      {"tree:a=fp64,b=fp16,scale=fp32,block=1", "at most 64 significant bits"},
      {"grouped:a=fp16,b=fp16,L=16,group=4,F=64,scale=fp32,block=4",
       "at most 120 significant bits"},
      {"grouped:a=int32,b=int32,L=256,F=60", "at most 126 bits"},
      {"two-stage:F2=20", "F2 is from F"},
      {"two-stage:parity=yes,L=7", "even L"},
      {"int", "integer formats only"},
      {"int:a=int8,b=int8,acc=int8", "16 to 64 bits"},
      {"int:a=int8,b=int8,acc=int65", "int65"},
      {"int:a=int64,b=int8", "at most 32 bits"},
      {"int:a=int8,b=int8,inner=int16", "needs chunk"},
      {"int:a=int8,b=int8,sat=up", "wrap satend satstep pair16"},
      {"int:a=int8,b=int8,via=fp16", "for floats"},
  };
  const struct tsr_format *f = tsr_format_find("fp16");
  for (size_t i = 0; i < N(rows); i++) {
    static struct tsr_mma_spec s;
    struct tsr_err err = TSR_ERR_INIT;
    s.name[0] = '#';
    enum tsr_status st = tsr_mma_parse(rows[i].text, f, f, NULL, &s, &err);
    if (st != TSR_USAGE) fail_msg("%s: status %d", rows[i].text, (int)st);
    char *text = tsr_err_text(&err);
    if (!strstr(text, rows[i].says)) fail_msg("%s: says %s", rows[i].text, text);
    assert_int_equal(err.total, 1);
    assert_int_equal(s.name[0], '#');
    tsr_mem_free(text);
    tsr_err_fini(&err);
  }
  char long_text[2 * TSR_MMA_TEXT_MAX];
  static struct tsr_mma_spec s;
  memset(long_text, 'x', sizeof long_text - 1);
  long_text[sizeof long_text - 1] = 0;
  assert_int_equal(tsr_mma_parse(long_text, f, f, NULL, &s, NULL), TSR_USAGE);
  assert_int_equal(tsr_mma_parse("fused", NULL, NULL, NULL, &s, NULL), TSR_USAGE);
}

static void a_list_gives_each_pair_of_formats_its_unit(void **state) {
  (void)state;
  static const char list[] =
      "nv_hopper_mma_m16n8k16_f32_f16_f32;int_s8_s8_s32_satend;fused:a=bf16,b=bf16,F=12;"
      "nv_hopper_wgmma_k32_f16_e4m3_f16;nv_hopper_wgmma_k32_f32_e4m3_f32";
  static const struct {
    const char *text, *a, *acc, *unit; /* NULL: refused */
  } rows[] = {
      {list, "fp16", "fp32", "nv_hopper_mma_m16n8k16_f32_f16_f32"},
      {list, "int8", "int32", "int_s8_s8_s32_satend"},
      {list, "bf16", "fp32", "fused:a=bf16,b=bf16,F=12"},
      {list, "fp8_e4m3", "fp32", "nv_hopper_wgmma_k32_f32_e4m3_f32"},
      {list, "fp8_e4m3", "fp16", "nv_hopper_wgmma_k32_f16_e4m3_f16"},
      {list, "fp8_e4m3", NULL, "nv_hopper_wgmma_k32_f16_e4m3_f16"},
      {list, "fp8_e5m2", "fp32", NULL},
      {"fused:F=20", "fp8_e5m2", "fp32", "fused:F=20"},
      {"fused:F=20", "fp16", "fp16", "fused:F=20"},
      {"fused:nothing=1", "fp16", "fp16", NULL},
      {"nv_none", "fp16", "fp32", NULL},
      {"", "fp16", "fp32", "acc_seqfma_fp16_fp32"},
      {"", "fp64", "fp64", "acc_seqfma_fp64_fp64"},
      {"", "fp4_e2m1", "fp32", "fma"},
  };
  for (size_t i = 0; i < N(rows); i++) {
    static struct tsr_mma_spec s;
    struct tsr_err err = TSR_ERR_INIT;
    const struct tsr_mma *u = NULL;
    const struct tsr_format *a = tsr_format_find(rows[i].a);
    const struct tsr_format *acc = rows[i].acc ? tsr_format_find(rows[i].acc) : NULL;
    enum tsr_status st = tsr_mma_resolve(rows[i].text, a, a, acc, &s, &u, &err);
    assert_int_equal(st == TSR_OK, rows[i].unit != NULL);
    if (rows[i].unit) {
      assert_string_equal(u->name, rows[i].unit);
      assert_true(u->a == a && u->b == a && (!acc || u->acc == acc));
    }
    tsr_err_fini(&err);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_is_found_by_its_name_and_by_its_text),
      cmocka_unit_test(a_text_changes_a_row),
      cmocka_unit_test(bad_texts_are_refused_with_the_key),
      cmocka_unit_test(a_list_gives_each_pair_of_formats_its_unit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
