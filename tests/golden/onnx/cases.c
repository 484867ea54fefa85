#include "tests/golden/onnx/cases.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workloads/onnx/onnx.h"

/* ---- folders ---- */

static int visible(const struct dirent *e) {
  return e->d_name[0] != '.';
}

static size_t walk_sets(const char *name, const char *folder, onnx_case_fn *fn, void *arg) {
  struct dirent **list;
  char model[1024], set[1400];
  size_t n = 0;
  snprintf(model, sizeof model, "%s/model.onnx", folder);
  if (access(model, R_OK) != 0) return 0;
  int count = scandir(folder, &list, visible, alphasort);
  for (int i = 0; i < count; i++) {
    if (strncmp(list[i]->d_name, "test_data_set_", 14) == 0) {
      snprintf(set, sizeof set, "%s/%s", folder, list[i]->d_name);
      fn(arg, name, model, set);
      n++;
    }
    free(list[i]);
  }
  if (count >= 0) free(list);
  return n;
}

size_t onnx_cases_walk(const char *root, const char *group, onnx_case_fn *fn, void *arg) {
  struct dirent **list;
  char path[512], folder[1000], name[500];
  size_t n = 0;
  snprintf(path, sizeof path, "%s/%s", root, group);
  int count = scandir(path, &list, visible, alphasort);
  for (int i = 0; i < count; i++) {
    snprintf(folder, sizeof folder, "%s/%.300s", path, list[i]->d_name);
    snprintf(name, sizeof name, "%.100s/%.300s", group, list[i]->d_name);
    n += walk_sets(name, folder, fn, arg);
    free(list[i]);
  }
  if (count >= 0) free(list);
  return n;
}

/* ---- what cannot be asked ---- */

/* A reader's refusal of a type that is no number. */
static bool refused_type(const struct tsr_err *err, struct tsr_str *why) {
  static const char *const kinds[] = {
      "a sequence",      "an optional",        "a map",
      "a sparse tensor", "elements of string", "elements of complex64"};
  for (size_t i = 0; err->n && i < sizeof kinds / sizeof *kinds; i++)
    if (strstr(err->msg[0], kinds[i])) {
      tsr_str_add(why, kinds[i]);
      return true;
    }
  return false;
}

static bool holds_graph(const struct tsr_net_node *n) {
  for (size_t i = 0; i < n->n_attrs; i++)
    if (n->attrs[i].kind == TSR_ATTR_GRAPH) return true;
  return false;
}

static void add_operator(struct tsr_str *why, const struct tsr_net_node *n) {
  char one[256];
  snprintf(one, sizeof one, "%.100s%s%.100s", n->domain, n->domain[0] ? "." : "", n->op_name);
  const char *at = why->p ? strstr(why->p, one) : NULL;
  size_t len = strlen(one);
  if (at && (at == why->p || at[-1] == ' ') && (at[len] == ' ' || !at[len])) return;
  tsr_str_addf(why, "%s%s", why->n ? " " : "", one);
}

/* Input k of a node, as the model or the data have it; NULL when a node makes it or there is
 * none.  Data stand in the order of the inputs. */
static const struct tsr_array *known_input(const struct onnx_case *c,
                                           const struct tsr_net_node *n, size_t k) {
  if (k >= n->n_in || n->in[k] == SIZE_MAX) return NULL;
  for (size_t i = 0; i < c->n_in && i < c->net->n_inputs; i++)
    if (c->net->inputs[i] == n->in[k]) return c->in[i];
  return c->net->values[n->in[k]].constant;
}

/* Told to train: statistics of the batch; elements dropped at random. */
static bool trains(const struct onnx_case *c, const struct tsr_net_node *n) {
  if (n->op == TSR_NET_BATCH_NORMALIZATION) return tsr_net_attr_int(n, "training_mode", 0) != 0;
  const struct tsr_array *ratio = known_input(c, n, 1), *training = known_input(c, n, 2);
  return n->op == TSR_NET_DROPOUT && training && training->n == 1 &&
         tsr_array_get(training, 0) != 0 && !(ratio && tsr_array_get(ratio, 0) == 0);
}

