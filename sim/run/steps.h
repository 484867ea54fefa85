/* A model that runs several times in one run: over the batches of a data set, or over a prompt
 * and then one token after the other (a decode loop).
 *
 * Every pass is a net of its own, with its own dimensions; their operators follow one another
 * in one graph (`batch3.conv1`, `step12.layers.0.q`), so that time runs on.  Dimensions that
 * the user leaves open are settled here: images a pass, tokens a pass, what the cache holds.
 * Inputs are known by their kind: images, the first floating-point one; tokens, the first
 * integer one of two dimensions [sequences, tokens]; a cache, those that begin with `past`.
 * Units: images, tokens.  Ownership: a data set is opened here and closed with the plan.
 * Errors: TSR_INPUT where model and data do not fit each other. */
#ifndef TSR_SIM_RUN_STEPS_H
#define TSR_SIM_RUN_STEPS_H

#include "sim/run/run.h"
#include "workloads/net/net.h"
#include "workloads/tensor/dataset.h"

enum tsri_steps_kind { TSRI_STEPS_IMAGES, TSRI_STEPS_TEXT, TSRI_STEPS_DECODE };

struct tsri_pass {
  uint64_t first, n; /* images; or sequences */
};
struct tsri_steps {
  enum tsri_steps_kind kind;
  struct tsr_dataset *data; /* NULL: a prompt that is drawn */
  const char *input;        /* the one that data go to */
  uint64_t tokens;          /* of a sequence: of a window, of the prompt */
  size_t n;
  struct tsri_pass *pass; /* n */
};

/* Reads the model of `path` as often as it runs, each time as `how` says (NULL: as it is) but
 * for dimensions and names; *out and *graph are created.  text: as stored by an earlier run, or
 * NULL. */
enum tsr_status tsri_steps_read(const struct tsr_run_options *o,
                                const struct tsr_workload_options *how, const char *path,
                                const char *text, struct tsri_steps **out,
                                struct tsr_graph **graph, struct tsr_err *err);
void tsri_steps_destroy(struct tsri_steps *s); /* NULL is allowed */
/* Where a cache's input comes from: the output of the same name with `present` for `past`
 * (`past_key_values.0.key` and `past.0.key` from `present.0.key`); SIZE_MAX: it is no cache. */
size_t tsri_steps_cache(const struct tsr_net *net, size_t input);
/* The output that holds scores of classes or tokens: `logits`, else the first. */
size_t tsri_steps_scores(const struct tsr_net *net);

#endif
