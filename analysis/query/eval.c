/* Error studies of matrix units as JSON, tables and CSV. */
#include <inttypes.h>

#include "analysis/query/query_int.h"

static const char groups_sql[] =
    "SELECT unit, dist, format_a, format_b, format_acc, m, n FROM v_mma_eval WHERE eval = ?1 "
    "GROUP BY unit, dist ORDER BY min(seq)";
static const char text_sql[] =
    "SELECT k, checked_elems, max_ulp, mean_ulp, bias, norm_err, max_comp, bound, "
    "CASE WHEN terms > 0 THEN 100.0 * swamped_terms / terms END, "
    "CASE WHEN acc_steps > 0 THEN 100.0 * absorbed_acc / acc_steps END, overflow "
    "FROM v_mma_eval WHERE eval = ?1 AND unit = ?2 AND dist = ?3 ORDER BY seq";
static const struct tsri_heading headings[] = {
    {"K", TSRI_RIGHT, false},       {"elems", TSRI_RIGHT, false}, {"max ULP", TSRI_G3, false},
    {"avg ULP", TSRI_G3, false},    {"bias", TSRI_G3, false},     {"norm err", TSRI_G3, false},
    {"max comp", TSRI_G3, false},   {"bound", TSRI_G3, false},    {"swamped %", TSRI_G3, false},
    {"absorbed %", TSRI_G3, false}, {"over", TSRI_RIGHT, false}};

#define POINT                                                                             \
  "unit, format_a, format_b, format_acc, dist, k, checked_elems, max_ulp, mean_ulp, "     \
  "norm_err, sqnr_db, bias, max_comp, mean_comp, bound, overflow, underflow, saturated, " \
  "subnormal_in, nan, terms, swamped_terms, truncated_terms, acc_steps, absorbed_acc, "   \
  "cancelled_steps, cancel_bits, cancel_max, quantisation_err, unquantised_err"
static const char point_sql[] =
    "SELECT " POINT ", seq FROM v_mma_eval WHERE eval = ?1 ORDER BY seq";
static const char csv_sql[] = "SELECT " POINT " FROM v_mma_eval WHERE eval = ?1 ORDER BY seq";
enum { N_POINT = 30 };
static const char head_sql[] =
    "SELECT m, n, seed, version FROM v_mma_eval WHERE eval = ?1 LIMIT 1";
static const char hist_sql[] = "SELECT kind, lo, hi, count FROM v_mma_eval_hist "
                               "WHERE eval = ?1 AND seq = ?2 ORDER BY kind, bin";

static enum tsr_status begin(struct tsr_store *s, const char *sql, uint64_t id,
                             struct tsr_query **q, struct tsr_err *err) {
  enum tsr_status st = tsr_store_query(s, sql, q, err);
  if (!st) tsr_query_bind_u64(*q, 1, id);
  return st;
}

static enum tsr_status add_head(struct tsr_store *s, uint64_t id, struct tsr_str *out,
                                struct tsr_err *err) {
  struct tsr_query *q = NULL;
  bool row = false;
  enum tsr_status st = begin(s, head_sql, id, &q, err);
  if (st) return st;
  st = tsr_query_step(q, &row, err);
  if (!st && !row)
    st = tsr_err_set(err, TSR_INPUT, "there is no study %" PRIu64 " in the store", id);
  if (!st) tsri_json_members(out, q, 0, tsr_query_columns(q));
  tsr_query_close(q);
  return st;
}

/* One array a kind, each bin a triple. */
static enum tsr_status add_hist(struct tsr_store *s, uint64_t id, uint64_t seq,
                                struct tsr_str *out, struct tsr_err *err) {
  struct tsr_query *q = NULL;
  enum tsr_status st = begin(s, hist_sql, id, &q, err);
  if (st) return st;
  tsr_query_bind_u64(q, 2, seq);
  bool row = false;
  tsr_str_add(out, ", \"histogram\": [");
  for (size_t n = 0; !(st = tsr_query_step(q, &row, err)) && row; n++) {
    tsr_str_add(out, n ? ", {" : "{");
    tsri_json_members(out, q, 0, 4);
    tsr_str_add(out, "}");
  }
  tsr_str_add(out, "]");
  tsr_query_close(q);
  return st;
}

