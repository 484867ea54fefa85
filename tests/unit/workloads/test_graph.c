/* `gemm:` lists, batches, sizes and checks of operators, names of workloads. */
#include "reading.h"

struct gemm {
  const char *what;
  size_t n_ops;     /* 0: refused */
  uint64_t m, n, k; /* of the last */
  unsigned col;
  const char *says;
};

static const struct gemm gemms[] = {
    {"gemm:1x1x1", 1, 1, 1, 1, 0, NULL},
    {"gemm:128x256x512", 1, 128, 256, 512, 0, NULL},
    {"gemm:1x2x3,4x5x6,7x8x9", 3, 7, 8, 9, 0, NULL},
    {"gemm:1000000x1000000x1000000", 1, 1000000, 1000000, 1000000, 0, NULL},
    {"gemm:4294967295x4294967297x1", 1, 4294967295u, 4294967297u, 1, 0, NULL},
    {"gemm:", 0, 0, 0, 0, 6, "expected MxNxK such as 128x256x512, got ''"},
    {"gemm:1x2", 0, 0, 0, 0, 6, "matmul without three sizes"},
    {"gemm:1x2x", 0, 0, 0, 0, 6, "matmul without three sizes"},
    {"gemm:1xx3", 0, 0, 0, 0, 6, "matmul without three sizes"},
    {"gemm:x", 0, 0, 0, 0, 6, "matmul without three sizes"},
    {"gemm:1x2x3x4", 0, 0, 0, 0, 6, "got '1x2x3x4'"},
    {"gemm:1x2x3x", 0, 0, 0, 0, 6, "matmul without three sizes"},
    {"gemm:1x2x3,", 0, 0, 0, 0, 12, "matmul without three sizes"},
    {"gemm:1x2x3,,1x2x3", 0, 0, 0, 0, 12, "matmul without three sizes"},
    {"gemm:0x1x1", 0, 0, 0, 0, 6, "M is zero"},
    {"gemm:1x1x0", 0, 0, 0, 0, 10, "K is zero"},
    {"gemm:-1x1x1", 0, 0, 0, 0, 6, "M is negative"},
    {"gemm:1x2.5x1", 0, 0, 0, 0, 8, "N is not a number"},
    {"gemm:1X2X3", 0, 0, 0, 0, 6, "M is not a number"},
    {"gemm: 1x2x3", 0, 0, 0, 0, 6, "M is not a number"},
    {"gemm:1x2x3 ", 0, 0, 0, 0, 10, "K is not a number"},
    {"gemm:1x1x18446744073709551616", 0, 0, 0, 0, 10, "K is too large"},
    {"gemm:4294967296x4294967296x1", 0, 0, 0, 0, 6,
     "'gemm0' is too large; expected M*N*K*count below 2^64"},
    {"gemm:1x1x1,10000000x10000000x10000000", 0, 0, 0, 0, 12, "'gemm1' is too large"},
};

static void gemm_lists_are_read_or_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof gemms / sizeof gemms[0]; i++) {
    const struct gemm *w = &gemms[i];
    struct tsr_graph *g = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    enum tsr_status s = tsr_workload_read(w->what, NULL, &g, &err);
    if (w->n_ops == 0) {
      assert_int_equal(s, TSR_INPUT);
      check_message(&err, "--workload", 1, w->col, w->says);
    } else {
      if (s) fail_msg("%s: %s", w->what, err.msg[0]);
      assert_string_equal(g->name, w->what);
      assert_string_equal(g->text, w->what);
      assert_int_equal(g->n_ops, w->n_ops);
      const struct tsr_op *o = &g->ops[w->n_ops - 1];
      assert_true(o->m == w->m && o->n == w->n && o->k == w->k && o->count == 1);
      assert_int_equal(o->kind, TSR_OP_GEMM);
      char name[32];
      snprintf(name, sizeof name, "gemm%zu", w->n_ops - 1);
      assert_string_equal(o->name, name);
      assert_int_equal(o->n_after, w->n_ops > 1);
    }
    tsr_graph_destroy(g);
    tsr_err_fini(&err);
  }
}

