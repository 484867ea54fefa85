/* Sets of programs and their container. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "isa/isa_int.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))
enum { HEADER = 24 };

/* ---- sets ---- */

/* The set of a text. */
static void assemble(const char *text, struct tsr_program_set *s) {
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_isa_set_assemble("p.s", text, strlen(text), s, &err)) fail_msg("%s", err.msg[0]);
}

/* Cores 0 and 3 run one program, 1 and 2 another, 4 a third that differs in a name. */
static const char sample[] =
    ".machine \"tpu-v1\", 0x0123456789abcdef\n"
    ".core 0\nformat f0, \"fp16\"\nformat f1, \"seven77\"\nsem s3, 4\nhalt\n"
    ".core 1-2\nloop l0, 3\nwait load, s0, start, 9\nend l0\nhalt\n"
    ".core 3\nformat f0, \"fp16\"\nformat f1, \"seven77\"\nsem s3, 4\nhalt\n"
    ".core 4\nformat f0, \"fp16\"\nformat f1, \"eight888\"\nsem s3, 4\nhalt\n";

static void save(const char *text, uint8_t **bytes, size_t *n) {
  struct tsr_program_set s = {0};
  struct tsr_err err = TSR_ERR_INIT;
  assemble(text, &s);
  if (tsr_isa_set_save(&s, bytes, n, &err)) fail_msg("%s", err.msg[0]);
  tsr_isa_set_fini(&s);
}

static void add(struct tsr_program_set *s, int64_t value, size_t cores) {
  struct tsr_program p = {0};
  tsr_isa_emit(&p, TSR_ISA_SEM, (const int64_t[TSR_ISA_FIELDS_MAX]){0, value});
  tsr_isa_emit(&p, TSR_ISA_HALT, (const int64_t[TSR_ISA_FIELDS_MAX]){0});
  assert_int_equal(tsr_isa_set_add(s, &p, cores, NULL), TSR_OK);
  assert_null(p.inst); /* transferred */
}

static void cores_that_run_the_same_share_it(void **state) {
  (void)state;
  struct tsr_program_set s = {0};
  add(&s, 1, 3);
  add(&s, 2, 1);
  add(&s, 1, 1); /* equal, though made anew */
  assert_int_equal(s.n, 5);
  for (size_t i = 0; i < s.n; i++) {
    assert_int_equal(s.program[i].borrowed, i != 0 && i != 3);
    assert_int_equal(s.program[i].inst[0].f[1], i == 3 ? 2 : 1);
    assert_ptr_equal(s.program[i].inst, s.program[i == 3 ? 3 : 0].inst);
  }
  /* what is borrowed is not changed */
  tsr_isa_emit(&s.program[1], TSR_ISA_HALT, (const int64_t[TSR_ISA_FIELDS_MAX]){0});
  assert_true(s.program[1].failed);
  assert_int_equal(s.program[1].n, 2);
  (void)tsr_isa_name(&s.program[2], "fp16");
  assert_true(s.program[2].failed);
  assert_int_equal(s.program[2].n_names, 0);
  tsr_isa_set_fini(&s);
  assert_int_equal(s.n, 0);
}

static void a_set_has_at_most_its_cores(void **state) {
  (void)state;
  struct tsr_program_set s = {0};
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_program p = {0};
  add(&s, 1, TSR_ISA_CORES - 1);
  tsr_isa_emit(&p, TSR_ISA_HALT, (const int64_t[TSR_ISA_FIELDS_MAX]){0});
  assert_int_equal(tsr_isa_set_add(&s, &p, 2, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "expected at most 4096, got 4097"));
  assert_null(p.inst); /* freed all the same */
  add(&s, 1, 1);
  assert_int_equal(s.n, TSR_ISA_CORES);
  tsr_err_fini(&err);
  tsr_isa_set_fini(&s);
}

static void a_machine_has_a_name_that_a_text_can_hold(void **state) {
  (void)state;
  struct tsr_program_set s = {0};
  static char longer[TSR_ISA_NAME_MAX + 2];
  memset(longer, 'x', sizeof longer - 1);
  static const char *const bad[] = {"", "a\"b", "a\nb", "\xc3\xa4", longer};
  assert_int_equal(tsr_isa_set_machine(&s, "tpu v1", 5, NULL), TSR_OK);
  for (size_t i = 0; i < LEN(bad); i++)
    assert_int_equal(tsr_isa_set_machine(&s, bad[i], 6, NULL), TSR_INPUT);
  assert_string_equal(s.machine, "tpu v1"); /* unchanged */
  assert_int_equal(s.machine_hash, 5);
  assert_int_equal(tsr_isa_set_machine(&s, NULL, 6, NULL), TSR_OK);
  assert_null(s.machine);
  assert_int_equal(s.machine_hash, 0);
  tsr_isa_set_fini(&s);
}

