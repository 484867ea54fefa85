/* Programs: the structural check, names, the listing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "isa/isa_int.h"
#include "models/arith/vector.h"
#include "sim/base/mem.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))
#define I(op, ...)  \
  {                 \
    TSR_ISA_##op, { \
      __VA_ARGS__   \
    }               \
  }

enum { LIST_MAX = 10 };

static void build(const struct tsr_inst *list, size_t n, struct tsr_program *p) {
  *p = (struct tsr_program){0};
  assert_int_equal(tsr_isa_name(p, "fp16"), 0);
  bool named = false;
  for (size_t i = 0; i < n; i++) {
    tsr_isa_emit(p, (enum tsr_isa_op)list[i].op, list[i].f);
    named |= list[i].op == TSR_ISA_FORMAT;
  }
  if (!named) tsr_mem_free(p->name[--p->n_names]);
  assert_false(p->failed);
  assert_int_equal(p->n, n);
}

#define DESCRIBE_T0 I(FORMAT, 0, 0), I(TENSOR, 0, 0, 2, 4096), I(DIM, 0, 0, 16, 2)
#define DESCRIBE_PLACES I(PLACE, 0, 0, 0, 2, 0, 64), I(PLACE, 1, 2, 0, 4, 0, 64)

static const struct tsr_inst sample[] = {DESCRIBE_T0,
                                         I(BOX, 0, 0, 4, 1),
                                         I(START, 0, 0, -1),
                                         I(WALK, 0, 0, 0, 4),
                                         I(FEED, 0, 0, 3, 1),
                                         DESCRIBE_PLACES,
                                         I(ADVANCE, 0, 14, 8),
                                         I(AXIS, 3, 0, 16, 4),
                                         I(AXIS, 4, 15, 16, 4),
                                         I(SEM, 0, 2),
                                         I(LOOP, 0, 4),
                                         I(LOOP, 14, 2),
                                         I(WAIT, 0, 0, 0, 2),
                                         I(LOAD, 0, 0, 0),
                                         I(SIGNAL, 0, 3, 1, 0),
                                         I(MM, 1, 0, 0, 0, 0, 0, 0x4001, 1, 0, 9),
                                         I(VEC, TSR_VEC_RELU, 1, 1, 9, 0, 8, 16, 0, 0),
                                         I(END, 14),
                                         I(STORE, 0, 1),
                                         I(END, 0),
                                         I(HALT, 0)};

static void a_sound_program_passes(void **state) {
  (void)state;
  struct tsr_program p;
  build(sample, LEN(sample), &p);
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_isa_check(&p, &err)) fail_msg("%s", err.msg[0]);
  assert_int_equal(err.total, 0);
  tsr_isa_program_fini(&p);
  static const struct tsr_inst least[] = {I(HALT, 0)};
  build(least, 1, &p);
  assert_int_equal(tsr_isa_check(&p, &err), TSR_OK);
  tsr_isa_program_fini(&p);
}

#define H I(HALT, 0)
#define F0 I(FORMAT, 0, 0)
#define T0 F0, I(TENSOR, 0, 0, 2, 0)
#define D0 T0, I(DIM, 0, 0, 4, 2)
#define P0 F0, I(PLACE, 0, 0, 0, 2, 0, 64)

static void malformed_structures_are_refused(void **state) {
  (void)state;
  static const struct {
    size_t n;
    struct tsr_inst list[LIST_MAX];
    const char *says, *where;
  } rows[] = {
      {0, {{0}}, "ends with halt", "instruction 0 (end)"},
      {1, {I(SEM, 0, 1)}, "ends with halt", "instruction 1 (end)"},
      {2, {H, I(SEM, 0, 1)}, "ends with halt", "instruction 2 (end)"},
      {2, {H, H}, "halt before the end", "instruction 0 (halt)"},
      /* loops */
      {2, {I(LOOP, 0, 2), H}, "not closed", "instruction 2"},
      {2, {I(END, 0), H}, "innermost open", "instruction 0"},
      {4, {I(LOOP, 0, 2), I(END, 0), I(END, 0), H}, "innermost open", "instruction 2"},
      {5,
       {I(LOOP, 0, 2), I(LOOP, 1, 2), I(END, 0), I(END, 1), H},
       "innermost",
       "instruction 2"},
      {5,
       {I(LOOP, 3, 2), I(LOOP, 3, 2), I(END, 3), I(END, 3), H},
       "open already",
       "instruction 1"},
      {3, {I(LOOP, 15, 2), I(END, 15), H}, "none", "instruction 0 (loop)"},
      {3, {I(LOOP, 0, 0), I(END, 0), H}, "at least once", "instruction 0"},
      {2, {I(AXIS, 0, 1, 4, 4), H}, "has no loop l1", "instruction 0 (axis)"},
      {5, {D0, I(WALK, 0, 0, 2, 1), H}, "has no loop l2", "instruction 3 (walk)"},
      {5, {D0, I(WALK, 0, 0, 15, 1), H}, "never moves", "instruction 3"},
      {4, {P0, I(ADVANCE, 0, 0, 1), H}, "has no loop l0", "instruction 2 (advance)"},
      {4, {P0, I(ADVANCE, 0, 15, 1), H}, "never moves", "instruction 2"},
      /* sets of loops: open where they stand */
      {6,
       {P0, I(VEC, TSR_VEC_ROWSUM, 0, 0, 0, 0, 8, 16, 1, 0), I(LOOP, 0, 1), I(END, 0), H},
       "'over' has loop l0, which is not open here",
       "instruction 2 (vec)"},
      {6,
       {P0, I(LOOP, 0, 1), I(VEC, TSR_VEC_ROWSUM, 0, 0, 0, 0, 8, 16, 5, 0), I(END, 0), H},
       "'over' has loop l2, which is not open here",
       "instruction 3"},
      {6,
       {P0, I(LOOP, 0, 1), I(END, 0), I(VEC, TSR_VEC_ROWSUM, 0, 0, 0, 0, 8, 16, 1, 0), H},
       "loop l0, which is not open here",
       "instruction 4"},
      /* limits */
      {4, {T0, I(DIM, 0, 4, 1, 1), H}, "dimensions 0 to 3", "instruction 2"},
      {5, {D0, I(BOX, 0, 4, 1, 1), H}, "dimensions 0 to 3", "instruction 3"},
      {5, {D0, I(START, 0, 15, 1), H}, "dimensions 0 to 3", "instruction 3"},
      {5, {D0, I(WALK, 0, 4, 0, 1), H}, "dimensions 0 to 3", "instruction 3"},
      {5, {D0, I(FEED, 0, 4, 0, 1), H}, "dimensions 0 to 3", "instruction 3"},
      {4, {T0, I(DIM, 0, 0, 0, 1), H}, "size is at least 1", "instruction 2"},
      {5, {D0, I(BOX, 0, 0, 0, 1), H}, "extent is at least 1", "instruction 3"},
      {5, {D0, I(BOX, 0, 0, 1, 0), H}, "step is at least 1", "instruction 3"},
      {2, {I(AXIS, 0, 15, 0, 1), H}, "size is at least 1", "instruction 0"},
      {2, {I(AXIS, 0, 15, 1, 0), H}, "tile is at least 1", "instruction 0"},
      {3, {F0, I(TENSOR, 0, 0, 0, 1), H}, "at least 1 byte", "instruction 1"},
      {3, {F0, I(PLACE, 0, 0, 0, 0, 0, 1), H}, "at least 1 byte", "instruction 1"},
      {3, {F0, I(PLACE, 0, 0, 0, 1, 0, 0), H}, "wrap within at least 1", "instruction 1"},
      {2, {I(WAIT, 0, 0, 0, 0), H}, "takes at least 1", "instruction 0 (wait)"},
      {2, {I(MM, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), H}, "rate is at least 1", "instruction 0"},
      {2, {I(PRELOAD, 0, 0, 0), H}, "rate is at least 1", "instruction 0"},
      /* described above */
      {2, {I(TENSOR, 0, 3, 2, 0), H}, "format f3 is not described", "instruction 0"},
      {2, {I(PLACE, 0, 0, 5, 2, 0, 1), H}, "format f5 is not described", "instruction 0"},
      {2, {I(DIM, 15, 0, 1, 1), H}, "tensor t15 is not described", "instruction 0 (dim)"},
      {4, {T0, I(BOX, 0, 0, 1, 1), H}, "dimension 0 of t0 is not described", "instruction 2"},
      {4, {T0, I(START, 0, 1, 1), H}, "dimension 1 of t0 is not described", "instruction 2"},
      {5, {D0, I(FEED, 0, 1, 0, 1), H}, "dimension 1 of t0 is not described", "instruction 3"},
      {6, {T0, P0, I(LOAD, 0, 0, 0), H}, "tensor t0 has no dimension", "instruction 4 (load)"},
      {7,
       {D0, P0, I(LOAD, 0, 0, 0), H},
       "dimension 0 of t0 has no size or no box",
       "instruction 5"},
      {9,
       {D0, I(BOX, 0, 0, 1, 1), I(DIM, 0, 2, 1, 1), I(BOX, 0, 2, 1, 1), P0, H},
       NULL,
       NULL}, /* as long as nothing uses it */
      {9,
       {T0, I(DIM, 0, 1, 1, 1), I(BOX, 0, 1, 1, 1), P0, I(STORE, 0, 0), H, H},
       "halt before",
       "instruction 7"},
      {8,
       {T0, I(DIM, 0, 1, 1, 1), I(BOX, 0, 1, 1, 1), P0, I(STORE, 0, 0), H},
       "dimension 0 of t0 has no size or no box",
       "instruction 6 (store)"},
      {9,
       {D0, I(BOX, 0, 0, 1, 1), I(TENSOR, 0, 0, 2, 0), P0, I(LOAD, 0, 0, 0), H},
       "tensor t0 has no dimension",
       "instruction 7"}, /* described anew */
      {6, {D0, I(BOX, 0, 0, 1, 1), I(LOAD, 0, 7, 0), H}, "place p7 is not", "instruction 4"},
      {8,
       {D0, I(BOX, 0, 0, 1, 1), P0, I(GATHER, 0, 0, 1), H},
       "place p1 is not",
       "instruction 6"},
      {8,
       {D0, I(BOX, 0, 0, 1, 1), P0, I(SCATTER, 0, 0, 9), H},
       "place p9 is not",
       "instruction 6"},
      {4, {P0, I(PRELOAD, 0, 2, 1), H}, "tensor t2 is not", "instruction 2 (preload)"},
      {8,
       {D0, I(BOX, 0, 0, 1, 1), P0, I(MM, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0), H},
       "tensor t1 is not",
       "instruction 6 (mm)"},
      {8, {D0, I(BOX, 0, 0, 1, 1), P0, I(MM, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1), H}, NULL, NULL},
      {8,
       {D0, I(BOX, 0, 0, 1, 1), P0, I(MM, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1), H},
       "place p1 is not",
       "instruction 6"}, /* pm, which tells what pb holds */
      {4,
       {P0, I(VEC, TSR_VEC_RELU, 0, 0, 1, 0, 8, 16, 0, 0), H},
       NULL,
       NULL}, /* relu has no pb */
      {4,
       {P0, I(VEC, TSR_VEC_ADD, 0, 0, 1, 0, 8, 16, 0, 0), H},
       "place p1 is not",
       "instruction 2"},
      {4,
       {P0, I(VEC, TSR_VEC_ROPE, 0, 0, 1, 0, 8, 16, 0, 0), H},
       "place p1 is not",
       "instruction 2"},
      {4, {P0, I(VEC, TSR_VEC_ROWSUM, 0, 0, 1, 0, 8, 16, 0, 0), H}, NULL, NULL},
      {4,
       {P0, I(VEC, TSR_VEC_ROWSUM, 1, 0, 0, 0, 8, 16, 0, 0), H},
       "place p1 is not",
       "instruction 2"},
      /* sets of axes */
      {4,
       {P0, I(VEC, TSR_VEC_RELU, 0, 0, 0, 0, 24, 16, 0, 0), H},
       "axis n stands in two",
       "instruction 2"},
      {3,
       {I(WINDOW, TSR_VEC_POOLMAX, 0, 0, 0, 8, 16, 0x48, 0), H, H},
       "halt before",
       "instruction 1"},
      {2,
       {I(WINDOW, TSR_VEC_POOLMAX, 0, 0, 0, 8, 16, 0x48, 0), H},
       "axis ow stands in two",
       "instruction 0"},
      {2,
       {I(WINDOW, TSR_VEC_POOLMAX, 0, 0, 0, 8, 16, 0x50, 0), H},
       "axis n stands in two",
       "instruction 0"},
      {2,
       {I(WINDOW, TSR_VEC_ADD, 0, 0, 0, 8, 16, 0x40, 0), H},
       "takes an operation of windows",
       "instruction 0"},
      {6,
       {P0, I(LOOP, 0, 1), I(VEC, TSR_VEC_RELU, 0, 0, 0, 0, 8, 16, 1, 0), I(END, 0), H},
       "only a reduction",
       "instruction 3"},
      /* 64 bits: the last that fits, and one more */
      {3, {F0, I(TENSOR, 0, 0, 15, -16), H}, NULL, NULL},
      {3, {F0, I(TENSOR, 0, 0, 16, -16), H}, "beyond 2^64", "instruction 1"},
      {5, {T0, I(DIM, 0, 0, 2, -3), I(DIM, 0, 1, 1, -1), H}, NULL, NULL},
      {5, {T0, I(DIM, 0, 0, 2, -3), I(DIM, 0, 1, 2, 1), H}, "beyond 2^64", "instruction 3"},
      {5, {T0, I(DIM, 0, 0, 2, -3), I(DIM, 0, 0, 3, 1), H}, NULL, NULL}, /* described anew */
      {4, {T0, I(DIM, 0, 0, 2, -2), H}, "beyond 2^64", "instruction 2 (dim)"},
      {4, {T0, I(DIM, 0, 0, -1, 2), H}, "beyond 2^64", "instruction 2"},
      {5, {D0, I(BOX, 0, 0, -1, 1), H}, NULL, NULL},
      {5, {D0, I(BOX, 0, 0, -1, 2), H}, "beyond 2^64", "instruction 3 (box)"},
      {3, {F0, I(PLACE, 0, 0, 0, 1, -2, 1), H}, NULL, NULL},
      {3, {F0, I(PLACE, 0, 0, 0, 1, -2, 2), H}, "beyond 2^64", "instruction 1 (place)"},
      /* names */
      {2, {I(FORMAT, 0, 1), H}, "there is no name 1; the program has 1", "instruction 0"},
      {2, {I(FORMAT, 0, 63), H}, "there is no name 63", "instruction 0 (format)"},
      /* operands that no word holds, as only a caller of emit could make them */
      {2, {I(TENSOR, 16, 0, 2, 1), H}, "operand", "instruction 0"},
      {2, {I(TENSOR, 0, 0, 256, 1), H}, "operand", "instruction 0"},
      {2, {I(FORMAT, 16, 0), H}, "operand", "instruction 0"},
      {2, {I(FORMAT, 0, 64), H}, "operand", "instruction 0"},
      {2, {I(PLACE, 16, 0, 0, 1, 0, 1), H}, "operand", "instruction 0"},
      {2, {I(PLACE, 0, 3, 0, 1, 0, 1), H}, "operand", "instruction 0"},
      {2, {I(FEED, 0, 0, 8, 1), H}, "operand", "instruction 0"},
      {2, {I(SEM, 256, 1), H}, "operand", "instruction 0"},
      {2, {I(SEM, 0, -1), H}, "operand", "instruction 0"},
      {2, {I(SEM, 0, 65536), H}, "operand", "instruction 0"},
      {3, {I(LOOP, 16, 1), I(END, 16), H}, "operand", "instruction 0"},
      {2, {I(WAIT, 4, 0, 0, 1), H}, "operand", "instruction 0"},
      {2, {I(WAIT, 0, 0, 2, 1), H}, "operand", "instruction 0"},
      {2, {I(SIGNAL, 0, 0, 2, 0), H}, "operand", "instruction 0"},
      {2, {I(SIGNAL, 0, 0, 0, 3), H}, "operand", "instruction 0"},
      {2, {I(LOAD, 0, 0, 3), H}, "operand", "instruction 0"},
      {2, {I(MM, 0, 0, 0, 0, 0, 0, 0x8000, 1, 0, 0), H}, "operand", "instruction 0"},
      {2, {I(MM, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0), H}, "operand", "instruction 0"},
      {2, {I(VEC, 255, 0, 0, 0, 0, 0, 0, 0, 0), H}, "operand", "instruction 0"},
      {2, {I(VEC, 0, 0, 0, 0, 4, 0, 0, 0, 0), H}, "operand", "instruction 0"},
      {2, {I(VEC, 0, 0, 0, 0, 0, 256, 0, 0, 0), H}, "operand", "instruction 0"},
      {2, {I(VEC, 0, 0, 0, 0, 0, 0, 0, 0, -1), H}, "operand", "instruction 0"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_program p;
    struct tsr_err err = TSR_ERR_INIT;
    build(rows[i].list, rows[i].n, &p);
    enum tsr_status st = tsr_isa_check(&p, &err);
    const char *m = err.n ? err.msg[0] : "";
    if (rows[i].says ? st != TSR_INPUT || !strstr(m, rows[i].says) || !strstr(m, rows[i].where)
                     : st != TSR_OK)
      fail_msg("row %zu: %s, expected %s", i, m, rows[i].says ? rows[i].says : "none");
    assert_int_equal(err.total, rows[i].says != NULL);
    tsr_err_fini(&err);
    tsr_isa_program_fini(&p);
  }
}

