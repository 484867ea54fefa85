/* Steps of the vector unit behind a product, on its results before they are stored: values
 * bit for bit against the operator's product and whole matrices, work and bytes counted. */
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

static const char *const workloads[] = {
    "op:linear:m=70,n=50,k=300,epilogue=bias",
    "op:linear:m=70,n=50,k=300,epilogue=relu",
    "op:linear:m=70,n=50,k=300,epilogue=bias+gelu+residual",
    "op:linear:m=70,n=50,k=300,epilogue=batchnorm+silu",
    "op:linear:m=70,n=50,k=300,epilogue=mul:col+add:scalar+max:row",
    "op:linear:m=70,n=50,k=300,epilogue=leaky_relu(0.2)+affine(0.5,-1)",
    "op:linear:m=70,n=50,k=300,epilogue=bias+clip(0,6)+selu",
    "op:linear:m=70,n=50,k=300,epilogue=celu(0.5)+elu(2)+softplus+sin",
    "op:linear:m=70,n=50,k=300,epilogue=prelu:row+less:scalar",
    "op:linear:m=70,n=50,k=300,epilogue=round+mod:row+clip(-inf,3)+not",
    "op:conv:in_c=20,hw=9,out_c=12,window=3,pad=1,epilogue=bias+leaky_relu(0.1)+clip(-1)",
    "op:attn_qk:m=40,n=50,k=64,count=3,epilogue=mul:scalar",
    "op:attn_qk:m=40,n=50,k=64,count=3,epilogue=bias+residual+add:col",
    "op:conv:in_c=20,hw=9,out_c=12,window=3,pad=1,epilogue=batchnorm+relu",
    "op:conv:in_c=20,hw=9,out_c=12,window=3,pad=1,epilogue=add:col+residual+mul:scalar",
    "op:conv:in_c=12,hw=10,out_c=8,window=3,pad=1,groups=2,epilogue=bias+residual+relu",
    "op:dwconv:in_c=12,hw=10,out_c=12,window=3,pad=1,groups=12,epilogue=bias+relu",
};

static void steps_equal_those_on_whole_matrices(void **state) {
  (void)state;
  static const char *const sets[][6] = {
      {NULL},
      {"cores=4"},
      {"cores=3", "split=n", "noc.kind=crossbar"},
      {"epilogue=separate"},
      {"epilogue=separate", "cores=3", "tile.promote=64"},
      {"cores=4", "split=k"}, /* steps want whole sums: not divided so */
      {"tile.promote=32", "tile.dataflow=os"},
      {"tile.formats.acc=fp16"},
      {"sram.a.size=8KiB", "sram.b.size=8KiB", "sram.c.size=16KiB"},
  };
  for (size_t w = 0; w < LEN(workloads); w++)
    for (size_t i = 0; i < LEN(sets); i++) {
      struct ran r;
      ran_make(&r, "systolic-32", workloads[w], sets[i], TSR_NUMERICS_FULL);
      ran_fini(&r);
    }
}

