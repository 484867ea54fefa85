/* Whose file is it, and is it of our time: application_id, user_version, and the
 * numbered migrations that bring an older file forward. */
#include <time.h>

#include "sim/base/mem.h"
#include "sim/store/store_int.h"

struct ident {
  int64_t app, version, objects; /* objects: tables, indices, views */
};

static enum tsr_status ident_read(struct tsr_store *s, struct ident *id, struct tsr_err *err) {
  enum tsr_status status =
      tsri_store_int(s, "SELECT count(*) FROM sqlite_master", &id->objects, err);
  if (status == TSR_OK) status = tsri_store_int(s, "PRAGMA application_id", &id->app, err);
  if (status == TSR_OK) status = tsri_store_int(s, "PRAGMA user_version", &id->version, err);
  return status;
}

static int64_t newest(const struct tsr_embedded *schema) {
  int64_t n = 0;
  while (schema[n].name) n++;
  return n;
}

/* A file without objects and marks: just made, or its maker was killed early. */
static bool is_new(const struct ident *id) {
  return id->app == 0 && id->version == 0 && id->objects == 0;
}

static enum tsr_status ident_check(struct tsr_store *s, const struct ident *id, int64_t ours,
                                   struct tsr_err *err) {
  if (is_new(id)) {
    if (s->mode == TSR_STORE_WRITE) return TSR_OK;
    tsr_err_set(err, TSR_STORE, "store '%s' is empty", s->path);
    tsr_err_hint(err, "`tessera run` writes a run into it");
    return TSR_STORE;
  }
  if (id->app != TSR_STORE_APP_ID) {
    tsr_err_set(err, TSR_STORE,
                "'%s' is a SQLite file of another program; expected application_id 0x%08x, "
                "got 0x%08llx",
                s->path, (unsigned)TSR_STORE_APP_ID, (unsigned long long)(uint32_t)id->app);
    tsr_err_hint(err, "name a store with --db, or a path that does not exist yet");
    return TSR_STORE;
  }
  /* 1 is the first schema that a store is marked with. */
  if (id->version < 1) {
    tsr_err_set(err, TSR_STORE,
                "store '%s' is damaged: expected a schema from 1 to %lld, got %lld", s->path,
                (long long)ours, (long long)id->version);
    tsr_err_hint(err, "name another store with --db");
    return TSR_STORE;
  }
  if (id->version > ours) {
    tsr_err_set(err, TSR_STORE,
                "store '%s': store schema %lld is newer than this program's %lld", s->path,
                (long long)id->version, (long long)ours);
    tsr_err_hint(err,
                 "use the tessera that wrote it or a newer one, or another store with --db");
    return TSR_STORE;
  }
  if (id->version < ours && s->mode == TSR_STORE_READ) {
    tsr_err_set(err, TSR_STORE,
                "store '%s': store schema %lld is older than this program's %lld", s->path,
                (long long)id->version, (long long)ours);
    tsr_err_hint(err, "`tessera db migrate` brings it forward");
    return TSR_STORE;
  }
  return TSR_OK;
}

/* The journal mode and page size of a new file.  Two makers may meet here, and
 * SQLite does not call the busy handler at every step of this change. */
static enum tsr_status make_wal(struct tsr_store *s, struct tsr_err *err) {
  enum { TRIES = 2000 };
  const struct timespec pause = {0, 10000000}; /* 10 ms: 20 s in all */
  int rc = sqlite3_exec(s->db, "PRAGMA page_size = 16384", NULL, NULL, NULL);
  for (int i = 0; rc == SQLITE_OK && i < TRIES; i++) {
    rc = sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    if ((rc & 0xff) != SQLITE_BUSY) break;
    if (i + 1 < TRIES) rc = SQLITE_OK;
    nanosleep(&pause, NULL);
  }
  return rc == SQLITE_OK ? TSR_OK : tsri_store_fail(s, rc, "making the store", err);
}

static enum tsr_status check_wal(struct tsr_store *s, struct tsr_err *err) {
  sqlite3_stmt *st = NULL;
  int rc = sqlite3_prepare_v2(s->db, "PRAGMA journal_mode", -1, &st, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_step(st);
  enum tsr_status status = TSR_OK;
  if (rc != SQLITE_ROW) {
    status = tsri_store_fail(s, rc, "reading", err);
  } else if (sqlite3_stricmp((const char *)sqlite3_column_text(st, 0), "wal") != 0) {
    status = tsr_err_set(err, TSR_STORE,
                         "store '%s': the file system cannot hold a write-ahead log", s->path);
    tsr_err_hint(err, "name a path on a local disk with --db");
  }
  sqlite3_finalize(st);
  return status;
}

/* One migration in one transaction; another process may have done it while we
 * waited for the lock, so the version is read again under the lock. */
static enum tsr_status step(struct tsr_store *s, const struct tsr_embedded *schema,
                            struct tsr_err *err) {
  enum tsr_status status = tsri_store_exec(s, "BEGIN IMMEDIATE", "migrating", err);
  struct ident id;
  if (status == TSR_OK) status = ident_read(s, &id, err);
  if (status == TSR_OK) status = ident_check(s, &id, newest(schema), err);
  if (status == TSR_OK && id.version < newest(schema)) {
    status = tsri_store_exec(s, schema[id.version].text, schema[id.version].name, err);
    char mark[96];
    sqlite3_snprintf(sizeof mark, mark,
                     "PRAGMA application_id = %d; PRAGMA user_version = %lld", TSR_STORE_APP_ID,
                     (long long)id.version + 1);
    if (status == TSR_OK) status = tsri_store_exec(s, mark, "migrating", err);
  }
  if (status == TSR_OK) status = tsri_store_exec(s, "COMMIT", "migrating", err);
  if (status != TSR_OK) tsri_store_rollback(s);
  return status;
}

enum tsr_status tsri_store_migrate(struct tsr_store *s, const struct tsr_embedded *schema,
                                   struct tsr_err *err) {
  struct ident id;
  enum tsr_status status = ident_read(s, &id, err);
  if (status == TSR_OK) status = ident_check(s, &id, newest(schema), err);
  if (status != TSR_OK || s->mode == TSR_STORE_READ) return status;
  if (is_new(&id)) status = make_wal(s, err);
  if (status == TSR_OK) status = check_wal(s, err);
  /* Foreign keys are still off here (open.c turns them on afterwards): a
   * migration may rebuild a table that others refer to. */
  while (status == TSR_OK && id.version < newest(schema)) {
    status = step(s, schema, err);
    if (status == TSR_OK) status = ident_read(s, &id, err);
  }
  return status;
}
