/* Specifications: any bytes give a graph whose operators pass their check and of which no more
 * than the limit are made, or an error with a message; never both, never neither. */
#include <stdlib.h>

#include "workloads/spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good) {
  if (!good) abort();
}

static void check_graph(const struct tsr_graph *g) {
  require(g->n_ops > 0 && g->n_ops <= TSR_SPEC_OPS_MAX);
  for (size_t i = 0; i < g->n_ops; i++) {
    const struct tsr_op *op = &g->ops[i];
    require(tsr_op_check(op, NULL) == TSR_OK);
    require(op->name[0] != '\0');
    for (size_t j = 0; j < op->n_after; j++) require(op->after[j] < i);
    for (size_t j = 0; j < op->n_steps; j++) {
      size_t from;
      (void)tsr_op_step_source(op, j, &from);
    }
  }
}

static void read_one(const char *text, size_t n, uint64_t batch) {
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status s = tsr_spec_read("fuzz.yaml", text, n, batch, &g, &err);
  require((s == TSR_OK) == (g != NULL));
  require((s == TSR_OK) == (err.total == 0));
  require(s == err.status);
  if (g) check_graph(g);
  tsr_graph_destroy(g);
  tsr_err_fini(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  (void)tsr_spec_is(text, size);
  read_one(text, size, 0);
  read_one(text, size, 3);
  return 0;
}
