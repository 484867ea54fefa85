/* Outlier columns of activations: what a matmul becomes, its values bit for bit, and what the
 * gathers, the second product and the sum cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/run/plans.h"
#include "tests/unit/run/ran.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

#define INT8                                                              \
  "tile.formats.a=int8", "tile.formats.b=int8", "tile.formats.acc=int32", \
      "tile.formats.out=fp16"
static const char list[] =
    "model,layer,op,M,N,K,count,notes,after,epilogue\n"
    "x,in,linear,8,100,64,1,,-,\n"
    "x,other,linear,8,40,64,1,,-,\n"
    "x,fc,linear,8,40,100,1,,in other,dequantise+dequantise:col+bias+residual\n"
    "x,both,bmm,8,8,40,1,,fc other,\n"
    "x,tip,linear,8,3,1,1,,fc,\n";

static void write_list(const char *path) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  assert_int_equal(fwrite(list, 1, strlen(list), f), strlen(list));
  assert_int_equal(fclose(f), 0);
}

static void a_matmul_becomes_four_operators(void **state) {
  (void)state;
  static const char *const sets[] = {INT8, "tile.outliers=0.07", NULL};
  static const struct {
    const char *name;
    enum tsr_op_kind kind;
    uint64_t m, n, k;
    size_t after[3], n_after, steps;
  } want[] = {
      {"in.outliers.x", TSR_OP_GATHER_COLS, 8, 5, 1, {0}, 0, 0},
      {"in.outliers.w", TSR_OP_GATHER, 5, 100, 1, {0}, 0, 0},
      {"in.outliers", TSR_OP_BMM, 8, 100, 5, {0, 1}, 2, 0},
      {"in", TSR_OP_LINEAR, 8, 100, 64, {2}, 1, 1},
      {"other.outliers.x", TSR_OP_GATHER_COLS, 8, 5, 1, {0}, 0, 0},
      {"other.outliers.w", TSR_OP_GATHER, 5, 40, 1, {0}, 0, 0},
      {"other.outliers", TSR_OP_BMM, 8, 40, 5, {4, 5}, 2, 0},
      {"other", TSR_OP_LINEAR, 8, 40, 64, {6}, 1, 1},
      {"fc.outliers.x", TSR_OP_GATHER_COLS, 8, 7, 1, {3}, 1, 0}, /* 0.07 of 100 */
      {"fc.outliers.w", TSR_OP_GATHER, 7, 40, 1, {3}, 1, 0},
      {"fc.outliers", TSR_OP_BMM, 8, 40, 7, {8, 9}, 2, 0},
      {"fc", TSR_OP_LINEAR, 8, 40, 100, {3, 10, 7}, 3, 5}, /* the residual stays last */
      {"both", TSR_OP_BMM, 8, 8, 40, {11, 7}, 2, 0},       /* of two activations */
      {"tip", TSR_OP_LINEAR, 8, 3, 1, {11}, 1, 0},         /* of one column, which stays */
  };
  static const enum tsr_op_kind steps[] = {TSR_OP_DEQUANTISE, TSR_OP_DEQUANTISE, TSR_OP_ADD,
                                           TSR_OP_BIAS, TSR_OP_ADD};
  const char *path = "outliers_test.csv";
  struct tsr_run_plan p;
  write_list(path);
  plan_make(&p, "systolic-32", path, sets);
  assert_int_equal(remove(path), 0);
  assert_int_equal(p.n_layers, LEN(want));
  for (size_t i = 0; i < LEN(want); i++) {
    const struct tsr_op *op = p.layers[i].op;
    assert_string_equal(op->name, want[i].name);
    assert_int_equal(op->kind, want[i].kind);
    if (op->m != want[i].m || op->n != want[i].n || op->k != want[i].k)
      fail_msg("%s", op->name);
    if (op->n_after != want[i].n_after || op->n_steps != want[i].steps)
      fail_msg("%s: behind %zu, %zu steps", op->name, op->n_after, op->n_steps);
    for (size_t j = 0; j < op->n_after; j++) assert_int_equal(op->after[j], want[i].after[j]);
  }
  for (size_t i = 0; i < LEN(steps); i++)
    assert_int_equal(p.layers[11].op->step[i].kind, steps[i]);
  static const struct {
    size_t layer;
    const char *a, *b, *acc, *out;
  } formats[] = {{8, "fp16", "fp16", "fp32", "fp16"},
                 {9, "int8", "fp16", "fp32", "fp16"},
                 {10, "fp16", "fp16", "fp32", "fp16"},
                 {11, "int8", "int8", "int32", "fp16"}};
  for (size_t i = 0; i < LEN(formats); i++) {
    const struct tsr_run_layer_plan *l = &p.layers[formats[i].layer];
    assert_string_equal(l->format_a, formats[i].a);
    assert_string_equal(l->format_b, formats[i].b);
    assert_string_equal(l->format_acc, formats[i].acc);
    assert_string_equal(l->format_out, formats[i].out);
  }
  tsr_run_plan_fini(&p);
}

/* Nothing is narrower than it may be, or nothing is a weight. */
static void what_needs_no_outliers_stays_as_it_is(void **state) {
  (void)state;
  static const struct {
    const char *workload, *sets[8];
  } rows[] = {{"gemm:64x64x64", {"tile.outliers=0.1", NULL}}, /* fp16 already */
              {"gemm:64x64x64", {INT8, "tile.outliers=0", NULL}},
              {"gemm:64x64x1", {INT8, "tile.outliers=0.5", NULL}},
              {"op:bmm:m=64,n=64,k=64", {INT8, "tile.outliers=0.1", NULL}},
              {"op:conv:in_c=20,hw=9,out_c=12,window=3", {INT8, "tile.outliers=0.1", NULL}}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_run_plan p;
    plan_make(&p, "systolic-32", rows[i].workload, rows[i].sets);
    assert_int_equal(p.n_layers, 1);
    assert_int_equal(p.layers[0].op->n_steps, 0);
    tsr_run_plan_fini(&p);
  }
}

