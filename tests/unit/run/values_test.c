/* Programs executed by value: every dataflow, format, tiling, shape and division among
 * cores leaves what the operator's own product is, bit for bit (sim/run/full.c compares;
 * mutants_test.c shows that it would tell). */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/run/valued.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))
enum { SETS = 48, ROOM = 3 };

/* Rows of the array are a multiple of what the units below add at once. */
static const struct {
  const char *label, *set[7]; /* ends with NULL */
} flows[] = {
    {"os", {"tile.rows=5", "tile.cols=3", "tile.dataflow=os"}},
    {"ws", {"tile.rows=16", "tile.cols=5", "tile.dataflow=ws", "tile.weight_preload=false"}},
    {"ws, preload",
     {"tile.rows=16", "tile.cols=5", "tile.dataflow=ws", "tile.weight_preload=true"}},
    {"is", {"tile.rows=16", "tile.cols=3", "tile.dataflow=is", "tile.weight_preload=false"}},
    {"rs", {"tile.rows=7", "tile.cols=5", "tile.dataflow=rs", "tile.weight_preload=true"}},
    {"is, preload",
     {"tile.rows=16", "tile.cols=3", "tile.dataflow=is", "tile.weight_preload=true"}},
    {"dot", {"tile.kind=dot", "tile.m=4", "tile.n=3", "tile.k=16"}},
    {"dot, a stays",
     {"tile.kind=dot", "tile.m=2", "tile.n=8", "tile.k=16", "tile.keep=a", "tile.depth=3"}},
};

static const struct {
  const char *label, *set[7]; /* ends with NULL */
} formats[] = {
    {"fp16 + fp32 -> fp16",
     {"tile.formats.a=fp16", "tile.formats.b=fp16", "tile.formats.acc=fp32",
      "tile.formats.out=fp16"}},
    {"bf16 + fp32 -> bf16",
     {"tile.formats.a=bf16", "tile.formats.b=bf16", "tile.formats.acc=fp32",
      "tile.formats.out=bf16"}},
    {"int8 + int32 -> int8",
     {"tile.formats.a=int8", "tile.formats.b=int8", "tile.formats.acc=int32",
      "tile.formats.out=int8"}},
    {"fp8 + fp32 -> fp8",
     {"tile.formats.a=fp8_e4m3", "tile.formats.b=fp8_e4m3", "tile.formats.acc=fp32",
      "tile.formats.out=fp8_e4m3", "tile.rates.fp8_e4m3=1"}},
    {"fp16 + fp16 -> fp16",
     {"tile.formats.a=fp16", "tile.formats.b=fp16", "tile.formats.acc=fp16",
      "tile.formats.out=fp16"}},
    {"fp32 + fp32 -> fp32",
     {"tile.formats.a=fp32", "tile.formats.b=fp32", "tile.formats.acc=fp32",
      "tile.formats.out=fp32", "tile.rates.fp32=1"}},
    {"fp16 + fp32 -> fp16, two a cycle",
     {"tile.formats.a=fp16", "tile.formats.b=fp16", "tile.formats.acc=fp32",
      "tile.formats.out=fp16", "tile.rates.fp16=2"}},
    {"fp16 + fp32 -> bf16, by a rule",
     {"tile.formats.a=fp16", "tile.formats.b=fp16", "tile.formats.acc=fp32",
      "tile.formats.out=bf16", "tile.rates.rules=fp16.fp16.fp32.bf16=2,any.any=1"}},
};

/* Scratchpads: what forces many tiles, few, one. */
static const struct {
  const char *set[5];
} rooms[ROOM] = {
    {{"sram.a.size=512B", "sram.b.size=768B", "sram.c.size=256B"}},
    {{"sram.a.size=1536B", "sram.b.size=640B", "sram.c.size=2KiB", "sram.a.buffers=3"}},
    {{"sram.a.size=64KiB", "sram.b.size=64KiB", "sram.c.size=64KiB", "sram.b.buffers=1"}},
};

