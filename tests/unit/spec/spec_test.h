/* Reading specifications in tests, and comparing graphs operator by operator. */
#ifndef TSR_TESTS_UNIT_SPEC_SPEC_TEST_H
#define TSR_TESTS_UNIT_SPEC_SPEC_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/io.h"
#include "workloads/spec/spec.h"

static inline struct tsr_graph *must_spec(const char *text, uint64_t batch) {
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_spec_read("t.yaml", text, strlen(text), batch, &g, &err))
    fail_msg("%s\n%s", text, err.n ? err.msg[0] : "no message");
  assert_int_equal(err.total, 0);
  tsr_err_fini(&err);
  return g;
}

static inline struct tsr_graph *must_read(const char *what, const char *text, uint64_t batch) {
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  const struct tsr_workload_options o = {.batch = batch, .text = text};
  if (tsr_workload_read(what, &o, &g, &err)) fail_msg("%s: %s", what, err.msg[0]);
  tsr_err_fini(&err);
  return g;
}

/* Everything of an operator but its name and its place in a text. */
static inline void same_op(const struct tsr_op *x, const struct tsr_op *y) {
  if (x->kind != y->kind || x->m != y->m || x->n != y->n || x->k != y->k ||
      x->count != y->count)
    fail_msg("%s: %s %llux%llux%llu of %llu, and %s %llux%llux%llu of %llu", x->name,
             tsr_op_kind_name(x->kind), (unsigned long long)x->m, (unsigned long long)x->n,
             (unsigned long long)x->k, (unsigned long long)x->count, tsr_op_kind_name(y->kind),
             (unsigned long long)y->m, (unsigned long long)y->n, (unsigned long long)y->k,
             (unsigned long long)y->count);
  if (x->has_conv != y->has_conv || memcmp(&x->conv, &y->conv, sizeof x->conv) != 0)
    fail_msg("%s: the geometry differs", x->name);
  const struct tsr_op_attr *s = &x->attr, *t = &y->attr;
  if (s->heads != t->heads || s->kv_heads != t->kv_heads || s->causal != t->causal ||
      s->table != t->table || s->experts != t->experts || s->with != t->with ||
      s->eps < t->eps || s->eps > t->eps)
    fail_msg("%s: an attribute differs", x->name);
  bool same = x->n_steps == y->n_steps && x->n_after == y->n_after;
  for (size_t i = 0; same && i < x->n_steps; i++)
    same = x->step[i].kind == y->step[i].kind && x->step[i].with == y->step[i].with;
  if (!same) fail_msg("%s: steps or names differ", x->name);
  for (size_t i = 0; i < x->n_after; i++)
    if (x->after[i] != y->after[i]) fail_msg("%s: it comes after another", x->name);
  assert_string_equal(x->format_a, y->format_a);
  assert_string_equal(x->sparsity, y->sparsity);
}

/* `prefix` stands before the names of x alone. */
static inline void same_graph(const struct tsr_graph *x, const struct tsr_graph *y,
                              const char *prefix) {
  assert_int_equal(x->n_ops, y->n_ops);
  for (size_t i = 0; i < x->n_ops; i++) {
    assert_true(strncmp(x->ops[i].name, prefix, strlen(prefix)) == 0);
    assert_string_equal(x->ops[i].name + strlen(prefix), y->ops[i].name);
    same_op(&x->ops[i], &y->ops[i]);
  }
  assert_int_equal(x->batch, y->batch);
}

#endif
