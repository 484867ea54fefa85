/* What the files of this folder share: the translation under way, and small operators to
 * compose larger ones of.
 *
 * Values are named by index: making one may move net->values, so a pointer into it is good only
 * until the next tsri_tr_temp.  Shapes are copied where they are needed longer (struct
 * tsri_tr_shape). Views address canonical values (aliases looked through) with the dimensions
 * of the value asked for: the order of elements is the same. Every function here reports its
 * error; a lowering returns it as it is. */
#ifndef TSR_WORKLOADS_TRANSLATE_TRANSLATE_INT_H
#define TSR_WORKLOADS_TRANSLATE_TRANSLATE_INT_H

#include "workloads/translate/translate.h"

/* An operator with its bindings.  Dependencies are made of the bindings when all is lowered. */
struct tsri_tr_item {
  struct tsr_op op;
  struct tsr_op_binding bind;
  bool dropped; /* taken into another one */
};

/* What a node is the last one of (pattern.c), or part of. */
struct tsri_tr_whole {
  bool found, inside; /* inside: nothing runs for it */
  enum tsr_op_kind kind;
  size_t x, gain, bias;
  double eps;
};

struct tsri_tr {
  struct tsr_net *net;
  struct tsr_err *err;
  const char *prefix;
  size_t node; /* being lowered */
  struct tsri_tr_item *items;
  size_t n, cap;
  struct tsri_tr_whole *wholes; /* by node */
  size_t *slot, slots;          /* names taken: index of item + 1, open addressing */
  /* Of the last name its node, its part and the number behind it: parts of a node are many. */
  size_t last_node;
  const char *last_what;
  unsigned last_number;
};

typedef enum tsr_status tsri_tr_fn(struct tsri_tr *t, const struct tsr_net_node *n,
                                   const void *arg);
/* How nodes of one operator are lowered; a table ends with a NULL name. */
struct tsri_tr_row {
  const char *op; /* ONNX's name */
  tsri_tr_fn *fn;
  const void *arg;
};
/* The families. */
extern const struct tsri_tr_row tsri_tr_element_rows[], tsri_tr_layout_rows[],
    tsri_tr_index_rows[], tsri_tr_resize_rows[], tsri_tr_reduce_rows[], tsri_tr_norm_rows[];

/* ---- errors ---- */
/* "operator 'X' of node 'n' has no kernel on the machine: <what>". */
enum tsr_status tsri_tr_refuse(struct tsri_tr *t, const struct tsr_net_node *n, const char *fmt,
                               ...) __attribute__((format(printf, 3, 4)));

/* ---- values ---- */
struct tsri_tr_shape {
  enum tsr_dtype type;
  unsigned rank;
  uint64_t dim[TSR_RANK_MAX];
  uint64_t n; /* elements */
};
struct tsri_tr_shape tsri_tr_shape_of(const struct tsri_tr *t, size_t value);
/* Input i or output i of a node as a value, SIZE_MAX where left out. */
size_t tsri_tr_in(const struct tsr_net_node *n, size_t i);
size_t tsri_tr_out(const struct tsr_net_node *n, size_t i);
/* Its elements where it is a constant, or an alias of one (then perhaps of another shape); else
 * NULL. */
const struct tsr_array *tsri_tr_constant(const struct tsri_tr *t, size_t value);
/* Integers of a node: attribute `name`, or else the constant input i (SIZE_MAX: never an
 * input); *n = 0 and *given = false where there is neither.  Inputs that data decide and lists
 * longer than `max` are refused. */
enum tsr_status tsri_tr_ints(struct tsri_tr *t, const struct tsr_net_node *n, const char *name,
                             size_t i, int64_t *list, size_t max, size_t *count, bool *given);
/* Attribute `name`, an axis of `rank` dimensions (the net has checked it). */
unsigned tsri_tr_axis(const struct tsr_net_node *n, const char *name, int64_t absent,
                      unsigned rank);
/* A new value for a step in between: `<node>.<what>`. */
enum tsr_status tsri_tr_temp(struct tsri_tr *t, const char *what, enum tsr_dtype type,
                             unsigned rank, const uint64_t *dim, size_t *out);
/* A new constant of `shape`, its elements zero until set in *array (the net's). */
enum tsr_status tsri_tr_const(struct tsri_tr *t, const char *what, enum tsr_dtype type,
                              unsigned rank, const uint64_t *dim, size_t *out,
                              struct tsr_array **array);
/* A constant of rank 0. */
enum tsr_status tsri_tr_scalar(struct tsri_tr *t, enum tsr_dtype type, double v, size_t *out);
/* `to` has the elements of `from` in the same order: nothing runs. */
enum tsr_status tsri_tr_alias(struct tsri_tr *t, size_t from, size_t to);
/* The value's elements under other dimensions (of as many elements): a new alias. */
enum tsr_status tsri_tr_reshaped(struct tsri_tr *t, size_t value, unsigned rank,
                                 const uint64_t *dim, size_t *out);
/* `int32`, `int8`, `uint8`, … as formats are named; "" the machine's own for floats. */
const char *tsri_tr_format(enum tsr_dtype type);

