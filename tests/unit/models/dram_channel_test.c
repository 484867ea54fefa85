/* A channel's controller: what it gives is allowed, what it was asked for is done. */
#include "dram_rig.h"

#include <string.h>

#include "sim/base/mem.h"

enum { N = 700 };
static struct dram_request req[4 * N];

static struct tsr_dram_config preset(const char *name) {
  struct tsr_dram_config c;
  assert_true(tsr_dram_preset(name, &c));
  return c;
}

/* Plays a stream; the rig stays open. */
static void play(struct dram_rig *r, const struct tsr_dram_config *c,
                 enum dram_stream_kind kind, size_t n) {
  dram_rig_open(r, c);
  dram_stream_make(r, kind, 17 + kind, req, n);
  dram_rig_play(r, req, n);
}

/* ---- the watch itself ---- */

static void the_watch_sees_what_is_forbidden(void **state) {
  (void)state;
  const struct tsr_dram_config c = preset("ddr4-3200");
  const struct tsr_dram_timing *t = &c.t;
  const uint64_t a = 1000;
  const struct {
    struct dram_command before[5];
    size_t n;
    struct dram_command x; /* allowed one clock later */
    const char *fault;
  } rows[] = {{{{TSRI_ACT, 0, 1, a}}, 1, {TSRI_RD, 0, 1, a + t->rcd_rd - 1}, "too early"},
              {{{TSRI_ACT, 0, 1, a}}, 1, {TSRI_PRE, 0, 0, a + t->ras - 1}, "too early"},
              {{{TSRI_ACT, 0, 1, a}}, 1, {TSRI_ACT, 1, 1, a + t->rrd_l - 1}, "too early"},
              {{{TSRI_ACT, 0, 1, a}}, 1, {TSRI_ACT, 4, 1, a + t->rrd_s - 1}, "too early"},
              {{{TSRI_REFA, 0, 0, a}}, 1, {TSRI_ACT, 4, 1, a + t->rfc - 1}, "too early"},
              {{{TSRI_ACT, 0, 1, 1}, {TSRI_WR, 0, 1, a}},
               2,
               {TSRI_PRE, 0, 0, a + t->cwl + t->bl + t->wr - 1},
               "too early"},
              {{{TSRI_ACT, 0, 1, 1}, {TSRI_WR, 0, 1, a}},
               2,
               {TSRI_RD, 0, 1, a + t->cwl + t->bl + t->wtr_l - 1},
               "too early"},
              {{{TSRI_ACT, 0, 1, 1}, {TSRI_RD, 0, 1, a}},
               2,
               {TSRI_RD, 0, 1, a + t->ccd_l - 1},
               "too early"},
              {{{TSRI_ACT, 0, 1, 1}, {TSRI_RDA, 0, 1, a}},
               2,
               {TSRI_ACT, 0, 2, a + t->rtp + t->rp - 1},
               "too early"},
              {{{TSRI_ACT, 0, 1, a}}, 1, {TSRI_PRE, 5, 0, a}, "on a bus at once"},
              {{{TSRI_ACT, 0, 1, a},
                {TSRI_ACT, 4, 1, a + t->rrd_s},
                {TSRI_ACT, 8, 1, a + 2 * t->rrd_s},
                {TSRI_ACT, 12, 1, a + 3 * t->rrd_s}},
               4,
               {TSRI_ACT, 1, 1, a + t->faw - 1},
               "window of four"}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct dram_watch w;
    struct dram_command x = rows[i].x, other;
    dram_watch_open(&w, &c, NULL, NULL, NULL);
    for (size_t k = 0; k < rows[i].n; k++) dram_watch_see(&w, rows[i].before[k]);
    const char *fault = dram_watch_find(&w, x, &other);
    assert_non_null(fault);
    assert_non_null(strstr(fault, rows[i].fault));
    x.at++;
    assert_null(dram_watch_find(&w, x, &other));
    dram_watch_close(&w);
  }
}

