/* Operators of a graph in plain double arithmetic, as op.def says them, operand by operand
 * through the bindings: slow, and independent of what lowers them. */
#ifndef TSR_TESTS_UNIT_TRANSLATE_MACHINE_H
#define TSR_TESTS_UNIT_TRANSLATE_MACHINE_H

#include "workloads/graph.h"

/* Runs all operators in order on values[v] (elements of value v of the graph's net, NULL where
 * it has none of its own).  Fails the test where a graph reads what nobody wrote. */
void machine_run(const struct tsr_graph *g, double *const *values);

#endif
