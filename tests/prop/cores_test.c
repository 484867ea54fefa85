/* Random operators on random machines of several cores. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/prop/cases.h"

enum { USUAL_CASES = 500 };

struct one {
  struct prop_machine m;
  struct prop_operator o;
  struct tsr_run_plan p;
};

/* false: it does not fit. */
static bool make(uint64_t i, struct one *x) {
  struct tsr_rng r = {.s = i ^ UINT64_C(0x5eed) << 40};
  prop_machine_random(&r, &x->m);
  prop_machine_share(&r, &x->m);
  prop_operator_random(&r, &x->o);
  return prop_plan(&x->m, &x->o, &x->p);
}

static bool along_k(const struct tsr_split *s) {
  for (int i = 0; i < 2; i++)
    if (s->axis[i] >= TSR_AXIS_KH && s->parts[i] > 1) return true;
  return false;
}

/* ---- what is conserved ---- */

static void expect_conserved(const struct one *x, const struct layer *l) {
  const struct prop_machine *m = &x->m;
  const struct prop_operator *o = &x->o;
  const struct tsr_run_layer_plan *p = &x->p.layers[0];
  const struct tsr_layer_result *r = &l->r;
  uint64_t macs = 0, a = 0, b = 0, c = 0;
  bool parts = along_k(&p->split);
  assert_true(tsr_op_macs(p->op, &macs));
  assert_true(tsr_op_elems(p->op, &a, &b, &c));
  uint64_t c_bytes = c * p->shape.out_bytes, used = c_bytes;
  EXPECT(r->macs == macs, "(%" PRIu64 ", %" PRIu64 ")", r->macs, macs);
  if (!p->shape.conv) used += a * p->shape.a_bytes + b * p->shape.b_bytes;
  EXPECT(r->useful_bytes >= used, "(%" PRIu64 ", %" PRIu64 ")", r->useful_bytes, used);
  if (!m->llb_bytes) {
    EXPECT(r->dram_write_bytes >= c_bytes, "");
    if (!p->shape.conv) EXPECT(r->dram_read_bytes + r->dram_write_bytes >= used, "");
    if (m->burst_bytes == 1 && !parts)
      EXPECT(r->dram_write_bytes == c_bytes, "(%" PRIu64 ", %" PRIu64 ")", r->dram_write_bytes,
             c_bytes);
  }
  EXPECT(r->n_units >= (2 + m->tiles) * p->n_cores, "");
  for (size_t u = 0; u < r->n_units; u++) {
    uint64_t sum = 0;
    for (int s = 0; s < TSR_STATE_COUNT; s++) sum += l->unit[u].cycles[s];
    EXPECT(sum == r->cycles, "(%s: %" PRIu64 ", %" PRIu64 ")", l->unit[u].name, sum, r->cycles);
  }
}

/* ---- bounds ---- */

static double cycles_of(const struct prop_machine *m, double bytes, uint64_t per_s) {
  return per_s == TSR_UNLIMITED ? 0 : bytes * (double)m->clock_mhz * 1e6 / (double)per_s;
}

static uint64_t busiest(const struct layer *l) {
  uint64_t most = 0;
  for (size_t u = 0; u < l->r.n_units; u++) {
    const uint64_t *c = l->unit[u].cycles;
    if (l->unit[u].kind != TSR_UNIT_TILE) continue;
    most = tsr_max_u64(most, c[TSR_STATE_BUSY] + c[TSR_STATE_FILL] + c[TSR_STATE_DRAIN]);
  }
  return most;
}

static double lower_bound(const struct one *x, const struct layer *l) {
  const struct prop_machine *m = &x->m;
  double least = (double)busiest(l);
  uint64_t peak =
      m->bandwidth == TSR_UNLIMITED ? m->bandwidth : m->bandwidth / m->channels * m->channels;
  double bytes = (double)l->r.dram_read_bytes + (double)l->r.dram_write_bytes;
  if (!m->llb_bytes) least = fmax(least, cycles_of(m, bytes, peak));
  /* Everything a core moves passes the scratchpads' ports. */
  return least;
}

