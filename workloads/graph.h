/* The operator graph: what a workload is.
 *
 * Every instance of an operator stands under its own name (`layers.0.qkv`).
 * A matmul-like operator is `count` independent products
 *   C[m,n] = A[m,k] * B[k,n]
 * (heads of an attention, groups of a convolution); a convolution also has its
 * geometry, NHWC activations, and m = batch*out_h*out_w, n = out_c/groups,
 * k = k_h*k_w*in_c/groups with k running over (k_h, k_w, channel), channel
 * fastest, count = groups.
 * The other operators are `count` independent ones over m rows of n columns, k = 1, or as
 * op.def says: attention (m queries, n keys, heads k wide), pooling (m, n = channels, k
 * elements of a window), look-ups (k rows of a table for each of m rows).  They have no MACs,
 * but attention, which has those of the two matmuls it holds.
 *
 * Ownership: everything lives in the graph's arena.  Read-only after reading. */
#ifndef TSR_WORKLOADS_GRAPH_H
#define TSR_WORKLOADS_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/mem.h"

struct tsr_net;        /* workloads/net/net.h */
struct tsr_net_dim;    /* likewise */
struct tsr_array;      /* workloads/net/array.h */
struct tsr_op_binding; /* workloads/translate/view.h */

enum tsr_op_kind {
#define OP(id, name, cls, weight, a, b, c, flags, doc) TSR_OP_##id,
#include "workloads/op.def"
#undef OP
  TSR_OP_KIND_COUNT_
};

/* What an operator is to whoever lowers it. */
enum tsr_op_class {
  TSR_CLASS_MATMUL,
  TSR_CLASS_CONV,        /* a matmul, with or without geometry */
  TSR_CLASS_ATTENTION,   /* two matmuls with a softmax between */
  TSR_CLASS_ROWWISE,     /* an element of the result needs a whole row */
  TSR_CLASS_ELEMENTWISE, /* it needs the elements at its place alone */
  TSR_CLASS_WINDOW,      /* it needs a window; has geometry (out_c = in_c, groups = 1) */
  TSR_CLASS_GATHER,      /* rows at places that data decide */
  TSR_CLASS_LAYOUT,      /* elements move as they are */
};

/* How many elements an operand has; op.def explains each. */
enum tsr_op_shape {
  TSR_SHAPE_NONE,
  TSR_SHAPE_MK,
  TSR_SHAPE_KN,
  TSR_SHAPE_MN,
  TSR_SHAPE_M,
  TSR_SHAPE_N,
  TSR_SHAPE_N2,
  TSR_SHAPE_IN,
  TSR_SHAPE_KV,
  TSR_SHAPE_TN,
  TSR_SHAPE_MT,
  TSR_SHAPE_MKN,
  TSR_SHAPE_SRC,
  TSR_SHAPE_WITH,
  TSR_SHAPE_SHARED
};

struct tsr_op_info {
  const char *name, *doc;
  enum tsr_op_class cls;
  bool b_is_weight;
  enum tsr_op_shape a, b, c;
  bool rows;     /* rows do not depend on each other: a batch multiplies m, else count */
  bool eps;      /* attr.eps is used */
  bool experts;  /* attr.experts is used */
  bool step;     /* may be a step of an epilogue */
  bool has_macs; /* classes matmul, conv and attention */
  bool uses_k;   /* k is not always 1 */
  bool table;    /* attr.table is used */
  bool alpha, beta, zero; /* these of attr, or of a step, are used */
};
/* The row of a kind (static). */
const struct tsr_op_info *tsr_op_kind_info(enum tsr_op_kind k);
const char *tsr_op_kind_name(enum tsr_op_kind k);
bool tsr_op_kind_b_is_weight(enum tsr_op_kind k);
/* Numbers of a kind where none are given; 0 where it has none. */
void tsr_op_kind_numbers(enum tsr_op_kind k, double *alpha, double *beta);
/* By name; false when unknown. */
bool tsr_op_kind_find(const char *name, enum tsr_op_kind *out);

