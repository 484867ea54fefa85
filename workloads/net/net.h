/* The model as its framework wrote it: nodes on values of up to eight dimensions.
 *
 * Readers (workloads/onnx, …) build a net; tsr_net_finish sorts the nodes, binds named
 * dimensions, infers every shape and folds what is constant; workloads/translate makes the
 * operator graph of it, sim/run hands its values from operator to operator, tsr_net_eval
 * computes it in double precision.  Operators are the rows of net.def, with ONNX's names,
 * attributes and meaning (SRC:onnx_operators) at the opset of the net.
 *
 * Units: elements.  Layouts: row-major, images NCHW as in ONNX.  Indices of values and nodes
 * are stable until tsr_net_finish, which sorts nodes; SIZE_MAX is an input or output left out.
 * Ownership: all lives in the net's arena, big constants too; tsr_net_destroy frees it.
 * Errors: TSR_INPUT names the node and what was expected; an operator that net.def lacks is
 * reported by tsr_net_finish with its node, unless unsupported ones are to be skipped. */
#ifndef TSR_WORKLOADS_NET_NET_H
#define TSR_WORKLOADS_NET_NET_H

#include "workloads/net/array.h"

enum tsr_net_op {
  TSR_NET_UNKNOWN, /* no row: kept under its own name */
#define NET(id, name, low_in, high_in, low_out, high_out, infer, eval, doc) TSR_NET_##id,
#include "workloads/net/net.def"
#undef NET
  TSR_NET_OP_COUNT_
};
/* ONNX's name of an operator (static), and the other way round; UNKNOWN when there is no row.
 */
const char *tsr_net_op_name(enum tsr_net_op op);
const char *tsr_net_op_doc(enum tsr_net_op op);
enum tsr_net_op tsr_net_op_find(const char *name);

enum tsr_attr_kind {
  TSR_ATTR_INT,
  TSR_ATTR_FLOAT,
  TSR_ATTR_TEXT,
  TSR_ATTR_INTS,
  TSR_ATTR_FLOATS,
  TSR_ATTR_TEXTS,
  TSR_ATTR_ARRAY,
  TSR_ATTR_GRAPH
};
struct tsr_net_attr {
  const char *name;
  enum tsr_attr_kind kind;
  int64_t i;
  double f;
  const char *text;
  size_t n; /* of a list */
  const int64_t *ints;
  const double *floats;
  const char *const *texts;
  const struct tsr_array *array;
};

struct tsr_net_value {
  const char *name;
  enum tsr_dtype type; /* NONE: not known yet */
  bool shaped;         /* rank and dim are known */
  unsigned rank;
  uint64_t dim[TSR_RANK_MAX];
  const char *dim_name[TSR_RANK_MAX]; /* of an input's dimension left open (`batch`, or `x.0`
                                         of input x where the model gives no name), else NULL */
  const struct tsr_array *constant;   /* an initialiser, or folded */
  size_t producer;                    /* node, SIZE_MAX: none */
  bool is_input, is_output;
  bool is_weight; /* an initialiser, or made of initialisers alone */
  size_t alias;   /* set by tsr_translate: the value whose elements these are, in the same
                     order; SIZE_MAX: it has its own */
};

struct tsr_net_node {
  enum tsr_net_op op;
  const char *op_name; /* as the model says */
  const char *domain;  /* "" is ONNX's own */
  const char *name;    /* unique; a node without a name gets `<op>_<index>` */
  size_t n_in, n_out;
  const size_t *in, *out; /* values; SIZE_MAX: left out */
  size_t n_attrs;
  const struct tsr_net_attr *attrs;
  bool folded;  /* its outputs are constants: nothing runs */
  bool skipped; /* unsupported; its outputs, where a shape could be had, are drawn */
};