/* Nothing overlaps, not even cores: all work, every byte through each thing on its way by
 * itself, every burst with its latencies. */
static double upper_bound(const struct one *x, const struct layer *l) {
  const struct prop_machine *m = &x->m;
  const struct tsr_layer_result *r = &l->r;
  double ghz = (double)m->clock_mhz * 1e-3, bound = 0, hops = 0, bursts;
  for (size_t u = 0; u < r->n_units; u++)
    if (l->unit[u].kind == TSR_UNIT_TILE || l->unit[u].kind == TSR_UNIT_VECTOR)
      for (int s = TSR_STATE_BUSY; s <= TSR_STATE_DRAIN; s++)
        bound += (double)l->unit[u].cycles[s];
  bound += (double)r->conflict_cycles;
  double moved = (double)r->dram_read_bytes + (double)r->dram_write_bytes;
  if (m->llb_bytes) moved += 2 * (double)r->useful_bytes + 128.0 * (double)r->transfers;
  bursts = moved / (double)m->burst_bytes + 2 * (double)r->transfers;
  for (int b = 0; b < 3; b++) { /* each byte at a port of its scratchpad */
    if (m->width_bytes[b] == TSR_UNLIMITED) continue;
    bound += 2 * moved / (double)m->width_bytes[b] + bursts;
  }
  if (m->bandwidth != TSR_UNLIMITED)
    bound += cycles_of(m, moved + bursts * (double)m->burst_bytes, m->bandwidth / m->channels);
  bound += bursts * ((double)m->latency_ns * ghz + 2);
  if (m->noc != PROP_NONE) {
    hops = m->noc == PROP_MESH ? 2 * (double)m->cores + 2 * (double)m->channels + 6 : 4;
    bound += bursts * hops * ((double)m->hop_ns * ghz + 2);
    bound += hops * cycles_of(m, moved + bursts * (double)(m->header_bytes + m->burst_bytes),
                              m->noc_bandwidth);
  }
  if (m->llb_bytes) /* 20 ns, and 64 GB/s a slice */
    bound += bursts * 4 * (20 * ghz + 2) + cycles_of(m, 4 * moved + 256 * bursts, 64000000000);
  /* Ramps that a tile shows only where nothing hides them; see time_test.c. */
  double leave = (double)m->rows + (double)(m->rows * m->cols * 4);
  bound += ((double)r->folds + 2 * (double)r->transfers) * (leave + (double)m->cols);
  return bound + 100;
}

static void work_is_conserved_and_cycles_stay_between_bounds(void **state) {
  (void)state;
  unsigned ran = 0, several = 0, k = 0;
  double low = INFINITY, high = INFINITY;
  uint64_t cases = prop_cases(USUAL_CASES);
  for (uint64_t i = 0; i < cases; i++) {
    struct one x;
    struct layer l, again;
    const struct prop_machine *m = &x.m;
    const struct prop_operator *o = &x.o;
    if (!make(i, &x)) continue;
    prop_run(&x.p, x.p.machine, &l);
    expect_conserved(&x, &l);
    double cycles = (double)l.r.cycles, lo = lower_bound(&x, &l), hi = upper_bound(&x, &l);
    EXPECT(cycles >= lo * (1 - 1e-9) - 1, "(%.0f, %.1f)", cycles, lo);
    EXPECT(cycles <= hi, "(%.0f, %.1f)", cycles, hi);
    low = fmin(low, cycles / lo);
    high = fmin(high, hi / cycles);
    prop_run(&x.p, x.p.machine, &again);
    again.r.units = l.r.units;
    EXPECT(!memcmp(&l.r, &again.r, sizeof l.r), "(a second run)");
    EXPECT(!memcmp(l.unit, again.unit, l.r.n_units * sizeof l.unit[0]) ||
               l.r.n_units > LAYERS_UNITS,
           "(units of a second run)");
    ran++;
    several += x.p.layers[0].n_cores > 1;
    k += along_k(&x.p.layers[0].split);
    tsr_run_plan_fini(&x.p);
  }
  print_message(
      "%u ran, %u on several cores, %u of them along k; cycles are at least %.3f times "
      "the lower bound, the upper at least %.2f times them\n",
      ran, several, k, low, high);
  assert_true(ran > cases / 2 && several > cases / 4);
}

