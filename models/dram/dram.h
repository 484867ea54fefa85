/* A DRAM by its banks: what a device allows (rules.def), what a controller chooses
 * (policy.def), and where an address lies.
 *
 * A memory has channels; a channel has units, which are ranks on one data bus or
 * pseudo-channels with one each; a unit has stack ids, bank groups, banks.  A channel's
 * controller holds requests of one transaction each and gives commands, each at the first
 * clock at which the constraints allow one of those that may go; it goes from command to
 * command, never from clock to clock.
 *
 * Units: clocks of the DRAM (tck_fs each), bytes, bits.
 * Ownership: a configuration is borrowed; a memory is its creator's.
 * Errors: tsr_dram_check says what is wrong with a configuration; what is made of a good one
 * cannot fail but for memory. */
#ifndef TSR_MODELS_DRAM_DRAM_H
#define TSR_MODELS_DRAM_DRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/config/param.h"

struct tsr_dram_timing {
#define T(field, key, doc) uint64_t field;
#include "models/dram/timing.def"
#undef T
};
struct tsr_dram_policy {
#define P(field, key, low, high, doc) uint64_t field;
#include "models/dram/policy.def"
#undef P
};

enum tsr_dram_refresh { TSR_DRAM_REFRESH_NONE, TSR_DRAM_REFRESH_ALL, TSR_DRAM_REFRESH_BANK };
enum tsr_dram_page { TSR_DRAM_PAGE_OPEN, TSR_DRAM_PAGE_CLOSED, TSR_DRAM_PAGE_ADAPTIVE };

struct tsr_dram_org {
  uint64_t channels;
  uint64_t units;           /* of a channel: ranks, or pseudo-channels */
  bool shared_bus;          /* they are ranks: one data bus */
  uint64_t stack_ids;       /* of a unit */
  uint64_t groups, banks;   /* of a stack id, of a group */
  uint64_t rows, row_bytes; /* of a bank, of a unit */
  uint64_t tx_bytes;        /* a request */
  bool dual_bus;            /* row and column commands on a bus each */
  bool half_clock;          /* a clock here is half of one: precharges on either edge */
};

enum { TSR_DRAM_BANKS_MAX = 256, TSR_DRAM_CHANNELS_MAX = 128, TSR_DRAM_UNITS_MAX = 16 };

struct tsr_dram_config {
  char preset[TSR_PARAM_NAME_MAX];
  int policy_name; /* of tsr_dram_policy_names */
  uint64_t tck_fs;
  struct tsr_dram_org org;
  struct tsr_dram_timing t;
  struct tsr_dram_policy p;
  int refresh, page; /* enum tsr_dram_refresh, enum tsr_dram_page */
  char map[TSR_PARAM_TEXT_MAX], hash[TSR_PARAM_TEXT_MAX]; /* models/dram/addr.h */
  bool posted;     /* a replay is over when its last write is taken, not when it is written */
  uint64_t inject; /* requests that a replay puts in a clock; no parameter of a machine */
  uint64_t frontend_fs; /* controller and PHY, one way */
};

extern const char *const tsr_dram_policy_names[]; /* NULL-terminated */
/* The rows of struct tsr_dram_config. */
extern const struct tsr_param tsr_dram_params[];

/* Sets all of `out`, but for nothing; false: there is no such preset. */
bool tsr_dram_preset(const char *name, struct tsr_dram_config *out);
/* The ith preset's name and what it is (static); NULL: there are no more. */
const char *tsr_dram_preset_name(size_t i, const char **doc);
/* Sets the switches to those of a policy. */
void tsr_dram_policy_set(int policy, struct tsr_dram_policy *out);

/* Sets all to what its preset is, and if it was given its policy; returns NULL, or the key
 * (static) whose value names nothing. */
const char *tsr_dram_derive(struct tsr_dram_config *c, bool policy_given);

/* A preset with some keys set, `KEY=VALUE` each; TSR_USAGE and TSR_INPUT with messages. */
enum tsr_status tsr_dram_config_read(const char *preset, const char *const *sets, size_t n_sets,
                                     struct tsr_dram_config *out, struct tsr_err *err);

/* What is wrong with a configuration: TSR_INPUT with a message. */
enum tsr_status tsr_dram_check(const struct tsr_dram_config *c, struct tsr_err *err);

/* Bytes of the memory; its data buses; bytes a second of all of them. */
uint64_t tsr_dram_buses(const struct tsr_dram_config *c);
uint64_t tsr_dram_capacity(const struct tsr_dram_config *c);
uint64_t tsr_dram_bandwidth(const struct tsr_dram_config *c);

#endif
