/* Views: runs against each element worked out by hand from the words of view.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/translate/view.h"

enum { ELEMS = 4096, RUNS = 4096 };
struct got {
  uint64_t n, runs;
  int64_t at[ELEMS];
  uint64_t first[RUNS], length[RUNS];
};

static void take(void *arg, uint64_t first, uint64_t n, int64_t at, int64_t step) {
  struct got *g = arg;
  assert_int_equal(first, g->n);
  assert_true(n > 0 && g->n + n <= ELEMS);
  g->first[g->runs] = first;
  g->length[g->runs++] = n;
  for (uint64_t i = 0; i < n; i++)
    g->at[g->n++] = at == TSR_VIEW_OUTSIDE ? at : at + (int64_t)i * step;
}

static int64_t by_hand(const struct tsr_view *v, uint64_t e) {
  uint64_t i[TSR_VIEW_RANK];
  int64_t at = 0;
  if (v->value == SIZE_MAX) return TSR_VIEW_OUTSIDE;
  for (unsigned d = v->rank; d-- > 0; e /= v->dim[d]) i[d] = e % v->dim[d];
  for (unsigned d = 0; d < v->src_rank; d++) {
    int64_t j = v->base[d];
    for (unsigned k = 0; k < v->rank; k++) j += v->coef[d][k] * (int64_t)i[k];
    if (v->table[d]) {
      if (j < 0 || (uint64_t)j >= v->n_table[d]) return TSR_VIEW_OUTSIDE;
      j = v->table[d][j];
    }
    if (j < 0 || (uint64_t)j >= v->extent[d]) return TSR_VIEW_OUTSIDE;
    at = at * (int64_t)v->extent[d] + j;
  }
  return at;
}

static void hold(const struct tsr_view *v, const char *what) {
  static struct got g;
  memset(&g, 0, sizeof g);
  tsr_view_runs(v, take, &g);
  assert_int_equal(g.n, tsr_view_elems(v));
  for (uint64_t e = 0; e < g.n; e++)
    if (g.at[e] != by_hand(v, e))
      fail_msg("%s: element %llu is %lld, not %lld", what, (unsigned long long)e,
               (long long)g.at[e], (long long)by_hand(v, e));
}

static uint64_t runs_of(const struct tsr_view *v) {
  static struct got g;
  memset(&g, 0, sizeof g);
  tsr_view_runs(v, take, &g);
  return g.runs;
}

static const int64_t table[] = {3, 0, 0, -1, 4, 2, 9, 1};

/* Views and the number of their runs. */
static const struct {
  const char *what;
  struct tsr_view v;
  uint64_t runs;
} rows[] = {
    {"a vector", {.rank = 1, .dim = {7}, .src_rank = 1, .extent = {7}, .coef = {{1}}}, 1},
    {"no dimensions", {.rank = 0, .src_rank = 0}, 1},
    {"no elements", {.rank = 2, .dim = {3, 0}, .src_rank = 1, .extent = {4}}, 0},
    {"a matrix whole",
     {.rank = 2, .dim = {3, 4}, .src_rank = 2, .extent = {3, 4}, .coef = {{1}, {0, 1}}},
     1},
    {"transposed",
     {.rank = 2, .dim = {4, 3}, .src_rank = 2, .extent = {3, 4}, .coef = {{0, 1}, {1}}},
     4},
    {"a column of a matrix",
     {.rank = 1, .dim = {3}, .src_rank = 2, .extent = {3, 4}, .base = {0, 2}, .coef = {{1}}},
     1},
    {"backwards",
     {.rank = 1, .dim = {5}, .src_rank = 1, .extent = {5}, .base = {4}, .coef = {{-1}}},
     1},
    {"steps of two",
     {.rank = 1, .dim = {3}, .src_rank = 1, .extent = {6}, .base = {1}, .coef = {{2}}},
     1},
    {"one element many times",
     {.rank = 2, .dim = {3, 4}, .src_rank = 1, .extent = {5}, .base = {2}},
     1},
    {"a row for all rows",
     {.rank = 2, .dim = {3, 4}, .src_rank = 1, .extent = {4}, .coef = {{0, 1}}},
     3},
    {"borders",
     {.rank = 2,
      .dim = {4, 6},
      .src_rank = 2,
      .extent = {2, 3},
      .base = {-1, -2},
      .coef = {{1}, {0, 1}}},
     5},
    {"borders behind alone",
     {.rank = 1, .dim = {9}, .src_rank = 1, .extent = {4}, .coef = {{1}}},
     2},
    {"a step over the border",
     {.rank = 1, .dim = {9}, .src_rank = 1, .extent = {8}, .base = {-3}, .coef = {{3}}},
     3},
    {"backwards over borders",
     {.rank = 1, .dim = {9}, .src_rank = 1, .extent = {7}, .base = {10}, .coef = {{-2}}},
     3},
    {"windows",
     {.rank = 2, .dim = {5, 3}, .src_rank = 1, .extent = {8}, .base = {-1}, .coef = {{2, 1}}},
     7},
    {"a table",
     {.rank = 1,
      .dim = {8},
      .src_rank = 1,
      .extent = {5},
      .coef = {{1}},
      .table = {table},
      .n_table = {8}},
     6},
    {"a table of rows",
     {.rank = 2,
      .dim = {8, 3},
      .src_rank = 2,
      .extent = {5, 3},
      .coef = {{1}, {0, 1}},
      .table = {table},
      .n_table = {8}},
     0},
    {"outside a table",
     {.rank = 1,
      .dim = {12},
      .src_rank = 1,
      .extent = {5},
      .base = {-2},
      .coef = {{1}},
      .table = {table},
      .n_table = {8}},
     0},
    {"two of a dimension that one coordinate runs along",
     {.rank = 2, .dim = {2, 4}, .src_rank = 1, .extent = {8}, .coef = {{4, 1}}},
     1},
    {"no value", {.value = SIZE_MAX, .rank = 1, .dim = {6}}, 1},
    {"outside altogether",
     {.rank = 2, .dim = {2, 3}, .src_rank = 1, .extent = {3}, .base = {5}, .coef = {{0, 1}}},
     1},
};