/* Names that a text could not give back. */
static void names_out_of_order_or_form_are_refused(void **state) {
  (void)state;
  static char longest[TSR_ISA_NAME_MAX + 1], longer[TSR_ISA_NAME_MAX + 2];
  memset(longest, 'x', sizeof longest - 1);
  memset(longer, 'x', sizeof longer - 1);
  static const struct {
    const char *name[3];
    int64_t used[3]; /* by the instructions; -1: no more */
    const char *says;
  } rows[] = {
      {{"a", "b"}, {0, 1, -1}, NULL},
      {{"a", "b"}, {0, 1, 0}, NULL},
      {{"a", "b"}, {1, 0, -1}, "name 1 is used before name 0"},
      {{"a", "b"}, {0, 0, -1}, "name 1 is not used"},
      {{"a"}, {-1}, "name 0 is not used"},
      {{"a", "a"}, {0, 1, -1}, "name 1 is there twice"},
      {{""}, {0, -1}, "name 0 is not 1 to 63 printable"},
      {{longest}, {0, -1}, NULL},
      {{longer}, {0, -1}, "name 0 is not 1 to 63 printable"},
      {{"a", "b\"c"}, {0, 1, -1}, "name 1 is not 1 to 63 printable"},
      {{"a\tb"}, {0, -1}, "printable"},
      {{"a\x7f"}, {0, -1}, "printable"},
      {{"\xc3\xa4"}, {0, -1}, "printable"},
      {{"a \\;#~"}, {0, -1}, NULL},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_program p = {0};
    struct tsr_err err = TSR_ERR_INIT;
    for (int n = 0; n < 3 && rows[i].name[n]; n++)
      assert_true(tsri_name_append(&p, rows[i].name[n], strlen(rows[i].name[n])));
    for (int u = 0; u < 3 && rows[i].used[u] >= 0; u++)
      tsr_isa_emit(&p, TSR_ISA_FORMAT, (const int64_t[TSR_ISA_FIELDS_MAX]){u, rows[i].used[u]});
    tsr_isa_emit(&p, TSR_ISA_HALT, (const int64_t[TSR_ISA_FIELDS_MAX]){0});
    assert_int_equal(tsr_isa_check(&p, &err), rows[i].says ? TSR_INPUT : TSR_OK);
    if (rows[i].says && !strstr(err.msg[0], rows[i].says)) fail_msg("%zu: %s", i, err.msg[0]);
    tsr_err_fini(&err);
    tsr_isa_program_fini(&p);
  }
}

