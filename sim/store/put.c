/* Writing a run.  Each table is a list of (column, kind, place in the record);
 * the INSERT and the binding both come from it. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/store/store_int.h"

enum kind {
  TEXT,
  U64,
  BITS, /* a uint64_t of which every value counts: stored as two's complement */
  REAL
};

struct field {
  const char *column;
  enum kind kind;
  size_t at;
};

#define ROW(type, kind, name) \
  { #name, kind, offsetof(struct type, name) }
#define TOTAL(kind, name) \
  { #name, kind, offsetof(struct tsr_run_record, totals.name) }

static const struct field run_fields[] = {
    ROW(tsr_run_record, TEXT, name),
    ROW(tsr_run_record, TEXT, arch),
    ROW(tsr_run_record, TEXT, workload),
    ROW(tsr_run_record, TEXT, policy),
    ROW(tsr_run_record, TEXT, model),
    ROW(tsr_run_record, TEXT, status),
    ROW(tsr_run_record, TEXT, version),
    ROW(tsr_run_record, BITS, seed),
    ROW(tsr_run_record, TEXT, numerics),
    ROW(tsr_run_record, TEXT, trace),
    ROW(tsr_run_record, REAL, clock_hz),
    ROW(tsr_run_record, REAL, peak_macs_per_cycle),
    ROW(tsr_run_record, REAL, dram_bytes_per_s),
    TOTAL(U64, cycles),
    TOTAL(REAL, time_s),
    TOTAL(U64, overlap_cycles),
    TOTAL(U64, macs),
    TOTAL(U64, executed_macs),
    TOTAL(REAL, utilization),
    TOTAL(REAL, tensor_active),
    TOTAL(U64, dram_read_bytes),
    TOTAL(U64, dram_write_bytes),
    TOTAL(U64, dma_bytes),
    TOTAL(U64, sram_read_bytes),
    TOTAL(U64, sram_write_bytes),
    TOTAL(REAL, energy_pj),
    TOTAL(REAL, avg_power_mw),
    TOTAL(REAL, peak_power_mw),
    TOTAL(REAL, inferences_per_s),
    TOTAL(REAL, tokens_per_s),
    TOTAL(U64, events),
    TOTAL(U64, fast_forwarded),
    TOTAL(REAL, wall_s),
};

static const struct field layer_fields[] = {
    ROW(tsr_run_layer, TEXT, name),
    ROW(tsr_run_layer, TEXT, op),
    ROW(tsr_run_layer, U64, m),
    ROW(tsr_run_layer, U64, n),
    ROW(tsr_run_layer, U64, k),
    ROW(tsr_run_layer, U64, count),
    ROW(tsr_run_layer, TEXT, kernel),
    ROW(tsr_run_layer, TEXT, mapping),
    ROW(tsr_run_layer, TEXT, format_a),
    ROW(tsr_run_layer, TEXT, format_b),
    ROW(tsr_run_layer, TEXT, format_acc),
    ROW(tsr_run_layer, TEXT, format_out),
    ROW(tsr_run_layer, TEXT, sparse),
    ROW(tsr_run_layer, TEXT, requested_kernel),
    ROW(tsr_run_layer, TEXT, fallback_reason),
    ROW(tsr_run_layer, U64, folds),
    ROW(tsr_run_layer, U64, start_cycles),
    ROW(tsr_run_layer, U64, cycles),
    ROW(tsr_run_layer, REAL, time_s),
    ROW(tsr_run_layer, U64, compute_cycles),
    ROW(tsr_run_layer, U64, stall_cycles),
    ROW(tsr_run_layer, REAL, utilization),
    ROW(tsr_run_layer, REAL, mapping_efficiency),
    ROW(tsr_run_layer, U64, macs),
    ROW(tsr_run_layer, U64, executed_macs),
    ROW(tsr_run_layer, REAL, peak_macs_per_cycle),
    ROW(tsr_run_layer, U64, dram_read_bytes),
    ROW(tsr_run_layer, U64, dram_write_bytes),
    ROW(tsr_run_layer, U64, dma_bytes),
    ROW(tsr_run_layer, U64, sram_read_bytes),
    ROW(tsr_run_layer, U64, sram_write_bytes),
    ROW(tsr_run_layer, U64, compulsory_bytes),
    ROW(tsr_run_layer, U64, transfers),
    ROW(tsr_run_layer, U64, tile_active_cycles),
    ROW(tsr_run_layer, REAL, energy_pj),
    ROW(tsr_run_layer, U64, tenant),
    ROW(tsr_run_layer, U64, first_core),
    ROW(tsr_run_layer, U64, cores),
    ROW(tsr_run_layer, U64, step),
};

static const struct field tenant_fields[] = {
    ROW(tsr_run_tenant_record, TEXT, workload),
    ROW(tsr_run_tenant_record, U64, first_core),
    ROW(tsr_run_tenant_record, U64, cores),
};

static const struct field counter_fields[] = {
    ROW(tsr_run_counter, TEXT, instance),
    ROW(tsr_run_counter, TEXT, counter),
    ROW(tsr_run_counter, U64, value),
};
static const struct field moved_fields[] = {
    ROW(tsr_run_moved, TEXT, instance),
    ROW(tsr_run_moved, U64, start_cycles),
    ROW(tsr_run_moved, U64, cycles),
    ROW(tsr_run_moved, U64, bytes),
};
static const struct field quality_fields[] = {
    ROW(tsr_run_quality, TEXT, metric),      ROW(tsr_run_quality, TEXT, tensor),
    ROW(tsr_run_quality, REAL, value),       ROW(tsr_run_quality, U64, n),
    ROW(tsr_run_quality, REAL, limit_value), ROW(tsr_run_quality, U64, met),
};
static const struct field resource_fields[] = {
    ROW(tsr_run_resource, TEXT, instance),   ROW(tsr_run_resource, TEXT, resource),
    ROW(tsr_run_resource, U64, bytes),       ROW(tsr_run_resource, U64, busy_cycles),
    ROW(tsr_run_resource, U64, wait_cycles),
};

static const struct field stall_fields[] = {
    ROW(tsr_run_stall, TEXT, cause),
    ROW(tsr_run_stall, U64, cycles),
};

static const struct field unit_fields[] = {
    ROW(tsr_run_unit, TEXT, unit),
    ROW(tsr_run_unit, TEXT, state),
    ROW(tsr_run_unit, U64, cycles),
};

static const struct field segment_fields[] = {
    ROW(tsr_run_segment, TEXT, unit),         ROW(tsr_run_segment, TEXT, state),
    ROW(tsr_run_segment, U64, start_cycles),  ROW(tsr_run_segment, U64, duration_cycles),
    ROW(tsr_run_segment, U64, period_cycles), ROW(tsr_run_segment, U64, repeats),
};

static const struct field numeric_fields[] = {
    ROW(tsr_run_numeric, TEXT, tensor),
    ROW(tsr_run_numeric, U64, k_from),
    ROW(tsr_run_numeric, U64, k_to),
    ROW(tsr_run_numeric, U64, checked_elems),
    ROW(tsr_run_numeric, REAL, max_ulp),
    ROW(tsr_run_numeric, REAL, mean_ulp),
    ROW(tsr_run_numeric, REAL, norm_err),
    ROW(tsr_run_numeric, REAL, sqnr_db),
    ROW(tsr_run_numeric, REAL, bias),
    ROW(tsr_run_numeric, U64, overflow),
    ROW(tsr_run_numeric, U64, underflow),
    ROW(tsr_run_numeric, U64, saturated),
    ROW(tsr_run_numeric, U64, subnormal_in),
    ROW(tsr_run_numeric, U64, nan),
    ROW(tsr_run_numeric, U64, swamped_terms),
    ROW(tsr_run_numeric, REAL, max_comp),
    ROW(tsr_run_numeric, REAL, mean_comp),
    ROW(tsr_run_numeric, REAL, bound),
    ROW(tsr_run_numeric, U64, terms),
    ROW(tsr_run_numeric, U64, truncated_terms),
    ROW(tsr_run_numeric, U64, acc_steps),
    ROW(tsr_run_numeric, U64, absorbed_acc),
    ROW(tsr_run_numeric, U64, cancelled_steps),
    ROW(tsr_run_numeric, U64, cancel_bits),
    ROW(tsr_run_numeric, U64, cancel_max),
};

static const struct field eval_fields[] = {
    ROW(tsr_eval_record, TEXT, version),
    ROW(tsr_eval_record, BITS, seed),
    ROW(tsr_eval_record, U64, m),
    ROW(tsr_eval_record, U64, n),
};

static const struct field point_fields[] = {
    ROW(tsr_eval_point, TEXT, unit),
    ROW(tsr_eval_point, TEXT, format_a),
    ROW(tsr_eval_point, TEXT, format_b),
    ROW(tsr_eval_point, TEXT, format_acc),
    ROW(tsr_eval_point, TEXT, dist),
    ROW(tsr_eval_point, U64, k),
    ROW(tsr_eval_point, U64, checked_elems),
    ROW(tsr_eval_point, REAL, max_ulp),
    ROW(tsr_eval_point, REAL, mean_ulp),
    ROW(tsr_eval_point, REAL, norm_err),
    ROW(tsr_eval_point, REAL, sqnr_db),
    ROW(tsr_eval_point, REAL, bias),
    ROW(tsr_eval_point, REAL, max_comp),
    ROW(tsr_eval_point, REAL, mean_comp),
    ROW(tsr_eval_point, REAL, bound),
    ROW(tsr_eval_point, U64, overflow),
    ROW(tsr_eval_point, U64, underflow),
    ROW(tsr_eval_point, U64, saturated),
    ROW(tsr_eval_point, U64, subnormal_in),
    ROW(tsr_eval_point, U64, nan),
    ROW(tsr_eval_point, U64, terms),
    ROW(tsr_eval_point, U64, swamped_terms),
    ROW(tsr_eval_point, U64, truncated_terms),
    ROW(tsr_eval_point, U64, acc_steps),
    ROW(tsr_eval_point, U64, absorbed_acc),
    ROW(tsr_eval_point, U64, cancelled_steps),
    ROW(tsr_eval_point, U64, cancel_bits),
    ROW(tsr_eval_point, U64, cancel_max),
    ROW(tsr_eval_point, REAL, quantisation_err),
    ROW(tsr_eval_point, REAL, unquantised_err),
};

struct bin {
  const char *kind; /* of a study's histogram */
  uint64_t bin;
  double lo, hi;
  uint64_t count;
};

static const struct field hist_fields[] = {
    ROW(bin, U64, bin),
    ROW(bin, REAL, lo),
    ROW(bin, REAL, hi),
    ROW(bin, U64, count),
};

static const struct field eval_hist_fields[] = {
    ROW(bin, TEXT, kind), ROW(bin, U64, bin),   ROW(bin, REAL, lo),
    ROW(bin, REAL, hi),   ROW(bin, U64, count),
};

/* The leading columns `keys` come from the caller, not from the record. */
enum table_id {
  RUN,
  TENANT,
  RESOURCE,
  COUNTER,
  MOVED,
  QUALITY,
  LAYER,
  STALL,
  UNIT,
  SEGMENT,
  NUMERIC,
  HIST,
  EVAL,
  POINT,
  EVAL_HIST,
  TABLES
};
enum { KEYS_MAX = 3 };
static const struct table {
  const char *name, *keys;
  int n_keys; /* at most KEYS_MAX */
  const struct field *fields;
  size_t n_fields;
} tables[TABLES] = {
#define TABLE(name, keys, n_keys, f) \
  { name, keys, n_keys, f, sizeof f / sizeof f[0] }
    [RUN] = TABLE("run", "created_utc", 0, run_fields),
    [TENANT] = TABLE("run_tenant", "run_id, tenant", 2, tenant_fields),
    [RESOURCE] = TABLE("run_resource", "run_id", 1, resource_fields),
    [COUNTER] = TABLE("run_counter", "run_id", 1, counter_fields),
    [MOVED] = TABLE("run_moved", "run_id", 1, moved_fields),
    [QUALITY] = TABLE("run_quality", "run_id, seq", 2, quality_fields),
    [LAYER] = TABLE("layer", "run_id, layer", 2, layer_fields),
    [STALL] = TABLE("layer_stall", "run_id, layer", 2, stall_fields),
    [UNIT] = TABLE("layer_unit", "run_id, layer", 2, unit_fields),
    [SEGMENT] = TABLE("segment", "run_id, layer, seq", 3, segment_fields),
    [NUMERIC] = TABLE("numeric", "run_id, layer, seq", 3, numeric_fields),
    [HIST] = TABLE("numeric_hist", "run_id, layer, seq", 3, hist_fields),
    [EVAL] = TABLE("mma_eval", "created_utc", 0, eval_fields),
    [POINT] = TABLE("mma_eval_point", "eval_id, seq", 2, point_fields),
    [EVAL_HIST] = TABLE("mma_eval_hist", "eval_id, seq", 2, eval_hist_fields),
};

struct put {
  struct tsr_store *s;
  struct tsr_err *err;
  sqlite3_stmt *st[TABLES];
};

static enum tsr_status prepare(struct put *p, enum table_id id) {
  const struct table *t = &tables[id];
  if (p->st[id]) return TSR_OK;
  struct tsr_str sql = TSR_STR_INIT;
  tsr_str_addf(&sql, "INSERT INTO %s(%s", t->name, t->keys);
  for (size_t i = 0; i < t->n_fields; i++) tsr_str_addf(&sql, ", %s", t->fields[i].column);
  /* The date is the one value of a run that a clock gives. */
  bool dated = id == RUN || id == EVAL;
  tsr_str_add(&sql, dated ? ") VALUES(strftime('%Y-%m-%dT%H:%M:%SZ', 'now')" : ") VALUES(?");
  for (size_t i = 1; i < t->n_fields + (size_t)t->n_keys + dated; i++) tsr_str_add(&sql, ", ?");
  tsr_str_add(&sql, ")");
  char *text = tsr_str_take(&sql);
  if (!text) return tsr_err_nomem(p->err);
  int rc = sqlite3_prepare_v2(p->s->db, text, -1, &p->st[id], NULL);
  tsr_mem_free(text);
  return rc == SQLITE_OK ? TSR_OK : tsri_store_fail(p->s, rc, "writing the run", p->err);
}

/* Binds one member; SQLITE_RANGE stands for an integer the store cannot hold. */
static int bind(sqlite3_stmt *st, int i, const struct field *f, const void *record) {
  const char *p = (const char *)record + f->at;
  const char *text;
  uint64_t u;
  double d;
  switch (f->kind) {
  case TEXT:
    memcpy(&text, p, sizeof text);
    return sqlite3_bind_text(st, i, text, -1, SQLITE_STATIC); /* NULL binds NULL */
  case REAL: memcpy(&d, p, sizeof d); return sqlite3_bind_double(st, i, d); /* NAN binds NULL */
  case U64:
    memcpy(&u, p, sizeof u);
    if (u == TSR_STORE_NULL) return sqlite3_bind_null(st, i);
    return u > INT64_MAX ? SQLITE_RANGE : sqlite3_bind_int64(st, i, (int64_t)u);
  case BITS: memcpy(&u, p, sizeof u); return sqlite3_bind_int64(st, i, (int64_t)u);
  }
  return SQLITE_MISUSE;
}

/* keys: KEYS_MAX of them, of which the table takes what it needs; NULL: it needs none. */
static enum tsr_status insert(struct put *p, enum table_id id, const uint64_t *keys,
                              const void *record) {
  const struct table *t = &tables[id];
  const int n_keys = t->n_keys;
  TSR_CHECK(n_keys <= (keys ? KEYS_MAX : 0));
  enum tsr_status status = prepare(p, id);
  if (status != TSR_OK) return status;
  sqlite3_stmt *st = p->st[id];
  int rc = SQLITE_OK;
  for (int i = 0; rc == SQLITE_OK && i < n_keys; i++)
    rc = keys[i] > INT64_MAX ? SQLITE_RANGE : sqlite3_bind_int64(st, i + 1, (int64_t)keys[i]);
  for (size_t i = 0; rc == SQLITE_OK && i < t->n_fields; i++) {
    rc = bind(st, n_keys + 1 + (int)i, &t->fields[i], record);
    if (rc == SQLITE_RANGE)
      return tsr_err_set(p->err, TSR_STORE,
                         "store '%s': %s.%s passes 2^63 - 1, the largest number a store holds",
                         p->s->path, t->name, t->fields[i].column);
  }
  if (rc == SQLITE_OK) rc = sqlite3_step(st);
  if (rc != SQLITE_DONE) {
    status = tsri_store_fail(p->s, rc, "writing the run", p->err);
    sqlite3_reset(st);
    return status;
  }
  return sqlite3_reset(st) == SQLITE_OK ? TSR_OK : TSR_STORE;
}

/* Finds the text among those of its hash, or adds it; *id is its row. */
static enum tsr_status intern(struct put *p, const char *body, int64_t *id) {
  enum { FIND, ADD };
  static const char *const sql[] = {"SELECT text_id FROM text WHERE hash = ?1 AND body = ?2",
                                    "INSERT INTO text(hash, body) VALUES(?1, ?2)"};
  char hash[17];
  sqlite3_snprintf(sizeof hash, hash, "%016llx",
                   (unsigned long long)tsr_fnv1a(TSR_FNV_INIT, body, strlen(body)));
  int rc = SQLITE_DONE;
  for (int i = FIND; i <= ADD && rc == SQLITE_DONE; i++) {
    sqlite3_stmt *st = NULL;
    rc = sqlite3_prepare_v2(p->s->db, sql[i], -1, &st, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(st, 1, hash, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(st, 2, body, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) *id = sqlite3_column_int64(st, 0);
    if (rc == SQLITE_DONE && i == ADD) *id = sqlite3_last_insert_rowid(p->s->db);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
      enum tsr_status status = tsri_store_fail(p->s, rc, "writing an input", p->err);
      sqlite3_finalize(st);
      return status;
    }
    sqlite3_finalize(st);
  }
  return TSR_OK;
}

static enum tsr_status put_input(struct put *p, int64_t run, size_t seq,
                                 const struct tsr_run_input *in) {
  int64_t text_id = 0;
  enum tsr_status status = intern(p, in->text, &text_id);
  if (status != TSR_OK) return status;
  sqlite3_stmt *st = NULL;
  int rc = sqlite3_prepare_v2(p->s->db,
                              "INSERT INTO run_input(run_id, seq, role, name, text_id) "
                              "VALUES(?, ?, ?, ?, ?)",
                              -1, &st, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int64(st, 1, run);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int64(st, 2, (int64_t)seq);
  if (rc == SQLITE_OK) rc = sqlite3_bind_text(st, 3, in->role, -1, SQLITE_STATIC);
  if (rc == SQLITE_OK) rc = sqlite3_bind_text(st, 4, in->name, -1, SQLITE_STATIC);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int64(st, 5, text_id);
  if (rc == SQLITE_OK) rc = sqlite3_step(st);
  if (rc != SQLITE_DONE) status = tsri_store_fail(p->s, rc, "writing an input", p->err);
  sqlite3_finalize(st);
  return status;
}

/* Bins without a count are not stored. */
static enum tsr_status put_hist(struct put *p, enum table_id id, const uint64_t *keys,
                                const char *kind, size_t n, const uint64_t *counts,
                                const struct tsr_hist_edge *edges) {
  enum tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < n; i++) {
    struct bin b = {kind, i, edges[i].lo, edges[i].hi, counts[i]};
    if (b.count) status = insert(p, id, keys, &b);
  }
  return status;
}

static enum tsr_status put_layer(struct put *p, uint64_t run, const struct tsr_run_layer *l) {
  uint64_t keys[KEYS_MAX] = {run, l->index, 0};
  enum tsr_status status = insert(p, LAYER, keys, l);
  for (size_t i = 0; status == TSR_OK && i < l->n_stalls; i++)
    if (l->stalls[i].cycles) status = insert(p, STALL, keys, &l->stalls[i]); /* absent = 0 */
  for (size_t i = 0; status == TSR_OK && i < l->n_units; i++)
    status = insert(p, UNIT, keys, &l->units[i]);
  for (size_t i = 0; status == TSR_OK && i < l->n_segments; i++) {
    keys[2] = i;
    if (l->segments[i].repeats) status = insert(p, SEGMENT, keys, &l->segments[i]);
  }
  for (size_t i = 0; status == TSR_OK && i < l->n_numeric; i++) {
    const struct tsr_run_numeric *x = &l->numeric[i];
    keys[2] = i;
    status = insert(p, NUMERIC, keys, x);
    if (status == TSR_OK)
      status = put_hist(p, HIST, keys, NULL, x->hist ? x->n_hist : 0, x->hist, x->hist_edges);
  }
  return status;
}

static enum tsr_status put_run_rows(struct put *p, const void *record, int64_t *run) {
  const struct tsr_run_record *r = record;
  enum tsr_status status = insert(p, RUN, NULL, r);
  if (status != TSR_OK) return status;
  *run = sqlite3_last_insert_rowid(p->s->db);
  for (size_t i = 0; status == TSR_OK && i < r->n_inputs; i++)
    status = put_input(p, *run, i, &r->inputs[i]);
  uint64_t keys[KEYS_MAX] = {(uint64_t)*run};
  for (size_t i = 0; status == TSR_OK && i < r->n_tenants; i++) {
    keys[1] = i;
    status = insert(p, TENANT, keys, &r->tenants[i]);
  }
  for (size_t i = 0; status == TSR_OK && i < r->n_layers; i++)
    status = put_layer(p, (uint64_t)*run, &r->layers[i]);
  for (size_t i = 0; status == TSR_OK && i < r->n_resources; i++)
    status = insert(p, RESOURCE, keys, &r->resources[i]);
  for (size_t i = 0; status == TSR_OK && i < r->n_counters; i++)
    status = insert(p, COUNTER, keys, &r->counters[i]);
  for (size_t i = 0; status == TSR_OK && i < r->n_moved; i++)
    status = insert(p, MOVED, keys, &r->moved[i]);
  for (size_t i = 0; status == TSR_OK && i < r->n_quality; i++) {
    keys[1] = i;
    status = insert(p, QUALITY, keys, &r->quality[i]);
  }
  return status;
}

/* A record in one transaction. */
static enum tsr_status put_whole(struct tsr_store *s, const char *what,
                                 enum tsr_status (*rows)(struct put *, const void *, int64_t *),
                                 const void *record, uint64_t *id_out, struct tsr_err *err) {
  tsri_store_rollback(s); /* what an earlier failure may have left */
  struct put p = {s, err, {NULL}};
  int64_t id = 0;
  enum tsr_status status = tsri_store_exec(s, "BEGIN IMMEDIATE", "starting to write", err);
  if (status == TSR_OK) status = rows(&p, record, &id);
  for (int i = 0; i < TABLES; i++) sqlite3_finalize(p.st[i]);
  if (status == TSR_OK) status = tsri_store_exec(s, "COMMIT", what, err);
  if (status != TSR_OK) {
    tsri_store_rollback(s);
    return status;
  }
  *id_out = (uint64_t)id;
  return TSR_OK;
}

enum tsr_status tsr_store_put_run(struct tsr_store *s, const struct tsr_run_record *r,
                                  uint64_t *run_id, struct tsr_err *err) {
  if (r->name && !tsr_store_run_name_valid(r->name))
    return tsr_err_set(err, TSR_INPUT,
                       "a run cannot be named '%s'; expected a word that is no number and not "
                       "'last'",
                       r->name);
  return put_whole(s, "writing the run", put_run_rows, r, run_id, err);
}

static enum tsr_status put_eval_rows(struct put *p, const void *record, int64_t *id) {
  const struct tsr_eval_record *r = record;
  enum tsr_status status = insert(p, EVAL, NULL, r);
  if (status != TSR_OK) return status;
  *id = sqlite3_last_insert_rowid(p->s->db);
  for (size_t i = 0; status == TSR_OK && i < r->n_points; i++) {
    const struct tsr_eval_point *x = &r->points[i];
    const uint64_t keys[KEYS_MAX] = {(uint64_t)*id, i};
    status = insert(p, POINT, keys, x);
    if (status == TSR_OK)
      status = put_hist(p, EVAL_HIST, keys, "ulp", x->n_ulp, x->ulp, x->ulp_edges);
    if (status == TSR_OK)
      status =
          put_hist(p, EVAL_HIST, keys, "cancellation", x->n_cancel, x->cancel, x->cancel_edges);
  }
  return status;
}

enum tsr_status tsr_store_put_eval(struct tsr_store *s, const struct tsr_eval_record *r,
                                   uint64_t *eval_id, struct tsr_err *err) {
  return put_whole(s, "writing the study", put_eval_rows, r, eval_id, err);
}