struct tsr_conv { /* all in elements; valid when tsr_op.has_conv */
  uint64_t batch, in_c, in_h, in_w, out_c, out_h, out_w;
  uint64_t k_h, k_w, stride_h, stride_w, pad_t, pad_l, pad_b, pad_r, dil_h, dil_w, groups;
};

/* How the second operand of an elementwise operator meets the first. */
enum tsr_with {
  TSR_WITH_FULL,   /* one element each: M*N */
  TSR_WITH_ROW,    /* one row for all rows: N */
  TSR_WITH_COL,    /* one element a row: M */
  TSR_WITH_SCALAR, /* one element */
  TSR_WITH_COUNT_
};
/* `full`, `row`, `col`, `scalar` (static). */
const char *tsr_with_name(enum tsr_with w);

/* What some kinds have beside their sizes; 0 in the others. */
struct tsr_op_attr {
  uint64_t heads, kv_heads; /* attention: count is a multiple of heads, heads of kv_heads;
                               head h reads the keys of kv head h / (heads / kv_heads) */
  bool causal;              /* attention: query i of m sees keys 0 .. i + n - m */
  uint64_t table;           /* embedding, gather: rows of the table; gather_cols: its columns */
  uint64_t experts;         /* moe_gather, moe_scatter: how many the rows are sorted by */
  double eps;               /* layernorm, rmsnorm, normalise */
  double alpha, beta;       /* leaky_relu, elu, celu: alpha; selu; affine: factor and shift;
                               clip: low and high, an infinity is none */
  double zero;              /* quantise, dequantise: the zero point, a whole number */
  enum tsr_with with;       /* kinds whose b has the shape WITH */
};

/* What happens to the result of a matmul or a convolution, in this order, in the vector unit
 * before it leaves the chip. */
struct tsr_op_step {
  enum tsr_op_kind kind; /* one with info->step */
  enum tsr_with with;    /* where its b has the shape WITH; FULL: another operator's result */
  double alpha, beta, zero; /* as of tsr_op_attr */
};
enum { TSR_EPILOGUE_MAX = 8 };

/* A part of a larger operator: rows or products [from, from + n) of `of`. */
struct tsr_op_part {
  uint64_t from, n, of; /* of 0: it is whole */
  bool groups;          /* products, of count; else rows, of m */
  bool joined;          /* results of all parts lie as one, that of operator `head` first */
  size_t head;
};

struct tsr_op {
  const char *name;
  enum tsr_op_kind kind;
  uint64_t m, n, k, count;
  bool has_conv;
  struct tsr_conv conv;
  struct tsr_op_attr attr;
  size_t n_steps; /* of the epilogue */
  struct tsr_op_step step[TSR_EPILOGUE_MAX];
  /* Formats by name; "" = the machine's default for that role. */
  const char *format_a, *format_b, *format_acc, *format_out;
  struct tsr_op_part part;
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
  /* Where the values of operands come from and go to (workloads/translate/view.h), one for each
   * operator, and the nets that they are of: one, or one for each step of a decode loop.  NULL:
   * operands are drawn. */
  const struct tsr_op_binding *bindings;
  size_t n_nets;
  struct tsr_net **nets; /* owned: destroyed with the graph, by destroy_net */
  void (*destroy_net)(struct tsr_net *net);
};

void tsr_graph_destroy(struct tsr_graph *g);

/* Logical multiply-accumulates of one operator; 0 where !info->has_macs.  A causal attention
 * counts the full square, as the two matmuls it stands for.  false on overflow of 64 bits. */
bool tsr_op_macs(const struct tsr_op *op, uint64_t *macs);
/* Pairs of query and key that an attention needs (all counts), the masked ones left out:
 * each costs 2*k MACs.  false on overflow, or where op is no attention. */
bool tsr_op_attention_pairs(const struct tsr_op *op, uint64_t *pairs);
/* Elements of one operator's whole tensors (all counts): A as stored (a
 * convolution's input, not its im2col form), B, C; without the epilogue's.  Indices count as
 * elements, a table with all its rows.  false on overflow. */
