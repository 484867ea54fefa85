/* What a plan says before anything is simulated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/run/plans.h"

struct row {
  const char *label, *workload, *set[4];
};
static const struct row rows[] = {
    {"one tile", "gemm:8x8x8", {NULL}},
    {"many tiles", "gemm:300x500x700", {"sram.a.size=16KiB", "sram.b.size=16KiB"}},
    {"outputs stay", "gemm:100x200x3000", {"tile.dataflow=os"}},
    {"inputs stay, no preload",
     "gemm:100x200x300",
     {"tile.dataflow=is", "tile.weight_preload=false"}},
    {"serial drain", "gemm:100x200x300", {"tile.dataflow=os", "tile.drain=serial"}},
    {"bursts of a byte", "gemm:30x40x50", {"dma.burst=1B"}},
};

/* They gate a run: an estimate below the truth would let too much through. */
static void estimates_bound_what_happens(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tsr_run_plan p;
    struct layer x;
    plan_make(&p, "systolic-32", rows[i].workload, rows[i].set);
    assert_int_equal(plan_run(&p, 0, &x, NULL), TSR_OK);
    uint64_t work = layer_compute(&x);
    if (p.events < x.r.events || p.tile_cycles < work)
      fail_msg("%s: %llu of %llu events, %llu of %llu cycles", rows[i].label,
               (unsigned long long)p.events, (unsigned long long)x.r.events,
               (unsigned long long)p.tile_cycles, (unsigned long long)work);
    assert_true(p.events < 20 * x.r.events + 100);
    tsr_run_plan_fini(&p);
  }
}

/* Weights stand side by side, activations share a region: base addresses of a program. */
static uint64_t base_of(const struct tsr_run_plan *plan, size_t layer, int tensor) {
  struct tsr_program_set set = {0};
  uint64_t base = UINT64_MAX;
  assert_int_equal(tsr_run_lower(plan, layer, &set, NULL), TSR_OK);
  const struct tsr_program *p = &set.program[0];
  for (size_t i = 0; i < p->n; i++)
    if (p->inst[i].op == TSR_ISA_TENSOR && p->inst[i].f[0] == tensor)
      base = (uint64_t)p->inst[i].f[3];
  tsr_isa_set_fini(&set);
  assert_true(base != UINT64_MAX);
  assert_true(base == plan->layers[layer].base_bytes[tensor]);
  return base;
}

static void weights_do_not_overlap_each_other_or_activations(void **state) {
  (void)state;
  struct tsr_run_plan p;
  plan_make(&p, "systolic-32", "gemm:100x200x300,300x100x200,7x7x7", NULL);
  uint64_t end = 0;
  for (size_t i = 0; i < p.n_layers; i++) {
    const struct tsr_op *op = p.layers[i].op;
    assert_true(base_of(&p, i, TSR_BUF_B) >= end);
    end = base_of(&p, i, TSR_BUF_B) + op->n * op->k * 2;
  }
  for (size_t i = 0; i < p.n_layers; i++) {
    const struct tsr_op *op = p.layers[i].op;
    uint64_t a = base_of(&p, i, TSR_BUF_A);
    uint64_t c = base_of(&p, i, TSR_BUF_C);
    assert_true(a >= end && c >= a + op->m * op->k * 2);
    assert_true(c + op->m * op->n * 2 <= p.dram_bytes);
  }
  tsr_run_plan_fini(&p);
}

static void what_does_not_fit_the_memory_is_told_by_the_byte(void **state) {
  (void)state;
  struct tsr_run_plan p;
  struct tsr_err err = TSR_ERR_INIT;
  plan_make(&p, "systolic-32", "gemm:64x64x64", NULL);
  uint64_t need = p.dram_bytes;
  tsr_run_plan_fini(&p);
  for (int short_of = 0; short_of <= 1; short_of++) {
    char capacity[64];
    snprintf(capacity, sizeof capacity, "dram.capacity=%lluB",
             (unsigned long long)need - (unsigned)short_of);
    const char *const sets[] = {capacity};
    struct tsr_run_options o = {
        .arch = "systolic-32", .workload = "gemm:64x64x64", .sets = sets, .n_sets = 1};
    assert_int_equal(tsr_run_plan_make(&o, &p, &err), short_of ? TSR_INPUT : TSR_OK);
    if (!short_of) tsr_run_plan_fini(&p);
  }
  assert_non_null(strstr(err.msg[0], "does not fit dram.capacity"));
  assert_non_null(strstr(err.msg[0], " KiB; 0.00 KiB (1 bytes) are missing"));
  tsr_err_fini(&err);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(estimates_bound_what_happens),
      cmocka_unit_test(weights_do_not_overlap_each_other_or_activations),
      cmocka_unit_test(what_does_not_fit_the_memory_is_told_by_the_byte)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
