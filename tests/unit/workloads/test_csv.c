/* The project's own layer lists: what is read, and where each mistake is shown. */
#include "reading.h"

#define HEAD "model,layer,op,M,N,K,count,notes\n"
#define HEAD_AFTER "model,layer,op,M,N,K,count,notes,after\n"
#define GEO                                                                                \
  "model,layer,op,M,N,K,count,notes,in_c,in_h,in_w,out_c,k_h,k_w,stride_h,stride_w,pad_t," \
  "pad_l,pad_b,pad_r,groups\n"

static const struct bad rows[] = {
    /* the text itself */
    {"", 1, 1, "empty file; expected a header"},
    {"\n \n\r\n", 1, 1, "empty file"},
    {"model,layer,op,M\x01", 1, 17, "got the byte 0x01"},
    {HEAD "m,caf\xe9,gemm,1,1,1,1,\n", 2, 6, "got the byte 0xe9"},
    {HEAD "m,a,gemm,1,1,1,1,x\ry\n", 2, 19, "got the byte 0x0d"},
    {HEAD "m,a,gemm,1,1,1,1,\"open\n", 2, 18, "quoted field without an end"},
    {HEAD "m,\"a\"b,gemm,1,1,1,1,\n", 2, 6, "text behind a closing quote"},
    {HEAD "m,a\"b,gemm,1,1,1,1,\n", 2, 4, "quote inside an unquoted field"},
    /* the header */
    {HEAD, 1, 33, "no layer below the header"},
    {HEAD "\n\n", 1, 33, "no layer below the header"},
    {"model,layer,op,M,N,K,notes\nm,a,gemm,1,1,1,\n", 1, 27, "column 'count' is missing"},
    {"model,layr,op,M,N,K,count,notes\n", 1, 7, "unknown column"},
    {"model,layer,op,m,N,K,count,notes\n", 1, 16, "got 'm'"},
    {"model,layer,op, M,N,K,count,notes\n", 1, 16, "got ' M'"},
    {"model,layer,op,M,N,K,count,notes,sparsity\n", 1, 34, "unknown column"},
    {"model,layer,op,M,N,K,count,notes,M\n", 1, 34, "column twice in the header"},
    {"model,layer,op,M,N,K,count,notes,\n", 1, 34, "unknown column"},
    {"alpha,beta\n1,2\n", 1, 1, "no known kind of layer list"},
    {"model;layer;op;M;N;K;count;notes\n", 1, 1, "no known kind of layer list"},
    /* rows */
    {HEAD "m,a,gemm,1,1,1,1\n", 2, 17, "too few fields; expected 8 as in the header, got 7"},
    {HEAD "m,a,gemm,1,1,1,1,n,x\n", 2, 20,
     "too many fields; expected 8 as in the header, got 9"},
    {HEAD "\nm,a,gemm,1,1,1,1,\nm,b\n", 4, 4, "too few fields"},
    {HEAD "m,,gemm,1,1,1,1,\n", 2, 3, "layer is empty"},
    {HEAD ",a,gemm,1,1,1,1,\n", 2, 1, "model is empty"},
    {HEAD "m,a ,gemm,1,1,1,1,\n", 2, 3, "layer has a blank at its end"},
    {HEAD "m,\"a\tb\",gemm,1,1,1,1,\n", 2, 3, "layer holds a tab"},
    {HEAD "m,a,gemm,1,1,1,1,\nn,b,gemm,1,1,1,1,\n", 3, 1, "another model; expected 'm'"},
    {HEAD "m,a,gemm,1,1,1,1,\nm,b,gemm,1,1,1,1,\nm,a,gemm,1,1,1,1,\n", 4, 3,
     "layer name taken by line 2"},
    {HEAD "m,a,gem,1,1,1,1,\n", 2, 5, "hint: did you mean 'gemm'?"},
    {HEAD "m,a,depthwise,1,1,1,1,\n", 2, 5, "hint: did you mean 'dwconv'?"},
    {HEAD "m,a,conv2d,1,1,1,1,\n", 2, 5, "hint: did you mean 'conv'?"},
    {HEAD "m,a,nothing,1,1,1,1,\n", 2, 5,
     "expected an operator such as conv, linear, attn_qk, attention, softmax, layernorm, relu, "
     "add "
     "or maxpool, got 'nothing'"},
    {HEAD "m,a,CONV,1,1,1,1,\n", 2, 5, "unknown op"},
    {HEAD "m,a,,1,1,1,1,\n", 2, 5, "unknown op"},
    /* numbers */
    {HEAD "m,a,gemm,0,1,1,1,\n", 2, 10,
     "M is zero; expected a whole number of 1 or more, got '0'"},
    {HEAD "m,a,gemm,1,-3,1,1,\n", 2, 12, "N is negative"},
    {HEAD "m,a,gemm,1,1,1.5,1,\n", 2, 14, "K is not a number; expected decimal digits only"},
    {HEAD "m,a,gemm,1,1,1,2x,\n", 2, 16, "count is not a number"},
    {HEAD "m,a,gemm,1,1,1,,\n", 2, 16, "count is empty"},
    {HEAD "m,a,gemm,+1,1,1,1,\n", 2, 10, "M is not a number"},
    {HEAD "m,a,gemm,0x10,1,1,1,\n", 2, 10, "M is not a number"},
    {HEAD "m,a,gemm, 1,1,1,1,\n", 2, 10, "got ' 1'"},
    {HEAD "m,a,gemm,18446744073709551616,1,1,1,\n", 2, 10, "M is too large"},
    {HEAD "m,a,gemm,1,1,1,\"0\",\n", 2, 16, "count is zero"},
    {HEAD "m,a,gemm,4294967296,4294967296,1,1,\n", 2, 3, "'a' is too large"},
    {HEAD "m,a,gemm,4294967296,1,4294967295,2,\n", 2, 3, "'a' is too large"},
    /* after */
    {HEAD_AFTER "m,a,gemm,1,1,1,1,,b\nm,b,gemm,1,1,1,1,,\n", 2, 19, "unknown layer in after"},
    {HEAD_AFTER "m,a,gemm,1,1,1,1,,a\n", 2, 19, "unknown layer in after"},
    {HEAD_AFTER "m,a,gemm,1,1,1,1,,\nm,b,gemm,1,1,1,1,,a a\n", 3, 21, "layer twice in after"},
    {HEAD_AFTER "m,a,gemm,1,1,1,1,,\nm,b,gemm,1,1,1,1,,a;- \n", 3, 21, "got '-'"},
    /* geometry: 5x5x2 → 3x3x4 by 3x3 */
    {GEO "m,a,conv,9,4,18,1,,2,5,,4,3,3,,,,,,,\n", 2, 24,
     "in_w is empty although in_c is given"},
    {GEO "m,a,conv,9,4,18,1,,,,,,,,,,,,,,2\n", 2, 20, "in_c is empty although groups is given"},
    {GEO "m,a,linear,9,4,18,1,,2,5,5,4,3,3,,,,,,,\n", 2, 22, "in_c in a row of op linear"},
    {GEO "m,a,conv,8,4,18,1,,2,5,5,4,3,3,,,,,,,\n", 2, 10,
     "M does not agree with the geometry; expected 9, got '8'"},
    {GEO "m,a,conv,9,2,18,1,,2,5,5,4,3,3,,,,,,,\n", 2, 12, "expected 4, got '2'"},
    {GEO "m,a,conv,9,4,9,1,,2,5,5,4,3,3,,,,,,,\n", 2, 14, "expected 18, got '9'"},
    {GEO "m,a,conv,9,4,18,2,,2,5,5,4,3,3,,,,,,,\n", 2, 17, "expected 1, got '2'"},
    {GEO "m,a,conv,,4,18,2,,2,5,5,4,3,3,,,,,,,\n", 2, 16, "expected 1, got '2'"},
    {GEO "m,a,conv,,,,,,,,,,,,,,,,,,\n", 2, 10, "M is empty"},
    {GEO "m,a,linear,,4,18,1,,2,5,5,4,3,3,,,,,,,\n", 2, 21, "in_c in a row of op linear"},
    {GEO "m,a,conv,9,4,18,1,,2,5,5,4,3,3,0,,,,,,\n", 2, 32, "stride_h is zero"},
    {GEO "m,a,conv,9,4,18,1,,2,5,5,4,3,3,,,,-1,,,\n", 2, 35, "pad_l is negative"},
    {GEO "m,a,conv,9,4,18,1,,2,5,5,4,6,3,,,,,,,\n", 2, 20,
     "impossible geometry; expected a kernel no larger than the padded input"},
    {GEO "m,a,conv,9,4,18,1,,2,5,5,4,3,3,,,,,,,3\n", 2, 20,
     "groups that divide in_c and out_c"},
    {GEO "m,a,dwconv,9,4,18,1,,2,5,5,4,3,3,,,,,,,1\n", 2, 40, "expected in_c = 2, got '1'"},
    {GEO "m,a,conv,9,4,18,1,,2,5,5,4,18446744073709551615,3,,,18446744073709551615,,,,\n", 2,
     20, "expected sizes below 2^64"},
};

