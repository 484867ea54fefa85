#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "tests/unit/onnx/wire.h"
#include "workloads/onnx/onnx.h"
#include "workloads/onnx/onnx_write.h"

#define NOT_WRITTEN SIZE_MAX

static size_t value(struct tsr_net *net, const char *name) {
  size_t at;
  assert_int_equal(tsr_net_value(net, name, &at, NULL), TSR_OK);
  return at;
}

/* An initialiser of two elements, 1 and 2. */
static size_t weight(struct tsr_net *net, const char *name, enum tsr_dtype type) {
  static const uint64_t dim[] = {2};
  struct tsr_array *a;
  size_t at = value(net, name);
  assert_int_equal(tsr_array_create(net->arena, type, 1, dim, &a, NULL), TSR_OK);
  for (uint64_t i = 0; i < 2; i++) tsr_array_set(a, i, (double)(i + (type != TSR_DTYPE_BOOL)));
  assert_int_equal(tsr_net_constant(net, at, a, NULL), TSR_OK);
  return at;
}

static size_t input(struct tsr_net *net) {
  size_t x = value(net, "x");
  struct tsr_net_value *v = &net->values[x];
  v->type = TSR_DTYPE_F16;
  v->shaped = true;
  v->rank = 3;
  v->dim[1] = 7;
  v->dim_name[0] = "batch";
  v->dim_name[2] = "x.2";
  assert_int_equal(tsr_net_input(net, x, NULL), TSR_OK);
  return x;
}

static const enum tsr_dtype held[] = {
    TSR_DTYPE_F32, TSR_DTYPE_U8,  TSR_DTYPE_I8,   TSR_DTYPE_U16, TSR_DTYPE_I16,
    TSR_DTYPE_I32, TSR_DTYPE_I64, TSR_DTYPE_BOOL, TSR_DTYPE_F16, TSR_DTYPE_F64,
    TSR_DTYPE_U32, TSR_DTYPE_U64, TSR_DTYPE_BF16,
};

/* All element types, all kinds of attributes, another domain, something left out. */
static struct tsr_net *sample(void) {
  static const int64_t ints[] = {1, -1};
  static const double floats[] = {0.5, -2};
  static const char *const texts[] = {"a", ""};
  struct tsr_net *net;
  assert_int_equal(tsr_net_create("sample", "s.onnx", 17, &net, NULL), TSR_OK);
  size_t x = input(net), y = value(net, "y"), z = value(net, "z");
  size_t in[20] = {x, SIZE_MAX}, n = 2, out[] = {SIZE_MAX, y};
  for (size_t i = 0; i < sizeof held / sizeof *held; i++)
    in[n++] = weight(net, tsr_dtype_name(held[i]), held[i]);
  const struct tsr_net_attr attrs[] = {
      {.name = "int", .kind = TSR_ATTR_INT, .i = -5},
      {.name = "float", .kind = TSR_ATTR_FLOAT, .f = 0.25},
      {.name = "text", .kind = TSR_ATTR_TEXT, .text = "SAME_UPPER"},
      {.name = "ints", .kind = TSR_ATTR_INTS, .n = 2, .ints = ints},
      {.name = "floats", .kind = TSR_ATTR_FLOATS, .n = 2, .floats = floats},
      {.name = "texts", .kind = TSR_ATTR_TEXTS, .n = 2, .texts = texts},
      {.name = "array", .kind = TSR_ATTR_ARRAY, .array = net->values[in[2]].constant},
  };
  assert_int_equal(tsr_net_node(net, "Strange", "com.example", "odd", in, n, out, 2, attrs,
                                sizeof attrs / sizeof *attrs, NULL),
                   TSR_OK);
  assert_int_equal(tsr_net_node(net, "Relu", "", "act", &y, 1, &z, 1, NULL, 0, NULL), TSR_OK);
  assert_int_equal(tsr_net_output(net, z, NULL), TSR_OK);
  return net;
}

