/* Graphs made by programs: readers of other files and translators of nets.
 *
 * A builder takes operators one by one, each after those that it depends on, and hands over
 * the checked graph.  Units and shapes are those of workloads/graph.h.
 * Ownership: all texts and lists of an operator are copied into the graph's arena, so the
 * caller's may be gone after the call; the builder is the caller's until tsr_build_finish or
 * tsr_build_destroy.
 * Errors: TSR_INPUT for a name that is empty or taken and for what tsr_op_check refuses;
 * TSR_NOMEM.  A dependency on an operator that is not there yet is a broken invariant. */
#ifndef TSR_WORKLOADS_BUILD_H
#define TSR_WORKLOADS_BUILD_H

#include "workloads/graph.h"

struct tsr_build;

/* A graph of this name without operators.  `path` is for messages, `text` of `len` bytes is
 * the source that a run stores (graph->text); both are copied.  A byte order mark is no part
 * of the source that positions count in. */
enum tsr_status tsr_build_create(const char *name, const char *path, const char *text,
                                 size_t len, struct tsr_build **out, struct tsr_err *err);
/* Drops what was built; NULL is allowed. */
void tsr_build_destroy(struct tsr_build *b);
/* The arena of the graph to come (borrowed): what is allocated there lives as long. */
struct tsr_arena *tsr_build_arena(struct tsr_build *b);
/* The source, for positions of operators and messages (borrowed, lives with the graph). */
const struct tsr_src *tsr_build_src(const struct tsr_build *b);
/* Adds an operator behind those that are there; its index is tsr_build_count before the call.
 * Formats and sparsity may be NULL (defaults, dense), `after` where n_after is 0; pos may be
 * zero.  Nothing changes on failure. */
enum tsr_status tsr_build_add(struct tsr_build *b, const struct tsr_op *op,
                              struct tsr_err *err);
size_t tsr_build_count(const struct tsr_build *b);
/* The index of the operator of this name, or SIZE_MAX. */
size_t tsr_build_find(const struct tsr_build *b, const char *name);
/* Another name for the graph (copied). */
enum tsr_status tsr_build_rename(struct tsr_build *b, const char *name, struct tsr_err *err);
/* The attributes of a kind where nothing is said: eps, numbers, the way of the second operand;
 * 0 for what has no default (heads, table, experts). */
void tsr_op_kind_defaults(enum tsr_op_kind kind, struct tsr_op_attr *attr);
/* Checks every operator and hands over the graph, `batch` inferences at once.  The builder is
 * gone afterwards, whatever comes of it; a graph without operators is TSR_INPUT. */
enum tsr_status tsr_build_finish(struct tsr_build *b, uint64_t batch, struct tsr_graph **out,
                                 struct tsr_err *err);

#endif