/* ---- views ---- */
/* The value with its dimensions. */
struct tsr_view tsri_tr_view(const struct tsri_tr *t, size_t value);
/* All its elements in one dimension. */
struct tsr_view tsri_tr_view_flat(const struct tsri_tr *t, size_t value);
/* The elements under other dimensions. */
struct tsr_view tsri_tr_view_as(const struct tsri_tr *t, size_t value, unsigned rank,
                                const uint64_t *dim);
/* Dimension d of the result is dimension perm[d] of v. */
struct tsr_view tsri_tr_view_permuted(const struct tsr_view *v, const unsigned *perm);
/* Broadcast to these dimensions (right-aligned, as ONNX does). */
struct tsr_view tsri_tr_view_broadcast(const struct tsri_tr *t, size_t value, unsigned rank,
                                       const uint64_t *dim);
/* An image [N, C, spatial…] as N, H, W, C; fewer than two spatial dimensions are 1. */
struct tsr_view tsri_tr_view_nhwc(const struct tsri_tr *t, size_t value);
/* Every element of v is, in order, the element of that number of the value, all of them. */
bool tsri_tr_view_is_flat(const struct tsri_tr *t, const struct tsr_view *v);

/* ---- operators ---- */
/* An operator of this kind and size, formats left to tsri_tr_emit, nothing bound. */
struct tsri_tr_item tsri_tr_item(enum tsr_op_kind kind, uint64_t m, uint64_t n, uint64_t k,
                                 uint64_t count);
/* Binds an operand to one view; to several side by side, `rows` rows of cols[p] each. */
enum tsr_status tsri_tr_bind(struct tsri_tr *t, struct tsr_operand_view *o,
                             const struct tsr_view *v);
enum tsr_status tsri_tr_bind_parts(struct tsri_tr *t, struct tsr_operand_view *o, uint64_t rows,
                                   unsigned parts, const uint64_t *cols,
                                   const struct tsr_view *v);
void tsri_tr_bind_out(struct tsri_tr_item *it, const struct tsr_view *v);
/* Adds the operator under the node's name (`what` NULL) or `<node>.<what>`.  Formats that are
 * NULL follow the types of what is bound.  Checked with tsr_op_check. */
enum tsr_status tsri_tr_emit(struct tsri_tr *t, const char *what,
                             const struct tsri_tr_item *it);

/* Ready-made operators on whole values.  attr may be NULL. */
/* m and n for operators that do not care: n of some hundreds. */
void tsri_tr_split(uint64_t elems, unsigned rank, const uint64_t *dim, uint64_t *m,
                   uint64_t *n);
enum tsr_status tsri_tr_unary(struct tsri_tr *t, const char *what, enum tsr_op_kind kind,
                              const struct tsr_op_attr *attr, size_t a, size_t out);
/* With broadcasting to the shape of out; a and b are swapped where the kind allows it and that
 * helps. */
enum tsr_status tsri_tr_binary(struct tsri_tr *t, const char *what, enum tsr_op_kind kind,
                               size_t a, size_t b, size_t out);
/* a against a constant number. */
enum tsr_status tsri_tr_with_number(struct tsri_tr *t, const char *what, enum tsr_op_kind kind,
                                    size_t a, double b, size_t out);
/* `copy`: the elements of src, in order, become those of dst.  Views of as many elements. */
enum tsr_status tsri_tr_copy(struct tsri_tr *t, const char *what, const struct tsr_view *src,
                             const struct tsr_view *dst);
/* A row-wise kind: m rows of n, both values whole and in that order. */
enum tsr_status tsri_tr_rows(struct tsri_tr *t, const char *what, enum tsr_op_kind kind,
                             double eps, uint64_t m, uint64_t n, size_t a, size_t out);
/* The value with dimensions in the order of perm: itself where that changes nothing, else a new
 * one, written by `transpose` or `copy`. */
enum tsr_status tsri_tr_permute(struct tsri_tr *t, const char *what, size_t value,
                                const unsigned *perm, size_t *out);
/* The same into a value that exists. */
enum tsr_status tsri_tr_permute_to(struct tsri_tr *t, const char *what, size_t value,
                                   const unsigned *perm, size_t out);
/* Rows of the last `axes` axes normalised; bias SIZE_MAX: none. */
enum tsr_status tsri_tr_layer_norm(struct tsri_tr *t, const char *what, size_t x, unsigned axes,
                                   size_t gain, size_t bias, double eps, size_t out);
/* Rows of the last `axes` axes over the root of the mean of their squares. */
enum tsr_status tsri_tr_rms_norm(struct tsri_tr *t, const char *what, size_t x, unsigned axes,
                                 size_t gain, double eps, size_t out);

/* Outputs of the model that nothing makes are copied (outputs.c). */
enum tsr_status tsri_tr_outputs(struct tsri_tr *t);

/* ---- several nodes that are one operator ---- */
/* Finds them, and lowers the last node of one. */
enum tsr_status tsri_tr_patterns(struct tsri_tr *t);
enum tsr_status tsri_tr_lower_whole(struct tsri_tr *t, const struct tsr_net_node *n,
                                    const struct tsri_tr_whole *w);

#endif
