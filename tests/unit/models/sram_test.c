/* sram: ports, phases of the tile, the DMA side beside them. */
#include "fake.h"

#include <inttypes.h>
#include <stdio.h>

#include "sim/base/mem.h"

static const struct tsr_buffer_ops *open_sram(struct fake *f, struct tsr_instance *x,
                                              const char *ports, unsigned banks,
                                              unsigned width) {
  char text[128];
  snprintf(text, sizeof text, "{size: 64KiB, banks: %u, width: %uB, ports: %s}", banks, width,
           ports);
  fake_open(f, 1000000000);
  fake_make(f, x, "sram", text, NULL, NULL, NULL);
  return x->ops->buffer;
}

/* Ready at n bytes, a cycle longer at n + 1. */
static void a_phase_lengthens_at_the_first_byte_too_many(void **state) {
  (void)state;
  static const struct {
    const char *ports;
    uint64_t read, write, cycles; /* what exactly fills `cycles` of 4 banks of 8 B */
    bool grows_by_read, grows_by_write;
  } rows[] = {
      {"1rw", 3200, 0, 100, true, true},     {"1rw", 0, 3200, 100, true, true},
      {"1rw", 2000, 1200, 100, true, true},  {"1r1w", 3200, 0, 100, true, false},
      {"1r1w", 3200, 3200, 100, true, true}, {"1r1w", 0, 3200, 100, false, true},
      {"2rw", 6400, 0, 100, true, true},     {"2rw", 3200, 3200, 100, true, true},
      {"2rw", 0, 6400, 100, true, true},     {"1rw", 32, 0, 1, true, true},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance x;
    const struct tsr_buffer_ops *b = open_sram(&f, &x, rows[i].ports, 4, 8);
    assert_int_equal(b->bytes_per_cycle(x.params), 32);
    uint64_t r = rows[i].read, w = rows[i].write, c = rows[i].cycles;
    assert_int_equal(b->tile(x.state, 0, c, r, w, NULL), c);
    assert_int_equal(fake_counter(&x, "conflict_cycles"), 0);
    assert_int_equal(b->tile(x.state, c, c, r + 1, w, NULL), c + rows[i].grows_by_read);
    assert_int_equal(b->tile(x.state, 4 * c, c, r, w + 1, NULL), c + rows[i].grows_by_write);
    assert_int_equal(fake_counter(&x, "conflict_cycles"),
                     rows[i].grows_by_read + rows[i].grows_by_write);
    assert_int_equal(b->tile(x.state, 8 * c, c, 2 * r, 2 * w, NULL), 2 * c);
    assert_int_equal(fake_counter(&x, "read_bytes"), 5 * r + 1);
    assert_int_equal(fake_counter(&x, "write_bytes"), 5 * w + 1);
    fake_drop(&x);
    fake_close(&f);
  }
}

/* A phase of 100 cycles from cycle 0 on 32 B a cycle, one DMA unit of 32 B (1 ns). */
static void the_dma_side_gets_what_a_phase_leaves(void **state) {
  (void)state;
  static const struct {
    const char *ports;
    uint64_t read, write; /* of the tile */
    bool dma_write;
    uint64_t at, wait; /* fs */
  } rows[] = {
      /* a direction that the tile leaves alone */
      {"1r1w", 3200, 0, true, 0, 0},
      {"1r1w", 0, 3200, false, 0, 0},
      {"2rw", 3200, 0, true, 0, 0},
      {"2rw", 1600, 1600, false, 0, 0},
      /* a port filled whole: until the end of the phase, not longer */
      {"1r1w", 3200, 0, false, 0, 100 * NS},
      {"1r1w", 3200, 0, false, 99 * NS, 1 * NS},
      {"1r1w", 3200, 0, false, 100 * NS - 1, 1},
      {"1r1w", 3200, 0, false, 100 * NS, 0},
      {"1rw", 3200, 0, true, 10 * NS, 90 * NS},
      {"1rw", 1600, 1600, false, 10 * NS, 90 * NS},
      {"2rw", 6400, 0, true, 50 * NS, 50 * NS},
      /* half of it: every unit takes twice as long */
      {"1r1w", 1600, 0, false, 0, 1 * NS},
      {"1rw", 1600, 0, true, 0, 1 * NS},
      {"1rw", 800, 800, true, 0, 1 * NS},
      {"2rw", 4800, 0, true, 0, 1 * NS},
      /* three quarters: four times */
      {"1r1w", 2400, 0, false, 0, 3 * NS},
      /* never past the end of the phase */
      {"1r1w", 3168, 0, false, 90 * NS, 10 * NS},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance x;
    const struct tsr_buffer_ops *b = open_sram(&f, &x, rows[i].ports, 4, 8);
    assert_int_equal(b->tile(x.state, 0, 100, rows[i].read, rows[i].write, NULL), 100);
    uint64_t waited = 0;
    uint64_t end = fake_move(&x, 32, rows[i].dma_write, rows[i].at, &waited);
    assert_int_equal(waited, rows[i].wait);
    assert_int_equal(end, rows[i].at + rows[i].wait + 1 * NS);
    assert_int_equal(fake_counter(&x, "dma_wait_fs"), rows[i].wait);
    fake_drop(&x);
    fake_close(&f);
  }
}

