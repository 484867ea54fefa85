/* The machine graph: instances of components, their ports and links.
 *
 * A YAML file in the short form (`tile:`, `sram:`, `dma:`, `dram:`) expands into
 * it; `tsr_machine_print` shows the expansion.  Cores of tiles, a vector unit, three
 * scratchpads and two DMA engines; they share an interconnect and a last-level buffer,
 * where there are such, and a DRAM.
 *
 * Ownership: a machine owns everything in its arena (tsr_machine_destroy).
 * Errors: TSR_USAGE for unknown presets and keys, TSR_INPUT for bad values; all
 * that are found are reported with their positions. */
#ifndef TSR_SIM_ENGINE_MACHINE_H
#define TSR_SIM_ENGINE_MACHINE_H

#include "kernels/lower/lower.h"
#include "kernels/mapping/mapping.h"
#include "models/registry.h"
#include "sim/base/str.h"

enum tsr_slot { /* instances: the DRAM, then the pieces of core 0, as of every core; the
                   tiles of a core stand behind one another */
                TSR_SLOT_DRAM,
                TSR_SLOT_SRAM_A,
                TSR_SLOT_SRAM_B,
                TSR_SLOT_SRAM_C,
                TSR_SLOT_LOAD,
                TSR_SLOT_STORE,
                TSR_SLOT_VECTOR,
                TSR_SLOT_TILE,
                TSR_SLOT_COUNT
};
enum { TSR_MACHINE_CORES_MAX = 256, TSR_MACHINE_TILES_MAX = 16 };

struct tsr_machine_instance {
  const char *name;
  const struct tsr_component *ops;
  void *params;
  int peer[TSR_PORTS_MAX]; /* slot linked to each port, -1: none */
  int core;                /* -1: shared */
};

/* One effective value, for printing and storing. */
struct tsr_machine_value {
  const char *key, *text, *origin; /* origin: default, preset, path:line, --set */
};

/* Formats by name, NULL fits all. */
struct tsr_machine_rate_rule {
  const char *a, *b, *acc, *out;
  bool sparse;
  uint32_t rate;
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
  bool fast_forward;         /* loops that repeat themselves are accounted for at once */
  uint64_t cores, tiles;     /* tiles of a core */
  enum tsr_split_kind split; /* how a layer's cores divide it */
  enum tsr_attention attention;
  enum tsr_epilogue epilogue;
  bool multicast;  /* a load may bring the same bytes to all cores of a layer */
  bool unified;    /* scratchpads b and c are parts of a: their own instances are idle */
  bool dequant;    /* weights are converted to the format of activations before they multiply */
  uint64_t group;  /* products along k that share a scale of the weights, 0: none do */
  double outliers; /* part of the columns of k that are multiplied apart, in … */
  char format_outlier[TSR_PARAM_TEXT_MAX];
  char format_scale[TSR_PARAM_TEXT_MAX];
  uint64_t promote; /* products along k between promotions, 0: none */
  size_t n_rates;   /* formats the tile executes, products per element and cycle */
  struct {
    const char *format;
    uint64_t rate;
  } rates[TSR_MACHINE_RATES_MAX];
  uint64_t rate_other; /* of formats that are not listed */
  size_t n_rules;
  struct tsr_machine_rate_rule *rules;
  size_t n_slots;
  struct tsr_machine_instance *slot;
  int memory, llb, noc; /* slots: what the DMA engines ask first; -1: there is none */
  size_t n_values;
  struct tsr_machine_value *values;
  const char *text; /* the effective configuration as YAML: enough to build it again */
  uint64_t hash;    /* of what a program depends on: all values but those of sim.* */
};

/* `what`: a preset's name (bare) or a path.  `text` (may be NULL): use it instead.
 * `sets`: `K=V` assignments, later ones win. */
enum tsr_status tsr_machine_read(const char *what, const char *text, const char *const *sets,
                                 size_t n_sets, struct tsr_machine **out, struct tsr_err *err);
void tsr_machine_destroy(struct tsr_machine *m);
/* The slot of a piece (enum tsr_slot) of a core; its first tile for TSR_SLOT_TILE. */
int tsr_machine_slot(const struct tsr_machine *m, uint64_t core, int piece);
/* Products per array element and cycle for these formats: the first rule that fits, else
 * the rate of a where b has the same; 0: not executed. */
uint64_t tsr_machine_rate(const struct tsr_machine *m, const char *a, const char *b,
                          const char *acc, const char *out, bool sparse);
/* The most of them for any results; a and acc NULL: for any of those too. */
uint64_t tsr_machine_rate_most(const struct tsr_machine *m, const char *a, const char *b,
                               const char *acc, bool sparse);
/* Values with their origins, instances, ports and links. */
void tsr_machine_print(const struct tsr_machine *m, struct tsr_str *out);
/* Every key of the short form with its row: for the manual. fn returns false to stop. */
typedef void tsr_machine_key_fn(void *arg, const char *key, const struct tsr_param *row);
void tsr_machine_keys(tsr_machine_key_fn *fn, void *arg);

#endif
