/* Stored runs as JSON and as tables.
 *
 * Reads the views of the store and computes nothing of its own.  Units are those
 * of the keys' suffixes; text tables name theirs in the headings.
 * Ownership: *out is transferred (tsr_mem_free), NUL-terminated, ends with a
 * newline, and is untouched on failure.
 * Errors: TSR_INPUT for a run that is not there, TSR_USAGE for an unknown table,
 * TSR_STORE, TSR_NOMEM. */
#ifndef TSR_ANALYSIS_QUERY_QUERY_H
#define TSR_ANALYSIS_QUERY_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/store/store.h"

enum tsr_query_format { TSR_QUERY_TEXT, TSR_QUERY_CSV, TSR_QUERY_JSON };

/* The JSON object of `run`: keys in the order of the reference of commands; a
 * key whose figure nothing computed is null, an infinite figure too. */
enum tsr_status tsr_query_run_json(struct tsr_store *s, uint64_t run_id, char **out,
                                   struct tsr_err *err);
/* {"runs": [...]}: what tsr_query_run_json gives, without the layers, and
 * `created_utc`. */
enum tsr_status tsr_query_runs_json(struct tsr_store *s, char **out, struct tsr_err *err);

/* Compares every result of two runs but what a clock says (created_utc, wall_s) and
 * what names them.  *difference: NULL when they are equal, else the first figure
 * that differs, one line (transferred). */
enum tsr_status tsr_query_difference(struct tsr_store *s, uint64_t run_a, uint64_t run_b,
                                     char **difference, struct tsr_err *err);

/* `show <what>`: runs (run_id is not looked at), layers, units, stalls, kernels,
 * numerics.  Text: aligned columns, at most 100 wide where the texts in them can
 * be shortened to that, without those that say nothing.  CSV: RFC 4180 with a line of keys,
 * every digit. JSON: {"run_id": …, "<what>": [...]}; for runs what tsr_query_runs_json gives.
 */
enum tsr_status tsr_query_show(struct tsr_store *s, const char *what, uint64_t run_id,
                               enum tsr_query_format format, char **out, struct tsr_err *err);
/* An error study of matrix units.  JSON: {"eval_id", "m", "n", "seed", "version",
 * "points": [...]}, each with its histograms. TSR_INPUT: no such study. */
enum tsr_status tsr_query_eval(struct tsr_store *s, uint64_t eval_id,
                               enum tsr_query_format format, char **out, struct tsr_err *err);

/* Why a table has no row (static), or NULL when it has one: a run stores only what it
 * was asked for. */
enum tsr_status tsr_query_show_empty(struct tsr_store *s, const char *what, uint64_t run_id,
                                     const char **why, struct tsr_err *err);

/* A figure of 0 or more for people: `digits` (2 to 9) significant ones, a blank, a
 * prefix and the unit: `4.089 GMAC`, `25.8 us`; of bytes (unit "B") a binary prefix,
 * `83.8 MiB`.  NAN is `-`.  Returns buf. */
enum { TSR_QUERY_AMOUNT_MAX = 80 };
char *tsr_query_amount(char buf[TSR_QUERY_AMOUNT_MAX], double v, int digits, const char *unit);

/* The tables there are: name and one line of help (static); NULL after the last. */
const char *tsr_query_show_name(size_t i);
const char *tsr_query_show_doc(size_t i);

#endif
