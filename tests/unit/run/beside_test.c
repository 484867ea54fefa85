/* Work side by side: workloads on cores of their own, branches of one graph. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/run/valued.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))
enum { LAYERS = 16, SETS = 16 };

/* ---- all layers of a plan as jobs of one list ---- */

struct beside {
  const struct tsr_run_plan *p;
  struct tsr_program_set set[LAYERS];
  const struct tsr_program *program[LAYERS][64];
  struct layer layer[LAYERS];
};

static enum tsr_status on_begin(void *arg, size_t job, struct tsr_err *err) {
  struct beside *b = arg;
  enum tsr_status st = tsr_run_lower(b->p, job, &b->set[job], err);
  for (size_t c = 0; !st && c < b->set[job].n; c++)
    b->program[job][c] = &b->set[job].program[c];
  return st;
}
static enum tsr_status on_end(void *arg, size_t job, const struct tsr_layer_result *r,
                              struct tsr_err *err) {
  struct beside *b = arg;
  (void)err;
  layer_keep(&b->layer[job], r);
  tsr_isa_set_fini(&b->set[job]);
  return TSR_OK;
}

static struct beside *run(const char *workload, const char *text, const char *const *sets,
                          struct tsr_run_plan *p) {
  struct beside *b = calloc(1, sizeof *b);
  struct tsr_job jobs[LAYERS];
  size_t after[LAYERS][LAYERS], n = 0;
  struct tsr_engine *e;
  struct tsr_err err = TSR_ERR_INIT;
  assert_non_null(b);
  b->p = p;
  while (sets[n]) n++;
  struct tsr_run_options o = {.arch = "systolic-32",
                              .workload = workload,
                              .workload_text = text,
                              .sets = sets,
                              .n_sets = n};
  if (tsr_run_plan_make(&o, p, &err)) fail_msg("%s: %s", workload, err.msg[0]);
  assert_true(p->n_layers <= LAYERS);
  for (size_t i = 0; i < p->n_layers; i++) {
    const struct tsr_run_layer_plan *l = &p->layers[i];
    jobs[i] = (struct tsr_job){.name = l->op->name,
                               .first_core = l->first_core,
                               .n_cores = l->n_cores,
                               .program = b->program[i],
                               .n_after = l->op->n_after,
                               .after = after[i]};
    for (size_t a = 0; a < l->op->n_after; a++)
      after[i][a] = p->tenants[l->tenant].first_layer + l->op->after[a];
  }
  const struct tsr_job_hooks hooks = {.arg = b, .begin = on_begin, .end = on_end};
  assert_int_equal(tsr_engine_create(p->machine, NULL, &e, &err), TSR_OK);
  if (tsr_engine_run(e, jobs, p->n_layers, &hooks, &err)) fail_msg("%s", err.msg[0]);
  tsr_engine_destroy(e);
  tsr_err_fini(&err);
  return b;
}

/* Cycles of a tenant's layers and those stalled for a cause, of its pacing units. */
static uint64_t end_of(const struct beside *b, size_t tenant) {
  uint64_t end = 0;
  for (size_t i = 0; i < b->p->n_layers; i++)
    if (b->p->layers[i].tenant == tenant)
      end = tsr_max_u64(end, b->layer[i].r.start_cycles + b->layer[i].r.cycles);
  return end;
}
static uint64_t stalled(const struct beside *b, size_t tenant, enum tsr_cause c) {
  uint64_t n = 0;
  for (size_t i = 0; i < b->p->n_layers; i++)
    if (b->p->layers[i].tenant == tenant)
      n += b->layer[i].unit[b->layer[i].r.pacing].cycles[TSR_STATE_CAUSE0 + c];
  return n;
}

static void done(struct beside *b, struct tsr_run_plan *p) {
  tsr_run_plan_fini(p);
  free(b);
}

/* ---- workloads on cores of their own ---- */

/* The cause that grew, for each of the workloads. */
enum { ALIKE = -1 };
static const struct {
  const char *label, *set[SETS];
  int cause; /* enum tsr_cause; ALIKE: nothing changes */
} rows[] = {
    {"an unlimited memory", {"cores=4", "dram.bandwidth=unlimited"}, ALIKE},
    {"and no latency", {"cores=4", "dram.bandwidth=unlimited", "dram.latency=0ns"}, ALIKE},
    {"a crossbar without an end",
     {"cores=4", "dram.bandwidth=unlimited", "noc.kind=crossbar", "noc.bandwidth=unlimited"},
     ALIKE},
    {"a narrow memory", {"cores=4", "dram.bandwidth=4GB/s"}, TSR_CAUSE_DRAM_BANDWIDTH},
    {"a narrow mesh",
     {"cores=4", "dram.bandwidth=unlimited", "dram.channels=1", "noc.kind=mesh",
      "noc.bandwidth=4GB/s"},
     TSR_CAUSE_NOC},
};

