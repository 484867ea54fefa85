/* Operators that are no matmul: sizes, tensors, attributes, batches, epilogues, and where each
 * mistake in them is shown. */
#include <math.h>

#include "reading.h"

#define ALL                                                                                \
  "model,layer,op,M,N,K,count,notes,batch,in_c,in_h,in_w,out_c,k_h,k_w,stride_h,stride_w," \
  "pad_t,pad_l,pad_b,pad_r,heads,kv_heads,causal,table,experts,eps,with,epilogue,after\n"
/* From behind count up to the cell of epilogue. */
#define TO_EPILOGUE ",,,,,,,,,,,,,,,,,,,,,,"

static struct tsr_graph *must_op(const char *what, uint64_t batch) {
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_workload_read(what, &(struct tsr_workload_options){.batch = batch}, &g, &err))
    fail_msg("%s: %s", what, err.msg[0]);
  assert_int_equal(g->n_ops, 1);
  tsr_err_fini(&err);
  return g;
}

/* The elements of a, b and c are counted by hand from the meaning of each operator. */
static const struct {
  const char *what;
  uint64_t m, n, k, count, macs, a, b, c;
} goods[] = {
    {"op:gemm:m=2,n=3,k=5", 2, 3, 5, 1, 30, 10, 15, 6},
    {"op:linear:m=2,n=3,k=5,epilogue=bias+gelu", 2, 3, 5, 1, 30, 10, 15, 6},
    {"op:bmm:m=2,n=3,k=5,count=7", 2, 3, 5, 7, 210, 70, 105, 42},
    {"op:conv:in_c=2,hw=5,out_c=4,window=3", 9, 4, 18, 1, 648, 50, 72, 36},
    {"op:conv:in_c=2,h=5,w=7,out_c=4,window=3,stride=2,pad=1,groups=2", 12, 2, 9, 2, 432, 70,
     36, 48},
    {"op:attention:heads=12,s=512,d=64", 512, 512, 64, 12, 2ull * 512 * 512 * 64 * 12,
     512 * 64 * 12, 2 * 512 * 64 * 12, 512 * 64 * 12},
    {"op:attention:heads=12,s=512,d=64,causal=1", 512, 512, 64, 12, 2ull * 512 * 512 * 64 * 12,
     512 * 64 * 12, 2 * 512 * 64 * 12, 512 * 64 * 12},
    /* three requests of 8 heads that share 2 heads of keys and values; 10 queries, 30 keys */
    {"op:attention:heads=8,kv_heads=2,count=24,s_q=10,s_kv=30,d=16", 10, 30, 16, 24,
     2ull * 10 * 30 * 16 * 24, 10 * 16 * 24, 2 * 3 * 2 * 30 * 16, 10 * 16 * 24},
    {"op:attention:m=10,n=30,k=16", 10, 30, 16, 1, 9600, 160, 960, 160},
    {"op:softmax:m=1024,n=1000", 1024, 1000, 1, 1, 0, 1024000, 0, 1024000},
    {"op:softmax:m=4,n=5,count=12", 4, 5, 1, 12, 0, 240, 0, 240},
    {"op:layernorm:m=4,n=5", 4, 5, 1, 1, 0, 20, 10, 20},
    {"op:rmsnorm:m=4,n=5,k=1", 4, 5, 1, 1, 0, 20, 5, 20},
    {"op:rowmean:m=4,n=5,count=2", 4, 5, 1, 2, 0, 40, 0, 8},
    {"op:topk:m=4,n=8,k=2", 4, 8, 2, 1, 0, 32, 0, 8},
    {"op:relu:m=4,n=5", 4, 5, 1, 1, 0, 20, 0, 20},
    {"op:gelu_tanh:m=4,n=5", 4, 5, 1, 1, 0, 20, 0, 20},
    {"op:add:m=4,n=5", 4, 5, 1, 1, 0, 20, 20, 20},
    {"op:mul:m=4,n=5,count=3,with=row", 4, 5, 1, 3, 0, 60, 15, 60},
    {"op:sub:m=4,n=5,count=3,with=col", 4, 5, 1, 3, 0, 60, 12, 60},
    {"op:max:m=4,n=5,count=3,with=scalar", 4, 5, 1, 3, 0, 60, 3, 60},
    {"op:bias:m=4,n=5,count=2", 4, 5, 1, 2, 0, 40, 10, 40},
    {"op:batchnorm:m=4,n=5", 4, 5, 1, 1, 0, 20, 10, 20},
    {"op:quantise:m=4,n=5", 4, 5, 1, 1, 0, 20, 1, 20},
    {"op:dequantise:m=4,n=5", 4, 5, 1, 1, 0, 20, 5, 20},
    {"op:rope:m=7,n=64,count=12", 7, 64, 1, 12, 0, 5376, 448, 5376},
    {"op:maxpool:c=64,hw=112,window=3,stride=2,pad=1", 56 * 56, 64, 9, 1, 0, 112 * 112 * 64, 0,
     56 * 56 * 64},
    {"op:avgpool:batch=2,c=3,h=5,w=4,window=2", 24, 3, 4, 1, 0, 120, 0, 72},
    {"op:global_avgpool:c=512,hw=7", 1, 512, 49, 1, 0, 25088, 0, 512},
    {"op:global_maxpool:c=8,h=3,w=5,batch=2", 2, 8, 15, 1, 0, 240, 0, 16},
    {"op:embedding:table=100000,n=64,m=2048", 2048, 64, 1, 1, 0, 2048, 6400000, 131072},
    {"op:embedding:table=1000,n=64,m=32,k=20,count=3", 32, 64, 20, 3, 0, 1920, 192000, 6144},
    {"op:gather:table=729,m=351,n=1,count=2", 351, 1, 1, 2, 0, 1458, 702, 702},
    {"op:gather_cols:table=729,m=351,n=5,count=2", 351, 5, 1, 2, 0, 511758, 10, 3510},
    {"op:moe_gather:m=256,n=512,k=2,experts=8", 256, 512, 2, 1, 0, 65536, 256, 131072},
    {"op:moe_scatter:m=128,n=512,k=2,experts=8", 128, 512, 2, 1, 0, 131072, 256, 65536},
    {"op:copy:m=4,n=5", 4, 5, 1, 1, 0, 20, 0, 20},
    {"op:transpose:m=4,n=5,count=3", 4, 5, 1, 3, 0, 60, 0, 60},
    {"op:concat:m=4,n=5", 4, 5, 1, 1, 0, 20, 0, 20},
};

