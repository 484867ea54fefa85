#include "dram_watch.h"

#include "fake.h"

#include "sim/base/mem.h"

bool dram_command_reads(enum tsri_cmd cmd) {
  return cmd == TSRI_RD || cmd == TSRI_RDA;
}
bool dram_command_writes(enum tsri_cmd cmd) {
  return cmd == TSRI_WR || cmd == TSRI_WRA;
}
static bool is_column(enum tsri_cmd cmd) {
  return dram_command_reads(cmd) || dram_command_writes(cmd);
}
static bool is_wide(enum tsri_cmd cmd) { /* to all banks of a unit */
  return cmd == TSRI_PREA || cmd == TSRI_REFA;
}

static uint64_t clocks_of(const struct tsr_dram_timing *t, enum tsri_cmd cmd) {
  uint64_t n = is_column(cmd) ? t->col_clk : cmd == TSRI_ACT ? t->act_clk : t->row_clk;
  return n > 1 ? n : 1;
}

/* ---- how two commands stand to each other ---- */

struct pair {
  const struct tsr_dram_timing *t;
  enum tsri_cmd before, after;
  bool unit, sid, group, bank; /* the same */
  bool touch;                  /* a bank is in both */
};

static struct pair pair_of(const struct tsr_dram_config *c, struct dram_command a,
                           struct dram_command b) {
  const struct tsr_dram_org *o = &c->org;
  uint64_t group = o->banks, sid = group * o->groups, unit = sid * o->stack_ids;
  struct pair p = {.t = &c->t, .before = a.cmd, .after = b.cmd};
  p.unit = a.bank / unit == b.bank / unit;
  p.sid = a.bank / sid == b.bank / sid;
  p.group = a.bank / group == b.bank / group;
  p.bank = a.bank == b.bank;
  p.touch = p.bank || (p.unit && (is_wide(a.cmd) || is_wide(b.cmd)));
  return p;
}

/* From a command that closes a row until the bank is precharged. */
static uint64_t closing(const struct tsr_dram_timing *t, enum tsri_cmd cmd) {
  switch (cmd) {
  case TSRI_PRE: return t->rp;
  case TSRI_PREA: return t->rp_ab ? t->rp_ab : t->rp;
  case TSRI_RDA: return t->rtp + t->rp;
  case TSRI_WRA: return t->cwl + t->bl + t->wr + t->rp;
  default: return 0;
  }
}

static uint64_t before_activate(const struct pair *p) {
  const struct tsr_dram_timing *t = p->t;
  if (p->before == TSRI_ACT) return p->bank ? t->rc : p->group ? t->rrd_l : t->rrd_s;
  if (p->before == TSRI_REFA) return t->rfc;
  if (p->before == TSRI_REFB) return p->bank ? t->rfc_pb : t->rrefd;
  return p->touch ? closing(t, p->before) : 0;
}

static uint64_t before_precharge(const struct pair *p) {
  const struct tsr_dram_timing *t = p->t;
  if (p->before == TSRI_PRE || p->before == TSRI_PREA) return t->ppd;
  if (!p->touch) return 0;
  switch (p->before) {
  case TSRI_ACT: return t->ras;
  case TSRI_RD: return t->rtp;
  case TSRI_WR: return t->cwl + t->bl + t->wr;
  case TSRI_REFA: return t->rfc;
  default: return 0;
  }
}

static uint64_t before_column(const struct pair *p) {
  const struct tsr_dram_timing *t = p->t;
  bool read = dram_command_reads(p->after);
  if (p->before == TSRI_ACT) return !p->bank ? 0 : read ? t->rcd_rd : t->rcd_wr;
  if (p->before == TSRI_REFA) return t->rfc;
  if (p->before == TSRI_REFB) return p->bank ? t->rfc_pb : 0;
  if (!is_column(p->before)) return 0;
  if (dram_command_reads(p->before)) {
    if (!read) return t->rtw;
    return !p->sid ? t->ccd_r : p->group ? t->ccd_l : t->ccd_s;
  }
  if (read) return t->cwl + t->bl + (p->group ? t->wtr_l : t->wtr_s);
  return !p->sid ? 0 : p->group ? t->ccd_l_wr : t->ccd_s_wr;
}

