/* Cutting and lowering of operators that are no product: parts cover the whole, programs are
 * sound, tensors are those of the graph, for any shape and any scratchpads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/lower/op.h"
#include "sim/base/rng.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static struct tsr_graph *graph_of(const char *text) {
  struct tsr_graph *g;
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_workload_read(text, NULL, &g, &err)) fail_msg("%s: %s", text, err.msg[0]);
  tsr_err_fini(&err);
  return g;
}

static uint64_t pick(struct tsr_rng *r, const uint64_t *list, size_t n) {
  return list[tsr_rng_next(r) % n];
}

/* A workload of one operator, by chance. */
static void draw(struct tsr_rng *r, enum tsr_op_kind kind, char *to, size_t n) {
  static const uint64_t sizes[] = {1, 2, 3, 7, 16, 61, 128, 1000, 4099};
  const struct tsr_op_info *info = tsr_op_kind_info(kind);
  const char *name = info->name;
  unsigned long long m = pick(r, sizes, LEN(sizes)), c = pick(r, sizes, LEN(sizes)),
                     k = 1 + tsr_rng_next(r) % 4, count = 1 + tsr_rng_next(r) % 3;
  switch (info->cls) {
  case TSR_CLASS_WINDOW:
    (void)snprintf(to, n, "op:%s:c=%llu,hw=%llu%s", name, c, 6 + m % 50,
                   strncmp(name, "global", 6) ? ",window=3,stride=2,pad=1" : "");
    break;
  case TSR_CLASS_GATHER:
    (void)snprintf(to, n, "op:%s:m=%llu,n=%llu%s", name, m * 4, c,
                   info->experts ? ",k=4,experts=8" : ",table=77");
    break;
  case TSR_CLASS_ATTENTION:
    (void)snprintf(to, n, "op:%s:s_q=%llu,s_kv=%llu,d=%llu,heads=%llu,kv_heads=%llu", name, m,
                   m + c, 8 * k, 2 * count, count);
    break;
  default:
    (void)snprintf(to, n, "op:%s:m=%llu,n=%llu,count=%llu%s", name, m,
                   kind == TSR_OP_ROPE ? 2 * c : c, count, kind == TSR_OP_TOPK ? ",k=1" : "");
  }
}

static struct tsr_lower_at draw_at(struct tsr_rng *r) {
  static const uint64_t bytes[] = {64, 512, 4096, 65536, 1 << 22};
  struct tsr_lower_at at = {.formats = {"fp16", "fp16", "fp32", "fp16", "int32", "fp32"},
                            .bytes = {2, 2, 4, 2, 4, 4},
                            .rate = 1,
                            .attention = (enum tsr_attention)(tsr_rng_next(r) % 2)};
  for (int b = 0; b < 3; b++) {
    at.slots[b] = 1 + tsr_rng_next(r) % 4;
    at.slot_bytes[b] = pick(r, bytes, LEN(bytes));
  }
  for (int t = 0; t < TSR_LOWER_TENSORS; t++) at.base_bytes[t] = (uint64_t)t << 40;
  return at;
}

static void check_tensors(const struct tsr_op *op, const struct tsr_lower_at *at) {
  struct tsr_lower_tensor t[TSR_LOWER_TENSORS];
  uint64_t a, b, c;
  assert_int_equal(tsr_lower_op_tensors(op, at, t, NULL), TSR_OK);
  assert_true(tsr_op_elems(op, &a, &b, &c));
  assert_true(t[TSR_LOWER_A].elems == a && t[TSR_LOWER_B].elems == b);
  assert_true(t[TSR_LOWER_OUT].elems == c);
  assert_int_equal(t[TSR_LOWER_OUT].content, TSR_CONTENT_RESULT);
}

/* Chunks of the divided axis: all of it, each core some. */
static void check_cut(const char *text, const struct tsr_lower_cut *cut, uint64_t cores) {
  uint64_t size = cut->size[cut->axis];
  if (cut->cores < 1 || cut->cores > cores || cut->chunk * cut->cores < size ||
      cut->chunk * (cut->cores - 1) >= size)
    fail_msg("%s: %u cores with %llu of %llu each", text, cut->cores,
             (unsigned long long)cut->chunk, (unsigned long long)size);
}

static void whatever_fits_is_lowered(void **state) {
  (void)state;
  struct tsr_rng r = {1};
  unsigned lowered = 0, refused = 0;
  for (int round = 0; round < 40; round++)
    for (int kind = 0; kind < TSR_OP_KIND_COUNT_; kind++) {
      enum tsr_op_class cls = tsr_op_kind_info((enum tsr_op_kind)kind)->cls;
      if (cls == TSR_CLASS_MATMUL || cls == TSR_CLASS_CONV) continue;
      char text[160];
      draw(&r, (enum tsr_op_kind)kind, text, sizeof text);
      struct tsr_graph *g = graph_of(text);
      struct tsr_lower_at at = draw_at(&r);
      struct tsr_lower_cut cut;
      struct tsr_err err = TSR_ERR_INIT;
      uint64_t cores = 1 + tsr_rng_next(&r) % 9;
      check_tensors(&g->ops[0], &at);
      enum tsr_status st = tsr_lower_op_cut(&g->ops[0], &at, cores, &cut, &err);
      if (st) {
        assert_int_equal(st, TSR_INPUT);
        assert_non_null(strstr(err.msg[0], "a buffer of sram."));
        refused++;
      } else {
        check_cut(text, &cut, cores);
        lowered++;
      }
      for (uint64_t core = 0; !st && core < cut.cores; core += tsr_max_u64(cut.cores - 1, 1)) {
        struct tsr_program p = {0};
        assert_int_equal(tsr_lower_op(&g->ops[0], &at, &cut, core, &p, &err), TSR_OK);
        if (tsr_isa_check(&p, &err)) fail_msg("%s: %s", text, err.msg[0]);
        tsr_isa_program_fini(&p);
      }
      tsr_err_fini(&err);
      tsr_graph_destroy(g);
    }
  assert_true(lowered > 1000 && refused > 50); /* both were seen */
}

static void lists_are_of_known_operations(void **state) {
  (void)state;
  for (int kind = 0; kind < TSR_OP_KIND_COUNT_; kind++) {
    const struct tsr_op_info *info = tsr_op_kind_info((enum tsr_op_kind)kind);
    bool list = info->cls == TSR_CLASS_ROWWISE || info->cls == TSR_CLASS_ELEMENTWISE;
    if (!list || kind == TSR_OP_TOPK) continue;
    struct tsr_op op = {.kind = (enum tsr_op_kind)kind, .m = 2, .n = 2, .k = 1, .count = 1};
    struct tsr_vector_step s[TSR_STEPS_MAX];
    size_t n = tsr_lower_op_steps(&op, s);
    assert_in_range(n, 1, TSR_STEPS_MAX);
    assert_int_equal(s[n - 1].d, TSR_STEP_D); /* the last step makes the result */
    for (size_t i = 0; i < n; i++) {
      const struct tsr_vec_info *v = tsr_vec_info(s[i].op);
      assert_non_null(v);
      assert_int_equal(v->sources > 1, s[i].b != TSR_STEP_NONE);
      assert_true(i == 0 || s[i].pass >= s[i - 1].pass);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(whatever_fits_is_lowered),
                                     cmocka_unit_test(lists_are_of_known_operations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
