/* Values handed from layer to layer (sim/run/hand.h). */
#include "sim/run/hand.h"

#include <string.h>

#include "kernels/check/draw.h"
#include "kernels/check/exact.h"
#include "models/arith/gemm.h"
#include "sim/base/log.h"
#include "sim/base/rng.h"
#include "sim/base/str.h"
#include "sim/run/run_int.h"
#include "sim/run/scaling.h"
#include "workloads/translate/translate.h"

/* One net of one workload. */
struct holder {
  const struct tsr_graph *graph;
  struct tsr_net *net;
  size_t index;                    /* of the graph's nets */
  struct tsr_array **value, **ref; /* by value; owned but for the model's constants */
  bool *wanted;                    /* outlives the net's last layer */
  size_t layers;                   /* still to be done */
  bool ready;                      /* the reference and the scales are there */
};

struct tsri_hand {
  const struct tsr_run_plan *plan;
  uint64_t seed;
  size_t n;
  struct holder *holder; /* of all nets, tenant by tenant */
  size_t *first;         /* the first of each tenant */
};

static struct holder *holder_at(const struct tsri_hand *h, size_t graph, size_t net) {
  return &h->holder[h->first[graph] + net];
}

static const struct tsr_op_binding *binding_of(const struct tsri_hand *h, size_t layer) {
  const struct tsr_run_layer_plan *l = &h->plan->layers[layer];
  if (!l->graph->bindings) return NULL;
  return &l->graph->bindings[l->op - l->graph->ops];
}

static struct holder *holder_of(const struct tsri_hand *h, size_t layer) {
  const struct tsr_op_binding *b = binding_of(h, layer);
  return b ? holder_at(h, h->plan->layers[layer].tenant, b->net) : NULL;
}

/* ---- life ---- */

static bool holder_init(struct holder *x, const struct tsr_graph *g, size_t net) {
  x->graph = g;
  x->net = g->nets[net];
  x->index = net;
  size_t n = x->net->n_values;
  x->value = tsr_mem_array(n + 1, sizeof *x->value);
  x->ref = tsr_mem_array(n + 1, sizeof *x->ref);
  x->wanted = tsr_mem_array(n + 1, sizeof *x->wanted);
  if (!x->value || !x->ref || !x->wanted) return false;
  for (size_t i = 0; i < n; i++)
    if (x->net->values[i].is_output)
      x->wanted[i] = x->wanted[tsr_translate_source(x->net, i)] = true;
  for (size_t i = 0; i < g->n_ops; i++) x->layers += g->bindings[i].net == net;
  return true;
}

enum tsr_status tsri_hand_create(const struct tsr_run_plan *p, uint64_t seed,
                                 struct tsri_hand **out, struct tsr_err *err) {
  size_t n = 0;
  for (size_t t = 0; t < p->n_tenants; t++)
    if (p->tenants[t].graph->bindings) n += p->tenants[t].graph->n_nets;
  if (!n) return TSR_OK;
  struct tsri_hand *h = tsr_mem_alloc(sizeof *h);
  if (!h) return tsr_err_nomem(err);
  *h = (struct tsri_hand){.plan = p, .seed = seed};
  h->holder = tsr_mem_array(n, sizeof *h->holder);
  h->first = tsr_mem_array(p->n_tenants, sizeof *h->first);
  bool ok = h->holder && h->first;
  for (size_t t = 0; ok && t < p->n_tenants; t++) {
    const struct tsr_graph *g = p->tenants[t].graph;
    h->first[t] = h->n;
    for (size_t i = 0; ok && g->bindings && i < g->n_nets; i++)
      ok = holder_init(&h->holder[h->n++], g, i);
  }
  if (!ok) {
    tsri_hand_destroy(h);
    return tsr_err_nomem(err);
  }
  *out = h;
  return TSR_OK;
}

static void free_list(struct tsr_array **list, size_t n) {
  for (size_t i = 0; list && i < n; i++) tsr_array_destroy(list[i]);
  tsr_mem_free(list);
}

