/* Programs: the structural check and the container. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "isa/isa.h"
#include "sim/base/mem.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))
#define I(op, ...)  \
  {                 \
    TSR_ISA_##op, { \
      __VA_ARGS__   \
    }               \
  }

enum { LIST_MAX = 8 };

static void build(const struct tsr_inst *list, size_t n, struct tsr_program *p) {
  *p = (struct tsr_program){0};
  for (size_t i = 0; i < n; i++) tsr_isa_emit(p, (enum tsr_isa_op)list[i].op, list[i].f);
  assert_false(p->failed);
  assert_int_equal(p->n, n);
}

static const struct tsr_inst sample[] = {I(TENSOR, 0, 2, 4096),
                                         I(DIM, 0, 0, 16, 2),
                                         I(BOX, 0, 0, 4, 1),
                                         I(START, 0, 0, -1),
                                         I(WALK, 0, 0, 0, 4),
                                         I(AXIS, 3, 0, 16, 4),
                                         I(SEM, 0, 2),
                                         I(LOOP, 0, 4),
                                         I(LOOP, 14, 2),
                                         I(WAIT, 0, 0, 0),
                                         I(LOAD, 0, 0),
                                         I(SIGNAL, 0, 3, 1),
                                         I(MM, 2, 2, 4, 2, 1),
                                         I(END, 14),
                                         I(STORE, 2, 2),
                                         I(END, 0),
                                         I(HALT, 0)};

static void a_sound_program_passes(void **state) {
  (void)state;
  struct tsr_program p;
  build(sample, LEN(sample), &p);
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_isa_check(&p, &err), TSR_OK);
  assert_int_equal(err.total, 0);
  tsr_isa_program_fini(&p);
  static const struct tsr_inst least[] = {I(HALT, 0)};
  build(least, 1, &p);
  assert_int_equal(tsr_isa_check(&p, &err), TSR_OK);
  tsr_isa_program_fini(&p);
}

static void malformed_structures_are_refused(void **state) {
  (void)state;
  static const struct {
    size_t n;
    struct tsr_inst list[LIST_MAX];
    const char *says, *where;
  } rows[] = {
      {0, {{0}}, "ends with halt", "instruction 0"},
      {1, {I(SEM, 0, 1)}, "ends with halt", "instruction 1"},
      {2, {I(HALT, 0), I(SEM, 0, 1)}, "ends with halt", "instruction 2"},
      {2, {I(HALT, 0), I(HALT, 0)}, "halt before the end", "instruction 0"},
      {2, {I(LOOP, 0, 2), I(HALT, 0)}, "not closed", "instruction 2"},
      {2, {I(END, 0), I(HALT, 0)}, "innermost open", "instruction 0"},
      {4, {I(LOOP, 0, 2), I(END, 0), I(END, 0), I(HALT, 0)}, "innermost open", "instruction 2"},
      {5,
       {I(LOOP, 0, 2), I(LOOP, 1, 2), I(END, 0), I(END, 1), I(HALT, 0)},
       "innermost open",
       "instruction 2"},
      {5,
       {I(LOOP, 3, 2), I(LOOP, 3, 2), I(END, 3), I(END, 3), I(HALT, 0)},
       "open already",
       "instruction 1"},
      {3, {I(LOOP, 15, 2), I(END, 15), I(HALT, 0)}, "none", "instruction 0"},
      {3, {I(LOOP, 0, 0), I(END, 0), I(HALT, 0)}, "at least once", "instruction 0"},
      {2, {I(DIM, 0, 4, 1, 1), I(HALT, 0)}, "dimensions 0 to 3", "instruction 0"},
      {2, {I(BOX, 0, 4, 1, 1), I(HALT, 0)}, "dimensions 0 to 3", "instruction 0"},
      {2, {I(START, 0, 15, 1), I(HALT, 0)}, "dimensions 0 to 3", "instruction 0"},
      {2, {I(WALK, 0, 4, 0, 1), I(HALT, 0)}, "dimensions 0 to 3", "instruction 0"},
      {2, {I(BOX, 0, 0, 0, 1), I(HALT, 0)}, "at least 1", "instruction 0"},
      {2, {I(BOX, 0, 0, 1, 0), I(HALT, 0)}, "at least 1", "instruction 0"},
      {2, {I(AXIS, 0, 0, 0, 1), I(HALT, 0)}, "at least 1", "instruction 0"},
      {2, {I(AXIS, 0, 0, 1, 0), I(HALT, 0)}, "at least 1", "instruction 0"},
      {2, {I(TENSOR, 0, 0, 1), I(HALT, 0)}, "at least 1 byte", "instruction 0"},
      {2, {I(MM, 2, 2, 4, 2, 0), I(HALT, 0)}, "at least 1", "instruction 0"},
      {2, {I(MM, 0, 2, 4, 2, 1), I(HALT, 0)}, "at least 1", "instruction 0"},
      /* operands that no word holds, as only a caller of emit could make them */
      {2, {I(TENSOR, 3, 2, 1), I(HALT, 0)}, "operand", "instruction 0"},
      {2, {I(TENSOR, 0, 256, 1), I(HALT, 0)}, "operand", "instruction 0"},
      {2, {I(SEM, 16, 1), I(HALT, 0)}, "operand", "instruction 0"},
      {2, {I(SEM, 0, -1), I(HALT, 0)}, "operand", "instruction 0"},
      {3, {I(LOOP, 16, 1), I(END, 16), I(HALT, 0)}, "operand", "instruction 0"},
      {2, {I(WAIT, 3, 0, 0), I(HALT, 0)}, "operand", "instruction 0"},
      {2, {I(SIGNAL, 0, 0, 2), I(HALT, 0)}, "operand", "instruction 0"},
      {2, {I(LOAD, 0, 3), I(HALT, 0)}, "operand", "instruction 0"},
      {2, {I(MM, 32, 2, 4, 2, 1), I(HALT, 0)}, "operand", "instruction 0"},
      {2, {I(MM, 2, 2, 4, 2, 64), I(HALT, 0)}, "operand", "instruction 0"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_program p;
    struct tsr_err err = TSR_ERR_INIT;
    build(rows[i].list, rows[i].n, &p);
    assert_int_equal(tsr_isa_check(&p, &err), TSR_INPUT);
    assert_int_equal(err.total, 1);
    if (!strstr(err.msg[0], rows[i].says) || !strstr(err.msg[0], rows[i].where))
      fail_msg("row %zu: %s", i, err.msg[0]);
    tsr_err_fini(&err);
    tsr_isa_program_fini(&p);
  }
}

