#include "sim/base/rng.h"

#include "sim/base/mem.h"

/* Multipliers and Weyl constants of Philox4x32 (SRC:salmon2011). */
enum { ROUNDS = 10 };
static const uint32_t mul0 = 0xd2511f53, mul1 = 0xcd9e8d57;
static const uint32_t weyl0 = 0x9e3779b9, weyl1 = 0xbb67ae85;

static void philox(uint32_t c[4], uint32_t k0, uint32_t k1) {
  for (int i = 0; i < ROUNDS; i++, k0 += weyl0, k1 += weyl1) {
    uint64_t p0 = (uint64_t)mul0 * c[0], p1 = (uint64_t)mul1 * c[2];
    c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
    c[1] = (uint32_t)p1;
    c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
    c[3] = (uint32_t)p0;
  }
}

void tsr_rng_block(uint64_t seed, uint64_t stream, uint64_t index, uint32_t out[4]) {
  out[0] = (uint32_t)index;
  out[1] = (uint32_t)(index >> 32);
  out[2] = (uint32_t)stream;
  out[3] = (uint32_t)(stream >> 32);
  philox(out, (uint32_t)seed, (uint32_t)(seed >> 32));
}

uint64_t tsr_rng_u64(uint64_t seed, uint64_t stream, uint64_t index) {
  uint32_t w[4];
  tsr_rng_block(seed, stream, index, w);
  return w[0] | (uint64_t)w[1] << 32;
}

static int32_t steps_of(const uint32_t w[4]) {
  int32_t sum = -TSR_RNG_STEPS;
  for (int i = 0; i < 4; i++) sum += (int32_t)(w[i] & 0xffff) + (int32_t)(w[i] >> 16);
  return sum;
}

double tsr_rng_normal_of(int32_t steps) {
  /* 1 / sqrt(8 (2^32 - 1) / 12): eight uniforms on 0 … 65535. */
  static const double scale = 1.868812365011853207e-05;
  return steps * scale;
}

double tsr_rng_normal(uint64_t seed, uint64_t stream, uint64_t index) {
  uint32_t w[4];
  tsr_rng_block(seed, stream, index, w);
  return tsr_rng_normal_of(steps_of(w));
}

/* Several blocks side by side: the rounds of one wait for each other. */
void tsr_rng_normal_steps(uint64_t seed, uint64_t stream, uint64_t index, size_t n,
                          int32_t *steps) {
  enum { LANES = 8 };
  for (size_t at = 0; at < n; at += LANES) {
    uint32_t c[4][LANES], k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (size_t l = 0; l < LANES; l++) {
      uint64_t i = index + at + l;
      c[0][l] = (uint32_t)i, c[1][l] = (uint32_t)(i >> 32);
      c[2][l] = (uint32_t)stream, c[3][l] = (uint32_t)(stream >> 32);
    }
    for (int r = 0; r < ROUNDS; r++, k0 += weyl0, k1 += weyl1)
      for (size_t l = 0; l < LANES; l++) {
        uint64_t p0 = (uint64_t)mul0 * c[0][l], p1 = (uint64_t)mul1 * c[2][l];
        c[0][l] = (uint32_t)(p1 >> 32) ^ c[1][l] ^ k0;
        c[1][l] = (uint32_t)p1;
        c[2][l] = (uint32_t)(p0 >> 32) ^ c[3][l] ^ k1;
        c[3][l] = (uint32_t)p0;
      }
    for (size_t l = 0; l < LANES && at + l < n; l++)
      steps[at + l] = steps_of((const uint32_t[4]){c[0][l], c[1][l], c[2][l], c[3][l]});
  }
}

/* SplitMix64 (SRC:steele2014). */
uint64_t tsr_rng_next(struct tsr_rng *r) {
  uint64_t z = r->s += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* Multiply and reject (SRC:lemire2019): every value has the same share. */
uint64_t tsr_rng_range(struct tsr_rng *r, uint64_t lo, uint64_t hi) {
  uint64_t n = hi - lo + 1; /* 0: all of 2^64 */
  if (n == 0) return tsr_rng_next(r);
  uint64_t reject = -n % n;
  tsr_u128 p;
  do p = (tsr_u128)tsr_rng_next(r) * n;
  while ((uint64_t)p < reject);
  return lo + (uint64_t)(p >> 64);
}
