/* The mapping of one operator onto one core: how its loops are cut and ordered.
 *
 * Models: a nest of temporal loops over tiles that DRAM feeds, in the order
 * outer to inner, and inside a tile the spatial axes of the array.  os, ws and is
 * are templates that produce mappings; everything below works on the mapping.
 *
 * Units: elements, unless the name says bytes.  Ownership: plain values.
 * Errors: TSR_INPUT when no tile of the operator fits the scratchpads. */
#ifndef TSR_KERNELS_MAPPING_MAPPING_H
#define TSR_KERNELS_MAPPING_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "isa/isa.h"
#include "sim/base/err.h"
#include "sim/base/str.h"

/* What is mapped: axis sizes, the geometry of a convolution, bytes an element. */
struct tsr_shape {
  uint64_t size[TSR_AXIS_COUNT];
  bool conv; /* else a plain matmul: b, oh, kh, kw are 1 */
  uint64_t in_h, in_w, stride_h, stride_w, dil_h, dil_w, pad_t, pad_l;
  uint32_t a_bytes, b_bytes, acc_bytes, out_bytes;
};

enum tsr_dataflow { TSR_FLOW_OS, TSR_FLOW_WS, TSR_FLOW_IS, TSR_FLOW_DOT, TSR_FLOW_RS };
extern const char *const tsr_flow_names[]; /* os ws is dot rs NULL */

/* An operand is loaded into the array before another streams through. */
static inline bool tsr_flow_is_stationary(enum tsr_dataflow f) {
  return f == TSR_FLOW_WS || f == TSR_FLOW_IS || f == TSR_FLOW_RS;
}

/* Work of a tile for a lone request: groups products of m x n x k, m of `lines` rows of
 * results, k of k_lines rows of the filter (0: a matmul); it completes its sums or not. */
struct tsr_tile_work {
  uint64_t m, n, k, groups, lines, k_lines;
  bool last;
};

/* How a layer's weights lie in memory.  All zero: row by row from a multiple of 4 KiB on. */
struct tsr_placement {
  uint64_t align_bytes, skew_bytes; /* they begin `skew` behind a multiple of `align` */
  uint64_t pad_bytes;               /* behind each row */
  bool tiled; /* of a matmul: in panels as wide as a tile of n, one after the other */
};

/* What a template needs to know of the core. */
struct tsr_target {
  enum tsr_dataflow flow;
  uint64_t rows, cols, depth; /* depth: k of a dot product unit, else 1 */
  uint64_t skew;              /* cycles to fill and drain a fold; dot: its pipeline */
  uint64_t tiles;             /* of a core: they cut n, groups or m among them */
  bool preload;
  uint32_t rate;          /* products per array element and cycle, along k */
  uint64_t slot_bytes[3]; /* capacity of one buffer of scratchpad a, b, c */
  uint64_t slots[3];      /* buffers of each */
  uint64_t burst_bytes;
  double dram_bytes_per_cycle; /* what one stream attains; infinity: unlimited */
  double latency_cycles;       /* of a DRAM burst */
  /* Of that the memory's own, and what a core can move whatever the memory does: its window
   * of bursts, its scratchpads' ports, its link. */
  double memory_bytes_per_cycle, core_bytes_per_cycle;
  uint64_t llb_bytes;           /* last-level buffer in front of the memory; 0: none */
  double llb_bytes_per_cycle;   /* of all its slices */
  uint64_t slices, grain_bytes; /* how many take addresses in turn, after so many bytes */
  /* By the number of cores less 1: how many times what one moves passes the busiest link of
   * loads, of stores; NULL: no links that cores share.  What such a link passes. */
  const double *crowd[2];
  double link_bytes_per_cycle;
  double way_cycles; /* latency of the buffer and the interconnect, beside the memory's */
  /* Cycles of one tile for a lone request. */
  uint64_t (*tile_cycles)(const void *tile, const struct tsr_tile_work *w, uint32_t rate);
  uint64_t head; /* cycles to load the first stationary operand */
  const void *tile;
  uint64_t promote; /* products along k of a promoted sum; 0: none is promoted */
  /* Second operands of an epilogue, bytes for each n, m, element of c, and in all. */
  bool epilogue;    /* results wait in c for the vector unit */
  bool group_alone; /* a tile of a matmul holds one group: its operands are by group */
  uint32_t row_bytes, col_bytes, full_bytes, one_bytes;
  uint32_t ready_bytes; /* of a weight in a's format, beside the one that was loaded; 0: none */
  uint32_t scale_bytes; /* of the weights' scales, by tile of k and n; 0: none */
  uint64_t lanes;       /* of the vector unit; 0: it costs nothing */
  double step_cycles;   /* of the vector unit for an element's epilogue */
  bool multicast;       /* what all cores of a layer need is loaded once */
  double readers[2];    /* cores that a load of a, b serves; 0: one */
  /* Where a, b, c come from and go to: what scratchpad a keeps passes its port; what bypasses,
   * by bit, is not held in the last-level buffer. */
  bool near[3];
  double near_bytes_per_cycle;
  unsigned bypass;
  struct tsr_placement place; /* of its weights in memory */
};