static const struct {
  const char *workload, *arch, *sets[10];
  double m, n, k, columns;
} costs[] = {
    {"gemm:256x512x1000",
     "systolic-128",
     {INT8, "tile.outliers=0.01", NULL},
     256,
     512,
     1000,
     10},
    {"gemm:70x50x300", "systolic-32", {INT8, "tile.outliers=0.005", NULL}, 70, 50, 300, 2},
    {"gemm:70x50x300",
     "systolic-32",
     {INT8, "tile.outliers=0.05", "tile.formats.outlier=bf16", "epilogue=separate", NULL},
     70,
     50,
     300,
     15},
    {"gemm:33x40x50",
     "systolic-32",
     {INT8, "tile.outliers=0.5", "cores=4", "sram.a.size=2KiB", "sram.b.size=2KiB",
      "sram.c.size=4KiB", NULL},
     33,
     40,
     50,
     25},
    {"gemm:96x64x128",
     "dot-4x4",
     {"tile.formats.a=fp8_e4m3", "tile.formats.b=fp8_e4m3", "tile.outliers=0.03",
      "tile.rates.fp8_e4m3=2", "tile.promote=64", "llb.size=0", NULL},
     96,
     64,
     128,
     4},
};

/* Each outlier is a burst of memory of its own and an element of the vector unit's; weights
 * are read by rows; the sum is read once more. */
static void gathers_and_the_second_product_take_their_time(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(costs); i++) {
    struct ran r;
    const double m = costs[i].m, n = costs[i].n, k = costs[i].k, c = costs[i].columns;
    ran_make(&r, costs[i].arch, costs[i].workload, costs[i].sets, TSR_NUMERICS_FULL);
    assert_true(ran_number(&r, "SELECT count(*) FROM v_layers WHERE run = 1") == 4);
    double x = ran_number(&r, "SELECT dram_read_bytes FROM v_layers WHERE name LIKE '%.x'");
    double w = ran_number(&r, "SELECT dram_read_bytes FROM v_layers WHERE name LIKE '%.w'");
    double macs = ran_number(&r, "SELECT sum(macs) FROM v_layers");
    /* neighbours in a list may share a burst */
    if (x < 0.95 * 64 * m * c || x > 64 * m * c + 64 * 64 || w < c * n ||
        w > 64 * c * (n / 64 + 2) + 4096)
      fail_msg("%s: %.0f bytes of activations, %.0f of weights", costs[i].workload, x, w);
    assert_true(macs == m * n * (k + c));
    double busy =
        ran_number(&r, "SELECT sum(cycles) FROM v_units WHERE unit LIKE '%vector' AND "
                       "state = 'busy' AND layer < 2");
    if (busy < (m + n) * c / 128)
      fail_msg("%s: the gathers take %.0f cycles of the vector unit", costs[i].workload, busy);
    ran_fini(&r);
  }
}

/* Layers of several formats at work at once are drawn and compared each in its own. */
static void values_hold_beside_each_other(void **state) {
  (void)state;
  static const struct {
    const char *arch, *workload, *sets[8];
  } rows[] = {
      {"mesh-16", "gemm:64x64x256@0-7 + gemm:64x64x256@8-15", {INT8, "tile.outliers=0.01"}},
      {"dot-4x4",
       "transformer-block",
       {INT8, "tile.outliers=0.01", "tile.formats.outlier=bf16"}}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct ran r;
    ran_make(&r, rows[i].arch, rows[i].workload, rows[i].sets, TSR_NUMERICS_FULL);
    assert_true(ran_number(&r, "SELECT sum(checked_elems) FROM v_numeric WHERE seq = 0") > 0);
    ran_fini(&r);
  }
}

static void results_of_integers_are_refused(void **state) {
  (void)state;
  static const char *const sets[] = {"tile.formats.a=int8",    "tile.formats.b=int8",
                                     "tile.formats.acc=int32", "tile.formats.out=int8",
                                     "tile.outliers=0.01",     NULL};
  static const char *const odd[] = {INT8, "tile.outliers=0.01", "tile.formats.outlier=e9m99",
                                    NULL};
  static const char *const whole[] = {INT8, "tile.outliers=0.01", "tile.formats.outlier=int16",
                                      NULL};
  static const struct {
    const char *const *sets, *expected;
  } rows[] = {{sets, "expected a floating-point format"},
              {odd, "e9m99"},
              {whole, "tile.formats.outlier is int16"}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct ran r;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_not_equal(
        ran_try(&r, "systolic-32", "gemm:64x64x64", rows[i].sets, TSR_NUMERICS_OFF, &err),
        TSR_OK);
    assert_true(err.n > 0);
    if (!strstr(err.msg[0], rows[i].expected)) fail_msg("%s", err.msg[0]);
    tsr_err_fini(&err);
    ran_fini(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_matmul_becomes_four_operators),
      cmocka_unit_test(what_needs_no_outliers_stays_as_it_is),
      cmocka_unit_test(gathers_and_the_second_product_take_their_time),
      cmocka_unit_test(values_hold_beside_each_other),
      cmocka_unit_test(results_of_integers_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
