/* Graphs as JSON: every network of the zoo comes back as it was; mistakes are shown in place.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/exchange/graph_json.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static enum tsr_status read_text(const char *text, uint64_t batch, struct tsr_graph **g,
                                 struct tsr_err *err) {
  return tsr_graph_json_read("g.json", text, strlen(text), batch, g, err);
}

static struct tsr_graph *must_read(const char *text) {
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  if (read_text(text, 0, &g, &err)) fail_msg("'%s': %s", text, err.n ? err.msg[0] : "?");
  tsr_err_fini(&err);
  return g;
}

static char *must_write(const struct tsr_graph *g) {
  struct tsr_str s = TSR_STR_INIT;
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_graph_json_write(g, &s, &err)) fail_msg("%s", err.n ? err.msg[0] : "?");
  char *text = tsr_str_take(&s);
  assert_non_null(text);
  return text;
}

static void same_conv(const struct tsr_conv *a, const struct tsr_conv *b) {
  const uint64_t x[] = {a->batch, a->in_c,     a->in_h,     a->in_w,  a->out_c, a->out_h,
                        a->out_w, a->k_h,      a->k_w,      a->pad_t, a->pad_l, a->pad_b,
                        a->pad_r, a->stride_h, a->stride_w, a->dil_h, a->dil_w, a->groups};
  const uint64_t y[] = {b->batch, b->in_c,     b->in_h,     b->in_w,  b->out_c, b->out_h,
                        b->out_w, b->k_h,      b->k_w,      b->pad_t, b->pad_l, b->pad_b,
                        b->pad_r, b->stride_h, b->stride_w, b->dil_h, b->dil_w, b->groups};
  assert_memory_equal(x, y, sizeof x);
}

static void same_attr(const struct tsr_op_attr *a, const struct tsr_op_attr *b) {
  assert_int_equal(a->heads, b->heads);
  assert_int_equal(a->kv_heads, b->kv_heads);
  assert_int_equal(a->causal, b->causal);
  assert_int_equal(a->table, b->table);
  assert_int_equal(a->experts, b->experts);
  assert_true(a->eps == b->eps && a->alpha == b->alpha && a->beta == b->beta);
  assert_true(a->zero == b->zero && a->with == b->with);
}

static void same_op(const struct tsr_op *a, const struct tsr_op *b) {
  assert_string_equal(a->name, b->name);
  assert_int_equal(a->kind, b->kind);
  assert_true(a->m == b->m && a->n == b->n && a->k == b->k && a->count == b->count);
  assert_int_equal(a->has_conv, b->has_conv);
  if (a->has_conv) same_conv(&a->conv, &b->conv);
  same_attr(&a->attr, &b->attr);
  assert_int_equal(a->n_steps, b->n_steps);
  for (size_t i = 0; i < a->n_steps; i++) {
    const struct tsr_op_step *x = &a->step[i], *y = &b->step[i];
    assert_true(x->kind == y->kind && x->with == y->with && x->alpha == y->alpha &&
                x->beta == y->beta && x->zero == y->zero);
  }
  assert_string_equal(a->format_a, b->format_a);
  assert_string_equal(a->format_b, b->format_b);
  assert_string_equal(a->format_acc, b->format_acc);
  assert_string_equal(a->format_out, b->format_out);
  assert_string_equal(a->sparsity, b->sparsity);
  assert_int_equal(a->n_after, b->n_after);
  for (size_t i = 0; i < a->n_after; i++) assert_int_equal(a->after[i], b->after[i]);
}

static void round_trip(const struct tsr_graph *g) {
  char *text = must_write(g);
  assert_true(tsr_graph_json_is(text, strlen(text)));
  struct tsr_graph *again = must_read(text);
  assert_string_equal(again->name, g->name);
  assert_string_equal(again->text, text);
  assert_int_equal(again->batch, g->batch);
  assert_int_equal(again->n_ops, g->n_ops);
  for (size_t i = 0; i < g->n_ops; i++) same_op(&g->ops[i], &again->ops[i]);
  char *twice = must_write(again);
  assert_string_equal(text, twice);
  tsr_graph_destroy(again);
  tsr_mem_free(text);
  tsr_mem_free(twice);
}

static void every_network_of_the_zoo_comes_back(void **state) {
  (void)state;
  assert_true(tsr_zoo_count() > 10);
  for (size_t i = 0; i < tsr_zoo_count(); i++) {
    struct tsr_graph *g;
    assert_int_equal(tsr_workload_read(tsr_zoo_name(i), NULL, &g, NULL), TSR_OK);
    round_trip(g);
    tsr_graph_destroy(g);
  }
}

static void what_layer_lists_say_comes_back(void **state) {
  (void)state;
  static const char *const texts[] = {
      /* numbers of steps and operators, infinities, ways */
      "model,layer,op,M,N,K,count,notes,alpha,beta,zero,with,epilogue\n"
      "m,a,gemm,4,4,4,1,,,,,,\"bias+clip(-inf,6)+add:full\"\n",
      "model,layer,op,M,N,K,count,notes,alpha,beta,with,after\n"
      "m,c,clip,4,4,,,,0.1,inf,,-\nm,l,leaky_relu,4,4,,,,0.3,,,c\nm,x,mul,4,4,,,,,,col,c l\n",
      "Layer, M, N, K, Sparsity,\n\"q\"\"uoted\\\",16,8,4,2:4,\n"};
  for (size_t i = 0; i < LEN(texts); i++) {
    struct tsr_graph *g;
    struct tsr_err err = TSR_ERR_INIT;
    const struct tsr_workload_options o = {.text = texts[i]};
    if (tsr_workload_read("t.csv", &o, &g, &err)) fail_msg("%zu: %s", i, err.msg[0]);
    round_trip(g);
    tsr_graph_destroy(g);
    tsr_err_fini(&err);
  }
}

