/* Sets of programs as bytes: the container TSRPROG2 (its form stands in isa.h). */
#include <stdarg.h>
#include <string.h>

#include "isa/isa_int.h"

static const char magic[] = "TSRPROG2";
enum { WORD = 8, MAGIC_DIGIT = 7, HEADER_BYTES = 3 * WORD }; /* magic, words, hash */

static void put_le(char *b, uint64_t v) {
  for (int i = 0; i < WORD; i++) b[i] = (char)(uint8_t)(v >> 8 * i);
}

static uint64_t get_le(const uint8_t *b) {
  uint64_t v = 0;
  for (int i = 0; i < WORD; i++) v |= (uint64_t)b[i] << 8 * i;
  return v;
}

static uint64_t words_of(uint64_t bytes) {
  return bytes / WORD + (bytes % WORD != 0);
}

/* ---- saving ---- */

static void put_word(struct tsr_str *out, uint64_t v) {
  char b[WORD];
  put_le(b, v);
  tsr_str_addn(out, b, WORD);
}

static void put_text(struct tsr_str *out, const char *text) {
  static const char zeros[WORD];
  size_t n = text ? strlen(text) : 0;
  put_word(out, n);
  if (n) tsr_str_addn(out, text, n);
  if (n % WORD) tsr_str_addn(out, zeros, WORD - n % WORD);
}

static void put_program(struct tsr_str *out, const struct tsr_program *p) {
  uint64_t words[TSR_ISA_WORDS_MAX], n = 0;
  put_word(out, p->n_names);
  for (size_t i = 0; i < p->n_names; i++) put_text(out, p->name[i]);
  for (size_t i = 0; i < p->n; i++) n += tsri_rows[p->inst[i].op].words;
  put_word(out, n);
  for (size_t i = 0; i < p->n; i++) {
    size_t used = tsr_isa_encode(&p->inst[i], words);
    for (size_t w = 0; w < used; w++) put_word(out, words[w]);
  }
}

/* number[i]: of the program of core i among the different ones, first[k]: the core of
 * which k is the first.  Returns how many there are. */
static size_t tell_apart(const struct tsr_program_set *s, size_t *number, size_t *first) {
  size_t n = 0;
  for (size_t i = 0; i < s->n; i++) {
    size_t k = i ? number[i - 1] : 0; /* most run what the core before them runs */
    if (i == 0 || !tsri_program_same(&s->program[first[k]], &s->program[i]))
      for (k = 0; k < n && !tsri_program_same(&s->program[first[k]], &s->program[i]);) k++;
    number[i] = k;
    if (k == n) first[n++] = i;
  }
  return n;
}

static void put_runs(struct tsr_str *out, const size_t *number, size_t n) {
  for (size_t i = 0, next; i < n; i = next) {
    for (next = i + 1; next < n && number[next] == number[i];) next++;
    put_word(out, next - i);
    put_word(out, number[i]);
  }
}

static enum tsr_status check_set(const struct tsr_program_set *s, struct tsr_err *err) {
  struct tsri_flaw flaw;
  if (s->n == 0) return tsr_err_set(err, TSR_INPUT, "no program; expected one for each core");
  if (s->machine && !tsri_name_valid(s->machine, strlen(s->machine)))
    return tsr_err_set(err, TSR_INPUT, "'%s' is no name of a machine", s->machine);
  for (size_t i = 0; i < s->n; i++) {
    if (i && s->program[i].inst == s->program[i - 1].inst) continue;
    if (!tsri_program_sound(&s->program[i], &flaw))
      return tsr_err_set(err, TSR_INPUT, "core %zu: instruction %zu: %s", i, flaw.at,
                         flaw.what);
  }
  return TSR_OK;
}

static void put_set(struct tsr_str *out, const struct tsr_program_set *s, size_t *number,
                    size_t *first) {
  size_t n = tell_apart(s, number, first);
  tsr_str_addn(out, magic, WORD);
  put_word(out, 0);
  put_word(out, 0);
  put_text(out, s->machine);
  put_word(out, s->machine ? s->machine_hash : 0);
  put_word(out, s->n);
  put_word(out, n);
  for (size_t k = 0; k < n; k++) put_program(out, &s->program[first[k]]);
  put_runs(out, number, s->n);
  if (out->failed) return;
  put_le(out->p + WORD, (out->n - HEADER_BYTES) / WORD);
  put_le(out->p + 2 * WORD,
         tsr_fnv1a(TSR_FNV_INIT, out->p + HEADER_BYTES, out->n - HEADER_BYTES));
}

