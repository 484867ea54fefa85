#include "sim/run/feed.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/ref/vector.h"
#include "sim/base/log.h"
#include "sim/run/run_int.h"
#include "sim/run/scaling.h"
#include "sim/run/steps.h"
#include "workloads/onnx/onnx.h"
#include "workloads/tensor/npy.h"
#include "workloads/tensor/safetensors.h"

/* Sums over all passes. */
struct scores {
  uint64_t n, right, right_ref, same;
  double kl, kl_max, bits, bits_ref;
  uint64_t followed; /* tokens whose follower is known */
};
struct error {
  size_t graph; /* the workload */
  const char *name;
  double d2, s2, max_abs;
  uint64_t n;
};
struct expected {
  double ulp;
  uint64_t n;
  bool seen;
};

struct tsri_feed {
  const struct tsr_run_plan *plan;
  const struct tsr_run_options *o;
  struct tsri_hand *h;
  struct expected *expected;
  bool *dumped;
  struct scores scores;
  size_t n_errors, cap_errors;
  struct error *errors;
};

/* ---- files ---- */

static enum tsr_status read_named(const char *file, const char *tensor, struct tsr_array **out,
                                  struct tsr_err *err) {
  struct tsr_safetensors *s;
  enum tsr_status st = tsr_safetensors_open(file, &s, err);
  if (st) return st;
  size_t i = tsr_safetensors_find(s, tensor);
  if (i == SIZE_MAX)
    st = tsr_err_set(err, TSR_INPUT, "'%s' has no tensor '%s'", file, tensor);
  else
    st = tsr_safetensors_read(s, i, NULL, out, err);
  tsr_safetensors_close(s);
  return st;
}

enum tsr_status tsri_feed_read(const char *path, struct tsr_array **out, struct tsr_err *err) {
  static const char mark[] = ".safetensors:";
  const char *at = strstr(path, mark);
  if (tsr_str_ends(path, ".pb")) return tsr_onnx_tensor_read(path, out, err);
  if (!at) return tsr_npy_read(path, NULL, out, err);
  char *file = tsr_mem_strndup(path, (size_t)(at - path) + sizeof mark - 2);
  if (!file) return tsr_err_nomem(err);
  enum tsr_status st = read_named(file, at + sizeof mark - 1, out, err);
  tsr_mem_free(file);
  return st;
}

/* ---- names ---- */

static const struct tsr_graph *graph_of(const struct tsri_feed *f, size_t graph) {
  return f->plan->tenants[graph].graph;
}

/* Whether a constant is what was given for it: an input that says how an operator works. */
static bool is_same(const struct tsr_array *a, const struct tsr_array *b) {
  bool same = a->rank == b->rank && a->n == b->n && !a->f == !b->f;
  for (unsigned d = 0; same && d < a->rank; d++) same = a->dim[d] == b->dim[d];
  if (same && a->f) same = !memcmp(a->f, b->f, a->n * sizeof *a->f);
  if (same && a->i) same = !memcmp(a->i, b->i, a->n * sizeof *a->i);
  return same;
}

/* A value of any net by name; `given`: for an input. */
static bool exists(const struct tsri_feed *f, const char *name, const struct tsr_array *given) {
  for (size_t t = 0; t < f->plan->n_tenants; t++) {
    const struct tsr_graph *g = graph_of(f, t);
    for (size_t i = 0; g->bindings && i < g->n_nets; i++) {
      size_t v = tsr_net_find(g->nets[i], name);
      if (v == SIZE_MAX) continue;
      const struct tsr_net_value *x = &g->nets[i]->values[v];
      if (!given || x->is_input || (x->constant && is_same(x->constant, given))) return true;
    }
  }
  return false;
}

