/* Values handed from operator to operator: outputs against a plain evaluation in doubles. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/mem.h"
#include "tests/unit/run/handed.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

/* ---- whole numbers ---- */

static const struct {
  const char *label, *text;
} nets[] = {
    {"two products",
     "in x f32 4 6; whole w 6 5; MatMul x,w h; Relu h r; whole v 5 3; MatMul r,v y; out y"},
    {"a residual", "in x f32 4 6; whole w 6 6; MatMul x,w h; Add h,x s; Relu s y; out y"},
    {"two readers of one result",
     "in x f32 5 4; whole w 4 4; MatMul x,w h; whole v 4 3; MatMul h,v y; Neg h n; "
     "MatMul n,v z; out y z"},
    {"a transposed input, a slice, a concatenation",
     "in x f32 4 6; Transpose x t perm=1,0; whole w 4 5; MatMul t,w h; ints s 1; ints e 4; "
     "ints a 1; Slice h,s,e,a p; Concat p,h y axis=1; out y"},
    {"a product of a view of a result",
     "in x f32 4 6; whole w 6 6; MatMul x,w h; Transpose h t perm=1,0; whole v 4 3; "
     "MatMul t,v y; out y"},
    {"a convolution, a pool, a classifier",
     "in x f32 1 2 6 6; whole w 3 2 3 3; Conv x,w h pads=1,1,1,1; Relu h r; "
     "MaxPool r p kernel_shape=2,2 strides=2,2; ints d 1 27; Reshape p,d f; whole v 27 4; "
     "MatMul f,v y; out y"},
    {"a depthwise convolution with a bias behind",
     "in x f32 2 4 5 5; whole w 4 1 3 3; whole b 4; Conv x,w,b y group=4; out y"},
    {"matrices times matrices of inputs",
     "in q f32 2 3 4; in k f32 2 4 5; MatMul q,k h; Relu h y; out y h"},
    {"a constant times an input", "in x f32 6 4; whole w 5 6; MatMul w,x y; out y"},
    {"an input that is read twice", "in x f32 3 8; Mul x,x s; Sub s,x y; out y"},
    {"rows of a table", "in i i64 2 3; whole t 4 5; Gather t,i y; out y"},
    {"a name for a result", "in x f32 3 4; whole w 4 4; MatMul x,w h; Identity h y; out y"},
};
static const char *const machines[] = {"systolic-32", "dot-4x4", "mesh-16"};

static void exact(const struct handed *x, const char *label, const char *arch) {
  for (size_t o = 0; o < x->n_out; o++) {
    const struct tsr_array *got = x->out[o], *ref = x->ref[o];
    assert_int_equal(got->n, ref->n);
    assert_int_equal(got->rank, ref->rank);
    for (uint64_t i = 0; i < got->n; i++)
      if (tsr_array_get(got, i) != tsr_array_get(ref, i))
        fail_msg("%s on %s: output %zu, element %llu: %g, not %g", label, arch, o,
                 (unsigned long long)i, tsr_array_get(got, i), tsr_array_get(ref, i));
  }
}

static void whole_numbers_are_exact_on_every_machine(void **state) {
  (void)state;
  for (size_t m = 0; m < LEN(machines); m++)
    for (size_t i = 0; i < LEN(nets); i++) {
      struct tsr_err err = TSR_ERR_INIT;
      struct handed x;
      const struct handed_how how = {machines[m], NULL, 0, true};
      if (handed_run(nets[i].text, &how, &x, &err))
        fail_msg("%s on %s: %s", nets[i].label, machines[m], err.n ? err.msg[0] : "no run");
      assert_true(x.n_out > 0);
      exact(&x, nets[i].label, machines[m]);
      handed_fini(&x);
    }
}

/* ---- formats ---- */

#define FORMATS(a, acc, out)                                           \
  {                                                                    \
    "tile.formats.a=" a, "tile.formats.b=" a, "tile.formats.acc=" acc, \
        "tile.formats.out=" out, "tile.rates." a "=1"                  \
  }
/* An operand x lies within rel * |x| + step * s of what is multiplied: s is the largest
 * magnitude of the tensor (or column) over `most`, 1 where that is 0: not scaled. */
struct format {
  const char *label;
  double rel, step, most, acc, out; /* acc, out: units of rounding */
  const char *sets[6];
  size_t n_sets;
};
static const struct format formats[] = {
    {"fp32", 0x1p-24, 0, 0, 0x1p-24, 0x1p-24, FORMATS("fp32", "fp32", "fp32"), 5},
    {"fp16", 0x1p-11, 0x1p-25, 0, 0x1p-24, 0x1p-11, FORMATS("fp16", "fp32", "fp16"), 5},
    {"bf16", 0x1p-8, 0, 0, 0x1p-24, 0x1p-8, FORMATS("bf16", "fp32", "bf16"), 5},
    {"fp8_e4m3", 0x1p-4 + 0x1p-10, 0x1p-10, 448, 0x1p-24, 0x1p-11,
     FORMATS("fp8_e4m3", "fp32", "fp16"), 5},
    {"int8", 0x1p-10, 0.5 + 0x1p-12, 127, 0, 0x1p-11, FORMATS("int8", "int32", "fp16"), 5},
};