static const struct {
  const char *what;
  enum tsr_status status;
  const char *says;
} unknown[] = {
    {"resnet5", TSR_USAGE, "hint: did you mean 'resnet50'?"},
    {"Resnet50", TSR_USAGE, "hint: did you mean 'resnet50'?"},
    {"resnet50.csv2", TSR_INPUT, "resnet50.csv2"},
    {"", TSR_USAGE, "unknown workload"},
    {"gemm", TSR_USAGE, "unknown workload"},
    {"./nowhere", TSR_INPUT, "nowhere"},
    {"/", TSR_INPUT, "/"},
};

static void a_name_that_is_nothing_is_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
    struct tsr_graph *g = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_workload_read(unknown[i].what, NULL, &g, &err), unknown[i].status);
    assert_null(g);
    assert_int_equal(err.n, 1);
    if (!strstr(err.msg[0], unknown[i].says)) fail_msg("%s: %s", unknown[i].what, err.msg[0]);
    tsr_err_fini(&err);
  }
}

static void the_graph_is_named_after_its_model_or_its_file(void **state) {
  (void)state;
  static const char *const rows[][3] = {
      {"some/where/net.v2.csv", "Layer,M,N,K\na,1,2,3\n", "net.v2"},
      {"net", "Layer,M,N,K\na,1,2,3\n", "net"},
      {"dir/x.csv", "model,layer,op,M,N,K,count,notes\nmine,a,gemm,1,2,3,1,\n", "mine"},
      {"gemm:1x2x3", "gemm:1x2x3", "gemm:1x2x3"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tsr_graph *g = NULL;
    assert_int_equal(tsr_workload_read(rows[i][0],
                                       &(struct tsr_workload_options){.text = rows[i][1]}, &g,
                                       NULL),
                     TSR_OK);
    assert_string_equal(g->name, rows[i][2]);
    tsr_graph_destroy(g);
  }
}

#define BATCH_TEXT                                                        \
  "model,layer,op,M,N,K,count,notes,batch,in_c,in_h,in_w,out_c,k_h,k_w\n" \
  "m,conv,conv,18,4,18,1,,2,2,5,5,4,3,3\n"                                \
  "m,linear,linear,7,5,3,1,,,,,,,,\n"                                     \
  "m,qk,attn_qk,7,5,3,12,,,,,,,,\n"                                       \
  "m,bmm,bmm,7,5,3,1,,,,,,,,\n"

static void batch_multiplies_rows_of_weights_and_count_of_the_rest(void **state) {
  (void)state;
  static const struct {
    uint64_t batch, conv_m, conv_batch, linear_m, qk_m, qk_count, bmm_count;
  } rows[] = {{0, 18, 2, 7, 7, 12, 1}, {1, 18, 2, 7, 7, 12, 1}, {10, 180, 20, 70, 7, 120, 10}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tsr_graph *g = NULL;
    assert_int_equal(tsr_workload_read("b.csv",
                                       &(struct tsr_workload_options){.text = BATCH_TEXT,
                                                                      .batch = rows[i].batch},
                                       &g, NULL),
                     TSR_OK);
    assert_int_equal(g->ops[0].m, rows[i].conv_m);
    assert_int_equal(g->ops[0].conv.batch, rows[i].conv_batch);
    assert_int_equal(g->ops[1].m, rows[i].linear_m);
    assert_int_equal(g->ops[2].m, rows[i].qk_m);
    assert_int_equal(g->ops[2].count, rows[i].qk_count);
    assert_int_equal(g->ops[3].count, rows[i].bmm_count);
    tsr_graph_destroy(g);
  }
}

static void a_batch_that_makes_sizes_overflow_is_refused(void **state) {
  (void)state;
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(
      tsr_workload_read("b.csv",
                        &(struct tsr_workload_options){.text = BATCH_TEXT, .batch = UINT64_MAX},
                        &g, &err),
      TSR_INPUT);
  /* Three operators overflow at once, the last one only in its product. */
  assert_int_equal(err.n, 4);
  check_message(&err, "b.csv", 2, 3, "'conv' is too large at this batch");
  assert_non_null(strstr(err.msg[3], "M*N*K*count"));
  tsr_err_fini(&err);
}

static void elements_and_macs_are_those_of_the_tensors(void **state) {
  (void)state;
  struct tsr_op op = {.name = "x", .kind = TSR_OP_GEMM, .m = 2, .n = 3, .k = 5, .count = 7};
  uint64_t macs, a, b, c;
  assert_true(tsr_op_macs(&op, &macs) && macs == 210);
  assert_true(tsr_op_elems(&op, &a, &b, &c) && a == 70 && b == 105 && c == 42);
  /* A convolution stores its input, not the nine times larger im2col form. */
  struct tsr_graph *g = must_read("m,5,5,3,3,2,4,1\n");
  assert_true(tsr_op_macs(&g->ops[0], &macs) && macs == 9 * 4 * 18);
  assert_true(tsr_op_elems(&g->ops[0], &a, &b, &c) && a == 50 && b == 72 && c == 36);
  tsr_graph_destroy(g);
  op.count = UINT64_MAX;
  macs = a = b = c = 1;
  assert_false(tsr_op_macs(&op, &macs));
  assert_false(tsr_op_elems(&op, &a, &b, &c));
  assert_true(macs == 1 && a == 1 && b == 1 && c == 1);
}

/* A good convolution with one field changed. */
static const struct {
  size_t offset;
  uint64_t value;
  const char *says;
} changes[] = {
    {offsetof(struct tsr_op, m), 0, "is zero"},
    {offsetof(struct tsr_op, count), 0, "is zero"},
    {offsetof(struct tsr_op, m), 8, "M of 'm' does not agree with the geometry; expected 9"},
    {offsetof(struct tsr_op, n), 8, "N of 'm'"},
    {offsetof(struct tsr_op, k), 8, "K of 'm'"},
    {offsetof(struct tsr_op, count), 2, "count of 'm'"},
    {offsetof(struct tsr_op, conv.out_h), 2, "out_h of 'm'"},
    {offsetof(struct tsr_op, conv.out_w), 2, "out_w of 'm'"},
    {offsetof(struct tsr_op, conv.batch), 0, "sizes of 1 or more"},
    {offsetof(struct tsr_op, conv.groups), 3, "groups that divide"},
    {offsetof(struct tsr_op, conv.dil_h), 3, "a kernel no larger than the padded input"},
    {offsetof(struct tsr_op, conv.pad_l), UINT64_MAX, "sizes below 2^64"},
};

static void an_operator_that_contradicts_itself_is_refused(void **state) {
  (void)state;
  struct tsr_graph *g = must_read("m,5,5,3,3,2,4,1\n");
  assert_int_equal(tsr_op_check(&g->ops[0], NULL), TSR_OK);
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    struct tsr_op op = g->ops[0];
    memcpy((char *)&op + changes[i].offset, &changes[i].value, sizeof changes[i].value);
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_op_check(&op, &err), TSR_INPUT);
    if (!strstr(err.msg[0], changes[i].says)) fail_msg("%s", err.msg[0]);
    tsr_err_fini(&err);
  }
  struct tsr_op dw = g->ops[0];
  dw.kind = TSR_OP_DWCONV;
  assert_int_equal(tsr_op_check(&dw, NULL), TSR_INPUT);
  tsr_graph_destroy(g);
}