/* ---- the container ---- */

static void a_container_gives_the_set_back(void **state) {
  (void)state;
  uint8_t *bytes, *again;
  size_t n, m;
  struct tsr_program_set want = {0}, s = {0};
  save(sample, &bytes, &n);
  assert_memory_equal(bytes, "TSRPROG2", 8);
  assemble(sample, &want);
  assert_int_equal(tsr_isa_set_load("p.bin", bytes, n, &s, NULL), TSR_OK);
  assert_int_equal(s.n, 5);
  assert_string_equal(s.machine, "tpu-v1");
  assert_int_equal(s.machine_hash, 0x0123456789abcdef);
  for (size_t i = 0; i < s.n; i++)
    assert_true(tsri_program_same(&s.program[i], &want.program[i]));
  assert_ptr_equal(s.program[3].inst, s.program[0].inst); /* though not neighbours */
  assert_int_equal(tsr_isa_set_save(&s, &again, &m, NULL), TSR_OK);
  assert_int_equal(m, n);
  assert_memory_equal(again, bytes, n);
  tsr_isa_set_fini(&s);
  tsr_isa_set_fini(&want);
  tsr_mem_free(again);
  tsr_mem_free(bytes);
}

/* Byte for byte, by hand: the form that isa.h gives. */
static void the_form_of_a_container_is_known(void **state) {
  (void)state;
  static const uint64_t body[] = {
      2,
      'm' | 'x' << 8,
      7, /* machine */
      2,
      2, /* cores, programs */
      1,
      4,
      0x36317066,
      2,                       /* one name, fp16; words */
      TSR_ISA_FORMAT | 3 << 8, /* format f3, "fp16" */
      TSR_ISA_HALT,            /* */
      0,
      1,
      TSR_ISA_HALT, /* no name; words */
      1,
      0,
      1,
      1, /* runs */
  };
  uint8_t *bytes;
  size_t n;
  save(".machine \"mx\", 7\n.core 0\nformat f3, \"fp16\"\nhalt\n.core 1\nhalt\n", &bytes, &n);
  assert_int_equal(n, HEADER + sizeof body);
  for (size_t w = 0; w < LEN(body); w++)
    for (int b = 0; b < 8; b++)
      assert_int_equal(bytes[HEADER + 8 * w + (size_t)b], body[w] >> 8 * b & 0xff);
  assert_int_equal(bytes[8], LEN(body));
  tsr_mem_free(bytes);
}

/* 64 equal cores take what one takes. */
static void equal_programs_are_stored_once(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t more; /* words, beside those of one core */
  } rows[] = {
      {"sem s0, 1\nhalt\n", 0},
      {".core 0-63\nsem s0, 1\nhalt\n", 0},
      {".core 0\nsem s0, 1\nhalt\n.core 1-4095\nsem s0, 1\nhalt\n", 0},
      {".core 0\nsem s0, 1\nhalt\n.core 1\nhalt\n", 2 + 1 + 2}, /* another and a run */
      {".core 0\nsem s0, 1\nhalt\n.core 1\nhalt\n.core 2\nsem s0, 1\nhalt\n",
       3 + 4}, /* a run */
  };
  size_t one = 0;
  for (size_t i = 0; i < LEN(rows); i++) {
    uint8_t *bytes;
    size_t n;
    save(rows[i].text, &bytes, &n);
    if (i == 0) one = n;
    assert_int_equal(n, one + 8 * rows[i].more);
    tsr_mem_free(bytes);
  }
}

