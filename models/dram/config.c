/* The parameters of a DRAM: their rows, what follows from them, what is wrong with them. */
#include <inttypes.h>
#include <string.h>

#include "models/dram/addr.h"
#include "sim/base/mem.h"

static const char *const refresh_names[] = {"none", "all_bank", "per_bank", NULL};
static const char *const page_names[] = {"open", "closed", "adaptive", NULL};

/* Clocks of a constraint: sums of a few of them stay below 2^24 (models/dram/channel.c). */
enum { CLOCKS_MAX = 1 << 20 };

#define COUNT(k, f, lo, hi, d, text)                                                     \
  {                                                                                      \
    .key = k, .type = TSR_PARAM_QUANTITY, .unit = TSR_UNIT_COUNT, .low = lo, .high = hi, \
    .def = d, .offset = offsetof(struct tsr_dram_config, f), .uncertainty = "exact",     \
    .doc = text, .src = "SRC:assumed"                                                    \
  }
#define BYTES(k, f, lo, hi, d, text)                                                     \
  {                                                                                      \
    .key = k, .type = TSR_PARAM_QUANTITY, .unit = TSR_UNIT_BYTES, .low = lo, .high = hi, \
    .def = d, .offset = offsetof(struct tsr_dram_config, f), .uncertainty = "exact",     \
    .doc = text, .src = "SRC:assumed"                                                    \
  }
#define BOOL(k, f, text)                                                                \
  {                                                                                     \
    .key = k, .type = TSR_PARAM_BOOL, .def = "false",                                   \
    .offset = offsetof(struct tsr_dram_config, f), .uncertainty = "exact", .doc = text, \
    .src = "SRC:assumed"                                                                \
  }
#define ENUM(k, list, f, d, text)                                                       \
  {                                                                                     \
    .key = k, .type = TSR_PARAM_ENUM, .names = list, .def = d,                          \
    .offset = offsetof(struct tsr_dram_config, f), .uncertainty = "exact", .doc = text, \
    .src = "SRC:assumed"                                                                \
  }
#define TEXT(k, t, f, d, text)                                                    \
  {                                                                               \
    .key = k, .type = t, .def = d, .offset = offsetof(struct tsr_dram_config, f), \
    .uncertainty = "exact", .doc = text, .src = "SRC:assumed"                     \
  }
#define TIME(k, f, lo, hi, d, unsure, text)                                           \
  {                                                                                   \
    .key = k, .type = TSR_PARAM_QUANTITY, .unit = TSR_UNIT_FS, .low = lo, .high = hi, \
    .def = d, .offset = offsetof(struct tsr_dram_config, f), .uncertainty = unsure,   \
    .doc = text, .src = "SRC:assumed"                                                 \
  }

