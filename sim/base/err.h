/* Error detail: messages with positions, collected up to TSR_ERR_MAX.
 *
 * A message is `path:line:col: error: <what>; expected <rule>, got '<value>'`,
 * then the source line and a caret under the offending text, then an optional
 * hint.  Lines and columns count from 1, columns in bytes.  A message without a
 * position is `error: <what>`.
 *
 * Ownership: the caller owns struct tsr_err (often on its stack) and frees the
 * messages with tsr_err_fini.  Sources are borrowed only during the call.
 * A NULL err is allowed everywhere: the status is still returned. */
#ifndef TSR_SIM_BASE_ERR_H
#define TSR_SIM_BASE_ERR_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/status.h"

enum { TSR_ERR_MAX = 20 };

/* A text that positions point into.  `text` may be NULL (no source line shown);
 * it need not be NUL-terminated. */
struct tsr_src {
  const char *path; /* as the user wrote it; "--set" for a command-line value */
  const char *text;
  size_t len;
};

/* A place in a source. line 0: no position known.  width: bytes under the
 * caret, at least 1 is drawn. */
struct tsr_pos {
  const struct tsr_src *src;
  uint32_t line, col, width;
};

struct tsr_err {
  enum tsr_status status; /* of the first error; TSR_OK while there is none */
  size_t n;               /* messages held, at most TSR_ERR_MAX */
  size_t total;           /* errors reported, held or not */
  size_t warnings;        /* warnings reported */
  char *msg[TSR_ERR_MAX]; /* owned; each ends with a newline */
  char *warn;             /* owned; all warnings, each ended by a newline */
};

#define TSR_ERR_INIT {TSR_OK, 0, 0, 0, {NULL}, NULL}

void tsr_err_init(struct tsr_err *err);
void tsr_err_fini(struct tsr_err *err);

/* Adds a message without a position and returns `s` (never TSR_OK). */
enum tsr_status tsr_err_set(struct tsr_err *err, enum tsr_status s,
                            const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a message at `pos` (NULL or line 0: like tsr_err_set) and returns `s`. */
enum tsr_status tsr_err_at(struct tsr_err *err, enum tsr_status s,
                           const struct tsr_pos *pos, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds `hint: …` to the message added last; no effect when there is none. */
void tsr_err_hint(struct tsr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a warning (same form, word `warning`); changes no status. */
void tsr_err_warn(struct tsr_err *err, const struct tsr_pos *pos,
                  const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Shorthand for an allocation that failed. */
enum tsr_status tsr_err_nomem(struct tsr_err *err);

/* The name among names[0..n-1] nearest to `word` (edit distance at most a third
 * of its length, at least 1), or NULL.  Borrowed from names. */
const char *tsr_err_nearest(const char *word, const char *const *names, size_t n);

#endif
