/* Operators that are no product, run by value: what their programs leave in memory equals
 * what the operator makes of the same operands, on any machine; a program that lacks a step
 * does not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/run/ops.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static void must(const struct op_run *x, struct op_result *out) {
  struct tsr_err err = TSR_ERR_INIT;
  if (op_run(x, out, &err))
    fail_msg("%s %s %s: %s", x->workload, x->sets[0] ? x->sets[0] : "",
             x->sets[1] ? x->sets[1] : "", err.n ? err.msg[0] : "failed without a message");
  tsr_err_fini(&err);
}

/* ---- every operator ---- */

/* Shapes of a class; %s is the operator. */
static const struct {
  enum tsr_op_class cls;
  const char *keys[5];
} shapes[] = {
    {TSR_CLASS_ROWWISE, {"m=1,n=1", "m=7,n=13,count=3", "m=3,n=1500", "m=37,n=64"}},
    {TSR_CLASS_ELEMENTWISE, {"m=1,n=2", "m=7,n=14,count=3", "m=2,n=3000", "m=101,n=30"}},
    {TSR_CLASS_WINDOW, {"c=1,hw=3", "c=17,hw=9,batch=2", "c=5,h=7,w=11", "c=70,hw=5"}},
    {TSR_CLASS_LAYOUT, {"m=1,n=1", "m=7,n=13,count=3", "m=3,n=1500", "m=101,n=31"}},
};
/* Machines: as it comes; small scratchpads and an odd number of cores; one buffer each; three
 * and few lanes; others than one would choose. */
static const char *const machines[][8] = {
    {NULL},
    {"sram.a.size=1KiB", "sram.b.size=1KiB", "sram.c.size=3KiB", "cores=3"},
    {"sram.a.buffers=1", "sram.b.buffers=1", "sram.c.buffers=1", "sram.a.size=2KiB",
     "sram.b.size=2KiB", "sram.c.size=4KiB"},
    {"sram.a.buffers=3", "sram.c.buffers=3", "vector.lanes=5", "cores=7", "sram.a.size=6KiB"},
    {"tile.formats.a=bf16", "tile.formats.b=bf16", "tile.formats.out=fp32", "cores=2"},
};

static const char *extra_keys(enum tsr_op_kind kind, size_t shape) {
  static const char *const with[] = {",with=full", ",with=row", ",with=col", ",with=scalar"};
  static const char *const bounds[] = {",alpha=-0.5,beta=1", ",alpha=-0.5", ",beta=0.25", ""};
  const struct tsr_op_info *info = tsr_op_kind_info(kind);
  if (kind == TSR_OP_TOPK) return shape == 0 ? ",k=1" : ",k=5";
  if (kind == TSR_OP_MAXPOOL) return ",window=3,stride=2,pad=1";
  if (kind == TSR_OP_AVGPOOL) return ",window=3,stride=1,pad=1";
  if (kind == TSR_OP_CLIP) return bounds[shape % LEN(bounds)];
  if (info->beta) return ",alpha=1.25,beta=-0.75";
  if (info->alpha) return ",alpha=0.3";
  return info->b == TSR_SHAPE_WITH ? with[shape % LEN(with)] : "";
}

/* Selections and moves are exact; one operation errs by its rounding; others by a few. */
static double worst_ulp(enum tsr_op_kind kind, const char *const *sets) {
  (void)sets;
  switch (kind) {
  case TSR_OP_RELU:
  case TSR_OP_NEG:
  case TSR_OP_ABS:
  case TSR_OP_MAX:
  case TSR_OP_MIN:
  case TSR_OP_CLIP:
  case TSR_OP_FLOOR:
  case TSR_OP_CEIL:
  case TSR_OP_ROUND:
  case TSR_OP_SIGN:
  case TSR_OP_NOT:
  case TSR_OP_LESS:
  case TSR_OP_LESS_EQUAL:
  case TSR_OP_GREATER:
  case TSR_OP_GREATER_EQUAL:
  case TSR_OP_EQUAL:
  case TSR_OP_KEEP:
  case TSR_OP_ROWMAX:
  case TSR_OP_ROWMIN:
  case TSR_OP_ROWABSMAX:
  case TSR_OP_TOPK:
  case TSR_OP_MAXPOOL:
  case TSR_OP_GLOBAL_MAXPOOL:
  case TSR_OP_COPY:
  case TSR_OP_CONCAT:
  case TSR_OP_TRANSPOSE: return 0;
  default: return -1;
  }
}

