/* What operators of a net are made of: a row of net.def names two functions, one that infers
 * the types and shapes of the outputs, one that computes them.
 *
 * Both see a node through its inputs alone, so that the same functions serve a model whose
 * shapes are inferred and arrays that somebody gives (tsr_net_eval_node): in[i] describes input
 * i, and its `constant` is the value where that is known (always, when evaluating).
 * Contracts: inputs in reach are typed and shaped; the count of inputs and outputs fits the
 * row; what else can be wrong (ranks, types, attributes) the function refuses with tsri_fail.
 */
#ifndef TSR_WORKLOADS_NET_NET_INT_H
#define TSR_WORKLOADS_NET_NET_INT_H

#include "workloads/net/net.h"

struct tsri_type {
  enum tsr_dtype type;
  unsigned rank;
  uint64_t dim[TSR_RANK_MAX];
};
struct tsri_infer {
  const struct tsr_net *net;
  const struct tsr_net_node *node;
  const struct tsr_net_value *const *in; /* by input of the node; NULL: left out */
  struct tsri_type *out; /* by output of the node, to be set; one left out may stay unset */
  struct tsr_err *err;
};
typedef enum tsr_status tsri_infer_fn(struct tsri_infer *c);

struct tsri_eval {
  struct tsri_infer *shape; /* as inferred from `in` just before: for tsri_window, … */
  const struct tsr_net *net;
  const struct tsr_net_node *node;
  const struct tsr_array *const *in; /* by input; NULL: left out */
  struct tsr_array **out;            /* by output, created and zero-filled; NULL: left out */
  struct tsr_err *err;
};
typedef enum tsr_status tsri_eval_fn(struct tsri_eval *c);

struct tsri_op {
  const char *name, *doc;
  unsigned low_in, high_in, low_out, high_out;
  tsri_infer_fn *infer;
  tsri_eval_fn *eval;
};
const struct tsri_op *tsri_op(enum tsr_net_op op);
enum { TSRI_ANY = 255 }; /* a high of net.def without a limit */
/* The counts of inputs and outputs against the row; inputs that must be there are. */
enum tsr_status tsri_check_arity(const struct tsr_net *net, const struct tsr_net_node *n,
                                 struct tsr_err *err);
/* `f32[1,?,3]` with a `?` where open[d] is set (open may be NULL). */
enum { TSRI_TYPE_TEXT = 256 };
void tsri_type_text(enum tsr_dtype type, unsigned rank, const uint64_t *dim,
                    const char *const *open, char text[TSRI_TYPE_TEXT]);

/* ---- for both kinds of function ---- */