struct tsr_net {
  struct tsr_arena *arena;
  const char *name, *path; /* path: for messages */
  int opset;
  uint64_t batch; /* dimension 0 of the first input where it is open and was given, else 1 */
  size_t n_values, n_nodes, n_inputs, n_outputs;
  struct tsr_net_value *values;
  struct tsr_net_node *nodes; /* after tsr_net_finish: in an order that runs */
  size_t *inputs, *outputs;   /* values, in the model's order; initialisers are no inputs */
  size_t n_skipped;
  bool finished;
  struct tsr_net_names *names; /* private: values by name */
  size_t cap_values, cap_nodes, cap_inputs, cap_outputs;
};

/* ---- building ---- */

enum tsr_status tsr_net_create(const char *name, const char *path, int opset,
                               struct tsr_net **out, struct tsr_err *err);
void tsr_net_destroy(struct tsr_net *net);
/* The value of this name, made where there is none (shapeless).  Names are copied. */
enum tsr_status tsr_net_value(struct tsr_net *net, const char *name, size_t *out,
                              struct tsr_err *err);
/* The same without making one: SIZE_MAX when there is none. */
size_t tsr_net_find(const struct tsr_net *net, const char *name);
/* A value of no other name, for what a pass makes: `<base>`, else `<base>.<n>`. */
enum tsr_status tsr_net_value_new(struct tsr_net *net, const char *base, enum tsr_dtype type,
                                  unsigned rank, const uint64_t *dim, size_t *out,
                                  struct tsr_err *err);
/* Gives a value its constant (array in the net's arena), type and shape. */
enum tsr_status tsr_net_constant(struct tsr_net *net, size_t value,
                                 const struct tsr_array *array, struct tsr_err *err);
/* Declares inputs and outputs of the model, in order. */
enum tsr_status tsr_net_input(struct tsr_net *net, size_t value, struct tsr_err *err);
enum tsr_status tsr_net_output(struct tsr_net *net, size_t value, struct tsr_err *err);
/* Adds a node; lists and attributes are copied (arrays in them are not).  A value that has a
 * producer already, or is an input or a constant, cannot be an output: TSR_INPUT. */
enum tsr_status tsr_net_node(struct tsr_net *net, const char *op_name, const char *domain,
                             const char *name, const size_t *in, size_t n_in, const size_t *out,
                             size_t n_out, const struct tsr_net_attr *attrs, size_t n_attrs,
                             struct tsr_err *err);

/* A dimension given by the user. */
struct tsr_net_dim {
  const char *name;
  uint64_t value;
};
struct tsr_net_options {
  const struct tsr_net_dim *dims;
  size_t n_dims;
  bool skip_unsupported;
};
/* Sorts (a cycle is an error that names a node in it), binds dimensions (one that is open is an
 * error that names it and the option; one that nothing uses too), infers types and shapes,
 * folds. Node by node in order: infer, then, where all inputs are constants (and for Shape and
 * Size always), eval. */
enum tsr_status tsr_net_finish(struct tsr_net *net, const struct tsr_net_options *o,
                               struct tsr_err *err);

/* Whether an input says how a node works, its data being elsewhere: the shape of a Reshape, the
 * k of a TopK, scales and zero points, weights that a convolution of integers must know. */
bool tsr_net_is_parameter(const struct tsr_net *net, size_t value);
/* An input's values are known: it becomes a constant (a copy in the net's arena) and is no
 * input any more.  Before tsr_net_finish. */
enum tsr_status tsr_net_fix(struct tsr_net *net, size_t value, const struct tsr_array *array,
                            struct tsr_err *err);

/* ---- reading nodes ---- */

const struct tsr_net_attr *tsr_net_attr(const struct tsr_net_node *n, const char *name);
int64_t tsr_net_attr_int(const struct tsr_net_node *n, const char *name, int64_t absent);
double tsr_net_attr_float(const struct tsr_net_node *n, const char *name, double absent);
const char *tsr_net_attr_text(const struct tsr_net_node *n, const char *name,
                              const char *absent);
