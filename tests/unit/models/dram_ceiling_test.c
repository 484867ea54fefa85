/* Whole streams by tsr_dram_replay against closed forms: what a constraint leaves of the data
 * bus's rate, less the time of refreshes. */
#include "fake.h"

#include <string.h>

#include "models/dram/replay.h"
#include "sim/base/mem.h"

/* With refreshes of all banks, for which the forms are, and pages that stay open. */
static struct tsr_dram_config preset(const char *name) {
  struct tsr_dram_config c;
  assert_true(tsr_dram_preset(name, &c));
  c.refresh = TSR_DRAM_REFRESH_ALL;
  c.page = TSR_DRAM_PAGE_OPEN;
  return c;
}
static struct tsr_dram_replay replay(const struct tsr_dram_config *c, const char *scenario,
                                     uint64_t requests) {
  struct tsr_dram_stream s;
  struct tsr_dram_replay out;
  assert_int_equal(tsr_dram_scenario(scenario, c->org.tx_bytes, requests, &s, NULL), TSR_OK);
  assert_int_equal(tsr_dram_replay(c, &s, &out, NULL), TSR_OK);
  tsr_dram_stream_fini(&s);
  return out;
}

/* The part of time without refreshes. */
static double g_of(const struct tsr_dram_config *c) {
  return 1 - (double)c->t.rfc / (double)c->t.refi;
}
static double least(double a, double b) {
  return a < b ? a : b;
}
/* Of a data bus, when every burst needs an activate: the window of four, the distance of two,
 * and the row bus, which gives `row` clocks to each and serves all units. */
static double activate_bound(const struct tsr_dram_config *c, uint64_t row) {
  double bl = (double)c->t.bl;
  double buses = (double)(tsr_dram_buses(c) / c->org.channels);
  double units = (double)c->org.units / buses;
  double bound = least(1, units * bl * 4 / (double)c->t.faw);
  bound = least(bound, units * bl / (double)c->t.rrd_s);
  return 100 * g_of(c) * least(bound, bl / (double)row / buses);
}

#define RANDOM "rand;60000;seed=0x123456789 range=0x40000000"

/* A refresh more or less in the whole, and a hit by chance. */
static const double SLACK = 0.2; /* of 100 */

static void random_rows_are_bound_by_their_activates(void **state) {
  (void)state;
  static const struct {
    const char *preset;
    uint64_t act_clk; /* 0: as it is */
    double by_hand;   /* the bound, of 100 */
    double reached;   /* of it, at least */
  } rows[] = {
      {"d3_ddr4_3200_1r_coLow", 0, (1 - 560 / 12480.) * 100 * 4 * 4 / 34, 0.98},
      {"d3_ddr4_3200_1r_bgLow", 0, (1 - 560 / 12480.) * 100 * 4 * 4 / 34, 0.9},
      {"d3_hbm2_1ch_coLow", 0, (1 - 260 / 3900.) * 100 * 2 * 4 / 30, 0.98},
      {"r2_hbm2_2000_8Gb_1ch_RoBaRaCoCh", 0, (1 - 350 / 3900.) * 100 / 3, 0.98},
      {"r2_hbm2_2000_8Gb_1ch_RoBaRaCoCh", 1, (1 - 350 / 3900.) * 100 / 2, 0},
      {"ddr4-3200", 0, (1 - 560 / 12480.) * 100 * 4 * 4 / 34, 0.95},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_dram_config c = preset(rows[i].preset);
    if (rows[i].act_clk) c.t.act_clk = rows[i].act_clk;
    struct tsr_dram_replay r = replay(&c, RANDOM, 0);
    double bound = activate_bound(&c, c.t.act_clk + c.t.row_clk);
    assert_true(bound - rows[i].by_hand < 1e-9 && rows[i].by_hand - bound < 1e-9);
    assert_true(r.sums.acts * 1000 >= r.requests * 995); /* or the form is of something else */
    assert_true(r.bandwidth_pct <= bound + SLACK);
    assert_true(r.bandwidth_pct >= bound * rows[i].reached);
  }
}

/* The clock that a second part of an activate takes is what a row bus of two lacks. */
static void an_activate_of_one_clock_goes_past_the_row_bus_of_two(void **state) {
  (void)state;
  struct tsr_dram_config c = preset("r2_hbm2_2000_8Gb_1ch_RoBaRaCoCh");
  double bound = activate_bound(&c, c.t.act_clk + c.t.row_clk);
  double two = replay(&c, RANDOM, 0).bandwidth_pct;
  c.t.act_clk = 1;
  double one = replay(&c, RANDOM, 0).bandwidth_pct;
  assert_true(two <= bound + SLACK);
  assert_true(one > bound + SLACK);
}

/* k banks in turn, another row each time: k bursts a row cycle, reached where nothing else
 * binds earlier. */
