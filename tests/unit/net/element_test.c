#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "node_row.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

static void one_operand(void **state) {
  (void)state;
  static const struct node_row rows[] = {
      {"Relu", 14, "", {"f32[4] -1 0 2.5 nan"}, {"f32[4] 0 0 2.5 nan"}, NULL, 0},
      {"Relu", 14, "", {"i32[3] -5 0 7"}, {"i32[3] 0 0 7"}, NULL, 0},
      {"LeakyRelu", 16, "alpha=0.1", {"f32[3] -1 0 1"}, {"f32[3] -0.1 0 1"}, NULL, 0},
      {"LeakyRelu", 16, "", {"f32[1] -2"}, {"f32[1] -0.02"}, NULL, 0},
      {"Elu", 6, "alpha=2.", {"f32[3] -1 0 1"}, {"f32[3] -1.2642411176571153 0 1"}, NULL, 0},
      {"Selu",
       6,
       "alpha=2. gamma=3.",
       {"f32[3] -1 0 1"},
       {"f32[3] -3.7927233529713464 0 3"},
       NULL,
       0},
      /* alpha * (exp(x / alpha) - 1) */
      {"Celu", 12, "alpha=2.", {"f32[2] -2 3"}, {"f32[2] -1.2642411176571153 3"}, NULL, 0},
      {"Celu", 12, "alpha=0.", {"f32[1] 1"}, {NULL}, "'alpha' is 0", 0},
      {"ThresholdedRelu", 10, "alpha=2.", {"f32[3] -1.5 2 2.2"}, {"f32[3] 0 0 2.2"}, NULL, 0},
      {"Softplus",
       1,
       "",
       {"f32[2] 0 1"},
       {"f32[2] 0.6931471805599453 1.3132616875182228"},
       NULL,
       0},
      {"Softsign", 1, "", {"f32[3] -1 0 1"}, {"f32[3] -0.5 0 0.5"}, NULL, 0},
      /* tanh(ln 2) = 3/5 */
      {"Mish", 18, "", {"f32[2] 0 -inf"}, {"f32[2] 0 0"}, NULL, 0},
      {"Mish", 18, "", {"f32[1] 1"}, {"f32[1] 0.8650983882673103"}, NULL, 0},
      {"Sigmoid",
       13,
       "",
       {"f32[3] -1 0 1"},
       {"f32[3] 0.2689414213699951 0.5 "
        "0.7310585786300049"},
       NULL,
       0},
      {"HardSigmoid", 6, "alpha=0.5 beta=0.6", {"f32[3] -2 0 1"}, {"f32[3] 0 0.6 1"}, NULL, 0},
      {"HardSwish", 14, "", {"f32[4] -4 -3 0 3"}, {"f32[4] 0 0 0 3"}, NULL, 0},
      {"HardSwish", 14, "", {"f32[1] 1"}, {"f32[1] 0.6666666666666666"}, NULL, 0},
      {"Tanh", 13, "", {"f32[2] -1 0"}, {"f32[2] -0.7615941559557649 0"}, NULL, 0},
      {"Gelu", 20, "", {"f32[2] 0 1"}, {"f32[2] 0 0.8413447460685429"}, NULL, 0},
      {"Gelu", 20, "approximate=tanh", {"f32[1] 1"}, {"f32[1] 0.8411919906082768"}, NULL, 0},
      {"Gelu", 20, "approximate=erf", {"f32[1] 1"}, {NULL}, "'approximate' is unknown", 0},
      {"Erf", 13, "", {"f32[1] 0.5"}, {"f32[1] 0.5204998778130465"}, NULL, 0},
      {"Exp", 13, "", {"f32[2] -1 0"}, {"f32[2] 0.36787944117144233 1"}, NULL, 0},
      {"Log", 13, "", {"f32[2] 1 10"}, {"f32[2] 0 2.302585092994046"}, NULL, 0},
      {"Sqrt", 13, "", {"f32[2] 1 4"}, {"f32[2] 1 2"}, NULL, 0},
      {"Sqrt", 13, "", {"i32[2] 1 4"}, {NULL}, "expected a floating one, got 'i32'", 0},
      {"Reciprocal", 13, "", {"f32[2] -4 2"}, {"f32[2] -0.25 0.5"}, NULL, 0},
      {"Abs", 13, "", {"i8[3] -1 2 -128"}, {"i8[3] 1 2 -128"}, NULL, 0},
      {"Neg", 13, "", {"f32[2] -4 2"}, {"f32[2] 4 -2"}, NULL, 0},
      {"Sign", 13, "", {"i32[3] -7 0 9"}, {"i32[3] -1 0 1"}, NULL, 0},
      {"Floor", 13, "", {"f32[3] -1.5 1.2 2"}, {"f32[3] -2 1 2"}, NULL, 0},
      {"Ceil", 13, "", {"f32[2] -1.5 1.2"}, {"f32[2] -1 2"}, NULL, 0},
      {"Round",
       11,
       "",
       {"f32[8] 0.1 0.5 0.9 1.5 2.5 -1.5 -2.5 2.3"},
       {"f32[8] 0 0 1 2 2 -2 -2 2"},
       NULL,
       0},
      {"Sin", 7, "", {"f32[2] 0 1"}, {"f32[2] 0 0.8414709848078965"}, NULL, 0},
      {"Cos", 7, "", {"f32[2] 0 1"}, {"f32[2] 1 0.5403023058681398"}, NULL, 0},
      {"Not", 1, "", {"bool[2] 1 0"}, {"bool[2] 0 1"}, NULL, 0},
      {"Not", 1, "", {"f32[2] 1 0"}, {NULL}, "'f32'", 0},
      {"IsNaN", 13, "", {"f32[3] nan 1 inf"}, {"bool[3] 1 0 0"}, NULL, 0},
      {"IsInf", 10, "", {"f32[4] nan 1 inf -inf"}, {"bool[4] 0 0 1 1"}, NULL, 0},
      {"IsInf", 10, "detect_negative=0", {"f32[2] inf -inf"}, {"bool[2] 1 0"}, NULL, 0},
      {"Exp", 13, "", {"f32[0,3]"}, {"f32[0,3]"}, NULL, 0},
  };
  node_rows_hold(rows, N(rows));
}

