/* The engine over whole programs: limits, accounts, the VCD of unit states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/lower/lower.h"
#include "sim/base/io.h"
#include "sim/base/log.h"
#include "sim/base/mem.h"
#include "tests/support/layers.h"

/* A machine of systolic-32 with changes, and the program of one matmul on it. */
struct fixture {
  struct tsr_machine *m;
  struct tsr_program p;
  struct tsr_err err;
};

static void make(struct fixture *f, const char *const *sets, size_t n_sets, uint64_t m,
                 uint64_t n, uint64_t k) {
  *f = (struct fixture){.err = TSR_ERR_INIT};
  assert_int_equal(tsr_machine_read("systolic-32", NULL, sets, n_sets, &f->m, &f->err), TSR_OK);
  struct tsr_shape s = {.a_bytes = 2, .b_bytes = 2, .acc_bytes = 4, .out_bytes = 2};
  for (int x = 0; x < TSR_AXIS_COUNT; x++) s.size[x] = 1;
  s.size[TSR_AXIS_OW] = m;
  s.size[TSR_AXIS_N] = n;
  s.size[TSR_AXIS_C] = k;
  struct tsr_target t = {.flow = TSR_FLOW_WS,
                         .rows = 32,
                         .cols = 32,
                         .preload = true,
                         .rate = 1,
                         .slot_bytes = {65536, 65536, 65536},
                         .slots = {2, 2, 2},
                         .burst_bytes = 64,
                         .dram_bytes_per_cycle = 51.2,
                         .latency_cycles = 80};
  struct tsr_layout lay = {.base_bytes = {0, 1 << 20, 2 << 20},
                           .slots = {2, 2, 2},
                           .slot_bytes = {65536, 65536, 65536},
                           .rate = 1,
                           .formats = {"fp16", "fp16", "fp32", "fp16"}};
  struct tsr_mapping map;
  assert_int_equal(tsr_mapping_template(&s, &t, "x", &map, &f->err), TSR_OK);
  assert_int_equal(tsr_lower_program(&s, &map, &lay, NULL, &f->p, &f->err), TSR_OK);
}

static void unmake(struct fixture *f) {
  tsr_isa_program_fini(&f->p);
  tsr_machine_destroy(f->m);
  tsr_err_fini(&f->err);
}

/* Adds up a unit's cycles, and those of its segments. */
static enum tsr_status expect_accounted(void *arg, size_t job, const struct tsr_layer_result *r,
                                        struct tsr_err *err) {
  (void)job;
  (void)err;
  assert_int_equal(r->n_units, 3); /* the vector unit had nothing to do */
  for (size_t u = 0; u < r->n_units; u++) {
    uint64_t sum = 0, traced = 0;
    for (int s = 0; s < TSR_STATE_COUNT; s++) sum += r->units[u].cycles[s];
    for (size_t g = 0; g < r->n_segments; g++)
      if (!strcmp(r->segments[g].unit, r->units[u].name))
        traced += r->segments[g].duration_cycles * r->segments[g].repeats;
    assert_true(sum == r->cycles);
    assert_true(traced == r->cycles);
  }
  layer_keep(arg, r);
  return TSR_OK;
}

static void every_cycle_of_every_unit_is_accounted(void **state) {
  (void)state;
  static const uint64_t shapes[][3] = {
      {1, 1, 1}, {100, 77, 300}, {500, 64, 64}, {64, 500, 1000}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    struct fixture f;
    make(&f, NULL, 0, shapes[i][0], shapes[i][1], shapes[i][2]);
    struct tsr_engine *e;
    struct layer r;
    struct tsr_engine_options o = {.trace = true};
    const struct tsr_program *p = &f.p;
    const struct tsr_job job = {.name = "x", .n_cores = 1, .program = &p};
    const struct tsr_job_hooks hooks = {.arg = &r, .end = expect_accounted};
    assert_int_equal(tsr_engine_create(f.m, &o, &e, &f.err), TSR_OK);
    for (int again = 0; again < 2; again++) {
      assert_int_equal(tsr_engine_run(e, &job, 1, &hooks, &f.err), TSR_OK);
      assert_true(r.r.macs == shapes[i][0] * shapes[i][1] * shapes[i][2]);
    }
    assert_true(r.r.start_cycles ==
                r.r.cycles); /* the second run began where the first ended */
    tsr_engine_destroy(e);
    unmake(&f);
  }
}

