/* A visit: a component's state, told field by field, for those who look for repetition.
 *
 * Where the state of all components, relative to the present, is what it was some time before,
 * and what is to come is the same too, they will do the same again (sim/engine/forward.c).
 * A component tells in one function, `visit`, everything that it does depends on:
 *   value   a number (never an absolute time or address)
 *   fs, cycle           an instant; it is the same state when it is as far away
 *   *_floor             an instant that means the same as any other not after `floor`
 *   held                a cycle of which only the distance to a later one is ever reported, as
 * a sum: it may stay where it is while time goes on, or move with it sum                 what
 * only grows and nothing depends on The same function advances: instants and sums move by what
 * many repetitions would move them.  Which fields are visited must not depend on times; sums
 * and held ones come always in the same number.
 *
 * Units: fs, core cycles.  Ownership: lists are the visit's (tsr_visit_fini). */
#ifndef TSR_MODELS_VISIT_H
#define TSR_MODELS_VISIT_H

#include <stdbool.h>

#include "sim/base/mem.h"

struct tsr_words {
  uint64_t *w; /* owned */
  size_t n, cap;
};

struct tsr_visit {
  bool advance; /* else: record */
  bool failed;  /* out of memory */
  uint64_t now_fs, now_cycle;
  uint64_t
      since_cycle; /* units may still ask scratchpads for what begins there: not after now */
  uint64_t align;  /* bytes by which an address may differ and mean the same */
  struct tsr_words state, held, sums; /* recorded */
  /* to advance by */
  bool again;                 /* once, and from the same start */
  uint64_t fs, cycles, times; /* of all repetitions; how many */
  const uint64_t *delta;      /* of one, by sum */
  const uint8_t *moves;       /* by held field: it moves with time */
  size_t at_sum, at_held;
};

static inline void tsr_visit_fini(struct tsr_visit *v) {
  tsr_mem_free(v->state.w);
  tsr_mem_free(v->held.w);
  tsr_mem_free(v->sums.w);
}

static inline void tsri_visit_push(struct tsr_visit *v, struct tsr_words *to, uint64_t x) {
  if (to->n == to->cap && !tsr_mem_grow((void **)&to->w, &to->cap, to->n + 1, sizeof *to->w)) {
    v->failed = true;
    return;
  }
  to->w[to->n++] = x;
}

static inline void tsr_visit_value(struct tsr_visit *v, uint64_t x) {
  if (!v->advance) tsri_visit_push(v, &v->state, x);
}
/* By identity: of what stays where it is. */
static inline void tsr_visit_pointer(struct tsr_visit *v, const void *x) {
  tsr_visit_value(v, (uint64_t)(uintptr_t)x);
}
static inline void tsr_visit_address(struct tsr_visit *v, uint64_t x) {
  tsr_visit_value(v, x % v->align);
}

static inline void tsr_visit_fs(struct tsr_visit *v, uint64_t *t) {
  if (v->advance)
    *t += v->fs;
  else
    tsri_visit_push(v, &v->state, *t - v->now_fs);
}
static inline void tsr_visit_cycle(struct tsr_visit *v, uint64_t *c) {
  if (v->advance)
    *c += v->cycles;
  else
    tsri_visit_push(v, &v->state, *c - v->now_cycle);
}
static inline void tsr_visit_fs_floor(struct tsr_visit *v, uint64_t *t, uint64_t floor) {
  if (!v->advance)
    tsri_visit_push(v, &v->state, (*t > floor ? *t : floor) - v->now_fs);
  else if (*t > floor)
    *t += v->fs;
}
static inline void tsr_visit_cycle_floor(struct tsr_visit *v, uint64_t *c, uint64_t floor) {
  if (!v->advance)
    tsri_visit_push(v, &v->state, (*c > floor ? *c : floor) - v->now_cycle);
  else if (*c > floor)
    *c += v->cycles;
}
static inline void tsr_visit_held(struct tsr_visit *v, uint64_t *c) {
  if (!v->advance)
    tsri_visit_push(v, &v->held, *c);
  else if (v->moves[v->at_held++])
    *c += v->cycles;
}
static inline void tsr_visit_sum(struct tsr_visit *v, uint64_t *x) {
  if (!v->advance)
    tsri_visit_push(v, &v->sums, *x);
  else
    *x += v->times * v->delta[v->at_sum++];
}

#endif
