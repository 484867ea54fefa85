/* Instructions as text, and the manual, from the table alone. */
#include <inttypes.h>

#include "isa/isa_int.h"

static void print_operand(const struct tsri_field *f, int64_t v, struct tsr_str *out) {
  const struct tsri_kind_row *k = &tsri_kinds[f->kind];
  if (k->names)
    tsr_str_add(out, k->names[v]);
  else if (k->last && v == (int64_t)k->count - 1)
    tsr_str_add(out, k->last);
  else if (k->prefix)
    tsr_str_addf(out, "%s%" PRId64, k->prefix, v);
  else if (f->kind == TSRI_S)
    tsr_str_addf(out, "%s=%" PRId64, f->name, v);
  else
    tsr_str_addf(out, "%s=%" PRIu64, f->name, (uint64_t)v);
}

void tsr_isa_print(const struct tsr_inst *i, struct tsr_str *out) {
  const struct tsri_row *row = &tsri_rows[i->op];
  tsr_str_add(out, row->mnemonic);
  for (int j = 0; j < TSR_ISA_FIELDS_MAX && row->field[j].name; j++) {
    tsr_str_add(out, j ? ", " : " ");
    print_operand(&row->field[j], i->f[j], out);
  }
}

void tsr_isa_disasm(const struct tsr_program *p, struct tsr_str *out) {
  int depth = 0;
  for (size_t i = 0; i < p->n; i++) {
    if (p->inst[i].op == TSR_ISA_END && depth > 0) depth--;
    for (int d = 0; d < depth; d++) tsr_str_add(out, "  ");
    tsr_isa_print(&p->inst[i], out);
    tsr_str_add(out, "\n");
    if (p->inst[i].op == TSR_ISA_LOOP) depth++;
  }
}

void tsr_isa_manual(struct tsr_str *out) {
  for (int op = 0; op < TSR_ISA_OP_COUNT; op++) {
    const struct tsri_row *row = &tsri_rows[op];
    tsr_str_addf(out, "%-7s opcode %d, %d word%s: %s\n", row->mnemonic, op, row->words,
                 row->words == 1 ? "" : "s", row->doc);
    for (int j = 0; j < TSR_ISA_FIELDS_MAX && row->field[j].name; j++) {
      const struct tsri_field *f = &row->field[j];
      tsr_str_addf(out, "        %-7s word %d bits %d-%d", f->name, f->word, f->low,
                   f->low + f->width - 1);
      const char *const *names = tsri_kinds[f->kind].names;
      for (int v = 0; names && names[v]; v++)
        tsr_str_addf(out, "%s%s", v ? " " : ": ", names[v]);
      tsr_str_add(out, "\n");
    }
  }
}