static void an_unsound_set_is_not_saved(void **state) {
  (void)state;
  struct tsr_program_set s = {0};
  struct tsr_program p = {0};
  struct tsr_err err = TSR_ERR_INIT;
  uint8_t *bytes = NULL;
  size_t n = 77;
  assert_int_equal(tsr_isa_set_save(&s, &bytes, &n, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "no program"));
  add(&s, 1, 2);
  tsr_isa_emit(&p, TSR_ISA_SEM, (const int64_t[TSR_ISA_FIELDS_MAX]){0, 1});
  assert_int_equal(tsr_isa_set_add(&s, &p, 1, NULL), TSR_OK);
  assert_int_equal(tsr_isa_set_save(&s, &bytes, &n, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[1], "core 2: instruction 1: a program ends with halt"));
  s.machine = tsr_mem_strdup("a\"b"); /* past tsr_isa_set_machine */
  assert_int_equal(tsr_isa_set_save(&s, &bytes, &n, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[2], "is no name of a machine"));
  assert_null(bytes);
  assert_int_equal(n, 77);
  tsr_err_fini(&err);
  tsr_isa_set_fini(&s);
}

/* Refused with one message that names the file; the set stays untouched. */
static void refuse(const uint8_t *bytes, size_t n, const char *says) {
  struct tsr_program_set s = {.n = 77}, before = s;
  struct tsr_err err = TSR_ERR_INIT;
  uint8_t *exact = tsr_mem_alloc(n); /* so that a read past the end is seen */
  if (n) memcpy(exact, bytes, n);
  assert_int_equal(tsr_isa_set_load("p.bin", exact, n, &s, &err), TSR_INPUT);
  assert_int_equal(err.total, 1);
  assert_non_null(strstr(err.msg[0], "p.bin: "));
  if (says && !strstr(err.msg[0], says)) fail_msg("%s: %s", says, err.msg[0]);
  assert_memory_equal(&s, &before, sizeof s);
  tsr_err_fini(&err);
  tsr_mem_free(exact);
}

static void a_container_cut_anywhere_is_refused(void **state) {
  (void)state;
  uint8_t *bytes;
  size_t n;
  save(sample, &bytes, &n);
  for (size_t cut = 0; cut < n; cut++) refuse(bytes, cut, NULL);
  uint8_t *longer = tsr_mem_alloc(n + 16);
  memcpy(longer, bytes, n);
  for (size_t more = 1; more <= 16; more++) refuse(longer, n + more, "cut short or too long");
  tsr_mem_free(longer);
  tsr_mem_free(bytes);
}

static void a_container_with_any_bit_flipped_is_refused(void **state) {
  (void)state;
  uint8_t *bytes;
  size_t n;
  save(sample, &bytes, &n);
  for (size_t i = 0; i < 8 * n; i++) {
    bytes[i / 8] ^= (uint8_t)(1u << i % 8);
    refuse(bytes, n, NULL);
    bytes[i / 8] ^= (uint8_t)(1u << i % 8);
  }
  tsr_mem_free(bytes);
}

static void put_le(uint8_t *b, uint64_t v) {
  for (int i = 0; i < 8; i++) b[i] = (uint8_t)(v >> 8 * i);
}

/* A sound header before a body of n words. */
static size_t contain(const uint64_t *body, size_t n, uint8_t *out) {
  memcpy(out, "TSRPROG2", 8);
  for (size_t w = 0; w < n; w++) put_le(out + HEADER + 8 * w, body[w]);
  put_le(out + 8, n);
  put_le(out + 16, tsr_fnv1a(TSR_FNV_INIT, out + HEADER, 8 * n));
  return HEADER + 8 * n;
}

