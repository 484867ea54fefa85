#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "node_row.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

static void floats_become_codes(void **state) {
  (void)state;
  static const struct node_row rows[] = {
      /* 1.5 and 2.5 go to 2; clipped */
      {"QuantizeLinear",
       13,
       "",
       {"f32[8] 0 2 4 1000 -254 -1000 3 5", "f32[] 2", "u8[] 128"},
       {"u8[8] 128 129 130 255 1 0 130 130"},
       NULL,
       0},
      /* no zero point: u8 */
      {"QuantizeLinear", 13, "", {"f32[4] 1 3 5 -1", "f32[] 2"}, {"u8[4] 0 2 2 0"}, NULL, 0},
      {"QuantizeLinear",
       13,
       "",
       {"f32[4] 1 3 -300 -1", "f32[1] 2", "i8[1] 1"},
       {"i8[4] 1 3 -128 1"},
       NULL,
       0},
      /* scales along axis 1, where no other is named */
      {"QuantizeLinear",
       13,
       "",
       {"f32[1,3,2] 1 2 10 20 100 200", "f32[3] 1 10 100", "u8[3] 0 5 250"},
       {"u8[1,3,2] 1 2 6 7 251 252"},
       NULL,
       0},
      {"QuantizeLinear",
       13,
       "axis=-1",
       {"f32[2,2] 1 20 3 40", "f32[2] 1 10", "i8[2] 0 5"},
       {"i8[2,2] 1 7 3 9"},
       NULL,
       0},
      {"QuantizeLinear",
       13,
       "axis=0",
       {"f32[2,1] 1 20", "f32[2] 1 10", "i8[2] 0 5"},
       {"i8[2,1] 1 7"},
       NULL,
       0},
      /* wider codes */
      {"QuantizeLinear",
       21,
       "",
       {"f32[3] 1e6 -1e6 2", "f32[] 1", "u16[] 7"},
       {"u16[3] 65535 0 9"},
       NULL,
       0},
      {"QuantizeLinear",
       21,
       "output_dtype=5",
       {"f32[3] 1e6 -1e6 2", "f32[] 1"},
       {"i16[3] 32767 -32768 2"},
       NULL,
       0},
      /* blocks of an axis, the last one short */
      {"QuantizeLinear",
       21,
       "axis=1 block_size=2",
       {"f32[1,5,1] 1 2 30 40 500", "f32[1,3,1] 1 10 100", "u8[1,3,1] 0 1 2"},
       {"u8[1,5,1] 1 2 4 5 7"},
       NULL,
       0},
      {"QuantizeLinear",
       21,
       "axis=0 block_size=2",
       {"f32[2,2] 1 20 3 40", "f32[1,2] 1 10"},
       {"u8[2,2] 1 2 3 4"},
       NULL,
       0},
      /* integers */
      {"QuantizeLinear", 13, "", {"i32[2] 3 5", "f32[] 2", "i8[] 0"}, {"i8[2] 2 2"}, NULL, 0},
      /* what is no number */
      {"QuantizeLinear",
       13,
       "",
       {"f32[3] inf -inf nan", "f32[] 2", "i8[] 5"},
       {"i8[3] 127 -128 0"},
       NULL,
       0},
      {"QuantizeLinear", 13, "axis=0", {"f32[0,2]", "f32[0]"}, {"u8[0,2]"}, NULL, 0},
  };
  node_rows_hold(rows, N(rows));
}

static void codes_become_floats(void **state) {
  (void)state;
  static const struct node_row rows[] = {
      {"DequantizeLinear",
       13,
       "",
       {"u8[4] 0 3 128 255", "f32[] 2", "u8[] 128"},
       {"f32[4] -256 -250 0 254"},
       NULL,
       0},
      {"DequantizeLinear",
       13,
       "",
       {"i8[2] -128 127", "f32[] 0.5"},
       {"f32[2] -64 63.5"},
       NULL,
       0},
      {"DequantizeLinear",
       13,
       "",
       {"u8[1,3,2] 1 2 6 7 251 252", "f32[3] 1 10 100", "u8[3] 0 5 250"},
       {"f32[1,3,2] 1 2 10 20 100 200"},
       NULL,
       0},
      {"DequantizeLinear",
       13,
       "axis=0",
       {"i32[2,1] 100000 -7", "f32[2] 0.5 2"},
       {"f32[2,1] 50000 -14"},
       NULL,
       0},
      /* the type of the scale */
      {"DequantizeLinear",
       21,
       "axis=1 block_size=2",
       {"u8[1,5,1] 1 2 4 5 7", "f16[1,3,1] 1 10 100", "u8[1,3,1] 0 1 2"},
       {"f16[1,5,1] 1 2 30 40 500"},
       NULL,
       0},
      {"DequantizeLinear",
       23,
       "output_dtype=11",
       {"i8[1] 3", "f32[] 2"},
       {"f64[1] 6"},
       NULL,
       0},
  };
  node_rows_hold(rows, N(rows));
}

