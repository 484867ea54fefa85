#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "workloads/net/net.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

/* ---- nets as text ----
 * Lines `in x f32[2,b]`, `const c i64[2] 1 2`, `out y`, `say y f32[2]` (a declared shape),
 * `node OP a,b -> y [key=int]`; `;` ends a line.  A letter for a size is an open dimension. */

static bool shape_of(struct tsr_net *net, struct tsr_net_value *v, const char *text) {
  char type[8] = "";
  size_t n = strcspn(text, "[");
  memcpy(type, text, n);
  v->type = tsr_dtype_find(type);
  v->shaped = true;
  v->rank = 0;
  for (const char *p = text + n + 1; *p && *p != ']';) {
    size_t len = strcspn(p, ",]");
    unsigned long long size = 0;
    if (sscanf(p, "%llu", &size) != 1 &&
        !(v->dim_name[v->rank] = tsr_arena_strndup(net->arena, p, len)))
      return false;
    v->dim[v->rank++] = size;
    p += len + (p[len] == ',');
  }
  return true;
}

static enum tsr_status list_of(struct tsr_net *net, char *text, size_t *list, size_t *n,
                               struct tsr_err *err) {
  enum tsr_status s = TSR_OK;
  *n = 0;
  for (char *save = NULL, *p = strtok_r(text, ",", &save); p && !s;
       p = strtok_r(NULL, ",", &save)) {
    list[*n] = SIZE_MAX;
    if (strcmp(p, "-") != 0) s = tsr_net_value(net, p, &list[*n], err);
    (*n)++;
  }
  return s;
}

static enum tsr_status add_node(struct tsr_net *net, char *line, struct tsr_err *err) {
  char op[32] = "", in[96] = "", out[96] = "", key[32] = "", domain[32] = "";
  long long v = 0;
  size_t ins[16], outs[16], n_in, n_out;
  sscanf(line, "node %31s %95s -> %95s %31[^= ]=%lld", op, in, out, key, &v);
  if (strcmp(in, "none") == 0) *in = '\0';
  char *dot = strchr(op, '.');
  if (dot) {
    snprintf(domain, sizeof domain, "%s", op);
    domain[dot - op] = '\0';
  }
  struct tsr_net_attr a = {.name = key, .kind = TSR_ATTR_INT, .i = v};
  if (strcmp(key, "body") == 0) a.kind = TSR_ATTR_GRAPH;
  enum tsr_status s = list_of(net, in, ins, &n_in, err);
  if (!s) s = list_of(net, out, outs, &n_out, err);
  return s ? s
           : tsr_net_node(net, dot ? dot + 1 : op, domain, "", ins, n_in, outs, n_out, &a,
                          *key != 0, err);
}

static enum tsr_status add_constant(struct tsr_net *net, size_t v, char *text,
                                    struct tsr_err *err) {
  struct tsr_net_value like = {0};
  struct tsr_array *a = NULL;
  shape_of(net, &like, text);
  enum tsr_status s = tsr_array_create(net->arena, like.type, like.rank, like.dim, &a, err);
  const char *p = strchr(text, ']') + 1;
  for (uint64_t k = 0; !s && k < a->n; k++) {
    double x = 0;
    int len = 0;
    sscanf(p, "%lf%n", &x, &len);
    p += len;
    tsr_array_set(a, k, x);
  }
  return s ? s : tsr_net_constant(net, v, a, err);
}

static enum tsr_status add_line(struct tsr_net *net, char *line, struct tsr_err *err) {
  char word[8] = "", name[32] = "", shape[64] = "";
  size_t v;
  sscanf(line, "%7s %31s %63[^\n]", word, name, shape);
  if (strcmp(word, "node") == 0) return add_node(net, line, err);
  enum tsr_status s = tsr_net_value(net, name, &v, err);
  if (s) return s;
  if (strcmp(word, "const") == 0) return add_constant(net, v, shape, err);
  if (*shape && !shape_of(net, &net->values[v], shape)) return tsr_err_nomem(err);
  if (strcmp(word, "in") == 0) return tsr_net_input(net, v, err);
  return strcmp(word, "out") == 0 ? tsr_net_output(net, v, err) : TSR_OK;
}