static uint64_t before_refresh(const struct pair *p) {
  const struct tsr_dram_timing *t = p->t;
  bool all = p->after == TSRI_REFA;
  switch (p->before) {
  case TSRI_ACT: return p->touch ? t->rc : t->rrd_s;
  case TSRI_REFA: return t->rfc;
  case TSRI_REFB: return all || p->bank ? t->rfc_pb : t->rrefd;
  case TSRI_PREA: return t->rp_ab ? t->rp_ab : t->rp;
  default: return p->touch ? closing(t, p->before) : 0;
  }
}

/* The least distance in one unit, from the end of one to the end of the other. */
static uint64_t least(const struct pair *p) {
  if (!p->unit) return 0;
  switch (p->after) {
  case TSRI_ACT: return before_activate(p);
  case TSRI_PRE:
  case TSRI_PREA: return before_precharge(p);
  case TSRI_REFA:
  case TSRI_REFB: return before_refresh(p);
  default: return before_column(p);
  }
}

/* ---- what may be wrong ---- */

/* Data of two column commands on one bus. */
static bool data_clash(const struct tsr_dram_config *c, const struct pair *p,
                       struct dram_command a, struct dram_command b) {
  const struct tsr_dram_timing *t = p->t;
  if (!is_column(a.cmd) || !is_column(b.cmd) || (!p->unit && !c->org.shared_bus)) return false;
  uint64_t from_a = a.at + (dram_command_reads(a.cmd) ? t->cl : t->cwl);
  uint64_t from_b = b.at + (dram_command_reads(b.cmd) ? t->cl : t->cwl);
  bool writes = dram_command_writes(a.cmd) && dram_command_writes(b.cmd);
  uint64_t gap = p->unit || writes ? 0 : t->cs; /* the other rank drives the bus */
  return from_b < from_a + t->bl + gap && from_a < from_b + t->bl + gap;
}

static const char *pair_fault(const struct tsr_dram_config *c, struct dram_command a,
                              struct dram_command b) {
  struct pair p = pair_of(c, a, b);
  uint64_t end_a = a.at + clocks_of(p.t, a.cmd), end_b = b.at + clocks_of(p.t, b.cmd);
  bool one_bus = !c->org.dual_bus || is_column(a.cmd) == is_column(b.cmd);
  if (b.at < a.at) return "commands go back in time";
  if (one_bus && b.at < end_a) return "two commands are on a bus at once";
  uint64_t gap = least(&p);
  if (gap && end_b < end_a + gap) return "a command is too early";
  if (data_clash(c, &p, a, b)) return "data of two bursts are on a bus at once";
  return NULL;
}

static const char *row_fault(const struct dram_watch *w, struct dram_command x) {
  const struct tsr_dram_org *o = &w->c->org;
  uint32_t per = (uint32_t)(o->stack_ids * o->groups * o->banks), first = x.bank / per * per;
  uint32_t open = w->row[x.bank];
  if (x.bank >= per * o->units) return "there is no such bank";
  if (is_column(x.cmd) && open == TSRI_NO_ROW) return "the bank is closed";
  if (is_column(x.cmd) && open != x.row) return "another row is open";
  if ((x.cmd == TSRI_ACT || x.cmd == TSRI_REFB) && open != TSRI_NO_ROW) return "a row is open";
  for (uint32_t b = first; x.cmd == TSRI_REFA && b < first + per; b++)
    if (w->row[b] != TSRI_NO_ROW) return "a row of the unit is open";
  bool precharge = x.cmd == TSRI_PRE || x.cmd == TSRI_PREA;
  if (o->half_clock && !precharge && x.at % 2 == 0) return "it begins at a falling edge";
  return NULL;
}