static void bounds_and_types(void **state) {
  (void)state;
  static const struct node_row rows[] = {
      {"Clip", 11, "", {"f32[3] -2 0 2", "f32[] -1", "f32[] 1"}, {"f32[3] -1 0 1"}, NULL, 0},
      {"Clip", 11, "", {"f32[3] -2 0 2", "", "f32[] 1"}, {"f32[3] -2 0 1"}, NULL, 0},
      {"Clip", 12, "", {"i8[3] -2 0 2", "i8[] -1"}, {"i8[3] -1 0 2"}, NULL, 0},
      {"Clip", 6, "min=0. max=6.", {"f32[3] -2 3 9"}, {"f32[3] 0 3 6"}, NULL, 0},
      {"Clip", 12, "", {"f32[1] 1", "f32[2] 0 1"}, {NULL}, "is no single number", 0},
      {"Clip", 12, "", {"f32[1] 1", "i32[] 0"}, {NULL}, "another type", 0},
      {"Cast", 13, "to=6", {"f32[4] 1.7 -1.7 0.2 3"}, {"i32[4] 1 -1 0 3"}, NULL, 0},
      {"Cast", 13, "to=9", {"f32[3] 0.5 0 nan"}, {"bool[3] 1 0 1"}, NULL, 0},
      {"Cast",
       13,
       "to=10",
       {"f32[2] 1.0009765625 2049"},
       {"f16[2] 1.0009765625 2048"},
       NULL,
       0},
      {"Cast", 13, "to=16", {"f32[1] 1.00390625"}, {"bf16[1] 1"}, NULL, 0},
      {"Cast", 13, "to=1", {"i64[1] 16777217"}, {"f32[1] 16777216"}, NULL, 0},
      {"Cast", 13, "to=2", {"i32[2] 257 -1"}, {"u8[2] 1 255"}, NULL, 0},
      {"Cast", 13, "to=11", {"u64[1] -1"}, {"f64[1] 18446744073709551616"}, NULL, 0},
      {"Cast", 13, "to=8", {"f32[1] 1"}, {NULL}, "is not supported", 0},
      {"Cast", 19, "to=17", {"f32[1] 1"}, {NULL}, "is not supported", 0},
      {"CastLike", 15, "", {"f32[2] 1.5 2", "i64[1] 0"}, {"i64[2] 1 2"}, NULL, 0},
  };
  node_rows_hold(rows, N(rows));
}

