/* Every model of ONNX's own test data as programs of the machine, by value: translated,
 * lowered, simulated, and its outputs compared with those that are stored beside it.
 *
 * A machine that computes in fp32 throughout; ONNX's outputs were made in fp32 too.  Skipped
 * are the models that the reference skips, and those that hold an operator without a kernel,
 * which is named.  `machine_test [TEXT]`: only the tests whose name contains it.  Exits with 77
 * where the data are not installed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/run/run.h"
#include "tests/golden/onnx/cases.h"
#include "workloads/translate/translate.h"

/* By the data's own width: fp32, or fp64 where a model's inputs are doubles. */
enum { SETS = 7 };
static const char *const sets[2][SETS] = {
    {"tile.formats.a=fp32", "tile.formats.b=fp32", "tile.formats.acc=fp32",
     "tile.formats.out=fp32", "tile.rates.fp32=1", "tile.rates.uint8=1", "sram.a.size=8MiB"},
    {"tile.formats.a=fp64", "tile.formats.b=fp64", "tile.formats.acc=fp64",
     "tile.formats.out=fp64", "tile.rates.fp64=1", "tile.rates.uint8=1", "sram.a.size=8MiB"}};

static bool has_doubles(const struct onnx_case *c) {
  for (size_t k = 0; k < c->n_in; k++)
    if (c->in[k]->type == TSR_DTYPE_F64) return true;
  return false;
}

struct tally {
  const char *only;
  size_t passed, failed, no_kernel, as_reference, products, nothing;
};

/* The outputs of a case as they come. */
struct outputs {
  const struct onnx_case *c;
  const char *name[64]; /* of the net's outputs */
  size_t seen;
  struct tsr_str why;
};

static enum tsr_status on_output(void *arg, const char *name, const struct tsr_array *got) {
  static const struct onnx_distance distance = {1e-3, 1e-6};
  struct outputs *o = arg;
  for (size_t i = 0; i < o->c->n_out && i < 64; i++) {
    if (strcmp(o->name[i], name) != 0) continue;
    o->seen++;
    if (onnx_same(got, o->c->want[i], &distance, &o->why)) continue;
    tsr_str_addf(&o->why, " in output '%s'", name);
    return TSR_NO;
  }
  return TSR_OK;
}

static bool is_product(const struct tsr_graph *g) {
  for (size_t i = 0; i < g->n_ops; i++)
    if (tsr_op_kind_info(g->ops[i].kind)->has_macs) return true;
  return false;
}

/* Runs a case whose net is translated; true: its outputs are those that are stored. */
static bool run_graph(struct onnx_case *c, struct tsr_graph *g, struct outputs *o,
                      struct tsr_err *err) {
  struct tsr_workload_given values[64];
  size_t n = 0;
  for (size_t k = 0; k < c->n_in && n < 64; k++)
    if (c->net->values[c->in_value[k]].is_input)
      values[n++] = (struct tsr_workload_given){c->net->values[c->in_value[k]].name, c->in[k]};
  for (size_t i = 0; i < c->net->n_outputs && i < 64; i++)
    o->name[i] = c->net->values[c->net->outputs[i]].name;
  struct tsr_run_options run = {.arch = "systolic-32",
                                .workload = c->name,
                                .sets = sets[has_doubles(c)],
                                .n_sets = SETS,
                                .seed = 1,
                                .numerics = TSR_NUMERICS_FULL,
                                .version = "test",
                                .graph = g,
                                .values = values,
                                .n_values = n,
                                .output = on_output,
                                .output_arg = o};
  uint64_t id = 0;
  size_t want = c->n_out;
  bool good = tsr_run_execute(&run, NULL, &id, err) == TSR_OK;
  if (good && o->seen < want)
    tsr_str_addf(&o->why, "%zu of %zu outputs were made", o->seen, want);
  return good && o->seen == want;
}

/* Outputs without elements ask for no operator. */
static bool makes_nothing(const struct onnx_case *c) {
  for (size_t i = 0; i < c->n_out; i++)
    if (c->want[i]->n) return false;
  return true;
}

static void ask(struct tally *t, struct onnx_case *c, const char *name) {
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  struct outputs o = {.c = c, .why = TSR_STR_INIT};
  enum tsr_status st = tsr_translate(c->net, NULL, &g, &err);
  if (st == TSR_INPUT && err.n && strstr(err.msg[0], "no kernel")) {
    t->no_kernel++;
    printf("skipped %s: %s", name, err.msg[0]);
  } else if (makes_nothing(c)) {
    t->nothing++;
    tsr_graph_destroy(g);
    if (g) c->net = NULL;
  } else {
    bool good = !st;
    if (good) {
      t->products += is_product(g);
      struct tsr_net *net = c->net;
      c->net = NULL; /* the graph's, and the plan's with it */
      struct onnx_case with = *c;
      with.net = net;
      good = run_graph(&with, g, &o, &err);
    }
    t->passed += good;
    t->failed += !good;
    if (!good)
      printf("FAILED %s: %s%s\n", name, o.why.p ? o.why.p : "", err.n ? err.msg[0] : "");
  }
  tsr_str_fini(&o.why);
  tsr_err_fini(&err);
}

static void run_case(void *arg, const char *name, const char *model, const char *folder) {
  struct tally *t = arg;
  struct onnx_case c = {.fix = true};
  enum onnx_skip skip;
  struct tsr_err err = TSR_ERR_INIT;
  if (t->only && !strstr(name, t->only)) return;
  if (onnx_case_open(name, model, folder, &c, &skip, &err)) {
    t->failed++;
    printf("FAILED %s: %s\n", name, err.n ? err.msg[0] : "no message");
  } else if (skip != ONNX_RUNS) {
    t->as_reference++;
  } else {
    ask(t, &c, name);
  }
  tsr_err_fini(&err);
  onnx_case_close(&c);
}

int main(int argc, char **argv) {
  static const char *const groups[] = {"node", "simple", "pytorch-operator",
                                       "pytorch-converted", "light"};
  const char *root = getenv("TESSERA_ONNX_DATA");
  struct tally t = {.only = argc > 1 ? argv[1] : NULL};
  if (!root) root = ONNX_CASES_ROOT;
  if (access(root, R_OK) != 0) {
    printf("skipped: no ONNX test data in %s (package libonnx-testdata)\n", root);
    return 77;
  }
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    onnx_cases_walk(root, groups[i], run_case, &t);
  printf(
      "golden: onnx on the machine: %zu passed (%zu of them with products), %zu failed, %zu "
      "skipped (no kernel, by name above: %zu; outputs of no elements: %zu; as the reference: "
      "%zu)\n",
      t.passed, t.products, t.failed, t.no_kernel + t.nothing + t.as_reference, t.no_kernel,
      t.nothing, t.as_reference);
  return t.failed > 0 || t.passed == 0;
}