static void each_mistake_is_shown_where_it_is(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check_bad(&rows[i]);
}

static void many_mistakes_are_told_at_once(void **state) {
  (void)state;
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(read_text(HEAD "m,a,gemm,0,x,-1,,\nm,b,gem,1,1,1,1,\nm,c\n", &g, &err),
                   TSR_INPUT);
  assert_int_equal(err.n, 6);
  assert_non_null(strstr(err.msg[5], "t.csv:4:4:"));
  tsr_err_fini(&err);
}

static void no_more_than_twenty_mistakes_are_kept(void **state) {
  (void)state;
  char text[4096] = HEAD;
  for (int i = 0; i < 50; i++)
    strncat(text, "m,a,gemm,0,0,0,0,\n", sizeof text - strlen(text) - 1);
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(read_text(text, &g, &err), TSR_INPUT);
  assert_int_equal(err.n, TSR_ERR_MAX);
  assert_true(err.total < 30); /* 250 in all: the rest is not read */
  tsr_err_fini(&err);
}

static void the_source_line_stands_below_the_message(void **state) {
  (void)state;
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  read_text(HEAD "m,a,gemm,1,1,abc,1,\n", &g, &err);
  assert_string_equal(err.msg[0],
                      "t.csv:2:14: error: K is not a number; expected decimal digits "
                      "only, got 'abc'\nm,a,gemm,1,1,abc,1,\n             ^~~\n");
  tsr_err_fini(&err);
}

