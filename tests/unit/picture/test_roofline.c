/* The roofline: well-formed, a circle a layer, its numbers, no text on another. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/picture/picture_int.h"
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

/* ---- scenes: changes to the sample ---- */

static void plain(struct sample *s) {
  (void)s;
}
static void unlimited(struct sample *s) {
  s->run.dram_bytes_per_s = INFINITY;
}
static void unknown_bandwidth(struct sample *s) {
  s->run.dram_bytes_per_s = NAN;
}
static void no_macs(struct sample *s) {
  for (size_t i = 0; i < s->run.n_layers; i++)
    s->layers[i].macs = s->layers[i].executed_macs = 0;
}
static void all_alike(struct sample *s) {
  for (size_t i = 1; i < s->run.n_layers; i++) {
    struct tsr_run_layer l = s->layers[0];
    l.index = i;
    s->layers[i] = l;
  }
}
static void no_bytes(struct sample *s) {
  s->layers[0].dram_read_bytes = s->layers[0].dram_write_bytes = 0;
  s->layers[0].compulsory_bytes = 0;
}
static void two_formats(struct sample *s) {
  s->layers[1].format_a = "fp8_e4m3";
  s->layers[1].peak_macs_per_cycle *= 2;
}
static void near_roofs(struct sample *s) {
  for (size_t i = 0; i < s->run.n_layers; i++)
    s->layers[i].peak_macs_per_cycle += 8 * (double)i;
}
static void odd_names(struct sample *s) {
  s->run.name = "<b> & \"c\"";
  s->run.arch =
      "/a/very/long/path/to/the/description/of/an/architecture/of/this/year/arch.yaml";
  s->run.workload = "/a/very/long/path/to/the/description/of/a/workload/of/this/year/net.csv";
  s->layers[0].name = "a<b>&'\"c\" with a name that is much longer than any label may be";
}
static void far_apart(struct sample *s) {
  s->layers[0].dram_read_bytes = 1ull << 50;
  s->layers[1].time_s = 1e3;
}
static void no_time(struct sample *s) {
  s->layers[0].time_s = 0;
}

static const struct {
  const char *what;
  void (*change)(struct sample *s);
  size_t layers, runs, circles, slopes, peaks;
  const char *words[4];
} rows[] = {
    {"plain",
     plain,
     6,
     1,
     4,
     1,
     1,
     {"2.05 Tops/s fp16", "51.2 GB/s", "2 layers without MACs", "layers.0.qkv"}},
    {"one layer", plain, 1, 1, 1, 1, 1, {"2.05 Tops/s fp16", "layers.0.qkv (matmul)"}},
    {"many", plain, 150, 1, 100, 1, 1, {"50 layers without MACs"}},
    {"unlimited", unlimited, 6, 1, 4, 0, 1, {"DRAM bandwidth unlimited", "2.05 Tops/s"}},
    {"unknown", unknown_bandwidth, 6, 1, 4, 0, 1, {"DRAM bandwidth unknown"}},
    {"no macs", no_macs, 3, 1, 0, 1, 1, {"3 layers without MACs", "2.05 Tops/s"}},
    {"alike", all_alike, 12, 1, 12, 1, 1, {"layers.0.qkv (+11 alike)"}},
    {"no bytes", no_bytes, 3, 1, 2, 1, 1, {"1 layer without bytes", "no DRAM bytes, "}},
    {"formats",
     two_formats,
     3,
     1,
     2,
     1,
     3,
     {"4.1 Tops/s fp8_e4m3", "2.05 Tops/s fp16", "Tops/s mix"}},
    {"near roofs", near_roofs, 6, 1, 4, 1, 5, {"2.05 Tops/s fp16"}},
    {"odd names", odd_names, 3, 1, 2, 1, 1, {"a&lt;b&gt;&amp;", ".."}},
    {"far apart", far_apart, 3, 1, 2, 1, 1, {"2.05 Tops/s"}},
    {"no time", no_time, 3, 1, 1, 1, 1, {"1 layer without a time"}},
    {"two runs", two_formats, 6, 2, 8, 2, 6, {"51.2 GB/s", "56.3 GB/s", "run 2"}},
    {"eight runs", two_formats, 6, 8, 32, 8, 24, {"run 8", "99.8 GB/s"}},
};

