/* Opening and closing, and the words for what SQLite reports. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/store/store_int.h"

enum { BUSY_TIMEOUT_MS = 20000 }; /* longer than any put of a run takes */

static const struct {
  int rc; /* primary result code of SQLite */
  const char *hint;
} hints[] = {
    {SQLITE_BUSY, "another program has held the store for 20 s; try again when it is done"},
    {SQLITE_FULL, "free some space, or name another place with --db"},
    {SQLITE_READONLY, "make the file and its folder writable, or name another with --db"},
    {SQLITE_CORRUPT, "`tessera db check` lists the damage; restore the file from a copy"},
    {SQLITE_NOTADB, "name a store with --db, or a path that does not exist yet"},
    {SQLITE_CANTOPEN, "check the path and its permissions, or name another with --db"},
};

enum tsr_status tsri_store_fail(struct tsr_store *s, int rc, const char *what,
                                struct tsr_err *err) {
  int primary = rc & 0xff;
  if (primary == SQLITE_NOMEM) return tsr_err_nomem(err);
  const char *words = sqlite3_errstr(rc);
  if (s->db && sqlite3_extended_errcode(s->db) == rc) words = sqlite3_errmsg(s->db);
  tsr_err_set(err, TSR_STORE, "store '%s': %s: %s", s->path, what, words);
  for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
    if (hints[i].rc == primary) tsr_err_hint(err, "%s", hints[i].hint);
  return TSR_STORE;
}

enum tsr_status tsri_store_exec(struct tsr_store *s, const char *sql, const char *what,
                                struct tsr_err *err) {
  int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
  return rc == SQLITE_OK ? TSR_OK : tsri_store_fail(s, rc, what, err);
}

enum tsr_status tsri_store_int(struct tsr_store *s, const char *sql, int64_t *out,
                               struct tsr_err *err) {
  sqlite3_stmt *st = NULL;
  int64_t v = 0;
  int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
  if (rc == SQLITE_OK) {
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) v = sqlite3_column_int64(st, 0);
    if (rc == SQLITE_ROW || rc == SQLITE_DONE) rc = SQLITE_OK;
  }
  enum tsr_status status = rc == SQLITE_OK ? TSR_OK : tsri_store_fail(s, rc, "reading", err);
  sqlite3_finalize(st);
  if (status == TSR_OK) *out = v;
  return status;
}

void tsri_store_rollback(struct tsr_store *s) {
  /* What fails here leaves the transaction open; the next put ends it first, and
   * closing or a crash ends it too. */
  if (!sqlite3_get_autocommit(s->db)) (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

/* SQLite says "unable to open database file" to most of these; say which. */
static enum tsr_status look_at_path(const char *path, enum tsr_store_mode mode,
                                    struct tsr_err *err) {
  struct stat st;
  if (path[0] == '\0')
    return tsr_err_set(err, TSR_STORE, "the path of the store is empty; expected a file name");
  if (stat(path, &st) == 0) {
    if (S_ISDIR(st.st_mode))
      return tsr_err_set(err, TSR_STORE, "store '%s' is a folder; expected a file", path);
    if (!S_ISREG(st.st_mode))
      return tsr_err_set(err, TSR_STORE, "store '%s' is no regular file", path);
    if (access(path, mode == TSR_STORE_WRITE ? R_OK | W_OK : R_OK) != 0) {
      const char *verb = mode == TSR_STORE_WRITE ? "written" : "read";
      return tsr_err_set(err, TSR_STORE, "store '%s' cannot be %s: %s", path, verb,
                         strerror(errno));
    }
    if (mode == TSR_STORE_READ) return TSR_OK;
  } else if (errno != ENOENT && errno != ENOTDIR) {
    return tsr_err_set(err, TSR_STORE, "store '%s' cannot be opened: %s", path,
                       strerror(errno));
  } else if (mode == TSR_STORE_READ) {
    tsr_err_set(err, TSR_STORE, "there is no store '%s'", path);
    tsr_err_hint(err, "`tessera run` makes one; --db names another");
    return TSR_STORE;
  }
  /* A writer also needs the folder, for the log beside the file. */
  const char *slash = strrchr(path, '/');
  size_t n = slash ? (size_t)(slash - path) : 0;
  char *dir = slash ? tsr_mem_strndup(path, n ? n : 1) : tsr_mem_strdup(".");
  if (!dir) return tsr_err_nomem(err);
  enum tsr_status status = TSR_OK;
  if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode)) {
    status = tsr_err_set(err, TSR_STORE, "store '%s': there is no folder '%s'", path, dir);
    tsr_err_hint(err, "make the folder first, or name another place with --db");
  } else if (access(dir, W_OK | X_OK) != 0) {
    status = tsr_err_set(err, TSR_STORE, "store '%s': the folder '%s' cannot be written: %s",
                         path, dir, strerror(errno));
    tsr_err_hint(err, "name another place with --db");
  }
  tsr_mem_free(dir);
  return status;
}

/* A file: URI that tells SQLite that nobody changes the file, so that a store in
 * a read-only folder can be read without its shared-memory file. */
