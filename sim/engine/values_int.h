/* Memories and computation of values. */
#ifndef TSR_SIM_ENGINE_VALUES_INT_H
#define TSR_SIM_ENGINE_VALUES_INT_H

#include "models/arith/gemm.h"
#include "models/arith/mma_spec.h"
#include "sim/engine/engine_int.h"
#include "sim/engine/values.h"

struct tsri_bytes {        /* of a tensor or a scratchpad */
  uint8_t *data, *written; /* a byte each; written NULL: all of them */
  uint64_t n, top;         /* top: nothing from there on was written */
};

struct tsri_segment {
  uint64_t base;
  size_t owner; /* the job that sees it */
  struct tsri_bytes bytes;
  uint8_t *kept; /* codes that stores converted; NULL: not kept */
  uint32_t elem_bytes, from_bytes;
};

/* A range of a scratchpad that a request in flight reads or writes. */
struct tsri_hold {
  const struct tsri_flight *flight;
  int buf;
  bool write;
  uint64_t from, to;
};
/* Sums that an output stationary array keeps between requests: m x n codes. */
struct tsri_sums {
  uint8_t *codes; /* owned */
  size_t cap;
  uint64_t m, n, addr; /* where they will be written; m 0: there are none */
};

struct tsri_scratch { /* of a core */
  struct tsri_bytes buf[TSR_ISA_BUFS];
  struct tsri_sums sums;
  struct tsri_hold *hold; /* owned */
  size_t n_holds, cap_holds;
};

struct tsri_unit_cache { /* the matrix unit of three formats */
  const struct tsr_format *a, *b, *acc;
  struct tsr_mma_spec spec;
  const struct tsr_mma *unit;
};

enum { TSRI_UNITS_MAX = 16, TSRI_FORMATS_MAX = 64 };
struct tsr_values {
  const struct tsr_machine *machine;
  struct tsri_segment *segment; /* ascending by base */
  size_t owner;                 /* of what is asked for from outside */
  size_t n_segments, cap_segments;
  struct tsri_scratch *scratch; /* by core */
  struct tsr_format format[TSRI_FORMATS_MAX];
  char format_name[TSRI_FORMATS_MAX][64];
  size_t n_formats;
  struct tsri_unit_cache *unit[TSRI_UNITS_MAX];
  size_t n_units;
  uint8_t *block[3]; /* a, b, c of a multiplication, gathered */
  size_t cap_block[3];
};

/* A code in `elem` bytes, little-endian; those beyond 8 are zero. */
static inline uint64_t tsri_code_get(const uint8_t *p, uint32_t elem) {
  uint64_t v = 0;
  for (uint32_t i = 0; i < elem && i < 8; i++) v |= (uint64_t)p[i] << 8 * i;
  return v;
}
static inline void tsri_code_put(uint8_t *p, uint32_t elem, uint64_t v) {
  for (uint32_t i = 0; i < elem; i++) p[i] = i < 8 ? (uint8_t)(v >> 8 * i) : 0;
}

/* What a request's instruction did wrong, with its place. */
enum tsr_status tsri_values_wrong(const struct tsri_flight *f, struct tsr_err *err,
                                  const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The format that an operand names. */
enum tsr_status tsri_values_format(const struct tsri_flight *f, int number,
                                   const struct tsr_format **out, struct tsr_err *err);
/* Whether bytes [at, at + n) were all written; if not, the first that was not. */
bool tsri_bytes_written(const struct tsri_bytes *b, uint64_t at, uint64_t n, uint64_t *first);
void tsri_bytes_mark(struct tsri_bytes *b, uint64_t at, uint64_t n);
/* Memory of at least n bytes for operand i of a multiplication. */
uint8_t *tsri_values_block(struct tsr_values *v, int i, uint64_t n);

/* Whether the sums of a multiplication stay in the array for the next. */
bool tsri_values_inside(const struct tsri_flight *f);
enum tsr_status tsri_values_transfer(struct tsri_flight *f, struct tsr_err *err);
enum tsr_status tsri_values_mm(struct tsri_flight *f, struct tsr_err *err);
/* Writes results that were known before there was room for them. */
enum tsr_status tsri_values_write(struct tsri_flight *f, struct tsr_err *err);
enum tsr_status tsri_values_vector(struct tsri_flight *f, struct tsr_err *err);

/* An operand as a matrix of codes: rows follow three axes, columns three others, the last
 * of each fastest; code bytes `code`.  What lies outside the tensor is zero. */
struct tsri_gather {
  const struct tsri_operand *o;
  const uint64_t *extent; /* of the axes */
  enum tsr_isa_axis rows[3], cols[3];
  uint64_t group; /* index of axis g */
  uint32_t code;
};
enum tsr_status tsri_gather(struct tsri_flight *f, const struct tsri_gather *g, uint8_t *out,
                            struct tsr_err *err);
/* Windows of an operand, fed by masks of axes: for each row the elements of its window, in
 * ascending order of the window's axes, each all columns; *inside: whether an element of a
 * row's window lies in the tensor (a byte each). */
enum tsr_status tsri_gather_windows(struct tsri_flight *f, const struct tsri_operand *o,
                                    const uint64_t *extent, unsigned rows, unsigned cols,
                                    unsigned win, uint32_t code, uint8_t *out, uint8_t *inside,
                                    struct tsr_err *err);
/* The other way; writes what lies inside the tensor. */
enum tsr_status tsri_scatter(struct tsri_flight *f, const struct tsri_gather *g,
                             const uint8_t *in, struct tsr_err *err);

#endif