static void operands_are_broadcast(void **state) {
  (void)state;
  static const struct node_row rows[] = {
      {"Add",
       14,
       "",
       {"f32[2,3] 0..", "f32[3] 10 20 30"},
       {"f32[2,3] 10 21 32 13 24 35"},
       NULL,
       0},
      {"Add",
       14,
       "",
       {"f32[2,1] 1 2", "f32[1,3] 10 20 30"},
       {"f32[2,3] 11 21 31 12 22 32"},
       NULL,
       0},
      {"Add", 14, "", {"f32[] 1", "f32[2] 1 2"}, {"f32[2] 2 3"}, NULL, 0},
      {"Add", 14, "", {"f32[0,3]", "f32[3] =1"}, {"f32[0,3]"}, NULL, 0},
      {"Add", 14, "", {"f32[1,3] =1", "f32[0,1]"}, {"f32[0,3]"}, NULL, 0},
      {"Add", 14, "", {"f32[2] =1", "f32[3] =1"}, {NULL}, "got '[3]'", 0},
      {"Add", 14, "", {"f32[2] =1", "i32[2] =1"}, {NULL}, "another type", 0},
      {"Add", 14, "", {"u8[2] 200 1", "u8[2] 100 1"}, {"u8[2] 44 2"}, NULL, 0},
      /* before opset 7: [3] along axis 0 of [3,2] */
      {"Add",
       6,
       "broadcast=1 axis=0",
       {"f32[3,2] 0..", "f32[3] 10 20 30"},
       {"f32[3,2] 10 11 22 23 34 35"},
       NULL,
       0},
      {"Sub", 14, "", {"f32[3] 1 2 3", "f32[3] 3 2 1"}, {"f32[3] -2 0 2"}, NULL, 0},
      {"Mul",
       14,
       "",
       {"f32[2,2,2] 0..", "f32[2,1,1] 1 10"},
       {"f32[2,2,2] 0 1 2 3 40 50 60 70"},
       NULL,
       0},
      {"Div", 14, "", {"f32[3] 1 0 -1", "f32[1] 0"}, {"f32[3] inf nan -inf"}, NULL, 0},
      {"Div", 14, "", {"i32[3] 7 -7 8", "i32[3] 2 2 -1"}, {"i32[3] 3 -3 -8"}, NULL, 0},
      {"Div", 14, "", {"u64[1] -2", "u64[1] 2"}, {"u64[1] 9223372036854775807"}, NULL, 0},
      {"Div", 14, "", {"i32[1] 1", "i32[1] 0"}, {NULL}, "divides integers by zero", 0},
      {"Pow", 15, "", {"f32[3] 1 2 3", "f32[3] 4 5 6"}, {"f32[3] 1 32 729"}, NULL, 0},
      {"Pow", 15, "", {"f32[2] 2 9", "i64[2] -1 2"}, {"f32[2] 0.5 81"}, NULL, 0},
      {"Pow", 15, "", {"i32[3] 2 -3 2", "i32[3] 10 3 -1"}, {"i32[3] 1024 -27 0"}, NULL, 0},
      {"Pow", 15, "", {"i32[2] 4 2", "f32[2] 0.5 3"}, {"i32[2] 2 8"}, NULL, 0},
      /* the documentation's example of Mod */
      {"Mod",
       13,
       "",
       {"i32[6] -4 7 5 4 -7 8", "i32[6] 2 -3 8 -2 3 5"},
       {"i32[6] 0 -2 5 0 2 3"},
       NULL,
       0},
      {"Mod",
       13,
       "fmod=1",
       {"i32[6] -4 7 5 4 -7 8", "i32[6] 2 -3 8 -2 3 5"},
       {"i32[6] 0 1 5 0 -1 3"},
       NULL,
       0},
      {"Mod",
       13,
       "fmod=1",
       {"f32[2] -4.3 7.2", "f32[2] 2.1 -3.4"},
       {"f32[2] -0.1 0.4"},
       NULL,
       1e-9},
      {"Mod", 13, "", {"f32[1] 1", "f32[1] 1"}, {NULL}, "needs 'fmod'", 0},
      {"PRelu",
       16,
       "",
       {"f32[2,2] -1 2 -3 4", "f32[2] 0.5 2"},
       {"f32[2,2] -0.5 2 -1.5 4"},
       NULL,
       0},
      {"PRelu",
       6,
       "",
       {"f32[1,2,2] -1 2 -3 4", "f32[2] 0.5 2"},
       {"f32[1,2,2] -0.5 2 -6 4"},
       NULL,
       0},
      {"PRelu", 16, "", {"f32[2] -1 2", "f32[2,2] =1"}, {NULL}, "larger than what", 0},
      {"Where",
       16,
       "",
       {"bool[2,2] 1 0 1 1", "f32[2,2] 1 2 3 4", "f32[2] 9 8"},
       {"f32[2,2] 1 8 3 4"},
       NULL,
       0},
  };
  node_rows_hold(rows, N(rows));
}

