/* What a DRAM's device allows, constraint by constraint: every value of the timing table is
 * another prime, so that none can stand for another.
 *
 * A row: from `before` until `after` at a bank that stands to it as `rel` says, exactly so many
 * clocks; 0: it need not wait.  A row holds for all variants of its mask, and is tried at every
 * pair of banks that there is. */
#include "fake.h"

#include "models/dram/device.h"
#include "sim/base/mem.h"

/* Of the table below: its values, to write expectations with. */
enum {
  BL = 5,
  CL = 41,
  CWL = 23,
  RCD_RD = 43,
  RCD_WR = 37,
  RP = 47,
  RP_AB = 59,
  RAS = 101,
  RC = 163,
  CCD_S = 7,
  CCD_L = 13,
  CCD_S_WR = 11,
  CCD_L_WR = 17,
  CCD_R = 19,
  RRD_S = 29,
  RRD_L = 31,
  FAW = 151,
  WR = 53,
  RTP = 61,
  WTR_S = 67,
  WTR_L = 71,
  RTW = 73,
  CS = 3,
  PPD = 79,
  RFC = 307,
  RFC_PB = 211,
  RREFD = 83,
  LONG = 97, /* a burst that is longer than all of tCCD */
  ACT_CLK = 5,
  COL_CLK = 3,
  ROW_CLK = 2
};

static const struct tsr_dram_timing table = {.bl = BL,
                                             .cl = CL,
                                             .cwl = CWL,
                                             .rcd_rd = RCD_RD,
                                             .rcd_wr = RCD_WR,
                                             .rp = RP,
                                             .rp_ab = RP_AB,
                                             .ras = RAS,
                                             .rc = RC,
                                             .ccd_s = CCD_S,
                                             .ccd_l = CCD_L,
                                             .ccd_s_wr = CCD_S_WR,
                                             .ccd_l_wr = CCD_L_WR,
                                             .ccd_r = CCD_R,
                                             .rrd_s = RRD_S,
                                             .rrd_l = RRD_L,
                                             .faw = FAW,
                                             .wr = WR,
                                             .rtp = RTP,
                                             .wtr_s = WTR_S,
                                             .wtr_l = WTR_L,
                                             .rtw = RTW,
                                             .cs = CS,
                                             .ppd = PPD,
                                             .refi = 100003,
                                             .rfc = RFC,
                                             .rfc_pb = RFC_PB,
                                             .rrefd = RREFD,
                                             .act_clk = 1,
                                             .col_clk = 1,
                                             .row_clk = 1};

/* ---- variants of the device ---- */

enum {
  PSEUDO = 1 << 0, /* pseudo-channels of two stack ids */
  RANKS = 1 << 1,  /* ranks on one data bus */
  DUAL = 1 << 2,   /* pseudo-channels, a bus for rows and one for columns */
  TALL = 1 << 3,   /* ranks of two stack ids */
  ALONE = 1 << 4,  /* one unit */
  PLAIN = PSEUDO | RANKS | DUAL | TALL | ALONE,
  FLAT = RANKS | DUAL | ALONE, /* of one stack id */
  STACKED = PSEUDO | TALL,
  OWN = PSEUDO | DUAL,   /* a data bus a unit */
  SHARED = RANKS | TALL, /* one for all */
  LONG_OWN = 1 << 5,     /* PSEUDO with long bursts */
  LONG_SHARED = 1 << 6,  /* RANKS with long bursts, without a gap */
  EAGER = 1 << 7,        /* RANKS where writes have the longer latency */
  NO_RP_AB = 1 << 8,     /* PSEUDO, tRP_AB and tPPD unset */
  WIDE = 1 << 9,         /* PSEUDO of one stack id, commands of several clocks */
  WIDE_DUAL = 1 << 10,   /* the same on two buses */
  NARROW = 1 << 11,      /* PSEUDO without a word of clocks: each takes one */
  VARIANTS = 12
};

