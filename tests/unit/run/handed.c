/* Runs of nets by value (handed.h). */
#include "tests/unit/run/handed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/translate/translate.h"

uint64_t handed_fail_at;

static struct tsr_array *copy(const struct tsr_array *a) {
  struct tsr_array *b;
  if (tsr_array_create(NULL, a->type, a->rank, a->dim, &b, NULL)) return NULL;
  if (a->f) memcpy(b->f, a->f, a->n * sizeof *a->f);
  if (a->i) memcpy(b->i, a->i, a->n * sizeof *a->i);
  return b;
}

static enum tsr_status on_output(void *arg, const char *name, const struct tsr_array *a) {
  struct handed *x = arg;
  (void)name;
  assert_true(x->n_out < HANDED_MAX);
  x->out[x->n_out] = copy(a);
  return x->out[x->n_out] ? (x->n_out++, TSR_OK) : TSR_NOMEM;
}

/* A second net of the same text, evaluated: shares nothing with the run's. */
static void refer(const char *text, struct handed *x) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_net *net = nets_make(text, NULL, 0);
  struct tsr_array **value = tsr_mem_array(net->n_values, sizeof(struct tsr_array *));
  assert_non_null(value);
  for (size_t i = 0; i < x->n_in; i++) value[net->inputs[i]] = x->in[i];
  if (tsr_net_eval(net, value, NULL, NULL, &err)) fail_msg("%s", err.msg[0]);
  for (size_t i = 0; i < net->n_outputs; i++) {
    x->ref[i] = value[net->outputs[i]];
    value[net->outputs[i]] = NULL;
  }
  tsr_mem_free(value);
  tsr_net_destroy(net);
}

static enum tsr_status run(struct tsr_net *net, const struct handed_how *how, struct handed *x,
                           struct tsr_err *err) {
  struct tsr_workload_given given[HANDED_MAX];
  struct tsr_graph *g;
  for (size_t i = 0; i < x->n_in; i++)
    given[i] = (struct tsr_workload_given){net->values[net->inputs[i]].name, x->in[i]};
  if (handed_fail_at) tsr_mem_fail_at(handed_fail_at, false);
  enum tsr_status st = tsr_translate(net, NULL, &g, err);
  if (st) {
    tsr_net_destroy(net);
    return st;
  }
  const struct tsr_run_options o = {.arch = how->arch,
                                    .workload = "made",
                                    .sets = how->sets,
                                    .n_sets = how->n_sets,
                                    .seed = 1,
                                    .numerics = TSR_NUMERICS_FULL,
                                    .version = "test",
                                    .graph = g,
                                    .values = given,
                                    .n_values = x->n_in,
                                    .output = on_output,
                                    .output_arg = x};
  uint64_t id;
  return tsr_run_execute(&o, NULL, &id, err);
}

enum tsr_status handed_run(const char *text, const struct handed_how *how, struct handed *out,
                           struct tsr_err *err) {
  *out = (struct handed){0};
  struct tsr_net *net = nets_make(text, NULL, 0);
  assert_true(net->n_inputs <= HANDED_MAX);
  for (size_t i = 0; i < net->n_inputs; i++)
    out->in[out->n_in++] = nets_draw(&net->values[net->inputs[i]], how->whole, 11 + i);
  refer(text, out);
  return run(net, how, out, err);
}

void handed_fini(struct handed *x) {
  for (size_t i = 0; i < HANDED_MAX; i++) {
    tsr_array_destroy(x->in[i]);
    tsr_array_destroy(x->out[i]);
    tsr_array_destroy(x->ref[i]);
  }
}