/* The level that a tensor (0, 1, 2: a, b, c) lies in between layers. */
enum tsr_level { TSR_LEVEL_DRAM, TSR_LEVEL_LLB, TSR_LEVEL_SRAM };
enum tsr_level tsr_mapping_home(const struct tsr_target *t, int tensor);

/* A loop over tiles of one axis: `trips` steps of `tile` elements. */
struct tsr_map_loop {
  enum tsr_isa_axis axis;
  uint64_t tile, trips;
};

struct tsr_mapping {
  enum tsr_dataflow flow;
  uint64_t tile[TSR_AXIS_COUNT];                /* elements of each axis that a tile holds */
  uint32_t n_loops;                             /* loops with more than one trip */
  struct tsr_map_loop loop[TSR_AXIS_COUNT];     /* outer to inner */
  enum tsr_isa_axis spatial_rows, spatial_cols; /* n, c (for k), ow (for m) */
  uint64_t array_rows, array_cols;              /* elements along each */
  uint64_t k_cut;     /* partial sums leave the array after this many k; 0: never */
  bool scaled;        /* a promoted sum is multiplied by its scale first */
  bool promoted;      /* each tile of k is summed anew, and added up in fp32 elsewhere */
  double cost_cycles; /* by the cheap figures that ranked it */
  uint64_t
      slots[3]; /* buffers of scratchpads a, b, c that tiles take in turn; 0: the machine's */
};

/* How a layer is divided among cores: an axis (or two) in chunks; core i of a job has the
 * chunk i / parts[1] of the first and i % parts[1] of the second. */
struct tsr_split {
  enum tsr_isa_axis axis[2];
  uint64_t chunk[2], parts[2]; /* parts 1: not divided */
};
/* The part of one core: elements [from, from + size) of the axes. */
struct tsr_part {
  enum tsr_isa_axis axis[2];
  uint64_t from[2], size[2];
};
enum tsr_split_kind {
  TSR_SPLIT_AUTO,  /* the fastest by the template's figures */
  TSR_SPLIT_BATCH, /* images, or m of a matmul whose rows are requests */
  TSR_SPLIT_HEADS, /* independent products: heads, groups, experts; auto where there is one */
  TSR_SPLIT_M,
  TSR_SPLIT_N,
  TSR_SPLIT_K,
  TSR_SPLIT_KIND_COUNT_
};
extern const char *const tsr_split_names[]; /* auto batch heads m n k NULL */

/* Divides a layer among at most `cores`, and maps the largest part; a layer too small for
 * all of them leaves some out.  *split and *out: of all parts.  Errors as of
 * tsr_mapping_template. */
enum tsr_status tsr_mapping_split(const struct tsr_shape *s, const struct tsr_target *t,
                                  enum tsr_split_kind kind, uint64_t cores, const char *name,
                                  struct tsr_split *split, struct tsr_mapping *out,
                                  struct tsr_err *err);
static inline uint64_t tsr_split_cores(const struct tsr_split *s) {
  return s->parts[0] * s->parts[1];
}
/* Divides axis x into at most n parts that fill the array; how many it came to. */
uint64_t tsr_split_divide(const struct tsr_shape *s, const struct tsr_target *t,
                          enum tsr_isa_axis x, uint64_t n, uint64_t *chunk);
struct tsr_part tsr_split_part(const struct tsr_shape *s, const struct tsr_split *split,
                               uint64_t core);

/* A mapping made otherwise than by a template. --------------------------------------- */

/* The loops over tiles of m->tile in this order; those of one trip are left out. */
void tsr_mapping_loops(const struct tsr_shape *s, const enum tsr_isa_axis order[TSR_AXIS_COUNT],
                       struct tsr_mapping *m);
/* What follows from the target: spatial axes, cuts of k, promotion. */
void tsr_mapping_finish(const struct tsr_shape *s, const struct tsr_target *t,
                        struct tsr_mapping *m);
