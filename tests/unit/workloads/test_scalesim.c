/* SCALE-Sim topologies as they are found: spellings, edges, mistakes. */
#include "reading.h"

#define CONV_HEAD                                                                              \
  "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, " \
  "Strides,\n"
#define MNK_HEAD "Layer, M, N, K,\n"

/* What a one-row text becomes. */
struct good {
  const char *text;
  const char *name;
  uint64_t m, n, k, count;
  const char *sparsity;
};

static const struct good convs[] = {
    /* heads and commas as published files have them */
    {CONV_HEAD "Conv1, 9, 9, 3, 3, 3, 8, 2,\n", "Conv1", 16, 8, 27, 1, ""},
    {CONV_HEAD "Conv1     ,9         ,9 ,3   ,3   ,3     ,8      ,2      ,\n", "Conv1", 16, 8,
     27, 1, ""},
    {CONV_HEAD "\n,,,,,,,,\nConv1,9,9,3,3,3,8,2", "Conv1", 16, 8, 27, 1, ""},
    {CONV_HEAD "a, 9, 9, 3, 3, 3, 8, 2, \r\n\r\n\r\n", "a", 16, 8, 27, 1, ""},
    {"Layer name,Ifmap height,ifmap width,filter height,filter width,channels,num "
     "filters,strides,\n"
     "MLP/0,128,13,1,13,1,512,1,\n",
     "MLP/0", 128, 512, 13, 1, ""},
    {"Layer, IFMAP Width, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
     "Strides,\n"
     "c,7,5,3,2,1,4,2,\n",
     "c", 9, 4, 6, 1, ""},
    {"c, 9, 9, 3, 3, 3, 8, 2,\n", "c", 16, 8, 27, 1, ""},
    {"1, 9, 9, 3, 3, 3, 8, 2\n", "1", 16, 8, 27, 1, ""},
    {"Layer name,IFMAP height,IFMAP width,Filter height,Filter width,Channels,Num filter,"
     "Stride height,Stride width,\nc,9,9,3,3,3,8,2,3,\n",
     "c", 12, 8, 27, 1, ""},
    /* a name means nothing */
    {CONV_HEAD "ConvDP_1, 9, 9, 3, 3, 3, 8, 2,\n", "ConvDP_1", 16, 8, 27, 1, ""},
    {CONV_HEAD "DepthwiseConv2D_1, 48, 48, 3, 3, 8, 1, 1,\n", "DepthwiseConv2D_1", 2116, 1, 72,
     1, ""},
    {CONV_HEAD "Conv2_dw, 112, 112, 3, 3, 1, 1, 1,#dw, 2\n", "Conv2_dw", 12100, 1, 9, 1, ""},
    {CONV_HEAD "Attn_QxK', 1, 64, 1, 1, 1, 64, 1,\n", "Attn_QxK'", 64, 64, 1, 1, ""},
    /* the stride does not divide: 224, 7, 2 gives 110, not 109 */
    {CONV_HEAD "Conv1, 224, 224, 7, 7, 3, 64, 2,\n", "Conv1", 12100, 64, 147, 1, ""},
    {CONV_HEAD "c, 5, 5, 5, 5, 1, 1, 18446744073709551615,\n", "c", 1, 1, 25, 1, ""},
    /* sparsity, in a named column or not; text of other columns is not used */
    {"Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num "
     "Filter, "
     "Strides, Sparsity,\nCONV_1, 5, 5, 3, 3, 2, 6, 1, 2:4,",
     "CONV_1", 9, 6, 18, 1, "2:4"},
    {CONV_HEAD "CONV_1, 5, 5, 3, 3, 2, 6, 1, 1:1", "CONV_1", 9, 6, 18, 1, "1:1"},
    {"Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num "
     "Filter, "
     "Strides,, Target\nc,5,5,3,3,2,6,1, NPU\n",
     "c", 9, 6, 18, 1, ""},
    {"Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num "
     "Filter, "
     "Strides, Batch Size,\nc,5,5,3,3,2,6,1,4,\n",
     "c", 36, 6, 18, 1, ""},
};

