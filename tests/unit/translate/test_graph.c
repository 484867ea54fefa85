/* The graph that a net becomes: names, order of dependencies, inferences, source, aliases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness.h"
#include "workloads/translate/translate.h"

static struct tsr_graph *graph_of(const char *text, const char *prefix) {
  struct tsr_graph *g = NULL;
  struct tsr_net *net = net_of(&(struct net_case){.text = text});
  assert_int_equal(tsr_translate(net, prefix, &g, NULL), TSR_OK);
  return g;
}

/* Operators of one net and what each runs after. */
static const char split[] = "a = f32[2,3]; b = f32[2,4]; c = Concat(a,b) axis=1; d = Neg(c); "
                            "e = Sub(d,c); f = Mul(e,e)";
static const struct {
  const char *name;
  size_t n_after, after[3];
} ops[] = {
    {"p.Concat_0", 0, {0}},
    {"p.Neg_1", 1, {0}},
    {"p.Sub_2", 2, {1, 0}},
    {"p.Mul_3", 2, {2, 2}},
};

static void operators_run_after_all_writers(void **state) {
  (void)state;
  struct tsr_graph *g = graph_of(split, "p.");
  assert_int_equal(g->n_ops, sizeof ops / sizeof ops[0]);
  for (size_t i = 0; i < g->n_ops; i++) {
    assert_string_equal(g->ops[i].name, ops[i].name);
    assert_int_equal(g->ops[i].n_after, ops[i].n_after);
    for (size_t k = 0; k < ops[i].n_after; k++)
      assert_int_equal(g->ops[i].after[k], ops[i].after[k]);
  }
  tsr_graph_destroy(g);
}

/* A net y = Neg(x) of x[dim, 3], open under a name or not, the dimension given. */
static struct tsr_graph *one_open(bool open, uint64_t dim) {
  struct tsr_net *net = NULL;
  struct tsr_graph *g = NULL;
  size_t x, y;
  assert_int_equal(tsr_net_create("case", "case", 17, &net, NULL), TSR_OK);
  assert_int_equal(tsr_net_value(net, "x", &x, NULL), TSR_OK);
  assert_int_equal(tsr_net_value(net, "y", &y, NULL), TSR_OK);
  struct tsr_net_value *v = &net->values[x];
  v->type = TSR_DTYPE_F32;
  v->shaped = true;
  v->rank = 2;
  v->dim[0] = open ? 0 : dim;
  v->dim[1] = 3;
  v->dim_name[0] = open ? "N" : NULL;
  assert_int_equal(tsr_net_input(net, x, NULL), TSR_OK);
  assert_int_equal(tsr_net_output(net, y, NULL), TSR_OK);
  assert_int_equal(tsr_net_node(net, "Neg", "", "neg", &x, 1, &y, 1, NULL, 0, NULL), TSR_OK);
  const struct tsr_net_dim given = {"N", dim};
  const struct tsr_net_options o = {.dims = &given, .n_dims = open};
  assert_int_equal(tsr_net_finish(net, &o, NULL), TSR_OK);
  assert_int_equal(tsr_translate(net, NULL, &g, NULL), TSR_OK);
  return g;
}

/* What a model fixes may be a sequence or features; what the user gives first is a batch. */
static void inferences_are_an_open_first_dimension(void **state) {
  (void)state;
  for (int open = 0; open <= 1; open++) {
    struct tsr_graph *g = one_open(open, 6);
    assert_int_equal(g->batch, open ? 6 : 1);
    assert_int_equal(g->ops[0].m * g->ops[0].n, 18);
    assert_string_equal(g->name, "case");
    tsr_graph_destroy(g);
  }
}

static void the_source_lists_the_model(void **state) {
  (void)state;
  struct tsr_graph *g = graph_of("x = f32[2,3]; n = Neg(x); y = Flatten(n)", NULL);
  assert_non_null(strstr(g->text, "input x:f32[2,3]\n"));
  assert_non_null(strstr(g->text, "Neg Neg_0 x:f32[2,3] -> n:f32[2,3]\n"));
  assert_non_null(strstr(g->text, "output y:f32[2,3]\n"));
  tsr_graph_destroy(g);
}

static void renamed_values_name_their_source(void **state) {
  (void)state;
  struct tsr_graph *g = graph_of(
      "x = f32[2,3]; n = Neg(x); a = Flatten(n); b = Identity(a); y = Identity(x)", NULL);
  const struct tsr_net *net = g->nets[0];
  assert_int_equal(g->n_nets, 1);
  size_t n = tsr_net_find(net, "n"), y = tsr_net_find(net, "y");
  assert_int_equal(tsr_translate_source(net, tsr_net_find(net, "b")), n);
  assert_int_equal(tsr_translate_source(net, y), y); /* an input is copied to be an output */
  assert_int_equal(tsr_translate_source(net, n), n);
  assert_int_equal(net->values[n].alias, SIZE_MAX);
  tsr_graph_destroy(g);
}

/* Formats are those of the values' types. */
static void integers_have_formats(void **state) {
  (void)state;
  static const struct {
    const char *text, *a, *b, *out;
  } rows[] = {{"x = f32[2,3]; y = Neg(x)", "", "", ""},
              {"x = i64[2,3]; z = i64[3]; y = Add(x,z)", "int32", "int32", "int32"},
              {"x = f32[2,3]; z = f32[3]; y = Less(x,z)", "", "", "uint8"},
              {"x = bool[2,3]; y = Cast(x) to=1", "uint8", "", ""},
              {"x = i8[2,3]; y = Abs(x)", "int8", "", "int8"},
              {"x := f32[5,3]; i = i64[2] 0~5; y = Gather(x,i)", "", "", ""}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tsr_graph *g = graph_of(rows[i].text, NULL);
    assert_string_equal(g->ops[0].format_a, rows[i].a);
    assert_string_equal(g->ops[0].format_b, rows[i].b);
    assert_string_equal(g->ops[0].format_out, rows[i].out);
    tsr_graph_destroy(g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operators_run_after_all_writers),
      cmocka_unit_test(inferences_are_an_open_first_dimension),
      cmocka_unit_test(the_source_lists_the_model),
      cmocka_unit_test(renamed_values_name_their_source),
      cmocka_unit_test(integers_have_formats),
  };
  return cmocka_run_group_tests_name("translate_graph", tests, NULL, NULL);
}