static void check_figures(const struct op_run *x, enum tsr_op_kind kind,
                          const struct op_result *r) {
  double bound = worst_ulp(kind, x->sets);
  if (r->numeric.checked_elems == 0) fail_msg("%s: nothing was checked", x->workload);
  if (bound >= 0 && r->numeric.max_ulp > bound)
    fail_msg("%s errs by %.17g ulp", x->workload, r->numeric.max_ulp);
  /* fp16 results: 2^-11 of each at most, and what the fp32 sums lose; zeros have no norm,
   * and products of many are next to it */
  bool zeros = isnan(r->numeric.norm_err) && r->numeric.max_ulp == 0;
  bool tiny = kind == TSR_OP_ROWPROD && r->numeric.max_ulp <= 0.51;
  if (bound < 0 && !zeros && !tiny && !(r->numeric.norm_err <= 0.00049))
    fail_msg("%s: norm_err %.17g", x->workload, r->numeric.norm_err);
}

static void run_shape(enum tsr_op_kind kind, const char *keys, size_t shape, bool clamped) {
  char text[128];
  (void)snprintf(text, sizeof text, "op:%s:%s%s", tsr_op_kind_name(kind), keys,
                 extra_keys(kind, shape));
  for (size_t m = 0; m < LEN(machines); m++) {
    struct op_run x = {.workload = text, .values = true};
    struct op_result with, off;
    if (clamped && m != 0) continue;
    memcpy(x.sets, machines[m], sizeof machines[m]);
    must(&x, &with);
    check_figures(&x, kind, &with);
    x.values = false;
    must(&x, &off);
    if (off.cycles != with.cycles || off.read_bytes != with.read_bytes)
      fail_msg("%s: %llu cycles with values, %llu without", text,
               (unsigned long long)with.cycles, (unsigned long long)off.cycles);
  }
}

static void every_operator_computes_itself(void **state) {
  (void)state;
  size_t operators = 0;
  for (int kind = 0; kind < TSR_OP_KIND_COUNT_; kind++)
    for (size_t s = 0; s < LEN(shapes); s++) {
      if (tsr_op_kind_info((enum tsr_op_kind)kind)->cls != shapes[s].cls) continue;
      operators++;
      for (size_t i = 0; shapes[s].keys[i]; i++) {
        bool topk_one = kind == TSR_OP_TOPK && i == 2; /* whole rows must fit */
        run_shape((enum tsr_op_kind)kind, shapes[s].keys[i], i, topk_one);
      }
    }
  assert_true(operators >= 69);
}

static void zero_points_move_what_is_quantised(void **state) {
  (void)state;
  static const struct op_run rows[] = {
      {.workload = "op:quantise:m=7,n=13,zero=5"},
      {.workload = "op:quantise:m=7,n=13,with=row,count=2,zero=-3"},
      {.workload = "op:dequantise:m=7,n=13,with=col,zero=100"},
      {.workload = "op:dequantise:m=40,n=130,with=scalar,zero=-7", .sets = {"cores=3"}},
      {.workload = "op:quantise:m=7,n=13,zero=128", .sets = {"tile.formats.out=uint8"}},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct op_run x = rows[i];
    struct op_result r;
    x.values = true;
    must(&x, &r);
    /* a bound for the whole number: half of the last place */
    bool whole = x.sets[0] && strstr(x.sets[0], "uint8");
    if (whole ? !(r.numeric.max_ulp <= 0.51) : !(r.numeric.norm_err <= 0.00049))
      fail_msg("%s: norm_err %g, %g ulp", x.workload, r.numeric.norm_err, r.numeric.max_ulp);
  }
}

/* ---- rows by index, attention ---- */

