/* What products, windows, reductions, normalisations and recurrent layers share: operands by
 * number, wanted shapes, integers of a narrow type.
 *
 * Units: elements.  Ownership: buffers are the caller's (tsr_mem_free).  Errors: NULL is out of
 * memory; a wrong shape is TSR_INPUT that names the node and both shapes. */
#ifndef TSR_WORKLOADS_NET_OPERAND_INT_H
#define TSR_WORKLOADS_NET_OPERAND_INT_H

#include "workloads/net/net_int.h"

/* Input i, output i of a node in evaluation; NULL where it is left out or there are fewer. */
const struct tsr_array *tsri_arg(const struct tsri_eval *c, size_t i);
struct tsr_array *tsri_result(const struct tsri_eval *c, size_t i);

/* `[2,3]`, for messages. */
struct tsri_net_shape_text {
  char s[192];
};
struct tsri_net_shape_text tsri_net_shape_text(unsigned rank, const uint64_t *dim);

/* Input i, when given, has exactly this shape; `what` names it in the message. */
enum tsr_status tsri_want_shape(const struct tsri_infer *c, size_t i, const char *what,
                                unsigned rank, const uint64_t *dim);
/* The same for a list of n elements, and for one of n where a single element does too. */
enum tsr_status tsri_want_list(const struct tsri_infer *c, size_t i, const char *what,
                               uint64_t n);
enum tsr_status tsri_want_list_or_one(const struct tsri_infer *c, size_t i, const char *what,
                                      uint64_t n);
/* Input i is of at least this rank. */
enum tsr_status tsri_want_rank_from(const struct tsri_infer *c, size_t i, unsigned rank);
/* Input i, when given, is of one of these types (a list that ends with TSR_DTYPE_NONE). */
enum tsr_status tsri_want_types(const struct tsri_infer *c, size_t i,
                                const enum tsr_dtype *types);
/* A number: neither bool nor text. */
enum tsr_status tsri_want_number(const struct tsri_infer *c, size_t i);

/* The product of dim[from .. to). */
uint64_t tsri_count(const uint64_t *dim, unsigned from, unsigned to);

/* The least and largest value that an integer type of at most 32 bits holds. */
void tsri_int_range(enum tsr_dtype type, double *least, double *most);
/* v, rounded to the nearest integer (ties to even), plus zero, clipped to what the type holds;
 * NaN gives 0.  SRC:onnx_quantize. */
int64_t tsri_quantise(enum tsr_dtype type, double v, double zero);
/* Integers of full width in their order: a u64 above 2^63 - 1 is not negative. */
int64_t tsri_order_key(enum tsr_dtype type, int64_t v);

/* n zeros, NULL when out of memory (never for n = 0). */
double *tsri_doubles(uint64_t n);

#endif
