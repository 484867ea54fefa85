/* An ONNX model as a workload: read, finished, translated.
 *
 * What a run stores of it is a manifest: where it lies, how it was read, a hash of its nodes'
 * attributes and of its constants (those in files beside it too), and the list of its nodes
 * (translate.h).  A run made again reads the file again and holds it against the manifest. */
#include <inttypes.h>
#include <string.h>

#include "workloads/net/net.h"
#include "workloads/onnx/onnx.h"
#include "workloads/translate/translate.h"
#include "workloads/workloads_int.h"

static uint64_t hash_text(uint64_t h, const char *text) {
  return text ? tsr_fnv1a(h, text, strlen(text)) : h;
}

static uint64_t hash_array(uint64_t h, const struct tsr_array *a) {
  if (!a) return h;
  h = tsr_fnv1a(h, a->dim, a->rank * sizeof a->dim[0]);
  return tsr_fnv1a(h, a->f ? (const void *)a->f : (const void *)a->i, a->n * 8);
}

static uint64_t hash_attr(uint64_t h, const struct tsr_net_attr *a) {
  h = hash_text(h, a->name);
  h = tsr_fnv1a(h, &a->i, sizeof a->i);
  h = tsr_fnv1a(h, &a->f, sizeof a->f);
  h = hash_array(hash_text(h, a->text), a->array);
  for (size_t k = 0; k < a->n; k++) {
    if (a->ints) h = tsr_fnv1a(h, &a->ints[k], sizeof a->ints[k]);
    if (a->floats) h = tsr_fnv1a(h, &a->floats[k], sizeof a->floats[k]);
    if (a->texts) h = hash_text(h, a->texts[k]);
  }
  return h;
}

/* Of what the list of nodes does not show. */
static uint64_t hash_net(const struct tsr_net *net) {
  uint64_t h = TSR_FNV_INIT;
  for (size_t i = 0; i < net->n_nodes; i++)
    for (size_t k = 0; k < net->nodes[i].n_attrs; k++)
      h = hash_attr(h, &net->nodes[i].attrs[k]);
  for (size_t i = 0; i < net->n_values; i++) h = hash_array(h, net->values[i].constant);
  return h;
}

/* Before translation, which adds constants of its own. */
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

/* What is asked for becomes an output, so that nothing takes it in. */
static enum tsr_status make_outputs(struct tsr_net *net, const struct tsr_workload_options *o,
                                    struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; !st && i < o->n_made; i++) {
    size_t v = tsr_net_find(net, o->made[i]);
    bool made = v != SIZE_MAX && net->values[v].producer != SIZE_MAX;
    if (made && !net->values[v].is_output) st = tsr_net_output(net, v, err);
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
  if (!st) st = make_outputs(net, o, err);
  if (!st) st = tsr_net_finish(net, &how, err);
  if (st) {
    tsr_net_destroy(net);
    return st;
  }
  char *text = manifest(path, net, o);
  st = text ? tsr_translate(net, o->prefix, &g, err) : tsr_err_nomem(err);
  if (st) {
    tsr_mem_free(text);
    tsr_net_destroy(net);
    return st;
  }
  g->text = tsr_arena_printf(g->arena, "%s%s", text, g->text);
  tsr_mem_free(text);
  st = g->text ? same_model(path, g->text, o->text, err) : tsr_err_nomem(err);
  if (st)
    tsr_graph_destroy(g);
  else
    *out = g;
  return st;
}
