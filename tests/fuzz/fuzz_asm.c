/* The assembler: any bytes give sound programs or an error with a message; what is
 * assembled prints as a text that assembles to the same programs.  The mutator knows the
 * words of the instruction set from its table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa_int.h"
#include "sim/base/rng.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
/* Of libFuzzer; a replay has none. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static void require(bool good) {
  if (!good) abort();
}

static void check_set(const struct tsr_program_set *s) {
  struct tsr_str text = TSR_STR_INIT;
  struct tsr_program_set again = {0};
  tsr_isa_set_disasm(s, &text);
  require(!text.failed);
  require(tsr_isa_set_assemble("again.s", text.p, text.n, &again, NULL) == TSR_OK);
  require(again.n == s->n && again.machine_hash == s->machine_hash);
  require(!again.machine == !s->machine);
  require(!s->machine || !strcmp(again.machine, s->machine));
  for (size_t i = 0; i < s->n; i++) {
    if (i && s->program[i].borrowed && s->program[i].inst == s->program[i - 1].inst) continue;
    require(tsr_isa_check(&s->program[i], NULL) == TSR_OK);
    require(tsri_program_same(&again.program[i], &s->program[i]));
  }
  tsr_isa_set_fini(&again);
  tsr_str_fini(&text);
}

/* Every message says where. */
static void check_messages(const struct tsr_err *err, bool placed) {
  for (size_t i = 0; i < err->n; i++)
    require(!strncmp(err->msg[i], placed ? "fuzz.s:" : "error: ", 7));
}

/* A program is what a set of one core for any machine is. */
static void check_one(const char *text, size_t size, const struct tsr_program_set *s) {
  struct tsr_program p = {0};
  enum tsr_status st = tsr_isa_assemble("fuzz.s", text, size, &p, NULL);
  require((st == TSR_OK) == (s->n == 1 && !s->machine));
  require(st != TSR_OK || tsri_program_same(&p, &s->program[0]));
  tsr_isa_program_fini(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tsr_program_set s = {0};
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status st = tsr_isa_set_assemble("fuzz.s", (const char *)data, size, &s, &err);
  require((st == TSR_OK) == (s.n > 0));
  require((st == TSR_OK) == (err.total == 0));
  require(st == err.status);
  bool binary = size >= 16 && !memcmp(data, "TSRPROG", 7) && memchr(data + 8, 0, 8);
  check_messages(&err, !binary);
  check_one((const char *)data, size, &s);
  if (st == TSR_OK) check_set(&s);
  tsr_isa_set_fini(&s);
  tsr_err_fini(&err);
  return 0;
}

/* ---- mutation ---- */

static size_t pick(struct tsr_rng *r, size_t n) {
  return (size_t)tsr_rng_range(r, 0, n - 1);
}

/* A value as it might stand for an operand: a word, a register, a set, a number. */
static int write_value(const struct tsri_field *f, struct tsr_rng *r, char *out, size_t max) {
  static const char *const numbers[] = {
      "0", "1", "2", "3", "64", "4KiB", "-1", "0xffff", "18446744073709551615"};
  const struct tsri_kind_row *k = &tsri_kinds[f->kind];
  if (k->quoted) return snprintf(out, max, "\"f%zu\"", pick(r, 3));
  if (k->names && k->set)
    return snprintf(out, max, "%s|%s", k->names[pick(r, 4)], k->names[4 + pick(r, 4)]);
  if (k->names) return snprintf(out, max, "%s", k->names[pick(r, k->count)]);
  if (k->prefix) return snprintf(out, max, "%s%zu", k->prefix, pick(r, 3));
  return snprintf(out, max, "%s", numbers[pick(r, sizeof numbers / sizeof *numbers)]);
}

/* An instruction with its operands, most of which fit; or one word of it. */
static size_t write_piece(struct tsr_rng *r, char *out, size_t max) {
  static const char *const others[] = {".core 0\n", ".core 1-3\n", ".machine \"m\", 1\n",
                                       "none",      "halt\n",      "x = 3\n",
                                       "x: ",       "; "};
  const struct tsri_row *row = &tsri_rows[pick(r, TSR_ISA_OP_COUNT)];
  if (pick(r, 8) == 0)
    return (size_t)snprintf(out, max, "%s", others[pick(r, sizeof others / sizeof *others)]);
  size_t n = 0;
  bool named = pick(r, 2), whole = pick(r, 4);
  if (whole) n = (size_t)snprintf(out, max, "%s ", row->mnemonic);
  for (int j = 0; row->field[j].name && n < max; j++) {
    if (whole ? row->field[j].omitted >= 0 && pick(r, 2) : pick(r, 4) != 0) continue;
    if (n && out[n - 1] != ' ') n += (size_t)snprintf(out + n, max - n, ", ");
    if (named && n < max) n += (size_t)snprintf(out + n, max - n, "%s=", row->field[j].name);
    if (n < max) n += (size_t)write_value(&row->field[j], r, out + n, max - n);
  }
  if (whole && n < max) n += (size_t)snprintf(out + n, max - n, "\n");
  return n < max ? n : max - 1;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
  struct tsr_rng r = {seed};
  char piece[256];
  if (LLVMFuzzerMutate && pick(&r, 2)) return LLVMFuzzerMutate(data, size, max);
  size_t n = write_piece(&r, piece, sizeof piece), at = size ? pick(&r, size + 1) : 0;
  if (pick(&r, 4)) /* at the beginning of a line */
    while (at > 0 && data[at - 1] != '\n') at--;
  size_t end = at; /* what it replaces */
  if (pick(&r, 2))
    while (end < size && data[end++] != '\n') {
    }
  if (size - (end - at) + n > max)
    return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, max) : size;
  memmove(data + at + n, data + end, size - end);
  memcpy(data + at, piece, n);
  return size - (end - at) + n;
}
