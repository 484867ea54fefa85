/* The JSON of `run`. The keys and their order are the lists of columns here. */
#include <inttypes.h>

#include "analysis/query/query_int.h"

#define HEAD "run AS run_id, name, arch, workload, policy, model, status"
#define TOTALS                                                                        \
  "cycles, time_s, overlap_cycles, macs, executed_macs, utilization, tensor_active, " \
  "dram_read_bytes, dram_write_bytes, sram_read_bytes, sram_write_bytes, "            \
  "energy_pj, avg_power_mw, peak_power_mw, inferences_per_s, tokens_per_s, events, "  \
  "fast_forwarded, "                                                                  \
  "wall_s, dma_bytes"
#define LAYER                                                                                \
  "l.\"index\" AS \"index\", l.name AS name, l.op AS op, l.m AS m, l.n AS n, l.k AS k, "     \
  "l.count AS count, kernel, mapping, format_a, format_b, format_acc, format_out, sparse, "  \
  "requested_kernel, fallback_reason, folds, start_cycles, cycles, time_s, compute_cycles, " \
  "stall_cycles, stalls, utilization, mapping_efficiency, macs, executed_macs, "             \
  "dram_read_bytes, dram_write_bytes, sram_read_bytes, sram_write_bytes, energy_pj, dma_bytes"
#define NUMERIC                                                                            \
  "x.checked_elems AS checked_elems, x.max_ulp AS max_ulp, x.mean_ulp AS mean_ulp, "       \
  "x.norm_err AS norm_err, x.sqnr_db AS sqnr_db, x.bias AS bias, x.overflow AS overflow, " \
  "x.underflow AS underflow, x.saturated AS saturated, x.subnormal_in AS subnormal_in, "   \
  "x.nan AS nan, x.swamped_terms AS swamped_terms"

enum { N_HEAD = 7, N_TOTALS = 20, N_LAYER = 33, N_NUMERIC = 12 };

static const char runs_sql[] =
    "SELECT " HEAD ", " TOTALS ", created_utc FROM v_runs ORDER BY run";
static const char run_sql[] = "SELECT " HEAD ", " TOTALS " FROM v_runs WHERE run = ?1";
/* One column behind the figures tells whether there is a numeric row. */
static const char layers_sql[] =
    "SELECT " LAYER ", " NUMERIC ", x.seq FROM v_layers l LEFT JOIN "
    "(SELECT * FROM v_numeric WHERE run = ?1 AND seq = 0) x ON x.layer = l.layer "
    "WHERE l.run = ?1 ORDER BY l.layer";

static void add_run(struct tsr_str *s, const struct tsr_query *q, const char *between) {
  tsri_json_members(s, q, 0, N_HEAD);
  tsr_str_addf(s, ",%s\"totals\": {", between);
  tsri_json_members(s, q, N_HEAD, N_HEAD + N_TOTALS);
  tsr_str_add(s, "}");
}

static void add_layer(struct tsr_str *s, const struct tsr_query *q) {
  tsr_str_add(s, "{");
  tsri_json_members(s, q, 0, N_LAYER);
  tsr_str_add(s, ", \"numeric\": ");
  if (tsr_query_is_null(q, N_LAYER + N_NUMERIC)) {
    tsr_str_add(s, "null}");
    return;
  }
  tsr_str_add(s, "{");
  tsri_json_members(s, q, N_LAYER, N_LAYER + N_NUMERIC);
  tsr_str_add(s, "}}");
}

/* `"layers": [...]`, one layer a line. */
static enum tsr_status add_layers(struct tsr_store *s, uint64_t run_id, struct tsr_str *out,
                                  struct tsr_err *err) {
  struct tsr_query *q = NULL;
  enum tsr_status status = tsr_store_query(s, layers_sql, &q, err);
  if (status != TSR_OK) return status;
  tsr_query_bind_u64(q, 1, run_id);
  tsr_str_add(out, "\"layers\": [");
  bool row = false;
  for (size_t n = 0; (status = tsr_query_step(q, &row, err)) == TSR_OK && row; n++) {
    tsr_str_add(out, n ? ",\n  " : "\n  ");
    add_layer(out, q);
  }
  tsr_str_add(out, "]");
  tsr_query_close(q);
  return status;
}

