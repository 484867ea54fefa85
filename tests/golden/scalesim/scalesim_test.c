/* The array's cycles beside those of SCALE-Sim, shape by shape: with scratchpads
 * that hold everything, no port limits and no weight preload, the compute cycles of
 * a matmul are F*P, one more than that tool's index of the last cycle.
 *
 * tests/data/scalesim always; all files of $TESSERA_GOLDEN/timing/scalesim where
 * that is set. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/golden/scalesim/table.h"
#include "tests/support/layers.h"

enum { SHAPES_MAX = 256, TEXT_MAX = 64 * SHAPES_MAX, SHOWN = 10 };

struct tally {
  size_t shapes, mismatches;
};

static uint64_t ceil_div(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0);
}

static uint64_t folds(const struct golden_row *r) {
  if (!strcmp(r->flow, "os")) return ceil_div(r->m, r->rows) * ceil_div(r->n, r->cols);
  if (!strcmp(r->flow, "ws")) return ceil_div(r->k, r->rows) * ceil_div(r->n, r->cols);
  return ceil_div(r->k, r->rows) * ceil_div(r->m, r->cols);
}

/* SRC:scalesim, written out apart from the product: cycles of one fold. */
static uint64_t fold_cycles(const struct golden_row *r) {
  if (!strcmp(r->flow, "os")) return r->k + r->rows + r->cols - 2;
  return 2 * r->rows + r->cols + (!strcmp(r->flow, "ws") ? r->m : r->n) - 2;
}

static void compare(const struct golden_row *r, const struct layer *x, const char *mapping,
                    struct tally *t) {
  uint64_t compute = layer_compute(x);
  t->shapes++;
  assert_int_equal(folds(r) * fold_cycles(r), r->last_cycle + 1);
  assert_int_equal(x->r.macs, r->m * r->n * r->k);
  if (compute == r->last_cycle + 1 && x->r.folds == folds(r)) return;
  if (t->mismatches++ < SHOWN)
    print_message("%" PRIu64 "x%" PRIu64 " %s %" PRIu64 "x%" PRIu64 "x%" PRIu64 ": %" PRIu64
                  " cycles in %" PRIu64 " folds (%s); expected %" PRIu64 " in %" PRIu64 "\n",
                  r->rows, r->cols, r->flow, r->m, r->n, r->k, compute, x->r.folds, mapping,
                  r->last_cycle + 1, folds(r));
}

static void plan(const struct golden_row *r, size_t n, struct tsr_run_plan *out) {
  char rows[40], cols[40], flow[40];
  char *text = malloc(TEXT_MAX);
  assert_non_null(text);
  snprintf(rows, sizeof rows, "tile.rows=%" PRIu64, r->rows);
  snprintf(cols, sizeof cols, "tile.cols=%" PRIu64, r->cols);
  snprintf(flow, sizeof flow, "tile.dataflow=%s", r->flow);
  const char *const sets[] = {rows,
                              cols,
                              flow,
                              "tile.weight_preload=false",
                              "sram.a.size=1GiB",
                              "sram.b.size=1GiB",
                              "sram.c.size=1GiB",
                              "sram.a.width=unlimited",
                              "sram.b.width=unlimited",
                              "sram.c.width=unlimited",
                              "dram.capacity=unlimited"};
  int at = snprintf(text, TEXT_MAX, "gemm:");
  for (size_t i = 0; i < n; i++)
    at += snprintf(text + at, TEXT_MAX - (size_t)at, "%s%" PRIu64 "x%" PRIu64 "x%" PRIu64,
                   i ? "," : "", r[i].m, r[i].n, r[i].k);
  struct tsr_run_options o = {.arch = "systolic-128",
                              .workload = text,
                              .sets = sets,
                              .n_sets = sizeof sets / sizeof sets[0]};
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_run_plan_make(&o, out, &err)) fail_msg("%s", err.n ? err.msg[0] : "no plan");
  tsr_err_fini(&err);
  assert_int_equal(out->n_layers, n);
  free(text);
}

/* Rows of one machine, as the layers of one plan on one engine. */
static void replay_some(const struct golden_row *r, size_t n, struct tally *t) {
  struct tsr_run_plan p;
  struct tsr_engine *e;
  struct tsr_err err = TSR_ERR_INIT;
  plan(r, n, &p);
  assert_int_equal(tsr_engine_create(p.machine, NULL, &e, &err), TSR_OK);
  for (size_t i = 0; i < n; i++) {
    struct layer x;
    struct tsr_program_set set = {0};
    struct tsr_str mapping = TSR_STR_INIT;
    if (tsr_run_lower(&p, i, &set, &err) ||
        layer_run_set(e, &set, p.layers[i].op->name, &x, &err))
      fail_msg("%s", err.n ? err.msg[0] : "no result");
    tsr_isa_set_fini(&set);
    tsr_mapping_print(&p.layers[i].shape, &p.layers[i].mapping, &mapping);
    compare(&r[i], &x, mapping.p, t);
    tsr_str_fini(&mapping);
  }
  tsr_engine_destroy(e);
  tsr_run_plan_fini(&p);
  tsr_err_fini(&err);
}

static bool same_machine(const struct golden_row *a, const struct golden_row *b) {
  return a->rows == b->rows && a->cols == b->cols && !strcmp(a->flow, b->flow);
}

static void replay(struct golden_table *t, size_t at_least) {
  struct tally tally = {0};
  golden_table_sort(t);
  for (size_t i = 0, n; i < t->n; i += n) {
    for (n = 1; i + n < t->n && n < SHAPES_MAX && same_machine(&t->row[i], &t->row[i + n]);)
      n++;
    replay_some(&t->row[i], n, &tally);
  }
  print_message("%zu rows, %zu distinct shapes, %zu mismatches\n", t->read, tally.shapes,
                tally.mismatches);
  assert_true(t->read >= at_least);
  assert_int_equal(tally.mismatches, 0);
  golden_table_fini(t);
}

static void committed_shapes_take_the_cycles_of_the_formula(void **state) {
  (void)state;
  struct golden_table t = {0};
  golden_table_read(&t, TSR_TEST_DATA "/scalesim/scalesim_runs.csv");
  golden_table_read(&t, TSR_TEST_DATA "/scalesim/llmcompass_lookup.csv");
  replay(&t, 500);
}

static void every_recorded_row_takes_the_cycles_of_the_formula(void **state) {
  (void)state;
  const char *golden = getenv("TESSERA_GOLDEN");
  if (!golden || !*golden) {
    print_message("TESSERA_GOLDEN is not set: every_recorded_row is skipped\n");
    skip();
  }
  char folder[4096];
  struct golden_table t = {0};
  snprintf(folder, sizeof folder, "%s/timing/scalesim", golden);
  size_t files = golden_table_read_folder(&t, folder, "v");
  snprintf(folder, sizeof folder, "%s/timing/scalesim/llmcompass", golden);
  files += golden_table_read_folder(&t, folder, "");
  print_message("%zu files\n", files);
  replay(&t, 19000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(committed_shapes_take_the_cycles_of_the_formula),
      cmocka_unit_test(every_recorded_row_takes_the_cycles_of_the_formula)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
