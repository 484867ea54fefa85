/* The programs of the built-in networks, as text and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants these above */
#include <cmocka.h>

#include "models/presets.h"
#include "sim/base/mem.h"
#include "sim/run/run.h"

/* The container of a program for one core. */
static void save(const struct tsr_program *p, uint8_t **bytes, size_t *n) {
  struct tsr_program_set set = {0};
  struct tsr_program same = *p;
  same.borrowed = true;
  assert_int_equal(tsr_isa_set_add(&set, &same, 1, NULL), TSR_OK);
  assert_int_equal(tsr_isa_set_save(&set, bytes, n, NULL), TSR_OK);
  tsr_isa_set_fini(&set);
}

static void expect_same_bytes(const struct tsr_program *p, const char *name) {
  struct tsr_str text = TSR_STR_INIT;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_program again;
  uint8_t *x, *y;
  size_t n, m;
  tsr_isa_disasm(p, &text);
  assert_non_null(text.p);
  if (tsr_isa_assemble(name, text.p, text.n, &again, &err)) fail_msg("%s", err.msg[0]);
  save(p, &x, &n);
  save(&again, &y, &m);
  assert_int_equal(n, m);
  assert_memory_equal(x, y, n);
  tsr_mem_free(x);
  tsr_mem_free(y);
  tsr_isa_program_fini(&again);
  tsr_str_fini(&text);
}

/* Every network on every machine that holds it. */
static void programs_of_the_networks_assemble_back_to_the_same_bytes(void **state) {
  (void)state;
  size_t held = 0, least = 2 * tsr_zoo_count();
  for (size_t a = 0; a < tsr_preset_count(); a++) {
    if (strcmp(tsr_preset_kind(a), "arch") != 0) continue;
    for (size_t w = 0; w < tsr_zoo_count(); w++) {
      const struct tsr_run_options o = {.arch = tsr_preset_name(a),
                                        .workload = tsr_zoo_name(w)};
      struct tsr_run_plan p;
      if (tsr_run_plan_make(&o, &p, NULL)) continue; /* too large for its DRAM */
      held++;
      for (size_t i = 0; i < p.n_layers; i++) {
        struct tsr_program_set set = {0};
        assert_int_equal(tsr_run_lower(&p, i, &set, NULL), TSR_OK);
        for (size_t c = 0; c < set.n; c++)
          expect_same_bytes(&set.program[c], p.layers[i].op->name);
        tsr_isa_set_fini(&set);
      }
      tsr_run_plan_fini(&p);
    }
  }
  assert_true(held >= least);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(programs_of_the_networks_assemble_back_to_the_same_bytes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
