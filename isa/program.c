/* Whole programs: the structural check and the container. */
#include <string.h>

#include "isa/isa_int.h"
#include "sim/base/mem.h"

static const char magic[8] = {'T', 'S', 'R', 'P', 'R', 'O', 'G', '1'};
enum { HEADER_BYTES = 24 }; /* magic, number of words, hash */

static bool bad(struct tsri_flaw *flaw, size_t at, const char *what) {
  *flaw = (struct tsri_flaw){at, at, what};
  return false;
}

static bool check_fits(const struct tsr_program *p, struct tsri_flaw *flaw) {
  for (size_t i = 0; i < p->n; i++)
    if (!tsri_operands_fit(&p->inst[i])) return bad(flaw, i, "an operand is outside its range");
  return true;
}

/* Loops close in the order opposite to their opening and are not reopened inside
 * themselves. */
static bool check_loops(const struct tsr_program *p, struct tsri_flaw *flaw) {
  int64_t stack[TSR_ISA_LOOPS];
  size_t opened[TSR_ISA_LOOPS];
  unsigned depth = 0, open = 0;
  for (size_t i = 0; i < p->n; i++) {
    const struct tsr_inst *in = &p->inst[i];
    if (in->op == TSR_ISA_LOOP) {
      if (in->f[0] == TSR_ISA_NO_LOOP || open & 1u << in->f[0])
        return bad(flaw, i, "this loop register is open already or is none");
      if (in->f[1] == 0) return bad(flaw, i, "a loop runs at least once");
      open |= 1u << in->f[0];
      opened[depth] = i;
      stack[depth++] = in->f[0];
    } else if (in->op == TSR_ISA_END) {
      if (depth == 0 || stack[depth - 1] != in->f[0])
        return bad(flaw, i, "this loop is not the innermost open one");
      open &= ~(1u << stack[--depth]);
    }
  }
  if (depth == 0) return true;
  *flaw = (struct tsri_flaw){p->n, opened[depth - 1], "a loop is not closed"};
  return false;
}

static bool check_operands(const struct tsr_program *p, struct tsri_flaw *flaw) {
  for (size_t i = 0; i < p->n; i++) {
    const struct tsr_inst *in = &p->inst[i];
    bool dims = in->op == TSR_ISA_DIM || in->op == TSR_ISA_BOX || in->op == TSR_ISA_START ||
                in->op == TSR_ISA_WALK || in->op == TSR_ISA_FEED;
    if (dims && in->f[1] >= TSR_ISA_DIMS) return bad(flaw, i, "a tensor has dimensions 0 to 3");
    if (in->op == TSR_ISA_BOX && (in->f[2] == 0 || in->f[3] == 0))
      return bad(flaw, i, "extent and step are at least 1");
    if (in->op == TSR_ISA_AXIS && (in->f[2] == 0 || in->f[3] == 0))
      return bad(flaw, i, "size and tile are at least 1");
    if (in->op == TSR_ISA_TENSOR && in->f[2] == 0)
      return bad(flaw, i, "an element has at least 1 byte");
    if (in->op == TSR_ISA_PLACE && (in->f[3] == 0 || in->f[5] == 0))
      return bad(flaw, i, "an element has at least 1 byte, and so has what moves wrap in");
    if (in->op == TSR_ISA_WAIT && in->f[3] == 0) return bad(flaw, i, "a wait takes at least 1");
    if (in->op == TSR_ISA_MM && in->f[7] == 0) return bad(flaw, i, "the rate is at least 1");
    if (in->op == TSR_ISA_PRELOAD && in->f[2] == 0)
      return bad(flaw, i, "the rate is at least 1");
    if (in->op == TSR_ISA_HALT && i + 1 != p->n) return bad(flaw, i, "halt before the end");
  }
  return true;
}

bool tsri_program_sound(const struct tsr_program *p, struct tsri_flaw *flaw) {
  if (p->n == 0 || p->inst[p->n - 1].op != TSR_ISA_HALT)
    return bad(flaw, p->n, "a program ends with halt");
  return check_fits(p, flaw) && check_loops(p, flaw) && check_operands(p, flaw);
}