/* A sound header proves nothing; and what a count says is not believed. */
static void sound_headers_before_unsound_bodies_are_refused(void **state) {
  (void)state;
  enum { MOST = 24, HALT = TSR_ISA_HALT, SEM = TSR_ISA_SEM };
  static const struct {
    size_t n;
    uint64_t body[MOST];
    const char *says;
  } rows[] = {
      {9, {0, 0, 1, 1, 0, 1, HALT, 1, 0}, NULL}, /* sound */
      {0, {0}, "byte 24: the machine's name is missing"},
      {1, {64}, "the machine's name is wrong; expected 0 to 63, got 64"},
      {9, {64, 'a', 0, 0, 0, 0, 0, 0, 0}, "the machine's name is wrong; expected 0 to 63"},
      {3, {17, 'a', 'b'}, "the machine's name is cut short"},
      {3, {UINT64_MAX, 0, 0}, "the machine's name is wrong"},
      {4, {1, 'a' | 1 << 8, 0, 0}, "not filled up with zeros"},
      {4, {1, '"', 0, 0}, "printable ASCII"},
      {4, {2, 'a', 0, 0}, "printable ASCII"}, /* a NUL */
      {9, {0, 1, 1, 1, 0, 1, HALT, 1, 0}, "the machine's hash is wrong; expected 0 to 0"},
      {9, {0, 0, 0, 1, 0, 1, HALT, 1, 0}, "the number of cores is wrong; expected 1 to 4096"},
      {9, {0, 0, 4097, 1, 0, 1, HALT, 1, 0}, "the number of cores is wrong"},
      {9, {0, 0, UINT64_MAX, 1, 0, 1, HALT, 1, 0}, "got 18446744073709551615"},
      {9, {0, 0, 1, 0, 0, 1, HALT, 1, 0}, "the number of programs is wrong; expected 1 to 1"},
      {9, {0, 0, 1, 2, 0, 1, HALT, 1, 0}, "the number of programs is wrong; expected 1 to 1"},
      {9, {0, 0, 4096, 4096, 0, 1, HALT, 1, 0}, "a name is wrong"},
      {9, {0, 0, 1, 1, 65, 1, HALT, 1, 0}, "the number of names is wrong; expected 0 to 64"},
      {9, {0, 0, 1, 1, 1, 0, HALT, 1, 0}, "a name is wrong; expected 1 to "},
      {5, {0, 0, 1, 1, 1}, "a name is missing"},
      {5, {0, 0, 1, 1, 0}, "the number of words is missing"},
      {9, {0, 0, 1, 1, 0, 4, HALT, 1, 0}, "the number of words is wrong; expected 1 to 3"},
      {9, {0, 0, 1, 1, 0, 1ull << 61, HALT, 1, 0}, "the number of words is wrong"},
      {8, {0, 0, 1, 1, 0, 0, 1, 0}, "the number of words is wrong; expected 1 to 2, got 0"},
      {9, {0, 0, 1, 1, 0, 1, 0xff, 1, 0}, "byte 72: no instruction: word 00000000000000ff"},
      {9, {0, 0, 1, 1, 0, 1, HALT | 1 << 8, 1, 0}, "no instruction"},
      {9, {0, 0, 1, 1, 0, 1, TSR_ISA_LOOP, 1, 0}, "no instruction"}, /* half of one */
      {10, {0, 0, 1, 1, 0, 2, HALT, HALT, 1, 0}, "program 0: instruction 0: halt before"},
      {9, {0, 0, 1, 1, 0, 1, SEM, 1, 0}, "program 0: instruction 1: a program ends with halt"},
      {11, {0, 0, 1, 1, 0, 3, TSR_ISA_LOOP, 2, HALT, 1, 0}, "not closed"},
      {10, {0, 0, 1, 1, 0, 2, TSR_ISA_FORMAT, HALT, 1, 0}, "there is no name 0"},
      {11, {0, 0, 1, 1, 1, 1, 'a', 1, HALT, 1, 0}, "name 0 is not used"},
      {14,
       {0, 0, 1, 1, 2, 1, 'a', 1, 'a', 2, TSR_ISA_FORMAT, HALT, 1, 0},
       "name 1 is there twice"},
      {14, {0, 0, 2, 2, 0, 1, HALT, 0, 1, HALT, 1, 0, 1, 1}, "programs 0 and 1 are equal"},
      {9, {0, 0, 1, 1, 0, 1, HALT, 2, 0}, "a number of cores is wrong; expected 1 to 1, got 2"},
      {9, {0, 0, 1, 1, 0, 1, HALT, 0, 0}, "a number of cores is wrong; expected 1 to 1, got 0"},
      {9, {0, 0, 1, 1, 0, 1, HALT, 1, 1}, "the number of a program is wrong; expected 0 to 0"},
      {9, {0, 0, 2, 1, 0, 1, HALT, 1, 0}, "a number of cores is missing"},
      {11, {0, 0, 2, 1, 0, 1, HALT, 1, 0, 1, 0}, "stand in two runs"},
      {7, {0, 0, 1, 1, 0, 1, HALT}, "a number of cores is missing"},
      {8, {0, 0, 1, 1, 0, 1, HALT, 1}, "the number of a program is missing"},
      {10, {0, 0, 1, 1, 0, 1, HALT, 1, 0, 0}, "1 words too many"},
      {13, {0, 0, 2, 2, 0, 1, HALT, 0, 2, SEM, HALT, 2, 0}, "no core runs program 1"},
      {15,
       {0, 0, 2, 2, 0, 1, HALT, 0, 2, SEM, HALT, 1, 1, 1, 0},
       "the number of a program is wrong; expected 0 to 0, got 1"}, /* not in order */
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    uint8_t b[HEADER + 8 * MOST];
    size_t n = contain(rows[i].body, rows[i].n, b);
    struct tsr_program_set s = {0};
    if (rows[i].says)
      refuse(b, n, rows[i].says);
    else
      assert_int_equal(tsr_isa_set_load("p.bin", b, n, &s, NULL), TSR_OK);
    tsr_isa_set_fini(&s);
  }
}

