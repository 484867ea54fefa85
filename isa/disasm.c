/* Instructions as text, and the manual, from the table alone. */
#include <inttypes.h>

#include "isa/isa_int.h"

/* The members of a set, or `none`. */
static void print_set(const struct tsri_kind_row *k, uint64_t v, struct tsr_str *out) {
  if (!v) tsr_str_add(out, "none");
  for (uint32_t i = 0, shown = 0; v >> i; i++) {
    if (!(v >> i & 1)) continue;
    if (shown++) tsr_str_add(out, "|");
    if (k->names)
      tsr_str_add(out, k->names[i]);
    else
      tsr_str_addf(out, "%s%" PRIu32, k->prefix, i);
  }
}

static void print_operand(const struct tsr_program *p, const struct tsri_field *f, int64_t v,
                          struct tsr_str *out) {
  const struct tsri_kind_row *k = &tsri_kinds[f->kind];
  bool bare = k->quoted ? p && (uint64_t)v < p->n_names : (k->names || k->prefix) && !k->set;
  if (!bare) tsr_str_addf(out, "%s=", f->name);
  if (k->set)
    print_set(k, (uint64_t)v, out);
  else if (k->quoted && bare)
    tsr_str_addf(out, "\"%s\"", p->name[v]);
  else if (k->names)
    tsr_str_add(out, k->names[v]);
  else if (k->last && v == (int64_t)k->count - 1)
    tsr_str_add(out, k->last);
  else if (k->prefix)
    tsr_str_addf(out, "%s%" PRId64, k->prefix, v);
  else if (f->kind == TSRI_S)
    tsr_str_addf(out, "%" PRId64, v);
  else
    tsr_str_addf(out, "%" PRIu64, (uint64_t)v);
}

void tsr_isa_print(const struct tsr_program *p, const struct tsr_inst *i, struct tsr_str *out) {
  const struct tsri_row *row = &tsri_rows[i->op];
  tsr_str_add(out, row->mnemonic);
  for (int j = 0; j < TSR_ISA_FIELDS_MAX && row->field[j].name; j++) {
    tsr_str_add(out, j ? ", " : " ");
    print_operand(p, &row->field[j], i->f[j], out);
  }
}

void tsr_isa_disasm(const struct tsr_program *p, struct tsr_str *out) {
  int depth = 0;
  for (size_t i = 0; i < p->n; i++) {
    if (p->inst[i].op == TSR_ISA_END && depth > 0) depth--;
    for (int d = 0; d < depth; d++) tsr_str_add(out, "  ");
    tsr_isa_print(p, &p->inst[i], out);
    tsr_str_add(out, "\n");
    if (p->inst[i].op == TSR_ISA_LOOP) depth++;
  }
}

void tsr_isa_set_disasm(const struct tsr_program_set *s, struct tsr_str *out) {
  if (s->machine)
    tsr_str_addf(out, ".machine \"%s\", 0x%016" PRIx64 "\n", s->machine, s->machine_hash);
  for (size_t i = 0, next; i < s->n; i = next) {
    for (next = i + 1; next < s->n && tsri_program_same(&s->program[i], &s->program[next]);)
      next++;
    if (next - i > 1)
      tsr_str_addf(out, ".core %zu-%zu\n", i, next - 1);
    else if (s->n > 1)
      tsr_str_addf(out, ".core %zu\n", i);
    tsr_isa_disasm(&s->program[i], out);
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
      const struct tsri_kind_row *k = &tsri_kinds[f->kind];
      for (int v = 0; k->names && k->names[v]; v++)
        tsr_str_addf(out, "%s%s", v ? " " : k->set ? ": a set of " : ": ", k->names[v]);
      if (f->omitted >= 0) {
        tsr_str_add(out, "; left out: ");
        print_operand(NULL, f, f->omitted, out);
      }
      tsr_str_add(out, "\n");
    }
  }
}