static enum tsr_status unknown(const struct tsri_feed *f, const char *option, const char *name,
                               bool input, struct tsr_err *err) {
  const char *names[256];
  size_t n = 0;
  for (size_t t = 0; t < f->plan->n_tenants; t++) {
    const struct tsr_graph *g = graph_of(f, t);
    if (!g->bindings || !g->n_nets) continue;
    const struct tsr_net *net = g->nets[0];
    for (size_t i = 0; i < net->n_values && n < 256; i++)
      if (!input || net->values[i].is_input) names[n++] = net->values[i].name;
  }
  enum tsr_status st = tsr_err_set(err, TSR_INPUT, "%s: the workload has no %s '%s'%s%s",
                                   option, input ? "input" : "tensor", name,
                                   n ? "; expected such as " : "", n ? names[0] : "");
  const char *near = tsr_err_nearest(name, names, n);
  if (near) tsr_err_hint(err, "did you mean '%s'?", near);
  return st;
}

static enum tsr_status check_names(const struct tsri_feed *f, struct tsr_err *err) {
  const struct tsr_run_options *o = f->o;
  for (size_t i = 0; i < f->plan->n_given; i++)
    if (!exists(f, f->plan->given[i].name, f->plan->given[i].array))
      return unknown(f, "--input", f->plan->given[i].name, true, err);
  for (size_t i = 0; i < o->n_expects; i++)
    if (!exists(f, o->expects[i].name, NULL))
      return unknown(f, "--expect", o->expects[i].name, false, err);
  for (size_t i = 0; i < o->n_dumps; i++)
    if (!exists(f, o->dumps[i].name, NULL))
      return unknown(f, "--dump", o->dumps[i].name, false, err);
  return TSR_OK;
}

/* ---- life ---- */

static void want(struct tsri_feed *f, const struct tsr_run_file *list, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (size_t t = 0; t < f->plan->n_tenants; t++) {
      const struct tsr_graph *g = graph_of(f, t);
      for (size_t k = 0; g->bindings && k < g->n_nets; k++) {
        size_t v = tsr_net_find(g->nets[k], list[i].name);
        if (v != SIZE_MAX) tsri_hand_want(f->h, t, k, v);
      }
    }
}

enum tsr_status tsri_feed_create(const struct tsr_run_plan *p, const struct tsr_run_options *o,
                                 struct tsri_hand *h, struct tsri_feed **out,
                                 struct tsr_err *err) {
  struct tsri_feed *f = tsr_mem_alloc(sizeof *f);
  if (!f) return tsr_err_nomem(err);
  *f = (struct tsri_feed){.plan = p, .o = o, .h = h};
  f->expected = tsr_mem_array(o->n_expects + 1, sizeof *f->expected);
  f->dumped = tsr_mem_array(o->n_dumps + 1, sizeof *f->dumped);
  enum tsr_status st = f->expected && f->dumped ? TSR_OK : tsr_err_nomem(err);
  if (!st) st = check_names(f, err);
  if (st) {
    tsri_feed_destroy(f);
    return st;
  }
  want(f, o->expects, o->n_expects);
  want(f, o->dumps, o->n_dumps);
  *out = f;
  return TSR_OK;
}

void tsri_feed_destroy(struct tsri_feed *f) {
  if (!f) return;
  tsr_mem_free(f->expected);
  tsr_mem_free(f->dumped);
  tsr_mem_free(f->errors);
  tsr_mem_free(f);
}

/* ---- what goes in ---- */

/* The shape of a value where the data are as many but in other dimensions (images as rows). */
static void reshape(const struct tsr_net_value *v, struct tsr_array *a) {
  uint64_t n = 1;
  for (unsigned d = 0; d < v->rank; d++) n *= v->dim[d];
  if (n != a->n) return;
  a->rank = v->rank;
  memcpy(a->dim, v->dim, sizeof a->dim);
}

/* Inputs of later passes of a decode loop that the pass before decides. */
static bool goes_on(const struct tsri_feed *f, size_t graph, size_t net, size_t value) {
  const struct tsri_steps *s = f->plan->tenants[graph].steps;
  const struct tsr_net *x = graph_of(f, graph)->nets[net];
  if (!s || s->kind != TSRI_STEPS_DECODE || !net) return false;
  return !strcmp(x->values[value].name, s->input) || tsri_steps_cache(x, value) != SIZE_MAX;
}

