/* Error against K as a picture and as tables: any number of units, no text on another,
 * nothing that has no place on a logarithmic axis. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/picture/picture.h"
#include "analysis/query/query.h"
#include "sim/base/mem.h"
#include "tests/unit/picture/svg.h"
#include "tests/unit/store/sample.h"

static char dir[64];
static struct tsr_store *store;

static int setup(void **state) {
  (void)state;
  char path[128];
  snprintf(dir, sizeof dir, "%s", sample_dir());
  snprintf(path, sizeof path, "%s/t.db", dir);
  return tsr_store_open(path, TSR_STORE_WRITE, &store, NULL) != TSR_OK;
}
static int teardown(void **state) {
  (void)state;
  int failed = tsr_store_close(store, NULL) != TSR_OK;
  sample_dir_remove(dir);
  return failed;
}

struct scene {
  size_t units, dists, ks;
  bool long_names, exact, no_bound;
};

static uint64_t put(const struct scene *c) {
  enum { MAX = 4096 };
  static struct tsr_eval_point points[MAX];
  static char names[64][200];
  static const char *const dists[] = {"normal",   "uniform",    "same-sign", "lognormal",
                                      "outliers", "cancelling", "ones"};
  size_t n = 0;
  for (size_t u = 0; u < c->units; u++) {
    snprintf(names[u], sizeof names[u], "%s_%zu",
             c->long_names
                 ? "a<unit>&\"that\"_has_a_name_which_is_much_longer_than_its_place_in_a_"
                   "legend_could_ever_hold"
                 : "unit",
             u);
    for (size_t d = 0; d < c->dists; d++)
      for (size_t k = 0; k < c->ks; k++) {
        assert_true(n < MAX);
        points[n++] = (struct tsr_eval_point){
            .unit = names[u],
            .format_a = "fp16",
            .format_b = "fp16",
            .format_acc = "fp32",
            .dist = dists[d],
            .k = UINT64_C(1) << k,
            .checked_elems = 4,
            .max_comp = c->exact ? 0 : 1e-9 * (double)((u + 1) << k),
            .mean_comp = NAN,
            .bound = c->no_bound ? (double)NAN : 1e-7 * (double)((u + 1) << k)};
      }
  }
  const struct tsr_eval_record r = {"0", 1, 2, 2, n, points};
  uint64_t id = 0;
  assert_int_equal(tsr_store_put_eval(store, &r, &id, NULL), TSR_OK);
  return id;
}

static void every_scene_is_a_sound_picture(void **state) {
  (void)state;
  static const struct scene scenes[] = {
      {1, 1, 1, false, false, false},  {1, 1, 9, false, false, false},
      {3, 7, 13, false, false, false}, {40, 2, 5, true, false, false},
      {2, 3, 24, false, false, true},  {2, 4, 5, true, true, false},
      {1, 1, 1, false, true, true}};
  for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
    const struct scene *c = &scenes[i];
    uint64_t id = put(c);
    char *svg = NULL;
    double height = 0;
    assert_int_equal(tsr_picture_error_k(store, id, &svg, NULL), TSR_OK);
    const char *box = strstr(svg, "viewBox=\"0 0 1280 ");
    assert_non_null(box);
    assert_int_equal(sscanf(box, "viewBox=\"0 0 1280 %lf", &height), 1);
    svg_well_formed(svg);
    svg_texts_apart(svg, height);
    assert_int_equal(svg_count(svg, "<script"), 0);
    assert_int_equal(svg_count(svg, "nan"), 0);
    assert_int_equal(svg_count(svg, "inf"), 0);
    size_t points = c->units * c->dists * c->ks;
    assert_int_equal(svg_count(svg, "</title></path>"), c->exact ? 0 : points);
    assert_int_equal(svg_count(svg, "class=\"error\""), c->exact ? 0 : c->units * c->dists);
    assert_int_equal(svg_count(svg, "class=\"bound\""), c->no_bound ? 0 : c->units * c->dists);
    assert_int_equal(svg_count(svg, "class=\"legend\""), c->units);
    tsr_mem_free(svg);
  }
}

static void tables_name_each_unit_and_distribution(void **state) {
  (void)state;
  const struct scene c = {2, 2, 3, false, false, false};
  uint64_t id = put(&c);
  static const struct {
    enum tsr_query_format format;
    const char *what;
    size_t n;
  } rows[] = {{TSR_QUERY_TEXT, "unit_1, fp16 by fp16 into fp32, uniform, 2x2 results", 1},
              {TSR_QUERY_TEXT, "max comp", 4},
              {TSR_QUERY_CSV, "\n", 13},
              {TSR_QUERY_CSV, "unit_0,fp16,fp16,fp32,normal,1,", 1},
              {TSR_QUERY_JSON, "\"unit\": \"unit_1\"", 6},
              {TSR_QUERY_JSON, "\"mean_comp\": null", 12},
              {TSR_QUERY_JSON, "\"histogram\": []", 12}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char *text = NULL;
    assert_int_equal(tsr_query_eval(store, id, rows[i].format, &text, NULL), TSR_OK);
    if (svg_count(text, rows[i].what) != rows[i].n)
      fail_msg("'%s': %zu times in\n%s", rows[i].what, svg_count(text, rows[i].what), text);
    tsr_mem_free(text);
  }
}

static void a_study_that_is_not_there_is_refused(void **state) {
  (void)state;
  static const enum tsr_query_format formats[] = {TSR_QUERY_TEXT, TSR_QUERY_JSON};
  char *text = NULL;
  assert_int_equal(tsr_picture_error_k(store, 9, &text, NULL), TSR_INPUT);
  for (int i = 0; i < 2; i++)
    assert_int_equal(tsr_query_eval(store, 9, formats[i], &text, NULL), TSR_INPUT);
  assert_null(text);
}

static void a_failing_allocation_is_told(void **state) {
  (void)state;
  const struct scene c = {2, 1, 3, false, false, false};
  uint64_t id = put(&c);
  for (int what = 0; what < 2; what++) {
    enum tsr_status st = TSR_NOMEM;
    for (uint64_t n = 1; st != TSR_OK; n++) {
      char *text = NULL;
      tsr_mem_fail_at(n, false);
      st = what ? tsr_picture_error_k(store, id, &text, NULL)
                : tsr_query_eval(store, id, TSR_QUERY_JSON, &text, NULL);
      tsr_mem_fail_at(0, false);
      if (st != TSR_OK) {
        assert_int_equal(st, TSR_NOMEM);
        assert_null(text);
      }
      assert_true(n < 10000);
      tsr_mem_free(text);
    }
  }
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(every_scene_is_a_sound_picture),
      T(tables_name_each_unit_and_distribution),
      T(a_study_that_is_not_there_is_refused),
      T(a_failing_allocation_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