static void equal_names_have_one_number(void **state) {
  (void)state;
  struct tsr_program p = {0};
  assert_int_equal(tsr_isa_name(&p, "fp16"), 0);
  assert_int_equal(tsr_isa_name(&p, "fp8_e4m3"), 1);
  assert_int_equal(tsr_isa_name(&p, "fp16"), 0);
  assert_int_equal(p.n_names, 2);
  for (int i = 2; i < TSR_ISA_NAMES; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    assert_int_equal(tsr_isa_name(&p, name), i);
  }
  assert_false(p.failed);
  (void)tsr_isa_name(&p, "one more");
  assert_true(p.failed);
  tsr_isa_program_fini(&p);
}

static void the_listing_indents_loops(void **state) {
  (void)state;
  struct tsr_program p;
  build(sample, LEN(sample), &p);
  struct tsr_str s = TSR_STR_INIT;
  tsr_isa_disasm(&p, &s);
  const char *at = strstr(s.p, "sem ");
  assert_non_null(at);
  assert_string_equal(at, "sem s0, value=2\n"
                          "loop l0, trips=4\n"
                          "  loop l14, trips=2\n"
                          "    wait load, s0, start, n=2\n"
                          "    load t0, p0, own\n"
                          "    signal load, s3, done, own\n"
                          "    mm p1, p0, p0, t0, t0, t0, over=l0|l14, rate=1, dense, p9\n"
                          "    vec relu, p1, p1, p9, each, rows=ow, cols=n, over=none, imm=0\n"
                          "  end l14\n"
                          "  store t0, p1, shift=0\n"
                          "end l0\n"
                          "halt\n");
  tsr_str_fini(&s);
  tsr_isa_program_fini(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_sound_program_passes),
      cmocka_unit_test(malformed_structures_are_refused),
      cmocka_unit_test(names_out_of_order_or_form_are_refused),
      cmocka_unit_test(equal_names_have_one_number),
      cmocka_unit_test(the_listing_indents_loops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
