/* The work of a program before it is run: each instruction's events times the
 * trips of the loops around it, boxes and tiles unclipped. */
#include "sim/engine/engine_int.h"

static uint64_t mul_sat(uint64_t a, uint64_t b) {
  uint64_t r;
  return tsr_mul_u64(a, b, &r) ? r : UINT64_MAX;
}
static uint64_t add_sat(uint64_t a, uint64_t b) {
  uint64_t r;
  return tsr_add_u64(a, b, &r) ? r : UINT64_MAX;
}

/* The slot of core 0 that executes an instruction, -1: none. */
static int slot_of(uint8_t op) {
  static const int slots[TSR_ISA_UNITS] = {[TSR_UNIT_LOAD] = TSR_SLOT_LOAD,
                                           [TSR_UNIT_TILE] = TSR_SLOT_TILE,
                                           [TSR_UNIT_STORE] = TSR_SLOT_STORE,
                                           [TSR_UNIT_VECTOR] = TSR_SLOT_VECTOR};
  int unit = tsri_issue_unit(op);
  return unit < 0 ? -1 : slots[unit];
}

void tsr_engine_estimate(const struct tsr_machine *m, const struct tsr_program *p,
                         uint64_t *events, uint64_t *tile_cycles) {
  struct tsri_issue is;
  uint64_t times[TSR_ISA_LOOPS + 1] = {1};
  unsigned depth = 0;
  *events = *tile_cycles = 0;
  tsri_issue_start(&is, p, NULL, NULL);
  for (size_t i = 0; i < p->n; i++) {
    const struct tsr_inst *in = &p->inst[i];
    int slot = slot_of(in->op);
    if (in->op == TSR_ISA_LOOP) {
      is.loop[in->f[0]] = (struct tsri_loop){0, (uint64_t)in->f[1], 0};
      times[depth + 1] = mul_sat(times[depth], (uint64_t)in->f[1]);
      depth++;
    } else if (in->op == TSR_ISA_END) {
      depth--;
    } else if (slot >= 0) {
      struct tsr_req req;
      struct tsr_estimate est = {0};
      struct tsri_data data;
      struct tsri_fault fault = {0};
      tsri_issue_request(&is, in, &req, &data, &fault);
      m->slot[slot].ops->unit->estimate(m->slot[slot].params, &req, &est);
      *events = add_sat(*events, mul_sat(est.events, times[depth]));
      if (slot == TSR_SLOT_TILE)
        *tile_cycles = add_sat(*tile_cycles, mul_sat(est.cycles, times[depth]));
    } else {
      tsri_issue_describe(&is, in);
    }
  }
}