/* One graph however the text is written. */
static const char *const same[] = {
    HEAD "m,a,conv,9,4,18,1,\nm,b,linear,1,2,3,4,x\n",
    HEAD "m,a,conv,9,4,18,1,\nm,b,linear,1,2,3,4,x",
    "\xef\xbb\xbf" HEAD "m,a,conv,9,4,18,1,\nm,b,linear,1,2,3,4,x\n",
    "model,layer,op,M,N,K,count,notes\r\nm,a,conv,9,4,18,1,\r\nm,b,linear,1,2,3,4,x\r\n",
    "\n" HEAD "\nm,a,conv,9,4,18,1,\n\n\nm,b,linear,1,2,3,4,x\n\n",
    "notes,count,K,N,M,op,layer,model\n,1,18,4,9,conv,a,m\n\"a,\"\"b\"\"\nc\",4,3,2,1,linear,b,"
    "m\n",
    "\"model\",\"layer\",op,M,N,K,count,notes\nm,\"a\",conv,\"9\",4,18,1,\"\"\n"
    "\"m\",b,\"linear\",1,2,3,4,\"-1,junk\"\n",
    HEAD_AFTER "m,a,conv,9,4,18,1,,\nm,b,linear,1,2,3,4,x,\n",
    HEAD_AFTER "m,a,conv,009,4,18,1,,-\nm,b,linear,1,2,3,4,x, a;\n",
};

