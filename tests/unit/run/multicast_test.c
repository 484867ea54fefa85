/* Operands that all cores of a layer need, brought by one load. */
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

/* What is read is exact where rows of tensors are whole bursts. */
static const struct {
  const char *workload, *split;
  uint64_t cores, a, b; /* bytes of the operands */
  bool shares_a, shares_b;
} rows[] = {
    {"gemm:256x256x256", "n", 4, 256 * 256 * 2, 256 * 256 * 2, true, false},
    {"gemm:256x256x256", "m", 4, 256 * 256 * 2, 256 * 256 * 2, false, true},
    {"gemm:256x320x256", "n", 4, 256 * 256 * 2, 256 * 320 * 2, true, false}, /* a short last */
    {"gemm:64x512x512", "n", 16, 64 * 512 * 2, 512 * 512 * 2, true, false},
    {"gemm:32x32x32", "n", 1, 32 * 32 * 2, 32 * 32 * 2, false, false},
};
static const char *const kinds[] = {"crossbar", "mesh"};

struct figures {
  double cycles, read, written;
};

static struct figures figures_of(const char *workload, const char *split, uint64_t cores,
                                 const char *kind, bool multicast) {
  char texts[4][40];
  snprintf(texts[0], sizeof texts[0], "split=%s", split);
  snprintf(texts[1], sizeof texts[1], "cores=%d", (int)cores);
  snprintf(texts[2], sizeof texts[2], "noc.kind=%s", kind);
  snprintf(texts[3], sizeof texts[3], "noc.multicast=%s", multicast ? "true" : "false");
  const char *sets[] = {texts[0],           texts[1],           texts[2],           texts[3],
                        "sram.a.size=2MiB", "sram.b.size=2MiB", "sram.c.size=2MiB", NULL};
  struct ran r;
  ran_make(&r, "systolic-32", workload, sets, TSR_NUMERICS_FULL);
  struct figures f = {ran_number(&r, "SELECT cycles FROM v_layers WHERE run = 1"),
                      ran_number(&r, "SELECT dram_read_bytes FROM v_layers WHERE run = 1"),
                      ran_number(&r, "SELECT dram_write_bytes FROM v_layers WHERE run = 1")};
  ran_fini(&r);
  return f;
}

/* Each core's share fits its scratchpads, so what is not shared is read once by each. */
static void what_all_need_is_read_once(void **state) {
  (void)state;
  for (size_t k = 0; k < LEN(kinds); k++)
    for (size_t i = 0; i < LEN(rows); i++) {
      double a = (double)rows[i].a, b = (double)rows[i].b, n = (double)rows[i].cores;
      struct figures one =
          figures_of(rows[i].workload, rows[i].split, rows[i].cores, kinds[k], true);
      struct figures each =
          figures_of(rows[i].workload, rows[i].split, rows[i].cores, kinds[k], false);
      double saved =
          (rows[i].shares_a ? a * (n - 1) : 0) + (rows[i].shares_b ? b * (n - 1) : 0);
      if (each.read - one.read != saved || one.read != a + b)
        fail_msg("%s by %s on %s: %.0f bytes read, %.0f without multicast", rows[i].workload,
                 rows[i].split, kinds[k], one.read, each.read);
      assert_true(one.written == each.written);
      assert_true(saved > 0 ? one.cycles < each.cycles : one.cycles == each.cycles);
    }
}

/* Without an interconnect there is nothing that could bring bytes to all. */
static void without_an_interconnect_each_core_reads_its_own(void **state) {
  (void)state;
  struct figures on = figures_of("gemm:256x256x256", "n", 4, "none", true);
  assert_true(on.read == 5 * 256 * 256 * 2);
}

/* Convolutions share filters where images or rows are divided, input where n is. */
static void convolutions_share_operands(void **state) {
  (void)state;
  static const struct {
    const char *workload, *split;
  } convs[] = {{"op:conv:in_c=32,hw=16,out_c=64,window=3,pad=1", "m"},
               {"op:conv:in_c=32,hw=16,out_c=128,window=3,pad=1", "n"},
               {"op:conv:in_c=32,hw=16,out_c=64,window=3,pad=1,batch=4", "batch"},
               {"op:conv:in_c=32,hw=15,out_c=96,window=3,stride=2,pad=1", "m"}};
  for (size_t i = 0; i < LEN(convs); i++) {
    struct figures one = figures_of(convs[i].workload, convs[i].split, 4, "crossbar", true);
    struct figures each = figures_of(convs[i].workload, convs[i].split, 4, "crossbar", false);
    assert_true(one.read < each.read);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_all_need_is_read_once),
      cmocka_unit_test(without_an_interconnect_each_core_reads_its_own),
      cmocka_unit_test(convolutions_share_operands),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