#define GRAPH(ops) "{\"tessera_graph\": 1, \"name\": \"g\", \"operators\": [" ops "]}"
#define GEMM(name) "{\"name\": \"" name "\", \"op\": \"gemm\", \"m\": 2, \"n\": 3, \"k\": 4}"

static void what_is_left_out_has_its_default(void **state) {
  (void)state;
  struct tsr_graph *g = must_read(GRAPH(
      GEMM("a") ","
                "{\"name\": \"att\", \"op\": \"attention\", \"m\": 8, \"n\": 8, \"k\": 4, "
                "\"count\": 6},"
                "{\"name\": \"n\", \"op\": \"rmsnorm\", \"m\": 8, \"n\": 4},"
                "{\"name\": \"d\", \"op\": \"dequantise\", \"m\": 8, \"n\": 4, \"after\": "
                "[\"n\", \"a\"]}"));
  assert_int_equal(g->batch, 1);
  assert_int_equal(g->ops[0].count, 1);
  assert_int_equal(g->ops[0].n_after, 0);
  assert_string_equal(g->ops[0].format_a, "");
  assert_string_equal(g->ops[0].sparsity, "");
  assert_int_equal(g->ops[1].attr.heads, 6);
  assert_int_equal(g->ops[1].attr.kv_heads, 6);
  assert_true(g->ops[2].attr.eps == 1e-6 && g->ops[2].k == 1);
  assert_int_equal(g->ops[3].attr.with, TSR_WITH_ROW);
  assert_int_equal(g->ops[3].n_after, 2);
  assert_int_equal(g->ops[3].after[0], 2);
  assert_int_equal(g->ops[3].after[1], 0);
  assert_int_equal(g->ops[0].pos.line, 1);
  assert_int_equal(g->ops[0].pos.col, 49);
  tsr_graph_destroy(g);
}

static void a_batch_multiplies(void **state) {
  (void)state;
  struct tsr_graph *g;
  static const char text[] = "{\"tessera_graph\": 1, \"name\": \"g\", \"batch\": 2, "
                             "\"operators\": [" GEMM("a") "]}";
  assert_int_equal(read_text(text, 3, &g, NULL), TSR_OK);
  assert_int_equal(g->batch, 6);
  assert_int_equal(g->ops[0].m, 6);
  tsr_graph_destroy(g);
}