/* A phase that was booked later does not hide the one that still runs. */
static void both_of_two_phases_hold_the_port(void **state) {
  (void)state;
  static const struct {
    uint64_t at, wait; /* fs */
  } rows[] = {{50 * NS, 50 * NS}, {99 * NS, 1 * NS}, {100 * NS, 0}, {120 * NS, 30 * NS}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance x;
    const struct tsr_buffer_ops *b = open_sram(&f, &x, "1r1w", 4, 8);
    (void)b->tile(x.state, 0, 100, 3200, 0, NULL);
    (void)b->tile(x.state, 110, 40, 1280, 0, NULL);
    uint64_t waited = 0;
    assert_int_equal(fake_move(&x, 32, false, rows[i].at, &waited),
                     rows[i].at + rows[i].wait + 1 * NS);
    assert_int_equal(waited, rows[i].wait);
    fake_drop(&x);
    fake_close(&f);
  }
}

/* Over a whole phase the DMA side moves the bytes that the phase leaves. */
static void the_port_is_shared_exactly(void **state) {
  (void)state;
  for (uint64_t used = 0; used < 32; used++) { /* of 32 B a cycle */
    struct fake f;
    struct tsr_instance x;
    const struct tsr_buffer_ops *b = open_sram(&f, &x, "1r1w", 1, 32);
    enum { CYCLES = 10000 };
    b->tile(x.state, 0, CYCLES, used * CYCLES, 0, NULL);
    uint64_t moved = 0, waited = 0;
    while (fake_move(&x, 32, false, 0, &waited) <= CYCLES * NS) moved += 32;
    uint64_t left = (32 - used) * CYCLES;
    assert_in_range(moved, left - 96, left);
    fake_drop(&x);
    fake_close(&f);
  }
}

static void the_dma_side_alone_moves_at_the_port_rate(void **state) {
  (void)state;
  static const struct {
    unsigned banks, width;
    uint64_t bytes;
  } rows[] = {{1, 8, 64}, {8, 32, 64}, {3, 7, 64}, {1, 1, 32}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance x;
    (void)open_sram(&f, &x, "1r1w", rows[i].banks, rows[i].width);
    enum { N = 1000 };
    uint64_t end = 0, waited = 0, rate = rows[i].banks * rows[i].width;
    for (int j = 0; j < N; j++) end = fake_move(&x, rows[i].bytes, true, 0, &waited);
    assert_int_equal(end, tsr_ceil_div(N * rows[i].bytes * NS, rate));
    assert_int_equal(waited, 0);
    fake_drop(&x);
    fake_close(&f);
  }
}

