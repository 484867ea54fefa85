/* `db check`: is the file sound, and do the sums of every run hold. */
#include <string.h>

#include "sim/base/str.h"
#include "sim/store/store_int.h"

/* Each statement returns the rows that break its rule, as a text each. */
static const struct {
  const char *rule; /* NULL: the row says it all */
  const char *sql;
} rules[] = {
    {NULL, "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'"},
    {"every reference must lead to a row", "SELECT 'row ' || coalesce(rowid, '') || ' of table "
                                           "' || \"table\" || ' refers to no row of '"
                                           " || parent FROM pragma_foreign_key_check"},
    {"the views of the schema",
     "SELECT 'view ' || column1 || ' is missing' FROM (VALUES ('v_runs'), ('v_inputs'), "
     "('v_layers'), ('v_stalls'), ('v_units'), ('v_occupancy'), ('v_kernels'), ('v_numeric'), "
     "('v_numeric_hist'), ('v_roofline'), ('v_mma_eval'), ('v_mma_eval_hist'), ('v_tenants'), "
     "('v_resources'), ('v_counters'), ('v_bandwidth'), ('v_quality'), ('v_numeric_step'), "
     "('v_contention')) "
     "WHERE column1 NOT IN (SELECT name FROM sqlite_schema WHERE type = 'view')"},
    {"at least one layer a run",
     "SELECT format('run %d has none', run_id) FROM run WHERE run_id NOT IN (SELECT run_id "
     "FROM layer)"},
    {"a number in every figure that sums rest on",
     "SELECT format('run %d layer %d (%s): NULL', run_id, layer, name) FROM layer "
     "WHERE cycles IS NULL OR compute_cycles IS NULL OR stall_cycles IS NULL OR macs IS NULL "
     "OR executed_macs IS NULL OR dram_read_bytes IS NULL OR dram_write_bytes IS NULL "
     "OR sram_read_bytes IS NULL OR sram_write_bytes IS NULL UNION ALL "
     "SELECT format('run %d: NULL', run_id) FROM run WHERE cycles IS NULL "
     "OR overlap_cycles IS NULL OR macs IS NULL OR executed_macs IS NULL "
     "OR dram_read_bytes IS NULL OR dram_write_bytes IS NULL"},
    {"cycles = compute_cycles + stall_cycles",
     "SELECT format('run %d layer %d (%s): %d = %d + %d', run_id, layer, name, cycles, "
     "compute_cycles, stall_cycles) FROM layer WHERE cycles <> compute_cycles + stall_cycles"},
    {"stall_cycles = sum of stalls",
     "SELECT format('run %d layer %d (%s): %d = %d', run_id, layer, name, stall_cycles, s) "
     "FROM ("
     "SELECT l.*, (SELECT coalesce(sum(x.cycles), 0) FROM layer_stall x WHERE x.run_id = "
     "l.run_id"
     " AND x.layer = l.layer) AS s FROM layer l) WHERE stall_cycles <> s"},
    {"cycles of a layer = sum over the states of a unit",
     "SELECT format('run %d layer %d (%s), unit %s: %d = %d', run_id, layer, name, unit, c, "
     "sum(u.cycles)) FROM layer_unit u JOIN (SELECT run_id, layer, name, cycles AS c FROM "
     "layer) "
     "USING (run_id, layer) GROUP BY run_id, layer, unit HAVING sum(u.cycles) <> c"},
    {"totals.cycles = sum over layers - overlap_cycles",
     "SELECT format('run %d: %d = %d - %d', run_id, r.cycles, sum(l.cycles), r.overlap_cycles) "
     "FROM run r JOIN layer l USING (run_id) GROUP BY run_id "
     "HAVING r.cycles <> sum(l.cycles) - r.overlap_cycles"},
#define SUM(c)                                                            \
  {                                                                       \
    "totals." #c " = sum over layers",                                    \
        "SELECT format('run %d: %d = %d', run_id, r." #c ", sum(l." #c    \
        ")) FROM run r JOIN layer l "                                     \
        "USING (run_id) GROUP BY run_id HAVING r." #c " <> sum(l." #c ")" \
  }
    SUM(macs),
    SUM(executed_macs),
    SUM(dram_read_bytes),
    SUM(dram_write_bytes),
    SUM(dma_bytes),
    SUM(sram_read_bytes),
    SUM(sram_write_bytes),
    {"totals.energy_pj = sum over layers",
     "SELECT format('run %d: %g = %g', run_id, r.energy_pj, sum(l.energy_pj)) FROM run r JOIN "
     "layer l USING (run_id) GROUP BY run_id "
     "HAVING abs(r.energy_pj - sum(l.energy_pj)) > 1e-9 * abs(r.energy_pj)"},
    {"executed_macs <= macs",
     "SELECT format('run %d layer %d (%s): %d > %d', run_id, layer, name, executed_macs, macs) "
     "FROM layer WHERE executed_macs > macs"},
    {"utilization is a share from 0 to 1",
     "SELECT format('run %d layer %d (%s): %.17g', run_id, layer, name, utilization) FROM "
     "layer "
     "WHERE utilization NOT BETWEEN 0 AND 1 UNION ALL "
     "SELECT format('run %d: %.17g', run_id, utilization) FROM run "
     "WHERE utilization NOT BETWEEN 0 AND 1"},
    {"mapping_efficiency is a share from 0 to 1",
     "SELECT format('run %d layer %d (%s): %.17g', run_id, layer, name, mapping_efficiency) "
     "FROM "
     "layer WHERE mapping_efficiency NOT BETWEEN 0 AND 1"},
};

