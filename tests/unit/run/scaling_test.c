/* What a plan inserts where products are multiplied in another format than values travel in. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/run/scaling.h"
#include "tests/unit/run/handed.h"
#include "workloads/translate/translate.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))
#define FORMATS(a, b, acc, out) \
  "tile.formats.a=" a, "tile.formats.b=" b, "tile.formats.acc=" acc, "tile.formats.out=" out

static const char *const int8[] = {FORMATS("int8", "int8", "int32", "fp16"), NULL};
static const char *const fp8[] = {FORMATS("fp8_e4m3", "fp8_e4m3", "fp32", "fp16"),
                                  "tile.rates.fp8_e4m3=1", NULL};
static const char *const bf16[] = {FORMATS("bf16", "bf16", "fp32", "fp16"), NULL};
static const char *const same[] = {FORMATS("fp16", "fp16", "fp32", "fp16"), NULL};
static const char *const w8a16[] = {FORMATS("fp16", "int8", "fp32", "fp16"),
                                    "tile.dequant=true", NULL};

static size_t count(const char *const *sets) {
  size_t n = 0;
  while (sets[n]) n++;
  return n;
}

static enum tsr_status plan(const char *text, const char *const *sets, struct tsr_run_plan *out,
                            struct tsr_err *err) {
  struct tsr_graph *g;
  if (tsr_translate(nets_make(text, NULL, 0), NULL, &g, err)) fail_msg("%s", err->msg[0]);
  const struct tsr_run_options o = {.arch = "systolic-32",
                                    .workload = "made",
                                    .sets = sets,
                                    .n_sets = count(sets),
                                    .seed = 1,
                                    .numerics = TSR_NUMERICS_FULL,
                                    .graph = g};
  return tsr_run_plan_make(&o, out, err);
}

/* The kinds of the operators, with their formats and the first step of their epilogue. */
static void list(const struct tsr_run_plan *p, struct tsr_str *out) {
  for (size_t i = 0; i < p->n_layers; i++) {
    const struct tsr_run_layer_plan *l = &p->layers[i];
    tsr_str_addf(out, "%s%s %s %s", i ? "; " : "", tsr_op_kind_name(l->op->kind), l->format_a,
                 l->format_out);
    for (size_t s = 0; s < l->op->n_steps; s++)
      tsr_str_addf(out, " +%s", tsr_op_kind_name(l->op->step[s].kind));
  }
}

static void conversions_stand_where_formats_differ(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *const *sets;
    const char *want;
  } rows[] = {
      {"in x f32 4 6; normal w 6 5; MatMul x,w y; out y", same, "linear fp16 fp16"},
      {"in x f32 4 6; normal w 6 5; MatMul x,w y; out y", bf16,
       "copy fp16 bf16; linear bf16 fp16"},
      {"in x f32 4 6; normal w 6 5; MatMul x,w y; out y", int8,
       "quantise fp16 int8; linear int8 fp16 +dequantise"},
      {"in x f32 4 6; normal w 6 5; MatMul x,w h; Relu h y; out y", fp8,
       "quantise fp16 fp8_e4m3; linear fp8_e4m3 fp16 +dequantise +relu"},
      /* one conversion for two readers */
      {"in x f32 4 6; normal w 6 5; normal v 6 5; MatMul x,w y; MatMul x,v z; out y z", int8,
       "quantise fp16 int8; linear int8 fp16 +dequantise; linear int8 fp16 +dequantise"},
      {"in q f32 4 6; in k f32 6 5; MatMul q,k y; out y", int8,
       "quantise fp16 int8; quantise fp16 int8; bmm int8 fp16 +dequantise"},
      /* a value times itself: each side has a name of its own, one conversion does */
      {"in q f32 4 4; MatMul q,q y; out y", int8,
       "quantise fp16 int8; bmm int8 fp16 +dequantise"},
      {"in x f32 6 4; normal w 5 6; MatMul w,x y; out y", int8,
       "quantise fp16 int8; bmm int8 fp16 +dequantise"},
      {"in x f32 4 6; normal w 6 5; MatMul x,w y; out y", w8a16,
       "linear fp16 fp16 +dequantise"},
      {"in x f32 4 6; Relu x y; out y", int8, "relu fp16 fp16"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_err err = TSR_ERR_INIT;
    struct tsr_run_plan p;
    struct tsr_str got = TSR_STR_INIT;
    if (plan(rows[i].text, rows[i].sets, &p, &err)) fail_msg("row %zu: %s", i, err.msg[0]);
    list(&p, &got);
    if (strcmp(got.p, rows[i].want) != 0) fail_msg("row %zu: %s", i, got.p);
    tsr_str_fini(&got);
    tsr_run_plan_fini(&p);
  }
}

