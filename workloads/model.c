/* An ONNX model as a workload: read, finished, translated.
 *
 * What a run stores of it is a manifest: where it lies, a hash of its bytes and of its
 * constants (those in files beside it too), and how it was read.  A run made again reads the
 * file again and holds it against the manifest. */
#include <inttypes.h>
#include <string.h>

#include "sim/base/io.h"
#include "workloads/net/net.h"
#include "workloads/onnx/onnx.h"
#include "workloads/translate/translate.h"
#include "workloads/workloads_int.h"

static uint64_t hash_net(const struct tsr_net *net) {
  uint64_t h = TSR_FNV_INIT;
  for (size_t i = 0; i < net->n_nodes; i++) {
    h = tsr_fnv1a(h, net->nodes[i].op_name, strlen(net->nodes[i].op_name));
    h = tsr_fnv1a(h, net->nodes[i].name, strlen(net->nodes[i].name));
  }
  for (size_t i = 0; i < net->n_values; i++) {
    const struct tsr_net_value *v = &net->values[i];
    h = tsr_fnv1a(h, v->name, strlen(v->name));
    h = tsr_fnv1a(h, v->dim, v->rank * sizeof v->dim[0]);
    const struct tsr_array *a = v->constant;
    if (a) h = tsr_fnv1a(h, a->f ? (const void *)a->f : (const void *)a->i, a->n * 8);
  }
  return h;
}

static char *manifest(const char *path, const struct tsr_net *net,
                      const struct tsr_workload_options *o) {
  struct tsr_str s = TSR_STR_INIT;
  tsr_str_addf(&s, "onnx %s\nhash %016" PRIx64 "\nopset %d\nnodes %zu\n", path, hash_net(net),
               net->opset, net->n_nodes);
  for (size_t i = 0; i < o->n_dims; i++)
    tsr_str_addf(&s, "dim %s=%" PRIu64 "\n", o->dims[i].name, o->dims[i].value);
  if (o->skip_unsupported) tsr_str_addf(&s, "skipped %zu\n", net->n_skipped);
  char *text = s.failed ? NULL : tsr_str_take(&s);
  tsr_str_fini(&s);
  return text;
}

static enum tsr_status same_model(const char *path, const char *is, const char *was,
                                  struct tsr_err *err) {
  if (!was || !strcmp(is, was)) return TSR_OK;
  return tsr_err_set(err, TSR_INPUT,
                     "model '%s' is not what the stored run read; expected the file as it was "
                     "then",
                     path);
}

static enum tsr_status fix_parameters(struct tsr_net *net, const struct tsr_workload_options *o,
                                      struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; !st && i < o->n_given; i++) {
    size_t v = tsr_net_find(net, o->given[i].name);
    if (v != SIZE_MAX && net->values[v].is_input && tsr_net_is_parameter(net, v))
      st = tsr_net_fix(net, v, o->given[i].array, err);
  }
  return st;
}

enum tsr_status tsri_model_read(const char *path, const struct tsr_workload_options *o,
                                struct tsr_graph **out, struct tsr_err *err) {
  struct tsr_net *net = NULL;
  struct tsr_graph *g = NULL;
  const struct tsr_net_options how = {o->dims, o->n_dims, o->skip_unsupported};
  if (o->batch > 1)
    return tsr_err_set(
        err, TSR_USAGE,
        "the batch of '%s' is a dimension of its inputs; expected --dim NAME=%" PRIu64
        " instead of --batch",
        path, o->batch);
  enum tsr_status st = tsr_onnx_read(path, NULL, &net, err);
  if (st) return st;
  st = fix_parameters(net, o, err);
  if (!st) st = tsr_net_finish(net, &how, err);
  if (st) {
    tsr_net_destroy(net);
    return st;
  }
  char *text = manifest(path, net, o);
  st = text ? same_model(path, text, o->text, err) : tsr_err_nomem(err);
  if (!st) st = tsr_translate(net, o->prefix, &g, err);
  if (st) {
    tsr_mem_free(text);
    tsr_net_destroy(net);
    return st;
  }
  g->text = tsr_arena_strdup(g->arena, text);
  tsr_mem_free(text);
  if (!g->text) {
    tsr_graph_destroy(g);
    return tsr_err_nomem(err);
  }
  *out = g;
  return TSR_OK;
}
