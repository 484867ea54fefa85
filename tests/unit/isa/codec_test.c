/* One instruction: words, text, manual, all against the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "models/arith/vector.h"
#include "sim/base/mem.h"
#include "tests/unit/isa/insts.h"

static void rows_are_well_formed(void **state) {
  (void)state;
  FOR_ROWS(op) {
    const struct tsri_row *row = &tsri_rows[op];
    assert_true(row->mnemonic && *row->mnemonic && row->doc && *row->doc);
    assert_string_equal(tsr_isa_mnemonic((enum tsr_isa_op)op), row->mnemonic);
    assert_string_equal(tsr_isa_doc((enum tsr_isa_op)op), row->doc);
    assert_in_range(row->words, 1, TSR_ISA_WORDS_MAX);
    for (int o = 0; o < op; o++) assert_string_not_equal(tsri_rows[o].mnemonic, row->mnemonic);
  }
}

/* The opcode tells instructions apart; within one, no two fields share a bit. */
static void no_two_encodings_overlap(void **state) {
  (void)state;
  FOR_ROWS(op) {
    const struct tsri_row *row = &tsri_rows[op];
    uint64_t used[TSR_ISA_WORDS_MAX] = {0xff};
    FOR_FIELDS(row, j) {
      const struct tsri_field *f = &row->field[j];
      assert_true(f->word < row->words && f->width >= 1 && f->low + f->width <= 64);
      uint64_t bits = insts_mask(f->width) << f->low;
      assert_int_equal(used[f->word] & bits, 0);
      used[f->word] |= bits;
      uint32_t count = tsri_kinds[f->kind].count;
      assert_true(!count || count - 1 <= insts_mask(f->width)); /* every value has a code */
      /* what an operand has that a text leaves out has a code */
      struct tsr_inst in = {.op = (uint8_t)op};
      in.f[j] = f->omitted >= 0 ? f->omitted : 0;
      assert_true(tsri_operands_fit(&in));
      for (int o = 0; o < j; o++) assert_string_not_equal(row->field[o].name, f->name);
    }
  }
}

static void every_row_round_trips(void **state) {
  (void)state;
  struct tsr_rng r = {1};
  FOR_ROWS(op)
  for (int i = 0; i < 5000; i++) {
    struct tsr_inst in = insts_random(op, &r), out;
    uint64_t words[TSR_ISA_WORDS_MAX];
    size_t n = tsr_isa_encode(&in, words);
    assert_int_equal(n, tsri_rows[op].words);
    assert_int_equal(tsr_isa_decode(words, n, &out), n);
    assert_true(insts_same(&in, &out));
    memset(&out, 7, sizeof out);
    struct tsr_inst before = out;
    for (size_t cut = 0; cut < n; cut++) /* too few words are no instruction */
      assert_int_equal(tsr_isa_decode(words, cut, &out), 0);
    assert_true(insts_same(&before, &out)); /* and *out stays */
  }
}

static void random_words_decode_canonically_or_are_refused(void **state) {
  (void)state;
  struct tsr_rng r = {2};
  size_t decoded = 0;
  for (int i = 0; i < 1000000; i++) {
    uint64_t words[TSR_ISA_WORDS_MAX], again[TSR_ISA_WORDS_MAX];
    for (int w = 0; w < TSR_ISA_WORDS_MAX; w++) words[w] = tsr_rng_next(&r);
    if (i % 4) { /* mostly near to an instruction: a known opcode, few high bits */
      words[0] &= insts_mask((unsigned)tsr_rng_range(&r, 8, 40));
      words[0] = (words[0] & ~0xffull) | tsr_rng_range(&r, 0, TSR_ISA_OP_COUNT);
    }
    struct tsr_inst in;
    size_t n = tsr_isa_decode(words, TSR_ISA_WORDS_MAX, &in);
    if (!n) continue;
    decoded++;
    assert_int_equal(tsr_isa_encode(&in, again), n);
    assert_memory_equal(words, again, n * sizeof *words);
  }
  assert_in_range(decoded, 50000, 950000); /* both outcomes were seen */
}

static void bits_that_no_field_covers_are_refused(void **state) {
  (void)state;
  struct tsr_rng r = {3};
  FOR_ROWS(op) {
    const struct tsri_row *row = &tsri_rows[op];
    uint64_t used[TSR_ISA_WORDS_MAX] = {0xff};
    FOR_FIELDS(row, j)
    used[row->field[j].word] |= insts_mask(row->field[j].width) << row->field[j].low;
    for (int i = 0; i < 20; i++) {
      struct tsr_inst in = insts_random(op, &r), out;
      uint64_t words[TSR_ISA_WORDS_MAX];
      size_t n = tsr_isa_encode(&in, words);
      for (size_t w = 0; w < n; w++)
        for (int b = 0; b < 64; b++) {
          if (used[w] >> b & 1) continue;
          words[w] ^= 1ull << b;
          assert_int_equal(tsr_isa_decode(words, n, &out), 0);
          words[w] ^= 1ull << b;
        }
    }
  }
}