/* n units in one call end as n calls of one. */
static void a_train_is_its_units_one_by_one(void **state) {
  (void)state;
  static const char *const ports[] = {"1rw", "1r1w", "2rw"};
  struct tsr_rng r = {9};
  for (int i = 0; i < 300; i++) {
    struct fake f, g;
    struct tsr_instance x, y;
    const char *p = ports[i % 3];
    const struct tsr_buffer_ops *b = open_sram(&f, &x, p, 2, 1 + (unsigned)i % 40);
    (void)open_sram(&g, &y, p, 2, 1 + (unsigned)i % 40);
    uint64_t read = tsr_rng_range(&r, 0, 4000), write = tsr_rng_range(&r, 0, 4000);
    assert_int_equal(b->tile(x.state, 10, 100, read, write, NULL),
                     b->tile(y.state, 10, 100, read, write, NULL));
    for (int k = 0; k < 4; k++) {
      uint64_t time[TSR_TRAIN_MAX], one[TSR_TRAIN_MAX], at = tsr_rng_range(&r, 0, 150) * NS;
      uint64_t waited = 0;
      uint32_t n = (uint32_t)tsr_rng_range(&r, 1, TSR_TRAIN_MAX);
      for (uint32_t j = 0; j < n; j++) time[j] = one[j] = at += tsr_rng_range(&r, 0, 5) * NS;
      uint64_t all = b->dma(x.state, 64, k % 2, n, time);
      for (uint32_t j = 0; j < n; j++)
        assert_int_equal(time[j], fake_move(&y, 64, k % 2, one[j], &waited));
      assert_int_equal(all, waited);
    }
    fake_drop(&x);
    fake_drop(&y);
    fake_close(&f);
    fake_close(&g);
  }
}

static void directions_share_one_port_only(void **state) {
  (void)state;
  static const struct {
    const char *ports;
    uint64_t end_ns; /* of a read and a write of 32 B asked at once */
  } rows[] = {{"1rw", 2}, {"1r1w", 1}, {"2rw", 1}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance x;
    (void)open_sram(&f, &x, rows[i].ports, 4, 8);
    uint64_t waited = 0;
    (void)fake_move(&x, 32, false, 0, &waited);
    assert_int_equal(fake_move(&x, 32, true, 0, &waited), rows[i].end_ns * NS);
    fake_drop(&x);
    fake_close(&f);
  }
}

/* ---- phases at once ---- */

/* Rows of the same start in the order of booking; each asks 100 cycles. */
static void phases_at_once_share_the_ports(void **state) {
  (void)state;
  enum { N = 3 };
  static const struct {
    const char *ports;
    uint64_t read[N], write[N], takes[N]; /* of 32 B a cycle and direction */
  } rows[] = {
      /* all full: one after the other ends */
      {"1rw", {3200, 3200, 0}, {0, 0, 3200}, {100, 200, 300}},
      {"1r1w", {3200, 3200, 0}, {0, 0, 3200}, {100, 200, 100}},
      {"2rw", {3200, 3200, 0}, {0, 0, 3200}, {100, 100, 150}},
      /* what fits beside each other costs nothing, a byte more a cycle */
      {"1rw", {1000, 1200, 500}, {0, 0, 500}, {100, 100, 100}},
      {"1rw", {1000, 1200, 501}, {0, 0, 500}, {100, 100, 101}},
      {"1r1w", {1600, 1600, 0}, {0, 0, 3200}, {100, 100, 100}},
      {"1r1w", {1600, 1601, 0}, {0, 0, 3200}, {100, 101, 100}},
      {"2rw", {3200, 1600, 800}, {0, 0, 800}, {100, 100, 100}},
      {"2rw", {3200, 1600, 800}, {0, 0, 801}, {100, 100, 101}},
      /* results that are read and written */
      {"1r1w", {1600, 800, 1600}, {0, 0, 1600}, {100, 100, 125}},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance x;
    const struct tsr_buffer_ops *b = open_sram(&f, &x, rows[i].ports, 4, 8);
    uint64_t conflicts = 0;
    for (int k = 0; k < N; k++) {
      uint64_t got = b->tile(x.state, 7, 100, rows[i].read[k], rows[i].write[k], NULL);
      if (got != rows[i].takes[k]) fail_msg("row %zu, phase %d: %" PRIu64 " cycles", i, k, got);
      conflicts += got - 100;
    }
    assert_int_equal(fake_counter(&x, "conflict_cycles"), conflicts);
    fake_drop(&x);
    fake_close(&f);
  }
}

