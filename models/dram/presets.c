/* Policies and presets: which devices there are, and how a controller treats them. */
#include <string.h>

#include "models/dram/dram.h"
#include "sim/base/mem.h"

/* ---- policies ---- */

enum { STREAM, RAMULATOR, RAMULATOR_ROWHIT, DRAMSIM3 };
const char *const tsr_dram_policy_names[] = {"stream", "ramulator", "ramulator-rowhit",
                                             "dramsim3", NULL};

/* stream: ours.  Row hits first, rows stay open for whoever waits for them, long turns of
 * writing, a refresh holds its own unit only.
 * ramulator, ramulator-rowhit: Ramulator 2.1, scheduler FRFCFS and FRFCFS-RowHit.
 * SRC:ramulator2
 * dramsim3: DRAMsim3 with queues by bank.  SRC:dramsim3 */
static const struct tsr_dram_policy policies[] = {[STREAM] = {.reads = 128,
                                                              .writes = 128,
                                                              .columns_first = 1,
                                                              .protect = 2,
                                                              .hit_limit = 64,
                                                              .drain_high = 112,
                                                              .drain_low = 16,
                                                              .drain_idle = 1,
                                                              .stagger = 1},
                                                  [RAMULATOR] = {.reads = 32,
                                                                 .writes = 32,
                                                                 .active_first = 1,
                                                                 .drain_high = 26,
                                                                 .drain_low = 6,
                                                                 .drain_idle = 0,
                                                                 .refresh_alone = 1},
                                                  [RAMULATOR_ROWHIT] = {.reads = 32,
                                                                        .writes = 32,
                                                                        .active_first = 1,
                                                                        .protect = 1,
                                                                        .drain_high = 26,
                                                                        .drain_low = 6,
                                                                        .drain_idle = 0,
                                                                        .refresh_alone = 1},
                                                  [DRAMSIM3] = {.reads = 32,
                                                                .writes = 32,
                                                                .bank_queue = 8,
                                                                .rotate = 1,
                                                                .protect = 2,
                                                                .hit_limit = 4,
                                                                .head_only = 1,
                                                                .drain_high = 32,
                                                                .drain_all = 1,
                                                                .drain_idle = 9,
                                                                .merge_reads = 1,
                                                                .refresh_banks = 1,
                                                                .stagger = 1,
                                                                .one_command = 1}};

void tsr_dram_policy_set(int policy, struct tsr_dram_policy *out) {
  *out = policies[policy];
}

/* ---- devices ---- */

/* Timing sets, in clocks of the period beside them.  SRC:ramulator2 SRC:dramsim3, of which a
 * note says where ours differs. */
struct device {
  uint64_t tck_fs;
  struct tsr_dram_org org; /* of one channel */
  struct tsr_dram_timing t;
};

/* DDR4-3200AA, 8 Gb x8, eight of them a rank. */
#define DDR4_ORG                                                                            \
  {                                                                                         \
    .channels = 1, .units = 1, .shared_bus = true, .stack_ids = 1, .groups = 4, .banks = 4, \
    .rows = 65536, .row_bytes = 8192, .tx_bytes = 64                                        \
  }
#define DDR4_TIMING(rtw_, rfc_, cs_)                                                         \
  {                                                                                          \
    .bl = 4, .cl = 22, .cwl = 16, .rcd_rd = 22, .rcd_wr = 22, .rp = 22, .ras = 52, .rc = 74, \
    .ccd_s = 4, .ccd_l = 8, .ccd_s_wr = 4, .ccd_l_wr = 8, .rrd_s = 4, .rrd_l = 8, .faw = 34, \
    .wr = 24, .rtp = 12, .wtr_s = 4, .wtr_l = 12, .rtw = (rtw_), .cs = (cs_), .refi = 12480, \
    .rfc = (rfc_), .act_clk = 1, .col_clk = 1, .row_clk = 1                                  \
  }
/* DDR5-4800B, 16 Gb x8, one 32-bit sub-channel. */
#define DDR5_ORG                                                                            \
  {                                                                                         \
    .channels = 1, .units = 1, .shared_bus = true, .stack_ids = 1, .groups = 8, .banks = 4, \
    .rows = 65536, .row_bytes = 4096, .tx_bytes = 64                                        \
  }
