/* Status codes: what every function that can fail returns.
 *
 * A status says whose fault it is, not what went wrong: the text is in struct
 * tsr_err (sim/base/err.h).  A broken invariant is no status; it aborts
 * through TSR_BUG().  sim/cmd turns a status into the exit code of the row. */
#ifndef TSR_SIM_BASE_STATUS_H
#define TSR_SIM_BASE_STATUS_H

/* X(name, exit code, doc) */
#define TSR_STATUS_LIST(X)                                                    \
  X(OK, 0, "done")                                                            \
  X(NO, 1, "the answer is no")                                                \
  X(USAGE, 2, "unknown command, option, preset or parameter key")             \
  X(INPUT, 3, "bad input, or an input file that is missing or unreadable")    \
  X(SIM, 4, "simulation failed: deadlock, cycle or event limit, interrupted") \
  X(STORE, 5, "store or output could not be read or written")                 \
  X(NOMEM, 5, "out of memory")                                                \
  X(INCONCLUSIVE, 6, "not enough evidence to answer")

enum tsr_status {
#define TSR_STATUS_ENUM(name, code, doc) TSR_##name,
  TSR_STATUS_LIST(TSR_STATUS_ENUM)
#undef TSR_STATUS_ENUM
      TSR_STATUS_COUNT_
};

/* Exit code of a status (static table). */
int tsr_status_exit(enum tsr_status s);
/* One-line description (static storage). */
const char *tsr_status_text(enum tsr_status s);

/* Abort with a message: for states that no input can bring about. */
__attribute__((noreturn)) void tsr_bug(const char *file, int line, const char *what);
#define TSR_BUG(what) tsr_bug(__FILE__, __LINE__, (what))
/* An invariant that stays checked in every build. */
#define TSR_CHECK(cond)                                                   \
  do {                                                                    \
    if (!(cond)) tsr_bug(__FILE__, __LINE__, "invariant broken: " #cond); \
  } while (0)

#endif
