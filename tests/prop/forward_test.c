/* Fast-forward on and off: every row of every table of the store is the same, but for how long
 * it took and what was skipped. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/rng.h"
#include "sim/base/str.h"
#include "tests/prop/cases.h"
#include "tests/unit/run/ran.h"
#include "tests/unit/store/sample.h"

enum { SETS = 48, TEXT = 64 };
struct one {
  const char *arch;
  char workload[160];
  char text[SETS][TEXT];
  size_t n;
  bool full;         /* trace */
  char mapping[400]; /* of a file, "": the template's */
  char csv[400];     /* the workload's text, "": its name tells */
  const char *keep;
};

static void set(struct one *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void set(struct one *x, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  assert_true(x->n + 2 < SETS);
  (void)vsnprintf(x->text[x->n++], TEXT, fmt, args);
  va_end(args);
}

#define PICK(r, ...) pick_text(r, (const char *const[]){__VA_ARGS__, NULL})
static const char *pick_text(struct tsr_rng *r, const char *const *list) {
  size_t n = 0;
  while (list[n]) n++;
  return list[tsr_rng_range(r, 0, n - 1)];
}
static bool one_of(struct tsr_rng *r, uint64_t n) {
  return tsr_rng_range(r, 1, n) == 1;
}

static void random_tile(struct tsr_rng *r, struct one *x) {
  if (one_of(r, 5)) {
    x->arch = "systolic-32";
    set(x, "tile.kind=dot");
    set(x, "tile.m=%s", PICK(r, "4", "8", "16"));
    set(x, "tile.n=8");
    set(x, "tile.k=%s", PICK(r, "1", "4"));
    set(x, "tile.depth=%s", PICK(r, "1", "4", "7"));
    set(x, "tile.keep=%s", PICK(r, "a", "b", "none"));
    set(x, "tile.fetch=%s", PICK(r, "unlimited", "64B"));
    set(x, "tile.count=%s", PICK(r, "1", "1", "3"));
    return;
  }
  x->arch =
      PICK(r, "systolic-32", "systolic-32", "systolic-128", "edge-npu", "tpu-v1", "onnxim-128");
  if (strcmp(x->arch, "onnxim-128") == 0) return;
  set(x, "tile.dataflow=%s", PICK(r, "os", "ws", "is", "rs"));
  set(x, "tile.drain=%s", PICK(r, "overlap", "serial"));
  set(x, "tile.weight_preload=%s", PICK(r, "true", "true", "false"));
  if (strncmp(x->arch, "systolic", 8) != 0) return;
  if (one_of(r, 4)) set(x, "tile.promote=%s", PICK(r, "32", "64", "128"));
  if (one_of(r, 6)) set(x, "tile.group=%s", PICK(r, "32", "64"));
  if (one_of(r, 6)) set(x, "tile.rates.int8=1");
}

static void random_memories(struct tsr_rng *r, struct one *x) {
  for (char b = 'a'; b <= 'c'; b++) {
    set(x, "sram.%c.size=%s", b, PICK(r, "16KiB", "16KiB", "64KiB", "256KiB"));
    set(x, "sram.%c.buffers=%s", b, PICK(r, "1", "2", "2", "3"));
    set(x, "sram.%c.ports=%s", b, PICK(r, "1rw", "1r1w", "2rw"));
    if (one_of(r, 3)) set(x, "sram.%c.latency=3", b);
    if (one_of(r, 2)) continue;
    set(x, "sram.%c.banks=%s", b, PICK(r, "4", "16"));
    set(x, "sram.%c.width=%s", b, PICK(r, "8B", "16B", "unlimited"));
    if (strstr(x->text[x->n - 1], "unlimited")) continue;
    set(x, "sram.%c.layout=%s", b, PICK(r, "stream", "row", "xor"));
  }
  if (one_of(r, 6)) set(x, "sram.unified=true");
  set(x, "dram.channels=%s", PICK(r, "1", "2", "3", "8"));
  set(x, "dram.bandwidth=%s", PICK(r, "10GB/s", "64GB/s", "600GB/s", "unlimited"));
  set(x, "dram.latency=%s", PICK(r, "0ns", "33ns", "100ns", "1us"));
  set(x, "dma.outstanding=%s", PICK(r, "1", "4", "64", "1024"));
  set(x, "dma.burst=%s", PICK(r, "32B", "64B", "48B"));
  set(x, "clock=%s", PICK(r, "1GHz", "1GHz", "1.41GHz", "700MHz"));
}

#define UP_TO(n) tsr_rng_range(r, 1, n)
/* Layers that read each other's results, some of which stay on the chip. */
static void random_chain(struct tsr_rng *r, struct one *x) {
  const uint64_t m = UP_TO(400), k = UP_TO(90), h = UP_TO(120), n = UP_TO(90), g = UP_TO(4);
  (void)snprintf(x->workload, sizeof x->workload, "chain.csv");
  x->keep = PICK(r, "1KiB", "4KiB", "8KiB", "30KiB", "200KiB");
  int at = snprintf(x->csv, sizeof x->csv, "model,layer,op,M,N,K,count,notes,epilogue,after\n");
  (void)snprintf(x->csv + at, sizeof x->csv - (size_t)at,
                 "c,x,linear,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",1,,,-\n"
                 "c,u,bmm,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",,%s,x\n"
                 "c,v,gelu,%" PRIu64 ",%" PRIu64 ",1,%" PRIu64 ",,,u\n"
                 "c,w,bmm,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",,,v\n"
                 "c,y,add,%" PRIu64 ",%" PRIu64 ",1,%" PRIu64 ",,,w u\n",
                 m * g, k, n, m, h, k, g, PICK(r, "", "relu", "bias"), m, h, g, m, h, h, g, m,
                 h, g);
}

static void random_work(struct tsr_rng *r, struct one *x) {
  char *w = x->workload;
  const size_t n = sizeof x->workload;
  switch (tsr_rng_range(r, 0, 11)) {
  case 10:
  case 11: random_chain(r, x); break;
  case 0:
  case 1:
    (void)snprintf(w, n,
                   "op:conv:in_c=%" PRIu64 ",hw=%" PRIu64 ",out_c=%" PRIu64
                   ",window=%s,pad=%s,stride=%s",
                   UP_TO(64), 5 + UP_TO(40), UP_TO(80), PICK(r, "1", "3", "5"),
                   PICK(r, "0", "1"), PICK(r, "1", "2"));
    break;
  case 2:
    (void)snprintf(w, n, "op:bmm:m=%" PRIu64 ",n=%" PRIu64 ",k=%" PRIu64 ",count=%" PRIu64,
                   UP_TO(200), UP_TO(200), UP_TO(200), UP_TO(12));
    break;
  case 3:
    (void)snprintf(w, n, "op:%s:m=%" PRIu64 ",n=%" PRIu64,
                   PICK(r, "softmax", "gelu", "layernorm", "add", "transpose", "rowsum"),
                   UP_TO(600), UP_TO(900));
    break;
  case 4:
    (void)snprintf(w, n, "op:attention:s=%" PRIu64 ",d=%s,heads=%" PRIu64, 10 + UP_TO(300),
                   PICK(r, "16", "64"), UP_TO(4));
    break;
  case 5: /* equal layers, one of them apart */
    (void)snprintf(w, n,
                   "gemm:97x80x200,64x64x64,97x80x200,97x80x200,64x64x64,%" PRIu64
                   "x64x64,97x80x200",
                   UP_TO(100));
    break;
  case 6:
  case 7:
  case 8: /* many tiles along one axis */
    (void)snprintf(w, n, "gemm:%s",
                   PICK(r, "64x64x20000", "64x9000x200", "12000x64x100", "300x300x6000",
                        "128x4096x512", "3000x700x96"));
    break;
  default:
    (void)snprintf(w, n, "gemm:%" PRIu64 "x%" PRIu64 "x%" PRIu64, UP_TO(700), UP_TO(700),
                   UP_TO(900));
    break;
  }
}

/* A mapping by hand, good or bad, that may not fit. */
static void random_mapping(struct tsr_rng *r, struct one *x) {
  uint64_t m, n, k;
  if (!one_of(r, 2) ||
      sscanf(x->workload, "gemm:%" SCNu64 "x%" SCNu64 "x%" SCNu64, &m, &n, &k) != 3 ||
      strchr(x->workload, ','))
    return;
  const uint64_t tm = UP_TO(m), tn = UP_TO(n), tk = tsr_min_u64(k, 16 * UP_TO(16));
  bool n_outer = one_of(r, 2);
  (void)snprintf(
      x->mapping, sizeof x->mapping,
      "version: 1\nlayers:\n  - layer: '*'\n    loops:\n"
      "      - {axis: %s, tile: %" PRIu64 "}\n      - {axis: %s, tile: %" PRIu64 "}\n"
      "      - {axis: k, tile: %" PRIu64 "}\n    buffers: {a: %" PRIu64 ", b: %" PRIu64 "}\n",
      n_outer ? "n" : "m", n_outer ? tsr_min_u64(tn, 64) : tsr_min_u64(tm, 64),
      n_outer ? "m" : "n", n_outer ? tsr_min_u64(tm, 64) : tsr_min_u64(tn, 64), tk, UP_TO(3),
      UP_TO(3));
}

static void random_case(uint64_t i, struct one *x) {
  struct tsr_rng rng = {i * 2654435761u + 17}, *r = &rng;
  memset(x, 0, sizeof *x);
  random_tile(r, x);
  random_memories(r, x);
  random_work(r, x);
  random_mapping(r, x);
  x->full = one_of(r, 2);
}

/* Run 1 with, run 2 without; false: refused, and then alike. */
static bool run_both(struct one *x, struct tsr_store *store) {
  enum tsr_status st[2];
  for (int off = 0; off < 2; off++) {
    const char *sets[SETS];
    struct tsr_err err = TSR_ERR_INIT;
    uint64_t id;
    for (size_t i = 0; i < x->n; i++) sets[i] = x->text[i];
    sets[x->n] = off ? "sim.fast_forward=false" : "sim.fast_forward=true";
    const struct tsr_run_options o = {.arch = x->arch,
                                      .workload = x->workload,
                                      .sets = sets,
                                      .n_sets = x->n + 1,
                                      .workload_text = *x->csv ? x->csv : NULL,
                                      .keep = x->keep,
                                      .mapping = *x->mapping ? "m.yaml" : NULL,
                                      .mapping_text = *x->mapping ? x->mapping : NULL,
                                      .seed = 1,
                                      .trace = x->full ? TSR_TRACE_FULL : TSR_TRACE_SUMMARY,
                                      .version = "test"};
    st[off] = tsr_run_execute(&o, store, &id, &err);
    if (st[off] && st[off] != TSR_INPUT)
      fail_msg("%s on %s: %s", x->workload, x->arch, err.n ? err.msg[0] : "failed");
    tsr_err_fini(&err);
  }
  assert_int_equal(st[0], st[1]);
  return st[0] == TSR_OK;
}

static double number(struct tsr_store *s, const char *sql) {
  struct ran r = {.store = s};
  return ran_number(&r, sql);
}

/* The columns of a table but those that tell one run from another. */
static void columns_of(struct tsr_store *s, const char *table, struct tsr_str *out) {
  struct tsr_query *q;
  bool row;
  assert_int_equal(tsr_store_query(s,
                                   "SELECT name FROM pragma_table_info(?1) WHERE name NOT IN "
                                   "('run_id', 'created_utc', 'wall_s', 'fast_forwarded')",
                                   &q, NULL),
                   TSR_OK);
  tsr_query_bind_text(q, 1, table);
  while (!tsr_query_step(q, &row, NULL) && row)
    tsr_str_addf(out, "%s\"%s\"", out->n ? ", " : "", tsr_query_text(q, 0));
  tsr_query_close(q);
}

static void expect_same(struct tsr_store *s, const char *table, const struct one *x) {
  struct tsr_str cols = TSR_STR_INIT, sql = TSR_STR_INIT;
  columns_of(s, table, &cols);
  for (int side = 1; side <= 2; side++) {
    sql.n = 0;
    tsr_str_addf(&sql,
                 "SELECT count(*) FROM (SELECT %s FROM %s WHERE run_id = %d EXCEPT SELECT %s "
                 "FROM %s WHERE run_id = %d)",
                 cols.p, table, side, cols.p, table, 3 - side);
    double n = number(s, sql.p);
    if (n > 0) {
      for (size_t i = 0; i < x->n; i++) print_message("--set %s ", x->text[i]);
      print_message("%s\n%s--keep %s\n", x->mapping, x->csv, x->keep ? x->keep : "0");
      fail_msg("%s on %s: %.0f rows of table %s differ", x->workload, x->arch, n, table);
    }
  }
  sql.n = 0;
  tsr_str_addf(&sql,
               "SELECT (SELECT count(*) FROM %s WHERE run_id = 1) - (SELECT count(*) FROM %s "
               "WHERE run_id = 2)",
               table, table);
  assert_true(number(s, sql.p) == 0);
  tsr_str_fini(&cols);
  tsr_str_fini(&sql);
}

static size_t expect_all_same(struct tsr_store *s, const struct one *x) {
  struct tsr_query *q;
  size_t tables = 0;
  char name[64][48];
  bool row;
  assert_int_equal(
      tsr_store_query(
          s,
          "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE "
          "m.type = 'table' AND c.name = 'run_id' AND m.name NOT LIKE '%input%'",
          &q, NULL),
      TSR_OK);
  while (!tsr_query_step(q, &row, NULL) && row && tables < 64)
    (void)snprintf(name[tables++], sizeof name[0], "%s", tsr_query_text(q, 0));
  tsr_query_close(q);
  for (size_t i = 0; i < tables; i++) expect_same(s, name[i], x);
  return tables;
}

/* What was wrong once. */
static bool known_case(uint64_t i, struct one *x) {
  static const char *const workloads[] = {"gemm:32x4096x32", "gemm:64x4096x32",
                                          "gemm:16x4096x32"};
  if (i >= sizeof workloads / sizeof *workloads) return false;
  memset(x, 0, sizeof *x);
  x->arch = "systolic-32";
  x->full = true;
  (void)snprintf(x->workload, sizeof x->workload, "%s", workloads[i]);
  set(x, "sram.c.size=8KiB");
  return true;
}

static void every_table_is_the_same(void **state) {
  (void)state;
  uint64_t cases = prop_cases(620), ran = 0, forwarded = 0;
  double skipped = 0, all = 0;
  for (uint64_t i = 0; i < cases; i++) {
    struct one x;
    char path[128], dir[64];
    struct tsr_store *store = NULL;
    if (!known_case(i, &x)) random_case(i, &x);
    (void)snprintf(dir, sizeof dir, "%s", sample_dir());
    (void)snprintf(path, sizeof path, "%s/t.db", dir);
    assert_int_equal(tsr_store_open(path, TSR_STORE_WRITE, &store, NULL), TSR_OK);
    if (run_both(&x, store)) {
      ran++;
      assert_true(expect_all_same(store, &x) >= 6);
      double n = number(store, "SELECT fast_forwarded FROM v_runs WHERE run = 1");
      forwarded += n > 0;
      skipped += n;
      all += number(store, "SELECT events FROM v_runs WHERE run = 1");
      assert_true(number(store, "SELECT fast_forwarded FROM v_runs WHERE run = 2") == 0);
    }
    assert_int_equal(tsr_store_close(store, NULL), TSR_OK);
    sample_dir_remove(dir);
  }
  print_message("%" PRIu64 " pairs of runs; %" PRIu64
                " skipped something, %.0f %% of all events\n",
                ran, forwarded, 100 * skipped / all);
  assert_true(10 * ran >= 8 * cases && 5 * forwarded >= ran);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_table_is_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