#define DDR5_TIMING(faw_)                                                                      \
  {                                                                                            \
    .bl = 8, .cl = 36, .cwl = 34, .rcd_rd = 36, .rcd_wr = 36, .rp = 36, .ras = 77, .rc = 113,  \
    .ccd_s = 8, .ccd_l = 12, .ccd_s_wr = 8, .ccd_l_wr = 48, .rrd_s = 8, .rrd_l = 12,           \
    .faw = (faw_), .wr = 72, .rtp = 18, .wtr_s = 6, .wtr_l = 24, .rtw = 12, .cs = 2, .ppd = 2, \
    .refi = 9375, .rfc = 710, .rfc_pb = 313, .rrefd = 72, .act_clk = 2, .col_clk = 2,          \
    .row_clk = 1                                                                               \
  }
/* LPDDR4-2400, 8 Gb x16, four dies on 64 bits, two ranks. */
#define LPDDR4_ORG                                                                          \
  {                                                                                         \
    .channels = 1, .units = 2, .shared_bus = true, .stack_ids = 1, .groups = 2, .banks = 4, \
    .rows = 65536, .row_bytes = 8192, .tx_bytes = 128                                       \
  }
#define LPDDR4_TIMING(ppd_)                                                                  \
  {                                                                                          \
    .bl = 8, .cl = 17, .cwl = 14, .rcd_rd = 15, .rcd_wr = 15, .rp = 15, .ras = 32, .rc = 47, \
    .ccd_s = 4, .ccd_l = 6, .ccd_s_wr = 4, .ccd_l_wr = 6, .rrd_s = 8, .rrd_l = 8, .faw = 32, \
    .wr = 30, .rtp = 12, .wtr_s = 8, .wtr_l = 16, .rtw = 12, .cs = 1, .ppd = (ppd_),         \
    .refi = 8660, .rfc = 392, .rfc_pb = 196, .rrefd = 109, .act_clk = 1, .col_clk = 1,       \
    .row_clk = 1                                                                             \
  }
/* LPDDR5-6400, 16 Gb x16, bank group mode, clock at a quarter of the data clock. */
#define LPDDR5_ORG                                                                          \
  {                                                                                         \
    .channels = 1, .units = 1, .shared_bus = true, .stack_ids = 1, .groups = 4, .banks = 4, \
    .rows = 65536, .row_bytes = 2048, .tx_bytes = 32                                        \
  }
#define LPDDR5_TIMING                                                                          \
  {                                                                                            \
    .bl = 2, .cl = 17, .cwl = 9, .rcd_rd = 15, .rcd_wr = 15, .rp = 15, .rp_ab = 17, .ras = 34, \
    .rc = 49, .ccd_s = 2, .ccd_l = 4, .ccd_s_wr = 2, .ccd_l_wr = 4, .rrd_s = 4, .rrd_l = 4,    \
    .faw = 16, .wr = 28, .rtp = 8, .wtr_s = 5, .wtr_l = 10, .rtw = 12, .cs = 2, .ppd = 2,      \
    .refi = 3125, .rfc = 224, .rfc_pb = 128, .rrefd = 12, .act_clk = 1, .col_clk = 1,          \
    .row_clk = 1, .aad = 8, .wck_post = 1                                                      \
  }
/* HBM2-2000, 8 Gb, two pseudo-channels of 64 bits a channel. */
#define HBM2_ORG                                                                       \
  {                                                                                    \
    .channels = 1, .units = 2, .stack_ids = 1, .groups = 4, .banks = 4, .rows = 65536, \
    .row_bytes = 1024, .tx_bytes = 32, .dual_bus = true                                \
  }
#define HBM2_TIMING                                                                          \
  {                                                                                          \
    .bl = 2, .cl = 14, .cwl = 5, .rcd_rd = 14, .rcd_wr = 12, .rp = 14, .ras = 34, .rc = 48,  \
    .ccd_s = 2, .ccd_l = 4, .ccd_s_wr = 2, .ccd_l_wr = 4, .rrd_s = 4, .rrd_l = 4, .faw = 15, \
    .wr = 16, .rtp = 5, .wtr_s = 6, .wtr_l = 8, .rtw = 13, .refi = 3900, .rfc = 350,         \
    .rfc_pb = 160, .rrefd = 8, .act_clk = 2, .col_clk = 1, .row_clk = 1                      \
  }