static enum tsr_status give_files(struct tsri_feed *f, size_t graph, size_t net,
                                  struct tsr_err *err) {
  const struct tsr_net *x = graph_of(f, graph)->nets[net];
  for (size_t i = 0; i < f->plan->n_given; i++) {
    size_t v = tsr_net_find(x, f->plan->given[i].name);
    struct tsr_array *a;
    if (v == SIZE_MAX || !x->values[v].is_input || goes_on(f, graph, net, v)) continue;
    enum tsr_status st = tsr_array_copy(NULL, f->plan->given[i].array, &a, err);
    if (!st && !x->n_nodes) reshape(&x->values[v], a); /* an operand as it lies */
    if (!st) st = tsri_hand_give(f->h, graph, net, v, a, err);
    if (st) return st;
  }
  return TSR_OK;
}

static enum tsr_status text_array(const struct tsri_steps *s, const struct tsri_pass *p,
                                  struct tsr_array **out, struct tsr_err *err) {
  uint64_t dim[2] = {p->n, s->tokens};
  struct tsr_array *a;
  enum tsr_status st = tsr_array_create(NULL, TSR_DTYPE_I64, 2, dim, &a, err);
  if (st) return st;
  const uint8_t *text = tsr_dataset_text(s->data) + p->first * s->tokens;
  for (uint64_t i = 0; i < a->n; i++) a->i[i] = text[i];
  *out = a;
  return TSR_OK;
}

/* The index of the largest of n; the first of equals. */
static uint64_t largest(const struct tsr_array *a, uint64_t from, uint64_t n) {
  uint64_t best = 0;
  for (uint64_t i = 1; i < n; i++)
    if (tsr_array_get(a, from + i) > tsr_array_get(a, from + best)) best = i;
  return best;
}

/* Scores as rows: of classes or tokens. */
struct rows {
  const struct tsr_array *got, *ref;
  uint64_t rows, cols;
};
static bool scores_of(const struct tsri_feed *f, size_t graph, size_t net, struct rows *out) {
  size_t v = tsri_steps_scores(graph_of(f, graph)->nets[net]);
  if (v == SIZE_MAX) return false;
  out->got = tsri_hand_value(f->h, graph, net, v);
  out->ref = tsri_hand_reference(f->h, graph, net, v);
  if (!out->got || !out->ref || !out->got->f || out->ref->n != out->got->n || !out->ref->rank)
    return false;
  out->cols = out->ref->dim[out->ref->rank - 1];
  out->rows = out->cols ? out->ref->n / out->cols : 0;
  return out->rows > 0;
}

/* The most probable followers of the pass before; the machine's, for machine and reference. */
static enum tsr_status next_tokens(struct tsri_feed *f, size_t graph, size_t net,
                                   uint64_t sequences, struct tsr_array **out,
                                   struct tsr_err *err) {
  struct rows r;
  uint64_t dim[2] = {sequences, 1};
  if (!scores_of(f, graph, net - 1, &r) || r.rows % sequences)
    return tsr_err_set(err, TSR_INPUT,
                       "the model's output has no scores for %" PRIu64
                       " sequences; expected `logits` of [sequences, tokens, vocabulary]",
                       sequences);
  struct tsr_array *a;
  enum tsr_status st = tsr_array_create(NULL, TSR_DTYPE_I64, 2, dim, &a, err);
  if (st) return st;
  for (uint64_t i = 0; i < sequences; i++) {
    uint64_t last = (i + 1) * (r.rows / sequences) - 1;
    a->i[i] = (int64_t)largest(r.got, last * r.cols, r.cols);
  }
  *out = a;
  return TSR_OK;
}

