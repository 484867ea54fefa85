/* Error detail: messages with positions, collected up to TSR_ERR_MAX.
 *
 * A message is `path:line:col: error: <what>; expected <rule>, got '<value>'`,
 * then the source line and a caret under the offending text, then an optional
 * hint.  Lines and columns count from 1, columns in bytes.  A message without a
 * position is `error: <what>`.
 *
 * Ownership: the caller owns struct tsr_err (often on its stack) and frees the
 * messages with tsr_err_fini.  Sources are borrowed only during the call.
 * In messages and source lines, what could move or hide text on a terminal is
 * shown as `?` (message texts keep their line breaks); a source line longer than
 * 120 bytes is shown as a window around the caret.  A message that finds no
 * memory is only counted.
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

/* What a hint would be added to. */
enum tsr_err_last { TSR_ERR_LAST_NONE, TSR_ERR_LAST_ERROR, TSR_ERR_LAST_WARNING };

struct tsr_err {
  enum tsr_status status; /* of the first error; TSR_OK while there is none */
  size_t n;               /* messages held, at most TSR_ERR_MAX */
  size_t total;           /* errors reported, held or not */
  size_t warnings;        /* warnings reported, held or not */
  char *msg[TSR_ERR_MAX]; /* owned; each ends with a newline */
  char *warn;             /* owned; the first TSR_ERR_MAX warnings, each ended
                             by a newline; NULL while there is none */
  enum tsr_err_last last; /* private: where tsr_err_hint adds */
};

#define TSR_ERR_INIT \
  { TSR_OK, 0, 0, 0, {NULL}, NULL, TSR_ERR_LAST_NONE }

void tsr_err_init(struct tsr_err *err);
void tsr_err_fini(struct tsr_err *err);

/* Adds a message without a position and returns `s` (never TSR_OK). */
enum tsr_status tsr_err_set(struct tsr_err *err, enum tsr_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a message at `pos` (NULL or line 0: like tsr_err_set) and returns `s`. */
enum tsr_status tsr_err_at(struct tsr_err *err, enum tsr_status s, const struct tsr_pos *pos,
                           const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Adds `hint: …` to the message (or warning) added last; no effect when there
 * is none, or when it was only counted. */
void tsr_err_hint(struct tsr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a warning (same form, word `warning`); changes no status. */
void tsr_err_warn(struct tsr_err *err, const struct tsr_pos *pos, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Shorthand for an allocation that failed. */
enum tsr_status tsr_err_nomem(struct tsr_err *err);
/* Warnings, then messages, as one text (transferred; tsr_mem_free), empty when
 * there are none; NULL when memory ran out.  Messages that were only counted
 * are not in it: `total - n` of them, `… N more` is the printer's line. */
char *tsr_err_text(const struct tsr_err *err);

/* The name among names[0..n-1] nearest to `word` (edit distance at most a third
 * of its length, at least 1), or NULL.  Borrowed from names. */
const char *tsr_err_nearest(const char *word, const char *const *names, size_t n);

#endif
