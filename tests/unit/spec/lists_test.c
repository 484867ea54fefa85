/* Specifications against lists of layers that were written without them: the same graphs,
 * operator by operator, at every batch. */
#include "tests/unit/spec/spec_test.h"

static struct tsr_graph *list(const char *name, uint64_t batch) {
  char *path = tsr_mem_printf("%s/workloads/lists/%s.csv", TSR_TEST_DATA, name);
  struct tsr_graph *g = must_read(path, NULL, batch);
  tsr_mem_free(path);
  return g;
}

static const char *const networks[] = {"bert-base-s128",
                                       "bert-base-s384",
                                       "vit-b16",
                                       "gpt2-prefill-1024",
                                       "llama2-7b-prefill-512",
                                       "llama2-7b-prefill-2048",
                                       "llama2-7b-decode-2048",
                                       "dlrm-full"};

static void networks_of_the_zoo_are_their_lists(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
    for (uint64_t batch = 0; batch <= 16; batch += 8) {
      struct tsr_graph *x = must_read(networks[i], NULL, batch), *y = list(networks[i], batch);
      assert_true(tsr_spec_is(x->text, strlen(x->text)));
      assert_false(tsr_spec_is(y->text, strlen(y->text)));
      assert_string_equal(x->name, networks[i]);
      assert_string_equal(x->name, y->name);
      same_graph(x, y, "");
      tsr_graph_destroy(x);
      tsr_graph_destroy(y);
    }
}

/* With every operator: the one layer of BERT that the zoo has as a list. */
static void a_layer_with_everything_is_its_list(void **state) {
  (void)state;
  static const char text[] = "version: 1\nkind: encoder\nlayers: 1\nhidden: 768\nheads: 12\n"
                             "ffn: 3072\nsequence: 128\nnorm_at: after\neps: 1e-12\n"
                             "bias: all\n";
  for (uint64_t batch = 0; batch <= 3; batch += 3) {
    struct tsr_graph *x = must_spec(text, batch),
                     *y = must_read("transformer-block", NULL, batch);
    same_graph(x, y, "layers.0.");
    tsr_graph_destroy(x);
    tsr_graph_destroy(y);
  }
}

/* The mixture of experts of the zoo: its norm is here behind the attention. */
static void experts_are_those_of_their_list(void **state) {
  (void)state;
  static const char text[] =
      "version: 1\nkind: decoder\nlayers: 1\nhidden: 512\nheads: 8\nffn: 2048\nexperts: 8\n"
      "top_k: 2\nactivation: silu\nnorm: rmsnorm\nsequence: 128\nattention: fused\n";
  struct tsr_graph *x = must_spec(text, 0), *y = must_read("mlp-moe", NULL, 0);
  size_t from = 0;
  while (from < x->n_ops && strcmp(x->ops[from].name, "layers.0.ffn_norm") != 0) from++;
  /* the last one is the norm behind the layers */
  assert_int_equal(x->n_ops - from - 1, y->n_ops);
  assert_string_equal(x->ops[x->n_ops - 1].name, "final_norm");
  for (size_t i = 0; i < y->n_ops; i++) {
    const struct tsr_op *a = &x->ops[from + i], *b = &y->ops[i];
    if (i > 0) assert_string_equal(a->name + strlen("layers.0."), b->name);
    assert_true(a->kind == b->kind && a->m == b->m && a->n == b->n && a->k == b->k &&
                a->count == b->count && a->n_steps == b->n_steps &&
                a->step[0].kind == b->step[0].kind && a->attr.experts == b->attr.experts);
    /* The first name of the list and its last operator read the block's input. */
    size_t inputs = i == 0 || i + 1 == y->n_ops;
    assert_int_equal(a->n_after, b->n_after + inputs);
    for (size_t j = 0; j < b->n_after; j++) assert_int_equal(a->after[j], b->after[j] + from);
    for (size_t j = b->n_after; j < a->n_after; j++) assert_int_equal(a->after[j], from - 1);
  }
  tsr_graph_destroy(x);
  tsr_graph_destroy(y);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(networks_of_the_zoo_are_their_lists),
                                     cmocka_unit_test(a_layer_with_everything_is_its_list),
                                     cmocka_unit_test(experts_are_those_of_their_list)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