static const struct good matmuls[] = {
    {MNK_HEAD "g0,128,256,512,\n", "g0", 128, 256, 512, 1, ""},
    {"Layer,M,N,K\nQKT,1024,1024,64", "QKT", 1024, 1024, 64, 1, ""},
    {"Layer Name, M, N, K,\nTest 1, 256, 128, 256,", "Test 1", 256, 128, 256, 1, ""},
    {"Layer,M,N,K\n1,2048,4096,32\n", "1", 2048, 4096, 32, 1, ""},
    {"g0,128,256,512\n", "g0", 128, 256, 512, 1, ""},
    /* the trailing comma changes nothing */
    {"Layer, M, N, K, Sparsity,\ng0,128,256,512,2:4", "g0", 128, 256, 512, 1, "2:4"},
    {"Layer, M, N, K, Sparsity,\ng0,128,256,512,2:4,", "g0", 128, 256, 512, 1, "2:4"},
    {MNK_HEAD "g0,128,256,512,2:4", "g0", 128, 256, 512, 1, "2:4"},
    {"Layer, M, N, K, Batch\ng0,128,256,512,12", "g0", 128, 256, 512, 12, ""},
    {"Layer, M, N, K, Sparsity, Batch\ng0,128,256,512,,12", "g0", 128, 256, 512, 12, ""},
};

static void check_good(const struct good *w, enum tsr_op_kind kind) {
  struct tsr_graph *g = must_read(w->text);
  assert_string_equal(g->name, "t");
  assert_int_equal(g->n_ops, 1);
  const struct tsr_op *o = &g->ops[0];
  if (o->m != w->m || o->n != w->n || o->k != w->k || o->count != w->count)
    fail_msg("'%s' gave %llux%llux%llu, count %llu", w->text, (unsigned long long)o->m,
             (unsigned long long)o->n, (unsigned long long)o->k, (unsigned long long)o->count);
  assert_string_equal(o->name, w->name);
  assert_string_equal(o->sparsity, w->sparsity);
  assert_int_equal(o->kind, kind);
  assert_int_equal(o->has_conv, kind == TSR_OP_CONV);
  tsr_graph_destroy(g);
}

static void convolutions_are_read_as_they_are_written(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof convs / sizeof convs[0]; i++)
    check_good(&convs[i], TSR_OP_CONV);
}

static void matmuls_are_read_as_they_are_written(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof matmuls / sizeof matmuls[0]; i++)
    check_good(&matmuls[i], TSR_OP_GEMM);
}

/* ceil((H - F + s) / s) for every small case, and the padding that makes the same
 * output in the usual formula; the tensor itself stays unpadded. */
static void output_is_rounded_up_as_in_the_original(void **state) {
  (void)state;
  for (unsigned h = 1; h <= 9; h++)
    for (unsigned f = 1; f <= h; f++)
      for (unsigned s = 1; s <= 4; s++) {
        char text[512];
        snprintf(text, sizeof text, CONV_HEAD "c,%u,9,%u,9,2,3,%u,\n", h, f, s);
        struct tsr_graph *g = must_read(text);
        const struct tsr_op *o = &g->ops[0];
        unsigned want = (h - f + s + s - 1) / s;
        assert_int_equal(o->conv.out_h, want);
        assert_int_equal(o->conv.pad_b, (want - 1) * s + f - h);
        assert_int_equal(o->conv.pad_t + o->conv.pad_l + o->conv.pad_r, 0);
        uint64_t a, b, c;
        assert_true(tsr_op_elems(o, &a, &b, &c));
        assert_int_equal(a, h * 9 * 2);
        tsr_graph_destroy(g);
      }
}

struct warned {
  const char *text;
  unsigned warnings;
  const char *says;
};

static const struct warned warned[] = {
    {CONV_HEAD "a,9,9,3,3,1,1,2,\nb,15,15,3,3,1,1,2,\n", 0, NULL},
    {CONV_HEAD "a,224,224,7,7,3,64,2,\nb,224,224,7,7,3,64,2,\n", 1,
     "t.csv:2:20: warning: the stride does not divide"},
    {MNK_HEAD "a,1,1,1,\na,1,1,1,\na,1,1,1,\n", 1, "t.csv:3:1: warning: a layer name again"},
    {MNK_HEAD "a,1,1,1,NPU\nb,1,1,1,GPU\n", 1, "t.csv:2:9: warning: text behind the sizes"},
};

static void a_warning_is_given_once_a_file(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof warned / sizeof warned[0]; i++) {
    struct tsr_graph *g = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(read_text(warned[i].text, &g, &err), TSR_OK);
    assert_int_equal(err.warnings, warned[i].warnings);
    if (warned[i].says) assert_ptr_equal(strstr(err.warn, warned[i].says), err.warn);
    tsr_graph_destroy(g);
    tsr_err_fini(&err);
  }
}

static void layers_are_a_chain_and_repeated_names_get_numbers(void **state) {
  (void)state;
  struct tsr_graph *g =
      must_read(MNK_HEAD "r,1,2,3,\nr#2,1,2,3,\n\nr,1,2,3,\nr,1,2,3,\nr#2,1,2,3,\n");
  static const char *const names[] = {"r", "r#2", "r#3", "r#4", "r#2#2"};
  assert_int_equal(g->n_ops, 5);
  for (size_t i = 0; i < g->n_ops; i++) {
    assert_string_equal(g->ops[i].name, names[i]);
    assert_int_equal(g->ops[i].n_after, i > 0);
    if (i > 0) assert_int_equal(g->ops[i].after[0], i - 1);
  }
  tsr_graph_destroy(g);
}