void tsri_hand_destroy(struct tsri_hand *h) {
  if (!h) return;
  for (size_t i = 0; h->holder && i < h->n; i++) {
    struct holder *x = &h->holder[i];
    free_list(x->value, x->net ? x->net->n_values : 0);
    free_list(x->ref, x->net ? x->net->n_values : 0);
    tsr_mem_free(x->wanted);
  }
  tsr_mem_free(h->holder);
  tsr_mem_free(h->first);
  tsr_mem_free(h);
}

/* ---- values ---- */

static enum tsr_status check_shape(const struct tsr_net_value *v, const struct tsr_array *a,
                                   struct tsr_err *err) {
  bool same = v->rank == a->rank;
  for (unsigned d = 0; same && d < v->rank; d++) same = v->dim[d] == a->dim[d];
  if (same) return TSR_OK;
  struct tsr_str want = TSR_STR_INIT, got = TSR_STR_INIT;
  for (unsigned d = 0; d < v->rank; d++)
    tsr_str_addf(&want, "%s%llu", d ? "x" : "", (unsigned long long)v->dim[d]);
  for (unsigned d = 0; d < a->rank; d++)
    tsr_str_addf(&got, "%s%llu", d ? "x" : "", (unsigned long long)a->dim[d]);
  enum tsr_status st =
      tsr_err_set(err, TSR_INPUT, "input '%s' has another shape; expected %s, got '%s'",
                  v->name, want.p ? want.p : "a scalar", got.p ? got.p : "a scalar");
  tsr_str_fini(&want);
  tsr_str_fini(&got);
  return st;
}

/* An array of a value's own kind with the values of another. */
static enum tsr_status copy_as(const struct tsr_net_value *v, const struct tsr_array *from,
                               struct tsr_array **out, struct tsr_err *err) {
  struct tsr_array *a = NULL;
  enum tsr_status st = tsr_array_create(NULL, v->type, v->rank, v->dim, &a, err);
  for (uint64_t i = 0; !st && i < a->n; i++) {
    double x = tsr_array_get(from, i);
    if (a->i && from->i)
      a->i[i] = from->i[i];
    else
      tsr_array_set(a, i, x);
    if (a->i && from->f && (double)a->i[i] != x)
      st = tsr_err_set(err, TSR_INPUT,
                       "input '%s' is of %s; expected whole numbers within it, got %g at "
                       "element %llu",
                       v->name, tsr_dtype_name(v->type), x, (unsigned long long)i);
  }
  if (st) {
    if (a) tsr_array_destroy(a);
    return st;
  }
  *out = a;
  return TSR_OK;
}

static enum tsr_status give(struct tsr_array **to, const struct tsr_net_value *v,
                            struct tsr_array *array, struct tsr_err *err) {
  struct tsr_array *own = array;
  enum tsr_status st = check_shape(v, array, err);
  if (!st && array->type != v->type) st = copy_as(v, array, &own, err);
  if (st || own != array) tsr_array_destroy(array);
  if (st) return st;
  tsr_array_destroy(*to);
  *to = own;
  return TSR_OK;
}

enum tsr_status tsri_hand_give(struct tsri_hand *h, size_t graph, size_t net, size_t value,
                               struct tsr_array *array, struct tsr_err *err) {
  struct holder *x = holder_at(h, graph, net);
  return give(&x->value[value], &x->net->values[value], array, err);
}

enum tsr_status tsri_hand_refer(struct tsri_hand *h, size_t graph, size_t net, size_t value,
                                struct tsr_array *array, struct tsr_err *err) {
  struct holder *x = holder_at(h, graph, net);
  return give(&x->ref[value], &x->net->values[value], array, err);
}

/* Integers that name rows of a table are below its size; others below 2. */
static uint64_t index_limit(const struct tsr_net *net, size_t value) {
  for (size_t i = 0; i < net->n_nodes; i++) {
    const struct tsr_net_node *n = &net->nodes[i];
    if (n->op != TSR_NET_GATHER || n->n_in < 2 || n->in[1] != value) continue;
    const struct tsr_net_value *table = tsr_net_in(net, n, 0);
    unsigned axis;
    if (table && table->shaped &&
        tsr_net_axis(tsr_net_attr_int(n, "axis", 0), table->rank, &axis))
      return tsr_max_u64(table->dim[axis], 1);
  }
  return 2;
}