static void sizes_and_tensors_are_those_of_the_meaning(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof goods / sizeof goods[0]; i++) {
    struct tsr_graph *g = must_op(goods[i].what, 0);
    const struct tsr_op *o = &g->ops[0];
    uint64_t macs, a, b, c;
    assert_true(tsr_op_macs(o, &macs));
    assert_true(tsr_op_elems(o, &a, &b, &c));
    if (o->m != goods[i].m || o->n != goods[i].n || o->k != goods[i].k ||
        o->count != goods[i].count || macs != goods[i].macs)
      fail_msg("%s: sizes", goods[i].what);
    if (a != goods[i].a || b != goods[i].b || c != goods[i].c)
      fail_msg("%s: %llu, %llu, %llu elements", goods[i].what, (unsigned long long)a,
               (unsigned long long)b, (unsigned long long)c);
    assert_int_equal(tsr_op_check(o, NULL), TSR_OK);
    assert_int_equal(macs > 0, tsr_op_kind_info(o->kind)->has_macs);
    assert_string_equal(g->name, goods[i].what);
    assert_string_equal(o->name, tsr_op_kind_name(o->kind));
    tsr_graph_destroy(g);
  }
}

/* Every kind can be written, with the least that it needs. */
static void every_kind_has_a_spelling(void **state) {
  (void)state;
  static const struct {
    enum tsr_op_class cls;
    const char *keys;
  } by_class[] = {{TSR_CLASS_MATMUL, "m=2,n=4,k=6"},  {TSR_CLASS_CONV, "m=2,n=4,k=6"},
                  {TSR_CLASS_ATTENTION, "s=4,d=6"},   {TSR_CLASS_ROWWISE, "m=2,n=4"},
                  {TSR_CLASS_ELEMENTWISE, "m=2,n=4"}, {TSR_CLASS_WINDOW, "c=2,hw=3"},
                  {TSR_CLASS_GATHER, "m=2,n=4"},      {TSR_CLASS_LAYOUT, "m=2,n=4"}};
  for (unsigned k = 0; k < TSR_OP_KIND_COUNT_; k++) {
    const struct tsr_op_info *info = tsr_op_kind_info((enum tsr_op_kind)k);
    const char *keys = by_class[info->cls].keys, *more = "";
    assert_int_equal(by_class[info->cls].cls, info->cls);
    if (info->table) more = ",table=9";
    if (info->experts) more = ",experts=4";
    if (k == TSR_OP_TOPK) more = ",k=3";
    if (k == TSR_OP_MAXPOOL || k == TSR_OP_AVGPOOL) more = ",window=2";
    char *what = tsr_mem_printf("op:%s:%s%s", info->name, keys, more);
    struct tsr_graph *g = must_op(what, 0);
    assert_int_equal(g->ops[0].kind, k);
    assert_true(strlen(info->doc) > 0);
    tsr_graph_destroy(g);
    tsr_mem_free(what);
  }
}