static void rows_by_index_and_attention_compute_themselves(void **state) {
  (void)state;
  static const char *const workloads[] = {
      "op:embedding:m=1,n=1,table=1",
      "op:embedding:m=53,n=40,table=3",
      "op:embedding:m=29,n=130,k=4,table=50",
      "op:embedding:m=10,n=16,k=2,table=50,count=3",
      "op:gather:m=97,n=1,table=50",
      "op:gather:m=12,n=33,table=7,count=2",
      "op:gather_cols:m=97,n=1,table=50",
      "op:gather_cols:m=12,n=33,table=7,count=2",
      "op:gather_cols:m=9,n=700,table=900",
      "op:moe_gather:m=62,n=24,k=2,experts=8",
      "op:moe_scatter:m=31,n=24,k=2,experts=8",
      "op:moe_scatter:m=3,n=300,k=4,experts=8",
      "op:attention:s=1,d=8,heads=1",
      "op:attention:s=33,d=8,heads=3",
      "op:attention:s_q=5,s_kv=40,d=16,heads=6,kv_heads=2",
      "op:attention:s_q=1,s_kv=50,d=8,heads=4,kv_heads=1,count=8",
  };
  for (size_t i = 0; i < LEN(workloads); i++)
    for (size_t m = 0; m < LEN(machines); m++) {
      bool attention = strstr(workloads[i], "attention") != NULL;
      struct op_run x = {.workload = workloads[i], .values = true};
      for (int way = 0; way <= attention; way++) {
        struct op_result with, off;
        size_t n = 0;
        memcpy(x.sets, machines[m], sizeof machines[m]);
        while (x.sets[n]) n++;
        x.sets[n] = way ? "attention=plain" : "attention=tiled";
        x.values = true;
        must(&x, &with);
        assert_true(with.numeric.checked_elems > 0);
        if (!(with.numeric.norm_err <= (attention ? 0.01 : 0.0004)))
          fail_msg("%s: norm_err %.17g", workloads[i], with.numeric.norm_err);
        x.values = false;
        must(&x, &off);
        if (off.cycles != with.cycles || off.read_bytes != with.read_bytes)
          fail_msg("%s: %llu cycles with values, %llu without", workloads[i],
                   (unsigned long long)with.cycles, (unsigned long long)off.cycles);
      }
    }
}

static void a_mask_hides_later_keys(void **state) {
  (void)state;
  static const char *const workloads[] = {
      "op:attention:s=1,d=8,heads=1,causal=1", "op:attention:s=40,d=8,heads=2,causal=1",
      "op:attention:s_q=7,s_kv=50,d=8,heads=4,kv_heads=2,causal=1"};
  for (size_t i = 0; i < LEN(workloads); i++)
    for (size_t m = 0; m < LEN(machines); m++) {
      struct op_run x = {.workload = workloads[i], .values = true};
      struct op_result r;
      for (int way = 0; way < 2; way++) {
        size_t n = 0;
        memcpy(x.sets, machines[m], sizeof machines[m]);
        while (x.sets[n]) n++;
        x.sets[n] = way ? "attention=plain" : "attention=tiled";
        must(&x, &r);
        if (!(r.numeric.norm_err <= 0.01))
          fail_msg("%s: norm_err %.17g", workloads[i], r.numeric.norm_err);
      }
    }
}

/* ---- traffic and time ---- */

static void each_way_moves_what_it_must(void **state) {
  (void)state;
  static const uint64_t S = 2048, D = 128;
  const struct {
    struct op_run x;
    const char *way;
    uint64_t read_bytes, write_bytes;
  } rows[] = {
      /* operands and the result once, in fp16 */
      {{.workload = "op:relu:m=64,n=96"}, "relu.each", 2 * 64 * 96, 2 * 64 * 96},
      {{.workload = "op:add:m=64,n=96"}, "add.each", 2 * 2 * 64 * 96, 2 * 64 * 96},
      {{.workload = "op:layernorm:m=64,n=96"},
       "layernorm.rows",
       2 * (64 * 96 + 2 * 96),
       2 * 64 * 96},
      /* rows that fit no scratchpad come once for each of three passes */
      {{.workload = "op:softmax:m=8,n=4096", .sets = {"sram.a.size=4KiB", "sram.c.size=8KiB"}},
       "softmax.cut",
       3 * 2 * 8 * 4096,
       2 * 8 * 4096},
      /* rows of 128 bytes by index, and the indices */
      {{.workload = "op:embedding:m=64,n=64,table=1000"},
       "embedding.gather",
       64 * 128 + 64 * 4,
       64 * 128},
      {{.workload = "op:transpose:m=64,n=96"}, "transpose.tiles", 2 * 64 * 96, 2 * 64 * 96},
      /* queries, keys, values, results; scores and their softmax four times more */
      {{.workload = "op:attention:s=2048,d=128,heads=1", .arch = "systolic-128"},
       "attention.tiled",
       3 * 2 * S * D,
       2 * S * D},
      {{.workload = "op:attention:s=2048,d=128,heads=1",
        .arch = "systolic-128",
        .sets = {"attention=plain"}},
       "attention.plain",
       3 * 2 * S * D + 2 * 2 * S * S,
       2 * S * D + 2 * 2 * S * S},
      /* two heads that share keys and values load them once */
      {{.workload = "op:attention:s=128,d=64,heads=2,kv_heads=1", .arch = "systolic-128"},
       "attention.tiled",
       2 * (2 + 2) * 128 * 64,
       2 * 2 * 128 * 64},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct op_result r;
    must(&rows[i].x, &r);
    assert_string_equal(r.way, rows[i].way);
    if (r.read_bytes != rows[i].read_bytes || r.write_bytes != rows[i].write_bytes)
      fail_msg("%s reads %llu and writes %llu bytes", rows[i].x.workload,
               (unsigned long long)r.read_bytes, (unsigned long long)r.write_bytes);
  }
}

