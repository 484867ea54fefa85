/* Quantities with units, and exact clock time.
 *
 * A quantity is an unsigned 64-bit number in its base unit:
 *   count: 1 · bytes: B · frequency: Hz · time: fs · rate: B/s
 * and TSR_UNLIMITED stands for the word `unlimited`.  Texts are decimal with an
 * optional fraction and a suffix: B KB MB GB TB (10^3), KiB MiB GiB TiB (2^10);
 * Hz kHz MHz GHz; fs ps ns us ms s; B/s KB/s … TB/s and KiB/s … TiB/s.
 * A value must be a whole number of base units: `0.5B` is refused.
 * A count takes no suffix.  Bytes without suffix are refused (`512` → wrong
 * unit), except 0, which needs no suffix in any unit.  No blank before a suffix,
 * no exponent, digits on both sides of a point. */
#ifndef TSR_SIM_BASE_UNITS_H
#define TSR_SIM_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSR_UNLIMITED UINT64_MAX
#define TSR_FS_PER_S 1000000000000000u

enum tsr_unit {
  TSR_UNIT_COUNT,
  TSR_UNIT_BYTES,
  TSR_UNIT_HZ,
  TSR_UNIT_FS,
  TSR_UNIT_BYTES_PER_S,
  TSR_UNIT_N_
};

enum tsr_quantity_result {
  TSR_QUANTITY_OK,
  TSR_QUANTITY_NOT_A_NUMBER,
  TSR_QUANTITY_WRONG_UNIT, /* no suffix, an unknown one, one of another dimension */
  TSR_QUANTITY_NOT_WHOLE,  /* not a whole number of base units */
  TSR_QUANTITY_TOO_LARGE,  /* at or above 2^64 - 1 base units */
  TSR_QUANTITY_NEGATIVE
};

/* Parses text[0..n-1] (no surrounding blanks). *out unchanged on failure. */
enum tsr_quantity_result tsr_quantity_parse(const char *text, size_t n, enum tsr_unit unit,
                                            uint64_t *out);
/* Prints in the shortest exact form (`512KiB`, `1.05GHz`, `unlimited`) into
 * buf; returns buf.  buf holds at least 48 bytes. */
char *tsr_quantity_print(uint64_t v, enum tsr_unit unit, char *buf);
/* `a size such as 512KiB`, … (static): for "expected …". */
const char *tsr_unit_example(enum tsr_unit unit);

/* Clock domains (definition of time in the reference of commands): cycle n of a
 * domain at hz falls at floor(n * 10^15 / hz) fs, computed from n. */
/* false when the result would pass 2^64 - 1. */
bool tsr_clock_fs(uint64_t cycle, uint64_t hz, uint64_t *fs);
/* The first cycle whose instant is at or after fs. hz > 0 (here and above). */
uint64_t tsr_clock_cycle_at(uint64_t fs, uint64_t hz);

/* log10 of x > 0 with + - * / only, so that it is the same everywhere; relative
 * error below 1e-13. log10 of 0 is -infinity. */
double tsr_log10(double x);

#endif
