/* Programs that wait for ever: the message names who waits for what, since when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/log.h"
#include "tests/unit/run/plans.h"

/* The nth instruction of a kind for a unit gets another semaphore, or goes. */
enum { REMOVE = -1 };
struct mutation {
  const char *label;
  enum tsr_isa_op op;
  int unit, sem;        /* of the instruction that is changed */
  int to;               /* its semaphore after */
  const char *waits[2]; /* who waits for what */
};

/* Lowered programs: s0-s2 free slots of a, b, c; s3-s5 full ones. */
static const struct mutation mutations[] = {
    {"b's load tells a instead",
     TSR_ISA_SIGNAL,
     TSR_UNIT_LOAD,
     4,
     3,
     {"core0.tile0", "waits for s4 since cycle "}},
    {"a's load tells nobody",
     TSR_ISA_SIGNAL,
     TSR_UNIT_LOAD,
     3,
     REMOVE,
     {"core0.tile0", "waits for s3 since cycle "}},
    {"the tile keeps a's slots",
     TSR_ISA_SIGNAL,
     TSR_UNIT_TILE,
     0,
     REMOVE,
     {"core0.dma.load", "waits for s0 since cycle "}},
    {"the tile keeps its result",
     TSR_ISA_SIGNAL,
     TSR_UNIT_TILE,
     5,
     REMOVE,
     {"core0.dma.store", "waits for s5 since cycle "}},
    {"the store keeps c's slots",
     TSR_ISA_SIGNAL,
     TSR_UNIT_STORE,
     2,
     REMOVE,
     {"core0.tile0", " for s2"}}, /* a finished result, not the queue, waits */
    {"the store waits for b",
     TSR_ISA_WAIT,
     TSR_UNIT_STORE,
     5,
     9,
     {"core0.dma.store", "waits for s9 since cycle "}},
    {"two wait for each other: the load for a result",
     TSR_ISA_WAIT,
     TSR_UNIT_LOAD,
     0,
     5,
     {"core0.dma.load", "waits for s5 since cycle 0"}},
};

static void mutate(struct tsr_program *p, const struct mutation *m) {
  size_t kept = 0, changed = 0;
  for (size_t i = 0; i < p->n; i++) {
    struct tsr_inst in = p->inst[i];
    if (in.op == m->op && in.f[0] == m->unit && in.f[1] == m->sem) {
      changed++;
      if (m->to == REMOVE) continue;
      in.f[1] = m->to;
    }
    p->inst[kept++] = in;
  }
  p->n = kept;
  assert_true(changed > 0);
}

static void a_deadlock_names_who_waits_for_what_since_when(void **state) {
  (void)state;
  /* Many tiles, so that each slot is wanted again. */
  static const char *const sets[] = {"sram.a.size=4KiB", "sram.b.size=4KiB", "sram.c.size=8KiB",
                                     NULL};
  for (size_t i = 0; i < sizeof mutations / sizeof mutations[0]; i++) {
    const struct mutation *m = &mutations[i];
    struct tsr_run_plan p;
    struct layer x;
    struct tsr_program_set set = {0};
    struct tsr_err err = TSR_ERR_INIT;
    plan_make(&p, "systolic-32", "gemm:256x256x256", sets);
    assert_true(p.layers[0].mapping.n_loops >= 2);
    assert_int_equal(tsr_run_lower(&p, 0, &set, &err), TSR_OK);
    mutate(&set.program[0], m);
    assert_int_equal(tsr_isa_check(&set.program[0], &err), TSR_OK);
    enum tsr_status st = plan_run_set(&p, 0, &set, &x, &err);
    if (st != TSR_SIM || err.n != 1) fail_msg("%s: status %d", m->label, (int)st);
    const char *who = strstr(err.msg[0], m->waits[0]);
    if (!strstr(err.msg[0], "deadlock in layer 'gemm0' at cycle ") || !who)
      fail_msg("%s: %s", m->label, err.msg[0]);
    /* Within what is said of that unit, up to the next one. */
    const char *what = strstr(who, m->waits[1]), *next = strchr(who, ';');
    if (!what || (next && what > next)) fail_msg("%s: %s", m->label, err.msg[0]);
    assert_non_null(strstr(who, "queue "));
    tsr_err_fini(&err);
    tsr_isa_set_fini(&set);
    tsr_run_plan_fini(&p);
  }
}

static void without_a_change_it_ends(void **state) {
  (void)state;
  struct tsr_run_plan p;
  struct layer x;
  plan_make(&p, "systolic-32", "gemm:256x256x256", NULL);
  assert_int_equal(plan_run(&p, 0, &x, NULL), TSR_OK);
  assert_int_equal(x.r.macs, 256 * 256 * 256);
  tsr_run_plan_fini(&p);
}

static void an_interrupt_and_a_limit_stop_it(void **state) {
  (void)state;
  static const char *const sets[] = {"sim.max_cycles=1000", NULL};
  struct tsr_run_plan p;
  struct layer x;
  struct tsr_err err = TSR_ERR_INIT;
  plan_make(&p, "systolic-32", "gemm:256x256x256", NULL);
  tsr_interrupted = 1;
  assert_int_equal(plan_run(&p, 0, &x, &err), TSR_SIM);
  tsr_interrupted = 0;
  assert_non_null(strstr(err.msg[0], "interrupted in layer 'gemm0'"));
  tsr_err_fini(&err);
  assert_int_equal(plan_run(&p, 0, &x, &err), TSR_OK);
  tsr_run_plan_fini(&p);
  plan_make(&p, "systolic-32", "gemm:256x256x256", sets);
  assert_int_equal(plan_run(&p, 0, &x, &err), TSR_SIM);
  assert_non_null(strstr(err.msg[0], "passes sim.max_cycles = 1000"));
  tsr_err_fini(&err);
  tsr_run_plan_fini(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_deadlock_names_who_waits_for_what_since_when),
      cmocka_unit_test(without_a_change_it_ends),
      cmocka_unit_test(an_interrupt_and_a_limit_stop_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
