/* Parameter tables: one row per parameter drives parsing, printing, the manual
 * and the stored configuration.
 *
 * A table describes fields of one C struct.  Field types by row type:
 *   QUANTITY uint64_t (base unit; TSR_UNLIMITED allowed when `unlimited`)
 *   ENUM     int (index into names)
 *   BOOL     bool (YAML true/false)
 *   NAME     char[TSR_PARAM_NAME_MAX] (letters, digits, - _ . ; may be empty)
 *   REAL     double (a decimal number, exponent allowed)
 *   TEXT     char[TSR_PARAM_TEXT_MAX] (as NAME, and : = , ; between names)
 * A count, BOOL or REAL in quotes is refused; keys with a dot are written as
 * nested mappings only.
 * Rows end with key NULL.  `low`/`high` are inclusive, in base units (REAL:
 * rlow/rhigh). `def` is the text a user would write; NULL = required. */
#ifndef TSR_SIM_CONFIG_PARAM_H
#define TSR_SIM_CONFIG_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/str.h"
#include "sim/base/units.h"
#include "sim/config/tree.h"

enum { TSR_PARAM_NAME_MAX = 48, TSR_PARAM_TEXT_MAX = 512 };

enum tsr_param_type {
  TSR_PARAM_QUANTITY,
  TSR_PARAM_ENUM,
  TSR_PARAM_BOOL,
  TSR_PARAM_NAME,
  TSR_PARAM_REAL,
  TSR_PARAM_TEXT
};

struct tsr_param {
  const char *key; /* dotted below the component, such as `size`; NULL ends */
  enum tsr_param_type type;
  enum tsr_unit unit;       /* QUANTITY */
  uint64_t low, high;       /* QUANTITY */
  bool unlimited;           /* QUANTITY: the word `unlimited` is allowed */
  double rlow, rhigh;       /* REAL */
  const char *const *names; /* ENUM: NULL-terminated */
  const char *def;          /* default text, NULL = required */
  size_t offset;            /* of the field */
  const char *uncertainty;  /* `exact`, or a relative range such as `0.2` */
  const char *doc;          /* one line */
  const char *src;          /* SRC key of the default */
};

/* Fills every field of `dst` from the defaults (required rows are left as they
 * are).  A default that does not parse is a bug of the table: aborts. */
void tsr_param_defaults(const struct tsr_param *table, void *dst);

/* Reads mapping `map` (NULL = absent: only defaults are checked) into `dst`,
 * which already holds defaults or a preset.  `seen` (may be NULL): one bool a
 * row, set where the mapping gave a value.  `prefix` is put before keys in
 * messages (`sram.a.`; "" for none).  Unknown keys (TSR_USAGE, with the nearest
 * name; nested maps address dotted keys), wrong unit, out of range, not in the
 * list, wrong kind (all TSR_INPUT) are reported with positions, all of them;
 * required rows neither given nor in `seen` are reported at the map.
 * The status is that of the first error; `dst` then holds the good values.
 * TSR_NOMEM when memory runs out. Keys listed in `ignore`
 * (NULL-terminated, may be NULL) at top level are somebody else's. */
enum tsr_status tsr_param_read(const struct tsr_param *table, const char *prefix,
                               const struct tsr_node *map, const char *const *ignore, void *dst,
                               bool *seen, struct tsr_err *err);
/* Prints the value of one row in its shortest exact form. */
void tsr_param_print(const struct tsr_param *row, const void *src, struct tsr_str *out);
size_t tsr_param_count(const struct tsr_param *table);

#endif