static void attributes_have_their_defaults(void **state) {
  (void)state;
  static const struct {
    const char *what;
    struct tsr_op_attr want;
  } rows[] = {
      {"op:attention:s=4,d=2", {.heads = 1, .kv_heads = 1}},
      {"op:attention:s=4,d=2,count=6", {.heads = 6, .kv_heads = 6}},
      {"op:attention:s=4,d=2,heads=6,causal=0", {.heads = 6, .kv_heads = 6}},
      {"op:attention:s=4,d=2,heads=6,kv_heads=3,causal=1",
       {.heads = 6, .kv_heads = 3, .causal = true}},
      {"op:layernorm:m=4,n=5", {.eps = 1e-5}},
      {"op:rmsnorm:m=4,n=5", {.eps = 1e-6}},
      {"op:rmsnorm:m=4,n=5,eps=1e-12", {.eps = 1e-12}},
      {"op:layernorm:m=4,n=5,eps=0", {0}},
      {"op:layernorm:m=4,n=5,eps=0.25", {.eps = 0.25}},
      {"op:softmax:m=4,n=5", {0}},
      {"op:add:m=4,n=5", {.with = TSR_WITH_FULL}},
      {"op:quantise:m=4,n=5", {.with = TSR_WITH_SCALAR}},
      {"op:dequantise:m=4,n=5", {.with = TSR_WITH_ROW}},
      {"op:quantise:m=4,n=5,with=col", {.with = TSR_WITH_COL}},
      {"op:embedding:m=4,n=5,table=9", {.table = 9}},
      {"op:normalise:m=4,n=5", {.eps = 1e-5}},
      {"op:leaky_relu:m=4,n=5", {.alpha = 0.01}},
      {"op:leaky_relu:m=4,n=5,alpha=-0.5", {.alpha = -0.5}},
      {"op:elu:m=4,n=5", {.alpha = 1}},
      {"op:celu:m=4,n=5,alpha=2e-1", {.alpha = 0.2}},
      {"op:selu:m=4,n=5",
       {.alpha = 1.67326319217681884765625, .beta = 1.05070102214813232421875}},
      {"op:selu:m=4,n=5,beta=1", {.alpha = 1.67326319217681884765625, .beta = 1}},
      {"op:affine:m=4,n=5", {.alpha = 1}},
      {"op:affine:m=4,n=5,beta=-3,alpha=2", {.alpha = 2, .beta = -3}},
      {"op:clip:m=4,n=5", {.alpha = -INFINITY, .beta = INFINITY}},
      {"op:clip:m=4,n=5,alpha=0", {.alpha = 0, .beta = INFINITY}},
      {"op:clip:m=4,n=5,alpha=-inf,beta=6", {.alpha = -INFINITY, .beta = 6}},
      {"op:quantise:m=4,n=5,zero=-128", {.with = TSR_WITH_SCALAR, .zero = -128}},
      {"op:dequantise:m=4,n=5,zero=7", {.with = TSR_WITH_ROW, .zero = 7}},
      {"op:prelu:m=4,n=5,with=row", {.with = TSR_WITH_ROW}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tsr_graph *g = must_op(rows[i].what, 0);
    const struct tsr_op_attr *t = &g->ops[0].attr, *w = &rows[i].want;
    if (t->heads != w->heads || t->kv_heads != w->kv_heads || t->causal != w->causal ||
        t->table != w->table || t->experts != w->experts || t->eps != w->eps ||
        t->with != w->with || t->alpha != w->alpha || t->beta != w->beta || t->zero != w->zero)
      fail_msg("%s", rows[i].what);
    tsr_graph_destroy(g);
  }
}

/* Rows that stand for themselves become more rows, the others more operators; what is read by
 * all rows stays one.  Elements at batch 1 and at batch 3. */
static const struct {
  const char *what;
  uint64_t m, count;
  uint64_t b1, b3;
} batches[] = {
    {"op:softmax:m=4,n=5,count=2", 12, 2, 0, 0},
    {"op:layernorm:m=4,n=5", 12, 1, 10, 10},
    {"op:topk:m=4,n=5,k=2", 12, 1, 0, 0},
    {"op:relu:m=4,n=5", 12, 1, 0, 0},
    {"op:bias:m=4,n=5", 12, 1, 5, 5},
    {"op:add:m=4,n=5", 12, 1, 20, 60},
    {"op:mul:m=4,n=5,with=col", 12, 1, 4, 12},
    {"op:mul:m=4,n=5,with=row", 4, 3, 5, 15},
    {"op:mul:m=4,n=5,with=scalar", 4, 3, 1, 3},
    {"op:quantise:m=4,n=5", 12, 1, 1, 1},
    {"op:quantise:m=4,n=5,with=col", 12, 1, 4, 12},
    {"op:rope:m=4,n=6,count=2", 4, 6, 24, 24},
    {"op:attention:s=4,d=2,heads=2", 4, 6, 32, 96},
    {"op:attention:s=4,d=2,heads=4,kv_heads=2", 4, 12, 32, 96},
    {"op:embedding:m=4,n=5,table=9", 12, 1, 45, 45},
    {"op:gather:m=4,n=5,table=9", 4, 3, 4, 12},
    {"op:gather_cols:m=4,n=5,table=9", 12, 1, 5, 5},
    {"op:moe_gather:m=4,n=5,k=2,experts=2", 12, 1, 4, 12},
    {"op:moe_scatter:m=4,n=5,k=2,experts=2", 12, 1, 8, 24},
    {"op:transpose:m=4,n=5", 4, 3, 0, 0},
    {"op:maxpool:c=2,hw=4,window=2,stride=2", 12, 1, 0, 0},
    {"op:bmm:m=4,n=5,k=2", 4, 3, 10, 30},
    {"op:linear:m=4,n=5,k=2", 12, 1, 10, 10},
};

static void a_batch_adds_rows_or_operators(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
    struct tsr_graph *one = must_op(batches[i].what, 0), *g = must_op(batches[i].what, 3);
    const struct tsr_op *o = &g->ops[0];
    uint64_t a1, b1, c1, a, b, c;
    assert_true(tsr_op_elems(&one->ops[0], &a1, &b1, &c1));
    assert_true(tsr_op_elems(o, &a, &b, &c));
    if (o->m != batches[i].m || o->count != batches[i].count || b1 != batches[i].b1 ||
        b != batches[i].b3)
      fail_msg("%s: m %llu, count %llu, b %llu then %llu", batches[i].what,
               (unsigned long long)o->m, (unsigned long long)o->count, (unsigned long long)b1,
               (unsigned long long)b);
    assert_int_equal(a, 3 * a1);
    assert_int_equal(c, 3 * c1);
    tsr_graph_destroy(one);
    tsr_graph_destroy(g);
  }
}

