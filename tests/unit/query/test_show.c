/* The tables of `show` in three forms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "analysis/query/query.h"
#include "sim/base/mem.h"
#include "tests/unit/store/sample.h"

static char dir[64];
static struct tsr_store *store;
static struct sample sample;

static int setup(void **state) {
  (void)state;
  char path[128];
  uint64_t id = 0;
  snprintf(dir, sizeof dir, "%s", sample_dir());
  snprintf(path, sizeof path, "%s/t.db", dir);
  sample_init(&sample, 3, 2, true);
  sample.layers[2].name =
      "encoder.layers.11.attention.softmax.of.a.very.long.näme.that.goes.on";
  sample.layers[1].cycles = 123456789012;
  return tsr_store_open(path, TSR_STORE_WRITE, &store, NULL) != TSR_OK ||
         tsr_store_put_run(store, &sample.run, &id, NULL) != TSR_OK;
}
static int teardown(void **state) {
  (void)state;
  int failed = tsr_store_close(store, NULL) != TSR_OK;
  sample_fini(&sample);
  sample_dir_remove(dir);
  return failed;
}

/* words: all found in the text; rows: data rows of every form. */
static const struct {
  const char *what, *csv_keys;
  size_t rows;
  const char *words[8];
} tables[] = {
    {"runs",
     "run_id,name,arch,workload,policy,model,status,cycles,time_s,overlap_cycles,",
     1,
     {"util %", "28.4 us", "net.csv", "edge.yaml", "done", "2"}},
    {"layers",
     "index,name,op,m,n,k,count,kernel,mapping,format_a,",
     3,
     {"util %", "x min", "130 KiB", "1.16", "128x64x256", "dram_bandwidth", "123456789012"}},
    {"units",
     "index,name,unit,state,cycles,share",
     4,
     {"% of run", "stalled: dram_bandwidth", "busy", "24000"}},
    {"stalls",
     "index,name,cause,cycles,share",
     6,
     {"% of layer", "% of run", "ramp", "dram_bandwidth"}},
    {"resources",
     "instance,resource,bytes,busy_cycles,wait_cycles",
     2,
     {"core0.sram.a", "channel0", "4.00 KiB", "12345", "% of run"}},
    {"counters", "instance,counter,value", 2, {"dram", "activates", "1234567"}},
    {"bandwidth",
     "instance,start_cycles,cycles,bytes,bytes_per_s,share",
     2,
     {"from cycle", "% of peak", "8.00 KiB"}},
    {"quality",
     "metric,tensor,value,n,limit_value,met",
     2,
     {"top1", "0.875", "expect_ulp", "no"}},
    {"steps", "step,name,tensor,opportunities,overflow,underflow", 4, {"overflow", "elements"}},
    {"contention", "tenant,workload,first_core,cores,alone_run,", 0, {"slower x"}},
    {"kernels",
     "index,name,op,chosen,requested,reason,fallback,",
     3,
     {"mma_fp16", "mma_fp8", "why not", "mapping"}},
    {"numerics",
     "index,name,tensor,k_from,k_to,checked_elems,max_ulp,",
     4,
     {"SQNR dB", "inf", "60.1", "0-256", "0-128", "-0.25"}},
};

static char *show(const char *what, enum tsr_query_format format) {
  char *text = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_query_show(store, what, 1, format, &text, &err) != TSR_OK)
    fail_msg("%s: %s", what, err.n ? err.msg[0] : "no message");
  return text;
}

static size_t lines(const char *s) {
  size_t n = 0;
  for (; *s; s++) n += *s == '\n';
  return n;
}

static void text_is_aligned_and_fits_a_terminal(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    char *text = show(tables[i].what, TSR_QUERY_TEXT);
    assert_int_equal(lines(text), tables[i].rows + 1);
    for (size_t w = 0; w < 8 && tables[i].words[w]; w++)
      if (!strstr(text, tables[i].words[w])) fail_msg("%s: no %s", text, tables[i].words[w]);
    size_t points = 0;
    for (const char *p = text; *p; p++) {
      if (*p == '\n' && points > 100) fail_msg("%zu columns:\n%s", points, text);
      points = *p == '\n' ? 0 : points + (((unsigned char)*p & 0xc0) != 0x80);
      if (*p == '\n' && p > text) assert_int_not_equal(p[-1], ' ');
    }
    tsr_mem_free(text);
  }
}

