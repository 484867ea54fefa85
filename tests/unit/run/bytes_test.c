/* Layers that run side by side: the DRAM's bytes are told apart by the cores that caused
 * them, and together they are all that passed its channels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sim/base/mem.h"
#include "tests/unit/run/ran.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static const char a[] = "gemm:128x192x256,64x64x512,96x128x320";
static const char b[] = "gemm:512x64x64,40x1000x30";

static const struct {
  const char *sets[6];
  bool alone; /* no last-level buffer: a workload's bytes do not depend on the other's */
} rows[] = {
    {{"cores=4"}, true},
    {{"cores=4", "noc.kind=crossbar"}, true},
    {{"cores=4", "llb.size=64KiB"}, false},
    {{"cores=4", "llb.size=1MiB"}, false},
    {{"cores=4", "llb.size=64KiB", "noc.kind=mesh"}, false},
};

static const char layers_sql[] =
    "SELECT sum(dram_read_bytes + dram_write_bytes) FROM v_layers WHERE run = 1";
static const char channels_sql[] =
    "SELECT sum(bytes) FROM v_resources WHERE run = 1 AND instance = 'dram'";

static double alone(const char *workload, const char *cores, const char *const *sets) {
  char text[128];
  snprintf(text, sizeof text, "%s%s", workload, cores);
  struct ran r;
  ran_make(&r, "systolic-32", text, sets, TSR_NUMERICS_OFF);
  double bytes = ran_number(&r, layers_sql);
  ran_fini(&r);
  return bytes;
}

static void bytes_are_those_of_the_jobs_own_cores(void **state) {
  (void)state;
  char both[256];
  snprintf(both, sizeof both, "%s@0-1 + %s@2-3", a, b);
  for (size_t i = 0; i < LEN(rows); i++) {
    struct ran r;
    ran_make(&r, "systolic-32", both, rows[i].sets, TSR_NUMERICS_OFF);
    double overlap = ran_number(&r, "SELECT overlap_cycles FROM v_runs WHERE run = 1");
    double first =
        ran_number(&r, "SELECT sum(dram_read_bytes + dram_write_bytes) FROM v_layers "
                       "WHERE run = 1 AND layer < 3");
    double all = ran_number(&r, layers_sql), passed = ran_number(&r, channels_sql);
    assert_true(overlap > 0); /* they were at work together */
    if (all != passed)
      fail_msg("row %zu: %.0f bytes of layers, %.0f of channels", i, all, passed);
    if (rows[i].alone) {
      assert_true(first == alone(a, "@0-1", rows[i].sets));
      assert_true(all - first == alone(b, "@2-3", rows[i].sets));
    }
    ran_fini(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_are_those_of_the_jobs_own_cores)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