/* What nobody gave: drawn from the seed and the value's name. */
static enum tsr_status draw(const struct tsri_hand *h, const struct holder *x, size_t value,
                            struct tsr_array **out, struct tsr_err *err) {
  const struct tsr_net_value *v = &x->net->values[value];
  struct tsr_array *a;
  if (!v->shaped)
    return tsr_err_set(err, TSR_INPUT, "value '%s' has no shape; expected --input with it",
                       v->name);
  enum tsr_status st = tsr_array_create(NULL, v->type, v->rank, v->dim, &a, err);
  if (st) return st;
  uint64_t stream = tsr_fnv1a(TSR_FNV_INIT, v->name, strlen(v->name)) >> 4;
  uint64_t below = v->type == TSR_DTYPE_BOOL ? 2 : a->i ? index_limit(x->net, value) : 0;
  for (uint64_t i = 0; i < a->n; i++) {
    if (a->f)
      a->f[i] = (double)tsr_draw_normal(h->seed, stream, i);
    else
      a->i[i] = (int64_t)(tsr_rng_u64(h->seed, stream, i) % below);
  }
  *out = a;
  return TSR_OK;
}

/* The array of a value that is read. */
static enum tsr_status present(const struct tsri_hand *h, struct holder *x, size_t value,
                               const struct tsr_array **out, struct tsr_err *err) {
  const struct tsr_net_value *v = &x->net->values[value];
  enum tsr_status st = TSR_OK;
  if (v->constant) {
    *out = v->constant;
    return TSR_OK;
  }
  if (!x->value[value]) st = draw(h, x, value, &x->value[value], err);
  if (!st) *out = x->value[value];
  return st;
}

static bool keep_all(void *arg, size_t value) {
  (void)arg;
  (void)value;
  return true;
}

/* What no node makes is the same for the reference as for the machine. */
static enum tsr_status refer_inputs(struct tsri_hand *h, struct holder *x,
                                    struct tsr_err *err) {
  for (size_t i = 0; i < x->net->n_values; i++) {
    const struct tsr_net_value *v = &x->net->values[i];
    bool skipped = v->producer != SIZE_MAX && x->net->nodes[v->producer].skipped;
    const struct tsr_array *a = NULL;
    if (v->constant || x->ref[i] || !(v->is_input || (skipped && v->shaped))) continue;
    enum tsr_status st = present(h, x, i, &a, err);
    if (!st) st = copy_as(v, a, &x->ref[i], err);
    if (st) return st;
  }
  return TSR_OK;
}

bool tsri_hand_fresh(const struct tsri_hand *h, size_t layer, size_t *graph, size_t *net) {
  const struct holder *x = holder_of(h, layer);
  if (!x || x->ready) return false;
  *graph = h->plan->layers[layer].tenant;
  *net = x->index;
  return true;
}

enum tsr_status tsri_hand_begin(struct tsri_hand *h, size_t layer, struct tsr_err *err) {
  struct holder *x = holder_of(h, layer);
  if (!x) return TSR_OK;
  if (x->ready) {
    const struct tsr_operand_view *b = &binding_of(h, layer)->b;
    size_t v = b->n_parts == 1 ? b->part[0].value : SIZE_MAX;
    if (v != SIZE_MAX && x->net->values[v].constant)
      tsri_scaling_late(h->plan, x->graph, x->index, x->net->values[v].constant, x->value);
    return TSR_OK;
  }
  enum tsr_status st = refer_inputs(h, x, err);
  if (!st) st = tsr_net_eval(x->net, x->ref, keep_all, NULL, err);
  if (!st) st = tsri_scaling_fill(h->plan, x->graph, x->index, x->ref, err);
  x->ready = !st;
  return st;
}

/* ---- operands ---- */

static const struct tsr_operand_view *view_of(const struct tsr_op_binding *b, int operand) {
  switch (operand) {
  case TSRI_HAND_A: return &b->a;
  case TSRI_HAND_B: return &b->b;
  default: return &b->step[operand - TSRI_HAND_STEP];
  }
}

bool tsri_hand_has(const struct tsri_hand *h, size_t layer, int operand) {
  const struct tsr_op_binding *b = h ? binding_of(h, layer) : NULL;
  return b && view_of(b, operand)->n_parts;
}