static void same_array(const struct tsr_array *a, const struct tsr_array *b) {
  assert_int_equal(a->type, b->type);
  assert_int_equal(a->rank, b->rank);
  assert_memory_equal(a->dim, b->dim, a->rank * sizeof *a->dim);
  for (uint64_t i = 0; i < a->n; i++) assert_true(tsr_array_get(a, i) == tsr_array_get(b, i));
}

static void same_text(const char *a, const char *b) {
  assert_true((a != NULL) == (b != NULL));
  if (a) assert_string_equal(a, b);
}

static void same_attr(const struct tsr_net_attr *a, const struct tsr_net_attr *b) {
  same_text(a->name, b->name);
  same_text(a->text, b->text);
  assert_int_equal(a->kind, b->kind);
  assert_int_equal(a->i, b->i);
  assert_int_equal(a->n, b->n);
  assert_true(a->f == b->f);
  for (size_t i = 0; i < a->n; i++) {
    if (a->ints) assert_int_equal(a->ints[i], b->ints[i]);
    if (a->floats) assert_true(a->floats[i] == b->floats[i]);
    if (a->texts) same_text(a->texts[i], b->texts[i]);
  }
  if (a->array) same_array(a->array, b->array);
}

static const char *value_name(const struct tsr_net *net, size_t v) {
  return v == SIZE_MAX ? "" : net->values[v].name;
}

static void same_node(const struct tsr_net *na, const struct tsr_net *nb, size_t k) {
  const struct tsr_net_node *a = &na->nodes[k], *b = &nb->nodes[k];
  same_text(a->op_name, b->op_name);
  same_text(a->domain, b->domain);
  same_text(a->name, b->name);
  assert_int_equal(a->n_in, b->n_in);
  assert_int_equal(a->n_out, b->n_out);
  assert_int_equal(a->n_attrs, b->n_attrs);
  for (size_t i = 0; i < a->n_in; i++)
    same_text(value_name(na, a->in[i]), value_name(nb, b->in[i]));
  for (size_t i = 0; i < a->n_out; i++)
    same_text(value_name(na, a->out[i]), value_name(nb, b->out[i]));
  for (size_t i = 0; i < a->n_attrs; i++) same_attr(&a->attrs[i], &b->attrs[i]);
}

static void same_value(const struct tsr_net_value *a, const struct tsr_net_value *b) {
  assert_int_equal(a->type, b->type);
  assert_int_equal(a->shaped, b->shaped);
  assert_int_equal(a->is_input, b->is_input);
  assert_int_equal(a->is_output, b->is_output);
  assert_int_equal(a->is_weight, b->is_weight);
  for (unsigned d = 0; a->shaped && d < a->rank; d++) {
    same_text(a->dim_name[d], b->dim_name[d]);
    if (!a->dim_name[d]) assert_int_equal(a->dim[d], b->dim[d]);
  }
  assert_true((a->constant != NULL) == (b->constant != NULL));
  if (a->constant) same_array(a->constant, b->constant);
}

static void same_net(const struct tsr_net *a, const struct tsr_net *b) {
  same_text(a->name, b->name);
  assert_int_equal(a->opset, b->opset);
  assert_int_equal(a->n_nodes, b->n_nodes);
  assert_int_equal(a->n_inputs, b->n_inputs);
  assert_int_equal(a->n_outputs, b->n_outputs);
  assert_int_equal(a->n_values, b->n_values);
  for (size_t i = 0; i < a->n_nodes; i++) same_node(a, b, i);
  for (size_t i = 0; i < a->n_values; i++) {
    size_t at = tsr_net_find(b, a->values[i].name);
    assert_true(at != SIZE_MAX);
    same_value(&a->values[i], &b->values[at]);
  }
  for (size_t i = 0; i < a->n_inputs; i++)
    same_text(value_name(a, a->inputs[i]), value_name(b, b->inputs[i]));
}

