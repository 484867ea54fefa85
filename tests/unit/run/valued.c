#include "tests/unit/run/valued.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/run/run_int.h"

enum { CORES = 64 };

struct recorder {
  const struct tsr_run_plan *p;
  size_t layer; /* the only one, where `given` */
  const struct tsr_program_set *given;
  struct tsr_program_set *set;
  const struct tsr_program *(*program)[CORES];
  struct tsri_full *full;
  struct tsr_values *values;
  struct tsr_arena *arena;
  struct valued n;
};

static size_t layer_of(const struct recorder *r, size_t job) {
  return r->given ? r->layer : job;
}

static enum tsr_status on_begin(void *arg, size_t job, struct tsr_err *err) {
  struct recorder *r = arg;
  const struct tsr_program_set *set = r->given;
  if (!set) {
    enum tsr_status st = tsr_run_lower(r->p, job, &r->set[job], err);
    if (st) return st;
    set = &r->set[job];
  }
  for (size_t c = 0; c < set->n; c++) r->program[job][c] = &set->program[c];
  tsr_values_of(r->values, job);
  return tsri_full_begin(r->full, layer_of(r, job), err);
}

static enum tsr_status on_end(void *arg, size_t job, const struct tsr_layer_result *x,
                              struct tsr_err *err) {
  struct recorder *r = arg;
  const struct tsr_run_numeric *rows;
  size_t n;
  uint64_t macs = 0;
  tsr_values_of(r->values, job);
  enum tsr_status st = tsri_full_end(r->full, layer_of(r, job), r->arena, &rows, &n, err);
  if (st) return st;
  (void)tsr_op_macs(r->p->layers[layer_of(r, job)].op, &macs);
  if (x->macs != macs) return tsr_err_set(err, TSR_SIM, "other work than the layer's");
  r->n.compared += rows[0].checked_elems;
  r->n.overlap += x->cycles;
  r->n.cycles = tsr_max_u64(r->n.cycles, x->start_cycles + x->cycles);
  return TSR_OK;
}

static enum tsr_status run(struct recorder *r, uint64_t seed, size_t n, struct tsr_err *err) {
  const struct tsr_run_plan *p = r->p;
  struct tsr_values *values = NULL;
  struct tsr_engine *e = NULL;
  struct tsr_job *jobs = calloc(n, sizeof *jobs);
  size_t(*after)[CORES] = calloc(n, sizeof *after);
  r->set = calloc(n, sizeof *r->set);
  r->program = calloc(n, sizeof *r->program);
  r->arena = tsr_arena_create();
  assert_true(jobs && after && r->set && r->program && r->arena);
  for (size_t i = 0; i < n; i++) {
    const struct tsr_run_layer_plan *l = &p->layers[layer_of(r, i)];
    jobs[i] = (struct tsr_job){.name = l->op->name,
                               .first_core = l->first_core,
                               .n_cores = l->n_cores,
                               .program = r->program[i],
                               .n_after = r->given ? 0 : l->op->n_after,
                               .after = after[i]};
    assert_true(l->n_cores <= CORES && l->op->n_after <= CORES);
    for (size_t a = 0; a < jobs[i].n_after; a++)
      after[i][a] = p->tenants[l->tenant].first_layer + l->op->after[a];
  }
  const struct tsr_job_hooks hooks = {.arg = r, .begin = on_begin, .end = on_end};
  enum tsr_status st = tsr_values_create(p->machine, &values, err);
  r->values = values;
  if (!st) st = tsri_full_create(p, values, NULL, seed, &r->full, err);
  const struct tsr_engine_options o = {.values = values};
  if (!st) st = tsr_engine_create(p->machine, &o, &e, err);
  if (!st) st = tsr_engine_run(e, jobs, n, &hooks, err);
  for (size_t i = 0; i < n; i++) tsr_isa_set_fini(&r->set[i]);
  tsr_engine_destroy(e);
  tsri_full_destroy(r->full);
  tsr_values_destroy(values);
  tsr_arena_destroy(r->arena);
  free(r->program);
  free(r->set);
  free(after);
  free(jobs);
  return st;
}

enum tsr_status valued_run(const struct tsr_run_plan *p, uint64_t seed, struct valued *out,
                           struct tsr_err *err) {
  struct recorder r = {.p = p};
  enum tsr_status st = run(&r, seed, p->n_layers, err);
  if (st) return st;
  *out = r.n;
  out->overlap -= r.n.cycles;
  return TSR_OK;
}

enum tsr_status valued_run_set(const struct tsr_run_plan *p, size_t layer, uint64_t seed,
                               const struct tsr_program_set *set, struct tsr_err *err) {
  struct recorder r = {.p = p, .layer = layer, .given = set};
  return run(&r, seed, 1, err);
}
