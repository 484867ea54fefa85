/* sram: what the banks of a layout make of a pattern, against a walk over every cycle,
 * lane and byte. */
#include "fake.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/mem.h"

/* A scratchpad as its parameters. */
struct pad {
  const char *layout, *ports;
  uint64_t banks, width, size, tile_size;
};

static enum tsr_status open_pad(struct fake *f, struct tsr_instance *x, const struct pad *p,
                                struct tsr_err *err) {
  char text[256], tile[64] = "", width[32] = "unlimited";
  if (p->tile_size) snprintf(tile, sizeof tile, ", tile_size: %" PRIu64 "B", p->tile_size);
  if (p->width) snprintf(width, sizeof width, "%" PRIu64 "B", p->width);
  snprintf(text, sizeof text,
           "{size: %" PRIu64 "B, banks: %" PRIu64 ", width: %s, ports: %s, layout: %s%s}",
           p->size, p->banks, width, p->ports, p->layout, tile);
  fake_open(f, 1000000000);
  fake_prepare(x, "sram", text);
  struct tsr_wiring w = {.env = &f->env, .self = x};
  return x->ops->init(x->state, x->params, &w, err);
}
static void close_pad(struct fake *f, struct tsr_instance *x) {
  fake_drop(x);
  fake_close(f);
}

/* Cycles of a phase that wants one cycle and moves a byte in the directions asked. */
static uint64_t cycles_of(const struct pad *p, const struct tsr_pattern *pattern, bool read,
                          bool write) {
  struct fake f;
  struct tsr_instance x;
  assert_int_equal(open_pad(&f, &x, p, NULL), TSR_OK);
  uint64_t n = x.ops->buffer->tile(x.state, 0, 1, read, write, pattern);
  close_pad(&f, &x);
  return n;
}

/* ---- the slow model ---- */

enum { BANKS_MAX = 64, WORDS_MAX = 4096 };

static uint64_t slow_bank(const struct pad *p, uint64_t byte) {
  uint64_t word = byte / p->width;
  if (!strcmp(p->layout, "row")) return word % p->banks;
  if (!strcmp(p->layout, "column")) return byte % p->size / (p->size / p->banks);
  if (!strcmp(p->layout, "tiled")) return byte / p->tile_size % p->banks;
  return (word % p->banks) ^ (byte / (p->width * p->banks) % p->banks);
}

struct slow {
  uint64_t cycles, conflicts[BANKS_MAX];
};

static void slow_step(const struct pad *p, const struct tsr_pattern *q, uint64_t j, bool read,
                      bool write, struct slow *out) {
  static uint64_t seen[WORDS_MAX];
  size_t n_seen = 0;
  uint64_t n[BANKS_MAX] = {0}, busiest = 0;
  for (uint64_t i = 0; i < q->lanes; i++)
    for (uint64_t e = 0; e < q->elem_bytes; e++) {
      uint64_t byte = q->addr + i * (uint64_t)q->lane_bytes + j * (uint64_t)q->step_bytes + e;
      uint64_t word = byte / p->width;
      size_t k = n_seen; /* the latest is the likeliest */
      while (k > 0 && seen[k - 1] != word) k--;
      if (k > 0) continue;
      assert_true(n_seen < WORDS_MAX);
      seen[n_seen++] = word;
      n[slow_bank(p, byte)]++;
    }
  for (uint64_t b = 0; b < p->banks; b++) {
    uint64_t cycles;
    if (!strcmp(p->ports, "1r1w")) /* each direction its own port */
      cycles = n[b];
    else if (!strcmp(p->ports, "1rw"))
      cycles = n[b] * (uint64_t)(read + write);
    else
      cycles = (n[b] * (uint64_t)(read + write) + 1) / 2;
    if (cycles > busiest) busiest = cycles;
    if (n[b]) out->conflicts[b] += cycles - 1;
  }
  out->cycles += busiest;
}

static struct slow slow_walk(const struct pad *p, const struct tsr_pattern *q, bool read,
                             bool write) {
  struct slow out = {0};
  for (uint64_t j = 0; j < q->steps; j++) slow_step(p, q, j, read, write, &out);
  return out;
}

/* ---- random scratchpads and patterns ---- */