static void what_is_written_reads_back_equal(void **state) {
  (void)state;
  struct tsr_net *net = sample(), *again = NULL;
  unsigned char *data = NULL;
  size_t len = 0;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_onnx_write(net, &data, &len, NULL), TSR_OK);
  if (tsr_onnx_parse("again.onnx", data, len, NULL, &again, &err) != TSR_OK)
    fail_msg("%s", err.msg[0]);
  same_net(net, again);
  unsigned char *twice = NULL;
  size_t n = 0;
  assert_int_equal(tsr_onnx_write(again, &twice, &n, NULL), TSR_OK);
  assert_int_equal(n, len);
  tsr_mem_free(twice);
  tsr_mem_free(data);
  tsr_net_destroy(again);
  tsr_net_destroy(net);
  tsr_err_fini(&err);
}

static void the_file_says_who_made_it(void **state) {
  (void)state;
  struct tsr_net *net = sample();
  unsigned char *data = NULL;
  size_t len = 0;
  assert_int_equal(tsr_onnx_write(net, &data, &len, NULL), TSR_OK);
  /* ir_version 8, then producer_name */
  assert_memory_equal(data, "\x08\x08\x12\x07tessera", 11);
  tsr_mem_free(data);
  tsr_net_destroy(net);
}

static void values_are_rounded_to_their_type(void **state) {
  (void)state;
  static const uint64_t dim[] = {1};
  struct tsr_array *a, *back = NULL;
  unsigned char *data = NULL;
  size_t len = 0;
  assert_int_equal(tsr_array_create(NULL, TSR_DTYPE_F16, 1, dim, &a, NULL), TSR_OK);
  a->f[0] = 1.0 + 0x1p-11 + 0x1p-20;
  assert_int_equal(tsr_onnx_tensor_write(a, NULL, &data, &len, NULL), TSR_OK);
  assert_int_equal(tsr_onnx_tensor_parse("t.pb", data, len, &back, NULL), TSR_OK);
  assert_true(back->f[0] == 1.0 + 0x1p-10);
  tsr_mem_free(data);
  tsr_array_destroy(a);
  tsr_array_destroy(back);
}

static void a_subgraph_is_refused(void **state) {
  (void)state;
  static const struct tsr_net_attr body = {.name = "body", .kind = TSR_ATTR_GRAPH};
  struct tsr_net *net;
  unsigned char *data = NULL;
  size_t len = NOT_WRITTEN;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_net_create("n", "n.onnx", 17, &net, NULL), TSR_OK);
  size_t x = value(net, "x"), y = value(net, "y");
  assert_int_equal(tsr_net_node(net, "Loop", "", "l", &x, 1, &y, 1, &body, 1, NULL), TSR_OK);
  assert_int_equal(tsr_onnx_write(net, &data, &len, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "node 'l' (Loop) has a subgraph"));
  assert_true(!data && len == NOT_WRITTEN);
  tsr_net_destroy(net);
  tsr_err_fini(&err);
}

static void any_allocation_may_fail(void **state) {
  (void)state;
  struct tsr_net *net = sample();
  size_t failed = 0;
  for (uint64_t nth = 1;; nth++) {
    unsigned char *data = NULL;
    size_t len = NOT_WRITTEN;
    tsr_mem_fail_at(nth, false);
    enum tsr_status st = tsr_onnx_write(net, &data, &len, NULL);
    bool reached = tsr_mem_calls() >= nth;
    tsr_mem_fail_at(0, false);
    tsr_mem_free(data);
    if (!reached) break;
    assert_int_equal(st, TSR_NOMEM);
    failed++;
  }
  assert_true(failed > 20);
  tsr_net_destroy(net);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_reads_back_equal),
      cmocka_unit_test(the_file_says_who_made_it),
      cmocka_unit_test(values_are_rounded_to_their_type),
      cmocka_unit_test(a_subgraph_is_refused),
      cmocka_unit_test(any_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
