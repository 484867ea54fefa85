/* Shapes and machines at the edges: they run and do exactly their work, or are
 * refused before anything is simulated. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/cli/tool.h"

enum { SETS = 8 };

struct machine {
  const char *label, *set[SETS];
  uint64_t elements;
};
#define IDEAL                                                             \
  "dram.bandwidth=unlimited", "dram.latency=0", "sram.a.width=unlimited", \
      "sram.b.width=unlimited", "sram.c.width=unlimited"
static const struct machine machines[] = {
    {"as it is", {NULL}, 1024},
    {"one element", {"tile.rows=1", "tile.cols=1"}, 1},
    {"one row", {"tile.rows=1", "tile.cols=7"}, 7},
    {"one column", {"tile.rows=13", "tile.cols=1"}, 13},
    {"outputs stay", {"tile.dataflow=os"}, 1024},
    {"outputs stay, drained one by one", {"tile.dataflow=os", "tile.drain=serial"}, 1024},
    {"inputs stay", {"tile.dataflow=is"}, 1024},
    {"no preload", {"tile.weight_preload=false"}, 1024},
    {"one element, outputs stay", {"tile.rows=1", "tile.cols=1", "tile.dataflow=os"}, 1},
    {"small buffers", {"sram.a.size=4KiB", "sram.b.size=4KiB", "sram.c.size=4KiB"}, 1024},
    {"single buffers", {"sram.a.buffers=1", "sram.b.buffers=1", "sram.c.buffers=1"}, 1024},
    {"narrow ports",
     {"sram.a.width=1B", "sram.b.width=1B", "sram.c.width=1B", "sram.a.banks=1"},
     1024},
    {"one burst at a time", {"dma.outstanding=1", "dma.burst=32B"}, 1024},
    {"bursts of a byte", {"dma.burst=1B"}, 1024},
    {"many channels", {"dram.channels=256"}, 1024},
    {"ideal memory", {IDEAL}, 1024},
};

struct shape {
  const char *workload;
  uint64_t macs;
};
static const struct shape shapes[] = {
    {"gemm:1x1x1", 1},
    {"gemm:1x1x97", 97},
    {"gemm:97x1x1", 97},
    {"gemm:1x97x1", 97},
    {"gemm:64x64x1", 64 * 64},
    {"gemm:31x31x31", 31 * 31 * 31},
    {"gemm:33x33x33", 33 * 33 * 33},
    {"gemm:127x131x137", 127 * 131 * 137},
    {"gemm:2x3x5,7x11x13,17x19x23", 2 * 3 * 5 + 7 * 11 * 13 + 17 * 19 * 23},
};

#define GEO                                                                                \
  "model,layer,op,M,N,K,count,notes,batch,in_c,in_h,in_w,out_c,k_h,k_w,stride_h,stride_w," \
  "pad_t,pad_l,pad_b,pad_r,dil_h,dil_w,groups\n"
struct conv {
  const char *label, *row;
  uint64_t macs;
};
static const struct conv convs[] = {
    {"stride over filter", "m,a,conv,9,5,12,1,,1,3,10,10,5,2,2,4,4,0,0,0,0,1,1,1\n",
     9 * 5 * 12},
    {"one tap, stride 7", "m,a,conv,9,4,2,1,,1,2,15,15,4,1,1,7,7,0,0,0,0,1,1,1\n", 9 * 4 * 2},
    {"dilated", "m,a,conv,9,4,18,1,,1,2,9,9,4,3,3,1,1,0,0,0,0,3,3,1\n", 9 * 4 * 18},
    {"more padding than input", "m,a,conv,25,3,2,1,,1,2,1,1,3,1,1,1,1,2,2,2,2,1,1,1\n",
     25 * 3 * 2},
    {"padded on one side", "m,a,conv,20,3,18,1,,1,2,5,4,3,3,3,1,1,1,2,1,0,1,1,1\n",
     20 * 3 * 18},
    {"groups", "m,a,conv,16,2,18,3,,1,6,6,6,6,3,3,1,1,0,0,0,0,1,1,3\n", 16 * 2 * 18 * 3},
    {"depthwise", "m,a,dwconv,16,1,9,5,,1,5,6,6,5,3,3,1,1,0,0,0,0,1,1,5\n", 16 * 9 * 5},
    {"a filter as large as its input", "m,a,conv,1,7,75,1,,1,3,5,5,7,5,5,1,1,0,0,0,0,1,1,1\n",
     7 * 75},
    {"oblong", "m,a,conv,36,4,14,1,,1,2,3,18,4,1,7,1,1,0,0,0,0,1,1,1\n", 36 * 4 * 14},
    {"a batch", "m,a,conv,18,4,18,1,,2,2,5,5,4,3,3,1,1,0,0,0,0,1,1,1\n", 18 * 4 * 18},
};

static const char **arguments(const char *workload, const struct machine *m,
                              const char **args) {
  size_t n = 0;
  const char *const head[] = {"run", "--json", "--arch", "systolic-32", "--workload", workload};
  for (; n < sizeof head / sizeof head[0]; n++) args[n] = head[n];
  for (int i = 0; i < SETS && m->set[i]; i++) {
    args[n++] = "--set";
    args[n++] = m->set[i];
  }
  args[n] = NULL;
  return args;
}

static void expect_work(const char *workload, const struct machine *m, uint64_t macs) {
  const char *args[2 * SETS + 8];
  struct tool_result r;
  tool_run(&r, arguments(workload, m, args));
  if (r.rc) fail_msg("%s, %s: exit %d\n%s", workload, m->label, r.rc, r.err);
  json_t *run = json_loadb(r.out, r.out_n, 0, NULL), *t = json_object_get(run, "totals");
  assert_non_null(t);
  uint64_t done = (uint64_t)json_integer_value(json_object_get(t, "executed_macs"));
  uint64_t cycles = (uint64_t)json_integer_value(json_object_get(t, "cycles"));
  double used = json_number_value(json_object_get(t, "utilization"));
  if (done != macs || cycles * m->elements < macs || !(used > 0 && used <= 1))
    fail_msg("%s, %s: %" PRIu64 " of %" PRIu64 " macs in %" PRIu64 " cycles", workload,
             m->label, done, macs, cycles);
  json_decref(run);
  tool_result_fini(&r);
}

static void every_shape_runs_on_every_machine(void **state) {
  (void)state;
  for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
      expect_work(shapes[s].workload, &machines[m], shapes[s].macs);
  TOOL_EXPECT(0, "db", "check");
}

static void every_convolution_runs_on_every_machine(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof convs / sizeof convs[0]; c++) {
    char text[512];
    snprintf(text, sizeof text, "%s%s", GEO, convs[c].row);
    tool_write("net.csv", text, strlen(text));
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++)
      expect_work("net.csv", &machines[m], convs[c].macs);
  }
  TOOL_EXPECT(0, "db", "check");
}

/* ---- what is refused ---- */