enum tsr_status tsr_isa_set_save(const struct tsr_program_set *s, uint8_t **bytes, size_t *n,
                                 struct tsr_err *err) {
  enum tsr_status st = check_set(s, err);
  if (st) return st;
  struct tsr_str out = TSR_STR_INIT;
  size_t *number = tsr_mem_array(s->n, sizeof *number);
  size_t *first = tsr_mem_array(s->n, sizeof *first);
  if (number && first) put_set(&out, s, number, first);
  if (!number || !first || out.failed) {
    st = tsr_err_nomem(err);
    tsr_str_fini(&out);
  } else {
    *n = out.n;
    *bytes = (uint8_t *)tsr_str_take(&out);
  }
  tsr_mem_free(number);
  tsr_mem_free(first);
  return st;
}

/* ---- loading ---- */

struct reader {
  const char *path;
  const uint8_t *bytes; /* n, of which `at` are read */
  size_t n, at;
  struct tsr_err *err;
  enum tsr_status status; /* of the first fault; after it everything reads as 0 */
};

__attribute__((format(printf, 2, 3))) static void fault(struct reader *r, const char *fmt,
                                                        ...) {
  if (r->status) return;
  va_list ap;
  va_start(ap, fmt);
  char *what = tsr_mem_vprintf(fmt, ap);
  va_end(ap);
  r->status = tsr_err_set(r->err, TSR_INPUT, "%s: byte %zu: %s", r->path, r->at,
                          what ? what : "no sound container");
  tsr_mem_free(what);
}

static void no_memory(struct reader *r) {
  if (!r->status) r->status = tsr_err_nomem(r->err);
}

static size_t words_left(const struct reader *r) {
  return (r->n - r->at) / WORD;
}

/* A word from low to high; what it counts is told where it does not. */
static uint64_t get_word(struct reader *r, uint64_t low, uint64_t high, const char *what) {
  if (!r->status && words_left(r) == 0) fault(r, "%s is missing", what);
  if (r->status) return 0;
  uint64_t v = get_le(r->bytes + r->at);
  if (v < low || v > high)
    fault(r, "%s is wrong; expected %llu to %llu, got %llu", what, (unsigned long long)low,
          (unsigned long long)high, (unsigned long long)v);
  r->at += WORD;
  return r->status ? 0 : v;
}

/* A text's bytes; *n is 0 when there is none. */
static const char *get_text(struct reader *r, uint64_t least, size_t *n, const char *what) {
  const char *text = NULL;
  *n = (size_t)get_word(r, least, TSR_ISA_NAME_MAX, what);
  size_t words = (size_t)words_of(*n);
  if (words > words_left(r)) fault(r, "%s is cut short", what);
  if (!r->status && *n) {
    text = (const char *)r->bytes + r->at;
    for (size_t i = *n; i < words * WORD; i++)
      if (text[i]) fault(r, "%s is not filled up with zeros", what);
    if (!tsri_name_valid(text, *n)) fault(r, "%s is not printable ASCII without a quote", what);
    r->at += words * WORD;
  }
  if (r->status) *n = 0;
  return text;
}

static void get_instructions(struct reader *r, struct tsr_program *p) {
  uint64_t n = get_word(r, 1, words_left(r) ? words_left(r) - 1 : 0, "the number of words");
  size_t end = r->at + (size_t)n * WORD;
  while (!r->status && r->at < end) {
    uint64_t words[TSR_ISA_WORDS_MAX];
    size_t have = 0;
    for (; have < TSR_ISA_WORDS_MAX && r->at + have * WORD < end; have++)
      words[have] = get_le(r->bytes + r->at + have * WORD);
    struct tsr_inst in;
    size_t used = tsr_isa_decode(words, have, &in);
    if (!used) fault(r, "no instruction: word %016llx", (unsigned long long)words[0]);
    if (used) tsr_isa_emit(p, in.op, in.f);
    r->at += used * WORD;
  }
}

static void get_program(struct reader *r, size_t number, struct tsr_program *p) {
  uint64_t n = get_word(r, 0, TSR_ISA_NAMES, "the number of names");
  for (uint64_t i = 0; i < n && !r->status; i++) {
    size_t len;
    const char *name = get_text(r, 1, &len, "a name");
    if (!r->status && !tsri_name_append(p, name, len)) no_memory(r);
  }
  get_instructions(r, p);
  if (p->failed) no_memory(r);
  struct tsri_flaw flaw;
  if (!r->status && !tsri_program_sound(p, &flaw))
    fault(r, "program %zu: instruction %zu: %s", number, flaw.at, flaw.what);
}