static char *picture(size_t i, struct tsr_err *err) {
  struct sample s;
  uint64_t ids[TSR_PICTURE_RUNS_MAX];
  char *svg = NULL;
  sample_init(&s, rows[i].layers, 0, true);
  s.run.name = NULL;
  rows[i].change(&s);
  for (size_t k = 0; k < rows[i].runs; k++) {
    if (k) s.run.dram_bytes_per_s *= 1.1;
    assert_int_equal(tsr_store_put_run(store, &s.run, &ids[k], err), TSR_OK);
  }
  assert_int_equal(tsr_picture_roofline(store, ids, rows[i].runs, &svg, err), TSR_OK);
  sample_fini(&s);
  return svg;
}

static void every_scene_is_drawn_whole_and_legible(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    teardown(state);
    setup(state);
    struct tsr_err err = TSR_ERR_INIT;
    char *svg = picture(i, &err);
    const char *keep = getenv("TSR_TEST_KEEP"); /* a folder: the pictures for a look */
    if (keep) {
      char path[256];
      snprintf(path, sizeof path, "%s/%s.svg", keep, rows[i].what);
      FILE *f = fopen(path, "w");
      assert_non_null(f);
      fputs(svg, f);
      fclose(f);
    }
    if (svg_count(svg, "<circle ") != rows[i].circles) fail_msg("%s: circles", rows[i].what);
    if (svg_count(svg, "class=\"slope\"") != rows[i].slopes)
      fail_msg("%s: slopes", rows[i].what);
    if (svg_count(svg, "class=\"peak\"") != rows[i].peaks) fail_msg("%s: peaks", rows[i].what);
    for (size_t w = 0; w < 4 && rows[i].words[w]; w++)
      if (!strstr(svg, rows[i].words[w]))
        fail_msg("%s: no '%s'", rows[i].what, rows[i].words[w]);
    assert_non_null(strstr(svg, "<title id=\"t\">"));
    assert_non_null(strstr(svg, "<desc id=\"d\">"));
    assert_null(strstr(svg, "<script"));
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "\"inf"));
    svg_well_formed(svg);
    svg_texts_apart(svg, 800);
    if (svg_texts_crossed(svg, "roof") || svg_texts_crossed(svg, "point"))
      fail_msg("%s: a line passes through %zu and %zu labels", rows[i].what,
               svg_texts_crossed(svg, "roof"), svg_texts_crossed(svg, "point"));
    /* What mix means is told where it stands. */
    assert_int_equal(!strstr(svg, "ops/s mix"), !strstr(svg, "mix: the roof"));
    tsr_mem_free(svg);
    tsr_err_fini(&err);
  }
}

/* By its colour: texts in the plot of several runs have their run's. */
static void every_run_has_a_label(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  const size_t eight = sizeof rows / sizeof rows[0] - 1;
  char *svg = picture(eight, &err);
  for (size_t k = 0; k < rows[eight].runs; k++) {
    char *part = tsr_mem_printf("class=\"point halo\" style=\"fill:%s\"", tsri_colour(k));
    if (!svg_count(svg, part)) fail_msg("run %zu has no label", k + 1);
    tsr_mem_free(part);
  }
  tsr_mem_free(svg);
  tsr_err_fini(&err);
}

