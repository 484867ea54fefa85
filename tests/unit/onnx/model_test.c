#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdlib.h>

#include "tests/unit/onnx/wire.h"
#include "workloads/onnx/onnx.h"

/* A graph with the node's defect, or one of its own. */
typedef void make_fn(struct tsr_str *g);

static void relu(struct tsr_str *g) {
  wire_node(g, "Relu", "act", "x", "y");
  wire_value(g, GRAPH_INPUT, "x", 4);
  wire_value(g, GRAPH_OUTPUT, "y", 4);
}
static void ends(struct tsr_str *g) {
  wire_value(g, GRAPH_INPUT, "x", 4);
  wire_value(g, GRAPH_OUTPUT, "y", 4);
}
static void two_producers(struct tsr_str *g) {
  wire_node(g, "Relu", "one", "x", "y");
  wire_node(g, "Neg", "two", "x", "y");
  ends(g);
}
static void makes_an_input(struct tsr_str *g) {
  wire_node(g, "Relu", "act", "y", "x");
  ends(g);
}
static void reads_nothing(struct tsr_str *g) {
  wire_node(g, "Add", "sum", "x,gone", "y");
  ends(g);
}
static void makes_no_output(struct tsr_str *g) {
  wire_node(g, "Relu", "act", "x", "z");
  ends(g);
}
static void no_operator(struct tsr_str *g) {
  wire_node(g, NULL, "act", "x", "y");
  ends(g);
}
static void nameless_initialiser(struct tsr_str *g) {
  relu(g);
  wire_initialiser(g, NULL, 4);
}
static void same_initialiser(struct tsr_str *g) {
  relu(g);
  wire_initialiser(g, "w", 4);
  wire_initialiser(g, "w", 4);
}
static void nameless_input(struct tsr_str *g) {
  relu(g);
  wire_value(g, GRAPH_INPUT, NULL, 4);
}
static void same_input(struct tsr_str *g) {
  relu(g);
  wire_value(g, GRAPH_INPUT, "x", 4);
}
static void same_output(struct tsr_str *g) {
  relu(g);
  wire_value(g, GRAPH_OUTPUT, "y", 4);
}
static void negative_dimension(struct tsr_str *g) {
  relu(g);
  wire_value(g, GRAPH_INPUT, "z", -3);
}
static void absurd_dimension(struct tsr_str *g) {
  relu(g);
  wire_value(g, GRAPH_INPUT, "z", INT64_MAX);
}
/* A value whose type is one message without content, in this field of TypeProto. */
static void typed(struct tsr_str *g, unsigned field) {
  struct tsr_str none = TSR_STR_INIT, type = TSR_STR_INIT, v = TSR_STR_INIT;
  wire_message(&type, field, &none);
  wire_text(&v, 1, "s");
  wire_message(&v, 2, &type);
  relu(g);
  wire_message(g, GRAPH_INPUT, &v);
}
static void typeless(struct tsr_str *g) {
  typed(g, 1);
}
static void sequence(struct tsr_str *g) {
  typed(g, 4);
}
static void map(struct tsr_str *g) {
  typed(g, 5);
}
static void optional(struct tsr_str *g) {
  typed(g, 9);
}
static void sparse(struct tsr_str *g) {
  typed(g, 8);
}
static void sparse_initialiser(struct tsr_str *g) {
  struct tsr_str values = TSR_STR_INIT, s = TSR_STR_INIT;
  wire_text(&values, 8, "thin");
  wire_message(&s, 1, &values);
  relu(g);
  wire_message(g, 15, &s);
}
/* Relu with one attribute, which the caller has started. */
static void with_attr(struct tsr_str *g, struct tsr_str *attr, unsigned count) {
  struct tsr_str n = TSR_STR_INIT;
  wire_text(&n, 1, "x");
  wire_text(&n, 2, "y");
  wire_text(&n, 4, "Relu");
  for (unsigned i = 0; i < count; i++) wire_bytes(&n, 5, attr->p, attr->n);
  tsr_str_fini(attr);
  wire_message(g, GRAPH_NODE, &n);
  ends(g);
}
static void nameless_attribute(struct tsr_str *g) {
  struct tsr_str a = TSR_STR_INIT;
  wire_int(&a, 20, 2);
  with_attr(g, &a, 1);
}
static void same_attribute(struct tsr_str *g) {
  struct tsr_str a = TSR_STR_INIT;
  wire_text(&a, 1, "axis");
  wire_int(&a, 3, 1);
  wire_int(&a, 20, 2);
  with_attr(g, &a, 2);
}
static void attribute_of_a_function(struct tsr_str *g) {
  struct tsr_str a = TSR_STR_INIT;
  wire_text(&a, 1, "axis");
  wire_text(&a, 21, "outer");
  with_attr(g, &a, 1);
}
static void tensor_without_tensor(struct tsr_str *g) {
  struct tsr_str a = TSR_STR_INIT;
  wire_text(&a, 1, "value");
  wire_int(&a, 20, 4);
  with_attr(g, &a, 1);
}
static void list_of_tensors(struct tsr_str *g) {
  struct tsr_str a = TSR_STR_INIT;
  wire_text(&a, 1, "value");
  wire_int(&a, 20, 9);
  with_attr(g, &a, 1);
}
static void string_tensor(struct tsr_str *g) {
  struct tsr_str a = TSR_STR_INIT, t = TSR_STR_INIT;
  wire_int(&t, 2, 8);
  wire_text(&a, 1, "value");
  wire_message(&a, 5, &t);
  wire_int(&a, 20, 4);
  with_attr(g, &a, 1);
}
static void empty(struct tsr_str *g) {
  (void)g;
}