static enum tsr_status check_rule(struct tsr_store *s, const char *rule, const char *sql,
                                  struct tsr_err *err) {
  struct tsr_query *q = NULL;
  enum tsr_status status = tsr_store_query(s, sql, &q, err);
  enum tsr_status verdict = TSR_OK;
  bool row = true;
  while (status == TSR_OK && row) {
    status = tsr_query_step(q, &row, err);
    if (status != TSR_OK || !row) break;
    if (rule)
      verdict = tsr_err_set(err, TSR_NO, "%s; expected %s", tsr_query_text(q, 0), rule);
    else
      verdict = tsr_err_set(err, TSR_NO, "%s", tsr_query_text(q, 0));
  }
  tsr_query_close(q);
  return status != TSR_OK ? status : verdict;
}

/* A text that no longer has its hash was changed after it was written. */
static enum tsr_status check_texts(struct tsr_store *s, struct tsr_err *err) {
  struct tsr_query *q = NULL;
  enum tsr_status status = tsr_store_query(s, "SELECT hash, body, text_id FROM text", &q, err);
  enum tsr_status verdict = TSR_OK;
  bool row = true;
  while (status == TSR_OK && row) {
    status = tsr_query_step(q, &row, err);
    if (status != TSR_OK || !row) break;
    const char *body = tsr_query_text(q, 1);
    char hash[17];
    sqlite3_snprintf(sizeof hash, hash, "%016llx",
                     (unsigned long long)tsr_fnv1a(TSR_FNV_INIT, body, strlen(body)));
    if (!tsr_str_eq(hash, tsr_query_text(q, 0)))
      verdict =
          tsr_err_set(err, TSR_NO, "input text %llu has hash %s; expected the stored %s",
                      (unsigned long long)tsr_query_u64(q, 2), hash, tsr_query_text(q, 0));
  }
  tsr_query_close(q);
  return status != TSR_OK ? status : verdict;
}

enum tsr_status tsr_store_check(struct tsr_store *s, struct tsr_err *err) {
  enum tsr_status verdict = TSR_OK;
  size_t n = sizeof rules / sizeof rules[0];
  for (size_t i = 0; i <= n; i++) {
    enum tsr_status status =
        i < n ? check_rule(s, rules[i].rule, rules[i].sql, err) : check_texts(s, err);
    if (status != TSR_OK && status != TSR_NO) return status;
    if (status == TSR_NO) verdict = TSR_NO;
  }
  return verdict;
}