static void ranges_come_from_the_data(void **state) {
  (void)state;
  static const struct node_row rows[] = {
      {"DynamicQuantizeLinear",
       11,
       "",
       {"f32[6] 0 2 -3 -2.5 1.34 0.5"},
       {"u8[6] 153 255 0 26 221 179", "f32[] 0.0196078431372549", "u8[] 153"},
       NULL,
       1e-08},
      /* the range always holds 0 */
      {"DynamicQuantizeLinear",
       11,
       "",
       {"f32[3] 51 255 102"},
       {"u8[3] 51 255 102", "f32[] 1", "u8[] 0"},
       NULL,
       0},
      {"DynamicQuantizeLinear",
       11,
       "",
       {"f32[3] -51 -255 -102"},
       {"u8[3] 204 0 153", "f32[] 1", "u8[] 255"},
       NULL,
       0},
      /* no range */
      {"DynamicQuantizeLinear",
       11,
       "",
       {"f32[2] 0 0"},
       {"u8[2] 0 0", "f32[] 1", "u8[] 0"},
       NULL,
       0},
      {"DynamicQuantizeLinear", 11, "", {"f32[0]"}, {"u8[0]", "f32[] 1", "u8[] 0"}, NULL, 0},
      /* an output left out */
      {"DynamicQuantizeLinear", 11, "", {"f32[1] 510"}, {"", "f32[] 2", "u8[] 0"}, NULL, 0},
  };
  node_rows_hold(rows, N(rows));
}

static void scales_that_do_not_fit_are_refused(void **state) {
  (void)state;
  static const struct node_row rows[] = {
      {"QuantizeLinear",
       13,
       "",
       {"f32[2,3] =1", "f32[2] =1"},
       {NULL},
       "the scale; expected [3], got [2]",
       0},
      {"QuantizeLinear", 13, "axis=2", {"f32[2,3] =1", "f32[2] =1"}, {NULL}, "out of range", 0},
      {"QuantizeLinear",
       13,
       "",
       {"f32[2,3] =1", "f32[3] =1", "u8[2] =1"},
       {NULL},
       "the zero point; expected [3], got [2]",
       0},
      {"QuantizeLinear",
       13,
       "",
       {"f32[2] =1", "f32[] 1", "f32[] 1"},
       {NULL},
       "expected u8, i8, u16, i16 or i32",
       0},
      {"QuantizeLinear",
       21,
       "output_dtype=3",
       {"f32[2] =1", "f32[] 1", "u8[] 1"},
       {NULL},
       "expected u8, got 'i8'",
       0},
      {"QuantizeLinear",
       21,
       "output_dtype=99",
       {"f32[2] =1", "f32[] 1"},
       {NULL},
       "got type number '99'",
       0},
      {"QuantizeLinear",
       21,
       "block_size=2 axis=1",
       {"f32[1,5] =1", "f32[1,2] =1"},
       {NULL},
       "the scale; expected [1,3], got [1,2]",
       0},
      {"QuantizeLinear",
       21,
       "block_size=-1",
       {"f32[1,5] =1", "f32[] 1"},
       {NULL},
       "block_size",
       0},
      {"QuantizeLinear", 13, "", {"i64[2] =1", "f32[] 1"}, {NULL}, "got 'i64'", 0},
      {"DequantizeLinear",
       13,
       "",
       {"u8[2] =1", "f32[] 1", "i8[] 1"},
       {NULL},
       "another type",
       0},
      {"DequantizeLinear", 13, "", {"f32[2] =1", "f32[] 1"}, {NULL}, "got 'f32'", 0},
      {"DequantizeLinear", 13, "", {"u8[2] =1", "i32[] 1"}, {NULL}, "a floating one", 0},
      {"DynamicQuantizeLinear", 11, "", {"i32[2] =1"}, {NULL}, "a floating one", 0},
  };
  node_rows_hold(rows, N(rows));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(floats_become_codes),
      cmocka_unit_test(codes_become_floats),
      cmocka_unit_test(ranges_come_from_the_data),
      cmocka_unit_test(scales_that_do_not_fit_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
