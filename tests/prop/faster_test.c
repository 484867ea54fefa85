/* The same program on a better memory system is not slower.
 *
 * Without exception where one tile of results is stored at the end, and on an ideal
 * memory.  Otherwise loads and stores share the memory (and a scratchpad's port), and
 * who comes first can change: a load that is issued earlier takes its turn before a
 * store that the tile waits for.  Such cases are counted and shown: at most two in a
 * hundred of a change, none by more than a quarter. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/prop/folds.h"

enum { USUAL_CASES = 250, SHOWN = 1 };
static const double worst_allowed = 1.25;

static void wider_ports(struct prop_machine *m) {
  for (int b = 0; b < 3; b++)
    if (m->width_bytes[b] != TSR_UNLIMITED) m->width_bytes[b] *= 2;
}
static void endless_ports(struct prop_machine *m) {
  for (int b = 0; b < 3; b++) m->width_bytes[b] = TSR_UNLIMITED;
}
static void more_bandwidth(struct prop_machine *m) {
  m->bandwidth = m->bandwidth > UINT64_C(400000000000000) ? TSR_UNLIMITED : 2 * m->bandwidth;
}
static void endless_bandwidth(struct prop_machine *m) {
  m->bandwidth = TSR_UNLIMITED;
}
static void lower_latency(struct prop_machine *m) {
  m->latency_ns /= 2;
}
static void no_latency(struct prop_machine *m) {
  m->latency_ns = 0;
}
static void larger_window(struct prop_machine *m) {
  m->outstanding *= 4;
}
static void ideal(struct prop_machine *m) {
  prop_machine_idealise(m);
}

struct change {
  const char *name;
  void (*apply)(struct prop_machine *m);
};
static const struct change changes[] = {
    {"wider ports", wider_ports},       {"endless ports", endless_ports},
    {"more bandwidth", more_bandwidth}, {"endless bandwidth", endless_bandwidth},
    {"lower latency", lower_latency},   {"no latency", no_latency},
    {"a larger window", larger_window}, {"an ideal memory", ideal},
};
enum { CHANGES = sizeof changes / sizeof changes[0] };

struct tally {
  unsigned faster, same, slower;
  double worst; /* of cycles after / before */
};

static uint64_t cycles_on(const struct tsr_run_plan *p, const struct prop_machine *m) {
  struct tsr_machine *machine = prop_machine_make(m);
  struct layer x;
  prop_run(p, machine, &x);
  tsr_machine_destroy(machine);
  return x.r.cycles;
}

static void compare(const struct tsr_run_plan *p, const struct prop_machine *m,
                    const struct prop_operator *o, uint64_t before, bool strict, int c,
                    struct tally *t) {
  struct prop_machine better = *m;
  changes[c].apply(&better);
  uint64_t after = cycles_on(p, &better);
  t->faster += after < before;
  t->same += after == before;
  if (after <= before) return;
  double ratio = (double)after / (double)before;
  if (ratio > t->worst) t->worst = ratio;
  bool bad = strict || changes[c].apply == ideal || ratio > worst_allowed;
  if (t->slower++ < SHOWN || bad) {
    print_message("%s: %" PRIu64 " cycles, before %" PRIu64 "\n", changes[c].name, after,
                  before);
    prop_print(m, o);
  }
  if (bad) fail_msg("slower without an excuse");
}

static void better_memory_is_not_slower(void **state) {
  (void)state;
  struct tally t[CHANGES] = {{0}};
  uint64_t cases = prop_cases(USUAL_CASES), ran = 0, strict = 0;
  for (uint64_t i = 0; i < cases; i++) {
    struct tsr_rng r = {.s = i << 32};
    struct prop_machine m;
    struct prop_operator o;
    struct tsr_run_plan p;
    struct prop_folds f;
    prop_machine_random(&r, &m);
    prop_operator_random(&r, &o);
    if (!prop_plan(&m, &o, &p)) continue;
    prop_folds_of(&m, &p.layers[0], &f);
    uint64_t before = cycles_on(&p, &m);
    for (int c = 0; c < CHANGES; c++) compare(&p, &m, &o, before, f.results == 1, c, &t[c]);
    strict += f.results == 1;
    ran++;
    tsr_run_plan_fini(&p);
  }
  print_message("%" PRIu64 " ran, %" PRIu64 " with one tile of results\n", ran, strict);
  for (int c = 0; c < CHANGES; c++) {
    print_message("%-18s faster %u, same %u, slower %u (worst %.4f)\n", changes[c].name,
                  t[c].faster, t[c].same, t[c].slower, t[c].worst);
    assert_true(t[c].slower <= 2 + 2 * ran / 100);
    assert_true(t[c].faster > ran / 4);
  }
  assert_true(strict > ran / 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(better_memory_is_not_slower)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