enum tsr_mapping_fault {
  TSR_MAPPING_SOUND,
  TSR_MAPPING_SUMS, /* a loop that moves results stands inside one of k */
  TSR_MAPPING_K,    /* loops of k are not in order kh, kw, c, or a tile of k is no run of k */
  TSR_MAPPING_ROOM, /* a tile does not fit: bytes that it needs */
  TSR_MAPPING_PROMOTED, /* its tile of k is not the one that promotion leaves */
  TSR_MAPPING_RULES     /* groups in a tile, or os sums of more than one fold */
};
enum tsr_mapping_fault tsr_mapping_check(const struct tsr_shape *s, const struct tsr_target *t,
                                         const struct tsr_mapping *m, uint64_t bytes[3]);
/* The target with the buffers that a mapping takes. */
void tsr_mapping_target(const struct tsr_mapping *m, struct tsr_target *t);

/* Whether a tensor (0, 1, 2: a, b, c) has coordinates along an axis. */
bool tsr_mapping_follows(int tensor, enum tsr_isa_axis x);
/* A tensor moves just inside the innermost loop that one of its axes follows: so many loops
 * stand around its transfers. */
uint32_t tsr_mapping_level(const struct tsr_mapping *m, int tensor);
static inline bool tsr_axis_is_k(int x) {
  return x >= TSR_AXIS_KH && x <= TSR_AXIS_C;
}
/* The largest part of a layer that one core gets. */
struct tsr_shape tsr_split_largest(const struct tsr_split *split, const struct tsr_shape *s);
/* Whether all cores need the same of an operand. */
bool tsr_split_shares(const struct tsr_split *s, int tensor);

bool tsr_shape_equal(const struct tsr_shape *x, const struct tsr_shape *y);
/* Products of axis sizes. */
uint64_t tsr_shape_m(const struct tsr_shape *s);
uint64_t tsr_shape_k(const struct tsr_shape *s);
/* Rows of results that a tile holds: of a convolution whole ones, of one row or of a matmul
 * each result is one. */
static inline uint64_t tsr_tile_lines(const uint64_t tile[TSR_AXIS_COUNT]) {
  uint64_t rows = tile[TSR_AXIS_B] * tile[TSR_AXIS_OH];
  return rows > 1 ? rows : tile[TSR_AXIS_OW];
}
/* Elements of m / k that a tile of the mapping holds. */
uint64_t tsr_mapping_tile_m(const struct tsr_mapping *m);
uint64_t tsr_mapping_tile_k(const struct tsr_mapping *m);

/* Input rows (height) or columns that a tile of a convolution touches: `extent` of
 * them, `step` apart. */
void tsr_mapping_input_span(const struct tsr_shape *s, const struct tsr_mapping *m, bool height,
                            uint64_t *extent, uint64_t *step);
/* Bytes that one tile takes in scratchpad a, b, c. */
void tsr_mapping_tile_bytes(const struct tsr_shape *s, const struct tsr_mapping *m,
                            uint64_t bytes[3]);

/* The end of the k range, beginning at `from` < k, whose products are accumulated
 * before they meet the partial sum of the ranges before: the program's K cuts. */
uint64_t tsr_mapping_k_cut(const struct tsr_shape *s, const struct tsr_mapping *m,
                           uint64_t from);

/* The end of the tile of k that `from` < k lies in. */
uint64_t tsr_mapping_k_tile(const struct tsr_shape *s, const struct tsr_mapping *m,
                            uint64_t from);
/* Tiles of k of the whole shape, and the number of the one that `from` lies in. */
uint64_t tsr_mapping_k_tiles(const struct tsr_shape *s, const struct tsr_mapping *m);
uint64_t tsr_mapping_k_index(const struct tsr_shape *s, const struct tsr_mapping *m,
                             uint64_t from);
/* Bytes of a running sum (fp32), and the buffers that promotion needs of partial sums and of
 * running ones: both lie in scratchpad c. */
enum { TSR_PROMOTED_BYTES = 4, TSR_PROMOTED_SLOTS = 2 };

/* The template of the target's dataflow: among tilings that fit the scratchpads
 * the one with the least max(compute, DRAM traffic), by cheap figures.  `name` is
 * for the message. */
enum tsr_status tsr_mapping_template(const struct tsr_shape *s, const struct tsr_target *t,
                                     const char *name, struct tsr_mapping *out,
                                     struct tsr_err *err);

/* One line: `ws: n/256 m/512 k/1152, array k128 x n128`. */
void tsr_mapping_print(const struct tsr_shape *s, const struct tsr_mapping *m,
                       struct tsr_str *out);

#endif