static void spelling_of_the_text_changes_nothing(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
    struct tsr_graph *g = must_read(same[i]);
    assert_string_equal(g->name, "m");
    assert_string_equal(g->text, same[i]);
    assert_int_equal(g->n_ops, 2);
    const struct tsr_op *a = &g->ops[0], *b = &g->ops[1];
    assert_string_equal(a->name, "a");
    assert_int_equal(a->kind, TSR_OP_CONV);
    assert_true(a->m == 9 && a->n == 4 && a->k == 18 && a->count == 1 && !a->has_conv);
    assert_int_equal(a->n_after, 0);
    assert_string_equal(b->name, "b");
    assert_int_equal(b->kind, TSR_OP_LINEAR);
    assert_true(b->m == 1 && b->n == 2 && b->k == 3 && b->count == 4);
    assert_int_equal(b->n_after, 1);
    assert_int_equal(b->after[0], 0);
    assert_string_equal(b->format_a, "");
    assert_string_equal(b->sparsity, "");
    tsr_graph_destroy(g);
  }
}

static void after_gives_the_real_dependencies(void **state) {
  (void)state;
  struct tsr_graph *g = must_read(HEAD_AFTER "m,a,gemm,1,1,1,1,,\nm,b,gemm,1,1,1,1,,-\n"
                                             "m,\"c\"\"\",gemm,1,1,1,1,,a\n"
                                             "m,d,gemm,1,1,1,1,,\"c\"\" a;b\"\n");
  assert_int_equal(g->ops[1].n_after, 0);
  assert_int_equal(g->ops[2].n_after, 1);
  assert_int_equal(g->ops[2].after[0], 0);
  assert_string_equal(g->ops[2].name, "c\"");
  const size_t want[] = {2, 0, 1};
  assert_int_equal(g->ops[3].n_after, 3);
  assert_memory_equal(g->ops[3].after, want, sizeof want);
  tsr_graph_destroy(g);
}

static void geometry_is_kept_and_its_defaults_are_one_and_no_padding(void **state) {
  (void)state;
  struct tsr_graph *g = must_read(GEO "m,a,conv,9,4,18,1,,2,5,5,4,3,3,,,,,,,\n"
                                      "m,b,conv,15,4,9,2,,2,5,7,8,3,3,2,1,1,0,1,0,2\n"
                                      "m,c,dwconv,9,1,9,2,,2,5,5,2,3,3,,,,,,,2\n"
                                      "m,d,conv,5,6,7,3,,,,,,,,,,,,,,\n");
  const struct tsr_conv *a = &g->ops[0].conv, *b = &g->ops[1].conv;
  assert_true(g->ops[0].has_conv && g->ops[2].has_conv && !g->ops[3].has_conv);
  assert_true(a->batch == 1 && a->stride_h == 1 && a->stride_w == 1 && a->dil_h == 1 &&
              a->dil_w == 1 && a->groups == 1 &&
              a->pad_t + a->pad_l + a->pad_b + a->pad_r == 0);
  assert_true(a->out_h == 3 && a->out_w == 3);
  assert_true(b->out_h == 3 && b->out_w == 5 && b->groups == 2 && b->stride_h == 2);
  tsr_graph_destroy(g);
}

/* Written, or left to the geometry: one graph. */
static void sizes_follow_from_the_geometry(void **state) {
  (void)state;
  static const char *const ways[] = {GEO "m,b,conv,15,4,9,2,,2,5,7,8,3,3,2,1,1,0,1,0,2\n",
                                     GEO "m,b,conv,,,,,,2,5,7,8,3,3,2,1,1,0,1,0,2\n",
                                     GEO "m,b,conv,,4,,2,,2,5,7,8,3,3,2,1,1,0,1,0,2\n"};
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    struct tsr_graph *g = must_read(ways[i]);
    const struct tsr_op *op = &g->ops[0];
    assert_true(op->m == 15 && op->n == 4 && op->k == 9 && op->count == 2 && op->has_conv);
    tsr_graph_destroy(g);
  }
}

static void many_layers_are_read_in_linear_time(void **state) {
  (void)state;
  enum { ROWS = 20000, WIDTH = 40 };
  char *text = tsr_mem_alloc(ROWS * WIDTH);
  size_t n = (size_t)snprintf(text, ROWS * WIDTH, "%s", HEAD);
  for (int i = 0; i < ROWS; i++)
    n += (size_t)snprintf(text + n, ROWS * WIDTH - n, "m,l%d,gemm,1,1,1,1,\n", i);
  struct tsr_graph *g = must_read(text);
  assert_int_equal(g->n_ops, ROWS);
  assert_string_equal(g->ops[ROWS - 1].name, "l19999");
  tsr_graph_destroy(g);
  tsr_mem_free(text);
}