/* One by one, with the definition of the mask. */
static void masked_pairs_are_left_out(void **state) {
  (void)state;
  for (uint64_t m = 1; m < 12; m++)
    for (uint64_t n = m; n < 16; n++) {
      struct tsr_op op = {.name = "x",
                          .kind = TSR_OP_ATTENTION,
                          .m = m,
                          .n = n,
                          .k = 4,
                          .count = 3,
                          .attr = {.heads = 3, .kv_heads = 1, .causal = true}};
      uint64_t want = 0, pairs, full;
      for (uint64_t q = 0; q < m; q++)
        for (uint64_t k = 0; k < n; k++) want += k <= q + n - m;
      assert_true(tsr_op_attention_pairs(&op, &pairs));
      assert_int_equal(pairs, 3 * want);
      op.attr.causal = false;
      assert_true(tsr_op_attention_pairs(&op, &full));
      assert_int_equal(full, 3 * m * n);
    }
  struct tsr_op gemm = {.name = "x", .kind = TSR_OP_GEMM, .m = 1, .n = 1, .k = 1, .count = 1};
  uint64_t pairs = 7;
  assert_false(tsr_op_attention_pairs(&gemm, &pairs));
  assert_int_equal(pairs, 7);
}

static void scales_are_weights_but_for_one_a_row(void **state) {
  (void)state;
  static const struct {
    const char *what;
    bool weight;
  } rows[] = {{"op:linear:m=1,n=1,k=1", true},
              {"op:bmm:m=1,n=1,k=1", false},
              {"op:bias:m=4,n=5", true},
              {"op:add:m=4,n=5,with=row", false},
              {"op:quantise:m=4,n=5", true},
              {"op:quantise:m=4,n=5,with=row", true},
              {"op:quantise:m=4,n=5,with=col", false},
              {"op:attention:s=4,d=2", false},
              {"op:embedding:m=4,n=5,table=9", true},
              {"op:gather:m=4,n=5,table=9", false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tsr_graph *g = must_op(rows[i].what, 0);
    assert_int_equal(tsr_op_b_is_weight(&g->ops[0]), rows[i].weight);
    tsr_graph_destroy(g);
  }
}

#define EPILOGUE_TEXT                                                        \
  "model,layer,op,M,N,K,count,notes,epilogue,after\n"                        \
  "m,a,gemm,4,6,2,3,,,-\n"                                                   \
  "m,b,gemm,4,6,2,3,,,-\n"                                                   \
  "m,c,gemm,4,6,2,3,,bias+residual+dequantise+mul:row+requantise+gelu,a b\n" \
  "m,d,gemm,4,6,2,3,,batchnorm+add+dequantise:scalar+sub:col+quantise:row+relu,a b c\n"

/* Steps: kinds, elements of their operands, and what they read: an operator, the model's
 * input, or (NO_SOURCE) nothing that is computed. */
enum { INPUT = -1, NO_SOURCE = -2 };
static const struct {
  size_t op, step;
  enum tsr_op_kind kind;
  enum tsr_with with;
  uint64_t elems;
  int source;
} steps[] = {
    {2, 0, TSR_OP_BIAS, TSR_WITH_FULL, 18, NO_SOURCE},
    {2, 1, TSR_OP_ADD, TSR_WITH_FULL, 72, INPUT},
    {2, 2, TSR_OP_DEQUANTISE, TSR_WITH_ROW, 18, NO_SOURCE},
    {2, 3, TSR_OP_MUL, TSR_WITH_ROW, 18, 1},
    {2, 4, TSR_OP_QUANTISE, TSR_WITH_SCALAR, 3, NO_SOURCE},
    {2, 5, TSR_OP_GELU, TSR_WITH_FULL, 0, NO_SOURCE},
    {3, 0, TSR_OP_BATCHNORM, TSR_WITH_FULL, 36, NO_SOURCE},
    {3, 1, TSR_OP_ADD, TSR_WITH_FULL, 72, 1},
    {3, 2, TSR_OP_DEQUANTISE, TSR_WITH_SCALAR, 3, NO_SOURCE},
    {3, 3, TSR_OP_SUB, TSR_WITH_COL, 12, 2},
    {3, 4, TSR_OP_QUANTISE, TSR_WITH_ROW, 18, NO_SOURCE},
    {3, 5, TSR_OP_RELU, TSR_WITH_FULL, 0, NO_SOURCE},
};

static void an_epilogue_is_a_list_of_steps(void **state) {
  (void)state;
  struct tsr_graph *g = must_read(EPILOGUE_TEXT);
  assert_int_equal(g->ops[0].n_steps, 0);
  assert_int_equal(g->ops[2].n_steps, 6);
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    const struct tsr_op *o = &g->ops[steps[i].op];
    const struct tsr_op_step *s = &o->step[steps[i].step];
    uint64_t elems;
    size_t source = 99;
    assert_int_equal(s->kind, steps[i].kind);
    assert_int_equal(s->with, steps[i].with);
    assert_true(tsr_op_step_elems(o, steps[i].step, &elems));
    assert_int_equal(elems, steps[i].elems);
    bool reads = tsr_op_step_source(o, steps[i].step, &source);
    assert_int_equal(reads, steps[i].source != NO_SOURCE);
    if (!reads) assert_int_equal(source, 99);
    if (reads && steps[i].source == INPUT) assert_true(source == SIZE_MAX);
    if (reads && steps[i].source >= 0) assert_int_equal(source, steps[i].source);
  }
  tsr_graph_destroy(g);
}

