/* Programs by hand whose units, or cores, wait for each other: what the message says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/run/plans.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

/* One tile of fp16 at 0 that any core may load and store. */
#define TILE                                                        \
  "format f0, \"fp16\"\n"                                           \
  "tensor t0, f0, elem=2, base=0\n"                                 \
  "dim t0, i=0, size=8, stride=16\ndim t0, i=1, size=8, stride=2\n" \
  "box t0, i=0, extent=8\nbox t0, i=1, extent=8\n"                  \
  "place p0, a, f0, elem=2, base=0, wrap=128\n"

struct row {
  const char *label, *text;
  const char *says[8]; /* each after the one before */
};
static const struct row rows[] = {
    {"two units of a core wait for each other",
     TILE "wait load, s0, start\nload t0, p0\nsignal load, s1, done\n"
          "wait store, s1, start\nstore t0, p0\nsignal store, s0, done\nhalt\n",
     {"deadlock in layer 'hand' at cycle 0", "core0.dma.load", "waits for s0 since cycle 0",
      "queue ", "core0.dma.store", "waits for s1 since cycle 0"}},
    {"the second time alone",
     TILE "sem s0, 1\nloop l0, 2\nwait load, s0, start\nload t0, p0\nsignal load, s1, done\n"
          "end l0\nwait store, s1, start, n=2\nstore t0, p0\nhalt\n",
     {"deadlock in layer 'hand' at cycle ", "core0.dma.load", "waits for s0 since cycle ",
      "core0.dma.store", "waits for 2 of s1 (it holds 1) since cycle 0"}},
    {"a barrier that the other core does not come to",
     ".core 0\n" TILE "load t0, p0\nbarrier load\nload t0, p0\nhalt\n"
     ".core 1\n" TILE "load t0, p0\nhalt\n",
     {"deadlock in layer 'hand' at cycle ", "core0.dma.load",
      "waits at a barrier since cycle "}},
    {"barriers of different units",
     ".core 0\n" TILE "barrier load\nload t0, p0\nhalt\n"
     ".core 1\n" TILE "barrier store\nload t0, p0\nhalt\n",
     {"deadlock in layer 'hand' at cycle ", "core0.dma.load",
      "waits at a barrier since cycle 0", "core1.dma.store",
      "waits at a barrier since cycle 0"}},
    {"a signal that only the first core gets",
     ".core 0-1\n" TILE "load t0, p0\nsignal load, s7, done, first\n"
     "wait load, s7, start, n=1\nload t0, p0\nhalt\n",
     {"deadlock in layer 'hand' at cycle ", "core1.dma.load", "waits for s7 since cycle "}},
    {"cores in a ring",
     ".core 0\n" TILE "wait load, s3, start\nload t0, p0\nsignal load, s3, done, all\nhalt\n"
     ".core 1\n" TILE "wait load, s3, start\nload t0, p0\nsignal load, s3, done, first\nhalt\n",
     {"deadlock in layer 'hand' at cycle 0", "core0.dma.load", "waits for s3 since cycle 0",
      "core1.dma.load", "waits for s3 since cycle 0"}},
};

static enum tsr_status run_text(const char *text, struct layer *x, struct tsr_err *err) {
  static const char *const sets[] = {"cores=2"};
  struct tsr_machine *m;
  struct tsr_engine *e;
  struct tsr_program_set set = {0};
  if (tsr_isa_set_assemble("hand.s", text, strlen(text), &set, err))
    fail_msg("%s", err->msg[0]);
  assert_int_equal(tsr_machine_read("systolic-32", NULL, sets, 1, &m, err), TSR_OK);
  assert_int_equal(tsr_engine_create(m, NULL, &e, err), TSR_OK);
  enum tsr_status st = layer_run_set(e, &set, "hand", x, err);
  tsr_engine_destroy(e);
  tsr_machine_destroy(m);
  tsr_isa_set_fini(&set);
  return st;
}

static void a_deadlock_names_units_of_all_cores(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(rows); i++) {
    struct layer x;
    struct tsr_err err = TSR_ERR_INIT;
    enum tsr_status st = run_text(rows[i].text, &x, &err);
    if (st != TSR_SIM || err.n != 1) fail_msg("%s: status %d", rows[i].label, (int)st);
    const char *at = err.msg[0];
    for (size_t w = 0; w < 8 && rows[i].says[w]; w++) {
      const char *found = strstr(at, rows[i].says[w]);
      if (!found) fail_msg("%s: no '%s' in\n%s", rows[i].label, rows[i].says[w], err.msg[0]);
      at = found + strlen(rows[i].says[w]);
    }
    tsr_err_fini(&err);
  }
}

/* The same programs with what they lack end. */
static void without_the_mistake_they_end(void **state) {
  (void)state;
  static const char *const texts[] = {
      TILE "sem s0, 1\nwait load, s0, start\nload t0, p0\nsignal load, s1, done\n"
           "wait store, s1, start\nstore t0, p0\nsignal store, s0, done\nhalt\n",
      TILE "sem s0, 2\nloop l0, 2\nwait load, s0, start\nload t0, p0\nsignal load, s1, done\n"
           "end l0\nwait store, s1, start, n=2\nstore t0, p0\nhalt\n",
      ".core 0\n" TILE "load t0, p0\nbarrier load\nload t0, p0\nhalt\n"
      ".core 1\n" TILE "load t0, p0\nbarrier load\nhalt\n",
      ".core 0-1\n" TILE "load t0, p0\nsignal load, s7, done, all\n"
      "wait load, s7, start, n=2\nload t0, p0\nhalt\n",
      ".core 0\n" TILE "load t0, p0\nsignal load, s3, done, all\nhalt\n"
      ".core 1\n" TILE
      "wait load, s3, start\nload t0, p0\nsignal load, s3, done, first\nhalt\n",
  };
  for (size_t i = 0; i < LEN(texts); i++) {
    struct layer x;
    struct tsr_err err = TSR_ERR_INIT;
    if (run_text(texts[i], &x, &err)) fail_msg("%zu: %s", i, err.n ? err.msg[0] : "no message");
    assert_true(x.r.transfers >= 2);
    tsr_err_fini(&err);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_deadlock_names_units_of_all_cores),
                                     cmocka_unit_test(without_the_mistake_they_end)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
