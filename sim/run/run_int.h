#ifndef TSR_SIM_RUN_RUN_INT_H
#define TSR_SIM_RUN_RUN_INT_H

#include "kernels/check/check.h"
#include "kernels/check/draw.h"
#include "kernels/lower/lower.h"
#include "models/arith/mma.h"
#include "sim/engine/values.h"
#include "sim/run/operand.h"
#include "sim/run/run.h"

/* The workloads of a run and the cores of each; see tenants.c. */
enum tsr_status tsri_tenants_read(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                  struct tsr_err *err);
/* Their texts as one that can be stored, and one of them out of it (o->workload_text). */
enum tsr_status tsri_tenants_text(const struct tsr_run_plan *p, struct tsr_arena *arena,
                                  const char **out, struct tsr_err *err);
enum tsr_status tsri_tenant_text(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                 size_t index, const char **out, struct tsr_err *err);
/* Reads the program of o into p->program; see program.c. */
enum tsr_status tsri_program_read(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                  struct tsr_err *err);
/* Without a workload: a graph of one operator, the program itself. */
enum tsr_status tsri_program_alone(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                   struct tsr_err *err);
/* Puts it in the place of the plan's layer. */
enum tsr_status tsri_program_place(struct tsr_run_plan *p, struct tsr_err *err);
/* Its tensors in the image: what it loads holds drawn values, what it only stores none. */
enum tsr_status tsri_program_tensors(const struct tsr_run_plan *p, struct tsr_values *values,
                                     uint64_t seed, struct tsr_err *err);
/* Multiplies outlier columns of activations apart; see outliers.c. */
enum tsr_status tsri_outliers_split(const struct tsr_machine *m, struct tsr_graph *g,
                                    struct tsr_err *err);
/* A format by its name, of the table or parsed. */
enum tsr_status tsri_format_read(const char *name, struct tsr_format *f, struct tsr_err *err);
/* Cuts chains of layers so that what passes between them stays on the chip; see fuse.c. */
enum tsr_status tsri_fuse(const struct tsr_run_plan *p, struct tsr_graph *g,
                          struct tsr_err *err);
/* Which cores a layer may use, which layers run side by side. */
enum tsr_status tsri_cores_assign(struct tsr_run_plan *p, struct tsr_err *err);

/* Bytes of a layer's tensors; and, once it is mapped, of what lies in memory beside them. */
struct tsri_sizes {
  uint64_t a, b, c, step[TSR_EPILOGUE_MAX], extra[TSR_LOWER_EXTRA];
  uint64_t parts, scales;
};
/* Its tensors. */
enum tsr_status tsri_sizes_of(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                              struct tsri_sizes *z, struct tsr_err *err);

/* Operands that are results of layers before; see link.c. */
enum {
  TSRI_LINK_A,
  TSRI_LINK_B,
  TSRI_LINK_STEP, /* and on: second operands of the epilogue */
  TSRI_LINKS = TSRI_LINK_STEP + TSR_EPILOGUE_MAX
};
struct tsri_link {
  size_t layer; /* whose result it is, SIZE_MAX: none */
  uint64_t from_bytes;
};
/* The layer that a result is said to be of: of parts that lie as one the first. */
size_t tsri_result_head(const struct tsr_run_plan *p, size_t layer);
/* Bytes of a whole result by one part's, and where in it the part begins. */
uint64_t tsri_result_whole(const struct tsr_run_layer_plan *l, uint64_t bytes);
uint64_t tsri_result_from(const struct tsr_run_layer_plan *l, uint64_t bytes);
/* sizes: of all layers; out: TSRI_LINKS of each. */
void tsri_links_find(const struct tsr_run_plan *p, const struct tsri_sizes *sizes,
                     struct tsri_link *out);
/* What the mappings say of where a layer's weights lie. */
enum tsr_status tsri_placement(struct tsr_run_plan *p, struct tsr_run_layer_plan *l,
                               struct tsr_err *err);
/* Elements of a row of a layer's weights as they lie in memory, and the bytes from row to row.
 */
uint64_t tsri_weight_row(const struct tsr_run_layer_plan *l, uint64_t *pitch_bytes);
/* Addresses of everything; see place.c.  Refuses what does not fit DRAM. */
enum tsr_status tsri_place(struct tsr_run_plan *p, struct tsr_err *err);

