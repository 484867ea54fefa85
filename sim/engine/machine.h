/* The machine graph: instances of components, their ports and links.
 *
 * A YAML file in the short form (`tile:`, `sram:`, `dma:`, `dram:`) expands into
 * it; `tsr_machine_print` shows the expansion.  One core with one tile, three
 * scratchpads and two DMA engines, on one DRAM.
 *
 * Ownership: a machine owns everything in its arena (tsr_machine_destroy).
 * Errors: TSR_USAGE for unknown presets and keys, TSR_INPUT for bad values; all
 * that are found are reported with their positions. */
#ifndef TSR_SIM_ENGINE_MACHINE_H
#define TSR_SIM_ENGINE_MACHINE_H

#include "models/registry.h"
#include "sim/base/str.h"

enum tsr_slot { /* instances, in the order in which they are built */
                TSR_SLOT_DRAM,
                TSR_SLOT_SRAM_A,
                TSR_SLOT_SRAM_B,
                TSR_SLOT_SRAM_C,
                TSR_SLOT_LOAD,
                TSR_SLOT_STORE,
                TSR_SLOT_TILE,
                TSR_SLOT_COUNT
};

struct tsr_machine_instance {
  const char *name;
  const struct tsr_component *ops;
  void *params;
  int peer[TSR_PORTS_MAX]; /* slot linked to each port, -1: none */
};

/* One effective value, for printing and storing. */
struct tsr_machine_value {
  const char *key, *text, *origin; /* origin: default, preset, path:line, --set */
};

enum { TSR_MACHINE_RATES_MAX = 24 };
struct tsr_machine {
  struct tsr_arena *arena;
  const char *name;
  uint64_t clock_hz;
  char format_a[TSR_PARAM_TEXT_MAX], format_b[TSR_PARAM_TEXT_MAX];
  char format_acc[TSR_PARAM_TEXT_MAX], format_out[TSR_PARAM_TEXT_MAX];
  char mma[TSR_PARAM_TEXT_MAX]; /* as tsr_mma_resolve takes it; empty: by the formats */
  uint64_t max_events, max_cycles;
  size_t n_rates; /* formats the tile executes, products per element and cycle */
  struct {
    const char *format;
    uint64_t rate;
  } rates[TSR_MACHINE_RATES_MAX];
  uint64_t rate_other; /* of formats that are not listed */
  struct tsr_machine_instance slot[TSR_SLOT_COUNT];
  size_t n_values;
  struct tsr_machine_value *values;
  const char *text; /* the effective configuration as YAML: enough to build it again */
};

/* `what`: a preset's name (bare) or a path.  `text` (may be NULL): use it instead.
 * `sets`: `K=V` assignments, later ones win. */
enum tsr_status tsr_machine_read(const char *what, const char *text, const char *const *sets,
                                 size_t n_sets, struct tsr_machine **out, struct tsr_err *err);
void tsr_machine_destroy(struct tsr_machine *m);
/* Rate of the tile for operands of a format; 0: not executed. */
uint64_t tsr_machine_rate(const struct tsr_machine *m, const char *format);
/* Values with their origins, instances, ports and links. */
void tsr_machine_print(const struct tsr_machine *m, struct tsr_str *out);
/* Every key of the short form with its row: for the manual. fn returns false to stop. */
typedef void tsr_machine_key_fn(void *arg, const char *key, const struct tsr_param *row);
void tsr_machine_keys(tsr_machine_key_fn *fn, void *arg);

#endif