struct shape {
  uint64_t m, n, k, count;
  uint64_t batch, in_c, in_h, in_w, out_c, k_h, k_w, stride_h, stride_w, pad[4], dil_h, dil_w,
      groups; /* batch 0: a plain matmul */
};
static const struct shape shapes[] = {
    {.m = 1, .n = 1, .k = 1, .count = 1},
    {.m = 13, .n = 7, .k = 37, .count = 1},
    {.m = 97, .n = 2, .k = 33, .count = 1},
    {.m = 1, .n = 53, .k = 64, .count = 1},
    {.m = 3, .n = 5, .k = 211, .count = 1},
    {.m = 11, .n = 9, .k = 19, .count = 5},
    {.m = 1, .n = 4, .k = 40, .count = 9},
    {.batch = 1,
     .in_c = 5,
     .in_h = 7,
     .in_w = 6,
     .out_c = 7,
     .k_h = 3,
     .k_w = 3,
     .stride_h = 1,
     .stride_w = 1,
     .pad = {1, 1, 1, 1},
     .dil_h = 1,
     .dil_w = 1,
     .groups = 1},
    {.batch = 3,
     .in_c = 4,
     .in_h = 9,
     .in_w = 9,
     .out_c = 6,
     .k_h = 3,
     .k_w = 2,
     .stride_h = 2,
     .stride_w = 3,
     .pad = {2, 0, 1, 1},
     .dil_h = 1,
     .dil_w = 1,
     .groups = 1},
    {.batch = 1,
     .in_c = 3,
     .in_h = 9,
     .in_w = 11,
     .out_c = 4,
     .k_h = 3,
     .k_w = 3,
     .stride_h = 1,
     .stride_w = 1,
     .pad = {2, 2, 2, 2},
     .dil_h = 2,
     .dil_w = 2,
     .groups = 1},
    {.batch = 2,
     .in_c = 6,
     .in_h = 5,
     .in_w = 5,
     .out_c = 9,
     .k_h = 3,
     .k_w = 3,
     .stride_h = 1,
     .stride_w = 1,
     .pad = {1, 1, 1, 1},
     .dil_h = 1,
     .dil_w = 1,
     .groups = 3},
    {.batch = 1,
     .in_c = 7,
     .in_h = 6,
     .in_w = 6,
     .out_c = 7,
     .k_h = 3,
     .k_w = 3,
     .stride_h = 1,
     .stride_w = 1,
     .pad = {1, 1, 1, 1},
     .dil_h = 1,
     .dil_w = 1,
     .groups = 7},
    {.batch = 5,
     .in_c = 17,
     .in_h = 3,
     .in_w = 2,
     .out_c = 3,
     .k_h = 1,
     .k_w = 1,
     .stride_h = 1,
     .stride_w = 1,
     .dil_h = 1,
     .dil_w = 1,
     .groups = 1},
};

static void shape_text(const struct shape *s, char *out, size_t size) {
  static const char head[] =
      "model,layer,op,M,N,K,count,notes,batch,in_c,in_h,in_w,out_c,k_h,k_w,stride_h,stride_w,"
      "pad_t,pad_l,pad_b,pad_r,dil_h,dil_w,groups\n";
  if (!s->batch) {
    snprintf(out, size,
             "%sm,a,attn_qk,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",,,,,,,,,,,,,,,,,\n",
             head, s->m, s->n, s->k, s->count);
    return;
  }
  uint64_t h =
      (s->in_h + s->pad[0] + s->pad[2] - s->dil_h * (s->k_h - 1) - 1) / s->stride_h + 1;
  uint64_t w =
      (s->in_w + s->pad[1] + s->pad[3] - s->dil_w * (s->k_w - 1) - 1) / s->stride_w + 1;
  const uint64_t v[] = {s->batch * h * w, s->out_c / s->groups,
                        s->k_h * s->k_w * s->in_c / s->groups, s->groups};
  const uint64_t g[] = {s->batch,  s->in_c,     s->in_h,     s->in_w,   s->out_c,  s->k_h,
                        s->k_w,    s->stride_h, s->stride_w, s->pad[0], s->pad[1], s->pad[2],
                        s->pad[3], s->dil_h,    s->dil_w,    s->groups};
  int n = snprintf(out, size, "%sm,a,conv", head);
  for (size_t i = 0; i < LEN(v); i++)
    n += snprintf(out + n, size - (size_t)n, ",%" PRIu64, v[i]);
  n += snprintf(out + n, size - (size_t)n, ",");
  for (size_t i = 0; i < LEN(g); i++)
    n += snprintf(out + n, size - (size_t)n, ",%" PRIu64, g[i]);
  snprintf(out + n, size - (size_t)n, "\n");
}