/* Of the activates of x's unit the fourth before it. */
static const char *window_fault(const struct dram_watch *w, struct dram_command x,
                                struct dram_command *before) {
  int n = 0;
  for (size_t i = w->n; x.cmd == TSRI_ACT && i > w->near_from && n < 4; i--) {
    struct dram_command a = w->past[i - 1];
    struct pair p = pair_of(w->c, a, x);
    if (a.cmd != TSRI_ACT || !p.unit || ++n < 4) continue;
    *before = a;
    return x.at < a.at + w->c->t.faw ? "a fifth activate is in the window of four" : NULL;
  }
  return NULL;
}

const char *dram_watch_find(const struct dram_watch *w, struct dram_command x,
                            struct dram_command *before) {
  *before = x;
  const char *fault = row_fault(w, x);
  for (size_t i = w->n; !fault && i > w->near_from; i--) {
    *before = w->past[i - 1];
    fault = pair_fault(w->c, w->past[i - 1], x);
  }
  return fault ? fault : window_fault(w, x, before);
}

/* ---- what was seen ---- */

static const char *const names[TSRI_CMDS] = {"ACT", "PRE", "PREA", "RD",  "WR",
                                             "RDA", "WRA", "REFA", "REFB"};

static void note_row(struct dram_watch *w, struct dram_command x) {
  const struct tsr_dram_org *o = &w->c->org;
  uint32_t per = (uint32_t)(o->stack_ids * o->groups * o->banks), first = x.bank / per * per;
  if (x.cmd == TSRI_ACT) w->row[x.bank] = x.row;
  if (x.cmd == TSRI_PRE || x.cmd == TSRI_RDA || x.cmd == TSRI_WRA) w->row[x.bank] = TSRI_NO_ROW;
  for (uint32_t b = first; x.cmd == TSRI_PREA && b < first + per; b++) w->row[b] = TSRI_NO_ROW;
}

void dram_watch_see(struct dram_watch *w, struct dram_command x) {
  struct dram_command a;
  while (w->near_from < w->n && w->past[w->near_from].at + w->horizon < x.at) w->near_from++;
  const char *fault = dram_watch_find(w, x, &a);
  if (fault)
    fail_msg("%s: %s bank %u row %u at %llu; before it %s bank %u row %u at %llu (%s)", fault,
             names[x.cmd], x.bank, x.row, (unsigned long long)x.at, names[a.cmd], a.bank, a.row,
             (unsigned long long)a.at, w->c->preset);
  note_row(w, x);
  w->count[x.cmd]++;
  assert_true(tsr_mem_grow((void **)&w->past, &w->cap, w->n + 1, sizeof *w->past));
  w->past[w->n++] = x;
}

static void on_command(void *arg, enum tsri_cmd cmd, uint32_t bank, uint32_t row,
                       uint64_t clock) {
  dram_watch_see(arg, (struct dram_command){cmd, bank, row, clock});
}
static void on_done(void *arg, uint64_t tag, uint64_t clock) {
  const struct dram_watch *w = arg;
  if (w->done) w->done(w->arg, tag, clock);
}

void dram_watch_open(struct dram_watch *w, const struct tsr_dram_config *c,
                     struct tsri_channel *ch,
                     void (*done)(void *arg, uint64_t tag, uint64_t clock), void *arg) {
  *w = (struct dram_watch){.c = c, .done = done, .arg = arg};
  uint64_t sum = 0;
#define T(field, key, doc) sum += c->t.field;
#include "models/dram/timing.def"
#undef T
  w->horizon = sum - c->t.refi; /* longer than any constraint, which adds up some of them */
  for (size_t b = 0; b < LEN(w->row); b++) w->row[b] = TSRI_NO_ROW;
  if (!ch) return;
  ch->watch = on_command;
  ch->done = on_done;
  ch->arg = w;
}
void dram_watch_close(struct dram_watch *w) {
  tsr_mem_free(w->past);
}