static enum tsr_status net_of(const char *text, int opset, struct tsr_net **out,
                              struct tsr_err *err) {
  char copy[1024];
  struct tsr_net *net = NULL;
  snprintf(copy, sizeof copy, "%s", text);
  enum tsr_status s = tsr_net_create("t", "t.onnx", opset, &net, err);
  for (char *save = NULL, *p = strtok_r(copy, ";", &save); !s && p;
       p = strtok_r(NULL, ";", &save))
    s = add_line(net, p + strspn(p, " "), err);
  if (s) {
    tsr_net_destroy(net);
  } else {
    *out = net;
  }
  return s;
}

/* ---- the tests ---- */

static const char SMALL[] = "in x f32[b,3]; const w f32[3] 1 2 3; const two f32[] 2;"
                            "node Mul w,two -> w2; node Shape x -> s; node Add x,w2 -> y;"
                            "node Reshape y,s -> z; out z";

static enum tsr_status finish_with(struct tsr_net *net, const char *name, uint64_t value,
                                   struct tsr_err *err) {
  struct tsr_net_dim dim = {name, value};
  struct tsr_net_options o = {.dims = &dim, .n_dims = name ? 1 : 0};
  return tsr_net_finish(net, &o, err);
}

static enum tsr_status run_small(uint64_t batch, double *last, struct tsr_err *err) {
  struct tsr_net *net = NULL;
  enum tsr_status s = net_of(SMALL, 13, &net, err);
  if (s) return s;
  s = finish_with(net, "b", batch, err);
  struct tsr_array *x = NULL, **value = NULL;
  if (!s) s = tsr_array_create(NULL, TSR_DTYPE_F32, 2, (const uint64_t[]){batch, 3}, &x, err);
  if (!s) {
    value = tsr_mem_array(net->n_values, sizeof(struct tsr_array *));
    if (!value) s = tsr_err_nomem(err);
  }
  if (!s) {
    for (uint64_t k = 0; k < x->n; k++) x->f[k] = (double)k;
    value[net->inputs[0]] = x;
    s = tsr_net_eval(net, value, NULL, NULL, err);
  }
  if (!s) {
    struct tsr_array *z = value[net->outputs[0]];
    *last = z->f[z->n - 1];
    tsr_array_destroy(z);
    assert_null(value[tsr_net_find(net, "y")]);
  }
  tsr_mem_free(value);
  tsr_array_destroy(x);
  tsr_net_destroy(net);
  return s;
}

static void a_net_is_finished_and_computed(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  double last = 0;
  assert_int_equal(run_small(2, &last, &err), TSR_OK);
  assert_true(last == 5 + 6);
  tsr_err_fini(&err);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  double last;
  tsr_mem_fail_at(0, false);
  assert_int_equal(run_small(2, &last, NULL), TSR_OK);
  uint64_t calls = tsr_mem_calls();
  assert_true(calls > 50);
  for (uint64_t nth = 1; nth <= calls; nth++) {
    tsr_mem_fail_at(nth, false);
    enum tsr_status s = run_small(2, &last, NULL);
    tsr_mem_fail_at(0, false);
    assert_int_equal(s, TSR_NOMEM);
  }
}

static void constants_are_folded(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_net *net = NULL;
  assert_int_equal(net_of(SMALL, 13, &net, &err), TSR_OK);
  assert_int_equal(finish_with(net, "b", 4, &err), TSR_OK);
  const struct tsr_net_value *w2 = &net->values[tsr_net_find(net, "w2")];
  const struct tsr_net_value *s = &net->values[tsr_net_find(net, "s")];
  assert_true(w2->is_weight && w2->constant && w2->constant->f[2] == 6);
  assert_true(!s->is_weight && s->constant && s->constant->i[0] == 4);
  const struct tsr_net_value *z = &net->values[tsr_net_find(net, "z")];
  assert_true(!z->constant && z->rank == 2 && z->dim[0] == 4 && z->dim[1] == 3);
  static const bool folded[] = {true, true, false, false};
  for (size_t k = 0; k < net->n_nodes; k++) assert_int_equal(net->nodes[k].folded, folded[k]);
  tsr_net_destroy(net);
  tsr_err_fini(&err);
}

static void nodes_come_in_an_order_that_runs(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_net *net = NULL;
  assert_int_equal(net_of("in x f32[2]; node Neg b -> c; node Abs x -> a; node Exp a -> b;"
                          "node Neg x -> d; out c; out d",
                          13, &net, &err),
                   TSR_OK);
  assert_int_equal(finish_with(net, NULL, 0, &err), TSR_OK);
  static const char *const want[] = {"Abs_1", "Exp_2", "Neg_0", "Neg_3"};
  for (size_t k = 0; k < N(want); k++) assert_string_equal(net->nodes[k].name, want[k]);
  assert_int_equal(net->values[tsr_net_find(net, "c")].producer, 2);
  tsr_net_destroy(net);
  tsr_err_fini(&err);
}