static bool any_trains(const struct onnx_case *c) {
  for (size_t i = 0; i < c->net->n_nodes; i++)
    if (trains(c, &c->net->nodes[i])) return true;
  return false;
}

static enum onnx_skip look_for_skip(const struct tsr_net *net, struct tsr_str *why) {
  for (size_t i = 0; i < net->n_nodes; i++)
    if (holds_graph(&net->nodes[i])) return ONNX_CONTROL;
  for (size_t i = 0; i < net->n_nodes; i++)
    if (net->nodes[i].op == TSR_NET_UNKNOWN) add_operator(why, &net->nodes[i]);
  return why->n ? ONNX_NO_OPERATOR : ONNX_RUNS;
}

/* ---- data ---- */

/* <folder>/<what>_<k>.pb for k = 0, 1, … */
static enum tsr_status read_arrays(const char *folder, const char *what,
                                   struct tsr_array ***out, size_t *n, struct tsr_err *err) {
  char path[1500];
  for (;; (*n)++) {
    snprintf(path, sizeof path, "%s/%s_%zu.pb", folder, what, *n);
    if (access(path, R_OK) != 0) return TSR_OK;
    void *p = *out;
    size_t cap = *n;
    if (!tsr_mem_grow(&p, &cap, *n + 1, sizeof **out)) return tsr_err_nomem(err);
    *out = p;
    enum tsr_status st = tsr_onnx_tensor_read(path, &(*out)[*n], err);
    if (st != TSR_OK) return st;
  }
}

/* ---- shapes ---- */

static void give_shape(struct tsr_net_value *v, const struct tsr_array *a) {
  v->shaped = true;
  v->rank = a->rank;
  for (unsigned d = 0; d < a->rank; d++) {
    v->dim[d] = a->dim[d];
    v->dim_name[d] = NULL;
  }
}

static bool fits(const struct tsr_net_value *v, const struct tsr_array *a) {
  bool same = v->rank == a->rank;
  for (unsigned d = 0; same && d < a->rank; d++)
    same = v->dim_name[d] || v->dim[d] == a->dim[d];
  return same;
}

enum { DIMS_MAX = 64 };

/* Open dimensions as the data have them, as a user would give them. */
static size_t collect_dims(const struct onnx_case *c, struct tsr_net_dim *dims) {
  size_t n = 0;
  for (size_t i = 0; i < c->n_in; i++) {
    const struct tsr_net_value *v = &c->net->values[c->in_value[i]];
    for (unsigned d = 0; d < v->rank && d < c->in[i]->rank && v->is_input; d++) {
      bool known = !v->dim_name[d] || n == DIMS_MAX;
      for (size_t k = 0; k < n && !known; k++) known = !strcmp(dims[k].name, v->dim_name[d]);
      if (!known) dims[n++] = (struct tsr_net_dim){v->dim_name[d], c->in[i]->dim[d]};
    }
  }
  return n;
}

/* Data of bf16 are stored as u16 of the same bits. */
static void bits_to_bf16(struct tsr_array *a) {
  double *f = tsr_mem_array((size_t)a->n, sizeof *f);
  for (uint64_t i = 0; f && i < a->n; i++) {
    const unsigned char code[2] = {(unsigned char)(a->i[i] & 0xff),
                                   (unsigned char)(a->i[i] >> 8 & 0xff)};
    tsr_dtype_load(TSR_DTYPE_BF16, code, &f[i], NULL);
  }
  if (!f) return;
  tsr_mem_free(a->i);
  a->i = NULL;
  a->f = f;
  a->type = TSR_DTYPE_BF16;
}