static char *immutable_uri(const char *path) {
  struct tsr_str u = TSR_STR_INIT;
  tsr_str_add(&u, "file:");
  for (const char *p = path; *p; p++) {
    if (strchr("%?#", *p))
      tsr_str_addf(&u, "%%%02X", (unsigned)(unsigned char)*p);
    else
      tsr_str_addn(&u, p, 1);
  }
  tsr_str_add(&u, "?immutable=1");
  return tsr_str_take(&u);
}

static bool log_exists(const char *path) {
  char *wal = tsr_mem_printf("%s-wal", path);
  bool there = !wal || access(wal, F_OK) == 0;
  tsr_mem_free(wal);
  return there;
}

static enum tsr_status open_db(struct tsr_store *s, const char *name, int flags,
                               struct tsr_err *err) {
  int rc = sqlite3_open_v2(name, &s->db, flags | SQLITE_OPEN_EXRESCODE, tsri_fault_vfs());
  if (rc != SQLITE_OK) return tsri_store_fail(s, rc, "opening", err);
  sqlite3_busy_timeout(s->db, BUSY_TIMEOUT_MS);
  return TSR_OK;
}

/* True when the file cannot be read in place: no right to make the -shm file. */
static bool needs_immutable(struct tsr_store *s) {
  int rc = sqlite3_exec(s->db, "SELECT 1 FROM sqlite_master LIMIT 1", NULL, NULL, NULL) & 0xff;
  return (rc == SQLITE_CANTOPEN || rc == SQLITE_READONLY) && !log_exists(s->path);
}

static enum tsr_status open_reader(struct tsr_store *s, const char *name, struct tsr_err *err) {
  /* READWRITE without CREATE: a reader may have to recover the log of a writer
   * that was killed.  query_only keeps it from writing rows. */
  enum tsr_status status = open_db(s, name, SQLITE_OPEN_READWRITE, err);
  if (status == TSR_OK && needs_immutable(s)) {
    sqlite3_close(s->db);
    s->db = NULL;
    char *uri = immutable_uri(name);
    if (!uri) return tsr_err_nomem(err);
    status = open_db(s, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
    tsr_mem_free(uri);
  }
  return status;
}

static enum tsr_status open_checked(struct tsr_store *s, const struct tsr_embedded *schema,
                                    struct tsr_err *err) {
  /* "./" keeps names such as :memory: and file:x what they are: file names. */
  char *name = tsr_mem_printf("%s%s", s->path[0] == '/' ? "" : "./", s->path);
  if (!name) return tsr_err_nomem(err);
  enum tsr_status status =
      s->mode == TSR_STORE_WRITE
          ? open_db(s, name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err)
          : open_reader(s, name, err);
  tsr_mem_free(name);
  if (status == TSR_OK) status = tsri_store_migrate(s, schema, err);
  if (status == TSR_OK)
    status = tsri_store_exec(s, "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL",
                             "opening", err);
  if (status == TSR_OK && s->mode == TSR_STORE_READ)
    status = tsri_store_exec(s, "PRAGMA query_only = ON", "opening", err);
  return status;
}

enum tsr_status tsri_store_open(const char *path, enum tsr_store_mode mode,
                                const struct tsr_embedded *schema, struct tsr_store **out,
                                struct tsr_err *err) {
  enum tsr_status status = look_at_path(path, mode, err);
  if (status != TSR_OK) return status;
  struct tsr_store *s = tsr_mem_alloc(sizeof *s);
  if (!s) return tsr_err_nomem(err);
  s->mode = mode;
  s->path = tsr_mem_strdup(path);
  status = s->path ? open_checked(s, schema, err) : tsr_err_nomem(err);
  if (status != TSR_OK) {
    (void)tsr_store_close(s, NULL);
    return status;
  }
  *out = s;
  return TSR_OK;
}

enum tsr_status tsr_store_open(const char *path, enum tsr_store_mode mode,
                               struct tsr_store **out, struct tsr_err *err) {
  return tsri_store_open(path, mode, tsri_store_schema, out, err);
}

enum tsr_status tsr_store_close(struct tsr_store *s, struct tsr_err *err) {
  if (!s) return TSR_OK;
  enum tsr_status status = TSR_OK;
  int rc = sqlite3_close(s->db);
  if (rc == SQLITE_BUSY) TSR_BUG("a query is still open where its store is closed");
  if (rc != SQLITE_OK) {
    status = tsri_store_fail(s, rc, "closing", err);
  }
  tsr_mem_free(s->path);
  tsr_mem_free(s);
  return status;
}

enum tsr_status tsr_store_info(struct tsr_store *s, struct tsr_store_info *out,
                               struct tsr_err *err) {
  static const char *const sql[] = {"PRAGMA user_version", "SELECT count(*) FROM run",
                                    "PRAGMA page_count", "PRAGMA page_size"};
  int64_t v[4];
  for (size_t i = 0; i < 4; i++) {
    enum tsr_status status = tsri_store_int(s, sql[i], &v[i], err);
    if (status != TSR_OK) return status;
  }
  *out = (struct tsr_store_info){(uint64_t)v[0], (uint64_t)v[1], (uint64_t)v[2], (uint64_t)v[3],
                                 sqlite3_libversion()};
  return TSR_OK;
}