static struct tsr_dram_config variant(int which) {
  struct tsr_dram_config c = {.t = table};
  bool ranks = which & (RANKS | TALL | LONG_SHARED | EAGER);
  bool stacked = which & (PSEUDO | TALL | LONG_OWN | NO_RP_AB | NARROW);
  c.org = (struct tsr_dram_org){.channels = 1,
                                .units = which == ALONE ? 1 : 2,
                                .shared_bus = ranks,
                                .stack_ids = stacked ? 2 : 1,
                                .groups = 4,
                                .banks = 2,
                                .rows = 16,
                                .row_bytes = 1024,
                                .tx_bytes = 32,
                                .dual_bus = which & (DUAL | WIDE_DUAL)};
  if (which & (LONG_OWN | LONG_SHARED)) c.t.bl = LONG;
  if (which == LONG_SHARED) c.t.cs = 0;
  if (which == EAGER) c.t.cl = CWL, c.t.cwl = CL;
  if (which == NO_RP_AB) c.t.rp_ab = c.t.ppd = 0;
  if (which & (WIDE | WIDE_DUAL))
    c.t.act_clk = ACT_CLK, c.t.col_clk = COL_CLK, c.t.row_clk = ROW_CLK;
  if (which == NARROW) c.t.act_clk = c.t.col_clk = c.t.row_clk = 0;
  return c;
}

/* ---- how banks stand to each other ---- */

enum {
  SAME_BANK = 1,
  SAME_GROUP = 2,
  OTHER_GROUP = 4, /* of the same stack id */
  OTHER_SID = 8,
  OTHER_UNIT = 16,
  GROUP = SAME_BANK | SAME_GROUP,
  ELSEWHERE = OTHER_GROUP | OTHER_SID, /* in the unit, not in the group */
  OTHER_BANK = SAME_GROUP | ELSEWHERE, /* in the unit */
  UNIT = SAME_BANK | OTHER_BANK,
  ALL = UNIT | OTHER_UNIT
};

static int relation(const struct tsr_dram_org *o, uint32_t a, uint32_t b) {
  uint64_t group = o->banks, sid = group * o->groups, unit = sid * o->stack_ids;
  if (a == b) return SAME_BANK;
  if (a / unit != b / unit) return OTHER_UNIT;
  if (a / sid != b / sid) return OTHER_SID;
  return a / group == b / group ? SAME_GROUP : OTHER_GROUP;
}

static bool of_unit(enum tsri_cmd cmd) {
  return cmd == TSRI_PREA || cmd == TSRI_REFA;
}
static void give(struct tsri_device *d, enum tsri_cmd cmd, uint32_t bank, uint64_t t) {
  if (of_unit(cmd))
    tsri_device_give_unit(d, cmd, bank / d->banks_of_unit, t);
  else
    tsri_device_give(d, cmd, bank, 7, t);
}
static uint64_t ready(const struct tsri_device *d, enum tsri_cmd cmd, uint32_t bank) {
  return of_unit(cmd) ? tsri_device_ready_unit(d, cmd, bank / d->banks_of_unit)
                      : tsri_device_ready(d, cmd, bank);
}

/* ---- the constraints ---- */

struct row {
  enum tsri_cmd before, after;
  int rel, variants;
  uint64_t clocks;
};