static void the_watch_knows_which_row_is_open(void **state) {
  (void)state;
  const struct tsr_dram_config c = preset("ddr4-3200");
  static const struct {
    enum tsri_cmd cmd;
    uint32_t bank, row;
    bool good;
  } rows[] = {{TSRI_RD, 3, 9, true},    {TSRI_WRA, 3, 9, true},  {TSRI_RD, 3, 8, false},
              {TSRI_RD, 4, 9, false},   {TSRI_ACT, 3, 9, false}, {TSRI_ACT, 4, 9, true},
              {TSRI_REFA, 0, 0, false}, {TSRI_PREA, 0, 0, true}, {TSRI_REFB, 3, 0, false},
              {TSRI_REFB, 4, 0, true}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct dram_watch w;
    struct dram_command other;
    dram_watch_open(&w, &c, NULL, NULL, NULL);
    dram_watch_see(&w, (struct dram_command){TSRI_ACT, 3, 9, 10});
    struct dram_command x = {rows[i].cmd, rows[i].bank, rows[i].row, 900};
    assert_int_equal(dram_watch_find(&w, x, &other) == NULL, rows[i].good);
    dram_watch_close(&w);
  }
}

/* ---- all presets ---- */

static void every_preset_keeps_the_protocol_and_loses_nothing(void **state) {
  (void)state;
  const char *name;
  for (size_t i = 0; (name = tsr_dram_preset_name(i, NULL)); i++)
    for (int kind = 0; kind < DRAM_STREAMS; kind++) {
      struct tsr_dram_config c = preset(name);
      struct dram_rig r;
      play(&r, &c, (enum dram_stream_kind)kind, N);
      dram_rig_close(&r);
    }
}

/* … whatever its pages and its refresh are. */
static void every_preset_does_so_with_other_pages_and_refreshes(void **state) {
  (void)state;
  const char *name;
  for (size_t i = 0; (name = tsr_dram_preset_name(i, NULL)); i++)
    for (int page = 0; page <= TSR_DRAM_PAGE_ADAPTIVE; page++)
      for (int refresh = 0; refresh <= TSR_DRAM_REFRESH_BANK; refresh++) {
        struct tsr_dram_config c = preset(name);
        struct dram_rig r;
        c.page = page;
        c.refresh = refresh;
        if (tsr_dram_check(&c, NULL)) continue; /* DDR4 has no refresh of one bank */
        play(&r, &c, DRAM_PAUSES, N / 2);
        dram_rig_close(&r);
        play(&r, &c, DRAM_MIXED, N / 2);
        dram_rig_close(&r);
      }
}

static void every_policy_does_so_on_every_kind_of_device(void **state) {
  (void)state;
  static const char *const names[] = {"ddr4-3200",        "lpddr4-2400", "hbm2-2000",
                                      "hbm2-2000-legacy", "hbm3-6400",   "gddr6-14000"};
  for (size_t i = 0; i < LEN(names); i++)
    for (int policy = 0; tsr_dram_policy_names[policy]; policy++)
      for (int kind = DRAM_MIXED; kind < DRAM_STREAMS; kind++) {
        struct tsr_dram_config c = preset(names[i]);
        struct dram_rig r;
        tsr_dram_policy_set(policy, &c.p);
        play(&r, &c, (enum dram_stream_kind)kind, N / 2);
        dram_rig_close(&r);
      }
}

/* A read alone: its row is opened, and its data come when they can at the earliest. */
static void a_lone_read_takes_activate_read_and_burst(void **state) {
  (void)state;
  static const char *const names[] = {"ddr4-3200", "lpddr4-2400", "hbm2-2000-legacy",
                                      "gddr6-14000"};
  for (size_t i = 0; i < LEN(names); i++) {
    struct tsr_dram_config c = preset(names[i]);
    struct dram_rig r;
    play(&r, &c, DRAM_RANDOM, 1);
    assert_int_equal(r.answered[0], r.taken[0] + 1 + c.t.rcd_rd + c.t.cl + c.t.bl);
    dram_rig_close(&r);
  }
}

/* ---- one bank ---- */