static void long_chains_take_no_time(void **state) {
  (void)state;
  enum { NODES = 100000 };
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_net *net = NULL;
  assert_int_equal(tsr_net_create("t", "t", 13, &net, &err), TSR_OK);
  clock_t start = clock();
  size_t at[2];
  assert_int_equal(tsr_net_value(net, "v0", &at[0], &err), TSR_OK);
  net->values[at[0]].type = TSR_DTYPE_F32;
  net->values[at[0]].shaped = true;
  assert_int_equal(tsr_net_input(net, at[0], &err), TSR_OK);
  for (int k = NODES; k > 0; k--) { /* from the last to the first */
    char from[16], to[16];
    snprintf(from, sizeof from, "v%d", k - 1);
    snprintf(to, sizeof to, "v%d", k);
    assert_int_equal(tsr_net_value(net, from, &at[0], &err), TSR_OK);
    assert_int_equal(tsr_net_value(net, to, &at[1], &err), TSR_OK);
    assert_int_equal(tsr_net_node(net, "Neg", "", "", &at[0], 1, &at[1], 1, NULL, 0, &err),
                     TSR_OK);
  }
  assert_int_equal(tsr_net_finish(net, NULL, &err), TSR_OK);
  assert_string_equal(net->values[net->nodes[NODES - 1].out[0]].name, "v100000");
  assert_true((double)(clock() - start) / CLOCKS_PER_SEC <
              5); /* far below, but for sanitizers */
  tsr_net_destroy(net);
  tsr_err_fini(&err);
}

static void broken_nets_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *net, *dim, *message;
    enum tsr_status status;
  } rows[] = {
      {"in x f32[b,3]; node Neg x -> y; out y", NULL,
       "dimension 'b' of input 'x' is open; give it as in --dim b=8", TSR_USAGE},
      {"in x f32[b,c]; node Neg x -> y; out y", "B",
       "no input has an open dimension 'B'; open are: 'b', 'c'", TSR_USAGE},
      {"in x f32[2]; node Neg x -> y; out y", "b", "open are: none", TSR_USAGE},
      {"in x; node Neg x -> y; out y", NULL, "input 'x' has no type", TSR_INPUT},
      {"in x string[2]; node Identity x -> y; out y", NULL, "'string', which is not supported",
       TSR_INPUT},
      {"in x f32[1099511627776,2]; node Neg x -> y; out y", NULL, "input 'x' is too large",
       TSR_INPUT},
      {"in x f32[2]; node Add x,b -> a; node Neg a -> b; out b", NULL,
       "node 'Neg_1' (Neg): is part of a cycle: its input 'a'", TSR_INPUT},
      {"in x f32[2]; node Add x,q -> y; out y", NULL,
       "node 'Add_0' (Add): reads value 'q', which no node makes", TSR_INPUT},
      {"in x f32[2]; node Neg x -> y; out z", NULL, "output 'z' is made by no node", TSR_INPUT},
      {"in x f32[2]; node Foo x -> y; node Foo y -> z; node Foo z -> u; out u", NULL,
       "node 'Foo_0' (Foo): operator 'Foo' is not supported (and 2 more nodes with it)",
       TSR_INPUT},
      {"in x f32[2]; node ms.Gelu x -> y; out y", NULL,
       "operator 'Gelu' of domain 'ms' is not supported", TSR_INPUT},
      {"in x bool[]; node If x -> y; out y", NULL, "control flow is not supported", TSR_INPUT},
      {"in x f32[2]; node Neg x -> y body=1; out y", NULL, "control flow is not supported",
       TSR_INPUT},
      {"in x f32[2]; node Add x -> y; out y", NULL,
       "has the wrong number of inputs; expected 2, got '1'", TSR_INPUT},
      {"in x f32[2]; node Neg x -> y,z; out y", NULL,
       "has the wrong number of outputs; expected 1, got '2'", TSR_INPUT},
      {"in x f32[2]; node Add -,x -> y; out y", NULL, "input 0 is left out", TSR_INPUT},
      {"in x f32[2,3]; say y f32[2,4]; node Neg x -> y; out y", NULL,
       "makes value 'y' as f32[2,3], but the model says f32[2,4]", TSR_INPUT},
      {"in x f32[2,3]; say y f32[3]; node Neg x -> y; out y", NULL,
       "makes value 'y' as f32[2,3], but the model says f32[3]", TSR_INPUT},
      {"in x f32[2]; say y i64[2]; node Neg x -> y; out y", NULL,
       "makes value 'y' as f32[2], but the model says i64[2]", TSR_INPUT},
      {"in x f32[2]; in s i64[1]; node Reshape x,s -> y; out y", NULL,
       "must be known before the run; expected a constant", TSR_INPUT},
      {"in x f32[2]; node Neg x -> x; out x", NULL, "an input of the model", TSR_INPUT},
      {"in x f32[2]; node Neg x -> y; node Abs x -> y; out y", NULL, "made by another node",
       TSR_INPUT},
      {"in x f32[2]; const c f32[1] 1; node Neg x -> c; out c", NULL, "which is a constant",
       TSR_INPUT},
      {"in x f32[2]; in x f32[2]; out x", NULL, "input 'x' is declared twice", TSR_INPUT},
      {"in x f32[2]; out x; out x", NULL, "output 'x' is declared twice", TSR_INPUT},
      {"in x f32[65536,65536,1]; const s i64[3] 1 1 1048576; node Expand x,s -> y; out y", NULL,
       "is too large; expected at most 2^40 elements", TSR_INPUT},
  };
  for (size_t k = 0; k < N(rows); k++) {
    struct tsr_err err = TSR_ERR_INIT;
    struct tsr_net *net = NULL;
    enum tsr_status s = net_of(rows[k].net, 13, &net, &err);
    if (!s) s = finish_with(net, rows[k].dim, 4, &err);
    if (s != rows[k].status || !err.n || !strstr(err.msg[0], rows[k].message))
      fail_msg("'%s': status %d, %s", rows[k].net, (int)s, err.n ? err.msg[0] : "no message");
    tsr_net_destroy(net);
    tsr_err_fini(&err);
  }
}