static const char *const layouts[] = {"row", "column", "tiled", "xor"};
static const char *const ports[] = {"1rw", "1r1w", "2rw"};

static struct pad random_pad(struct tsr_rng *r, bool powers) {
  struct pad p = {.layout = layouts[tsr_rng_range(r, 0, 3)],
                  .ports = ports[tsr_rng_range(r, 0, 2)],
                  .banks = tsr_rng_range(r, 1, 13),
                  .width = tsr_rng_range(r, 1, 12)};
  if (powers || !strcmp(p.layout, "xor")) p.banks = 1ull << tsr_rng_range(r, 0, 4);
  if (tsr_rng_range(r, 0, 1)) p.width = 1ull << tsr_rng_range(r, 0, 4);
  uint64_t rows = 2 * tsr_rng_range(r, 1, 20);
  p.size = p.banks * p.width * rows;
  if (p.size < 16) p.size *= 16;
  if (!strcmp(p.layout, "tiled")) p.tile_size = p.width * tsr_rng_range(r, 1, 9);
  return p;
}

static int64_t random_stride(struct tsr_rng *r, const struct pad *p) {
  static const uint64_t units[] = {1, 2, 4};
  uint64_t unit = units[tsr_rng_range(r, 0, 2)], kind = tsr_rng_range(r, 0, 3);
  if (kind == 1) unit = p->width;
  if (kind == 2) unit = p->width * p->banks;
  uint64_t n = unit * tsr_rng_range(r, 0, kind == 3 ? 300 : 12);
  return tsr_rng_range(r, 0, 2) ? (int64_t)n : -(int64_t)n;
}

static struct tsr_pattern random_pattern(struct tsr_rng *r, const struct pad *p) {
  struct tsr_pattern q = {.lanes = tsr_rng_range(r, 1, 20),
                          .steps = tsr_rng_range(r, 1, tsr_rng_range(r, 0, 3) ? 24 : 200),
                          .elem_bytes = (uint32_t)(1u << tsr_rng_range(r, 0, 3))};
  if (!tsr_rng_range(r, 0, 5)) q.elem_bytes = (uint32_t)tsr_rng_range(r, 1, 90);
  q.addr = 10000000 + tsr_rng_range(r, 0, 5000); /* no lane below 0 */
  q.lane_bytes = random_stride(r, p);
  q.step_bytes = random_stride(r, p);
  return q;
}

static void fast_equals_slow(void **state) {
  (void)state;
  struct tsr_rng r = {1};
  unsigned by_layout[4] = {0}, conflicting = 0;
  for (int i = 0; i < 5000; i++) {
    struct pad p = random_pad(&r, false);
    struct tsr_pattern q = random_pattern(&r, &p);
    bool read = tsr_rng_range(&r, 0, 2) > 0, write = !read || tsr_rng_range(&r, 0, 1);
    struct slow want = slow_walk(&p, &q, read, write);
    struct fake f;
    struct tsr_instance x;
    assert_int_equal(open_pad(&f, &x, &p, NULL), TSR_OK);
    const struct tsr_buffer_ops *b = x.ops->buffer;
    assert_int_equal(b->banks(x.params), p.banks);
    uint64_t got = b->tile(x.state, 0, 1, read, write, &q), sum = 0, most = 0;
    if (got != want.cycles)
      fail_msg("%d: %s %s, %" PRIu64 " banks of %" PRIu64 " B: %" PRIu64 ", walked %" PRIu64, i,
               p.layout, p.ports, p.banks, p.width, got, want.cycles);
    for (uint64_t k = 0; k < p.banks; k++) {
      assert_int_equal(b->bank_conflicts(x.state, k), want.conflicts[k]);
      sum += want.conflicts[k];
      most = tsr_max_u64(most, want.conflicts[k]);
    }
    assert_int_equal(fake_counter(&x, "conflict_cycles"), want.cycles - 1);
    assert_int_equal(fake_counter(&x, "bank_conflict_cycles"), sum);
    assert_int_equal(fake_counter(&x, "bank_conflict_max_cycles"), most);
    /* again, from what is remembered, and a period higher */
    assert_int_equal(b->tile(x.state, 2 * got, 1, read, write, &q), got);
    assert_int_equal(fake_counter(&x, "bank_conflict_cycles"), 2 * sum);
    close_pad(&f, &x);
    for (int l = 0; l < 4; l++) by_layout[l] += !strcmp(p.layout, layouts[l]);
    conflicting += sum > 0;
  }
  for (int l = 0; l < 4; l++) assert_true(by_layout[l] > 1000);
  assert_in_range(conflicting, 2000, 4900);
}