/* A second phase against one of [100, 200) that fills half of a port of 32 B. */
static void a_phase_meets_those_it_overlaps(void **state) {
  (void)state;
  static const struct {
    uint64_t start, cycles, read, takes;
  } rows[] = {
      {0, 100, 3200, 100},   /* ends as it begins */
      {200, 100, 3200, 100}, /* begins as it ends */
      {150, 100, 3200, 125}, /* 50 cycles of the half, then all */
      {150, 50, 800, 50},    {150, 50, 801, 51},
      {0, 100, 3216, 101}, /* half a cycle beyond 100 */
      {0, 100, 4800, 200}, /* across all of it */
      {0, 100, 6400, 250},   {120, 10, 3200, 140},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance x;
    const struct tsr_buffer_ops *b = open_sram(&f, &x, "1r1w", 4, 8);
    assert_int_equal(b->tile(x.state, 100, 100, 1600, 0, NULL), 100);
    assert_int_equal(b->tile(x.state, rows[i].start, rows[i].cycles, 0, 3200, NULL),
                     tsr_max_u64(rows[i].cycles, 100));
    uint64_t got = b->tile(x.state, rows[i].start, rows[i].cycles, rows[i].read, 0, NULL);
    if (got != rows[i].takes) fail_msg("row %zu: %" PRIu64 " cycles", i, got);
    fake_drop(&x);
    fake_close(&f);
  }
}

/* ---- promises ---- */

enum { PROMISES = 12, PORT = 32 };
struct promise {
  uint64_t start, end, need;
};

static void random_promises(struct tsr_rng *r, const struct tsr_buffer_ops *b, void *sram,
                            bool in_order, struct promise *p, uint64_t n,
                            unsigned *lengthened) {
  uint64_t spread = tsr_rng_range(r, 0, 300), at = 0, sum = 0, longest = 0;
  for (uint64_t k = 0; k < n; k++) {
    uint64_t cycles = tsr_rng_range(r, 1, 200), read = tsr_rng_range(r, 0, 3000),
             write = tsr_rng_range(r, 0, 3000);
    at = in_order ? at + tsr_rng_range(r, 0, spread / 5) : tsr_rng_range(r, 0, spread);
    uint64_t takes = b->tile(sram, at, cycles, read, write, NULL);
    uint64_t alone = tsr_max_u64(cycles, tsr_ceil_div(read + write, PORT));
    assert_true(takes >= alone);
    *lengthened += takes > alone;
    p[k] = (struct promise){at, at + takes, read + write};
    sum += p[k].need;
    longest = tsr_max_u64(longest, at + cycles);
  }
  for (uint64_t k = 0; k < n; k++) /* nothing waits while the port is idle */
    assert_true(p[k].end <= longest + tsr_ceil_div(sum, PORT) + n);
}

/* Whether between each start and each end no more is due than the port moves. */
static bool can_be_kept(const struct promise *p, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t j = 0; j < n; j++) {
      uint64_t due = 0;
      if (p[i].start >= p[j].end) continue;
      for (uint64_t k = 0; k < n; k++)
        if (p[k].start >= p[i].start && p[k].end <= p[j].end) due += p[k].need;
      if (due > (p[j].end - p[i].start) * PORT) return false;
    }
  return true;
}

/* In the order in which they begin, or in any. */
static void promises_can_be_kept(void **state) {
  (void)state;
  enum { SETS = 3000 };
  struct tsr_rng r = {11};
  unsigned lengthened = 0;
  for (int i = 0; i < 2 * SETS; i++) {
    struct fake f;
    struct tsr_instance x;
    const struct tsr_buffer_ops *b = open_sram(&f, &x, "1rw", 4, 8);
    struct promise p[PROMISES];
    uint64_t n = tsr_rng_range(&r, 1, PROMISES);
    random_promises(&r, b, x.state, i < SETS, p, n, &lengthened);
    assert_true(can_be_kept(p, n));
    fake_drop(&x);
    fake_close(&f);
  }
  assert_in_range(lengthened, SETS, 12 * SETS);
}