static uint64_t outputs(const struct tsr_run_plan *p) {
  uint64_t a, b, c = 0;
  assert_true(tsr_op_elems(p->layers[0].op, &a, &b, &c));
  return c;
}

struct pick {
  size_t flow, format, room, shape, cores, split;
};
static const uint64_t cores_of[] = {1, 2, 4, 7};
static const char *const splits[] = {"auto", "m", "n", "heads", "batch", "k"};

static void list_sets(const struct pick *c, char more[2][32], const char **sets, size_t *n) {
  static const char *const base[] = {"dma.burst=16B",          "sram.a.width=4B",
                                     "sram.b.width=4B",        "sram.c.width=8B",
                                     "sram.a.banks=2",         "sram.b.banks=2",
                                     "sram.c.banks=2",         "dram.latency=20ns",
                                     "sim.max_cycles=3000000", NULL};
  const char *const *lists[] = {base, flows[c->flow].set, formats[c->format].set,
                                rooms[c->room].set};
  *n = 0;
  for (size_t l = 0; l < LEN(lists); l++)
    for (size_t i = 0; lists[l][i]; i++) sets[(*n)++] = lists[l][i];
  snprintf(more[0], 32, "cores=%" PRIu64, cores_of[c->cores]);
  snprintf(more[1], 32, "split=%s", splits[c->split]);
  sets[(*n)++] = more[0];
  sets[(*n)++] = more[1];
  assert_true(*n <= SETS);
}

static void describe(const struct pick *c) {
  print_error("%s, %s, room %zu, shape %zu, %" PRIu64 " cores by %s: ", flows[c->flow].label,
              formats[c->format].label, c->room, c->shape, cores_of[c->cores],
              splits[c->split]);
}

struct tally {
  unsigned ran, too_large, tiled, several;
};

/* The tile comes from a preset without the keys of the other kind. */
static const char *const arch_of = "systolic-32";

static void one(const struct pick *c, struct tally *t) {
  char text[512], more[2][32];
  const char *sets[SETS];
  struct tsr_run_plan p;
  struct tsr_err err = TSR_ERR_INIT;
  struct valued v;
  size_t n;
  list_sets(c, more, sets, &n);
  shape_text(&shapes[c->shape], text, sizeof text);
  struct tsr_run_options o = {
      .arch = arch_of, .workload = "net.csv", .workload_text = text, .sets = sets, .n_sets = n};
  enum tsr_status st = tsr_run_plan_make(&o, &p, &err);
  if (st && err.n && strstr(err.msg[0], "does not fit: ")) {
    t->too_large++;
    tsr_err_fini(&err);
    return;
  }
  if (!st) st = valued_run(&p, 1 + c->shape, &v, &err);
  if (st) {
    describe(c);
    fail_msg("%s", err.n ? err.msg[0] : "no message");
  }
  assert_int_equal(v.compared, outputs(&p));
  t->ran++;
  t->tiled += p.layers[0].mapping.n_loops > 0;
  t->several += p.layers[0].n_cores > 1;
  tsr_run_plan_fini(&p);
}

/* All flows, formats and shapes meet; rooms, cores and splits go round among them.
 * `all`: they meet all, too. */
static void every_program_leaves_the_operators_product(void **state) {
  (void)state;
  bool all = getenv("TESSERA_VALUES_ALL") != NULL;
  struct tally t = {0};
  size_t turn = 0;
  for (size_t f = 0; f < LEN(flows); f++)
    for (size_t q = 0; q < LEN(formats); q++)
      for (size_t s = 0; s < LEN(shapes); s++) {
        struct pick c = {.flow = f, .format = q, .shape = s};
        size_t rounds = ROOM * LEN(cores_of) * LEN(splits);
        for (size_t i = 0; i < (all ? rounds : 2); i++) {
          size_t at = all ? i : turn++ * 7 % rounds; /* prime to each other */
          c.room = at % ROOM;
          c.cores = at / ROOM % LEN(cores_of);
          c.split = at / ROOM / LEN(cores_of);
          one(&c, &t);
        }
      }
  print_message("%u ran (%u in several tiles, %u on several cores), %u do not fit\n", t.ran,
                t.tiled, t.several, t.too_large);
  assert_true(t.ran > LEN(flows) * LEN(formats) * LEN(shapes));
  assert_true(t.tiled > t.ran / 3 && t.several > t.ran / 3);
}