/* HBM2-2000, legacy: channels of 128 bits, a row and a column command a clock. */
#define HBM2L_ORG                                                                      \
  {                                                                                    \
    .channels = 1, .units = 1, .stack_ids = 1, .groups = 4, .banks = 4, .rows = 32768, \
    .row_bytes = 2048, .tx_bytes = 64, .dual_bus = true                                \
  }
#define HBM2L_TIMING                                                                          \
  {                                                                                           \
    .bl = 2, .cl = 14, .cwl = 4, .rcd_rd = 14, .rcd_wr = 14, .rp = 14, .ras = 34, .rc = 48,   \
    .ccd_s = 1, .ccd_l = 2, .ccd_s_wr = 1, .ccd_l_wr = 2, .rrd_s = 4, .rrd_l = 6, .faw = 30,  \
    .wr = 16, .rtp = 5, .wtr_s = 6, .wtr_l = 8, .rtw = 14, .cs = 2, .refi = 3900, .rfc = 260, \
    .rfc_pb = 128, .rrefd = 8, .act_clk = 1, .col_clk = 1, .row_clk = 1                       \
  }
/* HBM2E-3600, 16 Gb: the times of HBM2-2000 at its clock.  SRC:assumed */
#define HBM2E_TIMING                                                                         \
  {                                                                                          \
    .bl = 2, .cl = 26, .cwl = 10, .rcd_rd = 26, .rcd_wr = 22, .rp = 26, .ras = 62, .rc = 87, \
    .ccd_s = 2, .ccd_l = 4, .ccd_s_wr = 2, .ccd_l_wr = 4, .rrd_s = 8, .rrd_l = 8, .faw = 27, \
    .wr = 29, .rtp = 9, .wtr_s = 11, .wtr_l = 15, .rtw = 20, .refi = 7020, .rfc = 810,       \
    .rfc_pb = 360, .rrefd = 15, .act_clk = 2, .col_clk = 1, .row_clk = 1                     \
  }
/* HBM3-6400, 16 Gb, eight high: two stack ids; clocks here are half of the device's. */
#define HBM3_ORG                                                                       \
  {                                                                                    \
    .channels = 1, .units = 2, .stack_ids = 2, .groups = 4, .banks = 4, .rows = 16384, \
    .row_bytes = 1024, .tx_bytes = 32, .dual_bus = true, .half_clock = true            \
  }
#define HBM3_TIMING                                                                            \
  {                                                                                            \
    .bl = 4, .cl = 40, .cwl = 20, .rcd_rd = 62, .rcd_wr = 30, .rp = 52, .ras = 90, .rc = 144,  \
    .ccd_s = 4, .ccd_l = 8, .ccd_s_wr = 4, .ccd_l_wr = 8, .ccd_r = 6, .rrd_s = 8, .rrd_l = 10, \
    .faw = 48, .wr = 66, .rtp = 18, .wtr_s = 14, .wtr_l = 20, .rtw = 40, .ppd = 4,             \
    .refi = 12480, .rfc = 1120, .rfc_pb = 640, .rrefd = 16, .act_clk = 3, .col_clk = 2,        \
    .row_clk = 1                                                                               \
  }
/* GDDR6-14000, 8 Gb x16: one 16-bit channel. */
#define GDDR6_ORG                                                                      \
  {                                                                                    \
    .channels = 1, .units = 1, .stack_ids = 1, .groups = 4, .banks = 4, .rows = 16384, \
    .row_bytes = 2048, .tx_bytes = 32                                                  \
  }
#define GDDR6_TIMING                                                                         \
  {                                                                                          \
    .bl = 2, .cl = 24, .cwl = 6, .rcd_rd = 27, .rcd_wr = 16, .rp = 27, .ras = 53, .rc = 79,  \
    .ccd_s = 2, .ccd_l = 4, .ccd_s_wr = 2, .ccd_l_wr = 4, .rrd_s = 8, .rrd_l = 8, .faw = 29, \
    .wr = 27, .rtp = 4, .wtr_s = 9, .wtr_l = 11, .rtw = 25, .refi = 3333, .rfc = 211,        \
    .rfc_pb = 106, .rrefd = 29, .act_clk = 1, .col_clk = 1, .row_clk = 1                     \
  }

/* ---- presets ---- */

struct preset {
  const char *name, *doc;
  struct device d;
  uint64_t channels, units; /* 0: as the device */
  int policy;
  const char *map, *hash;
  uint64_t inject;
};

