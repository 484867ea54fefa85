/* Instructions to words and back, from the table alone. */
#include "isa/isa_int.h"
#include "sim/base/mem.h"

static uint64_t mask(unsigned width) {
  return width == 64 ? UINT64_MAX : (1ull << width) - 1;
}

static bool fits(const struct tsri_field *f, int64_t v) {
  uint32_t count = tsri_kinds[f->kind].count;
  if (count) return v >= 0 && (uint64_t)v < count;
  if (f->width == 64) return true;
  return v >= 0 && (uint64_t)v <= mask(f->width); /* narrow fields are unsigned */
}

void tsri_field_range(const struct tsri_field *f, tsr_i128 *low, tsr_i128 *high) {
  uint32_t count = tsri_kinds[f->kind].count;
  bool sign = !count && f->kind == TSRI_S && f->width == 64;
  *low = sign ? INT64_MIN : 0;
  *high = sign ? INT64_MAX : count ? (tsr_i128)count - 1 : (tsr_i128)mask(f->width);
}

bool tsri_operands_fit(const struct tsr_inst *i) {
  if (i->op >= TSR_ISA_OP_COUNT) return false;
  const struct tsri_row *row = &tsri_rows[i->op];
  for (int j = 0; j < TSR_ISA_FIELDS_MAX && row->field[j].name; j++)
    if (!fits(&row->field[j], i->f[j])) return false;
  return true;
}

size_t tsr_isa_encode(const struct tsr_inst *i, uint64_t words[TSR_ISA_WORDS_MAX]) {
  TSR_CHECK(i->op < TSR_ISA_OP_COUNT);
  const struct tsri_row *row = &tsri_rows[i->op];
  for (int w = 0; w < TSR_ISA_WORDS_MAX; w++) words[w] = 0;
  words[0] = i->op;
  for (int j = 0; j < TSR_ISA_FIELDS_MAX && row->field[j].name; j++) {
    const struct tsri_field *f = &row->field[j];
    TSR_CHECK(fits(f, i->f[j]));
    words[f->word] |= ((uint64_t)i->f[j] & mask(f->width)) << f->low;
  }
  return row->words;
}

size_t tsr_isa_decode(const uint64_t *words, size_t n, struct tsr_inst *out) {
  if (n == 0 || (words[0] & 0xff) >= TSR_ISA_OP_COUNT) return 0;
  struct tsr_inst i = {.op = (uint8_t)(words[0] & 0xff)};
  const struct tsri_row *row = &tsri_rows[i.op];
  if (n < row->words) return 0;
  uint64_t covered[TSR_ISA_WORDS_MAX] = {0xff};
  for (int j = 0; j < TSR_ISA_FIELDS_MAX && row->field[j].name; j++) {
    const struct tsri_field *f = &row->field[j];
    i.f[j] = (int64_t)(words[f->word] >> f->low & mask(f->width));
    covered[f->word] |= mask(f->width) << f->low;
    if (!fits(f, i.f[j])) return 0;
  }
  for (int w = 0; w < row->words; w++)
    if (words[w] & ~covered[w]) return 0;
  *out = i;
  return row->words;
}
