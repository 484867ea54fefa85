/* Whether two runs came out the same, to the last digit. */
#include <inttypes.h>
#include <string.h>

#include "analysis/query/query_int.h"

/* Every result table, in an order of its own keys, without the run's number. */
static const struct {
  const char *table, *sql;
} tables[] = {
    {"v_runs",
     "SELECT arch, workload, policy, model, status, cycles, time_s, overlap_cycles, macs, "
     "executed_macs, utilization, tensor_active, dram_read_bytes, dram_write_bytes, "
     "sram_read_bytes, sram_write_bytes, energy_pj, avg_power_mw, peak_power_mw, "
     "inferences_per_s, tokens_per_s, events, fast_forwarded, layers, clock_hz, "
     "peak_macs_per_cycle, dram_bytes_per_s, seed, numerics, trace FROM v_runs WHERE run = ?1"},
    {"v_layers", "SELECT * FROM v_layers WHERE run = ?1 ORDER BY layer"},
    {"v_stalls", "SELECT * FROM v_stalls WHERE run = ?1 ORDER BY layer, cause"},
    {"v_units", "SELECT * FROM v_units WHERE run = ?1 ORDER BY layer, unit, state"},
    {"v_kernels", "SELECT * FROM v_kernels WHERE run = ?1 ORDER BY layer"},
    {"v_numeric", "SELECT * FROM v_numeric WHERE run = ?1 ORDER BY layer, seq"},
    {"v_numeric_hist", "SELECT * FROM v_numeric_hist WHERE run = ?1 ORDER BY layer, seq, bin"},
    {"v_quality", "SELECT * FROM v_quality WHERE run = ?1 ORDER BY seq"},
    {"segment",
     "SELECT layer, unit, state, start_cycles, duration_cycles, period_cycles, repeats "
     "FROM segment WHERE run_id = ?1 ORDER BY layer, unit, state, start_cycles"},
    {"v_inputs", "SELECT seq, role, text FROM v_inputs WHERE run = ?1 ORDER BY seq"},
};

static bool is_run_number(const struct tsr_query *q, int i) {
  return !strcmp(tsr_query_column_name(q, i), "run");
}

static bool same_cell(const struct tsr_query *a, const struct tsr_query *b, int i) {
  if (tsr_query_is_null(a, i) || tsr_query_is_null(b, i))
    return tsr_query_is_null(a, i) && tsr_query_is_null(b, i);
  return !strcmp(tsr_query_text(a, i), tsr_query_text(b, i)) &&
         (!tsr_query_is_real(a, i) || tsr_query_double(a, i) == tsr_query_double(b, i));
}

static char *describe(const char *table, uint64_t row, const struct tsr_query *a,
                      const struct tsr_query *b, int i) {
  struct tsr_str s = TSR_STR_INIT;
  tsr_str_addf(&s, "%s row %" PRIu64 ", %s: ", table, row, tsr_query_column_name(a, i));
  tsr_str_addf(&s, "%.40s, ", tsr_query_is_null(a, i) ? "null" : tsr_query_text(a, i));
  tsr_str_addf(&s, "%.40s", tsr_query_is_null(b, i) ? "null" : tsr_query_text(b, i));
  return tsr_str_take(&s);
}

/* Steps both queries side by side; *out is set at the first difference. */
static enum tsr_status compare(const char *table, struct tsr_query *a, struct tsr_query *b,
                               char **out, struct tsr_err *err) {
  for (uint64_t row = 0;; row++) {
    bool more_a, more_b;
    enum tsr_status st = tsr_query_step(a, &more_a, err);
    if (!st) st = tsr_query_step(b, &more_b, err);
    if (st) return st;
    if (more_a != more_b) {
      struct tsr_str s = TSR_STR_INIT;
      tsr_str_addf(&s, "%s: one has %" PRIu64 " rows, the other more", table, row);
      *out = tsr_str_take(&s);
      return *out ? TSR_OK : tsr_err_nomem(err);
    }
    if (!more_a) return TSR_OK;
    for (int i = 0; i < tsr_query_columns(a); i++) {
      if (is_run_number(a, i) || same_cell(a, b, i)) continue;
      *out = describe(table, row, a, b, i);
      return *out ? TSR_OK : tsr_err_nomem(err);
    }
  }
}

enum tsr_status tsr_query_difference(struct tsr_store *s, uint64_t run_a, uint64_t run_b,
                                     char **difference, struct tsr_err *err) {
  char *found = NULL;
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; !st && !found && i < sizeof tables / sizeof tables[0]; i++) {
    struct tsr_query *a = NULL, *b = NULL;
    st = tsr_store_query(s, tables[i].sql, &a, err);
    if (!st) st = tsr_store_query(s, tables[i].sql, &b, err);
    if (!st) {
      tsr_query_bind_u64(a, 1, run_a);
      tsr_query_bind_u64(b, 1, run_b);
      st = compare(tables[i].table, a, b, &found, err);
    }
    if (a) tsr_query_close(a);
    if (b) tsr_query_close(b);
  }
  if (!st) *difference = found;
  return st;
}
