/* One run: machine + workload → mapping → program → engine → store.
 *
 * Units: as in the command reference.  Ownership: options are borrowed.
 * Errors: those of the readers, the engine and the store; nothing is stored unless
 * the whole run succeeded. */
#ifndef TSR_SIM_RUN_RUN_H
#define TSR_SIM_RUN_RUN_H

#include "isa/isa.h"
#include "kernels/cost/search.h"
#include "kernels/lower/op.h"
#include "kernels/mapping/file.h"
#include "kernels/mapping/mapping.h"
#include "models/arith/format.h"
#include "sim/engine/engine.h"
#include "sim/store/store.h"
#include "workloads/graph.h"

enum tsr_numerics { TSR_NUMERICS_OFF, TSR_NUMERICS_SAMPLE, TSR_NUMERICS_FULL };
enum tsr_trace { TSR_TRACE_OFF, TSR_TRACE_SUMMARY, TSR_TRACE_FULL };
extern const char *const tsr_numerics_names[]; /* off sample full NULL */
extern const char *const tsr_trace_names[];    /* off summary full NULL */

#define TSR_RUN_MAPPING_BEST "best"
#define TSR_RUN_KEEP_AUTO "auto"
/* NAME=FILE: a tensor of a model, or `<layer>.a`, `.b`, `.c` of other workloads, and a file. */
struct tsr_run_file {
  const char *name, *path;
};
struct tsr_run_options {
  /* As the user wrote them.  Workloads: one, or several with cores of their own, each
   * `NAME@FIRST-LAST`, separated by one space and `+ `. */
  const char *arch, *workload;
  const char *arch_text, *workload_text; /* NULL: read what they name */
  /* A program instead of the lowered one: binary or text, for the workload's only layer; or
   * alone (workload NULL), where its tensors hold drawn values and nothing is compared. */
  const char *program, *program_text;
  /* Mappings of products: a file (kernels/mapping/file.h), `best` to search for them, NULL:
   * the template's.  The text, where it is stored already. */
  const char *mapping, *mapping_text;
  /* How much of scratchpad a keeps results for their readers: bytes, `auto` for what is best,
   * NULL: as in the mappings' file, else none. */
  const char *keep;
  const struct tsr_residency *residency; /* instead; NULL: as `keep` says */
  const char *const *sets;               /* K=V on the architecture */
  size_t n_sets;
  const char *changes; /* a stored run's assignments, part of arch_text; NULL: `sets` */
  uint64_t batch;      /* 0: as in the workload */
  /* Of ONNX models: open dimensions; operators without a kernel are left out. */
  const struct tsr_net_dim *dims;
  size_t n_dims;
  bool skip_unsupported;
  /* With --numerics full: values of inputs, files that tensors must equal within `ulp`, and
   * files that tensors are written to. */
  const struct tsr_run_file *inputs, *expects, *dumps;
  size_t n_inputs, n_expects, n_dumps;
  double ulp;
  /* In memory: a graph instead of a workload that is read (transferred to the plan, whatever
   * comes of it; `workload` names it), values of inputs (borrowed), and who gets each output of
   * a model as the machine left it (the array is borrowed for the call). */
  struct tsr_graph *graph;
  const struct tsr_workload_given *values;
  size_t n_values;
  enum tsr_status (*output)(void *arg, const char *name, const struct tsr_array *array);
  void *output_arg;
  const char *dataset; /* NULL: none; see steps.h */
  uint64_t decode;     /* tokens behind the prompt; 0: no decode loop */
  uint64_t seed;
  enum tsr_numerics numerics;
  enum tsr_trace trace;
  const char *name;    /* of the run, NULL: none */
  const char *version; /* of the program, stored */
};