/* Patterns that differ in one thing, more than are remembered: each is told from the
 * others. */
static void patterns_are_told_apart(void **state) {
  (void)state;
  enum { N = 200, THINGS = 7 };
  static struct tsr_pattern q[N];
  static uint64_t want[N][2];
  struct tsr_rng r = {2};
  struct pad p = {"row", "1rw", 8, 4, 1024, 0};
  for (int thing = 0; thing < THINGS; thing++) {
    struct fake f;
    struct tsr_instance x;
    assert_int_equal(open_pad(&f, &x, &p, NULL), TSR_OK);
    for (unsigned i = 0; i < N; i++) {
      q[i] = (struct tsr_pattern){10000, 36, 5, 9, 13, 2};
      if (thing == 0) q[i].addr += i;
      if (thing == 1) q[i].lane_bytes += (int)i - N / 2;
      if (thing == 2) q[i].step_bytes += (int)i - N / 2;
      if (thing == 3) q[i].lanes += i % 50;
      if (thing == 4) q[i].steps += i;
      if (thing == 5) q[i].elem_bytes += i;
      for (int w = 0; w < 2; w++) want[i][w] = slow_walk(&p, &q[i], true, w).cycles;
    }
    uint64_t at = 0;
    for (int k = 0; k < 2000; k++) {
      uint64_t i = tsr_rng_range(&r, 0, N - 1), w = thing == 6 && tsr_rng_range(&r, 0, 1);
      assert_int_equal(x.ops->buffer->tile(x.state, at, 1, 1, w, &q[i]), want[i][w]);
      at += want[i][w];
    }
    close_pad(&f, &x);
  }
}

/* As long as a machine runs for days: the sum is that of the periods in it. */
static void a_long_pattern_is_its_periods(void **state) {
  (void)state;
  struct tsr_rng r = {3};
  for (int i = 0; i < 300; i++) {
    struct pad p = random_pad(&r, false);
    struct tsr_pattern q = random_pattern(&r, &p);
    uint64_t period = p.width * p.banks; /* of addresses, in a multiple of which all repeats */
    if (!strcmp(p.layout, "xor")) period *= p.banks;
    if (!strcmp(p.layout, "column")) period = p.size;
    if (!strcmp(p.layout, "tiled")) period = p.tile_size * p.banks;
    if (period > 3000) continue;
    uint64_t times = 1000003, rest = tsr_rng_range(&r, 0, period - 1);
    q.steps = period;
    uint64_t whole = slow_walk(&p, &q, true, false).cycles, part = 0;
    q.steps = rest;
    part = slow_walk(&p, &q, true, false).cycles;
    q.steps = period * times + rest;
    assert_int_equal(cycles_of(&p, &q, true, false), whole * times + part);
  }
}

/* ---- what an architect expects ---- */

