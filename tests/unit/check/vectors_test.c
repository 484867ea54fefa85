/* Reading vector files: what is refused, where, and that nothing leaks on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/check/vectors.h"
#include "sim/base/mem.h"
#include "sim/base/rng.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

#define HEAD \
  "# model=nv_volta_mma_m8n8k4_f32_f16_f32\n# a=fp16 b=fp16 c=fp32 d=fp32\n# M=1 N=2 K=2\n"
#define ROWS "tile 0\nA 3c00 4000\nB 3c00 0 3c00 0\nC 0 0\n"

static char path[64];

static void write_file(const char *text, size_t n) {
  memcpy(path, "/tmp/tessera-vectors-XXXXXX", sizeof "/tmp/tessera-vectors-XXXXXX");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, n), n);
  close(fd);
}

static enum tsr_status check_text(const char *text, const char *model,
                                  struct tsr_vectors_result *r, struct tsr_err *err) {
  write_file(text, strlen(text));
  enum tsr_status st = tsr_vectors_check(path, model, r, err);
  remove(path);
  return st;
}

static void bad_files_are_refused_at_the_place(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } rows[] = {
      {"", ":1:1: error: bad header key 'M'"},
      {"# M=0 N=1 K=1\n", "'M'; expected a number from 1 to 65536, got '0'"},
      {"# M=1 N=x K=1\n", "'N'; expected a number, got 'x'"},
      {"# M=1 N=1 K=99999999999999999999999\n", "'K'"},
      {"# M=65536 N=65536 K=65536\n", "'K'; expected tiles of at most"},
      {"# M=1 N=1 K=1 a=fp17 b=fp16 c=fp32\n", "'a'; expected a number format, got 'fp17'"},
      {"# M=1 N=1 K=1 a=fp16 b=fp16 c=fp32 scale=ue8m0\n", "'scale_block'"},
      {"# M=1 N=1 K=33 a=e4m3 b=e4m3 c=fp32 scale=ue8m0 scale_block=32\n", "divisor of K"},
      {"# M=2 N=1 K=1 a=fp16 b=fp16 c=fp32 d=fp32\n# modes RNE RZ\n", "1 where D lists modes"},
      {"# M=1 N=1 K=1 a=fp16 b=fp16 c=fp32 d=fp32\n" ROWS, "unknown matrix unit"},
      {"# model=nv_none\n# M=1 N=1 K=1 a=fp16 b=fp16 c=fp32\n", "'nv_none'"},
      {"# alg=magic: a=fp16 b=fp16 c=fp32 d=fp32 K=1 M=1 N=1\n", "'acc_magic_fp16_fp32'"},
      {"# model=acc_seqfma_bf16_fp32\n# M=1 N=1 K=1 a=fp16 b=fp16 c=fp32\n",
       "multiplies bf16 by bf16 into fp32; expected a unit for"},
      {HEAD, "no tile in this file"},
      {HEAD "tiles\n", ":4:1: error: expected 'tile <number>', got 'tiles'"},
      {HEAD "tile x\n", ":4:1: error: expected 'tile <number>'"},
      {HEAD ROWS "D 0\n", ":8:4: error: too few values; expected 2 in row D, got '1'"},
      {HEAD ROWS "D 0 0 0\n", ":8:7: error: too many values; expected 2 in row D"},
      {HEAD ROWS "D 0 g\n",
       ":8:5: error: bad value; expected a hexadecimal code of at most 32"},
      {HEAD ROWS "D 0 100000000\n", ":8:5: error: bad value"},
      {HEAD ROWS "D 0 0x1\n", ":8:5: error: bad value"},
      {HEAD ROWS "D 0 -1\n", ":8:5: error: bad value"},
      {HEAD ROWS "D 0 10000000000000000000\n", ":8:5: error: bad value"},
      {HEAD ROWS, ":4:1: error: tile without row D"},
      {HEAD ROWS "D 0 0\nD 0 0\n", ":9:1: error: row D twice"},
      {HEAD ROWS "D 0 0\nD2 0 0\n", ":9:1: error: row D2 does not belong"},
      {HEAD ROWS "D 0 0\nSA 7f\n", ":9:1: error: row SA does not belong"},
      {HEAD ROWS "D 0 0\nE 0 0\n", ":9:1: error: unknown row; expected tile, A, B"},
      {HEAD ROWS "D 0 0\nX 0\n", ":9:4: error: too few values"},
      {HEAD "tile 0\nA 3c00 14000\n", ":5:8: error: bad value; expected a hexadecimal code of "
                                      "at most 16 bits, got '14000'"},
  };
  for (size_t i = 0; i < N(rows); i++) {
    struct tsr_vectors_result r;
    struct tsr_err err = TSR_ERR_INIT;
    memset(&r, 0x5a, sizeof r);
    enum tsr_status st = check_text(rows[i].text, NULL, &r, &err);
    char *text = tsr_err_text(&err);
    if (st != TSR_INPUT || !strstr(text, rows[i].says))
      fail_msg("row %zu: status %d, says %s", i, (int)st, text);
    assert_int_equal(err.total, 1);
    assert_int_equal(r.tiles, 0x5a5a5a5a5a5a5a5a);
    tsr_mem_free(text);
    tsr_err_fini(&err);
  }
  struct tsr_vectors_result r;
  assert_int_equal(tsr_vectors_check("/nonexistent/file", NULL, &r, NULL), TSR_INPUT);
}

static void a_unit_may_be_named_instead(void **state) {
  (void)state;
  static const struct {
    const char *model;
    enum tsr_status st;
    uint64_t exact;
  } rows[] = {{NULL, TSR_OK, 2},        {"nv_ampere_mma_m16n8k8_f32_f16_f32", TSR_OK, 2},
              {"fused:F=0", TSR_OK, 1}, /* 4 swamps 1 */
              {"fma", TSR_OK, 2},       {"acc_seqfma_bf16_fp32", TSR_INPUT, 0},
              {"nv_none", TSR_USAGE, 0}};
  for (size_t i = 0; i < N(rows); i++) {
    struct tsr_vectors_result r;
    struct tsr_err err = TSR_ERR_INIT;
    const char *text = HEAD "tile 0\r\nA 3c00 4000\nB 3c00 0 4000 0\nC 0 0\n\n"
                            "D 40a00000 0\n\n\ntile 1 cat=x\nA 0 0\nB 0 0 0 0\nC 0 0\nD 0 0";
    enum tsr_status st = check_text(text, rows[i].model, &r, &err);
    assert_int_equal(st, rows[i].st);
    if (st == TSR_OK) {
      assert_int_equal(r.tiles, 2);
      assert_int_equal(r.elements, 4);
      assert_int_equal(r.exact, rows[i].exact + 2);
      assert_string_equal(r.model,
                          rows[i].model ? rows[i].model : "nv_volta_mma_m8n8k4_f32_f16_f32");
    }
    tsr_err_fini(&err);
  }
}

