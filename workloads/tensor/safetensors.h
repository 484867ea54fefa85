/* Safetensors files: named tensors behind a JSON header (SRC:safetensors).
 *
 * Read: F64 F32 F16 BF16, I64 I32 I16 I8, U64 U32 U16 U8, BOOL, and F8_E4M3 and F8_E5M2, whose
 * values come as f32.  The header is at most 100 MB and is checked whole when a file is opened:
 * known types, lengths that agree with shapes, data without overlap and without holes.
 * Units: elements, and bytes where a name says so.
 * Ownership: an open file is the caller's (tsr_safetensors_close), what it names lives with it;
 * arrays are the caller's, or the arena's where one is given.
 * Errors: TSR_INPUT names the tensor and what was expected; TSR_STORE from writing. */
#ifndef TSR_WORKLOADS_TENSOR_SAFETENSORS_H
#define TSR_WORKLOADS_TENSOR_SAFETENSORS_H

#include "workloads/net/array.h"

struct tsr_safetensors;

struct tsr_safetensors_info {
  const char *name;
  const char *dtype;   /* as the file says (static) */
  enum tsr_dtype type; /* of the array that a read gives */
  unsigned rank;
  uint64_t dim[TSR_RANK_MAX];
  uint64_t n; /* elements */
};

enum tsr_status tsr_safetensors_open(const char *path, struct tsr_safetensors **out,
                                     struct tsr_err *err);
/* The same of n bytes in memory, borrowed until it is closed; `path` is for messages. */
enum tsr_status tsr_safetensors_parse(const char *path, const void *data, size_t n,
                                      struct tsr_safetensors **out, struct tsr_err *err);
void tsr_safetensors_close(struct tsr_safetensors *s);
/* Tensors in the order of the header. */
size_t tsr_safetensors_count(const struct tsr_safetensors *s);
const struct tsr_safetensors_info *tsr_safetensors_at(const struct tsr_safetensors *s,
                                                      size_t i);
/* By name; SIZE_MAX when there is none. */
size_t tsr_safetensors_find(const struct tsr_safetensors *s, const char *name);
/* Tensor i whole. */
enum tsr_status tsr_safetensors_read(struct tsr_safetensors *s, size_t i,
                                     struct tsr_arena *arena, struct tsr_array **out,
                                     struct tsr_err *err);
/* Its rows [first, first + n) along the first dimension, which are within it; rank is 1 or
 * more. */
enum tsr_status tsr_safetensors_read_rows(struct tsr_safetensors *s, size_t i, uint64_t first,
                                          uint64_t n, struct tsr_arena *arena,
                                          struct tsr_array **out, struct tsr_err *err);

struct tsr_safetensors_item {
  const char *name; /* each another */
  const struct tsr_array *array;
};
/* A file of these tensors, each in its declared type; the widest elements lie first, so that
 * every tensor is aligned. */
enum tsr_status tsr_safetensors_write(const char *path,
                                      const struct tsr_safetensors_item *items, size_t n,
                                      struct tsr_err *err);

#endif