#define ROW(before, after, rel, variants, clocks) \
  { TSRI_##before, TSRI_##after, rel, variants, clocks }
/* Of reads and of writes, with a precharge behind them or without. */
#define READ_ROWS(after, rel, variants, clocks) \
  ROW(RD, after, rel, variants, clocks), ROW(RDA, after, rel, variants, clocks)
#define WRITE_ROWS(after, rel, variants, clocks) \
  ROW(WR, after, rel, variants, clocks), ROW(WRA, after, rel, variants, clocks)

static const struct row rows[] = {
    /* activates: tRC, tRRD_L, tRRD_S; tRCD; tRAS */
    ROW(ACT, ACT, SAME_BANK, PLAIN, RC), ROW(ACT, ACT, SAME_GROUP, PLAIN, RRD_L),
    ROW(ACT, ACT, ELSEWHERE, PLAIN, RRD_S), ROW(ACT, RD, SAME_BANK, PLAIN, RCD_RD),
    ROW(ACT, WR, SAME_BANK, PLAIN, RCD_WR), ROW(ACT, PRE, SAME_BANK, PLAIN, RAS),
    ROW(ACT, PREA, UNIT, PLAIN, RAS), ROW(ACT, REFA, UNIT, PLAIN, RC),
    ROW(ACT, REFB, SAME_BANK, PLAIN, RC), ROW(ACT, REFB, OTHER_BANK, PLAIN, RRD_S),
    /* precharges: tRP, tRP_AB, tPPD */
    ROW(PRE, ACT, SAME_BANK, PLAIN, RP), ROW(PRE, REFB, SAME_BANK, PLAIN, RP),
    ROW(PRE, REFA, UNIT, PLAIN, RP), ROW(PRE, PRE, UNIT, PLAIN, PPD),
    ROW(PRE, PREA, UNIT, PLAIN, PPD), ROW(PREA, PRE, UNIT, PLAIN, PPD),
    ROW(PREA, PREA, UNIT, PLAIN, PPD), ROW(PREA, ACT, UNIT, PLAIN, RP_AB),
    ROW(PREA, REFA, UNIT, PLAIN, RP_AB), ROW(PREA, REFB, UNIT, PLAIN, RP_AB),
    ROW(PREA, ACT, UNIT, NO_RP_AB, RP), ROW(PRE, ACT, SAME_BANK, NO_RP_AB, RP),
    ROW(PRE, PRE, ALL, NO_RP_AB, 0), ROW(PRE, PREA, ALL, NO_RP_AB, 0),
    ROW(PREA, PRE, ALL, NO_RP_AB, 0), ROW(PREA, PREA, ALL, NO_RP_AB, 0),
    /* reads to reads: tCCD, and tBL where that is longer */
    READ_ROWS(RD, GROUP, PLAIN, CCD_L), READ_ROWS(RD, OTHER_GROUP, PLAIN, CCD_S),
    READ_ROWS(RD, OTHER_SID, STACKED, CCD_R), READ_ROWS(RD, OTHER_UNIT, SHARED, BL + CS),
    READ_ROWS(RD, UNIT, LONG_OWN, LONG), READ_ROWS(RD, OTHER_UNIT, LONG_OWN, 0),
    READ_ROWS(RD, ALL, LONG_SHARED, LONG),
    /* writes to writes; to another stack id there is the data bus alone */
    WRITE_ROWS(WR, GROUP, PLAIN, CCD_L_WR), WRITE_ROWS(WR, OTHER_GROUP, PLAIN, CCD_S_WR),
    WRITE_ROWS(WR, OTHER_SID, STACKED, BL), WRITE_ROWS(WR, OTHER_UNIT, SHARED, BL),
    WRITE_ROWS(WR, UNIT, LONG_OWN, LONG), WRITE_ROWS(WR, OTHER_UNIT, LONG_OWN, 0),
    WRITE_ROWS(WR, ALL, LONG_SHARED, LONG),
    /* turnarounds: tRTW, tWTR_L, tWTR_S */
    READ_ROWS(WR, UNIT, PLAIN, RTW), WRITE_ROWS(RD, GROUP, PLAIN, CWL + BL + WTR_L),
    WRITE_ROWS(RD, ELSEWHERE, PLAIN, CWL + BL + WTR_S),
    /* from rank to rank: tCS between the data of one and of the other */
    READ_ROWS(WR, OTHER_UNIT, SHARED, CL + BL + CS - CWL),
    READ_ROWS(WR, OTHER_UNIT, EAGER, 0), /* CWL + BL + CS is before CL */
    WRITE_ROWS(RD, OTHER_UNIT, EAGER, CL + BL + CS - CWL),
    WRITE_ROWS(RD, OTHER_UNIT, SHARED, 0),
    /* columns to precharges: tRTP, tWR */
    ROW(RD, PRE, SAME_BANK, PLAIN, RTP), ROW(RD, PREA, UNIT, PLAIN, RTP),
    ROW(WR, PRE, SAME_BANK, PLAIN, CWL + BL + WR), ROW(WR, PREA, UNIT, PLAIN, CWL + BL + WR),
    /* … and with one behind them */
    ROW(RDA, ACT, SAME_BANK, PLAIN, RTP + RP),
    ROW(WRA, ACT, SAME_BANK, PLAIN, CWL + BL + WR + RP), ROW(RDA, REFA, UNIT, PLAIN, RTP + RP),
    ROW(WRA, REFA, UNIT, PLAIN, CWL + BL + WR + RP), ROW(RDA, REFB, SAME_BANK, PLAIN, RTP + RP),
    ROW(WRA, REFB, SAME_BANK, PLAIN, CWL + BL + WR + RP),
    /* refreshes: tRFC, tRFC_PB, tRREFD */
    ROW(REFA, ACT, UNIT, PLAIN, RFC), ROW(REFA, PREA, UNIT, PLAIN, RFC),
    ROW(REFA, REFA, UNIT, PLAIN, RFC), ROW(REFB, ACT, SAME_BANK, PLAIN, RFC_PB),
    ROW(REFB, REFB, SAME_BANK, PLAIN, RFC_PB), ROW(REFB, ACT, OTHER_BANK, PLAIN, RREFD),
    ROW(REFB, REFB, OTHER_BANK, PLAIN, RREFD), ROW(REFB, REFA, UNIT, PLAIN, RFC_PB),

    /* commands of several clocks: from the end of one to the end of the next */
    ROW(ACT, RD, SAME_BANK, WIDE | WIDE_DUAL, RCD_RD + ACT_CLK - COL_CLK),
    ROW(ACT, WR, SAME_BANK, WIDE | WIDE_DUAL, RCD_WR + ACT_CLK - COL_CLK),
    ROW(ACT, PRE, SAME_BANK, WIDE | WIDE_DUAL, RAS + ACT_CLK - ROW_CLK),
    ROW(ACT, ACT, SAME_BANK, WIDE | WIDE_DUAL, RC),
    ROW(ACT, ACT, OTHER_GROUP, WIDE | WIDE_DUAL, RRD_S),
    ROW(PRE, ACT, SAME_BANK, WIDE | WIDE_DUAL, RP + ROW_CLK - ACT_CLK),
    ROW(PREA, ACT, UNIT, WIDE | WIDE_DUAL, RP_AB + ROW_CLK - ACT_CLK),
    ROW(RD, PRE, SAME_BANK, WIDE | WIDE_DUAL, RTP + COL_CLK - ROW_CLK),
    ROW(RD, RD, SAME_GROUP, WIDE | WIDE_DUAL, CCD_L),
    ROW(WR, RD, SAME_GROUP, WIDE | WIDE_DUAL, CWL + BL + WTR_L),
    ROW(RDA, ACT, SAME_BANK, WIDE | WIDE_DUAL, RTP + RP + COL_CLK - ACT_CLK),
    ROW(REFA, ACT, UNIT, WIDE | WIDE_DUAL, RFC + ROW_CLK - ACT_CLK),
    ROW(REFB, ACT, OTHER_BANK, WIDE | WIDE_DUAL, RREFD + ROW_CLK - ACT_CLK),
    /* … and each keeps its bus, which all units share */
    ROW(ACT, ACT, OTHER_UNIT, WIDE | WIDE_DUAL, ACT_CLK),
    ROW(ACT, PRE, OTHER_UNIT, WIDE | WIDE_DUAL, ACT_CLK),
    ROW(ACT, REFA, OTHER_UNIT, WIDE | WIDE_DUAL, ACT_CLK),
    ROW(PRE, ACT, OTHER_UNIT, WIDE | WIDE_DUAL, ROW_CLK),
    ROW(PREA, PREA, OTHER_UNIT, WIDE | WIDE_DUAL, ROW_CLK),
    ROW(REFA, REFB, OTHER_UNIT, WIDE | WIDE_DUAL, ROW_CLK),
    ROW(RD, RD, OTHER_UNIT, WIDE | WIDE_DUAL, COL_CLK),
    ROW(WRA, RD, OTHER_UNIT, WIDE | WIDE_DUAL, COL_CLK),
    /* … rows and columns the same one */
    ROW(ACT, RD, OTHER_UNIT, WIDE, ACT_CLK), ROW(ACT, WR, OTHER_BANK, WIDE, ACT_CLK),
    ROW(RD, ACT, OTHER_BANK | OTHER_UNIT, WIDE, COL_CLK),
    ROW(WR, PRE, OTHER_BANK | OTHER_UNIT, WIDE, COL_CLK),
    ROW(RDA, REFA, OTHER_UNIT, WIDE, COL_CLK),
    ROW(PRE, WR, OTHER_BANK | OTHER_UNIT, WIDE, ROW_CLK),
    ROW(REFB, RD, OTHER_BANK | OTHER_UNIT, WIDE, ROW_CLK),
    /* … or one each */
    ROW(ACT, RD, OTHER_BANK | OTHER_UNIT, WIDE_DUAL, 0),
    ROW(RD, ACT, OTHER_BANK | OTHER_UNIT, WIDE_DUAL, 0),
    ROW(WR, PRE, OTHER_BANK | OTHER_UNIT, WIDE_DUAL, 0),
    ROW(RDA, REFA, OTHER_UNIT, WIDE_DUAL, 0),
    ROW(PRE, WR, OTHER_BANK | OTHER_UNIT, WIDE_DUAL, 0),
    /* none said: one clock */
    ROW(ACT, RD, SAME_BANK, NARROW, RCD_RD), ROW(PRE, ACT, SAME_BANK, NARROW, RP),
    ROW(RD, PRE, SAME_BANK, NARROW, RTP), ROW(ACT, ACT, OTHER_UNIT, NARROW, 0)};

static void expect_ready(const struct row *r, const struct tsri_device *d, uint32_t bank,
                         uint32_t peer, uint64_t t) {
  uint64_t at = ready(d, r->after, peer);
  if (r->clocks ? at == t + r->clocks : at <= t) return;
  fail_msg("row %zu, commands %d and %d, banks %u and %u: ready %lld clocks behind, "
           "expected %llu",
           (size_t)(r >= rows && r < rows + LEN(rows) ? r - rows : 999), (int)r->before,
           (int)r->after, bank, peer, (long long)(at - t), (unsigned long long)r->clocks);
}

/* Whether there is a pair of banks that a row is about. */
static bool try_row(const struct row *r, const struct tsr_dram_config *c) {
  static const uint64_t clocks[] = {0, 1, 1000003};
  uint32_t banks = (uint32_t)(c->org.units * c->org.stack_ids * c->org.groups * c->org.banks);
  bool any = false;
  for (uint32_t bank = 0; bank < banks; bank++) {
    struct tsri_device d;
    assert_int_equal(tsri_device_init(&d, c, NULL), TSR_OK);
    for (size_t k = 0; k < LEN(clocks); k++) {
      give(&d, r->before, bank, clocks[k]);
      for (uint32_t peer = 0; peer < banks; peer++) {
        if (!(relation(&c->org, bank, peer) & r->rel)) continue;
        expect_ready(r, &d, bank, peer, clocks[k]);
        any = true;
      }
      if (k == 0) { /* a fresh one, not what is left of clock 0 */
        tsri_device_fini(&d);
        assert_int_equal(tsri_device_init(&d, c, NULL), TSR_OK);
      }
    }
    tsri_device_fini(&d);
  }
  return any;
}

static void each_constraint_holds_to_the_clock(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(rows); i++) {
    bool any = false;
    for (int v = 0; v < VARIANTS; v++) {
      if (!(rows[i].variants & 1 << v)) continue;
      struct tsr_dram_config c = variant(1 << v);
      any = try_row(&rows[i], &c) || any;
    }
    assert_true(any);
  }
}

