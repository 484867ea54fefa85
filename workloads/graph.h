/* The operator graph: what a workload is.
 *
 * Every instance of an operator stands under its own name (`layers.0.qkv`).
 * A matmul-like operator is `count` independent products
 *   C[m,n] = A[m,k] * B[k,n]
 * (heads of an attention, groups of a convolution); a convolution also has its
 * geometry, NHWC activations, and m = batch*out_h*out_w, n = out_c/groups,
 * k = k_h*k_w*in_c/groups with k running over (k_h, k_w, channel), channel
 * fastest, count = groups.
 *
 * Ownership: everything lives in the graph's arena.  Read-only after reading. */
#ifndef TSR_WORKLOADS_GRAPH_H
#define TSR_WORKLOADS_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/mem.h"

/* X(id, name, B is a weight, doc) */
#define TSR_OP_LIST(X)                                                    \
  X(CONV, "conv", true, "convolution")                                    \
  X(DWCONV, "dwconv", true, "depthwise convolution: groups = in_c")       \
  X(LINEAR, "linear", true, "activations times weights")                  \
  X(MOE_LINEAR, "moe_linear", true, "linear layer of one expert")         \
  X(ATTN_QK, "attn_qk", false, "queries times keys, count = batch*heads") \
  X(ATTN_PV, "attn_pv", false, "probabilities times values")              \
  X(GEMM, "gemm", true, "a plain matmul")                                 \
  X(BMM, "bmm", false, "a matmul of two activations")

enum tsr_op_kind {
#define TSR_OP_ENUM(id, name, w, doc) TSR_OP_##id,
  TSR_OP_LIST(TSR_OP_ENUM)
#undef TSR_OP_ENUM
      TSR_OP_KIND_COUNT_
};
const char *tsr_op_kind_name(enum tsr_op_kind k);
bool tsr_op_kind_b_is_weight(enum tsr_op_kind k);
/* By name; false when unknown. */
bool tsr_op_kind_find(const char *name, enum tsr_op_kind *out);

struct tsr_conv { /* all in elements; valid when tsr_op.has_conv */
  uint64_t batch, in_c, in_h, in_w, out_c, out_h, out_w;
  uint64_t k_h, k_w, stride_h, stride_w, pad_t, pad_l, pad_b, pad_r, dil_h, dil_w, groups;
};

struct tsr_op {
  const char *name;
  enum tsr_op_kind kind;
  uint64_t m, n, k, count;
  bool has_conv;
  struct tsr_conv conv;
  /* Formats by name; "" = the machine's default for that role. */
  const char *format_a, *format_b, *format_acc, *format_out;
  const char *sparsity; /* as written in the source (`2:4`), "" = dense */
  size_t n_after;       /* operators this one depends on, indices below its own */
  const size_t *after;
  struct tsr_pos pos; /* of its row, for messages */
};

struct tsr_graph {
  struct tsr_arena *arena;
  const char *name; /* the model of an own list or zoo entry, `gemm:…` as written, else the
                       file's name without folder and `.csv` */
  const char *text; /* the full source text, stored with a run */
  uint64_t batch;   /* inferences that the graph computes at once */
  size_t n_ops;
  struct tsr_op *ops;
};

void tsr_graph_destroy(struct tsr_graph *g);

/* Logical multiply-accumulates of one operator / the graph; false on overflow
 * of 64 bits. */
bool tsr_op_macs(const struct tsr_op *op, uint64_t *macs);
/* Elements of one operator's whole tensors (all counts): A as stored (a
 * convolution's input, not its im2col form), B, C.  false on overflow. */
bool tsr_op_elems(const struct tsr_op *op, uint64_t *a, uint64_t *b, uint64_t *c);
/* Checks sizes (> 0), the geometry against m n k, products against 64 bits. */
enum tsr_status tsr_op_check(const struct tsr_op *op, struct tsr_err *err);

/* Reads a workload by what the user wrote: `gemm:MxNxK[,MxNxK…]`, a zoo name
 * (bare), or a path of a CSV file (recognised as SCALE-Sim convolution, SCALE-Sim
 * M,N,K or our own format by its columns).  `batch` 0 = as in the source; else
 * so many times its batch: multiplies m of weight operators (and conv.batch) and count of the
 * others. `text` (may be NULL): use this text instead of opening the file or the zoo.
 * TSR_USAGE: a bare word (no `/`, no `.`) that names nothing built in; TSR_INPUT:
 * the text, or a file that cannot be read.  Warnings go to err.  *out is created
 * (tsr_graph_destroy), unchanged on failure. */
enum tsr_status tsr_workload_read(const char *what, const char *text, uint64_t batch,
                                  struct tsr_graph **out, struct tsr_err *err);

/* The zoo: names and embedded texts (static). */
size_t tsr_zoo_count(void);
const char *tsr_zoo_name(size_t i);
const char *tsr_zoo_doc(size_t i);
const char *tsr_zoo_text(const char *name);

#endif