/* Nor do more ports or twice the banks make one of several phases slower. */
static void more_is_never_slower_for_phases_at_once(void **state) {
  (void)state;
  static const struct {
    const char *less, *more;
    unsigned banks;
  } rows[] = {{"1rw", "1r1w", 4}, {"1r1w", "2rw", 4}, {"1rw", "1rw", 8}, {"2rw", "2rw", 8}};
  struct tsr_rng r = {12};
  unsigned faster = 0, phases = 0;
  for (int i = 0; i < 4000; i++) {
    struct fake f, g;
    struct tsr_instance x, y;
    const struct tsr_buffer_ops *b = open_sram(&f, &x, rows[i % 4].less, 4, 8);
    (void)open_sram(&g, &y, rows[i % 4].more, rows[i % 4].banks, 8);
    uint64_t at = 0;
    for (uint64_t k = tsr_rng_range(&r, 1, 6); k-- > 0; phases++) {
      uint64_t cycles = tsr_rng_range(&r, 1, 200), read = tsr_rng_range(&r, 0, 9000),
               write = tsr_rng_range(&r, 0, 9000);
      at += tsr_rng_range(&r, 0, 60);
      uint64_t less = b->tile(x.state, at, cycles, read, write, NULL);
      uint64_t more = b->tile(y.state, at, cycles, read, write, NULL);
      assert_true(more <= less);
      faster += more < less;
    }
    fake_drop(&x);
    fake_drop(&y);
    fake_close(&f);
    fake_close(&g);
  }
  assert_in_range(faster, phases / 2, phases - 1);
}

/* Operands and results of one machine in one scratchpad of banks. */
static void phases_at_once_share_banks(void **state) {
  (void)state;
  enum { T = 100 };
  static const struct {
    struct tsr_pattern p, q;
    uint64_t takes;
  } rows[] = {
      /* 4 banks of 8 B: bank 0 and bank 1 */
      {{0, 0, 32, 1, T, 8}, {8, 0, 32, 1, T, 8}, T},
      /* both bank 0 */
      {{0, 0, 32, 1, T, 8}, {64, 0, 32, 1, T, 8}, 2 * T},
      /* banks in turn, from different ones: a quarter of each bank each */
      {{0, 0, 8, 1, T, 8}, {0, 0, 8, 1, T, 8}, T},
      {{0, 8, 32, 2, T, 8}, {16, 8, 32, 2, T, 8}, T},
      {{0, 8, 32, 2, T, 8}, {8, 8, 32, 2, T, 8}, 2 * T},
      /* all banks each cycle: nothing is left */
      {{0, 8, 32, 4, T, 8}, {0, 0, 8, 1, T, 8}, T + T / 4},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance x;
    fake_open(&f, 1000000000);
    fake_make(&f, &x, "sram", "{size: 64KiB, banks: 4, width: 8B, ports: 1rw, layout: row}",
              NULL, NULL, NULL);
    const struct tsr_buffer_ops *b = x.ops->buffer;
    assert_int_equal(b->tile(x.state, 0, T, rows[i].p.lanes * T * 8 / 4, 0, &rows[i].p), T);
    uint64_t got = b->tile(x.state, 0, T, 8, 0, &rows[i].q);
    if (got != rows[i].takes) fail_msg("row %zu: %" PRIu64 " cycles", i, got);
    assert_int_equal(fake_counter(&x, "conflict_cycles"), got - T);
    fake_drop(&x);
    fake_close(&f);
  }
}

