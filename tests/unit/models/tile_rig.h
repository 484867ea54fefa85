/* A tile with three scratchpads in the fake environment. */
#ifndef TSR_TESTS_UNIT_MODELS_TILE_RIG_H
#define TSR_TESTS_UNIT_MODELS_TILE_RIG_H

#include "fake.h"

enum { OS, WS, IS };
#define FREE "{size: 1MiB, width: unlimited}"

struct array {
  int flow;
  uint64_t R, C;
  bool preload, serial, onnxim;
};
struct rig {
  struct fake f;
  struct tsr_instance a, b, c, tile;
};

/* A tile of a kind, with the settings of `text`, behind three scratchpads. */
void rig_make(struct rig *r, const char *kind, const char *text, const char *sram_a,
              const char *sram_b, const char *sram_c);
/* One of kind tile.systolic. */
void rig_open(struct rig *r, const struct array *x, const char *sram_a, const char *sram_b,
              const char *sram_c);
/* Runs a chain of requests from now on and ends the layer. */
void rig_run(struct rig *r, struct ask *a, size_t n);
void rig_close(struct rig *r);

/* A request for a whole dense product of 2-byte elements. */
struct ask mm(uint64_t m, uint64_t n, uint64_t k);
struct array random_array(struct tsr_rng *r);
uint64_t cycles(uint64_t fs);

/* ---- the formulas, evaluated here a second time ---- */

uint64_t macs_of(const struct tsr_mm_req *q);
uint64_t folds_of(const struct array *x, const struct tsr_mm_req *q);
uint64_t stream_of(const struct array *x, const struct tsr_mm_req *q);
/* Cycle at which the result of a lone request is where it belongs. */
uint64_t end_of(const struct array *x, const struct tsr_mm_req *q);

#endif