/* Whether a row says how long; a unit's command is at all its banks. */
static bool is_named(int v, enum tsri_cmd before, enum tsri_cmd after, int rel) {
  for (size_t i = 0; i < LEN(rows); i++)
    if (rows[i].before == before && rows[i].after == after && rows[i].rel & rel &&
        rows[i].variants & v)
      return true;
  return false;
}

/* What no row of the plain variants names is free. */
static void nothing_else_waits(void **state) {
  (void)state;
  size_t n = 0;
  for (int v = 1; v <= ALONE; v *= 2) {
    struct tsr_dram_config c = variant(v);
    for (int b = 0; b < TSRI_CMDS; b++)
      for (int a = 0; a < TSRI_CMDS; a++)
        for (int rel = SAME_BANK; rel <= OTHER_UNIT; rel *= 2) {
          if (a == TSRI_RDA || a == TSRI_WRA) continue; /* as those without */
          if (is_named(v, b, a, rel)) continue;
          struct row free = {(enum tsri_cmd)b, (enum tsri_cmd)a, rel, v, 0};
          n += try_row(&free, &c);
        }
  }
  assert_true(n > 0);
}

/* ---- more than two commands ---- */

/* Four activates in other groups each, then a fifth and a sixth. */
static void the_fifth_activate_waits_for_the_window(void **state) {
  (void)state;
  static const uint64_t gaps[][5] = {
      {RRD_S, RRD_S, RRD_S, 0, 0}, {RRD_S, RRD_L, RRD_S + 3, 0, 0}, {50, 50, 60, 9, 2}};
  for (size_t i = 0; i < LEN(gaps); i++)
    for (int wide = 0; wide < 2; wide++) {
      struct tsr_dram_config c = variant(wide ? WIDE_DUAL : DUAL);
      struct tsri_device d;
      assert_int_equal(tsri_device_init(&d, &c, NULL), TSR_OK);
      uint64_t at[8] = {1000};
      for (int k = 0; k < 8; k++) { /* two banks a group: 0 2 4 6 1 3 5 7 */
        uint32_t bank = (uint32_t)(k % 4 * 2 + k / 4);
        uint64_t soonest = k ? at[k - 1] + RRD_S : 1000;
        if (k >= 4) soonest = tsr_max_u64(soonest, at[k - 4] + FAW);
        if (k >= 4) soonest = tsr_max_u64(soonest, at[k - 4] + RRD_L);
        if (k) assert_int_equal(tsri_device_ready(&d, TSRI_ACT, bank), soonest);
        at[k] = k && k < 5 ? tsr_max_u64(soonest, at[k - 1] + gaps[i][k - 1]) : soonest;
        tsri_device_give(&d, TSRI_ACT, bank, 1, at[k]);
        assert_true(tsri_device_ready(&d, TSRI_ACT, 8) <= at[k] + ACT_CLK); /* other unit */
      }
      tsri_device_fini(&d);
    }
}

