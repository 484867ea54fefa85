/* Reader of golden vector files (tests/data/mma/README.md has the grammar). */
#ifndef TSR_TESTS_GOLDEN_MMA_VECTORS_H
#define TSR_TESTS_GOLDEN_MMA_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VEC_MAX = 4096 }; /* values in one line */

enum vec_row { VEC_A, VEC_B, VEC_C, VEC_D, VEC_X, VEC_ROWS };

struct vec_file {
  char *text;   /* owned */
  char *header; /* owned; the `#` lines */
  char *next;   /* the first line not read yet */
  size_t m, n, k;
};

struct vec_tile {
  size_t count[VEC_ROWS]; /* values in each row; 0: the tile has none */
  uint64_t row[VEC_ROWS][VEC_MAX];
};

/* False when the file cannot be read or lacks its shape. */
bool vec_open(struct vec_file *f, const char *path);
void vec_close(struct vec_file *f);
/* The next tile; false at the end of the file. */
bool vec_next(struct vec_file *f, struct vec_tile *t);
/* Copies the word after `key` (such as "a=") of the header; false: none. */
bool vec_word(const struct vec_file *f, const char *key, char *out, size_t size);

#endif