static void strides_meet_banks(void **state) {
  (void)state;
  enum { W = 8, STEPS = 5 };
  static const struct {
    struct pad pad;
    uint64_t addr;
    int64_t lane;
    uint64_t lanes, elem, per_step; /* cycles */
  } rows[] = {
      /* a column of a matrix whose pitch is a row of banks: all in one */
      {{"row", "1rw", 16, W, 4096, 0}, 0, 16 * W, 16, 2, 16},
      {{"row", "1rw", 16, W, 4096, 0}, 24, -16 * W, 16, 2, 16},
      {{"row", "2rw", 16, W, 4096, 0}, 0, 16 * W, 16, 2, 8},
      {{"row", "2rw", 16, W, 4096, 0}, 0, 16 * W, 15, 2, 8},
      {{"row", "1r1w", 8, W, 4096, 0}, 0, 16 * W, 16, 2, 16},
      /* xor takes it apart, up to as many lanes as banks; rows as well */
      {{"xor", "1rw", 16, W, 4096, 0}, 0, 16 * W, 16, 2, 1},
      {{"xor", "1rw", 16, W, 4096, 0}, 5 * W, 16 * W, 16, 2, 1},
      {{"xor", "1rw", 16, W, 4096, 0}, 0, 16 * W, 17, 2, 2},
      {{"xor", "1rw", 16, W, 4096, 0}, 0, W, 16, 2, 1},
      {{"xor", "1rw", 16, W, 4096, 0}, 32 * W, W, 16, W, 1},
      /* but not the pitch of a square of banks, nor a row out of line */
      {{"xor", "1rw", 16, W, 4096, 0}, 0, 256 * W, 16, 2, 16},
      {{"xor", "1rw", 2, W, 4096, 0}, W, W, 2, 2, 2},
      /* an odd pitch has none; half a row of banks meets two, and so on */
      {{"row", "1rw", 16, W, 4096, 0}, 0, 17 * W, 16, 2, 1},
      {{"row", "1rw", 16, W, 4096, 0}, 0, 5 * W, 16, 2, 1},
      {{"row", "1rw", 16, W, 4096, 0}, 0, 8 * W, 16, 2, 8},
      {{"row", "1rw", 16, W, 4096, 0}, 0, 2 * W, 16, 2, 2},
      /* a prime number of banks */
      {{"row", "1rw", 17, W, 4096, 0}, 0, 16 * W, 17, 2, 1},
      {{"row", "1rw", 17, W, 4096, 0}, 0, 17 * W, 17, 2, 17},
      /* neighbours share words; one word for all */
      {{"row", "1rw", 16, W, 4096, 0}, 0, 2, 64, 2, 1},
      {{"row", "1rw", 16, W, 4096, 0}, 0, 2, 65, 2, 2},
      {{"row", "1rw", 16, W, 4096, 0}, 2, 2, 64, 2, 2},
      {{"row", "1rw", 16, W, 4096, 0}, 0, 0, 64, 2, 1},
      /* an element over the edge of a word touches two */
      {{"row", "1rw", 1, W, 4096, 0}, W - 1, 0, 1, 2, 2},
      {{"row", "1rw", 1, W, 4096, 0}, 0, 0, 1, 4 * W, 4},
      {{"row", "1rw", 4, W, 4096, 0}, 0, 0, 1, 4 * W, 1},
      /* each bank holds a piece: neighbours meet, pieces do not */
      {{"column", "1rw", 16, W, 4096, 0}, 0, W, 16, 2, 16},
      {{"column", "1rw", 16, W, 4096, 0}, 0, 256, 16, 2, 1},
      {{"column", "1rw", 16, W, 4096, 0}, 0, 128, 16, 2, 2},
      {{"column", "1rw", 16, W, 4096, 0}, 0, 4096, 16, 2, 16}, /* beyond the end: around */
      {{"tiled", "1rw", 16, W, 4096, 4 * W}, 0, W, 16, 2, 4},
      {{"tiled", "1rw", 16, W, 4096, 4 * W}, 0, 4 * W, 16, 2, 1},
      {{"tiled", "1rw", 16, W, 4096, 4 * W}, 0, 64 * W, 16, 2, 16},
      {{"tiled", "1rw", 16, W, 4096, W}, 0, 17 * W, 16, 2, 1}, /* as row */
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_pattern q = {.addr = 65536 + rows[i].addr,
                            .lane_bytes = rows[i].lane,
                            .lanes = rows[i].lanes,
                            .steps = STEPS,
                            .elem_bytes = (uint32_t)rows[i].elem};
    uint64_t got = cycles_of(&rows[i].pad, &q, true, false);
    if (got != rows[i].per_step * STEPS)
      fail_msg("row %zu: %" PRIu64 " cycles a step, expected %" PRIu64, i, got / STEPS,
               rows[i].per_step);
  }
}

/* What a phase takes is never less than it asks for, than the width allows, than its
 * banks do: the largest of the three, from both sides. */