static const struct {
  const char *text;
  unsigned line, col;
  const char *says;
} bad[] = {
    {"{\"tessera_graph\": 1,\n \"name\": }", 2, 10, "no JSON"},
    {"[]", 1, 1, "expected a JSON object"},
    {"{\"name\": \"g\", \"name\": \"h\"}", 1, 0, "duplicate"},
    {"{\"name\": \"g\"}", 1, 1, "the key 'tessera_graph' is missing"},
    {"{\"tessera_graph\": 2}", 1, 19, "version of a graph; expected 1"},
    {"{\"tessera_graph\": 1, \"nam\": \"g\"}", 1, 22, "did you mean 'name'?"},
    {"{\"tessera_graph\": 1, \"operators\": []}", 1, 1, "key 'name' is missing"},
    {"{\"tessera_graph\": 1, \"name\": \"\", \"operators\": []}", 1, 30,
     "name; expected a name, got nothing"},
    {GRAPH(""), 1, 48, "expected an array of one operator or more, got an empty one"},
    {"{\"tessera_graph\": 1, \"name\": \"g\", \"batch\": 0, \"operators\": [" GEMM("a") "]}", 1,
     44, "batch; expected a whole number of 1 or more"},
    {GRAPH("7"), 1, 49, "operator; expected an object, got a number"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"gemm\", \"m\": 2}"), 2, 1, "key 'n' is missing"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"gem\", \"m\": 2, \"n\": 1}"), 2, 21,
     "did you mean 'gemm'?"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"gemm\", \"m\": 2.5, \"n\": 1}"), 2, 34,
     "m; expected a whole number of 1 or more"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"gemm\", \"m\": -2, \"n\": 1}"), 2, 34, "m; expected"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"gemm\", \"m\": 2, \"n\": 1, \"K\": 3}"), 2, 45,
     "unknown key; expected name, op, m, n, k"},
    {GRAPH("\n{\"name\": \"a\\u0007\", \"op\": \"gemm\", \"m\": 2, \"n\": 1}"), 2, 10,
     "got a control character"},
    {GRAPH("\n{\"name\": \"a \", \"op\": \"gemm\", \"m\": 2, \"n\": 1}"), 2, 10,
     "got a blank at an end"},
    {GRAPH(GEMM("a") ",\n" GEMM("a")), 2, 10, "name of an operator taken"},
    {GRAPH(
         "\n{\"name\": \"a\", \"op\": \"gemm\", \"m\": 2, \"n\": 1, \"after\": [\"b\"]}," GEMM(
             "b")),
     2, 55,
     "unknown operator in after; expected names of earlier operators, each once, got 'b'"},
    {GRAPH(GEMM("b") ",\n{\"name\": \"a\", \"op\": \"gemm\", \"m\": 2, \"n\": 1, "
                     "\"after\": [\"b\", \"b\"]}"),
     2, 60, "operator twice in after"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"gemm\", \"m\": 2, \"n\": 1, \"after\": [1]}"), 2, 55,
     "got a number"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"gemm\", \"m\": 2, \"n\": 1, \"attributes\": "
           "{\"eps\": 1}}"),
     2, 59, "attributes of op gemm; expected none"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"softmax\", \"m\": 2, \"n\": 1, \"epilogue\": "
           "[{\"op\": \"relu\"}]}"),
     2, 1, "epilogue of 'a'"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"gemm\", \"m\": 2, \"n\": 1, \"epilogue\": "
           "[{\"op\": \"relu\", \"with\": \"row\"}]}"),
     2, 73, "unknown key; expected op, got 'with'"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"gemm\", \"m\": 2, \"n\": 1, \"epilogue\": "
           "[{\"op\": \"add\", \"with\": \"rows\"}]}"),
     2, 80, "expected full, row, col or scalar, got 'rows'"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"gemm\", \"m\": 2, \"n\": 1, \"sparsity\": \"4:2\"}"),
     2, 57, "expected N:M with N from 1 to M"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"gemm\", \"m\": 2, \"n\": 1, \"formats\": "
           "{\"c\": \"int8\"}}"),
     2, 57, "unknown key; expected a, b, acc, out"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"layernorm\", \"m\": 2, \"n\": 1, \"attributes\": "
           "{\"eps\": \"small\"}}"),
     2, 72, "eps; expected a number"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"conv\", \"m\": 9, \"n\": 4, \"k\": 18, \"conv\": "
           "{\"in_c\": 2}}"),
     2, 62, "key 'in_h' is missing"},
    {GRAPH("\n{\"name\": \"a\", \"op\": \"conv\", \"m\": 8, \"n\": 4, \"k\": 18, \"conv\": "
           "{\"in_c\": 2, \"in_h\": 5, \"in_w\": 5, \"out_c\": 4, \"out_h\": 3, \"out_w\": 3, "
           "\"k_h\": 3, \"k_w\": 3}}"),
     2, 1, "M of 'a' does not agree with the geometry; expected 9, got '8'"},
};