/* The window is a unit's: activates in turn in two units never fill it. */
static void each_unit_has_its_own_window(void **state) {
  (void)state;
  struct tsr_dram_config c = variant(RANKS);
  struct tsri_device d;
  assert_int_equal(tsri_device_init(&d, &c, NULL), TSR_OK);
  uint64_t at[2][4];
  for (uint32_t k = 0; k < 4; k++)
    for (uint32_t u = 0; u < 2; u++) {
      at[u][k] = 100 + k * RRD_S + u * 11;
      tsri_device_give(&d, TSRI_ACT, u * 8 + k * 2, 1, at[u][k]);
    }
  for (uint32_t u = 0; u < 2; u++)
    assert_int_equal(tsri_device_ready(&d, TSRI_ACT, u * 8 + 1), at[u][0] + FAW);
  tsri_device_fini(&d);
}

/* Of several constraints the latest counts, and an earlier one never takes it back. */
static void the_latest_of_all_constraints_counts(void **state) {
  (void)state;
  struct tsr_dram_config c = variant(PSEUDO);
  struct tsri_device d;
  assert_int_equal(tsri_device_init(&d, &c, NULL), TSR_OK);
  tsri_device_give(&d, TSRI_ACT, 0, 1, 0);
  tsri_device_give(&d, TSRI_RD, 0, 1, RCD_RD); /* tRAS is later than tRCD + tRTP … */
  assert_int_equal(tsri_device_ready(&d, TSRI_PRE, 0), tsr_max_u64(RAS, RCD_RD + RTP));
  tsri_device_give(&d, TSRI_WR, 0, 1, RCD_RD + RTW); /* … and tWR than both */
  uint64_t pre = RCD_RD + RTW + CWL + BL + WR;
  assert_int_equal(tsri_device_ready(&d, TSRI_PRE, 0), pre);
  tsri_device_give(&d, TSRI_PRE, 0, 0, pre);
  assert_int_equal(tsri_device_ready(&d, TSRI_ACT, 0), tsr_max_u64(RC, pre + RP));
  tsri_device_fini(&d);
}

