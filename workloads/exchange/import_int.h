/* An import under construction.  Functions return false when memory ran out. */
#ifndef TSR_WORKLOADS_EXCHANGE_IMPORT_INT_H
#define TSR_WORKLOADS_EXCHANGE_IMPORT_INT_H

#include "sim/base/str.h"
#include "workloads/exchange/import.h"

bool tsri_import_init(struct tsr_import *im, enum tsr_import_kind kind);
/* Keys and reasons: `key` is copied, `as` is static. */
bool tsri_import_key(struct tsr_import *im, const char *key, bool used, const char *as);
bool tsri_import_run(struct tsr_import *im, const char *model, uint64_t batch);
/* The name, fit for a file and for a configuration; of the path where `name` is NULL. */
bool tsri_import_name(struct tsr_import *im, const char *name, const char *path);
/* Takes the text over into the arena. */
bool tsri_import_text(struct tsr_import *im, struct tsr_str *text);

#endif
