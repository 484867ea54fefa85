#include "isa/isa_int.h"

#include <string.h>

#include "sim/base/mem.h"

#define INST(id, mnemonic, words, doc, fields) \
  {mnemonic, words, doc, {fields{NULL, TSRI_U, 0, 0, 0}}},
#define F(name, kind, word, low, width) {name, TSRI_##kind, word, low, width},
const struct tsri_row tsri_rows[TSR_ISA_OP_COUNT] = {
#include "isa/isa.def"
};
#undef INST
#undef F

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

const struct tsri_kind_row tsri_kinds[TSRI_KINDS] = {
    [TSRI_U] = {NULL, NULL, 0, NULL},
    [TSRI_S] = {NULL, NULL, 0, NULL},
    [TSRI_T] = {"t", NULL, TSR_ISA_TENSORS, NULL},
    [TSRI_L] = {"l", NULL, TSR_ISA_LOOPS + 1, "none"},
    [TSRI_X] = {NULL, tsr_isa_axis_names, TSR_AXIS_COUNT, NULL},
    [TSRI_B] = {NULL, tsr_isa_buf_names, TSR_ISA_BUFS, NULL},
    [TSRI_N] = {NULL, tsr_isa_unit_names, TSR_ISA_UNITS, NULL},
    [TSRI_W] = {NULL, when_names, TSR_ISA_WHENS, NULL},
    [TSRI_P] = {NULL, gate_names, TSR_ISA_GATES, NULL},
    [TSRI_M] = {"s", NULL, TSR_ISA_SEMS, NULL},
    [TSRI_A] = {"p", NULL, TSR_ISA_PLACES, NULL},
    [TSRI_Q] = {"f", NULL, TSR_ISA_FORMATS, NULL},
    [TSRI_R] = {NULL, to_names, TSR_ISA_TOS, NULL},
    [TSRI_V] = {NULL, vec_names, sizeof vec_names / sizeof vec_names[0] - 1, NULL},
    [TSRI_C] = {NULL, bc_names, TSR_ISA_BCS, NULL},
    [TSRI_Z] = {NULL, sparse_names, TSR_ISA_SPARSES, NULL},
    [TSRI_J] = {NULL, NULL, TSR_ISA_NAMES, NULL},
};

const char *tsr_isa_mnemonic(enum tsr_isa_op op) {
  return tsri_rows[op].mnemonic;
}

const char *tsr_isa_doc(enum tsr_isa_op op) {
  return tsri_rows[op].doc;
}

void tsr_isa_program_fini(struct tsr_program *p) {
  tsr_mem_free(p->inst);
  for (size_t i = 0; i < p->n_names; i++) tsr_mem_free(p->name[i]);
  tsr_mem_free(p->name);
  *p = (struct tsr_program){0};
}

int64_t tsr_isa_name(struct tsr_program *p, const char *name) {
  for (size_t i = 0; i < p->n_names; i++)
    if (!strcmp(p->name[i], name)) return (int64_t)i;
  size_t n = strlen(name) + 1;
  char *copy = tsr_mem_alloc(n);
  if (!copy || p->n_names == TSR_ISA_NAMES ||
      !tsr_mem_grow((void **)&p->name, &p->cap_names, p->n_names + 1, sizeof *p->name)) {
    tsr_mem_free(copy);
    p->failed = true;
    return 0;
  }
  memcpy(copy, name, n);
  p->name[p->n_names] = copy;
  return (int64_t)p->n_names++;
}

void tsr_isa_emit(struct tsr_program *p, enum tsr_isa_op op, const int64_t *f) {
  if (p->failed || !tsr_mem_grow((void **)&p->inst, &p->cap, p->n + 1, sizeof *p->inst)) {
    p->failed = true;
    return;
  }
  struct tsr_inst *i = &p->inst[p->n++];
  i->op = (uint8_t)op;
  for (int j = 0; j < TSR_ISA_FIELDS_MAX; j++) i->f[j] = tsri_rows[op].field[j].name ? f[j] : 0;
}