/* Codes of a list's field beyond the list, and opcodes beyond the table. */
/* The names of a program are its own: without them a number stands there. */
static void a_name_that_is_not_there_is_shown_as_its_number(void **state) {
  (void)state;
  struct tsr_program p = {0};
  struct tsr_inst in = {TSR_ISA_FORMAT, {2, 1}};
  assert_int_equal(tsr_isa_name(&p, "int8"), 0);
  const struct tsr_program *of[] = {NULL, &p};
  for (int i = 0; i < 2; i++) {
    struct tsr_str s = TSR_STR_INIT;
    tsr_isa_print(of[i], &in, &s);
    assert_string_equal(s.p, "format f2, name=1");
    tsr_str_fini(&s);
  }
  tsr_isa_program_fini(&p);
}

static void values_outside_a_list_are_refused(void **state) {
  (void)state;
  struct tsr_inst out;
  for (uint64_t op = TSR_ISA_OP_COUNT; op < 256; op++) {
    uint64_t words[TSR_ISA_WORDS_MAX] = {op};
    assert_int_equal(tsr_isa_decode(words, TSR_ISA_WORDS_MAX, &out), 0);
  }
  FOR_ROWS(op)
  FOR_FIELDS(&tsri_rows[op], j) {
    const struct tsri_field *f = &tsri_rows[op].field[j];
    uint32_t count = tsri_kinds[f->kind].count;
    for (uint64_t v = count; count && v <= insts_mask(f->width) && v < count + 300u; v++) {
      struct tsr_inst in = {.op = (uint8_t)op};
      uint64_t words[TSR_ISA_WORDS_MAX];
      size_t n = tsr_isa_encode(&in, words);
      words[f->word] |= v << f->low;
      assert_int_equal(tsr_isa_decode(words, n, &out), 0);
    }
  }
}

static void known_instructions_have_known_text(void **state) {
  (void)state;
  static const struct {
    struct tsr_inst i;
    const char *text;
  } rows[] = {
      {{TSR_ISA_FORMAT, {15, 63}}, "format f15, \"; #63, \\\""},
      {{TSR_ISA_TENSOR, {2, 1, 4, 4096}}, "tensor t2, f1, elem=4, base=4096"},
      {{TSR_ISA_DIM, {0, 3, -1, 64}}, "dim t0, i=3, size=18446744073709551615, stride=64"},
      {{TSR_ISA_BOX, {15, 0, 8, 2}}, "box t15, i=0, extent=8, step=2"},
      {{TSR_ISA_START, {0, 1, -3}}, "start t0, i=1, value=-3"},
      {{TSR_ISA_WALK, {0, 1, 2, -7}}, "walk t0, i=1, l2, delta=-7"},
      {{TSR_ISA_FEED, {3, 1, 7, 2}}, "feed t3, i=1, c, delta=2"},
      {{TSR_ISA_PLACE, {15, 1, 2, 1, 64, 4096}},
       "place p15, b, f2, elem=1, base=64, wrap=4096"},
      {{TSR_ISA_ADVANCE, {4, 14, -1}}, "advance p4, l14, delta=18446744073709551615"},
      {{TSR_ISA_AXIS, {4, 15, 9, 3}}, "axis n, none, size=9, tile=3"},
      {{TSR_ISA_SEM, {63, 2}}, "sem s63, value=2"},
      {{TSR_ISA_LOOP, {0, 5}}, "loop l0, trips=5"},
      {{TSR_ISA_END, {0}}, "end l0"},
      {{TSR_ISA_WAIT, {1, 3, 0, 1}}, "wait tile, s3, start, n=1"},
      {{TSR_ISA_WAIT, {3, 2, 1, 65535}}, "wait vector, s2, result, n=65535"},
      {{TSR_ISA_SIGNAL, {0, 4, 1, 0}}, "signal load, s4, done, own"},
      {{TSR_ISA_SIGNAL, {2, 4, 0, 2}}, "signal store, s4, read, first"},
      {{TSR_ISA_BARRIER, {3}}, "barrier vector"},
      {{TSR_ISA_LOAD, {0, 1, 1}}, "load t0, p1, all"},
      {{TSR_ISA_STORE, {2, 2}}, "store t2, p2, shift=0"},
      {{TSR_ISA_GATHER, {1, 2, 3}}, "gather t1, p2, p3"},
      {{TSR_ISA_SCATTER, {4, 5, 6}}, "scatter t4, p5, p6"},
      {{TSR_ISA_PRELOAD, {7, 8, 255}}, "preload p7, t8, rate=255"},
      {{TSR_ISA_MM, {2, 0, 1, 5, 3, 4, 0x4001, 2, 1, 9}},
       "mm p2, p0, p1, t5, t3, t4, over=l0|l14, rate=2, sparse24, p9"},
      {{TSR_ISA_MM, {0, 1, 2, 3, 4, 5, 0, 1, 0, 0}},
       "mm p0, p1, p2, t3, t4, t5, over=none, rate=1, dense, p0"},
      {{TSR_ISA_VEC, {0, 1, 2, 3, 0, 0xff, 0, 2, 7}},
       "vec copy, p1, p2, p3, each, rows=g|b|oh|ow|n|kh|kw|c, cols=none, over=l1, imm=7"},
      {{TSR_ISA_VEC, {TSR_VEC_ADD, 1, 2, 3, 1, 8, 16, 0, 0}},
       "vec add, p1, p2, p3, row, rows=ow, cols=n, over=none, imm=0"},
      {{TSR_ISA_WINDOW, {TSR_VEC_POOLMAX, 1, 2, 3, 0xe, 0x10, 0x60, 0xffffffff}},
       "window poolmax, p1, p2, t3, rows=b|oh|ow, cols=n, win=kh|kw, imm=4294967295"},
      {{TSR_ISA_HALT, {0}}, "halt"},
  };
  bool seen[TSR_ISA_OP_COUNT] = {false};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *text = insts_text(&rows[i].i);
    assert_string_equal(text, rows[i].text);
    tsr_mem_free(text);
    seen[rows[i].i.op] = true;
  }
  FOR_ROWS(op) assert_true(seen[op]); /* a new instruction needs a row here */
}