/* The cache that the pass before left: to each its own. */
static enum tsr_status give_cache(struct tsri_feed *f, size_t graph, size_t net,
                                  struct tsr_err *err) {
  const struct tsr_net *x = graph_of(f, graph)->nets[net];
  const struct tsr_net *before = graph_of(f, graph)->nets[net - 1];
  for (size_t i = 0; i < x->n_inputs; i++) {
    size_t from = tsri_steps_cache(before, x->inputs[i]);
    if (from == SIZE_MAX) continue;
    const struct tsr_array *got = tsri_hand_value(f->h, graph, net - 1, from);
    const struct tsr_array *ref = tsri_hand_reference(f->h, graph, net - 1, from);
    struct tsr_array *a = NULL, *b = NULL;
    if (!got || !ref)
      return tsr_err_set(err, TSR_INPUT, "output '%s' was not made", before->values[from].name);
    enum tsr_status st = tsr_array_copy(NULL, got, &a, err);
    if (!st) reshape(&before->values[from], a);
    if (!st) st = tsri_hand_give(f->h, graph, net, x->inputs[i], a, err);
    if (!st) st = tsr_array_copy(NULL, ref, &b, err);
    if (!st) reshape(&before->values[from], b);
    if (!st) st = tsri_hand_refer(f->h, graph, net, x->inputs[i], b, err);
    if (st) return st;
  }
  return TSR_OK;
}

static enum tsr_status give_data(struct tsri_feed *f, const struct tsri_steps *s, size_t graph,
                                 size_t net, struct tsr_err *err) {
  const struct tsr_net *x = graph_of(f, graph)->nets[net];
  const struct tsri_pass *p = &s->pass[net];
  size_t v = tsr_net_find(x, s->input);
  struct tsr_array *a = NULL;
  enum tsr_status st = TSR_OK;
  if (v == SIZE_MAX) return tsr_err_set(err, TSR_INPUT, "input '%s' is gone", s->input);
  if (s->kind == TSRI_STEPS_DECODE && net) {
    st = next_tokens(f, graph, net, p->n, &a, err);
    if (!st) st = give_cache(f, graph, net, err);
    if (st) tsr_array_destroy(a);
  } else if (!s->data) {
    return TSR_OK; /* a prompt that is drawn */
  } else if (s->kind == TSRI_STEPS_IMAGES) {
    st = tsr_dataset_images(s->data, p->first, p->n, NULL, &a, err);
  } else {
    st = text_array(s, p, &a, err);
  }
  if (st) return st;
  reshape(&x->values[v], a);
  return tsri_hand_give(f->h, graph, net, v, a, err);
}

enum tsr_status tsri_feed_begin(struct tsri_feed *f, size_t graph, size_t net,
                                struct tsr_err *err) {
  const struct tsri_steps *s = f->plan->tenants[graph].steps;
  enum tsr_status st = give_files(f, graph, net, err);
  if (st || !s) return st;
  st = give_data(f, s, graph, net, err);
  if (net) tsri_hand_release(f->h, graph, net - 1); /* cache and tokens are taken */
  return st;
}

/* ---- what comes out ---- */

/* Outputs of several models are told apart. */
static struct error *error_of(struct tsri_feed *f, size_t graph, const char *name) {
  for (size_t i = 0; i < f->n_errors; i++)
    if (f->errors[i].graph == graph && !strcmp(f->errors[i].name, name)) return &f->errors[i];
  if (!tsr_mem_grow((void **)&f->errors, &f->cap_errors, f->n_errors + 1, sizeof *f->errors))
    return NULL;
  f->errors[f->n_errors] = (struct error){.graph = graph, .name = name};
  return &f->errors[f->n_errors++];
}

