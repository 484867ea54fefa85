/* Folds: every product once, and the elements of each fold, byte by byte, against an
 * enumeration that knows nothing of ranges. */
#include <stdlib.h>
#include <string.h>

#include "models/tile/fold.h"
#include "tile_rig.h"

enum { MAX = 24, SPACE = 1 << 14 };

/* Positions along k of the products, in order. */
struct kept {
  uint64_t n, at[4 * MAX];
};
static struct kept kept_of(const struct tsr_mm_req *q) {
  struct kept k = {0};
  for (uint64_t i = 0; i < q->k; i++)
    if (!q->sparse || i % 4 < 2) k.at[k.n++] = i;
  return k;
}

/* The place of an executed product in a fold's axes. */
static bool holds(const struct tsri_array *x, const struct tsri_fold *f, enum tsri_dim dim,
                  uint64_t i) {
  if (dim == x->flow->rows) return i >= f->row0 && i < f->row0 + f->rows;
  if (dim == x->flow->cols) return i >= f->col0 && i < f->col0 + f->cols;
  return true;
}

static struct tsr_mm_req random_request(struct tsr_rng *r) {
  struct tsr_mm_req q = {.m = tsr_rng_range(r, 1, MAX),
                         .n = tsr_rng_range(r, 1, MAX),
                         .k = tsr_rng_range(r, 1, 2 * MAX),
                         .groups = tsr_rng_range(r, 1, 2),
                         .first = true,
                         .last = true,
                         .sparse = tsr_rng_range(r, 0, 1),
                         .a_bytes = (uint32_t)tsr_rng_range(r, 1, 2),
                         .b_bytes = (uint32_t)tsr_rng_range(r, 1, 2),
                         .acc_bytes = 4,
                         .rate = (uint32_t)tsr_rng_range(r, 1, 3)};
  return q;
}
static struct tsri_array random_sides(struct tsr_rng *r) {
  return (struct tsri_array){&tsri_flows[tsr_rng_range(r, 0, 2)], tsr_rng_range(r, 1, 8),
                             tsr_rng_range(r, 1, 8)};
}

static void every_product_is_in_one_fold(void **state) {
  (void)state;
  struct tsr_rng r = {3};
  for (int i = 0; i < 500; i++) {
    static uint8_t seen[MAX][MAX][2 * MAX];
    struct tsri_array x = random_sides(&r);
    struct tsr_mm_req q = random_request(&r);
    struct kept k = kept_of(&q);
    uint64_t folds = 0, bytes[2] = {0, 0};
    struct tsri_place p = {0};
    struct tsri_fold f;
    memset(seen, 0, sizeof seen);
    do {
      tsri_fold_at(&x, &q, &p, &f);
      for (uint64_t m = 0; m < q.m; m++)
        for (uint64_t n = 0; n < q.n; n++)
          for (uint64_t j = 0; j < k.n; j++)
            seen[m][n][j] += holds(&x, &f, TSRI_M, m) && holds(&x, &f, TSRI_N, n) &&
                             holds(&x, &f, TSRI_K, j);
      for (int o = 0; o < 2; o++) bytes[o] += tsri_fold_bytes(&x, &q, &f, o);
      folds++;
    } while (tsri_fold_next(&x, &q, &p));
    assert_int_equal(folds, tsri_folds(&x, &q));
    assert_int_equal(k.n, tsri_extent(&q, TSRI_K));
    for (uint64_t m = 0; m < q.m; m++)
      for (uint64_t n = 0; n < q.n; n++)
        for (uint64_t j = 0; j < k.n; j++) assert_int_equal(seen[m][n][j], q.groups);
    /* a moves whole as often as it is needed; b too, but for rounded positions */
    bool os = !x.flow->stationary, ws = x.flow == &tsri_flows[TSRI_WS];
    uint64_t strips_n = (q.n + x.cols - 1) / x.cols, strips_m = (q.m + x.cols - 1) / x.cols;
    uint64_t a_times = q.groups * (os || ws ? strips_n : 1);
    assert_int_equal(bytes[0], q.m * q.k * q.a_bytes * a_times);
    uint64_t b_times = q.groups * (os ? (q.m + x.rows - 1) / x.rows : ws ? 1 : strips_m);
    uint64_t values = k.n * q.n * q.b_bytes * b_times;
    uint64_t positions = q.sparse ? (q.k + 3) / 4 * q.n * b_times : 0; /* half bytes */
    assert_true(2 * bytes[1] >= 2 * values + positions);
    assert_true(2 * bytes[1] <= 2 * values + positions + folds);
    if (!q.sparse) assert_int_equal(bytes[1], values);
  }
}

