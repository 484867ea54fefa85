/* Vector files of matrix units: reading them, and replaying them through a unit.
 *
 * All values are hexadecimal codes.  Header lines begin with `#` and hold words
 * key=value; then, for each tile, `tile <n> …` and rows of values:
 *   A (M x K), B (K x N), C (M x N), by rows; SA (M x K/block) and SB (N x K/block),
 *   the scales of rows of A and columns of B; D (M x N), and X (M x N), 1 where the
 *   sources of the vectors disagree.
 * Header keys: M N K; a b c d, formats; model, the unit, or a line `model op=…` with
 * L F rho, or alg, an accumulator's algorithm; scale and scale_block; nan=exact where
 * the bits of a NaN count (else any NaN is equal to any); a line with `modes R1 R2 …`:
 * D holds one value for each of these rounding modes (M = N = 1).  Files named int_*
 * have D1 to D4: the results of wrap, satend, satstep and pair16.
 * Ownership: a reader owns its memory, freed by _close.
 * Errors: TSR_INPUT with one message at line:col; TSR_USAGE for a unit's name. */
#ifndef TSR_KERNELS_CHECK_VECTORS_H
#define TSR_KERNELS_CHECK_VECTORS_H

#include "models/arith/mma_spec.h"
#include "sim/base/err.h"

enum { TSR_VECTORS_MODES = 8 };

enum tsr_vectors_row {
  TSR_VECTORS_A,
  TSR_VECTORS_B,
  TSR_VECTORS_C,
  TSR_VECTORS_SA,
  TSR_VECTORS_SB,
  TSR_VECTORS_D, /* also D1 */
  TSR_VECTORS_D2,
  TSR_VECTORS_D3,
  TSR_VECTORS_D4,
  TSR_VECTORS_X,
  TSR_VECTORS_ROWS
};

struct tsr_vectors {
  const char *path; /* borrowed */
  char *text;       /* owned */
  size_t len, at;
  uint32_t line; /* of text[at] */
  struct tsr_src src;
  size_t m, n, k;
  const struct tsr_format *a, *b, *c, *d, *scale; /* scale NULL: none */
  size_t scale_block;
  bool nan_exact;
  bool is_int; /* D1 to D4 */
  enum tsr_round modes[TSR_VECTORS_MODES];
  size_t n_modes; /* 0: D is M x N, to be rounded as the unit does */
  /* The tile that was read last: n values of a row are row[…][0..count-1]. */
  uint64_t *row[TSR_VECTORS_ROWS];
  size_t count[TSR_VECTORS_ROWS];
  uint32_t tile_line;
  char number[24]; /* of the tile, as it is written */
};

/* Reads the header.  On failure *v needs no _close. */
enum tsr_status tsr_vectors_open(struct tsr_vectors *v, const char *path, struct tsr_err *err);
/* Reads the next tile; *more is false at the end of the file. */
enum tsr_status tsr_vectors_next(struct tsr_vectors *v, bool *more, struct tsr_err *err);
void tsr_vectors_close(struct tsr_vectors *v);
/* As tsr_vectors_open, of a text in memory; `path` is for messages and the name. */
enum tsr_status tsr_vectors_open_text(struct tsr_vectors *v, const char *path, const char *text,
                                      size_t len, struct tsr_err *err);
/* Copies the value of a header key into buf; false: the header has none. */
bool tsr_vectors_key(const struct tsr_vectors *v, const char *key, char *buf, size_t size);

struct tsr_vectors_result {
  const char *file; /* the path, borrowed */
  char model[TSR_MMA_TEXT_MAX];
  uint64_t tiles, elements;
  /* elements = exact + contested + mismatches */
  uint64_t exact;            /* equal, and not marked X */
  uint64_t contested;        /* marked X, equal or not */
  uint64_t mismatches;       /* different, and not marked X */
  uint64_t contested_differ; /* of contested */
  /* The first mismatch; text is empty without one. */
  char first[160];
};

/* Replays a whole file.  model NULL: the unit the header names; else a unit or the
 * text of one.  *out is filled on TSR_OK only; a mismatch is no failure. */
enum tsr_status tsr_vectors_check(const char *path, const char *model,
                                  struct tsr_vectors_result *out, struct tsr_err *err);
enum tsr_status tsr_vectors_check_text(const char *path, const char *text, size_t len,
                                       const char *model, struct tsr_vectors_result *out,
                                       struct tsr_err *err);

#endif
