/* A node of a net and what it computes, as a row of text.
 *
 * Attributes: `axis=1 alpha=0.5 axes=[0,-1] scales=[1.,2.] auto_pad=SAME_UPPER names=[A,B]`; a
 * number with a point or an exponent is a float.  Arrays: `f32[2,3] 1 2 3 4 5 6`; in place of
 * the numbers, `0..` counts up from that number and `=2.5` is one number everywhere; `nan`,
 * `inf`, `-inf` are numbers.  "" is an input or output left out; a list ends with NULL. */
#ifndef TSR_TESTS_UNIT_NET_NODE_ROW_H
#define TSR_TESTS_UNIT_NET_NODE_ROW_H

#include <stddef.h>

enum { ROW_IN = 10, ROW_OUT = 6 };
struct node_row {
  const char *op;
  int opset;
  const char *attrs;
  const char *in[ROW_IN];
  const char *want[ROW_OUT];
  const char *error; /* a part of the message, in place of `want` */
  double tolerance;  /* relative where |want| > 1, else absolute; 0: 1e-12 */
};
/* Evaluates every row and compares types, shapes and numbers; then lets every allocation of the
 * first row fail in turn.  A message must name the node. */
void node_rows_hold(const struct node_row *rows, size_t n);

#endif