static void steps_have_numbers(void **state) {
  (void)state;
  static const struct {
    const char *epilogue;
    struct tsr_op_step want;
  } rows[] = {
      {"relu", {.kind = TSR_OP_RELU}},
      {"leaky_relu", {.kind = TSR_OP_LEAKY_RELU, .alpha = 0.01}},
      {"leaky_relu(0.2)", {.kind = TSR_OP_LEAKY_RELU, .alpha = 0.2}},
      {"clip", {.kind = TSR_OP_CLIP, .alpha = -INFINITY, .beta = INFINITY}},
      {"clip(0,6)", {.kind = TSR_OP_CLIP, .alpha = 0, .beta = 6}},
      {"clip( -1 , 6e-1 )", {.kind = TSR_OP_CLIP, .alpha = -1, .beta = 0.6}},
      {"clip(-inf,6)", {.kind = TSR_OP_CLIP, .alpha = -INFINITY, .beta = 6}},
      {"clip(2)", {.kind = TSR_OP_CLIP, .alpha = 2, .beta = INFINITY}},
      {"affine(3)", {.kind = TSR_OP_AFFINE, .alpha = 3}},
      {"quantise(-4)", {.kind = TSR_OP_QUANTISE, .with = TSR_WITH_SCALAR, .zero = -4}},
      {"requantise(9):row", {.kind = TSR_OP_QUANTISE, .with = TSR_WITH_ROW, .zero = 9}},
      {"dequantise(1):scalar", {.kind = TSR_OP_DEQUANTISE, .with = TSR_WITH_SCALAR, .zero = 1}},
      {"prelu:row", {.kind = TSR_OP_PRELU, .with = TSR_WITH_ROW}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char *what = tsr_mem_printf("op:linear:m=4,epilogue=bias+%s+abs,n=5,k=2", rows[i].epilogue);
    char *list = tsr_mem_printf("model,layer,op,M,N,K,count,notes,epilogue\n"
                                "m,a,linear,4,5,2,1,,\"bias+%s+abs\"\n",
                                rows[i].epilogue);
    struct tsr_graph *both[2] = {must_op(what, 0), must_read(list)};
    for (int g = 0; g < 2; g++) {
      const struct tsr_op *op = &both[g]->ops[0];
      const struct tsr_op_step *s = &op->step[1], *w = &rows[i].want;
      if (op->n_steps != 3 || s->kind != w->kind || s->with != w->with ||
          s->alpha != w->alpha || s->beta != w->beta || s->zero != w->zero)
        fail_msg("%s", rows[i].epilogue);
      tsr_graph_destroy(both[g]);
    }
    tsr_mem_free(what);
    tsr_mem_free(list);
  }
}

#define SOURCE_TEXT                                                      \
  "model,layer,op,M,N,K,count,notes,table,experts,with,epilogue,after\n" \
  "m,a,relu,4,4,,,,,,,,-\n"                                              \
  "m,b,relu,4,4,,,,,,,,-\n"                                              \
  "m,c,relu,4,4,,,,,,,,-\n"

/* A row behind three operators, and what its operands read. */
static const struct {
  const char *row;
  int source[3];
} sources[] = {
    {"linear,4,4,4,1,,,,,,a", {0, NO_SOURCE, NO_SOURCE}},
    {"linear,4,4,4,1,,,,,,-", {INPUT, NO_SOURCE, NO_SOURCE}},
    {"linear,4,4,4,1,,,,,bias+residual,a b", {0, NO_SOURCE, NO_SOURCE}},
    {"attn_qk,4,4,4,1,,,,,,a b", {0, 1, NO_SOURCE}},
    {"attn_qk,4,4,4,1,,,,,,b", {1, 1, NO_SOURCE}},
    {"bmm,4,4,4,1,,,,,residual,a b c", {0, 1, NO_SOURCE}},
    {"bmm,4,4,4,1,,,,,residual,a b", {0, 0, NO_SOURCE}},
    {"bmm,4,4,4,1,,,,,residual,a", {0, 0, NO_SOURCE}},
    {"bmm,4,4,4,1,,,,,,-", {INPUT, INPUT, NO_SOURCE}},
    {"attention,4,4,4,1,,,,,,a b c", {0, 1, 2}},
    {"attention,4,4,4,1,,,,,,a c", {0, 2, 2}},
    {"attention,4,4,4,1,,,,,,b", {1, 1, 1}},
    {"add,4,4,,,,,,,,a b", {0, 1, NO_SOURCE}},
    {"add,4,4,,,,,,,,b", {1, INPUT, NO_SOURCE}},
    {"quantise,4,4,,,,,,,,b", {1, NO_SOURCE, NO_SOURCE}},
    {"quantise,4,4,,,,,,col,,b c", {1, 2, NO_SOURCE}},
    {"softmax,4,4,,,,,,,,c", {2, NO_SOURCE, NO_SOURCE}},
    {"rope,4,4,,,,,,,,a", {0, INPUT, NO_SOURCE}},
    {"embedding,4,4,,,,9,,,,-", {INPUT, NO_SOURCE, NO_SOURCE}},
    {"moe_gather,4,4,2,,,,8,,,a b", {0, 1, NO_SOURCE}},
    {"moe_scatter,4,4,2,,,,8,,,a b c", {0, 2, NO_SOURCE}},
};

static void operands_come_from_the_names_of_after(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    char *text = tsr_mem_printf("%sm,x,%s\n", SOURCE_TEXT, sources[i].row);
    struct tsr_graph *g = must_read(text);
    for (unsigned operand = 0; operand < 3; operand++) {
      size_t got = 99;
      int want = sources[i].source[operand];
      bool has = tsr_op_source(&g->ops[3], operand, &got);
      size_t as = want == NO_SOURCE ? 99 : want == INPUT ? SIZE_MAX : (size_t)want;
      if (has != (want != NO_SOURCE) || got != as)
        fail_msg("%s: operand %u", sources[i].row, operand);
    }
    tsr_graph_destroy(g);
    tsr_mem_free(text);
  }
}