/* ---- one core ---- */

/* An interconnect that takes no time is none. */
static void one_core_needs_no_interconnect(void **state) {
  (void)state;
  unsigned ran = 0;
  uint64_t cases = prop_cases(USUAL_CASES / 2);
  for (uint64_t i = 0; i < cases; i++) {
    struct one x;
    const struct prop_machine *m = &x.m;
    const struct prop_operator *o = &x.o;
    struct tsr_rng r = {.s = i ^ UINT64_C(0x0c0e) << 40};
    uint64_t cycles[3], read[3];
    prop_machine_random(&r, &x.m);
    prop_machine_share(&r, &x.m);
    prop_operator_random(&r, &x.o);
    x.m.cores = 1;
    x.m.noc_bandwidth = TSR_UNLIMITED;
    x.m.hop_ns = x.m.header_bytes = 0;
    bool fits = true;
    for (int kind = PROP_NONE; fits && kind <= PROP_MESH; kind++) {
      struct layer l;
      x.m.noc = kind;
      fits = prop_plan(&x.m, &x.o, &x.p);
      if (!fits) break;
      prop_run(&x.p, x.p.machine, &l);
      cycles[kind] = l.r.cycles;
      read[kind] = l.r.dram_read_bytes;
      tsr_run_plan_fini(&x.p);
    }
    if (!fits) continue;
    EXPECT(cycles[PROP_CROSSBAR] == cycles[PROP_NONE] && cycles[PROP_MESH] == cycles[PROP_NONE],
           "(%" PRIu64 ", crossbar %" PRIu64 ", mesh %" PRIu64 ")", cycles[0], cycles[1],
           cycles[2]);
    EXPECT(read[PROP_CROSSBAR] == read[PROP_NONE] && read[PROP_MESH] == read[PROP_NONE], "");
    ran++;
  }
  print_message("%u ran\n", ran);
  assert_true(ran > cases / 2);
}

/* ---- more of something ---- */

/* With the same programs, who comes first at what is shared can change, and a load overtake
 * a store that a tile waits for: few cases, by little.  Another division among cores is
 * another mapping: each core loads operands of its own that one core loaded once, all wait
 * for their first tiles at the same time, and the memory is as it was.  What was slower, by
 * which cause and with how much traffic, is printed. */

static void more_banks(struct prop_machine *m) {
  for (int b = 0; b < 3; b++) m->banks[b] *= 2;
}
static void more_ports(struct prop_machine *m) {
  m->ports = PROP_2RW;
}
static void more_channels(struct prop_machine *m) { /* of the same bandwidth each */
  m->channels *= 2;
  if (m->bandwidth != TSR_UNLIMITED) m->bandwidth *= 2;
}
static void wider_links(struct prop_machine *m) {
  if (m->noc_bandwidth != TSR_UNLIMITED) m->noc_bandwidth *= 4;
}
static void endless_links(struct prop_machine *m) {
  m->noc_bandwidth = TSR_UNLIMITED;
}
static void shorter_hops(struct prop_machine *m) {
  m->hop_ns = 0;
}
static void larger_llb(struct prop_machine *m) {
  m->llb_bytes *= 4;
}
static void more_slices(struct prop_machine *m) {
  if (m->llb_bytes) m->llb_slices *= 2;
}
static void more_cores(struct prop_machine *m) { /* divided as the mapper thinks best */
  if (m->split == TSR_SPLIT_AUTO) m->cores *= 2;
}
static void more_cores_by_order(struct prop_machine *m) { /* along an axis, come what may */
  if (m->split != TSR_SPLIT_AUTO) m->cores *= 2;
}