/* The DMA side finds what all phases use together, and each until it ends. */
static void the_dma_side_gets_what_all_phases_leave(void **state) {
  (void)state;
  static const struct {
    uint64_t read[3], cycles[3]; /* from cycle 0, of 32 B a cycle */
    uint64_t at, wait;           /* of 32 B, ns */
  } rows[] = {
      {{800, 0, 800}, {100, 100, 100}, 0, 1},  /* half */
      {{800, 1600, 0}, {100, 100, 100}, 0, 3}, /* three quarters */
      {{800, 800, 800}, {100, 100, 100}, 0, 3},
      {{1600, 0, 1600}, {100, 100, 100}, 0, 100},  /* whole */
      {{1600, 800, 0}, {100, 50, 100}, 0, 50 + 1}, /* whole until 50, then half */
      {{1600, 800, 0}, {100, 50, 100}, 60, 1},
      {{1600, 800, 0}, {100, 50, 100}, 100, 0},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance x;
    const struct tsr_buffer_ops *b = open_sram(&f, &x, "1r1w", 4, 8);
    for (int k = 0; k < 3; k++)
      assert_int_equal(b->tile(x.state, 0, rows[i].cycles[k], rows[i].read[k], 0, NULL),
                       rows[i].cycles[k]);
    uint64_t waited = 0;
    (void)fake_move(&x, 32, false, rows[i].at * NS, &waited);
    if (waited != rows[i].wait * NS) fail_msg("row %zu: waited %" PRIu64 " fs", i, waited);
    fake_drop(&x);
    fake_close(&f);
  }
}

/* A phase that waits at a gate is in nobody's way before it is told when. */
static void a_later_phase_counts_from_its_start(void **state) {
  (void)state;
  static const char *const layouts[] = {"stream", "row"};
  for (size_t i = 0; i < LEN(layouts); i++) {
    struct fake f;
    struct tsr_instance x;
    char text[128];
    snprintf(text, sizeof text, "{size: 64KiB, banks: 4, width: 8B, ports: 1rw, layout: %s}",
             layouts[i]);
    fake_open(&f, 1000000000);
    fake_make(&f, &x, "sram", text, NULL, NULL, NULL);
    const struct tsr_buffer_ops *b = x.ops->buffer;
    struct tsr_pattern all = {0, 8, 32, 4, 100, 8}, one = {0, 0, 32, 1, 100, 8};
    assert_int_equal(b->tile(x.state, TSR_PHASE_LATER, 100, 3200, 0, &all), 100);
    assert_int_equal(b->tile(x.state, TSR_PHASE_LATER, 100, 3201, 0, &all), 101);
    assert_int_equal(b->tile(x.state, 0, 100, 800, 0, &one), 100);
    uint64_t waited = 0;
    (void)fake_move(&x, 32, false, 400 * NS, &waited);
    assert_int_equal(waited, 0);
    b->occupy(x.state, 500, 100, 3200, 0);
    assert_int_equal(b->tile(x.state, 500, 100, 800, 0, &one), i ? 200 : 125);
    (void)fake_move(&x, 32, false, 550 * NS, &waited);
    assert_true(waited >= 50 * NS);
    assert_int_equal(fake_counter(&x, "read_bytes"), 3200 + 3201 + 2 * 800 + 2 * 32);
    fake_drop(&x);
    fake_close(&f);
  }
}

/* ---- a tile on it ---- */

enum { ARRAY = 8, STREAM = 64, FOLDS = 40 };

/* A weight-stationary array, its operands and results in one scratchpad or in three:
 * cycle in which all is done; *moved becomes the bytes. */
static uint64_t run_tile(const char *sram, bool one, uint64_t *moved) {
  struct fake f;
  struct tsr_instance x[3], tile;
  fake_open(&f, 1000000000);
  for (int i = 0; i < 3; i++) fake_make(&f, &x[i], "sram", sram, NULL, NULL, NULL);
  fake_make(&f, &tile, "tile.systolic", "{rows: 8, cols: 8, dataflow: ws}", &x[0],
            &x[one ? 0 : 1], &x[one ? 0 : 2]);
  struct ask a = {.req = {.mm = {.m = STREAM,
                                 .n = ARRAY,
                                 .k = ARRAY * FOLDS,
                                 .groups = 1,
                                 .first = true,
                                 .last = true,
                                 .a_bytes = 2,
                                 .b_bytes = 2,
                                 .acc_bytes = 4,
                                 .out_bytes = 4,
                                 .rate = 1}}};
  fake_chain(&f, &tile, &a, 1, 0);
  fake_run(&f);
  fake_check(&a, 1);
  tile.ops->unit->end(tile.state);
  *moved = 0;
  for (int i = 0; i < 3; i++)
    *moved += fake_counter(&x[i], "read_bytes") + fake_counter(&x[i], "write_bytes");
  uint64_t done = a.done / NS;
  fake_drop(&tile);
  for (int i = 0; i < 3; i++) fake_drop(&x[i]);
  fake_close(&f);
  return done;
}

