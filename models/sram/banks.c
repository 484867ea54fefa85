/* Placing the words of a step on banks, and summing over the steps of a pattern. */
#include "models/sram/banks.h"

#include <string.h>

#include "sim/base/mem.h"

/* ---- one placement ---- */

struct placement {
  const struct tsri_banks *b;
  const struct tsr_pattern *p;
  uint64_t period_words;
  /* From a lane to the next: whole words, those modulo the period, bytes beside them. */
  uint64_t lane_words, lane_turn, lane_rest;
  uint64_t *count; /* words of a bank, beside `all` of each */
  uint64_t all;
  uint64_t still_bytes; /* a shift by less leaves every lane in its words */
  uint64_t still_words; /* a shift by less whole words leaves every word in its bank */
};

static uint64_t period_words(const struct tsri_banks *b) {
  return b->banks * (b->swizzle ? b->banks : b->chunk);
}

uint64_t tsri_banks_period(const struct tsri_banks *b) {
  return period_words(b) * b->width;
}

static uint64_t turn(uint64_t word, uint64_t by, uint64_t period) { /* both below it */
  word += by;
  return word >= period ? word - period : word;
}

/* n neighbouring words, pieces of a chunk after each other; whole rounds go to all. */
static void add_chunks(struct placement *s, uint64_t word, uint64_t n) {
  uint64_t chunk = s->b->chunk;
  if (n >= s->period_words) {
    s->all += n / s->period_words * chunk;
    n %= s->period_words;
  }
  while (n) {
    uint64_t bank = word / chunk, left = chunk - word % chunk;
    uint64_t piece = tsr_min_u64(n, left);
    s->count[bank] += piece;
    s->still_words = tsr_min_u64(s->still_words, left - piece + 1);
    word = turn(word, piece, s->period_words);
    n -= piece;
  }
}

/* The same under xor: a whole row of words touches each bank once. */
static void add_swizzled(struct placement *s, uint64_t word, uint64_t n) {
  uint64_t banks = s->b->banks;
  s->still_words = 1;
  while (n) {
    if (word % banks == 0 && n >= banks) {
      uint64_t rows = n / banks;
      s->all += rows;
      word = turn(word, rows % banks * banks, s->period_words);
      n -= rows * banks;
      continue;
    }
    s->count[word % banks ^ word / banks]++;
    word = turn(word, 1, s->period_words);
    n--;
  }
}

/* The words of one step whose first lane begins `rest` bytes into `word`.  Lanes go up
 * in address, so that a lane shares words at most with those just before it. */
static void place(struct placement *s, uint64_t word, uint64_t rest) {
  uint64_t width = s->b->width, covered = 0; /* words from `word` on that are counted */
  memset(s->count, 0, s->b->banks * sizeof *s->count);
  s->all = 0;
  s->still_bytes = width;
  s->still_words = s->period_words;
  for (uint64_t i = 0; i < s->p->lanes; i++) {
    uint64_t last = rest + s->p->elem_bytes - 1, n = 1;
    if (last >= width) { /* divisions are most of the work: only where needed */
      n += last / width;
      last %= width;
    }
    s->still_bytes = tsr_min_u64(s->still_bytes, width - tsr_max_u64(rest, last));
    if (n > covered) {
      uint64_t from = covered ? turn(word, covered % s->period_words, s->period_words) : word;
      if (s->b->swizzle)
        add_swizzled(s, from, n - covered);
      else
        add_chunks(s, from, n - covered);
    }
    rest += s->lane_rest;
    uint64_t carry = rest >= width;
    if (carry) rest -= width;
    uint64_t moved = s->lane_words + carry;
    covered = n > moved ? n - moved : 0;
    word = turn(word, s->lane_turn, s->period_words);
    word = turn(word, carry % s->period_words, s->period_words);
  }
}