static enum tsr_status against_reference(struct tsri_feed *f, size_t graph, size_t net,
                                         struct tsr_err *err) {
  const struct tsr_net *x = graph_of(f, graph)->nets[net];
  for (size_t o = 0; o < x->n_outputs; o++) {
    const struct tsr_array *got = tsri_hand_value(f->h, graph, net, x->outputs[o]);
    const struct tsr_array *ref = tsri_hand_reference(f->h, graph, net, x->outputs[o]);
    if (!got || !ref || got->n != ref->n) continue;
    struct error *e = error_of(f, graph, x->values[x->outputs[o]].name);
    if (!e) return tsr_err_nomem(err);
    for (uint64_t i = 0; i < got->n; i++) {
      double s = tsr_array_get(ref, i), y = tsr_array_get(got, i), d = y - s;
      if (y == s || (y != y && s != s)) d = 0; /* the same infinity, or no number both */
      if (!(s - s == 0)) s = 0;
      e->d2 += d * d;
      e->s2 += s * s;
      if (!(fabs(d) <= e->max_abs)) e->max_abs = fabs(d);
    }
    e->n += got->n;
  }
  return TSR_OK;
}

static void score_images(struct tsri_feed *f, const struct tsri_pass *p, const struct rows *r,
                         const int64_t *labels) {
  struct scores *s = &f->scores;
  for (uint64_t i = 0; i < r->rows && i < p->n; i++) {
    uint64_t got = largest(r->got, i * r->cols, r->cols),
             ref = largest(r->ref, i * r->cols, r->cols);
    s->n++;
    s->right += (int64_t)got == labels[p->first + i];
    s->right_ref += (int64_t)ref == labels[p->first + i];
    s->same += got == ref;
  }
}

/* log of the sum of e^x of n scores, and the largest. */
static double log_sum(const struct tsr_array *a, uint64_t from, uint64_t n) {
  double top = tsr_array_get(a, from + largest(a, from, n)), sum = 0;
  for (uint64_t i = 0; i < n; i++) sum += tsr_ref_exp(tsr_array_get(a, from + i) - top);
  return top + tsr_ref_log(sum);
}

/* Of one token: sum over p * (log p - log q), in nats. */
static double divergence(const struct rows *r, uint64_t row, double log_p, double log_q) {
  double kl = 0;
  for (uint64_t j = 0; j < r->cols; j++) {
    double p = tsr_array_get(r->ref, row * r->cols + j) - log_p;
    double q = tsr_array_get(r->got, row * r->cols + j) - log_q;
    kl += tsr_ref_exp(p) * (p - q);
  }
  return kl > 0 ? kl : 0;
}

static void score_tokens(struct tsri_feed *f, const struct tsri_steps *t,
                         const struct tsri_pass *p, const struct rows *r, bool follows) {
  struct scores *s = &f->scores;
  const double per_bit = 0.69314718055994530942; /* ln 2 */
  const uint8_t *text = follows ? tsr_dataset_text(t->data) + p->first * t->tokens : NULL;
  for (uint64_t i = 0; i < r->rows; i++) {
    double log_p = log_sum(r->ref, i * r->cols, r->cols),
           log_q = log_sum(r->got, i * r->cols, r->cols), kl = divergence(r, i, log_p, log_q);
    s->n++;
    s->kl += kl;
    if (!(kl <= s->kl_max)) s->kl_max = kl;
    s->same += largest(r->got, i * r->cols, r->cols) == largest(r->ref, i * r->cols, r->cols);
    if (!text || (i + 1) % t->tokens == 0 || text[i + 1] >= r->cols) continue;
    uint64_t at = i * r->cols + text[i + 1];
    s->followed++;
    s->bits += (log_q - tsr_array_get(r->got, at)) / per_bit;
    s->bits_ref += (log_p - tsr_array_get(r->ref, at)) / per_bit;
  }
}

/* The largest distance in ulp of the format that results have; infinite where one is no number
 * or infinite and the other is not so. */
static double distance(const struct tsri_feed *f, bool model, const struct tsr_array *got,
                       const struct tsr_array *want) {
  const struct tsr_machine *m = f->plan->machine;
  const struct tsr_format *out = tsr_format_find(model ? tsri_scaling_wide(m) : m->format_out);
  struct tsr_check check;
  bool apart = false;
  tsr_check_init(&check, got->f && out && !out->is_int ? out : tsr_format_find("int32"));
  for (uint64_t k = 0; k < got->n; k++) {
    double s = tsr_array_get(want, k), y = tsr_array_get(got, k);
    if (s - s == 0 && y - y == 0)
      tsr_check_add_values(&check, s, y, 0);
    else
      apart |= !(s == y || (s != s && y != y));
  }
  return apart ? INFINITY : check.max_ulp;
}

