/* Where the cycles of a unit went. */
#include "sim/base/mem.h"
#include "sim/engine/engine_int.h"

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
static void record(struct tsri_segments *s, int unit, int state, uint64_t start,
                   uint64_t cycles) {
  if (!s->on) return;
  size_t at = s->open[unit][state];
  if (at) {
    struct tsr_segment *g = &s->list[at - 1];
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
  s->list[s->n++] = (struct tsr_segment){unit, state, start, cycles, cycles, 1};
  s->open[unit][state] = s->n;
}

static void charge(struct tsri_account *a, int unit, int state, uint64_t cycles,
                   struct tsri_segments *seg) {
  if (!cycles) return;
  record(seg, unit, state, a->upto, cycles);
  a->cycles[state] += cycles;
  a->upto += cycles;
}

static void charge_cause(struct tsri_account *a, int unit, enum tsr_cause c, uint64_t cycles,
                         struct tsri_segments *seg) {
  charge(a, unit, TSR_STATE_CAUSE0 + (int)c, cycles, seg);
}

/* A wait for a load: first what latency exposed, then the port, the rest is the
 * rate of the memory. */
static void charge_load(struct tsri_account *a, int unit, uint64_t gap,
                        struct tsri_segments *seg) {
  uint64_t latency = tsr_min_u64(gap, a->late.parts.latency_cycles);
  uint64_t port = tsr_min_u64(gap - latency, a->late.parts.conflict_cycles);
  charge_cause(a, unit, TSR_CAUSE_DRAM_LATENCY, latency, seg);
  charge_cause(a, unit, TSR_CAUSE_SRAM_CONFLICT, port, seg);
  charge_cause(a, unit, TSR_CAUSE_DRAM_BANDWIDTH, gap - latency - port, seg);
}

static void charge_gap(struct tsri_account *a, int unit, uint64_t gap,
                       struct tsri_segments *seg) {
  if (!gap) return;
  if (unit == TSR_UNIT_TILE && !a->worked)
    charge_cause(a, unit, TSR_CAUSE_RAMP, gap, seg);
  else if (unit != TSR_UNIT_TILE && !a->waited)
    charge(a, unit, TSR_STATE_IDLE, gap, seg); /* its queue was empty */
  else if (unit == TSR_UNIT_TILE && a->late.from == TSRI_LATE_LOAD)
    charge_load(a, unit, gap, seg);
  else
    charge_cause(a, unit,
                 a->late.from == TSRI_LATE_STORE ? TSR_CAUSE_WRITEBACK : TSR_CAUSE_SYNC, gap,
                 seg);
}

void tsri_account_open(struct tsri_account *a, uint64_t cycle) {
  *a = (struct tsri_account){.upto = cycle};
}

void tsri_account_span(struct tsri_account *a, int unit, int state, uint64_t start,
                       uint64_t cycles, struct tsri_segments *seg) {
  TSR_CHECK(start >= a->upto);
  if (start > a->upto) {
    charge_gap(a, unit, start - a->upto, seg);
    a->waited = false; /* late stays: a gap may show in two parts around a stream */
  }
  charge(a, unit, state, cycles, seg);
  a->worked = true;
}

void tsri_account_close(struct tsri_account *a, int unit, uint64_t cycle,
                        struct tsri_segments *seg) {
  TSR_CHECK(cycle >= a->upto);
  int state = unit == TSR_UNIT_TILE ? TSR_STATE_CAUSE0 + TSR_CAUSE_RAMP : TSR_STATE_IDLE;
  charge(a, unit, state, cycle - a->upto, seg);
}