/* Ramulator's mappings: rank or pseudo-channel, stack id, bank group and bank between two
 * column bits and the rest, each xored with the column's bits in turn, and the row too. */
#define MOP "co:2,ra,si,bg,ba,co,ro"

/* Ours, for streams: runs of eight transactions over two bank groups, then over channels, so
 * that a short run opens few rows; columns high, so that runs a power of two apart fall in one
 * row or in other banks; what strides would crowd is spread by exclusive ors with what lies
 * above. models/dram/README.md has the figures. */
#define STREAM_MAP "bg:1,co:2,ch,bg,ba,ra,si,co,ro"
#define HASH "ch=co.2,ch=ro.4,ch=ro,bg=ba,ba=ro,bg=ro.2"
#define HBM_MAP "bg:1,co:2,pc,ch,bg,ba,si,co,ro"
#define HBM_HASH "ch=bg.1,ch=ba.1,ch=co.1,ch=ro.4,ch=ro,pc=ba,pc=ro.3,ba=ro,bg=ro.2"
#define HBML_HASH "ch=bg.1,ch=ba.1,ch=co.1,ch=ro.4,ch=ro,ba=ro,bg=ro.2"

static const struct preset presets[] = {
    {"ddr4-3200",
     "DDR4-3200AA, 8 Gb x8, a rank on 64 bits",
     {625000, DDR4_ORG, DDR4_TIMING(12, 560, 2)},
     1,
     1,
     STREAM,
     STREAM_MAP,
     HASH,
     2},
    {"ddr5-4800",
     "DDR5-4800B, 16 Gb x8, two sub-channels of 32 bits",
     {416000, DDR5_ORG, DDR5_TIMING(32)},
     2,
     1,
     STREAM,
     STREAM_MAP,
     HASH,
     4},
    {"lpddr4-2400",
     "LPDDR4-2400, 8 Gb x16, four dies on 64 bits, two ranks",
     {830000, LPDDR4_ORG, LPDDR4_TIMING(4)},
     1,
     2,
     STREAM,
     STREAM_MAP,
     HASH,
     2},
    {"lpddr5-6400",
     "LPDDR5-6400, 16 Gb x16, four channels",
     {1250000, LPDDR5_ORG, LPDDR5_TIMING},
     4,
     1,
     STREAM,
     STREAM_MAP,
     HASH,
     8},
    {"hbm2-2000",
     "HBM2-2000, a stack of 8 channels with two pseudo-channels each",
     {1000000, HBM2_ORG, HBM2_TIMING},
     8,
     2,
     STREAM,
     HBM_MAP,
     HBM_HASH,
     32},
    {"hbm2-2000-legacy",
     "HBM2-2000, a stack of 8 channels of 128 bits",
     {1000000, HBM2L_ORG, HBM2L_TIMING},
     8,
     1,
     STREAM,
     STREAM_MAP,
     HBML_HASH,
     16},
    {"hbm2e-3600",
     "HBM2E-3600, a stack of 8 channels with two pseudo-channels each",
     {555556, HBM2_ORG, HBM2E_TIMING},
     8,
     2,
     STREAM,
     HBM_MAP,
     HBM_HASH,
     32},
    {"hbm3-6400",
     "HBM3-6400, a stack of 16 channels with two pseudo-channels each",
     {312500, HBM3_ORG, HBM3_TIMING},
     16,
     2,
     STREAM,
     HBM_MAP,
     HBM_HASH,
     64},
    {"gddr6-14000",
     "GDDR6-14000, 8 Gb x16, the two channels of a device",
     {570000, GDDR6_ORG, GDDR6_TIMING},
     2,
     1,
     STREAM,
     STREAM_MAP,
     HASH,
     4},

    {"d3_ddr4_3200_1r_coLow",
     "DRAMsim3, DDR4-3200, columns lowest",
     {630000, DDR4_ORG, DDR4_TIMING(11, 560, 1)},
     1,
     1,
     DRAMSIM3,
     "co,bg,ba,ra,ch,ro",
     "",
     2},
    {"d3_ddr4_3200_1r_bgLow",
     "DRAMsim3, DDR4-3200, bank groups lowest",
     {630000, DDR4_ORG, DDR4_TIMING(11, 560, 1)},
     1,
     1,
     DRAMSIM3,
     "ch,bg,co,ba,ra,ro",
     "",
     2},
    {"d3_ddr4_3200_2r_bgLow",
     "DRAMsim3, DDR4-3200, two ranks, bank groups lowest",
     {630000, DDR4_ORG, DDR4_TIMING(11, 560, 1)},
     1,
     2,
     DRAMSIM3,
     "ch,bg,co,ba,ra,ro",
     "",
     2},
    {"d3_hbm2_1ch_coLow",
     "DRAMsim3, HBM2 legacy, one channel, columns lowest",
     {1000000, HBM2L_ORG, HBM2L_TIMING},
     1,
     1,
     DRAMSIM3,
     "co,ch,ba,bg,ra,ro",
     "",
     2},
    {"d3_lpddr4_2400_default",
     "DRAMsim3, LPDDR4-2400, columns lowest",
     {830000, LPDDR4_ORG, LPDDR4_TIMING(0)},
     1,
     2,
     DRAMSIM3,
     "co,bg,ba,ra,ch,ro",
     "",
     2},
    {"d3_lpddr4_2400_bgLow",
     "DRAMsim3, LPDDR4-2400, bank groups lowest",
     {830000, LPDDR4_ORG, LPDDR4_TIMING(0)},
     1,
     2,
     DRAMSIM3,
     "ch,bg,co,ba,ra,ro",
     "",
     2},
    {"d3_hbm2_8ch_default",
     "DRAMsim3, HBM2 legacy, eight channels above the columns",
     {1000000, HBM2L_ORG, HBM2L_TIMING},
     8,
     1,
     DRAMSIM3,
     "co,ch,ba,bg,ra,ro",
     "",
     16},
    {"d3_hbm2_8ch_chLow",
     "DRAMsim3, HBM2 legacy, eight channels lowest",
     {1000000, HBM2L_ORG, HBM2L_TIMING},
     8,
     1,
     DRAMSIM3,
     "ch,bg,co,ba,ra,ro",
     "",
     16},
    {"r2_ddr4_3200aa_1r_MOP4CLXOR_rowhit",
     "Ramulator 2.1, DDR4-3200AA, MOP4CLXOR, row hits first",
     {625000, DDR4_ORG, DDR4_TIMING(12, 576, 2)},
     1,
     1,
     RAMULATOR_ROWHIT,
     MOP,
     "bg=co,ba=co.2,ro=co.4",
     2},
    {"r2_hbm2_2000_8Gb_1ch_MOP4CLXOR_rowhit",
     "Ramulator 2.1, HBM2, one channel, MOP4CLXOR, row hits first",
     {1000000, HBM2_ORG, HBM2_TIMING},
     1,
     2,
     RAMULATOR_ROWHIT,
     MOP,
     "pc=co,bg=co.1,ba=co.3,ro=co.5",
     4},
    {"r2_hbm3_6400_16Gb8hi_1ch_MOP4CLXOR_rowhit",
     "Ramulator 2.1, HBM3, one channel, MOP4CLXOR, row hits first",
     {312500, HBM3_ORG, HBM3_TIMING},
     1,
     2,
     RAMULATOR_ROWHIT,
     MOP,
     "pc=co,si=co.1,bg=co.2,ba=co.4",
     4},
    {"r2_ddr4_3200aa_1r_RoBaRaCoCh",
     "Ramulator 2.1, DDR4-3200AA, RoBaRaCoCh",
     {625000, DDR4_ORG, DDR4_TIMING(12, 576, 2)},
     1,
     1,
     RAMULATOR,
     "co,ra,bg,ba,ro",
     "",
     2},
    {"r2_ddr4_3200aa_1r_MOP4CLXOR",
     "Ramulator 2.1, DDR4-3200AA, MOP4CLXOR",
     {625000, DDR4_ORG, DDR4_TIMING(12, 576, 2)},
     1,
     1,
     RAMULATOR,
     MOP,
     "bg=co,ba=co.2,ro=co.4",
     2},
    {"r2_ddr5_4800bn_16Gbx8_RoBaRaCoCh",
     "Ramulator 2.1, DDR5-4800BN, RoBaRaCoCh",
     {416000, DDR5_ORG, DDR5_TIMING(48)},
     1,
     1,
     RAMULATOR,
     "co,ra,bg,ba,ro",
     "",
     2},
    {"r2_ddr5_4800bn_16Gbx8_MOP4CLXOR",
     "Ramulator 2.1, DDR5-4800BN, MOP4CLXOR",
     {416000, DDR5_ORG, DDR5_TIMING(48)},
     1,
     1,
     RAMULATOR,
     MOP,
     "bg=co,ba=co.3,ro=co.5",
     2},
    {"r2_lpddr5_6400_16Gbx16_MOP4CLXOR",
     "Ramulator 2.1, LPDDR5-6400, MOP4CLXOR",
     {1250000, LPDDR5_ORG, LPDDR5_TIMING},
     1,
     1,
     RAMULATOR,
     MOP,
     "bg=co,ba=co.2,ro=co.4",
     2},
    {"r2_hbm2_2000_8Gb_1ch_RoBaRaCoCh",
     "Ramulator 2.1, HBM2, one channel, RoBaRaCoCh",
     {1000000, HBM2_ORG, HBM2_TIMING},
     1,
     2,
     RAMULATOR,
     "co,pc,bg,ba,ro",
     "",
     4},
    {"r2_hbm2_2000_8Gb_1ch_MOP4CLXOR",
     "Ramulator 2.1, HBM2, one channel, MOP4CLXOR",
     {1000000, HBM2_ORG, HBM2_TIMING},
     1,
     2,
     RAMULATOR,
     MOP,
     "pc=co,bg=co.1,ba=co.3,ro=co.5",
     4},
    {"r2_hbm2_2000_8Gb_8ch_MOP4CLXOR",
     "Ramulator 2.1, HBM2, eight channels, MOP4CLXOR",
     {1000000, HBM2_ORG, HBM2_TIMING},
     8,
     2,
     RAMULATOR,
     "ch," MOP,
     "pc=co,bg=co.1,ba=co.3,ro=co.5",
     32},
    {"r2_hbm3_6400_16Gb8hi_1ch_MOP4CLXOR",
     "Ramulator 2.1, HBM3, one channel, MOP4CLXOR",
     {312500, HBM3_ORG, HBM3_TIMING},
     1,
     2,
     RAMULATOR,
     MOP,
     "pc=co,si=co.1,bg=co.2,ba=co.4",
     4},
    {"r2_hbm3_6400_16Gb8hi_16ch_MOP4CLXOR",
     "Ramulator 2.1, HBM3, sixteen channels, MOP4CLXOR",
     {312500, HBM3_ORG, HBM3_TIMING},
     16,
     2,
     RAMULATOR,
     "ch," MOP,
     "pc=co,si=co.1,bg=co.2,ba=co.4",
     64},
    {"r2_gddr6_14000_8Gbx16_MOP4CLXOR",
     "Ramulator 2.1, GDDR6-14000, MOP4CLXOR",
     {570000, GDDR6_ORG, GDDR6_TIMING},
     1,
     1,
     RAMULATOR,
     MOP,
     "bg=co,ba=co.2,ro=co.4",
     2},
};