static void rows_open_and_close(void **state) {
  (void)state;
  static const enum tsri_cmd closing[] = {TSRI_PRE, TSRI_PREA, TSRI_RDA, TSRI_WRA};
  for (size_t i = 0; i < LEN(closing); i++) {
    struct tsr_dram_config c = variant(PSEUDO);
    struct tsri_device d;
    assert_int_equal(tsri_device_init(&d, &c, NULL), TSR_OK);
    const uint32_t per = d.banks_of_unit;
    for (uint32_t b = 0; b < d.banks; b++) assert_int_equal(d.row[b], TSRI_NO_ROW);
    tsri_device_give(&d, TSRI_ACT, 3, 11, 0);
    tsri_device_give(&d, TSRI_ACT, 6, 12, RRD_S);
    tsri_device_give(&d, TSRI_ACT, per + 3, 13, 0);
    tsri_device_give(&d, TSRI_RD, 3, 11, RC); /* leaves it open */
    assert_int_equal(d.open[0], 2);
    assert_int_equal(d.open[1], 1);
    give(&d, closing[i], 3, 5 * RC);
    bool all = closing[i] == TSRI_PREA;
    assert_int_equal(d.row[3], TSRI_NO_ROW);
    assert_int_equal(d.row[6], all ? TSRI_NO_ROW : 12);
    assert_int_equal(d.row[per + 3], 13);
    assert_int_equal(d.open[0], all ? 0 : 1);
    assert_int_equal(d.open[1], 1);
    tsri_device_fini(&d);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_constraint_holds_to_the_clock),
      cmocka_unit_test(nothing_else_waits),
      cmocka_unit_test(the_fifth_activate_waits_for_the_window),
      cmocka_unit_test(each_unit_has_its_own_window),
      cmocka_unit_test(the_latest_of_all_constraints_counts),
      cmocka_unit_test(rows_open_and_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