static void save_sample(uint8_t **bytes, size_t *n) {
  struct tsr_program p;
  build(sample, LEN(sample), &p);
  assert_int_equal(tsr_isa_save(&p, bytes, n, NULL), TSR_OK);
  tsr_isa_program_fini(&p);
}

static void a_container_gives_the_program_back(void **state) {
  (void)state;
  uint8_t *bytes, *again;
  size_t n, m;
  save_sample(&bytes, &n);
  assert_memory_equal(bytes, "TSRPROG1", 8);
  struct tsr_program p;
  assert_int_equal(tsr_isa_load("p.bin", bytes, n, &p, NULL), TSR_OK);
  assert_int_equal(p.n, LEN(sample));
  for (size_t i = 0; i < p.n; i++) {
    assert_int_equal(p.inst[i].op, sample[i].op);
    assert_memory_equal(p.inst[i].f, sample[i].f, sizeof sample[i].f);
  }
  assert_int_equal(tsr_isa_save(&p, &again, &m, NULL), TSR_OK);
  assert_int_equal(m, n);
  assert_memory_equal(again, bytes, n);
  tsr_isa_program_fini(&p);
  tsr_mem_free(again);
  tsr_mem_free(bytes);
}

/* Refused with one message that names the file; the program stays untouched. */
static void refuse(const uint8_t *bytes, size_t n) {
  struct tsr_program p = {.n = 77}, before = p;
  struct tsr_err err = TSR_ERR_INIT;
  uint8_t *exact = tsr_mem_alloc(n); /* so that a read past the end is seen */
  if (n) memcpy(exact, bytes, n);
  assert_int_equal(tsr_isa_load("p.bin", exact, n, &p, &err), TSR_INPUT);
  assert_int_equal(err.total, 1);
  assert_memory_equal(&p, &before, sizeof p);
  tsr_err_fini(&err);
  tsr_mem_free(exact);
}

static void a_container_cut_anywhere_is_refused(void **state) {
  (void)state;
  uint8_t *bytes;
  size_t n;
  save_sample(&bytes, &n);
  for (size_t cut = 0; cut < n; cut++) refuse(bytes, cut);
  uint8_t *longer = tsr_mem_alloc(n + 16);
  memcpy(longer, bytes, n);
  for (size_t more = 1; more <= 16; more++) refuse(longer, n + more);
  tsr_mem_free(longer);
  tsr_mem_free(bytes);
}

static void a_container_with_any_bit_flipped_is_refused(void **state) {
  (void)state;
  uint8_t *bytes;
  size_t n;
  save_sample(&bytes, &n);
  for (size_t i = 0; i < 8 * n; i++) {
    bytes[i / 8] ^= (uint8_t)(1u << i % 8);
    refuse(bytes, n);
    bytes[i / 8] ^= (uint8_t)(1u << i % 8);
  }
  tsr_mem_free(bytes);
}