/* A format by name: an operator's own, "" or NULL: the machine's. */
const char *tsri_or_else(const char *own, const char *machine);
/* Bytes of scratchpad a. */
uint64_t tsri_size_of_a(const struct tsr_machine *m);
/* Buffers of a core's scratchpads, less what is kept. */
void tsri_slots(const struct tsr_run_plan *p, int buf, uint64_t *slots, uint64_t *slot_bytes);
/* What had better stay on the chip between layers; see reside.c. */
enum tsr_status tsri_reside(const struct tsr_run_options *o, struct tsr_residency *out,
                            struct tsr_err *err);
/* Tells what a run that keeps something would come to if it did not. */
enum tsr_status tsri_without(const struct tsr_run_options *o, const struct tsr_run_plan *p,
                             struct tsr_err *err);
/* How much of scratchpad a keeps results, and which; see keep.c. */
enum tsr_status tsri_keep_read(const struct tsr_run_options *o, struct tsr_run_plan *p,
                               struct tsr_err *err);
enum tsr_status tsri_keep(struct tsr_run_plan *p, struct tsr_err *err);

/* Mappings of a file, or searched for; see mappings.c. */
enum tsr_status tsri_mappings_open(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                   struct tsr_err *err);
enum tsr_status tsri_mappings_read(struct tsr_run_plan *p, struct tsr_err *err);
enum tsr_status tsri_mappings_best(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                   struct tsr_err *err);
/* Products of one shape, formats and epilogue. */
bool tsri_same_work(const struct tsr_run_layer_plan *a, const struct tsr_run_layer_plan *b);

/* Values of single operands of a workload that is no model; names of others are passed over
 * where it is not `alone`.  See named.c. */
enum tsr_status tsri_name_operands(const struct tsr_run_options *o, bool alone,
                                   struct tsr_graph *g, struct tsr_err *err);

/* Layers that are no product; see op.c. */
bool tsri_is_product(const struct tsr_op *op);
/* The parts that a concat bound to a net reads from places of their own, one behind the other;
 * 0: its operand lies row by row, or is not bound. */
unsigned tsri_op_parts(const struct tsr_run_layer_plan *l);
void tsri_op_at(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                struct tsr_lower_at *at);
const struct tsr_format *tsri_op_format(const struct tsr_run_layer_plan *l,
                                        enum tsr_lower_fmt f);
enum tsr_status tsri_op_sizes(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                              uint64_t bytes[TSR_LOWER_TENSORS], struct tsr_err *err);
enum tsr_status tsri_op_map(const struct tsr_run_plan *p, struct tsr_run_layer_plan *l,
                            struct tsr_err *err);
enum tsr_status tsri_op_lower(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                              uint32_t core, struct tsr_program *out, struct tsr_err *err);
uint64_t tsri_op_compulsory(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l);

/* Numeric figures of a layer on sampled outputs; see sample.c. */
enum tsr_status tsri_run_sample(const struct tsr_machine *m, const struct tsr_run_layer_plan *l,
                                uint64_t layer, uint64_t seed, struct tsr_run_numeric *out,
                                struct tsr_err *err);

/* Whole layers by value: operands are drawn into the image when a layer begins, results
 * are taken from it when it ends, held against the exact ones and against the operator's
 * own product; see full.c.  *rows, *n: arena-owned. */
struct tsri_full;
struct tsri_hand; /* hand.h; NULL: all operands are drawn */
enum tsr_status tsri_full_create(const struct tsr_run_plan *p, struct tsr_values *values,
                                 struct tsri_hand *hand, uint64_t seed, struct tsri_full **out,
                                 struct tsr_err *err);
void tsri_full_destroy(struct tsri_full *f);
enum tsr_status tsri_full_begin(struct tsri_full *f, size_t layer, struct tsr_err *err);
enum tsr_status tsri_full_end(struct tsri_full *f, size_t layer, struct tsr_arena *arena,
                              const struct tsr_run_numeric **rows, size_t *n,
                              struct tsr_err *err);

/* The same for layers that are no product; see op_full.c. */
struct tsri_op_full;
enum tsr_status tsri_op_full_create(const struct tsr_run_plan *p, struct tsr_values *values,
                                    struct tsri_hand *hand, uint64_t seed,
                                    struct tsri_op_full **out, struct tsr_err *err);
void tsri_op_full_destroy(struct tsri_op_full *f);
enum tsr_status tsri_op_full_begin(struct tsri_op_full *f, size_t layer, struct tsr_err *err);
enum tsr_status tsri_op_full_end(struct tsri_op_full *f, size_t layer, struct tsr_arena *arena,
                                 const struct tsr_run_numeric **rows, size_t *n,
                                 struct tsr_err *err);

