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

static int slot_of(uint8_t op) {
  switch (op) {
  case TSR_ISA_LOAD: return TSR_SLOT_LOAD;
  case TSR_ISA_STORE: return TSR_SLOT_STORE;
  case TSR_ISA_MM: return TSR_SLOT_TILE;
  default: return -1;
  }
}

void tsr_engine_estimate(const struct tsr_machine *m, const struct tsr_program *p,
                         uint64_t *events, uint64_t *tile_cycles) {
  struct tsri_issue is;
  uint64_t times[TSR_ISA_LOOPS + 1] = {1};
  unsigned depth = 0;
  struct tsr_instance buffers[TSR_ISA_BUFS] = {0};
  *events = *tile_cycles = 0;
  tsri_issue_start(&is, p, buffers);
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
      tsri_issue_request(&is, in, &req);
      m->slot[slot].ops->unit->estimate(m->slot[slot].params, &req, &est);
      *events = add_sat(*events, mul_sat(est.events, times[depth]));
      *tile_cycles = add_sat(*tile_cycles, mul_sat(est.cycles, times[depth]));
    } else {
      tsri_issue_describe(&is, in);
    }
  }
}
