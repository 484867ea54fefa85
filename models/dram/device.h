/* What the device allows: for each command the first clock at which it may be given.
 *
 * The constraints are rows of rules.def.  A command is at a bank (row and bank known) or at a
 * unit (of all its banks).  Clocks are the DRAM's. */
#ifndef TSR_MODELS_DRAM_DEVICE_H
#define TSR_MODELS_DRAM_DEVICE_H

#include "models/dram/dram.h"

enum tsri_cmd {
  TSRI_ACT,
  TSRI_PRE,  /* one bank */
  TSRI_PREA, /* all banks of a unit */
  TSRI_RD,
  TSRI_WR,
  TSRI_RDA, /* with precharge behind it */
  TSRI_WRA,
  TSRI_REFA,
  TSRI_REFB,
  TSRI_CMDS
};
enum tsri_level {
  TSRI_LEVEL_CHANNEL,
  TSRI_LEVEL_UNIT,
  TSRI_LEVEL_SID,
  TSRI_LEVEL_GROUP,
  TSRI_LEVEL_BANK,
  TSRI_LEVELS
};
enum { TSRI_RULES_MAX = 24, TSRI_WINDOW = 4 };
#define TSRI_NO_ROW UINT32_MAX

struct tsri_rule {
  uint8_t level, after, window;
  bool others;
  uint32_t clocks;
  uint64_t *ready; /* of its level's first node and command `after` */
};

struct tsri_device {
  uint32_t units, banks_of_unit, banks; /* of the channel */
  uint32_t fanout[TSRI_LEVELS];         /* children of a node of the level above */
  uint32_t first[TSRI_LEVELS];          /* node of a level: the first's number … */
  uint32_t shift[TSRI_LEVELS];          /* … and of bank b: first + (b >> shift) */
  struct tsri_rule rule[TSRI_CMDS]
                       [TSRI_RULES_MAX]; /* plain ones first: of the last command … */
  uint32_t n_rules[TSRI_CMDS], n_plain[TSRI_CMDS]; /* … at its own node */
  uint64_t *ready[TSRI_CMDS]; /* by node: the first clock of the command; owned by [0] */
  uint64_t *act;              /* by unit: the last TSRI_WINDOW activates; owned */
  uint32_t *act_at;           /* … and which is the oldest; owned */
  uint32_t *row;              /* open in a bank, TSRI_NO_ROW: none; owned */
  uint32_t *open;             /* banks of a unit with an open row; owned */
};

enum tsr_status tsri_device_init(struct tsri_device *d, const struct tsr_dram_config *c,
                                 struct tsr_err *err);
void tsri_device_fini(struct tsri_device *d);

/* The first clock at which a command may be given to a bank; one with a precharge behind it
 * may when the one without may. */
static inline uint64_t tsri_device_ready(const struct tsri_device *d, enum tsri_cmd cmd,
                                         uint32_t bank) {
  const uint64_t *r = d->ready[cmd];
  uint64_t at = r[0];
  for (int l = TSRI_LEVEL_UNIT; l < TSRI_LEVELS; l++) {
    uint64_t x = r[d->first[l] + (bank >> d->shift[l])];
    at = at > x ? at : x;
  }
  return at;
}
/* … to a unit: TSRI_PREA, TSRI_REFA. */
uint64_t tsri_device_ready_unit(const struct tsri_device *d, enum tsri_cmd cmd, uint32_t unit);

/* Gives it at clock t, not before it is ready; an activate opens `row`. */
void tsri_device_give(struct tsri_device *d, enum tsri_cmd cmd, uint32_t bank, uint32_t row,
                      uint64_t t);
void tsri_device_give_unit(struct tsri_device *d, enum tsri_cmd cmd, uint32_t unit, uint64_t t);

#endif