/* Data stand in the order of the inputs. */
static enum tsr_status assign(struct onnx_case *c, struct tsr_err *err) {
  if (c->n_in > c->net->n_inputs)
    return tsr_err_set(err, TSR_INPUT, "%s has %zu inputs of data for %zu inputs", c->name,
                       c->n_in, c->net->n_inputs);
  c->in_value = tsr_mem_array(c->n_in, sizeof *c->in_value);
  if (!c->in_value) return tsr_err_nomem(err);
  for (size_t i = 0; i < c->n_in; i++) {
    struct tsr_net_value *v = &c->net->values[c->net->inputs[i]];
    c->in_value[i] = c->net->inputs[i];
    if (v->type == TSR_DTYPE_BF16 && c->in[i]->type == TSR_DTYPE_U16) bits_to_bf16(c->in[i]);
    if (v->type != c->in[i]->type)
      return tsr_err_set(err, TSR_INPUT, "%s: data of input '%s' are %s, its type is %s",
                         c->name, v->name, tsr_dtype_name(c->in[i]->type),
                         tsr_dtype_name(v->type));
    /* Some data have another shape than the model says (`like` of CastLike, whose values
     * nothing reads): the data are what is asked. */
    if (!v->shaped || !fits(v, c->in[i])) give_shape(v, c->in[i]);
  }
  return TSR_OK;
}

static enum tsr_status make_constants(struct onnx_case *c, enum onnx_constants how,
                                      struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; i < c->n_in && st == TSR_OK; i++)
    if (c->fix && c->net->values[c->in_value[i]].is_input &&
        tsr_net_is_parameter(c->net, c->in_value[i]))
      st = tsr_net_fix(c->net, c->in_value[i], c->in[i], err);
    else if (how == ONNX_ALL_CONSTANT || (how == ONNX_LISTS_CONSTANT && c->in[i]->rank <= 1))
      st = tsr_net_constant(c->net, c->in_value[i], c->in[i], err);
  return st;
}

/* The net with its shapes. */
static enum tsr_status finish(struct onnx_case *c, enum onnx_constants how,
                              struct tsr_err *err) {
  struct tsr_net_dim dims[DIMS_MAX];
  enum tsr_status st = assign(c, err);
  struct tsr_net_options o = {.dims = dims};
  if (st == TSR_OK) o.n_dims = collect_dims(c, dims);
  if (st == TSR_OK) st = make_constants(c, how, err);
  if (st == TSR_OK && how != ONNX_AS_INPUTS)
    for (size_t i = 0; i < c->n_in; i++) c->net->values[c->in_value[i]].is_weight = false;
  if (st == TSR_OK && how == ONNX_ALL_CONSTANT) o.n_dims = 0;
  if (st == TSR_OK) st = tsr_net_finish(c->net, &o, err);
  c->constants = how;
  return st;
}

/* A model whose shapes depend on what its inputs hold (the shape of a Reshape) has no shapes
 * before they are known: such inputs are constants then, as few as do. */
static enum tsr_status finish_somehow(struct onnx_case *c, struct tsr_err *err) {
  struct tsr_err first = TSR_ERR_INIT;
  enum tsr_status st = finish(c, ONNX_AS_INPUTS, &first);
  for (int how = ONNX_LISTS_CONSTANT; st == TSR_INPUT && how <= ONNX_ALL_CONSTANT; how++) {
    struct tsr_err again = TSR_ERR_INIT;
    tsr_mem_free(c->in_value);
    c->in_value = NULL;
    tsr_net_destroy(c->net);
    c->net = NULL;
    st = tsr_onnx_read(c->model, NULL, &c->net, &again);
    if (st == TSR_OK) st = finish(c, (enum onnx_constants)how, &again);
    if (st != TSR_OK && how == ONNX_ALL_CONSTANT)
      tsr_err_set(err, st, "%s", again.n ? again.msg[0] : "no message");
    tsr_err_fini(&again);
  }
  tsr_err_fini(&first);
  return st;
}

