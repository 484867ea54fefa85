/* Graphs in JSON: any bytes give a graph whose operators pass their check and which is equal
 * after writing and reading, or an error with a message; never both, never neither. */
#include <stdlib.h>
#include <string.h>

#include "workloads/exchange/graph_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good) {
  if (!good) abort();
}

static char *written(const struct tsr_graph *g) {
  struct tsr_str s = TSR_STR_INIT;
  require(tsr_graph_json_write(g, &s, NULL) == TSR_OK);
  return tsr_str_take(&s);
}

static void check_graph(const struct tsr_graph *g) {
  require(g->n_ops > 0);
  for (size_t i = 0; i < g->n_ops; i++) {
    require(tsr_op_check(&g->ops[i], NULL) == TSR_OK);
    for (size_t j = 0; j < g->ops[i].n_after; j++) require(g->ops[i].after[j] < i);
  }
  char *text = written(g);
  require(text != NULL);
  struct tsr_graph *again = NULL;
  require(tsr_graph_json_read("again.json", text, strlen(text), 0, &again, NULL) == TSR_OK);
  char *twice = written(again);
  require(strcmp(text, twice) == 0);
  tsr_mem_free(text);
  tsr_mem_free(twice);
  tsr_graph_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status s = tsr_graph_json_read("fuzz.json", (const char *)data, size, 0, &g, &err);
  require((s == TSR_OK) == (g != NULL));
  require((s == TSR_OK) == (err.total == 0));
  if (g) check_graph(g);
  tsr_graph_destroy(g);
  tsr_err_fini(&err);
  return 0;
}
