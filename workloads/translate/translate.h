/* A model becomes the operators of the machine.
 *
 * Every node of a finished net is lowered, in order, by the row of its operator: to one
 * operator of workloads/op.def or to several (`<node>.<part>`), each operand bound to elements
 * of values by a view.  Nodes that only rename elements (Reshape, Identity, …) run nothing:
 * their results are aliases, see struct tsr_net_value.alias and tsr_translate_source.
 *
 * Units: elements; operands lie as op.def says (images NHWC), values as the model has them.
 * Ownership: on success the net belongs to the graph (graph->nets[0], destroyed with it); on
 * failure it stays the caller's, though it may hold further values.
 * Errors: TSR_INPUT names the node that has no kernel on the machine, and what of it.
 * Sources: meaning of operators, SRC:onnx_operators. */
#ifndef TSR_WORKLOADS_TRANSLATE_TRANSLATE_H
#define TSR_WORKLOADS_TRANSLATE_TRANSLATE_H

#include "workloads/graph.h"
#include "workloads/net/net.h"
#include "workloads/translate/view.h"

/* The operator graph of a finished net.  prefix (NULL: none) stands before every operator's
 * name.  graph->batch is the net's. */
enum tsr_status tsr_translate(struct tsr_net *net, const char *prefix, struct tsr_graph **out,
                              struct tsr_err *err);
/* The value whose elements these are, in the same order: the value itself, or what it is an
 * alias of. */
size_t tsr_translate_source(const struct tsr_net *net, size_t value);
/* An operator of a model has a kernel on the machine. */
bool tsr_translate_has(enum tsr_net_op op);

#endif