/* TSR_INPUT: `PATH: node 'NAME' (OP): …`. */
enum tsr_status tsri_fail(const struct tsr_net *net, const struct tsr_net_node *node,
                          struct tsr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- for infer ---- */

/* Input i; NULL where it is left out or there are fewer. */
const struct tsr_net_value *tsri_in(const struct tsri_infer *c, size_t i);
/* Output i is of this type and shape. Refuses more than TSR_ARRAY_ELEMS_MAX elements and more
 * than TSR_RANK_MAX dimensions.  i beyond the node's outputs: nothing. */
enum tsr_status tsri_set(struct tsri_infer *c, size_t i, enum tsr_dtype type, unsigned rank,
                         const uint64_t *dim);
/* Output i is as input k. */
enum tsr_status tsri_set_like(struct tsri_infer *c, size_t i, size_t k);
/* Input i, when given, is of a floating type / of an integer type (no bool) / of input k's. */
enum tsr_status tsri_want_float(const struct tsri_infer *c, size_t i);
enum tsr_status tsri_want_int(const struct tsri_infer *c, size_t i);
enum tsr_status tsri_want_type_of(const struct tsri_infer *c, size_t i, size_t k);
/* Input i has this rank. */
enum tsr_status tsri_want_rank(const struct tsri_infer *c, size_t i, unsigned rank);
/* The constant of input i; `what` names it in the message when it is none. */
enum tsr_status tsri_constant(const struct tsri_infer *c, size_t i, const char *what,
                              const struct tsr_array **out);
/* A list of integers that is attribute `name` or, where the node has no such attribute, the
 * constant input i (SIZE_MAX: never an input).  *n = 0 and *given = false when there is
 * neither.  More than `max` entries are refused. */
enum tsr_status tsri_ints(const struct tsri_infer *c, const char *name, size_t i, int64_t *list,
                          size_t max, size_t *n, bool *given);
/* Attribute `name` (axis) within rank, `absent` where it is not given. */
enum tsr_status tsri_axis(const struct tsri_infer *c, const char *name, int64_t absent,
                          unsigned rank, unsigned *out);
/* Axes of attribute or input (as tsri_ints) as flags; none given: all false, *given false.
 * Twice the same axis is refused. */
enum tsr_status tsri_net_axes(const struct tsri_infer *c, const char *name, size_t i,
                              unsigned rank, bool axes[TSR_RANK_MAX], bool *given);
/* b on top of the shape in *rank, dim, as numpy broadcasts; false when they do not fit. */
bool tsri_broadcast(unsigned *rank, uint64_t *dim, unsigned b_rank, const uint64_t *b_dim);
/* The windows of Conv, ConvTranspose, ConvInteger, QLinearConv, poolings. */
enum tsr_status tsri_window(const struct tsri_infer *c, struct tsr_net_window *out);
enum tsr_status tsri_einsum(const struct tsri_infer *c, struct tsr_net_einsum *out);
/* A node of a finished net as infer sees it; in: room for `max` inputs. */
enum tsr_status tsri_context(const struct tsr_net *net, const struct tsr_net_node *n,
                             const struct tsr_net_value **in, size_t max, struct tsri_infer *c,
                             struct tsr_err *err);

/* ---- for eval ---- */

/* Steps, in elements, of a row-major array of this shape. */
void tsri_strides(unsigned rank, const uint64_t *dim, uint64_t *stride);
/* The same seen from a shape that it is broadcast to: 0 along what is repeated. */
void tsri_strides_to(const struct tsr_array *a, unsigned rank, const uint64_t *dim,
                     uint64_t *stride);
/* Walks `rank` dimensions row-major, with up to 4 offsets; inner runs along the last dimension
 * are the caller's loop.  Usage:
 *   struct tsri_walk w;
 *   if (tsri_net_walk_init(&w, rank, dim, n, stride))     (stride[k][d])
 *     do … w.n_inner elements from w.at[k] on in steps of w.step[k] …
 *     while (tsri_net_walk_next(&w));
 * tsri_net_walk_init returns false where the shape is empty: then there is nothing to walk.
 * Neighbouring dimensions that are one run for all offsets are joined. */
enum { TSRI_WALK = 4 };
struct tsri_walk {
  unsigned n, rank;
  uint64_t n_inner;
  uint64_t step[TSRI_WALK], at[TSRI_WALK];
  uint64_t dim[TSR_RANK_MAX], i[TSR_RANK_MAX], stride[TSRI_WALK][TSR_RANK_MAX];
};
bool tsri_net_walk_init(struct tsri_walk *w, unsigned rank, const uint64_t *dim, unsigned n,
                        const uint64_t (*stride)[TSR_RANK_MAX]);
bool tsri_net_walk_next(struct tsri_walk *w);
/* Copies a block of `dim` elements between arrays of the same kind, each with a first element
 * and steps of its own (steps may be negative, modulo 2^64). */
void tsri_move(const struct tsr_array *from, uint64_t at_from, const uint64_t *stride_from,
               struct tsr_array *to, uint64_t at_to, const uint64_t *stride_to, unsigned rank,
               const uint64_t *dim);
/* Fills `to`, coordinate by coordinate from the same rank of `from`: table[d][i] is the source
 * coordinate of i along d, below 0 where the fill stands. */
void tsri_pick(const struct tsr_array *from, struct tsr_array *to, const int64_t *const *table,
               double fill_f, int64_t fill_i);

/* ---- the operators ---- */

/* A row of net.def may name the functions of another: node->op tells them apart. */
#define NET(id, name, low_in, high_in, low_out, high_out, infer, eval, doc) \
  enum tsr_status infer(struct tsri_infer *c);                              \
  enum tsr_status eval(struct tsri_eval *c);
#include "workloads/net/net.def"
#undef NET

#endif