/* An array that cuts k where the unit cannot go on has no values, but times. */
static void an_array_that_cuts_k_elsewhere_is_refused_with_values_alone(void **state) {
  (void)state;
  static const struct {
    const char *flow, *rows;
    bool refused;
  } rows[] = {
      {"ws", "tile.rows=16", false}, {"ws", "tile.rows=6", true},  {"is", "tile.rows=6", true},
      {"is", "tile.rows=32", false}, {"os", "tile.rows=6", false},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    char flow[32];
    snprintf(flow, sizeof flow, "tile.dataflow=%s", rows[i].flow);
    const char *const sets[] = {flow, rows[i].rows,
                                "tile.mma=nv_ampere_mma_m16n8k16_f32_f16_f32", NULL};
    struct tsr_run_plan p;
    struct tsr_err err = TSR_ERR_INIT;
    struct layer x;
    struct valued v;
    plan_make(&p, "systolic-32", "gemm:20x20x50", sets);
    enum tsr_status st = valued_run(&p, 1, &v, &err);
    if ((st == TSR_SIM) != rows[i].refused)
      fail_msg("%s, %s: %s", flow, rows[i].rows, err.n ? err.msg[0] : "not refused");
    if (st) {
      assert_non_null(strstr(err.msg[0], "cuts k every 6 products"));
      assert_non_null(strstr(err.msg[0], "or --numerics off"));
    }
    tsr_err_fini(&err);
    assert_int_equal(plan_run(&p, 0, &x, NULL), TSR_OK);
    assert_int_equal(x.r.macs, 20 * 20 * 50);
    tsr_run_plan_fini(&p);
  }
}

/* Presets with buffers for next to nothing, and pipes that hold several tiles of operands. */
static void narrow_machines_leave_the_product_too(void **state) {
  (void)state;
  static const struct {
    const char *arch, *workload, *set[6]; /* ends with NULL */
  } rows[] = {
      {"edge-npu",
       "gemm:100x32x3",
       {"tile.dataflow=os", "tile.rows=64", "tile.cols=31", "sram.b.size=64B"}},
      {"edge-npu",
       "gemm:65x127x2",
       {"tile.dataflow=os", "tile.rows=64", "tile.cols=31", "sram.b.size=64B"}},
      {"edge-npu",
       "gemm:100x32x3",
       {"tile.dataflow=os", "tile.rows=64", "tile.cols=31", "sram.b.size=16B"}},
      {"edge-npu",
       "gemm:65x127x2",
       {"tile.dataflow=os", "tile.rows=64", "tile.cols=31", "sram.b.size=16B"}},
      /* four units take a whole tile before its first result; the store is behind */
      {"dot-4x4", "gemm:33x1024x16", {NULL}},
      {"dot-4x4", "gemm:33x2047x16", {"noc.kind=none"}},
      {"dot-4x4", "gemm:33x512x64", {"sram.a.size=2KiB", "sram.c.size=8KiB"}},
      /* the tile waits for where scaled sums are still being written */
      {"systolic-32",
       "gemm:16x8x200",
       {"tile.group=4", "vector.latency=100", "dram.bandwidth=unlimited", "dram.latency=0ns"}},
      {"systolic-32",
       "gemm:16x8x200",
       {"tile.promote=4", "vector.latency=100", "dram.bandwidth=unlimited",
        "dram.latency=0ns"}},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_run_plan p;
    struct tsr_err err = TSR_ERR_INIT;
    struct valued v;
    plan_make(&p, rows[i].arch, rows[i].workload, rows[i].set);
    if (valued_run(&p, 1, &v, &err))
      fail_msg("%zu, %s: %s", i, rows[i].workload, err.n ? err.msg[0] : "no message");
    assert_int_equal(v.compared, outputs(&p));
    tsr_run_plan_fini(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_program_leaves_the_operators_product),
      cmocka_unit_test(narrow_machines_leave_the_product_too),
      cmocka_unit_test(an_array_that_cuts_k_elsewhere_is_refused_with_values_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