/* A layer made ready for the engine. */
struct tsr_run_layer_plan {
  const struct tsr_op *op;
  struct tsr_shape shape;
  struct tsr_mapping mapping;
  const struct tsr_graph *graph;
  size_t tenant;      /* of the plan's workloads */
  uint32_t max_cores; /* it may use */
  struct tsr_split split;
  uint32_t first_core, n_cores;
  uint32_t shift;             /* integers: results are divided by 2^shift on their way out */
  bool foreign;               /* the program is the user's, not lowered from the layer */
  uint64_t base_bytes[3];     /* addresses of its tensors a, b, c */
  uint64_t kept;              /* address on the chip where its result stays; 0: in memory */
  bool near[3];               /* a, b, c stay on the chip */
  unsigned bypass;            /* of a, b, c, by bit: not held on the chip */
  bool place_loose;           /* its placement is a pattern's: what does not suit is left */
  struct tsr_placement place; /* of its weights */
  uint64_t parts_bytes;       /* and of the cores' partial sums, where k is divided */
  uint64_t
      extra_bytes[TSR_LOWER_EXTRA]; /* of what else it reads or writes (kernels/lower/op.h) */
  struct tsr_lower_cut cut;         /* of a layer that is no product, in place of the mapping */
  const char *format_a, *format_b, *format_acc, *format_out;
  const char *format_scale; /* of the weights' scales, one for each tile of k; NULL: none */
  const struct tsr_format *scale;
  const struct tsr_format *mm_b; /* of b as it is multiplied: b's, or a's after conversion */
  uint64_t scales_bytes;         /* their address */
  bool separate;                 /* its epilogue is a pass of its own */
  uint64_t step_bytes[TSR_EPILOGUE_MAX];      /* addresses of the epilogue's second operands */
  const struct tsr_format *a, *b, *acc, *out; /* the same, of the table or the plan */
  uint32_t rate;
  uint64_t events; /* estimate */
};

struct tsri_steps;
/* A workload on cores of its own. */
enum { TSR_RUN_TENANTS_MAX = 16 };
struct tsr_run_tenant {
  const char *source; /* as the user wrote it, without the cores */
  struct tsr_graph *graph;
  uint32_t first_core, n_cores;
  size_t first_layer;
  struct tsri_steps *steps; /* of a model that runs several times; NULL: once; owned */
};

struct tsri_scaled;
enum { TSR_RUN_FORMATS_MAX = 5 };
struct tsr_run_plan {
  struct tsr_machine *machine; /* owned, like the graphs and the layers */
  struct tsr_arena *arena;
  const char *name; /* of the workload, or of all together */
  size_t n_tenants;
  struct tsr_run_tenant tenants[TSR_RUN_TENANTS_MAX];
  struct tsr_program_set program; /* the user's, n = 0: none; owned */
  uint32_t program_rate;    /* the highest at which the tile executes its formats; 0: none */
  const char *program_text; /* it, printed */
  struct tsr_mapping_file *mappings; /* as read; NULL: none; owned */
  struct tsr_residency residency;
  size_t n_kept;            /* results that stay in scratchpad a */
  double *crowd[2], way_fs; /* of the interconnect (models/model.h); NULL: there is none */
  const char *mapping_text; /* of the mappings that are no template's; NULL: none */
  bool alone;               /* without a workload */
  const char **made;        /* tensors that --expect and --dump name; owned */
  size_t n_made;
  struct tsr_workload_given *given; /* by input of the options; owned, as their arrays */
  size_t n_given;
  size_t n_scaled, cap_scaled;
  struct tsri_scaled *scaled; /* products of bound workloads with scales; owned */
  size_t n_formats;           /* formats by name that are no table rows (`e5m3`) */
  struct tsr_format formats[TSR_RUN_FORMATS_MAX];
  size_t n_layers;
  struct tsr_run_layer_plan *layers; /* they point into formats: a plan is not moved */
  uint64_t events, tile_cycles;      /* estimates, saturating */
  uint64_t dram_bytes;               /* footprint of the tensors */
};

/* Reads, maps, places and lowers everything.  Refuses what does not fit DRAM. */
enum tsr_status tsr_run_plan_make(const struct tsr_run_options *o, struct tsr_run_plan *out,
                                  struct tsr_err *err);
void tsr_run_plan_fini(struct tsr_run_plan *p);

/* Whether what stays on the chip is looked for: asked for, or with the best mappings. */
bool tsr_run_keeps_auto(const struct tsr_run_options *o);
/* What a mapping of a product needs to know of the machine and the layer. */
void tsr_run_target(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                    struct tsr_target *out);

