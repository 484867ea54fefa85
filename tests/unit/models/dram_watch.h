/* Watches the commands of a DRAM channel: every pair of them against the least distance that
 * the standards give (JESD79-4, -5, JESD209-5, JESD235, JESD238, JESD250), written anew, slow
 * and plain.  A command that comes too early, or to a row that is not open, fails the test with
 * both commands.
 *
 * Whatever is not a command of the watch's hook is not seen: the second part of an activate in
 * two, the command that wakes the data clock.
 *
 * Units: clocks.  Ownership: the configuration is borrowed until dram_watch_close. */
#ifndef TSR_TESTS_UNIT_MODELS_DRAM_WATCH_H
#define TSR_TESTS_UNIT_MODELS_DRAM_WATCH_H

#include "models/dram/channel.h"

struct dram_command {
  enum tsri_cmd cmd;
  uint32_t bank, row;
  uint64_t at;
};
struct dram_watch {
  const struct tsr_dram_config *c;
  struct dram_command *past; /* owned */
  size_t n, cap;
  size_t near_from; /* those before are too old to matter … */
  uint64_t horizon; /* … by so many clocks */
  uint64_t count[TSRI_CMDS];
  uint32_t row[TSR_DRAM_BANKS_MAX];
  void (*done)(void *arg, uint64_t tag, uint64_t clock);
  void *arg;
};

/* Watches `ch`, whose answers go to `done` (may be NULL). */
void dram_watch_open(struct dram_watch *w, const struct tsr_dram_config *c,
                     struct tsri_channel *ch,
                     void (*done)(void *arg, uint64_t tag, uint64_t clock), void *arg);
void dram_watch_close(struct dram_watch *w);
/* Looks at a command, which is the latest. */
void dram_watch_see(struct dram_watch *w, struct dram_command x);
/* The same, but returns what is wrong with it (static), and with which one before; NULL: it
 * may go. */
const char *dram_watch_find(const struct dram_watch *w, struct dram_command x,
                            struct dram_command *before);

bool dram_command_reads(enum tsri_cmd cmd);
bool dram_command_writes(enum tsri_cmd cmd);

#endif