struct refusal {
  const char *workload, *set[2];
  int rc;
  const char *says;
};
static const struct refusal refusals[] = {
    {"gemm:100000x100000x100000",
     {"dram.capacity=unlimited", "sim.fast_forward=false"},
     4,
     "sim.max_events is 1000000000"},
    {"gemm:1000000x1000000x1000000", {"dram.capacity=unlimited"}, 4, "would end past 2^64 fs"},
    {"gemm:100000x100000x100000", {"name=big"}, 3, "does not fit dram.capacity"},
    {"gemm:4096x4096x4096", {"clock=1kHz"}, 4, "would end past 2^64 fs"},
    {"gemm:512x512x512", {"sim.max_cycles=100"}, 4, "passes sim.max_cycles = 100"},
    {"gemm:512x512x512", {"sim.max_events=10"}, 4, "passes sim.max_events = 10"},
    {"gemm:2642245x2642245x2642245", {"dram.capacity=unlimited"}, 3, "pass 2^63"},
    {"gemm:1x1x9223372036854775807", {"dram.capacity=unlimited"}, 3, "pass 2^56 bytes"},
    {"gemm:512x512x512", {"sram.a.size=16B", "sram.a.buffers=16"}, 3, "does not fit"},
};

/* As large as the end of time allows, by what repeats itself. */
static void what_repeats_itself_is_never_too_much(void **state) {
  (void)state;
  const struct machine m = {"", {"dram.capacity=unlimited", NULL}, 0};
  const char *args[2 * SETS + 8];
  struct tool_result r;
  tool_run(&r, arguments("gemm:100000x100000x100000", &m, args));
  if (r.rc || !strstr(r.out, "\"macs\": 1000000000000000") ||
      strstr(r.out, "\"fast_forwarded\": 0"))
    fail_msg("exit %d\n%s%s", r.rc, r.out, r.err);
  tool_result_fini(&r);
}

static void what_is_too_large_is_refused_at_once(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    const struct refusal *f = &refusals[i];
    struct machine m = {"", {f->set[0], f->set[1]}, 0};
    const char *args[2 * SETS + 8];
    struct tool_result r;
    tool_run(&r, arguments(f->workload, &m, args));
    if (r.rc != f->rc || r.out_n || !strstr(r.err, f->says))
      fail_msg("%s, %s: exit %d, expected %d with '%s'\n%s", f->workload, f->set[0], r.rc,
               f->rc, f->says, r.err);
    if (r.wall_s >= 1) fail_msg("%s was refused after %.1f s", f->workload, r.wall_s);
    tool_result_fini(&r);
  }
  assert_int_equal(tool_runs("tessera.db"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_shape_runs_on_every_machine, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(every_convolution_runs_on_every_machine, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(what_repeats_itself_is_never_too_much, tool_enter,
                                      tool_leave),
      cmocka_unit_test_setup_teardown(what_is_too_large_is_refused_at_once, tool_enter,
                                      tool_leave)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