/* Any bytes: an answer, never a crash. */
static void broken_bytes_are_survived(void **state) {
  (void)state;
  static const char whole[] =
      HEAD ROWS "D 40400000 0\nX 0 1\ntile 1\nA 0 0\nB 0 0 0 0\nC 0 0\nD 0 0\n";
  struct tsr_rng r = {3};
  size_t good = 0, bad = 0;
  for (int rep = 0; rep < 400; rep++) {
    char text[sizeof whole];
    memcpy(text, whole, sizeof text);
    size_t n = rep % 2 ? sizeof whole - 1 : tsr_rng_range(&r, 0, sizeof whole - 1);
    for (int hits = rep % 3; hits > 0; hits--)
      text[tsr_rng_range(&r, 0, sizeof whole - 2)] = (char)tsr_rng_next(&r);
    struct tsr_vectors_result out;
    struct tsr_err err = TSR_ERR_INIT;
    write_file(text, n);
    enum tsr_status st = tsr_vectors_check(path, NULL, &out, &err);
    remove(path);
    assert_true(st == TSR_OK || (st == TSR_INPUT && err.total > 0));
    good += st == TSR_OK;
    bad += st != TSR_OK;
    tsr_err_fini(&err);
  }
  assert_true(good > 20 && bad > 20);
}

static void every_failed_allocation_is_reported(void **state) {
  (void)state;
  const char *text = HEAD ROWS "D 40400000 0\n";
  write_file(text, strlen(text));
  uint64_t nth = 1;
  for (;; nth++) {
    struct tsr_vectors_result r;
    tsr_mem_fail_at(nth, false);
    enum tsr_status st = tsr_vectors_check(path, NULL, &r, NULL);
    bool reached = tsr_mem_calls() >= nth;
    tsr_mem_fail_at(0, false);
    if (!reached) {
      assert_int_equal(st, TSR_OK);
      break;
    }
    assert_int_equal(st, TSR_NOMEM);
  }
  remove(path);
  assert_true(nth > 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_files_are_refused_at_the_place),
      cmocka_unit_test(a_unit_may_be_named_instead),
      cmocka_unit_test(broken_bytes_are_survived),
      cmocka_unit_test(every_failed_allocation_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