static enum tsr_status add_points(struct tsr_store *s, uint64_t id, struct tsr_str *out,
                                  struct tsr_err *err) {
  struct tsr_query *q = NULL;
  enum tsr_status st = begin(s, point_sql, id, &q, err);
  if (st) return st;
  bool row = false;
  tsr_str_add(out, ",\n \"points\": [");
  for (size_t n = 0; !(st = tsr_query_step(q, &row, err)) && row; n++) {
    tsr_str_add(out, n ? ",\n  {" : "\n  {");
    tsri_json_members(out, q, 0, N_POINT);
    st = add_hist(s, id, tsr_query_u64(q, N_POINT), out, err);
    if (st) break;
    tsr_str_add(out, "}");
  }
  tsr_str_add(out, "]}");
  tsr_query_close(q);
  return st;
}

static enum tsr_status json(struct tsr_store *s, uint64_t id, struct tsr_str *out,
                            struct tsr_err *err) {
  tsr_str_addf(out, "{\"eval_id\": %" PRIu64 ", ", id);
  enum tsr_status st = add_head(s, id, out, err);
  return st ? st : add_points(s, id, out, err);
}

static enum tsr_status csv(struct tsr_store *s, uint64_t id, struct tsr_str *out,
                           struct tsr_err *err) {
  struct tsr_query *q = NULL;
  enum tsr_status st = begin(s, csv_sql, id, &q, err);
  if (st) return st;
  st = tsri_table_csv(q, out, err);
  tsr_query_close(q);
  return st;
}

/* A line that names the unit and the distribution, then a row for each K. */
static enum tsr_status group(struct tsr_store *s, uint64_t id, const struct tsr_query *g,
                             bool first, struct tsr_str *out, struct tsr_err *err) {
  struct tsr_query *q = NULL;
  tsr_str_addf(out, "%s%s, ", first ? "" : "\n", tsr_query_text(g, 0));
  tsr_str_addf(out, "%s by ", tsr_query_text(g, 2));
  tsr_str_addf(out, "%s into ", tsr_query_text(g, 3));
  tsr_str_addf(out, "%s, ", tsr_query_text(g, 4));
  tsr_str_addf(out, "%s, %" PRIu64 "x%" PRIu64 " results\n", tsr_query_text(g, 1),
               tsr_query_u64(g, 5), tsr_query_u64(g, 6));
  enum tsr_status st = begin(s, text_sql, id, &q, err);
  if (st) return st;
  tsr_query_bind_text(q, 2, tsr_query_text(g, 0));
  tsr_query_bind_text(q, 3, tsr_query_text(g, 1));
  st = tsri_table_text(q, headings, out, err);
  tsr_query_close(q);
  return st;
}

static enum tsr_status table(struct tsr_store *s, uint64_t id, struct tsr_str *out,
                             struct tsr_err *err) {
  struct tsr_query *g = NULL;
  enum tsr_status st = begin(s, groups_sql, id, &g, err);
  if (st) return st;
  bool row = false, any = false;
  while (!(st = tsr_query_step(g, &row, err)) && row) {
    st = group(s, id, g, !any, out, err);
    any = true;
    if (st) break;
  }
  tsr_query_close(g);
  if (!st && !any)
    st = tsr_err_set(err, TSR_INPUT, "there is no study %" PRIu64 " in the store", id);
  return st;
}

enum tsr_status tsr_query_eval(struct tsr_store *s, uint64_t eval_id,
                               enum tsr_query_format format, char **out, struct tsr_err *err) {
  struct tsr_str text = TSR_STR_INIT;
  enum tsr_status st = format == TSR_QUERY_JSON  ? json(s, eval_id, &text, err)
                       : format == TSR_QUERY_CSV ? csv(s, eval_id, &text, err)
                                                 : table(s, eval_id, &text, err);
  if (!st && format == TSR_QUERY_JSON) return tsri_take(&text, out, err);
  char *taken = st ? NULL : tsr_str_take(&text);
  if (!st && !taken) st = tsr_err_nomem(err);
  tsr_str_fini(&text);
  if (!st) *out = taken;
  return st;
}
