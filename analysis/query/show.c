/* The tables of `show`: a row each of name, statements and headings. */
#include <inttypes.h>

#include "analysis/query/query_int.h"

typedef enum tsr_status json_fn(struct tsr_store *s, uint64_t run_id, char **out,
                                struct tsr_err *err);

struct table {
  const char *name, *doc;
  const char *empty; /* why it may have no row */
  bool of_run;       /* ?1 is the run */
  const char *text;  /* statement of the text table, a column a heading */
  const char *data;  /* statement of CSV and JSON, named by its keys */
  json_fn *json;     /* instead of plain rows */
  struct tsri_heading headings[16];
};

static enum tsr_status runs_json(struct tsr_store *s, uint64_t run_id, char **out,
                                 struct tsr_err *err) {
  (void)run_id;
  return tsr_query_runs_json(s, out, err);
}

/* The --set assignments of a run, in one line. */
#define CHANGES                                                               \
  "(SELECT replace(text, char(10), ' ') FROM v_inputs i WHERE i.run = r.run " \
  "AND i.role = 'changes')"
/* Work first, then what a unit waited for, then nothing to do. */
#define RANK                                                                          \
  "CASE state WHEN 'busy' THEN 0 WHEN 'fill' THEN 1 WHEN 'drain' THEN 2 WHEN 'idle' " \
  "THEN 4 ELSE 3 END"
#define WHAT "CASE " RANK " WHEN 3 THEN 'stalled: ' || state ELSE state END"