static void limits_end_a_run_with_their_reason(void **state) {
  (void)state;
  static const struct {
    const char *set, *message;
    bool interrupt;
  } rows[] = {
      {"sim.max_cycles=100", "passes sim.max_cycles = 100", false},
      {"clock=1kHz", "would end past 2^64 fs", false},
      {"sim.max_cycles=unlimited", "interrupted in layer 'x'", true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct fixture f;
    /* 1 kHz: 2^64 fs is 18 million cycles */
    uint64_t m = rows[i].set[0] == 'c' ? 30000000 : 300;
    make(&f, &rows[i].set, 1, m, 64, 64);
    struct tsr_engine *e;
    struct layer r = {.r.cycles = 4711};
    assert_int_equal(tsr_engine_create(f.m, NULL, &e, &f.err), TSR_OK);
    tsr_interrupted = rows[i].interrupt;
    assert_int_equal(layer_run_program(e, &f.p, "x", &r, &f.err), TSR_SIM);
    tsr_interrupted = 0;
    assert_non_null(strstr(f.err.msg[0], rows[i].message));
    assert_true(r.r.cycles == 4711);
    tsr_engine_destroy(e);
    unmake(&f);
  }
}

static void a_vcd_holds_the_states_of_the_units(void **state) {
  (void)state;
  char path[] = "/tmp/tsr_engine_XXXXXX.vcd";
  int fd = mkstemps(path, 4);
  assert_true(fd >= 0);
  close(fd);
  struct fixture f;
  make(&f, NULL, 0, 100, 77, 300);
  struct tsr_engine *e;
  struct layer r;
  struct tsr_engine_options o = {.vcd_path = path};
  assert_int_equal(tsr_engine_create(f.m, &o, &e, &f.err), TSR_OK);
  assert_int_equal(layer_run_program(e, &f.p, "x", &r, &f.err), TSR_OK);
  tsr_engine_destroy(e);
  char *text;
  size_t n;
  assert_int_equal(tsr_io_read(path, &text, &n, &f.err), TSR_OK);
  unlink(path);
  static const char *const names[] = {"tile0", "load", "store"};
  for (size_t i = 0; i < 3; i++) assert_non_null(strstr(text, names[i]));
  /* the tile waits for its first load, works, and rests at the end */
  const char *dump = strstr(text, "$dumpvars");
  assert_non_null(dump);
  assert_non_null(strstr(dump, "b10 "));
  assert_non_null(strstr(dump, "b1 "));
  tsr_mem_free(text);
  unmake(&f);
}

static void an_estimate_is_no_less_than_the_events(void **state) {
  (void)state;
  struct fixture f;
  make(&f, NULL, 0, 500, 300, 700);
  struct tsr_engine *e;
  struct layer r;
  uint64_t events, cycles;
  tsr_engine_estimate(f.m, &f.p, &events, &cycles);
  assert_int_equal(tsr_engine_create(f.m, NULL, &e, &f.err), TSR_OK);
  assert_int_equal(layer_run_program(e, &f.p, "x", &r, &f.err), TSR_OK);
  assert_true(events >= r.r.events / 2 && events <= r.r.events * 4);
  assert_true(cycles >= layer_unit(&r, TSR_UNIT_TILE)[TSR_STATE_BUSY]);
  tsr_engine_destroy(e);
  unmake(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_cycle_of_every_unit_is_accounted),
      cmocka_unit_test(limits_end_a_run_with_their_reason),
      cmocka_unit_test(a_vcd_holds_the_states_of_the_units),
      cmocka_unit_test(an_estimate_is_no_less_than_the_events),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