/* All layers, one after the other or side by side, by events; nothing is stored. */
struct tsr_run_measured {
  uint64_t cycles, dram_bytes;
};
enum tsr_status tsr_run_measure(const struct tsr_run_plan *p, struct tsr_run_measured *out,
                                struct tsr_err *err);

/* ---- mappings ---- */

/* What a search came to: the mapping it began with (a template's, or a file's), and the ten
 * best by the analytic model, each simulated alone on a machine at rest. */
struct tsr_run_way { /* of a product its mapping, of an attention its tiles */
  struct tsr_mapping mapping;
  struct tsr_lower_cut cut;
};
struct tsr_run_found {
  uint64_t before_cycles, before_bytes, best_cycles, best_bytes; /* DRAM */
  struct tsr_run_way best; /* the one before where nothing is faster */
  size_t n;
  double model[TSR_SEARCH_BEST];    /* cycles by the model … */
  uint64_t cycles[TSR_SEARCH_BEST]; /* … and by events */
  uint64_t evaluated;
  bool whole;      /* all there are */
  size_t n_sample; /* of those that were evaluated, whether good or not */
  struct tsr_candidate sample[TSR_SEARCH_SAMPLE];
};
/* Of an attention tiles are tried by events alone: n = 0. */
enum tsr_status tsr_run_search(struct tsr_run_plan *p, size_t layer, uint64_t seed,
                               struct tsr_run_found *out, struct tsr_err *err);
/* A layer under a mapping, alone on a machine at rest. */
enum tsr_status tsr_run_simulate(struct tsr_run_plan *p, size_t layer,
                                 const struct tsr_mapping *m, uint64_t *cycles,
                                 struct tsr_err *err);
/* For each layer the first of the same work, division among cores and mapping, itself where
 * there is none before: they take the same time under the same mapping.  SIZE_MAX: neither a
 * product nor an attention.
 * twin: n_layers. */
void tsr_run_twins(const struct tsr_run_plan *p, size_t *twin);
/* Gives all layers these ways (n_layers; others than those that have twins ignored).  Searches
 * look at layers alone: where layers leave something to each other, or run side by side, both
 * ways are simulated whole, and the ones before stay if they are faster.  *before, *after: of
 * that, 0 where nothing was simulated. */
enum tsr_status tsr_run_take(struct tsr_run_plan *p, const struct tsr_run_way *best,
                             struct tsr_run_measured *before, struct tsr_run_measured *after,
                             struct tsr_err *err);
/* The mappings of a plan as a file. */
enum tsr_status tsr_run_mappings_write(const struct tsr_run_plan *p, struct tsr_str *out,
                                       struct tsr_err *err);
/* Matmuls and convolutions: what has a mapping. */
bool tsr_run_is_product(const struct tsr_run_layer_plan *l);
/* These and attentions: what is searched. */
bool tsr_run_is_mapped(const struct tsr_run_layer_plan *l);
/* A product's time by the analytic model, and the least that peak and memory allow. */
void tsr_run_cost(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                  struct tsr_cost *out);
double tsr_run_roofline_cycles(const struct tsr_run_plan *p,
                               const struct tsr_run_layer_plan *l);

/* Lowers a layer: the programs of its cores, named after the machine.  *out is empty
 * before; the caller's (tsr_isa_set_fini). */
enum tsr_status tsr_run_lower(const struct tsr_run_plan *p, size_t layer,
                              struct tsr_program_set *out, struct tsr_err *err);

/* The mapping as text, and the name of the kernel that a layer got. */
void tsr_run_layer_print(const struct tsr_run_layer_plan *l, struct tsr_str *out);
void tsr_run_layer_kernel(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                          struct tsr_str *out);

/* Plans, refuses above sim.max_events, simulates and stores.  store may be NULL: nothing is
 * stored, *run_id stays. */
enum tsr_status tsr_run_execute(const struct tsr_run_options *o, struct tsr_store *store,
                                uint64_t *run_id, struct tsr_err *err);

/* Runs what a stored run was made of again, into the same store as a new run. */
enum tsr_status tsr_run_again(struct tsr_store *store, uint64_t run_id, const char *version,
                              uint64_t *new_run_id, struct tsr_err *err);

#endif
