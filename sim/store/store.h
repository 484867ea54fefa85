/* The store: one SQLite file of runs.
 *
 * A run is one transaction: whole or not there.  STRICT tables, WAL, foreign
 * keys; application_id TSR_STORE_APP_ID; user_version = number of the last
 * migration (schema/NNN.sql, forward only).  A newer file, a foreign SQLite file
 * and a file that is none are refused with found, expected and remedy.
 *
 * Writers fill struct tsr_run_record (borrowed) and call tsr_store_put_run.
 * Readers use the views v_* (documented in schema/NNN.sql and README.md).
 * Units are in the names.  NAN in a double and TSR_STORE_NULL in a uint64_t are
 * stored as NULL; INFINITY is kept (an unlimited bandwidth). Integers are below
 * 2^63, but for the seed.  SQLite's header is included in sim/store only, except for
 * readers in analysis/query, which use tsr_store_query. */
#ifndef TSR_SIM_STORE_STORE_H
#define TSR_SIM_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"

#define TSR_STORE_APP_ID 0x54535231 /* "TSR1" */
#define TSR_STORE_NULL UINT64_MAX

struct tsr_store;

enum tsr_store_mode { TSR_STORE_READ, TSR_STORE_WRITE /* creates */ };

/* READ: the file must be a store of this schema.  WRITE: makes the file when it
 * is missing or empty (its folder must be there) and brings an older one forward,
 * one transaction a migration.  TSR_STORE with found, expected and remedy. */
enum tsr_status tsr_store_open(const char *path, enum tsr_store_mode mode,
                               struct tsr_store **out, struct tsr_err *err);
/* Checkpoints the log when it is the last one. NULL is allowed. Queries on the
 * store must be closed before. */
enum tsr_status tsr_store_close(struct tsr_store *s, struct tsr_err *err);

/* What was asked: stored whole, so that `rerun` needs no file. */
struct tsr_run_input {
  const char *role; /* arch, workload, policy, mapping, program, options */
  const char *name; /* as the user gave it */
  const char *text; /* full text; its FNV-1a hash is stored beside it */
};

/* A cause with 0 cycles is not stored. */
struct tsr_run_stall {
  const char *cause;
  uint64_t cycles;
};

/* One unit's cycles in one layer by state (busy, fill, drain, idle, or a cause). */
struct tsr_run_unit {
  const char *unit;
  const char *state;
  uint64_t cycles;
};

/* A periodic segment of a unit's occupancy: `repeats` times `duration_cycles`
 * in `state`, the first from start_cycles, then every period_cycles.  repeats is
 * at most 2^40; 0 is not stored. */
struct tsr_run_segment {
  const char *unit, *state;
  uint64_t start_cycles, duration_cycles, period_cycles, repeats;
};

/* Row 0 of a layer is that of its whole result (the `numeric` object of the JSON);
 * further rows are details: other tensors, ranges of K. */
struct tsr_run_numeric {
  const char *tensor;
  uint64_t k_from, k_to; /* [k_from, k_to) */
  uint64_t checked_elems, overflow, underflow, saturated, subnormal_in, nan, swamped_terms;
  double max_ulp, mean_ulp, norm_err, sqnr_db, bias;
  /* Componentwise error and its bound; what the units counted (v_numeric). */
  double max_comp, mean_comp, bound;
  uint64_t terms, truncated_terms, acc_steps, absorbed_acc, cancelled_steps, cancel_bits,
      cancel_max;
  /* Errors by bins of |ulp|: counts and edges; NULL: none. */
  size_t n_hist;
  const uint64_t *hist;
  const struct tsr_hist_edge *hist_edges;
};

/* A bin is [lo, hi). */
struct tsr_hist_edge {
  double lo, hi;
};

/* One point of an error study: a unit, a distribution, a K (v_mma_eval). */
struct tsr_eval_point {
  const char *unit, *format_a, *format_b, *format_acc, *dist;
  uint64_t k;
  uint64_t checked_elems, overflow, underflow, saturated, subnormal_in, nan;
  double max_ulp, mean_ulp, norm_err, sqnr_db, bias, max_comp, mean_comp, bound;
  uint64_t terms, swamped_terms, truncated_terms, acc_steps, absorbed_acc, cancelled_steps,
      cancel_bits, cancel_max;
  double quantisation_err, unquantised_err;
  size_t n_ulp;
  const uint64_t *ulp;
  const struct tsr_hist_edge *ulp_edges;
  size_t n_cancel;
  const uint64_t *cancel;
  const struct tsr_hist_edge *cancel_edges;
};

struct tsr_eval_record {
  const char *version;
  uint64_t seed, m, n;
  size_t n_points;
  const struct tsr_eval_point *points;
};

/* A workload and its cores. */
struct tsr_run_tenant_record {
  const char *workload; /* as the user wrote it, without the cores */
  uint64_t first_core, cores;
};

/* A link, slice, channel or bank over the run; see v_resources. */
struct tsr_run_resource {
  const char *instance, *resource;
  uint64_t bytes, busy_cycles, wait_cycles;
};

/* A counter of a memory, and bytes that it moved in a stretch; see v_counters, v_bandwidth. */
struct tsr_run_counter {
  const char *instance, *counter;
  uint64_t value;
};
struct tsr_run_moved {
  const char *instance;
  uint64_t start_cycles, cycles, bytes;
};

/* A figure of a network's results; schema/006.sql has the metrics. */
struct tsr_run_quality {
  const char *metric, *tensor; /* tensor NULL: of none */
  double value;
  uint64_t n;         /* samples, tokens or elements */
  double limit_value; /* NAN: none */
  uint64_t met;       /* 0 or 1; TSR_STORE_NULL without a limit */
};

