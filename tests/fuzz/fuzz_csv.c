/* The readers of workloads: any bytes give a graph whose operators pass their
 * check, or an error with a message; never both, never neither. */
#include <stdlib.h>
#include <string.h>

#include "workloads/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good) {
  if (!good) abort();
}

static void check_graph(const struct tsr_graph *g) {
  require(g->n_ops > 0);
  for (size_t i = 0; i < g->n_ops; i++) {
    require(tsr_op_check(&g->ops[i], NULL) == TSR_OK);
    require(g->ops[i].name[0] != '\0');
    for (size_t j = 0; j < g->ops[i].n_after; j++) require(g->ops[i].after[j] < i);
  }
}

static void read_one(const char *what, const char *text, uint64_t batch) {
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status s = tsr_workload_read(
      what, &(struct tsr_workload_options){.text = text, .batch = batch}, &g, &err);
  require((s == TSR_OK) == (g != NULL));
  require((s == TSR_OK) == (err.total == 0));
  require(s == err.status);
  if (g) check_graph(g);
  tsr_graph_destroy(g);
  tsr_err_fini(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  if (strncmp(text, "gemm:", 5) == 0) read_one(text, NULL, 0);
  read_one("fuzz.csv", text, 0);
  read_one("fuzz.csv", text, 3);
  free(text);
  return 0;
}
