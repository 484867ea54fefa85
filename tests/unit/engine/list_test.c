/* Rows by index: the list in a scratchpad says which rows of a tensor move; with values they
 * are those, without they are drawn, and the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/engine/engine.h"
#include "sim/engine/values.h"

enum { ROWS = 50, COLS = 48, MANY = 7 };
enum { LIST = 0, TABLE = 4096, OTHER = 65536 };
#define LEN(a) (sizeof(a) / sizeof(*(a)))

/* t0 the list, t1 the table, t2 as many rows as the list has places. */
static const char text[] =
    "format f0, \"int32\"\nformat f1, \"fp16\"\n"
    "tensor t0, f0, elem=4, base=0\ndim t0, 0, 7, 4\nbox t0, 0, 7\n"
    "tensor t1, f1, elem=2, base=4096\ndim t1, 0, 50, 96\nbox t1, 0, 7\n"
    "dim t1, 1, 48, 2\nbox t1, 1, 48\n"
    "tensor t2, f1, elem=2, base=65536\ndim t2, 0, 7, 96\nbox t2, 0, 7\n"
    "dim t2, 1, 48, 2\nbox t2, 1, 48\n"
    "place p0, b, f0, elem=4, base=64, wrap=1\nplace p1, a, f1, elem=2, base=0, wrap=1\n"
    "sem s0, 0\nload t0, p0, own\nsignal load, s0, done\n";
static const char gather[] = "wait load, s0, start\ngather t1, p1, p0\nsignal load, s1, done\n"
                             "wait store, s1, start\nstore t2, p1, shift=0\nhalt\n";
static const char scatter[] = "load t2, p1, own\nsignal load, s1, done\n"
                              "wait store, s0, start\nwait store, s1, start\n"
                              "scatter t1, p1, p0\nhalt\n";

struct result {
  struct tsr_layer_result layer;
  uint16_t table[ROWS * COLS], other[MANY * COLS];
};

static enum tsr_status on_end(void *arg, size_t job, const struct tsr_layer_result *r,
                              struct tsr_err *err) {
  struct result *out = arg;
  (void)job;
  (void)err;
  out->layer = *r;
  return TSR_OK;
}

static void fill(struct tsr_values *v, const uint32_t *list, bool scatters, uint8_t **table,
                 uint8_t **other, struct tsr_err *err) {
  uint8_t *to;
  assert_int_equal(tsr_values_tensor(v, LIST, MANY * 4, true, &to, err), TSR_OK);
  memcpy(to, list, MANY * 4);
  assert_int_equal(tsr_values_tensor(v, TABLE, ROWS * COLS * 2, true, table, err), TSR_OK);
  assert_int_equal(tsr_values_tensor(v, OTHER, MANY * COLS * 2, scatters, other, err), TSR_OK);
  for (uint16_t i = 0; i < ROWS * COLS; i++) memcpy(*table + 2 * i, &i, 2);
  for (uint16_t i = 0; scatters && i < MANY * COLS; i++) {
    uint16_t code = (uint16_t)(30000 + i);
    memcpy(*other + 2 * i, &code, 2);
  }
}

/* list NULL: without values. */
static enum tsr_status run(const char *tail, const uint32_t *list, uint64_t seed,
                           struct result *out, struct tsr_err *err) {
  char whole[4096];
  struct tsr_machine *m;
  struct tsr_program p = {0};
  struct tsr_values *v = NULL;
  struct tsr_engine *e = NULL;
  uint8_t *table = NULL, *other = NULL;
  int n = snprintf(whole, sizeof whole, "%s%s", text, tail);
  if (tsr_isa_assemble("list.s", whole, (size_t)n, &p, err)) fail_msg("%s", err->msg[0]);
  assert_int_equal(tsr_machine_read("systolic-32", NULL, NULL, 0, &m, err), TSR_OK);
  if (list) {
    assert_int_equal(tsr_values_create(m, &v, err), TSR_OK);
    fill(v, list, tail == scatter, &table, &other, err);
  }
  const struct tsr_engine_options o = {.values = v, .seed = seed};
  const struct tsr_program *programs[] = {&p};
  const struct tsr_job job = {.name = "rows", .n_cores = 1, .program = programs};
  const struct tsr_job_hooks hooks = {.arg = out, .end = on_end};
  enum tsr_status st = tsr_engine_create(m, &o, &e, err);
  if (!st) st = tsr_engine_run(e, &job, 1, &hooks, err);
  if (list) {
    memcpy(out->table, table, sizeof out->table);
    memcpy(out->other, other, sizeof out->other);
  }
  tsr_engine_destroy(e);
  tsr_values_destroy(v);
  tsr_isa_program_fini(&p);
  tsr_machine_destroy(m);
  return st;
}