/* The same operator as a row of a list and as `op:`. */
static void a_row_of_a_list_says_the_same(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"softmax,4,5,,2,,,,,,,,,,,,,,,,,,,,,,,", "op:softmax:m=4,n=5,count=2"},
      {"attention,4,8,2,,,,,,,,,,,,,,,,6,2,1,,,,,,",
       "op:attention:s_q=4,s_kv=8,d=2,heads=6,kv_heads=2,causal=1"},
      {"layernorm,4,5,1,1,,,,,,,,,,,,,,,,,,,,1e-12,,,", "op:layernorm:m=4,n=5,eps=1e-12"},
      {"maxpool,,,,,,,3,8,8,,2,2,2,2,,,,,,,,,,,,,", "op:maxpool:c=3,hw=8,window=2,stride=2"},
      {"global_avgpool,1,3,64,1,,1,3,8,8,3,8,8,,,,,,,,,,,,,,,", "op:global_avgpool:c=3,hw=8"},
      {"add,4,5,,,,,,,,,,,,,,,,,,,,,,,col,,", "op:add:m=4,n=5,with=col"},
      {"embedding,4,5,,,,,,,,,,,,,,,,,,,,9,,,,,", "op:embedding:m=4,n=5,table=9"},
      {"moe_gather,4,5,2,,,,,,,,,,,,,,,,,,,,8,,,,", "op:moe_gather:m=4,n=5,k=2,experts=8"},
      {"linear,4,5,2,1,,,,,,,,,,,,,,,,,,,,,,bias+silu,",
       "op:linear:m=4,n=5,k=2,epilogue=bias+silu"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char *text = tsr_mem_printf("%sm,a,%s\n", ALL, rows[i][0]);
    struct tsr_graph *g = must_read(text), *h = must_op(rows[i][1], 0);
    struct tsr_op a = g->ops[0], b = h->ops[0];
    if (a.m != b.m || a.n != b.n || a.k != b.k || a.count != b.count ||
        a.has_conv != b.has_conv || a.n_steps != b.n_steps)
      fail_msg("%s: sizes", rows[i][1]);
    assert_int_equal(a.kind, b.kind);
    assert_memory_equal(&a.conv, &b.conv, sizeof a.conv);
    assert_memory_equal(a.step, b.step, sizeof a.step);
    assert_true(a.attr.heads == b.attr.heads && a.attr.kv_heads == b.attr.kv_heads &&
                a.attr.causal == b.attr.causal && a.attr.table == b.attr.table &&
                a.attr.experts == b.attr.experts && a.attr.eps == b.attr.eps &&
                a.attr.with == b.attr.with);
    tsr_graph_destroy(g);
    tsr_graph_destroy(h);
    tsr_mem_free(text);
  }
}