static void the_vector_unit_takes_its_time(void **state) {
  (void)state;
  /* One tile of 16 rows of 256 on 128 lanes: passes times cycles of an operation. */
  static const struct {
    const char *workload;
    uint64_t cycles;
  } rows[] = {
      {"op:relu:m=16,n=256", 32},
      {"op:exp:m=16,n=256", 4 * 32},
      {"op:add:m=16,n=256", 32},
      {"op:rowsum:m=16,n=256", 32 + 1}, /* and 16 results copied at once */
      /* maximum, e^(a - maximum), sum, quotient */
      {"op:softmax:m=16,n=256", 32 + 4 * 32 + 32 + 4 * 32},
      /* mean, difference, squares, 3 on 16 sums (a root of 4), 3 more */
      {"op:layernorm:m=16,n=256", 32 + 32 + 32 + (1 + 1 + 4) + 3 * 32},
      {"op:embedding:m=16,n=256,table=9", 32},
      {"op:global_maxpool:c=128,hw=8", 64},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct op_run x = {.workload = rows[i].workload, .arch = "systolic-128"};
    struct op_result r;
    must(&x, &r);
    if (r.vector_cycles != rows[i].cycles)
      fail_msg("%s: %llu cycles of the vector unit, not %llu", rows[i].workload,
               (unsigned long long)r.vector_cycles, (unsigned long long)rows[i].cycles);
    assert_true(r.macs == 0);
    assert_true(r.cycles > r.vector_cycles);
  }
}

static void programs_grow_with_no_size(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"op:softmax:m=64,n=32", "op:softmax:m=6400,n=320"},
      {"op:maxpool:c=8,hw=16,window=2,stride=2", "op:maxpool:c=80,hw=160,window=2,stride=2"},
      {"op:attention:s=64,d=16,heads=2", "op:attention:s=256,d=16,heads=20"},
      {"op:topk:m=64,n=32,k=2", "op:topk:m=640,n=32,k=20"}};
  for (size_t i = 0; i < LEN(pairs); i++) {
    struct op_result r[2];
    for (int j = 0; j < 2; j++) must(&(struct op_run){.workload = pairs[i][j]}, &r[j]);
    /* but for what a tile of another size needs */
    assert_true(r[1].program <= r[0].program + 8);
    assert_true(r[0].cycles < r[1].cycles);
  }
}

static void cores_share_the_work(void **state) {
  (void)state;
  static const struct {
    const char *workload, *cores;
    uint32_t used;
  } rows[] = {{"op:relu:m=100,n=64", "cores=4", 4},
              {"op:relu:m=3,n=64", "cores=4", 3},
              {"op:rope:m=1,n=64,count=5", "cores=8", 5},
              {"op:global_avgpool:c=64,hw=7", "cores=4", 4},
              {"op:attention:s=64,d=16,heads=4", "cores=4", 4},
              {"op:attention:s=64,d=16,heads=1", "cores=4", 4},
              {"op:embedding:m=9,n=64,table=9", "cores=4", 3}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct op_run x = {.workload = rows[i].workload, .sets = {rows[i].cores}, .values = true};
    struct op_result r;
    must(&x, &r);
    if (r.cores != rows[i].used) fail_msg("%s: %u cores", rows[i].workload, r.cores);
  }
}