static enum tsr_status check_one(struct tsri_feed *f, size_t i, bool model,
                                 const struct tsr_array *got, struct tsr_err *err) {
  const struct tsr_run_file *file = &f->o->expects[i];
  struct tsr_array *want;
  enum tsr_status st = tsri_feed_read(file->path, &want, err);
  if (st) return st;
  if (want->n != got->n)
    st = tsr_err_set(err, TSR_INPUT,
                     "--expect %s: '%s' has %" PRIu64 " elements; expected %" PRIu64,
                     file->name, file->path, want->n, got->n);
  else
    f->expected[i] = (struct expected){distance(f, model, got, want), got->n, true};
  tsr_array_destroy(want);
  return st;
}

static enum tsr_status check_expected(struct tsri_feed *f, size_t graph, size_t net,
                                      struct tsr_err *err) {
  const struct tsr_net *x = graph_of(f, graph)->nets[net];
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; !st && i < f->o->n_expects; i++) {
    size_t v = tsr_net_find(x, f->o->expects[i].name);
    const struct tsr_array *got = v == SIZE_MAX ? NULL : tsri_hand_value(f->h, graph, net, v);
    if (got && !f->expected[i].seen) st = check_one(f, i, x->n_nodes != 0, got, err);
  }
  return st;
}

static enum tsr_status hand_out(struct tsri_feed *f, size_t graph, size_t net) {
  const struct tsr_net *x = graph_of(f, graph)->nets[net];
  enum tsr_status st = TSR_OK;
  for (size_t o = 0; f->o->output && !st && o < x->n_outputs; o++) {
    const struct tsr_net_value *v = &x->values[x->outputs[o]];
    const struct tsr_array *got = tsri_hand_value(f->h, graph, net, x->outputs[o]);
    if (!got) continue;
    struct tsr_array shown = *got;
    reshape(v, &shown);
    shown.type = v->type;
    st = f->o->output(f->o->output_arg, v->name, &shown);
  }
  return st;
}

/* F.npy of the first pass, F.1.npy, F.2.npy, … of those behind it. */
static enum tsr_status dump_pass(const char *path, size_t net, const struct tsr_array *a,
                                 struct tsr_err *err) {
  if (!net) return tsr_npy_write(path, a, err);
  size_t n = strlen(path) - (tsr_str_ends(path, ".npy") ? 4 : 0);
  char *name = tsr_mem_printf("%.*s.%zu.npy", (int)n, path, net);
  enum tsr_status st = name ? tsr_npy_write(name, a, err) : tsr_err_nomem(err);
  tsr_mem_free(name);
  return st;
}

static enum tsr_status dump(struct tsri_feed *f, size_t graph, size_t net,
                            struct tsr_err *err) {
  const struct tsr_net *x = graph_of(f, graph)->nets[net];
  for (size_t i = 0; i < f->o->n_dumps; i++) {
    size_t v = tsr_net_find(x, f->o->dumps[i].name);
    const struct tsr_array *got = v == SIZE_MAX ? NULL : tsri_hand_value(f->h, graph, net, v);
    if (!got || (f->dumped[i] && !net)) continue; /* the first workload that has it */
    struct tsr_array shown = *got;                /* under its own dimensions */
    if (x->values[v].shaped) reshape(&x->values[v], &shown);
    enum tsr_status st = dump_pass(f->o->dumps[i].path, net, &shown, err);
    if (st) return st;
    f->dumped[i] = true;
  }
  return TSR_OK;
}

