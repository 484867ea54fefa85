/* Values on the host: dense row-major arrays of numbers.
 *
 * Floating types hold doubles, all others (bool as 0 and 1) 64-bit integers, whatever the
 * width that the model declares: the type says what a file must say and how a cast rounds.
 * Units: elements.  Ownership: an array is the caller's (tsr_array_destroy), or an arena's
 * where its maker says so.  Errors: TSR_NOMEM, and TSR_INPUT for sizes that pass 2^40 elements.
 */
#ifndef TSR_WORKLOADS_NET_ARRAY_H
#define TSR_WORKLOADS_NET_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/mem.h"

/* Element types; the numbers are those of ONNX's TensorProto.DataType (SRC:onnx_proto). */
enum tsr_dtype {
  TSR_DTYPE_NONE = 0,
  TSR_DTYPE_F32 = 1,
  TSR_DTYPE_U8 = 2,
  TSR_DTYPE_I8 = 3,
  TSR_DTYPE_U16 = 4,
  TSR_DTYPE_I16 = 5,
  TSR_DTYPE_I32 = 6,
  TSR_DTYPE_I64 = 7,
  TSR_DTYPE_STRING = 8, /* named, never held */
  TSR_DTYPE_BOOL = 9,
  TSR_DTYPE_F16 = 10,
  TSR_DTYPE_F64 = 11,
  TSR_DTYPE_U32 = 12,
  TSR_DTYPE_U64 = 13,
  TSR_DTYPE_BF16 = 16,
  TSR_DTYPE_N_ = 17
};
enum { TSR_RANK_MAX = 8 };
#define TSR_ARRAY_ELEMS_MAX (UINT64_C(1) << 40)

struct tsr_array {
  enum tsr_dtype type;
  unsigned rank;
  uint64_t dim[TSR_RANK_MAX];
  uint64_t n; /* product of dim; 1 for rank 0 */
  double *f;  /* floating types, else NULL */
  int64_t *i; /* the others, else NULL; uint64 above 2^63 - 1 is held modulo 2^64 */
};

/* `f32`, `i64`, … as the words of messages and of the JSON graph (static); "?" for others. */
const char *tsr_dtype_name(enum tsr_dtype t);
/* By that word; TSR_DTYPE_NONE when unknown. */
enum tsr_dtype tsr_dtype_find(const char *name);
bool tsr_dtype_is_float(enum tsr_dtype t);
/* Bytes of an element in files; 0 where there is no such. */
unsigned tsr_dtype_bytes(enum tsr_dtype t);
/* An element of a file (little-endian, at p) as a double or an integer, and back: v is rounded
 * to nearest even (floats) or taken modulo the width (integers). */
void tsr_dtype_load(enum tsr_dtype t, const void *p, double *f, int64_t *i);
void tsr_dtype_store(enum tsr_dtype t, double f, int64_t i, void *p);
/* The nearest value that the type holds: f32, f16, bf16 round; f64 as it is. */
double tsr_dtype_round(enum tsr_dtype t, double v);
/* The integer as the type holds it: modulo its width, sign extended; bool: v != 0. */
int64_t tsr_dtype_wrap(enum tsr_dtype t, int64_t v);

/* The product of dims, or false where it passes TSR_ARRAY_ELEMS_MAX. */
bool tsr_array_count(unsigned rank, const uint64_t *dim, uint64_t *n);
/* A new array, zero-filled; in the arena where one is given (then not destroyed). */
enum tsr_status tsr_array_create(struct tsr_arena *arena, enum tsr_dtype type, unsigned rank,
                                 const uint64_t *dim, struct tsr_array **out,
                                 struct tsr_err *err);
void tsr_array_destroy(struct tsr_array *a);
/* A new array of the same type, shape and elements; in the arena likewise. */
enum tsr_status tsr_array_copy(struct tsr_arena *arena, const struct tsr_array *from,
                               struct tsr_array **out, struct tsr_err *err);
/* Element i as a double, whatever the type; as an integer (floats are truncated). */
double tsr_array_get(const struct tsr_array *a, uint64_t i);
int64_t tsr_array_get_int(const struct tsr_array *a, uint64_t i);
/* Sets element i from a double: floats as they are, integers rounded to even and wrapped. */
void tsr_array_set(struct tsr_array *a, uint64_t i, double v);

#endif
