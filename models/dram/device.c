#include "models/dram/device.h"

#include <string.h>

#include "sim/base/mem.h"

#define BIT(c) (1u << TSRI_##c)
#define READS (BIT(RD) | BIT(RDA))
#define WRITES (BIT(WR) | BIT(WRA))
#define LESS(a, b) ((a) > (b) ? (a) - (b) : 0)

/* Clocks that a command takes on its bus. */
static uint64_t clocks_of(const struct tsr_dram_timing *t, int cmd) {
  uint64_t n = cmd == TSRI_ACT                ? t->act_clk
               : 1u << cmd & (READS | WRITES) ? t->col_clk
                                              : t->row_clk;
  return n ? n : 1;
}

/* A constraint counts from where the device has all of a command to where it has all of the
 * next; commands stand at their first clock. */
static void add_rule(struct tsri_device *d, const struct tsr_dram_timing *t, int before,
                     int after, struct tsri_rule r, uint64_t clocks) {
  if (after == TSRI_RDA || after == TSRI_WRA) return; /* as those without */
  clocks += clocks_of(t, before) - 1;
  uint64_t less = clocks_of(t, after) - 1;
  clocks = LESS(clocks, less);
  if (!clocks) return;
  r.after = (uint8_t)after;
  r.clocks = (uint32_t)clocks;
  for (uint32_t i = 0; i < d->n_rules[before]; i++) {
    struct tsri_rule *x = &d->rule[before][i];
    if (x->level != r.level || x->after != r.after || x->window != r.window ||
        x->others != r.others)
      continue;
    if (x->clocks < r.clocks) x->clocks = r.clocks;
    return;
  }
  TSR_CHECK(d->n_rules[before] < TSRI_RULES_MAX);
  d->rule[before][d->n_rules[before]++] = r;
}

static void add_rules(struct tsri_device *d, const struct tsr_dram_timing *t, uint32_t before,
                      uint32_t after, struct tsri_rule r, uint64_t clocks) {
  for (int b = 0; b < TSRI_CMDS; b++)
    for (int a = 0; a < TSRI_CMDS; a++)
      if (before & 1u << b && after & 1u << a) add_rule(d, t, b, a, r, clocks);
}

/* A command of several clocks keeps its bus. */
static void bus_rules(struct tsri_device *d, const struct tsr_dram_config *c) {
  const uint32_t columns = READS | WRITES, all = (1u << TSRI_CMDS) - 1;
  for (int b = 0; b < TSRI_CMDS; b++) {
    uint64_t n = clocks_of(&c->t, b);
    uint32_t bus = !c->org.dual_bus ? all : columns & 1u << b ? columns : all & ~columns;
    for (int a = 0; n > 1 && a < TSRI_CMDS; a++) {
      if (!(bus & 1u << a)) continue;
      struct tsri_rule r = {.level = TSRI_LEVEL_CHANNEL, .window = 1};
      /* of what add_rule makes of it, n must be left */
      add_rule(d, &c->t, b, a, r, clocks_of(&c->t, a));
    }
  }
}