static void banks_in_turn_are_bound_by_their_row_cycle(void **state) {
  (void)state;
  static const struct {
    const char *preset, *scenario;
    double banks;
  } rows[] = {
      {"d3_ddr4_3200_1r_coLow", "stride;20000;S=0x10000", 2}, /* the upper bit of the bank */
      {"d3_ddr4_3200_1r_coLow", "stride;20000;S=0x20000", 1}, /* rows alone */
      {"d3_ddr4_3200_1r_coLow", "stride;20000;S=0x8000", 4},  /* the bank */
      {"r2_ddr4_3200aa_1r_RoBaRaCoCh", "stride;20000;S=0x10000", 2},
      {"d3_hbm2_1ch_coLow", "stride;20000;S=0x4000", 2}, /* the upper bit of the group */
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_dram_config c = preset(rows[i].preset);
    struct tsr_dram_replay r = replay(&c, rows[i].scenario, 0);
    double bound = 100 * g_of(&c) * rows[i].banks * (double)c.t.bl / (double)c.t.rc;
    assert_true(r.bandwidth_pct <= bound + SLACK);
    assert_true(r.bandwidth_pct >= 0.95 * bound);
  }
}

/* Rows that stay open, in other groups each time: the data bus, less the refreshes. */
static void open_rows_fill_the_data_bus(void **state) {
  (void)state;
  static const struct {
    const char *preset;
    double reached;
  } rows[] = {{"ddr4-3200", 0.97},
              {"gddr6-14000", 0.95},
              {"d3_ddr4_3200_1r_bgLow", 0.97},
              {"hbm2-2000", 0.85}, /* a short tREFI, rows that a refresh closes */
              {"hbm2e-3600", 0.8}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_dram_config c = preset(rows[i].preset);
    struct tsr_dram_replay r = replay(&c, "seq;1;", 30000 * tsr_dram_buses(&c));
    /* the last interval's refresh need not have come */
    double slack = 100 * (double)c.t.rfc / (double)r.clocks + 0.05;
    assert_true(r.bandwidth_pct <= 100 * g_of(&c) + slack);
    assert_true(r.bandwidth_pct >= 100 * g_of(&c) * rows[i].reached);
  }
}

/* One group's columns alone: a burst a tCCD_L. */
static void one_bank_group_is_bound_by_its_column_distance(void **state) {
  (void)state;
  struct tsr_dram_config c = preset("d3_ddr4_3200_1r_coLow");
  /* rows of 8 KiB, every fourth: the groups lie between */
  struct tsr_dram_replay r = replay(&c, "tile2d;60000;R=4096 W=8192 P=32768", 0);
  double bound = 100 * g_of(&c) * (double)c.t.bl / (double)c.t.ccd_l;
  assert_true(r.bandwidth_pct <= bound + SLACK);
  assert_true(r.bandwidth_pct >= 0.97 * bound);
}

static uint64_t sum_of(const struct tsri_timeline *l) {
  uint64_t n = 0;
  for (int i = 0; i < TSRI_BINS; i++) n += l->transactions[i];
  return n;
}

/* Whatever comes, no bin of time holds more bursts than pass in it. */
static void no_time_has_more_bursts_than_the_bus_passes(void **state) {
  (void)state;
  static const char *const scenarios[] = {
      "seq;6000;", "rand;6000;wpct=30", "nstream;6000;K=4 C=8 D=0x100000 wmask=2",
      "pingpong;6000;S=0x100000 wmask=2", "seq;6000;load=0.3"};
  const char *name;
  for (size_t i = 0; (name = tsr_dram_preset_name(i, NULL)); i++)
    for (size_t k = 0; k < LEN(scenarios); k++) {
      struct tsr_dram_config c = preset(name);
      struct tsr_dram_replay r = replay(&c, scenarios[k], 0);
      uint64_t most = tsr_ceil_div(r.timeline.clocks, c.t.bl) * tsr_dram_buses(&c);
      for (int b = 0; b < TSRI_BINS; b++) assert_true(r.timeline.transactions[b] <= most);
      assert_int_equal(sum_of(&r.timeline), r.sums.read_cmds + r.sums.write_cmds);
      assert_true(r.bandwidth_pct <= 100 + SLACK || r.sums.writes);
      assert_int_equal(r.sums.reads + r.sums.writes, r.requests);
    }
}

/* What comes at a part of the peak passes at that part. */
static void a_load_below_the_ceiling_passes(void **state) {
  (void)state;
  static const char *const names[] = {"ddr4-3200", "hbm2-2000", "gddr6-14000"};
  for (size_t i = 0; i < LEN(names); i++) {
    struct tsr_dram_config c = preset(names[i]);
    double pct = replay(&c, "seq;1;load=0.5", 10000 * tsr_dram_buses(&c)).bandwidth_pct;
    assert_true(pct > 49 && pct <= 50.1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_rows_are_bound_by_their_activates),
      cmocka_unit_test(an_activate_of_one_clock_goes_past_the_row_bus_of_two),
      cmocka_unit_test(banks_in_turn_are_bound_by_their_row_cycle),
      cmocka_unit_test(open_rows_fill_the_data_bus),
      cmocka_unit_test(one_bank_group_is_bound_by_its_column_distance),
      cmocka_unit_test(no_time_has_more_bursts_than_the_bus_passes),
      cmocka_unit_test(a_load_below_the_ceiling_passes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