enum { TURNS = 60 };
/* Two rows of a bank in turn, one request at a time. */
static void alternate(struct dram_rig *r, const struct tsr_dram_config *c, bool write) {
  dram_rig_open(r, c);
  const uint64_t row = c->org.row_bytes * c->org.groups * c->org.banks; /* map: co bg ba ro */
  for (uint64_t i = 0; i < TURNS; i++)
    req[i] = (struct dram_request){i % 2 * row + i / 2 * c->org.tx_bytes, 0, write};
  dram_rig_play(r, req, TURNS);
}
static struct tsr_dram_config one_by_one(void) {
  struct tsr_dram_config c = preset("d3_ddr4_3200_1r_coLow");
  tsr_dram_policy_set(0, &c.p);
  c.refresh = TSR_DRAM_REFRESH_NONE;
  c.p.reads = c.p.writes = c.p.drain_high = c.p.drain_idle = 1;
  c.p.drain_low = 0;
  return c;
}

static const unsigned columns = 1u << TSRI_RD | 1u << TSRI_WR;
/* From the first column command to the last. */
enum { FIRST = 2 }; /* before it there was a precharge */
static uint64_t span_of(const struct dram_rig *r, size_t n) {
  return dram_rig_clock_of(r, columns, n - 1) - dram_rig_clock_of(r, columns, FIRST);
}
/* From column command to column command with another row between: the row's cycle, or what
 * else keeps its commands apart. */
static uint64_t row_cycle(const struct tsr_dram_timing *t, bool write) {
  uint64_t rcd = write ? t->rcd_wr : t->rcd_rd;
  uint64_t open = rcd + (write ? t->cwl + t->bl + t->wr : tsr_max_u64(t->rtp, 1));
  const uint64_t all[] = {t->rc,
                          tsr_max_u64(t->ras, open) + t->rp,
                          t->rrd_s,
                          t->rrd_l,
                          t->ppd,
                          t->bl,
                          write ? t->ccd_s_wr : t->ccd_s,
                          write ? t->ccd_l_wr : t->ccd_l};
  uint64_t longest = 0;
  for (size_t i = 0; i < LEN(all); i++) longest = tsr_max_u64(longest, all[i]);
  return longest;
}

/* One timing raised at a time: the bank's cycle is what it must be, and never falls. */
static void a_bank_is_no_faster_for_a_longer_timing(void **state) {
  (void)state;
  static const size_t fields[] = {
#define T(field, key, doc) offsetof(struct tsr_dram_timing, field),
#include "models/dram/timing.def"
#undef T
  };
  const size_t aad = offsetof(struct tsr_dram_timing, aad);
  for (size_t f = 0; f < LEN(fields); f++) {
    if (fields[f] >= aad) continue; /* commands that no pair has */
    for (int write = 0; write < 2; write++) {
      uint64_t before = 0;
      for (uint64_t more = 0; more <= 120; more += 15) {
        struct tsr_dram_config c = one_by_one();
        struct dram_rig r;
        c.t.rc = c.t.ras + c.t.rp - 4; /* so that each of them shows */
        bool clocks = fields[f] >= offsetof(struct tsr_dram_timing, act_clk);
        *(uint64_t *)((char *)&c.t + fields[f]) += clocks ? more / 15 : more;
        /* what is less is refused */
        uint64_t open = tsr_max_u64(c.t.rcd_rd, c.t.rcd_wr) + c.t.act_clk + 1;
        c.t.ras = tsr_max_u64(c.t.ras, open);
        c.t.rtw = tsr_max_u64(c.t.rtw + c.t.cwl, c.t.cl + c.t.bl) - c.t.cwl;
        alternate(&r, &c, write);
        uint64_t span = span_of(&r, TURNS);
        assert_true(span >= before);
        if (!clocks) assert_int_equal(span, (TURNS - 1 - FIRST) * row_cycle(&c.t, write));
        before = span;
        dram_rig_close(&r);
      }
    }
  }
}

/* Reads and writes of one row in turn. */
static void a_turn_takes_both_turnarounds(void **state) {
  (void)state;
  struct tsr_dram_config c = one_by_one();
  struct dram_rig r;
  dram_rig_open(&r, &c);
  for (uint64_t i = 0; i < TURNS; i++)
    req[i] = (struct dram_request){i * c.org.tx_bytes, 0, i % 2};
  dram_rig_play(&r, req, TURNS);
  uint64_t pair = c.t.rtw + c.t.cwl + c.t.bl + c.t.wtr_l;
  for (size_t i = 2; i < TURNS; i++)
    assert_int_equal(dram_rig_clock_of(&r, columns, i) - dram_rig_clock_of(&r, columns, i - 2),
                     pair);
  assert_int_equal(r.sums.turnarounds, TURNS - 1);
  dram_rig_close(&r);
}