/* `"quality": [...]`, what a network's results are worth; empty where nothing was asked. */
static enum tsr_status add_quality(struct tsr_store *s, uint64_t run_id, struct tsr_str *out,
                                   struct tsr_err *err) {
  enum { COLUMNS = 6 };
  struct tsr_query *q = NULL;
  enum tsr_status status = tsr_store_query(
      s,
      "SELECT metric, tensor, value, n, limit_value, met FROM v_quality WHERE run = ?1 "
      "ORDER BY seq",
      &q, err);
  if (status != TSR_OK) return status;
  tsr_query_bind_u64(q, 1, run_id);
  tsr_str_add(out, ",\n \"quality\": [");
  bool row = false;
  for (size_t n = 0; (status = tsr_query_step(q, &row, err)) == TSR_OK && row; n++) {
    tsr_str_add(out, n ? ",\n  {" : "\n  {");
    tsri_json_members(out, q, 0, COLUMNS);
    tsr_str_add(out, "}");
  }
  tsr_str_add(out, "]");
  tsr_query_close(q);
  return status;
}

static enum tsr_status add_head(struct tsr_store *s, uint64_t run_id, struct tsr_str *out,
                                struct tsr_err *err) {
  struct tsr_query *q = NULL;
  enum tsr_status status = tsr_store_query(s, run_sql, &q, err);
  if (status != TSR_OK) return status;
  tsr_query_bind_u64(q, 1, run_id);
  bool row = false;
  status = tsr_query_step(q, &row, err);
  if (status == TSR_OK && row) add_run(out, q, "\n ");
  if (status == TSR_OK && !row) status = tsri_no_run(run_id, err);
  tsr_query_close(q);
  return status;
}

enum tsr_status tsr_query_run_json(struct tsr_store *s, uint64_t run_id, char **out,
                                   struct tsr_err *err) {
  struct tsr_str text = TSR_STR_INIT;
  tsr_str_add(&text, "{");
  enum tsr_status status = add_head(s, run_id, &text, err);
  tsr_str_add(&text, ",\n ");
  if (status == TSR_OK) status = add_layers(s, run_id, &text, err);
  if (status == TSR_OK) status = add_quality(s, run_id, &text, err);
  tsr_str_add(&text, "}");
  if (status == TSR_OK) return tsri_take(&text, out, err);
  tsr_str_fini(&text);
  return status;
}

enum tsr_status tsri_layers_json(struct tsr_store *s, uint64_t run_id, char **out,
                                 struct tsr_err *err) {
  struct tsr_str text = TSR_STR_INIT;
  tsr_str_addf(&text, "{\"run_id\": %" PRIu64 ",\n ", run_id);
  enum tsr_status status = add_layers(s, run_id, &text, err);
  tsr_str_add(&text, "}");
  if (status == TSR_OK) return tsri_take(&text, out, err);
  tsr_str_fini(&text);
  return status;
}

enum tsr_status tsr_query_runs_json(struct tsr_store *s, char **out, struct tsr_err *err) {
  struct tsr_query *q = NULL;
  enum tsr_status status = tsr_store_query(s, runs_sql, &q, err);
  if (status != TSR_OK) return status;
  struct tsr_str text = TSR_STR_INIT;
  tsr_str_add(&text, "{\"runs\": [");
  bool row = false;
  for (size_t n = 0; (status = tsr_query_step(q, &row, err)) == TSR_OK && row; n++) {
    tsr_str_add(&text, n ? ",\n {" : "\n {");
    add_run(&text, q, " ");
    tsr_str_add(&text, ", ");
    tsri_json_members(&text, q, N_HEAD + N_TOTALS, N_HEAD + N_TOTALS + 1);
    tsr_str_add(&text, "}");
  }
  tsr_str_add(&text, "]}");
  tsr_query_close(q);
  if (status == TSR_OK) return tsri_take(&text, out, err);
  tsr_str_fini(&text);
  return status;
}
