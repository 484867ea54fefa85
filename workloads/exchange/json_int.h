/* JSON documents with places: jansson reads, and a message shows where in the text.
 *
 * jansson keeps no positions of values, so they are looked for in the text when they are
 * needed: by the way from the root, keys and indices.
 * Ownership: a document owns its root (tsri_json_fini); texts and paths are borrowed. */
#ifndef TSR_WORKLOADS_EXCHANGE_JSON_INT_H
#define TSR_WORKLOADS_EXCHANGE_JSON_INT_H

#include <jansson.h>

#include "sim/base/err.h"
#include "sim/base/mem.h"

struct tsri_json {
  struct tsr_src src;
  json_t *root; /* owned; an object */
  struct tsr_err *err;
  enum tsr_status status; /* of the first error */
  size_t errors;
};
/* Parses n bytes; the root must be an object.  Duplicate keys are errors. */
enum tsr_status tsri_json_read(struct tsri_json *j, const char *path, const char *text,
                               size_t n, struct tsr_err *err);
void tsri_json_fini(struct tsri_json *j);

/* A value by the way to it: a key of `up` (the root when NULL), or element `index` where key
 * is NULL. */
struct tsri_way {
  const struct tsri_way *up;
  const char *key;
  size_t index;
};
/* Where it stands; the innermost value that was found, where the whole way is not there.
 * `at_key`: the key itself, not its value. */
struct tsr_pos tsri_json_pos(const struct tsri_json *j, const struct tsri_way *way,
                             bool at_key);
/* The places of the first n elements of the array at `way`. */
void tsri_json_elements(const struct tsri_json *j, const struct tsri_way *way,
                        struct tsr_pos *pos, size_t n);

/* An error at a value; returns false, so that readers can return it. */
bool tsri_json_bad(struct tsri_json *j, const struct tsri_way *way, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool tsri_json_nomem(struct tsri_json *j);
/* Every key of the object at `way` is one of the n names; else an error at the key. */
bool tsri_json_keys(struct tsri_json *j, const struct tsri_way *way, json_t *o,
                    const char *const *names, size_t n);
/* A whole number of `low` or more; *out stays where the key is missing, which is an error
 * where it is required. */
bool tsri_json_u64(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                   const char *key, uint64_t low, bool required, uint64_t *out);
bool tsri_json_flag(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                    const char *key, bool *out);
/* A text that can stand in a table or a message: not empty, no control characters, no blank at
 * its ends.  Borrowed from the document. */
bool tsri_json_word(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                    const char *key, bool required, const char **out);
/* What a value is, for messages: "a text", "a number", … (static). */
const char *tsri_json_sort(const json_t *v);

#endif