/* ---- pages ---- */

static uint64_t count(const struct dram_rig *r, enum tsri_cmd cmd) {
  return r->watch.count[cmd];
}

static void a_closed_page_closes_itself(void **state) {
  (void)state;
  static const char *const names[] = {"ddr4-3200", "hbm2-2000", "lpddr4-2400"};
  for (size_t i = 0; i < LEN(names); i++) {
    struct tsr_dram_config c = preset(names[i]);
    struct dram_rig r;
    c.refresh = TSR_DRAM_REFRESH_NONE;
    c.page = TSR_DRAM_PAGE_OPEN;
    play(&r, &c, DRAM_RANDOM, N);
    assert_int_equal(count(&r, TSRI_RDA), 0);
    assert_true(count(&r, TSRI_PRE) > N / 2);
    dram_rig_close(&r);
    c.page = TSR_DRAM_PAGE_CLOSED;
    play(&r, &c, DRAM_RANDOM, N);
    assert_int_equal(count(&r, TSRI_PRE) + count(&r, TSRI_PREA), 0);
    assert_int_equal(count(&r, TSRI_RDA), count(&r, TSRI_ACT));
    assert_int_equal(r.sums.conflicts, 0);
    dram_rig_close(&r);
  }
}

/* Waiting requests to a row keep it open all the same. */
static void a_closed_page_stays_for_those_who_wait(void **state) {
  (void)state;
  struct tsr_dram_config c = preset("d3_ddr4_3200_1r_coLow");
  struct dram_rig r;
  tsr_dram_policy_set(0, &c.p);
  c.refresh = TSR_DRAM_REFRESH_NONE;
  c.page = TSR_DRAM_PAGE_CLOSED;
  dram_rig_open(&r, &c);
  enum { RUN = 16 }; /* of one row, all there at once */
  for (uint64_t i = 0; i < RUN; i++) req[i] = (struct dram_request){i * 64, 0, false};
  dram_rig_play(&r, req, RUN);
  assert_int_equal(count(&r, TSRI_ACT), 1);
  assert_int_equal(count(&r, TSRI_RD), RUN - 1);
  assert_int_equal(count(&r, TSRI_RDA), 1);
  dram_rig_close(&r);
}

static void adaptive_pages_are_at_least_nearly_as_good_as_either(void **state) {
  (void)state;
  static const char *const names[] = {"ddr4-3200", "hbm2-2000", "gddr6-14000"};
  static const enum dram_stream_kind kinds[] = {DRAM_SEQUENTIAL, DRAM_RANDOM};
  for (size_t i = 0; i < LEN(names); i++)
    for (size_t k = 0; k < LEN(kinds); k++) {
      uint64_t clocks[3];
      for (int page = 0; page < 3; page++) {
        struct tsr_dram_config c = preset(names[i]);
        struct dram_rig r;
        c.page = page;
        play(&r, &c, kinds[k], 4 * N);
        clocks[page] = r.last;
        dram_rig_close(&r);
      }
      uint64_t worse = tsr_max_u64(clocks[TSR_DRAM_PAGE_OPEN], clocks[TSR_DRAM_PAGE_CLOSED]);
      assert_true(clocks[TSR_DRAM_PAGE_ADAPTIVE] <= worse + worse / 50);
    }
}

/* ---- refresh ---- */