const struct tsr_param tsr_dram_params[] = {
    TEXT("preset", TSR_PARAM_NAME, preset, "hbm2-2000",
         "device, from which all other keys are taken that are not given"),
    ENUM("policy", tsr_dram_policy_names, policy_name, "stream",
         "controller, from which the keys of `scheduler` are taken that are not given"),
    COUNT("channels", org.channels, 1, TSR_DRAM_CHANNELS_MAX, "8", "channels"),
    TIME("tCK", tck_fs, 50000, 10000000, "1ns", "exact",
         "a clock: of the command bus, or half of it (org.half_clock)"),
    TIME("frontend", frontend_fs, 0, 1000000000, "0", "0.5",
         "controller and PHY, one way: requests pass it, and data that were read"),
    COUNT("org.units", org.units, 1, TSR_DRAM_UNITS_MAX, "2",
          "ranks of a channel, or its pseudo-channels"),
    BOOL("org.shared_bus", org.shared_bus, "the units are ranks on one data bus"),
    COUNT("org.stack_ids", org.stack_ids, 1, 8, "1", "stack ids of a unit"),
    COUNT("org.bank_groups", org.groups, 1, 16, "4", "bank groups of a stack id"),
    COUNT("org.banks", org.banks, 1, 64, "4", "banks of a bank group"),
    COUNT("org.rows", org.rows, 1, 1u << 24, "65536", "rows of a bank"),
    BYTES("org.row_bytes", org.row_bytes, 8, 1u << 20, "1KiB", "a row of a unit"),
    BYTES("org.tx_bytes", org.tx_bytes, 4, 4096, "32B", "a burst on the data bus"),
    BOOL("org.dual_bus", org.dual_bus, "row and column commands have a bus each"),
    BOOL("org.half_clock", org.half_clock,
         "clocks are half ones: precharges on either edge, other commands on the rising one"),
    TEXT("map", TSR_PARAM_TEXT, map, "",
         "address bits above a burst, lowest first: FIELD[:BITS],...; fields ch, pc or ra, si, "
         "bg, ba, co, ro"),
    TEXT("hash", TSR_PARAM_TEXT, hash, "", "FIELD=FIELD[.SHIFT],...: xored onto fields"),
    ENUM("refresh", refresh_names, refresh, "all_bank", "how rows are refreshed"),
    ENUM("page", page_names, page, "open",
         "whether a row stays open when nobody waits for it; adaptive: as its bank's last "
         "accesses suggest"),
#define P(field, key, low, high, doc) COUNT("scheduler." key, p.field, low, high, #low, doc),
#include "models/dram/policy.def"
#undef P
#define T(field, key, doc) COUNT("timing." key, t.field, 0, CLOCKS_MAX, "0", doc),
#include "models/dram/timing.def"
#undef T
    {.key = NULL}};

uint64_t tsr_dram_capacity(const struct tsr_dram_config *c) {
  const struct tsr_dram_org *o = &c->org;
  return o->channels * o->units * o->stack_ids * o->groups * o->banks * o->rows * o->row_bytes;
}

uint64_t tsr_dram_buses(const struct tsr_dram_config *c) {
  return c->org.channels * (c->org.shared_bus ? 1 : c->org.units);
}

uint64_t tsr_dram_bandwidth(const struct tsr_dram_config *c) {
  tsr_u128 bytes = (tsr_u128)tsr_dram_buses(c) * c->org.tx_bytes * TSR_FS_PER_S;
  return (uint64_t)(bytes / ((tsr_u128)c->t.bl * c->tck_fs));
}

static enum tsr_status wrong(struct tsr_err *err, const char *key, const char *why) {
  return tsr_err_set(err, TSR_INPUT, "'dram.%s' %s", key, why);
}

/* What no device and no controller can be. */
enum tsr_status tsr_dram_check(const struct tsr_dram_config *c, struct tsr_err *err) {
  const struct tsr_dram_timing *t = &c->t;
  const struct tsr_dram_org *o = &c->org;
  struct tsri_addr_map map;
  enum tsr_status st = tsri_addr_init(&map, c, err);
  if (st) return st;
  uint64_t banks = o->units * o->stack_ids * o->groups * o->banks;
  if (banks > TSR_DRAM_BANKS_MAX)
    return tsr_err_set(err, TSR_INPUT, "a channel has %" PRIu64 " banks; expected at most %d",
                       banks, TSR_DRAM_BANKS_MAX);
  if (!t->bl) return wrong(err, "timing.tBL", "is 0; expected the clocks of a burst");
  uint64_t rcd = tsr_max_u64(t->rcd_rd, t->rcd_wr);
  if (t->ras <= rcd + t->act_clk)
    return wrong(err, "timing.tRAS",
                 "is not above tRCD: a row would be closed before it is read");
  if (t->rtw + t->cwl < t->cl + t->bl)
    return wrong(err, "timing.tRTW", "is below CL + BL - CWL: data would meet on the bus");
  if (c->refresh != TSR_DRAM_REFRESH_NONE && t->refi && rcd >= t->refi / 2)
    return wrong(err, "timing.tRCD_RD", "and tRCD_WR leave less than half of timing.tREFI");
  if (c->refresh == TSR_DRAM_REFRESH_ALL && t->refi && t->rfc >= t->refi / 2)
    return wrong(err, "timing.tRFC", "leaves less than half of timing.tREFI to requests");
  uint64_t bank_refi = t->refi / (o->stack_ids * o->groups * o->banks);
  if (c->refresh == TSR_DRAM_REFRESH_BANK && t->refi &&
      (!t->rfc_pb || t->rfc_pb >= t->refi / 2 ||
       t->rrefd + t->rrd_s + t->act_clk + t->row_clk >= bank_refi / 2))
    return wrong(err, "refresh",
                 "is per_bank, for which timing.tRFC_PB must not be 0, nor half of "
                 "timing.tREFI, nor tRREFD and tRRD_S half of a bank's part of it");
  if (c->p.drain_low >= c->p.drain_high)
    return wrong(err, "scheduler.drain_low", "is not below scheduler.drain_high");
  if (c->p.drain_high > c->p.writes)
    return wrong(err, "scheduler.drain_high", "is above scheduler.writes: it is never reached");
  if (c->p.drain_all && !c->p.bank_queue)
    return wrong(err, "scheduler.drain_all", "needs scheduler.bank_queue");
  if (c->p.bank_queue && (c->p.active_first || t->aad))
    return wrong(err, "scheduler.bank_queue",
                 "goes neither with scheduler.active_first nor with timing.tAAD");
  return TSR_OK;
}