static void the_slowest_of_the_three_counts(void **state) {
  (void)state;
  static const struct {
    uint64_t cycles, read, lane_words, takes, conflict;
  } rows[] = {
      {100, 1600, 1, 100, 0}, /* 16 B a cycle of 32 */
      {10, 160, 1, 10, 0},    /* 10 steps, no conflict */
      {10, 320, 4, 40, 30},   /* four lanes in one bank */
      {39, 320, 4, 40, 1},    /* the phase itself is slow */
      {40, 320, 4, 40, 0},    {41, 320, 4, 41, 0},
      {10, 1280, 4, 40, 30}, /* as slow by the width */
      {10, 1281, 4, 41, 31},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct pad p = {"row", "1r1w", 4, 8, 4096, 0};
    struct fake f;
    struct tsr_instance x;
    assert_int_equal(open_pad(&f, &x, &p, NULL), TSR_OK);
    struct tsr_pattern q = {0, (int64_t)rows[i].lane_words * 8, 32, 4, 10, 8};
    assert_int_equal(x.ops->buffer->tile(x.state, 0, rows[i].cycles, rows[i].read, 0, &q),
                     rows[i].takes);
    assert_int_equal(fake_counter(&x, "conflict_cycles"), rows[i].conflict);
    close_pad(&f, &x);
  }
}

static void conflicts_are_counted_where_they_are(void **state) {
  (void)state;
  struct pad p = {"row", "1rw", 8, 4, 4096, 0};
  struct fake f;
  struct tsr_instance x;
  assert_int_equal(open_pad(&f, &x, &p, NULL), TSR_OK);
  const struct tsr_buffer_ops *b = x.ops->buffer;
  /* eight lanes in bank 3, then four in bank 5 */
  struct tsr_pattern q = {12, 32, 0, 8, 10, 4}, q2 = {20, 32, 64, 4, 10, 4};
  assert_int_equal(b->tile(x.state, 0, 10, 320, 0, &q), 80);
  assert_int_equal(b->tile(x.state, 80, 10, 0, 160, &q2), 40);
  for (uint64_t i = 0; i < 9; i++) /* the ninth is none */
    assert_int_equal(b->bank_conflicts(x.state, i), i == 3 ? 70 : i == 5 ? 30 : 0);
  assert_int_equal(fake_counter(&x, "conflict_cycles"), 100);
  assert_int_equal(fake_counter(&x, "bank_conflict_cycles"), 100);
  assert_int_equal(fake_counter(&x, "bank_conflict_max_cycles"), 70);
  /* a read and a write of the same words through one port */
  struct tsr_pattern q3 = {0, 4, 32, 8, 10, 4};
  assert_int_equal(b->tile(x.state, 120, 10, 320, 320, &q3), 20);
  for (uint64_t i = 0; i < 8; i++)
    assert_int_equal(b->bank_conflicts(x.state, i), (i == 3 ? 70 : i == 5 ? 30 : 0) + 10);
  assert_int_equal(fake_counter(&x, "bank_conflict_max_cycles"), 80);
  close_pad(&f, &x);
}

/* ---- properties ---- */

/* Under stream a pattern changes nothing; under the others it never makes faster. */
static void no_layout_is_faster_than_stream(void **state) {
  (void)state;
  struct tsr_rng r = {5};
  unsigned slower = 0;
  for (int i = 0; i < 2000; i++) {
    struct pad p = random_pad(&r, false), s = p;
    struct tsr_pattern q = random_pattern(&r, &p);
    s.layout = "stream";
    s.tile_size = 0;
    struct fake f, g;
    struct tsr_instance x, y;
    assert_int_equal(open_pad(&f, &x, &p, NULL), TSR_OK);
    assert_int_equal(open_pad(&g, &y, &s, NULL), TSR_OK);
    uint64_t cycles = tsr_rng_range(&r, 0, 500), read = tsr_rng_range(&r, 0, 20000),
             write = tsr_rng_range(&r, 0, 20000), width = p.banks * p.width;
    uint64_t need = !strcmp(p.ports, "1rw")   ? tsr_ceil_div(read + write, width)
                    : !strcmp(p.ports, "2rw") ? tsr_ceil_div(read + write, 2 * width)
                                              : tsr_ceil_div(tsr_max_u64(read, write), width);
    const struct tsr_buffer_ops *b = x.ops->buffer;
    uint64_t plain = tsr_max_u64(cycles, need);
    assert_int_equal(b->tile(y.state, 0, cycles, read, write, &q), plain);
    assert_int_equal(b->tile(y.state, plain, cycles, read, write, NULL), plain);
    uint64_t got = b->tile(x.state, 0, cycles, read, write, &q);
    assert_true(got >= plain);
    slower += got > plain;
    assert_int_equal(b->tile(x.state, got, cycles, read, write, NULL), plain);
    assert_int_equal(fake_counter(&y, "bank_conflict_cycles"), 0);
    close_pad(&f, &x);
    close_pad(&g, &y);
  }
  assert_in_range(slower, 300, 1900);
}

