/* Shared by the files of sim/config. */
#ifndef TSR_SIM_CONFIG_CONFIG_INT_H
#define TSR_SIM_CONFIG_CONFIG_INT_H

#include "sim/config/param.h"
#include "sim/config/tree.h"

/* The arena's copy of a text as a source; NULL when memory ran out. */
struct tsr_src *tsri_src_create(struct tsr_arena *a, const char *path, const char *text,
                                size_t len);
/* Parses src->text from byte `off` on.  *out is NULL for an empty document. */
enum tsr_status tsri_yaml_parse(struct tsr_arena *a, const struct tsr_src *src, size_t off,
                                struct tsr_node **out, struct tsr_err *err);
/* `key:` without a value, as YAML's null. */
bool tsri_is_null(const struct tsr_node *n);

/* A text for "%.*s" in messages: at most 60 bytes of it, no character cut. */
int tsri_shown(const char *text);
#define TSRI_SHOW(text) tsri_shown(text), (text)

/* Parses `text` as row->type into dst's field.  NULL when it is good; otherwise
 * the field is unchanged and the result says what is wrong (static), to follow
 * the name of the key. */
const char *tsri_value_set(const struct tsr_param *row, const char *text, bool quoted,
                           void *dst);
/* Adds the rule of a row, to follow "expected ". */
void tsri_value_rule(const struct tsr_param *row, struct tsr_str *out);

#endif