static const struct table tables[] = {
    {"runs",
     "the runs in the store",
     "the store holds no run; `tessera run` makes one",
     false,
     "SELECT run, name, arch, workload, nullif(model, 'event'), nullif(status, 'ok'), "
     "time_s, 100 * utilization, replace(substr(created_utc, 1, 16), 'T', ' '), " CHANGES
     " FROM v_runs r ORDER BY run",
     "SELECT run AS run_id, name, arch, workload, policy, model, status, cycles, time_s, "
     "overlap_cycles, macs, executed_macs, utilization, tensor_active, dram_read_bytes, "
     "dram_write_bytes, sram_read_bytes, sram_write_bytes, energy_pj, avg_power_mw, "
     "peak_power_mw, inferences_per_s, tokens_per_s, events, fast_forwarded, wall_s, "
     "dma_bytes, created_utc, " CHANGES " AS changes FROM v_runs r ORDER BY run",
     runs_json,
     {{"run", TSRI_RIGHT, false},
      {"name", TSRI_NAME, true},
      {"arch", TSRI_NAME, false},
      {"workload", TSRI_NAME, false},
      {"model", TSRI_LEFT, true},
      {"status", TSRI_LEFT, true},
      {"time", TSRI_TIME, false},
      {"util %", TSRI_F1, false},
      {"created UTC", TSRI_RIGHT, false},
      {"changes", TSRI_NOTE, true}}},
    {"layers",
     "time, utilization and traffic of each layer",
     "the run has no layer",
     true,
     "SELECT layer, name, CASE WHEN count > 1 THEN count || '*' ELSE '' END || m || 'x' || n "
     "|| 'x' || k, cycles, time_s, 100 * utilization, 100.0 * stall_cycles / cycles, "
     "(SELECT cause FROM v_stalls s WHERE s.run = l.run AND s.layer = l.layer "
     "ORDER BY s.cycles DESC, cause LIMIT 1), dram_read_bytes + dram_write_bytes, "
     "CAST(dram_read_bytes + dram_write_bytes AS REAL) / nullif(compulsory_bytes, 0) "
     "FROM v_layers l WHERE run = ?1 ORDER BY layer",
     "SELECT \"index\", name, op, m, n, k, count, kernel, mapping, format_a, format_b, "
     "format_acc, format_out, sparse, requested_kernel, fallback_reason, folds, start_cycles, "
     "cycles, time_s, compute_cycles, stall_cycles, utilization, mapping_efficiency, macs, "
     "executed_macs, dram_read_bytes, dram_write_bytes, sram_read_bytes, "
     "sram_write_bytes, "
     "energy_pj, compulsory_bytes, dma_bytes FROM v_layers WHERE run = ?1 ORDER BY layer",
     tsri_layers_json,
     {{"#", TSRI_RIGHT, false},
      {"layer", TSRI_NAME, false},
      {"MxNxK", TSRI_LEFT, false},
      {"cycles", TSRI_RIGHT, false},
      {"time", TSRI_TIME, false},
      {"util %", TSRI_F1, false},
      {"stall %", TSRI_F1, false},
      {"most for", TSRI_LEFT, false},
      {"DRAM", TSRI_BYTES, false},
      {"x min", TSRI_F2, true}}},
    {"units",
     "where the cycles of each unit went",
     "the run stored no cycles of units; run with --trace summary",
     true,
     "SELECT unit, " WHAT ", sum(u.cycles), 100.0 * sum(u.cycles) / nullif(r.cycles, 0) "
     "FROM v_units u JOIN v_runs r USING (run) WHERE u.run = ?1 GROUP BY unit, state "
     "HAVING sum(u.cycles) > 0 ORDER BY unit, " RANK ", sum(u.cycles) DESC, state",
     "SELECT u.layer AS \"index\", l.name AS name, unit, state, u.cycles AS cycles, "
     "CAST(u.cycles AS REAL) / nullif(l.cycles, 0) AS share FROM v_units u "
     "JOIN v_layers l USING (run, layer) WHERE u.run = ?1 AND u.cycles > 0 "
     "ORDER BY u.layer, unit, " RANK ", u.cycles DESC, state",
     NULL,
     {{"unit", TSRI_LEFT, false},
      {"state", TSRI_LEFT, false},
      {"cycles", TSRI_RIGHT, false},
      {"% of run", TSRI_F1, false}}},
    {"stalls",
     "what each layer waited for",
     "no layer of the run stalled",
     true,
     "SELECT s.layer, s.name, s.cause, s.cycles, 100 * s.share, "
     "100.0 * s.cycles / nullif(r.cycles, 0) FROM v_stalls s JOIN v_runs r USING (run) "
     "WHERE s.run = ?1 ORDER BY s.layer, s.cycles DESC, s.cause",
     "SELECT layer AS \"index\", name, cause, cycles, share FROM v_stalls WHERE run = ?1 "
     "ORDER BY layer, cycles DESC, cause",
     NULL,
     {{"#", TSRI_RIGHT, false},
      {"layer", TSRI_NAME, false},
      {"waits for", TSRI_LEFT, false},
      {"cycles", TSRI_RIGHT, false},
      {"% of layer", TSRI_F1, false},
      {"% of run", TSRI_F1, false}}},
    {"resources",
     "links, slices, channels and banks: what passed, how long each worked and was waited for",
     "nothing in the run has such counters",
     true,
     "SELECT instance, resource, bytes, x.busy_cycles, 100.0 * x.busy_cycles / "
     "nullif(r.cycles, "
     "0), x.wait_cycles FROM v_resources x JOIN v_runs r USING (run) WHERE run = ?1 "
     "ORDER BY x.wait_cycles DESC, x.busy_cycles DESC, instance, resource",
     "SELECT instance, resource, bytes, busy_cycles, wait_cycles FROM v_resources "
     "WHERE run = ?1 ORDER BY instance, resource",
     NULL,
     {{"in", TSRI_LEFT, false},
      {"resource", TSRI_LEFT, false},
      {"bytes", TSRI_BYTES, false},
      {"busy", TSRI_RIGHT, false},
      {"% of run", TSRI_F1, false},
      {"waited for", TSRI_RIGHT, false}}},
    {"counters",
     "what the memories counted over the run; clocks are the DRAM's, summed over its data "
     "buses",
     "the run is of a program that did not store them",
     true,
     "SELECT instance, counter, value FROM v_counters WHERE run = ?1 ORDER BY instance, "
     "counter",
     "SELECT instance, counter, value FROM v_counters WHERE run = ?1 ORDER BY instance, "
     "counter",
     NULL,
     {{"in", TSRI_LEFT, false}, {"counter", TSRI_LEFT, false}, {"value", TSRI_RIGHT, false}}},
    {"bandwidth",
     "what a memory's data buses moved over time, and the share of their peak; writes that "
     "still wait at the end and reads answered from such are not among it",
     "no memory of the run tells when it moved what (dram.model: banks does)",
     true,
     "SELECT instance, start_cycles, cycles, bytes, 100 * share FROM v_bandwidth "
     "WHERE run = ?1 ORDER BY instance, start_cycles",
     "SELECT instance, start_cycles, cycles, bytes, bytes_per_s, share FROM v_bandwidth "
     "WHERE run = ?1 ORDER BY instance, start_cycles",
     NULL,
     {{"in", TSRI_LEFT, false},
      {"from cycle", TSRI_RIGHT, false},
      {"cycles", TSRI_RIGHT, false},
      {"bytes", TSRI_BYTES, false},
      {"% of peak", TSRI_F1, false}}},
    {"quality",
     "what the network's results are worth, over n samples, tokens or elements",
     "the run handed no values from operator to operator (--numerics full of a model)",
     true,
     "SELECT metric, tensor, value, n, limit_value, CASE met WHEN 1 THEN 'yes' WHEN 0 THEN "
     "'no' "
     "END FROM v_quality WHERE run = ?1 ORDER BY seq",
     "SELECT metric, tensor, value, n, limit_value, met FROM v_quality WHERE run = ?1 "
     "ORDER BY seq",
     NULL,
     {{"figure", TSRI_LEFT, false},
      {"of", TSRI_LEFT, false},
      {"value", TSRI_G6, false},
      {"n", TSRI_RIGHT, false},
      {"limit", TSRI_G6, false},
      {"met", TSRI_LEFT, false}}},
    {"steps",
     "over- and underflow of tensors at each step of a network that runs several times",
     "the run has no steps (--decode, --dataset)",
     true,
     "SELECT step, name, tensor, opportunities, overflow, underflow FROM v_numeric_step "
     "WHERE run = ?1 ORDER BY step, layer, tensor",
     "SELECT step, name, tensor, opportunities, overflow, underflow FROM v_numeric_step "
     "WHERE run = ?1 ORDER BY step, layer, tensor",
     NULL,
     {{"step", TSRI_RIGHT, false},
      {"layer", TSRI_LEFT, false},
      {"tensor", TSRI_LEFT, false},
      {"elements", TSRI_RIGHT, false},
      {"overflow", TSRI_RIGHT, false},
      {"underflow", TSRI_RIGHT, false}}},
    {"contention",
     "each workload of a run beside others, against itself alone on the same cores",
     "no workload of the run was also run alone on the same cores of the same machine "
     "(`--workload W@FIRST-LAST`), or the run has one workload only",
     true,
     "SELECT workload || '@' || first_core || '-' || (first_core + cores - 1), alone_run, "
     "alone_cycles, together_cycles, slowdown, cause, added_cycles, "
     "(SELECT instance || '.' || resource FROM v_resources x WHERE x.run = c.run "
     "ORDER BY wait_cycles DESC, instance, resource LIMIT 1) "
     "FROM v_contention c WHERE run = ?1 ORDER BY tenant",
     "SELECT tenant, workload, first_core, cores, alone_run, alone_cycles, together_cycles, "
     "slowdown, cause, added_cycles, (SELECT instance || '.' || resource FROM v_resources x "
     "WHERE x.run = c.run ORDER BY wait_cycles DESC, instance, resource LIMIT 1) AS resource "
     "FROM v_contention c WHERE run = ?1 ORDER BY tenant",
     NULL,
     {{"workload", TSRI_NAME, false},
      {"alone: run", TSRI_RIGHT, false},
      {"cycles", TSRI_RIGHT, false},
      {"together", TSRI_RIGHT, false},
      {"slower x", TSRI_F2, false},
      {"more", TSRI_LEFT, true},
      {"by", TSRI_RIGHT, false},
      {"busiest", TSRI_LEFT, true}}},
    {"kernels",
     "the kernel and the mapping of each layer, and why not the kernel requested",
     "the run has no layer",
     true,
     "SELECT layer, name, op, chosen, nullif(requested, chosen), reason, mapping, cycles "
     "FROM v_kernels WHERE run = ?1 ORDER BY layer",
     "SELECT layer AS \"index\", name, op, chosen, requested, reason, fallback, mapping, "
     "format_a, format_b, format_acc, format_out, sparse, cycles, macs FROM v_kernels "
     "WHERE run = ?1 ORDER BY layer",
     NULL,
     {{"#", TSRI_RIGHT, false},
      {"layer", TSRI_NAME, false},
      {"op", TSRI_LEFT, false},
      {"kernel", TSRI_LEFT, false},
      {"requested", TSRI_LEFT, true},
      {"why not", TSRI_NAME, true},
      {"mapping", TSRI_NOTE, true},
      {"cycles", TSRI_RIGHT, false}}},
    {"numerics",
     "error figures of each layer",
     "the run computed no values; run with --numerics sample",
     true,
     "SELECT layer, name, tensor || ' ' || k_from || '-' || k_to, checked_elems, max_ulp, "
     "mean_ulp, "
     "norm_err, sqnr_db, bias, overflow, underflow, saturated FROM v_numeric WHERE run = ?1 "
     "ORDER BY layer, seq",
     "SELECT layer AS \"index\", name, tensor, k_from, k_to, checked_elems, max_ulp, mean_ulp, "
     "norm_err, sqnr_db, bias, overflow, underflow, saturated, subnormal_in, nan, "
     "swamped_terms, max_comp, mean_comp, bound, terms, truncated_terms, acc_steps, "
     "absorbed_acc, cancelled_steps, cancel_bits, cancel_max "
     "FROM v_numeric WHERE run = ?1 ORDER BY layer, seq",
     NULL,
     {{"#", TSRI_RIGHT, false},
      {"layer", TSRI_NAME, false},
      {"tensor, K", TSRI_LEFT, false},
      {"elems", TSRI_RIGHT, false},
      {"max ULP", TSRI_G3, false},
      {"avg ULP", TSRI_G3, false},
      {"norm err", TSRI_G3, false},
      {"SQNR dB", TSRI_F1, false},
      {"bias", TSRI_G3, false},
      {"over", TSRI_RIGHT, true},
      {"under", TSRI_RIGHT, true},
      {"sat", TSRI_RIGHT, true}}},
};