/* The running accumulator of the sampled outputs at points along K; see trace.c. */
enum { TSRI_TRACE_POINTS = 8 };
struct tsri_trace_point {
  uint64_t from, to;          /* [from, to): this range; the accumulator stands at `to` */
  struct tsr_check held, own; /* what is held there, and what the range itself lost */
  struct tsr_mma_stats stats; /* of the range */
};
struct tsri_trace {
  size_t n;
  struct tsri_trace_point point[TSRI_TRACE_POINTS];
};
enum tsr_status tsri_run_trace(const struct tsri_operands *o, struct tsri_trace *out,
                               struct tsr_err *err);

/* The epilogue of a layer (epilogue.c): refuses what is not lowered; how its second operands
 * lie in memory and in which format; quantise makes integers of sums. */
enum tsr_status tsri_epilogue_check(const struct tsr_run_layer_plan *l, struct tsr_err *err);
enum tsr_with tsri_epilogue_with(const struct tsr_run_layer_plan *l, size_t step,
                                 unsigned *rows);
const struct tsr_format *tsri_epilogue_format(const struct tsr_run_layer_plan *l, size_t step);
/* Elements of an operand (0: the step has none), and one of them by its index, a code. */
uint64_t tsri_epilogue_elems(const struct tsr_run_layer_plan *l, size_t step);
uint64_t tsri_epilogue_operand(const struct tsri_operands *o, size_t step, uint64_t index);
bool tsri_epilogue_whole(const struct tsr_run_layer_plan *l);
/* What a template and the lowering must know of it. */
void tsri_epilogue_target(const struct tsr_run_layer_plan *l, struct tsr_target *t);
void tsri_epilogue_layout(const struct tsr_run_layer_plan *l, struct tsr_layout *out);
/* A block of results through the epilogue on whole matrices: sums (codes of o->sum, 8 bytes
 * each) of rows from `row` on (counted over groups), columns from `col` on, of a group, become
 * results in the format of memory.  `data`: the operands in the image, by step. */
enum tsr_status tsri_epilogue_run(const struct tsri_operands *o, const uint8_t *const *data,
                                  uint64_t row, uint64_t rows, uint64_t col, uint64_t cols,
                                  uint64_t *codes, struct tsr_err *err);

/* Where the program's sums along K are rounded in a way that matters: the ends of ranges,
 * ascending, the last = k; see sums.c.  A range goes on from the sum of the one before. */
struct tsri_cut {
  size_t end;
  bool promoted; /* here the sum is added to a running one in fp32, and begins anew at +0 */
  bool part;     /* the last of a core's: its sum meets those of the other cores */
};
/* Of a layer; the list is the caller's (tsr_mem_free). */
enum tsr_status tsri_run_cuts(const struct tsri_operands *o, struct tsri_cut **cuts, size_t *n,
                              struct tsr_err *err);
/* The sums of one output: that of the range at work, in the accumulator's format; the
 * running one of its core and that of the cores before, in the format o->sum. */
struct tsri_sums {
  uint64_t acc, promoted, total;
  bool has_promoted, has_total;
};
/* The range that ends at a cut is done; the sum is multiplied by `scale` (a code), where the
 * layer has scales; `events` (may be NULL) of the additions. */
void tsri_sums_cut(const struct tsri_operands *o, const struct tsri_cut *cut, uint64_t scale,
                   struct tsri_sums *s, unsigned *events);
/* Sums that begin at +0, up to k, and the longest of them. */
void tsri_run_ranges(const struct tsri_cut *cuts, size_t n, uint64_t k, uint64_t *longest,
                     uint64_t *ranges);
/* A row of figures; hist: TSR_CHECK_BINS counts or NULL. */
void tsri_run_numeric_row(const struct tsr_check *c, const char *tensor, uint64_t k_from,
                          uint64_t k_to, const uint64_t *hist, struct tsr_run_numeric *out);
/* The same of k in [0, k_to), with the histogram and its edges in the arena. */
enum tsr_status tsri_run_numeric_whole(const struct tsr_check *c, const char *tensor,
                                       uint64_t k_to, struct tsr_arena *arena,
                                       struct tsr_run_numeric *out, struct tsr_err *err);
/* Adds what the units counted; NULL: nobody did, and the row says so. */
void tsri_run_numeric_stats(const struct tsr_mma_stats *s, struct tsr_run_numeric *out);

#endif
