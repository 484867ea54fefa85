/* Where the cycles of a unit went. */
#include "sim/base/mem.h"
#include "sim/engine/forward.h"

#define CAUSE(id, name, doc) [TSR_STATE_CAUSE0 + TSR_CAUSE_##id] = name,
static const char *const state_names[TSR_STATE_COUNT] = {
    [TSR_STATE_BUSY] = "busy",
    [TSR_STATE_FILL] = "fill",
    [TSR_STATE_DRAIN] = "drain",
    [TSR_STATE_IDLE] = "idle",
#include "sim/engine/causes.def"
};
#undef CAUSE
#define CAUSE(id, name, doc) doc,
static const char *const cause_docs[TSR_CAUSE_COUNT] = {
#include "sim/engine/causes.def"
};
#undef CAUSE

const char *tsr_engine_state_name(int state) {
  return state_names[state];
}
const char *tsr_engine_cause_doc(enum tsr_cause c) {
  return cause_docs[c];
}

/* One canonical encoding: a segment of a unit and state grows while equal
 * durations follow at equal distances. */
void tsri_account_record(struct tsri_lane *lane, int state, uint64_t start, uint64_t cycles) {
  const struct tsri_core *c = lane->unit->core;
  if (!c->e->trace) return;
  if (c->e->forward) tsri_forward_log(c->e->forward, lane, state, start, cycles);
  struct tsri_segments *s = &c->job->segments;
  size_t *open = &lane->account.open[state];
  if (*open) {
    struct tsr_segment *g = &s->list[*open - 1];
    uint64_t next = g->start_cycles + g->repeats * g->period_cycles;
    bool second = g->repeats == 1;
    if (g->duration_cycles == cycles && (second || next == start)) {
      if (second) g->period_cycles = start - g->start_cycles;
      g->repeats++;
      return;
    }
  }
  if (!tsr_mem_grow((void **)&s->list, &s->cap, s->n + 1, sizeof *s->list)) {
    s->failed = true;
    return;
  }
  s->list[s->n++] = (struct tsr_segment){lane->inst->name, state, start, cycles, cycles, 1};
  *open = s->n;
}

static void charge(struct tsri_lane *lane, int state, uint64_t cycles) {
  struct tsri_account *a = &lane->account;
  if (!cycles) return;
  tsri_account_record(lane, state, a->upto, cycles);
  a->cycles[state] += cycles;
  a->upto += cycles;
}

static void charge_cause(struct tsri_lane *lane, enum tsr_cause c, uint64_t cycles) {
  charge(lane, TSR_STATE_CAUSE0 + (int)c, cycles);
}

/* The wait for a memory at work: each of its stops has the part of it that it had of the
 * transfer, for those before it, which kept it waiting, were as this one; the rest is its rate.
 */
static void charge_memory(struct tsri_lane *lane, uint64_t gap) {
  const struct tsr_lateness *l = &lane->account.late.parts;
  const struct {
    enum tsr_cause cause;
    uint64_t cycles;
  } parts[] = {{TSR_CAUSE_DRAM_REFRESH, l->refresh_cycles},
               {TSR_CAUSE_DRAM_TURNAROUND, l->turn_cycles},
               {TSR_CAUSE_DRAM_BANK, l->bank_cycles}};
  uint64_t all = l->data_cycles, left = gap;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) all += parts[i].cycles;
  for (size_t i = 0; all && i < sizeof parts / sizeof *parts; i++) {
    uint64_t part = (uint64_t)((tsr_u128)gap * parts[i].cycles / all);
    charge_cause(lane, parts[i].cause, part);
    left -= part;
  }
  charge_cause(lane, TSR_CAUSE_DRAM_BANDWIDTH, left);
}

/* A wait for a load: what latency exposed, the port, the interconnect, in this order; the rest
 * is the memory's work. */
static void charge_load(struct tsri_lane *lane, uint64_t gap) {
  const struct tsr_lateness *l = &lane->account.late.parts;
  const struct {
    enum tsr_cause cause;
    uint64_t cycles;
  } parts[] = {{TSR_CAUSE_DRAM_LATENCY, l->latency_cycles},
               {TSR_CAUSE_SRAM_CONFLICT, l->conflict_cycles},
               {TSR_CAUSE_NOC, l->noc_cycles}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    uint64_t part = tsr_min_u64(gap, parts[i].cycles);
    charge_cause(lane, parts[i].cause, part);
    gap -= part;
  }
  charge_memory(lane, gap);
}

/* Whether a unit computes: what the DMA engines do is judged by whom they serve. */
static bool computes(const struct tsri_lane *lane) {
  return lane->unit->id == TSR_UNIT_TILE || lane->unit->id == TSR_UNIT_VECTOR;
}

static void charge_gap(struct tsri_lane *lane, uint64_t gap) {
  static const enum tsr_cause causes[] = {[TSRI_LATE_NONE] = TSR_CAUSE_SYNC,
                                          [TSRI_LATE_LOAD] = TSR_CAUSE_SYNC,
                                          [TSRI_LATE_STORE] = TSR_CAUSE_WRITEBACK,
                                          [TSRI_LATE_TILE] = TSR_CAUSE_SYNC,
                                          [TSRI_LATE_VECTOR] = TSR_CAUSE_VECTOR};
  const struct tsri_account *a = &lane->account;
  if (!gap) return;
  if (computes(lane) && !a->worked)
    charge_cause(lane, TSR_CAUSE_RAMP, gap);
  else if (!computes(lane) && !a->waited)
    charge(lane, TSR_STATE_IDLE, gap); /* its queue was empty */
  else if (computes(lane) && a->late.from == TSRI_LATE_LOAD)
    charge_load(lane, gap);
  else
    charge_cause(lane, causes[a->late.from], gap);
}

void tsri_account_open(struct tsri_account *a, uint64_t cycle) {
  *a = (struct tsri_account){.upto = cycle};
}

void tsri_account_span(struct tsri_lane *lane, int state, uint64_t start, uint64_t cycles) {
  struct tsri_account *a = &lane->account;
  TSR_CHECK(start >= a->upto);
  if (start > a->upto) {
    charge_gap(lane, start - a->upto);
    a->waited = false; /* late stays: a gap may show in two parts around a stream */
  }
  charge(lane, state, cycles);
  a->worked = true;
  a->work_end = a->upto;
}

void tsri_account_close(struct tsri_lane *lane, uint64_t core_done, uint64_t cycle,
                        bool moves_only) {
  struct tsri_account *a = &lane->account;
  TSR_CHECK(cycle >= a->upto);
  if (!computes(lane) || (!a->worked && !moves_only)) {
    charge(lane, TSR_STATE_IDLE, cycle - a->upto);
    return;
  }
  if (core_done > a->upto) charge_cause(lane, TSR_CAUSE_RAMP, core_done - a->upto);
  charge_cause(lane, TSR_CAUSE_IMBALANCE, cycle - a->upto);
}
