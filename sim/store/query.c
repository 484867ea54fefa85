/* Reading: a prepared statement without SQLite's header. */
#include <math.h>

#include "sim/base/mem.h"
#include "sim/store/store_int.h"

struct tsr_query {
  struct tsr_store *s; /* borrowed */
  sqlite3_stmt *st;
  int rc; /* of a binding that failed; told at the next step */
};

enum tsr_status tsr_store_query(struct tsr_store *s, const char *sql, struct tsr_query **out,
                                struct tsr_err *err) {
  struct tsr_query *q = tsr_mem_alloc(sizeof *q);
  if (!q) return tsr_err_nomem(err);
  q->s = s;
  int rc = sqlite3_prepare_v2(s->db, sql, -1, &q->st, NULL);
  if (rc != SQLITE_OK) {
    tsr_mem_free(q);
    return tsri_store_fail(s, rc, "reading", err);
  }
  *out = q;
  return TSR_OK;
}

static void note(struct tsr_query *q, int rc) {
  if (q->rc == SQLITE_OK) q->rc = rc;
}

void tsr_query_bind_u64(struct tsr_query *q, int index1, uint64_t v) {
  note(q, v == TSR_STORE_NULL ? sqlite3_bind_null(q->st, index1)
                              : sqlite3_bind_int64(q->st, index1, (int64_t)v));
}

void tsr_query_bind_text(struct tsr_query *q, int index1, const char *v) {
  note(q, sqlite3_bind_text(q->st, index1, v, -1, SQLITE_TRANSIENT));
}

enum tsr_status tsr_query_step(struct tsr_query *q, bool *row, struct tsr_err *err) {
  if (q->rc != SQLITE_OK) return tsri_store_fail(q->s, q->rc, "reading", err);
  int rc = sqlite3_step(q->st);
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) return tsri_store_fail(q->s, rc, "reading", err);
  *row = rc == SQLITE_ROW;
  return TSR_OK;
}

int tsr_query_columns(const struct tsr_query *q) {
  return sqlite3_column_count(q->st);
}
const char *tsr_query_column_name(const struct tsr_query *q, int i) {
  return sqlite3_column_name(q->st, i);
}
bool tsr_query_is_null(const struct tsr_query *q, int i) {
  return sqlite3_column_type(q->st, i) == SQLITE_NULL;
}
bool tsr_query_is_text(const struct tsr_query *q, int i) {
  return sqlite3_column_type(q->st, i) == SQLITE_TEXT;
}
bool tsr_query_is_real(const struct tsr_query *q, int i) {
  return sqlite3_column_type(q->st, i) == SQLITE_FLOAT;
}
uint64_t tsr_query_u64(const struct tsr_query *q, int i) {
  return tsr_query_is_null(q, i) ? TSR_STORE_NULL : (uint64_t)sqlite3_column_int64(q->st, i);
}
double tsr_query_double(const struct tsr_query *q, int i) {
  return tsr_query_is_null(q, i) ? (double)NAN : sqlite3_column_double(q->st, i);
}
const char *tsr_query_text(const struct tsr_query *q, int i) {
  return (const char *)sqlite3_column_text(q->st, i);
}

void tsr_query_close(struct tsr_query *q) {
  if (!q) return;
  sqlite3_finalize(q->st);
  tsr_mem_free(q);
}