/* ---- patterns ---- */

struct touched {
  uint16_t byte[SPACE];
};
static void touch(struct touched *t, uint64_t addr, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i++) {
    assert_true(addr + i < SPACE);
    t->byte[addr + i]++;
  }
}

/* Elements of operand `o` that enter, load or leave in cycle `c` of their phase. */
static void enumerate(const struct tsri_array *x, const struct tsr_mm_req *q,
                      const struct tsri_fold *f, enum tsri_operand o, uint64_t c,
                      struct touched *t) {
  static const enum tsri_dim dims[][2] = {{TSRI_M, TSRI_K}, {TSRI_K, TSRI_N}, {TSRI_M, TSRI_N}};
  const struct tsr_buffer_view *v = tsri_view(q, o);
  const struct tsri_flow *fl = x->flow;
  struct kept k = kept_of(q);
  /* what goes on from cycle to cycle: os streams k and results leave row by row; the
   * held operand loads row by row; the rest goes with the stream */
  enum tsri_dim down = fl->stationary ? (o == fl->held ? fl->rows : fl->stream)
                                      : (o == TSRI_C ? fl->rows : fl->stream);
  uint64_t size[3] = {q->m, q->n, o == TSRI_A ? q->k : k.n};
  uint32_t elem[] = {q->a_bytes, q->b_bytes, q->acc_bytes};
  for (uint64_t i = 0; i < size[dims[o][0]]; i++)
    for (uint64_t j = 0; j < size[dims[o][1]]; j++) {
      bool here = true;
      for (int d = 0; d < 2 && here; d++) {
        enum tsri_dim dim = dims[o][d];
        uint64_t at = d ? j : i, last = at;
        if (dim == TSRI_K && o == TSRI_A && q->sparse) { /* of its group's products */
          at = at / 4 * 2;
          last = at + 1 < k.n ? at + 1 : at;
        }
        bool in = holds(x, f, dim, at) || holds(x, f, dim, last);
        uint64_t first = dim == fl->rows ? f->row0 : dim == fl->cols ? f->col0 : 0;
        uint64_t each = dim == TSRI_K ? q->rate : 1;
        here = in && (dim != down || (at - first) / each == c);
      }
      if (here)
        touch(t, v->addr + i * (uint64_t)v->i_bytes + j * (uint64_t)v->j_bytes, elem[o]);
    }
}

/* Layouts of an operand: rows or columns side by side, or both apart. */
static struct tsr_buffer_view layout(struct tsr_rng *r, uint64_t ni, uint64_t nj, uint32_t elem,
                                     struct tsr_instance *buffer) {
  uint64_t pad = tsr_rng_range(r, 0, 1) * elem;
  bool column = tsr_rng_range(r, 0, 1);
  uint64_t inner = tsr_rng_range(r, 0, 3) ? elem : 2 * elem;
  uint64_t outer = inner * (column ? ni : nj) + pad;
  return (struct tsr_buffer_view){buffer, tsr_rng_range(r, 0, 64),
                                  (int64_t)(column ? inner : outer),
                                  (int64_t)(column ? outer : inner)};
}