static void another_magic_says_what_was_expected(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } rows[] = {{"", "no program; expected it to begin with TSRPROG2"},
              {"TSRPROG", "begin with TSRPROG2"},
              {"TSRPROG2", "cut short; expected at least 24 bytes, got 8"},
              {"TSRPROG1................",
               "another version of programs; expected TSRPROG2, got "
               "'TSRPROG1'"},
              {"TSRPROG1................", "hint: print it with the version of tessera"},
              {"TSRPROG3", "expected TSRPROG2, got 'TSRPROG3'"},
              {"layer,M,N,K\nl0,1,2,3\n........", "begin with TSRPROG2"},
              {"tsrprog2", "begin with TSRPROG2"},
              {"\177ELF...............................", "begin with TSRPROG2"}};
  for (size_t i = 0; i < LEN(rows); i++)
    refuse((const uint8_t *)rows[i].text, strlen(rows[i].text), rows[i].says);
}

/* A few words that say they are many cores take the memory of the cores, not more. */
static void a_small_container_stays_small(void **state) {
  (void)state;
  static const uint64_t body[] = {0, 0, TSR_ISA_CORES, 1, 0, 1, TSR_ISA_HALT, TSR_ISA_CORES, 0};
  uint8_t b[HEADER + sizeof body];
  struct tsr_program_set s = {0};
  size_t n = contain(body, LEN(body), b);
  tsr_mem_fail_at(0, false);
  assert_int_equal(tsr_isa_set_load("p.bin", b, n, &s, NULL), TSR_OK);
  assert_in_range(tsr_mem_calls(), 1, 8);
  assert_int_equal(s.n, TSR_ISA_CORES);
  assert_ptr_equal(s.program[0].inst, s.program[TSR_ISA_CORES - 1].inst);
  tsr_isa_set_fini(&s);
}

static void running_out_of_memory_is_told(void **state) {
  (void)state;
  uint8_t *bytes, *out;
  size_t n, m;
  save(sample, &bytes, &n);
  for (uint64_t nth = 1;; nth++) {
    struct tsr_program_set s = {0};
    struct tsr_err err = TSR_ERR_INIT;
    tsr_mem_fail_at(nth, false);
    enum tsr_status load = tsr_isa_set_load("p.bin", bytes, n, &s, &err);
    enum tsr_status st = load ? load : tsr_isa_set_save(&s, &out, &m, &err);
    bool reached = tsr_mem_calls() >= nth;
    tsr_mem_fail_at(0, false);
    assert_int_equal(st, reached ? TSR_NOMEM : TSR_OK);
    assert_int_equal(err.total, reached);
    if (!st) tsr_mem_free(out);
    tsr_isa_set_fini(&s);
    tsr_err_fini(&err);
    if (!reached) break;
    assert_true(nth < 200);
  }
  tsr_mem_free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cores_that_run_the_same_share_it),
      cmocka_unit_test(a_set_has_at_most_its_cores),
      cmocka_unit_test(a_machine_has_a_name_that_a_text_can_hold),
      cmocka_unit_test(a_container_gives_the_set_back),
      cmocka_unit_test(the_form_of_a_container_is_known),
      cmocka_unit_test(equal_programs_are_stored_once),
      cmocka_unit_test(an_unsound_set_is_not_saved),
      cmocka_unit_test(a_container_cut_anywhere_is_refused),
      cmocka_unit_test(a_container_with_any_bit_flipped_is_refused),
      cmocka_unit_test(sound_headers_before_unsound_bodies_are_refused),
      cmocka_unit_test(another_magic_says_what_was_expected),
      cmocka_unit_test(a_small_container_stays_small),
      cmocka_unit_test(running_out_of_memory_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
