/* Weights with a scale for each group of products along k and each column: values bit for
 * bit, exactness of the sums, and what it costs the vector unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/mem.h"
#include "tests/unit/run/ran.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static const char *const int8[] = {"tile.formats.a=int8", "tile.formats.b=int8",
                                   "tile.formats.acc=int32", "tile.formats.out=fp16", NULL};
static const char *const int4[] = {"tile.formats.a=int8",
                                   "tile.formats.b=int4",
                                   "tile.formats.acc=int32",
                                   "tile.formats.out=fp16",
                                   "tile.mma=int",
                                   "tile.rates.int4=1",
                                   NULL};
static const char *const fp8[] = {"tile.formats.a=fp8_e4m3", "tile.formats.b=fp8_e4m3",
                                  "tile.formats.out=bf16",   "tile.rates.fp8_e4m3=1",
                                  "tile.formats.scale=bf16", NULL};

static void join(const char **out, const char *const *x, const char *const *y) {
  size_t n = 0;
  while (*x) out[n++] = *x++;
  while (*y) out[n++] = *y++;
  out[n] = NULL;
  assert_true(n < RAN_SETS);
}

static const struct {
  const char *workload, *sets[5];
  double groups; /* along k */
  double outputs;
} rows[] = {
    {"gemm:70x50x300", {"tile.group=64"}, 5, 70 * 50},
    {"gemm:70x50x300", {"tile.group=300"}, 1, 70 * 50},
    {"gemm:70x50x300", {"tile.group=512"}, 1, 70 * 50},
    {"gemm:70x50x300", {"tile.group=128", "tile.dataflow=os"}, 3, 70 * 50},
    {"gemm:70x50x300", {"tile.group=128", "tile.dataflow=is"}, 3, 70 * 50},
    {"gemm:9x7x20", {"tile.group=1"}, 20, 9 * 7},
    {"op:conv:in_c=20,hw=9,out_c=12,window=3,pad=1", {"tile.group=60"}, 3, 81 * 12},
    {"op:conv:in_c=20,hw=9,out_c=12,window=3,pad=1", {"tile.group=16"}, 18, 81 * 12},
    {"op:conv:in_c=12,hw=10,out_c=8,window=3,stride=2,pad=1,groups=2",
     {"tile.group=6"},
     9,
     25 * 8},
};

static void scaled_sums_are_exact_up_to_their_roundings(void **state) {
  (void)state;
  static const char *const *const formats[] = {int8, int4, fp8};
  for (size_t f = 0; f < LEN(formats); f++)
    for (size_t i = 0; i < LEN(rows); i++) {
      const char *sets[RAN_SETS];
      struct ran r;
      join(sets, formats[f], rows[i].sets);
      ran_make(&r, "systolic-32", rows[i].workload, sets, TSR_NUMERICS_FULL);
      double error = ran_number(&r, "SELECT norm_err FROM v_numeric WHERE run = 1 AND "
                                    "tensor = 'accumulation'");
      /* a rounding for each product and each sum, of 2^-24; against the sum of weights times
       * scales, formed by other code */
      if (!(error < 1e-6)) fail_msg("%s %s: error %g", rows[i].workload, sets[0], error);
      double busy = ran_number(&r, "SELECT sum(cycles) FROM v_units WHERE run = 1 AND "
                                   "unit LIKE '%vector' AND state = 'busy'");
      double ops = rows[i].outputs * (rows[i].groups > 1 ? 2 * rows[i].groups : 1) / 128;
      if (busy < ops || busy > 1.25 * ops + 4 * rows[i].groups * 9)
        fail_msg("%s %s: vector unit busy for %.0f, %.0f expected", rows[i].workload,
                 rows[i].sets[0], busy, ops);
      ran_fini(&r);
    }
}

static void cores_have_the_scales_of_their_part(void **state) {
  (void)state;
  static const char *const splits[] = {"split=m", "split=n", "split=k", "split=auto"};
  static const char *const workloads[] = {"gemm:70x90x300",
                                          "op:conv:in_c=40,hw=6,out_c=9,window=1,batch=3",
                                          "op:conv:in_c=20,hw=9,out_c=12,window=3,pad=1"};
  for (size_t w = 0; w < LEN(workloads); w++)
    for (size_t s = 0; s < LEN(splits); s++) {
      const char *const more[] = {"tile.group=32", "cores=3", splits[s], NULL};
      const char *sets[RAN_SETS];
      struct ran r;
      join(sets, int8, more);
      ran_make(&r, "systolic-32", workloads[w], sets, TSR_NUMERICS_FULL);
      ran_fini(&r);
    }
}

