/* Cycles, work and traffic of random operators on random machines. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/prop/folds.h"

enum { USUAL_CASES = 500 };

/* What holds on any machine. */
static void expect_conserved(const struct prop_machine *m, const struct prop_operator *o,
                             const struct tsr_run_layer_plan *l, const struct prop_folds *f,
                             const struct layer *x) {
  uint64_t macs = 0, a = 0, b = 0, c = 0;
  assert_true(tsr_op_macs(l->op, &macs));
  assert_true(tsr_op_elems(l->op, &a, &b, &c));
  EXPECT(f->macs == macs, "");
  EXPECT(x->r.macs == macs, "(%" PRIu64 ", %" PRIu64 ")", x->r.macs, macs);
  EXPECT(x->r.folds == f->folds, "(%" PRIu64 ", %" PRIu64 ")", x->r.folds, f->folds);
  EXPECT(x->r.slots == f->folds * m->rows * m->cols, "");
  EXPECT(x->r.slots_used <= x->r.slots && x->r.slots_used > 0, "");
  /* Every result is written once; whole bursts touch no less. */
  uint64_t c_bytes = c * l->shape.out_bytes;
  EXPECT(x->r.dram_write_bytes >= c_bytes, "");
  EXPECT(x->r.dram_write_bytes % m->burst_bytes == 0 &&
             x->r.dram_read_bytes % m->burst_bytes == 0,
         "");
  if (m->burst_bytes == 1)
    EXPECT(x->r.dram_write_bytes == c_bytes, "(%" PRIu64 ", %" PRIu64 ")",
           x->r.dram_write_bytes, c_bytes);
  EXPECT(x->r.useful_bytes > c_bytes, "");
  if (f->useful_bytes)
    EXPECT(x->r.useful_bytes == f->useful_bytes, "(%" PRIu64 ", %" PRIu64 ")",
           x->r.useful_bytes, f->useful_bytes);
  EXPECT(x->r.n_units == 3, ""); /* load, tile, store: the vector unit has nothing to do */
  for (size_t u = 0; u < x->r.n_units; u++) {
    uint64_t sum = 0;
    for (int s = 0; s < TSR_STATE_COUNT; s++) sum += x->unit[u].cycles[s];
    EXPECT(sum == x->r.cycles, "(%s: %" PRIu64 ", %" PRIu64 ")", x->unit[u].name, sum,
           x->r.cycles);
  }
}

static void ideal_memory_takes_the_cycles_of_the_formula(void **state) {
  (void)state;
  unsigned exact = 0, waiting = 0, too_large = 0;
  uint64_t cases = prop_cases(USUAL_CASES);
  for (uint64_t i = 0; i < cases; i++) {
    struct tsr_rng r = {.s = i};
    struct prop_machine machine, *m = &machine;
    struct prop_operator operator, * o = & operator;
    struct tsr_run_plan p;
    struct layer x;
    struct prop_folds f;
    prop_machine_random(&r, m);
    prop_machine_idealise(m);
    prop_operator_random(&r, o);
    if (!prop_plan(m, o, &p)) {
      too_large++;
      continue;
    }
    prop_folds_of(m, &p.layers[0], &f);
    prop_run(&p, p.machine, &x);
    expect_conserved(m, o, &p.layers[0], &f, &x);
    if (f.waits) { /* what loads during a wait is not seen as fill */
      EXPECT(x.r.cycles >= f.end_cycles, "(%" PRIu64 ", %" PRIu64 ")", x.r.cycles,
             f.end_cycles);
      EXPECT(layer_compute(&x) <= f.compute_cycles, "(%" PRIu64 ", %" PRIu64 ")",
             layer_compute(&x), f.compute_cycles);
    } else {
      EXPECT(x.r.cycles == f.end_cycles, "(%" PRIu64 ", %" PRIu64 ")", x.r.cycles,
             f.end_cycles);
      EXPECT(layer_compute(&x) == f.compute_cycles, "(%" PRIu64 ", %" PRIu64 ")",
             layer_compute(&x), f.compute_cycles);
    }
    waiting += f.waits;
    exact += !f.waits;
    tsr_run_plan_fini(&p);
  }
  print_message("%u exact, %u with a buffer wanted too early, %u do not fit\n", exact, waiting,
                too_large);
  assert_true(exact > cases / 2);
}

/* ---- real memory ---- */

struct rates { /* bytes per core cycle, cycles */
  double bandwidth, read_port, write_port, window, latency, round_trip;
};

static double port_rate(const struct prop_machine *m, int b) {
  return m->width_bytes[b] == TSR_UNLIMITED ? INFINITY
                                            : (double)(m->width_bytes[b] * m->banks[b]);
}

