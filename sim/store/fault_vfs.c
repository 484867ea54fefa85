/* A VFS in front of the platform's that fails the nth write, truncation or sync
 * (sim/base/io counts).  Registered when a test first asks for it. */
#include <string.h>

#include "sim/base/io.h"
#include "sim/store/store_int.h"

struct fault_file {
  sqlite3_file base;  /* first: SQLite sees this */
  sqlite3_file *real; /* right behind this struct */
};

static uint64_t writes;
static sqlite3_vfs vfs;
static bool registered;

static sqlite3_file *real(sqlite3_file *f) {
  return ((struct fault_file *)(void *)f)->real;
}
static bool fails(void) {
  writes++;
  return tsr_io_fail_now();
}

static int f_close(sqlite3_file *f) {
  return real(f)->pMethods->xClose(real(f));
}
static int f_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at) {
  return real(f)->pMethods->xRead(real(f), p, n, at);
}
static int f_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at) {
  if (!fails()) return real(f)->pMethods->xWrite(real(f), p, n, at);
  /* A full disk takes the first half: a torn page must be noticed. */
  if (n > 1) (void)real(f)->pMethods->xWrite(real(f), p, n / 2, at);
  return SQLITE_FULL;
}
static int f_truncate(sqlite3_file *f, sqlite3_int64 n) {
  return fails() ? SQLITE_IOERR_TRUNCATE : real(f)->pMethods->xTruncate(real(f), n);
}
static int f_sync(sqlite3_file *f, int flags) {
  return fails() ? SQLITE_IOERR_FSYNC : real(f)->pMethods->xSync(real(f), flags);
}
static int f_size(sqlite3_file *f, sqlite3_int64 *n) {
  return real(f)->pMethods->xFileSize(real(f), n);
}
static int f_lock(sqlite3_file *f, int l) {
  return real(f)->pMethods->xLock(real(f), l);
}
static int f_unlock(sqlite3_file *f, int l) {
  return real(f)->pMethods->xUnlock(real(f), l);
}
static int f_reserved(sqlite3_file *f, int *out) {
  return real(f)->pMethods->xCheckReservedLock(real(f), out);
}
static int f_control(sqlite3_file *f, int op, void *arg) {
  return real(f)->pMethods->xFileControl(real(f), op, arg);
}
static int f_sector(sqlite3_file *f) {
  return real(f)->pMethods->xSectorSize(real(f));
}
static int f_traits(sqlite3_file *f) {
  return real(f)->pMethods->xDeviceCharacteristics(real(f));
}
static int f_shm_map(sqlite3_file *f, int pg, int sz, int extend, void volatile **out) {
  return real(f)->pMethods->xShmMap(real(f), pg, sz, extend, out);
}
static int f_shm_lock(sqlite3_file *f, int at, int n, int flags) {
  return real(f)->pMethods->xShmLock(real(f), at, n, flags);
}
static void f_shm_barrier(sqlite3_file *f) {
  real(f)->pMethods->xShmBarrier(real(f));
}
static int f_shm_unmap(sqlite3_file *f, int del) {
  return real(f)->pMethods->xShmUnmap(real(f), del);
}

/* Version 2: shared memory for WAL, no memory-mapped reads. */
static const sqlite3_io_methods methods = {
    2,          f_close,       f_read,      f_write,   f_truncate, f_sync,   f_size,
    f_lock,     f_unlock,      f_reserved,  f_control, f_sector,   f_traits, f_shm_map,
    f_shm_lock, f_shm_barrier, f_shm_unmap, NULL,      NULL};

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags,
                  int *out_flags) {
  struct fault_file *ff = (struct fault_file *)(void *)f;
  sqlite3_vfs *next = v->pAppData;
  ff->base.pMethods = NULL;
  ff->real = (sqlite3_file *)(void *)(ff + 1);
  int rc = next->xOpen(next, name, ff->real, flags, out_flags);
  if (ff->real->pMethods) ff->base.pMethods = &methods;
  return rc;
}

void tsr_store_fail_at(uint64_t nth) {
  if (!registered) {
    sqlite3_vfs *next = sqlite3_vfs_find(NULL);
    TSR_CHECK(next != NULL);
    vfs = *next; /* everything but xOpen works on names: pass it on */
    vfs.pNext = NULL;
    vfs.zName = "tessera-fault";
    vfs.szOsFile = (int)sizeof(struct fault_file) + next->szOsFile;
    vfs.pAppData = next;
    vfs.xOpen = v_open;
    registered = sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
    TSR_CHECK(registered);
  }
  writes = 0;
  tsr_io_fail_at(nth);
}

const char *tsri_fault_vfs(void) {
  return registered ? vfs.zName : NULL;
}
uint64_t tsri_fault_vfs_writes(void) {
  return writes;
}