static void defects_are_named(void **state) {
  (void)state;
  static const struct {
    make_fn *make;
    int64_t opset;
    const char *message;
  } rows[] = {
      {relu, 0, "names no opset"},
      {relu, -1, "got '-1'"},
      {relu, INT64_MAX, "version 1 to 21"},
      {two_producers, 13, "node 'two' (Neg)"},
      {makes_an_input, 13, "makes value 'x', which is an input of the model"},
      {reads_nothing, 13, "node 'sum' (Add) reads 'gone', which nothing makes"},
      {makes_no_output, 13, "nothing makes output 'y'"},
      {no_operator, 13, "node 'act' names no operator"},
      {nameless_initialiser, 13, "an initialiser has no name"},
      {same_initialiser, 13, "initialiser 'w' stands twice"},
      {nameless_input, 13, "an input has no name"},
      {same_input, 13, "input 'x' is declared twice"},
      {same_output, 13, "output 'y' is declared twice"},
      {negative_dimension, 13, "dimension 0 of input 'z' is -3; expected 0 or more"},
      {absurd_dimension, 13, "the dimensions of input 'z' are too large"},
      {typeless, 13, "input 's' has no element type"},
      {sequence, 13, "input 's' is a sequence; expected a tensor"},
      {map, 13, "input 's' is a map"},
      {optional, 13, "input 's' is an optional"},
      {sparse, 13, "input 's' is a sparse tensor"},
      {sparse_initialiser, 13, "initialiser 'thin' is a sparse tensor"},
      {nameless_attribute, 13, "node 'Relu_0' (Relu) has an attribute without a name"},
      {same_attribute, 13, "attribute 'axis' stands twice"},
      {attribute_of_a_function, 13, "attribute 'axis' refers to a function's"},
      {tensor_without_tensor, 13, "attribute 'value' holds no tensor"},
      {list_of_tensors, 13,
       "attribute 'value' is a sparse tensor, a list of tensors or a type"},
      {string_tensor, 13, "attribute 'value' of node 'Relu_0' (Relu) holds elements of string"},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    struct tsr_str g = TSR_STR_INIT;
    rows[k].make(&g);
    struct tsr_str m = wire_model(&g, rows[k].opset);
    struct tsr_net *net = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_onnx_parse("m.onnx", m.p, m.n, NULL, &net, &err), TSR_INPUT);
    assert_null(net);
    if (!strstr(err.msg[0], rows[k].message) || !strstr(err.msg[0], "m.onnx"))
      fail_msg("row %zu: '%s' in: %s", k, rows[k].message, err.msg[0]);
    assert_int_equal(err.total, 1);
    tsr_str_fini(&m);
    tsr_err_fini(&err);
  }
}

static struct tsr_net *parse(struct tsr_str *m, struct tsr_err *err) {
  struct tsr_net *net = NULL;
  if (tsr_onnx_parse("dir/m.onnx", m->p, m->n, NULL, &net, err) != TSR_OK)
    fail_msg("%s", err && err->n ? err->msg[0] : "no message");
  tsr_str_fini(m);
  return net;
}

static void a_model_without_graph_or_with_functions_is_refused(void **state) {
  (void)state;
  struct tsr_net *net = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_onnx_parse("m.onnx", "\x08\x08", 2, NULL, &net, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "the model has no graph"));
  tsr_err_fini(&err);
  struct tsr_str m = wire_relu(), f = TSR_STR_INIT;
  wire_text(&f, 1, "Gelu");
  wire_message(&m, 25, &f);
  assert_int_equal(tsr_onnx_parse("m.onnx", m.p, m.n, NULL, &net, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "defines the function 'Gelu'"));
  tsr_err_fini(&err);
  tsr_str_fini(&m);
}

static void names_become_unique_with_one_warning(void **state) {
  (void)state;
  struct tsr_str g = TSR_STR_INIT;
  struct tsr_err err = TSR_ERR_INIT;
  wire_node(&g, "Relu", "same", "x", "a");
  wire_node(&g, "Relu", "same", "a", "b");
  wire_node(&g, "Relu", "same", "b", "c");
  wire_node(&g, "Relu", NULL, "c", "d");
  wire_node(&g, "Relu", "Relu_3", "d", "y");
  ends(&g);
  struct tsr_str m = wire_model(&g, 13);
  struct tsr_net *net = parse(&m, &err);
  static const char *const want[] = {"same", "same_1", "same_2", "Relu_3", "Relu_3_4"};
  for (size_t i = 0; i < 5; i++) assert_string_equal(net->nodes[i].name, want[i]);
  assert_int_equal(err.warnings, 1);
  assert_non_null(strstr(err.warn, "'same' stands more than once; 3 nodes"));
  tsr_net_destroy(net);
  tsr_err_fini(&err);
}

