#include "tests/support/layers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

void layer_keep(struct layer *out, const struct tsr_layer_result *r) {
  assert_true(r->n_units <= LAYERS_UNITS);
  out->r = *r;
  memcpy(out->unit, r->units, r->n_units * sizeof out->unit[0]);
  out->r.units = out->unit;
  out->r.segments = NULL;
  out->r.n_segments = 0;
}

const uint64_t *layer_unit(const struct layer *l, enum tsr_isa_unit kind) {
  static const uint64_t none[TSR_STATE_COUNT];
  for (size_t i = 0; i < l->r.n_units; i++)
    if (l->unit[i].kind == kind) return l->unit[i].cycles;
  return none;
}

uint64_t layer_compute(const struct layer *l) {
  const uint64_t *c = l->unit[l->r.pacing].cycles;
  return c[TSR_STATE_BUSY] + c[TSR_STATE_FILL] + c[TSR_STATE_DRAIN];
}

static enum tsr_status keep(void *arg, size_t job, const struct tsr_layer_result *r,
                            struct tsr_err *err) {
  (void)job;
  (void)err;
  layer_keep(arg, r);
  return TSR_OK;
}

enum tsr_status layer_run_set(struct tsr_engine *e, const struct tsr_program_set *set,
                              const char *name, struct layer *out, struct tsr_err *err) {
  enum { CORES = 64 };
  const struct tsr_program *of[CORES];
  assert_true(set->n > 0 && set->n <= CORES);
  for (size_t c = 0; c < set->n; c++) of[c] = &set->program[c];
  const struct tsr_job job = {.name = name, .n_cores = (uint32_t)set->n, .program = of};
  const struct tsr_job_hooks hooks = {.arg = out, .end = keep};
  return tsr_engine_run(e, &job, 1, &hooks, err);
}

enum tsr_status layer_run_program(struct tsr_engine *e, const struct tsr_program *p,
                                  const char *name, struct layer *out, struct tsr_err *err) {
  const struct tsr_job job = {.name = name, .n_cores = 1, .program = &p};
  const struct tsr_job_hooks hooks = {.arg = out, .end = keep};
  return tsr_engine_run(e, &job, 1, &hooks, err);
}
