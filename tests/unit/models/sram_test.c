/* sram: ports, phases of the tile, the DMA side beside them. */
#include "fake.h"

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
      cmocka_unit_test(unlimited_ports_never_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