static void workloads_share_what_they_share_and_nothing_else(void **state) {
  (void)state;
  static const char *const alone[2] = {"gemm:96x256x160,64x64x64@0-1",
                                       "gemm:64x300x128,96x32x200@2-3"};
  char both[128];
  snprintf(both, sizeof both, "%s + %s", alone[0], alone[1]);
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_run_plan q;
    struct beside *b = run(both, NULL, rows[i].set, &q);
    assert_int_equal(q.n_tenants, 2);
    for (size_t t = 0; t < 2; t++) {
      struct tsr_run_plan p;
      struct beside *a = run(alone[t], NULL, rows[i].set, &p);
      uint64_t before = end_of(a, 0), after = end_of(b, t);
      if (rows[i].cause == ALIKE) {
        if (before != after)
          fail_msg("%s: %" PRIu64 " cycles alone, %" PRIu64 " beside", rows[i].label, before,
                   after);
      } else {
        enum tsr_cause c = (enum tsr_cause)rows[i].cause;
        uint64_t grown = stalled(b, t, c) - stalled(a, 0, c);
        if (after <= before || stalled(b, t, c) <= stalled(a, 0, c) ||
            2 * grown < after - before)
          fail_msg("%s: %" PRIu64 " cycles alone, %" PRIu64 " beside; %" PRIu64 " to %" PRIu64
                   " of the cause",
                   rows[i].label, before, after, stalled(a, 0, c), stalled(b, t, c));
      }
      done(a, &p);
    }
    done(b, &q);
  }
}

/* Values of both are right, whoever is beside them. */
static void workloads_beside_each_other_keep_their_values(void **state) {
  (void)state;
  static const char *const sets[] = {"cores=4",          "dram.bandwidth=4GB/s",
                                     "sram.a.size=8KiB", "sram.b.size=8KiB",
                                     "sram.c.size=8KiB", NULL};
  struct tsr_run_plan p;
  struct valued v;
  struct tsr_err err = TSR_ERR_INIT;
  plan_make(&p, "systolic-32", "gemm:96x100x160,64x64x64@0-1 + gemm:64x70x128@2-3", sets);
  if (valued_run(&p, 5, &v, &err)) fail_msg("%s", err.msg[0]);
  assert_int_equal(v.compared, 96 * 100 + 64 * 64 + 64 * 70);
  assert_true(v.overlap > 0);
  tsr_run_plan_fini(&p);
}

/* ---- branches ---- */

static const char branches[] = "model,layer,op,M,N,K,count,notes,after\n"
                               "m,stem,linear,64,64,64,1,,\n"
                               "m,left,linear,64,96,64,1,,stem\n"
                               "m,right,linear,64,64,64,1,,stem\n"
                               "m,joined,linear,64,64,96,1,,left right\n";

static void branches_overlap_and_keep_their_values(void **state) {
  (void)state;
  static const char *const cores[] = {"cores=1", "cores=2", "cores=4"};
  for (size_t i = 0; i < LEN(cores); i++) {
    const char *const sets[] = {cores[i], "sram.a.size=4KiB", "sram.b.size=4KiB",
                                "sram.c.size=8KiB", NULL};
    struct tsr_run_plan p;
    struct valued v;
    struct tsr_err err = TSR_ERR_INIT;
    struct tsr_run_options o = {.arch = "systolic-32",
                                .workload = "net.csv",
                                .workload_text = branches,
                                .sets = sets,
                                .n_sets = 4};
    if (tsr_run_plan_make(&o, &p, &err)) fail_msg("%s", err.msg[0]);
    assert_int_equal(p.n_layers, 4);
    if (valued_run(&p, 6, &v, &err)) fail_msg("%s", err.msg[0]);
    assert_int_equal(v.compared, 64 * 64 + 64 * 96 + 2 * 64 * 64);
    assert_true((v.overlap > 0) == (i > 0));
    tsr_run_plan_fini(&p);
    struct beside *b = run("net.csv", branches, sets, &p);
    const struct tsr_layer_result *l = &b->layer[1].r, *r = &b->layer[2].r, *j = &b->layer[3].r;
    if (i > 0) { /* they begin together, and the last waits for both */
      assert_int_equal(l->start_cycles, r->start_cycles);
      assert_true(p.layers[1].first_core != p.layers[2].first_core);
    } else {
      assert_int_equal(r->start_cycles, l->start_cycles + l->cycles);
    }
    assert_int_equal(j->start_cycles,
                     tsr_max_u64(l->start_cycles + l->cycles, r->start_cycles + r->cycles));
    assert_int_equal(l->start_cycles, b->layer[0].r.cycles);
    done(b, &p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(workloads_share_what_they_share_and_nothing_else),
      cmocka_unit_test(workloads_beside_each_other_keep_their_values),
      cmocka_unit_test(branches_overlap_and_keep_their_values)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
