#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>

#include "sim/base/rng.h"
#include "sim/base/units.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static void quantities_are_parsed_exactly(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum tsr_unit unit;
    enum tsr_quantity_result result;
    uint64_t value;
  } rows[] = {
      {"32", TSR_UNIT_COUNT, TSR_QUANTITY_OK, 32},
      {"0", TSR_UNIT_COUNT, TSR_QUANTITY_OK, 0},
      {"007", TSR_UNIT_COUNT, TSR_QUANTITY_OK, 7},
      {"2.0", TSR_UNIT_COUNT, TSR_QUANTITY_OK, 2},
      {"2.5", TSR_UNIT_COUNT, TSR_QUANTITY_NOT_WHOLE, 0},
      {"32KB", TSR_UNIT_COUNT, TSR_QUANTITY_WRONG_UNIT, 0},
      {"18446744073709551614", TSR_UNIT_COUNT, TSR_QUANTITY_OK, UINT64_MAX - 1},
      {"18446744073709551615", TSR_UNIT_COUNT, TSR_QUANTITY_TOO_LARGE, 0},
      {"99999999999999999999999999", TSR_UNIT_COUNT, TSR_QUANTITY_TOO_LARGE, 0},
      {"unlimited", TSR_UNIT_COUNT, TSR_QUANTITY_OK, TSR_UNLIMITED},
      {"unlimited", TSR_UNIT_BYTES_PER_S, TSR_QUANTITY_OK, TSR_UNLIMITED},
      {"Unlimited", TSR_UNIT_COUNT, TSR_QUANTITY_NOT_A_NUMBER, 0},
      {"512KiB", TSR_UNIT_BYTES, TSR_QUANTITY_OK, 524288},
      {"512KB", TSR_UNIT_BYTES, TSR_QUANTITY_OK, 512000},
      {"1.5MiB", TSR_UNIT_BYTES, TSR_QUANTITY_OK, 1572864},
      {"0.5B", TSR_UNIT_BYTES, TSR_QUANTITY_NOT_WHOLE, 0},
      {"0.0001KiB", TSR_UNIT_BYTES, TSR_QUANTITY_NOT_WHOLE, 0},
      {"512", TSR_UNIT_BYTES, TSR_QUANTITY_WRONG_UNIT, 0},
      {"0", TSR_UNIT_BYTES, TSR_QUANTITY_OK, 0},
      {"0.00", TSR_UNIT_FS, TSR_QUANTITY_OK, 0},
      {"0ms", TSR_UNIT_BYTES, TSR_QUANTITY_WRONG_UNIT, 0},
      {"512kib", TSR_UNIT_BYTES, TSR_QUANTITY_WRONG_UNIT, 0},
      {"512 KiB", TSR_UNIT_BYTES, TSR_QUANTITY_WRONG_UNIT, 0},
      {"512KiB/s", TSR_UNIT_BYTES, TSR_QUANTITY_WRONG_UNIT, 0},
      {"0.000000000000909494701772928237915039062500TiB", TSR_UNIT_BYTES, TSR_QUANTITY_OK, 1},
      {"0.000000000000909494701772928237915039062501TiB", TSR_UNIT_BYTES,
       TSR_QUANTITY_NOT_WHOLE, 0},
      {"16777215.999999999999090505298227071762084960937500TiB", TSR_UNIT_BYTES,
       TSR_QUANTITY_TOO_LARGE, 0}, /* 2^64 - 1 */
      {"16777216TiB", TSR_UNIT_BYTES, TSR_QUANTITY_TOO_LARGE, 0},
      {"1.05GHz", TSR_UNIT_HZ, TSR_QUANTITY_OK, 1050000000},
      {"940MHz", TSR_UNIT_HZ, TSR_QUANTITY_OK, 940000000},
      {"32.768kHz", TSR_UNIT_HZ, TSR_QUANTITY_OK, 32768},
      {"45ns", TSR_UNIT_HZ, TSR_QUANTITY_WRONG_UNIT, 0},
      {"45ns", TSR_UNIT_FS, TSR_QUANTITY_OK, 45000000},
      {"13.75ns", TSR_UNIT_FS, TSR_QUANTITY_OK, 13750000},
      {"1s", TSR_UNIT_FS, TSR_QUANTITY_OK, TSR_FS_PER_S},
      {"0.1fs", TSR_UNIT_FS, TSR_QUANTITY_NOT_WHOLE, 0},
      {"18446.744073709551614s", TSR_UNIT_FS, TSR_QUANTITY_OK, UINT64_MAX - 1},
      {"18446.744073709551615s", TSR_UNIT_FS, TSR_QUANTITY_TOO_LARGE, 0},
      {"600GB/s", TSR_UNIT_BYTES_PER_S, TSR_QUANTITY_OK, 600000000000},
      {"1.5TiB/s", TSR_UNIT_BYTES_PER_S, TSR_QUANTITY_OK, 1649267441664},
      {"600GB", TSR_UNIT_BYTES_PER_S, TSR_QUANTITY_WRONG_UNIT, 0},
      {"-1ns", TSR_UNIT_FS, TSR_QUANTITY_NEGATIVE, 0},
      {"-0", TSR_UNIT_COUNT, TSR_QUANTITY_NEGATIVE, 0},
      {"-", TSR_UNIT_COUNT, TSR_QUANTITY_NOT_A_NUMBER, 0},
      {"+1", TSR_UNIT_COUNT, TSR_QUANTITY_NOT_A_NUMBER, 0},
      {"", TSR_UNIT_COUNT, TSR_QUANTITY_NOT_A_NUMBER, 0},
      {"x", TSR_UNIT_BYTES, TSR_QUANTITY_NOT_A_NUMBER, 0},
      {".5KB", TSR_UNIT_BYTES, TSR_QUANTITY_NOT_A_NUMBER, 0},
      {"5.KB", TSR_UNIT_BYTES, TSR_QUANTITY_NOT_A_NUMBER, 0},
      {"1.2.3KB", TSR_UNIT_BYTES, TSR_QUANTITY_NOT_A_NUMBER, 0},
      {"1e9", TSR_UNIT_COUNT, TSR_QUANTITY_NOT_A_NUMBER, 0},
      {"0x10", TSR_UNIT_COUNT, TSR_QUANTITY_NOT_A_NUMBER, 0},
      {"nan", TSR_UNIT_COUNT, TSR_QUANTITY_NOT_A_NUMBER, 0},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    uint64_t v = 4711;
    int r = (int)tsr_quantity_parse(rows[i].text, strlen(rows[i].text), rows[i].unit, &v);
    uint64_t want = rows[i].result == TSR_QUANTITY_OK ? rows[i].value : 4711;
    if (r != (int)rows[i].result || v != want)
      fail_msg("'%s': result %d, value %llu", rows[i].text, r, (unsigned long long)v);
  }
}

