/* Files: whole-file reading, atomic writing, and a shim that makes the nth
 * write fail (for tests). */
#ifndef TSR_SIM_BASE_IO_H
#define TSR_SIM_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"

/* Largest text file that is read: 64 MiB. */
#define TSR_IO_TEXT_MAX (64u << 20)

/* Reads a whole file (a regular file or a pipe; a folder is refused).  *text is
 * NUL-terminated (transferred; tsr_mem_free), *len excludes the NUL.
 * TSR_INPUT with a message when missing, unreadable or too large. */
enum tsr_status tsr_io_read(const char *path, char **text, size_t *len, struct tsr_err *err);
/* The same for data of at most `limit` bytes (transferred; tsr_mem_free). */
enum tsr_status tsr_io_read_bytes(const char *path, uint64_t limit, unsigned char **data,
                                  size_t *len, struct tsr_err *err);
/* Reads exactly len bytes from byte `offset` on into `data`; fewer are TSR_INPUT. */
enum tsr_status tsr_io_read_part(const char *path, uint64_t offset, void *data, size_t len,
                                 struct tsr_err *err);
/* Writes data to a temporary name beside path, syncs, renames: the old file
 * stays until the new one is whole.  Its mode is kept, a link is followed; a
 * device or pipe is written through.  TSR_STORE on failure. */
enum tsr_status tsr_io_write(const char *path, const void *data, size_t n, struct tsr_err *err);
/* Whether tsr_io_write may make its file, asked before long work.  TSR_STORE if not. */
enum tsr_status tsr_io_writable(const char *path, struct tsr_err *err);

/* Tests: the nth write(2) of this layer from now fails with ENOSPC; 0 = off. */
void tsr_io_fail_at(uint64_t nth);
/* For other writers (the store's VFS): true when this write must fail. */
bool tsr_io_fail_now(void);

#endif