static void a_right_aligned_column_ends_at_one_place(void **state) {
  (void)state;
  char *text = show("layers", TSR_QUERY_TEXT);
  char *copy = text, *line;
  size_t end = 0;
  for (int n = 0; (line = strsep(&copy, "\n")) && *line; n++) {
    /* The last column is right-aligned: all lines have one width in points. */
    size_t points = 0;
    for (const char *p = line; *p; p++) points += ((unsigned char)*p & 0xc0) != 0x80;
    if (n) assert_int_equal(points, end);
    end = points;
  }
  tsr_mem_free(text);
}

static void csv_has_its_keys_and_quotes_what_it_must(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    char *text = show(tables[i].what, TSR_QUERY_CSV);
    if (strncmp(text, tables[i].csv_keys, strlen(tables[i].csv_keys)) != 0)
      fail_msg("%s", text);
    bool by_layer = !strcmp(tables[i].what, "units"); /* the text has their sums */
    assert_int_equal(lines(text), (by_layer ? 3 : 1) * tables[i].rows + 1);
    tsr_mem_free(text);
  }
  char *text = show("kernels", TSR_QUERY_CSV);
  assert_non_null(strstr(text, ",\"no \"\"fp8\"\" rate on this tile, so fp16\",1,"));
  tsr_mem_free(text);
}

static void json_has_a_row_each(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    char *text = show(tables[i].what, TSR_QUERY_JSON);
    json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!j) fail_msg("%s", text);
    bool by_layer = !strcmp(tables[i].what, "units");
    assert_int_equal(json_array_size(json_object_get(j, tables[i].what)),
                     (by_layer ? 3 : 1) * tables[i].rows);
    if (i) assert_int_equal(json_integer_value(json_object_get(j, "run_id")), 1);
    json_decref(j);
    tsr_mem_free(text);
  }
}

/* A second run, in which nothing is special. */
static void put_plain(struct sample *s) {
  uint64_t id = 0;
  sample_init(s, 2, 0, false);
  s->run.name = NULL;
  s->run.status = "ok";
  s->layers[1].requested_kernel = s->layers[1].fallback_reason = NULL;
  for (size_t i = 0; i < 2; i++) {
    s->layers[i].n_units = s->layers[i].n_numeric = 0;
    s->layers[i].compulsory_bytes = TSR_STORE_NULL;
  }
  assert_int_equal(tsr_store_put_run(store, &s->run, &id, NULL), TSR_OK);
  assert_int_equal(id, 2);
}

static void a_column_that_says_nothing_is_left_out(void **state) {
  (void)state;
  static const struct {
    const char *what;
    uint64_t run;
    const char *heading;
    bool there;
  } rows[] = {
      {"kernels", 1, "why not", true},   {"kernels", 2, "why not", false},
      {"kernels", 1, "requested", true}, {"kernels", 2, "requested", false},
      {"kernels", 2, "mapping", true},   {"numerics", 1, "under", true},
      {"layers", 1, "x min", true},      {"layers", 2, "x min", false},
      {"runs", 0, "status", true},       {"runs", 0, "changes", false},
      {"runs", 0, "model", false}, /* event is understood */
  };
  struct sample plain;
  put_plain(&plain);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char *text = NULL;
    assert_int_equal(
        tsr_query_show(store, rows[i].what, rows[i].run, TSR_QUERY_TEXT, &text, NULL), TSR_OK);
    char *head = strndup(text, strcspn(text, "\n"));
    if (!strstr(head, rows[i].heading) == rows[i].there)
      fail_msg("%s of run %d: %s", rows[i].heading, (int)rows[i].run, text);
    free(head);
    tsr_mem_free(text);
  }
  sample_fini(&plain);
}

static void the_changes_of_a_run_stand_beside_it(void **state) {
  (void)state;
  static const struct tsr_run_input inputs[] = {
      {"arch", "edge.yaml", "name: edge\n"},
      {"changes", "--set", "dram.bandwidth=300GB/s sram.a.size=1MiB"}};
  sample.run.n_inputs = 2;
  sample.run.inputs = inputs;
  sample.run.name = "a-name-of-twenty-nine-letters";
  uint64_t id = 0;
  assert_int_equal(tsr_store_put_run(store, &sample.run, &id, NULL), TSR_OK);
  char *text = show("runs", TSR_QUERY_TEXT), *csv = show("runs", TSR_QUERY_CSV);
  assert_non_null(strstr(csv, ",dram.bandwidth=300GB/s sram.a.size=1MiB\n"));
  assert_non_null(strstr(text, "changes\n"));
  /* Both still tell something: 12 columns of the name, more of the changes. */
  if (!strstr(text, "a-nam..tters") || !strstr(text, "  dram.ba..ize=1MiB\n"))
    fail_msg("%s", text);
  tsr_mem_free(text);
  tsr_mem_free(csv);
}