static void patterns_touch_what_a_cycle_takes(void **state) {
  (void)state;
  static struct touched want, got;
  struct tsr_rng r = {29};
  struct tsr_instance buffer = {0};
  size_t told = 0, evenly = 0;
  for (int i = 0; i < 400; i++) {
    struct tsri_array x = random_sides(&r);
    struct tsr_mm_req q = random_request(&r);
    /* Groups of four stay together, as in a program whose cuts do them no harm. */
    if (q.sparse && x.rows * q.rate % 2) q.sparse = false;
    if (q.sparse && x.flow != &tsri_flows[TSRI_WS] && q.rate % 2) q.rate = 2;
    q.groups = 1;
    uint64_t kb = kept_of(&q).n;
    q.a = layout(&r, q.m, q.k, q.a_bytes, &buffer);
    q.b = layout(&r, kb, q.n, q.b_bytes, &buffer);
    q.c = layout(&r, q.m, q.n, q.acc_bytes, &buffer);
    struct tsri_place p = {0};
    struct tsri_fold f;
    do {
      tsri_fold_at(&x, &q, &p, &f);
      for (int o = 0; o < 3; o++) {
        struct tsr_pattern t;
        if (!tsri_fold_pattern(&x, &q, &f, o, &t)) {
          evenly++;
          continue;
        }
        told++;
        for (uint64_t c = 0; c + 1 < t.steps; c++) { /* the last may be short */
          memset(&want, 0, sizeof want);
          memset(&got, 0, sizeof got);
          enumerate(&x, &q, &f, o, c, &want);
          for (uint64_t l = 0; l < t.lanes; l++)
            touch(&got, t.addr + l * (uint64_t)t.lane_bytes + c * (uint64_t)t.step_bytes,
                  t.elem_bytes);
          assert_memory_equal(&want, &got, sizeof want);
        }
        memset(&want, 0, sizeof want);
        enumerate(&x, &q, &f, o, t.steps - 1, &want);
        assert_true(memchr(&want, 1, sizeof want) != NULL); /* … but is not empty */
        memset(&want, 0, sizeof want);
        enumerate(&x, &q, &f, o, t.steps, &want);
        assert_null(memchr(&want, 1, sizeof want));
      }
    } while (tsri_fold_next(&x, &q, &p));
  }
  assert_true(told > 1000);
  assert_true(evenly > 0 && evenly < told / 4);
}

/* Two products a cycle along k, in layouts side by side and with gaps. */
static void what_a_cycle_takes_is_one_line_where_it_can_be(void **state) {
  (void)state;
  static const struct {
    uint64_t m, k; /* of a, os */
    int64_t i_bytes, j_bytes;
    bool told;
    uint64_t steps, lanes, elem;
    int64_t lane_bytes, step_bytes;
  } rows[] = {
      {8, 16, 32, 2, true, 8, 8, 4, 32, 4},   /* k side by side: a lane of two */
      {8, 16, 40, 2, true, 8, 8, 4, 40, 4},   /* … rows apart */
      {8, 16, 2, 16, true, 8, 2, 16, 16, 32}, /* rows side by side: a lane of eight */
      {8, 16, 2, 24, true, 8, 2, 16, 24, 48}, /* … k apart */
      {8, 16, 4, 32, true, 8, 16, 2, 4, 64},  /* gaps; k after the rows */
      {8, 16, 8, 4, true, 8, 16, 2, 4, 8},    /* gaps; a row after two k */
      {8, 16, 4, 36, false, 0, 0, 0, 0, 0},   /* no line */
      {8, 16, 12, 4, false, 0, 0, 0, 0, 0},
      {1, 16, 99, 20, true, 8, 2, 2, 20, 40}, /* one row */
      {8, 1, 40, 20, true, 1, 8, 2, 40, 40},  /* one k */
      {8, 1, 32, 2, true, 1, 8, 2, 32, 4},
  };
  struct tsr_instance buffer = {0};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsri_array x = {&tsri_flows[TSRI_OS], 8, 8};
    struct tsr_mm_req q = {.m = rows[i].m,
                           .n = 8,
                           .k = rows[i].k,
                           .groups = 1,
                           .a_bytes = 2,
                           .b_bytes = 2,
                           .acc_bytes = 4,
                           .rate = 2};
    struct tsri_place p = {0};
    struct tsri_fold f;
    struct tsr_pattern t = {0};
    q.a = (struct tsr_buffer_view){&buffer, 100, rows[i].i_bytes, rows[i].j_bytes};
    tsri_fold_at(&x, &q, &p, &f);
    assert_int_equal(tsri_fold_pattern(&x, &q, &f, TSRI_A, &t), rows[i].told);
    assert_int_equal(t.addr, rows[i].told ? 100 : 0);
    assert_int_equal(t.steps, rows[i].steps);
    assert_int_equal(t.lanes, rows[i].lanes);
    assert_int_equal(t.elem_bytes, rows[i].elem);
    assert_int_equal(t.lane_bytes, rows[i].lane_bytes);
    assert_int_equal(t.step_bytes, rows[i].step_bytes);
  }
}

