/* Nets as rows of text, translated and run in plain arithmetic, held against the reference.
 *
 * A net is statements with `;` between them:
 *   `x = f32[2,3]`            an input; numbers drawn from -2 to 2 (integers -6 to 6, bool
 * both) `x = f32[2,3] 0.5~3`     drawn from 0.5 to below 3 `x = f32[3] : 1 2 nan`    these
 * numbers;  `w := …` a constant `y, i = TopK(x, k) axis=1 alpha=0.5 perm=[0,1] mode=edge`   a
 * node; `_` is left out, `'…'` a text with signs, `[Tanh,Relu]` a list of texts.
 * Outputs of the net are results that no node reads. */
#ifndef TSR_TESTS_UNIT_TRANSLATE_HARNESS_H
#define TSR_TESTS_UNIT_TRANSLATE_HARNESS_H

#include <stddef.h>

#include "workloads/graph.h"
#include "workloads/net/net.h"

struct net_case {
  const char *text;
  int opset;         /* 0: 21 */
  double tolerance;  /* relative where numbers pass 1; 0: 1e-9 */
  const char *ops;   /* kinds of the operators with `+` between, NULL: any */
  const char *error; /* a part of the message of the translation, NULL: none */
};

/* A finished net of the text (the caller's); fails the test where there is none. */
struct tsr_net *net_of(const struct net_case *c);
/* Translates, runs, compares. */
void net_case_holds(const struct net_case *c);
/* The same nets with the nth allocation of the translation failing, for every n. */
void net_case_survives(const struct net_case *c);
/* Marks the operators of the cases' nodes in seen[TSR_NET_OP_COUNT_]. */
void net_cases_ops(const struct net_case *c, size_t n, bool *seen);

#endif