enum tsr_status tsr_isa_check(const struct tsr_program *p, struct tsr_err *err) {
  struct tsri_flaw flaw;
  if (tsri_program_sound(p, &flaw)) return TSR_OK;
  return tsr_err_set(err, TSR_INPUT, "instruction %zu: %s", flaw.at, flaw.what);
}

static void put_le(uint8_t *b, uint64_t v) {
  for (int i = 0; i < 8; i++) b[i] = (uint8_t)(v >> 8 * i);
}
static uint64_t get_le(const uint8_t *b) {
  uint64_t v = 0;
  for (int i = 0; i < 8; i++) v |= (uint64_t)b[i] << 8 * i;
  return v;
}

enum tsr_status tsr_isa_save(const struct tsr_program *p, uint8_t **bytes, size_t *n,
                             struct tsr_err *err) {
  uint8_t *out = tsr_mem_array(p->n * TSR_ISA_WORDS_MAX + HEADER_BYTES / 8, 8);
  if (!out) return tsr_err_nomem(err);
  size_t at = HEADER_BYTES;
  for (size_t i = 0; i < p->n; i++) {
    uint64_t words[TSR_ISA_WORDS_MAX];
    size_t used = tsr_isa_encode(&p->inst[i], words);
    for (size_t w = 0; w < used; w++, at += 8) put_le(out + at, words[w]);
  }
  memcpy(out, magic, sizeof magic);
  put_le(out + 8, (at - HEADER_BYTES) / 8);
  put_le(out + 16, tsr_fnv1a(TSR_FNV_INIT, out + HEADER_BYTES, at - HEADER_BYTES));
  *bytes = out;
  *n = at;
  return TSR_OK;
}

static enum tsr_status check_header(const char *path, const uint8_t *bytes, size_t n,
                                    struct tsr_err *err) {
  if (n < HEADER_BYTES || memcmp(bytes, magic, sizeof magic) != 0)
    return tsr_err_set(err, TSR_INPUT, "%s: no program; expected it to begin with TSRPROG1",
                       path);
  uint64_t words = get_le(bytes + 8), have = (n - HEADER_BYTES) / 8;
  if (words != have || (n - HEADER_BYTES) % 8 != 0)
    return tsr_err_set(err, TSR_INPUT,
                       "%s: the program is cut short or too long; expected %llu words, got "
                       "%llu bytes",
                       path, (unsigned long long)words, (unsigned long long)(n - HEADER_BYTES));
  if (get_le(bytes + 16) != tsr_fnv1a(TSR_FNV_INIT, bytes + HEADER_BYTES, n - HEADER_BYTES))
    return tsr_err_set(err, TSR_INPUT, "%s: the program is damaged: its hash does not agree",
                       path);
  return TSR_OK;
}

enum tsr_status tsr_isa_load(const char *path, const uint8_t *bytes, size_t n,
                             struct tsr_program *out, struct tsr_err *err) {
  enum tsr_status st = check_header(path, bytes, n, err);
  if (st) return st;
  struct tsr_program p = {0};
  for (size_t at = HEADER_BYTES; at < n;) {
    uint64_t words[TSR_ISA_WORDS_MAX];
    size_t have = 0;
    for (; have < TSR_ISA_WORDS_MAX && at + 8 * have < n; have++)
      words[have] = get_le(bytes + at + 8 * have);
    struct tsr_inst in;
    size_t used = tsr_isa_decode(words, have, &in);
    if (used == 0) {
      tsr_isa_program_fini(&p);
      return tsr_err_set(err, TSR_INPUT, "%s: byte %zu: no instruction: word %016llx", path, at,
                         (unsigned long long)words[0]);
    }
    tsr_isa_emit(&p, in.op, in.f);
    at += 8 * used;
  }
  st = p.failed ? tsr_err_nomem(err) : tsr_isa_check(&p, err);
  if (st) {
    tsr_isa_program_fini(&p);
    return st;
  }
  *out = p;
  return TSR_OK;
}