static void any_number_of_operands(void **state) {
  (void)state;
  static const struct node_row rows[] = {
      {"Max",
       13,
       "",
       {"f32[3] 3 2 1", "f32[3] 1 4 4", "f32[3] 2 5 3"},
       {"f32[3] 3 5 4"},
       NULL,
       0},
      {"Max", 13, "", {"f32[2] nan 1", "f32[2] 1 nan"}, {"f32[2] nan nan"}, NULL, 0},
      {"Min", 13, "", {"i64[2,1] 3 -2", "i64[2] 1 4"}, {"i64[2,2] 1 3 -2 -2"}, NULL, 0},
      {"Max", 13, "", {"u64[1] -1", "u64[1] 5"}, {"u64[1] -1"}, NULL, 0},
      {"Sum",
       13,
       "",
       {"f32[3] 3 0 2", "f32[3] 1 3 4", "f32[3] 2 6 6"},
       {"f32[3] 6 9 12"},
       NULL,
       0},
      {"Sum", 13, "", {"f32[2] 3 0"}, {"f32[2] 3 0"}, NULL, 0},
      {"Mean",
       13,
       "",
       {"f32[3] 3 0 2", "f32[3] 1 3 4", "f32[] 2"},
       {"f32[3] 2 "
        "1.6666666666666667 2.6666666666666665"},
       NULL,
       0},
      {"Sum", 13, "", {"f32[2] 3 0", ""}, {"f32[2] 3 0"}, NULL, 0},
  };
  node_rows_hold(rows, N(rows));
}

static void questions(void **state) {
  (void)state;
  static const struct node_row rows[] = {
      {"Equal", 13, "", {"f32[3] 1 2 nan", "f32[3] 1 3 nan"}, {"bool[3] 1 0 0"}, NULL, 0},
      {"Equal", 13, "", {"bool[2] 1 0", "bool[1] 0"}, {"bool[2] 0 1"}, NULL, 0},
      {"Less", 13, "", {"i32[3] 1 2 3", "i32[] 2"}, {"bool[3] 1 0 0"}, NULL, 0},
      {"Less", 13, "", {"u64[1] 1", "u64[1] -1"}, {"bool[1] 1"}, NULL, 0},
      {"LessOrEqual", 16, "", {"f32[3] 1 2 3", "f32[] 2"}, {"bool[3] 1 1 0"}, NULL, 0},
      {"Greater", 13, "", {"f32[3] 1 2 3", "f32[] 2"}, {"bool[3] 0 0 1"}, NULL, 0},
      {"GreaterOrEqual", 16, "", {"f32[4] 1 2 3 nan", "f32[] 2"}, {"bool[4] 0 1 1 0"}, NULL, 0},
      {"And", 7, "", {"bool[4] 0 0 1 1", "bool[4] 0 1 0 1"}, {"bool[4] 0 0 0 1"}, NULL, 0},
      {"Or", 7, "", {"bool[4] 0 0 1 1", "bool[4] 0 1 0 1"}, {"bool[4] 0 1 1 1"}, NULL, 0},
      {"Xor", 7, "", {"bool[4] 0 0 1 1", "bool[4] 0 1 0 1"}, {"bool[4] 0 1 1 0"}, NULL, 0},
      {"And", 7, "", {"f32[1] 1", "bool[1] 1"}, {NULL}, "'f32'", 0},
  };
  node_rows_hold(rows, N(rows));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_operand),
      cmocka_unit_test(bounds_and_types),
      cmocka_unit_test(operands_are_broadcast),
      cmocka_unit_test(any_number_of_operands),
      cmocka_unit_test(questions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