struct tsr_run_layer {
  uint64_t index;
  uint64_t step; /* of a network that runs several times; TSR_STORE_NULL: once */
  uint64_t tenant, first_core, cores; /* whose it is and where it ran */
  const char *name, *op;
  uint64_t m, n, k, count;
  const char *kernel, *mapping, *format_a, *format_b, *format_acc, *format_out;
  const char *sparse, *requested_kernel, *fallback_reason; /* NULL = null */
  uint64_t folds, start_cycles, cycles;
  double time_s;
  uint64_t compute_cycles, stall_cycles;
  double utilization, mapping_efficiency;
  uint64_t macs, executed_macs;
  double peak_macs_per_cycle; /* of the executed formats on the tiles assigned */
  uint64_t dram_read_bytes, dram_write_bytes, sram_read_bytes, sram_write_bytes;
  uint64_t dma_bytes;          /* that DMA engines moved: DRAM's, or it stayed on the chip */
  uint64_t compulsory_bytes;   /* each operand and the result once */
  uint64_t transfers;          /* DMA transfers */
  uint64_t tile_active_cycles; /* cycles in which the tile accepts work */
  double energy_pj;
  size_t n_stalls;
  const struct tsr_run_stall *stalls;
  size_t n_units;
  const struct tsr_run_unit *units;
  size_t n_segments;
  const struct tsr_run_segment *segments;
  size_t n_numeric;
  const struct tsr_run_numeric *numeric;
};

struct tsr_run_totals {
  uint64_t cycles;
  double time_s;
  uint64_t overlap_cycles, macs, executed_macs;
  double utilization, tensor_active;
  uint64_t dram_read_bytes, dram_write_bytes, sram_read_bytes, sram_write_bytes, dma_bytes;
  double energy_pj, avg_power_mw, peak_power_mw, inferences_per_s, tokens_per_s;
  uint64_t events, fast_forwarded;
  double wall_s;
};

struct tsr_run_record {
  const char *name; /* NULL: none */
  const char *arch, *workload, *policy, *model, *status, *version;
  uint64_t seed;
  const char *numerics, *trace;
  double clock_hz, peak_macs_per_cycle, dram_bytes_per_s; /* for rooflines */
  struct tsr_run_totals totals;
  size_t n_inputs;
  const struct tsr_run_input *inputs;
  size_t n_layers;
  const struct tsr_run_layer *layers;
  size_t n_tenants;
  const struct tsr_run_tenant_record *tenants;
  size_t n_resources;
  const struct tsr_run_resource *resources;
  size_t n_counters;
  const struct tsr_run_counter *counters;
  size_t n_moved;
  const struct tsr_run_moved *moved;
  size_t n_quality;
  const struct tsr_run_quality *quality;
};

/* Whether a run may have this name: printable UTF-8 of at most 200 bytes, not empty, no
 * number, not `last`, no leading `-`. */
bool tsr_store_run_name_valid(const char *name);

/* Writes one run in one transaction; *run_id is its number. A name already used
 * by another run is allowed: a name means its newest run. TSR_INPUT for a name
 * that is not valid; TSR_STORE or TSR_NOMEM when it cannot be written, and then
 * the store is as before. */
enum tsr_status tsr_store_put_run(struct tsr_store *s, const struct tsr_run_record *r,
                                  uint64_t *run_id, struct tsr_err *err);

/* Writes an error study in one transaction; *eval_id is its number.  Failures as of
 * tsr_store_put_run. */
enum tsr_status tsr_store_put_eval(struct tsr_store *s, const struct tsr_eval_record *r,
                                   uint64_t *eval_id, struct tsr_err *err);

/* RUN as users write it: a number, a name, `last`. TSR_INPUT with the known
 * range or the nearest name when there is none. */
enum tsr_status tsr_store_find_run(struct tsr_store *s, const char *run, uint64_t *run_id,
                                   struct tsr_err *err);

/* Reading: a prepared statement without SQLite's header. */
struct tsr_query;
enum tsr_status tsr_store_query(struct tsr_store *s, const char *sql, struct tsr_query **out,
                                struct tsr_err *err);
void tsr_query_bind_u64(struct tsr_query *q, int index1, uint64_t v);
void tsr_query_bind_text(struct tsr_query *q, int index1, const char *v);
/* *row: false at the end. */
enum tsr_status tsr_query_step(struct tsr_query *q, bool *row, struct tsr_err *err);
int tsr_query_columns(const struct tsr_query *q);
const char *tsr_query_column_name(const struct tsr_query *q, int i);
bool tsr_query_is_null(const struct tsr_query *q, int i);
bool tsr_query_is_text(const struct tsr_query *q, int i);
bool tsr_query_is_real(const struct tsr_query *q, int i);
uint64_t tsr_query_u64(const struct tsr_query *q, int i);
double tsr_query_double(const struct tsr_query *q, int i);
const char *tsr_query_text(const struct tsr_query *q, int i); /* borrowed until the next step */
void tsr_query_close(struct tsr_query *q);

/* Facts of the file, for `db info`. */
struct tsr_store_info {
  uint64_t schema_version, runs, pages, page_bytes;
  const char *sqlite_version; /* static */
};
enum tsr_status tsr_store_info(struct tsr_store *s, struct tsr_store_info *out,
                               struct tsr_err *err);
/* `db check`: integrity, foreign keys, and that every run's sums hold. TSR_NO
 * with messages when they do not. */
enum tsr_status tsr_store_check(struct tsr_store *s, struct tsr_err *err);

/* Tests: from now the nth write, truncation or sync of the store's VFS fails
 * (0 = off), in stores opened after the first call. */
void tsr_store_fail_at(uint64_t nth);

#endif