/* Adds a placement that `weight` steps have. */
static void tally(const struct placement *s, struct tsri_bank_ports ports, uint64_t weight,
                  struct tsri_bank_use *out) {
  uint64_t busiest = 0;
  for (uint64_t i = 0; i < s->b->banks; i++) {
    uint64_t n = s->count[i] + s->all;
    if (!n) continue;
    uint64_t cycles = tsr_ceil_div(n * ports.accesses, ports.ports);
    busiest = tsr_max_u64(busiest, cycles);
    out->words[i] = tsri_sat_add(out->words[i], tsri_sat_mul(n, weight));
    out->conflicts[i] = tsri_sat_add(out->conflicts[i], tsri_sat_mul(cycles - 1, weight));
  }
  out->cycles = tsri_sat_add(out->cycles, tsri_sat_mul(busiest, weight));
}

/* ---- all steps ---- */

static uint64_t magnitude(int64_t x) {
  return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

/* addr + n * step, modulo the period m. */
static uint64_t move(uint64_t addr, uint64_t n, int64_t step, uint64_t m) {
  uint64_t by = (uint64_t)((tsr_u128)(n % m) * (magnitude(step) % m) % m);
  return turn(addr, step < 0 ? (m - by) % m : by, m);
}

/* How many of n numbers 0, 1, … are in [from, from + len) modulo `period`. */
static uint64_t visits(uint64_t n, uint64_t period, uint64_t from, uint64_t len) {
  uint64_t rest = n % period;
  return n / period * len + (rest > from ? tsr_min_u64(rest - from, len) : 0);
}

void tsri_banks_fold(const struct tsri_banks *b, const struct tsr_pattern *p,
                     struct tsri_bank_ports ports, uint64_t *count, struct tsri_bank_use *out) {
  out->cycles = 0;
  memset(out->words, 0, b->banks * sizeof *out->words);
  memset(out->conflicts, 0, b->banks * sizeof *out->conflicts);
  if (!p->lanes || !p->steps || !p->elem_bytes) return;
  uint64_t turn_words = period_words(b), period = turn_words * b->width;
  uint64_t lane = magnitude(p->lane_bytes), step = magnitude(p->step_bytes);
  struct placement s = {.b = b,
                        .p = p,
                        .period_words = turn_words,
                        .lane_words = lane / b->width,
                        .lane_turn = lane / b->width % turn_words,
                        .lane_rest = lane % b->width,
                        .count = count};
  /* The sum knows no order: begin at the lowest lane and step. */
  uint64_t low = p->addr % period;
  if (p->lane_bytes < 0) low = move(low, p->lanes - 1, p->lane_bytes, period);
  if (p->step_bytes < 0) low = move(low, p->steps - 1, p->step_bytes, period);
  /* Steps c, c + classes, … begin at the same place of a word, `delta` words apart. */
  uint64_t g = tsr_gcd_u64(b->width, step), classes = tsr_min_u64(b->width / g, p->steps);
  uint64_t delta = step / g % turn_words, rest = p->steps % (b->width / g);
  uint64_t cycle = turn_words / tsr_gcd_u64(turn_words, delta);
  for (uint64_t c = 0, same; c < classes; c += same) {
    uint64_t at = move(low, c, (int64_t)(step % period), period), word = at / b->width;
    uint64_t n = (p->steps - c - 1) / (b->width / g) + 1, end = tsr_min_u64(n, cycle);
    same = c < rest ? rest - c : classes - c;
    for (uint64_t i = 0, still; i < end; i += still) {
      place(&s, word, at % b->width);
      if (step) same = tsr_min_u64(same, tsr_ceil_div(s.still_bytes, step));
      still = delta ? tsr_min_u64(end - i, tsr_ceil_div(s.still_words, delta)) : end;
      tally(&s, ports, same * visits(n, cycle, i, still), out);
      word = turn(word, (uint64_t)((tsr_u128)still * delta % turn_words), turn_words);
    }
  }
}
