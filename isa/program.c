/* Programs and sets of them in memory. */
#include <string.h>

#include "isa/isa_int.h"
#include "sim/base/mem.h"

void tsr_isa_program_fini(struct tsr_program *p) {
  if (!p->borrowed) {
    tsr_mem_free(p->inst);
    for (size_t i = 0; i < p->n_names; i++) tsr_mem_free(p->name[i]);
    tsr_mem_free(p->name);
  }
  *p = (struct tsr_program){0};
}

void tsr_isa_emit(struct tsr_program *p, enum tsr_isa_op op, const int64_t *f) {
  if (p->failed || p->borrowed ||
      !tsr_mem_grow((void **)&p->inst, &p->cap, p->n + 1, sizeof *p->inst)) {
    p->failed = true;
    return;
  }
  struct tsr_inst *i = &p->inst[p->n++];
  i->op = (uint8_t)op;
  for (int j = 0; j < TSR_ISA_FIELDS_MAX; j++) i->f[j] = tsri_rows[op].field[j].name ? f[j] : 0;
}

/* ---- names ---- */

bool tsri_name_valid(const char *name, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (name[i] < ' ' || name[i] > '~' || name[i] == '"') return false;
  return n >= 1 && n <= TSR_ISA_NAME_MAX;
}

size_t tsri_name_find(const struct tsr_program *p, const char *name) {
  size_t i = 0;
  while (i < p->n_names && strcmp(p->name[i], name) != 0) i++;
  return i;
}

bool tsri_name_append(struct tsr_program *p, const char *name, size_t n) {
  char *copy = tsr_mem_strndup(name, n);
  if (!copy || p->borrowed || p->n_names == TSR_ISA_NAMES ||
      !tsr_mem_grow((void **)&p->name, &p->cap_names, p->n_names + 1, sizeof *p->name)) {
    tsr_mem_free(copy);
    p->failed = true;
    return false;
  }
  p->name[p->n_names++] = copy;
  return true;
}

int64_t tsr_isa_name(struct tsr_program *p, const char *name) {
  size_t i = tsri_name_find(p, name);
  if (i == p->n_names && !tsri_name_append(p, name, strlen(name))) return 0;
  return (int64_t)i;
}

/* ---- sets ---- */

bool tsri_program_same(const struct tsr_program *a, const struct tsr_program *b) {
  if (a->n != b->n || a->n_names != b->n_names) return false;
  if (a->inst == b->inst && a->name == b->name) return true;
  for (size_t i = 0; i < a->n_names; i++)
    if (strcmp(a->name[i], b->name[i]) != 0) return false;
  for (size_t i = 0; i < a->n; i++)
    if (a->inst[i].op != b->inst[i].op ||
        memcmp(a->inst[i].f, b->inst[i].f, sizeof a->inst[i].f) != 0)
      return false;
  return true;
}

void tsr_isa_set_fini(struct tsr_program_set *s) {
  for (size_t i = 0; i < s->n; i++) tsr_isa_program_fini(&s->program[i]);
  tsr_mem_free(s->program);
  tsr_mem_free(s->machine);
  *s = (struct tsr_program_set){0};
}

/* A program that an earlier core runs too gives way to that one. */
static void share(const struct tsr_program_set *s, struct tsr_program *p) {
  for (size_t i = 0; i < s->n; i++) {
    if (s->program[i].borrowed || !tsri_program_same(&s->program[i], p)) continue;
    struct tsr_program same = s->program[i];
    same.borrowed = true;
    tsr_isa_program_fini(p);
    *p = same;
    return;
  }
}

enum tsr_status tsr_isa_set_add(struct tsr_program_set *s, struct tsr_program *p, size_t cores,
                                struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  TSR_CHECK(cores >= 1);
  if (cores > TSR_ISA_CORES - s->n)
    st = tsr_err_set(err, TSR_INPUT, "too many cores; expected at most %d, got %zu",
                     (int)TSR_ISA_CORES, s->n + cores);
  else if (p->failed ||
           !tsr_mem_grow((void **)&s->program, &s->cap, s->n + cores, sizeof *s->program))
    st = tsr_err_nomem(err);
  if (st) {
    tsr_isa_program_fini(p);
    return st;
  }
  share(s, p);
  for (size_t i = 0; i < cores; i++) {
    s->program[s->n++] = *p;
    p->borrowed = true;
  }
  *p = (struct tsr_program){0};
  return TSR_OK;
}

enum tsr_status tsr_isa_set_machine(struct tsr_program_set *s, const char *name, uint64_t hash,
                                    struct tsr_err *err) {
  char *copy = NULL;
  if (name && !tsri_name_valid(name, strlen(name)))
    return tsr_err_set(err, TSR_INPUT,
                       "no name of a machine; expected 1 to %d printable ASCII characters "
                       "without a quote, got '%s'",
                       (int)TSR_ISA_NAME_MAX, name);
  if (name && !(copy = tsr_mem_strdup(name))) return tsr_err_nomem(err);
  tsr_mem_free(s->machine);
  s->machine = copy;
  s->machine_hash = copy ? hash : 0;
  return TSR_OK;
}