const char *tsr_dram_preset_name(size_t i, const char **doc) {
  if (i >= sizeof presets / sizeof *presets) return NULL;
  if (doc) *doc = presets[i].doc;
  return presets[i].name;
}

bool tsr_dram_preset(const char *name, struct tsr_dram_config *out) {
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
    const struct preset *p = &presets[i];
    if (strcmp(p->name, name) != 0) continue;
    *out = (struct tsr_dram_config){
        .policy_name = p->policy,
        .tck_fs = p->d.tck_fs,
        .org = p->d.org,
        .t = p->d.t,
        .refresh =
            p->policy == STREAM && p->d.t.rfc_pb ? TSR_DRAM_REFRESH_BANK : TSR_DRAM_REFRESH_ALL,
        .page = p->policy == STREAM ? TSR_DRAM_PAGE_ADAPTIVE : TSR_DRAM_PAGE_OPEN,
        .posted = p->policy != STREAM,
        .inject = p->inject};
    out->org.channels = p->channels;
    out->org.units = p->units;
    tsr_dram_policy_set(p->policy, &out->p);
    strncpy(out->preset, name, sizeof out->preset - 1);
    strncpy(out->map, p->map, sizeof out->map - 1);
    strncpy(out->hash, p->hash, sizeof out->hash - 1);
    return true;
  }
  return false;
}