static const struct {
  const char *what;
  unsigned col;
  const char *says;
} bads[] = {
    {"op:", 4, "unknown op"},
    {"op::m=1", 4, "unknown op"},
    {"op:sofmax:m=1,n=1", 4, "hint: did you mean 'softmax'?"},
    {"op:layer_norm:m=1,n=1", 4, "hint: did you mean 'layernorm'?"},
    {"op:softmax", 11, "M is empty"},
    {"op:softmax:", 12, "no value; expected KEY=V"},
    {"op:softmax:m=4", 15, "N is empty"},
    {"op:softmax:m=4,", 16, "no value"},
    {"op:softmax:m=4,,n=5", 16, "no value"},
    {"op:softmax:m", 12, "no value; expected KEY=V such as m=1024, got 'm'"},
    {"op:softmax:m=,n=5", 12, "no value"},
    {"op:softmax:m=4,n=5,k=2", 22, "K of op softmax; expected 1, for it means nothing here"},
    {"op:softmax:m=0,n=5", 14, "M is zero"},
    {"op:softmax:m=4,n=x", 18, "N is not a number"},
    {"op:softmax:m=4,n=5,m=6", 20, "M given twice"},
    {"op:softmax:m=4,n=5,M=6", 20, "M given twice"},
    {"op:attention:s=4,d=2,m=4", 22, "M given twice"},
    {"op:softmax:s=4,n=5", 12, "unknown key of op softmax"},
    {"op:softmax:m=4,n=5,ep=1", 20, "hint: did you mean 'eps'?"},
    {"op:softmax:m=4,n=5,after=x", 20, "unknown key"},
    {"op:softmax:m=4,n=5,eps=1e-5", 24, "eps in a row of op softmax; expected nothing"},
    {"op:softmax:m=4,n=5,epilogue=relu", 29, "epilogue in a row of op softmax"},
    {"op:softmax:m=4,n=5,in_c=3", 25,
     "in_c in a row of op softmax; expected the geometry only"},
    {"op:layernorm:m=4,n=5,eps=-1", 26, "eps is not a number"},
    {"op:layernorm:m=4,n=5,eps=1e", 26, "eps is not a number"},
    {"op:layernorm:m=4,n=5,eps=0x1", 26, "eps is not a number"},
    {"op:layernorm:m=4,n=5,eps=nan", 26, "eps is not a number"},
    {"op:layernorm:m=4,n=5,eps=2", 26, "eps of op layernorm; expected a number from 0"},
    {"op:add:m=4,n=5,with=all", 21, "expected full, row, col or scalar, got 'all'"},
    {"op:relu:m=4,n=5,with=row", 22, "with in a row of op relu"},
    {"op:attention:s=4", 17, "K is empty"},
    {"op:attention:s=4,d=2,heads=5,count=6", 28, "heads that divide count"},
    {"op:attention:s=4,d=2,heads=6,kv_heads=4", 39, "kv_heads that divide heads"},
    {"op:attention:s_q=5,s_kv=4,d=2,causal=1", 38, "at least as many keys N as queries M"},
    {"op:attention:s=4,d=2,causal=yes", 29, "causal; expected 0 or 1, got 'yes'"},
    {"op:attention:s=4,d=2,heads=0", 28, "heads is zero"},
    {"op:embedding:m=4,n=5", 4, "table of op embedding; expected the rows of the table"},
    {"op:gather_cols:m=4,n=5", 4, "table of op gather_cols; expected the columns of the table"},
    {"op:moe_gather:m=4,n=5,k=2", 4, "experts of op moe_gather"},
    {"op:moe_gather:m=4,n=5,k=3,experts=2", 35, "at least the K experts of a token"},
    {"op:moe_gather:m=5,n=5,k=2,experts=2", 17, "K rows for each token"},
    {"op:topk:m=4,n=5", 16, "K is empty"},
    {"op:topk:m=4,n=5,k=6", 19, "at most the N columns of a row"},
    {"op:rope:m=4,n=5", 15, "columns turn in pairs"},
    {"op:maxpool:m=4,n=5", 4, "maxpool without geometry; expected in_c, in_h, in_w, k_h, k_w"},
    {"op:maxpool:c=4,hw=5", 20,
     "k_h is empty although in_c is given; expected in_c, in_h, in_w, "
     "k_h, k_w of a pooling"},
    {"op:maxpool:c=4,hw=5,window=2,pad=2", 14, "padding of at most half a window"},
    {"op:maxpool:c=4,hw=5,window=2,out_c=5", 14, "out_c = in_c"},
    {"op:maxpool:c=4,hw=5,window=7", 14, "a kernel no larger than the padded input"},
    {"op:maxpool:c=4,hw=5,window=2,m=7", 32, "M does not agree with the geometry; expected 16"},
    {"op:global_avgpool:c=4,hw=5,window=3", 21, "one window as large as the image"},
    {"op:global_avgpool:m=1,n=1", 4,
     "global_avgpool without geometry; expected in_c, in_h, in_w"},
    {"op:linear:m=4,n=5,k=2,epilogue=bias+rulu", 37, "unknown op"},
    {"op:linear:m=4,n=5,k=2,epilogue=bias++relu", 37, "unknown op"},
    {"op:linear:m=4,n=5,k=2,epilogue=relu+", 37, "unknown op"},
    {"op:linear:m=4,n=5,k=2,epilogue=softmax", 32, "no step of an epilogue"},
    {"op:linear:m=4,n=5,k=2,epilogue=gemm", 32, "no step of an epilogue"},
    {"op:linear:m=4,n=5,k=2,epilogue=relu:row", 37, "expected none, relu has no such operand"},
    {"op:linear:m=4,n=5,k=2,epilogue=add:all", 36, "expected full, row, col or scalar"},
    {"op:linear:m=4,n=5,k=2,epilogue=abs+abs+abs+abs+abs+abs+abs+abs+neg", 64,
     "epilogue too long; expected at most 8 steps"},
    {"op:relu:m=4,n=5,alpha=1", 23, "alpha in a row of op relu; expected nothing"},
    {"op:elu:m=4,n=5,beta=1", 21, "beta in a row of op elu; expected nothing"},
    {"op:elu:m=4,n=5,alpha=x", 22, "alpha is not a number; expected one such as 0.1"},
    {"op:elu:m=4,n=5,alpha=1e999", 22, "alpha is not a number"},
    {"op:elu:m=4,n=5,alpha=inf", 22, "alpha of op elu; expected a number that fp32 holds"},
    {"op:clip:m=4,n=5,beta=1e40", 22, "beta of op clip; expected a number that fp32 holds, or"},
    {"op:celu:m=4,n=5,alpha=0", 23, "a number that is not zero"},
    {"op:quantise:m=4,n=5,zero=0.5", 26, "a whole number of at most 2^24 in size"},
    {"op:dequantise:m=4,n=5,zero=16777217", 28, "a whole number of at most 2^24"},
    {"op:linear:m=4,n=5,k=2,epilogue=relu(1)", 37,
     "numbers of step relu; expected none, got '1'"},
    {"op:linear:m=4,n=5,k=2,epilogue=elu(1,2)", 36, "expected one, alpha, got '1,2'"},
    {"op:linear:m=4,n=5,k=2,epilogue=clip(0,6,7)", 37, "at most two, alpha and beta"},
    {"op:linear:m=4,n=5,k=2,epilogue=quantise(1,2)", 41, "expected one, zero"},
    {"op:linear:m=4,n=5,k=2,epilogue=clip(0,)", 39, "beta is not a number"},
    {"op:linear:m=4,n=5,k=2,epilogue=clip()", 37, "alpha is not a number"},
    {"op:linear:m=4,n=5,k=2,epilogue=clip(0,6", 32, "step without an end"},
    {"op:linear:m=4,n=5,k=2,epilogue=clip(0)x", 32, "step without an end"},
    {"op:linear:m=4,n=5,k=2,epilogue=celu(0)", 4, "alpha of step 'celu' of the epilogue"},
    {"op:relu:m=4294967296,n=4294967296", 4, "a tensor of 'relu' is too large"},
    {"op:attention:s=4294967296,d=1,heads=1", 4, "'attention' is too large"},
    {"op:attention:s_q=4294967296,s_kv=2147483648,d=1", 4, "'attention' is too large"},
    {"op:embedding:m=1,n=4294967296,table=4294967296", 4,
     "a tensor of 'embedding' is too large"},
};