/* Every unit's banks in turn, tREFI over the banks apart on average. */
static void banks_are_refreshed_in_turn_in_their_part_of_the_interval(void **state) {
  (void)state;
  static const char *const names[] = {"hbm2-2000", "lpddr4-2400", "hbm3-6400", "gddr6-14000"};
  for (size_t i = 0; i < LEN(names); i++) {
    struct tsr_dram_config c = preset(names[i]);
    struct dram_rig r;
    c.refresh = TSR_DRAM_REFRESH_BANK;
    play(&r, &c, DRAM_RANDOM, 4 * N);
    uint32_t next[TSR_DRAM_UNITS_MAX] = {0}, per = r.ch.dev.banks_of_unit;
    uint64_t each = c.t.refi / per;
    for (size_t k = 0; k < r.watch.n; k++) {
      const struct dram_command *x = &r.watch.past[k];
      uint32_t u = x->bank / per;
      if (x->cmd != TSRI_REFB) continue;
      assert_int_equal(x->bank % per, next[u] % per);
      /* the kth falls due at k intervals, ranks within one; and goes soon */
      assert_true(x->at + each >= (uint64_t)(next[u] + 1) * each);
      assert_true(x->at <= (uint64_t)(next[u] + 2) * each + c.t.rc + c.t.rfc_pb);
      next[u]++;
    }
    uint64_t due = r.watch.past[r.watch.n - 1].at / each;
    for (uint32_t u = 0; u < r.ch.dev.units; u++)
      assert_true(next[u] + 3 >= due && next[u] <= due + 1);
    assert_int_equal(count(&r, TSRI_REFA), 0);
    dram_rig_close(&r);
  }
}

/* Column commands within tRFC_PB of a bank's refresh, to other banks of its unit. */
static void other_banks_go_on_while_one_is_refreshed(void **state) {
  (void)state;
  struct tsr_dram_config c = preset("hbm2-2000");
  struct dram_rig r;
  c.refresh = TSR_DRAM_REFRESH_BANK;
  play(&r, &c, DRAM_SEQUENTIAL, 4 * N);
  uint64_t refreshes = 0, with = 0;
  for (size_t k = 0; k < r.watch.n; k++) {
    const struct dram_command *x = &r.watch.past[k];
    if (x->cmd != TSRI_REFB || x->at + c.t.rfc_pb > r.last) continue;
    bool any = false;
    for (size_t m = k + 1; m < r.watch.n && r.watch.past[m].at < x->at + c.t.rfc_pb; m++)
      any =
          any || (r.watch.past[m].cmd == TSRI_RD && r.watch.past[m].bank / 16 == x->bank / 16);
    refreshes++;
    with += any;
  }
  assert_true(refreshes > 0);
  assert_int_equal(with, refreshes);
  dram_rig_close(&r);
}

/* As many refreshes as intervals have passed, less those that may be put off. */
static void refreshes_keep_their_average_interval(void **state) {
  (void)state;
  const char *name;
  for (size_t i = 0; (name = tsr_dram_preset_name(i, NULL)); i++)
    for (uint64_t postpone = 0; postpone <= 8; postpone += 4) {
      struct tsr_dram_config c = preset(name);
      struct dram_rig r;
      c.p.postpone = postpone;
      c.refresh = TSR_DRAM_REFRESH_ALL;
      play(&r, &c, DRAM_CONFLICT, N);
      uint64_t due = r.last / c.t.refi * r.ch.dev.units;
      uint64_t slack = (postpone + 2) * r.ch.dev.units;
      assert_true(count(&r, TSRI_REFA) + slack >= due);
      dram_rig_close(&r);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_watch_sees_what_is_forbidden),
      cmocka_unit_test(the_watch_knows_which_row_is_open),
      cmocka_unit_test(every_preset_keeps_the_protocol_and_loses_nothing),
      cmocka_unit_test(every_preset_does_so_with_other_pages_and_refreshes),
      cmocka_unit_test(every_policy_does_so_on_every_kind_of_device),
      cmocka_unit_test(a_lone_read_takes_activate_read_and_burst),
      cmocka_unit_test(a_bank_is_no_faster_for_a_longer_timing),
      cmocka_unit_test(a_turn_takes_both_turnarounds),
      cmocka_unit_test(a_closed_page_closes_itself),
      cmocka_unit_test(a_closed_page_stays_for_those_who_wait),
      cmocka_unit_test(adaptive_pages_are_at_least_nearly_as_good_as_either),
      cmocka_unit_test(banks_are_refreshed_in_turn_in_their_part_of_the_interval),
      cmocka_unit_test(other_banks_go_on_while_one_is_refreshed),
      cmocka_unit_test(refreshes_keep_their_average_interval),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