/* Scales are those of the reference's values. */
static void scales_are_of_the_largest_magnitudes(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_run_plan p;
  if (plan("in x f32 2 3; whole w 3 2; MatMul x,w y; out y", int8, &p, &err))
    fail_msg("%s", err.msg[0]);
  assert_int_equal(p.n_scaled, 1);
  const struct tsri_scaled *s = &p.scaled[0];
  struct tsr_graph *g = p.tenants[0].graph;
  struct tsr_net *net = g->nets[0];
  struct tsr_array **ref = tsr_mem_array(net->n_values, sizeof(struct tsr_array *));
  assert_non_null(ref);
  size_t x = tsr_net_find(net, "x"), w = tsr_net_find(net, "w");
  ref[x] = nets_draw(&net->values[x], true, 1);
  double *in = ref[x]->f, *weights = net->values[w].constant->f;
  in[4] = -254;                                   /* the largest: a scale of 2 */
  const double given[6] = {1, 0, -63.5, 0, 2, 0}; /* columns of 63.5 and of nothing */
  memcpy(weights, given, sizeof given);
  assert_int_equal(tsri_scaling_fill(&p, g, 0, ref, &err), TSR_OK);
  assert_true(s->a_scale->f[0] == 2);
  const double ready[6] = {2, 0, -127, 0, 4, 0};
  for (int i = 0; i < 6; i++) assert_true(s->ready->f[i] == ready[i]);
  assert_true(s->out_scale->f[0] == 1 && s->out_scale->f[1] == 2);
  /* nothing at all, and what fp32 has no normal number for: no division by 0 */
  for (int i = 0; i < 6; i++) in[i] = 0;
  weights[1] = 1e-42;
  assert_int_equal(tsri_scaling_fill(&p, g, 0, ref, &err), TSR_OK);
  assert_true(s->a_scale->f[0] == 1);
  for (int i = 0; i < 6; i++) assert_true(fabs(s->ready->f[i]) <= 127);
  tsr_array_destroy(ref[x]);
  tsr_mem_free(ref);
  tsr_run_plan_fini(&p);
}

static void values_of_nothing_stay_nothing(void **state) {
  (void)state;
  static const char *const texts[] = {
      "in x f32 4 6; Sub x,x z; normal w 6 5; MatMul z,w y; out y",
      "in x f32 4 6; normal w 6 5; Sub w,w v; MatMul x,v y; out y"};
  for (size_t i = 0; i < LEN(texts); i++)
    for (int f = 0; f < 2; f++) {
      struct tsr_err err = TSR_ERR_INIT;
      struct handed x;
      const char *const *sets = f ? fp8 : int8;
      const struct handed_how how = {"systolic-32", sets, count(sets), false};
      if (handed_run(texts[i], &how, &x, &err)) fail_msg("%s", err.n ? err.msg[0] : "no run");
      for (uint64_t e = 0; e < x.out[0]->n; e++) assert_true(x.out[0]->f[e] == 0);
      handed_fini(&x);
    }
}

/* Weights alone are narrow: |error| <= sum |a| scale / 2 and the roundings of fp16. */
static void narrow_weights_err_by_half_a_scale(void **state) {
  (void)state;
  static const char text[] = "in x f32 5 40; normal w 40 9; MatMul x,w y; out y";
  struct tsr_err err = TSR_ERR_INIT;
  struct handed x;
  const struct handed_how how = {"systolic-32", w8a16, count(w8a16), false};
  if (handed_run(text, &how, &x, &err)) fail_msg("%s", err.n ? err.msg[0] : "no run");
  struct tsr_net *net = nets_make(text, NULL, 0);
  const double *w = net->values[tsr_net_find(net, "w")].constant->f;
  for (int j = 0; j < 9; j++) {
    double top = 0;
    for (int k = 0; k < 40; k++) top = fmax(top, fabs(w[k * 9 + j]));
    for (int i = 0; i < 5; i++) {
      double mass = 0, sum = 0;
      for (int k = 0; k < 40; k++) {
        double a = fabs(x.in[0]->f[i * 40 + k]);
        mass += a * fabs(w[k * 9 + j]);
        sum += a * top / 127 / 2;
      }
      double most = sum + 0x1p-9 * (mass + sum),
             apart = fabs(x.out[0]->f[i * 9 + j] - x.ref[0]->f[i * 9 + j]);
      if (!(apart <= most)) fail_msg("(%d, %d): %g apart, at most %g", i, j, apart, most);
    }
  }
  tsr_net_destroy(net);
  handed_fini(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conversions_stand_where_formats_differ),
      cmocka_unit_test(scales_are_of_the_largest_magnitudes),
      cmocka_unit_test(values_of_nothing_stay_nothing),
      cmocka_unit_test(narrow_weights_err_by_half_a_scale),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