static void runs_are_the_elements(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    hold(&rows[i].v, rows[i].what);
    uint64_t runs = runs_of(&rows[i].v);
    if (rows[i].runs && runs != rows[i].runs)
      fail_msg("%s: %llu runs, not %llu", rows[i].what, (unsigned long long)runs,
               (unsigned long long)rows[i].runs);
  }
}

static uint64_t next(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return *seed >> 33;
}

static void runs_of_any_view(void **state) {
  (void)state;
  uint64_t seed = 7;
  for (unsigned round = 0; round < 3000; round++) {
    struct tsr_view v = {.rank = (unsigned)(next(&seed) % 5), .src_rank = next(&seed) % 4};
    for (unsigned e = 0; e < v.rank; e++) v.dim[e] = 1 + next(&seed) % 4;
    for (unsigned d = 0; d < v.src_rank; d++) {
      v.extent[d] = 1 + next(&seed) % 6;
      v.base[d] = (int64_t)(next(&seed) % 5) - 2;
      for (unsigned e = 0; e < v.rank; e++) v.coef[d][e] = (int64_t)(next(&seed) % 5) - 2;
      if (next(&seed) % 4) continue;
      v.table[d] = table;
      v.n_table[d] = sizeof table / sizeof table[0];
    }
    hold(&v, "any");
  }
}

static void whole_values(void **state) {
  (void)state;
  struct tsr_view v;
  tsr_view_whole(&v, 3, 12);
  assert_int_equal(v.value, 3);
  assert_int_equal(tsr_view_elems(&v), 12);
  hold(&v, "whole");
  const uint64_t dim[3] = {2, 3, 5};
  tsr_view_of(&v, 1, 3, dim);
  assert_int_equal(tsr_view_elems(&v), 30);
  assert_int_equal(runs_of(&v), 1);
  hold(&v, "of");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_are_the_elements),
      cmocka_unit_test(runs_of_any_view),
      cmocka_unit_test(whole_values),
  };
  return cmocka_run_group_tests_name("translate_view", tests, NULL, NULL);
}