static void each_mistake_is_shown_where_it_is(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
    struct tsr_graph *g = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    if (tsr_workload_read(bads[i].what, NULL, &g, &err) != TSR_INPUT)
      fail_msg("%s is taken", bads[i].what);
    assert_null(g);
    check_message(&err, "--workload", 1, bads[i].col, bads[i].says);
    tsr_err_fini(&err);
    assert_int_equal(tsr_workload_read(bads[i].what, NULL, &g, NULL), TSR_INPUT);
  }
}

/* In a list the column is that of the cell. */
static const struct bad rows[] = {
    {ALL "m,a,relu,4,,1,1" TO_EPILOGUE ",\n", 2, 12, "N is empty"},
    {ALL "m,a,relu,4,5,2,1" TO_EPILOGUE ",\n", 2, 14, "K of op relu; expected 1"},
    {ALL "m,a,linear,4,5,,1" TO_EPILOGUE ",\n", 2, 16, "K is empty"},
    {ALL "m,a,linear,4,5,6," TO_EPILOGUE ",\n", 2, 18, "count is empty"},
    {ALL "m,a,bias,4,5,,1" TO_EPILOGUE "relu,\n", 2, 38, "epilogue in a row of op bias"},
    {ALL "m,a,avgpool,4,5,4,1" TO_EPILOGUE ",\n", 2, 5, "avgpool without geometry"},
};

static void mistakes_in_lists_are_shown_in_their_cell(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check_bad(&rows[i]);
}

static const struct {
  const char *says;
  struct tsr_op op;
} made[] = {
    {"only behind a matmul",
     {.kind = TSR_OP_RELU,
      .m = 1,
      .n = 1,
      .k = 1,
      .n_steps = 1,
      .step = {{.kind = TSR_OP_BIAS}}}},
    {"at most 8 steps", {.kind = TSR_OP_GEMM, .m = 1, .n = 1, .k = 1, .n_steps = 9}},
    {"expected an operator on single elements, got 'gemm'",
     {.kind = TSR_OP_GEMM,
      .m = 1,
      .n = 1,
      .k = 1,
      .n_steps = 1,
      .step = {{.kind = TSR_OP_GEMM}}}},
    {"geometry of", {.kind = TSR_OP_MAXPOOL, .m = 1, .n = 1, .k = 1}},
    {"geometry of", {.kind = TSR_OP_RELU, .m = 1, .n = 1, .k = 1, .has_conv = true}},
    {"heads of", {.kind = TSR_OP_ATTENTION, .m = 1, .n = 1, .k = 1}},
    {"K of", {.kind = TSR_OP_RELU, .m = 1, .n = 1, .k = 2}},
    {"eps of", {.kind = TSR_OP_RMSNORM, .m = 1, .n = 1, .k = 1, .attr = {.eps = -1}}},
};

static void an_operator_that_contradicts_itself_is_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
    struct tsr_op op = made[i].op;
    struct tsr_err err = TSR_ERR_INIT;
    op.name = "x";
    op.count = 1;
    assert_int_equal(tsr_op_check(&op, &err), TSR_INPUT);
    if (!strstr(err.msg[0], made[i].says)) fail_msg("%s", err.msg[0]);
    tsr_err_fini(&err);
  }
}

/* The reading of `op:` gives the status of a failing allocation, whichever it is. */
static void no_memory_is_a_status(void **state) {
  (void)state;
  const char *what = "op:linear:m=4,n=5,k=2,epilogue=bias+gelu";
  for (uint64_t n = 1;; n++) {
    struct tsr_graph *g = NULL;
    tsr_mem_fail_at(n, false);
    enum tsr_status s = tsr_workload_read(what, NULL, &g, NULL);
    bool reached = tsr_mem_calls() >= n;
    tsr_mem_fail_at(0, false);
    if (!reached) {
      assert_int_equal(s, TSR_OK);
      assert_true(n > 5);
      tsr_graph_destroy(g);
      break;
    }
    assert_int_equal(s, TSR_NOMEM);
    assert_null(g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_and_tensors_are_those_of_the_meaning),
      cmocka_unit_test(every_kind_has_a_spelling),
      cmocka_unit_test(attributes_have_their_defaults),
      cmocka_unit_test(a_batch_adds_rows_or_operators),
      cmocka_unit_test(masked_pairs_are_left_out),
      cmocka_unit_test(scales_are_weights_but_for_one_a_row),
      cmocka_unit_test(an_epilogue_is_a_list_of_steps),
      cmocka_unit_test(steps_have_numbers),
      cmocka_unit_test(operands_come_from_the_names_of_after),
      cmocka_unit_test(a_row_of_a_list_says_the_same),
      cmocka_unit_test(each_mistake_is_shown_where_it_is),
      cmocka_unit_test(mistakes_in_lists_are_shown_in_their_cell),
      cmocka_unit_test(an_operator_that_contradicts_itself_is_refused),
      cmocka_unit_test(no_memory_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