enum { N_TABLES = sizeof tables / sizeof tables[0] };

const char *tsr_query_show_name(size_t i) {
  return i < N_TABLES ? tables[i].name : NULL;
}
const char *tsr_query_show_doc(size_t i) {
  return i < N_TABLES ? tables[i].doc : NULL;
}

static const struct table *find(const char *what, struct tsr_err *err) {
  const char *names[N_TABLES];
  for (size_t i = 0; i < N_TABLES; i++) {
    if (tsr_str_eq(tables[i].name, what)) return &tables[i];
    names[i] = tables[i].name;
  }
  struct tsr_str list = TSR_STR_INIT;
  for (size_t i = 0; i < N_TABLES; i++) {
    tsr_str_add(&list, i == 0 ? "" : i + 1 < N_TABLES ? ", " : " or ");
    tsr_str_add(&list, names[i]);
  }
  tsr_err_set(err, TSR_USAGE, "unknown table '%s'; expected %s", what,
              list.failed ? "another" : list.p);
  tsr_str_fini(&list);
  const char *near = tsr_err_nearest(what, names, N_TABLES);
  if (near) tsr_err_hint(err, "did you mean '%s'?", near);
  return NULL;
}

static enum tsr_status rows_json(struct tsr_query *q, struct tsr_str *out,
                                 struct tsr_err *err) {
  enum tsr_status status;
  bool row = false;
  for (size_t n = 0; (status = tsr_query_step(q, &row, err)) == TSR_OK && row; n++) {
    tsr_str_add(out, n ? ",\n  {" : "\n  {");
    tsri_json_members(out, q, 0, tsr_query_columns(q));
    tsr_str_add(out, "}");
  }
  return status;
}

