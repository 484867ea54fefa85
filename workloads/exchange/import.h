/* What other simulators' files become here.
 *
 * SCALE-Sim's configuration (.cfg) and ONNXim's core configuration become an architecture in
 * our YAML; ONNXim's language model becomes a specification of a transformer; its model list
 * becomes workloads to run.  Every key of a file is accounted for: as what it was taken, or why
 * it is not used.
 * Units: as the keys' own; README.md says what each becomes.
 * Ownership: an import is the caller's (tsr_import_fini), all texts live in its arena.
 * Errors: TSR_INPUT at line and column: malformed lines, missing and duplicate keys, values out
 * of range.  A key that is known to nobody is a warning, and listed.
 * Sources: SRC:scalesim, SRC:onnxim. */
#ifndef TSR_WORKLOADS_EXCHANGE_IMPORT_H
#define TSR_WORKLOADS_EXCHANGE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/mem.h"

enum tsr_import_kind {
  TSR_IMPORT_ARCH, /* text: an architecture */
  TSR_IMPORT_SPEC, /* text: a specification of a network */
  TSR_IMPORT_LIST  /* runs: workloads that exist already */
};
struct tsr_import_key {
  const char *key;
  bool used;
  const char *as; /* the key of ours, or the reason why it is not used */
};
struct tsr_import_run {
  const char *model; /* as the list names it */
  uint64_t batch;
};
struct tsr_import {
  struct tsr_arena *arena;
  enum tsr_import_kind kind;
  const char *name; /* fit for a file's name: letters, digits, '-', '_' and '.' */
  const char *text; /* YAML; NULL of a list */
  size_t n_keys, n_runs, cap_keys, cap_runs;
  struct tsr_import_key *keys;
  struct tsr_import_run *runs;
};
void tsr_import_fini(struct tsr_import *im);

/* `path` is for messages, and names what the text does not. *out unchanged on failure. */
enum tsr_status tsr_import_scalesim(const char *path, const char *text, size_t len,
                                    struct tsr_import *out, struct tsr_err *err);
enum tsr_status tsr_import_onnxim(const char *path, const char *text, size_t len,
                                  struct tsr_import *out, struct tsr_err *err);

#endif
