/* Networks by their hyper-parameters: a short YAML text gives an operator graph.
 *
 * Decoders, encoders, encoders with decoders (all of transformer layers, also with mixtures of
 * experts) and DLRM.  A graph holds either the products alone, as published lists of layers do,
 * or every operator: embeddings, norms, softmax, activations, residuals.
 * All sizes are counts of elements, rows or inferences; README.md has every key.
 * Ownership: the graph is the caller's (tsr_graph_destroy); its text is a copy.
 * Errors: TSR_USAGE for an unknown key; TSR_INPUT with positions for values, for keys that do
 * not go together, for more than TSR_SPEC_OPS_MAX operators and for products above 64 bits.
 * Sources of the structures: SRC:vaswani2017, SRC:dlrm-mlperf, SRC:whisper, SRC:mixtral-config.
 */
#ifndef TSR_WORKLOADS_SPEC_SPEC_H
#define TSR_WORKLOADS_SPEC_SPEC_H

#include "workloads/graph.h"

enum { TSR_SPEC_OPS_MAX = 200000 };

/* Reads `text` of `len` bytes, named `path` in messages.  `batch` 0: that of the text; else so
 * many times that.  *out unchanged on failure. */
enum tsr_status tsr_spec_read(const char *path, const char *text, size_t len, uint64_t batch,
                              struct tsr_graph **out, struct tsr_err *err);
/* A line of the text starts with `kind:`, which no architecture and no layer list has. */
bool tsr_spec_is(const char *text, size_t len);

#endif
