/* The loader of programs: any bytes give sound programs or an error with a message; what
 * is loaded saves to the same bytes.  The bytes are tried as a container, as what a sound
 * header stands before, and as the words of one program, because no mutation finds a
 * container's hash.  The mutator knows instructions from their table. */
#include <stdlib.h>
#include <string.h>

#include "isa/isa_int.h"
#include "sim/base/rng.h"

enum { WORD = 8, HEADER = 3 * WORD };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
/* Of libFuzzer; a replay has none. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static void require(bool good) {
  if (!good) abort();
}

static void check_text(const struct tsr_program_set *s) {
  struct tsr_str text = TSR_STR_INIT;
  struct tsr_program_set again = {0};
  tsr_isa_set_disasm(s, &text);
  require(!text.failed);
  require(tsr_isa_set_assemble("again.s", text.p, text.n, &again, NULL) == TSR_OK);
  require(again.n == s->n);
  for (size_t i = 0; i < s->n; i++) {
    if (i && s->program[i].inst == s->program[i - 1].inst) continue;
    require(tsri_program_same(&again.program[i], &s->program[i]));
  }
  tsr_isa_set_fini(&again);
  tsr_str_fini(&text);
}

static void check_set(const struct tsr_program_set *s, const uint8_t *bytes, size_t n) {
  uint8_t *again;
  size_t m;
  for (size_t i = 0; i < s->n; i++)
    if (!s->program[i].borrowed) require(tsr_isa_check(&s->program[i], NULL) == TSR_OK);
  require(tsr_isa_set_save(s, &again, &m, NULL) == TSR_OK);
  require(m == n && memcmp(again, bytes, n) == 0);
  tsr_mem_free(again);
  check_text(s);
}

static void load_one(const uint8_t *bytes, size_t n) {
  struct tsr_program_set s = {0};
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status st = tsr_isa_set_load("fuzz.bin", bytes, n, &s, &err);
  require((st == TSR_OK) == (s.n > 0));
  require(err.total == (st != TSR_OK));
  require(st == err.status);
  if (st == TSR_OK) check_set(&s, bytes, n);
  tsr_isa_set_fini(&s);
  tsr_err_fini(&err);
}

static void put_le(uint8_t *b, uint64_t v) {
  for (int i = 0; i < WORD; i++) b[i] = (uint8_t)(v >> 8 * i);
}

/* c[0..n-1] whose header is not filled in yet. */
static void load_behind_header(uint8_t *c, size_t n) {
  memcpy(c, "TSRPROG2", WORD);
  put_le(c + WORD, (n - HEADER) / WORD);
  put_le(c + 2 * WORD, tsr_fnv1a(TSR_FNV_INIT, c + HEADER, n - HEADER));
  load_one(c, n);
}

/* The words as a program of one core; the bytes behind them tell how many names it has. */
static void load_words(const uint8_t *data, size_t size) {
  size_t n = size / WORD, names = size % WORD;
  uint8_t *c = malloc(HEADER + WORD * (9 + 2 * names + n)), *at = c ? c + HEADER : NULL;
  if (!c) return;
  const uint64_t head[] = {0, 0, 1, 1, names}; /* machine, cores, programs */
  for (size_t i = 0; i < sizeof head / sizeof *head; i++, at += WORD) put_le(at, head[i]);
  for (size_t i = 0; i < names; i++, at += 2 * WORD) {
    put_le(at, 1);
    put_le(at + WORD, 'a' + i);
  }
  put_le(at, n);
  memcpy(at + WORD, data, n * WORD);
  at += WORD * (n + 1);
  put_le(at, 1); /* one core runs program 0 */
  put_le(at + WORD, 0);
  load_behind_header(c, (size_t)(at + 2 * WORD - c));
  free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  load_one(data, size);
  load_words(data, size);
  size_t n = size / WORD * WORD;
  uint8_t *c = malloc(HEADER + n);
  if (!c) return 0;
  if (n) memcpy(c + HEADER, data, n);
  load_behind_header(c, HEADER + n);
  free(c);
  return 0;
}

/* ---- mutation ---- */

/* Operands that fit; small ones often, so that instructions meet. */
static size_t random_words(struct tsr_rng *r, uint64_t words[TSR_ISA_WORDS_MAX]) {
  struct tsr_inst in = {.op = (uint8_t)tsr_rng_range(r, 0, TSR_ISA_OP_COUNT - 1)};
  const struct tsri_row *row = &tsri_rows[in.op];
  for (int j = 0; row->field[j].name; j++) {
    tsr_i128 low, high;
    tsri_field_range(&row->field[j], &low, &high);
    uint64_t most = tsr_rng_range(r, 0, 7) ? 2 : (uint64_t)high;
    in.f[j] = (int64_t)tsr_rng_range(r, 0, tsr_min_u64((uint64_t)high, most));
  }
  return tsr_isa_encode(&in, words);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
  struct tsr_rng r = {seed};
  uint64_t words[TSR_ISA_WORDS_MAX];
  uint8_t bytes[WORD * TSR_ISA_WORDS_MAX];
  if (LLVMFuzzerMutate && tsr_rng_range(&r, 0, 1)) return LLVMFuzzerMutate(data, size, max);
  size_t n = WORD * random_words(&r, words), at = WORD * tsr_rng_range(&r, 0, size / WORD);
  for (size_t w = 0; w < n / WORD; w++) put_le(bytes + WORD * w, words[w]);
  size_t end = tsr_rng_range(&r, 0, 1) ? at : tsr_min_u64(at + n, size); /* put or replace */
  if (size - (end - at) + n > max) return size;
  memmove(data + at + n, data + end, size - end);
  memcpy(data + at, bytes, n);
  return size - (end - at) + n;
}