/* The scales come from memory with the weights: one of two bytes for each group and column. */
static void scales_are_read_from_memory(void **state) {
  (void)state;
  const char *sets[2][RAN_SETS];
  static const char *const with[] = {"tile.group=64", NULL}, *const without[] = {NULL};
  const char sql[] = "SELECT dram_read_bytes FROM v_layers WHERE run = 1";
  double read[2];
  join(sets[0], int8, without);
  join(sets[1], int8, with);
  for (int i = 0; i < 2; i++) {
    struct ran r;
    ran_make(&r, "systolic-128", "gemm:32x128x512", sets[i], TSR_NUMERICS_OFF);
    read[i] = ran_number(&r, sql);
    ran_fini(&r);
  }
  assert_true(read[1] - read[0] == 8 * 128 * 2);
}

/* Weights that are converted as they come in: narrow in memory, as exact as wide ones. */
static void weights_are_converted_for_the_tile(void **state) {
  (void)state;
  static const char *const workloads[] = {
      "gemm:70x90x300", "op:conv:in_c=20,hw=9,out_c=12,window=3,pad=1",
      "op:conv:in_c=12,hw=10,out_c=8,window=3,stride=2,pad=1,groups=2",
      "op:linear:m=70,n=50,k=300,epilogue=bias+relu"};
  static const char *const sets[][6] = {
      {"tile.formats.b=int8"},
      {"tile.formats.b=int8", "tile.group=64"},
      {"tile.formats.b=fp8_e4m3", "tile.dataflow=os"},
      {"tile.formats.b=int4", "cores=4", "split=m", "noc.kind=crossbar"},
      {"tile.formats.b=int8", "cores=4", "split=n", "noc.kind=mesh"},
      {"tile.formats.b=int8", "cores=4", "split=k"},
      {"tile.formats.b=int8", "tile.promote=100"}};
  static const char *const dequant[] = {"tile.dequant=true", NULL};
  for (size_t w = 0; w < LEN(workloads); w++)
    for (size_t i = 0; i < LEN(sets); i++) {
      const char *all[RAN_SETS];
      struct ran r;
      join(all, dequant, sets[i]);
      ran_make(&r, "systolic-32", workloads[w], all, TSR_NUMERICS_FULL);
      assert_true(ran_number(&r, "SELECT norm_err FROM v_numeric WHERE run = 1 AND "
                                 "tensor = 'accumulation'") < 1e-6);
      ran_fini(&r);
    }
}

static void a_conversion_takes_each_weight_once_a_load(void **state) {
  (void)state;
  static const char *const sets[2][3] = {{NULL}, {"tile.formats.b=int8", "tile.dequant=true"}};
  double read[2], busy[2];
  for (int i = 0; i < 2; i++) {
    struct ran r;
    ran_make(&r, "systolic-128", "gemm:32x128x512", sets[i], TSR_NUMERICS_OFF);
    read[i] = ran_number(&r, "SELECT dram_read_bytes FROM v_layers WHERE run = 1");
    busy[i] = ran_number(&r, "SELECT sum(cycles) FROM v_units WHERE run = 1 AND "
                             "unit = 'core0.vector' AND state = 'busy'");
    ran_fini(&r);
  }
  assert_true(read[0] - read[1] == 512 * 128);
  assert_true(busy[0] == 0 && busy[1] == 512 * 128 / 128);
}

static void what_scales_do_not_fit_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *sets[6], *says;
  } bad[] = {{{"tile.group=64", "tile.formats.scale=fp32"}, "24 significant bits"},
             {{"tile.group=64", "tile.formats.scale=int8"}, "a scale in int8"},
             {{"tile.group=64", "tile.formats.acc=fp16"}, "4 bytes"},
             {{"tile.dequant=true", "tile.formats.b=fp32"}, "tile.dequant"}};
  for (size_t i = 0; i < LEN(bad); i++) {
    struct ran r;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(
        ran_try(&r, "systolic-32", "gemm:8x8x128", bad[i].sets, TSR_NUMERICS_OFF, &err),
        TSR_INPUT);
    assert_non_null(strstr(err.msg[0], bad[i].says));
    tsr_err_fini(&err);
    ran_fini(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scaled_sums_are_exact_up_to_their_roundings),
      cmocka_unit_test(cores_have_the_scales_of_their_part),
      cmocka_unit_test(scales_are_read_from_memory),
      cmocka_unit_test(weights_are_converted_for_the_tile),
      cmocka_unit_test(a_conversion_takes_each_weight_once_a_load),
      cmocka_unit_test(what_scales_do_not_fit_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
