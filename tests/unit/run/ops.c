#include "tests/unit/run/ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct running {
  const struct op_run *x;
  struct tsr_run_plan plan;
  struct tsr_values *values;
  struct tsri_op_full *full;
  struct tsr_engine *engine;
  struct tsr_arena *arena;
  struct tsr_program_set set;
  struct op_result *out;
};

static bool is_request(const struct tsr_inst *in) {
  switch (in->op) {
  case TSR_ISA_LOAD:
  case TSR_ISA_STORE:
  case TSR_ISA_GATHER:
  case TSR_ISA_VEC:
  case TSR_ISA_WINDOW:
  case TSR_ISA_MM: return true;
  default: return false;
  }
}

/* Requests of a program; the n-th becomes a description that is there already. */
static uint64_t spoil(struct tsr_program *p, size_t without) {
  uint64_t n = 0;
  for (size_t i = 0; i < p->n; i++)
    if (is_request(&p->inst[i]) && ++n == without && !p->borrowed) p->inst[i] = p->inst[0];
  return n;
}

static enum tsr_status on_end(void *arg, size_t job, const struct tsr_layer_result *r,
                              struct tsr_err *err) {
  struct running *b = arg;
  const struct tsr_run_numeric *rows;
  size_t n;
  (void)job;
  b->out->cycles = r->cycles;
  b->out->read_bytes = r->dram_read_bytes;
  b->out->write_bytes = r->dram_write_bytes;
  b->out->macs = r->macs;
  b->out->vector_cycles = r->vector_cycles;
  for (size_t u = 0; u < r->n_units; u++) { /* each cycle of each unit is told once */
    uint64_t sum = 0;
    for (int s = 0; s < TSR_STATE_COUNT; s++) sum += r->units[u].cycles[s];
    if (sum != r->cycles) return tsr_err_set(err, TSR_SIM, "cycles of %s", r->units[u].name);
  }
  if (!b->full) return TSR_OK;
  enum tsr_status st = tsri_op_full_end(b->full, 0, b->arena, &rows, &n, err);
  if (!st) b->out->numeric = rows[0];
  return st;
}

static enum tsr_status run(struct running *b, struct tsr_err *err) {
  const struct tsr_run_layer_plan *l = &b->plan.layers[0];
  const struct tsr_program *list[TSR_MACHINE_CORES_MAX];
  struct tsr_str way = TSR_STR_INIT;
  enum tsr_status st = tsr_run_lower(&b->plan, 0, &b->set, err);
  for (uint32_t c = 0; !st && c < l->n_cores; c++) {
    uint64_t n = spoil(&b->set.program[c], b->x->without);
    b->out->requests = tsr_max_u64(b->out->requests, n);
    list[c] = &b->set.program[c];
  }
  if (st) return st;
  b->out->cores = l->n_cores;
  b->out->program = list[0]->n;
  tsr_run_layer_kernel(&b->plan, l, &way);
  (void)snprintf(b->out->way, sizeof b->out->way, "%s", way.p);
  tsr_str_fini(&way);
  if (b->x->values) {
    st = tsr_values_create(b->plan.machine, &b->values, err);
    if (!st) st = tsri_op_full_create(&b->plan, b->values, NULL, 7, &b->full, err);
    if (!st) st = tsri_op_full_begin(b->full, 0, err);
  }
  const struct tsr_engine_options eo = {.values = b->values, .seed = 7};
  const struct tsr_job job = {.name = l->op->name, .n_cores = l->n_cores, .program = list};
  const struct tsr_job_hooks hooks = {.arg = b, .end = on_end};
  if (!st) st = tsr_engine_create(b->plan.machine, &eo, &b->engine, err);
  if (!st) st = tsr_engine_run(b->engine, &job, 1, &hooks, err);
  return st;
}

enum tsr_status op_run(const struct op_run *x, struct op_result *out, struct tsr_err *err) {
  struct running b = {.x = x, .out = out, .arena = tsr_arena_create()};
  struct tsr_run_options o = {
      .arch = x->arch ? x->arch : "systolic-32", .workload = x->workload, .sets = x->sets};
  while (x->sets[o.n_sets]) o.n_sets++;
  *out = (struct op_result){0};
  assert_non_null(b.arena);
  enum tsr_status st = tsr_run_plan_make(&o, &b.plan, err);
  if (!st) st = run(&b, err);
  tsr_engine_destroy(b.engine);
  tsri_op_full_destroy(b.full);
  tsr_values_destroy(b.values);
  tsr_isa_set_fini(&b.set);
  tsr_run_plan_fini(&b.plan);
  tsr_arena_destroy(b.arena);
  return st;
}
