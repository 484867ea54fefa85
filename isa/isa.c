#include "isa/isa_int.h"

#include <string.h>

#include "sim/base/mem.h"

#define INST(id, mnemonic, words, doc, fields) \
  {mnemonic, words, doc, {fields{NULL, TSRI_U, 0, 0, 0, -1}}},
#define F(name, kind, word, low, width) {name, TSRI_##kind, word, low, width, -1},
#define D(name, kind, word, low, width, value) {name, TSRI_##kind, word, low, width, value},
const struct tsri_row tsri_rows[TSR_ISA_OP_COUNT] = {
#include "isa/isa.def"
};
#undef INST
#undef F
#undef D

const char *const tsr_isa_axis_names[TSR_AXIS_COUNT + 1] = {"g",  "b",  "oh", "ow", "n",
                                                            "kh", "kw", "c",  NULL};
const char *const tsr_isa_unit_names[TSR_ISA_UNITS + 1] = {"load", "tile", "store", "vector",
                                                           NULL};
const char *const tsr_isa_buf_names[TSR_ISA_BUFS + 1] = {"a", "b", "c", NULL};
static const char *const when_names[TSR_ISA_WHENS + 1] = {"read", "done", NULL};
static const char *const gate_names[TSR_ISA_GATES + 1] = {"start", "result", NULL};
static const char *const to_names[TSR_ISA_TOS + 1] = {"own", "all", "first", NULL};
static const char *const bc_names[TSR_ISA_BCS + 1] = {"each", "row", "col", "one", NULL};
static const char *const sparse_names[TSR_ISA_SPARSES + 1] = {"dense", "sparse24", NULL};
#define VEC(id, name, kind, cls, doc) name,
static const char *const vec_names[] = {
#include "models/arith/vector.def"
    NULL};
#undef VEC
enum { VEC_COUNT = sizeof vec_names / sizeof vec_names[0] - 1 };

#define VEC(id, name, kind, cls, doc) TSRI_VEC_##kind,
static const uint8_t vec_kinds[VEC_COUNT] = {
#include "models/arith/vector.def"
};
#undef VEC

enum tsri_vec_kind tsri_vec_kind(int64_t op) {
  return (enum tsri_vec_kind)vec_kinds[op];
}

/* Of the pairs the rotations read it; compress24 writes its places there. */
bool tsri_vec_reads_b(int64_t op) {
  return vec_kinds[op] == TSRI_VEC_BINARY || vec_kinds[op] == TSRI_VEC_PAIR;
}

const struct tsri_kind_row tsri_kinds[TSRI_KINDS] = {
    [TSRI_U] = {0},
    [TSRI_S] = {0},
    [TSRI_T] = {.prefix = "t", .count = TSR_ISA_TENSORS},
    [TSRI_L] = {.prefix = "l", .count = TSR_ISA_LOOPS + 1, .last = "none"},
    [TSRI_X] = {.names = tsr_isa_axis_names, .count = TSR_AXIS_COUNT},
    [TSRI_B] = {.names = tsr_isa_buf_names, .count = TSR_ISA_BUFS},
    [TSRI_N] = {.names = tsr_isa_unit_names, .count = TSR_ISA_UNITS},
    [TSRI_W] = {.names = when_names, .count = TSR_ISA_WHENS},
    [TSRI_P] = {.names = gate_names, .count = TSR_ISA_GATES},
    [TSRI_M] = {.prefix = "s", .count = TSR_ISA_SEMS},
    [TSRI_A] = {.prefix = "p", .count = TSR_ISA_PLACES},
    [TSRI_Q] = {.prefix = "f", .count = TSR_ISA_FORMATS},
    [TSRI_R] = {.names = to_names, .count = TSR_ISA_TOS},
    [TSRI_V] = {.names = vec_names, .count = VEC_COUNT},
    [TSRI_C] = {.names = bc_names, .count = TSR_ISA_BCS},
    [TSRI_Z] = {.names = sparse_names, .count = TSR_ISA_SPARSES},
    [TSRI_J] = {.count = TSR_ISA_NAMES, .quoted = true},
    [TSRI_Y] = {.names = tsr_isa_axis_names, .count = 1u << TSR_AXIS_COUNT, .set = true},
    [TSRI_K] = {.prefix = "l", .count = 1u << TSR_ISA_LOOPS, .set = true},
};

const char *tsr_isa_mnemonic(enum tsr_isa_op op) {
  return tsri_rows[op].mnemonic;
}

const char *tsr_isa_doc(enum tsr_isa_op op) {
  return tsri_rows[op].doc;
}