static void different_instructions_have_different_text(void **state) {
  (void)state;
  struct tsr_rng r = {4};
  for (int i = 0; i < 20000; i++) {
    int op = (int)tsr_rng_range(&r, 0, TSR_ISA_OP_COUNT - 1);
    struct tsr_inst a = insts_random(op, &r), b = insts_random(op, &r);
    if (i % 2) { /* only one operand differs */
      b = a;
      int j = (int)tsr_rng_range(&r, 0, TSR_ISA_FIELDS_MAX - 1);
      if (tsri_rows[op].field[j].name) b.f[j] = insts_random_value(&tsri_rows[op].field[j], &r);
    }
    char *x = insts_text(&a), *y = insts_text(&b);
    assert_int_equal(!strcmp(x, y), insts_same(&a, &b));
    tsr_mem_free(x);
    tsr_mem_free(y);
  }
}

static void the_manual_tells_every_instruction_and_operand(void **state) {
  (void)state;
  struct tsr_str s = TSR_STR_INIT;
  tsr_isa_manual(&s);
  assert_non_null(s.p);
  const char *at = s.p;
  FOR_ROWS(op) {
    const struct tsri_row *row = &tsri_rows[op];
    at = strstr(at, row->mnemonic);
    assert_non_null(at);
    assert_non_null(strstr(at, row->doc));
    FOR_FIELDS(row, j) {
      char begins[32]; /* the operand's line */
      snprintf(begins, sizeof begins, "\n        %-7s word ", row->field[j].name);
      at = strstr(at, begins);
      assert_non_null(at++);
      const char *const *names = tsri_kinds[row->field[j].kind].names;
      for (int v = 0; names && names[v]; v++) assert_non_null(strstr(at, names[v]));
      const char *line = strchr(at, '\n'), *left_out = strstr(at, "; left out: ");
      assert_non_null(line);
      assert_int_equal(row->field[j].omitted >= 0, left_out && left_out < line);
    }
  }
  tsr_str_fini(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_well_formed),
      cmocka_unit_test(no_two_encodings_overlap),
      cmocka_unit_test(every_row_round_trips),
      cmocka_unit_test(random_words_decode_canonically_or_are_refused),
      cmocka_unit_test(bits_that_no_field_covers_are_refused),
      cmocka_unit_test(values_outside_a_list_are_refused),
      cmocka_unit_test(known_instructions_have_known_text),
      cmocka_unit_test(a_name_that_is_not_there_is_shown_as_its_number),
      cmocka_unit_test(different_instructions_have_different_text),
      cmocka_unit_test(the_manual_tells_every_instruction_and_operand),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  insts_names_fini();
  return failed;
}