/* ---- spoilt programs ---- */

static void a_program_without_a_step_is_found_out(void **state) {
  (void)state;
  /* `survive`: requests that make no difference to the result.  Attention starts its
   * maximum from a value that the first tile of keys overwrites; topk bounds differences that
   * only fp32 operands have. */
  static const struct {
    const char *workload;
    uint64_t survive;
    bool large; /* scratchpads as they come */
  } rows[] = {{"op:softmax:m=9,n=40", 0, false},
              {"op:layernorm:m=9,n=40", 0, false},
              {"op:batchnorm:m=9,n=40", 0, false},
              {"op:rowmean:m=9,n=40", 0, false},
              {"op:topk:m=9,n=40,k=3", 4, false},
              {"op:rope:m=9,n=40", 0, false},
              {"op:maxpool:c=4,hw=9,window=3,stride=2", 0, false},
              {"op:transpose:m=9,n=40", 0, false},
              {"op:moe_scatter:m=9,n=16,k=2,experts=4", 0, false},
              {"op:attention:s_q=20,s_kv=300,d=16,heads=2", 1, false},
              /* the scores of the next keys are made ahead */
              {"op:attention:s_q=9,s_kv=600,d=8,heads=2", 1, true}};
  static const char *const small[] = {"sram.a.size=2KiB", "sram.b.size=4KiB",
                                      "sram.c.size=4KiB"};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct op_run x = {.workload = rows[i].workload, .values = true};
    struct op_result r;
    uint64_t alive = 0;
    for (size_t s = 0; !rows[i].large && s < LEN(small); s++) x.sets[s] = small[s];
    must(&x, &r);
    for (uint64_t n = r.requests; n > 0; n--) {
      struct tsr_err err = TSR_ERR_INIT;
      struct op_result spoilt;
      x.without = n;
      alive += op_run(&x, &spoilt, &err) == TSR_OK;
      tsr_err_fini(&err);
    }
    if (alive != rows[i].survive)
      fail_msg("%s: %llu of %llu spoilt programs pass", rows[i].workload,
               (unsigned long long)alive, (unsigned long long)r.requests);
  }
}

static void what_cannot_be_done_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *workload, *set, *message;
  } rows[] = {
      {"op:softmax:m=1,n=100", "sram.c.size=64B", "expected at most 64, a buffer of sram.c"},
      {"op:global_maxpool:c=1,hw=100", "sram.a.size=1KiB", "the window of one element takes"},
      {"op:topk:m=1,n=5000,k=2", "sram.c.size=8KiB", "a whole row with its copies takes"},
      {"op:attention:s=8,d=8,heads=1", "tile.formats.a=int8", "scores of integers"},
      {"op:attention:s=8,d=8192,heads=1", "sram.c.size=16KiB", "a query, a key and a value"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_err err = TSR_ERR_INIT;
    struct op_result r;
    struct op_run x = {.workload = rows[i].workload, .sets = {rows[i].set}};
    if (strstr(rows[i].set, "int8")) {
      x.sets[1] = "tile.formats.b=int8";
      x.sets[2] = "tile.formats.acc=int32";
      x.sets[3] = "tile.formats.out=int8";
    }
    assert_int_equal(op_run(&x, &r, &err), TSR_INPUT);
    if (!strstr(err.msg[0], rows[i].message)) fail_msg("%s: %s", rows[i].workload, err.msg[0]);
    tsr_err_fini(&err);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_operator_computes_itself),
      cmocka_unit_test(zero_points_move_what_is_quantised),
      cmocka_unit_test(rows_by_index_and_attention_compute_themselves),
      cmocka_unit_test(a_mask_hides_later_keys),
      cmocka_unit_test(each_way_moves_what_it_must),
      cmocka_unit_test(the_vector_unit_takes_its_time),
      cmocka_unit_test(programs_grow_with_no_size),
      cmocka_unit_test(cores_share_the_work),
      cmocka_unit_test(a_program_without_a_step_is_found_out),
      cmocka_unit_test(what_cannot_be_done_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