static void put_le(uint8_t *b, uint64_t v) {
  for (int i = 0; i < 8; i++) b[i] = (uint8_t)(v >> 8 * i);
}

/* Sound containers around words that are none: the hash alone proves nothing. */
static void sound_containers_of_unsound_words_are_refused(void **state) {
  (void)state;
  static const struct {
    size_t n;
    uint64_t words[4];
  } rows[] = {
      {0, {0}},                                          /* no instruction at all */
      {1, {0xff}},                                       /* no opcode */
      {1, {TSR_ISA_HALT | 1u << 8}},                     /* a bit that no field covers */
      {1, {TSR_ISA_LOOP}},                               /* half an instruction */
      {2, {TSR_ISA_HALT, TSR_ISA_HALT}},                 /* halt before the end */
      {1, {TSR_ISA_SEM}},                                /* no halt */
      {3, {TSR_ISA_LOOP, 2, TSR_ISA_HALT}},              /* an open loop */
      {4, {TSR_ISA_LOOP, 0, TSR_ISA_END, TSR_ISA_HALT}}, /* no trip */
      {2, {TSR_ISA_LOAD | 3u << 12, TSR_ISA_HALT}},      /* no such buffer */
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    uint8_t b[24 + 32] = "TSRPROG1";
    for (size_t w = 0; w < rows[i].n; w++) put_le(b + 24 + 8 * w, rows[i].words[w]);
    put_le(b + 8, rows[i].n);
    put_le(b + 16, tsr_fnv1a(TSR_FNV_INIT, b + 24, 8 * rows[i].n));
    refuse(b, 24 + 8 * rows[i].n);
  }
}

static void wrong_magic_says_what_was_expected(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "TSRPROG",
                                      "TSRPROG2........................",
                                      "layer,M,N,K\nl0,1,2,3\n........",
                                      "tsrprog1",
                                      "\177ELF..............................."};
  for (size_t i = 0; i < LEN(texts); i++) {
    struct tsr_program p = {0};
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(
        tsr_isa_load("x.bin", (const uint8_t *)texts[i], strlen(texts[i]), &p, &err),
        TSR_INPUT);
    assert_non_null(strstr(err.msg[0], "TSRPROG1"));
    assert_non_null(strstr(err.msg[0], "x.bin"));
    tsr_err_fini(&err);
  }
}

static void running_out_of_memory_is_told(void **state) {
  (void)state;
  uint8_t *bytes, *out;
  size_t n, m;
  save_sample(&bytes, &n);
  for (uint64_t nth = 1;; nth++) {
    struct tsr_program p = {0};
    tsr_mem_fail_at(nth, false);
    enum tsr_status load = tsr_isa_load("p.bin", bytes, n, &p, NULL);
    enum tsr_status save = load ? TSR_OK : tsr_isa_save(&p, &out, &m, NULL);
    bool reached = tsr_mem_calls() >= nth;
    tsr_mem_fail_at(0, false);
    assert_int_equal(load == TSR_NOMEM || save == TSR_NOMEM, reached);
    if (!load && !save) tsr_mem_free(out);
    if (!load) tsr_isa_program_fini(&p);
    if (!reached) break;
    assert_true(nth < 100);
  }
  tsr_mem_free(bytes);
}

static void the_listing_indents_loops(void **state) {
  (void)state;
  struct tsr_program p;
  build(sample + 6, LEN(sample) - 6, &p);
  struct tsr_str s = TSR_STR_INIT;
  tsr_isa_disasm(&p, &s);
  assert_string_equal(s.p, "sem s0, value=2\n"
                           "loop l0, trips=4\n"
                           "  loop l14, trips=2\n"
                           "    wait load, s0, start\n"
                           "    load t0, a\n"
                           "    signal load, s3, done\n"
                           "    mm a=2, b=2, acc=4, out=2, rate=1\n"
                           "  end l14\n"
                           "  store t2, c\n"
                           "end l0\n"
                           "halt\n");
  tsr_str_fini(&s);
  tsr_isa_program_fini(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_sound_program_passes),
      cmocka_unit_test(malformed_structures_are_refused),
      cmocka_unit_test(a_container_gives_the_program_back),
      cmocka_unit_test(a_container_cut_anywhere_is_refused),
      cmocka_unit_test(a_container_with_any_bit_flipped_is_refused),
      cmocka_unit_test(sound_containers_of_unsound_words_are_refused),
      cmocka_unit_test(wrong_magic_says_what_was_expected),
      cmocka_unit_test(running_out_of_memory_is_told),
      cmocka_unit_test(the_listing_indents_loops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