static void a_view_without_a_buffer_has_no_pattern(void **state) {
  (void)state;
  struct tsri_array x = {&tsri_flows[TSRI_WS], 8, 8};
  struct tsr_mm_req q = {.m = 8,
                         .n = 8,
                         .k = 8,
                         .groups = 1,
                         .a_bytes = 2,
                         .b_bytes = 2,
                         .acc_bytes = 4,
                         .rate = 1};
  struct tsri_place p = {0};
  struct tsri_fold f;
  struct tsr_pattern t;
  tsri_fold_at(&x, &q, &p, &f);
  for (int o = 0; o < 3; o++) assert_false(tsri_fold_pattern(&x, &q, &f, o, &t));
}

/* Row stationary: filters' rows and lines of results, each pair once, filters whole. */
static void every_row_of_a_filter_meets_every_line_once(void **state) {
  (void)state;
  struct tsr_rng r = {5};
  for (int i = 0; i < 500; i++) {
    static uint8_t seen[MAX][8][MAX];
    const uint64_t taps = tsr_rng_range(&r, 1, 5), lines = tsr_rng_range(&r, 1, MAX);
    const uint64_t line = tsr_rng_range(&r, 1, 9), k_line = tsr_rng_range(&r, 1, 12);
    struct tsri_array x = {&tsri_flows[TSRI_RS], tsr_rng_range(&r, 5, 17),
                           tsr_rng_range(&r, 1, 9)};
    struct tsr_mm_req q = random_request(&r);
    q.sparse = false;
    q.lines = lines;
    q.k_lines = taps;
    q.m = lines * line;
    q.k = taps * k_line;
    q.a_elems = (lines + taps - 1) * (line + 2);
    uint64_t folds = 0, pairs = 0, b_bytes = 0, c_bytes = 0;
    struct tsri_place p = {0};
    struct tsri_fold f;
    memset(seen, 0, sizeof seen);
    do {
      tsri_fold_at(&x, &q, &p, &f);
      folds++;
      assert_true(f.rows * f.cols <= x.rows * x.cols && f.cols <= x.cols &&
                  f.row0 % taps == 0 && f.rows % taps == 0);
      if (lines * 2 > x.cols) assert_true(f.rows <= x.rows); /* one column of filters */
      assert_true(f.stream == line * k_line && f.T == (line * k_line + q.rate - 1) / q.rate);
      for (uint64_t v = f.row0; p.group == 0 && v < f.row0 + f.rows; v++)
        for (uint64_t l = f.col0; l < f.col0 + f.cols; l++) seen[v / taps][v % taps][l]++;
      pairs += f.rows * f.cols;
      b_bytes += tsri_fold_bytes(&x, &q, &f, TSRI_B);
      c_bytes += tsri_fold_bytes(&x, &q, &f, TSRI_C);
      assert_true(tsri_fold_bytes(&x, &q, &f, TSRI_A) >=
                  q.a_elems * f.cols / lines * q.a_bytes);
    } while (tsri_fold_next(&x, &q, &p));
    for (uint64_t n = 0; n < q.n; n++)
      for (uint64_t t = 0; t < taps; t++)
        for (uint64_t l = 0; l < lines; l++) assert_int_equal(seen[n][t][l], 1);
    assert_int_equal(folds, tsri_folds(&x, &q));
    assert_int_equal(pairs, q.n * taps * lines * q.groups);
    uint64_t strips = (lines + x.cols - 1) / x.cols; /* each loads all filters */
    assert_int_equal(b_bytes, strips * q.n * q.k * q.b_bytes * q.groups);
    assert_int_equal(c_bytes, q.m * q.n * q.acc_bytes * q.groups);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_product_is_in_one_fold),
      cmocka_unit_test(every_row_of_a_filter_meets_every_line_once),
      cmocka_unit_test(patterns_touch_what_a_cycle_takes),
      cmocka_unit_test(what_a_cycle_takes_is_one_line_where_it_can_be),
      cmocka_unit_test(a_view_without_a_buffer_has_no_pattern),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