static enum tsr_status fill(const struct table *t, uint64_t run_id,
                            enum tsr_query_format format, struct tsr_query *q,
                            struct tsr_str *out, struct tsr_err *err) {
  if (format == TSR_QUERY_TEXT) return tsri_table_text(q, t->headings, out, err);
  if (format == TSR_QUERY_CSV) return tsri_table_csv(q, out, err);
  tsr_str_addf(out, "{\"run_id\": %" PRIu64 ",\n \"%s\": [", run_id, t->name);
  enum tsr_status status = rows_json(q, out, err);
  tsr_str_add(out, "]}\n");
  return status;
}

static enum tsr_status run_exists(struct tsr_store *s, uint64_t run_id, struct tsr_err *err) {
  struct tsr_query *q = NULL;
  bool row = false;
  enum tsr_status status = tsr_store_query(s, "SELECT 1 FROM v_runs WHERE run = ?1", &q, err);
  if (status != TSR_OK) return status;
  tsr_query_bind_u64(q, 1, run_id);
  status = tsr_query_step(q, &row, err);
  if (status == TSR_OK && !row) status = tsri_no_run(run_id, err);
  tsr_query_close(q);
  return status;
}

enum tsr_status tsr_query_show(struct tsr_store *s, const char *what, uint64_t run_id,
                               enum tsr_query_format format, char **out, struct tsr_err *err) {
  const struct table *t = find(what, err);
  if (!t) return TSR_USAGE;
  enum tsr_status status = t->of_run ? run_exists(s, run_id, err) : TSR_OK;
  if (status != TSR_OK) return status;
  if (format == TSR_QUERY_JSON && t->json) return t->json(s, run_id, out, err);
  struct tsr_query *q = NULL;
  status = tsr_store_query(s, format == TSR_QUERY_TEXT ? t->text : t->data, &q, err);
  if (status != TSR_OK) return status;
  if (t->of_run) tsr_query_bind_u64(q, 1, run_id);
  struct tsr_str text = TSR_STR_INIT;
  status = fill(t, run_id, format, q, &text, err);
  tsr_query_close(q);
  if (status != TSR_OK) {
    tsr_str_fini(&text);
    return status;
  }
  char *taken = tsr_str_take(&text);
  if (!taken) return tsr_err_nomem(err);
  *out = taken;
  return TSR_OK;
}

enum tsr_status tsr_query_show_empty(struct tsr_store *s, const char *what, uint64_t run_id,
                                     const char **why, struct tsr_err *err) {
  const struct table *t = find(what, err);
  if (!t) return TSR_USAGE;
  struct tsr_query *q = NULL;
  bool row = false;
  enum tsr_status status = tsr_store_query(s, t->data, &q, err);
  if (status != TSR_OK) return status;
  if (t->of_run) tsr_query_bind_u64(q, 1, run_id);
  status = tsr_query_step(q, &row, err);
  tsr_query_close(q);
  if (status == TSR_OK) *why = row ? NULL : t->empty;
  return status;
}
