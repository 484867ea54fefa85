/* The DRAM model beside two simulators, run for run (tests/data/dram): with their devices,
 * mappings and schedulers the bandwidth of each configuration is theirs within 1 % in the
 * mean and 6 % at worst, activates and the latency of an unloaded memory within 1 %.  The
 * streams themselves are the same: their hashes are. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/dram/replay.h"
#include "sim/base/io.h"
#include "sim/base/mem.h"

enum { CONFIGS_MAX = 64, MEAN_PCT = 1, WORST_PCT = 6, ACTS_PCT = 1, LATENCY_PCT = 1 };

struct row {
  char sim[16], config[48], scenario[32], hash[20];
  uint64_t requests, tx_bytes, reads, writes, cycles, acts;
  double bw_pct, latency;
};
struct tally { /* of a configuration */
  char name[48];
  size_t rows;
  double bw_sum, bw_worst, acts_sum, latency;
  char worst[32];
};

static void must(enum tsr_status s, const struct tsr_err *err) {
  if (s) fail_msg("%s", err->n ? err->msg[0] : "failed without a message");
}

static bool parse(const char *line, struct row *r) {
  return sscanf(line,
                "%15[^,],%47[^,],%31[^,],%" SCNu64 ",%" SCNu64 ",%19[^,],%" SCNu64 ",%" SCNu64
                ",%" SCNu64 ",%lf,%lf,%" SCNu64,
                r->sim, r->config, r->scenario, &r->requests, &r->tx_bytes, r->hash, &r->reads,
                &r->writes, &r->cycles, &r->bw_pct, &r->latency, &r->acts) == 12;
}

static double off(double ours, double theirs) {
  return theirs > 0 ? fabs(ours - theirs) / theirs * 100 : 0;
}

static struct tsr_dram_replay replay(const struct row *r) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_dram_config c;
  struct tsr_dram_stream s;
  struct tsr_dram_replay out;
  char *text, hash[20];
  assert_true(tsr_dram_preset(r->config, &c));
  assert_int_equal(c.org.tx_bytes, r->tx_bytes);
  must(tsr_dram_scenario_find(TSR_TEST_DATA "/dram/scenarios.txt", r->scenario, &text, &err),
       &err);
  must(tsr_dram_scenario(text, c.org.tx_bytes, r->requests, &s, &err), &err);
  (void)snprintf(hash, sizeof hash, "%" PRIx64, tsr_dram_stream_hash(&s));
  assert_string_equal(hash, r->hash);
  must(tsr_dram_replay(&c, &s, &out, &err), &err);
  assert_int_equal(out.sums.reads, r->reads);
  assert_int_equal(out.sums.writes, r->writes);
  tsr_dram_stream_fini(&s);
  tsr_mem_free(text);
  tsr_err_fini(&err);
  return out;
}

static void compare(const struct row *r, struct tally *t) {
  struct tsr_dram_replay x = replay(r);
  double bw = off(x.bandwidth_pct, r->bw_pct);
  t->rows++;
  t->bw_sum += bw;
  t->acts_sum += off((double)x.sums.acts, (double)r->acts);
  if (bw >= t->bw_worst) {
    t->bw_worst = bw;
    memcpy(t->worst, r->scenario, sizeof t->worst);
  }
  if (!strcmp(r->scenario, "p16_rand_load10"))
    t->latency = off((double)x.sums.latency_clocks / (double)x.sums.reads, r->latency);
}

static struct tally *tally_of(struct tally *list, size_t *n, const char *config) {
  for (size_t i = 0; i < *n; i++)
    if (!strcmp(list[i].name, config)) return &list[i];
  assert_true(*n < CONFIGS_MAX);
  memcpy(list[*n].name, config, sizeof list[*n].name);
  return &list[(*n)++];
}

static void the_references_are_met_run_for_run(void **state) {
  (void)state;
  static struct tally list[CONFIGS_MAX];
  struct tsr_err err = TSR_ERR_INIT;
  size_t n = 0, len, rows = 0;
  char *text;
  must(tsr_io_read(TSR_TEST_DATA "/dram/results.csv", &text, &len, &err), &err);
  char *line = strchr(text, '\n');
  assert_non_null(line);
  for (line++; *line; rows++) {
    struct row r;
    char *end = strchr(line, '\n');
    assert_non_null(end);
    *end = 0;
    if (!parse(line, &r)) fail_msg("row '%s'", line);
    compare(&r, tally_of(list, &n, r.config));
    line = end + 1;
  }
  tsr_mem_free(text);
  assert_int_equal(rows, 416);
  assert_int_equal(n, 22);
  for (size_t i = 0; i < n; i++) {
    const struct tally *t = &list[i];
    double mean = t->bw_sum / (double)t->rows, acts = t->acts_sum / (double)t->rows;
    print_message("golden: dram %-42s bandwidth %5.2f %% mean %5.2f %% worst (%s), activates "
                  "%5.2f %%, unloaded latency %5.2f %%\n",
                  t->name, mean, t->bw_worst, t->worst, acts, t->latency);
    assert_true(mean <= MEAN_PCT);
    assert_true(t->bw_worst <= WORST_PCT);
    assert_true(acts <= ACTS_PCT);
    assert_true(t->latency <= LATENCY_PCT);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_references_are_met_run_for_run)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
