#include "tests/unit/run/plans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

void plan_make(struct tsr_run_plan *p, const char *arch, const char *workload,
               const char *const *sets) {
  struct tsr_run_options o = {.arch = arch, .workload = workload, .sets = sets};
  struct tsr_err err = TSR_ERR_INIT;
  while (sets && sets[o.n_sets]) o.n_sets++;
  if (tsr_run_plan_make(&o, p, &err)) fail_msg("%s", err.n ? err.msg[0] : "no plan");
  tsr_err_fini(&err);
}

enum tsr_status plan_run(const struct tsr_run_plan *p, size_t layer, struct layer *out,
                         struct tsr_err *err) {
  struct tsr_program_set set = {0};
  enum tsr_status st = tsr_run_lower(p, layer, &set, err);
  if (!st) st = plan_run_set(p, layer, &set, out, err);
  tsr_isa_set_fini(&set);
  return st;
}

enum tsr_status plan_run_set(const struct tsr_run_plan *p, size_t layer,
                             const struct tsr_program_set *set, struct layer *out,
                             struct tsr_err *err) {
  struct tsr_engine *e;
  enum tsr_status st = tsr_engine_create(p->machine, NULL, &e, err);
  if (st) return st;
  st = layer_run_set(e, set, p->layers[layer].op->name, out, err);
  tsr_engine_destroy(e);
  return st;
}