static void a_later_opset_is_read_with_a_warning(void **state) {
  (void)state;
  static const struct {
    int64_t opset;
    size_t warnings;
  } rows[] = {{1, 0}, {21, 0}, {22, 1}, {25, 1}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    struct tsr_str g = TSR_STR_INIT;
    struct tsr_err err = TSR_ERR_INIT;
    relu(&g);
    struct tsr_str m = wire_model(&g, rows[k].opset);
    struct tsr_net *net = parse(&m, &err);
    assert_int_equal(net->opset, rows[k].opset);
    assert_int_equal(err.warnings, rows[k].warnings);
    tsr_net_destroy(net);
    tsr_err_fini(&err);
  }
}

static void initialisers_are_no_inputs_and_left_out_names_no_values(void **state) {
  (void)state;
  struct tsr_str g = TSR_STR_INIT;
  wire_node(&g, "Clip", "c", "x,,w", "y,");
  ends(&g);
  wire_value(&g, GRAPH_INPUT, "w", 4);
  wire_initialiser(&g, "w", 4);
  struct tsr_str m = wire_model(&g, 13);
  struct tsr_net *net = parse(&m, NULL);
  assert_string_equal(net->name, "m.onnx");
  assert_int_equal(net->n_inputs, 1);
  assert_int_equal(net->nodes[0].n_in, 3);
  assert_true(net->nodes[0].in[1] == SIZE_MAX);
  const struct tsr_net_value *w = &net->values[net->nodes[0].in[2]];
  assert_true(w->is_weight && w->constant && w->constant->f[3] == 3);
  tsr_net_destroy(net);
}

/* An input of one dimension, open with this dim_param or without one. */
static void open_input(struct tsr_str *g, const char *name, const char *param) {
  struct tsr_str d = TSR_STR_INIT, shape = TSR_STR_INIT, tensor = TSR_STR_INIT;
  struct tsr_str type = TSR_STR_INIT, v = TSR_STR_INIT;
  if (param) wire_text(&d, 2, param);
  wire_message(&shape, 1, &d);
  wire_int(&tensor, 1, 1);
  wire_message(&tensor, 2, &shape);
  wire_message(&type, 1, &tensor);
  wire_text(&v, 1, name);
  wire_message(&v, 2, &type);
  wire_message(g, GRAPH_INPUT, &v);
}

static void open_dimensions_have_names(void **state) {
  (void)state;
  struct tsr_str g = TSR_STR_INIT;
  open_input(&g, "a", "batch");
  open_input(&g, "b", NULL);
  open_input(&g, "c", "");
  struct tsr_str m = wire_model(&g, 13);
  struct tsr_net *net = parse(&m, NULL);
  static const char *const want[] = {"batch", "b.0", "c.0"};
  for (size_t i = 0; i < 3; i++)
    assert_string_equal(net->values[net->inputs[i]].dim_name[0], want[i]);
  tsr_net_destroy(net);
}

static void options_finish_the_net(void **state) {
  (void)state;
  static const struct tsr_net_options none = {0};
  struct tsr_str m = wire_relu();
  struct tsr_net *net = NULL;
  assert_int_equal(tsr_onnx_parse("m.onnx", m.p, m.n, &none, &net, NULL), TSR_OK);
  assert_true(net->finished);
  tsr_net_destroy(net);
  tsr_str_fini(&m);
  struct tsr_str g = TSR_STR_INIT;
  struct tsr_err err = TSR_ERR_INIT;
  wire_node(&g, "Add", "p", "x,b", "a");
  wire_node(&g, "Relu", "q", "a", "b");
  wire_value(&g, GRAPH_INPUT, "x", 1);
  m = wire_model(&g, 13);
  net = NULL;
  assert_int_equal(tsr_onnx_parse("m.onnx", m.p, m.n, &none, &net, &err), TSR_INPUT);
  assert_null(net);
  assert_non_null(strstr(err.msg[0], "cycle"));
  tsr_str_fini(&m);
  tsr_err_fini(&err);
}

static void an_empty_graph_is_an_empty_net(void **state) {
  (void)state;
  struct tsr_str g = TSR_STR_INIT;
  empty(&g);
  struct tsr_str m = wire_model(&g, 13);
  struct tsr_net *net = parse(&m, NULL);
  assert_int_equal(net->n_nodes + net->n_inputs + net->n_outputs, 0);
  tsr_net_destroy(net);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defects_are_named),
      cmocka_unit_test(a_model_without_graph_or_with_functions_is_refused),
      cmocka_unit_test(names_become_unique_with_one_warning),
      cmocka_unit_test(a_later_opset_is_read_with_a_warning),
      cmocka_unit_test(initialisers_are_no_inputs_and_left_out_names_no_values),
      cmocka_unit_test(open_dimensions_have_names),
      cmocka_unit_test(options_finish_the_net),
      cmocka_unit_test(an_empty_graph_is_an_empty_net),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
