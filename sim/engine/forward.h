/* Fast-forward: loops that have come to repeat themselves are accounted for at once.
 *
 * Behind an instant in which the program of a core went back to the head of a loop, the state
 * of everything, relative to the present, is recorded (models/visit.h) and held against those
 * of earlier iterations.  Where one is the same, and the iterations between and those to come
 * ask for the same (nothing clipped at an edge, not the first or the last, addresses that fall
 * alike on bursts and buffers), what happened between happens again: time, counters, accounts
 * and segments move by as many repetitions as are left but the last, the loop's index too,
 * and the run goes on from there.  Every figure is what it would be without.
 *
 * Equal jobs: a job that begins on a machine at rest and asks for what one did before ends as
 * that one did.
 *
 * For machines of one core without a last-level buffer or interconnect, and timing alone:
 * values move element by element.  Owned by the engine. */
#ifndef TSR_SIM_ENGINE_FORWARD_H
#define TSR_SIM_ENGINE_FORWARD_H

#include "sim/engine/engine_int.h"

struct tsri_forward;

/* NULL in *out where the machine cannot. */
enum tsr_status tsri_forward_create(struct tsr_engine *e, struct tsri_forward **out,
                                    struct tsr_err *err);
void tsri_forward_destroy(struct tsri_forward *f);
/* A core begins a program. */
void tsri_forward_begin(struct tsri_forward *f, struct tsri_core *c);
/* Its issue has gone back to the head of a loop. */
void tsri_forward_looped(struct tsri_forward *f, int loop);
/* ---- equal jobs ---- */

struct tsri_recalled;
/* What an equal job before this one came to, NULL: there was none. */
const struct tsri_recalled *tsri_recall(struct tsri_forward *f, const struct tsri_running *r);
/* When it ends, as fs from its begin; everything that only grows has grown by then.  Of
 * events one, with which it ends, is left to be run. */
uint64_t tsri_recall_account(struct tsri_forward *f, const struct tsri_recalled *x);
/* Its result; segments are put into r. */
void tsri_recall_result(const struct tsri_recalled *x, struct tsri_running *r,
                        struct tsr_layer_result *out);
/* A job begins, on a machine at rest; it ends with this result. */
void tsri_recall_begin(struct tsri_forward *f, const struct tsri_running *r);
void tsri_recall_end(struct tsri_forward *f, const struct tsri_running *r,
                     const struct tsr_layer_result *x);

/* A segment of a lane was recorded (trace). */
void tsri_forward_log(struct tsri_forward *f, struct tsri_lane *lane, int state, uint64_t start,
                      uint64_t cycles);
/* What a request asks for, addresses but for their alignment apart, as a hash. */
uint64_t tsri_forward_signature(const struct tsri_forward *f, int unit,
                                const struct tsr_req *req);

#endif