static void more_ports_are_never_slower(void **state) {
  (void)state;
  struct tsr_rng r = {6};
  for (int i = 0; i < 2000; i++) {
    struct pad p = random_pad(&r, false);
    struct tsr_pattern q = random_pattern(&r, &p);
    bool write = tsr_rng_range(&r, 0, 1);
    uint64_t before = UINT64_MAX;
    for (int k = 0; k < 3; k++) {
      p.ports = ports[k];
      uint64_t n = cycles_of(&p, &q, true, write);
      assert_true(n <= before);
      before = n;
    }
  }
}

/* Twice the banks split each bank in two, save under xor, where they mix anew: there a
 * pattern may lose.  So it may where the number of banks grows by less than that. */
static void twice_the_banks_are_never_slower(void **state) {
  (void)state;
  struct tsr_rng r = {7};
  unsigned exceptions = 0, xors = 0;
  for (int i = 0; i < 4000; i++) {
    struct pad p = random_pad(&r, true), twice;
    struct tsr_pattern q = random_pattern(&r, &p);
    twice = p;
    twice.banks *= 2;
    uint64_t one = cycles_of(&p, &q, true, false), two = cycles_of(&twice, &q, true, false);
    bool xor = !strcmp(p.layout, "xor");
    if (!xor) assert_true(two <= one);
    xors += xor;
    exceptions += two > one;
  }
  print_message("xor: %u of %u patterns slower on twice the banks\n", exceptions, xors);
  assert_in_range(exceptions, 1, xors / 10);

  static const struct {
    struct pad less, more;
    int64_t lane_words; /* two lanes apart */
  } rows[] = {
      {{"row", "1rw", 2, 8, 4096, 0}, {"row", "1rw", 3, 8, 4096, 0}, 3},
      {{"row", "1rw", 4, 8, 4096, 0}, {"row", "1rw", 5, 8, 4096, 0}, 5},
      {{"xor", "1rw", 2, 8, 4096, 0}, {"xor", "1rw", 4, 8, 4096, 0}, 5},
      {{"tiled", "1rw", 2, 8, 4096, 16}, {"tiled", "1rw", 3, 8, 4096, 16}, 6},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_pattern q = {0, rows[i].lane_words * 8, 0, 2, 7, 8};
    assert_int_equal(cycles_of(&rows[i].less, &q, true, false), 7);
    assert_int_equal(cycles_of(&rows[i].more, &q, true, false), 14);
  }
}

/* ---- the DMA side, set up ---- */

static void the_busiest_bank_holds_up_the_dma_side(void **state) {
  (void)state;
  static const struct {
    const char *layout, *ports;
    uint64_t lane, lanes;
    bool write;
    uint64_t wait; /* of 32 B at 0, ns; the phase is 100 steps */
  } rows[] = {
      {"stream", "1r1w", 32, 2, false, 1}, /* half of the bytes: twice as long */
      {"row", "1r1w", 8, 2, false, 100},   /* 2 of 4 banks filled whole */
      {"row", "1r1w", 32, 2, false, 200},  /* one bank, for two cycles a step */
      {"row", "1r1w", 32, 2, true, 0},     /* the other port */
      {"row", "2rw", 32, 1, true, 0},      /* the second port of the bank is free */
      {"row", "2rw", 32, 2, true, 100},    /* neither is */
      {"row", "2rw", 32, 3, true, 1},      /* 300 words of 2 * 200: half of the second */
      {"xor", "1rw", 32, 2, true, 100},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct pad p = {rows[i].layout, rows[i].ports, 4, 8, 4096, 0};
    struct fake f;
    struct tsr_instance x;
    assert_int_equal(open_pad(&f, &x, &p, NULL), TSR_OK);
    struct tsr_pattern q = {0, (int64_t)rows[i].lane, 0, rows[i].lanes, 100, 8};
    (void)x.ops->buffer->tile(x.state, 0, 100, 1600, 0, &q);
    uint64_t waited = 0;
    (void)fake_move(&x, 32, rows[i].write, 0, &waited);
    if (waited != rows[i].wait * NS) fail_msg("row %zu: waited %" PRIu64 " fs", i, waited);
    close_pad(&f, &x);
  }
}

