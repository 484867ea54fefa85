/* The reader of ONNX models: any bytes give a net or an error with a message, never both, never
 * neither; and a net that was read is written and read back with as many parts. */
#include <stdlib.h>

#include "workloads/onnx/onnx.h"
#include "workloads/onnx/onnx_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No such folder: what a model says of other files finds nothing. */
static const char *const PATH = "/nonexistent/fuzz.onnx";

static void require(bool good) {
  if (!good) abort();
}

static struct tsr_net *read_one(const void *data, size_t size,
                                const struct tsr_net_options *o) {
  struct tsr_net *net = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status st = tsr_onnx_parse(PATH, data, size, o, &net, &err);
  require((st == TSR_OK) == (net != NULL));
  require((st == TSR_OK) == (err.total == 0));
  require(st == err.status);
  tsr_err_fini(&err);
  return net;
}

static bool has_graph(const struct tsr_net *net) {
  for (size_t i = 0; i < net->n_nodes; i++)
    for (size_t j = 0; j < net->nodes[i].n_attrs; j++)
      if (net->nodes[i].attrs[j].kind == TSR_ATTR_GRAPH) return true;
  return false;
}

static void write_back(const struct tsr_net *net) {
  unsigned char *data = NULL;
  size_t len = 0;
  enum tsr_status st = tsr_onnx_write(net, &data, &len, NULL);
  require((st == TSR_OK) == !has_graph(net));
  if (st != TSR_OK) return;
  struct tsr_net *again = read_one(data, len, NULL);
  require(again != NULL);
  require(again->n_nodes == net->n_nodes && again->n_inputs == net->n_inputs &&
          again->n_outputs == net->n_outputs && again->opset == net->opset);
  tsr_net_destroy(again);
  tsr_mem_free(data);
}

/* Finishing may fold: what a few bytes ask for has to stay small enough to be fast. */
static bool is_small(const struct tsr_net *net) {
  for (size_t i = 0; i < net->n_values; i++) {
    const struct tsr_net_value *v = &net->values[i];
    uint64_t n;
    if (v->shaped && (!tsr_array_count(v->rank, v->dim, &n) || n > 4096)) return false;
  }
  return net->n_nodes < 64;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tsr_net *net = read_one(data, size, NULL);
  if (net) {
    write_back(net);
    if (is_small(net)) {
      const struct tsr_net_options skip = {.skip_unsupported = true};
      struct tsr_err err = TSR_ERR_INIT;
      enum tsr_status st = tsr_net_finish(net, &skip, &err);
      require((st == TSR_OK) == (err.total == 0));
      tsr_err_fini(&err);
    }
  }
  tsr_net_destroy(net);
  return 0;
}
