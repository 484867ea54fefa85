/* Many simulations, one after another, in one process.  argv[1]: how many. */
#include "tests/unit/systemc/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static unsigned long how_many = 200;

static void one_simulation(unsigned long k) {
  struct world w;
  open_world(&w);
  assert_int_equal(tsr_sc_fifo_new(w.top, "f", 4, &w.fifo, NULL), TSR_OK);
  for (int j = 0; j < 20; j++) {
    char name[16];
    struct tsr_sc_module *m;
    snprintf(name, sizeof name, "unit%d", j);
    assert_int_equal(tsr_sc_module_new(w.sim, w.top, name, &m, NULL), TSR_OK);
    assert_int_equal(tsr_sc_method_new(m, "tick", tick_ten_times, &w, NULL, NULL, NULL),
                     TSR_OK);
    assert_int_equal(tsr_sc_thread_new(m, "v", wait_until_killed, &w, NULL, NULL, NULL),
                     TSR_OK);
  }
  add_thread(&w, "put", put_hundred);
  add_thread(&w, "get", get_hundred);
  if (k % 10 != 9) { /* every tenth is closed without a run */
    assert_int_equal(tsr_sc_run(w.sim, 100 + k), TSR_SC_OK);
    assert_int_equal(w.sum, 5050);
    assert_int_equal(tsr_sc_now(w.sim), 100 + k);
  }
  close_world(&w);
}

static long peak_kib(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_maxrss;
}

static void memory_stays_flat_over_many_simulations(void **state) {
  (void)state;
  for (unsigned long k = 0; k < how_many / 2; k++) one_simulation(k);
  long half = peak_kib();
  for (unsigned long k = how_many / 2; k < how_many; k++) one_simulation(k);
  print_message("%lu simulations, peak %ld KiB, of it %ld KiB in the second half\n", how_many,
                peak_kib(), peak_kib() - half);
#if !defined(__SANITIZE_ADDRESS__) /* its quarantine grows */
  assert_true(peak_kib() - half < 1024);
#endif
}

int main(int argc, char **argv) {
  if (argc > 1) how_many = strtoul(argv[1], NULL, 10);
  const struct CMUnitTest tests[] = {cmocka_unit_test(memory_stays_flat_over_many_simulations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
