/* The operator graph as JSON, in and out: what other programs make and read.
 *
 *   {"tessera_graph": 1, "name": "net", "batch": 1, "operators": [
 *     {"name": "conv1", "op": "conv", "m": 9, "n": 4, "k": 18, "count": 1,
 *      "conv": {"batch": 1, "in_c": 2, …, "groups": 1},
 *      "attributes": {"with": "row"}, "epilogue": [{"op": "bias"}, {"op": "relu"}],
 *      "formats": {"a": "int8"}, "sparsity": "2:4", "after": ["conv0"]}, …]}
 *
 * Keys, units and shapes are those of workloads/graph.h.  `name`, `op`, `m`, `n` are needed;
 * `k`, `count` and `batch` are 1 where they are left out, of the geometry everything but in_*,
 * out_* and k_* has its default, attributes theirs (workloads/README.md).  `after` names
 * earlier operators; without it an operator reads the model's input.  An infinity is "inf" or
 * "-inf".  A graph's bindings to a net are not in it.
 * Ownership: a graph that was read is the caller's (tsr_graph_destroy).
 * Errors: TSR_INPUT at line and column for what is no JSON, unknown, missing and duplicate
 * keys, names that are taken or unknown, and what tsr_op_check refuses; up to 20 at once. */
#ifndef TSR_WORKLOADS_EXCHANGE_GRAPH_JSON_H
#define TSR_WORKLOADS_EXCHANGE_GRAPH_JSON_H

#include "sim/base/str.h"
#include "workloads/graph.h"

enum { TSR_GRAPH_JSON_VERSION = 1 };

/* The text begins with a brace: it can be nothing but a graph in JSON. */
bool tsr_graph_json_is(const char *text, size_t len);
/* `path` is for messages; `batch` 0 = as in the text, else so many times its batch.  *out is
 * unchanged on failure. */
enum tsr_status tsr_graph_json_read(const char *path, const char *text, size_t len,
                                    uint64_t batch, struct tsr_graph **out,
                                    struct tsr_err *err);
/* Adds the text of a graph; reading it gives an equal one.  TSR_INPUT: a size above 2^63 - 1.
 */
enum tsr_status tsr_graph_json_write(const struct tsr_graph *g, struct tsr_str *out,
                                     struct tsr_err *err);

#endif
