/* A loop whose turns run on several threads; which thread takes which is no matter. */
#include <pthread.h>
#include <stdatomic.h>

#include "models/arith/simd/simd.h"

enum { THREADS_MAX = 256 };

struct loop {
  void (*fn)(void *arg, size_t i);
  void *arg;
  size_t n, grain;
  atomic_size_t next;
};

static void *turns(void *at) {
  struct loop *l = at;
  for (;;) {
    size_t i = atomic_fetch_add(&l->next, l->grain);
    if (i >= l->n) return NULL;
    size_t end = tsr_min_u64(l->n, i + l->grain);
    for (; i < end; i++) l->fn(l->arg, i);
  }
}

void tsri_parallel(unsigned threads, size_t n, void (*fn)(void *arg, size_t i), void *arg) {
  struct loop l = {fn, arg, n, 1, 0};
  pthread_t other[THREADS_MAX];
  unsigned started = 0;
  if (threads > THREADS_MAX) threads = THREADS_MAX;
  if (threads > 1) l.grain = n / (16 * threads) + 1;
  /* A thread that can not be started leaves its turns to the others. */
  while (started + 1 < threads && started + 1 < n &&
         pthread_create(&other[started], NULL, turns, &l) == 0)
    started++;
  turns(&l);
  while (started) pthread_join(other[--started], NULL);
}