static const struct change {
  const char *name;
  void (*apply)(struct prop_machine *m);
  bool planned_anew; /* the change is the mapping's, too */
  double share;      /* that may be slower, of those that change */
} changes[] = {
    {"more banks", more_banks, false, 0.05},
    {"more ports", more_ports, false, 0.05},
    {"more channels", more_channels, false, 0.1},
    {"wider links", wider_links, false, 0.1},
    {"endless links", endless_links, false, 0.1},
    {"no hops", shorter_hops, false, 0.1},
    {"a larger LLB", larger_llb, false, 0.1},
    {"more slices", more_slices, false, 0.1},
    {"more cores", more_cores, true, 0.5},
    {"and by order", more_cores_by_order, true, 0.5},
};
enum { CHANGES = sizeof changes / sizeof changes[0] };

struct tally {
  unsigned faster, same, slower, grown[TSR_CAUSE_COUNT + 1]; /* the last: work itself */
  unsigned more_bytes; /* of the slower: more traffic with the memory */
  double worst;
};

/* The cause that grew most, over the tiles; TSR_CAUSE_COUNT: they work longer. */
static int grown(const struct layer *a, const struct layer *b) {
  double most = 0;
  int at = TSR_CAUSE_COUNT;
  for (int c = 0; c < TSR_CAUSE_COUNT; c++) {
    double d = 0;
    for (size_t u = 0; u < b->r.n_units; u++)
      if (b->unit[u].kind == TSR_UNIT_TILE)
        d += (double)b->unit[u].cycles[TSR_STATE_CAUSE0 + c];
    for (size_t u = 0; u < a->r.n_units; u++)
      if (a->unit[u].kind == TSR_UNIT_TILE)
        d -= (double)a->unit[u].cycles[TSR_STATE_CAUSE0 + c];
    if (d > most) {
      most = d;
      at = c;
    }
  }
  return at;
}

static void compare(const struct one *x, const struct layer *before, int c, struct tally *t) {
  struct one y = *x;
  struct layer after;
  struct tsr_run_plan p;
  changes[c].apply(&y.m);
  if (!memcmp(&y.m, &x->m, sizeof y.m)) return;
  if (changes[c].planned_anew) {
    if (!prop_plan(&y.m, &y.o, &p)) return;
    prop_run(&p, p.machine, &after);
    tsr_run_plan_fini(&p);
  } else {
    struct tsr_machine *machine = prop_machine_make(&y.m);
    prop_run(&x->p, machine, &after);
    tsr_machine_destroy(machine);
  }
  t->faster += after.r.cycles < before->r.cycles;
  t->same += after.r.cycles == before->r.cycles;
  if (after.r.cycles <= before->r.cycles) return;
  t->slower++;
  t->more_bytes += after.r.dram_read_bytes + after.r.dram_write_bytes >
                   before->r.dram_read_bytes + before->r.dram_write_bytes;
  t->grown[grown(before, &after)]++;
  t->worst = fmax(t->worst, (double)after.r.cycles / (double)before->r.cycles);
}

static void more_is_seldom_slower(void **state) {
  (void)state;
  struct tally t[CHANGES] = {{.worst = 0}};
  uint64_t cases = prop_cases(USUAL_CASES / 2);
  for (uint64_t i = 0; i < cases; i++) {
    struct one x;
    struct layer before;
    if (!make(~i, &x)) continue;
    prop_run(&x.p, x.p.machine, &before);
    for (int c = 0; c < CHANGES; c++) compare(&x, &before, c, &t[c]);
    tsr_run_plan_fini(&x.p);
  }
  for (int c = 0; c < CHANGES; c++) {
    unsigned all = t[c].faster + t[c].same + t[c].slower;
    print_message("%-14s faster %u, same %u, slower %u (worst %.4f)", changes[c].name,
                  t[c].faster, t[c].same, t[c].slower, t[c].worst);
    for (int g = 0; g <= TSR_CAUSE_COUNT; g++)
      if (t[c].grown[g])
        print_message(", %u by %s", t[c].grown[g],
                      g == TSR_CAUSE_COUNT ? "work"
                                           : tsr_engine_state_name(TSR_STATE_CAUSE0 + g));
    print_message(", %u of them with more traffic\n", t[c].more_bytes);
    assert_true(t[c].slower <= 2 + changes[c].share * all);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(work_is_conserved_and_cycles_stay_between_bounds),
      cmocka_unit_test(one_core_needs_no_interconnect),
      cmocka_unit_test(more_is_seldom_slower)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
