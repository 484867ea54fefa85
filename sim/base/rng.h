/* Counter-based random numbers: a value depends on (seed, stream, index) alone,
 * never on the order of calls.  Philox4x32-10 (SRC:salmon2011). */
#ifndef TSR_SIM_BASE_RNG_H
#define TSR_SIM_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

/* 64 uniform bits (the first two words of the block, low word first) for element `index` of
 * `stream` under `seed`. */
uint64_t tsr_rng_u64(uint64_t seed, uint64_t stream, uint64_t index);
/* All four 32-bit words of the block: counter = index, stream; key = seed; low
 * words first. */
void tsr_rng_block(uint64_t seed, uint64_t stream, uint64_t index, uint32_t out[4]);
/* Approximately normal, mean 0, variance 1, range (-5, 5): the sum of eight
 * 16-bit uniforms (Irwin-Hall), an exact integer, times one constant. */
double tsr_rng_normal(uint64_t seed, uint64_t stream, uint64_t index);
/* The same in two steps, for many elements: the integers of `n` elements from `index`
 * on, each in [-TSR_RNG_STEPS, TSR_RNG_STEPS], and the value that an integer stands
 * for. */
enum { TSR_RNG_STEPS = 8 * 65535 / 2 };
void tsr_rng_normal_steps(uint64_t seed, uint64_t stream, uint64_t index, size_t n,
                          int32_t *steps);
double tsr_rng_normal_of(int32_t steps);

/* A small sequential generator for tests and searches (SplitMix64). */
struct tsr_rng {
  uint64_t s;
};
uint64_t tsr_rng_next(struct tsr_rng *r);
/* Uniform in [lo, hi]. */
uint64_t tsr_rng_range(struct tsr_rng *r, uint64_t lo, uint64_t hi);

#endif
