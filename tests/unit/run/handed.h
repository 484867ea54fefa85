/* Runs of nets by value, in memory: what the machine makes of the outputs. */
#ifndef TSR_TESTS_UNIT_RUN_HANDED_H
#define TSR_TESTS_UNIT_RUN_HANDED_H

#include "sim/run/run.h"
#include "tests/support/nets.h"

enum { HANDED_MAX = 8 };
struct handed {
  size_t n_in, n_out;
  struct tsr_array *in[HANDED_MAX];  /* by input of the net; owned */
  struct tsr_array *out[HANDED_MAX]; /* by output, as the machine left them */
  struct tsr_array *ref[HANDED_MAX]; /* in double precision, of the same inputs */
};

struct handed_how {
  const char *arch;
  const char *const *sets;
  size_t n_sets;
  bool whole; /* the inputs' values */
};

/* Not 0: the so-many-th allocation of the translation and the run fails. */
extern uint64_t handed_fail_at;

/* Runs the net of a text (tests/support/nets.h); a status but TSR_OK: *out holds what to free.
 */
enum tsr_status handed_run(const char *text, const struct handed_how *how, struct handed *out,
                           struct tsr_err *err);
void handed_fini(struct handed *x);

#endif