static void sound_nets_are_taken(void **state) {
  (void)state;
  static const char *const rows[] = {
      "in x f32[2,3]; say y f32[n,3]; node Neg x -> y; out y", /* open in the output */
      "in x f32[0,3]; node Neg x -> y; out y",
      "in x f32[2]; const x f32[2] 1 2; node Neg x -> y; out y", /* an initialiser is no input
                                                                  */
      "in x f32[2]; out x",
      "node Constant none -> y value_int=3; out y",
      "in x f32[2]; node Clip x,-,- -> y; out y",
  };
  for (size_t k = 0; k < N(rows); k++) {
    struct tsr_err err = TSR_ERR_INIT;
    struct tsr_net *net = NULL;
    enum tsr_status s = net_of(rows[k], 13, &net, &err);
    if (!s) s = finish_with(net, NULL, 0, &err);
    if (s) fail_msg("'%s': %s", rows[k], err.n ? err.msg[0] : "?");
    tsr_net_destroy(net);
    tsr_err_fini(&err);
  }
}

static void folding_has_a_limit(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_net *net = NULL;
  assert_int_equal(
      net_of("const s i64[1] 268435457; node ConstantOfShape s -> y; out y", 13, &net, &err),
      TSR_OK);
  assert_int_equal(finish_with(net, NULL, 0, &err), TSR_OK);
  assert_false(net->nodes[0].folded);
  assert_null(net->values[net->outputs[0]].constant);
  tsr_net_destroy(net);
  tsr_err_fini(&err);
}

static void what_is_not_supported_can_be_skipped(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_net *net = NULL;
  assert_int_equal(net_of("in x f32[2]; say y f32[5]; node Foo x -> y; node Neg y -> z;"
                          "node Bar z -> u; node Abs u -> v; out v",
                          13, &net, &err),
                   TSR_OK);
  struct tsr_net_options o = {.skip_unsupported = true};
  assert_int_equal(tsr_net_finish(net, &o, &err), TSR_OK);
  assert_int_equal(net->n_skipped, 3); /* Foo, Bar, and Abs of a value without a shape */
  static const bool skipped[] = {true, false, true, true};
  for (size_t k = 0; k < N(skipped); k++) assert_int_equal(net->nodes[k].skipped, skipped[k]);
  const struct tsr_net_value *z = &net->values[tsr_net_find(net, "z")];
  assert_true(z->shaped && z->dim[0] == 5);
  tsr_net_destroy(net);
  tsr_err_fini(&err);
}