/* Files as they lie on disk: name, and where the first message points (0 = good). */
static const struct {
  const char *file;
  unsigned line, col;
  const char *says;
} files[] = {
    {"valid/own_small.csv", 0, 0, NULL},
    {"valid/own_crlf_bom.csv", 0, 0, NULL},
    {"valid/own_quoted.csv", 0, 0, NULL},
    {"valid/own_geometry.csv", 0, 0, NULL},
    {"valid/scalesim_conv.csv", 0, 0, NULL},
    {"valid/scalesim_mnk.csv", 0, 0, NULL},
    {"invalid/empty.csv", 1, 1, "empty file"},
    {"invalid/binary.csv", 1, 10, "not a text file"},
    {"invalid/utf16.csv", 1, 1, "not a text file"},
    {"invalid/two_models.csv", 3, 1, "another model"},
    {"invalid/open_quote.csv", 3, 22, "quoted field without an end"},
    {"invalid/scalesim_title_row.csv", 3, 8, "too few fields"},
};

static void files_are_read_by_their_columns(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    char *path = tsr_mem_printf("%s/csv/%s", TSR_TEST_DATA, files[i].file);
    struct tsr_graph *g = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    enum tsr_status s = tsr_workload_read(path, NULL, &g, &err);
    if (files[i].line)
      check_message(&err, path, files[i].line, files[i].col, files[i].says);
    else if (s)
      fail_msg("%s: %s", path, err.msg[0]);
    assert_int_equal(s, files[i].line ? TSR_INPUT : TSR_OK);
    tsr_mem_free(path);
    tsr_graph_destroy(g);
    tsr_err_fini(&err);
  }
}

static const char own_text[] = HEAD_AFTER
    "m,a,gemm,1,1,1,1,,\nm,\"b\"\"\",gemm,1,1,1,1,,a\nm,c,gemm,1,1,1,1,,\"b\"\" a\"\n";
static const char bad_text[] = HEAD "m,a,gemm,0,1,1,1,\nm,b,gem,1,1,1,1,\nm,a,gemm,1,1,1,1,\n";
static const char mnk_text[] = "Layer,M,N,K,Sparsity\na,1,2,3,2:4\na,1,2,3,\n";
static const char conv_text[] = "a,6,6,3,3,2,4,2,\n";

/* Every allocation of a reading fails once: a status, no graph, nothing leaked. */
static void reading_survives_every_lack_of_memory(void **state) {
  (void)state;
  static const char *const texts[] = {own_text, bad_text, mnk_text, conv_text};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    enum tsr_status good = TSR_NOMEM;
    for (uint64_t nth = 1; good == TSR_NOMEM; nth++) {
      assert_true(nth < 1000);
      struct tsr_graph *g = NULL;
      struct tsr_err err = TSR_ERR_INIT;
      tsr_mem_fail_at(nth, false);
      enum tsr_status s = read_text(texts[i], &g, &err);
      bool failed = tsr_mem_calls() >= nth;
      tsr_mem_fail_at(0, false);
      assert_true((s == TSR_OK) == (g != NULL));
      if (!failed) good = s;
      tsr_graph_destroy(g);
      tsr_err_fini(&err);
    }
    assert_int_equal(good, i == 1 ? TSR_INPUT : TSR_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_mistake_is_shown_where_it_is),
      cmocka_unit_test(many_mistakes_are_told_at_once),
      cmocka_unit_test(no_more_than_twenty_mistakes_are_kept),
      cmocka_unit_test(the_source_line_stands_below_the_message),
      cmocka_unit_test(spelling_of_the_text_changes_nothing),
      cmocka_unit_test(after_gives_the_real_dependencies),
      cmocka_unit_test(geometry_is_kept_and_its_defaults_are_one_and_no_padding),
      cmocka_unit_test(sizes_follow_from_the_geometry),
      cmocka_unit_test(many_layers_are_read_in_linear_time),
      cmocka_unit_test(files_are_read_by_their_columns),
      cmocka_unit_test(reading_survives_every_lack_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