/* A view being read into every row of an operand. */
struct gather {
  const struct tsr_array *a; /* NULL: fill alone */
  double fill;
  double *to;
  uint64_t cols, pitch; /* elements of the view in a row; of the operand */
};

static void gather_run(void *arg, uint64_t first, uint64_t n, int64_t at, int64_t step) {
  const struct gather *g = arg;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t e = first + i, to = g->cols == g->pitch ? e : e / g->cols * g->pitch + e % g->cols;
    g->to[to] = at == TSR_VIEW_OUTSIDE || !g->a
                    ? g->fill
                    : tsr_array_get(g->a, (uint64_t)(at + (int64_t)i * step));
  }
}

enum tsr_status tsri_hand_gather(const struct tsr_net *net, struct tsr_array *const *value,
                                 const struct tsr_operand_view *v, bool apart, double *to,
                                 struct tsr_err *err) {
  uint64_t pitch = 0, at = 0;
  for (unsigned p = 0; p < v->n_parts; p++) pitch += v->cols[p];
  for (unsigned p = 0; p < v->n_parts; p++) {
    size_t from = v->part[p].value;
    struct gather g = {NULL, v->part[p].fill, to + at, v->cols[p], apart ? v->cols[p] : pitch};
    if (from != SIZE_MAX)
      g.a = net->values[from].constant ? net->values[from].constant : value[from];
    if (from != SIZE_MAX && !g.a)
      return tsr_err_set(err, TSR_INPUT, "value '%s' is read before it is made",
                         net->values[from].name);
    tsr_view_runs(&v->part[p], gather_run, &g);
    at += apart ? tsr_view_elems(&v->part[p]) : v->cols[p];
  }
  return TSR_OK;
}

/* Inputs that nobody gave are drawn when they are first read. */
static enum tsr_status draw_missing(const struct tsri_hand *h, struct holder *x,
                                    const struct tsr_operand_view *v, struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  for (unsigned p = 0; !st && p < v->n_parts; p++) {
    const struct tsr_array *a;
    if (v->part[p].value != SIZE_MAX) st = present(h, x, v->part[p].value, &a, err);
  }
  return st;
}

enum tsr_status tsri_hand_take(struct tsri_hand *h, size_t layer, int operand,
                               const struct tsr_format *f, uint64_t n, void *codes, float *from,
                               struct tsr_err *err) {
  const struct tsr_operand_view *v = view_of(binding_of(h, layer), operand);
  size_t bytes = tsr_gemm_code_bytes(f);
  uint64_t all = 0;
  for (unsigned p = 0; p < v->n_parts; p++) all += tsr_view_elems(&v->part[p]);
  if (all != n)
    return tsr_err_set(err, TSR_SIM,
                       "layer '%s': operand %c has %llu elements, %llu are bound to it",
                       h->plan->layers[layer].op->name, "abcdefghij"[operand],
                       (unsigned long long)n, (unsigned long long)all);
  double *value = tsr_mem_array(n, sizeof *value);
  if (!value) return tsr_err_nomem(err);
  struct holder *x = holder_of(h, layer);
  enum tsr_status st = draw_missing(h, x, v, err);
  bool apart = operand == TSRI_HAND_A && tsri_op_parts(&h->plan->layers[layer]);
  if (!st) st = tsri_hand_gather(x->net, x->value, v, apart, value, err);
  for (uint64_t i = 0; !st && i < n; i++) {
    tsr_exact_code_set(codes, bytes, i,
                       tsr_arith_from_double(f, TSR_ROUND_RNE, value[i], NULL));
    if (from) from[i] = (float)value[i];
  }
  tsr_mem_free(value);
  return st;
}

/* ---- results ---- */

bool tsri_hand_keeps(const struct tsri_hand *h, size_t layer, bool columns) {
  const struct tsr_op_binding *b = h ? binding_of(h, layer) : NULL;
  return b && (columns ? b->has_out2 : b->has_out);
}

struct scatter {
  struct tsr_array *to;
  const struct tsr_array *ref; /* NULL: there is none */
  const struct tsr_format *f;
  const uint8_t *codes;
  uint32_t elem;
  struct tsr_check *check;
};