static const struct bad bads[] = {
    {CONV_HEAD, 1, 99, "no layer below the header"},
    {MNK_HEAD ",,,,\n", 1, 16, "no layer below the header"},
    {"a,1\n", 1, 1, "no known kind of layer list"},
    {"a,1,2\n", 1, 1, "got 3 fields"},
    {"a,1,2,3,4\n", 1, 1, "no known kind of layer list"},
    {"a,1,2,3,4,5\n", 1, 1, "no known kind of layer list"},
    {"a,9,9,3,3,3,8\n", 1, 14, "too few fields; expected a name and 7 numbers up to Strides"},
    {"Layer, M, K, N\na,1,2,3\n", 1, 10, "column out of place; expected 'N', got ' K'"},
    {"Layer, M, N\na,1,2\n", 1, 12, "column out of place; expected 'K', got ''"},
    {"Layer name, IFMAP Width, IFMAP Height, Filter Height, Filter Width, Channels, Num "
     "Filter, "
     "Strides\na,9,9,3,3,3,8,2,\n",
     1, 25, "expected 'IFMAP Width', got ' IFMAP Height'"},
    {"Layer,M,N,K,Batch,Batch\na,1,2,3,4,5\n", 1, 19, "column out of place"},
    {MNK_HEAD "a,1,2,\n", 2, 7, "K is empty"},
    {MNK_HEAD "a,1,2\n", 2, 6, "too few fields; expected a name and 3 numbers up to K"},
    {MNK_HEAD "a,1, 0 ,3\n", 2, 6, "N is zero"},
    {MNK_HEAD "a,1,2,3.0\n", 2, 7, "K is not a number"},
    {MNK_HEAD "a,1,2,-3\n", 2, 7, "K is negative"},
    {MNK_HEAD "a,1,2,99999999999999999999\n", 2, 7, "K is too large"},
    {MNK_HEAD ",1,2,3\n", 2, 1, "layer without a usable name"},
    {MNK_HEAD "a,1,2,3,4,\n", 2, 9, "value in a column without a known name"},
    {MNK_HEAD "a,1,2,3,2:1,\n", 2, 9, "value in a column without a known name"},
    {"Layer,M,N,K,Sparsity\na,1,2,3,1\n", 2, 9, "not a sparsity; expected N:M"},
    {"Layer,M,N,K,Sparsity\na,1,2,3,4:2\n", 2, 9, "not a sparsity"},
    {"Layer,M,N,K,Sparsity\na,1,2,3,0:4\n", 2, 9, "not a sparsity"},
    {"Layer,M,N,K,Sparsity\na,1,2,3,10:4\n", 2, 9, "not a sparsity"},
    {"Layer,M,N,K,Padding\na,1,2,3,1\n", 2, 9, "value in a column without a known name"},
    {"Layer,M,N,K,Batch\na,1,2,3,0\n", 2, 9, "Batch is zero"},
    {"Layer,M,N,K,Batch\na,4294967296,2,2147483648,1\nb,4294967296,2,2147483648,2\n", 2, 1,
     "'a' is too large"},
    {CONV_HEAD "Conv2D_1, 96, 96, 3, 3, 3, 8, 2, 2\n", 2, 34, "got '2'"},
    {CONV_HEAD "a,5,9,6,3,3,8,2,\n", 2, 7,
     "Filter Height larger than IFMAP Height; expected at most 5"},
    {CONV_HEAD "a,9,5,3,6,3,8,2,\n", 2, 9, "Filter Width larger than IFMAP Width"},
    {CONV_HEAD "FC, 1, 1, 1, ,1 2, 2, 1,\n", 2, 14, "Filter Width is empty"},
    {CONV_HEAD "c,4294967296,4294967296,1,1,1,1,4294967296\n", 2, 1,
     "a tensor of 'c' is too large"},
    {CONV_HEAD "Alexnet,\na,9,9,3,3,3,8,2,\n", 2, 9, "too few fields"},
};

static void each_mistake_is_shown_where_it_is(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) check_bad(&bads[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(convolutions_are_read_as_they_are_written),
      cmocka_unit_test(matmuls_are_read_as_they_are_written),
      cmocka_unit_test(output_is_rounded_up_as_in_the_original),
      cmocka_unit_test(a_warning_is_given_once_a_file),
      cmocka_unit_test(layers_are_a_chain_and_repeated_names_get_numbers),
      cmocka_unit_test(each_mistake_is_shown_where_it_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