static void mistakes_are_shown_in_place(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(bad); i++) {
    struct tsr_graph *g = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    char start[64];
    assert_int_equal(read_text(bad[i].text, 0, &g, &err), TSR_INPUT);
    assert_null(g);
    int n = bad[i].col ? snprintf(start, sizeof start, "g.json:%u:%u: error: ", bad[i].line,
                                  bad[i].col)
                       : snprintf(start, sizeof start, "g.json:%u:", bad[i].line);
    assert_true(err.n > 0);
    if (strncmp(err.msg[0], start, (size_t)n) != 0 || !strstr(err.msg[0], bad[i].says))
      fail_msg("%zu: expected '%s… %s', got '%s'", i, start, bad[i].says, err.msg[0]);
    tsr_err_fini(&err);
    assert_int_equal(read_text(bad[i].text, 0, &g, NULL), TSR_INPUT);
  }
}

/* One with a mistake keeps its name: the ones after it are not wrong because of it. */
static void several_mistakes_are_told_at_once(void **state) {
  (void)state;
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  static const char text[] = GRAPH(
      "{\"name\": \"a\", \"op\": \"nothing\", \"m\": 2, \"n\": 1},"
      "{\"name\": \"b\", \"op\": \"gemm\", \"m\": 0, \"n\": 1, \"after\": [\"a\"]},"
      "{\"name\": \"c\", \"op\": \"gemm\", \"m\": 1, \"n\": 1, \"after\": [\"a\", \"b\"]}");
  assert_int_equal(read_text(text, 0, &g, &err), TSR_INPUT);
  assert_int_equal(err.total, 2);
  tsr_err_fini(&err);
}

static void sizes_that_json_lacks_are_told(void **state) {
  (void)state;
  struct tsr_graph *g;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_str s = TSR_STR_INIT;
  assert_int_equal(tsr_workload_read("gemm:9223372036854775808x1x1", NULL, &g, NULL), TSR_OK);
  assert_int_equal(tsr_graph_json_write(g, &s, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "expected at most 2^63 - 1"));
  tsr_str_fini(&s);
  tsr_err_fini(&err);
  tsr_graph_destroy(g);
}

static enum tsr_status there_and_back(struct tsr_err *err) {
  struct tsr_graph *g;
  struct tsr_str s = TSR_STR_INIT;
  enum tsr_status st = read_text(GRAPH(GEMM("a") ",{\"name\": \"c\", \"op\": \"gemm\", \"m\": "
                                                 "1, \"n\": 1, \"after\": [\"a\"]}"),
                                 0, &g, err);
  if (st) return st;
  st = tsr_graph_json_write(g, &s, err);
  tsr_str_fini(&s);
  tsr_graph_destroy(g);
  return st;
}

static void out_of_memory_is_told(void **state) {
  (void)state;
  for (uint64_t nth = 1;; nth++) {
    struct tsr_err err = TSR_ERR_INIT;
    tsr_mem_fail_at(nth, false);
    enum tsr_status st = there_and_back(&err);
    tsr_mem_fail_at(0, false);
    tsr_err_fini(&err);
    if (st == TSR_OK) {
      assert_true(nth > 10);
      return;
    }
    assert_int_equal(st, TSR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_network_of_the_zoo_comes_back),
                                     cmocka_unit_test(what_layer_lists_say_comes_back),
                                     cmocka_unit_test(what_is_left_out_has_its_default),
                                     cmocka_unit_test(a_batch_multiplies),
                                     cmocka_unit_test(mistakes_are_shown_in_place),
                                     cmocka_unit_test(several_mistakes_are_told_at_once),
                                     cmocka_unit_test(sizes_that_json_lacks_are_told),
                                     cmocka_unit_test(out_of_memory_is_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
