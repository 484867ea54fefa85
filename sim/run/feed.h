/* What goes into a network and what is made of what comes out: inputs from files, from a data
 * set or from the pass before; outputs into files, against files, and into figures of quality.
 *
 * Figures (v_quality): of every output norm_err and max_abs_err against the double-precision
 * reference; of a data set of images top1 of the machine and of the reference and their
 * agreement (the share of images whose largest score is the label's, the first of equals); of a
 * text or a decode loop kl, the Kullback-Leibler divergence of the machine's distribution from
 * the reference's in nats a token (sum of p log(p/q)), kl_max, flip_rate, the share of tokens
 * whose most probable follower differs, and of a text bits_per_token of both. Ownership: plan,
 * options and values are borrowed.  Errors: TSR_INPUT for names that no model has, for files,
 * for shapes; TSR_STORE for what cannot be written. */
#ifndef TSR_SIM_RUN_FEED_H
#define TSR_SIM_RUN_FEED_H

#include "sim/run/hand.h"

struct tsri_feed;
enum tsr_status tsri_feed_create(const struct tsr_run_plan *p, const struct tsr_run_options *o,
                                 struct tsri_hand *h, struct tsri_feed **out,
                                 struct tsr_err *err);
void tsri_feed_destroy(struct tsri_feed *f); /* NULL is allowed */
/* Before the first layer of a net: its inputs. */
enum tsr_status tsri_feed_begin(struct tsri_feed *f, size_t graph, size_t net,
                                struct tsr_err *err);
/* Behind its last layer: its outputs. */
enum tsr_status tsri_feed_end(struct tsri_feed *f, size_t graph, size_t net,
                              struct tsr_err *err);
/* Writes what was asked for; the figures (in the arena). */
enum tsr_status tsri_feed_finish(struct tsri_feed *f, struct tsr_arena *arena,
                                 const struct tsr_run_quality **rows, size_t *n,
                                 struct tsr_err *err);

/* An array of a file: NumPy's `.npy`, ONNX's TensorProto (`.pb`), or `FILE.safetensors:TENSOR`.
 */
enum tsr_status tsri_feed_read(const char *path, struct tsr_array **out, struct tsr_err *err);

#endif