static void kinds_are_found_by_their_names(void **state) {
  (void)state;
  for (unsigned k = 0; k < TSR_OP_KIND_COUNT_; k++) {
    enum tsr_op_kind found = TSR_OP_KIND_COUNT_;
    assert_true(tsr_op_kind_find(tsr_op_kind_name((enum tsr_op_kind)k), &found));
    assert_int_equal(found, k);
  }
  enum tsr_op_kind kept = TSR_OP_BMM;
  assert_false(tsr_op_kind_find("Conv", &kept));
  assert_int_equal(kept, TSR_OP_BMM);
  assert_true(tsr_op_kind_b_is_weight(TSR_OP_MOE_LINEAR));
  assert_false(tsr_op_kind_b_is_weight(TSR_OP_ATTN_PV));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gemm_lists_are_read_or_refused),
      cmocka_unit_test(a_name_that_is_nothing_is_refused),
      cmocka_unit_test(the_graph_is_named_after_its_model_or_its_file),
      cmocka_unit_test(batch_multiplies_rows_of_weights_and_count_of_the_rest),
      cmocka_unit_test(a_batch_that_makes_sizes_overflow_is_refused),
      cmocka_unit_test(elements_and_macs_are_those_of_the_tensors),
      cmocka_unit_test(an_operator_that_contradicts_itself_is_refused),
      cmocka_unit_test(kinds_are_found_by_their_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