bool tsr_op_elems(const struct tsr_op *op, uint64_t *a, uint64_t *b, uint64_t *c);
/* Elements of the second operand of step i of the epilogue (all counts), 0 where it has none.
 * false on overflow. */
bool tsr_op_step_elems(const struct tsr_op *op, size_t i, uint64_t *elems);
/* Where the second operand of step i comes from: an index of `after`, or SIZE_MAX for the
 * model's input.  false where the step has none or its parameters are the model's.  The first
 * name of `after` is A's; the steps take the last ones, in their order. */
bool tsr_op_step_source(const struct tsr_op *op, size_t i, size_t *source);
/* Where operand 0 (A), 1 (B) or, of an attention, 2 (the values) comes from: an operator's
 * index or SIZE_MAX for the model's input.  false: there is no such operand, or it is a weight.
 * A is the first name of `after`, B the second; with one name matmuls and attention take both
 * from it (fused projections), the others B from the input.  concat reads A from all names side
 * by side; moe_scatter from all but the last, in the order of their rows, B from the last.
 * Where several operators read a result larger than their A (experts behind moe_gather), they
 * take its rows in their own order. */
bool tsr_op_source(const struct tsr_op *op, unsigned operand, size_t *source);
/* Its b stays the same from run to run: a weight, or a scale that is not one a row. */
bool tsr_op_b_is_weight(const struct tsr_op *op);
/* So many inferences of an operator at once: multiplies m where rows do not depend on each
 * other or B is a weight, else count; and conv.batch.  false on overflow, *op unchanged then.
 */
bool tsr_op_batch(struct tsr_op *op, uint64_t batch);
/* Checks sizes (> 0), the geometry against m n k, attributes and steps against the kind,
 * products against 64 bits. */
enum tsr_status tsr_op_check(const struct tsr_op *op, struct tsr_err *err);

struct tsr_workload_given {
  const char *name;
  const struct tsr_array *array; /* borrowed */
};
/* How a workload is read; all zero: as the source says. */
struct tsr_workload_options {
  uint64_t batch; /* 0 = as in the source; else so many times its batch: multiplies m where the
                     rows are independent or B is a weight (and conv.batch), count of the
                     others.  Of an ONNX model the dimension is given by name instead. */
  const char *text; /* use this text instead of opening the file or the zoo; of an ONNX model
                       graph->text of an earlier reading, which the file must still be */
  const struct tsr_net_dim *dims; /* of an ONNX model: its open dimensions */
  size_t n_dims;
  /* Of an ONNX model: values of inputs that are known before the run.  Those that only say how
   * an operator works (the shape of a Reshape, the k of a TopK) become constants. */
  const struct tsr_workload_given *given;
  size_t n_given;
  /* Of an ONNX model: tensors that are made though no operator would need them as they are (a
   * convolution's sums before its activation); names that it has not are passed over. */
  const char *const *made;
  size_t n_made;
  bool skip_unsupported; /* of an ONNX model: operators without a kernel are left out */
  const char *prefix;    /* of an ONNX model: before the operators' names; NULL: none */
};
/* Reads a workload by what the user wrote: `gemm:MxNxK[,MxNxK…]`, one operator as
 * `op:NAME:KEY=V[,KEY=V…]`, a zoo name (bare), or a path: of an ONNX model (`.onnx`), a
 * specification (`.yaml`, `.yml`), a graph (`.json`), or a CSV file (recognised as SCALE-Sim
 * convolution, SCALE-Sim M,N,K or our own format by its columns).  o may be NULL.
 * TSR_USAGE: a bare word (no `/`, no `.`) that names nothing built in, dimensions for what has
 * none; TSR_INPUT: the text, or a file that cannot be read.  Warnings go to err.  *out is
 * created (tsr_graph_destroy), unchanged on failure. */
enum tsr_status tsr_workload_read(const char *what, const struct tsr_workload_options *o,
                                  struct tsr_graph **out, struct tsr_err *err);

/* The zoo: names and embedded texts (static). */
size_t tsr_zoo_count(void);
const char *tsr_zoo_name(size_t i);
const char *tsr_zoo_doc(size_t i);
const char *tsr_zoo_text(const char *name);

#endif