enum tsr_status tsri_feed_end(struct tsri_feed *f, size_t graph, size_t net,
                              struct tsr_err *err) {
  const struct tsri_steps *s = f->plan->tenants[graph].steps;
  struct rows r;
  enum tsr_status st = against_reference(f, graph, net, err);
  if (!st) st = check_expected(f, graph, net, err);
  if (!st) st = dump(f, graph, net, err);
  if (!st) st = hand_out(f, graph, net);
  if (st || !s || !scores_of(f, graph, net, &r)) return st;
  const struct tsri_pass *p = &s->pass[net];
  if (s->kind == TSRI_STEPS_IMAGES)
    score_images(f, p, &r, tsr_dataset_labels(s->data));
  else
    score_tokens(f, s, p, &r, s->kind == TSRI_STEPS_TEXT);
  return TSR_OK;
}

/* ---- figures ---- */

struct table {
  struct tsr_run_quality *rows;
  size_t n;
};

static void add(struct table *t, const char *metric, const char *tensor, double value,
                uint64_t n) {
  t->rows[t->n++] = (struct tsr_run_quality){.metric = metric,
                                             .tensor = tensor,
                                             .value = value,
                                             .n = n,
                                             .limit_value = (double)NAN,
                                             .met = TSR_STORE_NULL};
}

static void add_scores(const struct tsri_feed *f, struct table *t) {
  const struct scores *s = &f->scores;
  double n = (double)s->n;
  bool images = false;
  for (size_t g = 0; g < f->plan->n_tenants; g++)
    if (f->plan->tenants[g].steps)
      images = f->plan->tenants[g].steps->kind == TSRI_STEPS_IMAGES;
  if (!s->n) return;
  if (images) {
    add(t, "top1", NULL, (double)s->right / n, s->n);
    add(t, "top1_reference", NULL, (double)s->right_ref / n, s->n);
    add(t, "agreement", NULL, (double)s->same / n, s->n);
    return;
  }
  add(t, "kl", NULL, s->kl / n, s->n);
  add(t, "kl_max", NULL, s->kl_max, s->n);
  add(t, "flip_rate", NULL, 1 - (double)s->same / n, s->n);
  if (!s->followed) return;
  add(t, "bits_per_token", NULL, s->bits / (double)s->followed, s->followed);
  add(t, "bits_per_token_reference", NULL, s->bits_ref / (double)s->followed, s->followed);
}

enum tsr_status tsri_feed_finish(struct tsri_feed *f, struct tsr_arena *arena,
                                 const struct tsr_run_quality **rows, size_t *n,
                                 struct tsr_err *err) {
  enum { SCORES = 5 };
  struct table t = {
      tsr_arena_array(arena, SCORES + 2 * f->n_errors + f->o->n_expects + 1, sizeof *t.rows),
      0};
  if (!t.rows) return tsr_err_nomem(err);
  add_scores(f, &t);
  for (size_t i = 0; i < f->n_errors; i++) {
    const struct error *e = &f->errors[i];
    const char *name = e->name;
    if (f->plan->n_tenants > 1)
      name = tsr_arena_printf(arena, "%s of %s", e->name, graph_of(f, e->graph)->name);
    if (!name) return tsr_err_nomem(err);
    if (e->s2 > 0) add(&t, "norm_err", name, sqrt(e->d2 / e->s2), e->n);
    add(&t, "max_abs_err", name, e->max_abs, e->n);
  }
  for (size_t i = 0; i < f->o->n_expects; i++) {
    const struct expected *x = &f->expected[i];
    if (!x->seen)
      return tsr_err_set(err, TSR_INPUT, "--expect: tensor '%s' was not made",
                         f->o->expects[i].name);
    add(&t, "expect_ulp", f->o->expects[i].name, x->ulp, x->n);
    t.rows[t.n - 1].limit_value = f->o->ulp;
    t.rows[t.n - 1].met = x->ulp <= f->o->ulp;
  }
  for (size_t i = 0; i < f->o->n_dumps; i++)
    if (!f->dumped[i])
      return tsr_err_set(err, TSR_INPUT, "--dump: tensor '%s' was not made",
                         f->o->dumps[i].name);
  *rows = t.rows;
  *n = t.n;
  return TSR_OK;
}
