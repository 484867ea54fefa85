/* Banks of a scratchpad: where the accesses of a pattern fall, and how long the
 * busiest bank needs for each of its steps.
 *
 * A word is what a bank's port moves in a cycle: `width` bytes.  Word w lies in
 *   row     bank w mod B                    neighbours in different banks (SRC:budnik1971)
 *   tiled   bank (w / T) mod B              T words of a bank, then the next bank
 *   column  the same, T = words of a bank: each holds one piece of the address space
 *   xor     bank (w mod B) xor (w / B mod B)   B a power of two (SRC:frailong1985)
 * Lanes that touch the same word in the same step share one access.
 *
 * Exact, yet not as long as the work: the placement repeats with a period in the
 * address, steps of one class (the same place within a word) touch the same words,
 * moved, and moves within a piece of T words change nothing.  At most
 * min(steps, period / gcd(period, step)) placements are looked at, each in
 * lanes + banks; sums stick at UINT64_MAX.  Memory is the caller's. */
#ifndef TSR_MODELS_SRAM_BANKS_H
#define TSR_MODELS_SRAM_BANKS_H

#include "models/model.h"

struct tsri_banks {
  uint64_t width, banks; /* bytes, count */
  uint64_t chunk;        /* T: words of a bank before the next; 1 for row and xor */
  bool swizzle;          /* xor */
};

/* How a bank serves n words of a step: in ceil(n * accesses / ports) cycles. */
struct tsri_bank_ports {
  unsigned accesses; /* of each word: 2 where a step reads and writes it through one port */
  unsigned ports;
};

struct tsri_bank_use {
  uint64_t cycles;     /* sum over the steps of what the busiest bank takes */
  uint64_t *words;     /* a bank: words touched, over all steps */
  uint64_t *conflicts; /* a bank: its cycles after the first of each step */
};

/* Bytes after which words fall on the same banks again. */
uint64_t tsri_banks_period(const struct tsri_banks *b);
/* Fills *out, whose arrays hold `banks` numbers, as does the scratch array `count`. */
void tsri_banks_fold(const struct tsri_banks *b, const struct tsr_pattern *p,
                     struct tsri_bank_ports ports, uint64_t *count, struct tsri_bank_use *out);

/* Sums and products that stick at UINT64_MAX. */
static inline uint64_t tsri_sat_add(uint64_t a, uint64_t b) {
  uint64_t r;
  return tsr_add_u64(a, b, &r) ? r : UINT64_MAX;
}
static inline uint64_t tsri_sat_mul(uint64_t a, uint64_t b) {
  uint64_t r;
  return tsr_mul_u64(a, b, &r) ? r : UINT64_MAX;
}

#endif