static void an_empty_table_is_explained(void **state) {
  (void)state;
  static const struct {
    const char *what;
    uint64_t run;
    const char *says;
  } rows[] = {{"units", 1, NULL},    {"units", 2, "--trace summary"},
              {"numerics", 1, NULL}, {"numerics", 2, "--numerics sample"},
              {"layers", 2, NULL},   {"runs", 0, NULL},
              {"stalls", 1, NULL}};
  struct sample plain;
  put_plain(&plain);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const char *why = "";
    assert_int_equal(tsr_query_show_empty(store, rows[i].what, rows[i].run, &why, NULL),
                     TSR_OK);
    if (!why != !rows[i].says || (why && !strstr(why, rows[i].says)))
      fail_msg("%s: %s", rows[i].what, why ? why : "nothing");
  }
  sample_fini(&plain);
}

static void amounts_have_their_digits_and_a_prefix(void **state) {
  (void)state;
  static const struct {
    double v;
    int digits;
    const char *unit, *text;
  } rows[] = {{0, 3, "s", "0 s"},
              {266e-9, 3, "s", "266 ns"},
              {0.45393, 4, "s", "453.9 ms"},
              {9.996, 3, "s", "10.0 s"},
              {999.4e-6, 3, "s", "999 us"},
              {999.6e-6, 3, "s", "1.00 ms"},
              {4.089e9, 4, "MAC", "4.089 GMAC"},
              {512, 4, "MAC", "512 MAC"},
              {2e-18, 3, "s", "0.00 fs"},
              {1e21, 3, "s", "1000 Es"},
              {0, 3, "B", "0 B"},
              {384, 4, "B", "384 B"},
              {1023, 3, "B", "1023 B"},
              {1024, 3, "B", "1.00 KiB"},
              {1023.4 * 1024, 3, "B", "1023 KiB"},
              {1023.6 * 1024, 3, "B", "1.00 MiB"},
              {1.434e10, 4, "B", "13.36 GiB"},
              {(double)NAN, 3, "B", "-"},
              {(double)INFINITY, 3, "B", "inf"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char buf[TSR_QUERY_AMOUNT_MAX];
    assert_string_equal(tsr_query_amount(buf, rows[i].v, rows[i].digits, rows[i].unit),
                        rows[i].text);
  }
}

static void names_are_listed_and_unknown_ones_refused(void **state) {
  (void)state;
  size_t n = 0;
  for (; tsr_query_show_name(n); n++) {
    assert_string_equal(tsr_query_show_name(n), tables[n].what);
    assert_non_null(tsr_query_show_doc(n));
  }
  assert_int_equal(n, sizeof tables / sizeof tables[0]);
  struct tsr_err err = TSR_ERR_INIT;
  char *text = NULL;
  assert_int_equal(tsr_query_show(store, "layer", 1, TSR_QUERY_TEXT, &text, &err), TSR_USAGE);
  assert_non_null(strstr(err.msg[0], "did you mean 'layers'?"));
  tsr_err_fini(&err);
  assert_int_equal(tsr_query_show(store, "layers", 9, TSR_QUERY_TEXT, &text, &err), TSR_INPUT);
  assert_null(text);
  tsr_err_fini(&err);
}

static void a_failing_allocation_is_told(void **state) {
  (void)state;
  for (int format = TSR_QUERY_TEXT; format <= TSR_QUERY_JSON; format++) {
    enum tsr_status status = TSR_NOMEM;
    for (uint64_t nth = 1; status != TSR_OK; nth++) {
      char *text = NULL;
      tsr_mem_fail_at(nth, false);
      status = tsr_query_show(store, "kernels", 1, format, &text, NULL);
      tsr_mem_fail_at(0, false);
      if (status != TSR_OK && status != TSR_NOMEM) fail_msg("status %d", status);
      assert_true((status == TSR_OK) == (text != NULL));
      if (nth == 1) assert_int_equal(status, TSR_NOMEM);
      tsr_mem_free(text);
    }
  }
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(text_is_aligned_and_fits_a_terminal),
      T(a_right_aligned_column_ends_at_one_place),
      T(csv_has_its_keys_and_quotes_what_it_must),
      T(json_has_a_row_each),
      T(a_column_that_says_nothing_is_left_out),
      T(the_changes_of_a_run_stand_beside_it),
      T(an_empty_table_is_explained),
      T(amounts_have_their_digits_and_a_prefix),
      T(names_are_listed_and_unknown_ones_refused),
      T(a_failing_allocation_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