enum tsr_status onnx_case_open(const char *name, const char *model, const char *folder,
                               struct onnx_case *c, enum onnx_skip *skip, struct tsr_err *err) {
  struct tsr_err reading = TSR_ERR_INIT;
  const bool fixes = c->fix;
  *c = (struct onnx_case){
      .name = name, .model = model, .folder = folder, .fix = fixes, .why = TSR_STR_INIT};
  *skip = ONNX_RUNS;
  enum tsr_status st = tsr_onnx_read(model, NULL, &c->net, &reading);
  if (st == TSR_OK)
    *skip = look_for_skip(c->net, &c->why);
  else if (refused_type(&reading, &c->why))
    *skip = ONNX_NO_NUMBERS;
  else
    tsr_err_set(err, st, "%s", reading.n ? reading.msg[0] : "no message");
  tsr_err_fini(&reading);
  if (*skip != ONNX_RUNS) {
    tsr_net_destroy(c->net);
    c->net = NULL;
    return TSR_OK;
  }
  if (st == TSR_OK) st = read_arrays(folder, "input", &c->in, &c->n_in, err);
  if (st == TSR_OK) st = read_arrays(folder, "output", &c->want, &c->n_out, err);
  if (st == TSR_OK && any_trains(c)) {
    *skip = ONNX_TRAINS;
    tsr_net_destroy(c->net);
    c->net = NULL;
    return TSR_OK;
  }
  if (st == TSR_OK) st = finish_somehow(c, err);
  for (size_t i = 0; st == TSR_OK && i < c->n_out && i < c->net->n_outputs; i++)
    if (c->net->values[c->net->outputs[i]].type == TSR_DTYPE_BF16 &&
        c->want[i]->type == TSR_DTYPE_U16)
      bits_to_bf16(c->want[i]);
  return st;
}

void onnx_case_close(struct onnx_case *c) {
  for (size_t i = 0; i < c->n_in; i++) tsr_array_destroy(c->in[i]);
  for (size_t i = 0; i < c->n_out; i++) tsr_array_destroy(c->want[i]);
  tsr_mem_free(c->in);
  tsr_mem_free(c->want);
  tsr_mem_free(c->in_value);
  tsr_net_destroy(c->net);
  tsr_str_fini(&c->why);
}

/* ---- comparing ---- */

static void add_shape(struct tsr_str *s, const struct tsr_array *a) {
  tsr_str_addf(s, "%s[", tsr_dtype_name(a->type));
  for (unsigned i = 0; i < a->rank; i++) tsr_str_addf(s, "%s%" PRIu64, i ? "," : "", a->dim[i]);
  tsr_str_add(s, "]");
}

/* Stored bf16 were cut off where a cast rounds: they may be one unit in the last place away. */
static struct onnx_distance distance_of(enum tsr_dtype type, const struct onnx_distance *d) {
  return type == TSR_DTYPE_BF16 ? (struct onnx_distance){0x1p-7, d->absolute} : *d;
}

static bool same_float(double got, double want, const struct onnx_distance *d) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (isinf(want) || isinf(got)) return got == want;
  return fabs(got - want) <= d->absolute + d->relative * fabs(want);
}

bool onnx_same(const struct tsr_array *got, const struct tsr_array *want,
               const struct onnx_distance *d, struct tsr_str *why) {
  bool shaped = got->type == want->type && got->rank == want->rank;
  for (unsigned i = 0; i < want->rank && shaped; i++) shaped = got->dim[i] == want->dim[i];
  if (!shaped) {
    tsr_str_add(why, "expected ");
    add_shape(why, want);
    tsr_str_add(why, ", got ");
    add_shape(why, got);
    return false;
  }
  struct onnx_distance far = distance_of(want->type, d);
  for (uint64_t i = 0; i < want->n; i++) {
    if (want->f) {
      double v = tsr_dtype_round(got->type, got->f[i]);
      if (same_float(v, want->f[i], &far)) continue;
      tsr_str_addf(why, "element %" PRIu64 ": expected %.9g, got %.9g", i, want->f[i], v);
    } else {
      if (got->i[i] == want->i[i]) continue;
      tsr_str_addf(why, "element %" PRIu64 ": expected %" PRId64 ", got %" PRId64, i,
                   want->i[i], got->i[i]);
    }
    return false;
  }
  return true;
}
