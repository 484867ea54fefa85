/* A made-up run whose sums hold, of any number of layers and segments. */
#ifndef TSR_TESTS_UNIT_STORE_SAMPLE_H
#define TSR_TESTS_UNIT_STORE_SAMPLE_H

#include "sim/store/store.h"

struct sample {
  struct tsr_run_record run;
  struct tsr_arena *arena; /* holds everything run points to */
  struct tsr_run_layer *layers;
};

/* Layers 0, 3, 6 … have no MACs when `vector` (so that with 3 there is one);
 * each layer has `segments` segments. */
void sample_init(struct sample *s, size_t layers, size_t segments, bool vector);
void sample_fini(struct sample *s);

/* A fresh folder (static storage, valid until the next call) and its end. */
const char *sample_dir(void);
void sample_dir_remove(const char *dir);
/* A number from the store at `path` by SQL; -1 when it cannot be read. */
long long sample_number(struct tsr_store *s, const char *sql);

#endif