static struct rates rates_of(const struct prop_machine *m) {
  double hz = (double)m->clock_mhz * 1e6, burst = (double)m->burst_bytes;
  struct rates r;
  /* A channel serves whole bytes a second, its share of the peak rounded down. */
  r.bandwidth = m->bandwidth == TSR_UNLIMITED
                    ? INFINITY
                    : (double)(m->bandwidth / m->channels) * (double)m->channels / hz;
  r.latency = (double)m->latency_ns * 1e-9 * hz;
  r.read_port = fmin(port_rate(m, 0), port_rate(m, 1));
  r.write_port = port_rate(m, 2);
  /* A burst holds its place in the window from its service in one channel, or its
   * latency where that is longer, to the end of its turn at the slowest port. */
  double served = burst * (double)m->channels / r.bandwidth;
  r.round_trip = fmax(r.latency, served) + burst / fmin(r.read_port, r.write_port);
  r.window = r.round_trip > 0 ? (double)m->outstanding * burst / r.round_trip : INFINITY;
  return r;
}

/* max(compute, traffic / bandwidth) and the two other rates that nothing can pass. */
static double lower_bound(const struct prop_machine *m, const struct layer *x,
                          const struct rates *r) {
  double read = (double)x->r.dram_read_bytes, write = (double)x->r.dram_write_bytes;
  double least = (double)layer_compute(x);
  least = fmax(least, (read + write) / r->bandwidth);
  /* Every burst goes through a port of a or b, or of c. */
  least = fmax(least, read / (port_rate(m, 0) + port_rate(m, 1)));
  least = fmax(least, write / r->write_port);
  /* Each engine has at most `outstanding` bursts under way, each at least `latency`. */
  double window = (double)m->outstanding * (double)m->burst_bytes;
  return fmax(least, fmax(read, write) * r->latency / window);
}

/* Nothing overlaps: the work, then every transfer on its own. */
static double upper_bound(const struct prop_machine *m, const struct tsr_run_layer_plan *l,
                          const struct prop_folds *f, const struct layer *x,
                          const struct rates *r) {
  double port = fmin(r->read_port, r->write_port);
  double rate = fmin(r->bandwidth, fmin(port, r->window));
  double bound = (double)layer_compute(x);
  bound += (double)x->r.conflict_cycles; /* by which ports lengthened the work */
  bound += (double)(x->r.dram_read_bytes + x->r.dram_write_bytes) / rate; /* every byte, once */
  bound +=
      (double)x->r.transfers * (r->round_trip + 2); /* the last burst on its way; rounding */
  /* Ramps that `compute` holds only where nothing hides them.  Results of os leave the
   * array over `rows` cycles, or as long as the port of c takes; a stationary operand
   * that comes late is not loaded behind a stream. */
  double leave =
      (double)m->rows + (double)(m->rows * m->cols * l->shape.acc_bytes) / r->write_port;
  if (m->flow == TSR_FLOW_OS)
    bound += (double)f->folds * leave;
  else if (m->preload)
    bound += (double)(f->requests * m->rows);
  return bound;
}

static void real_memory_stays_between_its_bounds(void **state) {
  (void)state;
  unsigned ran = 0, too_large = 0;
  double tightest_low = INFINITY, tightest_high = INFINITY, sum_low = 0, sum_high = 0;
  uint64_t cases = prop_cases(USUAL_CASES);
  for (uint64_t i = 0; i < cases; i++) {
    struct tsr_rng r = {.s = ~i};
    struct prop_machine machine, *m = &machine;
    struct prop_operator operator, * o = & operator;
    struct tsr_run_plan p;
    struct layer x;
    struct prop_folds f;
    prop_machine_random(&r, m);
    prop_operator_random(&r, o);
    if (!prop_plan(m, o, &p)) {
      too_large++;
      continue;
    }
    prop_folds_of(m, &p.layers[0], &f);
    prop_run(&p, p.machine, &x);
    expect_conserved(m, o, &p.layers[0], &f, &x);
    struct rates rates = rates_of(m);
    double low = lower_bound(m, &x, &rates),
           high = upper_bound(m, &p.layers[0], &f, &x, &rates);
    double cycles = (double)x.r.cycles;
    EXPECT(layer_compute(&x) <= f.compute_cycles, "(%" PRIu64 ", %" PRIu64 ")",
           layer_compute(&x), f.compute_cycles);
    EXPECT(x.r.cycles >= f.end_cycles, "(%" PRIu64 ", %" PRIu64 ")", x.r.cycles, f.end_cycles);
    EXPECT(cycles >= low * (1 - 1e-9) - 1, "(%.0f, %.1f)", cycles, low);
    EXPECT(cycles <= high + 1, "(%.0f, %.1f)", cycles, high);
    tightest_low = fmin(tightest_low, cycles / low);
    tightest_high = fmin(tightest_high, high / cycles);
    sum_low += cycles / low;
    sum_high += high / cycles;
    ran++;
    tsr_run_plan_fini(&p);
  }
  print_message(
      "%u ran, %u do not fit; cycles are %.3f to %.2f (mean) times the lower bound, the "
      "upper is %.3f to %.2f (mean) times them\n",
      ran, too_large, tightest_low, sum_low / ran, tightest_high, sum_high / ran);
  assert_true(ran > cases / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ideal_memory_takes_the_cycles_of_the_formula),
      cmocka_unit_test(real_memory_stays_between_its_bounds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