/* In one scratchpad a tile goes at the pace of its port, all operands together, and not
 * slower than that: its array fills and empties, and each fold may lose two cycles. */
static void a_tile_shares_one_scratchpad_with_itself(void **state) {
  (void)state;
  static const unsigned widths[] = {1024, 96, 82, 64, 48, 32, 16, 8, 3};
  uint64_t moved, ideal = run_tile("{size: 64KiB, width: unlimited}", true, &moved);
  assert_int_equal(ideal, ARRAY + FOLDS * STREAM + 2 * ARRAY - 2);
  for (size_t i = 0; i < LEN(widths); i++) {
    char text[96];
    snprintf(text, sizeof text, "{size: 64KiB, width: %uB, ports: 1rw}", widths[i]);
    uint64_t one = run_tile(text, true, &moved), three = run_tile(text, false, &moved);
    uint64_t port = tsr_ceil_div(moved, widths[i]);
    assert_true(one >= three && one >= port);
    uint64_t fill = tsr_ceil_div(2 * ARRAY * ARRAY, widths[i]) + 3 * ARRAY;
    assert_true(one <= tsr_max_u64(ideal, port + fill + 2 * FOLDS));
  }
}

/* What begins while a gated phase still writes comes behind it. */
static void a_phase_follows_a_gated_one(void **state) {
  (void)state;
  static const struct {
    uint64_t start, takes; /* the gated one fills [100, 200); this one asks 100 */
    uint64_t at, wait;     /* ns, of a DMA unit */
  } rows[] = {
      {180, 100, 190, 10},  /* of the gated one alone */
      {180, 100, 200, 80},  /* of the next */
      {100, 200, 100, 101}, /* with it: they share, first the gated one, … */
      {100, 200, 200, 1},   /* … and its half, spread over the 200 cycles */
      {200, 100, 199, 1},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance x;
    const struct tsr_buffer_ops *b = open_sram(&f, &x, "1rw", 4, 8);
    assert_int_equal(b->tile(x.state, TSR_PHASE_LATER, 100, 0, 3200, NULL), 100);
    b->occupy(x.state, 100, 100, 0, 3200);
    assert_int_equal(b->tile(x.state, rows[i].start, 100, 3200, 0, NULL), rows[i].takes);
    uint64_t waited = 0;
    (void)fake_move(&x, 32, true, rows[i].at * NS, &waited);
    if (waited != rows[i].wait * NS) fail_msg("row %zu: waited %" PRIu64 " fs", i, waited);
    fake_drop(&x);
    fake_close(&f);
  }
}

/* ---- latency ---- */

/* Phases of one scratchpad in the order of booking, 20 cycles each. */
static void latency_shows_after_a_gap(void **state) {
  (void)state;
  static const struct {
    const char *width;
    uint64_t latency;
    uint64_t start[3], read[3], takes[3];
  } rows[] = {
      {"8B", 0, {0, 20, 50}, {8, 8, 8}, {20, 20, 20}},
      {"8B", 5, {0, 25, 45}, {8, 8, 8}, {25, 20, 20}}, /* on and on: once */
      {"8B", 5, {0, 26, 52}, {8, 8, 8}, {25, 25, 25}}, /* a cycle between */
      {"8B", 5, {0, 10, 25}, {8, 8, 8}, {25, 20, 20}}, /* beside it, then on */
      {"8B", 5, {3, 3, 28}, {8, 8, 8}, {25, 25, 20}},  /* two that begin together */
      {"8B", 5, {0, 25, 45}, {0, 8, 8}, {20, 25, 20}}, /* a write has none */
      {"unlimited", 5, {0, 25, 46}, {8, 8, 8}, {25, 20, 25}},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance x;
    char text[128];
    snprintf(text, sizeof text, "{size: 64KiB, width: %s, latency: %" PRIu64 "}", rows[i].width,
             rows[i].latency);
    fake_open(&f, 1000000000);
    fake_make(&f, &x, "sram", text, NULL, NULL, NULL);
    uint64_t sum = 0;
    for (int k = 0; k < 3; k++) {
      uint64_t got =
          x.ops->buffer->tile(x.state, rows[i].start[k], 20, rows[i].read[k], 8, NULL);
      if (got != rows[i].takes[k]) fail_msg("row %zu, phase %d: %" PRIu64, i, k, got);
      sum += got - 20;
    }
    assert_int_equal(fake_counter(&x, "latency_cycles"), sum);
    assert_int_equal(fake_counter(&x, "conflict_cycles"), 0);
    fake_drop(&x);
    fake_close(&f);
  }
}