static const uint32_t some[MANY] = {49, 0, 3, 3, 17, 4, 5};

static void gathered_rows_are_those_listed(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  struct result r;
  if (run(gather, some, 0, &r, &err)) fail_msg("%s", err.msg[0]);
  for (uint64_t i = 0; i < MANY; i++)
    for (uint64_t j = 0; j < COLS; j++)
      assert_int_equal(r.other[i * COLS + j], some[i] * COLS + j);
  /* A row of 96 bytes touches two bursts of 64, but 3 and 3, and 4 and 5, share one. */
  assert_true(r.layer.useful_bytes == MANY * 4 + 2 * MANY * COLS * 2);
  assert_true(r.layer.dram_read_bytes >= 64 + MANY * 96);
  assert_true(r.layer.dram_read_bytes <= 64 + MANY * 128);
  tsr_err_fini(&err);
}

static void scattered_rows_land_where_listed(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  struct result r;
  if (run(scatter, some, 0, &r, &err)) fail_msg("%s", err.msg[0]);
  for (uint32_t row = 0; row < ROWS; row++) {
    uint32_t from = MANY; /* the last that names it */
    for (uint32_t i = 0; i < MANY; i++)
      if (some[i] == row) from = i;
    for (uint32_t j = 0; j < COLS; j++)
      assert_int_equal(r.table[row * COLS + j],
                       from < MANY ? 30000 + from * COLS + j : row * COLS + j);
  }
  tsr_err_fini(&err);
}

static void an_index_outside_is_refused(void **state) {
  (void)state;
  static const struct {
    uint32_t index;
    enum tsr_status status;
  } rows[] = {{ROWS - 1, TSR_OK},
              {ROWS, TSR_SIM}, /* negative ones count from the end: */
              {UINT32_MAX, TSR_OK},
              {UINT32_MAX - ROWS + 1, TSR_OK},
              {UINT32_MAX - ROWS, TSR_SIM}};
  static const char *const tails[] = {gather, scatter};
  for (size_t i = 0; i < LEN(rows); i++)
    for (size_t t = 0; t < LEN(tails); t++) {
      uint32_t list[MANY] = {0, 1, 2, rows[i].index, 4, 5, 6};
      struct tsr_err err = TSR_ERR_INIT;
      struct result r;
      assert_int_equal(run(tails[t], list, 0, &r, &err), rows[i].status);
      if (rows[i].status) assert_non_null(strstr(err.msg[0], "index 3 of its list is"));
      tsr_err_fini(&err);
    }
}

static void a_list_that_is_not_there_is_refused(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  struct result r;
  /* the gather begins while the list is on its way */
  static const char early[] = "wait store, s0, start\ngather t1, p1, p0\nhalt\n";
  assert_int_equal(run(early, some, 0, &r, &err), TSR_SIM);
  assert_non_null(strstr(err.msg[0], "scratchpad b, never written"));
  tsr_err_fini(&err);
}

static void drawn_rows_depend_on_the_seed_alone(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 3; seed++) {
    struct tsr_err err = TSR_ERR_INIT;
    struct result off, again, with;
    uint32_t list[MANY];
    for (uint64_t i = 0; i < MANY; i++) {
      list[i] = (uint32_t)tsr_engine_index(seed, LIST + 4 * i, ROWS);
      assert_true(list[i] < ROWS);
    }
    assert_int_equal(run(gather, NULL, seed, &off, &err), TSR_OK);
    assert_int_equal(run(gather, NULL, seed, &again, &err), TSR_OK);
    assert_int_equal(run(gather, list, seed, &with, &err), TSR_OK);
    assert_true(off.layer.cycles == again.layer.cycles);
    assert_true(off.layer.cycles == with.layer.cycles);
    assert_true(off.layer.dram_read_bytes == with.layer.dram_read_bytes);
    tsr_err_fini(&err);
  }
}

static void draws_are_uniform(void **state) {
  (void)state;
  enum { N = 10000, BELOW = 10 };
  uint64_t count[BELOW] = {0};
  for (uint64_t i = 0; i < N; i++) count[tsr_engine_index(5, 4 * i, BELOW)]++;
  for (int i = 0; i < BELOW; i++) /* five standard deviations of 30 */
    assert_in_range(count[i], N / BELOW - 150, N / BELOW + 150);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gathered_rows_are_those_listed),
      cmocka_unit_test(scattered_rows_land_where_listed),
      cmocka_unit_test(an_index_outside_is_refused),
      cmocka_unit_test(a_list_that_is_not_there_is_refused),
      cmocka_unit_test(drawn_rows_depend_on_the_seed_alone),
      cmocka_unit_test(draws_are_uniform),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
