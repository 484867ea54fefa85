/* Shared by the files of sim/store and its tests. */
#ifndef TSR_SIM_STORE_STORE_INT_H
#define TSR_SIM_STORE_STORE_INT_H

#include <sqlite3.h>

#include "sim/base/embed.h"
#include "sim/store/store.h"

struct tsr_store {
  sqlite3 *db;
  char *path; /* owned; as the user wrote it */
  enum tsr_store_mode mode;
};

/* The migrations: row i brings user_version i to i + 1. */
extern const struct tsr_embedded tsri_store_schema[];

/* tsr_store_open with another list of migrations (tests). */
enum tsr_status tsri_store_open(const char *path, enum tsr_store_mode mode,
                                const struct tsr_embedded *schema, struct tsr_store **out,
                                struct tsr_err *err);
/* Reads whose file it is and refuses what is no store of ours; in mode WRITE
 * makes a new file ours and brings an older one forward. */
enum tsr_status tsri_store_migrate(struct tsr_store *s, const struct tsr_embedded *schema,
                                   struct tsr_err *err);

/* Turns the result code `rc` of SQLite into a status with a message:
 * `store 'path': <what>: <SQLite's words>`, and a hint where one is known. */
enum tsr_status tsri_store_fail(struct tsr_store *s, int rc, const char *what,
                                struct tsr_err *err);
/* Runs statements without results. */
enum tsr_status tsri_store_exec(struct tsr_store *s, const char *sql, const char *what,
                                struct tsr_err *err);
/* First column of the first row as an integer (0 without a row). */
enum tsr_status tsri_store_int(struct tsr_store *s, const char *sql, int64_t *out,
                               struct tsr_err *err);
/* Ends an open transaction without keeping it; nothing when there is none. */
void tsri_store_rollback(struct tsr_store *s);

/* The VFS that fails on demand: its name, or NULL before tsr_store_fail_at was
 * first called (the platform's VFS serves then).  _writes counts its writes,
 * truncations and syncs. */
const char *tsri_fault_vfs(void);
uint64_t tsri_fault_vfs_writes(void);

#endif
