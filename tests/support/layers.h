/* Layers of a plan on an engine, without a store: results that outlive the run. */
#ifndef TSR_TESTS_SUPPORT_LAYERS_H
#define TSR_TESTS_SUPPORT_LAYERS_H

#include "sim/engine/engine.h"
#include "sim/run/run.h"

enum { LAYERS_UNITS = 128 };

/* A result with its units; `r.units` points into it, segments are gone. */
struct layer {
  struct tsr_layer_result r;
  struct tsr_unit_result unit[LAYERS_UNITS];
};

/* Keeps a result that the engine lends. */
void layer_keep(struct layer *out, const struct tsr_layer_result *r);
/* Cycles of the first unit of a kind; of every state 0 where there is none. */
const uint64_t *layer_unit(const struct layer *l, enum tsr_isa_unit kind);
/* busy, fill and drain of the tile (or vector unit) that ended last. */
uint64_t layer_compute(const struct layer *l);

/* Runs a set of programs as one job on the cores from 0 on.  *out is unchanged unless it
 * ends. */
enum tsr_status layer_run_set(struct tsr_engine *e, const struct tsr_program_set *set,
                              const char *name, struct layer *out, struct tsr_err *err);
/* Runs one program on core 0. */
enum tsr_status layer_run_program(struct tsr_engine *e, const struct tsr_program *p,
                                  const char *name, struct layer *out, struct tsr_err *err);

#endif
