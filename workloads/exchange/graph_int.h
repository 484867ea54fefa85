/* Sizes of an operator and of its geometry, by their keys: what is read is what is written. */
#ifndef TSR_WORKLOADS_EXCHANGE_GRAPH_INT_H
#define TSR_WORKLOADS_EXCHANGE_GRAPH_INT_H

#include "workloads/exchange/graph_json.h"
#include "workloads/exchange/json_int.h"

struct tsri_graph_size {
  const char *key;
  size_t place;
  uint64_t low; /* the least, and the default where it may be left out */
  bool needed;
};
/* Ended by a key of NULL. */
extern const struct tsri_graph_size tsri_graph_sizes[]; /* of struct tsr_op */
extern const struct tsri_graph_size tsri_graph_conv[];  /* of struct tsr_conv */

#endif