static void inputs_must_fit(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_net *net = NULL;
  struct tsr_array *x = NULL, *value[8] = {NULL};
  assert_int_equal(net_of("in x f32[2]; node Neg x -> y; out y", 13, &net, &err), TSR_OK);
  assert_int_equal(tsr_net_eval(net, value, NULL, NULL, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "is not finished"));
  assert_int_equal(finish_with(net, NULL, 0, &err), TSR_OK);
  assert_int_equal(tsr_net_eval(net, value, NULL, NULL, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[1], "input 'x' has no value"));
  assert_int_equal(tsr_array_create(NULL, TSR_DTYPE_F32, 1, (const uint64_t[]){3}, &x, &err),
                   TSR_OK);
  value[net->inputs[0]] = x;
  assert_int_equal(tsr_net_eval(net, value, NULL, NULL, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[2], "expected f32[2], got 'f32[3]'"));
  tsr_array_destroy(x);
  tsr_net_destroy(net);
  tsr_err_fini(&err);
}

static void operators_have_names(void **state) {
  (void)state;
  for (unsigned op = 1; op < TSR_NET_OP_COUNT_; op++) {
    const char *name = tsr_net_op_name((enum tsr_net_op)op);
    assert_int_equal(tsr_net_op_find(name), op);
    assert_true(strlen(tsr_net_op_doc((enum tsr_net_op)op)) > 1);
  }
  assert_int_equal(tsr_net_op_find("relu"), TSR_NET_UNKNOWN);
  assert_int_equal(tsr_net_op_find("?"), TSR_NET_UNKNOWN);
}

static void names_of_values_are_made_unique(void **state) {
  (void)state;
  struct tsr_net *net = NULL;
  size_t v;
  assert_int_equal(tsr_net_create("t", NULL, 13, &net, NULL), TSR_OK);
  static const char *const want[] = {"a", "a.2", "a.3"};
  for (size_t k = 0; k < N(want); k++) {
    assert_int_equal(
        tsr_net_value_new(net, "a", TSR_DTYPE_F32, 1, (const uint64_t[]){4}, &v, NULL), TSR_OK);
    assert_string_equal(net->values[v].name, want[k]);
  }
  assert_int_equal(tsr_net_find(net, "b"), SIZE_MAX);
  tsr_net_destroy(net);
}

/* What would move a terminal, or is no text, is no name. */
static void names_are_printable(void **state) {
  (void)state;
  static const struct {
    const char *name;
    enum tsr_status status;
  } rows[] = {{"a/b:0", TSR_OK},        {"caf\xc3\xa9", TSR_OK}, {"a\nb", TSR_INPUT},
              {"\x1b[31ma", TSR_INPUT}, {"a\x7f", TSR_INPUT},    {"a\xff", TSR_INPUT}};
  for (size_t k = 0; k < N(rows); k++) {
    struct tsr_net *net = NULL, *named = NULL;
    size_t v;
    assert_int_equal(tsr_net_create("t", NULL, 13, &net, NULL), TSR_OK);
    assert_int_equal(tsr_net_value(net, rows[k].name, &v, NULL), rows[k].status);
    assert_int_equal(
        tsr_net_node(net, "Relu", "", rows[k].name, NULL, 0, NULL, 0, NULL, 0, NULL),
        rows[k].status);
    assert_int_equal(tsr_net_create(rows[k].name, NULL, 13, &named, NULL), rows[k].status);
    tsr_net_destroy(net);
    tsr_net_destroy(named);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_printable),
      cmocka_unit_test(a_net_is_finished_and_computed),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(constants_are_folded),
      cmocka_unit_test(nodes_come_in_an_order_that_runs),
      cmocka_unit_test(long_chains_take_no_time),
      cmocka_unit_test(broken_nets_are_refused),
      cmocka_unit_test(sound_nets_are_taken),
      cmocka_unit_test(folding_has_a_limit),
      cmocka_unit_test(what_is_not_supported_can_be_skipped),
      cmocka_unit_test(inputs_must_fit),
      cmocka_unit_test(operators_have_names),
      cmocka_unit_test(names_of_values_are_made_unique),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