static void find_rules(struct tsri_device *d, const struct tsr_dram_config *c) {
  const struct tsr_dram_timing *t = &c->t;
  const struct tsr_dram_org *o = &c->org;
#define RULE(when, lev, before, after, clocks, win, sibling)                                 \
  if (when)                                                                                  \
    add_rules(                                                                               \
        d, t, before, after,                                                                 \
        (struct tsri_rule){.level = TSRI_LEVEL_##lev, .window = (win), .others = (sibling)}, \
        clocks);
#include "models/dram/rules.def"
#undef RULE
  bus_rules(d, c);
  for (int cmd = 0; cmd < TSRI_CMDS; cmd++) {
    uint32_t plain = 0;
    for (uint32_t i = 0; i < d->n_rules[cmd]; i++) {
      struct tsri_rule r = d->rule[cmd][i];
      r.ready = d->ready[r.after] + d->first[r.level];
      d->rule[cmd][i] = d->rule[cmd][plain];
      d->rule[cmd][plain] = r;
      if (r.window == 1 && !r.others)
        plain++;
      else /* back, behind the plain ones */
        d->rule[cmd][plain] = d->rule[cmd][i], d->rule[cmd][i] = r;
    }
    d->n_plain[cmd] = plain;
  }
}

/* All numbers are powers of two (models/dram/addr.c). */
static uint32_t find_nodes(struct tsri_device *d) {
  uint32_t count = 1, n = 0;
  for (int l = 0; l < TSRI_LEVELS; l++) {
    count *= d->fanout[l];
    d->first[l] = n;
    d->shift[l] = (uint32_t)__builtin_ctz(d->banks / count);
    n += count;
  }
  return n;
}

enum tsr_status tsri_device_init(struct tsri_device *d, const struct tsr_dram_config *c,
                                 struct tsr_err *err) {
  const struct tsr_dram_org *o = &c->org;
  const uint32_t fanout[TSRI_LEVELS] = {1, (uint32_t)o->units, (uint32_t)o->stack_ids,
                                        (uint32_t)o->groups, (uint32_t)o->banks};
  *d = (struct tsri_device){.units = (uint32_t)o->units};
  memcpy(d->fanout, fanout, sizeof fanout);
  d->banks_of_unit = (uint32_t)(o->stack_ids * o->groups * o->banks);
  d->banks = d->units * d->banks_of_unit;
  size_t nodes = find_nodes(d);
  d->ready[0] = tsr_mem_array(nodes * TSRI_CMDS, sizeof *d->ready[0]);
  for (int k = 1; k < TSRI_CMDS; k++)
    d->ready[k] = d->ready[0] ? d->ready[k - 1] + nodes : NULL;
  d->act = tsr_mem_array((size_t)d->units * TSRI_WINDOW, sizeof *d->act);
  d->act_at = tsr_mem_array(d->units, sizeof *d->act_at);
  d->row = tsr_mem_array(d->banks, sizeof *d->row);
  d->open = tsr_mem_array(d->units, sizeof *d->open);
  if (!d->ready[0] || !d->act || !d->act_at || !d->row || !d->open) return tsr_err_nomem(err);
  find_rules(d, c);
  for (uint32_t b = 0; b < d->banks; b++) d->row[b] = TSRI_NO_ROW;
  return TSR_OK;
}

void tsri_device_fini(struct tsri_device *d) {
  tsr_mem_free(d->ready[0]);
  tsr_mem_free(d->act);
  tsr_mem_free(d->act_at);
  tsr_mem_free(d->row);
  tsr_mem_free(d->open);
}

uint64_t tsri_device_ready_unit(const struct tsri_device *d, enum tsri_cmd cmd, uint32_t unit) {
  const uint64_t *r = d->ready[cmd];
  uint64_t own = r[d->first[TSRI_LEVEL_UNIT] + unit];
  return r[0] > own ? r[0] : own;
}

static void later(uint64_t *at, uint64_t t) {
  if (*at < t) *at = t;
}

/* At a node's siblings. */
static void constrain_others(const struct tsri_device *d, const struct tsri_rule *r,
                             uint32_t bank, uint64_t t) {
  uint32_t node = bank >> d->shift[r->level], n = d->fanout[r->level], first = node / n * n;
  for (uint32_t i = first; i < first + n; i++)
    if (i != node) later(&r->ready[i], t + r->clocks);
}

/* Rules of up to `deepest`. */
static void apply(struct tsri_device *d, enum tsri_cmd cmd, uint32_t bank, int deepest,
                  uint64_t t) {
  const struct tsri_rule *r = d->rule[cmd], *end = r + d->n_plain[cmd];
  for (; r < end; r++)
    if (r->level <= deepest) later(&r->ready[bank >> d->shift[r->level]], t + r->clocks);
  for (end = d->rule[cmd] + d->n_rules[cmd]; r < end; r++) {
    if (r->level > deepest) continue;
    if (r->others) {
      constrain_others(d, r, bank, t);
      continue;
    }
    uint32_t unit = bank / d->banks_of_unit; /* the window of activates */
    uint64_t *ring = &d->act[(size_t)unit * TSRI_WINDOW];
    ring[d->act_at[unit]] = t + 1;
    d->act_at[unit] = (d->act_at[unit] + 1) % TSRI_WINDOW;
    uint64_t oldest = ring[d->act_at[unit]]; /* 1 + the activate three before this one */
    if (oldest) later(&r->ready[bank >> d->shift[r->level]], oldest - 1 + r->clocks);
  }
}

static void close_row(struct tsri_device *d, uint32_t bank) {
  if (d->row[bank] == TSRI_NO_ROW) return;
  d->row[bank] = TSRI_NO_ROW;
  d->open[bank / d->banks_of_unit]--;
}

void tsri_device_give(struct tsri_device *d, enum tsri_cmd cmd, uint32_t bank, uint32_t row,
                      uint64_t t) {
  apply(d, cmd, bank, TSRI_LEVEL_BANK, t);
  if (cmd == TSRI_ACT) {
    d->row[bank] = row;
    d->open[bank / d->banks_of_unit]++;
  } else if (cmd == TSRI_PRE || cmd == TSRI_RDA || cmd == TSRI_WRA) {
    close_row(d, bank);
  }
}

void tsri_device_give_unit(struct tsri_device *d, enum tsri_cmd cmd, uint32_t unit,
                           uint64_t t) {
  uint32_t first = unit * d->banks_of_unit;
  apply(d, cmd, first, TSRI_LEVEL_UNIT, t);
  for (uint32_t b = first; cmd == TSRI_PREA && b < first + d->banks_of_unit; b++)
    close_row(d, b);
}