static void parameters_must_fit(void **state) {
  (void)state;
  static const struct {
    struct pad pad;
    bool good;
    const char *says;
  } rows[] = {
      {{"stream", "1rw", 3, 0, 4096, 0}, true, NULL},
      {{"row", "1rw", 3, 0, 4096, 0}, false, "width"},
      {{"row", "1rw", 3, 8, 4096, 0}, true, NULL},
      {{"xor", "1rw", 3, 8, 4096, 0}, false, "power of two"},
      {{"xor", "1rw", 1, 8, 4096, 0}, true, NULL},
      {{"tiled", "1rw", 3, 8, 4096, 0}, false, "tile_size"},
      {{"tiled", "1rw", 3, 8, 4096, 12}, false, "tile_size"},
      {{"tiled", "1rw", 3, 8, 4096, 24}, true, NULL},
      {{"row", "1rw", 3, 8, 4096, 24}, false, "tile_size"},
      {{"stream", "1rw", 3, 8, 4096, 24}, false, "tile_size"},
      {{"column", "1rw", 3, 8, 4096, 0}, false, "size"},
      {{"column", "1rw", 4, 8, 4096, 0}, true, NULL},
      {{"stream", "1rw", 3, 8, 4096, 0}, true, NULL},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance x;
    struct tsr_err err = TSR_ERR_INIT;
    enum tsr_status st = open_pad(&f, &x, &rows[i].pad, &err);
    assert_int_equal(st, rows[i].good ? TSR_OK : TSR_INPUT);
    if (!rows[i].good) assert_non_null(strstr(err.msg[0], rows[i].says));
    tsr_err_fini(&err);
    close_pad(&f, &x);
  }
}

static void no_memory_is_an_error_and_leaks_nothing(void **state) {
  (void)state;
  static const char *const layout[] = {"stream", "row"};
  static const int allocations[] = {0, 2};
  for (size_t i = 0; i < LEN(layout); i++)
    for (int nth = 1; nth <= allocations[i] + 1; nth++) {
      struct fake f;
      struct tsr_instance x;
      struct tsr_wiring w = {.env = &f.env, .self = &x};
      char text[64];
      snprintf(text, sizeof text, "{size: 1KiB, width: 8B, layout: %s}", layout[i]);
      fake_open(&f, 1000000000);
      fake_prepare(&x, "sram", text);
      tsr_mem_fail_at((uint64_t)nth, false);
      enum tsr_status st = x.ops->init(x.state, x.params, &w, NULL);
      tsr_mem_fail_at(0, false);
      assert_int_equal(st, nth <= allocations[i] ? TSR_NOMEM : TSR_OK);
      close_pad(&f, &x);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fast_equals_slow),
      cmocka_unit_test(patterns_are_told_apart),
      cmocka_unit_test(a_long_pattern_is_its_periods),
      cmocka_unit_test(strides_meet_banks),
      cmocka_unit_test(the_slowest_of_the_three_counts),
      cmocka_unit_test(conflicts_are_counted_where_they_are),
      cmocka_unit_test(no_layout_is_faster_than_stream),
      cmocka_unit_test(more_ports_are_never_slower),
      cmocka_unit_test(twice_the_banks_are_never_slower),
      cmocka_unit_test(the_busiest_bank_holds_up_the_dma_side),
      cmocka_unit_test(parameters_must_fit),
      cmocka_unit_test(no_memory_is_an_error_and_leaks_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