enum { M = 7, K = 45, N = 21 };
static double largest(const double *x, uint64_t n, uint64_t step) {
  double top = 0;
  for (uint64_t i = 0; i < n; i++) top = fmax(top, fabs(x[i * step]));
  return top;
}

/* How far element (i, j) may lie from the exact product. */
static double bound(const struct format *f, const double *a, const double *b, uint64_t i,
                    uint64_t j, bool columns) {
  double sa = f->most > 0 ? largest(a, M * K, 1) / f->most : 1, sum = 0, mass = 0, y = 0;
  double top_b = columns ? largest(b + j, K, N) : largest(b, K * N, 1);
  double sb = f->most > 0 ? top_b / f->most : 1;
  for (uint64_t k = 0; k < K; k++) {
    double x = fabs(a[i * K + k]), w = fabs(b[k * N + j]);
    double dx = f->rel * x + f->step * sa, dw = f->rel * w + f->step * sb;
    sum += x * dw + dx * w + dx * dw;
    mass += (x + dx) * (w + dw);
    y += a[i * K + k] * b[k * N + j];
  }
  sum += K * f->acc * mass + 0x1p-22 * mass; /* of the accumulator, of scales in fp32 */
  return sum + f->out * (fabs(y) + sum) + 0x1p-25;
}

static void check_product(const char *text, const struct format *f, const char *arch, int way) {
  struct tsr_err err = TSR_ERR_INIT;
  struct handed x;
  const struct handed_how how = {arch, f->sets, f->n_sets, false};
  if (handed_run(text, &how, &x, &err))
    fail_msg("%s on %s: %s", f->label, arch, err.n ? err.msg[0] : "no run");
  struct tsr_net *net = nets_make(text, NULL, 0);
  size_t w = tsr_net_find(net, "w");
  const double *other = w == SIZE_MAX ? x.in[1]->f : net->values[w].constant->f;
  const double *a = way == 2 ? other : x.in[0]->f, *b = way == 2 ? x.in[0]->f : other;
  double worst = 0;
  for (uint64_t i = 0; i < M; i++)
    for (uint64_t j = 0; j < N; j++) {
      double apart = fabs(x.out[0]->f[i * N + j] - x.ref[0]->f[i * N + j]);
      double most = bound(f, a, b, i, j, way == 0);
      worst = fmax(worst, apart / most);
      if (!(apart <= most))
        fail_msg("%s on %s, way %d: (%llu, %llu) is %g apart, at most %g", f->label, arch, way,
                 (unsigned long long)i, (unsigned long long)j, apart, most);
    }
  if (!(worst > 1e-4)) fail_msg("%s: a bound that says nothing: %g of it", f->label, worst);
  tsr_net_destroy(net);
  handed_fini(&x);
}

/* A weight on the right, two activations, a constant on the left. */
static void formats_err_within_their_bounds(void **state) {
  (void)state;
  static const char *const ways[] = {"in x f32 7 45; normal w 45 21; MatMul x,w y; out y",
                                     "in x f32 7 45; in v f32 45 21; MatMul x,v y; out y",
                                     "in x f32 45 21; normal w 7 45; MatMul w,x y; out y"};
  for (size_t f = 0; f < LEN(formats); f++)
    for (int way = 0; way < 3; way++) check_product(ways[way], &formats[f], "systolic-32", way);
  for (int way = 0; way < 3; way++) {
    struct format npu = formats[4]; /* as the machine is */
    npu.n_sets = 0;
    npu.rel = 0x1p-10;
    check_product(ways[way], &npu, "edge-npu", way);
  }
}

/* ---- failures ---- */

/* Every allocation fails once, later ones more sparsely: no crash, no leak, nothing but
 * TSR_NOMEM. */
static void a_failed_allocation_ends_the_run(void **state) {
  (void)state;
  static const char text[] =
      "in x f32 2 5; normal w 5 4; MatMul x,w h; Relu h r; Add r,r s; normal v 4 3; "
      "MatMul s,v y; out y";
  const struct handed_how how = {"systolic-32", formats[3].sets, formats[3].n_sets, false};
  enum tsr_status st = TSR_NOMEM;
  uint64_t failed = 0;
  for (uint64_t n = 1; st; n += 1 + n / 40) {
    struct tsr_err err = TSR_ERR_INIT;
    struct handed x;
    handed_fail_at = n;
    st = handed_run(text, &how, &x, &err);
    handed_fail_at = 0;
    tsr_mem_fail_at(0, false);
    if (st && st != TSR_NOMEM)
      fail_msg("allocation %llu: status %d, %s", (unsigned long long)n, (int)st,
               err.n ? err.msg[0] : "no message");
    failed += st != TSR_OK;
    tsr_err_fini(&err);
    handed_fini(&x);
  }
  assert_true(failed > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_numbers_are_exact_on_every_machine),
      cmocka_unit_test(formats_err_within_their_bounds),
      cmocka_unit_test(a_failed_allocation_ends_the_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