static void get_programs(struct reader *r, struct tsr_program *p, size_t n) {
  for (size_t k = 0; k < n && !r->status; k++) {
    get_program(r, k, &p[k]);
    for (size_t i = 0; i < k && !r->status; i++)
      if (tsri_program_same(&p[i], &p[k])) fault(r, "programs %zu and %zu are equal", i, k);
  }
}

/* Which cores run which program.  The first of a program owns it. */
static void get_runs(struct reader *r, struct tsr_program *p, size_t n, size_t cores,
                     struct tsr_program_set *out) {
  size_t used = 0, last = n;
  while (!r->status && out->n < cores) {
    uint64_t run = get_word(r, 1, cores - out->n, "a number of cores");
    size_t k = (size_t)get_word(r, 0, tsr_min_u64(used, n - 1), "the number of a program");
    if (k == last) fault(r, "the cores of one program stand in two runs");
    if (r->status) return;
    struct tsr_program copy = p[k];
    copy.borrowed = k < used;
    p[k].borrowed = true;
    if (k == used) used++;
    last = k;
    if (tsr_isa_set_add(out, &copy, (size_t)run, r->err)) r->status = TSR_NOMEM;
  }
  if (used < n) fault(r, "no core runs program %zu", used);
  if (words_left(r)) fault(r, "%zu words too many", words_left(r));
}

static void get_machine(struct reader *r, struct tsr_program_set *out) {
  size_t n;
  const char *name = get_text(r, 0, &n, "the machine's name");
  uint64_t hash = get_word(r, 0, n ? UINT64_MAX : 0, "the machine's hash");
  if (r->status || !n) return;
  out->machine = tsr_mem_strndup(name, n);
  out->machine_hash = hash;
  if (!out->machine) no_memory(r);
}

static void get_set(struct reader *r, struct tsr_program_set *out) {
  get_machine(r, out);
  size_t cores = (size_t)get_word(r, 1, TSR_ISA_CORES, "the number of cores");
  size_t n = (size_t)get_word(r, 1, cores, "the number of programs");
  struct tsr_program *p = r->status ? NULL : tsr_mem_array(n, sizeof *p);
  if (!p) no_memory(r);
  if (!p) return;
  get_programs(r, p, n);
  get_runs(r, p, n, cores, out);
  for (size_t k = 0; k < n; k++) tsr_isa_program_fini(&p[k]);
  tsr_mem_free(p);
}

static enum tsr_status check_header(const char *path, const uint8_t *bytes, size_t n,
                                    struct tsr_err *err) {
  if (n < WORD || memcmp(bytes, magic, MAGIC_DIGIT) != 0)
    return tsr_err_set(err, TSR_INPUT, "%s: no program; expected it to begin with %s", path,
                       magic);
  if (bytes[MAGIC_DIGIT] != (uint8_t)magic[MAGIC_DIGIT]) {
    enum tsr_status st =
        tsr_err_set(err, TSR_INPUT, "%s: another version of programs; expected %s, got '%.8s'",
                    path, magic, (const char *)bytes);
    tsr_err_hint(err, "print it with the version of tessera that wrote it (`tessera disasm`) "
                      "and adapt the text, or lower the workload again");
    return st;
  }
  if (n < HEADER_BYTES)
    return tsr_err_set(err, TSR_INPUT, "%s: cut short; expected at least %d bytes, got %zu",
                       path, (int)HEADER_BYTES, n);
  uint64_t words = get_le(bytes + WORD), have = (n - HEADER_BYTES) / WORD;
  if (words != have || n % WORD != 0)
    return tsr_err_set(err, TSR_INPUT,
                       "%s: the program is cut short or too long; expected %llu words, got "
                       "%llu bytes",
                       path, (unsigned long long)words, (unsigned long long)(n - HEADER_BYTES));
  if (get_le(bytes + 2 * WORD) !=
      tsr_fnv1a(TSR_FNV_INIT, bytes + HEADER_BYTES, n - HEADER_BYTES))
    return tsr_err_set(err, TSR_INPUT, "%s: the program is damaged: its hash does not agree",
                       path);
  return TSR_OK;
}

enum tsr_status tsr_isa_set_load(const char *path, const uint8_t *bytes, size_t n,
                                 struct tsr_program_set *out, struct tsr_err *err) {
  enum tsr_status st = check_header(path, bytes, n, err);
  if (st) return st;
  struct reader r = {path, bytes, n, HEADER_BYTES, err, TSR_OK};
  struct tsr_program_set s = {0};
  get_set(&r, &s);
  if (r.status)
    tsr_isa_set_fini(&s);
  else
    *out = s;
  return r.status;
}