static void integers_are_quantised_and_dequantised(void **state) {
  (void)state;
  static const struct {
    const char *workload, *out, *more;
  } rows[] = {
      {"op:linear:m=70,n=50,k=300,epilogue=bias+requantise:row", "tile.formats.out=int8", NULL},
      {"op:linear:m=70,n=50,k=300,epilogue=bias+requantise:scalar+relu",
       "tile.formats.out=int8", NULL},
      {"op:linear:m=70,n=50,k=300,epilogue=bias+requantise(-3):row", "tile.formats.out=int8",
       NULL},
      {"op:linear:m=70,n=50,k=300,epilogue=dequantise(7):row+clip(0,6)+quantise(128)",
       "tile.formats.out=uint8", NULL},
      {"op:linear:m=70,n=50,k=300,epilogue=bias+residual", "tile.formats.out=int8", NULL},
      {"op:linear:m=70,n=50,k=300,epilogue=dequantise:row+bias+gelu", "tile.formats.out=fp16",
       NULL},
      {"op:linear:m=70,n=50,k=300,epilogue=bias+silu", "tile.formats.out=fp16",
       "tile.group=64"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    const char *const sets[] = {
        "tile.formats.a=int8", "tile.formats.b=int8", "tile.formats.acc=int32",
        rows[i].out,           rows[i].more,          NULL};
    struct ran r;
    ran_make(&r, "systolic-32", rows[i].workload, sets, TSR_NUMERICS_FULL);
    ran_fini(&r);
  }
}

/* Each step passes each result once; a row comes once for all of m, another's result once. */
static void steps_cost_their_elements_and_operands(void **state) {
  (void)state;
  static const struct {
    const char *epilogue;
    double passes, bytes;
  } rows[] = {
      {"relu", 1, 0},
      {"bias", 1, 256 * 4},
      {"batchnorm", 2, 2 * 256 * 4},
      {"residual", 1, 128 * 256 * 2},
      {"bias+gelu+residual", 1 + 4 + 1, 256 * 4 + 128 * 256 * 2}, /* gelu takes 4 cycles */
  };
  static const char *const sets[] = {NULL};
  const char read_sql[] = "SELECT dram_read_bytes FROM v_layers WHERE run = 1";
  struct ran r;
  ran_make(&r, "systolic-128", "op:linear:m=128,n=256,k=256", sets, TSR_NUMERICS_OFF);
  double plain = ran_number(&r, read_sql);
  double wrote = ran_number(&r, "SELECT dram_write_bytes FROM v_layers WHERE run = 1");
  ran_fini(&r);
  for (size_t i = 0; i < LEN(rows); i++) {
    char text[128];
    snprintf(text, sizeof text, "op:linear:m=128,n=256,k=256,epilogue=%s", rows[i].epilogue);
    ran_make(&r, "systolic-128", text, sets, TSR_NUMERICS_OFF);
    double read = ran_number(&r, read_sql);
    double busy = ran_number(&r, "SELECT sum(cycles) FROM v_units WHERE run = 1 AND "
                                 "unit = 'core0.vector' AND state = 'busy'");
    if (read - plain != rows[i].bytes || busy != rows[i].passes * 128 * 256 / 128)
      fail_msg("%s: %.0f bytes more, %.0f cycles", rows[i].epilogue, read - plain, busy);
    assert_true(ran_number(&r, "SELECT dram_write_bytes FROM v_layers WHERE run = 1") == wrote);
    ran_fini(&r);
  }
}

/* A pass of its own stores sums and loads them again: in fp32 twice 4 bytes a result. */
static void a_separate_epilogue_costs_a_way_to_memory_and_back(void **state) {
  (void)state;
  static const char *const sets[][2] = {{"epilogue=fused"}, {"epilogue=separate"}};
  static const char *const columns[] = {"dram_read_bytes", "dram_write_bytes", "cycles"};
  double is[2][3];
  for (int i = 0; i < 2; i++) {
    struct ran r;
    ran_make(&r, "systolic-128", "op:linear:m=128,n=256,k=256,epilogue=bias+gelu+residual",
             sets[i], TSR_NUMERICS_FULL);
    for (int c = 0; c < 3; c++) {
      char sql[80];
      snprintf(sql, sizeof sql, "SELECT %s FROM v_layers WHERE run = 1", columns[c]);
      is[i][c] = ran_number(&r, sql);
    }
    ran_fini(&r);
  }
  assert_true(is[1][0] - is[0][0] == 128 * 256 * 4);
  assert_true(is[1][1] - is[0][1] == 128 * 256 * 4);
  assert_true(is[1][2] > is[0][2]);
}

/* The vector unit of a separate epilogue waits for what came back, not for what the loops
 * before it have left to a store that lags behind. */
static void a_separate_epilogue_waits_for_its_own_sums(void **state) {
  (void)state;
  static const char *const archs[] = {"dot-4x4", "mesh-16", "systolic-32"};
  static const char *const sets[] = {"epilogue=separate", NULL};
  static const char *const shapes[] = {"m=32,n=300,k=64", "m=257,n=128,k=16",
                                       "m=200,n=300,k=64"};
  for (size_t a = 0; a < LEN(archs); a++)
    for (size_t i = 0; i < LEN(shapes); i++) {
      char text[64];
      struct ran r;
      snprintf(text, sizeof text, "op:linear:%s,epilogue=relu", shapes[i]);
      ran_make(&r, archs[a], text, sets, TSR_NUMERICS_FULL);
      ran_fini(&r);
    }
}

/* Results of os are written by the last of several requests: the others, which meet the store
 * of the tile before, are none of its business. */
static void one_buffer_of_results_serves_os(void **state) {
  (void)state;
  static const char *const sets[] = {
      "tile.dataflow=os", "sram.c.buffers=1", "sram.a.size=4KiB",       "sram.b.size=64KiB",
      "sram.c.size=4KiB", "dram.latency=0ns", "dram.bandwidth=600GB/s", NULL};
  struct ran r;
  ran_make(&r, "systolic-32", "gemm:200x64x128", sets, TSR_NUMERICS_FULL);
  ran_fini(&r);
}

static void what_is_not_lowered_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *workload, *set, *says;
  } bad[] = {
      {"op:conv:in_c=12,hw=10,out_c=8,window=3,pad=1,groups=2,epilogue=mul:scalar", "cores=1",
       "groups"},
      {"op:linear:m=8,n=8,k=8,epilogue=batchnorm+batchnorm+batchnorm+batchnorm", "cores=1",
       "at most 6"},
  };
  for (size_t i = 0; i < LEN(bad); i++) {
    const char *const sets[] = {bad[i].set, NULL};
    struct ran r;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(ran_try(&r, "systolic-32", bad[i].workload, sets, TSR_NUMERICS_OFF, &err),
                     TSR_INPUT);
    assert_non_null(strstr(err.msg[0], bad[i].says));
    tsr_err_fini(&err);
    ran_fini(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_equal_those_on_whole_matrices),
      cmocka_unit_test(integers_are_quantised_and_dequantised),
      cmocka_unit_test(steps_cost_their_elements_and_operands),
      cmocka_unit_test(a_separate_epilogue_costs_a_way_to_memory_and_back),
      cmocka_unit_test(a_separate_epilogue_waits_for_its_own_sums),
      cmocka_unit_test(one_buffer_of_results_serves_os),
      cmocka_unit_test(what_is_not_lowered_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
