/* What the readers of this folder share: bytes from a file or from memory, and elements.
 *
 * Ownership: a source of a file owns its descriptor (tsri_source_close); one of memory borrows
 * the bytes.  `path` is borrowed.  Errors name the file. */
#ifndef TSR_WORKLOADS_TENSOR_FILE_INT_H
#define TSR_WORKLOADS_TENSOR_FILE_INT_H

#include "workloads/net/array.h"

struct tsri_source {
  const char *path;
  int fd;             /* -1: memory */
  const uint8_t *mem; /* NULL: a file */
  uint64_t size;
};

/* A regular file; what has no size (a pipe, a folder) is TSR_INPUT. */
enum tsr_status tsri_source_open(struct tsri_source *s, const char *path, struct tsr_err *err);
void tsri_source_memory(struct tsri_source *s, const char *path, const void *data, size_t n);
void tsri_source_close(struct tsri_source *s);
/* n bytes from `at` on, all within the size (the caller has checked). */
enum tsr_status tsri_source_read(const struct tsri_source *s, uint64_t at, void *to, size_t n,
                                 struct tsr_err *err);

/* How elements stand in a file. */
struct tsri_elems {
  enum tsr_dtype type;             /* of the array */
  unsigned bytes;                  /* of an element in the file */
  bool swap;                       /* big-endian */
  const struct tsr_format *format; /* not NULL: a code of this format, which tsr_dtype lacks */
};
/* Elements [from, from + n) of what begins at byte `at` of the source, into elements
 * [to, to + n) of the array. */
enum tsr_status tsri_elems_read(const struct tsri_source *s, uint64_t at,
                                const struct tsri_elems *e, uint64_t from, uint64_t n,
                                struct tsr_array *a, uint64_t to, struct tsr_err *err);
/* One element of a file, at p, into element i of the array. */
void tsri_elems_load(const struct tsri_elems *e, const uint8_t *p, struct tsr_array *a,
                     uint64_t i);

/* The elements of `a`, little-endian, as type `as` (a's own, or a wider one of its sort), at
 * `to`: a->n times the bytes of `as`. */
void tsri_elems_store(const struct tsr_array *a, enum tsr_dtype as, uint8_t *to);

/* "3x4x5", as messages show a shape; "scalar" of rank 0.  `buf` of TSRI_SHAPE_TEXT bytes. */
enum { TSRI_SHAPE_TEXT = 176 };
const char *tsri_shape_text(unsigned rank, const uint64_t *dim, char *buf);

#endif