void tsri_hand_add(struct tsr_check *check, const struct tsr_format *f, double exact,
                   uint64_t code) {
  if (f->exp_bits > 9) { /* results themselves may lie beyond what is counted */
    double got = tsr_arith_to_double(f, code);
    if (exact - exact == 0 && got - got == 0) tsr_check_add_values(check, exact, got, 0);
    return;
  }
  if (exact > 0x1p680 || exact < -0x1p680) exact *= __builtin_inf();
  tsr_check_add_double(check, exact, code, 0, 0);
}

static void scatter_run(void *arg, uint64_t first, uint64_t n, int64_t at, int64_t step) {
  const struct scatter *s = arg;
  for (uint64_t i = 0; i < n; i++) {
    const uint8_t *p = s->codes + (first + i) * s->elem;
    uint64_t code = 0, to = (uint64_t)(at + (int64_t)i * step);
    for (uint32_t j = 0; j < s->elem; j++) code |= (uint64_t)p[j] << 8 * j;
    tsr_array_set(s->to, to, tsr_arith_to_double(s->f, code));
    if (s->ref) tsri_hand_add(s->check, s->f, tsr_array_get(s->ref, to), code);
  }
}

enum tsr_status tsri_hand_put(struct tsri_hand *h, size_t layer, bool columns,
                              const struct tsr_format *f, uint32_t elem, uint64_t n,
                              const uint8_t *codes, struct tsr_check *check, bool *held,
                              struct tsr_err *err) {
  const struct tsr_op_binding *b = binding_of(h, layer);
  struct holder *x = holder_of(h, layer);
  const struct tsr_view *view = columns ? &b->out2 : &b->out;
  const struct tsr_net_value *v = &x->net->values[view->value];
  TSR_CHECK(tsr_view_elems(view) == n);
  enum tsr_status st = TSR_OK;
  if (!x->value[view->value])
    st = tsr_array_create(NULL, v->type, v->rank, v->dim, &x->value[view->value], err);
  if (st) return st;
  struct scatter s = {x->value[view->value], x->ref[view->value], f, codes, elem, check};
  *held = s.ref != NULL;
  if (*held) tsr_check_init(check, f);
  tsr_view_runs(view, scatter_run, &s);
  return TSR_OK;
}

enum tsr_status tsri_hand_row(const struct tsr_check *check, struct tsr_arena *arena,
                              struct tsr_run_numeric *out, struct tsr_err *err) {
  return tsri_run_numeric_whole(check, "network", 0, arena, out, err);
}

/* ---- the end of a net ---- */

void tsri_hand_want(struct tsri_hand *h, size_t graph, size_t net, size_t value) {
  struct holder *x = holder_at(h, graph, net);
  x->wanted[value] = x->wanted[tsr_translate_source(x->net, value)] = true;
}

bool tsri_hand_last(const struct tsri_hand *h, size_t layer, size_t *graph, size_t *net) {
  const struct holder *x = holder_of(h, layer);
  if (!x || x->layers != 1) return false;
  *graph = h->plan->layers[layer].tenant;
  *net = x->index;
  return true;
}

static void free_values(struct holder *x, bool all) {
  for (size_t i = 0; i < x->net->n_values; i++) {
    if (x->wanted[i] && !all) continue;
    tsr_array_destroy(x->value[i]);
    tsr_array_destroy(x->ref[i]);
    x->value[i] = x->ref[i] = NULL;
  }
}

void tsri_hand_end(struct tsri_hand *h, size_t layer) {
  struct holder *x = holder_of(h, layer);
  if (x && !--x->layers) free_values(x, false);
}

void tsri_hand_release(struct tsri_hand *h, size_t graph, size_t net) {
  free_values(holder_at(h, graph, net), true);
}

const struct tsr_array *tsri_hand_value(const struct tsri_hand *h, size_t graph, size_t net,
                                        size_t value) {
  struct holder *x = holder_at(h, graph, net);
  value = tsr_translate_source(x->net, value);
  return x->net->values[value].constant ? x->net->values[value].constant : x->value[value];
}

const struct tsr_array *tsri_hand_reference(const struct tsri_hand *h, size_t graph, size_t net,
                                            size_t value) {
  struct holder *x = holder_at(h, graph, net);
  if (x->net->values[value].constant) return x->net->values[value].constant;
  return x->ref[value] ? x->ref[value] : x->ref[tsr_translate_source(x->net, value)];
}