/* Of a train that the DMA side reads every unit comes later, none takes the port longer. */
static void the_dma_side_reads_later_and_writes_at_once(void **state) {
  (void)state;
  static const struct {
    const char *width;
    uint64_t clock_hz;
    bool write;
    uint64_t first, next; /* fs, of units of 32 B */
  } rows[] = {
      {"32B", 1000000000, false, 6 * NS, 7 * NS},
      {"32B", 1000000000, true, 1 * NS, 2 * NS},
      {"unlimited", 1000000000, false, 5 * NS, 5 * NS},
      {"unlimited", 1000000000, true, 0, 0},
      {"32B", 2000000000, false, 3 * NS, 3 * NS + NS / 2},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance x;
    char text[128];
    snprintf(text, sizeof text, "{size: 64KiB, width: %s, latency: 5}", rows[i].width);
    fake_open(&f, rows[i].clock_hz);
    fake_make(&f, &x, "sram", text, NULL, NULL, NULL);
    uint64_t time[2] = {0, 0};
    assert_int_equal(x.ops->buffer->dma(x.state, 32, rows[i].write, 2, time), 0);
    assert_int_equal(time[0], rows[i].first);
    assert_int_equal(time[1], rows[i].next);
    fake_drop(&x);
    fake_close(&f);
  }
}

static void unlimited_ports_never_wait(void **state) {
  (void)state;
  struct fake f;
  struct tsr_instance x;
  fake_open(&f, 1000000000);
  fake_make(&f, &x, "sram", "{size: 3MiB, width: unlimited, buffers: 3}", NULL, NULL, NULL);
  const struct tsr_buffer_ops *b = x.ops->buffer;
  uint64_t waited = 0;
  assert_int_equal(b->tile(x.state, 0, 7, 1u << 30, 1u << 30, NULL), 7);
  assert_int_equal(fake_move(&x, 4096, true, 5, &waited), 5);
  assert_int_equal(waited, 0);
  assert_true(b->bytes_per_cycle(x.params) == TSR_UNLIMITED);
  assert_int_equal(b->slots(x.params), 3);
  assert_int_equal(b->slot_bytes(x.params), 1u << 20);
  fake_drop(&x);
  fake_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_phase_lengthens_at_the_first_byte_too_many),
      cmocka_unit_test(the_dma_side_gets_what_a_phase_leaves),
      cmocka_unit_test(both_of_two_phases_hold_the_port),
      cmocka_unit_test(the_port_is_shared_exactly),
      cmocka_unit_test(the_dma_side_alone_moves_at_the_port_rate),
      cmocka_unit_test(a_train_is_its_units_one_by_one),
      cmocka_unit_test(directions_share_one_port_only),
      cmocka_unit_test(phases_at_once_share_the_ports),
      cmocka_unit_test(a_phase_meets_those_it_overlaps),
      cmocka_unit_test(promises_can_be_kept),
      cmocka_unit_test(more_is_never_slower_for_phases_at_once),
      cmocka_unit_test(phases_at_once_share_banks),
      cmocka_unit_test(the_dma_side_gets_what_all_phases_leave),
      cmocka_unit_test(a_later_phase_counts_from_its_start),
      cmocka_unit_test(a_tile_shares_one_scratchpad_with_itself),
      cmocka_unit_test(a_phase_follows_a_gated_one),
      cmocka_unit_test(latency_shows_after_a_gap),
      cmocka_unit_test(the_dma_side_reads_later_and_writes_at_once),
      cmocka_unit_test(unlimited_ports_never_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