const char *tsr_dram_derive(struct tsr_dram_config *c, bool policy_given) {
  struct tsr_dram_config base;
  if (!tsr_dram_preset(c->preset, &base)) return "preset";
  if (policy_given) {
    base.policy_name = c->policy_name;
    tsr_dram_policy_set(c->policy_name, &base.p);
  }
  *c = base;
  return NULL;
}

static enum tsr_status unknown(const char *name, struct tsr_err *err) {
  const char *names[64];
  size_t n = 0;
  while (n < 64 && (names[n] = tsr_dram_preset_name(n, NULL))) n++;
  enum tsr_status st = tsr_err_set(err, TSR_USAGE, "unknown DRAM preset '%s'", name);
  const char *near = tsr_err_nearest(name, names, n);
  if (near)
    tsr_err_hint(err, "did you mean '%s'?", near);
  else
    tsr_err_hint(err, "`tessera presets dram` lists them");
  return st;
}

static enum tsr_status read_sets(struct tsr_arena *a, const char *preset,
                                 const char *const *sets, size_t n_sets,
                                 struct tsr_dram_config *c, struct tsr_err *err) {
  struct tsr_node *root;
  enum tsr_status st = tsr_config_tree_parse(a, "--set", "", 0, &root, err);
  for (size_t i = 0; !st && i < n_sets; i++) st = tsr_config_tree_set(a, root, sets[i], err);
  bool *given = tsr_arena_array(a, tsr_param_count(tsr_dram_params) + 1, sizeof *given);
  if (st) return st;
  if (!given) return tsr_err_nomem(err);
  if (preset && tsr_config_tree_get(root, "preset"))
    return tsr_err_set(err, TSR_USAGE, "the preset is '%s'; expected no other by --set",
                       preset);
  tsr_param_defaults(tsr_dram_params, c);
  (void)tsr_param_read(tsr_dram_params, "", root, NULL, c, given, NULL);
  if (preset) {
    strncpy(c->preset, preset, sizeof c->preset - 1);
    c->preset[sizeof c->preset - 1] = 0;
  }
  size_t policy = 0;
  while (strcmp(tsr_dram_params[policy].key, "policy") != 0) policy++;
  if (tsr_dram_derive(c, given[policy])) return unknown(preset ? preset : c->preset, err);
  return tsr_param_read(tsr_dram_params, "", root, NULL, c, NULL, err);
}

enum tsr_status tsr_dram_config_read(const char *preset, const char *const *sets, size_t n_sets,
                                     struct tsr_dram_config *out, struct tsr_err *err) {
  struct tsr_dram_config c = {.policy_name = 0};
  struct tsr_arena *a = tsr_arena_create();
  enum tsr_status st = a ? read_sets(a, preset, sets, n_sets, &c, err) : tsr_err_nomem(err);
  tsr_arena_destroy(a);
  if (!st) st = tsr_dram_check(&c, err);
  if (!st) *out = c;
  return st;
}