static void quantities_print_in_the_shortest_exact_form(void **state) {
  (void)state;
  static const struct {
    uint64_t v;
    enum tsr_unit unit;
    const char *text;
  } rows[] = {
      {0, TSR_UNIT_COUNT, "0"},
      {1234567, TSR_UNIT_COUNT, "1234567"},
      {0, TSR_UNIT_BYTES, "0B"},
      {524288, TSR_UNIT_BYTES, "512KiB"},
      {1000, TSR_UNIT_BYTES, "1KB"},
      {1024, TSR_UNIT_BYTES, "1KiB"},
      {1025, TSR_UNIT_BYTES, "1025B"},
      {28311552, TSR_UNIT_BYTES, "27MiB"},
      {1050000000, TSR_UNIT_HZ, "1.05GHz"},
      {700000000, TSR_UNIT_HZ, "700MHz"},
      {45000000, TSR_UNIT_FS, "45ns"},
      {13750000, TSR_UNIT_FS, "13.75ns"},
      {TSR_FS_PER_S, TSR_UNIT_FS, "1s"},
      {600000000000, TSR_UNIT_BYTES_PER_S, "600GB/s"},
      {TSR_UNLIMITED, TSR_UNIT_BYTES, "unlimited"},
      {UINT64_MAX - 1, TSR_UNIT_BYTES_PER_S, "18446744073709551614B/s"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    char buf[48];
    assert_string_equal(tsr_quantity_print(rows[i].v, rows[i].unit, buf), rows[i].text);
  }
}

static void what_is_printed_reads_back(void **state) {
  (void)state;
  struct tsr_rng r = {1};
  for (int i = 0; i < 20000; i++) {
    enum tsr_unit unit = (enum tsr_unit)tsr_rng_range(&r, 0, TSR_UNIT_N_ - 1);
    uint64_t v = tsr_rng_next(&r) >> tsr_rng_range(&r, 0, 63), back = ~v;
    if (i % 3 == 0) v = tsr_rng_range(&r, 1, 4096) << tsr_rng_range(&r, 0, 50);
    if (i % 3 == 1) v = tsr_rng_range(&r, 1, 9999) * 1000000000;
    char buf[48];
    tsr_quantity_print(v, unit, buf);
    assert_true(strlen(buf) < 48);
    assert_int_equal(tsr_quantity_parse(buf, strlen(buf), unit, &back), TSR_QUANTITY_OK);
    if (back != v) fail_msg("%s read back as %llu", buf, (unsigned long long)back);
  }
}

static void every_unit_has_an_example_that_parses(void **state) {
  (void)state;
  for (int u = 0; u < TSR_UNIT_N_; u++) {
    const char *e = strrchr(tsr_unit_example((enum tsr_unit)u), ' ') + 1;
    uint64_t v;
    assert_int_equal(tsr_quantity_parse(e, strlen(e), (enum tsr_unit)u, &v), TSR_QUANTITY_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantities_are_parsed_exactly),
      cmocka_unit_test(quantities_print_in_the_shortest_exact_form),
      cmocka_unit_test(what_is_printed_reads_back),
      cmocka_unit_test(every_unit_has_an_example_that_parses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