/* NULL, *n = 0 when absent. */
const int64_t *tsr_net_attr_ints(const struct tsr_net_node *n, const char *name, size_t *count);
/* Input i as a value; NULL when left out. */
const struct tsr_net_value *tsr_net_in(const struct tsr_net *net, const struct tsr_net_node *n,
                                       size_t i);
/* axis (may be negative) within rank, or false. */
bool tsr_net_axis(int64_t axis, unsigned rank, unsigned *out);

/* What windows of Conv, ConvTranspose, poolings are, strides and pads settled (auto_pad too,
 * ceil_mode too): `dims` spatial axes, at most 3.  pad_hi is the model's: with ceil_mode the
 * last window may reach beyond it; where ConvTranspose asks for more than the windows reach,
 * what is behind is 0. */
struct tsr_net_window {
  unsigned dims;
  uint64_t in[3], out[3], kernel[3], stride[3], dil[3], pad_lo[3], pad_hi[3];
  uint64_t groups;
};
enum tsr_status tsr_net_window(const struct tsr_net *net, const struct tsr_net_node *n,
                               struct tsr_net_window *out, struct tsr_err *err);

/* An Einsum's equation, settled: each label once; ellipses become labels of their own. */
enum { TSR_EINSUM_LABELS = 32, TSR_EINSUM_INPUTS = 8 };
struct tsr_net_einsum {
  unsigned n_labels, n_out;
  uint64_t size[TSR_EINSUM_LABELS];
  unsigned out[TSR_RANK_MAX]; /* labels of the result */
  unsigned n_in[TSR_EINSUM_INPUTS];
  unsigned in[TSR_EINSUM_INPUTS][TSR_RANK_MAX]; /* labels of each input's dimensions */
};
enum tsr_status tsr_net_einsum(const struct tsr_net *net, const struct tsr_net_node *n,
                               struct tsr_net_einsum *out, struct tsr_err *err);

/* How Resize and Upsample read their input, axis by axis (the axes are independent): along axis
 * d, result o is the sum over t < taps[d] of weight[d][o * taps[d] + t] times the input at
 * index[d][o * taps[d] + t].  An axis that is not resized has one tap, its own.  outside[d]
 * (NULL: nothing) marks results that are `fill` whatever the taps. */
struct tsr_net_resize {
  unsigned rank;
  uint64_t in[TSR_RANK_MAX], out[TSR_RANK_MAX];
  unsigned taps[TSR_RANK_MAX]; /* 1 nearest, 2 linear, 4 cubic */
  const uint64_t *index[TSR_RANK_MAX];
  const double *weight[TSR_RANK_MAX];
  const bool *outside[TSR_RANK_MAX];
  double fill;
};
/* The lists are in the arena. */
enum tsr_status tsr_net_resize_plan(const struct tsr_net *net, const struct tsr_net_node *n,
                                    struct tsr_arena *arena, struct tsr_net_resize *out,
                                    struct tsr_err *err);

/* ---- the reference ---- */

/* One node on given arrays (by input; NULL where left out): outputs are created (by output;
 * NULL where left out), the caller's.  Floating values are computed in double precision with no
 * rounding to the declared type (Cast to a narrower float rounds); integers exactly, wrapped to
 * the declared width.  No libm transcendental (kernels/ref/vector.h has them). */
enum tsr_status tsr_net_eval_node(const struct tsr_net *net, const struct tsr_net_node *n,
                                  const struct tsr_array *const *in, struct tsr_array **out,
                                  struct tsr_err *err);
/* The whole net.  value: n_values arrays; those of inputs are given (borrowed), and
 * of skipped nodes where they are read; constants are taken from the net; all others are
 * created and the caller's, `keep` (may be NULL: outputs only) says which survive their last
 * reader. */
enum tsr_status tsr_net_eval(const struct tsr_net *net, struct tsr_array **value,
                             bool (*keep)(void *arg, size_t value), void *arg,
                             struct tsr_err *err);

#endif
