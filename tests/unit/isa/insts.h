/* Random instructions, from the table alone. */
#ifndef TSR_TESTS_UNIT_ISA_INSTS_H
#define TSR_TESTS_UNIT_ISA_INSTS_H

#include "isa/isa_int.h"
#include "sim/base/rng.h"

#define FOR_ROWS(op) for (int op = 0; op < TSR_ISA_OP_COUNT; op++)
#define FOR_FIELDS(row, j) for (int j = 0; j < TSR_ISA_FIELDS_MAX && (row)->field[j].name; j++)

uint64_t insts_mask(unsigned width);
/* A value that the field takes; edges often. */
int64_t insts_random_value(const struct tsri_field *f, struct tsr_rng *r);
struct tsr_inst insts_random(int op, struct tsr_rng *r);
bool insts_same(const struct tsr_inst *a, const struct tsr_inst *b);
/* Every number of a name has one here. */
const struct tsr_program *insts_names(void);
void insts_names_fini(void);
/* As the disassembler prints it, with those names; owned by the caller, fails the test without
 * memory. */
char *insts_text(const struct tsr_inst *i);

#endif