static void names_stand_whole_or_end_with_dots(void **state) {
  (void)state;
  static const struct {
    const char *name, *shown;
  } cases[] = {
      {"thirty characters of one name!", "1 thirty characters of one name!</text>"},
      {"thirty-one characters of a name", "1 thirty-one characters of a n..</text>"},
      {"änderung der breite um µ-prozen", "änderung der breite um µ-pro..</text>"},
      {NULL, "run 1: net.csv, edge.yaml</text>"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct sample s;
    uint64_t id;
    char *svg = NULL;
    teardown(state);
    setup(state);
    sample_init(&s, 2, 0, false);
    s.run.name = cases[i].name;
    assert_int_equal(tsr_store_put_run(store, &s.run, &id, NULL), TSR_OK);
    assert_int_equal(tsr_picture_roofline(store, &id, 1, &svg, NULL), TSR_OK);
    if (!strstr(svg, cases[i].shown)) fail_msg("no '%s'", cases[i].shown);
    sample_fini(&s);
    tsr_mem_free(svg);
  }
}

static void a_point_stands_where_its_figures_say(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  char *svg = picture(1, &err);
  /* 128 x 64 x 256 MACs in 4750 cycles at 1 GHz, 132768 bytes. */
  double x = 2.0 * 128 * 64 * 256 / 132768, y = 2.0 * 128 * 64 * 256 / 4.75e-6, cx, cy;
  const char *at = strstr(svg, "<circle cx=\"");
  assert_non_null(at);
  assert_int_equal(sscanf(at, "<circle cx=\"%lf\" cy=\"%lf\"", &cx, &cy), 2);
  /* The ticks of the axes, as drawn, give the scale: two labels of each. */
  double x1, x10, dummy, y100g, y1t;
  const char *t1 = strstr(svg, ">1</text>"), *t10 = strstr(svg, ">10</text>");
  const char *tg = strstr(svg, ">100 G</text>"), *tt = strstr(svg, ">1 T</text>");
  assert_true(t1 && t10 && tg && tt);
  const char *const ends[] = {t1, t10, tg, tt};
  double *const outs[][2] = {{&x1, &dummy}, {&x10, &dummy}, {&dummy, &y100g}, {&dummy, &y1t}};
  for (int i = 0; i < 4; i++) {
    const char *p = ends[i];
    while (strncmp(p, " x=\"", 4)) p--;
    assert_int_equal(sscanf(p, " x=\"%lf\" y=\"%lf\"", outs[i][0], outs[i][1]), 2);
  }
  assert_true(fabs(cx - (x1 + (x10 - x1) * log10(x))) < 0.3);
  assert_true(fabs(cy + 5 - (y100g + (y1t - y100g) * (log10(y) - 11))) < 0.3);
  tsr_mem_free(svg);
  tsr_err_fini(&err);
}

static void no_point_is_above_its_roof(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  char *svg = picture(2, &err);
  double top = 1e9, cy;
  const char *peak = strstr(svg, "class=\"peak\" d=\"M");
  assert_int_equal(sscanf(peak, "class=\"peak\" d=\"M%*f %lf", &top), 1);
  for (const char *p = svg; (p = strstr(p, "<circle ")); p++) {
    assert_int_equal(sscanf(p, "<circle cx=\"%*f\" cy=\"%lf\"", &cy), 1);
    assert_true(cy >= top);
  }
  tsr_mem_free(svg);
  tsr_err_fini(&err);
}

static void numbers_have_three_digits_and_a_prefix(void **state) {
  (void)state;
  static const struct {
    double v;
    const char *text;
  } values[] = {{0, "0 x"},
                {1, "1 x"},
                {9.994, "9.99 x"},
                {9.996, "10 x"},
                {33.54e12, "33.5 Tx"},
                {600e9, "600 Gx"},
                {999.4, "999 x"},
                {999.6, "1 kx"},
                {1e18, "1 Ex"},
                {1e21, "1000 Ex"},
                {4.75e-6, "4.75 ux"},
                {2.048e12, "2.05 Tx"}};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    char buf[TSRI_SI_MAX];
    assert_string_equal(tsri_si(buf, values[i].v, "x"), values[i].text);
  }
}

static void wrong_runs_are_refused(void **state) {
  (void)state;
  const uint64_t ids[9] = {1};
  static const struct {
    size_t n;
    enum tsr_status status;
  } cases[] = {{0, TSR_USAGE}, {9, TSR_USAGE}, {1, TSR_INPUT}};
  for (size_t i = 0; i < 3; i++) {
    char *svg = NULL;
    assert_int_equal(tsr_picture_roofline(store, ids, cases[i].n, &svg, NULL), cases[i].status);
    assert_null(svg);
  }
}

static void a_failing_allocation_is_told(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  tsr_mem_free(picture(0, &err));
  const uint64_t id = 1;
  enum tsr_status status = TSR_NOMEM;
  unsigned failures = 0;
  for (uint64_t nth = 1; status != TSR_OK; nth++) {
    char *svg = NULL;
    tsr_mem_fail_at(nth, false);
    status = tsr_picture_roofline(store, &id, 1, &svg, NULL);
    tsr_mem_fail_at(0, false);
    if (status != TSR_OK && status != TSR_NOMEM) fail_msg("status %d", status);
    assert_true((status == TSR_OK) == (svg != NULL));
    failures += status != TSR_OK;
    tsr_mem_free(svg);
  }
  assert_true(failures > 5);
  tsr_err_fini(&err);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(every_scene_is_drawn_whole_and_legible),
      T(every_run_has_a_label),
      T(names_stand_whole_or_end_with_dots),
      T(a_point_stands_where_its_figures_say),
      T(no_point_is_above_its_roof),
      T(numbers_have_three_digits_and_a_prefix),
      T(wrong_runs_are_refused),
      T(a_failing_allocation_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
